/*
 * Parts shared by the files of avro/: parsed schemas, the wire cursor, and the container (header, blocks, sync markers).
 * Source: Apache Avro 1.12 specification, "Binary Encoding" and "Object Container Files".
 */
#ifndef TL_FORMAT_AVRO_PRIVATE_H
#define TL_FORMAT_AVRO_PRIVATE_H

#include "base/bits.h"
#include "base/json.h"
#include "format/avro/avro.h"
#include "format/input.h"
#include "types/builder.h"

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
/** The same, shared with others that have the same text. */
typedef struct tl_avro_parsed tl_avro_parsed;
tl_status tl_avro__parsed_get(tl_bytes_view json, tl_avro_parsed **out, tl_error *err);
const tl_avro_schema *tl_avro__parsed_schema(const tl_avro_parsed *parsed);
tl_bytes_view tl_avro__parsed_text(const tl_avro_parsed *parsed);
void tl_avro__parsed_unref(tl_avro_parsed *parsed); /* NULL is fine */
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
    tl_avro_parsed *parsed;
    const tl_avro_schema *schema; /* RECORD, part of `parsed` */
    int null_branch;              /* of the old top-level union ["null", record]; -1: there is none */
    tl_buf window;                /* bytes of `file` from window_pos on */
    int64_t window_pos;
    size_t read_ahead; /* bytes */
    int64_t counted;   /* of a mapped file: the bytes before this one are counted as read */
    tl_buf plain; /* decompressed */
} tl_avro_in;

/** Read the header. `memory` or `file` (of `bytes` bytes) is given; both must outlive `in`. */
tl_status tl_avro__in_open(tl_avro_in *in, tl_bytes_view memory, tl_file *file, int64_t bytes, tl_error *err);
void tl_avro__in_deinit(tl_avro_in *in);
/** A block as its head tells of it. */
typedef struct tl_avro_block {
    int64_t at; /* of its data in the file; -1: there is none, the file ends here */
    int64_t bytes;
    int64_t n_records;
} tl_avro_block;
/** The head of the next block; then read its data, or pass over it. */
tl_status tl_avro__in_head(tl_avro_in *in, tl_avro_block *out, tl_error *err);
/** Its records, decompressed; valid until the next call. */
tl_status tl_avro__in_body(tl_avro_in *in, const tl_avro_block *block, tl_bytes_view *data, tl_error *err);
/** Before it is opened: most blocks will be passed over, do not read ahead. */
void tl_avro__in_expect_gaps(tl_avro_in *in);
void tl_avro__in_pass(tl_avro_in *in, const tl_avro_block *block);
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

/* ---- columns: data files ---- */

/** The schema JSON that the reference writes for a table's ROW; TL_E_INVALID for types and names that Avro has not. */
tl_status tl_avro__type_schema(const tl_type *row_type, tl_buf *out, tl_error *err);
/** Whether a MAP or MULTISET is an Avro map: its keys are CHAR or VARCHAR. Others are arrays of entries. */
bool tl_avro__is_string_map(const tl_type *map);

/** How the values of one field of the file become values of a column's type. */
typedef enum tl_avro_op {
    TL_AVRO_OP_SKIP,
    TL_AVRO_OP_BOOL,
    TL_AVRO_OP_INT,
    TL_AVRO_OP_TIME_MICROS,
    TL_AVRO_OP_F32,
    TL_AVRO_OP_F64,
    TL_AVRO_OP_F32_TO_F64,
    TL_AVRO_OP_BYTES,
    TL_AVRO_OP_FIXED,
    TL_AVRO_OP_DECIMAL,
    TL_AVRO_OP_DECIMAL_FIXED,
    TL_AVRO_OP_TIMESTAMP,
    TL_AVRO_OP_LIST,
    TL_AVRO_OP_MAP,     /* Avro map */
    TL_AVRO_OP_ENTRIES, /* array of records of a key and a value */
    TL_AVRO_OP_ROW
} tl_avro_op;

typedef struct tl_avro_node tl_avro_node;
struct tl_avro_node {
    tl_avro_op op;
    int8_t null_branch;           /* index of null in the union around the value; -1: no union */
    const tl_avro_schema *schema; /* without that union */
    const tl_type *type;          /* borrowed; NULL for SKIP */
    tl_phys phys;
    int64_t ticks_per_second; /* TIMESTAMP: of the stored numbers */
    int32_t target;           /* field of the ROW around it */
    int32_t n;                /* LIST 1, MAP and ENTRIES 2 (key, value); ROW: fields of the file, in its order */
    tl_avro_node *children;
    int32_t n_absent; /* ROW: fields of the type that the file has not */
    int32_t *absent;
};

/** Resolve a file's record against the ROW wanted: a node of op ROW. `row_type` and `record` must outlive it. */
tl_status tl_avro__node_create(const tl_type *row_type, const tl_avro_schema *record, tl_avro_node *out, tl_error *err);
void tl_avro__node_deinit(tl_avro_node *node);

/** A scalar, in the form of the node's type. */
typedef union tl_avro_scalar {
    int64_t i; /* BOOL, I8 to I64 */
    float f32;
    double f64;
    tl_i128 i128;
    tl_ts96 ts96;
    tl_bytes_view bytes;
} tl_avro_scalar;
/** Read a scalar (not null); false if the bytes are wrong. */
bool tl_avro__read_scalar(tl_avro_cursor *c, const tl_avro_node *node, tl_avro_scalar *out);
/** Read a value of any kind, null included, into a builder of the node's type; TL_E_CORRUPT without a message if it is wrong.
 */
tl_status tl_avro__read_value(tl_avro_cursor *c, const tl_avro_node *node, tl_builder *builder);

/** Records into the columns of a batch. */
typedef struct tl_avro_rows {
    const tl_type *type; /* ROW wanted; borrowed */
    tl_avro_node row;
    int null_branch; /* of the union around the record; -1: there is none */
    struct tl_avro_sink *sinks; /* one per column wanted */
    struct tl_avro_step *steps; /* one per field of the file */
    int32_t four_credit;        /* above 0: fields are taken by fours where that is possible */
    int64_t batch_rows;
    tl_avro_cursor c; /* in the block: set by the owner */
    int64_t left;     /* records in the block: set by the owner */
    int64_t n;        /* rows of the batch so far */
    size_t batch_bytes;
    int32_t wrong_field; /* after an error; -1: the record itself */
} tl_avro_rows;
/** `row_type` and `record` must outlive it. Zero-initialise before; deinit() in any case. */
tl_status tl_avro__rows_init(tl_avro_rows *rows, const tl_type *row_type, const tl_avro_schema *record, int null_branch, int64_t batch_rows,
                             tl_error *err);
void tl_avro__rows_deinit(tl_avro_rows *rows);
tl_status tl_avro__rows_start(tl_avro_rows *rows, tl_error *err);
bool tl_avro__rows_have_room(const tl_avro_rows *rows);
/** Records until the block or the room ends. No message on failure: record `n` is wrong at `wrong_field`, or memory ended. */
tl_status tl_avro__rows_read(tl_avro_rows *rows);
/** The filled column. */
tl_status tl_avro__rows_take(tl_avro_rows *rows, int32_t column, tl_column **out, tl_error *err);

/** A value as writer.c writes it; TL_E_INVALID: it is null, and not `nullable`. */
tl_status tl_avro__put_value(tl_buf *buf, const tl_type *type, bool nullable, const tl_column *col, int64_t i);

/** Rows of batches as records. Zero-initialise. */
typedef struct tl_avro_rows_out {
    struct tl_avro_put *puts;
    int32_t n;
    int32_t wrong_column; /* after an error */
} tl_avro_rows_out;
/** The batch that rows come from next: of the file's type, but for what may be null. */
tl_status tl_avro__rows_out_plan(tl_avro_rows_out *rows, const tl_type *row_type, const tl_batch *batch);
/** Append one of its rows. No message on failure: see tl_avro__put_value(). */
tl_status tl_avro__rows_out_put(tl_avro_rows_out *rows, int64_t row, tl_buf *buf);
void tl_avro__rows_out_deinit(tl_avro_rows_out *rows);

tl_status tl_avro__reader_open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out,
                               tl_error *err);
/** The file's schema as a ROW. */
tl_status tl_avro__file_type(tl_fs *fs, const char *path, const tl_type **out, tl_error *err);
/** Rows alone: an Avro file has no statistics. */
tl_status tl_avro__file_stats(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err);
tl_status tl_avro__writer_create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err);

#endif
