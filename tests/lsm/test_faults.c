/*
 * Every allocation and every call of the file system gets its turn to fail, in a script of writes, spills, flushes, compactions
 * with changelogs, and reads. After a failure nothing is left in the bucket's folder but files that were handed out, and what
 * was handed out reads as the model says.
 */
#include "lsm_support.h"

typedef struct script {
    tl_fs *fs;    /* with faults */
    tl_fs *inner; /* without */
    tl_table_schema *schema;
    tl_file_list live;
    tl_file_list changelogs;
    rows model; /* content of `live` */
    bool may_leave_one;
    uint64_t fail_at; /* number of the allocation that fails, from now on; 0: none */
} script;

static row script_row(int commit, int i)
{
    return (row){.k = i % 7, .t = (i + commit) % 3, .has_a = true, .a = 1, .has_b = true, .b = i + commit};
}

static void model_add(rows *model, row r)
{
    for (size_t i = 0; i < model->n; i++) {
        if (compare_keys(&model->items[i], &r) == 0) {
            r.a += model->items[i].a;
            model->items[i] = r;
            return;
        }
    }
    rows_add(model, r);
}

static tl_status make_config(const script *s, tl_fs *fs, tl_lsm_config **out, tl_error *err)
{
    tl_paths paths = {.table = "/t"};
    TL_TRY(tl_lsm_config_create(fs, &paths, s->schema, out, err));
    tl_fs_unref((*out)->spill_fs);
    (*out)->spill_fs = tl_fs_ref(fs);
    return TL_OK;
}

static tl_status commit(script *s, tl_bucket_writer *writer, rows *after, tl_error *err)
{
    tl_commit_message msg;
    TL_TRY(tl_bucket_writer_prepare(writer, /* wait= */ true, &msg, err));
    uint64_t used = tl_alloc_count();
    tl_alloc_fail_at(0); /* the test's own book never fails */
    apply_message(&s->live, &msg);
    assert_ok(tl_lsm__list_add_all(&s->changelogs, &msg.compact_changelog, err), err);
    tl_commit_message_deinit(&msg);
    rows_free(&s->model);
    for (size_t i = 0; i < after->n; i++)
        rows_add(&s->model, after->items[i]);
    s->fail_at = s->fail_at > used ? s->fail_at - used : 0;
    tl_alloc_fail_at(s->fail_at);
    return TL_OK;
}

static tl_status write_commit(script *s, tl_bucket_writer *writer, int number, tl_batch *const *batches, tl_error *err)
{
    rows after = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < s->model.n; i++)
        rows_add(&after, s->model.items[i]);
    for (int b = 0; b < 3 && status == TL_OK; b++) {
        for (int i = 0; i < 10; i++)
            model_add(&after, script_row(number, b * 10 + i));
        status = tl_bucket_writer_write(writer, batches[b], err);
        if (status == TL_OK && b == 1)
            status = tl_bucket_writer_flush(writer, err);
    }
    if (status == TL_OK && number == 2)
        status = tl_bucket_writer_compact(writer, /* full= */ true, err);
    if (status == TL_OK)
        status = commit(s, writer, &after, err);
    rows_free(&after);
    return status;
}

static tl_status read_back(const script *s, tl_lsm_config *config, tl_error *err)
{
    tl_bucket_read_spec spec = {.keep_deletes = true, .with_seq = true};
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_bucket_read(config, NO_PARTITION, 0, s->live.items, s->live.n, &spec, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
    }
}

static tl_status run(script *s, tl_batch *batches[3][3], uint64_t fail_at, tl_error *err)
{
    s->fail_at = fail_at;
    tl_lsm_config *config = NULL;
    tl_bucket_writer *writer = NULL;
    tl_alloc_fail_at(fail_at);
    tl_status status = make_config(s, s->fs, &config, err);
    if (status == TL_OK)
        status = tl_bucket_writer_create(config, NO_PARTITION, 0, 1, NULL, 0, NULL, &writer, err);
    for (int c = 0; c < 3 && status == TL_OK; c++)
        status = write_commit(s, writer, c, batches[c], err);
    if (status == TL_OK)
        status = read_back(s, config, err);
    tl_bucket_writer_free(writer);
    tl_alloc_fail_at(0);
    tl_lsm_config_unref(config);
    return status;
}

/* What is left must be what was handed out, whole and readable. */
static void check_rest(script *s)
{
    tl_lsm_config *config = NULL;
    tl_error err;
    rows got = {0};
    assert_ok(make_config(s, s->inner, &config, &err), &err);
    read_live(config, &s->live, &got);
    assert_same_rows(&got, &s->model, /* with_kinds= */ false);
    rows_free(&got);
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_ok(tl_fs_list(s->inner, "/t/bucket-0", &entries, &n, &err), &err);
    for (size_t i = 0; i < s->live.n; i++) {
        bool found = false;
        for (size_t e = 0; e < n; e++)
            found |= strcmp(entries[e].name, s->live.items[i]->name) == 0;
        assert_true(found);
    }
    tl_dir_free(entries, n);
    /* One remove may have been refused: then that file stays. */
    assert_true(count_files(s->inner, "/tmp") <= (s->may_leave_one ? 1 : 0));
    tl_lsm_config_unref(config);
}

static size_t files_of(script *s)
{
    return count_files(s->inner, "/t/bucket-0");
}

static const char *const plain[] = {"bucket",
                                      "1",
                                      "merge-engine",
                                      "aggregation",
                                      "fields.a.aggregate-function",
                                      "sum",
                                      "fields.b.aggregate-function",
                                      "last_value",
                                      "changelog-producer",
                                      "lookup",
                                      NULL};

/* Only level 0 is compacted, so that keys are looked up. Index files lie where they are counted. What upper levels hold twice, once deleted, a merge of all finds the right one of. */
static const char *const vectors[] = {"bucket",
                                      "1",
                                      "merge-engine",
                                      "aggregation",
                                      "fields.a.aggregate-function",
                                      "sum",
                                      "fields.b.aggregate-function",
                                      "last_value",
                                      "deletion-vectors.enabled",
                                      "true",
                                      "index-file-in-data-file-dir",
                                      "true",
                                      "num-sorted-run.compaction-trigger",
                                      "20",
                                      "compaction.size-ratio",
                                      "-100",
                                      NULL};

static const char *const *options; /* of the test that runs */

static void open_script(script *s, tl_fault_plan *plan)
{
    static const char *const keys[] = {"k", "t"};
    tl_error err;
    *s = (script){.inner = memory_fs(), .schema = make_schema(options, keys, 2)};
    if (plan != NULL)
        assert_ok(tl_fs_fault(s->inner, plan, &s->fs, &err), &err);
    else
        s->fs = tl_fs_ref(s->inner);
}

static void close_script(script *s)
{
    rows_free(&s->model);
    tl_file_list_deinit(&s->live);
    tl_file_list_deinit(&s->changelogs);
    tl_table_schema_unref(s->schema);
    tl_fs_unref(s->fs);
    tl_fs_unref(s->inner);
}

static void make_batches(tl_batch *batches[3][3])
{
    const tl_type *type = table_type();
    for (int c = 0; c < 3; c++) {
        for (int b = 0; b < 3; b++) {
            row list[10];
            for (int i = 0; i < 10; i++)
                list[i] = script_row(c, b * 10 + i);
            batches[c][b] = make_batch(type, list, 10);
        }
    }
    tl_type_unref(type);
}

static void free_batches(tl_batch *batches[3][3])
{
    for (int c = 0; c < 3; c++) {
        for (int b = 0; b < 3; b++)
            tl_batch_free(batches[c][b]);
    }
}

static size_t index_files_of(script *s)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0, found = 0;
    tl_error err;
    assert_ok(tl_fs_list(s->inner, "/t/bucket-0", &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++)
        found += strncmp(entries[i].name, "index-", 6) == 0;
    tl_dir_free(entries, n);
    return found;
}

/* Files that a script without faults leaves after 0, 1, 2, 3 commits. */
static void count_clean(tl_batch *batches[3][3], size_t clean[4])
{
    script s;
    tl_error err;
    open_script(&s, NULL);
    tl_lsm_config *config = NULL;
    tl_bucket_writer *writer = NULL;
    assert_ok(make_config(&s, s.fs, &config, &err), &err);
    assert_ok(tl_bucket_writer_create(config, NO_PARTITION, 0, 1, NULL, 0, NULL, &writer, &err), &err);
    clean[0] = 0;
    for (int c = 0; c < 3; c++) {
        assert_ok(write_commit(&s, writer, c, batches[c], &err), &err);
        clean[c + 1] = files_of(&s);
    }
    tl_bucket_writer_free(writer);
    assert_true((index_files_of(&s) > 0) == (options == vectors));
    assert_int_equal(files_of(&s), clean[3]);
    tl_lsm_config_unref(config);
    close_script(&s);
}

static void assert_clean(script *s, const size_t clean[4])
{
    size_t n = files_of(s);
    bool known = false;
    for (int i = 0; i < 4; i++)
        known |= n == clean[i] || (s->may_leave_one && n == clean[i] + 1);
    if (!known)
        fail_msg("%zu files are left, wanted %zu, %zu, %zu or %zu", n, clean[0], clean[1], clean[2], clean[3]);
}

static void every_failing_allocation_leaves_no_trace(void **state)
{
    options = *state;
    tl_batch *batches[3][3];
    size_t clean[4];
    make_batches(batches);
    count_clean(batches, clean);
    uint64_t failures = 0;
    for (uint64_t at = 1;; at += 1 + at / 400) {
        script s;
        tl_error err = {TL_OK, 0, ""};
        open_script(&s, NULL);
        tl_status status = run(&s, batches, at, &err);
        if (status != TL_OK)
            assert_int_equal(status, TL_E_NOMEM);
        check_rest(&s);
        assert_clean(&s, clean);
        bool past_the_last = status == TL_OK;
        close_script(&s);
        failures += status != TL_OK;
        if (past_the_last && at > 1000)
            break;
    }
    assert_true(failures > 500);
    free_batches(batches);
}

static void every_failing_call_of_the_file_system_leaves_no_trace(void **state)
{
    options = *state;
    static const tl_fault_kind kinds[] = {TL_FAULT_EIO, TL_FAULT_ENOSPC, TL_FAULT_SHORT_READ, TL_FAULT_TORN_WRITE};
    tl_batch *batches[3][3];
    size_t clean[4];
    make_batches(batches);
    count_clean(batches, clean);
    for (size_t k = 0; k < TL_ARRAY_LEN(kinds); k++) {
        for (uint64_t at = 1;; at++) {
            script s;
            tl_error err = {TL_OK, 0, ""};
            tl_fault_plan plan = {.kind = kinds[k], .at = at};
            open_script(&s, &plan);
            s.may_leave_one = true;
            tl_status status = run(&s, batches, 0, &err);
            check_rest(&s);
            if (status != TL_OK)
                assert_clean(&s, clean);
            close_script(&s);
            if (plan.calls < at)
                break;
        }
    }
    free_batches(batches);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(every_failing_allocation_leaves_no_trace, (void *)(uintptr_t)plain),
        cmocka_unit_test_prestate(every_failing_call_of_the_file_system_leaves_no_trace, (void *)(uintptr_t)plain),
        cmocka_unit_test_prestate(every_failing_allocation_leaves_no_trace, (void *)(uintptr_t)vectors),
        cmocka_unit_test_prestate(every_failing_call_of_the_file_system_leaves_no_trace, (void *)(uintptr_t)vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
