#include "stream/row_store.h"

#include "stream/pairs.h"

static void chunk_deinit(tl_store_chunk *c)
{
    tl_batch_free(c->batch);
    tl_keys_free(c->keys);
    tl_free(c->dead);
    tl_free(c->partners);
}

void tl_row_store_deinit(tl_row_store *store)
{
    for (uint32_t i = 0; i < store->n_chunks; i++)
        chunk_deinit(&store->chunks[i]);
    tl_free(store->chunks);
    tl_row_index_deinit(&store->index);
    const int32_t *key_columns = store->key_columns;
    *store = (tl_row_store){.key_columns = key_columns, .n_keys = store->n_keys};
}

tl_status tl_row_store_keys(const tl_row_store *store, const tl_batch *batch, tl_keys **out, tl_error *err)
{
    if (store->n_keys == 0) /* all rows have the one empty key */
        return tl_keys_create(NULL, 0, batch->n_rows, out, err);
    return tl_stream__join_keys(batch, store->key_columns, store->n_keys, out, err);
}

static tl_status append_chunk(tl_row_store *store, tl_store_chunk *c, tl_error *err)
{
    int64_t n = c->batch->n_rows;
    c->written_ms = store->now_ms;
    TL_TRY(tl_row_store_keys(store, c->batch, &c->keys, err));
    c->dead = tl_alloc(tl_bitmap_bytes(n) + 1);
    c->partners = tl_calloc((size_t)n + 1, sizeof *c->partners);
    if (c->dead == NULL || c->partners == NULL)
        return tl_nomem(err, "join state");
    tl_bitmap_fill(c->dead, 0, n, true);
    if (store->n_chunks == store->cap_chunks) {
        uint32_t cap = store->cap_chunks == 0 ? 16 : store->cap_chunks * 2;
        tl_store_chunk *grown = tl_realloc(store->chunks, sizeof *grown * cap);
        if (grown == NULL)
            return tl_nomem(err, "join state");
        store->chunks = grown;
        store->cap_chunks = cap;
    }
    TL_TRY(tl_row_index_add(&store->index, c->keys, store->n_chunks, NULL, err));
    store->chunks[store->n_chunks++] = *c;
    store->rows += n;
    return TL_OK;
}

/* When most rows are dead the live ones move into new chunks. */
static tl_status rebuild(tl_row_store *store, tl_error *err)
{
    tl_row_store fresh = {.key_columns = store->key_columns, .n_keys = store->n_keys};
    tl_status status = TL_OK;
    for (uint32_t k = 0; k < store->n_chunks && status == TL_OK; k++) {
        const tl_store_chunk *c = &store->chunks[k];
        fresh.now_ms = c->written_ms;
        TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(c->batch->n_rows + 1));
        int64_t n = 0;
        for (int64_t i = 0; sel != NULL && i < c->batch->n_rows; i++)
            if (!tl_bit_get(c->dead, i))
                sel[n++] = (uint32_t)i;
        uint32_t chunk = 0;
        status = sel == NULL ? tl_nomem(err, "join state") : n == 0 ? TL_OK : tl_row_store_add(&fresh, c->batch, sel, n, &chunk, err);
        for (int64_t i = 0; i < n && status == TL_OK; i++)
            tl_row_store_activate(&fresh, chunk, (uint32_t)i, c->partners[sel[i]]);
    }
    if (status != TL_OK) {
        tl_row_store_deinit(&fresh);
        return status;
    }
    fresh.now_ms = store->now_ms;
    tl_row_store_deinit(store);
    *store = fresh;
    return TL_OK;
}

tl_status tl_row_store_add(tl_row_store *store, const tl_batch *batch, const uint32_t *sel, int64_t n, uint32_t *chunk, tl_error *err)
{
    if (store->rows > 65536 && store->alive < store->rows / 4)
        TL_TRY(rebuild(store, err));
    tl_store_chunk c = {0};
    tl_status status = tl_batch_gather(batch, sel, n, &c.batch, err);
    if (status == TL_OK)
        status = append_chunk(store, &c, err);
    if (status != TL_OK) {
        chunk_deinit(&c);
        return status;
    }
    *chunk = store->n_chunks - 1;
    return TL_OK;
}

/* Chunks stand in the order of their coming, so only the first ones can be too old. */
void tl_row_store_expire(tl_row_store *store, int64_t before_ms)
{
    for (; store->n_expired < store->n_chunks && store->chunks[store->n_expired].written_ms < before_ms; store->n_expired++) {
        tl_store_chunk *c = &store->chunks[store->n_expired];
        for (int64_t i = 0; i < c->batch->n_rows; i++)
            store->alive -= !tl_bit_get(c->dead, i);
        tl_bitmap_fill(c->dead, 0, c->batch->n_rows, true);
    }
}

bool tl_row_store_next(const tl_row_store *store, const tl_keys *keys, int64_t i, const struct tl_row_entry **entry)
{
    const struct tl_row_entry *e =
        *entry == NULL ? tl_row_index_first(&store->index, tl_row_index_hash(keys, i)) : tl_row_index_next(&store->index, *entry);
    for (; e != NULL; e = tl_row_index_next(&store->index, e)) {
        const tl_store_chunk *c = &store->chunks[e->chunk];
        if (!tl_bit_get(c->dead, e->row) && tl_keys_compare(c->keys, e->row, keys, i) == 0) {
            *entry = e;
            return true;
        }
    }
    return false;
}

static bool rows_equal(const tl_batch *a, int64_t i, const tl_batch *b, int64_t j)
{
    for (int32_t c = 0; c < a->n_cols; c++)
        if (!tl_column_equal(a->cols[c], i, b->cols[c], j))
            return false;
    return true;
}

bool tl_row_store_remove(tl_row_store *store, const tl_batch *batch, const tl_keys *keys, int64_t i, uint32_t *partners)
{
    const struct tl_row_entry *entry = NULL;
    while (tl_row_store_next(store, keys, i, &entry)) {
        tl_store_chunk *c = &store->chunks[entry->chunk];
        if (!rows_equal(c->batch, entry->row, batch, i))
            continue;
        tl_bit_set(c->dead, entry->row);
        store->alive--;
        if (partners != NULL)
            *partners = c->partners[entry->row];
        return true;
    }
    return false;
}

tl_status tl_row_store_sources(const tl_row_store *store, int32_t column, const tl_column *last, const tl_column ***out, tl_error *err)
{
    const tl_column **sources = tl_alloc(sizeof *sources * (size_t)(store->n_chunks + 2));
    if (sources == NULL)
        return tl_nomem(err, "join state");
    for (uint32_t i = 0; i < store->n_chunks; i++)
        sources[i] = store->chunks[i].batch->cols[column];
    sources[store->n_chunks] = last;
    *out = sources;
    return TL_OK;
}
