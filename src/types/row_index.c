#include "types/row_index.h"

void tl_row_index_deinit(tl_row_index *index)
{
    tl_free(index->slots);
    tl_free(index->entries);
    *index = (tl_row_index){0};
}

uint32_t tl_row_index_hash(const tl_keys *keys, int64_t row)
{
    if (keys->is_fixed)
        return (uint32_t)tl_xxh3(&keys->fixed[row], sizeof keys->fixed[row]);
    tl_bytes_view bytes = tl_keys_bytes(keys, row);
    return (uint32_t)tl_xxh3(bytes.data, bytes.len);
}

static void link_entry(tl_row_index *index, size_t i)
{
    uint32_t *slot = &index->slots[index->entries[i].hash & (index->n_slots - 1)];
    index->entries[i].next = *slot;
    *slot = (uint32_t)i + 1;
}

static tl_status make_room(tl_row_index *index, size_t more, tl_error *err)
{
    size_t need = index->n + more;
    if (need >= UINT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a look-up table holds at most 4294967294 rows");
    if (need > index->cap) {
        size_t cap = TL_MAX(need, index->cap * 2);
        void *entries = tl_realloc(index->entries, cap * sizeof *index->entries);
        if (entries == NULL)
            return tl_nomem(err, "look-up index");
        index->entries = entries;
        index->cap = cap;
    }
    if (need > index->n_slots) {
        size_t n_slots = tl_next_pow2(need * 2);
        uint32_t *slots = tl_calloc(n_slots, sizeof *slots);
        if (slots == NULL)
            return tl_nomem(err, "look-up index");
        tl_free(index->slots);
        index->slots = slots;
        index->n_slots = n_slots;
        for (size_t i = 0; i < index->n; i++)
            link_entry(index, i);
    }
    return TL_OK;
}

tl_status tl_row_index_add(tl_row_index *index, const tl_keys *keys, uint32_t chunk, const uint8_t *skip, tl_error *err)
{
    TL_TRY(make_room(index, (size_t)keys->count, err));
    for (int64_t row = keys->count - 1; row >= 0; row--) { /* backwards: chains give rows in their order */
        if (skip != NULL && tl_bit_get(skip, row))
            continue;
        index->entries[index->n] = (struct tl_row_entry){tl_row_index_hash(keys, row), 0, chunk, (uint32_t)row};
        link_entry(index, index->n++);
    }
    return TL_OK;
}

static const struct tl_row_entry *find(const tl_row_index *index, uint32_t i, uint32_t hash)
{
    while (i != 0 && index->entries[i - 1].hash != hash)
        i = index->entries[i - 1].next;
    return i == 0 ? NULL : &index->entries[i - 1];
}

const struct tl_row_entry *tl_row_index_first(const tl_row_index *index, uint32_t hash)
{
    return index->n_slots == 0 ? NULL : find(index, index->slots[hash & (index->n_slots - 1)], hash);
}

const struct tl_row_entry *tl_row_index_next(const tl_row_index *index, const struct tl_row_entry *entry)
{
    return find(index, entry->next, entry->hash);
}
