/*
 * Java's Double.toString() and Float.toString(), as the runtimes up to 18 have them: those print the tables that we must match.
 *
 * They are not the shortest digits that read back. The digits come from free-format conversion with exact integers (G. Steele,
 * J. White, "How to print floating-point numbers accurately", 1990), with these peculiarities, all visible in the result:
 * - an integer below 2^62 is printed from its digits, those beyond the precision rounded away;
 * - at a power of two the gap to both neighbours is taken to be the smaller one;
 * - in the form with an exponent at least two digits are made, even where one would do;
 * - the upper bound of the rounding interval is open where the numbers fit into 32 or 64 bits, closed where they do not;
 * - in 32 and 64 bits half the gap may overflow, which ends the digits or even hides the upper bound (2^83 as a float).
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

static uint64_t pow5(int n)
{
    uint64_t v = 1;
    while (n-- > 0)
        v *= 5;
    return v;
}

/* value = fraction * 2^b2 * 5^b5 / (2^s2 * 5^s5); half a gap is 2^m2 * 5^b5 over the same denominator. */
typedef struct scale {
    uint64_t fraction;
    int b2, b5, s2, s5, m2;
    int bits; /* 32 or 64 if everything fits so many; 0 if not */
} scale;

static int estimate_exponent(const number *v)
{
    double leading = (double)v->fraction / 4503599627370496.0; /* in [1, 2) */
    return (int)floor((leading - 1.5) * 0.289529654 + 0.176091259 + v->exponent * 0.301029995663981);
}

/* Integers over a common denominator; 10^exponent is about the value's magnitude. */
static scale make_scale(const number *v, int n_fraction_bits, int exponent)
{
    int tiny_bits = TL_MAX(0, n_fraction_bits - v->exponent - 1);
    scale c = {.fraction = v->fraction >> (53 - n_fraction_bits), .b5 = TL_MAX(0, -exponent), .s5 = TL_MAX(0, exponent)};
    c.b2 = c.b5 + tiny_bits + v->exponent;
    c.s2 = c.s5 + tiny_bits;
    c.m2 = c.b2 - v->precision;
    c.b2 -= n_fraction_bits - 1;
    int common = TL_MIN(c.b2, c.s2);
    c.b2 -= common;
    c.s2 -= common;
    c.m2 -= common;
    if (n_fraction_bits == 1)
        c.m2--;
    if (c.m2 < 0) {
        c.b2 -= c.m2;
        c.s2 -= c.m2;
        c.m2 = 0;
    }
    int b_bits = n_fraction_bits + c.b2 + bits_of_pow5(c.b5), ten_s_bits = c.s2 + 1 + bits_of_pow5(c.s5 + 1);
    c.bits = b_bits < 32 && ten_s_bits < 32 ? 32 : b_bits < 64 && ten_s_bits < 64 ? 64 : 0;
    return c;
}

/* How the digits ended: at the lower bound, at the upper one, or both; the rest against half a digit. */
typedef struct ending {
    bool low;
    bool high;
    int half; /* sign of 2 * rest - one digit */
} ending;

/* Both loops add the digits to `d` and correct the exponent if the estimate was one too large. */
static bool first_digit(digits *d, int q, int *exponent, bool high)
{
    if (q == 0 && !high)
        --*exponent;
    else
        d->text[d->n++] = (char)('0' + q);
    return *exponent < -3 || *exponent >= 8; /* the form with an exponent: one digit is not enough */
}

/* A number of 32 or 64 bits as the machine of the reference would keep it. */
static int64_t wrap(uint64_t v, int bits)
{
    return bits == 32 ? (int64_t)(int32_t)v : (int64_t)v;
}

static ending narrow_digits(const scale *c, digits *d, int *exponent)
{
    uint64_t fives = pow5(c->b5);
    int64_t b = (int64_t)((c->fraction * fives) << c->b2), s = (int64_t)(pow5(c->s5) << c->s2);
    int64_t m = (int64_t)(fives << c->m2), ten_s = s * 10;
    ending e = {0};
    for (bool first = true; first || (!e.low && !e.high && d->n < (int)sizeof d->text); first = false) {
        int q = (int)(b / s);
        b = 10 * (b % s);
        m = wrap((uint64_t)m * 10, c->bits);
        e.low = b < m || (m <= 0 && !first);
        e.high = wrap((uint64_t)b + (uint64_t)m, c->bits) > ten_s || (m <= 0 && !first);
        if (!first)
            d->text[d->n++] = (char)('0' + q);
        else if (first_digit(d, q, exponent, e.high))
            e.low = e.high = false;
    }
    int64_t rest = wrap((uint64_t)wrap((uint64_t)b << 1, c->bits) - (uint64_t)ten_s, c->bits);
    e.half = (rest > 0) - (rest < 0);
    return e;
}

static ending wide_digits(const scale *c, digits *d, int *exponent)
{
    big b = big_make(c->fraction, c->b5, c->b2), s = big_make(1, c->s5, c->s2);
    big m = big_make(1, c->b5, c->m2), ten_s = big_make(10, c->s5, c->s2);
    ending e = {0};
    for (bool first = true; first || (!e.low && !e.high && d->n < (int)sizeof d->text); first = false) {
        int q = big_divide(&b, &s);
        big_mul_add(&b, 10, 0);
        big_mul_add(&m, 10, 0);
        big sum = big_add(&b, &m);
        e.low = big_compare(&b, &m) < 0;
        e.high = big_compare(&sum, &ten_s) >= 0;
        if (!first)
            d->text[d->n++] = (char)('0' + q);
        else if (first_digit(d, q, exponent, e.high))
            e.low = e.high = false;
    }
    big_mul_add(&b, 2, 0);
    e.half = big_compare(&b, &ten_s);
    return e;
}

static void fraction_digits(const number *v, int n_fraction_bits, digits *d)
{
    int exponent = estimate_exponent(v);
    scale c = make_scale(v, n_fraction_bits, exponent);
    d->n = 0;
    ending e = c.bits != 0 ? narrow_digits(&c, d, &exponent) : wide_digits(&c, d, &exponent);
    d->exponent = exponent + 1;
    bool odd = (d->text[d->n - 1] & 1) != 0;
    if (e.high && (!e.low || e.half > 0 || (e.half == 0 && odd)))
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
