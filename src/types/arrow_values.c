/*
 * Values of fixed width out of Arrow arrays: shared where they lie as ours do, else converted with a check of every value.
 */
#include "types/arrow_private.h"
#include "types/number.h"
#include "types/types_private.h"

static inline void zero_value(void *values, int64_t i, int width)
{
    if (width == 4)
        ((uint32_t *)values)[i] = 0;
    else if (width == 8)
        ((uint64_t *)values)[i] = 0;
    else
        memset((uint8_t *)values + i * width, 0, (size_t)width);
}

/* Goes from null to null, 64 rows at a time: a test of each row would be a branch that nobody can foresee. */
static void zero_nulls(tl_column *col, int width)
{
    if (col->null_count == 0)
        return;
    for (int64_t i = 0; i < col->length; i += 64) {
        int64_t n = TL_MIN(col->length - i, 64);
        uint64_t valid = 0;
        memcpy(&valid, col->validity + i / 8, tl_bitmap_bytes(n));
        uint64_t nulls = ~valid & (UINT64_MAX >> (64 - n));
        for (; nulls != 0; nulls &= nulls - 1)
            zero_value(col->values, i + __builtin_ctzll(nulls), width);
    }
}

static tl_status own_values(tl_column *col, tl_error *err)
{
    col->values = tl_arrow__own_buffer(col, TL_ARROW_OWN_VALUES, (size_t)col->length * (size_t)tl_phys_width(col->phys));
    return col->values == NULL ? tl_nomem(err, "column") : TL_OK;
}

/* Values that lie as ours do. */
static tl_status share_values(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    size_t width = (size_t)tl_phys_width(col->phys);
    if (s->length == 0)
        return own_values(col, err);
    const uint8_t *from = (const uint8_t *)tl_arrow__buffer(s, 1) + (size_t)s->from * width;
    if (col->null_count == 0 && (uintptr_t)from % width == 0) {
        col->values = (void *)(uintptr_t)from;
        return TL_OK;
    }
    TL_TRY(own_values(col, err));
    memcpy(col->values, from, (size_t)s->length * width);
    zero_nulls(col, (int)width);
    return TL_OK;
}

tl_status tl_arrow__import_bools(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    TL_TRY(own_values(col, err));
    const uint8_t *bits = tl_arrow__buffer(s, 1);
    uint8_t *to = col->values;
    for (int64_t i = 0; i < s->length; i++)
        to[i] = tl_bit_get(bits, s->from + i);
    zero_nulls(col, 1);
    return TL_OK;
}

static tl_status does_not_fit(const tl_arrow_source *s, int64_t i, tl_i128 value, int32_t scale, const tl_type *type,
                              tl_error *err)
{
    char text[64];
    tl_buf name = {0};
    bool named = tl_type_format(type, &name) == TL_OK && tl_buf_append_byte(&name, 0) == TL_OK;
    tl_status status =
        tl_error_set(err, TL_E_INVALID, "row %lld: value %.*s of Arrow type '%.40s' does not fit %s", (long long)i,
                     (int)tl_decimal_format(value, scale, text), text, s->schema->format, named ? (char *)name.data : "?");
    tl_buf_deinit(&name);
    return status;
}

tl_i128 tl_arrow__read_int(const uint8_t *values, int64_t i, int bytes, bool is_unsigned)
{
    const uint8_t *p = values + (size_t)i * (size_t)bytes;
    switch (bytes) {
    case 1:
        return is_unsigned ? (tl_i128)*p : (tl_i128)(int8_t)*p;
    case 2:
        return is_unsigned ? (tl_i128)tl_read_le16(p) : (tl_i128)(int16_t)tl_read_le16(p);
    case 4:
        return is_unsigned ? (tl_i128)tl_read_le32(p) : (tl_i128)(int32_t)tl_read_le32(p);
    case 8:
        return is_unsigned ? (tl_i128)tl_read_le64(p) : (tl_i128)(int64_t)tl_read_le64(p);
    default: {
        tl_i128 v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    }
}

/* Store an integer in a column of any integer layout; false if it does not fit. */
static bool store_int(tl_column *col, int64_t i, tl_i128 v)
{
    switch (col->phys) {
    case TL_PHYS_I8:
        ((int8_t *)col->values)[i] = (int8_t)v;
        return (int8_t)v == v;
    case TL_PHYS_I16:
        ((int16_t *)col->values)[i] = (int16_t)v;
        return (int16_t)v == v;
    case TL_PHYS_I32:
        ((int32_t *)col->values)[i] = (int32_t)v;
        return (int32_t)v == v;
    case TL_PHYS_I64:
        ((int64_t *)col->values)[i] = (int64_t)v;
        return (int64_t)v == v;
    default:
        ((tl_i128 *)col->values)[i] = v;
        return true;
    }
}

tl_status tl_arrow__import_ints(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    const tl_arrow_format *f = &s->format;
    if (!f->is_unsigned && f->bytes == tl_phys_width(col->phys))
        return share_values(s, col, err);
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v =
            tl_col_is_null(col, i) ? 0 : tl_arrow__read_int(tl_arrow__buffer(s, 1), s->from + i, f->bytes, f->is_unsigned);
        if (!store_int(col, i, v))
            return does_not_fit(s, i, v, 0, col->type, err);
    }
    return TL_OK;
}

/* Unscaled value at scale `from` brought to scale `to`; false if digits would be lost or 38 do not suffice. */
static bool rescale(tl_i128 *v, int32_t from, int32_t to)
{
    if (to >= from) {
        if (to - from > 38)
            return *v == 0;
        return !__builtin_mul_overflow(*v, tl_pow10_i128(to - from), v);
    }
    if (from - to > 38)
        return *v == 0;
    tl_i128 unit = tl_pow10_i128(from - to);
    bool exact = *v % unit == 0;
    *v /= unit;
    return exact;
}

/* The low half of 256 bits, if the rest is only sign. */
static bool read_decimal(const tl_arrow_source *s, int64_t i, tl_i128 *out)
{
    const uint8_t *values = tl_arrow__buffer(s, 1);
    if (s->format.kind == TL_ARROW_INT || s->format.bytes <= 16) {
        *out = tl_arrow__read_int(values, i, s->format.bytes, s->format.kind == TL_ARROW_INT && s->format.is_unsigned);
        return true;
    }
    tl_i128 high;
    memcpy(out, values + i * 32, sizeof *out);
    memcpy(&high, values + i * 32 + 16, sizeof high);
    return high == (*out < 0 ? -1 : 0);
}

/* The first value that has more digits than its type, or -1. Values at nulls are zero. Whole passes without a branch first. */
static int64_t find_too_long(const tl_column *col)
{
    const tl_i128 limit = tl_pow10_i128(col->type->precision);
    bool narrow = col->phys == TL_PHYS_I64, any = false;
    if (narrow) {
        const int64_t *values = col->values;
        for (int64_t i = 0; i < col->length; i++)
            any |= values[i] >= (int64_t)limit || values[i] <= -(int64_t)limit;
    } else {
        const tl_i128 *values = col->values;
        for (int64_t i = 0; i < col->length; i++)
            any |= values[i] >= limit || values[i] <= -limit;
    }
    for (int64_t i = 0; any && i < col->length; i++) {
        tl_i128 v = narrow ? tl_col_i64(col, i) : tl_col_i128(col, i);
        if (v >= limit || v <= -limit)
            return i;
    }
    return -1;
}

/* Buffers shared as they are: Arrow does not promise that a decimal has no more digits than its type says. */
static tl_status share_decimals(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    TL_TRY(share_values(s, col, err));
    int64_t i = find_too_long(col);
    if (i < 0)
        return TL_OK;
    tl_i128 v = col->phys == TL_PHYS_I64 ? tl_col_i64(col, i) : tl_col_i128(col, i);
    return does_not_fit(s, i, v, col->type->scale, col->type, err);
}

/* From decimals and integers. */
tl_status tl_arrow__import_decimals(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    int32_t scale = s->format.kind == TL_ARROW_DECIMAL ? s->format.scale : 0;
    const tl_type *type = col->type;
    bool same = s->format.kind == TL_ARROW_DECIMAL && scale == type->scale && s->format.precision <= type->precision;
    if (same && s->format.bytes == tl_phys_width(col->phys))
        return share_decimals(s, col, err);
    if (scale < -38 || scale > 76)
        return tl_error_set(err, TL_E_UNSUPPORTED, "Arrow decimal with scale %d", scale);
    TL_TRY(own_values(col, err));
    const tl_i128 limit = tl_pow10_i128(type->precision);
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v = 0;
        bool ok = tl_col_is_null(col, i) || read_decimal(s, s->from + i, &v);
        tl_i128 scaled = v;
        ok = ok && rescale(&scaled, scale, type->scale) && scaled < limit && scaled > -limit;
        if (!ok)
            return does_not_fit(s, i, v, TL_MAX(TL_MIN(scale, 38), 0), type, err);
        (void)store_int(col, i, scaled); /* fits by its precision */
    }
    return TL_OK;
}

tl_status tl_arrow__import_doubles(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    if (s->format.bytes == tl_phys_width(col->phys))
        return share_values(s, col, err);
    if (s->format.kind != TL_ARROW_FLOAT)
        return tl_error_set(err, TL_E_INVALID, "Arrow type '%s' does not fit FLOAT without loss", s->schema->format);
    TL_TRY(own_values(col, err));
    const uint8_t *from = (const uint8_t *)tl_arrow__buffer(s, 1) + s->from * 4;
    for (int64_t i = 0; i < s->length; i++) {
        float v;
        memcpy(&v, from + i * 4, sizeof v);
        ((double *)col->values)[i] = tl_col_is_null(col, i) ? 0 : (double)v;
    }
    return TL_OK;
}

static tl_i128 floor_div(tl_i128 a, tl_i128 b)
{
    tl_i128 q = a / b;
    return q - (a % b < 0);
}

#define MILLIS_PER_DAY 86400000

tl_status tl_arrow__import_dates(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    if (s->format.bytes == 4)
        return share_values(s, col, err);
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 millis = tl_col_is_null(col, i) ? 0 : tl_arrow__read_int(tl_arrow__buffer(s, 1), s->from + i, 8, false);
        if (millis % MILLIS_PER_DAY != 0 || !store_int(col, i, millis / MILLIS_PER_DAY))
            return does_not_fit(s, i, millis, 0, col->type, err);
    }
    return TL_OK;
}

tl_status tl_arrow__import_times(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v =
            tl_col_is_null(col, i) ? 0 : tl_arrow__read_int(tl_arrow__buffer(s, 1), s->from + i, s->format.bytes, false);
        if (v < 0 || v >= (tl_i128)86400 * s->format.per_second)
            return does_not_fit(s, i, v, 0, col->type, err);
        (void)store_int(col, i, v * 1000 / s->format.per_second);
    }
    return TL_OK;
}

/* Finer units than the type's layout keeps are cut off, as everywhere else. */
tl_status tl_arrow__import_timestamps(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    const tl_type *type = col->type;
    if (s->format.has_zone != (type->kind == TL_TIMESTAMP_LTZ))
        return tl_error_set(err, TL_E_INVALID, "Arrow timestamp with%s time zone for a TIMESTAMP with%s",
                            s->format.has_zone ? "" : "out", type->kind == TL_TIMESTAMP_LTZ ? "" : "out");
    int64_t per_second = type->precision <= 3 ? 1000 : type->precision <= 6 ? 1000000 : 1000000000;
    if (s->format.per_second == per_second && col->phys == TL_PHYS_I64)
        return share_values(s, col, err);
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v = tl_col_is_null(col, i) ? 0 : tl_arrow__read_int(tl_arrow__buffer(s, 1), s->from + i, 8, false);
        if (col->phys == TL_PHYS_TS96) {
            tl_i128 nanos = v * (1000000000 / s->format.per_second);
            tl_i128 millis = floor_div(nanos, 1000000);
            ((tl_ts96 *)col->values)[i] = (tl_ts96){(int64_t)millis, (int32_t)(nanos - millis * 1000000), 0};
            if ((int64_t)millis != millis)
                return does_not_fit(s, i, v, 0, type, err);
        } else if (!store_int(col, i, floor_div(v * per_second, s->format.per_second))) {
            return does_not_fit(s, i, v, 0, type, err);
        }
    }
    return TL_OK;
}
