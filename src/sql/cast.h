/* Shared by the files of casts (cast*.c) and by functions that format or parse values as casts do. Private to sql/. */
#ifndef TL_SQL_CAST_H
#define TL_SQL_CAST_H

#include "sql/bind.h"
#include "types/convert.h"
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
tl_status tl_cast__from_time(tl_cast *c);
tl_status tl_cast__to_text(tl_cast *c);

/** Text of one value as CAST(… AS STRING) gives it; NULL inside nested values is NULL. */
tl_status tl_cast__append_text(tl_buf *buf, const tl_column *col, int64_t i, const tl_tz *zone);

/** NULL if good, else Flink's complaint. */
const char *tl_cast__parse_int(tl_bytes_view text, int64_t min, int64_t max, int64_t *out);

#endif
