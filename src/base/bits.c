#include "base/bits.h"

#include <libdeflate.h>
#include <xxhash.h>

size_t tl_varint_decode(const uint8_t *p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < 10 && p + i < end; i++) {
        v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if ((p[i] & 0x80) == 0) {
            *out = v;
            return i + 1;
        }
    }
    return 0;
}

size_t tl_varint_encode(uint64_t v, uint8_t *out)
{
    size_t n = 0;
    while (v >= 0x80) {
        out[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

void tl_bitmap_fill(uint8_t *bits, int64_t from, int64_t count, bool v)
{
    int64_t end = from + count;
    while (from < end && (from & 7) != 0)
        tl_bit_put(bits, from++, v);
    if (end - from >= 8) {
        memset(bits + from / 8, v ? 0xff : 0, (size_t)((end - from) / 8));
        from += (end - from) / 8 * 8;
    }
    while (from < end)
        tl_bit_put(bits, from++, v);
}

void tl_bitmap_copy(uint8_t *dst, int64_t dst_from, const uint8_t *src, int64_t src_from, int64_t count)
{
    if ((dst_from & 7) == 0 && (src_from & 7) == 0) {
        memcpy(dst + dst_from / 8, src + src_from / 8, (size_t)(count / 8));
        for (int64_t i = count / 8 * 8; i < count; i++)
            tl_bit_put(dst, dst_from + i, tl_bit_get(src, src_from + i));
        return;
    }
    int64_t i = 0;
    for (; i < count && (dst_from + i) % 8 != 0; i++)
        tl_bit_put(dst, dst_from + i, tl_bit_get(src, src_from + i));
    /* Whole bytes of dst; none is read behind the one that holds the last bit. */
    const int shift = (src_from + i) & 7;
    const uint8_t *from = src + (src_from + i) / 8;
    uint8_t *to = dst + (dst_from + i) / 8;
    for (; count - i >= 72; i += 64, from += 8, to += 8)
        tl_write_le64(to, tl_read_le64(from) >> shift | (uint64_t)from[8] << 1 << (63 - shift));
    for (; count - i >= 16; i += 8, from++)
        *to++ = (uint8_t)((from[0] | from[1] << 8) >> shift);
    for (; i < count; i++)
        tl_bit_put(dst, dst_from + i, tl_bit_get(src, src_from + i));
}

int64_t tl_bitmap_count(const uint8_t *bits, int64_t from, int64_t count)
{
    int64_t ones = 0;
    int64_t end = from + count;
    while (from < end && (from & 7) != 0)
        ones += tl_bit_get(bits, from++);
    for (; end - from >= 64; from += 64)
        ones += __builtin_popcountll(tl_read_le64(bits + from / 8));
    while (from < end)
        ones += tl_bit_get(bits, from++);
    return ones;
}

uint32_t tl_crc32(uint32_t crc, const void *data, size_t bytes)
{
    return libdeflate_crc32(crc, data, bytes);
}

uint64_t tl_xxh64(const void *data, size_t bytes, uint64_t seed)
{
    return XXH64(data, bytes, seed);
}

uint64_t tl_xxh3(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

static inline uint32_t rotl32(uint32_t v, int r)
{
    return (v << r) | (v >> (32 - r));
}

uint32_t tl_murmur32_words(const void *data, size_t bytes, uint32_t seed)
{
    const uint8_t *p = data;
    uint32_t h = seed;
    for (size_t i = 0; i < bytes; i += 4) {
        uint32_t k = tl_read_le32(p + i) * 0xcc9e2d51u;
        h ^= rotl32(k, 15) * 0x1b873593u;
        h = rotl32(h, 13) * 5 + 0xe6546b64u;
    }
    h ^= (uint32_t)bytes;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    return h;
}
