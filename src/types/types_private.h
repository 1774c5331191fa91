/*
 * Shared by the files of this room; not for others.
 */
#ifndef TL_TYPES_PRIVATE_H
#define TL_TYPES_PRIVATE_H

#include "base/bits.h"
#include "types/key.h"

/** Release `n` fields that own what they point to, and the array. */
void tl_type__fields_free(tl_field *fields, int32_t n);

/** A column whose struct, type and children slots are there and whose buffers are not. */
tl_status tl_column__shell(const tl_type *type, int64_t length, tl_column **out, tl_error *err);
/** As tl_column_alloc(), but values are left uninitialised. */
tl_status tl_column__alloc_raw(const tl_type *type, int64_t length, tl_column **out, tl_error *err);
/** A buffer of the column's own, released with it: behind the struct where there is room, else allocated. NULL: out of memory. */
void *tl_column__buffer(tl_column *col, size_t bytes);
/**
 * Columns of the fields of a ROW type, without children, in one allocation: their values or offsets are there, uninitialised, in
 * `room_bytes` (multiples of 16) that tl_column__buffer() gives the others from, too. Columns that have no room are left NULL.
 */
tl_status tl_column__alloc_block(const tl_type *row_type, const uint32_t *room_bytes, int64_t length, tl_column **out, tl_error *err);
/** All values turned out to be there. */
void tl_column__no_validity(tl_column *col);
/** TL_E_UNSUPPORTED that names both types. */
tl_status tl_cast__no_rule(const tl_type *from, const tl_type *to, tl_error *err);
/** Buffers of `col` from row `from` on under `type`, held by a ref on the column that owns them. Children are left to the caller. */
tl_status tl_column__view(const tl_column *col, const tl_type *type, int64_t from, int64_t length, tl_column **out,
                          tl_error *err);
/** Rows [from[k], from[k]+count[k]) of each source, one after the other. */
tl_status tl_column__concat_ranges(const tl_type *type, const tl_column *const *srcs, const int64_t *from, const int64_t *count,
                                   int32_t n_srcs, tl_column **out, tl_error *err);
/** TL_E_LIMIT: more than 2^31-1 bytes or elements in one column of a batch. */
tl_status tl_column__too_large(const tl_type *type, tl_error *err);

/** Eight bytes of a byte key from `depth` on as a big-endian number; those behind its end are zero. Loads behind a key what room there is for. */
static inline uint64_t tl_keys__load8(const tl_keys *keys, int64_t row, size_t depth)
{
    tl_bytes_view key = tl_keys_bytes(keys, row);
    if (key.len <= depth)
        return 0;
    size_t left = key.len - depth;
    uint64_t v = tl_read_be64(key.data + depth);
    return left >= 8 ? v : v >> (64 - 8 * left) << (64 - 8 * left);
}

/** Bytes that may be written past the end of string data made here, so that short copies need no branch on their length. */
#define TL_BYTES_SLACK 32

/** Copy a string of `len` bytes. `end`: end of the readable source; the target has TL_BYTES_SLACK bytes to spare. */
static inline void tl_column__copy_bytes(uint8_t *restrict to, const uint8_t *restrict from, size_t len, const uint8_t *end)
{
    if (TL_LIKELY(len <= 16 && (size_t)(end - from) >= 16)) {
        memcpy(to, from, 16);
    } else if (len <= 32 && (size_t)(end - from) >= 32) {
        memcpy(to, from, 32);
    } else if (len <= 64 && (size_t)(end - from) >= 64) {
        memcpy(to, from, 64); /* at most 31 bytes too many */
    } else if (len > 0) {
        memcpy(to, from, len);
    }
}

/** 16 bytes of a fixed-width value (I128, TS96), for loops that only move them. */
typedef struct tl_wide {
    uint64_t half[2];
} tl_wide;

#endif
