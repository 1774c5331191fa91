/*
 * Four numbers that may be null at once. Read one by one, each waits for the length of the one before it. Here every byte of the next 16
 * is taken for the beginning of such a field: J[i] is where the field would end. Looked up in itself, J tells where two fields end, and
 * again, where four do; the values are then read side by side.
 */
#include "format/avro/rows_private.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define SSSE3 __attribute__((target("ssse3")))
#define WRONG ((char)0x80) /* the high bit, which a look-up keeps and adding BEYOND sets from 16 on */
#define BEYOND 0x70

bool tl_avro__can_take_four(void)
{
    return __builtin_cpu_supports("ssse3");
}

/* J + BEYOND of the 16 bytes at p. */
SSSE3 static inline __m128i field_ends(const uint8_t *p, uint8_t value)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i one_further = _mm_setr_epi8(BEYOND + 1, BEYOND + 2, BEYOND + 3, BEYOND + 4, BEYOND + 5, BEYOND + 6, BEYOND + 7, BEYOND + 8,
                                              BEYOND + 9, BEYOND + 10, BEYOND + 11, BEYOND + 12, BEYOND + 13, BEYOND + 14, BEYOND + 15, WRONG);
    __m128i branch = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i there = _mm_cmpeq_epi8(branch, _mm_set1_epi8((char)value));
    __m128i null = _mm_cmpeq_epi8(branch, _mm_set1_epi8((char)(2 - value)));
    /* Whether a number that begins behind the branch goes on after one byte, after two, three and four: -1 each. */
    __m128i after1 = _mm_cmpgt_epi8(zero, _mm_loadu_si128((const __m128i *)(const void *)(p + 1)));
    __m128i after2 = _mm_and_si128(after1, _mm_cmpgt_epi8(zero, _mm_loadu_si128((const __m128i *)(const void *)(p + 2))));
    __m128i after3 = _mm_and_si128(after2, _mm_cmpgt_epi8(zero, _mm_loadu_si128((const __m128i *)(const void *)(p + 3))));
    __m128i after4 = _mm_and_si128(after3, _mm_cmpgt_epi8(zero, _mm_loadu_si128((const __m128i *)(const void *)(p + 4))));
    __m128i minus = _mm_and_si128(there, _mm_add_epi8(_mm_add_epi8(there, after1), _mm_add_epi8(after2, after3)));
    __m128i wrong = _mm_or_si128(_mm_andnot_si128(_mm_or_si128(there, null), _mm_set1_epi8(WRONG)), _mm_and_si128(_mm_and_si128(there, after4), _mm_set1_epi8(WRONG)));
    return _mm_or_si128(_mm_sub_epi8(one_further, minus), wrong);
}

/* Where that many fields end, twice as many end after as many more; what is wrong stays so. */
SSSE3 static inline __m128i follow(__m128i ends, __m128i further)
{
    return _mm_or_si128(_mm_shuffle_epi8(further, ends), _mm_and_si128(ends, _mm_set1_epi8(WRONG)));
}

/* The number in the bytes [from, end), at most four: of each seven bits. None of them is 0. */
static inline int64_t number_between(const uint8_t *p, unsigned from, unsigned end)
{
    uint64_t v = tl_read_le32(p + from) & ((UINT64_C(1) << (8 * (end - from))) - 1) & 0x7f7f7f7f;
    v = (v & 0x007f007f) | (v & 0x7f007f00) >> 1;
    v = (v & 0x00003fff) | (v & 0x3fff0000) >> 2;
    return tl_unzigzag64(v);
}

static inline void put(const uint8_t *p, const tl_avro_step *st, int64_t row, unsigned from, unsigned end)
{
    if (st->sink == NULL)
        return;
    int64_t v = number_between(p, from + 1, end);
    void *values = st->sink->col->values;
    if (st->kind == TL_AVRO_STEP_I64)
        ((int64_t *)values)[row] = v;
    else
        ((int32_t *)values)[row] = (int32_t)v;
    tl_avro__note_null(st->sink, row, (uint64_t)(end == from + 1) - 1);
}

SSSE3 const uint8_t *tl_avro__take_four(const uint8_t *p, const tl_avro_step *st, int64_t row)
{
    __m128i one = field_ends(p, st->value);
    __m128i two = follow(one, one);
    __m128i four = follow(two, two);
    unsigned end = (unsigned)_mm_cvtsi128_si32(four) & 0xff;
    if ((end & 0x80) != 0)
        return NULL;
    end &= 15;
    if (st[0].sink == NULL && st[1].sink == NULL && st[2].sink == NULL && st[3].sink == NULL)
        return p + end;
    unsigned first = (unsigned)_mm_cvtsi128_si32(one) & 15, second = (unsigned)_mm_cvtsi128_si32(two) & 15;
    unsigned third = (unsigned)_mm_cvtsi128_si32(follow(two, one)) & 15;
    put(p, &st[0], row, 0, first);
    put(p, &st[1], row, first, second);
    put(p, &st[2], row, second, third);
    put(p, &st[3], row, third, end);
    return p + end;
}

#else

bool tl_avro__can_take_four(void)
{
    return false;
}

const uint8_t *tl_avro__take_four(const uint8_t *p, const tl_avro_step *st, int64_t row)
{
    (void)p, (void)st, (void)row;
    return NULL;
}
#endif
