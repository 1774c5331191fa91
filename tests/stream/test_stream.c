/*
 * Jobs end to end: scripts over files of change events into tables, compared with a model that is computed here from the same
 * events. Each job also runs in two halves, with a restart in between, so that operators rebuild their state.
 */
#include "stream/stream_jobs.h"

/* ---- the model: two tables of rows that come, change and go ---- */

#define ROWS 12

typedef struct row {
    bool alive;
    int k, g, v; /* v: -1 is NULL */
} row;

static void append_row(tl_buf *out, const row *r)
{
    if (r->v < 0)
        assert_int_equal(tl_buf_appendf(out, "{\"id\":%d,\"g\":%d,\"v\":null}", r->k, r->g), TL_OK);
    else
        assert_int_equal(tl_buf_appendf(out, "{\"id\":%d,\"g\":%d,\"v\":%d}", r->k, r->g, r->v), TL_OK);
}

/* One random change of a table, as a Debezium event. */
static void change(row *rows, uint64_t *rnd, tl_buf *out)
{
    row *r = &rows[test_random(rnd) % ROWS];
    row old = *r, now = {true, (int)(r - rows), (int)(test_random(rnd) % 4), (int)(test_random(rnd) % 6) - 1};
    assert_int_equal(tl_buf_append_str(out, "{\"before\":"), TL_OK);
    const char *op = "c";
    if (old.alive) {
        append_row(out, &old);
        op = test_random(rnd) % 3 == 0 ? "d" : "u";
    } else {
        assert_int_equal(tl_buf_append_str(out, "null"), TL_OK);
    }
    assert_int_equal(tl_buf_append_str(out, ",\"after\":"), TL_OK);
    if (*op == 'd') {
        assert_int_equal(tl_buf_append_str(out, "null"), TL_OK);
        r->alive = false;
    } else {
        *r = now;
        append_row(out, r);
    }
    assert_int_equal(tl_buf_appendf(out, ",\"op\":\"%s\"}\n", op), TL_OK);
}

static void put_changes(const char *name, row *rows, uint64_t *rnd, int n)
{
    tl_buf text = {0};
    for (int i = 0; i < n; i++)
        change(rows, rnd, &text);
    put(name, (char *)text.data, text.len);
    tl_buf_deinit(&text);
}

static const char sources[] =
    LAKE "CREATE TEMPORARY TABLE a (id INT, g INT, v INT) WITH ('connector' = 'filesystem', 'path' = '${DIR}/a', 'format' = 'debezium-json',"
         "'source.monitor-interval' = '5 ms');"
         "CREATE TEMPORARY TABLE b (id INT, g INT, v INT) WITH ('connector' = 'filesystem', 'path' = '${DIR}/b', 'format' = 'debezium-json',"
         "'source.monitor-interval' = '5 ms');";

static void run_in_two_halves(const char *rest, row *a, row *b, uint64_t *rnd)
{
    char *script = tl_strf("%s%s", sources, rest);
    put_changes("a/1.json", a, rnd, 150);
    put_changes("b/1.json", b, rnd, 150);
    run(script);
    put_changes("a/2.json", a, rnd, 150);
    put_changes("b/2.json", b, rnd, 150);
    tl_stream_report report = run(script);
    assert_true(report.resumed > 0);
    tl_free(script);
}

static void groups_follow_inserts_updates_and_deletes(void **state)
{
    (void)state;
    uint64_t rnd = test_seed(11);
    row a[ROWS] = {{0}}, b[ROWS] = {{0}};
    run_in_two_halves("CREATE TABLE IF NOT EXISTS sums (g INT, n BIGINT, s INT, lo INT, hi INT, d BIGINT, big BIGINT, PRIMARY KEY (g) NOT ENFORCED)"
                      " WITH ('bucket' = '1');"
                      "INSERT INTO sums SELECT g, COUNT(*), SUM(v), MIN(v), MAX(v), COUNT(DISTINCT v), COUNT(*) FILTER (WHERE v > 2) FROM a GROUP BY g;",
                      a, b, &rnd);
    tl_buf want = {0};
    for (int g = 0; g < 4; g++) {
        int n = 0, sum = 0, values = 0, lo = 99, hi = -1, seen = 0, big = 0;
        for (int i = 0; i < ROWS; i++) {
            if (!a[i].alive || a[i].g != g)
                continue;
            n++;
            if (a[i].v < 0)
                continue;
            values++;
            sum += a[i].v;
            lo = TL_MIN(lo, a[i].v);
            hi = TL_MAX(hi, a[i].v);
            seen |= 1 << a[i].v;
            big += a[i].v > 2;
        }
        char s[16] = "null", l[16] = "null", h[16] = "null";
        if (values > 0) {
            snprintf(s, sizeof s, "%d", sum);
            snprintf(l, sizeof l, "%d", lo);
            snprintf(h, sizeof h, "%d", hi);
        }
        if (n > 0)
            assert_int_equal(tl_buf_appendf(&want, "{\"g\":%d,\"n\":%d,\"s\":%s,\"lo\":%s,\"hi\":%s,\"d\":%d,\"big\":%d}\n", g, n, s, l, h,
                                            __builtin_popcount((unsigned)seen), big),
                             TL_OK);
    }
    char *text;
    assert_int_equal(tl_buf_steal_str(&want, &text), TL_OK);
    assert_table("sums", text);
    tl_free(text);
}

/* One line of a join's result; -1: NULL. */
static void append_pair(char **lines, size_t *n, int left, int right)
{
    char l[16] = "null", r[16] = "null";
    if (left >= 0)
        snprintf(l, sizeof l, "%d", left);
    if (right >= 0)
        snprintf(r, sizeof r, "%d", right);
    lines[(*n)++] = tl_strf("{\"l\":%s,\"r\":%s,\"n\":1}\n", l, r);
}

static char *join_model(const row *a, const row *b, bool left_outer, bool right_outer)
{
    char *lines[ROWS * ROWS + 2 * ROWS];
    size_t n = 0;
    bool met[ROWS] = {false};
    for (int i = 0; i < ROWS; i++) {
        bool any = false;
        for (int k = 0; k < ROWS; k++) {
            /* join on g, with a condition beside it; NULL values fail it */
            if (!a[i].alive || !b[k].alive || a[i].g != b[k].g || a[i].v < 0 || b[k].v < 0 || a[i].v + b[k].v <= 2)
                continue;
            append_pair(lines, &n, i, k);
            any = met[k] = true;
        }
        if (a[i].alive && !any && left_outer)
            append_pair(lines, &n, i, -1);
    }
    for (int k = 0; k < ROWS; k++)
        if (b[k].alive && !met[k] && right_outer)
            append_pair(lines, &n, -1, k);
    qsort(lines, n, sizeof *lines, compare_text);
    tl_buf all = {0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(tl_buf_append_str(&all, lines[i]), TL_OK);
        tl_free(lines[i]);
    }
    char *text;
    assert_int_equal(tl_buf_steal_str(&all, &text), TL_OK);
    return text;
}

/* The result of a join has no key of its own, so it is counted per pair: every count must be 1. */
static void check_join(const char *kind, bool left_outer, bool right_outer, uint64_t seed)
{
    row a[ROWS] = {{0}}, b[ROWS] = {{0}};
    char *rest = tl_strf("CREATE TABLE IF NOT EXISTS pairs (l INT, r INT, n BIGINT, lk INT, rk INT, PRIMARY KEY (lk, rk) NOT ENFORCED) WITH ('bucket' = '1');"
                         "INSERT INTO pairs SELECT MAX(l), MAX(r), COUNT(*), lk, rk FROM (SELECT a.id AS l, b.id AS r, COALESCE(a.id, -1) AS lk,"
                         " COALESCE(b.id, -1) AS rk FROM a %s JOIN b ON a.g = b.g AND a.v + b.v > 2) GROUP BY lk, rk;",
                         kind);
    run_in_two_halves(rest, a, b, &seed);
    tl_free(rest);
    char *want = join_model(a, b, left_outer, right_outer), *got = read_table("pairs");
    /* leave the helper columns out */
    char *to = got;
    for (char *line = got; *line != '\0';) {
        char *end = strchr(line, '\n'), *cut = strstr(line, ",\"lk\"");
        size_t len = (size_t)(cut - line);
        memmove(to, line, len);
        to += len;
        *to++ = '}';
        *to++ = '\n';
        line = end + 1;
    }
    *to = '\0';
    char **lines = NULL;
    size_t n = 0;
    for (char *line = strtok(got, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        lines = realloc(lines, sizeof *lines * (n + 1));
        lines[n++] = line;
    }
    qsort(lines, n, sizeof *lines, compare_text);
    tl_buf sorted = {0};
    for (size_t i = 0; i < n; i++)
        assert_int_equal(tl_buf_appendf(&sorted, "%s\n", lines[i]), TL_OK);
    char *text;
    assert_int_equal(tl_buf_steal_str(&sorted, &text), TL_OK);
    assert_string_equal(text, want);
    tl_free(text);
    free(lines);
    tl_free(got);
    tl_free(want);
}

static void inner_joins_follow_both_sides(void **state)
{
    (void)state;
    check_join("", false, false, test_seed(21));
}

static void left_joins_pad_and_unpad(void **state)
{
    (void)state;
    check_join("LEFT", true, false, test_seed(22));
}

static void right_joins_pad_and_unpad(void **state)
{
    (void)state;
    check_join("RIGHT", false, true, test_seed(23));
}

static void full_joins_pad_both_sides(void **state)
{
    (void)state;
    check_join("FULL", true, true, test_seed(24));
}

static void look_up_joins_see_the_dimension_as_it_is(void **state)
{
    (void)state;
    static const char one[] = "{\"id\":1,\"g\":1}\n{\"id\":2,\"g\":2}\n{\"id\":3,\"g\":null}\n", two[] = "{\"id\":4,\"g\":2}\n";
    static const char script[] = LAKE
        "CREATE TEMPORARY TABLE facts (id INT, g INT, pt AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = '${DIR}/facts', 'format' = 'json',"
        "'source.monitor-interval' = '5 ms');"
        "CREATE TABLE IF NOT EXISTS dim (g INT, name STRING, PRIMARY KEY (g) NOT ENFORCED) WITH ('bucket' = '1');"
        "CREATE TABLE IF NOT EXISTS joined (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');"
        "INSERT INTO joined SELECT f.id, d.name FROM facts AS f LEFT JOIN dim FOR SYSTEM_TIME AS OF f.pt AS d ON f.g = d.g;";
    static const char fill[] = LAKE "SET 'execution.runtime-mode' = 'batch'; INSERT INTO dim VALUES (1, 'one');";
    static const char more[] = LAKE "SET 'execution.runtime-mode' = 'batch'; INSERT INTO dim VALUES (1, 'ONE'), (2, 'two');";
    run(script); /* makes the tables */
    run(fill);
    put("facts/1.json", one, strlen(one));
    run(script);
    assert_table("joined", "{\"id\":1,\"name\":\"one\"}\n{\"id\":2,\"name\":null}\n{\"id\":3,\"name\":null}\n");
    run(more);
    put("facts/2.json", two, strlen(two));
    run(script);
    assert_table("joined", "{\"id\":1,\"name\":\"one\"}\n{\"id\":2,\"name\":null}\n{\"id\":3,\"name\":null}\n{\"id\":4,\"name\":\"two\"}\n");
}

static void a_finished_job_run_again_changes_nothing(void **state)
{
    (void)state;
    static const char text[] = "{\"i\":1}\n{\"i\":2}\n";
    static const char script[] = LAKE
        "CREATE TEMPORARY TABLE src (i INT) WITH ('connector' = 'filesystem', 'path' = '${DIR}/log', 'format' = 'json');"
        "CREATE TABLE IF NOT EXISTS log (i INT) WITH ('bucket' = '-1'); INSERT INTO log SELECT i FROM src; INSERT INTO log VALUES (7);";
    put("log/a.json", text, strlen(text));
    run(script);
    assert_table("log", "{\"i\":1}\n{\"i\":2}\n{\"i\":7}\n");
    tl_stream_report report = run(script);
    assert_int_equal(report.commits, 0);
    assert_int_equal(report.resumed, 2);
    assert_table("log", "{\"i\":1}\n{\"i\":2}\n{\"i\":7}\n");
}

static void errors_name_line_table_and_record(void **state)
{
    (void)state;
    static const char text[] = "{\"i\":1}\n{\"i\":\"x\"}\n";
    static const char script[] = LAKE "\nCREATE TEMPORARY TABLE src (i INT) WITH ('connector' = 'filesystem', 'path' = '${DIR}/bad', 'format' = 'json');\n"
                                      "CREATE TABLE IF NOT EXISTS bad (i INT) WITH ('bucket' = '-1');\nINSERT INTO bad SELECT i FROM src;";
    put("bad/a.json", text, strlen(text));
    tl_error err;
    assert_int_equal(try_run(script, NULL, &err), TL_E_INVALID);
    static const char *const parts[] = {"line 4", "'bad'", "'src'", "a.json", "record 2", "column 'i'"};
    for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++)
        if (strstr(err.message, parts[i]) == NULL)
            fail_msg("'%s' is not in: %s", parts[i], err.message);
    assert_int_equal(try_run("SELECT ${NOPE};", NULL, &err), TL_E_INVALID);
    assert_non_null(strstr(err.message, "NOPE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_follow_inserts_updates_and_deletes, make_root, remove_root),
        cmocka_unit_test_setup_teardown(inner_joins_follow_both_sides, make_root, remove_root),
        cmocka_unit_test_setup_teardown(left_joins_pad_and_unpad, make_root, remove_root),
        cmocka_unit_test_setup_teardown(right_joins_pad_and_unpad, make_root, remove_root),
        cmocka_unit_test_setup_teardown(full_joins_pad_both_sides, make_root, remove_root),
        cmocka_unit_test_setup_teardown(look_up_joins_see_the_dimension_as_it_is, make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_finished_job_run_again_changes_nothing, make_root, remove_root),
        cmocka_unit_test_setup_teardown(errors_name_line_table_and_record, make_root, remove_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
