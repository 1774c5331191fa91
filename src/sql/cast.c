/*
 * Casts between columns, with Flink's rules: numbers wrap, doubles saturate, decimals that do not fit are NULL, text that is no
 * value is an error (TRY_CAST: NULL).
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sql/cast.h"

tl_status tl_cast__null(tl_cast *c, int64_t i)
{
    if (c->validity == NULL) {
        size_t bytes = tl_bitmap_bytes(c->from->length);
        c->validity = tl_alloc(bytes + 1);
        if (c->validity == NULL)
            return tl_nomem(c->err, "cast");
        if (c->from->validity != NULL)
            memcpy(c->validity, c->from->validity, bytes);
        else
            memset(c->validity, 0xFF, bytes);
    }
    tl_bit_clear(c->validity, i);
    return TL_OK;
}

tl_status tl_cast__bad(tl_cast *c, int64_t i, const char *fmt, ...)
{
    if (c->is_try)
        return tl_cast__null(c, i);
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return tl_error_set(c->err, TL_E_INVALID, "%s", text);
}

/* ---- layouts ---- */

void tl_cast__timestamp_at(const tl_column *col, int64_t i, int64_t *millis, int32_t *nanos)
{
    if (col->phys == TL_PHYS_TS96) {
        tl_ts96 v = tl_col_ts96(col, i);
        *millis = v.millis;
        *nanos = v.nanos;
        return;
    }
    int64_t v = tl_col_i64(col, i);
    *nanos = 0;
    *millis = v;
    if (col->type->precision > 3) {
        *millis = v / 1000 - (v % 1000 < 0);
        *nanos = (int32_t)(v - *millis * 1000) * 1000;
    }
}

void tl_cast__put_timestamp(tl_column *col, int64_t i, int64_t millis, int32_t nanos)
{
    static const int64_t millis_units[] = {1000, 100, 10};
    static const int32_t nanos_units[] = {100000, 10000, 1000, 100, 10, 1};
    int32_t p = col->type->precision;
    if (p < 3) {
        millis = millis / millis_units[p] * millis_units[p]; /* toward 1970, as the reference does */
        nanos = 0;
    } else {
        nanos = p == 3 ? 0 : nanos / nanos_units[p - 4] * nanos_units[p - 4];
    }
    if (col->phys == TL_PHYS_TS96)
        ((tl_ts96 *)col->values)[i] = (tl_ts96){millis, nanos, 0};
    else
        ((int64_t *)col->values)[i] = p <= 3 ? millis : (int64_t)((uint64_t)millis * 1000 + (uint64_t)(nanos / 1000));
}

tl_i128 tl_cast__decimal_at(const tl_column *col, int64_t i)
{
    return col->phys == TL_PHYS_I128 ? tl_col_i128(col, i) : tl_col_i64(col, i);
}

void tl_cast__put_decimal(tl_column *col, int64_t i, tl_i128 v)
{
    if (col->phys == TL_PHYS_I128)
        ((tl_i128 *)col->values)[i] = v;
    else
        ((int64_t *)col->values)[i] = (int64_t)v;
}

/* ---- numbers ---- */

tl_i128 tl_cast__divide_rounded(tl_i128 v, tl_i128 divisor)
{
    tl_i128 q = v / divisor, r = v % divisor;
    if (r < 0)
        r = -r;
    if (r >= divisor - r)
        q += v < 0 ? -1 : 1;
    return q;
}

bool tl_cast__rescale(tl_i128 v, int32_t from_scale, int32_t precision, int32_t scale, tl_i128 *out)
{
    if (scale < from_scale) {
        v = tl_cast__divide_rounded(v, tl_pow10_i128(from_scale - scale));
    } else if (scale > from_scale && __builtin_mul_overflow(v, tl_pow10_i128(scale - from_scale), &v)) {
        return false;
    }
    tl_i128 limit = tl_pow10_i128(precision);
    if (v >= limit || v <= -limit)
        return false;
    *out = v;
    return true;
}

double tl_cast__decimal_to_double(tl_i128 v, int32_t scale)
{
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const tl_i128 exact = (tl_i128)1 << 53;
    if (v <= exact && v >= -exact && scale <= 22)
        return (double)v / pow10[scale]; /* both exact: rounded once */
    char text[72];
    size_t n = tl_decimal_format(v, scale, text);
    text[n] = '\0';
    return strtod(text, NULL);
}

bool tl_cast__double_to_decimal(double v, int32_t precision, int32_t scale, tl_i128 *out)
{
    if (!isfinite(v) || fabs(v) >= 1e39)
        return false;
    char text[40];
    size_t n = tl_text_double(v, text); /* the shortest text, as BigDecimal.valueOf() takes it */
    return tl_decimal_parse((tl_bytes_view){(const uint8_t *)text, n}, precision, scale, out);
}

int32_t tl_cast__double_to_int(double v)
{
    return isnan(v) ? 0 : v >= 2147483647.0 ? INT32_MAX : v <= -2147483648.0 ? INT32_MIN : (int32_t)v;
}

int64_t tl_cast__double_to_long(double v)
{
    return isnan(v) ? 0 : v >= 9223372036854775807.0 ? INT64_MAX : v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

/** Integers of the four widths to another width: they wrap. */
#define INT_TO_INT(FROM, TO)                                                                                                     \
    do {                                                                                                                         \
        const FROM *from = c->from->values;                                                                                      \
        TO *to = c->out->values;                                                                                                 \
        for (int64_t i = 0; i < n; i++)                                                                                          \
            to[i] = (TO)from[i];                                                                                                 \
    } while (0)

#define FROM_INT(TO)                                                                                                             \
    do {                                                                                                                         \
        switch (c->from->phys) {                                                                                                 \
        case TL_PHYS_BOOL:                                                                                                       \
            INT_TO_INT(uint8_t, TO);                                                                                             \
            break;                                                                                                               \
        case TL_PHYS_I8:                                                                                                         \
            INT_TO_INT(int8_t, TO);                                                                                              \
            break;                                                                                                               \
        case TL_PHYS_I16:                                                                                                        \
            INT_TO_INT(int16_t, TO);                                                                                             \
            break;                                                                                                               \
        case TL_PHYS_I32:                                                                                                        \
            INT_TO_INT(int32_t, TO);                                                                                             \
            break;                                                                                                               \
        default:                                                                                                                 \
            INT_TO_INT(int64_t, TO);                                                                                             \
            break;                                                                                                               \
        }                                                                                                                        \
    } while (0)

static int64_t int_at(const tl_column *col, int64_t i)
{
    switch (col->phys) {
    case TL_PHYS_BOOL:
        return tl_col_bool(col, i);
    case TL_PHYS_I8:
        return tl_col_i8(col, i);
    case TL_PHYS_I16:
        return tl_col_i16(col, i);
    case TL_PHYS_I32:
        return tl_col_i32(col, i);
    default:
        return tl_col_i64(col, i);
    }
}

static tl_status int_to_decimal(tl_cast *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        tl_i128 v;
        if (tl_col_is_null(c->from, i))
            continue;
        if (tl_cast__rescale(int_at(c->from, i), 0, c->to->precision, c->to->scale, &v))
            tl_cast__put_decimal(c->out, i, v);
        else
            TL_TRY(tl_cast__null(c, i));
    }
    return TL_OK;
}

static tl_status from_int(tl_cast *c)
{
    int64_t n = c->from->length;
    switch (c->to->kind) {
    case TL_BOOLEAN:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)c->out->values)[i] = int_at(c->from, i) != 0;
        return TL_OK;
    case TL_TINYINT:
        FROM_INT(int8_t);
        return TL_OK;
    case TL_SMALLINT:
        FROM_INT(int16_t);
        return TL_OK;
    case TL_INT:
        FROM_INT(int32_t);
        return TL_OK;
    case TL_BIGINT:
        FROM_INT(int64_t);
        return TL_OK;
    case TL_FLOAT:
        FROM_INT(float);
        return TL_OK;
    case TL_DOUBLE:
        FROM_INT(double);
        return TL_OK;
    default:
        return int_to_decimal(c, n);
    }
}

static tl_status from_float(tl_cast *c)
{
    bool single = c->from->phys == TL_PHYS_F32;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (tl_col_is_null(c->from, i))
            continue;
        double v = single ? tl_col_f32(c->from, i) : tl_col_f64(c->from, i);
        tl_i128 decimal;
        switch (c->to->kind) {
        case TL_BOOLEAN:
            ((uint8_t *)c->out->values)[i] = v != 0;
            break;
        case TL_FLOAT:
            ((float *)c->out->values)[i] = (float)v;
            break;
        case TL_DOUBLE:
            ((double *)c->out->values)[i] = v;
            break;
        case TL_DECIMAL:
            if (tl_cast__double_to_decimal(v, c->to->precision, c->to->scale, &decimal))
                tl_cast__put_decimal(c->out, i, decimal);
            else
                TL_TRY(tl_cast__null(c, i));
            break;
        case TL_BIGINT:
            ((int64_t *)c->out->values)[i] = tl_cast__double_to_long(v);
            break;
        default:
            tl_cast__put_integer(c->out, i, tl_cast__double_to_int(v));
            break;
        }
    }
    return TL_OK;
}

static tl_status from_decimal(tl_cast *c)
{
    int32_t scale = c->from->type->scale;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (tl_col_is_null(c->from, i))
            continue;
        tl_i128 v = tl_cast__decimal_at(c->from, i);
        switch (c->to->kind) {
        case TL_BOOLEAN:
            ((uint8_t *)c->out->values)[i] = v != 0;
            break;
        case TL_FLOAT:
            ((float *)c->out->values)[i] = (float)tl_cast__decimal_to_double(v, scale);
            break;
        case TL_DOUBLE:
            ((double *)c->out->values)[i] = tl_cast__decimal_to_double(v, scale);
            break;
        case TL_DECIMAL:
            if (tl_cast__rescale(v, scale, c->to->precision, c->to->scale, &v))
                tl_cast__put_decimal(c->out, i, v);
            else
                TL_TRY(tl_cast__null(c, i));
            break;
        default:
            tl_cast__put_integer(c->out, i, (int64_t)(v / tl_pow10_i128(scale)));
            break;
        }
    }
    return TL_OK;
}

tl_status tl_cast__from_number(tl_cast *c)
{
    if (c->from->type->kind == TL_DECIMAL)
        return from_decimal(c);
    return tl_sql__is_float(c->from->type) ? from_float(c) : from_int(c);
}

/* ---- bytes ---- */

/** BINARY(n) is cut or padded with zeros, VARBINARY(n) is cut. */
static tl_status bytes_to_bytes(tl_cast *c)
{
    tl_column *out;
    TL_TRY(tl_column_alloc(c->to, c->from->length, &out, c->err));
    c->out = out;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (!tl_col_is_null(c->from, i)) {
            tl_bytes_view v = tl_col_bytes(c->from, i);
            size_t take = TL_MIN(v.len, (size_t)c->to->length);
            tl_status status = tl_buf_append(&c->text, v.data, take);
            for (size_t k = take; c->to->kind == TL_BINARY && k < (size_t)c->to->length && status == TL_OK; k++)
                status = tl_buf_append_byte(&c->text, 0);
            if (status != TL_OK)
                return tl_nomem(c->err, "cast");
        }
        if (c->text.len > INT32_MAX)
            return tl_error_set(c->err, TL_E_LIMIT, "cast: the values of one batch have more than 2 GiB");
        out->offsets[i + 1] = (int32_t)c->text.len;
    }
    return TL_OK;
}

/* ---- nested ---- */

static tl_status cast_nested(const tl_column *from, const tl_type *to, bool is_try, const tl_tz *zone, tl_column **out, tl_error *err)
{
    tl_column *copy;
    TL_TRY(tl_column_alloc(to, from->length, &copy, err));
    tl_status status = TL_OK;
    if (from->offsets != NULL)
        memcpy(copy->offsets, from->offsets, (size_t)(from->length + 1) * sizeof *from->offsets);
    for (int32_t i = 0; i < from->n_children && status == TL_OK; i++)
        status = tl_cast_column(from->children[i], to->fields[i].type, is_try, zone, &copy->children[i], err);
    if (status == TL_OK && from->validity != NULL) {
        copy->validity = tl_memdup(from->validity, tl_bitmap_bytes(from->length) + (from->length == 0));
        copy->null_count = from->null_count;
        if (copy->validity == NULL)
            status = tl_nomem(err, "cast");
    }
    if (status != TL_OK) {
        tl_column_unref(copy);
        return status;
    }
    *out = copy;
    return TL_OK;
}

/* ---- all ---- */

/** Casts that change only the name of the type. */
static bool keeps_values(const tl_type *from, const tl_type *to)
{
    if (tl_sql__is_interval(from) || tl_sql__is_interval(to) || from->n_fields > 0)
        return tl_type_equal(from, to, /* with_nullable= */ false);
    if (tl_type_equal(from, to, /* with_nullable= */ false))
        return true;
    if (tl_sql__is_text(from) && to->kind == TL_VARCHAR)
        return to->length >= from->length;
    if (tl_sql__is_binary(from) && (to->kind == TL_VARBINARY || to->kind == TL_BLOB))
        return to->kind == TL_BLOB || to->length >= from->length;
    if (from->kind == TL_BLOB && to->kind == TL_VARBINARY)
        return to->length == TL_LENGTH_MAX;
    return from->kind == TL_TIME && to->kind == TL_TIME;
}

static tl_status run_cast(tl_cast *c)
{
    const tl_type *from = c->from->type;
    if (tl_sql__is_text(c->to))
        return tl_cast__to_text(c);
    if (tl_sql__is_binary(c->to) || c->to->kind == TL_BLOB)
        return bytes_to_bytes(c);
    TL_TRY(tl_column_alloc(c->to, c->from->length, &c->out, c->err));
    if (tl_sql__is_text(from))
        return tl_cast__from_text(c);
    if (tl_sql__is_numeric(from) || from->kind == TL_BOOLEAN)
        return tl_cast__from_number(c);
    return tl_cast__from_time(c);
}

/** Validity and text of the result. */
static tl_status finish_cast(tl_cast *c)
{
    tl_column *out = c->out;
    int64_t n = c->from->length;
    if (out->phys == TL_PHYS_BYTES) {
        tl_bytes bytes = tl_buf_steal(&c->text);
        out->data = bytes.data;
    }
    if (c->validity == NULL && c->from->null_count > 0) {
        c->validity = tl_memdup(c->from->validity, tl_bitmap_bytes(n));
        if (c->validity == NULL)
            return tl_nomem(c->err, "cast");
    }
    if (c->validity == NULL)
        return TL_OK;
    out->validity = TL_STEAL(c->validity);
    out->null_count = n - tl_bitmap_count(out->validity, 0, n);
    int width = tl_phys_width(out->phys);
    for (int64_t i = 0; width > 0 && i < n; i++)
        if (!tl_bit_get(out->validity, i))
            memset((uint8_t *)out->values + (size_t)i * (size_t)width, 0, (size_t)width);
    return TL_OK;
}

tl_status tl_cast_column(const tl_column *from, const tl_type *to, bool is_try, const tl_tz *zone, tl_column **out, tl_error *err)
{
    if (keeps_values(from->type, to))
        return tl_column_retype(from, to, out, err);
    if (from->null_count == from->length)
        return tl_column_nulls(to, from->length, out, err);
    if (to->n_fields > 0)
        return cast_nested(from, to, is_try, zone, out, err);
    tl_cast c = {.from = from, .to = to, .is_try = is_try, .zone = zone, .err = err};
    tl_status status = run_cast(&c);
    if (status == TL_OK)
        status = finish_cast(&c);
    tl_free(c.validity);
    tl_buf_deinit(&c.text);
    if (status != TL_OK) {
        tl_column_unref(c.out);
        return status;
    }
    *out = c.out;
    return TL_OK;
}
