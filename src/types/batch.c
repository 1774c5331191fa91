/*
 * Batches: columns of one ROW type with row kinds and sequence numbers beside them.
 */
#include "types/types_private.h"

const char *tl_row_kind_text(uint8_t kind)
{
    static const char *const texts[] = {"+I", "-U", "+U", "-D"};
    return kind < TL_ARRAY_LEN(texts) ? texts[kind] : "?";
}

bool tl_row_kind_parse(tl_bytes_view text, uint8_t *out)
{
    for (uint8_t kind = 0; kind < 4; kind++) {
        if (text.len == 2 && memcmp(text.data, tl_row_kind_text(kind), 2) == 0) {
            *out = kind;
            return true;
        }
    }
    return false;
}

tl_status tl_batch_create(const tl_type *row_type, int64_t n_rows, tl_batch **out, tl_error *err)
{
    tl_batch *batch = tl_calloc(1, sizeof *batch);
    if (batch == NULL)
        return tl_nomem(err, "batch");
    batch->cols = tl_calloc((size_t)TL_MAX(row_type->n_fields, 1), sizeof(tl_column *));
    if (batch->cols == NULL) {
        tl_free(batch);
        return tl_nomem(err, "batch");
    }
    batch->type = tl_type_ref(row_type);
    batch->n_rows = n_rows;
    batch->n_cols = row_type->n_fields;
    batch->level = -1;
    *out = batch;
    return TL_OK;
}

void tl_batch_free(tl_batch *batch)
{
    if (batch == NULL)
        return;
    for (int32_t i = 0; i < batch->n_cols; i++)
        tl_column_unref(batch->cols[i]);
    tl_free(batch->cols);
    tl_free(batch->row_kind);
    tl_free(batch->seq);
    tl_type_unref(batch->type);
    tl_free(batch);
}

/* Room for kinds and sequence numbers of `batch`, where asked. */
static tl_status alloc_sides(tl_batch *batch, bool row_kind, bool seq, tl_error *err)
{
    size_t n = (size_t)TL_MAX(batch->n_rows, 1);
    if (row_kind && (batch->row_kind = tl_alloc(n)) == NULL)
        return tl_nomem(err, "batch");
    if (seq && (batch->seq = tl_alloc(n * sizeof *batch->seq)) == NULL)
        return tl_nomem(err, "batch");
    return TL_OK;
}

static void copy_sides(const tl_batch *from, int64_t from_row, tl_batch *to, int64_t to_row, int64_t n)
{
    if (n == 0)
        return;
    if (to->row_kind != NULL && from->row_kind != NULL)
        memcpy(to->row_kind + to_row, from->row_kind + from_row, (size_t)n);
    else if (to->row_kind != NULL)
        memset(to->row_kind + to_row, TL_KIND_INSERT, (size_t)n);
    if (to->seq != NULL && from->seq != NULL)
        memcpy(to->seq + to_row, from->seq + from_row, (size_t)n * sizeof *to->seq);
    else if (to->seq != NULL)
        memset(to->seq + to_row, 0, (size_t)n * sizeof *to->seq);
}

tl_status tl_batch_slice(const tl_batch *batch, int64_t from, int64_t length, tl_batch **out, tl_error *err)
{
    if (from < 0 || length < 0 || from > batch->n_rows || length > batch->n_rows - from)
        return tl_error_set(err, TL_E_INVALID, "slice of rows %lld to %lld of a batch of %lld rows", (long long)from,
                            (long long)(from + length), (long long)batch->n_rows);
    TL_CLEANUP(tl_batch_freep) tl_batch *slice = NULL;
    TL_TRY(tl_batch_create(batch->type, length, &slice, err));
    for (int32_t i = 0; i < batch->n_cols; i++)
        TL_TRY(tl_column_slice(batch->cols[i], from, length, &slice->cols[i], err));
    TL_TRY(alloc_sides(slice, batch->row_kind != NULL, batch->seq != NULL, err));
    copy_sides(batch, from, slice, 0, length);
    slice->level = batch->level;
    slice->snapshot = batch->snapshot;
    *out = TL_STEAL(slice);
    return TL_OK;
}

tl_status tl_batch_gather(const tl_batch *batch, const uint32_t *idx, int64_t n, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(batch->type, n, &result, err));
    for (int32_t i = 0; i < batch->n_cols; i++)
        TL_TRY(tl_column_gather(batch->cols[i], idx, n, &result->cols[i], err));
    TL_TRY(alloc_sides(result, batch->row_kind != NULL, batch->seq != NULL, err));
    for (int64_t i = 0; i < n && batch->row_kind != NULL; i++)
        result->row_kind[i] = batch->row_kind[idx[i]];
    for (int64_t i = 0; i < n && batch->seq != NULL; i++)
        result->seq[i] = batch->seq[idx[i]];
    result->level = batch->level;
    result->snapshot = batch->snapshot;
    *out = TL_STEAL(result);
    return TL_OK;
}

tl_status tl_batch_project(const tl_batch *batch, const int32_t *indices, int32_t n, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_type_project(batch->type, indices, n, &type, err));
    TL_TRY(tl_batch_create(type, batch->n_rows, &result, err));
    for (int32_t i = 0; i < n; i++)
        result->cols[i] = tl_column_ref(batch->cols[indices[i]]);
    TL_TRY(alloc_sides(result, batch->row_kind != NULL, batch->seq != NULL, err));
    copy_sides(batch, 0, result, 0, batch->n_rows);
    result->level = batch->level;
    result->snapshot = batch->snapshot;
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status concat_columns(const tl_batch *const *batches, int32_t n, tl_batch *result, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_alloc((size_t)n * sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "batch");
    for (int32_t c = 0; c < result->n_cols; c++) {
        for (int32_t k = 0; k < n; k++)
            cols[k] = batches[k]->cols[c];
        TL_TRY(tl_column_concat(result->type->fields[c].type, cols, n, &result->cols[c], err));
    }
    return TL_OK;
}

tl_status tl_batch_concat(const tl_batch *const *batches, int32_t n, tl_batch **out, tl_error *err)
{
    if (n < 1)
        return tl_error_set(err, TL_E_INTERNAL, "no batch to join");
    int64_t n_rows = 0;
    bool row_kind = false, seq = false, same_level = true, same_snapshot = true;
    for (int32_t k = 0; k < n; k++) {
        if (batches[k]->n_cols != batches[0]->n_cols)
            return tl_error_set(err, TL_E_INTERNAL, "batches of different width cannot be joined");
        n_rows += batches[k]->n_rows;
        row_kind |= batches[k]->row_kind != NULL;
        seq |= batches[k]->seq != NULL;
        same_level &= batches[k]->level == batches[0]->level;
        same_snapshot &= batches[k]->snapshot == batches[0]->snapshot;
    }
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(batches[0]->type, n_rows, &result, err));
    TL_TRY(concat_columns(batches, n, result, err));
    TL_TRY(alloc_sides(result, row_kind, seq, err));
    int64_t at = 0;
    for (int32_t k = 0; k < n; k++) {
        copy_sides(batches[k], 0, result, at, batches[k]->n_rows);
        at += batches[k]->n_rows;
    }
    result->level = same_level ? batches[0]->level : -1;
    result->snapshot = same_snapshot ? batches[0]->snapshot : 0;
    *out = TL_STEAL(result);
    return TL_OK;
}

int64_t tl_batch_bytes(const tl_batch *batch)
{
    int64_t bytes = (int64_t)sizeof *batch;
    for (int32_t i = 0; i < batch->n_cols; i++)
        bytes += batch->cols[i] == NULL ? 0 : tl_column_bytes(batch->cols[i]);
    if (batch->row_kind != NULL)
        bytes += batch->n_rows;
    if (batch->seq != NULL)
        bytes += batch->n_rows * (int64_t)sizeof *batch->seq;
    return bytes;
}

tl_status tl_batch_number(tl_batch *batch, int64_t first, tl_error *err)
{
    batch->seq = tl_alloc((size_t)batch->n_rows * sizeof *batch->seq);
    if (batch->seq == NULL)
        return tl_nomem(err, "row numbers");
    for (int64_t i = 0; i < batch->n_rows; i++)
        batch->seq[i] = first + i;
    return TL_OK;
}
