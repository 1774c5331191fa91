/*
 * Avro object container files whose records become C structs: manifests and manifest lists.
 *
 * A record type is a table of fields (name, kind, place in a struct). The same table resolves the writer schema of a file by
 * field name, encodes records, and prints the schema as the reference does. Data files (rows as columns) go through
 * tl_format_avro of format.h instead.
 */
#ifndef TL_FORMAT_AVRO_AVRO_H
#define TL_FORMAT_AVRO_AVRO_H

#include "io/io.h"
#include "types/type.h"

/** What a field is in the struct. */
typedef enum tl_avro_kind {
    TL_AVRO_I32,         /* int64_t, written as Avro int; null is TL_AVRO_ABSENT */
    TL_AVRO_I8,          /* int64_t, written as Avro int; TINYINT in columnar files */
    TL_AVRO_I64,         /* int64_t */
    TL_AVRO_MILLIS,      /* int64_t, long with logical type timestamp-millis */
    TL_AVRO_STR,         /* tl_bytes_view of UTF-8; null has data == NULL */
    TL_AVRO_BIN,         /* tl_bytes_view */
    TL_AVRO_I32S,        /* tl_avro_longs: array of int */
    TL_AVRO_NULL_I64S,   /* tl_avro_longs: array of nullable long, null items are TL_AVRO_ABSENT */
    TL_AVRO_STRS,        /* tl_avro_strs: array of string */
    TL_AVRO_RECORD,      /* a struct in place */
    TL_AVRO_NULL_RECORDS /* tl_avro_structs: array of nullable records that have no arrays; null items are left out */
} tl_avro_kind;

#define TL_AVRO_ABSENT INT64_MIN

typedef struct tl_avro_longs {
    const int64_t *items;
    int32_t n; /* -1: null */
} tl_avro_longs;
typedef struct tl_avro_strs {
    const tl_bytes_view *items;
    int32_t n; /* -1: null */
} tl_avro_strs;
typedef struct tl_avro_structs {
    const void *items; /* n structs of the field's record type */
    int32_t n;         /* -1: null */
} tl_avro_structs;

typedef struct tl_avro_record tl_avro_record;
typedef struct tl_avro_field {
    const char *name;
    tl_avro_kind kind;
    bool nullable;
    uint32_t offset;              /* in the record's struct */
    const tl_avro_record *record; /* RECORD, NULL_RECORDS */
    uint32_t present_offset;      /* nullable RECORD: of a bool beside it, in the same struct */
} tl_avro_field;
struct tl_avro_record {
    const tl_avro_field *fields;
    int32_t n_fields;
    uint32_t bytes; /* sizeof the struct */
};

/** All fields null, or zero where they cannot be null. */
void tl_avro_record_clear(const tl_avro_record *record, void *out);
/** The schema JSON that the reference writes for this record type; appended to `out`. */
tl_status tl_avro_record_schema(const tl_avro_record *record, tl_buf *out);
/** The record type as a ROW (names, nullability), to read such records from a columnar file. */
tl_status tl_avro_record_type(const tl_avro_record *record, const tl_type **out, tl_error *err);

/* ---- reading ---- */

typedef struct tl_avro_records tl_avro_records;

/**
 * Read records of a whole file that lies in memory, which must outlive the reader. Fields are found by name in the file's
 * schema; others are skipped, nullable ones that it lacks are null. TL_E_CORRUPT if the file has no Avro magic.
 */
tl_status tl_avro_records_open(tl_bytes_view file, const tl_avro_record *record, tl_avro_records **out, tl_error *err);
void tl_avro_records_free(tl_avro_records *records);
/** Next record into the struct `out`; *more is false at the end. Views in it are valid until the next call. */
tl_status tl_avro_records_next(tl_avro_records *records, void *out, bool *more, tl_error *err);
/** The file's schema JSON. Valid until free(). */
tl_bytes_view tl_avro_records_schema(const tl_avro_records *records);
static inline void tl_avro_records_freep(tl_avro_records **records)
{
    tl_avro_records_free(*records);
}

/* ---- writing ---- */

typedef struct tl_avro_writer tl_avro_writer;

/**
 * A new file of such records. `compression` is Paimon's name (zstd) or Avro's (null, deflate, snappy, bzip2, xz, zstandard);
 * `level` is zstd's.
 */
tl_status tl_avro_writer_create(tl_fs *fs, const char *path, const tl_avro_record *record, const char *compression, int level,
                                tl_avro_writer **out, tl_error *err);
tl_status tl_avro_writer_append(tl_avro_writer *writer, const void *record, tl_error *err);
/** Bytes in the file so far; those of the block being filled are not counted. */
int64_t tl_avro_writer_bytes(const tl_avro_writer *writer);
/** Write the last block, sync and close; *bytes is the file's exact size. After this only free(). */
tl_status tl_avro_writer_finish(tl_avro_writer *writer, int64_t *bytes, tl_error *err);
/** Without a successful finish() the file is removed. NULL is fine. */
void tl_avro_writer_free(tl_avro_writer *writer);
static inline void tl_avro_writer_freep(tl_avro_writer **writer)
{
    tl_avro_writer_free(*writer);
}

#endif
