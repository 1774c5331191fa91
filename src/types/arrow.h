/*
 * Arrow C Data and Stream Interface: batches in and out of the library. Zero-copy where the layouts agree.
 * Source: https://arrow.apache.org/docs/format/CDataInterface.html
 */
#ifndef TL_TYPES_ARROW_H
#define TL_TYPES_ARROW_H

#include <tidelake/arrow_abi.h>

#include "types/column.h"

/** Schema of a ROW type as an Arrow struct; field metadata carries nothing. */
tl_status tl_arrow_export_schema(const tl_type *row_type, struct ArrowSchema *out, tl_error *err);
tl_status tl_arrow_import_schema(const struct ArrowSchema *schema, const tl_type **out, tl_error *err);
/** The array holds refs on the batch's columns. Row kinds are not exported (append a column for them first). */
tl_status tl_arrow_export_batch(const tl_batch *batch, struct ArrowArray *out, tl_error *err);
/** Takes `array` over (moved; released with the batch). The result has exactly `row_type`, which the schema must allow. */
tl_status tl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *schema, const tl_type *row_type, tl_batch **out,
                                tl_error *err);
/** Takes the reader over. */
tl_status tl_arrow_export_stream(tl_reader *reader, struct ArrowArrayStream *out, tl_error *err);

#endif
