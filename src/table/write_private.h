/* What the files of the table writer share. */
#ifndef TL_TABLE_WRITE_PRIVATE_H
#define TL_TABLE_WRITE_PRIVATE_H

#include "table/table_private.h"

/* ---- rows before they are split (write_rows.c) ---- */

typedef struct tl_row_rules {
    const tl_table *table;
    tl_column **defaults; /* per column: one row, or NULL */
    bool has_defaults;
    int32_t kind_column; /* rowkind.field; -1: none */
    bool ignore_delete;
    bool ignore_update_before;
    bool append_only;
} tl_row_rules;

tl_status tl_row_rules_create(const tl_table *table, tl_row_rules *out, tl_error *err);
void tl_row_rules_deinit(tl_row_rules *rules); /* works on a half-built object */
/** The rows to write: checked, with defaults and kinds, without those that are ignored. */
tl_status tl_row_rules_apply(const tl_row_rules *rules, const tl_batch *batch, tl_batch **out, tl_error *err);

/* ---- rows by bucket (write_split.c) ---- */

/** One bucket's rows of a batch. */
typedef struct tl_bucket_rows {
    tl_bytes partition; /* BinaryRow with arity; owned */
    int32_t bucket;
    tl_batch *rows; /* owned */
} tl_bucket_rows;
typedef struct tl_bucket_parts {
    tl_bucket_rows *items;
    size_t n;
} tl_bucket_parts;
void tl_bucket_parts_deinit(tl_bucket_parts *parts);
/** Split a batch by partition and bucket; takes `batch` over, also on failure. Rows keep their order within a bucket. */
tl_status tl_split_by_bucket(const tl_table *table, tl_batch *batch, tl_bucket_parts *out, tl_error *err);

#endif
