/* The nodes of a query that looks outside, one by one, with the keys before their columns. */
#include "sql/decorrelate.h"

/** An expression of the query: its columns are now at `columns`, those outside in the domain. */
static tl_status rewritten(const tl_unnester *u, const tl_expr *e, const int32_t *columns, tl_expr **out)
{
    const tl_column_change c = {.columns = columns, .outer = u->domain_of, .level = 1};
    return tl_outer__change(u->b, e, &c, out);
}

tl_status tl_decorrelate__lifted(const tl_unnester *u, tl_plan *plan, tl_plan **out)
{
    *out = plan;
    const tl_column_change c = {.outer = u->domain_of, .level = 1};
    return tl_outer__plan_looks(plan, 0) ? tl_outer__copy_plan(u->b, plan, /* fresh= */ false, tl_outer__change, &c, out) : TL_OK;
}

tl_status tl_decorrelate__numbers(tl_binder *b, int32_t n, int32_t by, int32_t **out)
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
static tl_status keyed_node(const tl_unnester *u, const tl_plan *plan, tl_plan *input, tl_plan **out)
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

tl_status tl_decorrelate__only_columns(tl_binder *b, tl_plan *plan, const int32_t *columns, int32_t n, tl_plan **out)
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

static tl_status domain(const tl_unnester *u, tl_plan **out)
{
    return tl_outer__copy_plan(u->b, u->domain, /* fresh= */ true, NULL, NULL, out);
}

/** Every row for every key. */
static tl_status for_all_keys(const tl_unnester *u, tl_plan *plan, tl_plan **out)
{
    tl_plan *keys;
    TL_TRY(domain(u, &keys));
    TL_TRY(tl_decorrelate__lifted(u, plan, &plan));
    return tl_bind__join(u->b, TL_PLAN_JOIN, TL_JOIN_INNER, keys, plan, NULL, out);
}

/** Keys and columns through a PROJECT. */
static tl_status push_project(tl_unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input;
    TL_TRY(tl_decorrelate__push(u, plan->inputs[0], &input));
    int32_t k = u->out->n_keys, n = k + plan->type->n_fields, *map;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    TL_TRY(tl_decorrelate__numbers(b, plan->inputs[0]->type->n_fields, k, &map));
    for (int32_t i = 0; i < n; i++) {
        names[i] = i < k ? input->type->fields[i].name : plan->type->fields[i - k].name;
        if (i < k)
            TL_TRY(tl_bind__column(b, i, input->type->fields[i].type, NULL, &exprs[i]));
        else
            TL_TRY(rewritten(u, plan->exprs[i - k], map, &exprs[i]));
    }
    return tl_bind__project(b, input, exprs, names, n, out);
}

/* Whether e is `inner = outer`. */
bool tl_decorrelate__is_equality(const tl_expr *e, const tl_expr **inner, const tl_expr **outer)
{
    if (e->kind != TL_EXPR_CALL || strcmp(e->fn->name, "=") != 0)
        return false;
    bool turned = tl_outer__expr_looks(e->args[0], 1);
    *inner = e->args[turned];
    *outer = e->args[!turned];
    return !tl_outer__expr_looks(*inner, 0) && !tl_expr__has_kind(*outer, TL_EXPR_COLUMN) && !tl_expr__is_volatile(e);
}

/** The WHERE of a query by equality: its conditions on what is outside become the keys. */
static tl_status keys_of_filter(tl_unnester *u, tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input;
    tl_expr **parts;
    int32_t n_parts, n_rest = 0, n_columns = plan->type->n_fields, *all;
    TL_TRY(tl_decorrelate__lifted(u, plan->inputs[0], &input));
    TL_TRY(tl_plan__conjuncts(b, plan->condition, &parts, &n_parts));
    TL_TRY(tl_decorrelate__numbers(b, n_columns, 0, &all));
    size_t room = (size_t)n_parts + (size_t)n_columns + 1;
    tl_expr **exprs = tl_arena_alloc(b->arena, room * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, room * sizeof *names);
    u->out->outer = tl_arena_alloc(b->arena, room * sizeof *u->out->outer);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, u->out->outer);
    for (int32_t i = 0; i < n_parts; i++) {
        const tl_expr *inner, *outer;
        if (!tl_outer__expr_looks(parts[i], 1)) {
            TL_TRY(rewritten(u, parts[i], all, &parts[n_rest++]));
            continue;
        }
        (void)tl_decorrelate__is_equality(parts[i], &inner, &outer);
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

static tl_status push_filter(tl_unnester *u, tl_plan *plan, tl_plan **out)
{
    if (u->by_equality && tl_outer__expr_looks(plan->condition, 1))
        return keys_of_filter(u, plan, out);
    tl_plan *input;
    tl_expr *condition;
    int32_t *map;
    TL_TRY(tl_decorrelate__push(u, plan->inputs[0], &input));
    TL_TRY(tl_decorrelate__numbers(u->b, plan->type->n_fields, u->out->n_keys, &map));
    TL_TRY(rewritten(u, plan->condition, map, &condition));
    return tl_bind__filter(u->b, input, condition, out);
}

/** a = c, or for keys that may be NULL a IS NOT DISTINCT FROM c. */
tl_status tl_decorrelate__same(tl_binder *b, tl_expr *a, tl_expr *c, bool null_safe, const tl_ast *at, tl_expr **out)
{
    return tl_bind__compare(b, null_safe && (a->type->nullable || c->type->nullable) ? "IS NOT DISTINCT FROM" : "=", a, c, at, out);
}

/** The keys of two sides, at 0 … and at `right` … */
static tl_status same_keys(const tl_unnester *u, const tl_plan *l, const tl_plan *r, tl_expr **parts)
{
    for (int32_t i = 0; i < u->out->n_keys; i++) {
        tl_expr *a, *c;
        TL_TRY(tl_bind__column(u->b, i, l->type->fields[i].type, u->at, &a));
        TL_TRY(tl_bind__column(u->b, l->type->n_fields + i, r->type->fields[i].type, u->at, &c));
        TL_TRY(tl_decorrelate__same(u->b, a, c, true, u->at, &parts[i]));
    }
    return TL_OK;
}

static tl_status refused(const tl_unnester *u, const char *what)
{
    return TL_AST_ERROR(u->b->err, TL_E_UNSUPPORTED, u->at,
                        "a query that looks outside from inside or below %s is not there: write it as a join, and this above it", what);
}

static tl_status push_join(tl_unnester *u, tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    bool filters = plan->join == TL_JOIN_SEMI || plan->join == TL_JOIN_ANTI, right_looks = tl_outer__plan_looks(plan->inputs[1], 1);
    if (plan->join == TL_JOIN_RIGHT || plan->join == TL_JOIN_FULL)
        return refused(u, "a RIGHT or FULL JOIN");
    bool left_keyed = !right_looks || tl_outer__plan_looks(plan->inputs[0], 1) || plan->join != TL_JOIN_INNER || tl_outer__expr_looks(plan->condition, 1);
    tl_plan *l = plan->inputs[0], *r = plan->inputs[1];
    int32_t n_left = l->type->n_fields, n_right = r->type->n_fields, n_conditions = 0;
    TL_TRY(left_keyed ? tl_decorrelate__push(u, l, &l) : tl_decorrelate__lifted(u, l, &l));
    TL_TRY(right_looks ? tl_decorrelate__push(u, r, &r) : tl_decorrelate__lifted(u, r, &r));
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
        TL_TRY(tl_decorrelate__same(b, a, c, plan->null_safe != NULL && plan->null_safe[i], u->at, &conditions[n_conditions++]));
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
    return filters ? TL_OK : tl_decorrelate__only_columns(b, *out, kept, k + n_left + n_right, out);
}

/** A key without rows gets the row that an aggregate without GROUP BY has for none. */
static tl_status with_empty_groups(const tl_unnester *u, const tl_plan *plan, tl_plan *grouped, tl_plan **out)
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

static tl_status push_aggregate(tl_unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input, *node;
    TL_TRY(tl_decorrelate__push(u, plan->inputs[0], &input));
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
static tl_status numbered(tl_unnester *u, const tl_plan *sort, tl_plan *input, tl_plan **out)
{
    tl_binder *b = u->b;
    int32_t k = u->out->n_keys, n = input->type->n_fields, *keys, *columns;
    tl_over *over = tl_arena_calloc(b->arena, 1, sizeof *over);
    tl_agg_call *call = tl_arena_calloc(b->arena, 1, sizeof *call);
    tl_sort_key *order;
    const tl_type *count, *type;
    BIND_ALLOC(b, over);
    BIND_ALLOC(b, call);
    TL_TRY(tl_decorrelate__numbers(b, k, 0, &keys));
    TL_TRY(tl_decorrelate__numbers(b, n, 0, &columns));
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
    return tl_decorrelate__only_columns(b, node, columns, n, out);
}

static tl_status push_sort(tl_unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_plan *input;
    TL_TRY(tl_decorrelate__push(u, plan->inputs[0], &input));
    if (plan->limit < 0 && plan->offset == 0) { /* the order of rows that are joined means nothing */
        *out = input;
        return TL_OK;
    }
    return numbered(u, plan, input, out);
}

static tl_status push_over(tl_unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_binder *b = u->b;
    tl_plan *input, *node;
    TL_TRY(tl_decorrelate__push(u, plan->inputs[0], &input));
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
static tl_status push_set(tl_unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_plan **inputs = tl_arena_alloc(u->b->arena, (size_t)TL_MAX(plan->n_inputs, 2) * sizeof *inputs);
    BIND_ALLOC(u->b, inputs);
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(tl_decorrelate__push(u, plan->inputs[i], &inputs[i]));
    TL_TRY(keyed_node(u, plan, inputs[0], out));
    (*out)->inputs = inputs;
    (*out)->n_inputs = plan->n_inputs;
    return TL_OK;
}

/** VALUES that look outside: the domain, projected for each row. */
static tl_status push_values(tl_unnester *u, const tl_plan *plan, tl_plan **out)
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

static tl_status push_unnest(tl_unnester *u, const tl_plan *plan, tl_plan **out)
{
    tl_plan *input;
    TL_TRY(tl_decorrelate__push(u, plan->inputs[0], &input));
    TL_TRY(keyed_node(u, plan, input, out));
    (*out)->unnest_column += u->out->n_keys;
    return TL_OK;
}

/** The plan with keys before its columns. */
tl_status tl_decorrelate__push(tl_unnester *u, tl_plan *plan, tl_plan **out)
{
    if (!tl_outer__plan_looks(plan, 1))
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
