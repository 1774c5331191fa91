/*
 * Rewriting files of append tables, and the planner for tables without buckets (Java: AppendCompactCoordinator#pack,
 * BaseAppendFileStoreWrite#compactRewrite).
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>

/* ---- rewrite ---- */

static tl_status copy_files(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, const atomic_bool *cancelled,
                            tl_lsm__writer *writer, tl_error *err)
{
    int32_t n_columns = tl_lsm__n_columns(bucket->config);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n_columns + 1) * sizeof(*columns));
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    if (columns == NULL)
        return tl_nomem(err, "compaction");
    for (int32_t i = 0; i < n_columns; i++)
        columns[i] = i;
    TL_TRY(tl_lsm__scan_create(bucket, columns, n_columns, /* pred= */ NULL, &scan, err));
    TL_TRY(tl_lsm__run_open(scan, files, n, TL_LSM__PUSH_NONE, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        if (cancelled != NULL && atomic_load_explicit(cancelled, memory_order_relaxed))
            return tl_error_set(err, TL_E_CANCELLED, "compaction was cancelled");
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(tl_lsm__writer_write(writer, batch, err));
    }
}

tl_status tl_lsm__append_rewrite(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, const atomic_bool *cancelled,
                                 tl_file_list *out, tl_error *err)
{
    tl_lsm__names names = {0};
    int64_t next_seq = files[0]->min_seq;
    tl_lsm__writer_spec spec = {.bucket = bucket, .names = &names, .file_source = 1, .next_seq = &next_seq};
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *writer = NULL;
    TL_TRY(tl_lsm__writer_create(&spec, &writer, err));
    tl_status status = copy_files(bucket, files, n, cancelled, writer, err);
    if (status == TL_OK)
        status = tl_lsm__writer_finish(writer, out, err);
    return tl_error_wrap(err, status, "compaction of bucket '%s'", bucket->dir);
}

/* ---- planner ---- */

static tl_status compact_bin(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, tl_commit_message *msg,
                             tl_error *err)
{
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_file_list_add(&msg->compact_before, files[i], err));
    return tl_lsm__append_rewrite(bucket, files, n, /* cancelled= */ NULL, &msg->compact_after, err);
}

static int compare_size(const void *x, const void *y)
{
    const tl_data_file *a = *(tl_data_file *const *)x, *b = *(tl_data_file *const *)y;
    return a->bytes != b->bytes ? (a->bytes > b->bytes) - (a->bytes < b->bytes) : strcmp(a->name, b->name);
}

/* Small files, smallest first, in bins of at least twice the target size; a last bin needs enough files. */
static tl_status compact_small_files(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, tl_commit_message *msg,
                                     tl_error *err)
{
    const tl_lsm_config *config = bucket->config;
    tl_file_list small = {0};
    tl_status status = TL_OK;
    size_t from = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (files[i]->bytes < tl_lsm__small_file_bytes(config))
            status = tl_file_list_add(&small, files[i], err);
    }
    if (small.n > 1)
        qsort(small.items, small.n, sizeof(*small.items), compare_size);
    for (size_t i = 0; i < small.n && status == TL_OK; i++) {
        bytes += small.items[i]->bytes + config->split_open_file_cost;
        if (i + 1 - from > 1 && bytes >= config->target_file_bytes * 2) {
            status = compact_bin(bucket, small.items + from, i + 1 - from, msg, err);
            from = i + 1;
            bytes = 0;
        }
    }
    if (status == TL_OK && small.n > from && (int64_t)(small.n - from) >= config->compaction_min_file_num)
        status = compact_bin(bucket, small.items + from, small.n - from, msg, err);
    tl_file_list_deinit(&small);
    return status;
}

tl_status tl_append_compact(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files,
                            size_t n_files, bool full, tl_commit_message *msg, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    if (config->write_unsupported != NULL)
        return tl_error_set(err, TL_E_UNSUPPORTED, "writing with %s is not supported yet", config->write_unsupported);
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    tl_status status = tl_bytes_dup(partition, &msg->partition);
    if (status != TL_OK)
        (void)tl_nomem(err, "commit message");
    msg->bucket = number;
    msg->total_buckets = config->total_buckets;
    if (status == TL_OK && full)
        status = n_files > 1 ? compact_bin(bucket, files, n_files, msg, err) : TL_OK;
    else if (status == TL_OK)
        status = compact_small_files(bucket, files, n_files, msg, err);
    if (status != TL_OK) {
        for (size_t i = 0; i < msg->compact_after.n; i++)
            tl_lsm__bucket_remove(bucket, msg->compact_after.items[i]);
        tl_commit_message_deinit(msg);
        *msg = (tl_commit_message){0};
    }
    tl_lsm__bucket_unref(bucket);
    return status;
}
