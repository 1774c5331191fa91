/*
 * Parquet writer: what its files share.
 *
 * A batch goes through the writer column by column. A *leaf* is one column chunk in the making: it gathers the values of a
 * page, encodes and compresses full pages into memory, and hands the chunk over when the row group is full:
 *
 *   write_file.c     the file: batches in, row groups and footer out; rolling estimate; statistics of the file
 *   write_schema.c   ROW type -> schema elements and leaves (names, field ids, levels)
 *   write_options.c  table options -> tl_pq_write_options
 *   write_nested.c   ARRAY, MAP, ROW -> repetition and definition levels and the positions of the leaf's values
 *   write_variant.c  VARIANT -> typed columns, where an option asks for it
 *   write_leaf.c     values and levels of one leaf, gathered to pages; the chunk's pages
 *   write_page.c     a page: choosing its encoding, encoding and compressing it, what the indexes say about it
 *   write_values.c   column values -> dense values in PLAIN form
 *   write_stats.c    smallest and largest values, of pages, chunks and the file
 *   write_bloom.c    bloom filters
 *   write_levels.c   RLE / bit-packing hybrid
 *   write_delta.c    the DELTA encodings (writer version v2)
 *   write_kernels.c  loops that exist in a portable and an AVX2 form
 *   write_thrift.c   metadata structs -> Thrift compact protocol
 */
#ifndef TL_FORMAT_PARQUET_WRITE_PRIVATE_H
#define TL_FORMAT_PARQUET_WRITE_PRIVATE_H

#include "format/dictionary.h"
#include "format/parquet/parquet_private.h"

/** Values handled in one go: their scratch copies stay in the first two cache levels. */
#define TL_PQ_RUN_VALUES 4096
/** Bytes that may be written behind dense values: whole vectors are stored. */
#define TL_PQ_DENSE_SLACK 128
/** Bounds in a column index are cut to this many bytes (parquet-mr: columnIndexTruncateLength). */
#define TL_PQ_INDEX_BOUND_BYTES 64
/** Chunk statistics whose bounds are longer than this together are left out (parquet-mr: MAX_STATS_SIZE). */
#define TL_PQ_STATS_BYTES_MAX 4096

typedef struct tl_pq_writer tl_pq_writer;

/* ---- options (write_options.c) ---- */

typedef struct tl_pq_write_options {
    tl_pq_codec codec;
    tl_codec compression;
    int level;
    int64_t row_group_bytes;
    int64_t page_bytes;
    int64_t page_rows;
    int64_t dictionary_bytes;
    bool is_v2; /* parquet.writer.version: data pages V2, DELTA encodings where no dictionary is used */
} tl_pq_write_options;

/** Options of one leaf: `key`, overridden by `key#path.of.leaf`. */
typedef struct tl_pq_leaf_options {
    bool dictionary;
    bool bloom;
    int64_t bloom_values; /* expected distinct values; -1: not given */
    double bloom_fpp;
} tl_pq_leaf_options;

tl_status tl_pq__write_options(const tl_write_spec *spec, tl_pq_write_options *out, tl_error *err);
/** `path`: names from the top, joined by dots. */
tl_status tl_pq__leaf_options(const tl_options *options, const char *path, tl_pq_leaf_options *out, tl_error *err);

/* ---- the file (write_file.c, write_variant.c) ---- */

#define TL_PQ_SHREDDING_OPTION "parquet.variant.shreddingSchema"
/** A writer of the row type as it is. */
tl_status tl_pq__create_plain(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err);
/** A writer that shreds VARIANT columns as `option`, the value of TL_PQ_SHREDDING_OPTION, says. */
tl_status tl_pq__create_shredding(tl_fs *fs, const char *path, const tl_write_spec *spec, const char *option, tl_file_writer **out, tl_error *err);
/** Whether the options ask for a shredding schema found in the data, and there are VARIANT columns. */
bool tl_pq__infers_shredding(const tl_write_spec *spec);
/** A writer that does so. The file is made once the schema is known; until then `spec`'s options and compression must stay. */
tl_status tl_pq__create_inferring(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err);

/* ---- kernels (write_kernels.c) ---- */

/** The 64 bits of a bitmap from bit `from` on; those at `end` and after are 0. */
uint64_t tl_pq__bits64(const uint8_t *bits, int64_t from, int64_t end);

typedef struct tl_pq_kernels {
    /* Copy the values whose bit is set to the front of dst, which has room for count + 8; returns how many. */
    int64_t (*compress32)(const uint32_t *src, const uint8_t *bits, int64_t from, int64_t count, uint32_t *dst);
    int64_t (*compress64)(const uint64_t *src, const uint8_t *bits, int64_t from, int64_t count, uint64_t *dst);
    /* Smallest and largest of count > 0 values. */
    void (*bounds_i32)(const int32_t *v, int64_t count, int32_t *min, int32_t *max);
    void (*bounds_i64)(const int64_t *v, int64_t count, int64_t *min, int64_t *max);
} tl_pq_kernels;
/** The fastest set for this machine. Thread-safe. */
const tl_pq_kernels *tl_pq__kernels(void);

/* ---- RLE / bit-packing hybrid (write_levels.c); all append to `out` ---- */

/** Bits that a number up to `max` needs. */
static inline int tl_pq__bit_width(uint64_t max)
{
    return max == 0 ? 0 : 64 - __builtin_clzll(max);
}
tl_status tl_pq__hybrid_u32(const uint32_t *v, int64_t count, int width, tl_buf *out);
tl_status tl_pq__hybrid_u8(const uint8_t *v, int64_t count, int width, tl_buf *out);
/** Width 1, out of a bitmap. */
tl_status tl_pq__hybrid_bits(const uint8_t *bits, int64_t count, tl_buf *out);
/** One run. */
tl_status tl_pq__hybrid_run(uint32_t v, int64_t count, int width, tl_buf *out);
/** `groups` times 8 values of `width` <= 32 bits; `out` has room for groups * width + 8 bytes. Used by DELTA, too. */
void tl_pq__pack_u32(const uint32_t *v, int64_t groups, int width, uint8_t *out);

/* ---- DELTA encodings (write_delta.c); all append to `out` ---- */

tl_status tl_pq__put_delta_i32(const int32_t *v, int64_t count, tl_buf *out);
tl_status tl_pq__put_delta_i64(const int64_t *v, int64_t count, tl_buf *out);
/** DELTA_BYTE_ARRAY of `count` values in PLAIN form; width 0: BYTE_ARRAY, else FIXED_LEN_BYTE_ARRAY. */
tl_status tl_pq__put_delta_byte_array(tl_bytes_view plain, int64_t count, int32_t width, tl_buf *out);

/* ---- bounds (write_stats.c) ---- */

/** How a leaf's values are ordered. */
typedef enum tl_pq_order {
    TL_PQ_ORDER_NONE,  /* INT96: undefined in Parquet */
    TL_PQ_ORDER_INT,   /* BOOLEAN, INT32, INT64, and decimals in them */
    TL_PQ_ORDER_FLOAT, /* FLOAT, DOUBLE, by keys: see tl_pq__double_key() */
    TL_PQ_ORDER_I128,  /* decimals in FIXED_LEN_BYTE_ARRAY */
    TL_PQ_ORDER_BYTES  /* unsigned bytes */
} tl_pq_order;

/** Smallest and largest value of a run, page, chunk or file. Zero-initialise; tl_pq__bounds_deinit(). */
typedef struct tl_pq_bounds {
    bool has_value; /* the fields of the order in use are set */
    bool has_nan;   /* FLOAT: NaNs were there; they take no part in the fields */
    int64_t min, max;
    tl_i128 min_wide, max_wide;
    tl_buf min_bytes, max_bytes;
} tl_pq_bounds;

/**
 * Order-preserving integers of floating point numbers, NaN excluded: -0.0 sorts before +0.0, as in Java's Double.compare.
 * Each is its own inverse.
 */
static inline int64_t tl_pq__double_key(int64_t bits)
{
    return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1);
}
static inline int32_t tl_pq__float_key(int32_t bits)
{
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

void tl_pq__bounds_deinit(tl_pq_bounds *bounds);
void tl_pq__bounds_reset(tl_pq_bounds *bounds);
tl_status tl_pq__bounds_merge(tl_pq_order order, tl_pq_bounds *into, const tl_pq_bounds *from);
/** Include one byte string. */
tl_status tl_pq__bounds_add_bytes(tl_pq_bounds *bounds, tl_bytes_view v);
/** Include `count` dense values in PLAIN form: all types but BYTE_ARRAY. FIXED_LEN_BYTE_ARRAY must be readable 16 bytes beyond. */
void tl_pq__bounds_add_plain(tl_pq_bounds *bounds, tl_pq_type type, int32_t width, const void *dense, int64_t count);

/**
 * The bounds in PLAIN form as Parquet wants them: zeros signed outwards, none if there was a NaN or no value. `scratch` has 32
 * bytes; byte strings point into `bounds`. False if there are none.
 */
bool tl_pq__bounds_plain(const tl_pq_bounds *bounds, tl_pq_order order, tl_pq_type type, int32_t width, uint8_t *scratch,
                         tl_bytes_view *min, tl_bytes_view *max);
/** Cut to TL_PQ_INDEX_BOUND_BYTES, at a character if it is UTF-8: still a lower bound. */
tl_bytes_view tl_pq__cut_min(tl_bytes_view v, bool is_utf8);
/** As above, made an upper bound by counting up in `scratch` (TL_PQ_INDEX_BOUND_BYTES); whole if that cannot be done. */
tl_bytes_view tl_pq__cut_max(tl_bytes_view v, bool is_utf8, uint8_t *scratch);
/** Order of two bounds in PLAIN form. */
int tl_pq__compare_plain(tl_pq_order order, tl_pq_type type, tl_bytes_view a, tl_bytes_view b);
/** One-row columns of the leaf's type; NULL where unknown. */
tl_status tl_pq__bounds_columns(const tl_pq_bounds *bounds, tl_pq_order order, const tl_type *type, tl_column **min, tl_column **max,
                                tl_error *err);

/* ---- bloom filters (write_bloom.c) ---- */

typedef struct tl_pq_bloom {
    uint8_t *blocks;
    int32_t bytes;
} tl_pq_bloom;

tl_status tl_pq__bloom_create(const tl_pq_leaf_options *options, tl_pq_bloom *out, tl_error *err);
void tl_pq__bloom_deinit(tl_pq_bloom *bloom);
/** Insert `count` values in PLAIN form. */
void tl_pq__bloom_add_plain(tl_pq_bloom *bloom, tl_bytes_view plain, int64_t count, int32_t width);

/* ---- leaves (write_leaf.c) ---- */

/** Where a page lies and what the page indexes say about it. */
typedef struct tl_pq_page {
    uint8_t *stored;   /* header and compressed page; owned */
    int64_t offset;    /* within the chunk's data pages */
    int32_t bytes;     /* of `stored` */
    int64_t first_row; /* within the row group */
    int64_t null_count;
    bool is_null;           /* no value at all */
    tl_bytes_view min, max; /* cut, in PLAIN form, in the chunk's arena; empty if is_null or there are no bounds */
    int64_t string_bytes;   /* BYTE_ARRAY: bytes of the values without their lengths */
} tl_pq_page;

typedef enum tl_pq_mode {
    TL_PQ_MODE_FIRST, /* the first page is gathered in PLAIN form; at its end a dictionary is tried */
    TL_PQ_MODE_DICT,  /* values are numbers of the dictionary */
    TL_PQ_MODE_PLAIN  /* no dictionary (any more) */
} tl_pq_mode;

typedef struct tl_pq_leaf {
    /* what it is; set by write_schema.c */
    const tl_type *type; /* of the values; borrowed from the file's ROW, or owned (owns_type) */
    bool owns_type;
    tl_phys phys;
    tl_pq_type physical;
    int32_t width; /* bytes of a value in PLAIN form; 0: BYTE_ARRAY; BOOLEAN: 1 (a byte each until the page is encoded) */
    tl_pq_order order;
    bool is_utf8;
    int32_t column; /* index in the file's ROW */
    bool is_flat;   /* top-level column itself: rep_max = 0, def_max <= 1 */
    uint8_t def_max, rep_max;
    int32_t path_len;
    const char **path; /* in the file's arena */
    tl_pq_leaf_options options;
    tl_pq_writer *writer;

    /* the page in the making */
    tl_pq_mode mode;
    bool hardly_repeats; /* the chunk has no dictionary because the first page's values hardly come twice */
    int64_t page_rows;
    int64_t page_levels; /* entries, nulls included */
    int64_t page_values; /* not null */
    int64_t page_raw_bytes;
    int64_t page_string_bytes;
    tl_buf values;   /* PLAIN form (FIRST, PLAIN) */
    tl_buf ids;      /* uint32_t (DICT) */
    tl_buf validity; /* flat and nullable: bitmap; empty while no null was seen */
    tl_buf defs, reps; /* nested: a byte each */
    tl_pq_bounds page_bounds;

    /* the chunk so far */
    tl_format_dict dict;
    uint32_t dict_used;        /* values of the dictionary that flushed pages use */
    size_t dict_used_bytes;    /* and their bytes in PLAIN form */
    tl_pq_page *page_list;     /* data pages as they will lie in the file */
    int64_t n_pages, page_cap;
    int64_t stored_bytes;      /* of all pages */
    tl_buf histograms;         /* nested: int64_t [n_pages][rep_max + 1 + def_max + 1] */
    int64_t chunk_rows, chunk_levels, chunk_values, chunk_string_bytes;
    int64_t uncompressed_bytes; /* of the data pages, headers included */
    int32_t n_dict_pages, n_plain_pages;
    tl_pq_bounds chunk_bounds;
    tl_pq_bloom bloom;
    tl_arena arena; /* bounds of page_list */

    /* the file so far */
    tl_pq_bounds file_bounds;
    int64_t file_levels, file_values;
} tl_pq_leaf;

/** Width of the leaf's values as tl_compress_values() wants it. */
static inline int32_t tl_pq__values_width(const tl_pq_leaf *leaf)
{
    return leaf->physical == TL_PQ_BYTE_ARRAY ? TL_WIDTH_OF_STRINGS : leaf->width;
}

/** Append rows [from, from + count) of a top-level column. */
tl_status tl_pq__leaf_append_flat(tl_pq_leaf *leaf, const tl_column *col, int64_t from, int64_t count, tl_error *err);
/**
 * Append whole records of a nested leaf: `levels` entries, and the rows of `col` that hold the values (those entries whose
 * definition level is def_max), in order.
 */
tl_status tl_pq__leaf_append_nested(tl_pq_leaf *leaf, const tl_column *col, const uint32_t *sel, int64_t values, const uint8_t *reps,
                                    const uint8_t *defs, int64_t levels, int64_t rows, tl_error *err);
/** Bytes that the leaf would add to the file now: compressed pages, and the page in the making as it is. */
int64_t tl_pq__leaf_bytes(const tl_pq_leaf *leaf);
/** Ready for the next row group; the file's statistics take the chunk's in. */
tl_status tl_pq__leaf_next_chunk(tl_pq_leaf *leaf, tl_error *err);
void tl_pq__leaf_deinit(tl_pq_leaf *leaf);

/* ---- pages (write_page.c) ---- */

/** End the page in the making, if it has rows. */
tl_status tl_pq__leaf_end_page(tl_pq_leaf *leaf, tl_error *err);
/** Encoding of the leaf's pages that have no dictionary. */
tl_pq_encoding tl_pq__encoding_without_dictionary(const tl_pq_leaf *leaf);
/** Room for `count` more numbers behind those of the page in the making. */
tl_status tl_pq__leaf_reserve_ids(tl_pq_leaf *leaf, int64_t count, uint32_t **out);
/** The page in the making, and those to come, are PLAIN. What the page added to the dictionary is cut off when that is written. */
tl_status tl_pq__leaf_give_up_dictionary(tl_pq_leaf *leaf);
tl_status tl_pq__leaf_nomem(const tl_pq_leaf *leaf, tl_error *err);

/* ---- values (write_values.c) ---- */

/**
 * Dense values in PLAIN form of a leaf other than BYTE_ARRAY: rows `sel` of `col`, or (sel == NULL) those of [from, from + count)
 * that are not null. At most TL_PQ_RUN_VALUES rows. *dense points into `col` or into `scratch`. False if a decimal has more
 * digits than its type.
 */
bool tl_pq__dense(const tl_pq_leaf *leaf, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count, void *scratch,
                  const void **dense, int64_t *n_dense);
/** Append byte strings in PLAIN form; rows as for tl_format__dict_ids_bytes(). */
tl_status tl_pq__plain_bytes(const tl_column *col, const uint32_t *sel, int64_t from, int64_t count, tl_buf *out);
/** Rows of [from, from + count) that are not null. */
int64_t tl_pq__valid_rows(const tl_column *col, int64_t from, int64_t count, uint32_t *sel);
/** Include byte strings in bounds; rows as above. */
tl_status tl_pq__bounds_add_rows(tl_pq_bounds *bounds, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count);

/* ---- schema (write_schema.c) ---- */

/** The file's schema. Elements and paths live in the arena. */
typedef struct tl_pq_write_schema {
    tl_pq_schema_element *elements;
    int32_t n_elements;
    tl_pq_leaf *leaves;
    int32_t n_leaves;
    int32_t *first_leaf; /* of each top-level column; n_columns + 1 entries */
} tl_pq_write_schema;

tl_status tl_pq__write_schema(tl_arena *arena, const tl_write_spec *spec, tl_pq_write_schema *out, tl_error *err);

/* ---- nested values (write_nested.c) ---- */

/** Scratch of tl_pq__shred(), kept over calls: three buffers for each level of the schema. Zero-initialise. */
typedef struct tl_pq_shred {
    tl_buf *buffers;
} tl_pq_shred;
void tl_pq__shred_deinit(tl_pq_shred *shred);
/** Append rows [from, from + count) of the nested column `column` to its leaves. */
tl_status tl_pq__shred(tl_pq_writer *writer, int32_t column, const tl_column *col, int64_t from, int64_t count, tl_error *err);

/* ---- Thrift compact protocol (write_thrift.c); all append to `out` ---- */

tl_status tl_pq__put_page_header(const tl_pq_page_header *header, tl_buf *out);
tl_status tl_pq__put_column_index(const tl_pq_leaf *leaf, tl_buf *out);
/** `base`: file offset of the chunk's first data page. */
tl_status tl_pq__put_offset_index(const tl_pq_leaf *leaf, int64_t base, tl_buf *out);
tl_status tl_pq__put_bloom_header(int32_t bytes, tl_buf *out);
/** ColumnMetaData of the chunk that the leaf has just finished. */
tl_status tl_pq__put_column_meta(const tl_pq_column_meta *meta, const tl_pq_leaf *leaf, tl_buf *out);
/** FileMetaData. The bases are the file offsets of what the writer holds in column_indexes and offset_indexes. */
tl_status tl_pq__put_file_meta(const tl_pq_writer *writer, int64_t column_index_base, int64_t offset_index_base, tl_buf *out);

/* ---- the file (write_file.c) ---- */

/** What the footer will say of a column chunk that is written: places in the writer's buffers. */
typedef struct tl_pq_chunk_record {
    size_t meta, meta_bytes;                 /* ColumnMetaData in `metas` */
    size_t column_index, column_index_bytes; /* in column_indexes; 0 bytes: none */
    size_t offset_index, offset_index_bytes;
} tl_pq_chunk_record;

struct tl_pq_writer {
    tl_file_writer base;
    tl_fs *fs;
    tl_file *file;
    char *path;
    const tl_type *row_type; /* ref held */
    bool with_stats;
    int64_t light_bytes; /* see tl_write_spec */
    tl_pq_write_options options;
    tl_compressor *compressor; /* NULL: uncompressed */
    tl_pq_write_schema schema;
    int32_t *twin_of; /* see write_file.c */
    bool twins_known, twins_barred;
    bool is_finished, is_broken;
    int64_t pos;   /* where the next byte of the file goes, `pending` included */
    tl_buf pending; /* small pieces on their way to the file */
    int64_t group_rows;
    int64_t total_rows;
    /* finished row groups: structs without `columns`, and for each n_leaves records */
    tl_pq_row_group *groups;
    int32_t n_groups, group_cap;
    tl_buf records; /* tl_pq_chunk_record */
    tl_buf metas, column_indexes, offset_indexes;
    tl_arena arena; /* schema */
    /* scratch, shared by the leaves */
    tl_buf page, compressed, header;
    tl_pq_shred shred;
    uint8_t *dense; /* TL_PQ_RUN_VALUES values of up to 16 bytes, and slack */
    uint32_t *sel;  /* TL_PQ_RUN_VALUES rows */
};

#endif
