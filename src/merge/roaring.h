/*
 * Containers of Roaring bitmaps: sets of 16-bit numbers in one of three forms, as both bitmap formats store them.
 *
 *   RUN     u16 number of runs, then (first, length - 1) pairs of u16
 *   BITMAP  1024 little-endian words, bit v of word v / 64
 *   ARRAY   the numbers as u16, ascending
 *
 * Which form a result has follows the Java library (RoaringBitmap 1.2: Container#ior, #runOptimize), so that the bytes are
 * its bytes: the choice depends on the forms of the inputs, not on the numbers alone. Format:
 * https://github.com/RoaringBitmap/RoaringFormatSpec
 */
#ifndef TL_MERGE_ROARING_H
#define TL_MERGE_ROARING_H

#include "base/mem.h"

/* Values as in the 64-bit format. */
typedef enum box_form { BOX_RUN = 0, BOX_BITMAP = 1, BOX_ARRAY = 2 } box_form;

typedef struct roaring_box {
    box_form form;
    uint32_t card; /* 1..65536 */
    const uint8_t *data;
    size_t bytes;
} roaring_box;

/* Bytes still to be read. */
typedef struct roaring_input {
    const uint8_t *at;
    size_t left;
} roaring_input;

/** Read and check one container; its data stay in the input. `card` counts for ARRAY only. */
tl_status tl_merge__box_read(roaring_input *in, box_form form, uint32_t card, roaring_box *out, tl_error *err);
/** a | b, in the form that a.ior(b) has. New data live in the arena. */
tl_status tl_merge__box_union(const roaring_box *a, const roaring_box *b, tl_arena *arena, roaring_box *out, tl_error *err);
/** As runOptimize(). `only_to_runs`: other changes of form are not made (the 64-bit bitmap leaves them out). */
tl_status tl_merge__box_optimize(roaring_box *box, bool only_to_runs, tl_arena *arena, tl_error *err);

#endif
