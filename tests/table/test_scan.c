/* Reading: time travel, differences, streaming scans, splits and their order, limits, projections, the parallel reader. */
#include "table_support.h"

/* ---- time travel ---- */

static void travel_lake(lake *l, int64_t times[4])
{
    *l = memory_lake();
    create(l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,write-only=true");
    tl_table *table = open_table(l, "t");
    tl_error err;
    for (int i = 1; i <= 4; i++) {
        tl_commit_messages messages;
        char line[64];
        snprintf(line, sizeof line, "{'k':%d,'v':'%d'}", i % 2, i);
        messages = prepared(table, line, false);
        tl_commit_spec spec = batch_commit("u", i);
        spec.watermark = i * 100;
        tl_commit_result result;
        assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
        tl_commit_messages_deinit(&messages);
        tl_snapshot *snap = latest_of(table);
        times[i - 1] = snap->time_ms;
        tl_snapshot_free(snap);
        tl_sleep_ms(2);
    }
    assert_ok(tl_table_create_tag(table, "two", 2, TL_ABSENT, &err), &err);
    tl_table_free(table);
}

static void batch_reads_travel_to_what_the_options_name(void **state)
{
    (void)state;
    lake l;
    int64_t times[4];
    char options[128];
    travel_lake(&l, times);
    const char *two = "{'k':1,'v':'1'}\n{'k':0,'v':'2'}", *three = "{'k':1,'v':'3'}\n{'k':0,'v':'2'}";
    assert_rows(&l, "t", "scan.snapshot-id=2", two);
    assert_rows(&l, "t", "scan.tag-name=two", two);
    assert_rows(&l, "t", "scan.version=two", two);
    assert_rows(&l, "t", "scan.version=3", three);
    assert_rows(&l, "t", "scan.watermark=250", three);
    snprintf(options, sizeof options, "scan.timestamp-millis=%lld", (long long)times[2] + 1);
    assert_rows(&l, "t", options, three);
    snprintf(options, sizeof options, "scan.timestamp-millis=%lld", (long long)times[0] - 5);
    tl_table *early = open_with(&l, "t", options);
    char *rows = NULL;
    tl_error err;
    tl_status status = try_read(early, NULL, false, NULL, &rows, &err);
    assert_true(status != TL_OK || *rows == '\0' || strstr(rows, "\"1\"") != NULL);
    free(rows);
    tl_table_free(early);
    tl_table *table = NULL;
    status = try_open(&l, "t", "scan.snapshot-id=77", &table, &err);
    rows = NULL;
    if (status == TL_OK)
        status = try_read(table, NULL, false, NULL, &rows, &err);
    assert_int_not_equal(status, TL_OK);
    tl_table_free(table);
    close_lake(&l);
}

static void incremental_reads_give_the_changes_between(void **state)
{
    (void)state;
    lake l;
    int64_t times[4];
    char options[128];
    travel_lake(&l, times);
    assert_rows(&l, "t", "incremental-between=1;3", "{'k':0,'v':'2'}\n{'k':1,'v':'3'}");
    assert_rows(&l, "t", "incremental-between=2;2", "");
    snprintf(options, sizeof options, "incremental-between-timestamp=%lld;%lld", (long long)times[0], (long long)times[2]);
    assert_rows(&l, "t", options, "{'k':0,'v':'2'}\n{'k':1,'v':'3'}");
    tl_table *table = NULL;
    tl_error err;
    char *rows = NULL;
    tl_status status = try_open(&l, "t", "incremental-between=3;1", &table, &err);
    if (status == TL_OK)
        status = try_read(table, NULL, false, NULL, &rows, &err);
    assert_int_not_equal(status, TL_OK);
    tl_table_free(table);
    close_lake(&l);
}

static void a_difference_of_states_leaves_out_what_is_the_same(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':3,'v':'c'}");
    put_as(table, NULL, TL_COMMIT_BATCH, "{'_kind':'-D','k':1,'v':'a'}\n{'k':2,'v':'B'}\n{'k':4,'v':'d'}\n{'k':3,'v':'c'}",
           /* full= */ true);
    tl_table_free(table);
    const char *options = "incremental-between=1;3,incremental-between-scan-mode=diff";
    assert_rows(&l, "t", options, "{'k':2,'v':'B'}\n{'k':4,'v':'d'}");
    assert_rows(&l, "t$audit_log", options,
                "{'rowkind':'-D','k':1,'v':'a'}\n{'rowkind':'+I','k':2,'v':'B'}\n{'rowkind':'+I','k':4,'v':'d'}");
    close_lake(&l);
}

/* Files that are sorted by other columns than the key: their rows are, before the states are compared. */
static void a_difference_of_clustered_states_goes_by_key(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL,
           "bucket=1,pk-clustering-override=true,clustering.columns=v,deletion-vectors.enabled=true,write-buffer-size=1 kb");
    tl_table *table = open_table(&l, "t");
    tl_commit_result before = put_as(table, NULL, TL_COMMIT_BATCH, "{'k':1,'v':'z'}\n{'k':2,'v':'y'}\n{'k':3,'v':'x'}\n{'k':4,'v':'w'}", /* full= */ true);
    tl_commit_result after = put_as(table, NULL, TL_COMMIT_BATCH, "{'k':2,'v':'b'}\n{'k':4,'v':'a'}\n{'k':9,'v':'c'}", /* full= */ true);
    tl_table_free(table);
    char options[160];
    snprintf(options, sizeof options, "incremental-between=%lld;%lld,incremental-between-scan-mode=diff", (long long)before.snapshot_id,
             (long long)after.snapshot_id);
    assert_rows(&l, "t", options, "{'k':2,'v':'b'}\n{'k':4,'v':'a'}\n{'k':9,'v':'c'}");
    close_lake(&l);
}

/* ---- streaming ---- */

static void assert_next(follower *f, int64_t wanted_snapshot, bool wanted_full, const char *want)
{
    int64_t snapshot = 0;
    bool full = false;
    char *got = next_changes(f, &snapshot, &full);
    if (got == NULL)
        fail_msg("nothing is new, wanted snapshot %lld", (long long)wanted_snapshot);
    assert_lines(got, want);
    assert_int_equal(snapshot, wanted_snapshot);
    assert_int_equal(full, wanted_full);
    free(got);
}

static void assert_nothing_new(follower *f)
{
    int64_t snapshot;
    bool full;
    char *got = next_changes(f, &snapshot, &full);
    if (got != NULL)
        fail_msg("nothing should be new, got snapshot %lld:\n%s", (long long)snapshot, got);
}

static void scan_modes_say_where_a_stream_starts(void **state)
{
    (void)state;
    lake l;
    int64_t times[4];
    char options[128];
    travel_lake(&l, times);
    follower f = follow(&l, NULL, 0); /* latest-full */
    assert_next(&f, 4, true, "{'_kind':'+I','k':1,'v':'3'}\n{'_kind':'+I','k':0,'v':'4'}");
    assert_nothing_new(&f);
    assert_int_equal(tl_stream_scan_position(f.scan), 5);
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':7,'v':'new'}");
    tl_table_free(table);
    assert_next(&f, 5, false, "{'_kind':'+I','k':7,'v':'new'}");
    unfollow(&f);
    f = follow(&l, "scan.mode=latest", 0);
    assert_nothing_new(&f);
    unfollow(&f);
    f = follow(&l, "scan.mode=from-snapshot,scan.snapshot-id=3", 0);
    assert_next(&f, 3, false, "{'_kind':'+I','k':1,'v':'3'}");
    assert_next(&f, 4, false, "{'_kind':'+I','k':0,'v':'4'}");
    unfollow(&f);
    f = follow(&l, "scan.mode=from-snapshot-full,scan.snapshot-id=2", 0);
    assert_next(&f, 2, true, "{'_kind':'+I','k':1,'v':'1'}\n{'_kind':'+I','k':0,'v':'2'}");
    assert_next(&f, 3, false, "{'_kind':'+I','k':1,'v':'3'}");
    unfollow(&f);
    snprintf(options, sizeof options, "scan.mode=from-timestamp,scan.timestamp-millis=%lld", (long long)times[1]);
    f = follow(&l, options, 0);
    assert_next(&f, 2, false, "{'_kind':'+I','k':0,'v':'2'}");
    unfollow(&f);
    f = follow(&l, NULL, 4); /* resumed */
    assert_next(&f, 4, false, "{'_kind':'+I','k':0,'v':'4'}");
    assert_int_equal(tl_stream_scan_watermark(f.scan), 400);
    unfollow(&f);
    close_lake(&l);
}

static void changelogs_are_followed_where_the_table_has_them(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,changelog-producer=input");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'v':'a'}");
    put(table, "{'_kind':'-U','k':1,'v':'a'}\n{'_kind':'+U','k':1,'v':'b'}");
    put(table, "{'_kind':'-D','k':1,'v':'b'}");
    follower f = follow(&l, "scan.mode=from-snapshot,scan.snapshot-id=1", 0);
    assert_next(&f, 1, false, "{'_kind':'+I','k':1,'v':'a'}");
    assert_next(&f, 2, false, "{'_kind':'-U','k':1,'v':'a'}\n{'_kind':'+U','k':1,'v':'b'}");
    assert_next(&f, 3, false, "{'_kind':'-D','k':1,'v':'b'}");
    assert_nothing_new(&f);
    unfollow(&f);
    tl_table_free(table);
    close_lake(&l);
}

static void a_stream_whose_snapshot_expired_says_so(void **state)
{
    (void)state;
    lake l;
    int64_t times[4];
    tl_error err;
    travel_lake(&l, times);
    tl_table *table = open_table(&l, "t");
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    int32_t expired;
    assert_ok(tl_table_expire(table, &spec, &expired, &err), &err);
    follower f = follow(&l, NULL, 2);
    tl_splits splits = {0};
    bool ready, full;
    int64_t snapshot;
    tl_status status = tl_stream_scan_plan(f.scan, &splits, &ready, &snapshot, &full, &err);
    assert_int_not_equal(status, TL_OK);
    assert_non_null(strstr(err.message, "expired"));
    unfollow(&f);
    tl_table_free(table);
    close_lake(&l);
}

static void overwrites_are_not_followed_unless_asked_for(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_commit_messages messages = {0};
    tl_commit_result result;
    tl_error err;
    put(table, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    assert_ok(prepare_lines(table, "{'k':2,'v':'c'}", false, true, &messages, &err), &err);
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    spec.overwrite = true;
    assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
    tl_commit_messages_deinit(&messages);
    put(table, "{'k':3,'v':'d'}");
    follower f = follow(&l, "scan.mode=from-snapshot,scan.snapshot-id=2", 0);
    assert_next(&f, 3, false, "{'_kind':'+I','k':3,'v':'d'}");
    unfollow(&f);
    f = follow(&l, "scan.mode=from-snapshot,scan.snapshot-id=2,streaming-read-overwrite=true", 0);
    assert_next(&f, 2, false, "{'_kind':'-D','k':1,'v':'a'}\n{'_kind':'-D','k':2,'v':'b'}\n{'_kind':'+I','k':2,'v':'c'}");
    assert_next(&f, 3, false, "{'_kind':'+I','k':3,'v':'d'}");
    unfollow(&f);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- splits ---- */

typedef struct file_spec {
    int64_t mb;
    int32_t level;
    int32_t from, to; /* keys */
    int64_t deletes;
} file_spec;

static tl_bytes key_bytes(int32_t k)
{
    const tl_type *type = test_type("ROW<k INT NOT NULL> NOT NULL");
    char line[32];
    snprintf(line, sizeof line, "{\"k\":%d}", k);
    tl_batch *batch = batch_of(type, line);
    tl_buf out = {0};
    assert_int_equal(tl_binary_row_append(&out, (const tl_column *const *)batch->cols, 1, 0, TL_KIND_INSERT, true), TL_OK);
    tl_batch_free(batch);
    tl_type_unref(type);
    return tl_buf_steal(&out);
}

static void add_file(tl_entries *entries, int number, const file_spec *spec, bool keyed)
{
    static const uint8_t no_partition[12] = {0};
    tl_data_file *file = tl_data_file_create();
    tl_error err;
    assert_non_null(file);
    file->name = tl_strf("data-%d.parquet", number);
    file->bytes = spec->mb << 20;
    file->rows = 100;
    file->level = spec->level;
    file->delete_rows = spec->deletes;
    file->min_seq = number;
    file->max_seq = number;
    if (keyed) {
        file->min_key = key_bytes(spec->from);
        file->max_key = key_bytes(spec->to);
    }
    assert_ok(tl_entries_add(entries, TL_ENTRY_ADD, (tl_bytes_view){no_partition, 12}, 0, 1, file, &err), &err);
    tl_data_file_unref(file);
}

/* Numbers of files as "0,1|2*|3": one part for each split, those that need merging with a star. */
static void assert_splits(tl_table *table, const file_spec *files, size_t n, bool keyed, const char *want)
{
    tl_entries entries = {0};
    tl_splits splits = {0};
    tl_error err;
    char got[1024] = "";
    for (size_t i = 0; i < n; i++)
        add_file(&entries, (int)i, &files[i], keyed);
    assert_ok(tl_table__splits(table, &entries, 1, /* streaming= */ false, /* vectors= */ NULL, &splits, &err), &err);
    for (size_t i = 0; i < splits.n; i++) {
        for (size_t f = 0; f < splits.items[i].files.n; f++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", f > 0 ? "," : i > 0 ? "|" : "",
                     atoi(splits.items[i].files.items[f]->name + 5));
        if (!splits.items[i].raw)
            strcat(got, "*");
    }
    assert_string_equal(got, want);
    tl_splits_deinit(&splits);
    tl_entries_deinit(&entries);
}

static void append_files_are_packed_in_order_up_to_the_target_size(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT", NULL, NULL, NULL);
    tl_table *table = open_table(&l, "t");
    static const file_spec files[] = {{60, 0, 0, 0, 0}, {60, 0, 0, 0, 0}, {60, 0, 0, 0, 0}, {200, 0, 0, 0, 0}, {1, 0, 0, 0, 0},
                                      {1, 0, 0, 0, 0}};
    assert_splits(table, files, TL_ARRAY_LEN(files), false, "0,1|2|3|4,5");
    file_spec tiny[70];
    for (int i = 0; i < 70; i++)
        tiny[i] = (file_spec){0, 0, 0, 0, 0};
    tl_table *wide = open_with(&l, "t", "source.split.open-file-cost=64mb"); /* a file weighs at least that */
    assert_splits(wide, tiny, 4, false, "0,1|2,3");
    tl_table_free(wide);
    tl_table_free(table);
    close_lake(&l);
}

static void keyed_files_are_packed_by_sections_that_overlap(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    /* one level, disjoint: read one after the other */
    static const file_spec top[] = {{60, 5, 1, 2, 0}, {60, 5, 3, 4, 0}, {60, 5, 5, 6, 0}};
    assert_splits(table, top, 3, true, "0,1|2");
    /* deletes in a file, or a file on level 0: merged */
    static const file_spec deletes[] = {{1, 5, 1, 2, 3}, {1, 5, 3, 4, 0}};
    assert_splits(table, deletes, 2, true, "0,1*");
    static const file_spec two_levels[] = {{60, 4, 1, 5, 0}, {60, 5, 3, 4, 0}, {60, 5, 7, 8, 0}, {60, 5, 9, 9, 0}};
    assert_splits(table, two_levels, 4, true, "0,1*|2,3*");
    /* a section is never cut, however large; a lone file without deletes needs no merging */
    static const file_spec large[] = {{100, 0, 1, 9, 0}, {100, 0, 2, 3, 0}, {100, 5, 8, 12, 0}, {100, 5, 20, 30, 0}};
    assert_splits(table, large, 4, true, "0,1,2*|3");
    tl_table_free(table);
    close_lake(&l);
}

/* ---- readers ---- */

static void limits_cut_and_columns_come_in_the_order_asked_for(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, a STRING, b INT", "k", NULL, "bucket=4");
    tl_table *table = open_table(&l, "t");
    tl_pool *pool = NULL;
    tl_error err;
    assert_ok(tl_pool_create(2, &pool, &err), &err);
    char lines[4096] = "";
    for (int i = 0; i < 60; i++)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "{'k':%d,'a':'x%d','b':%d}\n", i, i, i * 2);
    put(table, lines);
    for (int64_t limit = 0; limit <= 70; limit += 7) {
        static const int32_t columns[] = {2, 0};
        tl_predicate *pred = predicate_of(tl_table_row_type(table), "[\"startsWith\",\"a\",\"x\"]");
        tl_scan_spec spec = {.columns = columns, .n_columns = 2, .predicate = pred, .limit = limit, .pool = limit % 2 ? pool : NULL};
        tl_reader *reader = NULL;
        int64_t rows = 0;
        assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
        for (;;) {
            TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
            assert_ok(tl_reader_next(reader, &batch, &err), &err);
            if (batch == NULL)
                break;
            assert_int_equal(batch->n_cols, 2);
            for (int64_t i = 0; i < batch->n_rows; i++)
                assert_int_equal(tl_col_i32(batch->cols[0], i), 2 * tl_col_i32(batch->cols[1], i));
            rows += batch->n_rows;
        }
        assert_int_equal(rows, TL_MIN(limit, 60));
        tl_reader_free(reader);
        tl_predicate_free(pred);
    }
    tl_pool_free(pool);
    tl_table_free(table);
    close_lake(&l);
}

static void a_parallel_reader_can_be_left_early(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, a STRING", "k", NULL, "bucket=16");
    tl_table *table = open_table(&l, "t");
    tl_pool *pool = NULL;
    tl_error err;
    assert_ok(tl_pool_create(3, &pool, &err), &err);
    char *lines = calloc(1, 64 * 2000), *at = lines;
    for (int i = 0; i < 2000; i++)
        at += sprintf(at, "{'k':%d,'a':'x'}\n", i);
    put(table, lines);
    free(lines);
    for (int batches = 0; batches < 10; batches++) {
        tl_scan_spec spec = {.limit = -1, .pool = pool};
        tl_reader *reader = NULL;
        assert_ok(tl_table_read(table, &spec, &reader, &err), &err);
        for (int i = 0; i < batches; i++) {
            TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
            assert_ok(tl_reader_next(reader, &batch, &err), &err);
        }
        tl_reader_free(reader);
    }
    tl_pool_free(pool);
    tl_table_free(table);
    close_lake(&l);
}

#define N_SPLITS 7
#define N_BATCHES 23

/* Split i: batches of the one row 1000 i, 1000 i + 1, … */
static tl_status open_numbers(void *ctx, size_t i, tl_pool *helpers, tl_reader **out, tl_error *err)
{
    const tl_type *row_type = ctx;
    tl_batch **batches = tl_calloc(N_BATCHES, sizeof *batches);
    assert_non_null(batches);
    assert_true(tl_pool_threads(helpers) >= 1);
    for (int b = 0; b < N_BATCHES; b++) {
        TL_TRY(tl_batch_create(row_type, 1, &batches[b], err));
        TL_TRY(tl_column_alloc(row_type->fields[0].type, 1, &batches[b]->cols[0], err));
        *(int32_t *)batches[b]->cols[0]->values = (int32_t)i * 1000 + b;
    }
    return tl_reader_from_batches(row_type, batches, N_BATCHES, out, err);
}

/* A consumer that is fast, slow, or now and then slow: each split's batches come in order, and all of them. */
static void all_batches_come_in_their_splits_order_however_slow_the_consumer(void **state)
{
    (void)state;
    static const char text[] = "ROW<n INT NOT NULL>";
    const tl_type *type = NULL;
    tl_error err;
    assert_ok(tl_type_parse((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &type, &err), &err);
    for (int threads = 1; threads <= 4; threads++) {
        tl_pool *pool = NULL;
        assert_ok(tl_pool_create(threads, &pool, &err), &err);
        for (int pace = 0; pace < 3; pace++) {
            int next[N_SPLITS] = {0};
            tl_reader *reader = NULL;
            assert_ok(tl_parallel_reader(type, N_SPLITS, open_numbers, (void *)type, NULL, pool, -1, &reader, &err), &err);
            for (int n = 0;; n++) {
                TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
                assert_ok(tl_reader_next(reader, &batch, &err), &err);
                if (batch == NULL)
                    break;
                int32_t number = tl_col_i32(batch->cols[0], 0);
                assert_int_equal(number % 1000, next[number / 1000]++);
                if (pace == 1 || (pace == 2 && n % 16 == 0))
                    tl_sleep_ms(1);
            }
            for (int i = 0; i < N_SPLITS; i++)
                assert_int_equal(next[i], N_BATCHES);
            tl_reader_free(reader);
        }
        tl_pool_free(pool);
    }
    tl_type_unref(type);
}

/* Too few splits for the threads there are: the columns of one are decoded side by side. */
static void a_single_bucket_reads_the_same_with_threads(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, a STRING, b INT, c BIGINT, d STRING", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_pool *pool = NULL;
    tl_error err;
    assert_ok(tl_pool_create(3, &pool, &err), &err);
    for (int commit = 0; commit < 3; commit++) {
        char *lines = calloc(1, 128 * 2000), *at = lines;
        for (int i = 0; i < 2000; i++)
            at += sprintf(at, "{'k':%d,'a':'x%d','b':%s,'c':%d,'d':'%d'}\n", i * (commit + 1), i * 7 % 100, i % 3 == 0 ? "null" : "1", i * commit, i % 5);
        put(table, lines);
        free(lines);
    }
    char *alone = NULL, *together = NULL;
    assert_ok(try_read(table, NULL, false, NULL, &alone, &err), &err);
    assert_ok(try_read(table, NULL, false, pool, &together, &err), &err);
    assert_true(strlen(alone) > 3000 * 10);
    assert_string_equal(alone, together);
    free(alone);
    free(together);
    tl_pool_free(pool);
    tl_table_free(table);
    close_lake(&l);
}

static void a_damaged_file_fails_the_read_with_its_name(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, a STRING", "k", NULL, "bucket=4");
    tl_table *table = open_table(&l, "t");
    tl_pool *pool = NULL;
    tl_error err;
    assert_ok(tl_pool_create(2, &pool, &err), &err);
    put(table, "{'k':1,'a':'x'}\n{'k':2,'a':'y'}\n{'k':3,'a':'z'}\n{'k':4,'a':'w'}\n{'k':5,'a':'v'}");
    char **paths = NULL;
    size_t n = 0;
    walk_files(l.fs, "/lake", &paths, &n);
    const char *victim = NULL;
    for (size_t i = 0; i < n && victim == NULL; i++) {
        if (strstr(paths[i], "/data-") != NULL)
            victim = paths[i];
    }
    assert_non_null(victim);
    assert_ok(tl_fs_publish(l.fs, victim, (tl_bytes_view){(const uint8_t *)"PAR1rubbish", 11}, true, &err), &err);
    char *rows = NULL;
    for (int pooled = 0; pooled < 2; pooled++) {
        tl_status status = try_read(table, NULL, false, pooled ? pool : NULL, &rows, &err);
        assert_int_equal(status, TL_E_CORRUPT);
        assert_non_null(strstr(err.message, tl_path_base(victim)));
    }
    for (size_t i = 0; i < n; i++)
        tl_free(paths[i]);
    free(paths);
    tl_pool_free(pool);
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_reads_travel_to_what_the_options_name),
        cmocka_unit_test(incremental_reads_give_the_changes_between),
        cmocka_unit_test(a_difference_of_states_leaves_out_what_is_the_same),
        cmocka_unit_test(a_difference_of_clustered_states_goes_by_key),
        cmocka_unit_test(scan_modes_say_where_a_stream_starts),
        cmocka_unit_test(changelogs_are_followed_where_the_table_has_them),
        cmocka_unit_test(a_stream_whose_snapshot_expired_says_so),
        cmocka_unit_test(overwrites_are_not_followed_unless_asked_for),
        cmocka_unit_test(append_files_are_packed_in_order_up_to_the_target_size),
        cmocka_unit_test(keyed_files_are_packed_by_sections_that_overlap),
        cmocka_unit_test(limits_cut_and_columns_come_in_the_order_asked_for),
        cmocka_unit_test(a_parallel_reader_can_be_left_early),
        cmocka_unit_test(all_batches_come_in_their_splits_order_however_slow_the_consumer),
        cmocka_unit_test(a_single_bucket_reads_the_same_with_threads),
        cmocka_unit_test(a_damaged_file_fails_the_read_with_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
