/* Tables from JSON: definitions for CREATE and changes for ALTER, in the form that docs/text-forms.md describes. */
#include "api/api_private.h"

typedef struct json_list {
    char **items;
    int32_t n;
} json_list;

/* As tl_api__in_table(), for a table that is not open. */
static tl_status in_table(const char *name, tl_status status, tl_error *err)
{
    return status == TL_OK || err == NULL || strstr(err->message, name) != NULL ? status
                                                                                : tl_error_wrap(err, status, "table %s", name);
}

static tl_status strings_of(tl_arena *arena, const tl_json *json, const char *what, json_list *out, tl_error *err)
{
    *out = (json_list){NULL, 0};
    if (tl_json_is_null(json))
        return TL_OK;
    if (json->kind != TL_JSON_ARRAY)
        return tl_error_set(err, TL_E_INVALID, "\"%s\" is no list of names", what);
    out->items = tl_arena_alloc(arena, sizeof(char *) * (size_t)(json->n_children + 1));
    if (out->items == NULL)
        return tl_nomem(err, what);
    for (const tl_json *child = json->child; child != NULL; child = child->next) {
        char *text = tl_json_strdup(arena, child);
        if (text == NULL)
            return tl_error_set(err, TL_E_INVALID, "\"%s\" is no list of names", what);
        out->items[out->n++] = text;
    }
    return TL_OK;
}

static tl_status parse_field(tl_arena *arena, const tl_json *column, tl_field *field, tl_error *err)
{
    field->name = tl_json_strdup(arena, tl_json_get(column, "name"));
    const tl_json *type = tl_json_get(column, "type");
    if (field->name == NULL || type == NULL)
        return tl_error_set(err, TL_E_INVALID, "a column needs \"name\" and \"type\"");
    field->id = -1;
    field->description = tl_json_strdup(arena, tl_json_get(column, "comment"));
    field->default_value = tl_json_strdup(arena, tl_json_get(column, "default"));
    tl_status status = type->kind == TL_JSON_STRING ? tl_type_parse(type->text, &field->type, err)
                                                    : tl_type_from_json(type, &field->type, err);
    return tl_error_wrap(err, status, "column '%s'", field->name);
}

static tl_status parse_row_type(tl_arena *arena, const tl_json *columns, const tl_type **out, tl_error *err)
{
    if (columns == NULL || columns->kind != TL_JSON_ARRAY)
        return tl_error_set(err, TL_E_INVALID, "\"columns\" is no list");
    int32_t n = 0;
    tl_field *fields = tl_arena_calloc(arena, (size_t)columns->n_children + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "columns");
    tl_status status = TL_OK;
    for (const tl_json *column = columns->child; column != NULL && status == TL_OK; column = column->next)
        status = parse_field(arena, column, &fields[n++], err);
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, n, out, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    return status;
}

/* Values of options may be written as JSON numbers and booleans, too. */
static tl_status options_of(const tl_json *json, tl_options *out, tl_error *err)
{
    if (tl_json_is_null(json))
        return TL_OK;
    if (json->kind != TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_INVALID, "\"options\" is no object");
    for (const tl_json *child = json->child; child != NULL; child = child->next) {
        tl_bytes_view text = child->kind == TL_JSON_STRING ? child->text : child->raw;
        TL_CLEANUP(tl_freep) char *key = tl_strndup((const char *)child->key.data, child->key.len);
        TL_CLEANUP(tl_freep) char *value = tl_strndup((const char *)text.data, text.len);
        if (key == NULL || value == NULL || tl_options_set(out, key, value) != TL_OK)
            return tl_nomem(err, "options");
    }
    return TL_OK;
}

/* `found` (may be NULL): what holds where the JSON, which may be NULL then, says nothing. */
static tl_status create_from(tidelake_lake *lake, tl_arena *arena, const char *db, const char *table, const tl_json *json,
                             const tl_api__found *found, int if_not_exists, tl_error *err)
{
    json_list partition_keys, primary_keys;
    TL_TRY(strings_of(arena, tl_json_get(json, "partitionKeys"), "partitionKeys", &partition_keys, err));
    TL_TRY(strings_of(arena, tl_json_get(json, "primaryKeys"), "primaryKeys", &primary_keys, err));
    if (found != NULL && tl_json_get(json, "partitionKeys") == NULL)
        partition_keys = (json_list){found->partition_keys, found->n_partition_keys};
    TL_CLEANUP(tl_type_unrefp) const tl_type *row_type = NULL;
    if (found != NULL && tl_json_get(json, "columns") == NULL)
        row_type = tl_type_ref(found->row_type);
    else
        TL_TRY(parse_row_type(arena, tl_json_get(json, "columns"), &row_type, err));
    tl_options options = {0};
    tl_status status = options_of(tl_json_get(json, "options"), &options, err);
    char *comment = tl_json_strdup(arena, tl_json_get(json, "comment"));
    tl_table_def def = {.row_type = row_type,
                        .partition_keys = partition_keys.items,
                        .n_partition_keys = partition_keys.n,
                        .primary_keys = primary_keys.items,
                        .n_primary_keys = primary_keys.n,
                        .options = &options,
                        .comment = comment == NULL ? "" : comment};
    if (status == TL_OK)
        status = tl_catalog_create_database(lake->catalog, db, true, err);
    if (status == TL_OK)
        status = tl_table_create(lake->catalog, db, table, &def, if_not_exists != 0, err);
    tl_options_deinit(&options);
    return status;
}

tl_status tl_api__create_table(tidelake_lake *lake, const char *name, const char *schema_json, const tl_api__found *found,
                               int if_not_exists, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *db = NULL;
    TL_CLEANUP(tl_freep) char *table = NULL;
    TL_TRY(tl_api__split_name(name, &db, &table, err));
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_status status = TL_OK;
    if (schema_json != NULL)
        status = tl_api__parse_json(&arena, (tl_bytes_view){(const uint8_t *)schema_json, strlen(schema_json)}, &json, err);
    if (status == TL_OK)
        status = create_from(lake, &arena, db, table, json, found, if_not_exists, err);
    tl_arena_deinit(&arena);
    return in_table(name, status, err);
}

tl_status tidelake_create_table(tidelake_lake *lake, const char *name, const char *schema_json, int if_not_exists,
                                tl_error *err)
{
    return tl_api__create_table(lake, name, schema_json, /* found= */ NULL, if_not_exists, err);
}

/* ---- changes ---- */

/* A column is a name, or a path into nested rows: ["r","x"]. */
static tl_status column_of(tl_arena *arena, const tl_json *name, tl_alter *out, tl_error *err)
{
    json_list path = {NULL, 0};
    if (name != NULL && name->kind == TL_JSON_ARRAY)
        TL_TRY(strings_of(arena, name, "name", &path, err));
    out->path = path.items;
    out->n_path = path.n;
    out->name = path.n > 0 ? path.items[path.n - 1] : tl_json_strdup(arena, name);
    return TL_OK;
}

static const struct {
    const char *op;
    int kind;
    const char *value; /* member that holds `value` */
} change_kinds[] = {
    {"addColumn", TL_ALTER_ADD_COLUMN, NULL},
    {"dropColumn", TL_ALTER_DROP_COLUMN, NULL},
    {"renameColumn", TL_ALTER_RENAME_COLUMN, "to"},
    {"updateType", TL_ALTER_COLUMN_TYPE, NULL},
    {"updateComment", TL_ALTER_COLUMN_COMMENT, "comment"},
    {"updateDefault", TL_ALTER_COLUMN_DEFAULT, "default"},
    {"updateNullability", TL_ALTER_COLUMN_NULLABLE, NULL},
    {"moveColumn", TL_ALTER_COLUMN_POSITION, NULL},
    {"setOption", TL_ALTER_SET_OPTION, "value"},
    {"removeOption", TL_ALTER_RESET_OPTION, NULL},
    {"tableComment", TL_ALTER_COMMENT, "comment"},
};

static tl_status parse_change(tl_arena *arena, const tl_json *json, tl_alter *out, tl_error *err)
{
    size_t i = 0;
    while (i < TL_ARRAY_LEN(change_kinds) && !tl_json_text_is(tl_json_get(json, "op"), change_kinds[i].op))
        i++;
    if (i == TL_ARRAY_LEN(change_kinds))
        return tl_error_set(err, TL_E_INVALID, "unknown change %.*s", (int)json->raw.len, (const char *)json->raw.data);
    *out = (tl_alter){0};
    out->kind = (__typeof__(out->kind))change_kinds[i].kind;
    bool is_option = out->kind == TL_ALTER_SET_OPTION || out->kind == TL_ALTER_RESET_OPTION;
    TL_TRY(column_of(arena, tl_json_get(json, is_option ? "key" : "name"), out, err));
    if (out->name == NULL && out->kind != TL_ALTER_COMMENT)
        return tl_error_set(err, TL_E_INVALID, "%s needs \"%s\"", change_kinds[i].op, is_option ? "key" : "name");
    if (change_kinds[i].value != NULL) {
        const tl_json *value = tl_json_get(json, change_kinds[i].value);
        if (!tl_json_is_null(value)) {
            tl_bytes_view text = value->kind == TL_JSON_STRING ? value->text : value->raw;
            out->value = tl_arena_strndup(arena, (const char *)text.data, text.len);
        }
    }
    out->after = tl_json_strdup(arena, tl_json_get(json, "after"));
    out->before = tl_json_strdup(arena, tl_json_get(json, "before"));
    out->comment = tl_json_strdup(arena, tl_json_get(json, "comment"));
    /* Flags that are absent stay false. */
    (void)tl_json_bool(tl_json_get(json, "first"), &out->first);
    (void)tl_json_bool(tl_json_get(json, "last"), &out->last);
    (void)tl_json_bool(tl_json_get(json, "nullable"), &out->nullable);
    (void)tl_json_bool(tl_json_get(json, "keepNullability"), &out->keep_nullability);
    const tl_json *type = tl_json_get(json, "type");
    if (type != NULL)
        TL_TRY(tl_type_parse(type->text, &out->type, err));
    return TL_OK;
}

static tl_status alter_from(tidelake_lake *lake, tl_arena *arena, const char *db, const char *table, const tl_json *json,
                            tl_error *err)
{
    if (json->kind != TL_JSON_ARRAY)
        return tl_error_set(err, TL_E_INVALID, "a list of changes is expected");
    tl_alter *changes = tl_arena_calloc(arena, (size_t)json->n_children + 1, sizeof *changes);
    if (changes == NULL)
        return tl_nomem(err, "changes");
    size_t n = 0;
    tl_status status = TL_OK;
    for (const tl_json *change = json->child; change != NULL && status == TL_OK; change = change->next)
        status = parse_change(arena, change, &changes[n++], err);
    if (status == TL_OK)
        status = tl_table_alter(lake->catalog, db, table, changes, n, err);
    for (size_t i = 0; i < n; i++)
        tl_type_unref(changes[i].type);
    return status;
}

/* Of "t" or of its branch "t$branch_b". */
static tl_status latest_schema_id(tidelake_lake *lake, const char *db, char *table, int64_t *out, tl_error *err)
{
    static const char mark[] = "$branch_";
    char *branch = strstr(table, mark);
    if (branch != NULL) {
        *branch = '\0';
        branch += sizeof mark - 1;
        if (strcmp(branch, "main") == 0)
            branch = NULL;
    }
    TL_CLEANUP(tl_freep) char *path = NULL;
    TL_TRY(tl_catalog_table_path(lake->catalog, db, table, &path, err));
    tl_table_schema *schema;
    TL_TRY(tl_schema_latest(lake->fs, &(tl_paths){path, branch}, &schema, err));
    *out = schema->id;
    tl_table_schema_unref(schema);
    return TL_OK;
}

tl_status tidelake_alter_table(tidelake_lake *lake, const char *name, const char *changes_json, int64_t *schema_id,
                               tl_error *err)
{
    TL_CLEANUP(tl_freep) char *db = NULL;
    TL_CLEANUP(tl_freep) char *table = NULL;
    TL_TRY(tl_api__split_name(name, &db, &table, err));
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status =
        tl_api__parse_json(&arena, (tl_bytes_view){(const uint8_t *)changes_json, strlen(changes_json)}, &json, err);
    if (status == TL_OK)
        status = alter_from(lake, &arena, db, table, json, err);
    tl_arena_deinit(&arena);
    if (status == TL_OK && schema_id != NULL)
        status = latest_schema_id(lake, db, table, schema_id, err);
    return in_table(name, status, err);
}
