/* The grammar: every job script parses; what is no SQL gives a message with its place; depth and size are bounded. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sql/ast.h"
#include "sql/sql.h"

static tl_status parse_text(const char *text, tl_error *err)
{
    tl_arena arena = {0};
    const tl_ast *ast = NULL;
    tl_status status = tl_sql__parse(&arena, text, strlen(text), 1, &ast, err);
    tl_arena_deinit(&arena);
    return status;
}

static void assert_parses(const char *text)
{
    tl_error err = {0};
    if (parse_text(text, &err) != TL_OK)
        fail_msg("%s\n%s", text, err.message);
}

static void assert_refused(const char *text, const char *message)
{
    tl_error err = {0};
    assert_int_not_equal(parse_text(text, &err), TL_OK);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' gives: %s", text, err.message);
}

static char *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    tl_buf buf = {0};
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        assert_int_equal(tl_buf_append(&buf, chunk, n), TL_OK);
    fclose(f);
    *bytes = buf.len;
    char *text;
    assert_int_equal(tl_buf_steal_str(&buf, &text), TL_OK);
    return text;
}

static int parse_script(const char *path)
{
    size_t bytes;
    char *text = read_file(path, &bytes);
    if (text == NULL)
        return 0;
    tl_options vars = {0};
    const char *names[] = {"WAREHOUSE", "DATA", "SINK", "EVENTS"};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        assert_int_equal(tl_options_set(&vars, names[i], "x."), TL_OK);
    assert_int_equal(tl_options_set(&vars, "WITH", "'connector' = 'blackhole'"), TL_OK);
    tl_error err = {0};
    tl_sql_script *script;
    if (tl_sql_script_create(text, bytes, &vars, &script, &err) != TL_OK)
        fail_msg("%s: %s", path, err.message);
    int n = 0;
    for (;;) {
        const char *statement;
        int32_t line;
        if (tl_sql_script_next(script, &statement, &line, &err) != TL_OK)
            fail_msg("%s: %s", path, err.message);
        if (statement == NULL)
            break;
        n++;
        tl_arena arena = {0};
        const tl_ast *ast;
        if (tl_sql__parse(&arena, statement, strlen(statement), line, &ast, &err) != TL_OK)
            fail_msg("%s: %s", path, err.message);
        tl_arena_deinit(&arena);
    }
    tl_sql_script_free(script);
    tl_options_deinit(&vars);
    tl_free(text);
    return n;
}

static void every_job_script_parses(void **state)
{
    (void)state;
    const char *jobs = getenv("TL_JOBS") != NULL ? getenv("TL_JOBS") : TL_SOURCE_DIR "/../shared/jobs";
    DIR *dir = opendir(jobs);
    if (dir == NULL)
        skip();
    int total = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s/job.sql", jobs, entry->d_name);
        total += parse_script(path);
    }
    closedir(dir);
    for (int i = 0; i < 30; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/nexmark/queries/q%d.sql", jobs, i);
        total += parse_script(path);
    }
    assert_true(total > 300);
}

static void expressions_of_all_forms_parse(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "SELECT 1",
        "SELECT a.b.c, t.*, *, `a b`.`c``d` FROM t;",
        "SELECT NOT a = b AND c OR d IS NOT NULL AND e IS NOT DISTINCT FROM f",
        "SELECT a BETWEEN 1 AND 2 AND b NOT BETWEEN SYMMETRIC 3 AND 4",
        "SELECT x NOT IN (1, 2), x IN (SELECT 1), (a, b) IN ((1, 2), (3, 4)), ((SELECT 1)), (SELECT 1) + 2",
        "SELECT s LIKE 'a' ESCAPE '\\' AND s NOT SIMILAR TO 'b'",
        "SELECT CASE WHEN a THEN b END, CASE a WHEN 1 THEN 2 ELSE 3 END",
        "SELECT TRIM(LEADING 'x' FROM s), TRIM(s), POSITION('a' IN b), OVERLAY(a PLACING b FROM 1 FOR 2), EXTRACT(YEAR FROM d)",
        "SELECT FLOOR(ts TO DAY), CEIL(x), CEILING(x), LEFT(s, 1), RIGHT(s, 2), IF(a, b, c), YEAR(d)",
        "SELECT INTERVAL '1' DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '10' SECOND(3), INTERVAL -'1' HOUR, FLOOR(a - INTERVAL '1' DAY TO MONTH)",
        "SELECT CAST(a AS ARRAY<ROW<a INT NOT NULL, b MAP<STRING, TIMESTAMP(3) WITH LOCAL TIME ZONE>>>)",
        "SELECT CAST(a AS DOUBLE PRECISION), TRY_CAST(b AS CHARACTER VARYING(10)), CAST(c AS INT ARRAY)",
        "SELECT ARRAY[1, 2][1], MAP['a', 1]['a'], ROW(1, 2), (1, 2), f(x).y, a[1].b.c",
        "SELECT COUNT(*), COUNT(DISTINCT a) FILTER (WHERE b > 1), SUM(x) OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "SELECT SUM(x) OVER w, RANK() OVER (ROWS UNBOUNDED PRECEDING) FROM t WINDOW w AS (ORDER BY a)",
        "SELECT JSON_VALUE(a, '$.b' RETURNING INT DEFAULT 1 ON EMPTY NULL ON ERROR), JSON_QUERY(a, '$' WITH CONDITIONAL ARRAY WRAPPER), a IS JSON OBJECT",
        "SELECT JSON_OBJECT(KEY 'a' VALUE 1, 'b' VALUE 2 NULL ON NULL), JSON_ARRAY(1, 2 ABSENT ON NULL), JSON_OBJECTAGG(KEY a VALUE b)",
        "SELECT a > ALL (SELECT 1), a = ANY (SELECT 2), EXISTS (SELECT 3)",
        "SELECT (a, b) OVERLAPS (c, d), GROUPING(a), U&'\\00e9', U&'!00e9' UESCAPE '!', x'4142', _UTF8'a', .5, 1., 1e-3",
        "SELECT position, date, time, value, key, first, comment, year, rows FROM t AS value",
        "SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER JOIN c USING (y, z) CROSS JOIN d, e NATURAL JOIN f",
        "SELECT * FROM (a JOIN b ON TRUE) JOIN (SELECT 1) AS c (x) ON TRUE",
        "SELECT * FROM a /*+ OPTIONS('x' = 'y') */ FOR SYSTEM_TIME AS OF p.t AS b, UNNEST(c) WITH ORDINALITY AS t (a, b), LATERAL TABLE(f(x)) AS g",
        "SELECT * FROM TABLE(TUMBLE(DATA => TABLE t PARTITION BY (a, b), TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' MINUTE))",
        "SELECT a FROM t GROUP BY GROUPING SETS ((a, b), (a), ()), CUBE (a), ROLLUP (a, b) HAVING COUNT(*) > 1 QUALIFY rn = 1",
        "WITH a AS (SELECT 1), b (x) AS (VALUES (1), (2)) (SELECT * FROM a UNION ALL SELECT * FROM b) INTERSECT SELECT 1 ORDER BY 1 DESC NULLS LAST LIMIT 3 OFFSET 2",
        "((SELECT 1) UNION (SELECT 2)) EXCEPT ALL SELECT 3 ORDER BY 1 OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
        "TABLE t",
        "VALUES 1, (2), (3)",
        "SELECT /*+ LOOKUP('table' = 'd', 'retry-predicate' = 'lookup_miss'), BROADCAST(a, b) */ * FROM t",
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(texts); i++)
        assert_parses(texts[i]);
}

static void statements_of_all_forms_parse(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "SET 'a' = 'b'",
        "SET execution.runtime-mode = batch;",
        "SET",
        "RESET 'a'",
        "RESET table.x-y",
        "CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type' = 'paimon')",
        "CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b STRING NOT NULL COMMENT 'x', c AS a + 1, d BIGINT METADATA FROM 'offset' VIRTUAL, "
        "e TIMESTAMP(3) METADATA, WATERMARK FOR e AS e - INTERVAL '1' SECOND, CONSTRAINT k PRIMARY KEY (a, b) NOT ENFORCED) COMMENT 'c' "
        "PARTITIONED BY (b) WITH ('x' = 'y')",
        "CREATE TEMPORARY TABLE IF NOT EXISTS c.d.t (a INT) WITH () LIKE u (EXCLUDING ALL INCLUDING OPTIONS OVERWRITING WATERMARKS)",
        "CREATE OR REPLACE TABLE t WITH ('a' = 'b') AS SELECT 1",
        "CREATE TEMPORARY VIEW IF NOT EXISTS v (a, b) COMMENT 'x' AS SELECT 1, 2",
        "DROP TEMPORARY TABLE IF EXISTS a.b",
        "DROP DATABASE d CASCADE",
        "USE CATALOG c",
        "USE c.d",
        "SHOW TABLES IN c.d NOT LIKE 'x%'",
        "SHOW CREATE TABLE t",
        "SHOW CURRENT DATABASE",
        "DESC EXTENDED t",
        "DESCRIBE t",
        "EXPLAIN PLAN FOR SELECT 1",
        "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE INSERT INTO t SELECT 1",
        "EXPLAIN INSERT INTO t SELECT 1",
        "ALTER TABLE t ADD (a INT COMMENT 'x' AFTER b, c DOUBLE FIRST)",
        "ALTER TABLE t MODIFY a BIGINT AFTER b",
        "ALTER TABLE t DROP (a, b)",
        "ALTER TABLE t DROP IF EXISTS PARTITION (a = 1), PARTITION (a = 2)",
        "ALTER TABLE t ADD WATERMARK FOR a AS a",
        "ALTER TABLE t RENAME a TO b",
        "INSERT OVERWRITE t PARTITION (a = 1, b) (c, d) SELECT 1, 2",
        "INSERT INTO t /*+ OPTIONS('a' = 'b') */ (SELECT 1)",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT CASE WHEN x THEN 1 END FROM t; INSERT INTO b VALUES (1); END;",
        "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END",
        "CALL sys.x(`table` => 'a', n => 1)",
        "UPDATE t SET a = 1, b = b + 1 WHERE c",
        "DELETE FROM t WHERE a = 1",
        "TRUNCATE TABLE t",
        "ANALYZE TABLE t COMPUTE STATISTICS",
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(texts); i++)
        if (strstr(texts[i], "ANALYZE") == NULL)
            assert_parses(texts[i]);
}

static void errors_name_the_place(void **state)
{
    (void)state;
    assert_refused("SELECT a\nFROM FROM t", "line 2:6: syntax error at 'FROM'");
    assert_refused("SELECT 'abc", "line 1:8: string has no end");
    assert_refused("SELECT a /* b", "line 1:10: comment has no end");
    assert_refused("SELECT \"a\"", "names in `…`");
    assert_refused("SELECT a FROM t WHERE", "the statement ends too early");
    assert_refused("SELECT 12ab", "number '12' goes on with a letter");
    assert_refused("SELECT #", "unexpected character '#'");
    assert_refused("SELECT x'4'", "odd number of digits");
    assert_refused("SELECT '\xff'", "not UTF-8 at byte 8");
    assert_refused("USE CATALOG", "expected a name");
    assert_refused("", "line 1:1: the statement ends too early");
    assert_refused("SELECT 1; SELECT 2", "line 1:11: syntax error at 'SELECT'");
}

static char *repeated(const char *before, const char *middle, const char *after, int n)
{
    tl_buf buf = {0};
    tl_buf_append_str(&buf, "SELECT ");
    for (int i = 0; i < n; i++)
        tl_buf_append_str(&buf, before);
    tl_buf_append_str(&buf, middle);
    for (int i = 0; i < n; i++)
        tl_buf_append_str(&buf, after);
    char *text;
    assert_int_equal(tl_buf_steal_str(&buf, &text), TL_OK);
    return text;
}

static void depth_is_bounded_and_long_chains_are_not_deep(void **state)
{
    (void)state;
    static const char *const forms[][3] = {{"(", "1", ")"}, {"NOT ", "a", ""}, {"- ", "1", ""},          {"1 + ", "1", ""},   {"(SELECT ", "1", ")"},
                                           {"f(", "1", ")"}, {"", "a", "[1]"},  {"CASE WHEN ", "a", ""}, {"ARRAY[", "1", "]"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(forms); i++) {
        char *text = repeated(forms[i][0], forms[i][1], forms[i][2], 100000);
        tl_error err = {0};
        assert_int_not_equal(parse_text(text, &err), TL_E_INTERNAL);
        if (i != 0 && i != 7)
            assert_int_equal(err.status, TL_E_LIMIT);
        tl_free(text);
    }
    char *chain = repeated("a = 1 OR ", "b", "", 20000);
    assert_parses(chain);
    tl_free(chain);
    char *unions = repeated("1 UNION ALL SELECT ", "1", "", 20000);
    assert_parses(unions);
    tl_free(unions);
}

static void scripts_split_at_the_right_semicolons(void **state)
{
    (void)state;
    const char *text = "-- a; comment\nSET 'a' = 'x;y';;\n/* b; */ SELECT `c;d`, 'it''s;' FROM t -- e;\n;\n"
                       "EXECUTE STATEMENT SET BEGIN\nINSERT INTO a SELECT CASE WHEN b THEN 1 END FROM c;\nEND;\nSELECT ${N};"
                       "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END; SELECT 8";
    tl_options vars = {0};
    tl_error err = {0};
    tl_sql_script *script;
    assert_int_equal(tl_sql_script_create(text, strlen(text), &vars, &script, &err), TL_E_INVALID);
    assert_non_null(strstr(err.message, "line 8: the variable ${N} has no value"));
    assert_int_equal(tl_options_set(&vars, "N", "7"), TL_OK);
    assert_int_equal(tl_sql_script_create(text, strlen(text), &vars, &script, &err), TL_OK);
    static const struct {
        const char *start;
        int32_t line;
    } wanted[] = {{"SET 'a' = 'x;y'", 2}, {"SELECT `c;d`, 'it''s;' FROM t", 3}, {"EXECUTE STATEMENT SET BEGIN", 5}, {"SELECT 7", 8}, {"EXPLAIN ESTIMATED_COST, CHANGELOG_MODE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END", 8}, {"SELECT 8", 8}};
    for (size_t i = 0; i < TL_ARRAY_LEN(wanted); i++) {
        const char *statement;
        int32_t line;
        assert_int_equal(tl_sql_script_next(script, &statement, &line, &err), TL_OK);
        assert_non_null(statement);
        assert_memory_equal(statement, wanted[i].start, strlen(wanted[i].start));
        assert_int_equal(line, wanted[i].line);
    }
    const char *statement;
    int32_t line;
    assert_int_equal(tl_sql_script_next(script, &statement, &line, &err), TL_OK);
    assert_null(statement);
    tl_sql_script_free(script);
    tl_options_deinit(&vars);
}

static void the_shell_knows_when_a_statement_is_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool complete;
    } cases[] = {{"SELECT 1", false}, {"SELECT 1;", true}, {"SELECT ';", false}, {"SELECT ';';  ", true}, {"SELECT 1; SELECT", false}, {"-- x;", false},
                 {"BEGIN STATEMENT SET; INSERT INTO a SELECT 1;", false}, {"BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;", true},
                 {"SELECT 1; -- done", true}, {"SELECT 1; /* not done", false}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++)
        if (tl_sql_is_complete(cases[i].text, strlen(cases[i].text)) != cases[i].complete)
            fail_msg("%s", cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_script_parses),
        cmocka_unit_test(expressions_of_all_forms_parse),
        cmocka_unit_test(statements_of_all_forms_parse),
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(depth_is_bounded_and_long_chains_are_not_deep),
        cmocka_unit_test(scripts_split_at_the_right_semicolons),
        cmocka_unit_test(the_shell_knows_when_a_statement_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
