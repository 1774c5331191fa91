/*
 * ORC inside this folder: the file's metadata as C structs, shared by reader and writer.
 *
 *     3  magic "ORC"
 *     .  stripes; each: index streams (ROW_INDEX …), data streams, stripe footer
 *     .  metadata: statistics of each stripe
 *     .  footer: types, stripes, statistics of the file
 *     .  postscript: sizes and compression of the two before it; ends with the magic
 *     1  bytes of the postscript
 *
 * Metadata are protocol buffers; all but the postscript is cut into blocks, each compressed for itself behind a header of three
 * bytes: LE (bytes << 1 | is_original). A stream is such blocks; a position in it is the block's offset and an offset in its
 * plain bytes. Source: ORC specification v1 (https://orc.apache.org/specification/ORCv1/), orc_proto.proto; names are theirs.
 */
#ifndef TL_FORMAT_ORC_PRIVATE_H
#define TL_FORMAT_ORC_PRIVATE_H

#include "format/input.h"

#define TL_ORC_MAGIC "ORC"
#define TL_ORC_MAGIC_BYTES 3
/** Values of a run at most, in any of the run length encodings. */
#define TL_ORC_RUN_MAX 512
/** Timestamps count from here: 2015-01-01 00:00:00 of the writer's time zone. */
#define TL_ORC_EPOCH_2015 INT64_C(1420070400)
/** Writer versions (postscript) from which bounds of strings and of timestamps can be believed. */
#define TL_ORC_VERSION_STRINGS 1
#define TL_ORC_VERSION_TIMESTAMPS 6

typedef enum tl_orc_kind {
    TL_ORC_BOOLEAN = 0,
    TL_ORC_BYTE = 1,
    TL_ORC_SHORT = 2,
    TL_ORC_INT = 3,
    TL_ORC_LONG = 4,
    TL_ORC_FLOAT = 5,
    TL_ORC_DOUBLE = 6,
    TL_ORC_STRING = 7,
    TL_ORC_BINARY = 8,
    TL_ORC_TIMESTAMP = 9,
    TL_ORC_LIST = 10,
    TL_ORC_MAP = 11,
    TL_ORC_STRUCT = 12,
    TL_ORC_UNION = 13,
    TL_ORC_DECIMAL = 14,
    TL_ORC_DATE = 15,
    TL_ORC_VARCHAR = 16,
    TL_ORC_CHAR = 17,
    TL_ORC_TIMESTAMP_INSTANT = 18,
    TL_ORC_KIND_MAX = 255 /* what a file says beyond it becomes this: no kind, as all between */
} tl_orc_kind;

typedef enum tl_orc_compression {
    TL_ORC_NONE = 0,
    TL_ORC_ZLIB = 1,
    TL_ORC_SNAPPY = 2,
    TL_ORC_LZO = 3,
    TL_ORC_LZ4 = 4,
    TL_ORC_ZSTD = 5
} tl_orc_compression;

typedef enum tl_orc_stream_kind {
    TL_ORC_PRESENT = 0,
    TL_ORC_DATA = 1,
    TL_ORC_LENGTH = 2,
    TL_ORC_DICTIONARY_DATA = 3,
    TL_ORC_SECONDARY = 5,
    TL_ORC_ROW_INDEX = 6,
    TL_ORC_BLOOM_FILTER_UTF8 = 8
} tl_orc_stream_kind;

typedef enum tl_orc_encoding {
    TL_ORC_DIRECT = 0,
    TL_ORC_DICTIONARY = 1,
    TL_ORC_DIRECT_V2 = 2,
    TL_ORC_DICTIONARY_V2 = 3
} tl_orc_encoding;

/** A node of the type tree; its place in the list is the column's number, [0] is the root. */
typedef struct tl_orc_type {
    tl_orc_kind kind;
    int32_t n_children;
    int32_t *children;
    const char **names; /* STRUCT */
    uint32_t length;    /* CHAR, VARCHAR; 0 if absent */
    int32_t precision;  /* DECIMAL; 38 and 18 if absent */
    int32_t scale;
} tl_orc_type;

typedef struct tl_orc_stripe {
    int64_t offset, index_bytes, data_bytes, footer_bytes, rows;
} tl_orc_stripe;

/** Statistics as they lie in the file, with the views pointing into its bytes. */
typedef struct tl_orc_stats {
    bool has_count;
    int64_t count;    /* values that are not null */
    int8_t has_null;  /* -1 if absent */
    bool has_ints;    /* INT, DATE, TIMESTAMP (milliseconds, UTC): both bounds */
    int64_t min, max;
    int32_t min_nanos, max_nanos; /* TIMESTAMP, of the millisecond */
    bool has_doubles;
    double min_double, max_double;
    bool has_texts;   /* STRING, DECIMAL as text: both bounds */
    tl_bytes_view min_text, max_text;
    bool has_true_count;
    int64_t true_count; /* BOOLEAN */
} tl_orc_stats;

typedef struct tl_orc_meta {
    bool has_magic; /* in the postscript; the oldest writers put it at the file's start only */
    tl_orc_compression compression;
    int64_t block_bytes; /* plain bytes of a compression block at most */
    int64_t footer_bytes, metadata_bytes;
    uint32_t version[2]; /* 0.11, 0.12; 1.9999 is the unstable 2.0 */
    uint32_t writer_version;
    int32_t n_types;
    tl_orc_type *types;
    int32_t n_stripes;
    tl_orc_stripe *stripes;
    int64_t rows;
    int64_t stride;              /* rows of a row group; 0: no row index */
    int32_t n_stats;             /* statistics of the file, by column */
    tl_bytes_view *stats;        /* ColumnStatistics messages */
    int32_t n_stripe_stats;      /* stripes that have statistics */
    tl_bytes_view *stripe_stats; /* StripeStatistics messages */
} tl_orc_meta;

typedef struct tl_orc_stream {
    uint64_t kind;
    uint64_t column;
    int64_t offset; /* in the file */
    int64_t bytes;
} tl_orc_stream;

typedef struct tl_orc_stripe_footer {
    int32_t n_streams;
    tl_orc_stream *streams;
    int32_t n_encodings;
    struct {
        uint64_t kind;
        uint64_t dictionary_size;
    } *encodings;
    tl_bytes_view timezone;
} tl_orc_stripe_footer;

typedef struct tl_orc_file {
    tl_format__input in;
    tl_arena arena; /* metadata */
    tl_buf tail;    /* plain bytes of the footer */
    tl_buf stats;   /* plain bytes of the metadata section */
    tl_orc_meta meta;
} tl_orc_file;

/* ---- protobuf.c: a cursor over one message ---- */

typedef struct tl_orc_pb {
    const uint8_t *p;
    const uint8_t *end;
    bool is_bad; /* malformed: no field comes any more */
    /* the field that tl_orc__pb_next() found */
    uint32_t field;
    uint32_t wire;
    uint64_t v;          /* varint, fixed32, fixed64 */
    tl_bytes_view bytes; /* length-delimited */
} tl_orc_pb;

tl_orc_pb tl_orc__pb(tl_bytes_view message);
/** Next field; false at the end and where the message is malformed (is_bad). */
bool tl_orc__pb_next(tl_orc_pb *pb);
/** A number that may come packed: calls for each; for fields of `repeated uint`. Returns false at the end of the field. */
bool tl_orc__pb_packed(tl_orc_pb *pb, uint64_t *out);

/* ---- meta.c ---- */

tl_status tl_orc__read_postscript(tl_bytes_view bytes, tl_orc_meta *out, tl_error *err);
tl_status tl_orc__read_footer(tl_bytes_view bytes, tl_arena *arena, tl_orc_meta *out, tl_error *err);
tl_status tl_orc__read_metadata(tl_bytes_view bytes, tl_arena *arena, tl_orc_meta *out, tl_error *err);
/** Streams get their places: the first lies at the stripe's start. */
tl_status tl_orc__read_stripe_footer(tl_bytes_view bytes, const tl_orc_stripe *stripe, tl_arena *arena, tl_orc_stripe_footer *out,
                                     tl_error *err);
/** False if the message is malformed. */
bool tl_orc__read_stats(tl_bytes_view message, uint32_t writer_version, tl_orc_stats *out);

/* ---- file.c ---- */

tl_status tl_orc__file_open(tl_fs *fs, const char *path, int64_t bytes, tl_orc_file *out, tl_error *err);
void tl_orc__file_close(tl_orc_file *file);
/** Plain bytes of a piece of metadata, appended to `out`. */
tl_status tl_orc__file_plain(const tl_orc_file *file, int64_t offset, int64_t bytes, tl_buf *out, tl_error *err);
/** Name of the only column of a file whose root is no struct: Hive's for the first of columns without names. */
#define TL_ORC_ONLY_COLUMN "_col0"

/** The file's ROW. */
tl_status tl_orc__root_type(const tl_orc_meta *meta, const tl_type **out, tl_error *err);
/** The type of one of its columns. */
tl_status tl_orc__type_of(const tl_orc_meta *meta, int32_t column, const tl_type **out, tl_error *err);

/* ---- block.c ---- */

/**
 * Plain bytes of the compression block at *at, appended to `out`; *at moves behind it. With TL_ORC_NONE all that is left.
 */
tl_status tl_orc__block(tl_orc_compression compression, int64_t block_bytes, tl_bytes_view bytes, size_t *at, tl_buf *out,
                        tl_error *err);

/* ---- bloom.c ---- */

/** Room for the text of any decimal: 39 digits or its scale's, sign, point. */
#define TL_ORC_DECIMAL_TEXT_MAX 64
/** Text of v / 10^scale, no NUL at its end; returns its bytes. With `is_short` without zeros at the end of a fraction. */
size_t tl_orc__decimal_text(tl_i128 v, int32_t scale, bool is_short, char *text);
uint64_t tl_orc__hash_bytes(tl_bytes_view v);
uint64_t tl_orc__hash_number(int64_t v);
uint64_t tl_orc__hash_double(double v);
uint64_t tl_orc__hash_decimal(tl_i128 v, int32_t scale);
/** The i-th bit (from 1) of a filter of n_bits that a hash sets. */
uint64_t tl_orc__bloom_bit(uint64_t hash, uint32_t i, uint64_t n_bits);

/* ---- the two halves ---- */

tl_status tl_orc__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err);
tl_status tl_orc__schema(tl_fs *fs, const char *path, const tl_type **out, tl_error *err);
tl_status tl_orc__stats(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err);
tl_status tl_orc__create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err);

#endif
