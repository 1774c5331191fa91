/*
 * Writing the kind range-bitmap. Option: `chunk-size`, the most bytes of a chunk's further values (16 kb; 0 where a value has one or
 * two bytes).
 */
#include "index/range_bitmap.h"

#define CHUNK_BYTES_DEFAULT (16 << 10)

typedef struct range_writer {
    tl_findex__writer base;
    int64_t chunk_bytes;
    tl_findex__rows rows;
} range_writer;

tl_status tl_range_bitmap__create(const tl_findex__type *type, const tl_options *options, tl_findex__writer **out, tl_error *err)
{
    bool is_narrow = type->repr == TL_FINDEX__BOOL || type->repr == TL_FINDEX__I8 || type->repr == TL_FINDEX__I16;
    int64_t chunk_bytes = is_narrow ? 0 : CHUNK_BYTES_DEFAULT;
    TL_TRY(tl_findex__opt_memory(options, "chunk-size", &chunk_bytes, err));
    range_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "range bitmap");
    w->base = (tl_findex__writer){&tl_findex__range_bitmap, *type};
    w->chunk_bytes = chunk_bytes;
    w->rows.type = *type;
    *out = &w->base;
    return TL_OK;
}

tl_status tl_range_bitmap__add(tl_findex__writer *writer, const tl_column *col, int64_t n, tl_error *err)
{
    return tl_findex__rows_add(&((range_writer *)writer)->rows, col, n, err);
}

int64_t tl_range_bitmap__memory(const tl_findex__writer *writer)
{
    return tl_findex__rows_bytes(&((const range_writer *)writer)->rows);
}

void tl_range_bitmap__free(tl_findex__writer *writer)
{
    tl_findex__rows_deinit(&((range_writer *)writer)->rows);
    tl_free(writer);
}

/* ---- the dictionary ---- */

typedef struct dictionary {
    tl_buf offsets;
    tl_buf chunks;
    tl_buf keys;
    tl_buf key_offsets; /* of the chunk in the making */
    tl_buf chunk_keys;
    int32_t n_chunks;
} dictionary;

static void dictionary_deinit(dictionary *d)
{
    tl_buf_deinit(&d->offsets);
    tl_buf_deinit(&d->chunks);
    tl_buf_deinit(&d->keys);
    tl_buf_deinit(&d->key_offsets);
    tl_buf_deinit(&d->chunk_keys);
}

/* The chunk of the values from `from` on; *to is the first that it does not hold. */
static tl_status put_chunk(const range_writer *w, const uint32_t *sorted, uint32_t from, uint32_t *to, dictionary *d)
{
    const tl_findex__type *type = &w->rows.type;
    bool strings = type->repr == TL_FINDEX__BYTES;
    uint32_t end = from + 1;
    d->key_offsets.len = d->chunk_keys.len = 0;
    for (; end < w->rows.n_values; end++) {
        tl_findex__value value = w->rows.values[sorted[end]];
        if ((int64_t)(d->chunk_keys.len + tl_findex__stored_bytes(type, value)) > w->chunk_bytes ||
            (strings && (int64_t)d->key_offsets.len + 4 > w->chunk_bytes))
            break;
        if (strings)
            TL_TRY(tl_findex__put_i32(&d->key_offsets, (int64_t)d->chunk_keys.len));
        TL_TRY(tl_findex__store(type, value, &d->chunk_keys));
    }
    tl_findex__value first = w->rows.values[sorted[from]];
    TL_TRY(tl_findex__put_i32(&d->offsets, (int64_t)d->chunks.len));
    TL_TRY(tl_buf_append_byte(&d->chunks, 1));
    TL_TRY(tl_findex__store(type, first, &d->chunks));
    TL_TRY(tl_findex__put_i32(&d->chunks, from));
    TL_TRY(tl_findex__put_i32(&d->chunks, (int64_t)d->keys.len));
    TL_TRY(tl_findex__put_i32(&d->chunks, end - from - 1));
    if (strings)
        TL_TRY(tl_findex__put_i32(&d->chunks, (int64_t)d->key_offsets.len));
    TL_TRY(tl_findex__put_i32(&d->chunks, (int64_t)d->chunk_keys.len));
    if (!strings)
        TL_TRY(tl_findex__put_i32(&d->chunks, (int64_t)tl_findex__stored_bytes(type, first)));
    TL_TRY(tl_buf_append(&d->keys, d->key_offsets.data, d->key_offsets.len));
    TL_TRY(tl_buf_append(&d->keys, d->chunk_keys.data, d->chunk_keys.len));
    d->n_chunks++;
    *to = end;
    return TL_OK;
}

static tl_status put_dictionary(const range_writer *w, const uint32_t *sorted, dictionary *d, tl_buf *out)
{
    for (uint32_t from = 0; from < w->rows.n_values;)
        TL_TRY(put_chunk(w, sorted, from, &from, d));
    TL_TRY(tl_findex__put_i32(out, 13));
    TL_TRY(tl_buf_append_byte(out, 1));
    TL_TRY(tl_findex__put_i32(out, d->n_chunks));
    TL_TRY(tl_findex__put_i32(out, (int64_t)d->offsets.len));
    TL_TRY(tl_findex__put_i32(out, (int64_t)d->chunks.len));
    TL_TRY(tl_buf_append(out, d->offsets.data, d->offsets.len));
    TL_TRY(tl_buf_append(out, d->chunks.data, d->chunks.len));
    return tl_buf_append(out, d->keys.data, d->keys.len);
}

/* ---- codes ---- */

/* Rows whose code has one of `bits` set; all that have one with UINT32_MAX. `codes`: of each value. */
static tl_status put_slice(const range_writer *w, const uint32_t *codes, uint32_t bits, uint32_t *scratch, tl_buf *out, tl_error *err)
{
    size_t n = 0;
    for (int64_t i = 0; i < w->rows.n_rows; i++) {
        uint32_t id = w->rows.row_ids[i];
        scratch[n] = (uint32_t)i;
        n += id != TL_FINDEX__NO_VALUE && (bits == UINT32_MAX || (codes[id] & bits) != 0);
    }
    return tl_findex__put_rows(scratch, n, out, err);
}

/* As many slices as the largest code has bits, one at least. Without values the reference's largest code is -1: 64. */
static int32_t slice_count(uint32_t n_values)
{
    return n_values == 0 ? 64 : n_values <= 2 ? 1 : 32 - __builtin_clz(n_values - 1);
}

static tl_status put_codes(const range_writer *w, const uint32_t *codes, tl_buf *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *scratch = tl_alloc(((size_t)w->rows.n_rows + 1) * sizeof *scratch);
    tl_buf body = {0}, places = {0};
    int32_t n = slice_count(w->rows.n_values);
    tl_status status = scratch == NULL ? tl_nomem(err, "range bitmap") : TL_OK;
    if (status == TL_OK)
        status = put_slice(w, codes, UINT32_MAX, scratch, &body, err);
    size_t present = body.len;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        size_t before = body.len;
        status = put_slice(w, codes, i < 32 ? UINT32_C(1) << i : 0, scratch, &body, err);
        if (status == TL_OK && (tl_findex__put_i32(&places, (int64_t)(before - present)) != TL_OK ||
                                tl_findex__put_i32(&places, (int64_t)(body.len - before)) != TL_OK))
            status = tl_nomem(err, "range bitmap");
    }
    if (status == TL_OK && (tl_findex__put_i32(out, 10 + 8 * n) != TL_OK || tl_buf_append_byte(out, 1) != TL_OK ||
                            tl_buf_append_byte(out, (uint8_t)n) != TL_OK || tl_findex__put_i32(out, (int64_t)present) != TL_OK ||
                            tl_findex__put_i32(out, 8 * n) != TL_OK || tl_buf_append(out, places.data, places.len) != TL_OK ||
                            tl_buf_append(out, body.data, body.len) != TL_OK))
        status = tl_nomem(err, "range bitmap");
    tl_buf_deinit(&body);
    tl_buf_deinit(&places);
    return status;
}

/* ---- the whole ---- */

static tl_status put_head(const range_writer *w, const uint32_t *sorted, size_t dictionary_bytes, tl_buf *out)
{
    const tl_findex__rows *rows = &w->rows;
    tl_findex__value least = {0, {NULL, 0}}, greatest = least;
    size_t bytes = 13;
    if (rows->n_values > 0) {
        least = rows->values[sorted[0]];
        greatest = rows->values[sorted[rows->n_values - 1]];
        bytes += tl_findex__stored_bytes(&rows->type, least) + tl_findex__stored_bytes(&rows->type, greatest);
    }
    TL_TRY(tl_findex__put_i32(out, (int64_t)bytes));
    TL_TRY(tl_buf_append_byte(out, 1));
    TL_TRY(tl_findex__put_i32(out, rows->n_rows));
    TL_TRY(tl_findex__put_i32(out, rows->n_values));
    if (rows->n_values > 0) {
        TL_TRY(tl_findex__store(&rows->type, least, out));
        TL_TRY(tl_findex__store(&rows->type, greatest, out));
    }
    return tl_findex__put_i32(out, (int64_t)dictionary_bytes);
}

static tl_status put_index(const range_writer *w, const uint32_t *sorted, const uint32_t *codes, tl_buf *out, tl_error *err)
{
    dictionary d = {.n_chunks = 0};
    tl_buf bytes = {0};
    tl_status status = put_dictionary(w, sorted, &d, &bytes);
    if (status == TL_OK)
        status = put_head(w, sorted, bytes.len, out);
    if (status == TL_OK)
        status = tl_buf_append(out, bytes.data, bytes.len);
    dictionary_deinit(&d);
    tl_buf_deinit(&bytes);
    return status == TL_OK ? put_codes(w, codes, out, err) : tl_nomem(err, "range bitmap");
}

tl_status tl_range_bitmap__finish(tl_findex__writer *writer, tl_buf *out, const char **why, tl_error *err)
{
    const range_writer *w = (range_writer *)writer;
    size_t n = w->rows.n_values;
    (void)why; /* values of the types that it takes all fit */
    TL_CLEANUP(tl_freep) uint32_t *sorted = tl_findex__rows_sort(&w->rows);
    TL_CLEANUP(tl_freep) uint32_t *codes = tl_alloc((n + 1) * sizeof *codes);
    if (sorted == NULL || codes == NULL)
        return tl_nomem(err, "range bitmap");
    for (uint32_t k = 0; k < n; k++)
        codes[sorted[k]] = k;
    return put_index(w, sorted, codes, out, err);
}
