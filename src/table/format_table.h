/*
 * What the files of format tables share (format_table.c, format_scan.c, format_read.c, format_write.c), and what the rest of the room
 * asks of them. A table is one if its `folder` is not NULL.
 */
#ifndef TL_TABLE_FORMAT_TABLE_H
#define TL_TABLE_FORMAT_TABLE_H

#include "format/format.h"
#include "table/write_private.h"

/* The folder of schemas in the table's folder. */
#define TL_FOLDER_OWN "schema"

typedef struct tl_folder {
    const tl_format *format;
    const char *compression; /* of new files; borrowed from the schema's options */
    bool values_only;        /* format-table.partition-path-only-value */
    int32_t *file_idx;       /* the columns of files, in the row type */
    int32_t n_file;
    const tl_type *file_type;
} tl_folder;

/** Whether options make a table a format table. */
bool tl_format_table__asked(const tl_options *options);
/** TL_E_INVALID, TL_E_UNSUPPORTED: the schema cannot be one of a format table. */
tl_status tl_format_table__validate(const tl_table_schema *schema, tl_error *err);
/** Sets table->folder. */
tl_status tl_format_table__open(tl_table *table, tl_error *err);
void tl_format_table__close(tl_folder *folder);

/** Names that readers pass over, of files and folders. */
bool tl_format_table__hidden(const char *name);
/** Where new files of a partition go; tl_free. */
tl_status tl_format_table__dir(const tl_table *table, tl_bytes_view partition, char **out, tl_error *err);

/* ---- format_scan.c ---- */

/** One split for each file, by path. `pred`: on the partition type, exact; NULL: all. */
tl_status tl_format_table__files(tl_table *table, const tl_predicate *pred, tl_splits *out, tl_error *err);
/** The same for a predicate on the row type, of which only what it says of partition columns counts. */
tl_status tl_format_table__plan(tl_table *table, const tl_predicate *pred, tl_splits *out, tl_error *err);
/** An entry of a file; the path becomes its external path (NULL: none). */
tl_status tl_format_table__entry(const tl_table *table, const char *name, const char *path, int64_t bytes, int64_t rows, tl_data_file **out,
                                 tl_error *err);

/* ---- format_read.c ---- */

tl_status tl_format_table__read(tl_table *table, const tl_split *split, const tl_scan_spec *spec, tl_reader **out, tl_error *err);

/* ---- format_write.c ---- */

typedef struct tl_format_writer tl_format_writer;
tl_status tl_format_writer__create(tl_table *table, tl_format_writer **out, tl_error *err);
void tl_format_writer__free(tl_format_writer *writer); /* files that were not handed over are removed */
tl_status tl_format_writer__write(tl_format_writer *writer, tl_bytes_view partition, const tl_batch *rows, tl_error *err);
/** Everything written so far; the files have hidden names until they are committed. */
tl_status tl_format_writer__prepare(tl_format_writer *writer, tl_commit_messages *out, tl_error *err);
tl_status tl_format_table__commit(tl_table *table, const tl_commit_spec *spec, const tl_commit_messages *messages, tl_error *err);
void tl_format_table__abort(tl_table *table, const tl_commit_messages *messages);
/** Remove the files of partitions. `pred`: on the partition type; NULL: all. */
tl_status tl_format_table__drop(tl_table *table, const tl_predicate *pred, tl_error *err);

#endif
