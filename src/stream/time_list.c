#include "stream/time_list.h"

void tl_time_list_deinit(tl_time_list *list)
{
    tl_free(list->items);
    *list = (tl_time_list){0};
}

static tl_status insert(tl_time_list *list, size_t at, int64_t time, void *value)
{
    if (list->n == list->cap) {
        size_t cap = list->cap == 0 ? 64 : list->cap * 2;
        struct tl_time_item *grown = tl_realloc(list->items, cap * sizeof *grown);
        if (grown == NULL)
            return TL_E_NOMEM;
        list->items = grown;
        list->cap = cap;
    }
    memmove(list->items + at + 1, list->items + at, (list->n - at) * sizeof *list->items);
    list->items[at] = (struct tl_time_item){time, value};
    list->n++;
    return TL_OK;
}

void *tl_time_list_at(tl_time_list *list, int64_t time, size_t size)
{
    size_t lo = 0, hi = list->n;
    if (list->n > 0 && list->items[list->n - 1].time < time)
        lo = hi;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (list->items[mid].time < time)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < list->n && list->items[lo].time == time)
        return list->items[lo].value;
    void *value = tl_calloc(1, size);
    if (value != NULL && insert(list, lo, time, value) != TL_OK) {
        tl_free(value);
        return NULL;
    }
    return value;
}

size_t tl_time_list_count(const tl_time_list *list, int64_t watermark)
{
    size_t n = 0;
    while (n < list->n && list->items[n].time - 1 <= watermark)
        n++;
    return n;
}

void tl_time_list_drop(tl_time_list *list, size_t n)
{
    if (n > 0)
        memmove(list->items, list->items + n, (list->n - n) * sizeof *list->items);
    list->n -= n;
}
