/* Columns of another schema: fields by id, casts below ROW, ARRAY and MAP, and what a cast must not look at. */
#include "types/evolve.h"
#include "types/text.h"
#include "values.h"

/* A ROW of fields with ids of their own. */
typedef struct row_field {
    const char *name;
    int32_t id;
    const char *type;
} row_field;

static const tl_type *row_of(const row_field *fields, int32_t n)
{
    tl_field list[8] = {0};
    const tl_type *row = NULL;
    tl_error err;
    for (int32_t i = 0; i < n; i++)
        list[i] = (tl_field){.name = (char *)fields[i].name, .id = fields[i].id, .type = test_type(fields[i].type)};
    assert_ok(tl_type_create_row(true, list, n, &row, &err), &err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(list[i].type);
    return row;
}

static const tl_type *array_of(const tl_type *element)
{
    tl_error err;
    const tl_type *array = NULL;
    assert_ok(tl_type_create_array(true, element, &array, &err), &err);
    return array;
}

static const tl_type *map_of(const char *key, const tl_type *value)
{
    tl_error err;
    const tl_type *map = NULL, *key_type = test_type(key);
    assert_ok(tl_type_create_map(true, key_type, value, &map, &err), &err);
    tl_type_unref(key_type);
    return map;
}

static void assert_lines_of(const tl_column *col, const char *want)
{
    tl_buf text = {0};
    for (int64_t i = 0; i < col->length; i++) {
        assert_int_equal(tl_text_append_json(&text, col, i), TL_OK);
        assert_int_equal(tl_buf_append_byte(&text, '\n'), TL_OK);
    }
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    assert_string_equal((char *)text.data, want);
    tl_buf_deinit(&text);
}

/* `values`: a JSON array of what is read of `from`. */
static void assert_evolves(const tl_type *from, const tl_type *to, const char *read, const char *values, const char *want)
{
    tl_error err;
    tl_evolution *e = NULL;
    tl_column *out = NULL;
    tl_buf name = {0};
    assert_ok(tl_evolution_create(from, to, &e, &err), &err);
    assert_int_equal(tl_type_format(tl_evolution_read_type(e), &name), TL_OK);
    assert_int_equal(tl_buf_append_byte(&name, 0), TL_OK);
    assert_string_equal((char *)name.data, read);
    tl_column *col = column_of(tl_evolution_read_type(e), values);
    assert_ok(tl_evolution_apply(e, col, &out, &err), &err);
    assert_ok(tl_column_check(out, &err), &err);
    assert_ptr_equal(out->type, to);
    assert_lines_of(out, want);
    tl_column_unref(out);
    tl_column_unref(col);
    tl_evolution_free(e);
    tl_buf_deinit(&name);
}

static void fields_of_rows_are_matched_by_id(void **state)
{
    (void)state;
    const row_field old[] = {{"x", 1, "INT"}, {"gone", 2, "STRING"}, {"y", 3, "STRING"}}, now[] = {{"gone", 9, "STRING"}, {"z", 3, "STRING"}, {"x", 1, "BIGINT"}};
    const tl_type *from = row_of(old, 3), *to = row_of(now, 3);
    assert_evolves(from, to, "ROW<`x` INT, `y` STRING>", "[{\"x\":1,\"y\":\"a\"},null,{\"x\":null,\"y\":\"b\"}]",
                   "{\"gone\":null,\"z\":\"a\",\"x\":1}\nnull\n{\"gone\":null,\"z\":\"b\",\"x\":null}\n");
    const tl_type *a = array_of(from), *b = array_of(to);
    assert_evolves(a, b, "ARRAY<ROW<`x` INT, `y` STRING>>", "[[{\"x\":1,\"y\":\"a\"},null],null,[]]",
                   "[{\"gone\":null,\"z\":\"a\",\"x\":1},null]\nnull\n[]\n");
    const tl_type *m = map_of("STRING", a), *n = map_of("STRING", b);
    assert_evolves(m, n, "MAP<STRING, ARRAY<ROW<`x` INT, `y` STRING>>>", "[[[\"k\",[{\"x\":1,\"y\":\"a\"}]],[\"l\",null]]]",
                   "[[\"k\",[{\"gone\":null,\"z\":\"a\",\"x\":1}]],[\"l\",null]]\n");
    const tl_type *all[] = {from, to, a, b, m, n};
    for (size_t i = 0; i < TL_ARRAY_LEN(all); i++)
        tl_type_unref(all[i]);
}

static void a_row_without_a_common_field_is_absent(void **state)
{
    (void)state;
    const row_field old[] = {{"x", 1, "INT"}}, now[] = {{"x", 2, "INT"}};
    const tl_type *from = row_of(old, 1), *to = row_of(now, 1), *a = array_of(from), *b = array_of(to);
    tl_error err;
    tl_evolution *e = NULL;
    assert_ok(tl_evolution_create(from, to, &e, &err), &err);
    assert_null(e);
    assert_ok(tl_evolution_create(a, b, &e, &err), &err);
    assert_null(e);
    const tl_type *all[] = {from, to, a, b};
    for (size_t i = 0; i < TL_ARRAY_LEN(all); i++)
        tl_type_unref(all[i]);
}

static void what_has_no_cast_is_named(void **state)
{
    (void)state;
    const tl_type *value = test_type("INT"), *m = map_of("STRING", value), *n = map_of("INT", value), *binary = test_type("BYTES");
    tl_error err;
    tl_evolution *e = NULL;
    assert_fails(tl_evolution_create(m, n, &e, &err), TL_E_UNSUPPORTED, &err, "keys");
    assert_fails(tl_evolution_create(value, binary, &e, &err), TL_E_UNSUPPORTED, &err, "cannot cast from type INT to type BYTES");
    const tl_type *all[] = {value, m, n, binary};
    for (size_t i = 0; i < TL_ARRAY_LEN(all); i++)
        tl_type_unref(all[i]);
}

/* What lies below a NULL, or outside of a slice, is no value: it must not fail the cast. */
static void only_values_are_cast(void **state)
{
    (void)state;
    tl_error err;
    const row_field old[] = {{"x", 1, "STRING"}}, now[] = {{"x", 1, "INT"}};
    const tl_type *from = row_of(old, 1), *to = row_of(now, 1);
    tl_evolution *e = NULL;
    tl_column *col = column_of(from, "[{\"x\":\"1\"},{\"x\":\"bad\"},{\"x\":\"3\"}]"), *out = NULL;
    assert_ok(tl_evolution_create(from, to, &e, &err), &err);
    assert_fails(tl_evolution_apply(e, col, &out, &err), TL_E_INVALID, &err, "'bad' cannot be read as INT");
    assert_null(col->validity);
    col->validity = tl_calloc(1, 1); /* the parent becomes NULL, the child stays */
    col->validity[0] = 5;
    col->null_count = 1;
    assert_ok(tl_evolution_apply(e, col, &out, &err), &err);
    assert_ok(tl_column_check(out, &err), &err);
    assert_lines_of(out, "{\"x\":1}\nnull\n{\"x\":3}\n");
    tl_column_unref(out);
    tl_column_unref(col);
    tl_evolution_free(e);
    const tl_type *text = test_type("STRING"), *number = test_type("SMALLINT"), *a = array_of(text), *b = array_of(number);
    tl_column *list = column_of(a, "[[\"bad\"],[],[],[],[],[],[],[],[\"7\",null],null,[\"worse\"]]"), *part = NULL;
    assert_ok(tl_evolution_create(a, b, &e, &err), &err);
    assert_ok(tl_column_slice(list, 8, 2, &part, &err), &err);
    assert_ok(tl_evolution_apply(e, part, &out, &err), &err);
    assert_ok(tl_column_check(out, &err), &err);
    assert_lines_of(out, "[7,null]\nnull\n");
    tl_column_unref(out);
    tl_column_unref(part);
    tl_column_unref(list);
    tl_evolution_free(e);
    const tl_type *all[] = {from, to, text, number, a, b};
    for (size_t i = 0; i < TL_ARRAY_LEN(all); i++)
        tl_type_unref(all[i]);
}

/* A filter goes down to the old values if it says the same there. */
static void filters_go_down_where_they_mean_the_same(void **state)
{
    (void)state;
    static const struct {
        const char *old, *now, *filter;
        bool fits;
    } cases[] = {
        {"INT", "BIGINT", "[\"=\",\"v\",5]", true},
        {"INT", "BIGINT", "[\"=\",\"v\",5000000000]", false},
        {"TINYINT", "INT", "[\"in\",\"v\",[1,-128,127]]", true},
        {"TINYINT", "INT", "[\"or\",[\"isNull\",\"v\"],[\"<\",\"v\",128]]", false},
        {"TINYINT", "INT", "[\"not\",[\"between\",\"v\",-129,3]]", false},
        {"BIGINT", "INT", "[\"=\",\"v\",5]", false},
        {"INT", "STRING", "[\"=\",\"v\",\"5\"]", false},
        {"FLOAT", "DOUBLE", "[\"=\",\"v\",0.5]", false},
        {"VARCHAR(3)", "STRING", "[\"like\",\"v\",\"abcdef%\"]", true},
        {"STRING", "VARCHAR(3)", "[\"=\",\"v\",\"abc\"]", false},
        {"DECIMAL(8, 2)", "DECIMAL(12, 2)", "[\">\",\"v\",\"1.50\"]", true},
        {"DECIMAL(8, 2)", "DECIMAL(30, 2)", "[\">\",\"v\",\"1.50\"]", false},
        {"TIMESTAMP(4)", "TIMESTAMP(6)", "[\">\",\"v\",\"2024-01-01T00:00:00.000001000\"]", true},
        {"TIMESTAMP(3)", "TIMESTAMP(6)", "[\">\",\"v\",\"2024-01-01T00:00:00.000000000\"]", false},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err;
        char text[64];
        snprintf(text, sizeof text, "ROW<v %s>", cases[i].now);
        const tl_type *row = test_type(text), *old = test_type(cases[i].old);
        tl_arena arena = {0};
        const tl_json *json = NULL;
        tl_predicate *pred = NULL;
        assert_ok(tl_json_parse(&arena, view_of(cases[i].filter), &json, &err), &err);
        assert_ok(tl_predicate_from_json(json, row, &pred, &err), &err);
        assert_int_equal(tl_devolve_fits(pred, 0, old), cases[i].fits);
        const tl_type *types[] = {old};
        if (cases[i].fits)
            assert_ok(tl_devolve_literals(pred, types, &err), &err);
        const tl_predicate *leaf = pred;
        while (leaf->n_children > 0)
            leaf = leaf->children[leaf->n_children - 1];
        assert_true(leaf->literals == NULL || !cases[i].fits || leaf->literals->type == old);
        tl_predicate_free(pred);
        tl_arena_deinit(&arena);
        tl_type_unref(row);
        tl_type_unref(old);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_rows_are_matched_by_id),
        cmocka_unit_test(a_row_without_a_common_field_is_absent),
        cmocka_unit_test(what_has_no_cast_is_named),
        cmocka_unit_test(only_values_are_cast),
        cmocka_unit_test(filters_go_down_where_they_mean_the_same),
    };
    return cmocka_run_group_tests_name("evolve", tests, NULL, NULL);
}
