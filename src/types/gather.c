/*
 * Gather: rows of one column by index. Type and nullability are decided once, the loops run over plain pointers.
 */
#include "types/types_private.h"

#define DEFINE_GATHER(NAME, TYPE)                                                         \
    static void NAME(const void *src, const uint32_t *restrict idx, int64_t n, void *dst) \
    {                                                                                     \
        const TYPE *restrict from = src;                                                  \
        TYPE *restrict to = dst;                                                          \
        for (int64_t i = 0; i < n; i++)                                                   \
            to[i] = from[idx[i]];                                                         \
    }
DEFINE_GATHER(gather_8, uint8_t)
DEFINE_GATHER(gather_16, uint16_t)
DEFINE_GATHER(gather_32, uint32_t)
DEFINE_GATHER(gather_64, uint64_t)
DEFINE_GATHER(gather_128, tl_wide)

static void gather_fixed(const tl_column *col, const uint32_t *idx, int64_t n, int width, void *dst)
{
    switch (width) {
    case 1:
        gather_8(col->values, idx, n, dst);
        return;
    case 2:
        gather_16(col->values, idx, n, dst);
        return;
    case 4:
        gather_32(col->values, idx, n, dst);
        return;
    case 8:
        gather_64(col->values, idx, n, dst);
        return;
    default:
        gather_128(col->values, idx, n, dst);
    }
}

/* Bits idx[0..n) of `bits`, 64 at a time; returns how many are clear. `out` has room for whole words. */
static int64_t gather_bits(const uint8_t *restrict bits, const uint32_t *restrict idx, int64_t n, uint8_t *restrict out)
{
    int64_t ones = 0;
    for (int64_t i = 0; i < n; i += 64) {
        uint64_t word = 0;
        int64_t m = TL_MIN(n - i, 64);
        for (int64_t j = 0; j < m; j++)
            word |= (uint64_t)tl_bit_get(bits, idx[i + j]) << j;
        tl_write_le64(out + i / 8, word);
        ones += __builtin_popcountll(word);
    }
    return n - ones;
}

static tl_status gather_validity(const tl_column *col, const uint32_t *idx, int64_t n, tl_column *out, tl_error *err)
{
    if (col->null_count == 0 || n == 0)
        return TL_OK;
    uint8_t *bits = tl_alloc((size_t)((n + 63) / 64) * 8);
    if (bits == NULL)
        return tl_nomem(err, "column");
    out->null_count = gather_bits(col->validity, idx, n, bits);
    if (out->null_count > 0)
        out->validity = bits;
    else
        tl_free(bits);
    return TL_OK;
}

/* Offsets of the result; returns the last one, which may be beyond 32 bits (then the offsets are garbage). */
static int64_t gather_offsets(const int32_t *restrict offsets, const uint32_t *restrict idx, int64_t n, int32_t *restrict out)
{
    int64_t total = 0;
    out[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        total += offsets[(size_t)idx[i] + 1] - offsets[idx[i]];
        out[i + 1] = (int32_t)total;
    }
    return total;
}

static tl_status gather_data(const tl_column *col, const uint32_t *restrict idx, int64_t n, tl_column *out, tl_error *err)
{
    uint8_t *restrict to = tl_alloc_aligned((size_t)out->offsets[n] + TL_BYTES_SLACK);
    if (to == NULL)
        return tl_nomem(err, "column");
    out->data = to;
    const int32_t *restrict from_offsets = col->offsets;
    const int32_t *restrict to_offsets = out->offsets;
    const uint8_t *end = col->data + from_offsets[col->length];
    for (int64_t i = 0; i < n;) {
        /* Rows that follow each other in the source as well are copied in one go. */
        int64_t j = i + 1;
        while (j < n && idx[j] == idx[j - 1] + 1)
            j++;
        tl_column__copy_bytes(to + to_offsets[i], col->data + from_offsets[idx[i]], (size_t)(to_offsets[j] - to_offsets[i]),
                              end);
        i = j;
    }
    return TL_OK;
}

/* The rows of a LIST or MAP as indices of its elements, which are then gathered in turn. */
static tl_status gather_elements(const tl_column *col, const uint32_t *idx, int64_t n, tl_column *out, tl_error *err)
{
    int64_t total = out->offsets[n], at = 0;
    TL_CLEANUP(tl_freep) uint32_t *element_idx = tl_alloc((size_t)TL_MAX(total, 1) * sizeof *element_idx);
    if (element_idx == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < n; i++)
        for (int32_t e = col->offsets[idx[i]]; e < col->offsets[(size_t)idx[i] + 1]; e++)
            element_idx[at++] = (uint32_t)e;
    for (int32_t c = 0; c < col->n_children; c++)
        TL_TRY(tl_column_gather(col->children[c], element_idx, total, &out->children[c], err));
    return TL_OK;
}

tl_status tl_column_gather(const tl_column *col, const uint32_t *idx, int64_t n, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *result = NULL;
    TL_TRY(tl_column__alloc_raw(col->type, n, &result, err));
    TL_TRY(gather_validity(col, idx, n, result, err));
    int width = tl_phys_width(col->phys);
    if (width > 0) {
        gather_fixed(col, idx, n, width, result->values);
    } else if (col->phys == TL_PHYS_ROW) {
        for (int32_t c = 0; c < col->n_children; c++)
            TL_TRY(tl_column_gather(col->children[c], idx, n, &result->children[c], err));
    } else {
        if (gather_offsets(col->offsets, idx, n, result->offsets) > INT32_MAX)
            return tl_column__too_large(col->type, err);
        TL_TRY(col->phys == TL_PHYS_BYTES ? gather_data(col, idx, n, result, err) : gather_elements(col, idx, n, result, err));
    }
    *out = TL_STEAL(result);
    return TL_OK;
}

tl_status tl_column_repeat(const tl_column *col, int64_t i, int64_t length, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *idx = tl_alloc((size_t)TL_MAX(length, 1) * sizeof *idx);
    if (idx == NULL)
        return tl_nomem(err, "column");
    for (int64_t k = 0; k < length; k++)
        idx[k] = (uint32_t)i;
    return tl_column_gather(col, idx, length, out, err);
}
