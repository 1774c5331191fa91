/*
 * Expressions: names to columns, operators and CASE to typed trees with the casts that Flink puts in. Constant parts are
 * computed here; one that fails is left as it is, so that it fails only where it runs.
 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "sql/bind.h"

tl_expr *tl_bind__new_expr(tl_binder *b, tl_expr_kind kind, const tl_type *type, const tl_ast *at)
{
    tl_expr *e = tl_arena_calloc(b->arena, 1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->kind = kind;
    e->type = type;
    e->line = at != NULL ? at->line : 0;
    e->position = at != NULL ? at->position : 0;
    return e;
}

tl_status tl_bind__column(tl_binder *b, int32_t column, const tl_type *type, const tl_ast *at, tl_expr **out)
{
    tl_expr *e = tl_bind__new_expr(b, TL_EXPR_COLUMN, type, at);
    BIND_ALLOC(b, e);
    e->column = column;
    *out = e;
    return TL_OK;
}

/* ---- literals ---- */

tl_status tl_bind__literal(tl_binder *b, tl_column *col, const tl_ast *at, tl_expr **out)
{
    TL_TRY(tl_sql__own_column(b->stmt, col, b->err));
    const tl_type *type;
    TL_TRY(tl_bind__nullable(b, col->type, tl_col_is_null(col, 0), &type));
    tl_expr *e = tl_bind__new_expr(b, TL_EXPR_LITERAL, type, at);
    BIND_ALLOC(b, e);
    e->literal = col;
    *out = e;
    return TL_OK;
}

tl_status tl_bind__null(tl_binder *b, const tl_type *type, const tl_ast *at, tl_expr **out)
{
    tl_column *col;
    TL_TRY(tl_bind__nullable(b, type, true, &type));
    TL_TRY(tl_column_nulls(type, 1, &col, b->err));
    return tl_bind__literal(b, col, at, out);
}

tl_status tl_bind__int_literal(tl_binder *b, int64_t v, const tl_ast *at, tl_expr **out)
{
    const tl_type *type;
    TL_TRY(tl_bind__simple_type(b, v >= INT32_MIN && v <= INT32_MAX ? TL_INT : TL_BIGINT, false, 0, 0, &type));
    tl_column *col;
    TL_TRY(tl_column_alloc(type, 1, &col, b->err));
    if (type->kind == TL_INT)
        *(int32_t *)col->values = (int32_t)v;
    else
        *(int64_t *)col->values = v;
    return tl_bind__literal(b, col, at, out);
}

tl_status tl_bind__bool_literal(tl_binder *b, bool v, const tl_ast *at, tl_expr **out)
{
    const tl_type *type;
    TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, false, 0, 0, &type));
    tl_column *col;
    TL_TRY(tl_column_alloc(type, 1, &col, b->err));
    *(uint8_t *)col->values = v;
    return tl_bind__literal(b, col, at, out);
}

/** One value through a builder; `fill` appends it. */
static tl_status bytes_literal(tl_binder *b, const tl_type *type, const void *data, size_t bytes, const tl_ast *at, tl_expr **out)
{
    tl_builder *builder;
    TL_TRY(tl_builder_create(type, &builder, b->err));
    tl_column *col = NULL;
    tl_status status = tl_builder_bytes(builder, data, bytes);
    status = status == TL_OK ? tl_builder_finish(builder, &col, b->err) : tl_nomem(b->err, "literal");
    tl_builder_free(builder);
    TL_TRY(status);
    return tl_bind__literal(b, col, at, out);
}

/** The length of a text literal's type: in UTF-16 units, as Flink counts there. */
static int32_t count_characters(const char *text, size_t bytes)
{
    int32_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += (((unsigned char)text[i] & 0xC0) != 0x80) + ((unsigned char)text[i] >= 0xF0);
    return n;
}

tl_status tl_bind__text_literal(tl_binder *b, const char *text, size_t bytes, const tl_ast *at, tl_expr **out)
{
    /* CHAR(0) is no type that can be stored; '' is VARCHAR(1). */
    int32_t n = count_characters(text, bytes);
    const tl_type *type;
    TL_TRY(tl_bind__simple_type(b, n == 0 ? TL_VARCHAR : TL_CHAR, false, TL_MAX(n, 1), 0, &type));
    return bytes_literal(b, type, text, bytes, at, out);
}

/** The number `text`, maybe with a sign: -2147483648 is an INT. */
static tl_status number_literal(tl_binder *b, const char *text, const tl_ast *ast, tl_expr **out)
{
    const char *written = text;
    tl_bytes_view view = {(const uint8_t *)text, strlen(text)};
    const tl_type *type;
    if (strpbrk(text, "eE") != NULL) {
        TL_TRY(tl_bind__simple_type(b, TL_DOUBLE, false, 0, 0, &type));
    } else {
        const char *dot = strchr(text, '.'), *first = text + (text[0] == '-');
        size_t digits = strlen(first) - (dot != NULL);
        size_t scale = dot != NULL ? strlen(dot + 1) : 0;
        errno = 0;
        long long v = strtoll(text, NULL, 10);
        if (dot == NULL && errno == 0)
            return tl_bind__int_literal(b, v, ast, out);
        for (; digits > 38 && first[0] == '0' && digits > scale; first++)
            digits--;
        if (digits > 38)
            return BIND_ERROR(b, ast, "number '%s' has more than 38 digits", written);
        TL_TRY(tl_bind__decimal(b, TL_MAX((int32_t)digits, 1), (int32_t)scale, false, &type));
    }
    tl_builder *builder;
    TL_TRY(tl_builder_create(type, &builder, b->err));
    tl_column *col = NULL;
    tl_status status = TL_OK;
    if (type->kind == TL_DOUBLE) {
        status = tl_builder_f64(builder, strtod(text, NULL) + 0.0); /* -0e0 is 0 */
    } else {
        tl_i128 v;
        if (!tl_decimal_parse(view, type->precision, type->scale, &v))
            status = BIND_ERROR(b, ast, "'%s' is no number", written);
        else
            status = tl_builder_i128(builder, v);
    }
    if (status == TL_OK)
        status = tl_builder_finish(builder, &col, b->err);
    tl_builder_free(builder);
    TL_TRY(status);
    return tl_bind__literal(b, col, ast, out);
}

/* ---- constants and casts ---- */

tl_status tl_bind__fold(tl_binder *b, tl_expr *e, tl_column **out)
{
    *out = NULL;
    if (e->kind == TL_EXPR_LITERAL) {
        *out = tl_column_ref(e->literal);
        return TL_OK;
    }
    if (tl_expr__is_volatile(e) || tl_expr__has_kind(e, TL_EXPR_COLUMN) || tl_expr__has_kind(e, TL_EXPR_OUTER) || tl_expr__has_kind(e, TL_EXPR_SUBQUERY) ||
        tl_expr__has_kind(e, TL_EXPR__AGG) || tl_expr__has_kind(e, TL_EXPR__OVER))
        return TL_OK;
    const char *name = "v";
    const tl_type *input, *output;
    TL_TRY(tl_bind__row_type(b, NULL, NULL, 0, &input));
    TL_TRY(tl_bind__row_type(b, &name, &e->type, 1, &output));
    TL_CLEANUP(tl_sql_program_freep) tl_sql_program *program = NULL;
    const tl_expr *exprs[] = {e};
    TL_TRY(tl_sql_program_create(&b->stmt->env, input, NULL, exprs, 1, output, &program, b->err));
    TL_CLEANUP(tl_batch_freep) tl_batch *one = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(input, 1, &one, b->err));
    TL_TRY(tl_sql_program_run(program, one, &result, b->err));
    *out = tl_column_ref(result->cols[0]);
    return TL_OK;
}

/** Replace an expression over constants by its value, if it has one. */
static tl_status try_fold(tl_binder *b, tl_expr **e)
{
    for (int32_t i = 0; i < (*e)->n_args; i++)
        if ((*e)->args[i]->kind != TL_EXPR_LITERAL)
            return TL_OK;
    if ((*e)->n_args == 0 || tl_sql__is_interval((*e)->type) || b->session->keeps_constants)
        return TL_OK;
    tl_error ignored = {0};
    tl_error *saved = b->err;
    tl_column *value = NULL;
    b->err = &ignored;
    tl_status status = tl_bind__fold(b, *e, &value);
    b->err = saved;
    if (status == TL_E_NOMEM)
        return tl_nomem(b->err, "constant");
    if (status != TL_OK || value == NULL)
        return TL_OK;
    const tl_type *type = (*e)->type;
    const tl_ast at = {.line = (*e)->line, .position = (*e)->position};
    TL_TRY(tl_bind__literal(b, value, &at, e));
    (*e)->type = type; /* a function's type stays what its rule says */
    return TL_OK;
}

tl_status tl_bind__cast(tl_binder *b, tl_expr *e, const tl_type *type, bool is_try, tl_expr **out)
{
    const tl_ast at = {.line = e->line, .position = e->position};
    if (tl_sql__is_null_type(e->type))
        return tl_bind__null(b, type, &at, out);
    const tl_type *result;
    TL_TRY(tl_bind__nullable(b, type, e->type->nullable || is_try, &result));
    tl_expr *cast = tl_bind__new_expr(b, TL_EXPR_CAST, result, &at);
    BIND_ALLOC(b, cast);
    cast->args = tl_arena_alloc(b->arena, sizeof *cast->args);
    BIND_ALLOC(b, cast->args);
    cast->args[0] = e;
    cast->n_args = 1;
    cast->is_try = is_try;
    TL_TRY(try_fold(b, &cast));
    *out = cast;
    return TL_OK;
}

tl_status tl_bind__coerce(tl_binder *b, tl_expr *e, const tl_type *type, tl_expr **out)
{
    if (!tl_sql__is_null_type(e->type) && tl_type_equal(e->type, type, /* with_nullable= */ false) &&
        tl_sql__is_interval(e->type) == tl_sql__is_interval(type)) {
        *out = e;
        return TL_OK;
    }
    return tl_bind__cast(b, e, type, /* is_try= */ false, out);
}

static tl_status bind_cast(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr *e;
    const tl_type *type;
    TL_TRY(tl_bind__expr(b, ast->kid[0], &e));
    TL_TRY(tl_bind__interval_cast(b, ast, e, out));
    if (*out != NULL)
        return TL_OK;
    TL_TRY(tl_bind__ast_type(b, ast->kid[1], &type));
    if (!tl_bind__can_cast(e->type, type)) {
        if (e->type->kind == TL_TIMESTAMP && tl_sql__is_numeric(type))
            return BIND_ERROR(b, ast, "The cast from TIMESTAMP type to NUMERIC type is not allowed. It's recommended to use "
                                      "UNIX_TIMESTAMP(CAST(timestamp_col AS STRING)) instead.");
        return BIND_ERROR(b, ast, "Cast function cannot convert value of type %s to type %s", tl_bind__type_text(b, e->type), tl_bind__type_text(b, type));
    }
    return tl_bind__cast(b, e, type, (ast->flags & AST_F_TRY) != 0, out);
}

/* ---- names ---- */

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool matches(const tl_scope_column *c, const tl_ast *const *ids, int qualifiers)
{
    if (!same(c->name, ids[qualifiers]->text))
        return false;
    switch (qualifiers) {
    case 0:
        return !c->qualified_only;
    case 1:
        return same(c->rel, ids[0]->text);
    case 2:
        return same(c->rel, ids[1]->text) && same(c->db, ids[0]->text);
    default:
        return same(c->rel, ids[2]->text) && same(c->db, ids[1]->text) && same(c->catalog, ids[0]->text);
    }
}

/** Find the column in one scope; *used: how many parts of the name it took. NULL if there is none. */
static tl_status find_in_scope(tl_binder *b, const tl_scope *scope, const tl_ast *name, const tl_ast *const *ids, int n, const tl_scope_column **found, int *used)
{
    *found = NULL;
    for (int qualifiers = TL_MIN(3, n - 1); qualifiers >= 0; qualifiers--) {
        for (int32_t i = 0; i < scope->n_columns; i++) {
            const tl_scope_column *c = &scope->columns[i];
            if (!matches(c, ids, qualifiers))
                continue;
            if (*found != NULL && (*found)->column != c->column)
                return BIND_ERROR(b, name, "Column '%s' is ambiguous", ids[qualifiers]->text);
            *found = c;
        }
        if (*found != NULL) {
            *used = qualifiers + 1;
            return TL_OK;
        }
    }
    return TL_OK;
}

static bool has_relation(const tl_scope *scope, const char *rel)
{
    for (; scope != NULL; scope = scope->outer)
        for (int32_t i = 0; i < scope->n_columns; i++)
            if (same(scope->columns[i].rel, rel))
                return true;
    return false;
}

static tl_status bind_field(tl_binder *b, tl_expr *row, const char *field, const tl_ast *at, tl_expr **out)
{
    if (row->type->kind != TL_ROW)
        return BIND_ERROR(b, at, "Column '%s' not found: what stands before it is %s, no ROW", field, tl_bind__type_text(b, row->type));
    int32_t i = tl_type_field_index(row->type, field);
    if (i < 0)
        return BIND_ERROR(b, at, "Column '%s' not found in %s", field, tl_bind__type_text(b, row->type));
    tl_expr *args[2] = {row, NULL};
    TL_TRY(tl_bind__int_literal(b, i, at, &args[1]));
    return tl_bind__function(b, "$FIELD", args, 2, at, out);
}

/** CURRENT_DATE and others that are written without parentheses. */
static const char *const bare_functions[] = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"};

static tl_status bind_name(tl_binder *b, const tl_ast *name, tl_expr **out)
{
    enum { PARTS_MAX = 32 };
    const tl_ast *ids[PARTS_MAX];
    int n = 0;
    ids[n++] = tl_ast_first(name);
    for (const tl_ast *id = ids[0]->next; id != NULL; id = id->next) {
        if (n == PARTS_MAX)
            return BIND_ERROR(b, name, "the name has more than %d parts", PARTS_MAX);
        ids[n++] = id;
    }
    if (n == 1)
        for (size_t i = 0; i < TL_ARRAY_LEN(bare_functions); i++)
            if (strcasecmp(ids[0]->text, bare_functions[i]) == 0)
                return tl_bind__function(b, bare_functions[i], NULL, 0, name, out);
    const tl_scope_column *found = NULL;
    int used = 0;
    int32_t level = 0;
    const tl_scope *scope = b->scope;
    for (; scope != NULL && found == NULL; scope = scope->outer, level++) {
        TL_TRY(find_in_scope(b, scope, name, ids, n, &found, &used));
        if (found != NULL)
            break;
    }
    if (found == NULL && n > 1 && !has_relation(b->scope, ids[0]->text))
        return BIND_ERROR(b, name, "Table '%s' not found", ids[0]->text);
    if (found == NULL)
        return BIND_ERROR(b, name, "Column '%s' not found in any table", ids[n - 1]->text);
    TL_TRY(tl_bind__column(b, found->column, scope->type->fields[found->column].type, name, out));
    if (level > 0) {
        (*out)->kind = TL_EXPR_OUTER;
        (*out)->level = level;
    }
    for (int i = used; i < n; i++)
        TL_TRY(bind_field(b, *out, ids[i]->text, ids[i], out));
    return TL_OK;
}

/* ---- operators ---- */

tl_status tl_bind__logic(tl_binder *b, tl_expr_kind kind, tl_expr **args, int32_t n, const tl_ast *at, tl_expr **out)
{
    if (n == 1) {
        *out = args[0];
        return TL_OK;
    }
    bool nullable = false;
    for (int32_t i = 0; i < n; i++)
        nullable = nullable || args[i]->type->nullable;
    const tl_type *type;
    TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, nullable, 0, 0, &type));
    tl_expr *e = tl_bind__new_expr(b, kind, type, at);
    BIND_ALLOC(b, e);
    e->args = args;
    e->n_args = n;
    TL_TRY(try_fold(b, &e));
    *out = e;
    return TL_OK;
}

tl_status tl_bind__condition(tl_binder *b, const tl_ast *ast, const char *clause, tl_expr **out)
{
    TL_TRY(tl_bind__expr(b, ast, out));
    if (tl_sql__is_null_type((*out)->type)) {
        const tl_type *type;
        TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, true, 0, 0, &type));
        return tl_bind__null(b, type, ast, out);
    }
    if ((*out)->type->kind != TL_BOOLEAN)
        return BIND_ERROR(b, ast, "%s must be a condition, but is %s", clause, tl_bind__type_text(b, (*out)->type));
    return TL_OK;
}

static tl_status bind_chain(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    bool is_and = ast->kind == AST_AND;
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)ast->count * sizeof *args);
    BIND_ALLOC(b, args);
    int32_t n = 0;
    for (const tl_ast *kid = ast->kid[0]; kid != NULL; kid = kid->next)
        TL_TRY(tl_bind__condition(b, kid, is_and ? "an operand of AND" : "an operand of OR", &args[n++]));
    return tl_bind__logic(b, is_and ? TL_EXPR_AND : TL_EXPR_OR, args, n, ast, out);
}

static bool is_time_point(const tl_type *type)
{
    return type->kind == TL_DATE || type->kind == TL_TIME || type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ;
}

/** One side of a comparison. A text of a column that is no time, beside a time, is NULL to = and <>; it is an error to < and the like. */
static tl_status compared_as(tl_binder *b, const tl_type *common, bool ordered, tl_expr **side)
{
    if (ordered || (*side)->kind == TL_EXPR_LITERAL || !is_time_point(common) || !tl_sql__is_text((*side)->type))
        return tl_bind__coerce(b, *side, common, side);
    return tl_bind__cast(b, *side, common, /* is_try= */ true, side);
}

/** Both sides to a type in which they can be compared; false if there is none. */
static tl_status comparable(tl_binder *b, tl_expr **left, tl_expr **right, bool ordered, bool *good)
{
    const tl_type *common = NULL;
    if (is_time_point((*left)->type) && tl_sql__is_text((*right)->type))
        common = (*left)->type;
    else if (tl_sql__is_text((*left)->type) && is_time_point((*right)->type))
        common = (*right)->type;
    else
        TL_TRY(tl_bind__wider_type(b, (*left)->type, (*right)->type, &common));
    *good = common != NULL;
    if (common == NULL || (tl_sql__is_text((*left)->type) && tl_sql__is_text((*right)->type)))
        return TL_OK;
    if (tl_sql__is_null_type(common))
        TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, true, 0, 0, &common));
    TL_TRY(compared_as(b, common, ordered, left));
    return compared_as(b, common, ordered, right);
}

static const char *type_name_of(tl_binder *b, const tl_type *type)
{
    if (type->kind == TL_INT && !tl_sql__is_null_type(type) && !tl_sql__is_interval(type))
        return "INTEGER";
    const tl_type *nullable;
    return tl_bind__nullable(b, type, true, &nullable) == TL_OK ? tl_bind__type_text(b, nullable) : "?";
}

/** Whether a value or a part of it may be NULL: then its comparison may be, too. */
static bool may_hold_null(const tl_type *type)
{
    for (int32_t i = 0; type->kind == TL_ROW && i < type->n_fields; i++)
        if (may_hold_null(type->fields[i].type))
            return true;
    return type->nullable;
}

tl_status tl_bind__compare(tl_binder *b, const char *op, tl_expr *left, tl_expr *right, const tl_ast *at, tl_expr **out)
{
    tl_expr *args[2] = {left, right};
    bool good, ordered = (op[0] == '<' || op[0] == '>') && strcmp(op, "<>") != 0;
    TL_TRY(comparable(b, &args[0], &args[1], ordered, &good));
    if (good && ordered && args[0]->type->n_fields > 0)
        good = false;
    if (!good)
        return BIND_ERROR(b, at, "Cannot apply '%s' to arguments of type '<%s> %s <%s>'", op, type_name_of(b, left->type), op, type_name_of(b, right->type));
    bool nullable = may_hold_null(args[0]->type) || may_hold_null(args[1]->type);
    TL_TRY(tl_bind__function(b, op, args, 2, at, out));
    return strncmp(op, "IS ", 3) == 0 ? TL_OK : tl_bind__nullable(b, (*out)->type, nullable, &(*out)->type);
}

static tl_status bind_arithmetic(tl_binder *b, const tl_ast *ast, tl_expr *left, tl_expr *right, tl_expr **out)
{
    char op = ast->text[0];
    *out = NULL;
    if (op == '+' || op == '-' || op == '*' || op == '/')
        TL_TRY(tl_bind__temporal_arithmetic(b, op, left, right, ast, out));
    if (*out != NULL)
        return TL_OK;
    const tl_type *type = NULL, *l = left->type, *r = right->type;
    if (tl_sql__is_null_type(l))
        l = r;
    if (tl_sql__is_null_type(r))
        r = l;
    if (!tl_sql__is_null_type(l))
        TL_TRY(tl_bind__arithmetic_type(b, op, l, r, &type));
    if (type == NULL)
        return BIND_ERROR(b, ast, "Cannot apply '%s' to arguments of type '<%s> %s <%s>'. Supported form(s): '<NUMERIC> %s <NUMERIC>'", ast->text,
                          type_name_of(b, left->type), ast->text, type_name_of(b, right->type), ast->text);
    TL_TRY(tl_bind__coerce(b, left, l, &left));
    TL_TRY(tl_bind__coerce(b, right, r, &right));
    tl_expr *args[2] = {left, right};
    return tl_bind__function(b, ast->text, args, 2, ast, out);
}

static bool is_compare(const char *op)
{
    return strcmp(op, "=") == 0 || strcmp(op, "<>") == 0 || strcmp(op, "<") == 0 || strcmp(op, "<=") == 0 || strcmp(op, ">") == 0 || strcmp(op, ">=") == 0 ||
           strcmp(op, "IS DISTINCT FROM") == 0 || strcmp(op, "IS NOT DISTINCT FROM") == 0;
}

/** (a, b) OVERLAPS (c, d): periods given by two ends, or by a start and an interval; ends may come in any order. */
static tl_status bind_overlaps(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr *ends[4];
    for (int side = 0; side < 2; side++) {
        const tl_ast *period = ast->kid[side];
        if (period->kind != AST_ROW || tl_ast_count(period->kid[0]) != 2)
            return BIND_ERROR(b, period, "OVERLAPS needs two pairs");
        const tl_ast *first = tl_ast_first(period->kid[0]);
        tl_expr *from, *to;
        TL_TRY(tl_bind__expr(b, first, &from));
        TL_TRY(tl_bind__expr(b, first->next, &to));
        if (tl_sql__is_interval(to->type)) {
            tl_expr *sum = NULL;
            TL_TRY(tl_bind__temporal_arithmetic(b, '+', from, to, ast, &sum));
            if (sum == NULL)
                return BIND_ERROR(b, period, "OVERLAPS needs a point in time and an interval");
            to = sum;
        }
        tl_expr *both[2] = {from, to};
        TL_TRY(tl_bind__function(b, "LEAST", both, 2, ast, &ends[side * 2]));
        TL_TRY(tl_bind__function(b, "GREATEST", both, 2, ast, &ends[side * 2 + 1]));
    }
    tl_expr **conditions = tl_arena_alloc(b->arena, 2 * sizeof *conditions);
    BIND_ALLOC(b, conditions);
    TL_TRY(tl_bind__compare(b, "<=", ends[0], ends[3], ast, &conditions[0]));
    TL_TRY(tl_bind__compare(b, "<=", ends[2], ends[1], ast, &conditions[1]));
    return tl_bind__logic(b, TL_EXPR_AND, conditions, 2, ast, out);
}

static tl_status bind_binary(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    if (strcmp(ast->text, "OVERLAPS") == 0)
        return bind_overlaps(b, ast, out);
    tl_expr *args[3];
    TL_TRY(tl_bind__expr(b, ast->kid[0], &args[0]));
    TL_TRY(tl_bind__expr(b, ast->kid[1], &args[1]));
    if (is_compare(ast->text))
        return tl_bind__compare(b, ast->text, args[0], args[1], ast, out);
    int32_t n = 2;
    if (strcmp(ast->text, "LIKE") == 0 || strcmp(ast->text, "SIMILAR TO") == 0) {
        if (ast->kid[2] != NULL)
            TL_TRY(tl_bind__expr(b, ast->kid[2], &args[n++]));
        return tl_bind__function(b, ast->text, args, n, ast, out);
    }
    if (strcmp(ast->text, "||") == 0)
        return tl_bind__function(b, "||", args, n, ast, out);
    return bind_arithmetic(b, ast, args[0], args[1], out);
}

static tl_status bind_unary(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr *arg;
    if (strcmp(ast->text, "NOT") == 0) {
        TL_TRY(tl_bind__condition(b, ast->kid[0], "the operand of NOT", &arg));
        return tl_bind__function(b, "NOT", &arg, 1, ast, out);
    }
    if (strcmp(ast->text, "-") == 0 && ast->kid[0]->kind == AST_NUMBER) {
        const char *text = tl_arena_strf(b->arena, "-%s", ast->kid[0]->text);
        BIND_ALLOC(b, text);
        return number_literal(b, text, ast, out);
    }
    TL_TRY(tl_bind__expr(b, ast->kid[0], &arg));
    if (strcmp(ast->text, "+") == 0 || strcmp(ast->text, "-") == 0) {
        if (!tl_sql__is_numeric(arg->type) && !tl_sql__is_interval(arg->type) && !tl_sql__is_null_type(arg->type))
            return BIND_ERROR(b, ast, "Cannot apply '%s' to arguments of type '%s<%s>'", ast->text, ast->text, type_name_of(b, arg->type));
        if (ast->text[0] == '+') {
            *out = arg;
            return TL_OK;
        }
        return tl_bind__function(b, "NEGATE", &arg, 1, ast, out);
    }
    if (tl_sql__is_null_type(arg->type)) { /* NULL IS …: any type will do */
        const tl_type *type;
        TL_TRY(tl_bind__simple_type(b, strncmp(ast->text, "IS JSON", 7) == 0 ? TL_VARCHAR : TL_BOOLEAN, true, TL_LENGTH_MAX, 0, &type));
        TL_TRY(tl_bind__null(b, type, ast, &arg));
    }
    return tl_bind__function(b, ast->text, &arg, 1, ast, out);
}

static tl_status bind_between(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr *v, *low, *high;
    TL_TRY(tl_bind__expr(b, ast->kid[0], &v));
    TL_TRY(tl_bind__expr(b, ast->kid[1], &low));
    TL_TRY(tl_bind__expr(b, ast->kid[2], &high));
    if (tl_sql__is_numeric(v->type) && tl_sql__is_text(low->type)) /* a number between texts, which no other comparison takes */
        TL_TRY(tl_bind__cast(b, low, v->type, /* is_try= */ false, &low));
    if (tl_sql__is_numeric(v->type) && tl_sql__is_text(high->type))
        TL_TRY(tl_bind__cast(b, high, v->type, /* is_try= */ false, &high));
    tl_expr **conditions = tl_arena_alloc(b->arena, 2 * sizeof *conditions);
    BIND_ALLOC(b, conditions);
    tl_expr *result;
    TL_TRY(tl_bind__compare(b, ">=", v, low, ast, &conditions[0]));
    TL_TRY(tl_bind__compare(b, "<=", v, high, ast, &conditions[1]));
    TL_TRY(tl_bind__logic(b, TL_EXPR_AND, conditions, 2, ast, &result));
    if ((ast->flags & AST_F_SYMMETRIC) != 0) {
        tl_expr **others = tl_arena_alloc(b->arena, 2 * sizeof *others);
        tl_expr **either = tl_arena_alloc(b->arena, 2 * sizeof *either);
        BIND_ALLOC(b, others);
        BIND_ALLOC(b, either);
        TL_TRY(tl_bind__compare(b, ">=", v, high, ast, &others[0]));
        TL_TRY(tl_bind__compare(b, "<=", v, low, ast, &others[1]));
        either[0] = result;
        TL_TRY(tl_bind__logic(b, TL_EXPR_AND, others, 2, ast, &either[1]));
        TL_TRY(tl_bind__logic(b, TL_EXPR_OR, either, 2, ast, &result));
    }
    if ((ast->flags & AST_F_NOT) != 0)
        return tl_bind__function(b, "NOT", &result, 1, ast, out);
    *out = result;
    return TL_OK;
}

/* ---- IN, CASE, constructors ---- */

/** Coerce all to one type; an error that names what they are. */
static tl_status coerce_all(tl_binder *b, tl_expr **exprs, int32_t n, int32_t step_from, int32_t step, const char *what, const tl_ast *at, const tl_type **out)
{
    const tl_type *common = exprs[step_from]->type;
    for (int32_t i = step_from + step; i < n; i += step) {
        const tl_type *next;
        TL_TRY(tl_bind__common_type(b, common, exprs[i]->type, &next));
        if (next == NULL)
            return BIND_ERROR(b, at, "%s have no common type: %s and %s", what, tl_bind__type_text(b, common), tl_bind__type_text(b, exprs[i]->type));
        common = next;
    }
    for (int32_t i = step_from; i < n && !tl_sql__is_null_type(common); i += step)
        TL_TRY(tl_bind__coerce(b, exprs[i], common, &exprs[i]));
    *out = common;
    return TL_OK;
}

/** A text IN a list with numbers, dates and the like: these are compared as texts. (The other way round nothing is compared.) */
static tl_status listed_as_text(tl_binder *b, tl_expr **args, int32_t n)
{
    for (int32_t i = 1; tl_sql__is_text(args[0]->type) && i < n; i++) {
        const tl_type *string;
        if (args[i]->type->n_fields > 0 || tl_sql__is_text(args[i]->type) || tl_sql__is_null_type(args[i]->type))
            continue;
        TL_TRY(tl_bind__simple_type(b, TL_VARCHAR, args[i]->type->nullable, TL_LENGTH_MAX, 0, &string));
        TL_TRY(tl_bind__cast(b, args[i], string, /* is_try= */ false, &args[i]));
    }
    return TL_OK;
}

static tl_status bind_in_list(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    int32_t n = ast->kid[1]->count + 1, i = 1;
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)n * sizeof *args);
    BIND_ALLOC(b, args);
    TL_TRY(tl_bind__expr(b, ast->kid[0], &args[0]));
    for (const tl_ast *kid = tl_ast_first(ast->kid[1]); kid != NULL; kid = kid->next, i++) {
        TL_TRY(tl_bind__expr(b, kid, &args[i]));
        if (is_time_point(args[0]->type) && tl_sql__is_text(args[i]->type))
            TL_TRY(tl_bind__coerce(b, args[i], args[0]->type, &args[i]));
    }
    const tl_type *common;
    TL_TRY(listed_as_text(b, args, n));
    TL_TRY(coerce_all(b, args, n, 0, 1, "the values of IN", ast, &common));
    bool constant = true; /* the kernel wants values: a cast that fails is none */
    for (i = 1; i < n; i++)
        constant = constant && args[i]->kind == TL_EXPR_LITERAL;
    if (constant && common->n_fields == 0 && !tl_sql__is_null_type(common)) {
        TL_TRY(tl_bind__function(b, "IN", args, n, ast, out));
    } else {
        tl_expr **equal = tl_arena_alloc(b->arena, (size_t)n * sizeof *equal);
        BIND_ALLOC(b, equal);
        for (i = 1; i < n; i++)
            TL_TRY(tl_bind__compare(b, "=", args[0], args[i], ast, &equal[i - 1]));
        TL_TRY(tl_bind__logic(b, TL_EXPR_OR, equal, n - 1, ast, out));
    }
    return (ast->flags & AST_F_NOT) != 0 ? tl_bind__function(b, "NOT", out, 1, ast, out) : TL_OK;
}

/** x = ANY (1, 2): over a list it is OR or AND of comparisons. */
static tl_status bind_quantified_list(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr *left;
    TL_TRY(tl_bind__expr(b, ast->kid[0], &left));
    tl_expr **parts = tl_arena_alloc(b->arena, (size_t)ast->kid[1]->count * sizeof *parts);
    BIND_ALLOC(b, parts);
    int32_t n = 0;
    for (const tl_ast *kid = tl_ast_first(ast->kid[1]); kid != NULL; kid = kid->next, n++) {
        tl_expr *right;
        TL_TRY(tl_bind__expr(b, kid, &right));
        TL_TRY(tl_bind__compare(b, ast->text, left, right, ast, &parts[n]));
    }
    return tl_bind__logic(b, (ast->flags & AST_F_ALL) != 0 ? TL_EXPR_AND : TL_EXPR_OR, parts, n, ast, out);
}

tl_status tl_bind__case(tl_binder *b, tl_expr **args, int32_t n, const tl_ast *at, tl_expr **out)
{
    /* Values stand at odd places, the else last. */
    tl_expr **values = tl_arena_alloc(b->arena, (size_t)(n / 2 + 1) * sizeof *values);
    BIND_ALLOC(b, values);
    int32_t n_values = 0;
    for (int32_t i = 1; i < n; i += 2)
        values[n_values++] = args[i];
    values[n_values++] = args[n - 1];
    const tl_type *type;
    TL_TRY(coerce_all(b, values, n_values, 0, 1, "the values of CASE", at, &type));
    bool nullable = false;
    for (int32_t i = 0; i < n_values; i++) {
        args[i + 1 < n_values ? i * 2 + 1 : n - 1] = values[i];
        nullable = nullable || values[i]->type->nullable;
    }
    TL_TRY(tl_bind__nullable(b, type, nullable, &type));
    tl_expr *e = tl_bind__new_expr(b, TL_EXPR_CASE, type, at);
    BIND_ALLOC(b, e);
    e->args = args;
    e->n_args = n;
    TL_TRY(try_fold(b, &e));
    *out = e;
    return TL_OK;
}

static tl_status bind_case(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    int32_t n = ast->kid[1]->count + 1, i = 0;
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)n * sizeof *args);
    BIND_ALLOC(b, args);
    tl_expr *operand = NULL;
    if (ast->kid[0] != NULL)
        TL_TRY(tl_bind__expr(b, ast->kid[0], &operand));
    for (const tl_ast *kid = tl_ast_first(ast->kid[1]); kid != NULL; kid = kid->next, i++) {
        if (i % 2 == 1) {
            TL_TRY(tl_bind__expr(b, kid, &args[i]));
        } else if (operand == NULL) {
            TL_TRY(tl_bind__condition(b, kid, "WHEN", &args[i]));
        } else {
            tl_expr *value;
            TL_TRY(tl_bind__expr(b, kid, &value));
            TL_TRY(tl_bind__compare(b, "=", operand, value, kid, &args[i]));
        }
    }
    if (ast->kid[2] != NULL)
        TL_TRY(tl_bind__expr(b, ast->kid[2], &args[i]));
    else
        TL_TRY(tl_bind__null(b, &tl_sql__null_type, ast, &args[i]));
    return tl_bind__case(b, args, n, ast, out);
}

static tl_status bind_list(tl_binder *b, const tl_ast *list, tl_expr ***out, int32_t *n)
{
    *n = 0;
    *out = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(list) + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    for (const tl_ast *kid = tl_ast_first(list); kid != NULL; kid = kid->next)
        TL_TRY(tl_bind__expr(b, kid, &(*out)[(*n)++]));
    return TL_OK;
}

static tl_status bind_row(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr **args;
    int32_t n;
    TL_TRY(bind_list(b, ast->kid[0], &args, &n));
    return tl_bind__function(b, "ROW", args, n, ast, out);
}

static tl_status bind_array(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    if (ast->kid[0] != NULL && ast->kid[0]->kind == AST_QUERY)
        return tl_error_set(b->err, TL_E_UNSUPPORTED, "line %d:%d: ARRAY(SELECT …) is not there yet", (int)ast->line, (int)ast->position);
    tl_expr **args;
    int32_t n;
    const tl_type *type;
    TL_TRY(bind_list(b, ast->kid[0], &args, &n));
    if (n > 0)
        TL_TRY(coerce_all(b, args, n, 0, 1, "the elements of ARRAY", ast, &type));
    return tl_bind__function(b, "ARRAY", args, n, ast, out);
}

static tl_status bind_map(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr **args;
    int32_t n;
    const tl_type *type;
    TL_TRY(bind_list(b, ast->kid[0], &args, &n));
    if (n % 2 != 0)
        return BIND_ERROR(b, ast, "MAP needs keys and values in pairs");
    if (n > 0) {
        TL_TRY(coerce_all(b, args, n, 0, 2, "the keys of MAP", ast, &type));
        TL_TRY(coerce_all(b, args, n, 1, 2, "the values of MAP", ast, &type));
    }
    return tl_bind__function(b, "MAP", args, n, ast, out);
}

static tl_status bind_index(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    tl_expr *args[2];
    TL_TRY(tl_bind__expr(b, ast->kid[0], &args[0]));
    TL_TRY(tl_bind__expr(b, ast->kid[1], &args[1]));
    if (args[0]->type->kind == TL_MAP)
        TL_TRY(tl_bind__coerce(b, args[1], args[0]->type->fields[0].type, &args[1]));
    else if (args[1]->kind == TL_EXPR_LITERAL && args[1]->type->kind == TL_INT && !tl_col_is_null(args[1]->literal, 0) && tl_col_i32(args[1]->literal, 0) < 1)
        return BIND_ERROR(b, ast, "Array element access needs an index starting at 1 but was %d.", (int)tl_col_i32(args[1]->literal, 0));
    return tl_bind__function(b, "$INDEX", args, 2, ast, out);
}

/* ---- functions ---- */

/** Whether an argument fits a letter of a signature, and the type to cast it to (NULL: as it is). */
static tl_status fit_argument(tl_binder *b, char letter, const tl_expr *arg, bool *fits, const tl_type **to)
{
    const tl_type *t = arg->type;
    bool null = tl_sql__is_null_type(t);
    *to = NULL;
    switch (letter) {
    case 'S':
        *fits = null || tl_sql__is_text(t);
        return null ? tl_bind__simple_type(b, TL_VARCHAR, true, TL_LENGTH_MAX, 0, to) : TL_OK;
    case 'Y':
        *fits = null || tl_sql__is_binary(t);
        return null ? tl_bind__simple_type(b, TL_VARBINARY, true, TL_LENGTH_MAX, 0, to) : TL_OK;
    case 'B':
        *fits = null || t->kind == TL_BOOLEAN;
        return null ? tl_bind__simple_type(b, TL_BOOLEAN, true, 0, 0, to) : TL_OK;
    case 'I':
        *fits = null || tl_sql__is_integer(t);
        return t->kind != TL_INT || null ? tl_bind__simple_type(b, TL_INT, t->nullable, 0, 0, to) : TL_OK;
    case 'L':
        *fits = null || tl_sql__is_integer(t);
        return t->kind != TL_BIGINT ? tl_bind__simple_type(b, TL_BIGINT, t->nullable, 0, 0, to) : TL_OK;
    case 'D':
        *fits = null || tl_sql__is_numeric(t);
        return t->kind != TL_DOUBLE ? tl_bind__simple_type(b, TL_DOUBLE, t->nullable, 0, 0, to) : TL_OK;
    case 'N':
        *fits = null || tl_sql__is_numeric(t);
        return null ? tl_bind__simple_type(b, TL_DOUBLE, true, 0, 0, to) : TL_OK;
    case 'E':
        *fits = t->kind == TL_DECIMAL || tl_sql__is_integer(t);
        return TL_OK;
    case 'd':
        *fits = t->kind == TL_DATE;
        return TL_OK;
    case 'm':
        *fits = t->kind == TL_TIME;
        return TL_OK;
    case 'T':
        *fits = null || t->kind == TL_TIMESTAMP;
        return null ? tl_bind__simple_type(b, TL_TIMESTAMP, true, 3, 0, to) : TL_OK;
    case 'Z':
        *fits = t->kind == TL_TIMESTAMP_LTZ;
        return TL_OK;
    case 'v':
        *fits = tl_sql__is_interval(t);
        return TL_OK;
    case 'A':
        *fits = t->kind == TL_ARRAY;
        return TL_OK;
    case 'P':
        *fits = t->kind == TL_MAP || t->kind == TL_MULTISET;
        return TL_OK;
    case 'R':
        *fits = t->kind == TL_ROW;
        return TL_OK;
    default: /* X, = */
        *fits = true;
        return TL_OK;
    }
}

/** Whether arguments fit the signature; casts are written to `to`. */
static tl_status fit_signature(tl_binder *b, const tl_sql_function *fn, tl_expr *const *args, int32_t n, const tl_type **to, bool *fits)
{
    const char *p = fn->args;
    bool optional = false;
    char letter = '\0';
    *fits = false;
    for (int32_t i = 0; i < n; i++) {
        if (*p == '?') {
            optional = true;
            p++;
        }
        if (*p != '*')
            letter = *p != '\0' ? *p++ : '\0';
        if (letter == '\0')
            return TL_OK;
        bool good;
        TL_TRY(fit_argument(b, letter, args[i], &good, &to[i]));
        if (!good)
            return TL_OK;
        if (letter == '=' && i > 0) { /* checked when the common type is made */
            const tl_type *common;
            TL_TRY(tl_bind__common_type(b, args[0]->type, args[i]->type, &common));
            if (common == NULL)
                return TL_OK;
        }
    }
    *fits = optional || *p == '\0' || *p == '?' || *p == '*';
    return TL_OK;
}

static tl_status result_type(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    const char *r = fn->result;
    bool nullable = false;
    for (int32_t i = 0; i < n; i++)
        nullable = nullable || args[i]->type->nullable;
    if ((fn->flags & TL_FN_NO_NULL) != 0)
        nullable = false;
    static const struct {
        char letter;
        tl_type_kind kind;
    } kinds[] = {{'S', TL_VARCHAR}, {'Y', TL_VARBINARY}, {'B', TL_BOOLEAN}, {'I', TL_INT}, {'L', TL_BIGINT}, {'D', TL_DOUBLE}, {'d', TL_DATE}, {'m', TL_TIME},
                 {'T', TL_TIMESTAMP}, {'Z', TL_TIMESTAMP_LTZ}};
    int32_t a = *r == 'S' || *r == 'Y' ? TL_LENGTH_MAX : 0;
    char letter = *r++;
    if (*r >= '0' && *r <= '9')
        a = *r++ - '0';
    if (*r == '?')
        nullable = true;
    if (*r == '!')
        nullable = false;
    if (letter >= '0' && letter <= '9')
        return tl_bind__nullable(b, args[letter - '0']->type, nullable, out);
    for (size_t i = 0; i < TL_ARRAY_LEN(kinds); i++)
        if (kinds[i].letter == letter)
            return tl_bind__simple_type(b, kinds[i].kind, nullable, a, 0, out);
    return tl_error_set(b->err, TL_E_INTERNAL, "function %s has no result type", fn->name);
}

/** Letters `=`: all arguments from the first such on, and the one before, to their common type. */
static tl_status unify_arguments(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_ast *at)
{
    const char *eq = strchr(fn->args, '=');
    if (eq == NULL || n < 2)
        return TL_OK;
    int32_t from = (int32_t)(eq - fn->args) - 1;
    for (const char *p = fn->args; p < eq; p++)
        from -= *p == '?';
    const tl_type *common;
    for (int32_t i = from + 1; i < n; i++) {
        TL_TRY(tl_bind__wider_type(b, args[from]->type, args[i]->type, &common));
        if (common != NULL && common->kind == TL_DOUBLE)
            TL_TRY(tl_bind__coerce(b, args[from], common, &args[from]));
    }
    return coerce_all(b, args + from, n - from, 0, 1, "the arguments", at, &common);
}

static tl_status no_such_function(tl_binder *b, const char *name, tl_expr *const *args, int32_t n, bool known, const tl_ast *at)
{
    tl_buf text = {0};
    for (int32_t i = 0; i < n; i++)
        (void)tl_buf_appendf(&text, "%s<%s>", i > 0 ? ", " : "", tl_bind__family(args[i]->type));
    if (strcmp(name, "$INDEX") == 0)
        name = "ITEM"; /* a[i] in messages */
    tl_status status = known ? BIND_ERROR(b, at, "Cannot apply '%s' to arguments of type '%s(%.*s)'", name, name, (int)text.len, text.len > 0 ? (const char *)text.data : "")
                             : BIND_ERROR(b, at, "No match found for function signature %s(%.*s)", name, (int)text.len, text.len > 0 ? (const char *)text.data : "");
    tl_buf_deinit(&text);
    return status;
}

static tl_status make_call(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_ast *at, tl_expr **out)
{
    const tl_type *type = NULL;
    if (fn->rule != NULL)
        TL_TRY(tl_error_wrap(b->err, fn->rule(b, fn, args, n, &type), "line %d:%d", at != NULL ? (int)at->line : 0, at != NULL ? (int)at->position : 0));
    if (type == NULL)
        TL_TRY(result_type(b, fn, args, n, &type));
    tl_expr *e = tl_bind__new_expr(b, TL_EXPR_CALL, type, at);
    BIND_ALLOC(b, e);
    e->fn = fn;
    e->args = args;
    e->n_args = n;
    TL_TRY(try_fold(b, &e));
    *out = e;
    return TL_OK;
}

tl_status tl_bind__function(tl_binder *b, const char *name, tl_expr **given, int32_t n, const tl_ast *at, tl_expr **out)
{
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *args);
    const tl_type **to = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *to);
    BIND_ALLOC(b, args);
    BIND_ALLOC(b, to);
    for (int32_t i = 0; i < n; i++) { /* functions know arrays: what they make of a VECTOR has another length */
        const tl_type *array = given[i]->type;
        if (array->kind == TL_VECTOR)
            TL_TRY(tl_bind__array_of(b, array, &array));
        TL_TRY(tl_bind__coerce(b, given[i], array, &args[i]));
    }
    given = args;
    const tl_sql_function *fn = NULL;
    bool known = false;
    while ((fn = tl_fn_find(name, fn)) != NULL) {
        known = true;
        bool fits;
        TL_TRY(fit_signature(b, fn, given, n, to, &fits));
        if (fits)
            break;
    }
    if (fn == NULL)
        return no_such_function(b, name, given, n, known, at);
    for (int32_t i = 0; i < n; i++) {
        if (to[i] != NULL)
            TL_TRY(tl_bind__coerce(b, args[i], to[i], &args[i]));
    }
    TL_TRY(unify_arguments(b, fn, args, n, at));
    return make_call(b, fn, args, n, at, out);
}

tl_status tl_bind__constant_int(tl_binder *b, const tl_ast *ast, const char *what, int64_t *out)
{
    tl_expr *e;
    TL_TRY(tl_bind__expr(b, ast, &e));
    if (e->kind != TL_EXPR_LITERAL || !tl_sql__is_integer(e->type) || tl_col_is_null(e->literal, 0))
        return BIND_ERROR(b, ast, "%s must be a whole number", what);
    *out = e->type->kind == TL_BIGINT ? tl_col_i64(e->literal, 0) : e->type->kind == TL_INT ? tl_col_i32(e->literal, 0) : 0;
    return TL_OK;
}

/* ---- all ---- */

tl_status tl_bind__expr(tl_binder *b, const tl_ast *ast, tl_expr **out)
{
    switch (ast->kind) {
    case AST_NAME:
        return bind_name(b, ast, out);
    case AST_NUMBER:
        return number_literal(b, ast->text, ast, out);
    case AST_STRING:
        return tl_bind__text_literal(b, ast->text, (size_t)ast->count, ast, out);
    case AST_BYTES: {
        const tl_type *type;
        TL_TRY(tl_bind__simple_type(b, TL_BINARY, false, TL_MAX(ast->count, 1), 0, &type));
        return bytes_literal(b, type, ast->text, (size_t)ast->count, ast, out);
    }
    case AST_NULL:
        if (ast->text != NULL) { /* UNKNOWN */
            const tl_type *type;
            TL_TRY(tl_bind__simple_type(b, TL_BOOLEAN, true, 0, 0, &type));
            return tl_bind__null(b, type, ast, out);
        }
        return tl_bind__null(b, &tl_sql__null_type, ast, out);
    case AST_TRUE:
    case AST_FALSE:
        return tl_bind__bool_literal(b, ast->kind == AST_TRUE, ast, out);
    case AST_DATE:
    case AST_TIME:
    case AST_TIMESTAMP:
    case AST_INTERVAL:
    case AST_DISTANCE:
        return tl_bind__temporal_literal(b, ast, out);
    case AST_UNARY:
        return bind_unary(b, ast, out);
    case AST_BINARY:
        return bind_binary(b, ast, out);
    case AST_AND:
    case AST_OR:
        return bind_chain(b, ast, out);
    case AST_BETWEEN:
        return bind_between(b, ast, out);
    case AST_IN:
        return ast->kid[1]->kind == AST_LIST ? bind_in_list(b, ast, out) : tl_bind__subquery(b, ast, out);
    case AST_QUANTIFIED:
        return ast->kid[1]->kind == AST_LIST ? bind_quantified_list(b, ast, out) : tl_bind__subquery(b, ast, out);
    case AST_EXISTS:
    case AST_SUBQUERY:
        return tl_bind__subquery(b, ast, out);
    case AST_CASE:
        return bind_case(b, ast, out);
    case AST_CAST:
        return bind_cast(b, ast, out);
    case AST_CALL:
        return tl_bind__call(b, ast, out);
    case AST_JSON:
        return tl_bind__json(b, ast, out);
    case AST_INDEX:
        return bind_index(b, ast, out);
    case AST_FIELD: {
        tl_expr *row = NULL;
        TL_TRY(tl_bind__expr(b, ast->kid[0], &row));
        return bind_field(b, row, ast->text, ast, out);
    }
    case AST_ROW:
        return bind_row(b, ast, out);
    case AST_ARRAY:
        return bind_array(b, ast, out);
    case AST_MAP:
        return bind_map(b, ast, out);
    case AST_ARG:
        return BIND_ERROR(b, ast, "the function takes no arguments by name (%s => …)", ast->text);
    case AST_DEFAULT:
        return BIND_ERROR(b, ast, "DEFAULT has no meaning here");
    default:
        return BIND_ERROR(b, ast, "this cannot stand in an expression");
    }
}
