/*
 * Rows by value, collected while a file is written: 4 bytes a row and the distinct values. Sorted out when the file ends.
 */
#include <stdlib.h>

#include "index/file_index_private.h"

void tl_findex__rows_deinit(tl_findex__rows *rows)
{
    tl_map_deinit(&rows->ids);
    tl_arena_deinit(&rows->arena);
    tl_free(rows->values);
    tl_free(rows->row_ids);
}

int64_t tl_findex__rows_bytes(const tl_findex__rows *rows)
{
    return rows->rows_cap * (int64_t)sizeof *rows->row_ids + (int64_t)rows->values_cap * (int64_t)sizeof *rows->values +
           (int64_t)rows->arena.used_bytes + (int64_t)rows->ids.count * 64;
}

static tl_status reserve_rows(tl_findex__rows *rows, int64_t n, tl_error *err)
{
    if (rows->n_rows + n > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "file index of more than %d rows", INT32_MAX);
    if (rows->rows_cap - rows->n_rows >= n)
        return TL_OK;
    int64_t cap = TL_MAX(rows->rows_cap * 2, rows->n_rows + n);
    uint32_t *row_ids = tl_realloc(rows->row_ids, (size_t)cap * sizeof *row_ids);
    if (row_ids == NULL)
        return tl_nomem(err, "file index");
    rows->row_ids = row_ids;
    rows->rows_cap = cap;
    return TL_OK;
}

static tl_status add_value(tl_findex__rows *rows, tl_findex__value value, const void *key, size_t key_bytes, uint32_t *id, tl_error *err)
{
    if (rows->n_values == rows->values_cap) {
        uint32_t cap = rows->values_cap == 0 ? 64 : rows->values_cap * 2;
        tl_findex__value *values = tl_realloc(rows->values, (size_t)cap * sizeof *values);
        if (values == NULL)
            return tl_nomem(err, "file index");
        rows->values = values;
        rows->values_cap = cap;
    }
    if (value.bytes.len > 0) {
        value.bytes.data = (const uint8_t *)tl_arena_strndup(&rows->arena, (const char *)value.bytes.data, value.bytes.len);
        if (value.bytes.data == NULL)
            return tl_nomem(err, "file index");
    }
    *id = rows->n_values;
    if (tl_map_put(&rows->ids, key, key_bytes, (void *)(uintptr_t)(rows->n_values + 1), NULL) != TL_OK)
        return tl_nomem(err, "file index");
    rows->values[rows->n_values++] = value;
    return TL_OK;
}

tl_status tl_findex__rows_add(tl_findex__rows *rows, const tl_column *col, int64_t n, tl_error *err)
{
    TL_TRY(reserve_rows(rows, n, err));
    for (int64_t i = 0; i < n; i++) {
        tl_findex__value value;
        uint32_t id = TL_FINDEX__NO_VALUE;
        if (!tl_col_is_null(col, i)) {
            rows->overflow |= !tl_findex__value_at(&rows->type, col, i, &value);
            bool is_bytes = rows->type.repr == TL_FINDEX__BYTES;
            const void *key = is_bytes ? (const void *)value.bytes.data : &value.n;
            size_t key_bytes = is_bytes ? value.bytes.len : sizeof value.n;
            void *known = tl_map_get(&rows->ids, key, key_bytes);
            rows->ends_with_new = known == NULL;
            if (known != NULL)
                id = (uint32_t)(uintptr_t)known - 1;
            else
                TL_TRY(add_value(rows, value, key, key_bytes, &id, err));
        }
        rows->row_ids[rows->n_rows++] = id;
    }
    return TL_OK;
}

tl_status tl_findex__rows_group(const tl_findex__rows *rows, uint32_t **starts, uint32_t **numbers, tl_error *err)
{
    size_t n = (size_t)rows->n_values + 1;
    TL_CLEANUP(tl_freep) uint32_t *first = tl_calloc(n + 2, sizeof *first);
    TL_CLEANUP(tl_freep) uint32_t *sorted = tl_alloc(((size_t)rows->n_rows + 1) * sizeof *sorted);
    if (first == NULL || sorted == NULL)
        return tl_nomem(err, "file index");
    /* first[v + 2] counts, so that after filling first[v + 1] is the end of value v and first[v] its start. */
    for (int64_t i = 0; i < rows->n_rows; i++)
        first[TL_MIN(rows->row_ids[i], rows->n_values) + 2]++;
    for (size_t v = 2; v < n + 2; v++)
        first[v] += first[v - 1];
    for (int64_t i = 0; i < rows->n_rows; i++)
        sorted[first[TL_MIN(rows->row_ids[i], rows->n_values) + 1]++] = (uint32_t)i;
    *starts = TL_STEAL(first);
    *numbers = TL_STEAL(sorted);
    return TL_OK;
}

typedef struct sorted_value {
    uint32_t id;
    const tl_findex__rows *rows;
} sorted_value;

static int compare_values(const void *a, const void *b)
{
    const sorted_value *x = a, *y = b;
    return tl_findex__compare(&x->rows->type, x->rows->values[x->id], x->rows->values[y->id]);
}

uint32_t *tl_findex__rows_sort(const tl_findex__rows *rows)
{
    TL_CLEANUP(tl_freep) sorted_value *sorted = tl_alloc(((size_t)rows->n_values + 1) * sizeof *sorted);
    uint32_t *ids = tl_alloc(((size_t)rows->n_values + 1) * sizeof *ids);
    if (sorted == NULL || ids == NULL) {
        tl_free(ids);
        return NULL;
    }
    for (uint32_t v = 0; v < rows->n_values; v++)
        sorted[v] = (sorted_value){v, rows};
    qsort(sorted, rows->n_values, sizeof *sorted, compare_values);
    for (uint32_t k = 0; k < rows->n_values; k++)
        ids[k] = sorted[k].id;
    return ids;
}

tl_status tl_findex__put_rows(const uint32_t *rows, size_t n, tl_buf *out, tl_error *err)
{
    tl_arena arena = {0};
    tl_roaring32 bitmap;
    tl_status status = tl_roaring32_of(rows, n, &arena, &bitmap, err);
    if (status == TL_OK)
        status = tl_roaring32_optimize(&bitmap, &arena, err);
    if (status == TL_OK && tl_roaring32_write(&bitmap, out) != TL_OK)
        status = tl_nomem(err, "file index");
    tl_arena_deinit(&arena);
    return status;
}

tl_status tl_findex__put_i32(tl_buf *out, int64_t v)
{
    uint8_t bytes[4];
    tl_write_be32(bytes, (uint32_t)v);
    return tl_buf_append(out, bytes, sizeof bytes);
}
