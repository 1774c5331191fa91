/*
 * Statistics of a table: rows after merging and bytes of the files that hold them, and of columns what is asked for, in a file that an
 * ANALYZE snapshot names. Later snapshots carry it on while the schema stays. Source: format reference §5; Java: Statistics, StatsFileHandler.
 */
#include "table/analyze_private.h"

typedef struct counts {
    int64_t rows;
    int64_t bytes;
    tl_column_summary *columns;
    int32_t n_columns;
} counts;

static void counts_deinit(counts *c)
{
    for (int32_t i = 0; i < c->n_columns; i++)
        tl_column_summary__deinit(&c->columns[i]);
    tl_free(c->columns);
}

/* A handle that reads just this snapshot. */
static tl_status open_at(tl_table *table, int64_t snapshot_id, tl_table **out, tl_error *err)
{
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)snapshot_id);
    tl_options at = {0};
    tl_status status = tl_options_set(&at, "scan.snapshot-id", id);
    if (status == TL_OK)
        status = tl_options_set(&at, "scan.mode", "from-snapshot");
    status = status == TL_OK ? tl_table__reopen(table, &at, out, err) : tl_nomem(err, "options");
    tl_options_deinit(&at);
    return status;
}

static tl_status count_bytes(tl_table *at, const tl_scan_spec *spec, counts *out, tl_error *err)
{
    tl_splits splits = {0};
    TL_TRY(tl_table_plan(at, spec, &splits, err));
    for (size_t i = 0; i < splits.n; i++) {
        for (size_t f = 0; f < splits.items[i].files.n; f++)
            out->bytes += splits.items[i].files.items[f]->bytes;
    }
    tl_splits_deinit(&splits);
    return TL_OK;
}

static tl_status count_rows(tl_table *at, const tl_scan_spec *spec, counts *out, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_table_read(at, spec, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        out->rows += batch->n_rows;
        for (int32_t i = 0; i < out->n_columns; i++)
            TL_TRY(tl_column_summary__add(&out->columns[i], batch->cols[i], err));
    }
}

static tl_status init_columns(const tl_table *table, const int32_t *columns, int32_t n, counts *out, tl_error *err)
{
    out->columns = tl_calloc((size_t)n + 1, sizeof *out->columns);
    if (out->columns == NULL)
        return tl_nomem(err, "statistics");
    for (int32_t i = 0; i < n; i++) {
        const tl_field *field = &table->row_type->fields[columns[i]];
        if (!tl_table_has_column_stats(field->type))
            return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s': there are no statistics of its type", field->name);
        TL_TRY(tl_column_summary__init(&out->columns[i], field, err));
        out->n_columns++;
    }
    return TL_OK;
}

static tl_status count(tl_table *table, const tl_snapshot *snap, const int32_t *columns, int32_t n_columns, tl_pool *pool, counts *out, tl_error *err)
{
    static const int32_t none[1];
    TL_CLEANUP(tl_table_freep) tl_table *at = NULL;
    TL_TRY(open_at(table, snap->id, &at, err));
    TL_TRY(init_columns(table, columns, n_columns, out, err));
    tl_scan_spec spec = {.columns = n_columns > 0 ? columns : none, .n_columns = n_columns, .limit = -1, .pool = pool};
    TL_TRY(count_bytes(at, &spec, out, err));
    return count_rows(at, &spec, out, err);
}

static tl_status format(const tl_snapshot *snap, const counts *c, tl_bytes *out, tl_error *err)
{
    tl_json_writer w;
    tl_json_writer_init(&w, /* pretty= */ true);
    tl_json_begin_object(&w);
    tl_json_key(&w, "snapshotId");
    tl_json_write_int(&w, snap->id);
    tl_json_key(&w, "schemaId");
    tl_json_write_int(&w, snap->schema_id);
    tl_json_key(&w, "mergedRecordCount");
    tl_json_write_int(&w, c->rows);
    tl_json_key(&w, "mergedRecordSize");
    tl_json_write_int(&w, c->bytes);
    tl_json_key(&w, "colStats");
    tl_json_begin_object(&w);
    tl_status status = TL_OK;
    for (int32_t i = 0; i < c->n_columns && status == TL_OK; i++)
        status = tl_column_summary__write(&c->columns[i], &w, err);
    tl_json_end_object(&w);
    tl_json_end_object(&w);
    if (status == TL_OK && w.status != TL_OK)
        status = tl_nomem(err, "statistics");
    if (status == TL_OK)
        *out = tl_buf_steal(&w.out);
    tl_json_writer_deinit(&w);
    return status;
}

static tl_status write_file(tl_table *table, const tl_snapshot *snap, const counts *c, char **name, char **path, tl_error *err)
{
    char uuid[37];
    tl_uuid(uuid);
    TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&table->paths, "statistics");
    *name = tl_strf("stat-%s-0", uuid);
    *path = dir == NULL || *name == NULL ? NULL : tl_path_join(dir, *name);
    if (*path == NULL)
        return tl_nomem(err, "path");
    tl_bytes text = {0};
    TL_TRY(format(snap, c, &text, err));
    tl_status status = tl_fs_publish(table->fs, *path, tl_bytes_view_of(text), /* replace= */ false, err);
    tl_bytes_deinit(&text);
    return status;
}

static tl_status commit(tl_table *table, const char *user, const char *statistics, tl_commit_result *out, tl_error *err)
{
    char uuid[37];
    tl_uuid(uuid);
    tl_attempt attempt = {.table = table,
                          .user = user == NULL ? uuid : user,
                          .identifier = TL_COMMIT_BATCH,
                          .watermark = TL_ABSENT,
                          .kind = TL_COMMIT_ANALYZE,
                          .statistics = statistics};
    tl_changes nothing = {0};
    tl_commit_result result = {.snapshots = 1};
    TL_TRY(tl_commit__try(&attempt, &nothing, &result.snapshot_id, &result.retries, err));
    if (out != NULL)
        *out = result;
    return TL_OK;
}

tl_status tl_table_analyze(tl_table *table, const int32_t *columns, int32_t n_columns, const char *user, tl_pool *pool, tl_commit_result *out,
                           tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "analyze it", err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    tl_table__full_name(table, name);
    if (latest == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "table %s has no snapshot to analyze", name);
    TL_CLEANUP(tl_freep) char *file = NULL;
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_CLEANUP(counts_deinit) counts c = {0};
    TL_TRY(tl_error_wrap(err, count(table, latest, columns, n_columns, pool, &c, err), "analyzing table %s", name));
    TL_TRY(write_file(table, latest, &c, &file, &path, err));
    tl_error local;
    tl_error *why = err == NULL ? &local : err;
    tl_status status = commit(table, user, file, out, why);
    if (status == TL_E_CONFLICT && !why->retryable)
        (void)tl_fs_remove(table->fs, path, NULL); /* otherwise the snapshot may be there, and an orphan is harmless */
    return tl_error_wrap(err, status, "statistics of table %s", name);
}
