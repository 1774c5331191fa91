/* Options: defaults, values, what is refused and how it is said; columns and names of files. */
#include "lsm_support.h"

static tl_status try_config(const char *const *options, bool keyed, tl_lsm_config **out, tl_error *err)
{
    static const char *const keys[] = {"k", "t"};
    tl_fs *fs = memory_fs();
    tl_table_schema *schema = make_schema(options, keys, keyed ? 2 : 0);
    tl_paths paths = {.table = "/t"};
    tl_status status = tl_lsm_config_create(fs, &paths, schema, out, err);
    tl_table_schema_unref(schema);
    tl_fs_unref(fs);
    return status;
}

static tl_lsm_config *config_of(const char *const *options, bool keyed)
{
    tl_lsm_config *config = NULL;
    tl_error err;
    assert_ok(try_config(options, keyed, &config, &err), &err);
    return config;
}

static void defaults_are_those_of_the_reference(void **state)
{
    (void)state;
    tl_lsm_config *keyed = config_of(NULL, true), *append = config_of(NULL, false);
    assert_int_equal(keyed->target_file_bytes, 128 << 20);
    assert_int_equal(append->target_file_bytes, 256 << 20);
    assert_int_equal(keyed->write_buffer_bytes, 192 << 20);
    assert_true(keyed->write_buffer_spillable);
    assert_int_equal(keyed->num_levels, 6);
    assert_int_equal(keyed->compaction_trigger, 5);
    assert_int_equal(keyed->stop_trigger, 8);
    assert_int_equal(keyed->max_size_amplification_percent, 200);
    assert_int_equal(keyed->size_ratio, 1);
    assert_int_equal(keyed->optimization_interval_ms, -1);
    assert_int_equal(keyed->changelog_producer, TL_CHANGELOG_NONE);
    assert_false(keyed->need_lookup);
    assert_true(append->unaware_bucket);
    assert_string_equal(keyed->compression, "zstd");
    assert_null(keyed->write_unsupported);
    tl_lsm_config_unref(keyed);
    tl_lsm_config_unref(append);
}

static void options_are_read(void **state)
{
    (void)state;
    static const char *const options[] = {"target-file-size",
                                          "3 mb",
                                          "write-buffer-size",
                                          "7kb",
                                          "num-sorted-run.compaction-trigger",
                                          "4",
                                          "compaction.optimization-interval",
                                          "2 h",
                                          "changelog-producer",
                                          "full-compaction",
                                          "write.compaction-skip",
                                          "true",
                                          "partial-update.ignore-delete",
                                          "true",
                                          "lookup-compact",
                                          "GENTLE",
                                          NULL};
    tl_lsm_config *config = config_of(options, true);
    assert_int_equal(config->target_file_bytes, 3 << 20);
    assert_int_equal(config->write_buffer_bytes, 7 << 10);
    assert_int_equal(config->num_levels, 5);
    assert_int_equal(config->stop_trigger, 7);
    assert_int_equal(config->optimization_interval_ms, 7200000);
    assert_int_equal(config->changelog_producer, TL_CHANGELOG_FULL_COMPACTION);
    assert_true(config->write_only);
    assert_true(config->ignore_delete);
    assert_int_equal(config->lookup_compact_max_interval, 8);
    tl_lsm_config_unref(config);
}

static void wrong_values_name_the_option(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"target-file-size", "3 parsecs", NULL},
        {"write-only", "maybe", NULL},
        {"num-levels", "1", NULL},
        {"changelog-producer", "all", NULL},
        {"compaction.size-ratio", "1.5", NULL},
        {"metadata.stats-mode", "truncate(x)", NULL},
    };
    static const char *const parts[] = {"target-file-size",      "write-only", "levels", "changelog-producer",
                                        "compaction.size-ratio", "stats-mode"};
    for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
        tl_lsm_config *config = NULL;
        tl_error err;
        assert_fails(try_config(wrong[i], true, &config, &err), TL_E_INVALID, &err, parts[i]);
        assert_null(config);
    }
}

static void missing_features_are_named(void **state)
{
    (void)state;
    tl_lsm_config *config = NULL;
    tl_error err;
    static const char *const read_only[][4] = {{"file.format", "csv", NULL},
                                               {"record-level.expire-time", "1 h", NULL}}; /* without a field of times */
    static const char *const parts[] = {"csv", "record-level"};
    for (size_t i = 0; i < TL_ARRAY_LEN(read_only); i++) {
        tl_bucket_writer *writer = NULL;
        config = config_of(read_only[i], true); /* such tables can be read */
        assert_fails(tl_bucket_writer_create(config, NO_PARTITION, 0, 1, NULL, 0, NULL, &writer, &err), TL_E_UNSUPPORTED, &err,
                     parts[i]);
        tl_lsm_config_unref(config);
    }
}

static void files_have_the_columns_of_the_reference(void **state)
{
    (void)state;
    static const char *const thin[] = {"data-file.thin-mode", "true", NULL};
    static const char *const names[] = {"_KEY_k", "_KEY_t", "_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "t", "a", "b", "s"};
    static const int32_t ids[] = {1073741823, 1073741824, 2147483646, 2147483645, 0, 1, 2, 3, 4};
    for (int mode = 0; mode < 2; mode++) {
        tl_lsm_config *config = config_of(mode == 0 ? NULL : thin, true);
        const tl_lsm__layout *layout = config->layout;
        int32_t skip = mode == 0 ? 0 : 2;
        assert_int_equal(layout->n_file_cols, 9 - skip);
        for (int32_t i = 0; i < layout->n_file_cols; i++) {
            assert_string_equal(layout->file_type->fields[i].name, names[i + skip]);
            assert_int_equal(layout->field_ids[i], ids[i + skip]);
        }
        assert_false(layout->file_type->fields[layout->seq_col].type->nullable);
        tl_lsm_config_unref(config);
    }
    tl_lsm_config *append = config_of(NULL, false);
    assert_int_equal(append->layout->n_file_cols, 5);
    assert_int_equal(append->layout->seq_col, -1);
    tl_lsm_config_unref(append);
}

static void names_follow_prefixes_formats_and_levels(void **state)
{
    (void)state;
    static const char *const options[] = {"data-file.prefix",
                                          "part-",
                                          "changelog-file.prefix",
                                          "log-",
                                          "file.suffix.include.compression",
                                          "true",
                                          "file.format.per.level",
                                          "0:avro, 3:parquet",
                                          "changelog-file.format",
                                          "avro",
                                          NULL};
    tl_lsm_config *config = config_of(options, true);
    static const struct {
        int32_t level;
        bool changelog;
        const char *prefix;
        const char *suffix;
    } wanted[] = {{0, false, "part-", "-0.zst.avro"},
                  {3, false, "part-", "-1.zst.parquet"},
                  {5, false, "part-", "-2.zst.parquet"},
                  {5, true, "log-", "-3.zst.avro"}};
    tl_lsm__names file_names = {0};
    tl_error err;
    for (size_t i = 0; i < TL_ARRAY_LEN(wanted); i++) {
        const tl_lsm__file_options *file_options = NULL;
        assert_ok(tl_lsm__file_options_of(config, wanted[i].level, wanted[i].changelog, &file_options, &err), &err);
        char *name = tl_lsm__names_next(&file_names, config, file_options);
        assert_memory_equal(name, wanted[i].prefix, strlen(wanted[i].prefix));
        assert_string_equal(name + strlen(wanted[i].prefix) + 36, wanted[i].suffix);
        tl_free(name);
    }
    tl_lsm_config_unref(config);
}

static void statistics_modes_follow_the_rules(void **state)
{
    (void)state;
    static const char *const options[] = {"metadata.stats-mode",
                                          "counts",
                                          "fields.b.stats-mode",
                                          "full",
                                          "metadata.stats-keep-first-n-columns",
                                          "3",
                                          "changelog-file.stats-mode",
                                          "none",
                                          "metadata.stats-mode.per.level",
                                          "2:none",
                                          NULL};
    tl_lsm_config *config = config_of(options, true);
    const tl_lsm__file_options *low = NULL, *high = NULL, *log = NULL;
    tl_error err;
    assert_ok(tl_lsm__file_options_of(config, 0, false, &low, &err), &err);
    assert_ok(tl_lsm__file_options_of(config, 2, false, &high, &err), &err);
    assert_ok(tl_lsm__file_options_of(config, 0, true, &log, &err), &err);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(low->stats[i].mode, TL_STATS_TRUNCATE); /* _KEY_* */
        assert_int_equal(low->stats[i].truncate, 128);
    }
    static const tl_stats_mode wanted[] = {TL_STATS_COUNTS, TL_STATS_COUNTS, TL_STATS_COUNTS, TL_STATS_FULL, TL_STATS_NONE};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(low->stats[4 + i].mode, wanted[i]);
        assert_int_equal(high->stats[4 + i].mode, i == 3 ? TL_STATS_FULL : TL_STATS_NONE);
        assert_int_equal(log->stats[4 + i].mode, i == 3 ? TL_STATS_FULL : TL_STATS_NONE);
    }
    tl_lsm_config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_reference),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(wrong_values_name_the_option),
        cmocka_unit_test(missing_features_are_named),
        cmocka_unit_test(files_have_the_columns_of_the_reference),
        cmocka_unit_test(names_follow_prefixes_formats_and_levels),
        cmocka_unit_test(statistics_modes_follow_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
