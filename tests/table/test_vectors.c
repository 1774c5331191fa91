/* Deletion vectors: rows deleted from append tables, lookup compactions of keyed ones, and who loses where they meet. */
#include "table_support.h"

#define APPEND "p STRING NOT NULL, k INT NOT NULL, v STRING"

static int64_t record_count(tl_table *table)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = latest_of(table);
    return latest->total_record_count;
}

static int64_t delete_where(tl_table *table, const char *where)
{
    tl_error err;
    int64_t n = 0;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = where == NULL ? NULL : predicate_of(table->row_type, where);
    tl_delete_spec spec = {.finder = {.predicate = pred}};
    assert_ok(tl_table_delete(table, &spec, &n, NULL, &err), &err);
    return n;
}

static void compact(tl_table *table, bool full)
{
    tl_error err;
    assert_ok(tl_table_compact(table, NULL, full, NULL, NULL, &err), &err);
}

/* Ten rows in three commits: k = 0…9, p = 'x' for even ones. */
static tl_table *ten_rows(lake *l, const char *name, const char *partition, const char *options)
{
    create(l, name, APPEND, NULL, partition, options);
    tl_table *table = open_with(l, name, "write-only=true");
    put(table, "{'p':'x','k':0,'v':'a'}\n{'p':'y','k':1}\n{'p':'x','k':2,'v':'c'}\n{'p':'y','k':3,'v':'d'}");
    put(table, "{'p':'x','k':4,'v':'e'}\n{'p':'y','k':5,'v':'f'}\n{'p':'x','k':6}");
    put(table, "{'p':'y','k':7,'v':'h'}\n{'p':'x','k':8,'v':'i'}\n{'p':'y','k':9,'v':'j'}");
    tl_table_free(table);
    return open_table(l, name);
}

static const char left_over[] = "{'p':'x','k':2,'v':'c'}\n{'p':'x','k':4,'v':'e'}\n{'p':'y','k':5,'v':'f'}\n{'p':'y','k':9,'v':'j'}";

static const struct {
    const char *partition, *options;
} append_tables[] = {
    {NULL, "deletion-vectors.enabled=true"},
    {"p", "deletion-vectors.enabled=true,deletion-vectors.bitmap64=true"},
    {"p", "deletion-vectors.enabled=true,deletion-vector.index-file.target-size=1 b,file.format=avro"},
    {NULL, "deletion-vectors.enabled=true,bucket=1,bucket-key=k,file.format=orc"},
    {"p", "deletion-vectors.enabled=true,bucket=2,bucket-key=k,index-file-in-data-file-dir=true"},
};

static void deleted_rows_are_gone_and_compactions_leave_them_behind(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(append_tables); i++) {
        lake l = memory_lake();
        tl_table *table = ten_rows(&l, "t", append_tables[i].partition, append_tables[i].options);
        assert_int_equal(delete_where(table, "[\"in\",\"k\",[0,3,7]]"), 3);
        assert_int_equal(delete_where(table, "[\"in\",\"k\",[0,3,7]]"), 0);
        assert_int_equal(delete_where(table, "[\"isNull\",\"v\"]"), 2);
        assert_int_equal(delete_where(table, "[\"=\",\"k\",8]"), 1);
        assert_rows(&l, "t", NULL, left_over);
        assert_rows(&l, "t", "scan.snapshot-id=4",
                    "{'p':'x','k':2,'v':'c'}\n{'p':'x','k':4,'v':'e'}\n{'p':'x','k':6,'v':null}\n{'p':'x','k':8,'v':'i'}\n"
                    "{'p':'y','k':1,'v':null}\n{'p':'y','k':5,'v':'f'}\n{'p':'y','k':9,'v':'j'}");
        assert_sound(table);
        compact(table, /* full= */ true);
        assert_rows(&l, "t", NULL, left_over);
        assert_sound(table);
        assert_int_equal(record_count(table), 4);
        assert_int_equal(delete_where(table, NULL), 4);
        assert_rows(&l, "t", NULL, "");
        tl_table_free(table);
        close_lake(&l);
    }
}

/* ---- races ---- */

typedef struct race {
    lake *l;
    const char *where; /* NULL: compact */
} race;

static tl_status others_were_faster(void *ctx, tl_commit_messages *out, tl_error *err)
{
    race *r = ctx;
    tl_table *table = open_table(r->l, "t");
    *out = (tl_commit_messages){0};
    (void)err;
    if (r->where != NULL)
        (void)delete_where(table, r->where);
    else
        compact(table, /* full= */ true);
    tl_table_free(table);
    return TL_OK;
}

static tl_status delete_beside(lake *l, const char *mine, const char *theirs)
{
    tl_error err;
    tl_table *table = open_table(l, "t");
    race r = {l, theirs};
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = predicate_of(table->row_type, mine);
    tl_delete_spec spec = {.finder = {.predicate = pred, .ctx = &r}, .written = others_were_faster};
    tl_status status = tl_table_delete(table, &spec, NULL, NULL, &err);
    assert_true(status == TL_OK || !err.retryable);
    assert_sound(table);
    tl_table_free(table);
    return status;
}

static void whoever_deletes_beside_others_loses_no_deletion(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(append_tables); i++) {
        if (strstr(append_tables[i].options, "bucket=2") != NULL)
            continue; /* the rows lie in different buckets */
        lake l = memory_lake();
        tl_table_free(ten_rows(&l, "t", append_tables[i].partition, append_tables[i].options));
        /* Rows of one file, which the other deletion gave a vector. */
        assert_int_equal(delete_beside(&l, "[\"=\",\"k\",0]", "[\"=\",\"k\",2]"), TL_E_CONFLICT);
        /* The other one compacts the file away. */
        assert_int_equal(delete_beside(&l, "[\"=\",\"k\",4]", NULL), TL_E_CONFLICT);
        assert_rows(&l, "t", NULL,
                    "{'p':'x','k':0,'v':'a'}\n{'p':'x','k':4,'v':'e'}\n{'p':'x','k':6,'v':null}\n{'p':'x','k':8,'v':'i'}\n"
                    "{'p':'y','k':1,'v':null}\n{'p':'y','k':3,'v':'d'}\n{'p':'y','k':5,'v':'f'}\n{'p':'y','k':7,'v':'h'}\n{'p':'y','k':9,'v':'j'}");
        /* What the losers wrote is removed; that of the winner is there, and a bucket's compaction made an empty one. */
        size_t made = strstr(append_tables[i].options, "bucket=") == NULL ? 1 : 2;
        assert_int_equal(files_with(l.fs, "/index-") - files_with(l.fs, "/index-manifest-"), made);
        close_lake(&l);
    }
}

static void a_compaction_that_does_not_know_a_deletion_is_dropped(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_table *table = ten_rows(&l, "t", NULL, "deletion-vectors.enabled=true,bucket=1,bucket-key=k");
    tl_error err;
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    tl_commit_result result;
    tl_write_options options = {0};
    assert_ok(tl_table_writer_create(table, &options, &writer, &err), &err);
    assert_ok(tl_table_writer_compact_all(writer, /* full= */ true, &err), &err);
    assert_ok(tl_table_writer_prepare(writer, /* wait_compaction= */ true, &messages, &err), &err);
    assert_int_equal(messages.items[0].compact_before.n, 3);
    tl_table *other = open_table(&l, "t");
    assert_int_equal(delete_where(other, "[\"=\",\"k\",5]"), 1);
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
    assert_true(result.compaction_dropped);
    char *rows = read_where(other, "[\"=\",\"k\",5]");
    assert_lines(rows, "");
    free(rows);
    assert_sound(other);
    tl_commit_messages_deinit(&messages);
    tl_table_writer_free(writer);
    tl_table_free(other);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- upkeep ---- */

static void index_files_go_with_the_snapshots_that_need_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(append_tables); i++) {
        lake l = memory_lake();
        tl_error err;
        tl_table *table = ten_rows(&l, "t", append_tables[i].partition, append_tables[i].options);
        (void)delete_where(table, "[\"=\",\"k\",0]");
        assert_ok(tl_table_create_tag(table, "one", 0, TL_ABSENT, &err), &err);
        (void)delete_where(table, "[\"=\",\"k\",2]");
        (void)delete_where(table, "[\"=\",\"k\",4]");
        int32_t expired;
        tl_expire_spec expire = {.retain_max = 1, .retain_min = 1};
        assert_ok(tl_table_expire(table, &expire, &expired, &err), &err);
        assert_rows(&l, "t", "scan.tag-name=one",
                    "{'p':'x','k':2,'v':'c'}\n{'p':'x','k':4,'v':'e'}\n{'p':'x','k':6,'v':null}\n{'p':'x','k':8,'v':'i'}\n"
                    "{'p':'y','k':1,'v':null}\n{'p':'y','k':3,'v':'d'}\n{'p':'y','k':5,'v':'f'}\n{'p':'y','k':7,'v':'h'}\n{'p':'y','k':9,'v':'j'}");
        assert_ok(tl_table_delete_tag(table, "one", &err), &err);
        compact(table, /* full= */ true);
        assert_ok(tl_table_expire(table, &expire, &expired, &err), &err);
        assert_sound(table);
        bool by_bucket = strstr(append_tables[i].options, "bucket=") != NULL; /* there an empty one stays in an old one's place */
        if (!by_bucket)
            assert_int_equal(files_with(l.fs, "/index-") - files_with(l.fs, "/index-manifest-"), 0);
        tl_table_free(table);
        close_lake(&l);
    }
}

/* ---- keyed tables ---- */

static void splits_take_their_vectors_along(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_table *table = ten_rows(&l, "t", "p", "deletion-vectors.enabled=true,bucket=1,bucket-key=k"), *worker = open_table(&l, "t");
    tl_error err;
    tl_scan_spec spec = {.limit = -1};
    tl_splits splits = {0};
    tl_buf text = {0};
    (void)delete_where(table, "[\"in\",\"k\",[0,1,3,6,7,8]]");
    assert_ok(tl_table_plan(table, &spec, &splits, &err), &err);
    for (size_t i = 0; i < splits.n; i++) {
        tl_buf bytes = {0}, again = {0};
        tl_split sent = {0};
        tl_reader *reader = NULL;
        assert_ok(tl_split_serialize(&splits.items[i], "/b", &bytes, &err), &err);
        for (size_t len = 0; len < bytes.len; len += 7) {
            tl_split none = {0};
            assert_int_not_equal(tl_split_deserialize((tl_bytes_view){bytes.data, len}, &none, &err), TL_OK);
        }
        assert_ok(tl_split_deserialize((tl_bytes_view){bytes.data, bytes.len}, &sent, &err), &err);
        assert_ok(tl_split_serialize(&sent, "/b", &again, &err), &err);
        assert_int_equal(again.len, bytes.len);
        assert_memory_equal(again.data, bytes.data, bytes.len);
        assert_ok(tl_table_read_split(worker, &sent, &spec, &reader, &err), &err);
        assert_ok(drain(reader, false, &text, &err), &err);
        tl_reader_free(reader);
        tl_split_deinit(&sent);
        tl_buf_deinit(&bytes);
        tl_buf_deinit(&again);
    }
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    char *sorted = sort_lines((const char *)text.data);
    assert_lines(sorted, left_over);
    free(sorted);
    tl_buf_deinit(&text);
    tl_splits_deinit(&splits);
    tl_table_free(table);
    tl_table_free(worker);
    close_lake(&l);
}

static void messages_take_index_files_along(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,deletion-vectors.enabled=true");
    tl_table *table = open_table(&l, "t");
    put_as(table, NULL, TL_COMMIT_BATCH, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':3,'v':'c'}", /* full= */ true);
    tl_error err;
    tl_commit_messages messages = prepared(table, "{'k':2,'v':'B'}\n{'k':4,'v':'d'}", /* full= */ false);
    tl_commit_message *m = &messages.items[0], sent = {0};
    assert_int_equal(m->compact_new_indexes.n, 1);
    assert_int_equal(m->compact_new_indexes.items[0]->n_ranges, 1);
    assert_int_equal(m->compact_new_indexes.items[0]->ranges[0].cardinality, 1);
    tl_buf bytes = {0};
    assert_ok(tl_commit_message_serialize(m, &bytes, &err), &err);
    for (size_t len = 0; len < bytes.len; len++) {
        tl_commit_message none = {0};
        assert_int_not_equal(tl_commit_message_deserialize((tl_bytes_view){bytes.data, len}, &none, &err), TL_OK);
    }
    assert_ok(tl_commit_message_deserialize((tl_bytes_view){bytes.data, bytes.len}, &sent, &err), &err);
    tl_commit_message_deinit(m);
    *m = sent;
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    assert_ok(tl_table_commit(table, &spec, &messages, NULL, &err), &err);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'B'}\n{'k':3,'v':'c'}\n{'k':4,'v':'d'}");
    assert_sound(table);
    tl_buf_deinit(&bytes);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
    close_lake(&l);
}

static void level_0_is_seen_when_it_is_compacted(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,deletion-vectors.enabled=true");
    tl_table *table = open_with(&l, "t", "write-only=true");
    put(table, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    assert_rows(&l, "t", NULL, "");
    compact(table, /* full= */ false);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    put(table, "{'k':1,'v':'A'}\n{'_kind':'-D','k':2}\n{'k':3,'v':'c'}");
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    compact(table, /* full= */ false);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'A'}\n{'k':3,'v':'c'}");
    compact(table, /* full= */ true);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'A'}\n{'k':3,'v':'c'}");
    assert_int_equal(record_count(table), 2);
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

/* Two writers open at one snapshot: the second's vectors would take the first's place. */
static void two_compactions_of_one_bucket_lose_no_deletion(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,deletion-vectors.enabled=true");
    tl_table *a = open_table(&l, "t"), *b = open_table(&l, "t");
    tl_error err;
    put_as(a, NULL, TL_COMMIT_BATCH, "{'k':1,'v':'a'}\n{'k':5,'v':'b'}\n{'k':9,'v':'c'}", /* full= */ true);
    tl_commit_messages first = prepared(a, "{'k':1,'v':'A'}", false), second = prepared(b, "{'k':9,'v':'C'}", false);
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    tl_commit_result result;
    assert_ok(tl_table_commit(a, &spec, &first, &result, &err), &err);
    assert_false(result.compaction_dropped);
    assert_ok(tl_table_commit(b, &spec, &second, &result, &err), &err);
    assert_true(result.compaction_dropped); /* and made again, since nobody reads level 0 */
    assert_rows(&l, "t", NULL, "{'k':1,'v':'A'}\n{'k':5,'v':'b'}\n{'k':9,'v':'C'}");
    compact(a, /* full= */ false);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'A'}\n{'k':5,'v':'b'}\n{'k':9,'v':'C'}");
    assert_sound(a);
    tl_commit_messages_deinit(&first);
    tl_commit_messages_deinit(&second);
    tl_table_free(a);
    tl_table_free(b);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deleted_rows_are_gone_and_compactions_leave_them_behind),
        cmocka_unit_test(whoever_deletes_beside_others_loses_no_deletion),
        cmocka_unit_test(a_compaction_that_does_not_know_a_deletion_is_dropped),
        cmocka_unit_test(index_files_go_with_the_snapshots_that_need_them),
        cmocka_unit_test(splits_take_their_vectors_along),
        cmocka_unit_test(messages_take_index_files_along),
        cmocka_unit_test(level_0_is_seen_when_it_is_compacted),
        cmocka_unit_test(two_compactions_of_one_bucket_lose_no_deletion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
