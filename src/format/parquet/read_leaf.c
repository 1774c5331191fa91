/*
 * Rows of one stored column.
 *
 * Flat leaves (top-level, not repeated) are the fast path: definition levels of an optional one are its validity bitmap, run
 * by run, and values go straight to the column. Nested leaves keep their levels beside the values for read_nested.c; as a row
 * ends only where the next one begins, levels are decoded a little ahead.
 *
 * Rows that are not wanted are skipped: whole pages by the offset index or by the counts in their headers, the rest value by
 * value without being stored.
 */
#include "format/expand.h"
#include "format/parquet/read_private.h"

#define AHEAD_LEVELS 1024

static tl_status corrupt(const char *why, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "%s", why);
}

static bool is_flat(const tl_pq_leaf *leaf)
{
    return !leaf->with_levels;
}

tl_status tl_pq__read_leaf_init(tl_pq_leaf *leaf, tl_pq_file *file, const tl_pq_node *node, const tl_type *type,
                                bool with_levels, tl_error *err)
{
    *leaf = (tl_pq_leaf){.node = node, .type = type, .with_levels = with_levels};
    if (type != NULL) {
        TL_TRY(tl_pq__conversion(node->el, type, &leaf->conv, err));
        leaf->sink.width = leaf->conv.dst_width;
    }
    tl_pq__pages_init(&leaf->pages, file, node, type == NULL ? NULL : &leaf->conv);
    if (with_levels) {
        leaf->ahead_def = tl_calloc(2, AHEAD_LEVELS);
        if (leaf->ahead_def == NULL)
            return tl_nomem(err, "levels");
        leaf->ahead_rep = leaf->ahead_def + AHEAD_LEVELS;
    }
    return TL_OK;
}

void tl_pq__read_leaf_deinit(tl_pq_leaf *leaf)
{
    tl_pq__pages_deinit(&leaf->pages);
    tl_pq__values_deinit(&leaf->values);
    tl_pq__sink_deinit(&leaf->sink);
    tl_buf_deinit(&leaf->def_unpacked);
    tl_buf_deinit(&leaf->rep_unpacked);
    tl_free(leaf->ahead_def);
    tl_free(leaf->validity);
    tl_free(leaf->def);
    tl_free(leaf->rep);
}

tl_status tl_pq__read_leaf_open_group(tl_pq_leaf *leaf, int32_t group, const tl_pq_offset_index *index, tl_error *err)
{
    leaf->row = leaf->page_left = leaf->ahead_pos = leaf->ahead_n = 0;
    leaf->group_rows = leaf->pages.file->meta.row_groups[group].num_rows;
    return tl_pq__pages_open(&leaf->pages, group, index, err);
}

/* ---- pages ---- */

static int level_width(int level_max)
{
    return level_max == 0 ? 0 : 32 - __builtin_clz((unsigned)level_max);
}

static uint8_t reverse_bits(uint8_t b)
{
    b = (uint8_t)((b & 0xf0) >> 4 | (b & 0x0f) << 4);
    b = (uint8_t)((b & 0xcc) >> 2 | (b & 0x33) << 2);
    return (uint8_t)((b & 0xaa) >> 1 | (b & 0x55) << 1);
}

/* BIT_PACKED levels become one bit-packed group of the usual order: of one bit, or of whole bytes. */
static tl_status open_msb_levels(tl_pq_rle *rle, tl_bytes_view bytes, int width, int64_t n, tl_buf *buf, tl_error *err)
{
    size_t out_bytes = width == 1 ? bytes.len : (size_t)n;
    buf->len = 0;
    if (tl_buf_reserve(buf, out_bytes + TL_PQ_SLACK) != TL_OK)
        return tl_nomem(err, "levels");
    if (width == 1)
        for (size_t i = 0; i < bytes.len; i++)
            buf->data[i] = reverse_bits(bytes.data[i]);
    else
        tl_pq__unpack_u8_msb(bytes.data, width, 0, n, buf->data);
    *rle = (tl_pq_rle){
        .p = buf->data, .end = buf->data, .width = width == 1 ? 1 : 8, .is_packed = true, .left = n, .packed = buf->data};
    return TL_OK;
}

static tl_status open_levels(const tl_pq_page *page, tl_pq_encoding encoding, int level_max, tl_bytes_view bytes,
                             tl_pq_rle *rle, tl_buf *buf, tl_error *err)
{
    int width = level_width(level_max);
    if (page->header.type == TL_PQ_DATA_PAGE && encoding == TL_PQ_BIT_PACKED && level_max > 0)
        return open_msb_levels(rle, bytes, width, page->header.data.num_values, buf, err);
    tl_pq__rle_init(rle, bytes, width);
    return TL_OK;
}

/* Read the peeked page and make it the current one. */
static tl_status load_page(tl_pq_leaf *leaf, tl_error *err)
{
    tl_pq_page page;
    TL_TRY(tl_pq__pages_load(&leaf->pages, &page, err));
    const tl_pq_data_page_header *header = &page.header.data;
    TL_TRY(open_levels(&page, header->rep_encoding, leaf->node->rep, page.rep, &leaf->rep_rle, &leaf->rep_unpacked, err));
    TL_TRY(open_levels(&page, header->def_encoding, leaf->node->def, page.def, &leaf->def_rle, &leaf->def_unpacked, err));
    leaf->page_left = header->num_values;
    if (leaf->type == NULL)
        return TL_OK;
    return tl_pq__values_open(&leaf->values, &leaf->conv, leaf->node->el, &page,
                              leaf->pages.is_dictionary_loaded ? &leaf->pages.dictionary : NULL, err);
}

/* The next page with values becomes current; *more is false at the end of the chunk. */
static tl_status next_page(tl_pq_leaf *leaf, bool *more, tl_error *err)
{
    *more = true;
    while (leaf->page_left == 0) {
        TL_TRY(tl_pq__pages_peek(&leaf->pages, more, err));
        if (!*more)
            return TL_OK;
        TL_TRY(load_page(leaf, err));
    }
    return TL_OK;
}

/* Go to the page that holds `row`, dropping the current one; the offset index is there. */
static tl_status seek_page(tl_pq_leaf *leaf, int64_t row, tl_error *err)
{
    int64_t first_row;
    TL_TRY(tl_pq__pages_seek(&leaf->pages, row, &first_row, err));
    if (first_row > row || first_row < leaf->row)
        return corrupt("offset index does not fit the pages", err);
    leaf->page_left = leaf->ahead_pos = leaf->ahead_n = 0;
    leaf->row = first_row;
    return TL_OK;
}

/* ---- flat ---- */

static tl_status flat_levels(tl_pq_leaf *leaf, int64_t n, int64_t *ones, tl_error *err)
{
    *ones = 0;
    if (leaf->node->def == 0)
        *ones = n;
    else if (!tl_pq__rle_bitmap(&leaf->def_rle, n, leaf->validity, leaf->n_slots, ones))
        return corrupt("page ends before its last definition level", err);
    return TL_OK;
}

static tl_status flat_read(tl_pq_leaf *leaf, int64_t n, tl_error *err)
{
    for (int64_t k; n > 0; n -= k) {
        bool more;
        TL_TRY(next_page(leaf, &more, err));
        if (!more)
            return corrupt("column chunk has fewer rows than its row group", err);
        k = TL_MIN(n, leaf->page_left);
        int64_t ones;
        TL_TRY(flat_levels(leaf, k, &ones, err));
        TL_TRY(tl_pq__values_read(&leaf->values, ones, &leaf->sink, err));
        leaf->n_slots += k;
        leaf->page_left -= k;
        leaf->row += k;
    }
    return TL_OK;
}

static tl_status flat_skip_in_page(tl_pq_leaf *leaf, int64_t n, tl_error *err)
{
    int64_t ones = n;
    if (leaf->node->def != 0) {
        ones = 0;
        if (!tl_pq__rle_skip_ones(&leaf->def_rle, n, &ones))
            return corrupt("page ends before its last definition level", err);
    }
    leaf->page_left -= n;
    leaf->row += n;
    return tl_pq__values_skip(&leaf->values, ones, err);
}

/* Drop the rest of the page: what is left of it is never decoded. */
static void flat_drop_page(tl_pq_leaf *leaf)
{
    leaf->row += leaf->page_left;
    leaf->page_left = 0;
}

static tl_status flat_skip(tl_pq_leaf *leaf, int64_t n, tl_error *err)
{
    const int64_t target = leaf->row + n;
    if (leaf->page_left <= n)
        flat_drop_page(leaf);
    if (leaf->page_left == 0 && leaf->pages.index != NULL && leaf->row < target)
        TL_TRY(seek_page(leaf, target, err));
    while (leaf->row < target) {
        if (leaf->page_left > 0) {
            TL_TRY(flat_skip_in_page(leaf, TL_MIN(target - leaf->row, leaf->page_left), err));
            continue;
        }
        bool more;
        TL_TRY(tl_pq__pages_peek(&leaf->pages, &more, err));
        if (!more)
            return corrupt("column chunk has fewer rows than its row group", err);
        int64_t rows = leaf->pages.header.data.num_values;
        if (leaf->row + rows > target) {
            TL_TRY(load_page(leaf, err));
        } else {
            tl_pq__pages_skip(&leaf->pages);
            leaf->row += rows;
        }
    }
    return TL_OK;
}

/* ---- nested ---- */

static bool levels_are_valid(const uint8_t *levels, int64_t n, uint8_t max)
{
    uint8_t top = 0;
    for (int64_t i = 0; i < n; i++)
        top = TL_MAX(top, levels[i]);
    return top <= max;
}

/* Decode the next levels of the chunk; *more is false at its end. The ones before must be used up. */
static tl_status fill_ahead(tl_pq_leaf *leaf, bool *more, tl_error *err)
{
    TL_TRY(next_page(leaf, more, err));
    if (!*more)
        return TL_OK;
    int64_t n = TL_MIN(leaf->page_left, AHEAD_LEVELS);
    const tl_pq_node *node = leaf->node;
    if (node->rep > 0 && !tl_pq__rle_u8(&leaf->rep_rle, n, leaf->ahead_rep))
        return corrupt("page ends before its last repetition level", err);
    if (node->def > 0 && !tl_pq__rle_u8(&leaf->def_rle, n, leaf->ahead_def))
        return corrupt("page ends before its last definition level", err);
    if (!levels_are_valid(leaf->ahead_rep, n, node->rep) || !levels_are_valid(leaf->ahead_def, n, node->def))
        return corrupt("level above the column's highest", err);
    leaf->ahead_pos = 0;
    leaf->ahead_n = n;
    leaf->page_left -= n;
    return TL_OK;
}

/*
 * How many of the levels decoded ahead belong to the rows up to the `rows`-th from here. *rows goes down by the rows that
 * begin among them; *is_end tells that the next level begins a further row.
 */
static int64_t take_levels(const tl_pq_leaf *leaf, int64_t *rows, bool *is_end)
{
    const uint8_t *rep = leaf->ahead_rep + leaf->ahead_pos;
    int64_t n = leaf->ahead_n - leaf->ahead_pos, begins = 0;
    for (int64_t i = 0; i < n; i++)
        begins += rep[i] == 0;
    if (begins <= *rows) {
        *rows -= begins;
        *is_end = false;
        return n;
    }
    /* Not `for (…; left > 0 || rep[i] != 0; i++)`: gcc 12 takes that for strlen(). */
    int64_t i = 0;
    for (int64_t left = *rows; rep[i] != 0 || left-- > 0;)
        i++;
    *rows = 0;
    *is_end = true;
    return i;
}

static int64_t count_values(const tl_pq_leaf *leaf, int64_t n)
{
    const uint8_t *def = leaf->ahead_def + leaf->ahead_pos, max = leaf->node->def;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += def[i] == max;
    return count;
}

static tl_status append_levels(tl_pq_leaf *leaf, int64_t n, tl_error *err)
{
    if (leaf->levels_cap - leaf->n_levels < n) {
        int64_t cap = TL_MAX(leaf->levels_cap * 2, leaf->n_levels + n);
        if (leaf->n_levels + n > TL_PQ_BATCH_LEVELS_MAX)
            return tl_error_set(err, TL_E_LIMIT, "more than %lld elements in one batch", (long long)TL_PQ_BATCH_LEVELS_MAX);
        uint8_t *def = tl_realloc(leaf->def, (size_t)cap + TL_PQ_SLACK);
        if (def == NULL)
            return tl_nomem(err, "levels");
        leaf->def = def;
        uint8_t *rep = tl_realloc(leaf->rep, (size_t)cap + TL_PQ_SLACK);
        if (rep == NULL)
            return tl_nomem(err, "levels");
        leaf->rep = rep;
        leaf->levels_cap = cap;
    }
    memcpy(leaf->def + leaf->n_levels, leaf->ahead_def + leaf->ahead_pos, (size_t)n);
    memcpy(leaf->rep + leaf->n_levels, leaf->ahead_rep + leaf->ahead_pos, (size_t)n);
    leaf->n_levels += n;
    return TL_OK;
}

/* Read or skip `n` rows from the current position, which is the beginning of a row. */
static tl_status nested_pass(tl_pq_leaf *leaf, int64_t n, bool keep, tl_error *err)
{
    int64_t rows = n;
    for (bool is_end = false; !is_end && n > 0;) {
        if (leaf->ahead_pos == leaf->ahead_n) {
            bool more;
            if (rows == 0 && leaf->node->rep == 0)
                break;
            TL_TRY(fill_ahead(leaf, &more, err));
            if (!more && rows > 0)
                return corrupt("column chunk has fewer rows than its row group", err);
            if (!more)
                break;
        }
        if (rows == n && leaf->ahead_rep[leaf->ahead_pos] != 0)
            return corrupt("a row begins with a repetition level other than 0", err);
        int64_t k = take_levels(leaf, &rows, &is_end), values = count_values(leaf, k);
        if (keep)
            TL_TRY(append_levels(leaf, k, err));
        leaf->ahead_pos += k;
        if (leaf->type != NULL)
            TL_TRY(keep ? tl_pq__values_read(&leaf->values, values, &leaf->sink, err)
                        : tl_pq__values_skip(&leaf->values, values, err));
    }
    leaf->row += n;
    return TL_OK;
}

/* Rows of a page whose header tells them; -1 otherwise. */
static int64_t rows_of_header(const tl_pq_leaf *leaf)
{
    const tl_pq_page_header *header = &leaf->pages.header;
    if (leaf->node->rep == 0)
        return header->data.num_values;
    return header->type == TL_PQ_DATA_PAGE_V2 ? header->data.num_rows : -1;
}

/* With an index: leave the current page if `row` lies behind it. */
static tl_status nested_seek(tl_pq_leaf *leaf, int64_t row, tl_error *err)
{
    const tl_pq_offset_index *index = leaf->pages.index;
    int32_t next = leaf->pages.index_next;
    bool is_behind = next < index->n_pages && index->pages[next].first_row <= row;
    return is_behind ? seek_page(leaf, row, err) : TL_OK;
}

static tl_status nested_skip(tl_pq_leaf *leaf, int64_t n, tl_error *err)
{
    const int64_t target = leaf->row + n;
    if (leaf->pages.index != NULL && n > 0)
        TL_TRY(nested_seek(leaf, target, err));
    while (leaf->row < target && leaf->page_left == 0 && leaf->ahead_pos == leaf->ahead_n) {
        bool more;
        TL_TRY(tl_pq__pages_peek(&leaf->pages, &more, err));
        int64_t rows = more ? rows_of_header(leaf) : -1;
        if (rows < 0 || leaf->row + rows > target)
            break;
        tl_pq__pages_skip(&leaf->pages);
        leaf->row += rows;
    }
    return nested_pass(leaf, target - leaf->row, /* keep= */ false, err);
}

/* ---- batches ---- */

static tl_status begin_batch(tl_pq_leaf *leaf, int64_t n_rows, tl_error *err)
{
    leaf->sink.len = leaf->sink.data_len = 0;
    leaf->n_slots = leaf->n_levels = 0;
    if (leaf->type != NULL && is_flat(leaf))
        TL_TRY(tl_pq__sink_reserve(&leaf->sink, n_rows, err));
    if (!is_flat(leaf) || leaf->node->def == 0)
        return TL_OK;
    size_t bytes = tl_bitmap_bytes(n_rows) + sizeof(uint64_t);
    if (leaf->validity_cap < bytes) {
        tl_free(leaf->validity);
        leaf->validity_cap = 0;
        leaf->validity = tl_alloc_aligned(bytes);
        if (leaf->validity == NULL)
            return tl_nomem(err, "validity");
        leaf->validity_cap = bytes;
    }
    memset(leaf->validity, 0, bytes);
    return TL_OK;
}

static tl_status read_ranges(tl_pq_leaf *leaf, const tl_row_ranges *rows, tl_error *err)
{
    for (size_t i = 0; i < rows->n; i++) {
        int64_t gap = rows->items[i].from - leaf->row, n = rows->items[i].to - rows->items[i].from;
        if (is_flat(leaf)) {
            TL_TRY(flat_skip(leaf, gap, err));
            TL_TRY(flat_read(leaf, n, err));
        } else {
            TL_TRY(nested_skip(leaf, gap, err));
            TL_TRY(nested_pass(leaf, n, /* keep= */ true, err));
        }
    }
    return TL_OK;
}

tl_status tl_pq__read_leaf_rows(tl_pq_leaf *leaf, const tl_row_ranges *rows, int64_t n_rows, tl_error *err)
{
    char path[TL_PQ_PATH_BYTES];
    tl_status status = begin_batch(leaf, n_rows, err);
    if (status == TL_OK)
        status = read_ranges(leaf, rows, err);
    if (status != TL_OK)
        tl_pq__node_path(leaf->node, path, sizeof path);
    return tl_error_wrap(err, status, "column '%s'", path);
}

tl_status tl_pq__read_leaf_take(tl_pq_leaf *leaf, tl_column **out, tl_error *err)
{
    tl_pq_sink *sink = &leaf->sink;
    int64_t n = leaf->n_slots;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    if (sink->width == 0)
        TL_TRY(tl_pq__sink_reserve_data(sink, 0, err)); /* strings have a data buffer even if all are null */
    TL_TRY(tl_pq__column_shell(leaf->type, n, 0, &col, err));
    col->null_count = n - sink->len;
    if (col->null_count != 0) {
        if (sink->width == 0)
            tl_format__expand_offsets(sink->offsets, leaf->validity, n, sink->len);
        else
            tl_format__expand_fixed(sink->values, sink->width, leaf->validity, n, sink->len);
        col->validity = TL_STEAL(leaf->validity);
        leaf->validity_cap = 0;
    }
    col->values = TL_STEAL(sink->values);
    col->offsets = TL_STEAL(sink->offsets);
    col->data = TL_STEAL(sink->data);
    *sink = (tl_pq_sink){.width = sink->width};
    *out = TL_STEAL(col);
    return TL_OK;
}

tl_status tl_pq__read_leaf_rows_max(tl_pq_leaf *leaf, bool with_dictionary, int64_t *out, tl_error *err)
{
    const tl_pq_column_meta *meta = &leaf->pages.chunk->meta;
    int64_t rows = TL_MAX(leaf->group_rows, 1), levels_per_row = meta->num_values / rows;
    *out = INT64_MAX;
    if (levels_per_row > 1)
        *out = TL_MAX(TL_PQ_BATCH_LEVELS_AIM / levels_per_row, 1);
    if (leaf->type == NULL || leaf->conv.dst_width != 0)
        return TL_OK;
    *out = TL_MIN(*out, TL_MAX(TL_PQ_BATCH_BYTES_AIM / (meta->total_uncompressed_size / rows + 1), 1));
    /* A dictionary repeats strings that the sizes in the footer count once. */
    bool more;
    bool is_large = meta->total_uncompressed_size > TL_PQ_BATCH_BYTES_AIM / TL_BATCH_ROWS;
    if (with_dictionary && is_large && leaf->row == 0 && leaf->page_left == 0) {
        TL_TRY(tl_pq__pages_peek(&leaf->pages, &more, err));
        TL_TRY(tl_pq__pages_load_dictionary(&leaf->pages, err));
    }
    int64_t longest = (int64_t)leaf->pages.dictionary.max_bytes * TL_MAX(levels_per_row, 1);
    if (leaf->pages.is_dictionary_loaded && longest > 0)
        *out = TL_MIN(*out, TL_MAX(TL_PQ_BATCH_BYTES_AIM / longest, 1));
    return TL_OK;
}
