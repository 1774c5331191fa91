/*
 * Every allocation of a statement gets its turn to fail: while it is parsed, bound, compiled and run. Each time there is an error,
 * nothing leaks (AddressSanitizer) and the session still works.
 */
#include "sql/bind.h"
#include "support/temp_lake.h"

#define VIEW                                                                                                                     \
    "CREATE TEMPORARY VIEW t AS SELECT * FROM (VALUES (1, 'one', 1.50, ARRAY[1, 2], MAP['k', 1]), (2, 'two', 2.50, ARRAY[3, 4], " \
    "MAP['l', 2]), (CAST(NULL AS INT), CAST(NULL AS STRING), CAST(NULL AS DECIMAL(3, 2)), CAST(NULL AS ARRAY<INT>), "             \
    "CAST(NULL AS MAP<CHAR(1), INT>))) AS v (id, s, x, a, m)"

static const char *const setup[] = {
    VIEW,
    "CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '/lake')",
    "CREATE DATABASE lake.d",
    "CREATE TABLE lake.d.k (id INT, p STRING, v STRING, PRIMARY KEY (id, p) NOT ENFORCED) PARTITIONED BY (p) WITH ('bucket' = '1')",
    "INSERT INTO lake.d.k VALUES (1, 'a', 'x'), (2, 'a', 'y'), (3, 'b', 'z')",
};

/** What each part of the room does at least once. `undo` puts back what the statement did. */
static const struct {
    const char *text, *undo;
    bool engine; /* needs libduckdb */
} statements[] = {
    {.text = "SELECT 1 + 2 * 3, 'a' || 'b', DATE '2024-02-29' + INTERVAL '1' MONTH, CAST('1' AS INT), TRY_CAST('x' AS INT)"},
    {.text = "SELECT id + 1, id * x, x / 3, MOD(id, 2), -x, id IN (1, 2, 5), s IN ('one', 'z'), id BETWEEN 1 AND 2, NOT (id = 1 OR s LIKE 'o%') FROM t"},
    {.text = "SELECT CASE WHEN id = 1 THEN 'a' WHEN id = 2 THEN s ELSE 'c' END, COALESCE(s, 'none'), NULLIF(id, 1), IF(id > 1, x, 0), GREATEST(id, 2) FROM t"},
    {.text = "SELECT UPPER(s), SUBSTRING(s, 2), REPLACE(s, 'o', '0'), LPAD(s, 6, '*'), CONCAT_WS('-', s, 'z'), SPLIT_INDEX(s, 'n', 0), MD5(s), TRIM(s), REVERSE(s), REPEAT(s, 2) FROM t"},
    {.text = "SELECT REGEXP_REPLACE(s, '(o)(n)', '-'), REGEXP_EXTRACT(s, '(t)(w)', 2), REGEXP(s, 'o$'), s SIMILAR TO '(one|two)', s LIKE '_w_' FROM t"},
    {.text = "SELECT JSON_VALUE('{\"a\":[1,{\"b\":2}]}', '$.a[1].b'), JSON_QUERY('{\"a\":[1]}', '$.a' WITH WRAPPER), JSON_QUERY('[{\"a\":1}]', '$[?(@.a > 0 && !(@.b))]'), JSON_OBJECT('k' VALUE s), JSON_ARRAY(id, x), JSON_STRING(m), s IS JSON FROM t"},
    {.text = "SELECT a[1], m['k'], CARDINALITY(a), ARRAY_CONCAT(a, ARRAY[9]), ARRAY_SORT(a), ARRAY_JOIN(ARRAY[s, 'q'], ','), MAP_KEYS(m), MAP_UNION(m, m), ROW(id, s), ARRAY[id, 7], MAP[s, id], STR_TO_MAP('a=1,b=2'), SPLIT(s, 'n') FROM t"},
    {.text = "SELECT DATE_FORMAT(TIMESTAMP '2024-02-29 12:34:56', 'yyyy-MM-dd'), TO_TIMESTAMP('2024-02-29 12:34:56'), EXTRACT(DAY FROM DATE '2024-02-29'), FLOOR(TIMESTAMP '2024-02-29 12:34:56' TO HOUR), "
             "TIMESTAMPDIFF(DAY, DATE '2024-01-01', DATE '2024-02-29'), CONVERT_TZ('2024-02-29 12:34:56', 'UTC', 'Europe/Berlin'), CAST(TIMESTAMP '2024-02-29 12:34:56' AS TIMESTAMP_LTZ(3))"},
    {.text = "SELECT CAST(a AS STRING), CAST(a AS ARRAY<STRING>), CAST(m AS STRING), CAST(ROW(id, s) AS ROW<p BIGINT, q STRING>), CAST(x AS INT), CAST(s AS BYTES), CAST(id AS DECIMAL(10, 3)) FROM t"},
    {.text = "SELECT id, v FROM t CROSS JOIN UNNEST(a) AS u (v)"},
    {.text = "SELECT id FROM t WHERE x > 1 UNION ALL SELECT 7 LIMIT 3"},
    {.text = "SELECT * FROM lake.d.k WHERE p = 'a' AND id > 1"},
    {.text = "SELECT UPPER(v) FROM lake.d.k WHERE v LIKE 'x%' OR id = 3"},
    {.text = "EXPLAIN SELECT p, COUNT(*) FROM lake.d.k WHERE id > 1 GROUP BY p ORDER BY p"},
    {.text = "SHOW TABLES IN lake.d"},
    {.text = "SHOW CREATE TABLE lake.d.k"},
    {.text = "DESCRIBE lake.d.k"},
    {.text = "SHOW FUNCTIONS LIKE 'JSON%'"},
    {.text = "SET 'table.local-time-zone' = 'Europe/Berlin'", .undo = "RESET 'table.local-time-zone'"},
    {.text = "CREATE TEMPORARY VIEW w (a, b) AS SELECT id, s FROM t", .undo = "DROP TEMPORARY VIEW IF EXISTS w"},
    {.text = "CREATE TEMPORARY TABLE c (a INT, b AS a + 1, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'blackhole')",
     .undo = "DROP TEMPORARY TABLE IF EXISTS c"},
    {.text = "CREATE TABLE lake.d.n (id INT, v ROW<a INT, b ARRAY<STRING>>, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')", .undo = "DROP TABLE IF EXISTS lake.d.n"},
    {.text = "SELECT a.id, k.v FROM t a LEFT JOIN lake.d.k k ON k.id = a.id", .engine = true},
    {.text = "SELECT s, COUNT(DISTINCT id), SUM(x), LISTAGG(s) FROM t GROUP BY s ORDER BY s", .engine = true},
    {.text = "SELECT id, ROW_NUMBER() OVER (PARTITION BY s ORDER BY x), SUM(id) OVER (ORDER BY id) FROM t", .engine = true},
    {.text = "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM lake.d.k k WHERE k.id = t.id)", .engine = true},
    {.text = "SELECT id FROM t INTERSECT SELECT id FROM lake.d.k EXCEPT SELECT 5", .engine = true},
    {.text = "WITH c AS (SELECT id, (SELECT MAX(x) FROM t) AS m FROM t) SELECT * FROM c ORDER BY id DESC LIMIT 2 OFFSET 1", .engine = true},
};

/** The lines of a statement, appended as JSON lines. */
static tl_status run(tl_sql_session *session, const char *text, tl_buf *lines, tl_error *err)
{
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_sql_prepare(session, text, 1, &stmt, err));
    TL_TRY(tl_sql_execute(session, stmt, &reader, err));
    while (reader != NULL) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            break;
        TL_TRY(tl_text_append_json_lines(lines, batch, 0, batch->n_rows, false, false));
    }
    return TL_OK;
}

static tl_status run_quietly(tl_sql_session *session, const char *text, tl_error *err)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf lines = {0};
    return run(session, text, &lines, err);
}

typedef struct room {
    tl_fs *fs;
    tl_sql_session *session;
} room;

static room open_room(void)
{
    room r = {0};
    tl_error err = {0};
    assert_ok(tl_fs_memory(&r.fs, &err), &err);
    assert_ok(tl_sql_session_create(&(tl_sql_session_options){.fs = r.fs}, &r.session, &err), &err);
    for (size_t i = 0; i < TL_ARRAY_LEN(setup); i++)
        assert_ok(run_quietly(r.session, setup[i], &err), &err);
    return r;
}

static void close_room(room *r)
{
    tl_sql_session_free(r->session);
    tl_fs_unref(r->fs);
}

static int n_wrong;

static void complain(const char *what, uint64_t at, tl_status status, const tl_error *err)
{
    printf("%s\n  allocation %llu failed: %s%s\n", what, (unsigned long long)at, status == TL_OK ? "no error" : "error: ", status == TL_OK ? "" : err->message);
    n_wrong++;
}

static bool same_rows(const tl_buf *a, const tl_buf *b)
{
    return tl_bytes_equal((tl_bytes_view){a->data, a->len}, (tl_bytes_view){b->data, b->len});
}

/**
 * Lets the allocations of a statement fail one after the other; gives their number. What a failure only makes slower (a hint that is
 * not read, files that are not pruned) may pass without an error, but the lines must be the same.
 */
static uint64_t fail_each(tl_sql_session *session, const char *text, const char *undo)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf wanted = {0};
    tl_error first = {0};
    assert_ok(run(session, text, &wanted, &first), &first);
    for (uint64_t at = 1;; at++) {
        if (undo != NULL) {
            tl_error ignored = {0};
            assert_ok(run_quietly(session, undo, &ignored), &ignored);
        }
        tl_error err = {0};
        TL_CLEANUP(tl_buf_deinit) tl_buf lines = {0};
        tl_alloc_fail_at(at);
        tl_status status = run(session, text, &lines, &err);
        uint64_t n = tl_alloc_count();
        tl_alloc_fail_at(0);
        bool good = status == TL_OK ? same_rows(&wanted, &lines) : status == TL_E_NOMEM && n >= at;
        if (!good)
            complain(text, at, status, &err);
        if (n < at)
            return at - 1;
    }
}

static void each_allocation_fails(void **state)
{
    (void)state;
    room r = open_room();
    char text[256];
    bool loads = tl_sql_engine_available(text);
    uint64_t n = 0;
    n_wrong = 0;
    for (size_t i = 0; i < TL_ARRAY_LEN(statements); i++)
        if (loads || !statements[i].engine)
            n += fail_each(r.session, statements[i].text, statements[i].undo);
    printf("%llu allocations failed in %zu statements\n", (unsigned long long)n, TL_ARRAY_LEN(statements));
    close_room(&r);
    assert_true(n > 5000);
    assert_int_equal(n_wrong, 0);
}

static bool has_rows(const tl_buf *lines)
{
    static const char *const wanted[] = {"{\"id\":1,\"p\":\"a\",\"v\":\"x\"}", "{\"id\":2,\"p\":\"a\",\"v\":\"y\"}", "{\"id\":3,\"p\":\"b\",\"v\":\"z\"}"};
    bool all = true;
    for (size_t i = 0; i < TL_ARRAY_LEN(wanted); i++)
        all = all && lines->data != NULL && memmem(lines->data, lines->len, wanted[i], strlen(wanted[i])) != NULL;
    return all;
}

/** A session of its own for each try: opening catalogs and views, and a write with its commit. */
static void sessions_and_inserts_fail_whole(void **state)
{
    (void)state;
    n_wrong = 0;
    for (uint64_t at = 1;; at++) {
        tl_error err = {0};
        room r = {0};
        assert_ok(tl_fs_memory(&r.fs, &err), &err);
        tl_alloc_fail_at(at);
        tl_status status = tl_sql_session_create(&(tl_sql_session_options){.fs = r.fs}, &r.session, &err);
        for (size_t i = 0; i < TL_ARRAY_LEN(setup) && status == TL_OK; i++)
            status = run_quietly(r.session, setup[i], &err);
        uint64_t n = tl_alloc_count();
        tl_alloc_fail_at(0);
        TL_CLEANUP(tl_buf_deinit) tl_buf lines = {0};
        tl_error again = {0};
        if (status == TL_OK && run(r.session, "SELECT * FROM lake.d.k", &lines, &again) == TL_OK && !has_rows(&lines))
            complain("an INSERT", at, status, &err);
        close_room(&r);
        if (status != TL_OK && status != TL_E_NOMEM)
            complain("a session", at, status, &err);
        if (n < at) {
            assert_ok(status, &err);
            assert_int_equal(n_wrong, 0);
            return;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails),
        cmocka_unit_test(sessions_and_inserts_fail_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
