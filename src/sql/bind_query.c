/*
 * Queries: SELECT, VALUES, set operations, ORDER BY and LIMIT (subqueries: bind_subquery.c).
 *
 * A SELECT is bound from the inside out: FROM, WHERE, items (with aggregate and window calls as placeholders), then the
 * placeholders become columns of AGGREGATE and OVER nodes, then HAVING, the projection, DISTINCT, the order.
 */
#include <stdlib.h>
#include <strings.h>

#include "sql/bind.h"

/** Columns of one row; more is refused before memory is spent on them. */
#define ITEMS_MAX 10000

tl_status tl_bind__one_row(tl_binder *b, tl_plan **out)
{
    const tl_type *none;
    TL_TRY(tl_bind__row_type(b, NULL, NULL, 0, &none));
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_VALUES, none, NULL);
    BIND_ALLOC(b, plan);
    plan->n_rows = 1;
    *out = plan;
    return TL_OK;
}

/* ---- items ---- */

typedef struct items {
    tl_expr **exprs; /* items, then hidden ones: HAVING, QUALIFY, ORDER BY */
    const char **names;
    int32_t n, n_all, cap;
} items;

static tl_status add_item(tl_binder *b, items *list, tl_expr *e, const char *name)
{
    if (list->n_all == ITEMS_MAX)
        return tl_error_set(b->err, TL_E_LIMIT, "the query has more than %d columns", ITEMS_MAX);
    if (list->n_all == list->cap) {
        int32_t cap = list->cap == 0 ? 16 : list->cap * 2;
        tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)cap * sizeof *exprs);
        const char **names = tl_arena_alloc(b->arena, (size_t)cap * sizeof *names);
        BIND_ALLOC(b, exprs);
        BIND_ALLOC(b, names);
        if (list->n_all > 0) {
            memcpy(exprs, list->exprs, (size_t)list->n_all * sizeof *exprs);
            memcpy(names, list->names, (size_t)list->n_all * sizeof *names);
        }
        list->exprs = exprs;
        list->names = names;
        list->cap = cap;
    }
    list->exprs[list->n_all] = e;
    list->names[list->n_all++] = name;
    return TL_OK;
}

/* r.* of a column (or field) r of a ROW type: its fields. */
static tl_status expand_row(tl_binder *b, const tl_ast *star, items *list)
{
    tl_expr *row;
    TL_TRY(tl_bind__expr(b, star->kid[0], &row));
    if (row->type->kind != TL_ROW)
        return BIND_ERROR(b, star, "'%s' is neither a table nor a ROW: it has no .*", tl_ast_last_name(star->kid[0]));
    for (int32_t i = 0; i < row->type->n_fields; i++) {
        tl_ast *field = tl_arena_calloc(b->arena, 1, sizeof *field);
        BIND_ALLOC(b, field);
        *field = (tl_ast){.kind = AST_FIELD, .line = star->line, .position = star->position, .depth = star->kid[0]->depth + 1, .text = row->type->fields[i].name, .kid = {star->kid[0]}};
        tl_expr *e;
        TL_TRY(tl_bind__expr(b, field, &e));
        TL_TRY(add_item(b, list, e, field->text));
    }
    return TL_OK;
}

static tl_status expand_star(tl_binder *b, const tl_ast *star, items *list)
{
    const tl_ast *qualifier = star->kid[0];
    const tl_scope *scope = b->scope;
    bool any = false;
    for (int32_t i = 0; i < scope->n_columns; i++) {
        const tl_scope_column *c = &scope->columns[i];
        if (qualifier == NULL ? c->qualified_only : c->rel == NULL || strcmp(c->rel, tl_ast_last_name(qualifier)) != 0)
            continue;
        tl_expr *e;
        TL_TRY(tl_bind__column(b, c->column, scope->type->fields[c->column].type, star, &e));
        TL_TRY(add_item(b, list, e, c->name));
        any = true;
    }
    if (!any && qualifier != NULL)
        return expand_row(b, star, list);
    return any ? TL_OK : BIND_ERROR(b, star, "SELECT * needs a FROM with columns");
}

/** The name of a column that an item gives: its alias, the last part of a name (r.f too, but not a[1].f), else EXPR$i. */
static const char *item_name(tl_binder *b, const tl_ast *item, int32_t i)
{
    const tl_ast *e = item->kid[0];
    if (item->text != NULL)
        return item->text;
    if (e->kind == AST_NAME && tl_ast_last_name(e)[0] != '\1') /* TUMBLE_START(…) stands as a hidden name (bind_group_window.c) */
        return tl_ast_last_name(e);
    return tl_arena_strf(b->arena, "EXPR$%d", (int)i);
}

static tl_status bind_items(tl_binder *b, const tl_ast *ast, items *list)
{
    for (const tl_ast *item = tl_ast_first(ast); item != NULL; item = item->next) {
        if (item->kid[0]->kind == AST_STAR) {
            TL_TRY(expand_star(b, item->kid[0], list));
            continue;
        }
        tl_expr *e;
        TL_TRY(tl_bind__expr(b, item->kid[0], &e));
        const char *name = item_name(b, item, list->n_all);
        BIND_ALLOC(b, name);
        TL_TRY(add_item(b, list, e, name));
    }
    list->n = list->n_all;
    return TL_OK;
}

/** Two columns of one name get a number behind, as Calcite does it: a, a0. */
static tl_status unique_names(tl_binder *b, items *list)
{
    for (int32_t i = 0; i < list->n_all; i++) {
        const char *base = list->names[i];
        for (int32_t suffix = 0;; suffix++) {
            bool taken = false;
            for (int32_t j = 0; j < i && !taken; j++)
                taken = strcmp(list->names[j], list->names[i]) == 0;
            if (!taken)
                break;
            list->names[i] = tl_arena_strf(b->arena, "%s%d", base, (int)suffix);
            BIND_ALLOC(b, list->names[i]);
        }
    }
    return TL_OK;
}

/* ---- order ---- */

static uint32_t order_flags(const tl_ast *o)
{
    bool descending = (o->flags & AST_F_DESC) != 0;
    bool first = (o->flags & AST_F_NULLS_FIRST) != 0 || ((o->flags & AST_F_NULLS_LAST) == 0 && !descending);
    return (uint32_t)descending | (uint32_t)first << 1;
}

/** The output column that an ORDER BY item names by number or by name; -1 if it is an expression. */
static tl_status output_column(tl_binder *b, const tl_ast *e, const char *const *names, int32_t n, int32_t *out)
{
    *out = -1;
    if (e->kind == AST_NUMBER) {
        long v = strtol(e->text, NULL, 10);
        if (v < 1 || v > n)
            return BIND_ERROR(b, e, "Ordinal out of range");
        *out = (int32_t)v - 1;
    } else if (e->kind == AST_NAME && e->count == 1) {
        for (int32_t i = 0; i < n && *out < 0; i++)
            if (strcmp(names[i], tl_ast_last_name(e)) == 0)
                *out = i;
    }
    return TL_OK;
}

static tl_status sort_node(tl_binder *b, const tl_ast *order, const tl_sort_key *keys, int32_t n, const tl_ast *offset, const tl_ast *limit, tl_plan *input, tl_plan **out)
{
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_SORT, input->type, input);
    BIND_ALLOC(b, plan);
    plan->sort = keys;
    plan->n_sort = n;
    const tl_ast *at = order != NULL ? order : offset != NULL ? offset : limit;
    plan->line = at->line;
    plan->position = at->position;
    if (offset != NULL)
        TL_TRY(tl_bind__constant_int(b, offset, "OFFSET", &plan->offset));
    if (limit != NULL)
        TL_TRY(tl_bind__constant_int(b, limit, "LIMIT", &plan->limit));
    if ((offset != NULL && plan->offset < 0) || (limit != NULL && plan->limit < 0))
        return BIND_ERROR(b, offset != NULL ? offset : limit, "OFFSET and LIMIT cannot be negative");
    *out = plan;
    return TL_OK;
}

tl_status tl_bind__sort(tl_binder *b, const tl_ast *order, const tl_ast *offset, const tl_ast *limit, tl_plan *input, tl_plan **out)
{
    *out = input;
    if (order == NULL && offset == NULL && limit == NULL)
        return TL_OK;
    int32_t n = input->type->n_fields;
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    tl_sort_key *keys = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(order) + 1) * sizeof *keys);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, keys);
    for (int32_t i = 0; i < n; i++)
        names[i] = input->type->fields[i].name;
    int32_t n_keys = 0;
    for (const tl_ast *o = tl_ast_first(order); o != NULL; o = o->next) {
        int32_t column;
        TL_TRY(output_column(b, o->kid[0], names, n, &column));
        if (column < 0)
            return BIND_ERROR(b, o, "ORDER BY of a set operation or VALUES names columns of its result");
        keys[n_keys++] = (tl_sort_key){column, (order_flags(o) & 1) != 0, (order_flags(o) & 2) != 0};
    }
    return sort_node(b, order, keys, n_keys, offset, limit, input, out);
}

/** Bind ORDER BY of a SELECT: expressions that no item is become hidden items. */
static tl_status bind_order(tl_binder *b, const tl_ast *order, bool is_distinct, items *list, tl_sort_key **keys)
{
    *keys = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(order) + 1) * sizeof **keys);
    BIND_ALLOC(b, *keys);
    int32_t n = 0;
    for (const tl_ast *o = tl_ast_first(order); o != NULL; o = o->next) {
        int32_t column;
        TL_TRY(output_column(b, o->kid[0], list->names, list->n, &column));
        if (column < 0) {
            tl_expr *e;
            TL_TRY(tl_bind__expr(b, o->kid[0], &e));
            for (int32_t i = 0; i < list->n && column < 0; i++)
                if (tl_expr__equal(list->exprs[i], e))
                    column = i;
            if (column < 0 && is_distinct)
                return BIND_ERROR(b, o, "Expression is not in the select clause");
            if (column < 0) {
                column = list->n_all;
                TL_TRY(add_item(b, list, e, tl_arena_strf(b->arena, "$order%d", (int)n)));
            }
        }
        (*keys)[n++] = (tl_sort_key){column, (order_flags(o) & 1) != 0, (order_flags(o) & 2) != 0};
    }
    return TL_OK;
}

/* ---- WHERE ---- */

static bool is_subquery_condition(const tl_ast *ast)
{
    return ast->kind == AST_EXISTS || (ast->kind == AST_IN && ast->kid[1]->kind == AST_QUERY);
}

static tl_status bind_where(tl_binder *b, const tl_ast *where, tl_plan **plan)
{
    const tl_ast *first = where->kind == AST_AND ? where->kid[0] : where;
    int32_t n = where->kind == AST_AND ? where->count : 1, n_plain = 0;
    tl_expr **plain = tl_arena_alloc(b->arena, (size_t)n * sizeof *plain);
    BIND_ALLOC(b, plain);
    /* Plain conditions first: they make the joins smaller. */
    for (int pass = 0; pass < 2; pass++) {
        const tl_ast *c = first;
        for (int32_t i = 0; i < n; i++, c = c->next) {
            bool is_not = c->kind == AST_UNARY && strcmp(c->text, "NOT") == 0;
            const tl_ast *inner = is_not ? c->kid[0] : c;
            bool join = b->joins_subqueries && is_subquery_condition(inner);
            if (pass == 0 && !join)
                TL_TRY(tl_bind__condition(b, c, "WHERE", &plain[n_plain++]));
            if (pass == 1 && join)
                TL_TRY(tl_bind__semi_join(b, inner, is_not, *plan, plan));
        }
        if (pass == 0 && n_plain > 0) {
            tl_expr *all;
            TL_TRY(tl_plan__conjunction(b, plain, n_plain, &all));
            TL_TRY(tl_bind__filter(b, *plan, all, plan));
        }
    }
    return TL_OK;
}

/* ---- SELECT ---- */

static bool any_of_kind(tl_expr *const *exprs, int32_t n, int kind)
{
    for (int32_t i = 0; i < n; i++)
        if (tl_expr__has_kind(exprs[i], kind))
            return true;
    return false;
}

tl_status tl_bind__distinct(tl_binder *b, tl_plan *input, tl_plan **out)
{
    int32_t n = input->type->n_fields;
    int32_t *group = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *group);
    BIND_ALLOC(b, group);
    for (int32_t i = 0; i < n; i++)
        group[i] = i;
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_AGGREGATE, input->type, input);
    BIND_ALLOC(b, plan);
    plan->group = group;
    plan->n_group = n;
    *out = plan;
    return TL_OK;
}

/** A hidden condition (HAVING, QUALIFY) as the filter of `plan`. */
static tl_status filter_item(tl_binder *b, const items *list, int32_t i, tl_plan **plan)
{
    return i < 0 ? TL_OK : tl_bind__filter(b, *plan, list->exprs[i], plan);
}

static tl_status add_condition(tl_binder *b, const tl_ast *ast, const char *clause, items *list, int32_t *index)
{
    *index = -1;
    if (ast == NULL)
        return TL_OK;
    tl_expr *e;
    TL_TRY(tl_bind__condition(b, ast, clause, &e));
    *index = list->n_all;
    return add_item(b, list, e, clause);
}

/** Only the items that are wanted: the first n, and the hidden ones of ORDER BY. */
static tl_status project_items(tl_binder *b, const items *list, int32_t from_order, tl_plan *plan, tl_plan **out)
{
    int32_t n = 0;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(list->n_all + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(list->n_all + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < list->n_all; i++) {
        if (i >= list->n && i < from_order)
            continue;
        exprs[n] = list->exprs[i];
        names[n++] = list->names[i];
    }
    return tl_bind__project(b, plan, exprs, names, n, out);
}

/** STATE_TTL of the groups of a SELECT from one table. */
static tl_status groups_ttl(tl_binder *b, const tl_ast *from, tl_plan *plan)
{
    while (plan->kind == TL_PLAN_PROJECT)
        plan = plan->inputs[0];
    return plan->kind == TL_PLAN_AGGREGATE ? tl_bind__state_ttl(b, from, &plan->state_ttl_ms[0]) : TL_OK;
}

tl_status tl_bind__select(tl_binder *outer, const tl_ast *ast, const tl_ast *order, const tl_ast *offset, const tl_ast *limit, tl_plan **out)
{
    tl_binder binder = *outer, *b = &binder;
    b->aggregates_allowed = b->in_aggregate = false;
    b->select_hints = ast->kid[0];
    b->windows = ast->kid[6];
    b->scalar_input = NULL;
    b->late_subqueries = false;
    b->grouped = false;
    bool is_distinct = (ast->flags & AST_F_DISTINCT) != 0;
    tl_plan *plan;
    tl_scope *scope;
    if (ast->kid[2] != NULL) {
        if (b->select_hints != NULL)
            TL_TRY(tl_bind__check_state_ttl(b, ast->kid[2]));
        TL_TRY(tl_bind__from(b, ast->kid[2], &plan, &scope));
    } else {
        TL_TRY(tl_bind__one_row(b, &plan));
        TL_TRY(tl_bind__scope_of(b, plan, NULL, NULL, ast, &scope));
    }
    scope->outer = outer->scope;
    b->scope = scope;
    b->scalar_input = &plan;
    if (ast->kid[3] != NULL)
        TL_TRY(bind_where(b, ast->kid[3], &plan));
    b->scalar_input = NULL;
    const tl_ast *select = ast;
    TL_TRY(tl_bind__group_windows(b, &select, &order, &plan)); /* GROUP BY TUMBLE(…): rewritten */
    b->aggregates_allowed = true;
    b->grouped = select->kid[4] != NULL;
    b->uses_group_id = false;
    b->plain_averages = tl_bind__reduces_averages(select->kid[1]) || tl_bind__reduces_averages(select->kid[5]);
    items list = {0};
    tl_sort_key *keys;
    int32_t having, qualify;
    b->scalar_input = &plan;
    b->late_subqueries = true; /* their values are joined to the groups, if there are any, not to the rows that make them */
    TL_TRY(bind_items(b, select->kid[1], &list));
    TL_TRY(add_condition(b, select->kid[5], "HAVING", &list, &having));
    TL_TRY(add_condition(b, select->kid[7], "QUALIFY", &list, &qualify));
    b->scalar_input = NULL;
    b->late_subqueries = false;
    int32_t from_order = list.n_all;
    TL_TRY(bind_order(b, order, is_distinct, &list, &keys));
    if (select->kid[4] != NULL || any_of_kind(list.exprs, list.n_all, TL_EXPR__AGG)) {
        TL_TRY(tl_bind__aggregation(b, select->kid[4], list.exprs, list.n_all, plan, &plan));
    } else if (having >= 0) {
        TL_TRY(tl_bind__aggregation(b, NULL, list.exprs, list.n_all, plan, &plan));
    }
    if (b->select_hints != NULL && ast->kid[2] != NULL)
        TL_TRY(groups_ttl(b, ast->kid[2], plan));
    if (b->joins_subqueries)
        TL_TRY(tl_bind__lower_subqueries(b, list.exprs, list.n_all, &plan));
    TL_TRY(filter_item(b, &list, having, &plan));
    if (any_of_kind(list.exprs, list.n_all, TL_EXPR__OVER))
        TL_TRY(tl_bind__overs(b, list.exprs, list.n_all, plan, &plan));
    TL_TRY(filter_item(b, &list, qualify, &plan));
    TL_TRY(unique_names(b, &list));
    TL_TRY(project_items(b, &list, from_order, plan, &plan));
    if (is_distinct)
        TL_TRY(tl_bind__distinct(b, plan, &plan));
    int32_t n_keys = tl_ast_count(order), hidden = from_order - list.n;
    for (int32_t i = 0; i < n_keys; i++)
        keys[i].column -= keys[i].column >= list.n ? hidden : 0;
    if (n_keys > 0 || offset != NULL || limit != NULL)
        TL_TRY(sort_node(b, order, keys, n_keys, offset, limit, plan, &plan));
    if (plan->type->n_fields > list.n) {
        tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)list.n * sizeof *exprs);
        BIND_ALLOC(b, exprs);
        for (int32_t i = 0; i < list.n; i++)
            TL_TRY(tl_bind__column(b, i, plan->type->fields[i].type, NULL, &exprs[i]));
        TL_TRY(tl_bind__project(b, plan, exprs, list.names, list.n, &plan));
    }
    *out = plan;
    return TL_OK;
}

/* ---- VALUES and set operations ---- */

static tl_status bind_values(tl_binder *outer, const tl_ast *ast, tl_plan **out)
{
    tl_binder binder = *outer, *b = &binder;
    tl_scope none = {.outer = outer->scope, .type = &tl_sql__null_type};
    b->scope = &none; /* it has no columns of its own: what it names is outside */
    const tl_ast *first = tl_ast_first(ast->kid[0]);
    int32_t n_rows = ast->kid[0]->count, n = first->kind == AST_ROW ? tl_ast_count(first->kid[0]) : 1;
    if (n == 0)
        return BIND_ERROR(b, ast, "VALUES needs columns");
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)n_rows * (size_t)n * sizeof *exprs);
    const tl_type **types = tl_arena_calloc(b->arena, (size_t)n, sizeof *types);
    const char **names = tl_arena_alloc(b->arena, (size_t)n * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, types);
    BIND_ALLOC(b, names);
    size_t at = 0;
    for (const tl_ast *row = first; row != NULL; row = row->next) {
        int32_t width = row->kind == AST_ROW ? tl_ast_count(row->kid[0]) : 1, i = 0;
        if (width != n)
            return BIND_ERROR(b, row, "Values passed to VALUES operator must have compatible types: %d columns, not %d", (int)width, (int)n);
        for (const tl_ast *e = row->kind == AST_ROW ? tl_ast_first(row->kid[0]) : row; i < n; e = e->next, i++) {
            TL_TRY(tl_bind__expr(b, e, &exprs[at]));
            const tl_type *common = exprs[at]->type;
            if (types[i] != NULL)
                TL_TRY(tl_bind__common_type(b, types[i], exprs[at]->type, &common));
            if (common == NULL)
                return BIND_ERROR(b, e, "Values passed to VALUES operator must have compatible types");
            types[i] = common;
            at++;
        }
    }
    for (int32_t i = 0; i < n; i++) {
        names[i] = tl_arena_strf(b->arena, "EXPR$%d", (int)i);
        BIND_ALLOC(b, names[i]);
    }
    for (size_t i = 0; i < at; i++)
        if (!tl_sql__is_null_type(types[i % (size_t)n]))
            TL_TRY(tl_bind__coerce(b, exprs[i], types[i % (size_t)n], &exprs[i]));
    const tl_type *type;
    TL_TRY(tl_bind__row_type(b, names, types, n, &type));
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_VALUES, type, NULL);
    BIND_ALLOC(b, plan);
    plan->exprs = exprs;
    plan->n_rows = n_rows;
    *out = plan;
    return TL_OK;
}

/** Project to the wanted types; the plan itself if it has them. */
static tl_status cast_columns(tl_binder *b, tl_plan *input, const tl_type *const *types, const char *const *names, tl_plan **out)
{
    int32_t n = input->type->n_fields;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    BIND_ALLOC(b, exprs);
    bool any = false;
    for (int32_t i = 0; i < n; i++) {
        tl_expr *e;
        TL_TRY(tl_bind__column(b, i, input->type->fields[i].type, NULL, &e));
        TL_TRY(tl_bind__coerce(b, e, types[i], &exprs[i]));
        any = any || exprs[i] != e;
    }
    *out = input;
    return any ? tl_bind__project(b, input, exprs, names, n, out) : TL_OK;
}

static tl_status bind_body(tl_binder *b, const tl_ast *ast, tl_plan **out);

static tl_status bind_setop(tl_binder *b, const tl_ast *ast, tl_plan **out)
{
    int32_t n_inputs = ast->count, k = 0;
    tl_plan **inputs = tl_arena_alloc(b->arena, (size_t)n_inputs * sizeof *inputs);
    BIND_ALLOC(b, inputs);
    const tl_type **types = NULL;
    const char **names = NULL;
    int32_t n = 0;
    for (const tl_ast *kid = ast->kid[0]; kid != NULL; kid = kid->next, k++) {
        TL_TRY(bind_body(b, kid, &inputs[k]));
        if (k == 0) {
            n = inputs[0]->type->n_fields;
            types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types);
            names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
            BIND_ALLOC(b, types);
            BIND_ALLOC(b, names);
        }
        if (inputs[k]->type->n_fields != n)
            return BIND_ERROR(b, kid, "Column count mismatch in %s%s", ast->text, (ast->flags & AST_F_ALL) != 0 ? " ALL" : "");
        for (int32_t i = 0; i < n; i++) {
            const tl_type *t = inputs[k]->type->fields[i].type;
            if (k == 0)
                names[i] = inputs[0]->type->fields[i].name, types[i] = t;
            const tl_type *common;
            TL_TRY(tl_bind__common_type(b, types[i], t, &common));
            if (common == NULL)
                return BIND_ERROR(b, kid, "Type mismatch in column %d of %s: %s and %s", (int)i + 1, ast->text, tl_bind__type_text(b, types[i]), tl_bind__type_text(b, t));
            types[i] = common;
        }
    }
    for (int32_t i = 0; i < k; i++)
        TL_TRY(cast_columns(b, inputs[i], types, names, &inputs[i]));
    const tl_type *type;
    TL_TRY(tl_bind__row_type(b, names, types, n, &type));
    bool is_union = strcmp(ast->text, "UNION") == 0, all = (ast->flags & AST_F_ALL) != 0;
    if (is_union) {
        tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_UNION, type, inputs[0]);
        BIND_ALLOC(b, plan);
        plan->inputs = inputs;
        plan->n_inputs = n_inputs;
        *out = plan;
        return all ? TL_OK : tl_bind__distinct(b, plan, out);
    }
    tl_plan *left = inputs[0];
    for (k = 1; k < n_inputs; k++) {
        tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_SETOP, type, left);
        BIND_ALLOC(b, plan);
        plan->inputs[1] = inputs[k];
        plan->n_inputs = 2;
        plan->except = strcmp(ast->text, "EXCEPT") == 0;
        plan->all = all;
        left = plan;
    }
    *out = left;
    return TL_OK;
}

static tl_status bind_table_statement(tl_binder *b, const tl_ast *ast, tl_plan **out)
{
    tl_scope *scope;
    const tl_ast table = {.kind = AST_TABLE, .line = ast->line, .position = ast->position, .kid = {ast->kid[0]}};
    return tl_bind__from(b, &table, out, &scope);
}

static tl_status bind_body(tl_binder *b, const tl_ast *ast, tl_plan **out)
{
    switch (ast->kind) {
    case AST_SELECT:
        return tl_bind__select(b, ast, NULL, NULL, NULL, out);
    case AST_VALUES:
        return bind_values(b, ast, out);
    case AST_SETOP:
        return bind_setop(b, ast, out);
    case AST_TABLE_STMT:
        return bind_table_statement(b, ast, out);
    default:
        return tl_bind__query(b, ast, out);
    }
}

tl_status tl_bind__query(tl_binder *outer, const tl_ast *ast, tl_plan **out)
{
    tl_binder binder = *outer, *b = &binder;
    for (const tl_ast *c = tl_ast_first(ast->kid[0]); c != NULL; c = c->next) {
        tl_cte *cte = tl_arena_alloc(b->arena, sizeof *cte);
        BIND_ALLOC(b, cte);
        *cte = (tl_cte){c->text, c->kid[0], c->kid[1], b->ctes};
        b->ctes = cte;
    }
    const tl_ast *body = ast->kid[1];
    if (body->kind == AST_SELECT)
        return tl_bind__select(b, body, ast->kid[2], ast->kid[3], ast->kid[4], out);
    TL_TRY(bind_body(b, body, out));
    return tl_bind__sort(b, ast->kid[2], ast->kid[3], ast->kid[4], *out, out);
}
