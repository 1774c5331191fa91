/*
 * Levels to nested columns.
 *
 * A leaf's levels tell the story of every list, map and row above it. Each field passes over the levels of one leaf below
 * it: an entry is a slot of the field if it repeats no deeper than the field does (rep <= slot_rep) and the lists around it
 * have an element there (def >= slot_def); the slot is not null if def >= valid_def. A list's elements are counted by the
 * same rule with its own levels. See http://research.google.com/pubs/pub36632.html (Dremel), section 4.
 */
#include "format/expand.h"
#include "format/parquet/read_private.h"
#include "types/variant.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static tl_status inconsistent(tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "levels of nested values contradict each other");
}

tl_status tl_pq__column_shell(const tl_type *type, int64_t length, int32_t n_children, tl_column **out, tl_error *err)
{
    tl_column *col = tl_calloc(1, sizeof *col);
    if (col == NULL)
        return tl_nomem(err, "column");
    if (n_children > 0) {
        col->children = tl_calloc((size_t)n_children, sizeof *col->children);
        if (col->children == NULL) {
            tl_free(col);
            return tl_nomem(err, "column");
        }
        col->n_children = n_children;
    }
    col->type = tl_type_ref(type);
    col->phys = tl_type_phys(type);
    col->length = length;
    col->refs = 1;
    *out = col;
    return TL_OK;
}

/* ---- 64 entries at a time ---- */

/* Bit i: levels[i] >= least, for n <= 64 entries. May read up to 64 bytes. */
static inline uint64_t at_least(const uint8_t *levels, int64_t n, uint8_t least)
{
    uint64_t mask = 0;
#if defined(__x86_64__)
    const __m128i limit = _mm_set1_epi8((char)least);
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(levels + 16 * i));
        mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(v, limit), v)) << (16 * i);
    }
#else
    for (int64_t i = 0; i < n; i++)
        mask |= (uint64_t)(levels[i] >= least) << i;
#endif
    return n < 64 ? mask & ((UINT64_C(1) << n) - 1) : mask;
}

static inline uint64_t first_bits(int64_t n)
{
    return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
}

/* Entries [from, from + n) that are slots of the field. */
static inline uint64_t slot_mask(const tl_pq_field *field, int64_t from, int64_t n)
{
    uint64_t repeats = at_least(field->leaf->rep + from, n, (uint8_t)(field->slot_rep + 1));
    return first_bits(n) & ~repeats & at_least(field->leaf->def + from, n, field->slot_def);
}

#if defined(__x86_64__)
__attribute__((target("bmi2"))) static uint64_t compress_bmi2(uint64_t bits, uint64_t mask)
{
    return _pext_u64(bits, mask);
}
#endif

/* The bits at the mask's ones, moved together at the low end. */
static uint64_t compress(uint64_t bits, uint64_t mask)
{
    uint64_t out = 0;
    if (mask == UINT64_MAX)
        return bits;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("bmi2"))
        return compress_bmi2(bits, mask);
#endif
    for (int k = 0; mask != 0; k++, mask &= mask - 1)
        out |= (uint64_t)((bits & mask & -mask) != 0) << k;
    return out;
}

static int64_t count_slots(const tl_pq_field *field)
{
    int64_t n = field->leaf->n_levels, count = 0;
    for (int64_t i = 0; i < n; i += 64)
        count += __builtin_popcountll(slot_mask(field, i, TL_MIN(n - i, 64)));
    return count;
}

/* Validity of the slots; none if the field cannot be null or never is. */
static tl_status set_validity(const tl_pq_field *field, tl_column *col, tl_error *err)
{
    const int64_t n = field->leaf->n_levels;
    if (field->valid_def <= field->slot_def || col->length == 0)
        return TL_OK;
    uint8_t *bits = tl_calloc((size_t)col->length / 64 + 2, sizeof(uint64_t));
    if (bits == NULL)
        return tl_nomem(err, "validity");
    int64_t at = 0, valid = 0;
    for (int64_t i = 0; i < n; i += 64) {
        int64_t k = TL_MIN(n - i, 64);
        uint64_t slots = slot_mask(field, i, k), v = compress(at_least(field->leaf->def + i, k, field->valid_def), slots);
        uint8_t *to = bits + at / 64 * 8;
        tl_write_le64(to, tl_read_le64(to) | v << (at % 64));
        if (at % 64 != 0)
            tl_write_le64(to + 8, v >> (64 - at % 64));
        valid += __builtin_popcountll(v);
        at += __builtin_popcountll(slots);
    }
    col->null_count = col->length - valid;
    col->validity = bits;
    if (col->null_count == 0) {
        tl_free(bits);
        col->validity = NULL;
    }
    return TL_OK;
}

/* ---- leaves ---- */

static tl_status assemble_leaf(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    tl_pq_sink *sink = &field->leaf->sink;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    int64_t n = count_slots(field);
    TL_TRY(tl_pq__column_shell(field->type, n, 0, &col, err));
    TL_TRY(set_validity(field, col, err));
    int64_t dense = sink->len;
    if (dense != n - col->null_count)
        return inconsistent(err);
    TL_TRY(tl_pq__sink_reserve(sink, n - dense, err));
    if (sink->width == 0) {
        TL_TRY(tl_pq__sink_reserve_data(sink, 0, err));
        if (dense != n)
            tl_format__expand_offsets(sink->offsets, col->validity, n, dense);
    } else if (dense != n) {
        tl_format__expand_fixed(sink->values, sink->width, col->validity, n, dense);
    }
    col->values = TL_STEAL(sink->values);
    col->offsets = TL_STEAL(sink->offsets);
    col->data = TL_STEAL(sink->data);
    *sink = (tl_pq_sink){.width = sink->width};
    *out = TL_STEAL(col);
    return TL_OK;
}

/* ---- lists and maps ---- */

/*
 * offsets[0..n]; *total elements. An entry either starts something (rep <= slot_rep) or goes on with the list before it, which
 * must have an element then, as must the entry itself unless it belongs to a list further down. Anything else is a
 * contradiction.
 */
static inline __attribute__((always_inline)) bool fill_offsets_body(const tl_pq_field *field, int32_t *restrict offsets,
                                                                    int64_t *total)
{
    const uint8_t *def = field->leaf->def, *rep = field->leaf->rep;
    const int64_t n_levels = field->leaf->n_levels;
    int32_t *end = offsets; /* of the last slot so far */
    int32_t elements = 0;
    uint64_t bad = 0, is_closed = 1; /* is_closed: the entry before this word has no element that one could go on from */
    for (int64_t i = 0; i < n_levels; i += 64) {
        int64_t k = TL_MIN(n_levels - i, 64);
        uint64_t goes_on = at_least(rep + i, k, (uint8_t)(field->slot_rep + 1)), starts = first_bits(k) & ~goes_on;
        uint64_t deeper = at_least(rep + i, k, (uint8_t)(field->entry_rep + 1));
        uint64_t is_there = at_least(def + i, k, field->entry_def), begins = starts & at_least(def + i, k, field->slot_def);
        uint64_t is_element = is_there & ~deeper, closed = starts & ~(begins & is_there);
        bad |= (closed << 1 | is_closed) & goes_on;
        bad |= goes_on & ~deeper & ~is_there;
        is_closed = closed >> 63;
        for (uint64_t left = begins; left != 0; left &= left - 1)
            *end++ = elements + (int32_t)__builtin_popcountll(is_element & ((left & -left) - 1));
        elements += (int32_t)__builtin_popcountll(is_element);
    }
    *end = elements;
    *total = elements;
    return bad == 0;
}

#if defined(__x86_64__)
/* One count of bits for each list: worth the instruction that the oldest processors have not. */
__attribute__((target("popcnt"))) static bool fill_offsets_popcnt(const tl_pq_field *field, int32_t *offsets, int64_t *total)
{
    return fill_offsets_body(field, offsets, total);
}
#endif

static bool fill_offsets(const tl_pq_field *field, int32_t *offsets, int64_t *total)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("popcnt"))
        return fill_offsets_popcnt(field, offsets, total);
#endif
    return fill_offsets_body(field, offsets, total);
}

static tl_status assemble_list(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    int64_t n = count_slots(field), total;
    TL_TRY(tl_pq__column_shell(field->type, n, field->n_children, &col, err));
    TL_TRY(set_validity(field, col, err));
    col->offsets = tl_alloc_aligned(((size_t)n + 1) * sizeof *col->offsets);
    if (col->offsets == NULL)
        return tl_nomem(err, "offsets");
    if (!fill_offsets(field, col->offsets, &total))
        return inconsistent(err);
    for (int32_t i = 0; i < field->n_children; i++) {
        TL_TRY(tl_pq__assemble(&field->children[i], &col->children[i], err));
        if (col->children[i]->length != total)
            return inconsistent(err);
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

/* ---- rows ---- */

static tl_status assemble_row(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    int64_t n = count_slots(field);
    TL_TRY(tl_pq__column_shell(field->type, n, field->n_children, &col, err));
    TL_TRY(set_validity(field, col, err));
    for (int32_t i = 0; i < field->n_children; i++) {
        const tl_pq_field *child = &field->children[i];
        if (child->kind == TL_PQ_FIELD_MISSING)
            TL_TRY(tl_column_nulls(child->type, n, &col->children[i], err));
        else
            TL_TRY(tl_pq__assemble(child, &col->children[i], err));
        if (col->children[i]->length != n)
            return inconsistent(err);
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

static tl_status assemble_shredded(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *parts = NULL;
    TL_TRY(assemble_row(&field->children[0], &parts, err));
    return tl_variant_unshred(parts, field->type, out, err);
}

tl_status tl_pq__assemble(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    switch (field->kind) {
    case TL_PQ_FIELD_LEAF:
        return assemble_leaf(field, out, err);
    case TL_PQ_FIELD_LIST:
        return assemble_list(field, out, err);
    case TL_PQ_FIELD_ROW:
        return assemble_row(field, out, err);
    case TL_PQ_FIELD_SHREDDED:
        return assemble_shredded(field, out, err);
    case TL_PQ_FIELD_MISSING:
        break;
    }
    return tl_error_set(err, TL_E_INTERNAL, "missing column has no length of its own");
}
