/*
 * Folders outside a table where its files may lie: `data-file.external-paths` of any schema of any branch. They are searched for orphans
 * unless another table of the catalog lies there or has named them: its files look like ours. (The reference takes every file in the
 * folders of the latest schema.)
 */
#include "base/log.h"
#include "table/orphans.h"

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

tl_status tl_search__roots(tl_fs *fs, const char *table_path, const tl_names *branches, tl_names *out, tl_error *err)
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
static bool is_taken_by(const tl_search *s, const char *root, const char *db, const char *name)
{
    tl_names roots = {0}, branches = {0};
    TL_CLEANUP(tl_freep) char *path = NULL;
    bool taken = tl_catalog_table_path(s->table->catalog, db, name, &path, NULL) != TL_OK;
    if (!taken && strcmp(path, s->path) == 0)
        return false;
    tl_search other = {.fs = s->fs, .path = path};
    taken = taken || overlaps(path, root) || tl_search__branches(&other, &branches, NULL) != TL_OK || tl_search__roots(s->fs, path, &branches, &roots, NULL) != TL_OK;
    for (size_t i = 0; !taken && i < roots.n; i++)
        taken = overlaps(roots.items[i], root);
    tl_search__deinit(&other);
    tl_names_deinit(&roots);
    tl_names_deinit(&branches);
    return taken;
}

static tl_status is_shared(const tl_search *s, const char *root, bool *out, tl_error *err)
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

tl_status tl_search__outside(tl_search *s, const tl_names *branches, tl_error *err)
{
    tl_names roots = {0};
    tl_status status = tl_search__roots(s->fs, s->path, branches, &roots, err);
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
            status = tl_search__folder(s, roots.items[i], TL_SEARCH_OUTSIDE, err);
    }
    tl_names_deinit(&roots);
    return status;
}
