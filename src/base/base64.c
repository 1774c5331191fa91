/* See base64.h. */
#include "base/base64.h"

static int value_of(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 : c == '+' ? 62 : c == '/' ? 63 : -1;
}

tl_status tl_base64_decode(tl_buf *buf, tl_bytes_view digits)
{
    size_t start = buf->len, n = digits.len;
    while (n > 0 && digits.len - n < 2 && digits.data[n - 1] == '=')
        n--;
    if (n % 4 == 1 || (n < digits.len && digits.len % 4 != 0))
        return TL_E_INVALID;
    uint32_t bits = 0;
    int held = 0;
    for (size_t p = 0; p < n; p++) {
        int v = value_of(digits.data[p]);
        if (v < 0) {
            buf->len = start;
            return TL_E_INVALID;
        }
        bits = bits << 6 | (uint32_t)v;
        held += 6;
        if (held >= 8) {
            held -= 8;
            TL_TRY(tl_buf_append_byte(buf, (uint8_t)(bits >> held)));
        }
    }
    return TL_OK;
}
