/*
 * A query that looks outside (a subquery, LATERAL), as a plan that does not: to be joined to the plan outside.
 *
 * The new plan has key columns before the query's own: they say for which rows outside a row is. Everything between the conditions
 * that look outside and the top is done for each key by itself: aggregates are grouped by it, LIMIT becomes ROW_NUMBER within it.
 *
 * Where the query looks outside by conditions `inner = outer` of one WHERE alone, the inner sides are the keys: nothing more is needed.
 * Else the keys are the different values of the columns outside that it names (the domain), joined to where it names them; the plan
 * outside is there a second time for that. Keys of a domain may be NULL and are joined by IS NOT DISTINCT FROM.
 */
#include "sql/decorrelate.h"

/** Whether the query looks outside by equalities of one WHERE alone, where their inner sides can be keys up to the top. */
static bool equality_will_do(const tl_unnester *u, const tl_plan *plan)
{
    for (int64_t i = 0; i < tl_outer__n_exprs(plan); i++)
        if (tl_outer__expr_looks(plan->exprs[i], 1))
            return false;
    if (plan->kind == TL_PLAN_FILTER && tl_outer__expr_looks(plan->condition, 1)) {
        tl_expr **parts;
        int32_t n;
        const tl_expr *inner, *outer;
        if (tl_outer__plan_looks(plan->inputs[0], 1) || tl_plan__conjuncts(u->b, plan->condition, &parts, &n) != TL_OK)
            return false;
        for (int32_t i = 0; i < n; i++)
            if (tl_outer__expr_looks(parts[i], 1) && !tl_decorrelate__is_equality(parts[i], &inner, &outer))
                return false;
        return true;
    }
    if (tl_outer__expr_looks(plan->condition, 1))
        return false;
    switch (plan->kind) {
    case TL_PLAN_AGGREGATE:
        return (plan->n_group > 0 || !u->empty_groups) && equality_will_do(u, plan->inputs[0]);
    case TL_PLAN_PROJECT:
    case TL_PLAN_FILTER:
    case TL_PLAN_SORT:
    case TL_PLAN_OVER:
    case TL_PLAN_RANK:
    case TL_PLAN_UNNEST:
        return equality_will_do(u, plan->inputs[0]);
    case TL_PLAN_JOIN: {
        bool l = tl_outer__plan_looks(plan->inputs[0], 1), r = tl_outer__plan_looks(plan->inputs[1], 1);
        if (l == r || (r && plan->join != TL_JOIN_INNER))
            return false;
        return equality_will_do(u, plan->inputs[l ? 0 : 1]);
    }
    default:
        return false;
    }
}

/** Nodes of a plan, counted up to `most`. */
static int32_t count_nodes(const tl_plan *plan, int32_t most)
{
    int32_t n = 1;
    for (int32_t i = 0; i < plan->n_inputs && n < most; i++)
        n += count_nodes(plan->inputs[i], most - n);
    return n;
}

/** The least plan that has these columns: below joins whose other side only adds some, or takes rows away. */
static tl_plan *source_of(tl_plan *plan, int32_t *columns, int32_t n)
{
    for (;;) {
        bool left = true, right = true, plain = plan->kind == TL_PLAN_PROJECT;
        int32_t n_left = plan->n_inputs > 0 ? plan->inputs[0]->type->n_fields : 0;
        for (int32_t i = 0; i < n; i++) {
            left = left && columns[i] < n_left;
            right = right && columns[i] >= n_left;
            plain = plain && plan->exprs[columns[i]]->kind == TL_EXPR_COLUMN;
        }
        bool joins = plan->kind == TL_PLAN_JOIN && (plan->join == TL_JOIN_INNER || plan->join == TL_JOIN_LEFT);
        if (plain) {
            for (int32_t i = 0; i < n; i++)
                columns[i] = plan->exprs[columns[i]]->column;
        } else if (joins && right && plan->join == TL_JOIN_INNER) {
            for (int32_t i = 0; i < n; i++)
                columns[i] -= n_left;
        } else if (!joins || !left) {
            return plan;
        }
        plan = plan->inputs[joins && right && !left ? 1 : 0];
    }
}

#define DOMAIN_NODES_MAX 500 /* of the plan outside, which is there once more for each query that needs a domain */
#define QUERY_NODES_MAX 1000 /* of the query itself, queries inside it included: the work grows with the square */

static tl_status too_many(const tl_unnester *u)
{
    return TL_AST_ERROR(u->b->err, TL_E_LIMIT, u->at, "too many queries that look outside stand in each other: make some of them joins or tables");
}

/** The different values of the columns outside that the query names. */
static tl_status make_domain(tl_unnester *u, const tl_plan *plan, tl_plan *outside)
{
    tl_binder *b = u->b;
    int32_t n = outside->type->n_fields, *columns, k = 0;
    bool *wanted = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *wanted);
    BIND_ALLOC(b, wanted);
    TL_TRY(tl_decorrelate__numbers(b, n, 0, &columns));
    tl_outer_search s = {.level = 1, .columns = wanted};
    tl_outer__search(plan, &s);
    u->out->outer = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *u->out->outer);
    BIND_ALLOC(b, u->out->outer);
    for (int32_t i = 0; i < n; i++) {
        u->domain_of[i] = wanted[i] ? k : -1;
        if (wanted[i]) {
            TL_TRY(tl_bind__column(b, i, outside->type->fields[i].type, u->at, &u->out->outer[k]));
            columns[k++] = i;
        }
    }
    u->out->n_keys = k;
    u->out->null_safe = true;
    outside = source_of(outside, columns, k);
    if (count_nodes(outside, DOMAIN_NODES_MAX) >= DOMAIN_NODES_MAX)
        return too_many(u);
    TL_TRY(tl_decorrelate__only_columns(b, outside, columns, k, &u->domain));
    return tl_bind__distinct(b, u->domain, &u->domain);
}

tl_status tl_bind__unnest(tl_binder *b, tl_plan *plan, tl_plan *outside, bool empty_groups, const tl_ast *at, tl_unnested *out)
{
    *out = (tl_unnested){0};
    tl_unnester u = {.b = b, .at = at, .empty_groups = empty_groups, .out = out};
    TL_TRY(tl_decorrelate__numbers(b, outside->type->n_fields, 0, &u.domain_of));
    if (!tl_outer__plan_looks(plan, 1))
        return tl_decorrelate__lifted(&u, plan, &out->plan);
    if (count_nodes(plan, QUERY_NODES_MAX) >= QUERY_NODES_MAX)
        return too_many(&u);
    u.by_equality = equality_will_do(&u, plan);
    if (!u.by_equality)
        TL_TRY(make_domain(&u, plan, outside));
    return tl_decorrelate__push(&u, plan, &out->plan);
}

tl_status tl_bind__unnested_condition(tl_binder *b, const tl_unnested *u, int32_t n_outside, tl_expr *const *more, int32_t n_more, const tl_ast *at,
                                      tl_expr **out)
{
    tl_expr **parts = tl_arena_alloc(b->arena, (size_t)(u->n_keys + n_more + 1) * sizeof *parts);
    BIND_ALLOC(b, parts);
    for (int32_t i = 0; i < u->n_keys; i++) {
        tl_expr *key;
        TL_TRY(tl_bind__column(b, n_outside + i, u->plan->type->fields[i].type, at, &key));
        TL_TRY(tl_decorrelate__same(b, u->outer[i], key, u->null_safe, at, &parts[i]));
    }
    for (int32_t i = 0; i < n_more; i++)
        parts[u->n_keys + i] = more[i];
    *out = NULL;
    return u->n_keys + n_more > 0 ? tl_plan__conjunction(b, parts, u->n_keys + n_more, out) : TL_OK;
}
