/* UTF-8 and UTF-16 helpers of the text functions. */
#include "sql/text_util.h"

int64_t tl_text__length(tl_bytes_view v)
{
    int64_t n = 0;
    for (size_t i = 0; i < v.len; i++)
        n += tl_text__is_start(v.data[i]);
    return n;
}

size_t tl_text__offset(tl_bytes_view v, int64_t n)
{
    size_t i = 0;
    for (; i < v.len; i++)
        if (tl_text__is_start(v.data[i]) && n-- == 0)
            break;
    return i;
}

size_t tl_text__char_bytes(const uint8_t *p, const uint8_t *end)
{
    size_t n = *p < 0xC0 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : 4;
    return TL_MIN(n, (size_t)(end - p));
}

uint32_t tl_text__char(const uint8_t *p, const uint8_t *end)
{
    size_t n = tl_text__char_bytes(p, end);
    switch (n) {
    case 2:
        return (uint32_t)(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
    case 3:
        return (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    case 4:
        return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
    default:
        return *p;
    }
}

tl_status tl_text__append_char(tl_buf *buf, uint32_t c)
{
    uint8_t out[4];
    size_t n = 0;
    if (c < 0x80) {
        out[n++] = (uint8_t)c;
    } else if (c < 0x800) {
        out[n++] = (uint8_t)(0xC0 | c >> 6);
        out[n++] = (uint8_t)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out[n++] = (uint8_t)(0xE0 | c >> 12);
        out[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[n++] = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        out[n++] = (uint8_t)(0xF0 | (c >> 18 & 0x07));
        out[n++] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        out[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[n++] = (uint8_t)(0x80 | (c & 0x3F));
    }
    return tl_buf_append(buf, out, n);
}

size_t tl_text__find(tl_bytes_view text, tl_bytes_view needle, size_t from)
{
    if (from > text.len || needle.len > text.len - from)
        return SIZE_MAX;
    if (needle.len == 0)
        return from;
    const uint8_t *found = memmem(text.data + from, text.len - from, needle.data, needle.len);
    return found == NULL ? SIZE_MAX : (size_t)(found - text.data);
}

tl_status tl_text__to_utf16(tl_bytes_view v, uint16_t **out, size_t *n)
{
    *out = tl_alloc((v.len + 1) * sizeof **out); /* never more units than bytes */
    *n = 0;
    if (*out == NULL)
        return TL_E_NOMEM;
    const uint8_t *p = v.data, *end = v.data + v.len;
    while (p < end) {
        uint32_t c = tl_text__char(p, end);
        p += tl_text__char_bytes(p, end);
        if (c >= 0x10000) {
            (*out)[(*n)++] = (uint16_t)(0xD800 + ((c - 0x10000) >> 10));
            (*out)[(*n)++] = (uint16_t)(0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
            (*out)[(*n)++] = (uint16_t)c;
        }
    }
    return TL_OK;
}

tl_status tl_text__append_utf16(tl_buf *buf, const uint16_t *units, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t c = units[i];
        bool high = c >= 0xD800 && c < 0xDC00, low = c >= 0xDC00 && c < 0xE000;
        if (high && i + 1 < n && units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000)
            c = 0x10000 + ((c - 0xD800) << 10) + (units[++i] - 0xDC00u);
        else if (high || low)
            c = '?';
        TL_TRY(tl_text__append_char(buf, c));
    }
    return TL_OK;
}
