/*
 * Upkeep under faults: rescaling, sorting, copy on write, new file indexes, manifests brought together, lost files and manifests taken out, statistics,
 * dropped partitions, tags and branches moved, purging, rows that expire by their age, and commits into files of lines. Every call of the
 * file system and every allocation fails once, or is the last before a power cut. Then:
 * - the table reads as before the job or as after it, and as after it if the job told of success;
 * - where there is no new snapshot and the job takes nothing away, every file of before is there, unchanged;
 * - fsck finds nothing;
 * - the job once more succeeds, and the table is what it would be without a fault;
 * - what was left behind is found as orphans and removed, and nothing else.
 *
 * TL_FAULT_SAMPLES: faults of each sort to try for each job, spread evenly (default 12, under a sanitizer 3; 0: every one).
 */
#include "support/faults.h"
#include "support/lake_model.h"

#include "base/log.h"
#include "io/memory.h"

#define COMMITS 3

typedef enum effect {
    ROWS_STAY,
    ROWS_GO, /* all of them */
    SOME_GO,
    ROWS_COME
} effect;

typedef struct job {
    const char *name;
    table_kind kind;
    effect effect;
    bool once;    /* a second time there may be nothing to do it with */
    bool removes; /* files that are in use before */
    bool broken;  /* before it, the table cannot be read */
    bool is_unknown; /* what older snapshots use: nothing can be called an orphan */
    tl_status (*prepare)(tl_catalog *catalog, tl_table *table, tl_error *err); /* after the commits; NULL: nothing */
    tl_status (*run)(tl_table *table, const table_kind *kind, tl_error *err);
    const char *tags[2], *branches[2]; /* one of each must always be there, and hold what was tagged (tags: or what is there now) */
} job;

#define KEYED(...)                                                                                                               \
    {                                                                                                                            \
        .engine = ENGINE_DEDUPLICATE, .partitioned = true, .options = { __VA_ARGS__ }                                            \
    }
#define APPEND(...)                                                                                                              \
    {                                                                                                                            \
        .engine = ENGINE_APPEND, .partitioned = true, .options = { __VA_ARGS__ }                                                 \
    }

/* Some keys are years of the past and some of the future, for rows that expire by their age. */
static rows commit_of(const table_kind *kind, int number)
{
    rows list = {0};
    for (int i = 0; i < 10; i++) {
        int32_t k = (number * 5 + i * 3) % 17;
        rows_add(&list, (row){.p = kind->partitioned ? k % 2 : 0, .k = k % 3 == 0 ? k + 2000000000 : k, .v = number * 100 + i, .s = number});
    }
    return list;
}

static tl_status write_one(tl_table *table, const table_kind *kind, int number, tl_error *err)
{
    rows list = commit_of(kind, number);
    tl_commit_result result = {0};
    tl_status status = commit_rows(table, kind, &list, "writer", number, NULL, &result, err);
    rows_free(&list);
    return status;
}

/* ---- the jobs ---- */

static tl_status write_more(tl_table *table, const table_kind *kind, tl_error *err)
{
    return write_one(table, kind, COMMITS + 1, err);
}

static tl_status compact(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    tl_commit_result result = {0};
    return tl_table_compact(table, "keeper", /* full= */ true, NULL, &result, err);
}

static tl_status rescale(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    static const tl_options whole = {0};
    tl_commit_result result = {0};
    return tl_table_rescale(table, &whole, 3, NULL, &result, err);
}

static tl_status sort(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    static char *const columns[] = {"v", "k"};
    tl_sort_spec spec = {.kind = "zorder", .columns = columns, .n_columns = 2};
    tl_commit_result result = {0};
    return tl_table_sort(table, "keeper", &spec, &result, err);
}

static tl_status ask_for_indexes(tl_catalog *catalog, tl_table *table, tl_error *err)
{
    (void)table;
    tl_alter changes[] = {{.kind = TL_ALTER_SET_OPTION, .name = "file-index.bloom-filter.columns", .value = "k,s"},
                          {.kind = TL_ALTER_SET_OPTION, .name = "file-index.in-manifest-threshold", .value = "1 b"}};
    return tl_table_alter(catalog, "d", "t", changes, 2, err);
}

static tl_status index_files(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    tl_commit_result result = {0};
    return tl_table_rewrite_file_index(table, "keeper", NULL, 0, &result, err);
}

static tl_status compact_manifests(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    tl_commit_result result = {0};
    return tl_table_compact_manifests(table, &result, err);
}

static tl_status analyze(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    static const int32_t columns[] = {1, 2, 3};
    tl_commit_result result = {0};
    return tl_table_analyze(table, columns, 3, "keeper", NULL, &result, err);
}

/* The first file below a folder whose name begins so. */
static bool remove_one(tl_fs *fs, const char *dir, const char *prefix, const char *not_prefix, tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    bool done = false;
    assert_ok(tl_fs_list(fs, dir, &entries, &n, err), err);
    for (size_t i = 0; i < n && !done; i++) {
        char *path = tl_path_join(dir, entries[i].name);
        assert_non_null(path);
        if (entries[i].stat.is_dir) {
            done = remove_one(fs, path, prefix, not_prefix, err);
        } else if (strncmp(entries[i].name, prefix, strlen(prefix)) == 0 &&
                   (not_prefix == NULL || strncmp(entries[i].name, not_prefix, strlen(not_prefix)) != 0)) {
            assert_ok(tl_fs_remove(fs, path, err), err);
            done = true;
        }
        tl_free(path);
    }
    tl_dir_free(entries, n);
    return done;
}

static tl_status lose_a_file(tl_catalog *catalog, tl_table *table, tl_error *err)
{
    assert_true(remove_one(tl_catalog_fs(catalog), tl_table_path(table), "data-", NULL, err));
    return TL_OK;
}

static tl_status lose_a_manifest(tl_catalog *catalog, tl_table *table, tl_error *err)
{
    assert_true(remove_one(tl_catalog_fs(catalog), tl_table_path(table), "manifest-", "manifest-list", err));
    return TL_OK;
}

static tl_status remove_lost_files(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    char **paths = NULL;
    size_t n = 0;
    tl_status status = tl_table_remove_lost_files(table, /* dry_run= */ false, &paths, &n, err);
    tl_names_free(paths, n);
    return status;
}

static tl_status remove_lost_manifests(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    size_t n = 0;
    return tl_table_remove_lost_manifests(table, &n, err);
}

static tl_status drop_partition(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    tl_options spec = {0};
    tl_status status = tl_options_set(&spec, "p", "1") != TL_OK ? tl_nomem(err, "options") : tl_table_drop_partitions(table, &spec, 1, err);
    tl_options_deinit(&spec);
    return status;
}

/* Some rows of most files. */
static tl_status delete_rows(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    tl_arena arena = {0};
    const tl_json *json = NULL;
    static const char text[] = "[\">\",\"v\",104]";
    tl_status status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)text, strlen(text)}, &json, err);
    if (status == TL_OK)
        status = tl_predicate_from_json(json, tl_table_row_type(table), &pred, err);
    const tl_delete_spec spec = {.user = "keeper", .finder = {.predicate = pred}};
    if (status == TL_OK)
        status = tl_table_delete(table, &spec, NULL, NULL, err);
    tl_arena_deinit(&arena);
    return status;
}

static tl_status make_tag_and_branch(tl_catalog *catalog, tl_table *table, tl_error *err)
{
    (void)catalog;
    TL_TRY(tl_table_create_tag(table, "good", 2, TL_ABSENT, err));
    return tl_table_create_branch(table, "side", "good", err);
}

static tl_status replace_tag(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    return tl_table_replace_tag(table, "good", 3, TL_ABSENT, err);
}

static tl_status rename_tag(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    return tl_table_rename_tag(table, "good", "better", err);
}

static tl_status rename_branch(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    return tl_table_rename_branch(table, "side", "other", err);
}

static tl_status fast_forward(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    return tl_table_fast_forward(table, "side", err);
}

static tl_status purge(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    return tl_table_purge(table, err);
}

/* Two of three snapshots go, their changelogs stay. */
static tl_status make_changelogs(tl_catalog *catalog, tl_table *table, tl_error *err)
{
    (void)catalog;
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    int32_t expired = 0;
    TL_TRY(tl_table_expire(table, &spec, &expired, err));
    assert_int_equal(expired, 2);
    return TL_OK;
}

static tl_status expire_changelogs(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    tl_expire_spec spec = {.retain_max = 2, .retain_min = 1, .older_than_ms = 0};
    int32_t expired;
    return tl_table_expire_changelogs(table, &spec, &expired, err);
}

static tl_status delete_changelogs(tl_table *table, const table_kind *kind, tl_error *err)
{
    (void)kind;
    int32_t deleted;
    return tl_table_delete_changelogs(table, &deleted, err);
}

#define CHANGELOGS "bucket", "1", "changelog-producer", "input", "changelog.num-retained.max", "10", "changelog.num-retained.min", "10"

static const job jobs[] = {
    {.name = "rescale", .kind = KEYED("bucket", "2"), .run = rescale},
    {.name = "sort", .kind = APPEND("bucket", "-1"), .run = sort},
    {.name = "file indexes", .kind = APPEND("bucket", "-1"), .prepare = ask_for_indexes, .run = index_files},
    {.name = "compact manifests", .kind = KEYED("bucket", "1", "manifest.merge-min-count", "30"), .run = compact_manifests},
    {.name = "analyze", .kind = KEYED("bucket", "1"), .run = analyze},
    {.name = "lost files", .kind = APPEND("bucket", "-1"), .effect = SOME_GO, .broken = true, .prepare = lose_a_file, .run = remove_lost_files},
    {.name = "lost manifests", .kind = APPEND("bucket", "-1"), .effect = SOME_GO, .broken = true, .is_unknown = true, .prepare = lose_a_manifest, .run = remove_lost_manifests},
    {.name = "drop partition", .kind = KEYED("bucket", "1"), .effect = SOME_GO, .run = drop_partition},
    {.name = "copy on write", .kind = APPEND("bucket", "-1"), .effect = SOME_GO, .run = delete_rows},
    {.name = "copy on write in buckets", .kind = APPEND("bucket", "2", "bucket-key", "k"), .effect = SOME_GO, .run = delete_rows},
    {.name = "replace tag", .kind = KEYED("bucket", "1"), .prepare = make_tag_and_branch, .run = replace_tag, .removes = true, .tags = {"good"}, .branches = {"side"}},
    {.name = "rename tag", .kind = KEYED("bucket", "1"), .prepare = make_tag_and_branch, .run = rename_tag, .once = true, .removes = true, .tags = {"good", "better"}, .branches = {"side"}},
    {.name = "rename branch", .kind = KEYED("bucket", "1"), .prepare = make_tag_and_branch, .run = rename_branch, .once = true, .removes = true, .tags = {"good"}, .branches = {"side", "other"}},
    {.name = "fast forward", .kind = APPEND("bucket", "-1"), .effect = SOME_GO, .prepare = make_tag_and_branch, .run = fast_forward, .removes = true, .tags = {"good"}, .branches = {"side"}},
    {.name = "purge", .kind = KEYED("bucket", "2", "changelog-producer", "input"), .effect = ROWS_GO, .prepare = make_tag_and_branch, .run = purge, .removes = true},
    {.name = "expire changelogs", .kind = KEYED(CHANGELOGS), .prepare = make_changelogs, .run = expire_changelogs, .removes = true},
    {.name = "delete changelogs", .kind = KEYED(CHANGELOGS), .prepare = make_changelogs, .run = delete_changelogs, .removes = true},
    {.name = "record expiry", .kind = KEYED("bucket", "1", "record-level.expire-time", "1 d", "record-level.time-field", "k"), .effect = SOME_GO, .run = compact},
    {.name = "csv commit", .kind = APPEND("bucket", "-1", "file.format", "csv"), .effect = ROWS_COME, .run = write_more},
    {.name = "csv compact", .kind = APPEND("bucket", "-1", "file.format", "csv", "compaction.min.file-num", "2"), .run = compact},
    {.name = "json commit", .kind = APPEND("bucket", "-1", "file.format", "json", "file.compression", "gzip"), .effect = ROWS_COME, .run = write_more},
    {.name = "json compact", .kind = APPEND("bucket", "-1", "file.format", "json", "compaction.min.file-num", "2"), .run = compact},
};

/* ---- what is looked at ---- */

typedef struct world {
    const job *job;
    tl_fs *fs; /* before the job */
    rows before, after, tagged;
    int64_t latest;
    char where[160];
} world;

typedef struct tally {
    uint64_t tried;
    uint64_t left_traces;
} tally;

static int64_t latest_of(tl_table *table)
{
    tl_snapshot *snap = NULL;
    tl_error err;
    assert_ok(tl_table_latest_snapshot(table, &snap, &err), &err);
    int64_t id = snap == NULL ? 0 : snap->id;
    tl_snapshot_free(snap);
    return id;
}

static tl_status run_job(const job *j, tl_fs *fs, tl_error *err)
{
    tl_catalog *catalog = NULL;
    tl_table *table = NULL;
    TL_TRY(tl_catalog_open(fs, "/lake", &catalog, err));
    tl_status status = open_table(catalog, NULL, NULL, &table, err);
    if (status == TL_OK)
        status = j->run(table, &j->kind, err);
    tl_table_free(table);
    tl_catalog_close(catalog);
    return status;
}

typedef struct opened {
    tl_catalog *catalog;
    tl_table *table;
} opened;

static opened open_in(const world *w, tl_fs *fs)
{
    opened o = {0};
    tl_error err;
    assert_ok(tl_catalog_open(fs, "/lake", &o.catalog, &err), &err);
    if (open_table(o.catalog, NULL, NULL, &o.table, &err) != TL_OK)
        fail_msg("%s: %s", w->where, err.message);
    return o;
}

static void close_opened(opened *o)
{
    tl_table_free(o->table);
    tl_catalog_close(o->catalog);
}

static rows rows_in(const world *w, tl_table *table)
{
    rows got = {0};
    tl_error err;
    if (read_table(table, NULL, &got, &err) != TL_OK)
        fail_msg("%s: %s", w->where, err.message);
    return got;
}

static void assert_holds(const world *w, tl_table *table, const rows *one, const rows *or_other)
{
    rows got = rows_in(w, table), a = rows_dup(one), b = rows_dup(or_other);
    if (!rows_equal(&got, &b))
        assert_rows_equal(&got, &a, w->where);
    rows_free(&got);
    rows_free(&a);
    rows_free(&b);
}

/* One of the names opens, and reads as it should; none given: nothing to look at. */
static void assert_one_of(const world *w, tl_catalog *catalog, const char *const *names, bool are_branches)
{
    tl_table *table = NULL;
    tl_error err = {0};
    for (int i = 0; i < 2 && names[i] != NULL && table == NULL; i++) {
        char name[40];
        snprintf(name, sizeof name, "t$branch_%s", names[i]);
        if (are_branches)
            (void)tl_table_open(catalog, "d", name, NULL, &table, &err);
        else
            (void)open_table(catalog, "scan.tag-name", names[i], &table, &err);
        rows got = {0};
        if (table != NULL && read_table(table, NULL, &got, &err) != TL_OK) { /* a tag that is not there is told of here */
            tl_table_free(table);
            table = NULL;
        }
        rows_free(&got);
    }
    if (names[0] == NULL)
        return;
    if (table == NULL)
        fail_msg("%s: neither %s nor %s: %s", w->where, names[0], names[1] == NULL ? "another" : names[1], err.message);
    assert_holds(w, table, &w->tagged, are_branches ? &w->tagged : &w->before);
    tl_table_free(table);
}

static void after_fault(world *w, tl_fs *fs, tl_status outcome)
{
    opened o = open_in(w, fs);
    bool moved = outcome == TL_OK || latest_of(o.table) != w->latest;
    if (!moved && !w->job->removes)
        assert_nothing_lost(w->fs, fs, "/lake", w->where);
    if (moved || !w->job->broken) {
        bool settled = outcome == TL_OK || (moved && !w->job->removes);
        assert_holds(w, o.table, settled ? &w->after : &w->before, moved || w->job->removes ? &w->after : &w->before);
        assert_sound(o.table, /* all= */ false, w->where);
    }
    assert_one_of(w, o.catalog, w->job->tags, false);
    assert_one_of(w, o.catalog, w->job->branches, true);
    close_opened(&o);
}

static void after_success(world *w, tl_fs *fs)
{
    opened o = open_in(w, fs);
    tl_error err;
    tl_orphan *orphans = NULL;
    size_t n = 0;
    assert_holds(w, o.table, &w->after, &w->after);
    assert_sound(o.table, /* all= */ !w->job->broken, w->where);
    if (w->job->is_unknown) {
        assert_int_not_equal(tl_table_remove_orphans(o.table, /* older_than_ms= */ -1000, &orphans, &n, &err), TL_OK);
        close_opened(&o);
        return;
    }
    if (tl_table_remove_orphans(o.table, /* older_than_ms= */ -1000, &orphans, &n, &err) != TL_OK)
        fail_msg("%s: cleaning: %s", w->where, err.message);
    tl_orphans_free(orphans, n);
    assert_holds(w, o.table, &w->after, &w->after);
    assert_sound(o.table, /* all= */ !w->job->broken, w->where);
    assert_one_of(w, o.catalog, w->job->tags, false);
    assert_one_of(w, o.catalog, w->job->branches, true);
    assert_ok(tl_table_find_orphans(o.table, /* older_than_ms= */ -1000, &orphans, &n, &err), &err);
    if (n > 0)
        fail_msg("%s: '%s' is still an orphan", w->where, orphans[0].path);
    tl_orphans_free(orphans, n);
    close_opened(&o);
}

/* What a fault left traces of is looked at, and the copy is made anew. */
static tl_fs *look(world *w, tl_fs *copy, uint64_t before, tl_status status, tally *t)
{
    t->tried++;
    if (status != TL_OK && fingerprint(copy, "/lake") == before)
        return copy;
    t->left_traces++;
    tl_error err;
    after_fault(w, copy, status);
    tl_status again = run_job(w->job, copy, &err);
    bool nothing_left = w->job->once && (again == TL_E_NOT_FOUND || again == TL_E_EXISTS || again == TL_E_INVALID);
    if (again != TL_OK && !nothing_left)
        fail_msg("%s: the second attempt: %s", w->where, err.message);
    after_success(w, copy);
    tl_fs_unref(copy);
    return copy_to_memory(w->fs, "/lake");
}

static uint64_t count_calls(const world *w)
{
    tl_fs *copy = copy_to_memory(w->fs, "/lake"), *counting = NULL;
    tl_error err;
    tl_fault_plan plan = {.kind = TL_FAULT_NONE};
    assert_ok(tl_fs_fault(copy, &plan, &counting, &err), &err);
    assert_ok(run_job(w->job, counting, &err), &err);
    tl_fs_unref(counting);
    tl_fs_unref(copy);
    return plan.calls;
}

static void calls_fail(world *w, tl_fault_kind fault, const char *fault_name, tally *t)
{
    uint64_t before = fingerprint(w->fs, "/lake"), total = count_calls(w), stride = fault_stride(total, 12, 3);
    tl_fs *copy = copy_to_memory(w->fs, "/lake");
    for (uint64_t at = 1 + (total + (uint64_t)fault) % stride; at <= total; at += stride) {
        tl_error err = {TL_OK, 0, ""};
        tl_fault_plan plan = {.kind = fault, .at = at};
        tl_fs *faulty = NULL;
        snprintf(w->where, sizeof w->where, "%s, %s at call %llu", w->job->name, fault_name, (unsigned long long)at);
        assert_ok(tl_fs_fault(copy, &plan, &faulty, &err), &err);
        tl_status status = run_job(w->job, faulty, &err);
        tl_fs_unref(faulty);
        copy = look(w, copy, before, status, t);
    }
    tl_fs_unref(copy);
}

static void allocations_fail(world *w, tally *t)
{
    uint64_t before = fingerprint(w->fs, "/lake");
    tl_error err = {TL_OK, 0, ""};
    tl_fs *copy = copy_to_memory(w->fs, "/lake");
    tl_alloc_fail_at(UINT64_MAX); /* counts; none fails */
    assert_ok(run_job(w->job, copy, &err), &err);
    uint64_t total = tl_alloc_count(), stride = fault_stride(total, 12, 3);
    tl_alloc_fail_at(0);
    tl_fs_unref(copy);
    copy = copy_to_memory(w->fs, "/lake");
    for (uint64_t at = 1 + total % stride; at <= total; at += stride) {
        snprintf(w->where, sizeof w->where, "%s, allocation %llu of %llu fails", w->job->name, (unsigned long long)at, (unsigned long long)total);
        tl_alloc_fail_at(at);
        tl_status status = run_job(w->job, copy, &err);
        tl_alloc_fail_at(0);
        if (status != TL_OK && status != TL_E_NOMEM)
            fail_msg("%s: %s: %s", w->where, tl_status_name(status), err.message);
        copy = look(w, copy, before, status, t);
    }
    tl_fs_unref(copy);
}

/* ---- one job ---- */

static void make_world(world *w)
{
    const job *j = w->job;
    tl_error err;
    tl_catalog *catalog = NULL;
    assert_ok(tl_fs_memory(&w->fs, &err), &err);
    snprintf(w->where, sizeof w->where, "%s, no fault", j->name);
    assert_ok(tl_catalog_open(w->fs, "/lake", &catalog, &err), &err);
    assert_ok(tl_catalog_create_database(catalog, "d", /* if_not_exists= */ true, &err), &err);
    assert_ok(create_table(catalog, &j->kind, &err), &err);
    tl_catalog_close(catalog);
    opened o = open_in(w, w->fs);
    for (int c = 1; c <= COMMITS; c++) {
        assert_ok(write_one(o.table, &j->kind, c, &err), &err);
        if (c == 2) /* that of the tag */
            w->tagged = rows_in(w, o.table);
    }
    w->before = rows_in(w, o.table);
    if (j->prepare != NULL)
        assert_ok(j->prepare(o.catalog, o.table, &err), &err);
    w->latest = latest_of(o.table);
    close_opened(&o);
}

/* What the job makes of the table without a fault. */
static void find_after(world *w)
{
    tl_fs *copy = copy_to_memory(w->fs, "/lake");
    tl_error err;
    if (run_job(w->job, copy, &err) != TL_OK)
        fail_msg("%s: %s", w->where, err.message);
    opened o = open_in(w, copy);
    w->after = rows_in(w, o.table);
    effect e = w->job->effect;
    if (e == ROWS_STAY)
        assert_holds(w, o.table, &w->before, &w->before);
    close_opened(&o);
    if (e == ROWS_GO)
        assert_int_equal(w->after.n, 0);
    if (e == SOME_GO)
        assert_true(w->after.n > 0 && w->after.n < w->before.n);
    if (e == ROWS_COME)
        assert_true(w->after.n > w->before.n);
    after_success(w, copy);
    tl_fs_unref(copy);
}

static void every_job(void **state)
{
    (void)state;
    const char *only = getenv("TL_FAULT_JOB");
    uint64_t all = 0;
    for (size_t i = 0; i < TL_ARRAY_LEN(jobs); i++) {
        if (only != NULL && strcmp(only, jobs[i].name) != 0)
            continue;
        world w = {.job = &jobs[i]};
        tally t = {0};
        make_world(&w);
        find_after(&w);
        calls_fail(&w, TL_FAULT_CRASH, "crash", &t);
        calls_fail(&w, TL_FAULT_ENOSPC, "ENOSPC", &t);
        calls_fail(&w, TL_FAULT_SHORT_READ, "short read or EIO", &t);
        calls_fail(&w, TL_FAULT_TORN_WRITE, "torn write or EIO", &t);
        allocations_fail(&w, &t);
        printf("%s: %llu faults, %llu of them left traces\n", w.job->name, (unsigned long long)t.tried, (unsigned long long)t.left_traces);
        all += t.tried;
        rows_free(&w.before);
        rows_free(&w.after);
        rows_free(&w.tagged);
        tl_fs_unref(w.fs);
    }
    assert_true(only != NULL || all > 200);
}

int main(void)
{
    tl_log_set(NULL, NULL, TL_LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_job)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
