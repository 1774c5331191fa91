/* Functions of numbers. Rounding goes through decimals, as the reference's BigDecimal does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/cast.h"
#include "sql/java_math.h"

/* ---- types ---- */

static tl_status same_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)b;
    (void)fn;
    (void)n;
    *out = args[0]->type;
    return TL_OK;
}

/** FLOOR and CEIL of DECIMAL(p, s) are DECIMAL(p, 0). */
static tl_status floor_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    const tl_type *t = args[0]->type;
    *out = t;
    return t->kind == TL_DECIMAL ? tl_bind__decimal(b, t->precision, 0, t->nullable, out) : TL_OK;
}

static int32_t digits_of(const tl_expr *e)
{
    return e->kind == TL_EXPR_LITERAL && !tl_col_is_null(e->literal, 0) && e->literal->phys == TL_PHYS_I32 ? tl_col_i32(e->literal, 0) : INT32_MAX;
}

/** ROUND and TRUNCATE to constant digits narrow a decimal's type. */
static tl_status round_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    const tl_type *t = args[0]->type;
    bool nullable = t->nullable || (n > 1 && args[1]->type->nullable);
    int32_t digits = n > 1 ? digits_of(args[1]) : 0;
    if (t->kind != TL_DECIMAL || digits >= t->scale)
        return tl_bind__nullable(b, t, nullable, out);
    int32_t precision = 1 + t->precision - t->scale + TL_MAX(digits, 0);
    return tl_bind__decimal(b, TL_MIN(precision, 38), TL_MAX(digits, 0), nullable, out);
}

static tl_status extreme_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    bool nullable = false;
    for (int32_t i = 0; i < n; i++)
        nullable = nullable || args[i]->type->nullable;
    return tl_bind__nullable(b, args[0]->type, nullable, out); /* all have been cast to one */
}

/* ---- ABS, SIGN ---- */

static tl_status abs_kernel(tl_kernel *k)
{
    const tl_vec *a = &k->args[0];
    for (int64_t i = 0; i < k->n; i++) {
        switch (k->out->phys) {
        case TL_PHYS_I8:
            TL_OUT(k, int8_t)[i] = (int8_t)abs(TL_VEC(a, int8_t, i));
            break;
        case TL_PHYS_I16:
            TL_OUT(k, int16_t)[i] = (int16_t)abs(TL_VEC(a, int16_t, i));
            break;
        case TL_PHYS_I32: {
            int32_t v = TL_VEC(a, int32_t, i);
            TL_OUT(k, int32_t)[i] = v < 0 ? (int32_t)(0 - (uint32_t)v) : v;
            break;
        }
        case TL_PHYS_I64: {
            int64_t v = TL_VEC(a, int64_t, i);
            TL_OUT(k, int64_t)[i] = v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
            break;
        }
        case TL_PHYS_I128: {
            tl_i128 v = TL_VEC(a, tl_i128, i);
            TL_OUT(k, tl_i128)[i] = v < 0 ? -v : v;
            break;
        }
        case TL_PHYS_F32:
            TL_OUT(k, float)[i] = fabsf(TL_VEC(a, float, i));
            break;
        default:
            TL_OUT(k, double)[i] = fabs(TL_VEC(a, double, i));
            break;
        }
    }
    return TL_OK;
}

static double real_sign(double v)
{
    return v > 0 ? 1 : v < 0 ? -1 : v; /* zeros and NaN stay */
}

static tl_status sign_kernel(tl_kernel *k)
{
    const tl_vec *a = &k->args[0];
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        if (k->out->phys == TL_PHYS_F32) {
            TL_OUT(k, float)[i] = (float)real_sign(TL_VEC(a, float, i));
        } else if (k->out->phys == TL_PHYS_F64) {
            TL_OUT(k, double)[i] = real_sign(TL_VEC(a, double, i));
        } else if (k->type->kind == TL_DECIMAL) {
            tl_i128 v = tl_convert_decimal_at(a->col, i * a->step), one = tl_pow10_i128(k->type->scale);
            tl_convert_put_decimal(k->out, i, v > 0 ? one : v < 0 ? -one : 0);
        } else {
            int64_t v = k->out->phys == TL_PHYS_I8 ? TL_VEC(a, int8_t, i) : k->out->phys == TL_PHYS_I16 ? TL_VEC(a, int16_t, i) : k->out->phys == TL_PHYS_I32 ? TL_VEC(a, int32_t, i) : TL_VEC(a, int64_t, i);
            int64_t s = (v > 0) - (v < 0);
            if (k->out->phys == TL_PHYS_I8)
                TL_OUT(k, int8_t)[i] = (int8_t)s;
            else if (k->out->phys == TL_PHYS_I16)
                TL_OUT(k, int16_t)[i] = (int16_t)s;
            else if (k->out->phys == TL_PHYS_I32)
                TL_OUT(k, int32_t)[i] = (int32_t)s;
            else
                TL_OUT(k, int64_t)[i] = s;
        }
    }
    return TL_OK;
}

/* ---- FLOOR, CEIL, ROUND, TRUNCATE ---- */

static tl_status floor_kernel(tl_kernel *k)
{
    const tl_vec *a = &k->args[0];
    bool up = k->fn->name[0] == 'C';
    if (k->type->kind != TL_DECIMAL && !tl_sql__is_float(k->type)) { /* a whole number is its own floor */
        for (int64_t i = 0; i < k->n; i++) {
            size_t width = (size_t)tl_phys_width(k->out->phys);
            memcpy((uint8_t *)k->out->values + (size_t)i * width, (const uint8_t *)a->col->values + (size_t)(i * a->step) * width, width);
        }
        return TL_OK;
    }
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        if (k->out->phys == TL_PHYS_F32 && tl_sql__is_float(k->type)) {
            TL_OUT(k, float)[i] = up ? ceilf(TL_VEC(a, float, i)) : floorf(TL_VEC(a, float, i));
        } else if (tl_sql__is_float(k->type)) {
            TL_OUT(k, double)[i] = up ? ceil(TL_VEC(a, double, i)) : floor(TL_VEC(a, double, i));
        } else {
            tl_i128 v = tl_convert_decimal_at(a->col, i * a->step), unit = tl_pow10_i128(a->col->type->scale);
            tl_i128 q = v / unit, r = v % unit;
            tl_convert_put_decimal(k->out, i, q + (up ? r > 0 : -(r < 0)));
        }
    }
    return TL_OK;
}

/** Drop or round digits right of `digits` (negative: left of the point) of an unscaled value; the scale stays. */
static bool cut_digits(tl_i128 v, int32_t scale, int32_t digits, bool round, tl_i128 *out)
{
    int32_t drop = scale - digits;
    if (drop <= 0) {
        *out = v;
        return true;
    }
    if (drop > 38) {
        *out = 0;
        return true;
    }
    tl_i128 unit = tl_pow10_i128(drop), q = round ? tl_convert_divide_rounded(v, unit) : v / unit;
    return !__builtin_mul_overflow(q, unit, out);
}

static double cut_double(double v, int32_t digits, bool round)
{
    if (!isfinite(v))
        return v;
    /* BigDecimal.valueOf(v): the digits of the shortest text. */
    char text[40];
    size_t n = tl_text_double(v, text);
    text[n] = '\0';
    const char *e = strpbrk(text, "eE");
    int exponent = e != NULL ? atoi(e + 1) : 0;
    const char *dot = strchr(text, '.');
    int fraction = dot == NULL ? 0 : (int)((e != NULL ? e : text + n) - dot - 1);
    int scale = fraction - exponent; /* value = digits * 10^-scale */
    if (scale <= digits)
        return v + 0.0; /* a decimal has no -0 */
    tl_i128 unscaled = 0;
    for (const char *p = text; p < (e != NULL ? e : text + n); p++)
        if (*p >= '0' && *p <= '9')
            unscaled = unscaled * 10 + (*p - '0');
    int drop = scale - digits;
    if (drop > 30)
        return 0;
    tl_i128 unit = tl_pow10_i128(drop), q = round ? tl_convert_divide_rounded(unscaled, unit) : unscaled / unit;
    char result[72];
    size_t m = tl_decimal_format(v < 0 ? -q : q, 0, result);
    snprintf(result + m, sizeof result - m, "e%d", -digits);
    return strtod(result, NULL);
}

static tl_status round_decimal(tl_kernel *k, int64_t i, int32_t digits, bool round)
{
    const tl_vec *a = &k->args[0];
    tl_i128 v;
    if (!cut_digits(tl_convert_decimal_at(a->col, i * a->step), a->col->type->scale, digits, round, &v) ||
        !tl_convert_rescale(v, a->col->type->scale, k->type->precision, k->type->scale, &v))
        return tl_kernel_null(k, i);
    tl_convert_put_decimal(k->out, i, v);
    return TL_OK;
}

static tl_status round_kernel(tl_kernel *k)
{
    bool round = k->fn->name[0] == 'R';
    const tl_vec *a = &k->args[0];
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        int32_t digits = k->n_args > 1 ? TL_VEC(&k->args[1], int32_t, i) : 0;
        tl_i128 v;
        if (k->type->kind == TL_DECIMAL) {
            TL_TRY(round_decimal(k, i, digits, round));
        } else if (k->type->kind == TL_DOUBLE) {
            TL_OUT(k, double)[i] = cut_double(TL_VEC(a, double, i), digits, round);
        } else if (k->type->kind == TL_FLOAT) {
            TL_OUT(k, float)[i] = (float)cut_double(TL_VEC(a, float, i), digits, round);
        } else {
            (void)cut_digits(tl_col_integer(a->col, tl_vec_row(a, i)), 0, digits, round, &v);
            tl_convert_put_integer(k->out, i, (int64_t)v); /* wraps */
        }
    }
    return TL_OK;
}

/* ---- real functions ---- */

static double cot(double v)
{
    return 1.0 / tan(v);
}

/** The reference computes x^0.5: 0 for -0.0, Infinity for -Infinity. */
static double square_root(double v)
{
    return v == 0 ? 0 : isinf(v) ? (double)INFINITY : sqrt(v);
}

static double log2_java(double v)
{
    return log(v) / log(2);
}

static double degrees(double v)
{
    return v * (180.0 / M_PI);
}

static double radians(double v)
{
    return v * (M_PI / 180.0);
}

static const struct {
    const char *name;
    double (*fn)(double);
} real_functions[] = {{"SQRT", square_root}, {"EXP", exp}, {"LN", log}, {"LOG10", tl_java_log10}, {"LOG2", log2_java}, {"SIN", sin}, {"COS", cos}, {"TAN", tan}, {"COT", cot},
                      {"ASIN", tl_java_asin}, {"ACOS", tl_java_acos}, {"ATAN", tl_java_atan}, {"SINH", tl_java_sinh}, {"COSH", tl_java_cosh}, {"TANH", tl_java_tanh}, {"DEGREES", degrees}, {"RADIANS", radians},
                      {"LOG", log}};

static tl_status real_kernel(tl_kernel *k)
{
    double (*fn)(double) = NULL;
    for (size_t i = 0; i < TL_ARRAY_LEN(real_functions); i++)
        if (strcmp(real_functions[i].name, k->fn->name) == 0)
            fn = real_functions[i].fn;
    for (int64_t i = 0; i < k->n; i++)
        if (tl_kernel_is_valid(k, i))
            TL_OUT(k, double)[i] = fn(TL_VEC(&k->args[0], double, i));
    return TL_OK;
}

static tl_status real2_kernel(tl_kernel *k)
{
    char which = k->fn->name[0]; /* POWER, ATAN2, LOG */
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        double a = TL_VEC(&k->args[0], double, i), c = TL_VEC(&k->args[1], double, i);
        TL_OUT(k, double)[i] = which == 'P' ? pow(a, c) : which == 'A' ? tl_java_atan2(a, c) : log(c) / log(a);
    }
    return TL_OK;
}

static tl_status constant_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        TL_OUT(k, double)[i] = k->fn->name[0] == 'P' ? M_PI : M_E;
    return TL_OK;
}

/* ---- GREATEST, LEAST ---- */

static tl_status extreme_kernel(tl_kernel *k)
{
    bool greatest = k->fn->name[0] == 'G';
    tl_rowref *refs = tl_alloc((size_t)(k->n + 1) * sizeof *refs);
    const tl_column **cols = tl_calloc((size_t)k->n_args, sizeof *cols);
    tl_status status = refs != NULL && cols != NULL ? TL_OK : tl_nomem(k->err, "batch");
    for (int32_t a = 0; status == TL_OK && a < k->n_args; a++)
        cols[a] = k->args[a].col;
    for (int64_t i = 0; status == TL_OK && i < k->n; i++) {
        int32_t best = 0;
        bool null = false;
        for (int32_t a = 0; a < k->n_args && !null; a++) {
            null = tl_vec_is_null(&k->args[a], i);
            if (null || a == 0)
                continue;
            int c = tl_column_compare(cols[a], tl_vec_row(&k->args[a], i), cols[best], tl_vec_row(&k->args[best], i), false, false);
            if (greatest ? c > 0 : c < 0)
                best = a;
        }
        refs[i] = (tl_rowref){(uint32_t)best, null ? TL_ROW_NULL : (uint32_t)tl_vec_row(&k->args[best], i)};
    }
    if (status == TL_OK)
        status = tl_column_gather_multi(k->type, cols, refs, k->n, &k->out, k->err);
    tl_free(refs);
    tl_free(cols);
    return status;
}

/* ---- HEX, BIN ---- */

static tl_status hex_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    return tl_buf_appendf(&k->text, "%llX", (unsigned long long)TL_VEC(&k->args[0], int64_t, i));
}

static tl_status hex_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, hex_row);
}

static tl_status bin_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    uint64_t v = (uint64_t)TL_VEC(&k->args[0], int64_t, i);
    int bits = v == 0 ? 1 : 64 - __builtin_clzll(v);
    while (bits-- > 0)
        TL_TRY(tl_buf_append_byte(&k->text, (v >> bits & 1) != 0 ? '1' : '0'));
    return TL_OK;
}

static tl_status bin_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, bin_row);
}

/* ---- chance ---- */

/** java.util.Random: 48-bit linear congruence. */
typedef struct java_random {
    uint64_t seed;
} java_random;

static void java_seed(java_random *r, int64_t seed)
{
    r->seed = ((uint64_t)seed ^ UINT64_C(0x5DEECE66D)) & ((UINT64_C(1) << 48) - 1);
}

static uint32_t java_next(java_random *r, int bits)
{
    r->seed = (r->seed * UINT64_C(0x5DEECE66D) + 0xB) & ((UINT64_C(1) << 48) - 1);
    return (uint32_t)(r->seed >> (48 - bits));
}

static double java_double(java_random *r)
{
    uint64_t high = (uint64_t)java_next(r, 26) << 27;
    return (double)(high + java_next(r, 27)) * 0x1.0p-53;
}

static int32_t java_int(java_random *r, int32_t bound)
{
    if ((bound & -bound) == bound)
        return (int32_t)(((int64_t)bound * (int64_t)java_next(r, 31)) >> 31);
    for (;;) {
        int32_t bits = (int32_t)java_next(r, 31), value = bits % bound;
        if ((int64_t)bits - value + (bound - 1) <= INT32_MAX)
            return value;
    }
}

static tl_status rand_kernel(tl_kernel *k)
{
    java_random r;
    java_seed(&r, k->n_args > 0 && k->n > 0 ? TL_VEC(&k->args[0], int32_t, 0) : (int64_t)tl_random_u64());
    for (int64_t i = 0; i < k->n; i++)
        TL_OUT(k, double)[i] = java_double(&r);
    return TL_OK;
}

static tl_status rand_integer_kernel(tl_kernel *k)
{
    const tl_vec *bound = &k->args[k->n_args - 1];
    java_random r;
    java_seed(&r, k->n_args > 1 && k->n > 0 ? TL_VEC(&k->args[0], int32_t, 0) : (int64_t)tl_random_u64());
    for (int64_t i = 0; i < k->n; i++) {
        int32_t v = TL_VEC(bound, int32_t, i);
        if (tl_kernel_is_valid(k, i) && v <= 0)
            return tl_error_set(k->err, TL_E_INVALID, "RAND_INTEGER: bound must be positive");
        TL_OUT(k, int32_t)[i] = v > 0 ? java_int(&r, v) : 0;
    }
    return TL_OK;
}

static tl_status uuid_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)i;
    (void)is_null;
    char text[37];
    tl_uuid(text);
    return tl_buf_append_str(&k->text, text);
}

static tl_status uuid_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)args;
    (void)n;
    return tl_bind__simple_type(b, TL_CHAR, /* nullable= */ false, 36, 0, out);
}

static tl_status uuid_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, uuid_row);
}

const tl_sql_function tl_fn_numbers[] = {
    {.name = "ABS", .args = "N", .kernel = abs_kernel, .rule = same_rule},
    {.name = "SIGN", .args = "N", .kernel = sign_kernel, .rule = same_rule},
    {.name = "CEIL", .args = "N", .kernel = floor_kernel, .rule = floor_rule},
    {.name = "FLOOR", .args = "N", .kernel = floor_kernel, .rule = floor_rule},
    {.name = "ROUND", .args = "N?I", .kernel = round_kernel, .rule = round_rule},
    {.name = "TRUNCATE", .args = "N?I", .kernel = round_kernel, .rule = round_rule},
    {.name = "SQRT", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "EXP", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "LN", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "LOG10", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "LOG2", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "LOG", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "LOG", .args = "DD", .result = "D", .kernel = real2_kernel},
    {.name = "SIN", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "COS", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "TAN", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "COT", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "ASIN", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "ACOS", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "ATAN", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "ATAN2", .args = "DD", .result = "D", .kernel = real2_kernel},
    {.name = "SINH", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "COSH", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "TANH", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "DEGREES", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "RADIANS", .args = "D", .result = "D", .kernel = real_kernel},
    {.name = "POWER", .args = "DD", .result = "D", .kernel = real2_kernel},
    {.name = "PI", .args = "", .result = "D!", .kernel = constant_kernel},
    {.name = "E", .args = "", .result = "D!", .kernel = constant_kernel},
    {.name = "GREATEST", .args = "X?=*", .kernel = extreme_kernel, .rule = extreme_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "LEAST", .args = "X?=*", .kernel = extreme_kernel, .rule = extreme_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "HEX", .args = "L", .result = "S", .kernel = hex_kernel},
    {.name = "BIN", .args = "L", .result = "S", .kernel = bin_kernel},
    {.name = "RAND", .args = "?I", .result = "D!", .kernel = rand_kernel, .flags = TL_FN_VOLATILE | TL_FN_NULLS},
    {.name = "RAND_INTEGER", .args = "I", .result = "I", .kernel = rand_integer_kernel, .flags = TL_FN_VOLATILE | TL_FN_CAN_FAIL},
    {.name = "RAND_INTEGER", .args = "II", .result = "I", .kernel = rand_integer_kernel, .flags = TL_FN_VOLATILE | TL_FN_CAN_FAIL},
    {.name = "UUID", .args = "", .rule = uuid_rule, .kernel = uuid_kernel, .flags = TL_FN_VOLATILE},
    {.name = NULL},
};
