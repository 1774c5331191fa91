/*
 * The older window syntax, GROUP BY TUMBLE(time, size): rewritten to a WINDOW node and its columns.
 *
 * TUMBLE(…) in GROUP BY becomes window_start, window_end, window_time; TUMBLE_START(…), _END, _ROWTIME and _PROCTIME elsewhere
 * become those columns. HOP(time, slide, size) and SESSION(time, gap) likewise; a session's other keys part it.
 */
#include <stdio.h>
#include <strings.h>

#include "sql/bind.h"

static const struct {
    const char *name;
    tl_window_kind kind;
} group_windows[] = {{"TUMBLE", TL_WINDOW_TUMBLE}, {"HOP", TL_WINDOW_HOP}, {"SESSION", TL_WINDOW_SESSION}};

/* Names that no one can write: they only stand in rewritten trees. */
static const char *const hidden_names[] = {"\1window_start", "\1window_end", "\1window_time"};

/** Index into group_windows, -1 if the node is no group window. */
static int group_window_of(const tl_ast *ast)
{
    if (ast->kind != AST_CALL || ast->kid[2] != NULL || tl_ast_count(ast->kid[0]) < 2)
        return -1;
    for (size_t i = 0; i < TL_ARRAY_LEN(group_windows); i++)
        if (strcasecmp(group_windows[i].name, ast->text) == 0)
            return (int)i;
    return -1;
}

/** TUMBLE_START and the like: index into hidden_names, -1 if the node is no such call. */
static int auxiliary_of(const tl_ast *ast, const char *window)
{
    static const struct {
        const char *suffix;
        int column;
    } parts[] = {{"_START", 0}, {"_END", 1}, {"_ROWTIME", 2}, {"_PROCTIME", 2}};
    size_t n = strlen(window);
    if (ast->kind != AST_CALL || strncasecmp(ast->text, window, n) != 0)
        return -1;
    for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++)
        if (strcasecmp(ast->text + n, parts[i].suffix) == 0)
            return parts[i].column;
    return -1;
}

static tl_ast *hidden_name(tl_binder *b, int i, const tl_ast *at)
{
    tl_ast *nodes = tl_arena_calloc(b->arena, 2, sizeof *nodes);
    if (nodes == NULL)
        return NULL;
    nodes[0] = (tl_ast){.kind = AST_ID, .text = hidden_names[i], .line = at->line, .position = at->position};
    nodes[1] = (tl_ast){.kind = AST_NAME, .count = 1, .kid = {&nodes[0], &nodes[0]}, .line = at->line, .position = at->position, .depth = 2};
    return &nodes[1];
}

static bool is_list(tl_ast_kind kind)
{
    return kind == AST_LIST || kind == AST_NAME || kind == AST_AND || kind == AST_OR || kind == AST_SETOP;
}

/** Copy a tree, window calls replaced. */
static tl_status rewrite(tl_binder *b, const tl_ast *ast, const char *window, tl_ast **out)
{
    *out = NULL;
    if (ast == NULL)
        return TL_OK;
    int column = auxiliary_of(ast, window);
    if (column >= 0) {
        *out = hidden_name(b, column, ast);
        return *out != NULL ? TL_OK : tl_nomem(b->err, "statement");
    }
    tl_ast *copy = tl_arena_alloc(b->arena, sizeof *copy);
    BIND_ALLOC(b, copy);
    *copy = *ast;
    copy->next = NULL;
    *out = copy;
    if (ast->kind == AST_QUERY) /* a subquery has windows of its own */
        return TL_OK;
    if (!is_list(ast->kind)) {
        for (int i = 0; i < TL_AST_KIDS; i++)
            TL_TRY(rewrite(b, ast->kid[i], window, &copy->kid[i]));
        return TL_OK;
    }
    tl_ast **link = &copy->kid[0];
    *link = NULL;
    for (const tl_ast *e = ast->kid[0]; e != NULL; e = e->next) {
        tl_ast *element;
        TL_TRY(rewrite(b, e, window, &element));
        *link = element;
        link = &element->next;
        copy->kid[1] = element;
    }
    return TL_OK;
}

/** GROUP BY with the window call replaced by its three columns. */
static tl_status rewrite_keys(tl_binder *b, const tl_ast *keys, const tl_ast *call, const char *window, tl_ast **out)
{
    tl_ast *list = tl_arena_calloc(b->arena, 1, sizeof *list);
    BIND_ALLOC(b, list);
    *list = (tl_ast){.kind = AST_LIST, .line = keys->line, .position = keys->position, .depth = keys->depth};
    tl_ast **link = &list->kid[0];
    for (const tl_ast *e = tl_ast_first(keys); e != NULL; e = e->next) {
        for (int i = 0; i < (e == call ? 3 : 1); i++) {
            tl_ast *element;
            if (e == call) {
                element = hidden_name(b, i, e);
                BIND_ALLOC(b, element);
            } else {
                TL_TRY(rewrite(b, e, window, &element));
            }
            *link = element;
            link = &element->next;
            list->kid[1] = element;
            list->count++;
        }
    }
    *out = list;
    return TL_OK;
}

/** Keys beside the window that are columns: a session ends for each of their values apart. */
static tl_status session_partition(tl_binder *b, const tl_ast *keys, const tl_ast *call, tl_plan *plan)
{
    int32_t *columns = tl_arena_alloc(b->arena, (size_t)keys->count * sizeof *columns);
    BIND_ALLOC(b, columns);
    int32_t n = 0;
    for (const tl_ast *e = tl_ast_first(keys); e != NULL; e = e->next) {
        tl_expr *key;
        if (e == call)
            continue;
        TL_TRY(tl_bind__expr(b, e, &key));
        if (key->kind != TL_EXPR_COLUMN)
            return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, e, "keys beside SESSION(…) must be columns");
        columns[n++] = key->column;
    }
    plan->window_partition = columns;
    plan->n_window_partition = n;
    return TL_OK;
}

/** Make the three columns visible under their hidden names. */
static tl_status extend_scope(tl_binder *b, const tl_plan *plan)
{
    tl_scope *scope = b->scope;
    tl_scope_column *columns = tl_arena_alloc(b->arena, (size_t)(scope->n_columns + 3) * sizeof *columns);
    BIND_ALLOC(b, columns);
    if (scope->n_columns > 0)
        memcpy(columns, scope->columns, (size_t)scope->n_columns * sizeof *columns);
    for (int i = 0; i < 3; i++)
        columns[scope->n_columns + i] = (tl_scope_column){.name = hidden_names[i], .column = plan->type->n_fields - 3 + i};
    scope->columns = columns;
    scope->n_columns += 3;
    scope->type = plan->type;
    scope->time_attr = plan->time_attr;
    return TL_OK;
}

tl_status tl_bind__group_windows(tl_binder *b, const tl_ast **select, const tl_ast **order, tl_plan **plan)
{
    const tl_ast *keys = (*select)->kid[4], *call = NULL;
    int which = -1;
    for (const tl_ast *e = tl_ast_first(keys); e != NULL && which < 0; e = e->next) {
        which = group_window_of(e);
        call = e;
    }
    if (which < 0)
        return TL_OK;
    const tl_ast *time = tl_ast_first(call->kid[0]);
    tl_expr *e;
    TL_TRY(tl_bind__expr(b, time, &e));
    if (e->kind != TL_EXPR_COLUMN || (e->type->kind != TL_TIMESTAMP && e->type->kind != TL_TIMESTAMP_LTZ))
        return BIND_ERROR(b, time, "Window aggregate can only be defined over a time attribute column");
    tl_plan *input = *plan;
    TL_TRY(tl_bind__window(b, group_windows[which].kind, input, e->column, plan));
    const tl_ast *intervals[3] = {time->next, time->next->next, NULL};
    if (group_windows[which].kind != TL_WINDOW_HOP) {
        intervals[2] = intervals[1];
        intervals[1] = NULL;
    } else if (intervals[1] != NULL) {
        intervals[2] = intervals[1]->next;
    }
    TL_TRY(tl_bind__window_sizes(b, *plan, intervals, call));
    if (group_windows[which].kind == TL_WINDOW_SESSION)
        TL_TRY(session_partition(b, keys, call, *plan));
    const char *window = group_windows[which].name;
    tl_ast *copy = tl_arena_alloc(b->arena, sizeof *copy), *new_order;
    BIND_ALLOC(b, copy);
    *copy = **select;
    TL_TRY(rewrite(b, (*select)->kid[1], window, &copy->kid[1]));
    TL_TRY(rewrite_keys(b, keys, call, window, &copy->kid[4]));
    TL_TRY(rewrite(b, (*select)->kid[5], window, &copy->kid[5]));
    TL_TRY(rewrite(b, *order, window, &new_order));
    *select = copy;
    *order = new_order;
    return extend_scope(b, *plan);
}
