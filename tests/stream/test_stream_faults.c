/*
 * A job whose n-th call of the file system or n-th allocation fails, anywhere in its operators, sources, sinks and commits, ends with
 * an error or goes on; started again it gives the tables that it would have given, and its warehouse is sound.
 *
 * TL_STREAM_FAULTS: how many failures for each query (default 1, of each kind in turn; TL_SEED varies which).
 */
#include "base/log.h"
#include "io/io.h"
#include "stream/restarted.h"

#define RUNS 2 /* parts in which the rows come: one before a commit, one after */

typedef enum fault_kind { FAULT_NONE, FAULT_CALL, FAULT_ALLOCATION, FAULT_CRASH, FAULT_KINDS } fault_kind;

/* How far a run came: calls and allocations of it. */
typedef struct run_cost {
    uint64_t calls, allocations;
} run_cost;

static tl_status run_with(const char *script, fault_kind kind, uint64_t at, run_cost *cost, tl_error *err)
{
    tl_options vars = {0};
    tl_fault_plan plan = {kind == FAULT_CRASH ? TL_FAULT_CRASH : TL_FAULT_EIO, kind == FAULT_CALL || kind == FAULT_CRASH ? at : 0, 0};
    tl_fs *faulty = NULL;
    tl_sql_session *session = NULL;
    assert_int_equal(tl_options_set(&vars, "DIR", root), TL_OK);
    assert_ok(tl_fs_fault(fs, &plan, &faulty, err), err);
    assert_ok(tl_sql_session_create(&(tl_sql_session_options){.streaming = true, .fs = faulty}, &session, err), err);
    tl_stream_options options = {.vars = &vars, .stop_after_idle_s = 0.03};
    tl_alloc_fail_at(kind == FAULT_ALLOCATION ? at : UINT64_MAX); /* to count them */
    tl_status status = tl_stream_run_script(session, script, strlen(script), &options, NULL, err);
    *cost = (run_cost){plan.calls, tl_alloc_count()};
    tl_alloc_fail_at(0);
    tl_sql_session_free(session);
    tl_fs_unref(faulty);
    tl_options_deinit(&vars);
    return status;
}

static void assert_sound_table(const char *name)
{
    tl_error err;
    tl_catalog *catalog;
    tl_table *table;
    tl_fsck_report report = {0};
    char *warehouse = tl_path_join(root, "lake");
    assert_ok(tl_catalog_open(fs, warehouse, &catalog, &err), &err);
    assert_ok(tl_table_open(catalog, "app", name, NULL, &table, &err), &err);
    assert_ok(tl_table_fsck(table, true, &report, &err), &err);
    if (report.n_problems > 0)
        fail_msg("%s: fsck: %s", name, report.problems[0]);
    tl_fsck_report_deinit(&report);
    tl_table_free(table);
    tl_catalog_close(catalog);
    tl_free(warehouse);
}

/* The rows come in parts; the run over part `where` fails, and is started again. *cost: of that run. */
static char *result_with(size_t i, fault_kind kind, int where, uint64_t at, uint64_t seed, run_cost *cost)
{
    static int n_tables;
    remove_files();
    char *name = tl_strf("%s_%d", restarted[i].name, n_tables++);
    for (int part = 0; part <= RUNS; part++) {
        tl_error err;
        run_cost other;
        if (part < RUNS)
            put_parts(restarted[i].query, part, seed);
        char *script = script_of(name, restarted[i].columns, restarted[i].query, /* last= */ part == RUNS);
        tl_status status = part == where ? run_with(script, kind, at, cost, &err) : TL_E_INTERNAL;
        if (status != TL_OK && part == where && kind == FAULT_NONE)
            fail_msg("%s: %s", restarted[i].name, err.message);
        if (status != TL_OK)
            assert_ok(run_with(script, FAULT_NONE, 0, &other, &err), &err);
        tl_free(script);
    }
    char *rows = read_table(name);
    assert_sound_table(name);
    tl_free(name);
    return rows;
}

static void a_job_that_failed_anywhere_goes_on_where_it_was(void **state)
{
    (void)state;
    const char *text = getenv("TL_STREAM_FAULTS");
    int64_t each = text == NULL ? 1 : atoll(text), faults = 0;
    uint64_t seed = test_seed(32), rnd = seed;
    for (size_t i = 0; i < TL_ARRAY_LEN(restarted); i++) {
        for (int64_t k = 0; k < each; k++) {
            run_cost cost, ignored;
            int where = (int)(test_random(&rnd) % (RUNS + 1));
            char *want = result_with(i, FAULT_NONE, where, 0, seed, &cost);
            fault_kind kind = (fault_kind)(1 + (i + (size_t)k) % (FAULT_KINDS - 1));
            uint64_t at = 1 + test_random(&rnd) % (kind == FAULT_ALLOCATION ? cost.allocations : cost.calls);
            char *got = result_with(i, kind, where, at, seed, &ignored);
            if (strcmp(want, got) != 0)
                fail_msg("%s: run %d, %s %llu failed\n%s\nwithout that\n%s", restarted[i].name, where, kind == FAULT_ALLOCATION ? "allocation" : "call",
                         (unsigned long long)at, got, want);
            tl_free(want);
            tl_free(got);
            faults++;
        }
    }
    printf("%lld faults\n", (long long)faults);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_that_failed_anywhere_goes_on_where_it_was, make_root, remove_root),
    };
    tl_log_set(NULL, NULL, TL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
