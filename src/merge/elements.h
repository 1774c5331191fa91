/*
 * Elements of arrays and maps as references into the inputs: a list under aggregation is a list of references, and its
 * elements are copied once, when the result is made. An index finds equal elements (or equal keys of elements).
 */
#ifndef TL_MERGE_ELEMENTS_H
#define TL_MERGE_ELEMENTS_H

#include "types/column.h"

/* Growable list of elements. {src, element number in that source's child column}; row TL_ROW_NULL: removed. */
typedef struct element_list {
    tl_rowref *items;
    uint32_t n;
    uint32_t cap;
} element_list;

void tl_merge__elements_deinit(element_list *list);
tl_status tl_merge__elements_reserve(element_list *list, uint32_t extra, tl_error *err);
static inline tl_status elements_add(element_list *list, tl_rowref item, tl_error *err)
{
    if (list->n == list->cap)
        TL_TRY(tl_merge__elements_reserve(list, 1, err));
    list->items[list->n++] = item;
    return TL_OK;
}
/** Leave removed items out. */
void tl_merge__elements_compact(element_list *list);

/* The columns by which elements are compared: the element itself, the key of a map's entry, or some fields of a ROW. */
typedef struct element_key {
    const tl_column **cols; /* [column * n_srcs + source] */
    int32_t n_cols;
    uint32_t n_srcs;
} element_key;

/** Equal elements have equal hashes, also where floats or maps are inside. */
uint64_t tl_merge__element_hash(const element_key *key, tl_rowref item);
bool tl_merge__element_equal(const element_key *key, tl_rowref a, tl_rowref b);

/** Whether the reference keeps distinct elements of this type in a hash set (else in a list, in order of appearance). */
bool tl_merge__has_java_order(const tl_type *type);
/** Reorder distinct elements as Java's hash table gives them; `as_row`: the key is a BinaryRow of the key columns (java_order.c). */
tl_status tl_merge__java_order(const element_key *key, bool as_row, element_list *list, tl_error *err);

/* Hash index over positions of a list. Zero-initialise; tl_merge__index_deinit() releases. */
typedef struct element_index {
    uint32_t *heads; /* position + 1, 0: empty */
    uint32_t *next;
    uint64_t *hashes;
    uint32_t n_heads; /* power of two */
    uint32_t cap;
} element_index;

void tl_merge__index_deinit(element_index *index);
/** Empty it and make room for `n` positions. */
tl_status tl_merge__index_reset(element_index *index, uint32_t n, tl_error *err);
/** Add the item at `position` of the list. */
void tl_merge__index_add(element_index *index, uint32_t position, uint64_t hash);
/** Position of an item of the list that equals `item` and is not removed; UINT32_MAX: none. */
uint32_t tl_merge__index_find(const element_index *index, const element_list *list, const element_key *key, tl_rowref item,
                              uint64_t hash);

#endif
