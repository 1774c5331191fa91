/*
 * The order in which Java's HashSet and HashMap give the elements of a list or map under aggregation (types/java_hash.h).
 */
#include "merge/elements.h"
#include "types/binary_row.h"
#include "types/java_hash.h"

#define MURMUR_SEED 42

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
    uint32_t n = list->n;
    if (n < 2)
        return TL_OK;
    TL_CLEANUP(tl_freep) int32_t *hashes = tl_alloc(sizeof *hashes * n);
    TL_CLEANUP(tl_freep) uint32_t *order = tl_alloc(sizeof *order * n);
    TL_CLEANUP(tl_freep) tl_rowref *items = tl_alloc(sizeof *items * n);
    tl_buf row = {0};
    tl_status status = hashes == NULL || order == NULL || items == NULL ? TL_E_NOMEM : TL_OK;
    for (uint32_t i = 0; i < n && status == TL_OK; i++) {
        if (as_row)
            status = row_hash(key, list->items[i], &row, &hashes[i]);
        else
            hashes[i] = tl_java_hash(key->cols[list->items[i].src], list->items[i].row);
    }
    tl_buf_deinit(&row);
    if (status != TL_OK)
        return tl_nomem(err, "merge");
    TL_TRY(tl_java_order(hashes, n, TL_JAVA_PUT, order, err));
    for (uint32_t k = 0; k < n; k++)
        items[k] = list->items[order[k]];
    memcpy(list->items, items, sizeof *items * n);
    return TL_OK;
}
