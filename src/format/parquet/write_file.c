/*
 * A Parquet file being written: batches in, row groups and footer out.
 *
 * Layout: `PAR1`; for each row group its column chunks (dictionary page, data pages), then its bloom filters; the column
 * indexes of all chunks; their offset indexes; FileMetaData; its length (LE u32); `PAR1`.
 *
 * A row group is held in memory, compressed page by page, until it has options.row_group_bytes; the chunks then go to the file
 * one after the other.
 *
 * Twins: files of primary-key tables hold their key columns twice (`_KEY_x` and `x`, format reference §8). When two top-level
 * columns of the same type come as the same buffers, the second one is not encoded: its chunk is a copy of the first one's.
 * Twins are found with the first batch of a row group. Should a later batch bring different buffers, the row group ends and
 * there are no twins in the rest of the file.
 */
#include "format/parquet/write_private.h"

/** Rows of a batch that go through all columns before the next ones: bounds the overshoot of row groups. */
#define SLICE_ROWS 16384

static tl_pq_writer *writer_of(tl_file_writer *base)
{
    return (tl_pq_writer *)(void *)base;
}

/** Pieces below this go to the file together. */
#define SMALL_BYTES ((size_t)64 << 10)
#define PENDING_BYTES_MAX ((size_t)256 << 10)

static tl_status flush_pending(tl_pq_writer *writer, tl_error *err)
{
    if (writer->pending.len == 0)
        return TL_OK;
    size_t bytes = writer->pending.len;
    writer->pending.len = 0;
    return tl_file_write(writer->file, writer->pending.data, bytes, err);
}

/* A small row group goes to the file in one piece, whose memory is taken at once. Metadata: about 200 bytes a column. */
static tl_status reserve_pending(tl_pq_writer *writer, int64_t bytes, tl_error *err)
{
    size_t want = (size_t)bytes + (size_t)writer->schema.n_leaves * 256;
    if (want > PENDING_BYTES_MAX)
        return TL_OK;
    return tl_buf_reserve(&writer->pending, want) == TL_OK ? TL_OK : tl_nomem(err, "bytes of a data file");
}

static tl_status put_file(tl_pq_writer *writer, const void *data, size_t bytes, tl_error *err)
{
    if (bytes == 0)
        return TL_OK;
    if (writer->pending.len + bytes > PENDING_BYTES_MAX || bytes >= SMALL_BYTES)
        TL_TRY(flush_pending(writer, err));
    if (bytes >= SMALL_BYTES)
        TL_TRY(tl_file_write(writer->file, data, bytes, err));
    else if (tl_buf_append(&writer->pending, data, bytes) != TL_OK)
        return tl_nomem(err, "bytes of a data file");
    writer->pos += (int64_t)bytes;
    return TL_OK;
}

/* ---- column chunks ---- */

static tl_status put_dictionary(tl_pq_writer *writer, const tl_pq_leaf *leaf, int64_t *uncompressed, tl_error *err)
{
    tl_bytes_view values = {leaf->dict.plain.data, leaf->dict_used_bytes};
    tl_bytes_view stored = values;
    if (writer->compressor != NULL) {
        writer->compressed.len = 0;
        TL_TRY(tl_compress_values(writer->compressor, values, 0, tl_pq__values_width(leaf), &writer->compressed, err));
        stored = (tl_bytes_view){writer->compressed.data, writer->compressed.len};
    }
    if (values.len > INT32_MAX || stored.len > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "column '%s': a dictionary of %zu bytes is too large for Parquet", leaf->path[0], values.len);
    tl_pq_page_header header = {
        .type = TL_PQ_DICTIONARY_PAGE,
        .uncompressed_bytes = (int32_t)values.len,
        .compressed_bytes = (int32_t)stored.len,
        .has_crc = true,
        .crc = tl_crc32(0, stored.data, stored.len),
        .dictionary_num_values = (int32_t)leaf->dict_used,
        .dictionary_encoding = writer->options.is_v2 ? TL_PQ_PLAIN : TL_PQ_PLAIN_DICTIONARY,
    };
    writer->page.len = 0;
    if (tl_pq__put_page_header(&header, &writer->page) != TL_OK)
        return tl_nomem(err, "dictionary page");
    *uncompressed += (int64_t)(writer->page.len + values.len);
    TL_TRY(put_file(writer, writer->page.data, writer->page.len, err));
    return put_file(writer, stored.data, stored.len, err);
}

/** Encodings of a chunk: those of its levels (data pages V1 name them), of its dictionary and of its data pages. */
static int32_t list_encodings(const tl_pq_leaf *leaf, tl_pq_encoding without_dictionary, tl_pq_encoding *out)
{
    bool is_v2 = leaf->writer->options.is_v2;
    int32_t n = 0;
    if (!is_v2 && (leaf->rep_max > 0 || leaf->def_max > 0))
        out[n++] = TL_PQ_RLE;
    if (!is_v2 && (leaf->rep_max == 0 || leaf->def_max == 0))
        out[n++] = TL_PQ_BIT_PACKED;
    if (leaf->n_dict_pages > 0)
        out[n++] = is_v2 ? TL_PQ_RLE_DICTIONARY : TL_PQ_PLAIN_DICTIONARY;
    if (leaf->n_dict_pages > 0 && is_v2)
        out[n++] = TL_PQ_PLAIN;
    if (leaf->n_plain_pages > 0)
        out[n++] = without_dictionary;
    return n;
}

static int32_t list_encoding_stats(const tl_pq_leaf *leaf, tl_pq_encoding without_dictionary, tl_pq_encoding_stats *out)
{
    bool is_v2 = leaf->writer->options.is_v2;
    tl_pq_page_type data_page = is_v2 ? TL_PQ_DATA_PAGE_V2 : TL_PQ_DATA_PAGE;
    int32_t n = 0;
    if (leaf->n_dict_pages > 0) {
        out[n++] = (tl_pq_encoding_stats){TL_PQ_DICTIONARY_PAGE, is_v2 ? TL_PQ_PLAIN : TL_PQ_PLAIN_DICTIONARY, 1};
        out[n++] = (tl_pq_encoding_stats){data_page, is_v2 ? TL_PQ_RLE_DICTIONARY : TL_PQ_PLAIN_DICTIONARY, leaf->n_dict_pages};
    }
    if (leaf->n_plain_pages > 0)
        out[n++] = (tl_pq_encoding_stats){data_page, without_dictionary, leaf->n_plain_pages};
    return n;
}

/** Bounds of a chunk for the footer; long ones are left out rather than cut: readers take them for values. */
static tl_pq_statistics chunk_statistics(const tl_pq_leaf *leaf, uint8_t *scratch)
{
    tl_pq_statistics stats = {.null_count = leaf->chunk_levels - leaf->chunk_values};
    tl_bytes_view min = {0};
    tl_bytes_view max = {0};
    bool has = tl_pq__bounds_plain(&leaf->chunk_bounds, leaf->order, leaf->physical, leaf->width, scratch, &min, &max);
    if (has && min.len + max.len < TL_PQ_STATS_BYTES_MAX) {
        stats.has_min_value = true;
        stats.min_value = min;
        stats.has_max_value = true;
        stats.max_value = max;
    }
    return stats;
}

static tl_status put_bloom(tl_pq_writer *writer, const tl_pq_leaf *leaf, tl_error *err)
{
    writer->page.len = 0;
    if (tl_pq__put_bloom_header(leaf->bloom.bytes, &writer->page) != TL_OK)
        return tl_nomem(err, "bloom filter");
    TL_TRY(put_file(writer, writer->page.data, writer->page.len, err));
    return put_file(writer, leaf->bloom.blocks, (size_t)leaf->bloom.bytes, err);
}

/** As parquet-mr: a column whose pages all have numbers of the dictionary needs no filter. */
static bool wants_bloom(const tl_pq_leaf *leaf)
{
    return leaf->bloom.blocks != NULL && leaf->n_plain_pages > 0;
}

/** Where the parts of a chunk lie, kept until the bloom filters of the row group are written and its metadata can be made. */
typedef struct chunk_place {
    int64_t dictionary, data, end;
    int64_t uncompressed;
    int64_t bloom, bloom_bytes;
} chunk_place;

static tl_status put_chunk(tl_pq_writer *writer, tl_pq_leaf *leaf, chunk_place *place, tl_error *err)
{
    place->dictionary = -1;
    place->bloom = -1;
    place->uncompressed = leaf->uncompressed_bytes;
    if (leaf->n_dict_pages > 0) {
        place->dictionary = writer->pos;
        TL_TRY(put_dictionary(writer, leaf, &place->uncompressed, err));
        if (wants_bloom(leaf))
            tl_pq__bloom_add_plain(&leaf->bloom, (tl_bytes_view){leaf->dict.plain.data, leaf->dict_used_bytes}, leaf->dict_used, leaf->width);
    }
    place->data = writer->pos;
    for (int64_t i = 0; i < leaf->n_pages; i++)
        TL_TRY(put_file(writer, leaf->page_list[i].stored, (size_t)leaf->page_list[i].bytes, err));
    place->end = writer->pos;
    return TL_OK;
}

static tl_status append_struct(tl_buf *buf, tl_status status, size_t from, size_t *at, size_t *bytes)
{
    *at = from;
    *bytes = buf->len - from;
    return status;
}

/**
 * Metadata and page indexes of the chunk that holds `source`'s pages as column `leaf`; the file's statistics take the chunk in.
 * For all but twins both are the same leaf.
 */
static tl_status record_chunk(tl_pq_writer *writer, tl_pq_leaf *leaf, const tl_pq_leaf *source, const chunk_place *place)
{
    tl_pq_encoding without_dictionary = tl_pq__encoding_without_dictionary(leaf);
    tl_pq_encoding encodings[4];
    tl_pq_encoding_stats stats[3];
    uint8_t scratch[32];
    tl_pq_column_meta meta = {
        .type = leaf->physical,
        .n_encodings = list_encodings(source, without_dictionary, encodings),
        .encodings = encodings,
        .path_len = leaf->path_len,
        .path = leaf->path,
        .codec = writer->options.codec,
        .num_values = source->chunk_levels,
        .total_uncompressed_size = place->uncompressed,
        .total_compressed_size = place->end - (place->dictionary >= 0 ? place->dictionary : place->data),
        .data_page_offset = place->data,
        .dictionary_page_offset = place->dictionary,
        .statistics = chunk_statistics(source, scratch),
        .n_encoding_stats = list_encoding_stats(source, without_dictionary, stats),
        .encoding_stats = stats,
        .bloom_filter_offset = place->bloom,
        .bloom_filter_length = (int32_t)place->bloom_bytes,
    };
    tl_pq_chunk_record record = {0};
    size_t from = writer->metas.len;
    TL_TRY(append_struct(&writer->metas, tl_pq__put_column_meta(&meta, source, &writer->metas), from, &record.meta, &record.meta_bytes));
    from = writer->column_indexes.len;
    bool has_bounds = source->order != TL_PQ_ORDER_NONE && !source->chunk_bounds.has_nan;
    if (has_bounds || source->chunk_values == 0)
        TL_TRY(append_struct(&writer->column_indexes, tl_pq__put_column_index(source, &writer->column_indexes), from, &record.column_index,
                             &record.column_index_bytes));
    from = writer->offset_indexes.len;
    TL_TRY(append_struct(&writer->offset_indexes, tl_pq__put_offset_index(source, place->data, &writer->offset_indexes), from,
                         &record.offset_index, &record.offset_index_bytes));
    leaf->file_levels += source->chunk_levels;
    leaf->file_values += source->chunk_values;
    TL_TRY(tl_pq__bounds_merge(leaf->order, &leaf->file_bounds, &source->chunk_bounds));
    return tl_buf_append(&writer->records, &record, sizeof record);
}

/* ---- row groups ---- */

static tl_pq_leaf *source_of(tl_pq_writer *writer, int32_t leaf_idx)
{
    int32_t twin = writer->twin_of[leaf_idx];
    return &writer->schema.leaves[twin >= 0 ? twin : leaf_idx];
}

static int64_t group_bytes(tl_pq_writer *writer)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < writer->schema.n_leaves; i++)
        bytes += tl_pq__leaf_bytes(source_of(writer, i));
    return bytes;
}

static tl_status put_blooms(tl_pq_writer *writer, chunk_place *places, tl_error *err)
{
    for (int32_t i = 0; i < writer->schema.n_leaves; i++) {
        const tl_pq_leaf *source = source_of(writer, i);
        if (!wants_bloom(source))
            continue;
        places[i].bloom = writer->pos;
        TL_TRY(put_bloom(writer, source, err));
        places[i].bloom_bytes = writer->pos - places[i].bloom;
    }
    return TL_OK;
}

static tl_status add_group(tl_pq_writer *writer, const chunk_place *places)
{
    if (writer->n_groups == writer->group_cap) {
        int32_t cap = TL_MAX(writer->group_cap * 2, 4);
        tl_pq_row_group *groups = tl_realloc(writer->groups, (size_t)cap * sizeof *groups);
        if (groups == NULL)
            return TL_E_NOMEM;
        writer->groups = groups;
        writer->group_cap = cap;
    }
    int32_t last = writer->schema.n_leaves - 1;
    int64_t start = places[0].dictionary >= 0 ? places[0].dictionary : places[0].data;
    tl_pq_row_group group = {.num_rows = writer->group_rows, .file_offset = start, .total_compressed_size = places[last].end - start};
    for (int32_t i = 0; i <= last; i++) {
        tl_pq_leaf *leaf = &writer->schema.leaves[i];
        group.total_byte_size += places[i].uncompressed;
        TL_TRY(record_chunk(writer, leaf, source_of(writer, i), &places[i]));
    }
    writer->groups[writer->n_groups++] = group;
    return TL_OK;
}

static tl_status next_group(tl_pq_writer *writer, tl_error *err)
{
    for (int32_t i = 0; i < writer->schema.n_leaves; i++) {
        TL_TRY(tl_pq__leaf_next_chunk(&writer->schema.leaves[i], err));
        writer->twin_of[i] = -1;
    }
    writer->twins_known = false;
    writer->group_rows = 0;
    return TL_OK;
}

static tl_status end_group(tl_pq_writer *writer, bool is_last, tl_error *err)
{
    if (writer->group_rows == 0)
        return TL_OK;
    int32_t n_leaves = writer->schema.n_leaves;
    TL_CLEANUP(tl_freep) chunk_place *places = tl_calloc((size_t)n_leaves, sizeof *places);
    if (places == NULL)
        return tl_nomem(err, "row group");
    if (writer->compressor != NULL && writer->light_bytes > 0)
        tl_compressor_set_light(writer->compressor, is_last && writer->n_groups == 0 && group_bytes(writer) < writer->light_bytes);
    for (int32_t i = 0; i < n_leaves; i++)
        TL_TRY(tl_pq__leaf_end_page(&writer->schema.leaves[i], err));
    TL_TRY(reserve_pending(writer, group_bytes(writer), err));
    for (int32_t i = 0; i < n_leaves; i++)
        TL_TRY(put_chunk(writer, source_of(writer, i), &places[i], err));
    TL_TRY(put_blooms(writer, places, err));
    if (add_group(writer, places) != TL_OK)
        return tl_nomem(err, "metadata of a row group");
    writer->total_rows += writer->group_rows;
    return next_group(writer, err);
}

/* ---- twins ---- */

static bool same_buffers(const tl_column *a, const tl_column *b)
{
    return a->length == b->length && a->values == b->values && a->offsets == b->offsets && a->data == b->data && a->validity == b->validity;
}

static bool may_be_twins(const tl_pq_leaf *a, const tl_pq_leaf *b)
{
    return a->is_flat && b->is_flat && a->def_max == b->def_max && tl_type_equal(a->type, b->type, true) &&
           a->options.dictionary == b->options.dictionary && !a->options.bloom && !b->options.bloom;
}

static void find_twins(tl_pq_writer *writer, const tl_batch *batch)
{
    writer->twins_known = true;
    for (int32_t i = 1; i < writer->schema.n_leaves && !writer->twins_barred; i++) {
        const tl_pq_leaf *leaf = &writer->schema.leaves[i];
        for (int32_t j = 0; j < i && leaf->is_flat; j++) {
            const tl_pq_leaf *other = &writer->schema.leaves[j];
            if (writer->twin_of[j] < 0 && may_be_twins(leaf, other) && same_buffers(batch->cols[leaf->column], batch->cols[other->column])) {
                writer->twin_of[i] = j;
                break;
            }
        }
    }
}

static tl_status check_twins(tl_pq_writer *writer, const tl_batch *batch, tl_error *err)
{
    bool are_still = true;
    for (int32_t i = 0; i < writer->schema.n_leaves && writer->twins_known; i++) {
        if (writer->twin_of[i] >= 0)
            are_still = are_still && same_buffers(batch->cols[writer->schema.leaves[i].column],
                                                  batch->cols[writer->schema.leaves[writer->twin_of[i]].column]);
    }
    if (!are_still) {
        writer->twins_barred = true;
        TL_TRY(end_group(writer, false, err));
    }
    if (!writer->twins_known)
        find_twins(writer, batch);
    return TL_OK;
}

/* ---- batches ---- */

static tl_status write_rows(tl_pq_writer *writer, const tl_batch *batch, int64_t from, int64_t count, tl_error *err)
{
    for (int32_t column = 0; column < batch->n_cols; column++) {
        int32_t leaf_idx = writer->schema.first_leaf[column];
        tl_pq_leaf *leaf = &writer->schema.leaves[leaf_idx];
        if (!leaf->is_flat)
            TL_TRY(tl_pq__shred(writer, column, batch->cols[column], from, count, err));
        else if (writer->twin_of[leaf_idx] < 0)
            TL_TRY(tl_pq__leaf_append_flat(leaf, batch->cols[column], from, count, err));
    }
    writer->group_rows += count;
    return TL_OK;
}

static tl_status write_batch(tl_pq_writer *writer, const tl_batch *batch, tl_error *err)
{
    for (int64_t from = 0; from < batch->n_rows;) {
        int64_t rows = TL_MIN(batch->n_rows - from, SLICE_ROWS);
        if (from == 0 || !writer->twins_known)
            TL_TRY(check_twins(writer, batch, err));
        TL_TRY(write_rows(writer, batch, from, rows, err));
        from += rows;
        if (group_bytes(writer) >= writer->options.row_group_bytes)
            TL_TRY(end_group(writer, false, err));
    }
    return TL_OK;
}

/** A column's buffers have the shape of the type; below the top level, too. */
static bool column_fits(const tl_column *col, const tl_type *type)
{
    if (col->phys != tl_type_phys(type) || (col->n_children != 0 && col->n_children != type->n_fields))
        return false;
    for (int32_t i = 0; i < col->n_children; i++)
        if (!column_fits(col->children[i], type->fields[i].type))
            return false;
    return true;
}

static tl_status check_batch(const tl_pq_writer *writer, const tl_batch *batch, tl_error *err)
{
    if (writer->is_finished || writer->is_broken)
        return tl_error_set(err, TL_E_INVALID, "the file is %s", writer->is_finished ? "finished" : "broken by an earlier error");
    if (batch->n_cols != writer->row_type->n_fields)
        return tl_error_set(err, TL_E_INVALID, "a batch of %d columns does not fit a file of %d", batch->n_cols, writer->row_type->n_fields);
    for (int32_t i = 0; i < batch->n_cols; i++) {
        const tl_field *field = &writer->row_type->fields[i];
        if (!column_fits(batch->cols[i], field->type))
            return tl_error_set(err, TL_E_INVALID, "column '%s' has another type than the file's", field->name);
    }
    return TL_OK;
}

static tl_status writer_write(tl_file_writer *base, const tl_batch *batch, tl_error *err)
{
    tl_pq_writer *writer = writer_of(base);
    tl_status status = check_batch(writer, batch, err);
    if (status == TL_OK) {
        status = write_batch(writer, batch, err);
        writer->is_broken = status != TL_OK;
    }
    return tl_error_wrap(err, status, "data file '%s'", writer->path);
}

/** Written so far, and what the leaves hold: as the reference, which rolls files by it. */
/* The open row group; what was written before is on disk. */
static int64_t writer_memory_bytes(tl_file_writer *base)
{
    tl_pq_writer *writer = writer_of(base);
    return writer->is_finished ? 0 : group_bytes(writer);
}

static int64_t writer_bytes_estimate(tl_file_writer *base)
{
    tl_pq_writer *writer = writer_of(base);
    return writer->is_finished ? writer->pos : writer->pos + group_bytes(writer);
}

/* ---- the end ---- */

static tl_status put_footer(tl_pq_writer *writer, tl_error *err)
{
    int64_t column_index_base = writer->pos;
    int64_t offset_index_base = column_index_base + (int64_t)writer->column_indexes.len;
    TL_TRY(put_file(writer, writer->column_indexes.data, writer->column_indexes.len, err));
    TL_TRY(put_file(writer, writer->offset_indexes.data, writer->offset_indexes.len, err));
    tl_buf *footer = &writer->page;
    footer->len = 0;
    if (tl_pq__put_file_meta(writer, column_index_base, offset_index_base, footer) != TL_OK ||
        tl_buf_reserve(footer, TL_PQ_TAIL_BYTES) != TL_OK)
        return tl_nomem(err, "footer");
    if (footer->len > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a footer of %zu bytes is too large for Parquet", footer->len);
    tl_write_le32(footer->data + footer->len, (uint32_t)footer->len);
    memcpy(footer->data + footer->len + 4, TL_PQ_MAGIC, TL_PQ_MAGIC_BYTES);
    footer->len += TL_PQ_TAIL_BYTES;
    return put_file(writer, footer->data, footer->len, err);
}

static tl_status file_stats(tl_pq_writer *writer, tl_write_result *result, tl_error *err)
{
    int32_t n = writer->row_type->n_fields;
    result->stats = tl_calloc((size_t)n, sizeof *result->stats);
    if (result->stats == NULL)
        return tl_nomem(err, "column statistics");
    result->n_stats = n;
    for (int32_t i = 0; i < n; i++) {
        const tl_pq_leaf *leaf = &writer->schema.leaves[writer->schema.first_leaf[i]];
        tl_column_stats *stats = &result->stats[i];
        stats->null_count = leaf->is_flat ? leaf->file_levels - leaf->file_values : -1;
        if (leaf->is_flat)
            TL_TRY(tl_pq__bounds_columns(&leaf->file_bounds, leaf->order, leaf->type, &stats->min, &stats->max, err));
    }
    return TL_OK;
}

static tl_status finish(tl_pq_writer *writer, tl_write_result *result, tl_error *err)
{
    if (writer->is_finished || writer->is_broken)
        return tl_error_set(err, TL_E_INVALID, "the file is %s", writer->is_finished ? "finished" : "broken by an earlier error");
    TL_TRY(end_group(writer, true, err));
    TL_TRY(put_footer(writer, err));
    TL_TRY(flush_pending(writer, err));
    TL_TRY(tl_file_finish(TL_STEAL(writer->file), err));
    result->bytes = writer->pos;
    result->rows = writer->total_rows;
    return writer->with_stats ? file_stats(writer, result, err) : TL_OK;
}

static tl_status writer_finish(tl_file_writer *base, tl_write_result *out, tl_error *err)
{
    tl_pq_writer *writer = writer_of(base);
    tl_write_result result = {0};
    tl_status status = finish(writer, &result, err);
    writer->is_finished = status == TL_OK;
    writer->is_broken = status != TL_OK;
    if (status == TL_OK)
        *out = result;
    else
        tl_write_result_deinit(&result);
    return tl_error_wrap(err, status, "data file '%s'", writer->path);
}

static void writer_free(tl_file_writer *base)
{
    if (base == NULL)
        return;
    tl_pq_writer *writer = writer_of(base);
    bool was_created = writer->file != NULL || writer->is_broken;
    (void)tl_file_close(writer->file, NULL); /* what could not be written is removed below */
    if (was_created && !writer->is_finished)
        (void)tl_fs_remove(writer->fs, writer->path, NULL); /* orphan cleaning finds what cannot be removed now */
    for (int32_t i = 0; i < writer->schema.n_leaves; i++)
        tl_pq__leaf_deinit(&writer->schema.leaves[i]);
    tl_buf *buffers[] = {&writer->records, &writer->metas,      &writer->column_indexes, &writer->offset_indexes,
                         &writer->page,    &writer->compressed, &writer->header,         &writer->pending};
    for (size_t i = 0; i < TL_ARRAY_LEN(buffers); i++)
        tl_buf_deinit(buffers[i]);
    tl_pq__shred_deinit(&writer->shred);
    tl_compressor_free(writer->compressor);
    tl_free(writer->dense);
    tl_free(writer->sel);
    tl_free(writer->twin_of);
    tl_free(writer->groups);
    tl_free(writer->path);
    tl_type_unref(writer->row_type);
    tl_arena_deinit(&writer->arena);
    tl_fs_unref(writer->fs);
    tl_free(writer);
}

/* ---- the start ---- */

static const tl_file_writer_ops writer_ops = {
    .write = writer_write,
    .bytes_estimate = writer_bytes_estimate,
    .memory_bytes = writer_memory_bytes,
    .finish = writer_finish,
    .free = writer_free,
};

/** All but the file. */
static tl_status init_writer(tl_pq_writer *writer, const tl_write_spec *spec, tl_error *err)
{
    TL_TRY(tl_pq__write_options(spec, &writer->options, err));
    TL_TRY(tl_pq__write_schema(&writer->arena, spec, &writer->schema, err));
    size_t n_leaves = (size_t)writer->schema.n_leaves;
    writer->dense = tl_alloc_aligned(TL_PQ_RUN_VALUES * 16 + TL_PQ_DENSE_SLACK);
    writer->sel = tl_alloc(TL_PQ_RUN_VALUES * sizeof *writer->sel);
    writer->twin_of = tl_calloc(n_leaves, sizeof *writer->twin_of);
    if (writer->dense == NULL || writer->sel == NULL || writer->twin_of == NULL)
        return tl_nomem(err, "Parquet writer");
    if (writer->options.compression != TL_CODEC_NONE)
        TL_TRY(tl_compressor_create(writer->options.compression, writer->options.level, &writer->compressor, err));
    for (size_t i = 0; i < n_leaves; i++)
        writer->schema.leaves[i].writer = writer;
    return next_group(writer, err);
}

static tl_status create(tl_pq_writer *writer, tl_fs *fs, const char *path, const tl_write_spec *spec, tl_error *err)
{
    writer->base.ops = &writer_ops;
    writer->fs = tl_fs_ref(fs);
    writer->row_type = tl_type_ref(spec->row_type);
    writer->with_stats = spec->with_stats;
    writer->light_bytes = spec->light_bytes;
    writer->path = tl_strdup(path);
    if (writer->path == NULL)
        return tl_nomem(err, "Parquet writer");
    TL_TRY(init_writer(writer, spec, err));
    TL_TRY(tl_fs_create(fs, path, &writer->file, err));
    return put_file(writer, TL_PQ_MAGIC, TL_PQ_MAGIC_BYTES, err);
}

tl_status tl_pq__create_plain(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    tl_pq_writer *writer = tl_calloc(1, sizeof *writer);
    if (writer == NULL)
        return tl_nomem(err, "Parquet writer");
    tl_status status = create(writer, fs, path, spec, err);
    if (status != TL_OK) {
        writer_free(&writer->base);
        return tl_error_wrap(err, status, "data file '%s'", path);
    }
    *out = &writer->base;
    return TL_OK;
}

tl_status tl_pq__create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    const char *shredding = spec->options == NULL ? NULL : tl_options_get(spec->options, TL_PQ_SHREDDING_OPTION);
    if (shredding == NULL && tl_pq__infers_shredding(spec))
        return tl_error_wrap(err, tl_pq__create_inferring(fs, path, spec, out, err), "data file '%s'", path);
    if (shredding == NULL)
        return tl_pq__create_plain(fs, path, spec, out, err);
    return tl_error_wrap(err, tl_pq__create_shredding(fs, path, spec, shredding, out, err), "data file '%s'", path);
}
