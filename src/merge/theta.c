/*
 * Union of theta sketches (Apache DataSketches, theta family), little-endian:
 *
 *   u8 preamble length in 8-byte words (low 6 bits), u8 serial version (3), u8 family (3: compact; 1, 2: hash tables)
 *   u8 log2 of the nominal size, u8 log2 of the table's size (hash tables), u8 flags, u16 hash of the seed
 *   preamble >= 2: u32 number of hashes, f32 sampling probability
 *   preamble >= 3: u64 theta, a bound that all hashes are below
 *   the hashes, u64 below 2^63
 * Flags: 02 read only, 04 empty, 08 compact, 10 ordered, 20 single item. Without theta it is 2^63 - 1; a sketch of one hash
 * has a preamble of one word.
 *
 * The library inserts the hashes into a table of nominally 4096 entries and lowers theta when that overflows. Whenever it
 * does so, the end is the same as here: all different hashes below the smaller theta, cut down to the 4096 smallest with
 * theta the next one. Source: UnionImpl, CompactOperations of datasketches-java 4.2.
 */
#include <stdlib.h>

#include "base/bits.h"
#include "merge/sketch.h"

#define NOMINAL 4096
#define THETA_MAX ((uint64_t)INT64_MAX)
#define SEED_HASH 0x93cc /* of the library's default seed, 9001 */
#define FLAG_COMPACT 0x08
#define FLAG_ORDERED 0x10
#define FLAG_SINGLE 0x20
#define FLAGS_OUT 0x1a /* read only, compact, ordered */

typedef struct union_state {
    uint64_t theta;
    bool any; /* some hash was seen, or some sketch was not empty */
    uint64_t *hashes;
    size_t n;
    tl_error *err;
} union_state;

static tl_status corrupt(const union_state *u, const char *what)
{
    return tl_error_set(u->err, TL_E_CORRUPT, "theta sketch: %s", what);
}

static tl_status add_hashes(union_state *u, const uint8_t *data, size_t n, bool ordered)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t hash = tl_read_le64(data + 8 * i);
        if (ordered && hash >= u->theta && hash <= THETA_MAX)
            break;
        if (ordered && hash > THETA_MAX)
            return corrupt(u, "a hash is negative");
        if (hash == 0 || hash >= u->theta)
            continue;
        u->hashes[u->n++] = hash;
        u->any = true;
    }
    return TL_OK;
}

static tl_status add_single(union_state *u, tl_bytes_view sketch)
{
    uint64_t hash = tl_read_le64(sketch.data + 8);
    if (hash > THETA_MAX)
        return corrupt(u, "a hash is negative");
    u->any = true;
    if (hash != 0)
        u->hashes[u->n++] = hash;
    return TL_OK;
}

static tl_status add_sketch(union_state *u, tl_bytes_view sketch)
{
    if (sketch.len < 16)
        return TL_OK; /* an empty one has 8 bytes */
    size_t pre = sketch.data[0] & 0x3f;
    uint8_t version = sketch.data[1], family = sketch.data[2], flags = sketch.data[5];
    if (version == 1 || version == 2 || version == 4)
        return tl_error_set(u->err, TL_E_UNSUPPORTED, "theta sketch: serial version %u", version);
    if (version != 3 || family < 1 || family > 3)
        return corrupt(u, "unknown version or family");
    if (pre == 1) {
        bool single = (family == 3 && (flags & 0x1f) == FLAGS_OUT) || (flags & FLAG_SINGLE) != 0;
        return single ? add_single(u, sketch) : TL_OK;
    }
    if (tl_read_le16(sketch.data + 6) != SEED_HASH)
        return corrupt(u, "made with another seed");
    size_t n = tl_read_le32(sketch.data + 8);
    if (pre == 2 && n == 0)
        return TL_OK;
    if (8 * pre > sketch.len || (pre > 2 && tl_read_le64(sketch.data + 16) > THETA_MAX))
        return corrupt(u, "wrong preamble");
    u->theta = pre > 2 ? TL_MIN(u->theta, tl_read_le64(sketch.data + 16)) : u->theta;
    u->any = true;
    bool ordered = (flags & FLAG_ORDERED) != 0;
    if (!ordered && (flags & FLAG_COMPACT) == 0)
        n = sketch.data[4] > 30 ? SIZE_MAX / 16 : (size_t)1 << sketch.data[4];
    if (n > sketch.len / 8 - pre)
        return corrupt(u, "cut off");
    return add_hashes(u, sketch.data + 8 * pre, n, ordered);
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Sorted, different, below theta, and no more than the nominal number. */
static void trim(union_state *u)
{
    size_t n = 0;
    qsort(u->hashes, u->n, sizeof *u->hashes, compare_hashes);
    for (size_t i = 0; i < u->n && n <= NOMINAL; i++)
        if (n == 0 || u->hashes[n - 1] != u->hashes[i])
            u->hashes[n++] = u->hashes[i];
    if (n > NOMINAL)
        u->theta = TL_MIN(u->theta, u->hashes[NOMINAL]);
    u->n = n;
    while (u->n > 0 && u->hashes[u->n - 1] >= u->theta)
        u->n--;
}

static tl_status write_sketch(const union_state *u, tl_buf *out)
{
    bool empty = !u->any || (u->n == 0 && u->theta == THETA_MAX), single = u->n == 1 && u->theta == THETA_MAX;
    uint8_t head[24] = {1, 3, 3, 0, 0, FLAGS_OUT};
    size_t pre = empty ? 1 : u->theta < THETA_MAX ? 3 : u->n > 1 ? 2 : 1;
    head[0] = (uint8_t)pre;
    if (empty)
        head[5] |= 0x04;
    else
        tl_write_le16(head + 6, SEED_HASH);
    if (single)
        head[5] |= FLAG_SINGLE;
    if (pre > 1) {
        float p = 1.0f;
        tl_write_le32(head + 8, (uint32_t)u->n);
        memcpy(head + 12, &p, sizeof p);
    }
    if (pre > 2)
        tl_write_le64(head + 16, u->theta);
    TL_TRY(tl_buf_append(out, head, 8 * pre));
    return empty ? TL_OK : tl_buf_append(out, u->hashes, u->n * sizeof *u->hashes);
}

tl_status tl_merge__theta_union(tl_bytes_view a, tl_bytes_view b, tl_buf *out, tl_error *err)
{
    union_state u = {.theta = THETA_MAX, .err = err};
    out->len = 0;
    TL_CLEANUP(tl_freep) uint64_t *hashes = tl_alloc(a.len + b.len + 16);
    if (hashes == NULL)
        return tl_nomem(err, "theta sketch");
    u.hashes = hashes;
    TL_TRY(add_sketch(&u, a));
    TL_TRY(add_sketch(&u, b));
    trim(&u);
    return write_sketch(&u, out) == TL_OK ? TL_OK : tl_nomem(err, "theta sketch");
}
