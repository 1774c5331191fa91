/*
 * What a filter says of values that maps have under fixed keys, `m['k'] = 1`: for those that know more of such values than of the map
 * (file indexes of `m[k]`). It helps to leave rows out, and nobody needs to look at it: who asks for it filters the rows once more.
 */
#ifndef TL_TYPES_MAP_FILTER_H
#define TL_TYPES_MAP_FILTER_H

#include "types/predicate.h"

/** The values of one key, NULL in rows without it; keys are text without a zero byte. */
typedef struct tl_map_value {
    int32_t column; /* the map, in the ROW that the filter is bound to */
    char *key;
} tl_map_value;

/** Immutable, reference counted. */
typedef struct tl_map_filter {
    int32_t n_values;
    tl_map_value *values;
    tl_predicate *predicate; /* over the values: its columns are their numbers */
    int refs;                /* atomic; private to map_filter.c */
} tl_map_filter;

/** Copies values and keys, takes `predicate` over, also when it fails. */
tl_status tl_map_filter_create(const tl_map_value *values, int32_t n_values, tl_predicate *predicate, tl_map_filter **out, tl_error *err);
tl_map_filter *tl_map_filter_ref(tl_map_filter *filter); /* NULL is fine */
void tl_map_filter_unref(tl_map_filter *filter);         /* NULL is fine */

#endif
