/*
 * The different values that COUNT(DISTINCT) and SUM(DISTINCT) have seen: only whether they are there, and how often where rows may be
 * taken back. A whole number is 8 bytes of a table, another value its bytes in one arena. Private to stream/.
 */
#ifndef TL_STREAM_VALUE_SET_H
#define TL_STREAM_VALUE_SET_H

#include "base/mem.h"

typedef struct tl_value_set {
    uint64_t *slots; /* whole numbers: value, 0 is free; bytes: 1 + where the value stands in `bytes`, 0 is free */
    int64_t *counts; /* of each slot; NULL: nothing is taken back */
    size_t cap, n;
    int64_t zero;    /* count of the number 0, which has no slot */
    tl_buf bytes;    /* per value: hash, length, bytes */
    size_t dead;     /* bytes of values that went */
} tl_value_set;

void tl_value_set_deinit(tl_value_set *set);
/**
 * Add `delta` to the count of a value: a whole number, or bytes (`number` is not looked at); one set holds one form. counted: rows may be
 * taken back (the same in every call). *was and *now: whether the value counts (more than zero times) before and after.
 */
tl_status tl_value_set_add_number(tl_value_set *set, uint64_t number, int64_t delta, bool counted, bool *was, bool *now);
tl_status tl_value_set_add_bytes(tl_value_set *set, tl_bytes_view value, int64_t delta, bool counted, bool *was, bool *now);

#endif
