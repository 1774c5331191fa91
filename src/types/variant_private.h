/* Shared by the files of variants (variant.c, variant_build.c). */
#ifndef TL_TYPES_VARIANT_PRIVATE_H
#define TL_TYPES_VARIANT_PRIVATE_H

#include "types/type.h"

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
    TL_VARIANT__TIME = 17,               /* microseconds of the day */
    TL_VARIANT__TIMESTAMP_NANOS = 18,    /* with a zone, as 12 is */
    TL_VARIANT__TIMESTAMP_NTZ_NANOS = 19,
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

/** 1 to 16 bytes, little-endian, signed. */
static inline tl_i128 tl_variant__read_signed(const uint8_t *p, size_t bytes)
{
    unsigned __int128 v = p[bytes - 1] & 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return (tl_i128)v;
}

/** Values do not overlap: those that are visited take no more bytes than there are, and a visitor spends them from `left`. Without that, few
    bytes would be as many values as one likes: each array tells that all its elements are the same next array. TL_E_CORRUPT. */
static inline tl_status tl_variant__spend(size_t *left, size_t bytes, tl_error *err)
{
    if (*left < bytes)
        return tl_error_set(err, TL_E_CORRUPT, "malformed VARIANT: its values overlap");
    *left -= bytes;
    return TL_OK;
}

/* ---- variant.c ---- */

/** Key `id` of the metadata, which points into it. TL_E_CORRUPT. */
tl_status tl_variant__key(tl_bytes_view metadata, size_t id, tl_bytes_view *out, tl_error *err);
/** How many keys the metadata has. TL_E_CORRUPT. */
tl_status tl_variant__key_count(tl_bytes_view metadata, size_t *out, tl_error *err);

/** The header of an object or array, checked as far as its own length goes. */
typedef struct tl_variant__nested {
    bool is_object;
    size_t count;
    size_t id_bytes; /* 0: an array */
    size_t offset_bytes;
    size_t ids, offsets, data; /* where they begin in `value` */
} tl_variant__nested;

/** TL_E_CORRUPT if the value at `pos` is neither object nor array, or is cut off. */
tl_status tl_variant__nested_at(tl_bytes_view value, size_t pos, tl_variant__nested *out, tl_error *err);
/** Bytes of the value at `pos`, its header included. TL_E_CORRUPT: it ends behind the buffer's end. */
tl_status tl_variant__size(tl_bytes_view value, size_t pos, size_t *out, tl_error *err);

/* ---- variant_build.c ---- */

/** A field of an object (or, with `offset` alone, an element of an array) that is being built. */
typedef struct tl_variant__field {
    tl_bytes_view name;
    size_t id;
    size_t offset; /* of its value from where the values begin */
} tl_variant__field;

/** `bytes` low bytes of `v`, little-endian. */
tl_status tl_variant__put(tl_buf *out, uint64_t v, size_t bytes, tl_error *err);
tl_status tl_variant__put_header(tl_buf *out, unsigned info, unsigned basic, tl_error *err);
tl_status tl_variant__put_string(tl_buf *out, tl_bytes_view text, tl_error *err);
/** `digits`: how many the value may have; chooses the width. */
tl_status tl_variant__put_decimal(tl_buf *out, tl_i128 v, int scale, int digits, tl_error *err);
/** Fields in the order of their names (UTF-16, as Java compares). TL_E_INVALID: a name twice. */
tl_status tl_variant__sort(tl_variant__field *fields, size_t n, tl_error *err);
/** Put what stands before the values of an object or array in front of them: they are there already, from `start` on. */
tl_status tl_variant__close(tl_buf *out, size_t start, const tl_variant__field *fields, size_t n, bool is_object, tl_error *err);

#endif
