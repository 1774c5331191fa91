/* Products and quotients of decimals, exact in 256 bits, then rounded half up to the scale. */
#ifndef TL_MERGE_DECIMAL_H
#define TL_MERGE_DECIMAL_H

#include "types/type.h"

/** a * b of one scale, at that scale; false if it needs more than `precision` digits. */
bool tl_merge__decimal_multiply(tl_i128 a, tl_i128 b, int scale, int precision, tl_i128 *out);

typedef enum decimal_division { DECIMAL_DIVIDED, DECIMAL_TOO_LARGE, DECIMAL_BY_ZERO, DECIMAL_ENDLESS } decimal_division;
/** a / b; ENDLESS if the quotient has no finite decimal form (which the reference refuses, whatever the scale). */
decimal_division tl_merge__decimal_divide(tl_i128 a, tl_i128 b, int scale, int precision, tl_i128 *out);

/** Whether |v| has at most `precision` digits. */
bool tl_merge__decimal_fits(tl_i128 v, int precision);

#endif
