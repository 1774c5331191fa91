/*
 * Pages of one column chunk, forward only.
 *
 * Page: header (Thrift), then compressed_bytes bytes, whose CRC-32 may stand in the header. A v1 page is compressed as a
 * whole: {LE length, repetition levels}, {LE length, definition levels}, values. A v2 page has both levels uncompressed in
 * front. The dictionary page comes first, where there is one.
 *
 * A page that is skipped costs its header only; with an offset index not even that. The dictionary is read when the first page
 * that uses it is. Buffers are reused from page to page and from chunk to chunk.
 */
#include "format/compress_private.h"
#include "format/parquet/read_private.h"

/* Unmapped files: a chunk up to this size is read at once, a larger one piece by piece. */
#define WINDOW_BYTES ((int64_t)8 << 20)
/* Mapped files: what has been read is given back in pieces of this size. A merge of many runs would hold all of their files otherwise. */
#define RELEASE_BYTES ((int64_t)256 << 10)
#define HEADER_BYTES_FIRST 4096
/* Statistics make headers long where strings are. */
#define HEADER_BYTES_MAX ((int64_t)16 << 20)

static tl_status corrupt(const char *why, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "%s", why);
}

static tl_status at_page(const tl_pq_pages *pages, tl_status status, tl_error *err)
{
    return tl_error_wrap(err, status, "page at byte %lld", (long long)pages->pos);
}

void tl_pq__pages_init(tl_pq_pages *pages, tl_pq_file *file, const tl_pq_node *node, const tl_pq_conversion *conv)
{
    *pages = (tl_pq_pages){.file = file, .node = node, .conv = conv};
}

void tl_pq__pages_deinit(tl_pq_pages *pages)
{
    tl_pq__dictionary_deinit(&pages->dictionary);
    tl_free(pages->window);
    tl_free(pages->page);
    *pages = (tl_pq_pages){0};
}

static tl_status codec_of(tl_pq_codec codec, tl_codec *out, tl_error *err)
{
    switch (codec) {
    case TL_PQ_UNCOMPRESSED:
        *out = TL_CODEC_NONE;
        return TL_OK;
    case TL_PQ_SNAPPY:
        *out = TL_CODEC_SNAPPY;
        return TL_OK;
    case TL_PQ_GZIP:
        *out = TL_CODEC_GZIP;
        return TL_OK;
    case TL_PQ_BROTLI:
        *out = TL_CODEC_BROTLI;
        return TL_OK;
    case TL_PQ_LZ4:
        *out = TL_CODEC_LZ4_HADOOP;
        return TL_OK;
    case TL_PQ_ZSTD:
        *out = TL_CODEC_ZSTD;
        return TL_OK;
    case TL_PQ_LZ4_RAW:
        *out = TL_CODEC_LZ4_RAW;
        return TL_OK;
    case TL_PQ_LZO:
        return tl_error_set(err, TL_E_UNSUPPORTED, "compression LZO is not supported");
    }
    return tl_error_set(err, TL_E_UNSUPPORTED, "compression codec %d is not known", (int)codec);
}

tl_status tl_pq__pages_open(tl_pq_pages *pages, int32_t group, const tl_pq_offset_index *index, tl_error *err)
{
    const tl_pq_row_group *row_group = &pages->file->meta.row_groups[group];
    const tl_pq_column_chunk *chunk = &row_group->columns[pages->node->leaf];
    const tl_pq_column_meta *meta = &chunk->meta;
    TL_TRY(codec_of(meta->codec, &pages->codec, err));
    pages->chunk = chunk;
    pages->index = index;
    pages->index_next = 0;
    pages->group_rows = row_group->num_rows;
    pages->values_seen = 0;
    pages->has_peeked = pages->has_dictionary = pages->is_dictionary_loaded = false;
    /* Some writers leave the dictionary's offset at 0 and let data_page_offset name the dictionary page. */
    bool starts_with_dictionary = meta->dictionary_page_offset > 0 && meta->dictionary_page_offset < meta->data_page_offset;
    pages->pos = starts_with_dictionary ? meta->dictionary_page_offset : meta->data_page_offset;
    pages->released = pages->pos;
    tl_pq__dictionary_deinit(&pages->dictionary);
    return TL_OK;
}

/* ---- bytes of the file ---- */

/* `bytes` bytes at `offset`, which lie inside the file, readable TL_PQ_SLACK bytes beyond if `with_slack`. */
static tl_status window_get(tl_pq_pages *pages, int64_t offset, int64_t bytes, const uint8_t **out, tl_error *err)
{
    if (pages->file->in.map != NULL) {
        *out = pages->file->in.map + offset;
        return TL_OK;
    }
    if (offset < pages->window_from || offset + bytes > pages->window_from + pages->window_bytes) {
        const tl_pq_column_meta *meta = &pages->chunk->meta;
        int64_t chunk_end =
            TL_MIN(meta->data_page_offset, pages->file->in.bytes) + TL_MIN(meta->total_compressed_size, pages->file->in.bytes);
        int64_t ahead = pages->index != NULL ? 0 : TL_MIN(chunk_end - offset, WINDOW_BYTES);
        int64_t want = TL_MIN(TL_MAX(bytes, ahead), pages->file->in.bytes - offset);
        pages->window_bytes = 0;
        if ((int64_t)pages->window_cap < want) {
            tl_free(pages->window);
            pages->window_cap = 0;
            pages->window = tl_alloc((size_t)want + TL_PQ_SLACK);
            if (pages->window == NULL)
                return tl_nomem(err, "column chunk");
            pages->window_cap = (size_t)want;
        }
        TL_TRY(tl_file_read_at(pages->file->in.file, offset, pages->window, (size_t)want, err));
        memset(pages->window + want, 0, TL_PQ_SLACK);
        pages->window_from = offset;
        pages->window_bytes = want;
    }
    *out = pages->window + (offset - pages->window_from);
    return TL_OK;
}

static tl_status page_reserve(tl_pq_pages *pages, size_t bytes, tl_error *err)
{
    if (pages->page_cap >= bytes && pages->page != NULL)
        return TL_OK;
    tl_free(pages->page);
    pages->page_cap = 0;
    pages->page = tl_alloc_aligned(bytes + TL_PQ_SLACK);
    if (pages->page == NULL)
        return tl_nomem(err, "page");
    pages->page_cap = bytes;
    return TL_OK;
}

/* ---- headers ---- */

static tl_status read_header(tl_pq_pages *pages, tl_error *err)
{
    int64_t left = pages->file->in.bytes - pages->pos;
    if (pages->pos < 0 || left <= 0)
        return corrupt("page lies outside of the file", err);
    int64_t bytes = HEADER_BYTES_FIRST;
    if (pages->file->in.map != NULL)
        bytes = HEADER_BYTES_MAX;
    else if (pages->index != NULL && pages->index_next < pages->index->n_pages) /* the page itself with the same read */
        bytes = TL_MAX(bytes, pages->index->pages[pages->index_next].compressed_bytes);
    bytes = TL_MIN(left, bytes);
    for (;;) {
        const uint8_t *p;
        TL_TRY(window_get(pages, pages->pos, bytes, &p, err));
        tl_status status =
            tl_pq__read_page_header((tl_bytes_view){p, (size_t)bytes}, &pages->header, &pages->header_bytes, err);
        if (status == TL_OK)
            break;
        if (bytes >= TL_MIN(left, HEADER_BYTES_MAX))
            return status;
        bytes = TL_MIN(bytes * 16, TL_MIN(left, HEADER_BYTES_MAX)); /* it may only have been cut off */
    }
    if (pages->file->in.map != NULL)
        tl_io_count_mapped(pages->header_bytes);
    if ((int64_t)pages->header_bytes + pages->header.compressed_bytes > left)
        return corrupt("page is longer than the file", err);
    if (pages->header.compressed_bytes > TL_PQ_PAGE_BYTES_MAX || pages->header.uncompressed_bytes > TL_PQ_PAGE_BYTES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "page is larger than %lld bytes", (long long)TL_PQ_PAGE_BYTES_MAX);
    return TL_OK;
}

static void step_over(tl_pq_pages *pages)
{
    if (pages->file->in.map != NULL && pages->pos - pages->released >= RELEASE_BYTES) { /* the page at `pos` may still be in use */
        tl_file_release(pages->file->in.file, pages->released, pages->pos - pages->released);
        pages->released = pages->pos;
    }
    pages->pos += (int64_t)pages->header_bytes + pages->header.compressed_bytes;
    pages->has_peeked = false;
}

/* ---- bodies ---- */

static tl_status get_body(tl_pq_pages *pages, const uint8_t **out, tl_error *err)
{
    const tl_pq_page_header *header = &pages->header;
    TL_TRY(window_get(pages, pages->pos, (int64_t)pages->header_bytes + header->compressed_bytes, out, err));
    *out += pages->header_bytes;
    if (pages->file->in.map != NULL)
        tl_io_count_mapped((size_t)header->compressed_bytes);
    if (header->has_crc) {
        uint32_t crc = tl_crc32(0, *out, (size_t)header->compressed_bytes);
        if (crc != header->crc)
            return tl_error_set(err, TL_E_CORRUPT, "checksum of the page is %08x, %08x expected", crc, header->crc);
    }
    return TL_OK;
}

/* Bytes behind an uncompressed page must be readable: true inside of the window, not at the end of a mapped file. */
static bool has_slack(const tl_pq_pages *pages, const uint8_t *end)
{
    return pages->file->in.map == NULL || pages->file->in.map + pages->file->in.bytes - end >= TL_PQ_SLACK;
}

/* `body` decompressed to the page buffer behind `front` bytes that are there already. */
static tl_status decompress(tl_pq_pages *pages, tl_bytes_view body, size_t front, size_t bytes, tl_error *err)
{
    return tl_decompress(pages->codec, body, pages->page + front, bytes, err);
}

static tl_status check_plausible(const tl_pq_pages *pages, tl_bytes_view body, size_t bytes, tl_error *err)
{
    if (tl_codec_is_plausible(pages->codec, body, bytes))
        return TL_OK;
    return tl_error_set(err, TL_E_CORRUPT, "page of %zu bytes cannot have %zu bytes uncompressed", body.len, bytes);
}

/* A page that is compressed as a whole, or not at all. */
static tl_status load_whole(tl_pq_pages *pages, tl_bytes_view *out, tl_error *err)
{
    const uint8_t *body;
    TL_TRY(get_body(pages, &body, err));
    size_t packed = (size_t)pages->header.compressed_bytes, bytes = (size_t)pages->header.uncompressed_bytes;
    if (pages->codec == TL_CODEC_NONE) {
        *out = (tl_bytes_view){body, packed};
        if (has_slack(pages, body + packed))
            return TL_OK;
        TL_TRY(page_reserve(pages, packed, err));
        memcpy(pages->page, body, packed);
        *out = (tl_bytes_view){pages->page, packed};
        return TL_OK;
    }
    TL_TRY(check_plausible(pages, (tl_bytes_view){body, packed}, bytes, err));
    TL_TRY(page_reserve(pages, bytes, err));
    *out = (tl_bytes_view){pages->page, bytes};
    return decompress(pages, (tl_bytes_view){body, packed}, 0, bytes, err);
}

/* Levels of a v1 page: the encoding says whether a length stands in front. */
static tl_status cut_levels_v1(tl_bytes_view *rest, tl_pq_encoding encoding, int level_max, int32_t n, tl_bytes_view *out,
                               tl_error *err)
{
    *out = (tl_bytes_view){rest->data, 0};
    if (level_max == 0)
        return TL_OK;
    size_t bytes;
    if (encoding == TL_PQ_RLE) {
        if (rest->len < 4)
            return corrupt("page ends before its levels", err);
        bytes = tl_read_le32(rest->data);
        rest->data += 4;
        rest->len -= 4;
    } else if (encoding == TL_PQ_BIT_PACKED) {
        int width = 32 - __builtin_clz((unsigned)level_max);
        bytes = ((size_t)n * (size_t)width + 7) / 8;
    } else {
        return tl_error_set(err, TL_E_UNSUPPORTED, "levels with encoding %d", (int)encoding);
    }
    if (bytes > rest->len)
        return corrupt("levels are longer than the page", err);
    *out = (tl_bytes_view){rest->data, bytes};
    rest->data += bytes;
    rest->len -= bytes;
    return TL_OK;
}

static tl_status load_v1(tl_pq_pages *pages, tl_pq_page *out, tl_error *err)
{
    const tl_pq_data_page_header *header = &pages->header.data;
    tl_bytes_view rest;
    TL_TRY(load_whole(pages, &rest, err));
    TL_TRY(cut_levels_v1(&rest, header->rep_encoding, pages->node->rep, header->num_values, &out->rep, err));
    TL_TRY(cut_levels_v1(&rest, header->def_encoding, pages->node->def, header->num_values, &out->def, err));
    out->values = rest;
    return TL_OK;
}

/* Levels and values are brought together in the page buffer. */
static tl_status load_v2(tl_pq_pages *pages, tl_pq_page *out, tl_error *err)
{
    const tl_pq_page_header *header = &pages->header;
    const uint8_t *body;
    TL_TRY(get_body(pages, &body, err));
    size_t rep = (size_t)header->data.rep_bytes, def = (size_t)header->data.def_bytes, levels = rep + def;
    size_t packed = (size_t)header->compressed_bytes, bytes = (size_t)header->uncompressed_bytes;
    if (levels > packed || levels > bytes)
        return corrupt("levels are longer than the page", err);
    packed -= levels;
    bytes -= levels;
    bool is_compressed = header->data.is_compressed && pages->codec != TL_CODEC_NONE;
    if (!is_compressed)
        bytes = packed;
    else if (bytes != 0)
        TL_TRY(check_plausible(pages, (tl_bytes_view){body + levels, packed}, bytes, err));
    TL_TRY(page_reserve(pages, levels + bytes, err));
    memcpy(pages->page, body, is_compressed ? levels : levels + bytes);
    if (is_compressed && bytes != 0) /* a page of nulls may have no values at all */
        TL_TRY(decompress(pages, (tl_bytes_view){body + levels, packed}, levels, bytes, err));
    out->rep = (tl_bytes_view){pages->page, rep};
    out->def = (tl_bytes_view){pages->page + rep, def};
    out->values = (tl_bytes_view){pages->page + levels, bytes};
    return TL_OK;
}

/* ---- dictionary ---- */

static tl_status note_dictionary(tl_pq_pages *pages, tl_error *err)
{
    if (pages->has_dictionary)
        return corrupt("a second dictionary page", err);
    tl_pq_encoding encoding = pages->header.dictionary_encoding;
    if (encoding != TL_PQ_PLAIN && encoding != TL_PQ_PLAIN_DICTIONARY)
        return tl_error_set(err, TL_E_UNSUPPORTED, "dictionary with encoding %d", (int)encoding);
    pages->has_dictionary = true;
    pages->dictionary_pos = pages->pos;
    return TL_OK;
}

static tl_status load_dictionary_page(tl_pq_pages *pages, tl_error *err)
{
    tl_bytes_view bytes;
    TL_TRY(read_header(pages, err));
    TL_TRY(load_whole(pages, &bytes, err));
    TL_TRY(
        tl_pq__values_plain(pages->conv, pages->node->el, bytes, pages->header.dictionary_num_values, &pages->dictionary, err));
    pages->is_dictionary_loaded = true;
    return TL_OK;
}

/* Goes back to the dictionary page and returns to the peeked one. */
tl_status tl_pq__pages_load_dictionary(tl_pq_pages *pages, tl_error *err)
{
    if (!pages->has_dictionary || pages->is_dictionary_loaded || pages->conv == NULL)
        return TL_OK;
    const tl_pq_page_header header = pages->header;
    const size_t header_bytes = pages->header_bytes;
    const int64_t pos = pages->pos;
    pages->pos = pages->dictionary_pos;
    TL_TRY(at_page(pages, load_dictionary_page(pages, err), err));
    pages->header = header;
    pages->header_bytes = header_bytes;
    pages->pos = pos;
    return TL_OK;
}

/* ---- cursor ---- */

/* The next page that holds data; what comes before it is taken in (dictionary) or left (index pages). */
static tl_status find_data_page(tl_pq_pages *pages, tl_error *err)
{
    for (;;) {
        TL_TRY(read_header(pages, err));
        tl_pq_page_type type = pages->header.type;
        if (type == TL_PQ_DATA_PAGE || type == TL_PQ_DATA_PAGE_V2) {
            pages->has_peeked = true;
            return TL_OK;
        }
        if (type == TL_PQ_DICTIONARY_PAGE)
            TL_TRY(note_dictionary(pages, err));
        step_over(pages);
    }
}

tl_status tl_pq__pages_peek(tl_pq_pages *pages, bool *more, tl_error *err)
{
    *more = true;
    if (pages->has_peeked)
        return TL_OK;
    const tl_pq_offset_index *index = pages->index;
    *more = index == NULL ? pages->values_seen < pages->chunk->meta.num_values : pages->index_next < index->n_pages;
    if (!*more)
        return TL_OK;
    if (index != NULL && (pages->index_next > 0 || pages->pos >= index->pages[0].offset))
        pages->pos = index->pages[pages->index_next].offset;
    return at_page(pages, find_data_page(pages, err), err);
}

void tl_pq__pages_skip(tl_pq_pages *pages)
{
    pages->values_seen += pages->header.data.num_values;
    pages->index_next++;
    step_over(pages);
}

tl_status tl_pq__pages_load(tl_pq_pages *pages, tl_pq_page *out, tl_error *err)
{
    tl_pq_encoding encoding = pages->header.data.encoding;
    if (encoding == TL_PQ_PLAIN_DICTIONARY || encoding == TL_PQ_RLE_DICTIONARY)
        TL_TRY(tl_pq__pages_load_dictionary(pages, err));
    tl_status status = pages->header.type == TL_PQ_DATA_PAGE ? load_v1(pages, out, err) : load_v2(pages, out, err);
    TL_TRY(at_page(pages, status, err));
    out->header = pages->header;
    tl_pq__pages_skip(pages);
    return TL_OK;
}

tl_status tl_pq__pages_seek(tl_pq_pages *pages, int64_t row, int64_t *first_row, tl_error *err)
{
    const tl_pq_offset_index *index = pages->index;
    if (pages->index_next == 0 && !pages->has_peeked) {
        bool more; /* the dictionary comes before the first data page */
        TL_TRY(tl_pq__pages_peek(pages, &more, err));
    }
    int32_t low = pages->index_next, high = index->n_pages;
    while (high - low > 1) {
        int32_t mid = low + (high - low) / 2;
        if (index->pages[mid].first_row <= row)
            low = mid;
        else
            high = mid;
    }
    if (low != pages->index_next) {
        pages->index_next = low;
        pages->has_peeked = false;
    }
    *first_row = low < index->n_pages ? index->pages[low].first_row : pages->group_rows;
    return TL_OK;
}
