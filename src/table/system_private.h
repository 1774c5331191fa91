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

/* Append one value: NULL pointers and TL_ABSENT are NULL. Times are local wall clocks as milliseconds. TL_E_NOMEM without message. */
tl_status tl_system__str(tl_builder *col, const char *text);
tl_status tl_system__long(tl_builder *col, int64_t v);
tl_status tl_system__time(tl_builder *col, int64_t local_ms);
/** "{v1, v2}" of a BinaryRow with arity, values cast to strings, "null" for NULL. */
tl_status tl_system__row_text(const tl_type *type, tl_bytes_view row, tl_buf *out, tl_error *err);
/** Filter and project; takes `full` over. */
tl_status tl_system__select(const tl_scan_spec *spec, tl_batch *full, tl_batch **out, tl_error *err);

#endif
