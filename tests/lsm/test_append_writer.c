/* Append buckets: order, sequence numbers, compaction in the background and by the planner. */
#include "lsm_support.h"

typedef struct world {
    tl_fs *fs;
    tl_lsm_config *config;
    tl_bucket_writer *writer;
    tl_file_list live;
    rows written;
} world;

static world open_world(const char *const *options)
{
    world w = {.fs = memory_fs()};
    w.config = make_config_on(w.fs, options, /* keyed= */ false);
    return w;
}

static void open_writer(world *w)
{
    tl_error err;
    assert_ok(tl_bucket_writer_create(w->config, NO_PARTITION, 0, w->config->total_buckets, w->live.items, w->live.n, NULL,
                                      &w->writer, &err),
              &err);
}

static void close_world(world *w)
{
    tl_bucket_writer_free(w->writer);
    tl_file_list_deinit(&w->live);
    rows_free(&w->written);
    tl_lsm_config_unref(w->config);
    tl_fs_unref(w->fs);
}

static void write_rows(world *w, size_t n)
{
    rows list = {0};
    tl_error err;
    for (size_t i = 0; i < n; i++) {
        rows_add(&list, (row){.k = (int32_t)w->written.n, .t = 1, .has_a = true, .a = (int64_t)w->written.n * 7919});
        rows_add(&w->written, list.items[i]);
    }
    tl_batch *batch = make_batch(w->config->schema->row_type, list.items, n);
    assert_ok(tl_bucket_writer_write(w->writer, batch, &err), &err);
    tl_batch_free(batch);
    rows_free(&list);
}

static tl_commit_message commit(world *w)
{
    tl_commit_message msg;
    tl_error err;
    assert_ok(tl_bucket_writer_prepare(w->writer, /* wait= */ true, &msg, &err), &err);
    apply_message(&w->live, &msg);
    return msg;
}

/* Files by sequence number, as readers order them; their rows are those written, in order. */
static void assert_content_in_order(world *w)
{
    rows got = {0};
    for (size_t i = 1; i < w->live.n; i++) {
        for (size_t j = i; j > 0 && w->live.items[j - 1]->min_seq > w->live.items[j]->min_seq; j--) {
            tl_data_file *file = w->live.items[j];
            w->live.items[j] = w->live.items[j - 1];
            w->live.items[j - 1] = file;
        }
    }
    read_live(w->config, &w->live, &got);
    assert_int_equal(got.n, w->written.n);
    for (size_t i = 0; i < got.n; i++)
        assert_int_equal(got.items[i].k, i);
    rows_free(&got);
}

static void sequence_numbers_go_on_from_commit_to_commit(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket", "1", "bucket-key", "k", "write-only", "true", NULL};
    world w = open_world(options);
    for (int i = 0; i < 3; i++) {
        open_writer(&w);
        write_rows(&w, 10);
        tl_commit_message msg = commit(&w);
        assert_int_equal(msg.new_files.n, 1);
        assert_int_equal(msg.new_files.items[0]->min_seq, 10 * i);
        assert_int_equal(msg.new_files.items[0]->max_seq, 10 * i + 9);
        assert_int_equal(msg.new_files.items[0]->delete_rows, 0);
        assert_int_equal(msg.new_files.items[0]->key_stats.n, 0);
        assert_int_equal(msg.new_files.items[0]->min_key.len, 12);
        tl_commit_message_deinit(&msg);
        tl_bucket_writer_free(TL_STEAL(w.writer));
    }
    assert_content_in_order(&w);
    close_world(&w);
}

static void tables_without_buckets_start_each_file_at_0(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket", "-1", NULL};
    world w = open_world(options);
    for (int i = 0; i < 2; i++) {
        open_writer(&w);
        write_rows(&w, 5);
        tl_commit_message msg = commit(&w);
        assert_int_equal(msg.new_files.items[0]->min_seq, 0);
        assert_int_equal(msg.total_buckets, -1);
        tl_commit_message_deinit(&msg);
        tl_bucket_writer_free(TL_STEAL(w.writer));
    }
    close_world(&w);
}

static void small_files_are_compacted_in_order(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket", "1", "bucket-key", "k", "compaction.min.file-num", "3", NULL};
    world w = open_world(options);
    open_writer(&w);
    for (int i = 0; i < 12; i++) {
        write_rows(&w, 20);
        tl_commit_message msg = commit(&w);
        tl_commit_message_deinit(&msg);
        assert_content_in_order(&w);
        assert_true(w.live.n <= 3);
    }
    assert_int_equal(count_files(w.fs, "/t/bucket-0"),
                     12 + 5); /* nothing else lies there: 12 flushed, a rewrite at each second commit from the third on */
    close_world(&w);
}

static void a_full_compaction_joins_small_files(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket", "1", "bucket-key", "k", "compaction.min.file-num", "100", NULL};
    world w = open_world(options);
    tl_error err;
    open_writer(&w);
    for (int i = 0; i < 4; i++) {
        write_rows(&w, 20);
        tl_commit_message msg = commit(&w);
        tl_commit_message_deinit(&msg);
    }
    assert_int_equal(w.live.n, 4);
    assert_ok(tl_bucket_writer_compact(w.writer, /* full= */ true, &err), &err);
    tl_commit_message msg = commit(&w);
    assert_int_equal(msg.compact_before.n, 4);
    assert_int_equal(msg.compact_after.n, 1);
    assert_int_equal(msg.compact_after.items[0]->file_source, 1);
    assert_int_equal(msg.compact_after.items[0]->min_seq, 0);
    assert_int_equal(msg.compact_after.items[0]->max_seq, 79);
    tl_commit_message_deinit(&msg);
    assert_content_in_order(&w);
    close_world(&w);
}

static void files_roll_at_the_target_size(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket",           "1",     "bucket-key", "k", "write-only", "true",
                                          "target-file-size", "10 kb", NULL};
    world w = open_world(options);
    open_writer(&w);
    for (int i = 0; i < 10; i++)
        write_rows(&w, 3000);
    tl_commit_message msg = commit(&w);
    assert_true(msg.new_files.n > 3);
    for (size_t i = 1; i < msg.new_files.n; i++) {
        assert_int_equal(msg.new_files.items[i]->min_seq, msg.new_files.items[i - 1]->max_seq + 1);
        assert_int_equal(msg.new_files.items[i - 1]->rows % 1000, 0);
    }
    tl_commit_message_deinit(&msg);
    assert_content_in_order(&w);
    close_world(&w);
}

static void deletes_are_refused_or_ignored(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket", "-1", NULL};
    static const char *const ignoring[] = {"bucket", "-1", "ignore-delete", "true", NULL};
    tl_error err;
    row r = {.k = 1, .kind = TL_KIND_DELETE};
    world w = open_world(options);
    open_writer(&w);
    tl_batch *batch = make_batch(w.config->schema->row_type, &r, 1);
    assert_fails(tl_bucket_writer_write(w.writer, batch, &err), TL_E_INVALID, &err, "-D");
    close_world(&w);
    w = open_world(ignoring);
    open_writer(&w);
    assert_ok(tl_bucket_writer_write(w.writer, batch, &err), &err);
    tl_commit_message msg = commit(&w);
    assert_true(tl_commit_message_empty(&msg));
    tl_commit_message_deinit(&msg);
    tl_batch_free(batch);
    close_world(&w);
}

static void the_planner_packs_small_files(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket", "-1", NULL};
    world w = open_world(options);
    tl_error err;
    for (int i = 0; i < 6; i++) {
        open_writer(&w);
        write_rows(&w, 30);
        tl_commit_message msg = commit(&w);
        tl_commit_message_deinit(&msg);
        tl_bucket_writer_free(TL_STEAL(w.writer));
        tl_commit_message plan = {0};
        assert_ok(tl_append_compact(w.config, NO_PARTITION, 0, w.live.items, w.live.n, /* vectors= */ NULL, /* full= */ false, &plan, &err), &err);
        assert_int_equal(plan.compact_before.n, i < 4 ? 0 : i + 1); /* 5 files are enough */
        assert_int_equal(plan.compact_after.n, i < 4 ? 0 : 1);
        for (size_t f = 0; f < plan.compact_after.n; f++)
            assert_int_equal(plan.compact_after.items[f]->rows, 30 * (i + 1));
        tl_commit_message_deinit(&plan);
    }
    tl_commit_message all = {0};
    assert_ok(tl_append_compact(w.config, NO_PARTITION, 0, w.live.items, 2, /* vectors= */ NULL, /* full= */ true, &all, &err), &err);
    assert_int_equal(all.compact_before.n, 2);
    assert_int_equal(all.compact_after.n, 1);
    tl_commit_message_deinit(&all);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_numbers_go_on_from_commit_to_commit),
        cmocka_unit_test(tables_without_buckets_start_each_file_at_0),
        cmocka_unit_test(small_files_are_compacted_in_order),
        cmocka_unit_test(a_full_compaction_joins_small_files),
        cmocka_unit_test(files_roll_at_the_target_size),
        cmocka_unit_test(deletes_are_refused_or_ignored),
        cmocka_unit_test(the_planner_packs_small_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
