/*
 * Writing the kind bitmap. Options: `version` (2), `index-block-size` (16 kb). The bitmaps lie in the order of the reference's hash
 * table, so that equal files have equal bytes.
 */
#include "index/bitmap_index.h"

#include "types/java_hash.h"

#define BLOCK_BYTES_DEFAULT (16 << 10)

typedef struct bitmap_writer {
    tl_findex__writer base;
    int64_t version;
    int64_t block_bytes;
    tl_findex__rows rows;
} bitmap_writer;

/* What is known of each value when the bitmaps are written. */
typedef struct layout {
    uint32_t *starts;  /* of the rows of each value, and of the NULLs */
    uint32_t *numbers; /* of rows */
    uint32_t *order;   /* values as the hash table gives them */
    int32_t *places;
    int32_t *bytes; /* -1: a single row */
    int32_t null_place;
    int32_t null_bytes;
    tl_buf body;
} layout;

static void layout_deinit(layout *l)
{
    tl_free(l->starts);
    tl_free(l->numbers);
    tl_free(l->order);
    tl_free(l->places);
    tl_free(l->bytes);
    tl_buf_deinit(&l->body);
}

tl_status tl_bitmap_index__create(const tl_findex__type *type, const tl_options *options, tl_findex__writer **out, tl_error *err)
{
    int64_t version = 2, block_bytes = BLOCK_BYTES_DEFAULT;
    TL_TRY(tl_findex__opt_int(options, "version", 1, 2, &version, err));
    TL_TRY(tl_findex__opt_memory(options, "index-block-size", &block_bytes, err));
    bitmap_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "bitmap index");
    w->base = (tl_findex__writer){&tl_findex__bitmap, *type};
    w->version = version;
    w->block_bytes = block_bytes;
    w->rows.type = *type;
    *out = &w->base;
    return TL_OK;
}

tl_status tl_bitmap_index__add(tl_findex__writer *writer, const tl_column *col, int64_t n, tl_error *err)
{
    return tl_findex__rows_add(&((bitmap_writer *)writer)->rows, col, n, err);
}

int64_t tl_bitmap_index__memory(const tl_findex__writer *writer)
{
    return tl_findex__rows_bytes(&((const bitmap_writer *)writer)->rows);
}

void tl_bitmap_index__free(tl_findex__writer *writer)
{
    tl_findex__rows_deinit(&((bitmap_writer *)writer)->rows);
    tl_free(writer);
}

/* ---- places ---- */

static int32_t java_hash(const tl_findex__type *type, tl_findex__value value)
{
    switch (type->repr) {
    case TL_FINDEX__BOOL:
        return value.n != 0 ? 1231 : 1237;
    case TL_FINDEX__I64:
    case TL_FINDEX__F64:
        return tl_java_hash_long(tl_findex__bits(type, value));
    case TL_FINDEX__BYTES:
        return tl_java_hash_string(value.bytes);
    default:
        return (int32_t)tl_findex__bits(type, value);
    }
}

static tl_status hash_order(const tl_findex__rows *rows, uint32_t *order, tl_error *err)
{
    TL_CLEANUP(tl_freep) int32_t *hashes = tl_alloc(((size_t)rows->n_values + 1) * sizeof *hashes);
    if (hashes == NULL)
        return tl_nomem(err, "bitmap index");
    for (uint32_t v = 0; v < rows->n_values; v++)
        hashes[v] = java_hash(&rows->type, rows->values[v]);
    return tl_java_order(hashes, rows->n_values, rows->ends_with_new ? TL_JAVA_COMPUTE_LAST : TL_JAVA_COMPUTE, order, err);
}

/* One bitmap into the body, unless a single row stands for itself. */
static tl_status place_rows(layout *l, uint32_t value, int32_t *place, int32_t *bytes, tl_error *err)
{
    const uint32_t *numbers = l->numbers + l->starts[value];
    size_t n = l->starts[value + 1] - l->starts[value], before = l->body.len;
    *bytes = -1;
    *place = n == 1 ? -1 - (int32_t)numbers[0] : (int32_t)before;
    if (n < 2)
        return TL_OK;
    TL_TRY(tl_findex__put_rows(numbers, n, &l->body, err));
    if (l->body.len > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "bitmap index of more than 2 GB");
    *bytes = (int32_t)(l->body.len - before);
    return TL_OK;
}

static tl_status lay_out(const tl_findex__rows *rows, layout *l, tl_error *err)
{
    size_t n = (size_t)rows->n_values + 1;
    TL_TRY(tl_findex__rows_group(rows, &l->starts, &l->numbers, err));
    l->order = tl_alloc(n * sizeof *l->order);
    l->places = tl_alloc(n * sizeof *l->places);
    l->bytes = tl_alloc(n * sizeof *l->bytes);
    if (l->order == NULL || l->places == NULL || l->bytes == NULL)
        return tl_nomem(err, "bitmap index");
    TL_TRY(hash_order(rows, l->order, err));
    TL_TRY(place_rows(l, rows->n_values, &l->null_place, &l->null_bytes, err));
    for (uint32_t k = 0; k < rows->n_values; k++) {
        uint32_t v = l->order[k];
        TL_TRY(place_rows(l, v, &l->places[v], &l->bytes[v], err));
    }
    return TL_OK;
}

/* ---- blocks of version 2 ---- */

/* Values from `from` on that share a block; a value that is larger than a block has one of its own. */
static uint32_t block_end(const bitmap_writer *w, const uint32_t *sorted, uint32_t from, int64_t *bytes)
{
    uint32_t to = from;
    *bytes = 4;
    for (; to < w->rows.n_values; to++) {
        int64_t more = 8 + (int64_t)tl_findex__stored_bytes(&w->rows.type, w->rows.values[sorted[to]]);
        if (to > from && *bytes + more > w->block_bytes)
            break;
        *bytes += more;
    }
    return to;
}

static tl_status put_block(const bitmap_writer *w, const layout *l, const uint32_t *sorted, uint32_t from, uint32_t to, tl_buf *out)
{
    TL_TRY(tl_findex__put_i32(out, to - from));
    for (uint32_t i = from; i < to; i++) {
        uint32_t v = sorted[i];
        TL_TRY(tl_findex__store(&w->rows.type, w->rows.values[v], out));
        TL_TRY(tl_findex__put_i32(out, l->places[v]));
        TL_TRY(tl_findex__put_i32(out, l->bytes[v]));
    }
    return TL_OK;
}

static tl_status put_blocks(const bitmap_writer *w, const layout *l, tl_buf *out)
{
    uint32_t n = w->rows.n_values, n_blocks = 0;
    int64_t bytes = 0, total = 0;
    TL_CLEANUP(tl_freep) uint32_t *sorted = tl_findex__rows_sort(&w->rows);
    if (sorted == NULL)
        return TL_E_NOMEM;
    for (uint32_t from = 0; from < n; from = block_end(w, sorted, from, &bytes))
        n_blocks++;
    TL_TRY(tl_findex__put_i32(out, n_blocks));
    for (uint32_t from = 0; from < n; total += bytes) {
        uint32_t to = block_end(w, sorted, from, &bytes);
        TL_TRY(tl_findex__store(&w->rows.type, w->rows.values[sorted[from]], out));
        TL_TRY(tl_findex__put_i32(out, total));
        from = to;
    }
    TL_TRY(tl_findex__put_i32(out, total));
    for (uint32_t from = 0; from < n;) {
        uint32_t to = block_end(w, sorted, from, &bytes);
        TL_TRY(put_block(w, l, sorted, from, to, out));
        from = to;
    }
    return TL_OK;
}

/* ---- the whole ---- */

/* Bytes of the NULLs' bitmap, which is told even where a single row stands for it. */
static tl_status null_bitmap_bytes(const layout *l, uint32_t value, int32_t *out, tl_error *err)
{
    tl_buf bitmap = {0};
    *out = l->null_bytes;
    if (l->null_bytes >= 0)
        return TL_OK;
    tl_status status = tl_findex__put_rows(l->numbers + l->starts[value], l->starts[value + 1] - l->starts[value], &bitmap, err);
    *out = (int32_t)bitmap.len;
    tl_buf_deinit(&bitmap);
    return status;
}

static tl_status put_index(const bitmap_writer *w, const layout *l, int32_t null_bytes, tl_buf *out)
{
    const tl_findex__rows *rows = &w->rows;
    bool has_nulls = l->starts[rows->n_values + 1] > l->starts[rows->n_values];
    TL_TRY(tl_buf_append_byte(out, (uint8_t)w->version));
    TL_TRY(tl_findex__put_i32(out, rows->n_rows));
    TL_TRY(tl_findex__put_i32(out, rows->n_values));
    TL_TRY(tl_buf_append_byte(out, has_nulls));
    if (has_nulls)
        TL_TRY(tl_findex__put_i32(out, l->null_place));
    if (has_nulls && w->version == 2)
        TL_TRY(tl_findex__put_i32(out, null_bytes));
    for (uint32_t k = 0; w->version == 1 && k < rows->n_values; k++) {
        TL_TRY(tl_findex__store(&rows->type, rows->values[l->order[k]], out));
        TL_TRY(tl_findex__put_i32(out, l->places[l->order[k]]));
    }
    if (w->version == 2)
        TL_TRY(put_blocks(w, l, out));
    return tl_buf_append(out, l->body.data, l->body.len);
}

tl_status tl_bitmap_index__finish(tl_findex__writer *writer, tl_buf *out, const char **why, tl_error *err)
{
    const bitmap_writer *w = (bitmap_writer *)writer;
    layout l = {0};
    int32_t null_bytes = 0;
    if (w->rows.overflow) {
        *why = "a value has more than 64 bits";
        return TL_OK;
    }
    tl_status status = lay_out(&w->rows, &l, err);
    if (status == TL_OK)
        status = null_bitmap_bytes(&l, w->rows.n_values, &null_bytes, err);
    if (status == TL_OK && put_index(w, &l, null_bytes, out) != TL_OK)
        status = tl_nomem(err, "bitmap index");
    layout_deinit(&l);
    return status;
}
