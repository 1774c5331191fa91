/*
 * Column builder: growable buffers per type node.
 */
#include "types/builder.h"

#include "types/types_private.h"

#define ROWS_MIN 64

struct tl_builder {
    const tl_type *type; /* ref held */
    tl_phys phys;
    int width;
    int64_t length;
    int64_t cap; /* rows that the buffers have room for */
    int64_t null_count;
    uint8_t *validity; /* NULL until the first null */
    uint8_t *values;
    int32_t *offsets;
    tl_buf data;
    int32_t n_children;
    tl_builder **children;
};

/* ---- life cycle ---- */

tl_status tl_builder_create(const tl_type *type, tl_builder **out, tl_error *err)
{
    tl_builder *b = tl_calloc(1, sizeof *b);
    if (b == NULL)
        return tl_nomem(err, "builder");
    b->type = tl_type_ref(type);
    b->phys = tl_type_phys(type);
    b->width = tl_phys_width(b->phys);
    tl_status status = TL_OK;
    if (b->phys == TL_PHYS_LIST || b->phys == TL_PHYS_MAP || b->phys == TL_PHYS_ROW) {
        b->children = tl_calloc((size_t)TL_MAX(type->n_fields, 1), sizeof(tl_builder *));
        status = b->children == NULL ? tl_nomem(err, "builder") : TL_OK;
        for (int32_t i = 0; i < type->n_fields && status == TL_OK; i++) {
            status = tl_builder_create(type->fields[i].type, &b->children[i], err);
            b->n_children = i + 1;
        }
    }
    if (status != TL_OK)
        tl_builder_free(b);
    else
        *out = b;
    return status;
}

static void drop_buffers(tl_builder *b)
{
    tl_free(b->validity);
    tl_free(b->values);
    tl_free(b->offsets);
    tl_buf_deinit(&b->data);
    b->validity = NULL;
    b->values = NULL;
    b->offsets = NULL;
    b->length = b->cap = b->null_count = 0;
}

void tl_builder_free(tl_builder *builder)
{
    if (builder == NULL)
        return;
    drop_buffers(builder);
    for (int32_t i = 0; i < builder->n_children; i++)
        tl_builder_free(builder->children[i]);
    tl_free(builder->children);
    tl_type_unref(builder->type);
    tl_free(builder);
}

int64_t tl_builder_length(const tl_builder *builder)
{
    return builder->length;
}

const tl_type *tl_builder_type(const tl_builder *builder)
{
    return builder->type;
}

tl_builder *tl_builder_child(tl_builder *builder, int32_t i)
{
    return builder->children[i];
}

void tl_builder_truncate(tl_builder *b, int64_t length)
{
    if (length < b->length) {
        if (b->validity != NULL) {
            b->null_count -= (b->length - length) - tl_bitmap_count(b->validity, length, b->length - length);
            tl_bitmap_fill(b->validity, length, b->length - length, true);
        }
        b->length = length;
    }
    if (b->phys == TL_PHYS_BYTES)
        b->data.len = b->length == 0 ? 0 : (size_t)b->offsets[b->length];
    int64_t keep = b->phys == TL_PHYS_ROW || b->length == 0 ? b->length : b->n_children > 0 ? b->offsets[b->length] : 0;
    for (int32_t i = 0; i < b->n_children; i++)
        tl_builder_truncate(b->children[i], keep);
}

tl_status tl_builder_error(const tl_builder *builder, tl_status status, tl_error *err)
{
    switch (status) {
    case TL_OK:
        return TL_OK;
    case TL_E_NOMEM:
        return tl_nomem(err, "column");
    case TL_E_LIMIT:
        return tl_column__too_large(builder->type, err);
    case TL_E_INVALID:
        if (builder->type->kind == TL_VECTOR)
            return tl_error_set(err, status, "a VECTOR has exactly %d elements, none of them NULL", builder->type->length);
        return tl_error_set(err, status, "value beyond the range of its column's type");
    default:
        return tl_error_set(err, status, "a value was appended to a column of another type");
    }
}

/* ---- growth ---- */

static tl_status resize(void **buffer, size_t bytes)
{
    void *p = tl_realloc(*buffer, bytes);
    if (p == NULL)
        return TL_E_NOMEM;
    *buffer = p;
    return TL_OK;
}

static tl_status grow(tl_builder *b)
{
    int64_t cap = b->cap == 0 ? ROWS_MIN : b->cap * 2;
    if (cap > (INT64_C(1) << 40))
        return TL_E_NOMEM;
    if (b->validity != NULL) {
        TL_TRY(resize((void **)&b->validity, tl_bitmap_bytes(cap)));
        tl_bitmap_fill(b->validity, b->length, cap - b->length, true);
    }
    if (b->width > 0)
        TL_TRY(resize((void **)&b->values, (size_t)cap * (size_t)b->width));
    if (b->phys == TL_PHYS_BYTES || b->phys == TL_PHYS_LIST || b->phys == TL_PHYS_MAP) {
        TL_TRY(resize((void **)&b->offsets, ((size_t)cap + 1) * sizeof *b->offsets));
        if (b->cap == 0)
            b->offsets[0] = 0;
    }
    b->cap = cap;
    return TL_OK;
}

static inline tl_status reserve_row(tl_builder *b)
{
    return TL_LIKELY(b->length < b->cap) ? TL_OK : grow(b);
}

/* Room in the bitmap for a null; all rows before are valid. */
static tl_status need_validity(tl_builder *b)
{
    if (b->validity != NULL)
        return TL_OK;
    b->validity = tl_alloc(tl_bitmap_bytes(b->cap));
    if (b->validity == NULL)
        return TL_E_NOMEM;
    memset(b->validity, 0xff, tl_bitmap_bytes(b->cap));
    return TL_OK;
}

/* ---- appends ---- */

tl_status tl_builder_null(tl_builder *b)
{
    TL_TRY(reserve_row(b));
    TL_TRY(need_validity(b));
    if (b->phys == TL_PHYS_ROW)
        for (int32_t i = 0; i < b->n_children; i++)
            TL_TRY(tl_builder_null(b->children[i]));
    if (b->width > 0)
        memset(b->values + b->length * b->width, 0, (size_t)b->width);
    else if (b->phys != TL_PHYS_ROW)
        b->offsets[b->length + 1] = b->offsets[b->length];
    tl_bit_clear(b->validity, b->length);
    b->null_count++;
    b->length++;
    return TL_OK;
}

static inline tl_status append_fixed(tl_builder *b, const void *value, int width)
{
    if (b->width != width)
        return TL_E_INTERNAL;
    TL_TRY(reserve_row(b));
    memcpy(b->values + b->length * width, value, (size_t)width);
    b->length++;
    return TL_OK;
}

tl_status tl_builder_bool(tl_builder *builder, bool v)
{
    return tl_builder_int(builder, v);
}

tl_status tl_builder_int(tl_builder *b, int64_t v)
{
    switch (b->phys) {
    case TL_PHYS_BOOL: {
        uint8_t value = v != 0;
        return append_fixed(b, &value, 1);
    }
    case TL_PHYS_I8: {
        int8_t value = (int8_t)v;
        return value != v ? TL_E_INVALID : append_fixed(b, &value, 1);
    }
    case TL_PHYS_I16: {
        int16_t value = (int16_t)v;
        return value != v ? TL_E_INVALID : append_fixed(b, &value, 2);
    }
    case TL_PHYS_I32: {
        int32_t value = (int32_t)v;
        return value != v ? TL_E_INVALID : append_fixed(b, &value, 4);
    }
    case TL_PHYS_I64:
        return append_fixed(b, &v, 8);
    case TL_PHYS_I128: {
        tl_i128 value = v;
        return append_fixed(b, &value, 16);
    }
    default:
        return TL_E_INTERNAL;
    }
}

tl_status tl_builder_i128(tl_builder *b, tl_i128 v)
{
    if (b->phys == TL_PHYS_I128)
        return append_fixed(b, &v, 16);
    return (int64_t)v != v ? TL_E_INVALID : tl_builder_int(b, (int64_t)v);
}

tl_status tl_builder_f32(tl_builder *b, float v)
{
    return b->phys == TL_PHYS_F32 ? append_fixed(b, &v, 4) : TL_E_INTERNAL;
}

tl_status tl_builder_f64(tl_builder *b, double v)
{
    return b->phys == TL_PHYS_F64 ? append_fixed(b, &v, 8) : TL_E_INTERNAL;
}

tl_status tl_builder_timestamp(tl_builder *b, int64_t millis, int32_t nanos_of_milli)
{
    if ((b->type->kind != TL_TIMESTAMP && b->type->kind != TL_TIMESTAMP_LTZ) || nanos_of_milli < 0 || nanos_of_milli > 999999)
        return TL_E_INTERNAL;
    if (b->phys == TL_PHYS_TS96) {
        tl_ts96 value = {millis, nanos_of_milli, 0};
        return append_fixed(b, &value, 16);
    }
    if (b->type->precision <= 3)
        return append_fixed(b, &millis, 8);
    int64_t micros = 0;
    if (__builtin_mul_overflow(millis, INT64_C(1000), &micros) ||
        __builtin_add_overflow(micros, (int64_t)(nanos_of_milli / 1000), &micros))
        return TL_E_INVALID;
    return append_fixed(b, &micros, 8);
}

tl_status tl_builder_bytes(tl_builder *b, const void *data, size_t bytes)
{
    if (b->phys != TL_PHYS_BYTES)
        return TL_E_INTERNAL;
    TL_TRY(reserve_row(b));
    if (bytes > INT32_MAX - b->data.len)
        return TL_E_LIMIT;
    TL_TRY(tl_buf_append(&b->data, data, bytes));
    b->length++;
    b->offsets[b->length] = (int32_t)b->data.len;
    return TL_OK;
}

/* The elements since the last value: as many as the type says. A NULL is in no vector, so a single one is in this. */
static bool is_whole_vector(const tl_builder *b)
{
    const tl_builder *elements = b->children[0];
    return elements->length - b->offsets[b->length] == b->type->length && elements->null_count == 0;
}

tl_status tl_builder_end(tl_builder *b)
{
    TL_TRY(reserve_row(b));
    if (b->phys == TL_PHYS_ROW) {
        for (int32_t i = 0; i < b->n_children; i++)
            if (b->children[i]->length != b->length + 1)
                return TL_E_INTERNAL;
    } else {
        if (b->n_children == 0 || b->children[0]->length != b->children[b->n_children - 1]->length)
            return TL_E_INTERNAL;
        if (b->children[0]->length > INT32_MAX)
            return TL_E_LIMIT;
        if (b->type->kind == TL_VECTOR && !is_whole_vector(b))
            return TL_E_INVALID;
        b->offsets[b->length + 1] = (int32_t)b->children[0]->length;
    }
    b->length++;
    return TL_OK;
}

static tl_status copy_nested(tl_builder *b, const tl_column *col, int64_t i)
{
    int64_t from = col->phys == TL_PHYS_ROW ? i : col->offsets[i];
    int64_t to = col->phys == TL_PHYS_ROW ? i + 1 : col->offsets[i + 1];
    for (int32_t c = 0; c < b->n_children; c++)
        for (int64_t e = from; e < to; e++)
            TL_TRY(tl_builder_copy(b->children[c], col->children[c], e));
    return tl_builder_end(b);
}

tl_status tl_builder_copy(tl_builder *b, const tl_column *col, int64_t i)
{
    if (b->phys != col->phys || b->n_children != col->n_children)
        return TL_E_INTERNAL;
    if (tl_col_is_null(col, i))
        return tl_builder_null(b);
    if (b->width > 0)
        return append_fixed(b, (const uint8_t *)col->values + i * b->width, b->width);
    if (b->phys != TL_PHYS_BYTES)
        return copy_nested(b, col, i);
    tl_bytes_view bytes = tl_col_bytes(col, i);
    return tl_builder_bytes(b, bytes.data, bytes.len);
}

/* ---- finish ---- */

tl_status tl_builder_finish(tl_builder *b, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    /* An empty builder has no buffers yet. */
    if (b->cap == 0 && grow(b) != TL_OK)
        return tl_nomem(err, "column");
    TL_TRY(tl_column__shell(b->type, b->length, &col, err));
    for (int32_t i = 0; i < b->n_children; i++) {
        if (b->phys == TL_PHYS_ROW && b->children[i]->length != b->length)
            return tl_error_set(err, TL_E_INTERNAL, "a row of a builder was not ended");
        TL_TRY(tl_builder_finish(b->children[i], &col->children[i], err));
    }
    if (b->phys == TL_PHYS_BYTES && tl_buf_reserve(&b->data, TL_BYTES_SLACK) != TL_OK)
        return tl_nomem(err, "column");
    col->null_count = b->null_count;
    if (b->null_count > 0)
        col->validity = TL_STEAL(b->validity);
    col->values = TL_STEAL(b->values);
    col->offsets = TL_STEAL(b->offsets);
    col->data = TL_STEAL(b->data.data);
    drop_buffers(b);
    *out = TL_STEAL(col);
    return TL_OK;
}
