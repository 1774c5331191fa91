/*
 * What the files of file indexes share: values, bytes to read, the interface of a kind.
 */
#ifndef TL_INDEX_FILE_INDEX_PRIVATE_H
#define TL_INDEX_FILE_INDEX_PRIVATE_H

#include "base/bits.h"
#include "index/file_index.h"

/* ---- findex_value.c: values as indexes know them ---- */

typedef enum tl_findex__repr {
    TL_FINDEX__BOOL,
    TL_FINDEX__I8,
    TL_FINDEX__I16,
    TL_FINDEX__I32,
    TL_FINDEX__I64, /* BIGINT, timestamps in their unit (milliseconds up to precision 3, else microseconds), unscaled decimals */
    TL_FINDEX__F32,
    TL_FINDEX__F64,
    TL_FINDEX__BYTES
} tl_findex__repr;

typedef struct tl_findex__type {
    const tl_type *type; /* borrowed */
    tl_findex__repr repr;
    bool coarse; /* TIMESTAMP(7..9): values are cut to microseconds, so that unequal ones may look equal */
} tl_findex__type;

/** `n` orders like the value: floating point by its total order. */
typedef struct tl_findex__value {
    int64_t n;
    tl_bytes_view bytes; /* TL_FINDEX__BYTES only; borrowed */
} tl_findex__value;

/** False: values of this type are in no index (nested ones, VARIANT, BLOB). */
bool tl_findex__type_of(const tl_type *type, tl_findex__type *out);
/** The value at `row`, not NULL. False if it has more than 64 bits (DECIMAL above 18 digits, far timestamps). */
bool tl_findex__value_at(const tl_findex__type *type, const tl_column *col, int64_t row, tl_findex__value *out);
int tl_findex__compare(const tl_findex__type *type, tl_findex__value a, tl_findex__value b);
/** The bits of FLOAT and DOUBLE (one NaN), the number of others. */
int64_t tl_findex__bits(const tl_findex__type *type, tl_findex__value value);
/** As stored in bitmap and range-bitmap: big-endian; strings with an int32 length. */
size_t tl_findex__stored_bytes(const tl_findex__type *type, tl_findex__value value);
tl_status tl_findex__store(const tl_findex__type *type, tl_findex__value value, tl_buf *out);

/* ---- findex_input.c: bytes to read ---- */

/** A piece of an index: bytes in memory, or of a file that is read when they are asked for. */
typedef struct tl_findex__input {
    tl_bytes_view memory; /* data NULL: in the file */
    tl_file *file;
    int64_t from; /* of the piece, in the container */
    int64_t bytes;
    tl_arena *arena;
} tl_findex__input;

/** [from, from + bytes) of the piece, valid as long as the arena. TL_E_CORRUPT outside. */
tl_status tl_findex__view(const tl_findex__input *in, int64_t from, int64_t bytes, tl_bytes_view *out, tl_error *err);
/** A part of it as a piece. */
tl_status tl_findex__part(const tl_findex__input *in, int64_t from, int64_t bytes, tl_findex__input *out, tl_error *err);

/** Reads on from a place, fetching as it goes. */
typedef struct tl_findex__cursor {
    const tl_findex__input *in;
    int64_t at;
    tl_bytes_view window;
    int64_t window_from;
} tl_findex__cursor;
static inline tl_findex__cursor tl_findex__cursor_at(const tl_findex__input *in, int64_t at)
{
    return (tl_findex__cursor){.in = in, .at = at};
}
tl_status tl_findex__take(tl_findex__cursor *c, int64_t bytes, const uint8_t **out, tl_error *err);
tl_status tl_findex__take_u8(tl_findex__cursor *c, uint8_t *out, tl_error *err);
tl_status tl_findex__take_i32(tl_findex__cursor *c, int32_t *out, tl_error *err);
/** An int32 in [0, max]; `what` is told where it is not. */
tl_status tl_findex__take_count(tl_findex__cursor *c, int64_t max, const char *what, int32_t *out, tl_error *err);
tl_status tl_findex__take_value(tl_findex__cursor *c, const tl_findex__type *type, tl_findex__value *out, tl_error *err);
/** TL_E_CORRUPT: "byte N: WHAT". */
static inline tl_status tl_findex__corrupt(const tl_findex__input *in, int64_t at, const char *what, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "byte %lld: %s", (long long)(in->from + at), what);
}
/** The Roaring bitmap in [from, from + bytes) of a piece. */
tl_status tl_findex__roaring(const tl_findex__input *in, int64_t from, int64_t bytes, tl_roaring32 *out, tl_error *err);

/* ---- kinds ---- */

/** A question about one column. */
typedef struct tl_findex__ask {
    enum { TL_FINDEX__IN, TL_FINDEX__NOT_IN, TL_FINDEX__RANGE, TL_FINDEX__NULL, TL_FINDEX__NOT_NULL } op;
    const tl_findex__value *values; /* IN, NOT_IN */
    int64_t n_values;
    bool has_low, low_open; /* RANGE; open: the bound itself is outside */
    bool has_high, high_open;
    tl_findex__value low, high;
} tl_findex__ask;

typedef struct tl_findex__answer {
    tl_file_index_verdict verdict;
    tl_row_set rows; /* TL_INDEX_SOME */
} tl_findex__answer;

/** An index that is read; lives in the arena of its input. */
typedef struct tl_findex__reader {
    const struct tl_findex__kind *kind;
    tl_findex__input in;
    tl_findex__type type;
    int64_t rows; /* of the data file */
} tl_findex__reader;

typedef struct tl_findex__writer {
    const struct tl_findex__kind *kind;
    tl_findex__type type;
} tl_findex__writer;

typedef struct tl_findex__kind {
    const char *name;
    size_t reader_bytes; /* of the struct that begins with a tl_findex__reader */
    /* Whether values of the type can be indexed; else `why` is told. */
    bool (*holds)(const tl_type *type, const char **why);
    /* Read what every answer needs. */
    tl_status (*open)(tl_findex__reader *reader, tl_error *err);
    /* *out comes as TL_INDEX_ALL; rows that it sets are the caller's, also on failure. */
    tl_status (*answer)(tl_findex__reader *reader, const tl_findex__ask *ask, tl_findex__answer *out, tl_error *err);
    /* `options`: those of the column, keys without their prefix. */
    tl_status (*create)(const tl_findex__type *type, const tl_options *options, tl_findex__writer **out, tl_error *err);
    tl_status (*add)(tl_findex__writer *writer, const tl_column *col, int64_t n, tl_error *err);
    int64_t (*memory)(const tl_findex__writer *writer);
    /* Append the index; *why is set, and nothing appended, where it cannot hold a value that it was given. */
    tl_status (*finish)(tl_findex__writer *writer, tl_buf *out, const char **why, tl_error *err);
    void (*free)(tl_findex__writer *writer);
} tl_findex__kind;

extern const tl_findex__kind tl_findex__bloom_filter;
extern const tl_findex__kind tl_findex__bitmap;
extern const tl_findex__kind tl_findex__bsi;
extern const tl_findex__kind tl_findex__range_bitmap;
/** NULL if there is none of that name. */
const tl_findex__kind *tl_findex__kind_of(tl_bytes_view name);

/** Modified UTF-8, as Java writes names: the zero byte as two, characters beyond 16 bits as two of three. */
tl_status tl_findex__utf_name(const char *name, tl_buf *out);
/** Set *out to TL_INDEX_SOME with an empty set. */
tl_status tl_findex__some(const tl_findex__reader *reader, tl_findex__answer *out, tl_error *err);
/** Text of an int32 option, a size or a number; *out stays where it is not set. */
tl_status tl_findex__opt_int(const tl_options *options, const char *key, int64_t min, int64_t max, int64_t *out, tl_error *err);
tl_status tl_findex__opt_memory(const tl_options *options, const char *key, int64_t *out, tl_error *err);

/* ---- findex_slices.c: numbers of rows as one bitmap for each bit ---- */

typedef struct tl_findex__slices {
    int64_t rows;
    const tl_roaring32 *present; /* rows that have a number */
    int32_t n;                   /* bits; at most 64 */
    tl_status (*slice)(void *ctx, int32_t i, const tl_roaring32 **out, tl_error *err); /* rows whose bit i is set */
    void *ctx;
} tl_findex__slices;

/** Add the rows whose number is less than `code` (or equal to it). `out` has slices->rows rows. */
tl_status tl_findex__slices_less(const tl_findex__slices *slices, uint64_t code, bool or_equal, tl_row_set *out, tl_error *err);
tl_status tl_findex__slices_equal(const tl_findex__slices *slices, uint64_t code, tl_row_set *out, tl_error *err);

/* ---- findex_rows.c: rows by value, while an index is written ---- */

/** Distinct values in order of their first appearance, and which one each row has. */
typedef struct tl_findex__rows {
    tl_findex__type type;
    tl_map ids; /* stored form -> number + 1 */
    tl_findex__value *values;
    tl_arena arena; /* bytes of values */
    uint32_t n_values, values_cap;
    uint32_t *row_ids; /* TL_FINDEX__NO_VALUE: NULL */
    int64_t n_rows, rows_cap;
    bool overflow; /* a value had more than 64 bits */
    bool ends_with_new; /* the last row with a value was the first of that value */
} tl_findex__rows;
#define TL_FINDEX__NO_VALUE UINT32_MAX

tl_status tl_findex__rows_add(tl_findex__rows *rows, const tl_column *col, int64_t n, tl_error *err);
int64_t tl_findex__rows_bytes(const tl_findex__rows *rows);
void tl_findex__rows_deinit(tl_findex__rows *rows);
/** Rows sorted by value: those of value v are numbers[starts[v]..starts[v + 1]); NULLs come as value n_values. All tl_free'd. */
tl_status tl_findex__rows_group(const tl_findex__rows *rows, uint32_t **starts, uint32_t **numbers, tl_error *err);
/** Numbers of the values in the values' order; tl_free, NULL if out of memory. */
uint32_t *tl_findex__rows_sort(const tl_findex__rows *rows);
/** Append a bitmap of ascending rows, in the form that the reference gives it. */
tl_status tl_findex__put_rows(const uint32_t *rows, size_t n, tl_buf *out, tl_error *err);

tl_status tl_findex__put_i32(tl_buf *out, int64_t v);

#endif
