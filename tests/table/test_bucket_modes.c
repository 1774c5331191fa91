/*
 * Tables whose buckets are not fixed: dynamic ones by a hash index, primary keys that span partitions, rows that wait for a
 * bucket. What the reference makes of such tables is compared in tests/interop; here: restarts, limits, several writers, files that
 * stay or go, failing allocations.
 */
#include "table_support.h"

static size_t count_files(lake *l, const char *below)
{
    char **paths = NULL;
    size_t n = 0;
    walk_files(l->fs, below, &paths, &n);
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
    return n;
}

/* Hashes in the indexes of the latest snapshot, by bucket; *n is the number of index files. */
static int64_t indexed(tl_table *table, int64_t *by_bucket, size_t *n)
{
    tl_snapshot *latest = NULL;
    tl_index_entries indexes = {0};
    tl_error err;
    int64_t rows = 0;
    assert_ok(tl_table_latest_snapshot(table, &latest, &err), &err);
    assert_ok(tl_indexes__read(table, latest, &indexes, &err), &err);
    *n = indexes.n;
    for (size_t i = 0; i < indexes.n; i++) {
        rows += indexes.items[i].file->rows;
        if (by_bucket != NULL)
            by_bucket[indexes.items[i].bucket] = indexes.items[i].file->rows;
    }
    tl_index_entries_deinit(&indexes);
    tl_snapshot_free(latest);
    return rows;
}

static char *keys_from(int from, int to, int v)
{
    char *text = calloc(1, (size_t)(to - from) * 40 + 1), *at = text;
    for (int k = from; k < to; k++)
        at += sprintf(at, "{'k':%d,'v':%d}\n", k, v);
    return text;
}

static void put_keys(tl_table *table, int from, int to, int v)
{
    char *lines = keys_from(from, to, v);
    (void)put(table, lines);
    free(lines);
}

/* ---- dynamic buckets ---- */

static void keys_fill_buckets_and_keep_theirs(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v INT", "k", NULL, "dynamic-bucket.target-row-num=10");
    tl_table *table = open_table(&l, "t");
    size_t n = 0;
    int64_t by_bucket[8] = {0};
    put_keys(table, 0, 25, 1);
    assert_int_equal(indexed(table, by_bucket, &n), 25);
    assert_int_equal(n, 3);
    assert_int_equal(by_bucket[0], 10);
    assert_int_equal(by_bucket[1], 10);
    assert_int_equal(by_bucket[2], 5);
    tl_table_free(table);

    table = open_table(&l, "t"); /* a new writer finds them again */
    put_keys(table, 10, 28, 2);
    assert_int_equal(indexed(table, by_bucket, &n), 28);
    assert_int_equal(by_bucket[2], 8);
    put_keys(table, 0, 28, 3); /* no new key, no new index */
    tl_snapshot *latest = NULL, *before = NULL;
    tl_error err;
    assert_ok(tl_table_latest_snapshot(table, &latest, &err), &err);
    assert_ok(tl_snapshot_read(table->fs, &table->paths, latest->id - 1, &before, &err), &err);
    assert_string_equal(latest->index_manifest, before->index_manifest);
    tl_snapshot_free(latest);
    tl_snapshot_free(before);
    char *want = keys_from(0, 28, 3);
    assert_rows(&l, "t", NULL, want);
    free(want);
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void buckets_are_limited_and_dealt_out(void **state)
{
    (void)state;
    lake l = memory_lake();
    size_t n = 0;
    int64_t by_bucket[8] = {0};
    create(&l, "most", "k INT NOT NULL, v INT", "k", NULL, "dynamic-bucket.target-row-num=5,dynamic-bucket.max-buckets=2");
    tl_table *table = open_table(&l, "most");
    put_keys(table, 0, 40, 1);
    assert_int_equal(indexed(table, by_bucket, &n), 40);
    assert_int_equal(n, 2);
    assert_true(by_bucket[0] > 5 && by_bucket[1] > 5);
    put_keys(table, 0, 40, 2);
    char *want = keys_from(0, 40, 2);
    assert_rows(&l, "most", NULL, want);
    free(want);
    tl_table_free(table);

    create(&l, "initial", "k INT NOT NULL, v INT", "k", NULL, "dynamic-bucket.initial-buckets=4");
    table = open_table(&l, "initial");
    put_keys(table, 0, 200, 1);
    assert_int_equal(indexed(table, by_bucket, &n), 200);
    assert_int_equal(n, 4);
    for (int b = 0; b < 4; b++)
        assert_true(by_bucket[b] > 20);
    tl_table_free(table);
    close_lake(&l);
}

static void two_writers_of_a_partition_conflict(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "p INT NOT NULL, k INT NOT NULL, v INT", "p,k", "p", "dynamic-bucket.target-row-num=2");
    tl_table *table = open_table(&l, "t");
    (void)put(table, "{'p':1,'k':1,'v':1}\n{'p':2,'k':1,'v':1}\n");
    tl_commit_messages mine = prepared(table, "{'p':1,'k':2,'v':2}\n", false);
    tl_commit_messages apart = prepared(table, "{'p':2,'k':2,'v':2}\n", false);
    (void)put(table, "{'p':1,'k':2,'v':3}\n{'p':1,'k':3,'v':3}\n{'p':1,'k':4,'v':3}\n");
    size_t files = count_files(&l, "/lake/d.db/t/p=1") + count_files(&l, "/lake/d.db/t/index");
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    assert_int_equal(tl_table_commit(table, &spec, &mine, NULL, &err), TL_E_CONFLICT);
    assert_int_equal(err.retryable, 0);
    assert_non_null(strstr(err.message, "one job at a time"));
    assert_int_equal(count_files(&l, "/lake/d.db/t/p=1") + count_files(&l, "/lake/d.db/t/index"), files - 2); /* a data and an index file */
    assert_ok(tl_table_commit(table, &spec, &apart, NULL, &err), &err);
    assert_rows(&l, "t", NULL,
                "{'p':1,'k':1,'v':1}\n{'p':1,'k':2,'v':3}\n{'p':1,'k':3,'v':3}\n{'p':1,'k':4,'v':3}\n{'p':2,'k':1,'v':1}\n{'p':2,'k':2,'v':2}\n");
    tl_commit_messages_deinit(&mine);
    tl_commit_messages_deinit(&apart);
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void a_long_lived_writer_goes_on_until_others_add_keys(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "k INT NOT NULL, v INT", "k", NULL, "dynamic-bucket.target-row-num=2");
    tl_table *table = open_table(&l, "t");
    tl_table_writer *writer = NULL;
    assert_ok(tl_table_writer_create(table, NULL, &writer, &err), &err);
    for (int round = 0; round < 6; round++) {
        char *lines = keys_from(round, round + 4, round);
        assert_ok(write_lines(table, writer, lines, &err), &err);
        free(lines);
        tl_commit_messages messages = {0};
        tl_commit_spec spec = batch_commit("job", round + 1);
        tl_commit_result result = {0};
        assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
        assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
        assert_ok(tl_table_writer_committed(writer, &result, &err), &err);
        tl_commit_messages_deinit(&messages);
        if (round == 2) /* changes no keys: the writer goes on */
            assert_ok(tl_table_compact(table, NULL, true, NULL, NULL, &err), &err);
    }
    /* Keys of others since then: a conflict once, then a new view. */
    put_keys(table, 20, 23, 0);
    for (int round = 0; round < 2; round++) {
        tl_commit_messages messages = {0};
        tl_commit_spec spec = batch_commit("job", 10 + round);
        tl_commit_result result = {0};
        assert_ok(write_lines(table, writer, "{'k':30,'v':9}\n", &err), &err);
        assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
        tl_status status = tl_table_commit(table, &spec, &messages, &result, &err);
        assert_int_equal(status, round == 0 ? TL_E_CONFLICT : TL_OK);
        tl_commit_messages_deinit(&messages);
        if (round == 0) {
            tl_table_writer_free(writer);
            assert_ok(tl_table_writer_create(table, NULL, &writer, &err), &err);
        }
    }
    tl_table_writer_free(writer);
    assert_rows(&l, "t", NULL,
                "{'k':20,'v':0}\n{'k':21,'v':0}\n{'k':22,'v':0}\n{'k':30,'v':9}\n{'k':0,'v':0}\n{'k':1,'v':1}\n{'k':2,'v':2}\n{'k':3,'v':3}\n{'k':4,'v':4}\n{'k':5,'v':5}\n{'k':6,'v':5}\n{'k':7,'v':5}\n"
                "{'k':8,'v':5}\n");
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void overwrites_begin_a_new_index_and_expiry_takes_the_old(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    size_t n = 0;
    create(&l, "t", "k INT NOT NULL, v INT", "k", NULL, "dynamic-bucket.target-row-num=5,snapshot.num-retained.min=1");
    tl_table *table = open_table(&l, "t");
    put_keys(table, 0, 12, 1);
    put_keys(table, 12, 14, 1);
    assert_ok(tl_table_create_tag(table, "old", 0, TL_ABSENT, &err), &err);
    assert_int_equal(count_files(&l, "/lake/d.db/t/index"), 4);
    tl_commit_messages messages = {0};
    char *lines = keys_from(5, 8, 2);
    assert_ok(prepare_lines(table, lines, false, /* ignore_previous= */ true, &messages, &err), &err);
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    spec.overwrite = true;
    assert_ok(tl_table_commit(table, &spec, &messages, NULL, &err), &err);
    tl_commit_messages_deinit(&messages);
    assert_int_equal(indexed(table, NULL, &n), 3);
    assert_int_equal(n, 1);
    assert_rows(&l, "t", NULL, lines);
    free(lines);

    tl_expire_spec all = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    assert_ok(tl_table_expire(table, &all, NULL, &err), &err);
    assert_int_equal(count_files(&l, "/lake/d.db/t/index"), 4); /* the tag's three and the new one */
    char *tagged = keys_from(0, 14, 1);
    assert_rows(&l, "t", "scan.tag-name=old", tagged);
    assert_ok(tl_table_rollback(table, 0, "old", &err), &err);
    put_keys(table, 0, 14, 1);
    assert_rows(&l, "t", NULL, tagged);
    free(tagged);
    assert_ok(tl_table_expire(table, &all, NULL, &err), &err);
    assert_ok(tl_table_delete_tag(table, "old", &err), &err);
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- primary keys that span partitions ---- */

static const char *const moves = "{'p':'a','k':1,'v':1}\n{'p':'a','k':2,'v':2}\n{'p':'b','k':1,'v':10}\n{'p':'b','k':3,'v':3}\n";

static void a_key_that_moves_follows_the_merge_engine(void **state)
{
    (void)state;
    static const struct {
        const char *options, *want;
    } engines[] = {
        {"merge-engine=deduplicate", "{'p':'b','k':1,'v':100}\n{'p':'a','k':2,'v':2}\n{'p':'c','k':3,'v':30}\n"},
        {"merge-engine=partial-update", "{'p':'a','k':1,'v':100}\n{'p':'a','k':2,'v':2}\n{'p':'b','k':3,'v':30}\n"},
        {"merge-engine=aggregation,fields.v.aggregate-function=sum", "{'p':'a','k':1,'v':111}\n{'p':'a','k':2,'v':2}\n{'p':'b','k':3,'v':33}\n"},
        {"merge-engine=first-row,changelog-producer=lookup", "{'p':'a','k':1,'v':1}\n{'p':'a','k':2,'v':2}\n{'p':'b','k':3,'v':3}\n"},
    };
    lake l = memory_lake();
    for (size_t i = 0; i < TL_ARRAY_LEN(engines); i++) {
        char name[8];
        snprintf(name, sizeof name, "t%zu", i);
        create(&l, name, "p STRING NOT NULL, k INT NOT NULL, v INT", "k", "p", engines[i].options);
        tl_table *table = open_table(&l, name);
        (void)put(table, moves);
        (void)put(table, "{'p':'b','k':1,'v':100}\n{'p':'c','k':3,'v':30}\n"); /* another writer: it reads the keys first */
        tl_error err;
        assert_ok(tl_table_compact(table, NULL, true, NULL, NULL, &err), &err);
        assert_rows(&l, name, NULL, engines[i].want);
        assert_sound(table);
        tl_table_free(table);
    }
    close_lake(&l);
}

static void writers_of_moving_keys_conflict_but_not_with_compactions(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "p STRING NOT NULL, k INT NOT NULL, v INT", "k", "p", NULL);
    tl_table *table = open_table(&l, "t");
    (void)put(table, moves);
    tl_commit_messages first = prepared(table, "{'p':'c','k':1,'v':5}\n", false), second = prepared(table, "{'p':'d','k':1,'v':6}\n", false);
    assert_ok(tl_table_compact(table, NULL, true, NULL, NULL, &err), &err);
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    assert_ok(tl_table_commit(table, &spec, &first, NULL, &err), &err);
    assert_int_equal(tl_table_commit(table, &spec, &second, NULL, &err), TL_E_CONFLICT);
    assert_int_equal(err.retryable, 0);
    assert_rows(&l, "t", NULL, "{'p':'c','k':1,'v':5}\n{'p':'a','k':2,'v':2}\n{'p':'b','k':3,'v':3}\n");
    tl_commit_messages_deinit(&first);
    tl_commit_messages_deinit(&second);

    tl_commit_messages part = {0};
    assert_ok(prepare_lines(table, "{'p':'a','k':3,'v':7}\n", false, /* ignore_previous= */ true, &part, &err), &err);
    spec.overwrite = true;
    assert_ok(tl_table_commit(table, &spec, &part, NULL, &err), &err);
    assert_rows(&l, "t", NULL, "{'p':'c','k':1,'v':5}\n{'p':'a','k':3,'v':7}\n"); /* 2 is overwritten, 3 comes from b (test_retract.c) */
    tl_commit_messages_deinit(&part);
    tl_table_free(table);

    table = open_with(&l, "t", "dynamic-partition-overwrite=false");
    assert_ok(prepare_lines(table, "{'p':'a','k':3,'v':7}\n", false, /* ignore_previous= */ true, &part, &err), &err);
    assert_ok(tl_table_commit(table, &spec, &part, NULL, &err), &err);
    tl_commit_messages_deinit(&part);
    assert_rows(&l, "t", NULL, "{'p':'a','k':3,'v':7}\n");
    tl_table_free(table);
    close_lake(&l);
}

/* ---- postponed buckets ---- */

static void rows_wait_until_a_compaction_gives_them_buckets(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "p INT NOT NULL, k INT NOT NULL, v INT", "p,k", "p", "bucket=-2,postpone.default-bucket-num=2");
    tl_table *table = open_table(&l, "t");
    (void)put(table, "{'p':1,'k':1,'v':1}\n{'p':1,'k':2,'v':1}\n{'p':2,'k':1,'v':1}\n");
    (void)put(table, "{'p':1,'k':1,'v':2}\n{'_kind':'-D','p':1,'k':2,'v':1}\n");
    assert_rows(&l, "t", NULL, "");
    assert_int_equal(count_files(&l, "/lake/d.db/t/p=1/bucket-postpone"), 2);
    assert_sound(table);
    tl_commit_result result = {0};
    assert_ok(tl_table_compact(table, NULL, false, NULL, &result, &err), &err);
    assert_int_equal(result.snapshots, 1);
    assert_rows(&l, "t", NULL, "{'p':1,'k':1,'v':2}\n{'p':2,'k':1,'v':1}\n");
    assert_ok(tl_table_compact(table, NULL, false, NULL, &result, &err), &err);
    assert_int_equal(result.snapshots, 0); /* nothing waits */
    tl_table_free(table);

    table = open_with(&l, "t", "postpone.default-bucket-num=5"); /* a partition keeps its number */
    (void)put(table, "{'p':1,'k':7,'v':7}\n{'p':3,'k':1,'v':3}\n");
    assert_ok(tl_table_compact(table, NULL, false, NULL, &result, &err), &err);
    assert_rows(&l, "t", NULL, "{'p':1,'k':1,'v':2}\n{'p':1,'k':7,'v':7}\n{'p':2,'k':1,'v':1}\n{'p':3,'k':1,'v':3}\n");
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

/* Messages of a writer that places rows at once, as SQL does in batch. */
static tl_commit_messages placed(tl_table *table, const char *lines, bool overwrite)
{
    tl_write_options options = {.real_buckets = true, .ignore_previous = overwrite};
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    tl_error err;
    assert_ok(tl_table_writer_create(table, &options, &writer, &err), &err);
    assert_ok(write_lines(table, writer, lines, &err), &err);
    assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
    tl_table_writer_free(writer);
    return messages;
}

static void commit_placed(tl_table *table, tl_commit_messages *messages, bool overwrite, tl_status wanted)
{
    tl_commit_spec spec = {.identifier = TL_COMMIT_BATCH, .watermark = TL_ABSENT, .overwrite = overwrite};
    tl_error err;
    assert_int_equal(tl_table_commit(table, &spec, messages, NULL, &err), wanted);
    if (wanted != TL_OK)
        assert_non_null(strstr(err.message, "Total buckets of partition"));
    tl_commit_messages_deinit(messages);
}

/* The number of a new partition is each writer's own idea of it: the second one must not get in with another. */
static void rows_placed_at_once_agree_on_the_number_of_buckets(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "t", "p INT NOT NULL, k INT NOT NULL, v INT", "p,k", "p", "bucket=-2,postpone.default-bucket-num=2");
    tl_table *two = open_table(&l, "t");
    tl_table *five = open_with(&l, "t", "postpone.default-bucket-num=5");
    tl_commit_messages mine = placed(two, "{'p':1,'k':1,'v':1}\n{'p':1,'k':2,'v':1}\n", false);
    assert_int_equal(mine.items[0].total_buckets, 2);
    tl_commit_messages same = placed(two, "{'p':1,'k':4,'v':2}\n", false);
    tl_commit_messages other = placed(five, "{'p':1,'k':1,'v':9}\n{'p':2,'k':1,'v':9}\n", false);
    commit_placed(two, &mine, false, TL_OK);
    commit_placed(five, &other, false, TL_E_CONFLICT);
    commit_placed(two, &same, false, TL_OK);
    assert_rows(&l, "t", NULL, "{'p':1,'k':1,'v':1}\n{'p':1,'k':2,'v':1}\n{'p':1,'k':4,'v':2}\n");

    /* Who comes later keeps the number that there is, and so does a writer that goes on. */
    other = placed(five, "{'p':1,'k':1,'v':3}\n{'p':2,'k':1,'v':3}\n{'p':1,'k':3,'v':3}\n", false);
    for (size_t i = 0; i < other.n; i++) {
        bool first = tl_bytes_equal(tl_bytes_view_of(other.items[i].partition), tl_bytes_view_of(other.items[0].partition));
        assert_int_equal(other.items[i].total_buckets, first ? 2 : 5);
    }
    commit_placed(five, &other, false, TL_OK);
    assert_rows(&l, "t", NULL, "{'p':1,'k':1,'v':3}\n{'p':1,'k':2,'v':1}\n{'p':1,'k':3,'v':3}\n{'p':1,'k':4,'v':2}\n{'p':2,'k':1,'v':3}\n");
    assert_sound(two);

    /* An overwrite takes what waits with it; compactions place the rest beside what is there. */
    (void)put(two, "{'p':1,'k':7,'v':7}\n{'p':2,'k':7,'v':7}\n");
    other = placed(two, "{'p':1,'k':1,'v':4}\n", true);
    commit_placed(two, &other, true, TL_OK);
    assert_ok(tl_table_compact(two, NULL, false, NULL, NULL, &err), &err);
    assert_rows(&l, "t", NULL, "{'p':1,'k':1,'v':4}\n{'p':2,'k':1,'v':3}\n{'p':2,'k':7,'v':7}\n");
    assert_sound(two);
    tl_table_free(five);
    tl_table_free(two);
    close_lake(&l);
}

/* ---- failing allocations ---- */

static void every_failing_allocation_leaves_a_sound_table(void **state)
{
    (void)state;
    static const char *const options[] = {"dynamic-bucket.target-row-num=2", "dynamic-bucket.target-row-num=2", "bucket=-2", "bucket=-2"};
    static const char *const keys[] = {"p,k", "k", "p,k", "p,k"};
    const tl_write_options places = {.real_buckets = true}; /* the last */
    lake l = memory_lake();
    for (size_t t = 0; t < TL_ARRAY_LEN(options); t++) {
        char name[8];
        snprintf(name, sizeof name, "t%zu", t);
        create(&l, name, "p INT NOT NULL, k INT NOT NULL, v INT", keys[t], "p", options[t]);
        tl_table *table = open_table(&l, name);
        (void)put(table, "{'p':1,'k':1,'v':1}\n{'p':1,'k':2,'v':1}\n{'p':2,'k':3,'v':1}\n");
        char *lines = quoted("{'p':2,'k':1,'v':2}\n{'p':1,'k':4,'v':2}\n{'p':1,'k':5,'v':2}\n");
        tl_batch *batch = batch_of(tl_table_schema_of(table)->row_type, lines);
        for (uint64_t at = 1;; at += 1 + at / 30) {
            tl_commit_messages messages = {0};
            tl_table_writer *writer = NULL;
            tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
            tl_error err;
            tl_alloc_fail_at(at);
            tl_status status = tl_table_writer_create(table, t == 3 ? &places : NULL, &writer, &err);
            if (status == TL_OK)
                status = tl_table_writer_write(writer, batch, &err);
            if (status == TL_OK)
                status = tl_table_writer_prepare(writer, true, &messages, &err);
            tl_table_writer_free(writer);
            if (status == TL_OK)
                status = tl_table_commit(table, &spec, &messages, NULL, &err);
            if (status == TL_OK && t >= 2)
                status = tl_table_compact(table, NULL, false, NULL, NULL, &err);
            bool past = tl_alloc_count() < at;
            tl_alloc_fail_at(0);
            tl_commit_messages_deinit(&messages);
            if (status != TL_OK && status != TL_E_NOMEM)
                fail_msg("%s", err.message);
            if (past)
                break;
        }
        tl_batch_free(batch);
        free(lines);
        assert_sound(table);
        assert_rows(&l, name, NULL,
                    t == 1 ? "{'p':2,'k':1,'v':2}\n{'p':1,'k':2,'v':1}\n{'p':2,'k':3,'v':1}\n{'p':1,'k':4,'v':2}\n{'p':1,'k':5,'v':2}\n"
                           : "{'p':1,'k':1,'v':1}\n{'p':2,'k':1,'v':2}\n{'p':1,'k':2,'v':1}\n{'p':2,'k':3,'v':1}\n{'p':1,'k':4,'v':2}\n"
                             "{'p':1,'k':5,'v':2}\n");
        tl_table_free(table);
    }
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_fill_buckets_and_keep_theirs),
        cmocka_unit_test(buckets_are_limited_and_dealt_out),
        cmocka_unit_test(two_writers_of_a_partition_conflict),
        cmocka_unit_test(a_long_lived_writer_goes_on_until_others_add_keys),
        cmocka_unit_test(overwrites_begin_a_new_index_and_expiry_takes_the_old),
        cmocka_unit_test(a_key_that_moves_follows_the_merge_engine),
        cmocka_unit_test(writers_of_moving_keys_conflict_but_not_with_compactions),
        cmocka_unit_test(rows_wait_until_a_compaction_gives_them_buckets),
        cmocka_unit_test(rows_placed_at_once_agree_on_the_number_of_buckets),
        cmocka_unit_test(every_failing_allocation_leaves_a_sound_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
