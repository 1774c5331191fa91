/*
 * Kernels that choose: the result of a group is the value of one of its records, named by a reference. A single gather
 * copies the values afterwards. Format reference §14; Java: FieldLastValueAgg, FieldMaxAgg, ….
 */
#include "merge/merge_private.h"

static const tl_rowref no_row = {0, TL_ROW_NULL};

tl_status tl_merge__no_retract(const merge_column *col)
{
    return tl_error_set(
        col->err, TL_E_INVALID,
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

/*
 * Only additions: the last value that is not NULL. Whether a value is one is as good as random, so there is no branch on it:
 * first the validity of all entries goes into one bitmap, then each group's last bit is found.
 */

/* Longest group whose bits are sure to lie in the 8 bytes from its first bit's byte on. */
#define BITS_AT_ONCE 57

/* Validity bits by source; sources without NULLs share a bitmap of ones. */
static tl_status load_validity(const merge_column *col, const uint8_t ***out)
{
    int64_t rows = 0;
    const uint8_t **bits = tl_arena_alloc(col->arena, col->n_srcs * sizeof *bits);
    for (uint32_t k = 0; k < col->n_srcs; k++)
        rows = TL_MAX(rows, col->srcs[k]->validity == NULL ? col->srcs[k]->length : 0);
    uint8_t *ones = tl_arena_alloc(col->arena, tl_bitmap_bytes(rows) + 1);
    if (bits == NULL || ones == NULL)
        return tl_nomem(col->err, "merge");
    memset(ones, 0xff, tl_bitmap_bytes(rows) + 1);
    for (uint32_t k = 0; k < col->n_srcs; k++)
        bits[k] = col->srcs[k]->validity == NULL ? ones : col->srcs[k]->validity;
    *out = bits;
    return TL_OK;
}

static void gather_validity(const uint8_t *const *restrict bits, const tl_rowref *restrict refs, uint32_t n,
                            uint8_t *restrict out)
{
    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t word = 0;
        uint32_t m = TL_MIN(n - i, 64);
        for (uint32_t k = 0; k < m; k++)
            word |= (uint64_t)tl_bit_get(bits[refs[i + k].src], refs[i + k].row) << k;
        tl_write_le64(out + i / 8, word);
    }
}

/* Last set bit in [from, to), as its number from `from` on; -1: none. */
static int64_t last_bit(const uint8_t *valid, uint32_t from, uint32_t to)
{
    for (uint32_t end = to; end > from;) {
        uint32_t n = TL_MIN(end - from, BITS_AT_ONCE), start = end - n;
        uint64_t word = tl_read_le64(valid + start / 8) >> (start & 7) & (UINT64_MAX >> (64 - n));
        if (word != 0)
            return start - from + 63 - __builtin_clzll(word);
        end = start;
    }
    return -1;
}

static tl_status last_non_null_of_adds(const merge_column *col, tl_rowref *refs)
{
    const merge_view *view = col->view;
    uint32_t base = view->starts[0], n = view->starts[view->n_groups] - base;
    const uint8_t **bits = NULL;
    uint8_t *valid = tl_arena_alloc(col->arena, ((size_t)n + 63) / 64 * 8 + 8);
    if (valid == NULL)
        return tl_nomem(col->err, "merge");
    TL_TRY(load_validity(col, &bits));
    gather_validity(bits, view->refs + base, n, valid);
    for (uint32_t g = 0; g < view->n_groups; g++) {
        uint32_t from = view->starts[g] - base, len = view->starts[g + 1] - view->starts[g];
        if (TL_UNLIKELY(len > BITS_AT_ONCE)) {
            int64_t bit = last_bit(valid, from, from + len);
            refs[g] = bit < 0 ? no_row : view->refs[base + from + (uint32_t)bit];
            continue;
        }
        uint64_t word = tl_read_le64(valid + from / 8) >> (from & 7) & (UINT64_MAX >> (64 - len));
        tl_rowref ref = view->refs[base + from + (63 - (uint32_t)__builtin_clzll(word | 1))];
        refs[g] = (tl_rowref){ref.src, word == 0 ? TL_ROW_NULL : ref.row};
    }
    return TL_OK;
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
#define DEFINE_BEST(NAME, BETTER)                                                   \
    static tl_status NAME(const merge_column *col, tl_rowref *refs)                 \
    {                                                                               \
        const merge_view *view = col->view;                                         \
        for (uint32_t g = 0; g < view->n_groups; g++) {                             \
            tl_rowref acc = no_row;                                                 \
            for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {      \
                tl_rowref ref = view->refs[e];                                      \
                uint8_t action = merge_action_at(view, e);                          \
                if (action == ACT_NONE)                                             \
                    continue;                                                       \
                if (is_retract(action)) {                                           \
                    if (!col->rule->ignore_retract)                                 \
                        return tl_merge__no_retract(col);                           \
                    continue;                                                       \
                }                                                                   \
                const tl_column *in = col->srcs[ref.src];                           \
                if (tl_col_is_null(in, ref.row)) {                                  \
                    if (action == ACT_SET)                                          \
                        acc = no_row;                                               \
                } else if (action == ACT_SET || acc.row == TL_ROW_NULL || BETTER) { \
                    acc = ref;                                                      \
                }                                                                   \
            }                                                                       \
            refs[g] = acc;                                                          \
        }                                                                           \
        return TL_OK;                                                               \
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
    return tl_error_set(col->err, TL_E_INVALID, "column '%s': aggregate function '%s': values of this type cannot be compared",
                        col->field->name, col->rule->fn_name);
}

/* The reference knows no order of these types, and says so when two values meet. */
DEFINE_BEST(best_unordered, __extension__({
                return no_order(col);
                false;
            }))

bool tl_merge__is_ordered(const tl_type *type)
{
    return type->kind < TL_ARRAY;
}

static tl_status best(const merge_column *col, bool max, tl_rowref *refs)
{
    tl_phys phys = tl_type_phys(col->field->type);
    if (!tl_merge__is_ordered(col->field->type))
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
            return last_non_null_of_adds(col, refs);
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
        return tl_error_set(col->err, TL_E_INTERNAL, "column '%s': no kernel for function '%s'", col->field->name,
                            col->rule->fn_name);
    }
}
