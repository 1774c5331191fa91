/*
 * Streaming gives what batch gives: the queries of tests/sql/queries.test, whose answers are Flink's batch mode's, run as streaming
 * jobs over the same rows. What a changelog adds and takes back must leave these answers.
 */
#include "sql/case_file.h"
#include "stream/stream.h"
#include "support/temp_lake.h"

static tl_status run(tl_sql_session *session, const char *text, char **out, tl_error *err)
{
    size_t bytes;
    FILE *file = open_memstream(out, &bytes);
    assert_non_null(file);
    tl_stream_options options = {.out = file, .stop_after_idle_s = -1};
    tl_status status = tl_stream_run_script(session, text, strlen(text), &options, NULL, err);
    fclose(file);
    return status;
}

/** Take one line that equals `one` out of a text; false if there is none. */
static bool take_line(char *text, const char *one)
{
    size_t len = strlen(one);
    for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        size_t n = strcspn(line, "\n");
        if (n == len && memcmp(line, one, len) == 0) {
            memmove(line, line + n + 1, strlen(line + n + 1) + 1);
            return true;
        }
    }
    return false;
}

/** The rows that a changelog leaves. */
static char *fold(const char *changelog)
{
    char *left = tl_strdup(""), *copy = tl_strdup(changelog);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char kind;
        int n = 0;
        assert_int_equal(sscanf(line, "{\"_kind\":\"%c%*c\"%n", &kind, &n), 1);
        char *one = tl_strf("{%s", line + n + (line[n] == ','));
        if (kind == '+')
            case_append(&left, one, "\n");
        else if (!take_line(left, one))
            fail_msg("%s takes back what was not there", line);
        tl_free(one);
    }
    tl_free(copy);
    return left;
}

static bool same_rows(const char *wanted, char *got)
{
    char *copy = tl_strdup(wanted);
    bool same = true;
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n"))
        same = take_line(got, line) && same;
    tl_free(copy);
    return same && *got == '\0';
}

static bool is_setup(const sql_case *c)
{
    return strncmp(c->text, "CREATE TEMPORARY", 16) == 0;
}

/**
 * Views of which every row comes first with other values and is then replaced: queries over them get retractions. The rows that stay
 * are those of the view that they are made of.
 */
static const struct {
    const char *name, *columns, *before;
} changing[] = {
    {"emp", "id, name, dept, salary, hired", "id, UPPER(name) AS name, dept + 1 AS dept, salary * 2 AS salary, CAST(NULL AS DATE) AS hired"},
    {"dept", "id, name, boss", "id, REVERSE(name) AS name, id AS boss"},
};

static char *changing_view(size_t i)
{
    return tl_strf("CREATE TEMPORARY VIEW %s AS SELECT %s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY version DESC) AS rn FROM "
                   "(SELECT 1 AS version, %s FROM %s_rows UNION ALL SELECT 2, %s FROM %s_rows)) WHERE rn = 1",
                   changing[i].name, changing[i].columns, changing[i].before, changing[i].name, changing[i].columns, changing[i].name);
}

/** Run a statement that makes a view; a changing one stands between it and the queries. */
static void set_up(tl_sql_session *session, const sql_case *c, bool changes)
{
    tl_error err = {0};
    char *out = NULL;
    for (size_t i = 0; changes && i < TL_ARRAY_LEN(changing); i++) {
        char *start = tl_strf("CREATE TEMPORARY VIEW %s AS", changing[i].name);
        if (strncmp(c->text, start, strlen(start)) == 0) {
            char *rows_view = tl_strf("CREATE TEMPORARY VIEW %s_rows AS%s", changing[i].name, c->text + strlen(start)), *view = changing_view(i);
            assert_ok(run(session, rows_view, &out, &err), &err);
            free(out);
            assert_ok(run(session, view, &out, &err), &err);
            free(out);
            tl_free(rows_view);
            tl_free(view);
            tl_free(start);
            return;
        }
        tl_free(start);
    }
    assert_ok(run(session, c->text, &out, &err), &err);
    free(out);
}

typedef struct result {
    int same, refused, wrong;
    int taking_back; /* queries whose changelog takes rows back */
} result;

/** What batch mode has an answer for and streaming mode another, which is right there. */
static bool differs_by_right(const sql_case *c)
{
    return strstr(c->text, "FROM emp WHERE id > 100") != NULL; /* a group of no rows: no row comes, where batch has one of zeros */
}

static void compare_query(tl_sql_session *session, const sql_case *c, result *r)
{
    tl_error err = {0};
    char *out = NULL;
    if (run(session, c->text, &out, &err) != TL_OK) {
        /* The message says that it is the mode: nothing else may fail. */
        if (strstr(err.message, "stream") == NULL) {
            r->wrong++;
            printf("queries.test:%d: %s\n  %s\n", c->line, c->text, err.message);
        }
        r->refused++;
        free(out);
        return;
    }
    r->taking_back += strstr(out, "\"_kind\":\"-") != NULL;
    char *left = fold(out), *shown = tl_strdup(left);
    if (same_rows(c->wanted, left)) {
        r->same++;
    } else {
        r->wrong++;
        printf("queries.test:%d: %s\n  wanted:\n%s  got:\n%s  changelog:\n%s", c->line, c->text, c->wanted, shown, out);
    }
    tl_free(shown);
    tl_free(left);
    free(out);
}

static result compare_all(bool changes)
{
    case_file file;
    case_file_read(&file, TL_SOURCE_DIR "/tests/sql/queries.test");
    tl_error err = {0};
    tl_sql_session *session;
    assert_ok(tl_sql_session_create(&(tl_sql_session_options){.streaming = true}, &session, &err), &err);
    result r = {0};
    for (size_t i = 0; i < file.n; i++) {
        const sql_case *c = &file.cases[i];
        if (c->kind != CASE_STATEMENT || strstr(c->text, "lake") != NULL || (!is_setup(c) && strncmp(c->wanted, "error", 5) == 0))
            continue;
        if (is_setup(c))
            set_up(session, c, changes);
        else if (!differs_by_right(c))
            compare_query(session, c, &r);
    }
    tl_sql_session_free(session);
    case_file_deinit(&file);
    printf("%d queries the same, %d of all take rows back, %d refused in streaming mode\n", r.same, r.taking_back, r.refused);
    return r;
}

static void streaming_gives_what_batch_gives(void **state)
{
    (void)state;
    result r = compare_all(/* changes= */ false);
    assert_int_equal(r.wrong, 0);
    assert_true(r.same > 100);
}

static void rows_that_change_leave_the_same(void **state)
{
    (void)state;
    result r = compare_all(/* changes= */ true);
    assert_int_equal(r.wrong, 0);
    assert_true(r.same > 100);
    assert_true(r.taking_back > 70);
}

/* ---- table.exec.state.ttl ---- */

/** Every look at the clock finds it an hour later. */
static int64_t an_hour_later(void *ctx)
{
    return *(int64_t *)ctx += 3600000;
}

static char *run_aging(const char *ttl, const char *query)
{
    tl_error err = {0};
    int64_t now = 1700000000000;
    tl_clock clock = {an_hour_later, &now};
    tl_sql_session *session;
    char *out = NULL, *script = tl_strf("SET 'table.exec.state.ttl' = '%s'; %s", ttl, query);
    assert_ok(tl_sql_session_create(&(tl_sql_session_options){.streaming = true, .clock = &clock}, &session, &err), &err);
    assert_ok(run(session, script, &out, &err), &err);
    tl_sql_session_free(session);
    tl_free(script);
    return out;
}

/* Each input of a UNION ALL is a batch of its own. */
static void old_state_is_dropped_and_nothing_taken_back(void **state)
{
    (void)state;
    static const struct {
        const char *query, *kept, *dropped;
    } cases[] = {
        {"SELECT k, COUNT(*) AS n FROM (SELECT 'a' AS k UNION ALL SELECT 'a' UNION ALL SELECT 'a') GROUP BY k;",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"-U\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+U\",\"k\":\"a\",\"n\":2}\n"
         "{\"_kind\":\"-U\",\"k\":\"a\",\"n\":2}\n{\"_kind\":\"+U\",\"k\":\"a\",\"n\":3}\n",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n"},
        {"SELECT k, COUNT(DISTINCT v) AS n FROM (SELECT 'a' AS k, 1 AS v UNION ALL SELECT 'b', 1 UNION ALL SELECT 'a', 2) GROUP BY k;",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"b\",\"n\":1}\n{\"_kind\":\"-U\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+U\",\"k\":\"a\",\"n\":2}\n",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"b\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n"},
        {"SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM (SELECT 'a' AS k, 1 AS v UNION ALL SELECT 'a', 2)) WHERE rn = 1;",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"v\":1}\n", "{\"_kind\":\"+I\",\"k\":\"a\",\"v\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":2}\n"},
        {"SELECT l.k, v FROM (SELECT 'a' AS k) AS l JOIN (SELECT 'a' AS k, 1 AS v UNION ALL SELECT 'a', 2) AS r ON l.k = r.k;",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"v\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":2}\n", ""},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        char *kept = run_aging("1000 d", cases[i].query), *dropped = run_aging("10 min", cases[i].query);
        assert_string_equal(kept, cases[i].kept);
        assert_string_equal(dropped, cases[i].dropped);
        free(kept);
        free(dropped);
    }
    tl_error err = {0};
    tl_sql_session *session;
    char *out = NULL;
    assert_ok(tl_sql_session_create(&(tl_sql_session_options){.streaming = true}, &session, &err), &err);
    assert_int_not_equal(run(session, "SET 'table.exec.state.ttl' = 'soon'; SELECT 1;", &out, &err), TL_OK);
    assert_non_null(strstr(err.message, "table.exec.state.ttl"));
    free(out);
    tl_sql_session_free(session);
}

/* STATE_TTL of a side of a join, or of groups, goes before the setting. */
static void state_ttl_is_a_hint(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *query, *wanted;
    } cases[] = {
        {"1000 d", "SELECT /*+ STATE_TTL('g' = '10 min') */ k, COUNT(*) AS n FROM (SELECT 'a' AS k UNION ALL SELECT 'a') AS g GROUP BY k;",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n"},
        {"10 min", "SELECT /*+ STATE_TTL('g' = '0 s') */ k, COUNT(*) AS n FROM (SELECT 'a' AS k UNION ALL SELECT 'a') AS g GROUP BY k;",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"-U\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+U\",\"k\":\"a\",\"n\":2}\n"},
        {"10 min", "SELECT /*+ STATE_TTL('l' = '1000 d', 'r' = '5 min') */ l.k, v FROM (SELECT 'a' AS k) AS l JOIN (SELECT 'a' AS k, 1 AS v UNION ALL SELECT 'a', 2) AS r ON l.k = r.k;",
         "{\"_kind\":\"+I\",\"k\":\"a\",\"v\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"v\":2}\n"},
        {"1000 d", "SELECT /*+ STATE_TTL('l' = '5 min') */ l.k, v FROM (SELECT 'a' AS k) AS l, (SELECT 'a' AS k, 1 AS v UNION ALL SELECT 'a', 2) AS r WHERE l.k = r.k;", ""},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        char *out = run_aging(cases[i].setting, cases[i].query);
        assert_string_equal(out, cases[i].wanted);
        free(out);
    }
}

/* The clock passes every session before it is looked at again; or none, and what is open when the input ends gives nothing. */
static void sessions_go_by_the_clock(void **state)
{
    (void)state;
    static const struct {
        const char *gap, *wanted;
    } cases[] = {{"'30' MINUTE", "{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"a\",\"n\":1}\n{\"_kind\":\"+I\",\"k\":\"b\",\"n\":1}\n"},
                 {"'30' DAY", ""}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        char *query = tl_strf("SELECT k, COUNT(*) AS n FROM (SELECT k, PROCTIME() AS pt FROM (SELECT 'a' AS k UNION ALL SELECT 'a' UNION ALL SELECT 'b'))"
                              " GROUP BY k, SESSION(pt, INTERVAL %s);",
                              cases[i].gap);
        char *out = run_aging("0", query);
        assert_string_equal(out, cases[i].wanted);
        free(out);
        tl_free(query);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(streaming_gives_what_batch_gives), cmocka_unit_test(rows_that_change_leave_the_same),
                                       cmocka_unit_test(old_state_is_dropped_and_nothing_taken_back),
        cmocka_unit_test(state_ttl_is_a_hint), cmocka_unit_test(sessions_go_by_the_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
