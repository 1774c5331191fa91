/* Statistics while writing, as the reference's column writers keep them; and protobuf output. */
#include "format/orc/write_private.h"
#include "types/builder.h"

/* ---- protobuf ---- */

tl_status tl_orc__put_uint(tl_buf *out, uint32_t field, uint64_t v)
{
    uint8_t bytes[20];
    size_t n = tl_varint_encode((uint64_t)field << 3, bytes);
    n += tl_varint_encode(v, bytes + n);
    return tl_buf_append(out, bytes, n);
}

tl_status tl_orc__put_sint(tl_buf *out, uint32_t field, int64_t v)
{
    return tl_orc__put_uint(out, field, tl_zigzag64(v));
}

tl_status tl_orc__put_bytes(tl_buf *out, uint32_t field, const void *data, size_t bytes)
{
    uint8_t head[20];
    size_t n = tl_varint_encode((uint64_t)field << 3 | 2, head);
    n += tl_varint_encode(bytes, head + n);
    TL_TRY(tl_buf_append(out, head, n));
    return tl_buf_append(out, data, bytes);
}

static tl_status put_double(tl_buf *out, uint32_t field, double v)
{
    uint8_t bytes[9] = {(uint8_t)(field << 3 | 1)};
    memcpy(bytes + 1, &v, sizeof v);
    return tl_buf_append(out, bytes, sizeof bytes);
}

/* ---- gathering ---- */

void tl_orc__bounds_deinit(tl_orc_bounds *b)
{
    tl_buf_deinit(&b->min_text);
    tl_buf_deinit(&b->max_text);
}

void tl_orc__bounds_reset(tl_orc_bounds *b)
{
    tl_buf min = b->min_text, max = b->max_text;
    min.len = max.len = 0;
    *b = (tl_orc_bounds){.min_text = min, .max_text = max};
}

void tl_orc__bounds_int(tl_orc_bounds *b, int64_t v)
{
    b->min = !b->has_any || v < b->min ? v : b->min;
    b->max = !b->has_any || v > b->max ? v : b->max;
    b->has_any = true;
    b->no_sum |= __builtin_add_overflow(b->sum, v, &b->sum);
}

/* Sums of a run of numbers so far from the ends cannot overflow. */
#define SUM_IS_SAFE (INT64_C(1) << 53)

void tl_orc__bounds_ints(tl_orc_bounds *b, const int64_t *v, int64_t n)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        min = v[i] < min ? v[i] : min;
        max = v[i] > max ? v[i] : max;
        sum += (uint64_t)v[i];
    }
    if (n > 0 && min > -SUM_IS_SAFE && max < SUM_IS_SAFE) {
        b->min = !b->has_any || min < b->min ? min : b->min;
        b->max = !b->has_any || max > b->max ? max : b->max;
        b->has_any = true;
        b->no_sum |= __builtin_add_overflow(b->sum, (int64_t)sum, &b->sum);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        tl_orc__bounds_int(b, v[i]);
}

void tl_orc__bounds_double(tl_orc_bounds *b, double v)
{
    if (!b->has_any)
        b->min_double = b->max_double = v;
    else if (v < b->min_double)
        b->min_double = v;
    else if (v > b->max_double)
        b->max_double = v;
    b->has_any = true;
    b->sum_double += v;
}

void tl_orc__bounds_wide(tl_orc_bounds *b, tl_i128 v)
{
    b->min_wide = !b->has_any || v < b->min_wide ? v : b->min_wide;
    b->max_wide = !b->has_any || v > b->max_wide ? v : b->max_wide;
    b->has_any = true;
}

void tl_orc__bounds_timestamp(tl_orc_bounds *b, int64_t millis, int32_t nanos)
{
    if (!b->has_any || millis < b->min || (millis == b->min && nanos < b->min_nanos)) {
        b->min = millis;
        b->min_nanos = nanos;
    }
    if (!b->has_any || millis > b->max || (millis == b->max && nanos > b->max_nanos)) {
        b->max = millis;
        b->max_nanos = nanos;
    }
    b->has_any = true;
}

static tl_bytes_view view_of(const tl_buf *buf)
{
    return (tl_bytes_view){buf->data, buf->len};
}

static tl_status set_text(tl_buf *to, tl_bytes_view v)
{
    to->len = 0;
    return tl_buf_append(to, v.data, v.len);
}

tl_status tl_orc__bounds_text(tl_orc_bounds *b, tl_bytes_view v)
{
    if (!b->has_any || tl_bytes_compare(v, view_of(&b->min_text)) < 0)
        TL_TRY(set_text(&b->min_text, v));
    if (!b->has_any || tl_bytes_compare(v, view_of(&b->max_text)) > 0)
        TL_TRY(set_text(&b->max_text, v));
    b->has_any = true;
    return TL_OK;
}

static void merge_doubles(tl_orc_bounds *to, const tl_orc_bounds *from)
{
    to->min_double = !to->has_any || from->min_double < to->min_double ? from->min_double : to->min_double;
    to->max_double = !to->has_any || from->max_double > to->max_double ? from->max_double : to->max_double;
    to->sum_double += from->sum_double;
}

static tl_status merge_values(tl_orc_bounds *to, const tl_orc_bounds *from, tl_orc_kind kind)
{
    int64_t sum = to->sum;
    bool no_sum = to->no_sum || from->no_sum || __builtin_add_overflow(to->sum, from->sum, &sum);
    switch (kind) {
    case TL_ORC_FLOAT:
    case TL_ORC_DOUBLE:
        merge_doubles(to, from);
        break;
    case TL_ORC_DECIMAL:
        tl_orc__bounds_wide(to, from->min_wide);
        tl_orc__bounds_wide(to, from->max_wide);
        break;
    case TL_ORC_STRING:
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
        TL_TRY(tl_orc__bounds_text(to, view_of(&from->min_text)));
        TL_TRY(tl_orc__bounds_text(to, view_of(&from->max_text)));
        break;
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        tl_orc__bounds_timestamp(to, from->min, from->min_nanos);
        tl_orc__bounds_timestamp(to, from->max, from->max_nanos);
        break;
    default:
        tl_orc__bounds_int(to, from->min);
        tl_orc__bounds_int(to, from->max);
    }
    to->sum = sum;
    to->no_sum = no_sum;
    to->has_any = true;
    return TL_OK;
}

tl_status tl_orc__bounds_merge(tl_orc_bounds *to, const tl_orc_bounds *from, tl_orc_kind kind)
{
    to->count += from->count;
    to->has_null |= from->has_null;
    to->true_count += from->true_count;
    to->bytes += from->bytes;
    return from->has_any ? merge_values(to, from, kind) : TL_OK;
}

/* ---- messages ---- */

static tl_status put_ints(const tl_orc_bounds *b, bool with_sum, tl_buf *out)
{
    TL_TRY(tl_orc__put_sint(out, 1, b->min));
    TL_TRY(tl_orc__put_sint(out, 2, b->max));
    return with_sum && !b->no_sum ? tl_orc__put_sint(out, 3, b->sum) : TL_OK;
}

static tl_status put_doubles(const tl_orc_bounds *b, tl_buf *out)
{
    TL_TRY(put_double(out, 1, b->min_double));
    TL_TRY(put_double(out, 2, b->max_double));
    return put_double(out, 3, b->sum_double);
}

static tl_status put_texts(const tl_orc_bounds *b, tl_buf *out)
{
    if (b->has_any && b->min_text.len <= TL_ORC_BOUND_BYTES_MAX)
        TL_TRY(tl_orc__put_bytes(out, 1, b->min_text.data, b->min_text.len));
    if (b->has_any && b->max_text.len <= TL_ORC_BOUND_BYTES_MAX)
        TL_TRY(tl_orc__put_bytes(out, 2, b->max_text.data, b->max_text.len));
    return tl_orc__put_sint(out, 3, b->bytes);
}

static tl_status put_timestamps(const tl_orc_bounds *b, tl_buf *out)
{
    TL_TRY(tl_orc__put_sint(out, 3, b->min));
    TL_TRY(tl_orc__put_sint(out, 4, b->max));
    if (b->min_nanos != 0)
        TL_TRY(tl_orc__put_uint(out, 5, (uint64_t)b->min_nanos + 1));
    return b->max_nanos != 999999 ? tl_orc__put_uint(out, 6, (uint64_t)b->max_nanos + 1) : TL_OK;
}

static tl_status put_wide(tl_buf *out, uint32_t field, tl_i128 v, int32_t scale)
{
    char text[TL_ORC_DECIMAL_TEXT_MAX];
    return tl_orc__put_bytes(out, field, text, tl_orc__decimal_text(v, scale, /* is_short= */ false, text));
}

static tl_status put_decimals(const tl_orc_bounds *b, int32_t scale, tl_buf *out)
{
    TL_TRY(put_wide(out, 1, b->min_wide, scale));
    return put_wide(out, 2, b->max_wide, scale);
}

static tl_status put_trues(const tl_orc_bounds *b, tl_buf *out)
{
    uint8_t packed[10];
    return tl_orc__put_bytes(out, 1, packed, tl_varint_encode((uint64_t)b->true_count, packed));
}

/* Field number and content of the part that the kind has; 0: none. */
static tl_status put_kind(const tl_orc_bounds *b, tl_orc_kind kind, const tl_type *type, tl_buf *out, uint32_t *field)
{
    switch (kind) {
    case TL_ORC_BOOLEAN:
        *field = 5;
        return put_trues(b, out);
    case TL_ORC_BYTE:
    case TL_ORC_SHORT:
    case TL_ORC_INT:
    case TL_ORC_LONG:
        *field = 2;
        return b->has_any ? put_ints(b, true, out) : TL_OK;
    case TL_ORC_DATE:
        *field = 7;
        return b->has_any ? put_ints(b, false, out) : TL_OK;
    case TL_ORC_FLOAT:
    case TL_ORC_DOUBLE:
        *field = 3;
        return b->has_any ? put_doubles(b, out) : TL_OK;
    case TL_ORC_STRING:
    case TL_ORC_VARCHAR:
    case TL_ORC_CHAR:
        *field = 4;
        return put_texts(b, out);
    case TL_ORC_DECIMAL:
        *field = 6;
        return b->has_any ? put_decimals(b, type->scale, out) : TL_OK;
    case TL_ORC_BINARY:
        *field = 8;
        return tl_orc__put_sint(out, 1, b->bytes);
    case TL_ORC_TIMESTAMP:
    case TL_ORC_TIMESTAMP_INSTANT:
        *field = 9;
        return b->has_any ? put_timestamps(b, out) : TL_OK;
    default:
        return TL_OK;
    }
}

tl_status tl_orc__bounds_message(const tl_orc_bounds *b, tl_orc_kind kind, const tl_type *type, tl_buf *out)
{
    tl_buf part = {0};
    uint32_t field = 0;
    tl_status status = tl_orc__put_uint(out, 1, (uint64_t)b->count);
    if (status == TL_OK)
        status = put_kind(b, kind, type, &part, &field);
    if (status == TL_OK && field != 0)
        status = tl_orc__put_bytes(out, field, part.data, part.len);
    if (status == TL_OK)
        status = tl_orc__put_uint(out, 10, b->has_null);
    tl_buf_deinit(&part);
    return status;
}

/* ---- results ---- */

/* TL_E_INVALID: there is no such bound. Java: OrcSimpleStatsExtractor. */
static tl_status build(const tl_orc_bounds *b, const tl_type *type, bool is_max, tl_builder *builder)
{
    const tl_buf *text = is_max ? &b->max_text : &b->min_text;
    if (!b->has_any && type->kind != TL_BOOLEAN)
        return TL_E_INVALID;
    switch (type->kind) {
    case TL_BOOLEAN:
        if (b->count == 0)
            return TL_E_INVALID;
        return tl_builder_bool(builder, is_max ? b->true_count > 0 : b->true_count == b->count);
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
    case TL_DATE:
    case TL_TIME:
        return tl_builder_int(builder, is_max ? b->max : b->min);
    case TL_FLOAT:
        return tl_builder_f32(builder, (float)(is_max ? b->max_double : b->min_double));
    case TL_DOUBLE:
        return tl_builder_f64(builder, is_max ? b->max_double : b->min_double);
    case TL_DECIMAL:
        return tl_builder_i128(builder, is_max ? b->max_wide : b->min_wide);
    case TL_CHAR:
    case TL_VARCHAR:
        return text->len > TL_ORC_BOUND_BYTES_MAX ? TL_E_INVALID : tl_builder_bytes(builder, text->data, text->len);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return tl_builder_timestamp(builder, is_max ? b->max : b->min, is_max ? b->max_nanos : b->min_nanos);
    default:
        return TL_E_INVALID;
    }
}

static tl_status bound_column(const tl_orc_bounds *b, const tl_type *type, bool is_max, tl_column **out, tl_error *err)
{
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(type, &builder, err));
    tl_status status = build(b, type, is_max, builder);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status == TL_E_NOMEM ? tl_nomem(err, "file statistics") : TL_OK;
}

tl_status tl_orc__bounds_result(const tl_orc_bounds *b, const tl_type *type, int64_t rows, tl_column_stats *out, tl_error *err)
{
    out->null_count = rows - b->count;
    TL_TRY(bound_column(b, type, false, &out->min, err));
    return bound_column(b, type, true, &out->max, err);
}
