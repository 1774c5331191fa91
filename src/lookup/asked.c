/* See asked_private.h. */
#include "lookup/asked_private.h"

#define KEY_BYTES 64 /* of a key and its entry in the index, roughly */

void tl_lookup__asked_deinit(tl_lookup__asked *asked)
{
    for (uint32_t i = 0; i < asked->n; i++)
        tl_keys_free(asked->sets[i]);
    tl_free(asked->sets);
    tl_row_index_deinit(&asked->index);
    *asked = (tl_lookup__asked){0};
}

tl_status tl_lookup__asked_add(tl_lookup__asked *asked, tl_keys *keys, tl_error *err)
{
    tl_status status = TL_OK;
    if (asked->n == asked->cap) {
        uint32_t cap = asked->cap == 0 ? 16 : asked->cap * 2;
        tl_keys **sets = tl_realloc(asked->sets, sizeof(*sets) * cap);
        if (sets == NULL)
            status = tl_nomem(err, "look-up keys");
        else
            asked->cap = cap, asked->sets = sets;
    }
    if (status == TL_OK)
        status = tl_row_index_add(&asked->index, keys, asked->n, /* skip= */ NULL, err);
    if (status != TL_OK) {
        tl_keys_free(keys);
        return status;
    }
    asked->sets[asked->n++] = keys;
    asked->bytes += (int64_t)keys->count * KEY_BYTES;
    return TL_OK;
}

bool tl_lookup__asked_has(const tl_lookup__asked *asked, const tl_keys *keys, int64_t row, bool newest)
{
    if (asked->n == 0)
        return false;
    const struct tl_row_entry *entry = tl_row_index_first(&asked->index, tl_row_index_hash(keys, row));
    for (; entry != NULL; entry = tl_row_index_next(&asked->index, entry)) {
        if ((!newest || entry->chunk == asked->n - 1) && tl_keys_compare(asked->sets[entry->chunk], entry->row, keys, (uint32_t)row) == 0)
            return true;
    }
    return false;
}
