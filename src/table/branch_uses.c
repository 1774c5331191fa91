/*
 * What the other branches of a table need while files of this one are deleted. Branches share data files and manifests with the branch that they
 * were made from: all that were there at that time. The reference trusts that the tag that a branch was made from stays; if it does not, the
 * branch loses its rows there (apache/paimon#2409, apache/paimon#3650).
 *
 * A branch needs what its first snapshot and its tags need: what later snapshots have of others' files, the first one had.
 */
#include "table/table_private.h"

/* File times are local wall clocks, the fork's is the store's: so much later a file still counts as older than the fork. */
#define FORK_MARGIN_MS (INT64_C(36) * 3600 * 1000)

static tl_status add_snapshot(tl_table *table, const tl_snapshot *snap, tl_name_set *files, tl_name_set *manifests, tl_error *err)
{
    if (files != NULL)
        TL_TRY(tl_deletion__add_files(table, snap, files, err));
    return manifests == NULL ? TL_OK : tl_deletion__add_manifests(table, snap, manifests, err);
}

static tl_status add_branch(tl_table *table, const tl_paths *branch, tl_name_set *files, tl_name_set *manifests, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    TL_TRY(tl_table__earliest(table->fs, branch, INT64_MAX - 1, &first, err));
    if (first != NULL)
        TL_TRY(add_snapshot(table, first, files, manifests, err));
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_tag_list(table->fs, branch, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_tag_read(table->fs, branch, names[i], &snap, err);
        if (status == TL_OK && (first == NULL || snap->id != first->id))
            status = add_snapshot(table, snap, files, manifests, err);
        else if (status == TL_E_NOT_FOUND)
            status = TL_OK; /* deleted meanwhile */
    }
    tl_names_free(names, n);
    return status;
}

/* The time of a branch's oldest schema file: it was copied when the branch was made. */
static tl_status fork_time(tl_table *table, const tl_paths *branch, int64_t *out, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_schema_list(table->fs, branch, &ids, &n, err));
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        first = TL_MIN(first, ids[i]);
    tl_free(ids);
    if (n == 0)
        return TL_OK; /* what is left of an attempt */
    TL_CLEANUP(tl_freep) char *path = tl_paths_schema(branch, first);
    tl_stat stat;
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_stat(table->fs, path, &stat, err));
    *out = TL_MAX(*out, stat.mtime_ms);
    return TL_OK;
}

static bool is_self(const tl_table *table, const char *branch)
{
    const char *self = table->paths.branch == NULL ? "main" : table->paths.branch;
    return strcmp(self, branch) == 0;
}

/* Every branch but this one into the sets; *forked_ms: the newest fork of all, INT64_MIN if there are no branches. */
static tl_status each(tl_table *table, tl_name_set *files, tl_name_set *manifests, int64_t *forked_ms, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *dir = tl_strf("%s/branch", table->path);
    tl_dir_entry *entries = NULL;
    size_t n = 0, prefix = strlen("branch-"), found = 0;
    if (dir == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_list(table->fs, dir, &entries, &n, err));
    tl_paths paths = {.table = table->path, .branch = NULL};
    bool reads = files != NULL || manifests != NULL;
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (!entries[i].stat.is_dir || strncmp(entries[i].name, "branch-", prefix) != 0)
            continue;
        found++;
        paths.branch = entries[i].name + prefix;
        if (forked_ms != NULL)
            status = fork_time(table, &paths, forked_ms, err);
        if (status == TL_OK && reads && !is_self(table, paths.branch))
            status = add_branch(table, &paths, files, manifests, err);
    }
    paths.branch = NULL;
    if (status == TL_OK && reads && found > 0 && !is_self(table, "main"))
        status = add_branch(table, &paths, files, manifests, err);
    tl_dir_free(entries, n);
    return status;
}

tl_status tl_branch_uses__add(tl_table *table, tl_name_set *files, tl_name_set *manifests, tl_error *err)
{
    return each(table, files, manifests, NULL, err);
}

void tl_branch_uses__deinit(tl_branch_uses *uses)
{
    tl_name_set_deinit(&uses->files);
}

tl_status tl_branch_uses__has(tl_table *table, tl_branch_uses *uses, const tl_data_file *file, tl_bytes_view key, bool *out, tl_error *err)
{
    tl_status status = TL_OK;
    if (!uses->looked) {
        uses->forked_ms = INT64_MIN;
        status = each(table, NULL, NULL, &uses->forked_ms, err);
        uses->looked = true;
    }
    bool older = uses->forked_ms != INT64_MIN &&
                 (file->creation_time_ms == TL_ABSENT || file->creation_time_ms <= uses->forked_ms + FORK_MARGIN_MS);
    if (status == TL_OK && older && !uses->read) {
        status = each(table, &uses->files, NULL, NULL, err);
        uses->read = true;
    }
    if (status == TL_E_NOMEM)
        return status;
    uses->unknown |= status != TL_OK; /* better leave orphans than delete what others need */
    *out = uses->unknown || (older && tl_name_set_has(&uses->files, key.data, key.len));
    return TL_OK;
}
