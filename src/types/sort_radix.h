/*
 * Radix sort of an array of items by a 64-bit key, stable; a template, included by sort.c once for each form of item.
 * Before: #define ITEM (type), KEY(item) (its number), MAKE(key, row, low) (an item), NAME(function) (a name for this form).
 *
 * Only bits that differ are looked at. While many differ, one pass on the highest of them splits the items into buckets
 * that fit the cache (MSD); when few are left, or few items, passes from the low end (LSD) or an insertion sort finish.
 * For 5 million random 64-bit keys that is two passes through memory in place of the eight of a plain LSD sort.
 */

/* Items move between `src` and `tmp`; the result ends in tmp if `into_tmp`, else in src. */

static void NAME(insertion)(ITEM *src, ITEM *tmp, size_t n, bool into_tmp)
{
    ITEM *out = into_tmp ? tmp : src;
    for (size_t i = 0; i < n; i++) {
        ITEM item = src[i];
        size_t at = i;
        for (; at > 0 && KEY(out[at - 1]) > KEY(item); at--)
            out[at] = out[at - 1];
        out[at] = item;
    }
}

static inline uint64_t NAME(differing_bits)(const ITEM *items, size_t n)
{
    uint64_t first = KEY(items[0]), bits = 0;
    for (size_t i = 1; i < n; i++)
        bits |= KEY(items[i]) ^ first;
    return bits;
}

/* One stable counting pass on `digits` bits at `shift`; ends[d] becomes the end of digit d's items in `out`. */
static void NAME(scatter)(const ITEM *in, ITEM *out, size_t n, int shift, int digits, uint32_t *ends)
{
    uint64_t mask = (UINT64_C(1) << digits) - 1;
    memset(ends, 0, sizeof *ends << digits);
    for (size_t i = 0; i < n; i++)
        ends[KEY(in[i]) >> shift & mask]++;
    uint32_t at = 0;
    for (uint64_t d = 0; d <= mask; d++) {
        uint32_t count = ends[d];
        ends[d] = at;
        at += count;
    }
    for (size_t i = 0; i < n; i++)
        out[ends[KEY(in[i]) >> shift & mask]++] = in[i];
}

static void NAME(lsd)(ITEM *src, ITEM *tmp, size_t n, int low, int high, bool into_tmp)
{
    uint32_t ends[1 << RADIX_DIGIT_MAX];
    int passes = (high - low + RADIX_DIGIT_MAX) / RADIX_DIGIT_MAX, digits = (high - low + passes) / passes;
    for (int shift = low; shift <= high; shift += digits) {
        NAME(scatter)(src, tmp, n, shift, TL_MIN(digits, high + 1 - shift), ends);
        ITEM *swap = src;
        src = tmp;
        tmp = swap;
        into_tmp = !into_tmp;
    }
    if (into_tmp)
        memcpy(tmp, src, n * sizeof *src);
}

/* `low` is the lowest bit that counts. */
static void NAME(radix)(ITEM *src, ITEM *tmp, size_t n, int low, bool into_tmp)
{
    if (n <= RADIX_SMALL) {
        NAME(insertion)(src, tmp, n, into_tmp);
        return;
    }
    uint64_t bits = NAME(differing_bits)(src, n) >> low << low;
    if (bits == 0) {
        if (into_tmp)
            memcpy(tmp, src, n * sizeof *src);
        return;
    }
    int high = 63 - __builtin_clzll(bits), lowest = __builtin_ctzll(bits), width = high - lowest + 1;
    int log_n = 63 - __builtin_clzll(n);
    if (width <= RADIX_DIGIT_MAX || (width <= 2 * RADIX_DIGIT_MAX && log_n >= RADIX_DIGIT_MAX && n <= RADIX_CACHED)) {
        NAME(lsd)(src, tmp, n, lowest, high, into_tmp);
        return;
    }
    /* Split so that a bucket of evenly spread keys gets a handful of items, or as many as fit the cache. */
    uint32_t ends[1 << RADIX_DIGIT_MAX];
    int digits = TL_MAX(4, TL_MIN(log_n - 2, RADIX_DIGIT_MAX));
    digits = TL_MIN(digits, width);
    NAME(scatter)(src, tmp, n, high + 1 - digits, digits, ends);
    size_t from = 0;
    for (size_t d = 0; d < (size_t)1 << digits; d++) {
        size_t count = ends[d] - from;
        if (count != 0)
            NAME(radix)(tmp + from, src + from, count, low, !into_tmp);
        from = ends[d];
    }
}

/*
 * First pass, out of the keys themselves: n items into `out`, split by the highest bits of key - min into 2^*digits
 * buckets; bucket d ends at ends[d].
 */
static void NAME(first_pass)(const uint64_t *keys, size_t n, uint64_t min, uint64_t max, int low, ITEM *out, uint32_t *ends,
                             int *digits)
{
    int width = max == min ? 1 : 64 - __builtin_clzll(max - min), log_n = 63 - __builtin_clzll(n);
    *digits = TL_MIN(width, TL_MAX(1, TL_MIN(log_n - 2, RADIX_DIGIT_MAX)));
    int shift = width - *digits;
    (void)low; /* unused by one form */
    memset(ends, 0, sizeof *ends << *digits);
    for (size_t i = 0; i < n; i++)
        ends[(keys[i] - min) >> shift]++;
    uint32_t at = 0;
    for (size_t d = 0; d < (size_t)1 << *digits; d++) {
        uint32_t count = ends[d];
        ends[d] = at;
        at += count;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t key = keys[i] - min;
        out[ends[key >> shift]++] = MAKE(key, i, low);
    }
}
