/* Dense values, as files hold them, to the slots of a column with nulls between them. */
#ifndef TL_FORMAT_EXPAND_H
#define TL_FORMAT_EXPAND_H

#include <stdint.h>

/**
 * In place: `dense` values at the front of `values` (room for n) move to the slots whose bit is set in validity; other
 * slots become zero. Works from the back, so that nothing is overwritten before it moved.
 */
void tl_format__expand_fixed(uint8_t *values, int width, const uint8_t *validity, int64_t n, int64_t dense);
/** In place: offsets[0..dense] become offsets[0..n], empty at unset bits. */
void tl_format__expand_offsets(int32_t *offsets, const uint8_t *validity, int64_t n, int64_t dense);

#endif
