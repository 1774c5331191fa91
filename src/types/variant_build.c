/*
 * Making variants of JSON, as the reference's builder makes them: the smallest integer that holds a number, decimals where a number
 * has a point and at most 38 digits, doubles else; keys numbered as they come, fields of an object in the order of their keys.
 */
#include <stdlib.h>

#include "base/bits.h"
#include "base/json.h"
#include "base/map.h"
#include "types/number.h"
#include "types/types_private.h"
#include "types/variant.h"
#include "types/variant_private.h"

typedef struct builder {
    tl_buf *out;
    tl_map ids; /* key -> its number + 1 */
    tl_bytes_view *keys;
    size_t n_keys, cap_keys;
    size_t key_bytes;
    tl_error *err;
} builder;

tl_status tl_variant__put(tl_buf *out, uint64_t v, size_t bytes, tl_error *err)
{
    uint8_t le[8];
    tl_write_le64(le, v);
    return tl_buf_append(out, le, bytes) == TL_OK ? TL_OK : tl_nomem(err, "VARIANT");
}

tl_status tl_variant__put_header(tl_buf *out, unsigned info, unsigned basic, tl_error *err)
{
    return tl_variant__put(out, info << 2 | basic, 1, err);
}

static size_t bytes_for(size_t v)
{
    return v <= 0xFF ? 1 : v <= 0xFFFF ? 2 : v <= 0xFFFFFF ? 3 : 4;
}

/* ---- scalars ---- */

tl_status tl_variant__put_string(tl_buf *out, tl_bytes_view text, tl_error *err)
{
    if (text.len > 63) {
        TL_TRY(tl_variant__put_header(out, TL_VARIANT__LONG_STR, TL_VARIANT__PRIMITIVE, err));
        TL_TRY(tl_variant__put(out, text.len, 4, err));
    } else {
        TL_TRY(tl_variant__put_header(out, (unsigned)text.len, TL_VARIANT__SHORT_STR, err));
    }
    return tl_buf_append(out, text.data, text.len) == TL_OK ? TL_OK : tl_nomem(err, "VARIANT");
}

tl_status tl_variant__put_decimal(tl_buf *out, tl_i128 v, int scale, int digits, tl_error *err)
{
    unsigned kind = digits <= 9 ? TL_VARIANT__DECIMAL4 : digits <= 18 ? TL_VARIANT__DECIMAL8 : TL_VARIANT__DECIMAL16;
    TL_TRY(tl_variant__put_header(out, kind, TL_VARIANT__PRIMITIVE, err));
    TL_TRY(tl_variant__put(out, (uint64_t)scale, 1, err));
    if (kind != TL_VARIANT__DECIMAL16)
        return tl_variant__put(out, (uint64_t)(int64_t)v, kind == TL_VARIANT__DECIMAL4 ? 4 : 8, err);
    TL_TRY(tl_variant__put(out, (uint64_t)v, 8, err));
    return tl_variant__put(out, (uint64_t)(v >> 64), 8, err);
}

static tl_status put_long(builder *b, int64_t v)
{
    unsigned kind = v == (int8_t)v    ? TL_VARIANT__INT1
                    : v == (int16_t)v ? TL_VARIANT__INT2
                    : v == (int32_t)v ? TL_VARIANT__INT4
                                      : TL_VARIANT__INT8;
    TL_TRY(tl_variant__put_header(b->out, kind, TL_VARIANT__PRIMITIVE, b->err));
    return tl_variant__put(b->out, (uint64_t)v, (size_t)1 << (kind - TL_VARIANT__INT1), b->err);
}

/* Digits without exponent, of which at most 38 count and at most 38 stand behind the point. */
static bool as_decimal(tl_bytes_view text, tl_i128 *unscaled, int *scale, int *precision)
{
    tl_i128 v = 0;
    int behind = 0, digits = 0;
    bool point = false, negative = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '-') {
            negative = true;
        } else if (c == '.') {
            point = true;
        } else if (c >= '0' && c <= '9') {
            digits += digits > 0 || c != '0';
            behind += point;
            if (digits > 38 || behind > 38)
                return false;
            v = v * 10 + (c - '0');
        } else {
            return false;
        }
    }
    *unscaled = negative ? -v : v;
    *scale = behind;
    *precision = TL_MAX(digits, 1);
    return true;
}

static tl_status put_number(builder *b, tl_bytes_view text)
{
    tl_i128 v = 0;
    int64_t whole = 0;
    int scale = 0, precision = 0;
    bool integer = memchr(text.data, '.', text.len) == NULL && memchr(text.data, 'e', text.len) == NULL && memchr(text.data, 'E', text.len) == NULL;
    if (integer && tl_text__parse_int(text, INT64_MIN, INT64_MAX, &whole))
        return put_long(b, whole);
    if (as_decimal(text, &v, &scale, &precision)) {
        return tl_variant__put_decimal(b->out, v, scale, TL_MAX(scale, precision), b->err);
    }
    double d = 0;
    uint64_t bits;
    if (!tl_text__parse_double(text, &d))
        return tl_error_set(b->err, TL_E_INVALID, "'%.*s' is no number", (int)TL_MIN(text.len, 100), (const char *)text.data);
    memcpy(&bits, &d, sizeof bits);
    TL_TRY(tl_variant__put_header(b->out, TL_VARIANT__DOUBLE, TL_VARIANT__PRIMITIVE, b->err));
    return tl_variant__put(b->out, bits, 8, b->err);
}

/* ---- nested ---- */

static tl_status put_value(builder *b, const tl_json *json);

static tl_status key_id(builder *b, tl_bytes_view text, size_t *out)
{
    uintptr_t found = (uintptr_t)tl_map_get(&b->ids, text.data, text.len);
    if (found != 0) {
        *out = found - 1;
        return TL_OK;
    }
    if (b->n_keys == b->cap_keys) {
        size_t cap = b->cap_keys == 0 ? 16 : b->cap_keys * 2;
        tl_bytes_view *grown = tl_realloc(b->keys, cap * sizeof *grown);
        if (grown == NULL)
            return tl_nomem(b->err, "VARIANT");
        b->keys = grown;
        b->cap_keys = cap;
    }
    *out = b->n_keys;
    b->keys[b->n_keys++] = text;
    b->key_bytes += text.len;
    return tl_map_put(&b->ids, text.data, text.len, (void *)(uintptr_t)b->n_keys, NULL) == TL_OK ? TL_OK : tl_nomem(b->err, "VARIANT");
}

static int by_name(const void *x, const void *y)
{
    return tl_text__compare_utf16(((const tl_variant__field *)x)->name, ((const tl_variant__field *)y)->name);
}

tl_status tl_variant__sort(tl_variant__field *fields, size_t n, tl_error *err)
{
    if (n > 1)
        qsort(fields, n, sizeof *fields, by_name);
    for (size_t k = 1; k < n; k++) {
        if (fields[k].id == fields[k - 1].id)
            return tl_error_set(err, TL_E_INVALID, "a VARIANT has the key '%.*s' twice", (int)TL_MIN(fields[k].name.len, 100),
                                (const char *)fields[k].name.data);
    }
    return TL_OK;
}

static tl_status put_front(tl_buf *front, size_t data, const tl_variant__field *fields, size_t n, bool is_object, tl_error *err)
{
    unsigned large = n > 0xFF;
    size_t max_id = 0, offset_bytes = bytes_for(data);
    for (size_t i = 0; i < n; i++)
        max_id = TL_MAX(max_id, fields[i].id);
    size_t id_bytes = bytes_for(max_id);
    TL_TRY(is_object ? tl_variant__put_header(front, large << 4 | (unsigned)(id_bytes - 1) << 2 | (unsigned)(offset_bytes - 1), TL_VARIANT__OBJECT, err)
                     : tl_variant__put_header(front, large << 2 | (unsigned)(offset_bytes - 1), TL_VARIANT__ARRAY, err));
    TL_TRY(tl_variant__put(front, n, large ? 4 : 1, err));
    for (size_t i = 0; i < n && is_object; i++)
        TL_TRY(tl_variant__put(front, fields[i].id, id_bytes, err));
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_variant__put(front, fields[i].offset, offset_bytes, err));
    return tl_variant__put(front, data, offset_bytes, err);
}

tl_status tl_variant__close(tl_buf *out, size_t start, const tl_variant__field *fields, size_t n, bool is_object, tl_error *err)
{
    tl_buf front = {0};
    size_t data = out->len - start;
    tl_status status = put_front(&front, data, fields, n, is_object, err);
    if (status == TL_OK && tl_buf_reserve(out, front.len) != TL_OK)
        status = tl_nomem(err, "VARIANT");
    if (status == TL_OK) {
        memmove(out->data + start + front.len, out->data + start, data);
        memcpy(out->data + start, front.data, front.len);
        out->len += front.len;
    }
    tl_buf_deinit(&front);
    return status;
}

static tl_status put_children(builder *b, const tl_json *json, size_t start, tl_variant__field *fields)
{
    bool is_object = json->kind == TL_JSON_OBJECT;
    size_t i = 0;
    for (const tl_json *c = json->child; c != NULL; c = c->next, i++) {
        fields[i] = (tl_variant__field){.name = c->key, .offset = b->out->len - start};
        if (is_object)
            TL_TRY(key_id(b, c->key, &fields[i].id));
        TL_TRY(put_value(b, c));
        if (b->out->len > TL_VARIANT_BYTES_MAX)
            return tl_error_set(b->err, TL_E_LIMIT, "a VARIANT of more than %d bytes", TL_VARIANT_BYTES_MAX);
    }
    return is_object ? tl_variant__sort(fields, i, b->err) : TL_OK;
}

static tl_status put_nested(builder *b, const tl_json *json)
{
    size_t start = b->out->len;
    tl_variant__field *fields = tl_calloc((size_t)json->n_children + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(b->err, "VARIANT");
    tl_status status = put_children(b, json, start, fields);
    if (status == TL_OK)
        status = tl_variant__close(b->out, start, fields, (size_t)json->n_children, json->kind == TL_JSON_OBJECT, b->err);
    tl_free(fields);
    return status;
}

static tl_status put_value(builder *b, const tl_json *json)
{
    switch (json->kind) {
    case TL_JSON_NULL:
        return tl_variant__put_header(b->out, TL_VARIANT__NULL, TL_VARIANT__PRIMITIVE, b->err);
    case TL_JSON_TRUE:
        return tl_variant__put_header(b->out, TL_VARIANT__TRUE, TL_VARIANT__PRIMITIVE, b->err);
    case TL_JSON_FALSE:
        return tl_variant__put_header(b->out, TL_VARIANT__FALSE, TL_VARIANT__PRIMITIVE, b->err);
    case TL_JSON_NUMBER:
        return put_number(b, json->text);
    case TL_JSON_STRING:
        return tl_variant__put_string(b->out, json->text, b->err);
    default:
        return put_nested(b, json);
    }
}

static tl_status put_metadata(builder *b)
{
    size_t width = bytes_for(TL_MAX(b->key_bytes, b->n_keys)), offset = 0;
    TL_TRY(tl_variant__put(b->out, 1 | (width - 1) << 6, 1, b->err));
    TL_TRY(tl_variant__put(b->out, b->n_keys, width, b->err));
    for (size_t i = 0; i < b->n_keys; offset += b->keys[i++].len)
        TL_TRY(tl_variant__put(b->out, offset, width, b->err));
    TL_TRY(tl_variant__put(b->out, offset, width, b->err));
    for (size_t i = 0; i < b->n_keys; i++) {
        if (tl_buf_append(b->out, b->keys[i].data, b->keys[i].len) != TL_OK)
            return tl_nomem(b->err, "VARIANT");
    }
    return TL_OK;
}

tl_status tl_variant_from_json(tl_bytes_view text, tl_buf *value, tl_buf *metadata, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json = NULL;
    builder b = {.out = value, .err = err};
    tl_status status = tl_json_parse_first(&arena, text, &json, err);
    if (status == TL_OK)
        status = put_value(&b, json);
    b.out = metadata;
    if (status == TL_OK)
        status = put_metadata(&b);
    tl_map_deinit(&b.ids);
    tl_free(b.keys);
    tl_arena_deinit(&arena);
    return status;
}
