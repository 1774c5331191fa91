/* Columns of queries around a query: who looks at them, and plans in which they are others. */
#include "sql/decorrelate.h"

static bool find_outer(tl_expr *e, void *ctx)
{
    tl_outer_search *s = ctx;
    if (e->kind != TL_EXPR_OUTER || (s->level != 0 && e->level != s->level))
        return true;
    s->found = true;
    if (s->columns != NULL)
        s->columns[e->column] = true;
    return s->columns != NULL;
}

bool tl_outer__expr_looks(const tl_expr *e, int32_t level)
{
    tl_outer_search s = {.level = level};
    if (e != NULL)
        tl_expr__walk((tl_expr *)(uintptr_t)e, find_outer, &s);
    return s.found;
}

int64_t tl_outer__n_exprs(const tl_plan *plan)
{
    return plan->kind == TL_PLAN_PROJECT ? plan->type->n_fields : plan->kind == TL_PLAN_VALUES ? plan->n_rows * plan->type->n_fields : 0;
}

void tl_outer__search(const tl_plan *plan, tl_outer_search *s)
{
    if (plan->condition != NULL)
        tl_expr__walk(plan->condition, find_outer, s);
    for (int64_t i = 0; i < tl_outer__n_exprs(plan); i++)
        tl_expr__walk(plan->exprs[i], find_outer, s);
    for (int32_t i = 0; i < plan->n_inputs; i++)
        tl_outer__search(plan->inputs[i], s);
}

bool tl_outer__plan_looks(const tl_plan *plan, int32_t level)
{
    tl_outer_search s = {.level = level};
    tl_outer__search(plan, &s);
    return s.found;
}

tl_status tl_outer__copy_plan(tl_binder *b, const tl_plan *plan, bool fresh, tl_expr_change change, const void *ctx, tl_plan **out)
{
    int64_t n = tl_outer__n_exprs(plan);
    tl_plan *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    tl_plan **inputs = tl_arena_calloc(b->arena, (size_t)TL_MAX(plan->n_inputs, 2), sizeof *inputs);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, inputs);
    *copy = *plan;
    copy->inputs = inputs;
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(tl_outer__copy_plan(b, plan->inputs[i], fresh, change, ctx, &inputs[i]));
    for (int64_t i = 0; i < n; i++) {
        exprs[i] = plan->exprs[i];
        if (change != NULL)
            TL_TRY(change(b, plan->exprs[i], ctx, &exprs[i]));
    }
    copy->exprs = n > 0 ? exprs : plan->exprs;
    if (plan->condition != NULL && change != NULL)
        TL_TRY(change(b, plan->condition, ctx, &copy->condition));
    if (fresh && plan->table != NULL)
        TL_TRY(tl_bind__table_again(b, plan->table, plan->kind == TL_PLAN_SCAN, &copy->table));
    *out = copy;
    return TL_OK;
}

tl_status tl_outer__change(tl_binder *b, const tl_expr *e, const void *ctx, tl_expr **out)
{
    const tl_column_change *c = ctx;
    tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, args);
    *copy = *e;
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(tl_outer__change(b, e->args[i], c, &args[i]));
    copy->args = args;
    if (e->kind == TL_EXPR_COLUMN && c->columns != NULL) {
        copy->column = c->columns[e->column];
    } else if (e->kind == TL_EXPR_OUTER && e->level == c->level) {
        copy->column = c->outer[e->column];
        if (copy->column < 0)
            return tl_error_set(b->err, TL_E_INVALID, "line %d:%d: the subquery looks at a column outside that is not being grouped", (int)e->line,
                                (int)e->position);
        if (!c->keep_level) {
            copy->kind = TL_EXPR_COLUMN;
            copy->level = 0;
        }
    } else if (e->kind == TL_EXPR_OUTER && !c->keep_level && e->level > c->level) {
        copy->level--; /* it has moved one query out */
    } else if (e->kind == TL_EXPR_SUBQUERY && c->keep_level) {
        tl_column_change inner = {.outer = c->outer, .level = c->level + 1, .keep_level = true};
        tl_plan *plan;
        TL_TRY(tl_outer__copy_plan(b, e->plan, /* fresh= */ false, tl_outer__change, &inner, &plan));
        copy->plan = plan;
    }
    *out = copy;
    return TL_OK;
}

tl_status tl_plan__renumber_outer(tl_binder *b, const tl_plan *plan, const int32_t *map, tl_plan **out)
{
    const tl_column_change c = {.outer = map, .level = 1, .keep_level = true};
    return tl_outer__copy_plan(b, plan, /* fresh= */ false, tl_outer__change, &c, out);
}
