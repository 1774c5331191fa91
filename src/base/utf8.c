/*
 * UTF-8 checks. Most text is ASCII, so eight bytes at a time are looked at first.
 */
#include "base/utf8.h"

#include "base/bits.h"

/* Bytes of the ASCII run at the start, in steps of eight. */
static size_t ascii_run(const uint8_t *p, size_t len)
{
    size_t i = 0;
    while (i + 8 <= len && (tl_read_le64(p + i) & UINT64_C(0x8080808080808080)) == 0)
        i += 8;
    return i;
}

bool tl_utf8_is_ascii(tl_bytes_view text)
{
    size_t i = ascii_run(text.data, text.len);
    while (i < text.len && text.data[i] < 0x80)
        i++;
    return i == text.len;
}

/* Bytes of the well-formed sequence at `p`; if there is none, minus the bytes that Java's decoder takes for one malformed character. */
static int sequence(const uint8_t *p, size_t left)
{
    uint8_t c = p[0];
    int want = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    for (int n = 1; n < want; n++) {
        uint8_t low = 0x80, high = 0xbf; /* of the second byte: no overlong forms, nothing above U+10FFFF */
        if (n == 1 && (c == 0xe0 || c == 0xf0))
            low = c == 0xe0 ? 0xa0 : 0x90;
        if (n == 1 && c == 0xf4)
            high = 0x8f;
        if ((size_t)n >= left || p[n] < low || p[n] > high)
            return -n;
    }
    bool surrogate = c == 0xed && p[1] >= 0xa0;
    return want == 0 ? -1 : surrogate ? -3 : want;
}

/* Bytes of the well-formed text at the start. */
static size_t valid_run(tl_bytes_view text)
{
    size_t i = 0;
    while (i < text.len) {
        i += ascii_run(text.data + i, text.len - i);
        int n = i == text.len ? 0 : sequence(text.data + i, text.len - i);
        if (n <= 0)
            break;
        i += (size_t)n;
    }
    return i;
}

bool tl_utf8_valid(tl_bytes_view text)
{
    return valid_run(text) == text.len;
}

tl_status tl_utf8_append(tl_buf *buf, tl_bytes_view bytes)
{
    for (;;) {
        size_t good = valid_run(bytes);
        TL_TRY(tl_buf_append(buf, bytes.data, good));
        if (good == bytes.len)
            return TL_OK;
        TL_TRY(tl_buf_append(buf, "\xef\xbf\xbd", 3));
        good += (size_t)-sequence(bytes.data + good, bytes.len - good);
        bytes = (tl_bytes_view){bytes.data + good, bytes.len - good};
    }
}

int64_t tl_utf8_length(tl_bytes_view text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += (text.data[i] & 0xc0) != 0x80;
    return n;
}
