/*
 * Results of type ARRAY, MAP and MULTISET: a kernel says row by row which elements of which columns its lists have; the
 * elements are gathered at the end. Private to sql/.
 */
#ifndef TL_SQL_NESTED_H
#define TL_SQL_NESTED_H

#include "sql/functions.h"

typedef struct tl_nested {
    tl_kernel *k;
    int32_t *offsets;
    uint8_t *validity;
    int64_t n_nulls, row;
    tl_rowref *refs;
    int64_t n, cap;
} tl_nested;

/** k->n rows of k->type. */
tl_status tl_nested_init(tl_nested *o, tl_kernel *k);
void tl_nested_deinit(tl_nested *o);
/** Element `i` (TL_ROW_NULL: NULL) of source column `src`. */
tl_status tl_nested_add(tl_nested *o, uint32_t src, int64_t i);
tl_status tl_nested_add_null(tl_nested *o);
void tl_nested_end(tl_nested *o);
void tl_nested_end_null(tl_nested *o);
/**
 * Make k->out: children[c] is gathered from the columns srcs[c] (of the child's physical type) by one array of references; where
 * srcs[c] is NULL, the caller sets k->out->children[c], of o->n values.
 */
tl_status tl_nested_finish(tl_nested *o, const tl_column *const *const *srcs);

/** A set of elements (of several columns of one type) by value, NULL one of them. */
typedef struct tl_elements {
    const tl_column *const *srcs;
    tl_rowref *items; /* in the order in which they came */
    uint32_t *slots;  /* index into items + 1; 0: free */
    uint32_t n, mask;
} tl_elements;

/** Empty, for at most `max` elements; may be called again on the same set. */
tl_status tl_elements_reset(tl_elements *set, const tl_column *const *srcs, int64_t max, tl_error *err);
void tl_elements_deinit(tl_elements *set);
/** Index of the element, UINT32_MAX if it is not there. */
uint32_t tl_elements_find(const tl_elements *set, uint32_t src, int64_t i);
/** The element's index; *is_new tells whether it was added now. */
uint32_t tl_elements_add(tl_elements *set, uint32_t src, int64_t i, bool *is_new);

/** Add to the open list unless the set has an equal element: then that one's place gets this one. The set began with the list. */
tl_status tl_nested_add_unique(tl_nested *o, tl_elements *set, uint32_t src, int64_t i);

/** Row i of a list column: its elements are [*from, *to) of children[0]. */
static inline void tl_nested_range(const tl_vec *v, int64_t i, int32_t *from, int32_t *to)
{
    *from = v->col->offsets[i * v->step];
    *to = v->col->offsets[i * v->step + 1];
}

#endif
