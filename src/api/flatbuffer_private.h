/*
 * Just enough of FlatBuffers to write Arrow's messages: tables, strings, vectors of offsets and of structs.
 *
 * Layout (all little endian): the buffer begins with the uint32 offset of the root table. A table is an int32 distance back to
 * its vtable, then its fields, each aligned to its size. A vtable is uint16 counts: its own bytes, the table's bytes, then the
 * place of each field in the table, 0 if absent. References are uint32 distances forward from where they stand. A string is
 * its uint32 length, bytes, NUL; a vector its uint32 count and its elements.
 *
 * Objects are written parents first: an offset field stays 0 until fb_refer() fills it in with the place of what was written
 * later. Source: FlatBuffers, "Internals".
 */
#ifndef TL_API_FLATBUFFER_PRIVATE_H
#define TL_API_FLATBUFFER_PRIVATE_H

#include "base/mem.h"

#define FB_FIELDS_MAX 8

/* A field of a table: its size in bytes (0: absent, 4 for references) and value. */
typedef struct fb_field {
    uint8_t bytes;
    uint64_t value;
} fb_field;

typedef struct fb_writer {
    tl_buf out;
    tl_status status; /* sticky: look once at the end */
} fb_writer;

/** Begin a buffer: room for the reference to the root, which is to be set with fb_refer(w, 0, root). */
void fb_begin(fb_writer *w);
void fb_deinit(fb_writer *w);
/** Place of the table; where field i stands goes to places[i] (may be NULL). */
size_t fb_table(fb_writer *w, const fb_field *fields, size_t n, size_t *places);
size_t fb_string(fb_writer *w, const char *text);
/** A vector of `n` references; the first stands at the result + 4, the next 4 bytes on. */
size_t fb_references(fb_writer *w, size_t n);
/** A vector of structs of two int64. */
size_t fb_pairs(fb_writer *w, const int64_t (*pairs)[2], size_t n);
/** The reference at `place` is to `target`, which stands behind it. */
void fb_refer(fb_writer *w, size_t place, size_t target);
/** Zeros up to a multiple of `alignment` plus `after`. */
void fb_align(fb_writer *w, size_t alignment, size_t after);

#endif
