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

typedef struct field {
    tl_bytes_view name;
    size_t id;
    size_t offset;
} field;

static tl_status put(builder *b, uint64_t v, size_t bytes)
{
    uint8_t le[8];
    tl_write_le64(le, v);
    return tl_buf_append(b->out, le, bytes) == TL_OK ? TL_OK : tl_nomem(b->err, "VARIANT");
}

static tl_status put_header(builder *b, unsigned info, unsigned basic)
{
    return put(b, info << 2 | basic, 1);
}

static size_t bytes_for(size_t v)
{
    return v <= 0xFF ? 1 : v <= 0xFFFF ? 2 : v <= 0xFFFFFF ? 3 : 4;
}

/* ---- scalars ---- */

static tl_status put_string(builder *b, tl_bytes_view text)
{
    if (text.len > 63) {
        TL_TRY(put_header(b, TL_VARIANT__LONG_STR, TL_VARIANT__PRIMITIVE));
        TL_TRY(put(b, text.len, 4));
    } else {
        TL_TRY(put_header(b, (unsigned)text.len, TL_VARIANT__SHORT_STR));
    }
    return tl_buf_append(b->out, text.data, text.len) == TL_OK ? TL_OK : tl_nomem(b->err, "VARIANT");
}

static tl_status put_long(builder *b, int64_t v)
{
    unsigned kind = v == (int8_t)v    ? TL_VARIANT__INT1
                    : v == (int16_t)v ? TL_VARIANT__INT2
                    : v == (int32_t)v ? TL_VARIANT__INT4
                                      : TL_VARIANT__INT8;
    TL_TRY(put_header(b, kind, TL_VARIANT__PRIMITIVE));
    return put(b, (uint64_t)v, (size_t)1 << (kind - TL_VARIANT__INT1));
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
        int digits = TL_MAX(scale, precision);
        unsigned kind = digits <= 9 ? TL_VARIANT__DECIMAL4 : digits <= 18 ? TL_VARIANT__DECIMAL8 : TL_VARIANT__DECIMAL16;
        TL_TRY(put_header(b, kind, TL_VARIANT__PRIMITIVE));
        TL_TRY(put(b, (uint64_t)scale, 1));
        if (kind != TL_VARIANT__DECIMAL16)
            return put(b, (uint64_t)(int64_t)v, kind == TL_VARIANT__DECIMAL4 ? 4 : 8);
        TL_TRY(put(b, (uint64_t)v, 8));
        return put(b, (uint64_t)(v >> 64), 8);
    }
    double d = 0;
    uint64_t bits;
    if (!tl_text__parse_double(text, &d))
        return tl_error_set(b->err, TL_E_INVALID, "'%.*s' is no number", (int)TL_MIN(text.len, 100), (const char *)text.data);
    memcpy(&bits, &d, sizeof bits);
    TL_TRY(put_header(b, TL_VARIANT__DOUBLE, TL_VARIANT__PRIMITIVE));
    return put(b, bits, 8);
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
    return tl_text__compare_utf16(((const field *)x)->name, ((const field *)y)->name);
}

/* Puts what stands before the values of an object or array (ids == NULL) between `start` and the values, which are there already. */
static tl_status put_front(builder *b, size_t start, const field *fields, size_t n, bool is_object, size_t max_id)
{
    size_t data = b->out->len - start, id_bytes = bytes_for(max_id), offset_bytes = bytes_for(data), count_bytes = n > 0xFF ? 4 : 1;
    tl_buf front = {0}, *whole = b->out;
    unsigned large = n > 0xFF;
    b->out = &front;
    tl_status status = is_object ? put_header(b, large << 4 | (unsigned)(id_bytes - 1) << 2 | (unsigned)(offset_bytes - 1), TL_VARIANT__OBJECT)
                                 : put_header(b, large << 2 | (unsigned)(offset_bytes - 1), TL_VARIANT__ARRAY);
    if (status == TL_OK)
        status = put(b, n, count_bytes);
    for (size_t i = 0; i < n && is_object && status == TL_OK; i++)
        status = put(b, fields[i].id, id_bytes);
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = put(b, fields[i].offset, offset_bytes);
    if (status == TL_OK)
        status = put(b, data, offset_bytes);
    b->out = whole;
    if (status == TL_OK && tl_buf_reserve(whole, front.len) != TL_OK)
        status = tl_nomem(b->err, "VARIANT");
    if (status == TL_OK) {
        memmove(whole->data + start + front.len, whole->data + start, data);
        memcpy(whole->data + start, front.data, front.len);
        whole->len += front.len;
    }
    tl_buf_deinit(&front);
    return status;
}

static tl_status put_children(builder *b, const tl_json *json, size_t start, field *fields, size_t *max_id)
{
    bool is_object = json->kind == TL_JSON_OBJECT;
    size_t i = 0;
    for (const tl_json *c = json->child; c != NULL; c = c->next, i++) {
        fields[i] = (field){.name = c->key, .offset = b->out->len - start};
        if (is_object)
            TL_TRY(key_id(b, c->key, &fields[i].id));
        *max_id = TL_MAX(*max_id, fields[i].id);
        TL_TRY(put_value(b, c));
        if (b->out->len > TL_VARIANT_BYTES_MAX)
            return tl_error_set(b->err, TL_E_LIMIT, "a VARIANT of more than %d bytes", TL_VARIANT_BYTES_MAX);
    }
    if (!is_object || i < 2)
        return TL_OK;
    qsort(fields, i, sizeof *fields, by_name);
    for (size_t k = 1; k < i; k++) {
        if (fields[k].id == fields[k - 1].id)
            return tl_error_set(b->err, TL_E_INVALID, "a VARIANT has the key '%.*s' twice", (int)TL_MIN(fields[k].name.len, 100),
                                (const char *)fields[k].name.data);
    }
    return TL_OK;
}

static tl_status put_nested(builder *b, const tl_json *json)
{
    size_t start = b->out->len, max_id = 0;
    field *fields = tl_calloc((size_t)json->n_children + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(b->err, "VARIANT");
    tl_status status = put_children(b, json, start, fields, &max_id);
    if (status == TL_OK)
        status = put_front(b, start, fields, (size_t)json->n_children, json->kind == TL_JSON_OBJECT, max_id);
    tl_free(fields);
    return status;
}

static tl_status put_value(builder *b, const tl_json *json)
{
    switch (json->kind) {
    case TL_JSON_NULL:
        return put_header(b, TL_VARIANT__NULL, TL_VARIANT__PRIMITIVE);
    case TL_JSON_TRUE:
        return put_header(b, TL_VARIANT__TRUE, TL_VARIANT__PRIMITIVE);
    case TL_JSON_FALSE:
        return put_header(b, TL_VARIANT__FALSE, TL_VARIANT__PRIMITIVE);
    case TL_JSON_NUMBER:
        return put_number(b, json->text);
    case TL_JSON_STRING:
        return put_string(b, json->text);
    default:
        return put_nested(b, json);
    }
}

static tl_status put_metadata(builder *b)
{
    size_t width = bytes_for(TL_MAX(b->key_bytes, b->n_keys)), offset = 0;
    TL_TRY(put(b, 1 | (width - 1) << 6, 1));
    TL_TRY(put(b, b->n_keys, width));
    for (size_t i = 0; i < b->n_keys; offset += b->keys[i++].len)
        TL_TRY(put(b, offset, width));
    TL_TRY(put(b, offset, width));
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
