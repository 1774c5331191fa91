/* Tables that read partitions from a second branch. */
#include "table_support.h"

static void two_branches(lake *l)
{
    tl_error err;
    create(l, "t", "p INT, k INT NOT NULL, v STRING", NULL, "p", "bucket=-1");
    tl_table *table = open_table(l, "t");
    assert_ok(tl_table_create_branch(table, "b", NULL, &err), &err);
    put(table, "{'p':1,'k':1,'v':'main'}\n{'p':3,'k':1,'v':'main'}");
    tl_table_free(table);
    table = open_table(l, "t$branch_b");
    put(table, "{'p':1,'k':2,'v':'b'}\n{'p':2,'k':2,'v':'b'}\n{'p':3,'k':2,'v':'b'}");
    tl_table_free(table);
}

static void a_partition_comes_from_one_branch(void **state)
{
    (void)state;
    lake l = memory_lake();
    two_branches(&l);
    assert_rows(&l, "t", "scan.fallback-branch=b",
                "{'p':1,'k':1,'v':'main'}\n{'p':3,'k':1,'v':'main'}\n{'p':2,'k':2,'v':'b'}");
    assert_rows(&l, "t", "scan.primary-branch=b", "{'p':1,'k':2,'v':'b'}\n{'p':2,'k':2,'v':'b'}\n{'p':3,'k':2,'v':'b'}");
    assert_rows(&l, "t", "scan.fallback-branch=nowhere", "{'p':1,'k':1,'v':'main'}\n{'p':3,'k':1,'v':'main'}");
    assert_rows(&l, "t", NULL, "{'p':1,'k':1,'v':'main'}\n{'p':3,'k':1,'v':'main'}");
    close_lake(&l);
}

/* A partition that the first branch has is complete, whatever a filter leaves of it. */
static void filters_do_not_open_the_second_branch(void **state)
{
    (void)state;
    lake l = memory_lake();
    two_branches(&l);
    tl_table *table = open_with(&l, "t", "scan.fallback-branch=b");
    static const struct {
        const char *filter, *rows;
    } cases[] = {{"[\"=\",\"k\",2]", "{'p':2,'k':2,'v':'b'}"}, {"[\"=\",\"p\",3]", "{'p':3,'k':1,'v':'main'}"}, {"[\"=\",\"p\",2]", "{'p':2,'k':2,'v':'b'}"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        char *got = read_where(table, cases[i].filter);
        assert_lines(got, cases[i].rows);
        free(got);
    }
    tl_table_free(table);
    close_lake(&l);
}

static void splits_remember_their_branch(void **state)
{
    (void)state;
    lake l = memory_lake();
    two_branches(&l);
    tl_table *table = open_with(&l, "t", "scan.fallback-branch=b");
    tl_scan_spec spec = {.limit = -1};
    tl_splits splits = {0};
    tl_error err;
    tl_buf rows = {0};
    assert_ok(tl_table_plan(table, &spec, &splits, &err), &err);
    for (size_t i = 0; i < splits.n; i++) {
        tl_buf bytes = {0};
        tl_splits one = {.n = 1, .items = tl_calloc(1, sizeof *one.items)};
        tl_reader *reader = NULL;
        assert_ok(tl_split_serialize(&splits.items[i], "bucket-0", &bytes, &err), &err);
        assert_ok(tl_split_deserialize((tl_bytes_view){bytes.data, bytes.len}, &one.items[0], &err), &err);
        assert_ok(tl_table_read_split(table, &one.items[0], &spec, &reader, &err), &err);
        assert_ok(drain(reader, false, &rows, &err), &err);
        tl_reader_free(reader);
        tl_splits_deinit(&one);
        tl_buf_deinit(&bytes);
    }
    assert_int_equal(tl_buf_append_byte(&rows, 0), TL_OK);
    char *sorted = sort_lines((char *)rows.data);
    assert_lines(sorted, "{'p':1,'k':1,'v':'main'}\n{'p':3,'k':1,'v':'main'}\n{'p':2,'k':2,'v':'b'}");
    free(sorted);
    tl_buf_deinit(&rows);
    tl_splits_deinit(&splits);
    tl_table_free(table);
    close_lake(&l);
}

static void branches_must_have_the_same_columns(void **state)
{
    (void)state;
    lake l = memory_lake();
    two_branches(&l);
    tl_error err;
    tl_table *table = NULL;
    tl_alter change = {.kind = TL_ALTER_DROP_COLUMN, .name = "v"};
    assert_ok(tl_table_alter(l.catalog, "d", "t$branch_b", &change, 1, &err), &err);
    char *rows = NULL;
    assert_ok(try_open(&l, "t", "scan.fallback-branch=b", &table, &err), &err);
    put(table, "{'p':9,'k':9,'v':'still written'}");
    assert_fails(try_read(table, NULL, false, NULL, &rows, &err), TL_E_INVALID, &err, "same row type");
    tl_table_free(table);
    close_lake(&l);
}

/* A partition is complete in the first branch if it changed there between the two snapshots, which each branch has of its own. */
static void changes_come_from_both_branches(void **state)
{
    (void)state;
    lake l = memory_lake();
    two_branches(&l);
    tl_table *table = open_table(&l, "t");
    put(table, "{'p':1,'k':5,'v':'main2'}");
    tl_table_free(table);
    table = open_table(&l, "t$branch_b");
    put(table, "{'p':1,'k':6,'v':'b2'}\n{'p':3,'k':6,'v':'b2'}");
    tl_table_free(table);
    assert_rows(&l, "t", "scan.fallback-branch=b,incremental-between=1;2", "{'p':1,'k':5,'v':'main2'}\n{'p':3,'k':6,'v':'b2'}");
    assert_rows(&l, "t", "scan.primary-branch=b,incremental-between=1;2", "{'p':1,'k':6,'v':'b2'}\n{'p':3,'k':6,'v':'b2'}");
    table = open_with(&l, "t", "scan.fallback-branch=b,incremental-between=1;2");
    char *rows = read_where(table, "[\"=\",\"k\",6]");
    assert_lines(rows, "{'p':3,'k':6,'v':'b2'}");
    free(rows);
    tl_table_free(table);
    close_lake(&l);
}

/* Two states cannot be compared across branches; where the first branch has nothing, the second is alone. */
static void states_of_two_branches_are_not_compared(void **state)
{
    (void)state;
    lake l = memory_lake();
    two_branches(&l);
    tl_error err;
    tl_table *table = open_table(&l, "t");
    put(table, "{'p':1,'k':5,'v':'main2'}");
    tl_table_free(table);
    const char *diff = "scan.fallback-branch=b,incremental-between=1;2,incremental-between-scan-mode=diff";
    char *rows = NULL;
    assert_ok(try_open(&l, "t", diff, &table, &err), &err);
    assert_fails(try_read(table, NULL, false, NULL, &rows, &err), TL_E_UNSUPPORTED, &err, "their snapshots are not the same ones");
    tl_table_free(table);
    create(&l, "u", "p INT, k INT NOT NULL, v STRING", NULL, "p", "bucket=-1");
    table = open_table(&l, "u");
    assert_ok(tl_table_create_branch(table, "b", NULL, &err), &err);
    tl_table_free(table);
    table = open_table(&l, "u$branch_b");
    put(table, "{'p':1,'k':1,'v':'b'}");
    put(table, "{'p':1,'k':2,'v':'b'}");
    tl_table_free(table);
    assert_rows(&l, "u", diff, "{'p':1,'k':2,'v':'b'}");
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_partition_comes_from_one_branch),
        cmocka_unit_test(filters_do_not_open_the_second_branch),
        cmocka_unit_test(splits_remember_their_branch),
        cmocka_unit_test(branches_must_have_the_same_columns),
        cmocka_unit_test(changes_come_from_both_branches),
        cmocka_unit_test(states_of_two_branches_are_not_compared),
    };
    return cmocka_run_group_tests_name("other_branch", tests, NULL, NULL);
}
