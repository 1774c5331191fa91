/*
 * Creating a table: normalise the definition as the reference does, number the fields, validate, publish schema-0.
 * Source: Java: api Schema, TableSchema, CatalogUtils.validateCreateTable; format reference §2.
 */
#include "table/table_private.h"

#include <strings.h>

#include "base/parse.h"

tl_status tl_table__append_list(tl_buf *buf, char *const *names, int32_t n)
{
    TL_TRY(tl_buf_append_byte(buf, '['));
    for (int32_t i = 0; i < n; i++) {
        if (i > 0)
            TL_TRY(tl_buf_append_str(buf, ", "));
        TL_TRY(tl_buf_append_str(buf, names[i]));
    }
    return tl_buf_append_byte(buf, ']');
}

/* "[a, b]" as a new string; NULL if out of memory. */
static char *list_text(char *const *names, int32_t n)
{
    tl_buf buf = {0};
    char *text = NULL;
    if (tl_table__append_list(&buf, names, n) == TL_OK)
        (void)tl_buf_steal_str(&buf, &text); /* text stays NULL on failure */
    tl_buf_deinit(&buf);
    return text;
}

static char *field_names_text(const tl_type *row)
{
    char **names = tl_calloc((size_t)row->n_fields, sizeof *names);
    if (names == NULL)
        return NULL;
    for (int32_t i = 0; i < row->n_fields; i++)
        names[i] = row->fields[i].name;
    char *text = list_text(names, row->n_fields);
    tl_free(names);
    return text;
}

static bool contains(char *const *names, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static tl_status dup_names(char *const *names, int32_t n, char ***out, tl_error *err)
{
    char **copy = tl_calloc((size_t)n, sizeof *copy);
    if (copy == NULL)
        return tl_nomem(err, "names");
    for (int32_t i = 0; i < n; i++) {
        copy[i] = tl_strdup(names[i]);
        if (copy[i] == NULL) {
            tl_names_free(copy, (size_t)i);
            return tl_nomem(err, "names");
        }
    }
    *out = copy;
    return TL_OK;
}

tl_status tl_table__schema_dup(const tl_table_schema *from, tl_table_schema **out, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = tl_calloc(1, sizeof *schema);
    if (schema == NULL)
        return tl_nomem(err, "schema");
    schema->refs = 1;
    schema->id = from->id;
    schema->row_type = tl_type_ref(from->row_type);
    schema->highest_field_id = from->highest_field_id;
    schema->time_ms = from->time_ms;
    TL_TRY(dup_names(from->partition_keys, from->n_partition_keys, &schema->partition_keys, err));
    schema->n_partition_keys = from->n_partition_keys;
    TL_TRY(dup_names(from->primary_keys, from->n_primary_keys, &schema->primary_keys, err));
    schema->n_primary_keys = from->n_primary_keys;
    if (tl_options_dup(&from->options, &schema->options) != TL_OK)
        return tl_nomem(err, "options");
    if (from->comment != NULL) {
        schema->comment = tl_strdup(from->comment);
        if (schema->comment == NULL)
            return tl_nomem(err, "comment");
    }
    *out = TL_STEAL(schema);
    return TL_OK;
}

/* ---- normalising (Java: Schema's constructor) ---- */

/* `primary-key` and `partition` given as options become the schema's lists. */
static tl_status keys_from_option(tl_options *opts, const char *key, const char *what, char ***names, int32_t *n, tl_error *err)
{
    const char *text = tl_options_get(opts, key);
    if (text == NULL)
        return TL_OK;
    if (*n > 0)
        return tl_error_set(err, TL_E_INVALID, "Cannot define %s on DDL and table options at the same time.", what);
    char **parts = NULL;
    size_t n_parts = 0;
    TL_TRY(tl_table__split_list(text, /* trim= */ true, &parts, &n_parts, err));
    size_t kept = 0;
    for (size_t i = 0; i < n_parts; i++) {
        if (parts[i][0] == '\0')
            tl_free(parts[i]);
        else
            parts[kept++] = parts[i];
    }
    tl_names_free(*names, (size_t)*n);
    *names = parts;
    *n = (int32_t)kept;
    tl_options_remove(opts, key);
    return TL_OK;
}

/* The names that appear more than once, as "[a, b]"; NULL in *out if there is none. */
static tl_status duplicates(char *const *names, int32_t n, char **out, tl_error *err)
{
    char **found = tl_calloc((size_t)n, sizeof *found);
    if (found == NULL)
        return tl_nomem(err, "names");
    int32_t n_found = 0;
    for (int32_t i = 0; i < n; i++) {
        if (contains(names + i + 1, n - i - 1, names[i]) && !contains(found, n_found, names[i]))
            found[n_found++] = names[i];
    }
    *out = NULL;
    tl_status status = TL_OK;
    if (n_found > 0) {
        *out = list_text(found, n_found);
        if (*out == NULL)
            status = tl_nomem(err, "names");
    }
    tl_free(found);
    return status;
}

static tl_status check_columns(const tl_type *row, tl_error *err)
{
    char **names = tl_calloc((size_t)row->n_fields, sizeof *names);
    if (names == NULL)
        return tl_nomem(err, "names");
    for (int32_t i = 0; i < row->n_fields; i++)
        names[i] = row->fields[i].name;
    TL_CLEANUP(tl_freep) char *twice = NULL;
    tl_status status = duplicates(names, row->n_fields, &twice, err);
    tl_free(names);
    TL_TRY(status);
    if (twice == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *all = field_names_text(row);
    return tl_error_set(err, TL_E_INVALID, "Table column %s must not contain duplicate fields. Found: %s", all == NULL ? "" : all, twice);
}

static tl_status check_keys(const tl_type *row, char *const *keys, int32_t n, const char *what, const char *what_all, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *twice = NULL;
    TL_TRY(duplicates(keys, n, &twice, err));
    TL_CLEANUP(tl_freep) char *text = list_text(keys, n);
    if (text == NULL)
        return tl_nomem(err, "names");
    if (twice != NULL)
        return tl_error_set(err, TL_E_INVALID, "%s constraint %s must not contain duplicate columns. Found: %s", what, text, twice);
    for (int32_t i = 0; i < n; i++) {
        if (tl_type_field_index(row, keys[i]) >= 0)
            continue;
        TL_CLEANUP(tl_freep) char *all = field_names_text(row);
        return tl_error_set(err, TL_E_INVALID, "Table column %s should include all %s %s", all == NULL ? "" : all, what_all, text);
    }
    return TL_OK;
}

static tl_status force_not_null(tl_table_schema *schema, tl_error *err)
{
    const tl_type *row = schema->row_type;
    tl_field *fields = tl_memdup(row->fields, (size_t)row->n_fields * sizeof *fields);
    const tl_type **fresh = tl_calloc((size_t)row->n_fields, sizeof *fresh);
    const tl_type *changed = NULL;
    tl_status status = fields == NULL || fresh == NULL ? tl_nomem(err, "columns") : TL_OK;
    for (int32_t i = 0; status == TL_OK && i < row->n_fields; i++) {
        if (!contains(schema->primary_keys, schema->n_primary_keys, fields[i].name) || !fields[i].type->nullable)
            continue;
        status = tl_type_with_nullable(fields[i].type, false, &fresh[i], err);
        fields[i].type = fresh[i];
    }
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, row->n_fields, &changed, err);
    for (int32_t i = 0; fresh != NULL && i < row->n_fields; i++)
        tl_type_unref(fresh[i]);
    tl_free(fresh);
    tl_free(fields);
    TL_TRY(status);
    tl_type_unref(schema->row_type);
    schema->row_type = changed;
    return TL_OK;
}

tl_status tl_table__normalize(tl_table_schema *schema, tl_error *err)
{
    TL_TRY(keys_from_option(&schema->options, "partition", "partition", &schema->partition_keys, &schema->n_partition_keys, err));
    TL_TRY(keys_from_option(&schema->options, "primary-key", "primary key", &schema->primary_keys, &schema->n_primary_keys, err));
    TL_TRY(check_columns(schema->row_type, err));
    TL_TRY(check_keys(schema->row_type, schema->partition_keys, schema->n_partition_keys, "Partition key", "partition fields", err));
    if (schema->n_primary_keys == 0)
        return TL_OK;
    TL_TRY(check_keys(schema->row_type, schema->primary_keys, schema->n_primary_keys, "Primary key", "primary key constraint", err));
    return force_not_null(schema, err);
}

/* ---- creating ---- */

static tl_status from_def(const tl_table_def *def, tl_table_schema **out, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    tl_table_schema shell = {
        .row_type = def->row_type,
        .partition_keys = (char **)def->partition_keys,
        .n_partition_keys = def->n_partition_keys,
        .primary_keys = (char **)def->primary_keys,
        .n_primary_keys = def->n_primary_keys,
        .comment = (char *)def->comment,
        .time_ms = tl_clock_now_ms(tl_clock_system()),
    };
    TL_TRY(tl_table__schema_dup(&shell, &schema, err));
    if (def->options != NULL && tl_options_dup(def->options, &schema->options) != TL_OK)
        return tl_nomem(err, "options");
    TL_TRY(tl_table__normalize(schema, err));
    const tl_type *numbered = NULL;
    schema->highest_field_id = -1;
    TL_TRY(tl_schema_assign_ids(schema->row_type, &schema->highest_field_id, &numbered, err));
    tl_type_unref(schema->row_type);
    schema->row_type = numbered;
    *out = TL_STEAL(schema);
    return TL_OK;
}

static tl_status check_creatable(const tl_table_schema *schema, const char *name, tl_error *err)
{
    if (strchr(name, '$') != NULL)
        return tl_error_set(err, TL_E_INVALID, "table '%s': '$' marks system tables and branches, they cannot be created", name);
    if (tl_table__option_bool(&schema->options, "auto-create"))
        return tl_error_set(err, TL_E_INVALID, "The value of auto-create property should be false.");
    const char *type = tl_options_get(&schema->options, "type");
    if (type != NULL && !tl_table__knows_type(type))
        return tl_error_set(err, TL_E_UNSUPPORTED, "table '%s': not supported: tables of type '%s'", name, type);
    if (strcmp(tl_table__option_or_default(&schema->options, "branch"), "main") != 0)
        return tl_error_set(err, TL_E_INVALID, "table '%s': option 'branch' is for a command or a query, a table cannot keep it", name);
    if (tl_options_get(&schema->options, TL_BLOB_PATHS_OPTION) != NULL)
        return tl_error_set(err, TL_E_INVALID, "table '%s': option '" TL_BLOB_PATHS_OPTION "' is for a command or a query, a table cannot keep it", name);
    if (schema->row_type->n_fields == 0)
        return tl_error_set(err, TL_E_INVALID, "table '%s' has no columns", name);
    for (int32_t i = 0; i < schema->row_type->n_fields; i++) {
        const tl_field *f = &schema->row_type->fields[i];
        TL_TRY(tl_error_wrap(err, tl_table__validate_default(f->type, f->default_value, err), "column '%s'", f->name));
    }
    return TL_OK;
}

tl_status tl_table_create(tl_catalog *catalog, const char *db, const char *name, const tl_table_def *def, bool if_not_exists, tl_error *err)
{
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    TL_TRY(from_def(def, &schema, err));
    TL_TRY(check_creatable(schema, name, err));
    bool exists = false;
    TL_TRY(tl_catalog_table_exists(catalog, db, name, &exists, err));
    if (exists) {
        return if_not_exists ? TL_OK : tl_error_set(err, TL_E_EXISTS, "table %s.%s already exists", db, name);
    }
    TL_TRY(tl_table__validate(schema, err));
    TL_TRY(tl_table__check_new(schema, err));
    tl_status status = tl_catalog_create_table(catalog, db, name, schema, err);
    return status == TL_E_EXISTS && if_not_exists ? TL_OK : status;
}
