/*
 * Parquet inside this folder: the file's metadata as C structs, shared by reader and writer.
 *
 * A file is `PAR1`, column chunks (each: dictionary page?, data pages), bloom filters, page indexes, FileMetaData (Thrift
 * compact protocol), its length as LE int32, `PAR1`. Names and numbers below are those of parquet.thrift
 * (https://github.com/apache/parquet-format). Only fields that one of the two halves uses are kept; unknown ones are skipped.
 *
 * Lists, strings and byte strings live in the arena of whoever made the struct, or (reader) point into the footer's bytes.
 */
#ifndef TL_FORMAT_PARQUET_PRIVATE_H
#define TL_FORMAT_PARQUET_PRIVATE_H

#include "format/input.h"

#define TL_PQ_MAGIC "PAR1"
#define TL_PQ_MAGIC_ENCRYPTED "PARE"
#define TL_PQ_MAGIC_BYTES 4
/** Footer length and magic at the end of a file. */
#define TL_PQ_TAIL_BYTES 8

typedef enum tl_pq_type {
    TL_PQ_BOOLEAN = 0,
    TL_PQ_INT32 = 1,
    TL_PQ_INT64 = 2,
    TL_PQ_INT96 = 3,
    TL_PQ_FLOAT = 4,
    TL_PQ_DOUBLE = 5,
    TL_PQ_BYTE_ARRAY = 6,
    TL_PQ_FIXED_LEN_BYTE_ARRAY = 7
} tl_pq_type;

typedef enum tl_pq_repetition { TL_PQ_REQUIRED = 0, TL_PQ_OPTIONAL = 1, TL_PQ_REPEATED = 2 } tl_pq_repetition;

/** ConvertedType: the annotation of old files; still written beside LogicalType. */
typedef enum tl_pq_converted {
    TL_PQ_CONVERTED_NONE = -1,
    TL_PQ_UTF8 = 0,
    TL_PQ_MAP = 1,
    TL_PQ_MAP_KEY_VALUE = 2,
    TL_PQ_LIST = 3,
    TL_PQ_ENUM = 4,
    TL_PQ_DECIMAL = 5,
    TL_PQ_DATE = 6,
    TL_PQ_TIME_MILLIS = 7,
    TL_PQ_TIME_MICROS = 8,
    TL_PQ_TIMESTAMP_MILLIS = 9,
    TL_PQ_TIMESTAMP_MICROS = 10,
    TL_PQ_UINT_8 = 11,
    TL_PQ_UINT_16 = 12,
    TL_PQ_UINT_32 = 13,
    TL_PQ_UINT_64 = 14,
    TL_PQ_INT_8 = 15,
    TL_PQ_INT_16 = 16,
    TL_PQ_INT_32 = 17,
    TL_PQ_INT_64 = 18,
    TL_PQ_JSON = 19,
    TL_PQ_BSON = 20,
    TL_PQ_INTERVAL = 21
} tl_pq_converted;

/** LogicalType: numbers are the union's field ids. */
typedef enum tl_pq_logical_kind {
    TL_PQ_LOGICAL_NONE = 0,
    TL_PQ_LOGICAL_STRING = 1,
    TL_PQ_LOGICAL_MAP = 2,
    TL_PQ_LOGICAL_LIST = 3,
    TL_PQ_LOGICAL_ENUM = 4,
    TL_PQ_LOGICAL_DECIMAL = 5,
    TL_PQ_LOGICAL_DATE = 6,
    TL_PQ_LOGICAL_TIME = 7,
    TL_PQ_LOGICAL_TIMESTAMP = 8,
    TL_PQ_LOGICAL_INTEGER = 10,
    TL_PQ_LOGICAL_UNKNOWN = 11, /* always null */
    TL_PQ_LOGICAL_JSON = 12,
    TL_PQ_LOGICAL_BSON = 13,
    TL_PQ_LOGICAL_UUID = 14,
    TL_PQ_LOGICAL_FLOAT16 = 15,
    TL_PQ_LOGICAL_VARIANT = 16,
    TL_PQ_LOGICAL_GEOMETRY = 17,
    TL_PQ_LOGICAL_GEOGRAPHY = 18,
    TL_PQ_LOGICAL_OTHER = 255 /* a union member that is not known here */
} tl_pq_logical_kind;

/** TimeUnit: numbers are the union's field ids. */
typedef enum tl_pq_unit { TL_PQ_UNIT_NONE = 0, TL_PQ_MILLIS = 1, TL_PQ_MICROS = 2, TL_PQ_NANOS = 3 } tl_pq_unit;

typedef struct tl_pq_logical {
    tl_pq_logical_kind kind;
    bool adjusted_to_utc; /* TIME, TIMESTAMP */
    tl_pq_unit unit;      /* TIME, TIMESTAMP */
    int8_t bit_width;     /* INTEGER */
    bool is_signed;       /* INTEGER */
    int32_t precision;    /* DECIMAL */
    int32_t scale;        /* DECIMAL */
} tl_pq_logical;

typedef enum tl_pq_encoding {
    TL_PQ_PLAIN = 0,
    TL_PQ_PLAIN_DICTIONARY = 2,
    TL_PQ_RLE = 3,
    TL_PQ_BIT_PACKED = 4,
    TL_PQ_DELTA_BINARY_PACKED = 5,
    TL_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    TL_PQ_DELTA_BYTE_ARRAY = 7,
    TL_PQ_RLE_DICTIONARY = 8,
    TL_PQ_BYTE_STREAM_SPLIT = 9
} tl_pq_encoding;

typedef enum tl_pq_codec {
    TL_PQ_UNCOMPRESSED = 0,
    TL_PQ_SNAPPY = 1,
    TL_PQ_GZIP = 2,
    TL_PQ_LZO = 3,
    TL_PQ_BROTLI = 4,
    TL_PQ_LZ4 = 5, /* Hadoop's framing, deprecated */
    TL_PQ_ZSTD = 6,
    TL_PQ_LZ4_RAW = 7
} tl_pq_codec;

typedef enum tl_pq_page_type {
    TL_PQ_DATA_PAGE = 0,
    TL_PQ_INDEX_PAGE = 1,
    TL_PQ_DICTIONARY_PAGE = 2,
    TL_PQ_DATA_PAGE_V2 = 3
} tl_pq_page_type;

typedef enum tl_pq_boundary_order { TL_PQ_UNORDERED = 0, TL_PQ_ASCENDING = 1, TL_PQ_DESCENDING = 2 } tl_pq_boundary_order;

/** One node of the schema, depth first; [0] is the root. */
typedef struct tl_pq_schema_element {
    bool has_type; /* a leaf */
    tl_pq_type type;
    int32_t type_length; /* FIXED_LEN_BYTE_ARRAY */
    bool has_repetition; /* absent on the root only */
    tl_pq_repetition repetition;
    const char *name;
    int32_t n_children;
    tl_pq_converted converted; /* TL_PQ_CONVERTED_NONE if absent */
    bool has_decimal;          /* scale and precision are there (written for DECIMAL) */
    int32_t scale;
    int32_t precision;
    bool has_field_id;
    int32_t field_id;
    tl_pq_logical logical; /* kind NONE if absent */
} tl_pq_schema_element;

typedef struct tl_pq_statistics {
    bool has_max, has_min; /* deprecated fields 1 and 2, signed comparison */
    tl_bytes_view max, min;
    int64_t null_count;     /* -1 if absent */
    int64_t distinct_count; /* -1 if absent */
    int64_t nan_count;      /* FLOAT and DOUBLE: -1 if absent (most writers) */
    bool has_max_value, has_min_value;
    tl_bytes_view max_value, min_value;
    int8_t is_max_exact, is_min_exact; /* -1 if absent, 0, 1 */
} tl_pq_statistics;

typedef struct tl_pq_key_value {
    const char *key;
    const char *value; /* NULL if absent */
} tl_pq_key_value;

typedef struct tl_pq_encoding_stats {
    tl_pq_page_type page_type;
    tl_pq_encoding encoding;
    int32_t count;
} tl_pq_encoding_stats;

typedef struct tl_pq_column_meta {
    tl_pq_type type;
    int32_t n_encodings;
    tl_pq_encoding *encodings;
    int32_t path_len; /* path_in_schema */
    const char **path;
    tl_pq_codec codec;
    int64_t num_values; /* levels, nulls included */
    int64_t total_uncompressed_size;
    int64_t total_compressed_size;
    int64_t data_page_offset;
    int64_t index_page_offset;      /* -1 if absent */
    int64_t dictionary_page_offset; /* -1 if absent */
    bool has_statistics;
    tl_pq_statistics statistics;
    int32_t n_encoding_stats;
    tl_pq_encoding_stats *encoding_stats;
    int64_t bloom_filter_offset; /* -1 if absent */
    int32_t bloom_filter_length; /* -1 if absent */
} tl_pq_column_meta;

typedef struct tl_pq_column_chunk {
    const char *file_path; /* NULL: this file */
    int64_t file_offset;
    bool has_meta;
    tl_pq_column_meta meta;
    int64_t offset_index_offset; /* -1 if absent */
    int32_t offset_index_length;
    int64_t column_index_offset; /* -1 if absent */
    int32_t column_index_length;
    bool is_encrypted; /* crypto metadata is there */
} tl_pq_column_chunk;

typedef struct tl_pq_sorting_column {
    int32_t column_idx;
    bool descending;
    bool nulls_first;
} tl_pq_sorting_column;

typedef struct tl_pq_row_group {
    int32_t n_columns;
    tl_pq_column_chunk *columns;
    int64_t total_byte_size;
    int64_t num_rows;
    int32_t n_sorting;
    tl_pq_sorting_column *sorting;
    int64_t file_offset;           /* -1 if absent */
    int64_t total_compressed_size; /* -1 if absent */
    int32_t ordinal;               /* -1 if absent */
} tl_pq_row_group;

typedef struct tl_pq_file_meta {
    int32_t version;
    int32_t n_schema;
    tl_pq_schema_element *schema;
    int64_t num_rows;
    int32_t n_row_groups;
    tl_pq_row_group *row_groups;
    int32_t n_key_values;
    tl_pq_key_value *key_values;
    const char *created_by;  /* NULL if absent */
    int32_t n_column_orders; /* one per leaf if present */
    uint8_t *column_orders;  /* 1: TYPE_ORDER; 0: an order that is not known here */
    bool is_encrypted;       /* encryption_algorithm is there */
} tl_pq_file_meta;

typedef struct tl_pq_data_page_header {
    int32_t num_values; /* levels */
    tl_pq_encoding encoding;
    tl_pq_encoding def_encoding; /* v1 */
    tl_pq_encoding rep_encoding; /* v1 */
    int32_t num_nulls;           /* v2 */
    int32_t num_rows;            /* v2 */
    int32_t def_bytes;           /* v2: definition_levels_byte_length */
    int32_t rep_bytes;           /* v2: repetition_levels_byte_length */
    bool is_compressed;          /* v2; default true */
    bool has_statistics;
    tl_pq_statistics statistics;
} tl_pq_data_page_header;

typedef struct tl_pq_page_header {
    tl_pq_page_type type;
    int32_t uncompressed_bytes;
    int32_t compressed_bytes;
    bool has_crc;
    uint32_t crc;  /* CRC-32 of the page as it lies in the file */
    bool has_data; /* data_page_header or data_page_header_v2, as `type` says */
    tl_pq_data_page_header data;
    bool has_dictionary;
    int32_t dictionary_num_values;
    tl_pq_encoding dictionary_encoding;
    bool dictionary_is_sorted;
} tl_pq_page_header;

typedef struct tl_pq_column_index {
    int32_t n_pages;
    bool *null_pages;
    tl_bytes_view *min_values;
    tl_bytes_view *max_values;
    tl_pq_boundary_order boundary_order;
    int64_t *null_counts; /* NULL if absent */
} tl_pq_column_index;

typedef struct tl_pq_page_location {
    int64_t offset;
    int32_t compressed_bytes; /* header included */
    int64_t first_row;        /* within the row group */
} tl_pq_page_location;

typedef struct tl_pq_offset_index {
    int32_t n_pages;
    tl_pq_page_location *pages;
} tl_pq_offset_index;

/** Split block bloom filter, XXH64, uncompressed: the only kind there is. */
typedef struct tl_pq_bloom_header {
    int32_t num_bytes;
    bool is_known; /* algorithm, hash and compression are those that we know */
} tl_pq_bloom_header;

/* ---- meta_read.c: decoding. Input is hostile; nothing is larger in memory than the bytes justify. ---- */

/** The footer. Byte strings point into `bytes`, lists and names live in `arena`. The schema tree is not checked yet. */
tl_status tl_pq__read_file_meta(tl_bytes_view bytes, tl_arena *arena, tl_pq_file_meta *out, tl_error *err);
/** A page header at the start of `bytes`; *used receives its length. Statistics point into `bytes`. No allocation. */
tl_status tl_pq__read_page_header(tl_bytes_view bytes, tl_pq_page_header *out, size_t *used, tl_error *err);
tl_status tl_pq__read_column_index(tl_bytes_view bytes, tl_arena *arena, tl_pq_column_index *out, tl_error *err);
tl_status tl_pq__read_offset_index(tl_bytes_view bytes, tl_arena *arena, tl_pq_offset_index *out, tl_error *err);
tl_status tl_pq__read_bloom_header(tl_bytes_view bytes, tl_pq_bloom_header *out, size_t *used, tl_error *err);

/* ---- the two halves ---- */

tl_status tl_pq__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err);
tl_status tl_pq__schema(tl_fs *fs, const char *path, const tl_type **out, tl_error *err);
tl_status tl_pq__stats(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err);
/** write_file.c */
tl_status tl_pq__create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err);

#endif
