/* Texts in columns of a terminal: how wide they are, padding and cutting them, values in a form for eyes. */
#include "api/printer_private.h"

/* One code point of UTF-8; bytes that are none count as one column each. */
static uint32_t decode(const char **p)
{
    const uint8_t *s = (const uint8_t *)*p;
    int more = s[0] < 0x80 ? 0 : (s[0] & 0xe0) == 0xc0 ? 1 : (s[0] & 0xf0) == 0xe0 ? 2 : (s[0] & 0xf8) == 0xf0 ? 3 : 0;
    uint32_t cp = more == 0 ? s[0] : s[0] & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *p += 1;
            return '?';
        }
        cp = cp << 6 | (s[i] & 0x3f);
    }
    *p += more + 1;
    return cp;
}

/* Own ranges rather than wcwidth(): the library must not depend on the program's locale. */
static int width_of_code_point(uint32_t cp)
{
    if (cp < 0x300)
        return 1;
    if (cp < 0x370 || (cp >= 0x200b && cp <= 0x200f) || (cp >= 0xfe00 && cp <= 0xfe0f))
        return 0; /* combining marks, joiners, variation selectors */
    bool wide = (cp >= 0x1100 && cp <= 0x115f) || (cp >= 0x2e80 && cp <= 0xa4cf) || (cp >= 0xac00 && cp <= 0xd7a3) ||
                (cp >= 0xf900 && cp <= 0xfaff) || (cp >= 0xfe30 && cp <= 0xfe6f) || (cp >= 0xff00 && cp <= 0xff60) ||
                (cp >= 0x1f300 && cp <= 0x1faff) || (cp >= 0x20000 && cp <= 0x3fffd);
    return wide ? 2 : 1;
}

int tl_printer__width(const char *text)
{
    int width = 0;
    while (*text != '\0')
        width += width_of_code_point(decode(&text));
    return width;
}

static tl_status append_spaces(tl_buf *out, int n)
{
    for (int i = 0; i < n; i++)
        TL_TRY(tl_buf_append_byte(out, ' '));
    return TL_OK;
}

tl_status tl_printer__append_cell(tl_buf *out, const char *text, int width, bool right, bool cut)
{
    int full = tl_printer__width(text);
    if (right)
        TL_TRY(append_spaces(out, width - full));
    int used = 0;
    while (*text != '\0') {
        const char *from = text;
        uint32_t cp = decode(&text);
        int w = width_of_code_point(cp);
        if (cut && full > width && used + w > width - 1) {
            TL_TRY(tl_buf_append_str(out, "…"));
            used++;
            break;
        }
        /* Line ends and escape sequences must not act on the terminal. */
        if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
            TL_TRY(tl_buf_append_byte(out, ' '));
        else
            TL_TRY(tl_buf_append(out, from, (size_t)(text - from)));
        used += w;
    }
    return right ? TL_OK : append_spaces(out, width - used);
}

/* "2024-02-29T12:34:56.789000000Z" as "2024-02-29 12:34:56.789Z": digits as the type has them. */
static void shorten_timestamp(tl_buf *text, int32_t precision)
{
    bool zone = text->len > 0 && text->data[text->len - 1] == 'Z';
    size_t end = text->len - zone;
    uint8_t *dot = memrchr(text->data, '.', end);
    if (dot == NULL || end - (size_t)(dot - text->data) != 10)
        return;
    size_t kept = (size_t)(dot - text->data) + (precision > 0 ? 1 + (size_t)TL_MIN(precision, 9) : 0);
    if (zone)
        text->data[kept] = 'Z';
    text->len = kept + zone;
    uint8_t *t = memchr(text->data, 'T', text->len);
    if (t != NULL)
        *t = ' ';
}

tl_status tl_printer__cell_text(const tl_column *col, int64_t i, tl_buf *out)
{
    out->len = 0;
    TL_TRY(tl_text_append_plain(out, col, i));
    if (col->type->kind == TL_TIMESTAMP || col->type->kind == TL_TIMESTAMP_LTZ)
        shorten_timestamp(out, col->type->precision);
    return TL_OK;
}
