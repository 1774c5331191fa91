/* Shared by the files of variants (variant.c, variant_build.c). */
#ifndef TL_TYPES_VARIANT_PRIVATE_H
#define TL_TYPES_VARIANT_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

/* Basic types: the low two bits of a value. */
enum { TL_VARIANT__PRIMITIVE, TL_VARIANT__SHORT_STR, TL_VARIANT__OBJECT, TL_VARIANT__ARRAY };
/* Primitives. */
enum {
    TL_VARIANT__NULL = 0,
    TL_VARIANT__TRUE = 1,
    TL_VARIANT__FALSE = 2,
    TL_VARIANT__INT1 = 3,
    TL_VARIANT__INT2 = 4,
    TL_VARIANT__INT4 = 5,
    TL_VARIANT__INT8 = 6,
    TL_VARIANT__DOUBLE = 7,
    TL_VARIANT__DECIMAL4 = 8,
    TL_VARIANT__DECIMAL8 = 9,
    TL_VARIANT__DECIMAL16 = 10,
    TL_VARIANT__DATE = 11,
    TL_VARIANT__TIMESTAMP = 12,
    TL_VARIANT__TIMESTAMP_NTZ = 13,
    TL_VARIANT__FLOAT = 14,
    TL_VARIANT__BINARY = 15,
    TL_VARIANT__LONG_STR = 16,
    TL_VARIANT__UUID = 20,
};

/** Up to 8 bytes, little-endian, unsigned. */
static inline uint64_t tl_variant__read(const uint8_t *p, size_t bytes)
{
    uint64_t v = 0;
    for (size_t i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

#endif
