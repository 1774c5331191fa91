/*
 * Decoder of BinaryRow, BinaryArray and BinaryMap (layout: binary_row.c) into column builders.
 *
 * Input is hostile. Every slot is checked against its container; items of one container may together not be longer than
 * the container, which honest writers keep and which bounds the memory: without it, many slots that point to the same
 * bytes would multiply them. So the output is at most the input times the depth of the type.
 */
#include "types/binary_private.h"
#include "types/binary_row.h"

/* A row or array under decoding. */
typedef struct container {
    tl_bytes_view bytes;
    size_t budget; /* bytes that its variable items may still take */
    int depth;
    tl_error *err;
} container;

static tl_status read_row(container *in, const tl_type *row_type, tl_builder *const *builders);
static tl_status read_array(container *in, const tl_type *type, tl_builder *builder, size_t *count);

static tl_status no_memory(container *in, tl_status status)
{
    return status == TL_E_NOMEM ? tl_nomem(in->err, "binary row") : status;
}

static tl_status open_container(const container *outer, tl_bytes_view bytes, container *inner)
{
    if (outer->depth >= BINARY_DEPTH_MAX)
        return tl_error_set(outer->err, TL_E_LIMIT, "binary row: nested deeper than %d", BINARY_DEPTH_MAX);
    *inner = (container){.bytes = bytes, .budget = bytes.len, .depth = outer->depth + 1, .err = outer->err};
    return TL_OK;
}

static tl_status find_item(container *in, uint64_t slot, size_t len, tl_bytes_view *item)
{
    size_t offset = slot >> 32;
    if (offset > in->bytes.len || len > in->bytes.len - offset)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: item of %zu bytes at %zu leaves its %zu bytes", len, offset,
                            in->bytes.len);
    if (len > in->budget)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: items overlap at byte %zu", offset);
    in->budget -= len;
    *item = (tl_bytes_view){in->bytes.data + offset, len};
    return TL_OK;
}

static tl_status read_bytes(container *in, const uint8_t *slot, tl_builder *builder)
{
    uint64_t word = tl_read_le64(slot);
    tl_bytes_view v = {NULL, 0};
    if (word >> 63 != 0) {
        v = (tl_bytes_view){slot, slot[7] & 0x7f};
        if (v.len > BINARY_INLINE_MAX)
            return tl_error_set(in->err, TL_E_CORRUPT, "binary row: %zu bytes said to stand in a slot", v.len);
    } else {
        TL_TRY(find_item(in, word, (uint32_t)word, &v));
    }
    return no_memory(in, tl_builder_bytes(builder, v.data, v.len));
}

static tl_status read_decimal(container *in, uint64_t slot, tl_builder *builder)
{
    tl_bytes_view v = {NULL, 0};
    TL_TRY(find_item(in, slot, (uint32_t)slot, &v));
    if (v.len == 0 || v.len > BINARY_DECIMAL_BYTES)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: decimal of %zu bytes", v.len);
    unsigned __int128 unscaled = v.data[0] >= 0x80 ? ~(unsigned __int128)0 : 0;
    for (size_t b = 0; b < v.len; b++)
        unscaled = unscaled << 8 | v.data[b];
    return no_memory(in, tl_builder_i128(builder, (tl_i128)unscaled));
}

static tl_status read_timestamp(container *in, uint64_t slot, const tl_type *type, tl_builder *builder)
{
    tl_bytes_view v = {NULL, 0};
    uint32_t nanos = (uint32_t)slot;
    TL_TRY(find_item(in, slot, 8, &v));
    int64_t millis = (int64_t)tl_read_le64(v.data);
    /* As microseconds it must still fit into 64 bits. */
    bool fits = type->precision > 6 || (millis >= INT64_MIN / 1000 && millis <= INT64_MAX / 1000 - 1);
    if (nanos > 999999 || !fits)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: timestamp of %lld ms and %u ns", (long long)millis, nanos);
    return no_memory(in, tl_builder_timestamp(builder, millis, (int32_t)nanos));
}

static tl_status read_fixed(container *in, const uint8_t *slot, const tl_type *type, tl_builder *builder)
{
    tl_phys phys = tl_type_phys(type);
    if (type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ)
        return no_memory(in, tl_builder_timestamp(builder, (int64_t)tl_read_le64(slot), 0));
    switch (phys) {
    case TL_PHYS_BOOL:
        return no_memory(in, tl_builder_bool(builder, slot[0] != 0));
    case TL_PHYS_I8:
        return no_memory(in, tl_builder_int(builder, (int8_t)slot[0]));
    case TL_PHYS_I16:
        return no_memory(in, tl_builder_int(builder, (int16_t)tl_read_le16(slot)));
    case TL_PHYS_I32:
        return no_memory(in, tl_builder_int(builder, (int32_t)tl_read_le32(slot)));
    case TL_PHYS_I64:
        return no_memory(in, tl_builder_int(builder, (int64_t)tl_read_le64(slot)));
    case TL_PHYS_F32: {
        float v;
        memcpy(&v, slot, sizeof v);
        return no_memory(in, tl_builder_f32(builder, v));
    }
    default: {
        double v;
        memcpy(&v, slot, sizeof v);
        return no_memory(in, tl_builder_f64(builder, v));
    }
    }
}

static tl_status read_variant(container *in, tl_builder *builder)
{
    if (in->bytes.len < 4 || tl_read_le32(in->bytes.data) > in->bytes.len - 4)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: variant of %zu bytes is cut off", in->bytes.len);
    size_t value = tl_read_le32(in->bytes.data);
    TL_TRY(no_memory(in, tl_builder_bytes(tl_builder_child(builder, 0), in->bytes.data + 4, value)));
    TL_TRY(
        no_memory(in, tl_builder_bytes(tl_builder_child(builder, 1), in->bytes.data + 4 + value, in->bytes.len - 4 - value)));
    return no_memory(in, tl_builder_end(builder));
}

/* Elements without anything between them, and not one of them NULL. */
static tl_status read_vector(container *in, const tl_type *type, tl_builder *builder)
{
    const tl_type *element = type->fields[0].type;
    size_t width = binary_slot_width(binary_slot_of(element)), n = (size_t)type->length, have = in->bytes.len;
    if (have < 4 || tl_read_le32(in->bytes.data) != n || (have - 4) / width < n)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: vector of %zu elements in %zu bytes", n, have);
    for (size_t k = 0; k < n; k++)
        TL_TRY(read_fixed(in, in->bytes.data + 4 + k * width, element, tl_builder_child(builder, 0)));
    return no_memory(in, tl_builder_end(builder));
}

static tl_status read_map(container *in, const tl_type *type, tl_builder *builder)
{
    size_t keys_bytes = in->bytes.len >= 4 ? tl_read_le32(in->bytes.data) : 0;
    if (in->bytes.len < 4 || keys_bytes > in->bytes.len - 4)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: map of %zu bytes is cut off", in->bytes.len);
    container keys, values;
    size_t n_keys = 0, n_values = 0;
    TL_TRY(open_container(in, (tl_bytes_view){in->bytes.data + 4, keys_bytes}, &keys));
    TL_TRY(open_container(in, (tl_bytes_view){in->bytes.data + 4 + keys_bytes, in->bytes.len - 4 - keys_bytes}, &values));
    TL_TRY(read_array(&keys, type->fields[0].type, tl_builder_child(builder, 0), &n_keys));
    TL_TRY(read_array(&values, type->fields[1].type, tl_builder_child(builder, 1), &n_values));
    if (n_keys != n_values)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: map of %zu keys and %zu values", n_keys, n_values);
    return no_memory(in, tl_builder_end(builder));
}

static tl_status read_struct(container *in, const tl_type *type, tl_builder *builder)
{
    TL_CLEANUP(tl_freep) tl_builder **children = tl_alloc(sizeof(tl_builder *) * (size_t)TL_MAX(type->n_fields, 1));
    if (children == NULL)
        return tl_nomem(in->err, "binary row");
    for (int32_t i = 0; i < type->n_fields; i++)
        children[i] = tl_builder_child(builder, i);
    TL_TRY(read_row(in, type, children));
    return no_memory(in, tl_builder_end(builder));
}

static tl_status read_nested(container *in, uint64_t slot, const tl_type *type, tl_builder *builder)
{
    tl_bytes_view item = {NULL, 0};
    container inner;
    size_t count = 0;
    TL_TRY(find_item(in, slot, (uint32_t)slot, &item));
    TL_TRY(open_container(in, item, &inner));
    switch (type->kind) {
    case TL_ARRAY:
        TL_TRY(read_array(&inner, type->fields[0].type, tl_builder_child(builder, 0), &count));
        return no_memory(in, tl_builder_end(builder));
    case TL_VECTOR:
        return read_vector(&inner, type, builder);
    case TL_MAP:
    case TL_MULTISET:
        return read_map(&inner, type, builder);
    case TL_ROW:
        return read_struct(&inner, type, builder);
    case TL_VARIANT:
        return read_variant(&inner, builder);
    default:
        return tl_error_set(in->err, TL_E_INTERNAL, "binary row: type without a form");
    }
}

static tl_status read_value(container *in, const uint8_t *slot, const tl_type *type, binary_slot form, tl_builder *builder)
{
    switch (form) {
    case BINARY_SLOT_BYTES:
        return read_bytes(in, slot, builder);
    case BINARY_SLOT_DECIMAL:
        return read_decimal(in, tl_read_le64(slot), builder);
    case BINARY_SLOT_MICROS:
    case BINARY_SLOT_TS96:
        return read_timestamp(in, tl_read_le64(slot), type, builder);
    case BINARY_SLOT_NESTED:
        return read_nested(in, tl_read_le64(slot), type, builder);
    default:
        return read_fixed(in, slot, type, builder);
    }
}

/* The elements of an array, appended to `builder`. */
static tl_status read_array(container *in, const tl_type *type, tl_builder *builder, size_t *count)
{
    binary_slot form = binary_slot_of(type);
    size_t width = binary_slot_width(form), have = in->bytes.len;
    size_t n = have >= 4 ? tl_read_le32(in->bytes.data) : 0;
    /* n is at most 2^32 - 1, so these sums cannot overflow. */
    if (have < 4 || n > INT32_MAX || binary_array_header(n) + n * width > have)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: array of %zu elements in %zu bytes", n, have);
    const uint8_t *first = in->bytes.data + binary_array_header(n);
    for (size_t k = 0; k < n; k++) {
        if (tl_bit_get(in->bytes.data + 4, (int64_t)k))
            TL_TRY(no_memory(in, tl_builder_null(builder)));
        else
            TL_TRY(read_value(in, first + k * width, type, form, builder));
    }
    *count = n;
    return TL_OK;
}

static tl_status read_row(container *in, const tl_type *row_type, tl_builder *const *builders)
{
    size_t header = binary_row_header(row_type->n_fields), fixed = header + 8 * (size_t)row_type->n_fields;
    if (in->bytes.len < fixed)
        return tl_error_set(in->err, TL_E_CORRUPT, "binary row: %zu bytes for %d fields", in->bytes.len, row_type->n_fields);
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        if (builders[i] == NULL)
            continue;
        const tl_field *field = &row_type->fields[i];
        const uint8_t *slot = in->bytes.data + header + 8 * (size_t)i;
        tl_status status = tl_bit_get(in->bytes.data, 8 + i)
                               ? no_memory(in, tl_builder_null(builders[i]))
                               : read_value(in, slot, field->type, binary_slot_of(field->type), builders[i]);
        if (status != TL_OK)
            return tl_error_wrap(in->err, status, "field '%s'", field->name);
    }
    return TL_OK;
}

static tl_status skip_arity(tl_bytes_view *row, const tl_type *row_type, tl_error *err)
{
    if (row->len < 4 || tl_read_be32(row->data) != (uint32_t)row_type->n_fields)
        return tl_error_set(err, TL_E_CORRUPT, "binary row: %zu bytes with arity %lld, expected %d fields", row->len,
                            row->len < 4 ? -1LL : (long long)tl_read_be32(row->data), row_type->n_fields);
    row->data += 4;
    row->len -= 4;
    return TL_OK;
}

tl_status tl_binary_row_read(tl_bytes_view row, const tl_type *row_type, bool with_arity, tl_builder *const *builders,
                             tl_error *err)
{
    if (with_arity)
        TL_TRY(skip_arity(&row, row_type, err));
    container in = {.bytes = row, .budget = row.len, .depth = 0, .err = err};
    return read_row(&in, row_type, builders);
}

static tl_status finish_columns(tl_batch *batch, tl_builder **builders, tl_error *err)
{
    for (int32_t i = 0; i < batch->n_cols; i++)
        TL_TRY(tl_builder_finish(builders[i], &batch->cols[i], err));
    return TL_OK;
}

static tl_status decode_into(tl_bytes_view row, const tl_type *row_type, bool with_arity, tl_builder **builders, tl_batch **out,
                             tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    for (int32_t i = 0; i < row_type->n_fields; i++)
        TL_TRY(tl_builder_create(row_type->fields[i].type, &builders[i], err));
    TL_TRY(tl_binary_row_read(row, row_type, with_arity, builders, err));
    TL_TRY(tl_batch_create(row_type, 1, &batch, err));
    TL_TRY(finish_columns(batch, builders, err));
    uint8_t kind = row.data[with_arity ? 4 : 0];
    if (kind > TL_KIND_DELETE)
        return tl_error_set(err, TL_E_CORRUPT, "binary row: row kind %u", kind);
    if (kind != TL_KIND_INSERT) {
        batch->row_kind = tl_memdup(&kind, 1);
        if (batch->row_kind == NULL)
            return tl_nomem(err, "binary row");
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

tl_status tl_binary_row_decode(tl_bytes_view row, const tl_type *row_type, bool with_arity, tl_batch **out, tl_error *err)
{
    size_t n = (size_t)TL_MAX(row_type->n_fields, 1);
    tl_builder **builders = tl_calloc(n, sizeof(tl_builder *));
    if (builders == NULL)
        return tl_nomem(err, "binary row");
    tl_status status = decode_into(row, row_type, with_arity, builders, out, err);
    for (size_t i = 0; i < n; i++)
        tl_builder_free(builders[i]);
    tl_free(builders);
    return status;
}
