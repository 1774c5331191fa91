/*
 * The order in which Java's HashSet and HashMap give their elements. The reference stores what it iterates over, so equal tables
 * need equal orders: elements lie by the low bits of their hash, spread by h ^ h >>> 16, in a table whose size doubles from 16
 * when it is three quarters full; elements of one place lie in order of their arrival, which resizing keeps.
 * Java: java.util.HashMap; hashes: Integer, Long, Double, BigDecimal, and the reference's BinaryString, Timestamp, BinaryRow.
 * Not followed: places with eight and more elements in tables of 64 and more, which Java turns into trees.
 */
#include "merge/elements.h"
#include "types/binary_row.h"

#define MURMUR_SEED 42

static int32_t fold(int64_t v)
{
    return (int32_t)(v ^ (int64_t)((uint64_t)v >> 32));
}

/* Murmur over words as usual; the bytes that remain are mixed in one by one, sign-extended. */
static int32_t string_hash(tl_bytes_view text)
{
    uint32_t h = MURMUR_SEED;
    for (size_t i = 0; i < text.len; i += i + 4 <= text.len ? 4 : 1) {
        uint32_t k = i + 4 <= text.len ? tl_read_le32(text.data + i) : (uint32_t)(int32_t)(int8_t)text.data[i];
        k *= 0xcc9e2d51u;
        k = (k << 15 | k >> 17) * 0x1b873593u;
        h ^= k;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= (uint32_t)text.len;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return (int32_t)(h ^ h >> 16);
}

/* BigInteger.hashCode() over the magnitude's 32-bit digits, highest first; then BigDecimal's 31 * that + scale. */
static int32_t decimal_hash(tl_i128 v, int32_t scale)
{
    unsigned __int128 magnitude = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    uint32_t h = 0;
    for (int shift = 96; shift >= 0; shift -= 32) {
        uint32_t digit = (uint32_t)(magnitude >> shift);
        if (h != 0 || digit != 0)
            h = 31 * h + digit;
    }
    return (int32_t)(31 * (v < 0 ? 0u - h : h) + (uint32_t)scale);
}

static int32_t timestamp_hash(const tl_column *col, int64_t i)
{
    int64_t millis = 0;
    int32_t nanos = 0;
    if (col->phys == TL_PHYS_TS96) {
        millis = tl_col_ts96(col, i).millis;
        nanos = tl_col_ts96(col, i).nanos;
    } else if (col->type->precision <= 3) {
        millis = tl_col_i64(col, i);
    } else {
        int64_t micros = tl_col_i64(col, i);
        millis = micros / 1000 - (micros % 1000 < 0);
        nanos = (int32_t)(micros - millis * 1000) * 1000;
    }
    return (int32_t)(31u * ((uint32_t)millis ^ (uint32_t)(millis >> 32)) + (uint32_t)nanos);
}

static int32_t scalar_hash(const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return 0;
    switch (col->type->kind) {
    case TL_BOOLEAN:
        return tl_col_bool(col, i) ? 1231 : 1237;
    case TL_TINYINT:
        return tl_col_i8(col, i);
    case TL_SMALLINT:
        return tl_col_i16(col, i);
    case TL_BIGINT:
        return fold(tl_col_i64(col, i));
    case TL_FLOAT: {
        float v = tl_col_f32(col, i);
        return v != v ? 0x7fc00000 : (int32_t)tl_read_le32(&v);
    }
    case TL_DOUBLE: {
        double v = tl_col_f64(col, i);
        return fold(v != v ? INT64_C(0x7ff8000000000000) : (int64_t)tl_read_le64(&v));
    }
    case TL_DECIMAL:
        return decimal_hash(col->phys == TL_PHYS_I128 ? tl_col_i128(col, i) : tl_col_i64(col, i), col->type->scale);
    case TL_CHAR:
    case TL_VARCHAR:
        return string_hash(tl_col_bytes(col, i));
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return timestamp_hash(col, i);
    default: /* INT, DATE, TIME */
        return tl_col_i32(col, i);
    }
}

/* BinaryRow.hashCode() of the key columns. */
static tl_status row_hash(const element_key *key, tl_rowref item, tl_buf *row, int32_t *out)
{
    const tl_column *cols[64];
    if (key->n_cols > 64)
        return TL_E_LIMIT;
    for (int32_t c = 0; c < key->n_cols; c++)
        cols[c] = key->cols[(size_t)c * key->n_srcs + item.src];
    row->len = 0;
    TL_TRY(tl_binary_row_append(row, cols, key->n_cols, item.row, TL_KIND_INSERT, /* with_arity= */ false));
    *out = (int32_t)tl_murmur32_words(row->data, row->len, MURMUR_SEED);
    return TL_OK;
}

bool tl_merge__has_java_order(const tl_type *type)
{
    /* Sets of constructed and binary elements are lists in the reference. */
    return type->n_fields == 0 && type->kind != TL_BINARY && type->kind != TL_VARBINARY && type->kind < TL_ARRAY;
}

tl_status tl_merge__java_order(const element_key *key, bool as_row, element_list *list, tl_error *err)
{
    uint32_t n = list->n, cap = 16;
    if (n < 2)
        return TL_OK;
    while ((uint64_t)n * 4 > (uint64_t)cap * 3)
        cap *= 2;
    TL_CLEANUP(tl_freep) uint32_t *places = tl_alloc(sizeof *places * n);
    TL_CLEANUP(tl_freep) uint32_t *starts = tl_calloc((size_t)cap + 1, sizeof *starts);
    TL_CLEANUP(tl_freep) tl_rowref *items = tl_alloc(sizeof *items * n);
    tl_buf row = {0};
    tl_status status = places == NULL || starts == NULL || items == NULL ? TL_E_NOMEM : TL_OK;
    for (uint32_t i = 0; i < n && status == TL_OK; i++) {
        int32_t h = 0;
        if (as_row)
            status = row_hash(key, list->items[i], &row, &h);
        else
            h = scalar_hash(key->cols[list->items[i].src], list->items[i].row);
        places[i] = ((uint32_t)h ^ (uint32_t)h >> 16) & (cap - 1);
        starts[places[i] + 1]++;
    }
    for (uint32_t p = 0; p < cap && status == TL_OK; p++)
        starts[p + 1] += starts[p];
    for (uint32_t i = 0; i < n && status == TL_OK; i++)
        items[starts[places[i]]++] = list->items[i];
    if (status == TL_OK)
        memcpy(list->items, items, sizeof *items * n);
    tl_buf_deinit(&row);
    return status == TL_OK ? TL_OK : tl_nomem(err, "merge");
}
