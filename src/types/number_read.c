/*
 * Numbers from text: integers and floating point, in any locale.
 */
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "types/number.h"
#include "types/pow10_table.h"

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

/*
 * Nearest double to mantissa * 10^exponent from one or two 64-bit products (D. Lemire, "Number parsing at a gigabyte per
 * second", 2021). False where that does not decide: subnormal, infinite, or too close to the middle of two doubles.
 */
static bool nearest_double(uint64_t mantissa, int64_t exponent, uint64_t *bits)
{
    if (mantissa == 0 || exponent < POW10_MIN || exponent > 308)
        return false;
    int q = (int)exponent;
    int shift = __builtin_clzll(mantissa);
    uint64_t w = mantissa << shift;
    uint64_t high = POW10[q - POW10_MIN][0], low = POW10[q - POW10_MIN][1];
    if (q > 55) { /* the method wants positive powers rounded down, the table has them rounded up */
        high -= low == 0;
        low--;
    }
    unsigned __int128 product = (unsigned __int128)w * high;
    const uint64_t undecided = UINT64_MAX >> 55;
    if (((uint64_t)(product >> 64) & undecided) == undecided)
        product += (uint64_t)(((unsigned __int128)w * low) >> 64);
    uint64_t upper = (uint64_t)(product >> 64), lower = (uint64_t)product;
    if (lower == UINT64_MAX && (q < -27 || q > 55))
        return false;
    int top = (int)(upper >> 63);
    uint64_t m = upper >> (top + 9);
    int64_t power = ((217706 * (int64_t)q) >> 16) + 63 + top - shift + 1023;
    if (power <= 0)
        return false;
    bool tie = lower <= 1 && q >= -4 && q <= 23 && (m & 3) == 1 && m << (top + 9) == upper;
    if (tie)
        m &= ~UINT64_C(1);
    m = (m + (m & 1)) >> 1;
    if (m >= UINT64_C(1) << 53) {
        m >>= 1;
        power++;
    }
    if (power >= 0x7ff)
        return false;
    *bits = (m & ((UINT64_C(1) << 52) - 1)) | (uint64_t)power << 52;
    return true;
}

/* Digits beyond the first 19 do not matter if the next larger mantissa gives the same double. */
static bool parse_by_product(const scanned *s, double *out)
{
    uint64_t bits, next;
    if (!nearest_double(s->mantissa, s->exponent, &bits))
        return false;
    if (s->dropped > 0 && (!nearest_double(s->mantissa + 1, s->exponent, &next) || next != bits))
        return false;
    bits |= (uint64_t)s->negative << 63;
    memcpy(out, &bits, sizeof bits);
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
    return parse_by_product(&s, out) || parse_by_libc(text, true, out);
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
