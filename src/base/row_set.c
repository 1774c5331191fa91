#include "base/row_set.h"

void tl_row_ranges_deinit(tl_row_ranges *ranges)
{
    tl_free(ranges->items);
    *ranges = (tl_row_ranges){NULL, 0};
}

size_t tl_row_ranges_find(const tl_row_ranges *ranges, size_t start, int64_t row)
{
    while (start < ranges->n && ranges->items[start].to <= row)
        start++;
    return start;
}

bool tl_row_ranges_meet(const tl_row_ranges *ranges, size_t *at, int64_t from, int64_t to)
{
    *at = tl_row_ranges_find(ranges, *at, from);
    return *at < ranges->n && ranges->items[*at].from < to;
}

tl_status tl_row_ranges_add(tl_row_ranges *ranges, size_t *cap, int64_t from, int64_t to, tl_error *err)
{
    if (from >= to)
        return TL_OK;
    if (ranges->n > 0 && from <= ranges->items[ranges->n - 1].to) {
        ranges->items[ranges->n - 1].to = TL_MAX(ranges->items[ranges->n - 1].to, to);
        return TL_OK;
    }
    if (ranges->n == *cap) {
        size_t grown = TL_MAX(*cap * 2, (size_t)8);
        tl_row_range *items = tl_realloc(ranges->items, grown * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "row ranges");
        ranges->items = items;
        *cap = grown;
    }
    ranges->items[ranges->n++] = (tl_row_range){from, to};
    return TL_OK;
}

tl_status tl_row_ranges_and(const tl_row_ranges *a, const tl_row_ranges *b, tl_row_ranges *out, tl_error *err)
{
    size_t cap = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        tl_row_range x = a->items[i], y = b->items[j];
        TL_TRY(tl_row_ranges_add(out, &cap, TL_MAX(x.from, y.from), TL_MIN(x.to, y.to), err));
        if (x.to < y.to)
            i++;
        else
            j++;
    }
    return TL_OK;
}

static size_t n_words(const tl_row_set *set)
{
    return (size_t)(set->n_rows / 64 + (set->n_rows % 64 != 0));
}

/* Bits behind the last row stay 0, so that counts and complements need not look at them. */
static void trim(tl_row_set *set)
{
    if (set->n_rows % 64 != 0)
        set->words[set->n_rows / 64] &= UINT64_MAX >> (64 - set->n_rows % 64);
}

tl_status tl_row_set_init(tl_row_set *set, int64_t n_rows, bool all, tl_error *err)
{
    *set = (tl_row_set){n_rows, NULL};
    set->words = tl_calloc(n_words(set) + 1, sizeof *set->words);
    if (set->words == NULL)
        return tl_nomem(err, "rows of a file");
    if (all)
        tl_row_set_not(set);
    return TL_OK;
}

void tl_row_set_deinit(tl_row_set *set)
{
    tl_free(set->words);
    *set = (tl_row_set){0, NULL};
}

void tl_row_set_and(tl_row_set *set, const tl_row_set *other)
{
    for (size_t i = 0; i < n_words(set); i++)
        set->words[i] &= other->words[i];
}

void tl_row_set_or(tl_row_set *set, const tl_row_set *other)
{
    for (size_t i = 0; i < n_words(set); i++)
        set->words[i] |= other->words[i];
}

void tl_row_set_and_not(tl_row_set *set, const tl_row_set *other)
{
    for (size_t i = 0; i < n_words(set); i++)
        set->words[i] &= ~other->words[i];
}

void tl_row_set_not(tl_row_set *set)
{
    for (size_t i = 0; i < n_words(set); i++)
        set->words[i] = ~set->words[i];
    trim(set);
}

void tl_row_set_copy(tl_row_set *set, const tl_row_set *from)
{
    memcpy(set->words, from->words, n_words(set) * sizeof *set->words);
}

void tl_row_set_clear(tl_row_set *set)
{
    memset(set->words, 0, n_words(set) * sizeof *set->words);
}

void tl_row_set_add(tl_row_set *set, int64_t row)
{
    set->words[row / 64] |= UINT64_C(1) << (row % 64);
}

int64_t tl_row_set_count(const tl_row_set *set)
{
    int64_t count = 0;
    for (size_t i = 0; i < n_words(set); i++)
        count += __builtin_popcountll(set->words[i]);
    return count;
}

/* [from, to) */
static void add_range(tl_row_set *set, int64_t from, int64_t to)
{
    uint64_t first = UINT64_MAX << (from % 64), last = UINT64_MAX >> (63 - (to - 1) % 64);
    int64_t a = from / 64, b = (to - 1) / 64;
    if (a == b) {
        set->words[a] |= first & last;
        return;
    }
    set->words[a] |= first;
    for (int64_t i = a + 1; i < b; i++)
        set->words[i] = UINT64_MAX;
    set->words[b] |= last;
}

tl_status tl_row_set_add_roaring(tl_row_set *set, const tl_roaring32 *bitmap, tl_error *err)
{
    for (uint32_t i = 0; i < bitmap->n; i++) {
        int64_t base = (int64_t)bitmap->keys[i] << 16;
        tl_roaring_ranges it = {&bitmap->boxes[i], 0};
        for (uint32_t from, to, next = 0; tl_roaring_next_range(&it, next, &from, &to); next = to + 1) {
            if (base + to >= set->n_rows)
                return tl_error_set(err, TL_E_CORRUPT, "bitmap with row %lld of a file of %lld rows", (long long)(base + to),
                                    (long long)set->n_rows);
            add_range(set, base + from, base + to + 1);
        }
    }
    return TL_OK;
}

/* The first row from `row` on that is in the set (or not in it); n_rows if there is none. */
static int64_t next_row(const tl_row_set *set, int64_t row, bool in_set)
{
    while (row < set->n_rows) {
        uint64_t word = (in_set ? set->words[row / 64] : ~set->words[row / 64]) & UINT64_MAX << (row % 64);
        if (word != 0)
            return TL_MIN(row / 64 * 64 + __builtin_ctzll(word), set->n_rows);
        row = (row / 64 + 1) * 64;
    }
    return set->n_rows;
}

tl_status tl_row_set_ranges(const tl_row_set *set, int64_t gap, tl_row_ranges *out, tl_error *err)
{
    size_t cap = 0;
    tl_row_ranges ranges = {NULL, 0};
    for (int64_t from = next_row(set, 0, true); from < set->n_rows;) {
        int64_t to = next_row(set, from, false), next = next_row(set, to, true);
        while (next < set->n_rows && next - to <= gap) {
            to = next_row(set, next, false);
            next = next_row(set, to, true);
        }
        tl_status status = tl_row_ranges_add(&ranges, &cap, from, to, err);
        if (status != TL_OK) {
            tl_row_ranges_deinit(&ranges);
            return status;
        }
        from = next;
    }
    *out = ranges;
    return TL_OK;
}
