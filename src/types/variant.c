/*
 * Reading of variants. All numbers are little-endian; a value begins with a byte of two parts:
 *
 *   bits 0-1: 0 primitive, 1 short string, 2 object, 3 array
 *   bits 2-7: primitive: which one; short string: its length; object: large << 4 | (id bytes - 1) << 2 | (offset bytes - 1);
 *             array: large << 2 | (offset bytes - 1)
 *   object:  count (1 byte, large: 4), ids[count], offsets[count + 1], values; offsets count from where the values begin
 *   array:   count, offsets[count + 1], values
 *   metadata: version 1 | (offset bytes - 1) << 6, count, offsets[count + 1], keys
 */
#include "types/variant.h"

#include "base/bits.h"
#include "base/json.h"
#include "types/number.h"
#include "types/variant_private.h"

/* ---- layout ---- */

static tl_status malformed_at(tl_bytes_view value, size_t pos, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "malformed VARIANT at byte %zu of %zu", pos, value.len);
}

static bool holds(tl_bytes_view value, size_t pos, size_t bytes)
{
    return pos <= value.len && bytes <= value.len - pos;
}

/* Width of the numbers in the metadata and the count of keys; the offsets of all keys are there. */
static tl_status metadata_head(tl_bytes_view metadata, size_t *width, size_t *count, tl_error *err)
{
    *width = metadata.len > 0 ? (size_t)(metadata.data[0] >> 6) + 1 : 0;
    if (metadata.len < 1 + *width || (metadata.data[0] & 0x0F) != 1)
        return tl_error_set(err, TL_E_CORRUPT, "malformed metadata of a VARIANT");
    *count = (size_t)tl_variant__read(metadata.data + 1, *width);
    if (*count > metadata.len || 1 + (*count + 2) * *width > metadata.len)
        return tl_error_set(err, TL_E_CORRUPT, "metadata of a VARIANT has no room for its %zu keys", *count);
    return TL_OK;
}

tl_status tl_variant__key_count(tl_bytes_view metadata, size_t *out, tl_error *err)
{
    size_t width;
    return metadata_head(metadata, &width, out, err);
}

tl_status tl_variant__key(tl_bytes_view metadata, size_t id, tl_bytes_view *out, tl_error *err)
{
    size_t width, count;
    TL_TRY(metadata_head(metadata, &width, &count, err));
    if (id >= count)
        return tl_error_set(err, TL_E_CORRUPT, "metadata of a VARIANT has no key %zu", id);
    const uint8_t *offsets = metadata.data + 1 + width;
    size_t strings = 1 + (count + 2) * width;
    size_t from = (size_t)tl_variant__read(offsets + id * width, width), to = (size_t)tl_variant__read(offsets + (id + 1) * width, width);
    if (from > to || to > metadata.len - strings)
        return tl_error_set(err, TL_E_CORRUPT, "metadata of a VARIANT: key %zu is cut off", id);
    *out = (tl_bytes_view){metadata.data + strings + from, to - from};
    return TL_OK;
}

tl_status tl_variant__nested_at(tl_bytes_view value, size_t pos, tl_variant__nested *out, tl_error *err)
{
    unsigned header = pos < value.len ? value.data[pos] : 0, info = header >> 2;
    if ((header & 3) != TL_VARIANT__OBJECT && (header & 3) != TL_VARIANT__ARRAY)
        return malformed_at(value, pos, err);
    *out = (tl_variant__nested){.is_object = (header & 3) == TL_VARIANT__OBJECT, .offset_bytes = (info & 3) + 1};
    out->id_bytes = out->is_object ? (info >> 2 & 3) + 1 : 0;
    size_t count_bytes = info >> (out->is_object ? 4 : 2) & 1 ? 4 : 1;
    if (!holds(value, pos + 1, count_bytes))
        return malformed_at(value, pos, err);
    out->count = (size_t)tl_variant__read(value.data + pos + 1, count_bytes);
    if (out->count > value.len) /* each element has a byte at least, so the sums below are small */
        return malformed_at(value, pos, err);
    out->ids = pos + 1 + count_bytes;
    out->offsets = out->ids + out->count * out->id_bytes;
    out->data = out->offsets + (out->count + 1) * out->offset_bytes;
    return holds(value, pos, out->data - pos) ? TL_OK : malformed_at(value, pos, err);
}

tl_status tl_variant__size(tl_bytes_view value, size_t pos, size_t *out, tl_error *err)
{
    static const uint8_t bytes[] = {[TL_VARIANT__INT1] = 1,          [TL_VARIANT__INT2] = 2,
                                    [TL_VARIANT__INT4] = 4,          [TL_VARIANT__INT8] = 8,
                                    [TL_VARIANT__DOUBLE] = 8,        [TL_VARIANT__DECIMAL4] = 5,
                                    [TL_VARIANT__DECIMAL8] = 9,      [TL_VARIANT__DECIMAL16] = 17,
                                    [TL_VARIANT__DATE] = 4,          [TL_VARIANT__TIMESTAMP] = 8,
                                    [TL_VARIANT__TIMESTAMP_NTZ] = 8, [TL_VARIANT__FLOAT] = 4,
                                    [TL_VARIANT__TIME] = 8,          [TL_VARIANT__TIMESTAMP_NANOS] = 8,
                                    [TL_VARIANT__UUID] = 16,         [TL_VARIANT__TIMESTAMP_NTZ_NANOS] = 8};
    if (!holds(value, pos, 1))
        return malformed_at(value, pos, err);
    unsigned basic = value.data[pos] & 3, info = value.data[pos] >> 2;
    size_t size = 1;
    if (basic == TL_VARIANT__OBJECT || basic == TL_VARIANT__ARRAY) {
        tl_variant__nested nested;
        TL_TRY(tl_variant__nested_at(value, pos, &nested, err));
        size = nested.data - pos + (size_t)tl_variant__read(value.data + nested.data - nested.offset_bytes, nested.offset_bytes);
    } else if (basic == TL_VARIANT__SHORT_STR) {
        size += info;
    } else if (info == TL_VARIANT__BINARY || info == TL_VARIANT__LONG_STR) {
        if (!holds(value, pos + 1, 4))
            return malformed_at(value, pos, err);
        size += 4 + (size_t)tl_variant__read(value.data + pos + 1, 4);
    } else if (info > TL_VARIANT__UUID) {
        return malformed_at(value, pos, err);
    } else {
        size += bytes[info];
    }
    *out = size;
    return holds(value, pos, size) ? TL_OK : malformed_at(value, pos, err);
}

/* ---- as JSON ---- */

#define OUTPUT_BYTES_MAX (512u * 1024 * 1024) /* keys may be repeated as often as there are values */

typedef struct reader {
    tl_bytes_view value;
    tl_bytes_view metadata;
    tl_buf *out;
    size_t out_start;
    size_t nodes_left; /* values do not overlap, so there are no more of them than bytes */
    tl_error *err;
} reader;

static tl_status malformed(const reader *r, size_t pos)
{
    return malformed_at(r->value, pos, r->err);
}

static tl_status need(const reader *r, size_t pos, size_t bytes)
{
    return holds(r->value, pos, bytes) ? TL_OK : malformed(r, pos);
}

static tl_status number_at(const reader *r, size_t pos, size_t bytes, size_t *out)
{
    TL_TRY(need(r, pos, bytes));
    *out = (size_t)tl_variant__read(r->value.data + pos, bytes);
    return TL_OK;
}

static tl_status no_memory(const reader *r, tl_status status)
{
    return status == TL_OK ? TL_OK : tl_nomem(r->err, "VARIANT");
}

static tl_status append(const reader *r, const char *text, size_t n)
{
    return no_memory(r, tl_buf_append(r->out, text, n));
}

static tl_status append_quoted(const reader *r, const char *text, size_t n)
{
    TL_TRY(append(r, "\"", 1));
    TL_TRY(append(r, text, n));
    return append(r, "\"", 1);
}

static tl_status append_json_string(const reader *r, tl_bytes_view text)
{
    return no_memory(r, tl_json_append_jackson(r->out, text));
}

/* ---- scalars ---- */

static tl_status append_decimal(const reader *r, size_t pos, size_t bytes, int max_digits)
{
    TL_TRY(need(r, pos, 1 + bytes));
    int scale = r->value.data[pos];
    tl_i128 v = tl_variant__read_signed(r->value.data + pos + 1, bytes), limit = tl_pow10_i128(max_digits);
    if (scale > max_digits || v >= limit || v <= -limit)
        return malformed(r, pos);
    for (; scale > 0 && v % 10 == 0; scale--)
        v /= 10;
    char text[64];
    return append(r, text, tl_decimal_format(v, scale, text));
}

static tl_status append_floating(const reader *r, size_t pos, bool single)
{
    char text[32];
    TL_TRY(need(r, pos, single ? 4 : 8));
    uint64_t bits = tl_variant__read(r->value.data + pos, single ? 4 : 8);
    uint32_t low = (uint32_t)bits;
    double d = 0;
    float f = 0;
    memcpy(&d, &bits, sizeof d);
    memcpy(&f, &low, sizeof f);
    size_t n = single ? tl_text_java_float(f, text) : tl_text_java_double(d, text);
    bool finite = text[n - 1] != 'N' && text[n - 1] != 'y'; /* NaN, Infinity */
    return finite ? append(r, text, n) : append_quoted(r, text, n);
}

static tl_status append_date(const reader *r, size_t pos)
{
    char text[32];
    TL_TRY(need(r, pos, 4));
    return append_quoted(r, text, tl_text__date((int32_t)tl_variant__read(r->value.data + pos, 4), text));
}

/* HH:MM:SS and the fraction in as many digits as it has. */
static size_t clock_text(int64_t ticks, int64_t per_second, int digits, char *text)
{
    size_t n = tl_text__hms((int32_t)(ticks / per_second), text);
    if (ticks % per_second != 0) {
        text[n++] = '.';
        tl_text__padded((uint32_t)(ticks % per_second), digits, text + n);
        for (n += (size_t)digits; text[n - 1] == '0'; n--) {
        }
    }
    return n;
}

/* ISO_LOCAL_DATE, a blank, ISO_LOCAL_TIME; micro- or nanoseconds. */
static tl_status append_timestamp(const reader *r, size_t pos, bool is_nanos, bool with_zone)
{
    char text[64];
    TL_TRY(need(r, pos, 8));
    const int64_t per_second = is_nanos ? 1000000000 : 1000000, per_day = 86400 * per_second;
    int64_t ticks = (int64_t)tl_variant__read(r->value.data + pos, 8), rest = ticks % per_day;
    size_t n = tl_text__date(ticks / per_day - (rest < 0), text);
    text[n++] = ' ';
    n += clock_text(rest < 0 ? rest + per_day : rest, per_second, is_nanos ? 9 : 6, text + n);
    if (with_zone) {
        memcpy(text + n, "+00:00", 6);
        n += 6;
    }
    return append_quoted(r, text, n);
}

static tl_status append_time(const reader *r, size_t pos)
{
    char text[32];
    TL_TRY(need(r, pos, 8));
    int64_t micros = (int64_t)tl_variant__read(r->value.data + pos, 8);
    if (micros < 0 || micros >= 86400000000)
        return malformed(r, pos);
    return append_quoted(r, text, clock_text(micros, 1000000, 6, text));
}

static tl_status append_base64(const reader *r, tl_bytes_view bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    TL_TRY(append(r, "\"", 1));
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t n = TL_MIN(bytes.len - i, (size_t)3);
        uint32_t v = (uint32_t)bytes.data[i] << 16 | (n > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0) | (n > 2 ? bytes.data[i + 2] : 0);
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=', n > 2 ? digits[v & 63] : '='};
        TL_TRY(append(r, four, 4));
    }
    return append(r, "\"", 1);
}

static tl_status append_uuid(const reader *r, size_t pos)
{
    static const char digits[] = "0123456789abcdef";
    char text[40];
    size_t n = 0;
    TL_TRY(need(r, pos, 16));
    for (size_t i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[n++] = '-';
        text[n++] = digits[r->value.data[pos + i] >> 4];
        text[n++] = digits[r->value.data[pos + i] & 15];
    }
    return append_quoted(r, text, n);
}

static tl_status append_bytes(const reader *r, size_t pos, bool is_text)
{
    size_t len;
    TL_TRY(number_at(r, pos, 4, &len));
    TL_TRY(need(r, pos + 4, len));
    tl_bytes_view bytes = {r->value.data + pos + 4, len};
    return is_text ? append_json_string(r, bytes) : append_base64(r, bytes);
}

static tl_status append_integer(const reader *r, size_t pos, size_t bytes)
{
    char text[24];
    TL_TRY(need(r, pos, bytes));
    return append(r, text, tl_text__int((int64_t)tl_variant__read_signed(r->value.data + pos, bytes), text));
}

static tl_status append_primitive(const reader *r, size_t pos, int kind)
{
    switch (kind) {
    case TL_VARIANT__NULL:
        return append(r, "null", 4);
    case TL_VARIANT__TRUE:
        return append(r, "true", 4);
    case TL_VARIANT__FALSE:
        return append(r, "false", 5);
    case TL_VARIANT__INT1:
        return append_integer(r, pos, 1);
    case TL_VARIANT__INT2:
        return append_integer(r, pos, 2);
    case TL_VARIANT__INT4:
        return append_integer(r, pos, 4);
    case TL_VARIANT__INT8:
        return append_integer(r, pos, 8);
    case TL_VARIANT__DOUBLE:
        return append_floating(r, pos, /* single= */ false);
    case TL_VARIANT__FLOAT:
        return append_floating(r, pos, /* single= */ true);
    case TL_VARIANT__DECIMAL4:
        return append_decimal(r, pos, 4, 9);
    case TL_VARIANT__DECIMAL8:
        return append_decimal(r, pos, 8, 18);
    case TL_VARIANT__DECIMAL16:
        return append_decimal(r, pos, 16, 38);
    case TL_VARIANT__DATE:
        return append_date(r, pos);
    case TL_VARIANT__TIMESTAMP:
    case TL_VARIANT__TIMESTAMP_NTZ:
        return append_timestamp(r, pos, /* is_nanos= */ false, kind == TL_VARIANT__TIMESTAMP);
    case TL_VARIANT__TIMESTAMP_NANOS:
    case TL_VARIANT__TIMESTAMP_NTZ_NANOS:
        return append_timestamp(r, pos, /* is_nanos= */ true, kind == TL_VARIANT__TIMESTAMP_NANOS);
    case TL_VARIANT__TIME:
        return append_time(r, pos);
    case TL_VARIANT__BINARY:
    case TL_VARIANT__LONG_STR:
        return append_bytes(r, pos, kind == TL_VARIANT__LONG_STR);
    case TL_VARIANT__UUID:
        return append_uuid(r, pos);
    default:
        return malformed(r, pos);
    }
}

/* ---- nested ---- */

static tl_status append_value(reader *r, size_t pos, int depth);

static tl_status append_nested(reader *r, size_t pos, int depth)
{
    tl_variant__nested n;
    TL_TRY(tl_variant__nested_at(r->value, pos, &n, r->err));
    TL_TRY(append(r, n.is_object ? "{" : "[", 1));
    for (size_t i = 0; i < n.count; i++) {
        size_t offset = (size_t)tl_variant__read(r->value.data + n.offsets + i * n.offset_bytes, n.offset_bytes);
        if (i > 0)
            TL_TRY(append(r, ",", 1));
        if (n.is_object) {
            tl_bytes_view key;
            TL_TRY(tl_variant__key(r->metadata, (size_t)tl_variant__read(r->value.data + n.ids + i * n.id_bytes, n.id_bytes), &key, r->err));
            TL_TRY(append_json_string(r, key));
            TL_TRY(append(r, ":", 1));
        }
        if (offset > r->value.len)
            return malformed(r, pos);
        TL_TRY(append_value(r, n.data + offset, depth + 1));
    }
    return append(r, n.is_object ? "}" : "]", 1);
}

static tl_status append_value(reader *r, size_t pos, int depth)
{
    TL_TRY(need(r, pos, 1));
    if (r->nodes_left-- == 0 || depth > TL_JSON_DEPTH_MAX)
        return malformed(r, pos);
    if (r->out->len - r->out_start > OUTPUT_BYTES_MAX)
        return tl_error_set(r->err, TL_E_LIMIT, "the JSON of a VARIANT has more than %u bytes", OUTPUT_BYTES_MAX);
    unsigned header = r->value.data[pos], info = header >> 2;
    switch (header & 3) {
    case TL_VARIANT__PRIMITIVE:
        return append_primitive(r, pos + 1, (int)info);
    case TL_VARIANT__SHORT_STR:
        TL_TRY(need(r, pos + 1, info));
        return append_json_string(r, (tl_bytes_view){r->value.data + pos + 1, info});
    default:
        return append_nested(r, pos, depth);
    }
}

tl_status tl_variant_append_json(tl_buf *buf, tl_bytes_view value, tl_bytes_view metadata, tl_error *err)
{
    reader r = {.value = value, .metadata = metadata, .out = buf, .out_start = buf->len, .nodes_left = value.len, .err = err};
    return append_value(&r, 0, 0);
}
