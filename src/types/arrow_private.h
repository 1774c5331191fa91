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

/* ---- import ---- */

struct tl_arrow_holder;

/* Slots [from, from + length) of an array, to become a column of `type`. */
typedef struct tl_arrow_source {
    struct tl_arrow_holder *h;
    const struct ArrowArray *array;
    const struct ArrowSchema *schema;
    tl_arrow_format format;
    int64_t from; /* the array's offset is in it */
    int64_t length;
} tl_arrow_source;

static inline const void *tl_arrow__buffer(const tl_arrow_source *s, int k)
{
    return s->array->buffers[k];
}
tl_status tl_arrow__broken(const char *reason, tl_error *err);
tl_status tl_arrow__need_buffer(const tl_arrow_source *s, int k, tl_error *err);
/** An integer of 1 to 16 bytes as it stands in a buffer, whatever its alignment. */
tl_i128 tl_arrow__read_int(const uint8_t *values, int64_t i, int bytes, bool is_unsigned);

/* Buffers of a column under import that are its own; the others belong to the array. */
enum { TL_ARROW_OWN_VALIDITY, TL_ARROW_OWN_VALUES, TL_ARROW_OWN_OFFSETS, TL_ARROW_OWN_DATA };
/** With slack for short copies; NULL if out of memory. Released with the column. */
void *tl_arrow__own_buffer(tl_column *col, int slot, size_t bytes);

/** Fill a column whose validity is set already; its type must be one that pick_import() allows. */
typedef tl_status (*tl_arrow_import_fn)(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_bools(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_ints(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_decimals(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_doubles(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_dates(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_times(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_timestamps(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_bytes(const tl_arrow_source *s, tl_column *col, tl_error *err);
tl_status tl_arrow__import_views(const tl_arrow_source *s, tl_column *col, tl_error *err);

/** Where the slots' content lies: 32-bit, 64-bit or computed offsets. */
typedef struct tl_arrow_extent {
    int64_t start;     /* of the first slot's content */
    int64_t items;     /* up to the end of the last one */
    bool filled_nulls; /* some null has content */
} tl_arrow_extent;
int64_t tl_arrow__offset_at(const tl_arrow_source *s, int64_t i);
/** Offsets ascend from 0 or more; TL_E_LIMIT beyond 2^31-1 items. */
tl_status tl_arrow__check_offsets(const tl_arrow_source *s, const tl_column *col, tl_arrow_extent *out, tl_error *err);
/** Our offsets, starting at 0; with `skip_nulls` the content of nulls is left out. */
tl_status tl_arrow__make_offsets(const tl_arrow_source *s, tl_column *col, bool skip_nulls, tl_error *err);

#endif
