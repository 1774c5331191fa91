/*
 * Bucket functions: which bucket a row belongs to, from its bucket key columns. Format reference §7; Java:
 * DefaultBucketFunction, ModBucketFunction, HiveBucketFunction.
 *
 * The default one hashes the BinaryRow of the key (Murmur3-32, seed 42). For one fixed-width column that row is 16 bytes
 * known in advance, for one of strings these and the string, for several of fixed width without
 * nulls their slots, so that the hash is computed without making it.
 */
#include "types/binary_private.h"
#include "types/binary_row.h"
#include "types/key.h"

#define MURMUR_SEED 42
/* A row's header of eight bytes has the row kind and the null bits of so many fields. */
#define HEADER_FIELDS 56
/* Rows that are encoded at a time: keeps the encoded keys in the cache. */
#define HASH_CHUNK_ROWS 1024

static inline uint32_t murmur_word(uint32_t hash, uint32_t word)
{
    word *= 0xcc9e2d51u;
    word = (word << 15 | word >> 17) * 0x1b873593u;
    hash ^= word;
    return (hash << 13 | hash >> 19) * 5 + 0xe6546b64u;
}

static inline uint32_t murmur_finish(uint32_t hash, uint32_t bytes)
{
    hash ^= bytes;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static inline uint32_t murmur_two(uint32_t hash, uint64_t words)
{
    return murmur_word(murmur_word(hash, (uint32_t)words), (uint32_t)(words >> 32));
}

/* Of one column: row of 16 bytes, header with the null bit of field 0 (bit 8), then the slot. And the next slot of rows of several. */
#define DEFINE_HASH_FIXED(WIDTH, TYPE)                                                        \
    static void hash_fixed##WIDTH(const tl_column *col, int64_t n_rows, int32_t *restrict hashes) \
    {                                                                                         \
        const TYPE *restrict values = col->values;                                            \
        const uint32_t header = murmur_two(MURMUR_SEED, 0);                                   \
        for (int64_t i = 0; i < n_rows; i++)                                                  \
            hashes[i] = (int32_t)murmur_finish(murmur_two(header, values[i]), 16);            \
    }                                                                                         \
    static void add_fixed##WIDTH(const tl_column *col, int64_t n_rows, int32_t *restrict hashes) \
    {                                                                                         \
        const TYPE *restrict values = col->values;                                            \
        for (int64_t i = 0; i < n_rows; i++)                                                  \
            hashes[i] = (int32_t)murmur_two((uint32_t)hashes[i], values[i]);                  \
    }
DEFINE_HASH_FIXED(1, uint8_t)
DEFINE_HASH_FIXED(2, uint16_t)
DEFINE_HASH_FIXED(4, uint32_t)
DEFINE_HASH_FIXED(8, uint64_t)

static void hash_nulls(const tl_column *col, int64_t n_rows, int32_t *hashes)
{
    uint32_t null_hash = murmur_word(murmur_word(MURMUR_SEED, 1u << 8), 0);
    null_hash = murmur_finish(murmur_word(murmur_word(null_hash, 0), 0), 16);
    for (int64_t i = 0; i < n_rows; i++)
        if (tl_col_is_null(col, i))
            hashes[i] = (int32_t)null_hash;
}

/* Up to seven bytes as the low end of a number. */
static inline uint64_t short_bytes(const uint8_t *p, size_t len)
{
    if (len >= 4)
        return tl_read_le32(p) | (uint64_t)tl_read_le32(p + len - 4) << (8 * (len - 4));
    return len == 0 ? 0 : p[0] | (uint64_t)p[len / 2] << (8 * (len / 2)) | (uint64_t)p[len - 1] << (8 * (len - 1));
}

/* Row of the header, the slot (the value itself and 0x80 | length, or where it lies and its length), and the value, filled up to eight. */
static void hash_bytes(const tl_column *col, int64_t n_rows, int32_t *restrict hashes)
{
    const uint32_t header = murmur_two(MURMUR_SEED, 0);
    for (int64_t i = 0; i < n_rows; i++) {
        tl_bytes_view v = tl_col_bytes(col, i);
        if (v.len <= BINARY_INLINE_MAX) {
            uint64_t slot = short_bytes(v.data, v.len) | (uint64_t)(0x80 | v.len) << 56;
            hashes[i] = (int32_t)murmur_finish(murmur_two(header, slot), 16);
            continue;
        }
        uint32_t hash = murmur_two(header, (uint64_t)16 << 32 | v.len);
        size_t whole = v.len / 8 * 8;
        for (size_t at = 0; at < whole; at += 8)
            hash = murmur_two(hash, tl_read_le64(v.data + at));
        if (whole < v.len) /* the last eight bytes, without those hashed before */
            hash = murmur_two(hash, tl_read_le64(v.data + v.len - 8) >> (8 * (8 - (v.len - whole))));
        hashes[i] = (int32_t)murmur_finish(hash, (uint32_t)(16 + binary_round8(v.len)));
    }
}

static bool hash_one_column(const tl_column *col, int64_t n_rows, int32_t *hashes)
{
    switch (binary_slot_of(col->type)) {
    case BINARY_SLOT_1:
        hash_fixed1(col, n_rows, hashes);
        break;
    case BINARY_SLOT_2:
        hash_fixed2(col, n_rows, hashes);
        break;
    case BINARY_SLOT_4:
        hash_fixed4(col, n_rows, hashes);
        break;
    case BINARY_SLOT_8:
        hash_fixed8(col, n_rows, hashes);
        break;
    case BINARY_SLOT_BYTES:
        hash_bytes(col, n_rows, hashes);
        break;
    default:
        return false;
    }
    if (col->null_count > 0)
        hash_nulls(col, n_rows, hashes);
    return true;
}

static bool is_plain(const tl_column *col)
{
    binary_slot form = binary_slot_of(col->type);
    return col->null_count == 0 && (form == BINARY_SLOT_1 || form == BINARY_SLOT_2 || form == BINARY_SLOT_4 || form == BINARY_SLOT_8);
}

/* Several columns of fixed width without nulls: a header of eight bytes, all zero, and their slots. False: others are among them. */
static bool hash_plain_columns(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, int32_t *hashes)
{
    for (int32_t c = 0; c < n_cols; c++)
        if (!is_plain(cols[c]))
            return false;
    for (int64_t i = 0; i < n_rows; i++)
        hashes[i] = (int32_t)murmur_two(MURMUR_SEED, 0);
    for (int32_t c = 0; c < n_cols; c++) {
        binary_slot form = binary_slot_of(cols[c]->type);
        void (*add)(const tl_column *, int64_t, int32_t *restrict) = form == BINARY_SLOT_1   ? add_fixed1
                                                                     : form == BINARY_SLOT_2 ? add_fixed2
                                                                     : form == BINARY_SLOT_4 ? add_fixed4
                                                                                             : add_fixed8;
        add(cols[c], n_rows, hashes);
    }
    for (int64_t i = 0; i < n_rows; i++)
        hashes[i] = (int32_t)murmur_finish((uint32_t)hashes[i], 8 + 8 * (uint32_t)n_cols);
    return true;
}

static tl_status slice_columns(const tl_column *const *cols, int32_t n_cols, int64_t from, int64_t n, tl_column **slices,
                               tl_error *err)
{
    for (int32_t c = 0; c < n_cols; c++)
        TL_TRY(tl_column_slice(cols[c], from, n, &slices[c], err));
    return TL_OK;
}

static tl_status hash_rows(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_buf *rows, int64_t *offsets,
                           int32_t *hashes, tl_error *err)
{
    rows->len = 0;
    TL_TRY(tl_binary_rows(cols, n_cols, n_rows, rows, offsets, err));
    for (int64_t i = 0; i < n_rows; i++)
        hashes[i] = (int32_t)tl_murmur32_words(rows->data + offsets[i], (size_t)(offsets[i + 1] - offsets[i]), MURMUR_SEED);
    return TL_OK;
}

static tl_status hash_chunks(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_column **slices, tl_buf *rows,
                             int32_t *hashes, tl_error *err)
{
    int64_t offsets[HASH_CHUNK_ROWS + 1];
    for (int64_t from = 0; from < n_rows; from += HASH_CHUNK_ROWS) {
        int64_t n = TL_MIN(HASH_CHUNK_ROWS, n_rows - from);
        tl_status status = slice_columns(cols, n_cols, from, n, slices, err);
        if (status == TL_OK)
            status = hash_rows((const tl_column *const *)slices, n_cols, n, rows, offsets, hashes + from, err);
        for (int32_t c = 0; c < n_cols; c++) {
            tl_column_unref(slices[c]);
            slices[c] = NULL;
        }
        TL_TRY(status);
    }
    return TL_OK;
}

tl_status tl_bucket_hash(const tl_column *const *key_cols, int32_t n_cols, int64_t n_rows, int32_t *hashes, tl_error *err)
{
    if (n_cols == 1 ? hash_one_column(key_cols[0], n_rows, hashes) : n_cols <= HEADER_FIELDS && hash_plain_columns(key_cols, n_cols, n_rows, hashes))
        return TL_OK;
    TL_CLEANUP(tl_buf_deinit) tl_buf rows = {0};
    TL_CLEANUP(tl_freep) tl_column **slices = tl_calloc((size_t)TL_MAX(n_cols, 1), sizeof(tl_column *));
    if (slices == NULL)
        return tl_nomem(err, "bucket hashes");
    return hash_chunks(key_cols, n_cols, n_rows, slices, &rows, hashes, err);
}

static tl_status assign_mod(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, int32_t n, int32_t *buckets,
                            tl_error *err)
{
    if (n_cols != 1)
        return tl_error_set(err, TL_E_INVALID, "bucket key must have exactly one field in mod bucket function");
    const tl_column *col = cols[0];
    if (col->type->kind != TL_INT && col->type->kind != TL_BIGINT)
        return tl_error_set(err, TL_E_INVALID, "bucket key type must be INT or BIGINT in mod bucket function");
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t key = col->phys == TL_PHYS_I32 ? tl_col_i32(col, i) : tl_col_i64(col, i);
        int64_t rest = key % n;
        buckets[i] = (int32_t)(rest < 0 ? rest + n : rest);
    }
    return TL_OK;
}

static uint32_t fold64(uint64_t v)
{
    return (uint32_t)(v ^ v >> 32);
}

static uint32_t hive_hash_bytes(tl_bytes_view v)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < v.len; i++)
        hash = hash * 31 + (uint32_t)(int8_t)v.data[i];
    return hash;
}

/* BigDecimal.hashCode() of the value without trailing zeros, but with a scale of at least 0. */
static uint32_t hive_hash_decimal(tl_i128 unscaled, int32_t scale)
{
    while (scale > 0 && unscaled != 0 && unscaled % 10 == 0) {
        unscaled /= 10;
        scale--;
    }
    if (unscaled == 0)
        return 0;
    unsigned __int128 mag = unscaled < 0 ? -(unsigned __int128)unscaled : (unsigned __int128)unscaled;
    uint32_t hash = 0;
    for (int shift = 96; shift >= 0; shift -= 32)
        hash = hash * 31 + (uint32_t)(mag >> shift);
    if (unscaled < 0)
        hash = -hash;
    return 31 * hash + (uint32_t)scale;
}

static uint32_t hive_hash_float(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return v != v ? 0x7fc00000u : v == 0 ? 0 : bits;
}

static uint32_t hive_hash_double(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return fold64(v != v ? UINT64_C(0x7ff8000000000000) : v == 0 ? 0 : bits);
}

static uint32_t hive_hash(const tl_column *col, int64_t i)
{
    switch (col->phys) {
    case TL_PHYS_BOOL:
        return tl_col_bool(col, i);
    case TL_PHYS_I8:
        return (uint32_t)tl_col_i8(col, i);
    case TL_PHYS_I16:
        return (uint32_t)tl_col_i16(col, i);
    case TL_PHYS_I32:
        return (uint32_t)tl_col_i32(col, i);
    case TL_PHYS_I64:
        return col->type->kind == TL_DECIMAL ? hive_hash_decimal(tl_col_i64(col, i), col->type->scale)
                                             : fold64((uint64_t)tl_col_i64(col, i));
    case TL_PHYS_I128:
        return hive_hash_decimal(tl_col_i128(col, i), col->type->scale);
    case TL_PHYS_F32:
        return hive_hash_float(tl_col_f32(col, i));
    case TL_PHYS_F64:
        return hive_hash_double(tl_col_f64(col, i));
    default:
        return hive_hash_bytes(tl_col_bytes(col, i));
    }
}

static tl_status assign_hive(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, int32_t n, int32_t *buckets,
                             tl_error *err)
{
    for (int32_t c = 0; c < n_cols; c++) {
        tl_type_kind kind = cols[c]->type->kind;
        if (kind == TL_TIMESTAMP || kind == TL_TIMESTAMP_LTZ || cols[c]->phys > TL_PHYS_BYTES)
            return tl_error_set(err, TL_E_INVALID, "unsupported type of a bucket key in hive bucket function");
    }
    for (int64_t i = 0; i < n_rows; i++) {
        uint32_t hash = 0;
        for (int32_t c = 0; c < n_cols; c++)
            hash = 31 * hash + (tl_col_is_null(cols[c], i) ? 0 : hive_hash(cols[c], i));
        buckets[i] = (int32_t)(hash & INT32_MAX) % n;
    }
    return TL_OK;
}

tl_status tl_bucket_assign(tl_bucket_function fn, const tl_column *const *key_cols, int32_t n_cols, int64_t n_rows,
                           int32_t n_buckets, int32_t *buckets, tl_error *err)
{
    if (n_buckets <= 0)
        return tl_error_set(err, TL_E_INVALID, "number of buckets is %d, must be positive", n_buckets);
    if (fn == TL_BUCKET_MOD)
        return assign_mod(key_cols, n_cols, n_rows, n_buckets, buckets, err);
    if (fn == TL_BUCKET_HIVE)
        return assign_hive(key_cols, n_cols, n_rows, n_buckets, buckets, err);
    TL_TRY(tl_bucket_hash(key_cols, n_cols, n_rows, buckets, err));
    for (int64_t i = 0; i < n_rows; i++) {
        int32_t rest = buckets[i] % n_buckets; /* truncating, sign of the hash */
        buckets[i] = rest < 0 ? -rest : rest;
    }
    return TL_OK;
}
