/*
 * The rows: chunks (the wanted columns of batches, packed row by row) with a bitmap of dead rows each, an index by the look-up key and, if
 * changes are applied and that is another one, one by the primary key.
 */
#include "lookup/lookup_private.h"

static void chunk_deinit(const tl_lookup *l, tl_lookup__chunk *c)
{
    tl_packed_rows_deinit(&c->rows);
    for (int32_t i = 0; c->unpacked != NULL && i < l->n_columns; i++)
        tl_column_unref(c->unpacked[i]);
    tl_free(c->unpacked);
    tl_keys_free(c->keys);
    tl_keys_free(c->primary);
    tl_free(c->dead);
}

void tl_lookup__clear(tl_lookup *l)
{
    for (uint32_t i = 0; i < l->n_chunks; i++)
        chunk_deinit(l, &l->chunks[i]);
    l->n_chunks = 0;
    tl_row_index_deinit(&l->by_key);
    tl_row_index_deinit(&l->by_primary);
    tl_lookup__asked_deinit(&l->asked);
    l->alive = l->rows = l->held_bytes = 0;
}

tl_status tl_lookup__keys_of(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err)
{
    const tl_column **cols = tl_alloc(sizeof *cols * (size_t)(n + 1));
    if (cols == NULL)
        return tl_nomem(err, "look-up keys");
    for (int32_t i = 0; i < n; i++)
        cols[i] = batch->cols[columns[i]];
    tl_status status = tl_keys_create(cols, n, batch->n_rows, out, err);
    tl_free(cols);
    return status;
}

/* The keys, and the wanted columns of a batch: packed, and those that cannot be. */
static tl_status take_rows(const tl_lookup *l, const tl_batch *batch, tl_lookup__chunk *c, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **wanted = tl_alloc(sizeof *wanted * ((size_t)l->n_columns + 1));
    if (wanted == NULL)
        return tl_nomem(err, "look-up rows");
    for (int32_t i = 0; i < l->n_columns; i++)
        wanted[i] = batch->cols[l->columns[i]];
    TL_TRY(tl_lookup__keys_of(batch, l->keys, l->n_keys, &c->keys, err));
    if (l->primary != NULL && !l->by_one_key)
        TL_TRY(tl_lookup__keys_of(batch, l->primary, l->n_primary, &c->primary, err));
    TL_TRY(tl_rows_pack(l->layout, wanted, batch->n_rows, &c->rows, err));
    if (l->all_packed)
        return TL_OK;
    c->unpacked = tl_calloc((size_t)l->n_columns, sizeof(*c->unpacked));
    if (c->unpacked == NULL)
        return tl_nomem(err, "look-up rows");
    for (int32_t i = 0; i < l->n_columns; i++)
        c->unpacked[i] = tl_row_layout_has(l->layout, i) ? NULL : tl_column_ref(wanted[i]);
    return TL_OK;
}

static tl_status index_rows(tl_lookup *l, const tl_lookup__chunk *c, tl_error *err)
{
    TL_TRY(tl_row_index_add(&l->by_key, c->keys, l->n_chunks, c->dead, err));
    return c->primary == NULL ? TL_OK : tl_row_index_add(&l->by_primary, c->primary, l->n_chunks, c->dead, err);
}

/* About what a chunk takes. */
static int64_t chunk_bytes(const tl_lookup *l, const tl_lookup__chunk *c)
{
    int64_t bytes = (int64_t)sizeof *c + tl_packed_rows_bytes(&c->rows) + tl_keys_memory(c->keys);
    if (c->primary != NULL)
        bytes += tl_keys_memory(c->primary);
    for (int32_t i = 0; c->unpacked != NULL && i < l->n_columns; i++)
        bytes += c->unpacked[i] == NULL ? 0 : tl_column_bytes(c->unpacked[i]);
    return bytes;
}

/* Takes the batch over. Rows that `dead` (taken, may be NULL) marks are not found. */
tl_status tl_lookup__add_chunk(tl_lookup *l, tl_batch *batch_take, uint8_t *dead, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = batch_take;
    tl_lookup__chunk c = {.dead = dead};
    tl_status status = TL_OK;
    if (c.dead == NULL && (c.dead = tl_calloc(tl_bitmap_bytes(batch->n_rows) + 1, 1)) == NULL)
        status = tl_nomem(err, "look-up rows");
    if (status == TL_OK && l->n_chunks == l->cap_chunks) {
        uint32_t cap = l->cap_chunks == 0 ? 16 : l->cap_chunks * 2;
        tl_lookup__chunk *grown = tl_realloc(l->chunks, sizeof *grown * cap);
        if (grown == NULL)
            status = tl_nomem(err, "look-up rows");
        else
            l->cap_chunks = cap, l->chunks = grown;
    }
    if (status == TL_OK)
        status = take_rows(l, batch, &c, err);
    if (status != TL_OK) {
        chunk_deinit(l, &c);
        return status;
    }
    status = index_rows(l, &c, err);
    if (status != TL_OK) /* one of the indexes may have rows of it already */
        tl_bitmap_fill(c.dead, 0, batch->n_rows, true);
    l->chunks[l->n_chunks++] = c;
    l->rows += batch->n_rows;
    l->held_bytes += chunk_bytes(l, &c);
    l->alive += batch->n_rows - tl_bitmap_count(c.dead, 0, batch->n_rows);
    return status;
}
