/*
 * Merging of manifests while committing, so that their number stays small. Source: format reference §16 "Manifest merging";
 * Java: ManifestFileMerger.
 *
 * Full: once the changed manifests are large enough, everything is rewritten without what is deleted; large manifests that no
 * deletion can concern stay. Minor: runs of small manifests become one; an unmatched DELETE is kept, its ADD lies further front.
 */
#include "table/table_private.h"

/* Entries written at once by a full merge: bounds its memory (about 1 KB an entry). */
#define FULL_MERGE_ENTRIES 32768

tl_status tl_names_add(tl_names *names, const char *name, tl_error *err)
{
    if (names->n == names->cap) {
        size_t cap = names->cap == 0 ? 8 : names->cap * 2;
        char **items = tl_realloc(names->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "names");
        names->items = items;
        names->cap = cap;
    }
    names->items[names->n] = tl_strdup(name);
    if (names->items[names->n] == NULL)
        return tl_nomem(err, "names");
    names->n++;
    return TL_OK;
}

void tl_names_deinit(tl_names *names)
{
    tl_names_free(names->items, names->n);
    *names = (tl_names){0};
}

typedef struct merging {
    tl_table *table;
    tl_manifest_writer *writer;
    tl_manifest_list *out;
    tl_names *fresh;
    int64_t target_bytes;
    int64_t full_bytes;
    int64_t min_count;
} merging;

static tl_status dup_bytes(tl_bytes from, tl_bytes *to)
{
    return from.data == NULL ? TL_OK : tl_bytes_dup(tl_bytes_view_of(from), to);
}

tl_status tl_manifest_meta__dup(const tl_manifest_meta *from, tl_manifest_list *to, tl_error *err)
{
    if (to->n == to->cap) {
        size_t cap = to->cap == 0 ? 16 : to->cap * 2;
        tl_manifest_meta *items = tl_realloc(to->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "manifests");
        to->items = items;
        to->cap = cap;
    }
    tl_manifest_meta *meta = &to->items[to->n];
    *meta = *from;
    meta->partition_stats = (tl_simple_stats){.n = from->partition_stats.n};
    meta->name = tl_strdup(from->name);
    bool ok = meta->name != NULL && dup_bytes(from->partition_stats.min, &meta->partition_stats.min) == TL_OK &&
              dup_bytes(from->partition_stats.max, &meta->partition_stats.max) == TL_OK;
    if (ok && from->partition_stats.null_counts != NULL) {
        meta->partition_stats.null_counts =
            tl_memdup(from->partition_stats.null_counts, (size_t)from->partition_stats.n * sizeof *from->partition_stats.null_counts);
        ok = meta->partition_stats.null_counts != NULL;
    }
    if (!ok) {
        tl_free(meta->name);
        tl_simple_stats_deinit(&meta->partition_stats);
        return tl_nomem(err, "manifests");
    }
    to->n++;
    return TL_OK;
}

static tl_status keep(const merging *m, const tl_manifest_meta *meta, tl_error *err)
{
    return tl_manifest_meta__dup(meta, m->out, err);
}

static tl_status read(const merging *m, const tl_manifest_meta *meta, tl_entries *out, tl_error *err)
{
    return tl_manifest_read(m->table->fs, &m->table->paths, meta->name, meta->bytes, /* filter= */ NULL, NULL, out, err);
}

static tl_status write(const merging *m, const tl_entries *entries, tl_error *err)
{
    if (entries->n == 0)
        return TL_OK;
    size_t before = m->out->n;
    tl_status status = tl_manifest_write(m->writer, entries->items, entries->n, m->out, err);
    for (size_t i = before; i < m->out->n; i++) {
        tl_status noted = tl_names_add(m->fresh, m->out->items[i].name, err);
        status = status == TL_OK ? noted : status;
    }
    return status;
}

/* ---- minor ---- */

static tl_status merge_run(const merging *m, const tl_manifest_meta *metas, size_t n, tl_error *err)
{
    if (n == 1)
        return keep(m, &metas[0], err);
    tl_entries entries = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = read(m, &metas[i], &entries, err);
    if (status == TL_OK)
        status = tl_entries_merge(&entries, /* drop_deletes= */ false, err);
    if (status == TL_OK)
        status = write(m, &entries, err);
    tl_entries_deinit(&entries);
    return status;
}

static tl_status minor(const merging *m, const tl_manifest_list *in, tl_error *err)
{
    size_t from = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < in->n; i++) {
        bytes += in->items[i].bytes;
        if (bytes >= m->target_bytes) {
            TL_TRY(merge_run(m, in->items + from, i + 1 - from, err));
            from = i + 1;
            bytes = 0;
        }
    }
    if ((int64_t)(in->n - from) >= m->min_count)
        return merge_run(m, in->items + from, in->n - from, err);
    for (size_t i = from; i < in->n; i++)
        TL_TRY(keep(m, &in->items[i], err));
    return TL_OK;
}

/* ---- full ---- */

static bool must_change(const merging *m, const tl_manifest_meta *meta)
{
    return meta->deleted > 0 || meta->bytes < m->target_bytes;
}

/* Identities of all DELETE entries, and the partitions they lie in. */
static tl_status read_deletes(const merging *m, const tl_manifest_list *in, tl_map *deleted, tl_map *partitions, tl_error *err)
{
    static char mark;
    tl_buf key = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < in->n; i++) {
        if (in->items[i].deleted == 0)
            continue;
        tl_entries entries = {0};
        status = read(m, &in->items[i], &entries, err);
        for (size_t e = 0; status == TL_OK && e < entries.n; e++) {
            const tl_manifest_entry *entry = &entries.items[e];
            if (entry->kind != TL_ENTRY_DELETE)
                continue;
            key.len = 0;
            if (tl_entry_identity(entry, &key) != TL_OK || tl_map_put(deleted, key.data, key.len, &mark, NULL) != TL_OK ||
                tl_map_put(partitions, entry->partition.data, entry->partition.len, &mark, NULL) != TL_OK)
                status = tl_nomem(err, "manifests");
        }
        tl_entries_deinit(&entries);
    }
    tl_buf_deinit(&key);
    return status;
}

/* Whether a partition of `partitions` may lie within the manifest's bounds. */
static tl_status may_hold(const merging *m, const tl_manifest_meta *meta, const tl_map *partitions, bool *out, tl_error *err)
{
    *out = partitions->count > 0;
    if (!*out || m->table->n_partition == 0)
        return TL_OK;
    tl_bounds bounds = {0};
    TL_TRY(tl_simple_stats_bounds(&meta->partition_stats, m->table->partition_type, NULL, -1, &bounds, err));
    *out = false;
    size_t pos = 0;
    tl_bytes_view partition;
    void *ignored;
    tl_status status = TL_OK;
    while (status == TL_OK && !*out && tl_map_next(partitions, &pos, &partition, &ignored)) {
        TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
        status = tl_binary_row_decode(partition, m->table->partition_type, true, &row, err);
        bool inside = status == TL_OK;
        for (int32_t c = 0; inside && c < row->n_cols; c++) {
            const tl_col_bounds *b = &bounds.cols[c];
            if (tl_col_is_null(row->cols[c], 0))
                inside = b->null_count != 0;
            else if (b->min != NULL && b->max != NULL)
                inside = tl_column_compare(row->cols[c], 0, b->min, b->min_row, false, true) >= 0 &&
                         tl_column_compare(row->cols[c], 0, b->max, b->max_row, false, true) <= 0;
        }
        *out = inside;
    }
    tl_bounds_deinit(&bounds);
    return status;
}

/* Entries of one manifest that are left. *changed: some are not. */
static tl_status surviving(const merging *m, const tl_manifest_meta *meta, const tl_map *deleted, tl_entries *out, bool *changed, tl_error *err)
{
    tl_entries entries = {0};
    tl_buf key = {0};
    tl_status status = read(m, meta, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        const tl_manifest_entry *e = &entries.items[i];
        if (e->kind == TL_ENTRY_DELETE)
            continue;
        key.len = 0;
        if (tl_entry_identity(e, &key) != TL_OK)
            status = tl_nomem(err, "manifests");
        else if (tl_map_get(deleted, key.data, key.len) != NULL)
            *changed = true;
        else
            status = tl_entries_add(out, e->kind, tl_bytes_view_of(e->partition), e->bucket, e->total_buckets, e->file, err);
    }
    tl_buf_deinit(&key);
    tl_entries_deinit(&entries);
    return status;
}

static tl_status rewrite(const merging *m, const tl_manifest_list *in, const bool *untouched, const tl_map *deleted, tl_error *err)
{
    tl_entries pending = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < in->n; i++) {
        if (untouched[i]) {
            status = keep(m, &in->items[i], err);
            continue;
        }
        tl_entries left = {0};
        bool changed = must_change(m, &in->items[i]);
        status = surviving(m, &in->items[i], deleted, &left, &changed, err);
        if (status == TL_OK && !changed)
            status = keep(m, &in->items[i], err);
        for (size_t e = 0; status == TL_OK && changed && e < left.n; e++) {
            const tl_manifest_entry *entry = &left.items[e];
            status = tl_entries_add(&pending, entry->kind, tl_bytes_view_of(entry->partition), entry->bucket, entry->total_buckets, entry->file,
                                    err);
        }
        tl_entries_deinit(&left);
        if (status == TL_OK && pending.n >= FULL_MERGE_ENTRIES) {
            status = write(m, &pending, err);
            tl_entries_deinit(&pending);
        }
    }
    if (status == TL_OK)
        status = write(m, &pending, err);
    tl_entries_deinit(&pending);
    return status;
}

/* Which manifests a full merge leaves as they are, and what is deleted in the others. *to_merge: how many others. */
static tl_status plan_full(const merging *m, const tl_manifest_list *in, bool *untouched, tl_map *deleted, size_t *to_merge, tl_error *err)
{
    tl_map partitions = {0};
    tl_status status = read_deletes(m, in, deleted, &partitions, err);
    *to_merge = 0;
    for (size_t i = 0; status == TL_OK && i < in->n; i++) {
        bool hit = true;
        if (!must_change(m, &in->items[i]))
            status = may_hold(m, &in->items[i], &partitions, &hit, err);
        untouched[i] = !hit;
        *to_merge += hit;
    }
    tl_map_deinit(&partitions);
    return status;
}

/* *done: false if a full merge is not called for. `dry`: only that is found out. */
static tl_status full(const merging *m, const tl_manifest_list *in, bool dry, bool *done, tl_error *err)
{
    *done = false;
    int64_t bytes = 0;
    for (size_t i = 0; i < in->n; i++)
        bytes += must_change(m, &in->items[i]) ? in->items[i].bytes : 0;
    if (bytes < m->full_bytes)
        return TL_OK;
    tl_map deleted = {0};
    size_t to_merge = 0;
    TL_CLEANUP(tl_freep) bool *untouched = tl_calloc(in->n, sizeof *untouched);
    tl_status status = untouched == NULL ? tl_nomem(err, "manifests") : plan_full(m, in, untouched, &deleted, &to_merge, err);
    *done = status == TL_OK && to_merge > 1;
    if (*done && !dry)
        status = rewrite(m, in, untouched, &deleted, err);
    tl_map_deinit(&deleted);
    return status;
}

tl_status tl_manifests__needs_full(tl_table *table, int64_t target_bytes, const tl_manifest_list *in, bool *out, tl_error *err)
{
    const merging m = {.table = table, .target_bytes = target_bytes, .full_bytes = 1};
    return full(&m, in, /* dry= */ true, out, err);
}

tl_status tl_manifests__merge(tl_table *table, tl_manifest_writer *writer, const tl_manifest_list *in, tl_manifest_list *out, tl_names *fresh,
                              tl_error *err)
{
    merging m = {.table = table, .writer = writer, .out = out, .fresh = fresh, .target_bytes = writer->target_bytes};
    const tl_options *opts = &table->schema->options;
    TL_TRY(tl_table__option_int(opts, "manifest.full-compaction-threshold-size", 0, &m.full_bytes, err));
    TL_TRY(tl_table__option_int(opts, "manifest.merge-min-count", 0, &m.min_count, err));
    bool done = false;
    TL_TRY(full(&m, in, /* dry= */ false, &done, err));
    return done ? TL_OK : minor(&m, in, err);
}
