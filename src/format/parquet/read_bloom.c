/*
 * Bloom filters: split blocks of 32 bytes, XXH64 of the PLAIN form of a value.
 *
 * The upper half of the hash picks the block, the lower half one bit in each of its eight words. A filter says no only where
 * the value is in no row, so equality and IN can be excluded; the rest of a predicate says yes.
 * Source: https://github.com/apache/parquet-format/blob/master/BloomFilter.md
 */
#include "format/parquet/read_private.h"

#define BLOCK_BYTES 32
#define HEADER_BYTES_MAX 64

static bool block_has(const uint8_t *block, uint32_t key)
{
    static const uint32_t salt[8] = {0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du,
                                     0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u};
    for (int i = 0; i < 8; i++) {
        uint32_t bit = UINT32_C(1) << (key * salt[i] >> 27);
        if ((tl_read_le32(block + 4 * i) & bit) == 0)
            return false;
    }
    return true;
}

/* ---- literals as they are stored ---- */

static bool big_endian(const tl_column *lit, int64_t i, int width, uint8_t *buf)
{
    tl_i128 v = lit->phys == TL_PHYS_I128 ? tl_col_i128(lit, i) : tl_col_i64(lit, i);
    if (width > 16)
        return false;
    for (int at = width - 1; at >= 0; at--, v >>= 8)
        buf[at] = (uint8_t)v;
    return v == 0 || v == -1;
}

/* Conversions that only change the width leave an integer's bytes alone; all others are not turned round. */
static bool is_same_number(const tl_pq_conversion *conv, const tl_pq_schema_element *el, const tl_type *type)
{
    tl_pq_logical l = tl_pq__annotation(el);
    if (l.kind == TL_PQ_LOGICAL_INTEGER && !l.is_signed)
        return false;
    bool is_int = type->kind == TL_TINYINT || type->kind == TL_SMALLINT || type->kind == TL_INT || type->kind == TL_BIGINT;
    bool is_decimal = type->kind == TL_DECIMAL && l.kind == TL_PQ_LOGICAL_DECIMAL && l.scale == type->scale;
    return conv->fixed == NULL || is_int || is_decimal;
}

/* False if it is not known how the writer stored this value. */
static bool stored_literal(const tl_pq_pruner *pruner, int32_t idx, const tl_column *lit, int64_t i, uint8_t *buf,
                           tl_bytes_view *out)
{
    const tl_pq_schema_element *el = pruner->nodes[idx]->el;
    const tl_pq_conversion *conv = &pruner->conversions[idx];
    const tl_type *type = pruner->row_type->fields[idx].type;
    int64_t v;
    switch (el->type) {
    case TL_PQ_INT32:
    case TL_PQ_INT64:
        if (!is_same_number(conv, el, type) || !tl_phys_is_integer(lit->phys))
            return false;
        v = tl_col_integer(lit, i);
        if (el->type == TL_PQ_INT32 && v != (int32_t)v)
            return false;
        tl_write_le64(buf, (uint64_t)v);
        *out = (tl_bytes_view){buf, el->type == TL_PQ_INT32 ? 4 : 8};
        return true;
    case TL_PQ_BYTE_ARRAY:
        *out = conv->strings == NULL && lit->phys == TL_PHYS_BYTES ? tl_col_bytes(lit, i) : (tl_bytes_view){NULL, 0};
        return conv->strings == NULL && lit->phys == TL_PHYS_BYTES;
    case TL_PQ_FIXED_LEN_BYTE_ARRAY:
        if (lit->phys == TL_PHYS_BYTES) {
            *out = tl_col_bytes(lit, i);
            return true;
        }
        *out = (tl_bytes_view){buf, (size_t)el->type_length};
        return type->kind == TL_DECIMAL && is_same_number(conv, el, type) && big_endian(lit, i, el->type_length, buf);
    case TL_PQ_DOUBLE: /* NaN and zero have several forms */
        *out = (tl_bytes_view){(const uint8_t *)lit->values + i * 8, 8};
        return lit->phys == TL_PHYS_F64 && tl_col_f64(lit, i) != 0 && tl_col_f64(lit, i) == tl_col_f64(lit, i);
    case TL_PQ_FLOAT:
        *out = (tl_bytes_view){(const uint8_t *)lit->values + i * 4, 4};
        return lit->phys == TL_PHYS_F32 && tl_col_f32(lit, i) != 0 && tl_col_f32(lit, i) == tl_col_f32(lit, i);
    default:
        return false;
    }
}

/* ---- filters ---- */

typedef struct bloom {
    int64_t offset; /* of the first block */
    uint32_t blocks;
} bloom;

static tl_status open_filter(tl_pq_file *file, const tl_pq_column_meta *meta, bloom *out, tl_error *err)
{
    tl_bytes_view bytes;
    TL_CLEANUP(tl_freep) uint8_t *owned = NULL;
    *out = (bloom){0};
    if (meta->bloom_filter_offset < 0)
        return TL_OK;
    if (meta->bloom_filter_offset >= file->in.bytes)
        return tl_error_set(err, TL_E_CORRUPT, "bloom filter lies outside of the file");
    int64_t head = TL_MIN(file->in.bytes - meta->bloom_filter_offset, HEADER_BYTES_MAX);
    TL_TRY(tl_pq__file_piece(file, meta->bloom_filter_offset, head, &bytes, &owned, err));
    tl_pq_bloom_header header;
    size_t used;
    TL_TRY(tl_pq__read_bloom_header(bytes, &header, &used, err));
    if (!header.is_known)
        return TL_OK;
    if (header.num_bytes < BLOCK_BYTES || header.num_bytes % BLOCK_BYTES != 0)
        return tl_error_set(err, TL_E_CORRUPT, "bloom filter of %d bytes", header.num_bytes);
    *out = (bloom){meta->bloom_filter_offset + (int64_t)used, (uint32_t)header.num_bytes / BLOCK_BYTES};
    return TL_OK;
}

static tl_status filter_has(tl_pq_file *file, const bloom *filter, tl_bytes_view value, bool *out, tl_error *err)
{
    uint64_t hash = tl_xxh64(value.data, value.len, 0);
    uint64_t block = (hash >> 32) * filter->blocks >> 32;
    tl_bytes_view bytes;
    TL_CLEANUP(tl_freep) uint8_t *owned = NULL;
    TL_TRY(tl_pq__file_piece(file, filter->offset + (int64_t)block * BLOCK_BYTES, BLOCK_BYTES, &bytes, &owned, err));
    *out = block_has(bytes.data, (uint32_t)hash);
    return TL_OK;
}

/* ---- predicate ---- */

typedef struct question {
    const tl_pq_pruner *pruner;
    int32_t group;
} question;

static tl_status leaf_may_match(void *arg, const tl_predicate *leaf, bool *out, tl_error *err)
{
    const question *q = arg;
    const tl_pq_node *node = q->pruner->nodes[leaf->column];
    *out = true;
    if (node == NULL)
        return TL_OK;
    bloom filter;
    const tl_pq_column_chunk *chunk = &q->pruner->file->meta.row_groups[q->group].columns[node->leaf];
    TL_TRY(open_filter(q->pruner->file, &chunk->meta, &filter, err));
    if (filter.blocks == 0)
        return TL_OK;
    for (int64_t i = 0; i < leaf->literals->length; i++) {
        uint8_t buf[16];
        tl_bytes_view value;
        if (tl_col_is_null(leaf->literals, i))
            continue; /* equal to nothing */
        if (!stored_literal(q->pruner, leaf->column, leaf->literals, i, buf, &value))
            return TL_OK;
        bool has;
        TL_TRY(filter_has(q->pruner->file, &filter, value, &has, err));
        if (has)
            return TL_OK;
    }
    *out = false;
    return TL_OK;
}

tl_status tl_pq__bloom_may_match(const tl_pq_pruner *pruner, int32_t group, bool *out, tl_error *err)
{
    question q = {pruner, group};
    return tl_predicate_may_equal(pruner->predicate, leaf_may_match, &q, out, err);
}
