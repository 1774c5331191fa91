/* Decimals of up to 64 bits that are larger than their precision: sums of the reference make them, and keep them in memory. */
#include "types/builder.h"
#include "types/text.h"

static bool is_compact_decimal(const tl_column *col)
{
    return col->type->kind == TL_DECIMAL && col->phys == TL_PHYS_I64;
}

/* Slots of NULLs may hold anything: what looks too large is looked at again. Without a branch, as nearly all columns fit. */
static bool may_overflow(const tl_column *col, int64_t limit)
{
    const int64_t *values = col->values;
    bool any = false;
    for (int64_t i = 0; i < col->length; i++)
        any |= (values[i] >= limit) | (values[i] <= -limit);
    return any;
}

static tl_status fitted(const tl_column *col, int64_t limit, tl_column **out, tl_error *err)
{
    tl_builder *b = NULL;
    TL_TRY(tl_builder_create(col->type, &b, err));
    tl_status status = TL_OK;
    for (int64_t i = 0; status == TL_OK && i < col->length; i++) {
        int64_t v = tl_col_is_null(col, i) ? 0 : tl_col_i64(col, i);
        status = v >= limit || v <= -limit ? tl_builder_null(b) : tl_builder_copy(b, col, i);
    }
    status = status == TL_OK ? tl_builder_finish(b, out, err) : tl_builder_error(b, status, err);
    tl_builder_free(b);
    return status;
}

tl_status tl_batch_fit_decimals(const tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *copy = NULL;
    *out = NULL;
    for (int32_t c = 0; c < batch->n_cols; c++) {
        const tl_column *col = batch->cols[c];
        int64_t limit = is_compact_decimal(col) ? (int64_t)tl_pow10_i128(col->type->precision) : 0;
        if (limit == 0 || !col->type->nullable || !may_overflow(col, limit))
            continue;
        if (copy == NULL)
            TL_TRY(tl_batch_slice(batch, 0, batch->n_rows, &copy, err));
        tl_column *fits = NULL;
        TL_TRY(fitted(col, limit, &fits, err));
        tl_column_unref(copy->cols[c]);
        copy->cols[c] = fits;
    }
    *out = TL_STEAL(copy);
    return TL_OK;
}
