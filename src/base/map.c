#include "base/map.h"

#include "base/bits.h"

/* Linear probing; a removed slot is a tombstone (key of length 0 with `dead`) until the next rehash. */
struct tl_map_slot {
    uint8_t *key; /* NULL: free or dead */
    size_t key_bytes;
    uint64_t hash;
    void *value;
    bool dead;
};

void tl_map_deinit(tl_map *map)
{
    for (size_t i = 0; i < map->cap; i++)
        tl_free(map->slots[i].key);
    tl_free(map->slots);
    *map = (tl_map){NULL, 0, 0};
}

static struct tl_map_slot *find(const tl_map *map, const void *key, size_t key_bytes, uint64_t hash)
{
    if (map->cap == 0)
        return NULL;
    for (size_t i = hash & (map->cap - 1);; i = (i + 1) & (map->cap - 1)) {
        struct tl_map_slot *slot = &map->slots[i];
        if (slot->key == NULL && !slot->dead)
            return NULL;
        if (slot->key != NULL && slot->hash == hash && slot->key_bytes == key_bytes && memcmp(slot->key, key, key_bytes) == 0)
            return slot;
    }
}

void *tl_map_get(const tl_map *map, const void *key, size_t key_bytes)
{
    struct tl_map_slot *slot = find(map, key, key_bytes, tl_xxh3(key, key_bytes));
    return slot == NULL ? NULL : slot->value;
}

static tl_status rehash(tl_map *map, size_t cap)
{
    struct tl_map_slot *slots = tl_calloc(cap, sizeof *slots);
    if (slots == NULL)
        return TL_E_NOMEM;
    for (size_t i = 0; i < map->cap; i++) {
        if (map->slots[i].key == NULL)
            continue;
        size_t j = map->slots[i].hash & (cap - 1);
        while (slots[j].key != NULL)
            j = (j + 1) & (cap - 1);
        slots[j] = map->slots[i];
    }
    tl_free(map->slots);
    map->slots = slots;
    map->cap = cap;
    return TL_OK;
}

static size_t used_slots(const tl_map *map)
{
    size_t used = 0;
    for (size_t i = 0; i < map->cap; i++)
        used += map->slots[i].key != NULL || map->slots[i].dead;
    return used;
}

tl_status tl_map_put(tl_map *map, const void *key, size_t key_bytes, void *value, void **old)
{
    uint64_t hash = tl_xxh3(key, key_bytes);
    struct tl_map_slot *slot = find(map, key, key_bytes, hash);
    if (old != NULL)
        *old = slot == NULL ? NULL : slot->value;
    if (slot != NULL) {
        slot->value = value;
        return TL_OK;
    }
    if ((map->count + 1) * 2 > map->cap)
        TL_TRY(rehash(map, map->cap == 0 ? 16 : map->cap * 2));
    uint8_t *copy = tl_memdup(key, key_bytes);
    if (copy == NULL)
        return TL_E_NOMEM;
    size_t i = hash & (map->cap - 1);
    while (map->slots[i].key != NULL)
        i = (i + 1) & (map->cap - 1);
    map->slots[i] = (struct tl_map_slot){copy, key_bytes, hash, value, false};
    map->count++;
    return TL_OK;
}

void *tl_map_remove(tl_map *map, const void *key, size_t key_bytes)
{
    struct tl_map_slot *slot = find(map, key, key_bytes, tl_xxh3(key, key_bytes));
    if (slot == NULL)
        return NULL;
    void *value = slot->value;
    tl_free(slot->key);
    *slot = (struct tl_map_slot){.dead = true};
    map->count--;
    /* Tombstones must never fill the table, or a look-up of an absent key would not end. */
    if (map->count == 0 || used_slots(map) * 4 > map->cap * 3)
        (void)rehash(map, map->cap); /* on failure the old slots stay, still with free ones */
    return value;
}

bool tl_map_next(const tl_map *map, size_t *pos, tl_bytes_view *key, void **value)
{
    for (; *pos < map->cap; (*pos)++) {
        const struct tl_map_slot *slot = &map->slots[*pos];
        if (slot->key == NULL)
            continue;
        if (key != NULL)
            *key = (tl_bytes_view){slot->key, slot->key_bytes};
        if (value != NULL)
            *value = slot->value;
        (*pos)++;
        return true;
    }
    return false;
}

void tl_options_deinit(tl_options *options)
{
    for (size_t i = 0; i < options->count; i++) {
        tl_free(options->keys[i]);
        tl_free(options->values[i]);
    }
    tl_free(options->keys);
    tl_free(options->values);
    *options = (tl_options){NULL, NULL, 0, 0};
}

static size_t option_index(const tl_options *options, const char *key)
{
    size_t i = 0;
    while (i < options->count && strcmp(options->keys[i], key) != 0)
        i++;
    return i;
}

const char *tl_options_get(const tl_options *options, const char *key)
{
    size_t i = option_index(options, key);
    return i < options->count ? options->values[i] : NULL;
}

static tl_status grow_options(tl_options *options)
{
    size_t cap = options->cap == 0 ? 8 : options->cap * 2;
    char **keys = tl_realloc(options->keys, cap * sizeof *keys);
    if (keys == NULL)
        return TL_E_NOMEM;
    options->keys = keys;
    char **values = tl_realloc(options->values, cap * sizeof *values);
    if (values == NULL)
        return TL_E_NOMEM;
    options->values = values;
    options->cap = cap;
    return TL_OK;
}

tl_status tl_options_set(tl_options *options, const char *key, const char *value)
{
    char *value_copy = tl_strdup(value);
    if (value_copy == NULL)
        return TL_E_NOMEM;
    size_t i = option_index(options, key);
    if (i < options->count) {
        tl_free(options->values[i]);
        options->values[i] = value_copy;
        return TL_OK;
    }
    char *key_copy = tl_strdup(key);
    if (key_copy == NULL || (options->count == options->cap && grow_options(options) != TL_OK)) {
        tl_free(key_copy);
        tl_free(value_copy);
        return TL_E_NOMEM;
    }
    options->keys[i] = key_copy;
    options->values[i] = value_copy;
    options->count++;
    return TL_OK;
}

bool tl_options_remove(tl_options *options, const char *key)
{
    size_t i = option_index(options, key);
    if (i == options->count)
        return false;
    tl_free(options->keys[i]);
    tl_free(options->values[i]);
    options->count--;
    memmove(options->keys + i, options->keys + i + 1, (options->count - i) * sizeof *options->keys);
    memmove(options->values + i, options->values + i + 1, (options->count - i) * sizeof *options->values);
    return true;
}

tl_status tl_options_dup(const tl_options *from, tl_options *to)
{
    tl_options copy = {NULL, NULL, 0, 0};
    for (size_t i = 0; i < from->count; i++) {
        if (tl_options_set(&copy, from->keys[i], from->values[i]) != TL_OK) {
            tl_options_deinit(&copy);
            return TL_E_NOMEM;
        }
    }
    *to = copy;
    return TL_OK;
}
