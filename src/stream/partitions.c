#include "stream/partitions.h"

#include "stream/array.h"

void *tl_partition_at(tl_map *partitions, tl_bytes_view key, size_t size)
{
    void *state = tl_map_get(partitions, key.data, key.len);
    if (state != NULL)
        return state;
    state = tl_calloc(1, size);
    if (state != NULL && tl_map_put(partitions, key.data, key.len, state, NULL) != TL_OK) {
        tl_free(state);
        return NULL;
    }
    return state;
}

/* The map is made anew: taking entries out one by one would leave its table as large as it was. */
tl_status tl_partitions_forget(tl_map *partitions, bool (*is_empty)(const void *state), void (*free_state)(void *state))
{
    tl_map kept = {0};
    size_t pos = 0;
    tl_bytes_view key;
    void *state;
    while (tl_map_next(partitions, &pos, &key, &state))
        if (!is_empty(state) && tl_map_put(&kept, key.data, key.len, state, NULL) != TL_OK) {
            tl_map_deinit(&kept);
            return TL_E_NOMEM;
        }
    pos = 0;
    while (tl_map_next(partitions, &pos, NULL, &state))
        if (is_empty(state))
            free_state(state);
    tl_map_deinit(partitions);
    *partitions = kept;
    return TL_OK;
}

void tl_partitions_deinit(tl_map *partitions, void (*free_state)(void *state))
{
    size_t pos = 0;
    void *state;
    while (tl_map_next(partitions, &pos, NULL, &state))
        free_state(state);
    tl_map_deinit(partitions);
}

tl_status tl_partition_list_add(tl_partition_list *list, tl_bytes_view key, void *state)
{
    TL_TRY(tl_array_fit(&list->states, sizeof *list->states, list->n, &list->cap, 8));
    TL_TRY(tl_map_put(&list->map, key.data, key.len, state, NULL));
    list->states[list->n++] = state;
    return TL_OK;
}

void *tl_partition_list_at(tl_partition_list *list, tl_bytes_view key, size_t size)
{
    void *state = tl_map_get(&list->map, key.data, key.len);
    if (state != NULL)
        return state;
    state = tl_calloc(1, size);
    if (state != NULL && tl_partition_list_add(list, key, state) != TL_OK) {
        tl_free(state);
        return NULL;
    }
    return state;
}

void tl_partition_list_deinit(tl_partition_list *list)
{
    tl_map_deinit(&list->map);
    tl_free(list->states);
    *list = (tl_partition_list){0};
}
