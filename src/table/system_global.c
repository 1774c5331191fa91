/*
 * Tables of the database `sys` about the catalog as a whole: tables, partitions, all_table_options, catalog_options. Java: AllTablesTable,
 * AllPartitionsTable, AllTableOptionsTable, CatalogOptionsTable. A handle of one is an open table without files.
 *
 * Metadata only: tables whose data cannot be read here are listed, too. A table that goes meanwhile is left out.
 */
#include <strings.h>

#include "base/parse.h"
#include "table/system_private.h"

static const tl_system_table globals[] = {
    {"tables",
     "ROW<database_name STRING, table_name STRING, table_type STRING, partitioned BOOLEAN, primary_key BOOLEAN, owner STRING, "
     "created_at BIGINT, created_by STRING, updated_at BIGINT, updated_by STRING, record_count BIGINT, file_size_in_bytes BIGINT, "
     "file_count BIGINT, last_file_creation_time BIGINT>",
     tl_system__all_tables},
    {"partitions",
     "ROW<database_name STRING, table_name STRING, partition_name STRING, record_count BIGINT, file_size_in_bytes BIGINT, "
     "file_count BIGINT, last_file_creation_time BIGINT, done BOOLEAN>",
     tl_system__all_partitions},
    {"all_table_options", "ROW<database_name STRING, table_name STRING, `key` STRING, `value` STRING>", tl_system__all_table_options},
    {"catalog_options", "ROW<`key` STRING NOT NULL, `value` STRING NOT NULL>", tl_system__catalog_options},
};

const tl_system_table *tl_system__find_global(const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(globals); i++) {
        if (strcasecmp(globals[i].name, name) == 0)
            return &globals[i];
    }
    return NULL;
}

/* ---- going over all tables ---- */

typedef tl_status (*add_rows)(tl_table *one, tl_builder *const *cols, tl_error *err);

/* `system` is what the tables are opened as: metadata alone, whatever their data is. */
static tl_status add_table(tl_catalog *catalog, const char *db, const char *name, const char *system, add_rows add,
                           tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_table_freep) tl_table *one = NULL;
    TL_CLEANUP(tl_freep) char *object = tl_strf("%s$%s", name, system);
    if (object == NULL)
        return tl_nomem(err, "table name");
    tl_status status = tl_table_open(catalog, db, object, NULL, &one, err);
    if (status == TL_OK)
        status = add(one, cols, err);
    return tl_error_wrap(err, status, "table %s.%s", db, name);
}

static tl_status for_database(tl_catalog *catalog, const char *db, const char *system, add_rows add, tl_builder *const *cols, tl_error *err)
{
    char **names = NULL;
    size_t n = 0;
    tl_status status = tl_catalog_list_tables(catalog, db, &names, &n, err);
    if (status == TL_E_NOT_FOUND) /* dropped meanwhile */
        return TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        status = add_table(catalog, db, names[i], system, add, cols, err);
        bool there = true;
        if (status == TL_E_NOT_FOUND && tl_catalog_table_exists(catalog, db, names[i], &there, NULL) == TL_OK && !there)
            status = TL_OK;
    }
    tl_names_free(names, n);
    return status;
}

static tl_status for_all(tl_table *table, const char *system, add_rows add, tl_builder *const *cols, tl_error *err)
{
    char **dbs = NULL;
    size_t n = 0;
    TL_TRY(tl_catalog_list_databases(table->catalog, &dbs, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++)
        status = for_database(table->catalog, dbs[i], system, add, cols, err);
    tl_names_free(dbs, n);
    return status;
}

/* ---- tables ---- */

/* A time that some other catalog keeps among the options. */
static tl_status add_long_option(tl_builder *col, const tl_options *opts, const char *key, tl_error *err)
{
    int64_t v = TL_ABSENT;
    const char *text = tl_options_get(opts, key);
    if (text != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_int(text, INT64_MIN + 1, INT64_MAX, &v, err), "option '%s'", key));
    return tl_system__built(tl_system__long(col, v), err);
}

static tl_status table_row(tl_table *one, tl_builder *const *c, tl_error *err)
{
    const tl_options *opts = &one->schema->options;
    const char *type = tl_options_get(opts, "type");
    tl_status status = tl_system__str(c[0], one->db);
    if (status == TL_OK)
        status = tl_system__str(c[1], one->name);
    if (status == TL_OK)
        status = tl_system__str(c[2], type == NULL ? "table" : type);
    if (status == TL_OK)
        status = tl_builder_int(c[3], one->schema->n_partition_keys > 0);
    if (status == TL_OK)
        status = tl_builder_int(c[4], one->schema->n_primary_keys > 0);
    if (status == TL_OK)
        status = tl_system__str(c[5], tl_options_get(opts, "owner"));
    if (status == TL_OK)
        status = tl_system__str(c[7], tl_options_get(opts, "createdBy"));
    if (status == TL_OK)
        status = tl_system__str(c[9], tl_options_get(opts, "updatedBy"));
    TL_TRY(tl_system__built(status, err));
    TL_TRY(add_long_option(c[6], opts, "createdAt", err));
    TL_TRY(add_long_option(c[8], opts, "updatedAt", err));
    for (int i = 10; i < 14; i++) /* catalogs that keep the snapshots themselves tell these */
        TL_TRY(tl_system__built(tl_builder_null(c[i]), err));
    return TL_OK;
}

tl_status tl_system__all_tables(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    return for_all(table, "options", table_row, cols, err);
}

/* ---- partitions ---- */

static tl_status partition_row(const tl_table *one, const tl_partition_sum *p, tl_builder *const *c)
{
    TL_TRY(tl_system__str(c[0], one->db));
    TL_TRY(tl_system__str(c[1], one->name));
    TL_TRY(tl_system__str(c[2], p->name));
    TL_TRY(tl_builder_int(c[3], p->rows));
    TL_TRY(tl_builder_int(c[4], p->bytes));
    TL_TRY(tl_builder_int(c[5], p->files));
    TL_TRY(tl_system__long(c[6], p->last_ms == TL_ABSENT ? TL_ABSENT : tl_from_local_ms(p->last_ms)));
    return tl_builder_int(c[7], 0); /* partitions are marked done by files and catalogs, not in this list */
}

static tl_status partition_rows(tl_table *one, tl_builder *const *cols, tl_error *err)
{
    if (one->n_partition == 0)
        return TL_OK;
    tl_partition_sums s = {0};
    tl_status status = tl_system__partition_sums(one, /* folders= */ true, &s, err);
    for (size_t i = 0; status == TL_OK && i < s.n; i++)
        status = tl_system__built(partition_row(one, &s.items[i], cols), err);
    tl_partition_sums_deinit(&s);
    return status;
}

tl_status tl_system__all_partitions(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    return for_all(table, "partitions", partition_rows, cols, err);
}

/* ---- options ---- */

static tl_status option_row(const tl_table *one, const char *key, const char *value, tl_builder *const *c)
{
    TL_TRY(tl_system__str(c[0], one->db));
    TL_TRY(tl_system__str(c[1], one->name));
    TL_TRY(tl_system__str(c[2], key));
    return tl_system__str(c[3], value);
}

/* The table's place is among its options, as in the reference's catalogs. */
static tl_status option_rows(tl_table *one, tl_builder *const *cols, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    TL_TRY(tl_table__latest_schema(one, &schema, err));
    const tl_options *opts = &schema->options;
    for (size_t i = 0; i < opts->count; i++)
        TL_TRY(tl_system__built(option_row(one, opts->keys[i], opts->values[i], cols), err));
    return tl_options_get(opts, "path") != NULL ? TL_OK : tl_system__built(option_row(one, "path", one->path, cols), err);
}

tl_status tl_system__all_table_options(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    return for_all(table, "options", option_rows, cols, err);
}

tl_status tl_system__catalog_options(tl_table *table, tl_builder *const *cols, tl_error *err)
{
    const tl_options *opts = tl_catalog_options(table->catalog);
    for (size_t i = 0; i < opts->count; i++) {
        TL_TRY(tl_system__built(tl_system__str(cols[0], opts->keys[i]), err));
        TL_TRY(tl_system__built(tl_system__str(cols[1], opts->values[i]), err));
    }
    return TL_OK;
}
