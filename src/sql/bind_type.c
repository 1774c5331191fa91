/*
 * Types of the binder: from syntax, of results of arithmetic, common to several values, and which casts there are.
 * Rules: Java: LogicalTypeMerging, LogicalTypeCasts, FlinkTypeSystem, Calcite's leastRestrictive.
 */
#include <stdlib.h>
#include <strings.h>

#include "sql/bind.h"

#define MARK_INTERVAL_MS (-1)
#define MARK_INTERVAL_MONTHS (-2)
#define MARK_NULL (-3)
/* Static types: their count of references never comes near zero. */
#define STATIC_REFS (1 << 29)

tl_type tl_sql__interval_ms = {.kind = TL_BIGINT, .nullable = true, .precision = MARK_INTERVAL_MS, .depth = 1, .refs = STATIC_REFS};
tl_type tl_sql__interval_ms_not_null = {.kind = TL_BIGINT, .precision = MARK_INTERVAL_MS, .depth = 1, .refs = STATIC_REFS};
tl_type tl_sql__interval_months = {.kind = TL_INT, .nullable = true, .precision = MARK_INTERVAL_MONTHS, .depth = 1, .refs = STATIC_REFS};
tl_type tl_sql__interval_months_not_null = {.kind = TL_INT, .precision = MARK_INTERVAL_MONTHS, .depth = 1, .refs = STATIC_REFS};
tl_type tl_sql__null_type = {.kind = TL_INT, .nullable = true, .precision = MARK_NULL, .depth = 1, .refs = STATIC_REFS};

bool tl_sql__is_interval_ms(const tl_type *type)
{
    return type->kind == TL_BIGINT && type->precision == MARK_INTERVAL_MS;
}

bool tl_sql__is_interval_months(const tl_type *type)
{
    return type->kind == TL_INT && type->precision == MARK_INTERVAL_MONTHS;
}

bool tl_sql__is_null_type(const tl_type *type)
{
    return type->kind == TL_INT && type->precision == MARK_NULL;
}

tl_status tl_bind__simple_type(tl_binder *b, tl_type_kind kind, bool nullable, int32_t a, int32_t scale, const tl_type **out)
{
    const tl_type *type;
    TL_TRY(tl_type_create(kind, nullable, a, scale, &type, b->err));
    TL_TRY(tl_sql__own_type(b->stmt, type, b->err));
    *out = type;
    return TL_OK;
}

tl_status tl_bind__nullable(tl_binder *b, const tl_type *type, bool nullable, const tl_type **out)
{
    const tl_type *result = type;
    if (type->nullable == nullable || tl_sql__is_null_type(type)) {
        *out = type;
        return TL_OK;
    }
    if (tl_sql__is_interval_ms(type)) {
        *out = nullable ? &tl_sql__interval_ms : &tl_sql__interval_ms_not_null;
        return TL_OK;
    }
    if (tl_sql__is_interval_months(type)) {
        *out = nullable ? &tl_sql__interval_months : &tl_sql__interval_months_not_null;
        return TL_OK;
    }
    TL_TRY(tl_type_with_nullable(type, nullable, &result, b->err));
    TL_TRY(tl_sql__own_type(b->stmt, result, b->err));
    *out = result;
    return TL_OK;
}

tl_status tl_bind__row_type(tl_binder *b, const char *const *names, const tl_type *const *types, int32_t n, const tl_type **out)
{
    tl_field *fields = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *fields);
    BIND_ALLOC(b, fields);
    for (int32_t i = 0; i < n; i++)
        fields[i] = (tl_field){.name = (char *)(uintptr_t)names[i], .id = -1, .type = types[i]}; /* copied */
    const tl_type *type;
    TL_TRY(tl_type_create_row(/* nullable= */ false, fields, n, &type, b->err));
    TL_TRY(tl_sql__own_type(b->stmt, type, b->err));
    *out = type;
    return TL_OK;
}

tl_status tl_bind__decimal(tl_binder *b, int32_t precision, int32_t scale, bool nullable, const tl_type **out)
{
    return tl_bind__simple_type(b, TL_DECIMAL, nullable, precision, scale, out);
}

const char *tl_bind__type_text(tl_binder *b, const tl_type *type)
{
    if (tl_sql__is_null_type(type))
        return "NULL";
    if (tl_sql__is_interval_ms(type))
        return "INTERVAL DAY TO SECOND(3)";
    if (tl_sql__is_interval_months(type))
        return "INTERVAL YEAR TO MONTH";
    tl_buf buf = {0};
    char *text = NULL;
    if (tl_type_format(type, &buf) == TL_OK)
        text = tl_arena_strndup(b->arena, (const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    return text != NULL ? text : "?";
}

const char *tl_bind__type_summary(tl_binder *b, const tl_type *type)
{
    static const char zone[] = " WITH LOCAL TIME ZONE";
    if (tl_sql__is_null_type(type) || tl_sql__is_interval(type))
        return tl_bind__type_text(b, type);
    tl_buf buf = {0};
    char *text = tl_type_format(type, &buf) == TL_OK ? tl_arena_strndup(b->arena, (const char *)buf.data, buf.len) : NULL;
    tl_buf_deinit(&buf);
    if (text == NULL)
        return NULL;
    size_t cut = sizeof zone - 1, kept = sizeof "TIMESTAMP(0)" - 1; /* the precision has one digit */
    for (char *at; (at = strstr(text, zone)) != NULL && at >= text + kept;) {
        char digit = at[-2];
        char *start = at - kept;
        memcpy(start, "TIMESTAMP_LTZ(", 14);
        start[14] = digit;
        start[15] = ')';
        memmove(start + 16, at + cut, strlen(at + cut) + 1);
    }
    return text;
}

const char *tl_bind__family(const tl_type *type)
{
    if (tl_sql__is_null_type(type))
        return "NULL";
    if (tl_sql__is_interval_ms(type))
        return "INTERVAL_DAY_TIME";
    if (tl_sql__is_interval_months(type))
        return "INTERVAL_YEAR_MONTH";
    if (tl_sql__is_numeric(type))
        return "NUMERIC";
    switch (type->kind) {
    case TL_CHAR:
    case TL_VARCHAR:
        return "CHARACTER";
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return "BINARY";
    case TL_BOOLEAN:
        return "BOOLEAN";
    case TL_DATE:
        return "DATE";
    case TL_TIME:
        return "TIME";
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return "TIMESTAMP";
    case TL_ARRAY:
    case TL_VECTOR:
        return "ARRAY";
    case TL_MAP:
        return "MAP";
    case TL_MULTISET:
        return "MULTISET";
    case TL_ROW:
        return "ROW";
    default:
        return "ANY";
    }
}

/* ---- from syntax ---- */

typedef struct type_name {
    const char *name;
    tl_type_kind kind;
    int32_t a, b;        /* defaults */
    int32_t n_args;      /* at most */
} type_name;

static const type_name type_names[] = {
    {"BOOLEAN", TL_BOOLEAN, 0, 0, 0},
    {"TINYINT", TL_TINYINT, 0, 0, 0},
    {"SMALLINT", TL_SMALLINT, 0, 0, 0},
    {"INT", TL_INT, 0, 0, 0},
    {"INTEGER", TL_INT, 0, 0, 0},
    {"BIGINT", TL_BIGINT, 0, 0, 0},
    {"FLOAT", TL_FLOAT, 0, 0, 0},
    {"REAL", TL_FLOAT, 0, 0, 0},
    {"DOUBLE", TL_DOUBLE, 0, 0, 0},
    {"DOUBLE PRECISION", TL_DOUBLE, 0, 0, 0},
    {"DECIMAL", TL_DECIMAL, 10, 0, 2},
    {"DEC", TL_DECIMAL, 10, 0, 2},
    {"NUMERIC", TL_DECIMAL, 10, 0, 2},
    {"CHAR", TL_CHAR, 1, 0, 1},
    {"CHARACTER", TL_CHAR, 1, 0, 1},
    {"VARCHAR", TL_VARCHAR, TL_LENGTH_MAX, 0, 1},
    {"CHAR VARYING", TL_VARCHAR, TL_LENGTH_MAX, 0, 1},
    {"CHARACTER VARYING", TL_VARCHAR, TL_LENGTH_MAX, 0, 1},
    {"STRING", TL_VARCHAR, TL_LENGTH_MAX, 0, 0},
    {"BINARY", TL_BINARY, 1, 0, 1},
    {"VARBINARY", TL_VARBINARY, TL_LENGTH_MAX, 0, 1},
    {"BINARY VARYING", TL_VARBINARY, TL_LENGTH_MAX, 0, 1},
    {"BYTES", TL_VARBINARY, TL_LENGTH_MAX, 0, 0},
    {"DATE", TL_DATE, 0, 0, 0},
    {"TIME", TL_TIME, 0, 0, 1},
    {"TIMESTAMP", TL_TIMESTAMP, 6, 0, 1},
    {"TIMESTAMP_LTZ", TL_TIMESTAMP_LTZ, 6, 0, 1},
    {"TIMESTAMP WITH LOCAL TIME ZONE", TL_TIMESTAMP_LTZ, 6, 0, 1},
    {"VARIANT", TL_VARIANT, 0, 0, 0},
    {"BLOB", TL_BLOB, 0, 0, 0},
};

static tl_status number_arg(tl_binder *b, const tl_ast *arg, int32_t *out)
{
    char *end;
    long v = strtol(arg->text, &end, 10);
    if (*end != '\0' || v < 0 || v > TL_LENGTH_MAX)
        return BIND_ERROR(b, arg, "'%s' is no length, precision or scale", arg->text);
    *out = (int32_t)v;
    return TL_OK;
}

static tl_status named_type(tl_binder *b, const tl_ast *ast, bool nullable, const tl_type **out)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(type_names); i++) {
        const type_name *t = &type_names[i];
        if (strcasecmp(t->name, ast->text) != 0)
            continue;
        int32_t args[2] = {t->a, t->b};
        if (tl_ast_count(ast->kid[0]) > t->n_args)
            return BIND_ERROR(b, ast, "type %s takes no such arguments", ast->text);
        int k = 0;
        for (const tl_ast *arg = tl_ast_first(ast->kid[0]); arg != NULL; arg = arg->next)
            TL_TRY(number_arg(b, arg, &args[k++]));
        tl_status status = tl_bind__simple_type(b, t->kind, nullable, args[0], args[1], out);
        return tl_error_wrap(b->err, status, "line %d:%d", (int)ast->line, (int)ast->position);
    }
    return BIND_ERROR(b, ast, "unknown type '%s'", ast->text);
}

static tl_status ast_row_type(tl_binder *b, const tl_ast *ast, bool nullable, const tl_type **out)
{
    int32_t n = tl_ast_count(ast->kid[1]), i = 0;
    tl_field *fields = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *fields);
    BIND_ALLOC(b, fields);
    for (const tl_ast *f = tl_ast_first(ast->kid[1]); f != NULL; f = f->next, i++) {
        fields[i] = (tl_field){.name = (char *)(uintptr_t)f->text, .id = -1};
        if (f->kid[1] != NULL)
            fields[i].description = (char *)(uintptr_t)f->kid[1]->text;
        TL_TRY(tl_bind__ast_type(b, f->kid[0], &fields[i].type));
        for (int32_t j = 0; j < i; j++)
            if (strcmp(fields[j].name, f->text) == 0)
                return BIND_ERROR(b, f, "field '%s' stands twice in the ROW", f->text);
    }
    TL_TRY(tl_type_create_row(nullable, fields, n, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

/* VECTOR<element, length>: not Flink's, which has vectors by options of CREATE TABLE alone. */
static tl_status ast_vector_type(tl_binder *b, const tl_ast *ast, bool nullable, const tl_type **out)
{
    const tl_type *element;
    int32_t length = 0;
    if (strcasecmp(ast->text, "VECTOR") != 0)
        return BIND_ERROR(b, ast, "unknown type '%s'", ast->text);
    TL_TRY(tl_bind__ast_type(b, tl_ast_first(ast->kid[1]), &element));
    TL_TRY(number_arg(b, tl_ast_first(ast->kid[0]), &length));
    TL_TRY(tl_error_wrap(b->err, tl_type_create_vector(nullable, length, element, out, b->err), "line %d:%d", (int)ast->line, (int)ast->position));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

tl_status tl_bind__ast_type(tl_binder *b, const tl_ast *ast, const tl_type **out)
{
    bool nullable = (ast->flags & AST_F_NOT_NULL) == 0;
    const tl_ast *kids = ast->kid[1];
    if (kids == NULL && strcmp(ast->text, "ROW") != 0)
        return named_type(b, ast, nullable, out);
    if (strcmp(ast->text, "INTERVAL") == 0)
        return BIND_ERROR(b, ast, "columns of an INTERVAL type cannot be stored or cast to");
    if (strcmp(ast->text, "ROW") == 0)
        return ast_row_type(b, ast, nullable, out);
    if (ast->kid[0] != NULL)
        return ast_vector_type(b, ast, nullable, out);
    const tl_type *parts[2] = {NULL, NULL};
    int n = 0;
    for (const tl_ast *kid = tl_ast_first(kids); kid != NULL && n < 2; kid = kid->next)
        TL_TRY(tl_bind__ast_type(b, kid, &parts[n++]));
    tl_status status = strcmp(ast->text, "ARRAY") == 0 ? tl_type_create_array(nullable, parts[0], out, b->err)
                       : strcmp(ast->text, "MAP") == 0 ? tl_type_create_map(nullable, parts[0], parts[1], out, b->err)
                                                       : tl_type_create_multiset(nullable, parts[0], out, b->err);
    TL_TRY(tl_error_wrap(b->err, status, "line %d:%d", (int)ast->line, (int)ast->position));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

/* ---- numbers ---- */

static void decimal_of(const tl_type *type, int32_t *precision, int32_t *scale)
{
    static const int32_t digits[] = {[TL_TINYINT] = 3, [TL_SMALLINT] = 5, [TL_INT] = 10, [TL_BIGINT] = 19};
    *precision = type->kind == TL_DECIMAL ? type->precision : digits[type->kind];
    *scale = type->kind == TL_DECIMAL ? type->scale : 0;
}

/** Above 38 digits the scale gives way, to 6 at least. */
static tl_status adjusted_decimal(tl_binder *b, int32_t precision, int32_t scale, bool nullable, const tl_type **out)
{
    if (precision > 38) {
        int32_t integers = precision - scale;
        scale = TL_MAX(38 - integers, TL_MIN(scale, 6));
        precision = 38;
    }
    return tl_bind__decimal(b, precision, scale, nullable, out);
}

static tl_status decimal_arithmetic(tl_binder *b, char op, const tl_type *x, const tl_type *y, bool nullable, const tl_type **out)
{
    int32_t p1, s1, p2, s2;
    decimal_of(x, &p1, &s1);
    decimal_of(y, &p2, &s2);
    int32_t scale;
    switch (op) {
    case '*':
        return adjusted_decimal(b, p1 + p2 + 1, s1 + s2, nullable, out);
    case '/':
        scale = TL_MAX(6, s1 + p2 + 1);
        return adjusted_decimal(b, p1 - s1 + s2 + scale, scale, nullable, out);
    case '%':
        scale = TL_MAX(s1, s2);
        return adjusted_decimal(b, TL_MIN(p1 - s1, p2 - s2) + scale, scale, nullable, out);
    default:
        scale = TL_MAX(s1, s2);
        return adjusted_decimal(b, TL_MAX(p1 - s1, p2 - s2) + scale + 1, scale, nullable, out);
    }
}

tl_status tl_bind__arithmetic_type(tl_binder *b, char op, const tl_type *x, const tl_type *y, const tl_type **out)
{
    *out = NULL;
    if (!tl_sql__is_numeric(x) || !tl_sql__is_numeric(y))
        return TL_OK;
    bool nullable = x->nullable || y->nullable;
    if (tl_sql__is_float(x) || tl_sql__is_float(y)) { /* of FLOAT and DOUBLE the first wins */
        bool decimal = x->kind == TL_DECIMAL || y->kind == TL_DECIMAL;
        return tl_bind__simple_type(b, decimal ? TL_DOUBLE : tl_sql__is_float(x) ? x->kind : y->kind, nullable, 0, 0, out);
    }
    int32_t px, sx, py, sy;
    decimal_of(x, &px, &sx);
    decimal_of(y, &py, &sy);
    if (op == '%' && sx == 0 && sy == 0) /* the type of the divisor, also where one is a DECIMAL */
        return tl_bind__nullable(b, y, nullable, out);
    if (x->kind == TL_DECIMAL || y->kind == TL_DECIMAL)
        return decimal_arithmetic(b, op, x, y, nullable, out);
    return tl_bind__nullable(b, x->kind > y->kind ? x : y, nullable, out);
}

static tl_status common_number(tl_binder *b, const tl_type *x, const tl_type *y, bool nullable, const tl_type **out)
{
    if (tl_sql__is_float(x) || tl_sql__is_float(y) || (x->kind != TL_DECIMAL && y->kind != TL_DECIMAL))
        return tl_bind__arithmetic_type(b, '+', x, y, out);
    int32_t p1, s1, p2, s2;
    decimal_of(x, &p1, &s1);
    decimal_of(y, &p2, &s2);
    int32_t integers = TL_MIN(TL_MAX(p1 - s1, p2 - s2), 38);
    int32_t scale = TL_MIN(TL_MAX(s1, s2), 38 - integers);
    return tl_bind__decimal(b, integers + scale, scale, nullable, out);
}

/* ---- common types ---- */

static tl_status common_nested(tl_binder *b, const tl_type *x, const tl_type *y, bool nullable, const tl_type **out)
{
    *out = NULL;
    if (x->n_fields != y->n_fields)
        return TL_OK;
    tl_field *fields = tl_arena_calloc(b->arena, (size_t)x->n_fields + 1, sizeof *fields);
    BIND_ALLOC(b, fields);
    for (int32_t i = 0; i < x->n_fields; i++) {
        fields[i] = x->fields[i];
        TL_TRY(tl_bind__common_type(b, x->fields[i].type, y->fields[i].type, &fields[i].type));
        if (fields[i].type == NULL)
            return TL_OK;
    }
    const tl_type *type;
    switch (x->kind) {
    case TL_ARRAY:
        TL_TRY(tl_type_create_array(nullable, fields[0].type, &type, b->err));
        break;
    case TL_MAP:
        TL_TRY(tl_type_create_map(nullable, fields[0].type, fields[1].type, &type, b->err));
        break;
    case TL_MULTISET:
        TL_TRY(tl_type_create_multiset(nullable, fields[0].type, &type, b->err));
        break;
    default:
        TL_TRY(tl_type_create_row(nullable, fields, x->n_fields, &type, b->err));
        break;
    }
    TL_TRY(tl_sql__own_type(b->stmt, type, b->err));
    *out = type;
    return TL_OK;
}

static bool is_time_point(const tl_type *type)
{
    return type->kind == TL_DATE || type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ;
}

static tl_status common_time(tl_binder *b, const tl_type *x, const tl_type *y, bool nullable, const tl_type **out)
{
    tl_type_kind kind = TL_MAX(x->kind, y->kind); /* DATE < TIMESTAMP < TIMESTAMP_LTZ */
    int32_t precision = TL_MAX(x->kind == TL_DATE ? 0 : x->precision, y->kind == TL_DATE ? 0 : y->precision);
    return tl_bind__simple_type(b, kind, nullable, precision, 0, out);
}

tl_status tl_bind__array_of(tl_binder *b, const tl_type *vector, const tl_type **out)
{
    TL_TRY(tl_type_array_of_vector(vector, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

tl_status tl_bind__common_type(tl_binder *b, const tl_type *x, const tl_type *y, const tl_type **out)
{
    bool nullable = x->nullable || y->nullable;
    *out = NULL;
    if (x->kind == TL_VECTOR && tl_type_equal(x, y, /* with_nullable= */ false))
        return tl_bind__nullable(b, x, nullable, out);
    if (x->kind == TL_VECTOR)
        TL_TRY(tl_bind__array_of(b, x, &x));
    if (y->kind == TL_VECTOR)
        TL_TRY(tl_bind__array_of(b, y, &y));
    if (tl_sql__is_null_type(x) || tl_sql__is_null_type(y))
        return tl_bind__nullable(b, tl_sql__is_null_type(x) ? y : x, true, out);
    if (tl_sql__is_interval(x) || tl_sql__is_interval(y)) {
        if (x->kind == y->kind && tl_sql__is_interval(x) && tl_sql__is_interval(y))
            return tl_bind__nullable(b, x, nullable, out);
        return TL_OK;
    }
    if (tl_type_equal(x, y, /* with_nullable= */ false) && x->n_fields == 0)
        return tl_bind__nullable(b, x, nullable, out);
    if (tl_sql__is_numeric(x) && tl_sql__is_numeric(y))
        return common_number(b, x, y, nullable, out);
    if (tl_sql__is_text(x) && tl_sql__is_text(y))
        return tl_bind__simple_type(b, TL_VARCHAR, nullable, TL_MAX(x->length, y->length), 0, out);
    if (tl_sql__is_binary(x) && tl_sql__is_binary(y))
        return tl_bind__simple_type(b, TL_VARBINARY, nullable, TL_MAX(tl_sql__binary_length(x), tl_sql__binary_length(y)), 0, out);
    if (is_time_point(x) && is_time_point(y))
        return common_time(b, x, y, nullable, out);
    if (x->kind == TL_TIME && y->kind == TL_TIME)
        return tl_bind__nullable(b, x->precision > y->precision ? x : y, nullable, out);
    if (x->kind == y->kind && x->n_fields > 0)
        return common_nested(b, x, y, nullable, out);
    return TL_OK;
}

tl_status tl_bind__wider_type(tl_binder *b, const tl_type *x, const tl_type *y, const tl_type **out)
{
    if (tl_sql__is_float(x) && tl_sql__is_float(y) && x->kind != y->kind)
        return tl_bind__simple_type(b, TL_DOUBLE, x->nullable || y->nullable, 0, 0, out);
    return tl_bind__common_type(b, x, y, out);
}

/* ---- casts ---- */

/* A VECTOR is an ARRAY that promises a length, which is checked where one is made of the other. */
static tl_type_kind nested_kind(const tl_type *type)
{
    return type->kind == TL_VECTOR ? TL_ARRAY : type->kind;
}

static bool can_cast_nested(const tl_type *from, const tl_type *to, bool (*can)(const tl_type *, const tl_type *))
{
    if (nested_kind(from) != nested_kind(to) || from->n_fields != to->n_fields)
        return false;
    if (from->kind == TL_VECTOR && to->kind == TL_VECTOR && from->length != to->length)
        return false;
    for (int32_t i = 0; i < from->n_fields; i++)
        if (!can(from->fields[i].type, to->fields[i].type))
            return false;
    return true;
}

bool tl_bind__can_cast_implicitly(const tl_type *from, const tl_type *to)
{
    if (tl_sql__is_null_type(from))
        return true;
    if (tl_sql__is_interval(from) || tl_sql__is_interval(to))
        return tl_sql__is_interval(from) && tl_sql__is_interval(to) && from->kind == to->kind;
    if (from->n_fields > 0 || to->n_fields > 0)
        return can_cast_nested(from, to, tl_bind__can_cast_implicitly);
    switch (to->kind) {
    case TL_CHAR:
        return from->kind == TL_CHAR;
    case TL_VARCHAR:
        return tl_sql__is_text(from);
    case TL_BINARY:
        return from->kind == TL_BINARY;
    case TL_VARBINARY:
    case TL_BLOB:
        return tl_sql__is_binary(from);
    case TL_DECIMAL:
        return tl_sql__is_numeric(from);
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return tl_sql__is_integer(from) && from->kind <= to->kind;
    case TL_FLOAT:
        return tl_sql__is_integer(from) || from->kind == TL_FLOAT || from->kind == TL_DECIMAL;
    case TL_DOUBLE:
        return tl_sql__is_numeric(from);
    case TL_DATE:
        return from->kind == TL_DATE || from->kind == TL_TIMESTAMP;
    case TL_TIME:
        return from->kind == TL_TIME || from->kind == TL_TIMESTAMP;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return from->kind == TL_TIMESTAMP || from->kind == TL_TIMESTAMP_LTZ;
    default:
        return from->kind == to->kind;
    }
}

bool tl_bind__can_cast(const tl_type *from, const tl_type *to)
{
    if (tl_sql__is_null_type(from) || tl_sql__is_text(to))
        return true;
    if (tl_sql__is_interval(from) || tl_sql__is_interval(to))
        return tl_sql__is_interval(from) && tl_sql__is_interval(to) && from->kind == to->kind;
    if (from->n_fields > 0 || to->n_fields > 0)
        return can_cast_nested(from, to, tl_bind__can_cast);
    if (tl_sql__is_text(from))
        return true;
    bool exact = tl_sql__is_numeric(from) || from->kind == TL_BOOLEAN;
    switch (to->kind) {
    case TL_BOOLEAN:
        return exact;
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
    case TL_FLOAT:
    case TL_DOUBLE:
    case TL_DECIMAL:
        return exact;
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return tl_sql__is_binary(from);
    case TL_DATE:
        return is_time_point(from);
    case TL_TIME:
        return from->kind == TL_TIME || from->kind == TL_TIMESTAMP || from->kind == TL_TIMESTAMP_LTZ;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return is_time_point(from) || from->kind == TL_TIME;
    default:
        return from->kind == to->kind;
    }
}
