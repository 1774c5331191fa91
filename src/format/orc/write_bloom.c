/* Bloom filters while writing: one for each row group of a column that orc.bloom.filter.columns names. */
#include <math.h>

#include "format/orc/write_private.h"

void tl_orc__wnode_set_bloom(tl_orc_wnode *node, double fpp)
{
    double n = TL_ORC_STRIDE, ln2 = log(2);
    int64_t bits = (int64_t)(-n * log(fpp) / (ln2 * ln2));
    bits += 64 - bits % 64;
    double hashes = (double)bits / n * ln2 + 0.5;
    node->bloom_bytes = (size_t)bits / 8;
    node->n_hashes = hashes < 1 ? 1 : (uint32_t)hashes;
    for (int32_t i = 0; i < node->n_children; i++)
        tl_orc__wnode_set_bloom(&node->children[i], fpp);
}

static void add(tl_orc_wnode *node, uint64_t hash)
{
    for (uint32_t i = 1; i <= node->n_hashes; i++) {
        uint64_t bit = tl_orc__bloom_bit(hash, i, node->bloom_bytes * 8);
        node->bloom.data[bit / 8] |= (uint8_t)(1 << bit % 8);
    }
}

static tl_status hash_of(tl_orc_wnode *node, const tl_column *col, int64_t i, uint64_t *out, tl_error *err)
{
    int64_t millis;
    int32_t nanos;
    tl_bytes_view v;
    switch (node->kind) {
    case TL_ORC_FLOAT:
        *out = tl_orc__hash_double((double)tl_col_f32(col, i));
        break;
    case TL_ORC_DOUBLE:
        *out = tl_orc__hash_double(tl_col_f64(col, i));
        break;
    case TL_ORC_DECIMAL:
        *out = tl_orc__hash_decimal(col->phys == TL_PHYS_I128 ? tl_col_i128(col, i) : tl_col_i64(col, i), node->type->scale);
        break;
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        tl_orc__split_timestamp(col, i, &millis, &nanos);
        *out = tl_orc__hash_number(millis);
        break;
    case TL_ORC_STRING:
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
    case TL_ORC_BINARY:
        v = tl_col_bytes(col, i);
        if (node->kind != TL_ORC_BINARY)
            TL_TRY(tl_orc__fit_text(node, &v, err));
        *out = tl_orc__hash_bytes(v);
        break;
    case TL_ORC_LIST:
    case TL_ORC_MAP: /* their lengths: what the reference's writer has in them */
        *out = tl_orc__hash_number(col->offsets[i + 1] - col->offsets[i]);
        break;
    default:
        *out = tl_orc__hash_number(tl_col_integer(col, i));
    }
    return TL_OK;
}

tl_status tl_orc__bloom_rows(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    uint64_t hash;
    if (node->kind == TL_ORC_BOOLEAN || node->kind == TL_ORC_STRUCT)
        return TL_OK; /* the filter stays empty, and nobody asks it */
    for (int64_t k = 0; k < n; k++) {
        TL_TRY(hash_of(node, col, rows == NULL ? from + k : (int64_t)rows[k], &hash, err));
        add(node, hash);
    }
    return TL_OK;
}

tl_status tl_orc__bloom_start(tl_orc_wnode *node, tl_error *err)
{
    node->bloom.len = 0;
    if (tl_buf_reserve(&node->bloom, node->bloom_bytes) != TL_OK)
        return tl_nomem(err, "bloom filter");
    memset(node->bloom.data, 0, node->bloom_bytes);
    return TL_OK;
}

tl_status tl_orc__bloom_end(tl_orc_wnode *node, tl_error *err)
{
    tl_buf message = {0};
    tl_status status = tl_orc__put_uint(&message, 1, node->n_hashes);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&message, 3, node->bloom.data, node->bloom_bytes);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&node->blooms, 1, message.data, message.len);
    tl_buf_deinit(&message);
    return status == TL_OK ? TL_OK : tl_nomem(err, "bloom filter");
}
