/*
 * Bits and bytes: endian-explicit loads and stores, LEB128/zigzag varints, validity bitmaps (Arrow: LSB first, 1 = valid),
 * checksums and hashes.
 */
#ifndef TL_BASE_BITS_H
#define TL_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "Tidelake needs a little-endian machine"
#endif

#define TL_DEFINE_LOAD_STORE(BITS)                                                                                               \
    static inline uint##BITS##_t tl_read_le##BITS(const void *p)                                                                 \
    {                                                                                                                            \
        uint##BITS##_t v;                                                                                                        \
        memcpy(&v, p, sizeof v);                                                                                                 \
        return v;                                                                                                                \
    }                                                                                                                            \
    static inline void tl_write_le##BITS(void *p, uint##BITS##_t v)                                                              \
    {                                                                                                                            \
        memcpy(p, &v, sizeof v);                                                                                                 \
    }                                                                                                                            \
    static inline uint##BITS##_t tl_read_be##BITS(const void *p)                                                                 \
    {                                                                                                                            \
        return __builtin_bswap##BITS(tl_read_le##BITS(p));                                                                       \
    }                                                                                                                            \
    static inline void tl_write_be##BITS(void *p, uint##BITS##_t v)                                                              \
    {                                                                                                                            \
        tl_write_le##BITS(p, __builtin_bswap##BITS(v));                                                                          \
    }
TL_DEFINE_LOAD_STORE(16)
TL_DEFINE_LOAD_STORE(32)
TL_DEFINE_LOAD_STORE(64)

static inline uint64_t tl_zigzag64(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}
static inline int64_t tl_unzigzag64(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
/** Decode a LEB128 varint of at most 10 bytes; returns the bytes used, 0 if truncated or too long. */
size_t tl_varint_decode(const uint8_t *p, const uint8_t *end, uint64_t *out);
/** Bytes of the varint whose first eight bytes these are, found without a branch on its length; 0: it is longer. */
static inline unsigned tl_varint_head_bytes(uint64_t head)
{
    uint64_t ends = ~head & UINT64_C(0x8080808080808080);
    return ends == 0 ? 0 : (unsigned)(__builtin_ctzll(ends) >> 3) + 1;
}
/** The number of such a varint of `n` bytes (1 to 8): of each byte seven bits, put together. */
static inline uint64_t tl_varint_head_value(uint64_t head, unsigned n)
{
    uint64_t v = head & (~(uint64_t)0 >> (64 - 8 * n)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
}
/** Encode into `out` (at least 10 bytes); returns the bytes written. */
size_t tl_varint_encode(uint64_t v, uint8_t *out);

static inline size_t tl_bitmap_bytes(int64_t bits)
{
    return (size_t)((bits + 7) / 8);
}
static inline bool tl_bit_get(const uint8_t *bits, int64_t i)
{
    return (bits[i >> 3] >> (i & 7)) & 1;
}
static inline void tl_bit_set(uint8_t *bits, int64_t i)
{
    bits[i >> 3] |= (uint8_t)(1u << (i & 7));
}
static inline void tl_bit_clear(uint8_t *bits, int64_t i)
{
    bits[i >> 3] &= (uint8_t)~(1u << (i & 7));
}
static inline void tl_bit_put(uint8_t *bits, int64_t i, bool v)
{
    bits[i >> 3] = (uint8_t)((bits[i >> 3] & ~(1u << (i & 7))) | ((unsigned)v << (i & 7)));
}
/** Set bits [from, from+count) to `v`. */
void tl_bitmap_fill(uint8_t *bits, int64_t from, int64_t count, bool v);
/** Copy `count` bits between arbitrary bit positions. */
void tl_bitmap_copy(uint8_t *dst, int64_t dst_from, const uint8_t *src, int64_t src_from, int64_t count);
/** Ones in [from, from+count). */
int64_t tl_bitmap_count(const uint8_t *bits, int64_t from, int64_t count);

/** Eight bits to eight bytes of 0 or 1: bit i is kept in byte i by the mask, then any non-zero byte becomes 1. */
static inline uint64_t tl_spread_bits(uint8_t bits)
{
    uint64_t v = (bits * UINT64_C(0x0101010101010101)) & UINT64_C(0x8040201008040201);
    return ((v + UINT64_C(0x007f7f7f7f7f7f7f)) | v) >> 7 & UINT64_C(0x0101010101010101);
}

/** CRC-32 (zlib polynomial). */
uint32_t tl_crc32(uint32_t crc, const void *data, size_t bytes);
uint64_t tl_xxh64(const void *data, size_t bytes, uint64_t seed);
uint64_t tl_xxh3(const void *data, size_t bytes);
/** Murmur3-32 over whole LE 32-bit words, as Paimon hashes a BinaryRow (`bytes` must be a multiple of 4). Format reference §7. */
uint32_t tl_murmur32_words(const void *data, size_t bytes, uint32_t seed);

/** Next power of two >= v (v <= 2^63). */
static inline uint64_t tl_next_pow2(uint64_t v)
{
    return v <= 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(v - 1));
}

#endif
