/* SimpleStats: modes, truncation, dense store, and bounds decoded for pruning. */
#include "fixture_tables.h"
#include "manifest_compare.h"
#include "types/builder.h"
#include "types/key.h"

static tl_bytes_view view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

static const tl_type *type_of(const char *text)
{
    tl_error err;
    const tl_type *type = NULL;
    assert_ok(tl_type_parse(view(text), &type, &err), &err);
    return type;
}

static tl_column *text_column(const tl_type *type, const char *value)
{
    tl_error err;
    tl_builder *b = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &b, &err), &err);
    assert_int_equal(tl_builder_bytes(b, value, strlen(value)), TL_OK);
    assert_ok(tl_builder_finish(b, &col, &err), &err);
    tl_builder_free(b);
    return col;
}

static tl_column *int_column(const tl_type *type, int64_t value)
{
    tl_error err;
    tl_builder *b = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &b, &err), &err);
    assert_int_equal(tl_builder_int(b, value), TL_OK);
    assert_ok(tl_builder_finish(b, &col, &err), &err);
    tl_builder_free(b);
    return col;
}

static void modes_are_parsed_in_any_case(void **state)
{
    (void)state;
    tl_error err;
    tl_stats_spec spec;
    static const struct {
        const char *text;
        tl_stats_mode mode;
        int32_t n;
    } cases[] = {{"none", TL_STATS_NONE, 0},
                 {"COUNTS", TL_STATS_COUNTS, 0},
                 {"Full", TL_STATS_FULL, 0},
                 {"truncate(16)", TL_STATS_TRUNCATE, 16},
                 {"TRUNCATE(1)", TL_STATS_TRUNCATE, 1}};
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        assert_ok(tl_stats_spec_parse(cases[i].text, &spec, &err), &err);
        assert_int_equal(spec.mode, cases[i].mode);
        assert_int_equal(spec.truncate, cases[i].n);
    }
    static const char *const wrong[] = {
        "", "some", "truncate", "truncate()", "truncate(0)", "truncate(-1)", "truncate(1)x", "truncate(99999999999)"};
    for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++)
        assert_fails(tl_stats_spec_parse(wrong[i], &spec, &err), TL_E_INVALID, &err, "statistics mode");
}

/* ---- truncation ---- */

static void check_truncation(const char *min, const char *max, int32_t n, const char *wanted_min, const char *wanted_max)
{
    tl_error err;
    const tl_type *type = type_of("STRING NOT NULL"), *row = type_of("ROW<s STRING>");
    const char *name = "s";
    tl_column_stats stats = {.min = text_column(type, min), .max = text_column(type, max), .null_count = 0};
    tl_stats_spec spec = {TL_STATS_TRUNCATE, n};
    tl_simple_stats built = {0};
    char **cols = NULL;
    int32_t n_cols = 0;
    tl_bounds bounds = {0};
    assert_ok(tl_simple_stats_build(&type, &name, &stats, &spec, 1, true, &built, &cols, &n_cols, &err), &err);
    assert_int_equal(n_cols, -1);
    assert_ok(tl_simple_stats_bounds(&built, row, NULL, -1, &bounds, &err), &err);
    assert_int_equal(bounds.cols[0].null_count, 0);
    if (wanted_min == NULL) {
        assert_null(bounds.cols[0].min);
        assert_null(bounds.cols[0].max);
    } else {
        tl_bytes_view got_min = tl_col_bytes(bounds.cols[0].min, bounds.cols[0].min_row),
                      got_max = tl_col_bytes(bounds.cols[0].max, bounds.cols[0].max_row);
        if (!tl_bytes_equal(got_min, view(wanted_min)) || !tl_bytes_equal(got_max, view(wanted_max)))
            fail_msg("truncate(%d) of '%s' and '%s' is '%.*s' and '%.*s'", n, min, max, (int)got_min.len,
                     (const char *)got_min.data, (int)got_max.len, (const char *)got_max.data);
    }
    tl_bounds_deinit(&bounds);
    tl_simple_stats_deinit(&built);
    tl_column_unref(stats.min);
    tl_column_unref(stats.max);
    tl_type_unref(type);
    tl_type_unref(row);
}

static void texts_are_truncated_in_code_points_and_the_upper_bound_is_raised(void **state)
{
    (void)state;
    check_truncation("a", "b", 16, "a", "b");
    check_truncation("0123456789abcdef", "0123456789abcdef", 16, "0123456789abcdef", "0123456789abcdef");
    check_truncation("string-1 which is long", "string-2 which is long", 16, "string-1 which i", "string-2 which j");
    check_truncation("aaaa", "abcd", 2, "aa", "ac");
    check_truncation("\xc3\xa4\xc3\xa4\xc3\xa4", "\xc3\xa4\xc3\xbf\xc3\xa4", 2, "\xc3\xa4\xc3\xa4", "\xc3\xa4\xc4\x80");
    check_truncation("a", "z\x7fz", 2, "a", "z\xc2\x80");
    check_truncation("a", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 1, "a", "\xf0\x9f\x98\x81");
    /* U+10FFFF has no successor: the one before it is raised, or there is none. */
    check_truncation("a", "a\xf4\x8f\xbf\xbf\x62", 2, "a", "b");
    check_truncation("a", "\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf\x62", 2, NULL, NULL);
    /* U+D7FF: the next character is U+E000. */
    check_truncation("a", "\xed\x9f\xbf\x62", 1, "a", "\xee\x80\x80");
}

/* ---- bounds that have lost digits ---- */

static tl_column *moment(const tl_type *type, int64_t millis, int32_t nanos)
{
    tl_error err;
    tl_builder *b = NULL;
    tl_column *col = NULL;
    assert_ok(tl_builder_create(type, &b, &err), &err);
    assert_int_equal(tl_builder_timestamp(b, millis, nanos), TL_OK);
    assert_ok(tl_builder_finish(b, &col, &err), &err);
    tl_builder_free(b);
    return col;
}

/* Stored as `millis` and `nanos`, the greatest value may be as late as `wanted` nanoseconds of that millisecond; the least stays. */
static void check_moment(const char *type_text, int64_t millis, int32_t nanos, int32_t wanted)
{
    tl_error err;
    char row_text[64];
    snprintf(row_text, sizeof row_text, "ROW<t %s>", type_text);
    const tl_type *type = type_of(type_text), *row = type_of(row_text);
    const char *name = "t";
    tl_column_stats stats = {.min = moment(type, millis, nanos), .max = moment(type, millis, nanos), .null_count = 0};
    tl_stats_spec spec = {.mode = TL_STATS_FULL};
    tl_simple_stats built = {0};
    char **cols = NULL;
    int32_t n_cols = 0;
    tl_bounds bounds = {0};
    assert_ok(tl_simple_stats_build(&type, &name, &stats, &spec, 1, false, &built, &cols, &n_cols, &err), &err);
    assert_ok(tl_simple_stats_bounds(&built, row, NULL, -1, &bounds, &err), &err);
    assert_ok(tl_bounds_loosen(&bounds, &err), &err);
    tl_column *latest = moment(type, millis, wanted);
    assert_int_equal(tl_column_compare(bounds.cols[0].min, bounds.cols[0].min_row, stats.min, 0, false, true), 0);
    assert_int_equal(tl_column_compare(bounds.cols[0].max, bounds.cols[0].max_row, latest, 0, false, true), 0);
    tl_column_unref(latest);
    tl_bounds_deinit(&bounds);
    tl_simple_stats_deinit(&built);
    tl_column_unref(stats.min);
    tl_column_unref(stats.max);
    tl_type_unref(type);
    tl_type_unref(row);
}

static void a_bound_in_whole_milliseconds_covers_the_millisecond(void **state)
{
    (void)state;
    check_moment("TIMESTAMP(3)", 1234, 0, 0);
    check_moment("TIMESTAMP(6)", 1234, 0, 999000);
    check_moment("TIMESTAMP(6)", -1, 0, 999000);
    check_moment("TIMESTAMP(6)", 1234, 5000, 5000);
    check_moment("TIMESTAMP(9)", 1234, 0, 999999);
    check_moment("TIMESTAMP(9)", -1234, 1, 1);
    check_moment("TIMESTAMP(6) WITH LOCAL TIME ZONE", 0, 0, 999000);
}

/* ---- modes and dense store ---- */

typedef struct built_stats {
    tl_simple_stats stats;
    char **cols;
    int32_t n_cols;
} built_stats;

/* Columns i INT, s STRING, a ARRAY<INT>, b BYTES, n INT (all null). */
static built_stats build(const tl_stats_spec *specs, bool dense, const tl_type **row)
{
    tl_error err;
    built_stats out = {.n_cols = -1};
    *row = type_of("ROW<i INT NOT NULL, s STRING, a ARRAY<INT>, b BYTES, n INT>");
    const tl_type *types[5];
    const char *names[5];
    for (int i = 0; i < 5; i++) {
        types[i] = (*row)->fields[i].type;
        names[i] = (*row)->fields[i].name;
    }
    tl_column_stats stats[5] = {
        {.min = int_column(types[0], -5), .max = int_column(types[0], 70), .null_count = 0},
        {.min = text_column(types[1], "aa"), .max = text_column(types[1], "zz"), .null_count = 2},
        {.null_count = -1},
        {.min = text_column(types[3], "x"), .max = text_column(types[3], "y"), .null_count = 1},
        {.null_count = 10},
    };
    assert_ok(tl_simple_stats_build(types, names, stats, specs, 5, dense, &out.stats, &out.cols, &out.n_cols, &err), &err);
    for (int i = 0; i < 5; i++) {
        tl_column_unref(stats[i].min);
        tl_column_unref(stats[i].max);
    }
    return out;
}

static void drop(built_stats *s, const tl_type *row)
{
    tl_simple_stats_deinit(&s->stats);
    tl_names_free(s->cols, s->n_cols > 0 ? (size_t)s->n_cols : 0);
    tl_type_unref(row);
}

static void dense_statistics_leave_unknown_columns_out(void **state)
{
    (void)state;
    tl_error err;
    tl_stats_spec full = {TL_STATS_FULL, 0}, none = {TL_STATS_NONE, 0}, counts = {TL_STATS_COUNTS, 0};
    const tl_type *row;
    built_stats s = build((tl_stats_spec[]){full, none, full, full, counts}, true, &row);
    assert_int_equal(s.n_cols, 3);
    assert_string_equal(s.cols[0], "i");
    assert_string_equal(s.cols[1], "b");
    assert_string_equal(s.cols[2], "n");
    assert_int_equal(s.stats.n, 3);
    tl_bounds bounds = {0};
    assert_ok(tl_simple_stats_bounds(&s.stats, row, s.cols, s.n_cols, &bounds, &err), &err);
    assert_int_equal(bounds.n, 5);
    assert_int_equal(tl_col_i32(bounds.cols[0].min, bounds.cols[0].min_row), -5);
    assert_int_equal(tl_col_i32(bounds.cols[0].max, bounds.cols[0].max_row), 70);
    assert_null(bounds.cols[1].min);
    assert_int_equal(bounds.cols[1].null_count, -1);
    assert_int_equal(bounds.cols[2].null_count, -1);
    assert_null(bounds.cols[3].min); /* binary values have no bounds in the reference */
    assert_int_equal(bounds.cols[3].null_count, 1);
    assert_int_equal(bounds.cols[4].null_count, 10);
    tl_bounds_deinit(&bounds);
    drop(&s, row);
}

static void statistics_of_all_columns_keep_unknown_ones_as_null(void **state)
{
    (void)state;
    tl_error err;
    tl_stats_spec full = {TL_STATS_FULL, 0}, none = {TL_STATS_NONE, 0};
    const tl_type *row;
    built_stats s = build((tl_stats_spec[]){none, full, full, none, none}, false, &row);
    assert_int_equal(s.n_cols, -1);
    assert_int_equal(s.stats.n, 5);
    assert_int_equal(s.stats.null_counts[0], -1);
    assert_int_equal(s.stats.null_counts[1], 2);
    tl_bounds bounds = {0};
    assert_ok(tl_simple_stats_bounds(&s.stats, row, NULL, -1, &bounds, &err), &err);
    assert_null(bounds.cols[0].min);
    assert_true(tl_bytes_equal(tl_col_bytes(bounds.cols[1].max, bounds.cols[1].max_row), view("zz")));
    tl_bounds_deinit(&bounds);
    drop(&s, row);
}

static void columns_that_the_schema_no_longer_has_are_passed_over(void **state)
{
    (void)state;
    tl_error err;
    tl_stats_spec full = {TL_STATS_FULL, 0}, none = {TL_STATS_NONE, 0};
    const tl_type *row, *other = type_of("ROW<n INT, x STRING, i INT>");
    built_stats s = build((tl_stats_spec[]){full, full, full, none, full}, true, &row);
    tl_bounds bounds = {0};
    assert_ok(tl_simple_stats_bounds(&s.stats, other, s.cols, s.n_cols, &bounds, &err), &err);
    assert_int_equal(bounds.cols[0].null_count, 10);
    assert_int_equal(bounds.cols[1].null_count, -1);
    assert_int_equal(tl_col_i32(bounds.cols[2].min, 0), -5);
    tl_bounds_deinit(&bounds);
    const bool used[3] = {true, true, false};
    assert_ok(tl_simple_stats_bounds_of(&s.stats, other, used, s.cols, s.n_cols, &bounds, &err), &err);
    assert_int_equal(bounds.cols[0].null_count, 10);
    assert_null(bounds.cols[2].min); /* not asked for */
    assert_int_equal(bounds.cols[2].null_count, -1);
    tl_bounds_deinit(&bounds);
    tl_type_unref(other);
    drop(&s, row);
}

static void dropped_or_broken_statistics_give_no_bounds(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *row = type_of("ROW<i INT>");
    uint8_t empty[12] = {0}, cut[14] = {0, 0, 0, 1};
    tl_simple_stats none = {.min = {empty, 12}, .max = {empty, 12}}, broken = {.min = {cut, 14}, .max = {cut, 14}};
    tl_bounds bounds = {0};
    assert_ok(tl_simple_stats_bounds(&none, row, NULL, -1, &bounds, &err), &err);
    assert_null(bounds.cols[0].min);
    assert_int_equal(bounds.cols[0].null_count, -1);
    tl_bounds_deinit(&bounds);
    assert_fails(tl_simple_stats_bounds(&broken, row, NULL, -1, &bounds, &err), TL_E_CORRUPT, &err, "statistics");
    tl_type_unref(row);
}

/* ---- statistics of the reference: decoded with the schema that each file was written with ---- */

typedef struct stats_ctx {
    int files, bounds;
    const char *table;
} stats_ctx;

static void check_file(tl_fs *fs, const stats_ctx *t, const tl_data_file *file, int *n_bounds)
{
    tl_error err;
    tl_paths paths = {.table = t->table};
    tl_table_schema *schema = NULL;
    tl_bounds bounds = {0};
    if (file->n_write_cols >= 0 || tl_schema_read(fs, &paths, file->schema_id, &schema, &err) != TL_OK)
        return;
    if (tl_simple_stats_bounds(&file->value_stats, schema->row_type, file->value_stats_cols, file->n_value_stats_cols, &bounds,
                               &err) != TL_OK)
        fail_msg("%s: %s: %s", t->table, file->name, err.message);
    for (int32_t c = 0; c < bounds.n; c++) {
        *n_bounds += bounds.cols[c].min != NULL;
        assert_true(bounds.cols[c].null_count <= file->rows);
    }
    tl_bounds_deinit(&bounds);
    tl_table_schema_unref(schema);
}

static void check_manifest(tl_fs *fs, const char *path, const char *name, tl_bytes_view content, void *ctx)
{
    (void)path, (void)content;
    stats_ctx *t = ctx;
    tl_error err;
    tl_paths paths = {.table = t->table};
    tl_entries entries = {0};
    if (strncmp(name, "manifest-list-", 14) == 0 ||
        tl_manifest_read(fs, &paths, name, TL_ABSENT, NULL, NULL, &entries, &err) != TL_OK)
        return;
    for (size_t i = 0; i < entries.n; i++, t->files++)
        check_file(fs, t, entries.items[i].file, &t->bounds);
    tl_entries_deinit(&entries);
}

static void check_table(tl_fs *fs, const char *table, void *ctx)
{
    stats_ctx *t = ctx;
    t->table = table;
    if (strstr(table, "branch") == NULL) /* the manifests of all branches lie together, their schemas do not */
        each_file(fs, table, "manifest", "manifest-", check_manifest, t);
}

static void statistics_of_the_reference_are_decoded(void **state)
{
    (void)state;
    stats_ctx t = {0};
    each_fixture_table(check_table, &t);
    printf("%d files, %d bounds\n", t.files, t.bounds);
    assert_true(t.files > 1000);
    assert_true(t.bounds > 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_parsed_in_any_case),
        cmocka_unit_test(texts_are_truncated_in_code_points_and_the_upper_bound_is_raised),
        cmocka_unit_test(a_bound_in_whole_milliseconds_covers_the_millisecond),
        cmocka_unit_test(dense_statistics_leave_unknown_columns_out),
        cmocka_unit_test(statistics_of_all_columns_keep_unknown_ones_as_null),
        cmocka_unit_test(columns_that_the_schema_no_longer_has_are_passed_over),
        cmocka_unit_test(dropped_or_broken_statistics_give_no_bounds),
        cmocka_unit_test(statistics_of_the_reference_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
