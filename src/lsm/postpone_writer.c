/*
 * Writer of the bucket where rows wait until a compaction gives them a real one (`bucket` = -2). Rows go into files as they
 * come, with their kinds, unsorted and without sequence numbers: the compaction reads file by file in the order in which they were
 * made. Java: PostponeBucketFileStoreWrite, PostponeBucketWriter.
 */
#include "lsm/lsm_private.h"

#define NO_SEQUENCE (-1) /* KeyValue#UNKNOWN_SEQUENCE */

typedef struct postpone_writer {
    tl_bucket_writer base;
    tl_lsm__names names;
    tl_lsm__writer *file; /* NULL: nothing written since the last prepare */
} postpone_writer;

/* ---- how such files are written ---- */

/* A name that becomes part of file names. */
static char *file_name_part(const char *user)
{
    char *copy = tl_strdup(user);
    for (char *p = copy; p != NULL && *p != 0; p++) {
        if (*p == '/' || *p == '\\' || (unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '_';
    }
    return copy;
}

/* Avro (where it can hold the columns) without statistics. The name tells the writer: readers of the reference keep the order of the
   files of one number, so it is the same for all writers. */
static tl_status set_options(tl_table_schema *schema, const char *user, tl_error *err)
{
    const char *prefix = tl_options_get(&schema->options, "data-file.prefix");
    TL_CLEANUP(tl_freep) char *part = file_name_part(user);
    TL_CLEANUP(tl_freep) char *name = part == NULL ? NULL : tl_strf("%s-u-%s-s-0-w-", prefix == NULL ? "data-" : prefix, part);
    tl_status status = name == NULL ? TL_E_NOMEM : tl_options_set(&schema->options, "data-file.prefix", name);
    if (status == TL_OK && tl_avro_can_hold(schema->row_type)) {
        status = tl_options_set(&schema->options, "file.format", "avro");
        if (status == TL_OK)
            status = tl_options_set(&schema->options, "metadata.stats-mode", "none");
    }
    return status == TL_OK ? TL_OK : tl_nomem(err, "options");
}

tl_status tl_lsm_config_create_postpone(tl_fs *fs, const tl_paths *paths, const tl_table_schema *schema, const char *user, tl_lsm_config **out,
                                        tl_error *err)
{
    tl_bytes text = {0};
    tl_table_schema *mine = NULL;
    TL_TRY(tl_table_schema_format(schema, &text, err));
    tl_status status = tl_table_schema_parse(tl_bytes_view_of(text), &mine, err);
    tl_bytes_deinit(&text);
    if (status == TL_OK)
        status = set_options(mine, user, err);
    if (status == TL_OK)
        status = tl_lsm_config_create(fs, paths, mine, out, err);
    tl_table_schema_unref(mine);
    return status;
}

/* ---- operations ---- */

/* The same rows with the sequence number that tells that there is none. */
static tl_status without_sequence(const tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_TRY(tl_batch_slice(batch, 0, batch->n_rows, &rows, err));
    tl_free(rows->seq);
    rows->seq = tl_alloc((size_t)rows->n_rows * sizeof *rows->seq);
    if (rows->seq == NULL)
        return tl_nomem(err, "sequence numbers");
    for (int64_t i = 0; i < rows->n_rows; i++)
        rows->seq[i] = NO_SEQUENCE;
    *out = TL_STEAL(rows);
    return TL_OK;
}

static tl_status postpone_write(tl_bucket_writer *base, const tl_batch *batch, tl_error *err)
{
    postpone_writer *w = (postpone_writer *)base;
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    if (w->file == NULL) {
        tl_lsm__writer_spec spec = {.bucket = base->bucket, .names = &w->names};
        TL_TRY(tl_lsm__writer_create(&spec, &w->file, err));
    }
    TL_TRY(without_sequence(batch, &rows, err));
    return tl_lsm__writer_write(w->file, rows, err);
}

static int64_t postpone_bytes(const tl_bucket_writer *base)
{
    const postpone_writer *w = (const postpone_writer *)base;
    return w->file == NULL ? 0 : tl_lsm__writer_memory_bytes(w->file);
}

/* The memory is that of the open file's encoder: only closing the file frees it. */
static tl_status postpone_flush(tl_bucket_writer *base, tl_error *err)
{
    postpone_writer *w = (postpone_writer *)base;
    return w->file == NULL ? TL_OK : tl_lsm__writer_roll(w->file, err);
}

/* These files are compacted by a job of its own (table/postpone.c). */
static tl_status postpone_compact(tl_bucket_writer *base, bool full, tl_error *err)
{
    (void)full;
    return postpone_flush(base, err);
}

static tl_status postpone_begin_prepare(tl_bucket_writer *base, bool wait, tl_error *err)
{
    (void)wait;
    postpone_writer *w = (postpone_writer *)base;
    if (w->file == NULL)
        return TL_OK;
    TL_TRY(tl_lsm__writer_finish(w->file, &base->new_files, err));
    tl_lsm__writer_free(TL_STEAL(w->file));
    return TL_OK;
}

static tl_status postpone_prepare(tl_bucket_writer *base, bool wait, tl_commit_message *out, tl_error *err)
{
    (void)wait;
    return tl_lsm__drain(base, out, err);
}

static bool postpone_idle(const tl_bucket_writer *base)
{
    (void)base;
    return true;
}

static void postpone_free(tl_bucket_writer *base)
{
    postpone_writer *w = (postpone_writer *)base;
    tl_lsm__writer_free(w->file);
    tl_lsm__writer_base_deinit(base);
    tl_free(w);
}

static const tl_lsm__writer_ops postpone_ops = {
    .free = postpone_free,
    .write = postpone_write,
    .bytes = postpone_bytes,
    .flush = postpone_flush,
    .compact = postpone_compact,
    .begin_prepare = postpone_begin_prepare,
    .prepare = postpone_prepare,
    .idle = postpone_idle,
};

tl_status tl_lsm__postpone_writer_create(tl_lsm__bucket *bucket, int32_t total_buckets, tl_bucket_writer **out, tl_error *err)
{
    postpone_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "bucket writer");
    tl_lsm__writer_base_init(&w->base, &postpone_ops, bucket, total_buckets, /* pool= */ NULL);
    *out = &w->base;
    return TL_OK;
}
