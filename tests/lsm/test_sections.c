/* Interval partitioning against its definition, on random key ranges; levels that overlap are refused. */
#include "lsm_support.h"

static tl_bytes key_bytes(int32_t k)
{
    row r = {.k = k, .t = 0};
    tl_buf buf = {0};
    const tl_type *type = table_type();
    tl_batch *batch = make_batch(type, &r, 1);
    assert_int_equal(tl_binary_row_append(&buf, (const tl_column *const *)batch->cols, 2, 0, 0, true), TL_OK);
    tl_batch_free(batch);
    tl_type_unref(type);
    return tl_buf_steal(&buf);
}

static tl_data_file *make_file(int number, int32_t min, int32_t max, int32_t level)
{
    tl_data_file *file = tl_data_file_create();
    assert_non_null(file);
    file->name = tl_strf("data-%d.parquet", number);
    file->min_key = key_bytes(min);
    file->max_key = key_bytes(max);
    file->level = level;
    file->bytes = 100;
    file->min_seq = min;
    file->max_seq = number;
    return file;
}

typedef struct range {
    int32_t min;
    int32_t max;
} range;

static range range_of(tl_lsm_config *config, const tl_data_file *file)
{
    return (range){key_of(config, file->min_key).k, key_of(config, file->max_key).k};
}

/* Most ranges that share one key: no fewer runs can hold them. */
static size_t deepest_overlap(tl_lsm_config *config, const tl_section *section)
{
    size_t deepest = 0;
    for (int32_t k = 0; k <= 120; k++) {
        size_t depth = 0;
        for (size_t r = 0; r < section->n_runs; r++) {
            for (size_t i = 0; i < section->runs[r].n; i++) {
                range x = range_of(config, section->runs[r].items[i]);
                depth += x.min <= k && k <= x.max;
            }
        }
        deepest = TL_MAX(deepest, depth);
    }
    return deepest;
}

static void check_section(tl_lsm_config *config, const tl_section *section, int32_t *end)
{
    int32_t min = INT32_MAX, max = INT32_MIN;
    assert_int_equal(section->n_runs, deepest_overlap(config, section));
    for (size_t r = 0; r < section->n_runs; r++) {
        const tl_file_list *run = &section->runs[r];
        assert_true(run->n > 0);
        for (size_t i = 0; i < run->n; i++) {
            range x = range_of(config, run->items[i]);
            if (i > 0)
                assert_true(range_of(config, run->items[i - 1]).max < x.min);
            min = TL_MIN(min, x.min);
            max = TL_MAX(max, x.max);
        }
    }
    assert_true(min > *end);
    *end = max;
}

static void files_fall_into_disjoint_sections_of_fewest_runs(void **state)
{
    (void)state;
    uint64_t rng = test_seed(5);
    tl_fs *fs = memory_fs();
    tl_lsm_config *config = make_config_on(fs, NULL, true);
    tl_error err;
    for (int round = 0; round < 200; round++) {
        tl_data_file *files[40];
        size_t n = test_random(&rng) % TL_ARRAY_LEN(files), seen = 0, n_sections = 0;
        int32_t end = -1;
        tl_section *sections = NULL;
        for (size_t i = 0; i < n; i++) {
            int32_t min = (int32_t)(test_random(&rng) % 100);
            files[i] = make_file((int)i, min, min + (int32_t)(test_random(&rng) % (round % 2 == 0 ? 5 : 20)), 0);
        }
        assert_ok(tl_sections(config, files, n, &sections, &n_sections, &err), &err);
        for (size_t s = 0; s < n_sections; s++) {
            check_section(config, &sections[s], &end);
            for (size_t r = 0; r < sections[s].n_runs; r++)
                seen += sections[s].runs[r].n;
        }
        assert_int_equal(seen, n);
        tl_sections_free(sections, n_sections);
        for (size_t i = 0; i < n; i++)
            tl_data_file_unref(files[i]);
    }
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
}

static void levels_are_sorted_and_grow_with_what_is_there(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    tl_lsm_config *config = make_config_on(fs, NULL, true);
    tl_lsm__levels levels = {0};
    tl_error err;
    tl_data_file *files[] = {make_file(1, 0, 9, 0),   make_file(7, 0, 9, 0),   make_file(3, 0, 9, 0),
                             make_file(2, 20, 29, 8), make_file(4, 10, 19, 8), make_file(5, 0, 5, 2)};
    assert_ok(tl_lsm__levels_init(&levels, config, files, TL_ARRAY_LEN(files), &err), &err);
    assert_int_equal(levels.n_levels, 9); /* 6 by the options */
    assert_int_equal(tl_lsm__levels_run_count(&levels), 5);
    assert_int_equal(tl_lsm__levels_highest(&levels), 8);
    assert_int_equal(levels.levels[0].items[0]->max_seq, 7); /* newest first */
    assert_int_equal(levels.levels[0].items[2]->max_seq, 1);
    assert_ptr_equal(levels.levels[8].items[0], files[4]); /* in key order */
    tl_lsm__levels_deinit(&levels);
    for (size_t i = 0; i < TL_ARRAY_LEN(files); i++)
        tl_data_file_unref(files[i]);
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
}

static void overlapping_levels_and_broken_keys_are_refused(void **state)
{
    (void)state;
    tl_fs *fs = memory_fs();
    tl_lsm_config *config = make_config_on(fs, NULL, true);
    tl_lsm__levels levels = {0};
    tl_section *sections = NULL;
    size_t n = 0;
    tl_error err;
    tl_data_file *files[] = {make_file(1, 0, 9, 1), make_file(2, 9, 12, 1)};
    assert_fails(tl_lsm__levels_init(&levels, config, files, 2, &err), TL_E_CORRUPT, &err, "overlap");
    tl_lsm__levels_deinit(&levels);
    for (size_t len = 0; len < files[0]->max_key.len; len++) { /* cut short in every place */
        size_t whole = files[0]->max_key.len;
        files[0]->max_key.len = len;
        assert_fails(tl_sections(config, files, 2, &sections, &n, &err), TL_E_CORRUPT, &err, "data-1.parquet");
        files[0]->max_key.len = whole;
    }
    files[0]->level = -1;
    assert_fails(tl_lsm__levels_init(&levels, config, files, 1, &err), TL_E_CORRUPT, &err, "level -1");
    tl_lsm__levels_deinit(&levels);
    tl_data_file_unref(files[0]);
    tl_data_file_unref(files[1]);
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_fall_into_disjoint_sections_of_fewest_runs),
        cmocka_unit_test(levels_are_sorted_and_grow_with_what_is_there),
        cmocka_unit_test(overlapping_levels_and_broken_keys_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
