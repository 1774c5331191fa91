/*
 * Statistics of the columns of a new file, gathered while it is written: for formats without a footer to take them from.
 * Java: SimpleStatsCollector. Bounds follow the reference's order of values, NaN last.
 */
#include "format/gathered_stats.h"
#include "types/key.h"

tl_status tl_format__gathered_init(tl_gathered_stats *stats, int32_t n, tl_error *err)
{
    stats->cols = tl_calloc((size_t)n + 1, sizeof *stats->cols);
    if (stats->cols == NULL)
        return tl_nomem(err, "file statistics");
    stats->n = n;
    return TL_OK;
}

void tl_format__gathered_take(tl_gathered_stats *stats, tl_write_result *out)
{
    out->n_stats = stats->n;
    out->stats = TL_STEAL(stats->cols);
    stats->n = 0;
}

void tl_format__gathered_deinit(tl_gathered_stats *stats)
{
    for (int32_t c = 0; c < stats->n; c++) {
        tl_column_unref(stats->cols[c].min);
        tl_column_unref(stats->cols[c].max);
    }
    tl_free(stats->cols);
    *stats = (tl_gathered_stats){0};
}

/* Rows of the least and greatest value that is not null, -1 if there is none. */
typedef struct extremes {
    int64_t min;
    int64_t max;
} extremes;

#define DEFINE_EXTREMES(NAME, TYPE)                       \
    static extremes extremes_##NAME(const tl_column *col) \
    {                                                     \
        const TYPE *v = col->values;                      \
        extremes e = {-1, -1};                            \
        for (int64_t i = 0; i < col->length; i++) {       \
            if (tl_col_is_null(col, i))                   \
                continue;                                 \
            if (e.min < 0 || v[i] < v[e.min])             \
                e.min = i;                                \
            if (e.max < 0 || v[i] > v[e.max])             \
                e.max = i;                                \
        }                                                 \
        return e;                                         \
    }
DEFINE_EXTREMES(i8, int8_t)
DEFINE_EXTREMES(i16, int16_t)
DEFINE_EXTREMES(i32, int32_t)
DEFINE_EXTREMES(i64, int64_t)

static extremes extremes_any(const tl_column *col)
{
    extremes e = {-1, -1};
    for (int64_t i = 0; i < col->length; i++) {
        if (tl_col_is_null(col, i))
            continue;
        if (e.min < 0 || tl_column_compare(col, i, col, e.min, /* descending= */ false, /* nulls_first= */ true) < 0)
            e.min = i;
        if (e.max < 0 || tl_column_compare(col, i, col, e.max, /* descending= */ false, /* nulls_first= */ true) > 0)
            e.max = i;
    }
    return e;
}

static extremes find_extremes(const tl_column *col)
{
    switch (col->phys) {
    case TL_PHYS_BOOL:
    case TL_PHYS_I8:
        return extremes_i8(col);
    case TL_PHYS_I16:
        return extremes_i16(col);
    case TL_PHYS_I32:
        return extremes_i32(col);
    case TL_PHYS_I64:
        return extremes_i64(col);
    default:
        return extremes_any(col);
    }
}

/* Types whose values the reference compares. */
static bool is_comparable(const tl_type *type)
{
    return type->kind <= TL_VARCHAR || (type->kind >= TL_DATE && type->kind <= TL_TIMESTAMP_LTZ);
}

/* Row `i` becomes the bound if it lies beyond it (sign: -1 for the lower one). */
static tl_status widen(tl_column **bound, const tl_column *col, int64_t i, int sign, tl_error *err)
{
    if (*bound != NULL && tl_column_compare(col, i, *bound, 0, /* descending= */ false, /* nulls_first= */ true) * sign <= 0)
        return TL_OK;
    uint32_t row = (uint32_t)i;
    tl_column *fresh = NULL;
    TL_TRY(tl_column_gather(col, &row, 1, &fresh, err));
    tl_column_unref(*bound);
    *bound = fresh;
    return TL_OK;
}

tl_status tl_format__gathered_add(tl_gathered_stats *stats, const tl_batch *batch, tl_error *err)
{
    for (int32_t c = 0; c < stats->n; c++) {
        const tl_column *col = batch->cols[c];
        stats->cols[c].null_count += col->null_count;
        if (!is_comparable(col->type))
            continue;
        extremes e = find_extremes(col);
        if (e.min < 0)
            continue;
        TL_TRY(widen(&stats->cols[c].min, col, e.min, -1, err));
        TL_TRY(widen(&stats->cols[c].max, col, e.max, 1, err));
    }
    return TL_OK;
}
