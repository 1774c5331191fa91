/* Stored statistics as bounds per column, for pruning. Java: SimpleStatsEvolution (dense columns). */
#include "base/bits.h"
#include "meta/meta_private.h"
#include "types/binary_row.h"

/*
 * The ROW that the stored bounds have, and where each of its fields belongs: place[k] is the field of `row_type`, or -1 for
 * a name it does not have. Such a field is read as a BIGINT, which any slot of a row can be, and left aside.
 */
static tl_status stored_type(const tl_type *row_type, char *const *names, int32_t n, int32_t *place, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *filler = NULL;
    TL_TRY(tl_type_create(TL_BIGINT, true, 0, 0, &filler, err));
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)n + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "statistics");
    for (int32_t k = 0; k < n; k++) {
        place[k] = tl_type_field_index(row_type, names[k]);
        fields[k] = (tl_field){.name = names[k], .id = k, .type = place[k] < 0 ? filler : row_type->fields[place[k]].type};
    }
    return tl_type_create_row(/* nullable= */ false, fields, n, out, err);
}

static void place_bounds(const tl_simple_stats *stats, const int32_t *place, tl_bounds *out)
{
    for (int32_t k = 0; k < out->min->n_cols; k++) {
        if (place[k] < 0)
            continue;
        tl_col_bounds *col = &out->cols[place[k]];
        col->min = tl_col_is_null(out->min->cols[k], 0) ? NULL : out->min->cols[k];
        col->max = tl_col_is_null(out->max->cols[k], 0) ? NULL : out->max->cols[k];
        if (k < stats->n)
            col->null_count = stats->null_counts[k];
    }
}

static tl_status decode(const tl_simple_stats *stats, const tl_type *type, const int32_t *place, tl_bounds *out, tl_error *err)
{
    TL_TRY(tl_binary_row_decode(tl_bytes_view_of(stats->min), type, /* with_arity= */ true, &out->min, err));
    TL_TRY(tl_binary_row_decode(tl_bytes_view_of(stats->max), type, /* with_arity= */ true, &out->max, err));
    place_bounds(stats, place, out);
    return TL_OK;
}

/* Statistics that were dropped are rows without fields. */
static bool is_empty(const tl_simple_stats *stats)
{
    return stats->min.len < 4 || tl_read_be32(stats->min.data) == 0 || stats->max.len < 4 || tl_read_be32(stats->max.data) == 0;
}

static tl_status fill(const tl_simple_stats *stats, const tl_type *row_type, char *const *dense_cols, int32_t n_dense_cols, tl_bounds *out,
                      tl_error *err)
{
    int32_t n = n_dense_cols < 0 ? row_type->n_fields : n_dense_cols;
    if (is_empty(stats) || n == 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) int32_t *place = tl_calloc((size_t)n, sizeof *place);
    if (place == NULL)
        return tl_nomem(err, "statistics");
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    if (n_dense_cols >= 0) {
        TL_TRY(stored_type(row_type, dense_cols, n, place, &type, err));
    } else {
        type = tl_type_ref(row_type);
        for (int32_t i = 0; i < n; i++)
            place[i] = i;
    }
    return tl_error_wrap(err, decode(stats, type, place, out, err), "statistics");
}

tl_status tl_simple_stats_bounds(const tl_simple_stats *stats, const tl_type *row_type, char *const *dense_cols, int32_t n_dense_cols,
                                 tl_bounds *out, tl_error *err)
{
    tl_bounds bounds = {.n = row_type->n_fields};
    bounds.cols = tl_calloc((size_t)bounds.n + 1, sizeof *bounds.cols);
    if (bounds.cols == NULL)
        return tl_nomem(err, "statistics");
    for (int32_t i = 0; i < bounds.n; i++)
        bounds.cols[i].null_count = -1;
    tl_status status = fill(stats, row_type, dense_cols, n_dense_cols, &bounds, err);
    if (status != TL_OK)
        tl_bounds_deinit(&bounds);
    else
        *out = bounds;
    return status;
}

void tl_bounds_deinit(tl_bounds *bounds)
{
    tl_batch_free(bounds->min);
    tl_batch_free(bounds->max);
    tl_free(bounds->cols);
    *bounds = (tl_bounds){0};
}
