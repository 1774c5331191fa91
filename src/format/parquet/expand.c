/* Dense values to slots with nulls between them: from the back, 64 slots at a time where they are all alike. */
#include "format/parquet/decode.h"

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
 * kept by a mask, because a branch on random nulls costs more than everything else here.
 */
#define DEFINE_EXPAND(NAME, TYPE, MASKED)                                                            \
    static void NAME(TYPE *values, const uint8_t *validity, int64_t n, int64_t dense)                \
    {                                                                                                \
        int64_t i = n, k = dense;                                                                    \
        while (k != i && i > 0) {                                                                    \
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

void tl_pq__expand_fixed(uint8_t *values, int width, const uint8_t *validity, int64_t n, int64_t dense)
{
    switch (width) {
    case 1:
        expand_1(values, validity, n, dense);
        break;
    case 2:
        expand_2((uint16_t *)values, validity, n, dense);
        break;
    case 4:
        expand_4((uint32_t *)values, validity, n, dense);
        break;
    case 8:
        expand_8((uint64_t *)values, validity, n, dense);
        break;
    default:
        expand_16((bytes16 *)values, validity, n, dense);
    }
}

/* offsets[i] is the end of slot i - 1: where a slot is null it equals the one before. */
void tl_pq__expand_offsets(int32_t *offsets, const uint8_t *validity, int64_t n, int64_t dense)
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
