/*
 * Casts from text and to text. What is accepted and how it is printed are Flink's rules (Java: BinaryStringDataUtil, DateTimeUtils),
 * which are neither ISO 8601 nor what the store's own text forms are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/utf8.h"
#include "sql/cast.h"
#include "sql/text_util.h"

static tl_bytes_view trim(tl_bytes_view v)
{
    while (v.len > 0 && v.data[0] == ' ') {
        v.data++;
        v.len--;
    }
    while (v.len > 0 && v.data[v.len - 1] == ' ')
        v.len--;
    return v;
}

/* ---- numbers ---- */

const char *tl_cast__parse_int(tl_bytes_view text, int64_t min, int64_t max, int64_t *out)
{
    return tl_convert_parse_int(trim(text), min, max, out);
}

static bool word_is(tl_bytes_view text, const char *word)
{
    return text.len == strlen(word) && strncasecmp((const char *)text.data, word, text.len) == 0;
}

static bool parse_bool(tl_bytes_view text, uint8_t *out)
{
    static const char *const yes[] = {"true", "t", "yes", "y", "1"}, *const no[] = {"false", "f", "no", "n", "0"};
    for (size_t i = 0; i < TL_ARRAY_LEN(yes); i++) {
        if (word_is(text, yes[i]) || word_is(text, no[i])) {
            *out = word_is(text, yes[i]);
            return true;
        }
    }
    return false;
}

static tl_status text_to_int(tl_cast *c, int64_t i, tl_bytes_view v)
{
    static const int64_t max[] = {[TL_TINYINT] = INT8_MAX, [TL_SMALLINT] = INT16_MAX, [TL_INT] = INT32_MAX, [TL_BIGINT] = INT64_MAX};
    int64_t n, limit = max[c->to->kind];
    const char *complaint = tl_cast__parse_int(v, -limit - 1, limit, &n);
    if (complaint != NULL)
        return tl_cast__bad(c, i, "For input string: '%.*s'. %s", (int)TL_MIN(v.len, 200), (const char *)v.data, complaint);
    tl_convert_put_integer(c->out, i, n);
    return TL_OK;
}

static tl_status bad_input(tl_cast *c, int64_t i, tl_bytes_view v)
{
    return tl_cast__bad(c, i, "For input string: '%.*s'.", (int)TL_MIN(v.len, 200), (const char *)v.data);
}

/**
 * The reference reads short texts on a path of its own that counts leading zeros as digits: '007' is no DECIMAL(3, 1).
 */
static bool has_too_many_digits(tl_bytes_view v, int32_t precision, int32_t scale)
{
    if (v.len > 18 || precision > 18)
        return false;
    int64_t digits = 0, behind = 0, exponent = 0;
    bool point = false;
    size_t i = 0;
    for (; i < v.len && v.data[i] != 'e' && v.data[i] != 'E'; i++) {
        point = point || v.data[i] == '.';
        if (v.data[i] >= '0' && v.data[i] <= '9') {
            digits++;
            behind += point;
        }
    }
    if (i < v.len && tl_cast__parse_int((tl_bytes_view){v.data + i + 1, v.len - i - 1}, INT32_MIN, INT32_MAX, &exponent) != NULL)
        return false;
    return digits - behind + exponent + scale > precision;
}

static tl_status overflow(tl_cast *c, int64_t i, tl_bytes_view v)
{
    return tl_cast__bad(c, i, "For input string: '%.*s'. Overflow.", (int)TL_MIN(v.len, 200), (const char *)v.data);
}

static tl_status text_to_decimal(tl_cast *c, int64_t i, tl_bytes_view v)
{
    tl_i128 d;
    if (has_too_many_digits(v, c->to->precision, c->to->scale))
        return overflow(c, i, v);
    switch (tl_decimal__parse(trim(v), c->to->precision, c->to->scale, &d)) {
    case TL_DECIMAL_FITS:
        tl_convert_put_decimal(c->out, i, d);
        return TL_OK;
    case TL_DECIMAL_OVERFLOW:
        return overflow(c, i, v);
    default:
        return bad_input(c, i, v);
    }
}

/* ---- dates and times ---- */

static tl_status text_to_time(tl_cast *c, int64_t i, tl_bytes_view v)
{
    int64_t millis;
    if (!tl_convert_parse_time(v, &millis) || millis < 0 || millis >= 86400000)
        return bad_input(c, i, v);
    ((int32_t *)c->out->values)[i] = (int32_t)millis;
    return TL_OK;
}

static tl_status text_to_timestamp(tl_cast *c, int64_t i, tl_bytes_view v)
{
    int64_t millis;
    int32_t nanos;
    if (!tl_convert_parse_timestamp(v, &millis, &nanos))
        return bad_input(c, i, v);
    if (c->to->kind == TL_TIMESTAMP_LTZ)
        millis = tl_tz_to_utc_ms(c->zone, millis);
    tl_convert_put_timestamp(c->out, i, millis, nanos);
    return TL_OK;
}

static tl_status text_to(tl_cast *c, int64_t i, tl_bytes_view v)
{
    double d;
    switch (c->to->kind) {
    case TL_BOOLEAN:
        if (parse_bool(v, &((uint8_t *)c->out->values)[i]))
            return TL_OK;
        return tl_cast__bad(c, i, "Cannot parse '%.*s' as BOOLEAN.", (int)TL_MIN(v.len, 200), (const char *)v.data);
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return text_to_int(c, i, v);
    case TL_FLOAT:
        if (!tl_convert_parse_double(v, /* single= */ true, &d))
            return bad_input(c, i, v);
        ((float *)c->out->values)[i] = (float)d;
        return TL_OK;
    case TL_DOUBLE:
        return tl_convert_parse_double(v, /* single= */ false, &((double *)c->out->values)[i]) ? TL_OK : bad_input(c, i, v);
    case TL_DECIMAL:
        return text_to_decimal(c, i, v);
    case TL_DATE:
        return tl_convert_parse_date(v, &((int32_t *)c->out->values)[i]) ? TL_OK : bad_input(c, i, v);
    case TL_TIME:
        return text_to_time(c, i, v);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return text_to_timestamp(c, i, v);
    default:
        return tl_error_set(c->err, TL_E_INTERNAL, "there is no cast of text to a type of kind %d", (int)c->to->kind);
    }
}

tl_status tl_cast__from_text(tl_cast *c)
{
    for (int64_t i = 0; i < c->from->length; i++)
        if (!tl_col_is_null(c->from, i))
            TL_TRY(text_to(c, i, tl_col_bytes(c->from, i)));
    return TL_OK;
}

/* ---- to text ---- */

static tl_status append_interval_ms(tl_buf *buf, int64_t v)
{
    uint64_t a = v < 0 ? -(uint64_t)v : (uint64_t)v;
    return tl_buf_appendf(buf, "%c%llu %02d:%02d:%02d.%03d", v < 0 ? '-' : '+', (unsigned long long)(a / 86400000), (int)(a / 3600000 % 24), (int)(a / 60000 % 60),
                          (int)(a / 1000 % 60), (int)(a % 1000));
}

static tl_status append_interval_months(tl_buf *buf, int32_t v)
{
    int64_t a = v < 0 ? -(int64_t)v : v;
    return tl_buf_appendf(buf, "%c%lld-%02d", v < 0 ? '-' : '+', (long long)(a / 12), (int)(a % 12));
}

static tl_status append_date(tl_buf *buf, int64_t days)
{
    int64_t y;
    int m, d;
    tl_civil_from_days(days, &y, &m, &d);
    return tl_buf_appendf(buf, "%04lld-%02d-%02d", (long long)y, m, d);
}

static tl_status append_time(tl_buf *buf, int32_t millis)
{
    int32_t s = millis / 1000;
    return tl_buf_appendf(buf, "%02d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
}

static tl_status append_timestamp(tl_buf *buf, const tl_column *col, int64_t i, const tl_tz *zone)
{
    int64_t millis;
    int32_t nanos, precision = col->type->precision;
    tl_convert_timestamp_at(col, i, &millis, &nanos);
    if (col->type->kind == TL_TIMESTAMP_LTZ)
        millis += tl_tz_offset_ms(zone, millis);
    int64_t days = millis / 86400000 - (millis % 86400000 < 0);
    int32_t rest = (int32_t)(millis - days * 86400000);
    TL_TRY(append_date(buf, days));
    TL_TRY(tl_buf_append_byte(buf, ' '));
    TL_TRY(append_time(buf, rest));
    if (precision == 0)
        return TL_OK;
    char digits[32];
    snprintf(digits, sizeof digits, "%09d", rest % 1000 * 1000000 + nanos);
    return tl_buf_appendf(buf, ".%.*s", (int)precision, digits);
}

static tl_status append_nested(tl_buf *buf, const tl_column *col, int64_t i, const tl_tz *zone);

static tl_status append_element(tl_buf *buf, const tl_column *col, int64_t i, const tl_tz *zone)
{
    return tl_col_is_null(col, i) ? tl_buf_append_str(buf, "NULL") : tl_cast__append_text(buf, col, i, zone);
}

tl_status tl_cast__append_text(tl_buf *buf, const tl_column *col, int64_t i, const tl_tz *zone)
{
    char text[72];
    switch (col->type->kind) {
    case TL_BOOLEAN:
        return tl_buf_append_str(buf, tl_col_bool(col, i) ? "TRUE" : "FALSE");
    case TL_TINYINT:
        return tl_buf_appendf(buf, "%d", tl_col_i8(col, i));
    case TL_SMALLINT:
        return tl_buf_appendf(buf, "%d", tl_col_i16(col, i));
    case TL_INT:
        if (tl_sql__is_interval_months(col->type))
            return append_interval_months(buf, tl_col_i32(col, i));
        return tl_buf_append(buf, text, tl_text__int(tl_col_i32(col, i), text));
    case TL_BIGINT:
        if (tl_sql__is_interval_ms(col->type))
            return append_interval_ms(buf, tl_col_i64(col, i));
        return tl_buf_append(buf, text, tl_text__int(tl_col_i64(col, i), text));
    case TL_FLOAT:
        return tl_buf_append(buf, text, tl_text_java_float(tl_col_f32(col, i), text));
    case TL_DOUBLE:
        return tl_buf_append(buf, text, tl_text_java_double(tl_col_f64(col, i), text));
    case TL_DECIMAL:
        return tl_buf_append(buf, text, tl_decimal_format(tl_convert_decimal_at(col, i), col->type->scale, text));
    case TL_CHAR:
    case TL_VARCHAR: {
        tl_bytes_view v = tl_col_bytes(col, i);
        return tl_buf_append(buf, v.data, v.len);
    }
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return tl_utf8_append(buf, tl_col_bytes(col, i));
    case TL_DATE:
        return append_date(buf, tl_col_i32(col, i));
    case TL_TIME:
        return append_time(buf, tl_col_i32(col, i)); /* without fractions: to Flink every TIME is a TIME(0) */
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return append_timestamp(buf, col, i, zone);
    default:
        return append_nested(buf, col, i, zone);
    }
}

/** [1, NULL], {k=1}, (1, NULL). */
static tl_status append_nested(tl_buf *buf, const tl_column *col, int64_t i, const tl_tz *zone)
{
    if (col->phys == TL_PHYS_ROW) {
        for (int32_t k = 0; k < col->n_children; k++) {
            TL_TRY(tl_buf_append_str(buf, k == 0 ? "(" : ", "));
            TL_TRY(append_element(buf, col->children[k], i, zone));
        }
        return tl_buf_append_str(buf, col->n_children == 0 ? "()" : ")");
    }
    bool is_map = col->phys == TL_PHYS_MAP;
    TL_TRY(tl_buf_append_byte(buf, is_map ? '{' : '['));
    for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++) {
        if (k > col->offsets[i])
            TL_TRY(tl_buf_append_str(buf, ", "));
        TL_TRY(append_element(buf, col->children[0], k, zone));
        if (is_map) {
            TL_TRY(tl_buf_append_byte(buf, '='));
            TL_TRY(append_element(buf, col->children[1], k, zone));
        }
    }
    return tl_buf_append_byte(buf, is_map ? '}' : ']');
}

/** Java makes a String of bytes, arrays, maps and rows, and cuts and fills it by its UTF-16 units; half of a pair becomes '?'. */
static tl_status fit_units(tl_buf *buf, size_t start, const tl_type *to)
{
    if (to->length == TL_LENGTH_MAX)
        return TL_OK;
    uint16_t *units;
    size_t n;
    TL_TRY(tl_text__to_utf16((tl_bytes_view){buf->data + start, buf->len - start}, &units, &n));
    tl_status status = TL_OK;
    if (n > (size_t)to->length) {
        buf->len = start;
        status = tl_text__append_utf16(buf, units, (size_t)to->length);
    }
    tl_free(units);
    for (; status == TL_OK && to->kind == TL_CHAR && n < (size_t)to->length; n++)
        status = tl_buf_append_byte(buf, ' ');
    return status;
}

tl_status tl_cast__to_text(tl_cast *c)
{
    bool by_units = tl_sql__is_binary(c->from->type) || c->from->n_children > 0;
    TL_TRY(tl_column_alloc(c->to, c->from->length, &c->out, c->err));
    for (int64_t i = 0; i < c->from->length; i++) {
        size_t from = c->text.len;
        if (!tl_col_is_null(c->from, i)) {
            tl_status status = tl_cast__append_text(&c->text, c->from, i, c->zone);
            if (status == TL_OK)
                status = by_units ? fit_units(&c->text, from, c->to) : tl_convert_fit_length(&c->text, from, c->to);
            if (status != TL_OK)
                return tl_nomem(c->err, "cast");
        }
        if (c->text.len > INT32_MAX)
            return tl_error_set(c->err, TL_E_LIMIT, "cast: the texts of one batch have more than 2 GiB");
        c->out->offsets[i + 1] = (int32_t)c->text.len;
    }
    return TL_OK;
}

/* ---- points in time ---- */

static tl_status from_timestamp(tl_cast *c)
{
    bool local_from = c->from->type->kind == TL_TIMESTAMP_LTZ, local_to = c->to->kind == TL_TIMESTAMP_LTZ;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (tl_col_is_null(c->from, i))
            continue;
        int64_t millis;
        int32_t nanos;
        tl_convert_timestamp_at(c->from, i, &millis, &nanos);
        if (local_from && !local_to)
            millis += tl_tz_offset_ms(c->zone, millis);
        int64_t days = millis / 86400000;
        bool negative = millis % 86400000 < 0;
        switch (c->to->kind) {
        case TL_DATE: /* a TIMESTAMP rounds toward 1970, one with time zone does not */
            ((int32_t *)c->out->values)[i] = (int32_t)(days - (local_from && negative));
            break;
        case TL_TIME:
            ((int32_t *)c->out->values)[i] = (int32_t)(millis - (days - negative) * 86400000);
            break;
        default:
            if (local_to && !local_from)
                millis = tl_tz_to_utc_ms(c->zone, millis);
            tl_convert_put_timestamp(c->out, i, millis, nanos);
            break;
        }
    }
    return TL_OK;
}

tl_status tl_cast__from_time(tl_cast *c)
{
    if (c->from->type->kind == TL_TIMESTAMP || c->from->type->kind == TL_TIMESTAMP_LTZ)
        return from_timestamp(c);
    for (int64_t i = 0; i < c->from->length; i++) { /* DATE and TIME: to a timestamp */
        if (tl_col_is_null(c->from, i))
            continue;
        int64_t millis = (int64_t)tl_col_i32(c->from, i) * (c->from->type->kind == TL_DATE ? 86400000 : 1);
        if (c->to->kind == TL_TIMESTAMP_LTZ)
            millis = tl_tz_to_utc_ms(c->zone, millis);
        tl_convert_put_timestamp(c->out, i, millis, 0);
    }
    return TL_OK;
}
