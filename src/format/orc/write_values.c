/*
 * Values of rows that are not null into a column's streams, a kind at a time in pieces of a run: `rows` are their numbers, NULL
 * means from, from + 1, …
 */
#include "format/orc/write_private.h"

#define PIECE TL_ORC_RUN_MAX
#define VARINT_BYTES_MAX 19 /* of 128 bits */

static inline int64_t row_at(const uint32_t *rows, int64_t from, int64_t k)
{
    return rows == NULL ? from + k : (int64_t)rows[k];
}

/* ---- integers ---- */

#define TAKE(type)                                                                                                                                   \
    for (int64_t k = 0; k < n; k++)                                                                                                                  \
    to[k] = ((const type *)col->values)[row_at(rows, from, k)]

static void take_integers(const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, int64_t *to)
{
    switch (col->phys) {
    case TL_PHYS_I8:
        TAKE(int8_t);
        break;
    case TL_PHYS_I16:
        TAKE(int16_t);
        break;
    case TL_PHYS_I32:
        TAKE(int32_t);
        break;
    default:
        TAKE(int64_t);
    }
}

static tl_status put_integers(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    int64_t v[PIECE];
    take_integers(col, rows, from, n, v);
    tl_orc__bounds_ints(&node->group, v, n);
    return tl_orc__ints_put_all(&node->ints, v, n, err);
}

static tl_status put_octets(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    int64_t v[PIECE];
    take_integers(col, rows, from, n, v);
    tl_orc__bounds_ints(&node->group, v, n);
    for (int64_t k = 0; k < n; k++)
        TL_TRY(tl_orc__octets_put(&node->octets, (uint8_t)v[k], err));
    return TL_OK;
}

static tl_status put_bools(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    for (int64_t k = 0; k < n; k++) {
        bool v = tl_col_bool(col, row_at(rows, from, k));
        node->group.true_count += v;
        TL_TRY(tl_orc__bits_put(&node->bits, v, err));
    }
    return TL_OK;
}

/* ---- numbers of fixed width ---- */

static tl_status put_floats(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    float v[PIECE];
    for (int64_t k = 0; k < n; k++) {
        v[k] = tl_col_f32(col, row_at(rows, from, k));
        tl_orc__bounds_double(&node->group, (double)v[k]);
    }
    return tl_orc__out_put(&node->data, v, (size_t)n * sizeof *v, err);
}

static tl_status put_doubles(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    double v[PIECE];
    for (int64_t k = 0; k < n; k++) {
        v[k] = tl_col_f64(col, row_at(rows, from, k));
        tl_orc__bounds_double(&node->group, v[k]);
    }
    return tl_orc__out_put(&node->data, v, (size_t)n * sizeof *v, err);
}

/* ---- decimals ---- */

static size_t put_varint(tl_i128 v, uint8_t *to)
{
    unsigned __int128 u = (unsigned __int128)v << 1 ^ (unsigned __int128)(v >> 127);
    size_t n = 0;
    for (; u > 127; u >>= 7)
        to[n++] = (uint8_t)(u | 128);
    to[n++] = (uint8_t)u;
    return n;
}

static tl_status put_decimals(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    uint8_t bytes[PIECE * VARINT_BYTES_MAX];
    int64_t scales[PIECE];
    size_t len = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t i = row_at(rows, from, k);
        scales[k] = node->type->scale;
        if (col->phys == TL_PHYS_I128) {
            tl_orc__bounds_wide(&node->group, tl_col_i128(col, i));
            len += put_varint(tl_col_i128(col, i), bytes + len);
        } else {
            tl_orc__bounds_wide(&node->group, tl_col_i64(col, i));
            len += tl_varint_encode(tl_zigzag64(tl_col_i64(col, i)), bytes + len);
        }
    }
    TL_TRY(tl_orc__out_put(&node->data, bytes, len, err));
    return tl_orc__ints_put_all(&node->lengths, scales, n, err);
}

/* ---- times ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

void tl_orc__split_timestamp(const tl_column *col, int64_t i, int64_t *millis, int32_t *nanos)
{
    if (col->phys == TL_PHYS_TS96) {
        tl_ts96 v = tl_col_ts96(col, i);
        *millis = v.millis;
        *nanos = v.nanos;
    } else if (col->type->precision <= 3) {
        *millis = tl_col_i64(col, i);
        *nanos = 0;
    } else {
        *millis = floor_div(tl_col_i64(col, i), 1000);
        *nanos = (int32_t)(tl_col_i64(col, i) - *millis * 1000) * 1000;
    }
}

/* Nanoseconds of a second without the zeros at their end, of which the lowest three bits tell how many: 0 or that number - 1. */
static int64_t coded_nanos(int64_t of_second, int32_t of_milli)
{
    int64_t v = of_second, zeros = of_milli == 0 && v != 0 ? 5 : 0;
    if (zeros == 0) {
        v = v * 1000000 + of_milli;
        if (v == 0 || v % 100 != 0)
            return v << 3;
        v /= 100;
        zeros = 1;
    }
    for (; v % 10 == 0 && zeros < 7; zeros++)
        v /= 10;
    return v << 3 | zeros;
}

/* Seconds are cut towards zero, as the reference does and its readers expect; see wall_seconds() in read_column.c. */
static tl_status put_timestamps(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    int64_t seconds[PIECE], fractions[PIECE], millis;
    int32_t nanos;
    for (int64_t k = 0; k < n; k++) {
        tl_orc__split_timestamp(col, row_at(rows, from, k), &millis, &nanos);
        tl_orc__bounds_timestamp(&node->group, millis, nanos);
        seconds[k] = millis / 1000 - TL_ORC_EPOCH_2015;
        fractions[k] = coded_nanos(millis - floor_div(millis, 1000) * 1000, nanos);
    }
    TL_TRY(tl_orc__ints_put_all(&node->ints, seconds, n, err));
    return tl_orc__ints_put_all(&node->lengths, fractions, n, err);
}

/* ---- bytes ---- */

static tl_status put_bytes(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    int64_t lengths[PIECE];
    bool is_fitted = node->kind == TL_ORC_STRING || node->kind == TL_ORC_BINARY;
    for (int64_t k = 0; k < n; k++) {
        tl_bytes_view v = tl_col_bytes(col, row_at(rows, from, k));
        if (!is_fitted)
            TL_TRY(tl_orc__fit_text(node, &v, err));
        if (node->kind != TL_ORC_BINARY && tl_orc__bounds_text(&node->group, v) != TL_OK)
            return tl_nomem(err, "statistics");
        node->group.bytes += (int64_t)v.len;
        lengths[k] = (int64_t)v.len;
        if (!is_fitted || rows != NULL)
            TL_TRY(tl_orc__out_put(&node->data, v.data, v.len, err));
    }
    if (is_fitted && rows == NULL) /* they lie one after the other */
        TL_TRY(tl_orc__out_put(&node->data, col->data + col->offsets[from], (size_t)(col->offsets[from + n] - col->offsets[from]), err));
    return tl_orc__ints_put_all(&node->lengths, lengths, n, err);
}

static tl_status put_lengths(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    int64_t lengths[PIECE];
    for (int64_t k = 0; k < n; k++) {
        int64_t i = row_at(rows, from, k);
        lengths[k] = col->offsets[i + 1] - col->offsets[i];
    }
    return tl_orc__ints_put_all(&node->lengths, lengths, n, err);
}

/* ---- all ---- */

static tl_status put_piece(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    switch (node->kind) {
    case TL_ORC_BOOLEAN:
        return put_bools(node, col, rows, from, n, err);
    case TL_ORC_BYTE:
        return put_octets(node, col, rows, from, n, err);
    case TL_ORC_FLOAT:
        return put_floats(node, col, rows, from, n, err);
    case TL_ORC_DOUBLE:
        return put_doubles(node, col, rows, from, n, err);
    case TL_ORC_DECIMAL:
        return put_decimals(node, col, rows, from, n, err);
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        return put_timestamps(node, col, rows, from, n, err);
    case TL_ORC_STRING:
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
    case TL_ORC_BINARY:
        return put_bytes(node, col, rows, from, n, err);
    case TL_ORC_LIST:
    case TL_ORC_MAP:
        return put_lengths(node, col, rows, from, n, err);
    case TL_ORC_STRUCT:
        return TL_OK;
    default:
        return put_integers(node, col, rows, from, n, err);
    }
}

tl_status tl_orc__values_put(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    for (int64_t done = 0, piece; done < n; done += piece) {
        piece = TL_MIN(n - done, (int64_t)PIECE);
        TL_TRY(put_piece(node, col, rows == NULL ? NULL : rows + done, from + done, piece, err));
    }
    return TL_OK;
}
