/*
 * What the writers of keyed and append buckets share: the public calls, row kind filters, the background compaction, and the
 * book of files that the next commit message will tell.
 */
#include "lsm/lsm_private.h"

/* ---- public calls ---- */

tl_status tl_bucket_writer_create(tl_lsm_config *config, tl_bytes_view partition, int32_t number, int32_t total_buckets,
                                  tl_data_file *const *files, size_t n_files, tl_pool *pool, tl_bucket_writer **out,
                                  tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    if (config->write_unsupported != NULL)
        return tl_error_set(err, TL_E_UNSUPPORTED, "writing with %s is not supported yet", config->write_unsupported);
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    tl_status status = TL_OK;
    if (config->deletion_vectors && !config->write_only && number != TL_POSTPONE_BUCKET)
        status = tl_dv_set_create(config->fs, &bucket->vectors, err);
    if (status == TL_OK && number == TL_POSTPONE_BUCKET)
        status = tl_lsm__postpone_writer_create(bucket, total_buckets, out, err);
    else if (status == TL_OK)
        status = config->n_keys > 0 ? tl_lsm__keyed_writer_create(bucket, total_buckets, files, n_files, pool, out, err)
                                          : tl_lsm__append_writer_create(bucket, total_buckets, files, n_files, pool, out, err);
    tl_lsm__bucket_unref(bucket);
    return status;
}

tl_status tl_bucket_writer_restore(tl_bucket_writer *writer, tl_dv_set *vectors, const char *origin, tl_data_file *const *files,
                                   size_t n_files, tl_error *err)
{
    tl_lsm__bucket *bucket = writer->bucket;
    if (bucket->vectors == NULL)
        return TL_OK;
    tl_free(writer->vectors_origin);
    writer->vectors_origin = tl_strdup(origin);
    if (writer->vectors_origin == NULL)
        return tl_nomem(err, "bucket writer");
    if (vectors == NULL)
        return TL_OK;
    TL_TRY(tl_lsm__drop_dead_vectors(vectors, files, n_files, err));
    tl_dv_set_unref(bucket->vectors);
    bucket->vectors = tl_dv_set_ref(vectors);
    return TL_OK;
}

void tl_bucket_writer_free(tl_bucket_writer *writer)
{
    if (writer != NULL)
        writer->ops->free(writer);
}

static tl_status check_alive(const tl_bucket_writer *writer, tl_error *err)
{
    return writer->failed ? tl_error_set(err, TL_E_INTERNAL, "writer of bucket '%s' has failed before", writer->bucket->dir)
                          : TL_OK;
}

static tl_status note_failure(tl_bucket_writer *writer, tl_status status)
{
    writer->failed |= status != TL_OK;
    return status;
}

/* Rows of kinds that the table ignores are left out before they get a sequence number (Java: RowKindFilter). */
static tl_status filter_kinds(const tl_lsm_config *config, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    bool drop[TL_KIND_DELETE + 1] = {
        [TL_KIND_DELETE] = config->ignore_delete,
        [TL_KIND_UPDATE_BEFORE] = config->ignore_delete || config->ignore_update_before,
    };
    int64_t kept = 0;
    TL_CLEANUP(tl_freep) uint32_t *rows = tl_alloc((size_t)batch->n_rows * sizeof(*rows));
    if (rows == NULL)
        return tl_nomem(err, "row kinds");
    for (int64_t i = 0; i < batch->n_rows; i++) {
        uint8_t kind = batch->row_kind[i];
        if (kind > TL_KIND_DELETE)
            return tl_error_set(err, TL_E_INVALID, "row kind %u is unknown", kind);
        rows[kept] = (uint32_t)i;
        kept += !drop[kind];
    }
    return kept == batch->n_rows ? TL_OK : tl_batch_gather(batch, rows, kept, out, err);
}

tl_status tl_bucket_writer_write(tl_bucket_writer *writer, const tl_batch *batch, tl_error *err)
{
    const tl_lsm_config *config = writer->bucket->config;
    TL_CLEANUP(tl_batch_freep) tl_batch *filtered = NULL;
    TL_TRY(check_alive(writer, err));
    if (batch->n_cols != (writer->keeps_ids ? tl_lsm__n_readable(config) : tl_lsm__n_columns(config)))
        return tl_error_set(err, TL_E_INVALID, "rows have %d columns, the table %d", batch->n_cols, tl_lsm__n_columns(config));
    if (batch->row_kind != NULL && batch->n_rows > 0)
        TL_TRY(filter_kinds(config, batch, &filtered, err));
    if (filtered != NULL)
        batch = filtered;
    writer->begun = false;
    return batch->n_rows == 0 ? TL_OK : note_failure(writer, writer->ops->write(writer, batch, err));
}

tl_status tl_bucket_writer_has_room(const tl_bucket_writer *writer, int64_t n_rows, tl_error *err)
{
    TL_TRY(check_alive(writer, err));
    return writer->ops->has_room == NULL ? TL_OK : writer->ops->has_room(writer, n_rows, err);
}

int64_t tl_bucket_writer_bytes(const tl_bucket_writer *writer)
{
    return writer->ops->bytes(writer);
}

tl_status tl_bucket_writer_flush(tl_bucket_writer *writer, tl_error *err)
{
    TL_TRY(check_alive(writer, err));
    return note_failure(writer, writer->ops->flush(writer, err));
}

tl_status tl_bucket_writer_compact(tl_bucket_writer *writer, bool full, tl_error *err)
{
    TL_TRY(check_alive(writer, err));
    bool may = !writer->bucket->config->write_only && !writer->bucket->config->unaware_bucket;
    if (full && !may)
        return tl_error_set(err, TL_E_INVALID, "%s: a full compaction cannot be asked of its writers",
                            writer->bucket->config->write_only ? "the table is write-only" : "the table has no buckets");
    writer->begun = false;
    return note_failure(writer, writer->ops->compact(writer, full, err));
}

tl_status tl_bucket_writer_begin_prepare(tl_bucket_writer *writer, bool wait_compaction, tl_error *err)
{
    TL_TRY(check_alive(writer, err));
    TL_TRY(note_failure(writer, writer->ops->begin_prepare(writer, wait_compaction, err)));
    writer->begun = true;
    return TL_OK;
}

tl_status tl_bucket_writer_prepare(tl_bucket_writer *writer, bool wait_compaction, tl_commit_message *out, tl_error *err)
{
    if (!writer->begun)
        TL_TRY(tl_bucket_writer_begin_prepare(writer, wait_compaction, err));
    TL_TRY(check_alive(writer, err));
    writer->begun = false;
    return note_failure(writer, writer->ops->prepare(writer, wait_compaction, out, err));
}

bool tl_bucket_writer_idle(const tl_bucket_writer *writer)
{
    return writer->ops->idle(writer);
}

/* ---- base ---- */

int64_t tl_lsm__next_seq(tl_data_file *const *files, size_t n)
{
    int64_t max = -1;
    for (size_t i = 0; i < n; i++)
        max = TL_MAX(max, files[i]->max_seq);
    return max == INT64_MAX ? max : max + 1; /* at the end, writes fail */
}

void tl_lsm__writer_base_init(tl_bucket_writer *base, const tl_lsm__writer_ops *ops, tl_lsm__bucket *bucket,
                              int32_t total_buckets, tl_pool *pool)
{
    base->ops = ops;
    base->bucket = tl_lsm__bucket_ref(bucket);
    base->total_buckets = total_buckets;
    base->pool = pool;
}

static void remove_files(const tl_bucket_writer *base, const tl_file_list *files)
{
    for (size_t i = 0; i < files->n; i++)
        tl_lsm__bucket_remove(base->bucket, files->items[i]);
}

void tl_lsm__discard_compaction(const tl_bucket_writer *base, const tl_file_list *before, const tl_file_list *after,
                                const tl_file_list *changelog)
{
    remove_files(base, changelog);
    for (size_t i = 0; i < after->n; i++) {
        if (tl_lsm__list_find_name(before, after->items[i]->name) < 0) /* an upgrade is the old file */
            tl_lsm__bucket_remove(base->bucket, after->items[i]);
    }
}

void tl_lsm__writer_base_deinit(tl_bucket_writer *base)
{
    tl_lsm__discard_compaction(base, &base->compact_before, &base->compact_after, &base->compact_changelog);
    remove_files(base, &base->new_changelog);
    remove_files(base, &base->new_files);
    for (size_t i = 0; i < base->compact_indexes.n; i++)
        tl_lsm__index_remove(base->bucket, base->compact_indexes.items[i]);
    tl_index_list_deinit(&base->compact_indexes);
    tl_free(base->vectors_origin);
    tl_free(base->vectors_base);
    tl_file_list_deinit(&base->new_files);
    tl_file_list_deinit(&base->new_changelog);
    tl_file_list_deinit(&base->compact_before);
    tl_file_list_deinit(&base->compact_after);
    tl_file_list_deinit(&base->compact_changelog);
    tl_lsm__bucket_unref(base->bucket);
}

/* ---- the background compaction ---- */

tl_status tl_lsm__task_start(tl_bucket_writer *base, tl_task_fn fn, void *arg, tl_error *err)
{
    TL_TRY(tl_task_group_create(base->pool, &base->task, err));
    tl_status status = tl_task_group_run(base->task, fn, arg, err);
    if (status != TL_OK)
        tl_task_group_free(TL_STEAL(base->task));
    return status;
}

tl_status tl_lsm__task_poll(tl_bucket_writer *base, bool blocking, bool *ended, tl_error *err)
{
    *ended = base->task != NULL && (blocking || tl_task_group_pending(base->task) == 0);
    if (!*ended)
        return TL_OK;
    tl_status status = tl_task_group_wait(base->task, err);
    tl_task_group_free(TL_STEAL(base->task));
    return status;
}

/* ---- the book ---- */

typedef struct book {
    tl_file_list before;
    tl_file_list after;
    tl_file_list changelog;
    tl_file_list vanished; /* made since the last drain and no longer needed */
} book;

static void book_deinit(book *b)
{
    tl_file_list_deinit(&b->before);
    tl_file_list_deinit(&b->after);
    tl_file_list_deinit(&b->changelog);
    tl_file_list_deinit(&b->vanished);
}

static tl_status write_book(const tl_bucket_writer *base, const tl_file_list *before, const tl_file_list *after,
                            const tl_file_list *changelog, book *b, tl_error *err)
{
    TL_TRY(tl_lsm__list_add_all(&b->before, &base->compact_before, err));
    TL_TRY(tl_lsm__list_add_all(&b->after, &base->compact_after, err));
    TL_TRY(tl_lsm__list_add_all(&b->changelog, &base->compact_changelog, err));
    for (size_t i = 0; i < before->n; i++) {
        const tl_data_file *file = before->items[i];
        int64_t at = tl_lsm__list_find(&b->after, file);
        if (at < 0) {
            TL_TRY(tl_file_list_add(&b->before, file, err));
            continue;
        }
        if (tl_lsm__list_find_name(&b->before, file->name) < 0 && tl_lsm__list_find_name(after, file->name) < 0)
            TL_TRY(tl_file_list_add(&b->vanished, file, err));
        tl_lsm__list_remove_at(&b->after, (size_t)at);
    }
    TL_TRY(tl_lsm__list_add_all(&b->after, after, err));
    return tl_lsm__list_add_all(&b->changelog, changelog, err);
}

static void swap_lists(tl_file_list *a, tl_file_list *b)
{
    tl_file_list old = *a;
    *a = *b;
    *b = old;
}

tl_status tl_lsm__book_compaction(tl_bucket_writer *base, const tl_file_list *before, const tl_file_list *after,
                                  const tl_file_list *changelog, tl_error *err)
{
    book b = {0};
    tl_status status = write_book(base, before, after, changelog, &b, err);
    if (status == TL_OK) {
        swap_lists(&base->compact_before, &b.before);
        swap_lists(&base->compact_after, &b.after);
        swap_lists(&base->compact_changelog, &b.changelog);
        remove_files(base, &b.vanished);
    }
    book_deinit(&b);
    return status;
}

static void move_list(tl_file_list *from, tl_file_list *to)
{
    *to = *from;
    *from = (tl_file_list){NULL, 0, 0};
}

tl_status tl_lsm__drain(tl_bucket_writer *base, tl_commit_message *out, tl_error *err)
{
    tl_commit_message msg = {.bucket = base->bucket->bucket, .total_buckets = base->total_buckets};
    if (tl_bytes_dup(tl_bytes_view_of(base->bucket->partition), &msg.partition) != TL_OK)
        return tl_nomem(err, "commit message");
    move_list(&base->new_files, &msg.new_files);
    move_list(&base->new_changelog, &msg.changelog_files);
    move_list(&base->compact_before, &msg.compact_before);
    move_list(&base->compact_after, &msg.compact_after);
    move_list(&base->compact_changelog, &msg.compact_changelog);
    msg.compact_new_indexes = base->compact_indexes;
    base->compact_indexes = (tl_index_list){0};
    msg.vectors_base = TL_STEAL(base->vectors_base);
    *out = msg;
    return TL_OK;
}
