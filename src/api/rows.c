/* Reading: batch reads, splits, changes. */
#include "api/api_private.h"

#include "types/arrow.h"

tl_status tl_api__batch(tl_batch *batch, tidelake_batch **out, tl_error *err)
{
    tidelake_batch *handle = tl_alloc(sizeof *handle);
    if (handle == NULL) {
        tl_batch_free(batch);
        return tl_nomem(err, "batch");
    }
    handle->batch = batch;
    *out = handle;
    return TL_OK;
}

tl_status tl_api__find_columns(const tl_type *row_type, const char *const *names, size_t n, int32_t **out, tl_error *err)
{
    int32_t *columns = tl_alloc(sizeof *columns * (n + 1));
    if (columns == NULL)
        return tl_nomem(err, "columns");
    for (size_t i = 0; i < n; i++) {
        columns[i] = tl_type_field_index(row_type, names[i]);
        if (columns[i] < 0) {
            tl_free(columns);
            return tl_error_set(err, TL_E_INVALID, "no column '%s' in the table", names[i]);
        }
    }
    *out = columns;
    return TL_OK;
}

tl_status tl_api__parse_where(const char *where, const tl_type *row_type, tl_predicate **out, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status = tl_api__parse_json(&arena, (tl_bytes_view){(const uint8_t *)where, strlen(where)}, &json, err);
    if (status == TL_OK)
        status = tl_predicate_from_json(json, row_type, out, err);
    tl_arena_deinit(&arena);
    return tl_error_wrap(err, status, "filter");
}

/* Fill `rows` (whose clean-up frees what was made) and the scan spec that points into it. */
static tl_status make_spec(tidelake_table *table, const tidelake_read_options *options, tidelake_rows *rows, tl_scan_spec *spec,
                           tl_error *err)
{
    const tl_type *row_type = tl_table_row_type(table->table);
    *spec = (tl_scan_spec){.limit = -1};
    if (TL_API_HAS(options, n_columns) && options->columns != NULL) {
        TL_TRY(tl_api__find_columns(row_type, options->columns, options->n_columns, &rows->columns, err));
        spec->columns = rows->columns;
        spec->n_columns = (int32_t)options->n_columns;
    }
    if (TL_API_HAS(options, where) && options->where != NULL) {
        TL_TRY(tl_api__parse_where(options->where, row_type, &rows->predicate, err));
        spec->predicate = rows->predicate;
    }
    if (TL_API_HAS(options, limit))
        spec->limit = options->limit;
    if (TL_API_HAS(options, kinds))
        spec->with_kinds = options->kinds != 0;
    if (TL_API_HAS(options, threads) && options->threads > 1) {
        TL_TRY(tl_pool_create(options->threads, &rows->pool, err));
        spec->pool = rows->pool;
    }
    return TL_OK;
}

static tl_status make_rows(tidelake_table *table, tidelake_rows **out, tl_error *err)
{
    tidelake_rows *rows = tl_calloc(1, sizeof *rows);
    if (rows == NULL)
        return tl_nomem(err, "rows");
    rows->table = table;
    *out = rows;
    return TL_OK;
}

tl_status tidelake_read(tidelake_table *table, const tidelake_read_options *options, tidelake_rows **out, tl_error *err)
{
    tidelake_rows *rows;
    TL_TRY(make_rows(table, &rows, err));
    tl_scan_spec spec;
    tl_status status = make_spec(table, options, rows, &spec, err);
    if (status == TL_OK)
        status = tl_table_read(table->table, &spec, &rows->reader, err);
    if (status != TL_OK) {
        tidelake_rows_free(rows);
        return tl_api__in_table(table, status, err);
    }
    rows->type = rows->reader->type;
    *out = rows;
    return TL_OK;
}

/* A table that is followed is opened anew: its scan.* options say where to begin, and the schema is the latest one. */
static tl_status open_followed(tidelake_table *table, const tidelake_changes_options *options, tl_table **out, tl_error *err)
{
    tl_options all;
    if (tl_options_dup(&table->options, &all) != TL_OK)
        return tl_nomem(err, "options");
    tl_status status = TL_OK;
    if (TL_API_HAS(options, n_options))
        for (size_t i = 0; i < options->n_options && status == TL_OK; i++)
            status = tl_options_set(&all, options->options[i].key, options->options[i].value);
    status = status == TL_OK ? tl_table_open_streaming(table->lake->catalog, table->db, table->name, &all, out, err)
                             : tl_nomem(err, "options");
    tl_options_deinit(&all);
    return status;
}

tl_status tidelake_changes(tidelake_table *table, const tidelake_changes_options *options, tidelake_rows **out, tl_error *err)
{
    tidelake_rows *rows;
    TL_TRY(make_rows(table, &rows, err));
    int64_t next = TL_API_HAS(options, next_snapshot) ? options->next_snapshot : 0;
    rows->to_snapshot = TL_API_HAS(options, to_snapshot) && options->to_snapshot > 0 ? options->to_snapshot : INT64_MAX;
    rows->follow = TL_API_HAS(options, follow) && options->follow != 0;
    rows->poll_ms = TL_API_HAS(options, poll_ms) && options->poll_ms > 0 ? options->poll_ms : 200;
    tl_status status = open_followed(table, options, &rows->followed, err);
    if (status == TL_OK) {
        rows->type = tl_table_row_type(rows->followed);
        status = tl_stream_scan_create(rows->followed, next, &rows->scan, err);
    }
    if (status != TL_OK) {
        tidelake_rows_free(rows);
        return tl_api__in_table(table, status, err);
    }
    *out = rows;
    return TL_OK;
}

int64_t tidelake_changes_position(tidelake_rows *rows)
{
    return rows->scan == NULL ? 0 : tl_stream_scan_position(rows->scan);
}

/* Plan until there are splits; *end is set when nothing more is to come. */
static tl_status plan_changes(tidelake_rows *rows, bool *end, tl_error *err)
{
    *end = false;
    for (;;) {
        if (tl_stream_scan_position(rows->scan) > rows->to_snapshot) {
            *end = true;
            return TL_OK;
        }
        tl_splits_deinit(&rows->splits);
        rows->next_split = 0;
        bool ready, is_full;
        int64_t before = tl_stream_scan_position(rows->scan);
        TL_TRY(tl_stream_scan_plan(rows->scan, &rows->splits, &ready, &rows->snapshot_id, &is_full, err));
        if (ready && rows->splits.n > 0 && rows->snapshot_id <= rows->to_snapshot)
            return TL_OK;
        if (ready || tl_stream_scan_position(rows->scan) != before)
            continue; /* a snapshot without changes, or only the start was found */
        if (!rows->follow) {
            *end = true;
            return TL_OK;
        }
        tl_sleep_ms(rows->poll_ms);
    }
}

static tl_status next_change(tidelake_rows *rows, tl_batch **out, tl_error *err)
{
    for (;;) {
        if (rows->reader != NULL) {
            TL_TRY(tl_reader_next(rows->reader, out, err));
            if (*out != NULL) {
                (*out)->snapshot = rows->split_snapshot;
                return TL_OK;
            }
            tl_reader_free(rows->reader);
            rows->reader = NULL;
        }
        if (rows->next_split == rows->splits.n) {
            bool end;
            TL_TRY(plan_changes(rows, &end, err));
            if (end) {
                *out = NULL;
                return TL_OK;
            }
        }
        tl_scan_spec spec = {.limit = -1, .with_kinds = true};
        const tl_split *split = &rows->splits.items[rows->next_split++];
        if (split->snapshot_id > 0)
            rows->snapshot_id = split->snapshot_id;
        rows->split_snapshot =
            split->kind == TL_SPLIT_DATA ? rows->snapshot_id : -1; /* changes between two snapshots: of neither */
        TL_TRY(tl_table_read_split(rows->followed, split, &spec, &rows->reader, err));
    }
}

tl_status tidelake_rows_next(tidelake_rows *rows, tidelake_batch **out, tl_error *err)
{
    tl_batch *batch = NULL;
    if (rows->table == NULL)
        TL_TRY(tl_reader_next(rows->reader, &batch, err));
    else if (rows->scan != NULL)
        TL_TRY(tl_api__in_table(rows->table, next_change(rows, &batch, err), err));
    else
        TL_TRY(tl_api__in_table(rows->table, tl_reader_next(rows->reader, &batch, err), err));
    if (batch == NULL) {
        *out = NULL;
        return TL_OK;
    }
    return tl_api__batch(batch, out, err);
}

void tidelake_rows_free(tidelake_rows *rows)
{
    if (rows == NULL)
        return;
    tl_reader_free(rows->reader);
    if (rows->release_owner != NULL)
        rows->release_owner(rows->owner);
    tl_stream_scan_free(rows->scan);
    tl_splits_deinit(&rows->splits);
    tl_table_free(rows->followed);
    tl_pool_free(rows->pool);
    tl_free(rows->columns);
    tl_predicate_free(rows->predicate);
    tl_free(rows);
}

/* As a tl_reader, for the Arrow stream. */
typedef struct rows_reader {
    tl_reader base;
    tidelake_rows *rows;
} rows_reader;

static tl_status rows_reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    tidelake_batch *handle;
    TL_TRY(tidelake_rows_next(((rows_reader *)reader)->rows, &handle, err));
    *out = handle == NULL ? NULL : TL_STEAL(handle->batch);
    tl_free(handle);
    return TL_OK;
}

static void rows_reader_free(tl_reader *reader)
{
    tl_type_unref(reader->type);
    tidelake_rows_free(((rows_reader *)reader)->rows);
    tl_free(reader);
}

tl_status tidelake_rows_stream(tidelake_rows *rows, struct ArrowArrayStream *out, tl_error *err)
{
    static const tl_reader_ops ops = {rows_reader_next, rows_reader_free};
    rows_reader *reader = tl_calloc(1, sizeof *reader);
    if (reader == NULL) {
        tidelake_rows_free(rows);
        return tl_nomem(err, "stream");
    }
    reader->base.ops = &ops;
    reader->base.type = tl_type_ref(rows->type);
    reader->rows = rows;
    return tl_arrow_export_stream(&reader->base, out, err);
}

tl_status tidelake_rows_arrow_schema(tidelake_rows *rows, struct ArrowSchema *out, tl_error *err)
{
    return tl_arrow_export_schema(rows->type, out, err);
}

tl_status tidelake_table_arrow_schema(tidelake_table *table, struct ArrowSchema *out, tl_error *err)
{
    return tl_arrow_export_schema(tl_table_row_type(table->table), out, err);
}

void tidelake_batch_free(tidelake_batch *batch)
{
    if (batch == NULL)
        return;
    tl_batch_free(batch->batch);
    tl_free(batch);
}

int64_t tidelake_batch_rows(const tidelake_batch *batch)
{
    return batch->batch->n_rows;
}

int tidelake_batch_kind(const tidelake_batch *batch, int64_t row)
{
    return tl_batch_kind(batch->batch, row);
}

int64_t tidelake_batch_snapshot(const tidelake_batch *batch)
{
    return batch->batch->snapshot;
}

tl_status tidelake_batch_arrow(const tidelake_batch *batch, struct ArrowArray *out, tl_error *err)
{
    return tl_arrow_export_batch(batch->batch, out, err);
}

/* ---- splits ---- */

tl_status tl_api__pack(tl_buf *pieces, size_t n, tidelake_bytes **out, tl_error *err)
{
    size_t total = sizeof(tidelake_bytes) * (n + 1);
    for (size_t i = 0; i < n; i++)
        total += pieces[i].len;
    tidelake_bytes *packed = tl_alloc(total);
    if (packed == NULL)
        return tl_nomem(err, "serialised pieces");
    uint8_t *p = (uint8_t *)(packed + n + 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(p, pieces[i].data, pieces[i].len);
        packed[i] = (tidelake_bytes){p, pieces[i].len};
        p += pieces[i].len;
    }
    packed[n] = (tidelake_bytes){NULL, 0};
    *out = packed;
    return TL_OK;
}

static tl_status serialize_splits(tidelake_table *table, const tl_splits *splits, tidelake_bytes **out, tl_error *err)
{
    const tl_lsm_config *config = tl_table_config(table->table);
    tl_buf *pieces = tl_calloc(splits->n + 1, sizeof *pieces);
    if (pieces == NULL)
        return tl_nomem(err, "splits");
    tl_status status = TL_OK;
    for (size_t i = 0; i < splits->n && status == TL_OK; i++) {
        const tl_split *split = &splits->items[i];
        char *path = tl_bucket_dir(config, tl_bytes_view_of(split->partition), split->bucket);
        if (path == NULL) {
            status = tl_nomem(err, "path");
            break;
        }
        status = tl_split_serialize(split, path, &pieces[i], err);
        tl_free(path);
    }
    if (status == TL_OK)
        status = tl_api__pack(pieces, splits->n, out, err);
    for (size_t i = 0; i < splits->n; i++)
        tl_buf_deinit(&pieces[i]);
    tl_free(pieces);
    return status;
}

tl_status tidelake_plan(tidelake_table *table, const tidelake_read_options *options, tidelake_bytes **out, size_t *n,
                        tl_error *err)
{
    tidelake_rows *rows;
    TL_TRY(make_rows(table, &rows, err));
    tl_scan_spec spec;
    tl_splits splits = {0};
    tl_status status = make_spec(table, options, rows, &spec, err);
    if (status == TL_OK)
        status = tl_table_plan(table->table, &spec, &splits, err);
    if (status == TL_OK)
        status = serialize_splits(table, &splits, out, err);
    if (status == TL_OK)
        *n = splits.n;
    tl_splits_deinit(&splits);
    tidelake_rows_free(rows);
    return tl_api__in_table(table, status, err);
}

tl_status tidelake_read_split(tidelake_table *table, tidelake_bytes split, const tidelake_read_options *options,
                              tidelake_rows **out, tl_error *err)
{
    tidelake_rows *rows;
    TL_TRY(make_rows(table, &rows, err));
    tl_scan_spec spec;
    tl_status status = make_spec(table, options, rows, &spec, err);
    if (status == TL_OK) {
        rows->splits.items = tl_calloc(1, sizeof *rows->splits.items);
        rows->splits.cap = rows->splits.items == NULL ? 0 : 1;
        status = rows->splits.items == NULL
                     ? tl_nomem(err, "split")
                     : tl_split_deserialize((tl_bytes_view){split.data, split.len}, &rows->splits.items[0], err);
    }
    if (status == TL_OK) {
        rows->splits.n = 1;
        status = tl_table_read_split(table->table, &rows->splits.items[0], &spec, &rows->reader, err);
    }
    if (status != TL_OK) {
        tidelake_rows_free(rows);
        return tl_api__in_table(table, status, err);
    }
    rows->type = rows->reader->type;
    *out = rows;
    return TL_OK;
}
