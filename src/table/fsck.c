/*
 * Checking a table: everything that a snapshot names is opened and compared with its metadata: sizes, counts, key ranges, key
 * order, statistics, sequence numbers, retracts, levels that overlap, index files, changelogs. A problem is a line of the report;
 * only what keeps the check itself from running is an error.
 */
#include "table/fsck_private.h"

#include <stdarg.h>
#include <stdlib.h>

#include "types/key.h"

static char mark;

/* ---- problems ---- */

tl_status tl_fsck__problem(tl_fsck__check *c, tl_error *err, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tl_fsck_report *r = c->report;
    if (r->n_problems == c->cap) {
        size_t cap = c->cap == 0 ? 16 : c->cap * 2;
        char **problems = tl_realloc(r->problems, cap * sizeof *problems);
        if (problems == NULL)
            return tl_nomem(err, "report");
        r->problems = problems;
        c->cap = cap;
    }
    r->problems[r->n_problems] = tl_strdup(text);
    if (r->problems[r->n_problems] == NULL)
        return tl_nomem(err, "report");
    r->n_problems++;
    return TL_OK;
}

void tl_fsck_report_deinit(tl_fsck_report *report)
{
    tl_names_free(report->problems, report->n_problems);
    *report = (tl_fsck_report){0};
}

/* True the first time. */
tl_status tl_fsck__first_time(tl_fsck__check *c, const char *kind, const char *name, bool *out, tl_error *err)
{
    char key[1024];
    int n = snprintf(key, sizeof key, "%s:%s", kind, name);
    size_t len = TL_MIN((size_t)n, sizeof key - 1);
    *out = tl_map_get(&c->seen, key, len) == NULL;
    if (*out && tl_map_put(&c->seen, key, len, &mark, NULL) != TL_OK)
        return tl_nomem(err, "report");
    return TL_OK;
}

/* A failure to read is a problem of the table, unless memory ran out or the feature is not there. */
static bool is_fatal(tl_status status)
{
    return status == TL_E_NOMEM || status == TL_E_UNSUPPORTED || status == TL_E_INTERNAL;
}

tl_status tl_fsck__failed(tl_fsck__check *c, tl_status status, const tl_error *cause, const char *what, tl_error *err)
{
    if (is_fatal(status)) {
        if (err != NULL)
            *err = *cause;
        return status;
    }
    return tl_fsck__problem(c, err, "%s: %s", what, cause->message);
}

tl_status tl_fsck__check_size(tl_fsck__check *c, const char *path, const char *name, int64_t bytes, tl_error *err)
{
    tl_stat st;
    tl_error cause = {0};
    tl_status status = tl_fs_stat(c->table->fs, path, &st, &cause);
    if (status != TL_OK)
        return tl_fsck__failed(c, status, &cause, name, err);
    if (st.bytes != bytes)
        return tl_fsck__problem(c, err, "%s: size %lld, metadata says %lld", name, (long long)st.bytes, (long long)bytes);
    return TL_OK;
}

/* ---- manifests ---- */

static tl_status check_manifest(tl_fsck__check *c, const tl_manifest_meta *m, const tl_manifest_entry *entries, size_t n, tl_error *err)
{
    bool first = false;
    TL_TRY(tl_fsck__first_time(c, "m", m->name, &first, err));
    if (!first)
        return TL_OK;
    c->report->manifests++;
    TL_CLEANUP(tl_freep) char *path = tl_paths_manifest(&c->table->paths, m->name);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fsck__check_size(c, path, m->name, m->bytes, err));
    int64_t added = 0;
    for (size_t i = 0; i < n; i++) {
        const tl_manifest_entry *e = &entries[i];
        added += e->kind == TL_ENTRY_ADD;
        if (m->min_bucket != INT32_MIN && (e->bucket < m->min_bucket || e->bucket > m->max_bucket))
            TL_TRY(tl_fsck__problem(c, err, "%s: bucket %d out of its range", m->name, e->bucket));
        if (m->min_level != INT32_MIN && (e->file->level < m->min_level || e->file->level > m->max_level))
            TL_TRY(tl_fsck__problem(c, err, "%s: level %d out of its range", m->name, e->file->level));
    }
    if (added != m->added || (int64_t)n - added != m->deleted)
        return tl_fsck__problem(c, err, "%s: the counts of added and deleted files differ", m->name);
    return TL_OK;
}

/* All entries of a mode's manifests, each manifest checked. */
static tl_status read_entries(tl_fsck__check *c, const tl_snapshot *snap, tl_scan_mode mode, tl_entries *out, tl_error *err)
{
    tl_manifest_list list = {0};
    tl_error cause = {0};
    tl_status status = tl_table__manifests(c->table, snap, mode, &list, &cause);
    if (status != TL_OK)
        status = tl_fsck__failed(c, status, &cause, "manifest list", err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++) {
        size_t before = out->n;
        status = tl_manifest_read(c->table->fs, &c->table->paths, list.items[i].name, list.items[i].bytes, NULL, NULL, out, &cause);
        if (status == TL_OK)
            status = check_manifest(c, &list.items[i], out->items + before, out->n - before, err);
        else
            status = tl_fsck__failed(c, status, &cause, list.items[i].name, err);
    }
    tl_manifest_list_deinit(&list);
    return status;
}

static tl_status check_list(tl_fsck__check *c, const char *name, int64_t bytes, tl_error *err)
{
    bool first = false;
    if (name == NULL || bytes == TL_ABSENT)
        return TL_OK;
    TL_TRY(tl_fsck__first_time(c, "l", name, &first, err));
    TL_CLEANUP(tl_freep) char *path = tl_paths_manifest(&c->table->paths, name);
    if (path == NULL)
        return tl_nomem(err, "path");
    return first ? tl_fsck__check_size(c, path, name, bytes, err) : TL_OK;
}

/* ---- data files ---- */

/* What a keyed file's rows say, to be compared with its metadata. */
typedef struct rows_seen {
    int64_t rows;
    int64_t retracts;
    int64_t min_seq, max_seq;
    bool unordered;
    tl_keys *last; /* one key each */
    tl_keys *min;
    tl_keys *max;
    tl_fsck__stats stats;
} rows_seen;

static void rows_seen_deinit(rows_seen *s)
{
    tl_keys_free(s->last);
    tl_keys_free(s->min);
    tl_keys_free(s->max);
    tl_fsck__stats_deinit(&s->stats);
}

static tl_status key_columns(const tl_table *table, const tl_batch *batch, const tl_column **cols)
{
    for (int32_t i = 0; i < table->n_keys; i++)
        cols[i] = batch->cols[table->key_idx[i]];
    return TL_OK;
}

/* The key of one row, apart from its batch. */
static tl_status one_key(const tl_table *table, const tl_batch *batch, int64_t row, tl_keys **out, tl_error *err)
{
    tl_column **cols = tl_calloc((size_t)table->n_keys, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "keys");
    uint32_t idx = (uint32_t)row;
    tl_status status = TL_OK;
    for (int32_t i = 0; status == TL_OK && i < table->n_keys; i++)
        status = tl_column_gather(batch->cols[table->key_idx[i]], &idx, 1, &cols[i], err);
    tl_keys *keys = NULL;
    if (status == TL_OK)
        status = tl_keys_create((const tl_column *const *)cols, table->n_keys, 1, &keys, err);
    for (int32_t i = 0; i < table->n_keys; i++)
        tl_column_unref(cols[i]);
    tl_free(cols);
    if (status == TL_OK) {
        tl_keys_free(*out);
        *out = keys;
    }
    return status;
}

static tl_status see_keys(const tl_table *table, const tl_batch *batch, rows_seen *s, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)table->n_keys, sizeof *cols);
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    if (cols == NULL)
        return tl_nomem(err, "keys");
    TL_TRY(key_columns(table, batch, cols));
    TL_TRY(tl_keys_create(cols, table->n_keys, batch->n_rows, &keys, err));
    int64_t min = 0, max = 0;
    for (int64_t i = 1; i < batch->n_rows; i++) {
        s->unordered |= tl_keys_compare(keys, i - 1, keys, i) >= 0;
        min = tl_keys_compare(keys, i, keys, min) < 0 ? i : min;
        max = tl_keys_compare(keys, i, keys, max) > 0 ? i : max;
    }
    s->unordered |= s->last != NULL && tl_keys_compare(s->last, 0, keys, 0) >= 0;
    if (s->min == NULL || tl_keys_compare(keys, min, s->min, 0) < 0)
        TL_TRY(one_key(table, batch, min, &s->min, err));
    if (s->max == NULL || tl_keys_compare(keys, max, s->max, 0) > 0)
        TL_TRY(one_key(table, batch, max, &s->max, err));
    return one_key(table, batch, batch->n_rows - 1, &s->last, err);
}

static tl_status see_batch(const tl_table *table, const tl_batch *batch, rows_seen *s, tl_error *err)
{
    if (batch->n_rows == 0)
        return TL_OK;
    s->rows += batch->n_rows;
    tl_fsck__stats_see(&s->stats, batch);
    if (table->n_keys == 0)
        return TL_OK;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        s->retracts += tl_kind_is_retract(tl_batch_kind(batch, i));
        if (batch->seq != NULL) {
            s->min_seq = TL_MIN(s->min_seq, batch->seq[i]);
            s->max_seq = TL_MAX(s->max_seq, batch->seq[i]);
        }
    }
    return see_keys(table, batch, s, err);
}

static tl_status see_file(tl_table *table, const tl_manifest_entry *e, rows_seen *s, tl_error *err)
{
    TL_TRY(tl_fsck__stats_open(table, e->file, &s->stats, err));
    tl_bucket_read_spec spec = {.with_kinds = true, .with_seq = table->n_keys > 0};
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_files_read(table->config, tl_bytes_view_of(e->partition), e->bucket, &e->file, 1, &spec, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(see_batch(table, batch, s, err));
    }
}

static tl_status stored_key(const tl_table *table, tl_bytes key, tl_keys **out, tl_error *err)
{
    const tl_type *type = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_TRY(tl_type_project(table->schema->row_type, table->key_idx, table->n_keys, &type, err));
    tl_status status = tl_binary_row_decode(tl_bytes_view_of(key), type, true, &row, err);
    tl_type_unref(type);
    TL_TRY(status);
    return tl_keys_create((const tl_column *const *)row->cols, table->n_keys, 1, out, err);
}

static tl_status compare_keys(tl_fsck__check *c, const tl_data_file *f, const char *where, const rows_seen *s, tl_error *err)
{
    /* Sorted by other columns (pk-clustering-override), as far as that goes: the reference's merges do not always keep the order, and
       nothing depends on it. */
    if (tl_lsm_is_clustered(c->table->config, f))
        return TL_OK;
    if (s->unordered)
        TL_TRY(tl_fsck__problem(c, err, "%s: its keys are not in strictly ascending order", where));
    TL_CLEANUP(tl_keys_freep) tl_keys *min = NULL;
    TL_CLEANUP(tl_keys_freep) tl_keys *max = NULL;
    TL_TRY(stored_key(c->table, f->min_key, &min, err));
    TL_TRY(stored_key(c->table, f->max_key, &max, err));
    if (tl_keys_compare(s->min, 0, min, 0) != 0 || tl_keys_compare(s->max, 0, max, 0) != 0)
        return tl_fsck__problem(c, err, "%s: its key range differs from the metadata", where);
    return TL_OK;
}

static tl_status compare_keyed(tl_fsck__check *c, const tl_data_file *f, const char *where, bool changelog, const rows_seen *s, tl_error *err)
{
    if (changelog || s->rows == 0)
        return TL_OK;
    TL_TRY(compare_keys(c, f, where, s, err));
    if (s->min_seq < f->min_seq || s->max_seq > f->max_seq)
        TL_TRY(tl_fsck__problem(c, err, "%s: sequence numbers %lld..%lld, metadata says %lld..%lld", where, (long long)s->min_seq,
                       (long long)s->max_seq, (long long)f->min_seq, (long long)f->max_seq));
    if (f->delete_rows != TL_ABSENT && f->delete_rows != s->retracts)
        TL_TRY(tl_fsck__problem(c, err, "%s: %lld retracts, metadata says %lld", where, (long long)s->retracts, (long long)f->delete_rows));
    return TL_OK;
}

static tl_status check_extra(tl_fsck__check *c, const char *path, const tl_data_file *f, const char *where, tl_error *err)
{
    const char *slash = strrchr(path, '/');
    for (int32_t i = 0; slash != NULL && i < f->n_extra_files; i++) {
        bool exists = false;
        TL_CLEANUP(tl_freep) char *extra = tl_strf("%.*s/%s", (int)(slash - path), path, f->extra_files[i]);
        if (extra == NULL)
            return tl_nomem(err, "path");
        TL_TRY(tl_fs_exists(c->table->fs, extra, &exists, err));
        if (!exists)
            TL_TRY(tl_fsck__problem(c, err, "%s: no extra file %s", where, f->extra_files[i]));
    }
    return TL_OK;
}

static tl_status check_file(tl_fsck__check *c, const tl_manifest_entry *e, bool changelog, tl_error *err)
{
    tl_table *table = c->table;
    TL_CLEANUP(tl_freep) char *path = tl_data_file_path(table->config, tl_bytes_view_of(e->partition), e->bucket, e->file);
    if (path == NULL)
        return tl_nomem(err, "path");
    size_t root = strlen(table->path);
    const char *where = strncmp(path, table->path, root) == 0 && path[root] == '/' ? path + root + 1 : path;
    bool first = false;
    TL_TRY(tl_fsck__first_time(c, "f", where, &first, err));
    if (!first)
        return TL_OK;
    c->report->data_files++;
    TL_TRY(tl_fsck__check_size(c, path, where, e->file->bytes, err));
    TL_TRY(check_extra(c, path, e->file, where, err));
    rows_seen s = {.min_seq = INT64_MAX, .max_seq = INT64_MIN};
    tl_error cause = {0};
    tl_status status = see_file(table, e, &s, &cause);
    /* Rows that wait for a bucket are as they came. */
    if (status == TL_OK && table->n_keys > 0 && e->bucket != TL_POSTPONE_BUCKET)
        status = compare_keyed(c, e->file, where, changelog, &s, &cause);
    if (status == TL_OK)
        status = tl_fsck__stats_compare(c, &s.stats, where, &cause);
    if (status != TL_OK)
        status = tl_fsck__failed(c, status, &cause, where, err);
    else if (s.rows != e->file->rows)
        status = tl_fsck__problem(c, err, "%s: %lld rows, metadata says %lld", where, (long long)s.rows, (long long)e->file->rows);
    if (changelog)
        c->report->changelog_rows += s.rows;
    else
        c->report->rows += s.rows;
    rows_seen_deinit(&s);
    return status;
}

/* ---- levels ---- */

typedef struct level_file {
    const tl_manifest_entry *entry;
} level_file;

static int by_level(const void *a, const void *b)
{
    const tl_manifest_entry *x = ((const level_file *)a)->entry, *y = ((const level_file *)b)->entry;
    int c = tl_bytes_compare(tl_bytes_view_of(x->partition), tl_bytes_view_of(y->partition));
    if (c == 0)
        c = (x->bucket > y->bucket) - (x->bucket < y->bucket);
    return c != 0 ? c : (x->file->level > y->file->level) - (x->file->level < y->file->level);
}

/* Files of a level above 0 must not overlap. */
static tl_status check_levels(tl_fsck__check *c, const tl_entries *live, tl_error *err)
{
    if (c->table->config->pk_clustering)
        return TL_OK; /* sorted by other columns, they may */
    TL_CLEANUP(tl_freep) level_file *files = tl_calloc(live->n, sizeof *files);
    TL_CLEANUP(tl_freep) const tl_manifest_entry **run = tl_calloc(live->n, sizeof *run);
    if (files == NULL || run == NULL)
        return tl_nomem(err, "levels");
    size_t n = 0;
    for (size_t i = 0; i < live->n; i++) {
        if (live->items[i].file->level > 0)
            files[n++].entry = &live->items[i];
    }
    qsort(files, n, sizeof *files, by_level);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && by_level(&files[from], &files[to]) == 0; to++)
            run[to - from] = files[to].entry;
        bool overlap = false;
        tl_error cause = {0};
        tl_status status = to - from < 2 ? TL_OK : tl_commit__overlap(c->table, run, to - from, &overlap, &cause);
        if (status != TL_OK)
            TL_TRY(tl_fsck__failed(c, status, &cause, "level", err));
        if (overlap)
            TL_TRY(tl_fsck__problem(c, err, "bucket %d, level %d: its files overlap ('%s' is one of them)", run[0]->bucket, run[0]->file->level,
                           run[0]->file->name));
    }
    return TL_OK;
}

/* ---- snapshots ---- */

static int64_t signed_rows(const tl_entries *entries)
{
    int64_t rows = 0;
    for (size_t i = 0; i < entries->n; i++)
        rows += entries->items[i].kind == TL_ENTRY_ADD ? entries->items[i].file->rows : -entries->items[i].file->rows;
    return rows;
}

static tl_status check_files(tl_fsck__check *c, const tl_entries *entries, bool changelog, tl_error *err)
{
    for (size_t i = 0; i < entries->n; i++)
        TL_TRY(check_file(c, &entries->items[i], changelog, err));
    return TL_OK;
}

/*
 * A tag keeps the files of its snapshot, not its changelog: that goes when the main branch expires the snapshot (or the changelog that
 * outlived it). A branch made from the tag begins with this snapshot, still naming the changelog.
 */
static tl_status went_with_main(tl_fsck__check *c, const tl_snapshot *snap, bool *out, tl_error *err)
{
    const tl_table *table = c->table;
    tl_paths main_paths = table->paths;
    int64_t first = 0;
    *out = false;
    main_paths.branch = NULL;
    if (table->paths.branch == NULL || strcmp(table->paths.branch, "main") == 0)
        return TL_OK;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err));
    if (snap->id != first)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *list = tl_paths_manifest(&table->paths, snap->changelog_manifest_list);
    TL_CLEANUP(tl_freep) char *as_snapshot = tl_paths_snapshot(&main_paths, snap->id);
    TL_CLEANUP(tl_freep) char *as_changelog = tl_paths_changelog(&main_paths, snap->id);
    const char *const users[] = {list, as_snapshot, as_changelog};
    for (size_t i = 0; i < TL_ARRAY_LEN(users); i++) {
        bool there = false;
        if (users[i] == NULL)
            return tl_nomem(err, "path");
        TL_TRY(tl_fs_exists(table->fs, users[i], &there, err));
        if (there)
            return TL_OK;
    }
    *out = true;
    return TL_OK;
}

static tl_status check_changelog(tl_fsck__check *c, const tl_snapshot *snap, tl_error *err)
{
    bool gone = false;
    if (snap->changelog_manifest_list == NULL)
        return TL_OK;
    TL_TRY(went_with_main(c, snap, &gone, err));
    if (gone)
        return TL_OK;
    TL_TRY(check_list(c, snap->changelog_manifest_list, snap->changelog_manifest_list_bytes, err));
    tl_entries entries = {0};
    tl_status status = read_entries(c, snap, TL_SCAN_CHANGELOG, &entries, err);
    if (status == TL_OK)
        status = check_files(c, &entries, /* changelog= */ true, err);
    int64_t rows = signed_rows(&entries);
    if (status == TL_OK && snap->changelog_record_count != TL_ABSENT && rows != snap->changelog_record_count)
        status = tl_fsck__problem(c, err, "snapshot %lld: changelog files hold %lld rows, it says %lld", (long long)snap->id, (long long)rows,
                         (long long)snap->changelog_record_count);
    tl_entries_deinit(&entries);
    return status;
}

/* Data evolution: files that share rows are of the same rows. */
static tl_status check_row_groups(tl_fsck__check *c, const tl_entries *live, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(live->n + 1, sizeof *files);
    tl_row_groups groups = {0};
    tl_error cause = {0};
    if (files == NULL)
        return tl_nomem(err, "row ids");
    for (size_t i = 0; i < live->n; i++)
        files[i] = live->items[i].file;
    tl_status status = tl_row_groups_create(files, live->n, &groups, &cause);
    tl_row_groups_deinit(&groups);
    return status == TL_OK ? TL_OK : tl_fsck__failed(c, status, &cause, "row ids", err);
}

static tl_status check_live(tl_fsck__check *c, const tl_snapshot *snap, tl_entries *live, tl_error *err)
{
    tl_error cause = {0};
    tl_status status = tl_entries_merge(live, /* drop_deletes= */ true, &cause);
    if (status != TL_OK)
        return tl_fsck__failed(c, status, &cause, "manifests", err);
    TL_TRY(check_files(c, live, /* changelog= */ false, err));
    if (c->table->config->data_evolution)
        TL_TRY(check_row_groups(c, live, err));
    int64_t rows = signed_rows(live);
    if (rows != snap->total_record_count)
        TL_TRY(tl_fsck__problem(c, err, "snapshot %lld: files hold %lld rows, it says %lld", (long long)snap->id, (long long)rows,
                       (long long)snap->total_record_count));
    TL_TRY(tl_fsck__check_indexes(c, snap, live, err));
    return c->table->n_keys > 0 ? check_levels(c, live, err) : TL_OK;
}

static tl_status check_snapshot(tl_fsck__check *c, const tl_snapshot *snap, tl_error *err)
{
    TL_TRY(tl_table__check_snapshot(c->table, snap, /* changes_rows= */ false, err));
    TL_TRY(check_list(c, snap->base_manifest_list, snap->base_manifest_list_bytes, err));
    TL_TRY(check_list(c, snap->delta_manifest_list, snap->delta_manifest_list_bytes, err));
    tl_entries delta = {0}, live = {0};
    tl_status status = read_entries(c, snap, TL_SCAN_DELTA, &delta, err);
    int64_t rows = signed_rows(&delta);
    if (status == TL_OK && rows != snap->delta_record_count)
        status = tl_fsck__problem(c, err, "snapshot %lld: delta has %lld rows, it says %lld", (long long)snap->id, (long long)rows,
                         (long long)snap->delta_record_count);
    if (status == TL_OK)
        status = read_entries(c, snap, TL_SCAN_ALL, &live, err);
    if (status == TL_OK)
        status = check_live(c, snap, &live, err);
    tl_entries_deinit(&delta);
    tl_entries_deinit(&live);
    return status == TL_OK ? check_changelog(c, snap, err) : status;
}

static tl_status check_all(tl_fsck__check *c, bool all, tl_error *err)
{
    tl_table *table = c->table;
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &c->report->latest_snapshot, err));
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_snapshot_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        if (!all && ids[i] != c->report->latest_snapshot)
            continue;
        tl_error cause = {0};
        char what[48];
        snprintf(what, sizeof what, "snapshot %lld", (long long)ids[i]);
        status = tl_snapshot_read(table->fs, &table->paths, ids[i], &snap, &cause);
        if (status == TL_E_NOT_FOUND) {
            status = TL_OK; /* expired meanwhile */
            continue;
        }
        if (status != TL_OK) {
            status = tl_fsck__failed(c, status, &cause, what, err);
            continue;
        }
        c->report->snapshots++;
        status = check_snapshot(c, snap, err);
    }
    tl_free(ids);
    return status;
}

/* What a changelog that outlived its snapshot tells: its changelog files, or the files that were appended. */
static tl_status check_kept(tl_fsck__check *c, const tl_snapshot *snap, tl_error *err)
{
    if (snap->changelog_manifest_list != NULL)
        return check_changelog(c, snap, err);
    if (tl_table__has_changelog_files(c->table) || snap->commit_kind != TL_COMMIT_APPEND)
        return TL_OK;
    TL_TRY(check_list(c, snap->delta_manifest_list, snap->delta_manifest_list_bytes, err));
    tl_entries entries = {0};
    tl_status status = read_entries(c, snap, TL_SCAN_DELTA, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        if (entries.items[i].kind == TL_ENTRY_ADD)
            status = check_file(c, &entries.items[i], /* changelog= */ false, err);
    }
    tl_entries_deinit(&entries);
    return status;
}

static tl_status check_changelogs(tl_fsck__check *c, tl_error *err)
{
    tl_table *table = c->table;
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_changelog_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_error cause = {0};
        char what[48];
        snprintf(what, sizeof what, "changelog %lld", (long long)ids[i]);
        status = tl_changelog_read(table->fs, &table->paths, ids[i], &snap, &cause);
        if (status == TL_OK)
            status = check_kept(c, snap, err);
        else if (status != TL_E_NOT_FOUND) /* expired meanwhile */
            status = tl_fsck__failed(c, status, &cause, what, err);
        else
            status = TL_OK;
    }
    tl_free(ids);
    return status;
}

tl_status tl_table_fsck(tl_table *table, bool all, tl_fsck_report *out, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "check it", err));
    tl_fsck_report report = {0};
    tl_fsck__check c = {.table = table, .report = &report};
    tl_status status = check_all(&c, all, err);
    if (status == TL_OK && all && tl_table__decoupled(&table->schema->options))
        status = check_changelogs(&c, err);
    if (status == TL_OK && all)
        status = tl_fsck__check_changes(&c, err);
    tl_map_deinit(&c.seen);
    if (status != TL_OK) {
        tl_fsck_report_deinit(&report);
        return tl_error_wrap(err, status, "table %s", tl_table__full_name(table, name));
    }
    *out = report;
    return TL_OK;
}
