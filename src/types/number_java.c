/*
 * Java's Double.toString() and Float.toString(), as the runtimes up to 18 have them: those print the tables that we must match.
 *
 * They are not the shortest digits that read back. The digits come from free-format conversion with exact integers (G. Steele,
 * J. White, "How to print floating-point numbers accurately", 1990), with these peculiarities, all visible in the result:
 * - an integer below 2^62 is printed from its digits, those beyond the precision rounded away;
 * - at a power of two the gap to both neighbours is taken to be the smaller one;
 * - in the form with an exponent at least two digits are made, even where one would do;
 * - the upper bound of the rounding interval is open where the numbers fit into 64 bits, closed where they do not.
 */
#include <math.h>
#include <stdlib.h>

#include "types/number.h"

/* ---- natural numbers of a bounded size ---- */

/* Doubles need about 2200 bits: 2^1074 * 5^324 with the digits' scale. */
#define BIG_WORDS 80

typedef struct big {
    int n; /* words in use; the highest is not zero */
    uint32_t w[BIG_WORDS];
} big;

static void big_mul_add(big *b, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < b->n; i++) {
        carry += (uint64_t)b->w[i] * factor;
        b->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0)
        b->w[b->n++] = (uint32_t)carry;
}

static void big_shift_left(big *b, int bits)
{
    int words = bits / 32, rest = bits % 32;
    if (b->n == 0)
        return;
    memmove(b->w + words, b->w, (size_t)b->n * sizeof b->w[0]);
    memset(b->w, 0, (size_t)words * sizeof b->w[0]);
    b->n += words;
    big_mul_add(b, UINT32_C(1) << rest, 0);
}

/* v * 5^fives * 2^twos */
static big big_make(uint64_t v, int fives, int twos)
{
    big b = {0};
    b.w[0] = (uint32_t)v;
    b.w[1] = (uint32_t)(v >> 32);
    b.n = b.w[1] != 0 ? 2 : b.w[0] != 0 ? 1 : 0;
    for (; fives >= 13; fives -= 13)
        big_mul_add(&b, 1220703125, 0);
    for (; fives > 0; fives--)
        big_mul_add(&b, 5, 0);
    big_shift_left(&b, twos);
    return b;
}

static int big_compare(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (int i = a->n - 1; i >= 0; i--)
        if (a->w[i] != b->w[i])
            return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}

static big big_add(const big *a, const big *b)
{
    big sum = {0};
    uint64_t carry = 0;
    int n = TL_MAX(a->n, b->n);
    for (int i = 0; i < n; i++) {
        carry += (uint64_t)(i < a->n ? a->w[i] : 0) + (i < b->n ? b->w[i] : 0);
        sum.w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum.n = n;
    if (carry != 0)
        sum.w[sum.n++] = (uint32_t)carry;
    return sum;
}

static void big_subtract(big *a, const big *b)
{
    int64_t borrow = 0;
    for (int i = 0; i < a->n; i++) {
        borrow += (int64_t)a->w[i] - (i < b->n ? b->w[i] : 0);
        a->w[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->n > 0 && a->w[a->n - 1] == 0)
        a->n--;
}

/* Quotient of at most a few dozen; the remainder stays in `a`. */
static int big_divide(big *a, const big *b)
{
    int q = 0;
    while (big_compare(a, b) >= 0) {
        big_subtract(a, b);
        q++;
    }
    return q;
}

/* ---- digits ---- */

/* Digits d1 d2 d3 … of 0.d1d2d3… * 10^exponent. */
typedef struct digits {
    char text[24];
    int n;
    int exponent;
} digits;

/* A positive number: `fraction` has its leading one at bit 52, value = fraction * 2^(exponent - 52). */
typedef struct number {
    uint64_t fraction;
    int exponent;
    int precision; /* bits that the type has for this magnitude */
} number;

static void round_up(digits *d)
{
    int i = d->n - 1;
    while (i > 0 && d->text[i] == '9')
        d->text[i--] = '0';
    if (d->text[i] == '9') { /* 99…9: becomes 10…0 */
        d->text[i] = '1';
        d->exponent++;
        return;
    }
    d->text[i]++;
}

/* Digits of an integer; what lies beyond the precision of the type is rounded away. */
static void integer_digits(const number *v, digits *d)
{
    uint64_t value = v->exponent >= 52 ? v->fraction << (v->exponent - 52) : v->fraction >> (52 - v->exponent);
    int spare_bits = v->exponent - v->precision - 1;
    int drop = spare_bits > 1 ? (int)(spare_bits * 0.30102999566398120) : 0;
    d->exponent = 0;
    if (drop > 0) {
        uint64_t unit = (uint64_t)tl_pow10_i128(drop);
        uint64_t rest = value % unit;
        value = value / unit + (rest >= unit / 2);
        d->exponent = drop;
    }
    d->n = (int)tl_text__uint(value, d->text);
    d->exponent += d->n;
    while (d->n > 1 && d->text[d->n - 1] == '0')
        d->n--;
}

/* Bits of 5^n, as the choice between the narrow and the wide loop counts them. */
static int bits_of_pow5(int n)
{
    static const uint8_t bits[] = {0,  3,  5,  7,  10, 12, 14, 17, 19, 21, 24, 26, 28, 31,
                                   33, 35, 38, 40, 42, 45, 47, 49, 52, 54, 56, 59, 61};
    return n < (int)TL_ARRAY_LEN(bits) ? bits[n] : n * 3;
}

/* The state of the conversion: value = b / s, half a gap = m / s. */
typedef struct conversion {
    big b, s, ten_s, m;
    bool closed; /* whether the upper bound belongs to the interval */
    bool low, high;
} conversion;

static void test_bounds(conversion *c)
{
    big sum = big_add(&c->b, &c->m);
    int above = big_compare(&sum, &c->ten_s);
    c->low = big_compare(&c->b, &c->m) < 0;
    c->high = c->closed ? above >= 0 : above > 0;
}

static int next_digit(conversion *c)
{
    int q = big_divide(&c->b, &c->s);
    big_mul_add(&c->b, 10, 0);
    big_mul_add(&c->m, 10, 0);
    test_bounds(c);
    return q;
}

static int estimate_exponent(const number *v)
{
    double leading = (double)v->fraction / 4503599627370496.0; /* in [1, 2) */
    return (int)floor((leading - 1.5) * 0.289529654 + 0.176091259 + v->exponent * 0.301029995663981);
}

/* Scale the value and half its gap to integers over a common denominator; 10^exponent is about the value's magnitude. */
static void conversion_init(conversion *c, const number *v, int n_fraction_bits, int exponent)
{
    int tiny_bits = TL_MAX(0, n_fraction_bits - v->exponent - 1);
    int b5 = TL_MAX(0, -exponent), s5 = TL_MAX(0, exponent);
    int b2 = b5 + tiny_bits + v->exponent, s2 = s5 + tiny_bits;
    int m2 = b2 - v->precision;
    b2 -= n_fraction_bits - 1;
    int common = TL_MIN(b2, s2);
    b2 -= common;
    s2 -= common;
    m2 -= common;
    if (n_fraction_bits == 1)
        m2--;
    if (m2 < 0) {
        b2 -= m2;
        s2 -= m2;
        m2 = 0;
    }
    uint64_t fraction = v->fraction >> (53 - n_fraction_bits);
    c->closed = n_fraction_bits + b2 + bits_of_pow5(b5) >= 64 || s2 + 1 + bits_of_pow5(s5 + 1) >= 64;
    c->b = big_make(fraction, b5, b2);
    c->s = big_make(1, s5, s2);
    c->ten_s = big_make(10, s5, s2);
    c->m = big_make(1, b5, m2);
}

static void fraction_digits(const number *v, int n_fraction_bits, digits *d)
{
    int exponent = estimate_exponent(v);
    conversion c;
    conversion_init(&c, v, n_fraction_bits, exponent);
    d->n = 0;
    int q = next_digit(&c);
    if (q == 0 && !c.high)
        exponent--; /* the estimate was one too large */
    else
        d->text[d->n++] = (char)('0' + q);
    if (exponent < -3 || exponent >= 8)
        c.low = c.high = false;
    while (!c.low && !c.high && d->n < (int)sizeof d->text)
        d->text[d->n++] = (char)('0' + next_digit(&c));
    d->exponent = exponent + 1;
    if (!c.high)
        return;
    if (c.low) {
        big_mul_add(&c.b, 2, 0);
        int half = big_compare(&c.b, &c.ten_s);
        if (half < 0 || (half == 0 && (d->text[d->n - 1] & 1) == 0))
            return;
    }
    round_up(d);
}

/* ---- layout ---- */

static size_t layout(const digits *d, bool negative, char *out)
{
    char *p = out;
    if (negative)
        *p++ = '-';
    if (d->exponent > 0 && d->exponent < 8) {
        int before = TL_MIN(d->n, d->exponent);
        memcpy(p, d->text, (size_t)before);
        memset(p + before, '0', (size_t)(d->exponent - before));
        p += d->exponent;
        *p++ = '.';
        if (d->n > before) {
            memcpy(p, d->text + before, (size_t)(d->n - before));
            p += d->n - before;
        } else {
            *p++ = '0';
        }
    } else if (d->exponent <= 0 && d->exponent > -3) {
        memcpy(p, "0.00", 4);
        p += 2 - d->exponent;
        memcpy(p, d->text, (size_t)d->n);
        p += d->n;
    } else {
        *p++ = d->text[0];
        *p++ = '.';
        if (d->n > 1) {
            memcpy(p, d->text + 1, (size_t)d->n - 1);
            p += d->n - 1;
        } else {
            *p++ = '0';
        }
        *p++ = 'E';
        p += tl_text__int(d->exponent - 1, p);
    }
    return (size_t)(p - out);
}

static size_t java_number(number v, bool negative, char *out)
{
    digits d;
    int n_fraction_bits = 53 - __builtin_ctzll(v.fraction);
    bool integer = v.exponent >= 0 && v.exponent <= 62 && n_fraction_bits <= v.exponent + 1;
    if (integer)
        integer_digits(&v, &d);
    else
        fraction_digits(&v, n_fraction_bits, &d);
    return layout(&d, negative, out);
}

static size_t special(bool nan, bool negative, char *out)
{
    const char *text = nan ? "NaN" : negative ? "-Infinity" : "Infinity";
    memcpy(out, text, strlen(text));
    return strlen(text);
}

static size_t zero(bool negative, char *out)
{
    memcpy(out, negative ? "-0.0" : "0.0", 4);
    return negative ? 4 : 3;
}

size_t tl_text_java_double(double value, char out[32])
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 63;
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff)
        return special(fraction != 0, negative, out);
    if (exponent == 0 && fraction == 0)
        return zero(negative, out);
    number v = {fraction | UINT64_C(1) << 52, exponent - 1023, 53};
    if (exponent == 0) {
        int shift = __builtin_clzll(fraction) - 11;
        v = (number){fraction << shift, -1022 - shift, 53 - shift};
    }
    return java_number(v, negative, out);
}

size_t tl_text_java_float(float value, char out[32])
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 31;
    int exponent = (int)(bits >> 23 & 0xff);
    uint32_t fraction = bits & ((UINT32_C(1) << 23) - 1);
    if (exponent == 0xff)
        return special(fraction != 0, negative, out);
    if (exponent == 0 && fraction == 0)
        return zero(negative, out);
    number v = {(uint64_t)(fraction | UINT32_C(1) << 23) << 29, exponent - 127, 24};
    if (exponent == 0) {
        int shift = __builtin_clz(fraction) - 8;
        v = (number){(uint64_t)(fraction << shift) << 29, -126 - shift, 24 - shift};
    }
    return java_number(v, negative, out);
}
