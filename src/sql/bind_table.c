/*
 * Tables: names to objects of the session or tables of a lake, hints, scans with computed columns and watermarks above them.
 */
#include <stdio.h>
#include <strings.h>

#include "base/parse.h"
#include "sql/bind.h"

tl_plan *tl_bind__new_plan(tl_binder *b, tl_plan_kind kind, const tl_type *type, tl_plan *input)
{
    tl_plan *plan = tl_arena_calloc(b->arena, 1, sizeof *plan);
    uint8_t *attrs = tl_arena_calloc(b->arena, (size_t)type->n_fields + 1, 1);
    tl_plan **inputs = tl_arena_calloc(b->arena, 2, sizeof *inputs);
    if (plan == NULL || attrs == NULL || inputs == NULL)
        return NULL;
    plan->kind = kind;
    plan->type = type;
    plan->time_attr = attrs;
    plan->limit = -1;
    plan->rowtime = -1;
    plan->inputs = inputs;
    if (input != NULL) {
        inputs[0] = input;
        plan->n_inputs = 1;
        for (int32_t i = 0; i < TL_MIN(input->type->n_fields, type->n_fields); i++)
            attrs[i] = kind == TL_PLAN_PROJECT || kind == TL_PLAN_AGGREGATE ? TL_TIME_NONE : input->time_attr[i];
    }
    return plan;
}

static uint8_t attr_of(const tl_plan *input, const tl_expr *e)
{
    if (e->kind == TL_EXPR_ROWTIME)
        return TL_TIME_PROCTIME;
    return e->kind == TL_EXPR_COLUMN ? input->time_attr[e->column] : (uint8_t)TL_TIME_NONE;
}

tl_status tl_bind__project(tl_binder *b, tl_plan *input, tl_expr **exprs, const char *const *names, int32_t n, tl_plan **out)
{
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types);
    BIND_ALLOC(b, types);
    for (int32_t i = 0; i < n; i++)
        types[i] = exprs[i]->type;
    const tl_type *row;
    TL_TRY(tl_bind__row_type(b, names, types, n, &row));
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_PROJECT, row, input);
    BIND_ALLOC(b, plan);
    plan->exprs = exprs;
    uint8_t *attrs = (uint8_t *)(uintptr_t)plan->time_attr;
    for (int32_t i = 0; i < n; i++)
        attrs[i] = attr_of(input, exprs[i]);
    *out = plan;
    return TL_OK;
}

tl_status tl_bind__filter(tl_binder *b, tl_plan *input, tl_expr *condition, tl_plan **out)
{
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_FILTER, input->type, input);
    BIND_ALLOC(b, plan);
    plan->condition = condition;
    *out = plan;
    return TL_OK;
}

tl_status tl_bind__scope_of(tl_binder *b, const tl_plan *plan, const char *rel, const tl_ast *names, const tl_ast *at, tl_scope **out)
{
    int32_t n = plan->type->n_fields;
    if (names != NULL && names->count != n)
        return BIND_ERROR(b, at, "'%s' has %d columns, but %d names are given", rel != NULL ? rel : "the query", (int)n, (int)names->count);
    tl_scope *scope = tl_arena_calloc(b->arena, 1, sizeof *scope);
    BIND_ALLOC(b, scope);
    scope->columns = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *scope->columns);
    BIND_ALLOC(b, scope->columns);
    scope->n_columns = n;
    scope->type = plan->type;
    scope->time_attr = plan->time_attr;
    const tl_ast *name = tl_ast_first(names);
    for (int32_t i = 0; i < n; i++) {
        scope->columns[i] = (tl_scope_column){.rel = rel, .name = name != NULL ? name->text : plan->type->fields[i].name, .column = i};
        name = name != NULL ? name->next : NULL;
    }
    *out = scope;
    return TL_OK;
}

/* ---- names ---- */

tl_status tl_bind__path(tl_binder *b, const tl_ast *name, tl_sql_path *out)
{
    TL_TRY(tl_sql__path(b->session, b->arena, name, out, b->err));
    if (name->count < 2) /* inside a view: the view's own place */
        out->db = tl_arena_strdup(b->arena, b->db);
    if (name->count < 3)
        out->catalog = tl_arena_strdup(b->arena, b->catalog);
    if (out->db == NULL || out->catalog == NULL)
        return tl_nomem(b->err, "statement");
    return TL_OK;
}

tl_status tl_bind__hints(tl_binder *b, const tl_ast *hints, const char *name, tl_options **out)
{
    *out = NULL;
    for (const tl_ast *hint = tl_ast_first(hints); hint != NULL; hint = hint->next) {
        if (strcasecmp(hint->text, name) != 0)
            continue;
        TL_TRY(tl_sql__new_options(b->stmt, out, b->err));
        for (const tl_ast *option = tl_ast_first(hint->kid[0]); option != NULL; option = option->next) {
            if (option->kind != AST_OPTION)
                return BIND_ERROR(b, option, "hint %s takes pairs 'key' = 'value'", name);
            if (tl_options_set(*out, option->kid[0]->text, option->kid[1]->text) != TL_OK)
                return tl_nomem(b->err, "hint");
        }
    }
    return TL_OK;
}

/** The name under which a part of FROM is known; NULL: a join, or none. */
static const char *name_in_from(const tl_ast *table)
{
    if (table->kind == AST_JOIN)
        return NULL;
    return table->text == NULL && table->kind == AST_TABLE ? tl_ast_last_name(table->kid[0]) : table->text;
}

tl_status tl_bind__state_ttl(tl_binder *b, const tl_ast *table, int64_t *out)
{
    *out = 0;
    tl_options *options;
    const char *name = name_in_from(table);
    TL_TRY(tl_bind__hints(b, b->select_hints, "STATE_TTL", &options));
    const char *ttl = options != NULL && name != NULL ? tl_options_get(options, name) : NULL;
    if (ttl == NULL)
        return TL_OK;
    TL_TRY(tl_error_wrap(b->err, tl_parse_duration_ms(ttl, out, b->err), "line %d:%d: hint STATE_TTL of '%s'", (int)table->line, (int)table->position, name));
    *out = *out == 0 ? INT64_MAX : *out;
    return TL_OK;
}

static bool is_in_from(const tl_ast *from, const char *name)
{
    if (from->kind == AST_JOIN)
        return is_in_from(from->kid[0], name) || is_in_from(from->kid[1], name);
    const char *known = name_in_from(from);
    return known != NULL && strcmp(known, name) == 0;
}

tl_status tl_bind__check_state_ttl(tl_binder *b, const tl_ast *from)
{
    tl_options *options;
    TL_TRY(tl_bind__hints(b, b->select_hints, "STATE_TTL", &options));
    for (size_t i = 0; options != NULL && i < options->count; i++)
        if (!is_in_from(from, options->keys[i]))
            return BIND_ERROR(b, tl_ast_first(b->select_hints), "The options of following hints cannot match the name of input tables or views: `%s` in `STATE_TTL`",
                              options->keys[i]);
    return TL_OK;
}

/* ---- tables of the session ---- */

static tl_status column_indices(tl_binder *b, const tl_type *row, const char *const *names, int32_t n, const int32_t **out)
{
    int32_t *indices = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *indices);
    BIND_ALLOC(b, indices);
    for (int32_t i = 0; i < n; i++) {
        indices[i] = tl_type_field_index(row, names[i]);
        if (indices[i] < 0)
            return tl_error_set(b->err, TL_E_INVALID, "key column '%s' is no stored column", names[i]);
    }
    *out = n > 0 ? indices : NULL;
    return TL_OK;
}

static tl_status table_of_object(tl_binder *b, tl_sql_object *object, const tl_options *hints, tl_sql_table *table)
{
    table->kind = TL_SQL_TABLE_CONNECTOR;
    const char **names = tl_arena_calloc(b->arena, (size_t)object->n_columns + 1, sizeof *names);
    const tl_type **types = tl_arena_calloc(b->arena, (size_t)object->n_columns + 1, sizeof *types);
    const char **keys = tl_arena_calloc(b->arena, (size_t)object->n_columns + 1, sizeof *keys);
    bool *virtual = tl_arena_calloc(b->arena, (size_t)object->n_columns + 1, sizeof *virtual);
    BIND_ALLOC(b, virtual);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    BIND_ALLOC(b, keys);
    int32_t n = 0;
    for (int32_t i = 0; i < object->n_columns; i++) {
        const tl_sql_column *c = &object->columns[i];
        if (c->computed != NULL)
            continue;
        names[n] = c->name;
        types[n] = c->type;
        if (c->metadata != NULL) {
            keys[n] = tl_arena_strdup(b->arena, c->metadata); /* the object may be dropped while a job runs */
            BIND_ALLOC(b, keys[n]);
            table->metadata_keys = keys;
            virtual[n] = c->is_virtual;
            table->is_virtual = virtual;
        }
        n++;
    }
    TL_TRY(tl_bind__row_type(b, names, types, n, &table->row_type));
    TL_TRY(column_indices(b, table->row_type, object->primary_key, object->n_primary_key, &table->primary_key));
    table->n_primary_key = object->n_primary_key;
    TL_TRY(column_indices(b, table->row_type, object->partition_key, object->n_partition_key, &table->partition_key));
    table->n_partition_key = object->n_partition_key;
    tl_options *options;
    TL_TRY(tl_sql__new_options(b->stmt, &options, b->err));
    if (tl_options_dup(&object->options, options) != TL_OK)
        return tl_nomem(b->err, "options");
    for (size_t i = 0; hints != NULL && i < hints->count; i++)
        if (tl_options_set(options, hints->keys[i], hints->values[i]) != TL_OK)
            return tl_nomem(b->err, "options");
    table->options = options;
    return TL_OK;
}

/* ---- tables of a lake ---- */

/** A scan of a streaming plan follows the table: that is another way to open it (the schema stays the latest one). */
static tl_status table_of_lake(tl_binder *b, const tl_sql_catalog *catalog, const tl_sql_path *path, const tl_options *hints, const tl_ast *name, tl_sql_table *table)
{
    tl_table *handle = NULL;
    tl_error err = {0};
    bool follows = b->streaming && b->scanning;
    tl_status status = follows ? tl_table_open_streaming(catalog->lake, path->db, path->name, hints, &handle, &err)
                               : tl_table_open(catalog->lake, path->db, path->name, hints, &handle, &err);
    if (status == TL_E_NOT_FOUND)
        return TL_AST_ERROR(b->err, TL_E_NOT_FOUND, name, "Object '%s' not found in %s.%s", path->name, path->catalog, path->db);
    if (status != TL_OK)
        return TL_AST_ERROR(b->err, status, name, "table %s.%s.%s: %s", path->catalog, path->db, path->name, err.message);
    TL_TRY(tl_sql__own_table(b->stmt, handle, b->err));
    table->kind = TL_SQL_TABLE_LAKE;
    table->lake = catalog->lake;
    table->table = handle;
    table->row_type = tl_table_row_type(handle);
    if (hints == NULL) {
        tl_options *none;
        TL_TRY(tl_sql__new_options(b->stmt, &none, b->err));
        hints = none;
    }
    table->options = hints;
    if (tl_table_is_system(handle))
        return TL_OK;
    const tl_table_schema *schema = tl_table_schema_of(handle);
    TL_TRY(column_indices(b, table->row_type, (const char *const *)schema->primary_keys, schema->n_primary_keys, &table->primary_key));
    TL_TRY(column_indices(b, table->row_type, (const char *const *)schema->partition_keys, schema->n_partition_keys, &table->partition_key));
    table->n_primary_key = schema->n_primary_keys;
    table->n_partition_key = schema->n_partition_keys;
    return TL_OK;
}

tl_status tl_bind__table(tl_binder *b, const tl_ast *name, const tl_options *hints, tl_sql_table **out, tl_sql_object **object)
{
    tl_sql_path path;
    TL_TRY(tl_bind__path(b, name, &path));
    *object = tl_sql__object(b->session, &path);
    *out = NULL;
    if (*object != NULL && (*object)->is_view)
        return TL_OK;
    tl_sql_table *table = tl_arena_calloc(b->arena, 1, sizeof *table);
    BIND_ALLOC(b, table);
    table->catalog = path.catalog;
    table->db = path.db;
    table->name = path.name;
    if (*object != NULL) {
        TL_TRY(table_of_object(b, *object, hints, table));
    } else {
        const tl_sql_catalog *catalog = tl_sql__catalog(b->session, path.catalog);
        if (catalog == NULL || catalog->lake == NULL)
            return TL_AST_ERROR(b->err, TL_E_NOT_FOUND, name, "Object '%s' not found in %s.%s", path.name, path.catalog, path.db);
        TL_TRY(table_of_lake(b, catalog, &path, hints, name, table));
    }
    *out = table;
    return TL_OK;
}

tl_status tl_bind__table_again(tl_binder *b, const tl_sql_table *table, bool scanning, const tl_sql_table **out)
{
    *out = table;
    if (table->kind != TL_SQL_TABLE_LAKE)
        return TL_OK; /* it has no handle */
    const tl_sql_catalog *catalog = tl_sql__catalog(b->session, table->catalog);
    const tl_sql_path path = {.catalog = table->catalog, .db = table->db, .name = table->name};
    const tl_ast at = {.kind = AST_NAME};
    tl_sql_table *copy = tl_arena_alloc(b->arena, sizeof *copy);
    BIND_ALLOC(b, copy);
    if (catalog == NULL || catalog->lake == NULL)
        return tl_error_set(b->err, TL_E_NOT_FOUND, "catalog '%s' is gone", table->catalog);
    *copy = *table;
    bool saved = b->scanning;
    b->scanning = scanning;
    tl_status status = table_of_lake(b, catalog, &path, table->options, &at, copy);
    b->scanning = saved;
    *out = copy;
    if (status == TL_OK && !tl_type_equal(copy->row_type, table->row_type, /* with_nullable= */ true))
        return tl_error_set(b->err, TL_E_CONFLICT, "table %s.%s.%s was altered just now: try again", table->catalog, table->db, table->name);
    return status;
}

/* `paimon.CATALOG.DATABASE.TABLE.KEY`, where each name may be '*': KEY if it is about the table, NULL if not. */
static const char *setting_of_table(const char *setting, const tl_sql_path *path)
{
    const char *names[] = {path->catalog, path->db, path->name};
    if (strncmp(setting, "paimon.", 7) != 0)
        return NULL;
    setting += 7;
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
        size_t n = strcspn(names[i], i == 2 ? "$" : ""); /* without the name of a system table */
        n = n == 0 ? strlen(names[i]) : n;
        bool any = setting[0] == '*' && setting[1] == '.';
        if (!any && (strncmp(setting, names[i], n) != 0 || setting[n] != '.'))
            return NULL;
        setting += any ? 2 : n + 1;
    }
    return setting;
}

/* Source: Java: AbstractFlinkTableFactory.getDynamicConfigOptions. */
tl_status tl_bind__table_options(tl_binder *b, const tl_ast *name, const tl_ast *hints, tl_options **out)
{
    tl_sql_path path;
    tl_options *options = NULL, *hinted;
    const tl_options *settings = &b->session->settings;
    TL_TRY(tl_bind__hints(b, hints, "OPTIONS", &hinted));
    TL_TRY(tl_bind__path(b, name, &path));
    *out = hinted;
    if (tl_sql__object(b->session, &path) != NULL)
        return TL_OK; /* no table of a lake */
    for (size_t i = 0; i < settings->count; i++) {
        const char *key = setting_of_table(settings->keys[i], &path);
        if (key == NULL)
            continue;
        if (options == NULL)
            TL_TRY(tl_sql__new_options(b->stmt, &options, b->err));
        if (tl_options_set(options, key, settings->values[i]) != TL_OK)
            return tl_nomem(b->err, "options");
    }
    for (size_t i = 0; options != NULL && hinted != NULL && i < hinted->count; i++)
        if (tl_options_set(options, hinted->keys[i], hinted->values[i]) != TL_OK)
            return tl_nomem(b->err, "options");
    *out = options != NULL ? options : hinted;
    return TL_OK;
}

/* ---- scans ---- */

static tl_status plain_scan(tl_binder *b, const tl_sql_table *table, tl_plan **out)
{
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_SCAN, table->row_type, NULL);
    BIND_ALLOC(b, plan);
    int32_t n = table->row_type->n_fields;
    int32_t *columns = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *columns);
    BIND_ALLOC(b, columns);
    for (int32_t i = 0; i < n; i++)
        columns[i] = i;
    plan->table = table;
    plan->columns = columns;
    *out = plan;
    return TL_OK;
}

tl_status tl_bind__over(tl_binder *b, const tl_plan *plan, const tl_ast *ast, tl_expr **out)
{
    tl_scope *scope, *saved = b->scope;
    bool allowed = b->aggregates_allowed;
    TL_TRY(tl_bind__scope_of(b, plan, NULL, NULL, ast, &scope));
    b->scope = scope;
    b->aggregates_allowed = false;
    tl_status status = tl_bind__expr(b, ast, out);
    b->scope = saved;
    b->aggregates_allowed = allowed;
    return status;
}

static tl_status add_computed(tl_binder *b, const tl_sql_object *object, tl_plan **plan)
{
    bool any = false;
    for (int32_t i = 0; i < object->n_columns; i++)
        any = any || object->columns[i].computed != NULL;
    if (!any)
        return TL_OK;
    int32_t n = object->n_columns, stored = 0;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)n * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)n * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        const tl_sql_column *c = &object->columns[i];
        names[i] = tl_arena_strdup(b->arena, c->name);
        BIND_ALLOC(b, names[i]);
        if (c->computed != NULL) {
            TL_TRY(tl_bind__over(b, *plan, c->computed, &exprs[i]));
            continue;
        }
        TL_TRY(tl_bind__column(b, stored, (*plan)->type->fields[stored].type, NULL, &exprs[i]));
        stored++;
    }
    return tl_bind__project(b, *plan, exprs, names, n, plan);
}

tl_status tl_bind__check_rowtime(tl_binder *b, const tl_ast *column, const tl_type *type)
{
    if ((type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ) && type->precision <= 3)
        return TL_OK;
    return BIND_ERROR(b, column, "Invalid data type of time field for watermark definition. The field must be of type TIMESTAMP(p) or "
                                 "TIMESTAMP_LTZ(p), the supported precision 'p' is from 0 to 3, but the time field type is %s",
                      tl_bind__type_text(b, type));
}

static tl_status add_watermark(tl_binder *b, const tl_ast *column, const tl_ast *watermark, tl_plan **plan)
{
    int32_t i = tl_type_field_index((*plan)->type, tl_ast_last_name(column));
    if (i < 0 || column->count != 1)
        return BIND_ERROR(b, column, "WATERMARK FOR names no column of the table");
    const tl_type *type = (*plan)->type->fields[i].type;
    TL_TRY(tl_bind__check_rowtime(b, column, type));
    tl_expr *value;
    TL_TRY(tl_bind__over(b, *plan, watermark, &value));
    TL_TRY(tl_bind__coerce(b, value, type, &value));
    tl_plan *node = tl_bind__new_plan(b, TL_PLAN_WATERMARK, (*plan)->type, *plan);
    BIND_ALLOC(b, node);
    node->rowtime = i;
    node->condition = value;
    ((uint8_t *)(uintptr_t)node->time_attr)[i] = TL_TIME_ROWTIME;
    *plan = node;
    return TL_OK;
}

tl_status tl_bind__check_object(tl_binder *b, tl_sql_object *object)
{
    tl_sql_table *table = tl_arena_calloc(b->arena, 1, sizeof *table);
    BIND_ALLOC(b, table);
    tl_plan *plan;
    TL_TRY(table_of_object(b, object, NULL, table));
    TL_TRY(plain_scan(b, table, &plan));
    TL_TRY(add_computed(b, object, &plan));
    return object->watermark != NULL ? add_watermark(b, object->watermark_column, object->watermark, &plan) : TL_OK;
}

/*
 * Computed columns and watermark of a lake table: the reference's connector keeps them in the options, `schema.I.name`,
 * `schema.I.expr`, `schema.watermark.0.rowtime`, `schema.watermark.0.strategy.expr` (Java: FlinkCatalogPropertiesUtil).
 * I counts all columns, stored ones too; what names no computed column is a stored one, in their order.
 */

/** At most so many computed columns of a lake table are looked for. */
#define COMPUTED_MAX 1000

int32_t tl_bind__stored_computed(const tl_sql_table *table)
{
    const tl_options *options = &tl_table_schema_of(table->table)->options;
    int32_t n = 0;
    for (size_t i = 0; i < options->count; i++) {
        size_t bytes = strlen(options->keys[i]);
        n += strncmp(options->keys[i], "schema.", 7) == 0 && bytes > 12 && strcmp(options->keys[i] + bytes - 5, ".expr") == 0 &&
             options->keys[i][7] >= '0' && options->keys[i][7] <= '9';
    }
    return TL_MIN(n, COMPUTED_MAX);
}

/** The expression and name of the computed column whose options have the number `place`; NULL: there is none. */
static const char *computed_at(const tl_options *options, int32_t place, const char **name)
{
    char key[64];
    snprintf(key, sizeof key, "schema.%d.name", (int)place);
    *name = tl_options_get(options, key);
    snprintf(key, sizeof key, "schema.%d.expr", (int)place);
    return *name != NULL ? tl_options_get(options, key) : NULL;
}

const char *tl_bind__stored_expr(const tl_sql_table *table, int32_t i, const char **name)
{
    const tl_options *options = &tl_table_schema_of(table->table)->options;
    int32_t computed = tl_bind__stored_computed(table), stored = table->row_type->n_fields;
    *name = NULL;
    /* A number says where the column stands; where columns before it are gone, it is behind what is left. */
    for (int32_t place = 0; computed > 0 && place < table->row_type->n_fields + 2 * COMPUTED_MAX; place++) {
        const char *text = computed_at(options, place, name);
        computed -= text != NULL;
        if (text == NULL && stored-- <= 0)
            continue;
        if (i-- == 0)
            return text;
    }
    *name = NULL;
    return NULL;
}

int32_t tl_bind__stored_place(const tl_sql_table *table, const char *name)
{
    const tl_options *options = &tl_table_schema_of(table->table)->options;
    int32_t computed = tl_bind__stored_computed(table);
    for (int32_t place = 0; computed > 0 && place < table->row_type->n_fields + 2 * COMPUTED_MAX; place++) {
        const char *own, *text = computed_at(options, place, &own);
        if (text != NULL && strcmp(own, name) == 0)
            return place;
    }
    return -1;
}

static tl_status add_stored_computed(tl_binder *b, const tl_sql_table *table, int32_t computed, tl_plan **plan)
{
    int32_t n = table->row_type->n_fields, total = n + computed, stored = 0, at = 0;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)total * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)total * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < total; i++) {
        const char *name, *text = tl_bind__stored_expr(table, i, &name);
        const tl_ast *ast;
        if (text != NULL) {
            TL_TRY(tl_error_wrap(b->err, tl_sql__parse_expr(b->arena, text, strlen(text), &ast, b->err), "computed column '%s'", name));
            TL_TRY(tl_bind__over(b, *plan, ast, &exprs[at]));
            names[at++] = name;
        } else if (stored < n) {
            TL_TRY(tl_bind__column(b, stored, table->row_type->fields[stored].type, NULL, &exprs[at]));
            names[at++] = table->row_type->fields[stored++].name;
        }
    }
    return tl_bind__project(b, *plan, exprs, names, at, plan);
}

bool tl_bind__stored_watermark(const tl_options *options, const char **column, const char **strategy)
{
    *column = tl_options_get(options, TL_WATERMARK_OPTION "rowtime");
    *strategy = tl_options_get(options, TL_WATERMARK_OPTION "strategy.expr");
    if (*column == NULL) { /* as this program wrote them once */
        *column = tl_options_get(options, "schema.watermark.rowtime");
        *strategy = tl_options_get(options, "schema.watermark.strategy.expr");
    }
    return *column != NULL && *strategy != NULL;
}

static tl_status add_stored_definitions(tl_binder *b, const tl_sql_table *table, tl_plan **plan)
{
    const tl_options *options = &tl_table_schema_of(table->table)->options;
    int32_t computed = tl_bind__stored_computed(table);
    if (computed > 0)
        TL_TRY(add_stored_computed(b, table, computed, plan));
    const char *rowtime, *strategy;
    if (!tl_bind__stored_watermark(options, &rowtime, &strategy))
        return TL_OK;
    const tl_ast *column, *watermark;
    const char *quoted = tl_arena_strf(b->arena, "`%s`", rowtime);
    BIND_ALLOC(b, quoted);
    TL_TRY(tl_sql__parse_expr(b->arena, quoted, strlen(quoted), &column, b->err));
    TL_TRY(tl_error_wrap(b->err, tl_sql__parse_expr(b->arena, strategy, strlen(strategy), &watermark, b->err), "watermark of '%s'", rowtime));
    return column->kind == AST_NAME ? add_watermark(b, column, watermark, plan) : TL_OK;
}

/** Bind a view's text anew, in the place where it was made. */
tl_status tl_bind__view(tl_binder *b, const tl_sql_object *view, tl_plan **out)
{
    if (++b->depth > TL_BIND_DEPTH_MAX)
        return tl_error_set(b->err, TL_E_LIMIT, "view '%s': views and subqueries are nested more than %d deep", view->name, TL_BIND_DEPTH_MAX);
    const tl_ast *ast;
    char *text = tl_arena_strdup(b->arena, view->text);
    BIND_ALLOC(b, text);
    TL_TRY(tl_error_wrap(b->err, tl_sql__parse(b->arena, text, strlen(text), 1, &ast, b->err), "view '%s'", view->name));
    tl_binder inner = *b;
    inner.catalog = tl_arena_strdup(b->arena, view->context_catalog);
    inner.db = tl_arena_strdup(b->arena, view->context_db);
    inner.scope = NULL;
    inner.ctes = NULL;
    inner.aggregates_allowed = inner.in_aggregate = false;
    inner.windows = NULL;
    TL_TRY(tl_error_wrap(b->err, tl_bind__query(&inner, ast, out), "view '%s'", view->name));
    b->depth--;
    return TL_OK;
}

static tl_status bind_view(tl_binder *b, const tl_sql_object *view, tl_plan **plan)
{
    TL_TRY(tl_bind__view(b, view, plan));
    if (view->names == NULL)
        return TL_OK;
    int32_t n = (*plan)->type->n_fields;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)n * sizeof *exprs);
    BIND_ALLOC(b, exprs);
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_bind__column(b, i, (*plan)->type->fields[i].type, NULL, &exprs[i]));
    return tl_bind__project(b, *plan, exprs, view->names, n, plan);
}

tl_status tl_bind__table_scan(tl_binder *b, const tl_ast *name, const tl_ast *hints, tl_plan **out, tl_scope **scope, const char *alias)
{
    tl_sql_table *table;
    tl_sql_object *object;
    tl_options *options;
    TL_TRY(tl_bind__table_options(b, name, hints, &options));
    b->scanning = true;
    tl_status status = tl_bind__table(b, name, options, &table, &object);
    b->scanning = false;
    TL_TRY(status);
    if (object != NULL && object->is_view) {
        TL_TRY(bind_view(b, object, out));
    } else {
        TL_TRY(plain_scan(b, table, out));
        if (object != NULL) {
            TL_TRY(add_computed(b, object, out));
            if (object->watermark != NULL)
                TL_TRY(add_watermark(b, object->watermark_column, object->watermark, out));
        } else if (!tl_table_is_system(table->table)) {
            TL_TRY(tl_bind__scan_partitions(b, table, out));
            TL_TRY(add_stored_definitions(b, table, out));
        }
    }
    TL_TRY(tl_bind__scope_of(b, *out, alias != NULL ? alias : tl_ast_last_name(name), NULL, name, scope));
    if (alias == NULL && *scope != NULL) {
        tl_sql_path path;
        TL_TRY(tl_bind__path(b, name, &path));
        for (int32_t i = 0; i < (*scope)->n_columns; i++) {
            (*scope)->columns[i].db = path.db;
            (*scope)->columns[i].catalog = path.catalog;
        }
    }
    return TL_OK;
}
