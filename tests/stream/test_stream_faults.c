/*
 * A job whose n-th call of the file system or n-th allocation fails, anywhere in its operators, sources, sinks and commits, ends with
 * an error or goes on; started again it gives the tables that it would have given, and its warehouse is sound.
 *
 * TL_STREAM_FAULTS: how many failures for each query (default 1, of each kind in turn; TL_SEED varies which). I/N, as 0/1: every
 * point whose number is I of N, so that N runs go over all of them.
 */
#include "base/log.h"
#include "io/io.h"
#include "stream/restarted.h"
#include "support/copy_fs.h"

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

static char *table_name(size_t i)
{
    char *name = tl_strf("%s_0", restarted[i].name);
    assert_non_null(name);
    return name;
}

/*
 * A run over part `part`, on what is in `fs`; where something fails and the job ends, it is started again. *cost: of the first run.
 * The rows of one part come before each run.
 */
static void run_part(size_t i, int part, uint64_t seed, fault_kind kind, uint64_t at, run_cost *cost)
{
    tl_error err;
    run_cost other;
    char *name = table_name(i);
    if (part < RUNS)
        put_parts(restarted[i].query, part, seed);
    char *script = script_of(name, restarted[i].columns, restarted[i].query, /* last= */ part == RUNS);
    tl_status status = run_with(script, kind, at, cost, &err);
    if (status != TL_OK && kind == FAULT_NONE)
        fail_msg("%s: %s", restarted[i].name, err.message);
    if (status != TL_OK)
        assert_ok(run_with(script, FAULT_NONE, 0, &other, &err), &err);
    tl_free(script);
    tl_free(name);
}

/* A query's job without faults: what is there before each run, what each run costs, what comes out. */
typedef struct undisturbed {
    tl_fs *before[RUNS + 1];
    run_cost cost[RUNS + 1];
    char *rows;
} undisturbed;

static char *rows_of(size_t i)
{
    char *name = table_name(i), *rows = read_table(name);
    assert_sound_table(name);
    tl_free(name);
    return rows;
}

static void run_undisturbed(size_t i, uint64_t seed, undisturbed *u)
{
    for (int part = 0; part <= RUNS; part++) {
        u->before[part] = part == 0 ? NULL : copy_to_memory(fs, root);
        run_part(i, part, seed, FAULT_NONE, 0, &u->cost[part]);
    }
    u->rows = rows_of(i);
}

static void forget(undisturbed *u)
{
    for (int part = 0; part <= RUNS; part++)
        tl_fs_unref(u->before[part]);
    tl_free(u->rows);
}

static void start_anew(const undisturbed *u, int part)
{
    tl_error err;
    tl_fs_unref(fs);
    if (part == 0)
        assert_ok(tl_fs_memory(&fs, &err), &err);
    else
        fs = copy_to_memory(u->before[part], root);
}

/* The run over part `where` has a fault; what comes out must be what came without. */
static void fault_at(size_t i, const undisturbed *u, fault_kind kind, int where, uint64_t at, uint64_t seed)
{
    run_cost ignored;
    start_anew(u, where);
    for (int part = where; part <= RUNS; part++)
        run_part(i, part, seed, part == where ? kind : FAULT_NONE, at, &ignored);
    char *got = rows_of(i);
    if (strcmp(u->rows, got) != 0)
        fail_msg("%s: run %d, %s %llu failed\n%s\nwithout that\n%s", restarted[i].name, where, kind == FAULT_ALLOCATION ? "allocation" : "call",
                 (unsigned long long)at, got, u->rows);
    tl_free(got);
}

/* Every point of a query's runs whose number is `first` of `step`; their numbers go on from query to query. */
static void every_fault(size_t i, const undisturbed *u, uint64_t seed, uint64_t first, uint64_t step, uint64_t *number, int64_t *faults)
{
    for (int where = 0; where <= RUNS; where++) {
        for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++) {
            uint64_t total = kind == FAULT_ALLOCATION ? u->cost[where].allocations : u->cost[where].calls;
            for (uint64_t at = 1; at <= total; at++) {
                if ((*number)++ % step != first)
                    continue;
                fault_at(i, u, (fault_kind)kind, where, at, seed);
                ++*faults;
            }
        }
    }
}

static void some_faults(size_t i, const undisturbed *u, uint64_t seed, int64_t each, uint64_t *rnd, int64_t *faults)
{
    for (int64_t k = 0; k < each; k++) {
        int where = (int)(test_random(rnd) % (RUNS + 1));
        fault_kind kind = (fault_kind)(1 + (i + (size_t)k) % (FAULT_KINDS - 1));
        uint64_t at = 1 + test_random(rnd) % (kind == FAULT_ALLOCATION ? u->cost[where].allocations : u->cost[where].calls);
        fault_at(i, u, kind, where, at, seed);
        ++*faults;
    }
}

static void a_job_that_failed_anywhere_goes_on_where_it_was(void **state)
{
    (void)state;
    const char *text = getenv("TL_STREAM_FAULTS");
    unsigned long long first = 0, step = 0;
    bool every = text != NULL && sscanf(text, "%llu/%llu", &first, &step) == 2;
    int64_t faults = 0;
    uint64_t seed = test_seed(32), rnd = seed, number = 0;
    assert_true(!every || first < step);
    for (size_t i = 0; i < TL_ARRAY_LEN(restarted); i++) {
        undisturbed u = {0};
        start_anew(&u, 0);
        run_undisturbed(i, seed, &u);
        if (every)
            every_fault(i, &u, seed, first, step, &number, &faults);
        else
            some_faults(i, &u, seed, text == NULL ? 1 : atoll(text), &rnd, &faults);
        forget(&u);
    }
    printf("%lld faults", (long long)faults);
    if (every)
        printf(" of %llu points", (unsigned long long)number);
    printf("\n");
}

static int make_memory(void **state)
{
    (void)state;
    tl_error err;
    strcpy(root, "/job");
    assert_ok(tl_fs_memory(&fs, &err), &err);
    return 0;
}

static int drop_memory(void **state)
{
    (void)state;
    tl_fs_unref(fs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_that_failed_anywhere_goes_on_where_it_was, make_memory, drop_memory),
    };
    tl_log_set(NULL, NULL, TL_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
