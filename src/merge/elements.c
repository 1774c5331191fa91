#include "merge/elements.h"

#include "types/key.h"

void tl_merge__elements_deinit(element_list *list)
{
    tl_free(list->items);
    *list = (element_list){0};
}

tl_status tl_merge__elements_reserve(element_list *list, uint32_t extra, tl_error *err)
{
    if (list->cap - list->n >= extra)
        return TL_OK;
    uint64_t cap = TL_MAX((uint64_t)list->n + extra, (uint64_t)list->cap * 2 + 16);
    tl_rowref *grown = cap >= UINT32_MAX ? NULL : tl_realloc(list->items, cap * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, "merge");
    list->items = grown;
    list->cap = (uint32_t)cap;
    return TL_OK;
}

void tl_merge__elements_compact(element_list *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        list->items[n] = list->items[i];
        n += list->items[i].row != TL_ROW_NULL;
    }
    list->n = n;
}

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static uint64_t hash_double(double v)
{
    uint64_t bits = UINT64_C(0x7ff8000000000000); /* all NaN are one */
    if (v == v)
        memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint64_t hash_value(const tl_column *col, int64_t i);

/* Entries of a map count in any order. */
static uint64_t hash_map(const tl_column *col, int64_t i)
{
    uint64_t h = 1;
    for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++)
        h += mix(hash_value(col->children[0], k) * 31 + hash_value(col->children[1], k));
    return h;
}

static uint64_t hash_value(const tl_column *col, int64_t i)
{
    uint64_t h = 0;
    if (tl_col_is_null(col, i))
        return 0x5bd1e995;
    switch (col->phys) {
    case TL_PHYS_F32:
        return hash_double(tl_col_f32(col, i));
    case TL_PHYS_F64:
        return hash_double(tl_col_f64(col, i));
    case TL_PHYS_TS96:
        return mix((uint64_t)tl_col_ts96(col, i).millis) + (uint64_t)tl_col_ts96(col, i).nanos;
    case TL_PHYS_BYTES: {
        tl_bytes_view v = tl_col_bytes(col, i);
        return tl_xxh3(v.data, v.len);
    }
    case TL_PHYS_LIST:
        for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++)
            h = mix(h * 31 + hash_value(col->children[0], k));
        return h;
    case TL_PHYS_MAP:
        return hash_map(col, i);
    case TL_PHYS_ROW:
        for (int32_t c = 0; c < col->n_children; c++)
            h = mix(h * 31 + hash_value(col->children[c], i));
        return h;
    default: {
        int width = tl_phys_width(col->phys);
        return tl_xxh3((const uint8_t *)col->values + (size_t)i * (size_t)width, (size_t)width);
    }
    }
}

uint64_t tl_merge__element_hash(const element_key *key, tl_rowref item)
{
    uint64_t h = 0;
    for (int32_t c = 0; c < key->n_cols; c++)
        h = mix(h * 31 + hash_value(key->cols[(uint32_t)c * key->n_srcs + item.src], item.row));
    return h;
}

bool tl_merge__element_equal(const element_key *key, tl_rowref a, tl_rowref b)
{
    for (int32_t c = 0; c < key->n_cols; c++) {
        const tl_column *const *cols = &key->cols[(uint32_t)c * key->n_srcs];
        if (!tl_column_equal(cols[a.src], a.row, cols[b.src], b.row))
            return false;
    }
    return true;
}

void tl_merge__index_deinit(element_index *index)
{
    tl_free(index->heads);
    tl_free(index->next);
    tl_free(index->hashes);
    *index = (element_index){0};
}

tl_status tl_merge__index_reset(element_index *index, uint32_t n, tl_error *err)
{
    if (n > index->cap) {
        uint32_t n_heads = (uint32_t)tl_next_pow2(TL_MIN((uint64_t)n * 2, UINT64_C(1) << 31));
        tl_merge__index_deinit(index);
        index->heads = tl_alloc(n_heads * sizeof *index->heads);
        index->next = tl_alloc(n * sizeof *index->next);
        index->hashes = tl_alloc(n * sizeof *index->hashes);
        if (index->heads == NULL || index->next == NULL || index->hashes == NULL) {
            tl_merge__index_deinit(index);
            return tl_nomem(err, "merge");
        }
        index->n_heads = n_heads;
        index->cap = n;
    }
    if (index->n_heads > 0)
        memset(index->heads, 0, index->n_heads * sizeof *index->heads);
    return TL_OK;
}

void tl_merge__index_add(element_index *index, uint32_t position, uint64_t hash)
{
    uint32_t *head = &index->heads[hash & (index->n_heads - 1)];
    index->hashes[position] = hash;
    index->next[position] = *head;
    *head = position + 1;
}

uint32_t tl_merge__index_find(const element_index *index, const element_list *list, const element_key *key, tl_rowref item,
                              uint64_t hash)
{
    if (index->n_heads == 0)
        return UINT32_MAX;
    for (uint32_t p = index->heads[hash & (index->n_heads - 1)]; p != 0; p = index->next[p - 1])
        if (index->hashes[p - 1] == hash && list->items[p - 1].row != TL_ROW_NULL &&
            tl_merge__element_equal(key, list->items[p - 1], item))
            return p - 1;
    return UINT32_MAX;
}
