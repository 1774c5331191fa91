/*
 * Row groups that cannot hold a value, by their bloom filters. A filter says no only where the value is in no row, so `=` and IN
 * can be excluded; all else says yes. What is not asked: truth values and old filters without a fixed character set; zero and NaN,
 * which have several forms; times of zones other than UTC and before 1970, which writers count differently.
 */
#include "format/orc/read_private.h"
#include "base/utf8.h"

/* ---- filters of a column ---- */

static tl_status read_filters(const tl_orc_file *file, tl_orc_node *node, tl_arena *arena, tl_error *err)
{
    node->filter_bytes.len = 0;
    TL_TRY(tl_orc__file_plain(file, node->filters_at, node->filters_size, &node->filter_bytes, err));
    tl_orc_pb pb = tl_orc__pb((tl_bytes_view){node->filter_bytes.data, node->filter_bytes.len});
    if ((node->filters = tl_arena_calloc(arena, (size_t)node->n_entries + 1, sizeof *node->filters)) == NULL)
        return tl_nomem(err, "bloom filters");
    for (node->n_filters = 0; tl_orc__pb_next(&pb) && node->n_filters < node->n_entries;)
        if (pb.field == 1)
            node->filters[node->n_filters++] = pb.bytes;
    return pb.is_bad ? tl_error_set(err, TL_E_CORRUPT, "column %d: malformed bloom filters", node->column) : TL_OK;
}

static bool filter_has(tl_bytes_view message, uint64_t hash)
{
    uint64_t n_hashes = 0;
    tl_bytes_view bits = {0};
    tl_orc_pb pb = tl_orc__pb(message);
    while (tl_orc__pb_next(&pb)) {
        if (pb.field == 1)
            n_hashes = pb.v;
        else if (pb.field == 3)
            bits = pb.bytes;
    }
    if (pb.is_bad || bits.len == 0 || n_hashes > 64)
        return true;
    for (uint32_t i = 1; i <= n_hashes; i++) {
        uint64_t bit = tl_orc__bloom_bit(hash, i, (uint64_t)bits.len * 8);
        if ((bits.data[bit / 8] >> bit % 8 & 1) == 0)
            return false;
    }
    return true;
}

/* ---- literals ---- */

static tl_status hash_char(const tl_orc_node *node, tl_bytes_view v, uint64_t *out, bool *is_known, tl_error *err)
{
    while (v.len > 0 && v.data[v.len - 1] == ' ')
        v.len--;
    size_t n = (size_t)tl_utf8_length(v), max = node->type->length;
    *is_known = n <= max;
    if (!*is_known)
        return TL_OK;
    TL_CLEANUP(tl_freep) uint8_t *padded = tl_alloc(v.len + max - n + 1);
    if (padded == NULL)
        return tl_nomem(err, "bloom filters");
    if (v.len > 0)
        memcpy(padded, v.data, v.len);
    memset(padded + v.len, ' ', max - n);
    *out = tl_orc__hash_bytes((tl_bytes_view){padded, v.len + max - n});
    return TL_OK;
}

static bool hash_time(const tl_orc_meta *meta, const tl_orc_node *node, const tl_column *lit, int64_t i, uint64_t *out)
{
    int64_t millis = lit->phys == TL_PHYS_TS96           ? tl_col_ts96(lit, i).millis
                     : lit->type->precision <= 3 ? tl_col_i64(lit, i)
                                                         : tl_col_i64(lit, i) / 1000;
    *out = tl_orc__hash_number(millis);
    return meta->writer_version >= TL_ORC_VERSION_TIMESTAMPS && node->zone == NULL && millis > 0;
}

/* *is_known is false if it is not known how a writer hashes this value. */
static tl_status hash_literal(const tl_orc_meta *meta, const tl_orc_node *node, const tl_column *lit, int64_t i, uint64_t *out,
                              bool *is_known, tl_error *err)
{
    double v;
    switch (node->op) {
    case TL_ORC_OP_OCTET:
    case TL_ORC_OP_INT:
        *is_known = tl_phys_is_integer(lit->phys);
        if (*is_known)
            *out = tl_orc__hash_number(tl_col_integer(lit, i));
        return TL_OK;
    case TL_ORC_OP_F32:
    case TL_ORC_OP_F64:
        v = lit->phys == TL_PHYS_F32 ? (double)tl_col_f32(lit, i) : lit->phys == TL_PHYS_F64 ? tl_col_f64(lit, i) : 0;
        *out = tl_orc__hash_double(v);
        *is_known = v != 0 && v == v;
        return TL_OK;
    case TL_ORC_OP_DECIMAL:
        *is_known = lit->type->kind == TL_DECIMAL && node->type->scale <= lit->type->scale;
        if (*is_known)
            *out = tl_orc__hash_decimal(lit->phys == TL_PHYS_I128 ? tl_col_i128(lit, i) : tl_col_i64(lit, i), lit->type->scale);
        return TL_OK;
    case TL_ORC_OP_BYTES:
        *is_known = lit->phys == TL_PHYS_BYTES;
        if (*is_known && node->type->kind == TL_ORC_CHAR)
            return hash_char(node, tl_col_bytes(lit, i), out, is_known, err);
        if (*is_known)
            *out = tl_orc__hash_bytes(tl_col_bytes(lit, i));
        return TL_OK;
    case TL_ORC_OP_TIMESTAMP:
        *is_known = hash_time(meta, node, lit, i, out);
        return TL_OK;
    default:
        *is_known = false;
        return TL_OK;
    }
}

/* ---- predicate ---- */

typedef struct question {
    const tl_orc_file *file;
    tl_orc_node *nodes;
    int64_t group, n_groups;
    tl_arena *arena;
} question;

static tl_status leaf_may_match(void *arg, const tl_predicate *leaf, bool *out, tl_error *err)
{
    const question *q = arg;
    tl_orc_node *node = &q->nodes[leaf->column];
    *out = true;
    if (node->op == TL_ORC_OP_ABSENT || node->filters_size == 0 || node->n_entries != q->n_groups)
        return TL_OK;
    if (node->n_filters < 0)
        TL_TRY(read_filters(q->file, node, q->arena, err));
    if (node->n_filters != q->n_groups)
        return TL_OK;
    for (int64_t i = 0; i < leaf->literals->length; i++) {
        uint64_t hash = 0;
        bool is_known = true;
        if (tl_col_is_null(leaf->literals, i))
            continue; /* equal to nothing */
        TL_TRY(hash_literal(&q->file->meta, node, leaf->literals, i, &hash, &is_known, err));
        if (!is_known || filter_has(node->filters[q->group], hash))
            return TL_OK;
    }
    *out = false;
    return TL_OK;
}

tl_status tl_orc__bloom_may_match(const tl_predicate *predicate, const tl_orc_file *file, tl_orc_node *nodes, int64_t group, int64_t n_groups,
                                  tl_arena *arena, bool *out, tl_error *err)
{
    question q = {file, nodes, group, n_groups, arena};
    return tl_predicate_may_equal(predicate, leaf_may_match, &q, out, err);
}
