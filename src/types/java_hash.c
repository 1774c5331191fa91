/*
 * Java's hashes, and the order of its hash tables. The reference stores what it iterates over, so equal tables need equal orders:
 * elements lie by the low bits of their hash, spread by h ^ h >>> 16, in a table whose size doubles from 16 when it is three
 * quarters full; elements of one place lie in order of their arrival or against it (tl_java_fill), which resizing keeps.
 * Java: java.util.HashMap; hashes: Integer, Long, Double, BigDecimal, String, and the reference's BinaryString, Timestamp.
 * Not followed: places with eight and more elements in tables of 64 and more, which Java turns into trees.
 */
#include "types/java_hash.h"

#define MURMUR_SEED 42

int32_t tl_java_hash_long(int64_t v)
{
    return (int32_t)(v ^ (int64_t)((uint64_t)v >> 32));
}

/* Murmur over words as usual; the bytes that remain are mixed in one by one, sign-extended. */
int32_t tl_java_hash_string(tl_bytes_view text)
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

int32_t tl_java_hash(const tl_column *col, int64_t i)
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
        return tl_java_hash_long(tl_col_i64(col, i));
    case TL_FLOAT: {
        float v = tl_col_f32(col, i);
        return v != v ? 0x7fc00000 : (int32_t)tl_read_le32(&v);
    }
    case TL_DOUBLE: {
        double v = tl_col_f64(col, i);
        return tl_java_hash_long(v != v ? INT64_C(0x7ff8000000000000) : (int64_t)tl_read_le64(&v));
    }
    case TL_DECIMAL:
        return decimal_hash(col->phys == TL_PHYS_I128 ? tl_col_i128(col, i) : tl_col_i64(col, i), col->type->scale);
    case TL_CHAR:
    case TL_VARCHAR:
        return tl_java_hash_string(tl_col_bytes(col, i));
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return timestamp_hash(col, i);
    default: /* INT, DATE, TIME */
        return tl_col_i32(col, i);
    }
}

/* The code point at *p, which moves behind it. Text of schemas is valid UTF-8; of anything else, bytes stand for themselves. */
static uint32_t next_point(const uint8_t **p, const uint8_t *end)
{
    uint32_t c = *(*p)++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    if (more == 0 || end - *p < more)
        return c;
    c &= 0x3fu >> more;
    for (; more > 0; more--)
        c = c << 6 | (*(*p)++ & 0x3fu);
    return c;
}

int32_t tl_java_hash_text(tl_bytes_view text)
{
    uint32_t h = 0;
    for (const uint8_t *p = text.data, *end = p + text.len; p < end;) {
        uint32_t point = next_point(&p, end);
        if (point >= 0x10000) /* two UTF-16 units */
            h = 31 * (31 * h + 0xd800u + ((point - 0x10000) >> 10)) + 0xdc00u + ((point - 0x10000) & 0x3ff);
        else
            h = 31 * h + point;
    }
    return (int32_t)h;
}

static uint32_t place_of(int32_t hash, uint32_t cap)
{
    return ((uint32_t)hash ^ (uint32_t)hash >> 16) & (cap - 1);
}

tl_status tl_java_order(const int32_t *hashes, uint32_t n, tl_java_fill fill, uint32_t *order, tl_error *err)
{
    uint32_t cap = 16, looked_at = n - (n > 0 && fill == TL_JAVA_COMPUTE_LAST);
    while ((uint64_t)looked_at * 4 > (uint64_t)cap * 3)
        cap *= 2;
    TL_CLEANUP(tl_freep) uint32_t *starts = tl_calloc((size_t)cap + 1, sizeof *starts);
    if (starts == NULL)
        return tl_nomem(err, "order of a hash table");
    for (uint32_t i = 0; i < n; i++)
        starts[place_of(hashes[i], cap) + 1]++;
    for (uint32_t p = 0; p < cap; p++)
        starts[p + 1] += starts[p];
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = fill == TL_JAVA_PUT ? k : n - 1 - k;
        order[starts[place_of(hashes[i], cap)]++] = i;
    }
    return TL_OK;
}
