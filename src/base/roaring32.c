/*
 * 32-bit Roaring bitmaps in the portable form (https://github.com/RoaringBitmap/RoaringFormatSpec), little-endian:
 *
 *   u32 12347 | (n - 1) << 16, then ceil(n / 8) bytes of flags: container i is a RUN;   or u32 12346, u32 n: no RUN at all
 *   n times: u16 key, u16 cardinality - 1
 *   n times u32 offset of the container, unless there are RUNs and n < 4
 *   the containers
 */
#include "base/bits.h"
#include "base/roaring.h"

#define COOKIE_RUNS 12347
#define COOKIE_NO_RUNS 12346
#define OFFSETS_FROM 4

static tl_status corrupt(tl_error *err, const char *what)
{
    return tl_error_set(err, TL_E_CORRUPT, "roaring bitmap: %s", what);
}

static tl_status alloc_boxes(tl_roaring32 *bitmap, uint32_t n, tl_arena *arena, tl_error *err)
{
    bitmap->n = n;
    bitmap->keys = tl_arena_alloc(arena, n * sizeof *bitmap->keys);
    bitmap->boxes = tl_arena_alloc(arena, n * sizeof *bitmap->boxes);
    return bitmap->keys == NULL || bitmap->boxes == NULL ? tl_nomem(err, "roaring bitmap") : TL_OK;
}

static void skip(tl_roaring_input *in, size_t bytes)
{
    in->at += bytes;
    in->left -= bytes;
}

tl_status tl_roaring32_read(tl_roaring_input *in, tl_arena *arena, tl_roaring32 *out, tl_error *err)
{
    if (in->left < 8)
        return corrupt(err, "shorter than its header");
    uint32_t cookie = tl_read_le32(in->at);
    bool runs = (cookie & 0xffff) == COOKIE_RUNS;
    if (!runs && cookie != COOKIE_NO_RUNS)
        return corrupt(err, "wrong cookie");
    uint32_t n = runs ? (cookie >> 16) + 1 : tl_read_le32(in->at + 4);
    size_t flag_bytes = runs ? (n + 7) / 8 : 0, header = (runs ? 4 : 8) + flag_bytes;
    bool offsets = !runs || n >= OFFSETS_FROM;
    if (n > 65536 || in->left < header + 4 * (size_t)n + (offsets ? 4 * (size_t)n : 0))
        return corrupt(err, "shorter than its header");
    const uint8_t *flags = in->at + 4, *keys = in->at + header;
    skip(in, header + 4 * (size_t)n + (offsets ? 4 * (size_t)n : 0));
    TL_TRY(alloc_boxes(out, n, arena, err));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t card = tl_read_le16(keys + 4 * i + 2) + 1u;
        out->keys[i] = tl_read_le16(keys + 4 * i);
        if (i > 0 && out->keys[i] <= out->keys[i - 1])
            return corrupt(err, "containers out of order");
        tl_roaring_form form = runs && tl_bit_get(flags, i) ? TL_ROARING_RUN : card > 4096 ? TL_ROARING_BITMAP : TL_ROARING_ARRAY;
        TL_TRY(tl_roaring_box_read(in, form, card, &out->boxes[i], err));
    }
    return TL_OK;
}

tl_status tl_roaring32_union(const tl_roaring32 *a, const tl_roaring32 *b, tl_arena *arena, tl_roaring32 *out, tl_error *err)
{
    TL_TRY(alloc_boxes(out, a->n + b->n, arena, err));
    uint32_t i = 0, j = 0, n = 0;
    while (i < a->n || j < b->n) {
        bool from_a = j == b->n || (i < a->n && a->keys[i] <= b->keys[j]);
        bool from_b = i == a->n || (j < b->n && b->keys[j] <= a->keys[i]);
        out->keys[n] = from_a ? a->keys[i] : b->keys[j];
        if (from_a && from_b)
            TL_TRY(tl_roaring_box_union(&a->boxes[i], &b->boxes[j], arena, &out->boxes[n], err));
        else
            out->boxes[n] = from_a ? a->boxes[i] : b->boxes[j];
        i += from_a;
        j += from_b;
        n++;
    }
    out->n = n;
    return TL_OK;
}

tl_status tl_roaring32_optimize(tl_roaring32 *bitmap, tl_arena *arena, tl_error *err)
{
    for (uint32_t i = 0; i < bitmap->n; i++)
        TL_TRY(tl_roaring_box_optimize(&bitmap->boxes[i], /* only_to_runs= */ false, arena, err));
    return TL_OK;
}

static tl_status append32(tl_buf *out, uint32_t v)
{
    uint8_t bytes[4];
    tl_write_le32(bytes, v);
    return tl_buf_append(out, bytes, sizeof bytes);
}

static tl_status write_header(const tl_roaring32 *bitmap, bool runs, tl_buf *out)
{
    if (!runs) {
        TL_TRY(append32(out, COOKIE_NO_RUNS));
        return append32(out, bitmap->n);
    }
    TL_TRY(append32(out, COOKIE_RUNS | (bitmap->n - 1) << 16));
    for (uint32_t i = 0; i < bitmap->n; i += 8) {
        uint8_t flags = 0;
        for (uint32_t k = i; k < i + 8 && k < bitmap->n; k++)
            flags = (uint8_t)(flags | (bitmap->boxes[k].form == TL_ROARING_RUN) << (k - i));
        TL_TRY(tl_buf_append_byte(out, flags));
    }
    return TL_OK;
}

tl_status tl_roaring32_write(const tl_roaring32 *bitmap, tl_buf *out)
{
    bool runs = false;
    size_t start = out->len;
    for (uint32_t i = 0; i < bitmap->n; i++)
        runs = runs || bitmap->boxes[i].form == TL_ROARING_RUN;
    bool offsets = !runs || bitmap->n >= OFFSETS_FROM;
    TL_TRY(write_header(bitmap, runs, out));
    for (uint32_t i = 0; i < bitmap->n; i++)
        TL_TRY(append32(out, bitmap->keys[i] | (bitmap->boxes[i].card - 1) << 16));
    size_t at = out->len - start + (offsets ? 4 * (size_t)bitmap->n : 0);
    for (uint32_t i = 0; offsets && i < bitmap->n; i++) {
        TL_TRY(append32(out, (uint32_t)at));
        at += bitmap->boxes[i].bytes;
    }
    for (uint32_t i = 0; i < bitmap->n; i++)
        TL_TRY(tl_buf_append(out, bitmap->boxes[i].data, bitmap->boxes[i].bytes));
    return TL_OK;
}

/* A box of numbers with one high half: an ARRAY, or a BITMAP where that is smaller. */
static tl_status box_of(const uint32_t *numbers, uint32_t n, tl_arena *arena, tl_roaring_box *out, tl_error *err)
{
    bool array = n <= TL_ROARING_ARRAY_MAX;
    size_t bytes = array ? 2 * (size_t)n : TL_ROARING_BITMAP_BYTES;
    uint8_t *data = array ? tl_arena_alloc(arena, bytes) : tl_arena_calloc(arena, 1, bytes);
    if (data == NULL)
        return tl_nomem(err, "roaring bitmap");
    for (uint32_t i = 0; i < n; i++) {
        uint16_t low = (uint16_t)numbers[i];
        if (array)
            tl_write_le16(data + 2 * i, low);
        else
            data[low / 8] = (uint8_t)(data[low / 8] | 1u << (low & 7));
    }
    *out = (tl_roaring_box){array ? TL_ROARING_ARRAY : TL_ROARING_BITMAP, n, data, bytes};
    return TL_OK;
}

tl_status tl_roaring32_of(const uint32_t *numbers, size_t n, tl_arena *arena, tl_roaring32 *out, tl_error *err)
{
    uint32_t n_boxes = 0;
    for (size_t i = 0; i < n; i++)
        n_boxes += i == 0 || numbers[i] >> 16 != numbers[i - 1] >> 16;
    TL_TRY(alloc_boxes(out, n_boxes, arena, err));
    size_t from = 0;
    for (uint32_t b = 0; b < n_boxes; b++) {
        size_t to = from + 1;
        while (to < n && numbers[to] >> 16 == numbers[from] >> 16)
            to++;
        out->keys[b] = (uint16_t)(numbers[from] >> 16);
        TL_TRY(box_of(numbers + from, (uint32_t)(to - from), arena, &out->boxes[b], err));
        from = to;
    }
    return TL_OK;
}

uint64_t tl_roaring32_count(const tl_roaring32 *bitmap)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < bitmap->n; i++)
        count += bitmap->boxes[i].card;
    return count;
}
