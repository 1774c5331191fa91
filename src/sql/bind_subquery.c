/*
 * Subqueries: of batch queries expressions that hold a plan; of streams joins.
 *
 * In streaming mode [NOT] IN and [NOT] EXISTS as a condition of WHERE is a semi or anti join. Everywhere else (under OR, in CASE, in
 * SELECT, in HAVING) the answer becomes a column: the different keys of the subquery, joined from the left, say whether there is a row.
 * A scalar subquery becomes a column, too; one that looks outside by equal values is grouped by these.
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
        if (e->kind == TL_EXPR_OUTER && e->level != 1)
            return tl_error_set(b->err, TL_E_UNSUPPORTED, "line %d:%d: a subquery that looks more than one query outside is not there in streaming mode",
                                (int)e->line, (int)e->position);
        tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
        BIND_ALLOC(b, copy);
        *copy = *e;
        copy->kind = TL_EXPR_COLUMN;
        copy->level = 0;
        copy->column = e->kind == TL_EXPR_COLUMN ? e->column + n_outer : e->column;
        *out = copy;
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

/** [NOT] IN (SELECT …) and [NOT] EXISTS (SELECT …) as a condition of WHERE: a semi or anti join. */
tl_status tl_bind__semi_join(tl_binder *b, const tl_ast *ast, bool is_not, tl_plan *input, tl_plan **out)
{
    bool is_in = ast->kind == AST_IN;
    if (is_in && (ast->flags & AST_F_NOT) != 0)
        is_not = !is_not;
    tl_plan *plan;
    TL_TRY(bind_inner(b, is_in ? ast->kid[1] : ast->kid[0], ast, &plan));
    decorrelated d;
    TL_TRY(decorrelate(b, plan, &d));
    if (tl_plan__looks_outside(d.plan))
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "a subquery that looks outside in more than its WHERE is not there in streaming mode");
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

/* ---- streaming: answers as columns ---- */

/** A row of the subquery belongs to one outside where inner[i] = outer[i] for all i. */
typedef struct equal_keys {
    tl_expr **inner; /* over the subquery's plan */
    tl_expr **outer; /* over the plan outside */
    int32_t n;
} equal_keys;

static tl_status no_equality(tl_binder *b, const tl_expr *e)
{
    return tl_error_set(b->err, TL_E_UNSUPPORTED,
                        "line %d:%d: in streaming mode a subquery can look outside only by conditions a = b, a of its own columns and b of those outside "
                        "([NOT] IN and [NOT] EXISTS as a condition of WHERE by themselves: by any condition)",
                        (int)e->line, (int)e->position);
}

static bool holds_column(const tl_expr *e)
{
    return tl_expr__has_kind(e, TL_EXPR_COLUMN);
}

/** Split the correlated conditions of a subquery into its side and that outside; room for `more` pairs. */
static tl_status find_keys(tl_binder *b, const decorrelated *d, const tl_expr *at, int32_t more, equal_keys *out)
{
    size_t room = (size_t)d->n_conjuncts + (size_t)more + 1;
    *out = (equal_keys){tl_arena_alloc(b->arena, room * sizeof *out->inner), tl_arena_alloc(b->arena, room * sizeof *out->outer), 0};
    BIND_ALLOC(b, out->inner);
    BIND_ALLOC(b, out->outer);
    for (int32_t i = 0; i < d->n_conjuncts; i++) {
        const tl_expr *e = d->conjuncts[i];
        if (e->kind != TL_EXPR_CALL || strcmp(e->fn->name, "=") != 0)
            return no_equality(b, at);
        bool turned = tl_expr__has_kind(e->args[0], TL_EXPR_OUTER);
        tl_expr *inner = e->args[turned], *outer = e->args[!turned];
        if (tl_expr__has_kind(inner, TL_EXPR_OUTER) || holds_column(outer))
            return no_equality(b, at);
        out->inner[out->n] = inner;
        TL_TRY(side_by_side(b, outer, 0, &out->outer[out->n++]));
    }
    return TL_OK;
}

/** `input`, and the columns of `right`, whose first columns are the keys, where they are equal; NULLs where there are none. */
static tl_status join_by_keys(tl_binder *b, const equal_keys *keys, const tl_ast *at, tl_plan *right, tl_plan **input)
{
    int32_t n_left = (*input)->type->n_fields;
    tl_expr **parts = tl_arena_alloc(b->arena, (size_t)(keys->n + 1) * sizeof *parts), *condition = NULL;
    BIND_ALLOC(b, parts);
    for (int32_t i = 0; i < keys->n; i++) {
        tl_expr *r;
        TL_TRY(tl_bind__column(b, n_left + i, right->type->fields[i].type, at, &r));
        TL_TRY(tl_bind__compare(b, "=", keys->outer[i], r, at, &parts[i]));
    }
    if (keys->n > 0)
        TL_TRY(tl_plan__conjunction(b, parts, keys->n, &condition));
    return tl_bind__join(b, TL_PLAN_JOIN, TL_JOIN_LEFT, *input, right, condition, input);
}

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

/** Whether the subquery has a row for the row outside (EXISTS, or IN without its NULLs): a BOOLEAN over *input, which gets columns for it. */
static tl_status exists_column(tl_binder *b, tl_plan *right, const equal_keys *keys, const tl_ast *at, tl_plan **input, tl_expr **out)
{
    int32_t column;
    if (keys->n == 0) { /* one row with the number of rows */
        tl_agg_call *count = tl_arena_calloc(b->arena, 1, sizeof *count);
        BIND_ALLOC(b, count);
        *count = (tl_agg_call){.kind = TL_AGG_COUNT, .filter = -1};
        TL_TRY(tl_bind__simple_type(b, TL_BIGINT, false, 0, 0, &count->type));
        TL_TRY(aggregate_node(b, right, 0, count, 1, &right));
        column = (*input)->type->n_fields;
        TL_TRY(join_by_keys(b, keys, at, right, input));
        tl_expr *zero, *n;
        TL_TRY(tl_bind__int_literal(b, 0, at, &zero));
        TL_TRY(tl_bind__column(b, column, (*input)->type->fields[column].type, at, &n));
        TL_TRY(tl_bind__compare(b, ">", n, zero, at, out));
        return tl_bind__function(b, "IS TRUE", out, 1, at, out);
    }
    TL_TRY(named_project(b, right, keys->inner, keys->n, &right));
    TL_TRY(tl_bind__distinct(b, right, &right));
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(keys->n + 1) * sizeof *exprs);
    BIND_ALLOC(b, exprs);
    for (int32_t i = 0; i < keys->n; i++)
        TL_TRY(tl_bind__column(b, i, right->type->fields[i].type, at, &exprs[i]));
    TL_TRY(tl_bind__bool_literal(b, true, at, &exprs[keys->n]));
    TL_TRY(named_project(b, right, exprs, keys->n + 1, &right));
    column = (*input)->type->n_fields + keys->n;
    TL_TRY(join_by_keys(b, keys, at, right, input));
    TL_TRY(tl_bind__column(b, column, (*input)->type->fields[column].type, at, out));
    return tl_bind__function(b, "IS NOT NULL", out, 1, at, out);
}

/** A copy of an IN's subquery for the questions about NULLs: is there a row at all, is there one whose value is NULL. */
static tl_status null_question(tl_binder *b, const tl_expr *e, bool of_nulls, tl_plan **input, tl_expr **out)
{
    tl_plan *plan;
    decorrelated d;
    equal_keys keys;
    TL_TRY(bind_inner(b, e->ast->kid[1], e->ast, &plan));
    TL_TRY(decorrelate(b, plan, &d));
    TL_TRY(find_keys(b, &d, e, 0, &keys));
    if (of_nulls) {
        tl_expr *is_null;
        TL_TRY(tl_bind__function(b, "IS NULL", &d.values[0], 1, e->ast, &is_null));
        TL_TRY(tl_bind__filter(b, d.plan, is_null, &d.plan));
    }
    return exists_column(b, d.plan, &keys, e->ast, input, out);
}

/** IN: TRUE where a value is equal; else NULL where the left side or a value is NULL and there are rows; else FALSE. */
static tl_status with_nulls(tl_binder *b, const tl_expr *e, tl_expr *found, tl_plan **input, tl_expr **out)
{
    tl_expr **args = tl_arena_alloc(b->arena, 7 * sizeof *args), *unknown[2];
    BIND_ALLOC(b, args);
    int32_t n = 0;
    const tl_type *boolean;
    bool value_null = e->plan->type->fields[0].type->nullable;
    *out = found;
    if (!e->args[0]->type->nullable && !value_null)
        return TL_OK;
    if (e->n_args > 1)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, e->ast, "in streaming mode (a, b) IN (SELECT …) with columns that may be NULL is a condition of WHERE by itself, or not there");
    TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, true, 0, 0, &boolean));
    args[n++] = found;
    TL_TRY(tl_bind__bool_literal(b, true, e->ast, &args[n++]));
    if (e->args[0]->type->nullable) {
        TL_TRY(tl_bind__function(b, "IS NULL", &e->args[0], 1, e->ast, &unknown[0]));
        TL_TRY(null_question(b, e, false, input, &unknown[1]));
        tl_expr **both = tl_arena_alloc(b->arena, sizeof unknown);
        BIND_ALLOC(b, both);
        memcpy(both, unknown, sizeof unknown);
        TL_TRY(tl_bind__logic(b, TL_EXPR_AND, both, 2, e->ast, &args[n++]));
        TL_TRY(tl_bind__null(b, boolean, e->ast, &args[n++]));
    }
    if (value_null) {
        TL_TRY(null_question(b, e, true, input, &args[n++]));
        TL_TRY(tl_bind__null(b, boolean, e->ast, &args[n++]));
    }
    TL_TRY(tl_bind__bool_literal(b, false, e->ast, &args[n++]));
    return tl_bind__case(b, args, n, e->ast, out);
}

static tl_status lower_mark(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    decorrelated d;
    equal_keys keys;
    TL_TRY(decorrelate(b, (tl_plan *)(uintptr_t)e->plan, &d));
    if (tl_plan__looks_outside(d.plan))
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, e->ast, "a subquery that looks outside in more than its WHERE is not there in streaming mode");
    TL_TRY(find_keys(b, &d, e, e->n_args, &keys));
    for (int32_t i = 0; i < e->n_args; i++) {
        if (expr_looks_outside(d.values[i]))
            return no_equality(b, e);
        keys.inner[keys.n] = d.values[i];
        keys.outer[keys.n++] = e->args[i];
    }
    TL_TRY(exists_column(b, d.plan, &keys, e->ast, input, out));
    return e->subquery == TL_SUBQUERY_IN ? with_nulls(b, e, *out, input, out) : TL_OK;
}

/** The grouped form of a scalar subquery that looks outside: its calls for each key, 0 for a COUNT of no rows. */
static tl_status lower_correlated(tl_binder *b, const tl_expr *e, tl_plan **input, tl_expr **out)
{
    tl_plan *aggregate = (tl_plan *)(uintptr_t)e->plan;
    tl_expr *value;
    decorrelated d;
    equal_keys keys;
    if (!gives_one_row(aggregate))
        TL_TRY(single_value(b, aggregate, &aggregate));
    TL_TRY(tl_bind__column(b, 0, aggregate->type->fields[0].type, e->ast, &value));
    for (; aggregate->kind == TL_PLAN_PROJECT; aggregate = aggregate->inputs[0])
        TL_TRY(tl_expr__substitute(b, value, aggregate->exprs, &value));
    TL_TRY(decorrelate(b, aggregate->inputs[0], &d));
    if (tl_plan__looks_outside(d.plan) || aggregate->grouping_sets != NULL)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, e->ast, "a scalar subquery that looks outside in more than its WHERE is not there in streaming mode: write it as a join");
    int32_t n_values = aggregate->inputs[0]->type->n_fields;
    TL_TRY(find_keys(b, &d, e, n_values, &keys));
    for (int32_t i = 0; i < n_values; i++) {
        if (expr_looks_outside(d.values[i]))
            return no_equality(b, e);
        keys.inner[keys.n + i] = d.values[i];
    }
    tl_agg_call *calls = tl_arena_alloc(b->arena, (size_t)(aggregate->n_calls + 1) * sizeof *calls);
    BIND_ALLOC(b, calls);
    for (int32_t i = 0; i < aggregate->n_calls; i++) {
        calls[i] = aggregate->calls[i];
        for (int32_t k = 0; k < calls[i].n_args; k++)
            calls[i].args[k] += keys.n;
        calls[i].filter += calls[i].filter >= 0 ? keys.n : 0;
    }
    tl_plan *right;
    TL_TRY(named_project(b, d.plan, keys.inner, keys.n + n_values, &right));
    TL_TRY(aggregate_node(b, right, keys.n, calls, aggregate->n_calls, &right));
    int32_t n_outer = (*input)->type->n_fields, n_calls = aggregate->n_calls;
    TL_TRY(join_by_keys(b, &keys, e->ast, right, input));
    tl_expr **map = tl_arena_alloc(b->arena, (size_t)(n_outer + n_calls + 1) * sizeof *map);
    BIND_ALLOC(b, map);
    for (int32_t i = 0; i < n_outer + n_calls; i++) {
        int32_t column = i < n_outer ? i : i + keys.n;
        TL_TRY(tl_bind__column(b, column, (*input)->type->fields[column].type, e->ast, &map[i]));
        if (i >= n_outer && calls[i - n_outer].kind == TL_AGG_COUNT) {
            tl_expr **args = tl_arena_alloc(b->arena, 3 * sizeof *args);
            BIND_ALLOC(b, args);
            args[2] = map[i];
            TL_TRY(tl_bind__function(b, "IS NULL", &map[i], 1, e->ast, &args[0]));
            TL_TRY(tl_bind__int_literal(b, 0, e->ast, &args[1]));
            TL_TRY(tl_bind__coerce(b, args[1], map[i]->type, &args[1]));
            TL_TRY(tl_bind__case(b, args, 3, e->ast, &map[i]));
        }
    }
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
    default:
        l->status = TL_AST_ERROR(l->b->err, TL_E_UNSUPPORTED, e->ast, "ANY and ALL of a subquery are not there in streaming mode");
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

static tl_status unlowered(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_ast *query = ast->kind == AST_IN || ast->kind == AST_QUANTIFIED ? ast->kid[1] : ast->kid[0];
    tl_plan *plan;
    TL_TRY(bind_inner(b, query, ast, &plan));
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
    if (b->streaming && b->scalar_input == NULL)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast,
                            "in streaming mode a subquery can stand in WHERE, HAVING, SELECT and FROM, but not in a condition of JOIN, GROUP BY or ORDER BY");
    TL_TRY(unlowered(b, ast, out));
    bool late = b->late_subqueries && !b->in_aggregate; /* what an aggregate takes in must be there before the groups */
    return b->streaming && !late ? tl_bind__lower_subqueries(b, out, 1, b->scalar_input) : TL_OK;
}
