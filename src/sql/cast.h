/* Shared by the files of casts (cast*.c) and by functions that format or parse values as casts do. Private to sql/. */
#ifndef TL_SQL_CAST_H
#define TL_SQL_CAST_H

#include "sql/bind.h"
#include "types/number.h"

typedef struct tl_cast {
    const tl_column *from;
    const tl_type *to;
    bool is_try;
    const tl_tz *zone;
    tl_column *out;     /* fixed width: allocated; text: set at the end */
    uint8_t *validity;  /* of the result; NULL: all valid so far */
    tl_buf text;        /* text results */
    tl_error *err;
} tl_cast;

/** Row i of the result is NULL. */
tl_status tl_cast__null(tl_cast *c, int64_t i);
/** A value that cannot be cast: NULL for TRY_CAST, else the error (Flink's words). */
tl_status tl_cast__bad(tl_cast *c, int64_t i, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

tl_status tl_cast__from_text(tl_cast *c);
tl_status tl_cast__from_number(tl_cast *c);
tl_status tl_cast__from_time(tl_cast *c);
tl_status tl_cast__to_text(tl_cast *c);

/** Text of one value as CAST(… AS STRING) gives it; NULL inside nested values is NULL. */
tl_status tl_cast__append_text(tl_buf *buf, const tl_column *col, int64_t i, const tl_tz *zone);

/* Text to values: what Flink accepts. False: it does not. */
bool tl_cast__parse_date(tl_bytes_view text, int32_t *days);
bool tl_cast__parse_time(tl_bytes_view text, int32_t *millis);
bool tl_cast__parse_timestamp(tl_bytes_view text, int64_t *millis, int32_t *nanos);
/** NULL if good, else Flink's complaint. */
const char *tl_cast__parse_int(tl_bytes_view text, int64_t min, int64_t max, int64_t *out);

/** Milliseconds and nanoseconds of a TIMESTAMP value of any precision; and back, cut to the precision as a cast cuts. */
void tl_cast__timestamp_at(const tl_column *col, int64_t i, int64_t *millis, int32_t *nanos);
void tl_cast__put_timestamp(tl_column *col, int64_t i, int64_t millis, int32_t nanos);

/** Value and scale changes of decimals; false: it does not fit. */
tl_i128 tl_cast__decimal_at(const tl_column *col, int64_t i);
void tl_cast__put_decimal(tl_column *col, int64_t i, tl_i128 v);
bool tl_cast__rescale(tl_i128 v, int32_t from_scale, int32_t precision, int32_t scale, tl_i128 *out);
/** Value `i` of an integer column of any width: the low bits of v. */
static inline void tl_cast__put_integer(tl_column *out, int64_t i, int64_t v)
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
double tl_cast__decimal_to_double(tl_i128 v, int32_t scale);
bool tl_cast__double_to_decimal(double v, int32_t precision, int32_t scale, tl_i128 *out);
int32_t tl_cast__double_to_int(double v);
int64_t tl_cast__double_to_long(double v);
/** Division that rounds half away from zero; divisor > 0. */
tl_i128 tl_cast__divide_rounded(tl_i128 v, tl_i128 divisor);

#endif
