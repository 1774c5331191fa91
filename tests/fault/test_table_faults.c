/*
 * Every call of the file system and every allocation gets its turn to fail, and every call its turn to be the last before a
 * power cut, in each step of a table's history: create, write and commit with compactions and their changelogs, tag, a
 * branch from it, a compaction job, rollback, expiry, and the end of branch and tag.
 *
 * Each step starts from a copy of the file system as it was before. After a fault:
 * - what was committed before reads as the model says, snapshot by snapshot, and fsck finds nothing;
 * - the step's commit is there whole or not at all;
 * - the same step once more (same commit user, same identifier) succeeds, and its rows are in exactly once;
 * - the changelog still tells exactly what happened;
 * - what is left behind is found and removed as orphans, and nothing that is in use.
 * Where a fault left no trace (the file system is byte for byte as before) there is nothing to look at, which is what makes it
 * possible to try them all.
 *
 * TL_FAULT_SAMPLES: allocations to try in each step, spread evenly (default 60; 0: every one). Under a sanitizer the calls of the
 * file system are sampled in the same way (default 15).
 */
#include "support/faults.h"
#include "support/lake_model.h"

#include "base/log.h"
#include "io/memory.h"

#define SNAPSHOTS_MAX 64

typedef enum step_kind {
    STEP_CREATE,
    STEP_WRITE,
    STEP_TAG,
    STEP_BRANCH,
    STEP_COMPACT,
    STEP_ROLLBACK,
    STEP_EXPIRE,
    STEP_DROP_BRANCH,
    STEP_DROP_TAG
} step_kind;

static const step_kind script[] = {STEP_CREATE,  STEP_WRITE, STEP_WRITE,    STEP_TAG,   STEP_WRITE,  STEP_WRITE, STEP_BRANCH,      STEP_WRITE,
                                   STEP_COMPACT, STEP_WRITE, STEP_ROLLBACK, STEP_WRITE, STEP_EXPIRE, STEP_WRITE, STEP_DROP_BRANCH, STEP_DROP_TAG,
                                   STEP_WRITE};

typedef struct world {
    const table_kind *kind;
    int step;
    tl_fs *fs;                   /* state before the step */
    rows model;                  /* what the table holds before the step */
    rows next;                   /* and after it */
    rows tagged;                 /* at the tag */
    bool has_tag;
    bool has_branch; /* from the tag */
    rows snapshots[SNAPSHOTS_MAX]; /* by id; only those up to `latest` mean anything */
    int64_t latest;
    char where[160]; /* for messages */
} world;

/* ---- the steps ---- */

/* Updates of keys that are there, new ones, and a few deletes, as commit number `number` brings them. */
static rows step_rows(const table_kind *kind, int number)
{
    rows list = {0};
    for (int i = 0; i < 12; i++) {
        int32_t k = (number * 5 + i * 3) % 17;
        uint8_t what = kind->engine == ENGINE_DEDUPLICATE && i % 5 == 4 ? TL_KIND_DELETE : TL_KIND_INSERT;
        rows_add(&list, (row){.p = kind->partitioned ? k % 2 : 0, .k = k, .v = number * 100 + i, .s = number, .kind = what});
    }
    return list;
}

/* Some writes of tables with deletion vectors are deletions instead. */
static bool is_deletion(const world *w)
{
    return w->kind->deletes_rows && script[w->step] == STEP_WRITE && w->step % 3 != 1;
}

static bool is_deleted(const world *w, int32_t k)
{
    return k >= w->step % 11 && k < w->step % 11 + 5;
}

static tl_status delete_step(tl_catalog *catalog, const world *w, tl_error *err)
{
    char text[96];
    tl_table *table = NULL;
    tl_predicate *pred = NULL;
    tl_arena arena = {0};
    const tl_json *json = NULL;
    snprintf(text, sizeof text, "[\"between\",\"k\",%d,%d]", w->step % 11, w->step % 11 + 4);
    tl_status status = open_table(catalog, NULL, NULL, &table, err);
    if (status == TL_OK)
        status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, err);
    if (status == TL_OK)
        status = tl_predicate_from_json(json, tl_table_row_type(table), &pred, err);
    tl_delete_spec spec = {.user = "writer", .finder = {.predicate = pred}};
    if (status == TL_OK)
        status = tl_table_delete(table, &spec, NULL, NULL, err);
    tl_predicate_free(pred);
    tl_arena_deinit(&arena);
    tl_table_free(table);
    return status;
}

static tl_status write_step(tl_catalog *catalog, const world *w, tl_error *err)
{
    if (is_deletion(w))
        return delete_step(catalog, w, err);
    tl_table *table = NULL;
    tl_commit_result result = {0};
    rows list = step_rows(w->kind, w->step);
    tl_status status = open_table(catalog, NULL, NULL, &table, err);
    if (status == TL_OK)
        status = commit_rows(table, w->kind, &list, "writer", w->step, NULL, &result, err);
    tl_table_free(table);
    rows_free(&list);
    return status;
}

static tl_status upkeep_step(tl_catalog *catalog, step_kind what, tl_error *err)
{
    tl_table *table = NULL;
    tl_commit_result result = {0};
    TL_TRY(open_table(catalog, NULL, NULL, &table, err));
    tl_status status = TL_OK;
    if (what == STEP_TAG) {
        status = tl_table_create_tag(table, "good", 0, TL_ABSENT, err);
        if (status == TL_E_EXISTS)
            status = TL_OK; /* the attempt before made it */
    } else if (what == STEP_BRANCH) {
        status = tl_table_create_branch(table, "side", "good", err);
        if (status == TL_E_EXISTS)
            status = TL_OK;
    } else if (what == STEP_DROP_BRANCH) {
        status = tl_table_delete_branch(table, "side", err);
        if (status == TL_E_NOT_FOUND)
            status = TL_OK;
    } else if (what == STEP_DROP_TAG) {
        status = tl_table_delete_tag(table, "good", err);
        if (status == TL_E_NOT_FOUND)
            status = TL_OK;
    } else if (what == STEP_COMPACT) {
        status = tl_table_compact(table, "compactor", /* full= */ true, NULL, &result, err);
    } else if (what == STEP_ROLLBACK) {
        status = tl_table_rollback(table, 0, "good", err);
    } else {
        tl_expire_spec spec = {.retain_max = 2, .retain_min = 2, .older_than_ms = 0};
        status = tl_table_expire(table, &spec, NULL, err);
    }
    tl_table_free(table);
    return status;
}

static tl_status create_step(tl_catalog *catalog, const world *w, tl_error *err)
{
    TL_TRY(tl_catalog_create_database(catalog, "d", /* if_not_exists= */ true, err));
    return create_table(catalog, w->kind, err);
}

static tl_status do_step(const world *w, tl_fs *fs, tl_error *err)
{
    tl_catalog *catalog = NULL;
    TL_TRY(tl_catalog_open(fs, "/lake", &catalog, err));
    step_kind what = script[w->step];
    tl_status status = what == STEP_CREATE  ? create_step(catalog, w, err)
                       : what == STEP_WRITE ? write_step(catalog, w, err)
                                            : upkeep_step(catalog, what, err);
    tl_catalog_close(catalog);
    return status;
}

/* What the table holds after the step. */
static rows model_after(const world *w)
{
    if (script[w->step] == STEP_ROLLBACK)
        return rows_dup(&w->tagged);
    rows after = rows_dup(&w->model);
    if (is_deletion(w)) {
        size_t n = 0;
        for (size_t i = 0; i < after.n; i++) {
            if (!is_deleted(w, after.items[i].k))
                after.items[n++] = after.items[i];
        }
        after.n = n;
    } else if (script[w->step] == STEP_WRITE) {
        rows list = step_rows(w->kind, w->step);
        for (size_t i = 0; i < list.n; i++)
            model_apply(&after, w->kind->engine, list.items[i]);
        rows_free(&list);
    }
    return after;
}

static tl_fs *copy_of(tl_fs *fs)
{
    return copy_to_memory(fs, "/lake");
}

/* ---- what must be true after a fault, and after the step succeeded ---- */

/* Only these steps take files away. After the others it is enough to find all files of before and to read what is new. */
static bool removes(const world *w)
{
    step_kind what = script[w->step];
    return what == STEP_ROLLBACK || what == STEP_EXPIRE || what == STEP_DROP_BRANCH || what == STEP_DROP_TAG;
}

static void assert_table(tl_table *table, tl_status opened, const rows *want, const char *what, const char *where, tl_error *err)
{
    rows got = {0}, sorted = rows_dup(want);
    if (opened == TL_OK)
        opened = read_table(table, NULL, &got, err);
    if (opened != TL_OK)
        fail_msg("%s: reading %s: %s", where, what, err->message);
    assert_rows_equal(&got, &sorted, where);
    tl_table_free(table);
    rows_free(&got);
    rows_free(&sorted);
}

static void assert_state(tl_catalog *catalog, const char *key, const char *value, const rows *want, const char *where)
{
    tl_table *table = NULL;
    tl_error err;
    tl_status status = open_table(catalog, key, value, &table, &err);
    assert_table(table, status, want, key == NULL ? "the latest state" : value, where, &err);
}

/* Tag and branch are there whole, or not there: they must be if `must`. */
static void assert_tag(const world *w, tl_catalog *catalog, const char *table_path, const rows *want, bool must)
{
    tl_error err;
    tl_snapshot *snap = NULL;
    tl_paths paths = {.table = table_path};
    tl_status status = tl_tag_read(tl_catalog_fs(catalog), &paths, "good", &snap, &err);
    tl_snapshot_free(snap);
    if (status != TL_E_NOT_FOUND || must)
        assert_state(catalog, "scan.tag-name", "good", want, w->where);
}

static void assert_branch(const world *w, tl_catalog *catalog, bool must)
{
    tl_table *table = NULL;
    tl_error err;
    tl_status status = tl_table_open(catalog, "d", "t$branch_side", NULL, &table, &err);
    if (status == TL_E_NOT_FOUND && !must)
        return;
    assert_table(table, status, &w->tagged, "the branch", w->where, &err);
}

/* The models of the snapshots that there are; those after `latest` were made by the step. */
static const rows *model_of(const world *w, int64_t id)
{
    return id > w->latest ? &w->next : &w->snapshots[id];
}

/* Those from `from` on. */
static void assert_snapshots(world *w, tl_table *table, tl_catalog *catalog, int64_t from)
{
    int64_t *ids = NULL;
    size_t n = 0;
    tl_error err;
    char text[32];
    tl_paths paths = {.table = tl_table_path(table)};
    assert_ok(tl_snapshot_list(tl_catalog_fs(catalog), &paths, &ids, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        assert_true(ids[i] < SNAPSHOTS_MAX);
        if (i > 0 && ids[i] != ids[i - 1] + 1)
            fail_msg("%s: snapshot %lld is missing", w->where, (long long)ids[i] - 1);
        snprintf(text, sizeof text, "%lld", (long long)ids[i]);
        if (ids[i] >= from)
            assert_state(catalog, "scan.snapshot-id", text, model_of(w, ids[i]), w->where);
    }
    tl_free(ids);
}

static int64_t latest_of(tl_table *table)
{
    tl_snapshot *snap = NULL;
    tl_error err;
    assert_ok(tl_table_latest_snapshot(table, &snap, &err), &err);
    int64_t id = snap == NULL ? 0 : snap->id;
    tl_snapshot_free(snap);
    return id;
}

/* Data snapshots of the step's identifier. */
static int commits_of_step(const world *w, tl_table *table, tl_fs *fs)
{
    int64_t *ids = NULL;
    size_t n = 0;
    tl_error err;
    int found = 0;
    tl_paths paths = {.table = tl_table_path(table)};
    assert_ok(tl_snapshot_list(fs, &paths, &ids, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        tl_snapshot *snap = NULL;
        assert_ok(tl_snapshot_read(fs, &paths, ids[i], &snap, &err), &err);
        found += strcmp(snap->commit_user, "writer") == 0 && snap->commit_identifier == w->step &&
                 snap->commit_kind != TL_COMMIT_COMPACT;
        tl_snapshot_free(snap);
    }
    tl_free(ids);
    return found;
}

/* A rollback goes from the youngest snapshot down, an expiry from the oldest up: what it has not reached is as before. */
static void after_fault(world *w, tl_fs *fs, tl_status outcome)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_error err;
    assert_ok(tl_catalog_open(fs, "/lake", &catalog, &err), &err);
    tl_status status = open_table(catalog, NULL, NULL, &table, &err);
    if (status != TL_OK && (script[w->step] != STEP_CREATE || outcome == TL_OK))
        fail_msg("%s: %s", w->where, err.message);
    if (status == TL_OK) {
        step_kind what = script[w->step];
        int64_t latest = latest_of(table);
        const rows *want = latest == 0 ? &w->model : model_of(w, latest);
        if (outcome == TL_OK)
            want = &w->next;
        assert_state(catalog, NULL, NULL, want, w->where);
        assert_snapshots(w, table, catalog, what == STEP_EXPIRE ? w->latest - 1 : removes(w) ? 1 : w->latest + 1);
        if (!removes(w))
            assert_nothing_lost(w->fs, fs, "/lake", w->where);
        if (w->has_tag)
            assert_tag(w, catalog, tl_table_path(table), &w->tagged, what != STEP_DROP_TAG);
        if (w->has_branch || what == STEP_BRANCH)
            assert_branch(w, catalog, w->has_branch && what != STEP_DROP_BRANCH);
        assert_sound(table, /* all= */ what == STEP_ROLLBACK, w->where);
        if (what == STEP_WRITE)
            assert_true(commits_of_step(w, table, fs) <= 1);
    }
    tl_table_free(table);
    tl_catalog_close(catalog);
}

/* The changelog from the table's first snapshot on gives its state, once every change is compacted in. */
static void assert_changelog(world *w, tl_catalog *catalog, const rows *want)
{
    tl_table *table = NULL;
    tl_error err;
    tl_commit_result result = {0};
    rows folded = {0}, sorted = rows_dup(want);
    assert_ok(open_table(catalog, NULL, NULL, &table, &err), &err);
    if (w->kind->exact_changelog)
        assert_ok(tl_table_compact(table, "settler", /* full= */ true, NULL, &result, &err), &err);
    fold_changes(table, w->kind, &folded, w->where);
    assert_rows_equal(&folded, &sorted, w->where);
    rows_free(&folded);
    rows_free(&sorted);
    tl_table_free(table);
}

static bool has_first_snapshot(tl_table *table, tl_fs *fs)
{
    int64_t first = 0;
    tl_error err;
    tl_paths paths = {.table = tl_table_path(table)};
    assert_ok(tl_snapshot_earliest_id(fs, &paths, &first, &err), &err);
    return first == 1;
}

/* `first`: without a fault before it. */
static void after_success(world *w, tl_fs *fs, bool first)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_error err;
    assert_ok(tl_catalog_open(fs, "/lake", &catalog, &err), &err);
    assert_ok(open_table(catalog, NULL, NULL, &table, &err), &err);
    assert_state(catalog, NULL, NULL, &w->next, w->where);
    bool all = first || removes(w);
    assert_snapshots(w, table, catalog, all ? 1 : w->latest + 1);
    assert_sound(table, all, w->where);
    step_kind what = script[w->step];
    if ((w->has_tag && all && what != STEP_DROP_TAG) || what == STEP_TAG)
        assert_tag(w, catalog, tl_table_path(table), w->has_tag ? &w->tagged : &w->next, /* must= */ true);
    if ((w->has_branch && all && what != STEP_DROP_BRANCH) || what == STEP_BRANCH)
        assert_branch(w, catalog, /* must= */ true);
    if (what == STEP_WRITE && !is_deletion(w))
        assert_int_equal(commits_of_step(w, table, fs), 1);
    bool changes = what == STEP_WRITE || what == STEP_COMPACT || what == STEP_ROLLBACK || what == STEP_EXPIRE;
    if (!first && changes && !w->kind->deletes_rows && has_first_snapshot(table, fs))
        assert_changelog(w, catalog, &w->next);
    tl_table_free(table);
    tl_catalog_close(catalog);
}

/* What the fault left behind goes, and nothing else. */
static void assert_cleaned(world *w, tl_fs *fs)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    tl_error err;
    tl_orphan *orphans = NULL;
    size_t n = 0;
    assert_ok(tl_catalog_open(fs, "/lake", &catalog, &err), &err);
    assert_ok(open_table(catalog, NULL, NULL, &table, &err), &err);
    if (tl_table_remove_orphans(table, /* older_than_ms= */ -1000, &orphans, &n, &err) != TL_OK)
        fail_msg("%s: cleaning: %s", w->where, err.message);
    tl_orphans_free(orphans, n);
    assert_state(catalog, NULL, NULL, &w->next, w->where);
    assert_snapshots(w, table, catalog, w->latest);
    assert_sound(table, /* all= */ removes(w), w->where);
    if (w->has_tag && script[w->step] != STEP_DROP_TAG)
        assert_tag(w, catalog, tl_table_path(table), &w->tagged, /* must= */ true);
    if (w->has_branch && script[w->step] != STEP_DROP_BRANCH)
        assert_branch(w, catalog, /* must= */ true);
    assert_ok(tl_table_find_orphans(table, /* older_than_ms= */ -1000, &orphans, &n, &err), &err);
    if (n > 0)
        fail_msg("%s: '%s' is still an orphan", w->where, orphans[0].path);
    tl_orphans_free(orphans, n);
    tl_table_free(table);
    tl_catalog_close(catalog);
}

static void check_fault(world *w, tl_fs *fs, tl_status outcome)
{
    tl_error err;
    after_fault(w, fs, outcome);
    tl_status status = do_step(w, fs, &err);
    if (status != TL_OK)
        fail_msg("%s: the second attempt: %s", w->where, err.message);
    after_success(w, fs, /* first= */ false);
    assert_cleaned(w, fs);
}

/* ---- one fault after the other ---- */

typedef struct tally {
    uint64_t tried;
    uint64_t left_traces;
} tally;

static const char *const step_names[] = {"create",   "write",  "tag",         "branch",  "compact",
                                         "rollback", "expire", "drop branch", "drop tag"};

/* Calls that the step makes without a fault. */
static uint64_t count_calls(const world *w)
{
    tl_fs *copy = copy_of(w->fs), *counting = NULL;
    tl_error err;
    tl_fault_plan plan = {.kind = TL_FAULT_NONE};
    assert_ok(tl_fs_fault(copy, &plan, &counting, &err), &err);
    assert_ok(do_step(w, counting, &err), &err);
    tl_fs_unref(counting);
    tl_fs_unref(copy);
    return plan.calls;
}

static void calls_fail(world *w, tl_fault_kind fault, const char *fault_name, tally *t)
{
    uint64_t before = fingerprint(w->fs, "/lake");
    uint64_t stride = SLOW ? fault_stride(count_calls(w), 60, 15) : 1;
    tl_fs *copy = copy_of(w->fs);
    for (uint64_t at = 1 + (uint64_t)w->step % stride;; at += stride) {
        tl_error err = {TL_OK, 0, ""};
        tl_fault_plan plan = {.kind = fault, .at = at};
        tl_fs *faulty = NULL;
        snprintf(w->where, sizeof w->where, "%s, step %d (%s), %s at call %llu", w->kind->name, w->step,
                 step_names[script[w->step]], fault_name, (unsigned long long)at);
        assert_ok(tl_fs_fault(copy, &plan, &faulty, &err), &err);
        tl_status status = do_step(w, faulty, &err);
        tl_fs_unref(faulty);
        if (plan.calls < at && status != TL_OK)
            fail_msg("%s, beyond the last one: %s", w->where, err.message);
        if (plan.calls < at)
            break;
        t->tried++;
        if (status == TL_OK || fingerprint(copy, "/lake") != before) {
            t->left_traces++;
            check_fault(w, copy, status);
            tl_fs_unref(copy);
            copy = copy_of(w->fs);
        }
    }
    tl_fs_unref(copy);
}


static void allocations_fail(world *w, tally *t)
{
    uint64_t before = fingerprint(w->fs, "/lake");
    tl_error err = {TL_OK, 0, ""};
    tl_fs *copy = copy_of(w->fs);
    tl_alloc_fail_at(UINT64_MAX); /* counts; none fails */
    assert_ok(do_step(w, copy, &err), &err);
    uint64_t total = tl_alloc_count();
    tl_alloc_fail_at(0);
    assert_true(total > 20);
    uint64_t stride = fault_stride(total, 60, 15);
    tl_fs_unref(copy);
    copy = copy_of(w->fs);
    for (uint64_t at = 1 + (uint64_t)w->step % stride; at <= total; at += stride) {
        snprintf(w->where, sizeof w->where, "%s, step %d (%s), allocation %llu of %llu fails", w->kind->name, w->step,
                 step_names[script[w->step]], (unsigned long long)at, (unsigned long long)total);
        tl_alloc_fail_at(at);
        tl_status status = do_step(w, copy, &err);
        tl_alloc_fail_at(0);
        if (status != TL_OK && status != TL_E_NOMEM)
            fail_msg("%s: %s: %s", w->where, tl_status_name(status), err.message);
        t->tried++;
        if (status == TL_OK || fingerprint(copy, "/lake") != before) {
            t->left_traces++;
            check_fault(w, copy, status);
            tl_fs_unref(copy);
            copy = copy_of(w->fs);
        }
    }
    tl_fs_unref(copy);
}

/* ---- the history ---- */

/* The step without a fault; the world moves on. */
static void take_step(world *w)
{
    tl_error err;
    snprintf(w->where, sizeof w->where, "%s, step %d (%s), no fault", w->kind->name, w->step, step_names[script[w->step]]);
    tl_status status = do_step(w, w->fs, &err);
    if (status != TL_OK)
        fail_msg("%s: %s", w->where, err.message);
    after_success(w, w->fs, /* first= */ true);
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    assert_ok(tl_catalog_open(w->fs, "/lake", &catalog, &err), &err);
    assert_ok(open_table(catalog, NULL, NULL, &table, &err), &err);
    int64_t latest = latest_of(table);
    for (int64_t id = w->latest + 1; id <= latest; id++) {
        rows_free(&w->snapshots[id]);
        w->snapshots[id] = rows_dup(&w->next);
    }
    w->latest = latest;
    tl_table_free(table);
    tl_catalog_close(catalog);
    if (script[w->step] == STEP_TAG) {
        w->tagged = rows_dup(&w->model);
        w->has_tag = true;
    }
    w->has_tag &= script[w->step] != STEP_DROP_TAG;
    w->has_branch = (w->has_branch || script[w->step] == STEP_BRANCH) && script[w->step] != STEP_DROP_BRANCH;
    rows_free(&w->model);
    w->model = w->next;
    w->next = (rows){0};
}

static void run_history(const table_kind *kind)
{
    world w = {.kind = kind};
    tl_error err;
    tally t = {0};
    assert_ok(tl_fs_memory(&w.fs, &err), &err);
    for (w.step = 0; w.step < (int)TL_ARRAY_LEN(script); w.step++) {
        w.next = model_after(&w);
        calls_fail(&w, TL_FAULT_CRASH, "crash", &t);
        calls_fail(&w, TL_FAULT_ENOSPC, "ENOSPC", &t);
        calls_fail(&w, TL_FAULT_SHORT_READ, "short read or EIO", &t);
        calls_fail(&w, TL_FAULT_TORN_WRITE, "torn write or EIO", &t);
        allocations_fail(&w, &t);
        take_step(&w);
    }
    printf("%s: %llu faults, %llu of them left traces\n", kind->name, (unsigned long long)t.tried,
           (unsigned long long)t.left_traces);
    assert_true(t.tried > 500);
    assert_true(t.left_traces > 100);
    for (int i = 0; i < SNAPSHOTS_MAX; i++)
        rows_free(&w.snapshots[i]);
    rows_free(&w.model);
    rows_free(&w.tagged);
    tl_fs_unref(w.fs);
}

/* ---- kinds of tables ---- */

static void an_append_table_without_buckets(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "append", .engine = ENGINE_APPEND, .partitioned = true, .options = {"bucket", "-1", "compaction.min.file-num", "2"}});
}

static void an_append_table_with_buckets(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "append, buckets",
                              .engine = ENGINE_APPEND,
                              .options = {"bucket", "2", "bucket-key", "k", "compaction.min.file-num", "2"}});
}

static void an_append_table_with_deletion_vectors(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "append, vectors",
                              .engine = ENGINE_APPEND,
                              .partitioned = true,
                              .deletes_rows = true,
                              .options = {"bucket", "-1", "compaction.min.file-num", "2", "deletion-vectors.enabled", "true"}});
}

static void a_keyed_table_without_changelog(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "keyed, no changelog",
                              .engine = ENGINE_DEDUPLICATE,
                              .partitioned = true,
                              .options = {"bucket", "2", "num-sorted-run.compaction-trigger", "2"}});
}

static void a_keyed_table_with_dynamic_buckets(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "keyed, dynamic buckets",
                              .engine = ENGINE_DEDUPLICATE,
                              .partitioned = true,
                              .options = {"bucket", "-1", "dynamic-bucket.target-row-num", "3", "num-sorted-run.compaction-trigger", "2"}});
}

static void a_keyed_table_with_input_changelog(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "keyed, input",
                              .engine = ENGINE_DEDUPLICATE,
                              .options = {"bucket", "1", "changelog-producer", "input", "num-sorted-run.compaction-trigger", "3"}});
}

static void an_aggregating_table_with_lookup_changelog(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "aggregation, lookup",
                              .engine = ENGINE_SUM,
                              .exact_changelog = true,
                              .options = {"bucket", "1", "changelog-producer", "lookup", "merge-engine", "aggregation",
                                          "fields.v.aggregate-function", "sum"}});
}

static void a_keyed_table_with_full_compaction_changelog(void **state)
{
    (void)state;
    run_history(&(table_kind){.name = "keyed, full-compaction",
                              .engine = ENGINE_DEDUPLICATE,
                              .exact_changelog = true,
                              .full_each = true,
                              .options = {"bucket", "1", "changelog-producer", "full-compaction"}});
}

/* An argument runs only the tests whose names match it. */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    tl_log_set(NULL, NULL, TL_LOG_ERROR); /* expiry that fails after a commit warns */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_append_table_without_buckets),
        cmocka_unit_test(an_append_table_with_buckets),
        cmocka_unit_test(an_append_table_with_deletion_vectors),
        cmocka_unit_test(a_keyed_table_without_changelog),
        cmocka_unit_test(a_keyed_table_with_dynamic_buckets),
        cmocka_unit_test(a_keyed_table_with_input_changelog),
        cmocka_unit_test(an_aggregating_table_with_lookup_changelog),
        cmocka_unit_test(a_keyed_table_with_full_compaction_changelog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
