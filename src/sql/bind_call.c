/*
 * Calls: functions whose arguments are no plain expressions (units, types), aggregates and window functions. What is left goes
 * to the registry.
 */
#include <ctype.h>
#include <strings.h>

#include "sql/bind.h"

static const struct {
    const char *name;
    tl_agg_kind kind;
    int8_t min_args, max_args;
} agg_names[] = {
    {"COUNT", TL_AGG_COUNT, 0, 100},
    {"SUM", TL_AGG_SUM, 1, 1},
    {"$SUM0", TL_AGG_SUM, 1, 1},
    {"MIN", TL_AGG_MIN, 1, 1},
    {"MAX", TL_AGG_MAX, 1, 1},
    {"FIRST_VALUE", TL_AGG_FIRST_VALUE, 1, 1},
    {"LAST_VALUE", TL_AGG_LAST_VALUE, 1, 1},
    {"LISTAGG", TL_AGG_LISTAGG, 1, 2},
    {"COLLECT", TL_AGG_COLLECT, 1, 1},
    {"ARRAY_AGG", TL_AGG_ARRAY_AGG, 1, 1},
    {"SINGLE_VALUE", TL_AGG_SINGLE_VALUE, 1, 1},
    {"GROUPING", TL_AGG_GROUPING, 1, 64},
    {"GROUPING_ID", TL_AGG_GROUPING, 1, 64},
    {"ROW_NUMBER", TL_AGG_ROW_NUMBER, 0, 0},
    {"RANK", TL_AGG_RANK, 0, 0},
    {"DENSE_RANK", TL_AGG_DENSE_RANK, 0, 0},
    {"PERCENT_RANK", TL_AGG_PERCENT_RANK, 0, 0},
    {"CUME_DIST", TL_AGG_CUME_DIST, 0, 0},
    {"NTILE", TL_AGG_NTILE, 1, 1},
    {"LAG", TL_AGG_LAG, 1, 3},
    {"LEAD", TL_AGG_LEAD, 1, 3},
};

const char *tl_agg_name(tl_agg_kind kind)
{
    if (kind == TL_AGG_JSON_OBJECTAGG)
        return "JSON_OBJECTAGG";
    if (kind == TL_AGG_JSON_ARRAYAGG)
        return "JSON_ARRAYAGG";
    for (size_t i = 0; i < TL_ARRAY_LEN(agg_names); i++)
        if (agg_names[i].kind == kind && agg_names[i].name[0] != '$')
            return agg_names[i].name;
    return "?";
}

/** AVG, STDDEV, VAR: made of SUM and COUNT. */
static const char *const reduced_names[] = {"AVG", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP", "VARIANCE"};

static bool is_reduced(const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(reduced_names); i++)
        if (strcasecmp(reduced_names[i], name) == 0)
            return true;
    return false;
}

bool tl_bind__reduces_averages(const tl_ast *ast)
{
    if (ast == NULL || ast->kind == AST_SUBQUERY || ast->kind == AST_QUERY)
        return false;
    if (ast->kind == AST_CALL && ast->kid[2] == NULL && is_reduced(ast->text) && strcasecmp(ast->text, "AVG") != 0)
        return true;
    if (ast->kind == AST_LIST || ast->kind == AST_AND || ast->kind == AST_OR) {
        for (const tl_ast *e = tl_ast_first(ast); e != NULL; e = e->next)
            if (tl_bind__reduces_averages(e))
                return true;
        return false;
    }
    for (int i = 0; i < TL_AST_KIDS && ast->kind != AST_NAME; i++)
        if (tl_bind__reduces_averages(ast->kid[i]))
            return true;
    return false;
}

static const char *upper_name(tl_binder *b, const char *name)
{
    char *copy = tl_arena_strdup(b->arena, name);
    for (char *p = copy; p != NULL && *p != '\0'; p++)
        *p = (char)toupper((unsigned char)*p);
    return copy;
}

/* ---- windows ---- */

static tl_status window_of(tl_binder *b, const tl_ast *over, const tl_ast **out)
{
    if (over->kind == AST_WINDOW) {
        *out = over;
        return TL_OK;
    }
    for (const tl_ast *w = tl_ast_first(b->windows); w != NULL; w = w->next)
        if (strcmp(w->text, over->text) == 0) {
            *out = w;
            return TL_OK;
        }
    return BIND_ERROR(b, over, "Window '%s' not found", over->text);
}

/** Units in which the order column is stored, for a RANGE of an interval or number. */
static tl_status range_units(tl_binder *b, const tl_ast *bound, const tl_expr *order, int64_t *out)
{
    tl_expr *e;
    TL_TRY(tl_bind__expr(b, bound->kid[0], &e));
    tl_expr *folded = e;
    if (folded->kind != TL_EXPR_LITERAL || tl_col_is_null(folded->literal, 0))
        return BIND_ERROR(b, bound, "the bound of a window must be constant");
    int64_t v = folded->literal->phys == TL_PHYS_I64 ? tl_col_i64(folded->literal, 0) : folded->literal->phys == TL_PHYS_I32 ? tl_col_i32(folded->literal, 0) : -1;
    if (v < 0)
        return BIND_ERROR(b, bound, "the bound of a window must be a number or interval that is not negative");
    if (tl_sql__is_interval_months(e->type))
        return BIND_ERROR(b, bound, "RANGE windows of months are not there");
    if (order == NULL) {
        *out = v;
        return TL_OK;
    }
    const tl_type *t = order->type;
    if (tl_sql__is_interval_ms(e->type)) {
        bool micros = (t->kind == TL_TIMESTAMP || t->kind == TL_TIMESTAMP_LTZ) && t->precision > 3;
        if (t->kind == TL_DATE)
            v /= 86400000;
        else if (micros && __builtin_mul_overflow(v, t->precision > 6 ? 1000000 : 1000, &v))
            return BIND_ERROR(b, bound, "the bound of the window is too large");
    } else if (t->kind == TL_DECIMAL) {
        for (int32_t i = 0; i < t->scale; i++)
            if (__builtin_mul_overflow(v, 10, &v))
                return BIND_ERROR(b, bound, "the bound of the window is too large");
    }
    *out = v;
    return TL_OK;
}

static tl_status frame_bound(tl_binder *b, const tl_ast *bound, tl_frame_kind frame, const tl_expr *order, int64_t *out)
{
    if (strcmp(bound->text, "UNBOUNDED PRECEDING") == 0) {
        *out = TL_FRAME_UNBOUNDED_PRECEDING;
    } else if (strcmp(bound->text, "UNBOUNDED FOLLOWING") == 0) {
        *out = TL_FRAME_UNBOUNDED_FOLLOWING;
    } else if (strcmp(bound->text, "CURRENT ROW") == 0) {
        *out = 0;
    } else {
        int64_t v;
        TL_TRY(range_units(b, bound, frame == TL_FRAME_RANGE ? order : NULL, &v));
        *out = strcmp(bound->text, "PRECEDING") == 0 ? -v : v;
    }
    return TL_OK;
}

static tl_status bind_window(tl_binder *b, const tl_ast *over, tl_bound_agg *agg)
{
    const tl_ast *window;
    TL_TRY(window_of(b, over, &window));
    const tl_ast *partition = window->kid[1], *order = window->kid[2], *frame = window->kid[3];
    if (window->kid[0] != NULL) { /* (base ORDER BY …) */
        const tl_ast *base;
        TL_TRY(window_of(b, window->kid[0], &base));
        partition = partition != NULL ? partition : base->kid[1];
        order = order != NULL ? order : base->kid[2];
        frame = frame != NULL ? frame : base->kid[3];
    }
    agg->partition = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(partition) + 1) * sizeof *agg->partition);
    agg->order = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(order) + 1) * sizeof *agg->order);
    agg->order_flags = tl_arena_calloc(b->arena, (size_t)tl_ast_count(order) + 1, 1);
    BIND_ALLOC(b, agg->partition);
    BIND_ALLOC(b, agg->order);
    BIND_ALLOC(b, agg->order_flags);
    for (const tl_ast *p = tl_ast_first(partition); p != NULL; p = p->next)
        TL_TRY(tl_bind__expr(b, p, &agg->partition[agg->n_partition++]));
    for (const tl_ast *o = tl_ast_first(order); o != NULL; o = o->next) {
        bool descending = (o->flags & AST_F_DESC) != 0;
        bool first = (o->flags & AST_F_NULLS_FIRST) != 0 || ((o->flags & AST_F_NULLS_LAST) == 0 && !descending);
        agg->order_flags[agg->n_order] = (uint8_t)(descending | first << 1);
        TL_TRY(tl_bind__expr(b, o->kid[0], &agg->order[agg->n_order++]));
    }
    agg->frame = TL_FRAME_RANGE;
    agg->from = TL_FRAME_UNBOUNDED_PRECEDING;
    agg->to = agg->n_order > 0 ? 0 : TL_FRAME_UNBOUNDED_FOLLOWING;
    agg->has_frame = frame != NULL;
    if (frame != NULL) {
        agg->frame = strcmp(frame->text, "ROWS") == 0 ? TL_FRAME_ROWS : TL_FRAME_RANGE;
        const tl_expr *key = agg->n_order > 0 ? agg->order[0] : NULL;
        TL_TRY(frame_bound(b, frame->kid[0], agg->frame, key, &agg->from));
        agg->to = 0;
        if (frame->kid[1] != NULL)
            TL_TRY(frame_bound(b, frame->kid[1], agg->frame, key, &agg->to));
        if (agg->from > agg->to)
            return BIND_ERROR(b, frame, "the window ends before it begins");
    }
    return TL_OK;
}

/** What functions of ranks ask of their window: an order, except of ROW_NUMBER, and no frame. */
static tl_status check_rank_window(tl_binder *b, const char *name, tl_agg_kind kind, const tl_bound_agg *agg, const tl_ast *ast)
{
    if (kind < TL_AGG_ROW_NUMBER)
        return TL_OK;
    if (kind != TL_AGG_ROW_NUMBER && agg->n_order == 0)
        return BIND_ERROR(b, ast, "%s needs an ORDER BY clause in its window", name);
    if (agg->has_frame)
        return BIND_ERROR(b, ast, "ROW/RANGE not allowed with %s", name);
    return TL_OK;
}

/* ---- aggregates ---- */

static tl_status aggregate_type(tl_binder *b, tl_bound_agg *agg, tl_expr **args, int32_t n, const tl_ast *ast, const tl_type **out)
{
    switch (agg->call.kind) {
    case TL_AGG_COUNT:
    case TL_AGG_ROW_NUMBER:
    case TL_AGG_RANK:
    case TL_AGG_DENSE_RANK:
    case TL_AGG_GROUPING:
    case TL_AGG_NTILE:
        return tl_bind__simple_type(b, agg->call.kind == TL_AGG_NTILE ? TL_INT : TL_BIGINT, false, 0, 0, out);
    case TL_AGG_PERCENT_RANK:
    case TL_AGG_CUME_DIST:
        return tl_bind__simple_type(b, TL_DOUBLE, false, 0, 0, out);
    default:
        break;
    }
    if (n == 0)
        return BIND_ERROR(b, ast, "%s needs an argument", tl_agg_name(agg->call.kind));
    const tl_type *arg = args[0]->type;
    switch (agg->call.kind) {
    case TL_AGG_SUM:
        if (!tl_sql__is_numeric(arg))
            return BIND_ERROR(b, ast, "Cannot apply 'SUM' to arguments of type 'SUM(<%s>)'. Supported form(s): 'SUM(<NUMERIC>)'", tl_bind__type_text(b, arg));
        if (arg->kind == TL_DECIMAL)
            return tl_bind__decimal(b, 38, arg->scale, true, out);
        return tl_bind__nullable(b, arg, true, out);
    case TL_AGG_MIN:
    case TL_AGG_MAX:
        if (arg->n_fields > 0)
            return BIND_ERROR(b, ast, "%s of %s is not there", tl_agg_name(agg->call.kind), tl_bind__type_text(b, arg));
        return tl_bind__nullable(b, arg, true, out);
    case TL_AGG_LISTAGG:
    case TL_AGG_JSON_OBJECTAGG:
    case TL_AGG_JSON_ARRAYAGG:
        return tl_bind__simple_type(b, TL_VARCHAR, agg->call.kind == TL_AGG_LISTAGG, TL_LENGTH_MAX, 0, out);
    case TL_AGG_COLLECT:
    case TL_AGG_ARRAY_AGG: {
        const tl_type *type, *element = arg;
        if (agg->call.kind == TL_AGG_COLLECT)
            TL_TRY(tl_bind__nullable(b, arg, false, &element));
        TL_TRY(agg->call.kind == TL_AGG_COLLECT ? tl_type_create_multiset(/* nullable= */ false, element, &type, b->err)
                                                : tl_type_create_array(/* nullable= */ true, element, &type, b->err));
        TL_TRY(tl_sql__own_type(b->stmt, type, b->err));
        *out = type;
        return TL_OK;
    }
    case TL_AGG_LAG:
    case TL_AGG_LEAD:
        return tl_bind__nullable(b, arg, n < 3 || args[2]->type->nullable || arg->nullable, out);
    default:
        return tl_bind__nullable(b, arg, true, out);
    }
}

/** An AGG or OVER expression over bound arguments. */
static tl_status make_aggregate(tl_binder *b, tl_bound_agg *agg, tl_expr **args, int32_t n, bool is_over, const tl_ast *ast, tl_expr **out)
{
    const tl_type *type;
    TL_TRY(aggregate_type(b, agg, args, n, ast, &type));
    agg->call.type = type;
    agg->call.n_args = TL_MIN(n, 2);
    tl_expr *e = tl_bind__new_expr(b, (tl_expr_kind)(is_over ? TL_EXPR__OVER : TL_EXPR__AGG), type, ast);
    BIND_ALLOC(b, e);
    e->args = args;
    e->n_args = n;
    e->agg = agg;
    *out = e;
    return TL_OK;
}

/** SUM or COUNT of one argument beside another call: same DISTINCT, FILTER and window. */
static tl_status part(tl_binder *b, const tl_bound_agg *like, tl_agg_kind kind, tl_expr *arg, bool is_over, const tl_ast *ast, tl_expr **out)
{
    tl_bound_agg *agg = tl_arena_alloc(b->arena, sizeof *agg);
    tl_expr **args = tl_arena_alloc(b->arena, sizeof *args);
    BIND_ALLOC(b, agg);
    BIND_ALLOC(b, args);
    *agg = *like;
    agg->call.kind = kind;
    args[0] = arg;
    return make_aggregate(b, agg, args, 1, is_over, ast, out);
}

static tl_status binary(tl_binder *b, const char *op, tl_expr *x, tl_expr *y, const tl_ast *ast, tl_expr **out)
{
    tl_expr *args[2] = {x, y};
    return tl_bind__function(b, op, args, 2, ast, out);
}

/** CASE WHEN condition THEN value END. */
static tl_status only_if(tl_binder *b, tl_expr *condition, tl_expr *value, const tl_ast *ast, tl_expr **out)
{
    tl_expr **args = tl_arena_alloc(b->arena, 3 * sizeof *args);
    BIND_ALLOC(b, args);
    args[0] = condition;
    args[1] = value;
    TL_TRY(tl_bind__null(b, value->type, ast, &args[2]));
    return tl_bind__case(b, args, 3, ast, out);
}

/** The type of AVG and of deviations: the argument's; decimals have all digits and a scale of 6 at least. */
static tl_status average_type(tl_binder *b, const tl_type *arg, const tl_type **out)
{
    if (arg->kind == TL_DECIMAL)
        return tl_bind__decimal(b, 38, TL_MAX(arg->scale, 6), true, out);
    return tl_bind__nullable(b, arg, true, out);
}

/**
 * AVG(x) = SUM(x) / COUNT(x). The reference sums integers as BIGINT and floats as DOUBLE; only over windows, and beside a
 * deviation or variance, it makes the plain SUM of it, which wraps in the type of x.
 */
static tl_status bind_avg(tl_binder *b, const tl_bound_agg *like, tl_expr *x, bool is_over, const tl_ast *ast, tl_expr **out)
{
    const tl_type *type;
    tl_expr *sum, *count, *zero, *condition, *value;
    TL_TRY(average_type(b, x->type, &type));
    if (!is_over && !b->plain_averages && (tl_sql__is_integer(x->type) || x->type->kind == TL_FLOAT)) {
        const tl_type *wide;
        TL_TRY(tl_bind__simple_type(b, x->type->kind == TL_FLOAT ? TL_DOUBLE : TL_BIGINT, x->type->nullable, 0, 0, &wide));
        TL_TRY(tl_bind__coerce(b, x, wide, &x));
    }
    TL_TRY(part(b, like, TL_AGG_SUM, x, is_over, ast, &sum));
    TL_TRY(part(b, like, TL_AGG_COUNT, x, is_over, ast, &count));
    TL_TRY(tl_bind__int_literal(b, 0, ast, &zero));
    TL_TRY(tl_bind__compare(b, ">", count, zero, ast, &condition));
    TL_TRY(binary(b, "/", sum, count, ast, &value));
    TL_TRY(only_if(b, condition, value, ast, &value));
    return tl_bind__coerce(b, value, type, out);
}

/**
 * (SUM(x * x) - SUM(x) * SUM(x) / COUNT(x)) / (COUNT(x), or COUNT(x) - 1 if that is not 0), all in the type of the result, as
 * Calcite has it: integers wrap and divide truncating. The deviation is the root.
 */
static tl_status bind_variance(tl_binder *b, const char *name, const tl_bound_agg *like, tl_expr *x, bool is_over, const tl_ast *ast, tl_expr **out)
{
    bool is_sample = strcmp(name, "STDDEV") == 0 || strcmp(name, "STDDEV_SAMP") == 0 || strcmp(name, "VAR_SAMP") == 0 || strcmp(name, "VARIANCE") == 0;
    bool is_root = strncmp(name, "STDDEV", 6) == 0;
    const tl_type *type;
    TL_TRY(average_type(b, x->type, &type));
    tl_expr *value, *square, *sums, *sum, *count, *one, *condition;
    TL_TRY(tl_bind__coerce(b, x, type, &value));
    TL_TRY(binary(b, "*", value, value, ast, &square));
    TL_TRY(part(b, like, TL_AGG_SUM, square, is_over, ast, &sums));
    TL_TRY(part(b, like, TL_AGG_SUM, value, is_over, ast, &sum));
    TL_TRY(part(b, like, TL_AGG_COUNT, x, is_over, ast, &count));
    TL_TRY(tl_bind__coerce(b, sums, type, &sums));
    TL_TRY(tl_bind__coerce(b, sum, type, &sum));
    TL_TRY(binary(b, "*", sum, sum, ast, &square));
    TL_TRY(tl_bind__int_literal(b, is_sample, ast, &one));
    TL_TRY(tl_bind__compare(b, ">", count, one, ast, &condition));
    TL_TRY(binary(b, "/", square, count, ast, &square));
    TL_TRY(binary(b, "-", sums, square, ast, &value));
    if (is_sample)
        TL_TRY(binary(b, "-", count, one, ast, &count));
    TL_TRY(binary(b, "/", value, count, ast, &value));
    if (is_root)
        TL_TRY(tl_bind__function(b, "SQRT", &value, 1, ast, &value));
    TL_TRY(only_if(b, condition, value, ast, &value));
    return tl_bind__coerce(b, value, type, out);
}

static tl_status literal_text(tl_binder *b, const tl_expr *e, const char *what, const tl_ast *ast, const char **out)
{
    if (e->kind != TL_EXPR_LITERAL || !tl_sql__is_text(e->type) || tl_col_is_null(e->literal, 0))
        return BIND_ERROR(b, ast, "%s must be constant text", what);
    tl_bytes_view v = tl_col_bytes(e->literal, 0);
    *out = tl_arena_strndup(b->arena, (const char *)v.data, v.len);
    BIND_ALLOC(b, *out);
    return TL_OK;
}

/** Arguments that are no columns: separator of LISTAGG, distance of LAG, tiles of NTILE. */
static tl_status constant_arguments(tl_binder *b, tl_bound_agg *agg, tl_expr **args, int32_t *n, const tl_ast *ast)
{
    switch (agg->call.kind) {
    case TL_AGG_LISTAGG:
        agg->call.separator = ",";
        if (!tl_sql__is_text(args[0]->type))
            return BIND_ERROR(b, ast, "Cannot apply 'LISTAGG' to arguments of type 'LISTAGG(<%s>)'", tl_bind__type_text(b, args[0]->type));
        if (*n == 2)
            TL_TRY(literal_text(b, args[1], "the separator of LISTAGG", ast, &agg->call.separator));
        *n = 1;
        return TL_OK;
    case TL_AGG_NTILE:
        TL_TRY(tl_bind__constant_int(b, tl_ast_first(ast->kid[0]), "the number of NTILE", &agg->call.number));
        if (agg->call.number < 1)
            return BIND_ERROR(b, ast, "NTILE needs a number above 0, not %lld", (long long)agg->call.number);
        *n = 0;
        return TL_OK;
    case TL_AGG_LAG:
    case TL_AGG_LEAD:
        agg->call.number = 1;
        if (*n >= 2)
            TL_TRY(tl_bind__constant_int(b, tl_ast_first(ast->kid[0])->next, "the distance of LAG and LEAD", &agg->call.number));
        if (*n == 3) {
            TL_TRY(tl_bind__coerce(b, args[2], args[0]->type, &args[1]));
            *n = 2;
        } else {
            *n = 1;
        }
        return TL_OK;
    default:
        return TL_OK;
    }
}

/** COUNT(a, b): rows in which no argument is NULL, as a count of one value. */
static tl_status count_of_several(tl_binder *b, tl_expr **args, int32_t n, const tl_ast *ast)
{
    tl_expr **conditions = tl_arena_alloc(b->arena, (size_t)n * sizeof *conditions);
    BIND_ALLOC(b, conditions);
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_bind__function(b, "IS NOT NULL", &args[i], 1, ast, &conditions[i]));
    tl_expr *all, *one;
    TL_TRY(tl_bind__logic(b, TL_EXPR_AND, conditions, n, ast, &all));
    TL_TRY(tl_bind__int_literal(b, 1, ast, &one));
    return only_if(b, all, one, ast, &args[0]);
}

/** GROUPING(a, b) = GROUPING(a) * 2 + GROUPING(b): the plan knows calls of one key only. */
static tl_status grouping_of_several(tl_binder *b, const tl_bound_agg *like, tl_expr **args, int32_t n, const tl_ast *ast, tl_expr **out)
{
    tl_expr *sum = NULL, *two, *bit;
    TL_TRY(tl_bind__int_literal(b, 2, ast, &two));
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(part(b, like, TL_AGG_GROUPING, args[i], /* is_over= */ false, ast, &bit));
        if (sum != NULL) {
            TL_TRY(binary(b, "*", sum, two, ast, &sum));
            TL_TRY(binary(b, "+", sum, bit, ast, &bit));
        }
        sum = bit;
    }
    *out = sum;
    return TL_OK;
}

tl_status tl_bind__aggregate(tl_binder *b, const tl_ast *ast, tl_expr **out, bool *is_aggregate)
{
    const char *name = upper_name(b, ast->text);
    BIND_ALLOC(b, name);
    size_t i = 0;
    while (i < TL_ARRAY_LEN(agg_names) && strcmp(agg_names[i].name, name) != 0)
        i++;
    bool reduced = is_reduced(name);
    *is_aggregate = reduced || i < TL_ARRAY_LEN(agg_names);
    if (!*is_aggregate)
        return TL_OK;
    bool is_over = ast->kid[2] != NULL;
    if (b->in_aggregate || !b->aggregates_allowed)
        return BIND_ERROR(b, ast, "Aggregate expression '%s' is illegal here%s", name, b->in_aggregate ? ": it stands inside another" : "");
    if (!is_over && !reduced && agg_names[i].kind >= TL_AGG_ROW_NUMBER)
        return BIND_ERROR(b, ast, "OVER clause is necessary for window functions (%s)", name);
    tl_bound_agg *agg = tl_arena_calloc(b->arena, 1, sizeof *agg);
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(ast->kid[0]) + 2) * sizeof *args);
    BIND_ALLOC(b, agg);
    BIND_ALLOC(b, args);
    agg->call.filter = -1;
    agg->call.line = ast->line;
    agg->call.position = ast->position;
    agg->call.distinct = (ast->flags & AST_F_DISTINCT) != 0;
    int32_t n = 0;
    bool in_aggregate = b->in_aggregate;
    b->in_aggregate = !is_over; /* SUM(COUNT(*)) OVER (…) is fine */
    tl_status status = TL_OK;
    for (const tl_ast *a = tl_ast_first(ast->kid[0]); status == TL_OK && a != NULL; a = a->next)
        status = tl_bind__expr(b, a, &args[n++]);
    if (status == TL_OK && ast->kid[1] != NULL)
        status = tl_bind__condition(b, ast->kid[1], "FILTER", &agg->filter);
    if (status == TL_OK && is_over)
        status = bind_window(b, ast->kid[2], agg);
    b->in_aggregate = in_aggregate;
    TL_TRY(status);
    if (reduced || agg_names[i].min_args > n || agg_names[i].max_args < n) {
        if (n != 1)
            return BIND_ERROR(b, ast, "Invalid number of arguments to function '%s'", name);
    }
    if (n == 0 && !reduced && agg_names[i].kind == TL_AGG_COUNT && (ast->flags & AST_F_STAR) == 0)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function 'COUNT'");
    if (reduced) {
        if (!tl_sql__is_numeric(args[0]->type))
            return BIND_ERROR(b, ast, "Cannot apply '%s' to arguments of type '%s(<%s>)'. Supported form(s): '%s(<NUMERIC>)'", name, name,
                              tl_bind__type_text(b, args[0]->type), name);
        return strcmp(name, "AVG") == 0 ? bind_avg(b, agg, args[0], is_over, ast, out) : bind_variance(b, name, agg, args[0], is_over, ast, out);
    }
    agg->call.kind = agg_names[i].kind;
    if (is_over)
        TL_TRY(check_rank_window(b, name, agg->call.kind, agg, ast));
    if (agg->call.kind == TL_AGG_GROUPING)
        return grouping_of_several(b, agg, args, n, ast, out);
    if (agg->call.kind == TL_AGG_COUNT && n > 1) {
        TL_TRY(count_of_several(b, args, n, ast));
        n = 1;
    }
    TL_TRY(constant_arguments(b, agg, args, &n, ast));
    return make_aggregate(b, agg, args, n, is_over, ast, out);
}

/** JSON_OBJECTAGG and JSON_ARRAYAGG; called by the JSON functions. */
tl_status tl_bind__json_aggregate(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    if (b->in_aggregate || !b->aggregates_allowed)
        return BIND_ERROR(b, ast, "Aggregate expression '%s' is illegal here", ast->text);
    tl_bound_agg *agg = tl_arena_calloc(b->arena, 1, sizeof *agg);
    tl_expr **args = tl_arena_alloc(b->arena, 2 * sizeof *args);
    BIND_ALLOC(b, agg);
    BIND_ALLOC(b, args);
    bool is_object = strcmp(ast->text, "JSON_OBJECTAGG") == 0;
    agg->call.kind = is_object ? TL_AGG_JSON_OBJECTAGG : TL_AGG_JSON_ARRAYAGG;
    agg->call.filter = -1;
    agg->call.line = ast->line;
    agg->call.position = ast->position;
    agg->call.json_absent = is_object ? (ast->flags & AST_F_ABSENT) != 0 : (ast->flags & AST_F_NULL_ON_NULL) == 0;
    int32_t n = 0;
    b->in_aggregate = true;
    tl_status status = TL_OK;
    for (const tl_ast *a = tl_ast_first(ast->kid[0]); status == TL_OK && a != NULL && n < 2; a = a->next)
        status = tl_bind__expr(b, a, &args[n++]);
    if (status == TL_OK && ast->kid[3] != NULL)
        status = tl_bind__condition(b, ast->kid[3], "FILTER", &agg->filter);
    b->in_aggregate = false;
    TL_TRY(status);
    /* Values become JSON text here, so that the aggregate only joins texts. */
    tl_expr **value = &args[n - 1];
    TL_TRY(tl_bind__function(b, "$JSON", value, 1, ast, value));
    return make_aggregate(b, agg, args, n, /* is_over= */ false, ast, out);
}

/* ---- functions with special arguments ---- */

static tl_status bind_arguments(tl_binder *b, const tl_ast *list, tl_expr ***out, int32_t *n)
{
    *n = 0;
    *out = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(list) + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    for (const tl_ast *a = tl_ast_first(list); a != NULL; a = a->next)
        TL_TRY(tl_bind__expr(b, a, &(*out)[(*n)++]));
    return TL_OK;
}

static tl_status bind_if(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_ast *a = tl_ast_first(ast->kid[0]);
    if (tl_ast_count(ast->kid[0]) != 3)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function 'IF'");
    tl_expr **args = tl_arena_alloc(b->arena, 3 * sizeof *args);
    BIND_ALLOC(b, args);
    TL_TRY(tl_bind__condition(b, a, "the first argument of IF", &args[0]));
    TL_TRY(tl_bind__expr(b, a->next, &args[1]));
    TL_TRY(tl_bind__expr(b, a->next->next, &args[2]));
    bool nullable = args[0]->type->nullable; /* unlike CASE: a condition that may be NULL makes the result so */
    TL_TRY(tl_bind__case(b, args, 3, ast, out));
    return nullable ? tl_bind__nullable(b, (*out)->type, true, &(*out)->type) : TL_OK;
}

static tl_status bind_coalesce(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr **args;
    int32_t n;
    TL_TRY(bind_arguments(b, ast->kid[0], &args, &n));
    if (n == 0 || (n != 2 && strcasecmp(ast->text, "COALESCE") != 0))
        return BIND_ERROR(b, ast, "Invalid number of arguments to function '%s'", ast->text);
    bool texts = n == 2 && tl_sql__is_text(args[0]->type) && tl_sql__is_text(args[1]->type);
    if (texts && strcasecmp(ast->text, "COALESCE") != 0 && !args[0]->type->nullable) {
        *out = args[0];
        return TL_OK;
    }
    const tl_type *common = args[0]->type;
    bool nullable = true;
    for (int32_t i = 0; i < n; i++) {
        const tl_type *next;
        bool dates = common->kind == TL_DATE ? args[i]->type->kind == TL_TIMESTAMP : common->kind == TL_TIMESTAMP && args[i]->type->kind == TL_DATE;
        if (dates) /* to these functions the common type is DATE */
            next = common->kind == TL_DATE ? common : args[i]->type;
        else
            TL_TRY(tl_bind__wider_type(b, common, args[i]->type, &next));
        if (next == NULL)
            return BIND_ERROR(b, ast, "the arguments of %s have no common type: %s and %s", ast->text, tl_bind__type_text(b, common),
                              tl_bind__type_text(b, args[i]->type));
        common = next;
        nullable = nullable && args[i]->type->nullable;
    }
    for (int32_t i = 0; i < n && !tl_sql__is_null_type(common); i++)
        TL_TRY(common->kind == TL_DATE && args[i]->type->kind == TL_TIMESTAMP ? tl_bind__cast(b, args[i], common, /* is_try= */ false, &args[i])
                                                                             : tl_bind__coerce(b, args[i], common, &args[i]));
    TL_TRY(tl_bind__nullable(b, common, nullable, &common));
    tl_expr *e = tl_bind__new_expr(b, TL_EXPR_COALESCE, common, ast);
    BIND_ALLOC(b, e);
    e->args = args;
    e->n_args = n;
    *out = e;
    return TL_OK;
}

static tl_status bind_nullif(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr **args;
    int32_t n;
    TL_TRY(bind_arguments(b, ast->kid[0], &args, &n));
    if (n != 2)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function 'NULLIF'");
    tl_expr **when = tl_arena_alloc(b->arena, 3 * sizeof *when);
    BIND_ALLOC(b, when);
    TL_TRY(tl_bind__compare(b, "=", args[0], args[1], ast, &when[0]));
    TL_TRY(tl_bind__null(b, args[0]->type, ast, &when[1]));
    when[2] = args[0];
    return tl_bind__case(b, when, 3, ast, out);
}

static tl_status bind_typeof(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    if (tl_ast_count(ast->kid[0]) < 1)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function 'TYPEOF'");
    tl_expr *arg;
    TL_TRY(tl_bind__expr(b, tl_ast_first(ast->kid[0]), &arg));
    const char *text = tl_bind__type_summary(b, arg->type);
    const tl_type *string;
    BIND_ALLOC(b, text);
    TL_TRY(tl_bind__text_literal(b, text, strlen(text), ast, out));
    TL_TRY(tl_bind__simple_type(b, TL_VARCHAR, true, TL_LENGTH_MAX, 0, &string));
    TL_TRY(tl_bind__cast(b, *out, string, /* is_try= */ false, out));
    (*out)->type = string;
    return TL_OK;
}

/** JSON_STRING: what JSON_OBJECT and JSON_ARRAY made stands as it is. */
static tl_status bind_json_string(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_ast *a = tl_ast_first(ast->kid[0]);
    if (tl_ast_count(ast->kid[0]) == 1 && a->kind == AST_JSON && (strcmp(a->text, "JSON_OBJECT") == 0 || strcmp(a->text, "JSON_ARRAY") == 0))
        return tl_bind__expr(b, a, out);
    tl_expr **args;
    int32_t n;
    TL_TRY(bind_arguments(b, ast->kid[0], &args, &n));
    return tl_bind__function(b, "JSON_STRING", args, n, ast, out);
}

/** Names of units as arguments: TIMESTAMPADD(DAY, 1, ts), also SECOND and SQL_TSI_SECOND. */
static tl_status unit_argument(tl_binder *b, const tl_ast *a, tl_expr **out)
{
    const char *text = a->kind == AST_NAME && a->count == 1 ? tl_ast_last_name(a) : a->kind == AST_UNIT || a->kind == AST_STRING ? a->text : NULL;
    if (text == NULL)
        return BIND_ERROR(b, a, "a unit of time is wanted here: SECOND, MINUTE, HOUR, DAY, MONTH, …");
    text = upper_name(b, text);
    BIND_ALLOC(b, text);
    if (strncmp(text, "SQL_TSI_", 8) == 0)
        text += 8;
    return tl_bind__text_literal(b, text, strlen(text), a, out);
}

static tl_status bind_with_unit(tl_binder *b, const tl_ast *ast, const char *name, tl_expr **out)
{
    tl_expr *args[3];
    int32_t n = 0;
    if (tl_ast_count(ast->kid[0]) > 3)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function '%s'", name);
    bool unit_first = strncmp(name, "TIMESTAMP", 9) == 0;
    for (const tl_ast *a = tl_ast_first(ast->kid[0]); a != NULL; a = a->next, n++)
        TL_TRY(a->kind == AST_UNIT || (unit_first && n == 0) ? unit_argument(b, a, &args[n]) : tl_bind__expr(b, a, &args[n]));
    return tl_bind__function(b, name, args, n, ast, out);
}

static tl_status bind_timestamp_add(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_ast *a = tl_ast_first(ast->kid[0]);
    if (tl_ast_count(ast->kid[0]) != 3)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function 'TIMESTAMPADD'");
    tl_expr *unit, *count, *point;
    const char *name;
    TL_TRY(unit_argument(b, a, &unit));
    TL_TRY(literal_text(b, unit, "the unit of TIMESTAMPADD", a, &name));
    TL_TRY(tl_bind__expr(b, a->next, &count));
    TL_TRY(tl_bind__expr(b, a->next->next, &point));
    return tl_bind__timestamp_add(b, name, count, point, ast, out);
}

static tl_status bind_current_database(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    if (tl_ast_count(ast->kid[0]) != 0)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function 'CURRENT_DATABASE'");
    return tl_bind__text_literal(b, b->session->current_db, strlen(b->session->current_db), ast, out);
}

static tl_status bind_date_part(tl_binder *b, const tl_ast *ast, const char *unit, tl_expr **out)
{
    tl_expr *args[2];
    if (tl_ast_count(ast->kid[0]) != 1)
        return BIND_ERROR(b, ast, "Invalid number of arguments to function '%s'", ast->text);
    TL_TRY(tl_bind__text_literal(b, unit, strlen(unit), ast, &args[0]));
    TL_TRY(tl_bind__expr(b, tl_ast_first(ast->kid[0]), &args[1]));
    return tl_bind__function(b, "EXTRACT", args, 2, ast, out);
}

static tl_status bind_proctime(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_type *type;
    TL_TRY(tl_bind__simple_type(b, TL_TIMESTAMP_LTZ, false, 3, 0, &type));
    *out = tl_bind__new_expr(b, TL_EXPR_ROWTIME, type, ast);
    return *out != NULL ? TL_OK : tl_nomem(b->err, "statement");
}

/** CURRENT_WATERMARK(rowtime): how far time had come when the row came; NULL before the first watermark. */
static tl_status bind_watermark(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr *time;
    const tl_type *type;
    if (tl_ast_count(ast->kid[0]) != 1)
        return BIND_ERROR(b, ast, "CURRENT_WATERMARK needs one argument, a column with a WATERMARK");
    TL_TRY(tl_bind__expr(b, tl_ast_first(ast->kid[0]), &time));
    if (time->kind != TL_EXPR_COLUMN || b->scope->time_attr == NULL || b->scope->time_attr[time->column] != TL_TIME_ROWTIME)
        return BIND_ERROR(b, ast, "CURRENT_WATERMARK needs a column with a WATERMARK (a rowtime attribute), not %s", tl_bind__type_text(b, time->type));
    if (!b->streaming)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast,
                            "CURRENT_WATERMARK is there in streaming mode only (SET 'execution.runtime-mode' = 'streaming'): a batch has no watermarks");
    TL_TRY(tl_bind__simple_type(b, time->type->kind, true, 3, 0, &type));
    *out = tl_bind__new_expr(b, TL_EXPR_WATERMARK, type, ast);
    return *out != NULL ? TL_OK : tl_nomem(b->err, "statement");
}

static const struct {
    const char *name, *unit;
} date_parts[] = {{"YEAR", "YEAR"}, {"QUARTER", "QUARTER"}, {"MONTH", "MONTH"}, {"WEEK", "WEEK"}, {"DAYOFYEAR", "DOY"}, {"DAYOFMONTH", "DAY"},
                  {"DAYOFWEEK", "DOW"}, {"HOUR", "HOUR"}, {"MINUTE", "MINUTE"}, {"SECOND", "SECOND"}};

/** Which of several equal grouping sets a row is of: always the first, as tl_bind__aggregation() refuses such sets beside it. */
static tl_status bind_group_id(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_type *wide;
    tl_expr *zero;
    if (!b->grouped || ast->kid[0] != NULL)
        return BIND_ERROR(b, ast, "GROUP_ID operator may only occur in an aggregate query");
    b->uses_group_id = true;
    TL_TRY(tl_bind__simple_type(b, TL_BIGINT, false, 0, 0, &wide));
    TL_TRY(tl_bind__int_literal(b, 0, ast, &zero));
    return tl_bind__coerce(b, zero, wide, out);
}

static const struct {
    const char *name;
    tl_status (*bind)(tl_binder *b, const tl_ast *ast, tl_expr **out);
} special[] = {{"GROUP_ID", bind_group_id}, {"IF", bind_if},       {"COALESCE", bind_coalesce}, {"IFNULL", bind_coalesce}, {"NVL", bind_coalesce}, {"NULLIF", bind_nullif}, {"TYPEOF", bind_typeof}, {"JSON_STRING", bind_json_string},
               {"PROCTIME", bind_proctime}, {"CURRENT_WATERMARK", bind_watermark}, {"TIMESTAMPADD", bind_timestamp_add}, {"CURRENT_DATABASE", bind_current_database}};

tl_status tl_bind__call(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    bool is_aggregate;
    TL_TRY(tl_bind__aggregate(b, ast, out, &is_aggregate));
    if (is_aggregate)
        return TL_OK;
    if (ast->kid[1] != NULL || ast->kid[2] != NULL || (ast->flags & (AST_F_DISTINCT | AST_F_STAR)) != 0)
        return BIND_ERROR(b, ast, "'%s' is no aggregate function: DISTINCT, *, FILTER and OVER are for those", ast->text);
    const char *name = upper_name(b, ast->text);
    BIND_ALLOC(b, name);
    for (size_t i = 0; i < TL_ARRAY_LEN(special); i++)
        if (strcmp(special[i].name, name) == 0)
            return special[i].bind(b, ast, out);
    for (size_t i = 0; i < TL_ARRAY_LEN(date_parts); i++)
        if (strcmp(date_parts[i].name, name) == 0)
            return bind_date_part(b, ast, date_parts[i].unit, out);
    if (strcmp(name, "EXTRACT") == 0 || strcmp(name, "TIMESTAMPDIFF") == 0 || strcmp(name, "FLOOR") == 0 ||
        strcmp(name, "CEIL") == 0)
        return bind_with_unit(b, ast, name, out);
    tl_expr **args;
    int32_t n;
    TL_TRY(bind_arguments(b, ast->kid[0], &args, &n));
    return tl_bind__function(b, name, args, n, ast, out);
}
