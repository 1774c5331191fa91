/*
 * Thrift structs of Parquet: footer, page headers, page indexes. Field numbers are those of parquet.thrift.
 *
 * Each struct has one function that takes one field; what is not used here is skipped. Fields that the format requires and
 * that the reader relies on are checked at the end of each struct.
 */
#include "format/parquet/parquet_private.h"
#include "format/parquet/thrift_read.h"

#define SEEN(id) (UINT32_C(1) << (id))

/* Least bytes that an element of a list takes: the required fields' headers with their shortest values, and the end. */
#define SCHEMA_ELEMENT_BYTES_MIN 3
#define COLUMN_CHUNK_BYTES_MIN 3
#define ROW_GROUP_BYTES_MIN 6
#define KEY_VALUE_BYTES_MIN 3
#define ENCODING_STATS_BYTES_MIN 7
#define PAGE_LOCATION_BYTES_MIN 7
#define SORTING_COLUMN_BYTES_MIN 5

static tl_status require(tl_thrift_cursor *c, uint32_t seen, uint32_t fields)
{
    return (seen & fields) == fields ? TL_OK : tl_thrift__corrupt(c, "a required field is missing");
}

static tl_status read_enum(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    int32_t v;
    TL_TRY(tl_thrift__i32(c, f, &v));
    memcpy(out, &v, sizeof v);
    return TL_OK;
}
_Static_assert(sizeof(tl_pq_type) == sizeof(int32_t), "enums are stored as int");

static tl_status read_i16_or_wider(tl_thrift_cursor *c, const tl_thrift_field *f, int32_t *out)
{
    if (f->type != TL_THRIFT_I16)
        return tl_thrift__i32(c, f, out);
    return tl_thrift__element_i32(c, out);
}

/* ---- schema ---- */

static tl_status on_unit(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    *(tl_pq_unit *)out = f->id >= TL_PQ_MILLIS && f->id <= TL_PQ_NANOS ? (tl_pq_unit)f->id : TL_PQ_UNIT_NONE;
    return tl_thrift__skip(c, f);
}

static tl_status on_time(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_logical *logical = out;
    switch (f->id) {
    case 1:
        return tl_thrift__bool(c, f, &logical->adjusted_to_utc);
    case 2:
        return tl_thrift__sub(c, f, on_unit, &logical->unit, NULL);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_integer(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_logical *logical = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i8(c, f, &logical->bit_width);
    case 2:
        return tl_thrift__bool(c, f, &logical->is_signed);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_decimal(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_logical *logical = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i32(c, f, &logical->scale);
    case 2:
        return tl_thrift__i32(c, f, &logical->precision);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_logical(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_logical *logical = out;
    bool known = f->id >= TL_PQ_LOGICAL_STRING && f->id <= TL_PQ_LOGICAL_GEOGRAPHY && f->id != 9;
    logical->kind = known ? (tl_pq_logical_kind)f->id : TL_PQ_LOGICAL_OTHER;
    switch (f->id) {
    case TL_PQ_LOGICAL_DECIMAL:
        return tl_thrift__sub(c, f, on_decimal, logical, NULL);
    case TL_PQ_LOGICAL_TIME:
    case TL_PQ_LOGICAL_TIMESTAMP:
        return tl_thrift__sub(c, f, on_time, logical, NULL);
    case TL_PQ_LOGICAL_INTEGER:
        return tl_thrift__sub(c, f, on_integer, logical, NULL);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_schema_element(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_schema_element *el = out;
    switch (f->id) {
    case 1:
        el->has_type = true;
        return read_enum(c, f, &el->type);
    case 2:
        return tl_thrift__i32(c, f, &el->type_length);
    case 3:
        el->has_repetition = true;
        return read_enum(c, f, &el->repetition);
    case 4:
        return tl_thrift__string(c, f, &el->name);
    case 5:
        return tl_thrift__i32(c, f, &el->n_children);
    case 6:
        return read_enum(c, f, &el->converted);
    case 7:
        el->has_decimal = true;
        return tl_thrift__i32(c, f, &el->scale);
    case 8:
        el->has_decimal = true;
        return tl_thrift__i32(c, f, &el->precision);
    case 9:
        el->has_field_id = true;
        return tl_thrift__i32(c, f, &el->field_id);
    case 10:
        return tl_thrift__sub(c, f, on_logical, &el->logical, NULL);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status read_schema(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_file_meta *meta)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_STRUCT, SCHEMA_ELEMENT_BYTES_MIN, sizeof *meta->schema, &meta->n_schema,
                           &meta->schema));
    for (int32_t i = 0; i < meta->n_schema; i++) {
        uint32_t seen;
        meta->schema[i].converted = TL_PQ_CONVERTED_NONE;
        TL_TRY(tl_thrift__struct(c, on_schema_element, &meta->schema[i], &seen));
        TL_TRY(require(c, seen, SEEN(4)));
    }
    if (meta->n_schema > 0)
        meta->schema[0].has_type = false; /* the root is a group, whatever type some writers give it */
    return TL_OK;
}

/* ---- column chunks and row groups ---- */

static tl_status on_statistics(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_statistics *st = out;
    bool exact;
    switch (f->id) {
    case 1:
        st->has_max = true;
        return tl_thrift__binary(c, f, &st->max);
    case 2:
        st->has_min = true;
        return tl_thrift__binary(c, f, &st->min);
    case 3:
        return tl_thrift__i64(c, f, &st->null_count);
    case 4:
        return tl_thrift__i64(c, f, &st->distinct_count);
    case 5:
        st->has_max_value = true;
        return tl_thrift__binary(c, f, &st->max_value);
    case 6:
        st->has_min_value = true;
        return tl_thrift__binary(c, f, &st->min_value);
    case 7:
        TL_TRY(tl_thrift__bool(c, f, &exact));
        st->is_max_exact = exact;
        return TL_OK;
    case 8:
        TL_TRY(tl_thrift__bool(c, f, &exact));
        st->is_min_exact = exact;
        return TL_OK;
    case 9:
        return tl_thrift__i64(c, f, &st->nan_count);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status read_statistics(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_statistics *st)
{
    *st = (tl_pq_statistics){.null_count = -1, .distinct_count = -1, .nan_count = -1, .is_max_exact = -1, .is_min_exact = -1};
    return tl_thrift__sub(c, f, on_statistics, st, NULL);
}

static tl_status on_encoding_stats(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_encoding_stats *st = out;
    switch (f->id) {
    case 1:
        return read_enum(c, f, &st->page_type);
    case 2:
        return read_enum(c, f, &st->encoding);
    case 3:
        return tl_thrift__i32(c, f, &st->count);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status read_encoding_stats(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_column_meta *meta)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_STRUCT, ENCODING_STATS_BYTES_MIN, sizeof *meta->encoding_stats,
                           &meta->n_encoding_stats, &meta->encoding_stats));
    for (int32_t i = 0; i < meta->n_encoding_stats; i++)
        TL_TRY(tl_thrift__struct(c, on_encoding_stats, &meta->encoding_stats[i], NULL));
    return TL_OK;
}

static tl_status read_encodings(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_column_meta *meta)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_I32, 1, sizeof *meta->encodings, &meta->n_encodings, &meta->encodings));
    for (int32_t i = 0; i < meta->n_encodings; i++) {
        int32_t v;
        TL_TRY(tl_thrift__element_i32(c, &v));
        meta->encodings[i] = (tl_pq_encoding)v;
    }
    return TL_OK;
}

static tl_status read_path(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_column_meta *meta)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_BINARY, 1, sizeof *meta->path, &meta->path_len, &meta->path));
    for (int32_t i = 0; i < meta->path_len; i++)
        TL_TRY(tl_thrift__element_string(c, &meta->path[i]));
    return TL_OK;
}

/* A writer uses number 15 for something else; what nobody needs must not spoil the footer. */
static bool is_foreign_field(const tl_thrift_field *f)
{
    return (f->id == 14 && f->type != TL_THRIFT_I64) || (f->id == 15 && f->type != TL_THRIFT_I32);
}

static tl_status on_column_meta(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_column_meta *meta = out;
    if (is_foreign_field(f))
        return tl_thrift__skip(c, f);
    switch (f->id) {
    case 1:
        return read_enum(c, f, &meta->type);
    case 2:
        return read_encodings(c, f, meta);
    case 3:
        return read_path(c, f, meta);
    case 4:
        return read_enum(c, f, &meta->codec);
    case 5:
        return tl_thrift__i64(c, f, &meta->num_values);
    case 6:
        return tl_thrift__i64(c, f, &meta->total_uncompressed_size);
    case 7:
        return tl_thrift__i64(c, f, &meta->total_compressed_size);
    case 9:
        return tl_thrift__i64(c, f, &meta->data_page_offset);
    case 10:
        return tl_thrift__i64(c, f, &meta->index_page_offset);
    case 11:
        return tl_thrift__i64(c, f, &meta->dictionary_page_offset);
    case 12:
        meta->has_statistics = true;
        return read_statistics(c, f, &meta->statistics);
    case 13:
        return read_encoding_stats(c, f, meta);
    case 14:
        return tl_thrift__i64(c, f, &meta->bloom_filter_offset);
    case 15:
        return tl_thrift__i32(c, f, &meta->bloom_filter_length);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_column_chunk(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_column_chunk *chunk = out;
    uint32_t seen;
    switch (f->id) {
    case 1:
        return tl_thrift__string(c, f, &chunk->file_path);
    case 2:
        return tl_thrift__i64(c, f, &chunk->file_offset);
    case 3:
        TL_TRY(tl_thrift__sub(c, f, on_column_meta, &chunk->meta, &seen));
        chunk->has_meta = true;
        return require(c, seen, SEEN(1) | SEEN(4) | SEEN(5) | SEEN(6) | SEEN(7) | SEEN(9));
    case 4:
        return tl_thrift__i64(c, f, &chunk->offset_index_offset);
    case 5:
        return tl_thrift__i32(c, f, &chunk->offset_index_length);
    case 6:
        return tl_thrift__i64(c, f, &chunk->column_index_offset);
    case 7:
        return tl_thrift__i32(c, f, &chunk->column_index_length);
    case 8:
    case 9:
        chunk->is_encrypted = true;
        return tl_thrift__skip(c, f);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status read_column_chunks(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_row_group *group)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_STRUCT, COLUMN_CHUNK_BYTES_MIN, sizeof *group->columns, &group->n_columns,
                           &group->columns));
    for (int32_t i = 0; i < group->n_columns; i++) {
        tl_pq_column_chunk *chunk = &group->columns[i];
        chunk->offset_index_offset = chunk->column_index_offset = -1;
        chunk->meta.index_page_offset = chunk->meta.dictionary_page_offset = -1;
        chunk->meta.bloom_filter_offset = -1;
        chunk->meta.bloom_filter_length = -1;
        TL_TRY(tl_thrift__struct(c, on_column_chunk, chunk, NULL));
    }
    return TL_OK;
}

static tl_status on_sorting_column(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_sorting_column *sorting = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i32(c, f, &sorting->column_idx);
    case 2:
        return tl_thrift__bool(c, f, &sorting->descending);
    case 3:
        return tl_thrift__bool(c, f, &sorting->nulls_first);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status read_sorting(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_row_group *group)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_STRUCT, SORTING_COLUMN_BYTES_MIN, sizeof *group->sorting, &group->n_sorting,
                           &group->sorting));
    for (int32_t i = 0; i < group->n_sorting; i++)
        TL_TRY(tl_thrift__struct(c, on_sorting_column, &group->sorting[i], NULL));
    return TL_OK;
}

static tl_status on_row_group(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_row_group *group = out;
    switch (f->id) {
    case 1:
        return read_column_chunks(c, f, group);
    case 2:
        return tl_thrift__i64(c, f, &group->total_byte_size);
    case 3:
        return tl_thrift__i64(c, f, &group->num_rows);
    case 4:
        return read_sorting(c, f, group);
    case 5:
        return tl_thrift__i64(c, f, &group->file_offset);
    case 6:
        return tl_thrift__i64(c, f, &group->total_compressed_size);
    case 7:
        return read_i16_or_wider(c, f, &group->ordinal);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status read_row_groups(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_file_meta *meta)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_STRUCT, ROW_GROUP_BYTES_MIN, sizeof *meta->row_groups, &meta->n_row_groups,
                           &meta->row_groups));
    for (int32_t i = 0; i < meta->n_row_groups; i++) {
        tl_pq_row_group *group = &meta->row_groups[i];
        group->file_offset = group->total_compressed_size = group->ordinal = -1;
        uint32_t seen;
        TL_TRY(tl_thrift__struct(c, on_row_group, group, &seen));
        TL_TRY(require(c, seen, SEEN(1) | SEEN(3)));
    }
    return TL_OK;
}

/* ---- footer ---- */

static tl_status on_key_value(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_key_value *kv = out;
    tl_bytes_view value;
    switch (f->id) {
    case 1:
        return tl_thrift__string(c, f, &kv->key);
    case 2: /* may be anything, NUL characters included; what follows one is of no use here */
        TL_TRY(tl_thrift__binary(c, f, &value));
        kv->value = tl_arena_strndup(c->arena, (const char *)value.data, value.len);
        return kv->value == NULL ? tl_nomem(c->err, c->what) : TL_OK;
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status read_key_values(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_file_meta *meta)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_STRUCT, KEY_VALUE_BYTES_MIN, sizeof *meta->key_values, &meta->n_key_values,
                           &meta->key_values));
    for (int32_t i = 0; i < meta->n_key_values; i++) {
        meta->key_values[i].key = "";
        TL_TRY(tl_thrift__struct(c, on_key_value, &meta->key_values[i], NULL));
    }
    return TL_OK;
}

static tl_status on_column_order(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    *(uint8_t *)out = f->id == 1;
    return tl_thrift__skip(c, f);
}

static tl_status read_column_orders(tl_thrift_cursor *c, const tl_thrift_field *f, tl_pq_file_meta *meta)
{
    TL_TRY(
        tl_thrift__list(c, f, TL_THRIFT_STRUCT, 1, sizeof *meta->column_orders, &meta->n_column_orders, &meta->column_orders));
    for (int32_t i = 0; i < meta->n_column_orders; i++)
        TL_TRY(tl_thrift__struct(c, on_column_order, &meta->column_orders[i], NULL));
    return TL_OK;
}

static tl_status on_file_meta(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_file_meta *meta = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i32(c, f, &meta->version);
    case 2:
        return read_schema(c, f, meta);
    case 3:
        return tl_thrift__i64(c, f, &meta->num_rows);
    case 4:
        return read_row_groups(c, f, meta);
    case 5:
        return read_key_values(c, f, meta);
    case 6:
        return tl_thrift__string(c, f, &meta->created_by);
    case 7:
        return read_column_orders(c, f, meta);
    case 8:
        meta->is_encrypted = true;
        return tl_thrift__skip(c, f);
    default:
        return tl_thrift__skip(c, f);
    }
}

tl_status tl_pq__read_file_meta(tl_bytes_view bytes, tl_arena *arena, tl_pq_file_meta *out, tl_error *err)
{
    tl_thrift_cursor c = tl_thrift_cursor_of(bytes, "footer", arena, err);
    uint32_t seen;
    *out = (tl_pq_file_meta){0};
    TL_TRY(tl_thrift__struct(&c, on_file_meta, out, &seen));
    return require(&c, seen, SEEN(2) | SEEN(3) | SEEN(4));
}

/* ---- page headers ---- */

static tl_status on_data_header(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_data_page_header *h = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i32(c, f, &h->num_values);
    case 2:
        return read_enum(c, f, &h->encoding);
    case 3:
        return read_enum(c, f, &h->def_encoding);
    case 4:
        return read_enum(c, f, &h->rep_encoding);
    case 5:
        h->has_statistics = true;
        return read_statistics(c, f, &h->statistics);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_data_header_v2(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_data_page_header *h = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i32(c, f, &h->num_values);
    case 2:
        return tl_thrift__i32(c, f, &h->num_nulls);
    case 3:
        return tl_thrift__i32(c, f, &h->num_rows);
    case 4:
        return read_enum(c, f, &h->encoding);
    case 5:
        return tl_thrift__i32(c, f, &h->def_bytes);
    case 6:
        return tl_thrift__i32(c, f, &h->rep_bytes);
    case 7:
        return tl_thrift__bool(c, f, &h->is_compressed);
    case 8:
        h->has_statistics = true;
        return read_statistics(c, f, &h->statistics);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_dictionary_header(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_page_header *h = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i32(c, f, &h->dictionary_num_values);
    case 2:
        return read_enum(c, f, &h->dictionary_encoding);
    case 3:
        return tl_thrift__bool(c, f, &h->dictionary_is_sorted);
    default:
        return tl_thrift__skip(c, f);
    }
}

/* Fields 5 and 8 are told apart by the page type, which comes first in every writer's order and is checked at the end. */
static tl_status on_page_header(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_page_header *h = out;
    uint32_t seen;
    int32_t crc;
    switch (f->id) {
    case 1:
        return read_enum(c, f, &h->type);
    case 2:
        return tl_thrift__i32(c, f, &h->uncompressed_bytes);
    case 3:
        return tl_thrift__i32(c, f, &h->compressed_bytes);
    case 4:
        TL_TRY(tl_thrift__i32(c, f, &crc));
        h->has_crc = true;
        h->crc = (uint32_t)crc;
        return TL_OK;
    case 5:
        TL_TRY(tl_thrift__sub(c, f, on_data_header, &h->data, &seen));
        h->has_data = h->type == TL_PQ_DATA_PAGE;
        return require(c, seen, SEEN(1) | SEEN(2) | SEEN(3) | SEEN(4));
    case 7:
        TL_TRY(tl_thrift__sub(c, f, on_dictionary_header, h, &seen));
        h->has_dictionary = true;
        return require(c, seen, SEEN(1) | SEEN(2));
    case 8:
        TL_TRY(tl_thrift__sub(c, f, on_data_header_v2, &h->data, &seen));
        h->has_data = h->type == TL_PQ_DATA_PAGE_V2;
        return require(c, seen, SEEN(1) | SEEN(4) | SEEN(5) | SEEN(6));
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status check_page_header(tl_thrift_cursor *c, const tl_pq_page_header *h)
{
    if (h->uncompressed_bytes < 0 || h->compressed_bytes < 0)
        return tl_thrift__corrupt(c, "negative size");
    bool is_data = h->type == TL_PQ_DATA_PAGE || h->type == TL_PQ_DATA_PAGE_V2;
    if (is_data && (!h->has_data || h->data.num_values < 0 || h->data.num_rows < 0 || h->data.num_nulls < 0))
        return tl_thrift__corrupt(c, "data page header missing or with a negative count");
    if (is_data && (h->data.def_bytes < 0 || h->data.rep_bytes < 0 || h->data.def_bytes > h->uncompressed_bytes ||
                    h->data.rep_bytes > h->uncompressed_bytes - h->data.def_bytes))
        return tl_thrift__corrupt(c, "levels are longer than the page");
    if (h->type == TL_PQ_DICTIONARY_PAGE && (!h->has_dictionary || h->dictionary_num_values < 0))
        return tl_thrift__corrupt(c, "dictionary page header missing or with a negative count");
    return TL_OK;
}

tl_status tl_pq__read_page_header(tl_bytes_view bytes, tl_pq_page_header *out, size_t *used, tl_error *err)
{
    tl_thrift_cursor c = tl_thrift_cursor_of(bytes, "page header", NULL, err);
    uint32_t seen;
    *out = (tl_pq_page_header){.data.is_compressed = true};
    TL_TRY(tl_thrift__struct(&c, on_page_header, out, &seen));
    TL_TRY(require(&c, seen, SEEN(1) | SEEN(2) | SEEN(3)));
    TL_TRY(check_page_header(&c, out));
    *used = (size_t)(c.p - c.base);
    return TL_OK;
}

/* ---- page indexes ---- */

static tl_status read_bytes_list(tl_thrift_cursor *c, const tl_thrift_field *f, int32_t *n, tl_bytes_view **out)
{
    TL_TRY(tl_thrift__list(c, f, TL_THRIFT_BINARY, 1, sizeof **out, n, out));
    for (int32_t i = 0; i < *n; i++)
        TL_TRY(tl_thrift__element_binary(c, &(*out)[i]));
    return TL_OK;
}

typedef struct column_index_lists {
    tl_pq_column_index *index;
    int32_t n_null_pages, n_min, n_max, n_null_counts;
} column_index_lists;

static tl_status on_column_index(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    column_index_lists *lists = out;
    tl_pq_column_index *index = lists->index;
    switch (f->id) {
    case 1:
        TL_TRY(tl_thrift__list(c, f, TL_THRIFT_TRUE, 1, sizeof *index->null_pages, &lists->n_null_pages, &index->null_pages));
        for (int32_t i = 0; i < lists->n_null_pages; i++)
            TL_TRY(tl_thrift__element_bool(c, &index->null_pages[i]));
        return TL_OK;
    case 2:
        return read_bytes_list(c, f, &lists->n_min, &index->min_values);
    case 3:
        return read_bytes_list(c, f, &lists->n_max, &index->max_values);
    case 4:
        return read_enum(c, f, &index->boundary_order);
    case 5:
        TL_TRY(tl_thrift__list(c, f, TL_THRIFT_I64, 1, sizeof *index->null_counts, &lists->n_null_counts, &index->null_counts));
        for (int32_t i = 0; i < lists->n_null_counts; i++)
            TL_TRY(tl_thrift__element_i64(c, &index->null_counts[i]));
        return TL_OK;
    default:
        return tl_thrift__skip(c, f);
    }
}

tl_status tl_pq__read_column_index(tl_bytes_view bytes, tl_arena *arena, tl_pq_column_index *out, tl_error *err)
{
    tl_thrift_cursor c = tl_thrift_cursor_of(bytes, "column index", arena, err);
    *out = (tl_pq_column_index){0};
    column_index_lists lists = {.index = out};
    uint32_t seen;
    TL_TRY(tl_thrift__struct(&c, on_column_index, &lists, &seen));
    TL_TRY(require(&c, seen, SEEN(1) | SEEN(2) | SEEN(3)));
    out->n_pages = lists.n_null_pages;
    if (lists.n_min != out->n_pages || lists.n_max != out->n_pages)
        return tl_thrift__corrupt(&c, "lists of different lengths");
    if (lists.n_null_counts != out->n_pages)
        out->null_counts = NULL;
    return TL_OK;
}

static tl_status on_page_location(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_page_location *page = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i64(c, f, &page->offset);
    case 2:
        return tl_thrift__i32(c, f, &page->compressed_bytes);
    case 3:
        return tl_thrift__i64(c, f, &page->first_row);
    default:
        return tl_thrift__skip(c, f);
    }
}

static tl_status on_offset_index(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_offset_index *index = out;
    if (f->id != 1)
        return tl_thrift__skip(c, f);
    TL_TRY(
        tl_thrift__list(c, f, TL_THRIFT_STRUCT, PAGE_LOCATION_BYTES_MIN, sizeof *index->pages, &index->n_pages, &index->pages));
    for (int32_t i = 0; i < index->n_pages; i++) {
        uint32_t seen;
        TL_TRY(tl_thrift__struct(c, on_page_location, &index->pages[i], &seen));
        TL_TRY(require(c, seen, SEEN(1) | SEEN(2) | SEEN(3)));
    }
    return TL_OK;
}

tl_status tl_pq__read_offset_index(tl_bytes_view bytes, tl_arena *arena, tl_pq_offset_index *out, tl_error *err)
{
    tl_thrift_cursor c = tl_thrift_cursor_of(bytes, "offset index", arena, err);
    *out = (tl_pq_offset_index){0};
    return tl_thrift__struct(&c, on_offset_index, out, NULL);
}

/* ---- bloom filter ---- */

static tl_status on_known_member(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    if (f->id != 1)
        *(bool *)out = false;
    return tl_thrift__skip(c, f);
}

static tl_status on_bloom_header(tl_thrift_cursor *c, const tl_thrift_field *f, void *out)
{
    tl_pq_bloom_header *h = out;
    switch (f->id) {
    case 1:
        return tl_thrift__i32(c, f, &h->num_bytes);
    case 2:
    case 3:
    case 4:
        return tl_thrift__sub(c, f, on_known_member, &h->is_known, NULL);
    default:
        return tl_thrift__skip(c, f);
    }
}

tl_status tl_pq__read_bloom_header(tl_bytes_view bytes, tl_pq_bloom_header *out, size_t *used, tl_error *err)
{
    tl_thrift_cursor c = tl_thrift_cursor_of(bytes, "bloom filter header", NULL, err);
    *out = (tl_pq_bloom_header){.is_known = true};
    uint32_t seen;
    TL_TRY(tl_thrift__struct(&c, on_bloom_header, out, &seen));
    TL_TRY(require(&c, seen, SEEN(1) | SEEN(2) | SEEN(3) | SEEN(4)));
    *used = (size_t)(c.p - c.base);
    return TL_OK;
}
