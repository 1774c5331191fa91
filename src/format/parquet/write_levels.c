/*
 * RLE / bit-packing hybrid: levels, dictionary numbers, booleans of data pages V2.
 *
 * Layout: runs, each a varint header and its content. Header h with bit 0 clear: h >> 1 times the value that follows in
 * ceil(width / 8) bytes LE. Bit 0 set: (h >> 1) groups of eight values follow, packed from the lowest bit up, width bytes a
 * group; the last group is filled up with zeros. Source: parquet-format, Encodings.md, "Run Length Encoding / Bit-Packing Hybrid".
 *
 * A run of equal values is worth its own header where it saves more than the headers cost; it starts at a group's first value
 * (as in parquet-mr) and may end anywhere. So the output is never longer than the packed values and one or two headers.
 */
#include "format/parquet/write_private.h"

/** Headers, and what a store may write beyond its end. */
#define SLACK_BYTES 64

/* ---- packing ---- */

#define PACK_GROUP(WIDTH, TYPE)                                                                                                  \
    do {                                                                                                                         \
        uint64_t acc = 0;                                                                                                        \
        int bits = 0;                                                                                                            \
        _Pragma("GCC unroll 8") for (int i = 0; i < 8; i++)                                                                      \
        {                                                                                                                        \
            acc |= (uint64_t)v[i] << bits;                                                                                       \
            bits += WIDTH;                                                                                                       \
            if (bits >= 32) {                                                                                                    \
                tl_write_le32(p, (uint32_t)acc);                                                                                 \
                p += 4;                                                                                                          \
                acc >>= 32;                                                                                                      \
                bits -= 32;                                                                                                      \
            }                                                                                                                    \
        }                                                                                                                        \
        tl_write_le32(p, (uint32_t)acc);                                                                                         \
        p += bits / 8;                                                                                                           \
        v += 8;                                                                                                                  \
    } while (0)

#define PACK_CASE(WIDTH, TYPE)                                                                                                   \
    case WIDTH:                                                                                                                  \
        for (int64_t g = 0; g < groups; g++)                                                                                     \
            PACK_GROUP(WIDTH, TYPE);                                                                                             \
        break;

#define PACK_CASES_1_8(TYPE)                                                                                                     \
    PACK_CASE(1, TYPE)                                                                                                           \
    PACK_CASE(2, TYPE) PACK_CASE(3, TYPE) PACK_CASE(4, TYPE) PACK_CASE(5, TYPE) PACK_CASE(6, TYPE) PACK_CASE(7, TYPE) PACK_CASE(8, TYPE)

void tl_pq__pack_u32(const uint32_t *v, int64_t groups, int width, uint8_t *out)
{
    uint8_t *p = out;
    switch (width) {
        PACK_CASES_1_8(uint32_t)
        PACK_CASE(9, uint32_t)
        PACK_CASE(10, uint32_t)
        PACK_CASE(11, uint32_t)
        PACK_CASE(12, uint32_t)
        PACK_CASE(13, uint32_t)
        PACK_CASE(14, uint32_t)
        PACK_CASE(15, uint32_t)
        PACK_CASE(16, uint32_t)
        PACK_CASE(17, uint32_t)
        PACK_CASE(18, uint32_t)
        PACK_CASE(19, uint32_t)
        PACK_CASE(20, uint32_t)
        PACK_CASE(21, uint32_t)
        PACK_CASE(22, uint32_t)
        PACK_CASE(23, uint32_t)
        PACK_CASE(24, uint32_t)
        PACK_CASE(25, uint32_t)
        PACK_CASE(26, uint32_t)
        PACK_CASE(27, uint32_t)
        PACK_CASE(28, uint32_t)
        PACK_CASE(29, uint32_t)
        PACK_CASE(30, uint32_t)
        PACK_CASE(31, uint32_t)
        PACK_CASE(32, uint32_t)
    default: /* 0: nothing is stored */
        break;
    }
}

static void pack_u8(const uint8_t *v, int64_t groups, int width, uint8_t *out)
{
    uint8_t *p = out;
    switch (width) {
        PACK_CASES_1_8(uint8_t)
    default:
        break;
    }
}

/* ---- runs ---- */

static uint8_t *put_header(uint8_t *p, uint64_t header)
{
    return p + tl_varint_encode(header, p);
}

static uint8_t *put_run(uint8_t *p, uint32_t v, int64_t count, int width)
{
    p = put_header(p, (uint64_t)count << 1);
    tl_write_le32(p, v);
    return p + (width + 7) / 8;
}

/** Shortest run that is worth leaving a packed run for: header, value, and a header to go on with. */
static int64_t run_min(int width)
{
    int64_t bits = 8 * (4 + (width + 7) / 8);
    return TL_MAX((bits + width - 1) / width, 8);
}

static tl_status reserve_hybrid(int64_t count, int width, tl_buf *out)
{
    size_t long_headers = (size_t)(count >> 12); /* those of runs of 2^16 values are a byte longer than run_min() thinks */
    return tl_buf_reserve(out, (size_t)(count / 8 + 1) * (size_t)TL_MAX(width, 1) + long_headers + SLACK_BYTES);
}

/** PACK(v, groups, width, out) packs; EIGHT_EQUAL(v) tells whether v[0..8) are all the same. */
#define DEFINE_HYBRID(NAME, TYPE, PACK, EIGHT_EQUAL)                                                                             \
    static uint8_t *NAME##_packed(uint8_t *p, const TYPE *v, int64_t count, int width)                                           \
    {                                                                                                                            \
        if (count == 0)                                                                                                          \
            return p;                                                                                                            \
        int64_t whole = count / 8;                                                                                               \
        int64_t groups = (count + 7) / 8;                                                                                        \
        p = put_header(p, (uint64_t)groups << 1 | 1);                                                                            \
        PACK(v, whole, width, p);                                                                                                \
        p += whole * width;                                                                                                      \
        if (groups != whole) {                                                                                                   \
            TYPE last[8] = {0};                                                                                                  \
            memcpy(last, v + whole * 8, (size_t)(count - whole * 8) * sizeof *v);                                                \
            PACK(last, 1, width, p);                                                                                             \
            p += width;                                                                                                          \
        }                                                                                                                        \
        return p;                                                                                                                \
    }                                                                                                                            \
                                                                                                                                 \
    tl_status tl_pq__##NAME(const TYPE *v, int64_t count, int width, tl_buf *out)                                                \
    {                                                                                                                            \
        if (width == 0)                                                                                                          \
            return tl_pq__hybrid_run(0, count, 0, out);                                                                          \
        TL_TRY(reserve_hybrid(count, width, out));                                                                               \
        uint8_t *p = out->data + out->len;                                                                                       \
        int64_t packed_from = 0;                                                                                                 \
        int64_t i = 0;                                                                                                           \
        int64_t min = run_min(width);                                                                                            \
        while (count - i >= 8) {                                                                                                 \
            if (TL_LIKELY(!EIGHT_EQUAL(v + i))) {                                                                                \
                i += 8;                                                                                                          \
                continue;                                                                                                        \
            }                                                                                                                    \
            int64_t end = i + 8;                                                                                                 \
            while (end < count && v[end] == v[i])                                                                                \
                end++;                                                                                                           \
            if (end - i < min) {                                                                                                 \
                i += (end - i) / 8 * 8;                                                                                          \
                continue;                                                                                                        \
            }                                                                                                                    \
            p = NAME##_packed(p, v + packed_from, i - packed_from, width);                                                       \
            p = put_run(p, v[i], end - i, width);                                                                                \
            packed_from = i = end;                                                                                               \
        }                                                                                                                        \
        p = NAME##_packed(p, v + packed_from, count - packed_from, width);                                                       \
        out->len = (size_t)(p - out->data);                                                                                      \
        return TL_OK;                                                                                                            \
    }

static inline bool eight_equal_u32(const uint32_t *v)
{
    if (v[0] != v[1])
        return false;
    uint32_t differing = 0;
    for (int i = 1; i < 8; i++)
        differing |= v[i] ^ v[0];
    return differing == 0;
}

static inline bool eight_equal_u8(const uint8_t *v)
{
    return tl_read_le64(v) == UINT64_C(0x0101010101010101) * v[0];
}

DEFINE_HYBRID(hybrid_u32, uint32_t, tl_pq__pack_u32, eight_equal_u32)
DEFINE_HYBRID(hybrid_u8, uint8_t, pack_u8, eight_equal_u8)

tl_status tl_pq__hybrid_run(uint32_t v, int64_t count, int width, tl_buf *out)
{
    TL_TRY(tl_buf_reserve(out, SLACK_BYTES));
    uint8_t *p = put_run(out->data + out->len, v, count, width);
    out->len = (size_t)(p - out->data);
    return TL_OK;
}

static uint8_t *bits_packed(uint8_t *p, const uint8_t *bits, int64_t from, int64_t to)
{
    if (from == to)
        return p;
    size_t bytes = tl_bitmap_bytes(to - from);
    p = put_header(p, (uint64_t)bytes << 1 | 1);
    memcpy(p, bits + from / 8, bytes);
    if ((to & 7) != 0)
        p[bytes - 1] &= (uint8_t)((1u << (to & 7)) - 1);
    return p + bytes;
}

/** A bitmap of validity is what packed one-bit levels look like: bytes are copied, runs are looked for in 64-bit words. */
tl_status tl_pq__hybrid_bits(const uint8_t *bits, int64_t count, tl_buf *out)
{
    TL_TRY(reserve_hybrid(count, 1, out));
    uint8_t *p = out->data + out->len;
    int64_t packed_from = 0;
    int64_t i = 0;
    while (count - i >= 64) {
        uint64_t word = tl_read_le64(bits + i / 8);
        if (word + 1 > 1) {
            i += 64;
            continue;
        }
        int64_t end = i + 64;
        while (count - end >= 64 && tl_read_le64(bits + end / 8) == word)
            end += 64;
        p = bits_packed(p, bits, packed_from, i);
        p = put_run(p, (uint32_t)(word & 1), end - i, 1);
        packed_from = i = end;
    }
    p = bits_packed(p, bits, packed_from, count);
    out->len = (size_t)(p - out->data);
    return TL_OK;
}
