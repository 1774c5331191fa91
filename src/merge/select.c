/*
 * Kernels that choose: the result of a group is the value of one of its records, named by a reference. A single gather
 * copies the values afterwards. Format reference §14; Java: FieldLastValueAgg, FieldMaxAgg, ….
 */
#include "merge/merge_private.h"

static const tl_rowref no_row = {0, TL_ROW_NULL};

tl_status tl_merge__no_retract(const merge_column *col)
{
    return tl_error_set(col->err, TL_E_INVALID,
                        "column '%s': Aggregate function '%s' does not support retraction, If you allow this function to ignore "
                        "retraction messages, you can configure 'fields.%s.ignore-retract'='true'.",
                        col->field->name, col->rule->fn_name, col->field->name);
}

/* No column of the sources has a NULL. */
static bool never_null(const merge_column *col)
{
    for (uint32_t k = 0; k < col->n_srcs; k++)
        if (col->srcs[k]->null_count > 0)
            return false;
    return true;
}

static inline bool is_retract(uint8_t action)
{
    return action == ACT_RETRACT || action == ACT_RETRACT_LATE;
}

/* Only additions: the last value that is not NULL, looked for from the end. */
static void last_non_null_of_adds(const merge_column *col, tl_rowref *refs)
{
    const merge_view *view = col->view;
    for (uint32_t g = 0; g < view->n_groups; g++) {
        uint32_t e = view->starts[g + 1];
        refs[g] = no_row;
        while (e-- > view->starts[g]) {
            if (!merge_is_null(col, view->refs[e])) {
                refs[g] = view->refs[e];
                break;
            }
        }
    }
}

static void last_of_adds(const merge_column *col, tl_rowref *refs)
{
    const merge_view *view = col->view;
    for (uint32_t g = 0; g < view->n_groups; g++)
        refs[g] = view->refs[view->starts[g + 1] - 1];
}

static void last_non_null(const merge_column *col, tl_rowref *refs)
{
    const merge_view *view = col->view;
    for (uint32_t g = 0; g < view->n_groups; g++) {
        tl_rowref acc = no_row;
        for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {
            tl_rowref ref = view->refs[e];
            uint8_t action = view->actions[e];
            bool null = merge_is_null(col, ref);
            if (action == ACT_SET)
                acc = null ? no_row : ref;
            else if (null || action == ACT_NONE)
                continue;
            else if (action == ACT_ADD || (action == ACT_ADD_LATE && acc.row == TL_ROW_NULL))
                acc = ref;
            else if (is_retract(action) && !col->rule->ignore_retract)
                acc = no_row;
        }
        refs[g] = acc;
    }
}

static void last_value(const merge_column *col, tl_rowref *refs)
{
    const merge_view *view = col->view;
    for (uint32_t g = 0; g < view->n_groups; g++) {
        tl_rowref acc = no_row;
        for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {
            uint8_t action = view->actions[e];
            if (action == ACT_SET || action == ACT_ADD)
                acc = view->refs[e];
            else if (is_retract(action) && !col->rule->ignore_retract)
                acc = col->rule->fn == AGG_PRIMARY_KEY ? view->refs[e] : no_row;
            /* A late record is put before the present value, and the last value is the present one. */
        }
        refs[g] = acc;
    }
}

/*
 * first_value and first_non_null_value keep, beside the value, whether one was seen since the merge began; a late record
 * then replaces the value, NULL or not, because it counts as an earlier first. That state is the reference's.
 */
static tl_status first_value(const merge_column *col, bool non_null, tl_rowref *refs)
{
    const merge_view *view = col->view;
    for (uint32_t g = 0; g < view->n_groups; g++) {
        tl_rowref acc = no_row;
        bool seen = false;
        for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {
            tl_rowref ref = view->refs[e];
            uint8_t action = merge_action_at(view, e);
            if (action == ACT_SET) {
                acc = ref;
            } else if (action == ACT_ADD && !seen && (!non_null || !merge_is_null(col, ref))) {
                acc = ref;
                seen = true;
            } else if (action == ACT_ADD_LATE) {
                bool starts = !seen && (!non_null || (acc.row != TL_ROW_NULL && !merge_is_null(col, acc)));
                acc = starts ? acc : ref;
                seen = seen || starts;
            } else if (is_retract(action) && !col->rule->ignore_retract) {
                return tl_merge__no_retract(col);
            }
        }
        refs[g] = acc;
    }
    return TL_OK;
}

/* ---- max, min, bool_and, bool_or: an order decides ---- */

/*
 * `better(a, b)`: whether value a of the input takes the place of the present value b. Instances differ in type and
 * direction; NULLs never compare.
 */
#define DEFINE_BEST(NAME, BETTER)                                                                                                \
    static tl_status NAME(const merge_column *col, tl_rowref *refs)                                                              \
    {                                                                                                                            \
        const merge_view *view = col->view;                                                                                      \
        for (uint32_t g = 0; g < view->n_groups; g++) {                                                                          \
            tl_rowref acc = no_row;                                                                                              \
            for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {                                                   \
                tl_rowref ref = view->refs[e];                                                                                   \
                uint8_t action = merge_action_at(view, e);                                                                       \
                if (action == ACT_NONE)                                                                                          \
                    continue;                                                                                                    \
                if (is_retract(action)) {                                                                                        \
                    if (!col->rule->ignore_retract)                                                                              \
                        return tl_merge__no_retract(col);                                                                        \
                    continue;                                                                                                    \
                }                                                                                                                \
                const tl_column *in = col->srcs[ref.src];                                                                        \
                if (tl_col_is_null(in, ref.row)) {                                                                               \
                    if (action == ACT_SET)                                                                                       \
                        acc = no_row;                                                                                            \
                } else if (action == ACT_SET || acc.row == TL_ROW_NULL || BETTER) {                                              \
                    acc = ref;                                                                                                   \
                }                                                                                                                \
            }                                                                                                                    \
            refs[g] = acc;                                                                                                       \
        }                                                                                                                        \
        return TL_OK;                                                                                                            \
    }

#define NEW(TYPE) (((const TYPE *)in->values)[ref.row])
#define OLD(TYPE) (((const TYPE *)col->srcs[acc.src]->values)[acc.row])
DEFINE_BEST(max_i32, NEW(int32_t) > OLD(int32_t))
DEFINE_BEST(min_i32, NEW(int32_t) < OLD(int32_t))
DEFINE_BEST(max_i64, NEW(int64_t) > OLD(int64_t))
DEFINE_BEST(min_i64, NEW(int64_t) < OLD(int64_t))
DEFINE_BEST(max_any, tl_column_compare(in, ref.row, col->srcs[acc.src], acc.row, false, true) > 0)
DEFINE_BEST(min_any, tl_column_compare(in, ref.row, col->srcs[acc.src], acc.row, false, true) < 0)

static tl_status no_order(const merge_column *col)
{
    return tl_error_set(col->err, TL_E_INVALID, "column '%s': aggregate function '%s': values of this type cannot be compared", col->field->name,
                        col->rule->fn_name);
}

/* The reference knows no order of these types, and says so when two values meet. */
DEFINE_BEST(best_unordered, __extension__({
                return no_order(col);
                false;
            }))

static bool is_ordered(const tl_type *type)
{
    return type->kind != TL_BOOLEAN && type->kind < TL_ARRAY;
}

static tl_status best(const merge_column *col, bool max, tl_rowref *refs)
{
    tl_phys phys = tl_type_phys(col->field->type);
    if (!is_ordered(col->field->type))
        return best_unordered(col, refs);
    if (phys == TL_PHYS_I32)
        return max ? max_i32(col, refs) : min_i32(col, refs);
    if (phys == TL_PHYS_I64)
        return max ? max_i64(col, refs) : min_i64(col, refs);
    return max ? max_any(col, refs) : min_any(col, refs);
}

tl_status tl_merge__select(const merge_column *col, tl_rowref *refs)
{
    bool adds_only = col->view->actions == NULL;
    agg_fn fn = col->rule->kind == RULE_AGGREGATE ? col->rule->fn : AGG_LAST_NON_NULL_VALUE;
    switch (fn) {
    case AGG_LAST_NON_NULL_VALUE:
        if (!adds_only)
            last_non_null(col, refs);
        else if (never_null(col))
            last_of_adds(col, refs);
        else
            last_non_null_of_adds(col, refs);
        return TL_OK;
    case AGG_LAST_VALUE:
    case AGG_PRIMARY_KEY:
        if (adds_only)
            last_of_adds(col, refs);
        else
            last_value(col, refs);
        return TL_OK;
    case AGG_FIRST_VALUE:
    case AGG_FIRST_NON_NULL_VALUE:
        return first_value(col, fn == AGG_FIRST_NON_NULL_VALUE, refs);
    case AGG_MAX:
    case AGG_MIN:
        return best(col, fn == AGG_MAX, refs);
    case AGG_BOOL_AND: /* false before true: the smaller of two */
        return min_any(col, refs);
    case AGG_BOOL_OR:
        return max_any(col, refs);
    default:
        return tl_error_set(col->err, TL_E_INTERNAL, "column '%s': no kernel for function '%s'", col->field->name, col->rule->fn_name);
    }
}
