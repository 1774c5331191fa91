/* What the BinaryRow encoder and decoder share: how a field of a type lies in its slot. Layout: binary_row.c. */
#ifndef TL_TYPES_BINARY_PRIVATE_H
#define TL_TYPES_BINARY_PRIVATE_H

#include "types/type.h"

/* Deepest nesting of containers that is encoded or decoded: bounds the recursion. */
#define BINARY_DEPTH_MAX 128
/* Strings and bytes up to this length stand in the slot itself. */
#define BINARY_INLINE_MAX 7
/* Variable bytes that a non-compact DECIMAL or TIMESTAMP always takes in a row. */
#define BINARY_DECIMAL_BYTES 16
#define BINARY_TIMESTAMP_BYTES 8

typedef enum binary_slot {
    BINARY_SLOT_1, /* BOOLEAN, TINYINT */
    BINARY_SLOT_2,
    BINARY_SLOT_4,
    BINARY_SLOT_8,
    BINARY_SLOT_DECIMAL, /* p > 18: big-endian two's complement in the variable part */
    BINARY_SLOT_MICROS,  /* TIMESTAMP(4..6): millis in the variable part, nanos of the millisecond in the slot */
    BINARY_SLOT_TS96,    /* TIMESTAMP(7..9): the same, from another column layout */
    BINARY_SLOT_BYTES,
    BINARY_SLOT_NESTED
} binary_slot;

static inline binary_slot binary_slot_of(const tl_type *type)
{
    bool timestamp = type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ;
    switch (tl_type_phys(type)) {
    case TL_PHYS_BOOL:
    case TL_PHYS_I8:
        return BINARY_SLOT_1;
    case TL_PHYS_I16:
        return BINARY_SLOT_2;
    case TL_PHYS_I32:
    case TL_PHYS_F32:
        return BINARY_SLOT_4;
    case TL_PHYS_I64:
        return timestamp && type->precision > 3 ? BINARY_SLOT_MICROS : BINARY_SLOT_8;
    case TL_PHYS_F64:
        return BINARY_SLOT_8;
    case TL_PHYS_I128:
        return BINARY_SLOT_DECIMAL;
    case TL_PHYS_TS96:
        return BINARY_SLOT_TS96;
    case TL_PHYS_BYTES:
        return BINARY_SLOT_BYTES;
    default:
        return BINARY_SLOT_NESTED;
    }
}

/** Bytes of the value in its slot or array element. */
static inline size_t binary_slot_width(binary_slot slot)
{
    switch (slot) {
    case BINARY_SLOT_1:
        return 1;
    case BINARY_SLOT_2:
        return 2;
    case BINARY_SLOT_4:
        return 4;
    default:
        return 8;
    }
}

/** Kind byte and null bits of a row of `arity` fields. */
static inline size_t binary_row_header(int32_t arity)
{
    return ((size_t)arity + 63 + 8) / 64 * 8;
}
/** Count and null bits of an array. */
static inline size_t binary_array_header(size_t count)
{
    return 4 + (count + 31) / 32 * 4;
}
static inline size_t binary_round8(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

#endif
