/* Fuzz bytes as a stream of choices, for targets that build their input: once they have run out, everything is zero. */
#ifndef TL_TESTS_FUZZ_INPUT_H
#define TL_TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static inline uint64_t take(input *in, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = 0; i < bytes && in->size > 0; i++, in->data++, in->size--)
        v |= (uint64_t)*in->data << 8 * i;
    return v;
}

/* 0 … n-1, from a byte (two above 256). */
static inline uint32_t take_below(input *in, uint32_t n)
{
    return (uint32_t)(take(in, n > 256 ? 2 : 1) % n);
}

/* A number as tests like them: small, at a limit, or any bits. */
static inline int64_t take_number(input *in)
{
    static const int64_t limits[] = {0,         -1,        1,          INT8_MIN,  INT8_MAX,  INT16_MIN, INT16_MAX,       INT32_MIN,
                                     INT32_MAX, INT64_MIN, INT64_MAX, 86399999,  UINT32_MAX, 999999999, -62135596800000, 253402300799999};
    uint32_t how = take_below(in, 4);
    return how == 0 ? (int8_t)take(in, 1) : how == 1 ? limits[take_below(in, 16)] : how == 2 ? (int16_t)take(in, 2) : (int64_t)take(in, 8);
}

#endif
