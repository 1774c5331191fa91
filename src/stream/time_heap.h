/* Things that wait for a time, many of them, in any order: a binary heap by time, then by order of arrival. Private to stream/. */
#ifndef TL_STREAM_TIME_HEAP_H
#define TL_STREAM_TIME_HEAP_H

#include "types/column.h"

typedef struct tl_time_entry {
    int64_t time;
    int64_t arrival;
    void *owner; /* a session, a key, a partition */
    tl_rowref row; /* or whatever 8 bytes the owner wants to know */
} tl_time_entry;

/** Zero-initialise; tl_free(heap->entries). */
typedef struct tl_time_heap {
    tl_time_entry *entries; /* entries[0] is the first one */
    size_t n, cap;
    int64_t arrivals;
} tl_time_heap;

/** TL_E_NOMEM has no message. There is always room for what was just popped. */
tl_status tl_time_heap_push(tl_time_heap *heap, int64_t time, void *owner, tl_rowref row);
tl_time_entry tl_time_heap_pop(tl_time_heap *heap);
static inline bool tl_time_heap_is_due(const tl_time_heap *heap, int64_t time)
{
    return heap->n > 0 && heap->entries[0].time <= time;
}

#endif
