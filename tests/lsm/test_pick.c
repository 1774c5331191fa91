/*
 * Which runs a compaction takes. The cases are those that the reference's own tests (UniversalCompactionTest,
 * ForceUpLevel0CompactionTest, EarlyFullCompactionTest) hold it to, and more of the same kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lsm/lsm_private.h"

static int64_t now_ms;

static int64_t test_now(void *ctx)
{
    (void)ctx;
    return now_ms;
}
static const tl_clock test_clock = {test_now, NULL};

static tl_lsm_config make_config(int amplification, int ratio, int trigger)
{
    return (tl_lsm_config){
        .max_size_amplification_percent = amplification,
        .size_ratio = ratio,
        .compaction_trigger = trigger,
        .offpeak_start_hour = -1,
        .offpeak_end_hour = -1,
        .optimization_interval_ms = -1,
        .total_size_threshold = -1,
        .incremental_size_threshold = -1,
        .clock = &test_clock,
    };
}

/* Runs as level, size pairs ended by -1. */
static size_t make_runs(tl_lsm__run *runs, const int64_t *pairs)
{
    size_t n = 0;
    for (; pairs[2 * n] >= 0; n++)
        runs[n] = (tl_lsm__run){.level = (int32_t)pairs[2 * n], .bytes = pairs[2 * n + 1]};
    return n;
}

static tl_lsm__pick pick(tl_lsm__picker *picker, int32_t n_levels, const int64_t *pairs)
{
    tl_lsm__run runs[64];
    return tl_lsm__picker_pick(picker, n_levels, runs, make_runs(runs, pairs));
}

#define PAIRS(...) ((const int64_t[]){__VA_ARGS__, -1, -1})

static void assert_pick(tl_lsm__pick p, size_t n_runs, int32_t level)
{
    assert_int_equal(p.n_runs, n_runs);
    if (n_runs > 0)
        assert_int_equal(p.output_level, level);
}

static void size_amplification_makes_a_full_compaction(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(25, 1, 3);
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 0, 2, 0, 3, 0, 3)), 4, 2);
}

static void runs_of_like_size_are_picked_and_go_above_the_next_level(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(25, 1, 3);
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 4, PAIRS(0, 1, 1, 1, 2, 1, 3, 50)), 3, 2);
    assert_pick(pick(&picker, 6, PAIRS(0, 1, 0, 1, 4, 50)), 2, 3);
}

static void too_many_runs_are_picked_by_number(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(25, 1, 3);
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    /* 4 runs, 3 allowed: 2 candidates, and the third is not larger than both together. */
    assert_pick(pick(&picker, 4, PAIRS(0, 1, 1, 2, 2, 3, 3, 50)), 3, 2);
}

static void fewer_runs_than_the_trigger_are_left_alone(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(200, 1, 5);
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 6, PAIRS(0, 100, 0, 100, 0, 100, 5, 1)), 0, 0);
    assert_pick(pick(&picker, 6, PAIRS(-1, -1)), 0, 0);
}

static void level_0_is_never_the_output(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(25, 1, 3);
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 0, 1, 1, 1, 2, 50)), 3, 1);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 0, 2, 1, 3, 2, 50)), 3, 1);
    config = make_config(200, 1, 5);
    assert_pick(pick(&picker, 6, PAIRS(0, 1, 0, 1, 0, 1, 0, 1024, 0, 1024 * 1024)), 5, 5);
}

/* Sizes after each append of a run of size 1 that may trigger a compaction. */
static void size_amplification_follows_the_known_sequence(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(25, 0, 1);
    static const int64_t expected[][5] = {{2},  {3},     {4},        {1, 4},        {6},     {1, 6},
                                          {8},  {1, 8},  {1, 1, 8},  {11},          {1, 11}, {1, 1, 11},
                                          {14}, {1, 14}, {1, 1, 14}, {1, 1, 1, 14}, {18}};
    int64_t sizes[8] = {1};
    size_t n = 1;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    for (size_t step = 0; step < TL_ARRAY_LEN(expected); step++) {
        int64_t pairs[32], sum = 0;
        memmove(sizes + 1, sizes, n * sizeof(*sizes));
        sizes[0] = 1;
        n++;
        for (size_t i = 0; i < n; i++) {
            pairs[2 * i] = 0;
            pairs[2 * i + 1] = sizes[i];
            sum += sizes[i];
        }
        pairs[2 * n] = -1;
        /* A trigger of 1 makes every other rule fire too: what amplification alone picks is what is full at the first look. */
        bool amplified = (sum - sizes[n - 1]) * 100 > 25 * sizes[n - 1];
        tl_lsm__pick p = pick(&picker, 4, pairs);
        if (amplified) {
            assert_int_equal(p.n_runs, n);
            sizes[0] = sum;
            n = 1;
        }
        for (size_t i = 0; i < n; i++)
            assert_int_equal(sizes[i], expected[step][i]);
        assert_true(n == 4 || expected[step][n] == 0);
    }
}

static void the_ratio_decides_whether_the_next_run_is_taken(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(1000, 10, 2);
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    /* 8 × 1.1 < 9: nothing by ratio; by number the first two go, and 17 × 1.1 ≥ 10 takes the third. */
    assert_pick(pick(&picker, 5, PAIRS(0, 8, 1, 9, 4, 100000)), 2, 3);
    config.compaction_trigger = 3;
    assert_pick(pick(&picker, 5, PAIRS(0, 8, 1, 9, 4, 100000)), 0, 0);
    config.size_ratio = 20;
    assert_pick(pick(&picker, 5, PAIRS(0, 8, 1, 9, 4, 100000)), 2, 3);
}

static void the_optimization_interval_forces_full_compactions(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(100, 1, 3);
    config.optimization_interval_ms = 1000;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    now_ms = 0;
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 1, 3, 2, 5)), 3, 2); /* the first time always */
    now_ms = 1001;
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 1, 3, 2, 5)), 3, 2);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 1, 3, 2, 5)), 0, 0);
    now_ms = 1500;
    assert_pick(pick(&picker, 3, PAIRS(0, 3, 1, 3, 2, 5)), 3, 2); /* by amplification, which counts as one */
    now_ms = 2001;
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 1, 3, 2, 5)), 0, 0);
    assert_pick(pick(&picker, 3, PAIRS(2, 5)), 0, 0); /* one run is never compacted by time */
}

static void size_thresholds_force_full_compactions(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(100, 1, 3);
    config.total_size_threshold = 10;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 1, 3, 2, 5)), 3, 2);
    assert_pick(pick(&picker, 3, PAIRS(0, 2, 1, 6, 2, 10)), 0, 0);
    config.total_size_threshold = -1;
    config.incremental_size_threshold = 10;
    assert_pick(pick(&picker, 3, PAIRS(0, 4, 1, 5, 2, 50)), 0, 0);
    assert_pick(pick(&picker, 3, PAIRS(0, 5, 1, 6, 2, 500)), 3, 2);
}

static void lookup_mode_moves_level_0_up_at_once(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(25, 1, 3);
    config.need_lookup = true;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 0, 2, 0, 2, 0, 2)), 4, 2);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 1, 2, 2, 2)), 3, 2);
    assert_pick(pick(&picker, 3, PAIRS(0, 1, 2, 2)), 1, 1);
    assert_pick(pick(&picker, 3, PAIRS(1, 1, 2, 2)), 0, 0);
}

static void gentle_lookup_compaction_moves_level_0_up_at_intervals(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(25, 1, 5);
    config.need_lookup = true;
    config.lookup_compact_max_interval = 5;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    for (int i = 1; i <= 10; i++)
        assert_pick(pick(&picker, 3, PAIRS(0, 1, 0, 2, 0, 2, 0, 2)), i % 5 == 0 ? 4 : 0, 2);
    for (int i = 1; i <= 5; i++)
        assert_pick(pick(&picker, 3, PAIRS(0, 1, 2, 2)), i == 5 ? 1 : 0, 1);
}

static void offpeak_hours_enlarge_the_ratio(void **state)
{
    (void)state;
    tl_lsm_config config = make_config(1000, 0, 3);
    config.offpeak_start_hour = 0;
    config.offpeak_end_hour = 24;
    config.offpeak_ratio = 20;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 5, PAIRS(0, 8, 1, 9, 4, 100000)), 2, 3);
    config.offpeak_end_hour = 0; /* the same hour twice: switched off */
    assert_pick(pick(&picker, 5, PAIRS(0, 8, 1, 9, 4, 100000)), 0, 0);
}

/* Five runs are enough for the trigger; files of level 0 below 32 KiB wait for eight where nobody waits for them. */
static void small_files_gather_where_nobody_waits(void **state)
{
    (void)state;
    const int64_t small = 32 << 10, *five = PAIRS(0, 100, 0, 100, 0, 100, 0, 100, 0, 100);
    const int64_t *seven = PAIRS(0, 100, 0, 100, 0, 100, 0, 100, 3, 1000, 4, 10000, 5, 100000);
    tl_lsm_config config = make_config(200, 1, 5);
    config.stop_trigger = 8;
    config.trigger_is_default = true;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 0);
    assert_pick(pick(&picker, 6, five), 5, 5);
    assert_pick(pick(&picker, 6, seven), 4, 2);
    picker.patient = true;
    assert_pick(pick(&picker, 6, five), 0, 0);
    assert_pick(pick(&picker, 6, seven), 0, 0);
    assert_pick(pick(&picker, 6, PAIRS(0, 100, 0, 100, 0, 100, 0, 100, 0, 100, 3, 1000, 4, 10000, 5, 100000)), 5, 2);
    /* not where files are large on average, nor where level 0 is not what is too many */
    assert_pick(pick(&picker, 6, PAIRS(0, small, 0, small - 1, 0, small - 1, 0, small, 0, small - 1)), 0, 0);
    assert_pick(pick(&picker, 6, PAIRS(0, small, 0, small, 0, small, 0, small, 0, small)), 5, 5);
    assert_pick(pick(&picker, 6, PAIRS(1, 1, 2, 1, 3, 1, 4, 1, 5, 1)), 5, 5);
    /* writing stops sooner */
    config.stop_trigger = 5;
    assert_pick(pick(&picker, 6, five), 5, 5);
    /* a stop that is far away is none to wait for */
    config.stop_trigger = 1000;
    assert_pick(pick(&picker, 6, seven), 0, 0);
    assert_pick(pick(&picker, 6, PAIRS(0, 100, 0, 100, 0, 100, 0, 100, 0, 100, 3, 1000, 4, 10000, 5, 100000)), 5, 2);
    /* a trigger that was asked for is kept to, and what wants level 0 empty does not wait */
    config.stop_trigger = 8;
    config.trigger_is_default = false;
    assert_pick(pick(&picker, 6, five), 5, 5);
    config.trigger_is_default = config.need_lookup = true;
    assert_pick(pick(&picker, 6, five), 5, 5);
    config.need_lookup = false;
    config.force_up_level0 = true;
    assert_pick(pick(&picker, 6, five), 5, 5);
}

/* ---- space that is given back (stale.c) ---- */

#define MB 1000000

static tl_lsm_config default_config(void)
{
    tl_lsm_config config = make_config(200, 1, 5);
    config.shape_is_default = config.trigger_is_default = true;
    config.stop_trigger = 8;
    return config;
}

/* Four files of level 0 above a level 5 of 20 MB, 30% of its size of them stale. */
static tl_lsm__pick pick_stale(tl_lsm__picker *picker, int64_t each, int64_t stale)
{
    tl_lsm__run runs[5];
    for (int i = 0; i < 4; i++)
        runs[i] = (tl_lsm__run){.bytes = each, .stale = stale / 4};
    runs[4] = (tl_lsm__run){.level = 5, .bytes = 20 * MB};
    return tl_lsm__picker_pick(picker, 6, runs, 5);
}

static void stale_rows_make_a_full_compaction_before_it_is_due(void **state)
{
    (void)state;
    tl_lsm_config config = default_config();
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, &config, /* bucket= */ 1); /* a spread of 0.236: 31% */
    assert_pick(pick_stale(&picker, 2 * MB, 6 * MB), 4, 4);
    assert_pick(pick_stale(&picker, 2 * MB, 7 * MB), 5, 5);
    assert_pick(pick_stale(&picker, 2 * MB / 100, 7 * MB / 100), 4, 4);
    picker.fresh = 0.5; /* what was seen goes before what was estimated */
    assert_pick(pick_stale(&picker, 2 * MB, 8 * MB), 4, 4);
    picker.fresh = 0;
    assert_pick(pick_stale(&picker, 2 * MB, 0), 5, 5);
    config.shape_is_default = false;
    assert_pick(pick_stale(&picker, 2 * MB, 8 * MB), 4, 4);
    config.shape_is_default = true;
    config.changelog_producer = TL_CHANGELOG_FULL_COMPACTION;
    assert_pick(pick_stale(&picker, 2 * MB, 8 * MB), 4, 4);
}

static void buckets_do_not_give_back_at_once(void **state)
{
    (void)state;
    tl_lsm_config config = default_config();
    int picked = 0;
    for (int32_t bucket = 0; bucket < 16; bucket++) {
        tl_lsm__picker picker;
        tl_lsm__picker_init(&picker, &config, bucket);
        assert_true(picker.spread >= 0 && picker.spread < 1);
        picked += pick_stale(&picker, 2 * MB, 75 * MB / 10).output_level == 5; /* 37.5%: half way */
    }
    assert_in_range(picked, 7, 9);
}

/* A BinaryRow of one BIGINT. */
static tl_bytes key_row(uint8_t *row, int64_t key)
{
    memset(row, 0, 20);
    row[3] = 1;
    memcpy(row + 12, &key, sizeof key);
    return (tl_bytes){row, 20};
}

static void key_ranges_tell_what_is_stale(void **state)
{
    (void)state;
    /* rows and range of the oldest run; range of 1,000 bytes above it; stale bytes wanted */
    static const int64_t cases[][6] = {
        {100, 0, 199, 0, 199, 1000},      /* two buckets: every number of this one's is there */
        {100, 0, 199, 100, 299, 500},     /* half of the range */
        {100, 0, 199, 200, 399, 0},       /* keys behind the oldest */
        {50, 0, 199, 0, 199, 500},        /* half of the numbers are there */
        {100, INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX, 0},
        {100, 5, 5, 5, 5, 1000},
    };
    const tl_type *type = NULL;
    tl_error err;
    const char *text = "ROW<v INT, k BIGINT NOT NULL> NOT NULL";
    assert_int_equal(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err), TL_OK);
    tl_table_schema schema = {.row_type = (tl_type *)(uintptr_t)type};
    int32_t key = 1;
    tl_lsm_config config = default_config();
    config.schema = &schema;
    config.key_idx = &key;
    config.n_keys = 1;
    config.total_buckets = 2;
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        uint8_t rows[4][20];
        tl_data_file newer = {.min_key = key_row(rows[0], cases[i][3]), .max_key = key_row(rows[1], cases[i][4]), .bytes = 1000};
        tl_data_file oldest = {.min_key = key_row(rows[2], cases[i][1]), .max_key = key_row(rows[3], cases[i][2]), .rows = cases[i][0], .level = 2};
        tl_data_file *files[] = {&newer, &oldest};
        tl_file_list levels[3] = {{&files[0], 1, 1}, {NULL, 0, 0}, {&files[1], 1, 1}};
        tl_lsm__levels all = {.config = &config, .levels = levels, .n_levels = 3};
        tl_lsm__run runs[] = {{.bytes = 1000}, {.level = 2, .bytes = 5000}};
        tl_lsm__note_stale(&config, &all, runs, 2);
        assert_int_equal(runs[0].stale, cases[i][5]);
        assert_int_equal(runs[1].stale, 0);
        newer.max_key.len = 19; /* another's file: nothing is read beyond it, nothing is known */
        tl_lsm__note_stale(&config, &all, runs, 2);
        assert_int_equal(runs[0].stale, 0);
    }
    tl_type_unref(type);
}

static void a_full_compaction_tells_what_the_next_would_give_back(void **state)
{
    (void)state;
    tl_lsm_config config = default_config();
    tl_lsm__picker picker;
    tl_lsm__run runs[] = {{.bytes = 100, .stale = 7}, {.level = 5, .bytes = 1000}};
    tl_data_file oldest = {.bytes = 1000, .level = 5}, newer = {.bytes = 400}, made = {.bytes = 1100, .level = 5};
    tl_data_file *inputs[] = {&newer, &oldest}, *output = &made;
    tl_lsm__picker_init(&picker, &config, 0);
    assert_int_equal(tl_lsm__stale_bytes(&picker, runs, 2), 7);
    tl_lsm__learn_stale(&picker, 5, &(tl_file_list){inputs, 2, 2}, &(tl_file_list){&output, 1, 1});
    assert_int_equal(tl_lsm__stale_bytes(&picker, runs, 2), 75); /* a quarter of what came was new */
    tl_lsm__learn_stale(&picker, 5, &(tl_file_list){inputs + 1, 1, 1}, &(tl_file_list){&output, 1, 1});
    assert_int_equal(tl_lsm__stale_bytes(&picker, runs, 2), 75); /* nothing came: nothing was learnt */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_amplification_makes_a_full_compaction),
        cmocka_unit_test(runs_of_like_size_are_picked_and_go_above_the_next_level),
        cmocka_unit_test(too_many_runs_are_picked_by_number),
        cmocka_unit_test(fewer_runs_than_the_trigger_are_left_alone),
        cmocka_unit_test(level_0_is_never_the_output),
        cmocka_unit_test(size_amplification_follows_the_known_sequence),
        cmocka_unit_test(the_ratio_decides_whether_the_next_run_is_taken),
        cmocka_unit_test(the_optimization_interval_forces_full_compactions),
        cmocka_unit_test(size_thresholds_force_full_compactions),
        cmocka_unit_test(lookup_mode_moves_level_0_up_at_once),
        cmocka_unit_test(gentle_lookup_compaction_moves_level_0_up_at_intervals),
        cmocka_unit_test(offpeak_hours_enlarge_the_ratio),
        cmocka_unit_test(small_files_gather_where_nobody_waits),
        cmocka_unit_test(stale_rows_make_a_full_compaction_before_it_is_due),
        cmocka_unit_test(buckets_do_not_give_back_at_once),
        cmocka_unit_test(key_ranges_tell_what_is_stale),
        cmocka_unit_test(a_full_compaction_tells_what_the_next_would_give_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
