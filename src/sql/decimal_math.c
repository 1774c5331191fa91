/*
 * Decimal arithmetic in 256 bits. Most calls fit into 128 and take the short way; the long way is a plain shift and subtract.
 */
#include "sql/decimal_math.h"

#include "types/text.h"

typedef unsigned __int128 u128;

typedef struct u256 {
    u128 high, low;
} u256;

static u128 magnitude(tl_i128 v)
{
    return v < 0 ? -(u128)v : (u128)v;
}

static u256 multiply(u128 a, u128 b)
{
    u128 a0 = (uint64_t)a, a1 = a >> 64, b0 = (uint64_t)b, b1 = b >> 64;
    u128 p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
    u128 middle = (p00 >> 64) + (uint64_t)p01 + (uint64_t)p10;
    return (u256){p11 + (p01 >> 64) + (p10 >> 64) + (middle >> 64), (middle << 64) | (uint64_t)p00};
}

/** Quotient and remainder; false if the quotient needs more than 128 bits. */
static bool divide(u256 n, u128 d, u128 *quotient, u128 *remainder)
{
    if (n.high == 0) {
        *quotient = n.low / d;
        *remainder = n.low % d;
        return true;
    }
    if (n.high >= d)
        return false;
    u128 r = n.high, q = 0;
    for (int i = 127; i >= 0; i--) {
        bool carry = (r >> 127) != 0;
        r = r << 1 | (n.low >> i & 1);
        q <<= 1;
        if (carry || r >= d) {
            r -= d;
            q |= 1;
        }
    }
    *quotient = q;
    *remainder = r;
    return true;
}

/** |n / d| rounded half up, with a sign; false beyond `precision` digits. */
static bool rounded(u256 n, u128 d, bool negative, int32_t precision, tl_i128 *out)
{
    u128 q, r;
    if (!divide(n, d, &q, &r))
        return false;
    if (r >= d - r)
        q++;
    if (q >= (u128)tl_pow10_i128(precision))
        return false;
    *out = negative ? -(tl_i128)q : (tl_i128)q;
    return true;
}

static bool fits(tl_i128 v, int32_t precision)
{
    tl_i128 limit = tl_pow10_i128(precision);
    return v < limit && v > -limit;
}

bool tl_decimal__multiply(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out)
{
    int32_t down = scale_a + scale_b - scale;
    tl_i128 product;
    if (down == 0 && !__builtin_mul_overflow(a, b, &product)) {
        *out = product;
        return fits(product, precision);
    }
    bool negative = (a < 0) != (b < 0);
    u256 n = multiply(magnitude(a), magnitude(b));
    if (down > 38) { /* in two steps: the first cuts digits that cannot change the rounding by more than the reference's own */
        u128 q, r;
        if (!divide(n, (u128)tl_pow10_i128(down - 38), &q, &r))
            return false;
        n = (u256){0, q};
        down = 38;
    }
    return rounded(n, (u128)tl_pow10_i128(down), negative, precision, out);
}

bool tl_decimal__add(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out)
{
    int32_t both = scale_a > scale_b ? scale_a : scale_b;
    tl_i128 x, y, sum;
    if (!__builtin_mul_overflow(a, tl_pow10_i128(both - scale_a), &x) && !__builtin_mul_overflow(b, tl_pow10_i128(both - scale_b), &y) &&
        !__builtin_add_overflow(x, y, &sum)) {
        if (both == scale) {
            *out = sum;
            return fits(sum, precision);
        }
        return rounded((u256){0, magnitude(sum)}, (u128)tl_pow10_i128(both - scale), sum < 0, precision, out);
    }
    /* 256 bits, by magnitude and sign. */
    u256 p = multiply(magnitude(a), (u128)tl_pow10_i128(both - scale_a)), q = multiply(magnitude(b), (u128)tl_pow10_i128(both - scale_b)), r;
    bool negative = a < 0;
    if ((a < 0) == (b < 0)) {
        r.low = p.low + q.low;
        r.high = p.high + q.high + (r.low < p.low);
    } else {
        bool p_larger = p.high != q.high ? p.high > q.high : p.low >= q.low;
        u256 big = p_larger ? p : q, small = p_larger ? q : p;
        r.low = big.low - small.low;
        r.high = big.high - small.high - (big.low < small.low);
        negative = p_larger ? a < 0 : b < 0;
    }
    return rounded(r, (u128)tl_pow10_i128(both - scale), negative, precision, out);
}

bool tl_decimal__divide(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out)
{
    int32_t up = scale - scale_a + scale_b;
    bool negative = (a < 0) != (b < 0);
    u128 n = magnitude(a), d = magnitude(b);
    if (up < 0) { /* fewer digits are wanted than a / b has before the point moves */
        u256 wide = multiply(d, (u128)tl_pow10_i128(-up > 38 ? 38 : -up));
        if (wide.high != 0) {
            *out = 0; /* the divisor is beyond all dividends */
            return true;
        }
        return rounded((u256){0, n}, wide.low, negative, precision, out);
    }
    if (up > 38) {
        u256 first = multiply(n, (u128)tl_pow10_i128(up - 38));
        if (first.high != 0)
            return false;
        n = first.low;
        up = 38;
    }
    return rounded(multiply(n, (u128)tl_pow10_i128(up)), d, negative, precision, out);
}

bool tl_decimal__remainder(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, tl_i128 *out)
{
    int32_t both = scale_a > scale_b ? scale_a : scale_b;
    u256 n = multiply(magnitude(a), (u128)tl_pow10_i128(both - scale_a)), d = multiply(magnitude(b), (u128)tl_pow10_i128(both - scale_b));
    u128 r;
    if (d.high != 0) { /* larger than every a that 38 digits hold at this scale, unless a was scaled up too */
        if (n.high != 0)
            return false;
        r = n.low;
    } else {
        u128 high = n.high % d.low, q;
        if (!divide((u256){high, n.low}, d.low, &q, &r))
            return false;
    }
    tl_i128 v = a < 0 ? -(tl_i128)r : (tl_i128)r;
    *out = v;
    return fits(v, precision);
}
