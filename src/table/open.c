/*
 * Opening a table: its name (`t`, `t$audit_log`, `t$branch_b$files`), its schema with dynamic options laid over, what it needs
 * that is not there, and the configuration of its buckets.
 */
#include "table/chain.h"
#include "table/format_table.h"

#include <stdlib.h>
#include <strings.h>

tl_status tl_table__split_name(const char *object, char **table, char **branch, char **system, tl_error *err)
{
    *table = *branch = *system = NULL;
    const char *dollar = strchr(object, '$');
    *table = dollar == NULL ? tl_strdup(object) : tl_strndup(object, (size_t)(dollar - object));
    if (*table == NULL)
        return tl_nomem(err, "table name");
    if (dollar == NULL)
        return TL_OK;
    const char *rest = dollar + 1;
    if (strncmp(rest, "branch_", 7) == 0) {
        const char *end = strchr(rest, '$');
        *branch = end == NULL ? tl_strdup(rest + 7) : tl_strndup(rest + 7, (size_t)(end - rest - 7));
        if (*branch == NULL)
            return tl_nomem(err, "branch name");
        if (!tl_path_is_name((tl_bytes_view){(const uint8_t *)*branch, strlen(*branch)}))
            return tl_error_set(err, TL_E_INVALID, "table name '%s': '%s' is no name of a branch", object, *branch);
        if (end == NULL)
            return TL_OK;
        rest = end + 1;
    }
    if (*rest == '\0' || strchr(rest, '$') != NULL)
        return tl_error_set(err, TL_E_INVALID, "table name '%s': a name is TABLE, TABLE$SYSTEM, TABLE$branch_B or TABLE$branch_B$SYSTEM",
                            object);
    *system = tl_strdup(rest);
    return *system == NULL ? tl_nomem(err, "system table name") : TL_OK;
}

const char *tl_table__full_name(const tl_table *table, char out[256])
{
    bool system = table->system != NULL && !tl_catalog_is_system(table->db);
    int n = snprintf(out, 256, "%s.%s%s%s", table->db, table->name, system ? "$" : "", system ? table->system->name : "");
    (void)n; /* cut names are fine in a message */
    return out;
}

/* ---- options and schema of this handle ---- */

/* What the reference checks when dynamic options are laid over a table (AbstractFileStoreTable.checkImmutability). */
static tl_status check_dynamic(const tl_table_schema *schema, const tl_options *dynamic, tl_error *err)
{
    for (size_t i = 0; dynamic != NULL && i < dynamic->count; i++) {
        const char *old = tl_options_get(&schema->options, dynamic->keys[i]);
        if (old != NULL && strcmp(old, dynamic->values[i]) == 0)
            continue;
        TL_TRY(tl_table__check_option_change(&schema->options, dynamic->keys[i], dynamic->values[i], err));
    }
    return TL_OK;
}

static tl_status lay_over(tl_table_schema *schema, const tl_options *dynamic, tl_error *err)
{
    tl_options_remove(&schema->options, TL_BLOB_PATHS_OPTION); /* a table does not say what its readers' files are for */
    for (size_t i = 0; dynamic != NULL && i < dynamic->count; i++) {
        if (tl_options_set(&schema->options, dynamic->keys[i], dynamic->values[i]) != TL_OK)
            return tl_nomem(err, "options");
    }
    if (tl_table__canonical_options(&schema->options) != TL_OK)
        return tl_nomem(err, "options");
    return tl_table__default_scan_mode(&schema->options, err);
}

/* The schema of the snapshot that the options travel to, with this handle's options; the given one if they do not travel. */
static tl_status travel_schema(tl_table *table, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    /* Here the reference passes over any failure, and reports it when the read is planned. */
    tl_status status = tl_table__travel(table->fs, &table->paths, &table->schema->options, &snap, /* err= */ NULL);
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "time travel");
    if (status != TL_OK)
        return TL_OK;
    table->travelled = snap != NULL;
    if (snap == NULL || snap->schema_id == table->schema->id)
        return TL_OK;
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *old = NULL;
    TL_TRY(tl_schema_read(table->fs, &table->paths, snap->schema_id, &old, err));
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *mine = NULL;
    TL_TRY(tl_table__schema_dup(old, &mine, err));
    tl_options_deinit(&mine->options);
    if (tl_options_dup(&table->schema->options, &mine->options) != TL_OK)
        return tl_nomem(err, "options");
    tl_table_schema_unref(table->schema);
    table->schema = TL_STEAL(mine);
    return TL_OK;
}

static tl_status load_schema(tl_table *table, const tl_options *dynamic, bool travel, bool forced, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *latest = NULL;
    tl_status status = tl_schema_latest(table->fs, &table->paths, &latest, err);
    if (status == TL_E_NOT_FOUND)
        return tl_error_set(err, TL_E_NOT_FOUND, "table %s.%s%s%s does not exist", table->db, table->name,
                            table->branch == NULL ? "" : "$branch_", table->branch == NULL ? "" : table->branch);
    TL_TRY(status);
    if (!forced)
        TL_TRY(check_dynamic(latest, dynamic, err));
    TL_TRY(tl_table__schema_dup(latest, &table->schema, err));
    TL_TRY(lay_over(table->schema, dynamic, err));
    if (travel)
        TL_TRY(travel_schema(table, err));
    if (!forced && dynamic != NULL && dynamic->count > 0)
        TL_TRY(tl_table__validate(table->schema, err));
    return TL_OK;
}

/* ---- what follows from the schema ---- */

static tl_status column_indices(const tl_table_schema *schema, char *const *names, int32_t n, int32_t **out, tl_error *err)
{
    *out = tl_calloc((size_t)n, sizeof **out);
    if (*out == NULL)
        return tl_nomem(err, "columns");
    for (int32_t i = 0; i < n; i++) {
        (*out)[i] = tl_type_field_index(schema->row_type, names[i]);
        if ((*out)[i] < 0)
            return tl_error_set(err, TL_E_CORRUPT, "schema %lld: column '%s' of a key does not exist", (long long)schema->id, names[i]);
    }
    return TL_OK;
}

static tl_status derive_keys(tl_table *table, tl_error *err)
{
    const tl_table_schema *schema = table->schema;
    table->n_partition = schema->n_partition_keys;
    TL_TRY(column_indices(schema, schema->partition_keys, table->n_partition, &table->partition_idx, err));
    TL_TRY(tl_type_project(schema->row_type, table->partition_idx, table->n_partition, &table->partition_type, err));
    table->key_idx = tl_calloc((size_t)schema->n_primary_keys, sizeof *table->key_idx);
    if (table->key_idx == NULL)
        return tl_nomem(err, "columns");
    table->n_keys = tl_table_schema_trimmed_keys(schema, table->key_idx);
    const char *bucket_key = tl_options_get(&schema->options, "bucket-key");
    if (bucket_key != NULL && bucket_key[strspn(bucket_key, " \t")] != '\0') {
        char **names = NULL;
        size_t n = 0;
        TL_TRY(tl_table__split_list(bucket_key, /* trim= */ false, &names, &n, err));
        table->n_bucket_keys = (int32_t)n;
        tl_status status = column_indices(schema, names, (int32_t)n, &table->bucket_idx, err);
        tl_names_free(names, n);
        return status;
    }
    table->n_bucket_keys = table->n_keys;
    table->bucket_idx = tl_memdup(table->key_idx, (size_t)table->n_keys * sizeof *table->key_idx);
    return table->bucket_idx == NULL ? tl_nomem(err, "columns") : TL_OK;
}

/* Whether some partition column is missing in the primary key. */
static bool lacks_partition(const tl_table_schema *schema)
{
    bool lacks = false;
    for (int32_t i = 0; i < schema->n_partition_keys; i++) {
        bool in_key = false;
        for (int32_t k = 0; k < schema->n_primary_keys; k++)
            in_key |= strcmp(schema->partition_keys[i], schema->primary_keys[k]) == 0;
        lacks |= !in_key;
    }
    return lacks;
}

static tl_status derive_buckets(tl_table *table, tl_error *err)
{
    int64_t n = 0;
    TL_TRY(tl_table__option_int(&table->schema->options, "bucket", -1, &n, err));
    if (n < -2 || n > INT32_MAX)
        return tl_error_set(err, TL_E_INVALID, "option 'bucket': %lld is out of range", (long long)n);
    table->n_buckets = (int32_t)n;
    bool keyed = table->schema->n_primary_keys > 0;
    if (n > 0)
        table->bucket_mode = TL_BUCKETS_FIXED;
    else if (n == -2)
        table->bucket_mode = TL_BUCKETS_POSTPONE;
    else
        table->bucket_mode = keyed ? TL_BUCKETS_DYNAMIC : TL_BUCKETS_UNAWARE;
    table->spans_partitions = table->bucket_mode == TL_BUCKETS_DYNAMIC && lacks_partition(table->schema);
    const char *fn = tl_table__option_or_default(&table->schema->options, "bucket-function.type");
    if (strcasecmp(fn, "default") == 0)
        table->bucket_function = TL_BUCKET_DEFAULT;
    else if (strcasecmp(fn, "mod") == 0)
        table->bucket_function = TL_BUCKET_MOD;
    else if (strcasecmp(fn, "hive") == 0)
        table->bucket_function = TL_BUCKET_HIVE;
    else
        return tl_error_set(err, TL_E_INVALID, "option 'bucket-function.type': '%s' is none of default, mod, hive", fn);
    return TL_OK;
}

/* Features that options name and that are not there; each with its name, so that the user knows what to wait for. */
static tl_status refuse_features(const tl_table *table, tl_error *err)
{
    char name[256];
    tl_table__full_name(table, name);
    const tl_options *opts = &table->schema->options;
    return tl_error_wrap(err, tl_table__refuse_options(opts, err), "table %s", name);
}

tl_status tl_table__check_writable(const tl_table *table, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    char name[256];
    if (tl_chain__role(table) == TL_CHAIN_UNFINISHED) /* the reference's commits fail then */
        return tl_error_set(err, TL_E_INVALID,
                            "table %s: a chain table is written when its options 'scan.fallback-snapshot-branch' and 'scan.fallback-delta-branch' name "
                            "its branches, in the table and in both of them",
                            tl_table__full_name(table, name));
    const char *format = tl_table__option_or_default(opts, "file.format");
    const char *compression = tl_table__option_or_default(opts, "file.compression");
    if (strcasecmp(format, "parquet") == 0 && strcasecmp(compression, "lz4") == 0)
        return tl_error_set(err, TL_E_UNSUPPORTED,
                            "table %s: Parquet with 'file.compression' = 'lz4' needs a native library in the reference and cannot be read by "
                            "it: use lz4_raw",
                            tl_table__full_name(table, name));
    return tl_table__check_manifest_format(table, err);
}

static tl_status derive_reading(tl_table *table, tl_error *err)
{
    if (table->system == NULL || tl_system__is(table, "ro")) {
        table->row_type = tl_type_ref(table->schema->row_type);
        return TL_OK;
    }
    if (tl_table__is_tracking(table)) {
        if (!table->config->row_tracking)
            return tl_error_set(err, TL_E_INVALID,
                                "Table %s does not support row tracking, please enable 'row-tracking.enabled' option to use 'with_metadata' "
                                "table.",
                                table->name);
        table->row_type = tl_type_ref(table->config->read_type);
        return TL_OK;
    }
    if (table->system->columns != NULL) {
        tl_bytes_view text = {(const uint8_t *)table->system->columns, strlen(table->system->columns)};
        return tl_type_parse(text, &table->row_type, err);
    }
    return tl_system__row_type(table->system, table->schema->row_type, &table->schema->options, &table->row_type, err);
}

/* A table of the database `sys`: it has columns and nothing else. */
static tl_status open_global(tl_table *table, const char *name, tl_error *err)
{
    table->system = tl_system__find_global(name);
    if (table->system == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "table sys.%s does not exist", name);
    table->db = tl_strdup("sys");
    table->name = tl_strdup(table->system->name);
    if (table->db == NULL || table->name == NULL)
        return tl_nomem(err, "table");
    TL_TRY(tl_catalog_table_path(table->catalog, table->db, table->name, &table->path, err));
    table->paths = (tl_paths){.table = table->path, .branch = NULL};
    TL_TRY(derive_reading(table, err));
    const tl_table_schema columns = {.row_type = table->row_type};
    TL_TRY(tl_table__schema_dup(&columns, &table->schema, err));
    TL_TRY(derive_keys(table, err));
    return derive_buckets(table, err);
}

/* Files and nothing else: hardly any system table, no branches, nothing that a stream could follow. */
static tl_status open_format_table(tl_table *table, bool streaming, tl_error *err)
{
    char name[256];
    tl_table__full_name(table, name);
    bool known = tl_system__is(table, "options") || tl_system__is(table, "schemas") || tl_system__is(table, "partitions");
    if (table->branch != NULL)
        return tl_error_set(err, TL_E_INVALID, "%s: a format table has no branches", name);
    if (table->system != NULL && !known)
        return tl_error_set(err, TL_E_INVALID, "%s: a format table has no snapshots, and so no system tables but $options, $schemas and $partitions",
                            name);
    if (streaming)
        return tl_error_set(err, TL_E_UNSUPPORTED, "%s: Format Table does not support stream scan (it can be read in batch)", name);
    return tl_error_wrap(err, tl_format_table__open(table, err), "table %s", name);
}

/* The branch that a command or a query names by an option instead of by the table's name; NULL in *out: none. */
static tl_status branch_option(const tl_options *dynamic, char **out, tl_error *err)
{
    const char *branch = dynamic == NULL ? NULL : tl_options_get(dynamic, "branch");
    if (branch == NULL)
        return TL_OK;
    if (!tl_path_is_name((tl_bytes_view){(const uint8_t *)branch, strlen(branch)}))
        return tl_error_set(err, TL_E_INVALID, "option 'branch': '%s' is no name of a branch", branch);
    *out = tl_strdup(branch);
    return *out == NULL ? tl_nomem(err, "branch name") : TL_OK;
}

/* A name and an option that mean two branches, or a table that keeps the option, would be read as what the user does not expect. */
static tl_status check_branch(const tl_table *table, tl_error *err)
{
    const char *option = tl_options_get(&table->schema->options, "branch");
    const char *own = table->branch == NULL ? "main" : table->branch;
    if (option == NULL || strcmp(option, own) == 0)
        return TL_OK;
    char name[256];
    return tl_error_set(err, TL_E_INVALID, "table %s: option 'branch' = '%s' names another branch than the table's name, '%s'",
                        tl_table__full_name(table, name), option, own);
}

static tl_status open_parts(tl_table *table, tl_catalog *catalog, const char *db, const char *object, const tl_options *dynamic,
                            bool streaming, bool forced, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *branch = NULL;
    TL_CLEANUP(tl_freep) char *system = NULL;
    if (tl_catalog_is_system(db))
        return open_global(table, object, err);
    TL_TRY(tl_table__split_name(object, &table->name, &branch, &system, err));
    table->db = tl_strdup(db);
    if (table->db == NULL)
        return tl_nomem(err, "database name");
    TL_TRY(tl_catalog_table_path(catalog, db, table->name, &table->path, err));
    table->paths = (tl_paths){.table = table->path, .branch = NULL};
    if (branch == NULL)
        TL_TRY(branch_option(dynamic, &branch, err));
    if (branch != NULL && strcmp(branch, "main") != 0) {
        table->branch = TL_STEAL(branch);
        table->paths.branch = table->branch;
    }
    if (system != NULL) {
        table->system = tl_system__find(system);
        if (table->system == NULL)
            return tl_error_set(err, TL_E_NOT_FOUND, "table %s.%s has no system table '%s'", db, table->name, system);
    }
    /* System tables travel also when they are followed, as in the reference. */
    TL_TRY(load_schema(table, dynamic, !streaming || table->system != NULL, forced, err));
    TL_TRY(check_branch(table, err));
    TL_TRY(derive_keys(table, err));
    TL_TRY(derive_buckets(table, err));
    bool metadata_only = table->system != NULL && table->system->rows != NULL;
    if (!metadata_only) {
        TL_TRY(refuse_features(table, err));
        TL_TRY(tl_lsm_config_create(table->fs, &table->paths, table->schema, &table->config, err));
        table->config->old_schema = table->travelled;
    }
    if (tl_format_table__asked(&table->schema->options))
        TL_TRY(open_format_table(table, streaming, err));
    return derive_reading(table, err);
}

static tl_status open_table(tl_catalog *catalog, const char *db, const char *name, const tl_options *dynamic, bool streaming, bool forced,
                            tl_table **out, tl_error *err)
{
    TL_CLEANUP(tl_table_freep) tl_table *table = tl_calloc(1, sizeof *table);
    if (table == NULL)
        return tl_nomem(err, "table");
    pthread_mutex_init(&table->lock, NULL);
    table->catalog = catalog;
    table->fs = tl_fs_ref(tl_catalog_fs(catalog));
    table->last_identifier = INT64_MIN;
    TL_TRY(open_parts(table, catalog, db, name, dynamic, streaming, forced, err));
    *out = TL_STEAL(table);
    return TL_OK;
}

tl_status tl_table__open_one(tl_catalog *catalog, const char *db, const char *name, const tl_options *dynamic, tl_table **out, tl_error *err)
{
    return open_table(catalog, db, name, dynamic, /* streaming= */ false, /* forced= */ false, out, err);
}

tl_status tl_table_open(tl_catalog *catalog, const char *db, const char *name, const tl_options *dynamic, tl_table **out, tl_error *err)
{
    TL_CLEANUP(tl_table_freep) tl_table *table = NULL;
    TL_TRY(tl_table__open_one(catalog, db, name, dynamic, &table, err));
    if (table->config != NULL || tl_system__is(table, "partitions")) { /* other metadata is that of the table's own branch */
        char full[256];
        TL_TRY(tl_error_wrap(err, tl_table__open_other_branch(table, dynamic, err), "table %s", tl_table__full_name(table, full)));
    }
    *out = TL_STEAL(table);
    return TL_OK;
}

tl_status tl_table_open_streaming(tl_catalog *catalog, const char *db, const char *name, const tl_options *dynamic, tl_table **out,
                                  tl_error *err)
{
    return open_table(catalog, db, name, dynamic, /* streaming= */ true, /* forced= */ false, out, err);
}

tl_status tl_table__reopen(tl_table *table, const tl_options *forced, tl_table **out, tl_error *err)
{
    tl_options options = {0};
    TL_CLEANUP(tl_freep) char *name = table->branch == NULL ? tl_strdup(table->name) : tl_strf("%s$branch_%s", table->name, table->branch);
    tl_status status = name == NULL ? TL_E_NOMEM : tl_options_dup(&table->schema->options, &options);
    for (size_t i = 0; i < forced->count && status == TL_OK; i++)
        status = tl_options_set(&options, forced->keys[i], forced->values[i]);
    if (status != TL_OK)
        status = tl_nomem(err, "options");
    else
        status = open_table(table->catalog, table->db, name, &options, /* streaming= */ false, /* forced= */ true, out, err);
    tl_options_deinit(&options);
    return status;
}

void tl_table_free(tl_table *table)
{
    if (table == NULL)
        return;
    tl_table_free(table->other);
    tl_table_free(table->anchors);
    tl_format_table__close(table->folder);
    tl_lsm_config_unref(table->config);
    for (size_t i = 0; i < table->n_schemas; i++)
        tl_table_schema_unref(table->schemas[i]);
    tl_free(table->schemas);
    tl_type_unref(table->row_type);
    tl_type_unref(table->partition_type);
    tl_table_schema_unref(table->schema);
    tl_free(table->partition_idx);
    tl_free(table->key_idx);
    tl_free(table->bucket_idx);
    tl_free(table->last_user);
    tl_known__free(table->known);
    tl_free(table->path);
    tl_free(table->branch);
    tl_free(table->name);
    tl_free(table->db);
    tl_fs_unref(table->fs);
    pthread_mutex_destroy(&table->lock);
    tl_free(table);
}

/* ---- accessors ---- */

const tl_type *tl_table_row_type(const tl_table *table)
{
    return table->row_type;
}

const tl_table_schema *tl_table_schema_of(const tl_table *table)
{
    return table->schema;
}

const tl_lsm_config *tl_table_config(const tl_table *table)
{
    return table->config;
}

bool tl_table_is_system(const tl_table *table)
{
    return table->system != NULL;
}

const char *tl_table_path(const tl_table *table)
{
    return table->path;
}

const char *tl_table_option(const tl_table *table, const char *key)
{
    return tl_options_get(&table->schema->options, key);
}

tl_status tl_table_latest_snapshot(tl_table *table, tl_snapshot **out, tl_error *err)
{
    return tl_table__latest(table->fs, &table->paths, out, err);
}

tl_status tl_table__require_data(const tl_table *table, const char *what, tl_error *err)
{
    char name[256];
    if (table->system != NULL)
        return tl_error_set(err, TL_E_INVALID, "%s is a system table: cannot %s", tl_table__full_name(table, name),
                            what);
    if (table->folder != NULL)
        return tl_error_set(err, TL_E_INVALID, "%s is a format table, which has no snapshots: cannot %s", tl_table__full_name(table, name), what);
    return TL_OK;
}

tl_status tl_table__latest_schema(tl_table *table, tl_table_schema **out, tl_error *err)
{
    return tl_schema_latest(table->fs, &table->paths, out, err);
}

/* ---- schemas of files ---- */

tl_status tl_table__schema(tl_table *table, int64_t id, const tl_table_schema **out, tl_error *err)
{
    if (id == table->schema->id) {
        *out = table->schema;
        return TL_OK;
    }
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->n_schemas; i++) {
        if (table->schemas[i]->id == id) {
            *out = table->schemas[i];
            pthread_mutex_unlock(&table->lock);
            return TL_OK;
        }
    }
    tl_table_schema *schema = NULL;
    tl_status status = tl_schema_read(table->fs, &table->paths, id, &schema, err);
    if (status == TL_OK) {
        tl_table_schema **grown = tl_realloc(table->schemas, (table->n_schemas + 1) * sizeof *grown);
        if (grown == NULL) {
            tl_table_schema_unref(schema);
            status = tl_nomem(err, "schemas");
        } else {
            table->schemas = grown;
            table->schemas[table->n_schemas++] = schema;
            *out = schema;
        }
    }
    pthread_mutex_unlock(&table->lock);
    return status;
}

bool tl_table__is_first_row(const tl_table *table)
{
    return table->n_keys > 0 && strcasecmp(tl_table__option_or_default(&table->schema->options, "merge-engine"), "first-row") == 0;
}

bool tl_table__skips_level0(const tl_table *table)
{
    bool vectors = table->n_keys > 0 && tl_table__option_bool(&table->schema->options, "deletion-vectors.enabled");
    return vectors || tl_table__is_first_row(table);
}

tl_status tl_table__check_snapshot(tl_table *table, const tl_snapshot *snap, bool changes_rows, tl_error *err)
{
    tl_index_entries indexes = {0};
    if (table->config->data_evolution && !changes_rows) /* global indexes go by row ids, which stay */
        return TL_OK;
    tl_status status = tl_indexes__read(table, snap, &indexes, err);
    for (size_t i = 0; status == TL_OK && i < indexes.n; i++) {
        const char *type = indexes.items[i].file->type;
        if (strcmp(type, TL_INDEX_HASH) != 0 && strcmp(type, TL_INDEX_DELETION_VECTORS) != 0)
            status = tl_error_set(err, TL_E_UNSUPPORTED, "snapshot %lld: not supported: index files of type %s", (long long)snap->id,
                                  type);
    }
    tl_index_entries_deinit(&indexes);
    return status;
}

tl_status tl_table__split_list(const char *text, bool trim, char ***out, size_t *n, tl_error *err)
{
    size_t count = 1;
    for (const char *p = text; *p != '\0'; p++)
        count += *p == ',';
    char **names = tl_calloc(count, sizeof *names);
    if (names == NULL)
        return tl_nomem(err, "list");
    size_t filled = 0;
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ",");
        const char *from = p, *to = p + len;
        while (trim && from < to && (*from == ' ' || *from == '\t' || *from == '\n'))
            from++;
        while (trim && to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\n'))
            to--;
        names[filled] = tl_strndup(from, (size_t)(to - from));
        if (names[filled] == NULL) {
            tl_names_free(names, filled);
            return tl_nomem(err, "list");
        }
        filled++;
        p += len;
        if (*p == '\0')
            break;
    }
    *out = names;
    *n = filled;
    return TL_OK;
}
