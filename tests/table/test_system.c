/* System tables over a table that has a bit of everything, and branches. Types and texts in full: the fixtures' system-tables. */
#include "table_support.h"

static lake rich_lake(void)
{
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "p STRING, k INT NOT NULL, v BIGINT", "p,k", "p",
           "bucket=2,merge-engine=aggregation,fields.v.aggregate-function=sum,changelog-producer=input");
    tl_table *table = open_table(&l, "t");
    put_as(table, "u", 1, "{'p':'x','k':1,'v':10}\n{'p':'y','k':2,'v':20}", true);
    put_as(table, "u", 2, "{'p':'x','k':1,'v':5}", false);
    assert_ok(tl_table_create_tag(table, "first", 1, TL_ABSENT, &err), &err);
    assert_ok(tl_table_consumer_set(table, "c", 2, &err), &err);
    assert_ok(tl_table_create_branch(table, "b", "first", &err), &err);
    tl_alter change = {.kind = TL_ALTER_SET_OPTION, .name = "write-buffer-size", .value = "64 mb"};
    assert_ok(tl_table_alter(l.catalog, "d", "t", &change, 1, &err), &err);
    tl_table_free(table);
    return l;
}

static size_t lines_of(lake *l, const char *name, const char *where)
{
    tl_table *table = open_table(l, name);
    char *text = read_where(table, where);
    size_t n = 0;
    for (char *c = text; *c != '\0'; c++)
        n += *c == '\n';
    free(text);
    tl_table_free(table);
    return n;
}

static void every_system_table_can_be_read(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int rows;
    } tables[] = {
        {"t$snapshots", 3},   {"t$schemas", 2},  {"t$options", 5},      {"t$tags", 1},      {"t$branches", 1},
        {"t$consumers", 1},   {"t$partitions", 2}, {"t$buckets", -1},   {"t$manifests", -1}, {"t$aggregation_fields", 3},
        {"t$statistics", 0},  {"t$table_indexes", 0}, {"t$audit_log", 2}, {"t$binlog", 2},  {"t$ro", 2},
        {"t$files", 3},       {"t$file_key_ranges", -1},
    };
    lake l = rich_lake();
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        size_t n = lines_of(&l, tables[i].name, NULL);
        if (tables[i].rows >= 0 && n != (size_t)tables[i].rows)
            fail_msg("%s: %zu rows, wanted %d", tables[i].name, n, tables[i].rows);
    }
    close_lake(&l);
}

static void they_take_predicates_columns_and_limits(void **state)
{
    (void)state;
    lake l = rich_lake();
    tl_error err;
    assert_int_equal(lines_of(&l, "t$snapshots", "[\"=\",\"commit_kind\",\"COMPACT\"]"), 1);
    assert_int_equal(lines_of(&l, "t$files", "[\">\",\"level\",0]"), 2);
    tl_table *table = open_table(&l, "t$snapshots");
    static const int32_t columns[] = {2, 0};
    tl_scan_spec spec = {.columns = columns, .n_columns = 2, .limit = 2};
    tl_reader *reader = NULL;
    tl_buf text = {0};
    assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
    assert_ok(drain(reader, false, &text, &err), &err);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    assert_lines((const char *)text.data, "{'commit_user':'u','snapshot_id':1}\n{'commit_user':'u','snapshot_id':2}");
    tl_buf_deinit(&text);
    tl_reader_free(reader);
    assert_int_not_equal(tl_table_expire(table, NULL, NULL, &err), TL_OK); /* nothing but reads */
    tl_table_writer *writer = NULL;
    assert_int_not_equal(tl_table_writer_create(table, NULL, &writer, &err), TL_OK);
    tl_table_free(table);
    close_lake(&l);
}

static void the_read_optimized_table_shows_the_top_level_only(void **state)
{
    (void)state;
    lake l = rich_lake();
    assert_rows(&l, "t", NULL, "{'p':'x','k':1,'v':15}\n{'p':'y','k':2,'v':20}");
    assert_rows(&l, "t$ro", NULL, "{'p':'x','k':1,'v':10}\n{'p':'y','k':2,'v':20}");
    close_lake(&l);
}

static void branches_are_tables_of_their_own(void **state)
{
    (void)state;
    lake l = rich_lake();
    tl_error err;
    assert_rows(&l, "t$branch_b", NULL, "{'p':'x','k':1,'v':10}\n{'p':'y','k':2,'v':20}");
    tl_table *branch = open_table(&l, "t$branch_b");
    put(branch, "{'p':'x','k':1,'v':100}");
    tl_table_free(branch);
    assert_rows(&l, "t$branch_b", NULL, "{'p':'x','k':1,'v':110}\n{'p':'y','k':2,'v':20}");
    assert_rows(&l, "t", NULL, "{'p':'x','k':1,'v':15}\n{'p':'y','k':2,'v':20}");
    assert_int_equal(lines_of(&l, "t$branch_b$snapshots", NULL), 2);
    tl_table *table = open_table(&l, "t");
    assert_int_not_equal(tl_table_create_branch(table, "b", NULL, &err), TL_OK);
    assert_int_not_equal(tl_table_create_branch(table, "main", NULL, &err), TL_OK);
    assert_int_not_equal(tl_table_create_branch(table, "../b", NULL, &err), TL_OK);
    assert_ok(tl_table_create_branch(table, "empty", NULL, &err), &err);
    assert_rows(&l, "t$branch_empty", NULL, "");
    assert_ok(tl_table_rename_branch(table, "b", "c", &err), &err);
    assert_rows(&l, "t$branch_c", NULL, "{'p':'x','k':1,'v':110}\n{'p':'y','k':2,'v':20}");
    assert_ok(tl_table_delete_branch(table, "c", &err), &err);
    tl_table *gone = NULL;
    assert_int_not_equal(try_open(&l, "t$branch_c", NULL, &gone, &err), TL_OK);
    assert_rows(&l, "t", NULL, "{'p':'x','k':1,'v':15}\n{'p':'y','k':2,'v':20}");
    tl_table_free(table);
    close_lake(&l);
}

static void a_table_becomes_what_its_branch_is(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "k INT NOT NULL, v INT", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'v':1}");
    put(table, "{'k':2,'v':2}");
    assert_ok(tl_table_create_tag(table, "base", 0, TL_ABSENT, &err), &err);
    assert_ok(tl_table_create_branch(table, "b", "base", &err), &err);
    assert_ok(tl_table_create_branch(table, "empty", NULL, &err), &err);
    put(table, "{'k':1,'v':100}");
    put(table, "{'k':3,'v':100}");
    assert_ok(tl_table_create_tag(table, "later", 0, TL_ABSENT, &err), &err);
    tl_alter add = {.kind = TL_ALTER_SET_OPTION, .name = "write-only", .value = "true"};
    assert_ok(tl_table_alter(l.catalog, "d", "t", &add, 1, &err), &err);
    tl_table *branch = open_table(&l, "t$branch_b");
    put(branch, "{'k':2,'v':20}");
    tl_table_free(branch);
    for (int again = 0; again < 2; again++) {
        assert_ok(tl_table_fast_forward(table, "b", &err), &err);
        assert_rows(&l, "t", NULL, "{'k':1,'v':1}\n{'k':2,'v':20}\n");
        assert_rows(&l, "t", "scan.snapshot-id=1", "{'k':1,'v':1}\n");
        assert_int_equal(lines_of(&l, "t$snapshots", NULL), 3);
        assert_int_equal(lines_of(&l, "t$tags", NULL), 1);
        assert_int_equal(lines_of(&l, "t$schemas", NULL), 1);
    }
    assert_int_equal(tl_table_fast_forward(table, "main", &err), TL_E_INVALID);
    assert_int_equal(tl_table_fast_forward(table, "none", &err), TL_E_NOT_FOUND);
    assert_int_equal(tl_table_fast_forward(table, "empty", &err), TL_E_INVALID);
    tl_table_free(table);
    table = open_table(&l, "t");
    put(table, "{'k':4,'v':4}");
    assert_rows(&l, "t", NULL, "{'k':1,'v':1}\n{'k':2,'v':20}\n{'k':4,'v':4}\n");
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    static const char *const names[] = {"t$snapshots", "t$files", "t$partitions", "t$audit_log", "t$tags", "t$schemas"};
    lake l = rich_lake();
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
        for (uint64_t at = 1;; at += 1 + at / 60) {
            tl_table *table = NULL;
            char *text = NULL;
            tl_error err;
            tl_alloc_fail_at(at);
            tl_status status = tl_table_open(l.catalog, "d", names[i], NULL, &table, &err);
            if (status == TL_OK)
                status = try_read(table, NULL, false, NULL, &text, &err);
            bool past = tl_alloc_count() < at;
            tl_alloc_fail_at(0);
            tl_table_free(table);
            free(text);
            assert_true(status == TL_OK || status == TL_E_NOMEM);
            if (past)
                break;
        }
    }
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_system_table_can_be_read),
        cmocka_unit_test(they_take_predicates_columns_and_limits),
        cmocka_unit_test(the_read_optimized_table_shows_the_top_level_only),
        cmocka_unit_test(branches_are_tables_of_their_own),
        cmocka_unit_test(a_table_becomes_what_its_branch_is),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
