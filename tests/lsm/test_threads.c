/* Several buckets share one pool: writes go on while compactions run, and readers use what was handed out. Made for TSan. */
#include "lsm_support.h"

#define BUCKETS 4
#define COMMITS 12
#define ROWS 200

typedef struct reading {
    tl_lsm_config *config;
    tl_file_list files;
    size_t rows;
} reading;

static tl_status read_task(void *arg, tl_error *err)
{
    reading *r = arg;
    tl_bucket_read_spec spec = {0};
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_bucket_read(r->config, NO_PARTITION, 0, r->files.items, r->files.n, &spec, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        r->rows += (size_t)batch->n_rows;
    }
}

static void write_and_commit(tl_lsm_config *config, tl_bucket_writer *writer, tl_file_list *live, int number)
{
    row list[ROWS];
    tl_commit_message msg;
    tl_error err;
    for (int i = 0; i < ROWS; i++)
        list[i] = (row){.k = i * 3 + number % 5, .t = 0, .has_a = true, .a = number};
    tl_batch *batch = make_batch(config->schema->row_type, list, ROWS);
    assert_ok(tl_bucket_writer_write(writer, batch, &err), &err);
    assert_ok(tl_bucket_writer_prepare(writer, /* wait= */ number == COMMITS, &msg, &err), &err);
    apply_message(live, &msg);
    tl_commit_message_deinit(&msg);
    tl_batch_free(batch);
}

static void buckets_share_a_pool(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket", "4", "num-sorted-run.compaction-trigger", "2", "changelog-producer",
                                          "lookup", NULL};
    tl_fs *fs = memory_fs();
    tl_lsm_config *config = make_config_on(fs, options, true);
    tl_pool *pool = NULL;
    tl_task_group *readers = NULL;
    tl_bucket_writer *writers[BUCKETS];
    tl_file_list live[BUCKETS] = {{0}};
    reading readings[COMMITS] = {{0}};
    tl_error err;
    assert_ok(tl_pool_create(3, &pool, &err), &err);
    assert_ok(tl_task_group_create(pool, &readers, &err), &err);
    for (int b = 0; b < BUCKETS; b++)
        assert_ok(tl_bucket_writer_create(config, NO_PARTITION, b, BUCKETS, NULL, 0, pool, &writers[b], &err), &err);
    for (int c = 0; c < COMMITS; c++) {
        for (int b = 0; b < BUCKETS; b++)
            write_and_commit(config, writers[b], &live[b], c);
        readings[c].config = config;
        assert_ok(tl_lsm__list_add_all(&readings[c].files, &live[0], &err), &err);
        assert_ok(tl_task_group_run(readers, read_task, &readings[c], &err), &err);
    }
    for (int b = 0; b < BUCKETS; b++)
        write_and_commit(config, writers[b], &live[b], COMMITS);
    assert_ok(tl_task_group_wait(readers, &err), &err);
    for (int c = 0; c < COMMITS; c++) {
        /* Keys start at 0…4 and step by 3: three residues, and two keys more at the end. */
        assert_int_equal(readings[c].rows, c < 3 ? ROWS * (c + 1) : 3 * ROWS + TL_MIN(c - 2, 2));
        tl_file_list_deinit(&readings[c].files);
    }
    for (int b = 0; b < BUCKETS; b++) {
        tl_bucket_writer_free(writers[b]);
        tl_file_list_deinit(&live[b]);
    }
    tl_task_group_free(readers);
    tl_pool_free(pool);
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_share_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
