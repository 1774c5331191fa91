/* Numbers and texts of the wire form: Java's DataOutput. */
#include "table/wire_private.h"

#include "base/bits.h"

tl_status tl_wire__put_i32(tl_buf *out, int32_t v)
{
    uint8_t bytes[4];
    tl_write_be32(bytes, (uint32_t)v);
    return tl_buf_append(out, bytes, sizeof bytes);
}

tl_status tl_wire__put_i64(tl_buf *out, int64_t v)
{
    uint8_t bytes[8];
    tl_write_be64(bytes, (uint64_t)v);
    return tl_buf_append(out, bytes, sizeof bytes);
}

tl_status tl_wire__put_bytes(tl_buf *out, const void *data, size_t len)
{
    TL_TRY(tl_wire__put_i32(out, (int32_t)len));
    return tl_buf_append(out, data, len);
}

/* Java's modified UTF-8: NUL as two bytes, characters beyond the BMP as two surrogates of three bytes. */
tl_status tl_wire__put_utf(tl_buf *out, const char *text, tl_error *err)
{
    size_t at = out->len;
    if (tl_buf_append(out, "\0", 2) != TL_OK)
        return tl_nomem(err, "split");
    for (const uint8_t *p = (const uint8_t *)text; *p != 0;) {
        if (*p < 0xF0 || p[1] == 0 || p[2] == 0 || p[3] == 0) {
            if (tl_buf_append_byte(out, *p++) != TL_OK)
                return tl_nomem(err, "split");
            continue;
        }
        uint32_t cp = ((uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 | (uint32_t)(p[2] & 63) << 6 | (uint32_t)(p[3] & 63)) - 0x10000;
        uint32_t units[2] = {0xD800 + (cp >> 10), 0xDC00 + (cp & 0x3FF)};
        for (int i = 0; i < 2; i++) {
            uint8_t bytes[3] = {(uint8_t)(0xE0 | units[i] >> 12), (uint8_t)(0x80 | (units[i] >> 6 & 63)), (uint8_t)(0x80 | (units[i] & 63))};
            if (tl_buf_append(out, bytes, sizeof bytes) != TL_OK)
                return tl_nomem(err, "split");
        }
        p += 4;
    }
    size_t len = out->len - at - 2;
    if (len > UINT16_MAX)
        return tl_error_set(err, TL_E_LIMIT, "path '%.64s…' is too long to be serialised", text);
    tl_write_be16(out->data + at, (uint16_t)len);
    return TL_OK;
}

tl_status tl_wire__need(tl_wire_input *in, size_t bytes, tl_error *err)
{
    if ((size_t)(in->end - in->p) >= bytes)
        return TL_OK;
    return tl_error_set(err, TL_E_CORRUPT, "%s: %zu bytes wanted at byte %zu, %zu are left", in->what, bytes, (size_t)(in->p - in->start),
                        (size_t)(in->end - in->p));
}

tl_status tl_wire__get_u8(tl_wire_input *in, uint8_t *out, tl_error *err)
{
    TL_TRY(tl_wire__need(in, 1, err));
    *out = *in->p++;
    return TL_OK;
}

tl_status tl_wire__get_i32(tl_wire_input *in, int32_t *out, tl_error *err)
{
    TL_TRY(tl_wire__need(in, 4, err));
    *out = (int32_t)tl_read_be32(in->p);
    in->p += 4;
    return TL_OK;
}

tl_status tl_wire__get_i64(tl_wire_input *in, int64_t *out, tl_error *err)
{
    TL_TRY(tl_wire__need(in, 8, err));
    *out = (int64_t)tl_read_be64(in->p);
    in->p += 8;
    return TL_OK;
}

tl_status tl_wire__get_bytes(tl_wire_input *in, tl_bytes_view *out, tl_error *err)
{
    int32_t len = 0;
    TL_TRY(tl_wire__get_i32(in, &len, err));
    if (len < 0)
        return tl_error_set(err, TL_E_CORRUPT, "%s: length %d at byte %zu", in->what, len, (size_t)(in->p - in->start) - 4);
    TL_TRY(tl_wire__need(in, (size_t)len, err));
    *out = (tl_bytes_view){in->p, (size_t)len};
    in->p += len;
    return TL_OK;
}

/* As put_utf() writes them; surrogate pairs become one character again. */
tl_status tl_wire__get_utf(tl_wire_input *in, char **out, tl_error *err)
{
    TL_TRY(tl_wire__need(in, 2, err));
    size_t len = tl_read_be16(in->p);
    TL_TRY(tl_wire__need(in, 2 + len, err));
    const uint8_t *p = in->p + 2, *end = p + len;
    uint8_t *text = tl_alloc(len + 1);
    size_t n = 0;
    if (text == NULL)
        return tl_nomem(err, in->what);
    while (p < end) {
        bool pair = end - p >= 6 && p[0] == 0xED && (p[1] & 0xF0) == 0xA0 && p[3] == 0xED && (p[4] & 0xF0) == 0xB0;
        if (pair) {
            uint32_t cp = 0x10000 + ((uint32_t)(p[1] & 15) << 16 | (uint32_t)(p[2] & 63) << 10 | (uint32_t)(p[4] & 15) << 6 | (uint32_t)(p[5] & 63));
            text[n++] = (uint8_t)(0xF0 | cp >> 18);
            text[n++] = (uint8_t)(0x80 | (cp >> 12 & 63));
            text[n++] = (uint8_t)(0x80 | (cp >> 6 & 63));
            text[n++] = (uint8_t)(0x80 | (cp & 63));
            p += 6;
        } else {
            text[n++] = *p++;
        }
    }
    text[n] = 0;
    in->p = end;
    if (memchr(text, 0, n) != NULL) {
        tl_free(text);
        return tl_error_set(err, TL_E_CORRUPT, "%s: a text with a NUL at byte %zu", in->what, (size_t)(in->p - in->start));
    }
    *out = (char *)text;
    return TL_OK;
}
