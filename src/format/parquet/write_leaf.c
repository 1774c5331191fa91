/*
 * One leaf: values and levels of a page are gathered, the pages of a chunk kept.
 *
 * Pages end as in parquet-mr: at 20,000 rows or 1 MiB of values in PLAIN form, whichever comes first.
 */
#include "format/parquet/write_private.h"

/* ---- what ends a page ---- */

static bool page_is_full(const tl_pq_leaf *leaf)
{
    const tl_pq_write_options *options = &leaf->writer->options;
    return leaf->page_rows >= options->page_rows || leaf->page_raw_bytes >= options->page_bytes;
}

/** How many of the `count` rows from `from` on still fit into the page; 0: end it first. A page takes at least one row. */
static int64_t rows_that_fit(const tl_pq_leaf *leaf, const tl_column *col, int64_t from, int64_t count)
{
    const tl_pq_write_options *options = &leaf->writer->options;
    int64_t rows = TL_MIN(count, options->page_rows - leaf->page_rows);
    rows = TL_MIN(rows, TL_PQ_RUN_VALUES);
    int64_t room = options->page_bytes - leaf->page_raw_bytes;
    if (leaf->width != 0) {
        rows = TL_MIN(rows, room / leaf->width);
    } else if ((int64_t)col->offsets[from + rows] - col->offsets[from] + 4 * rows > room) {
        /* The sum of lengths grows with the row: find the last row that fits. */
        int64_t low = 0;
        int64_t high = rows;
        while (high - low > 1) {
            int64_t middle = (low + high) / 2;
            bool fits = (int64_t)col->offsets[from + middle] - col->offsets[from] + 4 * middle <= room;
            low = fits ? middle : low;
            high = fits ? high : middle;
        }
        rows = low;
    }
    return rows == 0 && leaf->page_rows == 0 ? 1 : rows;
}

/* ---- values ---- */

static tl_status end_ids(tl_pq_leaf *leaf, int64_t count)
{
    leaf->ids.len += (size_t)count * sizeof(uint32_t);
    bool is_too_large = (int64_t)leaf->dict.plain.len > leaf->writer->options.dictionary_bytes;
    return is_too_large ? tl_pq__leaf_give_up_dictionary(leaf) : TL_OK;
}

static void add_to_bloom(tl_pq_leaf *leaf, size_t values_before, int64_t count)
{
    if (leaf->bloom.blocks == NULL || leaf->mode == TL_PQ_MODE_FIRST)
        return; /* FIRST: when its page is encoded; DICT: the whole dictionary at the end */
    tl_bytes_view added = {leaf->values.data + values_before, leaf->values.len - values_before};
    tl_pq__bloom_add_plain(&leaf->bloom, added, count, leaf->width);
}

/** Rows `sel` (NULL: from, from + 1, …), none of them null. */
static tl_status append_strings(tl_pq_leaf *leaf, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count)
{
    int64_t bytes = 0;
    if (sel == NULL) {
        bytes = (int64_t)col->offsets[from + count] - col->offsets[from];
    } else {
        for (int64_t i = 0; i < count; i++)
            bytes += col->offsets[sel[i] + 1] - col->offsets[sel[i]];
    }
    leaf->page_string_bytes += bytes;
    leaf->page_raw_bytes += bytes + 4 * count;
    leaf->page_values += count;
    if (leaf->mode == TL_PQ_MODE_DICT) {
        uint32_t *ids = NULL;
        TL_TRY(tl_pq__leaf_reserve_ids(leaf, count, &ids));
        TL_TRY(tl_format__dict_ids_bytes(&leaf->dict, col, sel, from, count, ids));
        return end_ids(leaf, count);
    }
    size_t before = leaf->values.len;
    TL_TRY(tl_pq__plain_bytes(col, sel, from, count, &leaf->values));
    add_to_bloom(leaf, before, count);
    return tl_pq__bounds_add_rows(&leaf->page_bounds, col, sel, from, count);
}

static tl_status append_dense(tl_pq_leaf *leaf, const void *dense, int64_t count)
{
    int64_t bytes = count * leaf->width;
    leaf->page_raw_bytes += bytes;
    leaf->page_values += count;
    tl_pq__bounds_add_plain(&leaf->page_bounds, leaf->physical, leaf->width, dense, count);
    if (leaf->mode == TL_PQ_MODE_DICT) {
        uint32_t *ids = NULL;
        TL_TRY(tl_pq__leaf_reserve_ids(leaf, count, &ids));
        TL_TRY(tl_format__dict_ids_fixed(&leaf->dict, dense, count, ids));
        return end_ids(leaf, count);
    }
    size_t before = leaf->values.len;
    if (dense == leaf->values.data + before)
        leaf->values.len += (size_t)bytes;
    else
        TL_TRY(tl_buf_append(&leaf->values, dense, (size_t)bytes));
    add_to_bloom(leaf, before, count);
    return TL_OK;
}

/** Where `count` values are converted to, with slack behind: the page itself if that is where they go. */
static tl_status dense_scratch(tl_pq_leaf *leaf, int64_t count, void **out)
{
    *out = leaf->writer->dense;
    if (leaf->mode == TL_PQ_MODE_DICT)
        return TL_OK;
    TL_TRY(tl_buf_reserve(&leaf->values, (size_t)count * (size_t)leaf->width + TL_PQ_DENSE_SLACK));
    *out = leaf->values.data + leaf->values.len;
    return TL_OK;
}

/**
 * Values of at most TL_PQ_RUN_VALUES rows: `sel`, or those of [from, from + count) that are not null. TL_E_NOMEM, or TL_E_INVALID
 * for a decimal that has more digits than its type; both without a message.
 */
static tl_status append_values(tl_pq_leaf *leaf, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count)
{
    if (leaf->width != 0) {
        const void *dense = NULL;
        void *scratch;
        int64_t n_dense = 0;
        TL_TRY(dense_scratch(leaf, count, &scratch));
        bool fits = tl_pq__dense(leaf, col, sel, from, count, scratch, &dense, &n_dense);
        return fits ? append_dense(leaf, dense, n_dense) : TL_E_INVALID;
    }
    if (sel == NULL && col->validity != NULL && col->null_count != 0) {
        count = tl_pq__valid_rows(col, from, count, leaf->writer->sel);
        sel = leaf->writer->sel;
    }
    return append_strings(leaf, col, sel, from, count);
}

/* ---- rows ---- */

/** Take the validity of a run over; the bitmap is only made when the first null comes. */
static tl_status append_validity(tl_pq_leaf *leaf, const tl_column *col, int64_t from, int64_t count)
{
    bool has_nulls = col->validity != NULL && col->null_count != 0;
    if (leaf->def_max == 0 || (!has_nulls && leaf->validity.len == 0))
        return TL_OK;
    size_t bytes = tl_bitmap_bytes(leaf->page_levels + count);
    TL_TRY(tl_buf_reserve(&leaf->validity, bytes - leaf->validity.len));
    if (leaf->validity.len == 0)
        tl_bitmap_fill(leaf->validity.data, 0, leaf->page_levels, true);
    if (has_nulls)
        tl_bitmap_copy(leaf->validity.data, leaf->page_levels, col->validity, from, count);
    else
        tl_bitmap_fill(leaf->validity.data, leaf->page_levels, count, true);
    leaf->validity.len = bytes;
    return TL_OK;
}

static tl_status append_failed(const tl_pq_leaf *leaf, tl_status status, tl_error *err)
{
    if (status == TL_E_NOMEM)
        return tl_pq__leaf_nomem(leaf, err);
    return tl_error_set(err, status, "column '%s': a decimal has more than %d digits", leaf->path[0], leaf->type->precision);
}

tl_status tl_pq__leaf_append_flat(tl_pq_leaf *leaf, const tl_column *col, int64_t from, int64_t count, tl_error *err)
{
    if (leaf->def_max == 0 && col->validity != NULL && col->null_count != 0 &&
        tl_bitmap_count(col->validity, from, count) != count)
        return tl_error_set(err, TL_E_INVALID, "column '%s' is NOT NULL, but a value is null", leaf->path[0]);
    while (count > 0) {
        int64_t rows = rows_that_fit(leaf, col, from, count);
        if (rows == 0) {
            TL_TRY(tl_pq__leaf_end_page(leaf, err));
            continue;
        }
        tl_status status = append_validity(leaf, col, from, rows);
        if (status == TL_OK)
            status = append_values(leaf, col, /* sel= */ NULL, from, rows);
        if (status != TL_OK)
            return append_failed(leaf, status, err);
        leaf->page_rows += rows;
        leaf->page_levels += rows;
        from += rows;
        count -= rows;
        if (page_is_full(leaf))
            TL_TRY(tl_pq__leaf_end_page(leaf, err));
    }
    return TL_OK;
}

tl_status tl_pq__leaf_append_nested(tl_pq_leaf *leaf, const tl_column *col, const uint32_t *sel, int64_t values, const uint8_t *reps,
                                    const uint8_t *defs, int64_t levels, int64_t rows, tl_error *err)
{
    if (tl_buf_append(&leaf->defs, defs, (size_t)levels) != TL_OK || tl_buf_append(&leaf->reps, reps, (size_t)levels) != TL_OK)
        return tl_pq__leaf_nomem(leaf, err);
    for (int64_t done = 0; done < values;) {
        int64_t run = TL_MIN(values - done, TL_PQ_RUN_VALUES);
        tl_status status = append_values(leaf, col, sel + done, 0, run);
        if (status != TL_OK)
            return append_failed(leaf, status, err);
        done += run;
    }
    leaf->page_levels += levels;
    leaf->page_rows += rows;
    return page_is_full(leaf) ? tl_pq__leaf_end_page(leaf, err) : TL_OK;
}

/* ---- chunks ---- */

int64_t tl_pq__leaf_bytes(const tl_pq_leaf *leaf)
{
    int64_t levels = leaf->is_flat ? leaf->page_levels / 8 : leaf->page_levels / 4;
    return leaf->stored_bytes + (int64_t)leaf->dict_used_bytes + leaf->page_raw_bytes + levels;
}

static void free_pages(tl_pq_leaf *leaf)
{
    for (int64_t i = 0; i < leaf->n_pages; i++)
        tl_free(leaf->page_list[i].stored);
    leaf->n_pages = 0;
    leaf->stored_bytes = 0;
}

tl_status tl_pq__leaf_next_chunk(tl_pq_leaf *leaf, tl_error *err)
{
    bool no_dictionary = !leaf->options.dictionary || leaf->physical == TL_PQ_BOOLEAN ||
                         (leaf->physical == TL_PQ_FIXED_LEN_BYTE_ARRAY && !leaf->writer->options.is_v2);
    leaf->mode = no_dictionary ? TL_PQ_MODE_PLAIN : TL_PQ_MODE_FIRST;
    leaf->hardly_repeats = false;
    tl_format__dict_reset(&leaf->dict, leaf->width);
    tl_arena_deinit(&leaf->arena);
    leaf->arena = (tl_arena){0};
    leaf->dict_used = 0;
    leaf->dict_used_bytes = 0;
    free_pages(leaf);
    leaf->histograms.len = 0;
    leaf->chunk_rows = 0;
    leaf->chunk_levels = 0;
    leaf->chunk_values = 0;
    leaf->chunk_string_bytes = 0;
    leaf->uncompressed_bytes = 0;
    leaf->n_dict_pages = 0;
    leaf->n_plain_pages = 0;
    tl_pq__bounds_reset(&leaf->chunk_bounds);
    tl_pq__bloom_deinit(&leaf->bloom);
    if (leaf->options.bloom && leaf->physical != TL_PQ_BOOLEAN)
        return tl_pq__bloom_create(&leaf->options, &leaf->bloom, err);
    return TL_OK;
}

void tl_pq__leaf_deinit(tl_pq_leaf *leaf)
{
    tl_buf *buffers[] = {&leaf->values, &leaf->ids, &leaf->validity, &leaf->defs, &leaf->reps, &leaf->histograms};
    for (size_t i = 0; i < TL_ARRAY_LEN(buffers); i++)
        tl_buf_deinit(buffers[i]);
    tl_format__dict_deinit(&leaf->dict);
    tl_pq__bloom_deinit(&leaf->bloom);
    tl_pq__bounds_deinit(&leaf->page_bounds);
    tl_pq__bounds_deinit(&leaf->chunk_bounds);
    tl_pq__bounds_deinit(&leaf->file_bounds);
    tl_arena_deinit(&leaf->arena);
    free_pages(leaf);
    tl_free(leaf->page_list);
}
