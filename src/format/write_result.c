/* Statistics of a file's columns: releasing them, and putting those of a file's parts together. */
#include "format/format.h"

#include "types/key.h"

void tl_write_result_deinit(tl_write_result *result)
{
    for (int32_t i = 0; i < result->n_stats; i++) {
        tl_column_unref(result->stats[i].min);
        tl_column_unref(result->stats[i].max);
    }
    tl_free(result->stats);
    *result = (tl_write_result){0};
}

static bool is_nan(const tl_column *col)
{
    return (col->phys == TL_PHYS_F32 && tl_col_f32(col, 0) != tl_col_f32(col, 0)) ||
           (col->phys == TL_PHYS_F64 && tl_col_f64(col, 0) != tl_col_f64(col, 0));
}

static bool is_bound(const tl_column *col)
{
    return col != NULL && col->length == 1 && !tl_col_is_null(col, 0) && !is_nan(col);
}

/* The wider of two bounds; none if one of them is not known. Takes `b`. */
static void widen(tl_column **a, tl_column *b, int sign)
{
    bool take = is_bound(*a) && is_bound(b) && tl_column_compare(b, 0, *a, 0, /* descending= */ false, /* nulls_first= */ true) * sign > 0;
    bool forget = !is_bound(*a) || !is_bound(b);
    tl_column *gone = take || forget ? *a : b;
    if (take)
        *a = b;
    else if (forget)
        *a = NULL;
    if (forget)
        tl_column_unref(b);
    tl_column_unref(gone);
}

void tl_column_stats_merge(tl_column_stats *all, int64_t rows_so_far, tl_column_stats *part_take, int64_t rows)
{
    tl_column_stats part = *part_take;
    *part_take = (tl_column_stats){NULL, NULL, -1};
    bool had_values = rows_so_far > 0 && all->null_count != rows_so_far;
    bool has_values = rows > 0 && part.null_count != rows;
    if (rows_so_far == 0)
        all->null_count = 0;
    all->null_count = all->null_count < 0 || part.null_count < 0 ? -1 : all->null_count + part.null_count;
    if (!has_values) { /* says nothing of bounds */
        tl_column_unref(part.min);
        tl_column_unref(part.max);
    } else if (!had_values) {
        tl_column_unref(all->min);
        tl_column_unref(all->max);
        all->min = part.min;
        all->max = part.max;
    } else {
        widen(&all->min, part.min, -1);
        widen(&all->max, part.max, 1);
    }
}
