/*
 * Shared by the files of the Arrow interface.
 */
#ifndef TL_TYPES_ARROW_PRIVATE_H
#define TL_TYPES_ARROW_PRIVATE_H

#include "types/arrow.h"

/* What an Arrow format string means, as far as we know it. */
typedef enum tl_arrow_kind {
    TL_ARROW_NULL,
    TL_ARROW_BOOL,
    TL_ARROW_INT, /* `bytes` wide, `is_unsigned` */
    TL_ARROW_FLOAT,
    TL_ARROW_DOUBLE,
    TL_ARROW_DECIMAL, /* `bytes` wide, precision, scale */
    TL_ARROW_BYTES,   /* strings and binary: 32-bit offsets */
    TL_ARROW_LARGE_BYTES,
    TL_ARROW_VIEW,
    TL_ARROW_FIXED_BYTES, /* `bytes` wide */
    TL_ARROW_DATE,        /* `bytes` 4: days, 8: milliseconds */
    TL_ARROW_TIME,        /* `per_second`; `bytes` 4 or 8 */
    TL_ARROW_TIMESTAMP,   /* `per_second`, `has_zone` */
    TL_ARROW_LIST,
    TL_ARROW_LARGE_LIST,
    TL_ARROW_FIXED_LIST, /* `bytes`: elements each */
    TL_ARROW_MAP,
    TL_ARROW_STRUCT
} tl_arrow_kind;

typedef struct tl_arrow_format {
    tl_arrow_kind kind;
    int32_t bytes;
    bool is_unsigned;
    bool is_text; /* UTF-8 is promised */
    int32_t precision;
    int32_t scale;
    int64_t per_second;
    bool has_zone;
} tl_arrow_format;

/** Understand one format string; TL_E_UNSUPPORTED for those without a counterpart (unions, run-end encoding, durations, …). */
tl_status tl_arrow__parse_format(const char *format, tl_arrow_format *out, tl_error *err);
/** Check a schema node's own structure: format, children, names. */
tl_status tl_arrow__check_schema(const struct ArrowSchema *schema, tl_arrow_format *format, tl_error *err);

#endif
