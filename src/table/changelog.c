/*
 * Changelogs that outlive their snapshots (changelog.* retention): an expired snapshot is kept as changelog/changelog-N, with the files
 * that hold its changes. Those are its changelog files or, where no changelog is produced, the data files that were appended.
 * Source: format reference §17, §18; Java: ExpireChangelogImpl, ChangelogDeletion, NextSnapshotFetcher, RollbackHelper.
 */
#include "table/table_private.h"

bool tl_table__has_changelog_files(const tl_table *table)
{
    return table->config->changelog_producer != TL_CHANGELOG_NONE;
}

tl_status tl_table__changes_at(tl_table *table, int64_t id, tl_snapshot **out, tl_error *err)
{
    tl_status status = tl_snapshot_read(table->fs, &table->paths, id, out, err);
    if (status == TL_E_NOT_FOUND && tl_table__decoupled(&table->schema->options))
        status = tl_changelog_read(table->fs, &table->paths, id, out, err);
    return status;
}

tl_status tl_table__earliest_changes(tl_table *table, int64_t *out, tl_error *err)
{
    int64_t id = 0;
    if (tl_table__decoupled(&table->schema->options))
        TL_TRY(tl_changelog_earliest_id(table->fs, &table->paths, &id, err));
    *out = id;
    return id > 0 ? TL_OK : tl_snapshot_earliest_id(table->fs, &table->paths, out, err);
}

/* ---- what is in use ---- */

/* A list that may be gone: what it would have kept is gone as well. */
static tl_status add_if_there(tl_table *table, const char *name, int64_t bytes, tl_name_set *manifests, tl_name_set *files, tl_error *err)
{
    tl_status status = tl_deletion__add_list(table, name, bytes, manifests, files, err);
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

tl_status tl_changelogs__add_needed(tl_table *table, int64_t last, tl_name_set *manifests, tl_name_set *files, tl_error *err)
{
    if (tl_table__has_changelog_files(table))
        return TL_OK; /* nothing but changelogs names the files of changelogs */
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_changelog_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n && ids[i] <= last; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_changelog_read(table->fs, &table->paths, ids[i], &snap, err);
        if (status == TL_OK)
            status = add_if_there(table, snap->delta_manifest_list, snap->delta_manifest_list_bytes, manifests, files, err);
        if (status == TL_OK)
            status = add_if_there(table, snap->base_manifest_list, snap->base_manifest_list_bytes, manifests, NULL, err);
        status = status == TL_E_NOT_FOUND ? TL_OK : status; /* expired meanwhile */
    }
    tl_free(ids);
    return status;
}

/* ---- expiry ---- */

typedef struct expiry {
    tl_table *table;
    tl_tag_files tags;
    tl_name_set manifests; /* that stay */
    tl_name_set dirs;      /* that lost a file */
    int32_t removed;
} expiry;

static void expiry_deinit(expiry *e)
{
    tl_tag_files__deinit(&e->tags);
    tl_name_set_deinit(&e->manifests);
    tl_name_set_deinit(&e->dirs);
}

static tl_status add_manifests(expiry *e, const tl_snapshot *snap, tl_error *err)
{
    TL_TRY(add_if_there(e->table, snap->base_manifest_list, snap->base_manifest_list_bytes, &e->manifests, NULL, err));
    return add_if_there(e->table, snap->delta_manifest_list, snap->delta_manifest_list_bytes, &e->manifests, NULL, err);
}

/* Manifests that tags, the first changelog that stays (NULL: none) and the first snapshot name. */
static tl_status keep_manifests(expiry *e, int64_t begin, int64_t end, const tl_snapshot *stays, tl_error *err)
{
    tl_table *table = e->table;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    TL_TRY(tl_tags__snapshots(table, &e->tags.tags, &e->tags.n, err));
    TL_TRY(tl_tag_files__add_manifests(table, &e->tags, begin, end, &e->manifests, err));
    if (stays != NULL)
        TL_TRY(add_manifests(e, stays, err));
    TL_TRY(tl_table__earliest(table->fs, &table->paths, INT64_MAX - 1, &first, err));
    return first == NULL ? TL_OK : add_manifests(e, first, err);
}

/* Files of the changes, then the lists that name them, then the changelog: whatever is interrupted can be done again. */
static tl_status remove_changelog(expiry *e, int64_t id, tl_error *err)
{
    tl_table *table = e->table;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_CLEANUP(tl_freep) char *path = tl_paths_changelog(&table->paths, id);
    if (path == NULL)
        return tl_nomem(err, "path");
    tl_status status = tl_changelog_read(table->fs, &table->paths, id, &snap, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK; /* somebody else expires, too */
    TL_TRY(status);
    if (snap->changelog_manifest_list != NULL) {
        TL_TRY(tl_deletion__added(table, snap->changelog_manifest_list, snap->changelog_manifest_list_bytes, &e->dirs, err));
        TL_TRY(tl_deletion__manifests(table, snap, TL_LISTS_CHANGELOG, &e->manifests, err));
    } else {
        const tl_name_set *keep = NULL;
        bool known = false;
        TL_TRY(tl_tag_files__before(table, &e->tags, id, &keep, &known, err));
        if (!known)
            return TL_OK;
        TL_TRY(tl_deletion__delta(table, snap, keep, &e->tags.others, /* keep_appended= */ false, &e->dirs, err));
        TL_TRY(tl_deletion__manifests(table, snap, TL_LISTS_DATA, &e->manifests, err));
    }
    status = tl_fs_remove(table->fs, path, err);
    e->removed += status == TL_OK;
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

static tl_status remove_range(expiry *e, int64_t begin, int64_t end, tl_error *err)
{
    for (int64_t id = begin; id < end; id++)
        TL_TRY(remove_changelog(e, id, err));
    return tl_deletion__empty_dirs(e->table, &e->dirs, err);
}

static tl_status expire_until(expiry *e, int64_t earliest, int64_t end, tl_error *err)
{
    tl_table *table = e->table;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *stays = NULL;
    tl_status status = tl_changelog_read(table->fs, &table->paths, end, &stays, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK; /* another expiry went further meanwhile */
    TL_TRY(status);
    TL_TRY(keep_manifests(e, earliest, end, stays, err));
    TL_TRY(remove_range(e, earliest, end, err));
    return tl_changelog_hint_write(table->fs, &table->paths, "EARLIEST", end, err);
}

tl_status tl_changelogs__expire(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err)
{
    tl_retention limits;
    TL_TRY(tl_retention__read(&table->schema->options, /* changelogs= */ true, spec, &limits, err));
    tl_retained what = {.read = tl_changelog_read, .heed_consumers = true};
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &what.newest, err));
    TL_TRY(tl_changelog_earliest_id(table->fs, &table->paths, &what.earliest, err));
    TL_TRY(tl_changelog_latest_id(table->fs, &table->paths, &what.last, err));
    *expired = 0;
    if (what.newest == 0 || what.earliest == 0)
        return TL_OK;
    int64_t end = 0;
    TL_TRY(tl_retention__end(table, &limits, &what, &end, err));
    if (end <= what.earliest)
        return TL_OK;
    expiry e = {.table = table};
    tl_status status = expire_until(&e, what.earliest, end, err);
    expiry_deinit(&e);
    *expired = e.removed;
    return status;
}

tl_status tl_table_expire_changelogs(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "expire its changelogs", err));
    tl_expire_spec all = {.retain_max = TL_ABSENT, .retain_min = TL_ABSENT, .older_than_ms = TL_ABSENT};
    tl_status status = tl_changelogs__expire(table, spec == NULL ? &all : spec, expired, err);
    return tl_error_wrap(err, status, "expiring changelogs of table %s", tl_table__full_name(table, name));
}

static tl_status delete_all(expiry *e, tl_error *err)
{
    tl_table *table = e->table;
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_changelog_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = n == 0 ? TL_OK : keep_manifests(e, ids[0], INT64_MAX, NULL, err);
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = remove_changelog(e, ids[i], err);
    tl_free(ids);
    TL_TRY(status);
    static const char *const hints[] = {"EARLIEST", "LATEST"};
    for (size_t i = 0; i < TL_ARRAY_LEN(hints); i++) {
        TL_CLEANUP(tl_freep) char *path = tl_paths_hint(&table->paths, "changelog", hints[i]);
        if (path == NULL)
            return tl_nomem(err, "path");
        (void)tl_fs_remove(table->fs, path, NULL); /* advice only */
    }
    return tl_deletion__empty_dirs(table, &e->dirs, err);
}

tl_status tl_table_delete_changelogs(tl_table *table, int32_t *deleted, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "delete its changelogs", err));
    expiry e = {.table = table};
    tl_status status = delete_all(&e, err);
    expiry_deinit(&e);
    *deleted = e.removed;
    return tl_error_wrap(err, status, "deleting changelogs of table %s", tl_table__full_name(table, name));
}

/* ---- rollback ---- */

tl_status tl_changelogs__roll_back(tl_table *table, int64_t above, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_changelog_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    size_t left = n;
    for (; left > 0 && ids[left - 1] > above && status == TL_OK; left--) {
        TL_CLEANUP(tl_freep) char *path = tl_paths_changelog(&table->paths, ids[left - 1]);
        status = path == NULL ? tl_nomem(err, "path") : tl_fs_remove(table->fs, path, err);
        status = status == TL_E_NOT_FOUND ? TL_OK : status;
    }
    /* The hint that is left is checked by those who read it: its file is not there. The reference does not look that far. */
    if (status == TL_OK && left < n && left > 0)
        status = tl_changelog_hint_write(table->fs, &table->paths, "LATEST", ids[left - 1], err);
    if (status == TL_OK && left < n && left == 0) {
        TL_CLEANUP(tl_freep) char *path = tl_paths_hint(&table->paths, "changelog", "LATEST");
        if (path != NULL)
            (void)tl_fs_remove(table->fs, path, NULL); /* advice only */
    }
    tl_free(ids);
    return status;
}
