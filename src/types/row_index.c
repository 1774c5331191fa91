#include "types/row_index.h"

#define AHEAD 32 /* rows whose slots are asked for before the first of them is looked at */

void tl_row_index_deinit(tl_row_index *index)
{
    tl_free(index->slots);
    tl_free(index->more);
    *index = (tl_row_index){0};
}

int64_t tl_row_index_bytes(const tl_row_index *index)
{
    return (int64_t)((index->n_slots + index->cap_more) * sizeof(struct tl_row_entry));
}

uint32_t tl_row_index_hash(const tl_keys *keys, int64_t row)
{
    uint32_t hash;
    if (keys->is_fixed) {
        hash = (uint32_t)tl_xxh3(&keys->fixed[row], sizeof keys->fixed[row]);
    } else {
        tl_bytes_view bytes = tl_keys_bytes(keys, row);
        hash = (uint32_t)tl_xxh3(bytes.data, bytes.len);
    }
    return hash == 0 ? 1 : hash;
}

/* The slot of a hash, or the empty one where it belongs. */
static struct tl_row_entry *find_slot(const tl_row_index *index, uint32_t hash)
{
    size_t at = hash & (index->n_slots - 1);
    while (index->slots[at].hash != hash && index->slots[at].hash != 0)
        at = (at + 1) & (index->n_slots - 1);
    return &index->slots[at];
}

static tl_status grow_slots(tl_row_index *index, size_t need, tl_error *err)
{
    tl_row_index grown = *index;
    grown.n_slots = tl_next_pow2(need * 2);
    grown.slots = tl_calloc(grown.n_slots, sizeof *grown.slots);
    if (grown.slots == NULL)
        return tl_nomem(err, "look-up index");
    for (size_t i = 0; i < index->n_slots; i++) {
        if (i + AHEAD < index->n_slots)
            tl_row_index_prefetch(&grown, index->slots[i + AHEAD].hash);
        if (index->slots[i].hash != 0)
            *find_slot(&grown, index->slots[i].hash) = index->slots[i];
    }
    tl_free(index->slots);
    *index = grown;
    return TL_OK;
}

/* Slots for as many more hashes as there are rows, and room for these as if all hashes were there. */
static tl_status make_room(tl_row_index *index, size_t rows, tl_error *err)
{
    size_t used = index->n_used + rows, more = index->n_more + rows;
    if (used + index->n_more >= UINT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a look-up table holds at most 4294967294 rows");
    if (used * 8 > index->n_slots * 5)
        TL_TRY(grow_slots(index, used, err));
    if (more > index->cap_more) {
        size_t cap = TL_MAX(more, index->cap_more + index->cap_more / 2);
        void *grown = tl_realloc(index->more, cap * sizeof *index->more);
        if (grown == NULL)
            return tl_nomem(err, "look-up index");
        index->more = grown;
        index->cap_more = cap;
    }
    return TL_OK;
}

static void insert(tl_row_index *index, struct tl_row_entry entry)
{
    struct tl_row_entry *slot = find_slot(index, entry.hash);
    if (slot->hash == 0) {
        index->n_used++;
    } else {
        index->more[index->n_more++] = *slot;
        entry.next = (uint32_t)index->n_more;
    }
    *slot = entry;
}

tl_status tl_row_index_add(tl_row_index *index, const tl_keys *keys, uint32_t chunk, const uint8_t *skip, tl_error *err)
{
    uint32_t hashes[AHEAD];
    TL_TRY(make_room(index, (size_t)keys->count, err));
    for (int64_t end = keys->count; end > 0;) { /* backwards: chains give rows in their order */
        int64_t begin = TL_MAX(end - AHEAD, 0);
        for (int64_t row = begin; row < end; row++) {
            hashes[row - begin] = tl_row_index_hash(keys, row);
            tl_row_index_prefetch(index, hashes[row - begin]);
        }
        for (int64_t row = end - 1; row >= begin; row--) {
            if (skip == NULL || !tl_bit_get(skip, row))
                insert(index, (struct tl_row_entry){hashes[row - begin], 0, chunk, (uint32_t)row});
        }
        end = begin;
    }
    return TL_OK;
}

const struct tl_row_entry *tl_row_index_first(const tl_row_index *index, uint32_t hash)
{
    if (index->n_slots == 0)
        return NULL;
    const struct tl_row_entry *slot = find_slot(index, hash);
    return slot->hash == 0 ? NULL : slot;
}
