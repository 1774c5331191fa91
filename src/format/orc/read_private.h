/* The reader's parts: streams, run length decoders, time zones, the tree of column readers, and pruning. */
#ifndef TL_FORMAT_ORC_READ_PRIVATE_H
#define TL_FORMAT_ORC_READ_PRIVATE_H

#include "base/bits.h"
#include "format/orc/orc_private.h"
#include "format/row_reader.h"

/* ---- read_stream.c: plain bytes of a stream, block by block ---- */

typedef struct tl_orc_in {
    tl_orc_compression compression;
    int64_t block_bytes;
    tl_bytes_view raw; /* the stream as it lies in the file */
    uint8_t *owned;    /* its copy where the file is not mapped */
    size_t at;         /* next block in `raw` */
    size_t counted;    /* of a mapped file: the bytes before this one are counted as read */
    tl_buf buf;        /* plain bytes of the window (with compression) */
    size_t last_at;    /* the last block of the window in `raw`, and its first byte in `buf` */
    size_t last_from;
    const uint8_t *p;  /* window: next byte and end */
    const uint8_t *end;
} tl_orc_in;

void tl_orc__in_deinit(tl_orc_in *in);
/** Start over with another stream; the buffer is kept. Takes `owned`. */
void tl_orc__in_reset(tl_orc_in *in, const tl_orc_file *file, tl_bytes_view raw, uint8_t *owned);
/** Make `bytes` of the stream lie at p, or all that are left. */
tl_status tl_orc__in_need(tl_orc_in *in, size_t bytes, tl_error *err);
tl_status tl_orc__in_read(tl_orc_in *in, void *dst, size_t bytes, tl_error *err);
tl_status tl_orc__in_skip(tl_orc_in *in, uint64_t bytes, tl_error *err);
/** As read, into a buffer that grows with what is there. */
tl_status tl_orc__in_append(tl_orc_in *in, tl_buf *dst, size_t bytes, tl_error *err);
/** Numbers of a row index entry, taken one after the other. */
typedef struct tl_orc_positions {
    tl_orc_pb pb;
    bool in_field;
} tl_orc_positions;
tl_orc_positions tl_orc__positions(tl_bytes_view entry);
tl_status tl_orc__positions_next(tl_orc_positions *pos, int64_t *out, tl_error *err);
/** To the place that the next one or two positions tell. */
tl_status tl_orc__in_seek(tl_orc_in *in, tl_orc_positions *pos, tl_error *err);
tl_status tl_orc__truncated(tl_error *err);

/* ---- read_rle.c ---- */

typedef struct tl_orc_ints {
    tl_orc_in in;
    bool is_v2;
    bool is_signed;
    int32_t n; /* values of the run, and those that are taken */
    int32_t taken;
    int64_t run[TL_ORC_RUN_MAX];
} tl_orc_ints;
tl_status tl_orc__ints_read(tl_orc_ints *ints, int64_t *dst, int64_t n, tl_error *err);
/** Over n values; runs that are packed are not unpacked. */
tl_status tl_orc__ints_skip(tl_orc_ints *ints, int64_t n, tl_error *err);
tl_status tl_orc__ints_seek(tl_orc_ints *ints, tl_orc_positions *pos, tl_error *err);

typedef struct tl_orc_octets { /* byte run length encoding */
    tl_orc_in in;
    int32_t left; /* of the run */
    bool is_repeat;
    uint8_t value;
} tl_orc_octets;
tl_status tl_orc__octets_read(tl_orc_octets *octets, uint8_t *dst, int64_t n, tl_error *err);
tl_status tl_orc__octets_seek(tl_orc_octets *octets, tl_orc_positions *pos, tl_error *err);

typedef struct tl_orc_bits { /* booleans: bits of such bytes, the highest first */
    tl_orc_octets octets;
    uint32_t bits; /* not taken yet, the lowest first */
    int32_t left;
} tl_orc_bits;
/** As a bitmap, lowest bit first; bits behind the last are zero. */
tl_status tl_orc__bits_read(tl_orc_bits *bits, uint8_t *bitmap, int64_t n, tl_error *err);
tl_status tl_orc__bits_seek(tl_orc_bits *bits, tl_orc_positions *pos, tl_error *err);

/* ---- read_zone.c ---- */

/** Offsets of a time zone from UTC; the default (all zero) is UTC. */
typedef struct tl_orc_zone {
    char *name;
    int32_t n;       /* transitions */
    int64_t *at;     /* ascending, UTC seconds */
    int32_t *offset; /* seconds east of UTC from at[i] on */
    int32_t first;   /* before at[0] */
} tl_orc_zone;
void tl_orc__zone_deinit(tl_orc_zone *zone);
/** Nothing happens if it is that zone already. TL_E_UNSUPPORTED if the system does not know it. */
tl_status tl_orc__zone_set(tl_orc_zone *zone, tl_bytes_view name, tl_error *err);
int32_t tl_orc__zone_offset(const tl_orc_zone *zone, int64_t utc_seconds);

/* ---- read_rows.c ---- */

/** Number of the column of a name under the root; -1: none. */
int32_t tl_orc__find_column(const tl_orc_type *root, const char *name);

/* ---- read_node.c: the columns wanted, as a tree ---- */

/** Words up to this length are copied with so many bytes, whatever theirs: behind a dictionary lies as much. */
#define TL_ORC_WORD_ROOM 32

/* A union is a ROW of `tag TINYINT`, which of its types a value has, and of a field for each type, `field0` …, of which one is not null. */
#define TL_ORC_TAG (-1)

typedef enum tl_orc_op {
    TL_ORC_OP_ABSENT, /* the file does not have it: null */
    TL_ORC_OP_BOOL,
    TL_ORC_OP_OCTET,
    TL_ORC_OP_INT,
    TL_ORC_OP_F32,
    TL_ORC_OP_F64,
    TL_ORC_OP_DECIMAL,
    TL_ORC_OP_DECIMAL64, /* file version 1.9999 */
    TL_ORC_OP_BYTES,
    TL_ORC_OP_TIMESTAMP,
    TL_ORC_OP_LIST, /* also maps */
    TL_ORC_OP_ROW,
    TL_ORC_OP_UNION
} tl_orc_op;

typedef struct tl_orc_node tl_orc_node;
struct tl_orc_node {
    tl_orc_op op;
    const tl_type *want;
    tl_phys phys;
    const tl_orc_type *type;
    int32_t column; /* in the file; -1 if absent */
    int32_t variant; /* of a field of a union: which type of the union it is; TL_ORC_TAG: the field that tells which */
    int32_t n_children;
    tl_orc_node *children;
    /* the stripe */
    bool has_present;
    bool is_dictionary;
    tl_orc_bits present;
    tl_orc_bits bits;     /* BOOL */
    tl_orc_octets octets; /* OCTET; UNION: tags */
    tl_orc_ints ints;     /* INT, DECIMAL64, TIMESTAMP: seconds, BYTES: numbers of words */
    tl_orc_ints lengths;  /* BYTES, LIST: lengths; DECIMAL: scales; TIMESTAMP: nanoseconds */
    tl_orc_in data;       /* F32, F64, DECIMAL, BYTES */
    tl_buf words;         /* dictionary: bytes, and n + 1 int32_t offsets into them */
    tl_buf word_offsets;
    int64_t n_words;
    int64_t word_bytes_max;
    const tl_orc_zone *zone; /* TIMESTAMP of a wall clock; NULL: UTC */
    int32_t n_entries;       /* row index; 0: there is none */
    tl_bytes_view *entries;  /* RowIndexEntry messages */
    int64_t filters_at, filters_size; /* bloom filters: a stream; 0 bytes: there is none */
    int32_t n_filters;       /* -1: not read yet */
    tl_bytes_view *filters;  /* BloomFilter messages */
    tl_buf filter_bytes;     /* what they point into */
    tl_buf index;            /* what they point into */
    tl_buf scratch[2];
};

/** Resolve a wanted type against a column of the file. */
tl_status tl_orc__node_init(tl_orc_node *node, const tl_orc_meta *meta, int32_t column, const tl_type *want, tl_arena *arena,
                            tl_error *err);
void tl_orc__node_deinit(tl_orc_node *node);
/** Streams and encoding of a stripe for the node and those below it. Entries live in `arena`. */
tl_status tl_orc__node_open(tl_orc_node *node, const tl_orc_file *file, const tl_orc_stripe_footer *footer, tl_orc_zone *zone,
                            tl_arena *arena, tl_error *err);
/** True if the node and those below have a row index of so many entries. */
bool tl_orc__node_can_seek(const tl_orc_node *node, int64_t n_groups);
tl_status tl_orc__node_seek(tl_orc_node *node, int64_t group, tl_error *err);
/** Bytes of a row at most, as far as the stripe tells; 0 if nothing is known. */
int64_t tl_orc__node_row_bytes(const tl_orc_node *node, int64_t rows);

/* ---- read_column.c ---- */

/** The next n rows; those whose bit of `mask` is not set have no value in the file (NULL: all have). */
tl_status tl_orc__node_read(tl_orc_node *node, int64_t n, const uint8_t *mask, tl_column **out, tl_error *err);

/** Room for n items of `bytes` in one of the node's two scratch buffers, in *out (a pointer). */
tl_status tl_orc__scratch(tl_orc_node *node, int which, int64_t n, size_t bytes, void *out, tl_error *err);
tl_status tl_orc__out_of_range(const tl_orc_node *node, tl_error *err);

/* ---- read_scaled.c: the next k values that are there, side by side at the front of the column ---- */

tl_status tl_orc__read_decimals(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err);
tl_status tl_orc__skip_decimals(tl_orc_node *node, int64_t k, tl_error *err);
tl_status tl_orc__read_timestamps(tl_orc_node *node, tl_column *col, int64_t k, tl_error *err);

/* ---- read_skip.c ---- */

/** Pass over the next n rows. */
tl_status tl_orc__node_skip(tl_orc_node *node, int64_t n, tl_error *err);

/* ---- read_prune.c ---- */

/** Statistics of a node's column out of its ColumnStatistics message (empty: unknown) for so many rows. */
tl_status tl_orc__column_stats(const tl_orc_meta *meta, const tl_orc_node *node, tl_bytes_view message, int64_t rows, tl_column_stats *out,
                               tl_error *err);
/** False only if no row can pass. `stats` holds a ColumnStatistics message for each column of the ROW (empty: unknown). */
tl_status tl_orc__may_match(const tl_predicate *predicate, const tl_orc_meta *meta, const tl_orc_node *nodes, int32_t n,
                            const bool *is_used, const tl_bytes_view *stats, int64_t rows, bool *out, tl_error *err);

/* ---- read_bloom.c ---- */

/** False only if no row of a row group can pass, by the bloom filters of the open stripe. What is read of them lives in `arena`. */
tl_status tl_orc__bloom_may_match(const tl_predicate *predicate, const tl_orc_file *file, tl_orc_node *nodes, int64_t group, int64_t n_groups,
                                  tl_arena *arena, bool *out, tl_error *err);

#endif
