/*
 * Overwriting some partitions of a table whose primary key spans partitions: keys that move leave the partitions that stay, in the
 * same snapshot; what cannot be done so is refused; and after a failing call or allocation, or a power cut, the statement has happened
 * as a whole or not at all. tests/interop/random_moves.py compares such tables with the reference.
 */
#include "table_support.h"

#include "support/faults.h"

static const char columns[] = "v STRING NOT NULL, p INT NOT NULL, k INT NOT NULL";
static const char before[] = "{'v':'a','p':1,'k':1}\n{'v':'a','p':1,'k':2}\n{'v':'a','p':2,'k':3}\n{'v':'a','p':2,'k':4}\n{'v':'a','p':2,'k':5}\n"
                             "{'v':'a','p':3,'k':6}\n";
static const char rows[] = "{'v':'b','p':1,'k':1}\n{'v':'b','p':1,'k':4}\n{'v':'b','p':1,'k':7}\n"; /* key 4 comes from 2, key 2 goes */
static const char after[] = "{'v':'b','p':1,'k':1}\n{'v':'b','p':1,'k':4}\n{'v':'b','p':1,'k':7}\n{'v':'a','p':2,'k':3}\n{'v':'a','p':2,'k':5}\n"
                            "{'v':'a','p':3,'k':6}\n";

static const char small_buckets[] = "dynamic-bucket.target-row-num=2";

/* `batch` NULL: no rows. */
static tl_status overwrite_as(tl_table *table, const tl_batch *batch, const tl_options *partition, const char *user, int64_t identifier, tl_error *err)
{
    const tl_write_options options = {.ignore_previous = true};
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    tl_commit_spec spec = batch_commit(user, identifier);
    spec.overwrite = true;
    spec.overwrite_partition = partition;
    TL_TRY(tl_table_writer_create(table, &options, &writer, err));
    tl_status status = batch == NULL ? TL_OK : tl_table_writer_write(writer, batch, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, true, &messages, err);
    tl_table_writer_free(writer);
    if (status == TL_OK)
        status = tl_table_commit(table, &spec, &messages, NULL, err);
    tl_commit_messages_deinit(&messages);
    return status;
}

static tl_status overwrite(tl_table *table, const char *lines, const tl_options *partition, tl_error *err)
{
    char *text = quoted(lines);
    tl_batch *batch = *text == '\0' ? NULL : batch_of(tl_table_row_type(table), text);
    tl_status status = overwrite_as(table, batch, partition, NULL, TL_COMMIT_BATCH, err);
    tl_batch_free(batch);
    free(text);
    return status;
}

static int64_t latest_id(tl_table *table)
{
    tl_snapshot *latest = latest_of(table);
    int64_t id = latest->id;
    tl_snapshot_free(latest);
    return id;
}

static size_t count_orphans(tl_table *table)
{
    tl_orphan *orphans = NULL;
    size_t n = 0;
    tl_error err;
    assert_ok(tl_table_find_orphans(table, /* older_than_ms= */ -1000, &orphans, &n, &err), &err);
    tl_orphans_free(orphans, n);
    return n;
}

/* ---- what it does ---- */

static void keys_leave_the_partitions_that_stay(void **state)
{
    (void)state;
    static const char *const options[] = {"dynamic-bucket.target-row-num=2", "dynamic-bucket.target-row-num=2,changelog-producer=input",
                                          "changelog-producer=lookup", "changelog-producer=full-compaction,overwrite-upgrade=false"};
    lake l = memory_lake();
    tl_error err;
    for (size_t i = 0; i < TL_ARRAY_LEN(options); i++) {
        char name[8];
        snprintf(name, sizeof name, "t%zu", i);
        create(&l, name, columns, "k", "p", options[i]);
        tl_table *table = open_table(&l, name);
        (void)put(table, before);
        int64_t from = latest_id(table);
        assert_ok(overwrite(table, rows, NULL, &err), &err);
        char first[48];
        snprintf(first, sizeof first, "scan.snapshot-id=%lld", (long long)from + 1);
        assert_rows(&l, name, first, after); /* at once; with lookups a compaction may follow */
        assert_rows(&l, name, NULL, after);
        assert_sound(table);
        assert_int_equal(count_orphans(table), 0);
        (void)put(table, "{'v':'c','p':3,'k':4}\n{'v':'c','p':1,'k':2}\n"); /* a writer that reads the keys: each is in one place */
        assert_ok(tl_table_compact(table, NULL, true, NULL, NULL, &err), &err);
        assert_rows(&l, name, NULL,
                    "{'v':'b','p':1,'k':1}\n{'v':'c','p':1,'k':2}\n{'v':'c','p':3,'k':4}\n{'v':'b','p':1,'k':7}\n{'v':'a','p':2,'k':3}\n"
                    "{'v':'a','p':2,'k':5}\n{'v':'a','p':3,'k':6}\n");
        assert_sound(table);
        tl_table_free(table);
    }
    close_lake(&l);
}

static void a_partition_that_is_named_is_overwritten_alone(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", columns, "k", "p", small_buckets);
    tl_table *table = open_with(&l, "t", "dynamic-partition-overwrite=false");
    tl_options partition = options_of("p=1");
    (void)put(table, before);
    assert_int_equal(overwrite(table, "{'v':'b','p':2,'k':1}\n", &partition, &err), TL_E_INVALID);
    assert_ok(overwrite(table, rows, &partition, &err), &err);
    assert_rows(&l, "t", NULL, after);
    assert_ok(overwrite(table, "", &partition, &err), &err);
    assert_rows(&l, "t", NULL, "{'v':'a','p':2,'k':3}\n{'v':'a','p':2,'k':5}\n{'v':'a','p':3,'k':6}\n");
    assert_sound(table);
    tl_options_deinit(&partition);
    tl_table_free(table);
    close_lake(&l);
}

static void tables_whose_deletes_come_later_are_refused(void **state)
{
    (void)state;
    static const char *const options[] = {"merge-engine=partial-update", "merge-engine=first-row", "deletion-vectors.enabled=true",
                                          "ignore-delete=true"};
    lake l = memory_lake();
    tl_error err;
    for (size_t i = 0; i < TL_ARRAY_LEN(options); i++) {
        char name[8];
        snprintf(name, sizeof name, "t%zu", i);
        create(&l, name, columns, "k", "p", options[i]);
        tl_table *table = open_table(&l, name);
        (void)put(table, before);
        assert_int_equal(overwrite(table, rows, NULL, &err), TL_E_UNSUPPORTED);
        assert_non_null(strstr(err.message, "delete and insert"));
        assert_rows(&l, name, NULL, before);
        tl_table_free(table);
        table = open_with(&l, name, "dynamic-partition-overwrite=false"); /* all of it: no key is elsewhere */
        assert_ok(overwrite(table, rows, NULL, &err), &err);
        assert_rows(&l, name, NULL, rows);
        tl_table_free(table);
    }
    close_lake(&l);
}

/* Who changes rows between the look and the snapshot might have moved the keys. */
static void what_was_looked_at_must_still_hold(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", columns, "k", "p", small_buckets);
    tl_table *table = open_table(&l, "t");
    (void)put(table, before);
    tl_commit_messages fresh = {0}, moved = {0};
    tl_entries entries = {0};
    tl_map partitions = {0};
    assert_ok(prepare_lines(table, rows, false, /* ignore_previous= */ true, &fresh, &err), &err);
    for (size_t i = 0; i < fresh.n; i++) {
        const tl_commit_message *m = &fresh.items[i];
        assert_int_equal(tl_map_put(&partitions, m->partition.data, m->partition.len, &entries, NULL), TL_OK);
        for (size_t f = 0; f < m->new_files.n; f++)
            assert_ok(tl_entries_add(&entries, TL_ENTRY_ADD, tl_bytes_view_of(m->partition), m->bucket, -1, m->new_files.items[f], &err), &err);
    }
    assert_ok(tl_retract__moved(table, &entries, NULL, &partitions, &moved, &err), &err);
    assert_int_equal(moved.n, 1);
    (void)put(table, "{'v':'x','p':3,'k':4}\n");
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    assert_int_equal(tl_table_commit(table, &spec, &moved, NULL, &err), TL_E_CONFLICT);
    tl_table_abort(table, &fresh);
    tl_commit_messages_deinit(&fresh);
    tl_commit_messages_deinit(&moved);
    tl_entries_deinit(&entries);
    tl_map_deinit(&partitions);
    assert_int_equal(count_orphans(table), 0);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- faults ---- */

static tl_batch *batch; /* of `rows` */

static tl_status statement(tl_fs *fs, tl_error *err)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_status status = tl_catalog_open(fs, "/lake", &catalog, err);
    if (status == TL_OK)
        status = tl_table_open(catalog, "d", "t", NULL, &table, err);
    if (status == TL_OK)
        status = overwrite_as(table, batch, NULL, "writer", 7, err);
    tl_table_free(table);
    tl_catalog_close(catalog);
    return status;
}

/* After a fault: all or nothing; then the same once more (same user and identifier), which is in once; what is left behind can go. */
static void check_state(tl_fs *was, tl_fs *fs, tl_status outcome, const char *where)
{
    tl_error err;
    assert_nothing_lost(was, fs, "/lake", where);
    tl_fs_ref(fs);
    lake l = lake_on(fs);
    tl_table *table = open_table(&l, "t");
    bool done = latest_id(table) > 1;
    if (outcome == TL_OK && !done)
        fail_msg("%s: it said that it was done", where);
    assert_rows(&l, "t", NULL, done ? after : before);
    assert_sound(table);
    tl_table_free(table);
    if (statement(fs, &err) != TL_OK)
        fail_msg("%s: the second attempt: %s", where, err.message);
    table = open_table(&l, "t");
    assert_int_equal(latest_id(table), 2);
    tl_orphan *orphans = NULL;
    size_t n = 0;
    assert_ok(tl_table_remove_orphans(table, /* older_than_ms= */ -1000, &orphans, &n, &err), &err);
    tl_orphans_free(orphans, n);
    assert_rows(&l, "t", NULL, after);
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static tl_fs *start(void)
{
    lake l = memory_lake();
    create(&l, "t", columns, "k", "p", small_buckets);
    tl_table *table = open_table(&l, "t");
    (void)put(table, before);
    char *text = quoted(rows);
    batch = batch_of(tl_table_row_type(table), text);
    free(text);
    tl_table_free(table);
    tl_fs *fs = l.fs;
    tl_fs_ref(fs);
    close_lake(&l);
    return fs;
}

static void every_failing_call_leaves_all_or_nothing(void **state)
{
    (void)state;
    static const tl_fault_kind kinds[] = {TL_FAULT_CRASH, TL_FAULT_ENOSPC, TL_FAULT_SHORT_READ, TL_FAULT_TORN_WRITE};
    tl_fs *fs = start();
    uint64_t was = fingerprint(fs, "/lake");
    uint64_t tried = 0, traces = 0;
    for (size_t k = 0; k < TL_ARRAY_LEN(kinds); k++) {
        for (uint64_t at = 1;; at += SLOW ? 7 : 1) {
            tl_error err;
            char where[64];
            tl_fault_plan plan = {.kind = kinds[k], .at = at};
            tl_fs *copy = copy_to_memory(fs, "/lake"), *faulty = NULL;
            snprintf(where, sizeof where, "fault %d at call %llu", (int)kinds[k], (unsigned long long)at);
            assert_ok(tl_fs_fault(copy, &plan, &faulty, &err), &err);
            tl_status status = statement(faulty, &err);
            tl_fs_unref(faulty);
            bool past = plan.calls < at, trace = status == TL_OK || fingerprint(copy, "/lake") != was;
            if (past && status != TL_OK)
                fail_msg("%s, beyond the last one: %s", where, err.message);
            if (trace)
                check_state(fs, copy, status, where);
            tried++;
            traces += trace;
            tl_fs_unref(copy);
            if (past)
                break;
        }
    }
    assert_true(tried > 40 && traces > 20);
    tl_batch_free(batch);
    tl_fs_unref(fs);
}

static void every_failing_allocation_leaves_all_or_nothing(void **state)
{
    (void)state;
    tl_fs *fs = start();
    tl_error err;
    tl_fs *copy = copy_to_memory(fs, "/lake");
    uint64_t was = fingerprint(fs, "/lake");
    tl_alloc_fail_at(UINT64_MAX); /* counts; none fails */
    assert_ok(statement(copy, &err), &err);
    uint64_t total = tl_alloc_count();
    tl_alloc_fail_at(0);
    tl_fs_unref(copy);
    for (uint64_t at = 1, stride = fault_stride(total, 400, 60); at <= total; at += stride) {
        char where[64];
        snprintf(where, sizeof where, "allocation %llu of %llu", (unsigned long long)at, (unsigned long long)total);
        copy = copy_to_memory(fs, "/lake");
        tl_alloc_fail_at(at);
        tl_status status = statement(copy, &err);
        tl_alloc_fail_at(0);
        if (status != TL_OK && status != TL_E_NOMEM)
            fail_msg("%s: %s", where, err.message);
        if (status == TL_OK || fingerprint(copy, "/lake") != was)
            check_state(fs, copy, status, where);
        tl_fs_unref(copy);
    }
    tl_batch_free(batch);
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_leave_the_partitions_that_stay),
        cmocka_unit_test(a_partition_that_is_named_is_overwritten_alone),
        cmocka_unit_test(tables_whose_deletes_come_later_are_refused),
        cmocka_unit_test(what_was_looked_at_must_still_hold),
        cmocka_unit_test(every_failing_call_leaves_all_or_nothing),
        cmocka_unit_test(every_failing_allocation_leaves_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
