/* Numbers as text: shortest floating point, Java's forms, decimals, and reading them back. */
#include <float.h>
#include <locale.h>
#include <math.h>

#include "java_numbers.h"
#include "types/number.h"
#include "types/pow10_table.h"
#include "values.h"

/* ---- the table of powers ---- */

#define WORDS 40

/* a = a * factor + add */
static void mul_add(uint32_t *a, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)a[i] * factor;
        a[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static int compare(const uint32_t *a, const uint32_t *b)
{
    for (int i = WORDS - 1; i >= 0; i--)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static void subtract(uint32_t *a, const uint32_t *b)
{
    int64_t borrow = 0;
    for (int i = 0; i < WORDS; i++) {
        borrow += (int64_t)a[i] - b[i];
        a[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
}

/* ceil(10^k * 2^shift) by long division, bit after bit; 10^k = n / d. */
static unsigned __int128 scaled_pow10(int k, int shift)
{
    uint32_t n[WORDS] = {1}, d[WORDS] = {1}, r[WORDS] = {0};
    for (int i = 0; i < abs(k); i++)
        mul_add(k < 0 ? d : n, 10, 0);
    for (int i = 0; i < -shift; i++)
        mul_add(d, 2, 0);
    unsigned __int128 q = 0;
    int total = WORDS * 32 + (shift > 0 ? shift : 0);
    for (int i = total - 1; i >= 0; i--) {
        int at = i - (shift > 0 ? shift : 0);
        mul_add(r, 2, at < 0 ? 0 : (n[at / 32] >> (at % 32)) & 1);
        q = q << 1;
        if (compare(r, d) >= 0) {
            subtract(r, d);
            q |= 1;
        }
    }
    uint32_t zero[WORDS] = {0};
    return q + (compare(r, zero) != 0);
}

static void powers_of_ten_are_exact(void **state)
{
    (void)state;
    for (int k = POW10_MIN; k <= POW10_MAX; k += 1) {
        int log2 = (k * 1741647) >> 19;
        unsigned __int128 want = scaled_pow10(k, 127 - log2);
        assert_true(want >> 127 == 1);
        assert_true((uint64_t)(want >> 64) == POW10[k - POW10_MIN][0]);
        assert_true((uint64_t)want == POW10[k - POW10_MIN][1]);
    }
}

/* ---- shortest forms ---- */

static void assert_double(double v, const char *want)
{
    char text[32];
    size_t n = tl_text_double(v, text);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(text, want, n);
}

static void printf_double(double v, char *out, size_t size)
{
    for (int p = 1; p <= 17; p++) {
        snprintf(out, size, "%.*g", p, v);
        if (strtod(out, NULL) == v)
            return;
    }
}

static void printf_float(float v, char *out, size_t size)
{
    for (int p = 1; p <= 9; p++) {
        snprintf(out, size, "%.*g", p, (double)v);
        if (strtof(out, NULL) == v)
            return;
    }
}

static void doubles_are_printf_of_the_least_precision(void **state)
{
    (void)state;
    assert_double(0, "0");
    assert_double(-0.0, "-0");
    assert_double(100, "1e+02");
    assert_double(123456, "123456");
    assert_double(0.0001, "0.0001");
    assert_double(0.00001, "1e-05");
    assert_double(5e-324, "5e-324");
    assert_double(DBL_MAX, "1.7976931348623157e+308");
    assert_double(DBL_MIN, "2.2250738585072014e-308");
    assert_double(9007199254740993.0, "9007199254740992");
    assert_double((double)NAN, "NaN");
    assert_double(-(double)INFINITY, "-Infinity");
    uint64_t rng = test_seed(21);
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = test_random(&rng);
        double v;
        if (i % 4 == 1)
            v = (double)(int64_t)(bits >> 30) / 100;
        else if (i % 4 == 2)
            v = ldexp(1, (int)(bits % 2098) - 1074);
        else
            memcpy(&v, &bits, sizeof v);
        if (i % 4 == 3)
            v = (double)(bits >> (bits % 64));
        if (!isfinite(v))
            continue;
        char want[40];
        printf_double(v, want, sizeof want);
        assert_double(v, want);
        double back;
        assert_true(tl_text__parse_double(view_of(want), &back));
        assert_memory_equal(&back, &v, sizeof v);
    }
}

static void floats_are_printf_of_the_least_precision(void **state)
{
    (void)state;
    uint64_t rng = test_seed(22);
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = (uint32_t)test_random(&rng);
        if (i % 4 == 0)
            bits &= 0xff800000;
        float v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        char want[40], text[32];
        printf_float(v, want, sizeof want);
        size_t n = tl_text_float(v, text);
        assert_int_equal(n, strlen(want));
        assert_memory_equal(text, want, n);
        float back;
        assert_true(tl_text__parse_float(view_of(want), &back));
        assert_memory_equal(&back, &v, sizeof v);
    }
}

static void java_numbers_are_those_of_the_runtime(void **state)
{
    (void)state;
    char text[32];
    for (size_t i = 0; i < TL_ARRAY_LEN(java_doubles); i++) {
        double v;
        memcpy(&v, &java_doubles[i].bits, sizeof v);
        text[tl_text_java_double(v, text)] = '\0';
        assert_string_equal(text, java_doubles[i].text);
    }
    for (size_t i = 0; i < TL_ARRAY_LEN(java_floats); i++) {
        float v;
        memcpy(&v, &java_floats[i].bits, sizeof v);
        text[tl_text_java_float(v, text)] = '\0';
        assert_string_equal(text, java_floats[i].text);
    }
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0.0"},          {-0.0, "-0.0"},  {1, "1.0"},       {1e7, "1.0E7"},   {9999999, "9999999.0"},
                 {0.001, "0.001"},    {2e-3, "0.002"}, {1e-4, "1.0E-4"}, {1e10, "1.0E10"}, {1e23, "9.999999999999999E22"},
                 {5e-324, "4.9E-324"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        text[tl_text_java_double(cases[i].v, text)] = '\0';
        assert_string_equal(text, cases[i].text);
    }
    text[tl_text_java_float((float)NAN, text)] = '\0';
    assert_string_equal(text, "NaN");
}

/* ---- reading ---- */

static void numbers_are_read_as_strictly_as_java_reads_them(void **state)
{
    (void)state;
    static const char *const good[] = {" 1.5 ", "+1", "-1.e3", ".5", "1E5", "NaN", "-Infinity", "+Infinity", "1e400", "1e-400"};
    static const char *const bad[] = {"",    " ",   "1.2.3", "1e",  "e5", "0x10", "nan",
                                      "inf", "1,5", "--1",   "1 2", ".",  "1e+",  "Infinity!"};
    double v;
    for (size_t i = 0; i < TL_ARRAY_LEN(good); i++)
        if (!tl_text__parse_double(view_of(good[i]), &v))
            fail_msg("refused '%s'", good[i]);
    for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
        if (tl_text__parse_double(view_of(bad[i]), &v))
            fail_msg("took '%s'", bad[i]);
    int64_t n;
    assert_true(tl_text__parse_int(view_of("-9223372036854775808"), INT64_MIN, INT64_MAX, &n));
    assert_true(n == INT64_MIN);
    assert_false(tl_text__parse_int(view_of("9223372036854775808"), INT64_MIN, INT64_MAX, &n));
    assert_false(tl_text__parse_int(view_of("99999999999999999999999"), INT64_MIN, INT64_MAX, &n));
    assert_true(tl_text__parse_int(view_of("+127"), -128, 127, &n));
    assert_false(tl_text__parse_int(view_of("128"), -128, 127, &n));
    assert_false(tl_text__parse_int(view_of("-"), -128, 127, &n));
    assert_false(tl_text__parse_int(view_of("1.0"), -128, 127, &n));
}

static void reading_does_not_depend_on_the_locale(void **state)
{
    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL && setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL)
        skip();
    double v;
    assert_true(tl_text__parse_double(view_of("3.14159265358979323846264338"), &v));
    assert_true(v == 3.14159265358979323846264338);
    assert_double(ldexp(1, -44), "5.6843418860808015e-14");
    setlocale(LC_NUMERIC, "C");
}

/* ---- decimals ---- */

static void assert_decimal(const char *text, int precision, int scale, const char *want)
{
    tl_i128 v;
    char out[64];
    if (!tl_decimal_parse(view_of(text), precision, scale, &v)) {
        assert_null(want);
        return;
    }
    if (want == NULL)
        fail_msg("took '%s'", text);
    out[tl_decimal_format(v, scale, out)] = '\0';
    assert_string_equal(out, want);
}

static void decimals_round_half_up_and_keep_their_scale(void **state)
{
    (void)state;
    assert_decimal("12.3", 10, 2, "12.30");
    assert_decimal("12.345", 10, 2, "12.35");
    assert_decimal("-12.345", 10, 2, "-12.35");
    assert_decimal("-12.344999", 10, 2, "-12.34");
    assert_decimal("0.005", 4, 2, "0.01");
    assert_decimal("0.0049", 4, 2, "0.00");
    assert_decimal("-0.00", 4, 2, "0.00");
    assert_decimal("1e3", 10, 2, "1000.00");
    assert_decimal("1.5E-3", 10, 2, "0.00");
    assert_decimal("5E-3", 10, 2, "0.01");
    assert_decimal(".5", 2, 1, "0.5");
    assert_decimal("5.", 2, 1, "5.0");
    assert_decimal("99.994", 4, 2, "99.99");
    assert_decimal("99.995", 4, 2, NULL);
    assert_decimal("99999999999999999999999999999999999999", 38, 0, "99999999999999999999999999999999999999");
    assert_decimal("-99999999999999999999999999999999999999", 38, 0, "-99999999999999999999999999999999999999");
    assert_decimal("100000000000000000000000000000000000000", 38, 0, NULL);
    assert_decimal("0.99999999999999999999999999999999999999", 38, 38, "0.99999999999999999999999999999999999999");
    assert_decimal("12345678901234567890.1234567890", 38, 10, "12345678901234567890.1234567890");
    assert_decimal("000000000000000000000000000000000000000000000000001", 38, 0, "1");
    assert_decimal("1e2147483647", 38, 0, NULL);
    assert_decimal("1e-2147483647", 38, 0, "0");
    assert_decimal("0e2147483647", 38, 0, "0");
    assert_decimal("1e99999999999", 38, 0, NULL);
    static const char *const bad[] = {"", "-", ".", "1.2.3", "1e", "abc", " 1", "1 ", "0x1", "NaN", "1e5x", "+-1"};
    for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++)
        assert_decimal(bad[i], 38, 0, NULL);
}

static void decimals_come_back_at_every_scale(void **state)
{
    (void)state;
    uint64_t rng = test_seed(23);
    for (int i = 0; i < 20000; i++) {
        int precision = 1 + (int)(test_random(&rng) % 38), scale = (int)(test_random(&rng) % (uint64_t)(precision + 1));
        tl_i128 v = (tl_i128)(((unsigned __int128)test_random(&rng) << 64 | test_random(&rng)) >> 1) % tl_pow10_i128(precision);
        v = test_random(&rng) % 2 ? v : -v;
        char text[64];
        size_t n = tl_decimal_format(v, scale, text);
        tl_i128 back;
        assert_true(tl_decimal_parse((tl_bytes_view){(uint8_t *)text, n}, precision, scale, &back));
        assert_true(back == v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(powers_of_ten_are_exact),
        cmocka_unit_test(doubles_are_printf_of_the_least_precision),
        cmocka_unit_test(floats_are_printf_of_the_least_precision),
        cmocka_unit_test(java_numbers_are_those_of_the_runtime),
        cmocka_unit_test(numbers_are_read_as_strictly_as_java_reads_them),
        cmocka_unit_test(reading_does_not_depend_on_the_locale),
        cmocka_unit_test(decimals_round_half_up_and_keep_their_scale),
        cmocka_unit_test(decimals_come_back_at_every_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
