/* Keys that were looked up in files, found or not: what is kept of their rows is all that there is. */
#ifndef TL_LOOKUP_ASKED_H
#define TL_LOOKUP_ASKED_H

#include "types/row_index.h"

/** Zero-initialise. */
typedef struct tl_lookup__asked {
    tl_keys **sets; /* owned; one of each probe that read something */
    uint32_t n, cap;
    tl_row_index index; /* chunk: the set */
    int64_t bytes;      /* about what this holds */
} tl_lookup__asked;
void tl_lookup__asked_deinit(tl_lookup__asked *asked);
/** Takes `keys` over. */
tl_status tl_lookup__asked_add(tl_lookup__asked *asked, tl_keys *keys, tl_error *err);
/** Whether that key is there; with `newest` among those added last. */
bool tl_lookup__asked_has(const tl_lookup__asked *asked, const tl_keys *keys, int64_t row, bool newest);

#endif
