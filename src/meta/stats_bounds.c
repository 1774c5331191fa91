/* Stored statistics as bounds per column, for pruning. Java: SimpleStatsEvolution (dense columns). */
#include "base/bits.h"
#include "meta/meta_private.h"
#include "types/binary_row.h"
#include "types/number.h"

/* The stored rows: their columns, and the builders of those that are wanted. */
typedef struct stored {
    int32_t n;
    const tl_field *fields;
    tl_field *dense;       /* the fields, if they had to be put together */
    int32_t *place;        /* field of the ROW wanted, -1: none */
    tl_builder **builders; /* NULL: not wanted */
} stored;

static void stored_deinit(stored *st)
{
    for (int32_t k = 0; st->builders != NULL && k < st->n; k++)
        tl_builder_free(st->builders[k]);
    tl_free(st->builders);
    tl_free(st->place);
    tl_free(st->dense);
}

/* The fields that the stored rows have: those of the ROW, or those that the file names. */
static tl_status stored_fields(stored *st, const tl_type *row_type, char *const *names, tl_error *err)
{
    if (names == NULL) {
        st->fields = row_type->fields;
        for (int32_t k = 0; k < st->n; k++)
            st->place[k] = k;
        return TL_OK;
    }
    if ((st->dense = tl_calloc((size_t)st->n, sizeof *st->dense)) == NULL)
        return tl_nomem(err, "statistics");
    for (int32_t k = 0; k < st->n; k++) {
        st->place[k] = tl_type_field_index(row_type, names[k]);
        st->dense[k].name = names[k]; /* borrowed, as is the type; a column that the ROW has not is passed over */
        st->dense[k].type = st->place[k] < 0 ? NULL : row_type->fields[st->place[k]].type;
    }
    st->fields = st->dense;
    return TL_OK;
}

static tl_status stored_init(stored *st, int32_t n, const tl_type *row_type, const bool *used, char *const *names,
                             tl_error *err)
{
    st->n = n;
    st->place = tl_calloc((size_t)n, sizeof *st->place);
    st->builders = tl_calloc((size_t)n, sizeof *st->builders);
    if (st->place == NULL || st->builders == NULL)
        return tl_nomem(err, "statistics");
    TL_TRY(stored_fields(st, row_type, names, err));
    for (int32_t k = 0; k < n; k++) {
        if (st->place[k] >= 0 && (used == NULL || used[st->place[k]]))
            TL_TRY(tl_builder_create(st->fields[k].type, &st->builders[k], err));
    }
    return TL_OK;
}

/* Both rows into the builders, then each builder's column to its place. */
static tl_status decode(const tl_simple_stats *stats, stored *st, tl_bounds *out, tl_error *err)
{
    /* A view on the fields, not a type of its own: making one for each file would cost more than reading the file's bounds. */
    const tl_type view = {.kind = TL_ROW, .n_fields = st->n, .fields = (tl_field *)st->fields};
    TL_TRY(tl_binary_row_read(tl_bytes_view_of(stats->min), &view, /* with_arity= */ true, st->builders, err));
    TL_TRY(tl_binary_row_read(tl_bytes_view_of(stats->max), &view, /* with_arity= */ true, st->builders, err));
    for (int32_t k = 0; k < st->n; k++) {
        if (st->builders[k] == NULL)
            continue;
        int32_t i = st->place[k];
        tl_column_unref(TL_STEAL(out->columns[i])); /* a name that is listed twice */
        TL_TRY(tl_builder_finish(st->builders[k], &out->columns[i], err));
        const tl_column *col = out->columns[i];
        out->cols[i] = (tl_col_bounds){
            .min = tl_col_is_null(col, 0) ? NULL : col,
            .max = tl_col_is_null(col, 1) ? NULL : col,
            .min_row = 0,
            .max_row = 1,
            .null_count = k < stats->n ? stats->null_counts[k] : -1,
        };
    }
    return TL_OK;
}

/* Statistics that were dropped are rows without fields. */
static bool is_empty(const tl_simple_stats *stats)
{
    return stats->min.len < 4 || tl_read_be32(stats->min.data) == 0 || stats->max.len < 4 || tl_read_be32(stats->max.data) == 0;
}

static tl_status bounds_init(tl_bounds *bounds, int32_t n, tl_error *err)
{
    bounds->n = n;
    bounds->cols = tl_calloc((size_t)n + 1, sizeof *bounds->cols);
    bounds->columns = tl_calloc((size_t)n + 1, sizeof *bounds->columns);
    if (bounds->cols == NULL || bounds->columns == NULL)
        return tl_nomem(err, "statistics");
    for (int32_t i = 0; i < n; i++)
        bounds->cols[i].null_count = -1;
    return TL_OK;
}

tl_status tl_simple_stats_bounds_of(const tl_simple_stats *stats, const tl_type *row_type, const bool *used,
                                    char *const *dense_cols, int32_t n_dense_cols, tl_bounds *out, tl_error *err)
{
    tl_bounds bounds = {0};
    stored st = {0};
    int32_t n = n_dense_cols < 0 ? row_type->n_fields : n_dense_cols;
    tl_status status = bounds_init(&bounds, row_type->n_fields, err);
    if (status == TL_OK && n > 0 && !is_empty(stats)) {
        status = stored_init(&st, n, row_type, used, n_dense_cols < 0 ? NULL : dense_cols, err);
        if (status == TL_OK)
            status = tl_error_wrap(err, decode(stats, &st, &bounds, err), "statistics");
        stored_deinit(&st);
    }
    if (status != TL_OK)
        tl_bounds_deinit(&bounds);
    else
        *out = bounds;
    return status;
}

tl_status tl_simple_stats_bounds(const tl_simple_stats *stats, const tl_type *row_type, char *const *dense_cols,
                                 int32_t n_dense_cols, tl_bounds *out, tl_error *err)
{
    return tl_simple_stats_bounds_of(stats, row_type, /* used= */ NULL, dense_cols, n_dense_cols, out, err);
}

static tl_status unpad_min(tl_builder *builder, const tl_column *padded)
{
    tl_bytes_view min = tl_predicate_char_min(tl_col_bytes(padded, 0));
    TL_TRY(tl_col_is_null(padded, 0) ? tl_builder_null(builder) : tl_builder_bytes(builder, min.data, min.len));
    return tl_builder_copy(builder, padded, 1);
}

/* The last moment of the greatest value's millisecond, if it may have been cut to that. */
static tl_status fill_millisecond(tl_builder *builder, const tl_column *cut)
{
    int64_t seconds;
    int32_t nanos;
    tl_text__timestamp_at(cut, 1, &seconds, &nanos);
    int32_t of_milli = nanos % 1000000;
    TL_TRY(tl_builder_copy(builder, cut, 0));
    return tl_builder_timestamp(builder, seconds * 1000 + nanos / 1000000, of_milli == 0 ? 999999 : of_milli);
}

static tl_status rebuild(tl_column **col, tl_status (*rows)(tl_builder *builder, const tl_column *from), tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *from = TL_STEAL(*col);
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(from->type, &builder, err));
    tl_status status = rows(builder, from);
    status = status == TL_OK ? tl_builder_finish(builder, col, err) : tl_builder_error(builder, status, err);
    tl_builder_free(builder);
    return status;
}

tl_status tl_bounds_loosen(tl_bounds *bounds, tl_error *err)
{
    for (int32_t i = 0; i < bounds->n; i++) {
        tl_col_bounds *b = &bounds->cols[i];
        const tl_type *type = b->min != NULL || b->max != NULL ? bounds->columns[i]->type : NULL;
        bool is_time = type != NULL && (type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ) && type->precision > 3;
        if (type != NULL && type->kind == TL_CHAR && b->min != NULL)
            TL_TRY(rebuild(&bounds->columns[i], unpad_min, err));
        else if (is_time && b->max != NULL)
            TL_TRY(rebuild(&bounds->columns[i], fill_millisecond, err));
        else
            continue;
        b->min = b->min == NULL ? NULL : bounds->columns[i];
        b->max = b->max == NULL ? NULL : bounds->columns[i];
    }
    return TL_OK;
}

void tl_bounds_deinit(tl_bounds *bounds)
{
    for (int32_t i = 0; bounds->columns != NULL && i < bounds->n; i++)
        tl_column_unref(bounds->columns[i]);
    tl_free(bounds->columns);
    tl_free(bounds->cols);
    *bounds = (tl_bounds){0};
}
