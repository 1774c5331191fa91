/* Arrays that grow by doubling. `array` is always the address of the pointer to the items; TL_E_NOMEM leaves all as it was. */
#ifndef TL_STREAM_ARRAY_H
#define TL_STREAM_ARRAY_H

#include "base/mem.h"

/** Make an array `cap` items of `size` bytes long. */
static inline tl_status tl_array_resize(void *array, size_t size, int64_t cap)
{
    void *grown = tl_realloc(*(void **)array, size * (size_t)cap);
    if (grown == NULL)
        return TL_E_NOMEM;
    *(void **)array = grown;
    return TL_OK;
}

/** What a full array grows to; `first`: an empty one. */
static inline int64_t tl_array_next_cap(int64_t cap, int64_t first)
{
    return cap == 0 ? first : cap * 2;
}

/** Room for an item behind the `n` that there are. */
static inline tl_status tl_array_fit(void *array, size_t size, int64_t n, int64_t *cap, int64_t first)
{
    if (n < *cap)
        return TL_OK;
    TL_TRY(tl_array_resize(array, size, tl_array_next_cap(*cap, first)));
    *cap = tl_array_next_cap(*cap, first);
    return TL_OK;
}

/** The same for a queue, whose `n` items begin at `*head`: they move to the front if more than half of the room is there. */
static inline tl_status tl_queue_fit(void *array, size_t size, int64_t *head, int64_t n, int64_t *cap)
{
    if (*head + n < *cap || *head <= n)
        return tl_array_fit(array, size, *head + n, cap, 4);
    uint8_t *items = *(void **)array;
    memmove(items, items + size * (size_t)*head, size * (size_t)n);
    *head = 0;
    return TL_OK;
}

#endif
