#include "merge/decimal.h"

#include "types/text.h"

typedef unsigned __int128 u128;

/* 256-bit unsigned number, two halves. */
typedef struct u256 {
    u128 high, low;
} u256;

static u128 magnitude(tl_i128 v)
{
    return v < 0 ? -(u128)v : (u128)v;
}

static u256 multiply(u128 a, u128 b)
{
    uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64), b0 = (uint64_t)b, b1 = (uint64_t)(b >> 64);
    u128 low = (u128)a0 * b0, mid1 = (u128)a0 * b1, mid2 = (u128)a1 * b0, high = (u128)a1 * b1;
    u128 mid = (low >> 64) + (uint64_t)mid1 + (uint64_t)mid2;
    return (u256){high + (mid1 >> 64) + (mid2 >> 64) + (mid >> 64), mid << 64 | (uint64_t)low};
}

/* Bit by bit; the divisor is below 2^127. Rare enough not to be worth Knuth's algorithm. */
static u256 divide(u256 v, u128 by, u128 *rest)
{
    u256 quotient = {0, 0};
    u128 r = 0;
    for (int bit = 255; bit >= 0; bit--) {
        r = r << 1 | (bit >= 128 ? v.high >> (bit - 128) & 1 : v.low >> bit & 1);
        quotient.high = quotient.high << 1 | quotient.low >> 127;
        quotient.low <<= 1;
        if (r >= by) {
            r -= by;
            quotient.low |= 1;
        }
    }
    *rest = r;
    return quotient;
}

/* v / by, rounded half up in magnitude; false if it does not fit the precision. */
static bool divide_rounded(u256 v, u128 by, int precision, bool negative, tl_i128 *out)
{
    u128 rest;
    u256 quotient = divide(v, by, &rest);
    if (quotient.high != 0 || quotient.low >> 126 != 0)
        return false;
    tl_i128 result = (tl_i128)quotient.low + (rest >= by - rest);
    if (!tl_merge__decimal_fits(result, precision))
        return false;
    *out = negative ? -result : result;
    return true;
}

bool tl_merge__decimal_fits(tl_i128 v, int precision)
{
    return magnitude(v) < (u128)tl_pow10_i128(precision);
}

bool tl_merge__decimal_multiply(tl_i128 a, tl_i128 b, int scale, int precision, tl_i128 *out)
{
    return divide_rounded(multiply(magnitude(a), magnitude(b)), (u128)tl_pow10_i128(scale), precision, (a < 0) != (b < 0), out);
}

/* Whether a / b has a finite decimal expansion: b, reduced by a, has no prime factors but 2 and 5. */
static bool is_finite(u128 a, u128 b)
{
    u128 x = a, y = b;
    while (y != 0) {
        u128 r = x % y;
        x = y;
        y = r;
    }
    b /= x;
    while (b % 2 == 0)
        b /= 2;
    while (b % 5 == 0)
        b /= 5;
    return b == 1;
}

decimal_division tl_merge__decimal_divide(tl_i128 a, tl_i128 b, int scale, int precision, tl_i128 *out)
{
    if (b == 0)
        return DECIMAL_BY_ZERO;
    u128 mag_a = magnitude(a), mag_b = magnitude(b);
    if (!is_finite(mag_a, mag_b))
        return DECIMAL_ENDLESS;
    u256 scaled = multiply(mag_a, (u128)tl_pow10_i128(scale));
    return divide_rounded(scaled, mag_b, precision, (a < 0) != (b < 0), out) ? DECIMAL_DIVIDED : DECIMAL_TOO_LARGE;
}
