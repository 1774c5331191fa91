/*
 * From entries to splits: files of a bucket are packed so that several workers can share it. Source: format reference §18;
 * Java: SnapshotReaderImpl, MergeTreeSplitGenerator, AppendOnlySplitGenerator, BinPacking.packForOrdered.
 */
#include "table/table_private.h"

#include <stdlib.h>

void tl_split_deinit(tl_split *split)
{
    tl_bytes_deinit(&split->partition);
    for (size_t i = 0; split->places != NULL && i < split->files.n; i++) {
        tl_free(split->places[i].dir);
        tl_free(split->places[i].branch);
    }
    tl_free(split->places);
    tl_file_list_deinit(&split->files);
    tl_file_list_deinit(&split->before_files);
    tl_dv_set_unref(split->vectors);
    tl_dv_set_unref(split->before_vectors);
}

void tl_splits_deinit(tl_splits *splits)
{
    for (size_t i = 0; i < splits->n; i++)
        tl_split_deinit(&splits->items[i]);
    tl_free(splits->items);
    *splits = (tl_splits){0};
}

tl_status tl_splits_add(tl_splits *splits, tl_split **out, tl_error *err)
{
    if (splits->n == splits->cap) {
        size_t cap = splits->cap == 0 ? 16 : splits->cap * 2;
        tl_split *items = tl_realloc(splits->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "splits");
        splits->items = items;
        splits->cap = cap;
    }
    *out = &splits->items[splits->n++];
    **out = (tl_split){0};
    return TL_OK;
}

/* ---- buckets ---- */

/* Files of one bucket, borrowed from the entries. */
typedef struct group {
    const tl_manifest_entry *first;
    tl_data_file **files;
    size_t n;
    size_t cap;
} group;

typedef struct groups {
    group *items;
    size_t n;
    size_t cap;
    tl_map index; /* (bucket, partition) -> position + 1 */
    tl_buf key;
} groups;

static void groups_deinit(groups *g)
{
    for (size_t i = 0; i < g->n; i++)
        tl_free(g->items[i].files);
    tl_free(g->items);
    tl_map_deinit(&g->index);
    tl_buf_deinit(&g->key);
}

static tl_status group_of(groups *g, const tl_manifest_entry *entry, size_t *out)
{
    g->key.len = 0;
    TL_TRY(tl_buf_append(&g->key, &entry->bucket, sizeof entry->bucket));
    TL_TRY(tl_buf_append(&g->key, entry->partition.data, entry->partition.len));
    uintptr_t at = (uintptr_t)tl_map_get(&g->index, g->key.data, g->key.len);
    if (at != 0) {
        *out = at - 1;
        return TL_OK;
    }
    if (g->n == g->cap) {
        size_t cap = g->cap == 0 ? 16 : g->cap * 2;
        group *items = tl_realloc(g->items, cap * sizeof *items);
        if (items == NULL)
            return TL_E_NOMEM;
        g->items = items;
        g->cap = cap;
    }
    TL_TRY(tl_map_put(&g->index, g->key.data, g->key.len, (void *)(uintptr_t)(g->n + 1), NULL));
    g->items[g->n] = (group){.first = entry};
    *out = g->n++;
    return TL_OK;
}

static tl_status group_add(groups *g, const tl_manifest_entry *entry)
{
    size_t at = 0;
    TL_TRY(group_of(g, entry, &at));
    group *bucket = &g->items[at];
    if (bucket->n == bucket->cap) {
        size_t cap = bucket->cap == 0 ? 8 : bucket->cap * 2;
        tl_data_file **files = tl_realloc(bucket->files, cap * sizeof *files);
        if (files == NULL)
            return TL_E_NOMEM;
        bucket->files = files;
        bucket->cap = cap;
    }
    bucket->files[bucket->n++] = entry->file;
    return TL_OK;
}

/* ---- packing ---- */

typedef struct packing {
    tl_table *table;
    tl_splits *out;
    int64_t snapshot_id;
    bool streaming;
    tl_vectors *vectors; /* NULL: none */
    int64_t target_bytes;
    int64_t open_cost;
    bool count_blobs; /* blob.split-by-file-size */
} packing;

static tl_status emit(const packing *p, const group *g, tl_data_file *const *files, size_t n, bool raw, tl_error *err)
{
    tl_split *split = NULL;
    TL_TRY(tl_splits_add(p->out, &split, err));
    split->snapshot_id = p->snapshot_id;
    split->bucket = g->first->bucket;
    split->total_buckets = g->first->total_buckets;
    split->raw = raw;
    split->streaming = p->streaming;
    if (tl_bytes_dup(tl_bytes_view_of(g->first->partition), &split->partition) != TL_OK)
        return tl_nomem(err, "split");
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_file_list_add(&split->files, files[i], err));
    TL_TRY(tl_vectors__find(p->vectors, tl_bytes_view_of(split->partition), split->bucket, &split->vectors, err));
    tl_dv_set_ref(split->vectors);
    return TL_OK;
}

/* Files in order, a bin closed when the next file would exceed it. */
static tl_status pack_files(const packing *p, const group *g, tl_error *err)
{
    size_t from = 0;
    int64_t weight = 0;
    for (size_t i = 0; i < g->n; i++) {
        int64_t w = TL_MAX(g->files[i]->bytes, p->open_cost);
        if (i > from && weight + w > p->target_bytes) {
            TL_TRY(emit(p, g, g->files + from, i - from, /* raw= */ true, err));
            from = i;
            weight = 0;
        }
        weight += w;
    }
    return g->n > from ? emit(p, g, g->files + from, g->n - from, /* raw= */ true, err) : TL_OK;
}

/* Groups of files with the same rows stay together (Java: DataEvolutionSplitGenerator). */
static int64_t group_weight(const packing *p, tl_data_file *const *files, size_t n)
{
    int64_t weight = 0;
    for (size_t i = 0; i < n; i++)
        weight += p->count_blobs || !tl_data_file_is_blob(files[i]) ? files[i]->bytes : p->open_cost;
    return TL_MAX(weight, p->open_cost);
}

static tl_status pack_row_groups(const packing *p, const group *g, tl_error *err)
{
    tl_row_groups rows = {0};
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(g->n, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "split");
    TL_TRY(tl_row_groups_create(g->files, g->n, &rows, err));
    for (size_t i = 0; i < g->n; i++)
        files[i] = g->files[rows.order[i]];
    tl_status status = TL_OK;
    size_t from = 0, begin = 0;
    int64_t weight = 0;
    bool raw = true;
    for (size_t i = 0; status == TL_OK && i < rows.n; begin = rows.ends[i++]) {
        int64_t w = group_weight(p, files + begin, rows.ends[i] - begin);
        if (begin > from && weight + w > p->target_bytes) {
            status = emit(p, g, files + from, begin - from, raw, err);
            from = begin;
            weight = 0;
            raw = true;
        }
        weight += w;
        raw &= rows.ends[i] - begin == 1;
    }
    if (status == TL_OK && g->n > from)
        status = emit(p, g, files + from, g->n - from, raw, err);
    tl_row_groups_deinit(&rows);
    return status;
}

/* A count of deletes that is not known counts as none, as for old files in the reference; reading checks again. */
static bool without_deletes(const tl_data_file *file)
{
    return file->delete_rows == TL_ABSENT || file->delete_rows == 0;
}

static tl_status emit_sections(const packing *p, const group *g, const tl_section *sections, size_t from, size_t to, tl_data_file **scratch,
                               tl_error *err)
{
    size_t n = 0;
    for (size_t s = from; s < to; s++) {
        for (size_t r = 0; r < sections[s].n_runs; r++) {
            const tl_file_list *run = &sections[s].runs[r];
            for (size_t f = 0; f < run->n; f++)
                scratch[n++] = run->items[f];
        }
    }
    return emit(p, g, scratch, n, n == 1 && without_deletes(scratch[0]), err);
}

static int64_t section_bytes(const tl_section *section)
{
    int64_t bytes = 0;
    for (size_t r = 0; r < section->n_runs; r++) {
        for (size_t f = 0; f < section->runs[r].n; f++)
            bytes += section->runs[r].items[f]->bytes;
    }
    return bytes;
}

/* Sections of overlapping keys stay together. */
static tl_status pack_sections(const packing *p, const group *g, tl_error *err)
{
    tl_section *sections = NULL;
    size_t n = 0;
    TL_CLEANUP(tl_freep) tl_data_file **scratch = tl_calloc(g->n, sizeof *scratch);
    if (scratch == NULL)
        return tl_nomem(err, "split");
    TL_TRY(tl_sections(p->table->config, g->files, g->n, &sections, &n, err));
    tl_status status = TL_OK;
    size_t from = 0;
    int64_t weight = 0;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        int64_t w = TL_MAX(section_bytes(&sections[i]), p->open_cost);
        if (i > from && weight + w > p->target_bytes) {
            status = emit_sections(p, g, sections, from, i, scratch, err);
            from = i;
            weight = 0;
        }
        weight += w;
    }
    if (status == TL_OK && n > from)
        status = emit_sections(p, g, sections, from, n, scratch, err);
    tl_sections_free(sections, n);
    return status;
}

static tl_status split_keyed(const packing *p, const group *g, tl_error *err)
{
    bool raw = true, one_level = true;
    for (size_t i = 0; i < g->n; i++) {
        raw &= g->files[i]->level != 0 && without_deletes(g->files[i]);
        one_level &= g->files[i]->level == g->files[0]->level;
    }
    bool disjoint = one_level || tl_table__skips_level0(p->table); /* there a key lies in one file above level 0 */
    return raw && disjoint ? pack_files(p, g, err) : pack_sections(p, g, err);
}

static int by_min_seq(const void *a, const void *b)
{
    const tl_data_file *x = *(tl_data_file *const *)a, *y = *(tl_data_file *const *)b;
    return (x->min_seq > y->min_seq) - (x->min_seq < y->min_seq);
}

/* Stable: files of unaware buckets all begin at sequence 0 and stay in manifest order. */
static tl_status sort_by_seq(group *g)
{
    bool sorted = true;
    for (size_t i = 1; i < g->n; i++)
        sorted &= g->files[i - 1]->min_seq <= g->files[i]->min_seq;
    if (sorted)
        return TL_OK;
    /* Merge sort on a copy; qsort is not stable. */
    tl_data_file **tmp = tl_calloc(g->n, sizeof *tmp);
    if (tmp == NULL)
        return TL_E_NOMEM;
    for (size_t width = 1; width < g->n; width *= 2) {
        for (size_t lo = 0; lo < g->n; lo += 2 * width) {
            size_t mid = TL_MIN(lo + width, g->n), hi = TL_MIN(lo + 2 * width, g->n);
            size_t a = lo, b = mid;
            for (size_t k = lo; k < hi; k++) {
                bool left = a < mid && (b >= hi || by_min_seq(&g->files[a], &g->files[b]) <= 0);
                tmp[k] = left ? g->files[a++] : g->files[b++];
            }
        }
        memcpy(g->files, tmp, g->n * sizeof *tmp);
    }
    tl_free(tmp);
    return TL_OK;
}

static tl_status split_group(const packing *p, group *g, tl_error *err)
{
    bool keyed = p->table->n_keys > 0;
    /* Changes of a bucket stay in one split, in the order of their snapshots. */
    if (p->streaming && (keyed || p->table->bucket_mode != TL_BUCKETS_UNAWARE))
        return emit(p, g, g->files, g->n, /* raw= */ true, err);
    if (keyed)
        return split_keyed(p, g, err);
    if (p->table->config->data_evolution)
        return pack_row_groups(p, g, err);
    if (sort_by_seq(g) != TL_OK)
        return tl_nomem(err, "split");
    return pack_files(p, g, err);
}

/* Compare partitions by value, column by column. */
static int compare_partitions(const tl_type *type, tl_bytes_view a, tl_bytes_view b)
{
    if (tl_bytes_equal(a, b))
        return 0;
    tl_batch *x = NULL, *y = NULL;
    int c = 0;
    if (tl_binary_row_decode(a, type, true, &x, NULL) == TL_OK && tl_binary_row_decode(b, type, true, &y, NULL) == TL_OK) {
        for (int32_t i = 0; c == 0 && i < type->n_fields; i++)
            c = tl_column_compare(x->cols[i], 0, y->cols[i], 0, /* descending= */ false, /* nulls_first= */ true);
    }
    tl_batch_free(x);
    tl_batch_free(y);
    return c != 0 ? c : tl_bytes_compare(a, b);
}

static int compare_groups(const void *a, const void *b, void *ctx)
{
    const group *x = a, *y = b;
    return compare_partitions(ctx, tl_bytes_view_of(x->first->partition), tl_bytes_view_of(y->first->partition));
}

tl_status tl_table__splits(tl_table *table, const tl_entries *entries, int64_t snapshot_id, bool streaming, tl_vectors *vectors, tl_splits *out,
                           tl_error *err)
{
    packing p = {.table = table, .out = out, .snapshot_id = snapshot_id, .streaming = streaming, .vectors = vectors};
    const tl_options *opts = &table->schema->options;
    TL_TRY(tl_table__option_int(opts, "source.split.target-size", 0, &p.target_bytes, err));
    TL_TRY(tl_table__option_int(opts, "source.split.open-file-cost", 0, &p.open_cost, err));
    p.count_blobs = tl_table__option_bool(opts, "blob.split-by-file-size");
    groups g = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < entries->n; i++) {
        if (entries->items[i].kind != TL_ENTRY_ADD)
            continue;
        if (group_add(&g, &entries->items[i]) != TL_OK)
            status = tl_nomem(err, "splits");
    }
    if (status == TL_OK && g.n > 1 && tl_table__option_bool(opts, "scan.plan-sort-partition"))
        qsort_r(g.items, g.n, sizeof *g.items, compare_groups, (void *)table->partition_type);
    for (size_t i = 0; status == TL_OK && i < g.n; i++)
        status = split_group(&p, &g.items[i], err);
    groups_deinit(&g);
    return status;
}

/* ---- splits of changes ---- */

static tl_status set_files(tl_file_list *list, const group *g, const tl_map *common, tl_error *err)
{
    for (size_t i = 0; i < g->n; i++) {
        const tl_data_file *file = g->files[i];
        if (tl_map_get(common, file->name, strlen(file->name)) == NULL)
            TL_TRY(tl_file_list_add(list, file, err));
    }
    return TL_OK;
}

/* Files (name and level) that are on both sides: they are taken out of both, as the reference does. */
static tl_status common_files(const group *a, const group *b, tl_map *out)
{
    tl_map before = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < a->n; i++)
        status = tl_map_put(&before, a->files[i]->name, strlen(a->files[i]->name), a->files[i], NULL);
    for (size_t i = 0; status == TL_OK && i < b->n; i++) {
        const tl_data_file *same = tl_map_get(&before, b->files[i]->name, strlen(b->files[i]->name));
        if (same != NULL && same->level == b->files[i]->level)
            status = tl_map_put(out, b->files[i]->name, strlen(b->files[i]->name), b->files[i], NULL);
    }
    tl_map_deinit(&before);
    return status;
}

static tl_status change_split(const group *before, const group *after, int64_t snapshot_id, bool diff, tl_splits *out, tl_error *err)
{
    const tl_manifest_entry *first = after->n > 0 ? after->first : before->first;
    tl_map common = {0};
    if (common_files(before, after, &common) != TL_OK) {
        tl_map_deinit(&common);
        return tl_nomem(err, "split");
    }
    tl_split *split = NULL;
    tl_status status = tl_splits_add(out, &split, err);
    if (status == TL_OK) {
        split->kind = diff ? TL_SPLIT_DIFF : TL_SPLIT_CHANGES;
        split->snapshot_id = snapshot_id;
        split->bucket = first->bucket;
        split->total_buckets = first->total_buckets;
        split->streaming = !diff;
        if (tl_bytes_dup(tl_bytes_view_of(first->partition), &split->partition) != TL_OK)
            status = tl_nomem(err, "split");
    }
    if (status == TL_OK)
        status = set_files(&split->before_files, before, &common, err);
    if (status == TL_OK)
        status = set_files(&split->files, after, &common, err);
    tl_map_deinit(&common);
    return status;
}

/* The vectors of both states' files. */
static tl_status add_vectors(tl_split *split, const tl_state *before, const tl_state *after, tl_error *err)
{
    tl_bytes_view partition = tl_bytes_view_of(split->partition);
    TL_TRY(tl_vectors__find(before->vectors, partition, split->bucket, &split->before_vectors, err));
    tl_dv_set_ref(split->before_vectors);
    TL_TRY(tl_vectors__find(after->vectors, partition, split->bucket, &split->vectors, err));
    tl_dv_set_ref(split->vectors);
    return TL_OK;
}

tl_status tl_table__change_splits(const tl_state *before, const tl_state *after, int64_t snapshot_id, bool diff, tl_splits *out,
                                  tl_error *err)
{
    groups all = {0}, old = {0}, fresh = {0};
    tl_status status = TL_OK;
    for (int side = 0; side < 2; side++) {
        const tl_entries *entries = side == 0 ? before->entries : after->entries;
        for (size_t i = 0; status == TL_OK && i < entries->n; i++) {
            size_t ignored;
            if (group_of(&all, &entries->items[i], &ignored) != TL_OK ||
                group_add(side == 0 ? &old : &fresh, &entries->items[i]) != TL_OK)
                status = tl_nomem(err, "splits");
        }
    }
    for (size_t i = 0; status == TL_OK && i < all.n; i++) {
        size_t a = 0, b = 0;
        if (group_of(&old, all.items[i].first, &a) != TL_OK || group_of(&fresh, all.items[i].first, &b) != TL_OK)
            status = tl_nomem(err, "splits");
        else
            status = change_split(&old.items[a], &fresh.items[b], snapshot_id, diff, out, err);
        if (status == TL_OK)
            status = add_vectors(&out->items[out->n - 1], before, after, err);
    }
    groups_deinit(&all);
    groups_deinit(&old);
    groups_deinit(&fresh);
    return status;
}

/* ---- order ---- */

typedef struct sort_key {
    char *partition;
    size_t position; /* splits of one bucket keep their order */
    tl_split split;
} sort_key;

static int compare_keys(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    int c = strcmp(x->partition, y->partition);
    if (c == 0)
        c = tl_bytes_compare(tl_bytes_view_of(x->split.partition), tl_bytes_view_of(y->split.partition));
    if (c == 0)
        c = (x->split.bucket > y->split.bucket) - (x->split.bucket < y->split.bucket);
    if (c == 0)
        c = (x->split.snapshot_id > y->split.snapshot_id) - (x->split.snapshot_id < y->split.snapshot_id);
    return c != 0 ? c : (x->position > y->position) - (x->position < y->position);
}

tl_status tl_table__sort_splits(tl_table *table, tl_splits *splits, tl_error *err)
{
    if (splits->n < 2)
        return TL_OK;
    sort_key *keys = tl_calloc(splits->n, sizeof *keys);
    if (keys == NULL)
        return tl_nomem(err, "splits");
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < splits->n; i++) {
        keys[i].split = splits->items[i];
        keys[i].position = i;
        TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
        status = tl_binary_row_decode(tl_bytes_view_of(splits->items[i].partition), table->partition_type, true, &row, err);
        if (status == TL_OK)
            status = tl_partition_path(row, table->config->partition_default_name, table->config->legacy_partition_names, &keys[i].partition, err);
    }
    if (status == TL_OK) {
        qsort(keys, splits->n, sizeof *keys, compare_keys);
        for (size_t i = 0; i < splits->n; i++)
            splits->items[i] = keys[i].split;
    }
    for (size_t i = 0; i < splits->n; i++)
        tl_free(keys[i].partition);
    tl_free(keys);
    return status;
}
