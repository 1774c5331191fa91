/*
 * Many writers at once on one table, as threads and as processes, with compaction jobs, expiry and readers beside them: nothing
 * is lost, nothing doubled, every state that a reader sees is made of whole commits.
 *
 * Each commit of a writer brings ROWS rows. In append tables they are its own (k tells writer and commit); in the aggregating
 * table every commit adds 1 to each of the same ROWS keys, so that a commit that is lost, doubled or half visible shows in every
 * sum.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/thread.h"
#include "support/temp_lake.h"

#define WRITERS 8
#define COMMITS 6
#define ROWS 10

/* A slow machine with one core must not fail for having lost more than ten races. */
#define TRY_LONG "commit.max-retries", "1000"

static const table_kind append = {.name = "append", .engine = ENGINE_APPEND, .options = {"bucket", "-1", "compaction.min.file-num", "3", TRY_LONG}};
static const table_kind buckets = {.name = "append, buckets",
                                   .engine = ENGINE_APPEND,
                                   .options = {"bucket", "2", "bucket-key", "k", "compaction.min.file-num", "3", TRY_LONG}};
static const table_kind plain = {.name = "aggregation",
                                 .engine = ENGINE_SUM,
                                 .options = {"bucket", "2", "merge-engine", "aggregation", "fields.v.aggregate-function", "sum",
                                             "num-sorted-run.compaction-trigger", "2", TRY_LONG}};
static const table_kind lookup = {.name = "aggregation, lookup",
                                  .engine = ENGINE_SUM,
                                  .exact_changelog = true,
                                  .options = {"bucket", "2", "merge-engine", "aggregation", "fields.v.aggregate-function", "sum",
                                              "changelog-producer", "lookup", TRY_LONG}};

typedef struct lake {
    const table_kind *kind;
    tl_fs *memory;
    const char *dir; /* NULL: in memory */
    tl_pool *pool;   /* background compaction of the writers and parallel reads; NULL: none */
    bool expires;
    atomic_int running; /* writers */
} lake;

typedef struct worker {
    lake *lake;
    int number;
    tl_status status;
    tl_error err;
    int done; /* rounds */
} worker;

static rows commit_of(const table_kind *kind, int writer, int commit)
{
    rows list = {0};
    for (int i = 0; i < ROWS; i++) {
        int k = kind->engine == ENGINE_APPEND ? (writer * COMMITS + commit) * ROWS + i : i;
        rows_add(&list, (row){.k = k, .v = 1, .s = 7});
    }
    return list;
}

static tl_status open_at(const lake *l, tl_catalog **catalog, tl_table **table, tl_error *err)
{
    TL_TRY(open_lake(l->dir, l->memory, catalog, err));
    return open_table(*catalog, NULL, NULL, table, err);
}

/* Others took away what this one was looking at: not an error, but to be tried again. */
static bool overtaken(tl_status status)
{
    return status == TL_E_NOT_FOUND || status == TL_E_CONFLICT;
}

/*
 * A retention of ten snapshots is a few milliseconds here: what a compaction reads may be gone meanwhile. The writer then does as
 * a job that starts again: the same rows under the same identifier.
 */
static tl_status write_all(const lake *l, int number, tl_error *err)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    char user[32];
    int attempts = 0;
    snprintf(user, sizeof user, "writer-%d", number);
    tl_status status = open_at(l, &catalog, &table, err);
    for (int c = 0; c < COMMITS && status == TL_OK;) {
        rows list = commit_of(l->kind, number, c);
        tl_commit_result result = {0};
        status = commit_rows(table, l->kind, &list, user, c + 1, l->pool, &result, err);
        rows_free(&list);
        if (status == TL_OK)
            c++;
        else if (status == TL_E_NOT_FOUND && l->expires && attempts++ < 1000)
            status = TL_OK;
    }
    tl_table_free(table);
    tl_catalog_close(catalog);
    return status;
}

static void *writer_thread(void *arg)
{
    worker *w = arg;
    w->status = write_all(w->lake, w->number, &w->err);
    atomic_fetch_sub(&w->lake->running, 1);
    return NULL;
}

static tl_status compact_once(const lake *l, bool full, tl_error *err)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_commit_result result = {0};
    tl_status status = open_at(l, &catalog, &table, err);
    if (status == TL_OK)
        status = tl_table_compact(table, "compactor", full, l->pool, &result, err);
    tl_table_free(table);
    tl_catalog_close(catalog);
    return status;
}

static void *compactor_thread(void *arg)
{
    worker *w = arg;
    while (atomic_load(&w->lake->running) > 0) {
        w->status = compact_once(w->lake, w->done % 2 == 0, &w->err);
        if (w->status != TL_OK && !overtaken(w->status))
            return NULL;
        w->status = TL_OK;
        w->done++;
        tl_sleep_ms(5);
    }
    return NULL;
}

static void *expirer_thread(void *arg)
{
    worker *w = arg;
    while (atomic_load(&w->lake->running) > 0) {
        tl_catalog *catalog = NULL;
        tl_table *table = NULL;
        tl_expire_spec spec = {.retain_max = 10, .retain_min = 10, .older_than_ms = 0};
        w->status = open_at(w->lake, &catalog, &table, &w->err);
        if (w->status == TL_OK)
            w->status = tl_table_expire(table, &spec, NULL, &w->err);
        tl_table_free(table);
        tl_catalog_close(catalog);
        if (w->status != TL_OK)
            return NULL;
        w->done++;
        tl_sleep_ms(5);
    }
    return NULL;
}

/* Whole commits only. */
static tl_status check_whole(const lake *l, rows *got, tl_error *err)
{
    rows_sort(got);
    if (l->kind->engine == ENGINE_APPEND) {
        for (size_t i = 0; i < got->n; i++) {
            if (i > 0 && got->items[i].k == got->items[i - 1].k)
                return tl_error_set(err, TL_E_INTERNAL, "row %d is there twice", got->items[i].k);
        }
        for (size_t i = 0; i < got->n; i++) {
            if (got->n % ROWS != 0 || got->items[i].k / ROWS != got->items[i - i % ROWS].k / ROWS)
                return tl_error_set(err, TL_E_INTERNAL, "%zu rows, half a commit at row %d", got->n, got->items[i].k);
        }
        return TL_OK;
    }
    for (size_t i = 1; i < got->n; i++) {
        if (got->n != ROWS || got->items[i].v != got->items[0].v)
            return tl_error_set(err, TL_E_INTERNAL, "%zu keys, sums of %lld and %lld", got->n, (long long)got->items[0].v,
                                (long long)got->items[i].v);
    }
    return TL_OK;
}

static void *reader_thread(void *arg)
{
    worker *w = arg;
    while (atomic_load(&w->lake->running) > 0) {
        tl_catalog *catalog = NULL;
        tl_table *table = NULL;
        rows got = {0};
        w->status = open_at(w->lake, &catalog, &table, &w->err);
        if (w->status == TL_OK)
            w->status = read_table(table, w->lake->pool, &got, &w->err);
        if (w->status == TL_OK)
            w->status = check_whole(w->lake, &got, &w->err);
        else if (overtaken(w->status))
            w->status = TL_OK; /* expired while it was read */
        rows_free(&got);
        tl_table_free(table);
        tl_catalog_close(catalog);
        if (w->status != TL_OK)
            return NULL;
        w->done++;
    }
    return NULL;
}

/* ---- the whole ---- */

static void check_end(lake *l, int writers, bool all)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_error err;
    rows want = {0}, got = {0}, again = {0};
    assert_ok(open_at(l, &catalog, &table, &err), &err);
    for (int w = 0; w < writers; w++) {
        for (int c = 0; c < COMMITS; c++) {
            rows list = commit_of(l->kind, w, c);
            for (size_t i = 0; i < list.n; i++)
                model_apply(&want, l->kind->engine, list.items[i]);
            rows_free(&list);
        }
    }
    assert_ok(read_table(table, l->pool, &got, &err), &err);
    assert_rows_equal(&got, &want, l->kind->name);
    assert_sound(table, all, l->kind->name);
    assert_ok(compact_once(l, /* full= */ true, &err), &err);
    assert_ok(read_table(table, NULL, &again, &err), &err);
    assert_rows_equal(&again, &want, "after a full compaction");
    if (all && l->kind->exact_changelog) {
        rows folded = {0};
        fold_changes(table, l->kind, &folded, l->kind->name);
        assert_rows_equal(&folded, &want, "the changelog");
        rows_free(&folded);
    }
    rows_free(&want);
    rows_free(&got);
    rows_free(&again);
    tl_table_free(table);
    tl_catalog_close(catalog);
}

static void start(pthread_t *thread, void *(*run)(void *), worker *w)
{
    assert_int_equal(pthread_create(thread, NULL, run, w), 0);
}

static void check(const worker *w, const char *what)
{
    if (w->status != TL_OK)
        fail_msg("%s %d: %s: %s", what, w->number, tl_status_name(w->status), w->err.message);
}

static void run_threads(const table_kind *kind, bool on_disk, bool expire, int pool_threads)
{
    lake l = {.kind = kind, .expires = expire, .running = WRITERS};
    worker workers[WRITERS], upkeep[3];
    pthread_t threads[WRITERS], upkeep_threads[3];
    void *(*const upkeep_runs[])(void *) = {compactor_thread, reader_thread, expirer_thread};
    int n_upkeep = expire ? 3 : 2;
    tl_error err;
    tl_catalog *catalog = NULL;
    char *dir = on_disk ? make_temp_dir() : NULL;
    l.dir = dir;
    if (!on_disk)
        assert_ok(tl_fs_memory(&l.memory, &err), &err);
    if (pool_threads > 0)
        assert_ok(tl_pool_create(pool_threads, &l.pool, &err), &err);
    assert_ok(open_lake(l.dir, l.memory, &catalog, &err), &err);
    create_lake(catalog, kind);
    tl_catalog_close(catalog);
    for (int i = 0; i < WRITERS; i++) {
        workers[i] = (worker){.lake = &l, .number = i};
        start(&threads[i], writer_thread, &workers[i]);
    }
    for (int i = 0; i < n_upkeep; i++) {
        upkeep[i] = (worker){.lake = &l, .number = i};
        start(&upkeep_threads[i], upkeep_runs[i], &upkeep[i]);
    }
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < n_upkeep; i++)
        assert_int_equal(pthread_join(upkeep_threads[i], NULL), 0);
    for (int i = 0; i < WRITERS; i++)
        check(&workers[i], "writer");
    for (int i = 0; i < n_upkeep; i++)
        check(&upkeep[i], "upkeep");
    printf("%s: %d compactions, %d reads, %d expiries beside the writers\n", kind->name, upkeep[0].done, upkeep[1].done,
           expire ? upkeep[2].done : 0);
    check_end(&l, WRITERS, !expire);
    tl_pool_free(l.pool);
    tl_fs_unref(l.memory);
    if (dir != NULL)
        remove_temp_dir(dir);
}

static void threads_append_rows(void **state)
{
    (void)state;
    run_threads(&append, /* on_disk= */ false, /* expire= */ false, 0);
}

static void threads_append_rows_to_buckets_on_disk_while_snapshots_expire(void **state)
{
    (void)state;
    run_threads(&buckets, /* on_disk= */ true, /* expire= */ true, 2);
}

static void threads_add_to_the_same_keys(void **state)
{
    (void)state;
    run_threads(&plain, /* on_disk= */ false, /* expire= */ false, 2);
}

static void threads_add_to_the_same_keys_while_snapshots_expire(void **state)
{
    (void)state;
    run_threads(&plain, /* on_disk= */ false, /* expire= */ true, 2);
}

static void threads_make_one_exact_changelog(void **state)
{
    (void)state;
    run_threads(&lookup, /* on_disk= */ false, /* expire= */ false, 2);
}

/* Children have no threads of the parent's; they leave with _exit() and tell by their status. */
static void processes_add_to_the_same_keys(void **state)
{
    (void)state;
    enum { PROCESSES = 4 };
    char *dir = make_temp_dir();
    lake l = {.kind = &lookup, .dir = dir};
    tl_error err;
    tl_catalog *catalog = NULL;
    pid_t children[PROCESSES + 1];
    assert_ok(open_lake(dir, NULL, &catalog, &err), &err);
    create_lake(catalog, l.kind);
    tl_catalog_close(catalog);
    fflush(NULL);
    for (int i = 0; i <= PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] > 0)
            continue;
        tl_status status = TL_OK;
        if (i < PROCESSES)
            status = write_all(&l, i, &err);
        for (int c = 0; i == PROCESSES && c < 5 && (status == TL_OK || overtaken(status)); c++)
            status = compact_once(&l, /* full= */ false, &err);
        if (status != TL_OK && !(i == PROCESSES && overtaken(status)))
            fprintf(stderr, "process %d: %s: %s\n", i, tl_status_name(status), err.message);
        _exit(status == TL_OK || i == PROCESSES ? 0 : 1);
    }
    for (int i = 0; i <= PROCESSES; i++) {
        int how = 0;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    check_end(&l, PROCESSES, /* all= */ true);
    remove_temp_dir(dir);
}

/* An argument runs only the tests whose names match it. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_add_to_the_same_keys),
        cmocka_unit_test(threads_append_rows),
        cmocka_unit_test(threads_append_rows_to_buckets_on_disk_while_snapshots_expire),
        cmocka_unit_test(threads_add_to_the_same_keys),
        cmocka_unit_test(threads_add_to_the_same_keys_while_snapshots_expire),
        cmocka_unit_test(threads_make_one_exact_changelog),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    tl_log_set(NULL, NULL, TL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
