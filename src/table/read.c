/*
 * Batch reads: what the options ask for becomes splits, splits become one reader. Source: format reference §18, §20; Java:
 * DataTableBatchScan, KeyValueTableRead, IncrementalDeltaStartingScanner.
 */
#include "table/chain.h"
#include "table/format_table.h"

tl_status tl_table__projected_type(const tl_table *table, const int32_t *columns, int32_t n, const tl_type **out, tl_error *err)
{
    if (columns == NULL) {
        *out = tl_type_ref(table->schema->row_type);
        return TL_OK;
    }
    return tl_type_project(table->config->read_type, columns, n, out, err);
}

bool tl_table__is_audit(const tl_table *table)
{
    return tl_system__is(table, "audit_log") || tl_system__is(table, "binlog");
}

bool tl_table__is_tracking(const tl_table *table)
{
    return tl_system__is(table, "row_tracking");
}

/* ---- planning ---- */

/* Rows of such tables wait in a bucket of their own until a compaction places them; batch reads do not see them before. */
static bool waits_for_buckets(const tl_table *table)
{
    return table->bucket_mode == TL_BUCKETS_POSTPONE;
}

void tl_table__snapshot_scan(const tl_table *table, const tl_snapshot *snap, int64_t created_after_ms, tl_pool *pool, tl_scan *out)
{
    tl_scan_init(out, TL_SCAN_ALL, snap);
    out->pool = pool;
    out->created_after_ms = created_after_ms;
    out->real_buckets_only = waits_for_buckets(table);
    if (tl_table__skips_level0(table))
        out->level_min = 1;
    if (tl_system__is(table, "ro") && table->n_keys > 0)
        out->level_min = out->level_max = table->config->num_levels - 1;
}

/* What a plan is asked for. */
typedef struct wish {
    const tl_predicate *pred;
    const tl_map *partitions; /* only these; NULL: all */
    tl_pool *pool;
} wish;

static tl_status plan_snapshot(tl_table *table, const tl_snapshot *snap, int64_t created_after_ms, const wish *w, tl_splits *out, tl_error *err)
{
    if (snap == NULL)
        return TL_OK;
    tl_scan scan;
    tl_table__snapshot_scan(table, snap, created_after_ms, w->pool, &scan);
    scan.predicate = w->pred;
    scan.partitions = w->partitions;
    tl_entries entries = {0};
    tl_vectors vectors = {0};
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    if (status == TL_OK)
        status = tl_vectors__read(table, snap, &vectors, err);
    if (status == TL_OK)
        status = tl_table__splits(table, &entries, snap->id, /* streaming= */ false, &vectors, out, err);
    tl_vectors__deinit(&vectors);
    tl_entries_deinit(&entries);
    return status;
}

/* Changes of the snapshots (from, to], as they were committed. */
static tl_status plan_delta(tl_table *table, const tl_read_point *point, const wish *w, tl_splits *out, tl_error *err)
{
    tl_entries entries = {0};
    tl_status status = TL_OK;
    for (int64_t id = point->from + 1; status == TL_OK && id <= point->to; id++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_snapshot_read(table->fs, &table->paths, id, &snap, err);
        if (status != TL_OK)
            break;
        bool wanted = point->mode == TL_SCAN_DELTA ? snap->commit_kind == TL_COMMIT_APPEND : snap->commit_kind != TL_COMMIT_OVERWRITE;
        if (!wanted)
            continue;
        tl_scan scan;
        tl_scan_init(&scan, point->mode, snap);
        scan.predicate = w->pred;
        scan.partitions = w->partitions;
        scan.pool = w->pool;
        scan.real_buckets_only = waits_for_buckets(table);
        /* What was written lies at level 0. (The reference leaves it out under deletion vectors, too, so that nothing is left.) */
        if (tl_table__skips_level0(table) && !table->config->deletion_vectors)
            scan.level_min = 1;
        status = tl_table__scan(table, &scan, &entries, err);
    }
    if (status == TL_OK)
        status = tl_table__splits(table, &entries, point->to, /* streaming= */ true, /* vectors= */ NULL, out, err);
    tl_entries_deinit(&entries);
    return status;
}

/* Without keys the difference is the rows of the files that the older state has not, as in the reference: what was taken away is not told. */
static tl_status plan_new_files(tl_table *table, const tl_state *before, const tl_state *after, int64_t snapshot_id, tl_splits *out, tl_error *err)
{
    tl_map old = {0};
    TL_CLEANUP(tl_freep) tl_manifest_entry *fresh = tl_alloc((after->entries->n + 1) * sizeof *fresh); /* borrowed from `after` */
    tl_status status = fresh == NULL ? tl_nomem(err, "splits") : TL_OK;
    for (size_t i = 0; status == TL_OK && i < before->entries->n; i++) {
        const tl_data_file *file = before->entries->items[i].file;
        status = tl_map_put(&old, file->name, strlen(file->name), (void *)file, NULL);
    }
    tl_entries entries = {.items = fresh};
    for (size_t i = 0; status == TL_OK && i < after->entries->n; i++) {
        const tl_data_file *file = after->entries->items[i].file;
        if (tl_map_get(&old, file->name, strlen(file->name)) == NULL)
            fresh[entries.n++] = after->entries->items[i];
    }
    tl_map_deinit(&old);
    if (status != TL_OK)
        return tl_nomem(err, "splits");
    return tl_table__splits(table, &entries, snapshot_id, /* streaming= */ false, after->vectors, out, err);
}

/* Two states, compared key by key when they are read. Value filters wait until then: a row may have left the filter. */
static tl_status plan_diff(tl_table *table, const tl_read_point *point, const wish *w, tl_splits *out, tl_error *err)
{
    tl_entries entries[2] = {{0}, {0}};
    tl_vectors vectors[2] = {0};
    const tl_snapshot *snaps[2] = {point->before, point->snap};
    tl_status status = TL_OK;
    for (int side = 0; status == TL_OK && side < 2; side++) {
        tl_scan scan;
        tl_scan_init(&scan, TL_SCAN_ALL, snaps[side]);
        scan.partitions = w->partitions;
        scan.pool = w->pool;
        scan.real_buckets_only = waits_for_buckets(table);
        if (tl_table__skips_level0(table))
            scan.level_min = 1;
        status = tl_table__scan(table, &scan, &entries[side], err);
        if (status == TL_OK)
            status = tl_vectors__read(table, snaps[side], &vectors[side], err);
    }
    tl_state before = {&entries[0], &vectors[0]}, after = {&entries[1], &vectors[1]};
    if (status == TL_OK && table->n_keys > 0)
        status = tl_table__change_splits(&before, &after, point->snap->id, /* diff= */ true, out, err);
    else if (status == TL_OK)
        status = plan_new_files(table, &before, &after, point->snap->id, out, err);
    for (int side = 0; side < 2; side++) {
        tl_entries_deinit(&entries[side]);
        tl_vectors__deinit(&vectors[side]);
    }
    return status;
}

tl_status tl_table__plan_one(tl_table *table, const tl_predicate *pred, const tl_map *partitions, tl_pool *pool, tl_splits *out, tl_error *err)
{
    const wish w = {pred, partitions, pool};
    tl_read_point point;
    TL_TRY(tl_table__read_point(table, &point, err));
    tl_status status = TL_OK;
    if (point.kind == TL_READ_SNAPSHOT)
        status = plan_snapshot(table, point.snap, point.created_after_ms, &w, out, err);
    else if (point.kind == TL_READ_DELTA)
        status = plan_delta(table, &point, &w, out, err);
    else if (point.kind == TL_READ_DIFF)
        status = plan_diff(table, &point, &w, out, err);
    tl_read_point_deinit(&point);
    return status;
}

/* What a predicate on the columns of $row_tracking says of the table's own: files have no statistics of the others. */
static tl_status own_columns(const tl_table *table, const tl_predicate *pred, tl_predicate **out, tl_error *err)
{
    int32_t n = table->row_type->n_fields, own = table->schema->row_type->n_fields;
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc((size_t)n * sizeof *map);
    if (map == NULL)
        return tl_nomem(err, "predicate");
    for (int32_t i = 0; i < n; i++)
        map[i] = i < own ? i : -1;
    return tl_predicate_remap(pred, map, /* weaken= */ true, out, err);
}

tl_status tl_table_plan(tl_table *table, const tl_scan_spec *spec, tl_splits *out, tl_error *err)
{
    char name[256];
    if (table->config == NULL)
        return tl_error_set(err, TL_E_INVALID, "%s has no splits", tl_table__full_name(table, name));
    tl_splits splits = {0};
    if (table->folder != NULL) {
        tl_status planned = tl_format_table__plan(table, spec->predicate, &splits, err);
        if (planned == TL_OK)
            *out = splits;
        else
            tl_splits_deinit(&splits);
        return tl_error_wrap(err, planned, "table %s", tl_table__full_name(table, name));
    }
    tl_scan_spec data_spec = *spec;
    TL_CLEANUP(tl_freep) int32_t *columns = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    if (tl_table__is_audit(table))
        TL_TRY(tl_audit_data_spec(table, spec, &data_spec, &columns, &pred, err));
    if (tl_table__is_tracking(table) && spec->predicate != NULL) {
        TL_TRY(own_columns(table, spec->predicate, &pred, err));
        data_spec.predicate = pred;
    }
    bool alone = table->other == NULL && !table->lacks_branches;
    tl_status status = alone ? tl_table__plan_one(table, data_spec.predicate, /* partitions= */ NULL, spec->pool, &splits, err)
                             : tl_table__plan_both(table, data_spec.predicate, spec->pool, &splits, err);
    if (status != TL_OK) {
        tl_splits_deinit(&splits);
        return tl_error_wrap(err, status, "table %s", tl_table__full_name(table, name));
    }
    *out = splits;
    return TL_OK;
}

tl_status tl_table_plan_at(tl_table *table, int64_t snapshot_id, const tl_scan_spec *spec, tl_splits *out, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "plan a snapshot of it", err));
    char name[256];
    tl_splits splits = {0};
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_snapshot_read(table->fs, &table->paths, snapshot_id, &snap, err);
    if (status == TL_OK)
        status = plan_snapshot(table, snap, INT64_MIN, &(wish){.pred = spec->predicate, .pool = spec->pool}, &splits, err);
    if (status != TL_OK) {
        tl_splits_deinit(&splits);
        return tl_error_wrap(err, status, "table %s", tl_table__full_name(table, name));
    }
    *out = splits;
    return TL_OK;
}

/* ---- changes read as rows ---- */

/* Without its kind a row that was taken back would look like one that is there. */
typedef struct adds_reader {
    tl_reader base;
    tl_reader *changes;
} adds_reader;

static tl_status drop_retracts(tl_batch *batch, tl_batch **out, tl_error *err)
{
    int64_t n = 0;
    TL_CLEANUP(tl_batch_freep) tl_batch *owned = batch;
    if (batch->row_kind == NULL) {
        *out = TL_STEAL(owned);
        return TL_OK;
    }
    TL_CLEANUP(tl_freep) uint32_t *rows = tl_alloc((size_t)(batch->n_rows + 1) * sizeof *rows);
    if (rows == NULL)
        return tl_nomem(err, "row kinds");
    for (int64_t i = 0; i < batch->n_rows; i++) {
        rows[n] = (uint32_t)i;
        n += !tl_kind_is_retract(batch->row_kind[i]);
    }
    if (n == batch->n_rows)
        *out = TL_STEAL(owned);
    else
        TL_TRY(tl_batch_gather(batch, rows, n, out, err));
    tl_free((*out)->row_kind);
    (*out)->row_kind = NULL;
    return TL_OK;
}

static tl_status adds_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    tl_batch *batch = NULL;
    TL_TRY(tl_reader_next(((adds_reader *)reader)->changes, &batch, err));
    *out = NULL;
    return batch == NULL ? TL_OK : drop_retracts(batch, out, err);
}

static void adds_free(tl_reader *reader)
{
    tl_reader_free(((adds_reader *)reader)->changes);
    tl_type_unref(reader->type);
    tl_free(reader);
}

static const tl_reader_ops adds_ops = {adds_next, adds_free};

static tl_status only_adds(tl_reader *changes, tl_reader **out, tl_error *err)
{
    adds_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_reader_free(changes);
        return tl_nomem(err, "read");
    }
    r->base = (tl_reader){&adds_ops, tl_type_ref(changes->type)};
    r->changes = changes;
    *out = &r->base;
    return TL_OK;
}

/* ---- reading splits ---- */

/* A file whose number of deletes is not known (written by an old release) may hold some: it is merged, which drops them. */
bool tl_table__reads_raw(const tl_split *split)
{
    for (size_t i = 0; i < split->files.n; i++) {
        if (split->files.items[i]->delete_rows == TL_ABSENT)
            return false;
    }
    return split->raw;
}

/* Columns that a scan without a list of them reads beyond the table's own: all that there are. */
static tl_status all_columns(const tl_table *table, const tl_scan_spec *spec, int32_t **made, tl_bucket_read_spec *read, tl_error *err)
{
    if (spec->columns != NULL || !tl_table__is_tracking(table))
        return TL_OK;
    int32_t n = table->row_type->n_fields;
    *made = tl_alloc((size_t)n * sizeof **made);
    if (*made == NULL)
        return tl_nomem(err, "read");
    for (int32_t i = 0; i < n; i++)
        (*made)[i] = i;
    read->columns = *made;
    read->n_columns = n;
    return TL_OK;
}

static tl_status read_chained(tl_table *table, const tl_split *split, const tl_bucket_read_spec *read, tl_reader **out, tl_error *err)
{
    tl_file_list files = {0};
    tl_status status = tl_chain__files(table, split, &files, err);
    if (status == TL_OK)
        status = tl_bucket_read(table->config, tl_bytes_view_of(split->partition), split->bucket, files.items, files.n, read, out, err);
    tl_file_list_deinit(&files);
    return status;
}

static tl_status read_data_split(tl_table *table, const tl_split *split, const tl_scan_spec *spec, bool keep_deletes, tl_reader **out,
                                 tl_error *err)
{
    tl_bucket_read_spec read = {.columns = spec->columns,
                                .n_columns = spec->n_columns,
                                .predicate = spec->predicate,
                                .keep_deletes = keep_deletes,
                                .with_kinds = spec->with_kinds,
                                .with_seq = tl_audit_wants_seq(table),
                                .vectors = split->vectors,
                                .follow_blobs = true,
                                .pool = spec->by_column};
    TL_CLEANUP(tl_freep) int32_t *columns = NULL;
    TL_TRY(all_columns(table, spec, &columns, &read, err));
    tl_bytes_view partition = tl_bytes_view_of(split->partition);
    tl_dv_set_use(split->vectors, table->fs);
    if (table->n_keys > 0 && !keep_deletes && !spec->with_kinds && (split->streaming || split->kind != TL_SPLIT_DATA)) {
        tl_scan_spec with_kinds = *spec;
        with_kinds.with_kinds = true;
        tl_reader *changes = NULL;
        TL_TRY(read_data_split(table, split, &with_kinds, /* keep_deletes= */ false, &changes, err));
        return only_adds(changes, out, err);
    }
    if (split->kind != TL_SPLIT_DATA)
        return tl_table__read_changes(table, split, &read, out, err);
    if (!split->other_branch && !keep_deletes) /* of streams each change for itself, as the caller's filter looks at them */
        read.map_filter = spec->map_filter;
    if (split->streaming || table->n_keys == 0)
        return tl_files_read(table->config, partition, split->bucket, split->files.items, split->files.n, &read, out, err);
    if (tl_table__reads_raw(split) && !keep_deletes)
        read.with_kinds = false; /* as in the reference: what needs no merging is all +I, whatever kind was written */
    if (split->places != NULL)
        return read_chained(table, split, &read, out, err);
    return tl_bucket_read(table->config, partition, split->bucket, split->files.items, split->files.n, &read, out, err);
}

tl_status tl_table_read_split(tl_table *table, const tl_split *split, const tl_scan_spec *spec, tl_reader **out, tl_error *err)
{
    char name[256];
    if (split->other_branch && table->other != NULL)
        table = table->other;
    if (table->config == NULL)
        return tl_error_set(err, TL_E_INVALID, "%s has no splits", tl_table__full_name(table, name));
    if (table->folder != NULL)
        return tl_error_wrap(err, tl_format_table__read(table, split, spec, out, err), "table %s", tl_table__full_name(table, name));
    if (!tl_table__is_audit(table))
        return tl_error_wrap(err, read_data_split(table, split, spec, /* keep_deletes= */ false, out, err), "table %s",
                             tl_table__full_name(table, name));
    tl_scan_spec data_spec;
    TL_CLEANUP(tl_freep) int32_t *columns = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    TL_TRY(tl_audit_data_spec(table, spec, &data_spec, &columns, &pred, err));
    tl_reader *data = NULL;
    TL_TRY(read_data_split(table, split, &data_spec, /* keep_deletes= */ true, &data, err));
    return tl_audit_reader(table, data, spec, tl_system__is(table, "binlog") && split->streaming, out, err);
}

/* ---- one reader over all splits ---- */

typedef struct read_ctx {
    tl_table *table;
    tl_splits splits;
    tl_scan_spec spec; /* columns and predicate are copies of ours */
    int32_t *columns;
    tl_predicate *predicate;
} read_ctx;

static tl_status open_split(void *ctx, size_t i, tl_pool *helpers, tl_reader **out, tl_error *err)
{
    const read_ctx *read = ctx;
    tl_scan_spec spec = read->spec;
    spec.by_column = helpers;
    if (read->spec.columns != NULL && read->spec.n_columns == 0 && read->table->folder == NULL)
        return tl_table__count_split(read->table, &read->splits.items[i], &spec, out, err);
    return tl_table_read_split(read->table, &read->splits.items[i], &spec, out, err);
}

static void free_read_ctx(void *ctx)
{
    read_ctx *read = ctx;
    tl_splits_deinit(&read->splits);
    tl_free(read->columns);
    tl_predicate_free(read->predicate);
    tl_map_filter_unref(read->spec.map_filter);
    tl_free(read);
}

static tl_status make_read_ctx(tl_table *table, const tl_scan_spec *spec, read_ctx **out, tl_error *err)
{
    read_ctx *read = tl_calloc(1, sizeof *read);
    if (read == NULL)
        return tl_nomem(err, "read");
    read->table = table;
    read->spec = *spec;
    read->spec.map_filter = tl_map_filter_ref(spec->map_filter);
    tl_status status = TL_OK;
    if (spec->columns != NULL) {
        read->columns = tl_alloc((size_t)(spec->n_columns + 1) * sizeof *read->columns);
        if (read->columns == NULL)
            status = tl_nomem(err, "read");
        else if (spec->n_columns > 0)
            memcpy(read->columns, spec->columns, (size_t)spec->n_columns * sizeof *read->columns);
        read->spec.columns = read->columns;
    }
    if (status == TL_OK && spec->predicate != NULL) {
        status = tl_predicate_dup(spec->predicate, &read->predicate, err);
        read->spec.predicate = read->predicate;
    }
    if (status == TL_OK)
        status = tl_table_plan(table, spec, &read->splits, err);
    if (status != TL_OK) {
        free_read_ctx(read);
        return status;
    }
    *out = read;
    return TL_OK;
}

static tl_status check_spec(const tl_table *table, const tl_scan_spec *spec, tl_error *err)
{
    for (int32_t i = 0; spec->columns != NULL && i < spec->n_columns; i++) {
        if (spec->columns[i] < 0 || spec->columns[i] >= table->row_type->n_fields)
            return tl_error_set(err, TL_E_INVALID, "column %d of a scan does not exist", spec->columns[i]);
    }
    return TL_OK;
}

tl_status tl_table_read(tl_table *table, const tl_scan_spec *spec, tl_reader **out, tl_error *err)
{
    TL_TRY(check_spec(table, spec, err));
    if (table->system != NULL && table->system->rows != NULL)
        return tl_system__read(table, spec, out, err);
    const tl_type *type = NULL;
    if (spec->columns == NULL)
        type = tl_type_ref(table->row_type);
    else
        TL_TRY(tl_type_project(table->row_type, spec->columns, spec->n_columns, &type, err));
    read_ctx *read = NULL;
    tl_status status = make_read_ctx(table, spec, &read, err);
    if (status == TL_OK)
        status = tl_parallel_reader(type, read->splits.n, open_split, read, free_read_ctx, spec->pool, spec->limit, out, err);
    tl_type_unref(type);
    return status;
}
