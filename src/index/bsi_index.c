/*
 * Kind bsi: numbers as one bitmap for each bit, those below 0 by their absolute values. int8 version 1, int32 rows, bool and the
 * numbers from 0 on, bool and the numbers below 0; each: int8 1, int64 min, int64 max, bitmap of the rows, int32 slices, bitmaps
 * of the rows that have bit i of (number - min) set.
 * The reference's writer starts its min at 0, so that it is always 0. Java: BitSliceIndexBitmapFileIndex, BitSliceIndexRoaringBitmap.
 */
#include "index/file_index_private.h"

typedef struct half {
    bool is_there;
    int64_t min, max; /* from 0 on */
    tl_roaring32 present;
    int32_t n_slices;
    tl_roaring32 slices[64];
} half;

typedef struct bsi_reader {
    tl_findex__reader base;
    half positive;
    half negative;
} bsi_reader;

typedef struct bsi_writer {
    tl_findex__writer base;
    int64_t *values;
    uint8_t *nulls; /* one byte a row */
    int64_t n_rows, cap;
    bool overflow;
} bsi_writer;

static bool bsi_holds(const tl_type *type, const char **why)
{
    *why = "bsi indexes know integers, decimals, dates, times and timestamps only";
    switch (type->kind) {
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
    case TL_DECIMAL:
    case TL_DATE:
    case TL_TIME:
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return true;
    default:
        return false;
    }
}

/* ---- reading ---- */

/* The bitmaps' sizes are not stored: the index is read as a whole. */
typedef struct rest {
    const bsi_reader *r;
    tl_roaring_input in;
    const uint8_t *start;
} rest;

static tl_status take(rest *c, size_t bytes, const uint8_t **out, tl_error *err)
{
    if (c->in.left < bytes)
        return tl_findex__corrupt(&c->r->base.in, c->in.at - c->start, "the index ends too early", err);
    *out = c->in.at;
    c->in.at += bytes;
    c->in.left -= bytes;
    return TL_OK;
}

static tl_status take_bitmap(rest *c, tl_roaring32 *out, tl_error *err)
{
    long long at = (long long)(c->r->base.in.from + (c->in.at - c->start));
    return tl_error_wrap(err, tl_roaring32_read(&c->in, c->r->base.in.arena, out, err), "byte %lld", at);
}

static tl_status read_half(rest *c, half *h, tl_error *err)
{
    const uint8_t *p = NULL;
    TL_TRY(take(c, 1, &p, err));
    if (p[0] == 0)
        return TL_OK;
    TL_TRY(take(c, 17, &p, err));
    if (p[0] != 1)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u of its numbers is not known", p[0]);
    h->is_there = true;
    h->min = (int64_t)tl_read_be64(p + 1);
    h->max = (int64_t)tl_read_be64(p + 9);
    if (h->min < 0 || h->max < h->min)
        return tl_findex__corrupt(&c->r->base.in, p - c->start, "wrong bounds of the numbers", err);
    TL_TRY(take_bitmap(c, &h->present, err));
    TL_TRY(take(c, 4, &p, err));
    uint32_t n = tl_read_be32(p);
    if (n > 64)
        return tl_findex__corrupt(&c->r->base.in, p - c->start, "more than 64 slices", err);
    h->n_slices = (int32_t)n;
    for (uint32_t i = 0; i < n; i++)
        TL_TRY(take_bitmap(c, &h->slices[i], err));
    return TL_OK;
}

static tl_status bsi_open(tl_findex__reader *reader, tl_error *err)
{
    bsi_reader *r = (bsi_reader *)reader;
    tl_bytes_view view = {NULL, 0};
    const uint8_t *p = NULL;
    TL_TRY(tl_findex__view(&r->base.in, 0, r->base.in.bytes, &view, err));
    rest c = {r, {view.data, view.len}, view.data};
    TL_TRY(take(&c, 5, &p, err));
    if (p[0] != 1)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %u is not known", p[0]);
    int32_t rows = (int32_t)tl_read_be32(p + 1);
    if (rows != r->base.rows)
        return tl_error_set(err, TL_E_CORRUPT, "byte %lld: it has %d rows, the data file %lld", (long long)(r->base.in.from + 1), rows,
                            (long long)r->base.rows);
    TL_TRY(tl_error_wrap(err, read_half(&c, &r->positive, err), "numbers from 0 on"));
    return tl_error_wrap(err, read_half(&c, &r->negative, err), "numbers below 0");
}

static tl_status slice_of(void *ctx, int32_t i, const tl_roaring32 **out, tl_error *err)
{
    (void)err;
    *out = &((half *)ctx)->slices[i];
    return TL_OK;
}

static tl_findex__slices slices_of(const bsi_reader *r, half *h)
{
    return (tl_findex__slices){r->base.rows, &h->present, h->n_slices, slice_of, h};
}

/* Add the rows of a half whose absolute value is less than `v` (or equal to it). */
static tl_status half_less(const bsi_reader *r, half *h, uint64_t v, bool or_equal, tl_row_set *rows, tl_error *err)
{
    if (!h->is_there || v < (uint64_t)h->min)
        return TL_OK;
    if (v > (uint64_t)h->max)
        return tl_row_set_add_roaring(rows, &h->present, err);
    tl_findex__slices slices = slices_of(r, h);
    return tl_findex__slices_less(&slices, v - (uint64_t)h->min, or_equal, rows, err);
}

static uint64_t magnitude(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Add the rows with a number less than `v` (or equal to it). */
static tl_status add_less(bsi_reader *r, int64_t v, bool or_equal, tl_row_set *rows, tl_error *err)
{
    if (v < 0) { /* those whose absolute value is not less */
        tl_row_set more;
        tl_status status = tl_row_set_init(&more, r->base.rows, /* all= */ false, err);
        if (status == TL_OK)
            status = half_less(r, &r->negative, magnitude(v), !or_equal, &more, err);
        if (status == TL_OK && r->negative.is_there)
            status = tl_row_set_add_roaring(rows, &r->negative.present, err);
        if (status == TL_OK)
            tl_row_set_and_not(rows, &more);
        tl_row_set_deinit(&more);
        return status;
    }
    if (r->negative.is_there)
        TL_TRY(tl_row_set_add_roaring(rows, &r->negative.present, err));
    return half_less(r, &r->positive, magnitude(v), or_equal, rows, err);
}

static tl_status add_equal(bsi_reader *r, int64_t v, tl_row_set *rows, tl_error *err)
{
    half *h = v < 0 ? &r->negative : &r->positive;
    if (!h->is_there || magnitude(v) < (uint64_t)h->min || magnitude(v) > (uint64_t)h->max)
        return TL_OK;
    tl_findex__slices slices = slices_of(r, h);
    return tl_findex__slices_equal(&slices, magnitude(v) - (uint64_t)h->min, rows, err);
}

static tl_status add_present(bsi_reader *r, tl_row_set *rows, tl_error *err)
{
    if (r->positive.is_there)
        TL_TRY(tl_row_set_add_roaring(rows, &r->positive.present, err));
    return r->negative.is_there ? tl_row_set_add_roaring(rows, &r->negative.present, err) : TL_OK;
}

/* `below` and `rows` are empty. */
static tl_status find_rows(bsi_reader *r, const tl_findex__ask *ask, tl_row_set *rows, tl_row_set *below, tl_error *err)
{
    if (ask->op == TL_FINDEX__NULL || ask->op == TL_FINDEX__NOT_NULL) {
        TL_TRY(add_present(r, rows, err));
        if (ask->op == TL_FINDEX__NULL)
            tl_row_set_not(rows);
        return TL_OK;
    }
    if (ask->op == TL_FINDEX__RANGE) {
        TL_TRY(ask->has_high ? add_less(r, ask->high.n, !ask->high_open, rows, err) : add_present(r, rows, err));
        if (ask->has_low)
            TL_TRY(add_less(r, ask->low.n, ask->low_open, below, err));
        tl_row_set_and_not(rows, below);
        return TL_OK;
    }
    bool is_in = ask->op == TL_FINDEX__IN;
    for (int64_t i = 0; i < ask->n_values; i++)
        TL_TRY(add_equal(r, ask->values[i].n, is_in ? rows : below, err));
    if (!is_in)
        TL_TRY(add_present(r, rows, err));
    tl_row_set_and_not(rows, below);
    return TL_OK;
}

static tl_status bsi_answer(tl_findex__reader *reader, const tl_findex__ask *ask, tl_findex__answer *out, tl_error *err)
{
    tl_row_set below = {0, NULL};
    TL_TRY(tl_findex__some(reader, out, err));
    tl_status status = tl_row_set_init(&below, reader->rows, /* all= */ false, err);
    if (status == TL_OK)
        status = find_rows((bsi_reader *)reader, ask, &out->rows, &below, err);
    tl_row_set_deinit(&below);
    return status;
}

/* ---- writing ---- */

static tl_status bsi_create(const tl_findex__type *type, const tl_options *options, tl_findex__writer **out, tl_error *err)
{
    (void)options; /* it has none */
    bsi_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "bsi index");
    w->base = (tl_findex__writer){&tl_findex__bsi, *type};
    *out = &w->base;
    return TL_OK;
}

static tl_status bsi_add(tl_findex__writer *writer, const tl_column *col, int64_t n, tl_error *err)
{
    bsi_writer *w = (bsi_writer *)writer;
    if (w->n_rows + n > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "file index of more than %d rows", INT32_MAX);
    if (w->cap - w->n_rows < n) {
        int64_t cap = TL_MAX(w->cap * 2, w->n_rows + n);
        int64_t *values = tl_realloc(w->values, (size_t)cap * sizeof *values);
        w->values = values == NULL ? w->values : values;
        uint8_t *nulls = tl_realloc(w->nulls, (size_t)cap);
        w->nulls = nulls == NULL ? w->nulls : nulls;
        if (values == NULL || nulls == NULL)
            return tl_nomem(err, "bsi index");
        w->cap = cap;
    }
    for (int64_t i = 0; i < n; i++) {
        tl_findex__value value = {0, {NULL, 0}};
        bool is_null = tl_col_is_null(col, i);
        /* The least number has no absolute value of 63 bits; the reference cannot write it either. */
        if (!is_null)
            w->overflow |= !tl_findex__value_at(&w->base.type, col, i, &value) || value.n == INT64_MIN;
        w->values[w->n_rows] = value.n;
        w->nulls[w->n_rows++] = is_null;
    }
    return TL_OK;
}

static int64_t bsi_memory(const tl_findex__writer *writer)
{
    return ((const bsi_writer *)writer)->cap * 9;
}

/* The rows of a half whose numbers have one of `bits` set; all of it with -1. */
static tl_status put_slice(const bsi_writer *w, bool negative, uint64_t bits, uint32_t *scratch, tl_buf *out, tl_error *err)
{
    size_t n = 0;
    for (int64_t i = 0; i < w->n_rows; i++) {
        scratch[n] = (uint32_t)i;
        n += !w->nulls[i] && (w->values[i] < 0) == negative && (bits == UINT64_MAX || (magnitude(w->values[i]) & bits) != 0);
    }
    return tl_findex__put_rows(scratch, n, out, err);
}

static tl_status put_half(const bsi_writer *w, bool negative, uint32_t *scratch, tl_buf *out, tl_error *err)
{
    uint8_t head[17] = {1};
    uint64_t max = 0;
    bool is_there = false;
    for (int64_t i = 0; i < w->n_rows; i++) {
        bool is_of_it = !w->nulls[i] && (w->values[i] < 0) == negative;
        is_there |= is_of_it;
        if (is_of_it)
            max = TL_MAX(max, magnitude(w->values[i]));
    }
    if (tl_buf_append_byte(out, is_there) != TL_OK)
        return tl_nomem(err, "bsi index");
    if (!is_there)
        return TL_OK;
    int32_t n_slices = max == 0 ? 0 : 64 - __builtin_clzll(max);
    tl_write_be64(head + 9, max);
    if (tl_buf_append(out, head, sizeof head) != TL_OK)
        return tl_nomem(err, "bsi index");
    TL_TRY(put_slice(w, negative, UINT64_MAX, scratch, out, err));
    if (tl_findex__put_i32(out, n_slices) != TL_OK)
        return tl_nomem(err, "bsi index");
    for (int32_t i = 0; i < n_slices; i++)
        TL_TRY(put_slice(w, negative, UINT64_C(1) << i, scratch, out, err));
    return TL_OK;
}

static tl_status bsi_finish(tl_findex__writer *writer, tl_buf *out, const char **why, tl_error *err)
{
    const bsi_writer *w = (bsi_writer *)writer;
    if (w->overflow) {
        *why = "a number has more than 63 bits";
        return TL_OK;
    }
    TL_CLEANUP(tl_freep) uint32_t *scratch = tl_alloc(((size_t)w->n_rows + 1) * sizeof *scratch);
    if (scratch == NULL || tl_buf_append_byte(out, 1) != TL_OK || tl_findex__put_i32(out, w->n_rows) != TL_OK)
        return tl_nomem(err, "bsi index");
    TL_TRY(put_half(w, /* negative= */ false, scratch, out, err));
    return put_half(w, /* negative= */ true, scratch, out, err);
}

static void bsi_free(tl_findex__writer *writer)
{
    tl_free(((bsi_writer *)writer)->values);
    tl_free(((bsi_writer *)writer)->nulls);
    tl_free(writer);
}

const tl_findex__kind tl_findex__bsi = {
    .name = "bsi",
    .reader_bytes = sizeof(bsi_reader),
    .holds = bsi_holds,
    .open = bsi_open,
    .answer = bsi_answer,
    .create = bsi_create,
    .add = bsi_add,
    .memory = bsi_memory,
    .finish = bsi_finish,
    .free = bsi_free,
};
