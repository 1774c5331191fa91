/*
 * Predicates on batches.
 *
 * The unit of work is "rows of a selection on which the predicate is TRUE (or, under NOT, FALSE)". With NOT pushed down to the
 * leaves this way, NULL needs no representation: a row is simply in neither set. A leaf makes one byte per selected row with a
 * loop that knows operator and type, then the bytes, the nulls and the selection become the new selection.
 */
#include "base/map.h"
#include "types/predicate_private.h"

/* Rows of a batch, ascending; rows == NULL: all of [0, n). */
typedef struct selection {
    const uint32_t *rows;
    int64_t n;
} selection;

typedef struct evaluation {
    const tl_column *const *cols;
    int64_t n_rows;
    uint8_t *flags; /* one byte per row, for the leaf at work */
    tl_error *err;
} evaluation;

static tl_status eval_node(evaluation *e, const tl_predicate *pred, bool want, selection in, uint32_t *out, int64_t *n_out);

/* ---- comparison loops: flags[k] = value of the k-th selected row OP literal ---- */

/* What every comparison is made of; the other three are their negations (of values that are not NULL). */
typedef enum relation { REL_EQ, REL_LT, REL_LE } relation;

#define LOOP(EXPR)                        \
    if (rows == NULL)                     \
        for (int64_t k = 0; k < n; k++) { \
            int64_t i = k;                \
            flags[k] = (EXPR);            \
        }                                 \
    else                                  \
        for (int64_t k = 0; k < n; k++) { \
            int64_t i = rows[k];          \
            flags[k] = (EXPR);            \
        }

#define DEFINE_COMPARE(NAME, TYPE, KEY)                                                                                  \
    static void NAME(const tl_column *col, const uint32_t *restrict rows, int64_t n, relation rel, const tl_column *lit, \
                     int64_t lit_row, uint8_t *restrict flags)                                                           \
    {                                                                                                                    \
        const TYPE *restrict values = col->values;                                                                       \
        __typeof__(KEY(values[0])) want = KEY(((const TYPE *)lit->values)[lit_row]);                                     \
        if (rel == REL_EQ) {                                                                                             \
            LOOP(KEY(values[i]) == want)                                                                                 \
        } else if (rel == REL_LT) {                                                                                      \
            LOOP(KEY(values[i]) < want)                                                                                  \
        } else {                                                                                                         \
            LOOP(KEY(values[i]) <= want)                                                                                 \
        }                                                                                                                \
    }
#define AS_IS(v) (v)
#define TS96_KEY(v) ((tl_i128)(v).millis * 4294967296 + (v).nanos)
DEFINE_COMPARE(compare_u8, uint8_t, AS_IS)
DEFINE_COMPARE(compare_i8, int8_t, AS_IS)
DEFINE_COMPARE(compare_i16, int16_t, AS_IS)
DEFINE_COMPARE(compare_i32, int32_t, AS_IS)
DEFINE_COMPARE(compare_i64, int64_t, AS_IS)
DEFINE_COMPARE(compare_i128, tl_i128, AS_IS)
DEFINE_COMPARE(compare_f32, float, tl_predicate__order_f32)
DEFINE_COMPARE(compare_f64, double, tl_predicate__order_f64)
DEFINE_COMPARE(compare_ts96, tl_ts96, TS96_KEY)

static void compare_bytes(const tl_column *col, const uint32_t *restrict rows, int64_t n, relation rel, const tl_column *lit,
                          int64_t lit_row, uint8_t *restrict flags)
{
    tl_bytes_view want = tl_col_bytes(lit, lit_row);
    if (rel == REL_EQ) {
        LOOP(tl_bytes_equal(tl_col_bytes(col, i), want))
    } else if (rel == REL_LT) {
        LOOP(tl_bytes_compare(tl_col_bytes(col, i), want) < 0)
    } else {
        LOOP(tl_bytes_compare(tl_col_bytes(col, i), want) <= 0)
    }
}

typedef void (*compare_fn)(const tl_column *col, const uint32_t *rows, int64_t n, relation rel, const tl_column *lit,
                           int64_t lit_row, uint8_t *flags);

static compare_fn pick_compare(tl_phys phys)
{
    static const compare_fn fns[] = {
        [TL_PHYS_BOOL] = compare_u8,     [TL_PHYS_I8] = compare_i8,   [TL_PHYS_I16] = compare_i16,
        [TL_PHYS_I32] = compare_i32,     [TL_PHYS_I64] = compare_i64, [TL_PHYS_I128] = compare_i128,
        [TL_PHYS_F32] = compare_f32,     [TL_PHYS_F64] = compare_f64, [TL_PHYS_TS96] = compare_ts96,
        [TL_PHYS_BYTES] = compare_bytes,
    };
    return fns[phys];
}

int tl_predicate__compare(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
    const uint32_t row = (uint32_t)i;
    uint8_t equal, less;
    compare_fn compare = pick_compare(a->phys);
    compare(a, &row, 1, REL_EQ, b, j, &equal);
    compare(a, &row, 1, REL_LT, b, j, &less);
    return equal ? 0 : less ? -1 : 1;
}

/* ---- from flags to a selection ---- */

/* Selected rows whose flag is `want` and whose value is not NULL. `out` may be the array of `in`. */
static int64_t keep_rows(const tl_column *col, selection in, const uint8_t *restrict flags, bool want, uint32_t *out)
{
    int64_t m = 0;
    const uint8_t *validity = col->null_count > 0 ? col->validity : NULL;
    if (in.rows == NULL && validity == NULL) {
        for (int64_t i = 0; i < in.n; i++) {
            out[m] = (uint32_t)i;
            m += flags[i] == want;
        }
    } else if (in.rows == NULL) {
        for (int64_t i = 0; i < in.n; i++) {
            out[m] = (uint32_t)i;
            m += (flags[i] == want) & tl_bit_get(validity, i);
        }
    } else if (validity == NULL) {
        for (int64_t k = 0; k < in.n; k++) {
            out[m] = in.rows[k];
            m += flags[k] == want;
        }
    } else {
        for (int64_t k = 0; k < in.n; k++) {
            uint32_t row = in.rows[k];
            out[m] = row;
            m += (flags[k] == want) & tl_bit_get(validity, row);
        }
    }
    return m;
}

static int64_t keep_nulls(const tl_column *col, selection in, bool null, uint32_t *out)
{
    int64_t m = 0;
    for (int64_t k = 0; k < in.n; k++) {
        uint32_t row = in.rows == NULL ? (uint32_t)k : in.rows[k];
        out[m] = row;
        m += tl_col_is_null(col, row) == null;
    }
    return m;
}

static int64_t keep_all(selection in, uint32_t *out)
{
    for (int64_t k = 0; k < in.n; k++)
        out[k] = in.rows == NULL ? (uint32_t)k : in.rows[k];
    return in.n;
}

/* ---- leaves ---- */

/* Operator as a relation and whether to take its negation. */
static relation relation_of(tl_pred_op op, bool *negated)
{
    *negated = op == TL_PRED_NE || op == TL_PRED_GE || op == TL_PRED_GT;
    switch (op) {
    case TL_PRED_LT:
    case TL_PRED_GE:
        return REL_LT;
    case TL_PRED_LE:
    case TL_PRED_GT:
        return REL_LE;
    default:
        return REL_EQ;
    }
}

static int64_t eval_comparison(evaluation *e, const tl_predicate *leaf, bool want, selection in, uint32_t *out)
{
    const tl_column *col = e->cols[leaf->column];
    bool negated;
    relation rel = relation_of(leaf->op, &negated);
    if (tl_col_is_null(leaf->literals, 0))
        return 0;
    pick_compare(col->phys)(col, in.rows, in.n, rel, leaf->literals, 0, e->flags);
    return keep_rows(col, in, e->flags, want != negated, out);
}

/* x BETWEEN a AND b is x >= a AND x <= b, so a NULL bound leaves rows FALSE that fail the other one. */
static int64_t eval_between(evaluation *e, const tl_predicate *leaf, bool want, selection in, uint32_t *out)
{
    const tl_column *col = e->cols[leaf->column];
    const tl_column *lit = leaf->literals;
    compare_fn compare = pick_compare(col->phys);
    bool has_low = !tl_col_is_null(lit, 0), has_high = !tl_col_is_null(lit, 1);
    if (want) {
        if (!has_low || !has_high)
            return 0;
        compare(col, in.rows, in.n, REL_LT, lit, 0, e->flags);
        if (col->phys != TL_PHYS_BYTES) { /* comparing is cheaper than selecting twice */
            uint8_t *restrict flags = e->flags, *restrict not_above = e->flags + e->n_rows;
            compare(col, in.rows, in.n, REL_LE, lit, 1, not_above);
            for (int64_t k = 0; k < in.n; k++)
                flags[k] = (uint8_t)(not_above[k] & !flags[k]);
            return keep_rows(col, in, flags, true, out);
        }
        int64_t m = keep_rows(col, in, e->flags, false, out);
        compare(col, out, m, REL_LE, lit, 1, e->flags);
        return keep_rows(col, (selection){out, m}, e->flags, true, out);
    }
    uint8_t *below = e->flags + e->n_rows; /* the second half of the scratch */
    memset(e->flags, 0, (size_t)in.n);
    if (has_low)
        compare(col, in.rows, in.n, REL_LT, lit, 0, e->flags);
    if (has_high) {
        compare(col, in.rows, in.n, REL_LE, lit, 1, below);
        for (int64_t k = 0; k < in.n; k++)
            e->flags[k] |= !below[k];
    }
    return keep_rows(col, in, e->flags, true, out);
}

#define IN_BY_LOOPS_MAX 8

/* Bytes that are equal if and only if the values are. */
static tl_bytes_view identity_bytes(const tl_column *col, int64_t i, uint8_t buf[16])
{
    int width = tl_phys_width(col->phys);
    if (width == 0)
        return tl_col_bytes(col, i);
    memcpy(buf, (const uint8_t *)col->values + i * width, (size_t)width);
    if (col->phys == TL_PHYS_F32) {
        int32_t key = tl_predicate__order_f32(tl_col_f32(col, i));
        memcpy(buf, &key, sizeof key);
    } else if (col->phys == TL_PHYS_F64) {
        int64_t key = tl_predicate__order_f64(tl_col_f64(col, i));
        memcpy(buf, &key, sizeof key);
    }
    return (tl_bytes_view){buf, (size_t)width};
}

static tl_status in_by_map(evaluation *e, const tl_column *col, const tl_column *lit, selection in)
{
    tl_map set = {0};
    uint8_t buf[16];
    tl_status status = TL_OK;
    for (int64_t j = 0; j < lit->length && status == TL_OK; j++) {
        tl_bytes_view key = identity_bytes(lit, j, buf);
        if (!tl_col_is_null(lit, j))
            status = tl_map_put(&set, key.data, key.len, &set, NULL);
    }
    for (int64_t k = 0; k < in.n && status == TL_OK; k++) {
        tl_bytes_view key = identity_bytes(col, in.rows == NULL ? k : in.rows[k], buf);
        e->flags[k] = tl_map_get(&set, key.data, key.len) != NULL;
    }
    tl_map_deinit(&set);
    return status == TL_OK ? TL_OK : tl_nomem(e->err, "predicate");
}

static inline int64_t int_at(const tl_column *col, int64_t i)
{
    return col->phys == TL_PHYS_I32 ? ((const int32_t *)col->values)[i] : ((const int64_t *)col->values)[i];
}

static bool is_ascending_int(const tl_column *lit)
{
    if ((lit->phys != TL_PHYS_I32 && lit->phys != TL_PHYS_I64) || lit->null_count > 0)
        return false;
    for (int64_t j = 1; j < lit->length; j++) {
        if (int_at(lit, j) <= int_at(lit, j - 1))
            return false;
    }
    return true;
}

/* First literal at or above `v` in [from, to). */
static int64_t lower_bound(const tl_column *lit, int64_t from, int64_t to, int64_t v)
{
    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        if (int_at(lit, mid) < v)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Ascending literals: where the values ascend too, as keys in a file do, each is near the one before. */
static void in_by_merge(evaluation *e, const tl_column *col, const tl_column *lit, selection in)
{
    int64_t at = 0; /* the first literal that is not below the value before */
    for (int64_t k = 0; k < in.n; k++) {
        int64_t v = int_at(col, in.rows == NULL ? k : in.rows[k]);
        if (at > 0 && int_at(lit, at - 1) >= v)
            at = lower_bound(lit, 0, at, v);
        else if (at < lit->length && int_at(lit, at) < v) {
            int64_t step = 1;
            while (at + step < lit->length && int_at(lit, at + step) < v)
                step *= 2;
            at = lower_bound(lit, at + step / 2, TL_MIN(at + step, lit->length), v);
        }
        e->flags[k] = at < lit->length && int_at(lit, at) == v;
    }
}

static void in_by_loops(evaluation *e, const tl_column *col, const tl_column *lit, selection in)
{
    uint8_t *one = e->flags + e->n_rows;
    memset(e->flags, 0, (size_t)in.n);
    for (int64_t j = 0; j < lit->length; j++) {
        if (tl_col_is_null(lit, j))
            continue;
        pick_compare(col->phys)(col, in.rows, in.n, REL_EQ, lit, j, one);
        for (int64_t k = 0; k < in.n; k++)
            e->flags[k] |= one[k];
    }
}

static tl_status eval_in(evaluation *e, const tl_predicate *leaf, bool want, selection in, uint32_t *out, int64_t *n_out)
{
    const tl_column *col = e->cols[leaf->column];
    const tl_column *lit = leaf->literals;
    *n_out = 0;
    if (!want && lit->null_count > 0)
        return TL_OK; /* what is in no place of the list may still equal the NULL */
    if (lit->length <= IN_BY_LOOPS_MAX)
        in_by_loops(e, col, lit, in);
    else if (is_ascending_int(lit) && lit->phys == col->phys)
        in_by_merge(e, col, lit, in);
    else
        TL_TRY(in_by_map(e, col, lit, in));
    *n_out = keep_rows(col, in, e->flags, want, out);
    return TL_OK;
}

static bool starts_with(tl_bytes_view text, tl_bytes_view part)
{
    return text.len >= part.len && (part.len == 0 || memcmp(text.data, part.data, part.len) == 0);
}

static bool ends_with(tl_bytes_view text, tl_bytes_view part)
{
    return text.len >= part.len && (part.len == 0 || memcmp(text.data + text.len - part.len, part.data, part.len) == 0);
}

static bool contains(tl_bytes_view text, tl_bytes_view part)
{
    return part.len == 0 || (text.len >= part.len && memmem(text.data, text.len, part.data, part.len) != NULL);
}

/* LIKE without _ and escapes, and with % at its ends only, is one of the simpler tests on what is left. */
static tl_pred_op simplify_like(tl_bytes_view *pattern)
{
    bool open_start = pattern->len > 0 && pattern->data[0] == '%';
    bool open_end = pattern->len > (size_t)open_start && pattern->data[pattern->len - 1] == '%';
    tl_bytes_view middle = {pattern->data + open_start, pattern->len - open_start - open_end};
    for (size_t i = 0; i < middle.len; i++)
        if (middle.data[i] == '%' || middle.data[i] == '_' || middle.data[i] == '\\')
            return TL_PRED_LIKE;
    *pattern = middle;
    if (open_start)
        return open_end ? TL_PRED_CONTAINS : TL_PRED_ENDS_WITH;
    return open_end ? TL_PRED_STARTS_WITH : TL_PRED_EQ;
}

static int64_t eval_text(evaluation *e, const tl_predicate *leaf, bool want, selection in, uint32_t *out)
{
    const tl_column *col = e->cols[leaf->column];
    const uint32_t *rows = in.rows;
    int64_t n = in.n;
    uint8_t *flags = e->flags;
    if (tl_col_is_null(leaf->literals, 0))
        return 0;
    tl_bytes_view part = tl_col_bytes(leaf->literals, 0);
    switch (leaf->op == TL_PRED_LIKE ? simplify_like(&part) : leaf->op) {
    case TL_PRED_EQ:
        LOOP(tl_bytes_equal(tl_col_bytes(col, i), part))
        break;
    case TL_PRED_STARTS_WITH:
        LOOP(starts_with(tl_col_bytes(col, i), part))
        break;
    case TL_PRED_ENDS_WITH:
        LOOP(ends_with(tl_col_bytes(col, i), part))
        break;
    case TL_PRED_CONTAINS:
        LOOP(contains(tl_col_bytes(col, i), part))
        break;
    default:
        LOOP(tl_like__match(tl_col_bytes(col, i), part))
    }
    return keep_rows(col, in, flags, want, out);
}

static tl_status eval_leaf(evaluation *e, const tl_predicate *leaf, bool want, selection in, uint32_t *out, int64_t *n_out)
{
    switch (leaf->op) {
    case TL_PRED_TRUE:
    case TL_PRED_FALSE:
        *n_out = want == (leaf->op == TL_PRED_TRUE) ? keep_all(in, out) : 0;
        return TL_OK;
    case TL_PRED_IS_NULL:
    case TL_PRED_IS_NOT_NULL:
        *n_out = keep_nulls(e->cols[leaf->column], in, want == (leaf->op == TL_PRED_IS_NULL), out);
        return TL_OK;
    case TL_PRED_IN:
        return eval_in(e, leaf, want, in, out, n_out);
    case TL_PRED_NOT_IN:
        return eval_in(e, leaf, !want, in, out, n_out);
    case TL_PRED_BETWEEN:
        *n_out = eval_between(e, leaf, want, in, out);
        return TL_OK;
    case TL_PRED_STARTS_WITH:
    case TL_PRED_ENDS_WITH:
    case TL_PRED_CONTAINS:
    case TL_PRED_LIKE:
        *n_out = eval_text(e, leaf, want, in, out);
        return TL_OK;
    default:
        *n_out = eval_comparison(e, leaf, want, in, out);
        return TL_OK;
    }
}

bool tl_predicate__leaf_is(const tl_predicate *leaf, bool want, const tl_column *col, int64_t row)
{
    uint8_t flags[2];
    const tl_column *cols[1] = {col};
    tl_predicate here = *leaf;
    here.column = 0;
    evaluation e = {cols, 1, flags, NULL};
    uint32_t rows[1] = {(uint32_t)row};
    uint32_t out[1];
    int64_t n = 1;
    /* In doubt (no memory) the answer must not prune. */
    return eval_leaf(&e, &here, want, (selection){rows, 1}, out, &n) != TL_OK || n == 1;
}

/* ---- nodes ---- */

/* Every child must have the wanted result: each narrows the selection of the one before. */
static tl_status eval_all(evaluation *e, const tl_predicate *node, bool want, selection in, uint32_t *out, int64_t *n_out)
{
    if (node->n_children == 0)
        *n_out = keep_all(in, out);
    for (int32_t c = 0; c < node->n_children; c++) {
        TL_TRY(eval_node(e, node->children[c], want, in, out, n_out));
        in = (selection){out, *n_out};
        if (*n_out == 0)
            break;
    }
    return TL_OK;
}

/* Rows of `in` without those of `drop`, which is a subset. `out` may be the array of `in`. */
static int64_t subtract(selection in, const uint32_t *drop, int64_t n_drop, uint32_t *out)
{
    int64_t m = 0, d = 0;
    for (int64_t k = 0; k < in.n; k++) {
        uint32_t row = in.rows == NULL ? (uint32_t)k : in.rows[k];
        if (d < n_drop && drop[d] == row)
            d++;
        else
            out[m++] = row;
    }
    return m;
}

static int64_t merge(const uint32_t *a, int64_t n_a, const uint32_t *b, int64_t n_b, uint32_t *out)
{
    int64_t i = 0, j = 0, m = 0;
    while (i < n_a && j < n_b)
        out[m++] = a[i] < b[j] ? a[i++] : b[j++];
    while (i < n_a)
        out[m++] = a[i++];
    while (j < n_b)
        out[m++] = b[j++];
    return m;
}

/* One child with the wanted result is enough: each looks only at the rows that the ones before left undecided. */
static tl_status eval_any(evaluation *e, const tl_predicate *node, bool want, selection in, uint32_t *out, int64_t *n_out)
{
    size_t n = (size_t)TL_MAX(in.n, 1);
    TL_CLEANUP(tl_freep) uint32_t *scratch = tl_alloc(4 * n * sizeof *scratch);
    if (scratch == NULL)
        return tl_nomem(e->err, "predicate");
    uint32_t *found = scratch, *sum = scratch + n, *next = scratch + 2 * n, *rest = scratch + 3 * n;
    int64_t n_sum = 0;
    for (int32_t c = 0; c < node->n_children && in.n > 0; c++) {
        int64_t n_found = 0;
        TL_TRY(eval_node(e, node->children[c], want, in, found, &n_found));
        in = (selection){rest, subtract(in, found, n_found, rest)};
        int64_t n_next = merge(sum, n_sum, found, n_found, next);
        uint32_t *swap = sum;
        sum = next;
        next = swap;
        n_sum = n_next;
    }
    if (n_sum > 0)
        memcpy(out, sum, (size_t)n_sum * sizeof *out);
    *n_out = n_sum;
    return TL_OK;
}

static tl_status eval_node(evaluation *e, const tl_predicate *pred, bool want, selection in, uint32_t *out, int64_t *n_out)
{
    switch (pred->op) {
    case TL_PRED_NOT:
        return eval_node(e, pred->children[0], !want, in, out, n_out);
    case TL_PRED_AND:
        return want ? eval_all(e, pred, want, in, out, n_out) : eval_any(e, pred, want, in, out, n_out);
    case TL_PRED_OR:
        return want ? eval_any(e, pred, want, in, out, n_out) : eval_all(e, pred, want, in, out, n_out);
    default:
        return eval_leaf(e, pred, want, in, out, n_out);
    }
}

tl_status tl_predicate_eval(const tl_predicate *pred, const tl_column *const *cols, int64_t n_rows, uint32_t *sel,
                            int64_t *n_sel, tl_error *err)
{
    if (pred == NULL) {
        *n_sel = keep_all((selection){NULL, n_rows}, sel);
        return TL_OK;
    }
    TL_CLEANUP(tl_freep) uint8_t *flags = tl_alloc((size_t)TL_MAX(n_rows, 1) * 2);
    if (flags == NULL)
        return tl_nomem(err, "predicate");
    evaluation e = {cols, n_rows, flags, err};
    return eval_node(&e, pred, true, (selection){NULL, n_rows}, sel, n_sel);
}

tl_status tl_predicate_filter(const tl_predicate *pred, tl_batch **batch, tl_error *err)
{
    int64_t n_rows = (*batch)->n_rows, n = 0;
    if (n_rows == 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc((size_t)n_rows * sizeof *sel);
    if (sel == NULL)
        return tl_nomem(err, "filter");
    TL_TRY(tl_predicate_eval(pred, (const tl_column *const *)(*batch)->cols, n_rows, sel, &n, err));
    if (n == n_rows)
        return TL_OK;
    tl_batch *kept = NULL;
    TL_TRY(tl_batch_gather(*batch, sel, n, &kept, err));
    tl_batch_free(*batch);
    *batch = kept;
    return TL_OK;
}
