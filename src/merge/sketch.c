#include "merge/sketch.h"

tl_status tl_merge__theta_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    (void)a;
    (void)b;
    (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "union of theta sketches");
}
tl_status tl_merge__hll_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    (void)a;
    (void)b;
    (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "union of HLL sketches");
}
tl_status tl_merge__rbm32_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    (void)a;
    (void)b;
    (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "union of 32-bit bitmaps");
}
tl_status tl_merge__rbm64_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    (void)a;
    (void)b;
    (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "union of 64-bit bitmaps");
}
