/*
 * Dense values to slots with nulls between them: from the back, 64 slots at a time where they are all alike. Where they are
 * not, AVX2 puts eight values of four bytes or four of eight into their places at once.
 */
#include "format/expand.h"

#include "base/bits.h"
#include "base/mem.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static inline uint64_t bits64(const uint8_t *bits, int64_t from)
{
    return tl_read_le64(bits + from / 8);
}

/* Fewer than 64 bits at the end of a bitmap, without reading behind it. */
static uint64_t bits_tail(const uint8_t *bits, int64_t from, int64_t n)
{
    uint64_t word = 0;
    memcpy(&word, bits + from / 8, tl_bitmap_bytes(n));
    return word & ((UINT64_C(1) << n) - 1);
}

/*
 * One slot: its value is loaded whether it is there or not (values + k is inside the array in any case, as k <= slot) and
 * kept by a mask, because a branch on random nulls costs more than everything else here. Slots below `to`, a multiple of 64,
 * are left as they are; returns how many values belong there (or more, if all of them are there).
 */
#define DEFINE_EXPAND(NAME, TYPE, MASKED)                                                            \
    static int64_t NAME(TYPE *values, const uint8_t *validity, int64_t n, int64_t dense, int64_t to) \
    {                                                                                                \
        int64_t i = n, k = dense;                                                                    \
        while (k != i && i > to) {                                                                   \
            int64_t from = (i - 1) / 64 * 64;                                                        \
            int64_t slots = i - from;                                                                \
            uint64_t word = slots == 64 ? bits64(validity, from) : bits_tail(validity, from, slots); \
            if (word == 0) {                                                                         \
                memset(values + from, 0, (size_t)slots * sizeof *values);                            \
            } else if (slots == 64 && word == UINT64_MAX) {                                          \
                k -= 64;                                                                             \
                memmove(values + from, values + k, 64 * sizeof *values);                             \
            } else {                                                                                 \
                word <<= 64 - slots;                                                                 \
                for (int64_t at = i - 1; at >= from; at--, word <<= 1) {                             \
                    uint64_t valid = word >> 63;                                                     \
                    k -= (int64_t)valid;                                                             \
                    MASKED(values[at], values[k], valid)                                             \
                }                                                                                    \
            }                                                                                        \
            i = from;                                                                                \
        }                                                                                            \
        return k;                                                                                    \
    }
#define MASK_NUMBER(TO, FROM, VALID) TO = (__typeof__(TO))(FROM & (__typeof__(TO))(0 - VALID));
#define MASK_16(TO, FROM, VALID) TO = (bytes16){{FROM.word[0] & (0 - VALID), FROM.word[1] & (0 - VALID)}};
typedef struct bytes16 {
    uint64_t word[2];
} bytes16;
DEFINE_EXPAND(expand_1, uint8_t, MASK_NUMBER)
DEFINE_EXPAND(expand_2, uint16_t, MASK_NUMBER)
DEFINE_EXPAND(expand_4, uint32_t, MASK_NUMBER)
DEFINE_EXPAND(expand_8, uint64_t, MASK_NUMBER)
DEFINE_EXPAND(expand_16, bytes16, MASK_16)

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,popcnt")))

/* For each of eight slots the number of its value among those that are there, as a byte; 0xff if it has none. */
static inline uint64_t places(uint8_t bits)
{
    uint64_t there = tl_spread_bits(bits);
    uint64_t before = (there * UINT64_C(0x0101010101010101)) << 8;
    return before | ~(there * 0xff);
}

/* Slots [from, from + 8); values[k] is the first one's. All 8 loaded values are inside the array, as k <= from. */
AVX2 static inline void place_8x4(uint32_t *values, int64_t from, int64_t k, uint8_t bits)
{
    __m256i order = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128((int64_t)places(bits)));
    __m256i dense = _mm256_loadu_si256((const __m256i *)(const void *)(values + k));
    __m256i there = _mm256_cmpgt_epi32(order, _mm256_set1_epi32(-1));
    _mm256_storeu_si256((__m256i *)(void *)(values + from), _mm256_and_si256(_mm256_permutevar8x32_epi32(dense, order), there));
}

AVX2 static inline void place_4x8(uint64_t *values, int64_t from, int64_t k, uint8_t bits)
{
    __m256i order = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128((int32_t)places(bits)));
    __m256i dense = _mm256_loadu_si256((const __m256i *)(const void *)(values + k));
    __m256i there = _mm256_cmpgt_epi64(order, _mm256_set1_epi64x(-1));
    /* A lane of 64 bits is lanes 2k and 2k + 1 of 32. */
    __m256i low = _mm256_add_epi64(order, order);
    __m256i lanes = _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi64x(6)),
                                    _mm256_slli_epi64(_mm256_or_si256(low, _mm256_set1_epi64x(1)), 32));
    _mm256_storeu_si256((__m256i *)(void *)(values + from), _mm256_and_si256(_mm256_permutevar8x32_epi32(dense, lanes), there));
}

/* Slots [0, n), n a multiple of 64, whose `dense` values are at the front. */
#define DEFINE_EXPAND_AVX2(NAME, TYPE, LANES, PLACE)                                       \
    AVX2 static void NAME(TYPE *values, const uint8_t *validity, int64_t n, int64_t dense) \
    {                                                                                      \
        for (int64_t i = n - 64, k = dense; i >= 0 && k != i + 64; i -= 64) {              \
            uint64_t word = bits64(validity, i);                                           \
            for (int at = 64 - LANES; at >= 0; at -= LANES) {                              \
                uint8_t bits = (uint8_t)(word >> at & ((1u << LANES) - 1));                \
                k -= __builtin_popcount(bits);                                             \
                PLACE(values, i + at, k, bits);                                            \
            }                                                                              \
        }                                                                                  \
    }
DEFINE_EXPAND_AVX2(expand_4_avx2, uint32_t, 8, place_8x4)
DEFINE_EXPAND_AVX2(expand_8_avx2, uint64_t, 4, place_4x8)

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#endif

/* Widths of four and eight bytes: the slots behind the last whole 64, then all in front of them by the faster loop. */
#if defined(__x86_64__)
#define DEFINE_EXPAND_BEST(WIDTH, TYPE)                                                              \
    static void expand_best_##WIDTH(TYPE *values, const uint8_t *validity, int64_t n, int64_t dense) \
    {                                                                                                \
        int64_t whole = has_avx2() ? n / 64 * 64 : 0;                                                \
        dense = expand_##WIDTH(values, validity, n, dense, whole);                                   \
        if (whole > 0)                                                                               \
            expand_##WIDTH##_avx2(values, validity, whole, TL_MIN(dense, whole));                    \
    }
#else
#define DEFINE_EXPAND_BEST(WIDTH, TYPE)                                                              \
    static void expand_best_##WIDTH(TYPE *values, const uint8_t *validity, int64_t n, int64_t dense) \
    {                                                                                                \
        expand_##WIDTH(values, validity, n, dense, 0);                                               \
    }
#endif
DEFINE_EXPAND_BEST(4, uint32_t)
DEFINE_EXPAND_BEST(8, uint64_t)

void tl_format__expand_fixed(uint8_t *values, int width, const uint8_t *validity, int64_t n, int64_t dense)
{
    switch (width) {
    case 1:
        expand_1(values, validity, n, dense, 0);
        break;
    case 2:
        expand_2((uint16_t *)values, validity, n, dense, 0);
        break;
    case 4:
        expand_best_4((uint32_t *)values, validity, n, dense);
        break;
    case 8:
        expand_best_8((uint64_t *)values, validity, n, dense);
        break;
    default:
        expand_16((bytes16 *)values, validity, n, dense, 0);
    }
}

/* offsets[i] is the end of slot i - 1: where a slot is null it equals the one before. */
void tl_format__expand_offsets(int32_t *offsets, const uint8_t *validity, int64_t n, int64_t dense)
{
    int64_t i = n, k = dense;
    while (k != i && i > 0) {
        int64_t from = (i - 1) / 64 * 64;
        uint64_t word = i - from == 64 ? bits64(validity, from) : bits_tail(validity, from, i - from);
        word <<= 64 - (i - from);
        for (; i > from; i--, word <<= 1) {
            offsets[i] = offsets[k];
            k -= (int64_t)(word >> 63);
        }
    }
}
