/*
 * Aggregation and window functions: placeholders in bound expressions become columns of AGGREGATE and OVER nodes.
 *
 * Under AGGREGATE stands a projection of exactly the keys, the arguments and the filters, so that the node itself names columns
 * only; what was written over the results (SUM(a) + 1) is left in the expressions, over the node's output.
 */
#include "sql/bind.h"

#define KEYS_MAX 64
#define SETS_MAX 4096

typedef struct collector {
    tl_binder *b;
    int kind;
    tl_expr **found;
    int32_t n, cap;
    tl_status status;
} collector;

static bool same_call(const tl_expr *x, const tl_expr *y)
{
    const tl_agg_call *a = &x->agg->call, *c = &y->agg->call;
    if (a->kind != c->kind || a->distinct != c->distinct || x->n_args != y->n_args || a->number != c->number || a->json_absent != c->json_absent)
        return false;
    if ((a->separator == NULL) != (c->separator == NULL) || (a->separator != NULL && strcmp(a->separator, c->separator) != 0))
        return false;
    if ((x->agg->filter == NULL) != (y->agg->filter == NULL) || (x->agg->filter != NULL && !tl_expr__equal(x->agg->filter, y->agg->filter)))
        return false;
    for (int32_t i = 0; i < x->n_args; i++)
        if (!tl_expr__equal(x->args[i], y->args[i]))
            return false;
    return true;
}

static bool same_exprs(tl_expr *const *x, int32_t n_x, tl_expr *const *y, int32_t n_y)
{
    if (n_x != n_y)
        return false;
    for (int32_t i = 0; i < n_x; i++)
        if (!tl_expr__equal(x[i], y[i]))
            return false;
    return true;
}

static bool same_window(const tl_bound_agg *a, const tl_bound_agg *c)
{
    return a->frame == c->frame && a->from == c->from && a->to == c->to && same_exprs(a->partition, a->n_partition, c->partition, c->n_partition) &&
           same_exprs(a->order, a->n_order, c->order, c->n_order) && (a->n_order == 0 || memcmp(a->order_flags, c->order_flags, (size_t)a->n_order) == 0);
}

static bool collect(tl_expr *e, void *ctx)
{
    collector *c = ctx;
    if ((int)e->kind != c->kind)
        return true;
    for (int32_t i = 0; i < c->n; i++)
        if (same_call(c->found[i], e) && (c->kind == TL_EXPR__AGG || same_window(c->found[i]->agg, e->agg)))
            return true;
    if (c->n == c->cap) {
        int32_t cap = c->cap == 0 ? 8 : c->cap * 2;
        tl_expr **grown = tl_arena_alloc(c->b->arena, (size_t)cap * sizeof *grown);
        if (grown == NULL) {
            c->status = tl_nomem(c->b->err, "statement");
            return false;
        }
        if (c->n > 0)
            memcpy(grown, c->found, (size_t)c->n * sizeof *grown);
        c->found = grown;
        c->cap = cap;
    }
    c->found[c->n++] = e;
    return true;
}

static tl_status collect_all(tl_binder *b, tl_expr *const *exprs, int32_t n, int kind, collector *out)
{
    *out = (collector){.b = b, .kind = kind};
    for (int32_t i = 0; i < n; i++) {
        tl_expr__walk(exprs[i], collect, out);
        TL_TRY(out->status);
    }
    return TL_OK;
}

/* ---- GROUP BY ---- */

typedef struct keys {
    tl_expr *exprs[KEYS_MAX];
    int32_t n;
    uint64_t *sets;
    int32_t n_sets;
    bool has_sets;
} keys;

static tl_status add_key(tl_binder *b, const tl_ast *ast, keys *k, uint64_t *bit)
{
    tl_expr *e;
    bool allowed = b->aggregates_allowed;
    b->aggregates_allowed = false;
    tl_status status = tl_bind__expr(b, ast, &e);
    b->aggregates_allowed = allowed;
    TL_TRY(status);
    int32_t i = 0;
    while (i < k->n && !tl_expr__equal(k->exprs[i], e))
        i++;
    if (i == KEYS_MAX)
        return BIND_ERROR(b, ast, "GROUP BY has more than %d keys", KEYS_MAX);
    k->exprs[i] = e;
    k->n = TL_MAX(k->n, i + 1);
    *bit = UINT64_C(1) << i;
    return TL_OK;
}

/** One set: (a, b), a or (). */
static tl_status key_set(tl_binder *b, const tl_ast *ast, keys *k, uint64_t *set)
{
    *set = 0;
    if (ast->kind == AST_GROUP_SET)
        return TL_OK;
    const tl_ast *first = ast->kind == AST_ROW ? tl_ast_first(ast->kid[0]) : ast;
    for (const tl_ast *e = first; e != NULL; e = ast->kind == AST_ROW ? e->next : NULL) {
        uint64_t bit;
        TL_TRY(add_key(b, e, k, &bit));
        *set |= bit;
    }
    return TL_OK;
}

typedef struct set_list {
    uint64_t *sets;
    int32_t n;
} set_list;

static tl_status add_set(tl_binder *b, const tl_ast *at, set_list *list, uint64_t set)
{
    if (list->n == SETS_MAX)
        return BIND_ERROR(b, at, "GROUP BY has more than %d grouping sets", SETS_MAX);
    list->sets[list->n++] = set;
    return TL_OK;
}

/** The sets that one element of GROUP BY stands for. */
static tl_status element_sets(tl_binder *b, const tl_ast *ast, keys *k, set_list *out)
{
    uint64_t set;
    if (ast->kind != AST_GROUPING) {
        TL_TRY(key_set(b, ast, k, &set));
        return add_set(b, ast, out, set);
    }
    k->has_sets = true;
    if (strcmp(ast->text, "SETS") == 0) {
        for (const tl_ast *e = tl_ast_first(ast->kid[0]); e != NULL; e = e->next)
            TL_TRY(element_sets(b, e, k, out));
        return TL_OK;
    }
    uint64_t parts[KEYS_MAX];
    int32_t n = 0;
    for (const tl_ast *e = tl_ast_first(ast->kid[0]); e != NULL; e = e->next) {
        if (n == KEYS_MAX)
            return BIND_ERROR(b, e, "GROUP BY has more than %d keys", KEYS_MAX);
        TL_TRY(key_set(b, e, k, &parts[n++]));
    }
    if (strcmp(ast->text, "ROLLUP") == 0) {
        for (int32_t length = n; length >= 0; length--) {
            set = 0;
            for (int32_t i = 0; i < length; i++)
                set |= parts[i];
            TL_TRY(add_set(b, ast, out, set));
        }
        return TL_OK;
    }
    if (n > 12)
        return BIND_ERROR(b, ast, "CUBE has more than 12 keys");
    for (int32_t mask = (1 << n) - 1; mask >= 0; mask--) {
        set = 0;
        for (int32_t i = 0; i < n; i++)
            set |= (mask >> (n - 1 - i) & 1) != 0 ? parts[i] : 0;
        TL_TRY(add_set(b, ast, out, set));
    }
    return TL_OK;
}

/** All elements: the sets of each combined with those of all others. */
static tl_status bind_keys(tl_binder *b, const tl_ast *group_by, keys *k)
{
    set_list all = {tl_arena_alloc(b->arena, SETS_MAX * sizeof(uint64_t)), 1}, next, one;
    next.sets = tl_arena_alloc(b->arena, SETS_MAX * sizeof(uint64_t));
    one.sets = tl_arena_alloc(b->arena, SETS_MAX * sizeof(uint64_t));
    BIND_ALLOC(b, all.sets);
    BIND_ALLOC(b, next.sets);
    BIND_ALLOC(b, one.sets);
    all.sets[0] = 0;
    for (const tl_ast *e = tl_ast_first(group_by); e != NULL; e = e->next) {
        one.n = next.n = 0;
        TL_TRY(element_sets(b, e, k, &one));
        for (int32_t i = 0; i < all.n; i++)
            for (int32_t j = 0; j < one.n; j++)
                TL_TRY(add_set(b, e, &next, all.sets[i] | one.sets[j]));
        set_list swap = all;
        all = next;
        next = swap;
    }
    for (int32_t i = 0; b->uses_group_id && i < all.n; i++)
        for (int32_t j = 0; j < i; j++)
            if (all.sets[i] == all.sets[j])
                return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, tl_ast_first(group_by), "GROUP_ID() over grouping sets of which two are equal is not there");
    k->sets = all.sets;
    k->n_sets = all.n;
    return TL_OK;
}

/* ---- AGGREGATE ---- */

/** Columns of the projection under the node. */
typedef struct inputs {
    tl_expr **exprs;
    const char **names;
    int32_t n;
} inputs;

static tl_status add_input(tl_binder *b, inputs *in, tl_expr *e, int32_t *index)
{
    for (int32_t i = 0; i < in->n; i++)
        if (tl_expr__equal(in->exprs[i], e)) {
            *index = i;
            return TL_OK;
        }
    in->exprs[in->n] = e;
    in->names[in->n] = tl_arena_strf(b->arena, "$f%d", (int)in->n);
    BIND_ALLOC(b, in->names[in->n]);
    *index = in->n++;
    return TL_OK;
}

static tl_status make_calls(tl_binder *b, const collector *aggs, const keys *k, inputs *in, tl_agg_call **out)
{
    tl_agg_call *calls = tl_arena_alloc(b->arena, (size_t)(aggs->n + 1) * sizeof *calls);
    BIND_ALLOC(b, calls);
    for (int32_t i = 0; i < aggs->n; i++) {
        const tl_expr *e = aggs->found[i];
        calls[i] = e->agg->call;
        calls[i].type = e->type;
        if (calls[i].kind == TL_AGG_GROUPING) {
            int32_t key = 0;
            while (key < k->n && !tl_expr__equal(k->exprs[key], e->args[0]))
                key++;
            if (key == k->n)
                return tl_error_set(b->err, TL_E_INVALID, "line %d:%d: Argument to GROUPING operator must be a grouped expression", (int)e->line, (int)e->position);
            calls[i].args[0] = key;
            continue;
        }
        for (int32_t a = 0; a < calls[i].n_args; a++)
            TL_TRY(add_input(b, in, e->args[a], &calls[i].args[a]));
        if (e->agg->filter != NULL)
            TL_TRY(add_input(b, in, e->agg->filter, &calls[i].filter));
        /* Without keys there is a row even if no row comes: SUM and others are NULL then, which their types say already. */
    }
    *out = calls;
    return TL_OK;
}

typedef struct replacer {
    tl_binder *b;
    const keys *k;
    const collector *calls;
    const tl_type *type; /* of the node's output */
    int32_t first_call;
    bool grouped; /* plain columns are errors */
} replacer;

/** A subquery that looks at the rows before they were grouped: its columns outside are now keys of the groups. */
static tl_status over_groups(const replacer *r, const tl_plan *plan, const tl_plan **out)
{
    tl_binder *b = r->b;
    int32_t n = b->scope != NULL ? b->scope->type->n_fields : 0;
    int32_t *map = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *map);
    BIND_ALLOC(b, map);
    for (int32_t i = 0; i < n; i++)
        map[i] = -1;
    for (int32_t i = r->k->n - 1; i >= 0; i--)
        if (r->k->exprs[i]->kind == TL_EXPR_COLUMN && r->k->exprs[i]->column < n)
            map[r->k->exprs[i]->column] = i;
    tl_plan *copy;
    TL_TRY(tl_plan__renumber_outer(b, plan, map, &copy));
    *out = copy;
    return TL_OK;
}

static tl_status replace(const replacer *r, tl_expr *e, tl_expr **out)
{
    tl_binder *b = r->b;
    const tl_ast at = {.line = e->line, .position = e->position};
    for (int32_t i = 0; r->grouped && i < r->k->n; i++)
        if (tl_expr__equal(r->k->exprs[i], e))
            return tl_bind__column(b, i, r->type->fields[i].type, &at, out);
    if ((int)e->kind == r->calls->kind) {
        for (int32_t i = 0; i < r->calls->n; i++)
            if (same_call(r->calls->found[i], e) && (r->grouped || same_window(r->calls->found[i]->agg, e->agg)))
                return tl_bind__column(b, r->first_call + i, r->type->fields[r->first_call + i].type, &at, out);
    }
    if (e->kind == TL_EXPR_COLUMN && r->grouped)
        return tl_error_set(b->err, TL_E_INVALID, "line %d:%d: Expression '%s' is not being grouped", (int)e->line, (int)e->position,
                            b->scope != NULL && e->column < b->scope->type->n_fields ? b->scope->type->fields[e->column].name : "?");
    const tl_plan *looking = NULL;
    if (e->kind == TL_EXPR_SUBQUERY && r->grouped && tl_plan__looks_outside(e->plan))
        TL_TRY(over_groups(r, e->plan, &looking));
    if (e->kind == TL_EXPR_SUBQUERY && e->n_args == 0 && looking == NULL) {
        *out = e;
        return TL_OK;
    }
    tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, args);
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(replace(r, e->args[i], &args[i]));
    *copy = *e;
    copy->args = args;
    copy->plan = looking != NULL ? looking : e->plan;
    if (r->grouped && (int)e->kind == TL_EXPR__OVER) { /* its window is over the groups too */
        tl_bound_agg *agg = tl_arena_alloc(b->arena, sizeof *agg);
        BIND_ALLOC(b, agg);
        *agg = *e->agg;
        agg->partition = tl_arena_alloc(b->arena, (size_t)(agg->n_partition + 1) * sizeof *agg->partition);
        agg->order = tl_arena_alloc(b->arena, (size_t)(agg->n_order + 1) * sizeof *agg->order);
        BIND_ALLOC(b, agg->partition);
        BIND_ALLOC(b, agg->order);
        for (int32_t i = 0; i < agg->n_partition; i++)
            TL_TRY(replace(r, e->agg->partition[i], &agg->partition[i]));
        for (int32_t i = 0; i < agg->n_order; i++)
            TL_TRY(replace(r, e->agg->order[i], &agg->order[i]));
        if (agg->filter != NULL)
            TL_TRY(replace(r, e->agg->filter, &agg->filter));
        copy->agg = agg;
    }
    *out = copy;
    return TL_OK;
}

static tl_status output_type(tl_binder *b, const keys *k, const inputs *in, const tl_agg_call *calls, int32_t n_calls, const tl_type **out)
{
    int32_t n = k->n + n_calls;
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    for (int32_t i = 0; i < k->n; i++) {
        names[i] = in->names[i];
        types[i] = k->exprs[i]->type;
        if (k->has_sets)
            TL_TRY(tl_bind__nullable(b, types[i], true, &types[i]));
    }
    for (int32_t i = 0; i < n_calls; i++) {
        names[k->n + i] = tl_arena_strf(b->arena, "$a%d", (int)i);
        BIND_ALLOC(b, names[k->n + i]);
        types[k->n + i] = calls[i].type;
    }
    return tl_bind__row_type(b, names, types, n, out);
}

/** Names for people: a key that is a column keeps its name. */
static void name_keys(const keys *k, const tl_plan *input, inputs *in)
{
    for (int32_t i = 0; i < k->n; i++)
        if (k->exprs[i]->kind == TL_EXPR_COLUMN)
            in->names[i] = input->type->fields[k->exprs[i]->column].name;
}

tl_status tl_bind__aggregation(tl_binder *b, const tl_ast *group_by, tl_expr **exprs, int32_t n_exprs, tl_plan *input, tl_plan **out)
{
    keys *k = tl_arena_calloc(b->arena, 1, sizeof *k);
    BIND_ALLOC(b, k);
    TL_TRY(bind_keys(b, group_by, k));
    collector aggs;
    TL_TRY(collect_all(b, exprs, n_exprs, TL_EXPR__AGG, &aggs));
    size_t most = (size_t)k->n + (size_t)aggs.n * 3 + 1;
    inputs in = {tl_arena_alloc(b->arena, most * sizeof *in.exprs), tl_arena_alloc(b->arena, most * sizeof *in.names), 0};
    BIND_ALLOC(b, in.exprs);
    BIND_ALLOC(b, in.names);
    int32_t *group = tl_arena_alloc(b->arena, (size_t)(k->n + 1) * sizeof *group);
    BIND_ALLOC(b, group);
    for (int32_t i = 0; i < k->n; i++)
        TL_TRY(add_input(b, &in, k->exprs[i], &group[i])); /* keys differ: group[i] == i */
    name_keys(k, input, &in);
    tl_agg_call *calls;
    TL_TRY(make_calls(b, &aggs, k, &in, &calls));
    tl_plan *project;
    const tl_type *type;
    TL_TRY(tl_bind__project(b, input, in.exprs, in.names, in.n, &project));
    TL_TRY(output_type(b, k, &in, calls, aggs.n, &type));
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_AGGREGATE, type, project);
    BIND_ALLOC(b, plan);
    plan->group = group;
    plan->n_group = k->n;
    plan->calls = calls;
    plan->n_calls = aggs.n;
    if (k->has_sets) {
        plan->grouping_sets = k->sets;
        plan->n_sets = k->n_sets;
    }
    /* window_time that is grouped by stays a time attribute: a window can follow a window. */
    for (int32_t i = 0; i < k->n; i++)
        if (k->exprs[i]->kind == TL_EXPR_COLUMN && strcmp(in.names[i], "window_time") == 0)
            ((uint8_t *)(uintptr_t)plan->time_attr)[i] = input->time_attr[k->exprs[i]->column];
    const replacer r = {b, k, &aggs, type, k->n, true};
    for (int32_t i = 0; i < n_exprs; i++)
        TL_TRY(replace(&r, exprs[i], &exprs[i]));
    *out = plan;
    return TL_OK;
}

/* ---- OVER ---- */

/** All that the calls need beside the input's columns. */
static tl_status over_inputs(tl_binder *b, const collector *calls, tl_plan **plan, int32_t ***indices)
{
    int32_t n = 0;
    for (int32_t i = 0; i < calls->n; i++)
        n += calls->found[i]->n_args + calls->found[i]->agg->n_partition + calls->found[i]->agg->n_order + 1;
    tl_expr **wanted = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *wanted);
    int32_t *flat = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *flat);
    *indices = tl_arena_alloc(b->arena, (size_t)(calls->n + 1) * sizeof **indices);
    BIND_ALLOC(b, wanted);
    BIND_ALLOC(b, flat);
    BIND_ALLOC(b, *indices);
    n = 0;
    for (int32_t i = 0; i < calls->n; i++) {
        const tl_expr *e = calls->found[i];
        (*indices)[i] = flat + n;
        for (int32_t a = 0; a < e->n_args; a++)
            wanted[n++] = e->args[a];
        for (int32_t p = 0; p < e->agg->n_partition; p++)
            wanted[n++] = e->agg->partition[p];
        for (int32_t o = 0; o < e->agg->n_order; o++)
            wanted[n++] = e->agg->order[o];
        if (e->agg->filter != NULL)
            wanted[n++] = e->agg->filter;
    }
    return tl_bind__add_columns(b, plan, wanted, n, flat);
}

static tl_status make_over(tl_binder *b, const tl_expr *e, const int32_t *indices, tl_over *over)
{
    const tl_bound_agg *agg = e->agg;
    int32_t *partition = tl_arena_alloc(b->arena, (size_t)(agg->n_partition + 1) * sizeof *partition);
    tl_sort_key *order = tl_arena_alloc(b->arena, (size_t)(agg->n_order + 1) * sizeof *order);
    BIND_ALLOC(b, partition);
    BIND_ALLOC(b, order);
    for (int32_t p = 0; p < agg->n_partition; p++)
        partition[p] = indices[e->n_args + p];
    for (int32_t o = 0; o < agg->n_order; o++)
        order[o] = (tl_sort_key){indices[e->n_args + agg->n_partition + o], (agg->order_flags[o] & 1) != 0, (agg->order_flags[o] & 2) != 0};
    *over = (tl_over){partition, agg->n_partition, order, agg->n_order, agg->frame, agg->from, agg->to, NULL, 0};
    return TL_OK;
}

tl_status tl_bind__overs(tl_binder *b, tl_expr **exprs, int32_t n_exprs, tl_plan *input, tl_plan **out)
{
    collector found;
    TL_TRY(collect_all(b, exprs, n_exprs, TL_EXPR__OVER, &found));
    tl_plan *wide = input;
    int32_t **indices;
    TL_TRY(over_inputs(b, &found, &wide, &indices));
    int32_t n_wide = wide->type->n_fields, n_over = 0, n_out = n_wide;
    tl_over *overs = tl_arena_calloc(b->arena, (size_t)found.n + 1, sizeof *overs);
    tl_agg_call *calls = tl_arena_alloc(b->arena, (size_t)(found.n + 1) * sizeof *calls);
    collector ordered = found;
    ordered.found = tl_arena_alloc(b->arena, (size_t)(found.n + 1) * sizeof *ordered.found);
    bool *done = tl_arena_calloc(b->arena, (size_t)found.n + 1, sizeof *done);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n_wide + found.n + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n_wide + found.n + 1) * sizeof *types);
    BIND_ALLOC(b, overs);
    BIND_ALLOC(b, calls);
    BIND_ALLOC(b, ordered.found);
    BIND_ALLOC(b, done);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    for (int32_t i = 0; i < n_wide; i++) {
        names[i] = wide->type->fields[i].name;
        types[i] = wide->type->fields[i].type;
    }
    int32_t n_calls = 0;
    for (int32_t i = 0; i < found.n; i++) { /* calls of one window stand together */
        if (done[i])
            continue;
        tl_over *over = &overs[n_over++];
        TL_TRY(make_over(b, found.found[i], indices[i], over));
        over->calls = &calls[n_calls];
        for (int32_t j = i; j < found.n; j++) {
            const tl_expr *e = found.found[j];
            if (done[j] || !same_window(found.found[i]->agg, e->agg))
                continue;
            done[j] = true;
            tl_agg_call *call = &calls[n_calls];
            *call = e->agg->call;
            call->type = e->type;
            for (int32_t a = 0; a < call->n_args; a++)
                call->args[a] = indices[j][a];
            if (e->agg->filter != NULL)
                call->filter = indices[j][e->n_args + e->agg->n_partition + e->agg->n_order];
            names[n_out] = tl_arena_strf(b->arena, "$w%d", (int)n_calls);
            BIND_ALLOC(b, names[n_out]);
            types[n_out++] = e->type;
            ordered.found[n_calls++] = (tl_expr *)(uintptr_t)e;
            over->n_calls++;
        }
    }
    const tl_type *type;
    TL_TRY(tl_bind__row_type(b, names, types, n_out, &type));
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_OVER, type, wide);
    BIND_ALLOC(b, plan);
    plan->over = overs;
    plan->n_over = n_over;
    const keys none = {.n = 0};
    const replacer r = {b, &none, &ordered, type, n_wide, false};
    for (int32_t i = 0; i < n_exprs; i++)
        TL_TRY(replace(&r, exprs[i], &exprs[i]));
    *out = plan;
    return TL_OK;
}
