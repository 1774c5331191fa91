/*
 * File system catalog: WAREHOUSE/DB.db/TABLE (format reference §23). A database is a folder, a table is a folder with a
 * schema file; nothing else records them. Java: FileSystemCatalog.
 */
#include "catalog/catalog.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

struct tl_catalog {
    tl_fs *fs;
    char *warehouse; /* absolute, without a slash at the end */
    tl_options options;
};

const char *const tl_catalog_system_tables[] = {"all_table_options", "catalog_options", "partitions", "tables", NULL};

/* ---- names ---- */

/* A name becomes one folder name: nothing in it may lead elsewhere. `$` separates system tables, so no table has it. */
static tl_status check_name(const char *kind, const char *name, tl_error *err)
{
    bool ok = name != NULL && *name != 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) <= 240;
    for (const char *p = name; ok && *p != 0; p++)
        ok = *p != '/' && *p != '\\' && *p != '$' && (unsigned char)*p >= 0x20 && *p != 0x7f;
    return ok ? TL_OK : tl_error_set(err, TL_E_INVALID, "'%.260s' is no valid %s name", name == NULL ? "" : name, kind);
}

static tl_status database_path(tl_catalog *catalog, const char *db, char **out, tl_error *err)
{
    TL_TRY(check_name("database", db, err));
    *out = tl_strf("%s/%s.db", catalog->warehouse, db);
    return *out == NULL ? tl_nomem(err, "database") : TL_OK;
}

tl_status tl_catalog_table_path(tl_catalog *catalog, const char *db, const char *table, char **out, tl_error *err)
{
    TL_TRY(check_name("database", db, err));
    TL_TRY(check_name("table", table, err));
    *out = tl_strf("%s/%s.db/%s", catalog->warehouse, db, table);
    return *out == NULL ? tl_nomem(err, "table") : TL_OK;
}

/* ---- open ---- */

/* A relative path starts at the working folder. */
static tl_status plain_warehouse(const char *warehouse, char **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_path_of_uri(warehouse);
    if (path == NULL)
        return tl_nomem(err, "warehouse");
    if (strstr(path, "://") != NULL)
        return tl_error_set(err, TL_E_UNSUPPORTED, "warehouse '%s': only local folders", warehouse);
    if (*path == 0)
        return tl_error_set(err, TL_E_INVALID, "warehouse '%s' names no folder", warehouse);
    char cwd[PATH_MAX];
    if (*path != '/' && getcwd(cwd, sizeof cwd) == NULL)
        return tl_error_errno(err, errno, "cannot find the working folder");
    char *full = *path == '/' ? tl_strdup(path) : tl_strf("%s/%s", cwd, path);
    if (full == NULL)
        return tl_nomem(err, "warehouse");
    *out = full;
    return TL_OK;
}

tl_status tl_catalog_open(tl_fs *fs, const char *warehouse, tl_catalog **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(plain_warehouse(warehouse, &path, err));
    TL_TRY(tl_error_wrap(err, tl_fs_mkdirs(fs, path, err), "warehouse"));
    tl_catalog *catalog = tl_calloc(1, sizeof *catalog);
    if (catalog == NULL)
        return tl_nomem(err, "catalog");
    catalog->fs = tl_fs_ref(fs);
    catalog->warehouse = TL_STEAL(path);
    if (tl_options_set(&catalog->options, "warehouse", catalog->warehouse) != TL_OK) {
        tl_catalog_close(catalog);
        return tl_nomem(err, "catalog");
    }
    *out = catalog;
    return TL_OK;
}

void tl_catalog_close(tl_catalog *catalog)
{
    if (catalog == NULL)
        return;
    tl_fs_unref(catalog->fs);
    tl_options_deinit(&catalog->options);
    tl_free(catalog->warehouse);
    tl_free(catalog);
}

tl_fs *tl_catalog_fs(tl_catalog *catalog)
{
    return catalog->fs;
}

const char *tl_catalog_warehouse(const tl_catalog *catalog)
{
    return catalog->warehouse;
}

tl_status tl_catalog_set_options(tl_catalog *catalog, const tl_options *options, tl_error *err)
{
    for (size_t i = 0; i < options->count; i++) {
        if (tl_options_set(&catalog->options, options->keys[i], options->values[i]) != TL_OK)
            return tl_nomem(err, "catalog");
    }
    tl_options_remove(&catalog->options, "type"); /* chooses the kind of catalog; not its own */
    return TL_OK;
}

const tl_options *tl_catalog_options(const tl_catalog *catalog)
{
    return &catalog->options;
}

bool tl_catalog_is_system(const char *db)
{
    return strcmp(db, "sys") == 0;
}

/* Nothing is made, renamed or dropped in the system database. */
static tl_status refuse_system(const char *db, tl_error *err)
{
    return tl_catalog_is_system(db) ? tl_error_set(err, TL_E_INVALID, "database 'sys' is the system database: nothing in it can be changed") : TL_OK;
}

/* ---- what is there ---- */

static tl_status is_folder(tl_fs *fs, const char *path, bool *out, tl_error *err)
{
    tl_stat st;
    tl_status status = tl_fs_stat(fs, path, &st, err);
    *out = status == TL_OK && st.is_dir;
    return status == TL_E_NOT_FOUND ? TL_OK : status;
}

/* A folder is a table if it has a schema. */
static tl_status has_schema(tl_fs *fs, const char *table_path, bool *out, tl_error *err)
{
    tl_paths paths = {.table = table_path};
    TL_CLEANUP(tl_freep) char *first = tl_paths_schema(&paths, 0);
    if (first == NULL)
        return tl_nomem(err, "table");
    TL_TRY(tl_fs_exists(fs, first, out, err));
    if (*out)
        return TL_OK;
    TL_CLEANUP(tl_freep) int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_schema_list(fs, &paths, &ids, &n, err));
    *out = n > 0;
    return TL_OK;
}

static tl_status need_database(tl_catalog *catalog, const char *db, char **path, tl_error *err)
{
    bool there;
    TL_TRY(database_path(catalog, db, path, err));
    TL_TRY(is_folder(catalog->fs, *path, &there, err));
    return there ? TL_OK : tl_error_set(err, TL_E_NOT_FOUND, "database '%s' does not exist", db);
}

tl_status tl_catalog_table_exists(tl_catalog *catalog, const char *db, const char *table, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tl_catalog_table_path(catalog, db, table, &path, err));
    return has_schema(catalog->fs, path, out, err);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef tl_status (*keep_fn)(tl_catalog *catalog, const char *dir, const char *name, bool *keep, tl_error *err);

/* Names of the folders in `dir` that `keep` accepts, cut by `cut` characters, in byte order. */
static tl_status list_folders(tl_catalog *catalog, const char *dir, keep_fn keep, size_t cut, char ***names, size_t *n,
                              tl_error *err)
{
    tl_dir_entry *entries = NULL;
    size_t n_entries = 0, found = 0;
    TL_TRY(tl_fs_list(catalog->fs, dir, &entries, &n_entries, err));
    char **out = tl_calloc(n_entries + 1, sizeof *out);
    tl_status status = out == NULL ? tl_nomem(err, "catalog") : TL_OK;
    for (size_t i = 0; i < n_entries && status == TL_OK; i++) {
        bool wanted = false;
        if (entries[i].stat.is_dir)
            status = keep(catalog, dir, entries[i].name, &wanted, err);
        if (status != TL_OK || !wanted)
            continue;
        out[found] = tl_strndup(entries[i].name, strlen(entries[i].name) - cut);
        status = out[found] == NULL ? tl_nomem(err, "catalog") : TL_OK;
        found += out[found] != NULL;
    }
    tl_dir_free(entries, n_entries);
    if (status != TL_OK) {
        tl_names_free(out, found);
        return status;
    }
    qsort(out, found, sizeof *out, compare_names);
    *names = out;
    *n = found;
    return TL_OK;
}

static tl_status keep_database(tl_catalog *catalog, const char *dir, const char *name, bool *keep, tl_error *err)
{
    (void)catalog, (void)dir, (void)err;
    size_t len = strlen(name);
    *keep = len > 3 && strcmp(name + len - 3, ".db") == 0;
    return TL_OK;
}

static tl_status keep_table(tl_catalog *catalog, const char *dir, const char *name, bool *keep, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_path_join(dir, name);
    return path == NULL ? tl_nomem(err, "catalog") : has_schema(catalog->fs, path, keep, err);
}

tl_status tl_catalog_list_databases(tl_catalog *catalog, char ***names, size_t *n, tl_error *err)
{
    return list_folders(catalog, catalog->warehouse, keep_database, /* cut= */ 3, names, n, err);
}

static tl_status list_system(char ***names, size_t *n, tl_error *err)
{
    char **out = tl_calloc(TL_ARRAY_LEN(tl_catalog_system_tables), sizeof *out);
    if (out == NULL)
        return tl_nomem(err, "catalog");
    *n = 0;
    for (const char *const *name = tl_catalog_system_tables; *name != NULL; name++) {
        out[*n] = tl_strdup(*name);
        if (out[*n] == NULL) {
            tl_names_free(out, *n);
            return tl_nomem(err, "catalog");
        }
        ++*n;
    }
    *names = out;
    return TL_OK;
}

tl_status tl_catalog_list_tables(tl_catalog *catalog, const char *db, char ***names, size_t *n, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    if (tl_catalog_is_system(db))
        return list_system(names, n, err);
    TL_TRY(need_database(catalog, db, &path, err));
    return list_folders(catalog, path, keep_table, /* cut= */ 0, names, n, err);
}

/* ---- databases ---- */

tl_status tl_catalog_create_database(tl_catalog *catalog, const char *db, bool if_not_exists, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    bool there;
    TL_TRY(refuse_system(db, err));
    TL_TRY(database_path(catalog, db, &path, err));
    TL_TRY(is_folder(catalog->fs, path, &there, err));
    if (there)
        return if_not_exists ? TL_OK : tl_error_set(err, TL_E_EXISTS, "database '%s' exists already", db);
    TL_TRY(tl_error_wrap(err, tl_fs_mkdirs(catalog->fs, path, err), "database '%s'", db));
    return tl_error_wrap(err, tl_fs_flush(catalog->fs, err), "database '%s'", db);
}

tl_status tl_catalog_drop_database(tl_catalog *catalog, const char *db, bool if_exists, bool cascade, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    char **tables = NULL;
    size_t n = 0;
    TL_TRY(refuse_system(db, err));
    tl_status status = need_database(catalog, db, &path, err);
    if (status == TL_E_NOT_FOUND && if_exists)
        return TL_OK;
    TL_TRY(status);
    TL_TRY(list_folders(catalog, path, keep_table, /* cut= */ 0, &tables, &n, err));
    tl_names_free(tables, n);
    if (n > 0 && !cascade)
        return tl_error_set(err, TL_E_INVALID, "database '%s' is not empty", db);
    return tl_error_wrap(err, tl_fs_remove_all(catalog->fs, path, err), "database '%s'", db);
}

/* ---- tables ---- */

tl_status tl_catalog_create_table(tl_catalog *catalog, const char *db, const char *table, const tl_table_schema *schema,
                                  tl_error *err)
{
    TL_CLEANUP(tl_freep) char *db_path = NULL;
    TL_CLEANUP(tl_freep) char *path = NULL;
    bool there;
    TL_TRY(refuse_system(db, err));
    TL_TRY(need_database(catalog, db, &db_path, err));
    TL_TRY(tl_catalog_table_path(catalog, db, table, &path, err));
    TL_TRY(has_schema(catalog->fs, path, &there, err));
    tl_status status = TL_E_CONFLICT;
    if (!there) {
        tl_paths paths = {.table = path};
        status = tl_schema_publish(catalog->fs, &paths, schema, err);
    }
    if (status == TL_E_CONFLICT) /* another one was faster */
        return tl_error_set(err, TL_E_EXISTS, "table '%s.%s' exists already", db, table);
    return tl_error_wrap(err, status, "table '%s.%s'", db, table);
}

tl_status tl_catalog_drop_table(tl_catalog *catalog, const char *db, const char *table, bool if_exists, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    bool there;
    TL_TRY(refuse_system(db, err));
    TL_TRY(tl_catalog_table_path(catalog, db, table, &path, err));
    TL_TRY(has_schema(catalog->fs, path, &there, err));
    if (!there)
        return if_exists ? TL_OK : tl_error_set(err, TL_E_NOT_FOUND, "table '%s.%s' does not exist", db, table);
    return tl_error_wrap(err, tl_fs_remove_all(catalog->fs, path, err), "table '%s.%s'", db, table);
}

tl_status tl_catalog_rename_table(tl_catalog *catalog, const char *db, const char *from, const char *to, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *from_path = NULL;
    TL_CLEANUP(tl_freep) char *to_path = NULL;
    bool there;
    TL_TRY(refuse_system(db, err));
    TL_TRY(tl_catalog_table_path(catalog, db, from, &from_path, err));
    TL_TRY(tl_catalog_table_path(catalog, db, to, &to_path, err));
    TL_TRY(has_schema(catalog->fs, from_path, &there, err));
    if (!there)
        return tl_error_set(err, TL_E_NOT_FOUND, "table '%s.%s' does not exist", db, from);
    tl_status status = tl_fs_rename(catalog->fs, from_path, to_path, /* replace= */ false, err);
    if (status == TL_E_EXISTS)
        return tl_error_set(err, TL_E_EXISTS, "table '%s.%s' exists already", db, to);
    return tl_error_wrap(err, status, "table '%s.%s'", db, from);
}
