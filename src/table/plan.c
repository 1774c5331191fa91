/*
 * From a snapshot to the entries that a read needs: manifest lists, manifests, merging of ADD and DELETE, pruning of files.
 * Source: format reference §4.2, §18; Java: AbstractFileStoreScan, KeyValueFileStoreScan.
 */
#include "table/table_private.h"

#include <stdlib.h>
#include <strings.h>

void tl_scan_init(tl_scan *scan, tl_scan_mode mode, const tl_snapshot *snap)
{
    *scan = (tl_scan){.mode = mode,
                      .snap = snap,
                      .level_min = INT32_MIN,
                      .level_max = INT32_MAX,
                      .bucket = INT32_MIN,
                      .created_after_ms = INT64_MIN};
}

tl_status tl_table__manifests(tl_table *table, const tl_snapshot *snap, tl_scan_mode mode, tl_manifest_list *out, tl_error *err)
{
    if (mode == TL_SCAN_ALL)
        TL_TRY(tl_error_wrap(err,
                             tl_manifest_list_read(table->fs, &table->paths, snap->base_manifest_list, snap->base_manifest_list_bytes, out, err),
                             "snapshot %lld", (long long)snap->id));
    if (mode == TL_SCAN_CHANGELOG) {
        if (snap->changelog_manifest_list == NULL)
            return TL_OK;
        return tl_error_wrap(
            err,
            tl_manifest_list_read(table->fs, &table->paths, snap->changelog_manifest_list, snap->changelog_manifest_list_bytes, out, err),
            "snapshot %lld", (long long)snap->id);
    }
    return tl_error_wrap(err,
                         tl_manifest_list_read(table->fs, &table->paths, snap->delta_manifest_list, snap->delta_manifest_list_bytes, out, err),
                         "snapshot %lld", (long long)snap->id);
}

/* ---- reading manifests, several at a time if there is a pool ---- */

typedef struct manifest_task {
    tl_table *table;
    const tl_scan *scan;
    const tl_manifest_meta *meta;
    tl_entries entries;
} manifest_task;

/* Each task has a pruner of its own: its cache of partitions is not shared between threads. */
static tl_status read_manifest(void *arg, tl_error *err)
{
    manifest_task *task = arg;
    TL_CLEANUP(tl_pruner_freep) tl_pruner *pruner = NULL;
    TL_TRY(tl_pruner_create(task->table, task->scan, &pruner, err));
    TL_TRY(tl_manifest_read(task->table->fs, &task->table->paths, task->meta->name, task->meta->bytes, tl_pruner_entry, pruner, &task->entries,
                            err));
    return tl_pruner_status(pruner, err);
}

/* Move the entries of the tasks to `out`, in order. */
static tl_status collect(manifest_task *tasks, size_t n, tl_entries *out, tl_error *err)
{
    size_t total = out->n;
    for (size_t i = 0; i < n; i++)
        total += tasks[i].entries.n;
    if (total > out->cap) {
        tl_manifest_entry *items = tl_realloc(out->items, total * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "manifest entries");
        out->items = items;
        out->cap = total;
    }
    for (size_t i = 0; i < n; i++) {
        if (tasks[i].entries.n > 0)
            memcpy(out->items + out->n, tasks[i].entries.items, tasks[i].entries.n * sizeof *out->items);
        out->n += tasks[i].entries.n;
        tl_free(tasks[i].entries.items);
        tasks[i].entries = (tl_entries){0};
    }
    return TL_OK;
}

static tl_status read_manifests(tl_table *table, const tl_scan *scan, const tl_manifest_list *list, tl_entries *out, tl_error *err)
{
    TL_CLEANUP(tl_pruner_freep) tl_pruner *pruner = NULL;
    TL_TRY(tl_pruner_create(table, scan, &pruner, err));
    manifest_task *tasks = tl_calloc(list->n, sizeof *tasks);
    if (tasks == NULL)
        return tl_nomem(err, "manifests");
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (tl_pruner_manifest(pruner, &list->items[i]))
            tasks[n++] = (manifest_task){.table = table, .scan = scan, .meta = &list->items[i]};
    }
    tl_task_group *group = NULL;
    tl_status status = tl_task_group_create(n > 1 ? scan->pool : NULL, &group, err);
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = tl_task_group_run(group, read_manifest, &tasks[i], err);
    if (group != NULL) {
        tl_status waited = tl_task_group_wait(group, status == TL_OK ? err : NULL);
        status = status == TL_OK ? waited : status;
        tl_task_group_free(group);
    }
    if (status == TL_OK)
        status = collect(tasks, n, out, err);
    for (size_t i = 0; i < n; i++)
        tl_entries_deinit(&tasks[i].entries);
    tl_free(tasks);
    return status;
}

/* ---- pruning files ---- */

/* Keep the entries with keep[i]; order stays. */
static void compact_entries(tl_entries *entries, const bool *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < entries->n; i++) {
        if (keep[i]) {
            tl_manifest_entry entry = entries->items[i];
            entries->items[kept++] = entry;
        } else {
            tl_bytes_deinit(&entries->items[i].partition);
            tl_data_file_unref(entries->items[i].file);
        }
    }
    entries->n = kept;
}

/* What value filters may do to the files of a bucket, seen from how many can hold a key (KeyValueFileStoreScan.noOverlapping). */
typedef struct bucket_state {
    int32_t level;
    bool overlapping;
    bool any_kept;
    size_t n;
} bucket_state;

static tl_status bucket_of(tl_map *map, const tl_manifest_entry *entry, tl_buf *key, bucket_state **out)
{
    key->len = 0;
    TL_TRY(tl_buf_append(key, &entry->bucket, sizeof entry->bucket));
    TL_TRY(tl_buf_append(key, entry->partition.data, entry->partition.len));
    *out = tl_map_get(map, key->data, key->len);
    if (*out != NULL)
        return TL_OK;
    *out = tl_calloc(1, sizeof **out);
    if (*out == NULL)
        return TL_E_NOMEM;
    tl_status status = tl_map_put(map, key->data, key->len, *out, NULL);
    if (status != TL_OK)
        tl_free(*out);
    return status;
}

static void note_level(bucket_state *bucket, int32_t level)
{
    if (bucket->n++ == 0) {
        bucket->level = level;
        return;
    }
    /* One file alone cannot overlap, not even on level 0; several may unless they are one sorted run. */
    if (level == 0 || bucket->level != level)
        bucket->overlapping = true;
}

static bool merges_columns(const tl_table *table)
{
    const char *engine = tl_table__option_or_default(&table->schema->options, "merge-engine");
    bool merges = strcasecmp(engine, "partial-update") == 0 || strcasecmp(engine, "aggregation") == 0;
    return merges && !tl_table__option_bool(&table->schema->options, "deletion-vectors.enabled"); /* rows lie there merged */
}

/*
 * Value filters on keyed tables: a file may be dropped by itself only if no other file of the bucket can hold a newer version of
 * its rows; otherwise the whole bucket goes, and only if every file of it is excluded. Where rows are put together from several
 * records, no single file tells, so nothing goes.
 */
static tl_status filter_keyed(tl_table *table, tl_pruner *pruner, tl_entries *entries, bool *keep, tl_error *err)
{
    TL_CLEANUP(tl_freep) bucket_state **of = tl_calloc(entries->n, sizeof *of);
    tl_map buckets = {0};
    tl_buf key = {0};
    tl_status status = of == NULL ? tl_nomem(err, "buckets") : TL_OK;
    for (size_t i = 0; status == TL_OK && i < entries->n; i++) {
        status = bucket_of(&buckets, &entries->items[i], &key, &of[i]);
        if (status != TL_OK) {
            status = tl_nomem(err, "buckets");
            break;
        }
        note_level(of[i], entries->items[i].file->level);
        status = tl_pruner_file_values(pruner, entries->items[i].file, &keep[i], err);
        of[i]->any_kept |= keep[i];
    }
    bool columns = merges_columns(table);
    for (size_t i = 0; status == TL_OK && i < entries->n; i++) {
        if (of[i]->overlapping)
            keep[i] = columns || of[i]->any_kept;
    }
    size_t pos = 0;
    void *value;
    tl_bytes_view ignored;
    while (tl_map_next(&buckets, &pos, &ignored, &value))
        tl_free(value);
    tl_map_deinit(&buckets);
    tl_buf_deinit(&key);
    return status;
}

/*
 * Data evolution: a column's values may lie in a newer file of the same rows, so that the files of a group are looked at together.
 * (Java: DataEvolutionFileStoreScan#postFilterManifestEntries.)
 */
static tl_status filter_row_groups(tl_pruner *pruner, const tl_entries *entries, bool *keep, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(entries->n, sizeof *files);
    TL_CLEANUP(tl_freep) tl_data_file **sorted = tl_calloc(entries->n, sizeof *sorted);
    tl_row_groups rows = {0};
    if (files == NULL || sorted == NULL)
        return tl_nomem(err, "files");
    for (size_t i = 0; i < entries->n; i++)
        files[i] = entries->items[i].file;
    TL_TRY(tl_row_groups_create(files, entries->n, &rows, err));
    for (size_t i = 0; i < entries->n; i++)
        sorted[i] = files[rows.order[i]];
    tl_status status = TL_OK;
    for (size_t g = 0, from = 0; status == TL_OK && g < rows.n; from = rows.ends[g++]) {
        bool wanted = true;
        status = tl_pruner_group_values(pruner, sorted + from, rows.ends[g] - from, &wanted, err);
        for (size_t i = from; i < rows.ends[g]; i++)
            keep[rows.order[i]] = wanted;
    }
    tl_row_groups_deinit(&rows);
    return status;
}

static tl_status filter_files(tl_table *table, const tl_scan *scan, tl_entries *entries, tl_error *err)
{
    if (entries->n == 0 || (scan->predicate == NULL && scan->created_after_ms == INT64_MIN))
        return TL_OK;
    TL_CLEANUP(tl_pruner_freep) tl_pruner *pruner = NULL;
    TL_TRY(tl_pruner_create(table, scan, &pruner, err));
    TL_CLEANUP(tl_freep) bool *keep = tl_alloc(entries->n * sizeof *keep);
    if (keep == NULL)
        return tl_nomem(err, "files");
    for (size_t i = 0; i < entries->n; i++)
        TL_TRY(tl_pruner_file_keys(pruner, entries->items[i].file, &keep[i], err));
    compact_entries(entries, keep);
    if (scan->predicate == NULL || entries->n == 0)
        return TL_OK;
    if (table->config != NULL && table->config->data_evolution) {
        if (scan->mode != TL_SCAN_ALL) /* what a commit changed is no whole of columns */
            return TL_OK;
        TL_TRY(filter_row_groups(pruner, entries, keep, err));
        compact_entries(entries, keep);
        return TL_OK;
    }
    bool each_file = table->n_keys == 0 || (scan->mode == TL_SCAN_ALL && scan->level_min > 0 && tl_table__skips_level0(table));
    if (!each_file && scan->mode == TL_SCAN_ALL) {
        TL_TRY(filter_keyed(table, pruner, entries, keep, err));
    } else if (each_file || (scan->mode == TL_SCAN_CHANGELOG && scan->file_values)) {
        for (size_t i = 0; i < entries->n; i++)
            TL_TRY(tl_pruner_file_values(pruner, entries->items[i].file, &keep[i], err));
    } else {
        return TL_OK;
    }
    compact_entries(entries, keep);
    return TL_OK;
}

tl_status tl_table__scan(tl_table *table, const tl_scan *scan, tl_entries *out, tl_error *err)
{
    tl_manifest_list list = {0};
    tl_entries entries = {0};
    tl_status status = tl_table__manifests(table, scan->snap, scan->mode, &list, err); /* its errors name the snapshot */
    if (status != TL_OK) {
        tl_manifest_list_deinit(&list);
        return status;
    }
    status = read_manifests(table, scan, &list, &entries, err);
    if (status == TL_OK && scan->mode == TL_SCAN_ALL)
        status = tl_entries_merge(&entries, /* drop_deletes= */ true, err);
    if (status == TL_OK)
        status = filter_files(table, scan, &entries, err);
    if (status == TL_OK && out->n == 0) {
        tl_entries_deinit(out);
        *out = entries;
        entries = (tl_entries){0};
    }
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        const tl_manifest_entry *e = &entries.items[i];
        status = tl_entries_add(out, e->kind, tl_bytes_view_of(e->partition), e->bucket, e->total_buckets, e->file, err);
    }
    tl_entries_deinit(&entries);
    tl_manifest_list_deinit(&list);
    return tl_error_wrap(err, status, "snapshot %lld", (long long)scan->snap->id);
}

/* ---- entries by bucket ---- */

typedef struct placed {
    tl_manifest_entry entry;
    size_t position;
} placed;

static int compare_bucket(const tl_manifest_entry *e, tl_bytes_view partition, int32_t bucket)
{
    int c = tl_bytes_compare(tl_bytes_view_of(e->partition), partition);
    return c != 0 ? c : (e->bucket > bucket) - (e->bucket < bucket);
}

static int by_bucket(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    int c = compare_bucket(&x->entry, tl_bytes_view_of(y->entry.partition), y->entry.bucket);
    return c != 0 ? c : (x->position > y->position) - (x->position < y->position);
}

tl_status tl_entries_sort_buckets(tl_entries *entries, tl_error *err)
{
    TL_CLEANUP(tl_freep) placed *items = tl_alloc(entries->n * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "manifest entries");
    for (size_t i = 0; i < entries->n; i++)
        items[i] = (placed){entries->items[i], i};
    qsort(items, entries->n, sizeof *items, by_bucket);
    for (size_t i = 0; i < entries->n; i++)
        entries->items[i] = items[i].entry;
    return TL_OK;
}

void tl_entries_bucket_range(const tl_entries *entries, tl_bytes_view partition, int32_t bucket, size_t *from, size_t *to)
{
    size_t low = 0, high = entries->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare_bucket(&entries->items[mid], partition, bucket) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *from = low;
    while (low < entries->n && compare_bucket(&entries->items[low], partition, bucket) == 0)
        low++;
    *to = low;
}
