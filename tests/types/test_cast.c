/*
 * Casts of stored values against the reference's answers: casts.jsonl has one line for each pair of types (casts_generate.py).
 *
 * Two things differ from the reference and are told apart here: a decimal that does not fit is NULL, where the reference fails
 * with a NullPointerException as soon as somebody looks at the value; and its timestamps and times of day can hold what their
 * type cannot (nanoseconds in a TIMESTAMP(3), 25 hours), of which ours keep what their layout holds.
 */
#include "types/cast.h"
#include "types/text.h"
#include "values.h"

typedef struct tally {
    int64_t pairs;
    int64_t values;
    int64_t failures;
    int64_t refused;
    int64_t wrong;
    const char *from, *to; /* the pair, for messages */
} tally;

/* All of what is wrong is told before the test fails. */
#define WRONG(T, ...) (print_error("%s to %s: ", (T)->from, (T)->to), print_error(__VA_ARGS__), (T)->wrong++)

static char *string_of(const tl_json *json)
{
    return strndup((const char *)json->text.data, json->text.len);
}

static tl_column *value_column(const tl_json *value, const tl_type *type)
{
    tl_error err;
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    assert_ok(tl_text_read_json(value, type, builder, &err), &err);
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    return col;
}

/* The reference prints bytes that are no UTF-8 as U+FFFD, times beyond a day in ways of its own, and years beyond its calendar as
 * -1701532. */
static bool comparable(const tl_json *want, const tl_type *to)
{
    if (want->kind != TL_JSON_STRING)
        return true;
    if (memmem(want->text.data, want->text.len, "\xEF\xBF\xBD", 3) != NULL)
        return false;
    int32_t millis;
    if (want->text.len > 8 && memcmp(want->text.data, "-1701532", 8) == 0)
        return false;
    return to->kind != TL_TIME || (want->text.len == 12 && want->text.data[0] <= '2' && tl_parse_time(want->text, &millis));
}

static void check_value(const tl_json *in, const tl_json *want, const tl_type *from, const tl_type *to, tally *t)
{
    tl_error err = {0};
    tl_column *old = value_column(in, from), *got = NULL;
    const tl_json *fails = want->kind == TL_JSON_OBJECT ? tl_json_get(want, "fails") : NULL;
    tl_status status = tl_cast_stored(old, to, &got, &err);
    t->values++;
    if (fails != NULL && memmem(fails->text.data, fails->text.len, "NullPointer", 11) == NULL) {
        if (status == TL_OK)
            WRONG(t, "%.*s must not be read: %.*s\n", (int)in->raw.len, in->raw.data, (int)fails->text.len, fails->text.data);
        t->failures++;
    } else if (fails != NULL) {
        if (status != TL_OK || !tl_col_is_null(got, 0))
            WRONG(t, "%.*s is no NULL\n", (int)in->raw.len, in->raw.data);
    } else if (status != TL_OK) {
        WRONG(t, "%.*s: %s\n", (int)in->raw.len, in->raw.data, err.message);
    } else {
        assert_ok(tl_column_check(got, &err), &err);
        tl_buf a = {0}, b = {0};
        tl_column *expected = comparable(want, to) ? value_column(want, to) : NULL;
        if (expected != NULL) {
            assert_int_equal(tl_text_append_json(&a, got, 0), TL_OK);
            assert_int_equal(tl_text_append_json(&b, expected, 0), TL_OK);
            if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
                WRONG(t, "%.*s gives %.*s, not %.*s\n", (int)in->raw.len, in->raw.data, (int)a.len, a.data, (int)b.len, b.data);
        }
        tl_column_unref(expected);
        tl_buf_deinit(&a);
        tl_buf_deinit(&b);
    }
    tl_column_unref(old);
    tl_column_unref(got);
}

static void check_pair(const tl_json *pair, tally *t)
{
    char *from_text = string_of(tl_json_get(pair, "from")), *to_text = string_of(tl_json_get(pair, "to"));
    const tl_type *from = test_type(from_text), *to = test_type(to_text);
    const tl_json *in = tl_json_get(pair, "in"), *out = tl_json_get(pair, "out");
    t->from = from_text;
    t->to = to_text;
    if (in == NULL) {
        t->refused += !tl_cast_exists(from, to); /* ALTER TABLE refuses more than what has no cast */
    } else {
        if (!tl_cast_exists(from, to))
            WRONG(t, "there must be a cast\n");
        for (const tl_json *i = in->child, *o = out->child; i != NULL; i = i->next, o = o->next)
            check_value(i, o, from, to, t);
    }
    t->pairs++;
    free(from_text);
    free(to_text);
    tl_type_unref(from);
    tl_type_unref(to);
}

static void every_pair_is_read_as_the_reference_reads_it(void **state)
{
    (void)state;
    FILE *file = fopen(TL_SOURCE_DIR "/tests/types/casts.jsonl", "r");
    assert_non_null(file);
    tally t = {0};
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) > 0;) {
        tl_error err;
        tl_arena arena = {0};
        const tl_json *json = NULL;
        assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)line, (size_t)n}, &json, &err), &err);
        check_pair(json, &t);
        tl_arena_deinit(&arena);
    }
    free(line);
    fclose(file);
    assert_int_equal(t.wrong, 0);
    assert_true(t.pairs == 1540 && t.values > 8000 && t.failures > 1000 && t.refused > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_read_as_the_reference_reads_it),
    };
    return cmocka_run_group_tests_name("cast", tests, NULL, NULL);
}
