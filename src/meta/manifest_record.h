/*
 * Records of manifests and manifest lists as they are stored, with their parts borrowed from the decoded block: what
 * the entry filter sees before anything is allocated. Field order is that of the files (format reference §4.1, §4.2, §5).
 */
#ifndef TL_META_MANIFEST_RECORD_H
#define TL_META_MANIFEST_RECORD_H

#include "format/avro/avro.h"
#include "format/format.h"
#include "meta/meta.h"
#include "types/builder.h"

#define TL_META_MANIFEST_VERSION 2

typedef struct tl_meta__stats_record {
    tl_bytes_view min;
    tl_bytes_view max;
    tl_avro_longs null_counts;
} tl_meta__stats_record;

typedef struct tl_meta__file_record {
    tl_bytes_view name;
    int64_t bytes;
    int64_t rows;
    tl_bytes_view min_key;
    tl_bytes_view max_key;
    tl_meta__stats_record key_stats;
    tl_meta__stats_record value_stats;
    int64_t min_seq;
    int64_t max_seq;
    int64_t schema_id;
    int64_t level;
    tl_avro_strs extra_files;
    int64_t creation_time_ms;
    int64_t delete_rows;
    tl_bytes_view embedded_index;
    int64_t file_source;
    tl_avro_strs value_stats_cols;
    tl_bytes_view external_path;
    int64_t first_row_id;
    tl_avro_strs write_cols;
} tl_meta__file_record;

typedef struct tl_meta__entry_record {
    int64_t version;
    int64_t kind;
    tl_bytes_view partition;
    int64_t bucket;
    int64_t total_buckets;
    tl_meta__file_record file;
} tl_meta__entry_record;

typedef struct tl_meta__list_record {
    int64_t version;
    tl_bytes_view name;
    int64_t bytes;
    int64_t added;
    int64_t deleted;
    tl_meta__stats_record partition_stats;
    int64_t schema_id;
    int64_t min_bucket;
    int64_t max_bucket;
    int64_t min_level;
    int64_t max_level;
    int64_t min_row_id;
    int64_t max_row_id;
} tl_meta__list_record;

extern const tl_avro_record tl_meta__entry_fields;
extern const tl_avro_record tl_meta__list_fields;

/** A file in one allocation, copied from the record. */
tl_status tl_meta__file_from_record(const tl_meta__file_record *from, tl_data_file **out, tl_error *err);
/** Borrowed from the file; arrays that must be converted lie in `scratch`, whose content is replaced. */
tl_status tl_meta__file_to_record(const tl_data_file *from, tl_buf *scratch, tl_meta__file_record *out, tl_error *err);
tl_status tl_meta__stats_from_record(const tl_meta__stats_record *from, tl_simple_stats *out, tl_error *err);
/** `counts` has room for from->n numbers and must outlive the record. */
void tl_meta__stats_to_record(const tl_simple_stats *from, int64_t *counts, tl_meta__stats_record *out);

/** Records of a manifest or list, whatever its format (by its first bytes). `file` must outlive the reader. */
typedef struct tl_meta__records tl_meta__records;
tl_status tl_meta__records_open(tl_fs *fs, const char *path, tl_bytes_view file, const tl_avro_record *fields,
                                tl_meta__records **out, tl_error *err);
/** As tl_avro_records_next(). */
tl_status tl_meta__records_next(tl_meta__records *records, void *out, bool *more, tl_error *err);
void tl_meta__records_free(tl_meta__records *records);
static inline void tl_meta__records_freep(tl_meta__records **records)
{
    tl_meta__records_free(*records);
}

/** A new manifest or list in the writer's format. */
typedef struct tl_meta__sink tl_meta__sink;
tl_status tl_meta__sink_create(const tl_manifest_writer *w, const char *path, const tl_avro_record *fields, tl_meta__sink **out,
                               tl_error *err);
tl_status tl_meta__sink_append(tl_meta__sink *sink, const void *record, tl_error *err);
/** Bytes in the file so far, roughly. */
int64_t tl_meta__sink_bytes(const tl_meta__sink *sink);
/** Sync and close; *bytes is the file's exact size. After this only free(). */
tl_status tl_meta__sink_finish(tl_meta__sink *sink, int64_t *bytes, tl_error *err);
/** Without a successful finish() the file is removed. */
void tl_meta__sink_free(tl_meta__sink *sink);
static inline void tl_meta__sink_freep(tl_meta__sink **sink)
{
    tl_meta__sink_free(*sink);
}

#endif
