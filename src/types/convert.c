/*
 * Columns of numbers and bytes under another type, and single values (convert.h).
 */
#include "types/convert.h"

#include <math.h>

#include "types/number.h"

/* A conversion under way. */
typedef struct conversion {
    const tl_column *from;
    const tl_type *to;
    tl_column *out;
    uint8_t *validity; /* of the result; NULL: as from's */
    tl_error *err;
} conversion;

tl_status tl_convert_null(const tl_column *from, uint8_t **validity, int64_t i, tl_error *err)
{
    if (*validity == NULL) {
        size_t bytes = tl_bitmap_bytes(from->length);
        *validity = tl_alloc(bytes + 1);
        if (*validity == NULL)
            return tl_nomem(err, "cast");
        if (from->validity != NULL)
            memcpy(*validity, from->validity, bytes);
        else
            memset(*validity, 0xFF, bytes);
    }
    tl_bit_clear(*validity, i);
    return TL_OK;
}

tl_status tl_convert_finish(const tl_column *from, uint8_t **validity, tl_column *out, tl_error *err)
{
    int64_t n = from->length;
    if (*validity == NULL && from->null_count > 0) {
        *validity = tl_memdup(from->validity, tl_bitmap_bytes(n));
        if (*validity == NULL)
            return tl_nomem(err, "cast");
    }
    if (*validity == NULL)
        return TL_OK;
    out->validity = TL_STEAL(*validity);
    out->null_count = n - tl_bitmap_count(out->validity, 0, n);
    size_t width = (size_t)tl_phys_width(out->phys);
    for (int64_t i = 0; width > 0 && out->null_count > 0 && i < n; i++)
        if (!tl_bit_get(out->validity, i))
            memset((uint8_t *)out->values + (size_t)i * width, 0, width);
    return TL_OK;
}

/* ---- layouts ---- */

void tl_convert_timestamp_at(const tl_column *col, int64_t i, int64_t *millis, int32_t *nanos)
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

void tl_convert_put_timestamp(tl_column *col, int64_t i, int64_t millis, int32_t nanos)
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

tl_i128 tl_convert_decimal_at(const tl_column *col, int64_t i)
{
    return col->phys == TL_PHYS_I128 ? tl_col_i128(col, i) : tl_col_i64(col, i);
}

void tl_convert_put_decimal(tl_column *col, int64_t i, tl_i128 v)
{
    if (col->phys == TL_PHYS_I128)
        ((tl_i128 *)col->values)[i] = v;
    else
        ((int64_t *)col->values)[i] = (int64_t)v;
}

/* ---- numbers ---- */

tl_i128 tl_convert_divide_rounded(tl_i128 v, tl_i128 divisor)
{
    tl_i128 q = v / divisor, r = v % divisor;
    if (r < 0)
        r = -r;
    if (r >= divisor - r)
        q += v < 0 ? -1 : 1;
    return q;
}

bool tl_convert_rescale(tl_i128 v, int32_t from_scale, int32_t precision, int32_t scale, tl_i128 *out)
{
    if (scale < from_scale) {
        v = tl_convert_divide_rounded(v, tl_pow10_i128(from_scale - scale));
    } else if (scale > from_scale && __builtin_mul_overflow(v, tl_pow10_i128(scale - from_scale), &v)) {
        return false;
    }
    tl_i128 limit = tl_pow10_i128(precision);
    if (v >= limit || v <= -limit)
        return false;
    *out = v;
    return true;
}

double tl_convert_decimal_to_double(tl_i128 v, int32_t precision, int32_t scale)
{
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const tl_i128 exact = (tl_i128)1 << 53;
    if (precision <= 18 || (v <= exact && v >= -exact && scale <= 22))
        return (double)v / pow10[scale]; /* beyond 2^53 rounded twice, as there */
    char text[72];
    size_t n = tl_decimal_format(v, scale, text);
    double nearest = 0;
    (void)tl_text__parse_double((tl_bytes_view){(const uint8_t *)text, n}, &nearest); /* a number by construction */
    return nearest;
}

bool tl_convert_double_to_decimal(double v, int32_t precision, int32_t scale, tl_i128 *out)
{
    if (!isfinite(v) || fabs(v) >= 1e39)
        return false;
    char text[40];
    size_t n = tl_text_double(v, text); /* the shortest text, as BigDecimal.valueOf() takes it */
    return tl_decimal_parse((tl_bytes_view){(const uint8_t *)text, n}, precision, scale, out);
}

int32_t tl_convert_double_to_int(double v)
{
    return isnan(v) ? 0 : v >= 2147483647.0 ? INT32_MAX : v <= -2147483648.0 ? INT32_MIN : (int32_t)v;
}

int64_t tl_convert_double_to_long(double v)
{
    return isnan(v) ? 0 : v >= 9223372036854775807.0 ? INT64_MAX : v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

/* Integers of the four widths to another width: they wrap. */
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

static tl_status int_to_decimal(conversion *c, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        tl_i128 v;
        if (tl_col_is_null(c->from, i))
            continue;
        if (tl_convert_rescale(tl_col_integer(c->from, i), 0, c->to->precision, c->to->scale, &v))
            tl_convert_put_decimal(c->out, i, v);
        else
            TL_TRY(tl_convert_null(c->from, &c->validity, i, c->err));
    }
    return TL_OK;
}

static tl_status from_int(conversion *c)
{
    int64_t n = c->from->length;
    switch (c->to->kind) {
    case TL_BOOLEAN:
        for (int64_t i = 0; i < n; i++)
            ((uint8_t *)c->out->values)[i] = tl_col_integer(c->from, i) != 0;
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

static tl_status from_float(conversion *c)
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
            if (tl_convert_double_to_decimal(v, c->to->precision, c->to->scale, &decimal))
                tl_convert_put_decimal(c->out, i, decimal);
            else
                TL_TRY(tl_convert_null(c->from, &c->validity, i, c->err));
            break;
        case TL_BIGINT:
            ((int64_t *)c->out->values)[i] = tl_convert_double_to_long(v);
            break;
        default:
            tl_convert_put_integer(c->out, i, tl_convert_double_to_int(v));
            break;
        }
    }
    return TL_OK;
}

static tl_status from_decimal(conversion *c)
{
    int32_t scale = c->from->type->scale, precision = c->from->type->precision;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (tl_col_is_null(c->from, i))
            continue;
        tl_i128 v = tl_convert_decimal_at(c->from, i);
        switch (c->to->kind) {
        case TL_BOOLEAN:
            ((uint8_t *)c->out->values)[i] = v != 0;
            break;
        case TL_FLOAT:
            ((float *)c->out->values)[i] = (float)tl_convert_decimal_to_double(v, precision, scale);
            break;
        case TL_DOUBLE:
            ((double *)c->out->values)[i] = tl_convert_decimal_to_double(v, precision, scale);
            break;
        case TL_DECIMAL:
            if (tl_convert_rescale(v, scale, c->to->precision, c->to->scale, &v))
                tl_convert_put_decimal(c->out, i, v);
            else
                TL_TRY(tl_convert_null(c->from, &c->validity, i, c->err));
            break;
        default:
            tl_convert_put_integer(c->out, i, (int64_t)(v / tl_pow10_i128(scale)));
            break;
        }
    }
    return TL_OK;
}

static tl_status numbers(conversion *c)
{
    switch (c->from->type->kind) {
    case TL_DECIMAL:
        return from_decimal(c);
    case TL_FLOAT:
    case TL_DOUBLE:
        return from_float(c);
    default:
        return from_int(c);
    }
}

tl_status tl_convert_numbers(const tl_column *from, const tl_type *to, tl_column **out, tl_error *err)
{
    conversion c = {.from = from, .to = to, .err = err};
    TL_TRY(tl_column_alloc(to, from->length, &c.out, err));
    tl_status status = numbers(&c);
    if (status == TL_OK)
        status = tl_convert_finish(from, &c.validity, c.out, err);
    tl_free(c.validity);
    if (status != TL_OK) {
        tl_column_unref(c.out);
        return status;
    }
    *out = c.out;
    return TL_OK;
}

/* ---- bytes ---- */

static tl_status append_binary(tl_buf *buf, tl_bytes_view v, const tl_type *to)
{
    size_t take = to->kind == TL_BLOB ? v.len : TL_MIN(v.len, (size_t)to->length), fill = to->kind == TL_BINARY ? (size_t)to->length - take : 0;
    TL_TRY(tl_buf_append(buf, v.data, take));
    if (fill == 0)
        return TL_OK;
    TL_TRY(tl_buf_reserve(buf, fill));
    memset(buf->data + buf->len, 0, fill);
    buf->len += fill;
    return TL_OK;
}

static tl_status append_all(const tl_column *from, tl_column *out, tl_buf *buf, tl_error *err)
{
    for (int64_t i = 0; i < from->length; i++) {
        if (!tl_col_is_null(from, i) && append_binary(buf, tl_col_bytes(from, i), out->type) != TL_OK)
            return tl_nomem(err, "cast");
        if (buf->len > INT32_MAX)
            return tl_error_set(err, TL_E_LIMIT, "cast: the values of one batch have more than 2 GiB");
        out->offsets[i + 1] = (int32_t)buf->len;
    }
    return TL_OK;
}

tl_status tl_convert_to_binary(const tl_column *from, const tl_type *to, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    tl_buf buf = {0};
    uint8_t *validity = NULL;
    TL_TRY(tl_column_alloc(to, from->length, &col, err));
    tl_status status = append_all(from, col, &buf, err);
    if (status == TL_OK) {
        col->data = tl_buf_steal(&buf).data;
        status = tl_convert_finish(from, &validity, col, err);
    }
    tl_buf_deinit(&buf);
    TL_TRY(status);
    *out = TL_STEAL(col);
    return TL_OK;
}

/* Bytes of the first `n` characters (at most all). */
static size_t prefix_bytes(const uint8_t *data, size_t bytes, int64_t n, int64_t *characters)
{
    size_t i = 0;
    int64_t count = 0;
    while (i < bytes) {
        if ((data[i] & 0xC0) != 0x80 && count++ == n) {
            count--;
            break;
        }
        i++;
    }
    *characters = count;
    return i;
}

tl_status tl_convert_fit_length(tl_buf *buf, size_t start, const tl_type *type)
{
    if (type->length == TL_LENGTH_MAX)
        return TL_OK;
    int64_t characters;
    buf->len = start + prefix_bytes(buf->data + start, buf->len - start, type->length, &characters);
    for (; type->kind == TL_CHAR && characters < type->length; characters++)
        TL_TRY(tl_buf_append_byte(buf, ' '));
    return TL_OK;
}
