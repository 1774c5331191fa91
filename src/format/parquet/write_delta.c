/*
 * The DELTA encodings, which parquet-mr uses in place of PLAIN when `parquet.writer.version` is v2.
 *
 * DELTA_BINARY_PACKED: header (varints: values of a block, miniblocks of a block, count, first value zigzag), then blocks:
 * the least difference (zigzag varint), a bit width for each miniblock, the miniblocks: differences minus the least one,
 * packed from the lowest bit up. All arithmetic wraps. DELTA_BYTE_ARRAY: DELTA_BINARY_PACKED lengths of the prefixes that
 * are shared with the value before, DELTA_BINARY_PACKED lengths of the rest, the rests.
 * Source: parquet-format, Encodings.md.
 */
#include "format/parquet/write_private.h"

#define BLOCK_VALUES 128
#define MINIBLOCKS 4
#define MINIBLOCK_VALUES 32

static tl_status put_varint(tl_buf *out, uint64_t v)
{
    TL_TRY(tl_buf_reserve(out, 10));
    out->len += tl_varint_encode(v, out->data + out->len);
    return TL_OK;
}

static tl_status put_header(tl_buf *out, int64_t count, int64_t first)
{
    TL_TRY(put_varint(out, BLOCK_VALUES));
    TL_TRY(put_varint(out, MINIBLOCKS));
    TL_TRY(put_varint(out, (uint64_t)count));
    return put_varint(out, tl_zigzag64(first));
}

/** Pack values of more than 32 bits, bit by bit in 64-bit words. */
static void pack_u64(const uint64_t *v, int count, int width, uint8_t *out)
{
    unsigned __int128 acc = 0;
    int bits = 0;
    for (int i = 0; i < count; i++) {
        acc |= (unsigned __int128)v[i] << bits;
        bits += width;
        if (bits >= 64) {
            tl_write_le64(out, (uint64_t)acc);
            out += 8;
            acc >>= 64;
            bits -= 64;
        }
    }
    tl_write_le64(out, (uint64_t)acc);
}

static void put_miniblock(const uint64_t *deltas, int width, uint8_t *out)
{
    if (width > 32) {
        pack_u64(deltas, MINIBLOCK_VALUES, width, out);
        return;
    }
    uint32_t narrow[MINIBLOCK_VALUES];
    for (int i = 0; i < MINIBLOCK_VALUES; i++)
        narrow[i] = (uint32_t)deltas[i];
    tl_pq__pack_u32(narrow, MINIBLOCK_VALUES / 8, width, out);
}

/** A block of `count` <= 128 differences; `deltas` is filled up and made relative. */
static tl_status put_block(uint64_t *deltas, int count, int64_t least, tl_buf *out)
{
    TL_TRY(put_varint(out, tl_zigzag64(least)));
    TL_TRY(tl_buf_reserve(out, MINIBLOCKS + BLOCK_VALUES * sizeof(uint64_t) + 16));
    uint8_t *widths = out->data + out->len;
    uint8_t *p = widths + MINIBLOCKS;
    for (int i = 0; i < BLOCK_VALUES; i++)
        deltas[i] = i < count ? deltas[i] - (uint64_t)least : 0;
    for (int m = 0; m < MINIBLOCKS; m++) {
        uint64_t all = 0;
        for (int i = 0; i < MINIBLOCK_VALUES; i++)
            all |= deltas[m * MINIBLOCK_VALUES + i];
        widths[m] = (uint8_t)tl_pq__bit_width(all);
        if (m * MINIBLOCK_VALUES >= count)
            continue; /* a miniblock without values has no body */
        put_miniblock(deltas + m * MINIBLOCK_VALUES, widths[m], p);
        p += widths[m] * (MINIBLOCK_VALUES / 8);
    }
    out->len = (size_t)(p - out->data);
    return TL_OK;
}

/** Differences wrap in the type's own width, so that readers of 32-bit columns need no wider miniblocks. */
#define DEFINE_DELTA(NAME, TYPE, UTYPE)                                                                                          \
    tl_status tl_pq__put_##NAME(const TYPE *v, int64_t count, tl_buf *out)                                                         \
    {                                                                                                                            \
        TL_TRY(put_header(out, count, count == 0 ? 0 : v[0]));                                                                   \
        for (int64_t i = 1; i < count; i += BLOCK_VALUES) {                                                                      \
            uint64_t deltas[BLOCK_VALUES];                                                                                       \
            int here = (int)TL_MIN(count - i, BLOCK_VALUES);                                                                     \
            int64_t least = INT64_MAX;                                                                                           \
            for (int j = 0; j < here; j++) {                                                                                     \
                TYPE delta = (TYPE)((UTYPE)v[i + j] - (UTYPE)v[i + j - 1]);                                                      \
                deltas[j] = (uint64_t)(int64_t)delta;                                                                            \
                least = TL_MIN(least, (int64_t)delta);                                                                           \
            }                                                                                                                    \
            TL_TRY(put_block(deltas, here, least, out));                                                                         \
        }                                                                                                                        \
        return TL_OK;                                                                                                            \
    }

DEFINE_DELTA(delta_i32, int32_t, uint32_t)
DEFINE_DELTA(delta_i64, int64_t, uint64_t)

static size_t shared_prefix(tl_bytes_view a, tl_bytes_view b)
{
    size_t max = TL_MIN(a.len, b.len);
    size_t i = 0;
    while (i < max && a.data[i] == b.data[i])
        i++;
    return i;
}

static tl_bytes_view next_plain(const uint8_t **p, int32_t width)
{
    size_t len = (size_t)width;
    if (width == 0) {
        len = tl_read_le32(*p);
        *p += sizeof(uint32_t);
    }
    tl_bytes_view v = {*p, len};
    *p += len;
    return v;
}

tl_status tl_pq__put_delta_byte_array(tl_bytes_view plain, int64_t count, int32_t width, tl_buf *out)
{
    int32_t *prefixes = tl_alloc((size_t)count * 2 * sizeof *prefixes);
    if (prefixes == NULL)
        return TL_E_NOMEM;
    int32_t *suffixes = prefixes + count;
    tl_bytes_view last = {0};
    const uint8_t *p = plain.data;
    for (int64_t i = 0; i < count; i++) {
        tl_bytes_view v = next_plain(&p, width);
        prefixes[i] = (int32_t)shared_prefix(last, v);
        suffixes[i] = (int32_t)(v.len - (size_t)prefixes[i]);
        last = v;
    }
    tl_status status = tl_pq__put_delta_i32(prefixes, count, out);
    if (status == TL_OK)
        status = tl_pq__put_delta_i32(suffixes, count, out);
    p = plain.data;
    for (int64_t i = 0; status == TL_OK && i < count; i++) {
        tl_bytes_view v = next_plain(&p, width);
        status = tl_buf_append(out, v.data + prefixes[i], (size_t)suffixes[i]);
    }
    tl_free(prefixes);
    return status;
}
