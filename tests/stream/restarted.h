/*
 * Queries of all operators that go by time, rank or set, over two streams of random rows that come in parts: what a job gives must
 * be the same however often it was stopped on the way.
 */
#ifndef TEST_STREAM_RESTARTED_H
#define TEST_STREAM_RESTARTED_H

#include "stream/stream_jobs.h"

#define CLICKS                                                                                                                   \
    "CREATE TEMPORARY TABLE click (id INT, usr STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"     \
    " WITH ('connector' = 'filesystem', 'path' = '${DIR}/click', 'format' = 'json'%s);"                                           \
    "CREATE TEMPORARY TABLE look (lid INT, usr STRING, w INT, lt TIMESTAMP(3), WATERMARK FOR lt AS lt - INTERVAL '8' SECOND)"     \
    " WITH ('connector' = 'filesystem', 'path' = '${DIR}/look', 'format' = 'json'%s);"                                            \
    "CREATE TEMPORARY VIEW last_look AS SELECT lid, usr, w, lt FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY lt DESC) AS rn FROM look)"  \
    " WHERE rn = 1;"
#define WATCHED ", 'source.monitor-interval' = '5 ms'"

#define PARTS 5
#define PART_ROWS 40

static void append_row(tl_buf *out, bool is_look, bool in_order, int id, int second, uint64_t *rnd)
{
    int late = !in_order && test_random(rnd) % 4 == 0 ? (int)(test_random(rnd) % 40) : 0, at = TL_MAX(second - late, 0);
    assert_int_equal(tl_buf_appendf(out, "{\"%s\":%d,\"usr\":\"u%d\",\"%s\":%d,\"%s\":\"2026-01-01 10:%02d:%02d\"}\n", is_look ? "lid" : "id", id,
                                    (int)(test_random(rnd) % 4), is_look ? "w" : "v", (int)(test_random(rnd) % 9), is_look ? "lt" : "ts", at / 60, at % 60),
                     TL_OK);
}

/* Part by part the same rows, whoever asks. */
static void put_part(const char *folder, bool is_look, bool in_order, int part, uint64_t seed)
{
    uint64_t rnd = seed * 31 + (uint64_t)part * 2 + is_look;
    tl_buf text = {0};
    for (int i = 0; i < PART_ROWS; i++)
        append_row(&text, is_look, in_order, part * PART_ROWS + i, (part * PART_ROWS + i) * 3 / 2, &rnd);
    char *name = tl_strf("%s/%d.json", folder, part);
    put(name, (char *)text.data, text.len);
    tl_free(name);
    tl_buf_deinit(&text);
}

static inline void remove_files(void)
{
    tl_error err;
    for (int i = 0; i < 2; i++) {
        char *path = tl_path_join(root, i == 0 ? "click" : "look");
        assert_ok(tl_fs_remove_all(fs, path, &err), &err);
        tl_free(path);
    }
}

/* One part more has come: a run of the job over a table `name`. The last one's sources end, so that all windows close; free(). */
static char *script_of(const char *name, const char *columns, const char *query, bool last)
{
    const char *watched = last ? "" : WATCHED;
    char *tables = tl_strf(LAKE CLICKS, watched, watched);
    char *script = tl_strf("%s CREATE TABLE IF NOT EXISTS %s (%s) WITH ('bucket' = '%s'); INSERT INTO %s %s;", tables, name, columns,
                           strstr(columns, "PRIMARY KEY") != NULL ? "1" : "-1", name, query);
    tl_free(tables);
    return script;
}

static void put_parts(const char *query, int part, uint64_t seed)
{
    /* Which rows of two inputs are late depends on who is read first, in Flink, too. */
    bool in_order = strstr(query, "look") != NULL || strstr(query, "LOOK") != NULL;
    put_part("click", false, in_order, part, seed);
    put_part("look", true, in_order, part, seed);
}

#define TUMBLE "TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '20' SECOND))"
#define TUMBLE_LOOK "TABLE(TUMBLE(TABLE look, DESCRIPTOR(lt), INTERVAL '20' SECOND))"

static const struct {
    const char *name, *columns, *query;
} restarted[] = {
    {"tumble", "ws TIMESTAMP(3), usr STRING, n BIGINT, lo INT, d BIGINT",
     "SELECT window_start, usr, COUNT(*), MIN(v), COUNT(DISTINCT v) FROM " TUMBLE " GROUP BY window_start, window_end, usr"},
    {"hop", "ws TIMESTAMP(3), n BIGINT",
     "SELECT window_start, COUNT(*) FROM TABLE(HOP(TABLE click, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '30' SECOND)) GROUP BY window_start, window_end"},
    {"offset", "ws TIMESTAMP(3), n BIGINT",
     "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '30' SECOND, INTERVAL '7' SECOND)) GROUP BY window_start, window_end"},
    {"session", "ws TIMESTAMP(3), we TIMESTAMP(3), usr STRING, n BIGINT",
     "SELECT window_start, window_end, usr, COUNT(*) FROM TABLE(SESSION(TABLE click PARTITION BY usr, DESCRIPTOR(ts), INTERVAL '8' SECOND))"
     " GROUP BY window_start, window_end, usr"},
    {"sets", "ws TIMESTAMP(3), usr STRING, n BIGINT",
     "SELECT window_start, usr, COUNT(*) FROM " TUMBLE " GROUP BY window_start, window_end, ROLLUP (usr)"},
    {"window_top", "ws TIMESTAMP(3), usr STRING, id INT, rn BIGINT",
     "SELECT window_start, usr, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, usr ORDER BY v DESC, id) AS rn FROM " TUMBLE
     ") WHERE rn <= 2"},
    {"window_join", "ws TIMESTAMP(3), id INT, lid INT",
     "SELECT a.window_start, a.id, b.lid FROM (SELECT * FROM " TUMBLE ") AS a FULL JOIN (SELECT * FROM " TUMBLE_LOOK
     ") AS b ON a.usr = b.usr AND a.window_start = b.window_start AND a.window_end = b.window_end"},
    {"over_rows", "id INT, n BIGINT, s INT",
     "SELECT id, COUNT(*) OVER w, SUM(v) OVER w FROM click WINDOW w AS (PARTITION BY usr ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"},
    {"over_range", "id INT, hi INT",
     "SELECT id, MAX(v) OVER (PARTITION BY usr ORDER BY ts RANGE BETWEEN INTERVAL '20' SECOND PRECEDING AND CURRENT ROW) FROM click"},
    {"intervals", "id INT, lid INT",
     "SELECT id, lid FROM click JOIN look ON click.usr = look.usr AND lt BETWEEN ts - INTERVAL '10' SECOND AND ts + INTERVAL '5' SECOND AND v < w + 3"},
    {"temporal", "id INT, lid INT",
     "SELECT c.id, d.lid FROM click AS c LEFT JOIN last_look FOR SYSTEM_TIME AS OF c.ts AS d ON c.usr = d.usr AND d.w > 1"},
    {"top", "usr STRING, rn BIGINT, id INT, PRIMARY KEY (usr, rn) NOT ENFORCED",
     "SELECT usr, rn, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY v DESC, id) AS rn FROM click) WHERE rn <= 3"},
    {"last", "usr STRING, id INT, PRIMARY KEY (usr) NOT ENFORCED",
     "SELECT usr, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY ts DESC) AS rn FROM click) WHERE rn = 1"},
    {"top_sums", "usr STRING, s INT, PRIMARY KEY (usr) NOT ENFORCED",
     "SELECT usr, SUM(v) AS s FROM click GROUP BY usr ORDER BY s DESC, usr LIMIT 2"},
    {"grouped", "v INT, g BIGINT, n BIGINT, PRIMARY KEY (v, g) NOT ENFORCED",
     "SELECT COALESCE(v, -1), GROUPING(v), COUNT(*) FROM click GROUP BY CUBE (v)"},
    {"except_all", "v INT, n BIGINT, PRIMARY KEY (v) NOT ENFORCED", "SELECT v, COUNT(*) FROM (SELECT v FROM click EXCEPT ALL SELECT w FROM look) GROUP BY v"},
    {"intersect_some", "v INT, n BIGINT, PRIMARY KEY (v) NOT ENFORCED",
     "SELECT v, COUNT(*) FROM (SELECT v FROM click WHERE id > 20 INTERSECT SELECT w FROM look) GROUP BY v"},
    {"above_mean", "usr STRING, n BIGINT, PRIMARY KEY (usr) NOT ENFORCED",
     "SELECT usr, COUNT(*) FROM click WHERE v > (SELECT AVG(w) FROM look) GROUP BY usr"},
    {"having", "usr STRING, n BIGINT, PRIMARY KEY (usr) NOT ENFORCED", "SELECT usr, COUNT(*) FROM click GROUP BY usr HAVING COUNT(*) < 52"},
};

#endif
