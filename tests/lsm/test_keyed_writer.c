/*
 * Random histories of writes, flushes, compactions and restarts of one bucket, for each merge engine and changelog producer,
 * against a model that keeps every record: the table's content is equal after each commit, the changelog replays to it, and
 * every file is what its entry says.
 */
#include "lsm_support.h"

typedef enum engine { DEDUPLICATE, SEQUENCE, PARTIAL, AGGREGATION, GROUP, FIRST_ROW } engine;

typedef struct setup {
    engine engine;
    const char *producer;
    const char *buffer_bytes;
    const char *target_bytes;
    const char *formats; /* per level; NULL: Parquet */
    bool threads;
    bool write_only;
    bool not_spillable;
    bool row_deduplicate;
} setup;

typedef struct world {
    setup setup;
    uint64_t rng;
    tl_fs *fs;
    tl_lsm_config *config;
    tl_pool *pool;
    tl_bucket_writer *writer;
    tl_file_list live;
    rows history;     /* every record that the table took, in order */
    size_t committed; /* records of `history` that are committed */
    rows since;       /* records since the last commit, for producer input */
    rows replayed;    /* the table as the changelog tells it */
} world;

/* ---- the model ---- */

static void fold_partial(row *acc, const row *r)
{
    if (r->has_a)
        acc->has_a = true, acc->a = r->a;
    if (r->has_b)
        acc->has_b = true, acc->b = r->b;
    if (r->has_s)
        acc->has_s = true, acc->s = r->s;
}

static void fold_aggregation(row *acc, const row *r)
{
    if (r->has_a)
        acc->a = acc->has_a ? acc->a + r->a : r->a, acc->has_a = true;
    if (r->has_b)
        acc->b = acc->has_b ? TL_MAX(acc->b, r->b) : r->b, acc->has_b = true;
    if (r->has_s)
        acc->has_s = true, acc->s = r->s;
}

static void fold_group(row *acc, const row *r)
{
    if (r->s >= acc->s)
        *acc = *r;
}

static void fold_sequence(row *acc, const row *r)
{
    bool older = acc->has_s && (!r->has_s || r->s < acc->s);
    if (!older)
        *acc = *r;
}

static int compare_history(const void *x, const void *y)
{
    const row *a = x, *b = y;
    int c = compare_keys(a, b);
    return c != 0 ? c : (a->seq > b->seq) - (a->seq < b->seq);
}

/* Content after all records of a history. */
static void model_content(engine e, const rows *history, size_t n, rows *out)
{
    rows sorted = {0};
    for (size_t i = 0; i < n; i++) {
        rows_add(&sorted, history->items[i]);
        sorted.items[i].seq = (int64_t)i;
    }
    if (n > 0)
        qsort(sorted.items, n, sizeof(row), compare_history);
    for (size_t i = 0; i < n;) {
        row acc = sorted.items[i];
        size_t j = i + 1;
        for (; j < n && compare_keys(&sorted.items[i], &sorted.items[j]) == 0; j++) {
            const row *r = &sorted.items[j];
            switch (e) {
            case DEDUPLICATE:
                acc = *r;
                break;
            case SEQUENCE:
                fold_sequence(&acc, r);
                break;
            case PARTIAL:
                fold_partial(&acc, r);
                break;
            case AGGREGATION:
                fold_aggregation(&acc, r);
                break;
            case GROUP:
                fold_group(&acc, r);
                break;
            case FIRST_ROW:
                break;
            }
        }
        if (!tl_kind_is_retract(acc.kind))
            rows_add(out, acc);
        i = j;
    }
    rows_free(&sorted);
}

/* ---- the world ---- */

static void open_writer(world *w)
{
    tl_error err;
    assert_ok(tl_bucket_writer_create(w->config, NO_PARTITION, 0, 1, w->live.items, w->live.n, w->pool, &w->writer, &err),
              &err);
}

static void open_world(world *w, setup s, uint64_t seed)
{
    const char *options[40] = {"bucket",
                               "1",
                               "num-sorted-run.compaction-trigger",
                               "3",
                               "target-file-size",
                               s.target_bytes,
                               "changelog-producer",
                               s.producer,
                               "write-buffer-size",
                               s.buffer_bytes,
                               "write-only",
                               s.write_only ? "true" : "false",
                               "write-buffer-spillable",
                               s.not_spillable ? "false" : "true",
                               "changelog-producer.row-deduplicate",
                               s.row_deduplicate ? "true" : "false"};
    int n = 16;
    if (s.formats != NULL) {
        options[n++] = "file.format.per.level";
        options[n++] = s.formats;
    }
    static const char *const by_engine[][8] = {
        [DEDUPLICATE] = {NULL},
        [SEQUENCE] = {"sequence.field", "s", NULL},
        [PARTIAL] = {"merge-engine", "partial-update", "ignore-delete", "true", NULL},
        [AGGREGATION] = {"merge-engine", "aggregation", "fields.a.aggregate-function", "sum", "fields.b.aggregate-function",
                         "max", NULL},
        [FIRST_ROW] = {"merge-engine", "first-row", "ignore-delete", "true", NULL},
        [GROUP] = {"merge-engine", "partial-update", "fields.s.sequence-group", "a,b", NULL},
    };
    for (int i = 0; by_engine[s.engine][i] != NULL; i++)
        options[n++] = by_engine[s.engine][i];
    tl_error err;
    *w = (world){.setup = s, .rng = seed, .fs = memory_fs()};
    w->config = make_config_on(w->fs, options, /* keyed= */ true);
    if (s.threads)
        assert_ok(tl_pool_create(2, &w->pool, &err), &err);
    open_writer(w);
}

static void close_world(world *w)
{
    tl_bucket_writer_free(w->writer);
    tl_pool_free(w->pool);
    tl_file_list_deinit(&w->live);
    rows_free(&w->history);
    rows_free(&w->since);
    rows_free(&w->replayed);
    tl_lsm_config_unref(w->config);
    tl_fs_unref(w->fs);
}

static uint8_t random_kind(world *w)
{
    engine e = w->setup.engine;
    if (e == DEDUPLICATE || e == PARTIAL)
        return (uint8_t)(test_random(&w->rng) % 4);
    if (e == FIRST_ROW) /* tells records as they came: a +U would not replay */
        return test_random(&w->rng) % 4 == 0 ? TL_KIND_DELETE : TL_KIND_INSERT;
    return test_random(&w->rng) % 3 == 0 ? TL_KIND_UPDATE_AFTER : TL_KIND_INSERT;
}

static row random_row(world *w, int32_t keys)
{
    uint64_t *rng = &w->rng;
    row r = {.k = (int32_t)(test_random(rng) % (uint64_t)keys), .t = (int32_t)(test_random(rng) % 3), .kind = random_kind(w)};
    r.has_a = test_random(rng) % 4 != 0;
    r.a = r.has_a ? (int64_t)(test_random(rng) % 5) : 0;
    r.has_b = test_random(rng) % 4 != 0;
    r.b = r.has_b ? (int32_t)(test_random(rng) % 900) : 0;
    /* A record without its group's sequence counts alone, but not beside others: left out, since that depends on flushes. */
    r.has_s = w->setup.engine == GROUP || test_random(rng) % 4 != 0;
    r.s = r.has_s ? (int32_t)(test_random(rng) % 20) : 0;
    return r;
}

static void write_rows(world *w)
{
    rows list = {0};
    tl_error err;
    static const int32_t ranges[] = {3, 40, 400, 5000};
    size_t n = test_random(&w->rng) % 3 == 0 ? test_random(&w->rng) % 2000 : test_random(&w->rng) % 50;
    int32_t keys = ranges[test_random(&w->rng) % TL_ARRAY_LEN(ranges)];
    for (size_t i = 0; i < n; i++)
        rows_add(&list, random_row(w, keys));
    tl_batch *batch = make_batch(w->config->schema->row_type, list.items, n);
    assert_ok(tl_bucket_writer_write(w->writer, batch, &err), &err);
    tl_batch_free(batch);
    for (size_t i = 0; i < n; i++) {
        if (w->config->ignore_delete && tl_kind_is_retract(list.items[i].kind))
            continue;
        rows_add(&w->history, list.items[i]);
        rows_add(&w->since, list.items[i]);
    }
    rows_free(&list);
}

/* ---- changelogs ---- */

static row *find_replayed(world *w, const row *r)
{
    for (size_t i = 0; i < w->replayed.n; i++) {
        if (compare_keys(&w->replayed.items[i], r) == 0)
            return &w->replayed.items[i];
    }
    return NULL;
}

static void replay_row(world *w, const row *r, const row *previous)
{
    row *now = find_replayed(w, r);
    switch (r->kind) {
    case TL_KIND_INSERT:
        if (now != NULL)
            print_row("inserted twice", r);
        assert_null(now);
        rows_add(&w->replayed, *r);
        break;
    case TL_KIND_UPDATE_AFTER:
        assert_non_null(now);
        assert_true(previous != NULL && previous->kind == TL_KIND_UPDATE_BEFORE && compare_keys(previous, r) == 0);
        *now = *r;
        break;
    default: /* tells the old values */
        assert_non_null(now);
        if (!same_values(now, r)) {
            print_row("is", now);
            print_row("told", r);
        }
        assert_true(same_values(now, r));
        if (r->kind == TL_KIND_DELETE)
            *now = w->replayed.items[--w->replayed.n];
        break;
    }
}

static void check_changelog(world *w, const tl_commit_message *msg, bool all_told, rows *content)
{
    rows told = {0};
    if (w->config->changelog_producer == TL_CHANGELOG_INPUT) {
        read_files(w->config, &msg->changelog_files, &told);
        assert_same_rows(&told, &w->since, /* with_kinds= */ true);
    } else if (w->config->changelog_producer != TL_CHANGELOG_NONE) {
        assert_int_equal(msg->changelog_files.n, 0);
        read_files(w->config, &msg->compact_changelog, &told);
        for (size_t i = 0; i < told.n; i++)
            replay_row(w, &told.items[i], i > 0 ? &told.items[i - 1] : NULL);
        if (all_told)
            assert_same_rows(&w->replayed, content, /* with_kinds= */ false);
    }
    rows_free(&told);
}

/* ---- steps ---- */

static void commit(world *w, bool wait, bool full)
{
    tl_commit_message msg;
    rows got = {0}, want = {0};
    tl_error err;
    if (test_random(&w->rng) % 3 == 0)
        assert_ok(tl_bucket_writer_begin_prepare(w->writer, wait, &err), &err);
    assert_ok(tl_bucket_writer_prepare(w->writer, wait, &msg, &err), &err);
    apply_message(&w->live, &msg);
    check_message(w->config, &msg);
    check_levels(w->config, &w->live);
    w->committed = w->history.n;
    model_content(w->setup.engine, &w->history, w->committed, &want);
    read_live(w->config, &w->live, &got);
    for (size_t i = 1; i < got.n; i++)
        assert_true(compare_keys(&got.items[i - 1], &got.items[i]) < 0);
    assert_same_rows(&got, &want, /* with_kinds= */ false);
    bool told = w->config->changelog_producer == TL_CHANGELOG_LOOKUP ? tl_bucket_writer_idle(w->writer) : full;
    check_changelog(w, &msg, told, &want);
    w->since.n = 0;
    tl_commit_message_deinit(&msg);
    rows_free(&got);
    rows_free(&want);
}

static void restart(world *w)
{
    tl_bucket_writer_free(w->writer);
    w->history.n = w->committed; /* what was not committed is lost */
    w->since.n = 0;
    open_writer(w);
}

static void step(world *w)
{
    tl_error err;
    switch (test_random(&w->rng) % 12) {
    case 0:
        assert_ok(tl_bucket_writer_flush(w->writer, &err), &err);
        break;
    case 1:
        if (!w->setup.write_only) {
            assert_ok(tl_bucket_writer_compact(w->writer, /* full= */ true, &err), &err);
            commit(w, /* wait= */ true, /* full= */ true);
        }
        break;
    case 2:
        assert_ok(tl_bucket_writer_compact(w->writer, /* full= */ false, &err), &err);
        break;
    case 3:
    case 4:
    case 5:
        commit(w, test_random(&w->rng) % 2 == 0, /* full= */ false);
        break;
    case 6:
        restart(w);
        break;
    default:
        write_rows(w);
        break;
    }
}

static void run_history(setup s, uint64_t seed, int steps)
{
    world w;
    open_world(&w, s, seed);
    for (int i = 0; i < steps; i++)
        step(&w);
    commit(&w, /* wait= */ true, /* full= */ false);
    close_world(&w);
}

static void run_histories(setup s, uint64_t seed)
{
    static const char *const buffers[] = {"40 kb", "256 mb", "3 kb"};
    static const char *const targets[] = {"20 kb", "1 kb", "128 mb"};
    for (uint64_t i = 0; i < 9; i++) {
        s.threads = i % 2 == 1;
        s.not_spillable = i % 4 == 3;
        s.row_deduplicate = i % 4 == 2;
        s.buffer_bytes = buffers[i % 3];
        s.target_bytes = targets[i / 3];
        run_history(s, seed + i, 100);
    }
}

#define HISTORY_TEST(NAME, ENGINE, PRODUCER)                                          \
    static void NAME(void **state)                                                    \
    {                                                                                 \
        (void)state;                                                                  \
        run_histories((setup){.engine = ENGINE, .producer = PRODUCER}, test_seed(1)); \
    }
HISTORY_TEST(deduplicate_keeps_the_last_record, DEDUPLICATE, "none")
HISTORY_TEST(deduplicate_tells_its_input, DEDUPLICATE, "input")
HISTORY_TEST(deduplicate_tells_changes_by_lookup, DEDUPLICATE, "lookup")
HISTORY_TEST(deduplicate_tells_changes_by_full_compaction, DEDUPLICATE, "full-compaction")
HISTORY_TEST(sequence_field_orders_records, SEQUENCE, "none")
HISTORY_TEST(sequence_field_with_lookup_changelog, SEQUENCE, "lookup")
HISTORY_TEST(sequence_field_with_full_compaction_changelog, SEQUENCE, "full-compaction")
HISTORY_TEST(partial_update_fills_columns, PARTIAL, "none")
HISTORY_TEST(partial_update_with_input_changelog, PARTIAL, "input")
HISTORY_TEST(partial_update_with_lookup_changelog, PARTIAL, "lookup")
HISTORY_TEST(partial_update_with_full_compaction_changelog, PARTIAL, "full-compaction")
HISTORY_TEST(aggregation_sums, AGGREGATION, "none")
HISTORY_TEST(aggregation_with_lookup_changelog, AGGREGATION, "lookup")
HISTORY_TEST(aggregation_with_full_compaction_changelog, AGGREGATION, "full-compaction")
HISTORY_TEST(sequence_group_with_lookup_changelog, GROUP, "lookup")
HISTORY_TEST(first_row_keeps_the_first, FIRST_ROW, "none")
HISTORY_TEST(first_row_tells_new_keys, FIRST_ROW, "lookup")
HISTORY_TEST(sequence_group_keeps_the_newest, GROUP, "none")

static void formats_can_differ_by_level(void **state)
{
    (void)state;
    run_histories((setup){.engine = DEDUPLICATE, .producer = "lookup", .formats = "0:avro"}, test_seed(1));
    run_histories((setup){.engine = PARTIAL, .producer = "none", .formats = "0:avro,3:avro"}, test_seed(1));
}

static void write_only_tables_never_compact(void **state)
{
    (void)state;
    setup s = {
        .engine = DEDUPLICATE, .producer = "input", .buffer_bytes = "40 kb", .target_bytes = "20 kb", .write_only = true};
    for (uint64_t seed = 1; seed < 4; seed++)
        run_history(s, seed, 60);
}

/* Far more runs than are merged at once. */
static void hundreds_of_spilled_runs_make_one_flush(void **state)
{
    (void)state;
    static const setup setups[] = {
        {.engine = DEDUPLICATE, .producer = "input", .buffer_bytes = "100 b", .target_bytes = "128 mb"},
        {.engine = DEDUPLICATE, .producer = "none", .buffer_bytes = "100 b", .target_bytes = "128 mb"},
        {.engine = AGGREGATION, .producer = "none", .buffer_bytes = "100 b", .target_bytes = "128 mb"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(setups); i++) {
        world w;
        open_world(&w, setups[i], i);
        for (int n = 0; n < 300; n++)
            write_rows(&w);
        commit(&w, /* wait= */ true, /* full= */ false);
        close_world(&w);
    }
}

/* Commits of a row each, without a thread for compactions: the commit (1 = the first) that tells of one, up to `most`. */
static int commits_until_compaction(const char *const *options, bool wait, int most, size_t *runs)
{
    tl_fs *fs = memory_fs();
    tl_lsm_config *config = make_config_on(fs, options, /* keyed= */ true);
    tl_bucket_writer *writer = NULL;
    tl_file_list live = {0};
    rows expected = {0}, got = {0};
    tl_error err;
    assert_ok(tl_bucket_writer_create(config, NO_PARTITION, 0, 1, NULL, 0, NULL, &writer, &err), &err);
    int commits = 0;
    for (*runs = 0; *runs == 0 && commits < most; commits++) {
        row r = {.k = commits, .has_a = true, .a = commits};
        rows_add(&expected, r);
        tl_batch *batch = make_batch(config->schema->row_type, &r, 1);
        assert_ok(tl_bucket_writer_write(writer, batch, &err), &err);
        tl_batch_free(batch);
        tl_commit_message msg = {0};
        assert_ok(tl_bucket_writer_prepare(writer, wait, &msg, &err), &err);
        *runs = msg.compact_before.n;
        apply_message(&live, &msg);
        tl_commit_message_deinit(&msg);
        check_levels(config, &live);
    }
    read_live(config, &live, &got);
    assert_same_rows(&got, &expected, /* with_kinds= */ false);
    tl_bucket_writer_free(writer);
    tl_file_list_deinit(&live);
    rows_free(&got);
    rows_free(&expected);
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
    return commits;
}

static void small_files_gather_where_no_commit_waits(void **state)
{
    (void)state;
    static const char *const by_default[] = {"bucket", "1", NULL};
    static const char *const asked_for[] = {"bucket", "1", "num-sorted-run.compaction-trigger", "5", NULL};
    size_t runs;
    assert_int_equal(commits_until_compaction(by_default, /* wait= */ false, 20, &runs), 8);
    assert_int_equal(runs, 8);
    assert_int_equal(commits_until_compaction(by_default, /* wait= */ true, 20, &runs), 5);
    assert_int_equal(runs, 5);
    assert_int_equal(commits_until_compaction(asked_for, /* wait= */ false, 20, &runs), 5);
    assert_int_equal(runs, 5);
}

/* Bytes of a file of level 0 with rows whose texts are random digits. */
static int64_t flushed_bytes(const char *const *options, size_t n)
{
    tl_fs *fs = memory_fs();
    tl_lsm_config *config = make_config_on(fs, options, /* keyed= */ true);
    tl_bucket_writer *writer = NULL;
    tl_error err;
    uint64_t rng = 9;
    rows expected = {0}, found = {0};
    assert_ok(tl_bucket_writer_create(config, NO_PARTITION, 0, 1, NULL, 0, NULL, &writer, &err), &err);
    for (size_t i = 0; i < n; i++)
        rows_add(&expected, (row){.k = (int32_t)i, .has_b = true, .b = (int32_t)(test_random(&rng) % 1000)});
    tl_batch *batch = make_batch(config->schema->row_type, expected.items, n);
    assert_ok(tl_bucket_writer_write(writer, batch, &err), &err);
    tl_batch_free(batch);
    tl_commit_message msg = {0};
    assert_ok(tl_bucket_writer_prepare(writer, /* wait= */ true, &msg, &err), &err);
    assert_int_equal(msg.new_files.n, 1);
    int64_t bytes = msg.new_files.items[0]->bytes;
    read_files(config, &msg.new_files, &found);
    assert_same_rows(&found, &expected, false);
    tl_commit_message_deinit(&msg);
    tl_bucket_writer_free(writer);
    tl_lsm_config_unref(config);
    tl_fs_unref(fs);
    rows_free(&expected);
    rows_free(&found);
    return bytes;
}

/* The next compaction rewrites them anyhow; what somebody has chosen is kept to, and where nothing compacts files are as small as they can be. */
static void small_files_are_compressed_lightly(void **state)
{
    (void)state;
    static const char *const chosen[] = {"file.compression.zstd-level", "1", NULL}, *const write_only[] = {"write-only", "true", NULL};
    static const char *const none[] = {NULL};
    assert_int_equal(flushed_bytes(chosen, 500), flushed_bytes(write_only, 500));
    assert_true(flushed_bytes(none, 500) > flushed_bytes(chosen, 500) * 11 / 10);
    assert_int_equal(flushed_bytes(none, 3000), flushed_bytes(chosen, 3000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deduplicate_keeps_the_last_record),
        cmocka_unit_test(deduplicate_tells_its_input),
        cmocka_unit_test(deduplicate_tells_changes_by_lookup),
        cmocka_unit_test(deduplicate_tells_changes_by_full_compaction),
        cmocka_unit_test(sequence_field_orders_records),
        cmocka_unit_test(sequence_field_with_lookup_changelog),
        cmocka_unit_test(sequence_field_with_full_compaction_changelog),
        cmocka_unit_test(partial_update_fills_columns),
        cmocka_unit_test(partial_update_with_input_changelog),
        cmocka_unit_test(partial_update_with_lookup_changelog),
        cmocka_unit_test(partial_update_with_full_compaction_changelog),
        cmocka_unit_test(aggregation_sums),
        cmocka_unit_test(aggregation_with_lookup_changelog),
        cmocka_unit_test(aggregation_with_full_compaction_changelog),
        cmocka_unit_test(sequence_group_with_lookup_changelog),
        cmocka_unit_test(sequence_group_keeps_the_newest),
        cmocka_unit_test(first_row_keeps_the_first),
        cmocka_unit_test(first_row_tells_new_keys),
        cmocka_unit_test(formats_can_differ_by_level),
        cmocka_unit_test(write_only_tables_never_compact),
        cmocka_unit_test(hundreds_of_spilled_runs_make_one_flush),
        cmocka_unit_test(small_files_gather_where_no_commit_waits),
        cmocka_unit_test(small_files_are_compressed_lightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
