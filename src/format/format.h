/*
 * Data files as batches of columns, whatever their format; compression codecs.
 *
 * format/ knows no table: it gets a ROW type to read or write and gives batches, statistics and sizes. Columns are found in a
 * file by name. One folder per implementation: parquet/, avro/, orc/, blob/, lines/.
 */
#ifndef TL_FORMAT_FORMAT_H
#define TL_FORMAT_FORMAT_H

#include "base/map.h"
#include "base/row_set.h"
#include "base/thread.h"
#include "io/io.h"
#include "types/column.h"
#include "types/predicate.h"

typedef enum tl_codec {
    TL_CODEC_NONE,
    TL_CODEC_ZSTD,
    TL_CODEC_LZ4_RAW,
    TL_CODEC_LZ4_HADOOP,
    TL_CODEC_SNAPPY,
    TL_CODEC_GZIP,
    TL_CODEC_BROTLI,
    TL_CODEC_DEFLATE, /* raw, Avro */
    TL_CODEC_BZIP2,
    TL_CODEC_XZ,
    TL_CODEC_ZLIB, /* deflate with zlib's header: what Hadoop's `.deflate` files are */
    TL_CODEC_LZO   /* LZO1X as it is, ORC */
} tl_codec;

/** Reusable compression state of one thread (zstd contexts are costly to make). */
typedef struct tl_compressor tl_compressor;
tl_status tl_compressor_create(tl_codec codec, int level, tl_compressor **out, tl_error *err);
void tl_compressor_free(tl_compressor *compressor);
/** Append the compressed form of `src` to `out`. */
tl_status tl_compress(tl_compressor *compressor, tl_bytes_view src, tl_buf *out, tl_error *err);
/**
 * The same of input that from byte `from` on is values, hardly any of which comes twice: numbers (LE) of `width` 4 or 8, or byte strings in Parquet's
 * PLAIN form, TL_WIDTH_OF_STRINGS. What they have in common is sooner found out. TL_WIDTH_PACKED: numbers of a dictionary, packed by bits, most of
 * which cannot be made smaller: sooner found out, too. Width 0: not known to be values.
 */
#define TL_WIDTH_OF_STRINGS (-1)
#define TL_WIDTH_PACKED (-2)
tl_status tl_compress_values(tl_compressor *compressor, tl_bytes_view src, size_t from, int32_t width, tl_buf *out, tl_error *err);
/** Whether numbers are fewer bytes, compressed as they are, than a dictionary of them and their places in it; of few numbers only. */
bool tl_compress_beats_dictionary(const tl_compressor *compressor, tl_bytes_view numbers, int32_t width);
/**
 * From now on zstd of level 1 saves time where bytes can wait: values and what hardly repeats are not entropy-coded, which is half of the
 * work in pages of a few KB. Other codecs and levels do as before.
 */
void tl_compressor_set_light(tl_compressor *compressor, bool light);
/** Decompress to exactly `dst_bytes` bytes; anything else is TL_E_CORRUPT. Thread-safe (contexts are kept per thread). */
tl_status tl_decompress(tl_codec codec, tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err);
/** Decompress where the size is not known beforehand (Avro), up to `bytes_max`. Appends to `out`. */
tl_status tl_decompress_append(tl_codec codec, tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err);

/** What to read of a file. */
typedef struct tl_read_spec {
    const tl_type *row_type;       /* columns wanted, by name, in this order; those absent in the file are NULL */
    const tl_predicate *predicate; /* bound to row_type; NULL: none. Used to skip row groups and pages; with `exact`, also rows */
    bool exact;                    /* rows that do not pass are left out (late materialisation) */
    const tl_row_ranges *rows;     /* rows that may be wanted: others need not be read, and may be left out. Outlives the reader; NULL: all */
    int64_t batch_rows;            /* 0: TL_BATCH_ROWS */
    const tl_type *file_type;      /* all columns of the file in its order, for formats that know none themselves (csv); NULL: row_type */
    const tl_options *options;     /* of the table: `csv.*`, `json.*`, `text.*`; NULL: none */
    bool with_row_numbers;         /* batch->seq holds each row's number in the file */
    tl_pool *pool;                 /* NULL: single-threaded */
} tl_read_spec;

/** Statistics of one column over a whole file, from the writer or a footer. */
typedef struct tl_column_stats {
    tl_column *min; /* one row of the column's type, or NULL if unknown */
    tl_column *max;
    int64_t null_count; /* -1 unknown */
} tl_column_stats;

typedef struct tl_file_writer tl_file_writer;
typedef struct tl_write_result {
    int64_t bytes;
    int64_t rows;
    int32_t n_stats;
    tl_column_stats *stats; /* one per column of the writer's ROW; owned */
} tl_write_result;
void tl_write_result_deinit(tl_write_result *result);

typedef struct tl_write_spec {
    const tl_type *row_type;   /* columns to write, in order; names and NOT NULL as they go into the file */
    const int32_t *field_ids;  /* file-level id of each top-level column (nested ids follow from the types and §8) */
    const char *compression;   /* Paimon's `file.compression`: zstd, lz4, snappy, none, gzip, … */
    int compression_level;     /* zstd */
    int64_t light_bytes;       /* a file that ends with fewer bytes of values is rewritten soon: a writer may save time with it; 0: none is */
    const tl_options *options; /* table options; a writer looks at `parquet.*` and the like, and `file.block-size` */
    bool with_stats;           /* false: no statistics in the result (mode none everywhere) */
} tl_write_spec;

typedef struct tl_file_writer_ops {
    tl_status (*write)(tl_file_writer *writer, const tl_batch *batch, tl_error *err);
    /* Bytes that the file would have if it were finished now (estimate), for rolling. */
    int64_t (*bytes_estimate)(tl_file_writer *writer);
    /* Bytes held in memory now, for budgets; NULL: not known. */
    int64_t (*memory_bytes)(tl_file_writer *writer);
    /* Flush, sync and close the file. After this only free(). */
    tl_status (*finish)(tl_file_writer *writer, tl_write_result *out, tl_error *err);
    /* Without finish(): the file is removed. */
    void (*free)(tl_file_writer *writer);
} tl_file_writer_ops;
struct tl_file_writer {
    const tl_file_writer_ops *ops;
};

typedef struct tl_format {
    const char *name; /* "parquet", "avro", "orc": also the file extension */
    tl_status (*open)(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err);
    tl_status (*create)(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err);
    /* The file's own schema as a ROW (for `tidelake import`, tests, and reading foreign files); NULL if not offered. */
    tl_status (*schema)(tl_fs *fs, const char *path, const tl_type **out, tl_error *err);
    /* What the file's metadata says of the columns of `row_type` (by name): rows, bytes, and statistics where they can be trusted. A
       column that the file does not have is all NULL. */
    tl_status (*stats)(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err);
    bool is_lossy; /* some values come back as others than were written */
} tl_format;

extern const tl_format tl_format_parquet;
extern const tl_format tl_format_avro;
/** Whether Avro files can have rows of this type: not all types and column names are possible there. */
bool tl_avro_can_hold(const tl_type *row_type);
extern const tl_format tl_format_orc;
extern const tl_format tl_format_blob; /* one column of type BLOB, beside the data file that holds the other columns */
extern const tl_format tl_format_csv;
extern const tl_format tl_format_json;
extern const tl_format tl_format_text; /* one column of text: the lines */
/** Whether the format is one of lines of text (csv, json, text). */
bool tl_format_is_lines(const tl_format *format);
/** Whether files of lines can hold rows of this type: TL_E_INVALID names the first column that they cannot. Other formats: TL_OK. */
tl_status tl_lines_check_type(const tl_format *format, const tl_type *row_type, tl_error *err);
/** TL_E_INVALID names an option of the format (`csv.*`, `json.*`, `text.*`) that has no sense. Other formats: TL_OK. */
tl_status tl_lines_check_options(const tl_format *format, const tl_options *options, tl_error *err);
/** Bytes that a value takes in a blob file. */
int64_t tl_blob_record_bytes(int64_t value_bytes);
/** Where the value begins whose record begins at this byte. */
int64_t tl_blob_value_offset(int64_t record_offset);

/** Take the bounds and nulls of another part of a file into those so far: what one part does not know, the whole does not. `rows` of the
    part; both begin with *rows_so_far == 0. */
void tl_column_stats_merge(tl_column_stats *all, int64_t rows_so_far, tl_column_stats *part_take, int64_t rows);
/** By name ("parquet"); TL_E_UNSUPPORTED names a format that is known but not built in. */
tl_status tl_format_find(const char *name, const tl_format **out, tl_error *err);
/** By file name: the last extension, or the one before it if the last is a codec. */
tl_status tl_format_of_file(const char *file_name, const tl_format **out, tl_error *err);

#endif
