/* A hash multimap from keys to rows of chunks (numbers of batches that the owner keeps): look-ups and joins. */
#ifndef TL_TYPES_ROW_INDEX_H
#define TL_TYPES_ROW_INDEX_H

#include "types/key.h"

struct tl_row_entry {
    uint32_t hash; /* 0: an empty slot */
    uint32_t next; /* of the same hash: place in `more`, plus one; 0: none */
    uint32_t chunk;
    uint32_t row;
};

/**
 * The last entry of a hash lies in the table itself, at its place or in one of the next slots: a key that is alone with its hash is one
 * cache line. Earlier ones are chained in `more`. Chunk numbers index the owner's array of keys. Zero-initialise.
 */
typedef struct tl_row_index {
    struct tl_row_entry *slots;
    size_t n_slots, n_used; /* power of two; at most 5/8 are used */
    struct tl_row_entry *more;
    size_t n_more, cap_more;
} tl_row_index;

void tl_row_index_deinit(tl_row_index *index);
int64_t tl_row_index_bytes(const tl_row_index *index);
/** Never 0. */
uint32_t tl_row_index_hash(const tl_keys *keys, int64_t row);
/** Add all rows of a chunk but those that `skip` (bitmap; NULL: none) marks. */
tl_status tl_row_index_add(tl_row_index *index, const tl_keys *keys, uint32_t chunk, const uint8_t *skip, tl_error *err);
/** First entry of a hash, NULL if none; go on with tl_row_index_next(). Entries of other keys may be among them. */
const struct tl_row_entry *tl_row_index_first(const tl_row_index *index, uint32_t hash);
static inline const struct tl_row_entry *tl_row_index_next(const tl_row_index *index, const struct tl_row_entry *entry)
{
    return entry->next == 0 ? NULL : &index->more[entry->next - 1];
}
/** Ask for the cache line that tl_row_index_first() will look at. */
static inline void tl_row_index_prefetch(const tl_row_index *index, uint32_t hash)
{
    if (index->n_slots > 0)
        __builtin_prefetch(&index->slots[hash & (index->n_slots - 1)]);
}

#endif
