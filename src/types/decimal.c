/*
 * Decimals: unscaled 128-bit integers as text and back. Syntax and rounding as Java's BigDecimal(String).setScale(HALF_UP).
 */
#include "types/number.h"

tl_i128 tl_pow10_i128(int exponent)
{
    static const uint64_t small[] = {1ULL,
                                     10ULL,
                                     100ULL,
                                     1000ULL,
                                     10000ULL,
                                     100000ULL,
                                     1000000ULL,
                                     10000000ULL,
                                     100000000ULL,
                                     1000000000ULL,
                                     10000000000ULL,
                                     100000000000ULL,
                                     1000000000000ULL,
                                     10000000000000ULL,
                                     100000000000000ULL,
                                     1000000000000000ULL,
                                     10000000000000000ULL,
                                     100000000000000000ULL,
                                     1000000000000000000ULL,
                                     10000000000000000000ULL};
    return exponent < 20 ? (tl_i128)small[exponent] : (tl_i128)small[19] * (tl_i128)small[exponent - 19];
}

/* A decimal number's digits: all but the exponent checked. Java: BigDecimal(String). */
typedef struct decimal_text {
    bool negative;
    const uint8_t *digits; /* digits and at most one point */
    const uint8_t *end;
    int64_t n_before; /* digits before the point, the exponent counted in: may be negative */
} decimal_text;

static bool scan_decimal(tl_bytes_view text, decimal_text *out)
{
    const uint8_t *p = text.data, *end = p + text.len;
    decimal_text d = {0};
    if (p < end && (*p == '-' || *p == '+'))
        d.negative = *p++ == '-';
    d.digits = p;
    int64_t n = 0, before = -1;
    for (; p < end && ((*p >= '0' && *p <= '9') || *p == '.'); p++) {
        if (*p != '.') {
            n++;
        } else {
            if (before >= 0)
                return false;
            before = n;
        }
    }
    d.end = p;
    d.n_before = before < 0 ? n : before;
    if (n == 0)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        int64_t e = 0;
        if (!tl_text__parse_int((tl_bytes_view){p + 1, (size_t)(end - p - 1)}, INT32_MIN, INT32_MAX, &e))
            return false;
        d.n_before += e;
        p = end;
    }
    *out = d;
    return p == end;
}

/* Unscaled value with `scale` digits after the point, rounded half up; false if it needs more than 38 digits. */
static bool round_decimal(const decimal_text *d, int scale, tl_i128 *out)
{
    const tl_i128 limit = tl_pow10_i128(38);
    tl_i128 v = 0;
    int64_t wanted = d->n_before + scale; /* digits to take */
    const uint8_t *p = d->digits;
    for (; p < d->end && wanted > 0; p++) {
        if (*p == '.')
            continue;
        if (v >= limit / 10 && v != 0)
            return false;
        v = v * 10 + (*p - '0');
        wanted--;
    }
    if (p < d->end && *p == '.')
        p++;
    if (wanted == 0 && p < d->end && *p >= '5')
        v++;
    for (; wanted > 0 && v != 0; wanted--) {
        if (v >= limit / 10)
            return false;
        v *= 10;
    }
    *out = d->negative ? -v : v;
    return true;
}

tl_decimal_result tl_decimal__parse(tl_bytes_view text, int precision, int scale, tl_i128 *out)
{
    decimal_text d;
    tl_i128 v = 0;
    if (!scan_decimal(text, &d))
        return TL_DECIMAL_MALFORMED;
    if (!round_decimal(&d, scale, &v) || v >= tl_pow10_i128(precision) || v <= -tl_pow10_i128(precision))
        return TL_DECIMAL_OVERFLOW;
    *out = v;
    return TL_DECIMAL_FITS;
}

bool tl_decimal_parse(tl_bytes_view text, int precision, int scale, tl_i128 *out)
{
    return tl_decimal__parse(text, precision, scale, out) == TL_DECIMAL_FITS;
}

size_t tl_decimal_format(tl_i128 unscaled, int scale, char out[64])
{
    bool negative = unscaled < 0;
    unsigned __int128 v = negative ? -(unsigned __int128)unscaled : (unsigned __int128)unscaled;
    char digits[40];
    const uint64_t low_part = UINT64_C(10000000000000000000); /* 10^19; what is above it fits 64 bits again */
    uint64_t high = (uint64_t)(v / low_part), low = (uint64_t)(v % low_part);
    size_t n = tl_text__uint(high != 0 ? high : low, digits);
    if (high != 0) {
        for (size_t i = 19; i > 0; i--) {
            digits[n + i - 1] = (char)('0' + low % 10);
            low /= 10;
        }
        n += 19;
    }
    char *p = out;
    if (negative)
        *p++ = '-';
    size_t fraction = (size_t)scale;
    if (n <= fraction) {
        *p++ = '0';
    } else {
        memcpy(p, digits, n - fraction);
        p += n - fraction;
    }
    if (fraction > 0) {
        *p++ = '.';
        for (size_t i = n; i < fraction; i++)
            *p++ = '0';
        memcpy(p, digits + (n > fraction ? n - fraction : 0), TL_MIN(n, fraction));
        p += TL_MIN(n, fraction);
    }
    return (size_t)(p - out);
}
