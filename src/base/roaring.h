/*
 * Roaring bitmaps: sets of numbers cut by their high bits into containers of 16-bit numbers.
 *
 * A container ("box") is stored in one of three forms:
 *   RUN     u16 number of runs, then (first, length - 1) pairs of u16
 *   BITMAP  1024 little-endian words, bit v of word v / 64
 *   ARRAY   the numbers as u16, ascending
 *
 * Which form a result has follows the Java library (RoaringBitmap 1.2: Container#ior, #runOptimize), so that the bytes are
 * its bytes: the choice depends on the forms of the inputs, not on the numbers alone. Format:
 * https://github.com/RoaringBitmap/RoaringFormatSpec
 */
#ifndef TL_BASE_ROARING_H
#define TL_BASE_ROARING_H

#include "base/mem.h"

/* Values as in Java's 64-bit format. */
typedef enum tl_roaring_form { TL_ROARING_RUN = 0, TL_ROARING_BITMAP = 1, TL_ROARING_ARRAY = 2 } tl_roaring_form;

#define TL_ROARING_BITMAP_BYTES 8192
#define TL_ROARING_ARRAY_MAX 4096 /* numbers in an ARRAY */

typedef struct tl_roaring_box {
    tl_roaring_form form;
    uint32_t card; /* 1..65536 */
    const uint8_t *data;
    size_t bytes;
} tl_roaring_box;

/* Bytes still to be read. */
typedef struct tl_roaring_input {
    const uint8_t *at;
    size_t left;
} tl_roaring_input;

/** Read and check one container; its data stay in the input. `card` counts for ARRAY only. */
tl_status tl_roaring_box_read(tl_roaring_input *in, tl_roaring_form form, uint32_t card, tl_roaring_box *out, tl_error *err);
/** a | b, in the form that a.ior(b) has. New data live in the arena. */
tl_status tl_roaring_box_union(const tl_roaring_box *a, const tl_roaring_box *b, tl_arena *arena, tl_roaring_box *out,
                               tl_error *err);
/** As runOptimize(). `only_to_runs`: other changes of form are not made (the 64-bit bitmap leaves them out). */
tl_status tl_roaring_box_optimize(tl_roaring_box *box, bool only_to_runs, tl_arena *arena, tl_error *err);

/** The numbers of a box as ranges, ascending. Start with {box, 0}. */
typedef struct tl_roaring_ranges {
    const tl_roaring_box *box;
    uint32_t at; /* private: run or number in an ARRAY, bit in a BITMAP */
} tl_roaring_ranges;
/** Next range that ends at `first` or later; false if there is none. `first` never falls. */
bool tl_roaring_next_range(tl_roaring_ranges *it, uint32_t first, uint32_t *from, uint32_t *to);

/** Whether the box may have `n` numbers in a row; n >= 128. */
bool tl_roaring_may_have_run(const tl_roaring_box *box, uint32_t n);

/* ---- 32-bit bitmaps in the portable form ---- */

typedef struct tl_roaring32 {
    uint32_t n;
    uint16_t *keys; /* ascending: high halves */
    tl_roaring_box *boxes;
} tl_roaring32;

/** Read one bitmap and advance; boxes lie in the input, arrays in the arena. */
tl_status tl_roaring32_read(tl_roaring_input *in, tl_arena *arena, tl_roaring32 *out, tl_error *err);
/** a | b; boxes that only one has are shared. */
tl_status tl_roaring32_union(const tl_roaring32 *a, const tl_roaring32 *b, tl_arena *arena, tl_roaring32 *out, tl_error *err);
/** Bring every container into its smallest form, as runOptimize() does. */
tl_status tl_roaring32_optimize(tl_roaring32 *bitmap, tl_arena *arena, tl_error *err);
/** Append the portable form; TL_E_NOMEM without a message. */
tl_status tl_roaring32_write(const tl_roaring32 *bitmap, tl_buf *out);
/** A bitmap of `n` ascending numbers without doubles. */
tl_status tl_roaring32_of(const uint32_t *numbers, size_t n, tl_arena *arena, tl_roaring32 *out, tl_error *err);
uint64_t tl_roaring32_count(const tl_roaring32 *bitmap);

#endif
