/* Random columns of any type, for property tests. */
#ifndef TL_TESTS_RANDOM_COLUMN_H
#define TL_TESTS_RANDOM_COLUMN_H

#include "support/test.h"
#include "types/builder.h"
#include "types/variant.h"

static inline const tl_type *test_type(const char *text)
{
    const tl_type *type = NULL;
    tl_error err;
    assert_ok(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err), &err);
    return type;
}

/* Mostly small numbers, so that equal values meet; sometimes any bits. */
static inline int64_t test_random_int(uint64_t *rng)
{
    uint64_t r = test_random(rng);
    return r % 4 == 0 ? (int64_t)test_random(rng) : (int64_t)(r >> 8) % 7 - 3;
}

static inline double test_random_double(uint64_t *rng)
{
    static const double special[] = {0.0, -0.0, 1.5, -1.5, 1e300, __builtin_inf(), -__builtin_inf(), __builtin_nan("")};
    return special[test_random(rng) % 8];
}

/* Up to 20 bytes out of a small alphabet with zeros and long common prefixes. */
static inline size_t test_random_text(uint64_t *rng, bool zeros, uint8_t out[32])
{
    static const uint8_t alphabet[] = {'a', 'b', 'z', 0};
    size_t len = test_random(rng) % 21, common = test_random(rng) % 3 == 0 ? 0 : test_random(rng) % (len + 1);
    for (size_t i = 0; i < len; i++)
        out[i] = i < common ? 'a' : alphabet[test_random(rng) % (zeros ? 4 : 3)];
    return len;
}

static inline void test_random_value(tl_builder *builder, const tl_type *type, int null_percent, uint64_t *rng);

/* Arrays, objects and numbers, as their two parts. */
static inline void test_random_variant(tl_builder *builder, uint64_t *rng)
{
    char json[128];
    tl_buf value = {0}, metadata = {0};
    tl_error err;
    uint64_t r = test_random(rng);
    snprintf(json, sizeof json, r % 3 == 0 ? "[%lld,null,\"%lld\"]" : r % 3 == 1 ? "{\"b\":%lld,\"a\":{\"c\":%lld.5}}" : "\"%lld %lld\"",
             (long long)test_random_int(rng), (long long)(r % 1000));
    assert_ok(tl_variant_from_json((tl_bytes_view){(const uint8_t *)json, strlen(json)}, &value, &metadata, &err), &err);
    assert_int_equal(tl_builder_bytes(tl_builder_child(builder, 0), value.data, value.len), TL_OK);
    assert_int_equal(tl_builder_bytes(tl_builder_child(builder, 1), metadata.data, metadata.len), TL_OK);
    assert_int_equal(tl_builder_end(builder), TL_OK);
    tl_buf_deinit(&value);
    tl_buf_deinit(&metadata);
}

static inline void test_random_nested(tl_builder *builder, const tl_type *type, int null_percent, uint64_t *rng)
{
    bool vector = type->kind == TL_VECTOR;
    int count = type->kind == TL_ROW ? 1 : vector ? type->length : (int)(test_random(rng) % 4);
    null_percent = vector ? 0 : null_percent;
    for (int k = 0; k < count; k++)
        for (int32_t c = 0; c < type->n_fields; c++)
            test_random_value(tl_builder_child(builder, c), type->fields[c].type, null_percent, rng);
    assert_int_equal(tl_builder_end(builder), TL_OK);
}

static inline void test_random_value(tl_builder *builder, const tl_type *type, int null_percent, uint64_t *rng)
{
    tl_status status = TL_OK;
    uint8_t text[32];
    if (type->nullable && (int)(test_random(rng) % 100) < null_percent) {
        assert_int_equal(tl_builder_null(builder), TL_OK);
        return;
    }
    int64_t v = test_random_int(rng);
    switch (type->kind) {
    case TL_BOOLEAN:
        status = tl_builder_bool(builder, v & 1);
        break;
    case TL_TINYINT:
        status = tl_builder_int(builder, (int8_t)v);
        break;
    case TL_SMALLINT:
        status = tl_builder_int(builder, (int16_t)v);
        break;
    case TL_INT:
    case TL_DATE:
        status = tl_builder_int(builder, (int32_t)v);
        break;
    case TL_TIME:
        status = tl_builder_int(builder, (int64_t)((uint64_t)v % 86400000));
        break;
    case TL_BIGINT:
        status = tl_builder_int(builder, v);
        break;
    case TL_FLOAT:
        status = tl_builder_f32(builder, (float)test_random_double(rng));
        break;
    case TL_DOUBLE:
        status = tl_builder_f64(builder, test_random_double(rng));
        break;
    case TL_DECIMAL:
        status = tl_builder_i128(builder, type->precision > 18 ? (tl_i128)v * 1000000000007 : v % 100);
        break;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        status = tl_builder_timestamp(builder, v % 100000000000000, (int32_t)(test_random(rng) % 3 * 1001));
        break;
    case TL_CHAR:
    case TL_VARCHAR:
        status = tl_builder_bytes(builder, text, test_random_text(rng, /* zeros= */ false, text));
        break;
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        status = tl_builder_bytes(builder, text, test_random_text(rng, /* zeros= */ true, text));
        break;
    case TL_VARIANT:
        test_random_variant(builder, rng);
        break;
    default:
        test_random_nested(builder, type, null_percent, rng);
        break;
    }
    assert_int_equal(status, TL_OK);
}

static inline tl_column *test_random_column(const tl_type *type, int64_t n, int null_percent, uint64_t *rng)
{
    tl_error err;
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (int64_t i = 0; i < n; i++)
        test_random_value(builder, type, null_percent, rng);
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    return col;
}

#endif
