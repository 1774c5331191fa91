/* Unions of sketches and bitmaps out of any bytes. Input: a byte for the function, a byte for the length of the first value,
 * both values. */
#include "merge/sketch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_error err;
    tl_buf out = {0}, again = {0};
    if (size < 2)
        return 0;
    size_t first = TL_MIN((size_t)data[1] * 16, size - 2);
    tl_bytes_view a = {data + 2, first}, b = {data + 2 + first, size - 2 - first};
    tl_status (*const unions[])(tl_bytes_view, tl_bytes_view, tl_buf *, tl_error *) = {
        tl_merge__theta_union, tl_merge__hll_union, tl_merge__rbm32_union, tl_merge__rbm64_union};
    size_t k = data[0] % 4;
    /* What came out must be a value that can go in again. */
    if (unions[k](a, b, &out, &err) == TL_OK && unions[k]((tl_bytes_view){out.data, out.len}, b, &again, &err) != TL_OK)
        __builtin_trap();
    tl_buf_deinit(&out);
    tl_buf_deinit(&again);
    return 0;
}
