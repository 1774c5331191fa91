/* Data types: their texts, their JSON, their limits. */
#include "types/type.h"
#include "values.h"

static char *format(const tl_type *type)
{
    tl_buf buf = {0};
    assert_int_equal(tl_type_format(type, &buf), TL_OK);
    char *text = strndup((const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    return text;
}

static void assert_prints(const char *text, const char *want)
{
    const tl_type *type = test_type(text);
    char *got = format(type);
    assert_string_equal(got, want);
    free(got);
    tl_type_unref(type);
}

static void texts_are_printed_as_the_reference_prints_them(void **state)
{
    (void)state;
    assert_prints("decimal(10,2)  not null", "DECIMAL(10, 2) NOT NULL");
    assert_prints("VARCHAR(2147483647)", "STRING");
    assert_prints("varbinary(2147483647)", "BYTES");
    assert_prints("ROW<a INT, `b c` STRING NOT NULL COMMENT 'it''s'>", "ROW<`a` INT, `b c` STRING NOT NULL COMMENT 'it''s'>");
    assert_prints("MAP<STRING, ARRAY<INT NOT NULL>>", "MAP<STRING, ARRAY<INT NOT NULL>>");
    assert_prints("MULTISET<STRING> NOT NULL", "MULTISET<STRING> NOT NULL");
    assert_prints("ROW<`x``y` INT>", "ROW<`x``y` INT>");
    assert_prints("ROW<a INT DEFAULT f(1, 'x,y'), b INT>", "ROW<`a` INT DEFAULT f(1, 'x,y'), `b` INT>");
    assert_prints("ROW<>", "ROW<>");
    assert_prints("vector< float ,3 > not null", "VECTOR<FLOAT, 3> NOT NULL");
    assert_prints("VECTOR<INT NOT NULL, 2147483647>", "VECTOR<INT NOT NULL, 2147483647>");
}

static void every_alias_is_understood(void **state)
{
    (void)state;
    assert_prints("integer", "INT");
    assert_prints("NUMERIC", "DECIMAL(10, 0)");
    assert_prints("dec(5)", "DECIMAL(5, 0)");
    assert_prints("double precision", "DOUBLE");
    assert_prints("char", "CHAR(1)");
    assert_prints("binary", "BINARY(1)");
    assert_prints("timestamp", "TIMESTAMP(6)");
    assert_prints("time", "TIME(0)");
    assert_prints("time(3) without time zone", "TIME(3)");
    assert_prints("timestamp_ltz(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE");
    assert_prints("TIMESTAMP(9) WITHOUT TIME ZONE", "TIMESTAMP(9)");
    assert_prints("timestamp(0) with local time zone not null", "TIMESTAMP(0) WITH LOCAL TIME ZONE NOT NULL");
    assert_prints("INT NOT NULL ARRAY NULL", "ARRAY<INT NOT NULL>");
    assert_prints("INT MULTISET NOT NULL", "MULTISET<INT> NOT NULL");
    assert_prints("ROW(a INT, b STRING)", "ROW<`a` INT, `b` STRING>");
}

static void wrong_texts_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "type expected"},
        {"INTT", "unknown type"},
        {"INT INT", "unexpected text"},
        {"DECIMAL(39, 0)", "between 1 and 38"},
        {"DECIMAL(5, 6)", "scale"},
        {"CHAR(0)", "between 1"},
        {"VARCHAR(9999999999)", "too large"},
        {"TIMESTAMP(10)", "between 0 and 9"},
        {"ARRAY<INT", "'>' expected"},
        {"MAP<INT>", "',' expected"},
        {"ROW<a>", "type expected"},
        {"ROW<`a INT>", "quote without end"},
        {"INT NOT", "'NULL' expected"},
        {"DECIMAL(1", "')' expected"},
        {"TIMESTAMP(3) WITH TIME ZONE", "'LOCAL' expected"},
        {"ROW<INT", "type expected"},
        {"DECIMAL(x)", "integer expected"},
        {"VECTOR<FLOAT>", "',' expected"},
        {"VECTOR<FLOAT, 0>", "length of a VECTOR"},
        {"VECTOR<FLOAT, 2147483648>", "too large"},
        {"VECTOR<FLOAT, x>", "integer expected"},
        {"VECTOR<STRING, 3>", "not STRING"},
        {"VECTOR<VECTOR<INT, 2>, 3>", "not VECTOR<INT, 2>"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err = {0};
        const tl_type *type = NULL;
        assert_int_not_equal(tl_type_parse(view_of(cases[i].text), &type, &err), TL_OK);
        assert_null(type);
        if (strstr(err.message, cases[i].part) == NULL)
            fail_msg("%s: %s", cases[i].text, err.message);
    }
}

static void nesting_is_limited_in_text_and_json(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *type = NULL;
    tl_buf text = {0};
    for (int i = 0; i < 100000; i++)
        assert_int_equal(tl_buf_append_str(&text, "ARRAY<"), TL_OK);
    assert_fails(tl_type_parse((tl_bytes_view){text.data, text.len}, &type, &err), TL_E_LIMIT, &err, "deeper");
    text.len = 0;
    assert_int_equal(tl_buf_append_str(&text, "INT"), TL_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(tl_buf_append_str(&text, " ARRAY"), TL_OK);
    assert_fails(tl_type_parse((tl_bytes_view){text.data, text.len}, &type, &err), TL_E_LIMIT, &err, "deeper");
    text.len = 0;
    for (int i = 0; i < 200; i++)
        assert_int_equal(tl_buf_append_str(&text, "{\"type\":\"ARRAY\",\"element\":"), TL_OK);
    assert_int_equal(tl_buf_append_str(&text, "\"INT\""), TL_OK);
    for (int i = 0; i < 200; i++)
        assert_int_equal(tl_buf_append_str(&text, "}"), TL_OK);
    tl_arena arena = {0};
    const tl_json *json = NULL;
    assert_ok(tl_json_parse(&arena, (tl_bytes_view){text.data, text.len}, &json, &err), &err);
    assert_fails(tl_type_from_json(json, &type, &err), TL_E_LIMIT, &err, "deeper");
    tl_arena_deinit(&arena);
    tl_buf_deinit(&text);
}

static void json_gives_back_what_was_written(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"type\":\"ROW NOT NULL\",\"fields\":[{\"id\":3,\"name\":\"a\",\"type\":\"INT NOT NULL\","
        "\"description\":\"d\",\"defaultValue\":\"7\"},{\"id\":7,\"name\":\"m\",\"type\":{\"type\":\"MAP\","
        "\"key\":\"STRING\",\"value\":{\"type\":\"ARRAY NOT NULL\",\"element\":{\"type\":\"MULTISET\","
        "\"element\":\"DECIMAL(10, 2)\"}}}},{\"id\":9,\"name\":\"v\",\"type\":{\"type\":\"VECTOR NOT NULL\",\"element\":\"FLOAT\","
        "\"length\":3}}]}";
    tl_error err;
    tl_arena arena = {0};
    const tl_json *json = NULL;
    const tl_type *type = NULL;
    assert_ok(tl_json_parse(&arena, view_of(schema), &json, &err), &err);
    assert_ok(tl_type_from_json(json, &type, &err), &err);
    assert_int_equal(tl_type_field_index_by_id(type, 7), 1);
    assert_int_equal(tl_type_field_index(type, "m"), 1);
    assert_int_equal(tl_type_field_index(type, "x"), -1);
    tl_json_writer w;
    tl_json_writer_init(&w, false);
    tl_type_to_json(type, &w);
    assert_int_equal(w.status, TL_OK);
    assert_int_equal(w.out.len, strlen(schema));
    assert_memory_equal(w.out.data, schema, w.out.len);
    tl_json_writer_deinit(&w);
    tl_type_unref(type);
    tl_arena_deinit(&arena);
}

static void wrong_json_is_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "7",
        "[]",
        "{}",
        "{\"type\":5}",
        "{\"type\":\"ARRAY\"}",
        "{\"type\":\"MAP\",\"key\":\"INT\"}",
        "{\"type\":\"ROW\"}",
        "{\"type\":\"ROW\",\"fields\":[1]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"type\":\"INT\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":1.5,\"name\":\"a\",\"type\":\"INT\"}]}",
        "{\"type\":\"ROW\",\"fields\":[{\"id\":1,\"name\":\"a\"}]}",
        "{\"type\":\"THING\"}",
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err = {0};
        tl_arena arena = {0};
        const tl_json *json = NULL;
        const tl_type *type = NULL;
        assert_ok(tl_json_parse(&arena, view_of(cases[i]), &json, &err), &err);
        if (tl_type_from_json(json, &type, &err) == TL_OK)
            fail_msg("accepted: %s", cases[i]);
        tl_arena_deinit(&arena);
    }
}

static void mutated_texts_never_break_the_parser(void **state)
{
    (void)state;
    uint64_t rng = test_seed(1);
    for (int round = 0; round < 20000; round++) {
        char text[160];
        const char *base = every_type[test_random(&rng) % TL_ARRAY_LEN(every_type)];
        size_t len = strlen(base);
        memcpy(text, base, len);
        for (int k = 0; k < 3; k++)
            text[test_random(&rng) % len] = (char)("<>(),` '9aNROW\0\xff"[test_random(&rng) % 16]);
        const tl_type *type = NULL;
        tl_error err;
        if (tl_type_parse((tl_bytes_view){(uint8_t *)text, test_random(&rng) % (len + 1)}, &type, &err) != TL_OK)
            continue;
        char *once = format(type);
        assert_prints(once, once);
        free(once);
        tl_type_unref(type);
    }
}

static void equality_looks_at_parameters_and_names(void **state)
{
    (void)state;
    const tl_type *a = test_type("ROW<a INT, b ARRAY<STRING>>"), *b = test_type("ROW<a INT NOT NULL, b ARRAY<STRING>>");
    const tl_type *c = test_type("ROW<a INT, c ARRAY<STRING>>"), *d = test_type("DECIMAL(10, 2)"),
                  *e = test_type("DECIMAL(10, 3)");
    assert_true(tl_type_equal(a, b, false));
    assert_false(tl_type_equal(a, b, true));
    assert_false(tl_type_equal(a, c, false));
    assert_false(tl_type_equal(d, e, false));
    const tl_type *projected = NULL, *nullable = NULL;
    tl_error err;
    assert_ok(tl_type_project(b, (const int32_t[]){1, 0}, 2, &projected, &err), &err);
    assert_string_equal(projected->fields[1].name, "a");
    assert_fails(tl_type_project(b, (const int32_t[]){2}, 1, &nullable, &err), TL_E_INVALID, &err, "column 2");
    assert_ok(tl_type_with_nullable(d, false, &nullable, &err), &err);
    assert_prints("DECIMAL(10, 2) NOT NULL", "DECIMAL(10, 2) NOT NULL");
    assert_int_equal(nullable->scale, 2);
    const tl_type *all[] = {a, b, c, d, e, projected, nullable};
    for (size_t i = 0; i < TL_ARRAY_LEN(all); i++)
        tl_type_unref(all[i]);
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    static const char text[] = "ROW<a INT NOT NULL COMMENT 'x', b MAP<STRING, ARRAY<ROW<c DECIMAL(10, 2)>>> NOT NULL>";
    for (uint64_t nth = 1;; nth++) {
        tl_error err;
        const tl_type *type = NULL;
        tl_alloc_fail_at(nth);
        tl_status status = tl_type_parse(view_of(text), &type, &err);
        tl_alloc_fail_at(0);
        if (status == TL_OK) {
            tl_type_unref(type);
            return;
        }
        assert_int_equal(status, TL_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_printed_as_the_reference_prints_them),
        cmocka_unit_test(every_alias_is_understood),
        cmocka_unit_test(wrong_texts_are_refused_with_their_place),
        cmocka_unit_test(nesting_is_limited_in_text_and_json),
        cmocka_unit_test(json_gives_back_what_was_written),
        cmocka_unit_test(wrong_json_is_refused),
        cmocka_unit_test(mutated_texts_never_break_the_parser),
        cmocka_unit_test(equality_looks_at_parameters_and_names),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
