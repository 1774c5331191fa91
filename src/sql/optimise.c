/*
 * The optimiser: filters to where they cost least, columns that no one reads left out, projections merged.
 *
 * Rules only, no costs: DuckDB orders joins by itself, and a streaming plan must keep its shape. No filter passes a WATERMARK
 * (rows that are filtered still move time on), nor a ranking, a limit or the outer side of a join.
 */
#include "sql/bind.h"

typedef struct conjunct_list {
    tl_expr **items;
    int32_t n;
} conjunct_list;

static tl_status push_filters(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out);

static tl_status filter_above(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out)
{
    *out = plan;
    if (list.n == 0)
        return TL_OK;
    tl_expr *condition;
    TL_TRY(tl_plan__conjunction(b, list.items, list.n, &condition));
    return tl_bind__filter(b, plan, condition, out);
}

static tl_status push_input(tl_binder *b, tl_plan *plan, int32_t i, conjunct_list list)
{
    return push_filters(b, plan->inputs[i], list, &plan->inputs[i]);
}

static tl_status empty_list(tl_binder *b, int32_t cap, conjunct_list *out)
{
    out->items = tl_arena_alloc(b->arena, (size_t)(cap + 1) * sizeof *out->items);
    out->n = 0;
    BIND_ALLOC(b, out->items);
    return TL_OK;
}

static tl_status shift(tl_binder *b, const tl_expr *e, int32_t n, int32_t by, tl_expr **out)
{
    int32_t *map = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *map);
    BIND_ALLOC(b, map);
    for (int32_t i = 0; i < n; i++)
        map[i] = i + by;
    return tl_expr__remap(b, e, map, out);
}

static tl_status push_project(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out)
{
    conjunct_list down, stay;
    TL_TRY(empty_list(b, list.n, &down));
    TL_TRY(empty_list(b, list.n, &stay));
    for (int32_t i = 0; i < list.n; i++) {
        tl_expr *e;
        TL_TRY(tl_expr__substitute(b, list.items[i], plan->exprs, &e));
        if (tl_expr__is_volatile(e) || tl_expr__has_kind(e, TL_EXPR_SUBQUERY))
            stay.items[stay.n++] = list.items[i];
        else
            down.items[down.n++] = e;
    }
    TL_TRY(push_input(b, plan, 0, down));
    return filter_above(b, plan, stay, out);
}

/** Parts of a join's own condition that look at one side only, where that side may be filtered. */
static tl_status push_join(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out)
{
    tl_plan *left = plan->inputs[0], *right = plan->inputs[1];
    int32_t n_left = left->type->n_fields, n_right = right->type->n_fields, n = n_left + n_right;
    bool is_semi = plan->join == TL_JOIN_SEMI || plan->join == TL_JOIN_ANTI;
    bool left_may = plan->join == TL_JOIN_INNER || plan->join == TL_JOIN_LEFT || is_semi;
    bool right_may = plan->join == TL_JOIN_INNER || plan->join == TL_JOIN_RIGHT;
    conjunct_list own = {NULL, 0}, to_left, to_right, stay, on;
    if (plan->condition != NULL)
        TL_TRY(tl_plan__conjuncts(b, plan->condition, &own.items, &own.n));
    TL_TRY(empty_list(b, list.n + own.n, &to_left));
    TL_TRY(empty_list(b, list.n + own.n, &to_right));
    TL_TRY(empty_list(b, list.n, &stay));
    TL_TRY(empty_list(b, list.n + own.n + plan->n_keys, &on));
    bool more_conditions = false;
    for (int32_t i = 0; i < list.n; i++) {
        tl_expr *e = list.items[i];
        bool uses_left = tl_expr__uses_columns(e, 0, n_left), uses_right = !is_semi && tl_expr__uses_columns(e, n_left, n);
        if (tl_expr__is_volatile(e) || tl_expr__has_kind(e, TL_EXPR_SUBQUERY)) {
            stay.items[stay.n++] = e;
        } else if (left_may && !uses_right) {
            to_left.items[to_left.n++] = e;
        } else if (right_may && !uses_left) {
            TL_TRY(shift(b, e, n, -n_left, &to_right.items[to_right.n++]));
        } else if (plan->join == TL_JOIN_INNER) {
            on.items[on.n++] = e;
            more_conditions = true;
        } else {
            stay.items[stay.n++] = e;
        }
    }
    for (int32_t i = 0; i < own.n; i++) {
        tl_expr *e = own.items[i];
        bool uses_left = tl_expr__uses_columns(e, 0, n_left), uses_right = tl_expr__uses_columns(e, n_left, n);
        if (tl_expr__is_volatile(e) || tl_expr__has_kind(e, TL_EXPR_SUBQUERY) || (!uses_left && !uses_right))
            on.items[on.n++] = e;
        else if (!uses_right && (plan->join == TL_JOIN_INNER || plan->join == TL_JOIN_RIGHT || plan->join == TL_JOIN_SEMI))
            to_left.items[to_left.n++] = e;
        else if (!uses_left && (plan->join == TL_JOIN_INNER || plan->join == TL_JOIN_LEFT || is_semi))
            TL_TRY(shift(b, e, n, -n_left, &to_right.items[to_right.n++]));
        else
            on.items[on.n++] = e;
    }
    TL_TRY(push_input(b, plan, 0, to_left));
    TL_TRY(push_input(b, plan, 1, to_right));
    plan->condition = NULL;
    if (more_conditions) { /* some may be keys */
        for (int32_t k = 0; k < plan->n_keys; k++) {
            tl_expr *l, *r;
            TL_TRY(tl_bind__column(b, plan->left_keys[k], left->type->fields[plan->left_keys[k]].type, NULL, &l));
            TL_TRY(tl_bind__column(b, n_left + plan->right_keys[k], right->type->fields[plan->right_keys[k]].type, NULL, &r));
            TL_TRY(tl_bind__compare(b, plan->null_safe != NULL && plan->null_safe[k] ? "IS NOT DISTINCT FROM" : "=", l, r, NULL, &on.items[on.n++]));
        }
        tl_expr *all;
        TL_TRY(tl_plan__conjunction(b, on.items, on.n, &all));
        const tl_plan *was = plan;
        TL_TRY(tl_bind__join(b, plan->kind, plan->join, plan->inputs[0], plan->inputs[1], all, &plan));
        memcpy((plan->kind == TL_PLAN_PROJECT ? plan->inputs[0] : plan)->state_ttl_ms, was->state_ttl_ms, sizeof was->state_ttl_ms);
    } else if (on.n > 0) {
        TL_TRY(tl_plan__conjunction(b, on.items, on.n, &plan->condition));
    }
    return filter_above(b, plan, stay, out);
}

/** Nodes whose first columns are those of the input: what uses only them may pass. */
static tl_status push_left_columns(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out)
{
    int32_t n_left = plan->inputs[0]->type->n_fields;
    conjunct_list down, stay;
    TL_TRY(empty_list(b, list.n, &down));
    TL_TRY(empty_list(b, list.n, &stay));
    for (int32_t i = 0; i < list.n; i++) {
        tl_expr *e = list.items[i];
        bool passes = !tl_expr__uses_columns(e, n_left, plan->type->n_fields) && !tl_expr__is_volatile(e) && !tl_expr__has_kind(e, TL_EXPR_SUBQUERY);
        *(passes ? &down.items[down.n++] : &stay.items[stay.n++]) = e;
    }
    TL_TRY(push_input(b, plan, 0, down));
    for (int32_t i = 1; i < plan->n_inputs; i++)
        TL_TRY(push_input(b, plan, i, (conjunct_list){NULL, 0}));
    return filter_above(b, plan, stay, out);
}

static tl_status push_aggregate(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out)
{
    conjunct_list down, stay;
    TL_TRY(empty_list(b, list.n, &down));
    TL_TRY(empty_list(b, list.n, &stay));
    for (int32_t i = 0; i < list.n; i++) {
        tl_expr *e = list.items[i];
        bool passes = plan->n_group > 0 && plan->grouping_sets == NULL && !tl_expr__uses_columns(e, plan->n_group, plan->type->n_fields) &&
                      tl_expr__uses_columns(e, 0, plan->n_group) && !tl_expr__is_volatile(e) && !tl_expr__has_kind(e, TL_EXPR_SUBQUERY);
        if (!passes) {
            stay.items[stay.n++] = e;
            continue;
        }
        int32_t *map = tl_arena_calloc(b->arena, (size_t)plan->type->n_fields + 1, sizeof *map);
        BIND_ALLOC(b, map);
        memcpy(map, plan->group, (size_t)plan->n_group * sizeof *map);
        TL_TRY(tl_expr__remap(b, e, map, &down.items[down.n++]));
    }
    TL_TRY(push_input(b, plan, 0, down));
    return filter_above(b, plan, stay, out);
}

static tl_status push_scan(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out)
{
    *out = plan;
    if (list.n == 0)
        return TL_OK;
    if (plan->table->kind != TL_SQL_TABLE_LAKE || tl_table_is_system(plan->table->table) || plan->predicate != NULL || plan->limit >= 0)
        return filter_above(b, plan, list, out);
    /* The scan still has all columns in order here: its output is the table's row. */
    tl_expr *condition, *rest;
    TL_TRY(tl_plan__conjunction(b, list.items, list.n, &condition));
    TL_TRY(tl_plan__to_predicate(b, condition, plan->table->row_type, &plan->predicate, &rest));
    if (rest == NULL)
        return TL_OK;
    TL_TRY(tl_plan__to_map_filter(b, rest, plan->table->row_type, &plan->map_filter));
    return tl_bind__filter(b, plan, rest, out);
}

static tl_status push_filters(tl_binder *b, tl_plan *plan, conjunct_list list, tl_plan **out)
{
    const conjunct_list none = {NULL, 0};
    switch (plan->kind) {
    case TL_PLAN_FILTER: {
        conjunct_list own, all;
        TL_TRY(tl_plan__conjuncts(b, plan->condition, &own.items, &own.n));
        TL_TRY(empty_list(b, list.n + own.n, &all));
        for (int32_t i = 0; i < own.n; i++)
            all.items[all.n++] = own.items[i];
        for (int32_t i = 0; i < list.n; i++)
            all.items[all.n++] = list.items[i];
        return push_filters(b, plan->inputs[0], all, out);
    }
    case TL_PLAN_PROJECT:
        return push_project(b, plan, list, out);
    case TL_PLAN_JOIN:
        return push_join(b, plan, list, out);
    case TL_PLAN_LOOKUP_JOIN:
    case TL_PLAN_TEMPORAL_JOIN:
    case TL_PLAN_UNNEST:
        return push_left_columns(b, plan, list, out);
    case TL_PLAN_WINDOW:
        if (plan->window != TL_WINDOW_SESSION)
            return push_left_columns(b, plan, list, out);
        break;
    case TL_PLAN_AGGREGATE:
        return push_aggregate(b, plan, list, out);
    case TL_PLAN_UNION:
        for (int32_t i = 0; i < plan->n_inputs; i++)
            TL_TRY(push_input(b, plan, i, list));
        *out = plan;
        return TL_OK;
    case TL_PLAN_SORT:
        if (plan->limit < 0 && plan->offset == 0) {
            *out = plan;
            return push_input(b, plan, 0, list);
        }
        break;
    case TL_PLAN_SCAN:
        return push_scan(b, plan, list, out);
    default:
        break;
    }
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(push_input(b, plan, i, none));
    return filter_above(b, plan, list, out);
}

/* ---- columns ---- */

static bool mark_column(tl_expr *e, void *used)
{
    if (e->kind == TL_EXPR_COLUMN)
        ((bool *)used)[e->column] = true;
    return true;
}

static bool has_subquery(const tl_expr *e)
{
    return e != NULL && tl_expr__has_kind(e, TL_EXPR_SUBQUERY);
}

/** Whether anything in the plan holds a subquery: such plans keep all columns (OUTER numbers must stay right). */
static bool plan_has_subquery(const tl_plan *plan)
{
    if (has_subquery(plan->condition))
        return true;
    int64_t n = plan->kind == TL_PLAN_PROJECT ? plan->type->n_fields : plan->kind == TL_PLAN_VALUES ? plan->n_rows * plan->type->n_fields : 0;
    for (int64_t i = 0; i < n; i++)
        if (has_subquery(plan->exprs[i]))
            return true;
    for (int32_t i = 0; i < plan->n_inputs; i++)
        if (plan_has_subquery(plan->inputs[i]))
            return true;
    return false;
}

static void mark(const tl_expr *e, bool *used)
{
    if (e != NULL)
        tl_expr__walk((tl_expr *)(uintptr_t)e, mark_column, used);
}

typedef struct pruned {
    tl_plan *plan;
    int32_t *map; /* old column → new; -1: gone */
} pruned;

static tl_status prune(tl_binder *b, tl_plan *plan, const bool *used, pruned *out);

static tl_status bools(tl_binder *b, int32_t n, bool **out)
{
    *out = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof **out);
    BIND_ALLOC(b, *out);
    return TL_OK;
}

static tl_status new_map(tl_binder *b, int32_t n, int32_t **out)
{
    *out = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    for (int32_t i = 0; i < n; i++)
        (*out)[i] = -1;
    return TL_OK;
}

/** A node of the same kind whose output has only the columns of `keep` (old indices, ascending). */
static tl_status narrowed(tl_binder *b, const tl_plan *plan, const int32_t *keep, int32_t n, tl_plan **out)
{
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types);
    uint8_t *attrs = tl_arena_alloc(b->arena, (size_t)n + 1);
    tl_plan *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_plan **inputs = tl_arena_alloc(b->arena, (size_t)TL_MAX(plan->n_inputs, 2) * sizeof *inputs);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    BIND_ALLOC(b, attrs);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, inputs);
    for (int32_t i = 0; i < n; i++) {
        names[i] = plan->type->fields[keep[i]].name;
        types[i] = plan->type->fields[keep[i]].type;
        attrs[i] = plan->time_attr[keep[i]];
    }
    *copy = *plan;
    if (plan->n_inputs > 0)
        memcpy(inputs, plan->inputs, (size_t)plan->n_inputs * sizeof *inputs);
    copy->inputs = inputs;
    copy->time_attr = attrs;
    TL_TRY(tl_bind__row_type(b, names, types, n, &copy->type));
    *out = copy;
    return TL_OK;
}

static tl_status kept_list(tl_binder *b, const bool *used, int32_t n, int32_t **keep, int32_t *n_keep, int32_t **map)
{
    TL_TRY(new_map(b, n, map));
    TL_TRY(new_map(b, n, keep));
    *n_keep = 0;
    for (int32_t i = 0; i < n; i++)
        if (used[i]) {
            (*map)[i] = *n_keep;
            (*keep)[(*n_keep)++] = i;
        }
    return TL_OK;
}

static tl_status prune_scan(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n = plan->type->n_fields, n_keep, *keep;
    bool *wanted;
    TL_TRY(bools(b, n, &wanted));
    bool any = false;
    for (int32_t i = 0; i < n; i++)
        any = (wanted[i] = used[i]) || any;
    for (int32_t i = 0; i < n && !any; i++) /* rows must still be counted: the narrowest column will do */
        any = wanted[i] = tl_phys_width(tl_type_phys(plan->type->fields[i].type)) > 0 || i == n - 1;
    TL_TRY(kept_list(b, wanted, n, &keep, &n_keep, &out->map));
    TL_TRY(narrowed(b, plan, keep, n_keep, &out->plan));
    int32_t *columns = tl_arena_alloc(b->arena, (size_t)(n_keep + 1) * sizeof *columns);
    BIND_ALLOC(b, columns);
    for (int32_t i = 0; i < n_keep; i++)
        columns[i] = plan->columns[keep[i]];
    out->plan->columns = columns;
    return TL_OK;
}

static tl_status prune_project(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n = plan->type->n_fields, n_keep, *keep;
    TL_TRY(kept_list(b, used, n, &keep, &n_keep, &out->map));
    TL_TRY(narrowed(b, plan, keep, n_keep, &out->plan));
    bool *needed;
    TL_TRY(bools(b, plan->inputs[0]->type->n_fields, &needed));
    for (int32_t i = 0; i < n_keep; i++)
        mark(plan->exprs[keep[i]], needed);
    pruned input;
    TL_TRY(prune(b, plan->inputs[0], needed, &input));
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n_keep + 1) * sizeof *exprs);
    BIND_ALLOC(b, exprs);
    for (int32_t i = 0; i < n_keep; i++)
        TL_TRY(tl_expr__remap(b, plan->exprs[keep[i]], input.map, &exprs[i]));
    out->plan->exprs = exprs;
    out->plan->inputs[0] = input.plan;
    return TL_OK;
}

/** FILTER, WATERMARK, SORT: what comes out is what goes in. */
static tl_status prune_pass(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n = plan->type->n_fields;
    bool *needed;
    TL_TRY(bools(b, n, &needed));
    memcpy(needed, used, (size_t)n * sizeof *needed);
    mark(plan->condition, needed);
    if (plan->kind == TL_PLAN_WATERMARK)
        needed[plan->rowtime] = true;
    for (int32_t i = 0; plan->kind == TL_PLAN_SORT && i < plan->n_sort; i++)
        needed[plan->sort[i].column] = true;
    pruned input;
    TL_TRY(prune(b, plan->inputs[0], needed, &input));
    tl_plan *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_plan **inputs = tl_arena_alloc(b->arena, 2 * sizeof *inputs);
    uint8_t *attrs = tl_arena_calloc(b->arena, (size_t)input.plan->type->n_fields + 1, 1);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, inputs);
    BIND_ALLOC(b, attrs);
    *copy = *plan;
    copy->type = input.plan->type;
    copy->inputs = inputs;
    inputs[0] = input.plan;
    for (int32_t i = 0; i < n; i++)
        if (input.map[i] >= 0)
            attrs[input.map[i]] = plan->time_attr[i];
    copy->time_attr = attrs;
    if (plan->condition != NULL)
        TL_TRY(tl_expr__remap(b, plan->condition, input.map, &copy->condition));
    if (plan->kind == TL_PLAN_WATERMARK)
        copy->rowtime = input.map[plan->rowtime];
    if (plan->n_sort > 0) {
        tl_sort_key *keys = tl_arena_alloc(b->arena, (size_t)plan->n_sort * sizeof *keys);
        BIND_ALLOC(b, keys);
        for (int32_t i = 0; i < plan->n_sort; i++) {
            keys[i] = plan->sort[i];
            keys[i].column = input.map[plan->sort[i].column];
        }
        copy->sort = keys;
    }
    out->plan = copy;
    out->map = input.map;
    return TL_OK;
}

static tl_status remap_columns(tl_binder *b, const int32_t *columns, int32_t n, const int32_t *map, const int32_t **out)
{
    int32_t *copy = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *copy);
    BIND_ALLOC(b, copy);
    for (int32_t i = 0; i < n; i++)
        copy[i] = map[columns[i]];
    *out = copy;
    return TL_OK;
}

static tl_status remap_over(tl_binder *b, const tl_over *over, const int32_t *map, tl_over *out)
{
    tl_sort_key *order = tl_arena_alloc(b->arena, (size_t)(over->n_order + 1) * sizeof *order);
    tl_agg_call *calls = tl_arena_alloc(b->arena, (size_t)(over->n_calls + 1) * sizeof *calls);
    BIND_ALLOC(b, order);
    BIND_ALLOC(b, calls);
    *out = *over;
    TL_TRY(remap_columns(b, over->partition, over->n_partition, map, &out->partition));
    for (int32_t i = 0; i < over->n_order; i++) {
        order[i] = over->order[i];
        order[i].column = map[over->order[i].column];
    }
    for (int32_t i = 0; i < over->n_calls; i++) {
        calls[i] = over->calls[i];
        for (int32_t a = 0; a < calls[i].n_args; a++)
            calls[i].args[a] = map[calls[i].args[a]];
        if (calls[i].filter >= 0)
            calls[i].filter = map[calls[i].filter];
    }
    out->order = order;
    out->calls = calls;
    return TL_OK;
}

/** The output of a node that puts its inputs' columns side by side, as they were pruned. */
static tl_status side_by_side(tl_binder *b, tl_plan *plan, const pruned *left, const pruned *right, pruned *out)
{
    int32_t n = plan->type->n_fields, n_left = plan->inputs[0]->type->n_fields, n_new = left->plan->type->n_fields;
    int32_t total = n_new + (right != NULL ? right->plan->type->n_fields : 0), *keep;
    TL_TRY(new_map(b, n, &out->map));
    TL_TRY(new_map(b, total, &keep));
    for (int32_t i = 0; i < n; i++) {
        int32_t to = i < n_left ? left->map[i] : right != NULL && right->map[i - n_left] >= 0 ? n_new + right->map[i - n_left] : -1;
        out->map[i] = to;
        if (to >= 0)
            keep[to] = i;
    }
    return narrowed(b, plan, keep, total, &out->plan);
}

static tl_status prune_join(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n_left = plan->inputs[0]->type->n_fields, n_right = plan->inputs[1]->type->n_fields, n = n_left + n_right;
    bool is_semi = plan->join == TL_JOIN_SEMI || plan->join == TL_JOIN_ANTI;
    bool *needed;
    TL_TRY(bools(b, n, &needed));
    memcpy(needed, used, (size_t)plan->type->n_fields * sizeof *needed);
    mark(plan->condition, needed);
    for (int32_t i = 0; i < plan->n_keys; i++) {
        needed[plan->left_keys[i]] = true;
        needed[n_left + plan->right_keys[i]] = true;
    }
    if (plan->kind == TL_PLAN_TEMPORAL_JOIN) {
        needed[plan->rowtime] = true;
        for (int32_t i = 0; i < n_right; i++)
            needed[n_left + i] = needed[n_left + i] || plan->inputs[1]->time_attr[i] == TL_TIME_ROWTIME;
    }
    pruned left, right;
    TL_TRY(prune(b, plan->inputs[0], needed, &left));
    TL_TRY(prune(b, plan->inputs[1], needed + n_left, &right));
    TL_TRY(side_by_side(b, plan, &left, is_semi ? NULL : &right, out));
    tl_plan *copy = out->plan;
    copy->inputs[0] = left.plan;
    copy->inputs[1] = right.plan;
    TL_TRY(remap_columns(b, plan->left_keys, plan->n_keys, left.map, &copy->left_keys));
    TL_TRY(remap_columns(b, plan->right_keys, plan->n_keys, right.map, &copy->right_keys));
    if (plan->kind == TL_PLAN_TEMPORAL_JOIN)
        copy->rowtime = left.map[plan->rowtime];
    if (plan->condition != NULL) {
        int32_t *map;
        TL_TRY(new_map(b, n, &map));
        for (int32_t i = 0; i < n; i++)
            map[i] = i < n_left ? left.map[i] : right.map[i - n_left] < 0 ? -1 : left.plan->type->n_fields + right.map[i - n_left];
        TL_TRY(tl_expr__remap(b, plan->condition, map, &copy->condition));
    }
    return TL_OK;
}

static tl_status prune_lookup(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n_left = plan->inputs[0]->type->n_fields, n = plan->type->n_fields;
    bool *needed;
    TL_TRY(bools(b, n, &needed));
    memcpy(needed, used, (size_t)n * sizeof *needed);
    mark(plan->condition, needed);
    for (int32_t i = 0; i < plan->n_keys; i++)
        needed[plan->left_keys[i]] = true;
    pruned left, dimension;
    TL_TRY(prune(b, plan->inputs[0], needed, &left));
    /* The dimension's columns as if they were an input. */
    int32_t n_keep, *keep;
    TL_TRY(kept_list(b, needed + n_left, plan->n_columns, &keep, &n_keep, &dimension.map));
    const tl_type *shape;
    const char **names = tl_arena_alloc(b->arena, (size_t)(n_keep + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n_keep + 1) * sizeof *types);
    int32_t *columns = tl_arena_alloc(b->arena, (size_t)(n_keep + 1) * sizeof *columns);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    BIND_ALLOC(b, columns);
    for (int32_t i = 0; i < n_keep; i++) {
        names[i] = plan->type->fields[n_left + keep[i]].name;
        types[i] = plan->type->fields[n_left + keep[i]].type;
        columns[i] = plan->columns[keep[i]];
    }
    TL_TRY(tl_bind__row_type(b, names, types, n_keep, &shape));
    tl_plan dummy = {.type = shape};
    dimension.plan = &dummy;
    TL_TRY(side_by_side(b, plan, &left, &dimension, out));
    tl_plan *copy = out->plan;
    copy->inputs[0] = left.plan;
    copy->columns = columns;
    copy->n_columns = n_keep;
    TL_TRY(remap_columns(b, plan->left_keys, plan->n_keys, left.map, &copy->left_keys));
    if (plan->condition != NULL)
        TL_TRY(tl_expr__remap(b, plan->condition, out->map, &copy->condition));
    return TL_OK;
}

static tl_status prune_aggregate(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n = plan->type->n_fields, n_keep, *keep;
    bool *wanted, *needed;
    TL_TRY(bools(b, n, &wanted));
    TL_TRY(bools(b, plan->inputs[0]->type->n_fields, &needed));
    for (int32_t i = 0; i < n; i++)
        wanted[i] = i < plan->n_group || used[i]; /* keys make the groups */
    for (int32_t i = 0; i < plan->n_group; i++)
        needed[plan->group[i]] = true;
    TL_TRY(kept_list(b, wanted, n, &keep, &n_keep, &out->map));
    tl_agg_call *calls = tl_arena_alloc(b->arena, (size_t)(plan->n_calls + 1) * sizeof *calls);
    BIND_ALLOC(b, calls);
    int32_t n_calls = 0;
    for (int32_t i = 0; i < plan->n_calls; i++) {
        const tl_agg_call *call = &plan->calls[i];
        if (!wanted[plan->n_group + i])
            continue;
        calls[n_calls++] = *call;
        for (int32_t a = 0; a < call->n_args && call->kind != TL_AGG_GROUPING; a++)
            needed[call->args[a]] = true;
        if (call->filter >= 0)
            needed[call->filter] = true;
    }
    pruned input;
    TL_TRY(prune(b, plan->inputs[0], needed, &input));
    TL_TRY(narrowed(b, plan, keep, n_keep, &out->plan));
    for (int32_t i = 0; i < n_calls; i++) {
        for (int32_t a = 0; a < calls[i].n_args && calls[i].kind != TL_AGG_GROUPING; a++)
            calls[i].args[a] = input.map[calls[i].args[a]];
        if (calls[i].filter >= 0)
            calls[i].filter = input.map[calls[i].filter];
    }
    out->plan->inputs[0] = input.plan;
    out->plan->calls = calls;
    out->plan->n_calls = n_calls;
    return remap_columns(b, plan->group, plan->n_group, input.map, &out->plan->group);
}

/** Exactly these columns, in their order. */
static tl_status exactly(tl_binder *b, tl_plan *plan, const int32_t *map, const bool *used, int32_t n, tl_plan **out)
{
    int32_t n_used = 0;
    bool same = true;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        if (!used[i])
            continue;
        same = same && map[i] == n_used;
        names[n_used] = plan->type->fields[map[i]].name;
        TL_TRY(tl_bind__column(b, map[i], plan->type->fields[map[i]].type, NULL, &exprs[n_used++]));
    }
    *out = plan;
    return same && n_used == plan->type->n_fields ? TL_OK : tl_bind__project(b, plan, exprs, names, n_used, out);
}

static tl_status prune_union(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n = plan->type->n_fields, n_keep, *keep;
    bool *wanted;
    TL_TRY(bools(b, n, &wanted));
    memcpy(wanted, used, (size_t)n * sizeof *wanted);
    bool any = false;
    for (int32_t i = 0; i < n; i++)
        any = any || wanted[i];
    wanted[0] = wanted[0] || !any;
    TL_TRY(kept_list(b, wanted, n, &keep, &n_keep, &out->map));
    TL_TRY(narrowed(b, plan, keep, n_keep, &out->plan));
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        pruned input;
        TL_TRY(prune(b, plan->inputs[i], wanted, &input));
        TL_TRY(exactly(b, input.plan, input.map, wanted, n, &out->plan->inputs[i]));
    }
    return TL_OK;
}

static tl_status prune_window(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n_input = plan->inputs[0]->type->n_fields, n = plan->type->n_fields, total, *keep;
    bool *needed;
    TL_TRY(bools(b, n, &needed));
    memcpy(needed, used, (size_t)n * sizeof *needed);
    needed[plan->rowtime] = true;
    for (int32_t i = 0; i < plan->n_window_partition; i++)
        needed[plan->window_partition[i]] = true;
    pruned input;
    TL_TRY(prune(b, plan->inputs[0], needed, &input));
    total = input.plan->type->n_fields + 3;
    TL_TRY(new_map(b, n, &out->map));
    TL_TRY(new_map(b, total, &keep));
    for (int32_t i = 0; i < n; i++) { /* the three bounds always stay */
        out->map[i] = i < n_input ? input.map[i] : input.plan->type->n_fields + i - n_input;
        if (out->map[i] >= 0)
            keep[out->map[i]] = i;
    }
    TL_TRY(narrowed(b, plan, keep, total, &out->plan));
    out->plan->inputs[0] = input.plan;
    out->plan->rowtime = input.map[plan->rowtime];
    return remap_columns(b, plan->window_partition, plan->n_window_partition, input.map, &out->plan->window_partition);
}

/** A window's calls or a rank stand behind the input's columns; what no one reads of those goes. */
static tl_status prune_over(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    int32_t n_input = plan->inputs[0]->type->n_fields, n = plan->type->n_fields, total, *keep;
    bool *needed;
    TL_TRY(bools(b, n, &needed));
    memcpy(needed, used, (size_t)n * sizeof *needed);
    for (int32_t i = 0; i < plan->n_over; i++) {
        const tl_over *o = &plan->over[i];
        for (int32_t k = 0; k < o->n_partition; k++)
            needed[o->partition[k]] = true;
        for (int32_t k = 0; k < o->n_order; k++)
            needed[o->order[k].column] = true;
        for (int32_t k = 0; k < o->n_calls; k++) {
            for (int32_t a = 0; a < o->calls[k].n_args; a++)
                needed[o->calls[k].args[a]] = true;
            if (o->calls[k].filter >= 0)
                needed[o->calls[k].filter] = true;
        }
    }
    bool drop_rank = plan->kind == TL_PLAN_RANK && plan->with_rank && !used[n_input];
    pruned input;
    TL_TRY(prune(b, plan->inputs[0], needed, &input));
    int32_t n_new = input.plan->type->n_fields;
    total = n_new + (drop_rank ? 0 : n - n_input);
    TL_TRY(new_map(b, n, &out->map));
    TL_TRY(new_map(b, total, &keep));
    for (int32_t i = 0; i < n; i++) {
        out->map[i] = i < n_input ? input.map[i] : drop_rank ? -1 : n_new + i - n_input;
        if (out->map[i] >= 0)
            keep[out->map[i]] = i;
    }
    TL_TRY(narrowed(b, plan, keep, total, &out->plan));
    out->plan->inputs[0] = input.plan;
    out->plan->with_rank = plan->with_rank && !drop_rank;
    tl_over *overs = tl_arena_alloc(b->arena, (size_t)plan->n_over * sizeof *overs);
    BIND_ALLOC(b, overs);
    for (int32_t i = 0; i < plan->n_over; i++)
        TL_TRY(remap_over(b, &plan->over[i], input.map, &overs[i]));
    out->plan->over = overs;
    return TL_OK;
}

/** Keep all: SETOP, UNNEST, VALUES, SINK and all below them that is not pruned by itself. */
static tl_status prune_nothing(tl_binder *b, tl_plan *plan, pruned *out)
{
    int32_t n = plan->type->n_fields;
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        int32_t n_input = plan->inputs[i]->type->n_fields;
        bool *all;
        TL_TRY(bools(b, n_input, &all));
        for (int32_t k = 0; k < n_input; k++)
            all[k] = true;
        pruned input;
        TL_TRY(prune(b, plan->inputs[i], all, &input));
        TL_TRY(exactly(b, input.plan, input.map, all, n_input, &plan->inputs[i]));
    }
    TL_TRY(new_map(b, n, &out->map));
    for (int32_t i = 0; i < n; i++)
        out->map[i] = i;
    out->plan = plan;
    return TL_OK;
}

static tl_status prune(tl_binder *b, tl_plan *plan, const bool *used, pruned *out)
{
    switch (plan->kind) {
    case TL_PLAN_SCAN:
        return prune_scan(b, plan, used, out);
    case TL_PLAN_PROJECT:
        return prune_project(b, plan, used, out);
    case TL_PLAN_FILTER:
    case TL_PLAN_WATERMARK:
    case TL_PLAN_SORT:
        return prune_pass(b, plan, used, out);
    case TL_PLAN_JOIN:
    case TL_PLAN_TEMPORAL_JOIN:
        return prune_join(b, plan, used, out);
    case TL_PLAN_LOOKUP_JOIN:
        return prune_lookup(b, plan, used, out);
    case TL_PLAN_AGGREGATE:
        return prune_aggregate(b, plan, used, out);
    case TL_PLAN_UNION:
        return prune_union(b, plan, used, out);
    case TL_PLAN_WINDOW:
        return prune_window(b, plan, used, out);
    case TL_PLAN_OVER:
    case TL_PLAN_RANK:
        return prune_over(b, plan, used, out);
    default:
        return prune_nothing(b, plan, out);
    }
}

/* ---- projections ---- */

static bool is_trivial(const tl_expr *e)
{
    return e->kind == TL_EXPR_COLUMN || e->kind == TL_EXPR_LITERAL || e->kind == TL_EXPR_ROWTIME;
}

static bool count_use(tl_expr *e, void *ctx)
{
    if (e->kind == TL_EXPR_COLUMN)
        ((int32_t *)ctx)[e->column]++;
    return true;
}

/** PROJECT over PROJECT becomes one, unless that would compute something twice. */
static tl_status merge_projects(tl_binder *b, tl_plan *plan)
{
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(merge_projects(b, plan->inputs[i]));
    while (plan->kind == TL_PLAN_PROJECT && plan->inputs[0]->kind == TL_PLAN_PROJECT) {
        tl_plan *inner = plan->inputs[0];
        int32_t *counts = tl_arena_calloc(b->arena, (size_t)inner->type->n_fields + 1, sizeof *counts);
        BIND_ALLOC(b, counts);
        for (int32_t i = 0; i < plan->type->n_fields; i++)
            tl_expr__walk(plan->exprs[i], count_use, counts);
        for (int32_t i = 0; i < plan->type->n_fields; i++) /* OUTER columns of a subquery count on the input as it is */
            if (has_subquery(plan->exprs[i]))
                return TL_OK;
        for (int32_t i = 0; i < inner->type->n_fields; i++)
            if (counts[i] > 1 && !is_trivial(inner->exprs[i]))
                return TL_OK;
            else if (counts[i] > 0 && tl_expr__has_kind(inner->exprs[i], TL_EXPR_SUBQUERY))
                return TL_OK;
        for (int32_t i = 0; i < plan->type->n_fields; i++)
            TL_TRY(tl_expr__substitute(b, plan->exprs[i], inner->exprs, &plan->exprs[i]));
        plan->inputs[0] = inner->inputs[0];
    }
    /* An input that only repeats its own input's columns in order. */
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        tl_plan *input = plan->inputs[i];
        if (input->kind != TL_PLAN_PROJECT || input->type->n_fields != input->inputs[0]->type->n_fields)
            continue;
        bool identity = true;
        for (int32_t k = 0; k < input->type->n_fields && identity; k++)
            identity = input->exprs[k]->kind == TL_EXPR_COLUMN && input->exprs[k]->column == k &&
                       tl_type_equal(input->type->fields[k].type, input->inputs[0]->type->fields[k].type, /* with_nullable= */ true) &&
                       input->time_attr[k] == input->inputs[0]->time_attr[k];
        if (identity)
            plan->inputs[i] = input->inputs[0];
    }
    return TL_OK;
}

/* ---- all ---- */

static tl_status optimise_subqueries(tl_binder *b, tl_plan *plan);

static tl_status optimise_expr(tl_binder *b, tl_expr *e)
{
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(optimise_expr(b, e->args[i]));
    if (e->kind != TL_EXPR_SUBQUERY)
        return TL_OK;
    tl_plan *plan = (tl_plan *)(uintptr_t)e->plan;
    TL_TRY(optimise_subqueries(b, plan));
    TL_TRY(merge_projects(b, plan));
    return TL_OK;
}

static tl_status optimise_subqueries(tl_binder *b, tl_plan *plan)
{
    if (plan->condition != NULL)
        TL_TRY(optimise_expr(b, plan->condition));
    for (int32_t i = 0; plan->kind == TL_PLAN_PROJECT && i < plan->type->n_fields; i++)
        TL_TRY(optimise_expr(b, plan->exprs[i]));
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(optimise_subqueries(b, plan->inputs[i]));
    return TL_OK;
}

tl_status tl_plan__optimise(tl_binder *b, tl_plan **plan)
{
    if (plan_has_subquery(*plan)) /* OUTER columns count on the plans being as they were bound */
        return optimise_subqueries(b, *plan);
    TL_TRY(push_filters(b, *plan, (conjunct_list){NULL, 0}, plan));
    if (b->streaming)
        TL_TRY(tl_plan__find_ranks(b, plan));
    bool *all;
    int32_t n = (*plan)->type->n_fields;
    TL_TRY(bools(b, n, &all));
    for (int32_t i = 0; i < n; i++)
        all[i] = true;
    pruned out;
    TL_TRY(prune(b, *plan, all, &out));
    TL_TRY(exactly(b, out.plan, out.map, all, n, plan));
    TL_TRY(merge_projects(b, *plan));
    return b->streaming ? tl_plan__find_windows(b, *plan) : TL_OK;
}
