/*
 * Kind bitmap: for each value the rows that have it. int8 version, int32 rows, int32 values, bool: there are NULLs, then
 *   version 1  [int32 place of the NULLs], for each value in hash order: value, int32 place; bitmaps
 *   version 2  [int32 place and int32 bytes of the NULLs], int32 blocks, for each: its first value, int32 offset among the blocks;
 *              int32 bytes of the blocks; blocks: int32 entries, each value, int32 place, int32 bytes (-1: see place); bitmaps
 * Values of version 2 ascend, over all blocks. A place below 0 is the one row -1 - place, others are offsets among the bitmaps.
 * Java: BitmapFileIndex, BitmapFileIndexMeta, BitmapFileIndexMetaV2. The writer is in bitmap_index_write.c.
 */
#include "index/bitmap_index.h"

typedef struct entry {
    tl_findex__value value;
    int32_t place;
    int64_t bytes; /* -1: not known, it ends where the bitmap does */
} entry;

typedef struct block {
    tl_findex__value first;
    int32_t offset;
    int32_t n; /* entries; -1: not read yet */
    entry *entries;
} block;

typedef struct bitmap_reader {
    tl_findex__reader base;
    bool has_nulls;
    entry nulls;
    int32_t n_blocks; /* version 1: one, whose entries are in no order */
    block *blocks;
    int64_t blocks_at;
    int64_t body_at;
    bool is_sorted;
} bitmap_reader;

bool tl_bitmap_index__holds(const tl_type *type, const char **why)
{
    *why = "bitmap indexes know no BINARY, DECIMAL or nested values";
    return type->kind != TL_DECIMAL && type->kind != TL_BINARY && type->kind != TL_VARBINARY && type->kind < TL_ARRAY;
}

/* ---- the head ---- */

/* A count from the file is believed as far as there are bytes for it. */
static tl_status alloc_entries(const bitmap_reader *r, int32_t n, int64_t at, size_t bytes_each, entry **out, tl_error *err)
{
    if (n > (r->base.in.bytes - at) / (int64_t)bytes_each)
        return tl_findex__corrupt(&r->base.in, at, "more entries than there are bytes", err);
    *out = tl_arena_alloc(r->base.in.arena, ((size_t)n + 1) * sizeof **out);
    return *out == NULL ? tl_nomem(err, "bitmap index") : TL_OK;
}

static tl_status read_entries(bitmap_reader *r, tl_findex__cursor *c, block *b, int32_t n, bool with_bytes, tl_error *err)
{
    TL_TRY(alloc_entries(r, n, c->at, with_bytes ? 9 : 5, &b->entries, err));
    for (int32_t i = 0; i < n; i++) {
        entry *e = &b->entries[i];
        int32_t bytes = -1;
        int64_t at = c->at;
        TL_TRY(tl_findex__take_value(c, &r->base.type, &e->value, err));
        TL_TRY(tl_findex__take_i32(c, &e->place, err));
        if (with_bytes)
            TL_TRY(tl_findex__take_i32(c, &bytes, err));
        e->bytes = bytes;
        if (with_bytes && i > 0 && tl_findex__compare(&r->base.type, b->entries[i - 1].value, e->value) >= 0)
            return tl_findex__corrupt(&r->base.in, at, "values out of order", err);
    }
    b->n = n;
    return TL_OK;
}

static tl_status read_blocks(bitmap_reader *r, tl_findex__cursor *c, tl_error *err)
{
    int32_t bytes = 0;
    TL_TRY(tl_findex__take_count(c, (r->base.in.bytes - c->at) / 5, "number of blocks", &r->n_blocks, err));
    r->blocks = tl_arena_calloc(r->base.in.arena, (size_t)r->n_blocks + 1, sizeof *r->blocks);
    if (r->blocks == NULL)
        return tl_nomem(err, "bitmap index");
    for (int32_t i = 0; i < r->n_blocks; i++) {
        block *b = &r->blocks[i];
        int64_t at = c->at;
        b->n = -1;
        TL_TRY(tl_findex__take_value(c, &r->base.type, &b->first, err));
        TL_TRY(tl_findex__take_count(c, INT32_MAX, "offset of a block", &b->offset, err));
        if (i > 0 && tl_findex__compare(&r->base.type, b[-1].first, b->first) >= 0)
            return tl_findex__corrupt(&r->base.in, at, "blocks out of order", err);
    }
    TL_TRY(tl_findex__take_count(c, INT32_MAX, "size of the blocks", &bytes, err));
    r->blocks_at = c->at;
    r->body_at = c->at + bytes;
    return TL_OK;
}

static tl_status bitmap_open(tl_findex__reader *reader, tl_error *err)
{
    bitmap_reader *r = (bitmap_reader *)reader;
    tl_findex__cursor c = tl_findex__cursor_at(&r->base.in, 0);
    uint8_t version = 0, has_nulls = 0;
    int32_t rows = 0, n_values = 0, bytes = -1;
    TL_TRY(tl_findex__take_u8(&c, &version, err));
    if (version != 1 && version != 2)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u is not known", version);
    TL_TRY(tl_findex__take_i32(&c, &rows, err));
    if (rows != r->base.rows)
        return tl_error_set(err, TL_E_CORRUPT, "byte %lld: it has %d rows, the data file %lld", (long long)(r->base.in.from + 1), rows,
                            (long long)r->base.rows);
    TL_TRY(tl_findex__take_count(&c, rows, "number of values", &n_values, err));
    TL_TRY(tl_findex__take_u8(&c, &has_nulls, err));
    r->has_nulls = has_nulls != 0;
    if (r->has_nulls)
        TL_TRY(tl_findex__take_i32(&c, &r->nulls.place, err));
    if (r->has_nulls && version == 2)
        TL_TRY(tl_findex__take_i32(&c, &bytes, err));
    r->nulls.bytes = bytes;
    r->is_sorted = version == 2;
    if (version == 2)
        return read_blocks(r, &c, err);
    r->n_blocks = 1;
    if ((r->blocks = tl_arena_calloc(r->base.in.arena, 1, sizeof *r->blocks)) == NULL)
        return tl_nomem(err, "bitmap index");
    TL_TRY(read_entries(r, &c, r->blocks, n_values, /* with_bytes= */ false, err));
    r->body_at = c.at;
    return TL_OK;
}

/* ---- one value ---- */

static tl_status load_block(bitmap_reader *r, block *b, tl_error *err)
{
    if (b->n >= 0)
        return TL_OK;
    int32_t n = 0;
    tl_findex__cursor c = tl_findex__cursor_at(&r->base.in, r->blocks_at + b->offset);
    if (c.at >= r->body_at)
        return tl_findex__corrupt(&r->base.in, c.at, "a block behind the last one", err);
    TL_TRY(tl_findex__take_count(&c, INT32_MAX, "entries of a block", &n, err));
    TL_TRY(read_entries(r, &c, b, n, /* with_bytes= */ true, err));
    if (n == 0 || tl_findex__compare(&r->base.type, b->entries[0].value, b->first) != 0)
        return tl_findex__corrupt(&r->base.in, r->blocks_at + b->offset, "a block that begins with another value than told", err);
    return TL_OK;
}

/* NULL: no row has the value. */
static tl_status find_entry(bitmap_reader *r, tl_findex__value value, const entry **out, tl_error *err)
{
    *out = NULL;
    for (int32_t i = 0; !r->is_sorted && i < r->blocks[0].n; i++) {
        if (tl_findex__compare(&r->base.type, r->blocks[0].entries[i].value, value) == 0)
            *out = &r->blocks[0].entries[i];
    }
    int32_t low = 0, high = r->is_sorted ? r->n_blocks : 0; /* blocks before `low` begin at or before the value */
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        if (tl_findex__compare(&r->base.type, r->blocks[mid].first, value) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return TL_OK;
    block *b = &r->blocks[low - 1];
    TL_TRY(load_block(r, b, err));
    for (int32_t from = 0, to = b->n; from < to;) {
        int32_t mid = from + (to - from) / 2;
        int order = tl_findex__compare(&r->base.type, b->entries[mid].value, value);
        if (order == 0) {
            *out = &b->entries[mid];
            return TL_OK;
        }
        if (order < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return TL_OK;
}

static tl_status add_rows(bitmap_reader *r, const entry *e, tl_row_set *rows, tl_error *err)
{
    tl_roaring32 bitmap;
    if (e->place < 0) {
        int64_t row = -1 - (int64_t)e->place;
        if (row >= r->base.rows)
            return tl_error_set(err, TL_E_CORRUPT, "row %lld of a file of %lld rows", (long long)row, (long long)r->base.rows);
        tl_row_set_add(rows, row);
        return TL_OK;
    }
    int64_t at = r->body_at + e->place;
    TL_TRY(tl_findex__roaring(&r->base.in, at, e->bytes < 0 ? r->base.in.bytes - at : e->bytes, &bitmap, err));
    return tl_row_set_add_roaring(rows, &bitmap, err);
}

static tl_status bitmap_answer(tl_findex__reader *reader, const tl_findex__ask *ask, tl_findex__answer *out, tl_error *err)
{
    bitmap_reader *r = (bitmap_reader *)reader;
    bool negated = ask->op == TL_FINDEX__NOT_IN || ask->op == TL_FINDEX__NOT_NULL;
    bool of_values = ask->op == TL_FINDEX__IN || ask->op == TL_FINDEX__NOT_IN;
    if (ask->op == TL_FINDEX__RANGE)
        return TL_OK;
    TL_TRY(tl_findex__some(reader, out, err));
    for (int64_t i = 0; of_values && i < ask->n_values; i++) {
        const entry *e = NULL;
        TL_TRY(find_entry(r, ask->values[i], &e, err));
        if (e != NULL)
            TL_TRY(add_rows(r, e, &out->rows, err));
    }
    if (r->has_nulls && ask->op != TL_FINDEX__IN)
        TL_TRY(add_rows(r, &r->nulls, &out->rows, err));
    if (negated)
        tl_row_set_not(&out->rows);
    return TL_OK;
}

const tl_findex__kind tl_findex__bitmap = {
    .name = "bitmap",
    .reader_bytes = sizeof(bitmap_reader),
    .holds = tl_bitmap_index__holds,
    .open = bitmap_open,
    .answer = bitmap_answer,
    .create = tl_bitmap_index__create,
    .add = tl_bitmap_index__add,
    .memory = tl_bitmap_index__memory,
    .finish = tl_bitmap_index__finish,
    .free = tl_bitmap_index__free,
};
