/*
 * Predicates on statistics: could the result be TRUE (or, under NOT, FALSE) for some row within the bounds?
 *
 * Every answer errs towards yes. Bounds are `min <= every value that is not NULL <= max`, not necessarily reached.
 */
#include <math.h>

#include "types/predicate_private.h"

/* What is known of a column, after everything doubtful was taken away. */
typedef struct range {
    const tl_column *min; /* NULL: no lower bound */
    const tl_column *max;
    int64_t min_row;
    int64_t max_row;
    bool floating;
    bool may_be_nan; /* NaN is above every value but in no writer's maximum */
} range;

static bool is_zero(const tl_column *col, int64_t row)
{
    return col->phys == TL_PHYS_F32 ? tl_col_f32(col, row) == 0 : tl_col_f64(col, row) == 0;
}

static bool is_nan(const tl_column *col, int64_t row)
{
    if (col->phys == TL_PHYS_F32)
        return tl_col_f32(col, row) != tl_col_f32(col, row);
    return col->phys == TL_PHYS_F64 && tl_col_f64(col, row) != tl_col_f64(col, row);
}

static bool is_negative(const tl_column *col, int64_t row)
{
    return col->phys == TL_PHYS_F32 ? signbit(tl_col_f32(col, row)) : signbit(tl_col_f64(col, row));
}

/* Order of min and the literal. Among zeros, min counts as -0.0 whatever its sign. */
static int compare_min(const range *r, const tl_column *lit, int64_t j)
{
    if (r->floating && is_zero(r->min, r->min_row) && is_zero(lit, j))
        return is_negative(lit, j) ? 0 : -1;
    return tl_predicate__compare(r->min, r->min_row, lit, j);
}

/* Order of max and the literal. Among zeros, max counts as 0.0. */
static int compare_max(const range *r, const tl_column *lit, int64_t j)
{
    if (r->floating && is_zero(r->max, r->max_row) && is_zero(lit, j))
        return is_negative(lit, j) ? 1 : 0;
    return tl_predicate__compare(r->max, r->max_row, lit, j);
}

/* Bounds must be of the layout and scale of what they are compared with. */
static bool comparable(const tl_column *bound, const tl_column *lit)
{
    if (bound->phys != lit->phys || bound->type->scale != lit->type->scale)
        return false;
    bool timestamp = bound->type->kind == TL_TIMESTAMP || bound->type->kind == TL_TIMESTAMP_LTZ;
    return !timestamp || (bound->type->precision <= 3) == (lit->type->precision <= 3);
}

static const tl_column *usable(const tl_column *bound, int64_t row, const tl_column *lit)
{
    if (bound == NULL || tl_col_is_null(bound, row) || !comparable(bound, lit) || is_nan(bound, row))
        return NULL;
    return bound;
}

static range range_of(const tl_col_bounds *bounds, const tl_column *lit)
{
    bool floating = lit->phys == TL_PHYS_F32 || lit->phys == TL_PHYS_F64;
    return (range){
        .min = usable(bounds->min, bounds->min_row, lit),
        .max = usable(bounds->max, bounds->max_row, lit),
        .min_row = bounds->min_row,
        .max_row = bounds->max_row,
        .floating = floating,
        .may_be_nan = floating,
    };
}

/* ---- could some value be …? ---- */

static bool may_equal(const range *r, const tl_column *lit, int64_t j)
{
    if (r->min != NULL && compare_min(r, lit, j) > 0)
        return false;
    return (r->may_be_nan && is_nan(lit, j)) || r->max == NULL || compare_max(r, lit, j) >= 0;
}

static bool may_be_less(const range *r, const tl_column *lit, int64_t j, bool or_equal)
{
    if (r->min == NULL)
        return true;
    int c = compare_min(r, lit, j);
    return c < 0 || (or_equal && c == 0);
}

static bool may_be_greater(const range *r, const tl_column *lit, int64_t j, bool or_equal)
{
    if (r->max == NULL || r->may_be_nan)
        return true;
    int c = compare_max(r, lit, j);
    return c > 0 || (or_equal && c == 0);
}

static bool may_differ(const range *r, const tl_column *lit, int64_t j)
{
    return may_be_less(r, lit, j, false) || may_be_greater(r, lit, j, false);
}

static bool starts_with(tl_bytes_view text, tl_bytes_view part)
{
    return text.len >= part.len && (part.len == 0 || memcmp(text.data, part.data, part.len) == 0);
}

static bool may_start_with(const range *r, tl_bytes_view part, bool want)
{
    bool min_does = r->min != NULL && starts_with(tl_col_bytes(r->min, r->min_row), part);
    bool max_does = r->max != NULL && starts_with(tl_col_bytes(r->max, r->max_row), part);
    if (!want)
        return !(min_does && max_does); /* what lies between two strings with a prefix has it */
    if (r->min != NULL && !min_does && tl_bytes_compare(tl_col_bytes(r->min, r->min_row), part) > 0)
        return false;
    return r->max == NULL || max_does || tl_bytes_compare(tl_col_bytes(r->max, r->max_row), part) >= 0;
}

static bool may_be_like(const range *r, tl_bytes_view pattern)
{
    uint8_t *prefix = tl_alloc(pattern.len);
    if (prefix == NULL)
        return true;
    size_t n = 0;
    (void)tl_like__prefix(pattern, prefix, &n); /* a pattern without wildcards is still a prefix */
    bool may = may_start_with(r, (tl_bytes_view){prefix, n}, true);
    tl_free(prefix);
    return may;
}

static bool may_be_in(const range *r, const tl_column *lit, bool want)
{
    for (int64_t j = 0; j < lit->length; j++) {
        if (tl_col_is_null(lit, j)) {
            if (!want)
                return false;
        } else if (want ? may_equal(r, lit, j) : !may_differ(r, lit, j)) {
            return want;
        }
    }
    return !want;
}

static bool may_be_between(range *r, const tl_column *lit, bool want)
{
    bool has_low = !tl_col_is_null(lit, 0), has_high = !tl_col_is_null(lit, 1);
    if (!want)
        return (has_low && may_be_less(r, lit, 0, false)) || (has_high && may_be_greater(r, lit, 1, false));
    if (has_high && !is_nan(lit, 1))
        r->may_be_nan = false; /* NaN is above the upper bound */
    return has_low && has_high && may_be_greater(r, lit, 0, true) && may_be_less(r, lit, 1, true);
}

static bool single_value(const range *r)
{
    return !r->floating && r->min != NULL && r->max != NULL && r->min->phys == r->max->phys &&
           tl_predicate__compare(r->min, r->min_row, r->max, r->max_row) == 0;
}

/* The leaf on values that are not NULL. */
static bool leaf_may(const tl_predicate *leaf, bool want, const tl_col_bounds *bounds)
{
    const tl_column *lit = leaf->literals;
    range r = range_of(bounds, lit);
    bool list = leaf->op == TL_PRED_IN || leaf->op == TL_PRED_NOT_IN || leaf->op == TL_PRED_BETWEEN;
    if (!list && tl_col_is_null(lit, 0))
        return false;
    if (single_value(&r))
        return tl_predicate__leaf_is(leaf, want, r.min, r.min_row);
    switch (leaf->op) {
    case TL_PRED_EQ:
        return want ? may_equal(&r, lit, 0) : may_differ(&r, lit, 0);
    case TL_PRED_NE:
        return want ? may_differ(&r, lit, 0) : may_equal(&r, lit, 0);
    case TL_PRED_LT:
        return want ? may_be_less(&r, lit, 0, false) : may_be_greater(&r, lit, 0, true);
    case TL_PRED_LE:
        return want ? may_be_less(&r, lit, 0, true) : may_be_greater(&r, lit, 0, false);
    case TL_PRED_GT:
        return want ? may_be_greater(&r, lit, 0, false) : may_be_less(&r, lit, 0, true);
    case TL_PRED_GE:
        return want ? may_be_greater(&r, lit, 0, true) : may_be_less(&r, lit, 0, false);
    case TL_PRED_IN:
        return may_be_in(&r, lit, want);
    case TL_PRED_NOT_IN:
        return may_be_in(&r, lit, !want);
    case TL_PRED_BETWEEN:
        return may_be_between(&r, lit, want);
    case TL_PRED_STARTS_WITH:
        return may_start_with(&r, tl_col_bytes(lit, 0), want);
    case TL_PRED_LIKE:
        return want ? may_be_like(&r, tl_col_bytes(lit, 0)) : true;
    default:
        return true;
    }
}

static bool node_may(const tl_predicate *pred, bool want, const tl_col_bounds *bounds, int64_t row_count)
{
    bool all = (pred->op == TL_PRED_AND) == want;
    switch (pred->op) {
    case TL_PRED_NOT:
        return node_may(pred->children[0], !want, bounds, row_count);
    case TL_PRED_AND:
    case TL_PRED_OR:
        for (int32_t c = 0; c < pred->n_children; c++)
            if (node_may(pred->children[c], want, bounds, row_count) != all)
                return !all;
        return all;
    case TL_PRED_TRUE:
    case TL_PRED_FALSE:
        return want == (pred->op == TL_PRED_TRUE);
    default:
        break;
    }
    const tl_col_bounds *b = &bounds[pred->column];
    bool all_null = row_count >= 0 && b->null_count >= row_count;
    if (pred->op == TL_PRED_IS_NULL || pred->op == TL_PRED_IS_NOT_NULL)
        return want == (pred->op == TL_PRED_IS_NULL) ? b->null_count != 0 : !all_null;
    return !all_null && leaf_may(pred, want, b);
}

/* A value v with pad(v) >= padded, yet v < padded, is a beginning of `padded` whose rest is at most blanks: the shortest of these. */
tl_bytes_view tl_predicate_char_min(tl_bytes_view padded)
{
    for (size_t len = 0; len < padded.len; len++) {
        size_t i = len;
        while (i < padded.len && padded.data[i] == ' ')
            i++;
        if (i == padded.len || padded.data[i] < ' ')
            return (tl_bytes_view){padded.data, len};
    }
    return padded;
}

tl_status tl_predicate_may_equal(const tl_predicate *pred, tl_predicate_leaf_fn leaf, void *arg, bool *out, tl_error *err)
{
    *out = true;
    if (pred == NULL)
        return TL_OK;
    if (pred->op == TL_PRED_EQ || pred->op == TL_PRED_IN)
        return leaf(arg, pred, out, err);
    if (pred->op != TL_PRED_AND && pred->op != TL_PRED_OR)
        return TL_OK;
    bool stop_at = pred->op == TL_PRED_OR; /* one yes is enough for OR, one no for AND */
    for (int32_t i = 0; i < pred->n_children; i++) {
        TL_TRY(tl_predicate_may_equal(pred->children[i], leaf, arg, out, err));
        if (*out == stop_at)
            return TL_OK;
    }
    return TL_OK;
}

bool tl_predicate_may_match(const tl_predicate *pred, const tl_col_bounds *bounds, int64_t row_count)
{
    if (row_count == 0)
        return false;
    return pred == NULL || node_may(pred, true, bounds, row_count);
}
