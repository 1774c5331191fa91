/*
 * RLE / bit-packing hybrid: runs {varint count << 1, value in ceil(width / 8) bytes} and groups
 * {varint groups << 1 | 1, groups * 8 values of `width` bits, LSB first}.
 *
 * Whole runs are handled at once: a run is a fill, a group one unpacking call.
 */
#include "format/parquet/decode.h"

void tl_pq__rle_init(tl_pq_rle *rle, tl_bytes_view bytes, int width)
{
    *rle = (tl_pq_rle){.p = bytes.data, .end = bytes.data + bytes.len, .width = width};
}

/* Next run or group with at least one value. A group cut short by the end of the page counts as far as it goes. */
static bool next_run(tl_pq_rle *rle)
{
    while (rle->left == 0) {
        uint64_t head;
        size_t used = tl_varint_decode(rle->p, rle->end, &head);
        if (used == 0)
            return false;
        rle->p += used;
        size_t bytes_left = (size_t)(rle->end - rle->p);
        rle->is_packed = head & 1;
        uint64_t count = head >> 1;
        if (rle->is_packed) {
            /* Values of no bits take no bytes: as many as are asked for, up to what can be counted. */
            uint64_t groups_max = rle->width == 0 ? (uint64_t)INT64_MAX / 8 : bytes_left / (unsigned)rle->width;
            rle->packed = rle->p;
            rle->packed_from = 0;
            if (rle->width == 0 || count <= groups_max) {
                count = TL_MIN(count, groups_max);
                rle->left = (int64_t)count * 8;
                rle->p += count * (unsigned)rle->width;
            } else {
                rle->left = (int64_t)(bytes_left * 8 / (unsigned)rle->width);
                rle->p = rle->end;
                if (rle->left == 0)
                    return false;
            }
            continue;
        }
        size_t value_bytes = ((size_t)rle->width + 7) / 8;
        if (bytes_left < value_bytes)
            return false;
        rle->value = 0;
        memcpy(&rle->value, rle->p, value_bytes);
        rle->p += value_bytes;
        if (rle->width < 32 && rle->value >> rle->width != 0)
            return false; /* callers rely on values of `width` bits */
        rle->left = (int64_t)count;
    }
    return true;
}

/* Take up to n values from the current run; the caller has used rle->packed_from and rle->value before. */
static inline void take(tl_pq_rle *rle, int64_t n)
{
    rle->left -= n;
    rle->packed_from += n;
}

static void fill_u32(uint32_t *out, int64_t n, uint32_t value)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}

bool tl_pq__rle_u32(tl_pq_rle *rle, int64_t n, uint32_t *out)
{
    while (n > 0) {
        if (rle->left == 0 && !next_run(rle))
            return false;
        int64_t k = TL_MIN(n, rle->left);
        if (rle->is_packed)
            tl_pq__unpack_u32(rle->packed, rle->width, rle->packed_from, k, out);
        else
            fill_u32(out, k, rle->value);
        take(rle, k);
        out += k;
        n -= k;
    }
    return true;
}

bool tl_pq__rle_u8(tl_pq_rle *rle, int64_t n, uint8_t *out)
{
    while (n > 0) {
        if (rle->left == 0 && !next_run(rle))
            return false;
        int64_t k = TL_MIN(n, rle->left);
        if (rle->is_packed)
            tl_pq__unpack_u8(rle->packed, rle->width, rle->packed_from, k, out);
        else
            memset(out, (int)rle->value, (size_t)k);
        take(rle, k);
        out += k;
        n -= k;
    }
    return true;
}

/* Up to 56 bits from any bit position: with the offset inside a byte they fit into one word. */
#define BITS_STEP 56
static inline uint64_t bits_at(const uint8_t *bits, int64_t from, int64_t n)
{
    return (tl_read_le64(bits + from / 8) >> (from % 8)) & ((UINT64_C(1) << n) - 1);
}

/* `dst` is zero from bit `at` on, and has 8 bytes of room behind the last bit. Returns the ones. */
static int64_t or_bits(uint8_t *dst, int64_t at, const uint8_t *src, int64_t from, int64_t n)
{
    int64_t ones = 0;
    for (int64_t k; n > 0; n -= k, at += k, from += k) {
        k = TL_MIN(n, BITS_STEP);
        uint64_t v = bits_at(src, from, k);
        ones += __builtin_popcountll(v);
        tl_write_le64(dst + at / 8, tl_read_le64(dst + at / 8) | v << (at % 8));
    }
    return ones;
}

/* As or_bits() for a run of ones. */
static void or_ones(uint8_t *dst, int64_t at, int64_t n)
{
    if (n > 8 * BITS_STEP) {
        tl_bitmap_fill(dst, at, n, true);
        return;
    }
    for (int64_t k; n > 0; n -= k, at += k) {
        k = TL_MIN(n, BITS_STEP);
        tl_write_le64(dst + at / 8, tl_read_le64(dst + at / 8) | ((UINT64_C(1) << k) - 1) << (at % 8));
    }
}

static int64_t count_ones(const uint8_t *bits, int64_t from, int64_t n)
{
    int64_t ones = 0;
    for (int64_t k; n > 0; n -= k, from += k) {
        k = TL_MIN(n, BITS_STEP);
        ones += __builtin_popcountll(bits_at(bits, from, k));
    }
    return ones;
}

bool tl_pq__rle_bitmap(tl_pq_rle *rle, int64_t n, uint8_t *bits, int64_t at, int64_t *ones)
{
    while (n > 0) {
        if (rle->left == 0 && !next_run(rle))
            return false;
        int64_t k = TL_MIN(n, rle->left);
        if (rle->is_packed) {
            *ones += or_bits(bits, at, rle->packed, rle->packed_from, k);
        } else if ((rle->value & 1) != 0) {
            or_ones(bits, at, k);
            *ones += k;
        }
        take(rle, k);
        at += k;
        n -= k;
    }
    return true;
}

bool tl_pq__rle_skip(tl_pq_rle *rle, int64_t n)
{
    while (n > 0) {
        if (rle->left == 0 && !next_run(rle))
            return false;
        int64_t k = TL_MIN(n, rle->left);
        take(rle, k);
        n -= k;
    }
    return true;
}

bool tl_pq__rle_skip_ones(tl_pq_rle *rle, int64_t n, int64_t *ones)
{
    while (n > 0) {
        if (rle->left == 0 && !next_run(rle))
            return false;
        int64_t k = TL_MIN(n, rle->left);
        if (rle->is_packed)
            *ones += count_ones(rle->packed, rle->packed_from, k);
        else
            *ones += (rle->value & 1) != 0 ? k : 0;
        take(rle, k);
        n -= k;
    }
    return true;
}
