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
    return tl_error_set(r->err, TL_E_CORRUPT, "malformed VARIANT at byte %zu of %zu", pos, r->value.len);
}

static tl_status need(const reader *r, size_t pos, size_t bytes)
{
    return pos <= r->value.len && bytes <= r->value.len - pos ? TL_OK : malformed(r, pos);
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

/* ---- keys ---- */

static tl_status append_key(const reader *r, size_t id)
{
    const uint8_t *m = r->metadata.data;
    size_t len = r->metadata.len, width = len > 0 ? (size_t)(m[0] >> 6) + 1 : 0;
    if (len < 1 + width || (m[0] & 0x0F) != 1)
        return tl_error_set(r->err, TL_E_CORRUPT, "malformed metadata of a VARIANT");
    size_t count = (size_t)tl_variant__read(m + 1, width), strings = 1 + (count + 2) * width;
    if (id >= count || strings > len)
        return tl_error_set(r->err, TL_E_CORRUPT, "metadata of a VARIANT has no key %zu", id);
    size_t from = (size_t)tl_variant__read(m + 1 + (id + 1) * width, width), to = (size_t)tl_variant__read(m + 1 + (id + 2) * width, width);
    if (from > to || to > len - strings)
        return tl_error_set(r->err, TL_E_CORRUPT, "metadata of a VARIANT: key %zu is cut off", id);
    return append_json_string(r, (tl_bytes_view){m + strings + from, to - from});
}

/* ---- scalars ---- */

static tl_status append_decimal(const reader *r, size_t pos, size_t bytes, int max_digits)
{
    TL_TRY(need(r, pos, 1 + bytes));
    int scale = r->value.data[pos];
    const uint8_t *p = r->value.data + pos + 1;
    unsigned __int128 raw = p[bytes - 1] & 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t i = bytes; i-- > 0;)
        raw = raw << 8 | p[i];
    tl_i128 v = (tl_i128)raw, limit = tl_pow10_i128(max_digits);
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

/* ISO_LOCAL_DATE, a blank, ISO_LOCAL_TIME: the fraction in as many digits as it has. */
static tl_status append_timestamp(const reader *r, size_t pos, bool with_zone)
{
    char text[64];
    TL_TRY(need(r, pos, 8));
    int64_t micros = (int64_t)tl_variant__read(r->value.data + pos, 8);
    int64_t days = micros / 86400000000 - (micros % 86400000000 < 0), rest = micros - days * 86400000000;
    size_t n = tl_text__date(days, text);
    text[n++] = ' ';
    n += tl_text__hms((int32_t)(rest / 1000000), text + n);
    if (rest % 1000000 != 0) {
        text[n++] = '.';
        tl_text__padded((uint32_t)(rest % 1000000), 6, text + n);
        for (n += 6; text[n - 1] == '0'; n--) {
        }
    }
    if (with_zone) {
        memcpy(text + n, "+00:00", 6);
        n += 6;
    }
    return append_quoted(r, text, n);
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
    int shift = (int)(64 - 8 * bytes);
    int64_t v = (int64_t)(tl_variant__read(r->value.data + pos, bytes) << shift) >> shift;
    return append(r, text, tl_text__int(v, text));
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
        return append_timestamp(r, pos, kind == TL_VARIANT__TIMESTAMP);
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

/* Objects and arrays differ in the ids alone (`id_bytes` 0: an array). */
static tl_status append_nested(reader *r, size_t pos, size_t count_bytes, size_t id_bytes, size_t offset_bytes, int depth)
{
    size_t count;
    TL_TRY(number_at(r, pos, count_bytes, &count));
    size_t ids = pos + count_bytes;
    if (count > r->value.len) /* each element has a byte at least, so the sums below are small */
        return malformed(r, pos);
    size_t offsets = ids + count * id_bytes, data = offsets + (count + 1) * offset_bytes;
    TL_TRY(need(r, ids, data - ids));
    TL_TRY(append(r, id_bytes > 0 ? "{" : "[", 1));
    for (size_t i = 0; i < count; i++) {
        size_t offset;
        if (i > 0)
            TL_TRY(append(r, ",", 1));
        if (id_bytes > 0) {
            TL_TRY(append_key(r, (size_t)tl_variant__read(r->value.data + ids + i * id_bytes, id_bytes)));
            TL_TRY(append(r, ":", 1));
        }
        TL_TRY(number_at(r, offsets + i * offset_bytes, offset_bytes, &offset));
        if (offset > r->value.len)
            return malformed(r, pos);
        TL_TRY(append_value(r, data + offset, depth + 1));
    }
    return append(r, id_bytes > 0 ? "}" : "]", 1);
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
    case TL_VARIANT__OBJECT:
        return append_nested(r, pos + 1, info >> 4 & 1 ? 4 : 1, (info >> 2 & 3) + 1, (info & 3) + 1, depth);
    default:
        return append_nested(r, pos + 1, info >> 2 & 1 ? 4 : 1, 0, (info & 3) + 1, depth);
    }
}

tl_status tl_variant_append_json(tl_buf *buf, tl_bytes_view value, tl_bytes_view metadata, tl_error *err)
{
    reader r = {.value = value, .metadata = metadata, .out = buf, .out_start = buf->len, .nodes_left = value.len, .err = err};
    return append_value(&r, 0, 0);
}
