/*
 * Files in a table's folder that nothing refers to: what crashes, aborted writers and lost races leave behind. Java:
 * OrphanFilesClean, LocalOrphanFilesClean.
 *
 * A live file is never touched: candidates are listed first, only those older than the caller says (a writer may be about to commit
 * younger ones), and only then is read what is in use: every file that any manifest of any snapshot, tag or long-lived changelog of
 * any branch mentions, be it added or deleted. If some of that cannot be read, nothing is known to be unused and nothing is found.
 *
 * Folders outside the table (`data-file.external-paths` of any schema of any branch) are searched, too, unless another table of the catalog
 * lies there or has named them: its files look like ours. There only files named as this table's writers name theirs are candidates. (The
 * reference takes every file in the folders of the latest schema.) Dropping a table removes the files there that its manifests name, and
 * nothing else. (The reference removes the folders.)
 */
#include "base/log.h"
#include "table/table_private.h"

#include <stdlib.h>

#define DEPTH_MAX 32 /* of partition folders */

typedef struct search {
    tl_fs *fs;
    const char *path;  /* the table's folder */
    tl_table *table;   /* NULL when it is dropped */
    tl_names *outside; /* gets the paths of files outside of the table's folder; NULL: nobody asks */
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
    tl_status status = tl_fs_list(s->fs, dir, &entries, &n, err);
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
    TL_TRY(tl_fs_list(s->fs, dir, &entries, &n, err));
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
    TL_TRY(tl_fs_list(s->fs, dir, &entries, &n, err));
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

/* A file outside of the table's folder, and those beside it. */
static tl_status note_outside(search *s, const tl_data_file *file, tl_error *err)
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

static tl_status use_entries(search *s, const tl_paths *paths, const tl_manifest_meta *manifest, tl_error *err)
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

static tl_status use_list(search *s, const tl_paths *paths, const char *name, int64_t bytes, tl_error *err)
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

static tl_status use_indexes(search *s, const tl_paths *paths, const char *name, tl_error *err)
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

static tl_status use_snapshots(search *s, const tl_paths *paths, tl_error *err)
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

static tl_status use_tags(search *s, const tl_paths *paths, tl_error *err)
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
    TL_CLEANUP(tl_freep) char *dir = tl_strf("%s/branch", s->path);
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    if (dir == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_list(s->fs, dir, &entries, &n, err));
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
    tl_paths paths = {.table = s->path, .branch = NULL};
    TL_TRY(visit(s, &paths, err));
    for (size_t i = 0; i < branches->n; i++) {
        paths.branch = branches->items[i];
        TL_TRY(tl_error_wrap(err, visit(s, &paths, err), "branch '%s'", paths.branch));
    }
    return TL_OK;
}

/* ---- folders outside the table ---- */

static bool overlaps(const char *a, const char *b)
{
    size_t n = TL_MIN(strlen(a), strlen(b));
    return strncmp(a, b, n) == 0 && (a[n] == '\0' || a[n] == '/') && (b[n] == '\0' || b[n] == '/');
}

static tl_status add_roots(const char *paths, tl_names *out, tl_error *err)
{
    char **uris = NULL;
    size_t n = 0;
    TL_TRY(tl_table__split_list(paths, /* trim= */ true, &uris, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        TL_CLEANUP(tl_freep) char *path = tl_path_of_uri(uris[i]);
        if (path == NULL)
            status = tl_nomem(err, "path");
        else if (path[0] == '/' && path[1] != '\0') /* others cannot be written to, either */
            status = tl_names_add(out, path, err);
    }
    tl_names_free(uris, n);
    return status;
}

/* Folders that a branch's schemas, old ones as well, have named; some may come twice. */
static tl_status add_branch_roots(tl_fs *fs, const tl_paths *paths, tl_names *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_schema_list(fs, paths, &ids, &n, err));
    for (size_t i = 0; i < n; i++) {
        TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
        TL_TRY(tl_schema_read(fs, paths, ids[i], &schema, err));
        const char *external = tl_options_get(&schema->options, "data-file.external-paths");
        if (external != NULL)
            TL_TRY(add_roots(external, out, err));
    }
    return TL_OK;
}

static tl_status all_roots(tl_fs *fs, const char *table_path, const tl_names *branches, tl_names *out, tl_error *err)
{
    tl_paths paths = {.table = table_path, .branch = NULL};
    TL_TRY(add_branch_roots(fs, &paths, out, err));
    for (size_t i = 0; i < branches->n; i++) {
        paths.branch = branches->items[i];
        TL_TRY(add_branch_roots(fs, &paths, out, err));
    }
    return TL_OK;
}

/* Whether another table lies in the folder, around it, or writes to it. What cannot be read is taken for such a one. */
static bool is_taken_by(const search *s, const char *root, const char *db, const char *name)
{
    tl_names roots = {0}, branches = {0};
    TL_CLEANUP(tl_freep) char *path = NULL;
    bool taken = tl_catalog_table_path(s->table->catalog, db, name, &path, NULL) != TL_OK;
    if (!taken && strcmp(path, s->path) == 0)
        return false;
    search other = {.fs = s->fs, .path = path};
    taken = taken || overlaps(path, root) || branches_of(&other, &branches, NULL) != TL_OK || all_roots(s->fs, path, &branches, &roots, NULL) != TL_OK;
    for (size_t i = 0; !taken && i < roots.n; i++)
        taken = overlaps(roots.items[i], root);
    tl_orphans_free(other.items, other.n);
    tl_names_deinit(&roots);
    tl_names_deinit(&branches);
    return taken;
}

static tl_status is_shared(const search *s, const char *root, bool *out, tl_error *err)
{
    tl_catalog *catalog = s->table->catalog;
    char **dbs = NULL;
    size_t n_dbs = 0;
    const char *warehouse = tl_catalog_warehouse(catalog);
    *out = overlaps(warehouse, root) && strlen(root) <= strlen(warehouse); /* everything lies in it */
    TL_TRY(tl_catalog_list_databases(catalog, &dbs, &n_dbs, err));
    for (size_t i = 0; i < n_dbs && !*out; i++) {
        char **names = NULL;
        size_t n = 0;
        *out = tl_catalog_list_tables(catalog, dbs[i], &names, &n, NULL) != TL_OK;
        for (size_t k = 0; k < n && !*out; k++)
            *out = is_taken_by(s, root, dbs[i], names[k]);
        tl_names_free(names, n);
    }
    tl_names_free(dbs, n_dbs);
    return TL_OK;
}

/* PREFIX and a UUID in front, as writers of this table name files. */
static bool is_own_name(const search *s, const char *name)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx-";
    const char *const prefixes[] = {s->table->config->data_prefix, s->table->config->changelog_prefix};
    for (size_t i = 0; i < TL_ARRAY_LEN(prefixes); i++) {
        size_t k = 0;
        const char *at = name + strlen(prefixes[i]);
        if (!has_prefix(name, prefixes[i]))
            continue;
        while (k < sizeof form - 1 && (form[k] == '-' ? at[k] == '-' : at[k] != '\0' && strchr("0123456789abcdef", at[k]) != NULL))
            k++;
        if (k == sizeof form - 1)
            return true;
    }
    return false;
}

/* Files of bucket folders, and of the folders in them that entropy-inject makes. */
static tl_status list_outside(search *s, const char *dir, bool in_bucket, int depth, tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    if (depth > DEPTH_MAX)
        return TL_OK;
    TL_TRY(tl_fs_list(s->fs, dir, &entries, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        TL_CLEANUP(tl_freep) char *child = entries[i].stat.is_dir ? tl_path_join(dir, entries[i].name) : NULL;
        if (entries[i].stat.is_dir)
            status = child == NULL ? tl_nomem(err, "path")
                                   : list_outside(s, child, in_bucket || has_prefix(entries[i].name, "bucket-"), depth + 1, err);
        else if (in_bucket && is_own_name(s, entries[i].name))
            status = add_candidate(s, dir, &entries[i], err);
    }
    tl_dir_free(entries, n);
    return status;
}

static tl_status list_external(search *s, const tl_names *branches, tl_error *err)
{
    tl_names roots = {0};
    tl_status status = all_roots(s->fs, s->path, branches, &roots, err);
    for (size_t i = 0; status == TL_OK && i < roots.n; i++) {
        bool shared = false, again = false;
        for (size_t k = 0; k < i; k++)
            again |= strcmp(roots.items[k], roots.items[i]) == 0;
        if (again || (overlaps(s->path, roots.items[i]) && strlen(roots.items[i]) > strlen(s->path))) /* in the table's folder: searched already */
            continue;
        status = is_shared(s, roots.items[i], &shared, err);
        if (status == TL_OK && shared)
            tl_log(TL_LOG_WARN, "orphans of table %s.%s: folder '%s' is another table's as well: files there are left alone", s->table->db,
                   s->table->name, roots.items[i]);
        else if (status == TL_OK)
            status = list_outside(s, roots.items[i], /* in_bucket= */ false, 0, err);
    }
    tl_names_deinit(&roots);
    return status;
}

/* ---- what is left ---- */

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
    search s = {.fs = table->fs, .path = table->path, .table = table, .older_than_ms = tl_clock_now_ms(tl_clock_system()) - older_than_ms};
    tl_names branches = {0};
    tl_status status = branches_of(&s, &branches, err);
    if (status == TL_OK)
        status = each_branch(&s, &branches, list_metadata, err);
    if (status == TL_OK)
        status = list_buckets(&s, table->path, /* is_root= */ true, 0, err);
    if (status == TL_OK)
        status = list_external(&s, &branches, err);
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

/* ---- dropping ---- */

/* Files in the folders outside of the table that any of its manifests names, and the folders (which bound what may be removed). */
static tl_status find_outside(tl_fs *fs, const char *path, tl_names *files, tl_names *roots, tl_error *err)
{
    search s = {.fs = fs, .path = path, .older_than_ms = INT64_MIN, .outside = files};
    tl_names branches = {0};
    tl_status status = branches_of(&s, &branches, err);
    if (status == TL_OK)
        status = all_roots(fs, path, &branches, roots, err);
    if (status == TL_OK && roots->n > 0)
        status = each_branch(&s, &branches, use_branch, err);
    tl_names_deinit(&branches);
    tl_name_set_deinit(&s.used);
    tl_orphans_free(s.items, s.n);
    return status;
}

/* A path that metadata gives is removed only where a schema said that files of the table are. Folders that are empty then go as well. */
static void remove_outside(tl_fs *fs, const tl_names *roots, char *path)
{
    size_t root = 0;
    for (size_t i = 0; i < roots->n; i++) {
        size_t len = strlen(roots->items[i]);
        if (strncmp(path, roots->items[i], len) == 0 && path[len] == '/' && tl_path_is_inside(path + len + 1))
            root = TL_MAX(root, len);
    }
    if (root == 0)
        return;
    do {
        tl_status status = tl_fs_remove(fs, path, NULL);
        if (status != TL_OK && status != TL_E_NOT_FOUND) /* a folder that is not empty */
            return;
        *strrchr(path, '/') = '\0';
    } while (strlen(path) > root);
}

tl_status tl_table_drop(tl_catalog *catalog, const char *db, const char *name, bool if_exists, tl_error *err)
{
    tl_fs *fs = tl_catalog_fs(catalog);
    tl_names files = {0}, roots = {0};
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tl_catalog_table_path(catalog, db, name, &path, err));
    tl_error reason = {TL_OK, 0, ""};
    if (find_outside(fs, path, &files, &roots, &reason) != TL_OK) /* the table is dropped all the same */
        tl_log(TL_LOG_WARN, "dropping table %s.%s: files outside of its folder may be left: %s", db, name, reason.message);
    tl_status status = tl_catalog_drop_table(catalog, db, name, if_exists, err);
    for (size_t i = 0; status == TL_OK && i < files.n; i++)
        remove_outside(fs, &roots, files.items[i]);
    tl_names_deinit(&files);
    tl_names_deinit(&roots);
    return status;
}
