/*
 * Subqueries: of batch queries expressions that hold a plan; of streams joins.
 *
 * In streaming mode [NOT] IN and [NOT] EXISTS as a condition of WHERE is a semi or anti join. Everywhere else (under OR, in CASE, in
 * SELECT, in HAVING) the answer becomes a column: the different keys of the subquery, joined from the left, say whether there is a row.
 * A scalar subquery becomes a column, too, and so do ANY and ALL, by the least and the greatest value. What they look at outside is
 * taken out of them first (decorrelate.c).
 */
#include <strings.h>

#include "sql/bind.h"

/** The plan of a subquery; `at` is the expression that holds it. */
static tl_status bind_inner(tl_binder *b, const tl_ast *query, const tl_ast *at, tl_plan **out)
{
    tl_binder inner = *b;
    inner.aggregates_allowed = inner.in_aggregate = false;
    inner.windows = NULL;
    inner.select_hints = NULL;
    inner.scalar_input = NULL;
    inner.late_subqueries = false;
    if (++inner.depth > TL_BIND_DEPTH_MAX)
        return TL_AST_ERROR(b->err, TL_E_LIMIT, at, "views and subqueries are nested more than %d deep", TL_BIND_DEPTH_MAX);
    return tl_bind__query(&inner, query, out);
}

/* ---- what looks outside ---- */

/** Strip projections and correlated filters off a subquery's plan: what is left does not look outside. */
typedef struct decorrelated {
    tl_plan *plan;
    tl_expr **values;   /* what the subquery's columns are, over `plan` */
    tl_expr **conjuncts; /* correlated conditions: COLUMN over `plan`, OUTER of level 1 */
    int32_t n_conjuncts;
} decorrelated;

static bool expr_looks_outside(const tl_expr *e)
{
    return e != NULL && (tl_expr__has_kind(e, TL_EXPR_OUTER) || tl_expr__has_kind(e, TL_EXPR_SUBQUERY));
}

bool tl_plan__looks_outside(const tl_plan *plan)
{
    if (expr_looks_outside(plan->condition))
        return true;
    int64_t n = plan->kind == TL_PLAN_PROJECT ? plan->type->n_fields : plan->kind == TL_PLAN_VALUES ? plan->n_rows * plan->type->n_fields : 0;
    for (int64_t i = 0; i < n; i++)
        if (expr_looks_outside(plan->exprs[i]))
            return true;
    for (int32_t i = 0; i < plan->n_inputs; i++)
        if (tl_plan__looks_outside(plan->inputs[i]))
            return true;
    return false;
}

static tl_status decorrelate(tl_binder *b, tl_plan *plan, decorrelated *out)
{
    int32_t n = plan->type->n_fields;
    out->values = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *out->values);
    BIND_ALLOC(b, out->values);
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_bind__column(b, i, plan->type->fields[i].type, NULL, &out->values[i]));
    out->conjuncts = NULL;
    out->n_conjuncts = 0;
    while (plan->kind == TL_PLAN_PROJECT || (plan->kind == TL_PLAN_FILTER && expr_looks_outside(plan->condition))) {
        if (plan->kind == TL_PLAN_PROJECT) {
            for (int32_t i = 0; i < n; i++)
                TL_TRY(tl_expr__substitute(b, out->values[i], plan->exprs, &out->values[i]));
            for (int32_t i = 0; i < out->n_conjuncts; i++)
                TL_TRY(tl_expr__substitute(b, out->conjuncts[i], plan->exprs, &out->conjuncts[i]));
            plan = plan->inputs[0];
            continue;
        }
        tl_expr **parts;
        int32_t n_parts, n_inside = 0;
        TL_TRY(tl_plan__conjuncts(b, plan->condition, &parts, &n_parts));
        tl_expr **all = tl_arena_alloc(b->arena, (size_t)(out->n_conjuncts + n_parts) * sizeof *all);
        BIND_ALLOC(b, all);
        if (out->n_conjuncts > 0)
            memcpy(all, out->conjuncts, (size_t)out->n_conjuncts * sizeof *all);
        for (int32_t i = 0; i < n_parts; i++) {
            if (tl_expr__has_kind(parts[i], TL_EXPR_OUTER))
                all[out->n_conjuncts++] = parts[i];
            else
                parts[n_inside++] = parts[i];
        }
        out->conjuncts = all;
        plan = plan->inputs[0];
        if (n_inside > 0) {
            tl_expr *inside;
            TL_TRY(tl_plan__conjunction(b, parts, n_inside, &inside));
            TL_TRY(tl_bind__filter(b, plan, inside, &plan));
            break;
        }
    }
    out->plan = plan;
    return TL_OK;
}

/** Rewrite for (outer, inner) side by side: COLUMN i → n_outer + i, OUTER (level 1) i → COLUMN i. */
static tl_status side_by_side(tl_binder *b, const tl_expr *e, int32_t n_outer, tl_expr **out)
{
    if (e->kind == TL_EXPR_COLUMN || e->kind == TL_EXPR_OUTER) {
        tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
        BIND_ALLOC(b, copy);
        *copy = *e;
        *out = copy;
        if (e->kind == TL_EXPR_OUTER && e->level > 1) { /* of a query farther out, as the one around sees it */
            copy->level--;
            return TL_OK;
        }
        copy->kind = TL_EXPR_COLUMN;
        copy->level = 0;
        copy->column = e->kind == TL_EXPR_COLUMN ? e->column + n_outer : e->column;
        return TL_OK;
    }
    tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, args);
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(side_by_side(b, e->args[i], n_outer, &args[i]));
    *copy = *e;
    copy->args = args;
    *out = copy;
    return TL_OK;
}

/** l = r, or for NOT IN what is not FALSE: l = r OR l IS NULL OR r IS NULL. */
static tl_status in_condition(tl_binder *b, tl_expr *l, tl_expr *r, bool is_not, const tl_ast *at, tl_expr **out)
{
    TL_TRY(tl_bind__compare(b, "=", l, r, at, out));
    if (!is_not || (!l->type->nullable && !r->type->nullable))
        return TL_OK;
    tl_expr **parts = tl_arena_alloc(b->arena, 3 * sizeof *parts);
    BIND_ALLOC(b, parts);
    int32_t n = 0;
    parts[n++] = *out;
    if (l->type->nullable)
        TL_TRY(tl_bind__function(b, "IS NULL", &l, 1, at, &parts[n++]));
    if (r->type->nullable)
        TL_TRY(tl_bind__function(b, "IS NULL", &r, 1, at, &parts[n++]));
    return tl_bind__logic(b, TL_EXPR_OR, parts, n, at, out);
}

static tl_status unlowered(tl_binder *b, const tl_ast *ast, tl_plan *plan, tl_expr **out);

/** A condition whose subquery looks outside in more than its WHERE: by the column that says whether there is a row. */
static tl_status filter_by_mark(tl_binder *b, const tl_ast *ast, tl_plan *plan, bool is_not, tl_plan *input, tl_plan **out)
{
    tl_expr *e;
    *out = input;
    TL_TRY(unlowered(b, ast, plan, &e));
    if (is_not)
        TL_TRY(tl_bind__function(b, "NOT", &e, 1, ast, &e));
    TL_TRY(tl_bind__lower_subqueries(b, &e, 1, out));
    return tl_bind__filter(b, *out, e, out);
}

/** [NOT] IN (SELECT …) and [NOT] EXISTS (SELECT …) as a condition of WHERE: a semi or anti join. */
tl_status tl_bind__semi_join(tl_binder *b, const tl_ast *ast, bool is_not, tl_plan *input, tl_plan **out)
{
    bool is_in = ast->kind == AST_IN, was_not = is_not;
    if (is_in && (ast->flags & AST_F_NOT) != 0)
        is_not = !is_not;
    tl_plan *plan;
    TL_TRY(bind_inner(b, is_in ? ast->kid[1] : ast->kid[0], ast, &plan));
    decorrelated d;
    TL_TRY(decorrelate(b, plan, &d));
    if (tl_plan__looks_outside(d.plan))
        return filter_by_mark(b, ast, plan, was_not, input, out);
    int32_t n_outer = input->type->n_fields, n = 0, n_left = 0;
    tl_expr **conditions = tl_arena_alloc(b->arena, (size_t)(d.n_conjuncts + plan->type->n_fields + 1) * sizeof *conditions);
    BIND_ALLOC(b, conditions);
    for (int32_t i = 0; i < d.n_conjuncts; i++)
        TL_TRY(side_by_side(b, d.conjuncts[i], n_outer, &conditions[n++]));
    if (is_in) {
        const tl_ast *left = ast->kid[0], *first = left->kind == AST_ROW ? tl_ast_first(left->kid[0]) : left;
        for (const tl_ast *l = first; l != NULL; l = left->kind == AST_ROW ? l->next : NULL) {
            if (n_left == plan->type->n_fields)
                return BIND_ERROR(b, ast, "Values passed to IN operator must have compatible types");
            tl_expr *e, *value;
            TL_TRY(tl_bind__expr(b, l, &e));
            TL_TRY(side_by_side(b, d.values[n_left++], n_outer, &value));
            TL_TRY(in_condition(b, e, value, is_not, l, &conditions[n++]));
        }
        if (n_left != plan->type->n_fields)
            return BIND_ERROR(b, ast, "Values passed to IN operator must have compatible types");
    }
    tl_expr *condition = NULL;
    if (n > 0)
        TL_TRY(tl_plan__conjunction(b, conditions, n, &condition));
    return tl_bind__join(b, TL_PLAN_JOIN, is_not ? TL_JOIN_ANTI : TL_JOIN_SEMI, input, d.plan, condition, out);
}

static bool gives_one_row(const tl_plan *plan)
{
    while (plan->kind == TL_PLAN_PROJECT)
        plan = plan->inputs[0];
    return plan->kind == TL_PLAN_AGGREGATE && plan->n_group == 0;
}

/** The one row of a scalar subquery: an error at run time if there are more. */
static tl_status single_value(tl_binder *b, tl_plan *plan, tl_plan **out)
{
    const char *name = plan->type->fields[0].name;
    const tl_type *type, *row;
    TL_TRY(tl_bind__nullable(b, plan->type->fields[0].type, true, &type));
    TL_TRY(tl_bind__row_type(b, &name, &type, 1, &row));
    tl_agg_call *call = tl_arena_calloc(b->arena, 1, sizeof *call);
    *out = tl_bind__new_plan(b, TL_PLAN_AGGREGATE, row, plan);
    BIND_ALLOC(b, call);
    BIND_ALLOC(b, *out);
    *call = (tl_agg_call){.kind = TL_AGG_SINGLE_VALUE, .n_args = 1, .filter = -1, .type = type};
    (*out)->calls = call;
    (*out)->n_calls = 1;
    return TL_OK;
}

/* ---- answers as columns ---- */

static tl_status named_project(tl_binder *b, tl_plan *input, tl_expr **exprs, int32_t n, tl_plan **out)
{
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        names[i] = tl_arena_strf(b->arena, "$s%d", (int)i);
        BIND_ALLOC(b, names[i]);
    }
    return tl_bind__project(b, input, exprs, names, n, out);
}

/** An AGGREGATE over `input`, whose first n_keys columns are its keys. */
static tl_status aggregate_node(tl_binder *b, tl_plan *input, int32_t n_keys, const tl_agg_call *calls, int32_t n_calls, tl_plan **out)
{
    int32_t n = n_keys + n_calls;
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types), *type;
    int32_t *group = tl_arena_alloc(b->arena, (size_t)(n_keys + 1) * sizeof *group);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    BIND_ALLOC(b, group);
    for (int32_t i = 0; i < n; i++) {
        names[i] = tl_arena_strf(b->arena, "$g%d", (int)i);
        BIND_ALLOC(b, names[i]);
        types[i] = i < n_keys ? input->type->fields[i].type : calls[i - n_keys].type;
        if (i < n_keys)
            group[i] = i;
    }
    TL_TRY(tl_bind__row_type(b, names, types, n, &type));
    *out = tl_bind__new_plan(b, TL_PLAN_AGGREGATE, type, input);
    BIND_ALLOC(b, *out);
    (*out)->group = group;
    (*out)->n_group = n_keys;
    (*out)->calls = calls;
    (*out)->n_calls = n_calls;
    return TL_OK;
}

tl_status tl_bind__or_zero(tl_binder *b, tl_expr *e, const tl_ast *at, tl_expr **out)
{
    tl_expr **args = tl_arena_alloc(b->arena, 3 * sizeof *args);
    BIND_ALLOC(b, args);
    TL_TRY(tl_bind__function(b, "IS NULL", &e, 1, at, &args[0]));
    TL_TRY(tl_bind__int_literal(b, 0, at, &args[1]));
    TL_TRY(tl_bind__coerce(b, args[1], e->type, &args[1]));
    args[2] = e;
    return tl_bind__case(b, args, 3, at, out);
}

/**
 * Aggregates of the rows that a subquery (`plan`) gives for each row of *input, which gets columns for them: results[i] is what call i
 * (over plan's columns) gives, also where there are no rows.
 */
static tl_status aggregates_of(tl_binder *b, tl_plan *plan, const tl_agg_call *calls, int32_t n_calls, const tl_ast *at, tl_plan **input, tl_expr **results)
{
    tl_unnested u;
    TL_TRY(tl_bind__unnest(b, plan, *input, /* empty_groups= */ true, at, &u));
    tl_agg_call *shifted = tl_arena_alloc(b->arena, (size_t)(n_calls + 1) * sizeof *shifted);
    BIND_ALLOC(b, shifted);
    for (int32_t i = 0; i < n_calls; i++) {
        shifted[i] = calls[i];
        for (int32_t k = 0; k < calls[i].n_args; k++)
            shifted[i].args[k] += u.n_keys;
        shifted[i].filter += calls[i].filter >= 0 ? u.n_keys : 0;
    }
    TL_TRY(aggregate_node(b, u.plan, u.n_keys, shifted, n_calls, &u.plan));
    int32_t first = (*input)->type->n_fields + u.n_keys;
    tl_expr *condition;
    TL_TRY(tl_bind__unnested_condition(b, &u, (*input)->type->n_fields, NULL, 0, at, &condition));
    TL_TRY(tl_bind__join(b, TL_PLAN_JOIN, TL_JOIN_LEFT, *input, u.plan, condition, input));
    for (int32_t i = 0; i < n_calls; i++) {
        TL_TRY(tl_bind__column(b, first + i, (*input)->type->fields[first + i].type, at, &results[i]));
        if (calls[i].kind == TL_AGG_COUNT)
            TL_TRY(tl_bind__or_zero(b, results[i], at, &results[i]));
    }
    return TL_OK;
}

/** COUNT of rows (column < 0), or COUNT, MIN or MAX of a column. */
static tl_status simple_call(tl_binder *b, tl_agg_kind kind, const tl_type *row, int32_t column, tl_agg_call *out)
{
    *out = (tl_agg_call){.kind = kind, .args = {column}, .n_args = column >= 0, .filter = -1};
    return kind == TL_AGG_COUNT ? tl_bind__simple_type(b, TL_BIGINT, false, 0, 0, &out->type) : tl_bind__nullable(b, row->fields[column].type, true, &out->type);
}

/**
 * Whether the subquery has a row for the row outside (for IN: one that is equal to `values`, n of them): a BOOLEAN over *input, which
 * gets columns for it.
 */
static tl_status exists_column(tl_binder *b, tl_plan *plan, tl_expr *const *values, int32_t n, const tl_ast *at, tl_plan **input, tl_expr **out)
{
    tl_unnested u;
    TL_TRY(tl_bind__unnest(b, plan, *input, /* empty_groups= */ true, at, &u));
    int32_t n_keys = u.n_keys + n, n_outside = (*input)->type->n_fields;
    if (n_keys == 0) { /* one row with the number of rows */
        tl_agg_call count;
        tl_expr *zero, *rows;
        TL_TRY(simple_call(b, TL_AGG_COUNT, NULL, -1, &count));
        TL_TRY(aggregates_of(b, u.plan, &count, 1, at, input, &rows));
        TL_TRY(tl_bind__int_literal(b, 0, at, &zero));
        TL_TRY(tl_bind__compare(b, ">", rows, zero, at, out));
        return tl_bind__function(b, "IS TRUE", out, 1, at, out);
    }
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n_keys + 1) * sizeof *exprs), *condition;
    tl_expr **equal = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *equal);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, equal);
    for (int32_t i = 0; i < n_keys; i++)
        TL_TRY(tl_bind__column(b, i, u.plan->type->fields[i].type, at, &exprs[i]));
    TL_TRY(named_project(b, u.plan, exprs, n_keys, &u.plan));
    TL_TRY(tl_bind__distinct(b, u.plan, &u.plan));
    tl_expr **marked = tl_arena_alloc(b->arena, (size_t)(n_keys + 1) * sizeof *marked);
    BIND_ALLOC(b, marked);
    memcpy(marked, exprs, (size_t)n_keys * sizeof *marked);
    TL_TRY(tl_bind__bool_literal(b, true, at, &marked[n_keys]));
    TL_TRY(named_project(b, u.plan, marked, n_keys + 1, &u.plan));
    for (int32_t i = 0; i < n; i++) {
        tl_expr *value;
        TL_TRY(tl_bind__column(b, n_outside + u.n_keys + i, u.plan->type->fields[u.n_keys + i].type, at, &value));
        TL_TRY(tl_bind__compare(b, "=", values[i], value, at, &equal[i]));
    }
    TL_TRY(tl_bind__unnested_condition(b, &u, n_outside, equal, n, at, &condition));
    TL_TRY(tl_bind__join(b, TL_PLAN_JOIN, TL_JOIN_LEFT, *input, u.plan, condition, input));
    TL_TRY(tl_bind__column(b, n_outside + n_keys, (*input)->type->fields[n_outside + n_keys].type, at, out));
    return tl_bind__function(b, "IS NOT NULL", out, 1, at, out);
}

/** CASE of TRUE where `found`, NULL where `unknown` (NULL: nowhere), else FALSE. */
static tl_status three_valued(tl_binder *b, tl_expr *found, tl_expr *unknown, const tl_ast *at, tl_expr **out)
{
    *out = found;
    if (unknown == NULL)
        return TL_OK;
    tl_expr **args = tl_arena_alloc(b->arena, 5 * sizeof *args);
    const tl_type *boolean;
    BIND_ALLOC(b, args);
    TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, true, 0, 0, &boolean));
    args[0] = found;
    TL_TRY(tl_bind__bool_literal(b, true, at, &args[1]));
    args[2] = unknown;
    TL_TRY(tl_bind__null(b, boolean, at, &args[3]));
    TL_TRY(tl_bind__bool_literal(b, false, at, &args[4]));
    return tl_bind__case(b, args, 5, at, out);
}

static tl_status either(tl_binder *b, tl_expr_kind kind, tl_expr *l, tl_expr *r, const tl_ast *at, tl_expr **out)
{
    tl_expr **both = tl_arena_alloc(b->arena, 2 * sizeof *both);
    BIND_ALLOC(b, both);
    both[0] = l;
    both[1] = r;
    return tl_bind__logic(b, kind, both, 2, at, out);
}

/** An expression over the plan outside, as a query inside sees it. */
static tl_status seen_from_inside(tl_binder *b, const tl_expr *e, tl_expr **out)
{
    tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, args);
    *copy = *e;
    copy->args = args;
    if (e->kind == TL_EXPR_COLUMN || e->kind == TL_EXPR_OUTER) {
        copy->kind = TL_EXPR_OUTER;
        copy->level++;
    }
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(seen_from_inside(b, e->args[i], &args[i]));
    *out = copy;
    return TL_OK;
}

/** Rows of an IN's subquery whose comparison with the row on the left is neither TRUE nor FALSE: whether there are some. */
static tl_status unknown_column(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    tl_plan *plan;
    tl_expr **equal = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *equal), *all;
    BIND_ALLOC(b, equal);
    for (int32_t i = 0; i < e->n_args; i++) {
        tl_expr *left, *right;
        TL_TRY(seen_from_inside(b, e->args[i], &left));
        TL_TRY(tl_bind__column(b, i, e->plan->type->fields[i].type, e->ast, &right));
        TL_TRY(tl_bind__compare(b, "=", left, right, e->ast, &equal[i]));
    }
    TL_TRY(tl_plan__conjunction(b, equal, e->n_args, &all));
    TL_TRY(tl_bind__function(b, "IS NULL", &all, 1, e->ast, &all));
    TL_TRY(tl_bind__filter(b, (tl_plan *)(uintptr_t)e->plan, all, &plan));
    return exists_column(b, plan, NULL, 0, e->ast, input, out);
}

/** x IN (…) of one column: NULL where x is NULL and there are rows, or where a value is NULL; cheaper than comparing them all. */
static tl_status unknown_value(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    tl_agg_call calls[2];
    tl_expr *counts[2], *zero, *is_null, *rows, *nulls;
    TL_TRY(simple_call(b, TL_AGG_COUNT, NULL, -1, &calls[0]));
    TL_TRY(simple_call(b, TL_AGG_COUNT, e->plan->type, 0, &calls[1]));
    TL_TRY(aggregates_of(b, (tl_plan *)(uintptr_t)e->plan, calls, 2, e->ast, input, counts));
    TL_TRY(tl_bind__int_literal(b, 0, e->ast, &zero));
    TL_TRY(tl_bind__function(b, "IS NULL", &e->args[0], 1, e->ast, &is_null));
    TL_TRY(tl_bind__compare(b, ">", counts[0], zero, e->ast, &rows));
    TL_TRY(either(b, TL_EXPR_AND, is_null, rows, e->ast, &rows));
    TL_TRY(tl_bind__compare(b, ">", counts[0], counts[1], e->ast, &nulls));
    return either(b, TL_EXPR_OR, rows, nulls, e->ast, out);
}

/** EXISTS; IN: TRUE where a value is equal, else NULL where a comparison is, else FALSE. */
static tl_status lower_mark(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    bool nullable = false;
    tl_expr *found, *unknown = NULL;
    for (int32_t i = 0; i < e->n_args; i++)
        nullable = nullable || e->args[i]->type->nullable || e->plan->type->fields[i].type->nullable;
    TL_TRY(exists_column(b, (tl_plan *)(uintptr_t)e->plan, e->args, e->n_args, e->ast, input, &found));
    if (nullable)
        TL_TRY(e->n_args == 1 ? unknown_value(b, e, input, &unknown) : unknown_column(b, e, input, &unknown));
    return three_valued(b, found, unknown, e->ast, out);
}

/** x op ANY (…) by the least and the greatest value: whether one makes it TRUE. */
static tl_status any_by_bounds(tl_binder *b, const char *op, tl_expr *x, tl_expr *least, tl_expr *greatest, const tl_ast *at, tl_expr **out)
{
    if (op[0] == '<' && op[1] == '>') {
        tl_expr *l, *r;
        TL_TRY(tl_bind__compare(b, "<>", x, least, at, &l));
        TL_TRY(tl_bind__compare(b, "<>", x, greatest, at, &r));
        return either(b, TL_EXPR_OR, l, r, at, out);
    }
    return tl_bind__compare(b, op, x, op[0] == '>' ? least : greatest, at, out);
}

/** x op ANY (SELECT …). x op ALL is NOT (x op' ANY), op' the opposite of op. */
static tl_status lower_quantified(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    static const char *const opposite[][2] = {{"=", "<>"}, {"<>", "="}, {"<", ">="}, {">=", "<"}, {">", "<="}, {"<=", ">"}};
    bool all = e->subquery == TL_SUBQUERY_ALL;
    const char *op = e->compare;
    for (size_t i = 0; all && i < TL_ARRAY_LEN(opposite); i++)
        if (strcmp(opposite[i][0], e->compare) == 0)
            op = opposite[i][1];
    if (strcmp(op, "=") == 0) {
        TL_TRY(lower_mark(b, e, input, out));
    } else {
        if (e->n_args != 1)
            return BIND_ERROR(b, e->ast, "rows are compared with ANY and ALL by = and <> alone: compare one column");
        tl_agg_call calls[4];
        tl_expr *results[4], *zero, *found, *is_null, *rows, *nulls, *unknown;
        const tl_type *row = e->plan->type;
        TL_TRY(simple_call(b, TL_AGG_COUNT, NULL, -1, &calls[0]));
        TL_TRY(simple_call(b, TL_AGG_COUNT, row, 0, &calls[1]));
        TL_TRY(simple_call(b, TL_AGG_MIN, row, 0, &calls[2]));
        TL_TRY(simple_call(b, TL_AGG_MAX, row, 0, &calls[3]));
        TL_TRY(aggregates_of(b, (tl_plan *)(uintptr_t)e->plan, calls, 4, e->ast, input, results));
        TL_TRY(any_by_bounds(b, op, e->args[0], results[2], results[3], e->ast, &found));
        TL_TRY(tl_bind__function(b, "IS TRUE", &found, 1, e->ast, &found));
        TL_TRY(tl_bind__int_literal(b, 0, e->ast, &zero));
        TL_TRY(tl_bind__function(b, "IS NULL", &e->args[0], 1, e->ast, &is_null));
        TL_TRY(tl_bind__compare(b, ">", results[0], zero, e->ast, &rows));
        TL_TRY(either(b, TL_EXPR_AND, is_null, rows, e->ast, &rows));
        TL_TRY(tl_bind__compare(b, ">", results[0], results[1], e->ast, &nulls));
        TL_TRY(either(b, TL_EXPR_OR, rows, nulls, e->ast, &unknown));
        TL_TRY(three_valued(b, found, unknown, e->ast, out));
    }
    return all ? tl_bind__function(b, "NOT", out, 1, e->ast, out) : TL_OK;
}

/** A scalar subquery that looks outside: its calls for each row outside, 0 for a COUNT of no rows. */
static tl_status lower_correlated(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    tl_plan *aggregate = (tl_plan *)(uintptr_t)e->plan;
    tl_expr *value;
    if (!gives_one_row(aggregate))
        TL_TRY(single_value(b, aggregate, &aggregate));
    TL_TRY(tl_bind__column(b, 0, aggregate->type->fields[0].type, e->ast, &value));
    for (; aggregate->kind == TL_PLAN_PROJECT; aggregate = aggregate->inputs[0])
        TL_TRY(tl_expr__substitute(b, value, aggregate->exprs, &value));
    if (aggregate->grouping_sets != NULL)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, e->ast, "a scalar subquery over GROUPING SETS that looks outside is not there: write it as a join");
    int32_t n_outer = (*input)->type->n_fields, n_calls = aggregate->n_calls;
    tl_expr **map = tl_arena_alloc(b->arena, (size_t)(n_outer + n_calls + 1) * sizeof *map);
    BIND_ALLOC(b, map);
    TL_TRY(aggregates_of(b, aggregate->inputs[0], aggregate->calls, n_calls, e->ast, input, map + n_outer));
    for (int32_t i = 0; i < n_outer; i++)
        TL_TRY(tl_bind__column(b, i, (*input)->type->fields[i].type, e->ast, &map[i]));
    TL_TRY(side_by_side(b, value, n_outer, &value));
    return tl_expr__substitute(b, value, map, out);
}

static tl_status lower_scalar(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    tl_plan *plan = (tl_plan *)(uintptr_t)e->plan;
    if (tl_plan__looks_outside(plan))
        return lower_correlated(b, e, input, out);
    if (!gives_one_row(plan))
        TL_TRY(single_value(b, plan, &plan));
    int32_t column = (*input)->type->n_fields;
    TL_TRY(tl_bind__join(b, TL_PLAN_JOIN, TL_JOIN_LEFT, *input, plan, NULL, input));
    return tl_bind__column(b, column, (*input)->type->fields[column].type, e->ast, out);
}

typedef struct lowering {
    tl_binder *b;
    tl_plan **input;
    tl_status status;
} lowering;

static bool lower_one(tl_expr *e, void *ctx)
{
    lowering *l = ctx;
    if (e->kind != TL_EXPR_SUBQUERY)
        return true;
    tl_expr *column = NULL;
    const tl_type *type = e->type;
    switch (e->subquery) {
    case TL_SUBQUERY_SCALAR:
        l->status = lower_scalar(l->b, e, l->input, &column);
        break;
    case TL_SUBQUERY_EXISTS:
    case TL_SUBQUERY_IN:
        l->status = lower_mark(l->b, e, l->input, &column);
        break;
    case TL_SUBQUERY_ANY:
    case TL_SUBQUERY_ALL:
        l->status = lower_quantified(l->b, e, l->input, &column);
        break;
    }
    if (l->status != TL_OK)
        return false;
    *e = *column;
    if (!tl_type_equal(e->type, type, /* with_nullable= */ false))
        l->status = tl_error_set(l->b->err, TL_E_INTERNAL, "a subquery has changed its type");
    else
        e->type = e->kind == TL_EXPR_COLUMN ? e->type : type;
    return l->status == TL_OK;
}

tl_status tl_bind__lower_subqueries(tl_binder *b, tl_expr **exprs, int32_t n, tl_plan **input)
{
    lowering l = {b, input, TL_OK};
    for (int32_t i = 0; i < n; i++) {
        tl_expr__walk(exprs[i], lower_one, &l);
        TL_TRY(l.status);
    }
    return TL_OK;
}

/* ---- subqueries in expressions ---- */

/** The expression whose subquery has this plan. */
static tl_status unlowered(tl_binder *b, const tl_ast *ast, tl_plan *plan, tl_expr **out)
{
    tl_expr *e = tl_bind__new_expr(b, TL_EXPR_SUBQUERY, NULL, ast);
    BIND_ALLOC(b, e);
    e->plan = plan;
    e->ast = ast;
    e->compare = "=";
    switch (ast->kind) {
    case AST_EXISTS:
        e->subquery = TL_SUBQUERY_EXISTS;
        TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, false, 0, 0, &e->type));
        *out = e;
        return TL_OK;
    case AST_SUBQUERY:
        if (plan->type->n_fields != 1)
            return BIND_ERROR(b, ast, "a scalar subquery gives one column, not %d", (int)plan->type->n_fields);
        e->subquery = TL_SUBQUERY_SCALAR;
        TL_TRY(tl_bind__nullable(b, plan->type->fields[0].type, true, &e->type));
        *out = e;
        return TL_OK;
    default:
        break;
    }
    e->subquery = ast->kind == AST_IN ? TL_SUBQUERY_IN : (ast->flags & AST_F_ALL) != 0 ? TL_SUBQUERY_ALL : TL_SUBQUERY_ANY;
    if (ast->kind == AST_QUANTIFIED)
        e->compare = ast->text;
    const tl_ast *left = ast->kid[0];
    int32_t n = left->kind == AST_ROW ? tl_ast_count(left->kid[0]) : 1, i = 0;
    if (n != plan->type->n_fields)
        return BIND_ERROR(b, ast, "the subquery gives %d columns, the left side has %d", (int)plan->type->n_fields, (int)n);
    e->args = tl_arena_alloc(b->arena, (size_t)n * sizeof *e->args);
    tl_expr **inside = tl_arena_alloc(b->arena, (size_t)n * sizeof *inside);
    const char **names = tl_arena_alloc(b->arena, (size_t)n * sizeof *names);
    BIND_ALLOC(b, e->args);
    BIND_ALLOC(b, inside);
    BIND_ALLOC(b, names);
    for (const tl_ast *l = left->kind == AST_ROW ? tl_ast_first(left->kid[0]) : left; i < n; l = l->next, i++) {
        TL_TRY(tl_bind__expr(b, l, &e->args[i]));
        const tl_type *t = plan->type->fields[i].type, *common;
        TL_TRY(tl_bind__common_type(b, e->args[i]->type, t, &common));
        if (common == NULL)
            return BIND_ERROR(b, l, "Values passed to %s operator must have compatible types: %s and %s", ast->kind == AST_IN ? "IN" : "ANY and ALL",
                              tl_bind__type_text(b, e->args[i]->type), tl_bind__type_text(b, t));
        TL_TRY(tl_bind__coerce(b, e->args[i], common, &e->args[i]));
        TL_TRY(tl_bind__column(b, i, t, NULL, &inside[i]));
        TL_TRY(tl_bind__coerce(b, inside[i], common, &inside[i]));
        names[i] = plan->type->fields[i].name;
    }
    e->n_args = n;
    tl_plan *cast;
    TL_TRY(tl_bind__project(b, plan, inside, names, n, &cast));
    e->plan = cast;
    TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, true, 0, 0, &e->type));
    *out = e;
    return ast->kind == AST_IN && (ast->flags & AST_F_NOT) != 0 ? tl_bind__function(b, "NOT", out, 1, ast, out) : TL_OK;
}

tl_status tl_bind__subquery(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    if (b->joins_subqueries && b->scalar_input == NULL)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast,
                            "in streaming mode and inside LATERAL a subquery can stand in WHERE, HAVING, SELECT and FROM, but not in a condition of JOIN, "
                            "GROUP BY or ORDER BY: put it into a query in FROM");
    tl_plan *plan;
    TL_TRY(bind_inner(b, ast->kind == AST_IN || ast->kind == AST_QUANTIFIED ? ast->kid[1] : ast->kid[0], ast, &plan));
    TL_TRY(unlowered(b, ast, plan, out));
    bool late = b->late_subqueries && !b->in_aggregate; /* what an aggregate takes in must be there before the groups */
    return b->joins_subqueries && !late ? tl_bind__lower_subqueries(b, out, 1, b->scalar_input) : TL_OK;
}
