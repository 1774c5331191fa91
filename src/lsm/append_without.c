/*
 * Copy on write: append files without some of their rows, as new files. Java: the UPDATE and DELETE of Spark's connector
 * (PaimonRowLevelCommand), which writes all that stays anew; here rows keep the place that they have in their bucket.
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>

static int by_order(const void *x, const void *y)
{
    const tl_data_file *a = *(tl_data_file *const *)x, *b = *(tl_data_file *const *)y;
    return a->min_seq != b->min_seq ? (a->min_seq > b->min_seq) - (a->min_seq < b->min_seq) : strcmp(a->name, b->name);
}

/* Files that have rows left. */
static tl_status add_file(const tl_lsm__bucket *bucket, const tl_data_file *file, tl_commit_message *msg, tl_file_list *rest, tl_error *err)
{
    int64_t gone = tl_dv_set_count(bucket->vectors, file->name);
    TL_TRY(tl_file_list_add(&msg->deleted_files, file, err));
    return gone < file->rows ? tl_file_list_add(rest, file, err) : TL_OK;
}

static tl_status rewrite(tl_lsm__bucket *bucket, tl_file_list *rest, tl_commit_message *msg, tl_error *err)
{
    const tl_data_file *newer = NULL;
    if (rest->n == 0)
        return TL_OK;
    TL_TRY(tl_lsm__newer_file(bucket->config, rest->items, rest->n, &newer, err));
    if (newer != NULL)
        return tl_lsm__refuse_newer(bucket->config, newer, err);
    tl_status status = tl_lsm__append_rewrite(bucket, rest->items, rest->n, TL_LSM__REWRITE_APPEND, /* cancelled= */ NULL, &msg->new_files, err);
    tl_lsm__list_clear(rest);
    return status;
}

/* A file that stays between two others parts them: their rows' numbers lie before and behind its own. */
static tl_status rewrite_all(tl_lsm__bucket *bucket, tl_data_file *const *ordered, size_t n, tl_commit_message *msg, tl_error *err)
{
    tl_file_list rest = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (tl_dv_set_count(bucket->vectors, ordered[i]->name) != 0)
            status = add_file(bucket, ordered[i], msg, &rest, err);
        else if (!bucket->config->unaware_bucket)
            status = rewrite(bucket, &rest, msg, err);
    }
    if (status == TL_OK)
        status = rewrite(bucket, &rest, msg, err);
    tl_file_list_deinit(&rest);
    return status;
}

tl_status tl_append_rewrite_without(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files, size_t n_files,
                                    tl_dv_set *gone, tl_commit_message *msg, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    TL_CLEANUP(tl_freep) tl_data_file **ordered = tl_memdup(files, n_files * sizeof *ordered);
    if (ordered == NULL)
        return tl_nomem(err, "files");
    qsort(ordered, n_files, sizeof *ordered, by_order);
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    bucket->vectors = tl_dv_set_ref(gone);
    tl_status status = tl_bytes_dup(partition, &msg->partition);
    if (status != TL_OK)
        (void)tl_nomem(err, "commit message");
    msg->bucket = number;
    msg->total_buckets = config->total_buckets;
    if (status == TL_OK)
        status = rewrite_all(bucket, ordered, n_files, msg, err);
    if (status != TL_OK)
        tl_lsm__drop_message(bucket, msg);
    tl_lsm__bucket_unref(bucket);
    return status;
}
