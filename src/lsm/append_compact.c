/*
 * Rewriting files of append tables, and the planner for tables without buckets (Java: AppendCompactCoordinator#pack,
 * BaseAppendFileStoreWrite#compactRewrite).
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>

/* ---- rewrite ---- */

static tl_status check_ids(const tl_lsm_config *config, const tl_batch *batch, tl_error *err)
{
    for (int32_t i = tl_lsm__n_columns(config); i < batch->n_cols; i++) {
        if (batch->cols[i]->null_count > 0)
            return tl_error_set(err, TL_E_CORRUPT, "rows without %s: a file of a table with row tracking has no _FIRST_ROW_ID",
                                config->read_type->fields[i].name);
    }
    return TL_OK;
}

static tl_status copy_files(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, const atomic_bool *cancelled,
                            tl_lsm__writer *writer, tl_error *err)
{
    int32_t n_columns = tl_lsm__n_readable(bucket->config); /* with row tracking, rows keep their ids and sequence numbers */
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
        TL_TRY(check_ids(bucket->config, batch, err));
        TL_TRY(tl_lsm__writer_write(writer, batch, err));
    }
}

tl_status tl_lsm__append_rewrite(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, tl_lsm__rewrite_kind kind, const atomic_bool *cancelled,
                                 tl_file_list *out, tl_error *err)
{
    bool is_compaction = kind == TL_LSM__REWRITE_COMPACT, tracks = bucket->config->row_tracking;
    tl_lsm__names names = {0};
    int64_t next_seq = files[0]->min_seq;
    TL_CLEANUP(tl_lsm__shape_freep) tl_lsm__shape *shape = NULL; /* outlives the writer */
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *writer = NULL;
    if (tracks)
        TL_TRY(tl_lsm__shape_of_rewrite(bucket->config, /* changes= */ false, &shape, err));
    tl_lsm__writer_spec spec = {.bucket = bucket, .names = &names, .file_source = is_compaction, .next_seq = &next_seq, .shape = shape};
    if (tracks && !is_compaction)
        spec.next_seq = NULL; /* the committer puts the snapshot's number where a file begins with 0 */
    TL_TRY(tl_lsm__writer_create(&spec, &writer, err));
    tl_status status = copy_files(bucket, files, n, cancelled, writer, err);
    if (status == TL_OK)
        status = tl_lsm__writer_finish(writer, out, err);
    return tl_error_wrap(err, status, "%s bucket '%s'", is_compaction ? "compaction of" : "rewriting files of", bucket->dir);
}

/* ---- planner ---- */

static tl_status compact_bin(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, tl_commit_message *msg,
                             tl_error *err)
{
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_file_list_add(&msg->compact_before, files[i], err));
    return tl_lsm__append_rewrite(bucket, files, n, TL_LSM__REWRITE_COMPACT, /* cancelled= */ NULL, &msg->compact_after, err);
}

static int compare_size(const void *x, const void *y)
{
    const tl_data_file *a = *(tl_data_file *const *)x, *b = *(tl_data_file *const *)y;
    return a->bytes != b->bytes ? (a->bytes > b->bytes) - (a->bytes < b->bytes) : strcmp(a->name, b->name);
}

/* Smallest first, in bins of at least twice the target size; a last bin needs enough files. */
static tl_status compact_in_bins(tl_lsm__bucket *bucket, tl_file_list *files, tl_commit_message *msg, tl_error *err)
{
    const tl_lsm_config *config = bucket->config;
    size_t from = 0;
    int64_t bytes = 0;
    if (files->n > 1)
        qsort(files->items, files->n, sizeof(*files->items), compare_size);
    for (size_t i = 0; i < files->n; i++) {
        bytes += files->items[i]->bytes + config->split_open_file_cost;
        if (i + 1 - from > 1 && bytes >= config->target_file_bytes * 2) {
            TL_TRY(compact_bin(bucket, files->items + from, i + 1 - from, msg, err));
            from = i + 1;
            bytes = 0;
        }
    }
    if (files->n > from && (int64_t)(files->n - from) >= config->compaction_min_file_num)
        return compact_bin(bucket, files->items + from, files->n - from, msg, err);
    return TL_OK;
}

/* Too many of its rows are deleted. */
static bool is_hollow(const tl_lsm__bucket *bucket, const tl_data_file *file)
{
    int64_t deleted = tl_dv_set_count(bucket->vectors, file->name);
    return deleted < 0 || (double)deleted > (double)file->rows * bucket->config->delete_ratio_threshold;
}

/* Files with vectors are compacted together with those whose vectors lie in the same index file, so that it is rewritten once. */
static tl_status compact_groups(tl_lsm__bucket *bucket, tl_lsm__file_groups *groups, tl_commit_message *msg, tl_error *err)
{
    const tl_lsm_config *config = bucket->config;
    tl_file_list bin = {0};
    int64_t bytes = 0;
    tl_status status = TL_OK;
    for (size_t g = 0; g < groups->n && status == TL_OK; g++) {
        const tl_file_list *files = &groups->items[g];
        status = tl_lsm__list_add_all(&bin, files, err);
        bytes += tl_lsm__list_bytes(files) + (int64_t)files->n * config->split_open_file_cost;
        bool enough = bin.n > 1 && bytes >= config->target_file_bytes * 2;
        if (status != TL_OK || bin.n == 0 || (!enough && g + 1 < groups->n))
            continue;
        status = compact_bin(bucket, bin.items, bin.n, msg, err);
        tl_lsm__list_clear(&bin);
        bytes = 0;
    }
    tl_file_list_deinit(&bin);
    return status;
}

static tl_status compact_chosen(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, const tl_bucket_vectors *vectors,
                                tl_commit_message *msg, tl_error *err)
{
    tl_file_list chosen = {0}, rest = {0};
    tl_lsm__file_groups groups = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (files[i]->bytes < tl_lsm__small_file_bytes(bucket->config) || is_hollow(bucket, files[i]))
            status = tl_file_list_add(&chosen, files[i], err);
    }
    if (status == TL_OK)
        status = tl_lsm__group_by_index(vectors, &chosen, &groups, &rest, err);
    if (status == TL_OK)
        status = compact_groups(bucket, &groups, msg, err);
    if (status == TL_OK)
        status = compact_in_bins(bucket, &rest, msg, err);
    tl_lsm__file_groups_deinit(&groups);
    tl_file_list_deinit(&chosen);
    tl_file_list_deinit(&rest);
    return status;
}

tl_status tl_append_compact(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files,
                            size_t n_files, const tl_bucket_vectors *vectors, bool full, tl_commit_message *msg, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    if (config->write_unsupported != NULL)
        return tl_error_set(err, TL_E_UNSUPPORTED, "writing with %s is not supported yet", config->write_unsupported);
    const tl_data_file *newer = NULL;
    TL_TRY(tl_lsm__newer_file(config, files, n_files, &newer, err));
    if (newer != NULL)
        return tl_lsm__refuse_newer(config, newer, err);
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    bucket->vectors = vectors == NULL ? NULL : tl_dv_set_ref(vectors->set);
    tl_status status = tl_bytes_dup(partition, &msg->partition);
    if (status != TL_OK)
        (void)tl_nomem(err, "commit message");
    msg->bucket = number;
    msg->total_buckets = config->total_buckets;
    if (status == TL_OK && config->data_evolution)
        status = tl_lsm__evolution_compact(bucket, files, n_files, msg, err);
    else if (status == TL_OK && full)
        status = n_files > 1 || (config->deletion_vectors && n_files > 0) ? compact_bin(bucket, files, n_files, msg, err) : TL_OK;
    else if (status == TL_OK)
        status = compact_chosen(bucket, files, n_files, vectors, msg, err);
    if (status == TL_OK && vectors != NULL)
        status = tl_lsm__change_indexes(bucket, vectors, files, n_files, &msg->compact_before, /* fresh= */ NULL, &msg->compact_new_indexes,
                                        &msg->compact_deleted_indexes, err);
    if (status != TL_OK)
        tl_lsm__drop_message(bucket, msg);
    tl_lsm__bucket_unref(bucket);
    return status;
}

void tl_lsm__drop_message(const tl_lsm__bucket *bucket, tl_commit_message *msg)
{
    for (size_t i = 0; i < msg->compact_after.n; i++)
        tl_lsm__bucket_remove(bucket, msg->compact_after.items[i]);
    for (size_t i = 0; i < msg->new_files.n; i++)
        tl_lsm__bucket_remove(bucket, msg->new_files.items[i]);
    tl_commit_message_deinit(msg);
    *msg = (tl_commit_message){0};
}
