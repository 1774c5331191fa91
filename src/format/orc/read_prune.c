/* Statistics of files, stripes and row groups as bounds that a predicate is tried on. */
#include "format/orc/read_private.h"

/* Bounds of all columns, made for one question. */
typedef struct bounds {
    tl_col_bounds *cols;
    int32_t n;
} bounds;

static void bounds_deinit(bounds *b)
{
    for (int32_t i = 0; b->cols != NULL && i < b->n; i++) {
        tl_column_unref((tl_column *)(uintptr_t)b->cols[i].min);
        tl_column_unref((tl_column *)(uintptr_t)b->cols[i].max);
    }
    tl_free(b->cols);
}

/* ---- one bound ---- */

/* "-12.50" in units of 10^-scale; false if that is no number, too large or finer than the scale. */
static bool parse_decimal(tl_bytes_view text, int32_t scale, tl_i128 *out)
{
    bool negative = text.len > 0 && text.data[0] == '-', has_point = false, has_digit = false;
    tl_i128 v = 0;
    for (size_t i = negative; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (c == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (c < '0' || c > '9' || __builtin_mul_overflow(v, (tl_i128)10, &v) || __builtin_add_overflow(v, (tl_i128)(c - '0'), &v))
            return false;
        has_digit = true;
        scale -= has_point;
    }
    if (scale < 0 || !has_digit)
        return false;
    for (; scale > 0; scale--)
        if (__builtin_mul_overflow(v, (tl_i128)10, &v))
            return false;
    *out = negative ? -v : v;
    return true;
}

/* Milliseconds and nanoseconds of it. Values in the second before 1970 may come out one second late: see wall_seconds(). */
static tl_status put_timestamp(tl_builder *builder, const tl_orc_stats *s, bool is_max)
{
    int64_t millis = is_max ? s->max : s->min;
    if (is_max && millis >= -1000 && millis < 1000)
        return tl_builder_timestamp(builder, 999, 999999);
    return tl_builder_timestamp(builder, millis, is_max ? s->max_nanos : s->min_nanos);
}

/* TL_E_INVALID: there is no such bound. */
static tl_status put_bound(tl_builder *builder, const tl_orc_node *node, const tl_orc_stats *s, bool is_max)
{
    tl_i128 decimal;
    tl_bytes_view text = is_max ? s->max_text : s->min_text;
    switch (node->op) {
    case TL_ORC_OP_BOOL:
        if (!s->has_true_count || s->count <= 0)
            return TL_E_INVALID;
        return tl_builder_bool(builder, is_max ? s->true_count > 0 : s->true_count == s->count);
    case TL_ORC_OP_OCTET:
    case TL_ORC_OP_INT:
        return s->has_ints ? tl_builder_int(builder, is_max ? s->max : s->min) : TL_E_INVALID;
    case TL_ORC_OP_F32:
    case TL_ORC_OP_F64:
        if (!s->has_doubles)
            return TL_E_INVALID;
        return node->phys == TL_PHYS_F32 ? tl_builder_f32(builder, (float)(is_max ? s->max_double : s->min_double))
                                         : tl_builder_f64(builder, is_max ? s->max_double : s->min_double);
    case TL_ORC_OP_DECIMAL:
    case TL_ORC_OP_DECIMAL64:
        if (!s->has_texts || !parse_decimal(text, node->want->scale, &decimal))
            return TL_E_INVALID;
        return tl_builder_i128(builder, decimal);
    case TL_ORC_OP_BYTES:
        if (!s->has_texts || node->type->kind == TL_ORC_BINARY)
            return TL_E_INVALID;
        if (node->type->kind == TL_ORC_CHAR && !is_max)
            text = tl_predicate_char_min(text);
        return tl_builder_bytes(builder, text.data, text.len);
    case TL_ORC_OP_TIMESTAMP:
        return s->has_ints ? put_timestamp(builder, s, is_max) : TL_E_INVALID;
    default:
        return TL_E_INVALID;
    }
}

static tl_status make_bound(const tl_orc_node *node, const tl_orc_stats *s, bool is_max, tl_column **out, tl_error *err)
{
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    TL_TRY(tl_builder_create(node->want, &builder, err));
    tl_status status = put_bound(builder, node, s, is_max);
    if (status == TL_OK)
        status = tl_builder_finish(builder, &col, err);
    tl_builder_free(builder);
    *out = status == TL_OK ? col : NULL;
    return status == TL_E_NOMEM ? tl_nomem(err, "bounds") : TL_OK;
}

/* ---- one column ---- */

tl_status tl_orc__column_stats(const tl_orc_meta *meta, const tl_orc_node *node, tl_bytes_view message, int64_t rows, tl_column_stats *out,
                               tl_error *err)
{
    tl_orc_stats s;
    *out = (tl_column_stats){NULL, NULL, -1};
    if (node->op == TL_ORC_OP_ABSENT) {
        out->null_count = rows;
        return TL_OK;
    }
    if (message.len == 0 || !tl_orc__read_stats(message, meta->writer_version, &s))
        return TL_OK;
    if (s.has_null == 0)
        out->null_count = 0;
    else if (s.has_count && s.count <= rows)
        out->null_count = rows - s.count;
    TL_TRY(make_bound(node, &s, /* is_max= */ false, &out->min, err));
    return make_bound(node, &s, /* is_max= */ true, &out->max, err);
}

static tl_status column_bounds(const tl_orc_meta *meta, const tl_orc_node *node, tl_bytes_view message, int64_t rows,
                               tl_col_bounds *out, tl_error *err)
{
    tl_column_stats stats;
    tl_status status = tl_orc__column_stats(meta, node, message, rows, &stats, err);
    *out = (tl_col_bounds){.min = stats.min, .max = stats.max, .null_count = stats.null_count};
    return status;
}

tl_status tl_orc__may_match(const tl_predicate *predicate, const tl_orc_meta *meta, const tl_orc_node *nodes, int32_t n,
                            const bool *is_used, const tl_bytes_view *stats, int64_t rows, bool *out, tl_error *err)
{
    TL_CLEANUP(bounds_deinit) bounds b = {.cols = tl_calloc((size_t)n + 1, sizeof *b.cols), .n = n};
    if (b.cols == NULL)
        return tl_nomem(err, "bounds");
    for (int32_t i = 0; i < n; i++) {
        b.cols[i].null_count = -1;
        if (is_used[i])
            TL_TRY(column_bounds(meta, &nodes[i], stats[i], rows, &b.cols[i], err));
    }
    *out = tl_predicate_may_match(predicate, b.cols, rows);
    return TL_OK;
}
