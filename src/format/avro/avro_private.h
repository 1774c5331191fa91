/*
 * Parts shared by the files of avro/: parsed schemas, the wire cursor, and the container (header, blocks, sync markers).
 * Source: Apache Avro 1.12 specification, "Binary Encoding" and "Object Container Files".
 */
#ifndef TL_FORMAT_AVRO_PRIVATE_H
#define TL_FORMAT_AVRO_PRIVATE_H

#include "base/bits.h"
#include "base/json.h"
#include "format/avro/avro.h"
#include "format/format.h"

/* ---- schema ---- */

typedef enum tl_avro_wire {
    TL_AVRO_WIRE_NULL,
    TL_AVRO_WIRE_BOOLEAN,
    TL_AVRO_WIRE_INT,
    TL_AVRO_WIRE_LONG,
    TL_AVRO_WIRE_FLOAT,
    TL_AVRO_WIRE_DOUBLE,
    TL_AVRO_WIRE_BYTES,
    TL_AVRO_WIRE_STRING,
    TL_AVRO_WIRE_FIXED,
    TL_AVRO_WIRE_ENUM,
    TL_AVRO_WIRE_ARRAY,
    TL_AVRO_WIRE_MAP,
    TL_AVRO_WIRE_UNION,
    TL_AVRO_WIRE_RECORD
} tl_avro_wire;

typedef enum tl_avro_logical {
    TL_AVRO_LOGICAL_NONE,
    TL_AVRO_LOGICAL_DECIMAL,
    TL_AVRO_LOGICAL_DATE,
    TL_AVRO_LOGICAL_TIME_MILLIS,
    TL_AVRO_LOGICAL_TIME_MICROS,
    TL_AVRO_LOGICAL_TIMESTAMP_MILLIS,
    TL_AVRO_LOGICAL_TIMESTAMP_MICROS,
    TL_AVRO_LOGICAL_TIMESTAMP_NANOS,
    TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS,
    TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS,
    TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS
} tl_avro_logical;

/** Nesting of a schema, references followed: bounds the recursion of all that walks it. */
#define TL_AVRO_DEPTH_MAX 100
/** Size of a file's header (schema and other metadata). */
#define TL_AVRO_HEADER_BYTES_MAX (16 << 20)

/** A node of a schema; a named type is shared by its references. Recursive types are refused, so this is acyclic. */
typedef struct tl_avro_schema tl_avro_schema;
struct tl_avro_schema {
    tl_avro_wire wire;
    tl_avro_logical logical;
    int32_t precision; /* DECIMAL */
    int32_t scale;
    int64_t fixed_bytes; /* FIXED */
    int64_t min_bytes;   /* fewest bytes of a value, saturating; 0 means that every value has none */
    int32_t depth;
    int32_t n; /* children: RECORD's fields, UNION's branches, 1 for ARRAY and MAP; ENUM: symbols (without children) */
    const tl_avro_schema **children;
    tl_bytes_view *names; /* RECORD: of the fields */
};

/** Parse; nodes and names live in `arena` and point into `json`, which must outlive them. */
tl_status tl_avro__schema_parse(tl_arena *arena, tl_bytes_view json, const tl_avro_schema **out, tl_error *err);
/** "record", "int", … for messages. */
const char *tl_avro__wire_name(tl_avro_wire wire);
/** If `schema` is a union of null and one other type: that type, and null's index in *null_branch. Else itself and -1. */
const tl_avro_schema *tl_avro__nullable(const tl_avro_schema *schema, int *null_branch);
/** Field of a RECORD by name, -1 if absent. */
int32_t tl_avro__field_index(const tl_avro_schema *record, const char *name);

/* ---- wire ---- */

typedef struct tl_avro_cursor {
    const uint8_t *p;
    const uint8_t *end;
} tl_avro_cursor;

static inline bool tl_avro__read_long(tl_avro_cursor *c, int64_t *out)
{
    uint64_t v;
    if (TL_LIKELY(c->p < c->end && *c->p < 0x80)) {
        v = *c->p++;
    } else {
        size_t n = tl_varint_decode(c->p, c->end, &v);
        if (n == 0)
            return false;
        c->p += n;
    }
    *out = tl_unzigzag64(v);
    return true;
}
static inline bool tl_avro__read_bytes(tl_avro_cursor *c, tl_bytes_view *out)
{
    int64_t len;
    if (!tl_avro__read_long(c, &len) || len < 0 || len > c->end - c->p)
        return false;
    *out = (tl_bytes_view){c->p, (size_t)len};
    c->p += len;
    return true;
}
/** Head of the next block of an array or map: *n items follow, 0 at the end. Each item needs `min_bytes` (>= 1 unless all
    items are empty, when only the end is looked for). */
bool tl_avro__read_block(tl_avro_cursor *c, int64_t min_bytes, int64_t *n);
/** Pass over one value. */
bool tl_avro__skip(tl_avro_cursor *c, const tl_avro_schema *schema);

static inline tl_status tl_avro__put_long(tl_buf *buf, int64_t v)
{
    TL_TRY(tl_buf_reserve(buf, 10));
    buf->len += tl_varint_encode(tl_zigzag64(v), buf->data + buf->len);
    return TL_OK;
}
static inline tl_status tl_avro__put_bytes(tl_buf *buf, tl_bytes_view v)
{
    TL_TRY(tl_avro__put_long(buf, (int64_t)v.len));
    return tl_buf_append(buf, v.data, v.len);
}

/* ---- container, reading ---- */

/** A container file, in memory or behind a tl_file. Zero-initialise before open. */
typedef struct tl_avro_in {
    tl_bytes_view memory; /* the whole file; data NULL: read through `file` */
    tl_file *file;        /* not owned */
    int64_t bytes;        /* size of the file */
    int64_t pos;          /* next block's offset */
    int64_t block_no;     /* blocks read so far */
    tl_codec codec;
    uint8_t sync[16];
    tl_bytes_view schema_json;
    const tl_avro_schema *schema; /* RECORD */
    int null_branch;              /* of the old top-level union ["null", record]; -1: there is none */
    tl_buf raw;                   /* the block as stored, if it had to be read */
    tl_buf plain;                 /* decompressed */
    tl_arena arena;
} tl_avro_in;

/** Read the header. `memory` or `file` (of `bytes` bytes) is given; both must outlive `in`. */
tl_status tl_avro__in_open(tl_avro_in *in, tl_bytes_view memory, tl_file *file, int64_t bytes, tl_error *err);
void tl_avro__in_deinit(tl_avro_in *in);
/** Next block with its records, decompressed; valid until the next call. data->data == NULL at the end of the file. */
tl_status tl_avro__in_next(tl_avro_in *in, tl_bytes_view *data, int64_t *n_records, tl_error *err);
/** TL_E_CORRUPT at the current block. */
tl_status tl_avro__in_corrupt(const tl_avro_in *in, const char *what, tl_error *err);

/* ---- container, writing ---- */

/** A block is closed when its records reach this size: the reference's default sync interval. */
#define TL_AVRO_BLOCK_BYTES 64000

typedef struct tl_avro_out {
    tl_fs *fs; /* ref held */
    char *path;
    tl_file *file;
    tl_codec codec;
    tl_compressor *compressor; /* NULL for codec null */
    uint8_t sync[16];
    tl_buf block; /* records of the block being filled: append here, then call tl_avro__out_record() */
    int64_t block_records;
    tl_buf packed; /* compressed block */
    int64_t bytes; /* written */
    bool finished;
} tl_avro_out;

/** Create the file and write the header. Zero-initialise before. */
tl_status tl_avro__out_create(tl_avro_out *out, tl_fs *fs, const char *path, tl_bytes_view schema_json, const char *compression,
                              int level, tl_error *err);
/** A record was appended to `block`: write the block if it is full. */
tl_status tl_avro__out_record(tl_avro_out *out, tl_error *err);
tl_status tl_avro__out_finish(tl_avro_out *out, tl_error *err);
/** Removes the file unless it was finished. */
void tl_avro__out_deinit(tl_avro_out *out);

#endif
