/*
 * Shared by the files of predicates.
 */
#ifndef TL_TYPES_PREDICATE_PRIVATE_H
#define TL_TYPES_PREDICATE_PRIVATE_H

#include "types/predicate.h"

/** Order of two values that are not NULL, of one scalar type: see predicate.h. */
int tl_predicate__compare(const tl_column *a, int64_t i, const tl_column *b, int64_t j);
/** Whether values of the type have an order: all scalars. */
bool tl_predicate__is_ordered(const tl_type *type);

/** Sortable form of floating point: as integers, they order as the total order with one NaN above all. */
static inline int32_t tl_predicate__order_f32(float v)
{
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = v != v ? 0x7fc00000 : bits;
    return bits ^ ((bits >> 31) & INT32_MAX);
}
static inline int64_t tl_predicate__order_f64(double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = v != v ? INT64_C(0x7ff8000000000000) : bits;
    return bits ^ ((bits >> 63) & INT64_MAX);
}

/* ---- LIKE ---- */

/** Whether every escape of the pattern is followed by %, _ or the escape itself. */
bool tl_like__valid(tl_bytes_view pattern);
bool tl_like__match(tl_bytes_view text, tl_bytes_view pattern);
/** The text that a match must start with, unescaped, into `prefix` (room for pattern.len bytes); true if it is all of it. */
bool tl_like__prefix(tl_bytes_view pattern, uint8_t *prefix, size_t *prefix_len);

/** Result of a leaf on one value that is not NULL; `want` as in tl_predicate_eval(): whether it is TRUE, or whether it is
 * FALSE. */
bool tl_predicate__leaf_is(const tl_predicate *leaf, bool want, const tl_column *col, int64_t row);

#endif
