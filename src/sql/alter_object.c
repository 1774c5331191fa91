/*
 * ALTER TABLE of a table that the session keeps: its definition is taken, changed, checked as CREATE TABLE does, and put in the table's
 * place. Statements that were prepared before have their own copy.
 */
#include "sql/commands.h"
#include "sql/definition.h"

static int32_t find_column(const tl_definition *d, const char *name)
{
    int32_t i = 0;
    while (i < d->n_columns && strcmp(d->columns[i].name, name) != 0)
        i++;
    return i < d->n_columns ? i : -1;
}

static tl_status existing(tl_binder *b, const tl_definition *d, const tl_ast *at, const char *name, int32_t *out)
{
    *out = find_column(d, name);
    return *out >= 0 ? TL_OK : BIND_ERROR(b, at, "The column `%s` does not exist in the base table.", name);
}

/** Move the column at `from` to where its ALTER says; nothing if it does not. */
static tl_status place_column(tl_binder *b, tl_definition *d, int32_t from, const tl_ast *position)
{
    if (position == NULL)
        return TL_OK;
    int32_t to = 0;
    tl_sql_column column = d->columns[from];
    if (position->kid[0] != NULL) {
        TL_TRY(existing(b, d, position, tl_ast_last_name(position->kid[0]), &to));
        if (to == from)
            return BIND_ERROR(b, position, "column `%s` cannot come after itself", column.name);
        to += to < from;
    }
    if (to < from)
        memmove(&d->columns[to + 1], &d->columns[to], (size_t)(from - to) * sizeof *d->columns);
    else
        memmove(&d->columns[from], &d->columns[from + 1], (size_t)(to - from) * sizeof *d->columns);
    d->columns[to] = column;
    return TL_OK;
}

static bool names_column(const tl_ast *e, const char *name)
{
    if (e == NULL)
        return false;
    if (e->kind == AST_NAME)
        return strcmp(tl_ast_last_name(e), name) == 0;
    if (e->kind == AST_LIST || e->kind == AST_AND || e->kind == AST_OR) {
        for (const tl_ast *element = e->kid[0]; element != NULL; element = element->next)
            if (names_column(element, name))
                return true;
        return false;
    }
    for (int i = 0; i < TL_AST_KIDS; i++)
        if (names_column(e->kid[i], name))
            return true;
    return false;
}

static bool is_among(const char *const *names, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/** What is named elsewhere in the table can be neither dropped nor renamed. `dropping`: nor may it be a key. */
static tl_status check_unused(tl_binder *b, const tl_definition *d, const tl_ast *at, const char *name, bool dropping)
{
    for (int32_t i = 0; i < d->n_columns; i++)
        if (names_column(d->columns[i].computed, name))
            return BIND_ERROR(b, at, "The column `%s` is referenced by computed column `%s`.", name, d->columns[i].name);
    if (d->watermark != NULL && (names_column(d->watermark, name) || names_column(d->watermark_column, name)))
        return BIND_ERROR(b, at, "The column `%s` is referenced by watermark expression.", name);
    if (is_among(d->partition_key, d->n_partition_key, name))
        return BIND_ERROR(b, at, "The column `%s` is used as the partition keys.", name);
    if (dropping && is_among(d->primary_key, d->n_primary_key, name))
        return BIND_ERROR(b, at, "The column `%s` is used as the primary key.", name);
    return TL_OK;
}

static tl_status add_or_modify_column(tl_binder *b, tl_definition *d, const tl_ast *ast, bool adds)
{
    tl_sql_column column;
    int32_t at;
    TL_TRY(tl_def__column(b, ast, &column));
    if (adds) {
        if (find_column(d, column.name) >= 0)
            return BIND_ERROR(b, ast, "Try to add a column `%s` which already exists in the table.", column.name);
        TL_TRY(tl_def__add_column(b, d, column, ast));
        at = d->n_columns - 1;
    } else {
        TL_TRY(existing(b, d, ast, column.name, &at));
        if (column.comment == NULL)
            column.comment = d->columns[at].comment;
        d->columns[at] = column;
    }
    if (ast->kid[4] != NULL) {
        if (d->n_primary_key > 0)
            return BIND_ERROR(b, ast, "The base table has already defined the primary key constraint.");
        d->primary_key = tl_arena_alloc(b->arena, sizeof *d->primary_key);
        BIND_ALLOC(b, d->primary_key);
        d->primary_key[0] = column.name;
        d->n_primary_key = 1;
    }
    return place_column(b, d, at, ast->kid[5]);
}

static tl_status add_or_modify(tl_binder *b, tl_definition *d, const tl_ast *elements, bool adds)
{
    for (const tl_ast *e = tl_ast_first(elements); e != NULL; e = e->next) {
        if (e->kind == AST_COLUMN) {
            TL_TRY(add_or_modify_column(b, d, e, adds));
        } else if (e->kind == AST_WATERMARK) {
            if (adds && d->watermark != NULL)
                return BIND_ERROR(b, e, "The base table has already defined the watermark strategy: MODIFY it, or drop it before.");
            if (!adds && d->watermark == NULL)
                return BIND_ERROR(b, e, "The base table does not define any watermark: ADD one.");
            d->watermark_column = e->kid[0];
            d->watermark = e->kid[1];
        } else {
            if (adds && d->n_primary_key > 0)
                return BIND_ERROR(b, e, "The base table has already defined the primary key constraint: MODIFY it, or drop it before.");
            if (!adds && d->n_primary_key == 0)
                return BIND_ERROR(b, e, "The base table does not define any primary key constraint: ADD one.");
            TL_TRY(tl_def__id_texts(b, e->kid[0], &d->primary_key, &d->n_primary_key));
        }
    }
    return TL_OK;
}

static tl_status rename_column(tl_binder *b, tl_definition *d, const tl_ast *change)
{
    const char *old = tl_ast_last_name(change->kid[0]), *name = change->kid[1]->text;
    int32_t at;
    TL_TRY(existing(b, d, change, old, &at));
    if (find_column(d, name) >= 0)
        return BIND_ERROR(b, change, "The column `%s` already existed in table schema.", name);
    TL_TRY(check_unused(b, d, change, old, /* dropping= */ false));
    d->columns[at].name = name;
    const char **keys = tl_arena_alloc(b->arena, (size_t)(d->n_primary_key + 1) * sizeof *keys);
    BIND_ALLOC(b, keys);
    for (int32_t i = 0; i < d->n_primary_key; i++)
        keys[i] = strcmp(d->primary_key[i], old) == 0 ? name : d->primary_key[i];
    d->primary_key = keys;
    return TL_OK;
}

static tl_status drop_columns(tl_binder *b, tl_definition *d, const tl_ast *names)
{
    for (const tl_ast *name = tl_ast_first(names); name != NULL; name = name->next) {
        int32_t at;
        TL_TRY(existing(b, d, name, tl_ast_last_name(name), &at));
        tl_sql_column gone = d->columns[at];
        memmove(&d->columns[at], &d->columns[at + 1], (size_t)(d->n_columns - at - 1) * sizeof *d->columns);
        d->n_columns--;
        TL_TRY(check_unused(b, d, name, gone.name, /* dropping= */ true));
    }
    return d->n_columns > 0 ? TL_OK : BIND_ERROR(b, names, "a table keeps one column at least: drop the table instead");
}

static tl_status change_options(tl_binder *b, tl_definition *d, const tl_ast *change)
{
    for (const tl_ast *o = tl_ast_first(change->kid[0]); o != NULL; o = o->next) {
        if (o->kind != AST_OPTION && strcmp(o->text, "connector") == 0)
            return BIND_ERROR(b, o, "ALTER TABLE RESET does not support changing 'connector'");
        if (o->kind != AST_OPTION)
            tl_options_remove(d->options, o->text);
        else if (tl_options_set(d->options, o->kid[0]->text, o->kid[1]->text) != TL_OK)
            return tl_nomem(b->err, "options");
    }
    return TL_OK;
}

static tl_status change_definition(tl_binder *b, tl_definition *d, const tl_ast *change)
{
    const char *what = change->text;
    if (strcmp(what, "SET") == 0 || strcmp(what, "RESET") == 0)
        return change_options(b, d, change);
    if (strcmp(what, "ADD") == 0 || strcmp(what, "MODIFY") == 0)
        return add_or_modify(b, d, change->kid[0], what[0] == 'A');
    if (strcmp(what, "RENAME") == 0)
        return rename_column(b, d, change);
    if (strcmp(what, "DROP") == 0)
        return drop_columns(b, d, change->kid[0]);
    if (strcmp(what, "DROP WATERMARK") == 0) {
        if (d->watermark == NULL)
            return BIND_ERROR(b, change, "The base table does not define any watermark strategy.");
        d->watermark = d->watermark_column = NULL;
        return TL_OK;
    }
    if (strcmp(what, "DROP PRIMARY KEY") == 0) {
        if (d->n_primary_key == 0)
            return BIND_ERROR(b, change, "The base table does not define any primary key.");
        d->n_primary_key = 0;
        return TL_OK;
    }
    return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, change, "ALTER TABLE … %s: a table of the session has no partitions of its own", what);
}

tl_status tl_sql__alter_object(tl_binder *b, const tl_ast *ast, tl_sql_object *object)
{
    const tl_ast *change = tl_ast_first(ast->kid[1]);
    if (object->is_view)
        return BIND_ERROR(b, ast, "'%s' is a view: drop it and create it anew", object->name);
    if (strcmp(change->text, "RENAME TO") == 0) {
        const tl_sql_path path = {object->catalog, object->db, tl_ast_last_name(change->kid[0])};
        if (tl_sql__object(b->session, &path) != NULL)
            return BIND_ERROR(b, change, "Table (or view) %s.%s already exists in Catalog %s.", path.db, path.name, path.catalog);
        const char *name = tl_arena_strdup(&object->arena, path.name);
        BIND_ALLOC(b, name);
        object->name = name;
        return TL_OK;
    }
    tl_definition d;
    TL_TRY(tl_def__of_object(b, object, ast, &d));
    for (; change != NULL; change = change->next)
        TL_TRY(change_definition(b, &d, change));
    TL_TRY(tl_def__finish(b, &d, ast));
    return tl_def__replace_object(b, object, &d);
}
