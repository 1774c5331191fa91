/* Rows under construction, column by column. */
#include "connect/connect_private.h"

#define DEAD UINT8_MAX /* in `kinds`: a row of a record that was given up */

tl_status tl_connect__rows_init(tl_row_buffer *rows, const tl_type *type, tl_error *err)
{
    *rows = (tl_row_buffer){.type = type};
    rows->builders = tl_calloc((size_t)type->n_fields + 1, sizeof *rows->builders);
    if (rows->builders == NULL)
        return tl_nomem(err, "rows");
    for (int32_t c = 0; c < type->n_fields; c++)
        TL_TRY(tl_builder_create(type->fields[c].type, &rows->builders[c], err));
    return TL_OK;
}

void tl_connect__rows_deinit(tl_row_buffer *rows)
{
    for (int32_t c = 0; rows->builders != NULL && c < rows->type->n_fields; c++)
        tl_builder_free(rows->builders[c]);
    tl_free(rows->builders);
    tl_free(rows->kinds);
    *rows = (tl_row_buffer){0};
}

tl_status tl_connect__rows_end(tl_row_buffer *rows, uint8_t kind, tl_error *err)
{
    if (rows->n == rows->cap) {
        int64_t cap = rows->cap == 0 ? 1024 : rows->cap * 2;
        uint8_t *kinds = tl_realloc(rows->kinds, (size_t)cap);
        if (kinds == NULL)
            return tl_nomem(err, "row kinds");
        rows->kinds = kinds;
        rows->cap = cap;
    }
    rows->kinds[rows->n++] = kind;
    rows->any_change |= kind != TL_KIND_INSERT;
    return TL_OK;
}

tl_status tl_connect__rows_rewind(tl_row_buffer *rows, tl_error *err)
{
    bool begun = false;
    for (int32_t c = 0; c < rows->type->n_fields; c++)
        begun |= tl_builder_length(rows->builders[c]) > rows->n;
    for (int32_t c = 0; begun && c < rows->type->n_fields; c++)
        if (tl_builder_length(rows->builders[c]) == rows->n && tl_builder_null(rows->builders[c]) != TL_OK)
            return tl_nomem(err, "rows");
    if (begun)
        TL_TRY(tl_connect__rows_end(rows, TL_KIND_INSERT, err));
    for (int64_t i = rows->record_start; i < rows->n; i++) {
        rows->kinds[i] = DEAD;
        rows->any_dead = true;
    }
    return TL_OK;
}

static tl_status without_dead(tl_batch *batch, const uint8_t *kinds, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *alive = tl_alloc(sizeof *alive * (size_t)(batch->n_rows + 1));
    if (alive == NULL)
        return tl_nomem(err, "rows");
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (kinds[i] != DEAD)
            alive[n++] = (uint32_t)i;
    return tl_batch_gather(batch, alive, n, out, err);
}

tl_status tl_connect__rows_finish(tl_row_buffer *rows, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(rows->type, rows->n, &batch, err));
    for (int32_t c = 0; c < rows->type->n_fields; c++)
        TL_TRY(tl_builder_finish(rows->builders[c], &batch->cols[c], err));
    if (rows->any_change) {
        batch->row_kind = tl_memdup(rows->kinds, (size_t)rows->n);
        if (batch->row_kind == NULL)
            return tl_nomem(err, "row kinds");
    }
    if (rows->any_dead)
        TL_TRY(without_dead(batch, rows->kinds, out, err));
    else
        *out = TL_STEAL(batch);
    rows->n = rows->record_start = 0;
    rows->any_change = rows->any_dead = false;
    return TL_OK;
}
