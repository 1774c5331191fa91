/*
 * Columns and batches: immutable after they are built, reference counted, laid out as Arrow does.
 *
 * - validity: LSB bitmap, 1 = valid; NULL if no value is null.
 * - fixed width: `values`, tl_phys_width() bytes each. Values at null positions are zero.
 * - BYTES: offsets[0..length] into `data`; offsets[0] may be > 0 in a slice. A null has an empty range.
 * - LIST and MAP: offsets[0..length] into children[0] (and [1]).
 * - ROW: children of the same length; a null row may have any child values: look at the row's own validity first.
 * Differences from Arrow, undone in arrow.h: BOOLEAN is one byte a value, small decimals are int64, TIMESTAMP(7..9) is TS96.
 * A slice starts at a multiple of 8 rows, so that bitmaps need no bit offset.
 */
#ifndef TL_TYPES_COLUMN_H
#define TL_TYPES_COLUMN_H

#include "base/bits.h"
#include "types/type.h"

/** Rows in a batch of a reader; also the most that an operator should emit at once. */
#define TL_BATCH_ROWS 4096

typedef struct tl_column tl_column;
struct tl_column {
    const tl_type *type; /* ref held (by the block, if it is in one) */
    tl_phys phys;        /* tl_type_phys(type) */
    int64_t length;
    int64_t null_count; /* exact; 0 implies that validity may be NULL */
    uint8_t *validity;
    void *values;
    int32_t *offsets;
    uint8_t *data;
    int32_t n_children;
    tl_column **children; /* refs held */
    /* private */
    int refs;
    void (*release)(tl_column *col); /* frees the buffers (not type and children); NULL: each is tl_free()d */
    void *owner;
    struct tl_column_block *block; /* several columns in one allocation; NULL: one by itself */
    uint32_t room_bytes;           /* behind the struct: buffers of a column of few rows */
    uint32_t room_used;
};

static inline bool tl_col_is_null(const tl_column *col, int64_t i)
{
    return col->validity != NULL && !tl_bit_get(col->validity, i);
}
static inline tl_bytes_view tl_col_bytes(const tl_column *col, int64_t i)
{
    return (tl_bytes_view){col->data + col->offsets[i], (size_t)(col->offsets[i + 1] - col->offsets[i])};
}
#define TL_DEFINE_COL_GET(NAME, TYPE)                                                                                            \
    static inline TYPE tl_col_##NAME(const tl_column *col, int64_t i)                                                            \
    {                                                                                                                            \
        return ((const TYPE *)col->values)[i];                                                                                   \
    }
TL_DEFINE_COL_GET(i8, int8_t)
TL_DEFINE_COL_GET(i16, int16_t)
TL_DEFINE_COL_GET(i32, int32_t)
TL_DEFINE_COL_GET(i64, int64_t)
TL_DEFINE_COL_GET(i128, tl_i128)
TL_DEFINE_COL_GET(f32, float)
TL_DEFINE_COL_GET(f64, double)
TL_DEFINE_COL_GET(ts96, tl_ts96)
static inline bool tl_col_bool(const tl_column *col, int64_t i)
{
    return ((const uint8_t *)col->values)[i] != 0;
}
/** Whether tl_col_integer() reads columns of this layout. */
static inline bool tl_phys_is_integer(tl_phys phys)
{
    return phys >= TL_PHYS_BOOL && phys <= TL_PHYS_I64;
}
/** Value `i` of an integer column of any width; BOOLEAN, DATE and TIME included. */
static inline int64_t tl_col_integer(const tl_column *col, int64_t i)
{
    switch (col->phys) {
    case TL_PHYS_BOOL:
        return tl_col_bool(col, i);
    case TL_PHYS_I8:
        return tl_col_i8(col, i);
    case TL_PHYS_I16:
        return tl_col_i16(col, i);
    case TL_PHYS_I32:
        return tl_col_i32(col, i);
    default:
        return tl_col_i64(col, i);
    }
}

tl_column *tl_column_ref(const tl_column *col);
void tl_column_unref(tl_column *col); /* NULL is fine */
static inline void tl_column_unrefp(tl_column **col)
{
    tl_column_unref(*col);
}
/** Uninitialised fixed-width values (zeroed), or offsets (zeroed) without data for BYTES/LIST/MAP; no validity; children NULL. */
tl_status tl_column_alloc(const tl_type *type, int64_t length, tl_column **out, tl_error *err);
/** All NULL. */
tl_status tl_column_nulls(const tl_type *type, int64_t length, tl_column **out, tl_error *err);
/** One value (row `i` of `col`) repeated. */
tl_status tl_column_repeat(const tl_column *col, int64_t i, int64_t length, tl_column **out, tl_error *err);
/** Rows [from, from+length), sharing the buffers; `from` % 8 == 0 or the column is copied. */
tl_status tl_column_slice(const tl_column *col, int64_t from, int64_t length, tl_column **out, tl_error *err);
/** The same buffers under another type of the same tl_phys (e.g. without NOT NULL). */
tl_status tl_column_retype(const tl_column *col, const tl_type *type, tl_column **out, tl_error *err);
/** tl_column_retype() to a type that has VECTORs where the column has ARRAYs, at any depth; TL_E_INVALID for lists that are none. */
tl_status tl_column_with_vectors(const tl_column *col, const tl_type *type, tl_column **out, tl_error *err);
/** Rows idx[0..n). */
tl_status tl_column_gather(const tl_column *col, const uint32_t *idx, int64_t n, tl_column **out, tl_error *err);
/** Bytes of memory held by the buffers (children included), for budgets. */
int64_t tl_column_bytes(const tl_column *col);
/** Check every invariant above, UTF-8 excluded; for tests and for input through the public API. */
tl_status tl_column_check(const tl_column *col, tl_error *err);
/** TL_E_INVALID if a value of a VECTOR column has not as many elements as its type says, or a NULL among them. For what makes such columns
 * out of lists; other columns are left alone, and so are those inside. */
tl_status tl_vectors_check(const tl_column *col, tl_error *err);

/** A row of one of several columns or batches: what a merge hands to gather. */
typedef struct tl_rowref {
    uint32_t src;
    uint32_t row; /* TL_ROW_NULL: a NULL value */
} tl_rowref;
#define TL_ROW_NULL UINT32_MAX

/** Rows refs[0..n) out of several columns of one type (`type` names the result's, same phys). */
tl_status tl_column_gather_multi(const tl_type *type, const tl_column *const *srcs, const tl_rowref *refs, int64_t n,
                                 tl_column **out, tl_error *err);
/** References looked over once, for several columns that are gathered with them. */
typedef struct tl_rowrefs {
    const tl_rowref *refs;
    int64_t n;
    uint32_t n_srcs; /* largest source referenced, plus one */
    bool has_nulls;  /* some reference has no row */
} tl_rowrefs;
tl_rowrefs tl_rowrefs_scan(const tl_rowref *refs, int64_t n);
/** tl_column_gather_multi() with references that are known already. */
tl_status tl_column_gather_refs(const tl_type *type, const tl_column *const *srcs, const tl_rowrefs *refs, tl_column **out,
                                tl_error *err);
/** All columns after each other. */
tl_status tl_column_concat(const tl_type *type, const tl_column *const *srcs, int32_t n_srcs, tl_column **out, tl_error *err);

/* Row kinds, as stored in _VALUE_KIND and byte 0 of a BinaryRow. */
typedef enum tl_row_kind { TL_KIND_INSERT = 0, TL_KIND_UPDATE_BEFORE = 1, TL_KIND_UPDATE_AFTER = 2, TL_KIND_DELETE = 3 } tl_row_kind;
static inline bool tl_kind_is_retract(uint8_t kind)
{
    return kind == TL_KIND_UPDATE_BEFORE || kind == TL_KIND_DELETE;
}
/** "+I", "-U", "+U", "-D". */
const char *tl_row_kind_text(uint8_t kind);
bool tl_row_kind_parse(tl_bytes_view text, uint8_t *out);

/** Columns of one ROW type and of equal length, with row kinds and sequence numbers beside them where a table has them. */
typedef struct tl_batch {
    const tl_type *type; /* ROW; ref held */
    int64_t n_rows;
    int32_t n_cols;
    tl_column **cols;  /* refs held */
    uint8_t *row_kind; /* tl_row_kind of each row; NULL: all +I. Owned */
    int64_t *seq;      /* sequence numbers; NULL: none. Owned */
    int32_t level;     /* LSM level of the file that it came from; -1 if unknown */
    int64_t snapshot;  /* snapshot that it came from in a streaming read; 0 if none */
} tl_batch;

/** An empty shell with n_cols NULL slots in `cols`, to be filled by the caller. */
tl_status tl_batch_create(const tl_type *row_type, int64_t n_rows, tl_batch **out, tl_error *err);
void tl_batch_free(tl_batch *batch); /* NULL is fine */
static inline void tl_batch_freep(tl_batch **batch)
{
    tl_batch_free(*batch);
}
static inline uint8_t tl_batch_kind(const tl_batch *batch, int64_t i)
{
    return batch->row_kind == NULL ? TL_KIND_INSERT : batch->row_kind[i];
}
tl_status tl_batch_slice(const tl_batch *batch, int64_t from, int64_t length, tl_batch **out, tl_error *err);
tl_status tl_batch_gather(const tl_batch *batch, const uint32_t *idx, int64_t n, tl_batch **out, tl_error *err);
/** Columns by index; the rows' kinds and sequence numbers are kept. */
tl_status tl_batch_project(const tl_batch *batch, const int32_t *indices, int32_t n, tl_batch **out, tl_error *err);
/**
 * The batch with NULL for nullable DECIMAL(p <= 18) that are larger than their precision, for files whose readers take such values for
 * NULL or stumble over them (ORC, Avro; Java: Decimal.fromBigDecimal). *out is NULL if all fit, as nearly always. Nested ones are not looked at.
 */
tl_status tl_batch_fit_decimals(const tl_batch *batch, tl_batch **out, tl_error *err);
tl_status tl_batch_concat(const tl_batch *const *batches, int32_t n, tl_batch **out, tl_error *err);
int64_t tl_batch_bytes(const tl_batch *batch);
/** Sequence numbers of a batch that has none: `first` and on. */
tl_status tl_batch_number(tl_batch *batch, int64_t first, tl_error *err);

/**
 * A source of batches: file reader, merge, scan, operator. One thread at a time.
 * next(): TL_OK with *out == NULL is the end; an empty batch is not. The batch belongs to the caller. After an error only
 * free() is allowed.
 */
typedef struct tl_reader tl_reader;
typedef struct tl_reader_ops {
    tl_status (*next)(tl_reader *reader, tl_batch **out, tl_error *err);
    void (*free)(tl_reader *reader);
} tl_reader_ops;
struct tl_reader {
    const tl_reader_ops *ops;
    const tl_type *type; /* ROW of the batches; ref held by the implementation */
};
static inline tl_status tl_reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    return reader->ops->next(reader, out, err);
}
static inline void tl_reader_free(tl_reader *reader)
{
    if (reader != NULL)
        reader->ops->free(reader);
}
static inline void tl_reader_freep(tl_reader **reader)
{
    tl_reader_free(*reader);
}
/** Batches that are there already; takes them (and the array) over. */
tl_status tl_reader_from_batches(const tl_type *type, tl_batch **batches, int32_t n, tl_reader **out, tl_error *err);
/** The one batch, of its own type; takes it over, also on failure. */
tl_status tl_reader_from_batch(tl_batch *batch, tl_reader **out, tl_error *err);
/** Readers one after the other; takes them over. */
tl_status tl_reader_concat(const tl_type *type, tl_reader **readers, int32_t n, tl_reader **out, tl_error *err);

#endif
