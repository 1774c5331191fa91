/*
 * Predicates: filters as trees over the columns of a ROW, evaluated on batches, on statistics and on partition rows.
 *
 * SQL's three-valued logic; a row passes if the result is TRUE. Operators and their names are those of the reference
 * (Java: org.apache.paimon.predicate). Values compare as there: FLOAT and DOUBLE by total order (-0.0 < 0.0, NaN equal to itself
 * and above all), strings by their bytes; binary by unsigned bytes, as in SQL. LIKE knows %, _ (one code point) and the escape \.
 */
#ifndef TL_TYPES_PREDICATE_H
#define TL_TYPES_PREDICATE_H

#include "types/builder.h"

typedef enum tl_pred_op {
    TL_PRED_AND,
    TL_PRED_OR,
    TL_PRED_NOT,
    TL_PRED_TRUE,
    TL_PRED_FALSE,
    TL_PRED_EQ,
    TL_PRED_NE,
    TL_PRED_LT,
    TL_PRED_LE,
    TL_PRED_GT,
    TL_PRED_GE,
    TL_PRED_IN,
    TL_PRED_NOT_IN,
    TL_PRED_BETWEEN,
    TL_PRED_IS_NULL,
    TL_PRED_IS_NOT_NULL,
    TL_PRED_STARTS_WITH,
    TL_PRED_ENDS_WITH,
    TL_PRED_CONTAINS,
    TL_PRED_LIKE
} tl_pred_op;

typedef struct tl_predicate tl_predicate;
struct tl_predicate {
    tl_pred_op op;
    /* AND, OR, NOT */
    int32_t n_children;
    tl_predicate **children;
    /* leaves */
    int32_t column;      /* index into the ROW that the predicate is bound to */
    tl_column *literals; /* of the column's type: 0 (IS NULL …), 1, 2 (BETWEEN) or n (IN) values */
};

void tl_predicate_free(tl_predicate *pred);
static inline void tl_predicate_freep(tl_predicate **pred)
{
    tl_predicate_free(*pred);
}
tl_status tl_predicate_dup(const tl_predicate *pred, tl_predicate **out, tl_error *err);
/**
 * From JSON, bound to `row_type`: ["=","col",v], also != < <= > >= startsWith endsWith contains like; ["between","col",a,b],
 * ["in","col",[..]], ["notIn",..], ["isNull","col"], ["isNotNull","col"], ["and",e,..], ["or",e,..], ["not",e]. Values in the
 * form of text.h. TL_E_INVALID names operator and column.
 */
tl_status tl_predicate_from_json(const tl_json *json, const tl_type *row_type, tl_predicate **out, tl_error *err);
/**
 * Leaf; takes `literals` over (NULL for TRUE, FALSE and the null tests), also when it fails. TL_E_INVALID if their number or type
 * does not suit the operator, or a LIKE pattern is malformed.
 */
tl_status tl_predicate_leaf(tl_pred_op op, int32_t column, tl_column *literals, tl_predicate **out, tl_error *err);
/** NOT; takes `child` over. */
tl_status tl_predicate_negate(tl_predicate *child, tl_predicate **out, tl_error *err);
/** AND or OR of two; takes both over; either may be NULL (then the other is the result). */
tl_status tl_predicate_combine(tl_pred_op op, tl_predicate *a, tl_predicate *b, tl_predicate **out, tl_error *err);
/** Columns used: sets used[column] for each; `used` has one bool per field of the bound ROW. */
void tl_predicate_columns(const tl_predicate *pred, bool *used);
/**
 * Rebind to another ROW by a map old column -> new column (-1: not there). With `weaken`, parts on absent columns become TRUE
 * (safe for pruning: keeps a superset); without, they give TL_E_INVALID.
 */
tl_status tl_predicate_remap(const tl_predicate *pred, const int32_t *map, bool weaken, tl_predicate **out, tl_error *err);

/** Passing rows: sel receives their numbers, ascending; *n_sel how many. `cols` are those of the bound ROW (unused ones may be NULL). */
tl_status tl_predicate_eval(const tl_predicate *pred, const tl_column *const *cols, int64_t n_rows, uint32_t *sel, int64_t *n_sel, tl_error *err);

/** Whether a value that `leaf` (= or IN) asks for may be there. */
typedef tl_status (*tl_predicate_leaf_fn)(void *arg, const tl_predicate *leaf, bool *may, tl_error *err);
/** *out is false only if no row can pass because of the values for which `leaf` says no; NULL asks for nothing. */
tl_status tl_predicate_may_equal(const tl_predicate *pred, tl_predicate_leaf_fn leaf, void *arg, bool *out, tl_error *err);

/** Leave out the rows of a batch that do not pass; the batch stays the same if all do. */
tl_status tl_predicate_filter(const tl_predicate *pred, tl_batch **batch, tl_error *err);

/** Bounds of one column for pruning. min/max have one row or are NULL (unknown); null_count < 0 is unknown. */
typedef struct tl_col_bounds {
    const tl_column *min;
    const tl_column *max;
    int64_t min_row; /* row in min/max columns */
    int64_t max_row;
    int64_t null_count;
} tl_col_bounds;
/**
 * The least text that a CHAR column can hold whose least value, padded with blanks, is `padded`: ORC writers keep bounds of CHAR in
 * that form, readers take the blanks off. As an upper bound the padded text serves as it is.
 */
tl_bytes_view tl_predicate_char_min(tl_bytes_view padded);
/**
 * False only if no row can pass. `bounds` has one entry per field of the bound ROW; row_count < 0 is unknown. Bounds need not be
 * tight (truncated strings), only true; those of a type other than the literals' are ignored. Floating-point bounds are taken as
 * writers make them: NaN left out, -0.0 and 0.0 mixed up.
 */
bool tl_predicate_may_match(const tl_predicate *pred, const tl_col_bounds *bounds, int64_t row_count);

#endif
