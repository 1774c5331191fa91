#include "stream/row_buffer.h"

#define COMPACT_ROWS 16384

void tl_row_buffer_deinit(tl_row_buffer *buffer)
{
    for (uint32_t i = 0; i < buffer->n; i++)
        tl_batch_free(buffer->chunks[i]);
    tl_free(buffer->chunks);
    tl_free(buffer->live);
    *buffer = (tl_row_buffer){0};
}

static tl_status free_slot(tl_row_buffer *b, uint32_t *slot, tl_error *err)
{
    for (uint32_t i = b->n; i-- > 0 && b->n - i < 64;) /* the newest chunks die first, mostly */
        if (b->chunks[i] == NULL) {
            *slot = i;
            return TL_OK;
        }
    if (b->n == b->cap) {
        uint32_t cap = b->cap == 0 ? 16 : b->cap * 2;
        tl_batch **chunks = tl_realloc(b->chunks, sizeof *chunks * cap);
        if (chunks != NULL)
            b->chunks = chunks;
        int64_t *live = tl_realloc(b->live, sizeof *live * cap);
        if (live != NULL)
            b->live = live;
        if (chunks == NULL || live == NULL)
            return tl_nomem(err, "operator state");
        b->cap = cap;
    }
    *slot = b->n++;
    b->chunks[*slot] = NULL;
    return TL_OK;
}

tl_status tl_row_buffer_put(tl_row_buffer *buffer, tl_batch **rows, uint32_t *chunk, tl_error *err)
{
    *chunk = 0;
    int64_t n = (*rows)->n_rows;
    if (n == 0)
        return TL_OK;
    TL_TRY(free_slot(buffer, chunk, err));
    buffer->chunks[*chunk] = TL_STEAL(*rows);
    buffer->live[*chunk] = n;
    buffer->rows += n;
    buffer->alive += n;
    return TL_OK;
}

tl_status tl_row_buffer_add(tl_row_buffer *buffer, const tl_batch *batch, const uint32_t *sel, int64_t n, uint32_t *chunk, tl_error *err)
{
    *chunk = 0;
    if (n == 0)
        return TL_OK;
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_TRY(tl_batch_gather(batch, sel, n, &rows, err));
    tl_free(rows->row_kind);
    tl_free(rows->seq);
    rows->row_kind = NULL;
    rows->seq = NULL;
    return tl_row_buffer_put(buffer, &rows, chunk, err);
}

tl_status tl_row_buffer_add_all(tl_row_buffer *buffer, const tl_batch *batch, uint32_t *chunk, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *all = tl_alloc(sizeof *all * (size_t)(batch->n_rows + 1));
    if (all == NULL)
        return tl_nomem(err, "operator state");
    for (int64_t i = 0; i < batch->n_rows; i++)
        all[i] = (uint32_t)i;
    return tl_row_buffer_add(buffer, batch, all, batch->n_rows, chunk, err);
}

void tl_row_buffer_release(tl_row_buffer *buffer, tl_rowref ref)
{
    buffer->alive--;
    if (--buffer->live[ref.src] > 0)
        return;
    buffer->rows -= buffer->chunks[ref.src]->n_rows;
    tl_batch_free(buffer->chunks[ref.src]);
    buffer->chunks[ref.src] = NULL;
    while (buffer->n > 0 && buffer->chunks[buffer->n - 1] == NULL)
        buffer->n--;
}

tl_status tl_row_buffer_gather(const tl_row_buffer *buffer, const tl_rowref *refs, int64_t n, const int32_t *from, int32_t n_columns, tl_batch *out,
                               int32_t at, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **sources = tl_alloc(sizeof *sources * (size_t)(buffer->n + 1));
    if (sources == NULL)
        return tl_nomem(err, "operator state");
    sources[0] = NULL; /* where all rows are NULL */
    for (int32_t c = 0; c < n_columns; c++) {
        for (uint32_t i = 0; i < buffer->n; i++)
            sources[i] = buffer->chunks[i] == NULL ? NULL : buffer->chunks[i]->cols[from == NULL ? c : from[c]];
        TL_TRY(tl_column_gather_multi(out->type->fields[at + c].type, sources, refs, n, &out->cols[at + c], err));
    }
    return TL_OK;
}

tl_status tl_row_buffer_compact(tl_row_buffer *buffer, tl_rowref *const *refs, int64_t n, tl_error *err)
{
    tl_row_buffer fresh = {0};
    TL_CLEANUP(tl_freep) tl_rowref *part = tl_alloc(sizeof *part * COMPACT_ROWS);
    tl_status status = part == NULL ? tl_nomem(err, "operator state") : TL_OK;
    const tl_type *type = NULL;
    for (uint32_t i = 0; i < buffer->n && type == NULL; i++)
        type = buffer->chunks[i] == NULL ? NULL : buffer->chunks[i]->type;
    uint32_t *chunks = tl_alloc(sizeof *chunks * (size_t)(n / COMPACT_ROWS + 1));
    if (chunks == NULL)
        status = tl_nomem(err, "operator state");
    for (int64_t from = 0; from < n && status == TL_OK && type != NULL; from += COMPACT_ROWS) {
        int64_t count = TL_MIN(n - from, (int64_t)COMPACT_ROWS);
        for (int64_t k = 0; k < count; k++)
            part[k] = *refs[from + k];
        TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
        status = tl_batch_create(type, count, &rows, err);
        if (status == TL_OK)
            status = tl_row_buffer_gather(buffer, part, count, NULL, type->n_fields, rows, 0, err);
        if (status == TL_OK)
            status = tl_row_buffer_put(&fresh, &rows, &chunks[from / COMPACT_ROWS], err);
    }
    if (status == TL_OK) { /* only now, so that a failure leaves everything as it was */
        for (int64_t k = 0; k < n; k++)
            *refs[k] = (tl_rowref){chunks[k / COMPACT_ROWS], (uint32_t)(k % COMPACT_ROWS)};
        tl_row_buffer_deinit(buffer);
        *buffer = fresh;
    } else {
        tl_row_buffer_deinit(&fresh);
    }
    tl_free(chunks);
    return status;
}
