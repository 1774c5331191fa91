/*
 * Files in a table's folder that nothing refers to: what crashes, aborted writers and lost races leave behind. Java:
 * OrphanFilesClean, LocalOrphanFilesClean.
 *
 * A live file is never touched: candidates are listed first, only those older than the caller says (a writer may be about to commit
 * younger ones), and only then is read what is in use: every file that any manifest of any snapshot, tag or long-lived changelog of
 * any branch mentions, be it added or deleted. If some of that cannot be read, nothing is known to be unused and nothing is found.
 */
#include "table/table_private.h"

#include <stdlib.h>

#define DEPTH_MAX 32 /* of partition folders */

typedef struct search {
    tl_table *table;
    int64_t older_than_ms; /* wall clock */
    tl_orphan *items;
    size_t n;
    size_t cap;
    tl_name_set used; /* names without folders: they are unique, and one too many only keeps a file */
} search;

/* ---- candidates ---- */

static tl_status add_candidate(search *s, const char *dir, const tl_dir_entry *entry, tl_error *err)
{
    if (entry->stat.mtime_ms >= s->older_than_ms)
        return TL_OK;
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 64 : s->cap * 2;
        tl_orphan *items = tl_realloc(s->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "files");
        s->items = items;
        s->cap = cap;
    }
    char *path = tl_path_join(dir, entry->name);
    if (path == NULL)
        return tl_nomem(err, "path");
    s->items[s->n++] = (tl_orphan){path, entry->stat.bytes};
    return TL_OK;
}

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* What publishing leaves when it is cut short: ".NAME.UUID.tmp". */
static bool is_temporary(const char *name)
{
    size_t n = strlen(name);
    return name[0] == '.' && n > 4 && strcmp(name + n - 4, ".tmp") == 0;
}

typedef enum place { PLACE_ALL, PLACE_TEMPORARY } place;

/* Files of one folder: all of them, or only temporary ones where others have names that mean something. */
static tl_status list_folder(search *s, const char *dir, place what, tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    tl_status status = tl_fs_list(s->table->fs, dir, &entries, &n, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK;
    TL_TRY(status);
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (!entries[i].stat.is_dir && (what == PLACE_ALL || is_temporary(entries[i].name)))
            status = add_candidate(s, dir, &entries[i], err);
    }
    tl_dir_free(entries, n);
    return status;
}

/* Everything below a folder. */
static tl_status list_tree(search *s, const char *dir, int depth, tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    TL_TRY(list_folder(s, dir, PLACE_ALL, err));
    if (depth > DEPTH_MAX)
        return TL_OK;
    TL_TRY(tl_fs_list(s->table->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_freep) char *child = entries[i].stat.is_dir ? tl_path_join(dir, entries[i].name) : NULL;
        if (entries[i].stat.is_dir)
            status = child == NULL ? tl_nomem(err, "path") : list_tree(s, child, depth + 1, err);
    }
    tl_dir_free(entries, n);
    return status;
}

/* Files of bucket folders below `dir`; `is_root` leaves out the folders of metadata. */
static tl_status list_buckets(search *s, const char *dir, bool is_root, int depth, tl_error *err)
{
    static const char *const metadata[] = {"snapshot", "schema", "manifest", "index", "statistics", "tag", "branch", "consumer", "changelog", "tidelake"};
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    if (depth > DEPTH_MAX)
        return TL_OK;
    TL_TRY(tl_fs_list(s->table->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        bool skip = !entries[i].stat.is_dir;
        for (size_t k = 0; is_root && k < TL_ARRAY_LEN(metadata); k++)
            skip |= strcmp(entries[i].name, metadata[k]) == 0;
        if (skip)
            continue;
        TL_CLEANUP(tl_freep) char *child = tl_path_join(dir, entries[i].name);
        if (child == NULL)
            status = tl_nomem(err, "path");
        else if (has_prefix(entries[i].name, "bucket-"))
            status = list_folder(s, child, PLACE_ALL, err);
        else
            status = list_buckets(s, child, /* is_root= */ false, depth + 1, err);
    }
    tl_dir_free(entries, n);
    return status;
}

/* Folders of metadata of one branch. */
static tl_status list_metadata(search *s, const tl_paths *paths, tl_error *err)
{
    static const struct {
        const char *dir;
        place what;
    } folders[] = {{"manifest", PLACE_ALL},       {"statistics", PLACE_ALL}, {"index", PLACE_ALL},          {"snapshot", PLACE_TEMPORARY},
                   {"schema", PLACE_TEMPORARY},   {"tag", PLACE_TEMPORARY},  {"consumer", PLACE_TEMPORARY}, {"changelog", PLACE_TEMPORARY},
                   {"tidelake", PLACE_TEMPORARY}};
    for (size_t i = 0; i < TL_ARRAY_LEN(folders); i++) {
        TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(paths, folders[i].dir);
        if (dir == NULL)
            return tl_nomem(err, "path");
        TL_TRY(list_folder(s, dir, folders[i].what, err));
    }
    return TL_OK;
}

/* ---- what is in use ---- */

static tl_status use(search *s, const char *name, tl_error *err)
{
    return name == NULL || tl_name_set_add(&s->used, name, strlen(name)) == TL_OK ? TL_OK : tl_nomem(err, "files in use");
}

static tl_status use_entries(search *s, const tl_paths *paths, const tl_manifest_meta *manifest, tl_error *err)
{
    tl_entries entries = {0};
    tl_status status = tl_manifest_read(s->table->fs, paths, manifest->name, manifest->bytes, NULL, NULL, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        const tl_data_file *file = entries.items[i].file;
        status = use(s, file->name, err);
        for (int32_t k = 0; status == TL_OK && k < file->n_extra_files; k++)
            status = use(s, file->extra_files[k], err);
    }
    tl_entries_deinit(&entries);
    return status;
}

static tl_status use_list(search *s, const tl_paths *paths, const char *name, int64_t bytes, tl_error *err)
{
    if (name == NULL)
        return TL_OK;
    TL_TRY(use(s, name, err));
    tl_manifest_list list = {0};
    tl_status status = tl_manifest_list_read(s->table->fs, paths, name, bytes, &list, err);
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

static tl_status use_indexes(search *s, const tl_paths *paths, const char *name, tl_error *err)
{
    if (name == NULL || tl_name_set_has(&s->used, name, strlen(name)))
        return TL_OK;
    TL_TRY(use(s, name, err));
    tl_index_entries entries = {0};
    tl_status status = tl_index_manifest_read(s->table->fs, paths, name, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++)
        status = use(s, entries.items[i].file->name, err);
    tl_index_entries_deinit(&entries);
    return status;
}

/*
 * Changes do not outlive their snapshot in a tag or a branch: expiry removes their list, and then nobody can read the files that only
 * it names.
 */
static tl_status use_changes(search *s, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    tl_status status = use_list(s, paths, snap->changelog_manifest_list, snap->changelog_manifest_list_bytes, err);
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

static tl_status use_snapshot(search *s, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    TL_TRY(use_list(s, paths, snap->base_manifest_list, snap->base_manifest_list_bytes, err));
    TL_TRY(use_list(s, paths, snap->delta_manifest_list, snap->delta_manifest_list_bytes, err));
    TL_TRY(use_changes(s, paths, snap, err));
    TL_TRY(use_indexes(s, paths, snap->index_manifest, err));
    return use(s, snap->statistics, err);
}

/* A snapshot that expires while it is read is not in use any more; its files are found the next time. */
static tl_status use_numbered(search *s, const tl_paths *paths, int64_t id, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_snapshot_read(s->table->fs, paths, id, &snap, err);
    if (status == TL_OK)
        status = use_snapshot(s, paths, snap, err);
    if (status != TL_E_NOT_FOUND)
        return status;
    bool exists = true;
    TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(paths, id);
    TL_TRY(path == NULL ? tl_nomem(err, "path") : tl_fs_exists(s->table->fs, path, &exists, NULL));
    return exists ? status : TL_OK;
}

static tl_status use_snapshots(search *s, const tl_paths *paths, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_snapshot_list(s->table->fs, paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = use_numbered(s, paths, ids[i], err);
    tl_free(ids);
    return status;
}

static tl_status use_tags(search *s, const tl_paths *paths, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_tag_list(s->table->fs, paths, &names, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_tag_read(s->table->fs, paths, names[i], &snap, err);
        if (status == TL_OK)
            status = use_snapshot(s, paths, snap, err);
    }
    tl_names_free(names, n);
    return status;
}

/* Of what a changelog names, files may be gone with the snapshot: only the list of its changes is sure to be there. */
static tl_status use_changelog(search *s, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    tl_status status = use_list(s, paths, snap->base_manifest_list, snap->base_manifest_list_bytes, err);
    if (status == TL_OK || status == TL_E_NOT_FOUND)
        status = use_list(s, paths, snap->delta_manifest_list, snap->delta_manifest_list_bytes, err);
    if (status == TL_OK || status == TL_E_NOT_FOUND)
        status = use_changes(s, paths, snap, err);
    return status;
}

static tl_status use_changelogs(search *s, const tl_paths *paths, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_changelog_list(s->table->fs, paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_changelog_read(s->table->fs, paths, ids[i], &snap, err);
        if (status == TL_OK)
            status = use_changelog(s, paths, snap, err);
        else if (status == TL_E_NOT_FOUND)
            status = TL_OK; /* expired meanwhile */
    }
    tl_free(ids);
    return status;
}

static tl_status use_branch(search *s, const tl_paths *paths, tl_error *err)
{
    TL_TRY(use_snapshots(s, paths, err));
    TL_TRY(use_tags(s, paths, err));
    return use_changelogs(s, paths, err);
}

/* ---- all branches ---- */

/* Names of branches besides the main one. What is left of dropped ones (branch.c) is all candidates. */
static tl_status branches_of(search *s, tl_names *out, tl_error *err)
{
    tl_table *table = s->table;
    TL_CLEANUP(tl_freep) char *dir = tl_strf("%s/branch", table->path);
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    if (dir == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_list(table->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        if (entries[i].stat.is_dir && has_prefix(entries[i].name, "branch-"))
            status = tl_names_add(out, entries[i].name + strlen("branch-"), err);
        TL_CLEANUP(tl_freep) char *child = tl_path_join(dir, entries[i].name);
        if (status == TL_OK && entries[i].stat.is_dir && has_prefix(entries[i].name, ".dropped-"))
            status = child == NULL ? tl_nomem(err, "path") : list_tree(s, child, 0, err);
    }
    tl_dir_free(entries, n);
    return status;
}

static tl_status each_branch(search *s, const tl_names *branches, tl_status (*visit)(search *, const tl_paths *, tl_error *), tl_error *err)
{
    tl_paths paths = {.table = s->table->path, .branch = NULL};
    TL_TRY(visit(s, &paths, err));
    for (size_t i = 0; i < branches->n; i++) {
        paths.branch = branches->items[i];
        TL_TRY(tl_error_wrap(err, visit(s, &paths, err), "branch '%s'", paths.branch));
    }
    return TL_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const tl_orphan *)a)->path, ((const tl_orphan *)b)->path);
}

/* Of the candidates those that are not in use, by path; branches share folders, so that some come more than once. */
static void keep_orphans(search *s)
{
    size_t n = 0;
    if (s->n > 0)
        qsort(s->items, s->n, sizeof *s->items, by_path);
    for (size_t i = 0; i < s->n; i++) {
        const char *name = tl_path_base(s->items[i].path);
        if (tl_name_set_has(&s->used, name, strlen(name)) || (n > 0 && strcmp(s->items[n - 1].path, s->items[i].path) == 0))
            tl_free(s->items[i].path);
        else
            s->items[n++] = s->items[i];
    }
    s->n = n;
}

void tl_orphans_free(tl_orphan *orphans, size_t n)
{
    for (size_t i = 0; orphans != NULL && i < n; i++)
        tl_free(orphans[i].path);
    tl_free(orphans);
}

tl_status tl_table_find_orphans(tl_table *table, int64_t older_than_ms, tl_orphan **out, size_t *n, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "look for its orphans", err));
    search s = {.table = table, .older_than_ms = tl_clock_now_ms(tl_clock_system()) - older_than_ms};
    tl_names branches = {0};
    tl_status status = branches_of(&s, &branches, err);
    if (status == TL_OK)
        status = each_branch(&s, &branches, list_metadata, err);
    if (status == TL_OK)
        status = list_buckets(&s, table->path, /* is_root= */ true, 0, err);
    if (status == TL_OK)
        status = tl_error_wrap(err, each_branch(&s, &branches, use_branch, err), "what is in use cannot be told, so nothing is an orphan");
    tl_names_deinit(&branches);
    if (status == TL_OK) {
        keep_orphans(&s);
        *out = TL_STEAL(s.items);
        *n = s.n;
        s.n = 0;
    }
    tl_name_set_deinit(&s.used);
    tl_orphans_free(s.items, s.n);
    return status;
}

/* Folders that are empty now: of dropped branches. Others may be about to get a file. */
static void remove_empty_folders(tl_table *table, const char *path)
{
    size_t root = strlen(table->path);
    const char *dropped = strstr(path + root, "/branch/.dropped-");
    if (dropped == NULL)
        return;
    TL_CLEANUP(tl_freep) char *dir = tl_strdup(path);
    for (char *slash = dir == NULL ? NULL : strrchr(dir, '/'); slash != NULL && slash - dir > dropped - path + (ptrdiff_t)strlen("/branch"); slash = strrchr(dir, '/')) {
        *slash = '\0';
        if (tl_fs_remove(table->fs, dir, NULL) != TL_OK)
            return; /* not empty */
    }
}

tl_status tl_table_remove_orphans(tl_table *table, int64_t older_than_ms, tl_orphan **out, size_t *n, tl_error *err)
{
    tl_orphan *found = NULL;
    size_t count = 0;
    TL_TRY(tl_table_find_orphans(table, older_than_ms, &found, &count, err));
    tl_status status = TL_OK;
    size_t removed = 0;
    for (; removed < count && status == TL_OK; removed++) {
        status = tl_fs_remove(table->fs, found[removed].path, err);
        if (status == TL_E_NOT_FOUND)
            status = TL_OK; /* somebody else cleans, too */
        if (status == TL_OK)
            remove_empty_folders(table, found[removed].path);
    }
    if (status != TL_OK) {
        tl_orphans_free(found, count);
        return status;
    }
    *out = found;
    *n = count;
    return TL_OK;
}
