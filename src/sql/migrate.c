/*
 * CALL sys.clone and sys.migrate_table: tables from elsewhere. They name catalogs by the reference's strings of options; a catalog that is not
 * named is the session's.
 */
#include "sql/procedures.h"

#include <strings.h>

#include "base/parse.h"

/* The lake of `conf`, opened into *owned, or (NULL) the one of the session's catalog. */
static tl_status lake_of(tl_binder *b, const tl_ast *at, const char *catalog, const char *conf, tl_catalog **owned, tl_catalog **out)
{
    tl_options options = {0};
    const tl_sql_catalog *session = tl_sql__catalog(b->session, catalog);
    *owned = NULL;
    if (conf == NULL) {
        if (session == NULL || session->lake == NULL)
            return BIND_ERROR(b, at, "catalog '%s' is none of type 'paimon'", catalog);
        *out = session->lake;
        return TL_OK;
    }
    tl_fs *fs = NULL;
    tl_status status = tl_sql__options_of_list(b, at, conf, &options);
    const char *warehouse = tl_options_get(&options, "warehouse");
    if (status == TL_OK && warehouse == NULL)
        status = BIND_ERROR(b, at, "'%s' names no warehouse", conf);
    if (status == TL_OK)
        status = tl_fs_local(&fs, b->err);
    if (status == TL_OK)
        status = tl_catalog_open(fs, warehouse, owned, b->err);
    tl_fs_unref(fs);
    tl_options_deinit(&options);
    *out = *owned;
    return status;
}

/* Whether "a.b,c.d" has DB.TABLE. */
static bool is_listed(const char *list, const char *db, const char *table)
{
    size_t db_len = strlen(db), table_len = strlen(table);
    for (tl_bytes_view name; tl_list_next(&list, &name);) {
        const char *p = (const char *)name.data;
        if (name.len == db_len + 1 + table_len && strncmp(p, db, db_len) == 0 && p[db_len] == '.' && strncmp(p + db_len + 1, table, table_len) == 0)
            return true;
    }
    return false;
}

typedef struct clone_job {
    tl_binder *b;
    const tl_clone_call *call;
    tl_catalog *from, *to;
} clone_job;

static tl_status clone_one(const clone_job *j, const char *db, const char *table, const char *to_db, const char *to_table)
{
    const tl_clone_call *c = j->call;
    tl_table *source = NULL;
    tl_clone_result result;
    const tl_clone_spec spec = {.to = j->to, .db = to_db, .name = to_table, .meta_only = c->meta_only, .skip_existing = c->skip_existing};
    if ((c->included != NULL && !is_listed(c->included, db, table)) || is_listed(c->excluded, db, table))
        return TL_OK;
    TL_TRY(tl_table_open(j->from, db, table, NULL, &source, j->b->err));
    tl_status status = tl_table_clone(source, &spec, &result, j->b->err);
    tl_table_free(source);
    return status;
}

static tl_status clone_database(const clone_job *j, const char *db, const char *to_db)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_catalog_list_tables(j->from, db, &names, &n, j->b->err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = clone_one(j, db, names[i], to_db, names[i]);
    tl_names_free(names, n);
    return status;
}

static tl_status clone_all(const clone_job *j)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_catalog_list_databases(j->from, &names, &n, j->b->err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = clone_database(j, names[i], names[i]);
    tl_names_free(names, n);
    return status;
}

/* As the reference checks what is named: a catalog, a database, or a table. */
static tl_status run_clone(const clone_job *j, const tl_ast *at)
{
    const tl_clone_call *c = j->call;
    if (c->db == NULL) {
        if (c->table != NULL || c->to_db != NULL || c->to_table != NULL)
            return BIND_ERROR(j->b, at, "names of tables and of a target are for the clone of a database or table");
        return clone_all(j);
    }
    if (c->to_db == NULL)
        return BIND_ERROR(j->b, at, "targetDatabase must not be blank when clone %s.", c->table == NULL ? "all tables in a database" : "a table");
    if (c->table == NULL)
        return c->to_table == NULL ? clone_database(j, c->db, c->to_db)
                                   : BIND_ERROR(j->b, at, "targetTableName must be blank when clone all tables in a catalog.");
    if (c->to_table == NULL)
        return BIND_ERROR(j->b, at, "targetTableName must not be blank when clone a table.");
    return clone_one(j, c->db, c->table, c->to_db, c->to_table);
}

tl_status tl_sql__clone(tl_binder *b, const tl_ast *at, const char *catalog, const tl_clone_call *call)
{
    tl_catalog *own_from = NULL, *own_to = NULL;
    clone_job j = {.b = b, .call = call};
    tl_status status = lake_of(b, at, catalog, call->from_conf, &own_from, &j.from);
    if (status == TL_OK)
        status = lake_of(b, at, catalog, call->to_conf, &own_to, &j.to);
    if (status == TL_OK)
        status = run_clone(&j, at);
    tl_catalog_close(own_from);
    tl_catalog_close(own_to);
    return status;
}

/* ---- migrate_table ---- */

/* A table of the files' columns, partitioned by their folders. */
static tl_status create_target(tl_binder *b, tl_catalog *lake, const char *db, const char *name, const tl_import_files *files,
                               const tl_options *options)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *columns = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *row_type = NULL;
    TL_TRY(tl_type_create_row(false, NULL, 0, &columns, b->err));
    for (size_t i = 0; i < files->n; i++) {
        TL_CLEANUP(tl_type_unrefp) const tl_type *of_file = NULL;
        const tl_type *both = NULL;
        TL_TRY(tl_import_columns(tl_catalog_fs(lake), &files->items[i], NULL, &of_file, b->err));
        TL_TRY(tl_error_wrap(b->err, tl_import_common_columns(columns, of_file, &both, b->err), "'%s'", files->items[i].path));
        tl_type_unref(columns);
        columns = both;
    }
    TL_TRY(tl_import_row_type(files, columns, &row_type, b->err));
    const tl_table_def def = {.row_type = row_type, .partition_keys = files->keys, .n_partition_keys = files->n_keys, .options = options, .comment = ""};
    TL_TRY(tl_catalog_create_database(lake, db, /* if_not_exists= */ true, b->err));
    return tl_table_create(lake, db, name, &def, /* if_not_exists= */ false, b->err);
}

static tl_status migrate_into(tl_binder *b, tl_catalog *lake, const char *db, const char *name, const tl_import_files *files,
                              const tl_options *options)
{
    bool exists = false;
    tl_table *table = NULL;
    tl_import_result result = {0};
    const tl_import_spec spec = {.files = files};
    TL_TRY(tl_catalog_table_exists(lake, db, name, &exists, b->err));
    if (!exists)
        TL_TRY(create_target(b, lake, db, name, files, options));
    tl_status status = tl_table_open(lake, db, name, NULL, &table, b->err);
    if (status == TL_OK)
        status = tl_table_import(table, &spec, &result, b->err);
    tl_table_free(table);
    if (status != TL_OK && !exists && !result.has_files) /* what was made for it alone goes with it */
        (void)tl_catalog_drop_table(lake, db, name, /* if_exists= */ true, /* err= */ NULL);
    return status;
}

tl_status tl_sql__migrate_table(tl_binder *b, const tl_ast *at, const char *catalog, const char *connector, const char *source, const char *target,
                                const tl_options *options)
{
    tl_catalog *own = NULL, *lake;
    tl_import_files files = {0};
    const char *dot = strchr(target, '.');
    if (strcasecmp(connector, "files") != 0)
        return BIND_ERROR(b, at, "there is no metastore to migrate '%s' tables from: connector => 'files' takes the folder of the table's files as source_table",
                          connector);
    const char *db = dot == NULL ? b->db : tl_arena_strndup(b->arena, target, (size_t)(dot - target));
    BIND_ALLOC(b, db);
    TL_TRY(lake_of(b, at, catalog, NULL, &own, &lake));
    TL_TRY(tl_import_find(tl_catalog_fs(lake), source, &files, b->err));
    tl_status status = migrate_into(b, lake, db, dot == NULL ? target : dot + 1, &files, options);
    tl_import_files_deinit(&files);
    return status;
}
