/*
 * Sorting of normalised keys: the order of rows by (key, row number), and where the key changes.
 *
 * - Sorted or strictly falling input is found in one pass and costs no more.
 * - Fixed keys whose spread leaves room for the row number in 64 bits are sorted as one number each; else as pairs.
 * - Byte keys are sorted by 8 bytes at a time: first by the prefix, then each run of equal prefixes by the 8 bytes after
 *   what its keys have in common. Short runs, and runs nested too deeply, are compared byte by byte.
 */
#include "types/types_private.h"

#define RADIX_DIGIT_MAX 11
#define RADIX_SMALL 24
#define RADIX_CACHED 16384
/* Fewer keys are not worth the clearing and summing up of two tables. */
#define NARROW_MIN 512
/* Runs of equal prefixes up to this length are compared instead of split. */
#define TIE_SMALL 12
#define TIE_LEVEL_MAX 64

typedef struct sort_pair {
    uint64_t key;
    uint32_t row;
} sort_pair;

#define ITEM sort_pair
#define KEY(item) ((item).key)
#define MAKE(key, row, low) ((sort_pair){(key), (uint32_t)(row)})
#define NAME(function) pairs_##function
#include "types/sort_radix.h"
#undef ITEM
#undef KEY
#undef MAKE
#undef NAME

/* Key and row number in one word. */
#define ITEM uint64_t
#define KEY(item) (item)
#define MAKE(key, row, low) ((key) << (low) | (row))
#define NAME(function) packed_##function
#include "types/sort_radix.h"
#undef ITEM
#undef KEY
#undef MAKE
#undef NAME

/* Where the result goes: rows are put in one after the other. */
typedef struct sort_output {
    uint32_t *order;
    uint32_t *starts; /* NULL: groups are not asked for */
    uint32_t n_rows;
    uint32_t n_groups;
} sort_output;

static inline void put_row(sort_output *out, uint32_t row, bool starts_group)
{
    if (out->starts != NULL) {
        out->starts[out->n_groups] = out->n_rows;
        out->n_groups += starts_group;
    }
    out->order[out->n_rows++] = row;
}

typedef struct key_stats {
    bool ascending;  /* not falling */
    bool descending; /* strictly */
    uint64_t min, max;
} key_stats;

/* First row that is below its predecessor, or count. */
static int64_t first_fall(const tl_keys *keys)
{
    const uint64_t *fixed = keys->fixed;
    int64_t i = 1;
    while (i < keys->count &&
           (fixed[i - 1] < fixed[i] || (fixed[i - 1] == fixed[i] && tl_keys_compare(keys, i - 1, keys, i) <= 0)))
        i++;
    return TL_MIN(i, keys->count);
}

static bool falls_everywhere(const tl_keys *keys)
{
    for (int64_t i = 1; i < keys->count; i++)
        if (tl_keys_compare(keys, i - 1, keys, i) <= 0)
            return false;
    return true;
}

static key_stats look_at(const tl_keys *keys)
{
    key_stats stats = {.min = UINT64_MAX, .max = 0};
    stats.ascending = first_fall(keys) == keys->count;
    stats.descending = !stats.ascending && falls_everywhere(keys);
    if (stats.ascending || stats.descending)
        return stats;
    for (int64_t i = 0; i < keys->count; i++) {
        stats.min = TL_MIN(stats.min, keys->fixed[i]);
        stats.max = TL_MAX(stats.max, keys->fixed[i]);
    }
    return stats;
}

static size_t longest_bucket(const uint32_t *ends, int digits)
{
    size_t longest = ends[0];
    for (size_t d = 1; d < (size_t)1 << digits; d++)
        longest = TL_MAX(longest, ends[d] - ends[d - 1]);
    return longest;
}

/* Starts of the buckets out of their counts. */
static void sum_up(uint32_t *counts, int digits)
{
    uint32_t at = 0;
    for (size_t d = 0; d < (size_t)1 << digits; d++) {
        uint32_t count = counts[d];
        counts[d] = at;
        at += count;
    }
}

/*
 * Keys that differ in few bits, as those of a merge's rounds and of most write buffers do: two counting passes from the low
 * end, which do not branch on the keys at all.
 */
static tl_status sort_narrow(const tl_keys *keys, const key_stats *stats, int row_bits, sort_output *out, tl_error *err)
{
    uint32_t low[1 << RADIX_DIGIT_MAX] = {0}, high[1 << RADIX_DIGIT_MAX] = {0};
    size_t n = (size_t)keys->count;
    int width = 64 - __builtin_clzll(stats->max - stats->min), low_digits = width / 2;
    uint64_t low_mask = (UINT64_C(1) << low_digits) - 1, row_mask = (UINT64_C(1) << row_bits) - 1;
    TL_CLEANUP(tl_freep) uint64_t *items = tl_alloc(2 * n * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "sort");
    uint64_t *sorted = items + n;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = keys->fixed[i] - stats->min;
        low[key & low_mask]++;
        high[key >> low_digits]++;
    }
    sum_up(low, low_digits);
    sum_up(high, width - low_digits);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = keys->fixed[i] - stats->min;
        items[low[key & low_mask]++] = key << row_bits | i;
    }
    for (size_t i = 0; i < n; i++)
        sorted[high[items[i] >> (row_bits + low_digits)]++] = items[i];
    for (size_t i = 0; i < n; i++)
        put_row(out, (uint32_t)(sorted[i] & row_mask), i == 0 || sorted[i] >> row_bits != sorted[i - 1] >> row_bits);
    return TL_OK;
}

static tl_status sort_packed(const tl_keys *keys, const key_stats *stats, int row_bits, sort_output *out, tl_error *err)
{
    uint32_t ends[1 << RADIX_DIGIT_MAX];
    int digits;
    size_t n = (size_t)keys->count;
    TL_CLEANUP(tl_freep) uint64_t *items = tl_alloc(n * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "sort");
    packed_first_pass(keys->fixed, n, stats->min, stats->max, row_bits, items, ends, &digits);
    TL_CLEANUP(tl_freep) uint64_t *scratch = tl_alloc(longest_bucket(ends, digits) * sizeof *scratch);
    if (scratch == NULL)
        return tl_nomem(err, "sort");
    uint64_t mask = (UINT64_C(1) << row_bits) - 1;
    for (size_t d = 0, from = 0; d < (size_t)1 << digits; from = ends[d++]) {
        if (from == ends[d])
            continue;
        packed_radix(items + from, scratch, ends[d] - from, row_bits, /* into_tmp= */ false);
        for (size_t i = from; i < ends[d]; i++)
            put_row(out, (uint32_t)(items[i] & mask), i == 0 || items[i] >> row_bits != items[i - 1] >> row_bits);
    }
    return TL_OK;
}

/* Byte keys: items are sorted by 8 bytes of their keys; `scratch` is as long as `items`. */

static int compare_from(const tl_keys *keys, uint32_t a, uint32_t b, size_t depth)
{
    tl_bytes_view x = tl_keys_bytes(keys, a), y = tl_keys_bytes(keys, b);
    size_t skip = TL_MIN(depth, TL_MIN(x.len, y.len));
    return tl_bytes_compare((tl_bytes_view){x.data + skip, x.len - skip}, (tl_bytes_view){y.data + skip, y.len - skip});
}

/* Bytes from `depth` on that all keys have in common; none of them ends before it. */
static size_t common_bytes(const tl_keys *keys, const sort_pair *items, size_t n, size_t depth)
{
    tl_bytes_view first = tl_keys_bytes(keys, items[0].row);
    size_t common = first.len - depth;
    for (size_t i = 1; i < n && common > 0; i++) {
        tl_bytes_view key = tl_keys_bytes(keys, items[i].row);
        size_t len = 0, most = TL_MIN(common, key.len - depth);
        for (; len < most; len += 8) {
            uint64_t differ = tl_read_le64(key.data + depth + len) ^ tl_read_le64(first.data + depth + len);
            if (differ != 0) {
                len += (size_t)__builtin_ctzll(differ) / 8;
                break;
            }
        }
        common = TL_MIN(len, most);
    }
    return common;
}

static size_t shortest(const tl_keys *keys, const sort_pair *items, size_t n)
{
    size_t len = tl_keys_bytes(keys, items[0].row).len;
    for (size_t i = 1; i < n; i++)
        len = TL_MIN(len, tl_keys_bytes(keys, items[i].row).len);
    return len;
}

/*
 * All keys agree in their first `depth` bytes, missing ones taken as zero; those that end in the last 8 of them are still to be told
 * apart. Sorted by the 8 bytes behind what they have in common, which are loaded once; the keys are compared where those are alike.
 */
static void compare_small(const tl_keys *keys, sort_pair *items, size_t n, size_t depth)
{
    size_t from = depth;
    if (shortest(keys, items, n) >= depth)
        from += common_bytes(keys, items, n, depth);
    for (size_t i = 0; i < n; i++) {
        sort_pair item = {tl_keys__load8(keys, items[i].row, from), items[i].row};
        size_t at = i;
        for (; at > 0; at--) {
            const sort_pair *before = &items[at - 1];
            if (before->key < item.key || (before->key == item.key && compare_from(keys, before->row, item.row, depth - 8) <= 0))
                break;
            items[at] = *before;
        }
        items[at] = item;
    }
}

static void merge_halves(const tl_keys *keys, const sort_pair *in, size_t half, size_t n, size_t depth, sort_pair *out)
{
    size_t a = 0, b = half;
    for (size_t i = 0; i < n; i++)
        out[i] = b == n || (a < half && compare_from(keys, in[a].row, in[b].row, depth - 8) <= 0) ? in[a++] : in[b++];
}

/* Bottom-up merge sort: for keys made to defeat the splitting. */
static void compare_many(const tl_keys *keys, sort_pair *items, sort_pair *scratch, size_t n, size_t depth)
{
    sort_pair *in = items, *out = scratch;
    for (size_t from = 0; from < n; from += TIE_SMALL)
        compare_small(keys, items + from, TL_MIN(TIE_SMALL, n - from), depth);
    for (size_t width = TIE_SMALL; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t len = TL_MIN(2 * width, n - from);
            merge_halves(keys, in + from, TL_MIN(width, len), len, depth, out + from);
        }
        sort_pair *swap = in;
        in = out;
        out = swap;
    }
    for (size_t i = 0; i < n; i++) /* loaded at different depths, their numbers say nothing */
        items[i] = (sort_pair){0, in[i].row};
}

/* Keys that end within the last 8 bytes before `depth` come first, the shorter before the longer. Returns how many end. */
static size_t ended_first(const tl_keys *keys, sort_pair *items, sort_pair *scratch, size_t n, size_t depth)
{
    size_t counts[10] = {0}; /* by length - (depth - 8), 9: goes on */
    for (size_t i = 0; i < n; i++)
        counts[TL_MIN(tl_keys_bytes(keys, items[i].row).len - (depth - 8), 9)]++;
    size_t ended = n - counts[9], at = 0;
    if (ended == 0 || counts[8] == n)
        return ended;
    for (int k = 0; k < 10; k++) {
        size_t count = counts[k];
        counts[k] = at;
        at += count;
    }
    for (size_t i = 0; i < n; i++)
        scratch[counts[TL_MIN(tl_keys_bytes(keys, items[i].row).len - (depth - 8), 9)]++] = items[i];
    memcpy(items, scratch, n * sizeof *items);
    return ended;
}

static void split_ties(const tl_keys *keys, sort_pair *items, sort_pair *scratch, size_t n, size_t depth, int level);

/* All keys agree in their first `depth` bytes, missing ones taken as zero. */
static void break_tie(const tl_keys *keys, sort_pair *items, sort_pair *scratch, size_t n, size_t depth, int level)
{
    if (n <= TIE_SMALL) {
        compare_small(keys, items, n, depth);
        return;
    }
    if (level > TIE_LEVEL_MAX) {
        compare_many(keys, items, scratch, n, depth);
        return;
    }
    size_t ended = ended_first(keys, items, scratch, n, depth);
    items += ended;
    scratch += ended;
    n -= ended;
    if (n < 2)
        return;
    depth += common_bytes(keys, items, n, depth);
    for (size_t i = 0; i < n; i++)
        items[i].key = tl_keys__load8(keys, items[i].row, depth);
    pairs_radix(items, scratch, n, 0, /* into_tmp= */ false);
    split_ties(keys, items, scratch, n, depth + 8, level + 1);
}

static void split_ties(const tl_keys *keys, sort_pair *items, sort_pair *scratch, size_t n, size_t depth, int level)
{
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && items[to].key == items[from].key; to++)
            continue;
        if (to - from > 1)
            break_tie(keys, items + from, scratch + from, to - from, depth, level);
    }
}

/*
 * One bucket; equal keys are all in it. Equal byte keys have been loaded at the same depths, so that the numbers in their
 * items are equal too; but so may those of different ones be.
 */
static void put_pairs(const tl_keys *keys, const sort_pair *items, size_t n, sort_output *out)
{
    for (size_t i = 0; i < n; i++) {
        bool starts = i == 0 || items[i].key != items[i - 1].key;
        if (!starts && !keys->is_fixed && out->starts != NULL)
            starts = tl_keys_compare(keys, items[i - 1].row, keys, items[i].row) != 0;
        put_row(out, items[i].row, starts);
    }
}

static tl_status sort_pairs(const tl_keys *keys, const key_stats *stats, sort_output *out, tl_error *err)
{
    uint32_t ends[1 << RADIX_DIGIT_MAX];
    int digits;
    size_t n = (size_t)keys->count;
    TL_CLEANUP(tl_freep) sort_pair *items = tl_alloc(n * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "sort");
    pairs_first_pass(keys->fixed, n, stats->min, stats->max, 0, items, ends, &digits);
    TL_CLEANUP(tl_freep) sort_pair *scratch = tl_alloc(longest_bucket(ends, digits) * sizeof *scratch);
    if (scratch == NULL)
        return tl_nomem(err, "sort");
    for (size_t d = 0, from = 0; d < (size_t)1 << digits; from = ends[d++]) {
        if (from == ends[d])
            continue;
        pairs_radix(items + from, scratch, ends[d] - from, 0, /* into_tmp= */ false);
        if (!keys->is_fixed)
            split_ties(keys, items + from, scratch, ends[d] - from, 8, 0);
        put_pairs(keys, items + from, ends[d] - from, out);
    }
    return TL_OK;
}

static void put_sorted(const tl_keys *keys, bool ascending, sort_output *out)
{
    uint32_t n = (uint32_t)keys->count;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = ascending ? i : n - 1 - i;
        /* Descending input is strictly so. */
        bool starts = !ascending || i == 0 || out->starts == NULL || tl_keys_compare(keys, i - 1, keys, i) != 0;
        put_row(out, row, starts);
    }
}

static tl_status sort_into(const tl_keys *keys, sort_output *out, tl_error *err)
{
    if (keys->count > UINT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "cannot sort more than 4294967295 rows at once");
    key_stats stats = look_at(keys);
    if (stats.ascending || stats.descending) {
        put_sorted(keys, stats.ascending, out);
        return TL_OK;
    }
    int row_bits = 64 - __builtin_clzll((uint64_t)keys->count);
    if (keys->is_fixed && keys->count >= NARROW_MIN && (stats.max - stats.min) >> 2 * RADIX_DIGIT_MAX == 0)
        return sort_narrow(keys, &stats, row_bits, out, err);
    if (keys->is_fixed && (stats.max - stats.min) >> (64 - row_bits) == 0)
        return sort_packed(keys, &stats, row_bits, out, err);
    return sort_pairs(keys, &stats, out, err);
}

tl_status tl_keys_sort(const tl_keys *keys, uint32_t *order, tl_error *err)
{
    sort_output out = {.order = order};
    return sort_into(keys, &out, err);
}

tl_status tl_keys_sort_groups(const tl_keys *keys, uint32_t *order, uint32_t *starts, uint32_t *n_groups, tl_error *err)
{
    sort_output out = {.order = order, .starts = starts};
    TL_TRY(sort_into(keys, &out, err));
    starts[out.n_groups] = out.n_rows;
    *n_groups = out.n_groups;
    return TL_OK;
}
