/*
 * Arrow C Data and Stream Interface: batches in and out of the library. Zero-copy where the layouts agree.
 * Source: https://arrow.apache.org/docs/format/CDataInterface.html
 */
#ifndef TL_TYPES_ARROW_H
#define TL_TYPES_ARROW_H

#include <tidelake/arrow_abi.h>

#include "types/column.h"

/**
 * Schema of a ROW type as an Arrow struct; field metadata carries nothing. DECIMAL is decimal128, TIME time32[ms], TIMESTAMP(p)
 * ms, us or ns by p <= 3, <= 6, <= 9, LTZ the same with zone "UTC", MULTISET a map to counts, VARIANT a struct of two binaries.
 */
tl_status tl_arrow_export_schema(const tl_type *row_type, struct ArrowSchema *out, tl_error *err);
/** The ROW type that a struct schema suggests: uint64 becomes DECIMAL(20, 0), dictionaries their values' type, … */
tl_status tl_arrow_import_schema(const struct ArrowSchema *schema, const tl_type **out, tl_error *err);
/**
 * The array holds refs on the batch's columns. Row kinds are not exported (append a column for them first).
 * TL_E_INVALID for a TIMESTAMP(7..9) beyond int64 nanoseconds (years 1678 to 2262) or a NULL key of a map.
 */
tl_status tl_arrow_export_batch(const tl_batch *batch, struct ArrowArray *out, tl_error *err);
/**
 * Takes `array` over (moved; released with the batch, or at once on failure). The result has exactly `row_type`: its fields are
 * found by name, other ones of the schema are left out. Integers of other widths, large and view strings, dictionaries, other
 * units of time and other decimals are converted if every value fits; the error names column, row and value.
 * Structure is checked before it is trusted, as far as the interface allows: it does not tell the size of buffers.
 */
tl_status tl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *schema, const tl_type *row_type, tl_batch **out,
                                tl_error *err);
/** Takes the reader over, also when it fails. */
tl_status tl_arrow_export_stream(tl_reader *reader, struct ArrowArrayStream *out, tl_error *err);
/** Takes `stream` over (moved), also when it fails. `row_type` NULL: as its schema suggests. */
tl_status tl_arrow_import_stream(struct ArrowArrayStream *stream, const tl_type *row_type, tl_reader **out, tl_error *err);

#endif
