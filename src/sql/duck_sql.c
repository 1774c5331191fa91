/*
 * Plans to SQL text for DuckDB.
 *
 * Each node is one SELECT over its inputs as derived tables; columns are c0, c1, … at every level. Subtrees that need no engine are
 * leaves: a table function that reads what our own operators give. Expressions are functions of ours (tlx0, tlx1, …) over columns;
 * only what means the same to DuckDB on the carriers is written out: columns, comparisons, logic, whole numbers, subqueries.
 */
#include "sql/duck_query.h"

#define ALL_DIGITS "100000000000000000000000000000000000000" /* 10^38 */

/** What a column of an expression is called: alias.cN; of a join, columns from `split` on belong to the second alias. */
typedef struct names names;
struct names {
    int32_t alias, second;
    int32_t split; /* -1: one alias */
    const names *outer;
};

typedef struct emitter {
    duck_query *q;
    tl_binder b;
    tl_error *err;
} emitter;

#define NOMEM(E, STATUS)                                                                                                         \
    do {                                                                                                                         \
        if ((STATUS) != TL_OK)                                                                                                   \
            return tl_nomem((E)->err, "query");                                                                                  \
    } while (0)

static tl_status emit_plan(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out);
static tl_status emit_expr(emitter *e, const tl_expr *x, const names *in, tl_buf *out);

static int32_t new_alias(emitter *e)
{
    return e->q->n_aliases++;
}

/** `(SELECT …) AS tN`. */
static tl_status emit_input(emitter *e, const tl_plan *plan, const names *outer, int32_t *alias, tl_buf *out)
{
    NOMEM(e, tl_buf_append_str(out, "("));
    TL_TRY(emit_plan(e, plan, outer, out));
    *alias = new_alias(e);
    NOMEM(e, tl_buf_appendf(out, ") AS t%d", (int)*alias));
    return TL_OK;
}

static tl_status emit_column(emitter *e, const names *in, int32_t column, tl_buf *out)
{
    bool second = in->split >= 0 && column >= in->split;
    NOMEM(e, tl_buf_appendf(out, "t%d.c%d", (int)(second ? in->second : in->alias), (int)(second ? column - in->split : column)));
    return TL_OK;
}

/* ---- expressions ---- */

/** Comparisons of carriers that sort as Flink compares: no floats (NaN), no nested values. */
static bool is_plain_compare(const tl_expr *x)
{
    static const char *const ops[] = {"=", "<>", "<", "<=", ">", ">="};
    bool found = false;
    for (size_t i = 0; i < TL_ARRAY_LEN(ops); i++)
        found = found || strcmp(ops[i], x->fn->name) == 0;
    const tl_type *t = found ? x->args[0]->type : NULL;
    return found && t->n_fields == 0 && !tl_sql__is_float(t) && tl_type_phys(t) == tl_type_phys(x->args[1]->type);
}

static bool is_native(const tl_expr *x)
{
    switch (x->kind) {
    case TL_EXPR_COLUMN:
    case TL_EXPR_OUTER:
    case TL_EXPR_SUBQUERY:
        return true;
    case TL_EXPR_LITERAL:
        return tl_col_is_null(x->literal, 0) || x->literal->phys == TL_PHYS_BOOL || (x->literal->phys >= TL_PHYS_I8 && x->literal->phys <= TL_PHYS_I64);
    case TL_EXPR_CALL: {
        const char *name = x->fn->name;
        if (strcmp(name, "NOT") == 0 || strcmp(name, "IS NULL") == 0 || strcmp(name, "IS NOT NULL") == 0)
            return is_native(x->args[0]);
        return is_plain_compare(x) && is_native(x->args[0]) && is_native(x->args[1]);
    }
    case TL_EXPR_AND:
    case TL_EXPR_OR:
        for (int32_t i = 0; i < x->n_args; i++)
            if (!is_native(x->args[i]))
                return false;
        return true;
    default:
        return false;
    }
}

static tl_status emit_literal(emitter *e, const tl_expr *x, tl_buf *out)
{
    const tl_column *v = x->literal;
    tl_buf type = {0};
    tl_status status = duck_carrier_sql(v->type, &type);
    int64_t number = 0;
    if (status == TL_OK && !tl_col_is_null(v, 0)) {
        switch (v->phys) {
        case TL_PHYS_BOOL:
            status = tl_buf_append_str(out, tl_col_bool(v, 0) ? "TRUE" : "FALSE");
            tl_buf_deinit(&type);
            NOMEM(e, status);
            return TL_OK;
        case TL_PHYS_I8:
            number = tl_col_i8(v, 0);
            break;
        case TL_PHYS_I16:
            number = tl_col_i16(v, 0);
            break;
        case TL_PHYS_I32:
            number = tl_col_i32(v, 0);
            break;
        default:
            number = tl_col_i64(v, 0);
            break;
        }
        status = tl_buf_appendf(out, "CAST(%lld AS %.*s)", (long long)number, (int)type.len, (const char *)type.data);
    } else if (status == TL_OK) {
        status = tl_buf_appendf(out, "CAST(NULL AS %.*s)", (int)type.len, (const char *)type.data);
    }
    tl_buf_deinit(&type);
    NOMEM(e, status);
    return TL_OK;
}

static tl_status emit_list(emitter *e, const tl_expr *x, const names *in, const char *separator, tl_buf *out)
{
    for (int32_t i = 0; i < x->n_args; i++) {
        NOMEM(e, tl_buf_append_str(out, i > 0 ? separator : ""));
        TL_TRY(emit_expr(e, x->args[i], in, out));
    }
    return TL_OK;
}

static tl_status emit_subquery(emitter *e, const tl_expr *x, const names *in, tl_buf *out)
{
    if (x->subquery == TL_SUBQUERY_EXISTS) {
        NOMEM(e, tl_buf_append_str(out, "EXISTS ("));
    } else if (x->subquery == TL_SUBQUERY_SCALAR) {
        NOMEM(e, tl_buf_append_str(out, "("));
    } else {
        NOMEM(e, tl_buf_append_str(out, x->n_args > 1 ? "((" : "("));
        TL_TRY(emit_list(e, x, in, ", ", out));
        NOMEM(e, tl_buf_append_str(out, x->n_args > 1 ? ")" : ""));
        if (x->subquery == TL_SUBQUERY_IN)
            NOMEM(e, tl_buf_append_str(out, " IN ("));
        else
            NOMEM(e, tl_buf_appendf(out, " %s %s (", x->compare, x->subquery == TL_SUBQUERY_ALL ? "ALL" : "ANY"));
    }
    TL_TRY(emit_plan(e, x->plan, in, out));
    NOMEM(e, tl_buf_append_str(out, x->subquery == TL_SUBQUERY_EXISTS || x->subquery == TL_SUBQUERY_SCALAR ? ")" : "))"));
    return TL_OK;
}

static tl_status emit_native(emitter *e, const tl_expr *x, const names *in, tl_buf *out)
{
    switch (x->kind) {
    case TL_EXPR_COLUMN:
        return emit_column(e, in, x->column, out);
    case TL_EXPR_OUTER: {
        const names *at = in;
        for (int32_t i = 0; i < x->level && at != NULL; i++)
            at = at->outer;
        return at != NULL ? emit_column(e, at, x->column, out) : tl_error_set(e->err, TL_E_INTERNAL, "a subquery looks outside of the query");
    }
    case TL_EXPR_SUBQUERY:
        return emit_subquery(e, x, in, out);
    case TL_EXPR_LITERAL:
        return emit_literal(e, x, out);
    case TL_EXPR_AND:
    case TL_EXPR_OR:
        NOMEM(e, tl_buf_append_str(out, "("));
        TL_TRY(emit_list(e, x, in, x->kind == TL_EXPR_AND ? " AND " : " OR ", out));
        NOMEM(e, tl_buf_append_str(out, ")"));
        return TL_OK;
    default:
        break;
    }
    const char *name = x->fn->name;
    NOMEM(e, tl_buf_append_str(out, strcmp(name, "NOT") == 0 ? "(NOT " : "("));
    TL_TRY(emit_expr(e, x->args[0], in, out));
    if (x->n_args == 2) {
        NOMEM(e, tl_buf_appendf(out, " %s ", name));
        TL_TRY(emit_expr(e, x->args[1], in, out));
    } else if (strcmp(name, "NOT") != 0) {
        NOMEM(e, tl_buf_appendf(out, " %s", name));
    }
    NOMEM(e, tl_buf_append_str(out, ")"));
    return TL_OK;
}

/** Arguments of a function of ours: the columns, outer columns and subqueries below an expression, each once. */
typedef struct arguments {
    emitter *e;
    const tl_expr **items;
    int32_t n, cap;
} arguments;

static bool same_argument(const tl_expr *a, const tl_expr *b)
{
    return a == b || (a->kind == b->kind && a->kind != TL_EXPR_SUBQUERY && a->column == b->column && a->level == b->level);
}

/** A copy of the tree that reads its arguments as columns 0, 1, … */
static tl_status lift(arguments *args, const tl_expr *x, tl_expr **out)
{
    emitter *e = args->e;
    tl_expr *copy = tl_arena_alloc(&e->q->own.arena, sizeof *copy);
    if (copy == NULL)
        return tl_nomem(e->err, "query");
    *copy = *x;
    *out = copy;
    if (x->kind != TL_EXPR_COLUMN && x->kind != TL_EXPR_OUTER && x->kind != TL_EXPR_SUBQUERY) {
        copy->args = tl_arena_alloc(&e->q->own.arena, (size_t)(x->n_args + 1) * sizeof *copy->args);
        if (copy->args == NULL)
            return tl_nomem(e->err, "query");
        for (int32_t i = 0; i < x->n_args; i++)
            TL_TRY(lift(args, x->args[i], &copy->args[i]));
        return TL_OK;
    }
    int32_t i = 0;
    while (i < args->n && !same_argument(args->items[i], x))
        i++;
    if (i == args->cap) {
        int32_t cap = args->cap == 0 ? 8 : args->cap * 2;
        const tl_expr **grown = tl_arena_alloc(&e->q->own.arena, (size_t)cap * sizeof *grown);
        if (grown == NULL)
            return tl_nomem(e->err, "query");
        if (args->n > 0)
            memcpy(grown, args->items, (size_t)args->n * sizeof *grown);
        args->items = grown;
        args->cap = cap;
    }
    if (i == args->n)
        args->items[args->n++] = x;
    copy->kind = TL_EXPR_COLUMN;
    copy->column = i;
    copy->level = 0;
    copy->args = NULL;
    copy->n_args = 0;
    return TL_OK;
}

static tl_status row_of(emitter *e, const tl_expr *const *items, int32_t n, const tl_type **out)
{
    const char **names_ = tl_arena_alloc(&e->q->own.arena, (size_t)(n + 1) * sizeof *names_);
    const tl_type **types = tl_arena_alloc(&e->q->own.arena, (size_t)(n + 1) * sizeof *types);
    if (names_ == NULL || types == NULL)
        return tl_nomem(e->err, "query");
    for (int32_t i = 0; i < n; i++) {
        names_[i] = tl_arena_strf(&e->q->own.arena, "a%d", (int)i);
        if (names_[i] == NULL)
            return tl_nomem(e->err, "query");
        types[i] = items[i]->type;
    }
    return tl_bind__row_type(&e->b, names_, types, n, out);
}

static bool is_volatile_call(tl_expr *x, void *found)
{
    *(bool *)found = *(bool *)found || (x->kind == TL_EXPR_CALL && (x->fn->flags & TL_FN_VOLATILE) != 0);
    return !*(bool *)found;
}

static tl_status emit_function(emitter *e, const tl_expr *x, const names *in, tl_buf *out)
{
    arguments args = {.e = e};
    tl_expr *lifted;
    const tl_type *input;
    TL_TRY(lift(&args, x, &lifted));
    TL_TRY(row_of(e, args.items, args.n, &input));
    bool is_volatile = false;
    tl_expr__walk(lifted, is_volatile_call, &is_volatile);
    int64_t number;
    TL_TRY(duck_add_function(e->q, lifted, input, is_volatile, &number, e->err));
    NOMEM(e, tl_buf_appendf(out, "tlx%lld(", (long long)number));
    for (int32_t i = 0; i < args.n; i++) {
        NOMEM(e, tl_buf_append_str(out, i > 0 ? ", " : ""));
        TL_TRY(emit_native(e, args.items[i], in, out));
    }
    NOMEM(e, tl_buf_append_str(out, ")"));
    return TL_OK;
}

static tl_status emit_expr(emitter *e, const tl_expr *x, const names *in, tl_buf *out)
{
    if (is_native(x))
        return emit_native(e, x, in, out);
    /* Logic over subqueries stays visible: DuckDB makes joins of it. */
    bool logic = x->kind == TL_EXPR_AND || x->kind == TL_EXPR_OR || (x->kind == TL_EXPR_CALL && strcmp(x->fn->name, "NOT") == 0);
    if (logic && tl_expr__has_kind(x, TL_EXPR_SUBQUERY))
        return emit_native(e, x, in, out);
    return emit_function(e, x, in, out);
}

/* ---- aggregates ---- */

/** Columns that the engine computes for one call, and what makes the call's value of them. */
typedef struct parts {
    tl_buf sql[2];
    const tl_type *types[2];
    int32_t n;
    tl_expr *final; /* over ROW(types); NULL: the first part is the value */
} parts;

static void parts_deinit(parts *p)
{
    tl_buf_deinit(&p->sql[0]);
    tl_buf_deinit(&p->sql[1]);
}

static tl_status list_type(emitter *e, const tl_type *element, const tl_type **out)
{
    const tl_type *type;
    TL_TRY(tl_type_create_array(true, element, &type, e->err));
    TL_TRY(tl_sql__own_type(&e->q->own, type, e->err));
    *out = type;
    return TL_OK;
}

static tl_status column_expr(emitter *e, int32_t i, const tl_type *type, tl_expr **out)
{
    return tl_bind__column(&e->b, i, type, NULL, out);
}

/** FILTER (WHERE …) of a call, maybe with NOT NULL conditions on its arguments. */
static tl_status emit_filter(emitter *e, const tl_agg_call *call, const names *in, int32_t not_null, tl_buf *out)
{
    if (call->filter < 0 && not_null < 0)
        return TL_OK;
    NOMEM(e, tl_buf_append_str(out, " FILTER (WHERE "));
    if (call->filter >= 0)
        TL_TRY(emit_column(e, in, call->filter, out));
    if (not_null >= 0) {
        NOMEM(e, tl_buf_append_str(out, call->filter >= 0 ? " AND " : ""));
        TL_TRY(emit_column(e, in, not_null, out));
        NOMEM(e, tl_buf_append_str(out, " IS NOT NULL"));
    }
    NOMEM(e, tl_buf_append_str(out, ")"));
    return TL_OK;
}

/** name([DISTINCT] column) FILTER (…). */
static tl_status emit_simple(emitter *e, const char *name, const tl_agg_call *call, int32_t arg, const names *in, int32_t not_null, tl_buf *out)
{
    NOMEM(e, tl_buf_appendf(out, "%s(%s", name, call->distinct ? "DISTINCT " : ""));
    if (arg >= 0)
        TL_TRY(emit_column(e, in, arg, out));
    else
        NOMEM(e, tl_buf_append_str(out, "*"));
    NOMEM(e, tl_buf_append_str(out, ")"));
    return emit_filter(e, call, in, not_null, out);
}

static tl_status sum_parts(emitter *e, const tl_agg_call *call, const names *in, parts *p)
{
    if (tl_sql__is_float(call->type)) {
        NOMEM(e, tl_buf_append_str(&p->sql[0], call->type->kind == TL_FLOAT ? "CAST(" : ""));
        TL_TRY(emit_simple(e, "sum", call, call->args[0], in, -1, &p->sql[0]));
        NOMEM(e, tl_buf_append_str(&p->sql[0], call->type->kind == TL_FLOAT ? " AS FLOAT)" : ""));
        return TL_OK;
    }
    /* The engine's sum is a HUGEINT: exact, then cut as Flink cuts. */
    const tl_type *wide;
    TL_TRY(tl_bind__decimal(&e->b, 38, call->type->kind == TL_DECIMAL ? call->type->scale : 0, true, &wide));
    p->types[0] = wide;
    NOMEM(e, tl_buf_append_str(&p->sql[0], "CAST("));
    TL_TRY(emit_simple(e, "sum", call, call->args[0], in, -1, &p->sql[0]));
    NOMEM(e, tl_buf_append_str(&p->sql[0], " AS HUGEINT)"));
    if (call->type->kind == TL_DECIMAL)
        return TL_OK; /* what has more than 38 digits is cut off when it is read: see emit_value() */
    tl_expr *column;
    TL_TRY(column_expr(e, 0, wide, &column));
    return tl_bind__cast(&e->b, column, call->type, /* is_try= */ false, &p->final);
}

/** list(x) and a function of ours that makes the value of it. */
static tl_status list_parts(emitter *e, const tl_agg_call *call, const tl_type *row, const names *in, bool skip_nulls, const char *function, parts *p)
{
    tl_expr *args[2] = {NULL, NULL};
    for (int32_t i = 0; i < call->n_args; i++) {
        TL_TRY(list_type(e, row->fields[call->args[i]].type, &p->types[i]));
        int32_t not_null = skip_nulls ? call->args[call->n_args - 1] : -1;
        bool empty = skip_nulls && call->kind == TL_AGG_JSON_OBJECTAGG; /* rows, but none that counts: {} */
        NOMEM(e, tl_buf_append_str(&p->sql[i], empty ? "coalesce(" : ""));
        TL_TRY(emit_simple(e, "list", call, call->args[i], in, not_null, &p->sql[i]));
        if (empty) {
            NOMEM(e, tl_buf_append_str(&p->sql[i], ", CASE WHEN "));
            TL_TRY(emit_simple(e, "count", call, -1, in, -1, &p->sql[i]));
            NOMEM(e, tl_buf_append_str(&p->sql[i], " > 0 THEN [] END)"));
        }
        TL_TRY(column_expr(e, i, p->types[i], &args[i]));
    }
    p->n = call->n_args;
    int32_t n = call->n_args;
    if (function == NULL)
        return TL_OK;
    if (call->separator != NULL)
        TL_TRY(tl_bind__text_literal(&e->b, call->separator, strlen(call->separator), NULL, &args[n++]));
    return tl_bind__function(&e->b, function, args, n, NULL, &p->final);
}

static tl_status call_parts(emitter *e, const tl_agg_call *call, const tl_type *row, const names *in, parts *p)
{
    p->n = 1;
    p->types[0] = call->type;
    tl_buf *sql = &p->sql[0];
    switch (call->kind) {
    case TL_AGG_COUNT:
        return emit_simple(e, "count", call, call->n_args > 0 ? call->args[0] : -1, in, -1, sql);
    case TL_AGG_SUM:
        return sum_parts(e, call, in, p);
    case TL_AGG_MIN:
        return emit_simple(e, "min", call, call->args[0], in, -1, sql);
    case TL_AGG_MAX:
        return emit_simple(e, "max", call, call->args[0], in, -1, sql);
    case TL_AGG_FIRST_VALUE:
        return emit_simple(e, "first", call, call->args[0], in, call->args[0], sql);
    case TL_AGG_LAST_VALUE:
        return emit_simple(e, "last", call, call->args[0], in, call->args[0], sql);
    case TL_AGG_SINGLE_VALUE:
        NOMEM(e, tl_buf_append_str(sql, "CASE WHEN count(*) > 1 THEN error('SingleValueAggFunction received more than one element.') ELSE "));
        TL_TRY(emit_simple(e, "first", call, call->args[0], in, -1, sql));
        NOMEM(e, tl_buf_append_str(sql, " END"));
        return TL_OK;
    case TL_AGG_LISTAGG:
        return list_parts(e, call, row, in, true, "$LISTAGG", p);
    case TL_AGG_COLLECT:
        return list_parts(e, call, row, in, true, "$MULTISET", p);
    case TL_AGG_ARRAY_AGG:
        return list_parts(e, call, row, in, false, NULL, p);
    case TL_AGG_JSON_OBJECTAGG:
        return list_parts(e, call, row, in, call->json_absent, "$JSON_OBJECTAGG", p);
    case TL_AGG_JSON_ARRAYAGG:
        return list_parts(e, call, row, in, call->json_absent, "$JSON_ARRAYAGG", p);
    case TL_AGG_GROUPING:
        NOMEM(e, tl_buf_appendf(sql, "CAST(grouping(t%d.k%d) AS BIGINT)", (int)in->alias, (int)call->args[0]));
        return TL_OK;
    default:
        return tl_error_set(e->err, TL_E_INTERNAL, "%s is no aggregate", tl_agg_name(call->kind));
    }
}

/** The value of a call out of its parts, columns a<first> on of table `alias`. */
static tl_status emit_value(emitter *e, const tl_agg_call *call, const parts *p, int32_t alias, int32_t first, tl_buf *out)
{
    if (p->final == NULL) {
        if (call->kind == TL_AGG_SUM && call->type->kind == TL_DECIMAL)
            NOMEM(e, tl_buf_appendf(out, "CASE WHEN abs(t%d.a%d) < " ALL_DIGITS " THEN t%d.a%d END", (int)alias, (int)first, (int)alias, (int)first));
        else
            NOMEM(e, tl_buf_appendf(out, "t%d.a%d", (int)alias, (int)first));
        return TL_OK;
    }
    tl_expr *items[2];
    const tl_type *input;
    for (int32_t i = 0; i < p->n; i++)
        TL_TRY(column_expr(e, i, p->types[i], &items[i]));
    TL_TRY(row_of(e, (const tl_expr *const *)items, p->n, &input));
    int64_t number;
    TL_TRY(duck_add_function(e->q, p->final, input, false, &number, e->err));
    NOMEM(e, tl_buf_appendf(out, "tlx%lld(", (long long)number));
    for (int32_t i = 0; i < p->n; i++)
        NOMEM(e, tl_buf_appendf(out, "%st%d.a%d", i > 0 ? ", " : "", (int)alias, (int)(first + i)));
    NOMEM(e, tl_buf_append_str(out, ")"));
    return TL_OK;
}

static tl_status emit_grouping(emitter *e, const tl_plan *plan, int32_t alias, tl_buf *out)
{
    if (plan->n_group == 0 && plan->grouping_sets == NULL)
        return TL_OK;
    NOMEM(e, tl_buf_append_str(out, plan->grouping_sets != NULL ? " GROUP BY GROUPING SETS (" : " GROUP BY "));
    int32_t n_sets = plan->grouping_sets != NULL ? plan->n_sets : 1;
    for (int32_t s = 0; s < n_sets; s++) {
        if (plan->grouping_sets != NULL)
            NOMEM(e, tl_buf_append_str(out, s > 0 ? ", (" : "("));
        bool first = true;
        for (int32_t i = 0; i < plan->n_group; i++) {
            if (plan->grouping_sets != NULL && (plan->grouping_sets[s] >> i & 1) == 0)
                continue;
            NOMEM(e, tl_buf_appendf(out, "%st%d.k%d", first ? "" : ", ", (int)alias, (int)i));
            first = false;
        }
        if (plan->grouping_sets != NULL)
            NOMEM(e, tl_buf_append_str(out, ")"));
    }
    if (plan->grouping_sets != NULL)
        NOMEM(e, tl_buf_append_str(out, ")"));
    return TL_OK;
}

static tl_status parts_of_calls(emitter *e, const tl_agg_call *calls, int32_t n, const tl_type *row, const names *in, parts *list)
{
    for (int32_t i = 0; i < n; i++)
        TL_TRY(call_parts(e, &calls[i], row, in, &list[i]));
    return TL_OK;
}

/** SELECT keys, values FROM (SELECT keys, parts FROM (input with keys named kN) GROUP BY …). */
static tl_status emit_aggregate_parts(emitter *e, const tl_plan *plan, const names *outer, const parts *list, int32_t input_alias, const tl_buf *input, tl_buf *out)
{
    (void)outer;
    int32_t alias = new_alias(e);
    NOMEM(e, tl_buf_append_str(out, "SELECT "));
    for (int32_t i = 0; i < plan->n_group; i++)
        NOMEM(e, tl_buf_appendf(out, "%st%d.k%d AS c%d", i > 0 ? ", " : "", (int)alias, (int)i, (int)i));
    int32_t part = 0;
    for (int32_t i = 0; i < plan->n_calls; i++) {
        NOMEM(e, tl_buf_append_str(out, plan->n_group + i > 0 ? ", " : ""));
        TL_TRY(emit_value(e, &plan->calls[i], &list[i], alias, part, out));
        NOMEM(e, tl_buf_appendf(out, " AS c%d", (int)(plan->n_group + i)));
        part += list[i].n;
    }
    if (plan->n_group + plan->n_calls == 0)
        NOMEM(e, tl_buf_append_str(out, "1 AS none"));
    NOMEM(e, tl_buf_append_str(out, " FROM (SELECT "));
    for (int32_t i = 0; i < plan->n_group; i++)
        NOMEM(e, tl_buf_appendf(out, "%st%d.k%d AS k%d", i > 0 ? ", " : "", (int)input_alias, (int)i, (int)i));
    part = 0;
    for (int32_t i = 0; i < plan->n_calls; i++)
        for (int32_t k = 0; k < list[i].n; k++, part++)
            NOMEM(e, tl_buf_appendf(out, "%s%.*s AS a%d", plan->n_group + part > 0 ? ", " : "", (int)list[i].sql[k].len, (const char *)list[i].sql[k].data, (int)part));
    if (plan->n_group + part == 0)
        NOMEM(e, tl_buf_append_str(out, "count(*) AS none"));
    NOMEM(e, tl_buf_appendf(out, " FROM %.*s", (int)input->len, (const char *)input->data));
    TL_TRY(emit_grouping(e, plan, input_alias, out));
    NOMEM(e, tl_buf_appendf(out, ") AS t%d", (int)alias));
    return TL_OK;
}

static tl_status emit_aggregate(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    int32_t inner, alias = new_alias(e);
    tl_buf input = {0};
    parts *list = tl_calloc((size_t)plan->n_calls + 1, sizeof *list);
    tl_status status = list != NULL ? TL_OK : tl_nomem(e->err, "query");
    if (status == TL_OK)
        status = tl_buf_append_str(&input, "(SELECT *");
    if (status == TL_OK) {
        tl_buf below = {0};
        status = emit_input(e, plan->inputs[0], outer, &inner, &below);
        for (int32_t i = 0; i < plan->n_group && status == TL_OK; i++)
            status = tl_buf_appendf(&input, ", t%d.c%d AS k%d", (int)inner, (int)plan->group[i], (int)i);
        if (status == TL_OK)
            status = tl_buf_appendf(&input, " FROM %.*s) AS t%d", (int)below.len, (const char *)below.data, (int)alias);
        tl_buf_deinit(&below);
    }
    const names in = {alias, -1, -1, outer};
    if (status == TL_OK)
        status = parts_of_calls(e, plan->calls, plan->n_calls, plan->inputs[0]->type, &in, list);
    if (status == TL_OK)
        status = emit_aggregate_parts(e, plan, outer, list, alias, &input, out);
    for (int32_t i = 0; list != NULL && i < plan->n_calls; i++)
        parts_deinit(&list[i]);
    tl_free(list);
    tl_buf_deinit(&input);
    return status;
}

/* ---- windows ---- */

static tl_status emit_sort_keys(emitter *e, const tl_sort_key *keys, int32_t n, const names *in, tl_buf *out)
{
    for (int32_t i = 0; i < n; i++) {
        NOMEM(e, tl_buf_append_str(out, i > 0 ? ", " : ""));
        TL_TRY(emit_column(e, in, keys[i].column, out));
        NOMEM(e, tl_buf_appendf(out, "%s NULLS %s", keys[i].descending ? " DESC" : " ASC", keys[i].nulls_first ? "FIRST" : "LAST"));
    }
    return TL_OK;
}

static tl_status emit_bound(emitter *e, int64_t bound, tl_buf *out)
{
    if (bound == TL_FRAME_UNBOUNDED_PRECEDING || bound == TL_FRAME_UNBOUNDED_FOLLOWING)
        NOMEM(e, tl_buf_append_str(out, bound == TL_FRAME_UNBOUNDED_PRECEDING ? "UNBOUNDED PRECEDING" : "UNBOUNDED FOLLOWING"));
    else if (bound == 0)
        NOMEM(e, tl_buf_append_str(out, "CURRENT ROW"));
    else
        NOMEM(e, tl_buf_appendf(out, "%lld %s", (long long)(bound < 0 ? -bound : bound), bound < 0 ? "PRECEDING" : "FOLLOWING"));
    return TL_OK;
}

static tl_status emit_over_clause(emitter *e, const tl_over *o, bool with_frame, const names *in, tl_buf *out)
{
    NOMEM(e, tl_buf_append_str(out, " OVER ("));
    for (int32_t i = 0; i < o->n_partition; i++) {
        NOMEM(e, tl_buf_append_str(out, i == 0 ? "PARTITION BY " : ", "));
        TL_TRY(emit_column(e, in, o->partition[i], out));
    }
    if (o->n_order > 0) {
        NOMEM(e, tl_buf_append_str(out, " ORDER BY "));
        TL_TRY(emit_sort_keys(e, o->order, o->n_order, in, out));
    }
    if (with_frame && o->n_order > 0) {
        NOMEM(e, tl_buf_append_str(out, o->frame == TL_FRAME_ROWS ? " ROWS BETWEEN " : " RANGE BETWEEN "));
        TL_TRY(emit_bound(e, o->from, out));
        NOMEM(e, tl_buf_append_str(out, " AND "));
        TL_TRY(emit_bound(e, o->to, out));
    }
    NOMEM(e, tl_buf_append_str(out, ")"));
    return TL_OK;
}

static tl_status emit_ranking(emitter *e, const tl_agg_call *c, const tl_over *o, const names *in, tl_buf *out)
{
    static const struct {
        tl_agg_kind kind;
        const char *sql;
    } names_[] = {{TL_AGG_ROW_NUMBER, "row_number()"}, {TL_AGG_RANK, "rank()"}, {TL_AGG_DENSE_RANK, "dense_rank()"}, {TL_AGG_PERCENT_RANK, "percent_rank()"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(names_); i++)
        if (names_[i].kind == c->kind) {
            NOMEM(e, tl_buf_append_str(out, names_[i].sql));
            return emit_over_clause(e, o, false, in, out);
        }
    bool one_by_one = false; /* Flink counts rows that are equal in the order so where a PERCENT_RANK stands in the same window */
    for (int32_t i = 0; i < o->n_calls; i++)
        one_by_one = one_by_one || o->calls[i].kind == TL_AGG_PERCENT_RANK;
    if (c->kind == TL_AGG_CUME_DIST && !one_by_one) {
        NOMEM(e, tl_buf_append_str(out, "cume_dist()"));
        return emit_over_clause(e, o, false, in, out);
    }
    if (c->kind == TL_AGG_CUME_DIST) {
        tl_over all = *o;
        all.n_order = 0;
        NOMEM(e, tl_buf_append_str(out, "(CAST(row_number()"));
        TL_TRY(emit_over_clause(e, o, false, in, out));
        NOMEM(e, tl_buf_append_str(out, " AS DOUBLE) / count(*)"));
        TL_TRY(emit_over_clause(e, &all, false, in, out));
        NOMEM(e, tl_buf_append_str(out, ")"));
        return TL_OK;
    }
    if (c->kind == TL_AGG_NTILE) {
        NOMEM(e, tl_buf_appendf(out, "CAST(ntile(%lld)", (long long)c->number));
        TL_TRY(emit_over_clause(e, o, false, in, out));
        NOMEM(e, tl_buf_append_str(out, " AS INTEGER)"));
        return TL_OK;
    }
    /* The default stands for a NULL at the distance too, not only for a row that is not there. */
    if (c->n_args == 2)
        NOMEM(e, tl_buf_append_str(out, "coalesce("));
    NOMEM(e, tl_buf_append_str(out, c->kind == TL_AGG_LAG ? "lag(" : "lead("));
    TL_TRY(emit_column(e, in, c->args[0], out));
    NOMEM(e, tl_buf_appendf(out, ", %lld)", (long long)c->number));
    TL_TRY(emit_over_clause(e, o, false, in, out));
    if (c->n_args == 2) {
        NOMEM(e, tl_buf_append_str(out, ", "));
        TL_TRY(emit_column(e, in, c->args[1], out));
        NOMEM(e, tl_buf_append_str(out, ")"));
    }
    return TL_OK;
}

/** Parts of one call of a window: as of an aggregate, each with OVER. */
static tl_status over_parts(emitter *e, const tl_over *o, const tl_agg_call *c, const tl_type *row, const names *in, parts *p)
{
    if (c->kind >= TL_AGG_ROW_NUMBER) {
        p->n = 1;
        p->types[0] = c->type;
        return emit_ranking(e, c, o, in, &p->sql[0]);
    }
    if (c->kind == TL_AGG_FIRST_VALUE || c->kind == TL_AGG_LAST_VALUE) {
        p->n = 1;
        p->types[0] = c->type;
        NOMEM(e, tl_buf_append_str(&p->sql[0], c->kind == TL_AGG_FIRST_VALUE ? "first_value(" : "last_value("));
        TL_TRY(emit_column(e, in, c->args[0], &p->sql[0]));
        NOMEM(e, tl_buf_append_str(&p->sql[0], " IGNORE NULLS)"));
        return emit_over_clause(e, o, true, in, &p->sql[0]);
    }
    if (c->kind == TL_AGG_SUM) { /* CAST(sum(x) OVER (…) AS …): the cast goes around the window */
        p->n = 1;
        const tl_type *wide = c->type;
        if (!tl_sql__is_float(c->type))
            TL_TRY(tl_bind__decimal(&e->b, 38, c->type->kind == TL_DECIMAL ? c->type->scale : 0, true, &wide));
        p->types[0] = wide;
        NOMEM(e, tl_buf_append_str(&p->sql[0], "CAST("));
        TL_TRY(emit_simple(e, "sum", c, c->args[0], in, -1, &p->sql[0]));
        TL_TRY(emit_over_clause(e, o, true, in, &p->sql[0]));
        NOMEM(e, tl_buf_appendf(&p->sql[0], " AS %s)", c->type->kind == TL_FLOAT ? "FLOAT" : c->type->kind == TL_DOUBLE ? "DOUBLE" : "HUGEINT"));
        if (tl_sql__is_float(c->type) || c->type->kind == TL_DECIMAL)
            return TL_OK;
        tl_expr *column;
        TL_TRY(column_expr(e, 0, wide, &column));
        return tl_bind__cast(&e->b, column, c->type, false, &p->final);
    }
    TL_TRY(call_parts(e, c, row, in, p));
    for (int32_t i = 0; i < p->n; i++)
        TL_TRY(emit_over_clause(e, o, true, in, &p->sql[i]));
    return TL_OK;
}

static tl_status emit_over_text(emitter *e, const tl_plan *plan, const parts *list, const tl_buf *input, tl_buf *out)
{
    int32_t n_input = plan->inputs[0]->type->n_fields, alias = new_alias(e), part = 0, column = n_input, k = 0;
    NOMEM(e, tl_buf_append_str(out, "SELECT "));
    for (int32_t i = 0; i < n_input; i++)
        NOMEM(e, tl_buf_appendf(out, "%st%d.c%d", i > 0 ? ", " : "", (int)alias, (int)i));
    for (int32_t w = 0; w < plan->n_over; w++) {
        for (int32_t i = 0; i < plan->over[w].n_calls; i++, k++) {
            NOMEM(e, tl_buf_append_str(out, column > 0 ? ", " : ""));
            TL_TRY(emit_value(e, &plan->over[w].calls[i], &list[k], alias, part, out));
            NOMEM(e, tl_buf_appendf(out, " AS c%d", (int)column++));
            part += list[k].n;
        }
    }
    NOMEM(e, tl_buf_append_str(out, " FROM (SELECT *"));
    part = 0;
    for (int32_t i = 0; i < k; i++)
        for (int32_t j = 0; j < list[i].n; j++)
            NOMEM(e, tl_buf_appendf(out, ", %.*s AS a%d", (int)list[i].sql[j].len, (const char *)list[i].sql[j].data, (int)part++));
    NOMEM(e, tl_buf_appendf(out, " FROM %.*s) AS t%d", (int)input->len, (const char *)input->data, (int)alias));
    return TL_OK;
}

static tl_status emit_over(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    int32_t n_calls = 0, alias;
    for (int32_t w = 0; w < plan->n_over; w++)
        n_calls += plan->over[w].n_calls;
    parts *list = tl_calloc((size_t)n_calls + 1, sizeof *list);
    if (list == NULL)
        return tl_nomem(e->err, "query");
    tl_buf input = {0};
    tl_status status = emit_input(e, plan->inputs[0], outer, &alias, &input);
    const names in = {alias, -1, -1, outer};
    int32_t k = 0;
    for (int32_t w = 0; w < plan->n_over; w++)
        for (int32_t i = 0; i < plan->over[w].n_calls && status == TL_OK; i++, k++)
            status = over_parts(e, &plan->over[w], &plan->over[w].calls[i], plan->inputs[0]->type, &in, &list[k]);
    if (status == TL_OK)
        status = emit_over_text(e, plan, list, &input, out);
    for (int32_t i = 0; i < n_calls; i++)
        parts_deinit(&list[i]);
    tl_free(list);
    tl_buf_deinit(&input);
    return status;
}

/* ---- joins ---- */

static tl_status emit_join_text(emitter *e, const tl_plan *plan, int32_t n_right, const names *in, const tl_buf *left, const tl_buf *right, tl_buf *out)
{
    static const char *const words[] = {"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"};
    bool is_semi = plan->join == TL_JOIN_SEMI || plan->join == TL_JOIN_ANTI;
    int32_t n = in->split + (is_semi ? 0 : n_right);
    NOMEM(e, tl_buf_append_str(out, "SELECT "));
    for (int32_t i = 0; i < n; i++) {
        NOMEM(e, tl_buf_append_str(out, i > 0 ? ", " : ""));
        TL_TRY(emit_column(e, in, i, out));
        NOMEM(e, tl_buf_appendf(out, " AS c%d", (int)i));
    }
    if (n == 0)
        NOMEM(e, tl_buf_append_str(out, "1 AS none"));
    NOMEM(e, tl_buf_appendf(out, " FROM %.*s %s %.*s ON ", (int)left->len, (const char *)left->data, words[plan->join], (int)right->len, (const char *)right->data));
    for (int32_t i = 0; i < plan->n_keys; i++) {
        NOMEM(e, tl_buf_append_str(out, i > 0 ? " AND " : ""));
        TL_TRY(emit_column(e, in, plan->left_keys[i], out));
        NOMEM(e, tl_buf_append_str(out, plan->null_safe != NULL && plan->null_safe[i] ? " IS NOT DISTINCT FROM " : " = "));
        TL_TRY(emit_column(e, in, in->split + plan->right_keys[i], out));
    }
    if (plan->condition != NULL) {
        NOMEM(e, tl_buf_append_str(out, plan->n_keys > 0 ? " AND " : ""));
        return emit_expr(e, plan->condition, in, out);
    }
    if (plan->n_keys == 0)
        NOMEM(e, tl_buf_append_str(out, "TRUE"));
    return TL_OK;
}

static tl_status emit_join_of(emitter *e, const tl_plan *plan, const tl_plan *right_plan, const names *outer, tl_buf *out)
{
    tl_buf left = {0}, right = {0};
    names in = {0, 0, plan->inputs[0]->type->n_fields, outer};
    tl_status status = emit_input(e, plan->inputs[0], outer, &in.alias, &left);
    if (status == TL_OK)
        status = emit_input(e, right_plan, outer, &in.second, &right);
    if (status == TL_OK)
        status = emit_join_text(e, plan, right_plan->type->n_fields, &in, &left, &right, out);
    tl_buf_deinit(&left);
    tl_buf_deinit(&right);
    return status;
}

/** A look-up join of a batch query is a join with the dimension as it is now. */
static tl_status emit_lookup_join(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    tl_binder *b = &e->b;
    int32_t n_left = plan->inputs[0]->type->n_fields, n_dim = plan->table->row_type->n_fields;
    int32_t *columns = tl_arena_alloc(b->arena, (size_t)(n_dim + 1) * sizeof *columns);
    BIND_ALLOC(b, columns);
    for (int32_t i = 0; i < n_dim; i++)
        columns[i] = i;
    tl_plan *scan = tl_bind__new_plan(b, TL_PLAN_SCAN, plan->table->row_type, NULL);
    tl_plan *join = tl_arena_alloc(b->arena, sizeof *join);
    BIND_ALLOC(b, scan);
    BIND_ALLOC(b, join);
    scan->table = plan->table;
    scan->columns = columns;
    scan->predicate = plan->predicate;
    scan->map_filter = plan->map_filter;
    *join = *plan;
    if (plan->condition != NULL) {
        int32_t *map = tl_arena_alloc(b->arena, (size_t)(n_left + plan->n_columns + 1) * sizeof *map);
        BIND_ALLOC(b, map);
        for (int32_t i = 0; i < n_left + plan->n_columns; i++)
            map[i] = i < n_left ? i : n_left + plan->columns[i - n_left];
        TL_TRY(tl_expr__remap(b, plan->condition, map, &join->condition));
    }
    tl_buf all = {0};
    tl_status status = emit_join_of(e, join, scan, outer, &all);
    int32_t alias = new_alias(e);
    if (status == TL_OK)
        status = tl_buf_append_str(out, "SELECT ");
    for (int32_t i = 0; i < plan->type->n_fields && status == TL_OK; i++)
        status = tl_buf_appendf(out, "%st%d.c%d AS c%d", i > 0 ? ", " : "", (int)alias, (int)(i < n_left ? i : n_left + plan->columns[i - n_left]), (int)i);
    if (status == TL_OK)
        status = tl_buf_appendf(out, " FROM (%.*s) AS t%d", (int)all.len, (const char *)all.data, (int)alias);
    tl_buf_deinit(&all);
    return status;
}

/* ---- other nodes ---- */

static bool contains_engine(const tl_plan *plan)
{
    if (tl_exec__needs_engine(plan))
        return true;
    for (int32_t i = 0; i < plan->n_inputs; i++)
        if (contains_engine(plan->inputs[i]))
            return true;
    return false;
}

static tl_status emit_leaf(emitter *e, const tl_plan *plan, tl_buf *out)
{
    duck_query *q = e->q;
    if (q->n_leaves == q->cap_leaves) {
        int32_t cap = q->cap_leaves == 0 ? 8 : q->cap_leaves * 2;
        const tl_plan **grown = tl_realloc(q->leaves, (size_t)cap * sizeof *grown);
        if (grown == NULL)
            return tl_nomem(e->err, "query");
        q->leaves = grown;
        q->cap_leaves = cap;
    }
    if (q->n_leaves == DUCK_LEAVES_MAX)
        return tl_error_set(e->err, TL_E_LIMIT, "the query reads more than %d tables", DUCK_LEAVES_MAX);
    q->leaves[q->n_leaves] = plan;
    NOMEM(e, tl_buf_appendf(out, "SELECT * FROM tl_leaf(%lld)", (long long)(q->first_leaf + q->n_leaves++)));
    return TL_OK;
}

static tl_status emit_project(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    tl_buf input = {0};
    names in = {0, -1, -1, outer};
    tl_status status = emit_input(e, plan->inputs[0], outer, &in.alias, &input);
    if (status == TL_OK)
        status = tl_buf_append_str(out, "SELECT ");
    for (int32_t i = 0; i < plan->type->n_fields && status == TL_OK; i++) {
        status = tl_buf_append_str(out, i > 0 ? ", " : "");
        if (status == TL_OK)
            status = emit_expr(e, plan->exprs[i], &in, out);
        if (status == TL_OK)
            status = tl_buf_appendf(out, " AS c%d", (int)i);
    }
    if (status == TL_OK && plan->type->n_fields == 0)
        status = tl_buf_append_str(out, "1 AS none");
    if (status == TL_OK)
        status = tl_buf_appendf(out, " FROM %.*s", (int)input.len, (const char *)input.data);
    tl_buf_deinit(&input);
    return status;
}

static tl_status emit_filter_node(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    names in = {0, -1, -1, outer};
    NOMEM(e, tl_buf_append_str(out, "SELECT * FROM "));
    TL_TRY(emit_input(e, plan->inputs[0], outer, &in.alias, out));
    NOMEM(e, tl_buf_append_str(out, " WHERE "));
    return emit_expr(e, plan->condition, &in, out);
}

static tl_status emit_sort(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    names in = {0, -1, -1, outer};
    NOMEM(e, tl_buf_append_str(out, "SELECT * FROM "));
    TL_TRY(emit_input(e, plan->inputs[0], outer, &in.alias, out));
    if (plan->n_sort > 0) {
        NOMEM(e, tl_buf_append_str(out, " ORDER BY "));
        TL_TRY(emit_sort_keys(e, plan->sort, plan->n_sort, &in, out));
    }
    if (plan->limit >= 0)
        NOMEM(e, tl_buf_appendf(out, " LIMIT %lld", (long long)plan->limit));
    if (plan->offset > 0)
        NOMEM(e, tl_buf_appendf(out, " OFFSET %lld", (long long)plan->offset));
    return TL_OK;
}

static tl_status emit_set(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    const char *word = plan->kind == TL_PLAN_UNION ? "UNION ALL" : plan->except ? (plan->all ? "EXCEPT ALL" : "EXCEPT") : plan->all ? "INTERSECT ALL" : "INTERSECT";
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        int32_t alias;
        if (i > 0)
            NOMEM(e, tl_buf_appendf(out, " %s ", word));
        NOMEM(e, tl_buf_append_str(out, "SELECT * FROM "));
        TL_TRY(emit_input(e, plan->inputs[i], outer, &alias, out));
    }
    return TL_OK;
}

static tl_status emit_plan(emitter *e, const tl_plan *plan, const names *outer, tl_buf *out)
{
    if (!contains_engine(plan))
        return emit_leaf(e, plan, out);
    switch (plan->kind) {
    case TL_PLAN_PROJECT:
        return emit_project(e, plan, outer, out);
    case TL_PLAN_FILTER:
        return emit_filter_node(e, plan, outer, out);
    case TL_PLAN_WATERMARK:
        return emit_plan(e, plan->inputs[0], outer, out);
    case TL_PLAN_JOIN:
        return emit_join_of(e, plan, plan->inputs[1], outer, out);
    case TL_PLAN_LOOKUP_JOIN:
        return emit_lookup_join(e, plan, outer, out);
    case TL_PLAN_AGGREGATE:
        return emit_aggregate(e, plan, outer, out);
    case TL_PLAN_OVER:
        return emit_over(e, plan, outer, out);
    case TL_PLAN_SORT:
        return emit_sort(e, plan, outer, out);
    case TL_PLAN_UNION:
    case TL_PLAN_SETOP:
        return emit_set(e, plan, outer, out);
    default:
        return tl_error_set(e->err, TL_E_UNSUPPORTED, "this kind of join or window is there in streaming mode only");
    }
}

tl_status duck_translate(duck_query *q, const tl_plan *plan, tl_buf *out, tl_error *err)
{
    emitter e = {.q = q, .err = err};
    tl_sql__binder_init(&e.b, q->session, &q->own, err);
    return emit_plan(&e, plan, NULL, out);
}
