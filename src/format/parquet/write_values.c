/*
 * Column values -> dense values in PLAIN form: nulls left out, widened, narrowed or turned round as the physical type asks.
 *
 * Every loop has one type of source, one of target and one way to choose rows; what to run is decided once a run of at most
 * TL_PQ_RUN_VALUES rows. Where nothing has to change, the column's own memory is used.
 */
#include "format/parquet/write_private.h"

/* ---- conversions of one value ---- */

/** FIXED_LEN_BYTE_ARRAY decimal: the lowest `width` bytes, highest first; writes 16. False if it has more. */
static inline bool put_decimal(uint8_t *out, tl_i128 v, int32_t width)
{
    unsigned __int128 bytes = (unsigned __int128)v << (8 * (16 - width));
    tl_write_be64(out, (uint64_t)(bytes >> 64));
    tl_write_be64(out + 8, (uint64_t)bytes);
    return v >> (8 * width - 1) == v >> 127;
}

#define MILLIS_PER_DAY INT64_C(86400000)
#define NANOS_PER_MILLI INT64_C(1000000)
#define JULIAN_DAY_OF_EPOCH 2440588

/**
 * INT96: nanoseconds of the day, Julian day. Floor division, so that the nanoseconds are never negative; the reference
 * truncates and stores negative ones before 1970, which the same formula reads back (format reference §9.1).
 */
static inline void put_int96(uint8_t *out, tl_ts96 v)
{
    int64_t day = v.millis / MILLIS_PER_DAY;
    int64_t milli = v.millis % MILLIS_PER_DAY;
    if (milli < 0) {
        milli += MILLIS_PER_DAY;
        day--;
    }
    tl_write_le64(out, (uint64_t)(milli * NANOS_PER_MILLI + v.nanos));
    tl_write_le32(out + 8, (uint32_t)(day + JULIAN_DAY_OF_EPOCH));
}

/* ---- runs ---- */

/** dst[k] = src[row]: rows by position, all rows, rows that are valid. */
#define DEFINE_SEL(NAME, SRC, DST)                                                                                               \
    static void NAME(const SRC *restrict src, const uint32_t *restrict sel, int64_t count, DST *restrict dst)                    \
    {                                                                                                                            \
        for (int64_t i = 0; i < count; i++)                                                                                      \
            dst[i] = (DST)src[sel[i]];                                                                                           \
    }
#define DEFINE_ALL(NAME, SRC, DST)                                                                                               \
    static void NAME(const SRC *restrict src, int64_t count, DST *restrict dst)                                                  \
    {                                                                                                                            \
        for (int64_t i = 0; i < count; i++)                                                                                      \
            dst[i] = (DST)src[i];                                                                                                \
    }
#define DEFINE_VALID(NAME, SRC, DST)                                                                                             \
    static int64_t NAME(const SRC *restrict src, const uint8_t *restrict bits, int64_t from, int64_t count, DST *restrict dst)   \
    {                                                                                                                            \
        int64_t n = 0;                                                                                                           \
        for (int64_t i = from; i < from + count; i++) {                                                                          \
            dst[n] = (DST)src[i];                                                                                                \
            n += tl_bit_get(bits, i);                                                                                            \
        }                                                                                                                        \
        return n;                                                                                                                \
    }

DEFINE_SEL(u8_sel, uint8_t, uint8_t)
DEFINE_SEL(i8_i32_sel, int8_t, int32_t)
DEFINE_SEL(i16_i32_sel, int16_t, int32_t)
DEFINE_SEL(u32_sel, uint32_t, uint32_t)
DEFINE_SEL(u64_sel, uint64_t, uint64_t)
DEFINE_ALL(i8_i32_all, int8_t, int32_t)
DEFINE_ALL(i16_i32_all, int16_t, int32_t)
DEFINE_VALID(u8_valid, uint8_t, uint8_t)
DEFINE_VALID(i8_i32_valid, int8_t, int32_t)
DEFINE_VALID(i16_i32_valid, int16_t, int32_t)

/* Decimals: rows by position, or (sel == NULL) all rows. False if one has more digits than its type. */

static bool small_decimals(const int64_t *restrict src, const uint32_t *restrict sel, int64_t count, int32_t *restrict dst)
{
    int64_t differing = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t v = src[sel == NULL ? i : (int64_t)sel[i]];
        dst[i] = (int32_t)v;
        differing |= v ^ dst[i];
    }
    return differing == 0;
}

static bool large_decimals(const tl_i128 *restrict src, const uint32_t *restrict sel, int64_t count, int32_t width, uint8_t *restrict dst)
{
    bool fit = true;
    for (int64_t i = 0; i < count; i++)
        fit &= put_decimal(dst + i * width, src[sel == NULL ? i : (int64_t)sel[i]], width);
    return fit;
}

static void int96s(const tl_ts96 *restrict src, const uint32_t *restrict sel, int64_t count, uint8_t *restrict dst)
{
    for (int64_t i = 0; i < count; i++)
        put_int96(dst + i * 12, src[sel == NULL ? i : (int64_t)sel[i]]);
}

int64_t tl_pq__valid_rows(const tl_column *col, int64_t from, int64_t count, uint32_t *sel)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i += 64) {
        uint64_t word = tl_pq__bits64(col->validity, from + i, from + TL_MIN(count, i + 64));
        for (; word != 0; word &= word - 1)
            sel[n++] = (uint32_t)(from + i + __builtin_ctzll(word));
    }
    return n;
}

static bool is_small_decimal(const tl_pq_leaf *leaf)
{
    return leaf->phys == TL_PHYS_I64 && leaf->width == 4;
}

/** All rows of [from, from + count), none of them null. */
static bool dense_all(const tl_pq_leaf *leaf, const tl_column *col, int64_t from, int64_t count, void *scratch, const void **dense)
{
    const uint8_t *src = (const uint8_t *)col->values + from * tl_phys_width(leaf->phys);
    *dense = scratch;
    switch (leaf->phys) {
    case TL_PHYS_I8:
        i8_i32_all((const void *)src, count, scratch);
        return true;
    case TL_PHYS_I16:
        i16_i32_all((const void *)src, count, scratch);
        return true;
    case TL_PHYS_I128:
        return large_decimals((const void *)src, NULL, count, leaf->width, scratch);
    case TL_PHYS_TS96:
        int96s((const void *)src, NULL, count, scratch);
        return true;
    default:
        if (is_small_decimal(leaf))
            return small_decimals((const void *)src, NULL, count, scratch);
        *dense = src; /* BOOL, I32, I64, F32, F64: already in PLAIN form */
        return true;
    }
}

/** Those of [from, from + count) that are not null, for types that need no list of rows. */
static int64_t dense_valid(const tl_pq_leaf *leaf, const tl_column *col, int64_t from, int64_t count, void *scratch)
{
    const tl_pq_kernels *kernels = tl_pq__kernels();
    switch (leaf->phys) {
    case TL_PHYS_BOOL:
        return u8_valid(col->values, col->validity, from, count, scratch);
    case TL_PHYS_I8:
        return i8_i32_valid(col->values, col->validity, from, count, scratch);
    case TL_PHYS_I16:
        return i16_i32_valid(col->values, col->validity, from, count, scratch);
    case TL_PHYS_I64:
    case TL_PHYS_F64:
        return kernels->compress64(col->values, col->validity, from, count, scratch);
    default: /* I32, F32 */
        return kernels->compress32(col->values, col->validity, from, count, scratch);
    }
}

static bool dense_sel(const tl_pq_leaf *leaf, const tl_column *col, const uint32_t *sel, int64_t count, void *scratch)
{
    switch (leaf->phys) {
    case TL_PHYS_BOOL:
        u8_sel(col->values, sel, count, scratch);
        return true;
    case TL_PHYS_I8:
        i8_i32_sel(col->values, sel, count, scratch);
        return true;
    case TL_PHYS_I16:
        i16_i32_sel(col->values, sel, count, scratch);
        return true;
    case TL_PHYS_I64:
    case TL_PHYS_F64:
        if (is_small_decimal(leaf))
            return small_decimals(col->values, sel, count, scratch);
        u64_sel(col->values, sel, count, scratch);
        return true;
    case TL_PHYS_I128:
        return large_decimals(col->values, sel, count, leaf->width, scratch);
    case TL_PHYS_TS96:
        int96s(col->values, sel, count, scratch);
        return true;
    default: /* I32, F32 */
        u32_sel(col->values, sel, count, scratch);
        return true;
    }
}

bool tl_pq__dense(const tl_pq_leaf *leaf, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count, void *scratch,
                  const void **dense, int64_t *n_dense)
{
    *dense = scratch;
    *n_dense = count;
    if (sel != NULL)
        return dense_sel(leaf, col, sel, count, scratch);
    if (col->validity == NULL || col->null_count == 0)
        return dense_all(leaf, col, from, count, scratch, dense);
    if (is_small_decimal(leaf) || leaf->phys == TL_PHYS_I128 || leaf->phys == TL_PHYS_TS96) {
        uint32_t *rows = leaf->writer->sel;
        *n_dense = tl_pq__valid_rows(col, from, count, rows);
        return dense_sel(leaf, col, rows, *n_dense, scratch);
    }
    *n_dense = dense_valid(leaf, col, from, count, scratch);
    return true;
}

/* ---- byte strings ---- */

/** Copy by 16 bytes: a call of memcpy costs more than the strings of most tables. Writes up to 15 bytes too many. */
static inline void copy_short(uint8_t *dst, const uint8_t *src, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 16)
        memcpy(dst + i, src + i, 16);
}

#define COPY_SHORT_MAX 128

tl_status tl_pq__plain_bytes(const tl_column *col, const uint32_t *sel, int64_t from, int64_t count, tl_buf *out)
{
    const int32_t *offsets = col->offsets;
    size_t bytes = 0;
    if (sel == NULL) {
        bytes = (size_t)(offsets[from + count] - offsets[from]);
    } else {
        for (int64_t i = 0; i < count; i++)
            bytes += (size_t)(offsets[sel[i] + 1] - offsets[sel[i]]);
    }
    TL_TRY(tl_buf_reserve(out, bytes + (size_t)count * 4 + 16));
    uint8_t *p = out->data + out->len;
    int32_t safe_end = offsets[col->length] - 16; /* 16 bytes can be read from any place up to there */
    for (int64_t i = 0; i < count; i++) {
        int64_t row = sel == NULL ? from + i : (int64_t)sel[i];
        const uint8_t *src = col->data + offsets[row];
        size_t len = (size_t)(offsets[row + 1] - offsets[row]);
        tl_write_le32(p, (uint32_t)len);
        p += 4;
        if (TL_LIKELY(len <= COPY_SHORT_MAX && offsets[row + 1] <= safe_end))
            copy_short(p, src, len);
        else if (len != 0)
            memcpy(p, src, len);
        p += len;
    }
    out->len = (size_t)(p - out->data);
    return TL_OK;
}

tl_status tl_pq__bounds_add_rows(tl_pq_bounds *bounds, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count)
{
    if (count == 0)
        return TL_OK;
    const uint8_t *end = col->data + col->offsets[col->length];
    int64_t min_row = sel == NULL ? from : (int64_t)sel[0];
    int64_t max_row = min_row;
    tl_bytes_view first = tl_col_bytes(col, min_row);
    unsigned __int128 min_order = tl_format__prefix_order(tl_format__prefix(first.data, first.len, end));
    unsigned __int128 max_order = min_order;
    for (int64_t i = 1; i < count; i++) {
        int64_t row = sel == NULL ? from + i : (int64_t)sel[i];
        tl_bytes_view v = tl_col_bytes(col, row);
        unsigned __int128 order = tl_format__prefix_order(tl_format__prefix(v.data, v.len, end));
        if (TL_UNLIKELY(order <= min_order) && (order < min_order || tl_bytes_compare(v, tl_col_bytes(col, min_row)) < 0)) {
            min_row = row;
            min_order = order;
        }
        if (TL_UNLIKELY(order >= max_order) && (order > max_order || tl_bytes_compare(v, tl_col_bytes(col, max_row)) > 0)) {
            max_row = row;
            max_order = order;
        }
    }
    TL_TRY(tl_pq__bounds_add_bytes(bounds, tl_col_bytes(col, min_row)));
    return tl_pq__bounds_add_bytes(bounds, tl_col_bytes(col, max_row));
}
