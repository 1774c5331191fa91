/*
 * Concatenation of (ranges of) columns of one type.
 */
#include "types/types_private.h"

/* What is joined: rows [from[k], from[k] + count[k]) of srcs[k], `total` rows in all. */
typedef struct ranges {
    const tl_type *type;
    const tl_column *const *srcs;
    const int64_t *from;
    const int64_t *count;
    int32_t n;
    int64_t total;
} ranges;

static tl_status concat_validity(const ranges *r, tl_column *col, tl_error *err)
{
    bool any = false;
    for (int32_t k = 0; k < r->n; k++)
        any |= r->srcs[k]->null_count > 0 && r->count[k] > 0;
    if (!any)
        return TL_OK;
    uint8_t *bits = tl_calloc(tl_bitmap_bytes(r->total), 1);
    if (bits == NULL)
        return tl_nomem(err, "column");
    col->validity = bits;
    int64_t at = 0;
    for (int32_t k = 0; k < r->n; k++) {
        if (r->srcs[k]->validity != NULL)
            tl_bitmap_copy(bits, at, r->srcs[k]->validity, r->from[k], r->count[k]);
        else
            tl_bitmap_fill(bits, at, r->count[k], true);
        at += r->count[k];
    }
    col->null_count = r->total - tl_bitmap_count(bits, 0, r->total);
    if (col->null_count == 0) {
        tl_free(bits);
        col->validity = NULL;
    }
    return TL_OK;
}

static void concat_values(const ranges *r, tl_column *col, size_t width)
{
    uint8_t *to = col->values;
    for (int32_t k = 0; k < r->n; k++) {
        size_t bytes = (size_t)r->count[k] * width;
        if (bytes > 0)
            memcpy(to, (const uint8_t *)r->srcs[k]->values + (size_t)r->from[k] * width, bytes);
        to += bytes;
    }
}

/* Offsets of the result; bounds of each source's content in lo and hi. */
static tl_status concat_offsets(const ranges *r, tl_column *col, int64_t *lo, int64_t *n_items, tl_error *err)
{
    int64_t at = 0, base = 0;
    col->offsets[0] = 0;
    for (int32_t k = 0; k < r->n; k++) {
        const int32_t *offsets = r->srcs[k]->offsets + r->from[k];
        lo[k] = offsets[0];
        n_items[k] = offsets[r->count[k]] - offsets[0];
        if (base + n_items[k] > INT32_MAX)
            return tl_column__too_large(r->type, err);
        int32_t shift = (int32_t)(base - lo[k]);
        for (int64_t i = 1; i <= r->count[k]; i++)
            col->offsets[at + i] = offsets[i] + shift;
        at += r->count[k];
        base += n_items[k];
    }
    return TL_OK;
}

static tl_status concat_data(const ranges *r, tl_column *col, const int64_t *lo, const int64_t *n_bytes, tl_error *err)
{
    uint8_t *to = tl_alloc_aligned((size_t)col->offsets[col->length] + TL_BYTES_SLACK);
    if (to == NULL)
        return tl_nomem(err, "column");
    col->data = to;
    for (int32_t k = 0; k < r->n; k++) {
        if (n_bytes[k] > 0)
            memcpy(to, r->srcs[k]->data + lo[k], (size_t)n_bytes[k]);
        to += n_bytes[k];
    }
    return TL_OK;
}

static tl_status concat_children(const ranges *r, tl_column *col, const int64_t *from, const int64_t *count, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **children = tl_alloc((size_t)TL_MAX(r->n, 1) * sizeof *children);
    if (children == NULL)
        return tl_nomem(err, "column");
    for (int32_t c = 0; c < col->n_children; c++) {
        for (int32_t k = 0; k < r->n; k++)
            children[k] = r->srcs[k]->children[c];
        TL_TRY(tl_column__concat_ranges(r->type->fields[c].type, children, from, count, r->n, &col->children[c], err));
    }
    return TL_OK;
}

static tl_status concat_variable(const ranges *r, tl_column *col, tl_error *err)
{
    TL_CLEANUP(tl_freep) int64_t *bounds = tl_alloc((size_t)TL_MAX(r->n, 1) * 2 * sizeof *bounds);
    if (bounds == NULL)
        return tl_nomem(err, "column");
    TL_TRY(concat_offsets(r, col, bounds, bounds + r->n, err));
    if (col->phys == TL_PHYS_BYTES)
        return concat_data(r, col, bounds, bounds + r->n, err);
    return concat_children(r, col, bounds, bounds + r->n, err);
}

tl_status tl_column__concat_ranges(const tl_type *type, const tl_column *const *srcs, const int64_t *from, const int64_t *count,
                                   int32_t n_srcs, tl_column **out, tl_error *err)
{
    ranges r = {type, srcs, from, count, n_srcs, 0};
    for (int32_t k = 0; k < n_srcs; k++)
        r.total += count[k];
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(tl_column__alloc_raw(type, r.total, &col, err));
    TL_TRY(concat_validity(&r, col, err));
    int width = tl_phys_width(col->phys);
    if (width > 0)
        concat_values(&r, col, (size_t)width);
    else if (col->phys == TL_PHYS_ROW)
        TL_TRY(concat_children(&r, col, from, count, err));
    else
        TL_TRY(concat_variable(&r, col, err));
    *out = TL_STEAL(col);
    return TL_OK;
}

tl_status tl_column_concat(const tl_type *type, const tl_column *const *srcs, int32_t n_srcs, tl_column **out, tl_error *err)
{
    if (n_srcs == 1)
        return tl_column_retype(srcs[0], type, out, err);
    TL_CLEANUP(tl_freep) int64_t *ranges_of = tl_calloc((size_t)TL_MAX(n_srcs, 1) * 2, sizeof *ranges_of);
    if (ranges_of == NULL)
        return tl_nomem(err, "column");
    tl_phys phys = tl_type_phys(type);
    for (int32_t k = 0; k < n_srcs; k++) {
        if (srcs[k]->phys != phys)
            return tl_error_set(err, TL_E_INTERNAL, "columns of different layout cannot be joined");
        ranges_of[n_srcs + k] = srcs[k]->length;
    }
    return tl_column__concat_ranges(type, srcs, ranges_of, ranges_of + n_srcs, n_srcs, out, err);
}
