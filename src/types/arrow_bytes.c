/*
 * Offsets, strings and binary out of Arrow arrays.
 */
#include "types/arrow_private.h"
#include "types/types_private.h"
#include "base/utf8.h"

/* ---- offsets ---- */

int64_t tl_arrow__offset_at(const tl_arrow_source *s, int64_t i)
{
    const uint8_t *offsets = s->array->n_buffers > 1 ? tl_arrow__buffer(s, 1) : NULL;
    switch (s->format.kind) {
    case TL_ARROW_BYTES:
    case TL_ARROW_LIST:
    case TL_ARROW_MAP:
        return (int32_t)tl_read_le32(offsets + (s->from + i) * 4);
    case TL_ARROW_LARGE_BYTES:
    case TL_ARROW_LARGE_LIST:
        return (int64_t)tl_read_le64(offsets + (s->from + i) * 8);
    default:
        return (s->from + i) * s->format.bytes;
    }
}

/* Whether 32-bit offsets are neither negative nor falling: without branches, so that a compiler does several at a time. */
static bool offsets_rise(const uint8_t *offsets, int64_t n)
{
    uint32_t signs = tl_read_le32(offsets);
    for (int64_t i = 0; i < n; i++) {
        uint32_t before = tl_read_le32(offsets + i * 4), after = tl_read_le32(offsets + i * 4 + 4);
        signs |= after | (after - before);
    }
    return signs >> 31 == 0;
}

/* The usual strings and lists, without nulls: the check by row below says what is wrong if this fails. */
static bool check_fast(const tl_arrow_source *s, const tl_column *col)
{
    bool narrow = s->format.kind == TL_ARROW_BYTES || s->format.kind == TL_ARROW_LIST || s->format.kind == TL_ARROW_MAP;
    return narrow && col->null_count == 0 && offsets_rise((const uint8_t *)tl_arrow__buffer(s, 1) + s->from * 4, s->length);
}

tl_status tl_arrow__check_offsets(const tl_arrow_source *s, const tl_column *col, tl_arrow_extent *out, tl_error *err)
{
    *out = (tl_arrow_extent){0};
    if (s->length == 0)
        return TL_OK;
    bool computed = s->format.kind == TL_ARROW_FIXED_LIST || s->format.kind == TL_ARROW_FIXED_BYTES;
    int64_t limit;
    if (computed && __builtin_mul_overflow(s->from + s->length, (int64_t)s->format.bytes, &limit))
        return tl_arrow__broken("fixed size times length is beyond 64 bits", err);
    if (!computed)
        TL_TRY(tl_arrow__need_buffer(s, 1, err));
    int64_t before = tl_arrow__offset_at(s, 0);
    out->start = before;
    if (before < 0)
        return tl_arrow__broken("negative offset", err);
    if (check_fast(s, col)) {
        out->items = tl_arrow__offset_at(s, s->length) - before; /* fits, as the offsets do */
        return TL_OK;
    }
    for (int64_t i = 0; i < s->length; i++) {
        int64_t after = tl_arrow__offset_at(s, i + 1);
        if (after < before)
            return tl_arrow__broken("offsets decrease", err);
        out->filled_nulls |= after > before && tl_col_is_null(col, i);
        before = after;
    }
    out->items = before - out->start;
    return out->items > INT32_MAX ? tl_column__too_large(col->type, err) : TL_OK;
}

tl_status tl_arrow__make_offsets(const tl_arrow_source *s, tl_column *col, bool skip_nulls, tl_error *err)
{
    int32_t *offsets = tl_arrow__own_buffer(col, TL_ARROW_OWN_OFFSETS, ((size_t)s->length + 1) * sizeof *offsets);
    if (offsets == NULL)
        return tl_nomem(err, "column");
    col->offsets = offsets;
    offsets[0] = 0;
    int64_t at = 0, before = s->length == 0 ? 0 : tl_arrow__offset_at(s, 0);
    for (int64_t i = 0; i < s->length; i++) {
        int64_t after = tl_arrow__offset_at(s, i + 1);
        if (!skip_nulls || !tl_col_is_null(col, i))
            at += after - before;
        before = after;
        offsets[i + 1] = (int32_t)at;
    }
    return TL_OK;
}

/* ---- strings and binary ---- */

static tl_status check_text(const tl_column *col, tl_error *err)
{
    if (col->type->kind != TL_CHAR && col->type->kind != TL_VARCHAR)
        return TL_OK;
    int32_t from = col->offsets[0], end = col->offsets[col->length];
    if (tl_utf8_is_ascii((tl_bytes_view){col->data + from, (size_t)(end - from)}))
        return TL_OK;
    for (int64_t i = 0; i < col->length; i++)
        if (!tl_utf8_valid(tl_col_bytes(col, i)))
            return tl_error_set(err, TL_E_INVALID, "row %lld: a string is not valid UTF-8", (long long)i);
    return TL_OK;
}

static tl_status copy_content(const tl_arrow_source *s, const uint8_t *data, tl_column *col, tl_error *err)
{
    TL_TRY(tl_arrow__make_offsets(s, col, true, err));
    uint8_t *to = tl_arrow__own_buffer(col, TL_ARROW_OWN_DATA, (size_t)col->offsets[col->length]);
    if (to == NULL)
        return tl_nomem(err, "column");
    col->data = to;
    for (int64_t i = 0; i < s->length; i++) {
        size_t bytes = (size_t)(col->offsets[i + 1] - col->offsets[i]);
        if (bytes > 0)
            memcpy(to + col->offsets[i], data + tl_arrow__offset_at(s, i), bytes);
    }
    return TL_OK;
}

tl_status tl_arrow__import_bytes(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    static uint8_t nothing[1];
    tl_arrow_extent e;
    TL_TRY(tl_arrow__check_offsets(s, col, &e, err));
    const uint8_t *data = tl_arrow__buffer(s, s->format.kind == TL_ARROW_FIXED_BYTES ? 1 : 2);
    if (e.items > 0 && data == NULL)
        return tl_arrow__broken("a buffer is missing", err);
    if (e.filled_nulls) {
        TL_TRY(copy_content(s, data, col, err));
        return check_text(col, err);
    }
    const uint8_t *offsets = s->format.kind == TL_ARROW_BYTES && s->length > 0 ? tl_arrow__buffer(s, 1) : NULL;
    if (offsets != NULL && (uintptr_t)offsets % sizeof(int32_t) == 0) {
        col->offsets = (int32_t *)(uintptr_t)(const void *)offsets + s->from;
        col->data = data == NULL ? nothing : (uint8_t *)(uintptr_t)data;
    } else {
        TL_TRY(tl_arrow__make_offsets(s, col, false, err));
        col->data = e.items == 0 ? nothing : (uint8_t *)(uintptr_t)(data + e.start);
    }
    return check_text(col, err);
}

/*
 * A view is 16 bytes: length, then the text itself (up to 12 bytes), or 4 bytes of it, the number of a data buffer, an offset.
 * Buffers: validity, views, data buffers, and last the sizes of the data buffers as int64.
 */
static tl_status view_bytes(const tl_arrow_source *s, int64_t i, tl_bytes_view *out, tl_error *err)
{
    const uint8_t *view = (const uint8_t *)tl_arrow__buffer(s, 1) + (s->from + i) * 16;
    int64_t n_data = s->array->n_buffers - 3;
    int32_t length = (int32_t)tl_read_le32(view);
    if (length < 0)
        return tl_arrow__broken("view with a negative length", err);
    if (length <= 12) {
        *out = (tl_bytes_view){view + 4, (size_t)length};
        return TL_OK;
    }
    int32_t index = (int32_t)tl_read_le32(view + 8), offset = (int32_t)tl_read_le32(view + 12);
    const uint8_t *sizes = tl_arrow__buffer(s, (int)(n_data + 2));
    if (index < 0 || index >= n_data || sizes == NULL || tl_arrow__buffer(s, 2 + index) == NULL)
        return tl_arrow__broken("view into a data buffer that is not there", err);
    int64_t size = (int64_t)tl_read_le64(sizes + index * 8);
    if (offset < 0 || offset > size || length > size - offset)
        return tl_arrow__broken("view beyond its data buffer", err);
    *out = (tl_bytes_view){(const uint8_t *)tl_arrow__buffer(s, 2 + index) + offset, (size_t)length};
    return TL_OK;
}

tl_status tl_arrow__import_views(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    TL_TRY(tl_arrow__need_buffer(s, 1, err));
    int32_t *offsets = tl_arrow__own_buffer(col, TL_ARROW_OWN_OFFSETS, ((size_t)s->length + 1) * sizeof *offsets);
    if (offsets == NULL)
        return tl_nomem(err, "column");
    int64_t total = 0;
    offsets[0] = 0;
    tl_bytes_view text;
    for (int64_t i = 0; i < s->length; i++) {
        if (!tl_col_is_null(col, i)) {
            TL_TRY(view_bytes(s, i, &text, err));
            total += (int64_t)text.len;
        }
        if (total > INT32_MAX)
            return tl_column__too_large(col->type, err);
        offsets[i + 1] = (int32_t)total;
    }
    uint8_t *data = tl_arrow__own_buffer(col, TL_ARROW_OWN_DATA, (size_t)total);
    if (data == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < s->length; i++) {
        if (offsets[i + 1] == offsets[i])
            continue;
        TL_TRY(view_bytes(s, i, &text, err));
        memcpy(data + offsets[i], text.data, text.len);
    }
    col->offsets = offsets;
    col->data = data;
    return check_text(col, err);
}
