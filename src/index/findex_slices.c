/*
 * Bit-sliced numbers: for each bit the rows that have it set. Comparing with a constant goes over the bits from the highest on,
 * keeping the rows that are equal so far (O'Neil and Quass, "Improved Query Performance with Variant Indexes").
 */
#include "index/file_index_private.h"

typedef struct comparison {
    tl_row_set equal; /* to the bits of the constant seen so far */
    tl_row_set slice;
} comparison;

static void comparison_deinit(comparison *c)
{
    tl_row_set_deinit(&c->equal);
    tl_row_set_deinit(&c->slice);
}

static tl_status comparison_init(comparison *c, const tl_findex__slices *slices, tl_error *err)
{
    *c = (comparison){{0, NULL}, {0, NULL}};
    TL_TRY(tl_row_set_init(&c->equal, slices->rows, /* all= */ false, err));
    TL_TRY(tl_row_set_init(&c->slice, slices->rows, /* all= */ false, err));
    return tl_row_set_add_roaring(&c->equal, slices->present, err);
}

static tl_status load_slice(comparison *c, const tl_findex__slices *slices, int32_t i, tl_error *err)
{
    const tl_roaring32 *slice = NULL;
    TL_TRY(slices->slice(slices->ctx, i, &slice, err));
    tl_row_set_clear(&c->slice);
    return tl_error_wrap(err, tl_row_set_add_roaring(&c->slice, slice, err), "slice %d", i);
}

/* Whether the constant has a bit that no number has: all are less. */
static bool is_above(const tl_findex__slices *slices, uint64_t code)
{
    return slices->n < 64 && code >> slices->n != 0;
}

/* Rows that are less join `less` (NULL: not wanted), the equal ones stay in c->equal. */
static tl_status compare(comparison *c, const tl_findex__slices *slices, uint64_t code, tl_row_set *less, tl_error *err)
{
    for (int32_t i = slices->n - 1; i >= 0; i--) {
        TL_TRY(load_slice(c, slices, i, err));
        if ((code >> i & 1) == 0) {
            tl_row_set_and_not(&c->equal, &c->slice);
            continue;
        }
        for (int64_t w = 0; less != NULL && w < (slices->rows + 63) / 64; w++)
            less->words[w] |= c->equal.words[w] & ~c->slice.words[w];
        tl_row_set_and(&c->equal, &c->slice);
    }
    return TL_OK;
}

tl_status tl_findex__slices_less(const tl_findex__slices *slices, uint64_t code, bool or_equal, tl_row_set *out, tl_error *err)
{
    comparison c;
    tl_status status = comparison_init(&c, slices, err);
    if (status == TL_OK && !is_above(slices, code))
        status = compare(&c, slices, code, out, err);
    if (status == TL_OK && (or_equal || is_above(slices, code)))
        tl_row_set_or(out, &c.equal);
    comparison_deinit(&c);
    return status;
}

tl_status tl_findex__slices_equal(const tl_findex__slices *slices, uint64_t code, tl_row_set *out, tl_error *err)
{
    comparison c;
    if (is_above(slices, code))
        return TL_OK;
    tl_status status = comparison_init(&c, slices, err);
    if (status == TL_OK)
        status = compare(&c, slices, code, NULL, err);
    if (status == TL_OK)
        tl_row_set_or(out, &c.equal);
    comparison_deinit(&c);
    return status;
}
