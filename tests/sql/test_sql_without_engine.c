/* Without libduckdb: joins, groups, sorts and windows of batch queries say what is missing and how to get it; all else works. */
#include "sql/bind.h"
#include "support/temp_lake.h"

static tl_status run(tl_sql_session *session, const char *text, int64_t *n_rows, tl_error *err)
{
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    *n_rows = 0;
    TL_TRY(tl_sql_prepare(session, text, 1, &stmt, err));
    TL_TRY(tl_sql_execute(session, stmt, &reader, err));
    while (reader != NULL) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            break;
        *n_rows += batch->n_rows;
    }
    return TL_OK;
}

static void what_needs_no_engine_works(void **state)
{
    tl_sql_session *session = *state;
    static const struct {
        const char *text;
        int64_t n_rows;
    } statements[] = {
        {"CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '/lake')", 0},
        {"CREATE DATABASE lake.d", 0},
        {"CREATE TABLE lake.d.t (id INT, s STRING, a ARRAY<INT>, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1')", 0},
        {"INSERT INTO lake.d.t VALUES (1, 'x', ARRAY[1, 2]), (2, 'y', ARRAY[3]), (3, CAST(NULL AS STRING), CAST(NULL AS ARRAY<INT>))", 0},
        {"SELECT UPPER(s), id + 1 FROM lake.d.t WHERE id > 1", 2},
        {"SELECT * FROM lake.d.t UNION ALL SELECT * FROM lake.d.t LIMIT 4", 4},
        {"SELECT id, v FROM lake.d.t CROSS JOIN UNNEST(a) AS u (v)", 3},
        {"WITH c AS (SELECT id FROM lake.d.t) SELECT id FROM c", 3},
        {"INSERT INTO lake.d.t SELECT id + 10, s, a FROM lake.d.t", 0},
        {"UPDATE lake.d.t SET s = 'z' WHERE id = 1", 0},
        {"DELETE FROM lake.d.t WHERE id = 2", 0},
        {"SELECT * FROM lake.d.t", 5},
        {"SELECT COUNT(*) FROM lake.d.t", 1},
        {"SHOW TABLES IN lake.d", 1},
        {"DESCRIBE lake.d.t", 3},
        {"EXPLAIN SELECT s, COUNT(*) FROM lake.d.t GROUP BY s", 1},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(statements); i++) {
        tl_error err = {0};
        int64_t n;
        if (run(session, statements[i].text, &n, &err) != TL_OK)
            fail_msg("%s: %s", statements[i].text, err.message);
        if (strncmp(statements[i].text, "EXPLAIN", 7) == 0 ? n == 0 : n != statements[i].n_rows)
            fail_msg("%s: %lld rows", statements[i].text, (long long)n);
    }
}

static void what_needs_it_names_it(void **state)
{
    tl_sql_session *session = *state;
    static const char *const statements[] = {
        "SELECT SUM(a) FROM (VALUES (1), (2)) AS t (a)",
        "SELECT a FROM (VALUES (1), (2)) AS t (a) ORDER BY a",
        "SELECT * FROM (VALUES (1)) AS t (a) JOIN (VALUES (1)) AS u (b) ON a = b",
        "SELECT DISTINCT a FROM (VALUES (1), (1)) AS t (a)",
        "SELECT a FROM (VALUES (1)) AS t (a) UNION SELECT 2",
        "SELECT ROW_NUMBER() OVER (ORDER BY a) FROM (VALUES (1), (2)) AS t (a)",
        "SELECT a FROM (VALUES (1)) AS t (a) WHERE a IN (SELECT 1)",
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(statements); i++) {
        tl_error err = {0};
        int64_t n;
        assert_fails(run(session, statements[i], &n, &err), TL_E_UNSUPPORTED, &err, "libduckdb");
        assert_non_null(strstr(err.message, "/nowhere/libduckdb.so"));
        assert_non_null(strstr(err.message, "script/fetch-duckdb"));
        assert_non_null(strstr(err.message, "TIDELAKE_DUCKDB"));
    }
    char text[256];
    assert_false(tl_sql_engine_available(text));
    assert_non_null(strstr(text, "libduckdb"));
}

static int open_session(void **state)
{
    static tl_fs *fs;
    tl_error err = {0};
    tl_sql_session *session = NULL;
    setenv("TIDELAKE_DUCKDB", "/nowhere/libduckdb.so", 1);
    if (tl_fs_memory(&fs, &err) != TL_OK || tl_sql_session_create(&(tl_sql_session_options){.fs = fs}, &session, &err) != TL_OK)
        return -1;
    tl_fs_unref(fs);
    *state = session;
    return 0;
}

static int close_session(void **state)
{
    tl_sql_session_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_needs_no_engine_works),
        cmocka_unit_test(what_needs_it_names_it),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
