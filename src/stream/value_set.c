#include "stream/value_set.h"

#include "base/bits.h"

/* Before each value's bytes in the arena. */
typedef struct head {
    uint64_t hash;
    uint64_t len;
} head;

void tl_value_set_deinit(tl_value_set *set)
{
    tl_free(set->slots);
    tl_free(set->counts);
    tl_buf_deinit(&set->bytes);
    *set = (tl_value_set){0};
}

static head head_of(const tl_value_set *set, uint64_t slot)
{
    head h;
    memcpy(&h, set->bytes.data + (slot - 1), sizeof h);
    return h;
}

/* Numbers are spread by two multiplications (splitmix64), so that runs of them make no clusters. */
static uint64_t hash_of(const tl_value_set *set, uint64_t slot, bool number)
{
    if (!number)
        return head_of(set, slot).hash;
    uint64_t h = slot + UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
    return h ^ (h >> 31);
}

static void put(tl_value_set *set, uint64_t slot, int64_t count, uint64_t hash)
{
    size_t i = hash & (set->cap - 1);
    while (set->slots[i] != 0)
        i = (i + 1) & (set->cap - 1);
    set->slots[i] = slot;
    if (set->counts != NULL)
        set->counts[i] = count;
}

/* Copies the values that are still there into a fresh arena. The slots are rebuilt right afterwards. */
static tl_status compact(tl_value_set *set)
{
    tl_buf fresh = {0};
    TL_TRY(tl_buf_reserve(&fresh, set->bytes.len - set->dead));
    for (size_t i = 0; i < set->cap; i++) {
        if (set->slots[i] == 0)
            continue;
        head h = head_of(set, set->slots[i]);
        const uint8_t *from = set->bytes.data + (set->slots[i] - 1);
        set->slots[i] = fresh.len + 1;
        memcpy(fresh.data + fresh.len, from, sizeof h + h.len); /* reserved */
        fresh.len += sizeof h + h.len;
    }
    tl_buf_deinit(&set->bytes);
    set->bytes = fresh;
    set->dead = 0;
    return TL_OK;
}

/* Room for one more, at a load of three quarters at most. */
static tl_status make_room(tl_value_set *set, bool number, bool counted)
{
    if (set->dead > 4096 && set->dead > set->bytes.len / 2)
        TL_TRY(compact(set));
    if ((set->n + 1) * 4 <= set->cap * 3)
        return TL_OK;
    tl_value_set old = *set;
    size_t cap = old.cap == 0 ? 4 : old.cap * 2;
    uint64_t *slots = tl_calloc(cap, sizeof *slots);
    int64_t *counts = counted ? tl_alloc(cap * sizeof *counts) : NULL;
    if (slots == NULL || (counted && counts == NULL)) {
        tl_free(slots);
        tl_free(counts);
        return TL_E_NOMEM;
    }
    set->slots = slots;
    set->counts = counts;
    set->cap = cap;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i] != 0)
            put(set, old.slots[i], counted ? old.counts[i] : 1, hash_of(set, old.slots[i], number));
    tl_free(old.slots);
    tl_free(old.counts);
    return TL_OK;
}

/* Open addressing without tombstones: slots behind the hole move up. */
static void remove_at(tl_value_set *set, size_t i, bool number)
{
    size_t mask = set->cap - 1, hole = i;
    for (size_t k = (i + 1) & mask; set->slots[k] != 0; k = (k + 1) & mask) {
        size_t home = hash_of(set, set->slots[k], number) & mask;
        if (((k - home) & mask) >= ((k - hole) & mask)) {
            set->slots[hole] = set->slots[k];
            set->counts[hole] = set->counts[k];
            hole = k;
        }
    }
    set->slots[hole] = 0;
    set->n--;
}

static void change(int64_t *count, int64_t delta, bool *was, bool *now)
{
    *was = *count > 0;
    *count += delta;
    *now = *count > 0;
}

tl_status tl_value_set_add_number(tl_value_set *set, uint64_t number, int64_t delta, bool counted, bool *was, bool *now)
{
    if (number == 0) {
        change(&set->zero, delta, was, now);
        return TL_OK;
    }
    TL_TRY(make_room(set, true, counted));
    size_t mask = set->cap - 1, i = hash_of(set, number, true) & mask;
    while (set->slots[i] != 0 && set->slots[i] != number)
        i = (i + 1) & mask;
    bool is_new = set->slots[i] == 0;
    if (is_new) {
        set->slots[i] = number;
        set->n++;
        if (counted)
            set->counts[i] = 0;
    }
    *was = !is_new;
    *now = true;
    if (!counted)
        return TL_OK;
    change(&set->counts[i], delta, was, now);
    if (set->counts[i] == 0)
        remove_at(set, i, true);
    return TL_OK;
}

tl_status tl_value_set_add_bytes(tl_value_set *set, tl_bytes_view value, int64_t delta, bool counted, bool *was, bool *now)
{
    TL_TRY(make_room(set, false, counted));
    head h = {tl_xxh3(value.data, value.len), value.len};
    size_t mask = set->cap - 1, i = h.hash & mask;
    for (; set->slots[i] != 0; i = (i + 1) & mask) {
        head there = head_of(set, set->slots[i]);
        if (there.hash == h.hash && there.len == h.len && memcmp(set->bytes.data + (set->slots[i] - 1) + sizeof there, value.data, value.len) == 0)
            break;
    }
    bool is_new = set->slots[i] == 0;
    if (is_new) {
        TL_TRY(tl_buf_reserve(&set->bytes, sizeof h + value.len));
        set->slots[i] = set->bytes.len + 1;
        set->n++;
        if (counted)
            set->counts[i] = 0;
        memcpy(set->bytes.data + set->bytes.len, &h, sizeof h);
        if (value.len > 0)
            memcpy(set->bytes.data + set->bytes.len + sizeof h, value.data, value.len);
        set->bytes.len += sizeof h + value.len;
    }
    *was = !is_new;
    *now = true;
    if (!counted)
        return TL_OK;
    change(&set->counts[i], delta, was, now);
    if (set->counts[i] == 0) {
        set->dead += sizeof h + value.len;
        remove_at(set, i, false);
    }
    return TL_OK;
}
