/* Operators: arithmetic, comparison, logic, IN, fields, and what intervals do to points in time. */
#include <math.h>
#include <stdlib.h>

#include "sql/cast.h"
#include "sql/decimal_math.h"

/* ---- types ---- */

static tl_status arithmetic_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    char op = fn->name[0] == 'M' ? '%' : fn->name[0];
    TL_TRY(tl_bind__arithmetic_type(b, op, args[0]->type, args[1]->type, out));
    if (*out == NULL)
        return tl_error_set(b->err, TL_E_INVALID, "Cannot apply '%s' to arguments of type '%s' and '%s'", fn->name, tl_bind__type_text(b, args[0]->type),
                            tl_bind__type_text(b, args[1]->type));
    bool decimal = (*out)->kind == TL_DECIMAL || (tl_sql__is_integer(*out) && (args[0]->type->kind == TL_DECIMAL || args[1]->type->kind == TL_DECIMAL));
    for (int i = 0; i < 2; i++) {
        const tl_type *t = args[i]->type, *to = *out;
        if (decimal) {
            static const int32_t digits[] = {[TL_TINYINT] = 3, [TL_SMALLINT] = 5, [TL_INT] = 10, [TL_BIGINT] = 19};
            if (t->kind == TL_DECIMAL)
                continue;
            TL_TRY(tl_bind__decimal(b, digits[t->kind], 0, t->nullable, &to));
        } else if (op == '%' && tl_sql__is_integer(t)) { /* computed in the wider type, then cut to the divisor's */
            TL_TRY(tl_bind__simple_type(b, TL_BIGINT, t->nullable, 0, 0, &to));
        }
        TL_TRY(tl_bind__coerce(b, args[i], to, &args[i]));
    }
    return TL_OK;
}

static tl_status same_type_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)b;
    (void)fn;
    (void)n;
    *out = args[0]->type;
    return TL_OK;
}

/* ---- arithmetic ---- */

#define LOOP2(TYPE, EXPR)                                                                                                        \
    do {                                                                                                                         \
        const TYPE *a = k->args[0].col->values, *c = k->args[1].col->values;                                                     \
        int64_t sa = k->args[0].step, sc = k->args[1].step;                                                                      \
        TYPE *out = k->out->values;                                                                                              \
        for (int64_t i = 0; i < k->n; i++) {                                                                                     \
            TYPE x = a[i * sa], y = c[i * sc];                                                                                   \
            out[i] = (TYPE)(EXPR);                                                                                               \
        }                                                                                                                        \
    } while (0)

/** Both operands and the result are of one layout; integers wrap. */
#define DEFINE_ARITHMETIC(NAME, OP, DECIMAL_FN)                                                                                  \
    static tl_status NAME(tl_kernel *k)                                                                                          \
    {                                                                                                                            \
        if (k->type->kind == TL_DECIMAL)                                                                                         \
            return decimal_rows(k, DECIMAL_FN);                                                                                  \
        switch (k->out->phys) {                                                                                                  \
        case TL_PHYS_I8:                                                                                                         \
            LOOP2(int8_t, (uint8_t)x OP(uint8_t) y);                                                                             \
            return TL_OK;                                                                                                        \
        case TL_PHYS_I16:                                                                                                        \
            LOOP2(int16_t, (uint32_t)x OP(uint32_t) y);                                                                          \
            return TL_OK;                                                                                                        \
        case TL_PHYS_I32:                                                                                                        \
            LOOP2(int32_t, (uint32_t)x OP(uint32_t) y);                                                                          \
            return TL_OK;                                                                                                        \
        case TL_PHYS_I64:                                                                                                        \
            LOOP2(int64_t, (uint64_t)x OP(uint64_t) y);                                                                          \
            return TL_OK;                                                                                                        \
        case TL_PHYS_F32:                                                                                                        \
            LOOP2(float, x OP y);                                                                                                \
            return TL_OK;                                                                                                        \
        default:                                                                                                                 \
            LOOP2(double, x OP y);                                                                                               \
            return TL_OK;                                                                                                        \
        }                                                                                                                        \
    }

typedef bool (*decimal_fn)(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out);

static tl_status decimal_rows(tl_kernel *k, decimal_fn fn)
{
    const tl_column *a = k->args[0].col, *c = k->args[1].col;
    for (int64_t i = 0; i < k->n; i++) {
        tl_i128 v;
        if (!tl_kernel_is_valid(k, i))
            continue;
        if (fn(tl_convert_decimal_at(a, i * k->args[0].step), a->type->scale, tl_convert_decimal_at(c, i * k->args[1].step), c->type->scale, k->type->precision,
               k->type->scale, &v))
            tl_convert_put_decimal(k->out, i, v);
        else
            TL_TRY(tl_kernel_null(k, i));
    }
    return TL_OK;
}

static bool decimal_subtract(tl_i128 a, int32_t scale_a, tl_i128 b, int32_t scale_b, int32_t precision, int32_t scale, tl_i128 *out)
{
    return tl_decimal__add(a, scale_a, -b, scale_b, precision, scale, out);
}

DEFINE_ARITHMETIC(add, +, tl_decimal__add)
DEFINE_ARITHMETIC(subtract, -, decimal_subtract)
DEFINE_ARITHMETIC(multiply, *, tl_decimal__multiply)

static tl_status by_zero(tl_kernel *k)
{
    return tl_error_set(k->err, TL_E_INVALID, k->type->kind == TL_DECIMAL ? "Division by zero" : "/ by zero");
}

static bool is_zero(const tl_vec *v, int64_t i)
{
    switch (v->col->phys) {
    case TL_PHYS_I8:
        return TL_VEC(v, int8_t, i) == 0;
    case TL_PHYS_I16:
        return TL_VEC(v, int16_t, i) == 0;
    case TL_PHYS_I32:
        return TL_VEC(v, int32_t, i) == 0;
    case TL_PHYS_I64:
        return TL_VEC(v, int64_t, i) == 0;
    default:
        return TL_VEC(v, tl_i128, i) == 0;
    }
}

/** Rows that count and divide by zero are an error; others have some divisor that does no harm. */
#define DIVIDE_LOOP(TYPE)                                                                                                        \
    do {                                                                                                                         \
        const TYPE *a = k->args[0].col->values, *c = k->args[1].col->values;                                                     \
        int64_t sa = k->args[0].step, sc = k->args[1].step;                                                                      \
        for (int64_t i = 0; i < k->n; i++) {                                                                                     \
            TYPE y = c[i * sc];                                                                                                  \
            if (y == 0 && tl_kernel_is_valid(k, i))                                                                              \
                return by_zero(k);                                                                                               \
            TL_OUT(k, TYPE)[i] = y == 0 ? 0 : y == -1 ? (TYPE)(0 - (uint64_t)a[i * sa]) : (TYPE)(a[i * sa] / y);                 \
        }                                                                                                                        \
        return TL_OK;                                                                                                            \
    } while (0)

static tl_status divide(tl_kernel *k)
{
    if (k->type->kind == TL_DECIMAL) {
        for (int64_t i = 0; i < k->n; i++)
            if (tl_kernel_is_valid(k, i) && is_zero(&k->args[1], i))
                return by_zero(k);
        return decimal_rows(k, tl_decimal__divide);
    }
    switch (k->out->phys) {
    case TL_PHYS_I8:
        DIVIDE_LOOP(int8_t);
    case TL_PHYS_I16:
        DIVIDE_LOOP(int16_t);
    case TL_PHYS_I32:
        DIVIDE_LOOP(int32_t);
    case TL_PHYS_I64:
        DIVIDE_LOOP(int64_t);
    case TL_PHYS_F32:
        LOOP2(float, x / y);
        return TL_OK;
    default:
        LOOP2(double, x / y);
        return TL_OK;
    }
}

static tl_status remainder_of(tl_kernel *k)
{
    if (tl_sql__is_float(k->type)) {
        if (k->out->phys == TL_PHYS_F32)
            LOOP2(float, fmodf(x, y));
        else
            LOOP2(double, fmod(x, y));
        return TL_OK;
    }
    const tl_vec *a = &k->args[0], *c = &k->args[1];
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        if (is_zero(c, i))
            return by_zero(k);
        if (c->col->type->kind != TL_DECIMAL) {
            int64_t y = TL_VEC(c, int64_t, i);
            tl_convert_put_integer(k->out, i, y == -1 ? 0 : TL_VEC(a, int64_t, i) % y);
            continue;
        }
        bool integer = k->type->kind != TL_DECIMAL; /* of a whole DECIMAL by an integer: fits what it was divided by */
        tl_i128 v;
        if (!tl_decimal__remainder(tl_convert_decimal_at(a->col, i * a->step), a->col->type->scale, tl_convert_decimal_at(c->col, i * c->step), c->col->type->scale,
                                   integer ? 38 : k->type->precision, &v))
            TL_TRY(tl_kernel_null(k, i));
        else if (integer)
            tl_convert_put_integer(k->out, i, (int64_t)v);
        else
            tl_convert_put_decimal(k->out, i, v);
    }
    return TL_OK;
}

static tl_status negate(tl_kernel *k)
{
    const tl_vec *a = &k->args[0];
    for (int64_t i = 0; i < k->n; i++) {
        switch (k->out->phys) {
        case TL_PHYS_F32:
            TL_OUT(k, float)[i] = -TL_VEC(a, float, i);
            break;
        case TL_PHYS_F64:
            TL_OUT(k, double)[i] = -TL_VEC(a, double, i);
            break;
        case TL_PHYS_I128:
            TL_OUT(k, tl_i128)[i] = -TL_VEC(a, tl_i128, i);
            break;
        case TL_PHYS_I64:
            TL_OUT(k, int64_t)[i] = (int64_t)(0 - (uint64_t)TL_VEC(a, int64_t, i));
            break;
        case TL_PHYS_I32:
            TL_OUT(k, int32_t)[i] = (int32_t)(0 - (uint32_t)TL_VEC(a, int32_t, i));
            break;
        case TL_PHYS_I16:
            TL_OUT(k, int16_t)[i] = (int16_t)(0 - (uint32_t)TL_VEC(a, int16_t, i));
            break;
        default:
            TL_OUT(k, int8_t)[i] = (int8_t)(0 - (uint32_t)TL_VEC(a, int8_t, i));
            break;
        }
    }
    return TL_OK;
}

/* ---- comparison ---- */

typedef enum compare_op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE } compare_op;

static compare_op op_of(const char *name)
{
    return name[0] == '=' ? OP_EQ : name[0] == '<' ? (name[1] == '>' ? OP_NE : name[1] == '=' ? OP_LE : OP_LT) : name[1] == '=' ? OP_GE : OP_GT;
}

#define COMPARE_LOOP(TYPE, OP)                                                                                                   \
    do {                                                                                                                         \
        const TYPE *a = k->args[0].col->values, *c = k->args[1].col->values;                                                     \
        int64_t sa = k->args[0].step, sc = k->args[1].step;                                                                      \
        uint8_t *out = k->out->values;                                                                                           \
        for (int64_t i = 0; i < k->n; i++)                                                                                       \
            out[i] = a[i * sa] OP c[i * sc];                                                                                     \
    } while (0)

#define COMPARE_TYPE(TYPE)                                                                                                       \
    do {                                                                                                                         \
        switch (op) {                                                                                                            \
        case OP_EQ:                                                                                                              \
            COMPARE_LOOP(TYPE, ==);                                                                                              \
            break;                                                                                                               \
        case OP_NE:                                                                                                              \
            COMPARE_LOOP(TYPE, !=);                                                                                              \
            break;                                                                                                               \
        case OP_LT:                                                                                                              \
            COMPARE_LOOP(TYPE, <);                                                                                               \
            break;                                                                                                               \
        case OP_LE:                                                                                                              \
            COMPARE_LOOP(TYPE, <=);                                                                                              \
            break;                                                                                                               \
        case OP_GT:                                                                                                              \
            COMPARE_LOOP(TYPE, >);                                                                                               \
            break;                                                                                                               \
        default:                                                                                                                 \
            COMPARE_LOOP(TYPE, >=);                                                                                              \
            break;                                                                                                               \
        }                                                                                                                        \
        return TL_OK;                                                                                                            \
    } while (0)

static bool holds(compare_op op, int c)
{
    switch (op) {
    case OP_EQ:
        return c == 0;
    case OP_NE:
        return c != 0;
    case OP_LT:
        return c < 0;
    case OP_LE:
        return c <= 0;
    case OP_GT:
        return c > 0;
    default:
        return c >= 0;
    }
}

static tl_status compare_bytes(tl_kernel *k, compare_op op)
{
    const tl_vec *a = &k->args[0], *c = &k->args[1];
    uint8_t *out = k->out->values;
    if (op == OP_EQ || op == OP_NE) {
        for (int64_t i = 0; i < k->n; i++)
            out[i] = tl_bytes_equal(tl_vec_bytes(a, i), tl_vec_bytes(c, i)) == (op == OP_EQ);
        return TL_OK;
    }
    for (int64_t i = 0; i < k->n; i++) {
        tl_bytes_view x = tl_vec_bytes(a, i), y = tl_vec_bytes(c, i);
        out[i] = holds(op, x.len == 0 || y.len == 0 ? (x.len > y.len) - (x.len < y.len) : tl_bytes_compare(x, y));
    }
    return TL_OK;
}

/** TIMESTAMP(7..9) and nested values. */
static tl_status compare_others(tl_kernel *k, compare_op op)
{
    const tl_vec *a = &k->args[0], *c = &k->args[1];
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        bool result;
        if (k->args[0].col->phys == TL_PHYS_TS96) {
            tl_ts96 x = TL_VEC(a, tl_ts96, i), y = TL_VEC(c, tl_ts96, i);
            int order = x.millis != y.millis ? (x.millis > y.millis) - (x.millis < y.millis) : (x.nanos > y.nanos) - (x.nanos < y.nanos);
            result = holds(op, order);
        } else {
            result = tl_column_equal(a->col, i * a->step, c->col, i * c->step) == (op == OP_EQ);
        }
        TL_OUT(k, uint8_t)[i] = result;
    }
    return TL_OK;
}

static tl_status compare(tl_kernel *k)
{
    compare_op op = op_of(k->fn->name);
    switch (k->args[0].col->phys) {
    case TL_PHYS_BOOL:
        COMPARE_TYPE(uint8_t);
    case TL_PHYS_I8:
        COMPARE_TYPE(int8_t);
    case TL_PHYS_I16:
        COMPARE_TYPE(int16_t);
    case TL_PHYS_I32:
        COMPARE_TYPE(int32_t);
    case TL_PHYS_I64:
        COMPARE_TYPE(int64_t);
    case TL_PHYS_I128:
        COMPARE_TYPE(tl_i128);
    case TL_PHYS_F32:
        COMPARE_TYPE(float);
    case TL_PHYS_F64:
        COMPARE_TYPE(double);
    case TL_PHYS_BYTES:
        return compare_bytes(k, op);
    default:
        return compare_others(k, op);
    }
}

static tl_status is_distinct(tl_kernel *k)
{
    bool negated = strcmp(k->fn->name, "IS NOT DISTINCT FROM") == 0;
    for (int64_t i = 0; i < k->n; i++) {
        bool null_a = tl_vec_is_null(&k->args[0], i), null_c = tl_vec_is_null(&k->args[1], i);
        bool distinct = null_a != null_c;
        if (!null_a && !null_c)
            distinct = !tl_column_equal(k->args[0].col, tl_vec_row(&k->args[0], i), k->args[1].col, tl_vec_row(&k->args[1], i));
        TL_OUT(k, uint8_t)[i] = distinct != negated;
    }
    return TL_OK;
}

/* ---- logic ---- */

static tl_status not_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        TL_OUT(k, uint8_t)[i] = !TL_VEC(&k->args[0], uint8_t, i);
    return TL_OK;
}

static tl_status is_null(tl_kernel *k)
{
    bool negated = strcmp(k->fn->name, "IS NOT NULL") == 0;
    for (int64_t i = 0; i < k->n; i++)
        TL_OUT(k, uint8_t)[i] = tl_vec_is_null(&k->args[0], i) != negated;
    return TL_OK;
}

/** IS [NOT] TRUE, FALSE, UNKNOWN. */
static tl_status is_truth(tl_kernel *k)
{
    const char *word = k->fn->name + 3;
    bool negated = strncmp(word, "NOT ", 4) == 0;
    word += negated ? 4 : 0;
    uint8_t wanted = word[0] == 'T' ? 1 : word[0] == 'F' ? 0 : 2;
    for (int64_t i = 0; i < k->n; i++) {
        uint8_t v = tl_vec_is_null(&k->args[0], i) ? 2 : TL_VEC(&k->args[0], uint8_t, i);
        TL_OUT(k, uint8_t)[i] = (v == wanted) != negated;
    }
    return TL_OK;
}

/* ---- IN ---- */

/** The constants, sorted; integers of up to 64 bits and texts are searched, others compared one by one. */
typedef struct in_set {
    int64_t *numbers;
    tl_bytes_view *texts;
    int32_t n;
    bool has_null;
} in_set;

static void in_release(void *aux)
{
    in_set *set = aux;
    tl_free(set->numbers);
    tl_free(set->texts);
    tl_free(set);
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compare_texts(const void *a, const void *b)
{
    const tl_bytes_view *x = a, *y = b;
    return x->len == 0 || y->len == 0 ? (x->len > y->len) - (x->len < y->len) : tl_bytes_compare(*x, *y);
}

static tl_status in_prepare(const tl_sql_function *fn, const tl_type *type, const tl_column *const *args, int32_t n, void **aux, tl_error *err)
{
    (void)fn;
    (void)type;
    in_set *set = tl_calloc(1, sizeof *set);
    if (set == NULL)
        return tl_nomem(err, "IN");
    *aux = set;
    set->numbers = tl_calloc((size_t)n, sizeof *set->numbers);
    set->texts = tl_calloc((size_t)n, sizeof *set->texts);
    if (set->numbers == NULL || set->texts == NULL)
        return tl_nomem(err, "IN");
    for (int32_t i = 1; i < n; i++) {
        const tl_column *c = args[i];
        if (tl_col_is_null(c, 0)) {
            set->has_null = true;
            continue;
        }
        if (c->phys == TL_PHYS_BYTES)
            set->texts[set->n++] = tl_col_bytes(c, 0);
        else if (tl_phys_is_integer(c->phys))
            set->numbers[set->n++] = tl_col_integer(c, 0);
    }
    qsort(set->numbers, (size_t)set->n, sizeof *set->numbers, compare_numbers);
    if (set->n > 0 && args[1]->phys == TL_PHYS_BYTES)
        qsort(set->texts, (size_t)set->n, sizeof *set->texts, compare_texts);
    return TL_OK;
}

static bool in_contains(const tl_kernel *k, const in_set *set, int64_t i)
{
    const tl_vec *v = &k->args[0];
    if (v->col->phys == TL_PHYS_BYTES) {
        tl_bytes_view text = tl_vec_bytes(v, i);
        return bsearch(&text, set->texts, (size_t)set->n, sizeof text, compare_texts) != NULL;
    }
    if (tl_phys_is_integer(v->col->phys)) {
        int64_t number = tl_col_integer(v->col, i * v->step);
        return bsearch(&number, set->numbers, (size_t)set->n, sizeof number, compare_numbers) != NULL;
    }
    for (int32_t a = 1; a < k->n_args; a++)
        if (!tl_col_is_null(k->args[a].col, 0) && tl_column_compare(v->col, i * v->step, k->args[a].col, 0, false, false) == 0)
            return true;
    return false;
}

static tl_status in_kernel(tl_kernel *k)
{
    const in_set *set = k->aux;
    for (int64_t i = 0; i < k->n; i++) {
        bool found = !tl_vec_is_null(&k->args[0], i) && in_contains(k, set, i);
        TL_OUT(k, uint8_t)[i] = found;
        if (tl_vec_is_null(&k->args[0], i) || (!found && set->has_null))
            TL_TRY(tl_kernel_null(k, i));
    }
    return TL_OK;
}

/* ---- rows ---- */

static tl_status field_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    const tl_type *row = args[0]->type;
    int32_t i = tl_col_i32(args[1]->literal, 0);
    return tl_bind__nullable(b, row->fields[i].type, row->nullable || row->fields[i].type->nullable, out);
}

/** A field of a ROW: NULL where the row is. */
static tl_status field_kernel(tl_kernel *k)
{
    const tl_vec *row = &k->args[0];
    const tl_column *child = row->col->children[tl_col_i32(k->args[1].col, 0)];
    if (row->col->null_count == 0)
        return tl_column_retype(child, k->type, &k->out, k->err);
    tl_rowref *refs = tl_alloc((size_t)(child->length + 1) * sizeof *refs);
    tl_status status = refs != NULL ? TL_OK : tl_nomem(k->err, "batch");
    for (int64_t i = 0; status == TL_OK && i < child->length; i++)
        refs[i] = (tl_rowref){0, tl_col_is_null(row->col, i) ? TL_ROW_NULL : (uint32_t)i};
    if (status == TL_OK)
        status = tl_column_gather_multi(k->type, &child, refs, child->length, &k->out, k->err);
    tl_free(refs);
    return status;
}

/* ---- intervals ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static tl_status plus_ms(tl_kernel *k)
{
    const tl_vec *point = &k->args[0], *interval = &k->args[1];
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        int64_t ms = TL_VEC(interval, int64_t, i);
        if (k->type->kind == TL_DATE) {
            TL_OUT(k, int32_t)[i] = (int32_t)(TL_VEC(point, int32_t, i) + ms / 86400000); /* whole days of the interval */
        } else if (k->type->kind == TL_TIME) {
            int64_t t = (TL_VEC(point, int32_t, i) + ms % 86400000) % 86400000;
            TL_OUT(k, int32_t)[i] = (int32_t)(t < 0 ? t + 86400000 : t);
        } else {
            int64_t millis;
            int32_t nanos;
            tl_convert_timestamp_at(point->col, i * point->step, &millis, &nanos);
            millis = (int64_t)((uint64_t)millis + (uint64_t)ms);
            if (k->out->phys == TL_PHYS_TS96)
                TL_OUT(k, tl_ts96)[i] = (tl_ts96){millis, nanos, 0};
            else
                TL_OUT(k, int64_t)[i] = k->type->precision > 3 ? millis * 1000 + nanos / 1000 : millis;
        }
    }
    return TL_OK;
}

int64_t tl_sql__plus_months(int64_t days, int64_t months)
{
    int64_t y;
    int m, d;
    tl_civil_from_days(days, &y, &m, &d);
    int64_t total = y * 12 + (m - 1) + months;
    int64_t year = floor_div(total, 12);
    int month = (int)(total - year * 12) + 1;
    int64_t first = tl_days_from_civil(year, month, 1);
    int64_t next = month == 12 ? tl_days_from_civil(year + 1, 1, 1) : tl_days_from_civil(year, month + 1, 1);
    return first + TL_MIN((int64_t)d, next - first) - 1;
}

static tl_status plus_months_kernel(tl_kernel *k)
{
    const tl_vec *point = &k->args[0], *interval = &k->args[1];
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        int64_t months = TL_VEC(interval, int32_t, i);
        if (k->type->kind == TL_TIME) { /* months change no time of a day */
            TL_OUT(k, int32_t)[i] = TL_VEC(point, int32_t, i);
            continue;
        }
        if (k->type->kind == TL_DATE) {
            TL_OUT(k, int32_t)[i] = (int32_t)tl_sql__plus_months(TL_VEC(point, int32_t, i), months);
            continue;
        }
        int64_t millis;
        int32_t nanos;
        tl_convert_timestamp_at(point->col, i * point->step, &millis, &nanos);
        int64_t days = floor_div(millis, 86400000);
        millis = tl_sql__plus_months(days, months) * 86400000 + (millis - days * 86400000);
        if (k->out->phys == TL_PHYS_TS96)
            TL_OUT(k, tl_ts96)[i] = (tl_ts96){millis, nanos, 0};
        else
            TL_OUT(k, int64_t)[i] = k->type->precision > 3 ? millis * 1000 + nanos / 1000 : millis;
    }
    return TL_OK;
}

static tl_status interval_arithmetic(tl_kernel *k)
{
    char op = k->fn->name[10]; /* $INTERVAL_P, _M, _T */
    for (int64_t i = 0; i < k->n; i++) {
        bool months = k->out->phys == TL_PHYS_I32;
        int64_t x = months ? TL_VEC(&k->args[0], int32_t, i) : TL_VEC(&k->args[0], int64_t, i);
        int64_t y = k->args[1].col->phys == TL_PHYS_I32 ? TL_VEC(&k->args[1], int32_t, i) : TL_VEC(&k->args[1], int64_t, i);
        uint64_t r = op == 'P' ? (uint64_t)x + (uint64_t)y : op == 'M' ? (uint64_t)x - (uint64_t)y : (uint64_t)x * (uint64_t)y;
        if (months)
            TL_OUT(k, int32_t)[i] = (int32_t)r;
        else
            TL_OUT(k, int64_t)[i] = (int64_t)r;
    }
    return TL_OK;
}

const tl_sql_function tl_fn_operators[] = {
    {.name = "+", .args = "NN", .kernel = add, .rule = arithmetic_rule},
    {.name = "-", .args = "NN", .kernel = subtract, .rule = arithmetic_rule},
    {.name = "*", .args = "NN", .kernel = multiply, .rule = arithmetic_rule},
    {.name = "/", .args = "NN", .kernel = divide, .rule = arithmetic_rule, .flags = TL_FN_CAN_FAIL},
    {.name = "%", .args = "NN", .kernel = remainder_of, .rule = arithmetic_rule, .flags = TL_FN_CAN_FAIL},
    {.name = "MOD", .args = "NN", .kernel = remainder_of, .rule = arithmetic_rule, .flags = TL_FN_CAN_FAIL},
    {.name = "NEGATE", .args = "X", .kernel = negate, .rule = same_type_rule},
    {.name = "=", .args = "XX", .result = "B", .kernel = compare},
    {.name = "<>", .args = "XX", .result = "B", .kernel = compare},
    {.name = "<", .args = "XX", .result = "B", .kernel = compare},
    {.name = "<=", .args = "XX", .result = "B", .kernel = compare},
    {.name = ">", .args = "XX", .result = "B", .kernel = compare},
    {.name = ">=", .args = "XX", .result = "B", .kernel = compare},
    {.name = "IS DISTINCT FROM", .args = "XX", .result = "B!", .kernel = is_distinct, .flags = TL_FN_NULLS},
    {.name = "IS NOT DISTINCT FROM", .args = "XX", .result = "B!", .kernel = is_distinct, .flags = TL_FN_NULLS},
    {.name = "NOT", .args = "B", .result = "B", .kernel = not_kernel},
    {.name = "IS NULL", .args = "X", .result = "B!", .kernel = is_null, .flags = TL_FN_NULLS},
    {.name = "IS NOT NULL", .args = "X", .result = "B!", .kernel = is_null, .flags = TL_FN_NULLS},
    {.name = "IS TRUE", .args = "B", .result = "B!", .kernel = is_truth, .flags = TL_FN_NULLS},
    {.name = "IS NOT TRUE", .args = "B", .result = "B!", .kernel = is_truth, .flags = TL_FN_NULLS},
    {.name = "IS FALSE", .args = "B", .result = "B!", .kernel = is_truth, .flags = TL_FN_NULLS},
    {.name = "IS NOT FALSE", .args = "B", .result = "B!", .kernel = is_truth, .flags = TL_FN_NULLS},
    {.name = "IS UNKNOWN", .args = "B", .result = "B!", .kernel = is_truth, .flags = TL_FN_NULLS},
    {.name = "IS NOT UNKNOWN", .args = "B", .result = "B!", .kernel = is_truth, .flags = TL_FN_NULLS},
    {.name = "IN", .args = "XX*", .result = "B", .kernel = in_kernel, .flags = TL_FN_NULLS, .prepare = in_prepare, .release = in_release},
    {.name = "$FIELD", .args = "RI", .kernel = field_kernel, .rule = field_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "$PLUS_MS", .args = "XX", .result = "0", .kernel = plus_ms},
    {.name = "$PLUS_MONTHS", .args = "XX", .result = "0", .kernel = plus_months_kernel},
    {.name = "$INTERVAL_PLUS", .args = "XX", .result = "0", .kernel = interval_arithmetic},
    {.name = "$INTERVAL_MINUS", .args = "XX", .result = "0", .kernel = interval_arithmetic},
    {.name = "$INTERVAL_TIMES", .args = "XL", .result = "0", .kernel = interval_arithmetic},
    {.name = NULL},
};
