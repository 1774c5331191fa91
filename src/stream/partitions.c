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

/* Which states go, and what is done with them. */
typedef struct leavers {
    bool (*is_empty)(const void *state);
    void (*free_empty)(void *state);
    int64_t before_ms; /* without is_empty */
    void (*free_old)(void *ctx, void *state);
    void *ctx;
} leavers;

static bool goes(const leavers *l, const void *state)
{
    return l->is_empty != NULL ? l->is_empty(state) : ((const tl_aging *)state)->written_ms < l->before_ms;
}

/* The map is made anew: taking entries out one by one would leave its table as large as it was. */
static tl_status drop(tl_map *partitions, const leavers *l)
{
    tl_map kept = {0};
    size_t pos = 0;
    tl_bytes_view key;
    void *state;
    bool any = false;
    while (!any && tl_map_next(partitions, &pos, NULL, &state))
        any = goes(l, state);
    for (pos = 0; any && tl_map_next(partitions, &pos, &key, &state);)
        if (!goes(l, state) && tl_map_put(&kept, key.data, key.len, state, NULL) != TL_OK) {
            tl_map_deinit(&kept);
            return TL_E_NOMEM;
        }
    if (!any)
        return TL_OK;
    for (pos = 0; tl_map_next(partitions, &pos, NULL, &state);)
        if (goes(l, state) && l->is_empty != NULL)
            l->free_empty(state);
        else if (goes(l, state))
            l->free_old(l->ctx, state);
    tl_map_deinit(partitions);
    *partitions = kept;
    return TL_OK;
}

tl_status tl_partitions_forget(tl_map *partitions, bool (*is_empty)(const void *state), void (*free_state)(void *state))
{
    return drop(partitions, &(leavers){.is_empty = is_empty, .free_empty = free_state});
}

tl_status tl_partitions_expire(tl_map *partitions, int64_t before_ms, void (*free_state)(void *ctx, void *state), void *ctx)
{
    return drop(partitions, &(leavers){.before_ms = before_ms, .free_old = free_state, .ctx = ctx});
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
