/* Row tracking: ids that the committer gives, the numbers of snapshots, and what becomes of them when files are rewritten. */
#include "table_support.h"

#define KV "k INT, v STRING"

static void assert_tracked(lake *l, const char *where, const char *want)
{
    tl_table *table = open_table(l, "t$row_tracking");
    char *got = read_where(table, where);
    assert_lines(got, want);
    free(got);
    tl_table_free(table);
}

static void compact(tl_table *table, bool full)
{
    tl_error err;
    assert_ok(tl_table_compact(table, NULL, full, NULL, NULL, &err), &err);
}

static int64_t next_row_id(tl_table *table)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = latest_of(table);
    return latest->next_row_id;
}

static const char *const formats[] = {"file.format=parquet", "file.format=orc", "file.format=avro"};

static void rows_keep_their_ids(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(formats); i++) {
        lake l = memory_lake();
        char options[128];
        snprintf(options, sizeof options, "row-tracking.enabled=true,%s", formats[i]);
        create(&l, "t", KV, NULL, NULL, options);
        tl_table *table = open_table(&l, "t");
        put(table, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
        put(table, "{'k':3,'v':'c'}");
        assert_int_equal(next_row_id(table), 3);
        static const char first[] = "{'k':1,'v':'a','_ROW_ID':0,'_SEQUENCE_NUMBER':1}\n{'k':2,'v':'b','_ROW_ID':1,'_SEQUENCE_NUMBER':1}\n"
                                    "{'k':3,'v':'c','_ROW_ID':2,'_SEQUENCE_NUMBER':2}";
        assert_tracked(&l, NULL, first);
        compact(table, /* full= */ true);
        assert_tracked(&l, NULL, first);
        assert_int_equal(next_row_id(table), 3);
        put(table, "{'k':4,'v':null}");
        compact(table, /* full= */ true); /* a file that stores ids, and one that does not */
        assert_tracked(&l, "[\">\",\"_ROW_ID\",1]",
                       "{'k':3,'v':'c','_ROW_ID':2,'_SEQUENCE_NUMBER':2}\n{'k':4,'v':null,'_ROW_ID':3,'_SEQUENCE_NUMBER':4}");
        assert_tracked(&l, "[\"and\",[\"=\",\"_SEQUENCE_NUMBER\",1],[\"=\",\"k\",2]]", "{'k':2,'v':'b','_ROW_ID':1,'_SEQUENCE_NUMBER':1}");
        assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':3,'v':'c'}\n{'k':4,'v':null}");
        assert_sound(table);
        tl_table_free(table);
        close_lake(&l);
    }
}

/* Files roll after each check of 1000 rows: all of one commit get its snapshot's number, and ids without gaps. */
static void files_of_one_commit_share_its_number(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KV, NULL, NULL, "row-tracking.enabled=true,target-file-size=1 kb");
    tl_table *table = open_table(&l, "t");
    tl_buf rows = {0};
    char line[64];
    for (int i = 0; i < 2500; i++) {
        snprintf(line, sizeof line, "{'k':%d,'v':'%d'}\n", i, i * i);
        assert_int_equal(tl_buf_append_str(&rows, line), TL_OK);
    }
    assert_int_equal(tl_buf_append_byte(&rows, 0), TL_OK);
    put(table, (const char *)rows.data);
    assert_int_equal(next_row_id(table), 2500);
    tl_table *files = open_table(&l, "t$files");
    char *got = read_where(files, "[\">\",\"record_count\",0]");
    int n = 0;
    for (const char *at = got; (at = strstr(at, "\"min_sequence_number\":1,\"max_sequence_number\":1,")) != NULL; at++)
        n++;
    assert_int_equal(n, 3);
    free(got);
    assert_tracked(&l, "[\"=\",\"_ROW_ID\",1999]", "{'k':1999,'v':'3996001','_ROW_ID':1999,'_SEQUENCE_NUMBER':1}");
    tl_buf_deinit(&rows);
    tl_table_free(files);
    tl_table_free(table);
    close_lake(&l);
}

/* Two jobs have written: whoever commits second gets the ids after the first one's. An overwrite takes no id back. */
static void ids_are_given_at_the_commit(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", KV, NULL, NULL, "row-tracking.enabled=true");
    tl_table *table = open_table(&l, "t");
    tl_commit_messages messages[2];
    for (int i = 0; i < 2; i++)
        messages[i] = prepared(table, i == 0 ? "{'k':1,'v':'a'}\n{'k':2,'v':'b'}" : "{'k':3,'v':'c'}", false);
    for (int i = 1; i >= 0; i--) {
        tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
        tl_commit_result result = {0};
        assert_ok(tl_table_commit(table, &spec, &messages[i], &result, &err), &err);
        tl_commit_messages_deinit(&messages[i]);
    }
    assert_tracked(&l, NULL,
                   "{'k':3,'v':'c','_ROW_ID':0,'_SEQUENCE_NUMBER':1}\n{'k':1,'v':'a','_ROW_ID':1,'_SEQUENCE_NUMBER':2}\n"
                   "{'k':2,'v':'b','_ROW_ID':2,'_SEQUENCE_NUMBER':2}");
    tl_commit_messages fresh = prepared(table, "{'k':9,'v':'z'}", false);
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    spec.overwrite = true;
    tl_commit_result result = {0};
    assert_ok(tl_table_commit(table, &spec, &fresh, &result, &err), &err);
    tl_commit_messages_deinit(&fresh);
    assert_tracked(&l, NULL, "{'k':9,'v':'z','_ROW_ID':3,'_SEQUENCE_NUMBER':3}");
    tl_table_free(table);
    close_lake(&l);
}

static void deleted_rows_leave_their_ids_behind(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", KV, NULL, NULL, "row-tracking.enabled=true,deletion-vectors.enabled=true");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':3,'v':'c'}");
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = predicate_of(table->row_type, "[\"=\",\"k\",2]");
    tl_delete_spec spec = {.finder = {.predicate = pred}};
    int64_t n = 0;
    assert_ok(tl_table_delete(table, &spec, &n, NULL, &err), &err);
    static const char want[] = "{'k':1,'v':'a','_ROW_ID':0,'_SEQUENCE_NUMBER':1}\n{'k':3,'v':'c','_ROW_ID':2,'_SEQUENCE_NUMBER':1}";
    assert_tracked(&l, NULL, want);
    compact(table, /* full= */ true);
    assert_tracked(&l, NULL, want);
    tl_table_free(table);
    close_lake(&l);
}

/* New values of k for the rows with these ids, one after the other. */
static tl_status update_k(tl_table *table, const int64_t *ids, size_t n, int64_t base, tl_error *err)
{
    static const int32_t columns[] = {0};
    tl_row_update rows[4];
    tl_batch *values = NULL;
    const tl_field fields[] = {{.name = (char *)"_ROW_ID", .type = table->schema->row_type->fields[0].type}, table->schema->row_type->fields[0]};
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    assert_ok(tl_type_create_row(false, fields, 2, &type, err), err);
    assert_ok(tl_batch_create(type, (int64_t)n, &values, err), err);
    for (int i = 0; i < 2; i++)
        assert_ok(tl_column_alloc(fields[i].type, (int64_t)n, &values->cols[i], err), err);
    for (size_t i = 0; i < n; i++) {
        rows[i] = (tl_row_update){ids[i], {0, (uint32_t)i}};
        ((int32_t *)values->cols[1]->values)[i] = 100 + (int32_t)i;
    }
    const tl_row_updates updates = {.columns = columns, .n_columns = 1, .rows = rows, .n = n, .batches = &values, .n_batches = 1};
    tl_status status = tl_table_update_rows(table, &updates, base, /* more= */ NULL, NULL, err);
    tl_batch_free(values);
    return status;
}

/* What others did to the same files since the values were made is not lost; what they did elsewhere is nobody's matter. */
static void updates_conflict_with_those_of_the_same_rows(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", KV, NULL, NULL, "row-tracking.enabled=true,data-evolution.enabled=true");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    put(table, "{'k':3,'v':'c'}");
    assert_ok(update_k(table, (const int64_t[]){1}, 1, /* base= */ 2, &err), &err);
    assert_ok(update_k(table, (const int64_t[]){2}, 1, /* base= */ 2, &err), &err); /* another file */
    assert_int_equal(update_k(table, (const int64_t[]){0}, 1, /* base= */ 2, &err), TL_E_CONFLICT);
    assert_non_null(strstr(err.message, "snapshot 3 changed rows of the same files"));
    assert_int_equal(update_k(table, (const int64_t[]){0, 7}, 2, /* base= */ 4, &err), TL_E_CONFLICT);
    assert_non_null(strstr(err.message, "1 of 2 rows are not in the table"));
    assert_tracked(&l, NULL, "{'k':1,'v':'a','_ROW_ID':0,'_SEQUENCE_NUMBER':3}\n{'k':100,'v':'b','_ROW_ID':1,'_SEQUENCE_NUMBER':3}\n"
                             "{'k':100,'v':'c','_ROW_ID':2,'_SEQUENCE_NUMBER':4}");
    compact(table, /* full= */ true);
    assert_ok(update_k(table, (const int64_t[]){0, 2}, 2, /* base= */ 4, &err), &err); /* a compaction changes no rows */
    assert_rows(&l, "t", NULL, "{'k':100,'v':'a'}\n{'k':100,'v':'b'}\n{'k':101,'v':'c'}");
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void other_tables_have_no_ids(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_table *table = NULL;
    tl_error err;
    create(&l, "t", KV, NULL, NULL, NULL);
    assert_fails(try_open(&l, "t$row_tracking", NULL, &table, &err), TL_E_INVALID, &err, "row-tracking.enabled");
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_keep_their_ids),
        cmocka_unit_test(files_of_one_commit_share_its_number),
        cmocka_unit_test(ids_are_given_at_the_commit),
        cmocka_unit_test(deleted_rows_leave_their_ids_behind),
        cmocka_unit_test(updates_conflict_with_those_of_the_same_rows),
        cmocka_unit_test(other_tables_have_no_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
