/*
 * Rows packed one after the other: what is read one row at a time from a large table in memory. A row of many columns lies in a few cache
 * lines that follow each other, where a batch has one or two of each column.
 *
 * A row: which values are NULL (a bit a field, LSB first), the values of fixed width without gaps (zero where NULL), the lengths of the
 * strings (32 bits each), their bytes. LIST, MAP and ROW are not packed: their columns stay with the caller.
 */
#ifndef TL_TYPES_PACKED_ROWS_H
#define TL_TYPES_PACKED_ROWS_H

#include "types/column.h"

/** Where a row has its values. Immutable; one serves all rows of a type. */
typedef struct tl_row_layout tl_row_layout;
tl_status tl_row_layout_create(const tl_type *row_type, tl_row_layout **out, tl_error *err);
void tl_row_layout_free(tl_row_layout *layout); /* NULL is fine */
/** Whether the values of that field are in packed rows. */
bool tl_row_layout_has(const tl_row_layout *layout, int32_t field);

/** Zero-initialise. */
typedef struct tl_packed_rows {
    int64_t n;
    uint64_t *starts; /* [0..n] into bytes */
    uint8_t *bytes;
} tl_packed_rows;
void tl_packed_rows_deinit(tl_packed_rows *rows);
/** `cols`: one of each field, of its type (nullability apart); those of fields that are not packed are not looked at. */
tl_status tl_rows_pack(const tl_row_layout *layout, const tl_column *const *cols, int64_t n, tl_packed_rows *out, tl_error *err);
int64_t tl_packed_rows_bytes(const tl_packed_rows *rows);

/** A row whose values are all NULL. */
const uint8_t *tl_row_layout_null_row(const tl_row_layout *layout);
/**
 * The fields of rows (pointers into `bytes` at a start, or the null row) as columns of the layout's type; NULL for those that are not
 * packed. Few rows: all columns, buffers too, are one allocation that lives as long as one of them. On failure `out` holds nothing.
 */
tl_status tl_rows_unpack(const tl_row_layout *layout, const uint8_t *const *rows, int64_t n, tl_column **out, tl_error *err);

#endif
