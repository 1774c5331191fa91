/* Text forms of values: JSON, plain, Java, SQL cast; the reference's own lines come back byte by byte. */
#include "types/number.h"
#include "types/text.h"
#include "values.h"

/* ---- values come back ---- */

static void every_type_comes_back_from_its_json(void **state)
{
    (void)state;
    uint64_t rng = test_seed(31);
    for (size_t t = 0; t < TL_ARRAY_LEN(every_type); t++) {
        tl_error err;
        const tl_type *type = test_type(every_type[t]);
        tl_column *col = test_random_column(type, 60, 20, &rng), *back = NULL;
        tl_builder *builder = NULL;
        assert_ok(tl_builder_create(type, &builder, &err), &err);
        for (int64_t i = 0; i < col->length; i++) {
            tl_arena arena = {0};
            const tl_json *json = NULL;
            char *text = text_at(col, i);
            assert_ok(tl_json_parse(&arena, view_of(text), &json, &err), &err);
            assert_ok(tl_text_read_json(json, type, builder, &err), &err);
            free(text);
            tl_arena_deinit(&arena);
        }
        assert_ok(tl_builder_finish(builder, &back, &err), &err);
        assert_ok(tl_column_check(back, &err), &err);
        for (int64_t i = 0; i < col->length; i++)
            assert_same_value(back, i, col, i);
        tl_builder_free(builder);
        tl_column_unref(back);
        tl_column_unref(col);
        tl_type_unref(type);
    }
}

static void every_value_comes_back_from_its_plain_text(void **state)
{
    (void)state;
    uint64_t rng = test_seed(32);
    for (size_t t = 0; t < TL_ARRAY_LEN(every_type); t++) {
        tl_error err;
        const tl_type *type = test_type(every_type[t]);
        tl_column *col = test_random_column(type, 60, 0, &rng), *back = NULL;
        tl_builder *builder = NULL;
        assert_ok(tl_builder_create(type, &builder, &err), &err);
        tl_buf text = {0};
        for (int64_t i = 0; i < col->length; i++) {
            text.len = 0;
            assert_int_equal(tl_text_append_plain(&text, col, i), TL_OK);
            assert_ok(tl_text_read_plain((tl_bytes_view){text.data, text.len}, type, builder, &err), &err);
        }
        assert_ok(tl_builder_finish(builder, &back, &err), &err);
        for (int64_t i = 0; i < col->length; i++)
            assert_same_value(back, i, col, i);
        tl_buf_deinit(&text);
        tl_builder_free(builder);
        tl_column_unref(back);
        tl_column_unref(col);
        tl_type_unref(type);
    }
}

static void assert_json(const char *type_text, const char *in, const char *want)
{
    const tl_type *type = test_type(type_text);
    char *list = NULL;
    assert_true(asprintf(&list, "[%s]", in) > 0);
    tl_column *col = column_of(type, list);
    assert_text_at(col, 0, want);
    tl_column_unref(col);
    tl_type_unref(type);
    free(list);
}

static void json_forms_are_the_reference_s(void **state)
{
    (void)state;
    assert_json("BOOLEAN", "\"TRUE\"", "true");
    assert_json("TINYINT", "\"-128\"", "-128");
    assert_json("BIGINT", "-9223372036854775808", "-9223372036854775808");
    assert_json("FLOAT", "0.1", "0.1");
    assert_json("FLOAT", "16777217", "16777216");
    assert_json("DOUBLE", "\"NaN\"", "\"NaN\"");
    assert_json("DOUBLE", "\"-Infinity\"", "\"-Infinity\"");
    assert_json("DOUBLE", "-0.0", "-0");
    assert_json("DOUBLE", "1e22", "1e+22");
    assert_json("DECIMAL(10, 2)", "\"12.3\"", "\"12.30\"");
    assert_json("DECIMAL(10, 2)", "12.345", "\"12.35\"");
    assert_json("DECIMAL(4, 2)", "\"123.4\"", "null");
    assert_json("STRING", "\"a\\u0001\\u007f\\n\\t\\\"\\\\\xc3\xa9\\ud83d\\ude00\"",
                "\"a\\u0001\\u007f\\n\\t\\\"\\\\\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_json("STRING", "12.50", "\"12.50\"");
    assert_json("BYTES", "\"00FfA0\"", "\"00ffa0\"");
    assert_json("BYTES", "\"\"", "\"\"");
    assert_json("DATE", "\"0001-01-01\"", "\"0001-01-01\"");
    assert_json("DATE", "\"9999-12-31\"", "\"9999-12-31\"");
    assert_json("DATE", "\"-0001-02-28\"", "\"-0001-02-28\"");
    assert_json("DATE", "\"+12345-02-28\"", "\"+12345-02-28\"");
    assert_json("TIME(3)", "\"23:59\"", "\"23:59:00.000\"");
    assert_json("TIME(0)", "\"23:59:59.999999999\"", "\"23:59:59.999\"");
    assert_json("TIMESTAMP(9)", "\"0001-01-01T00:00:00.000000001\"", "\"0001-01-01T00:00:00.000000001\"");
    assert_json("TIMESTAMP(9)", "\"9999-12-31 23:59:59.999999999\"", "\"9999-12-31T23:59:59.999999999\"");
    assert_json("TIMESTAMP(6)", "\"1969-12-31T23:59:59.999999999\"", "\"1969-12-31T23:59:59.999999000\"");
    assert_json("TIMESTAMP(0)", "\"1969-12-31T23:59:59.999999999\"", "\"1969-12-31T23:59:59.999000000\"");
    assert_json("TIMESTAMP(3) WITH LOCAL TIME ZONE", "\"2024-02-29T12:34Z\"", "\"2024-02-29T12:34:00.000000000Z\"");
    assert_json("ARRAY<INT>", "[]", "[]");
    assert_json("ROW<a INT, b STRING>", "{\"b\":\"x\"}", "{\"a\":null,\"b\":\"x\"}");
    assert_json("ROW<a INT, b STRING>", "{\"a\":1,\"a\":2,\"b\":\"x\"}", "{\"a\":2,\"b\":\"x\"}");
    assert_json("MULTISET<STRING>", "[[\"b\",2],[\"a\",1]]", "[[\"a\",1],[\"b\",2]]");
}

static void map_entries_are_in_order_of_their_keys_utf16_text(void **state)
{
    (void)state;
    /* U+FF5E lies above U+1F600 in UTF-16, whose first unit is a surrogate, and below it in UTF-8. */
    assert_json("MAP<STRING, INT>", "[[\"\xef\xbd\x9e\",1],[\"\xf0\x9f\x98\x80\",2],[\"z\",3]]",
                "[[\"z\",3],[\"\xf0\x9f\x98\x80\",2],[\"\xef\xbd\x9e\",1]]");
    assert_json("MAP<INT, STRING>", "[[10,\"x\"],[9,\"y\"],[-1,\"z\"]]", "[[-1,\"z\"],[10,\"x\"],[9,\"y\"]]");
    assert_json("MAP<STRING, INT>", "[[\"a\",1],[\"b\",2],[\"a\",3]]", "[[\"a\",3],[\"b\",2]]");
    assert_json("MAP<STRING, INT>", "{\"k\":1,\"j\":null}", "[[\"j\",null],[\"k\",1]]");
    assert_json("MAP<INT, INT>", "{\"7\":1}", "[[7,1]]");
    char many[4096] = "[", sorted[4096] = "[";
    for (int i = 99; i >= 0; i--)
        sprintf(many + strlen(many), "[\"%02d\",%d]%s", i, i, i > 0 ? "," : "]");
    for (int i = 0; i < 100; i++)
        sprintf(sorted + strlen(sorted), "[\"%02d\",%d]%s", i, i, i < 99 ? "," : "]");
    assert_json("MAP<STRING, INT>", many, sorted);
}

static void wrong_values_are_named_with_their_type(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"TINYINT", "128"},
        {"INT", "1.5"},
        {"INT", "\"\""},
        {"INT", "true"},
        {"BIGINT", "1e3"},
        {"BOOLEAN", "1"},
        {"BOOLEAN", "\"maybe\""},
        {"DOUBLE", "\"x\""},
        {"DECIMAL(10, 2)", "\"x\""},
        {"BYTES", "\"abc\""},
        {"BYTES", "\"zz\""},
        {"BYTES", "12"},
        {"DATE", "\"2023-02-29\""},
        {"DATE", "19000"},
        {"DATE", "\"2024-1\""},
        {"TIME(3)", "\"24:00\""},
        {"TIMESTAMP(3)", "\"2024-02-30T00:00\""},
        {"TIMESTAMP(3)", "\"299058058-1-2T00:00\""},
        {"TIMESTAMP(3)", "\"2024-02-20X\""},
        {"ARRAY<INT>", "{}"},
        {"ARRAY<INT>", "[\"x\"]"},
        {"MAP<INT, INT>", "[1]"},
        {"MAP<INT, INT>", "[[1]]"},
        {"ROW<a INT>", "[1]"},
        {"ROW<a INT>", "{\"a\":\"q\"}"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err = {0};
        tl_arena arena = {0};
        const tl_json *json = NULL;
        const tl_type *type = test_type(cases[i][0]);
        tl_builder *builder = NULL;
        assert_ok(tl_json_parse(&arena, view_of(cases[i][1]), &json, &err), &err);
        assert_ok(tl_builder_create(type, &builder, &err), &err);
        tl_status status = tl_text_read_json(json, type, builder, &err);
        if (status != TL_E_INVALID || strstr(err.message, "is no value of type") == NULL)
            fail_msg("%s %s: %s", cases[i][0], cases[i][1], status == TL_OK ? "accepted" : err.message);
        /* What a bad value left half done can be taken back. */
        tl_builder_truncate(builder, 0);
        tl_column *col = NULL;
        assert_int_equal(tl_builder_null(builder), TL_OK);
        assert_ok(tl_builder_finish(builder, &col, &err), &err);
        assert_ok(tl_column_check(col, &err), &err);
        tl_column_unref(col);
        tl_builder_free(builder);
        tl_type_unref(type);
        tl_arena_deinit(&arena);
    }
}

/* ---- other forms ---- */

typedef tl_status (*append_fn)(tl_buf *buf, const tl_column *col, int64_t i);

static void assert_form(append_fn append, const char *type_text, const char *in, const char *want)
{
    const tl_type *type = test_type(type_text);
    char *list = NULL;
    assert_true(asprintf(&list, "[%s]", in) > 0);
    tl_column *col = column_of(type, list);
    tl_buf buf = {0};
    assert_int_equal(append(&buf, col, 0), TL_OK);
    assert_int_equal(tl_buf_append_byte(&buf, 0), TL_OK);
    assert_string_equal((char *)buf.data, want);
    tl_buf_deinit(&buf);
    tl_column_unref(col);
    tl_type_unref(type);
    free(list);
}

static void java_texts_are_those_of_internal_values(void **state)
{
    (void)state;
    append_fn java = tl_text_append_java;
    assert_form(java, "DATE", "\"2022-01-08\"", "19000");
    assert_form(java, "TIME(3)", "\"01:00:00.123\"", "3600123");
    assert_form(java, "TIMESTAMP(3)", "\"2023-11-14T22:13:20\"", "2023-11-14T22:13:20");
    assert_form(java, "TIMESTAMP(3)", "\"2023-11-14T22:14:00\"", "2023-11-14T22:14");
    assert_form(java, "TIMESTAMP(9)", "\"2023-11-14T22:14:00.5\"", "2023-11-14T22:14:00.500");
    assert_form(java, "TIMESTAMP(9)", "\"2023-11-14T22:14:00.000001\"", "2023-11-14T22:14:00.000001");
    assert_form(java, "TIMESTAMP(9)", "\"1500-11-14T22:14:00.000000001\"", "1500-11-14T22:14:00.000000001");
    assert_form(java, "DOUBLE", "1e10", "1.0E10");
    assert_form(java, "FLOAT", "0.5", "0.5");
    assert_form(java, "DECIMAL(10, 2)", "\"5.1\"", "5.10");
    assert_form(java, "BOOLEAN", "true", "true");
    assert_form(java, "STRING", "\"a/b\"", "a/b");
    assert_form(java, "INT", "-7", "-7");
}

static void casts_to_string_are_sql_s(void **state)
{
    (void)state;
    append_fn cast = tl_text_append_cast;
    assert_form(cast, "DATE", "\"2022-01-08\"", "2022-01-08");
    assert_form(cast, "TIME(3)", "\"01:00:00.123\"", "01:00:00.123");
    assert_form(cast, "TIME(3)", "\"01:00:00.1\"", "01:00:00.1");
    assert_form(cast, "TIME(3)", "\"01:00:00\"", "01:00:00.0");
    assert_form(cast, "TIME(0)", "\"01:00:00.5\"", "01:00:00");
    assert_form(cast, "TIMESTAMP(3)", "\"2023-11-14T22:13:20\"", "2023-11-14 22:13:20.000");
    assert_form(cast, "TIMESTAMP(0)", "\"2023-11-14T22:13:20\"", "2023-11-14 22:13:20");
    assert_form(cast, "TIMESTAMP(0)", "\"2023-11-14T22:13:20.120\"", "2023-11-14 22:13:20.12");
    assert_form(cast, "TIMESTAMP(9)", "\"2023-11-14T22:13:20.12\"", "2023-11-14 22:13:20.120000000");
    assert_form(cast, "TIMESTAMP(3) WITH LOCAL TIME ZONE", "\"2023-11-14T22:13:20Z\"", "2023-11-14 22:13:20.000");
    assert_form(cast, "BYTES", "\"6162\"", "ab");
    assert_form(cast, "ARRAY<STRING>", "[\"a\",null]", "[a, null]");
    assert_form(cast, "MAP<STRING, INT>", "[[\"a\",1],[\"b\",null]]", "{a -> 1, b -> null}");
    assert_form(cast, "ROW<a DOUBLE, b DATE>", "{\"a\":1}", "{1.0, null}");
    assert_form(cast, "DOUBLE", "100", "100.0");
    assert_form(cast, "INT", "null", "null");
}

static void assert_plain(const char *type_text, const char *in, const char *want)
{
    tl_error err = {0};
    const tl_type *type = test_type(type_text);
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    tl_status status = tl_text_read_plain(view_of(in), type, builder, &err);
    if (status == TL_OK) {
        assert_ok(tl_builder_finish(builder, &col, &err), &err);
        if (want == NULL)
            fail_msg("%s took '%s'", type_text, in);
        assert_text_at(col, 0, want);
        tl_column_unref(col);
    } else if (want != NULL) {
        fail_msg("%s", err.message);
    }
    tl_builder_free(builder);
    tl_type_unref(type);
}

static void plain_texts_are_read_as_sql_casts_strings(void **state)
{
    (void)state;
    assert_plain("BOOLEAN", "Yes", "true");
    assert_plain("BOOLEAN", "0", "false");
    assert_plain("BOOLEAN", "2", NULL);
    assert_plain("DATE", "19000", "\"2022-01-08\"");
    assert_plain("DATE", "2022-1-8", "\"2022-01-08\"");
    assert_plain("DATE", "2022-01-08 10:00:00", "\"2022-01-08\"");
    assert_plain("TIME(3)", "3600123", "\"01:00:00.123\"");
    assert_plain("TIMESTAMP(3)", "2022-01-08", "\"2022-01-08T00:00:00.000000000\"");
    assert_plain("TIMESTAMP(3)", "1641600000001", "\"2022-01-08T00:00:00.001000000\"");
    assert_plain("TIMESTAMP(0)", "1641600000", "\"2022-01-08T00:00:00.000000000\"");
    assert_plain("TIMESTAMP(9)", "1641600000000000001", "\"2022-01-08T00:00:00.000000001\"");
    assert_plain("TIMESTAMP(5)", "1641600000000000", NULL);
    assert_plain("STRING", "", "\"\"");
    assert_plain("INT", "", NULL);
    assert_plain("ARRAY<INT>", "[1,2]", "[1,2]");
    assert_plain("ARRAY<INT>", "[1,2", NULL);
}

static void rows_have_kinds_and_snapshots_in_front(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *type = test_type("ROW<`a\"` INT, b STRING>");
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(type, 2, &batch, &err), &err);
    batch->cols[0] = column_of(type->fields[0].type, "[1,null]");
    batch->cols[1] = column_of(type->fields[1].type, "[\"x\",\"y\"]");
    batch->row_kind = tl_memdup("\x00\x03", 2);
    batch->snapshot = 7;
    tl_buf buf = {0};
    assert_int_equal(tl_text_append_json_row(&buf, batch, 0, false, 0), TL_OK);
    assert_int_equal(tl_text_append_json_row(&buf, batch, 1, true, 0), TL_OK);
    assert_int_equal(tl_text_append_json_row(&buf, batch, 1, false, 7), TL_OK);
    assert_int_equal(tl_text_append_json_lines(&buf, batch, 0, 2, true, true), TL_OK);
    assert_int_equal(tl_buf_append_byte(&buf, 0), TL_OK);
    assert_string_equal((char *)buf.data, "{\"a\\\"\":1,\"b\":\"x\"}"
                                          "{\"_kind\":\"-D\",\"a\\\"\":null,\"b\":\"y\"}"
                                          "{\"_snapshot\":7,\"a\\\"\":null,\"b\":\"y\"}"
                                          "{\"_snapshot\":7,\"_kind\":\"+I\",\"a\\\"\":1,\"b\":\"x\"}\n"
                                          "{\"_snapshot\":7,\"_kind\":\"-D\",\"a\\\"\":null,\"b\":\"y\"}\n");
    tl_buf_deinit(&buf);
    tl_batch_free(batch);
    tl_type_unref(type);
}

/* ---- calendar ---- */

static void days_and_dates_are_inverse_over_all_years(void **state)
{
    (void)state;
    int64_t year, days = tl_days_from_civil(-9999, 1, 1);
    int month, day;
    assert_true(tl_days_from_civil(1970, 1, 1) == 0);
    assert_true(tl_days_from_civil(2000, 3, 1) == 11017);
    int last_month = 1, last_day = 0;
    for (; days < tl_days_from_civil(10000, 1, 1); days++) {
        tl_civil_from_days(days, &year, &month, &day);
        assert_true(tl_days_from_civil(year, month, day) == days);
        assert_true((day == last_day + 1 && month == last_month) || (day == 1 && month == last_month % 12 + 1));
        last_month = month;
        last_day = day;
    }
}

/* ---- the reference's lines ---- */

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return NULL;
    size_t cap = 1 << 22, n;
    char *text = malloc(cap);
    n = fread(text, 1, cap - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

static char *fixture(const char *name)
{
    const char *folders[3] = {getenv("TL_FIXTURES"), TL_SOURCE_DIR "/tests/fixtures", TL_SOURCE_DIR "/../shared/fixtures"};
    for (int i = 0; i < 3; i++) {
        char path[1024];
        if (folders[i] == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        char *text = read_file(path);
        if (text != NULL)
            return text;
    }
    return NULL;
}

/* ROW type of {"columns":[{"name","type"},…]}. */
static const tl_type *type_of_columns(const char *schema)
{
    tl_error err;
    tl_arena arena = {0};
    const tl_json *json = NULL;
    const tl_type *row = NULL;
    assert_ok(tl_json_parse(&arena, view_of(schema), &json, &err), &err);
    const tl_json *columns = tl_json_get(json, "columns");
    tl_field fields[100] = {0};
    int32_t n = 0;
    for (const tl_json *c = columns->child; c != NULL; c = c->next) {
        fields[n].name = tl_json_strdup(&arena, tl_json_get(c, "name"));
        fields[n].id = n;
        assert_ok(tl_type_parse(tl_json_get(c, "type")->text, &fields[n].type, &err), &err);
        n++;
    }
    assert_ok(tl_type_create_row(false, fields, n, &row, &err), &err);
    while (n > 0)
        tl_type_unref(fields[--n].type);
    tl_arena_deinit(&arena);
    return row;
}

static void lines_of_the_reference_come_back_byte_by_byte(void **state)
{
    (void)state;
    char *schema = fixture("types-append-parquet/input/01-schema.json"),
         *lines = fixture("types-append-parquet/expected.jsonl");
    if (schema == NULL || lines == NULL)
        skip();
    tl_error err;
    const tl_type *type = type_of_columns(schema);
    tl_builder *builder = NULL;
    int n_lines = 0;
    for (char *line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        tl_arena arena = {0};
        const tl_json *json = NULL;
        tl_column *row = NULL;
        assert_ok(tl_builder_create(type, &builder, &err), &err);
        assert_ok(tl_json_parse(&arena, view_of(line), &json, &err), &err);
        assert_ok(tl_text_read_json(json, type, builder, &err), &err);
        assert_ok(tl_builder_finish(builder, &row, &err), &err);
        assert_text_at(row, 0, line);
        tl_column_unref(row);
        tl_builder_free(builder);
        tl_arena_deinit(&arena);
        n_lines++;
    }
    assert_true(n_lines > 10);
    tl_type_unref(type);
    free(schema);
    free(lines);
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *type = test_type("MAP<STRING, ROW<a DECIMAL(10, 2), b ARRAY<BYTES>>>");
    static const char text[] = "{\"x\":{\"a\":1.5,\"b\":[\"00\",\"ff\"]},\"y\":null}";
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        tl_builder *builder = NULL;
        tl_column *col = NULL;
        tl_buf buf = {0};
        tl_alloc_fail_at(nth);
        tl_status status = tl_builder_create(type, &builder, &err);
        if (status == TL_OK)
            status = tl_text_read_plain(view_of(text), type, builder, &err);
        if (status == TL_OK)
            status = tl_builder_finish(builder, &col, &err);
        if (status == TL_OK)
            status = tl_text_append_json(&buf, col, 0);
        tl_alloc_fail_at(0);
        failed = status != TL_OK;
        if (failed)
            assert_int_equal(status, TL_E_NOMEM);
        tl_buf_deinit(&buf);
        tl_column_unref(col);
        tl_builder_free(builder);
    }
    tl_type_unref(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back_from_its_json),
        cmocka_unit_test(every_value_comes_back_from_its_plain_text),
        cmocka_unit_test(json_forms_are_the_reference_s),
        cmocka_unit_test(map_entries_are_in_order_of_their_keys_utf16_text),
        cmocka_unit_test(wrong_values_are_named_with_their_type),
        cmocka_unit_test(java_texts_are_those_of_internal_values),
        cmocka_unit_test(casts_to_string_are_sql_s),
        cmocka_unit_test(plain_texts_are_read_as_sql_casts_strings),
        cmocka_unit_test(rows_have_kinds_and_snapshots_in_front),
        cmocka_unit_test(days_and_dates_are_inverse_over_all_years),
        cmocka_unit_test(lines_of_the_reference_come_back_byte_by_byte),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
