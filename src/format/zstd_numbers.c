/*
 * Numbers that differ in their low bytes only, written as zstd frames without zstd.
 *
 * In a page of INTs or BIGINTs of small range the high bytes are those of the value before. zstd finds that value by value,
 * looks for a Huffman code of the low bytes, and where these are as good as random ends up with what can be written down at once: all
 * low bytes as literals, and one sequence a value that copies the high bytes from the value before. All sequences are alike, so that
 * each of their three codes is an RLE table and none of them takes a bit.
 *
 * Layout of the frame (RFC 8878, 3.1.1): header; a raw block with what stands before the numbers and the first of them; a block with the
 * second, whose sequence has the width as its offset, one of the offsets {1, 4, 8} that a frame begins with; blocks with the others, whose
 * sequences repeat that offset. A block gives at most 128 KiB.
 *
 * Whether zstd would do better is asked of the values: high bytes that change seldom (sorted values), low bytes that are skewed.
 */
#include "format/compress_private.h"

#include "base/bits.h"

#define VALUES_MIN 16
#define BEFORE_MAX 16             /* bytes before the numbers, which are not compressed: levels of a page without nulls */
#define BLOCK_BYTES (128u << 10)  /* Block_Maximum_Size */
#define MATCH_MIN 3               /* of a sequence */
#define RLE_TABLES 0x54           /* Symbol_Compression_Modes: RLE for literal lengths, offsets and match lengths */

enum { BLOCK_RAW, BLOCK_RLE, BLOCK_COMPRESSED };

static inline uint64_t value_at(const uint8_t *p, size_t i, unsigned width)
{
    return width == 4 ? tl_read_le32(p + 4 * i) : tl_read_le64(p + 8 * i);
}

static inline unsigned bytes_of(uint64_t v)
{
    return v == 0 ? 0 : (71 - (unsigned)__builtin_clzll(v)) / 8;
}

/* Low bytes in which the values differ; 0: zstd does better. */
static unsigned low_bytes(const uint8_t *p, size_t n, unsigned width)
{
    uint64_t first = value_at(p, 0, width), before = first, differing = 0, changed = 0;
    for (size_t i = 1; i < n; i++) {
        uint64_t v = value_at(p, i, width);
        differing |= v ^ first;
        changed += bytes_of(v ^ before);
        before = v;
    }
    unsigned low = bytes_of(differing);
    bool fits = low > 0 && low + MATCH_MIN <= width;
    return fits && changed * 10 >= (uint64_t)low * (n - 1) * 9 ? low : 0;
}

static bool low_bytes_are_skewed(const uint8_t *p, size_t n, unsigned width, unsigned low)
{
    uint32_t counts[256] = {0};
    for (size_t i = 0; i < n; i++) {
        for (unsigned b = 0; b < low; b++)
            counts[p[i * width + b]]++;
    }
    return tl_codec__huffman_saves(counts, (uint32_t)(n * low));
}

static uint8_t *put_block_header(uint8_t *to, unsigned type, size_t bytes, bool last)
{
    uint32_t head = (uint32_t)last | (uint32_t)type << 1 | (uint32_t)bytes << 3;
    to[0] = (uint8_t)head;
    to[1] = (uint8_t)(head >> 8);
    to[2] = (uint8_t)(head >> 16);
    return to + 3;
}

static uint8_t *put_raw_literals_header(uint8_t *to, uint32_t n)
{
    if (n < 32) {
        *to++ = (uint8_t)(n << 3);
    } else if (n < 4096) {
        tl_write_le16(to, (uint16_t)(1u << 2 | n << 4));
        to += 2;
    } else {
        uint32_t head = 3u << 2 | n << 4;
        tl_write_le16(to, (uint16_t)head);
        to[2] = (uint8_t)(head >> 16);
        to += 3;
    }
    return to;
}

static uint8_t *put_sequence_count(uint8_t *to, uint32_t n)
{
    if (n < 128) {
        *to++ = (uint8_t)n;
    } else if (n < 0x7f00) {
        *to++ = (uint8_t)((n >> 8) + 128);
        *to++ = (uint8_t)n;
    } else {
        *to++ = 0xff;
        tl_write_le16(to, (uint16_t)(n - 0x7f00));
        to += 2;
    }
    return to;
}

/* A block of n values; `offset_code` and the only byte of its bit stream say how far back the high bytes are. */
static uint8_t *put_values(uint8_t *to, const uint8_t *p, size_t n, unsigned width, unsigned low, uint8_t offset_code, uint8_t bits, bool last)
{
    uint8_t *start = to;
    to = put_raw_literals_header(to + 3, (uint32_t)(n * low));
    for (size_t i = 0; i < n; i++) {
        for (unsigned b = 0; b < low; b++)
            *to++ = p[i * width + b];
    }
    to = put_sequence_count(to, (uint32_t)n);
    *to++ = RLE_TABLES;
    *to++ = (uint8_t)low; /* literal lengths up to 15 are their own code */
    *to++ = offset_code;
    *to++ = (uint8_t)(width - low - MATCH_MIN);
    *to++ = bits;
    (void)put_block_header(start, BLOCK_COMPRESSED, (size_t)(to - start) - 3, last);
    return to;
}

size_t tl_codec__zstd_numbers(tl_bytes_view src, size_t from, int32_t width, uint8_t *dst)
{
    if ((width != 4 && width != 8) || from > BEFORE_MAX || from > src.len || (src.len - from) % (size_t)width != 0 || src.len > UINT32_MAX)
        return 0;
    const uint8_t *p = src.data + from;
    unsigned w = (unsigned)width;
    size_t n = (src.len - from) / w;
    unsigned low = n < VALUES_MIN ? 0 : low_bytes(p, n, w);
    if (low == 0 || low_bytes_are_skewed(p, n, w, low))
        return 0;
    uint8_t *to = tl_codec__zstd_frame_header(dst, (uint32_t)src.len);
    to = put_block_header(to, BLOCK_RAW, from + w, false);
    memcpy(to, src.data, from + w);
    to += from + w;
    /* Of the offsets {1, 4, 8} the second is Offset_Value 2, the third 3: code 1 and one bit, which stands below the stream's end mark. */
    to = put_values(to, p + w, 1, w, low, 1, (uint8_t)(2 | (w == 8)), false);
    for (size_t i = 2, more; i < n; i += more) {
        more = TL_MIN(n - i, BLOCK_BYTES / w);
        to = put_values(to, p + i * w, more, w, low, 0, 1, i + more == n); /* the offset used last, no bits */
    }
    return (size_t)(to - dst);
}
