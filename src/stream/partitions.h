/* What an operator keeps for each key of its rows: a map from keys as bytes to states of its own. Private to stream/. */
#ifndef TL_STREAM_PARTITIONS_H
#define TL_STREAM_PARTITIONS_H

#include "base/map.h"
#include "stream/keys.h"

/** The state of a key, `size` zero bytes (owned by the map, tl_free) when it comes for the first time. NULL: no memory. */
void *tl_partition_at(tl_map *partitions, tl_bytes_view key, size_t size);
/** The same for the key of row `i` of a batch. */
static inline void *tl_partition_of(tl_map *partitions, const tl_keys *keys, int64_t i, size_t size)
{
    tl_key_space space;
    return tl_partition_at(partitions, tl_stream__key(keys, i, &space), size);
}

/** Drop the states that are empty; nothing else may refer to them. TL_E_NOMEM (without a message) leaves all of them. */
tl_status tl_partitions_forget(tl_map *partitions, bool (*is_empty)(const void *state), void (*free_state)(void *state));

/** What every state begins with that can grow old. */
typedef struct tl_aging {
    int64_t written_ms; /* by the clock, when it was changed last */
} tl_aging;
/** Drop the states, beginning with a tl_aging, that were written before an instant; free_state() gets `ctx`, too. */
tl_status tl_partitions_expire(tl_map *partitions, int64_t before_ms, void (*free_state)(void *ctx, void *state), void *ctx);

/** Free all states and the map. */
void tl_partitions_deinit(tl_map *partitions, void (*free_state)(void *state));

/** Partitions that are also known in order of appearance. Zero-initialise. */
typedef struct tl_partition_list {
    tl_map map;
    void **states;
    int64_t n, cap;
} tl_partition_list;
/** tl_partition_at(), for states of one size. */
void *tl_partition_list_at(tl_partition_list *list, tl_bytes_view key, size_t size);
/** Put in the state of a key that isn't there; it stays the caller's on TL_E_NOMEM. */
tl_status tl_partition_list_add(tl_partition_list *list, tl_bytes_view key, void *state);
/** Free the list, but not the states. */
void tl_partition_list_deinit(tl_partition_list *list);

#endif
