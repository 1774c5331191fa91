/*
 * Values of one type as values of another: what SQL's casts (sql/cast.h) and those of changed column types (cast.h) share.
 *
 * Numbers go as in Java: integers wrap, floating point to integers saturates (NaN is 0), a decimal that does not fit is NULL.
 */
#ifndef TL_TYPES_CONVERT_H
#define TL_TYPES_CONVERT_H

#include "types/column.h"
#include "types/text.h"

/* ---- whole columns ---- */

/** BOOLEAN, integers, FLOAT, DOUBLE and DECIMAL among each other. */
tl_status tl_convert_numbers(const tl_column *from, const tl_type *to, tl_column **out, tl_error *err);
/** Text or binary to binary: BINARY(n) is cut or filled with zeros, VARBINARY(n) is cut. */
tl_status tl_convert_to_binary(const tl_column *from, const tl_type *to, tl_column **out, tl_error *err);

/** Row i of a result becomes NULL: *validity starts as NULL and is then a copy of from's. tl_free. */
tl_status tl_convert_null(const tl_column *from, uint8_t **validity, int64_t i, tl_error *err);
/**
 * Validity of a result: what tl_convert_null() made (taken over), or a copy of from's; values at nulls become zero. Bytes of BYTES
 * columns must be there already.
 */
tl_status tl_convert_finish(const tl_column *from, uint8_t **validity, tl_column *out, tl_error *err);
/** Cut a text at the end of `buf` that begins at `start` to the length of CHAR or VARCHAR, and pad CHAR with blanks. */
tl_status tl_convert_fit_length(tl_buf *buf, size_t start, const tl_type *type);

/* ---- single values ---- */

/** Value of a DECIMAL column of either layout; and back. */
tl_i128 tl_convert_decimal_at(const tl_column *col, int64_t i);
void tl_convert_put_decimal(tl_column *col, int64_t i, tl_i128 v);
/** To another precision and scale, rounded half away from zero; false: it does not fit. */
bool tl_convert_rescale(tl_i128 v, int32_t from_scale, int32_t precision, int32_t scale, tl_i128 *out);
/** Division that rounds half away from zero; divisor > 0. */
tl_i128 tl_convert_divide_rounded(tl_i128 v, tl_i128 divisor);
/** As the reference: of a compact decimal (precision <= 18) by dividing two doubles, else the nearest double. */
double tl_convert_decimal_to_double(tl_i128 v, int32_t precision, int32_t scale);
/** Of the shortest text, as BigDecimal.valueOf() takes it; false: it does not fit. */
bool tl_convert_double_to_decimal(double v, int32_t precision, int32_t scale, tl_i128 *out);
int32_t tl_convert_double_to_int(double v);
int64_t tl_convert_double_to_long(double v);
/** The low bits of v as value `i` of an integer column of any width: tl_col_integer() the other way round. */
static inline void tl_convert_put_integer(tl_column *out, int64_t i, int64_t v)
{
    switch (out->phys) {
    case TL_PHYS_I8:
        ((int8_t *)out->values)[i] = (int8_t)v;
        break;
    case TL_PHYS_I16:
        ((int16_t *)out->values)[i] = (int16_t)v;
        break;
    case TL_PHYS_I32:
        ((int32_t *)out->values)[i] = (int32_t)v;
        break;
    default:
        ((int64_t *)out->values)[i] = v;
        break;
    }
}
/** Milliseconds and nanoseconds of a TIMESTAMP value of any precision; and back, cut to the precision as a cast cuts. */
void tl_convert_timestamp_at(const tl_column *col, int64_t i, int64_t *millis, int32_t *nanos);
void tl_convert_put_timestamp(tl_column *col, int64_t i, int64_t millis, int32_t nanos);

/* ---- from text: what Flink and the reference accept. False: they do not ---- */

/** [sign] digits [. digits], of which the fraction is left out. NULL if good, else the reference's complaint. */
const char *tl_convert_parse_int(tl_bytes_view text, int64_t min, int64_t max, int64_t *out);
/** Java's parseDouble() or parseFloat(), with a suffix d or f and white space around; hexadecimal with an exponent. */
bool tl_convert_parse_double(tl_bytes_view text, bool single, double *out);

/** y[-m[-d]], what follows a blank is left out. */
bool tl_convert_parse_date(tl_bytes_view text, int32_t *days);
/** h[:m[:s[.f]]][+-hh[:mm]]; no part has a limit, nor has the sum. */
bool tl_convert_parse_time(tl_bytes_view text, int64_t *millis);
/** yyyy-[m]m-[d]d[ [h]h:[m]m:[s]s[.fraction of up to nine digits]]; a day up to 31 is clipped to its month,
 * 24:00:00 is the next day's midnight, there is no year 0. */
bool tl_convert_parse_timestamp(tl_bytes_view text, int64_t *millis, int32_t *nanos);

#endif
