/* Dense values to slots with nulls between them: from the back, 64 slots at a time where they are all alike. */
#include "format/parquet/decode.h"

static inline uint64_t bits64(const uint8_t *bits, int64_t from)
{
    return tl_read_le64(bits + from / 8);
}

#define DEFINE_EXPAND(NAME, TYPE)                                                                                                \
    static void NAME(TYPE *values, const uint8_t *validity, int64_t n, int64_t dense)                                            \
    {                                                                                                                            \
        int64_t i = n, k = dense;                                                                                                \
        const TYPE zero = {0};                                                                                                   \
        while (k != i && i > 0) {                                                                                                \
            if (i % 64 == 0) {                                                                                                   \
                uint64_t word = bits64(validity, i - 64);                                                                        \
                if (word == 0) {                                                                                                 \
                    i -= 64;                                                                                                     \
                    memset(values + i, 0, 64 * sizeof *values);                                                                  \
                    continue;                                                                                                    \
                }                                                                                                                \
                if (word == UINT64_MAX) {                                                                                        \
                    i -= 64;                                                                                                     \
                    k -= 64;                                                                                                     \
                    memmove(values + i, values + k, 64 * sizeof *values);                                                        \
                    continue;                                                                                                    \
                }                                                                                                                \
            }                                                                                                                    \
            int64_t stop = (i - 1) / 64 * 64;                                                                                    \
            for (; i > stop; i--) {                                                                                              \
                bool valid = tl_bit_get(validity, i - 1);                                                                        \
                k -= valid;                                                                                                      \
                values[i - 1] = valid ? values[k] : zero;                                                                        \
            }                                                                                                                    \
        }                                                                                                                        \
    }
typedef struct bytes16 {
    uint64_t word[2];
} bytes16;
DEFINE_EXPAND(expand_1, uint8_t)
DEFINE_EXPAND(expand_2, uint16_t)
DEFINE_EXPAND(expand_4, uint32_t)
DEFINE_EXPAND(expand_8, uint64_t)
DEFINE_EXPAND(expand_16, bytes16)

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
    int64_t k = dense;
    for (int64_t i = n; i > 0 && k != i; i--) {
        offsets[i] = offsets[k];
        k -= tl_bit_get(validity, i - 1);
    }
}
