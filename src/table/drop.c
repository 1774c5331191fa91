/*
 * Dropping a table: its folder, and its files in folders outside (`data-file.external-paths`), those that its manifests name and no other.
 * (The reference removes the folders.)
 */
#include "base/log.h"
#include "table/orphans.h"

/* Files in the folders outside of the table that any of its manifests names, and the folders (which bound what may be removed). */
static tl_status find_outside(tl_fs *fs, const char *path, tl_names *files, tl_names *roots, tl_error *err)
{
    tl_search s = {.fs = fs, .path = path, .older_than_ms = INT64_MIN, .outside = files};
    tl_names branches = {0};
    tl_status status = tl_search__branches(&s, &branches, err);
    if (status == TL_OK)
        status = tl_search__roots(fs, path, &branches, roots, err);
    if (status == TL_OK && roots->n > 0)
        status = tl_search__each_branch(&s, &branches, tl_search__uses, err);
    tl_names_deinit(&branches);
    tl_search__deinit(&s);
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
