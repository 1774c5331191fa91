/*
 * Bloom filters of row groups (BLOOM_FILTER_UTF8): hashes of values, and the bits that they set. A value is hashed as a number of 64
 * bits (integers, days, milliseconds, the bits of a double) or as bytes (texts as they lie in the file, decimals as text without
 * the zeros at their end). Source: ORC specification, "Bloom Filter Index"; org.apache.orc.util.BloomFilter, Murmur3.
 */
#include "format/orc/orc_private.h"
#include "base/bits.h"

static uint64_t rotate(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static uint64_t scramble(uint64_t k)
{
    return rotate(k * UINT64_C(0x87c37b91114253d5), 31) * UINT64_C(0x4cf5ad432745937f);
}

/* One half of Murmur3's 128 bits, with the seed of ORC's writers. */
uint64_t tl_orc__hash_bytes(tl_bytes_view v)
{
    uint64_t hash = 104729, tail = 0;
    size_t at = 0;
    for (; at + 8 <= v.len; at += 8)
        hash = rotate(hash ^ scramble(tl_read_le64(v.data + at)), 27) * 5 + 0x52dce729;
    for (size_t i = v.len; i > at; i--)
        tail = tail << 8 | v.data[i - 1];
    hash ^= scramble(tail) ^ v.len;
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return hash ^ hash >> 33;
}

/* A shift of a signed number, as Java has it. */
static uint64_t folded(uint64_t k, int by)
{
    uint64_t sign = k >> 63 == 0 ? 0 : ~(UINT64_MAX >> by);
    return k ^ (k >> by | sign);
}

/* Thomas Wang's hash of integers. */
uint64_t tl_orc__hash_number(int64_t v)
{
    uint64_t k = (uint64_t)v;
    k = folded(~k + (k << 21), 24);
    k = folded(k + (k << 3) + (k << 8), 14);
    k = folded(k + (k << 2) + (k << 4), 28);
    return k + (k << 31);
}

uint64_t tl_orc__hash_double(double v)
{
    int64_t bits = INT64_C(0x7ff8000000000000); /* the one NaN of Java */
    if (v == v)
        memcpy(&bits, &v, sizeof bits);
    return tl_orc__hash_number(bits);
}

size_t tl_orc__decimal_text(tl_i128 v, int32_t scale, bool is_short, char *text)
{
    char digits[TL_ORC_DECIMAL_TEXT_MAX];
    int n = 0, at = 0;
    unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    for (; is_short && scale > 0 && u % 10 == 0; scale--)
        u /= 10;
    do
        digits[n++] = (char)('0' + (int)(u % 10));
    while ((u /= 10) != 0);
    while (n <= scale)
        digits[n++] = '0';
    if (v < 0)
        text[at++] = '-';
    while (n > 0) {
        text[at++] = digits[--n];
        if (n == scale && n > 0)
            text[at++] = '.';
    }
    return (size_t)at;
}

uint64_t tl_orc__hash_decimal(tl_i128 v, int32_t scale)
{
    char text[TL_ORC_DECIMAL_TEXT_MAX];
    return tl_orc__hash_bytes((tl_bytes_view){(const uint8_t *)text, tl_orc__decimal_text(v, scale, /* is_short= */ true, text)});
}

uint64_t tl_orc__bloom_bit(uint64_t hash, uint32_t i, uint64_t n_bits)
{
    uint32_t at = (uint32_t)hash + i * (uint32_t)(hash >> 32);
    return (at >> 31 == 0 ? at : ~at) % n_bits;
}
