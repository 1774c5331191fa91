/*
 * Bit unpacking and byte stream splitting.
 *
 * 32 values of one width at a time: the width is a constant in each copy of the loop, so that offsets, shifts and masks are
 * constants as well. With AVX2 eight values are one shuffle, one shift and one mask (widths up to 25, as a value and its
 * bit offset must lie in four bytes).
 */
#include "format/parquet/decode.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef void (*unpack32_fn)(const uint8_t *in, uint32_t *out);

#define UNPACK_ONE(W, I) \
    out[I] = (uint32_t)((tl_read_le64(in + (W) * (I) / 8) >> ((W) * (I) % 8)) & (uint32_t)(((uint64_t)1 << (W)) - 1));
#define UNPACK_8(W, I)   \
    UNPACK_ONE(W, I)     \
    UNPACK_ONE(W, I + 1) \
    UNPACK_ONE(W, I + 2) \
    UNPACK_ONE(W, I + 3) \
    UNPACK_ONE(W, I + 4) \
    UNPACK_ONE(W, I + 5) \
    UNPACK_ONE(W, I + 6) \
    UNPACK_ONE(W, I + 7)
#define DEFINE_UNPACK32(W)                                                       \
    static void unpack32_##W(const uint8_t *restrict in, uint32_t *restrict out) \
    {                                                                            \
        UNPACK_8(W, 0)                                                           \
        UNPACK_8(W, 8)                                                           \
        UNPACK_8(W, 16)                                                          \
        UNPACK_8(W, 24)                                                          \
    }
#define FOR_WIDTHS(X)                                                                                                     \
    X(1)                                                                                                                  \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) \
        X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
FOR_WIDTHS(DEFINE_UNPACK32)

static void unpack32_0(const uint8_t *in, uint32_t *out)
{
    (void)in;
    memset(out, 0, 32 * sizeof *out);
}

#define UNPACK32_NAME(W) unpack32_##W,
static const unpack32_fn unpack32[33] = {unpack32_0, FOR_WIDTHS(UNPACK32_NAME)};

static inline uint64_t unpack_one(const uint8_t *packed, int width, int64_t i)
{
    uint64_t bit = (uint64_t)i * (uint64_t)width;
    const uint8_t *p = packed + bit / 8;
    unsigned shift = bit % 8;
    uint64_t v = tl_read_le64(p) >> shift;
    if (shift + (unsigned)width > 64)
        v |= (uint64_t)p[8] << (64 - shift);
    return width >= 64 ? v : v & (((uint64_t)1 << width) - 1);
}

#if defined(__x86_64__)
#define AVX2_WIDTH_MAX 25

/* Eight values of `width` bits: the first four lie in 16 bytes from p, the others in 16 bytes from p + 4 * width / 8. */
__attribute__((target("avx2"))) static void unpack_blocks_avx2(const uint8_t *restrict p, int width, int64_t blocks,
                                                               uint32_t *restrict out)
{
    _Alignas(32) uint8_t shuffle[32];
    _Alignas(32) uint32_t shift[8];
    for (int i = 0; i < 8; i++) {
        int bit = (i & 3) * width + (i < 4 ? 0 : 4 * width % 8);
        for (int b = 0; b < 4; b++)
            shuffle[i * 4 + b] = (uint8_t)(bit / 8 + b);
        shift[i] = (uint32_t)bit % 8;
    }
    const __m256i shuffles = _mm256_load_si256((const __m256i *)shuffle);
    const __m256i shifts = _mm256_load_si256((const __m256i *)shift);
    const __m256i mask = _mm256_set1_epi32((int)(((uint32_t)1 << width) - 1));
    const int half = 4 * width / 8;
    for (int64_t i = 0; i < blocks * 4; i++, p += width, out += 8) {
        __m128i low = _mm_loadu_si128((const __m128i *)p);
        __m128i high = _mm_loadu_si128((const __m128i *)(p + half));
        __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
        v = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, shuffles), shifts);
        _mm256_storeu_si256((__m256i *)out, _mm256_and_si256(v, mask));
    }
}
#endif

static void unpack_blocks(const uint8_t *p, int width, int64_t blocks, uint32_t *out)
{
#if defined(__x86_64__)
    if (width != 0 && width <= AVX2_WIDTH_MAX && __builtin_cpu_supports("avx2")) {
        unpack_blocks_avx2(p, width, blocks, out);
        return;
    }
#endif
    for (int64_t i = 0; i < blocks; i++)
        unpack32[width](p + i * 4 * width, out + i * 32);
}

void tl_pq__unpack_u32(const uint8_t *packed, int width, int64_t from, int64_t n, uint32_t *out)
{
    if (width == 0) {
        memset(out, 0, (size_t)n * sizeof *out);
        return;
    }
    for (; n > 0 && from % 8 != 0; n--)
        *out++ = (uint32_t)unpack_one(packed, width, from++);
    packed += from / 8 * width;
    unpack_blocks(packed, width, n / 32, out);
    for (int64_t i = n / 32 * 32; i < n; i++)
        out[i] = (uint32_t)unpack_one(packed, width, i);
}

void tl_pq__unpack_u64(const uint8_t *packed, int width, int64_t from, int64_t n, uint64_t *out)
{
    uint32_t piece[256];
    if (width > 32) {
        for (int64_t i = 0; i < n; i++)
            out[i] = unpack_one(packed, width, from + i);
        return;
    }
    for (int64_t done = 0; done < n;) {
        int64_t k = TL_MIN(n - done, (int64_t)TL_ARRAY_LEN(piece));
        tl_pq__unpack_u32(packed, width, from + done, k, piece);
        for (int64_t i = 0; i < k; i++)
            out[done + i] = piece[i];
        done += k;
    }
}

void tl_pq__unpack_u8(const uint8_t *packed, int width, int64_t from, int64_t n, uint8_t *out)
{
    uint32_t piece[256];
    if (width == 1) {
        tl_pq__unpack_bool(packed, from, n, out);
        return;
    }
    for (int64_t done = 0; done < n;) {
        int64_t k = TL_MIN(n - done, (int64_t)TL_ARRAY_LEN(piece));
        tl_pq__unpack_u32(packed, width, from + done, k, piece);
        for (int64_t i = 0; i < k; i++)
            out[done + i] = (uint8_t)piece[i];
        done += k;
    }
}

void tl_pq__unpack_u8_msb(const uint8_t *packed, int width, int64_t from, int64_t n, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t bit = (uint64_t)(from + i) * (uint64_t)width;
        unsigned word = tl_read_be16(packed + bit / 8);
        out[i] = (uint8_t)((word >> (16 - bit % 8 - (unsigned)width)) & ((1u << width) - 1));
    }
}

void tl_pq__unpack_bool(const uint8_t *packed, int64_t from, int64_t n, uint8_t *out)
{
    for (; n > 0 && from % 8 != 0; n--, from++)
        *out++ = tl_bit_get(packed, from);
    packed += from / 8;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        tl_write_le64(out + i, tl_spread_bits(packed[i / 8]));
    for (; i < n; i++)
        out[i] = tl_bit_get(packed, i);
}

#define UNSPLIT(WIDTH)                  \
    for (int64_t i = 0; i < n; i++)     \
        for (int b = 0; b < WIDTH; b++) \
            out[i * WIDTH + b] = streams[b * total + from + i];

void tl_pq__unsplit(const uint8_t *restrict streams, int64_t total, int width, int64_t from, int64_t n, uint8_t *restrict out)
{
    switch (width) {
    case 4:
        UNSPLIT(4)
        break;
    case 8:
        UNSPLIT(8)
        break;
    default: /* stream by stream: reads are sequential, writes strided */
        for (int b = 0; b < width; b++)
            for (int64_t i = 0; i < n; i++)
                out[i * width + b] = streams[b * total + from + i];
    }
}
