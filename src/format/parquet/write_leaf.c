/*
 * One leaf: a column chunk in the making.
 *
 * Pages end as in parquet-mr: at 20,000 rows or 1 MiB of values in PLAIN form, whichever comes first. So does the choice of
 * the encoding: the first page decides whether the column gets a dictionary (numbers and dictionary together must be smaller
 * than the PLAIN page), and a dictionary that grows over its limit is given up for the pages to come. Two things differ from
 * parquet-mr, both to save work without a larger file: a first page whose values hardly repeat is found out from a sample, and
 * a dictionary is also given up when a later page brings more new values than it saves.
 *
 * Layout of a page V1: header, then compressed together: repetition levels (u32 length, hybrid; if rep_max > 0), definition
 * levels (the same; if def_max > 0), values. V2: header, both levels without lengths and uncompressed, compressed values.
 * Source: parquet-format, README.md "Data Pages", Encodings.md.
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

static uint32_t *page_ids(const tl_pq_leaf *leaf)
{
    return (uint32_t *)(void *)leaf->ids.data;
}

/** Bounds of byte strings in a dictionary page: each value that occurs is looked at once. */
static tl_status bounds_of_ids(tl_pq_leaf *leaf)
{
    if (leaf->page_values == 0 || leaf->width != 0)
        return TL_OK; /* numbers took part when they came */
    uint8_t *is_used = tl_calloc(leaf->dict.count, 1);
    if (is_used == NULL)
        return TL_E_NOMEM;
    const uint32_t *ids = page_ids(leaf);
    int64_t n = (int64_t)(leaf->ids.len / sizeof *ids);
    for (int64_t i = 0; i < n; i++)
        is_used[ids[i]] = 1;
    tl_status status = tl_pq__dict_bounds(&leaf->dict, is_used, &leaf->page_bounds);
    tl_free(is_used);
    return status;
}

/** The page in the making, and those to come, are PLAIN. What the page added to the dictionary is cut off when it is written. */
static tl_status give_up_dictionary(tl_pq_leaf *leaf)
{
    const uint32_t *ids = page_ids(leaf);
    size_t before = leaf->values.len;
    int64_t n = (int64_t)(leaf->ids.len / sizeof *ids);
    TL_TRY(bounds_of_ids(leaf));
    TL_TRY(tl_pq__dict_decode(&leaf->dict, ids, n, &leaf->values));
    if (leaf->bloom.blocks != NULL)
        tl_pq__bloom_add_plain(&leaf->bloom, (tl_bytes_view){leaf->values.data + before, leaf->values.len - before}, n, leaf->width);
    leaf->ids.len = 0;
    leaf->mode = TL_PQ_MODE_PLAIN;
    return TL_OK;
}

/** Room for `count` more numbers behind those of the page. */
static tl_status reserve_ids(tl_pq_leaf *leaf, int64_t count, uint32_t **out)
{
    TL_TRY(tl_buf_reserve(&leaf->ids, (size_t)count * sizeof **out));
    *out = (uint32_t *)(void *)(leaf->ids.data + leaf->ids.len);
    return TL_OK;
}

static tl_status end_ids(tl_pq_leaf *leaf, int64_t count)
{
    leaf->ids.len += (size_t)count * sizeof(uint32_t);
    bool is_too_large = (int64_t)leaf->dict.plain.len > leaf->writer->options.dictionary_bytes;
    return is_too_large ? give_up_dictionary(leaf) : TL_OK;
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
        TL_TRY(reserve_ids(leaf, count, &ids));
        TL_TRY(tl_pq__dict_ids_bytes(&leaf->dict, col, sel, from, count, ids));
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
        TL_TRY(reserve_ids(leaf, count, &ids));
        TL_TRY(tl_pq__dict_ids_fixed(&leaf->dict, dense, count, ids));
        return end_ids(leaf, count);
    }
    size_t before = leaf->values.len;
    TL_TRY(tl_buf_append(&leaf->values, dense, (size_t)bytes));
    add_to_bloom(leaf, before, count);
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
        int64_t n_dense = 0;
        bool fits = tl_pq__dense(leaf, col, sel, from, count, leaf->writer->dense, &dense, &n_dense);
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

static tl_status nomem(const tl_pq_leaf *leaf, tl_error *err)
{
    return tl_error_set(err, TL_E_NOMEM, "out of memory: column '%s'", leaf->path[0]);
}

static tl_status append_failed(const tl_pq_leaf *leaf, tl_status status, tl_error *err)
{
    if (status == TL_E_NOMEM)
        return nomem(leaf, err);
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
        return nomem(leaf, err);
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

/* ---- encoding a page ---- */

/** Levels of one kind; `*bytes` receives their encoded length. */
static tl_status put_level_bytes(tl_pq_leaf *leaf, bool is_def, tl_buf *out)
{
    int width = tl_pq__bit_width(is_def ? leaf->def_max : leaf->rep_max);
    if (!leaf->is_flat) {
        const uint8_t *levels = is_def ? leaf->defs.data : leaf->reps.data;
        return tl_pq__hybrid_u8(levels, leaf->page_levels, width, out);
    }
    if (leaf->validity.len == 0)
        return tl_pq__hybrid_run(1, leaf->page_levels, 1, out);
    return tl_pq__hybrid_bits(leaf->validity.data, leaf->page_levels, out);
}

static tl_status put_levels(tl_pq_leaf *leaf, bool is_def, tl_buf *out, int32_t *bytes)
{
    *bytes = 0;
    if ((is_def ? leaf->def_max : leaf->rep_max) == 0)
        return TL_OK;
    size_t start = out->len;
    uint32_t length = 0;
    bool has_length = !leaf->writer->options.is_v2;
    if (has_length)
        TL_TRY(tl_buf_append(out, &length, sizeof length));
    size_t from = out->len;
    TL_TRY(put_level_bytes(leaf, is_def, out));
    length = (uint32_t)(out->len - from);
    if (has_length)
        tl_write_le32(out->data + start, length);
    *bytes = (int32_t)length;
    return TL_OK;
}

/** Width, then the numbers as hybrid. */
static tl_status put_ids(const tl_pq_leaf *leaf, tl_buf *out)
{
    int width = tl_pq__bit_width(leaf->dict.count == 0 ? 0 : leaf->dict.count - 1);
    TL_TRY(tl_buf_append_byte(out, (uint8_t)width));
    int64_t n = (int64_t)(leaf->ids.len / sizeof(uint32_t));
    return n == 0 ? TL_OK : tl_pq__hybrid_u32(page_ids(leaf), n, width, out);
}

/** Numbers of the first page's values; *out false as soon as the dictionary cannot pay any more. */
static tl_status build_dictionary(tl_pq_leaf *leaf, bool *out)
{
    const uint8_t *p = leaf->values.data;
    const uint8_t *end = p + leaf->values.len;
    tl_pq__dict_reset(&leaf->dict, leaf->width);
    *out = true;
    for (int64_t done = 0; done < leaf->page_values;) {
        int64_t run = TL_MIN(leaf->page_values - done, TL_PQ_RUN_VALUES);
        uint32_t *ids = NULL;
        TL_TRY(reserve_ids(leaf, run, &ids));
        if (leaf->width == 0) {
            TL_TRY(tl_pq__dict_ids_plain(&leaf->dict, &p, end, run, ids));
        } else {
            TL_TRY(tl_pq__dict_ids_fixed(&leaf->dict, p, run, ids));
            p += run * leaf->width;
        }
        leaf->ids.len += (size_t)run * sizeof *ids;
        done += run;
        int64_t bytes = (int64_t)leaf->dict.plain.len;
        if (bytes > leaf->writer->options.dictionary_bytes || bytes >= leaf->page_raw_bytes) {
            *out = false;
            return TL_OK;
        }
    }
    return TL_OK;
}

/**
 * Encode the first page with a dictionary, if that makes it smaller; else `out` is left as it was and the mode is PLAIN. A first
 * page of nulls settles for PLAIN, too: pages with a dictionary must not come after PLAIN ones, for the reference's reader of
 * nested columns cannot read such a chunk (VectorizedRleValuesReader: array index out of bounds).
 */
static tl_status try_dictionary(tl_pq_leaf *leaf, tl_buf *out)
{
    size_t start = out->len;
    bool is_unique = leaf->page_values == 0;
    bool pays = false;
    tl_bytes_view values = {leaf->values.data, leaf->values.len};
    if (!is_unique)
        TL_TRY(tl_pq__looks_unique(values, leaf->page_values, leaf->width, &is_unique));
    if (!is_unique)
        TL_TRY(build_dictionary(leaf, &pays));
    if (pays) {
        TL_TRY(put_ids(leaf, out));
        pays = (int64_t)(out->len - start + leaf->dict.plain.len) < leaf->page_raw_bytes;
    }
    if (!pays) {
        out->len = start;
        leaf->ids.len = 0;
        leaf->mode = TL_PQ_MODE_PLAIN;
        tl_pq__dict_deinit(&leaf->dict);
        if (leaf->bloom.blocks != NULL)
            tl_pq__bloom_add_plain(&leaf->bloom, values, leaf->page_values, leaf->width);
        return TL_OK;
    }
    leaf->mode = TL_PQ_MODE_DICT;
    leaf->values.len = 0;
    return TL_OK;
}

/** Encode a later page with the dictionary; or not, if its numbers and its new values are not smaller than PLAIN. */
static tl_status go_on_with_dictionary(tl_pq_leaf *leaf, tl_buf *out)
{
    size_t start = out->len;
    TL_TRY(put_ids(leaf, out));
    size_t cost = out->len - start + leaf->dict.plain.len - leaf->dict_used_bytes;
    if (leaf->page_values != 0 && (int64_t)cost >= leaf->page_raw_bytes) {
        out->len = start;
        return give_up_dictionary(leaf);
    }
    return bounds_of_ids(leaf);
}

static tl_status put_bits(const uint8_t *values, int64_t n, tl_buf *out)
{
    size_t bytes = tl_bitmap_bytes(n);
    TL_TRY(tl_buf_reserve(out, bytes));
    uint8_t *bits = out->data + out->len;
    memset(bits, 0, bytes);
    for (int64_t i = 0; i < n; i++)
        bits[i >> 3] |= (uint8_t)((values[i] != 0) << (i & 7));
    out->len += bytes;
    return TL_OK;
}

/** Booleans of V2: hybrid with a length before it, as parquet-mr writes it. */
static tl_status put_bit_runs(const uint8_t *values, int64_t n, tl_buf *out)
{
    uint32_t length = 0;
    size_t start = out->len;
    TL_TRY(tl_buf_append(out, &length, sizeof length));
    if (n != 0)
        TL_TRY(tl_pq__hybrid_u8(values, n, 1, out));
    tl_write_le32(out->data + start, (uint32_t)(out->len - start - sizeof length));
    return TL_OK;
}

/** PLAIN, or in V2 what parquet-mr falls back to. */
tl_pq_encoding tl_pq__encoding_without_dictionary(const tl_pq_leaf *leaf)
{
    if (!leaf->writer->options.is_v2)
        return TL_PQ_PLAIN;
    switch (leaf->physical) {
    case TL_PQ_BOOLEAN:
        return TL_PQ_RLE;
    case TL_PQ_INT32:
    case TL_PQ_INT64:
        return TL_PQ_DELTA_BINARY_PACKED;
    case TL_PQ_BYTE_ARRAY:
    case TL_PQ_FIXED_LEN_BYTE_ARRAY:
        return TL_PQ_DELTA_BYTE_ARRAY;
    default:
        return TL_PQ_PLAIN;
    }
}

static tl_status put_without_dictionary(const tl_pq_leaf *leaf, tl_buf *out)
{
    const void *values = leaf->values.data;
    int64_t n = leaf->page_values;
    switch (tl_pq__encoding_without_dictionary(leaf)) {
    case TL_PQ_RLE:
        return put_bit_runs(values, n, out);
    case TL_PQ_DELTA_BINARY_PACKED:
        return leaf->physical == TL_PQ_INT32 ? tl_pq__put_delta_i32(values, n, out) : tl_pq__put_delta_i64(values, n, out);
    case TL_PQ_DELTA_BYTE_ARRAY:
        return tl_pq__put_delta_byte_array((tl_bytes_view){values, leaf->values.len}, n, leaf->width, out);
    default:
        return leaf->physical == TL_PQ_BOOLEAN ? put_bits(values, n, out) : tl_buf_append(out, values, leaf->values.len);
    }
}

static tl_status put_values(tl_pq_leaf *leaf, tl_buf *out, tl_pq_encoding *encoding)
{
    if (leaf->mode == TL_PQ_MODE_FIRST)
        TL_TRY(try_dictionary(leaf, out));
    else if (leaf->mode == TL_PQ_MODE_DICT)
        TL_TRY(go_on_with_dictionary(leaf, out));
    if (leaf->mode != TL_PQ_MODE_DICT) {
        leaf->n_plain_pages++;
        *encoding = tl_pq__encoding_without_dictionary(leaf);
        return put_without_dictionary(leaf, out);
    }
    leaf->dict_used = leaf->dict.count;
    leaf->dict_used_bytes = leaf->dict.plain.len;
    leaf->n_dict_pages++;
    *encoding = leaf->writer->options.is_v2 ? TL_PQ_RLE_DICTIONARY : TL_PQ_PLAIN_DICTIONARY;
    return TL_OK;
}

/* ---- the page's place and indexes ---- */

static tl_status dup_bound(tl_pq_leaf *leaf, tl_bytes_view v, tl_bytes_view *out)
{
    uint8_t *copy = tl_arena_alloc(&leaf->arena, v.len);
    if (copy == NULL)
        return TL_E_NOMEM;
    if (v.len != 0)
        memcpy(copy, v.data, v.len);
    *out = (tl_bytes_view){copy, v.len};
    return TL_OK;
}

static tl_status index_bounds(tl_pq_leaf *leaf, tl_pq_page *page)
{
    uint8_t scratch[32];
    uint8_t raised[TL_PQ_INDEX_BOUND_BYTES];
    tl_bytes_view min = {0};
    tl_bytes_view max = {0};
    if (!tl_pq__bounds_plain(&leaf->page_bounds, leaf->order, leaf->physical, leaf->width, scratch, &min, &max))
        return TL_OK;
    if (leaf->order == TL_PQ_ORDER_BYTES) {
        min = tl_pq__cut_min(min, leaf->is_utf8);
        max = tl_pq__cut_max(max, leaf->is_utf8, raised);
    }
    TL_TRY(dup_bound(leaf, min, &page->min));
    return dup_bound(leaf, max, &page->max);
}

static tl_status count_levels(tl_pq_leaf *leaf)
{
    int n_reps = leaf->rep_max + 1;
    int64_t counts[512] = {0};
    for (int64_t i = 0; i < leaf->page_levels; i++) {
        counts[leaf->reps.data[i]]++;
        counts[n_reps + leaf->defs.data[i]]++;
    }
    return tl_buf_append(&leaf->histograms, counts, (size_t)(n_reps + leaf->def_max + 1) * sizeof *counts);
}

/** Give the page its place in the chunk; takes `stored` over, also when it fails. */
static tl_status add_page(tl_pq_leaf *leaf, uint8_t *stored, size_t bytes)
{
    if (leaf->n_pages == leaf->page_cap) {
        int64_t cap = TL_MAX(leaf->page_cap * 2, 16);
        tl_pq_page *list = tl_realloc(leaf->page_list, (size_t)cap * sizeof *list);
        if (list == NULL) {
            tl_free(stored);
            return TL_E_NOMEM;
        }
        leaf->page_list = list;
        leaf->page_cap = cap;
    }
    tl_pq_page *page = &leaf->page_list[leaf->n_pages++];
    *page = (tl_pq_page){
        .stored = stored,
        .offset = leaf->stored_bytes,
        .bytes = (int32_t)bytes,
        .first_row = leaf->chunk_rows,
        .null_count = leaf->page_levels - leaf->page_values,
        .is_null = leaf->page_values == 0,
        .string_bytes = leaf->page_string_bytes,
    };
    leaf->stored_bytes += (int64_t)bytes;
    TL_TRY(index_bounds(leaf, page));
    if (!leaf->is_flat)
        TL_TRY(count_levels(leaf));
    return tl_pq__bounds_merge(leaf->order, &leaf->chunk_bounds, &leaf->page_bounds);
}

static void start_page(tl_pq_leaf *leaf)
{
    leaf->chunk_rows += leaf->page_rows;
    leaf->chunk_levels += leaf->page_levels;
    leaf->chunk_values += leaf->page_values;
    leaf->chunk_string_bytes += leaf->page_string_bytes;
    leaf->page_rows = 0;
    leaf->page_levels = 0;
    leaf->page_values = 0;
    leaf->page_raw_bytes = 0;
    leaf->page_string_bytes = 0;
    leaf->values.len = 0;
    leaf->ids.len = 0;
    leaf->validity.len = 0;
    leaf->defs.len = 0;
    leaf->reps.len = 0;
    tl_pq__bounds_reset(&leaf->page_bounds);
}

/** Compress what follows `head` bytes of the encoded page and append header and page to the chunk. */
static tl_status put_page(tl_pq_leaf *leaf, size_t head, tl_pq_page_header *header, tl_error *err)
{
    tl_pq_writer *writer = leaf->writer;
    tl_buf *page = &writer->page;
    tl_buf *stored = page;
    if (page->len > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "column '%s': a page of %zu bytes is too large for Parquet", leaf->path[0], page->len);
    if (writer->compressor != NULL && (head != page->len || !writer->options.is_v2)) {
        stored = &writer->compressed;
        stored->len = 0;
        if (tl_buf_append(stored, page->data, head) != TL_OK)
            return nomem(leaf, err);
        TL_TRY(tl_compress(writer->compressor, (tl_bytes_view){page->data + head, page->len - head}, stored, err));
        header->data.is_compressed = true;
    }
    if (stored->len > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "column '%s': a page of %zu bytes is too large for Parquet", leaf->path[0], stored->len);
    header->uncompressed_bytes = (int32_t)page->len;
    header->compressed_bytes = (int32_t)stored->len;
    header->has_crc = true;
    header->crc = tl_crc32(0, stored->data, stored->len);
    tl_buf *head_bytes = &writer->header;
    head_bytes->len = 0;
    if (tl_pq__put_page_header(header, head_bytes) != TL_OK)
        return nomem(leaf, err);
    size_t total = head_bytes->len + stored->len;
    uint8_t *copy = total > INT32_MAX ? NULL : tl_alloc(total);
    if (copy == NULL)
        return nomem(leaf, err);
    memcpy(copy, head_bytes->data, head_bytes->len);
    memcpy(copy + head_bytes->len, stored->data, stored->len);
    leaf->uncompressed_bytes += (int64_t)(head_bytes->len + page->len);
    return add_page(leaf, copy, total) == TL_OK ? TL_OK : nomem(leaf, err);
}

tl_status tl_pq__leaf_end_page(tl_pq_leaf *leaf, tl_error *err)
{
    if (leaf->page_rows == 0)
        return TL_OK;
    bool is_v2 = leaf->writer->options.is_v2;
    tl_buf *page = &leaf->writer->page;
    page->len = 0;
    if (leaf->page_levels > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "column '%s': more than %d values in one page", leaf->path[0], INT32_MAX);
    tl_pq_page_header header = {.type = is_v2 ? TL_PQ_DATA_PAGE_V2 : TL_PQ_DATA_PAGE};
    header.data = (tl_pq_data_page_header){
        .num_values = (int32_t)leaf->page_levels,
        .def_encoding = leaf->def_max > 0 ? TL_PQ_RLE : TL_PQ_BIT_PACKED,
        .rep_encoding = leaf->rep_max > 0 ? TL_PQ_RLE : TL_PQ_BIT_PACKED,
        .num_nulls = (int32_t)(leaf->page_levels - leaf->page_values),
        .num_rows = (int32_t)leaf->page_rows,
    };
    if (put_levels(leaf, false, page, &header.data.rep_bytes) != TL_OK || put_levels(leaf, true, page, &header.data.def_bytes) != TL_OK)
        return nomem(leaf, err);
    size_t head = is_v2 ? page->len : 0;
    if (put_values(leaf, page, &header.data.encoding) != TL_OK)
        return nomem(leaf, err);
    TL_TRY(put_page(leaf, head, &header, err));
    start_page(leaf);
    return TL_OK;
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
    tl_pq__dict_reset(&leaf->dict, leaf->width);
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
    tl_pq__dict_deinit(&leaf->dict);
    tl_pq__bloom_deinit(&leaf->bloom);
    tl_pq__bounds_deinit(&leaf->page_bounds);
    tl_pq__bounds_deinit(&leaf->chunk_bounds);
    tl_pq__bounds_deinit(&leaf->file_bounds);
    tl_arena_deinit(&leaf->arena);
    free_pages(leaf);
    tl_free(leaf->page_list);
}
