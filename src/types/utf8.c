/*
 * UTF-8 checks. Most text is ASCII, so eight bytes at a time are looked at first.
 */
#include "types/utf8.h"

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

static bool continues(uint8_t c)
{
    return (c & 0xc0) == 0x80;
}

/* Bytes of the well-formed sequence at `p`, 0 if there is none. */
static size_t sequence(const uint8_t *p, size_t len)
{
    uint8_t c = p[0];
    if (c < 0x80)
        return 1;
    if (c >= 0xc2 && c <= 0xdf)
        return len >= 2 && continues(p[1]) ? 2 : 0;
    if (c >= 0xe0 && c <= 0xef) {
        if (len < 3 || !continues(p[1]) || !continues(p[2]))
            return 0;
        bool overlong = c == 0xe0 && p[1] < 0xa0, surrogate = c == 0xed && p[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (c >= 0xf0 && c <= 0xf4) {
        if (len < 4 || !continues(p[1]) || !continues(p[2]) || !continues(p[3]))
            return 0;
        bool overlong = c == 0xf0 && p[1] < 0x90, beyond = c == 0xf4 && p[1] >= 0x90;
        return overlong || beyond ? 0 : 4;
    }
    return 0;
}

bool tl_utf8_valid(tl_bytes_view text)
{
    size_t i = 0;
    while (i < text.len) {
        i += ascii_run(text.data + i, text.len - i);
        if (i == text.len)
            return true;
        size_t n = sequence(text.data + i, text.len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

int64_t tl_utf8_length(tl_bytes_view text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += (text.data[i] & 0xc0) != 0x80;
    return n;
}
