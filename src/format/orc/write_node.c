/*
 * Columns into streams. Values of rows that are null, or whose parent is, take no place; each node keeps its row groups: where
 * they begin in its streams, and their statistics. PRESENT is left out of a stripe that has no null in the column.
 */
#include "format/orc/write_private.h"

#define ELEMENT_ID_BASE 536870911
#define ID_DEPTHS 1024

struct tl_orc_group {
    int32_t n_present, n; /* positions */
    uint64_t present[4];
    uint64_t positions[6];
    size_t stats_from, stats_bytes; /* in group_stats */
};

/* ---- types ---- */

static bool kind_of(const tl_type *type, tl_orc_kind *out)
{
    static const tl_orc_kind kinds[] = {
        [TL_BOOLEAN] = TL_ORC_BOOLEAN,     [TL_TINYINT] = TL_ORC_BYTE,     [TL_SMALLINT] = TL_ORC_SHORT,
        [TL_INT] = TL_ORC_INT,             [TL_BIGINT] = TL_ORC_LONG,      [TL_FLOAT] = TL_ORC_FLOAT,
        [TL_DOUBLE] = TL_ORC_DOUBLE,       [TL_DECIMAL] = TL_ORC_DECIMAL,  [TL_CHAR] = TL_ORC_CHAR,
        [TL_VARCHAR] = TL_ORC_VARCHAR,     [TL_BINARY] = TL_ORC_BINARY,    [TL_VARBINARY] = TL_ORC_BINARY,
        [TL_DATE] = TL_ORC_DATE,           [TL_TIME] = TL_ORC_INT,         [TL_TIMESTAMP] = TL_ORC_TIMESTAMP,
        [TL_TIMESTAMP_LTZ] = TL_ORC_TIMESTAMP_INSTANT,                     [TL_ARRAY] = TL_ORC_LIST,
        [TL_MAP] = TL_ORC_MAP,             [TL_MULTISET] = TL_ORC_MAP,     [TL_ROW] = TL_ORC_STRUCT,
    };
    *out = TL_ORC_BINARY;
    if (type->kind == TL_BLOB) /* its descriptor */
        return true;
    if ((size_t)type->kind >= TL_ARRAY_LEN(kinds))
        return false;
    *out = type->kind == TL_VARCHAR && type->length == TL_LENGTH_MAX ? TL_ORC_STRING : kinds[type->kind];
    return true;
}

/* Java's int arithmetic wraps. Format reference §8. */
static int32_t derived_id(int32_t id_base, int32_t depth, bool is_key)
{
    uint32_t shift = (uint32_t)id_base * ID_DEPTHS + (uint32_t)depth;
    return (int32_t)(is_key ? (uint32_t)ELEMENT_ID_BASE - shift : (uint32_t)ELEMENT_ID_BASE + shift);
}

static tl_status init_children(tl_orc_wnode *node, int32_t id_base, int32_t depth, int32_t *n_columns, tl_compressor *compressor,
                               tl_arena *arena, tl_error *err)
{
    const tl_type *type = node->type;
    node->children = tl_arena_calloc(arena, (size_t)type->n_fields + 1, sizeof *node->children);
    if (node->children == NULL)
        return tl_nomem(err, "ORC writer");
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_field *field = &type->fields[i];
        bool is_field = node->kind == TL_ORC_STRUCT, is_key = node->kind == TL_ORC_MAP && i == 0;
        int32_t id = is_field ? field->id : id_base < 0 ? -1 : derived_id(id_base, depth + 1, is_key);
        node->n_children = i + 1;
        tl_status status = tl_orc__wnode_init(&node->children[i], field->type, id, is_field ? id : id_base,
                                              is_field ? 0 : depth + 1, n_columns, compressor, arena, err);
        TL_TRY(tl_error_wrap(err, status, "'%s'", field->name));
    }
    return TL_OK;
}

static bool is_text(const tl_orc_wnode *node)
{
    return node->kind == TL_ORC_STRING || node->kind == TL_ORC_VARCHAR || node->kind == TL_ORC_CHAR;
}

tl_status tl_orc__wnode_init(tl_orc_wnode *node, const tl_type *type, int32_t id, int32_t id_base, int32_t depth,
                             int32_t *n_columns, tl_compressor *compressor, tl_arena *arena, tl_error *err)
{
    *node = (tl_orc_wnode){.type = type, .id = id, .column = (*n_columns)++};
    if (!kind_of(type, &node->kind))
        return tl_error_set(err, TL_E_UNSUPPORTED, "ORC has no such type%s", type->kind == TL_VECTOR ? ": Avro and JSON files hold vectors" : "");
    tl_orc_out *const outs[] = {&node->present.octets.out, &node->bits.octets.out, &node->octets.out,
                                &node->ints.out,           &node->lengths.out,     &node->data};
    for (size_t i = 0; i < TL_ARRAY_LEN(outs); i++)
        outs[i]->compressor = compressor;
    node->ints.is_signed = !is_text(node);
    node->lengths.is_signed = node->kind == TL_ORC_DECIMAL; /* there they are scales */
    bool is_nested = node->kind == TL_ORC_STRUCT || node->kind == TL_ORC_LIST || node->kind == TL_ORC_MAP;
    return is_nested ? init_children(node, id_base, depth, n_columns, compressor, arena, err) : TL_OK;
}

void tl_orc__wnode_set_words(tl_orc_wnode *node, double threshold)
{
    if (is_text(node)) {
        node->words.threshold = threshold;
        tl_orc__words_reset(&node->words);
    }
    for (int32_t i = 0; i < node->n_children; i++)
        tl_orc__wnode_set_words(&node->children[i], threshold);
}

void tl_orc__wnode_deinit(tl_orc_wnode *node)
{
    for (int32_t i = 0; i < node->n_children; i++)
        tl_orc__wnode_deinit(&node->children[i]);
    tl_orc_out *const outs[] = {&node->present.octets.out, &node->bits.octets.out, &node->octets.out,
                                &node->ints.out,           &node->lengths.out,     &node->data};
    for (size_t i = 0; i < TL_ARRAY_LEN(outs); i++)
        tl_orc__out_deinit(outs[i]);
    tl_orc__bounds_deinit(&node->group);
    tl_orc__bounds_deinit(&node->stripe);
    tl_orc__bounds_deinit(&node->file);
    tl_orc__words_deinit(&node->words);
    tl_buf_deinit(&node->rows);
    tl_buf_deinit(&node->bloom);
    tl_buf_deinit(&node->blooms);
    tl_buf_deinit(&node->groups);
    tl_buf_deinit(&node->group_stats);
    tl_buf_deinit(&node->scratch);
}

/* ---- values ---- */

/* Rows [from, to), none of them null: their elements or fields follow. */
static tl_status write_children(tl_orc_wnode *node, const tl_column *col, int64_t from, int64_t to, tl_error *err)
{
    bool is_row = node->kind == TL_ORC_STRUCT;
    int64_t first = is_row ? from : col->offsets[from], n = (is_row ? to : col->offsets[to]) - first;
    for (int32_t c = 0; c < node->n_children && n > 0; c++)
        TL_TRY(tl_orc__wnode_write(&node->children[c], col->children[c], first, n, err));
    return TL_OK;
}

/* Which of the rows are there: *rows are the numbers of those, NULL if all are. */
static tl_status put_present(tl_orc_wnode *node, const tl_column *col, int64_t from, int64_t n, const uint32_t **rows, int64_t *count, tl_error *err)
{
    *rows = NULL;
    *count = n;
    if (col->validity == NULL || col->null_count == 0)
        return tl_orc__bits_put_ones(&node->present, n, err);
    node->rows.len = 0;
    if (tl_buf_reserve(&node->rows, (size_t)n * sizeof(uint32_t)) != TL_OK)
        return tl_nomem(err, "ORC writer");
    uint32_t *there = (uint32_t *)(void *)node->rows.data;
    *count = 0;
    for (int64_t i = from; i < from + n; i++) {
        bool is_there = !tl_col_is_null(col, i);
        TL_TRY(tl_orc__bits_put(&node->present, is_there, err));
        there[*count] = (uint32_t)i;
        *count += is_there;
    }
    node->had_null |= *count < n;
    node->group.has_null |= *count < n;
    *rows = there;
    return TL_OK;
}

/* Elements or fields of rows that are there, run by run. */
static tl_status write_runs(tl_orc_wnode *node, const tl_column *col, const uint32_t *rows, int64_t from, int64_t n, tl_error *err)
{
    if (rows == NULL)
        return write_children(node, col, from, from + n, err);
    for (int64_t k = 0, next; k < n; k = next) {
        for (next = k + 1; next < n && rows[next] == rows[next - 1] + 1; next++)
            continue;
        TL_TRY(write_children(node, col, rows[k], (int64_t)rows[next - 1] + 1, err));
    }
    return TL_OK;
}

tl_status tl_orc__wnode_write(tl_orc_wnode *node, const tl_column *col, int64_t from, int64_t n, tl_error *err)
{
    const uint32_t *rows;
    int64_t count;
    TL_TRY(put_present(node, col, from, n, &rows, &count, err));
    node->group.count += count;
    if (node->bloom_bytes > 0)
        TL_TRY(tl_orc__bloom_rows(node, col, rows, from, count, err));
    if (node->words.state != TL_ORC_WORDS_NONE)
        return tl_orc__words_put(node, col, rows, from, count, err);
    TL_TRY(tl_orc__values_put(node, col, rows, from, count, err));
    return node->n_children > 0 ? write_runs(node, col, rows, from, count, err) : TL_OK;
}

/* ---- row groups ---- */

static int value_positions(const tl_orc_wnode *node, uint64_t *to)
{
    int n;
    if (node->words.state == TL_ORC_WORDS_USED)
        return tl_orc__ints_position(&node->ints, to);
    switch (node->kind) {
    case TL_ORC_BOOLEAN:
        return tl_orc__bits_position(&node->bits, to);
    case TL_ORC_BYTE:
        return tl_orc__octets_position(&node->octets, to);
    case TL_ORC_FLOAT:
    case TL_ORC_DOUBLE:
        return tl_orc__out_position(&node->data, to);
    case TL_ORC_DECIMAL:
    case TL_ORC_STRING:
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
    case TL_ORC_BINARY:
        n = tl_orc__out_position(&node->data, to);
        return n + tl_orc__ints_position(&node->lengths, to + n);
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        n = tl_orc__ints_position(&node->ints, to);
        return n + tl_orc__ints_position(&node->lengths, to + n);
    case TL_ORC_LIST:
    case TL_ORC_MAP:
        return tl_orc__ints_position(&node->lengths, to);
    case TL_ORC_STRUCT:
        return 0;
    default:
        return tl_orc__ints_position(&node->ints, to);
    }
}

tl_status tl_orc__wnode_start_group(tl_orc_wnode *node, tl_error *err)
{
    tl_orc_group group = {0};
    group.n_present = tl_orc__bits_position(&node->present, group.present);
    group.n = value_positions(node, group.positions);
    if (tl_buf_append(&node->groups, &group, sizeof group) != TL_OK)
        return tl_nomem(err, "row group");
    if (node->bloom_bytes > 0)
        TL_TRY(tl_orc__bloom_start(node, err));
    for (int32_t i = 0; i < node->n_children; i++)
        TL_TRY(tl_orc__wnode_start_group(&node->children[i], err));
    return TL_OK;
}

void tl_orc__wnode_restart_group(tl_orc_wnode *node)
{
    tl_orc_group *group = (tl_orc_group *)(void *)node->groups.data;
    group->n = value_positions(node, group->positions);
}

tl_status tl_orc__wnode_end_group(tl_orc_wnode *node, tl_error *err)
{
    if (node->words.state != TL_ORC_WORDS_NONE)
        TL_TRY(tl_orc__words_bounds(node, err));
    if (node->words.state == TL_ORC_WORDS_TRIED)
        TL_TRY(tl_orc__words_decide(node, err));
    tl_orc_group *group = (tl_orc_group *)(void *)(node->groups.data + node->groups.len) - 1;
    group->stats_from = node->group_stats.len;
    if (tl_orc__bounds_message(&node->group, node->kind, node->type, &node->group_stats) != TL_OK ||
        tl_orc__bounds_merge(&node->stripe, &node->group, node->kind) != TL_OK)
        return tl_nomem(err, "statistics");
    group->stats_bytes = node->group_stats.len - group->stats_from;
    tl_orc__bounds_reset(&node->group);
    if (node->bloom_bytes > 0)
        TL_TRY(tl_orc__bloom_end(node, err));
    for (int32_t i = 0; i < node->n_children; i++)
        TL_TRY(tl_orc__wnode_end_group(&node->children[i], err));
    return TL_OK;
}

static int64_t out_bytes(const tl_orc_out *out)
{
    return (int64_t)(out->done.len + out->plain.len);
}

int64_t tl_orc__wnode_bytes(const tl_orc_wnode *node)
{
    int64_t bytes = out_bytes(&node->present.octets.out) + out_bytes(&node->bits.octets.out) + out_bytes(&node->octets.out) +
                    out_bytes(&node->ints.out) + out_bytes(&node->lengths.out) + out_bytes(&node->data) + (int64_t)node->blooms.len +
                    8 * (node->ints.n + node->lengths.n) + (int64_t)(node->words.ids.len + node->words.dict.plain.len);
    for (int32_t i = 0; i < node->n_children; i++)
        bytes += tl_orc__wnode_bytes(&node->children[i]);
    return bytes;
}

/* ---- stripes ---- */

static tl_status add_stream(tl_orc_stripe_out *out, bool is_index, uint64_t kind, int32_t column, const tl_buf *content,
                            tl_error *err)
{
    tl_buf message = {0}, *streams = is_index ? &out->index_streams : &out->data_streams;
    tl_status status = tl_buf_append(is_index ? &out->index : &out->data, content->data, content->len);
    if (status == TL_OK)
        status = tl_orc__put_uint(&message, 1, kind);
    if (status == TL_OK)
        status = tl_orc__put_uint(&message, 2, (uint64_t)column);
    if (status == TL_OK)
        status = tl_orc__put_uint(&message, 3, content->len);
    if (status == TL_OK)
        status = tl_orc__put_bytes(streams, 1, message.data, message.len);
    tl_buf_deinit(&message);
    return status == TL_OK ? TL_OK : tl_nomem(err, "stripe");
}

/* A finished stream; the next stripe begins with an empty one. */
static tl_status end_out(tl_orc_wnode *node, tl_orc_out *stream, uint64_t kind, tl_orc_stripe_out *out, tl_error *err)
{
    TL_TRY(tl_orc__out_flush(stream, err));
    TL_TRY(add_stream(out, /* is_index= */ false, kind, node->column, &stream->done, err));
    tl_orc__out_reset(stream);
    return TL_OK;
}

static tl_status end_ints(tl_orc_wnode *node, tl_orc_ints_out *ints, uint64_t kind, tl_orc_stripe_out *out, tl_error *err)
{
    TL_TRY(tl_orc__ints_flush(ints, err));
    return end_out(node, &ints->out, kind, out, err);
}

static tl_status end_present(tl_orc_wnode *node, tl_orc_stripe_out *out, tl_error *err)
{
    TL_TRY(tl_orc__bits_flush(&node->present, err));
    if (node->had_null)
        return end_out(node, &node->present.octets.out, TL_ORC_PRESENT, out, err);
    tl_orc__out_reset(&node->present.octets.out);
    return TL_OK;
}

static tl_status end_words(tl_orc_wnode *node, tl_orc_stripe_out *out, tl_error *err)
{
    TL_TRY(tl_orc__words_flush(node, err));
    TL_TRY(end_ints(node, &node->ints, TL_ORC_DATA, out, err));
    TL_TRY(end_ints(node, &node->lengths, TL_ORC_LENGTH, out, err));
    return end_out(node, &node->data, TL_ORC_DICTIONARY_DATA, out, err);
}

static tl_status end_values(tl_orc_wnode *node, tl_orc_stripe_out *out, tl_error *err)
{
    switch (node->kind) {
    case TL_ORC_BOOLEAN:
        TL_TRY(tl_orc__bits_flush(&node->bits, err));
        return end_out(node, &node->bits.octets.out, TL_ORC_DATA, out, err);
    case TL_ORC_BYTE:
        TL_TRY(tl_orc__octets_flush(&node->octets, err));
        return end_out(node, &node->octets.out, TL_ORC_DATA, out, err);
    case TL_ORC_FLOAT:
    case TL_ORC_DOUBLE:
        return end_out(node, &node->data, TL_ORC_DATA, out, err);
    case TL_ORC_DECIMAL:
        TL_TRY(end_out(node, &node->data, TL_ORC_DATA, out, err));
        return end_ints(node, &node->lengths, TL_ORC_SECONDARY, out, err);
    case TL_ORC_STRING:
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
    case TL_ORC_BINARY:
        if (node->words.state == TL_ORC_WORDS_USED)
            return end_words(node, out, err);
        TL_TRY(end_out(node, &node->data, TL_ORC_DATA, out, err));
        return end_ints(node, &node->lengths, TL_ORC_LENGTH, out, err);
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        TL_TRY(end_ints(node, &node->ints, TL_ORC_DATA, out, err));
        return end_ints(node, &node->lengths, TL_ORC_SECONDARY, out, err);
    case TL_ORC_LIST:
    case TL_ORC_MAP:
        return end_ints(node, &node->lengths, TL_ORC_LENGTH, out, err);
    case TL_ORC_STRUCT:
        return TL_OK;
    default:
        return end_ints(node, &node->ints, TL_ORC_DATA, out, err);
    }
}

static tl_status put_entry(const tl_orc_wnode *node, const tl_orc_group *group, tl_buf *index)
{
    uint8_t packed[10 * 10];
    size_t n = 0;
    for (int32_t i = 0; node->had_null && i < group->n_present; i++)
        n += tl_varint_encode(group->present[i], packed + n);
    for (int32_t i = 0; i < group->n; i++)
        n += tl_varint_encode(group->positions[i], packed + n);
    tl_buf entry = {0};
    tl_status status = tl_orc__put_bytes(&entry, 1, packed, n);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&entry, 2, node->group_stats.data + group->stats_from, group->stats_bytes);
    if (status == TL_OK)
        status = tl_orc__put_bytes(index, 1, entry.data, entry.len);
    tl_buf_deinit(&entry);
    return status;
}

static tl_status add_index(tl_orc_wnode *node, const tl_buf *index, tl_orc_stream_kind kind, tl_orc_stripe_out *out, tl_error *err)
{
    tl_orc_out packed = {.compressor = out->compressor};
    tl_status status = tl_orc__out_put(&packed, index->data, index->len, err);
    if (status == TL_OK)
        status = tl_orc__out_flush(&packed, err);
    if (status == TL_OK)
        status = add_stream(out, /* is_index= */ true, kind, node->column, &packed.done, err);
    tl_orc__out_deinit(&packed);
    return status;
}

static tl_status end_index(tl_orc_wnode *node, tl_orc_stripe_out *out, tl_error *err)
{
    tl_buf index = {0};
    const tl_orc_group *groups = (const tl_orc_group *)(const void *)node->groups.data;
    tl_status status = TL_OK;
    for (size_t g = 0; g < node->groups.len / sizeof *groups && status == TL_OK; g++)
        status = put_entry(node, &groups[g], &index);
    if (status != TL_OK)
        status = tl_nomem(err, "row index");
    if (status == TL_OK)
        status = add_index(node, &index, TL_ORC_ROW_INDEX, out, err);
    if (status == TL_OK && node->bloom_bytes > 0)
        status = add_index(node, &node->blooms, TL_ORC_BLOOM_FILTER_UTF8, out, err);
    tl_buf_deinit(&index);
    node->groups.len = node->group_stats.len = node->blooms.len = 0;
    return status;
}

/* The column's encoding, and its statistics of the stripe. */
static tl_status end_column(tl_orc_wnode *node, tl_orc_stripe_out *out, tl_error *err)
{
    bool is_plain = node->kind == TL_ORC_BOOLEAN || node->kind == TL_ORC_BYTE || node->kind == TL_ORC_FLOAT ||
                    node->kind == TL_ORC_DOUBLE || node->kind == TL_ORC_STRUCT;
    tl_buf encoding = {0}, stats = {0};
    bool has_words = node->words.state == TL_ORC_WORDS_USED;
    tl_status status = tl_orc__put_uint(&encoding, 1, is_plain ? TL_ORC_DIRECT : has_words ? TL_ORC_DICTIONARY_V2 : TL_ORC_DIRECT_V2);
    if (status == TL_OK && has_words)
        status = tl_orc__put_uint(&encoding, 2, node->words.dict.count);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&out->encodings, 2, encoding.data, encoding.len);
    if (status == TL_OK)
        status = tl_orc__bounds_message(&node->stripe, node->kind, node->type, &stats);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&out->stats, 1, stats.data, stats.len);
    if (status == TL_OK)
        status = tl_orc__bounds_merge(&node->file, &node->stripe, node->kind);
    tl_orc__bounds_reset(&node->stripe);
    tl_buf_deinit(&encoding);
    tl_buf_deinit(&stats);
    return status == TL_OK ? TL_OK : tl_nomem(err, "stripe");
}

tl_status tl_orc__wnode_end_stripe(tl_orc_wnode *node, tl_orc_stripe_out *out, tl_error *err)
{
    TL_TRY(end_present(node, out, err));
    TL_TRY(end_values(node, out, err));
    TL_TRY(end_index(node, out, err));
    TL_TRY(end_column(node, out, err));
    node->had_null = false;
    tl_orc__words_reset(&node->words);
    for (int32_t i = 0; i < node->n_children; i++)
        TL_TRY(tl_orc__wnode_end_stripe(&node->children[i], out, err));
    return TL_OK;
}
