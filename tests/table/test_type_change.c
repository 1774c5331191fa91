/* Which types ALTER TABLE lets a column change to: the reference's answers in tests/types/casts.jsonl. */
#include "support/test.h"
#include "table/table_private.h"

static const tl_type *type_of(const tl_json *pair, const char *key)
{
    tl_error err;
    const tl_type *type = NULL;
    assert_ok(tl_type_parse(tl_json_get(pair, key)->text, &type, &err), &err);
    return type;
}

static int wrong(const tl_json *pair, const char *key, bool allow_explicit)
{
    const tl_type *from = type_of(pair, "from"), *to = type_of(pair, "to");
    bool want = tl_json_get(pair, key)->kind == TL_JSON_TRUE, got = tl_table__can_cast(from, to, allow_explicit);
    if (got != want)
        print_error("%.*s to %.*s, %s: %d, not %d\n", (int)tl_json_get(pair, "from")->text.len, tl_json_get(pair, "from")->text.data,
                    (int)tl_json_get(pair, "to")->text.len, tl_json_get(pair, "to")->text.data, key, got, want);
    tl_type_unref(from);
    tl_type_unref(to);
    return got != want;
}

static void the_same_changes_are_allowed(void **state)
{
    (void)state;
    FILE *file = fopen(TL_SOURCE_DIR "/tests/types/casts.jsonl", "r");
    assert_non_null(file);
    int pairs = 0, n_wrong = 0;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) > 0; pairs++) {
        tl_error err;
        tl_arena arena = {0};
        const tl_json *json = NULL;
        assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)line, (size_t)n}, &json, &err), &err);
        n_wrong += wrong(json, "implicit", false) + wrong(json, "explicit", true);
        tl_arena_deinit(&arena);
    }
    free(line);
    fclose(file);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(pairs, 1540);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_changes_are_allowed),
    };
    return cmocka_run_group_tests_name("type_change", tests, NULL, NULL);
}
