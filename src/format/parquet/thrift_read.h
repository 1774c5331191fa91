/*
 * Thrift compact protocol, reading: a cursor over bytes that may be anything.
 *
 * Field header: one byte (delta of the field id << 4 | type), or type alone followed by the zigzag id; 0 ends a struct.
 * Integers are zigzag varints; byte strings varint length + bytes; lists one byte (size << 4 | type), size 15 = varint follows.
 * Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 */
#ifndef TL_FORMAT_PARQUET_THRIFT_READ_H
#define TL_FORMAT_PARQUET_THRIFT_READ_H

#include "base/bits.h"
#include "base/mem.h"

typedef enum tl_thrift_type {
    TL_THRIFT_STOP = 0,
    TL_THRIFT_TRUE = 1, /* as a field; in a list both 1 and 2 say "bool" */
    TL_THRIFT_FALSE = 2,
    TL_THRIFT_BYTE = 3,
    TL_THRIFT_I16 = 4,
    TL_THRIFT_I32 = 5,
    TL_THRIFT_I64 = 6,
    TL_THRIFT_DOUBLE = 7,
    TL_THRIFT_BINARY = 8,
    TL_THRIFT_LIST = 9,
    TL_THRIFT_SET = 10,
    TL_THRIFT_MAP = 11,
    TL_THRIFT_STRUCT = 12,
    TL_THRIFT_UUID = 13
} tl_thrift_type;

typedef struct tl_thrift_cursor {
    const uint8_t *base; /* for offsets in messages */
    const uint8_t *p;
    const uint8_t *end;
    const char *what; /* the struct being read, for messages */
    tl_arena *arena;  /* for strings and lists; NULL where nothing is allocated */
    tl_error *err;
} tl_thrift_cursor;

typedef struct tl_thrift_field {
    int16_t id; /* 0 before the first field of a struct */
    tl_thrift_type type;
} tl_thrift_field;

static inline tl_thrift_cursor tl_thrift_cursor_of(tl_bytes_view bytes, const char *what, tl_arena *arena, tl_error *err)
{
    return (tl_thrift_cursor){bytes.data, bytes.data, bytes.data + bytes.len, what, arena, err};
}
static inline size_t tl_thrift_left(const tl_thrift_cursor *c)
{
    return (size_t)(c->end - c->p);
}

/** TL_E_CORRUPT naming the struct and the byte. */
tl_status tl_thrift__corrupt(const tl_thrift_cursor *c, const char *why);
/** Reads one field's value into `out`, or returns tl_thrift__skip(). */
typedef tl_status (*tl_thrift_on_field)(tl_thrift_cursor *c, const tl_thrift_field *field, void *out);
/** Read a struct, field by field. *seen (may be NULL) gets bit i for each field id i < 32 that was there. */
tl_status tl_thrift__struct(tl_thrift_cursor *c, tl_thrift_on_field on_field, void *out, uint32_t *seen);
/** Step over the value of a field that nobody asked for. */
tl_status tl_thrift__skip(tl_thrift_cursor *c, const tl_thrift_field *field);

/* Values of a field. Each checks that the field has the type it should have. */
tl_status tl_thrift__bool(tl_thrift_cursor *c, const tl_thrift_field *field, bool *out);
tl_status tl_thrift__i8(tl_thrift_cursor *c, const tl_thrift_field *field, int8_t *out);
tl_status tl_thrift__i32(tl_thrift_cursor *c, const tl_thrift_field *field, int32_t *out);
tl_status tl_thrift__i64(tl_thrift_cursor *c, const tl_thrift_field *field, int64_t *out);
tl_status tl_thrift__binary(tl_thrift_cursor *c, const tl_thrift_field *field, tl_bytes_view *out);
/** A copy that ends in NUL, in the arena. A NUL inside is TL_E_CORRUPT: names are C strings here. */
tl_status tl_thrift__string(tl_thrift_cursor *c, const tl_thrift_field *field, const char **out);
tl_status tl_thrift__element_string(tl_thrift_cursor *c, const char **out);
/** A struct as the value of a field. */
tl_status tl_thrift__sub(tl_thrift_cursor *c, const tl_thrift_field *field, tl_thrift_on_field on_field, void *out,
                         uint32_t *seen);
tl_status tl_thrift__expect(tl_thrift_cursor *c, const tl_thrift_field *field, tl_thrift_type type);
/**
 * Head of a list whose elements have `type` and take at least `bytes_min` bytes each: a longer list than the bytes left
 * allow is TL_E_CORRUPT. *items is that many zeroed items of `item_bytes` in the arena.
 */
tl_status tl_thrift__list(tl_thrift_cursor *c, const tl_thrift_field *field, tl_thrift_type type, size_t bytes_min,
                          size_t item_bytes, int32_t *count, void *items);
/* Elements of a list. */
tl_status tl_thrift__element_bool(tl_thrift_cursor *c, bool *out);
tl_status tl_thrift__element_i32(tl_thrift_cursor *c, int32_t *out);
tl_status tl_thrift__element_i64(tl_thrift_cursor *c, int64_t *out);
tl_status tl_thrift__element_binary(tl_thrift_cursor *c, tl_bytes_view *out);

#endif
