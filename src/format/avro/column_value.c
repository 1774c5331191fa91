/* Values of a file in the form of the wanted types: scalars, and anything else through builders. */
#include "format/avro/avro_private.h"

/* ---- scalars ---- */

/* Big-endian two's complement of any length, as long as the value fits. */
static bool read_decimal(tl_bytes_view bytes, const tl_type *type, tl_avro_scalar *out)
{
    size_t skip = 0;
    uint8_t sign = bytes.len > 0 && (bytes.data[0] & 0x80) ? 0xff : 0;
    while (bytes.len - skip > 16) { /* must be mere sign */
        if (bytes.data[skip++] != sign)
            return false;
    }
    if (skip > 0 && (bytes.data[skip] & 0x80) != (sign & 0x80))
        return false;
    unsigned __int128 v = sign ? ~(unsigned __int128)0 : 0;
    for (; skip < bytes.len; skip++)
        v = v << 8 | bytes.data[skip];
    tl_i128 value = (tl_i128)v;
    if (tl_type_phys(type) == TL_PHYS_I128)
        out->i128 = value;
    else
        out->i = (int64_t)value;
    return tl_type_phys(type) == TL_PHYS_I128 || (tl_i128)out->i == value;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* A count of ticks as milliseconds, microseconds or TS96, as the type's precision says. */
static bool convert_timestamp(const tl_avro_node *node, int64_t ticks, tl_avro_scalar *out)
{
    int64_t per_second = node->ticks_per_second, wanted = node->type->precision <= 3 ? 1000 : 1000000;
    if (node->phys == TL_PHYS_TS96) {
        int64_t per_milli = per_second / 1000, millis = floor_div(ticks, per_milli);
        out->ts96 = (tl_ts96){millis, (int32_t)((ticks - millis * per_milli) * (1000000 / per_milli)), 0};
        return true;
    }
    if (per_second > wanted) {
        out->i = floor_div(ticks, per_second / wanted);
        return true;
    }
    return !__builtin_mul_overflow(ticks, wanted / per_second, &out->i);
}

static bool integer_fits(tl_phys phys, int64_t v)
{
    switch (phys) {
    case TL_PHYS_I8:
        return v == (int8_t)v;
    case TL_PHYS_I16:
        return v == (int16_t)v;
    case TL_PHYS_I32:
        return v == (int32_t)v;
    default:
        return true;
    }
}

static bool read_fixed(tl_avro_cursor *c, int64_t bytes, tl_bytes_view *out)
{
    if (bytes > c->end - c->p)
        return false;
    *out = (tl_bytes_view){c->p, (size_t)bytes};
    c->p += bytes;
    return true;
}

static bool read_float(tl_avro_cursor *c, float *out)
{
    if (c->end - c->p < 4)
        return false;
    memcpy(out, c->p, 4);
    c->p += 4;
    return true;
}

static bool read_double(tl_avro_cursor *c, double *out)
{
    if (c->end - c->p < 8)
        return false;
    memcpy(out, c->p, 8);
    c->p += 8;
    return true;
}

bool tl_avro__read_scalar(tl_avro_cursor *c, const tl_avro_node *node, tl_avro_scalar *out)
{
    tl_bytes_view bytes;
    int64_t v;
    float f;
    switch (node->op) {
    case TL_AVRO_OP_BOOL:
        if (c->p == c->end || *c->p > 1)
            return false;
        out->i = *c->p++;
        return true;
    case TL_AVRO_OP_INT:
        return tl_avro__read_long(c, &out->i) && integer_fits(node->phys, out->i);
    case TL_AVRO_OP_TIME_MICROS:
        if (!tl_avro__read_long(c, &v))
            return false;
        out->i = v / 1000;
        return integer_fits(node->phys, out->i);
    case TL_AVRO_OP_F32:
        return read_float(c, &out->f32);
    case TL_AVRO_OP_F64:
        return read_double(c, &out->f64);
    case TL_AVRO_OP_F32_TO_F64:
        if (!read_float(c, &f))
            return false;
        out->f64 = f;
        return true;
    case TL_AVRO_OP_BYTES:
        return tl_avro__read_bytes(c, &out->bytes);
    case TL_AVRO_OP_FIXED:
        return read_fixed(c, node->schema->fixed_bytes, &out->bytes);
    case TL_AVRO_OP_DECIMAL:
        return tl_avro__read_bytes(c, &bytes) && read_decimal(bytes, node->type, out);
    case TL_AVRO_OP_DECIMAL_FIXED:
        return read_fixed(c, node->schema->fixed_bytes, &bytes) && read_decimal(bytes, node->type, out);
    case TL_AVRO_OP_TIMESTAMP:
        return tl_avro__read_long(c, &v) && convert_timestamp(node, v, out);
    default:
        return false;
    }
}

/* ---- anything, through builders ---- */

static tl_status append_scalar(tl_builder *builder, const tl_avro_node *node, const tl_avro_scalar *v)
{
    switch (node->phys) {
    case TL_PHYS_F32:
        return tl_builder_f32(builder, v->f32);
    case TL_PHYS_F64:
        return tl_builder_f64(builder, v->f64);
    case TL_PHYS_I128:
        return tl_builder_i128(builder, v->i128);
    case TL_PHYS_TS96:
        return tl_builder_timestamp(builder, v->ts96.millis, v->ts96.nanos);
    case TL_PHYS_BYTES:
        return tl_builder_bytes(builder, v->bytes.data, v->bytes.len);
    default:
        return tl_builder_int(builder, v->i);
    }
}

static tl_status read_row(tl_avro_cursor *c, const tl_avro_node *node, tl_builder *builder)
{
    for (int32_t i = 0; i < node->n; i++) {
        const tl_avro_node *field = &node->children[i];
        if (field->op != TL_AVRO_OP_SKIP)
            TL_TRY(tl_avro__read_value(c, field, tl_builder_child(builder, field->target)));
        else if (!tl_avro__skip(c, field->schema))
            return TL_E_CORRUPT;
    }
    for (int32_t i = 0; i < node->n_absent; i++)
        TL_TRY(tl_builder_null(tl_builder_child(builder, node->absent[i])));
    return tl_builder_end(builder);
}

/* Blocks of items; an item has one value, or a key and a value. */
static tl_status read_items(tl_avro_cursor *c, const tl_avro_node *node, tl_builder *builder)
{
    for (;;) {
        int64_t n;
        if (!tl_avro__read_block(c, TL_MAX(node->schema->children[0]->min_bytes, 1), &n))
            return TL_E_CORRUPT;
        if (n == 0)
            return tl_builder_end(builder);
        for (int64_t i = 0; i < n; i++) {
            for (int32_t k = 0; k < node->n; k++)
                TL_TRY(tl_avro__read_value(c, &node->children[k], tl_builder_child(builder, k)));
        }
    }
}

tl_status tl_avro__read_value(tl_avro_cursor *c, const tl_avro_node *node, tl_builder *builder)
{
    if (node->null_branch >= 0) {
        int64_t branch;
        if (!tl_avro__read_long(c, &branch) || (branch != 0 && branch != 1))
            return TL_E_CORRUPT;
        if (branch == node->null_branch)
            return tl_builder_null(builder);
    }
    switch (node->op) {
    case TL_AVRO_OP_ROW:
        return read_row(c, node, builder);
    case TL_AVRO_OP_LIST:
    case TL_AVRO_OP_MAP:
    case TL_AVRO_OP_ENTRIES:
        return read_items(c, node, builder);
    default: {
        tl_avro_scalar v = {0};
        return tl_avro__read_scalar(c, node, &v) ? append_scalar(builder, node, &v) : TL_E_CORRUPT;
    }
    }
}
