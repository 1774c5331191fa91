/*
 * Columns in and out of DuckDB's vectors. Private to sql/.
 *
 * DuckDB sees carriers, not our types: what compares, hashes and sorts as the values do. Numbers, dates and times are integers of
 * their layout, decimals their unscaled value, TIMESTAMP(7..9) nanoseconds in a HUGEINT, text and binary BLOB (bytes compare as
 * Flink compares), MAP and MULTISET a list of (key, value).
 */
#ifndef TL_SQL_DUCK_VECTOR_H
#define TL_SQL_DUCK_VECTOR_H

#include "sql/duck_api.h"
#include "types/builder.h"

/** The carrier as a logical type; released by the caller. */
duck_handle duck_carrier(const duck_api *api, const tl_type *type);
/** The carrier as SQL text, appended. */
tl_status duck_carrier_sql(const tl_type *type, tl_buf *out);
/** Rows from .. from + n of the column to rows 0 .. n of the vector. */
tl_status duck_from_column(const duck_api *api, const tl_column *col, int64_t from, int64_t n, duck_handle vector, tl_error *err);
/** Rows 0 .. n of a (flat) vector as a column of `type`. */
tl_status duck_to_column(const duck_api *api, duck_handle vector, const tl_type *type, int64_t n, tl_column **out, tl_error *err);

#endif
