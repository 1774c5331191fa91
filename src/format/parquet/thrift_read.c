#include "format/parquet/thrift_read.h"

/* Structs, lists and maps inside each other in a value that is skipped. */
#define SKIP_DEPTH_MAX 32

tl_status tl_thrift__corrupt(const tl_thrift_cursor *c, const char *why)
{
    return tl_error_set(c->err, TL_E_CORRUPT, "%s: %s at its byte %zu", c->what, why, (size_t)(c->p - c->base));
}

static inline tl_status read_varint(tl_thrift_cursor *c, uint64_t *out)
{
    if (TL_LIKELY(c->p < c->end && *c->p < 0x80)) {
        *out = *c->p++;
        return TL_OK;
    }
    size_t n = tl_varint_decode(c->p, c->end, out);
    if (n == 0)
        return tl_thrift__corrupt(c, "truncated or too long number");
    c->p += n;
    return TL_OK;
}

static tl_status read_byte(tl_thrift_cursor *c, uint8_t *out)
{
    if (c->p == c->end)
        return tl_thrift__corrupt(c, "unexpected end");
    *out = *c->p++;
    return TL_OK;
}

static tl_status advance(tl_thrift_cursor *c, size_t bytes)
{
    if (bytes > tl_thrift_left(c))
        return tl_thrift__corrupt(c, "unexpected end");
    c->p += bytes;
    return TL_OK;
}

static tl_status read_field(tl_thrift_cursor *c, tl_thrift_field *field)
{
    uint8_t head;
    TL_TRY(read_byte(c, &head));
    field->type = (tl_thrift_type)(head & 15);
    if (head == 0)
        return TL_OK;
    if (field->type == TL_THRIFT_STOP || field->type > TL_THRIFT_UUID)
        return tl_thrift__corrupt(c, "unknown field type");
    int64_t id = field->id + (head >> 4);
    if (head >> 4 == 0) {
        uint64_t v;
        TL_TRY(read_varint(c, &v));
        id = tl_unzigzag64(v);
    }
    if (id < INT16_MIN || id > INT16_MAX)
        return tl_thrift__corrupt(c, "field id out of range");
    field->id = (int16_t)id;
    return TL_OK;
}

static tl_status list_head(tl_thrift_cursor *c, uint8_t *type, uint64_t *count)
{
    uint8_t head;
    TL_TRY(read_byte(c, &head));
    *type = head & 15;
    *count = head >> 4;
    if (*count == 15)
        TL_TRY(read_varint(c, count));
    return TL_OK;
}

static tl_status skip_value(tl_thrift_cursor *c, tl_thrift_type type, bool in_list, int depth);

static tl_status skip_list(tl_thrift_cursor *c, int depth)
{
    uint8_t type;
    uint64_t count;
    TL_TRY(list_head(c, &type, &count));
    if (count > tl_thrift_left(c))
        return tl_thrift__corrupt(c, "list is longer than the bytes that are left");
    for (uint64_t i = 0; i < count; i++)
        TL_TRY(skip_value(c, (tl_thrift_type)type, true, depth));
    return TL_OK;
}

static tl_status skip_map(tl_thrift_cursor *c, int depth)
{
    uint64_t count;
    TL_TRY(read_varint(c, &count));
    if (count == 0)
        return TL_OK;
    uint8_t types;
    TL_TRY(read_byte(c, &types));
    if (count > tl_thrift_left(c))
        return tl_thrift__corrupt(c, "map is longer than the bytes that are left");
    for (uint64_t i = 0; i < count; i++) {
        TL_TRY(skip_value(c, (tl_thrift_type)(types >> 4), true, depth));
        TL_TRY(skip_value(c, (tl_thrift_type)(types & 15), true, depth));
    }
    return TL_OK;
}

static tl_status skip_struct(tl_thrift_cursor *c, int depth)
{
    tl_thrift_field field = {0};
    for (;;) {
        TL_TRY(read_field(c, &field));
        if (field.type == TL_THRIFT_STOP)
            return TL_OK;
        TL_TRY(skip_value(c, field.type, false, depth));
    }
}

static tl_status skip_value(tl_thrift_cursor *c, tl_thrift_type type, bool in_list, int depth)
{
    uint64_t v;
    if (depth >= SKIP_DEPTH_MAX)
        return tl_thrift__corrupt(c, "nested too deeply");
    switch (type) {
    case TL_THRIFT_TRUE:
    case TL_THRIFT_FALSE:
        return in_list ? advance(c, 1) : TL_OK;
    case TL_THRIFT_BYTE:
        return advance(c, 1);
    case TL_THRIFT_I16:
    case TL_THRIFT_I32:
    case TL_THRIFT_I64:
        return read_varint(c, &v);
    case TL_THRIFT_DOUBLE:
        return advance(c, 8);
    case TL_THRIFT_BINARY:
        TL_TRY(read_varint(c, &v));
        return advance(c, v > SIZE_MAX ? SIZE_MAX : (size_t)v);
    case TL_THRIFT_LIST:
    case TL_THRIFT_SET:
        return skip_list(c, depth + 1);
    case TL_THRIFT_MAP:
        return skip_map(c, depth + 1);
    case TL_THRIFT_STRUCT:
        return skip_struct(c, depth + 1);
    case TL_THRIFT_UUID:
        return advance(c, 16);
    default:
        return tl_thrift__corrupt(c, "unknown type");
    }
}

tl_status tl_thrift__skip(tl_thrift_cursor *c, const tl_thrift_field *field)
{
    return skip_value(c, field->type, false, 0);
}

tl_status tl_thrift__struct(tl_thrift_cursor *c, tl_thrift_on_field on_field, void *out, uint32_t *seen)
{
    tl_thrift_field field = {0};
    uint32_t ids = 0;
    for (;;) {
        TL_TRY(read_field(c, &field));
        if (field.type == TL_THRIFT_STOP)
            break;
        if (field.id >= 0 && field.id < 32)
            ids |= UINT32_C(1) << field.id;
        TL_TRY(on_field(c, &field, out));
    }
    if (seen != NULL)
        *seen = ids;
    return TL_OK;
}

tl_status tl_thrift__sub(tl_thrift_cursor *c, const tl_thrift_field *field, tl_thrift_on_field on_field, void *out,
                         uint32_t *seen)
{
    TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_STRUCT));
    return tl_thrift__struct(c, on_field, out, seen);
}

tl_status tl_thrift__expect(tl_thrift_cursor *c, const tl_thrift_field *field, tl_thrift_type type)
{
    if (field->type == type)
        return TL_OK;
    return tl_error_set(c->err, TL_E_CORRUPT, "%s: field %d has type %d in place of %d at its byte %zu", c->what, field->id,
                        (int)field->type, (int)type, (size_t)(c->p - c->base));
}

tl_status tl_thrift__bool(tl_thrift_cursor *c, const tl_thrift_field *field, bool *out)
{
    if (field->type != TL_THRIFT_FALSE)
        TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_TRUE));
    *out = field->type == TL_THRIFT_TRUE;
    return TL_OK;
}

tl_status tl_thrift__i8(tl_thrift_cursor *c, const tl_thrift_field *field, int8_t *out)
{
    uint8_t v;
    TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_BYTE));
    TL_TRY(read_byte(c, &v));
    *out = (int8_t)v;
    return TL_OK;
}

tl_status tl_thrift__element_i32(tl_thrift_cursor *c, int32_t *out)
{
    int64_t v;
    TL_TRY(tl_thrift__element_i64(c, &v));
    if (v < INT32_MIN || v > INT32_MAX)
        return tl_thrift__corrupt(c, "number out of range");
    *out = (int32_t)v;
    return TL_OK;
}

tl_status tl_thrift__element_i64(tl_thrift_cursor *c, int64_t *out)
{
    uint64_t v;
    TL_TRY(read_varint(c, &v));
    *out = tl_unzigzag64(v);
    return TL_OK;
}

tl_status tl_thrift__element_binary(tl_thrift_cursor *c, tl_bytes_view *out)
{
    uint64_t len;
    TL_TRY(read_varint(c, &len));
    if (len > tl_thrift_left(c))
        return tl_thrift__corrupt(c, "byte string is longer than the bytes that are left");
    *out = (tl_bytes_view){c->p, (size_t)len};
    c->p += len;
    return TL_OK;
}

tl_status tl_thrift__element_bool(tl_thrift_cursor *c, bool *out)
{
    uint8_t v;
    TL_TRY(read_byte(c, &v));
    *out = v == 1; /* 2, or 0 by some writers, is false */
    return TL_OK;
}

tl_status tl_thrift__i32(tl_thrift_cursor *c, const tl_thrift_field *field, int32_t *out)
{
    TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_I32));
    return tl_thrift__element_i32(c, out);
}

tl_status tl_thrift__i64(tl_thrift_cursor *c, const tl_thrift_field *field, int64_t *out)
{
    TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_I64));
    return tl_thrift__element_i64(c, out);
}

tl_status tl_thrift__binary(tl_thrift_cursor *c, const tl_thrift_field *field, tl_bytes_view *out)
{
    TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_BINARY));
    return tl_thrift__element_binary(c, out);
}

tl_status tl_thrift__element_string(tl_thrift_cursor *c, const char **out)
{
    tl_bytes_view text;
    TL_TRY(tl_thrift__element_binary(c, &text));
    if (text.len != 0 && memchr(text.data, 0, text.len) != NULL)
        return tl_thrift__corrupt(c, "text with a NUL character");
    const char *copy = tl_arena_strndup(c->arena, (const char *)text.data, text.len);
    if (copy == NULL)
        return tl_nomem(c->err, c->what);
    *out = copy;
    return TL_OK;
}

tl_status tl_thrift__string(tl_thrift_cursor *c, const tl_thrift_field *field, const char **out)
{
    TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_BINARY));
    return tl_thrift__element_string(c, out);
}

tl_status tl_thrift__list(tl_thrift_cursor *c, const tl_thrift_field *field, tl_thrift_type type, size_t bytes_min,
                          size_t item_bytes, int32_t *count, void *items)
{
    uint8_t element;
    uint64_t n;
    TL_TRY(tl_thrift__expect(c, field, TL_THRIFT_LIST));
    TL_TRY(list_head(c, &element, &n));
    if (n > INT32_MAX || n > tl_thrift_left(c) / bytes_min)
        return tl_thrift__corrupt(c, "list is longer than the bytes that are left");
    bool is_bool = type == TL_THRIFT_TRUE && element == TL_THRIFT_FALSE;
    if (n != 0 && element != (uint8_t)type && !is_bool)
        return tl_thrift__corrupt(c, "list of another type than expected");
    void *fresh = tl_arena_calloc(c->arena, (size_t)n, item_bytes);
    if (fresh == NULL)
        return tl_nomem(c->err, c->what);
    *count = (int32_t)n;
    memcpy(items, &fresh, sizeof fresh);
    return TL_OK;
}
