/* A hash multimap from keys to rows of chunks (numbers of batches that the owner keeps): look-ups and joins. */
#ifndef TL_TYPES_ROW_INDEX_H
#define TL_TYPES_ROW_INDEX_H

#include "types/key.h"

/** Entries are chained by slot; chunk numbers index the owner's array of keys. Zero-initialise. */
typedef struct tl_row_index {
    uint32_t *slots; /* entry + 1; 0: empty. Power of two */
    size_t n_slots;
    struct tl_row_entry {
        uint32_t hash;
        uint32_t next; /* entry + 1 */
        uint32_t chunk;
        uint32_t row;
    } *entries;
    size_t n, cap;
} tl_row_index;

void tl_row_index_deinit(tl_row_index *index);
uint32_t tl_row_index_hash(const tl_keys *keys, int64_t row);
/** Add all rows of a chunk but those that `skip` (bitmap; NULL: none) marks. */
tl_status tl_row_index_add(tl_row_index *index, const tl_keys *keys, uint32_t chunk, const uint8_t *skip, tl_error *err);
/** First entry of a hash, NULL if none; go on with tl_row_index_next(). Entries of other keys may be among them. */
const struct tl_row_entry *tl_row_index_first(const tl_row_index *index, uint32_t hash);
const struct tl_row_entry *tl_row_index_next(const tl_row_index *index, const struct tl_row_entry *entry);

#endif
