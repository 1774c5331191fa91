/*
 * Passing over rows of a column: of runs only their headers are looked at, of strings only their lengths. Blocks are decompressed all
 * the same, since what they hold is not known before.
 */
#include "format/orc/read_private.h"

static tl_status skip_strings(tl_orc_node *node, int64_t k, tl_error *err)
{
    if (node->is_dictionary)
        return tl_orc__ints_skip(&node->ints, k, err);
    int64_t *lengths;
    uint64_t total = 0, bad = 0;
    TL_TRY(tl_orc__scratch(node, 0, k, sizeof *lengths, &lengths, err));
    TL_TRY(tl_orc__ints_read(&node->lengths, lengths, k, err));
    for (int64_t j = 0; j < k; j++) {
        bad |= (uint64_t)lengths[j] >> 31;
        total += (uint64_t)lengths[j];
    }
    if (bad != 0)
        return tl_error_set(err, TL_E_CORRUPT, "column %d: strings with a negative length or more than 2 GiB", node->column);
    return tl_orc__in_skip(&node->data, total, err);
}

static tl_status skip_present(tl_orc_node *node, int64_t n, int64_t *k, tl_error *err)
{
    uint8_t *bits;
    *k = n;
    if (!node->has_present)
        return TL_OK;
    TL_TRY(tl_orc__scratch(node, 0, (int64_t)tl_bitmap_bytes(n), 1, &bits, err));
    TL_TRY(tl_orc__bits_read(&node->present, bits, n, err));
    *k = tl_bitmap_count(bits, 0, n);
    return TL_OK;
}

static tl_status read_and_drop(tl_orc_node *node, int64_t n, tl_error *err)
{
    tl_column *dropped = NULL;
    TL_TRY(tl_orc__node_read(node, n, NULL, &dropped, err));
    tl_column_unref(dropped);
    return TL_OK;
}

tl_status tl_orc__node_skip(tl_orc_node *node, int64_t n, tl_error *err)
{
    int64_t k;
    if (node->op == TL_ORC_OP_ABSENT || n == 0)
        return TL_OK;
    if (node->n_children > 0 || node->op == TL_ORC_OP_BOOL || node->op == TL_ORC_OP_OCTET)
        return read_and_drop(node, n, err);
    TL_TRY(skip_present(node, n, &k, err));
    switch (node->op) {
    case TL_ORC_OP_INT:
        return tl_orc__ints_skip(&node->ints, k, err);
    case TL_ORC_OP_F32:
        return tl_orc__in_skip(&node->data, (uint64_t)k * sizeof(float), err);
    case TL_ORC_OP_F64:
        return tl_orc__in_skip(&node->data, (uint64_t)k * sizeof(double), err);
    case TL_ORC_OP_DECIMAL:
    case TL_ORC_OP_DECIMAL64:
        return tl_orc__skip_decimals(node, k, err);
    case TL_ORC_OP_BYTES:
        return skip_strings(node, k, err);
    case TL_ORC_OP_TIMESTAMP:
        TL_TRY(tl_orc__ints_skip(&node->ints, k, err));
        return tl_orc__ints_skip(&node->lengths, k, err);
    default:
        return tl_error_set(err, TL_E_INTERNAL, "column %d: operation %d cannot be passed over", node->column, (int)node->op);
    }
}
