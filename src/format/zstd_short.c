/*
 * Short inputs that zstd's level 1 cannot make smaller, found out without it.
 *
 * Files of small commits are made of pages of some hundred bytes, of which many are bit-packed numbers. zstd takes 16,000 cycles to
 * find out that such a page does not shrink, most of it for a Huffman table that it throws away; this takes about 2,000. The
 * answer is that of zstd: it looks for the same repetitions and estimates the same entropy. Who is in doubt says that it can.
 *
 * Layout of a frame that holds its content as it is (RFC 8878): magic; descriptor (single segment, size of the content size);
 * content size: 1 byte, 2 bytes less 256 from 256 on, 4 bytes from there on; block header (LE 24 bits: last block 1, type raw 0 << 1, size << 3); content.
 */
#include "format/compress_private.h"

#include "base/bits.h"

#define HASH_BITS 9
#define MATCH_BYTES 7 /* ZSTD_c_minMatch as compress_write.c sets it for level 1 */

/* Logarithm to base 2 in 1/256, interpolated (at most 0.09 too low); v > 0. */
static uint32_t log2_256(uint32_t v)
{
    uint32_t whole = 31 - (uint32_t)__builtin_clz(v);
    return whole * 256 + (uint32_t)(((uint64_t)v << 8) >> whole) - 256;
}

/* Whether the fast strategy would find a repetition: 7 bytes that were seen, or 4 that stood 1 or 4 bytes before. */
static bool repeats(const uint8_t *p, size_t n)
{
    uint16_t last[1 << HASH_BITS] = {0}; /* position + 1 */
    for (size_t i = 0; i + 8 <= n; i++) {
        uint64_t word = tl_read_le64(p + i) << 8; /* the first 7 bytes */
        uint16_t *slot = &last[(word * UINT64_C(0x9E3779B185EBCA87)) >> (64 - HASH_BITS)];
        if (*slot != 0 && tl_read_le64(p + *slot - 1) << 8 == word)
            return true;
        *slot = (uint16_t)(i + 1);
        uint32_t now = tl_read_le32(p + i);
        if ((i >= 1 && tl_read_le32(p + i - 1) == now) || (i >= 4 && tl_read_le32(p + i - 4) == now))
            return true;
    }
    return false;
}

/* Whether a Huffman code would save bytes, its table included. */
bool tl_codec__huffman_saves(const uint32_t counts[256], uint32_t n)
{
    uint32_t distinct = 0;
    uint64_t bits = 0; /* in 1/256 */
    uint32_t all = log2_256(n);
    for (size_t s = 0; s < 256; s++) {
        distinct += counts[s] != 0;
        if (counts[s] != 0)
            bits += counts[s] * (uint64_t)(all - log2_256(counts[s]));
    }
    uint64_t coded = bits / (8 * 256) + distinct / 4; /* a weight takes 2 bits or more, see RFC 8878, 4.2.1 */
    return coded + n / 64 + 2 < n;
}

static bool is_skewed(const uint8_t *p, size_t n)
{
    uint32_t counts[256] = {0};
    for (size_t i = 0; i < n; i++)
        counts[p[i]]++;
    return tl_codec__huffman_saves(counts, (uint32_t)n);
}

/* Pieces from all over the input: what comes once a row of some hundred bytes is seen, too. */
static bool pieces_repeat(tl_bytes_view src, size_t piece)
{
    enum { PIECES = 4 };
    if (src.len <= PIECES * piece)
        return repeats(src.data, src.len);
    uint8_t pieces[TL_ZSTD_SHORT_MAX];
    for (size_t i = 0; i < PIECES; i++)
        memcpy(pieces + i * piece, src.data + (src.len - piece) / (PIECES - 1) * i, piece);
    return repeats(pieces, PIECES * piece);
}

bool tl_codec__zstd_hardly_repeats(tl_bytes_view src)
{
    return !pieces_repeat(src, TL_ZSTD_SHORT_MAX / 4);
}

bool tl_codec__zstd_packed_is_futile(tl_bytes_view src)
{
    return !is_skewed(src.data, src.len) && !pieces_repeat(src, 128);
}

bool tl_codec__zstd_is_futile(tl_bytes_view src)
{
    if (src.len < TL_ZSTD_TRIED_MIN)
        return true;
    bool is_short = src.len >= TL_ZSTD_SHORT_MIN && src.len <= TL_ZSTD_SHORT_MAX;
    return is_short && !is_skewed(src.data, src.len) && !repeats(src.data, src.len);
}

uint8_t *tl_codec__zstd_frame_header(uint8_t *p, uint32_t content)
{
    tl_write_le32(p, UINT32_C(0xFD2FB528));
    p += 4;
    if (content < 256) {
        *p++ = 0x20;
        *p++ = (uint8_t)content;
    } else if (content < 256 + 65536) {
        *p++ = 0x60;
        tl_write_le16(p, (uint16_t)(content - 256));
        p += 2;
    } else {
        *p++ = 0xa0;
        tl_write_le32(p, content);
        p += 4;
    }
    return p;
}

size_t tl_codec__zstd_store(tl_bytes_view src, uint8_t *dst)
{
    uint8_t *p = tl_codec__zstd_frame_header(dst, (uint32_t)src.len);
    uint32_t block = 1 | (uint32_t)src.len << 3;
    *p++ = (uint8_t)block;
    *p++ = (uint8_t)(block >> 8);
    *p++ = (uint8_t)(block >> 16);
    memcpy(p, src.data, src.len);
    return (size_t)(p - dst) + src.len;
}
