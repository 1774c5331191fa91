/*
 * Unions of serialised sketches and bitmaps, byte for byte as the reference's libraries make them (Apache DataSketches 4.2,
 * RoaringBitmap 1.2): both sides and *out are serialised forms. `a` is what was aggregated so far, `b` the new value; where
 * the reference's result depends on their order, it is kept. Input is hostile: TL_E_CORRUPT with the reason.
 * *out is emptied first.
 */
#ifndef TL_MERGE_SKETCH_H
#define TL_MERGE_SKETCH_H

#include "base/mem.h"

tl_status tl_merge__theta_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err);
tl_status tl_merge__hll_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err);
tl_status tl_merge__rbm32_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err);
tl_status tl_merge__rbm64_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err);

#endif
