/* What the files of the system tables share. */
#ifndef TL_TABLE_SYSTEM_PRIVATE_H
#define TL_TABLE_SYSTEM_PRIVATE_H

#include "table/table_private.h"

/* One function a table: appends its rows to one builder a column. */
tl_status tl_system__snapshots(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__schemas(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__options(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__tags(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__branches(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__consumers(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__statistics(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__aggregation_fields(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__manifests(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__files(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__file_key_ranges(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__partitions(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__buckets(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__table_indexes(tl_table *table, tl_builder *const *cols, tl_error *err);

/* One function a global table of `sys`; the handle stands for the catalog. */
tl_status tl_system__all_tables(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__all_partitions(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__all_table_options(tl_table *table, tl_builder *const *cols, tl_error *err);
tl_status tl_system__catalog_options(tl_table *table, tl_builder *const *cols, tl_error *err);

/** What a partition holds. */
typedef struct tl_partition_sum {
    char *name; /* "a=1/b=x" */
    int64_t rows, bytes, files;
    int64_t last_ms; /* newest creation time, local; TL_ABSENT: unknown */
    int rank;        /* which of the branches it is of, in the order that they are read in */
} tl_partition_sum;

typedef struct tl_partition_sums {
    tl_partition_sum *items;
    size_t n;
    int rank; /* private: what is added next */
} tl_partition_sums;

/** Partitions of the snapshot that is read, ordered by name; of both branches where the table reads two. `folders`: values as folders
 * are named by them (not escaped), else cast to strings. */
tl_status tl_system__partition_sums(tl_table *table, bool folders, tl_partition_sums *out, tl_error *err);
void tl_partition_sums_deinit(tl_partition_sums *s);

/** The snapshot that this handle reads: the one travelled to, or the latest. NULL: none. */
tl_status tl_system__read_snapshot(tl_table *table, tl_snapshot **out, tl_error *err);
/** Out of memory is the only thing that can go wrong with a builder. */
tl_status tl_system__built(tl_status status, tl_error *err);
/** The buffer's text as a value, unless status says that it is not whole; the buffer is deinitialised. */
tl_status tl_system__add_buf(tl_builder *col, tl_buf *buf, tl_status status);
/** tl_system__row_text() as a value. */
tl_status tl_system__add_row(tl_builder *col, const tl_type *type, tl_bytes row, tl_error *err);
/* Append one value: NULL pointers and TL_ABSENT are NULL. Times are local wall clocks as milliseconds. TL_E_NOMEM without message. */
tl_status tl_system__str(tl_builder *col, const char *text);
tl_status tl_system__long(tl_builder *col, int64_t v);
tl_status tl_system__time(tl_builder *col, int64_t local_ms);
/** "{v1, v2}" of a BinaryRow with arity, values cast to strings, "null" for NULL. */
tl_status tl_system__row_text(const tl_type *type, tl_bytes_view row, tl_buf *out, tl_error *err);
/** Filter and project; takes `full` over. */
tl_status tl_system__select(const tl_scan_spec *spec, tl_batch *full, tl_batch **out, tl_error *err);

#endif
