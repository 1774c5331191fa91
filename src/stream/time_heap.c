#include "stream/time_heap.h"

static bool before(const tl_time_entry *a, const tl_time_entry *b)
{
    return a->time != b->time ? a->time < b->time : a->arrival < b->arrival;
}

tl_status tl_time_heap_push(tl_time_heap *heap, int64_t time, void *owner, tl_rowref row)
{
    if (heap->n == heap->cap) {
        size_t cap = heap->cap == 0 ? 256 : heap->cap * 2;
        tl_time_entry *grown = tl_realloc(heap->entries, cap * sizeof *grown);
        if (grown == NULL)
            return TL_E_NOMEM;
        heap->entries = grown;
        heap->cap = cap;
    }
    tl_time_entry entry = {time, heap->arrivals++, owner, row};
    size_t i = heap->n++;
    for (; i > 0 && before(&entry, &heap->entries[(i - 1) / 2]); i = (i - 1) / 2)
        heap->entries[i] = heap->entries[(i - 1) / 2];
    heap->entries[i] = entry;
    return TL_OK;
}

tl_time_entry tl_time_heap_pop(tl_time_heap *heap)
{
    tl_time_entry top = heap->entries[0], last = heap->entries[--heap->n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->n)
            break;
        if (child + 1 < heap->n && before(&heap->entries[child + 1], &heap->entries[child]))
            child++;
        if (!before(&heap->entries[child], &last))
            break;
        heap->entries[i] = heap->entries[child];
        i = child;
    }
    heap->entries[i] = last;
    return top;
}
