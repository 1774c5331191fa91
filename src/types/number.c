/*
 * Numbers as text: integers, shortest floating point, and reading them back.
 *
 * The shortest form of a double is what printf("%.*g") gives for the smallest precision that reads back. Its digits are found
 * with Schubfach (R. Giulietti, "The Schubfach way to render doubles", 2020): the shortest decimal inside the rounding interval
 * that is closest to the value. Where the interval is symmetric, that is the value rounded to so many digits, hence printf's
 * result. At powers of two it is not, and printf itself is asked.
 */
#include <locale.h>
#include <math.h>
#include <pthread.h>
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
    for (int i = width - 1; i >= 0; i--) {
        out[i] = (char)('0' + v % 10);
        v /= 10;
    }
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

static decimal digits_of(double v, binary b, bool is_double)
{
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

/* ---- reading floating point ---- */

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* A number in C's syntax without hexadecimal: [sign] digits [. digits] [e [sign] digits]. */
typedef struct scanned {
    bool negative;
    uint64_t mantissa; /* of the first 19 significant digits */
    int dropped;       /* digits beyond them */
    int64_t exponent;  /* of ten, for `mantissa` */
} scanned;

static bool scan_number(tl_bytes_view text, scanned *out)
{
    const uint8_t *p = text.data, *end = p + text.len;
    scanned s = {0};
    int n_digits = 0;
    if (p < end && (*p == '-' || *p == '+'))
        s.negative = *p++ == '-';
    for (bool fraction = false; p < end; p++) {
        if (*p == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (*p < '0' || *p > '9')
            break;
        n_digits++;
        if (s.mantissa < UINT64_C(1000000000000000000)) {
            s.mantissa = s.mantissa * 10 + (uint64_t)(*p - '0');
            s.exponent -= fraction;
        } else {
            s.dropped++;
            s.exponent += !fraction;
        }
    }
    if (n_digits == 0)
        return false;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool negative = p < end && *p == '-';
        if (p < end && (*p == '-' || *p == '+'))
            p++;
        if (p == end)
            return false;
        int64_t e = 0;
        for (; p < end && *p >= '0' && *p <= '9'; p++)
            e = TL_MIN(e * 10 + (*p - '0'), 1000000);
        s.exponent += negative ? -e : e;
    }
    *out = s;
    return p == end;
}

static tl_bytes_view trim(tl_bytes_view text)
{
    while (text.len > 0 && text.data[0] <= ' ') {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && text.data[text.len - 1] <= ' ')
        text.len--;
    return text;
}

static bool is_text(tl_bytes_view text, const char *want)
{
    return text.len == strlen(want) && memcmp(text.data, want, text.len) == 0;
}

/* NaN and Infinity as Java spells them. */
static bool scan_special(tl_bytes_view text, double *out)
{
    bool negative = text.len > 0 && text.data[0] == '-';
    if (text.len > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
        text.data++;
        text.len--;
    }
    if (is_text(text, "NaN"))
        *out = (double)NAN;
    else if (is_text(text, "Infinity"))
        *out = negative ? -(double)INFINITY : (double)INFINITY;
    else
        return false;
    return true;
}

/* strtod_l() needs an end; numbers longer than this cannot be told from their first digits, so they are copied to the heap. */
#define SHORT_NUMBER 128

static bool parse_by_libc(tl_bytes_view text, bool is_double, double *out)
{
    char small[SHORT_NUMBER];
    char *copy = text.len < sizeof small ? small : tl_alloc(text.len + 1);
    if (copy == NULL)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    pthread_once(&c_locale_once, make_c_locale);
    if (c_locale == (locale_t)0)
        *out = is_double ? strtod(copy, NULL) : (double)strtof(copy, NULL);
    else
        *out = is_double ? strtod_l(copy, NULL, c_locale) : (double)strtof_l(copy, NULL, c_locale);
    if (copy != small)
        tl_free(copy);
    return true;
}

bool tl_text__parse_double(tl_bytes_view text, double *out)
{
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    text = trim(text);
    scanned s;
    if (!scan_number(text, &s))
        return scan_special(text, out);
    /* Exact operands, one rounding: the result is the nearest double (W. D. Clinger, 1990). */
    if (s.dropped == 0 && s.mantissa <= UINT64_C(1) << 53 && s.exponent >= -22 && s.exponent <= 22) {
        double v = (double)s.mantissa;
        v = s.exponent < 0 ? v / pow10[-s.exponent] : v * pow10[s.exponent];
        *out = s.negative ? -v : v;
        return true;
    }
    return parse_by_libc(text, true, out);
}

bool tl_text__parse_float(tl_bytes_view text, float *out)
{
    static const float pow10[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
    text = trim(text);
    scanned s;
    double v = 0;
    if (!scan_number(text, &s)) {
        if (!scan_special(text, &v))
            return false;
        *out = (float)v;
        return true;
    }
    if (s.dropped == 0 && s.mantissa <= UINT64_C(1) << 24 && s.exponent >= -10 && s.exponent <= 10) {
        float f = (float)s.mantissa;
        f = s.exponent < 0 ? f / pow10[-s.exponent] : f * pow10[s.exponent];
        *out = s.negative ? -f : f;
        return true;
    }
    if (!parse_by_libc(text, false, &v))
        return false;
    *out = (float)v;
    return true;
}

bool tl_text__parse_int(tl_bytes_view text, int64_t min, int64_t max, int64_t *out)
{
    size_t i = 0;
    bool negative = text.len > 0 && text.data[0] == '-';
    if (text.len > 0 && (text.data[0] == '-' || text.data[0] == '+'))
        i++;
    if (i == text.len)
        return false;
    uint64_t v = 0;
    for (; i < text.len; i++) {
        unsigned digit = (unsigned)text.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    if (negative ? v > (uint64_t)INT64_MAX + 1 : v > (uint64_t)INT64_MAX)
        return false;
    int64_t value = negative ? (int64_t)(0 - v) : (int64_t)v;
    *out = value;
    return value >= min && value <= max;
}
