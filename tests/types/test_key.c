/* Normalised keys order rows as values do, and sort stably. */
#include "support/random_column.h"
#include "types/key.h"

static const char *const key_shapes[] = {
    "ROW<a INT NOT NULL>",
    "ROW<a BIGINT NOT NULL>",
    "ROW<a BOOLEAN NOT NULL, b TINYINT NOT NULL, c SMALLINT NOT NULL, d INT NOT NULL>",
    "ROW<a DATE NOT NULL, b INT NOT NULL>",
    "ROW<a FLOAT NOT NULL>",
    "ROW<a DOUBLE NOT NULL>",
    "ROW<a INT>",
    "ROW<a BIGINT NOT NULL, b INT NOT NULL>",
    "ROW<a INT, b DOUBLE, c BOOLEAN>",
    "ROW<a STRING NOT NULL>",
    "ROW<a STRING>",
    "ROW<a STRING NOT NULL, b STRING NOT NULL>",
    "ROW<a BYTES, b BYTES, c INT NOT NULL>",
    "ROW<a BYTES NOT NULL, b BYTES NOT NULL>",
    "ROW<a DECIMAL(10, 2) NOT NULL>",
    "ROW<a DECIMAL(30, 2) NOT NULL>",
    "ROW<a TIMESTAMP(3) NOT NULL>",
    "ROW<a TIMESTAMP(6) NOT NULL, b CHAR(3) NOT NULL>",
    "ROW<a TIMESTAMP(9) NOT NULL, b TIME(3) NOT NULL>",
    "ROW<a ARRAY<STRING>, b INT>",
    "ROW<a ROW<x INT, y BYTES>, b ARRAY<ARRAY<BIGINT>>>",
};

typedef struct table {
    const tl_type *type;
    tl_column **cols;
    int64_t n_rows;
} table;

static table random_table(const char *shape, int64_t n_rows, uint64_t *rng)
{
    table t = {.type = test_type(shape), .n_rows = n_rows};
    t.cols = calloc((size_t)t.type->n_fields, sizeof *t.cols);
    for (int32_t c = 0; c < t.type->n_fields; c++)
        t.cols[c] = test_random_column(t.type->fields[c].type, n_rows, 20, rng);
    return t;
}

static void drop_table(table *t)
{
    for (int32_t c = 0; c < t->type->n_fields; c++)
        tl_column_unref(t->cols[c]);
    free(t->cols);
    tl_type_unref(t->type);
}

static tl_keys *keys_of(const table *t)
{
    tl_error err;
    tl_keys *keys = NULL;
    assert_ok(tl_keys_create((const tl_column *const *)t->cols, t->type->n_fields, t->n_rows, &keys, &err), &err);
    return keys;
}

static int compare_rows(const table *t, int64_t i, int64_t j)
{
    for (int32_t c = 0; c < t->type->n_fields; c++) {
        int order = tl_column_compare(t->cols[c], i, t->cols[c], j, false, true);
        if (order != 0)
            return order;
    }
    return 0;
}

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static void keys_compare_as_their_values_do(void **state)
{
    (void)state;
    uint64_t rng = test_seed(1);
    for (size_t s = 0; s < TL_ARRAY_LEN(key_shapes); s++) {
        table t = random_table(key_shapes[s], 200, &rng);
        tl_keys *keys = keys_of(&t);
        for (int64_t i = 0; i < t.n_rows; i++)
            for (int64_t j = 0; j < t.n_rows; j++)
                if (sign(tl_keys_compare(keys, i, keys, j)) != sign(compare_rows(&t, i, j)))
                    fail_msg("%s: rows %lld and %lld", key_shapes[s], (long long)i, (long long)j);
        tl_keys_free(keys);
        drop_table(&t);
    }
}

static void check_order(const tl_keys *keys, const char *what)
{
    tl_error err;
    uint32_t *order = malloc(((size_t)keys->count + 1) * sizeof *order),
             *again = malloc(((size_t)keys->count + 1) * sizeof *again);
    uint32_t *starts = malloc(((size_t)keys->count + 1) * sizeof *starts), n_groups = 0, g = 0;
    assert_ok(tl_keys_sort(keys, order, &err), &err);
    assert_ok(tl_keys_sort_groups(keys, again, starts, &n_groups, &err), &err);
    assert_memory_equal(order, again, (size_t)keys->count * sizeof *order);
    assert_int_equal(starts[n_groups], keys->count);
    for (int64_t i = 0; i < keys->count; i++)
        if (i == 0 || tl_keys_compare(keys, order[i - 1], keys, order[i]) != 0) {
            assert_true(g < n_groups);
            assert_int_equal(starts[g++], i);
        }
    assert_int_equal(g, n_groups);
    for (int64_t i = 1; i < keys->count; i++) {
        int c = tl_keys_compare(keys, order[i - 1], keys, order[i]);
        if (c > 0 || (c == 0 && order[i - 1] >= order[i]))
            fail_msg("%s: %lld rows, place %lld", what, (long long)keys->count, (long long)i);
    }
    free(order);
    free(again);
    free(starts);
}

static void sorting_is_stable_for_every_shape_and_size(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 25, 26, 300, 5000};
    uint64_t rng = test_seed(2);
    for (size_t s = 0; s < TL_ARRAY_LEN(key_shapes); s++)
        for (size_t k = 0; k < TL_ARRAY_LEN(sizes); k++) {
            table t = random_table(key_shapes[s], sizes[k], &rng);
            tl_keys *keys = keys_of(&t);
            check_order(keys, key_shapes[s]);
            tl_keys_free(keys);
            drop_table(&t);
        }
}

static void sorting_copes_with_any_spread_of_numbers(void **state)
{
    (void)state;
    uint64_t rng = test_seed(3);
    enum { ROWS = 40000 };
    uint64_t *fixed = malloc(ROWS * sizeof *fixed);
    for (int bits = 1; bits <= 64; bits += 3)
        for (int shift = 0; shift + bits <= 64; shift += 13) {
            for (int i = 0; i < ROWS; i++)
                fixed[i] = (test_random(&rng) >> (64 - bits) << shift) + (i % 5 == 0 ? 77 : 0);
            tl_keys keys = {.count = ROWS, .is_fixed = true, .fixed = fixed};
            check_order(&keys, "spread");
        }
    for (int i = 0; i < ROWS; i++)
        fixed[i] = (uint64_t)(ROWS - i);
    tl_keys falling = {.count = ROWS, .is_fixed = true, .fixed = fixed};
    check_order(&falling, "falling");
    for (int i = 0; i < ROWS; i++)
        fixed[i] = (uint64_t)(ROWS - i) / 2;
    check_order(&falling, "falling with equal neighbours");
    free(fixed);
}

/* Keys that share all but their ends, and a ladder in which each key continues the one before it. */
static void sorting_copes_with_long_common_prefixes(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(4);
    for (int form = 0; form < 3; form++) {
        const tl_type *type = test_type("BYTES NOT NULL");
        tl_builder *builder = NULL;
        tl_column *col = NULL;
        assert_ok(tl_builder_create(type, &builder, &err), &err);
        uint8_t text[4096];
        memset(text, form == 2 ? 0 : 'x', sizeof text);
        for (int i = 0; i < 2000; i++) {
            size_t len = form == 0 ? 900 : test_random(&rng) % 300 * 8 + test_random(&rng) % 3;
            if (form == 0)
                tl_write_be32(text + 890, (uint32_t)(test_random(&rng) % 500));
            assert_int_equal(tl_builder_bytes(builder, text, len), TL_OK);
        }
        assert_ok(tl_builder_finish(builder, &col, &err), &err);
        tl_keys *keys = NULL;
        assert_ok(tl_keys_create((const tl_column *const *)&col, 1, col->length, &keys, &err), &err);
        check_order(keys, "common prefix");
        tl_keys_free(keys);
        tl_column_unref(col);
        tl_builder_free(builder);
        tl_type_unref(type);
    }
}

static void joined_keys_are_those_of_their_parts(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(5);
    for (size_t s = 0; s < TL_ARRAY_LEN(key_shapes); s++) {
        table a = random_table(key_shapes[s], 50, &rng), b = random_table(key_shapes[s], 70, &rng);
        tl_keys *parts[2] = {keys_of(&a), keys_of(&b)}, *all = NULL;
        assert_ok(tl_keys_concat((const tl_keys *const *)parts, 2, &all, &err), &err);
        assert_int_equal(all->count, 120);
        for (int64_t i = 0; i < 120; i++)
            assert_int_equal(tl_keys_compare(all, i, i < 50 ? parts[0] : parts[1], i < 50 ? i : i - 50), 0);
        tl_keys_free(parts[0]);
        tl_keys_free(parts[1]);
        tl_keys_free(all);
        drop_table(&a);
        drop_table(&b);
    }
}

static void only_narrow_not_null_keys_are_fixed(void **state)
{
    (void)state;
    for (size_t s = 0; s < TL_ARRAY_LEN(key_shapes); s++) {
        const tl_type *row = test_type(key_shapes[s]);
        const tl_type *types[8];
        for (int32_t c = 0; c < row->n_fields; c++)
            types[c] = row->fields[c].type;
        bool wanted = s <= 5 || s == 14 || s == 16;
        if (tl_keys_are_fixed(types, row->n_fields) != wanted)
            fail_msg("%s", key_shapes[s]);
        tl_type_unref(row);
    }
}

static void keys_of_a_map_are_refused(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = 6;
    table t = random_table("ROW<a MAP<INT, INT>>", 3, &rng);
    tl_keys *keys = NULL;
    assert_fails(tl_keys_create((const tl_column *const *)t.cols, 1, 3, &keys, &err), TL_E_UNSUPPORTED, &err, "no order");
    drop_table(&t);
}

static void equality_agrees_with_order(void **state)
{
    (void)state;
    static const char *const types[] = {
        "INT", "DOUBLE", "FLOAT", "STRING", "DECIMAL(30, 3)", "TIMESTAMP(9)", "ARRAY<INT>", "ROW<a INT, b DOUBLE>"};
    uint64_t rng = test_seed(7);
    for (size_t s = 0; s < TL_ARRAY_LEN(types); s++) {
        const tl_type *type = test_type(types[s]);
        tl_column *col = test_random_column(type, 120, 20, &rng);
        for (int64_t i = 0; i < 120; i++)
            for (int64_t j = 0; j < 120; j++)
                if (tl_column_equal(col, i, col, j) != (tl_column_compare(col, i, col, j, false, true) == 0))
                    fail_msg("%s: %lld %lld", types[s], (long long)i, (long long)j);
        tl_column_unref(col);
        tl_type_unref(type);
    }
}

static void maps_are_equal_in_any_order_of_entries(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *type = test_type("MAP<INT, STRING>");
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    static const int keys[4][2] = {{1, 2}, {2, 1}, {1, 3}, {1, 1}};
    for (int m = 0; m < 4; m++) {
        for (int k = 0; k < 2; k++) {
            assert_int_equal(tl_builder_int(tl_builder_child(builder, 0), keys[m][k]), TL_OK);
            assert_int_equal(tl_builder_bytes(tl_builder_child(builder, 1), keys[m][k] == 1 ? "x" : "y", 1), TL_OK);
        }
        assert_int_equal(tl_builder_end(builder), TL_OK);
    }
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    assert_true(tl_column_equal(col, 0, col, 1));
    assert_false(tl_column_equal(col, 0, col, 2));
    assert_false(tl_column_equal(col, 1, col, 3));
    tl_column_unref(col);
    tl_builder_free(builder);
    tl_type_unref(type);
}

static void nulls_stay_in_place_when_the_order_is_turned(void **state)
{
    (void)state;
    uint64_t rng = 8;
    const tl_type *type = test_type("INT");
    tl_column *col = test_random_column(type, 60, 30, &rng);
    for (int64_t i = 0; i < 60; i++)
        for (int64_t j = 0; j < 60; j++) {
            bool any_null = tl_col_is_null(col, i) || tl_col_is_null(col, j);
            int up = tl_column_compare(col, i, col, j, false, true), down = tl_column_compare(col, i, col, j, true, true);
            assert_int_equal(sign(down), any_null ? sign(up) : -sign(up));
            if (any_null)
                assert_int_equal(sign(tl_column_compare(col, i, col, j, false, false)), -sign(up));
        }
    tl_column_unref(col);
    tl_type_unref(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_compare_as_their_values_do),
        cmocka_unit_test(sorting_is_stable_for_every_shape_and_size),
        cmocka_unit_test(sorting_copes_with_any_spread_of_numbers),
        cmocka_unit_test(sorting_copes_with_long_common_prefixes),
        cmocka_unit_test(joined_keys_are_those_of_their_parts),
        cmocka_unit_test(only_narrow_not_null_keys_are_fixed),
        cmocka_unit_test(keys_of_a_map_are_refused),
        cmocka_unit_test(equality_agrees_with_order),
        cmocka_unit_test(maps_are_equal_in_any_order_of_entries),
        cmocka_unit_test(nulls_stay_in_place_when_the_order_is_turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
