/* ALTER TABLE: of lake tables as schema changes (of the session's own: alter_object.c). */
#include "sql/commands.h"

typedef struct changes {
    tl_alter *items;
    size_t n, cap;
    const tl_sql_table *table;
    const tl_ast *name; /* of the table */
    int32_t n_added;    /* columns that the statement adds, stored and computed */
} changes;

static tl_status add_change(tl_binder *b, changes *list, tl_alter change)
{
    if (list->n == list->cap) {
        size_t cap = list->cap == 0 ? 8 : list->cap * 2;
        tl_alter *grown = tl_arena_alloc(b->arena, cap * sizeof *grown);
        BIND_ALLOC(b, grown);
        if (list->n > 0)
            memcpy(grown, list->items, list->n * sizeof *grown);
        list->items = grown;
        list->cap = cap;
    }
    list->items[list->n++] = change;
    return TL_OK;
}

static const char *position_after(const tl_ast *position)
{
    return position != NULL && position->kid[0] != NULL ? tl_ast_last_name(position->kid[0]) : NULL;
}

static const char *computed_key(tl_binder *b, int which, int32_t at)
{
    static const char *const parts[] = {"name", "expr", "data-type"};
    return tl_arena_strf(b->arena, "schema.%d.%s", (int)at, parts[which]);
}

/** An option of the computed column that stands at place `at` of all; `value` NULL takes it away. */
static tl_status computed_option(tl_binder *b, changes *list, int which, int32_t at, const char *value)
{
    const char *name = computed_key(b, which, at);
    BIND_ALLOC(b, name);
    return add_change(b, list, (tl_alter){.kind = value != NULL ? TL_ALTER_SET_OPTION : TL_ALTER_RESET_OPTION, .name = name, .value = value});
}

/** A computed column is three options, behind all other columns. Its expression sees the columns that were there before. */
static tl_status add_computed(tl_binder *b, const tl_ast *column, changes *list)
{
    if (column->kid[5] != NULL)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, column, "a computed column is added as the last one: FIRST and AFTER are not there");
    if (tl_type_field_index(list->table->row_type, column->text) >= 0 || tl_bind__stored_place(list->table, column->text) >= 0)
        return BIND_ERROR(b, column, "Column %s already exists in the table", column->text);
    tl_plan *plan;
    tl_scope *scope;
    tl_expr *e;
    TL_TRY(tl_bind__table_scan(b, list->name, NULL, &plan, &scope, NULL));
    b->scope = scope;
    tl_status status = tl_bind__expr(b, column->kid[1], &e);
    b->scope = NULL;
    TL_TRY(status);
    const char *source = tl_sql__source_of(b, column->kid[1]);
    BIND_ALLOC(b, source);
    const tl_options *options = &tl_table_schema_of(list->table->table)->options;
    int32_t at = list->table->row_type->n_fields + tl_bind__stored_computed(list->table) + list->n_added++;
    while (tl_options_get(options, tl_arena_strf(b->arena, "schema.%d.name", (int)at)) != NULL)
        at++;
    TL_TRY(computed_option(b, list, 0, at, column->text));
    TL_TRY(computed_option(b, list, 1, at, source));
    return computed_option(b, list, 2, at, tl_bind__type_text(b, e->type));
}

static tl_status drop_column(tl_binder *b, const tl_ast *name, bool alone, changes *list)
{
    int32_t at = name->count == 1 ? tl_bind__stored_place(list->table, tl_ast_last_name(name)) : -1;
    if (at < 0)
        return add_change(b, list, (tl_alter){.kind = TL_ALTER_DROP_COLUMN, .name = tl_ast_name_text(b->arena, name)});
    /* Those right behind it move up; where several go, what is left stands by the order of the numbers. */
    const tl_options *options = &tl_table_schema_of(list->table->table)->options;
    for (bool more = true; more; at++) {
        more = false;
        for (int which = 0; which < 3; which++) {
            const char *key = computed_key(b, which, at + 1);
            BIND_ALLOC(b, key);
            const char *next = alone ? tl_options_get(options, key) : NULL;
            more = more || next != NULL;
            TL_TRY(computed_option(b, list, which, at, next));
        }
    }
    return TL_OK;
}

static tl_status add_column(tl_binder *b, const tl_ast *column, changes *list)
{
    if (column->kid[0] == NULL)
        return add_computed(b, column, list);
    list->n_added++;
    const tl_type *type;
    TL_TRY(tl_bind__ast_type(b, column->kid[0], &type));
    const tl_ast *position = column->kid[5];
    return add_change(b, list,
                      (tl_alter){.kind = TL_ALTER_ADD_COLUMN,
                                 .name = column->text,
                                 .type = type,
                                 .comment = column->kid[2] != NULL ? column->kid[2]->text : NULL,
                                 .first = position != NULL && position->kid[0] == NULL,
                                 .after = position_after(position)});
}

/* A place inside a column: names of ROW fields, `element` of an ARRAY or MULTISET, `value` of a MAP. */
typedef struct place {
    const struct place *above;
    const char *name;
    int32_t depth;
} place;

static tl_status change_at(tl_binder *b, changes *list, const place *at, tl_alter change)
{
    char **path = tl_arena_alloc(b->arena, (size_t)at->depth * sizeof(*path));
    BIND_ALLOC(b, path);
    change.n_path = at->depth;
    change.path = path;
    for (const place *p = at; p != NULL; p = p->above) {
        path[p->depth - 1] = tl_arena_strdup(b->arena, p->name);
        BIND_ALLOC(b, path[p->depth - 1]);
    }
    change.name = path[0];
    return add_change(b, list, change);
}

static tl_status type_changes(tl_binder *b, const tl_ast *column, const place *at, const tl_type *old, const tl_type *type, changes *list);

/* Fields that stay keep their order; those that are not named any more go, new ones come where they are named. */
static tl_status row_changes(tl_binder *b, const tl_ast *column, const place *at, const tl_type *old, const tl_type *type, changes *list)
{
    for (int32_t i = 0, last = -1; i < type->n_fields; i++) {
        int32_t was = tl_type_field_index(old, type->fields[i].name);
        if (was >= 0 && was < last)
            return BIND_ERROR(b, column, "Order of existing fields in column %s must be kept the same. However, field %s and %s have changed their orders.",
                              column->text, old->fields[last].name, old->fields[was].name);
        last = was >= 0 ? was : last;
    }
    for (int32_t i = 0; i < old->n_fields; i++) {
        place field = {at, old->fields[i].name, at->depth + 1};
        if (tl_type_field_index(type, field.name) < 0)
            TL_TRY(change_at(b, list, &field, (tl_alter){.kind = TL_ALTER_DROP_COLUMN}));
    }
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_field *f = &type->fields[i];
        place field = {at, f->name, at->depth + 1};
        int32_t was = tl_type_field_index(old, f->name);
        if (was >= 0)
            TL_TRY(type_changes(b, column, &field, old->fields[was].type, f->type, list));
        else
            TL_TRY(change_at(b, list, &field,
                             (tl_alter){.kind = TL_ALTER_ADD_COLUMN, .type = f->type, .comment = f->description, .first = i == 0,
                                        .after = i > 0 ? type->fields[i - 1].name : NULL}));
    }
    return TL_OK;
}

/* What makes of one type the other, part by part, so that fields keep their ids (Java: NestedSchemaUtils). */
static tl_status type_changes(tl_binder *b, const tl_ast *column, const place *at, const tl_type *old, const tl_type *type, changes *list)
{
    bool nested = old->kind == TL_ROW || old->kind == TL_ARRAY || old->kind == TL_MAP || old->kind == TL_MULTISET;
    if (nested && type->kind != old->kind)
        return BIND_ERROR(b, column, "Column %s can only be updated to %s type", column->text,
                          old->kind == TL_ROW ? "row" : old->kind == TL_ARRAY ? "array" : old->kind == TL_MAP ? "map" : "multiset");
    if (old->kind == TL_ROW) {
        TL_TRY(row_changes(b, column, at, old, type, list));
    } else if (nested) {
        int32_t part = old->kind == TL_MAP;
        place below = {at, part == 1 ? "value" : "element", at->depth + 1};
        if (part == 1 && !tl_type_equal(old->fields[0].type, type->fields[0].type, /* with_nullable= */ true))
            return BIND_ERROR(b, column, "Cannot update key type of column %s", column->text);
        TL_TRY(type_changes(b, column, &below, old->fields[part].type, type->fields[part].type, list));
    } else if (!tl_type_equal(type, old, /* with_nullable= */ false)) {
        TL_TRY(change_at(b, list, at, (tl_alter){.kind = TL_ALTER_COLUMN_TYPE, .type = type, .keep_nullability = true}));
    }
    if (type->nullable != old->nullable)
        return change_at(b, list, at, (tl_alter){.kind = TL_ALTER_COLUMN_NULLABLE, .nullable = type->nullable});
    return TL_OK;
}

static tl_status modify_column(tl_binder *b, const tl_type *row, const tl_ast *column, changes *list)
{
    int32_t i = tl_type_field_index(row, column->text);
    if (i < 0)
        return BIND_ERROR(b, column, "Try to modify a column `%s` which does not exist in the table.", column->text);
    if (column->kid[0] == NULL)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, column, "making '%s' a computed column is not there", column->text);
    const tl_type *type, *old = row->fields[i].type;
    TL_TRY(tl_bind__ast_type(b, column->kid[0], &type));
    place top = {NULL, column->text, 1};
    TL_TRY(type_changes(b, column, &top, old, type, list));
    if (column->kid[2] != NULL)
        TL_TRY(add_change(b, list, (tl_alter){.kind = TL_ALTER_COLUMN_COMMENT, .name = column->text, .value = column->kid[2]->text}));
    const tl_ast *position = column->kid[5];
    if (position != NULL)
        TL_TRY(add_change(b, list, (tl_alter){.kind = TL_ALTER_COLUMN_POSITION, .name = column->text, .first = position->kid[0] == NULL, .after = position_after(position)}));
    return TL_OK;
}

/* `comment` is the table's comment, as Flink has it. */
static tl_status set_option(tl_binder *b, changes *list, const char *key, const char *value)
{
    if (strcmp(key, "comment") == 0)
        return add_change(b, list, (tl_alter){.kind = TL_ALTER_COMMENT, .value = value});
    return add_change(b, list, (tl_alter){.kind = value != NULL ? TL_ALTER_SET_OPTION : TL_ALTER_RESET_OPTION, .name = key, .value = value});
}

/** Of a column that is there, or that the same statement adds; `added` are its elements. */
static tl_status change_watermark(tl_binder *b, const tl_type *row, const tl_ast *watermark, const tl_ast *added, changes *list)
{
    const char *name = tl_ast_last_name(watermark->kid[0]);
    int32_t i = tl_type_field_index(row, name);
    const tl_type *type = i >= 0 ? row->fields[i].type : NULL;
    for (; type == NULL && added != NULL; added = added->next)
        if (added->kind == AST_COLUMN && added->kid[0] != NULL && strcmp(added->text, name) == 0)
            TL_TRY(tl_bind__ast_type(b, added->kid[0], &type));
    if (type == NULL)
        return BIND_ERROR(b, watermark, "WATERMARK FOR names no stored column of the table");
    tl_options *options;
    TL_TRY(tl_sql__new_options(b->stmt, &options, b->err));
    TL_TRY(tl_sql__watermark_options(b, options, watermark->kid[0], watermark->kid[1], type));
    for (size_t k = 0; k < options->count; k++)
        TL_TRY(set_option(b, list, options->keys[k], options->values[k]));
    return TL_OK;
}

static tl_status elements(tl_binder *b, const tl_type *row, const tl_ast *change, bool adds, changes *list)
{
    for (const tl_ast *e = tl_ast_first(change->kid[0]); e != NULL; e = e->next) {
        if (e->kind == AST_COLUMN)
            TL_TRY(adds ? add_column(b, e, list) : modify_column(b, row, e, list));
        else if (e->kind == AST_WATERMARK)
            TL_TRY(change_watermark(b, row, e, adds ? tl_ast_first(change->kid[0]) : NULL, list));
        else
            return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, e, "the primary key of a lake table cannot be changed");
    }
    return TL_OK;
}

/** PARTITION (a = 1, b = 'x') as name → text. */
tl_status tl_sql__partition_spec(tl_binder *b, const tl_ast *partition, const tl_sql_table *table, tl_options *out);

tl_status tl_sql__partition_spec(tl_binder *b, const tl_ast *partition, const tl_sql_table *table, tl_options *out)
{
    for (const tl_ast *p = tl_ast_first(partition); p != NULL; p = p->next) {
        int32_t i = tl_type_field_index(table->row_type, p->kid[0]->text);
        if (i < 0 || p->kid[1] == NULL)
            return BIND_ERROR(b, p, "PARTITION needs column = value for columns of the table");
        tl_expr *e;
        TL_TRY(tl_bind__expr(b, p->kid[1], &e));
        if (e->kind != TL_EXPR_LITERAL || e->type->kind != TL_CHAR) /* text is a partition's name, which casts need not know: 2024-01-01T12:30 */
            TL_TRY(tl_bind__coerce(b, e, table->row_type->fields[i].type, &e));
        if (e->kind != TL_EXPR_LITERAL)
            return BIND_ERROR(b, p, "the value of partition column '%s' must be constant", p->kid[0]->text);
        tl_buf text = {0};
        char *copy = NULL;
        bool good = tl_text_append_plain(&text, e->literal, 0) == TL_OK && tl_buf_steal_str(&text, &copy) == TL_OK && tl_options_set(out, p->kid[0]->text, copy) == TL_OK;
        tl_buf_deinit(&text);
        tl_free(copy);
        if (!good)
            return tl_nomem(b->err, "partition");
    }
    return TL_OK;
}

static tl_status drop_partitions(tl_binder *b, const tl_sql_table *table, const tl_ast *change)
{
    size_t n = (size_t)tl_ast_count(change->kid[0]), k = 0;
    tl_options *specs = tl_calloc(n + 1, sizeof *specs);
    if (specs == NULL)
        return tl_nomem(b->err, "partition");
    tl_status status = TL_OK;
    for (const tl_ast *p = tl_ast_first(change->kid[0]); p != NULL && status == TL_OK; p = p->next)
        status = tl_sql__partition_spec(b, p, table, &specs[k++]);
    if (status == TL_OK)
        status = tl_table_drop_partitions(table->table, specs, n, b->err);
    for (size_t i = 0; i < n; i++)
        tl_options_deinit(&specs[i]);
    tl_free(specs);
    return status;
}

static tl_status collect(tl_binder *b, const tl_type *row, const tl_ast *change, changes *list)
{
    const char *what = change->text;
    if (strcmp(what, "SET") == 0) {
        for (const tl_ast *o = tl_ast_first(change->kid[0]); o != NULL; o = o->next)
            TL_TRY(set_option(b, list, o->kid[0]->text, o->kid[1]->text));
        return TL_OK;
    }
    if (strcmp(what, "RESET") == 0) {
        for (const tl_ast *o = tl_ast_first(change->kid[0]); o != NULL; o = o->next)
            TL_TRY(set_option(b, list, o->text, NULL));
        return TL_OK;
    }
    if (strcmp(what, "RENAME") == 0)
        return add_change(b, list, (tl_alter){.kind = TL_ALTER_RENAME_COLUMN, .name = tl_ast_name_text(b->arena, change->kid[0]), .value = change->kid[1]->text});
    if (strcmp(what, "DROP") == 0) {
        for (const tl_ast *name = tl_ast_first(change->kid[0]); name != NULL; name = name->next)
            TL_TRY(drop_column(b, name, name->next == NULL && name == tl_ast_first(change->kid[0]), list));
        return TL_OK;
    }
    if (strcmp(what, "ADD") == 0 || strcmp(what, "MODIFY") == 0)
        return elements(b, row, change, what[0] == 'A', list);
    if (strcmp(what, "DROP WATERMARK") == 0) {
        static const char *const keys[] = {
            TL_WATERMARK_OPTION "rowtime", TL_WATERMARK_OPTION "strategy.expr", TL_WATERMARK_OPTION "strategy.data-type",
            "schema.watermark.rowtime", "schema.watermark.strategy.expr", "schema.watermark.strategy.data-type"};
        for (size_t i = 0; i < TL_ARRAY_LEN(keys); i++)
            TL_TRY(set_option(b, list, keys[i], NULL));
        return TL_OK;
    }
    if (strcmp(what, "DROP PRIMARY KEY") == 0)
        return add_change(b, list, (tl_alter){.kind = TL_ALTER_DROP_PRIMARY_KEY});
    if (strcmp(what, "ADD PARTITION") == 0)
        return TL_OK; /* partitions come with their rows */
    return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, change, "ALTER TABLE … %s of a lake table is not there", what);
}

static tl_status alter_lake(tl_binder *b, const tl_ast *ast, const tl_sql_table *table)
{
    const tl_ast *first = tl_ast_first(ast->kid[1]);
    if (strcmp(first->text, "RENAME TO") == 0)
        return tl_catalog_rename_table(table->lake, table->db, table->name, tl_ast_last_name(first->kid[0]), b->err);
    if (strcmp(first->text, "DROP PARTITION") == 0)
        return drop_partitions(b, table, first);
    changes list = {.table = table, .name = ast->kid[0]};
    for (const tl_ast *change = first; change != NULL; change = change->next) {
        const char *column, *strategy;
        if (strcmp(change->text, "DROP WATERMARK") == 0 && !tl_bind__stored_watermark(&tl_table_schema_of(table->table)->options, &column, &strategy))
            return BIND_ERROR(b, change, "The base table does not define any watermark strategy");
        TL_TRY(collect(b, table->row_type, change, &list));
    }
    return list.n == 0 ? TL_OK : tl_table_alter(table->lake, table->db, table->name, list.items, list.n, b->err);
}

tl_status tl_sql__alter_table(tl_binder *b, const tl_ast *ast)
{
    tl_sql_table *table;
    tl_sql_object *object;
    tl_status status = tl_bind__table(b, ast->kid[0], NULL, &table, &object);
    if (status == TL_E_NOT_FOUND && (ast->flags & AST_F_IF) != 0)
        return TL_OK;
    TL_TRY(status);
    status = object != NULL ? tl_sql__alter_object(b, ast, object) : alter_lake(b, ast, table);
    if (strncmp(b->err->message, "line ", 5) == 0) /* it says itself where */
        return status;
    return tl_error_wrap(b->err, status, "line %d:%d", (int)ast->line, (int)ast->position);
}
