/* Columns in and out of DuckDB's vectors. */
#include "sql/duck_vector.h"

#include <stdio.h>

static duck_type fixed_carrier(tl_phys phys)
{
    switch (phys) {
    case TL_PHYS_BOOL:
        return DUCK_BOOLEAN;
    case TL_PHYS_I8:
        return DUCK_TINYINT;
    case TL_PHYS_I16:
        return DUCK_SMALLINT;
    case TL_PHYS_I32:
        return DUCK_INTEGER;
    case TL_PHYS_I64:
        return DUCK_BIGINT;
    case TL_PHYS_F32:
        return DUCK_FLOAT;
    case TL_PHYS_F64:
        return DUCK_DOUBLE;
    case TL_PHYS_BYTES:
        return DUCK_BLOB;
    default:
        return DUCK_HUGEINT; /* I128, TS96 */
    }
}

static duck_handle struct_carrier(const duck_api *api, const tl_type *type)
{
    int32_t n = type->n_fields;
    duck_handle *members = tl_calloc((size_t)n + 1, sizeof *members);
    const char **names = tl_calloc((size_t)n + 1, sizeof *names);
    char *texts = tl_calloc((size_t)n + 1, 16);
    duck_handle result = NULL;
    if (members != NULL && names != NULL && texts != NULL) {
        bool good = true;
        for (int32_t i = 0; i < n && good; i++) {
            members[i] = duck_carrier(api, type->fields[i].type);
            good = members[i] != NULL;
            snprintf(texts + (size_t)i * 16, 16, "f%d", (int)i);
            names[i] = texts + (size_t)i * 16;
        }
        if (good)
            result = api->create_struct_type(members, names, (uint64_t)n);
        for (int32_t i = 0; i < n; i++)
            api->destroy_logical_type(&members[i]);
    }
    tl_free(members);
    tl_free(names);
    tl_free(texts);
    return result;
}

duck_handle duck_carrier(const duck_api *api, const tl_type *type)
{
    tl_phys phys = tl_type_phys(type);
    if (phys != TL_PHYS_LIST && phys != TL_PHYS_MAP && phys != TL_PHYS_ROW)
        return api->create_logical_type((int)fixed_carrier(phys));
    if (phys == TL_PHYS_ROW)
        return struct_carrier(api, type);
    duck_handle element = phys == TL_PHYS_LIST ? duck_carrier(api, type->fields[0].type) : struct_carrier(api, type);
    duck_handle list = element != NULL ? api->create_list_type(element) : NULL;
    api->destroy_logical_type(&element);
    return list;
}

static tl_status struct_sql(const tl_type *type, tl_buf *out)
{
    TL_TRY(tl_buf_append_str(out, "STRUCT("));
    for (int32_t i = 0; i < type->n_fields; i++) {
        TL_TRY(tl_buf_appendf(out, "%sf%d ", i > 0 ? ", " : "", (int)i));
        TL_TRY(duck_carrier_sql(type->fields[i].type, out));
    }
    return tl_buf_append_str(out, ")");
}

tl_status duck_carrier_sql(const tl_type *type, tl_buf *out)
{
    static const struct {
        duck_type type;
        const char *name;
    } names[] = {{DUCK_BOOLEAN, "BOOLEAN"}, {DUCK_TINYINT, "TINYINT"}, {DUCK_SMALLINT, "SMALLINT"}, {DUCK_INTEGER, "INTEGER"}, {DUCK_BIGINT, "BIGINT"},
                 {DUCK_FLOAT, "FLOAT"}, {DUCK_DOUBLE, "DOUBLE"}, {DUCK_HUGEINT, "HUGEINT"}, {DUCK_BLOB, "BLOB"}};
    tl_phys phys = tl_type_phys(type);
    if (phys == TL_PHYS_ROW)
        return struct_sql(type, out);
    if (phys == TL_PHYS_LIST || phys == TL_PHYS_MAP) {
        TL_TRY(phys == TL_PHYS_LIST ? duck_carrier_sql(type->fields[0].type, out) : struct_sql(type, out));
        return tl_buf_append_str(out, "[]");
    }
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        if (names[i].type == fixed_carrier(phys))
            return tl_buf_append_str(out, names[i].name);
    return TL_E_INTERNAL;
}

/* ---- into vectors ---- */

/** `at` is where the rows begin in the vector: children of lists are filled piece by piece. */
static tl_status put(const duck_api *api, const tl_column *col, int64_t from, int64_t n, duck_handle vector, int64_t at, tl_error *err);

static void put_validity(const duck_api *api, const tl_column *col, int64_t from, int64_t n, duck_handle vector, int64_t at)
{
    if (col->null_count == 0)
        return;
    api->vector_ensure_validity_writable(vector);
    uint64_t *bits = api->vector_get_validity(vector);
    for (int64_t i = 0; i < n; i++) {
        uint64_t bit = UINT64_C(1) << ((uint64_t)(at + i) % 64);
        if (tl_col_is_null(col, from + i))
            bits[(at + i) / 64] &= ~bit;
        else
            bits[(at + i) / 64] |= bit;
    }
}

static void put_timestamps(const tl_column *col, int64_t from, int64_t n, tl_i128 *out)
{
    for (int64_t i = 0; i < n; i++) {
        tl_ts96 v = tl_col_ts96(col, from + i);
        out[i] = (tl_i128)v.millis * 1000000 + v.nanos;
    }
}

static void put_bytes(const duck_api *api, const tl_column *col, int64_t from, int64_t n, duck_handle vector, int64_t at)
{
    duck_string *out = (duck_string *)api->vector_get_data(vector) + at;
    for (int64_t i = 0; i < n; i++) {
        tl_bytes_view v = tl_col_bytes(col, from + i);
        if (v.len > DUCK_INLINE_MAX) {
            api->vector_assign_string_element_len(vector, (uint64_t)(at + i), (const char *)v.data, v.len);
            continue;
        }
        memset(&out[i], 0, sizeof out[i]);
        out[i].length = (uint32_t)v.len;
        if (v.len > 0)
            memcpy(out[i].prefix, v.data, v.len);
    }
}

static tl_status put_list(const duck_api *api, const tl_column *col, int64_t from, int64_t n, duck_handle vector, int64_t at, tl_error *err)
{
    duck_list_entry *entries = (duck_list_entry *)api->vector_get_data(vector) + at;
    int64_t first = col->offsets[from], total = col->offsets[from + n] - first;
    int64_t base = (int64_t)api->list_vector_get_size(vector);
    if (api->list_vector_reserve(vector, (uint64_t)(base + total)) != 0)
        return tl_nomem(err, "batch");
    for (int64_t i = 0; i < n; i++)
        entries[i] = (duck_list_entry){(uint64_t)(base + col->offsets[from + i] - first), (uint64_t)(col->offsets[from + i + 1] - col->offsets[from + i])};
    duck_handle child = api->list_vector_get_child(vector);
    if (col->phys == TL_PHYS_LIST) {
        TL_TRY(put(api, col->children[0], first, total, child, base, err));
    } else {
        for (int i = 0; i < 2; i++)
            TL_TRY(put(api, col->children[i], first, total, api->struct_vector_get_child(child, (uint64_t)i), base, err));
    }
    return api->list_vector_set_size(vector, (uint64_t)(base + total)) == 0 ? TL_OK : tl_nomem(err, "batch");
}

static tl_status put(const duck_api *api, const tl_column *col, int64_t from, int64_t n, duck_handle vector, int64_t at, tl_error *err)
{
    put_validity(api, col, from, n, vector, at);
    if (col->phys == TL_PHYS_LIST || col->phys == TL_PHYS_MAP)
        return put_list(api, col, from, n, vector, at, err);
    if (col->phys == TL_PHYS_ROW) {
        for (int32_t i = 0; i < col->n_children; i++)
            TL_TRY(put(api, col->children[i], from, n, api->struct_vector_get_child(vector, (uint64_t)i), at, err));
        return TL_OK;
    }
    if (col->phys == TL_PHYS_BYTES) {
        put_bytes(api, col, from, n, vector, at);
        return TL_OK;
    }
    if (col->phys == TL_PHYS_TS96) {
        put_timestamps(col, from, n, (tl_i128 *)api->vector_get_data(vector) + at);
        return TL_OK;
    }
    size_t width = (size_t)tl_phys_width(col->phys);
    if (n > 0)
        memcpy((uint8_t *)api->vector_get_data(vector) + (size_t)at * width, (const uint8_t *)col->values + (size_t)from * width, (size_t)n * width);
    return TL_OK;
}

tl_status duck_from_column(const duck_api *api, const tl_column *col, int64_t from, int64_t n, duck_handle vector, tl_error *err)
{
    return put(api, col, from, n, vector, 0, err);
}

/* ---- out of vectors ---- */

static bool is_valid(const uint64_t *bits, uint64_t i)
{
    return bits == NULL || (bits[i / 64] >> (i % 64) & 1) != 0;
}

static tl_bytes_view string_at(const duck_string *s)
{
    const char *data = s->length <= DUCK_INLINE_MAX ? s->prefix : s->pointer;
    return (tl_bytes_view){(const uint8_t *)data, s->length};
}

static tl_ts96 timestamp_of(tl_i128 nanos)
{
    tl_i128 millis = nanos / 1000000 - (nanos % 1000000 < 0);
    return (tl_ts96){(int64_t)millis, (int32_t)(nanos - millis * 1000000), 0};
}

static tl_status take_validity(const uint64_t *bits, int64_t n, tl_column *col, tl_error *err)
{
    if (bits == NULL)
        return TL_OK;
    int64_t nulls = 0;
    for (int64_t i = 0; i < n; i++)
        nulls += !is_valid(bits, (uint64_t)i);
    if (nulls == 0)
        return TL_OK;
    size_t bytes = tl_bitmap_bytes(n);
    col->validity = tl_memdup(bits, bytes);
    if (col->validity == NULL)
        return tl_nomem(err, "batch");
    if (n % 8 != 0)
        col->validity[bytes - 1] &= (uint8_t)((1u << (n % 8)) - 1);
    col->null_count = nulls;
    return TL_OK;
}

static tl_status take_bytes(const duck_string *strings, const uint64_t *bits, int64_t n, tl_column *col, tl_error *err)
{
    int64_t total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += is_valid(bits, (uint64_t)i) ? strings[i].length : 0;
        if (total > INT32_MAX)
            return tl_error_set(err, TL_E_LIMIT, "the texts of one batch have more than 2 GiB");
        col->offsets[i + 1] = (int32_t)total;
    }
    col->data = tl_alloc((size_t)total + 1);
    if (col->data == NULL)
        return tl_nomem(err, "batch");
    for (int64_t i = 0; i < n; i++) {
        if (!is_valid(bits, (uint64_t)i))
            continue;
        tl_bytes_view v = string_at(&strings[i]);
        if (v.len > 0)
            memcpy(col->data + col->offsets[i], v.data, v.len);
    }
    return TL_OK;
}

static tl_status append(const duck_api *api, duck_handle vector, const tl_type *type, uint64_t i, tl_builder *builder);

static tl_status append_list(const duck_api *api, duck_handle vector, const tl_type *type, uint64_t i, tl_builder *builder)
{
    const duck_list_entry *entry = (const duck_list_entry *)api->vector_get_data(vector) + i;
    duck_handle child = api->list_vector_get_child(vector);
    bool is_map = tl_type_phys(type) == TL_PHYS_MAP;
    for (uint64_t k = 0; k < entry->length; k++)
        for (int32_t part = 0; part < (is_map ? 2 : 1); part++)
            TL_TRY(append(api, is_map ? api->struct_vector_get_child(child, (uint64_t)part) : child, type->fields[part].type, entry->offset + k,
                          tl_builder_child(builder, part)));
    return tl_builder_end(builder);
}

/** One value of any type, for nested columns. */
static tl_status append(const duck_api *api, duck_handle vector, const tl_type *type, uint64_t i, tl_builder *builder)
{
    if (!is_valid(api->vector_get_validity(vector), i))
        return tl_builder_null(builder);
    const void *data = api->vector_get_data(vector);
    switch (tl_type_phys(type)) {
    case TL_PHYS_BOOL:
        return tl_builder_bool(builder, ((const uint8_t *)data)[i] != 0);
    case TL_PHYS_I8:
        return tl_builder_int(builder, ((const int8_t *)data)[i]);
    case TL_PHYS_I16:
        return tl_builder_int(builder, ((const int16_t *)data)[i]);
    case TL_PHYS_I32:
        return tl_builder_int(builder, ((const int32_t *)data)[i]);
    case TL_PHYS_I64:
        return tl_builder_int(builder, ((const int64_t *)data)[i]);
    case TL_PHYS_I128:
        return tl_builder_i128(builder, ((const tl_i128 *)data)[i]);
    case TL_PHYS_F32:
        return tl_builder_f32(builder, ((const float *)data)[i]);
    case TL_PHYS_F64:
        return tl_builder_f64(builder, ((const double *)data)[i]);
    case TL_PHYS_TS96: {
        tl_ts96 v = timestamp_of(((const tl_i128 *)data)[i]);
        return tl_builder_timestamp(builder, v.millis, v.nanos);
    }
    case TL_PHYS_BYTES: {
        tl_bytes_view v = string_at((const duck_string *)data + i);
        return tl_builder_bytes(builder, v.data, v.len);
    }
    case TL_PHYS_ROW:
        for (int32_t k = 0; k < type->n_fields; k++)
            TL_TRY(append(api, api->struct_vector_get_child(vector, (uint64_t)k), type->fields[k].type, i, tl_builder_child(builder, k)));
        return tl_builder_end(builder);
    default:
        return append_list(api, vector, type, i, builder);
    }
}

static tl_status nested_to_column(const duck_api *api, duck_handle vector, const tl_type *type, int64_t n, tl_column **out, tl_error *err)
{
    tl_builder *builder;
    TL_TRY(tl_builder_create(type, &builder, err));
    tl_status status = TL_OK;
    for (int64_t i = 0; i < n && status == TL_OK; i++)
        status = append(api, vector, type, (uint64_t)i, builder);
    status = tl_builder_error(builder, status, err);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

tl_status duck_to_column(const duck_api *api, duck_handle vector, const tl_type *type, int64_t n, tl_column **out, tl_error *err)
{
    tl_phys phys = tl_type_phys(type);
    if (phys == TL_PHYS_LIST || phys == TL_PHYS_MAP || phys == TL_PHYS_ROW)
        return nested_to_column(api, vector, type, n, out, err);
    tl_column *col;
    TL_TRY(tl_column_alloc(type, n, &col, err));
    const uint64_t *bits = api->vector_get_validity(vector);
    const void *data = api->vector_get_data(vector);
    tl_status status = take_validity(bits, n, col, err);
    if (status == TL_OK && phys == TL_PHYS_BYTES) {
        status = take_bytes(data, bits, n, col, err);
    } else if (status == TL_OK && phys == TL_PHYS_TS96) {
        for (int64_t i = 0; i < n; i++)
            if (is_valid(bits, (uint64_t)i))
                ((tl_ts96 *)col->values)[i] = timestamp_of(((const tl_i128 *)data)[i]);
    } else if (status == TL_OK && n > 0) {
        size_t width = (size_t)tl_phys_width(phys);
        memcpy(col->values, data, (size_t)n * width);
        for (int64_t i = 0; col->validity != NULL && i < n; i++)
            if (!is_valid(bits, (uint64_t)i))
                memset((uint8_t *)col->values + (size_t)i * width, 0, width);
    }
    if (status != TL_OK) {
        tl_column_unref(col);
        return status;
    }
    *out = col;
    return TL_OK;
}
