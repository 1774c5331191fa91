#include "base/json.h"
#include "support/test.h"

static tl_bytes_view view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

static void numbers_keep_their_digits(void **state)
{
    (void)state;
    tl_arena arena = {0};
    tl_error err;
    const tl_json *json;
    assert_ok(tl_json_parse(&arena, view(" {\"a\": 1.10, \"b\":-9223372036854775808, \"a\": [1e5, 2]} "), &json, &err), &err);
    int64_t v;
    assert_true(tl_json_int64(tl_json_get(json, "b"), &v));
    assert_true(v == INT64_MIN);
    const tl_json *a = tl_json_get(json, "a"); /* the last of equal names */
    assert_int_equal(a->kind, TL_JSON_ARRAY);
    assert_int_equal(a->n_children, 2);
    assert_memory_equal(a->child->text.data, "1e5", 3);
    assert_false(tl_json_int64(a->child, &v));
    assert_memory_equal(json->child->text.data, "1.10", 4);
    tl_arena_deinit(&arena);
}

static void strings_are_unescaped(void **state)
{
    (void)state;
    tl_arena arena = {0};
    tl_error err;
    const tl_json *json;
    assert_ok(tl_json_parse(&arena, view("\"a\\n\\u00e9\\ud83d\\ude80\\ud800x\\\"\""), &json, &err), &err);
    assert_string_equal(tl_json_strdup(&arena, json), "a\n\xc3\xa9\xf0\x9f\x9a\x80?x\"");
    tl_arena_deinit(&arena);
}

static void bad_text_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{", "[1,]", "{\"a\":}", "{\"a\" 1}", "01", "-", "1.", "\"abc", "\"\\x\"", "nul", "1 2", "\"\\", "\"\\u12\"", "[1 2]", "{a:1}"};
    for (size_t i = 0; i < TL_ARRAY_LEN(bad); i++) {
        tl_arena arena = {0};
        tl_error err;
        const tl_json *json;
        assert_fails(tl_json_parse(&arena, view(bad[i]), &json, &err), TL_E_CORRUPT, &err, "at byte");
        tl_arena_deinit(&arena);
    }
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    char deep[2000];
    memset(deep, '[', sizeof deep);
    tl_arena arena = {0};
    tl_error err;
    const tl_json *json;
    assert_fails(tl_json_parse(&arena, (tl_bytes_view){(uint8_t *)deep, sizeof deep}, &json, &err), TL_E_CORRUPT, &err, "deeper");
    tl_arena_deinit(&arena);
}

static void pretty_print_is_jacksons(void **state)
{
    (void)state;
    tl_json_writer w;
    tl_json_writer_init(&w, true);
    tl_json_begin_object(&w);
    tl_json_key(&w, "fields");
    tl_json_begin_array(&w);
    for (int i = 0; i < 2; i++) {
        tl_json_begin_object(&w);
        tl_json_key(&w, "id");
        tl_json_write_int(&w, i);
        tl_json_end_object(&w);
    }
    tl_json_end_array(&w);
    tl_json_key(&w, "keys");
    tl_json_begin_array(&w);
    tl_json_end_array(&w);
    tl_json_key(&w, "options");
    tl_json_begin_object(&w);
    tl_json_end_object(&w);
    tl_json_key(&w, "list");
    tl_json_begin_array(&w);
    tl_json_write_str(&w, "a\"\x01");
    tl_json_write_str(&w, "b");
    tl_json_end_array(&w);
    tl_json_end_object(&w);
    assert_int_equal(w.status, TL_OK);
    static const char want[] = "{\n  \"fields\" : [ {\n    \"id\" : 0\n  }, {\n    \"id\" : 1\n  } ],\n  \"keys\" : [ ],\n  \"options\" : { },\n"
                               "  \"list\" : [ \"a\\\"\\u0001\", \"b\" ]\n}";
    assert_int_equal(w.out.len, strlen(want));
    assert_memory_equal(w.out.data, want, strlen(want));
    tl_json_writer_deinit(&w);
}

static void any_bytes_are_parsed_or_refused(void **state)
{
    (void)state;
    uint64_t rnd = test_seed(7);
    static const char alphabet[] = "{}[]\",:\\u0123e-. tfn";
    for (int i = 0; i < 20000; i++) {
        char text[40];
        size_t len = test_random(&rnd) % sizeof text;
        for (size_t k = 0; k < len; k++)
            text[k] = alphabet[test_random(&rnd) % (sizeof alphabet - 1)];
        char *exact = tl_strndup(text, len); /* so that ASan sees reads past the end */
        tl_arena arena = {0};
        const tl_json *json;
        (void)tl_json_parse(&arena, (tl_bytes_view){(uint8_t *)exact, len}, &json, NULL);
        tl_arena_deinit(&arena);
        tl_free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_their_digits), cmocka_unit_test(strings_are_unescaped),
        cmocka_unit_test(bad_text_is_refused_with_its_place), cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(pretty_print_is_jacksons), cmocka_unit_test(any_bytes_are_parsed_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
