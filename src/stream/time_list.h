/* Things that wait for a time, in order of it: open windows by their end. Private to stream/. */
#ifndef TL_STREAM_TIME_LIST_H
#define TL_STREAM_TIME_LIST_H

#include "base/mem.h"

/** Zero-initialise. Few at a time, mostly added near the end: a sorted array. */
typedef struct tl_time_list {
    struct tl_time_item {
        int64_t time;
        void *value; /* the owner's, never NULL */
    } *items;
    size_t n, cap;
} tl_time_list;

void tl_time_list_deinit(tl_time_list *list);
/** The value of a time, `size` zero bytes (the owner's, tl_free) when the time is new. NULL: no memory. */
void *tl_time_list_at(tl_time_list *list, int64_t time, size_t size);
/** How many items are over at a watermark: those with time - 1 <= watermark. They are the first ones. */
size_t tl_time_list_count(const tl_time_list *list, int64_t watermark);
/** Remove the first `n` items. */
void tl_time_list_drop(tl_time_list *list, size_t n);

#endif
