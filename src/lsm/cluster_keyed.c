/*
 * Compaction of primary-key tables whose files are sorted by other columns, `pk-clustering-override` (Java: ClusteringCompactManager,
 * ClusteringFileRewriter, ClusteringKeyIndex).
 *
 * Level 0 is as always: sorted by key, not seen by batch reads. Level 1 holds files sorted by `clustering.columns`, whose ranges may
 * overlap; a key is live in one of them, as deletion vectors tell. A compaction takes all of level 0, and of level 1 files that overlap
 * or are small:
 * 1. the keys of level 0, merged, go into a table in memory;
 * 2. the keys of level 1 are read through: where one is there already, the older row is deleted (deduplicate) or the new one left out
 *    (first-row). The reference keeps an index of all keys on local disk for that, which it makes whenever a writer opens;
 * 3. what is left of level 0 is sorted and written, and each group of files of level 1 merged.
 * Deletes have done their work then and are not written, so that files of level 1 hold rows only.
 */
#include "lsm/lsm_private.h"
#include "types/binary_row.h"

#define OUTPUT_LEVEL 1

typedef enum fresh_key { KEY_NEW = 1, KEY_THERE = 2 } fresh_key;

typedef struct task {
    tl_lsm__compaction *c;
    tl_lsm_config *config;
    tl_lsm__names names;
    tl_map fresh; /* keys of level 0 -> fresh_key */
    bool first_row;
    tl_lsm__scan *scan; /* all columns, without retracts */
    tl_lsm__deletions *deletions;
    tl_section *groups; /* of level 1, each to be merged: one run */
    size_t n_groups;
    tl_lsm__sorter *sorter; /* of what is being rewritten */
    tl_file_list made;
} task;

/* ---- keys ---- */

typedef struct key_rows {
    tl_buf data;
    int64_t *offsets;
} key_rows;

static void key_rows_deinit(key_rows *k)
{
    tl_buf_deinit(&k->data);
    tl_free(k->offsets);
}

/* Keys of the rows as bytes; columns `idx` of the batch. */
static tl_status encode_keys(const task *t, const tl_batch *batch, const int32_t *idx, key_rows *out, tl_error *err)
{
    int32_t n = t->config->n_keys;
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)n + 1, sizeof(*cols));
    out->offsets = tl_alloc((size_t)(batch->n_rows + 1) * sizeof(*out->offsets));
    if (cols == NULL || out->offsets == NULL)
        return tl_nomem(err, "compaction");
    for (int32_t k = 0; k < n; k++)
        cols[k] = batch->cols[idx[k]];
    return tl_binary_rows(cols, n, batch->n_rows, &out->data, out->offsets, err);
}

static fresh_key find_key(const task *t, const key_rows *k, int64_t i)
{
    return (fresh_key)(uintptr_t)tl_map_get(&t->fresh, k->data.data + k->offsets[i], (size_t)(k->offsets[i + 1] - k->offsets[i]));
}

static tl_status put_key(task *t, const key_rows *k, int64_t i, fresh_key value, tl_error *err)
{
    tl_status status = tl_map_put(&t->fresh, k->data.data + k->offsets[i], (size_t)(k->offsets[i + 1] - k->offsets[i]), (void *)(uintptr_t)value, NULL);
    return status == TL_OK ? TL_OK : tl_nomem(err, "keys of a compaction");
}

static tl_status note_keys(task *t, tl_batch *batch, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *owned = batch;
    TL_CLEANUP(key_rows_deinit) key_rows keys = {0};
    TL_TRY(encode_keys(t, owned, t->config->key_idx, &keys, err));
    for (int64_t i = 0; i < owned->n_rows; i++)
        TL_TRY(put_key(t, &keys, i, KEY_NEW, err));
    return TL_OK;
}

/* ---- level 0, merged ---- */

/* `take` gets each batch, deletes included, and owns it. */
static tl_status each_new(task *t, tl_status (*take)(task *t, tl_batch *batch, tl_error *err), tl_error *err)
{
    tl_section *sections = NULL;
    size_t n = 0;
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    tl_merge_spec spec = {.engine = t->config->engine, .key_idx = t->config->key_idx, .n_keys = t->config->n_keys};
    TL_TRY(tl_lsm__scan_create(t->c->bucket, t->scan->columns, t->scan->n_columns, /* pred= */ NULL, &scan, err));
    TL_TRY(tl_sections(t->config, t->c->files.items, t->c->files.n, &sections, &n, err));
    tl_status status = TL_OK;
    for (size_t s = 0; s < n && status == TL_OK; s++) {
        TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
        status = tl_lsm__merge_section(scan, &sections[s], &spec, &reader, err);
        for (tl_batch *batch = NULL; status == TL_OK;) {
            status = tl_reader_next(reader, &batch, err);
            if (status != TL_OK || batch == NULL)
                break;
            status = take(t, batch, err);
        }
    }
    tl_sections_free(sections, n);
    return status;
}

/* ---- keys of level 1 ---- */

static tl_status see_older_batch(task *t, const tl_data_file *file, const tl_batch *batch, const int32_t *idx, const int64_t *numbers,
                                 bool stays, tl_error *err)
{
    TL_CLEANUP(key_rows_deinit) key_rows keys = {0};
    TL_CLEANUP(tl_freep) int64_t *gone = tl_alloc((size_t)(batch->n_rows + 1) * sizeof(*gone));
    if (gone == NULL)
        return tl_nomem(err, "compaction");
    size_t n = 0;
    TL_TRY(encode_keys(t, batch, idx, &keys, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (find_key(t, &keys, i) == 0)
            continue;
        if (t->first_row)
            TL_TRY(put_key(t, &keys, i, KEY_THERE, err));
        else
            gone[n++] = numbers[i];
    }
    return n == 0 || !stays ? TL_OK : tl_lsm__deletions_add(t->deletions, file, gone, n, err);
}

/* `stays`: the file is not merged, what is replaced in it has to be marked. */
static tl_status see_older(task *t, tl_lsm__scan *keys_only, const int32_t *idx, const tl_data_file *file, bool stays, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    if (!stays && !t->first_row)
        return TL_OK; /* what is replaced falls out while it is merged */
    TL_TRY(tl_lsm__file_open(keys_only, file, /* pred= */ NULL, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        if (atomic_load_explicit(&t->c->cancelled, memory_order_relaxed))
            return tl_error_set(err, TL_E_CANCELLED, "compaction was cancelled");
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(see_older_batch(t, file, batch, idx, tl_lsm__file_row_numbers(reader), stays, err));
    }
}

static bool is_merged(const task *t, const tl_data_file *file)
{
    for (size_t g = 0; g < t->n_groups; g++) {
        if (tl_lsm__list_find(&t->groups[g].runs[0], file) >= 0)
            return true;
    }
    return false;
}

static tl_status see_all_older(task *t, tl_error *err)
{
    int32_t n = t->config->n_keys;
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    TL_CLEANUP(tl_freep) int32_t *idx = tl_alloc((size_t)(n + 1) * sizeof(*idx));
    if (idx == NULL)
        return tl_nomem(err, "compaction");
    for (int32_t k = 0; k < n; k++)
        idx[k] = k;
    TL_TRY(tl_lsm__scan_create(t->c->bucket, t->config->key_idx, n, /* pred= */ NULL, &scan, err));
    scan->with_kind = scan->with_seq = false;
    scan->with_numbers = true;
    for (size_t i = 0; i < t->c->older.n && t->fresh.count > 0; i++)
        TL_TRY(see_older(t, scan, idx, t->c->older.items[i], !is_merged(t, t->c->older.items[i]), err));
    return TL_OK;
}

/* ---- writing ---- */

/* Rows of level 0 that are neither deletes nor there already, or of level 1 that are not replaced. */
static tl_status keep_rows(task *t, tl_batch *batch, bool fresh, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *owned = batch;
    TL_CLEANUP(key_rows_deinit) key_rows keys = {0};
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)(batch->n_rows + 1) * sizeof(*sel));
    if (sel == NULL)
        return tl_nomem(err, "compaction");
    int64_t n = 0;
    TL_TRY(encode_keys(t, owned, t->config->key_idx, &keys, err));
    for (int64_t i = 0; i < owned->n_rows; i++) {
        fresh_key key = find_key(t, &keys, i);
        sel[n] = (uint32_t)i;
        n += fresh ? !tl_kind_is_retract(tl_batch_kind(owned, i)) && key != KEY_THERE : t->first_row || key == 0;
    }
    tl_batch *kept = NULL;
    TL_TRY(tl_batch_gather(owned, sel, n, &kept, err));
    tl_free(TL_STEAL(kept->row_kind)); /* all are +I */
    return tl_lsm__sorter_add(t->sorter, kept, err);
}

static tl_status keep_new(task *t, tl_batch *batch, tl_error *err)
{
    return keep_rows(t, batch, /* fresh= */ true, err);
}

static tl_status keep_old(task *t, const tl_file_list *files, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_lsm__run_open(t->scan, files->items, files->n, TL_LSM__PUSH_NONE, &reader, err));
    for (tl_batch *batch = NULL;;) {
        if (atomic_load_explicit(&t->c->cancelled, memory_order_relaxed))
            return tl_error_set(err, TL_E_CANCELLED, "compaction was cancelled");
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(keep_rows(t, batch, /* fresh= */ false, err));
    }
}

static tl_status write_output(task *t, tl_error *err)
{
    tl_file_list files = {0};
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *writer = NULL;
    tl_lsm__writer_spec spec = {.bucket = t->c->bucket, .names = &t->names, .level = OUTPUT_LEVEL, .file_source = 1};
    TL_TRY(tl_lsm__writer_create(&spec, &writer, err));
    TL_TRY(tl_lsm__sorter_write(t->sorter, writer, err));
    TL_TRY(tl_lsm__writer_finish(writer, &files, err));
    tl_status status = tl_lsm__list_add_all(&t->made, &files, err);
    for (size_t i = 0; i < files.n && status != TL_OK; i++)
        tl_lsm__bucket_remove(t->c->bucket, files.items[i]);
    if (status == TL_OK)
        status = tl_lsm__list_add_all(&t->c->after, &files, err);
    tl_file_list_deinit(&files);
    return status;
}

/* One sorted sequence of files: of level 0 (`fresh`), and of files of level 1 (NULL: none). */
static tl_status rewrite(task *t, bool fresh, const tl_file_list *files, tl_error *err)
{
    const tl_order *order = &t->config->cluster_order;
    TL_CLEANUP(tl_freep) tl_lsm__scale *scales = tl_calloc((size_t)order->n_columns + 1, sizeof(*scales)); /* for curves only */
    if (scales == NULL)
        return tl_nomem(err, "compaction");
    TL_TRY(tl_lsm__sorter_create(t->config, t->scan->type, order, scales, &t->sorter, err));
    tl_status status = fresh ? each_new(t, keep_new, err) : TL_OK;
    if (status == TL_OK && files != NULL)
        status = keep_old(t, files, err);
    if (status == TL_OK)
        status = write_output(t, err);
    tl_lsm__sorter_free(TL_STEAL(t->sorter));
    return status;
}

/* ---- which files of level 1 are merged ---- */

static tl_status add_group(task *t, const tl_file_list *files, tl_error *err)
{
    tl_section *s = &t->groups[t->n_groups];
    s->runs = tl_calloc(1, sizeof(*s->runs));
    if (s->runs == NULL)
        return tl_nomem(err, "compaction");
    s->n_runs = 1;
    t->n_groups++;
    return tl_lsm__list_add_all(&s->runs[0], files, err);
}

/* Neighbouring sections that overlap or are smaller than half a file go together. */
static tl_status group_sections(task *t, const tl_section *sections, size_t n, tl_error *err)
{
    tl_file_list pending = {0};
    tl_status status = TL_OK;
    for (size_t s = 0; s <= n && status == TL_OK; s++) {
        int64_t bytes = 0, files = 0;
        for (size_t r = 0; s < n && r < sections[s].n_runs; r++) {
            bytes += tl_lsm__list_bytes(&sections[s].runs[r]);
            files += (int64_t)sections[s].runs[r].n;
        }
        if (s < n && (files >= 2 || bytes < t->config->target_file_bytes / 2)) {
            for (size_t r = 0; r < sections[s].n_runs && status == TL_OK; r++)
                status = tl_lsm__list_add_all(&pending, &sections[s].runs[r], err);
            continue;
        }
        if (pending.n >= 2)
            status = add_group(t, &pending, err);
        tl_lsm__list_clear(&pending);
        pending = (tl_file_list){0};
    }
    tl_file_list_deinit(&pending);
    return status;
}

/* A full compaction merges everything. Files of other schemas are left to it: their ranges may be of other types. */
static tl_status choose_groups(task *t, tl_error *err)
{
    const tl_file_list *older = &t->c->older;
    t->groups = tl_calloc(older->n + 1, sizeof(*t->groups));
    if (t->groups == NULL)
        return tl_nomem(err, "compaction");
    if (t->c->rewrite_each)
        return older->n >= 2 || (older->n == 1 && t->c->files.n > 0) ? add_group(t, older, err) : TL_OK;
    for (size_t i = 0; i < older->n; i++) {
        if (older->items[i]->schema_id != t->config->schema->id)
            return TL_OK;
    }
    if (older->n < 2)
        return TL_OK;
    const tl_type *type = NULL;
    tl_section *sections = NULL;
    size_t n = 0;
    TL_TRY(tl_type_project(t->config->schema->row_type, t->config->cluster_order.columns, t->config->cluster_order.n_columns, &type, err));
    tl_status status = tl_lsm__sections_by(type, older->items, older->n, &sections, &n, err);
    if (status == TL_OK)
        status = group_sections(t, sections, n, err);
    tl_sections_free(sections, n);
    tl_type_unref(type);
    return status;
}

/* ---- all of it ---- */

static tl_status make_scan(task *t, tl_error *err)
{
    int32_t n = tl_lsm__n_columns(t->config);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n + 1) * sizeof(*columns));
    if (columns == NULL)
        return tl_nomem(err, "compaction");
    for (int32_t i = 0; i < n; i++)
        columns[i] = i;
    TL_TRY(tl_lsm__scan_create(t->c->bucket, columns, n, /* pred= */ NULL, &t->scan, err));
    t->scan->drop_deletes = true;
    return TL_OK;
}

static tl_status note_merged(task *t, tl_error *err)
{
    TL_TRY(tl_lsm__list_add_all(&t->c->before, &t->c->files, err));
    for (size_t g = 0; g < t->n_groups; g++) {
        const tl_file_list *files = &t->groups[g].runs[0];
        TL_TRY(tl_lsm__list_add_all(&t->c->before, files, err));
        for (size_t i = 0; i < files->n; i++)
            TL_TRY(tl_lsm__vector_gone(t->c->bucket->vectors, files->items[i], &t->c->vectors, err));
    }
    return TL_OK;
}

static tl_status run(task *t, tl_error *err)
{
    bool fresh = t->c->files.n > 0, one = t->c->rewrite_each;
    TL_TRY(make_scan(t, err));
    TL_TRY(tl_lsm__deletions_create(&t->deletions, err));
    TL_TRY(choose_groups(t, err));
    if (fresh)
        TL_TRY(each_new(t, note_keys, err));
    TL_TRY(see_all_older(t, err));
    if (fresh && !(one && t->n_groups == 1))
        TL_TRY(rewrite(t, /* fresh= */ true, /* files= */ NULL, err));
    for (size_t g = 0; g < t->n_groups; g++)
        TL_TRY(rewrite(t, fresh && one, &t->groups[g].runs[0], err));
    TL_TRY(note_merged(t, err));
    return tl_lsm__deletions_finish(t->deletions, t->c->bucket, &t->c->vectors, err);
}

tl_status tl_lsm__recluster(tl_lsm__compaction *c, tl_error *err)
{
    task t = {.c = c, .config = c->bucket->config};
    t.first_row = tl_merge_engine_get_kind(t.config->engine) == TL_ENGINE_FIRST_ROW;
    tl_status status = run(&t, err);
    if (status != TL_OK) {
        for (size_t i = 0; i < t.made.n; i++)
            tl_lsm__bucket_remove(c->bucket, t.made.items[i]);
        tl_file_list_deinit(&c->before);
        tl_file_list_deinit(&c->after);
        tl_lsm__vector_changes_deinit(&c->vectors);
        (void)tl_error_wrap(err, status, "compaction of bucket '%s'", c->bucket->dir);
    }
    tl_lsm__deletions_free(t.deletions);
    tl_lsm__scan_unref(t.scan);
    tl_sections_free(t.groups, t.n_groups);
    tl_file_list_deinit(&t.made);
    tl_map_deinit(&t.fresh);
    return status;
}
