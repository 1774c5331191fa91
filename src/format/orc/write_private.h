/* The writer's parts: streams, run length encoders, statistics, protobuf output, and the tree of column writers. */
#ifndef TL_FORMAT_ORC_WRITE_PRIVATE_H
#define TL_FORMAT_ORC_WRITE_PRIVATE_H

#include "base/bits.h"
#include "format/dictionary.h"
#include "format/orc/orc_private.h"

/** Plain bytes of a compression block, and rows of a row group: what the reference takes. */
#define TL_ORC_BLOCK_BYTES (128 << 10)
#define TL_ORC_STRIDE 10000
/** Longer strings are no bounds. */
#define TL_ORC_BOUND_BYTES_MAX 1024

/* ---- write_stream.c ---- */

typedef struct tl_orc_out {
    tl_compressor *compressor; /* borrowed; NULL: none */
    tl_buf plain;              /* the block in the making */
    tl_buf done;
} tl_orc_out;
void tl_orc__out_deinit(tl_orc_out *out);
void tl_orc__out_reset(tl_orc_out *out);
tl_status tl_orc__out_put(tl_orc_out *out, const void *data, size_t bytes, tl_error *err);
/** End the last block: `done` is the stream. */
tl_status tl_orc__out_flush(tl_orc_out *out, tl_error *err);
/** Numbers of the present place: one or two. Returns how many. */
int tl_orc__out_position(const tl_orc_out *out, uint64_t *to);

typedef struct tl_orc_ints_out { /* run length encoding, version 2 */
    tl_orc_out out;
    bool is_signed;
    int32_t n;
    int64_t pending[TL_ORC_RUN_MAX];
} tl_orc_ints_out;
tl_status tl_orc__ints_flush(tl_orc_ints_out *ints, tl_error *err);
static inline tl_status tl_orc__ints_put(tl_orc_ints_out *ints, int64_t v, tl_error *err)
{
    ints->pending[ints->n++] = v;
    return ints->n < TL_ORC_RUN_MAX ? TL_OK : tl_orc__ints_flush(ints, err);
}
tl_status tl_orc__ints_put_all(tl_orc_ints_out *ints, const int64_t *v, int64_t n, tl_error *err);
int tl_orc__ints_position(const tl_orc_ints_out *ints, uint64_t *to);

#define TL_ORC_OCTETS_MAX 128
typedef struct tl_orc_octets_out {
    tl_orc_out out;
    int32_t n;
    uint8_t pending[TL_ORC_OCTETS_MAX];
} tl_orc_octets_out;
tl_status tl_orc__octets_flush(tl_orc_octets_out *octets, tl_error *err);
static inline tl_status tl_orc__octets_put(tl_orc_octets_out *octets, uint8_t v, tl_error *err)
{
    octets->pending[octets->n++] = v;
    return octets->n < TL_ORC_OCTETS_MAX ? TL_OK : tl_orc__octets_flush(octets, err);
}
int tl_orc__octets_position(const tl_orc_octets_out *octets, uint64_t *to);

typedef struct tl_orc_bits_out {
    tl_orc_octets_out octets;
    uint32_t bits;
    int32_t n;
} tl_orc_bits_out;
static inline tl_status tl_orc__bits_put(tl_orc_bits_out *bits, bool v, tl_error *err)
{
    bits->bits = bits->bits << 1 | v;
    if (++bits->n < 8)
        return TL_OK;
    bits->n = 0;
    return tl_orc__octets_put(&bits->octets, (uint8_t)bits->bits, err);
}
tl_status tl_orc__bits_put_ones(tl_orc_bits_out *bits, int64_t n, tl_error *err);
tl_status tl_orc__bits_flush(tl_orc_bits_out *bits, tl_error *err);
int tl_orc__bits_position(const tl_orc_bits_out *bits, uint64_t *to);

/* ---- write_stats.c ---- */

/** What is known of a column's values in a row group, a stripe or the file. */
typedef struct tl_orc_bounds {
    int64_t count; /* not null */
    bool has_null;
    bool has_any; /* the bounds below hold */
    bool no_sum;  /* it does not fit */
    int64_t min, max, sum;
    int32_t min_nanos, max_nanos;
    double min_double, max_double, sum_double;
    tl_i128 min_wide, max_wide;
    tl_buf min_text, max_text;
    int64_t true_count, bytes;
} tl_orc_bounds;
void tl_orc__bounds_deinit(tl_orc_bounds *b);
void tl_orc__bounds_reset(tl_orc_bounds *b);
void tl_orc__bounds_int(tl_orc_bounds *b, int64_t v);
/** At most TL_ORC_RUN_MAX of them. */
void tl_orc__bounds_ints(tl_orc_bounds *b, const int64_t *v, int64_t n);
void tl_orc__bounds_double(tl_orc_bounds *b, double v);
void tl_orc__bounds_wide(tl_orc_bounds *b, tl_i128 v);
void tl_orc__bounds_timestamp(tl_orc_bounds *b, int64_t millis, int32_t nanos);
tl_status tl_orc__bounds_text(tl_orc_bounds *b, tl_bytes_view v);
/** `from` is of the same type as `to`. */
tl_status tl_orc__bounds_merge(tl_orc_bounds *to, const tl_orc_bounds *from, tl_orc_kind kind);
/** ColumnStatistics message, appended to `out`. */
tl_status tl_orc__bounds_message(const tl_orc_bounds *b, tl_orc_kind kind, const tl_type *type, tl_buf *out);
/** As the caller of the writer gets them. */
tl_status tl_orc__bounds_result(const tl_orc_bounds *b, const tl_type *type, int64_t rows, tl_column_stats *out, tl_error *err);

/* Protobuf output. */
tl_status tl_orc__put_uint(tl_buf *out, uint32_t field, uint64_t v);
tl_status tl_orc__put_sint(tl_buf *out, uint32_t field, int64_t v);
tl_status tl_orc__put_bytes(tl_buf *out, uint32_t field, const void *data, size_t bytes);

typedef struct tl_orc_group tl_orc_group;
typedef struct tl_orc_wnode tl_orc_wnode;

/* ---- write_words.c: dictionaries ---- */

typedef enum tl_orc_words_state {
    TL_ORC_WORDS_NONE,  /* values are written as they are */
    TL_ORC_WORDS_TRIED, /* the stripe's first row group: its rows wait as numbers */
    TL_ORC_WORDS_USED
} tl_orc_words_state;

typedef struct tl_orc_words {
    double threshold; /* words to values at most; 0: no dictionary */
    tl_orc_words_state state;
    tl_format_dict dict;
    tl_buf lengths;  /* uint32_t: of each word as it is written */
    tl_buf in_group; /* a byte for each word: a row of the group has it */
    tl_buf ids;      /* uint32_t: numbers of the rows that wait */
} tl_orc_words;

void tl_orc__words_deinit(tl_orc_words *words);
/** For the next stripe. */
void tl_orc__words_reset(tl_orc_words *words);
/** `n` texts, none of them null: rows `rows` (NULL: from, from + 1, …) of `col`. */
tl_status tl_orc__words_put(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err);
/** The words of the row group that ends, in its bounds. */
tl_status tl_orc__words_bounds(tl_orc_wnode *node, tl_error *err);
/** At the end of the stripe's first row group: whether there is a dictionary; its rows go out in that form. */
tl_status tl_orc__words_decide(tl_orc_wnode *node, tl_error *err);
/** The words of the stripe into `data` and `lengths`. */
tl_status tl_orc__words_flush(tl_orc_wnode *node, tl_error *err);
/** A text as it is written: CHAR is padded with blanks to its length, CHAR and VARCHAR are cut to theirs. Valid until the next call. */
tl_status tl_orc__fit_text(tl_orc_wnode *node, tl_bytes_view *v, tl_error *err);

/* ---- write_node.c ---- */

struct tl_orc_wnode {
    const tl_type *type;
    tl_orc_kind kind;
    int32_t column; /* number in the file */
    int32_t id;     /* paimon.id; -1: none */
    int32_t n_children;
    tl_orc_wnode *children;
    bool had_null; /* in this stripe */
    tl_buf rows;   /* scratch: uint32_t, rows that are not null */
    tl_orc_bits_out present;
    tl_orc_bits_out bits;
    tl_orc_octets_out octets;
    tl_orc_ints_out ints; /* integers, seconds, numbers of words */
    tl_orc_ints_out lengths;
    tl_orc_out data;
    tl_orc_words words; /* STRING, VARCHAR, CHAR */
    size_t bloom_bytes; /* 0: no bloom filters */
    uint32_t n_hashes;
    tl_buf bloom;       /* bits of the row group */
    tl_buf blooms;      /* BloomFilterIndex of the stripe */
    tl_buf groups; /* row groups of the stripe */
    tl_buf group_stats;
    tl_orc_bounds group, stripe, file;
    tl_buf scratch;
};

tl_status tl_orc__wnode_init(tl_orc_wnode *node, const tl_type *type, int32_t id, int32_t id_base, int32_t depth,
                             int32_t *n_columns, tl_compressor *compressor, tl_arena *arena, tl_error *err);
void tl_orc__wnode_deinit(tl_orc_wnode *node);
/** Columns below the node, and it itself, have a dictionary where words are at most this share of their values. */
void tl_orc__wnode_set_words(tl_orc_wnode *node, double threshold);
/** Rows [from, from + n) of a column of the node's type. */
tl_status tl_orc__wnode_write(tl_orc_wnode *node, const tl_column *col, int64_t from, int64_t n, tl_error *err);
tl_status tl_orc__wnode_start_group(tl_orc_wnode *node, tl_error *err);
tl_status tl_orc__wnode_end_group(tl_orc_wnode *node, tl_error *err);
/** The stripe's only row group begins where the streams are now. */
void tl_orc__wnode_restart_group(tl_orc_wnode *node);
/** Bytes that the stripe holds. */
int64_t tl_orc__wnode_bytes(const tl_orc_wnode *node);

/* ---- write_values.c ---- */

/** `n` values, none of them null: rows `rows` (NULL: from, from + 1, …) of `col`. */
tl_status tl_orc__values_put(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err);
/** Splits a timestamp of any layout; nanoseconds of the millisecond. */
void tl_orc__split_timestamp(const tl_column *col, int64_t i, int64_t *millis, int32_t *nanos);

/* ---- write_bloom.c: for nodes whose bloom_bytes are not 0 ---- */

/** The node and those below it get bloom filters that say yes in vain for this share of values; 0 < fpp < 1. */
void tl_orc__wnode_set_bloom(tl_orc_wnode *node, double fpp);
tl_status tl_orc__bloom_start(tl_orc_wnode *node, tl_error *err);
tl_status tl_orc__bloom_rows(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err);
tl_status tl_orc__bloom_end(tl_orc_wnode *node, tl_error *err);

/** Where a stripe goes: index streams, data streams, and what the footers say of them. */
typedef struct tl_orc_stripe_out {
    tl_compressor *compressor;
    tl_buf index;
    tl_buf data;
    tl_buf index_streams; /* Stream messages as fields of the stripe footer */
    tl_buf data_streams;
    tl_buf encodings;
    tl_buf stats; /* ColumnStatistics as fields of StripeStatistics */
} tl_orc_stripe_out;
/** End the stripe: all streams are appended to `out`, and the node is as new. */
tl_status tl_orc__wnode_end_stripe(tl_orc_wnode *node, tl_orc_stripe_out *out, tl_error *err);

#endif
