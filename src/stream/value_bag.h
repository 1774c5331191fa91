/*
 * Values that an aggregate must remember because changes may take them back: a multiset in order of arrival. Private to stream/.
 */
#ifndef TL_STREAM_VALUE_BAG_H
#define TL_STREAM_VALUE_BAG_H

#include "types/builder.h"

typedef struct tl_bag_value {
    tl_bytes order; /* normalised key: memcmp order is value order */
    tl_bytes row;   /* BinaryRow of the argument columns */
    int64_t count;  /* may be negative for a while: a retraction that came before its row */
    int64_t *arrivals; /* of the `count` rows, ascending, in a bag that is ordered; else of the first one */
    int64_t cap;
} tl_bag_value;

/** One row or several equal ones in order of arrival. */
typedef struct tl_bag_item {
    const tl_bag_value *value;
    int64_t arrival;
    int64_t copies;
} tl_bag_item;

typedef struct tl_value_bag {
    struct tl_bag_entry *entries; /* hash table */
    size_t cap, n;
    int64_t next_arrival;
    /* The least and the greatest value, where they are known: a search through all is needed only after one of them went. */
    const tl_bag_value *extremes[2];
    bool ordered; /* the order of equal values counts: LISTAGG of a, b, a is no "aab". A retraction takes the oldest */
} tl_value_bag;

void tl_value_bag_deinit(tl_value_bag *bag);
/** Add `delta` to the count of a value; *was and *now are its counts before and after. A value with count 0 is forgotten. */
tl_status tl_value_bag_add(tl_value_bag *bag, tl_bytes_view order, tl_bytes_view row, int64_t delta, int64_t *was, int64_t *now);
/** Values with a positive count, in order of arrival (tl_free); an ordered bag gives each row, others each value. */
tl_status tl_value_bag_list(const tl_value_bag *bag, tl_bag_item **out, size_t *n);
/** The least or greatest value with a positive count; NULL if there is none. */
const tl_bag_value *tl_value_bag_extreme(tl_value_bag *bag, bool greatest);
/** The first or last to arrive with a positive count; NULL if there is none. */
const tl_bag_value *tl_value_bag_end(const tl_value_bag *bag, bool last);

#endif
