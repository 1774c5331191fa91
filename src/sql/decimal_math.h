/* Arithmetic on unscaled decimals whose intermediate results need up to 256 bits. Private to sql/. */
#ifndef TL_SQL_DECIMAL_MATH_H
#define TL_SQL_DECIMAL_MATH_H

#include "types/type.h"

/*
 * Each computes exactly, rounds half away from zero to `scale` and gives false if the result has more than `precision` digits.
 */
bool tl_decimal__add(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out);
bool tl_decimal__multiply(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out);
/** b must not be 0. */
bool tl_decimal__divide(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out);
/** Remainder with the sign of a; `scale` is the larger of both. b must not be 0. */
bool tl_decimal__remainder(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, tl_i128 *out);

#endif
