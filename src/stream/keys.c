#include "stream/keys.h"

tl_status tl_stream__keys(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err)
{
    *out = NULL;
    if (n == 0)
        return TL_OK;
    const tl_column **cols = tl_alloc(sizeof *cols * (size_t)n);
    if (cols == NULL)
        return tl_nomem(err, "keys");
    for (int32_t i = 0; i < n; i++)
        cols[i] = batch->cols[columns[i]];
    tl_status status = tl_keys_create(cols, n, batch->n_rows, out, err);
    tl_free(cols);
    return status;
}

tl_status tl_stream__refuse_retractions(const tl_batch *batch, const char *what, tl_error *err)
{
    for (int64_t i = 0; batch->row_kind != NULL && i < batch->n_rows; i++)
        if (batch->row_kind[i] != TL_KIND_INSERT)
            return tl_error_set(err, TL_E_UNSUPPORTED, "%s doesn't support consuming update and delete changes", what);
    return TL_OK;
}

tl_status tl_ref_list_add(tl_ref_list *list, const tl_rowref *refs, int64_t n)
{
    if (list->n + n > list->cap) {
        int64_t cap = TL_MAX(list->cap * 2, TL_MAX(list->n + n, 4));
        tl_rowref *grown = tl_realloc(list->refs, sizeof *grown * (size_t)cap);
        if (grown == NULL)
            return TL_E_NOMEM;
        list->refs = grown;
        list->cap = cap;
    }
    if (n > 0)
        memcpy(list->refs + list->n, refs, sizeof *refs * (size_t)n);
    list->n += n;
    return TL_OK;
}
