/*
 * Two jobs at one table, one of them between any two steps of the other: whatever the moment, what was told to be done is done,
 * and what was not is not. Field cases: apache/paimon#9220 (a tag while snapshots expire), #4802, #7595, #8631 (a compaction and
 * writes), #4588, delta-io/delta#7163 (deletes of one file), #5791 (a compaction that began before ALTER TABLE), #2797 (two schema
 * changes), ClickHouse/ClickHouse#112081, apache/hudi#14373 (the answer to a commit is lost).
 */
#include "support/hook_fs.h"
#include "table_support.h"

typedef enum job { INSERT, DELETE, COMPACT, EXPIRE, TAG_FIRST, TAG_LAST, ADD_COLUMN, BRANCH, CLEAN, SORT, RESCALE, N_JOBS } job;
static const char *const job_names[] = {"insert",          "delete",     "compact", "expire",       "tag of the first snapshot",
                                        "tag of the last", "add column", "branch",  "clean orphans", "sort",   "rescale"};
#define HOUR_MS 3600000

typedef struct kind {
    const char *name, *keys, *options;
} kind;
static const kind kinds[] = {
    {"keyed", "k", "bucket=1"},
    {"keyed with vectors", "k", "bucket=1,deletion-vectors.enabled=true"},
    {"keyed with a changelog", "k", "bucket=1,changelog-producer=lookup"},
    {"append", NULL, "deletion-vectors.enabled=true,compaction.min.file-num=2"},
};

/* ---- jobs ---- */

static tl_status delete_row(tl_table *table, tl_error *err)
{
    if (table->n_keys > 0) {
        tl_commit_messages messages = {0};
        tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
        TL_TRY(prepare_lines(table, "{'_kind':'-D','k':2,'v':'b'}", false, false, &messages, err));
        tl_status status = tl_table_commit(table, &spec, &messages, NULL, err);
        tl_commit_messages_deinit(&messages);
        return status;
    }
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = predicate_of(table->row_type, "[\"=\",\"k\",2]");
    tl_delete_spec spec = {.finder = {.predicate = pred}};
    return tl_table_delete(table, &spec, NULL, NULL, err);
}

static tl_status insert_row(tl_table *table, tl_error *err)
{
    tl_commit_messages messages = {0};
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    TL_TRY(prepare_lines(table, "{'k':666,'v':'new'}", false, false, &messages, err));
    tl_status status = tl_table_commit(table, &spec, &messages, NULL, err);
    tl_commit_messages_deinit(&messages);
    return status;
}

static tl_status add_column(lake *l, const char *column, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = test_type("INT");
    tl_alter change = {.kind = TL_ALTER_ADD_COLUMN, .name = column, .type = type};
    return tl_table_alter(l->catalog, "d", "t", &change, 1, err);
}

static tl_status clean(tl_table *table, tl_error *err)
{
    tl_orphan *orphans = NULL;
    size_t n = 0;
    tl_status status = tl_table_remove_orphans(table, HOUR_MS, &orphans, &n, err);
    tl_orphans_free(orphans, n);
    return status;
}

static tl_status sort_rows(tl_table *table, tl_error *err)
{
    static char *const columns[] = {"v", "k"};
    tl_sort_spec spec = {.kind = "zorder", .columns = columns, .n_columns = 2};
    return tl_table_sort(table, NULL, &spec, NULL, err);
}

/* To the number of buckets that there is: all is written anew, and stays fit for writers. */
static tl_status rescale(tl_table *table, tl_error *err)
{
    static const tl_options whole = {0};
    return tl_table_rescale(table, &whole, 1, NULL, NULL, err);
}

static tl_status run_job(lake *l, job what, tl_error *err)
{
    tl_table *table = NULL;
    TL_TRY(try_open(l, "t", NULL, &table, err));
    tl_expire_spec last = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    tl_status status = what == INSERT      ? insert_row(table, err)
                       : what == DELETE    ? delete_row(table, err)
                       : what == COMPACT   ? tl_table_compact(table, NULL, /* full= */ true, NULL, NULL, err)
                       : what == EXPIRE    ? tl_table_expire(table, &last, NULL, err)
                       : what == TAG_FIRST ? tl_table_create_tag(table, "first", 1, TL_ABSENT, err)
                       : what == TAG_LAST  ? tl_table_create_tag(table, "last", 0, TL_ABSENT, err)
                       : what == BRANCH    ? tl_table_create_branch(table, "side", "base", err)
                       : what == CLEAN     ? clean(table, err)
                       : what == SORT      ? sort_rows(table, err)
                       : what == RESCALE   ? rescale(table, err)
                                           : add_column(l, "c", err);
    tl_table_free(table);
    return status;
}

/* ---- worlds ---- */

typedef struct world {
    tl_fs *memory;
    hook_fs *hooked; /* of the first job */
    lake first, second;
    job other;
    tl_status other_status;
    tl_error other_err;
    int calls, at; /* the other job runs before call number `at` */
    char **old; /* files that were there before both: two hours old */
    size_t n_old;
    hook_fs *aged; /* in which the second job sees their age */
} world;

static int64_t age_of(void *ctx, const char *path, int64_t mtime_ms)
{
    const world *w = ctx;
    for (size_t i = 0; i < w->n_old; i++)
        if (strcmp(w->old[i], path) == 0)
            return mtime_ms - 2 * HOUR_MS;
    return mtime_ms;
}

static void maybe_run_other(void *ctx, const char *call, const char *path)
{
    world *w = ctx;
    (void)call;
    (void)path;
    if (++w->calls == w->at)
        w->other_status = run_job(&w->second, w->other, &w->other_err);
}

static const char first_rows[] = "{'k':1,'v':'a'}\n{'k':2,'v':'b'}";

/* What a writer that died left behind. */
static const char *const leftovers[] = {"/lake/d.db/t/bucket-0/data-gone-0.parquet", "/lake/d.db/t/manifest/manifest-gone-0",
                                        "/lake/d.db/t/index/index-gone-0"};

static void open_world(world *w, const kind *k)
{
    tl_error err;
    *w = (world){.at = -1};
    assert_ok(tl_fs_memory(&w->memory, &err), &err);
    w->hooked = hook_fs_create(w->memory);
    w->hooked->ctx = w;
    w->aged = hook_fs_create(w->memory);
    w->aged->ctx = w;
    w->second = lake_on(tl_fs_ref(&w->aged->base));
    w->first = lake_on(tl_fs_ref(&w->hooked->base));
    create(&w->second, "t", "k INT NOT NULL, v STRING", k->keys, NULL, k->options);
    tl_table *table = open_table(&w->second, "t");
    put(table, first_rows);
    put(table, "{'k':3,'v':'c'}");
    put(table, "{'k':4,'v':'d'}");
    assert_ok(tl_table_create_tag(table, "base", 2, TL_ABSENT, &err), &err);
    assert_ok(tl_table_consumer_set(table, "reader", 100, &err), &err);
    for (size_t i = 0; i < TL_ARRAY_LEN(leftovers); i++)
        assert_ok(tl_fs_publish(w->memory, leftovers[i], (tl_bytes_view){(const uint8_t *)"x", 1}, false, &err), &err);
    tl_table_free(table);
    walk_files(w->memory, "/lake", &w->old, &w->n_old);
    w->hooked->mtime = w->aged->mtime = age_of;
}

static void close_world(world *w)
{
    w->hooked->before = NULL;
    w->hooked->renamed = NULL;
    close_lake(&w->first);
    close_lake(&w->second);
    for (size_t i = 0; i < w->n_old; i++)
        tl_free(w->old[i]);
    free(w->old);
    tl_fs_unref(&w->hooked->base);
    tl_fs_unref(&w->aged->base);
    tl_fs_unref(w->memory);
}

/* ---- what must hold ---- */

static char *rows_now(lake *l, const char *options, tl_status *status, tl_error *err)
{
    static const int32_t columns[] = {0, 1};
    tl_table *table = NULL;
    tl_reader *reader = NULL;
    tl_buf text = {0};
    tl_scan_spec spec = {.limit = -1, .columns = columns, .n_columns = 2};
    *status = try_open(l, "t", options, &table, err);
    if (*status == TL_OK)
        *status = tl_table_read(table, &spec, &reader, err);
    if (*status == TL_OK)
        *status = drain(reader, false, &text, err);
    tl_reader_free(reader);
    tl_table_free(table);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    char *sorted = sort_lines((const char *)text.data);
    tl_buf_deinit(&text);
    return sorted;
}

static void check_rows(lake *l, const char *options, bool deleted, bool inserted, const char *what)
{
    tl_status status;
    tl_error err = {0};
    char *got = rows_now(l, options, &status, &err);
    if (status != TL_OK)
        fail_msg("%s: %s", what, err.message);
    char want[200];
    snprintf(want, sizeof want, "{\"k\":1,\"v\":\"a\"}\n%s{\"k\":3,\"v\":\"c\"}\n{\"k\":4,\"v\":\"d\"}\n%s", deleted ? "" : "{\"k\":2,\"v\":\"b\"}\n",
             inserted ? "{\"k\":666,\"v\":\"new\"}\n" : "");
    if (strcmp(got, want) != 0)
        fail_msg("%s: got\n%swanted\n%s", what, got, want);
    free(got);
}

/* Jobs that may give up, with a conflict, and then change nothing; the others must get through at any moment. */
static bool may_fail(job what, job beside, bool keyed)
{
    if (what == CLEAN && beside == EXPIRE) /* what a half expired snapshot uses cannot be told: then nothing is cleaned */
        return true;
    if (what == SORT || what == RESCALE) /* what they have written is of another state, as of a compaction: rows go before */
        return beside == INSERT || beside == DELETE || beside == COMPACT;
    return (what == TAG_FIRST && beside == EXPIRE) || (what == DELETE && !keyed) || (what == TAG_LAST && beside == EXPIRE);
}

static void check_tag(world *w, const kind *k, const char *name, const char *what)
{
    tl_status status;
    tl_error err = {0};
    char options[64];
    snprintf(options, sizeof options, "scan.tag-name=%s", name);
    char *got = rows_now(&w->second, options, &status, &err);
    if (status != TL_OK)
        fail_msg("%s: the tag cannot be read: %s", what, err.message);
    if (strcmp(name, "first") == 0 && strcmp(k->name, "keyed with vectors") != 0) /* there level 0 is not read */
        assert_lines(got, first_rows);
    free(got);
}

static void check_world(world *w, const kind *k, job a, tl_status status_a, const tl_error *err_a)
{
    char what[200];
    snprintf(what, sizeof what, "%s: %s, and before its call %d %s", k->name, job_names[a], w->at, job_names[w->other]);
    const job jobs[2] = {a, w->other};
    const tl_status outcomes[2] = {status_a, w->other_status};
    bool deleted = false, inserted = false;
    for (int i = 0; i < 2; i++) {
        if (outcomes[i] != TL_OK && !may_fail(jobs[i], jobs[1 - i], k->keys != NULL))
            fail_msg("%s: %s failed: %s", what, job_names[jobs[i]], i == 0 ? err_a->message : w->other_err.message);
        deleted |= jobs[i] == DELETE && outcomes[i] == TL_OK;
        inserted |= jobs[i] == INSERT && outcomes[i] == TL_OK;
    }
    check_rows(&w->second, NULL, deleted, inserted, what);
    for (int i = 0; i < 2; i++)
        if ((jobs[i] == TAG_FIRST || jobs[i] == TAG_LAST) && outcomes[i] == TL_OK)
            check_tag(w, k, jobs[i] == TAG_FIRST ? "first" : "last", what);
    tl_error err;
    char *of_tag = NULL, *of_branch = NULL;
    tl_table *table = open_with(&w->second, "t", "scan.tag-name=base");
    assert_ok(try_read(table, NULL, false, NULL, &of_tag, &err), &err);
    tl_table_free(table);
    bool branched = (a == BRANCH && status_a == TL_OK) || (w->other == BRANCH && w->other_status == TL_OK);
    if (branched) {
        table = open_table(&w->second, "t$branch_side");
        assert_ok(try_read(table, NULL, false, NULL, &of_branch, &err), &err);
        assert_string_equal(of_branch, of_tag);
        assert_sound(table);
        tl_table_free(table);
    }
    free(of_tag);
    free(of_branch);
    bool cleaned = (a == CLEAN && status_a == TL_OK) || (w->other == CLEAN && w->other_status == TL_OK), there;
    for (size_t i = 0; cleaned && i < TL_ARRAY_LEN(leftovers); i++) {
        assert_ok(tl_fs_exists(w->memory, leftovers[i], &there, &err), &err);
        if (there)
            fail_msg("%s: '%s' is still there", what, leftovers[i]);
    }
    assert_ok(tl_fs_exists(w->memory, "/lake/d.db/t/consumer/consumer-reader", &there, &err), &err);
    assert_true(there);
    table = open_table(&w->second, "t");
    tl_fsck_report report = {0};
    assert_ok(tl_table_fsck(table, true, &report, &err), &err);
    if (report.n_problems > 0)
        fail_msg("%s: fsck: %s", what, report.problems[0]);
    tl_fsck_report_deinit(&report);
    assert_ok(tl_table_compact(table, NULL, /* full= */ true, NULL, NULL, &err), &err);
    check_rows(&w->second, NULL, deleted, inserted, what);
    tl_table_free(table);
}

/* Sanitizers look for other faults than wrong rows, and make a moment many times as dear. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MOMENT_STEP 4
#else
#define MOMENT_STEP 1
#endif

/* Every moment of `a`. */
static void run_pair(const kind *k, job a, job b)
{
    int calls = 1;
    for (int at = 1; at <= calls; at += MOMENT_STEP) {
        world w;
        tl_error err = {0};
        open_world(&w, k);
        w.other = b;
        w.at = at;
        w.hooked->before = maybe_run_other;
        tl_status status = run_job(&w.first, a, &err);
        w.hooked->before = NULL;
        calls = w.calls;
        if (calls >= at)
            check_world(&w, k, a, status, &err);
        close_world(&w);
    }
}

/* Sorting (without keys) and rescaling (with them), where there are vectors, beside what writes and removes files. Branches and cleaning beside every other job in the tables with the most kinds of files; where changes are kept, beside expiry. */
static bool is_of_interest(const kind *k, job a, job b)
{
    if (a < BRANCH && b < BRANCH)
        return true;
    if (a >= SORT || b >= SORT) {
        job other = a >= SORT ? b : a;
        return (a == SORT || b == SORT) == (k->keys == NULL) && other < TAG_FIRST && strstr(k->options, "deletion-vectors") != NULL;
    }
    return strstr(k->options, "deletion-vectors") != NULL || (strstr(k->options, "changelog") != NULL && (a == EXPIRE || b == EXPIRE));
}

static void all_pairs(const kind *k)
{
    for (int a = 0; a < N_JOBS; a++)
        for (int b = 0; b < N_JOBS; b++)
            if (a != b && is_of_interest(k, (job)a, (job)b))
                run_pair(k, (job)a, (job)b);
}

static void jobs_meet_at_any_moment_in_keyed_tables(void **state)
{
    (void)state;
    all_pairs(&kinds[0]);
}

static void jobs_meet_at_any_moment_where_vectors_are_kept(void **state)
{
    (void)state;
    all_pairs(&kinds[1]);
}

static void jobs_meet_at_any_moment_where_changes_are_looked_up(void **state)
{
    (void)state;
    all_pairs(&kinds[2]);
}

static void jobs_meet_at_any_moment_in_append_tables(void **state)
{
    (void)state;
    all_pairs(&kinds[3]);
}

/* ---- two schema changes ---- */

static void two_columns_are_added_at_once(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        int calls = 1;
        for (int at = 1; at <= calls; at++) {
            world w;
            tl_error err = {0};
            open_world(&w, &kinds[0]);
            w.other = ADD_COLUMN; /* c */
            w.at = at;
            w.hooked->before = maybe_run_other;
            tl_status status = add_column(&w.first, same ? "c" : "a", &err);
            w.hooked->before = NULL;
            calls = w.calls;
            if (calls >= at) {
                bool first = status == TL_OK; /* with one name, one of the two gets it */
                assert_int_equal(first ? w.other_status : status, same ? TL_E_EXISTS : TL_OK);
                assert_int_equal(first ? status : w.other_status, TL_OK);
                tl_table *table = open_table(&w.second, "t");
                const tl_type *type = table->row_type;
                assert_int_equal(type->n_fields, same ? 3 : 4);
                for (int32_t i = 0; i < type->n_fields; i++)
                    for (int32_t k = 0; k < i; k++)
                        assert_int_not_equal(type->fields[i].id, type->fields[k].id);
                assert_int_equal(tl_table_schema_of(table)->id, same ? 1 : 2);
                tl_table_free(table);
                check_rows(&w.second, NULL, false, false, "two schema changes");
            }
            close_world(&w);
        }
    }
}

/* ---- the answer to a commit is lost ---- */

typedef struct lost_answer {
    world *w;
    enum { MADE_IT, MADE_IT_THEN_EXISTS, OTHER_WAS_FASTER, NOTHING_HAPPENED, N_OUTCOMES } how;
    bool told;
} lost_answer;

/* The rename that publishes a snapshot; what it says is not what it did. */
static tl_status answer_is_lost(void *ctx, const char *to, tl_status status, tl_error *err)
{
    lost_answer *lost = ctx;
    if (lost->told || status != TL_OK || strstr(to, "/snapshot/snapshot-") == NULL)
        return status;
    lost->told = true;
    if (lost->how == NOTHING_HAPPENED || lost->how == OTHER_WAS_FASTER)
        assert_int_equal(tl_fs_remove(lost->w->memory, to, err), TL_OK);
    if (lost->how == OTHER_WAS_FASTER)
        assert_int_equal(run_job(&lost->w->second, INSERT, err), TL_OK);
    return tl_error_set(err, lost->how == MADE_IT_THEN_EXISTS ? TL_E_EXISTS : TL_E_IO, "the answer was lost");
}

static void a_commit_whose_answer_is_lost_is_looked_for(void **state)
{
    (void)state;
    for (int how = 0; how < N_OUTCOMES; how++) {
        world w;
        tl_error err = {0};
        open_world(&w, &kinds[0]);
        lost_answer lost = {.w = &w, .how = how};
        w.hooked->ctx = &lost;
        w.hooked->renamed = answer_is_lost;
        tl_status status = run_job(&w.first, DELETE, &err);
        w.hooked->renamed = NULL;
        assert_true(lost.told);
        /* Told to have failed it may have happened; told to have worked it has. Nothing of it is broken either way. */
        tl_status read_status;
        char *rows = rows_now(&w.second, NULL, &read_status, &err);
        assert_ok(read_status, &err);
        bool deleted = strstr(rows, "\"k\":2,") == NULL;
        assert_true(status != TL_OK || deleted);
        if (how == MADE_IT_THEN_EXISTS)
            assert_int_equal(status, TL_OK);
        check_rows(&w.second, NULL, deleted, how == OTHER_WAS_FASTER, "lost answer");
        free(rows);
        tl_table *table = open_table(&w.second, "t");
        assert_sound(table);
        tl_table_free(table);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_meet_at_any_moment_in_keyed_tables),
        cmocka_unit_test(jobs_meet_at_any_moment_where_vectors_are_kept),
        cmocka_unit_test(jobs_meet_at_any_moment_where_changes_are_looked_up),
        cmocka_unit_test(jobs_meet_at_any_moment_in_append_tables),
        cmocka_unit_test(two_columns_are_added_at_once),
        cmocka_unit_test(a_commit_whose_answer_is_lost_is_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
