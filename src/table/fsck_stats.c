/* The statistics of a file's columns against its rows: how many values are NULL, and that none lies outside of the bounds. */
#include "table/fsck_private.h"

#include "types/key.h"

tl_status tl_fsck__stats_open(const tl_table *table, const tl_data_file *file, tl_fsck__stats *out, tl_error *err)
{
    const tl_type *row_type = table->schema->row_type;
    *out = (tl_fsck__stats){0};
    /* Of another schema the columns would have to be matched first; pruning does that, and its tests hold it to the rows. */
    if (file->schema_id != table->schema->id || file->n_write_cols >= 0)
        return TL_OK;
    out->nulls = tl_calloc((size_t)row_type->n_fields + 1, sizeof *out->nulls);
    if (out->nulls == NULL)
        return tl_nomem(err, "statistics");
    tl_status status = tl_simple_stats_bounds(&file->value_stats, row_type, file->value_stats_cols, file->n_value_stats_cols, &out->bounds, err);
    if (status == TL_OK)
        status = tl_bounds_loosen(&out->bounds, err);
    /* Readers take partition columns from the manifest. The file may hold what was written before the row's key moved. */
    for (int32_t i = 0; status == TL_OK && i < table->n_partition && table->partition_idx[i] < out->bounds.n; i++)
        out->bounds.cols[table->partition_idx[i]] = (tl_col_bounds){.null_count = -1};
    out->is_on = status == TL_OK;
    return status;
}

void tl_fsck__stats_deinit(tl_fsck__stats *s)
{
    tl_free(s->nulls);
    tl_bounds_deinit(&s->bounds);
}

/* Writers leave NaN out of bounds and mix up the zeros; bytes without text have no order that all agree on. */
static bool has_order(const tl_column *col)
{
    return col->n_children == 0 && col->type->kind != TL_BINARY && col->type->kind != TL_VARBINARY && col->type->kind != TL_BLOB;
}

static bool is_exempt(const tl_column *col, int64_t i)
{
    double v = col->phys == TL_PHYS_F32 ? (double)tl_col_f32(col, i) : col->phys == TL_PHYS_F64 ? tl_col_f64(col, i) : 1;
    return v != v || v == 0;
}

/* A NaN that came first spoils both bounds of an ORC file; readers look at neither. */
static bool is_bound(const tl_column *col, int64_t row)
{
    bool is_nan = col != NULL && ((col->phys == TL_PHYS_F32 && tl_col_f32(col, row) != tl_col_f32(col, row)) ||
                                  (col->phys == TL_PHYS_F64 && tl_col_f64(col, row) != tl_col_f64(col, row)));
    return col != NULL && !is_nan;
}

static void see_column(tl_fsck__stats *s, const tl_column *col, int32_t c)
{
    const tl_col_bounds *b = &s->bounds.cols[c];
    s->nulls[c] += col->null_count;
    bool has_min = is_bound(b->min, b->min_row), has_max = is_bound(b->max, b->max_row);
    if (!has_order(col) || (!has_min && !has_max))
        return;
    for (int64_t i = 0; i < col->length && s->outside == 0; i++) {
        if (tl_col_is_null(col, i) || is_exempt(col, i))
            continue;
        bool below = has_min && tl_column_compare(col, i, b->min, b->min_row, false, true) < 0;
        bool above = has_max && tl_column_compare(col, i, b->max, b->max_row, false, true) > 0;
        if (below || above)
            s->outside = c + 1;
    }
}

void tl_fsck__stats_see(tl_fsck__stats *s, const tl_batch *batch)
{
    for (int32_t c = 0; s->is_on && c < batch->n_cols && c < s->bounds.n; c++)
        see_column(s, batch->cols[c], c);
}

tl_status tl_fsck__stats_compare(tl_fsck__check *c, const tl_fsck__stats *s, const char *where, tl_error *err)
{
    const tl_type *row_type = c->table->schema->row_type;
    if (!s->is_on)
        return TL_OK;
    if (s->outside > 0)
        TL_TRY(tl_fsck__problem(c, err, "%s: column '%s' has a value outside of the bounds that the metadata gives", where,
                                row_type->fields[s->outside - 1].name));
    for (int32_t i = 0; i < s->bounds.n; i++) {
        int64_t told = s->bounds.cols[i].null_count;
        if (told >= 0 && told != s->nulls[i])
            TL_TRY(tl_fsck__problem(c, err, "%s: column '%s' is NULL in %lld rows, metadata says %lld", where, row_type->fields[i].name,
                                    (long long)s->nulls[i], (long long)told));
    }
    return TL_OK;
}
