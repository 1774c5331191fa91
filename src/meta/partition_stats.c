/*
 * Partition statistics of a manifest: full bounds and null counts of its entries' partition rows (format reference §4.1).
 * Java: ManifestFile.ManifestEntryWriter, SimpleStatsCollector.
 */
#include "meta/manifest_record.h"
#include "meta/meta_private.h"
#include "types/binary_row.h"
#include "types/key.h"

/* The distinct partition rows of the entries as columns, and how many entries have each. */
typedef struct partition_rows {
    tl_map seen;
    tl_builder **builders;
    tl_column **cols;
    int32_t n_cols;
    int64_t *counts; /* per row */
    size_t n;
    size_t cap;
} partition_rows;

static void rows_deinit(partition_rows *rows)
{
    tl_map_deinit(&rows->seen);
    for (int32_t c = 0; c < rows->n_cols; c++) {
        if (rows->builders != NULL)
            tl_builder_free(rows->builders[c]);
        if (rows->cols != NULL)
            tl_column_unref(rows->cols[c]);
    }
    tl_free(rows->builders);
    tl_free(rows->cols);
    tl_free(rows->counts);
}

static tl_status rows_init(partition_rows *rows, const tl_type *type, tl_error *err)
{
    rows->builders = tl_calloc((size_t)type->n_fields + 1, sizeof *rows->builders);
    rows->cols = tl_calloc((size_t)type->n_fields + 1, sizeof *rows->cols);
    if (rows->builders == NULL || rows->cols == NULL)
        return tl_nomem(err, "partition statistics");
    rows->n_cols = type->n_fields;
    for (int32_t c = 0; c < type->n_fields; c++)
        TL_TRY(tl_builder_create(type->fields[c].type, &rows->builders[c], err));
    return TL_OK;
}

/* Values of the map are row numbers + 1. */
static tl_status rows_add(partition_rows *rows, tl_bytes_view partition, const tl_type *type, tl_error *err)
{
    void *value = tl_map_get(&rows->seen, partition.data, partition.len);
    if (value != NULL) {
        rows->counts[(uintptr_t)value - 1]++;
        return TL_OK;
    }
    if (rows->n == rows->cap) {
        size_t cap = TL_MAX(rows->cap * 2, (size_t)16);
        int64_t *counts = tl_realloc(rows->counts, cap * sizeof *counts);
        if (counts == NULL)
            return tl_nomem(err, "partition statistics");
        rows->counts = counts;
        rows->cap = cap;
    }
    TL_TRY(tl_binary_row_read(partition, type, /* with_arity= */ true, rows->builders, err));
    rows->counts[rows->n++] = 1;
    return tl_map_put(&rows->seen, partition.data, partition.len, (void *)(uintptr_t)rows->n, NULL) == TL_OK
               ? TL_OK
               : tl_nomem(err, "partition statistics");
}

/* Binary values are not comparable in the reference: no bounds. */
static bool has_bounds(const tl_type *type)
{
    return type->kind <= TL_VARCHAR || (type->kind >= TL_DATE && type->kind <= TL_TIMESTAMP_LTZ);
}

/* Rows of the least and greatest value, -1 if there is none; and the number of entries with a null. */
static void bounds_of(const partition_rows *rows, int32_t c, int64_t *min, int64_t *max, int64_t *null_count)
{
    const tl_column *col = rows->cols[c];
    *min = *max = -1;
    *null_count = 0;
    for (int64_t i = 0; i < (int64_t)rows->n; i++) {
        if (tl_col_is_null(col, i)) {
            *null_count += rows->counts[i];
            continue;
        }
        if (!has_bounds(col->type))
            continue;
        if (*min < 0 || tl_column_compare(col, i, col, *min, false, true) < 0)
            *min = i;
        if (*max < 0 || tl_column_compare(col, i, col, *max, false, true) > 0)
            *max = i;
    }
}

/* A column of two rows: the bounds. */
static tl_status bounds_column(const tl_column *col, int64_t min, int64_t max, tl_column **out, tl_error *err)
{
    const tl_column *srcs[1] = {col};
    tl_rowref refs[2] = {{0, min < 0 ? TL_ROW_NULL : (uint32_t)min}, {0, max < 0 ? TL_ROW_NULL : (uint32_t)max}};
    TL_CLEANUP(tl_type_unrefp) const tl_type *nullable = NULL;
    TL_TRY(tl_type_with_nullable(col->type, true, &nullable, err));
    return tl_column_gather_multi(nullable, srcs, refs, 2, out, err);
}

static tl_status encode(const partition_rows *rows, tl_column **bounds, tl_simple_stats *out, tl_error *err)
{
    for (int32_t c = 0; c < rows->n_cols; c++) {
        int64_t min, max;
        bounds_of(rows, c, &min, &max, &out->null_counts[c]);
        TL_TRY(bounds_column(rows->cols[c], min, max, &bounds[c], err));
    }
    out->n = rows->n_cols;
    return tl_meta__encode_bounds(bounds, rows->n_cols, out, err);
}

tl_status tl_meta__encode_bounds(tl_column *const *bounds, int32_t n, tl_simple_stats *out, tl_error *err)
{
    tl_buf row = {0};
    for (int b = 0; b < 2; b++) {
        tl_status status =
            tl_binary_row_append(&row, (const tl_column *const *)bounds, n, b, TL_KIND_INSERT, /* with_arity= */ true);
        if (status != TL_OK) {
            tl_buf_deinit(&row);
            return status == TL_E_NOMEM ? tl_nomem(err, "statistics")
                                        : tl_error_set(err, status, "statistics do not fit a row");
        }
        *(b == 0 ? &out->min : &out->max) = tl_buf_steal(&row);
    }
    return TL_OK;
}

static tl_status collect(partition_rows *rows, const tl_manifest_entry *entries, size_t n, const tl_type *type, tl_error *err)
{
    TL_TRY(rows_init(rows, type, err));
    for (size_t i = 0; i < n; i++)
        TL_TRY(rows_add(rows, tl_bytes_view_of(entries[i].partition), type, err));
    for (int32_t c = 0; c < rows->n_cols; c++)
        TL_TRY(tl_builder_finish(rows->builders[c], &rows->cols[c], err));
    return TL_OK;
}

tl_status tl_meta__partition_stats(const tl_manifest_entry *entries, size_t n, const tl_type *partition_type,
                                   tl_simple_stats *out, tl_error *err)
{
    partition_rows rows = {0};
    tl_simple_stats stats = {0};
    size_t n_cols = (size_t)partition_type->n_fields;
    tl_column **bounds = tl_calloc(n_cols + 1, sizeof(tl_column *));
    stats.null_counts = tl_calloc(n_cols + 1, sizeof *stats.null_counts);
    tl_status status = bounds == NULL || stats.null_counts == NULL ? tl_nomem(err, "partition statistics") : TL_OK;
    if (status == TL_OK)
        status = collect(&rows, entries, n, partition_type, err);
    if (status == TL_OK)
        status = encode(&rows, bounds, &stats, err);
    for (size_t c = 0; c < n_cols && bounds != NULL; c++)
        tl_column_unref(bounds[c]);
    tl_free(bounds);
    rows_deinit(&rows);
    if (status == TL_OK)
        *out = stats;
    else
        tl_simple_stats_deinit(&stats);
    return tl_error_wrap(err, status, "partition statistics");
}
