/*
 * What a streaming plan says in other words: ROW_NUMBER with bounds is a ranking, keys that hold a window's start and end make
 * results come once a window, a condition that keeps two time attributes close to each other makes an interval join.
 */
#include <strings.h>

#include "sql/bind.h"
#include "sql/functions.h"

/* ---- constants and comparisons ---- */

/** The whole number that an expression is; false if it is none. */
static tl_status constant_of(tl_binder *b, const tl_expr *e, bool *is, int64_t *out)
{
    *is = false;
    if (!tl_sql__is_integer(e->type) && !tl_sql__is_interval_ms(e->type))
        return TL_OK;
    tl_column *col;
    TL_TRY(tl_bind__fold(b, (tl_expr *)(uintptr_t)e, &col));
    if (col == NULL)
        return TL_OK;
    *is = !tl_col_is_null(col, 0);
    if (*is)
        switch (col->phys) {
        case TL_PHYS_I8:
            *out = tl_col_i8(col, 0);
            break;
        case TL_PHYS_I16:
            *out = tl_col_i16(col, 0);
            break;
        case TL_PHYS_I32:
            *out = tl_col_i32(col, 0);
            break;
        case TL_PHYS_I64:
            *out = tl_col_i64(col, 0);
            break;
        default:
            *is = false;
        }
    tl_column_unref(col);
    return TL_OK;
}

static bool is_call(const tl_expr *e, const char *name)
{
    return e->kind == TL_EXPR_CALL && strcmp(e->fn->name, name) == 0;
}

static const char *comparison(const tl_expr *e)
{
    static const char *const names[] = {"<", "<=", "=", ">=", ">"};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        if (is_call(e, names[i]) && e->n_args == 2)
            return names[i];
    return NULL;
}

static const char *mirrored(const char *op)
{
    return op[0] == '=' ? op : op[0] == '<' ? (op[1] == '=' ? ">=" : ">") : op[1] == '=' ? "<=" : "<";
}

/* ---- rankings ---- */

/** Under casts that widen. */
static const tl_expr *without_casts(const tl_expr *e)
{
    while (e->kind == TL_EXPR_CAST && tl_sql__is_integer(e->type) && tl_sql__is_integer(e->args[0]->type) && e->type->kind >= e->args[0]->type->kind)
        e = e->args[0];
    return e;
}

/** A comparison of the rank with a constant narrows the bounds. */
static tl_status take_bound(tl_binder *b, const tl_expr *e, int32_t rank, tl_plan *plan, bool *taken)
{
    *taken = false;
    const char *op = comparison(e);
    if (op == NULL)
        return TL_OK;
    const tl_expr *left = without_casts(e->args[0]), *right = without_casts(e->args[1]);
    const tl_expr *other = right;
    if (right->kind == TL_EXPR_COLUMN && right->column == rank) {
        other = left;
        op = mirrored(op);
    } else if (left->kind != TL_EXPR_COLUMN || left->column != rank) {
        return TL_OK;
    }
    int64_t v;
    TL_TRY(constant_of(b, other, taken, &v));
    if (!*taken)
        return TL_OK;
    if (op[0] == '<' || op[0] == '=')
        plan->rank_to = TL_MIN(plan->rank_to, strcmp(op, "<") == 0 ? v - (v > INT64_MIN) : v);
    if (op[0] == '>' || op[0] == '=')
        plan->rank_from = TL_MAX(plan->rank_from, strcmp(op, ">") == 0 ? v + (v < INT64_MAX) : v);
    return TL_OK;
}

static bool is_ranking(const tl_plan *plan)
{
    return plan->kind == TL_PLAN_OVER && plan->n_over == 1 && plan->over[0].n_calls == 1 && plan->over[0].calls[0].kind == TL_AGG_ROW_NUMBER &&
           plan->over[0].n_order > 0;
}

/** A time attribute, or one that a window table function has made an ordinary column. */
static bool is_time(const tl_plan *plan, int32_t column)
{
    while (plan->time_attr[column] == TL_TIME_NONE) {
        if (plan->kind == TL_PLAN_PROJECT && plan->exprs[column]->kind == TL_EXPR_COLUMN)
            column = plan->exprs[column]->column;
        else if (plan->kind != TL_PLAN_FILTER && (plan->kind != TL_PLAN_WINDOW || column >= plan->inputs[0]->type->n_fields))
            return false;
        plan = plan->inputs[0];
    }
    return true;
}

/** FILTER over OVER: the conditions on the rank become bounds, the others stay above. */
static tl_status rank_of(tl_binder *b, tl_plan **plan)
{
    tl_plan *filter = *plan, *over = filter->inputs[0];
    tl_expr **conjuncts;
    int32_t n, n_rest = 0;
    TL_TRY(tl_plan__conjuncts(b, filter->condition, &conjuncts, &n));
    tl_plan *rank = tl_bind__new_plan(b, TL_PLAN_RANK, over->type, over->inputs[0]);
    BIND_ALLOC(b, rank);
    rank->rank_from = 1;
    rank->rank_to = INT64_MAX;
    for (int32_t i = 0; i < n; i++) {
        bool taken;
        TL_TRY(take_bound(b, conjuncts[i], over->type->n_fields - 1, rank, &taken));
        if (!taken)
            conjuncts[n_rest++] = conjuncts[i];
    }
    if (rank->rank_to == INT64_MAX) /* without an upper bound it is no ranking */
        return TL_OK;
    rank->over = over->over;
    rank->n_over = 1;
    rank->with_rank = true;
    const tl_sort_key *by = &over->over[0].order[0];
    bool by_time = over->over[0].n_order == 1 && is_time(over->inputs[0], by->column);
    rank->keep_newest = by_time && by->descending && rank->rank_from == 1 && rank->rank_to == 1;
    *plan = rank;
    if (n_rest == 0)
        return TL_OK;
    tl_expr *rest;
    TL_TRY(tl_plan__conjunction(b, conjuncts, n_rest, &rest));
    return tl_bind__filter(b, rank, rest, plan);
}

/** ORDER BY … LIMIT: a ranking of all rows. ORDER BY a time attribute: rows in order of their time, as OVER gives them. */
static tl_status sort_of(tl_binder *b, tl_plan **plan)
{
    const tl_plan *sort = *plan;
    const tl_plan *input = sort->inputs[0];
    bool by_time = sort->limit < 0 && sort->offset == 0 && sort->n_sort == 1 && !sort->sort[0].descending &&
                   input->time_attr[sort->sort[0].column] == TL_TIME_ROWTIME;
    if (sort->limit < 0 && !by_time)
        return TL_OK;
    tl_over *over = tl_arena_calloc(b->arena, 1, sizeof *over);
    tl_plan *node = tl_bind__new_plan(b, by_time ? TL_PLAN_OVER : TL_PLAN_RANK, sort->type, sort->inputs[0]);
    BIND_ALLOC(b, over);
    BIND_ALLOC(b, node);
    over->order = sort->sort;
    over->n_order = sort->n_sort;
    over->frame = TL_FRAME_ROWS;
    node->over = over;
    node->n_over = 1;
    node->rank_from = sort->offset + 1;
    node->rank_to = sort->limit > INT64_MAX - sort->offset ? INT64_MAX - 1 : sort->offset + sort->limit;
    *plan = node;
    return TL_OK;
}

tl_status tl_plan__find_ranks(tl_binder *b, tl_plan **plan)
{
    for (int32_t i = 0; i < (*plan)->n_inputs; i++)
        TL_TRY(tl_plan__find_ranks(b, &(*plan)->inputs[i]));
    if ((*plan)->kind == TL_PLAN_SORT)
        return sort_of(b, plan);
    return (*plan)->kind == TL_PLAN_FILTER && is_ranking((*plan)->inputs[0]) ? rank_of(b, plan) : TL_OK;
}

/* ---- windows ---- */

typedef enum window_part { PART_NONE, PART_START, PART_END, PART_TIME } window_part;

/** Which bound of which window a column is; *window is its WINDOW node. */
static window_part part_of(const tl_plan *plan, int32_t column, const tl_plan **window)
{
    for (;;) {
        int32_t n_input = plan->n_inputs > 0 ? plan->inputs[0]->type->n_fields : 0;
        switch (plan->kind) {
        case TL_PLAN_WINDOW:
            if (column < n_input)
                return PART_NONE;
            *window = plan;
            return (window_part)(PART_START + column - n_input);
        case TL_PLAN_PROJECT:
            if (plan->exprs[column]->kind != TL_EXPR_COLUMN)
                return PART_NONE;
            column = plan->exprs[column]->column;
            break;
        case TL_PLAN_FILTER:
            break;
        case TL_PLAN_AGGREGATE:
            if (!plan->by_window || column >= plan->n_group)
                return PART_NONE;
            column = plan->group[column];
            break;
        case TL_PLAN_RANK:
            if (!plan->by_window || column >= n_input)
                return PART_NONE;
            break;
        case TL_PLAN_UNNEST:
        case TL_PLAN_LOOKUP_JOIN:
            if (column >= n_input)
                return PART_NONE;
            break;
        case TL_PLAN_JOIN:
            if (!plan->by_window)
                return PART_NONE;
            if (column >= n_input) {
                column -= n_input;
                plan = plan->inputs[1];
                continue;
            }
            break;
        default:
            return PART_NONE;
        }
        plan = plan->inputs[0];
    }
}

static bool is_local(const tl_plan *window)
{
    return window->inputs[0]->type->fields[window->rowtime].type->kind == TL_TIMESTAMP_LTZ;
}

/** Whether start and end of one window of `plan`'s input are among the columns. */
static bool holds_window(tl_plan *plan, const int32_t *columns, int32_t n)
{
    const tl_plan *input = plan->inputs[0];
    for (int32_t i = 0; i < n; i++) {
        const tl_plan *window, *other;
        if (part_of(input, columns[i], &window) != PART_END)
            continue;
        for (int32_t k = 0; k < n; k++)
            if (part_of(input, columns[k], &other) == PART_START && other == window) {
                plan->window_end = columns[i];
                plan->window_is_local = is_local(window);
                return true;
            }
    }
    return false;
}

static bool same_windows(const tl_plan *a, const tl_plan *c)
{
    return a->window == c->window && a->size_ms == c->size_ms && a->slide_ms == c->slide_ms && a->offset_ms == c->offset_ms &&
           (a->inputs[0]->time_attr[a->rowtime] == c->inputs[0]->time_attr[c->rowtime]);
}

/** Starts and ends of windows of one kind on both sides are equal. */
static void window_join(tl_plan *plan)
{
    const tl_plan *left = plan->inputs[0], *right = plan->inputs[1], *lw, *rw;
    bool start = false, end = false;
    for (int32_t i = 0; i < plan->n_keys; i++) {
        window_part l = part_of(left, plan->left_keys[i], &lw), r = part_of(right, plan->right_keys[i], &rw);
        if (l == PART_NONE || l != r || !same_windows(lw, rw))
            continue;
        start = start || l == PART_START;
        if (l == PART_END) {
            end = true;
            plan->window_is_local = is_local(lw);
            plan->window_end = plan->left_keys[i];
            plan->right_window_end = plan->right_keys[i];
        }
    }
    plan->by_window = start && end;
}

/* ---- interval joins ---- */

/** A time attribute of either side, plus or minus a constant. */
static tl_status time_term(tl_binder *b, const tl_plan *join, const tl_expr *e, int32_t *column, int64_t *add)
{
    *column = -1;
    *add = 0;
    if (is_call(e, "$PLUS_MS")) {
        bool is;
        TL_TRY(constant_of(b, e->args[1], &is, add));
        if (!is)
            return TL_OK;
        e = e->args[0];
    }
    while (e->kind == TL_EXPR_CAST && e->type->kind == e->args[0]->type->kind && e->type->precision == e->args[0]->type->precision)
        e = e->args[0]; /* only NOT NULL differs */
    int32_t n_left = join->inputs[0]->type->n_fields;
    if (e->kind != TL_EXPR_COLUMN)
        return TL_OK;
    uint8_t attr = e->column < n_left ? join->inputs[0]->time_attr[e->column] : join->inputs[1]->time_attr[e->column - n_left];
    if (attr == TL_TIME_ROWTIME)
        *column = e->column;
    return TL_OK;
}

/** left + a OP right + c bounds right - left. */
static tl_status time_bound(tl_binder *b, const tl_expr *e, tl_plan *plan, bool *has_lower, bool *has_upper, bool *taken)
{
    *taken = false;
    const char *op = comparison(e);
    int32_t n_left = plan->inputs[0]->type->n_fields, l, r;
    int64_t a, c;
    if (op == NULL)
        return TL_OK;
    TL_TRY(time_term(b, plan, e->args[0], &l, &a));
    TL_TRY(time_term(b, plan, e->args[1], &r, &c));
    if (l < 0 || r < 0 || (l < n_left) == (r < n_left))
        return TL_OK;
    if (l >= n_left) { /* the left side's to the left */
        int32_t column = l;
        int64_t add = a;
        l = r;
        a = c;
        r = column;
        c = add;
        op = mirrored(op);
    }
    r -= n_left;
    if ((*has_lower || *has_upper) && (plan->left_time != l || plan->right_time != r))
        return TL_OK; /* a second pair of times: an ordinary condition */
    *taken = true;
    plan->left_time = l;
    plan->right_time = r;
    int64_t bound = a - c;
    if (op[0] == '<' || op[0] == '=') { /* right >= left + bound */
        int64_t lower = bound + (strcmp(op, "<") == 0);
        plan->lower_ms = *has_lower ? TL_MAX(plan->lower_ms, lower) : lower;
        *has_lower = true;
    }
    if (op[0] == '>' || op[0] == '=') {
        int64_t upper = bound - (strcmp(op, ">") == 0);
        plan->upper_ms = *has_upper ? TL_MIN(plan->upper_ms, upper) : upper;
        *has_upper = true;
    }
    return TL_OK;
}

static tl_status interval_join(tl_binder *b, tl_plan *plan)
{
    if (plan->condition == NULL || plan->join == TL_JOIN_SEMI || plan->join == TL_JOIN_ANTI)
        return TL_OK;
    tl_expr **conjuncts;
    int32_t n, n_rest = 0;
    bool has_lower = false, has_upper = false, taken;
    TL_TRY(tl_plan__conjuncts(b, plan->condition, &conjuncts, &n));
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(time_bound(b, conjuncts[i], plan, &has_lower, &has_upper, &taken));
        if (!taken)
            conjuncts[n_rest++] = conjuncts[i];
    }
    plan->is_interval = has_lower && has_upper;
    if (!plan->is_interval)
        return TL_OK;
    plan->condition = NULL; /* the bounds say the rest of it */
    return n_rest > 0 ? tl_plan__conjunction(b, conjuncts, n_rest, &plan->condition) : TL_OK;
}

/** A ranking that makes the versions of a temporal join. */
static void keep_versions(tl_plan *plan)
{
    while (plan->kind == TL_PLAN_PROJECT || plan->kind == TL_PLAN_FILTER)
        plan = plan->inputs[0];
    plan->each_change = plan->kind == TL_PLAN_RANK;
}

tl_status tl_plan__find_windows(tl_binder *b, tl_plan *plan)
{
    for (int32_t i = 0; i < plan->n_inputs; i++)
        TL_TRY(tl_plan__find_windows(b, plan->inputs[i]));
    switch (plan->kind) {
    case TL_PLAN_AGGREGATE:
        plan->by_window = holds_window(plan, plan->group, plan->n_group);
        return TL_OK;
    case TL_PLAN_RANK:
        plan->by_window = holds_window(plan, plan->over[0].partition, plan->over[0].n_partition);
        return TL_OK;
    case TL_PLAN_TEMPORAL_JOIN:
        keep_versions(plan->inputs[1]);
        return TL_OK;
    case TL_PLAN_JOIN:
        window_join(plan);
        return plan->by_window ? TL_OK : interval_join(b, plan);
    default:
        return TL_OK;
    }
}
