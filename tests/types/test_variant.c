/* VARIANT: bytes as the reference writes them, texts as it prints them, damage of all kinds. */
#include "types/variant.h"
#include "values.h"

typedef struct known {
    const char *json, *value, *metadata;
} known;

/* Bytes out of files of the reference (case variant-parquet and random tables). */
static const known made[] = {
    {"{\"a\":1,\"b\":[true,null,\"x\"],\"c\":{\"d\":1.5}}", "020300010200020c170c0103030001020404000578020103000620010f000000", "0104000102030461626364"},
    {"\"text\"", "1174657874", "010000"},
    {"[1,2,3000000000]", "03030002040d0c010c0218005ed0b200000000", "010000"},
    {"{\"age\":35,\"city\":\"Oslo\"}", "020200010002070c23114f736c6f", "010200030761676563697479"},
    {"255", "10ff00", "010000"},
    {"32767", "10ff7f", "010000"},
};

static tl_buf bytes_of(const char *hex)
{
    tl_buf buf = {0};
    for (; *hex != '\0'; hex += 2) {
        char two[3] = {hex[0], hex[1], '\0'};
        assert_int_equal(tl_buf_append_byte(&buf, (uint8_t)strtoul(two, NULL, 16)), TL_OK);
    }
    return buf;
}

static void assert_bytes(const tl_buf *got, const char *hex)
{
    tl_buf want = bytes_of(hex);
    assert_int_equal(got->len, want.len);
    assert_memory_equal(got->data, want.data, want.len);
    tl_buf_deinit(&want);
}

static void assert_prints(const char *value_hex, const char *metadata_hex, const char *want)
{
    tl_error err;
    tl_buf value = bytes_of(value_hex), metadata = bytes_of(metadata_hex), text = {0};
    assert_ok(tl_variant_append_json(&text, (tl_bytes_view){value.data, value.len}, (tl_bytes_view){metadata.data, metadata.len}, &err), &err);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    assert_string_equal((char *)text.data, want);
    tl_buf_deinit(&value);
    tl_buf_deinit(&metadata);
    tl_buf_deinit(&text);
}

static void bytes_are_the_references(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(made); i++) {
        tl_error err;
        tl_buf value = {0}, metadata = {0};
        assert_ok(tl_variant_from_json(view_of(made[i].json), &value, &metadata, &err), &err);
        assert_bytes(&value, made[i].value);
        assert_bytes(&metadata, made[i].metadata);
        assert_prints(made[i].value, made[i].metadata, made[i].json);
        tl_buf_deinit(&value);
        tl_buf_deinit(&metadata);
    }
}

/* Kinds that JSON does not give but other writers do. */
static void every_primitive_prints(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"00", "null"},
        {"04", "true"},
        {"08", "false"},
        {"0c80", "-128"},
        {"100080", "-32768"},
        {"14ffffffff", "-1"},
        {"180000000000000080", "-9223372036854775808"},
        {"1c000000000000f03f", "1.0"},
        {"1c000000000000f07f", "\"Infinity\""},
        {"2002d2040000", "12.34"},
        {"240a0100000000000000", "0.0000000001"},
        {"2800ffffffffffffffffffffffffffffffff", "-1"},
        {"2cffffffff", "\"1969-12-31\""},
        {"30ffffffffffffffff", "\"1969-12-31 23:59:59.999999+00:00\""},
        {"340000000000000080", "\"-290308-12-21 19:59:05.224192\""},
        {"3440420f0000000000", "\"1970-01-01 00:00:01\""},
        {"3460ea000000000000", "\"1970-01-01 00:00:00.06\""},
        {"380000c03f", "1.5"},
        {"3c0400000001020304", "\"AQIDBA==\""},
        {"4440420f0000000000", "\"00:00:01\""},
        {"4401ca9a3b00000000", "\"00:16:40.000001\""},
        {"4801ca9a3b00000000", "\"1970-01-01 00:00:01.000000001+00:00\""},
        {"4cffffffffffffffff", "\"1969-12-31 23:59:59.999999999\""},
        {"400300000061220a", "\"a\\\"\\n\""},
        {"50000102030405060708090a0b0c0d0e0f", "\"00010203-0405-0607-0809-0a0b0c0d0e0f\""},
        {"010000", "\"\""},
        {"020000", "{}"},
        {"030000", "[]"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++)
        assert_prints(cases[i][0], "010000", cases[i][1]);
}

static void what_is_no_variant_is_refused(void **state)
{
    (void)state;
    static const char *const values[] = {"", "18", "54", "10ff", "05", "4005000000", "200affffffff", "200a00000000", "0201", "02010000", "0201000001",
                                         "03010000", "0301ff00", "0aff", "07ffffffffff", "020105000100"};
    static const char *const bad_json[] = {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "nul", "'x'"};
    tl_error err;
    for (size_t i = 0; i < TL_ARRAY_LEN(values); i++) {
        tl_buf value = bytes_of(values[i]), text = {0};
        static const uint8_t metadata[] = {1, 1, 0, 1, 'k'};
        tl_status status = tl_variant_append_json(&text, (tl_bytes_view){value.data, value.len}, (tl_bytes_view){metadata, sizeof metadata}, &err);
        if (status != TL_E_CORRUPT)
            fail_msg("%s: %s", values[i], tl_status_name(status));
        tl_buf_deinit(&value);
        tl_buf_deinit(&text);
    }
    for (size_t i = 0; i < TL_ARRAY_LEN(bad_json); i++) {
        tl_buf value = {0}, metadata = {0};
        assert_int_not_equal(tl_variant_from_json(view_of(bad_json[i]), &value, &metadata, &err), TL_OK);
        tl_buf_deinit(&value);
        tl_buf_deinit(&metadata);
    }
}

static void columns_of_variants_come_back_from_text(void **state)
{
    (void)state;
    const tl_type *type = test_type("VARIANT");
    tl_column *col = column_of(type, "[\"{\\\"a\\\":[1,2.50]}\", null, \"null\", {\"x\":true}, 7]");
    assert_text_at(col, 0, "\"{\\\"a\\\":[1,2.5]}\"");
    assert_text_at(col, 1, "null");
    assert_text_at(col, 2, "\"null\"");
    assert_text_at(col, 3, "\"{\\\"x\\\":true}\"");
    assert_text_at(col, 4, "\"7\"");
    tl_column_unref(col);
    tl_type_unref(type);
}

/* Metadata of the keys a and b. */
#define KEYS "\"010200010261" "62\""

typedef struct shredded {
    const char *type, *row, *want; /* want NULL: refused */
} shredded;

static const shredded parts[] = {
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "{\"metadata\":" KEYS ",\"typed_value\":-7}", "\"-7\""},
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "{\"metadata\":" KEYS ",\"value\":\"0578\"}", "\"\\\"x\\\"\""},
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "{\"metadata\":" KEYS "}", "\"null\""},
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "null", "null"},
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "{\"metadata\":" KEYS ",\"value\":\"00\",\"typed_value\":1}", NULL},
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "{\"metadata\":" KEYS ",\"value\":\"0000\"}", NULL},
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "{\"metadata\":" KEYS ",\"value\":\"\"}", NULL},
    {"ROW<metadata BYTES, value BYTES, typed_value INT>", "{\"typed_value\":1}", NULL},
    {"ROW<metadata BYTES, typed_value DECIMAL(20, 2)>", "{\"metadata\":" KEYS ",\"typed_value\":\"1.50\"}", "\"1.5\""},
    {"ROW<metadata BYTES, typed_value TIMESTAMP(9)>", "{\"metadata\":" KEYS ",\"typed_value\":\"1969-12-31T23:59:59.999999999\"}",
     "\"\\\"1969-12-31 23:59:59.999999999\\\"\""},
    {"ROW<metadata BYTES, typed_value ARRAY<ROW<value BYTES, typed_value STRING>>>",
     "{\"metadata\":" KEYS ",\"typed_value\":[{\"typed_value\":\"x\"},{\"value\":\"0c05\"},{}]}", "\"[\\\"x\\\",5,null]\""},
    {"ROW<metadata BYTES, value BYTES, typed_value ROW<b ROW<value BYTES, typed_value BOOLEAN>>>",
     "{\"metadata\":" KEYS ",\"value\":\"0201000002" "0c07\",\"typed_value\":{\"b\":{\"typed_value\":true}}}", "\"{\\\"a\\\":7,\\\"b\\\":true}\""},
    {"ROW<metadata BYTES, value BYTES, typed_value ROW<b ROW<value BYTES, typed_value BOOLEAN>>>",
     "{\"metadata\":" KEYS ",\"typed_value\":{\"b\":{}}}", "\"{}\""},
    {"ROW<metadata BYTES, value BYTES, typed_value ROW<b ROW<value BYTES, typed_value BOOLEAN>>>",
     "{\"metadata\":" KEYS ",\"value\":\"0c07\",\"typed_value\":{\"b\":{}}}", NULL},
    {"ROW<metadata BYTES, value BYTES, typed_value ROW<z ROW<typed_value BOOLEAN>>>",
     "{\"metadata\":" KEYS ",\"typed_value\":{\"z\":{\"typed_value\":true}}}", NULL},
};

static void shredded_variants_are_put_together(void **state)
{
    (void)state;
    const tl_type *variant = test_type("VARIANT");
    for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++) {
        tl_error err;
        tl_buf json = {0};
        const tl_type *type = test_type(parts[i].type);
        assert_int_equal(tl_buf_appendf(&json, "[%s,%s]", parts[i].row, parts[i].row), TL_OK);
        assert_int_equal(tl_buf_append_byte(&json, 0), TL_OK);
        tl_column *in = column_of(type, (char *)json.data), *out = NULL;
        tl_status status = tl_variant_unshred(in, variant, &out, &err);
        if (parts[i].want == NULL) {
            assert_int_equal(status, TL_E_CORRUPT);
        } else {
            assert_ok(status, &err);
            assert_ok(tl_column_check(out, &err), &err);
            assert_text_at(out, 1, parts[i].want);
        }
        tl_column_unref(in);
        tl_column_unref(out);
        tl_buf_deinit(&json);
        tl_type_unref(type);
    }
    tl_type_unref(variant);
}

/* Every value into every schema and back: not a digit is lost, whatever fits. */
static void shredding_loses_nothing(void **state)
{
    (void)state;
    static const char *const schemas[] = {
        "VARIANT", "TINYINT", "INT", "BIGINT", "DECIMAL(10, 2)", "DECIMAL(38, 20)", "DOUBLE", "FLOAT", "BOOLEAN", "STRING", "BYTES", "ARRAY<INT>",
        "ARRAY<VARIANT>", "ROW<a INT, b STRING>", "ROW<b ROW<c ARRAY<DECIMAL(5, 1)>>, a VARIANT>", "ARRAY<ROW<a BIGINT>>"};
    static const char *const json =
        "[\"1\", \"-200\", \"3000000000\", \"1.5\", \"1.55\", \"0.00000000000000000001\", \"99999999999999999999999999999999999999\", \"1e300\","
        " \"true\", \"null\", null, \"\\\"\\\"\", \"\\\"text of more than sixty-three bytes, which is the longest that a header can tell of\\\"\","
        " \"[]\", \"[1,2.5,\\\"x\\\",null,[3]]\", \"{}\", \"{\\\"a\\\":1,\\\"b\\\":\\\"x\\\",\\\"z\\\":{\\\"a\\\":2}}\","
        " \"{\\\"a\\\":\\\"no number\\\",\\\"b\\\":{\\\"c\\\":[1,2.5,33333]}}\", \"[{\\\"a\\\":1},{\\\"a\\\":1.0,\\\"q\\\":[]},7]\"]";
    const tl_type *variant = test_type("VARIANT");
    tl_column *whole = column_of(variant, json);
    for (size_t i = 0; i < TL_ARRAY_LEN(schemas); i++) {
        tl_error err;
        const tl_type *schema = test_type(schemas[i]), *type;
        tl_column *pieces, *again;
        assert_ok(tl_variant_shredded_type(schema, &type, &err), &err);
        assert_ok(tl_variant_shred(whole, type, &pieces, &err), &err);
        assert_ok(tl_column_check(pieces, &err), &err);
        assert_ok(tl_variant_unshred(pieces, variant, &again, &err), &err);
        for (int64_t row = 0; row < whole->length; row++)
            assert_same_value(again, row, whole, row);
        tl_column_unref(pieces);
        tl_column_unref(again);
        tl_type_unref(type);
        tl_type_unref(schema);
    }
    tl_column_unref(whole);
    tl_type_unref(variant);
}

static void a_schema_of_other_types_is_refused(void **state)
{
    (void)state;
    static const char *const schemas[] = {"DATE", "TIMESTAMP(3)", "MAP<STRING, INT>", "ROW<a TIME(3)>", "ARRAY<MULTISET<INT>>"};
    for (size_t i = 0; i < TL_ARRAY_LEN(schemas); i++) {
        tl_error err;
        const tl_type *schema = test_type(schemas[i]), *type = NULL;
        assert_int_equal(tl_variant_shredded_type(schema, &type, &err), TL_E_INVALID);
        assert_null(type);
        tl_type_unref(schema);
    }
}

/* Rows, bounds and what is inferred, as the reference infers it (InferVariantShreddingSchemaTest of the reference, and files of the oracle). */
static const struct {
    const char *rows;
    tl_variant_limits limits;
    const char *want;
} inferred[] = {
    {"[\"{\\\"a\\\":1,\\\"b\\\":\\\"x\\\"}\", \"{\\\"a\\\":300,\\\"c\\\":true}\"]", {300, 50, 0.1}, "ROW<`a` BIGINT, `b` STRING, `c` BOOLEAN>"},
    {"[\"{\\\"a\\\":1,\\\"b\\\":\\\"x\\\"}\", null, \"{\\\"a\\\":300}\"]", {300, 50, 0.6}, "ROW<`a` BIGINT>"},
    {"[\"1.5\", \"100.25\", \"7\"]", {300, 50, 0.1}, "DECIMAL(18, 2)"},
    {"[\"1.5\", \"9223372036854775807\"]", {300, 50, 0.1}, "DECIMAL(38, 1)"},
    {"[\"100.0\", \"9223372036854775807\"]", {300, 50, 0.1}, "BIGINT"},
    {"[\"99999999999999999999999999999999999999\", \"0.5\"]", {300, 50, 0.1}, "VARIANT"},
    {"[\"1\", \"\\\"x\\\"\", \"1\"]", {300, 50, 0.1}, "VARIANT"},
    {"[\"null\", \"1e300\", null]", {300, 50, 0.1}, "DOUBLE"},
    {"[\"null\"]", {300, 50, 0.1}, "VARIANT"},
    {"[\"[]\", \"[1,null]\"]", {300, 50, 0.1}, "ARRAY<VARIANT>"},
    {"[\"[{\\\"a\\\":1},{\\\"b\\\":[true]}]\", \"[null,{\\\"a\\\":2}]\"]", {300, 50, 0.1}, "ARRAY<ROW<`a` BIGINT, `b` ARRAY<BOOLEAN>>>"},
    {"[\"{\\\"a\\\":{\\\"b\\\":{\\\"c\\\":1}}}\"]", {300, 2, 0.1}, "ROW<`a` ROW<`b` VARIANT>>"},
    {"[\"{\\\"a\\\":{\\\"b\\\":{\\\"c\\\":1}}}\"]", {300, 0, 0.1}, "VARIANT"},
    {"[\"{\\\"a\\\":1,\\\"b\\\":2,\\\"c\\\":3}\"]", {6, 50, 0.1}, "ROW<`a` BIGINT, `b` BIGINT, `c` VARIANT>"},
    {"[\"{\\\"a\\\":1,\\\"b\\\":2,\\\"c\\\":3}\"]", {1, 50, 0.1}, "VARIANT"},
    {"[\"{}\"]", {300, 50, 0.1}, "VARIANT"},
};

static void schemas_are_inferred_as_by_the_reference(void **state)
{
    (void)state;
    const tl_type *variant = test_type("VARIANT");
    for (size_t i = 0; i < TL_ARRAY_LEN(inferred); i++) {
        tl_error err;
        tl_buf text = {0};
        tl_column *col = column_of(variant, inferred[i].rows);
        int32_t left = inferred[i].limits.max_width;
        for (uint64_t nth = i == 0; ; nth++) { /* of the first also with memory that runs out */
            const tl_type *type = NULL;
            left = inferred[i].limits.max_width;
            tl_alloc_fail_at(nth);
            tl_status status = tl_variant_infer((const tl_column *const *)&col, 1, col->length, &inferred[i].limits, &left, &type, &err);
            tl_alloc_fail_at(0);
            if (nth > 0 && status == TL_E_NOMEM) {
                assert_true(nth < 1000);
                continue;
            }
            assert_ok(status, &err);
            assert_int_equal(tl_type_format(type, &text), TL_OK);
            tl_type_unref(type);
            break;
        }
        assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
        assert_string_equal((char *)text.data, inferred[i].want);
        tl_buf_deinit(&text);
        tl_column_unref(col);
    }
    tl_type_unref(variant);
}

/* Values that are cut off anywhere are told, or read as what they are. */
static void damaged_variants_give_no_schema(void **state)
{
    (void)state;
    static const tl_variant_limits limits = {300, 50, 0.1};
    const tl_type *variant = test_type("VARIANT");
    tl_buf value = bytes_of(made[0].value), metadata = bytes_of(made[0].metadata);
    for (size_t len = 0; len < value.len; len++) {
        for (size_t keys = 0; keys <= metadata.len; keys += metadata.len) {
            tl_builder *b;
            tl_column *col;
            const tl_type *type = NULL;
            int32_t left = 300;
            assert_int_equal(tl_builder_create(variant, &b, NULL), TL_OK);
            assert_int_equal(tl_builder_bytes(tl_builder_child(b, 0), value.data, len), TL_OK);
            assert_int_equal(tl_builder_bytes(tl_builder_child(b, 1), metadata.data, keys), TL_OK);
            assert_int_equal(tl_builder_end(b), TL_OK);
            assert_int_equal(tl_builder_finish(b, &col, NULL), TL_OK);
            assert_int_equal(tl_variant_infer((const tl_column *const *)&col, 1, 1, &limits, &left, &type, NULL), TL_E_CORRUPT);
            tl_column_unref(col);
            tl_builder_free(b);
        }
    }
    tl_buf_deinit(&value);
    tl_buf_deinit(&metadata);
    tl_type_unref(variant);
}

/* Arrays in each other, each of which tells that its eight elements are the same next one: 8 ^ LEVELS values in 400 bytes. */
static void values_that_overlap_are_refused(void **state)
{
    (void)state;
    enum { LEVELS = 20, ELEMENTS = 8, HEAD = 2 + (ELEMENTS + 1) * 2 };
    static const tl_variant_limits limits = {300, 50, 0.1};
    static const uint8_t metadata[] = {1, 0, 0};
    uint8_t value[LEVELS * HEAD + 1] = {0};
    char schema[LEVELS * 7 + 8] = "BIGINT";
    for (int i = 0; i < LEVELS; i++) {
        uint8_t *at = value + i * HEAD;
        at[0] = 1 << 2 | 3; /* an array whose offsets have two bytes */
        at[1] = ELEMENTS;
        tl_write_le16(at + HEAD - 2, (uint16_t)(sizeof value - (size_t)(i + 1) * HEAD));
        char inner[sizeof schema];
        memcpy(inner, schema, sizeof inner);
        snprintf(schema, sizeof schema, "ARRAY<%.*s>", (int)sizeof schema - 8, inner);
    }
    const tl_type *variant = test_type("VARIANT"), *wanted = test_type(schema), *inferred_type = NULL, *group = NULL;
    tl_builder *b;
    tl_column *col, *split = NULL;
    int32_t left = 300;
    tl_error err;
    assert_int_equal(tl_builder_create(variant, &b, NULL), TL_OK);
    assert_int_equal(tl_builder_bytes(tl_builder_child(b, 0), value, sizeof value), TL_OK);
    assert_int_equal(tl_builder_bytes(tl_builder_child(b, 1), metadata, sizeof metadata), TL_OK);
    assert_int_equal(tl_builder_end(b), TL_OK);
    assert_int_equal(tl_builder_finish(b, &col, NULL), TL_OK);
    assert_int_equal(tl_variant_infer((const tl_column *const *)&col, 1, 1, &limits, &left, &inferred_type, &err), TL_E_CORRUPT);
    assert_non_null(strstr(err.message, "overlap"));
    assert_int_equal(tl_variant_shredded_type(wanted, &group, NULL), TL_OK);
    assert_int_equal(tl_variant_shred(col, group, &split, &err), TL_E_CORRUPT);
    assert_non_null(strstr(err.message, "overlap"));
    tl_column_unref(col);
    tl_builder_free(b);
    tl_type_unref(variant);
    tl_type_unref(wanted);
    tl_type_unref(group);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        tl_buf value = {0}, metadata = {0};
        tl_alloc_fail_at(nth);
        tl_status status = tl_variant_from_json(view_of(made[0].json), &value, &metadata, NULL);
        tl_alloc_fail_at(0);
        tl_buf_deinit(&value);
        tl_buf_deinit(&metadata);
        if (status == TL_OK)
            break;
        assert_int_equal(status, TL_E_NOMEM);
        assert_true(nth < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_the_references),          cmocka_unit_test(every_primitive_prints),
        cmocka_unit_test(what_is_no_variant_is_refused),     cmocka_unit_test(columns_of_variants_come_back_from_text),
        cmocka_unit_test(shredded_variants_are_put_together), cmocka_unit_test(shredding_loses_nothing),
        cmocka_unit_test(schemas_are_inferred_as_by_the_reference),
        cmocka_unit_test(damaged_variants_give_no_schema), cmocka_unit_test(values_that_overlap_are_refused), cmocka_unit_test(a_schema_of_other_types_is_refused), cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests_name("variant", tests, NULL, NULL);
}
