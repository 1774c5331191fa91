/*
 * Sets of rows of one file, as bits and as ranges: what an index says of a filter, and what a file reader is told.
 */
#ifndef TL_BASE_ROW_SET_H
#define TL_BASE_ROW_SET_H

#include "base/roaring.h"

/** Rows [from, to). */
typedef struct tl_row_range {
    int64_t from;
    int64_t to;
} tl_row_range;

/** Rows wanted of a file as ranges, ascending and apart. */
typedef struct tl_row_ranges {
    tl_row_range *items;
    size_t n;
} tl_row_ranges;
void tl_row_ranges_deinit(tl_row_ranges *ranges);
/** The first of the ranges, at or after number `start`, that ends behind `row`; ranges.n if there is none. */
size_t tl_row_ranges_find(const tl_row_ranges *ranges, size_t start, int64_t row);
/** Whether some of the rows [from, to) are in the ranges. *at (at first 0) moves on, so that `from` may only grow. */
bool tl_row_ranges_meet(const tl_row_ranges *ranges, size_t *at, int64_t from, int64_t to);

/** Append rows [from, to), which begin in the last range or behind it; *cap is the room of the items, 0 at first. */
tl_status tl_row_ranges_add(tl_row_ranges *ranges, size_t *cap, int64_t from, int64_t to, tl_error *err);
/** The rows that are in both. *out comes empty. */
tl_status tl_row_ranges_and(const tl_row_ranges *a, const tl_row_ranges *b, tl_row_ranges *out, tl_error *err);

/** Some of the rows [0, n_rows). */
typedef struct tl_row_set {
    int64_t n_rows;
    uint64_t *words; /* bits behind n_rows are 0 */
} tl_row_set;

/** No rows, or all. */
tl_status tl_row_set_init(tl_row_set *set, int64_t n_rows, bool all, tl_error *err);
void tl_row_set_deinit(tl_row_set *set); /* zeroed is fine */
/** All of these want sets of as many rows. */
void tl_row_set_and(tl_row_set *set, const tl_row_set *other);
void tl_row_set_or(tl_row_set *set, const tl_row_set *other);
void tl_row_set_and_not(tl_row_set *set, const tl_row_set *other);
void tl_row_set_not(tl_row_set *set);
void tl_row_set_copy(tl_row_set *set, const tl_row_set *from);
void tl_row_set_clear(tl_row_set *set);
void tl_row_set_add(tl_row_set *set, int64_t row);
static inline bool tl_row_set_has(const tl_row_set *set, int64_t row)
{
    return set->words[row / 64] >> (row % 64) & 1;
}
int64_t tl_row_set_count(const tl_row_set *set);
/** Add the numbers of a bitmap; TL_E_CORRUPT if there is one that is no row. */
tl_status tl_row_set_add_roaring(tl_row_set *set, const tl_roaring32 *bitmap, tl_error *err);
/** As ranges; rows between two of the set are taken along where there are no more than `gap`. */
tl_status tl_row_set_ranges(const tl_row_set *set, int64_t gap, tl_row_ranges *out, tl_error *err);

#endif
