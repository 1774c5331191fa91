/* What the metadata of a table names, and so keeps from being an orphan. */
#include "table/orphans.h"

static tl_status use(tl_search *s, const char *name, tl_error *err)
{
    return name == NULL || tl_name_set_add(&s->used, name, strlen(name)) == TL_OK ? TL_OK : tl_nomem(err, "files in use");
}

/* A file outside of the table's folder, and those beside it. */
static tl_status note_outside(tl_search *s, const tl_data_file *file, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_path_of_uri(file->external_path);
    if (path == NULL)
        return tl_nomem(err, "path");
    size_t dir = (size_t)(tl_path_base(path) - path);
    TL_TRY(tl_names_add(s->outside, path, err));
    for (int32_t i = 0; i < file->n_extra_files; i++) {
        TL_CLEANUP(tl_freep) char *extra = tl_strf("%.*s%s", (int)dir, path, file->extra_files[i]);
        if (extra == NULL)
            return tl_nomem(err, "path");
        TL_TRY(tl_names_add(s->outside, extra, err));
    }
    return TL_OK;
}

static tl_status use_entries(tl_search *s, const tl_paths *paths, const tl_manifest_meta *manifest, tl_error *err)
{
    tl_entries entries = {0};
    tl_status status = tl_manifest_read(s->fs, paths, manifest->name, manifest->bytes, NULL, NULL, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        const tl_data_file *file = entries.items[i].file;
        status = use(s, file->name, err);
        for (int32_t k = 0; status == TL_OK && k < file->n_extra_files; k++)
            status = use(s, file->extra_files[k], err);
        if (status == TL_OK && s->outside != NULL && file->external_path != NULL)
            status = note_outside(s, file, err);
    }
    tl_entries_deinit(&entries);
    return status;
}

static tl_status use_list(tl_search *s, const tl_paths *paths, const char *name, int64_t bytes, tl_error *err)
{
    if (name == NULL)
        return TL_OK;
    TL_TRY(use(s, name, err));
    tl_manifest_list list = {0};
    tl_status status = tl_manifest_list_read(s->fs, paths, name, bytes, &list, err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++) {
        size_t len = strlen(list.items[i].name);
        if (tl_name_set_has(&s->used, list.items[i].name, len)) /* most manifests are those of the snapshot before */
            continue;
        status = use(s, list.items[i].name, err);
        if (status == TL_OK)
            status = use_entries(s, paths, &list.items[i], err);
    }
    tl_manifest_list_deinit(&list);
    return status;
}

static tl_status use_indexes(tl_search *s, const tl_paths *paths, const char *name, tl_error *err)
{
    if (name == NULL || tl_name_set_has(&s->used, name, strlen(name)))
        return TL_OK;
    TL_TRY(use(s, name, err));
    tl_index_entries entries = {0};
    tl_status status = tl_index_manifest_read(s->fs, paths, name, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++)
        status = use(s, entries.items[i].file->name, err);
    tl_index_entries_deinit(&entries);
    return status;
}

/*
 * Changes do not outlive their snapshot in a tag or a branch: expiry removes their list, and then nobody can read the files that only
 * it names.
 */
static tl_status use_changes(tl_search *s, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    tl_status status = use_list(s, paths, snap->changelog_manifest_list, snap->changelog_manifest_list_bytes, err);
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

static tl_status use_snapshot(tl_search *s, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    TL_TRY(use_list(s, paths, snap->base_manifest_list, snap->base_manifest_list_bytes, err));
    TL_TRY(use_list(s, paths, snap->delta_manifest_list, snap->delta_manifest_list_bytes, err));
    TL_TRY(use_changes(s, paths, snap, err));
    TL_TRY(use_indexes(s, paths, snap->index_manifest, err));
    return use(s, snap->statistics, err);
}

/* A snapshot that expires while it is read is not in use any more; its files are found the next time. */
static tl_status use_numbered(tl_search *s, const tl_paths *paths, int64_t id, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_snapshot_read(s->fs, paths, id, &snap, err);
    if (status == TL_OK)
        status = use_snapshot(s, paths, snap, err);
    if (status != TL_E_NOT_FOUND)
        return status;
    bool exists = true;
    TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(paths, id);
    TL_TRY(path == NULL ? tl_nomem(err, "path") : tl_fs_exists(s->fs, path, &exists, NULL));
    return exists ? status : TL_OK;
}

static tl_status use_snapshots(tl_search *s, const tl_paths *paths, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_snapshot_list(s->fs, paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = use_numbered(s, paths, ids[i], err);
    tl_free(ids);
    return status;
}

static tl_status use_tags(tl_search *s, const tl_paths *paths, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_tag_list(s->fs, paths, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_tag_read(s->fs, paths, names[i], &snap, err);
        if (status == TL_OK)
            status = use_snapshot(s, paths, snap, err);
    }
    tl_names_free(names, n);
    return status;
}

/* Of what a changelog names, files may be gone with the snapshot: only the list of its changes is sure to be there. */
static tl_status use_changelog(tl_search *s, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    tl_status status = use_list(s, paths, snap->base_manifest_list, snap->base_manifest_list_bytes, err);
    if (status == TL_OK || status == TL_E_NOT_FOUND)
        status = use_list(s, paths, snap->delta_manifest_list, snap->delta_manifest_list_bytes, err);
    if (status == TL_OK || status == TL_E_NOT_FOUND)
        status = use_changes(s, paths, snap, err);
    return status;
}

static tl_status use_changelogs(tl_search *s, const tl_paths *paths, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_changelog_list(s->fs, paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_changelog_read(s->fs, paths, ids[i], &snap, err);
        if (status == TL_OK)
            status = use_changelog(s, paths, snap, err);
        else if (status == TL_E_NOT_FOUND)
            status = TL_OK; /* expired meanwhile */
    }
    tl_free(ids);
    return status;
}

tl_status tl_search__uses(tl_search *s, const tl_paths *paths, tl_error *err)
{
    TL_TRY(use_snapshots(s, paths, err));
    TL_TRY(use_tags(s, paths, err));
    return use_changelogs(s, paths, err);
}
