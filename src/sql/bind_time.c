/*
 * Points in time and intervals: literals, and what + and - mean between them. An interval is a BIGINT of milliseconds or an INT of
 * months under a type of its own (bind.h).
 */
#include <stdlib.h>
#include <strings.h>

#include "sql/bind.h"

static tl_bytes_view view_of(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

/* ---- literals ---- */

static tl_status fixed_literal(tl_binder *b, const tl_type *type, int64_t v, const tl_ast *at, tl_expr **out)
{
    tl_column *col;
    TL_TRY(tl_column_alloc(type, 1, &col, b->err));
    if (col->phys == TL_PHYS_I32)
        *(int32_t *)col->values = (int32_t)v;
    else
        *(int64_t *)col->values = v;
    return tl_bind__literal(b, col, at, out);
}

static tl_status date_literal(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    int32_t days;
    const tl_type *type;
    if (!tl_parse_date(view_of(ast->text), &days))
        return BIND_ERROR(b, ast, "Illegal DATE literal '%s': not in format 'yyyy-MM-dd'", ast->text);
    TL_TRY(tl_bind__simple_type(b, TL_DATE, false, 0, 0, &type));
    return fixed_literal(b, type, days, ast, out);
}

static int32_t fraction_digits(const char *text)
{
    const char *dot = strchr(text, '.');
    return dot == NULL ? 0 : (int32_t)strlen(dot + 1);
}

static tl_status time_literal(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    int32_t millis;
    const tl_type *type;
    if (!tl_parse_time(view_of(ast->text), &millis))
        return BIND_ERROR(b, ast, "Illegal TIME literal '%s': not in format 'HH:mm:ss'", ast->text);
    TL_TRY(tl_bind__simple_type(b, TL_TIME, false, TL_MIN(fraction_digits(ast->text), 9), 0, &type));
    return fixed_literal(b, type, millis, ast, out);
}

static tl_status timestamp_literal(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    int64_t millis;
    int32_t nanos, digits = fraction_digits(ast->text);
    const tl_type *type;
    if (digits > 9 || !tl_parse_timestamp(view_of(ast->text), &millis, &nanos))
        return BIND_ERROR(b, ast, "Illegal TIMESTAMP literal '%s': not in format 'yyyy-MM-dd HH:mm:ss'", ast->text);
    TL_TRY(tl_bind__simple_type(b, TL_TIMESTAMP, false, digits, 0, &type));
    tl_builder *builder;
    TL_TRY(tl_builder_create(type, &builder, b->err));
    tl_column *col = NULL;
    tl_status status = tl_builder_timestamp(builder, millis, nanos);
    if (status == TL_OK)
        status = tl_builder_finish(builder, &col, b->err);
    tl_builder_free(builder);
    TL_TRY(status);
    return tl_bind__literal(b, col, ast, out);
}

/* Units from coarse to fine; months or milliseconds. */
static const struct {
    const char *name;
    int64_t months, millis;
} units[] = {{"YEAR", 12, 0},         {"QUARTER", 3, 0},  {"MONTH", 1, 0},   {"WEEK", 0, 604800000}, {"DAY", 0, 86400000},
             {"HOUR", 0, 3600000},    {"MINUTE", 0, 60000}, {"SECOND", 0, 1000}, {"MILLISECOND", 0, 1}};

static int find_unit(const char *name)
{
    size_t bytes = strlen(name);
    for (size_t i = 0; i < TL_ARRAY_LEN(units); i++) {
        size_t n = strlen(units[i].name);
        if (strncasecmp(units[i].name, name, n) == 0 && (bytes == n || (bytes == n + 1 && (name[n] == 's' || name[n] == 'S'))))
            return (int)i;
    }
    return -1;
}

/** Digits at *p as a number; false if there are none or too many. */
static bool take_number(const char **p, int64_t *out)
{
    const char *q = *p;
    int64_t v = 0;
    while (*q >= '0' && *q <= '9' && q - *p <= 12)
        v = v * 10 + (*q++ - '0');
    if (q == *p || q - *p > 12)
        return false;
    *p = q;
    *out = v;
    return true;
}

/** `.567` after seconds, in milliseconds. */
static bool take_fraction(const char **p, int64_t *millis)
{
    *millis = 0;
    if (**p != '.')
        return true;
    int64_t scale = 100;
    const char *q = *p + 1;
    if (*q < '0' || *q > '9')
        return false;
    for (; *q >= '0' && *q <= '9'; q++, scale /= 10)
        *millis += (*q - '0') * scale;
    *p = q;
    return true;
}

/** The text of an interval whose parts go from unit `from` to unit `to`: `1 02:03:04.5`, `2-3`, `10`. */
static bool parse_interval(const char *text, int from, int to, int64_t *months, int64_t *millis)
{
    const char *p = text;
    while (*p == ' ')
        p++;
    int64_t sign = *p == '-' ? -1 : 1;
    p += *p == '-' || *p == '+';
    *months = *millis = 0;
    for (int unit = from; unit <= to; unit++) {
        if (unit == 1 && from != 1)
            continue; /* YEAR TO MONTH has no quarters */
        if (unit == 3 && from != 3)
            continue; /* and nothing has weeks inside */
        if (unit != from) {
            char separator = units[unit].months != 0 ? '-' : unit == 5 ? ' ' : ':';
            if (*p++ != separator)
                return false;
        }
        int64_t v, part;
        if (!take_number(&p, &v))
            return false;
        if (__builtin_mul_overflow(v, units[unit].months != 0 ? units[unit].months : units[unit].millis, &part))
            return false;
        *(units[unit].months != 0 ? months : millis) += part;
        if (unit == 7) {
            if (!take_fraction(&p, &part))
                return false;
            *millis += part;
        }
    }
    while (*p == ' ')
        p++;
    *months *= sign;
    *millis *= sign;
    return *p == '\0' && *months >= INT32_MIN && *months <= INT32_MAX;
}

static tl_status interval_literal(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_ast *from_unit = ast->kid[0], *to_unit = ast->kid[1] != NULL ? ast->kid[1] : ast->kid[0];
    int from = find_unit(from_unit->text), to = find_unit(to_unit->text);
    if (from < 0 || to < 0)
        return BIND_ERROR(b, from < 0 ? from_unit : to_unit, "'%s' is no unit of an interval", from < 0 ? from_unit->text : to_unit->text);
    if (from > to || (units[from].months != 0) != (units[to].months != 0))
        return BIND_ERROR(b, ast, "an interval cannot go from %s to %s", from_unit->text, to_unit->text);
    int64_t months, millis;
    if (!parse_interval(ast->text, from, to, &months, &millis))
        return BIND_ERROR(b, ast, "Illegal interval literal format '%s' for INTERVAL %s%s%s", ast->text, from_unit->text, from != to ? " TO " : "",
                          from != to ? to_unit->text : "");
    int64_t sign = (ast->flags & AST_F_NEGATIVE) != 0 ? -1 : 1;
    bool is_months = units[from].months != 0;
    return fixed_literal(b, is_months ? &tl_sql__interval_months_not_null : &tl_sql__interval_ms_not_null, sign * (is_months ? months : millis), ast, out);
}

/** (a - b) DAY and the like. */
static tl_status distance(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    const tl_ast *minus = ast->kid[0];
    if (minus->kind != AST_BINARY || strcmp(minus->text, "-") != 0)
        return BIND_ERROR(b, ast, "Illegal expression. Was expecting \"(DATETIME - DATETIME) INTERVALQUALIFIER\"");
    tl_expr *args[2];
    TL_TRY(tl_bind__expr(b, minus->kid[0], &args[0]));
    TL_TRY(tl_bind__expr(b, minus->kid[1], &args[1]));
    bool is_months = units[find_unit(ast->kid[1]->text)].months != 0;
    return tl_bind__function(b, is_months ? "$DISTANCE_MONTHS" : "$DISTANCE_MS", args, 2, ast, out);
}

tl_status tl_bind__temporal_literal(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    switch (ast->kind) {
    case AST_DATE:
        return date_literal(b, ast, out);
    case AST_TIME:
        return time_literal(b, ast, out);
    case AST_TIMESTAMP:
        return timestamp_literal(b, ast, out);
    case AST_DISTANCE:
        return distance(b, ast, out);
    default:
        return interval_literal(b, ast, out);
    }
}

/** The unit of an interval as written with one unit only, -1 if it is none: what it is cast to a number by. */
static int single_unit(const tl_ast *ast)
{
    if (ast->kind == AST_INTERVAL && ast->kid[1] == NULL)
        return find_unit(ast->kid[0]->text);
    return ast->kind == AST_DISTANCE && ast->kid[2] == NULL ? find_unit(ast->kid[1]->text) : -1;
}

tl_status tl_bind__interval_cast(tl_binder *b, const tl_ast *ast, tl_expr *e, tl_expr **out)
{
    const tl_ast *to = ast->kid[1];
    *out = NULL;
    if (tl_sql__is_interval(e->type)) { /* a number of its units */
        int unit = single_unit(ast->kid[0]);
        const tl_type *type, *wide;
        TL_TRY(tl_bind__ast_type(b, to, &type));
        if (unit < 0 || (type->kind != TL_INT && type->kind != TL_BIGINT && type->kind != TL_DECIMAL))
            return TL_OK;
        tl_expr *args[2] = {e, NULL};
        TL_TRY(tl_bind__simple_type(b, TL_BIGINT, false, 0, 0, &wide));
        TL_TRY(fixed_literal(b, wide, units[unit].months != 0 ? units[unit].months : units[unit].millis, ast, &args[1]));
        TL_TRY(tl_bind__function(b, "$INTERVAL_UNITS", args, 2, ast, out));
        return tl_bind__cast(b, *out, type, /* is_try= */ false, out);
    }
    if (strcmp(to->text, "INTERVAL") == 0 && to->kid[1] != NULL && tl_sql__is_null_type(e->type)) {
        int first = find_unit(tl_ast_first(to->kid[1])->text);
        return first < 0 ? TL_OK : tl_bind__null(b, units[first].months != 0 ? &tl_sql__interval_months : &tl_sql__interval_ms, ast, out);
    }
    if (strcmp(to->text, "INTERVAL") != 0 || to->kid[1] == NULL || tl_ast_count(to->kid[1]) != 1 || !tl_sql__is_integer(e->type))
        return TL_OK;
    int unit = find_unit(tl_ast_first(to->kid[1])->text);
    if (unit < 0)
        return TL_OK;
    /* Flink: a constant counts units, a column what an interval is stored in (milliseconds, months). */
    bool is_months = units[unit].months != 0;
    int64_t one = e->kind != TL_EXPR_LITERAL ? 1 : is_months ? units[unit].months : units[unit].millis;
    const tl_type *wide;
    tl_expr *args[2];
    TL_TRY(tl_bind__simple_type(b, TL_BIGINT, e->type->nullable, 0, 0, &wide));
    TL_TRY(fixed_literal(b, is_months ? (e->type->nullable ? &tl_sql__interval_months : &tl_sql__interval_months_not_null)
                                      : (e->type->nullable ? &tl_sql__interval_ms : &tl_sql__interval_ms_not_null), one, ast, &args[0]));
    TL_TRY(tl_bind__coerce(b, e, wide, &args[1]));
    return tl_bind__function(b, "$INTERVAL_TIMES", args, 2, ast, out);
}

tl_status tl_bind__constant_interval_ms(tl_binder *b, const tl_ast *ast, const char *what, int64_t *out)
{
    tl_expr *e;
    TL_TRY(tl_bind__expr(b, ast, &e));
    if (e->kind != TL_EXPR_LITERAL || !tl_sql__is_interval_ms(e->type))
        return BIND_ERROR(b, ast, "%s must be a constant interval of days to seconds", what);
    *out = tl_col_i64(e->literal, 0);
    return TL_OK;
}

/* ---- arithmetic ---- */

static bool is_time_point(const tl_type *type)
{
    return type->kind == TL_DATE || type->kind == TL_TIME || type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ;
}

static tl_status plus_interval(tl_binder *b, char op, tl_expr *point, tl_expr *interval, const tl_ast *at, tl_expr **out)
{
    if (op == '-')
        TL_TRY(tl_bind__function(b, "NEGATE", &interval, 1, at, &interval));
    tl_expr *args[2] = {point, interval};
    return tl_bind__function(b, tl_sql__is_interval_ms(interval->type) ? "$PLUS_MS" : "$PLUS_MONTHS", args, 2, at, out);
}

/** interval + interval, interval * number. */
static tl_status interval_arithmetic(tl_binder *b, char op, tl_expr *x, tl_expr *y, const tl_ast *at, tl_expr **out)
{
    bool both = tl_sql__is_interval(x->type) && tl_sql__is_interval(y->type);
    if ((op == '+' || op == '-') && both && x->type->kind == y->type->kind) {
        tl_expr *args[2] = {x, y};
        return tl_bind__function(b, op == '+' ? "$INTERVAL_PLUS" : "$INTERVAL_MINUS", args, 2, at, out);
    }
    if (op != '*' || both)
        return TL_OK;
    tl_expr *args[2] = {tl_sql__is_interval(x->type) ? x : y, tl_sql__is_interval(x->type) ? y : x};
    if (!tl_sql__is_integer(args[1]->type))
        return TL_OK;
    const tl_type *wide;
    TL_TRY(tl_bind__simple_type(b, TL_BIGINT, args[1]->type->nullable, 0, 0, &wide));
    TL_TRY(tl_bind__coerce(b, args[1], wide, &args[1]));
    return tl_bind__function(b, "$INTERVAL_TIMES", args, 2, at, out);
}

tl_status tl_bind__temporal_arithmetic(tl_binder *b, char op, tl_expr *left, tl_expr *right, const tl_ast *at, tl_expr **out)
{
    *out = NULL;
    bool interval_right = tl_sql__is_interval(right->type), interval_left = tl_sql__is_interval(left->type);
    if ((op == '+' || op == '-') && is_time_point(left->type) && interval_right)
        return plus_interval(b, op, left, right, at, out);
    if (op == '+' && interval_left && is_time_point(right->type))
        return plus_interval(b, op, right, left, at, out);
    if (interval_left || interval_right)
        return interval_arithmetic(b, op, left, right, at, out);
    return TL_OK;
}

/* ---- TIMESTAMPADD ---- */

tl_status tl_bind__timestamp_add(tl_binder *b, const char *unit_name, tl_expr *count, tl_expr *point, const tl_ast *at, tl_expr **out)
{
    int unit = find_unit(unit_name);
    if (unit < 0)
        return BIND_ERROR(b, at, "TIMESTAMPADD of %s is not supported", unit_name);
    if (!tl_sql__is_integer(count->type) || !is_time_point(point->type))
        return BIND_ERROR(b, at, "Cannot apply 'TIMESTAMPADD' to arguments of type 'TIMESTAMPADD(<SYMBOL>, <%s>, <%s>)'", tl_bind__family(count->type),
                          tl_bind__family(point->type));
    bool is_months = units[unit].months != 0;
    if (point->type->kind == TL_DATE && !is_months && units[unit].millis < 86400000) { /* hours of a date make it a timestamp */
        const tl_type *timestamp;
        TL_TRY(tl_bind__simple_type(b, TL_TIMESTAMP, point->type->nullable, 6, 0, &timestamp));
        TL_TRY(tl_bind__coerce(b, point, timestamp, &point));
    }
    tl_expr *args[2];
    const tl_type *wide;
    TL_TRY(tl_bind__simple_type(b, TL_BIGINT, count->type->nullable, 0, 0, &wide));
    TL_TRY(fixed_literal(b, is_months ? &tl_sql__interval_months_not_null : &tl_sql__interval_ms_not_null, is_months ? units[unit].months : units[unit].millis, at, &args[0]));
    TL_TRY(tl_bind__coerce(b, count, wide, &args[1]));
    tl_expr *interval;
    TL_TRY(tl_bind__function(b, "$INTERVAL_TIMES", args, 2, at, &interval));
    return plus_interval(b, '+', point, interval, at, out);
}
