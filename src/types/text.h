/*
 * Text forms of values: the JSON lines of the reference's command (tests/interop/oracle/README.md), CSV, and tables for eyes.
 */
#ifndef TL_TYPES_TEXT_H
#define TL_TYPES_TEXT_H

#include "types/builder.h"

/** Append the JSON form of row `i`. */
tl_status tl_text_append_json(tl_buf *buf, const tl_column *col, int64_t i);
/** Message of a failed append: no memory, or a VARIANT that is none. */
tl_status tl_text_append_error(tl_status status, tl_error *err);
/** Append `{"a":1,…}` of row `i` of a batch, without a line end. `with_kind` puts "_kind" first; snapshot != 0 "_snapshot" before it. */
tl_status tl_text_append_json_row(tl_buf *buf, const tl_batch *batch, int64_t i, bool with_kind, int64_t snapshot);
/** Lines of rows [from, from+count), each with a line end; `with_snapshot` takes it from the batch. Faster than row by row. */
tl_status tl_text_append_json_lines(tl_buf *buf, const tl_batch *batch, int64_t from, int64_t count, bool with_kind,
                                    bool with_snapshot);
/**
 * Parse the JSON form of one value into the builder; errors name value and type. Numbers also from strings, as the oracle takes
 * them; a MAP also from an object; a decimal beyond its precision becomes NULL, as in the reference. NULL (JSON null, or `json`
 * == NULL) is appended whether or not the type allows it: the caller checks. After an error, tl_builder_truncate() helps.
 */
tl_status tl_text_read_json(const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err);
/** Plain text (CSV cells, tables for eyes): strings as they are, others as JSON without quotes; NULL appends nothing. */
tl_status tl_text_append_plain(tl_buf *buf, const tl_column *col, int64_t i);
/**
 * Parse plain text (CSV cells, partition values, option values, SQL literals). What append_plain gives is read back; beyond
 * that the reference's cast from STRING: BOOLEAN also t/f, yes/no, 1/0; DATE and TIME also as numbers (epoch day, milliseconds),
 * timestamps also as epoch numbers of precision 0, 3, 6 or 9. Binary is hexadecimal, nested types are JSON.
 */
tl_status tl_text_read_plain(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err);

/** Java's text of an internal value: partition directories with partition.legacy-name=true (format reference §1). Scalars only. */
tl_status tl_text_append_java(tl_buf *buf, const tl_column *col, int64_t i);
/** SQL cast to STRING as the reference does it (local time zone: UTC): partition.legacy-name=false, system tables. NULL: "null". */
tl_status tl_text_append_cast(tl_buf *buf, const tl_column *col, int64_t i);

tl_status tl_text_append_base64(tl_buf *buf, tl_bytes_view bytes);

/** C's shortest %.{p}g that reads back (the text form of DOUBLE and FLOAT). */
size_t tl_text_double(double v, char out[32]);
size_t tl_text_float(float v, char out[32]);
/** Java's Double.toString / Float.toString. */
size_t tl_text_java_double(double v, char out[32]);
size_t tl_text_java_float(float v, char out[32]);

/* Calendar: proleptic Gregorian, as java.time. */
int64_t tl_days_from_civil(int64_t year, int month, int day);
void tl_civil_from_days(int64_t days, int64_t *year, int *month, int *day);
/** "2024-02-29", "12:34:56.789", "2024-02-29T12:34:56.000000000" or with a blank; false if malformed. `nanos` of the second. */
bool tl_parse_date(tl_bytes_view text, int32_t *days);
bool tl_parse_time(tl_bytes_view text, int32_t *millis);
bool tl_parse_timestamp(tl_bytes_view text, int64_t *millis, int32_t *nanos_of_milli);

/** Decimal text <-> unscaled value. Parsing rounds half up to `scale`; false if malformed or beyond `precision`. */
bool tl_decimal_parse(tl_bytes_view text, int precision, int scale, tl_i128 *out);
size_t tl_decimal_format(tl_i128 unscaled, int scale, char out[64]);
tl_i128 tl_pow10_i128(int exponent); /* 0..38 */

#endif
