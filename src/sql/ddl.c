/*
 * CREATE and DROP: catalogs, databases, tables of a lake, and the session's own tables and views.
 *
 * A lake stores columns, keys, comments and options. What it has no place for, computed columns and watermarks, goes into options
 * as the reference's connector keeps them (bind_table.c reads them back).
 */
#include <stdio.h>
#include <strings.h>

#include "base/parse.h"
#include "sql/definition.h"

/* ---- trees that outlive their statement ---- */

static bool is_list(tl_ast_kind kind)
{
    return kind == AST_LIST || kind == AST_NAME || kind == AST_AND || kind == AST_OR || kind == AST_SETOP;
}

/** Deep copy; NULL if out of memory. */
static tl_ast *copy_tree(tl_arena *arena, const tl_ast *ast)
{
    tl_ast *copy = tl_arena_alloc(arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *ast;
    copy->next = NULL;
    if (ast->text != NULL) {
        size_t bytes = ast->kind == AST_STRING || ast->kind == AST_BYTES ? (size_t)ast->count : strlen(ast->text);
        copy->text = tl_arena_strndup(arena, ast->text, bytes);
        if (copy->text == NULL)
            return NULL;
    }
    if (!is_list(ast->kind)) {
        for (int i = 0; i < TL_AST_KIDS; i++)
            if (ast->kid[i] != NULL && (copy->kid[i] = copy_tree(arena, ast->kid[i])) == NULL)
                return NULL;
        return copy;
    }
    tl_ast **link = &copy->kid[0];
    *link = NULL;
    for (const tl_ast *e = ast->kid[0]; e != NULL; e = e->next) {
        tl_ast *element = copy_tree(arena, e);
        if (element == NULL)
            return NULL;
        *link = element;
        link = &element->next;
        copy->kid[1] = element;
    }
    return copy;
}

/* ---- a table's definition, before it goes anywhere ---- */

tl_status tl_def__add_column(tl_binder *b, tl_definition *d, tl_sql_column column, const tl_ast *at)
{
    for (int32_t i = 0; i < d->n_columns; i++)
        if (strcmp(d->columns[i].name, column.name) == 0)
            return BIND_ERROR(b, at, "A column named '%s' already exists in the table.", column.name);
    if (d->n_columns == d->cap) {
        int32_t cap = d->cap == 0 ? 16 : d->cap * 2;
        tl_sql_column *grown = tl_arena_alloc(b->arena, (size_t)cap * sizeof *grown);
        BIND_ALLOC(b, grown);
        if (d->n_columns > 0)
            memcpy(grown, d->columns, (size_t)d->n_columns * sizeof *grown);
        d->columns = grown;
        d->cap = cap;
    }
    d->columns[d->n_columns++] = column;
    return TL_OK;
}

tl_status tl_def__id_texts(tl_binder *b, const tl_ast *ids, const char ***out, int32_t *n)
{
    *out = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(ids) + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    *n = 0;
    for (const tl_ast *id = tl_ast_first(ids); id != NULL; id = id->next)
        (*out)[(*n)++] = id->text;
    return TL_OK;
}

tl_status tl_def__column(tl_binder *b, const tl_ast *ast, tl_sql_column *out)
{
    *out = (tl_sql_column){.name = ast->text, .computed = ast->kid[1], .comment = ast->kid[2] != NULL ? ast->kid[2]->text : NULL};
    if (ast->kid[0] != NULL)
        TL_TRY(tl_bind__ast_type(b, ast->kid[0], &out->type));
    if (ast->kid[3] != NULL) {
        out->metadata = ast->kid[3]->kind == AST_STRING ? ast->kid[3]->text : ast->text;
        out->is_virtual = (ast->kid[3]->flags & AST_F_VIRTUAL) != 0;
    }
    return TL_OK;
}

static tl_status define_column(tl_binder *b, tl_definition *d, const tl_ast *ast)
{
    tl_sql_column c;
    TL_TRY(tl_def__column(b, ast, &c));
    if (ast->kid[4] != NULL) {
        if (d->n_primary_key > 0)
            return BIND_ERROR(b, ast, "Duplicate primary key definition");
        d->primary_key = tl_arena_alloc(b->arena, sizeof *d->primary_key);
        BIND_ALLOC(b, d->primary_key);
        d->primary_key[0] = ast->text;
        d->n_primary_key = 1;
    }
    return tl_def__add_column(b, d, c, ast);
}

static tl_status define_elements(tl_binder *b, tl_definition *d, const tl_ast *elements)
{
    for (const tl_ast *e = tl_ast_first(elements); e != NULL; e = e->next) {
        if (e->kind == AST_COLUMN) {
            TL_TRY(define_column(b, d, e));
        } else if (e->kind == AST_WATERMARK) {
            d->watermark_column = e->kid[0];
            d->watermark = e->kid[1];
        } else {
            if (d->n_primary_key > 0)
                return BIND_ERROR(b, e, "Duplicate primary key definition");
            TL_TRY(tl_def__id_texts(b, e->kid[0], &d->primary_key, &d->n_primary_key));
        }
    }
    return TL_OK;
}

static tl_status define_options(tl_binder *b, tl_definition *d, const tl_ast *options)
{
    for (const tl_ast *o = tl_ast_first(options); o != NULL; o = o->next)
        if (tl_options_set(d->options, o->kid[0]->text, o->kid[1]->text) != TL_OK)
            return tl_nomem(b->err, "options");
    return TL_OK;
}

/** INCLUDING/EXCLUDING of a part of LIKE: the last that names it or ALL. */
static bool includes(const tl_ast *like, const char *part)
{
    bool result = true;
    for (const tl_ast *o = tl_ast_first(like->kid[1]); o != NULL; o = o->next) {
        const char *what = strchr(o->text, ' ') + 1;
        if (strcmp(what, part) == 0 || strcmp(what, "ALL") == 0)
            result = strncmp(o->text, "EXCLUDING", 9) != 0;
    }
    return result;
}

static tl_status copy_options(tl_binder *b, tl_definition *d, const tl_options *from)
{
    for (size_t i = 0; i < from->count; i++)
        if (strncmp(from->keys[i], "schema.", 7) != 0 && strcmp(from->keys[i], "path") != 0 && tl_options_set(d->options, from->keys[i], from->values[i]) != TL_OK)
            return tl_nomem(b->err, "options");
    return TL_OK;
}

static tl_status like_object(tl_binder *b, tl_definition *d, const tl_ast *like, const tl_sql_object *object)
{
    if (object->is_view)
        return BIND_ERROR(b, like, "LIKE needs a table, '%s' is a view", object->name);
    for (int32_t i = 0; i < object->n_columns; i++) {
        const tl_sql_column *c = &object->columns[i];
        if ((c->computed != NULL && !includes(like, "GENERATED")) || (c->metadata != NULL && !includes(like, "METADATA")))
            continue;
        TL_TRY(tl_def__add_column(b, d, *c, like));
    }
    if (includes(like, "CONSTRAINTS")) {
        d->primary_key = object->primary_key;
        d->n_primary_key = object->n_primary_key;
    }
    if (includes(like, "PARTITIONS")) {
        d->partition_key = object->partition_key;
        d->n_partition_key = object->n_partition_key;
    }
    if (includes(like, "WATERMARKS")) {
        d->watermark_column = object->watermark_column;
        d->watermark = object->watermark;
    }
    return includes(like, "OPTIONS") ? copy_options(b, d, &object->options) : TL_OK;
}

/* Stored columns and, among them, the computed ones, which are kept as options. */
static tl_status like_columns(tl_binder *b, tl_definition *d, const tl_ast *like, const tl_sql_table *table)
{
    const tl_type *type = table->row_type;
    int32_t computed = tl_bind__stored_computed(table), stored = 0;
    for (int32_t i = 0; i < type->n_fields + computed; i++) {
        const char *name, *text = tl_bind__stored_expr(table, i, &name);
        tl_sql_column column = {.name = name};
        if (text != NULL)
            TL_TRY(tl_error_wrap(b->err, tl_sql__parse_expr(b->arena, text, strlen(text), &column.computed, b->err), "computed column '%s'", name));
        else if (stored < type->n_fields)
            column = (tl_sql_column){.name = type->fields[stored].name, .type = type->fields[stored].type, .comment = type->fields[stored].description};
        else
            continue;
        stored += text == NULL;
        if (text == NULL || includes(like, "GENERATED"))
            TL_TRY(tl_def__add_column(b, d, column, like));
    }
    return TL_OK;
}

static tl_status like_watermark(tl_binder *b, tl_definition *d, const tl_options *options)
{
    const char *column, *strategy;
    if (!tl_bind__stored_watermark(options, &column, &strategy))
        return TL_OK;
    const char *quoted = tl_arena_strf(b->arena, "`%s`", column);
    BIND_ALLOC(b, quoted);
    TL_TRY(tl_sql__parse_expr(b->arena, quoted, strlen(quoted), &d->watermark_column, b->err));
    return tl_error_wrap(b->err, tl_sql__parse_expr(b->arena, strategy, strlen(strategy), &d->watermark, b->err), "watermark of '%s'", column);
}

static tl_status like_table(tl_binder *b, tl_definition *d, const tl_ast *like, const tl_sql_table *table)
{
    if (tl_table_is_system(table->table))
        return BIND_ERROR(b, like, "LIKE needs a table, '%s' is a system table", table->name);
    const tl_table_schema *schema = tl_table_schema_of(table->table);
    TL_TRY(like_columns(b, d, like, table));
    if (includes(like, "CONSTRAINTS")) {
        d->primary_key = (const char **)schema->primary_keys;
        d->n_primary_key = schema->n_primary_keys;
    }
    if (includes(like, "PARTITIONS")) {
        d->partition_key = (const char **)schema->partition_keys;
        d->n_partition_key = schema->n_partition_keys;
    }
    if (includes(like, "WATERMARKS"))
        TL_TRY(like_watermark(b, d, &schema->options));
    return includes(like, "OPTIONS") ? copy_options(b, d, &schema->options) : TL_OK;
}

static tl_status define_like(tl_binder *b, tl_definition *d, const tl_ast *like)
{
    tl_sql_table *table;
    tl_sql_object *object;
    TL_TRY(tl_bind__table(b, like->kid[0], NULL, &table, &object));
    return object != NULL ? like_object(b, d, like, object) : like_table(b, d, like, table);
}

static tl_status define_query_columns(tl_binder *b, tl_definition *d, const tl_type *row, const tl_ast *at)
{
    for (int32_t i = 0; i < row->n_fields; i++) {
        const tl_field *f = &row->fields[i];
        if (tl_sql__is_interval(f->type) || tl_sql__is_null_type(f->type))
            return BIND_ERROR(b, at, "column '%s' of the query is %s, which no table can hold", f->name, tl_bind__type_text(b, f->type));
        TL_TRY(tl_def__add_column(b, d, (tl_sql_column){.name = f->name, .type = f->type}, at));
    }
    return TL_OK;
}

static bool named(const char *const *names, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

tl_status tl_def__finish(tl_binder *b, tl_definition *d, const tl_ast *ast)
{
    for (int32_t i = 0; i < d->n_columns; i++) /* key columns are NOT NULL */
        if (d->columns[i].type != NULL && named(d->primary_key, d->n_primary_key, d->columns[i].name))
            TL_TRY(tl_bind__nullable(b, d->columns[i].type, false, &d->columns[i].type));
    for (int32_t k = 0; k < d->n_primary_key + d->n_partition_key; k++) {
        bool is_primary = k < d->n_primary_key;
        const char *name = is_primary ? d->primary_key[k] : d->partition_key[k - d->n_primary_key];
        int32_t i = 0;
        while (i < d->n_columns && strcmp(d->columns[i].name, name) != 0)
            i++;
        if (i == d->n_columns)
            return BIND_ERROR(b, ast, "%s column '%s' is not defined in the schema", is_primary ? "Primary key" : "Partition", name);
        if (d->columns[i].computed != NULL)
            return BIND_ERROR(b, ast, "%s column '%s' is a computed column", is_primary ? "Primary key" : "Partition", name);
    }
    return TL_OK;
}

static tl_status define(tl_binder *b, const tl_ast *ast, const tl_type *query_type, tl_definition *d)
{
    *d = (tl_definition){.comment = ast->kid[2] != NULL ? ast->kid[2]->text : NULL};
    TL_TRY(tl_sql__new_options(b->stmt, &d->options, b->err));
    if (ast->kid[5] != NULL)
        TL_TRY(define_like(b, d, ast->kid[5]));
    TL_TRY(define_elements(b, d, ast->kid[1]));
    if (query_type != NULL) {
        if (d->n_columns > 0)
            return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "columns in CREATE TABLE … AS: the query gives them (only a key, partitions and options can be named)");
        TL_TRY(define_query_columns(b, d, query_type, ast));
    }
    if (ast->kid[3] != NULL)
        TL_TRY(tl_def__id_texts(b, ast->kid[3], &d->partition_key, &d->n_partition_key));
    TL_TRY(define_options(b, d, ast->kid[4]));
    return tl_def__finish(b, d, ast);
}

/* ---- into the session ---- */

static tl_status texts_into(tl_arena *arena, const char *const *from, int32_t n, const char ***out)
{
    *out = tl_arena_calloc(arena, (size_t)n + 1, sizeof **out);
    for (int32_t i = 0; *out != NULL && i < n; i++)
        if (((*out)[i] = tl_arena_strdup(arena, from[i])) == NULL)
            return TL_E_NOMEM;
    return *out != NULL ? TL_OK : TL_E_NOMEM;
}

static tl_sql_object *new_object(const tl_sql_path *path, bool temporary)
{
    tl_arena arena = {0};
    tl_sql_object *object = tl_arena_calloc(&arena, 1, sizeof *object);
    if (object == NULL)
        return NULL;
    object->temporary = temporary;
    object->catalog = tl_arena_strdup(&arena, path->catalog);
    object->db = tl_arena_strdup(&arena, path->db);
    object->name = tl_arena_strdup(&arena, path->name);
    object->arena = arena;
    if (object->catalog == NULL || object->db == NULL || object->name == NULL) {
        tl_sql__object_free(object);
        return NULL;
    }
    return object;
}

static tl_status fill_column(tl_arena *arena, const tl_sql_column *from, tl_sql_column *to)
{
    to->is_virtual = from->is_virtual;
    if ((to->name = tl_arena_strdup(arena, from->name)) == NULL)
        return TL_E_NOMEM;
    if (from->computed != NULL && (to->computed = copy_tree(arena, from->computed)) == NULL)
        return TL_E_NOMEM;
    if (from->metadata != NULL && (to->metadata = tl_arena_strdup(arena, from->metadata)) == NULL)
        return TL_E_NOMEM;
    if (from->comment != NULL && (to->comment = tl_arena_strdup(arena, from->comment)) == NULL)
        return TL_E_NOMEM;
    if (from->type != NULL)
        to->type = tl_type_ref(from->type);
    return TL_OK;
}

static tl_status fill_object(tl_sql_object *object, const tl_definition *d)
{
    tl_arena *arena = &object->arena;
    object->columns = tl_arena_calloc(arena, (size_t)d->n_columns + 1, sizeof *object->columns);
    if (object->columns == NULL)
        return TL_E_NOMEM;
    for (int32_t i = 0; i < d->n_columns; i++) {
        object->n_columns = i + 1;
        TL_TRY(fill_column(arena, &d->columns[i], &object->columns[i]));
    }
    TL_TRY(texts_into(arena, d->primary_key, d->n_primary_key, &object->primary_key));
    TL_TRY(texts_into(arena, d->partition_key, d->n_partition_key, &object->partition_key));
    object->n_primary_key = d->n_primary_key;
    object->n_partition_key = d->n_partition_key;
    if (d->watermark != NULL) {
        object->watermark_column = copy_tree(arena, d->watermark_column);
        object->watermark = copy_tree(arena, d->watermark);
        if (object->watermark_column == NULL || object->watermark == NULL)
            return TL_E_NOMEM;
    }
    if (d->comment != NULL && (object->comment = tl_arena_strdup(arena, d->comment)) == NULL)
        return TL_E_NOMEM;
    return tl_options_dup(d->options, &object->options);
}

static tl_status create_object(tl_binder *b, const tl_sql_path *path, const tl_definition *d, const tl_ast *ast, bool *existed)
{
    if (tl_options_get(d->options, "connector") == NULL)
        return BIND_ERROR(b, ast, "table '%s' needs an option 'connector' (filesystem, datagen, print, blackhole); tables without one live in a catalog of type 'paimon'",
                          path->name);
    tl_sql_object *object = new_object(path, (ast->flags & AST_F_TEMPORARY) != 0);
    if (object == NULL || fill_object(object, d) != TL_OK) {
        tl_sql__object_free(object);
        return tl_nomem(b->err, "table");
    }
    size_t before = b->session->n_objects;
    tl_status status = tl_bind__check_object(b, object);
    if (status != TL_OK) {
        tl_sql__object_free(object);
        return status;
    }
    status = tl_sql__add_object(b->session, object, (ast->flags & AST_F_IF) != 0, b->err);
    TL_TRY(tl_error_wrap(b->err, status, "line %d:%d", (int)ast->line, (int)ast->position));
    *existed = b->session->n_objects == before;
    return TL_OK;
}

tl_status tl_def__of_object(tl_binder *b, const tl_sql_object *object, const tl_ast *at, tl_definition *out)
{
    *out = (tl_definition){.comment = object->comment};
    TL_TRY(tl_sql__new_options(b->stmt, &out->options, b->err));
    const tl_ast like = {.kind = AST_LIKE, .line = at->line, .position = at->position};
    TL_TRY(like_object(b, out, &like, object));
    const char *path = tl_options_get(&object->options, "path");
    return path == NULL || tl_options_set(out->options, "path", path) == TL_OK ? TL_OK : tl_nomem(b->err, "options");
}

tl_status tl_def__replace_object(tl_binder *b, tl_sql_object *object, const tl_definition *d)
{
    const tl_sql_path path = {object->catalog, object->db, object->name};
    tl_sql_object *fresh = new_object(&path, object->temporary);
    if (fresh == NULL || fill_object(fresh, d) != TL_OK) {
        tl_sql__object_free(fresh);
        return tl_nomem(b->err, "table");
    }
    tl_status status = tl_bind__check_object(b, fresh);
    if (status == TL_OK)
        tl_sql__swap_object(b->session, object, fresh);
    else
        tl_sql__object_free(fresh);
    return status;
}

/* ---- into a lake ---- */

const char *tl_sql__source_of(tl_binder *b, const tl_ast *e)
{
    tl_buf buf = {0};
    const char *text = NULL;
    if (tl_sql__unparse(e, &buf) == TL_OK)
        text = tl_arena_strndup(b->arena, (const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    return text;
}

static tl_status set_option(tl_binder *b, tl_options *options, const char *key, const char *value)
{
    return key != NULL && value != NULL && tl_options_set(options, key, value) == TL_OK ? TL_OK : tl_nomem(b->err, "options");
}

tl_status tl_sql__watermark_options(tl_binder *b, tl_options *options, const tl_ast *column, const tl_ast *watermark, const tl_type *type)
{
    TL_TRY(tl_bind__check_rowtime(b, column, type));
    TL_TRY(set_option(b, options, TL_WATERMARK_OPTION "rowtime", tl_ast_last_name(column)));
    TL_TRY(set_option(b, options, TL_WATERMARK_OPTION "strategy.expr", tl_sql__source_of(b, watermark)));
    return set_option(b, options, TL_WATERMARK_OPTION "strategy.data-type", tl_bind__type_text(b, type));
}

/** Computed columns and watermark as options. */
static tl_status store_definitions(tl_binder *b, const tl_definition *d, const tl_plan *shape)
{
    for (int32_t i = 0; i < d->n_columns; i++) {
        if (d->columns[i].computed == NULL)
            continue;
        tl_scope *scope;
        tl_expr *e;
        TL_TRY(tl_bind__scope_of(b, shape, NULL, NULL, d->columns[i].computed, &scope));
        b->scope = scope;
        tl_status status = tl_bind__expr(b, d->columns[i].computed, &e);
        b->scope = NULL;
        TL_TRY(status);
        TL_TRY(set_option(b, d->options, tl_arena_strf(b->arena, "schema.%d.name", (int)i), d->columns[i].name));
        TL_TRY(set_option(b, d->options, tl_arena_strf(b->arena, "schema.%d.expr", (int)i), tl_sql__source_of(b, d->columns[i].computed)));
        TL_TRY(set_option(b, d->options, tl_arena_strf(b->arena, "schema.%d.data-type", (int)i), tl_bind__type_text(b, e->type)));
    }
    if (d->watermark == NULL)
        return TL_OK;
    int32_t column = tl_type_field_index(shape->type, tl_ast_last_name(d->watermark_column));
    if (column < 0)
        return BIND_ERROR(b, d->watermark_column, "WATERMARK FOR names no stored column of the table");
    return tl_sql__watermark_options(b, d->options, d->watermark_column, d->watermark, shape->type->fields[column].type);
}

/* Whether an option names a column, among others. SQL has no type for blobs: they are declared as BYTES, as in Flink; nor has Flink's for vectors. */
static bool is_named(const tl_definition *d, const char *option, const char *name)
{
    return tl_list_has(tl_options_get(d->options, option), name);
}

/* An ARRAY of the option 'vector-field' is a VECTOR of the length that 'field.NAME.vector-dim' tells (Java: LogicalTypeConversion#toVectorType). */
static tl_status vector_type(tl_binder *b, const tl_definition *d, const tl_sql_column *c, const tl_ast *ast, const tl_type **out)
{
    const char *key = tl_arena_strf(b->arena, "field.%s.vector-dim", c->name);
    BIND_ALLOC(b, key);
    const char *text = tl_options_get(d->options, key);
    int64_t length = 0;
    if (c->type->kind != TL_ARRAY)
        return BIND_ERROR(b, ast, "column '%s' of 'vector-field' is %s: only an ARRAY becomes a VECTOR", c->name, tl_bind__type_text(b, c->type));
    if (text == NULL)
        return BIND_ERROR(b, ast, "When setting 'vector-field', you must also set '%s', the number of elements of a vector", key);
    if (tl_parse_int(text, 1, TL_LENGTH_MAX, &length, /* err= */ NULL) != TL_OK)
        return BIND_ERROR(b, ast, "option '%s': expected the number of elements of a vector, not '%s'", key, text);
    TL_TRY(tl_type_create_vector(/* nullable= */ true, (int32_t)length, c->type->fields[0].type, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

/* Type of a stored column of a lake table (Java: FlinkCatalog#fromCatalogTable of its Flink module). */
static tl_status stored_type(tl_binder *b, const tl_definition *d, const tl_sql_column *c, const tl_ast *ast, const tl_type **out)
{
    *out = c->type;
    if (is_named(d, "vector-field", c->name) && c->type->kind != TL_VECTOR)
        return vector_type(b, d, c, ast, out);
    if (!is_named(d, "blob-field", c->name) || c->type->kind == TL_BLOB)
        return TL_OK;
    if (tl_options_get(d->options, "data-evolution.enabled") == NULL)
        return BIND_ERROR(b, ast, "When setting 'blob-field', you must also set 'data-evolution.enabled'");
    if (!tl_sql__is_binary(c->type))
        return BIND_ERROR(b, ast, "column '%s' of 'blob-field' is %s: expected BINARY or VARBINARY", c->name, tl_bind__type_text(b, c->type));
    TL_TRY(tl_type_create(TL_BLOB, /* nullable= */ true, 0, 0, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

/* Options 'table-default.KEY' of a catalog: KEY of every table made in it that does not say otherwise (Java: AbstractCatalog.copyTableDefaultOptions). */
static tl_status add_table_defaults(tl_binder *b, const tl_options *catalog, tl_options *options)
{
    static const char prefix[] = "table-default.";
    for (size_t i = 0; i < catalog->count; i++) {
        const char *key = catalog->keys[i] + sizeof prefix - 1;
        if (strncmp(catalog->keys[i], prefix, sizeof prefix - 1) == 0 && tl_options_get(options, key) == NULL &&
            tl_options_set(options, key, catalog->values[i]) != TL_OK)
            return tl_nomem(b->err, "options");
    }
    return TL_OK;
}

static tl_status create_in_lake(tl_binder *b, const tl_sql_catalog *catalog, const tl_sql_path *path, const tl_definition *d, const tl_ast *ast, bool *existed)
{
    const char *connector = tl_options_get(d->options, "connector");
    if (connector != NULL && strcmp(connector, "paimon") != 0)
        return BIND_ERROR(b, ast, "Paimon Catalog only supports paimon tables, but you specify 'connector'='%s' when using Paimon Catalog. "
                                  "You can create TEMPORARY table instead if you want to create the table of other connector.", connector);
    tl_options_remove(d->options, "connector");
    TL_TRY(add_table_defaults(b, &catalog->options, d->options));
    tl_field *fields = tl_arena_calloc(b->arena, (size_t)d->n_columns + 1, sizeof *fields);
    BIND_ALLOC(b, fields);
    int32_t n = 0;
    for (int32_t i = 0; i < d->n_columns; i++) {
        const tl_sql_column *c = &d->columns[i];
        if (c->metadata != NULL)
            return BIND_ERROR(b, ast, "column '%s': a lake table has no metadata columns", c->name);
        if (c->computed != NULL)
            continue;
        fields[n] = (tl_field){.name = (char *)(uintptr_t)c->name, .id = -1, .description = (char *)(uintptr_t)c->comment};
        TL_TRY(stored_type(b, d, c, ast, &fields[n++].type));
    }
    const tl_type *row;
    TL_TRY(tl_type_create_row(/* nullable= */ false, fields, n, &row, b->err));
    TL_TRY(tl_sql__own_type(b->stmt, row, b->err));
    tl_plan *shape = tl_bind__new_plan(b, TL_PLAN_SCAN, row, NULL);
    BIND_ALLOC(b, shape);
    TL_TRY(store_definitions(b, d, shape));
    tl_table_def def = {.row_type = row,
                        .partition_keys = (char *const *)d->partition_key,
                        .n_partition_keys = d->n_partition_key,
                        .primary_keys = (char *const *)d->primary_key,
                        .n_primary_keys = d->n_primary_key,
                        .options = d->options,
                        .comment = d->comment};
    TL_TRY(tl_catalog_table_exists(catalog->lake, path->db, path->name, existed, b->err));
    bool if_not_exists = (ast->flags & AST_F_IF) != 0;
    if (*existed && !if_not_exists && (ast->flags & AST_F_REPLACE) == 0)
        return BIND_ERROR(b, ast, "Table (or view) %s.%s already exists in Catalog %s.", path->db, path->name, path->catalog);
    if (*existed && (ast->flags & AST_F_REPLACE) != 0) {
        TL_TRY(tl_table_drop(catalog->lake, path->db, path->name, true, b->err));
        *existed = false;
    }
    if (*existed)
        return TL_OK;
    tl_status status = tl_table_create(catalog->lake, path->db, path->name, &def, if_not_exists, b->err);
    return tl_error_wrap(b->err, status, "line %d:%d: table %s.%s", (int)ast->line, (int)ast->position, path->db, path->name);
}

tl_status tl_sql__create_table(tl_sql_session *session, tl_sql_stmt_impl *stmt, const tl_ast *ast, const tl_type *query_type, bool *existed, tl_error *err)
{
    tl_binder binder, *b = &binder;
    tl_sql__binder_init(b, session, stmt, err);
    tl_sql_path path;
    TL_TRY(tl_bind__path(b, ast->kid[0], &path));
    const tl_sql_catalog *catalog = tl_sql__catalog(session, path.catalog);
    tl_status status;
    bool is_lake = catalog->lake != NULL && (ast->flags & AST_F_TEMPORARY) == 0;
    if (is_lake && !tl_sql__has_database(session, catalog, path.db, &status, err))
        return status != TL_OK ? status : BIND_ERROR(b, ast->kid[0], "Database %s does not exist in Catalog %s.", path.db, path.catalog);
    tl_definition d;
    TL_TRY(define(b, ast, query_type, &d));
    *existed = false;
    return is_lake ? create_in_lake(b, catalog, &path, &d, ast, existed) : create_object(b, &path, &d, ast, existed);
}

/* ---- views ---- */

tl_status tl_sql__create_view(tl_binder *b, const tl_ast *ast)
{
    tl_sql_path path;
    TL_TRY(tl_bind__path(b, ast->kid[0], &path));
    const tl_sql_catalog *catalog = tl_sql__catalog(b->session, path.catalog);
    bool temporary = (ast->flags & AST_F_TEMPORARY) != 0;
    if (catalog->lake != NULL && !temporary)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "UnsupportedOperationException: a file system catalog keeps no views; CREATE TEMPORARY VIEW works");
    tl_plan *plan; /* the query must be good now */
    TL_TRY(tl_bind__query(b, ast->kid[3], &plan));
    int32_t n_names = tl_ast_count(ast->kid[1]);
    if (ast->kid[1] != NULL && n_names != plan->type->n_fields)
        return BIND_ERROR(b, ast, "VIEW definition and input fields not match: %d names, %d columns", (int)n_names, (int)plan->type->n_fields);
    tl_sql_object *object = new_object(&path, temporary);
    if (object == NULL)
        return tl_nomem(b->err, "view");
    object->is_view = true;
    object->text = tl_arena_strdup(&object->arena, ast->text);
    object->context_catalog = tl_arena_strdup(&object->arena, b->catalog);
    object->context_db = tl_arena_strdup(&object->arena, b->db);
    bool good = object->text != NULL && object->context_catalog != NULL && object->context_db != NULL;
    if (good && ast->kid[2] != NULL)
        good = (object->comment = tl_arena_strdup(&object->arena, ast->kid[2]->text)) != NULL;
    if (good && n_names > 0) {
        const char **names;
        int32_t n;
        good = tl_def__id_texts(b, ast->kid[1], &names, &n) == TL_OK && texts_into(&object->arena, names, n, &object->names) == TL_OK;
    }
    if (!good) {
        tl_sql__object_free(object);
        return tl_nomem(b->err, "view");
    }
    tl_status status = tl_sql__add_object(b->session, object, (ast->flags & AST_F_IF) != 0, b->err);
    return tl_error_wrap(b->err, status, "line %d:%d", (int)ast->line, (int)ast->position);
}

/* ---- catalogs and databases ---- */

tl_status tl_sql__create_catalog(tl_binder *b, const tl_ast *ast)
{
    const char *name = tl_ast_last_name(ast->kid[0]);
    if (tl_sql__catalog(b->session, name) != NULL)
        return (ast->flags & AST_F_IF) != 0 ? TL_OK : BIND_ERROR(b, ast, "Catalog %s already exists.", name);
    tl_options *options;
    TL_TRY(tl_sql__new_options(b->stmt, &options, b->err));
    for (const tl_ast *o = tl_ast_first(ast->kid[1]); o != NULL; o = o->next)
        if (tl_options_set(options, o->kid[0]->text, o->kid[1]->text) != TL_OK)
            return tl_nomem(b->err, "options");
    const char *type = tl_options_get(options, "type"), *warehouse = tl_options_get(options, "warehouse"), *metastore = tl_options_get(options, "metastore");
    if (type != NULL && strcmp(type, "generic_in_memory") == 0)
        return tl_sql__add_catalog(b->session, name, NULL, options, b->err);
    if (type == NULL || strcmp(type, "paimon") != 0)
        return TL_AST_ERROR(b->err, type == NULL ? TL_E_INVALID : TL_E_UNSUPPORTED, ast, "catalog '%s': 'type' is '%s'; known are 'paimon' and 'generic_in_memory'", name,
                            type != NULL ? type : "(none)");
    if (metastore != NULL && strcmp(metastore, "filesystem") != 0)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "catalog '%s': 'metastore' = '%s' is not there yet; 'filesystem' is", name, metastore);
    if (warehouse == NULL)
        return BIND_ERROR(b, ast, "catalog '%s': Paimon 'warehouse' path must be set", name);
    tl_catalog *lake;
    TL_TRY(tl_error_wrap(b->err, tl_catalog_open(b->session->fs, warehouse, &lake, b->err), "catalog '%s'", name));
    tl_status status = tl_catalog_set_options(lake, options, b->err);
    if (status == TL_OK)
        status = tl_sql__add_catalog(b->session, name, lake, options, b->err);
    if (status != TL_OK)
        tl_catalog_close(lake);
    return status;
}

static tl_status database_path(tl_binder *b, const tl_ast *name, const tl_sql_catalog **catalog, const char **db)
{
    if (name->count > 2)
        return BIND_ERROR(b, name, "a database's name has at most two parts: catalog.database");
    *db = tl_ast_last_name(name);
    const char *catalog_name = name->count == 2 ? tl_ast_first(name)->text : b->catalog;
    *catalog = tl_sql__catalog(b->session, catalog_name);
    return *catalog != NULL ? TL_OK : TL_AST_ERROR(b->err, TL_E_NOT_FOUND, name, "a catalog with name [%s] does not exist", catalog_name);
}

tl_status tl_sql__create_database(tl_binder *b, const tl_ast *ast)
{
    const tl_sql_catalog *catalog;
    const char *db;
    TL_TRY(database_path(b, ast->kid[0], &catalog, &db));
    bool if_not_exists = (ast->flags & AST_F_IF) != 0;
    if (catalog->lake != NULL)
        return tl_error_wrap(b->err, tl_catalog_create_database(catalog->lake, db, if_not_exists, b->err), "line %d:%d", (int)ast->line, (int)ast->position);
    tl_status status;
    if (tl_sql__has_database(b->session, catalog, db, &status, b->err))
        return if_not_exists ? TL_OK : BIND_ERROR(b, ast, "Database %s already exists in Catalog %s.", db, catalog->name);
    return tl_sql__add_memory_database((tl_sql_catalog *)(uintptr_t)catalog, db, b->err);
}

/** Objects of the session in a database: they go with it. */
static void drop_objects(tl_sql_session *session, const char *catalog, const char *db)
{
    for (size_t i = session->n_objects; i-- > 0;) {
        tl_sql_object *object = session->objects[i];
        if (strcmp(object->catalog, catalog) == 0 && (db == NULL || strcmp(object->db, db) == 0))
            tl_sql__remove_object(session, object);
    }
}

static tl_status drop_database(tl_binder *b, const tl_ast *ast)
{
    const tl_sql_catalog *catalog;
    const char *db;
    TL_TRY(database_path(b, ast->kid[0], &catalog, &db));
    bool if_exists = (ast->flags & AST_F_IF) != 0, cascade = (ast->flags & AST_F_CASCADE) != 0;
    if (strcmp(catalog->name, b->session->current_catalog) == 0 && strcmp(db, b->session->current_db) == 0)
        return BIND_ERROR(b, ast, "Cannot drop a database which is currently in use.");
    if (catalog->lake != NULL) {
        tl_status dropped = tl_catalog_drop_database(catalog->lake, db, if_exists, cascade, b->err);
        TL_TRY(tl_error_wrap(b->err, dropped, "line %d:%d", (int)ast->line, (int)ast->position));
        drop_objects(b->session, catalog->name, db);
        return TL_OK;
    }
    tl_status status;
    if (!tl_sql__has_database(b->session, catalog, db, &status, b->err))
        return if_exists ? TL_OK : BIND_ERROR(b, ast, "Database %s does not exist in Catalog %s.", db, catalog->name);
    for (size_t i = 0; i < b->session->n_objects && !cascade; i++)
        if (strcmp(b->session->objects[i]->catalog, catalog->name) == 0 && strcmp(b->session->objects[i]->db, db) == 0)
            return BIND_ERROR(b, ast, "Database %s in Catalog %s is not empty.", db, catalog->name);
    drop_objects(b->session, catalog->name, db);
    tl_sql__remove_memory_database((tl_sql_catalog *)(uintptr_t)catalog, db);
    return TL_OK;
}

static tl_status drop_catalog(tl_binder *b, const tl_ast *ast)
{
    const char *name = tl_ast_last_name(ast->kid[0]);
    tl_sql_session *session = b->session;
    if (tl_sql__catalog(session, name) == NULL)
        return (ast->flags & AST_F_IF) != 0 ? TL_OK : TL_AST_ERROR(b->err, TL_E_NOT_FOUND, ast, "a catalog with name [%s] does not exist", name);
    if (strcmp(session->current_catalog, name) == 0 || strcmp(name, TL_SQL_DEFAULT_CATALOG) == 0)
        return BIND_ERROR(b, ast, "Cannot drop a catalog which is currently in use.");
    drop_objects(session, name, NULL);
    tl_sql__remove_catalog(session, name);
    return TL_OK;
}

static tl_status drop_table(tl_binder *b, const tl_ast *ast)
{
    tl_sql_path path;
    TL_TRY(tl_bind__path(b, ast->kid[0], &path));
    bool is_view = strcmp(ast->text, "VIEW") == 0, temporary = (ast->flags & AST_F_TEMPORARY) != 0, if_exists = (ast->flags & AST_F_IF) != 0;
    tl_sql_object *object = tl_sql__object(b->session, &path);
    const tl_sql_catalog *catalog = tl_sql__catalog(b->session, path.catalog);
    if (object != NULL && object->temporary && !temporary && object->is_view == is_view)
        return BIND_ERROR(b, ast, "Temporary %s with identifier '`%s`.`%s`.`%s`' exists. Drop it first before removing the permanent %s.", is_view ? "view" : "table",
                          path.catalog, path.db, path.name, is_view ? "view" : "table");
    if (object != NULL && object->is_view == is_view && object->temporary == temporary) {
        tl_sql__remove_object(b->session, object);
        return TL_OK;
    }
    if (catalog->lake != NULL && !is_view && !temporary) {
        tl_status status = tl_table_drop(catalog->lake, path.db, path.name, if_exists, b->err);
        return tl_error_wrap(b->err, status, "line %d:%d", (int)ast->line, (int)ast->position);
    }
    if (if_exists)
        return TL_OK;
    return TL_AST_ERROR(b->err, TL_E_NOT_FOUND, ast, "%s%s with identifier '`%s`.`%s`.`%s`' does not exist.", temporary ? "Temporary " : "", is_view ? "View" : "Table",
                        path.catalog, path.db, path.name);
}

tl_status tl_sql__drop(tl_binder *b, const tl_ast *ast)
{
    if (strcmp(ast->text, "CATALOG") == 0)
        return drop_catalog(b, ast);
    if (strcmp(ast->text, "DATABASE") == 0)
        return drop_database(b, ast);
    if (strcmp(ast->text, "FUNCTION") == 0) /* there are none but the built-in ones */
        return (ast->flags & AST_F_IF) != 0 ? TL_OK : BIND_ERROR(b, ast, "Function %s does not exist.", tl_ast_last_name(ast->kid[0]));
    return drop_table(b, ast);
}
