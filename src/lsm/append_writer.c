/*
 * Writer of one bucket of an append table (Java: AppendOnlyWriter, BucketedAppendCompactManager).
 *
 * Rows go straight into the open file. Where the table has buckets, files that follow each other by sequence number are
 * compacted in the background, in that order, or with clustering.incremental are sorted (cluster.c); tables without buckets are
 * compacted by a planner of their own (append_compact.c).
 */
#include "lsm/lsm_private.h"

#define FULL_COMPACT_FILES_MIN 3 /* BucketedAppendCompactManager#FULL_COMPACT_MIN_FILE */

typedef struct append_task {
    tl_lsm__bucket *bucket; /* borrowed */
    tl_file_list files;     /* by sequence number; to be clustered: as they were chosen */
    const tl_order *order;  /* clustering: of the rows, which go to `level`; NULL: rows stay in their order */
    int32_t level;
    bool full;
    atomic_bool cancelled;
    tl_file_list before;
    tl_file_list after;
    tl_lsm__vector_changes vectors;
} append_task;

typedef struct append_writer {
    tl_bucket_writer base;
    tl_lsm__names names;
    tl_lsm__writer *file; /* NULL: nothing written since the last flush */
    int32_t *columns;     /* of the table, which alone are written; NULL: all */
    int32_t n_columns;
    tl_lsm__shape **shapes; /* of the data files, then one for each blob column; none: files have the table's columns */
    int32_t n_shapes;
    bool shaped; /* the shapes are made */
    int64_t next_seq;
    bool compacts;
    tl_file_list to_compact; /* by sequence number; clustering: all files of the bucket, of any level */
    tl_cluster_spec cluster; /* config's clusters_buckets; its columns are owned */
    append_task compaction;
    tl_blob_intake *blobs; /* NULL: no BLOB columns */
} append_writer;

static const tl_lsm_config *config_of(const append_writer *w)
{
    return w->base.bucket->config;
}

/* ---- compaction ---- */

static bool is_small(const tl_lsm_config *config, const tl_data_file *file)
{
    return file->bytes < tl_lsm__small_file_bytes(config);
}

/* A full compaction leaves large files at the head alone, and does nothing unless most files are small; with deletion vectors it
 * takes them all. */
static bool worth_full_compaction(const tl_lsm_config *config, tl_file_list *files)
{
    size_t small = 0;
    if (config->force_rewrite_all || config->deletion_vectors)
        return files->n > 0;
    while (files->n > 0 && !is_small(config, files->items[0]))
        tl_lsm__list_remove_at(files, 0);
    for (size_t i = 0; i < files->n; i++)
        small += is_small(config, files->items[i]);
    return small > files->n - small && files->n >= FULL_COMPACT_FILES_MIN;
}

static tl_status run_compaction(void *arg, tl_error *err)
{
    append_task *t = arg;
    if (t->order != NULL) {
        TL_TRY(tl_lsm__list_add_all(&t->before, &t->files, err));
        return tl_lsm__cluster_rewrite(t->bucket, t->order, &t->files, t->level, &t->after, err);
    }
    if (t->full && !worth_full_compaction(t->bucket->config, &t->files))
        return TL_OK;
    TL_TRY(tl_lsm__list_add_all(&t->before, &t->files, err));
    for (size_t i = 0; i < t->files.n; i++)
        TL_TRY(tl_lsm__vector_gone(t->bucket->vectors, t->files.items[i], &t->vectors, err));
    return tl_lsm__append_rewrite(t->bucket, t->files.items, t->files.n, TL_LSM__REWRITE_COMPACT, &t->cancelled, &t->after, err);
}

static void task_deinit(append_task *t)
{
    tl_file_list_deinit(&t->files);
    tl_file_list_deinit(&t->before);
    tl_file_list_deinit(&t->after);
    tl_lsm__vector_changes_deinit(&t->vectors);
}

/* A file that a newer schema wrote is left to writers that know it. */
static tl_status add_to_compact(append_writer *w, const tl_data_file *file, tl_error *err)
{
    const tl_data_file *newer = NULL;
    tl_data_file *one[1] = {(tl_data_file *)file};
    TL_TRY(tl_lsm__newer_file(w->base.bucket->config, one, 1, &newer, err));
    if (newer != NULL)
        return TL_OK;
    TL_TRY(tl_file_list_add(&w->to_compact, file, err));
    tl_data_file **items = w->to_compact.items;
    size_t i = w->to_compact.n - 1;
    for (; i > 0 && items[i - 1]->min_seq > file->min_seq; i--)
        items[i] = items[i - 1];
    items[i] = (tl_data_file *)file;
    return TL_OK;
}

static tl_status sync_compaction(append_writer *w, bool blocking, tl_error *err)
{
    static const tl_file_list none = {NULL, 0, 0};
    bool ended = false;
    append_task *t = &w->compaction;
    tl_status status = tl_lsm__task_poll(&w->base, blocking, &ended, err);
    if (!ended)
        return status;
    if (status == TL_OK) {
        status = tl_lsm__apply_vectors(&w->base, &t->vectors, err);
        if (status == TL_OK)
            status = tl_lsm__book_compaction(&w->base, &t->before, &t->after, &none, err);
        if (status != TL_OK)
            tl_lsm__discard_compaction(&w->base, &t->before, &t->after, &none);
    }
    /* The last file may still be small: it takes part again. What was clustered is a run of its level. */
    for (size_t i = 0; i < t->after.n && t->order != NULL && status == TL_OK; i++)
        status = add_to_compact(w, t->after.items[i], err);
    const tl_data_file *last = t->after.n > 0 ? t->after.items[t->after.n - 1] : NULL;
    if (status == TL_OK && last != NULL && t->order == NULL && is_small(config_of(w), last))
        status = add_to_compact(w, last, err);
    task_deinit(t);
    return status;
}

/* First run of files that is long enough, else of at least twice the target size: [*from, *to); false if there is none. */
static bool pick_files(const append_writer *w, size_t *from, size_t *to)
{
    const tl_lsm_config *config = config_of(w);
    int64_t bytes = 0;
    size_t first = 0;
    for (size_t i = 0; i < w->to_compact.n; i++) {
        bytes += w->to_compact.items[i]->bytes;
        if ((int64_t)(i + 1 - first) >= config->compaction_min_file_num) {
            *from = first;
            *to = i + 1;
            return true;
        }
        if (bytes >= config->target_file_bytes * 2)
            bytes -= w->to_compact.items[first++]->bytes;
    }
    *from = first;
    return false;
}

static tl_status start_compaction(append_writer *w, size_t from, size_t to, bool full, tl_error *err)
{
    append_task *t = &w->compaction;
    *t = (append_task){.bucket = w->base.bucket, .full = full};
    atomic_init(&t->cancelled, false);
    tl_status status = TL_OK;
    for (size_t i = from; i < to && status == TL_OK; i++)
        status = tl_file_list_add(&t->files, w->to_compact.items[i], err);
    if (status == TL_OK)
        status = tl_lsm__task_start(&w->base, run_compaction, t, err);
    if (status != TL_OK) {
        task_deinit(t);
        return status;
    }
    /* Files before the pick were passed over for good, as by the reference's queue. */
    for (size_t i = 0; i < to; i++)
        tl_lsm__list_remove_at(&w->to_compact, 0);
    return TL_OK;
}

/* As an LSM tree is compacted, but with rows sorted by 'clustering.columns' (Java: BucketedAppendClusterManager). */
static tl_status start_clustering(append_writer *w, bool full, tl_error *err)
{
    append_task *t = &w->compaction;
    *t = (append_task){.bucket = w->base.bucket, .full = full, .order = &w->cluster.order};
    atomic_init(&t->cancelled, false);
    w->cluster.full = full;
    tl_status status = tl_lsm__cluster_choose(w->base.bucket, &w->cluster, w->to_compact.items, w->to_compact.n, &t->files, &t->level, err);
    bool any = t->files.n > 0;
    if (status == TL_OK && any)
        status = tl_lsm__task_start(&w->base, run_compaction, t, err);
    if (status != TL_OK || !any) {
        task_deinit(t);
        return status;
    }
    for (size_t i = w->to_compact.n; i-- > 0;) {
        bool chosen = false;
        for (size_t k = 0; k < t->files.n; k++)
            chosen |= t->files.items[k] == w->to_compact.items[i];
        if (chosen)
            tl_lsm__list_remove_at(&w->to_compact, i);
    }
    return TL_OK;
}

static tl_status trigger_compaction(append_writer *w, bool full, tl_error *err)
{
    size_t from = 0, to = w->to_compact.n;
    if (!w->compacts || w->base.task != NULL)
        return TL_OK;
    if (config_of(w)->clusters_buckets)
        return start_clustering(w, full, err);
    if (full) {
        bool any = config_of(w)->force_rewrite_all || config_of(w)->deletion_vectors;
        bool enough = to >= FULL_COMPACT_FILES_MIN || (any && to > 0);
        return enough ? start_compaction(w, from, to, full, err) : TL_OK;
    }
    if (pick_files(w, &from, &to))
        return start_compaction(w, from, to, full, err);
    for (size_t i = 0; i < from; i++)
        tl_lsm__list_remove_at(&w->to_compact, 0);
    return TL_OK;
}

/* ---- files ---- */

/* Those of the columns to write whose values are in one kind of files. */
static int32_t choose_columns(const append_writer *w, tl_lsm__place place, int32_t *out)
{
    int32_t n = 0;
    for (int32_t i = 0; i < w->n_columns; i++) {
        if (tl_lsm__place_of(config_of(w), w->columns[i]) == place)
            out[n++] = w->columns[i];
    }
    return n;
}

static bool are_all_columns(const append_writer *w)
{
    bool all = w->n_columns == tl_lsm__n_columns(config_of(w));
    for (int32_t i = 0; i < w->n_columns; i++)
        all &= w->columns[i] == i;
    return all;
}

/* Columns that have side files (Java: DedicatedFormatRollingFileWriter): a BLOB one each, VECTORs one for all. Files that do not hold all
 * columns name those that they hold. */
static tl_status make_side_shapes(append_writer *w, const int32_t *blobs, int32_t n_blobs, const int32_t *vectors, int32_t n_vectors, tl_error *err)
{
    tl_lsm_config *config = w->base.bucket->config;
    for (int32_t i = 0; i < n_blobs; i++)
        TL_TRY(tl_lsm__shape_create(config, &blobs[i], 1, TL_LSM__IN_BLOB_FILES, /* named= */ true, &w->shapes[w->n_shapes++], err));
    if (n_vectors == 0)
        return TL_OK;
    return tl_lsm__shape_create(config, vectors, n_vectors, TL_LSM__IN_VECTOR_FILES, /* named= */ true, &w->shapes[w->n_shapes++], err);
}

static tl_status make_shapes(append_writer *w, tl_error *err)
{
    tl_lsm_config *config = w->base.bucket->config;
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(3 * w->n_columns + 1) * sizeof(*columns));
    if (columns == NULL)
        return tl_nomem(err, "columns of data files");
    int32_t *blobs = columns + w->n_columns, *vectors = blobs + w->n_columns;
    int32_t n = choose_columns(w, TL_LSM__IN_DATA_FILES, columns), n_blobs = choose_columns(w, TL_LSM__IN_BLOB_FILES, blobs);
    int32_t n_vectors = choose_columns(w, TL_LSM__IN_VECTOR_FILES, vectors);
    w->shaped = true;
    if ((w->shapes = tl_calloc((size_t)n_blobs + 2, sizeof(*w->shapes))) == NULL)
        return tl_nomem(err, "columns of data files");
    if (w->base.keeps_ids)
        return tl_lsm__shape_of_rewrite(config, /* changes= */ true, &w->shapes[w->n_shapes++], err);
    if (n_blobs + n_vectors == 0 && are_all_columns(w))
        return TL_OK;
    if (n == 0)
        return tl_error_set(err, TL_E_INVALID, "columns of BLOBs, or of VECTORs with files of their own, cannot be written without any other column");
    TL_TRY(tl_lsm__shape_create(config, columns, n, TL_LSM__IN_DATA_FILES, /* named= */ true, &w->shapes[w->n_shapes++], err));
    return make_side_shapes(w, blobs, n_blobs, vectors, n_vectors, err);
}

static tl_status take_all_columns(append_writer *w, tl_error *err)
{
    int32_t n = tl_lsm__n_columns(config_of(w));
    if (w->columns != NULL)
        return TL_OK;
    if ((w->columns = tl_alloc((size_t)(n + 1) * sizeof(*w->columns))) == NULL)
        return tl_nomem(err, "columns of data files");
    for (int32_t i = 0; i < n; i++)
        w->columns[i] = i;
    w->n_columns = n;
    return TL_OK;
}

static tl_status open_writers(append_writer *w, tl_error *err)
{
    const tl_lsm_config *config = config_of(w);
    TL_TRY(take_all_columns(w, err));
    if (!w->shaped)
        TL_TRY(make_shapes(w, err));
    /* With row tracking the committer puts the snapshot's number where a file begins with 0. (In the reference, without data
       evolution, only the first file of a writer does, so that rows of the others get numbers of rows.) */
    tl_lsm__writer_spec spec = {.bucket = w->base.bucket,
                                .names = &w->names,
                                .next_seq = config->row_tracking ? NULL : &w->next_seq,
                                .shape = w->n_shapes > 0 ? w->shapes[0] : NULL};
    TL_TRY(tl_lsm__writer_create(&spec, &w->file, err));
    for (int32_t i = 1; i < w->n_shapes; i++) {
        spec.shape = w->shapes[i];
        spec.target_bytes = spec.shape->options.vectors ? config->vector_target_bytes : config->blob_target_bytes;
        TL_TRY(tl_lsm__writer_add_side(w->file, &spec, err));
    }
    return TL_OK;
}

/* ---- operations ---- */

static tl_status write_rows(append_writer *w, const tl_batch *batch, tl_error *err)
{
    if (w->file == NULL)
        TL_TRY(open_writers(w, err));
    return tl_lsm__writer_write(w->file, batch, err);
}

/* In pieces, as what descriptors name may be far larger than they are. */
static tl_status write_with_blobs(append_writer *w, const tl_batch *batch, tl_error *err)
{
    for (int64_t from = 0, n = 0; from < batch->n_rows; from += n) {
        TL_CLEANUP(tl_batch_freep) tl_batch *piece = NULL;
        TL_CLEANUP(tl_batch_freep) tl_batch *taken = NULL;
        TL_TRY(tl_blob_intake_room(w->blobs, batch, from, &n, err));
        TL_TRY(tl_batch_slice(batch, from, n, &piece, err));
        TL_TRY(tl_blob_intake_take(w->blobs, /* columns= */ NULL, piece, &taken, err));
        TL_TRY(write_rows(w, taken, err));
    }
    return TL_OK;
}

static tl_status append_write(tl_bucket_writer *base, const tl_batch *batch, tl_error *err)
{
    append_writer *w = (append_writer *)base;
    for (int64_t i = 0; batch->row_kind != NULL && i < batch->n_rows; i++) {
        if (tl_kind_is_retract(batch->row_kind[i]))
            return tl_error_set(err, TL_E_INVALID,
                                "append table takes only +I and +U rows, not %s; option 'ignore-delete' drops the others",
                                tl_row_kind_text(batch->row_kind[i]));
    }
    return w->blobs == NULL ? write_rows(w, batch, err) : write_with_blobs(w, batch, err);
}

static int64_t append_bytes(const tl_bucket_writer *base)
{
    const append_writer *w = (const append_writer *)base;
    return w->file == NULL ? 0 : tl_lsm__writer_memory_bytes(w->file);
}

/* The memory is that of the open file's encoder: only closing the file frees it. */
static tl_status append_flush(tl_bucket_writer *base, tl_error *err)
{
    append_writer *w = (append_writer *)base;
    return w->file == NULL ? TL_OK : tl_lsm__writer_roll(w->file, err);
}

static tl_status flush_all(append_writer *w, bool wait, bool full, tl_error *err)
{
    size_t old = w->base.new_files.n;
    if (w->blobs != NULL)
        TL_TRY(tl_blob_intake_finish(w->blobs, err));
    if (w->file != NULL) {
        TL_TRY(tl_lsm__writer_finish(w->file, &w->base.new_files, err));
        tl_lsm__writer_free(TL_STEAL(w->file));
    }
    for (size_t i = old; i < w->base.new_files.n && w->compacts; i++)
        TL_TRY(add_to_compact(w, w->base.new_files.items[i], err));
    TL_TRY(sync_compaction(w, wait, err));
    return trigger_compaction(w, full, err);
}

static tl_status append_compact(tl_bucket_writer *base, bool full, tl_error *err)
{
    return flush_all((append_writer *)base, /* wait= */ true, full, err);
}

static tl_status append_begin_prepare(tl_bucket_writer *base, bool wait, tl_error *err)
{
    (void)wait;
    return flush_all((append_writer *)base, /* wait= */ false, /* full= */ false, err);
}

static tl_status append_prepare(tl_bucket_writer *base, bool wait, tl_commit_message *out, tl_error *err)
{
    append_writer *w = (append_writer *)base;
    TL_TRY(sync_compaction(w, wait || config_of(w)->commit_force_compact, err));
    TL_TRY(tl_lsm__prepare_vectors(base, err));
    return tl_lsm__drain(base, out, err);
}

static bool append_idle(const tl_bucket_writer *base)
{
    return base->task == NULL;
}

static void append_free(tl_bucket_writer *base)
{
    append_writer *w = (append_writer *)base;
    if (base->task != NULL) {
        static const tl_file_list none = {NULL, 0, 0};
        bool ended = false;
        atomic_store(&w->compaction.cancelled, true);
        /* Its failure concerns nobody any more; its files are removed either way. */
        if (tl_lsm__task_poll(base, /* blocking= */ true, &ended, /* err= */ NULL) == TL_OK)
            tl_lsm__discard_compaction(base, &w->compaction.before, &w->compaction.after, &none);
        task_deinit(&w->compaction);
    }
    tl_lsm__writer_free(w->file);
    tl_blob_intake_free(w->blobs);
    for (int32_t i = 0; i < w->n_shapes; i++)
        tl_lsm__shape_free(w->shapes[i]);
    tl_free(w->shapes);
    tl_free(w->columns);
    tl_free(w->cluster.order.columns);
    tl_file_list_deinit(&w->to_compact);
    tl_lsm__writer_base_deinit(base);
    tl_free(w);
}

static const tl_lsm__writer_ops append_ops = {
    .free = append_free,
    .write = append_write,
    .bytes = append_bytes,
    .flush = append_flush,
    .compact = append_compact,
    .begin_prepare = append_begin_prepare,
    .prepare = append_prepare,
    .idle = append_idle,
};

tl_status tl_lsm__append_writer_create(tl_lsm__bucket *bucket, int32_t total_buckets, tl_data_file *const *files,
                                       size_t n_files, tl_pool *pool, tl_bucket_writer **out, tl_error *err)
{
    const tl_lsm_config *config = bucket->config;
    append_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "bucket writer");
    tl_lsm__writer_base_init(&w->base, &append_ops, bucket, total_buckets, pool);
    /* Without an order to keep, every writer starts anew (AppendFileStoreWrite, BucketedAppendFileStoreWrite). */
    if (config->unaware_bucket || (!config->bucket_append_ordered && config->write_only))
        n_files = 0;
    w->compacts = !config->unaware_bucket && !config->write_only;
    w->next_seq = tl_lsm__next_seq(files, n_files);
    tl_status status = config->blobs == NULL ? TL_OK : tl_blob_intake_create(bucket->config, &w->blobs, err);
    if (w->compacts && config->clusters_buckets) {
        w->cluster.incremental = true;
        status = tl_order_of_options(config, &w->cluster.order, err);
        if (status == TL_OK)
            status = tl_lsm__order_check(config, &w->cluster.order, err);
    }
    for (size_t i = 0; i < n_files && w->compacts && status == TL_OK; i++)
        status = add_to_compact(w, files[i], err);
    if (status != TL_OK) {
        append_free(&w->base);
        return status;
    }
    *out = &w->base;
    return TL_OK;
}

tl_status tl_bucket_writer_set_columns(tl_bucket_writer *base, const int32_t *columns, int32_t n, tl_error *err)
{
    append_writer *w = (append_writer *)base;
    if (base->ops != &append_ops || !config_of(w)->data_evolution)
        return tl_error_set(err, TL_E_INVALID, "only tables with data evolution ('data-evolution.enabled') take some of the columns");
    for (int32_t i = 0; i < n; i++) {
        if (columns[i] < 0 || columns[i] >= tl_lsm__n_columns(config_of(w)))
            return tl_error_set(err, TL_E_INVALID, "column %d does not exist", columns[i]);
    }
    tl_free(w->columns);
    if ((w->columns = tl_memdup(columns, (size_t)n * sizeof(*columns))) == NULL)
        return tl_nomem(err, "columns of data files");
    w->n_columns = n;
    return TL_OK;
}

tl_status tl_bucket_writer_keep_ids(tl_bucket_writer *base, tl_error *err)
{
    append_writer *w = (append_writer *)base;
    if (base->ops != &append_ops || !config_of(w)->row_tracking || config_of(w)->data_evolution)
        return tl_error_set(err, TL_E_INVALID, "rows keep ids only in tables with 'row-tracking.enabled' and without 'data-evolution.enabled'");
    base->keeps_ids = true;
    return TL_OK;
}
