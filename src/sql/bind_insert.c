/*
 * INSERT and CREATE TABLE AS: the query's columns to the table's, cast as Flink does implicitly, the missing ones NULL.
 */
#include <strings.h>

#include "sql/bind.h"

static tl_status mismatch(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, const char *cause, const tl_type *query)
{
    tl_buf text = {0};
    for (int i = 0; i < 2; i++) {
        const tl_type *row = i == 0 ? query : table->row_type;
        (void)tl_buf_append_str(&text, i == 0 ? "\nQuery schema: [" : "\nSink schema:  [");
        for (int32_t k = 0; k < row->n_fields; k++)
            (void)tl_buf_appendf(&text, "%s%s: %s", k > 0 ? ", " : "", row->fields[k].name, tl_bind__type_text(b, row->fields[k].type));
        (void)tl_buf_append_str(&text, "]");
    }
    tl_status status = BIND_ERROR(b, ast, "Column types of query result and sink for '%s.%s.%s' do not match.\nCause: %s%.*s", table->catalog, table->db, table->name,
                                  cause, (int)text.len, (const char *)text.data);
    tl_buf_deinit(&text);
    return status;
}

/** Which sink column each column of the query goes to. */
typedef struct targets {
    int32_t *columns;
    int32_t n;
    bool *given;        /* per sink column; NULL: all */
    tl_expr **constants; /* per sink column: from PARTITION (k = v) */
    tl_options *partition;
} targets;

static bool is_virtual_column(const tl_sql_table *table, int32_t i)
{
    return table->is_virtual != NULL && table->is_virtual[i];
}

static tl_status find_column(tl_binder *b, const tl_sql_table *table, const tl_ast *at, const char *name, int32_t *out)
{
    *out = tl_type_field_index(table->row_type, name);
    return *out >= 0 ? TL_OK : BIND_ERROR(b, at, "Unknown target column '%s'", name);
}

static tl_status static_partition(tl_binder *b, const tl_ast *partition, const tl_sql_table *table, targets *t)
{
    for (const tl_ast *p = tl_ast_first(partition); p != NULL; p = p->next) {
        int32_t column;
        TL_TRY(find_column(b, table, p, p->kid[0]->text, &column));
        bool is_key = table->kind != TL_SQL_TABLE_LAKE;
        for (int32_t k = 0; k < table->n_partition_key; k++)
            is_key = is_key || table->partition_key[k] == column;
        if (!is_key)
            return BIND_ERROR(b, p, "Static partition column '%s' should be in the partition keys list of the table", p->kid[0]->text);
        if (t->constants[column] != NULL)
            return BIND_ERROR(b, p, "Target column '%s' is assigned more than once", p->kid[0]->text);
        if (p->kid[1] == NULL)
            continue;
        tl_expr *e;
        TL_TRY(tl_bind__expr(b, p->kid[1], &e));
        TL_TRY(tl_bind__coerce(b, e, table->row_type->fields[column].type, &e));
        if (e->kind != TL_EXPR_LITERAL)
            return BIND_ERROR(b, p, "the value of partition column '%s' must be constant", p->kid[0]->text);
        t->constants[column] = e;
        if (t->partition == NULL)
            TL_TRY(tl_sql__new_options(b->stmt, &t->partition, b->err));
        tl_buf text = {0};
        char *copy = NULL;
        tl_status status = tl_text_append_plain(&text, e->literal, 0);
        if (status == TL_OK)
            status = tl_buf_steal_str(&text, &copy);
        if (status == TL_OK)
            status = tl_options_set(t->partition, p->kid[0]->text, copy);
        tl_buf_deinit(&text);
        tl_free(copy);
        if (status != TL_OK)
            return tl_nomem(b->err, "partition");
    }
    return TL_OK;
}

static tl_status find_targets(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, targets *t)
{
    int32_t n = table->row_type->n_fields;
    t->columns = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *t->columns);
    t->constants = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *t->constants);
    BIND_ALLOC(b, t->columns);
    BIND_ALLOC(b, t->constants);
    TL_TRY(static_partition(b, ast->kid[2], table, t));
    if (ast->kid[3] == NULL) {
        for (int32_t i = 0; i < n; i++)
            if (t->constants[i] == NULL && !is_virtual_column(table, i))
                t->columns[t->n++] = i;
        return TL_OK;
    }
    t->given = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *t->given);
    BIND_ALLOC(b, t->given);
    for (const tl_ast *name = tl_ast_first(ast->kid[3]); name != NULL; name = name->next) {
        int32_t column;
        if (name->count != 1)
            return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, name, "inserting into a part of a column (%s) is not there", tl_ast_name_text(b->arena, name));
        TL_TRY(find_column(b, table, name, tl_ast_last_name(name), &column));
        if (t->given[column])
            return BIND_ERROR(b, name, "Target column '%s' is assigned more than once", tl_ast_last_name(name));
        t->given[column] = true;
        t->columns[t->n++] = column;
    }
    for (int32_t i = 0; i < n; i++)
        t->given[i] = t->given[i] || t->constants[i] != NULL;
    return TL_OK;
}

/* 'table.exec.sink.not-null-enforcer' = 'DROP': rows without a value of a NOT NULL column are left out; else they fail the job. */
static tl_status enforce_not_null(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, const targets *t, tl_plan **query)
{
    const char *how = tl_sql_session_get(b->session, "table.exec.sink.not-null-enforcer");
    if (how == NULL || strcasecmp(how, "ERROR") == 0)
        return TL_OK;
    if (strcasecmp(how, "DROP") != 0)
        return BIND_ERROR(b, ast, "setting 'table.exec.sink.not-null-enforcer' is '%s', not ERROR or DROP", how);
    tl_expr **conditions = tl_arena_alloc(b->arena, (size_t)(t->n + 1) * sizeof *conditions), *all;
    BIND_ALLOC(b, conditions);
    int32_t n = 0;
    for (int32_t k = 0; k < t->n && k < (*query)->type->n_fields; k++) {
        const tl_type *from = (*query)->type->fields[k].type;
        tl_expr *column;
        if (!from->nullable || table->row_type->fields[t->columns[k]].type->nullable)
            continue;
        TL_TRY(tl_bind__column(b, k, from, ast, &column));
        TL_TRY(tl_bind__function(b, "IS NOT NULL", &column, 1, ast, &conditions[n++]));
    }
    if (n == 0)
        return TL_OK;
    TL_TRY(tl_plan__conjunction(b, conditions, n, &all));
    return tl_bind__filter(b, *query, all, query);
}

static tl_status sink_node(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, const targets *t, tl_plan *query, tl_plan **out)
{
    int32_t n = table->row_type->n_fields;
    if (query->type->n_fields != t->n)
        return mismatch(b, ast, table, "Different number of columns.", query->type);
    TL_TRY(enforce_not_null(b, ast, table, t, &query));
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        const tl_type *type = table->row_type->fields[i].type;
        names[i] = table->row_type->fields[i].name;
        exprs[i] = t->constants[i];
        for (int32_t k = 0; k < t->n && exprs[i] == NULL; k++) {
            if (t->columns[k] != i)
                continue;
            const tl_type *from = query->type->fields[k].type;
            if (!tl_bind__can_cast_implicitly(from, type)) {
                const char *cause = tl_arena_strf(b->arena, "Incompatible types for sink column '%s' at position %d.", names[i], (int)i);
                BIND_ALLOC(b, cause);
                return mismatch(b, ast, table, cause, query->type);
            }
            tl_expr *column;
            TL_TRY(tl_bind__column(b, k, from, ast, &column));
            TL_TRY(tl_bind__coerce(b, column, type, &exprs[i]));
        }
        if (exprs[i] == NULL) {
            const tl_type *nullable;
            TL_TRY(tl_bind__nullable(b, type, true, &nullable));
            TL_TRY(tl_bind__null(b, nullable, ast, &exprs[i]));
        }
    }
    tl_plan *project;
    TL_TRY(tl_bind__project(b, query, exprs, names, n, &project));
    tl_plan *sink = tl_bind__new_plan(b, TL_PLAN_SINK, table->row_type, project);
    BIND_ALLOC(b, sink);
    sink->table = table;
    sink->given = t->given;
    sink->overwrite = (ast->flags & AST_F_OVERWRITE) != 0;
    sink->static_partition = t->partition;
    *out = sink;
    return TL_OK;
}

tl_status tl_bind__insert(tl_binder *b, const tl_ast *ast, tl_plan **out)
{
    tl_options *options;
    tl_sql_table *table;
    tl_sql_object *object;
    TL_TRY(tl_bind__table_options(b, ast->kid[0], ast->kid[1], &options));
    TL_TRY(tl_bind__table(b, ast->kid[0], options, &table, &object));
    if (table == NULL)
        return BIND_ERROR(b, ast->kid[0], "'%s' is a view: nothing can be inserted", tl_ast_last_name(ast->kid[0]));
    if (table->kind == TL_SQL_TABLE_LAKE && tl_table_is_system(table->table))
        return BIND_ERROR(b, ast->kid[0], "'%s' is a system table: nothing can be inserted", table->name);
    targets t = {0};
    TL_TRY(find_targets(b, ast, table, &t));
    tl_plan *query;
    TL_TRY(tl_bind__query(b, ast->kid[4], &query));
    return sink_node(b, ast, table, &t, query, out);
}

tl_status tl_bind__ctas(tl_binder *b, const tl_ast *ast, tl_plan **out)
{
    tl_plan *query;
    TL_TRY(tl_bind__query(b, ast->kid[6], &query));
    bool existed = false;
    TL_TRY(tl_sql__create_table(b->session, b->stmt, ast, query->type, &existed, b->err));
    *out = NULL;
    if (existed)
        return TL_OK;
    tl_sql_table *table;
    tl_sql_object *object;
    TL_TRY(tl_bind__table(b, ast->kid[0], NULL, &table, &object));
    targets t = {0};
    const tl_ast insert = {.kind = AST_INSERT, .line = ast->line, .position = ast->position};
    TL_TRY(find_targets(b, &insert, table, &t));
    return sink_node(b, ast, table, &t, query, out);
}
