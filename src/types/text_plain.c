/*
 * Texts other than JSON: plain (CSV, tables for eyes), Java's toString() of internal values, SQL's cast to STRING.
 */
#include "types/number.h"
#include "types/types_private.h"
#include "types/variant.h"

tl_status tl_text_append_plain(tl_buf *buf, const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return TL_OK;
    char text[64];
    switch (col->type->kind) {
    case TL_CHAR:
    case TL_VARCHAR: {
        tl_bytes_view bytes = tl_col_bytes(col, i);
        return tl_buf_append(buf, bytes.data, bytes.len);
    }
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return tl_text__append_hex(buf, tl_col_bytes(col, i));
    case TL_VARIANT:
        return tl_variant_append_json(buf, tl_col_bytes(col->children[0], i), tl_col_bytes(col->children[1], i), /* err= */ NULL);
    case TL_FLOAT:
        return tl_buf_append(buf, text, tl_text_float(tl_col_f32(col, i), text));
    case TL_DOUBLE:
        return tl_buf_append(buf, text, tl_text_double(tl_col_f64(col, i), text));
    case TL_DECIMAL:
        return tl_buf_append(buf, text, tl_decimal_format(tl_text__decimal_at(col, i), col->type->scale, text));
    case TL_DATE:
        return tl_buf_append(buf, text, tl_text__date(tl_col_i32(col, i), text));
    case TL_TIME:
        return tl_buf_append(buf, text, tl_text__time(tl_col_i32(col, i), text));
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return tl_buf_append(buf, text, tl_text__timestamp(col, i, text));
    default:
        return tl_text_append_json(buf, col, i);
    }
}

/* ---- Java's toString() ---- */

static void split_days(const tl_column *col, int64_t i, int64_t *days, int32_t *second, int32_t *nanos)
{
    int64_t seconds;
    tl_text__timestamp_at(col, i, &seconds, nanos);
    *days = seconds / 86400;
    int64_t rest = seconds % 86400;
    if (rest < 0) {
        --*days;
        rest += 86400;
    }
    *second = (int32_t)rest;
}

/* LocalDateTime.toString(): seconds only if not zero, the fraction in groups of three digits. */
static size_t java_timestamp(const tl_column *col, int64_t i, char *out)
{
    int64_t days;
    int32_t second, nanos;
    split_days(col, i, &days, &second, &nanos);
    size_t n = tl_text__date(days, out);
    out[n++] = 'T';
    size_t full = n + tl_text__hms(second, out + n);
    if (second % 60 == 0 && nanos == 0)
        return n + 5;
    if (nanos == 0)
        return full;
    int digits = nanos % 1000000 == 0 ? 3 : nanos % 1000 == 0 ? 6 : 9;
    out[full] = '.';
    tl_text__padded((uint32_t)(nanos / (digits == 3 ? 1000000 : digits == 6 ? 1000 : 1)), digits, out + full + 1);
    return full + 1 + (size_t)digits;
}

tl_status tl_text_append_java(tl_buf *buf, const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return tl_buf_append_str(buf, "null");
    char text[64];
    switch (col->type->kind) {
    case TL_DATE:
    case TL_TIME:
        return tl_text__append_int_at(buf, col, i);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return tl_buf_append(buf, text, java_timestamp(col, i, text));
    case TL_FLOAT:
        return tl_buf_append(buf, text, tl_text_java_float(tl_col_f32(col, i), text));
    case TL_DOUBLE:
        return tl_buf_append(buf, text, tl_text_java_double(tl_col_f64(col, i), text));
    default:
        return tl_text_append_plain(buf, col, i);
    }
}

/* ---- SQL's cast to STRING ---- */

/* yyyy-mm-dd hh:mm:ss and a fraction of at least `precision` digits: more if they are not zero. */
static size_t cast_timestamp(const tl_column *col, int64_t i, char *out)
{
    int64_t days;
    int32_t second, nanos;
    split_days(col, i, &days, &second, &nanos);
    size_t n = tl_text__date(days, out);
    if (out[0] == '+') /* java.time's sign of late years is not SQL's */
        memmove(out, out + 1, --n);
    out[n++] = ' ';
    n += tl_text__hms(second, out + n);
    char fraction[9];
    tl_text__padded((uint32_t)nanos, 9, fraction);
    size_t digits = 9;
    while (digits > (size_t)col->type->precision && fraction[digits - 1] == '0')
        digits--;
    if (digits > 0) {
        out[n++] = '.';
        memcpy(out + n, fraction, digits);
        n += digits;
    }
    return n;
}

/* hh:mm:ss and, from precision 1 on, one digit of the fraction, then as many as are not zero. */
static size_t cast_time(int32_t millis, int precision, char *out)
{
    tl_text__time(millis, out);
    if (precision == 0)
        return 8;
    size_t n = (size_t)TL_MIN(precision, 3);
    while (n > 1 && out[8 + n] == '0')
        n--;
    return 9 + n;
}

static tl_status cast_list(tl_buf *buf, const tl_column *col, int64_t i)
{
    TL_TRY(tl_buf_append_byte(buf, '['));
    for (int32_t e = col->offsets[i]; e < col->offsets[i + 1]; e++) {
        if (e > col->offsets[i])
            TL_TRY(tl_buf_append_str(buf, ", "));
        TL_TRY(tl_text_append_cast(buf, col->children[0], e));
    }
    return tl_buf_append_byte(buf, ']');
}

static tl_status cast_map(tl_buf *buf, const tl_column *col, int64_t i)
{
    TL_TRY(tl_buf_append_byte(buf, '{'));
    for (int32_t e = col->offsets[i]; e < col->offsets[i + 1]; e++) {
        if (e > col->offsets[i])
            TL_TRY(tl_buf_append_str(buf, ", "));
        TL_TRY(tl_text_append_cast(buf, col->children[0], e));
        TL_TRY(tl_buf_append_str(buf, " -> "));
        TL_TRY(tl_text_append_cast(buf, col->children[1], e));
    }
    return tl_buf_append_byte(buf, '}');
}

static tl_status cast_row(tl_buf *buf, const tl_column *col, int64_t i)
{
    TL_TRY(tl_buf_append_byte(buf, '{'));
    for (int32_t c = 0; c < col->n_children; c++) {
        if (c > 0)
            TL_TRY(tl_buf_append_str(buf, ", "));
        TL_TRY(tl_text_append_cast(buf, col->children[c], i));
    }
    return tl_buf_append_byte(buf, '}');
}

tl_status tl_text_append_cast(tl_buf *buf, const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return tl_buf_append_str(buf, "null");
    char text[64];
    switch (col->type->kind) {
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB: {
        tl_bytes_view bytes = tl_col_bytes(col, i);
        return tl_buf_append(buf, bytes.data, bytes.len);
    }
    case TL_FLOAT:
    case TL_DOUBLE:
        return tl_text_append_java(buf, col, i);
    case TL_TIME:
        return tl_buf_append(buf, text, cast_time(tl_col_i32(col, i), col->type->precision, text));
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return tl_buf_append(buf, text, cast_timestamp(col, i, text));
    case TL_ARRAY:
    case TL_VECTOR:
        return cast_list(buf, col, i);
    case TL_MAP:
    case TL_MULTISET:
        return cast_map(buf, col, i);
    case TL_ROW:
        return cast_row(buf, col, i);
    default:
        return tl_text_append_plain(buf, col, i);
    }
}

tl_status tl_text_append_base64(tl_buf *buf, tl_bytes_view bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = TL_MIN(bytes.len - i, (size_t)3);
        uint32_t v = (uint32_t)bytes.data[i] << 16 | (n > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0) | (n > 2 ? bytes.data[i + 2] : 0);
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=', n > 2 ? digits[v & 63] : '='};
        TL_TRY(tl_buf_append(buf, four, 4));
    }
    return TL_OK;
}
