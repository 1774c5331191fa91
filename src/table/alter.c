/*
 * Changing a table: options, comments and columns become a new schema. Source: format reference §2 "Evolution"; Java:
 * SchemaManager.generateTableSchema, commitChanges. The rules of columns are in alter_columns.c.
 */
#include "table/alter_private.h"

#include <strings.h>

#include "base/parse.h"

/* Publishing loses to another change of the same table at most this often in a row; then something else is wrong. */
#define ALTER_RETRIES_MAX 100

/* ---- options ---- */

static tl_status check_set(const tl_options *stored, const char *key, const char *value, tl_error *err)
{
    const char *old = tl_options_get(stored, key);
    if (strcmp(key, "bucket") == 0) {
        int64_t before = -1, after = 0;
        if (old != NULL)
            TL_TRY(tl_error_wrap(err, tl_parse_int(old, INT32_MIN, INT32_MAX, &before, err), "option 'bucket'"));
        TL_TRY(tl_error_wrap(err, tl_parse_int(value, INT32_MIN, INT32_MAX, &after, err), "option 'bucket'"));
        if (before == -1)
            return tl_error_set(err, TL_E_INVALID, "Cannot change bucket when it is -1.");
        if (after == -1)
            return tl_error_set(err, TL_E_INVALID, "Cannot change bucket to -1.");
        return TL_OK;
    }
    bool before = old != NULL && strcasecmp(old, "true") == 0;
    bool after = strcasecmp(value, "true") == 0;
    if (strcmp(key, "deletion-vectors.enabled") == 0 && before != after && !tl_table__option_bool(stored, "deletion-vectors.modifiable"))
        return tl_error_set(err, TL_E_INVALID,
                            "Cannot change deletion vectors mode from %s to %s. If modifying table deletion-vectors mode without "
                            "full-compaction, this may result in data duplication. If you are confident, you can set table option "
                            "'deletion-vectors.modifiable' = 'true' to allow deletion vectors modification.",
                            before ? "true" : "false", after ? "true" : "false");
    if ((strcmp(key, "ignore-delete") == 0 || strcmp(key, "ignore-update-before") == 0) && before && !after)
        return tl_error_set(err, TL_E_INVALID, "Cannot change %s from true to false.", key);
    if (strcmp(key, "clustering.columns") == 0 && tl_options_get(stored, "pk-clustering-override") != NULL)
        return tl_error_set(err, TL_E_INVALID, "Cannot change clustering.columns when pk-clustering-override enabled.");
    return TL_OK;
}

tl_status tl_table__check_option_change(const tl_options *stored, const char *key, const char *value, tl_error *err)
{
    const tl_option_def *def = tl_option_find(key);
    if (def != NULL && def->immutable)
        return tl_error_set(err, TL_E_INVALID, "Change '%s' is not supported yet.", key);
    if (value != NULL)
        return check_set(stored, key, value, err);
    if (strcmp(key, "bucket") == 0)
        return tl_error_set(err, TL_E_INVALID, "Cannot reset bucket.");
    if (def != NULL && def->default_value != NULL && strcmp(def->type, "boolean") == 0) /* resetting it is setting it to its default */
        return check_set(stored, key, def->default_value, err);
    if (strcmp(key, "clustering.columns") == 0 && tl_options_get(stored, "pk-clustering-override") != NULL)
        return tl_error_set(err, TL_E_INVALID, "Cannot reset clustering.columns when pk-clustering-override enabled.");
    return TL_OK;
}

static tl_status change_option(tl_altering *a, const tl_alter *change, tl_error *err)
{
    if (change->name == NULL || *change->name == '\0')
        return tl_error_set(err, TL_E_INVALID, "an option's key is missing");
    bool set = change->kind == TL_ALTER_SET_OPTION;
    if (set && change->value == NULL)
        return tl_error_set(err, TL_E_INVALID, "option '%s' is set to nothing", change->name);
    if (strcasecmp(change->name, "path") == 0)
        return tl_error_set(err, TL_E_INVALID, "Change path is not supported yet.");
    if (strcmp(change->name, TL_BLOB_PATHS_OPTION) == 0)
        return tl_error_set(err, TL_E_INVALID, "option '" TL_BLOB_PATHS_OPTION "' is for a command or a query, a table cannot keep it");
    if (strcasecmp(change->name, "type") == 0) /* what is there would be lost from sight */
        return tl_error_set(err, TL_E_INVALID, "Change type is not supported yet.");
    if (a->has_snapshots)
        TL_TRY(tl_table__check_option_change(&a->old->options, change->name, set ? change->value : NULL, err));
    if (!set)
        tl_options_remove(&a->fresh->options, change->name);
    else if (tl_options_set(&a->fresh->options, change->name, change->value) != TL_OK)
        return tl_nomem(err, "options");
    return TL_OK;
}

static tl_status change_comment(tl_altering *a, const tl_alter *change, tl_error *err)
{
    tl_free(a->fresh->comment);
    a->fresh->comment = NULL;
    if (change->value == NULL)
        return TL_OK;
    a->fresh->comment = tl_strdup(change->value);
    return a->fresh->comment == NULL ? tl_nomem(err, "comment") : TL_OK;
}

static tl_status drop_primary_key(tl_altering *a, tl_error *err)
{
    if (a->has_snapshots)
        return tl_error_set(err, TL_E_UNSUPPORTED, "Cannot drop primary keys on a non-empty table.");
    tl_names_free(a->fresh->primary_keys, (size_t)a->fresh->n_primary_keys);
    a->fresh->primary_keys = NULL;
    a->fresh->n_primary_keys = 0;
    return TL_OK;
}

/* ---- all changes ---- */

static tl_status apply(tl_altering *a, const tl_alter *change, tl_error *err)
{
    switch (change->kind) {
    case TL_ALTER_SET_OPTION:
    case TL_ALTER_RESET_OPTION:
        return change_option(a, change, err);
    case TL_ALTER_COMMENT:
        return change_comment(a, change, err);
    case TL_ALTER_DROP_PRIMARY_KEY:
        return drop_primary_key(a, err);
    default:
        return tl_alter__column(a, change, err);
    }
}

static tl_status new_schema(tl_altering *a, const tl_alter *changes, size_t n, tl_error *err)
{
    for (size_t i = 0; i < n; i++)
        TL_TRY(apply(a, &changes[i], err));
    TL_TRY(tl_alter__renames(a, changes, n, err));
    a->fresh->id = a->old->id + 1;
    a->fresh->time_ms = tl_clock_now_ms(tl_clock_system());
    TL_TRY(tl_table__normalize(a->fresh, err));
    TL_TRY(tl_table__check_new(a->fresh, err));
    return tl_table__validate(a->fresh, err);
}

static tl_status alter_once(tl_fs *fs, const tl_paths *paths, const char *full_name, const tl_alter *changes, size_t n, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *old = NULL;
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *fresh = NULL;
    int64_t latest = 0;
    tl_status status = tl_schema_latest(fs, paths, &old, err);
    if (status == TL_E_NOT_FOUND)
        return tl_error_set(err, TL_E_NOT_FOUND, "table %s does not exist", full_name);
    TL_TRY(status);
    TL_TRY(tl_snapshot_latest_id(fs, paths, &latest, err));
    TL_TRY(tl_table__schema_dup(old, &fresh, err));
    tl_altering a = {.old = old, .fresh = fresh, .has_snapshots = latest > 0, .table_name = full_name};
    TL_TRY(new_schema(&a, changes, n, err));
    return tl_schema_publish(fs, paths, fresh, err);
}

tl_status tl_table_alter(tl_catalog *catalog, const char *db, const char *name, const tl_alter *changes, size_t n, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *table = NULL;
    TL_CLEANUP(tl_freep) char *branch = NULL;
    TL_CLEANUP(tl_freep) char *system = NULL;
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tl_table__split_name(name, &table, &branch, &system, err));
    TL_CLEANUP(tl_freep) char *full_name = tl_strf("%s.%s", db, name);
    if (full_name == NULL)
        return tl_nomem(err, "table name");
    if (system != NULL)
        return tl_error_set(err, TL_E_INVALID, "%s is no table that can be altered", full_name);
    TL_TRY(tl_catalog_table_path(catalog, db, table, &path, err));
    tl_paths paths = {.table = path, .branch = branch != NULL && strcmp(branch, "main") != 0 ? branch : NULL};
    tl_status status = TL_E_CONFLICT;
    for (int i = 0; i < ALTER_RETRIES_MAX && status == TL_E_CONFLICT; i++)
        status = alter_once(tl_catalog_fs(catalog), &paths, full_name, changes, n, err);
    return status;
}
