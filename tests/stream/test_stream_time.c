/*
 * Operators that go by time or rank, end to end. Their results are those of Flink (recorded in the jobs' cases and, small enough to
 * be seen through, written down here); that a job which is stopped and started again gives the very same is tested for each of
 * them over random rows, some of them late.
 */
#include "stream/restarted.h"

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
        {"SELECT id, CAST(PERCENT_RANK() OVER (ORDER BY ts) AS BIGINT) FROM click", "PERCENT_RANK over a stream"},
        {"SELECT id, RANK() OVER (ORDER BY PROCTIME()) FROM click", "RANK over a stream"},
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

/* In one go or with a restart behind each part. */
static char *result_of(const char *table, const char *columns, const char *query, bool in_parts, uint64_t seed)
{
    remove_files();
    char *name = tl_strf("%s_%s", table, in_parts ? "parts" : "whole");
    for (int part = 0; part <= PARTS; part++) {
        if (part < PARTS)
            put_parts(query, part, seed);
        if (part < PARTS - 1 && !in_parts)
            continue;
        char *script = script_of(name, columns, query, /* last= */ part == PARTS);
        run(script);
        tl_free(script);
    }
    char *rows = read_table(name);
    tl_free(name);
    return rows;
}

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
