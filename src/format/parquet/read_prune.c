/*
 * Row groups that cannot match, by their statistics.
 *
 * What bounds can be trusted: min_value and max_value where the file says that they follow the type's order; the deprecated
 * min and max only for types whose order is that of signed numbers, which is what old writers used for all. INT96 has no
 * order. Bounds may be truncated strings: they are bounds, not values. NaN and signed zeros are left to the predicate.
 */
#include "format/parquet/read_private.h"

static tl_status alloc_pruner(tl_pq_pruner *pruner, tl_pq_file *file, tl_arena *arena, const tl_type *row_type, tl_error *err)
{
    size_t n = (size_t)row_type->n_fields + 1;
    *pruner = (tl_pq_pruner){.file = file, .row_type = row_type};
    pruner->is_used = tl_arena_calloc(arena, n, sizeof *pruner->is_used);
    pruner->is_missing = tl_arena_calloc(arena, n, sizeof *pruner->is_missing);
    pruner->nodes = tl_arena_calloc(arena, n, sizeof *pruner->nodes);
    pruner->conversions = tl_arena_calloc(arena, n, sizeof *pruner->conversions);
    bool ok = pruner->is_used != NULL && pruner->is_missing != NULL && pruner->nodes != NULL && pruner->conversions != NULL;
    return ok ? TL_OK : tl_nomem(err, "pruning");
}

static void find_nodes(tl_pq_pruner *pruner)
{
    const tl_type *row_type = pruner->row_type;
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        const tl_pq_node *node = tl_pq__child(pruner->file->root, row_type->fields[i].name);
        if (!pruner->is_used[i])
            continue;
        pruner->is_missing[i] = node == NULL;
        if (node == NULL || !node->el->has_type || node->rep != 0)
            continue;
        if (tl_pq__conversion(node->el, row_type->fields[i].type, &pruner->conversions[i], NULL) == TL_OK)
            pruner->nodes[i] = node;
    }
}

tl_status tl_pq__pruner_init(tl_pq_pruner *pruner, tl_pq_file *file, tl_arena *arena, const tl_type *row_type,
                             const tl_predicate *predicate, tl_error *err)
{
    TL_TRY(alloc_pruner(pruner, file, arena, row_type, err));
    pruner->predicate = predicate;
    if (predicate == NULL)
        return TL_OK;
    tl_predicate_columns(predicate, pruner->is_used);
    find_nodes(pruner);
    return TL_OK;
}

tl_status tl_pq__pruner_init_all(tl_pq_pruner *pruner, tl_pq_file *file, tl_arena *arena, const tl_type *row_type, tl_error *err)
{
    TL_TRY(alloc_pruner(pruner, file, arena, row_type, err));
    for (int32_t i = 0; i < row_type->n_fields; i++)
        pruner->is_used[i] = true;
    find_nodes(pruner);
    return TL_OK;
}

bool tl_pq__is_order_known(const tl_pq_file *file, int32_t leaf)
{
    const tl_pq_file_meta *meta = &file->meta;
    if (meta->n_column_orders == file->n_leaves)
        return meta->column_orders[leaf] == 1;
    /* Without column orders only signed numbers are beyond doubt. */
    tl_pq_logical l = tl_pq__annotation(file->leaves[leaf]->el);
    tl_pq_type type = file->leaves[leaf]->el->type;
    bool is_unsigned = l.kind == TL_PQ_LOGICAL_INTEGER && !l.is_signed;
    return meta->n_column_orders == 0 && !is_unsigned && type != TL_PQ_BYTE_ARRAY && type != TL_PQ_FIXED_LEN_BYTE_ARRAY;
}

static bool is_order_signed(const tl_pq_schema_element *el)
{
    tl_pq_logical l = tl_pq__annotation(el);
    bool is_unsigned = l.kind == TL_PQ_LOGICAL_INTEGER && !l.is_signed;
    return !is_unsigned && el->type != TL_PQ_BYTE_ARRAY && el->type != TL_PQ_FIXED_LEN_BYTE_ARRAY && el->type != TL_PQ_INT96;
}

/* ---- bounds ---- */

/* The values one after the other as a page would hold them: PLAIN. False if one has the wrong length. */
static bool append_plain(tl_buf *buf, const tl_pq_schema_element *el, int width, const tl_bytes_view *values,
                         const bool *is_null, int64_t n, tl_status *status)
{
    static const uint8_t zeros[16];
    for (int64_t i = 0; i < n && *status == TL_OK; i++) {
        tl_bytes_view v = values[i];
        bool absent = is_null != NULL && is_null[i];
        uint8_t length[4];
        if (el->type == TL_PQ_BOOLEAN) {
            if (!absent && v.len != 1)
                return false;
            if (i % 8 == 0)
                *status = tl_buf_append_byte(buf, 0);
            if (*status == TL_OK && !absent && (v.data[0] & 1) != 0)
                buf->data[buf->len - 1] |= (uint8_t)(1 << (i % 8));
        } else if (width == 0) {
            if (absent)
                v.len = 0;
            if (v.len > INT32_MAX)
                return false;
            tl_write_le32(length, (uint32_t)v.len);
            *status = tl_buf_append(buf, length, sizeof length);
            if (*status == TL_OK)
                *status = tl_buf_append(buf, v.data, v.len);
        } else if (!absent) {
            if (v.len != (size_t)width)
                return false;
            *status = tl_buf_append(buf, v.data, v.len);
        } else {
            for (int at = 0; at < width && *status == TL_OK; at += (int)sizeof zeros)
                *status = tl_buf_append(buf, zeros, (size_t)TL_MIN(width - at, (int)sizeof zeros));
        }
    }
    return *status == TL_OK;
}

static tl_status null_bits(tl_column *col, const bool *is_null, int64_t n, tl_error *err)
{
    if (is_null == NULL)
        return TL_OK;
    for (int64_t i = 0; i < n; i++)
        col->null_count += is_null[i];
    if (col->null_count == 0)
        return TL_OK;
    col->validity = tl_calloc(tl_bitmap_bytes(n), 1);
    if (col->validity == NULL)
        return tl_nomem(err, "bounds");
    for (int64_t i = 0; i < n; i++)
        tl_bit_put(col->validity, i, !is_null[i]);
    return TL_OK;
}

tl_status tl_pq__bounds_column(const tl_pq_pruner *pruner, int32_t idx, const tl_bytes_view *values, const bool *is_null,
                               int64_t n, tl_column **out, tl_error *err)
{
    const tl_pq_conversion *conv = &pruner->conversions[idx];
    const tl_pq_schema_element *el = pruner->nodes[idx]->el;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    tl_pq_dictionary plain = {0};
    tl_buf buf = {0};
    tl_status status = TL_OK;
    *out = NULL;
    bool ok =
        append_plain(&buf, el, conv->src_width, values, is_null, n, &status) && tl_buf_reserve(&buf, TL_PQ_SLACK) == TL_OK;
    if (ok) /* a value that the requested type cannot hold gives no bound */
        ok = tl_pq__values_plain(conv, el, (tl_bytes_view){buf.data, buf.len}, n, &plain, NULL) == TL_OK;
    tl_buf_deinit(&buf);
    if (!ok)
        return status == TL_OK ? TL_OK : tl_nomem(err, "bounds");
    status = tl_pq__column_shell(pruner->row_type->fields[idx].type, n, 0, &col, err);
    if (status != TL_OK) {
        tl_pq__dictionary_deinit(&plain);
        return status;
    }
    col->values = plain.values;
    col->offsets = plain.offsets;
    col->data = plain.data;
    TL_TRY(null_bits(col, is_null, n, err));
    *out = TL_STEAL(col);
    return TL_OK;
}

/* ---- row groups ---- */

static tl_status chunk_bounds(const tl_pq_pruner *pruner, int32_t idx, const tl_pq_column_chunk *chunk, tl_column **min,
                              tl_column **max, int64_t *null_count, tl_error *err)
{
    const tl_pq_statistics *st = &chunk->meta.statistics;
    const tl_pq_node *node = pruner->nodes[idx];
    if (!chunk->meta.has_statistics)
        return TL_OK;
    *null_count = node->def == 0 ? 0 : st->null_count;
    if (!pruner->conversions[idx].is_order_kept)
        return TL_OK;
    bool is_new = (st->has_min_value || st->has_max_value) && tl_pq__is_order_known(pruner->file, node->leaf);
    bool is_old = !st->has_min_value && !st->has_max_value && is_order_signed(node->el);
    if (is_new ? st->has_min_value : is_old && st->has_min)
        TL_TRY(tl_pq__bounds_column(pruner, idx, is_new ? &st->min_value : &st->min, NULL, 1, min, err));
    if (is_new ? st->has_max_value : is_old && st->has_max)
        TL_TRY(tl_pq__bounds_column(pruner, idx, is_new ? &st->max_value : &st->max, NULL, 1, max, err));
    return TL_OK;
}

tl_status tl_pq__group_stats(const tl_pq_pruner *pruner, int32_t group, int32_t idx, tl_column_stats *out, tl_error *err)
{
    const tl_pq_row_group *row_group = &pruner->file->meta.row_groups[group];
    *out = (tl_column_stats){NULL, NULL, pruner->is_missing[idx] ? row_group->num_rows : -1};
    if (pruner->nodes[idx] == NULL)
        return TL_OK;
    return chunk_bounds(pruner, idx, &row_group->columns[pruner->nodes[idx]->leaf], &out->min, &out->max, &out->null_count, err);
}

static tl_status fill_bounds(const tl_pq_pruner *pruner, int32_t group, tl_col_bounds *bounds, tl_error *err)
{
    for (int32_t i = 0; i < pruner->row_type->n_fields; i++) {
        tl_column_stats stats;
        tl_status status = tl_pq__group_stats(pruner, group, i, &stats, err);
        bounds[i] = (tl_col_bounds){.min = stats.min, .max = stats.max, .null_count = stats.null_count};
        TL_TRY(status);
    }
    return TL_OK;
}

tl_status tl_pq__group_may_match(const tl_pq_pruner *pruner, int32_t group, bool *out, tl_error *err)
{
    const tl_pq_row_group *row_group = &pruner->file->meta.row_groups[group];
    int32_t n = pruner->row_type->n_fields;
    *out = true;
    if (pruner->predicate == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) tl_col_bounds *bounds = tl_calloc((size_t)n, sizeof *bounds);
    if (bounds == NULL)
        return tl_nomem(err, "bounds");
    tl_status status = fill_bounds(pruner, group, bounds, err);
    if (status == TL_OK)
        *out = tl_predicate_may_match(pruner->predicate, bounds, row_group->num_rows);
    for (int32_t i = 0; i < n; i++) {
        tl_column_unref((tl_column *)(uintptr_t)bounds[i].min);
        tl_column_unref((tl_column *)(uintptr_t)bounds[i].max);
    }
    TL_TRY(status);
    return *out ? tl_pq__bloom_may_match(pruner, group, out, err) : TL_OK;
}
