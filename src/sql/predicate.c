/*
 * Conditions: split into conjuncts, joined again, and turned into predicates that a scan applies.
 *
 * Only what means the same on both sides is pushed: columns against constants of the column's own type (a cast of the column to
 * a wider number is undone on the constant). FLOAT and DOUBLE stay here: the store orders -0.0 and NaN.
 */
#include "sql/bind.h"

static int32_t count_conjuncts(const tl_expr *e)
{
    if (e->kind != TL_EXPR_AND)
        return 1;
    int32_t n = 0;
    for (int32_t i = 0; i < e->n_args; i++)
        n += count_conjuncts(e->args[i]);
    return n;
}

static void fill_conjuncts(tl_expr *e, tl_expr **out, int32_t *n)
{
    if (e->kind != TL_EXPR_AND) {
        out[(*n)++] = e;
        return;
    }
    for (int32_t i = 0; i < e->n_args; i++)
        fill_conjuncts(e->args[i], out, n);
}

tl_status tl_plan__conjuncts(tl_binder *b, tl_expr *condition, tl_expr ***out, int32_t *n)
{
    *out = tl_arena_alloc(b->arena, (size_t)count_conjuncts(condition) * sizeof **out);
    BIND_ALLOC(b, *out);
    *n = 0;
    fill_conjuncts(condition, *out, n);
    return TL_OK;
}

tl_status tl_plan__conjunction(tl_binder *b, tl_expr **conjuncts, int32_t n, tl_expr **out)
{
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)n * sizeof *args);
    BIND_ALLOC(b, args);
    memcpy(args, conjuncts, (size_t)n * sizeof *args);
    return tl_bind__logic(b, TL_EXPR_AND, args, n, NULL, out);
}

/* ---- predicates ---- */

static bool is_literal(const tl_expr *e)
{
    return e->kind == TL_EXPR_LITERAL && !tl_col_is_null(e->literal, 0);
}

static bool is_exact_number(const tl_type *t)
{
    return tl_sql__is_integer(t) || t->kind == TL_DECIMAL;
}

/** The column that an operand is, maybe under a cast that loses nothing; NULL if it is none. */
static const tl_expr *bare_column(const tl_expr *e)
{
    if (e->kind == TL_EXPR_COLUMN)
        return e;
    if (e->kind != TL_EXPR_CAST || e->is_try || e->args[0]->kind != TL_EXPR_COLUMN)
        return NULL;
    const tl_type *from = e->args[0]->type, *to = e->type;
    if (tl_sql__is_text(from) && to->kind == TL_VARCHAR && to->length >= from->length)
        return e->args[0];
    if (!is_exact_number(from) || !is_exact_number(to))
        return NULL;
    static const int32_t digits[] = {[TL_TINYINT] = 3, [TL_SMALLINT] = 5, [TL_INT] = 10, [TL_BIGINT] = 19};
    int32_t from_scale = from->kind == TL_DECIMAL ? from->scale : 0, to_scale = to->kind == TL_DECIMAL ? to->scale : 0;
    int32_t from_int = (from->kind == TL_DECIMAL ? from->precision : digits[from->kind]) - from_scale;
    int32_t to_int = (to->kind == TL_DECIMAL ? to->precision : digits[to->kind]) - to_scale;
    return to_int >= from_int && to_scale >= from_scale ? e->args[0] : NULL;
}

/** The constant in the column's own type; NULL in *out if it has none there. */
static tl_status literal_as(tl_binder *b, const tl_column *literal, const tl_type *type, tl_column **out)
{
    *out = NULL;
    tl_column *cast = NULL, *back = NULL;
    if (tl_type_phys(literal->type) == tl_type_phys(type) && (tl_type_equal(literal->type, type, false) || (tl_sql__is_text(literal->type) && tl_sql__is_text(type))))
        return tl_column_retype(literal, type, out, b->err);
    if (!is_exact_number(literal->type) || !is_exact_number(type))
        return TL_OK;
    const tl_type *nullable;
    TL_TRY(tl_bind__nullable(b, type, true, &nullable));
    TL_TRY(tl_cast_column(literal, nullable, /* is_try= */ true, NULL, &cast, b->err));
    tl_status status = tl_cast_column(cast, literal->type, /* is_try= */ true, NULL, &back, b->err);
    bool same = status == TL_OK && !tl_col_is_null(cast, 0) && tl_column_equal(back, 0, literal, 0);
    if (same)
        status = tl_column_retype(cast, type, out, b->err);
    tl_column_unref(cast);
    tl_column_unref(back);
    return status;
}

static bool can_push(const tl_type *type)
{
    return type->n_fields == 0 && !tl_sql__is_float(type) && type->kind != TL_BLOB;
}

static tl_status leaf(tl_binder *b, tl_pred_op op, int32_t column, tl_column *literals, tl_predicate **out)
{
    return tl_predicate_leaf(op, column, literals, out, b->err);
}

static tl_status compare_leaf(tl_binder *b, const tl_expr *e, tl_predicate **out)
{
    static const struct {
        const char *name;
        tl_pred_op op, mirrored;
    } ops[] = {{"=", TL_PRED_EQ, TL_PRED_EQ}, {"<>", TL_PRED_NE, TL_PRED_NE}, {"<", TL_PRED_LT, TL_PRED_GT},
               {"<=", TL_PRED_LE, TL_PRED_GE}, {">", TL_PRED_GT, TL_PRED_LT}, {">=", TL_PRED_GE, TL_PRED_LE}};
    for (size_t i = 0; i < TL_ARRAY_LEN(ops); i++) {
        if (strcmp(e->fn->name, ops[i].name) != 0)
            continue;
        bool mirrored = is_literal(e->args[0]);
        const tl_expr *column = bare_column(e->args[mirrored]), *literal = e->args[!mirrored];
        if (column == NULL || !is_literal(literal) || !can_push(column->type))
            return TL_OK;
        tl_column *value;
        TL_TRY(literal_as(b, literal->literal, column->type, &value));
        return value == NULL ? TL_OK : leaf(b, mirrored ? ops[i].mirrored : ops[i].op, column->column, value, out);
    }
    return TL_OK;
}

static tl_status in_leaf(tl_binder *b, const tl_expr *e, tl_predicate **out)
{
    const tl_expr *column = bare_column(e->args[0]);
    if (column == NULL || !can_push(column->type))
        return TL_OK;
    tl_builder *builder;
    TL_TRY(tl_builder_create(column->type, &builder, b->err));
    tl_status status = TL_OK;
    bool good = true;
    for (int32_t i = 1; i < e->n_args && status == TL_OK && good; i++) {
        tl_column *value = NULL;
        if (tl_col_is_null(e->args[i]->literal, 0)) {
            good = false; /* x NOT IN (…, NULL) passes nothing; such lists stay here */
            break;
        }
        status = literal_as(b, e->args[i]->literal, column->type, &value);
        good = value != NULL;
        if (status == TL_OK && good)
            status = tl_builder_copy(builder, value, 0);
        tl_column_unref(value);
    }
    tl_column *list = NULL;
    if (status == TL_OK && good)
        status = tl_builder_finish(builder, &list, b->err);
    tl_builder_free(builder);
    TL_TRY(status);
    return list == NULL ? TL_OK : leaf(b, TL_PRED_IN, column->column, list, out);
}

/** LIKE 'abc%': other patterns stay, the store's escapes are not SQL's. */
static tl_status like_leaf(tl_binder *b, const tl_expr *e, tl_predicate **out)
{
    const tl_expr *column = bare_column(e->args[0]);
    if (e->n_args != 2 || column == NULL || !is_literal(e->args[1]))
        return TL_OK;
    tl_bytes_view p = tl_col_bytes(e->args[1]->literal, 0);
    if (p.len < 2 || p.data[p.len - 1] != '%')
        return TL_OK;
    for (size_t i = 0; i + 1 < p.len; i++)
        if (p.data[i] == '%' || p.data[i] == '_' || p.data[i] == '\\')
            return TL_OK;
    tl_builder *builder;
    TL_TRY(tl_builder_create(column->type, &builder, b->err));
    tl_column *prefix = NULL;
    tl_status status = tl_builder_bytes(builder, p.data, p.len - 1);
    if (status == TL_OK)
        status = tl_builder_finish(builder, &prefix, b->err);
    tl_builder_free(builder);
    TL_TRY(status);
    return leaf(b, TL_PRED_STARTS_WITH, column->column, prefix, out);
}

static tl_status boolean_leaf(tl_binder *b, const tl_expr *column, tl_predicate **out)
{
    tl_column *value;
    TL_TRY(tl_column_alloc(column->type, 1, &value, b->err));
    *(uint8_t *)value->values = 1;
    return leaf(b, TL_PRED_EQ, column->column, value, out);
}

/** *out NULL: not convertible. */
static tl_status convert(tl_binder *b, const tl_expr *e, tl_predicate **out);

static tl_status convert_logic(tl_binder *b, const tl_expr *e, tl_predicate **out)
{
    tl_predicate *all = NULL;
    for (int32_t i = 0; i < e->n_args; i++) {
        tl_predicate *part = NULL;
        tl_status status = convert(b, e->args[i], &part);
        if (status != TL_OK || part == NULL) {
            tl_predicate_free(all);
            return status;
        }
        TL_TRY(tl_predicate_combine(e->kind == TL_EXPR_AND ? TL_PRED_AND : TL_PRED_OR, TL_STEAL(all), part, &all, b->err));
    }
    *out = all;
    return TL_OK;
}

static tl_status convert(tl_binder *b, const tl_expr *e, tl_predicate **out)
{
    *out = NULL;
    if (e->kind == TL_EXPR_AND || e->kind == TL_EXPR_OR)
        return convert_logic(b, e, out);
    if (e->kind == TL_EXPR_COLUMN && e->type->kind == TL_BOOLEAN)
        return boolean_leaf(b, e, out);
    if (e->kind != TL_EXPR_CALL)
        return TL_OK;
    const char *name = e->fn->name;
    if (strcmp(name, "IS NULL") == 0 || strcmp(name, "IS NOT NULL") == 0) {
        if (e->args[0]->kind != TL_EXPR_COLUMN)
            return TL_OK;
        return leaf(b, strcmp(name, "IS NULL") == 0 ? TL_PRED_IS_NULL : TL_PRED_IS_NOT_NULL, e->args[0]->column, NULL, out);
    }
    if (strcmp(name, "IN") == 0)
        return in_leaf(b, e, out);
    if (strcmp(name, "LIKE") == 0)
        return like_leaf(b, e, out);
    if (strcmp(name, "NOT") == 0) {
        tl_predicate *child;
        TL_TRY(convert(b, e->args[0], &child));
        return child == NULL ? TL_OK : tl_predicate_negate(child, out, b->err);
    }
    return e->n_args == 2 ? compare_leaf(b, e, out) : TL_OK;
}

tl_status tl_plan__to_predicate(tl_binder *b, tl_expr *condition, const tl_type *type, tl_predicate **predicate, tl_expr **rest)
{
    (void)type;
    tl_expr **conjuncts;
    int32_t n, n_rest = 0;
    TL_TRY(tl_plan__conjuncts(b, condition, &conjuncts, &n));
    tl_predicate *all = NULL;
    tl_status status = TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        tl_predicate *part = NULL;
        status = convert(b, conjuncts[i], &part);
        if (part == NULL)
            conjuncts[n_rest++] = conjuncts[i];
        else if (status == TL_OK)
            status = tl_predicate_combine(TL_PRED_AND, TL_STEAL(all), part, &all, b->err);
    }
    *rest = NULL;
    if (status == TL_OK && n_rest > 0)
        status = tl_plan__conjunction(b, conjuncts, n_rest, rest);
    if (status != TL_OK) {
        tl_predicate_free(all);
        return status;
    }
    if (all != NULL)
        TL_TRY(tl_sql__own_predicate(b->stmt, all, b->err));
    *predicate = all;
    return TL_OK;
}
