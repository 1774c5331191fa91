/*
 * Operators that go by time or rank, end to end. Their results are those of Flink (recorded in the jobs' cases and, small enough to
 * be seen through, written down here); that a job which is stopped and started again gives the very same is tested for each of
 * them over random rows, some of them late.
 */
#include "stream/stream_jobs.h"

#define CLICKS                                                                                                                   \
    "CREATE TEMPORARY TABLE click (id INT, usr STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"     \
    " WITH ('connector' = 'filesystem', 'path' = '${DIR}/click', 'format' = 'json'%s);"                                           \
    "CREATE TEMPORARY TABLE look (lid INT, usr STRING, w INT, lt TIMESTAMP(3), WATERMARK FOR lt AS lt - INTERVAL '8' SECOND)"     \
    " WITH ('connector' = 'filesystem', 'path' = '${DIR}/look', 'format' = 'json'%s);"                                            \
    "CREATE TEMPORARY VIEW last_look AS SELECT lid, usr, w, lt FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY lt DESC) AS rn FROM look)"  \
    " WHERE rn = 1;"
#define WATCHED ", 'source.monitor-interval' = '5 ms'"

/* ---- results that can be seen through ---- */

static void put_rows(const char *name, const char *const *rows)
{
    tl_buf text = {0};
    for (size_t i = 0; rows[i] != NULL; i++)
        assert_int_equal(tl_buf_appendf(&text, "%s\n", rows[i]), TL_OK);
    put(name, (char *)text.data, text.len);
    tl_buf_deinit(&text);
}

static void run_query(const char *columns, const char *query)
{
    char *tables = tl_strf(LAKE CLICKS, "", "");
    char *script = tl_strf("%s DROP TABLE IF EXISTS t; CREATE TABLE t (%s) WITH ('bucket' = '-1'); INSERT INTO t %s;", tables, columns, query);
    run(script);
    tl_free(script);
    tl_free(tables);
}

static const char *const few_clicks[] = {
    "{\"id\":1,\"usr\":\"a\",\"v\":3,\"ts\":\"2026-01-01 10:00:10\"}",  "{\"id\":2,\"usr\":\"b\",\"v\":5,\"ts\":\"2026-01-01 10:00:50\"}",
    "{\"id\":3,\"usr\":\"a\",\"v\":1,\"ts\":\"2026-01-01 10:00:20\"}", /* behind the watermark, its minute is open */
    "{\"id\":4,\"usr\":\"a\",\"v\":7,\"ts\":\"2026-01-01 10:01:06\"}", /* the watermark passes the first minute */
    "{\"id\":5,\"usr\":\"b\",\"v\":9,\"ts\":\"2026-01-01 10:00:58\"}", /* late for it */
    "{\"id\":6,\"usr\":\"b\",\"v\":2,\"ts\":\"2026-01-01 10:01:30\"}",  NULL};

static void windows_drop_rows_that_are_late_for_them(void **state)
{
    (void)state;
    put_rows("click/1.json", few_clicks);
    put_rows("look/1.json", (const char *const[]){NULL});
    run_query("m STRING, n BIGINT, s INT", "SELECT DATE_FORMAT(window_start, 'HH:mm:ss'), COUNT(*), SUM(v) FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts),"
                                           " INTERVAL '1' MINUTE)) GROUP BY window_start, window_end");
    assert_table("t", "{\"m\":\"10:00:00\",\"n\":3,\"s\":9}\n{\"m\":\"10:01:00\",\"n\":2,\"s\":9}\n");
    /* Row 3 is late for the window that ends at 10:00:30, row 5 for the one that ends at 10:01:00, both not for the next. */
    run_query("m STRING, n BIGINT", "SELECT DATE_FORMAT(window_start, 'HH:mm:ss'), COUNT(*) FROM TABLE(HOP(TABLE click, DESCRIPTOR(ts),"
                                    " INTERVAL '30' SECOND, INTERVAL '1' MINUTE)) GROUP BY window_start, window_end");
    assert_table("t", "{\"m\":\"09:59:30\",\"n\":1}\n{\"m\":\"10:00:00\",\"n\":3}\n{\"m\":\"10:00:30\",\"n\":3}\n{\"m\":\"10:01:00\",\"n\":2}\n"
                      "{\"m\":\"10:01:30\",\"n\":1}\n");
    run_query("e STRING, n BIGINT", "SELECT DATE_FORMAT(window_end, 'HH:mm:ss'), COUNT(*) FROM TABLE(CUMULATE(TABLE click, DESCRIPTOR(ts),"
                                    " INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)) GROUP BY window_start, window_end");
    assert_table("t", "{\"e\":\"10:01:00\",\"n\":3}\n{\"e\":\"10:02:00\",\"n\":6}\n");
    run_query("u STRING, f STRING, e STRING, n BIGINT",
              "SELECT usr, DATE_FORMAT(window_start, 'HH:mm:ss'), DATE_FORMAT(window_end, 'HH:mm:ss'), COUNT(*) FROM TABLE(SESSION(TABLE click"
              " PARTITION BY usr, DESCRIPTOR(ts), INTERVAL '15' SECOND)) GROUP BY window_start, window_end, usr");
    assert_table("t", "{\"u\":\"a\",\"f\":\"10:00:10\",\"e\":\"10:00:25\",\"n\":1}\n{\"u\":\"a\",\"f\":\"10:01:06\",\"e\":\"10:01:21\",\"n\":1}\n"
                      "{\"u\":\"b\",\"f\":\"10:00:50\",\"e\":\"10:01:13\",\"n\":2}\n{\"u\":\"b\",\"f\":\"10:01:30\",\"e\":\"10:01:45\",\"n\":1}\n");
}

static void windows_of_instants_begin_at_local_times(void **state)
{
    (void)state;
    put_rows("click/1.json", few_clicks);
    char *script = tl_strf(LAKE "SET 'table.local-time-zone' = 'Asia/Tokyo';"
                                "CREATE TEMPORARY TABLE late_click (id INT, e AS TO_TIMESTAMP_LTZ(1767250740000 + id * 10000, 3), WATERMARK FOR e AS e)"
                                " WITH ('connector' = 'filesystem', 'path' = '${DIR}/click', 'format' = 'json');"
                                "CREATE TABLE days (d STRING, n BIGINT, t STRING) WITH ('bucket' = '-1');"
                                "INSERT INTO days SELECT CAST(window_start AS STRING), COUNT(*), CAST(window_time AS STRING) FROM TABLE(TUMBLE(TABLE %s,"
                                " DESCRIPTOR(e), INTERVAL '1' MINUTE, INTERVAL '0' SECOND)) GROUP BY window_start, window_end, window_time;",
                           "late_click");
    run(script);
    tl_free(script);
    /* 1767250740 is 2026-01-01 06:59:00 UTC, 15:59 in Tokyo; rows come every ten seconds from ten seconds later on. */
    assert_table("days", "{\"d\":\"2026-01-01 15:59:00.000\",\"n\":5,\"t\":\"2026-01-01 15:59:59.999\"}\n"
                         "{\"d\":\"2026-01-01 16:00:00.000\",\"n\":1,\"t\":\"2026-01-01 16:00:59.999\"}\n");
}

static void rankings_keep_the_first_rows(void **state)
{
    (void)state;
    put_rows("click/1.json", few_clicks);
    run_query("usr STRING, id INT, rn BIGINT", "SELECT usr, MAX(id), rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY v DESC) AS rn FROM click)"
                                               " WHERE rn BETWEEN 2 AND 3 GROUP BY usr, rn");
    /* An append table holds every change; what is left of them is the answer. */
    char *script = tl_strf(LAKE CLICKS "DROP TABLE IF EXISTS k; CREATE TABLE k (usr STRING, id INT, rn BIGINT, PRIMARY KEY (usr, rn) NOT ENFORCED) WITH ('bucket' = '1');"
                                       "INSERT INTO k SELECT usr, id, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY v DESC) AS rn FROM click)"
                                       " WHERE rn BETWEEN 2 AND 3;",
                           "", "");
    run(script);
    tl_free(script);
    assert_table("k", "{\"usr\":\"a\",\"id\":1,\"rn\":2}\n{\"usr\":\"a\",\"id\":3,\"rn\":3}\n{\"usr\":\"b\",\"id\":2,\"rn\":2}\n{\"usr\":\"b\",\"id\":6,\"rn\":3}\n");
}

static void over_counts_what_came_before(void **state)
{
    (void)state;
    put_rows("click/1.json", few_clicks);
    put_rows("look/1.json", (const char *const[]){NULL});
    run_query("id INT, n BIGINT, s INT", "SELECT id, COUNT(*) OVER w, SUM(v) OVER w FROM click WINDOW w AS (PARTITION BY usr ORDER BY ts"
                                         " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)");
    assert_table("t", "{\"id\":1,\"n\":1,\"s\":3}\n{\"id\":2,\"n\":1,\"s\":5}\n{\"id\":3,\"n\":2,\"s\":4}\n{\"id\":4,\"n\":2,\"s\":8}\n{\"id\":5,\"n\":2,\"s\":14}\n"
                      "{\"id\":6,\"n\":2,\"s\":11}\n");
    /* Without a lower bound what is at or below the watermark is late: rows 3 and 5. */
    run_query("id INT, n BIGINT", "SELECT id, COUNT(*) OVER (PARTITION BY usr ORDER BY ts) FROM click");
    assert_table("t", "{\"id\":1,\"n\":1}\n{\"id\":2,\"n\":1}\n{\"id\":4,\"n\":2}\n{\"id\":6,\"n\":2}\n");
}

static void what_streams_do_not_have_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *query, *part;
    } cases[] = {
        {"SELECT id, RANK() OVER (ORDER BY ts) FROM click", "RANK over a stream"},
        {"SELECT id, COUNT(*) OVER (ORDER BY v) FROM click", "ordered by one time attribute"},
        {"SELECT id, COUNT(*) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM click", "CURRENT ROW"},
        {"SELECT id, v FROM click ORDER BY v", "ORDER BY over a stream needs a LIMIT"},
        {"SELECT v, COUNT(*) FROM TABLE(TUMBLE(TABLE (SELECT v, CAST(ts AS TIMESTAMP(3)) + INTERVAL '1' SECOND AS x FROM click), DESCRIPTOR(x), INTERVAL '1' MINUTE))"
         " GROUP BY v, window_start, window_end",
         "time attribute"},
    };
    put_rows("click/1.json", few_clicks);
    put_rows("look/1.json", (const char *const[]){NULL});
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        char *script = tl_strf(LAKE CLICKS "CREATE TABLE IF NOT EXISTS u (a INT, b BIGINT) WITH ('bucket' = '-1'); INSERT INTO u %s;", "", "", cases[i].query);
        tl_error err;
        if (try_run(script, NULL, &err) == TL_OK || strstr(err.message, cases[i].part) == NULL)
            fail_msg("%s: '%s' is not in: %s", cases[i].query, cases[i].part, err.message);
        tl_free(script);
    }
}

/* ---- stopped and started again ---- */

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

static void remove_files(void)
{
    tl_error err;
    for (int i = 0; i < 2; i++) {
        char *path = tl_path_join(root, i == 0 ? "click" : "look");
        assert_ok(tl_fs_remove_all(fs, path, &err), &err);
        tl_free(path);
    }
}

/* In one go or with a restart behind each part; the last run's sources end, so that all windows close. */
static char *result_of(const char *table, const char *columns, const char *query, bool in_parts, uint64_t seed)
{
    bool in_order = strstr(query, "look") != NULL || strstr(query, "LOOK") != NULL; /* which rows of two inputs are late depends on who is read first, in Flink, too */
    remove_files();
    char *name = tl_strf("%s_%s", table, in_parts ? "parts" : "whole");
    for (int part = 0; part <= PARTS; part++) {
        if (part < PARTS) {
            put_part("click", false, in_order, part, seed);
            put_part("look", true, in_order, part, seed);
        }
        if (part < PARTS - 1 && !in_parts)
            continue;
        const char *watched = part < PARTS ? WATCHED : "";
        char *tables = tl_strf(LAKE CLICKS, watched, watched);
        char *script = tl_strf("%s CREATE TABLE IF NOT EXISTS %s (%s) WITH ('bucket' = '%s'); INSERT INTO %s %s;", tables, name, columns,
                               strstr(columns, "PRIMARY KEY") != NULL ? "1" : "-1", name, query);
        run(script);
        tl_free(script);
        tl_free(tables);
    }
    char *rows = read_table(name);
    tl_free(name);
    return rows;
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

static void a_restart_changes_no_result(void **state)
{
    (void)state;
    uint64_t seed = test_seed(31);
    for (size_t i = 0; i < TL_ARRAY_LEN(restarted); i++) {
        char *whole = result_of(restarted[i].name, restarted[i].columns, restarted[i].query, false, seed);
        char *parts = result_of(restarted[i].name, restarted[i].columns, restarted[i].query, true, seed);
        if (strcmp(whole, parts) != 0)
            fail_msg("%s: in one go\n%s\nwith restarts\n%s", restarted[i].name, whole, parts);
        if (whole[0] == '\0')
            fail_msg("%s gives nothing", restarted[i].name);
        tl_free(whole);
        tl_free(parts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_drop_rows_that_are_late_for_them, make_root, remove_root),
        cmocka_unit_test_setup_teardown(windows_of_instants_begin_at_local_times, make_root, remove_root),
        cmocka_unit_test_setup_teardown(rankings_keep_the_first_rows, make_root, remove_root),
        cmocka_unit_test_setup_teardown(over_counts_what_came_before, make_root, remove_root),
        cmocka_unit_test_setup_teardown(what_streams_do_not_have_is_named, make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_restart_changes_no_result, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
