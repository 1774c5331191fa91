/*
 * Manifests kept up apart from commits of data: brought together, or done without where they are lost. Java: FileStoreCommitImpl
 * (compactManifest, replaceManifestList), RemoveUnexistingManifestsAction.
 */
#include "table/table_private.h"

tl_status tl_manifests__exists(tl_table *table, const tl_manifest_meta *meta, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_manifest(&table->paths, meta->name);
    return path == NULL ? tl_nomem(err, "path") : tl_fs_exists(table->fs, path, out, err);
}

/* A snapshot whose files are those of the one before. */
static tl_status commit_nothing(tl_attempt *attempt, const char *prefix, tl_commit_result *out, tl_error *err)
{
    char uuid[37];
    tl_uuid(uuid);
    TL_CLEANUP(tl_freep) char *user = tl_strf("%s%s", prefix, uuid);
    if (user == NULL)
        return tl_nomem(err, "commit user");
    attempt->user = user;
    attempt->identifier = TL_COMMIT_BATCH;
    attempt->watermark = TL_ABSENT;
    tl_changes nothing = {0};
    tl_commit_result result = {.snapshots = 1};
    TL_TRY(tl_commit__try(attempt, &nothing, &result.snapshot_id, &result.retries, err));
    *out = result;
    return TL_OK;
}

/* ---- bringing together ---- */

static tl_status is_worth_it(tl_table *table, const tl_snapshot *latest, bool *out, tl_error *err)
{
    int64_t target = 0;
    tl_manifest_list list = {0};
    TL_TRY(tl_table__option_int(&table->schema->options, "manifest.target-file-size", 0, &target, err));
    tl_status status = tl_table__manifests(table, latest, TL_SCAN_ALL, &list, err);
    if (status == TL_OK)
        status = tl_manifests__needs_full(table, target, &list, out, err);
    tl_manifest_list_deinit(&list);
    return status;
}

/* A handle whose commits merge whatever there is. */
static tl_status open_merging(tl_table *table, tl_table **out, tl_error *err)
{
    tl_options forced = {0};
    tl_status status = tl_options_set(&forced, "manifest.full-compaction-threshold-size", "1 b");
    if (status == TL_OK)
        status = tl_options_set(&forced, "manifest.merge-min-count", "1");
    status = status == TL_OK ? tl_table__reopen(table, &forced, out, err) : tl_nomem(err, "options");
    tl_options_deinit(&forced);
    return status;
}

tl_status tl_table_compact_manifests(tl_table *table, tl_commit_result *out, tl_error *err)
{
    char name[256];
    bool worth = false;
    tl_commit_result result = {0};
    TL_TRY(tl_table__require_data(table, "compact its manifests", err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_CLEANUP(tl_table_freep) tl_table *merging = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    tl_status status = latest == NULL ? TL_OK : is_worth_it(table, latest, &worth, err);
    if (status == TL_OK && worth) {
        status = open_merging(table, &merging, err);
        tl_attempt attempt = {.table = merging, .kind = TL_COMMIT_COMPACT};
        if (status == TL_OK)
            status = commit_nothing(&attempt, "Compact-Manifest-Procedure-Committer_", &result, err);
    }
    if (out != NULL)
        *out = result;
    return tl_error_wrap(err, status, "manifests of table %s", tl_table__full_name(table, name));
}

/* ---- lost ones ---- */

static tl_status count_lost(tl_table *table, const tl_snapshot *latest, size_t *n, tl_error *err)
{
    tl_manifest_list list = {0};
    tl_status status = tl_table__manifests(table, latest, TL_SCAN_ALL, &list, err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++) {
        bool there = true;
        status = tl_manifests__exists(table, &list.items[i], &there, err);
        *n += !there;
    }
    tl_manifest_list_deinit(&list);
    return status;
}

tl_status tl_table_remove_lost_manifests(tl_table *table, size_t *n, tl_error *err)
{
    char name[256];
    *n = 0;
    TL_TRY(tl_table__require_data(table, "mend it", err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    tl_status status = latest == NULL ? TL_OK : count_lost(table, latest, n, err);
    if (status == TL_OK && *n > 0) {
        tl_commit_result result;
        tl_attempt attempt = {.table = table, .kind = TL_COMMIT_OVERWRITE, .drop_lost_manifests = true};
        status = commit_nothing(&attempt, "Repair-table-", &result, err);
    }
    return tl_error_wrap(err, status, "manifests of table %s", tl_table__full_name(table, name));
}
