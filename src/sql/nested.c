#include "sql/nested.h"

#include <math.h>

#include "types/key.h"

tl_status tl_nested_init(tl_nested *o, tl_kernel *k)
{
    *o = (tl_nested){.k = k};
    o->offsets = tl_calloc((size_t)k->n + 1, sizeof *o->offsets);
    o->validity = tl_alloc(tl_bitmap_bytes(k->n) + 1);
    if (o->offsets == NULL || o->validity == NULL) {
        tl_nested_deinit(o);
        return tl_nomem(k->err, "batch");
    }
    memset(o->validity, 0xFF, tl_bitmap_bytes(k->n) + 1);
    return TL_OK;
}

void tl_nested_deinit(tl_nested *o)
{
    tl_free(o->offsets);
    tl_free(o->validity);
    tl_free(o->refs);
    *o = (tl_nested){0};
}

tl_status tl_nested_add(tl_nested *o, uint32_t src, int64_t i)
{
    if (o->n == o->cap) {
        if (o->n >= INT32_MAX)
            return tl_error_set(o->k->err, TL_E_LIMIT, "%s: the lists of one batch have more than 2^31 elements", o->k->fn->name);
        int64_t cap = o->cap == 0 ? 256 : o->cap * 2;
        tl_rowref *refs = tl_realloc(o->refs, (size_t)cap * sizeof *refs);
        if (refs == NULL)
            return tl_nomem(o->k->err, "batch");
        o->refs = refs;
        o->cap = cap;
    }
    o->refs[o->n++] = (tl_rowref){src, (uint32_t)i};
    return TL_OK;
}

tl_status tl_nested_add_null(tl_nested *o)
{
    return tl_nested_add(o, 0, TL_ROW_NULL);
}

void tl_nested_end(tl_nested *o)
{
    o->offsets[++o->row] = (int32_t)o->n;
}

void tl_nested_end_null(tl_nested *o)
{
    tl_bit_clear(o->validity, o->row);
    o->n_nulls++;
    tl_nested_end(o);
}

tl_status tl_nested_finish(tl_nested *o, const tl_column *const *const *srcs)
{
    tl_kernel *k = o->k;
    tl_column *out;
    TL_TRY(tl_column_alloc(k->type, k->n, &out, k->err));
    memcpy(out->offsets, o->offsets, ((size_t)k->n + 1) * sizeof *o->offsets);
    if (o->n_nulls > 0) {
        out->validity = TL_STEAL(o->validity);
        out->null_count = o->n_nulls;
    }
    tl_status status = TL_OK;
    static const tl_rowref none;
    for (int32_t c = 0; c < out->n_children && status == TL_OK; c++) {
        if (srcs[c] == NULL)
            continue;
        status = tl_column_gather_multi(k->type->fields[c].type, srcs[c], o->refs != NULL ? o->refs : &none, o->n, &out->children[c], k->err);
    }
    if (status != TL_OK) {
        tl_column_unref(out);
        return status;
    }
    k->out = out;
    return TL_OK;
}

/* ---- sets ---- */

/** Equal values (tl_column_equal) have equal hashes. Nested values all share one: they are few. */
static uint32_t hash_of(const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return 1;
    int width = tl_phys_width(col->phys);
    if (col->phys == TL_PHYS_F64 && isnan(tl_col_f64(col, i)))
        return 2;
    if (col->phys == TL_PHYS_F32 && isnan(tl_col_f32(col, i)))
        return 2;
    if (width > 0)
        return (uint32_t)tl_xxh3((const uint8_t *)col->values + i * width, (size_t)width);
    if (col->phys != TL_PHYS_BYTES)
        return 3;
    tl_bytes_view v = tl_col_bytes(col, i);
    return (uint32_t)tl_xxh3(v.data, v.len);
}

tl_status tl_elements_reset(tl_elements *set, const tl_column *const *srcs, int64_t max, tl_error *err)
{
    uint32_t slots = 8;
    while (slots < 2 * max)
        slots *= 2;
    if (slots > set->mask + 1 || set->slots == NULL) {
        tl_elements_deinit(set);
        set->items = tl_alloc(((size_t)slots / 2 + 1) * sizeof *set->items);
        set->slots = tl_alloc((size_t)slots * sizeof *set->slots);
        if (set->items == NULL || set->slots == NULL)
            return tl_nomem(err, "batch");
        set->mask = slots - 1;
    }
    memset(set->slots, 0, ((size_t)set->mask + 1) * sizeof *set->slots);
    set->srcs = srcs;
    set->n = 0;
    return TL_OK;
}

void tl_elements_deinit(tl_elements *set)
{
    tl_free(set->items);
    tl_free(set->slots);
    *set = (tl_elements){0};
}

static uint32_t slot_of(const tl_elements *set, uint32_t src, int64_t i)
{
    uint32_t slot = hash_of(set->srcs[src], i) & set->mask;
    for (; set->slots[slot] != 0; slot = (slot + 1) & set->mask) {
        tl_rowref r = set->items[set->slots[slot] - 1];
        if (tl_column_equal(set->srcs[r.src], r.row, set->srcs[src], i))
            break;
    }
    return slot;
}

uint32_t tl_elements_find(const tl_elements *set, uint32_t src, int64_t i)
{
    uint32_t found = set->slots[slot_of(set, src, i)];
    return found == 0 ? UINT32_MAX : found - 1;
}

uint32_t tl_elements_add(tl_elements *set, uint32_t src, int64_t i, bool *is_new)
{
    uint32_t slot = slot_of(set, src, i);
    *is_new = set->slots[slot] == 0;
    if (*is_new) {
        set->items[set->n] = (tl_rowref){src, (uint32_t)i};
        set->slots[slot] = ++set->n;
    }
    return set->slots[slot] - 1;
}

tl_status tl_nested_add_unique(tl_nested *o, tl_elements *set, uint32_t src, int64_t i)
{
    bool is_new;
    uint32_t at = tl_elements_add(set, src, i, &is_new);
    if (is_new)
        return tl_nested_add(o, src, i);
    o->refs[o->offsets[o->row] + (int64_t)at] = (tl_rowref){src, (uint32_t)i};
    return TL_OK;
}
