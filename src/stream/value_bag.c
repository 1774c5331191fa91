#include "stream/value_bag.h"

#include <stdlib.h>

#include "base/bits.h"

struct tl_bag_entry {
    tl_bag_value *value; /* NULL: free */
    uint64_t hash;
};

static void value_free(tl_bag_value *value)
{
    tl_bytes_deinit(&value->order);
    tl_bytes_deinit(&value->row);
    tl_free(value->arrivals);
    tl_free(value);
}

void tl_value_bag_deinit(tl_value_bag *bag)
{
    for (size_t i = 0; i < bag->cap; i++)
        if (bag->entries[i].value != NULL)
            value_free(bag->entries[i].value);
    tl_free(bag->entries);
    *bag = (tl_value_bag){0};
}

static size_t slot_of(const tl_value_bag *bag, uint64_t hash, tl_bytes_view row)
{
    size_t i = hash & (bag->cap - 1);
    while (bag->entries[i].value != NULL &&
           (bag->entries[i].hash != hash || !tl_bytes_equal(tl_bytes_view_of(bag->entries[i].value->row), row)))
        i = (i + 1) & (bag->cap - 1);
    return i;
}

static tl_status grow(tl_value_bag *bag)
{
    size_t cap = bag->cap == 0 ? 4 : bag->cap * 2;
    struct tl_bag_entry *old = bag->entries, *entries = tl_calloc(cap, sizeof *entries);
    if (entries == NULL)
        return TL_E_NOMEM;
    for (size_t i = 0; i < bag->cap; i++) {
        if (old[i].value == NULL)
            continue;
        size_t k = old[i].hash & (cap - 1);
        while (entries[k].value != NULL)
            k = (k + 1) & (cap - 1);
        entries[k] = old[i];
    }
    tl_free(old);
    bag->entries = entries;
    bag->cap = cap;
    return TL_OK;
}

/* Open addressing without tombstones: entries behind the hole move up. */
static void remove_at(tl_value_bag *bag, size_t i)
{
    value_free(bag->entries[i].value);
    size_t mask = bag->cap - 1, hole = i;
    for (size_t k = (i + 1) & mask; bag->entries[k].value != NULL; k = (k + 1) & mask) {
        size_t home = bag->entries[k].hash & mask;
        if (((k - home) & mask) >= ((k - hole) & mask)) {
            bag->entries[hole] = bag->entries[k];
            hole = k;
        }
    }
    bag->entries[hole].value = NULL;
    bag->n--;
}

static tl_status insert(tl_value_bag *bag, size_t i, uint64_t hash, tl_bytes_view order, tl_bytes_view row)
{
    tl_bag_value *value = tl_calloc(1, sizeof *value);
    if (value == NULL)
        return TL_E_NOMEM;
    if (tl_bytes_dup(order, &value->order) != TL_OK || tl_bytes_dup(row, &value->row) != TL_OK) {
        value_free(value);
        return TL_E_NOMEM;
    }
    if (!bag->ordered) {
        value->arrivals = tl_alloc(sizeof *value->arrivals);
        if (value->arrivals == NULL) {
            value_free(value);
            return TL_E_NOMEM;
        }
        value->arrivals[0] = bag->next_arrival++;
    }
    bag->entries[i] = (struct tl_bag_entry){value, hash};
    bag->n++;
    return TL_OK;
}

/* An ordered bag's arrivals after the count has changed by `delta`. */
static tl_status keep_arrivals(tl_value_bag *bag, tl_bag_value *value, int64_t was)
{
    int64_t had = TL_MAX(was, 0), has = TL_MAX(value->count, 0);
    if (has < had) {
        memmove(value->arrivals, value->arrivals + (had - has), sizeof *value->arrivals * (size_t)has);
        return TL_OK;
    }
    if (has > value->cap) {
        int64_t cap = TL_MAX(value->cap * 2, has);
        int64_t *grown = tl_realloc(value->arrivals, sizeof *grown * (size_t)cap);
        if (grown == NULL)
            return TL_E_NOMEM;
        value->arrivals = grown;
        value->cap = cap;
    }
    for (int64_t i = had; i < has; i++)
        value->arrivals[i] = bag->next_arrival++;
    return TL_OK;
}

static bool is_further(const tl_bag_value *value, const tl_bag_value *than, bool greatest)
{
    int order = tl_bytes_compare(tl_bytes_view_of(value->order), tl_bytes_view_of(than->order));
    return greatest ? order > 0 : order < 0;
}

/* A value has got another count. */
static void note_extremes(tl_value_bag *bag, const tl_bag_value *value)
{
    for (int greatest = 0; greatest < 2; greatest++) {
        const tl_bag_value **known = &bag->extremes[greatest];
        if (value == *known && value->count <= 0)
            *known = NULL;
        else if (*known != NULL && value->count > 0 && is_further(value, *known, greatest))
            *known = value;
    }
}

tl_status tl_value_bag_add(tl_value_bag *bag, tl_bytes_view order, tl_bytes_view row, int64_t delta, int64_t *was, int64_t *now)
{
    if ((bag->n + 1) * 4 > bag->cap * 3)
        TL_TRY(grow(bag));
    uint64_t hash = tl_xxh3(row.data, row.len);
    size_t i = slot_of(bag, hash, row);
    if (bag->entries[i].value == NULL)
        TL_TRY(insert(bag, i, hash, order, row));
    tl_bag_value *value = bag->entries[i].value;
    *was = value->count;
    value->count += delta;
    *now = value->count;
    note_extremes(bag, value);
    if (bag->ordered)
        TL_TRY(keep_arrivals(bag, value, *was));
    if (value->count == 0)
        remove_at(bag, i);
    return TL_OK;
}

static int compare_arrivals(const void *a, const void *b)
{
    const tl_bag_item *x = a, *y = b;
    return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

tl_status tl_value_bag_list(const tl_value_bag *bag, tl_bag_item **out, size_t *n)
{
    size_t total = 0;
    for (size_t i = 0; i < bag->cap; i++)
        if (bag->entries[i].value != NULL && bag->entries[i].value->count > 0)
            total += bag->ordered ? (size_t)bag->entries[i].value->count : 1;
    tl_bag_item *list = tl_alloc(sizeof *list * (total + 1));
    if (list == NULL)
        return TL_E_NOMEM;
    *n = 0;
    for (size_t i = 0; i < bag->cap; i++) {
        const tl_bag_value *value = bag->entries[i].value;
        for (int64_t k = 0; value != NULL && k < (bag->ordered ? value->count : value->count > 0); k++)
            list[(*n)++] = (tl_bag_item){value, value->arrivals[k], bag->ordered ? 1 : value->count};
    }
    qsort(list, *n, sizeof *list, compare_arrivals);
    *out = list;
    return TL_OK;
}

const tl_bag_value *tl_value_bag_extreme(tl_value_bag *bag, bool greatest)
{
    if (bag->extremes[greatest] != NULL)
        return bag->extremes[greatest];
    const tl_bag_value *best = NULL;
    for (size_t i = 0; i < bag->cap; i++) {
        const tl_bag_value *value = bag->entries[i].value;
        if (value != NULL && value->count > 0 && (best == NULL || is_further(value, best, greatest)))
            best = value;
    }
    bag->extremes[greatest] = best;
    return best;
}

const tl_bag_value *tl_value_bag_end(const tl_value_bag *bag, bool last)
{
    const tl_bag_value *best = NULL;
    int64_t arrival = 0;
    for (size_t i = 0; i < bag->cap; i++) {
        const tl_bag_value *value = bag->entries[i].value;
        if (value == NULL || value->count <= 0)
            continue;
        int64_t at = value->arrivals[last && bag->ordered ? value->count - 1 : 0];
        if (best == NULL || (last ? at > arrival : at < arrival)) {
            best = value;
            arrival = at;
        }
    }
    return best;
}
