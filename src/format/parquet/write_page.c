/*
 * A page of a leaf: choosing its encoding, encoding and compressing it, and what the indexes say about it.
 *
 * The encoding is chosen as in parquet-mr: the first page decides whether the column gets a dictionary (numbers and dictionary
 * together must be smaller than the PLAIN page), and a dictionary that grows over its limit is given up for the pages to come.
 * Two things differ, both to save work without a larger file: a first page whose values hardly repeat is found out from a
 * sample, and a dictionary is also given up when a later page brings more new values than it saves.
 *
 * Layout of a page V1: header, then compressed together: repetition levels (u32 length, hybrid; if rep_max > 0), definition
 * levels (the same; if def_max > 0), values. V2: header, both levels without lengths and uncompressed, compressed values.
 * Source: parquet-format, README.md "Data Pages", Encodings.md.
 */
#include "format/parquet/write_private.h"

tl_status tl_pq__leaf_nomem(const tl_pq_leaf *leaf, tl_error *err)
{
    return tl_error_set(err, TL_E_NOMEM, "out of memory: column '%s'", leaf->path[0]);
}

/* ---- dictionary numbers of the page in the making ---- */

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
    uint32_t min, max;
    bool has_any = tl_format__dict_bounds(&leaf->dict, is_used, &min, &max);
    tl_free(is_used);
    if (!has_any)
        return TL_OK;
    TL_TRY(tl_pq__bounds_add_bytes(&leaf->page_bounds, tl_format__dict_value(&leaf->dict, min)));
    return tl_pq__bounds_add_bytes(&leaf->page_bounds, tl_format__dict_value(&leaf->dict, max));
}

tl_status tl_pq__leaf_give_up_dictionary(tl_pq_leaf *leaf)
{
    const uint32_t *ids = page_ids(leaf);
    size_t before = leaf->values.len;
    int64_t n = (int64_t)(leaf->ids.len / sizeof *ids);
    TL_TRY(bounds_of_ids(leaf));
    TL_TRY(tl_format__dict_decode(&leaf->dict, ids, n, &leaf->values));
    if (leaf->bloom.blocks != NULL)
        tl_pq__bloom_add_plain(&leaf->bloom, (tl_bytes_view){leaf->values.data + before, leaf->values.len - before}, n, leaf->width);
    leaf->ids.len = 0;
    leaf->mode = TL_PQ_MODE_PLAIN;
    return TL_OK;
}

tl_status tl_pq__leaf_reserve_ids(tl_pq_leaf *leaf, int64_t count, uint32_t **out)
{
    TL_TRY(tl_buf_reserve(&leaf->ids, (size_t)count * sizeof **out));
    *out = (uint32_t *)(void *)(leaf->ids.data + leaf->ids.len);
    return TL_OK;
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
    tl_format__dict_reset(&leaf->dict, leaf->width);
    *out = true;
    for (int64_t done = 0; done < leaf->page_values;) {
        int64_t run = TL_MIN(leaf->page_values - done, TL_PQ_RUN_VALUES);
        uint32_t *ids = NULL;
        TL_TRY(tl_pq__leaf_reserve_ids(leaf, run, &ids));
        if (leaf->width == 0) {
            TL_TRY(tl_format__dict_ids_plain(&leaf->dict, &p, end, run, ids));
        } else {
            TL_TRY(tl_format__dict_ids_fixed(&leaf->dict, p, run, ids));
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

/** Numbers of a short page that differ in one byte are a byte each when they are compressed: a dictionary of them and its numbers are no less. */
static bool is_better_plain(const tl_pq_leaf *leaf, tl_bytes_view values)
{
    const tl_pq_writer *writer = leaf->writer;
    const tl_pq_bounds *bounds = &leaf->page_bounds;
    bool is_wide = leaf->order == TL_PQ_ORDER_INT && bounds->has_value && ((uint64_t)bounds->min ^ (uint64_t)bounds->max) > UINT8_MAX;
    return !is_wide && writer->compressor != NULL && !writer->options.is_v2 && tl_compress_beats_dictionary(writer->compressor, values, leaf->width);
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
        is_unique = is_better_plain(leaf, values);
    if (!is_unique)
        TL_TRY(tl_format__looks_unique(values, leaf->page_values, leaf->width, &is_unique));
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
        leaf->hardly_repeats = leaf->page_values > 0;
        tl_format__dict_deinit(&leaf->dict);
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
        return tl_pq__leaf_give_up_dictionary(leaf);
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

/** Compress what follows `head` bytes of the encoded page and append header and page to the chunk; its values begin at `values`. */
static tl_status put_page(tl_pq_leaf *leaf, size_t head, size_t values, tl_pq_page_header *header, tl_error *err)
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
            return tl_pq__leaf_nomem(leaf, err);
        bool plain = leaf->hardly_repeats && header->data.encoding == TL_PQ_PLAIN;
        int32_t width = plain ? tl_pq__values_width(leaf) : leaf->mode == TL_PQ_MODE_DICT ? TL_WIDTH_PACKED : 0;
        TL_TRY(tl_compress_values(writer->compressor, (tl_bytes_view){page->data + head, page->len - head}, values - head, width, stored, err));
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
        return tl_pq__leaf_nomem(leaf, err);
    size_t total = head_bytes->len + stored->len;
    uint8_t *copy = total > INT32_MAX ? NULL : tl_alloc(total);
    if (copy == NULL)
        return tl_pq__leaf_nomem(leaf, err);
    memcpy(copy, head_bytes->data, head_bytes->len);
    memcpy(copy + head_bytes->len, stored->data, stored->len);
    leaf->uncompressed_bytes += (int64_t)(head_bytes->len + page->len);
    return add_page(leaf, copy, total) == TL_OK ? TL_OK : tl_pq__leaf_nomem(leaf, err);
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
        return tl_pq__leaf_nomem(leaf, err);
    size_t values = page->len, head = is_v2 ? values : 0;
    if (put_values(leaf, page, &header.data.encoding) != TL_OK)
        return tl_pq__leaf_nomem(leaf, err);
    TL_TRY(put_page(leaf, head, values, &header, err));
    start_page(leaf);
    return TL_OK;
}
