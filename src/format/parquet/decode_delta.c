/*
 * DELTA_BINARY_PACKED: header {varint values per block, varint miniblocks per block, varint values, zigzag first value}, then
 * blocks {zigzag min delta, one width byte per miniblock, miniblocks}. Value = previous + min delta + unpacked delta,
 * wrapping. Miniblocks behind the last value have a width byte but no bytes.
 */
#include "format/parquet/decode.h"

/* Larger blocks than anybody writes (the default is 128 values) are refused, which keeps the arithmetic small. */
#define BLOCK_VALUES_MAX (UINT64_C(1) << 24)
#define PIECE_VALUES 256

static tl_status corrupt(const char *why, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "DELTA_BINARY_PACKED: %s", why);
}

static bool read_varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    size_t used = tl_varint_decode(*p, end, out);
    *p += used;
    return used != 0;
}

tl_status tl_pq__delta_init(tl_pq_delta *delta, tl_bytes_view bytes, tl_error *err)
{
    uint64_t block, minis, total, first;
    const uint8_t *p = bytes.data, *end = bytes.data + bytes.len;
    if (!read_varint(&p, end, &block) || !read_varint(&p, end, &minis) || !read_varint(&p, end, &total) ||
        !read_varint(&p, end, &first))
        return corrupt("truncated header", err);
    if (block == 0 || block > BLOCK_VALUES_MAX || minis == 0 || minis > block || block % minis != 0 || block / minis % 32 != 0)
        return corrupt("invalid block size", err);
    if (total > INT64_MAX)
        return corrupt("invalid number of values", err);
    *delta = (tl_pq_delta){.p = p,
                           .end = end,
                           .total = total,
                           .mini_values = block / minis,
                           .minis = (uint32_t)minis,
                           .mini = (uint32_t)minis,
                           .last = (uint64_t)tl_unzigzag64(first)};
    return TL_OK;
}

/* Header of the next block. A width of a miniblock that holds no value is never looked at. */
static tl_status next_block(tl_pq_delta *d, tl_error *err)
{
    uint64_t min_delta;
    if (!read_varint(&d->p, d->end, &min_delta) || (size_t)(d->end - d->p) < d->minis)
        return corrupt("truncated block", err);
    d->min_delta = (uint64_t)tl_unzigzag64(min_delta);
    d->widths = d->p;
    d->p += d->minis;
    d->mini = 0;
    return TL_OK;
}

static tl_status next_mini(tl_pq_delta *d, tl_error *err)
{
    if (d->mini == d->minis)
        TL_TRY(next_block(d, err));
    d->width = d->widths[d->mini++];
    if (d->width > 64)
        return corrupt("width above 64 bits", err);
    uint64_t bytes = d->mini_values / 8 * (unsigned)d->width;
    uint64_t bytes_left = (uint64_t)(d->end - d->p);
    uint64_t values = TL_MIN(d->mini_values, d->total - TL_MAX(d->done, 1));
    if (bytes > bytes_left) {
        /* Some writers cut the last miniblock behind its last value. */
        if ((values * (unsigned)d->width + 7) / 8 > bytes_left)
            return corrupt("truncated miniblock", err);
        bytes = bytes_left;
    }
    d->packed = d->p;
    d->p += bytes;
    d->mini_pos = 0;
    d->mini_left = values;
    return TL_OK;
}

static inline void take(tl_pq_delta *d, uint64_t n)
{
    d->mini_pos += n;
    d->mini_left -= n;
    d->done += n;
}

static void prefix_sum(const uint64_t *restrict deltas, uint64_t n, uint64_t min_delta, uint64_t *last, int64_t *restrict out)
{
    uint64_t v = *last;
    for (uint64_t i = 0; i < n; i++) {
        v += min_delta + deltas[i];
        out[i] = (int64_t)v;
    }
    *last = v;
}

tl_status tl_pq__delta_i64(tl_pq_delta *d, int64_t n, int64_t *out, tl_error *err)
{
    uint64_t deltas[PIECE_VALUES];
    if ((uint64_t)n > d->total - d->done)
        return corrupt("fewer values than expected", err);
    uint64_t left = (uint64_t)n;
    if (left > 0 && d->done == 0) {
        *out++ = (int64_t)d->last;
        d->done = 1;
        left--;
    }
    while (left > 0) {
        if (d->mini_left == 0)
            TL_TRY(next_mini(d, err));
        uint64_t k = TL_MIN(TL_MIN(left, d->mini_left), PIECE_VALUES);
        tl_pq__unpack_u64(d->packed, d->width, (int64_t)d->mini_pos, (int64_t)k, deltas);
        prefix_sum(deltas, k, d->min_delta, &d->last, out);
        take(d, k);
        out += k;
        left -= k;
    }
    return TL_OK;
}

/* INT32 wraps at 32 bits, which cutting the 64-bit sums gives as well. */
tl_status tl_pq__delta_i32(tl_pq_delta *d, int64_t n, int32_t *out, tl_error *err)
{
    int64_t piece[PIECE_VALUES];
    while (n > 0) {
        int64_t k = TL_MIN(n, PIECE_VALUES);
        TL_TRY(tl_pq__delta_i64(d, k, piece, err));
        for (int64_t i = 0; i < k; i++)
            out[i] = (int32_t)(uint32_t)piece[i];
        out += k;
        n -= k;
    }
    return TL_OK;
}

tl_status tl_pq__delta_skip(tl_pq_delta *d, int64_t n, tl_error *err)
{
    int64_t piece[PIECE_VALUES];
    for (; n > 0; n -= TL_MIN(n, PIECE_VALUES))
        TL_TRY(tl_pq__delta_i64(d, TL_MIN(n, PIECE_VALUES), piece, err));
    return TL_OK;
}

tl_status tl_pq__delta_end(const tl_pq_delta *delta, const uint8_t **out, tl_error *err)
{
    tl_pq_delta d = *delta;
    d.done = TL_MIN(d.total, 1);
    while (d.done < d.total) {
        TL_TRY(next_mini(&d, err));
        take(&d, d.mini_left);
    }
    *out = d.p;
    return TL_OK;
}
