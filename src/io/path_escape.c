/* Names of partition folders, `key=value`: which characters are written as %XX. Java: PartitionPathUtils, of Flink and of Paimon. */
#include "io/io.h"

static bool must_escape(uint8_t c)
{
    return c < 0x20 || c == 0x7f || (c != 0 && strchr("\"#%'*/:=?\\{}[]^", c) != NULL);
}

tl_status tl_path_escape(tl_bytes_view text, tl_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (must_escape(text.data[i]))
            TL_TRY(tl_buf_appendf(out, "%%%02X", text.data[i]));
        else
            TL_TRY(tl_buf_append_byte(out, text.data[i]));
    }
    return TL_OK;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

tl_status tl_path_unescape(tl_bytes_view text, tl_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        int hi = -1, lo = -1;
        if (text.data[i] == '%' && text.len - i > 2) {
            hi = hex_digit(text.data[i + 1]);
            lo = hex_digit(text.data[i + 2]);
        }
        if (hi < 0 || lo < 0) { /* a malformed escape stays as it is */
            TL_TRY(tl_buf_append_byte(out, text.data[i]));
            continue;
        }
        int c = hi * 16 + lo;
        if (c < 0x80) {
            TL_TRY(tl_buf_append_byte(out, (uint8_t)c));
        } else { /* one UTF-16 unit */
            TL_TRY(tl_buf_append_byte(out, (uint8_t)(0xc0 | c >> 6)));
            TL_TRY(tl_buf_append_byte(out, (uint8_t)(0x80 | (c & 0x3f))));
        }
        i += 2;
    }
    return TL_OK;
}
