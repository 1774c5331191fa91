/* A look-up with a filter on values of maps: files that fail are not loaded, changes that fail are followed all the same. */
#include "lookup/lookup.h"
#include "table/table_support.h"

static const int32_t key = 0, wanted = 1;

/* n['x'] = 7 */
static tl_map_filter *sevens(const tl_table *table)
{
    tl_error err;
    tl_map_filter *filter = NULL;
    tl_map_value value = {.column = 2, .key = "x"};
    TL_CLEANUP(tl_type_unrefp) const tl_type *values = NULL;
    const tl_field field = {.name = "x", .type = table->row_type->fields[2].type->fields[1].type};
    assert_ok(tl_type_create_row(false, &field, 1, &values, &err), &err);
    assert_ok(tl_map_filter_create(&value, 1, predicate_of(values, "[\"=\",\"x\",7]"), &filter, &err), &err);
    return filter;
}

static tl_lookup *open_look_up(tl_table *table, tl_map_filter *filter)
{
    tl_error err;
    tl_lookup *lookup = NULL;
    const tl_lookup_spec spec = {.table = table, .keys = &key, .n_keys = 1, .columns = &wanted, .n_columns = 1, .map_filter = filter};
    assert_ok(tl_lookup_open(&spec, &lookup, &err), &err);
    return lookup;
}

/* The keys 1 to 4 whose value is 7, as digits of a number: those that pass the filter, which the caller has to apply. */
static int found(tl_lookup *lookup)
{
    tl_error err;
    int keys = 0;
    tl_lookup_matches matches = {0};
    tl_column *value = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL, *number = NULL;
    assert_ok(tl_type_create(TL_INT, false, 0, 0, &number, &err), &err);
    const tl_field field = {.name = "k", .type = number};
    assert_ok(tl_type_create_row(false, &field, 1, &type, &err), &err);
    TL_CLEANUP(tl_batch_freep) tl_batch *probe = batch_of(type, "{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n{\"k\":4}");
    assert_ok(tl_lookup_refresh(lookup, NULL, &err), &err);
    assert_ok(tl_lookup_probe(lookup, (const tl_column *const *)probe->cols, probe->n_rows, &matches, &err), &err);
    assert_ok(tl_lookup_gather(lookup, matches.right, matches.n, &value, &err), &err);
    for (int64_t i = 0; i < matches.n; i++) {
        if (!tl_col_is_null(value, i) && tl_col_i32(value, i) == 7)
            keys = keys * 10 + (int)matches.left[i] + 1;
    }
    tl_column_unref(value);
    tl_lookup_matches_deinit(&matches);
    return keys;
}

static void changes_that_fail_take_their_rows_away(void **state)
{
    (void)state;
    static const struct step {
        const char *rows;
        int want;
    } steps[] = {
        {"{'k':1,'v':1,'n':[['x',1]]}\n{'k':2}\n{'k':3,'n':[['y',7]]}", 0}, /* of this file nothing is loaded */
        {"{'k':1,'v':7,'n':[['x',7]]}", 1},
        {"{'k':2,'v':7,'n':[['x',7]]}\n{'k':4,'v':7,'n':[['x',7]]}", 124},
        {"{'k':1,'v':2,'n':[['x',2]]}", 24},
        {"{'k':2}\n{'k':3,'n':[['x',null]]}", 4},
        {"{'k':4,'n':[]}", 0},
    };
    lake l = memory_lake();
    create(&l, "t", "k INT, v INT, n MAP<STRING, INT>", "k", NULL, "bucket=1,write-only=true,file-index.bitmap.columns=n[x]");
    tl_table *table = open_table(&l, "t");
    put(table, steps[0].rows);
    tl_map_filter *filter = sevens(table);
    tl_lookup *plain = open_look_up(table, NULL), *filtered = open_look_up(table, filter);
    assert_int_equal(tl_lookup_rows(plain), 3);
    assert_int_equal(tl_lookup_rows(filtered), 0);
    for (size_t i = 0; i < TL_ARRAY_LEN(steps); i++) {
        if (i > 0)
            put(table, steps[i].rows);
        tl_lookup *fresh = open_look_up(table, filter);
        assert_int_equal(found(plain), steps[i].want);
        assert_int_equal(found(filtered), steps[i].want);
        assert_int_equal(found(fresh), steps[i].want);
        tl_lookup_free(fresh);
    }
    tl_lookup_free(plain);
    tl_lookup_free(filtered);
    tl_map_filter_unref(filter);
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(changes_that_fail_take_their_rows_away)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
