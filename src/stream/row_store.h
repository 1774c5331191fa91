/*
 * Rows of one side of a join, found by key: chunks of batches, an index, and for each row whether it is alive and how many rows
 * of the other side it is joined with. Private to stream/.
 */
#ifndef TL_STREAM_ROW_STORE_H
#define TL_STREAM_ROW_STORE_H

#include "types/row_index.h"

typedef struct tl_store_chunk {
    tl_batch *batch;
    tl_keys *keys;
    uint8_t *dead;     /* bitmap */
    uint32_t *partners; /* per row */
    int64_t written_ms; /* by the clock, when its rows came */
} tl_store_chunk;

typedef struct tl_row_store {
    const int32_t *key_columns; /* borrowed */
    int32_t n_keys;
    tl_store_chunk *chunks;
    uint32_t n_chunks, cap_chunks, n_expired; /* so many of the first chunks are too old */
    tl_row_index index;
    int64_t alive, rows;
    int64_t now_ms; /* the owner's: when the rows that are added come */
} tl_row_store;

void tl_row_store_deinit(tl_row_store *store);
/** Keys of a batch as this store has them; keys with a NULL match nothing (see tl_row_store_key_is_null()). */
tl_status tl_row_store_keys(const tl_row_store *store, const tl_batch *batch, tl_keys **out, tl_error *err);
/**
 * Add the rows sel[0..n) of a batch as chunk number *chunk, all of them dead: tl_row_store_activate() brings them in one by one, so
 * that changes within a batch act in their order.
 */
tl_status tl_row_store_add(tl_row_store *store, const tl_batch *batch, const uint32_t *sel, int64_t n, uint32_t *chunk, tl_error *err);
static inline void tl_row_store_activate(tl_row_store *store, uint32_t chunk, uint32_t row, uint32_t partners)
{
    tl_bit_clear(store->chunks[chunk].dead, row);
    store->chunks[chunk].partners[row] = partners;
    store->alive++;
}
/** Remove one row that is equal to row `i` in all columns; false if there is none. *partners (may be NULL) had so many. */
bool tl_row_store_remove(tl_row_store *store, const tl_batch *batch, const tl_keys *keys, int64_t i, uint32_t *partners);
/** Rows that came before an instant are no longer there. */
void tl_row_store_expire(tl_row_store *store, int64_t before_ms);
/** Live rows of a key: start with *entry = NULL; false at the end. */
bool tl_row_store_next(const tl_row_store *store, const tl_keys *keys, int64_t i, const struct tl_row_entry **entry);
static inline uint32_t *tl_row_store_partners(const tl_row_store *store, const struct tl_row_entry *entry)
{
    return &store->chunks[entry->chunk].partners[entry->row];
}
/** Columns of the store's chunks for tl_column_gather_multi(), and `last` as source n_chunks; tl_free. */
tl_status tl_row_store_sources(const tl_row_store *store, int32_t column, const tl_column *last, const tl_column ***out, tl_error *err);

#endif
