/*
 * One deletion vector: rows by their high 32 bits, each group a Roaring bitmap. Java: BitmapDeletionVector,
 * Bitmap64DeletionVector. The boxes of a decoded vector lie in the bytes of its record, which it keeps.
 */
#include "index/deletion_vector.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "base/roaring.h"

#define MAGIC_32 1581511376u /* big-endian */
#define MAGIC_64 1681511377u /* little-endian */
#define FRAME_BYTES 8        /* size and CRC around the payload */

struct tl_dv {
    atomic_int refs;
    bool bitmap64;
    uint32_t n;
    uint32_t *keys; /* ascending: high halves of row numbers */
    tl_roaring32 *maps;
    int64_t count;
    tl_bytes bytes;   /* what boxes of a decoded vector point into */
    tl_arena arena;   /* all else */
    tl_dv *shared[2]; /* whose boxes a union shares */
};

tl_dv *tl_dv_ref(const tl_dv *dv)
{
    tl_dv *mutable = (tl_dv *)dv; /* the count is no part of the value */
    if (mutable != NULL)
        atomic_fetch_add_explicit(&mutable->refs, 1, memory_order_relaxed);
    return mutable;
}

void tl_dv_unref(tl_dv *dv)
{
    if (dv == NULL || atomic_fetch_sub_explicit(&dv->refs, 1, memory_order_acq_rel) > 1)
        return;
    tl_dv_unref(dv->shared[0]);
    tl_dv_unref(dv->shared[1]);
    tl_bytes_deinit(&dv->bytes);
    tl_arena_deinit(&dv->arena);
    tl_free(dv);
}

static tl_status new_dv(bool bitmap64, tl_dv **out, tl_error *err)
{
    tl_dv *dv = tl_calloc(1, sizeof *dv);
    if (dv == NULL)
        return tl_nomem(err, "deletion vector");
    atomic_init(&dv->refs, 1);
    dv->bitmap64 = bitmap64;
    *out = dv;
    return TL_OK;
}

static tl_status alloc_maps(tl_dv *dv, size_t n, tl_error *err)
{
    dv->keys = tl_arena_alloc(&dv->arena, (n + 1) * sizeof *dv->keys);
    dv->maps = tl_arena_calloc(&dv->arena, n + 1, sizeof *dv->maps);
    return dv->keys == NULL || dv->maps == NULL ? tl_nomem(err, "deletion vector") : TL_OK;
}

static void count_rows(tl_dv *dv)
{
    for (uint32_t i = 0; i < dv->n; i++)
        dv->count += (int64_t)tl_roaring32_count(&dv->maps[i]);
}

int64_t tl_dv_count(const tl_dv *dv)
{
    return dv->count;
}

int64_t tl_dv_last(const tl_dv *dv)
{
    for (uint32_t i = dv->n; i-- > 0;) {
        const tl_roaring32 *map = &dv->maps[i];
        if (map->n == 0)
            continue;
        tl_roaring_ranges it = {&map->boxes[map->n - 1], 0};
        uint32_t from = 0, to = 0;
        while (tl_roaring_next_range(&it, 0, &from, &to))
            ;
        return (int64_t)dv->keys[i] << 32 | (int64_t)map->keys[map->n - 1] << 16 | to;
    }
    return -1;
}

/* ---- making ---- */

static tl_status fill(tl_dv *dv, const int64_t *rows, size_t n, tl_error *err)
{
    size_t n_keys = 0;
    for (size_t i = 0; i < n; i++)
        n_keys += i == 0 || rows[i] >> 32 != rows[i - 1] >> 32;
    if (!dv->bitmap64 && n > 0 && rows[n - 1] > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "row %lld is too large for a deletion vector of 32 bits ('deletion-vectors.bitmap64')",
                            (long long)rows[n - 1]);
    TL_TRY(alloc_maps(dv, n_keys, err));
    TL_CLEANUP(tl_freep) uint32_t *low = tl_alloc((n + 1) * sizeof *low);
    if (low == NULL)
        return tl_nomem(err, "deletion vector");
    for (size_t from = 0; from < n;) {
        size_t to = from;
        for (; to < n && rows[to] >> 32 == rows[from] >> 32; to++)
            low[to] = (uint32_t)rows[to];
        dv->keys[dv->n] = (uint32_t)(rows[from] >> 32);
        TL_TRY(tl_roaring32_of(low + from, to - from, &dv->arena, &dv->maps[dv->n++], err));
        from = to;
    }
    count_rows(dv);
    return TL_OK;
}

tl_status tl_dv_create(const int64_t *rows, size_t n, bool bitmap64, tl_dv **out, tl_error *err)
{
    TL_CLEANUP(tl_dv_unrefp) tl_dv *dv = NULL;
    TL_TRY(new_dv(bitmap64, &dv, err));
    TL_TRY(fill(dv, rows, n, err));
    *out = TL_STEAL(dv);
    return TL_OK;
}

tl_status tl_dv_union(const tl_dv *a, const tl_dv *b, tl_dv **out, tl_error *err)
{
    TL_CLEANUP(tl_dv_unrefp) tl_dv *dv = NULL;
    if (!a->bitmap64 && tl_dv_last(b) > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a deletion vector of 32 bits cannot hold row %lld", (long long)tl_dv_last(b));
    TL_TRY(new_dv(a->bitmap64, &dv, err));
    dv->shared[0] = tl_dv_ref(a);
    dv->shared[1] = tl_dv_ref(b);
    TL_TRY(alloc_maps(dv, (size_t)a->n + b->n, err));
    uint32_t i = 0, j = 0;
    while (i < a->n || j < b->n) {
        bool from_a = j == b->n || (i < a->n && a->keys[i] <= b->keys[j]);
        bool from_b = i == a->n || (j < b->n && b->keys[j] <= a->keys[i]);
        dv->keys[dv->n] = from_a ? a->keys[i] : b->keys[j];
        if (from_a && from_b)
            TL_TRY(tl_roaring32_union(&a->maps[i], &b->maps[j], &dv->arena, &dv->maps[dv->n], err));
        else
            dv->maps[dv->n] = from_a ? a->maps[i] : b->maps[j];
        i += from_a;
        j += from_b;
        dv->n++;
    }
    count_rows(dv);
    *out = TL_STEAL(dv);
    return TL_OK;
}

/* ---- selecting ---- */

/* Walks deleted ranges in step with ascending row numbers. */
typedef struct walk {
    const tl_dv *dv;
    uint32_t map;
    uint32_t box;
    tl_roaring_ranges ranges;
    bool open; /* `ranges` belongs to the box */
    int64_t from, to; /* the current deleted range; from > to: none left */
} walk;

/* The high 48 bits of the box at hand. */
static int64_t box_base(const walk *w)
{
    return (int64_t)w->dv->keys[w->map] << 32 | (int64_t)w->dv->maps[w->map].keys[w->box] << 16;
}

/* The first deleted range that ends at `row` or later. */
static void seek(walk *w, int64_t row)
{
    const tl_dv *dv = w->dv;
    for (; w->map < dv->n; w->map++, w->box = 0) {
        const tl_roaring32 *map = &dv->maps[w->map];
        for (; w->box < map->n; w->box++, w->open = false) {
            int64_t base = box_base(w);
            if (base + 65535 < row)
                continue;
            uint32_t from, to, first = row <= base ? 0 : (uint32_t)(row - base);
            if (!w->open)
                w->ranges = (tl_roaring_ranges){&map->boxes[w->box], 0};
            w->open = true;
            if (tl_roaring_next_range(&w->ranges, first, &from, &to)) {
                w->from = base + from;
                w->to = base + to;
                return;
            }
        }
        w->open = false;
    }
    w->from = INT64_MAX;
    w->to = INT64_MAX - 1;
}

/* First position from `at` on whose number is `row` or more; numbers that follow each other are found at once. */
static int64_t skip_to(const int64_t *rows, int64_t at, int64_t n, int64_t row)
{
    if (at < n && row > rows[at]) {
        int64_t jump = row - rows[at];
        if (jump < n - at && rows[at + jump] == row)
            return at + jump;
    }
    int64_t low = at, high = n;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (rows[mid] < row)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

int64_t tl_dv_select(const tl_dv *dv, const int64_t *rows, int64_t n, uint32_t *sel)
{
    if (n == 0)
        return 0;
    walk w = {.dv = dv};
    int64_t kept = 0, at = 0;
    seek(&w, rows[0]);
    if (w.from > rows[n - 1])
        return n;
    bool all = true;
    while (at < n) {
        int64_t stop = w.from > rows[n - 1] ? n : skip_to(rows, at, n, w.from);
        for (; at < stop; at++)
            sel[kept++] = (uint32_t)at;
        if (at == n)
            break;
        int64_t next = w.to >= rows[n - 1] ? n : skip_to(rows, at, n, w.to + 1);
        all &= next == at;
        at = next;
        if (at < n)
            seek(&w, rows[at]);
    }
    return all ? n : kept;
}

/*
 * A range costs a reader what some 50 rows cost to be left out of a batch behind it (Parquet, 15 columns: 11,000 instructions and 220 a
 * row). So single rows are ranges' ends only where one in so many is deleted; else it takes a stretch of so many.
 */
#define FEW_FACTOR 64
#define STRETCH_ROWS 256

/* To the next deleted range; boxes in which no stretch can be are passed over. *asked: the last box in which one may be. */
static void next_deleted(walk *w, int64_t row, bool few, const tl_roaring_box **asked)
{
    for (seek(w, row); !few && w->map < w->dv->n; seek(w, box_base(w) + 65536)) {
        const tl_roaring_box *box = &w->dv->maps[w->map].boxes[w->box];
        if (w->from == row || box == *asked)
            return;
        if (tl_roaring_may_have_run(box, STRETCH_ROWS)) {
            *asked = box;
            return;
        }
    }
}

tl_status tl_dv_rest(const tl_dv *dv, int64_t n_rows, tl_row_ranges *out, tl_error *err)
{
    size_t cap = 0;
    int64_t at = 0; /* first row that is not told of */
    bool few = dv->count <= n_rows / FEW_FACTOR;
    const tl_roaring_box *asked = NULL;
    walk w = {.dv = dv};
    next_deleted(&w, 0, few, &asked);
    while (w.from <= w.to) {
        int64_t from = w.from, end;
        do { /* a range ends with its box, but may go on in the next one */
            end = w.to + 1;
            next_deleted(&w, end, few, &asked);
        } while (w.from == end);
        if (!few && end - from < STRETCH_ROWS)
            continue;
        TL_TRY(tl_row_ranges_add(out, &cap, at, from, err));
        at = end;
    }
    return tl_row_ranges_add(out, &cap, at, INT64_MAX, err);
}

/* ---- stored form ---- */

static tl_status corrupt(tl_error *err, const char *what)
{
    return tl_error_set(err, TL_E_CORRUPT, "deletion vector: %s", what);
}

static tl_status decode_64(tl_dv *dv, tl_roaring_input *in, tl_error *err)
{
    if (in->left < 8)
        return corrupt(err, "cut off in its header");
    uint64_t n = tl_read_le64(in->at);
    in->at += 8;
    in->left -= 8;
    if (n > in->left / 12) /* a key and an empty bitmap are 12 bytes */
        return corrupt(err, "more bitmaps than bytes");
    TL_TRY(alloc_maps(dv, n, err));
    for (uint64_t i = 0; i < n; i++) {
        if (in->left < 4)
            return corrupt(err, "cut off before a bitmap");
        uint32_t key = tl_read_le32(in->at);
        if (key > INT32_MAX || (i > 0 && key <= dv->keys[i - 1]))
            return corrupt(err, "keys out of order");
        in->at += 4;
        in->left -= 4;
        dv->keys[i] = key;
        TL_TRY(tl_roaring32_read(in, &dv->arena, &dv->maps[i], err));
        dv->n++;
    }
    return TL_OK;
}

static tl_status decode_32(tl_dv *dv, tl_roaring_input *in, tl_error *err)
{
    TL_TRY(alloc_maps(dv, 1, err));
    dv->n = 1;
    dv->keys[0] = 0;
    TL_TRY(tl_roaring32_read(in, &dv->arena, &dv->maps[0], err));
    return tl_dv_last(dv) > INT32_MAX ? corrupt(err, "a row beyond 32 bits") : TL_OK;
}

/* The payload between size and CRC. */
static tl_status open_frame(tl_bytes_view record, int64_t length, bool *bitmap64, tl_bytes_view *payload, tl_error *err)
{
    if (record.len < FRAME_BYTES + 4)
        return corrupt(err, "shorter than its frame");
    uint32_t size = tl_read_be32(record.data);
    if (size < 4 || size > record.len - FRAME_BYTES)
        return corrupt(err, "its size does not fit");
    *payload = (tl_bytes_view){record.data + 4, size};
    if (tl_read_be32(payload->data) == MAGIC_32)
        *bitmap64 = false;
    else if (tl_read_le32(payload->data) == MAGIC_64)
        *bitmap64 = true;
    else
        return corrupt(err, "unknown magic number");
    if (length != (*bitmap64 ? (int64_t)size + FRAME_BYTES : (int64_t)size))
        return corrupt(err, "its size differs from what the manifest says");
    if (tl_crc32(0, payload->data, size) != tl_read_be32(payload->data + size))
        return corrupt(err, "checksum mismatch");
    return TL_OK;
}

tl_status tl_dv_decode(tl_bytes_view record, int64_t length, tl_dv **out, tl_error *err)
{
    bool bitmap64;
    tl_bytes_view payload;
    TL_CLEANUP(tl_dv_unrefp) tl_dv *dv = NULL;
    TL_TRY(open_frame(record, length, &bitmap64, &payload, err));
    TL_TRY(new_dv(bitmap64, &dv, err));
    if (tl_bytes_dup((tl_bytes_view){payload.data + 4, payload.len - 4}, &dv->bytes) != TL_OK)
        return tl_nomem(err, "deletion vector");
    tl_roaring_input in = {dv->bytes.data, dv->bytes.len};
    TL_TRY(bitmap64 ? decode_64(dv, &in, err) : decode_32(dv, &in, err));
    if (in.left != 0)
        return corrupt(err, "bytes after its end");
    count_rows(dv);
    *out = TL_STEAL(dv);
    return TL_OK;
}

static tl_status append_le(tl_buf *out, uint64_t v, size_t bytes)
{
    uint8_t le[8];
    tl_write_le64(le, v);
    return tl_buf_append(out, le, bytes);
}

static tl_status append_be32(tl_buf *out, uint32_t v)
{
    uint8_t be[4];
    tl_write_be32(be, v);
    return tl_buf_append(out, be, sizeof be);
}

static tl_status append_map(const tl_roaring32 *map, tl_arena *scratch, tl_buf *out, tl_error *err)
{
    tl_roaring32 copy = *map;
    copy.boxes = tl_arena_alloc(scratch, ((size_t)map->n + 1) * sizeof *copy.boxes);
    if (copy.boxes == NULL)
        return tl_nomem(err, "deletion vector");
    if (map->n > 0)
        memcpy(copy.boxes, map->boxes, map->n * sizeof *copy.boxes);
    TL_TRY(tl_roaring32_optimize(&copy, scratch, err));
    return tl_roaring32_write(&copy, out) == TL_OK ? TL_OK : tl_nomem(err, "deletion vector");
}

/* Of a file with 2^44 rows: nothing that a record of a few bytes names may make us write more. */
#define MAPS_MAX 4096

/* Keys 0 … the greatest that has rows, those between without as empty bitmaps. */
static tl_status append_64(const tl_dv *dv, tl_arena *scratch, tl_buf *out, tl_error *err)
{
    static const tl_roaring32 empty = {0, NULL, NULL};
    int64_t last = tl_dv_last(dv);
    uint64_t n = last < 0 ? 0 : ((uint64_t)last >> 32) + 1;
    if (n > MAPS_MAX)
        return tl_error_set(err, TL_E_LIMIT, "deletion vector: row %lld is beyond what a data file can have", (long long)last);
    if (append_le(out, MAGIC_64, 4) != TL_OK || append_le(out, n, 8) != TL_OK)
        return tl_nomem(err, "deletion vector");
    uint32_t at = 0;
    for (uint64_t key = 0; key < n; key++) {
        if (append_le(out, key, 4) != TL_OK)
            return tl_nomem(err, "deletion vector");
        TL_TRY(append_map(dv->keys[at] == key ? &dv->maps[at] : &empty, scratch, out, err));
        at += dv->keys[at] == key;
    }
    return TL_OK;
}

static tl_status append_32(const tl_dv *dv, tl_arena *scratch, tl_buf *out, tl_error *err)
{
    static const tl_roaring32 empty = {0, NULL, NULL};
    if (append_be32(out, MAGIC_32) != TL_OK)
        return tl_nomem(err, "deletion vector");
    return append_map(dv->n == 0 ? &empty : &dv->maps[0], scratch, out, err);
}

tl_status tl_dv_encode(const tl_dv *dv, tl_buf *out, int32_t *length, tl_error *err)
{
    size_t start = out->len;
    tl_arena scratch = {0};
    tl_status status = append_be32(out, 0) == TL_OK ? TL_OK : tl_nomem(err, "deletion vector");
    if (status == TL_OK)
        status = dv->bitmap64 ? append_64(dv, &scratch, out, err) : append_32(dv, &scratch, out, err);
    tl_arena_deinit(&scratch);
    TL_TRY(status);
    size_t size = out->len - start - 4;
    if (size > INT32_MAX - FRAME_BYTES)
        return tl_error_set(err, TL_E_LIMIT, "a deletion vector of %zu bytes is too large", size);
    tl_write_be32(out->data + start, (uint32_t)size);
    if (append_be32(out, tl_crc32(0, out->data + start + 4, size)) != TL_OK)
        return tl_nomem(err, "deletion vector");
    *length = (int32_t)(dv->bitmap64 ? size + FRAME_BYTES : size);
    return TL_OK;
}
