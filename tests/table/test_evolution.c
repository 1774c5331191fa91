/* Data evolution: columns written apart onto the same rows, blob files beside data files, and their compaction. */
#include "table_support.h"

#define COLUMNS "k INT, a STRING, n INT"
#define OPTIONS "row-tracking.enabled=true,data-evolution.enabled=true"

/* The table's columns by name, as indices. */
static int32_t columns_of(tl_table *table, const char *names, int32_t *out)
{
    int32_t n = 0;
    char **list = names_of(names, &n);
    for (int32_t i = 0; i < n; i++) {
        out[i] = tl_type_field_index(table->row_type, list[i]);
        assert_true(out[i] >= 0);
    }
    forget_names(list, n);
    return n;
}

/* Write some columns: of new rows (first_row_id < 0), or of rows that are there. */
static tl_status try_put_columns(tl_table *table, const char *names, int64_t first_row_id, const char *lines, tl_error *err)
{
    int32_t columns[8];
    tl_write_options options = {
        .columns = columns, .n_columns = columns_of(table, names, columns), .onto_rows = first_row_id >= 0, .first_row_id = first_row_id};
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    tl_commit_result result = {0};
    TL_TRY(tl_table_writer_create(table, &options, &writer, err));
    tl_status status = write_lines(table, writer, lines, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, true, &messages, err);
    tl_table_writer_free(writer);
    if (status == TL_OK)
        status = tl_table_commit(table, &spec, &messages, &result, err);
    tl_commit_messages_deinit(&messages);
    return status;
}

static void put_columns(tl_table *table, const char *names, int64_t first_row_id, const char *lines)
{
    tl_error err;
    assert_ok(try_put_columns(table, names, first_row_id, lines, &err), &err);
}

static void assert_where(tl_table *table, const char *where, const char *want)
{
    char *got = read_where(table, where);
    assert_lines(got, want);
    free(got);
}

static void compact(tl_table *table)
{
    tl_error err;
    assert_ok(tl_table_compact(table, NULL, /* full= */ false, NULL, NULL, &err), &err);
}

static size_t count_files(lake *l)
{
    tl_table *files = open_table(l, "t$files");
    char *got = read_where(files, NULL);
    size_t n = 0;
    for (const char *c = got; *c != '\0'; c++)
        n += *c == '\n';
    free(got);
    tl_table_free(files);
    return n;
}

static const char *const formats[] = {"parquet", "orc", "avro"};

static void rows_are_put_together_from_their_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(formats); i++) {
        lake l = memory_lake();
        char options[256];
        snprintf(options, sizeof options, OPTIONS ",compaction.min.file-num=2,file.format=%s", formats[i]);
        create(&l, "t", COLUMNS, NULL, NULL, options);
        tl_table *table = open_table(&l, "t");
        put(table, "{'k':1,'a':'x','n':10}\n{'k':2,'a':'y','n':20}\n{'k':3,'a':'z','n':30}");
        put_columns(table, "k", -1, "{'k':4}\n{'k':5}");
        put_columns(table, "n,a", 3, "{'n':40,'a':'w'}\n{'n':50}");
        put_columns(table, "n", 0, "{'n':11}\n{'n':21}\n{'n':null}");
        static const char all[] = "{'k':1,'a':'x','n':11}\n{'k':2,'a':'y','n':21}\n{'k':3,'a':'z','n':null}\n{'k':4,'a':'w','n':40}\n"
                                  "{'k':5,'a':null,'n':50}";
        for (int round = 0; round < 2; round++) {
            assert_where(table, NULL, all);
            assert_where(table, "[\"=\",\"n\",30]", ""); /* a value that a newer file took the place of */
            assert_where(table, "[\"and\",[\">\",\"n\",20],[\"<\",\"k\",5]]", "{'k':2,'a':'y','n':21}\n{'k':4,'a':'w','n':40}");
            assert_where(table, "[\"isNull\",\"a\"]", "{'k':5,'a':null,'n':50}");
            assert_sound(table);
            assert_int_equal(count_files(&l), round == 0 ? 4 : 1);
            compact(table);
        }
        assert_rows(&l, "t$row_tracking", NULL,
                    "{'k':1,'a':'x','n':11,'_ROW_ID':0,'_SEQUENCE_NUMBER':4}\n{'k':2,'a':'y','n':21,'_ROW_ID':1,'_SEQUENCE_NUMBER':4}\n"
                    "{'k':3,'a':'z','n':null,'_ROW_ID':2,'_SEQUENCE_NUMBER':4}\n{'k':4,'a':'w','n':40,'_ROW_ID':3,'_SEQUENCE_NUMBER':4}\n"
                    "{'k':5,'a':null,'n':50,'_ROW_ID':4,'_SEQUENCE_NUMBER':4}");
        tl_table_free(table);
        close_lake(&l);
    }
}

/* Statistics of the values that are in force prune, older ones do not. */
static void groups_are_pruned_by_their_newest_values(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", COLUMNS, NULL, NULL, OPTIONS ",source.split.target-size=1 b,source.split.open-file-cost=1 b");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'a':'x','n':10}");
    put(table, "{'k':2,'a':'y','n':20}");
    put_columns(table, "n", 0, "{'n':20}");
    put_columns(table, "n", 1, "{'n':5}");
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = predicate_of(table->row_type, "[\">\",\"n\",15]");
    tl_scan_spec spec = {.predicate = pred, .limit = -1};
    tl_splits splits = {0};
    assert_ok(tl_table_plan(table, &spec, &splits, &err), &err);
    assert_int_equal(splits.n, 1);
    assert_int_equal(splits.items[0].files.n, 2);
    assert_int_equal(splits.items[0].files.items[0]->first_row_id, 0);
    tl_splits_deinit(&splits);
    assert_where(table, "[\">\",\"n\",15]", "{'k':1,'a':'x','n':20}");
    tl_table_free(table);
    close_lake(&l);
}

static void blobs_have_files_of_their_own(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT, b BLOB, c BLOB", NULL, NULL, OPTIONS ",compaction.min.file-num=2,blob.target-file-size=40 b");
    tl_table *table = open_table(&l, "t");
    /* 16 bytes of frame: two values of b fill a file, the four of c do not. */
    put(table, "{'k':1,'b':'0102030405','c':'aa'}\n{'k':2,'b':null,'c':null}\n{'k':3,'b':'06070809','c':null}\n{'k':4,'b':'','c':'bb'}");
    assert_int_equal(count_files(&l), 4);
    put(table, "{'k':5,'b':'ff','c':null}");
    static const char all[] = "{'k':1,'b':'0102030405','c':'aa'}\n{'k':2,'b':null,'c':null}\n{'k':3,'b':'06070809','c':null}\n"
                              "{'k':4,'b':'','c':'bb'}\n{'k':5,'b':'ff','c':null}";
    for (int round = 0; round < 2; round++) {
        assert_where(table, NULL, all);
        assert_where(table, "[\"isNull\",\"b\"]", "{'k':2,'b':null,'c':null}");
        assert_where(table, "[\">\",\"k\",3]", "{'k':4,'b':'','c':'bb'}\n{'k':5,'b':'ff','c':null}");
        assert_sound(table);
        assert_int_equal(count_files(&l), round == 0 ? 7 : 6); /* data files become one, blob files stay */
        compact(table);
    }
    /* Rows without the blob columns stay in files of their own. */
    put_columns(table, "k", -1, "{'k':6}");
    compact(table);
    assert_int_equal(count_files(&l), 7);
    assert_where(table, "[\"=\",\"k\",6]", "{'k':6,'b':null,'c':null}");
    tl_table_free(table);
    close_lake(&l);
}

static void columns_that_changed_are_read_with_old_and_new_files(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", COLUMNS, NULL, NULL, OPTIONS);
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'a':'x','n':10}\n{'k':2,'a':'y','n':20}");
    tl_table_free(table);
    const tl_type *bigint = test_type("BIGINT"), *text = test_type("STRING");
    const tl_alter changes[] = {{.kind = TL_ALTER_RENAME_COLUMN, .name = "a", .value = "b"},
                                {.kind = TL_ALTER_COLUMN_TYPE, .name = "n", .type = bigint},
                                {.kind = TL_ALTER_ADD_COLUMN, .name = "s", .type = text}};
    assert_ok(tl_table_alter(l.catalog, "d", "t", changes, TL_ARRAY_LEN(changes), &err), &err);
    table = open_table(&l, "t");
    put_columns(table, "s", 0, "{'s':'p'}\n{'s':'q'}");
    assert_where(table, NULL, "{'k':1,'b':'x','n':10,'s':'p'}\n{'k':2,'b':'y','n':20,'s':'q'}");
    put_columns(table, "n,b", 0, "{'n':5000000000,'b':'x2'}\n{'n':6,'b':null}");
    assert_where(table, NULL, "{'k':1,'b':'x2','n':5000000000,'s':'p'}\n{'k':2,'b':null,'n':6,'s':'q'}");
    assert_where(table, "[\"=\",\"n\",10]", "");
    assert_where(table, "[\">\",\"n\",10]", "{'k':1,'b':'x2','n':5000000000,'s':'p'}");
    tl_type_unref(bigint);
    tl_type_unref(text);
    tl_table_free(table);
    close_lake(&l);
}

static void columns_go_only_onto_rows_that_are_there(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", COLUMNS, NULL, NULL, OPTIONS ",compaction.min.file-num=2");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'a':'x','n':10}\n{'k':2,'a':'y','n':20}");
    put(table, "{'k':3,'a':'z','n':30}");
    assert_fails(try_put_columns(table, "n", 3, "{'n':1}", &err), TL_E_CONFLICT, &err, "not in the table");
    assert_fails(try_put_columns(table, "n", 0, "{'n':1}", &err), TL_E_CONFLICT, &err, "overlap");
    put_columns(table, "n", 2, "{'n':31}");
    compact(table); /* one file of the three rows: parts of it are no place for columns any more */
    assert_fails(try_put_columns(table, "n", 2, "{'n':32}", &err), TL_E_CONFLICT, &err, "overlap");
    assert_where(table, NULL, "{'k':1,'a':'x','n':10}\n{'k':2,'a':'y','n':20}\n{'k':3,'a':'z','n':31}");
    assert_sound(table);
    tl_table_free(table);
    create(&l, "plain", COLUMNS, NULL, NULL, "row-tracking.enabled=true");
    table = open_table(&l, "plain");
    assert_fails(try_put_columns(table, "n", -1, "{'n':1}", &err), TL_E_INVALID, &err, "data-evolution.enabled");
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_put_together_from_their_files),
        cmocka_unit_test(groups_are_pruned_by_their_newest_values),
        cmocka_unit_test(blobs_have_files_of_their_own),
        cmocka_unit_test(columns_that_changed_are_read_with_old_and_new_files),
        cmocka_unit_test(columns_go_only_onto_rows_that_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
