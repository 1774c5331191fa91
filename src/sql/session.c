/*
 * Sessions: settings, catalogs, and the tables and views that live in the session alone. Names of one to three parts are
 * completed with the current catalog and database; temporary objects hide those of a catalog.
 */
#include "sql/sql_private.h"

#include <strings.h>

#include "base/parse.h"

#define CATALOGS_MAX 1000
#define OBJECTS_MAX 100000

static void catalog_deinit(tl_sql_catalog *catalog)
{
    tl_free(catalog->name);
    tl_options_deinit(&catalog->options);
    tl_catalog_close(catalog->lake);
    tl_names_free(catalog->databases, catalog->n_databases);
    tl_free(catalog->current_db);
}

void tl_sql__object_free(tl_sql_object *object)
{
    if (object == NULL)
        return;
    for (int32_t i = 0; i < object->n_columns; i++)
        tl_type_unref(object->columns[i].type);
    tl_options_deinit(&object->options);
    tl_arena arena = object->arena; /* the object itself lies in it */
    tl_arena_deinit(&arena);
}

static tl_status append_name(char ***names, size_t *n, const char *name)
{
    char *copy = tl_strdup(name);
    char **grown = copy != NULL ? tl_realloc(*names, (*n + 1) * sizeof **names) : NULL;
    if (grown == NULL) {
        tl_free(copy);
        return TL_E_NOMEM;
    }
    *names = grown;
    grown[(*n)++] = copy;
    return TL_OK;
}

/**
 * The database of a lake that statements begin in, made if it is not there, as Paimon's catalog in Flink does. A warehouse that
 * cannot be written can still be read: then it stays away, and statements that name it say so.
 */
static tl_status default_database(tl_catalog *lake, const tl_options *options, const char **out, tl_error *err)
{
    const char *db = tl_options_get(options, "default-database"), *without = tl_options_get(options, "disable-create-table-in-default-db");
    *out = db != NULL ? db : "default";
    if (without != NULL && strcmp(without, "true") == 0)
        return TL_OK;
    tl_error ignored = {0};
    tl_status status = tl_catalog_create_database(lake, *out, /* if_not_exists= */ true, &ignored);
    return status == TL_E_NOMEM ? tl_nomem(err, "catalog") : TL_OK;
}

tl_status tl_sql__add_catalog(tl_sql_session *session, const char *name, tl_catalog *lake, const tl_options *options, tl_error *err)
{
    const char *db = TL_SQL_DEFAULT_DATABASE;
    if (lake != NULL)
        TL_TRY(default_database(lake, options, &db, err));
    if (session->n_catalogs >= CATALOGS_MAX)
        return tl_error_set(err, TL_E_LIMIT, "catalog '%s': there are %d already", name, CATALOGS_MAX);
    tl_sql_catalog *grown = tl_realloc(session->catalogs, (session->n_catalogs + 1) * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, "catalog");
    session->catalogs = grown;
    tl_sql_catalog *catalog = &grown[session->n_catalogs];
    *catalog = (tl_sql_catalog){.name = tl_strdup(name), .current_db = tl_strdup(db)};
    bool good = catalog->name != NULL && catalog->current_db != NULL;
    good = good && (options == NULL || tl_options_dup(options, &catalog->options) == TL_OK);
    good = good && (lake != NULL || append_name(&catalog->databases, &catalog->n_databases, TL_SQL_DEFAULT_DATABASE) == TL_OK);
    if (!good) {
        catalog_deinit(catalog);
        return tl_nomem(err, "catalog");
    }
    catalog->lake = lake;
    session->n_catalogs++;
    return TL_OK;
}

tl_status tl_sql_session_create(const tl_sql_session_options *options, tl_sql_session **out, tl_error *err)
{
    tl_sql_session *session = tl_calloc(1, sizeof *session);
    if (session == NULL)
        return tl_nomem(err, "session");
    session->clock = options->clock != NULL ? options->clock : tl_clock_system();
    session->pool = options->pool;
    session->current_catalog = tl_strdup(TL_SQL_DEFAULT_CATALOG);
    session->current_db = tl_strdup(TL_SQL_DEFAULT_DATABASE);
    tl_status status = session->current_catalog != NULL && session->current_db != NULL ? TL_OK : tl_nomem(err, "session");
    if (status == TL_OK && options->fs != NULL)
        session->fs = tl_fs_ref(options->fs);
    else if (status == TL_OK)
        status = tl_fs_local(&session->fs, err);
    if (status == TL_OK)
        status = tl_sql__add_catalog(session, TL_SQL_DEFAULT_CATALOG, NULL, NULL, err);
    if (status == TL_OK)
        status = tl_sql_session_set(session, "execution.runtime-mode", options->streaming ? "streaming" : "batch", err);
    if (status != TL_OK) {
        tl_sql_session_free(session);
        return status;
    }
    *out = session;
    return TL_OK;
}

void tl_sql_session_free(tl_sql_session *session)
{
    if (session == NULL)
        return;
    tl_duck_close(session->duck);
    for (size_t i = 0; i < session->n_objects; i++)
        tl_sql__object_free(session->objects[i]);
    tl_free(session->objects);
    for (size_t i = 0; i < session->n_catalogs; i++)
        catalog_deinit(&session->catalogs[i]);
    tl_free(session->catalogs);
    tl_options_deinit(&session->settings);
    tl_free(session->current_catalog);
    tl_free(session->current_db);
    tl_fs_unref(session->fs);
    tl_free(session);
}

tl_status tl_sql__add_memory_database(tl_sql_catalog *catalog, const char *db, tl_error *err)
{
    return append_name(&catalog->databases, &catalog->n_databases, db) == TL_OK ? TL_OK : tl_nomem(err, "database");
}

void tl_sql__remove_memory_database(tl_sql_catalog *catalog, const char *db)
{
    size_t n = 0;
    for (size_t i = 0; i < catalog->n_databases; i++) {
        if (strcmp(catalog->databases[i], db) == 0)
            tl_free(catalog->databases[i]);
        else
            catalog->databases[n++] = catalog->databases[i];
    }
    catalog->n_databases = n;
}

void tl_sql__remove_catalog(tl_sql_session *session, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < session->n_catalogs; i++) {
        if (strcmp(session->catalogs[i].name, name) == 0)
            catalog_deinit(&session->catalogs[i]);
        else
            session->catalogs[n++] = session->catalogs[i];
    }
    session->n_catalogs = n;
}

/* ---- settings ---- */

const char *tl_sql_session_get(const tl_sql_session *session, const char *key)
{
    return tl_options_get(&session->settings, key);
}

static tl_status check_setting(const char *key, const char *value, const tl_tz **zone, tl_error *err)
{
    if (strcmp(key, "execution.runtime-mode") == 0 && strcasecmp(value, "batch") != 0 && strcasecmp(value, "streaming") != 0)
        return tl_error_set(err, TL_E_INVALID, "'%s' is no value of '%s': it is 'batch' or 'streaming'", value, key);
    bool ignored;
    if (strcmp(key, "table.dml-sync") == 0)
        return tl_error_wrap(err, tl_parse_bool(value, &ignored, err), "'%s'", key);
    if (strcmp(key, "table.local-time-zone") == 0) {
        tl_bytes_view name = {(const uint8_t *)value, strlen(value)};
        if (strcmp(value, "default") == 0)
            *zone = NULL;
        else
            return tl_error_wrap(err, tl_tz_find(name, zone, err), "'%s'", key);
    }
    return TL_OK;
}

tl_status tl_sql_session_set(tl_sql_session *session, const char *key, const char *value, tl_error *err)
{
    const tl_tz *zone = session->zone;
    if (value == NULL) {
        tl_options_remove(&session->settings, key);
        if (strcmp(key, "table.local-time-zone") == 0)
            session->zone = NULL;
        return TL_OK;
    }
    TL_TRY(check_setting(key, value, &zone, err));
    if (tl_options_set(&session->settings, key, value) != TL_OK)
        return tl_nomem(err, "setting");
    session->zone = zone;
    return TL_OK;
}

bool tl_sql__bool_setting(const tl_sql_session *session, const char *key, bool or_else)
{
    const char *value = tl_sql_session_get(session, key);
    bool parsed;
    return value != NULL && tl_parse_bool(value, &parsed, NULL) == TL_OK ? parsed : or_else;
}

bool tl_sql__is_streaming(const tl_sql_session *session)
{
    const char *mode = tl_sql_session_get(session, "execution.runtime-mode");
    return mode == NULL || strcasecmp(mode, "batch") != 0; /* Flink's own default */
}

tl_fs *tl_sql_session_fs(const tl_sql_session *session)
{
    return session->fs;
}

tl_sql_env tl_sql_session_env(const tl_sql_session *session)
{
    return (tl_sql_env){.clock = session->clock, .zone = session->zone};
}

/* ---- catalogs and names ---- */

tl_sql_catalog *tl_sql__catalog(const tl_sql_session *session, const char *name)
{
    for (size_t i = 0; i < session->n_catalogs; i++)
        if (strcmp(session->catalogs[i].name, name) == 0)
            return &session->catalogs[i];
    return NULL;
}

bool tl_sql__has_database(tl_sql_session *session, const tl_sql_catalog *catalog, const char *db, tl_status *status, tl_error *err)
{
    (void)session;
    char **names = catalog->databases;
    size_t n = catalog->n_databases;
    *status = TL_OK;
    if (catalog->lake != NULL && tl_catalog_is_system(db)) /* in use, though not listed */
        return true;
    if (catalog->lake != NULL)
        *status = tl_catalog_list_databases(catalog->lake, &names, &n, err);
    bool found = false;
    for (size_t i = 0; *status == TL_OK && !found && i < n; i++)
        found = strcmp(names[i], db) == 0;
    if (catalog->lake != NULL && *status == TL_OK)
        tl_names_free(names, n);
    return found;
}

static tl_status set_current(tl_sql_session *session, const char *catalog, const char *db, tl_error *err)
{
    char *c = tl_strdup(catalog), *d = tl_strdup(db);
    if (c == NULL || d == NULL) {
        tl_free(c);
        tl_free(d);
        return tl_nomem(err, "session");
    }
    tl_free(session->current_catalog);
    tl_free(session->current_db);
    session->current_catalog = c;
    session->current_db = d;
    return TL_OK;
}

tl_status tl_sql__use_catalog(tl_sql_session *session, const char *name, tl_error *err)
{
    const tl_sql_catalog *catalog = tl_sql__catalog(session, name);
    if (catalog == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "a catalog with name [%s] does not exist", name);
    return set_current(session, name, catalog->current_db, err);
}

tl_status tl_sql__use_database(tl_sql_session *session, const char *catalog_name, const char *db, tl_error *err)
{
    const tl_sql_catalog *catalog = tl_sql__catalog(session, catalog_name);
    if (catalog == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "a catalog with name [%s] does not exist", catalog_name);
    tl_status status;
    if (!tl_sql__has_database(session, catalog, db, &status, err))
        return status != TL_OK ? status : tl_error_set(err, TL_E_NOT_FOUND, "a database with name [%s] does not exist in the catalog: [%s]", db, catalog_name);
    return set_current(session, catalog_name, db, err);
}

tl_status tl_sql_session_use_warehouse(tl_sql_session *session, const char *catalog, const char *warehouse, const char *db, tl_error *err)
{
    tl_catalog *lake = NULL;
    TL_TRY(tl_catalog_open(session->fs, warehouse, &lake, err));
    tl_options options = {0};
    tl_status status = TL_OK;
    if (tl_options_set(&options, "type", "paimon") != TL_OK || tl_options_set(&options, "warehouse", warehouse) != TL_OK)
        status = tl_nomem(err, "catalog");
    if (status == TL_OK)
        status = tl_sql__add_catalog(session, catalog, lake, &options, err);
    tl_options_deinit(&options);
    if (status != TL_OK) {
        tl_catalog_close(lake);
        return status;
    }
    return set_current(session, catalog, db != NULL ? db : "default", err);
}

tl_status tl_sql__path(tl_sql_session *session, tl_arena *arena, const tl_ast *name, tl_sql_path *out, tl_error *err)
{
    if (name->count > 3)
        return TL_AST_ERROR(err, TL_E_INVALID, name, "a table's name has at most three parts: catalog.database.table");
    const tl_ast *ids[3] = {NULL, NULL, NULL};
    int n = 0;
    for (const tl_ast *id = tl_ast_first(name); id != NULL; id = id->next)
        ids[n++] = id;
    out->name = ids[n - 1]->text;
    out->db = n >= 2 ? ids[n - 2]->text : tl_arena_strdup(arena, session->current_db);
    out->catalog = n == 3 ? ids[0]->text : tl_arena_strdup(arena, session->current_catalog);
    if (out->db == NULL || out->catalog == NULL)
        return tl_nomem(err, "name");
    if (tl_sql__catalog(session, out->catalog) == NULL)
        return TL_AST_ERROR(err, TL_E_NOT_FOUND, name, "a catalog with name [%s] does not exist", out->catalog);
    return TL_OK;
}

/* ---- objects ---- */

static bool is_named(const tl_sql_object *object, const tl_sql_path *path)
{
    return strcmp(object->name, path->name) == 0 && strcmp(object->db, path->db) == 0 && strcmp(object->catalog, path->catalog) == 0;
}

tl_sql_object *tl_sql__object(const tl_sql_session *session, const tl_sql_path *path)
{
    tl_sql_object *found = NULL;
    for (size_t i = 0; i < session->n_objects; i++)
        if (is_named(session->objects[i], path) && (found == NULL || session->objects[i]->temporary))
            found = session->objects[i];
    return found;
}

tl_status tl_sql__add_object(tl_sql_session *session, tl_sql_object *object, bool if_not_exists, tl_error *err)
{
    const tl_sql_path path = {object->catalog, object->db, object->name};
    for (size_t i = 0; i < session->n_objects; i++) {
        if (!is_named(session->objects[i], &path) || session->objects[i]->temporary != object->temporary)
            continue;
        tl_status status = TL_OK;
        if (!if_not_exists)
            status = object->temporary ? tl_error_set(err, TL_E_EXISTS, "temporary table '`%s`.`%s`.`%s`' already exists", path.catalog, path.db, path.name)
                                       : tl_error_set(err, TL_E_EXISTS, "table (or view) %s.%s already exists in Catalog %s.", path.db, path.name, path.catalog);
        tl_sql__object_free(object);
        return status;
    }
    tl_sql_object **grown =
        session->n_objects < OBJECTS_MAX ? tl_realloc(session->objects, (session->n_objects + 1) * sizeof *grown) : NULL;
    if (grown == NULL) {
        tl_sql__object_free(object);
        return tl_nomem(err, "session");
    }
    session->objects = grown;
    grown[session->n_objects++] = object;
    return TL_OK;
}

void tl_sql__swap_object(tl_sql_session *session, tl_sql_object *object, tl_sql_object *fresh)
{
    for (size_t i = 0; i < session->n_objects; i++)
        if (session->objects[i] == object)
            session->objects[i] = fresh;
    tl_sql__object_free(object);
}

void tl_sql__remove_object(tl_sql_session *session, tl_sql_object *object)
{
    size_t n = 0;
    for (size_t i = 0; i < session->n_objects; i++)
        if (session->objects[i] != object)
            session->objects[n++] = session->objects[i];
    session->n_objects = n;
    tl_sql__object_free(object);
}
