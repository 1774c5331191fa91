/*
 * Values as file indexes know them: 64-bit numbers whose order is that of the values, or bytes. Java: BitmapFileIndex#getValueMapper,
 * BitSliceIndexBitmapFileIndex#getValueMapper, KeyFactory.
 */
#include "index/file_index_private.h"

bool tl_findex__type_of(const tl_type *type, tl_findex__type *out)
{
    static const int8_t reprs[TL_TYPE_KIND_COUNT] = {
        [TL_BOOLEAN] = TL_FINDEX__BOOL,     [TL_TINYINT] = TL_FINDEX__I8,    [TL_SMALLINT] = TL_FINDEX__I16,
        [TL_INT] = TL_FINDEX__I32,          [TL_BIGINT] = TL_FINDEX__I64,    [TL_FLOAT] = TL_FINDEX__F32,
        [TL_DOUBLE] = TL_FINDEX__F64,       [TL_DECIMAL] = TL_FINDEX__I64,   [TL_CHAR] = TL_FINDEX__BYTES,
        [TL_VARCHAR] = TL_FINDEX__BYTES,    [TL_BINARY] = TL_FINDEX__BYTES,  [TL_VARBINARY] = TL_FINDEX__BYTES,
        [TL_DATE] = TL_FINDEX__I32,         [TL_TIME] = TL_FINDEX__I32,      [TL_TIMESTAMP] = TL_FINDEX__I64,
        [TL_TIMESTAMP_LTZ] = TL_FINDEX__I64,
    };
    if (type->kind >= TL_ARRAY)
        return false;
    *out = (tl_findex__type){type, (tl_findex__repr)reprs[type->kind], tl_type_phys(type) == TL_PHYS_TS96};
    return true;
}

/* Integers that compare as Float.compareTo() and Double.compareTo() do, and back to the bits. The mapping is its own inverse. */
static int32_t fold32(int32_t bits)
{
    return bits < 0 ? bits ^ INT32_MAX : bits;
}

static int64_t fold64(int64_t bits)
{
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static int64_t number_of_f32(float v)
{
    return fold32(v != v ? 0x7fc00000 : (int32_t)tl_read_le32(&v));
}

static int64_t number_of_f64(double v)
{
    return fold64(v != v ? INT64_C(0x7ff8000000000000) : (int64_t)tl_read_le64(&v));
}

int64_t tl_findex__bits(const tl_findex__type *type, tl_findex__value value)
{
    return type->repr == TL_FINDEX__F32 ? fold32((int32_t)value.n) : type->repr == TL_FINDEX__F64 ? fold64(value.n) : value.n;
}

bool tl_findex__value_at(const tl_findex__type *type, const tl_column *col, int64_t row, tl_findex__value *out)
{
    *out = (tl_findex__value){0, {NULL, 0}};
    switch (col->phys) {
    case TL_PHYS_BYTES:
        out->bytes = tl_col_bytes(col, row);
        return type->repr == TL_FINDEX__BYTES;
    case TL_PHYS_F32:
        out->n = number_of_f32(tl_col_f32(col, row));
        return true;
    case TL_PHYS_F64:
        out->n = number_of_f64(tl_col_f64(col, row));
        return true;
    case TL_PHYS_I128: {
        tl_i128 v = tl_col_i128(col, row);
        out->n = (int64_t)v;
        return v >= INT64_MIN && v <= INT64_MAX;
    }
    case TL_PHYS_TS96: {
        tl_ts96 v = tl_col_ts96(col, row);
        return !__builtin_mul_overflow(v.millis, (int64_t)1000, &out->n) && !__builtin_add_overflow(out->n, (int64_t)(v.nanos / 1000), &out->n);
    }
    case TL_PHYS_LIST:
    case TL_PHYS_MAP:
    case TL_PHYS_ROW:
        return false;
    default:
        out->n = tl_col_integer(col, row);
        return true;
    }
}

int tl_findex__compare(const tl_findex__type *type, tl_findex__value a, tl_findex__value b)
{
    return type->repr == TL_FINDEX__BYTES ? tl_bytes_compare(a.bytes, b.bytes) : (a.n > b.n) - (a.n < b.n);
}

static const uint8_t stored_widths[] = {
    [TL_FINDEX__BOOL] = 1, [TL_FINDEX__I8] = 1,  [TL_FINDEX__I16] = 2, [TL_FINDEX__I32] = 4,
    [TL_FINDEX__I64] = 8,  [TL_FINDEX__F32] = 4, [TL_FINDEX__F64] = 8, [TL_FINDEX__BYTES] = 4,
};

size_t tl_findex__stored_bytes(const tl_findex__type *type, tl_findex__value value)
{
    return stored_widths[type->repr] + value.bytes.len;
}

tl_status tl_findex__store(const tl_findex__type *type, tl_findex__value value, tl_buf *out)
{
    uint8_t bytes[8];
    bool is_bytes = type->repr == TL_FINDEX__BYTES;
    size_t width = stored_widths[type->repr];
    tl_write_be64(bytes, is_bytes ? value.bytes.len : (uint64_t)tl_findex__bits(type, value));
    TL_TRY(tl_buf_append(out, bytes + 8 - width, width));
    return is_bytes ? tl_buf_append(out, value.bytes.data, value.bytes.len) : TL_OK;
}

tl_status tl_findex__take_value(tl_findex__cursor *c, const tl_findex__type *type, tl_findex__value *out, tl_error *err)
{
    const uint8_t *p = NULL;
    int64_t at = c->at;
    *out = (tl_findex__value){0, {NULL, 0}};
    if (type->repr == TL_FINDEX__BYTES) {
        int32_t bytes = 0;
        TL_TRY(tl_findex__take_count(c, INT32_MAX, "length of a value", &bytes, err));
        TL_TRY(tl_findex__take(c, bytes, &p, err));
        out->bytes = (tl_bytes_view){p, (size_t)bytes};
        return TL_OK;
    }
    TL_TRY(tl_findex__take(c, stored_widths[type->repr], &p, err));
    switch (type->repr) {
    case TL_FINDEX__BOOL:
        out->n = p[0];
        return p[0] > 1 ? tl_findex__corrupt(c->in, at, "a boolean that is neither 0 nor 1", err) : TL_OK;
    case TL_FINDEX__I8:
        out->n = (int8_t)p[0];
        return TL_OK;
    case TL_FINDEX__I16:
        out->n = (int16_t)tl_read_be16(p);
        return TL_OK;
    case TL_FINDEX__I32:
        out->n = (int32_t)tl_read_be32(p);
        return TL_OK;
    case TL_FINDEX__F32: {
        float v;
        uint32_t bits = tl_read_be32(p);
        memcpy(&v, &bits, sizeof v);
        out->n = number_of_f32(v);
        return TL_OK;
    }
    case TL_FINDEX__F64: {
        double v;
        uint64_t bits = tl_read_be64(p);
        memcpy(&v, &bits, sizeof v);
        out->n = number_of_f64(v);
        return TL_OK;
    }
    default:
        out->n = (int64_t)tl_read_be64(p);
        return TL_OK;
    }
}
