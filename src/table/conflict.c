/*
 * Whether changes contradict what is in the table: files to delete that are gone, files added twice, another number of buckets,
 * key ranges that overlap on a level. Source: format reference §16 c; Java: ConflictDetection, FileEntry.mergeEntries.
 */
#include "table/table_private.h"

#include <stdarg.h>
#include <stdlib.h>

#include "types/key.h"

tl_status tl_commit__contradiction(tl_error *err, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)tl_error_set(err, TL_E_CONFLICT, "%s", text);
    if (err != NULL)
        err->retryable = 0;
    return TL_E_CONFLICT;
}

#define CONFLICT(...) tl_commit__contradiction(err, __VA_ARGS__)

static tl_status partition_text(tl_table *table, tl_bytes_view partition, char **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_TRY(tl_binary_row_decode(partition, table->partition_type, /* with_arity= */ true, &row, err));
    return tl_partition_path(row, table->config->partition_default_name, table->config->legacy_partition_names, out, err);
}

/* ---- number of buckets ---- */

/* A partition keeps its number of buckets unless it is overwritten as a whole. */
static tl_status check_totals(tl_table *table, const tl_entries *base, const tl_entries *delta, tl_error *err)
{
    tl_map totals = {0}; /* partition -> total (> 0) */
    tl_status status = TL_OK;
    for (int side = 0; side < 2 && status == TL_OK; side++) {
        const tl_entries *entries = side == 0 ? base : delta;
        for (size_t i = 0; i < entries->n && status == TL_OK; i++) {
            const tl_manifest_entry *e = &entries->items[i];
            if (e->total_buckets <= 0)
                continue;
            uintptr_t old = (uintptr_t)tl_map_get(&totals, e->partition.data, e->partition.len);
            if (old == 0) {
                status = tl_map_put(&totals, e->partition.data, e->partition.len, (void *)(uintptr_t)e->total_buckets, NULL);
                if (status != TL_OK)
                    status = tl_nomem(err, "conflict check");
            } else if ((int32_t)old != e->total_buckets) {
                TL_CLEANUP(tl_freep) char *text = NULL;
                (void)partition_text(table, tl_bytes_view_of(e->partition), &text, NULL); /* only a message */
                status = CONFLICT("Total buckets of partition %s changed from %d to %d without overwrite. Give up committing.",
                                  text == NULL ? "" : text, (int)old, e->total_buckets);
            }
        }
    }
    tl_map_deinit(&totals);
    return status;
}

/* ---- what buckets were chosen by ---- */

static tl_status check_hashes(tl_table *table, const tl_index_entries *indexes, const tl_commit_message *m, tl_error *err)
{
    tl_bytes_view partition = tl_bytes_view_of(m->partition);
    if (tl_hash_index__digest(indexes, partition) == m->base)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *text = NULL;
    (void)partition_text(table, partition, &text, NULL); /* only a message */
    return CONFLICT("Keys of partition '%s' got their buckets from another writer meanwhile: a table with dynamic buckets can be written by one "
                    "job at a time. Give up committing.",
                    text == NULL ? "" : text);
}

tl_status tl_commit__others_changed_rows(tl_table *table, int64_t known, int64_t latest, bool *out, tl_error *err)
{
    *out = latest < known; /* rolled back */
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *last = NULL;
    for (int64_t id = latest; id > known && !*out; id--) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id, &snap, err);
        if (status != TL_OK && status != TL_E_NOT_FOUND)
            return status;
        if (status == TL_E_NOT_FOUND) {
            *out = true;
            return TL_OK;
        }
        bool same = last != NULL && last->commit_identifier == snap->commit_identifier && strcmp(last->commit_user, snap->commit_user) == 0;
        *out = id != latest && !same && snap->commit_kind != TL_COMMIT_COMPACT && snap->commit_kind != TL_COMMIT_ANALYZE;
        if (id == latest)
            last = TL_STEAL(snap);
    }
    return TL_OK;
}

static tl_status check_keys(tl_table *table, const tl_snapshot *latest, int64_t known, tl_error *err)
{
    int64_t latest_id = latest == NULL ? 0 : latest->id;
    bool changed = latest_id != known && (latest == NULL || latest->commit_kind == TL_COMMIT_APPEND || latest->commit_kind == TL_COMMIT_OVERWRITE);
    if (!changed)
        TL_TRY(tl_commit__others_changed_rows(table, known, latest_id, &changed, err));
    if (!changed)
        return TL_OK;
    return CONFLICT("Another writer changed rows since snapshot %lld: a table whose primary key spans partitions can be written by one job at a "
                    "time. Give up committing.",
                    (long long)known);
}

/* ---- rows that got new values (data evolution) ---- */

static bool shares_rows(const tl_commit_message *m, const tl_data_file *file)
{
    if (file->first_row_id == TL_ABSENT)
        return false;
    for (size_t i = 0; i < m->new_files.n; i++) {
        const tl_data_file *mine = m->new_files.items[i];
        if (mine->first_row_id != TL_ABSENT && file->first_row_id < mine->first_row_id + mine->rows &&
            mine->first_row_id < file->first_row_id + file->rows)
            return true;
    }
    return false;
}

/* Whoever changed rows of the message's files since the snapshot `known` must not lose that. Compactions change none; if they took the
 * rows into other files, check_rows() finds it. Java: ConflictDetection#checkForRowIdFromSnapshot. */
static tl_status check_updates(tl_table *table, const tl_snapshot *latest, const tl_commit_message *m, tl_error *err)
{
    for (int64_t id = latest == NULL ? 0 : latest->id; id > (int64_t)m->base; id--) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_entries delta = {0};
        tl_scan scan;
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id, &snap, err);
        if (status == TL_E_NOT_FOUND)
            return CONFLICT("Snapshot %lld has expired: nobody knows whether it changed the same rows. Give up committing.", (long long)id);
        if (status == TL_OK && snap->commit_kind == TL_COMMIT_COMPACT)
            continue;
        tl_scan_init(&scan, TL_SCAN_DELTA, snap);
        if (status == TL_OK)
            status = tl_table__scan(table, &scan, &delta, err);
        for (size_t i = 0; status == TL_OK && i < delta.n; i++) {
            if (shares_rows(m, delta.items[i].file))
                status = CONFLICT("For Data Evolution table, multiple 'MERGE INTO' operations have encountered conflicts: snapshot %lld changed rows of "
                                  "the same files (row ids from %lld on). Give up committing.",
                                  (long long)id, (long long)delta.items[i].file->first_row_id);
        }
        tl_entries_deinit(&delta);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status check_base(tl_table *table, const tl_snapshot *latest, const tl_index_entries *indexes, const tl_commit_message *m, tl_error *err)
{
    if (m->base_kind == TL_BASE_ROWS)
        return check_updates(table, latest, m, err);
    return m->base_kind == TL_BASE_HASHES ? check_hashes(table, indexes, m, err) : check_keys(table, latest, (int64_t)m->base, err);
}

tl_status tl_commit__check_bases(tl_table *table, const tl_snapshot *latest, const tl_index_entries *indexes, const tl_commit_messages *messages,
                                 tl_error *err)
{
    const tl_commit_message *last = NULL;
    for (size_t i = 0; i < messages->n; i++) {
        const tl_commit_message *m = &messages->items[i];
        bool checked = last != NULL && last->base_kind == m->base_kind && last->base == m->base &&
                       (m->base_kind == TL_BASE_SNAPSHOT || tl_bytes_equal(tl_bytes_view_of(last->partition), tl_bytes_view_of(m->partition)));
        if (m->base_kind == TL_BASE_NONE || checked)
            continue;
        TL_TRY(check_base(table, latest, indexes, m, err));
        last = m;
    }
    return TL_OK;
}

/* ---- files ---- */

typedef struct live {
    tl_map map; /* identity -> entry */
    tl_buf key;
} live;

static void live_deinit(live *l)
{
    tl_map_deinit(&l->map);
    tl_buf_deinit(&l->key);
}

static tl_status identity(live *l, const tl_manifest_entry *entry, tl_error *err)
{
    l->key.len = 0;
    return tl_entry_identity(entry, &l->key) == TL_OK ? TL_OK : tl_nomem(err, "conflict check");
}

/* Apply one entry. A DELETE of something that is not there stays in the map, as the reference leaves it, and is found later. */
static tl_status apply(live *l, const tl_manifest_entry *entry, tl_error *err)
{
    TL_TRY(identity(l, entry, err));
    const tl_manifest_entry *old = tl_map_get(&l->map, l->key.data, l->key.len);
    if (entry->kind == TL_ENTRY_ADD && old != NULL)
        return CONFLICT("File deletion conflicts detected! Give up committing. Trying to add file %s which is already added.",
                        entry->file->name);
    if (entry->kind == TL_ENTRY_DELETE && old != NULL) {
        tl_map_remove(&l->map, l->key.data, l->key.len);
        return TL_OK;
    }
    return tl_map_put(&l->map, l->key.data, l->key.len, (void *)entry, NULL) == TL_OK ? TL_OK : tl_nomem(err, "conflict check");
}

static tl_status apply_all(live *l, const tl_entries *entries, tl_error *err)
{
    for (size_t i = 0; i < entries->n; i++)
        TL_TRY(apply(l, &entries->items[i], err));
    return TL_OK;
}

/* Deleting and adding one identity in one delta would lose the file: plans do not look at the order. */
static tl_status check_delta(const tl_entries *delta, tl_error *err)
{
    live l = {0};
    tl_status status = apply_all(&l, delta, err);
    live_deinit(&l);
    return status;
}

/* ---- key ranges ---- */

typedef struct range {
    const tl_manifest_entry *entry;
    tl_bytes_view place; /* partition */
    uint32_t row;        /* in the keys of its group */
} range;

static int by_place(const void *a, const void *b)
{
    const tl_manifest_entry *x = ((const range *)a)->entry, *y = ((const range *)b)->entry;
    int c = tl_bytes_compare(tl_bytes_view_of(x->partition), tl_bytes_view_of(y->partition));
    if (c == 0)
        c = (x->bucket > y->bucket) - (x->bucket < y->bucket);
    if (c == 0)
        c = (x->file->level > y->file->level) - (x->file->level < y->file->level);
    return c;
}

/* Normalised keys of one end of the files' ranges. */
static tl_status range_keys(tl_table *table, const range *ranges, size_t n, bool max, tl_keys **out, tl_error *err)
{
    const tl_type *type = NULL;
    TL_TRY(tl_type_project(table->schema->row_type, table->key_idx, table->n_keys, &type, err));
    tl_builder **builders = tl_calloc((size_t)table->n_keys, sizeof *builders);
    tl_column **cols = tl_calloc((size_t)table->n_keys, sizeof *cols);
    tl_status status = builders == NULL || cols == NULL ? tl_nomem(err, "keys") : TL_OK;
    for (int32_t i = 0; status == TL_OK && i < table->n_keys; i++)
        status = tl_builder_create(type->fields[i].type, &builders[i], err);
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        const tl_data_file *file = ranges[i].entry->file;
        status = tl_error_wrap(err, tl_binary_row_read(tl_bytes_view_of(max ? file->max_key : file->min_key), type, true, builders, err),
                               "keys of file '%s'", file->name);
    }
    for (int32_t i = 0; status == TL_OK && i < table->n_keys; i++)
        status = tl_builder_finish(builders[i], &cols[i], err);
    if (status == TL_OK)
        status = tl_keys_create((const tl_column *const *)cols, table->n_keys, (int64_t)n, out, err);
    for (int32_t i = 0; i < table->n_keys; i++) {
        if (builders != NULL)
            tl_builder_free(builders[i]);
        if (cols != NULL)
            tl_column_unref(cols[i]);
    }
    tl_free(builders);
    tl_free(cols);
    tl_type_unref(type);
    return status;
}

/* Two files of the ranges overlap: *a and *b; or neither. */
static tl_status find_overlap(tl_table *table, const range *ranges, size_t n, const tl_manifest_entry **a, const tl_manifest_entry **b,
                              tl_error *err)
{
    *a = *b = NULL;
    TL_CLEANUP(tl_keys_freep) tl_keys *mins = NULL;
    TL_CLEANUP(tl_keys_freep) tl_keys *maxs = NULL;
    TL_TRY(range_keys(table, ranges, n, /* max= */ false, &mins, err));
    TL_TRY(range_keys(table, ranges, n, /* max= */ true, &maxs, err));
    TL_CLEANUP(tl_freep) uint32_t *order = tl_alloc(n * sizeof *order);
    if (order == NULL)
        return tl_nomem(err, "keys");
    TL_TRY(tl_keys_sort(mins, order, err));
    for (size_t i = 0; i + 1 < n; i++) {
        if (tl_keys_compare(maxs, order[i], mins, order[i + 1]) >= 0) {
            *a = ranges[order[i]].entry;
            *b = ranges[order[i + 1]].entry;
            return TL_OK;
        }
    }
    return TL_OK;
}

/* Levels that get files keep disjoint key ranges. Levels that the delta does not add to were checked when they were made. */
static tl_status check_levels(tl_table *table, const live *l, const tl_entries *delta, tl_error *err)
{
    if (table->config->pk_clustering)
        return TL_OK; /* files are sorted by other columns, and may overlap */
    TL_CLEANUP(tl_freep) range *ranges = tl_alloc(l->map.count * sizeof *ranges);
    if (ranges == NULL)
        return tl_nomem(err, "conflict check");
    size_t n = 0, pos = 0;
    tl_bytes_view ignored;
    void *value;
    while (tl_map_next(&l->map, &pos, &ignored, &value)) {
        const tl_manifest_entry *entry = value;
        if (entry->file->level >= 1)
            ranges[n++] = (range){.entry = entry};
    }
    qsort(ranges, n, sizeof *ranges, by_place);
    const tl_manifest_entry *first_delta = delta->items, *end_delta = delta->items + delta->n;
    for (size_t from = 0; from < n;) {
        size_t to = from;
        bool touched = false;
        for (; to < n && by_place(&ranges[from], &ranges[to]) == 0; to++)
            touched |= ranges[to].entry >= first_delta && ranges[to].entry < end_delta;
        if (touched && to - from > 1) {
            const tl_manifest_entry *a = NULL, *b = NULL;
            TL_TRY(find_overlap(table, ranges + from, to - from, &a, &b, err));
            if (a != NULL)
                return CONFLICT("LSM conflicts detected! Give up committing. Conflict files are: %s and %s of bucket %d, level %d",
                                a->file->name, b->file->name, a->bucket, a->file->level);
        }
        from = to;
    }
    return TL_OK;
}

tl_status tl_commit__overlap(tl_table *table, const tl_manifest_entry *const *entries, size_t n, bool *overlap, tl_error *err)
{
    TL_CLEANUP(tl_freep) range *ranges = tl_alloc(n * sizeof *ranges);
    if (ranges == NULL)
        return tl_nomem(err, "keys");
    for (size_t i = 0; i < n; i++)
        ranges[i] = (range){.entry = entries[i]};
    const tl_manifest_entry *a = NULL, *b = NULL;
    TL_TRY(find_overlap(table, ranges, n, &a, &b, err));
    *overlap = a != NULL;
    return TL_OK;
}

/* ---- rows of several files (data evolution) ---- */

bool tl_commit__is_onto_rows(const tl_manifest_entry *entry)
{
    return entry->kind == TL_ENTRY_ADD && entry->file->file_source == 0 && entry->file->first_row_id != TL_ABSENT;
}

static tl_status check_group(const tl_manifest_entry *const *entries, const size_t *order, size_t n, const tl_entries *delta, tl_error *err)
{
    const tl_manifest_entry *onto = NULL;
    bool known = false;
    for (size_t i = 0; i < n; i++) {
        const tl_manifest_entry *e = entries[order[i]];
        if (e < delta->items || e >= delta->items + delta->n)
            known = true;
        else if (tl_commit__is_onto_rows(e))
            onto = e;
    }
    if (onto != NULL && !known)
        return CONFLICT("File '%s' holds columns of the rows with ids %lld to %lld, which are not in the table (any more). Give up committing.",
                        onto->file->name, (long long)onto->file->first_row_id, (long long)(onto->file->first_row_id + onto->file->rows - 1));
    return TL_OK;
}

/* Data files that share rows are all of the same rows; columns are added only to rows that are there. Java:
 * ConflictDetection#checkRowIdRangeConflicts. Files that get their ids with this commit are not looked at. */
static tl_status check_rows(const live *l, const tl_entries *delta, tl_commit_kind kind, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(l->map.count + 1, sizeof *files);
    TL_CLEANUP(tl_freep) const tl_manifest_entry **entries = tl_calloc(l->map.count + 1, sizeof *entries);
    if (files == NULL || entries == NULL)
        return tl_nomem(err, "conflict check");
    size_t n = 0, pos = 0;
    tl_bytes_view ignored;
    void *value;
    while (tl_map_next(&l->map, &pos, &ignored, &value)) {
        const tl_manifest_entry *entry = value;
        if (entry->kind == TL_ENTRY_ADD && entry->file->first_row_id != TL_ABSENT) {
            files[n] = entry->file;
            entries[n++] = entry;
        }
    }
    tl_row_groups groups = {0};
    tl_error why;
    tl_status status = tl_row_groups_create(files, n, &groups, &why);
    if (status == TL_E_CORRUPT)
        return CONFLICT("For Data Evolution table, multiple 'MERGE INTO' and 'COMPACT' operations have encountered conflicts: %s", why.message);
    if (status != TL_OK)
        return tl_error_set(err, status, "%s", why.message);
    for (size_t g = 0, from = 0; status == TL_OK && kind == TL_COMMIT_APPEND && g < groups.n; from = groups.ends[g++])
        status = check_group(entries, groups.order + from, groups.ends[g] - from, delta, err);
    tl_row_groups_deinit(&groups);
    return status;
}

tl_status tl_commit__check(tl_table *table, const tl_entries *base, const tl_entries *delta, tl_commit_kind kind, tl_error *err)
{
    if (kind != TL_COMMIT_OVERWRITE)
        TL_TRY(check_totals(table, base, delta, err));
    TL_TRY(check_delta(delta, err));
    live l = {0};
    tl_status status = apply_all(&l, base, err);
    if (status == TL_OK)
        status = apply_all(&l, delta, err);
    size_t pos = 0;
    tl_bytes_view ignored;
    void *value;
    while (status == TL_OK && tl_map_next(&l.map, &pos, &ignored, &value)) {
        const tl_manifest_entry *entry = value;
        char name[256];
        if (entry->kind == TL_ENTRY_DELETE)
            status = CONFLICT("File deletion conflicts detected! Give up committing. Trying to delete file %s for table %s which is not "
                              "previously added.",
                              entry->file->name, tl_table__full_name(table, name));
    }
    if (status == TL_OK && table->n_keys > 0)
        status = check_levels(table, &l, delta, err);
    if (status == TL_OK && table->config->data_evolution)
        status = check_rows(&l, delta, kind, err);
    live_deinit(&l);
    return status;
}
