/*
 * Numbers as text: integers and shortest floating point.
 *
 * The shortest form of a double is what printf("%.*g") gives for the smallest precision that reads back. Its digits are found
 * with Schubfach (R. Giulietti, "The Schubfach way to render doubles", 2020): the shortest decimal inside the rounding interval
 * that is closest to the value. Where the interval is symmetric, that is the value rounded to so many digits, hence printf's
 * result. At powers of two it is not, and printf itself is asked.
 */
#include <stdio.h>
#include <stdlib.h>

#include "types/number.h"

#include "types/pow10_table.h"

/* ---- integers ---- */

static const char DIGIT_PAIRS[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

size_t tl_text__uint(uint64_t v, char *out)
{
    char tmp[20];
    char *p = tmp + sizeof tmp;
    while (v >= 100) {
        p -= 2;
        memcpy(p, DIGIT_PAIRS + v % 100 * 2, 2);
        v /= 100;
    }
    if (v >= 10) {
        p -= 2;
        memcpy(p, DIGIT_PAIRS + v * 2, 2);
    } else {
        *--p = (char)('0' + v);
    }
    size_t len = (size_t)(tmp + sizeof tmp - p);
    memcpy(out, p, len);
    return len;
}

size_t tl_text__int(int64_t v, char *out)
{
    if (v >= 0)
        return tl_text__uint((uint64_t)v, out);
    *out = '-';
    return 1 + tl_text__uint(-(uint64_t)v, out + 1);
}

void tl_text__padded(uint32_t v, int width, char *out)
{
    for (; width >= 2; width -= 2) {
        memcpy(out + width - 2, DIGIT_PAIRS + v % 100 * 2, 2);
        v /= 100;
    }
    if (width == 1)
        *out = (char)('0' + v % 10);
}

/* ---- shortest floating point ---- */

/* A decimal digits * 10^exponent. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
} decimal;

/* A binary significand * 2^exponent, as it stands in a float or double. */
typedef struct binary {
    uint64_t significand;
    int exponent;
    bool lower_closer; /* a power of two: the next smaller number is only half as far away */
} binary;

static inline int floor_log2_pow10(int e)
{
    return (e * 1741647) >> 19;
}

/* High part of g * cp, the last bit telling whether anything was cut off ("round to odd"). */
static inline uint64_t round_to_odd_128(const uint64_t g[2], uint64_t cp)
{
    unsigned __int128 x = (unsigned __int128)g[1] * cp;
    unsigned __int128 y = (unsigned __int128)g[0] * cp + (uint64_t)(x >> 64);
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

static inline uint64_t round_to_odd_64(const uint64_t g[2], uint64_t cp)
{
    unsigned __int128 p = (unsigned __int128)(g[0] + (g[1] != 0)) * cp;
    return (uint64_t)(p >> 64) | ((uint32_t)((uint64_t)p >> 32) > 1);
}

static decimal shortest(binary b, bool is_double)
{
    uint64_t c = b.significand;
    int q = b.exponent;
    int k = (q * 1262611 - (b.lower_closer ? 524031 : 0)) >> 22; /* floor(log10 of the interval's width) */
    int h = q + floor_log2_pow10(-k) + 1;
    const uint64_t *g = POW10[-k - POW10_MIN];
    uint64_t left = 4 * c - 2 + b.lower_closer, mid = 4 * c, right = 4 * c + 2;
    uint64_t vbl = is_double ? round_to_odd_128(g, left << h) : round_to_odd_64(g, left << h);
    uint64_t vb = is_double ? round_to_odd_128(g, mid << h) : round_to_odd_64(g, mid << h);
    uint64_t vbr = is_double ? round_to_odd_128(g, right << h) : round_to_odd_64(g, right << h);
    uint64_t odd = c & 1; /* the bounds themselves round to an even significand only */
    uint64_t lower = vbl + odd, upper = vbr - odd;
    uint64_t s = vb / 4;
    if (s >= 10) {
        uint64_t sp = s / 10;
        bool up_inside = lower <= 40 * sp, wp_inside = 40 * sp + 40 <= upper;
        if (up_inside != wp_inside)
            return (decimal){sp + wp_inside, k + 1};
    }
    bool u_inside = lower <= 4 * s, w_inside = 4 * s + 4 <= upper;
    if (u_inside != w_inside)
        return (decimal){s + w_inside, k};
    uint64_t half = 4 * s + 2;
    return (decimal){s + (vb > half || (vb == half && (s & 1) != 0)), k};
}

/* Digits by printf, with at least `n` of them. Works in any locale: only digits are looked at. */
static decimal shortest_by_printf(double v, bool is_double, int n)
{
    char text[40];
    int limit = is_double ? 17 : 9;
    for (int p = n < 1 ? 1 : n;; p++) {
        snprintf(text, sizeof text, "%.*e", p - 1, v);
        if (p < limit && (is_double ? strtod(text, NULL) != v : strtof(text, NULL) != (float)v))
            continue;
        uint64_t digits = 0;
        const char *t = text;
        for (; *t != 'e'; t++)
            if (*t >= '0' && *t <= '9')
                digits = digits * 10 + (uint64_t)(*t - '0');
        return (decimal){digits, atoi(t + 1) - (p - 1)};
    }
}

static size_t format_g(decimal d, bool negative, char *out)
{
    while (d.digits % 100000000 == 0) {
        d.digits /= 100000000;
        d.exponent += 8;
    }
    while (d.digits % 10 == 0) {
        d.digits /= 10;
        d.exponent++;
    }
    char digits[24];
    int n = (int)tl_text__uint(d.digits, digits);
    int x = n + d.exponent - 1; /* exponent of the first digit */
    char *p = out;
    if (negative)
        *p++ = '-';
    if (x < -4 || x >= n) {
        *p++ = digits[0];
        if (n > 1) {
            *p++ = '.';
            memcpy(p, digits + 1, (size_t)n - 1);
            p += n - 1;
        }
        *p++ = 'e';
        *p++ = x < 0 ? '-' : '+';
        unsigned magnitude = (unsigned)abs(x);
        if (magnitude < 10)
            *p++ = '0';
        p += tl_text__uint(magnitude, p);
    } else if (x < 0) {
        memcpy(p, "0.0000", 6);
        p += 1 - x;
        memcpy(p, digits, (size_t)n);
        p += n;
    } else {
        memcpy(p, digits, (size_t)x + 1);
        p += x + 1;
        if (n > x + 1) {
            *p++ = '.';
            memcpy(p, digits + x + 1, (size_t)(n - x - 1));
            p += n - x - 1;
        }
    }
    return (size_t)(p - out);
}

static size_t put(char *out, const char *text)
{
    size_t len = strlen(text);
    memcpy(out, text, len);
    return len;
}

static int digit_count(uint64_t v)
{
    char tmp[24];
    while (v != 0 && v % 10 == 0)
        v /= 10;
    return (int)tl_text__uint(v, tmp);
}

/*
 * Amounts and whole numbers: if v is the double nearest to a decimal of at most 15 digits, that is the shortest one. The
 * division is rounded correctly, so the test is exact.
 */
static bool few_digits(double v, decimal *out)
{
    if (!(v < 1e11))
        return false;
    uint64_t digits = (uint64_t)(v * 1e4 + 0.5);
    if ((double)digits / 1e4 != v)
        return false;
    *out = (decimal){digits, -4};
    return true;
}

static decimal digits_of(double v, binary b, bool is_double)
{
    decimal few;
    if (is_double && few_digits(v, &few))
        return few;
    decimal d = shortest(b, is_double);
    return b.lower_closer ? shortest_by_printf(v, is_double, digit_count(d.digits)) : d;
}

size_t tl_text_double(double v, char out[32])
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bool negative = bits >> 63;
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff)
        return put(out, fraction != 0 ? "NaN" : negative ? "-Infinity" : "Infinity");
    if (exponent == 0 && fraction == 0)
        return put(out, negative ? "-0" : "0");
    binary b = {fraction, -1074, false};
    if (exponent != 0)
        b = (binary){fraction | UINT64_C(1) << 52, exponent - 1075, fraction == 0 && exponent > 1};
    return format_g(digits_of(negative ? -v : v, b, true), negative, out);
}

size_t tl_text_float(float v, char out[32])
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bool negative = bits >> 31;
    int exponent = (int)(bits >> 23 & 0xff);
    uint32_t fraction = bits & ((UINT32_C(1) << 23) - 1);
    if (exponent == 0xff)
        return put(out, fraction != 0 ? "NaN" : negative ? "-Infinity" : "Infinity");
    if (exponent == 0 && fraction == 0)
        return put(out, negative ? "-0" : "0");
    binary b = {fraction, -149, false};
    if (exponent != 0)
        b = (binary){fraction | UINT32_C(1) << 23, exponent - 150, fraction == 0 && exponent > 1};
    return format_g(digits_of((double)(negative ? -v : v), b, false), negative, out);
}
