/*
 * Metadata structs -> Thrift compact protocol.
 *
 * Layout: a struct is its fields in ascending order, each a byte (delta of the field id << 4 | wire type), then a 0 byte.
 * Integers are zigzag varints, byte strings a varint length and the bytes, a list a byte (size << 4 | wire type of the
 * elements, or 0xf0 | type and a varint size), a boolean field nothing but its wire type (1 true, 2 false).
 * Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md; field ids: parquet.thrift.
 */
#include "format/parquet/write_private.h"

typedef enum wire_type {
    WIRE_TRUE = 1,
    WIRE_FALSE = 2,
    WIRE_BYTE = 3,
    WIRE_I16 = 4,
    WIRE_I32 = 5,
    WIRE_I64 = 6,
    WIRE_BINARY = 8,
    WIRE_LIST = 9,
    WIRE_STRUCT = 12
} wire_type;

#define DEPTH_MAX 8

/** Output with a sticky status, so that a struct reads as a list of its fields. */
typedef struct thrift {
    tl_buf *out;
    tl_status status;
    int depth;
    int last_id[DEPTH_MAX];
} thrift;

static void put_bytes(thrift *t, const void *data, size_t bytes)
{
    if (t->status == TL_OK)
        t->status = tl_buf_append(t->out, data, bytes);
}

static void put_byte(thrift *t, uint8_t byte)
{
    put_bytes(t, &byte, 1);
}

static void put_varint(thrift *t, uint64_t v)
{
    uint8_t bytes[10];
    put_bytes(t, bytes, tl_varint_encode(v, bytes));
}

/** Start a struct: the outermost one, or a list's element. */
static void begin(thrift *t)
{
    t->last_id[t->depth++] = 0;
}

static void end(thrift *t)
{
    put_byte(t, 0);
    t->depth--;
}

static void put_field(thrift *t, int id, wire_type type)
{
    int *last = &t->last_id[t->depth - 1];
    put_byte(t, (uint8_t)((id - *last) << 4 | (int)type));
    *last = id;
}

static void put_i32(thrift *t, int id, int32_t v)
{
    put_field(t, id, WIRE_I32);
    put_varint(t, tl_zigzag64(v));
}

static void put_i64(thrift *t, int id, int64_t v)
{
    put_field(t, id, WIRE_I64);
    put_varint(t, tl_zigzag64(v));
}

static void put_bool(thrift *t, int id, bool v)
{
    put_field(t, id, v ? WIRE_TRUE : WIRE_FALSE);
}

static void put_binary_value(thrift *t, tl_bytes_view v)
{
    put_varint(t, v.len);
    put_bytes(t, v.data, v.len);
}

static void put_binary(thrift *t, int id, tl_bytes_view v)
{
    put_field(t, id, WIRE_BINARY);
    put_binary_value(t, v);
}

static void put_text(thrift *t, int id, const char *text)
{
    put_binary(t, id, (tl_bytes_view){(const uint8_t *)text, strlen(text)});
}

static void put_list(thrift *t, int id, wire_type type, int64_t count)
{
    put_field(t, id, WIRE_LIST);
    if (count < 15) {
        put_byte(t, (uint8_t)((int)count << 4 | (int)type));
    } else {
        put_byte(t, (uint8_t)(0xf0 | (int)type));
        put_varint(t, (uint64_t)count);
    }
}

static void begin_field(thrift *t, int id)
{
    put_field(t, id, WIRE_STRUCT);
    begin(t);
}

/** A union's member that has no fields of its own. */
static void put_empty_struct(thrift *t, int id)
{
    begin_field(t, id);
    end(t);
}

/* ---- pages ---- */

static void put_data_header_v1(thrift *t, const tl_pq_data_page_header *data)
{
    begin_field(t, 5);
    put_i32(t, 1, data->num_values);
    put_i32(t, 2, (int32_t)data->encoding);
    put_i32(t, 3, (int32_t)data->def_encoding);
    put_i32(t, 4, (int32_t)data->rep_encoding);
    end(t);
}

static void put_data_header_v2(thrift *t, const tl_pq_data_page_header *data)
{
    begin_field(t, 8);
    put_i32(t, 1, data->num_values);
    put_i32(t, 2, data->num_nulls);
    put_i32(t, 3, data->num_rows);
    put_i32(t, 4, (int32_t)data->encoding);
    put_i32(t, 5, data->def_bytes);
    put_i32(t, 6, data->rep_bytes);
    put_bool(t, 7, data->is_compressed);
    end(t);
}

tl_status tl_pq__put_page_header(const tl_pq_page_header *header, tl_buf *out)
{
    thrift t = {.out = out};
    begin(&t);
    put_i32(&t, 1, (int32_t)header->type);
    put_i32(&t, 2, header->uncompressed_bytes);
    put_i32(&t, 3, header->compressed_bytes);
    if (header->has_crc)
        put_i32(&t, 4, (int32_t)header->crc);
    if (header->type == TL_PQ_DATA_PAGE)
        put_data_header_v1(&t, &header->data);
    if (header->type == TL_PQ_DICTIONARY_PAGE) {
        begin_field(&t, 7);
        put_i32(&t, 1, header->dictionary_num_values);
        put_i32(&t, 2, (int32_t)header->dictionary_encoding);
        end(&t);
    }
    if (header->type == TL_PQ_DATA_PAGE_V2)
        put_data_header_v2(&t, &header->data);
    end(&t);
    return t.status;
}

tl_status tl_pq__put_bloom_header(int32_t bytes, tl_buf *out)
{
    thrift t = {.out = out};
    begin(&t);
    put_i32(&t, 1, bytes);
    begin_field(&t, 2); /* algorithm: BLOCK */
    put_empty_struct(&t, 1);
    end(&t);
    begin_field(&t, 3); /* hash: XXHASH */
    put_empty_struct(&t, 1);
    end(&t);
    begin_field(&t, 4); /* compression: UNCOMPRESSED */
    put_empty_struct(&t, 1);
    end(&t);
    end(&t);
    return t.status;
}

/* ---- page indexes ---- */

static tl_pq_boundary_order boundary_order(const tl_pq_leaf *leaf)
{
    bool ascending = true;
    bool descending = true;
    const tl_pq_page *last = NULL;
    for (int64_t i = 0; i < leaf->n_pages; i++) {
        const tl_pq_page *page = &leaf->page_list[i];
        if (page->is_null)
            continue;
        if (last != NULL) {
            int min = tl_pq__compare_plain(leaf->order, leaf->physical, last->min, page->min);
            int max = tl_pq__compare_plain(leaf->order, leaf->physical, last->max, page->max);
            ascending = ascending && min <= 0 && max <= 0;
            descending = descending && min >= 0 && max >= 0;
        }
        last = page;
    }
    return ascending ? TL_PQ_ASCENDING : descending ? TL_PQ_DESCENDING : TL_PQ_UNORDERED;
}

/** One kind of level histogram of all pages: fields repetition_level_histograms and definition_level_histograms. */
static void put_page_histograms(thrift *t, const tl_pq_leaf *leaf, int id, int from, int count)
{
    int stride = leaf->rep_max + 1 + leaf->def_max + 1;
    const int64_t *all = (const int64_t *)(const void *)leaf->histograms.data;
    put_list(t, id, WIRE_I64, leaf->n_pages * count);
    for (int64_t page = 0; page < leaf->n_pages; page++)
        for (int i = 0; i < count; i++)
            put_varint(t, tl_zigzag64(all[page * stride + from + i]));
}

tl_status tl_pq__put_column_index(const tl_pq_leaf *leaf, tl_buf *out)
{
    thrift t = {.out = out};
    begin(&t);
    put_list(&t, 1, WIRE_TRUE, leaf->n_pages);
    for (int64_t i = 0; i < leaf->n_pages; i++)
        put_byte(&t, leaf->page_list[i].is_null ? WIRE_TRUE : WIRE_FALSE);
    put_list(&t, 2, WIRE_BINARY, leaf->n_pages);
    for (int64_t i = 0; i < leaf->n_pages; i++)
        put_binary_value(&t, leaf->page_list[i].min);
    put_list(&t, 3, WIRE_BINARY, leaf->n_pages);
    for (int64_t i = 0; i < leaf->n_pages; i++)
        put_binary_value(&t, leaf->page_list[i].max);
    put_i32(&t, 4, (int32_t)boundary_order(leaf));
    put_list(&t, 5, WIRE_I64, leaf->n_pages);
    for (int64_t i = 0; i < leaf->n_pages; i++)
        put_varint(&t, tl_zigzag64(leaf->page_list[i].null_count));
    if (leaf->rep_max > 0)
        put_page_histograms(&t, leaf, 6, 0, leaf->rep_max + 1);
    if (leaf->def_max > 1)
        put_page_histograms(&t, leaf, 7, leaf->rep_max + 1, leaf->def_max + 1);
    end(&t);
    return t.status;
}

tl_status tl_pq__put_offset_index(const tl_pq_leaf *leaf, int64_t base, tl_buf *out)
{
    thrift t = {.out = out};
    begin(&t);
    put_list(&t, 1, WIRE_STRUCT, leaf->n_pages);
    for (int64_t i = 0; i < leaf->n_pages; i++) {
        const tl_pq_page *page = &leaf->page_list[i];
        begin(&t);
        put_i64(&t, 1, base + page->offset);
        put_i32(&t, 2, page->bytes);
        put_i64(&t, 3, page->first_row);
        end(&t);
    }
    if (leaf->physical == TL_PQ_BYTE_ARRAY) {
        put_list(&t, 2, WIRE_I64, leaf->n_pages);
        for (int64_t i = 0; i < leaf->n_pages; i++)
            put_varint(&t, tl_zigzag64(leaf->page_list[i].string_bytes));
    }
    end(&t);
    return t.status;
}

/* ---- column chunks ---- */

static void put_statistics(thrift *t, const tl_pq_statistics *stats)
{
    begin_field(t, 12);
    put_i64(t, 3, stats->null_count);
    if (stats->has_max_value)
        put_binary(t, 5, stats->max_value);
    if (stats->has_min_value)
        put_binary(t, 6, stats->min_value);
    end(t);
}

static void put_level_histogram(thrift *t, const tl_pq_leaf *leaf, int id, int from, int count)
{
    int stride = leaf->rep_max + 1 + leaf->def_max + 1;
    const int64_t *all = (const int64_t *)(const void *)leaf->histograms.data;
    put_list(t, id, WIRE_I64, count);
    for (int i = 0; i < count; i++) {
        int64_t sum = 0;
        for (int64_t page = 0; page < leaf->n_pages; page++)
            sum += all[page * stride + from + i];
        put_varint(t, tl_zigzag64(sum));
    }
}

/** SizeStatistics; nothing where they would be empty. */
static void put_size_statistics(thrift *t, const tl_pq_leaf *leaf)
{
    bool is_bytes = leaf->physical == TL_PQ_BYTE_ARRAY;
    if (!is_bytes && leaf->rep_max == 0 && leaf->def_max <= 1)
        return;
    begin_field(t, 16);
    if (is_bytes)
        put_i64(t, 1, leaf->chunk_string_bytes);
    if (leaf->rep_max > 0)
        put_level_histogram(t, leaf, 2, 0, leaf->rep_max + 1);
    if (leaf->def_max > 1)
        put_level_histogram(t, leaf, 3, leaf->rep_max + 1, leaf->def_max + 1);
    end(t);
}

tl_status tl_pq__put_column_meta(const tl_pq_column_meta *meta, const tl_pq_leaf *leaf, tl_buf *out)
{
    thrift t = {.out = out};
    begin(&t);
    put_i32(&t, 1, (int32_t)meta->type);
    put_list(&t, 2, WIRE_I32, meta->n_encodings);
    for (int32_t i = 0; i < meta->n_encodings; i++)
        put_varint(&t, tl_zigzag64((int64_t)meta->encodings[i]));
    put_list(&t, 3, WIRE_BINARY, meta->path_len);
    for (int32_t i = 0; i < meta->path_len; i++)
        put_binary_value(&t, (tl_bytes_view){(const uint8_t *)meta->path[i], strlen(meta->path[i])});
    put_i32(&t, 4, (int32_t)meta->codec);
    put_i64(&t, 5, meta->num_values);
    put_i64(&t, 6, meta->total_uncompressed_size);
    put_i64(&t, 7, meta->total_compressed_size);
    put_i64(&t, 9, meta->data_page_offset);
    if (meta->dictionary_page_offset >= 0)
        put_i64(&t, 11, meta->dictionary_page_offset);
    put_statistics(&t, &meta->statistics);
    put_list(&t, 13, WIRE_STRUCT, meta->n_encoding_stats);
    for (int32_t i = 0; i < meta->n_encoding_stats; i++) {
        begin(&t);
        put_i32(&t, 1, (int32_t)meta->encoding_stats[i].page_type);
        put_i32(&t, 2, (int32_t)meta->encoding_stats[i].encoding);
        put_i32(&t, 3, meta->encoding_stats[i].count);
        end(&t);
    }
    if (meta->bloom_filter_offset >= 0) {
        put_i64(&t, 14, meta->bloom_filter_offset);
        put_i32(&t, 15, meta->bloom_filter_length);
    }
    put_size_statistics(&t, leaf);
    end(&t);
    return t.status;
}

/* ---- the footer ---- */

static void put_logical_time(thrift *t, int id, const tl_pq_logical *logical)
{
    begin_field(t, id);
    put_bool(t, 1, logical->adjusted_to_utc);
    begin_field(t, 2);
    put_empty_struct(t, (int)logical->unit);
    end(t);
    end(t);
}

static void put_logical(thrift *t, const tl_pq_logical *logical)
{
    begin_field(t, 10);
    switch (logical->kind) {
    case TL_PQ_LOGICAL_DECIMAL:
        begin_field(t, 5);
        put_i32(t, 1, logical->scale);
        put_i32(t, 2, logical->precision);
        end(t);
        break;
    case TL_PQ_LOGICAL_TIME:
    case TL_PQ_LOGICAL_TIMESTAMP:
        put_logical_time(t, (int)logical->kind, logical);
        break;
    case TL_PQ_LOGICAL_INTEGER:
        begin_field(t, 10);
        put_field(t, 1, WIRE_BYTE);
        put_byte(t, (uint8_t)logical->bit_width);
        put_bool(t, 2, logical->is_signed);
        end(t);
        break;
    default: /* STRING, MAP, LIST, DATE: without parameters */
        put_empty_struct(t, (int)logical->kind);
        break;
    }
    end(t);
}

static void put_schema_element(thrift *t, const tl_pq_schema_element *element)
{
    begin(t);
    if (element->has_type)
        put_i32(t, 1, (int32_t)element->type);
    if (element->has_type && element->type == TL_PQ_FIXED_LEN_BYTE_ARRAY)
        put_i32(t, 2, element->type_length);
    if (element->has_repetition)
        put_i32(t, 3, (int32_t)element->repetition);
    put_text(t, 4, element->name);
    if (!element->has_type)
        put_i32(t, 5, element->n_children);
    if (element->converted != TL_PQ_CONVERTED_NONE)
        put_i32(t, 6, (int32_t)element->converted);
    if (element->has_decimal) {
        put_i32(t, 7, element->scale);
        put_i32(t, 8, element->precision);
    }
    if (element->has_field_id)
        put_i32(t, 9, element->field_id);
    if (element->logical.kind != TL_PQ_LOGICAL_NONE)
        put_logical(t, &element->logical);
    end(t);
}

static void put_column_chunk(thrift *t, const tl_pq_writer *writer, const tl_pq_chunk_record *record, int64_t column_index_base,
                             int64_t offset_index_base)
{
    begin(t);
    put_i64(t, 2, 0); /* file_offset: deprecated, 0 as the specification asks */
    put_field(t, 3, WIRE_STRUCT);
    put_bytes(t, writer->metas.data + record->meta, record->meta_bytes);
    put_i64(t, 4, offset_index_base + (int64_t)record->offset_index);
    put_i32(t, 5, (int32_t)record->offset_index_bytes);
    if (record->column_index_bytes != 0) {
        put_i64(t, 6, column_index_base + (int64_t)record->column_index);
        put_i32(t, 7, (int32_t)record->column_index_bytes);
    }
    end(t);
}

static void put_row_group(thrift *t, const tl_pq_writer *writer, int32_t group_idx, int64_t column_index_base, int64_t offset_index_base)
{
    const tl_pq_row_group *group = &writer->groups[group_idx];
    const tl_pq_chunk_record *records = (const tl_pq_chunk_record *)(const void *)writer->records.data;
    int32_t n_leaves = writer->schema.n_leaves;
    begin(t);
    put_list(t, 1, WIRE_STRUCT, n_leaves);
    for (int32_t i = 0; i < n_leaves; i++)
        put_column_chunk(t, writer, &records[(int64_t)group_idx * n_leaves + i], column_index_base, offset_index_base);
    put_i64(t, 2, group->total_byte_size);
    put_i64(t, 3, group->num_rows);
    put_i64(t, 5, group->file_offset);
    put_i64(t, 6, group->total_compressed_size);
    if (group_idx <= INT16_MAX) {
        put_field(t, 7, WIRE_I16);
        put_varint(t, tl_zigzag64(group_idx));
    }
    end(t);
}

/**
 * created_by decides whether readers trust statistics: parquet-mr wants `NAME version V (build B)` and distrusts only old
 * releases of itself, parquet-cpp likewise.
 */
#define CREATED_BY "tidelake version 0.1.0 (build 0)"

tl_status tl_pq__put_file_meta(const tl_pq_writer *writer, int64_t column_index_base, int64_t offset_index_base, tl_buf *out)
{
    thrift t = {.out = out};
    const tl_pq_write_schema *schema = &writer->schema;
    begin(&t);
    put_i32(&t, 1, 1); /* version: parquet-mr writes 1 for data pages V2, too */
    put_list(&t, 2, WIRE_STRUCT, schema->n_elements);
    for (int32_t i = 0; i < schema->n_elements; i++)
        put_schema_element(&t, &schema->elements[i]);
    put_i64(&t, 3, writer->total_rows);
    put_list(&t, 4, WIRE_STRUCT, writer->n_groups);
    for (int32_t i = 0; i < writer->n_groups; i++)
        put_row_group(&t, writer, i, column_index_base, offset_index_base);
    put_text(&t, 6, CREATED_BY);
    put_list(&t, 7, WIRE_STRUCT, schema->n_leaves); /* column_orders: TypeDefinedOrder */
    for (int32_t i = 0; i < schema->n_leaves; i++) {
        begin(&t);
        put_empty_struct(&t, 1);
        end(&t);
    }
    end(&t);
    return t.status;
}
