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
#include "sql/bind.h"

typedef struct unnester {
    tl_binder *b;
    const tl_ast *at;
    bool empty_groups; /* an aggregate without GROUP BY gives a row for a key without rows, too */
    bool by_equality;
    tl_plan *domain; /* copied at each use */
    int32_t *domain_of; /* column outside → column of the domain; -1: not in it */
    tl_unnested *out;
} unnester;

/* ---- what looks outside ---- */

typedef struct outer_search {
    int32_t level; /* 0: any */
    bool found;
    bool *columns; /* which columns of that level; NULL: does not matter */
} outer_search;

static bool find_outer(tl_expr *e, void *ctx)
{
    outer_search *s = ctx;
    if (e->kind != TL_EXPR_OUTER || (s->level != 0 && e->level != s->level))
        return true;
    s->found = true;
    if (s->columns != NULL)
        s->columns[e->column] = true;
    return s->columns != NULL;
}

static bool expr_looks(const tl_expr *e, int32_t level)
{
    outer_search s = {.level = level};
    if (e != NULL)
        tl_expr__walk((tl_expr *)(uintptr_t)e, find_outer, &s);
    return s.found;
}

static int64_t n_exprs(const tl_plan *plan)
{
    return plan->kind == TL_PLAN_PROJECT ? plan->type->n_fields : plan->kind == TL_PLAN_VALUES ? plan->n_rows * plan->type->n_fields : 0;
}

static void search_plan(const tl_plan *plan, outer_search *s)
{
    if (plan->condition != NULL)
        tl_expr__walk(plan->condition, find_outer, s);
    for (int64_t i = 0; i < n_exprs(plan); i++)
        tl_expr__walk(plan->exprs[i], find_outer, s);
    for (int32_t i = 0; i < plan->n_inputs; i++)
        search_plan(plan->inputs[i], s);
}

static bool looks(const tl_plan *plan, int32_t level)
{
    outer_search s = {.level = level};
    search_plan(plan, &s);
    return s.found;
}

/* ---- copies ---- */

typedef tl_status (*expr_change)(tl_binder *b, const tl_expr *e, const void *ctx, tl_expr **out);

/** A copy whose expressions went through `change` (NULL: as they are); tables are opened anew if `fresh`. */
static tl_status copy_plan(tl_binder *b, const tl_plan *plan, bool fresh, expr_change change, const void *ctx, tl_plan **out)
{
    int64_t n = n_exprs(plan);
    tl_plan *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    tl_plan **inputs = tl_arena_calloc(b->arena, (size_t)TL_MAX(plan->n_inputs, 2), sizeof *inputs);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, inputs);
    *copy = *plan;
    copy->inputs = inputs;
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(copy_plan(b, plan->inputs[i], fresh, change, ctx, &inputs[i]));
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

/** How the columns of an expression change: both maps may be NULL. */
typedef struct column_change {
    const int32_t *columns;
    const int32_t *outer; /* OUTER of `level` i becomes COLUMN outer[i], or stays OUTER with that number if `keep_level` */
    int32_t level;
    bool keep_level;
} column_change;

static tl_status change_columns(tl_binder *b, const tl_expr *e, const void *ctx, tl_expr **out)
{
    const column_change *c = ctx;
    tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, args);
    *copy = *e;
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(change_columns(b, e->args[i], c, &args[i]));
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
        column_change inner = {.outer = c->outer, .level = c->level + 1, .keep_level = true};
        tl_plan *plan;
        TL_TRY(copy_plan(b, e->plan, /* fresh= */ false, change_columns, &inner, &plan));
        copy->plan = plan;
    }
    *out = copy;
    return TL_OK;
}

tl_status tl_plan__renumber_outer(tl_binder *b, const tl_plan *plan, const int32_t *map, tl_plan **out)
{
    const column_change c = {.outer = map, .level = 1, .keep_level = true};
    return copy_plan(b, plan, /* fresh= */ false, change_columns, &c, out);
}

/** An expression of the query: its columns are now at `columns`, those outside in the domain. */
static tl_status rewritten(const unnester *u, const tl_expr *e, const int32_t *columns, tl_expr **out)
{
    const column_change c = {.columns = columns, .outer = u->domain_of, .level = 1};
    return change_columns(u->b, e, &c, out);
}

/** A part that looks at no column of the query around, as it stands there. */
static tl_status lifted(const unnester *u, tl_plan *plan, tl_plan **out)
{
    *out = plan;
    const column_change c = {.outer = u->domain_of, .level = 1};
    return looks(plan, 0) ? copy_plan(u->b, plan, /* fresh= */ false, change_columns, &c, out) : TL_OK;
}

static tl_status shift_map(tl_binder *b, int32_t n, int32_t by, int32_t **out)
{
    *out = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    for (int32_t i = 0; i < n; i++)
        (*out)[i] = i + by;
    return TL_OK;
}

static tl_status shifted_columns(tl_binder *b, const int32_t *columns, int32_t n, int32_t by, int32_t before, int32_t **out)
{
    *out = tl_arena_alloc(b->arena, (size_t)(n + before + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    for (int32_t i = 0; i < before + n; i++)
        (*out)[i] = i < before ? i : columns[i - before] + by;
    return TL_OK;
}

/* ---- nodes with keys before their columns ---- */

/** ROW of the first `n_keys` columns of `keyed`, then those of `type`. */
static tl_status keyed_type(tl_binder *b, const tl_type *keyed, int32_t n_keys, const tl_type *type, const tl_type **out)
{
    int32_t n = n_keys + type->n_fields;
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    for (int32_t i = 0; i < n; i++) {
        const tl_field *f = i < n_keys ? &keyed->fields[i] : &type->fields[i - n_keys];
        names[i] = f->name;
        types[i] = f->type;
    }
    return tl_bind__row_type(b, names, types, n, out);
}

/** A copy of a node over an input that has keys before its columns; the node's own columns are the caller's to change. */
static tl_status keyed_node(const unnester *u, const tl_plan *plan, tl_plan *input, tl_plan **out)
{
    tl_binder *b = u->b;
    int32_t n_keys = u->out->n_keys;
    const tl_type *type;
    TL_TRY(keyed_type(b, input->type, n_keys, plan->type, &type));
    tl_plan *node = tl_bind__new_plan(b, plan->kind, type, input);
    BIND_ALLOC(b, node);
    tl_plan made = *plan;
    made.type = type;
    made.inputs = node->inputs;
    made.n_inputs = node->n_inputs;
    made.time_attr = node->time_attr;
    memcpy((uint8_t *)(uintptr_t)node->time_attr + n_keys, plan->time_attr, (size_t)plan->type->n_fields);
    *node = made;
    *out = node;
    return TL_OK;
}

/** Columns of `plan`, in this order. */
static tl_status only_columns(tl_binder *b, tl_plan *plan, const int32_t *columns, int32_t n, tl_plan **out)
{
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        const tl_field *f = &plan->type->fields[columns[i]];
        TL_TRY(tl_bind__column(b, columns[i], f->type, NULL, &exprs[i]));
        names[i] = f->name;
    }
    return tl_bind__project(b, plan, exprs, names, n, out);
}

static tl_status domain(const unnester *u, tl_plan **out)
{
    return copy_plan(u->b, u->domain, /* fresh= */ true, NULL, NULL, out);
}

/** Every row for every key. */
static tl_status for_all_keys(const unnester *u, tl_plan *plan, tl_plan **out)
{
    tl_plan *keys;
    TL_TRY(domain(u, &keys));
    TL_TRY(lifted(u, plan, &plan));
    return tl_bind__join(u->b, TL_PLAN_JOIN, TL_JOIN_INNER, keys, plan, NULL, out);
}

static tl_status push(unnester *u, tl_plan *plan, tl_plan **out);

/** Keys and columns through a PROJECT. */
static tl_status push_project(unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input;
    TL_TRY(push(u, plan->inputs[0], &input));
    int32_t k = u->out->n_keys, n = k + plan->type->n_fields, *map;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    TL_TRY(shift_map(b, plan->inputs[0]->type->n_fields, k, &map));
    for (int32_t i = 0; i < n; i++) {
        names[i] = i < k ? input->type->fields[i].name : plan->type->fields[i - k].name;
        if (i < k)
            TL_TRY(tl_bind__column(b, i, input->type->fields[i].type, NULL, &exprs[i]));
        else
            TL_TRY(rewritten(u, plan->exprs[i - k], map, &exprs[i]));
    }
    return tl_bind__project(b, input, exprs, names, n, out);
}

/** Whether e is `inner = outer`. */
static bool is_equality(const tl_expr *e, const tl_expr **inner, const tl_expr **outer)
{
    if (e->kind != TL_EXPR_CALL || strcmp(e->fn->name, "=") != 0)
        return false;
    bool turned = expr_looks(e->args[0], 1);
    *inner = e->args[turned];
    *outer = e->args[!turned];
    return !expr_looks(*inner, 0) && !tl_expr__has_kind(*outer, TL_EXPR_COLUMN) && !tl_expr__is_volatile(e);
}

/** The WHERE of a query by equality: its conditions on what is outside become the keys. */
static tl_status keys_of_filter(unnester *u, tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input;
    tl_expr **parts;
    int32_t n_parts, n_rest = 0, n_columns = plan->type->n_fields, *all;
    TL_TRY(lifted(u, plan->inputs[0], &input));
    TL_TRY(tl_plan__conjuncts(b, plan->condition, &parts, &n_parts));
    TL_TRY(shift_map(b, n_columns, 0, &all));
    size_t room = (size_t)n_parts + (size_t)n_columns + 1;
    tl_expr **exprs = tl_arena_alloc(b->arena, room * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, room * sizeof *names);
    u->out->outer = tl_arena_alloc(b->arena, room * sizeof *u->out->outer);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, u->out->outer);
    for (int32_t i = 0; i < n_parts; i++) {
        const tl_expr *inner, *outer;
        if (!expr_looks(parts[i], 1)) {
            TL_TRY(rewritten(u, parts[i], all, &parts[n_rest++]));
            continue;
        }
        (void)is_equality(parts[i], &inner, &outer);
        exprs[u->out->n_keys] = (tl_expr *)(uintptr_t)inner;
        names[u->out->n_keys] = tl_arena_strf(b->arena, "$k%d", (int)u->out->n_keys);
        BIND_ALLOC(b, names[u->out->n_keys]);
        TL_TRY(rewritten(u, outer, NULL, &u->out->outer[u->out->n_keys++]));
    }
    if (n_rest > 0) {
        tl_expr *rest;
        TL_TRY(tl_plan__conjunction(b, parts, n_rest, &rest));
        TL_TRY(tl_bind__filter(b, input, rest, &input));
    }
    for (int32_t i = 0; i < n_columns; i++) {
        TL_TRY(tl_bind__column(b, i, input->type->fields[i].type, NULL, &exprs[u->out->n_keys + i]));
        names[u->out->n_keys + i] = input->type->fields[i].name;
    }
    return tl_bind__project(b, input, exprs, names, u->out->n_keys + n_columns, out);
}

static tl_status push_filter(unnester *u, tl_plan *plan, tl_plan **out)
{
    if (u->by_equality && expr_looks(plan->condition, 1))
        return keys_of_filter(u, plan, out);
    tl_plan *input;
    tl_expr *condition;
    int32_t *map;
    TL_TRY(push(u, plan->inputs[0], &input));
    TL_TRY(shift_map(u->b, plan->type->n_fields, u->out->n_keys, &map));
    TL_TRY(rewritten(u, plan->condition, map, &condition));
    return tl_bind__filter(u->b, input, condition, out);
}

/** a = c, or for keys that may be NULL a IS NOT DISTINCT FROM c. */
static tl_status same(tl_binder *b, tl_expr *a, tl_expr *c, bool null_safe, const tl_ast *at, tl_expr **out)
{
    return tl_bind__compare(b, null_safe && (a->type->nullable || c->type->nullable) ? "IS NOT DISTINCT FROM" : "=", a, c, at, out);
}

/** The keys of two sides, at 0 … and at `right` … */
static tl_status same_keys(const unnester *u, const tl_plan *l, const tl_plan *r, tl_expr **parts)
{
    for (int32_t i = 0; i < u->out->n_keys; i++) {
        tl_expr *a, *c;
        TL_TRY(tl_bind__column(u->b, i, l->type->fields[i].type, u->at, &a));
        TL_TRY(tl_bind__column(u->b, l->type->n_fields + i, r->type->fields[i].type, u->at, &c));
        TL_TRY(same(u->b, a, c, true, u->at, &parts[i]));
    }
    return TL_OK;
}

static tl_status refused(const unnester *u, const char *what)
{
    return TL_AST_ERROR(u->b->err, TL_E_UNSUPPORTED, u->at,
                        "a query that looks outside from inside or below %s is not there: write it as a join, and this above it", what);
}

static tl_status push_join(unnester *u, tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    bool filters = plan->join == TL_JOIN_SEMI || plan->join == TL_JOIN_ANTI, right_looks = looks(plan->inputs[1], 1);
    if (plan->join == TL_JOIN_RIGHT || plan->join == TL_JOIN_FULL)
        return refused(u, "a RIGHT or FULL JOIN");
    bool left_keyed = !right_looks || looks(plan->inputs[0], 1) || plan->join != TL_JOIN_INNER || expr_looks(plan->condition, 1);
    tl_plan *l = plan->inputs[0], *r = plan->inputs[1];
    int32_t n_left = l->type->n_fields, n_right = r->type->n_fields, n_conditions = 0;
    TL_TRY(left_keyed ? push(u, l, &l) : lifted(u, l, &l));
    TL_TRY(right_looks ? push(u, r, &r) : lifted(u, r, &r));
    int32_t k = u->out->n_keys, left_at = left_keyed ? k : 0, right_at = l->type->n_fields + (right_looks ? k : 0);
    int32_t *map = tl_arena_alloc(b->arena, (size_t)(n_left + n_right + 1) * sizeof *map);
    int32_t *kept = tl_arena_alloc(b->arena, (size_t)(k + n_left + n_right + 1) * sizeof *kept);
    tl_expr **conditions = tl_arena_alloc(b->arena, (size_t)(plan->n_keys + k + 1) * sizeof *conditions), *all = NULL;
    BIND_ALLOC(b, map);
    BIND_ALLOC(b, kept);
    BIND_ALLOC(b, conditions);
    for (int32_t i = 0; i < n_left + n_right; i++)
        kept[k + i] = map[i] = i < n_left ? left_at + i : right_at + i - n_left;
    for (int32_t i = 0; i < k; i++)
        kept[i] = left_keyed ? i : l->type->n_fields + i;
    for (int32_t i = 0; i < plan->n_keys; i++) {
        tl_expr *a, *c;
        TL_TRY(tl_bind__column(b, left_at + plan->left_keys[i], plan->inputs[0]->type->fields[plan->left_keys[i]].type, u->at, &a));
        TL_TRY(tl_bind__column(b, right_at + plan->right_keys[i], plan->inputs[1]->type->fields[plan->right_keys[i]].type, u->at, &c));
        TL_TRY(same(b, a, c, plan->null_safe != NULL && plan->null_safe[i], u->at, &conditions[n_conditions++]));
    }
    if (left_keyed && right_looks) {
        TL_TRY(same_keys(u, l, r, conditions + n_conditions));
        n_conditions += k;
    }
    if (plan->condition != NULL)
        TL_TRY(rewritten(u, plan->condition, map, &conditions[n_conditions++]));
    if (n_conditions > 0)
        TL_TRY(tl_plan__conjunction(b, conditions, n_conditions, &all));
    TL_TRY(tl_bind__join(b, plan->kind, plan->join, l, r, all, out));
    return filters ? TL_OK : only_columns(b, *out, kept, k + n_left + n_right, out);
}

/** A key without rows gets the row that an aggregate without GROUP BY has for none. */
static tl_status with_empty_groups(const unnester *u, const tl_plan *plan, tl_plan *grouped, tl_plan **out)
{
    tl_binder *b = u->b;
    int32_t k = u->out->n_keys, n = k + plan->n_calls;
    tl_plan *keys;
    tl_expr **parts = tl_arena_alloc(b->arena, (size_t)(k + 1) * sizeof *parts), *condition;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, parts);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    TL_TRY(domain(u, &keys));
    TL_TRY(same_keys(u, keys, grouped, parts));
    TL_TRY(tl_plan__conjunction(b, parts, k, &condition));
    TL_TRY(tl_bind__join(b, TL_PLAN_JOIN, TL_JOIN_LEFT, keys, grouped, condition, out));
    for (int32_t i = 0; i < n; i++) {
        int32_t column = i < k ? i : k + i;
        names[i] = (*out)->type->fields[column].name;
        TL_TRY(tl_bind__column(b, column, (*out)->type->fields[column].type, u->at, &exprs[i]));
        if (i >= k && plan->calls[i - k].kind == TL_AGG_COUNT)
            TL_TRY(tl_bind__or_zero(b, exprs[i], u->at, &exprs[i]));
    }
    return tl_bind__project(b, *out, exprs, names, n, out);
}

static tl_status push_aggregate(unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input, *node;
    TL_TRY(push(u, plan->inputs[0], &input));
    int32_t k = u->out->n_keys;
    TL_TRY(keyed_node(u, plan, input, &node));
    tl_agg_call *calls = tl_arena_alloc(b->arena, (size_t)(plan->n_calls + 1) * sizeof *calls);
    uint64_t *sets = tl_arena_alloc(b->arena, (size_t)(plan->n_sets + 1) * sizeof *sets);
    int32_t *group;
    BIND_ALLOC(b, calls);
    BIND_ALLOC(b, sets);
    TL_TRY(shifted_columns(b, plan->group, plan->n_group, k, k, &group));
    node->group = group;
    node->n_group = plan->n_group + k;
    for (int32_t i = 0; i < plan->n_calls; i++) {
        calls[i] = plan->calls[i]; /* GROUPING counts on the list of keys, which is longer by the same */
        for (int32_t a = 0; a < calls[i].n_args; a++)
            calls[i].args[a] += k;
        calls[i].filter += calls[i].filter >= 0 ? k : 0;
    }
    node->calls = calls;
    if (plan->grouping_sets != NULL) {
        if (node->n_group > 63)
            return refused(u, "GROUPING SETS of so many columns");
        for (int32_t i = 0; i < plan->n_sets; i++)
            sets[i] = plan->grouping_sets[i] << k | ((UINT64_C(1) << k) - 1);
        node->grouping_sets = sets;
    }
    *out = node;
    bool always_a_row = plan->n_group == 0 && u->empty_groups && k > 0;
    return always_a_row ? with_empty_groups(u, plan, node, out) : TL_OK;
}

static tl_status shifted_order(tl_binder *b, const tl_sort_key *order, int32_t n, int32_t by, tl_sort_key **out)
{
    *out = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    for (int32_t i = 0; i < n; i++) {
        (*out)[i] = order[i];
        (*out)[i].column += by;
    }
    return TL_OK;
}

/** ROW_NUMBER within each key between two bounds; the number does not come out. */
static tl_status numbered(unnester *u, const tl_plan *sort, tl_plan *input, tl_plan **out)
{
    tl_binder *b = u->b;
    int32_t k = u->out->n_keys, n = input->type->n_fields, *keys, *columns;
    tl_over *over = tl_arena_calloc(b->arena, 1, sizeof *over);
    tl_agg_call *call = tl_arena_calloc(b->arena, 1, sizeof *call);
    tl_sort_key *order;
    const tl_type *count, *type;
    BIND_ALLOC(b, over);
    BIND_ALLOC(b, call);
    TL_TRY(shift_map(b, k, 0, &keys));
    TL_TRY(shift_map(b, n, 0, &columns));
    TL_TRY(shifted_order(b, sort->sort, sort->n_sort, k, &order));
    int64_t to = sort->limit < 0 || sort->limit > INT64_MAX - 1 - sort->offset ? INT64_MAX - 1 : sort->offset + sort->limit;
    *over = (tl_over){.partition = keys, .n_partition = k, .order = order, .n_order = sort->n_sort, .frame = TL_FRAME_ROWS, .from = TL_FRAME_UNBOUNDED_PRECEDING};
    if (b->streaming) {
        tl_plan *rank = tl_bind__new_plan(b, TL_PLAN_RANK, input->type, input);
        BIND_ALLOC(b, rank);
        rank->over = over;
        rank->n_over = 1;
        rank->rank_from = sort->offset + 1;
        rank->rank_to = to;
        *out = rank;
        return TL_OK;
    }
    TL_TRY(tl_bind__simple_type(b, TL_BIGINT, false, 0, 0, &count));
    *call = (tl_agg_call){.kind = TL_AGG_ROW_NUMBER, .filter = -1, .type = count};
    over->calls = call;
    over->n_calls = 1;
    const char *name = "$n";
    const tl_type *last;
    TL_TRY(tl_bind__row_type(b, &name, &count, 1, &last));
    TL_TRY(keyed_type(b, input->type, n, last, &type));
    tl_plan *node = tl_bind__new_plan(b, TL_PLAN_OVER, type, input);
    BIND_ALLOC(b, node);
    node->over = over;
    node->n_over = 1;
    tl_expr *number, *bound, *parts[2], *condition;
    TL_TRY(tl_bind__column(b, n, count, u->at, &number));
    TL_TRY(tl_bind__int_literal(b, sort->offset, u->at, &bound));
    TL_TRY(tl_bind__compare(b, ">", number, bound, u->at, &parts[0]));
    TL_TRY(tl_bind__int_literal(b, to, u->at, &bound));
    TL_TRY(tl_bind__compare(b, "<=", number, bound, u->at, &parts[1]));
    TL_TRY(tl_plan__conjunction(b, parts, 2, &condition));
    TL_TRY(tl_bind__filter(b, node, condition, &node));
    return only_columns(b, node, columns, n, out);
}

static tl_status push_sort(unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_plan *input;
    TL_TRY(push(u, plan->inputs[0], &input));
    if (plan->limit < 0 && plan->offset == 0) { /* the order of rows that are joined means nothing */
        *out = input;
        return TL_OK;
    }
    return numbered(u, plan, input, out);
}

static tl_status push_over(unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input, *node;
    TL_TRY(push(u, plan->inputs[0], &input));
    int32_t k = u->out->n_keys;
    TL_TRY(keyed_node(u, plan, input, &node));
    tl_over *overs = tl_arena_alloc(b->arena, (size_t)(plan->n_over + 1) * sizeof *overs);
    BIND_ALLOC(b, overs);
    for (int32_t i = 0; i < plan->n_over; i++) {
        const tl_over *o = &plan->over[i];
        int32_t *partition;
        tl_sort_key *order;
        tl_agg_call *calls = tl_arena_alloc(b->arena, (size_t)(o->n_calls + 1) * sizeof *calls);
        BIND_ALLOC(b, calls);
        TL_TRY(shifted_columns(b, o->partition, o->n_partition, k, k, &partition));
        TL_TRY(shifted_order(b, o->order, o->n_order, k, &order));
        for (int32_t c = 0; c < o->n_calls; c++) {
            calls[c] = o->calls[c];
            for (int32_t a = 0; a < calls[c].n_args; a++)
                calls[c].args[a] += k;
            calls[c].filter += calls[c].filter >= 0 ? k : 0;
        }
        overs[i] = *o;
        overs[i].partition = partition;
        overs[i].n_partition = o->n_partition + k;
        overs[i].order = order;
        overs[i].calls = calls;
    }
    node->over = overs;
    *out = node;
    return TL_OK;
}

/** UNION, INTERSECT and EXCEPT: every input for every key. */
static tl_status push_set(unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_plan **inputs = tl_arena_alloc(u->b->arena, (size_t)TL_MAX(plan->n_inputs, 2) * sizeof *inputs);
    BIND_ALLOC(u->b, inputs);
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(push(u, plan->inputs[i], &inputs[i]));
    TL_TRY(keyed_node(u, plan, inputs[0], out));
    (*out)->inputs = inputs;
    (*out)->n_inputs = plan->n_inputs;
    return TL_OK;
}

/** VALUES that look outside: the domain, projected for each row. */
static tl_status push_values(unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    int32_t width = plan->type->n_fields, k = u->out->n_keys, n = k + width;
    tl_plan **rows = tl_arena_alloc(b->arena, (size_t)TL_MAX(plan->n_rows, 2) * sizeof *rows);
    BIND_ALLOC(b, rows);
    for (int64_t r = 0; r < plan->n_rows; r++) {
        tl_plan *keys;
        tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
        const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
        BIND_ALLOC(b, exprs);
        BIND_ALLOC(b, names);
        TL_TRY(domain(u, &keys));
        for (int32_t i = 0; i < n; i++) {
            names[i] = i < k ? keys->type->fields[i].name : plan->type->fields[i - k].name;
            if (i < k)
                TL_TRY(tl_bind__column(b, i, keys->type->fields[i].type, u->at, &exprs[i]));
            else
                TL_TRY(rewritten(u, plan->exprs[r * width + i - k], NULL, &exprs[i]));
            if (i >= k)
                TL_TRY(tl_bind__coerce(b, exprs[i], plan->type->fields[i - k].type, &exprs[i]));
        }
        TL_TRY(tl_bind__project(b, keys, exprs, names, n, &rows[r]));
    }
    *out = rows[0];
    if (plan->n_rows < 2)
        return TL_OK;
    tl_plan *all = tl_bind__new_plan(b, TL_PLAN_UNION, rows[0]->type, rows[0]);
    BIND_ALLOC(b, all);
    all->inputs = rows;
    all->n_inputs = (int32_t)plan->n_rows;
    *out = all;
    return TL_OK;
}

static tl_status push_unnest(unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_plan *input;
    TL_TRY(push(u, plan->inputs[0], &input));
    TL_TRY(keyed_node(u, plan, input, out));
    (*out)->unnest_column += u->out->n_keys;
    return TL_OK;
}

/** The plan with keys before its columns. */
static tl_status push(unnester *u, tl_plan *plan, tl_plan **out)
{
    if (!looks(plan, 1))
        return for_all_keys(u, plan, out);
    switch (plan->kind) {
    case TL_PLAN_PROJECT:
        return push_project(u, plan, out);
    case TL_PLAN_FILTER:
        return push_filter(u, plan, out);
    case TL_PLAN_JOIN:
        return push_join(u, plan, out);
    case TL_PLAN_AGGREGATE:
        return push_aggregate(u, plan, out);
    case TL_PLAN_SORT:
        return push_sort(u, plan, out);
    case TL_PLAN_OVER:
    case TL_PLAN_RANK: /* a LIMIT of a query inside that looked outside, too */
        return push_over(u, plan, out);
    case TL_PLAN_UNION:
    case TL_PLAN_SETOP:
        return push_set(u, plan, out);
    case TL_PLAN_VALUES:
        return push_values(u, plan, out);
    case TL_PLAN_UNNEST:
        return push_unnest(u, plan, out);
    case TL_PLAN_WINDOW:
        return refused(u, "a window table function");
    default:
        return refused(u, "a temporal or look-up join");
    }
}

/* ---- which way ---- */

/** Whether the query looks outside by equalities of one WHERE alone, where their inner sides can be keys up to the top. */
static bool equality_will_do(const unnester *u, const tl_plan *plan)
{
    for (int64_t i = 0; i < n_exprs(plan); i++)
        if (expr_looks(plan->exprs[i], 1))
            return false;
    if (plan->kind == TL_PLAN_FILTER && expr_looks(plan->condition, 1)) {
        tl_expr **parts;
        int32_t n;
        const tl_expr *inner, *outer;
        if (looks(plan->inputs[0], 1) || tl_plan__conjuncts(u->b, plan->condition, &parts, &n) != TL_OK)
            return false;
        for (int32_t i = 0; i < n; i++)
            if (expr_looks(parts[i], 1) && !is_equality(parts[i], &inner, &outer))
                return false;
        return true;
    }
    if (expr_looks(plan->condition, 1))
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
        bool l = looks(plan->inputs[0], 1), r = looks(plan->inputs[1], 1);
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

static tl_status too_many(const unnester *u)
{
    return TL_AST_ERROR(u->b->err, TL_E_LIMIT, u->at, "too many queries that look outside stand in each other: make some of them joins or tables");
}

/** The different values of the columns outside that the query names. */
static tl_status make_domain(unnester *u, const tl_plan *plan, tl_plan *outside)
{
    tl_binder *b = u->b;
    int32_t n = outside->type->n_fields, *columns, k = 0;
    bool *wanted = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *wanted);
    BIND_ALLOC(b, wanted);
    TL_TRY(shift_map(b, n, 0, &columns));
    outer_search s = {.level = 1, .columns = wanted};
    search_plan(plan, &s);
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
    TL_TRY(only_columns(b, outside, columns, k, &u->domain));
    return tl_bind__distinct(b, u->domain, &u->domain);
}

tl_status tl_bind__unnest(tl_binder *b, tl_plan *plan, tl_plan *outside, bool empty_groups, const tl_ast *at, tl_unnested *out)
{
    *out = (tl_unnested){0};
    unnester u = {.b = b, .at = at, .empty_groups = empty_groups, .out = out};
    TL_TRY(shift_map(b, outside->type->n_fields, 0, &u.domain_of));
    if (!looks(plan, 1))
        return lifted(&u, plan, &out->plan);
    if (count_nodes(plan, QUERY_NODES_MAX) >= QUERY_NODES_MAX)
        return too_many(&u);
    u.by_equality = equality_will_do(&u, plan);
    if (!u.by_equality)
        TL_TRY(make_domain(&u, plan, outside));
    return push(&u, plan, &out->plan);
}

tl_status tl_bind__unnested_condition(tl_binder *b, const tl_unnested *u, int32_t n_outside, tl_expr *const *more, int32_t n_more, const tl_ast *at,
                                      tl_expr **out)
{
    tl_expr **parts = tl_arena_alloc(b->arena, (size_t)(u->n_keys + n_more + 1) * sizeof *parts);
    BIND_ALLOC(b, parts);
    for (int32_t i = 0; i < u->n_keys; i++) {
        tl_expr *key;
        TL_TRY(tl_bind__column(b, n_outside + i, u->plan->type->fields[i].type, at, &key));
        TL_TRY(same(b, u->outer[i], key, u->null_safe, at, &parts[i]));
    }
    for (int32_t i = 0; i < n_more; i++)
        parts[u->n_keys + i] = more[i];
    *out = NULL;
    return u->n_keys + n_more > 0 ? tl_plan__conjunction(b, parts, u->n_keys + n_more, out) : TL_OK;
}
