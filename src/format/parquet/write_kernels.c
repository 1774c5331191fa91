/*
 * Loops that exist in a portable form and in one for AVX2, chosen once when the first writer is made.
 *
 * Leaving out nulls is the hottest of them: with 30 % nulls spread at random every branch on a bit is a coin toss, so the
 * portable form moves each value and advances by its bit, and the AVX2 form permutes eight values at a time by a table of the
 * 256 bitmap bytes. Smallest and largest are left to the compiler, which vectorises them for either instruction set.
 */
#include "format/parquet/write_private.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

uint64_t tl_pq__bits64(const uint8_t *bits, int64_t from, int64_t end)
{
    int64_t count = end - from;
    const uint8_t *p = bits + (from >> 3);
    int shift = (int)(from & 7);
    if (TL_LIKELY(count >= 64)) {
        uint64_t low = tl_read_le64(p) >> shift;
        return shift == 0 ? low : low | (uint64_t)p[8] << (64 - shift);
    }
    uint8_t bytes[16] = {0};
    memcpy(bytes, p, (size_t)((shift + count + 7) / 8));
    uint64_t word = tl_read_le64(bytes) >> shift;
    if (shift != 0)
        word |= (uint64_t)bytes[8] << (64 - shift);
    return word & ((UINT64_C(1) << count) - 1);
}

/* ---- portable ---- */

#define DEFINE_COMPRESS(NAME, TYPE)                                                                                              \
    static int64_t NAME(const TYPE *restrict src, const uint8_t *restrict bits, int64_t from, int64_t count, TYPE *restrict dst) \
    {                                                                                                                            \
        int64_t n = 0;                                                                                                           \
        for (int64_t i = 0; i < count; i += 64) {                                                                                \
            int64_t here = TL_MIN(count - i, 64);                                                                                \
            uint64_t word = tl_pq__bits64(bits, from + i, from + i + here);                                                      \
            const TYPE *v = src + from + i;                                                                                      \
            for (int64_t j = 0; j < here; j++) {                                                                                 \
                dst[n] = v[j];                                                                                                   \
                n += (int64_t)(word >> j & 1);                                                                                   \
            }                                                                                                                    \
        }                                                                                                                        \
        return n;                                                                                                                \
    }

DEFINE_COMPRESS(compress32, uint32_t)
DEFINE_COMPRESS(compress64, uint64_t)

#define DEFINE_BOUNDS(NAME, TYPE, TARGET)                                                                                        \
    TARGET static void NAME(const TYPE *restrict v, int64_t count, TYPE *min, TYPE *max)                                         \
    {                                                                                                                            \
        TYPE low = v[0];                                                                                                         \
        TYPE high = v[0];                                                                                                        \
        for (int64_t i = 1; i < count; i++) {                                                                                    \
            low = v[i] < low ? v[i] : low;                                                                                       \
            high = v[i] > high ? v[i] : high;                                                                                    \
        }                                                                                                                        \
        *min = low;                                                                                                              \
        *max = high;                                                                                                             \
    }

DEFINE_BOUNDS(bounds_i32, int32_t, )
DEFINE_BOUNDS(bounds_i64, int64_t, )

static const tl_pq_kernels portable = {compress32, compress64, bounds_i32, bounds_i64};

/* ---- AVX2 ---- */

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,popcnt")))

DEFINE_BOUNDS(bounds_i32_avx2, int32_t, AVX2)
DEFINE_BOUNDS(bounds_i64_avx2, int64_t, AVX2)

/** lanes[b]: positions of the ones of byte b, in order; what follows them does not matter. */
static uint8_t lanes[256][8];

AVX2 static int64_t compress32_avx2(const uint32_t *restrict src, const uint8_t *restrict bits, int64_t from, int64_t count,
                                    uint32_t *restrict dst)
{
    int64_t n = 0;
    int64_t whole = count / 64 * 64;
    for (int64_t i = 0; i < whole; i += 64) {
        uint64_t word = tl_pq__bits64(bits, from + i, from + count);
        const uint32_t *v = src + from + i;
        for (int j = 0; j < 64; j += 8) {
            unsigned byte = (unsigned)(word >> j & 255);
            __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)lanes[byte]));
            __m256i values = _mm256_loadu_si256((const __m256i *)(const void *)(v + j));
            _mm256_storeu_si256((__m256i *)(void *)(dst + n), _mm256_permutevar8x32_epi32(values, order));
            n += __builtin_popcount(byte);
        }
    }
    return n + compress32(src, bits, from + whole, count - whole, dst + n);
}

AVX2 static int64_t compress64_avx2(const uint64_t *restrict src, const uint8_t *restrict bits, int64_t from, int64_t count,
                                    uint64_t *restrict dst)
{
    int64_t n = 0;
    int64_t whole = count / 64 * 64;
    for (int64_t i = 0; i < whole; i += 64) {
        uint64_t word = tl_pq__bits64(bits, from + i, from + count);
        const uint64_t *v = src + from + i;
        for (int j = 0; j < 64; j += 4) {
            unsigned nibble = (unsigned)(word >> j & 15);
            /* lane k of 64 bits is lanes 2k and 2k + 1 of 32 bits */
            __m256i half = _mm256_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)lanes[nibble]));
            __m256i low = _mm256_add_epi64(half, half);
            __m256i order = _mm256_or_si256(low, _mm256_slli_epi64(_mm256_add_epi64(low, _mm256_set1_epi64x(1)), 32));
            __m256i values = _mm256_loadu_si256((const __m256i *)(const void *)(v + j));
            _mm256_storeu_si256((__m256i *)(void *)(dst + n), _mm256_permutevar8x32_epi32(values, order));
            n += __builtin_popcount(nibble);
        }
    }
    return n + compress64(src, bits, from + whole, count - whole, dst + n);
}

static const tl_pq_kernels avx2 = {compress32_avx2, compress64_avx2, bounds_i32_avx2, bounds_i64_avx2};

#endif

static const tl_pq_kernels *chosen;

static void choose(void)
{
    chosen = &portable;
#if defined(__x86_64__)
    for (unsigned byte = 0; byte < 256; byte++) {
        int n = 0;
        for (uint8_t bit = 0; bit < 8; bit++)
            if (byte >> bit & 1)
                lanes[byte][n++] = bit;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
        chosen = &avx2;
#endif
}

const tl_pq_kernels *tl_pq__kernels(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}
