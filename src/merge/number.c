/*
 * sum and product: a new column of numbers. Format reference §14; Java: FieldSumAgg, FieldProductAgg, DecimalUtils.
 *
 * Integers are reckoned in more bits than they have; a result that does not fit its type is an error that names key and column,
 * never a wrapped number as in the reference. What counts is the result: a value that is too large for a while, until a
 * retraction brings it back, does no harm. DECIMAL(p > 18) becomes NULL beyond its precision; DECIMAL(p <= 18) only beyond 64
 * bits, so that 999 + 999 in DECIMAL(3, 0) is 1998: what the reference stores, it must read again. Only Parquet files keep it
 * (tl_batch_fit_decimals).
 */
#include "merge/decimal.h"
#include "merge/merge_private.h"

static tl_status division_by_zero(const merge_column *col)
{
    return tl_error_set(col->err, TL_E_INVALID, "column '%s': product cannot retract 0: division by zero", col->field->name);
}

static tl_status overflow(const merge_column *col, uint32_t group)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf type = {0};
    *col->overflowed = group;
    if (tl_type_format(col->field->type, &type) != TL_OK)
        return tl_nomem(col->err, "merge");
    return tl_error_set(col->err, TL_E_OVERFLOW, "column '%s': the %s does not fit %.*s", col->field->name, col->rule->fn_name,
                        (int)type.len, (const char *)type.data);
}

/*
 * One kernel: T the element type, A that of `acc`. STEP statements work on `acc`, `v` (T), `has` (whether acc holds a value) and
 * `lost` (acc itself ran over); an empty acc takes the input. RETRACT and RETRACT_EMPTY are what a retraction does with and
 * without a value. FITS tells whether acc is a T.
 */
#define DEFINE_REDUCE(NAME, T, A, FITS, ADD, RETRACT, RETRACT_EMPTY)                               \
    static tl_status NAME(const merge_column *col, void *restrict values, uint8_t *restrict valid) \
    {                                                                                              \
        const merge_view *view = col->view;                                                        \
        T *restrict out = values;                                                                  \
        for (uint32_t g = 0; g < view->n_groups; g++) {                                            \
            A acc = 0;                                                                             \
            bool has = false, lost = false;                                                        \
            for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {                     \
                tl_rowref ref = view->refs[e];                                                     \
                uint8_t action = merge_action_at(view, e);                                         \
                const tl_column *in = col->srcs[ref.src];                                          \
                bool null = tl_col_is_null(in, ref.row);                                           \
                if (action == ACT_SET)                                                             \
                    has = lost = false;                                                            \
                if (null || action == ACT_NONE)                                                    \
                    continue;                                                                      \
                T v = ((const T *)in->values)[ref.row];                                            \
                if (action == ACT_RETRACT || action == ACT_RETRACT_LATE) {                         \
                    if (col->rule->ignore_retract)                                                 \
                        continue;                                                                  \
                    if (has) {                                                                     \
                        RETRACT;                                                                   \
                    } else {                                                                       \
                        RETRACT_EMPTY;                                                             \
                    }                                                                              \
                } else if (has) {                                                                  \
                    ADD;                                                                           \
                } else {                                                                           \
                    acc = v;                                                                       \
                    has = true;                                                                    \
                }                                                                                  \
            }                                                                                      \
            if (has && (lost || !(FITS)))                                                          \
                return overflow(col, g);                                                           \
            out[g] = has ? (T)acc : 0;                                                             \
            valid[g] = has;                                                                        \
        }                                                                                          \
        return TL_OK;                                                                              \
    }

/* Sums of up to 2^32 values of 32 bits fit 64. */
#define DEFINE_INTEGER(BITS, SUM)                                                                                             \
    DEFINE_REDUCE(sum_i##BITS, int##BITS##_t, SUM, acc == (int##BITS##_t)acc, acc += v, acc -= v, (acc = -(SUM)v, has = true)) \
    DEFINE_REDUCE(product_i##BITS, int##BITS##_t, tl_i128, acc == (int##BITS##_t)acc,                                         \
                  lost |= __builtin_mul_overflow(acc, (tl_i128)v, &acc), if (v == 0) return division_by_zero(col);            \
                  acc /= v, (void)0)
DEFINE_INTEGER(8, int64_t)
DEFINE_INTEGER(16, int64_t)
DEFINE_INTEGER(32, int64_t)
DEFINE_INTEGER(64, tl_i128)

#define DEFINE_FLOAT(NAME, T)                                                                   \
    DEFINE_REDUCE(sum_##NAME, T, T, true, acc = acc + v, acc = acc - v, (acc = -v, has = true)) \
    DEFINE_REDUCE(product_##NAME, T, T, true, acc = acc * v, acc = acc / v, (void)0)
DEFINE_FLOAT(f32, float)
DEFINE_FLOAT(f64, double)

/* DECIMAL(p <= 18) as int64. */
#define DECIMAL_PRECISION (col->field->type->precision)
#define DECIMAL_SCALE (col->field->type->scale)
DEFINE_REDUCE(sum_d64, int64_t, int64_t, true, has = !__builtin_add_overflow(acc, v, &acc), has = !__builtin_sub_overflow(acc, v, &acc),
              (acc = (int64_t)(0 - (uint64_t)v), has = tl_merge__decimal_fits(v, DECIMAL_PRECISION)))

static bool add_i128(tl_i128 a, tl_i128 b, int precision, tl_i128 *out)
{
    return !__builtin_add_overflow(a, b, out) && tl_merge__decimal_fits(*out, precision);
}
static bool subtract_i128(tl_i128 a, tl_i128 b, int precision, tl_i128 *out)
{
    return !__builtin_sub_overflow(a, b, out) && tl_merge__decimal_fits(*out, precision);
}
DEFINE_REDUCE(sum_d128, tl_i128, tl_i128, true, has = add_i128(acc, v, DECIMAL_PRECISION, &acc),
              has = subtract_i128(acc, v, DECIMAL_PRECISION, &acc), has = subtract_i128(0, v, DECIMAL_PRECISION, &acc))

/* Both decimal widths. */
static tl_status divide_decimal(const merge_column *col, tl_i128 a, tl_i128 b, tl_i128 *out, bool *has)
{
    decimal_division how = tl_merge__decimal_divide(a, b, DECIMAL_SCALE, DECIMAL_PRECISION, out);
    if (how == DECIMAL_BY_ZERO)
        return division_by_zero(col);
    if (how == DECIMAL_ENDLESS)
        return tl_error_set(col->err, TL_E_INVALID,
                            "column '%s': product cannot retract: the quotient has no exact decimal form", col->field->name);
    *has = how == DECIMAL_DIVIDED;
    return TL_OK;
}

#define DEFINE_DECIMAL_PRODUCT(NAME, T)                                                              \
    DEFINE_REDUCE(NAME, T, T, true, tl_i128 wide = 0;                                                         \
                  has = tl_merge__decimal_multiply(acc, v, DECIMAL_SCALE, DECIMAL_PRECISION, &wide); \
                  acc = (T)wide, tl_i128 wide = 0; TL_TRY(divide_decimal(col, acc, v, &wide, &has)); acc = (T)wide, (void)0)
DEFINE_DECIMAL_PRODUCT(product_d64, int64_t)
DEFINE_DECIMAL_PRODUCT(product_d128, tl_i128)

/* The whole column without NULLs, retractions or resets: sums of integers in a tight loop. false: some sum runs over. */
static bool plain_sum_i32(const merge_column *col, int32_t *restrict out)
{
    const merge_view *view = col->view;
    uint32_t e = view->starts[0];
    int64_t over = 0;
    for (uint32_t g = 0; g < view->n_groups; g++) {
        int64_t acc = 0;
        for (; e < view->starts[g + 1]; e++)
            acc += ((const int32_t *)col->srcs[view->refs[e].src]->values)[view->refs[e].row];
        out[g] = (int32_t)acc;
        over |= acc ^ out[g];
    }
    return over == 0;
}

static bool plain_sum_i64(const merge_column *col, int64_t *restrict out)
{
    const merge_view *view = col->view;
    uint32_t e = view->starts[0];
    bool over = false;
    for (uint32_t g = 0; g < view->n_groups; g++) {
        int64_t acc = 0;
        for (; e < view->starts[g + 1]; e++)
            over |= __builtin_add_overflow(acc, ((const int64_t *)col->srcs[view->refs[e].src]->values)[view->refs[e].row], &acc);
        out[g] = acc;
    }
    return !over;
}

typedef tl_status (*reduce_fn)(const merge_column *col, void *values, uint8_t *valid);

static reduce_fn pick(const tl_type *type, bool sum)
{
    bool decimal = type->kind == TL_DECIMAL;
    switch (tl_type_phys(type)) {
    case TL_PHYS_I8:
        return sum ? sum_i8 : product_i8;
    case TL_PHYS_I16:
        return sum ? sum_i16 : product_i16;
    case TL_PHYS_I32:
        return sum ? sum_i32 : product_i32;
    case TL_PHYS_I64:
        return decimal ? (sum ? sum_d64 : product_d64) : sum ? sum_i64 : product_i64;
    case TL_PHYS_I128:
        return sum ? sum_d128 : product_d128;
    case TL_PHYS_F32:
        return sum ? sum_f32 : product_f32;
    case TL_PHYS_F64:
        return sum ? sum_f64 : product_f64;
    default:
        return NULL;
    }
}

static bool is_plain_sum(const merge_column *col)
{
    tl_type_kind kind = col->field->type->kind;
    if (col->rule->fn != AGG_SUM || col->view->actions != NULL || (kind != TL_INT && kind != TL_BIGINT))
        return false;
    for (uint32_t k = 0; k < col->n_srcs; k++)
        if (col->srcs[k]->null_count > 0)
            return false;
    return true;
}

tl_status tl_merge__set_validity(tl_column *col, const uint8_t *valid, tl_error *err)
{
    int64_t ones = 0;
    for (int64_t i = 0; i < col->length; i++)
        ones += valid[i];
    if (ones == col->length)
        return TL_OK;
    col->validity = tl_calloc(tl_bitmap_bytes(col->length) + 8, 1);
    if (col->validity == NULL)
        return tl_nomem(err, "merge");
    for (int64_t i = 0; i < col->length; i++)
        if (valid[i])
            tl_bit_set(col->validity, i);
    col->null_count = col->length - ones;
    return TL_OK;
}

tl_status tl_merge__reduce_numbers(const merge_column *col, tl_column **out)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *result = NULL;
    TL_TRY(tl_column_alloc(col->field->type, col->view->n_groups, &result, col->err));
    /* Sums that run over on the way are reckoned again: in more bits they may come back, or be named. */
    if (is_plain_sum(col) &&
        (result->phys == TL_PHYS_I32 ? plain_sum_i32(col, result->values) : plain_sum_i64(col, result->values))) {
        *out = TL_STEAL(result);
        return TL_OK;
    }
    reduce_fn reduce = pick(col->field->type, col->rule->fn == AGG_SUM);
    uint8_t *valid = tl_arena_alloc(col->arena, col->view->n_groups);
    if (reduce == NULL || valid == NULL)
        return reduce == NULL ? tl_error_set(col->err, TL_E_INTERNAL, "no sum of this type") : tl_nomem(col->err, "merge");
    TL_TRY(reduce(col, result->values, valid));
    TL_TRY(tl_merge__set_validity(result, valid, col->err));
    *out = TL_STEAL(result);
    return TL_OK;
}
