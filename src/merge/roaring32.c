/*
 * Union of 32-bit Roaring bitmaps in the portable form (https://github.com/RoaringBitmap/RoaringFormatSpec), little-endian:
 *
 *   u32 12347 | (n - 1) << 16, then ceil(n / 8) bytes of flags: container i is a RUN;   or u32 12346, u32 n: no RUN at all
 *   n times: u16 key, u16 cardinality - 1
 *   n times u32 offset of the container, unless there are RUNs and n < 4
 *   the containers
 */
#include "base/bits.h"
#include "merge/roaring.h"
#include "merge/sketch.h"

#define COOKIE_RUNS 12347
#define COOKIE_NO_RUNS 12346
#define OFFSETS_FROM 4

typedef struct bitmap32 {
    uint32_t n;
    uint16_t *keys;
    roaring_box *boxes;
} bitmap32;

static tl_status corrupt(tl_error *err, const char *what)
{
    return tl_error_set(err, TL_E_CORRUPT, "roaring bitmap: %s", what);
}

static tl_status alloc_boxes(bitmap32 *bitmap, uint32_t n, tl_arena *arena, tl_error *err)
{
    bitmap->n = n;
    bitmap->keys = tl_arena_alloc(arena, n * sizeof *bitmap->keys);
    bitmap->boxes = tl_arena_alloc(arena, n * sizeof *bitmap->boxes);
    return bitmap->keys == NULL || bitmap->boxes == NULL ? tl_nomem(err, "roaring bitmap") : TL_OK;
}

static void skip(roaring_input *in, size_t bytes)
{
    in->at += bytes;
    in->left -= bytes;
}

static tl_status read_bitmap(tl_bytes_view bytes, tl_arena *arena, bitmap32 *out, tl_error *err)
{
    roaring_input in = {bytes.data, bytes.len};
    if (in.left < 8)
        return corrupt(err, "shorter than its header");
    uint32_t cookie = tl_read_le32(in.at);
    bool runs = (cookie & 0xffff) == COOKIE_RUNS;
    if (!runs && cookie != COOKIE_NO_RUNS)
        return corrupt(err, "wrong cookie");
    uint32_t n = runs ? (cookie >> 16) + 1 : tl_read_le32(in.at + 4);
    size_t flag_bytes = runs ? (n + 7) / 8 : 0, header = (runs ? 4 : 8) + flag_bytes;
    bool offsets = !runs || n >= OFFSETS_FROM;
    if (n > 65536 || in.left < header + 4 * (size_t)n + (offsets ? 4 * (size_t)n : 0))
        return corrupt(err, "shorter than its header");
    const uint8_t *flags = in.at + 4, *keys = in.at + header;
    skip(&in, header + 4 * (size_t)n + (offsets ? 4 * (size_t)n : 0));
    TL_TRY(alloc_boxes(out, n, arena, err));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t card = tl_read_le16(keys + 4 * i + 2) + 1u;
        out->keys[i] = tl_read_le16(keys + 4 * i);
        if (i > 0 && out->keys[i] <= out->keys[i - 1])
            return corrupt(err, "containers out of order");
        box_form form = runs && tl_bit_get(flags, i) ? BOX_RUN : card > 4096 ? BOX_BITMAP : BOX_ARRAY;
        TL_TRY(tl_merge__box_read(&in, form, card, &out->boxes[i], err));
    }
    return TL_OK;
}

static tl_status unite(const bitmap32 *a, const bitmap32 *b, tl_arena *arena, bitmap32 *out, tl_error *err)
{
    TL_TRY(alloc_boxes(out, a->n + b->n, arena, err));
    uint32_t i = 0, j = 0, n = 0;
    while (i < a->n || j < b->n) {
        bool from_a = j == b->n || (i < a->n && a->keys[i] <= b->keys[j]);
        bool from_b = i == a->n || (j < b->n && b->keys[j] <= a->keys[i]);
        out->keys[n] = from_a ? a->keys[i] : b->keys[j];
        if (from_a && from_b)
            TL_TRY(tl_merge__box_union(&a->boxes[i], &b->boxes[j], arena, &out->boxes[n], err));
        else
            out->boxes[n] = from_a ? a->boxes[i] : b->boxes[j];
        TL_TRY(tl_merge__box_optimize(&out->boxes[n], /* only_to_runs= */ false, arena, err));
        i += from_a;
        j += from_b;
        n++;
    }
    out->n = n;
    return TL_OK;
}

static tl_status append32(tl_buf *out, uint32_t v)
{
    uint8_t bytes[4];
    tl_write_le32(bytes, v);
    return tl_buf_append(out, bytes, sizeof bytes);
}

static tl_status write_header(const bitmap32 *bitmap, bool runs, tl_buf *out)
{
    if (!runs) {
        TL_TRY(append32(out, COOKIE_NO_RUNS));
        return append32(out, bitmap->n);
    }
    TL_TRY(append32(out, COOKIE_RUNS | (bitmap->n - 1) << 16));
    for (uint32_t i = 0; i < bitmap->n; i += 8) {
        uint8_t flags = 0;
        for (uint32_t k = i; k < i + 8 && k < bitmap->n; k++)
            flags = (uint8_t)(flags | (bitmap->boxes[k].form == BOX_RUN) << (k - i));
        TL_TRY(tl_buf_append_byte(out, flags));
    }
    return TL_OK;
}

static tl_status write_bitmap(const bitmap32 *bitmap, tl_buf *out)
{
    bool runs = false;
    for (uint32_t i = 0; i < bitmap->n; i++)
        runs = runs || bitmap->boxes[i].form == BOX_RUN;
    bool offsets = !runs || bitmap->n >= OFFSETS_FROM;
    TL_TRY(write_header(bitmap, runs, out));
    for (uint32_t i = 0; i < bitmap->n; i++)
        TL_TRY(append32(out, bitmap->keys[i] | (bitmap->boxes[i].card - 1) << 16));
    size_t at = out->len + (offsets ? 4 * (size_t)bitmap->n : 0);
    for (uint32_t i = 0; offsets && i < bitmap->n; i++) {
        TL_TRY(append32(out, (uint32_t)at));
        at += bitmap->boxes[i].bytes;
    }
    for (uint32_t i = 0; i < bitmap->n; i++)
        TL_TRY(tl_buf_append(out, bitmap->boxes[i].data, bitmap->boxes[i].bytes));
    return TL_OK;
}

static tl_status union_in(tl_bytes_view a, tl_bytes_view b, tl_arena *arena, tl_buf *out, tl_error *err)
{
    bitmap32 x, y, result;
    TL_TRY(read_bitmap(a, arena, &x, err));
    TL_TRY(read_bitmap(b, arena, &y, err));
    TL_TRY(unite(&x, &y, arena, &result, err));
    return write_bitmap(&result, out) == TL_OK ? TL_OK : tl_nomem(err, "roaring bitmap");
}

tl_status tl_merge__rbm32_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    tl_arena arena = {0};
    out->len = 0;
    tl_status status = union_in(a, b, &arena, out, err);
    tl_arena_deinit(&arena);
    return status;
}
