/* Several threads and several processes commit to one table at once: every row gets in exactly once, and the table is sound. */
#include "table_support.h"

#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 4
#define COMMITS 8

typedef struct worker {
    lake l;
    const char *table;
    int number;
    bool full;
} worker;

static const char *const tables[] = {"append", "keyed"};

static void make_tables(lake *l)
{
    create(l, "append", "k INT NOT NULL, v STRING", NULL, NULL,
           "commit.max-retries=1000,commit.min-retry-wait=1ms,commit.max-retry-wait=20ms");
    create(l, "keyed", "k INT NOT NULL, v STRING", "k", NULL,
           "bucket=2,commit.max-retries=1000,commit.min-retry-wait=1ms,commit.max-retry-wait=20ms,num-sorted-run.compaction-trigger=3");
}

/* Commit COMMITS times, and each third commit once more, as after a lost answer. No assertions: it may run in a thread. */
static tl_status commit_all(worker *w, tl_error *err)
{
    tl_table *table = NULL;
    char user[16];
    snprintf(user, sizeof user, "user-%d", w->number);
    TL_TRY(tl_table_open(w->l.catalog, "d", w->table, NULL, &table, err));
    tl_status status = TL_OK;
    for (int i = 0; i < COMMITS && status == TL_OK; i++) {
        for (int again = 0; again <= (i % 3 == 2) && status == TL_OK; again++) {
            char lines[128];
            tl_commit_messages messages = {0};
            tl_commit_result result;
            tl_commit_spec spec = batch_commit(user, i + 1);
            snprintf(lines, sizeof lines, "{'k':%d,'v':'w%d'}\n{'k':%d,'v':'w%d'}", w->number * 1000 + i, w->number,
                     w->number * 1000 + 500 + i, w->number);
            status = prepare_lines(table, lines, w->full && i % 4 == 3, false, &messages, err);
            if (status == TL_OK)
                status = tl_table_commit(table, &spec, &messages, &result, err);
            tl_commit_messages_deinit(&messages);
        }
    }
    tl_table_free(table);
    return status;
}

static void check_tables(lake *l)
{
    for (size_t t = 0; t < TL_ARRAY_LEN(tables); t++) {
        char want[8192] = "";
        for (int w = 0; w < WRITERS; w++)
            for (int i = 0; i < COMMITS; i++)
                snprintf(want + strlen(want), sizeof want - strlen(want), "{'k':%d,'v':'w%d'}\n{'k':%d,'v':'w%d'}\n", w * 1000 + i, w,
                         w * 1000 + 500 + i, w);
        assert_rows(l, tables[t], NULL, want);
        tl_table *table = open_table(l, tables[t]);
        assert_sound(table);
        tl_table_free(table);
    }
}

static void *run_thread(void *arg)
{
    worker *w = arg;
    tl_error err;
    tl_status status = commit_all(w, &err);
    if (status != TL_OK)
        fprintf(stderr, "writer %d: %s\n", w->number, err.message);
    return (void *)(intptr_t)status;
}

static void threads_commit_to_one_table(void **state)
{
    (void)state;
    lake l = memory_lake();
    make_tables(&l);
    pthread_t threads[2 * WRITERS];
    worker workers[2 * WRITERS];
    for (int i = 0; i < 2 * WRITERS; i++) {
        workers[i] = (worker){.l = l, .table = tables[i / WRITERS], .number = i % WRITERS, .full = i / WRITERS == 1};
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &workers[i]), 0);
    }
    for (int i = 0; i < 2 * WRITERS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_int_equal((intptr_t)status, TL_OK);
    }
    check_tables(&l);
    close_lake(&l);
}

static lake local_lake(const char *dir)
{
    lake l = {0};
    tl_error err;
    assert_ok(tl_fs_local(&l.fs, &err), &err);
    assert_ok(tl_catalog_open(l.fs, dir, &l.catalog, &err), &err);
    assert_ok(tl_catalog_create_database(l.catalog, "d", true, &err), &err);
    return l;
}

static void processes_commit_to_one_table(void **state)
{
    (void)state;
    char dir[] = "/tmp/tidelake-concurrent-XXXXXX";
    tl_error err;
    assert_non_null(mkdtemp(dir));
    lake l = local_lake(dir);
    make_tables(&l);
    close_lake(&l); /* with its threads: one that held a lock while another forks would keep it in the child for ever */
    pid_t children[2 * WRITERS];
    for (int i = 0; i < 2 * WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            worker w = {.l = local_lake(dir), .table = tables[i / WRITERS], .number = i % WRITERS, .full = i / WRITERS == 1};
            _exit(run_thread(&w) == NULL ? 0 : 1);
        }
    }
    int failures = 0;
    for (int i = 0; i < 2 * WRITERS; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        failures += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    assert_int_equal(failures, 0);
    l = local_lake(dir);
    check_tables(&l);
    assert_ok(tl_fs_remove_all(l.fs, dir, &err), &err);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_commit_to_one_table), /* first: no threads yet */
        cmocka_unit_test(threads_commit_to_one_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
