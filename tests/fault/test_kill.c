/*
 * A writer on disk is killed (SIGKILL) at random moments and started again, with background compactions and changelogs going on:
 * after each kill the table is sound and holds a prefix of whole commits, and the next writer goes on after the last of them.
 *
 * TL_KILLS: how often (default 25); TL_SEED replays the moments, as far as a scheduler lets it.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/thread.h"
#include "support/temp_lake.h"

#define USER "writer"
#define ROWS 20

static const table_kind append = {.name = "append", .engine = ENGINE_APPEND, .options = {"bucket", "-1"}};
static const table_kind keyed = {.name = "aggregation, lookup",
                                 .engine = ENGINE_SUM,
                                 .exact_changelog = true,
                                 .options = {"bucket", "2", "merge-engine", "aggregation", "fields.v.aggregate-function", "sum",
                                             "changelog-producer", "lookup", "snapshot.num-retained.min", "1000",
                                             "snapshot.num-retained.max", "1000"}};

static rows commit_of(const table_kind *kind, int64_t number)
{
    rows list = {0};
    for (int i = 0; i < ROWS; i++) {
        int k = kind->engine == ENGINE_APPEND ? (int)number * ROWS + i : i;
        rows_add(&list, (row){.k = k, .v = number, .s = 7});
    }
    return list;
}

/* The last identifier that is in; 0: none. */
static tl_status last_identifier(tl_table *table, int64_t *out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_table_latest_of_user(table, USER, &snap, err);
    *out = status == TL_OK ? snap->commit_identifier : 0;
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

/* What the child does until it is killed. */
static tl_status write_forever(const char *dir, const table_kind *kind, tl_error *err)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_pool *pool = NULL;
    int64_t number = 0;
    TL_TRY(open_lake(dir, NULL, &catalog, err));
    TL_TRY(open_table(catalog, NULL, NULL, &table, err));
    TL_TRY(tl_pool_create(2, &pool, err));
    TL_TRY(last_identifier(table, &number, err));
    for (;;) {
        rows list = commit_of(kind, ++number);
        tl_commit_result result = {0};
        TL_TRY(commit_rows(table, kind, &list, USER, number, pool, &result, err));
        rows_free(&list);
        if (kind->engine == ENGINE_APPEND && number % 5 == 0)
            TL_TRY(tl_table_compact(table, "compactor", /* full= */ true, pool, &result, err));
    }
}

static void kill_one_writer(const char *dir, const table_kind *kind, int64_t after_ms)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tl_error err = {0};
        tl_status status = write_forever(dir, kind, &err);
        fprintf(stderr, "writer: %s: %s\n", tl_status_name(status), err.message);
        _exit(1);
    }
    tl_sleep_ms(after_ms);
    assert_int_equal(kill(child, SIGKILL), 0);
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
}

static int64_t check_prefix(const char *dir, const table_kind *kind, bool with_changelog)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_error err;
    int64_t last = 0;
    rows got = {0}, want = {0}, folded = {0};
    tl_commit_result result = {0};
    assert_ok(open_lake(dir, NULL, &catalog, &err), &err);
    assert_ok(open_table(catalog, NULL, NULL, &table, &err), &err);
    assert_ok(last_identifier(table, &last, &err), &err);
    for (int64_t number = 1; number <= last; number++) {
        rows list = commit_of(kind, number);
        for (size_t i = 0; i < list.n; i++)
            model_apply(&want, kind->engine, list.items[i]);
        rows_free(&list);
    }
    assert_ok(read_table(table, NULL, &got, &err), &err);
    assert_rows_equal(&got, &want, kind->name);
    assert_sound(table, /* all= */ with_changelog, kind->name);
    if (with_changelog) {
        assert_ok(tl_table_compact(table, "settler", /* full= */ true, NULL, &result, &err), &err);
        fold_changes(table, kind, &folded, kind->name);
        assert_rows_equal(&folded, &want, "the changelog");
    }
    rows_free(&got);
    rows_free(&want);
    rows_free(&folded);
    tl_table_free(table);
    tl_catalog_close(catalog);
    return last;
}

static void kill_and_go_on(const table_kind *kind)
{
    const char *text = getenv("TL_KILLS");
    int kills = text != NULL ? atoi(text) : 25;
    uint64_t rng = test_seed(1);
    char *dir = make_temp_dir();
    tl_catalog *catalog = NULL;
    tl_error err;
    int64_t last = 0;
    assert_ok(open_lake(dir, NULL, &catalog, &err), &err);
    create_lake(catalog, kind);
    tl_catalog_close(catalog);
    /* On a machine where nobody gets to its first commit in so short a life, lives become longer until one does. */
    for (int i = 0; i < kills || last == 0; i++) {
        kill_one_writer(dir, kind, 20 + (int64_t)(test_random(&rng) % 100) + TL_MAX(i - kills, 0) * 20);
        int64_t now = check_prefix(dir, kind, /* with_changelog= */ false);
        assert_true(now >= last);
        last = now;
    }
    printf("%s: %lld commits in %d lives\n", kind->name, (long long)last, kills);
    check_prefix(dir, kind, /* with_changelog= */ true);
    remove_temp_dir(dir);
}

static void an_append_table_outlives_its_writers(void **state)
{
    (void)state;
    kill_and_go_on(&append);
}

static void a_keyed_table_and_its_changelog_outlive_their_writers(void **state)
{
    (void)state;
    kill_and_go_on(&keyed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_append_table_outlives_its_writers),
        cmocka_unit_test(a_keyed_table_and_its_changelog_outlive_their_writers),
    };
    tl_log_set(NULL, NULL, TL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
