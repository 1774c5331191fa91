/* Predicates: evaluation against a row-by-row model, pruning against evaluation, JSON, rebinding. */
#include <math.h>

#include "types/predicate.h"
#include "types/predicate_private.h"
#include "values.h"

#define ROWS 200

static const char *const column_types[] = {
    "INT",          "BIGINT",  "DOUBLE",   "FLOAT", "STRING",       "BOOLEAN", "DECIMAL(10, 2)", "DECIMAL(38, 0)",
    "TIMESTAMP(9)", "TINYINT", "SMALLINT", "BYTES", "TIMESTAMP(3)", "DATE",
};
#define COLUMNS TL_ARRAY_LEN(column_types)

/* ---- the model: one row, three values ---- */

typedef enum truth { IS_FALSE, IS_TRUE, IS_NULL } truth;

static int order_doubles(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    if (a != b)
        return a < b ? -1 : 1;
    return (signbit(b) != 0) - (signbit(a) != 0);
}

static int model_compare(const tl_column *a, int64_t i, const tl_column *b, int64_t j)
{
#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))
    switch (a->phys) {
    case TL_PHYS_BOOL:
        return ORDER(tl_col_bool(a, i), tl_col_bool(b, j));
    case TL_PHYS_I8:
        return ORDER(tl_col_i8(a, i), tl_col_i8(b, j));
    case TL_PHYS_I16:
        return ORDER(tl_col_i16(a, i), tl_col_i16(b, j));
    case TL_PHYS_I32:
        return ORDER(tl_col_i32(a, i), tl_col_i32(b, j));
    case TL_PHYS_I64:
        return ORDER(tl_col_i64(a, i), tl_col_i64(b, j));
    case TL_PHYS_I128:
        return ORDER(tl_col_i128(a, i), tl_col_i128(b, j));
    case TL_PHYS_F32:
        return order_doubles((double)tl_col_f32(a, i), (double)tl_col_f32(b, j));
    case TL_PHYS_F64:
        return order_doubles(tl_col_f64(a, i), tl_col_f64(b, j));
    case TL_PHYS_TS96: {
        tl_ts96 x = tl_col_ts96(a, i), y = tl_col_ts96(b, j);
        return x.millis != y.millis ? ORDER(x.millis, y.millis) : ORDER(x.nanos, y.nanos);
    }
    default: {
        tl_bytes_view x = tl_col_bytes(a, i), y = tl_col_bytes(b, j);
        int c = memcmp(x.data, y.data, TL_MIN(x.len, y.len));
        return c != 0 ? c : ORDER(x.len, y.len);
    }
    }
}

static bool model_like(const uint8_t *t, const uint8_t *t_end, const uint8_t *p, const uint8_t *p_end)
{
    if (p == p_end)
        return t == t_end;
    if (*p == '%') {
        for (; t <= t_end; t++)
            if (model_like(t, t_end, p + 1, p_end))
                return true;
        return false;
    }
    if (t == t_end)
        return false;
    if (*p == '_')
        return model_like(t + 1, t_end, p + 1, p_end); /* the texts are ASCII */
    if (*p == '\\')
        p++;
    return *p == *t && model_like(t + 1, t_end, p + 1, p_end);
}

static truth model_text(const tl_predicate *leaf, tl_bytes_view text)
{
    tl_bytes_view part = tl_col_bytes(leaf->literals, 0);
    bool found = false;
    switch (leaf->op) {
    case TL_PRED_STARTS_WITH:
        return text.len >= part.len && memcmp(text.data, part.data, part.len) == 0;
    case TL_PRED_ENDS_WITH:
        return text.len >= part.len && memcmp(text.data + text.len - part.len, part.data, part.len) == 0;
    case TL_PRED_CONTAINS:
        for (size_t i = 0; i + part.len <= text.len; i++)
            found |= memcmp(text.data + i, part.data, part.len) == 0;
        return found;
    default:
        return model_like(text.data, text.data + text.len, part.data, part.data + part.len);
    }
}

static truth not(truth t)
{
    return t == IS_NULL ? IS_NULL : t == IS_TRUE ? IS_FALSE : IS_TRUE;
}

static truth and (truth a, truth b)
{
    return a == IS_FALSE || b == IS_FALSE ? IS_FALSE : a == IS_NULL || b == IS_NULL ? IS_NULL : IS_TRUE;
}

static truth model_order(tl_pred_op op, const tl_column *col, int64_t i, const tl_column *lit, int64_t j)
{
    if (tl_col_is_null(col, i) || tl_col_is_null(lit, j))
        return IS_NULL;
    int c = model_compare(col, i, lit, j);
    switch (op) {
    case TL_PRED_EQ:
        return c == 0;
    case TL_PRED_NE:
        return c != 0;
    case TL_PRED_LT:
        return c < 0;
    case TL_PRED_LE:
        return c <= 0;
    case TL_PRED_GT:
        return c > 0;
    default:
        return c >= 0;
    }
}

static truth model(const tl_predicate *pred, tl_column *const *cols, int64_t i)
{
    truth t;
    const tl_column *col = pred->n_children == 0 && pred->column >= 0 ? cols[pred->column] : NULL;
    switch (pred->op) {
    case TL_PRED_TRUE:
        return IS_TRUE;
    case TL_PRED_FALSE:
        return IS_FALSE;
    case TL_PRED_NOT:
        return not(model(pred->children[0], cols, i));
    case TL_PRED_AND:
        t = IS_TRUE;
        for (int32_t c = 0; c < pred->n_children; c++)
            t = and(t, model(pred->children[c], cols, i));
        return t;
    case TL_PRED_OR:
        t = IS_TRUE;
        for (int32_t c = 0; c < pred->n_children; c++)
            t = and(t, not(model(pred->children[c], cols, i)));
        return not(t);
    case TL_PRED_IS_NULL:
        return tl_col_is_null(col, i);
    case TL_PRED_IS_NOT_NULL:
        return !tl_col_is_null(col, i);
    case TL_PRED_IN:
    case TL_PRED_NOT_IN:
        t = IS_TRUE;
        for (int64_t j = 0; j < pred->literals->length; j++)
            t = and(t, model_order(TL_PRED_NE, col, i, pred->literals, j));
        return tl_col_is_null(col, i) ? IS_NULL : pred->op == TL_PRED_IN ? not(t) : t;
    case TL_PRED_BETWEEN:
        return and(model_order(TL_PRED_GE, col, i, pred->literals, 0), model_order(TL_PRED_LE, col, i, pred->literals, 1));
    case TL_PRED_STARTS_WITH:
    case TL_PRED_ENDS_WITH:
    case TL_PRED_CONTAINS:
    case TL_PRED_LIKE:
        if (tl_col_is_null(col, i) || tl_col_is_null(pred->literals, 0))
            return IS_NULL;
        return model_text(pred, tl_col_bytes(col, i));
    default:
        return model_order(pred->op, col, i, pred->literals, 0);
    }
}

/* ---- random predicates ---- */

static tl_column *random_pattern(const tl_type *type, uint64_t *rng)
{
    tl_error err;
    tl_builder *builder = NULL;
    tl_column *col = NULL;
    char text[16];
    size_t n = 0;
    for (size_t len = test_random(rng) % 8; n < len;) {
        static const char *const pieces[] = {"a", "a", "b", "z", "%", "_", "\\%", "\\_", "\\\\"};
        const char *piece = pieces[test_random(rng) % TL_ARRAY_LEN(pieces)];
        memcpy(text + n, piece, strlen(piece));
        n += strlen(piece);
    }
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    assert_int_equal(tl_builder_bytes(builder, text, n), TL_OK);
    assert_ok(tl_builder_finish(builder, &col, &err), &err);
    tl_builder_free(builder);
    return col;
}

static tl_predicate *random_leaf(const tl_type *row, uint64_t *rng)
{
    tl_error err;
    int32_t column = (int32_t)(test_random(rng) % COLUMNS);
    const tl_type *type = row->fields[column].type;
    bool text = tl_type_phys(type) == TL_PHYS_BYTES;
    tl_pred_op op = TL_PRED_TRUE + (tl_pred_op)(test_random(rng) % (text ? TL_PRED_LIKE - TL_PRED_TRUE + 1
                                                                         : TL_PRED_IS_NOT_NULL - TL_PRED_TRUE + 1));
    bool none = op == TL_PRED_TRUE || op == TL_PRED_FALSE || op == TL_PRED_IS_NULL || op == TL_PRED_IS_NOT_NULL;
    bool list = op == TL_PRED_IN || op == TL_PRED_NOT_IN;
    int64_t n = op == TL_PRED_BETWEEN ? 2 : list ? (int64_t)(test_random(rng) % 14) : 1;
    int null_percent = test_random(rng) % 4 == 0 ? 15 : 0;
    tl_column *literals = none                 ? NULL
                          : op == TL_PRED_LIKE ? random_pattern(type, rng)
                                               : test_random_column(type, n, null_percent, rng);
    tl_predicate *leaf = NULL;
    assert_ok(tl_predicate_leaf(op, none && op <= TL_PRED_FALSE ? -1 : column, literals, &leaf, &err), &err);
    return leaf;
}

static tl_predicate *random_predicate(const tl_type *row, int depth, uint64_t *rng)
{
    tl_error err;
    tl_predicate *pred = NULL;
    uint64_t kind = test_random(rng) % 8;
    if (depth == 0 || kind < 2)
        return random_leaf(row, rng);
    tl_predicate *a = random_predicate(row, depth - 1, rng);
    if (kind == 2) {
        assert_ok(tl_predicate_negate(a, &pred, &err), &err);
        return pred;
    }
    tl_predicate *b = random_predicate(row, depth - 1, rng);
    assert_ok(tl_predicate_combine(kind < 5 ? TL_PRED_AND : TL_PRED_OR, a, b, &pred, &err), &err);
    return pred;
}

static const tl_type *row_type(void)
{
    tl_error err;
    tl_field fields[COLUMNS] = {0};
    const tl_type *row = NULL;
    char names[COLUMNS][8];
    for (size_t c = 0; c < COLUMNS; c++) {
        snprintf(names[c], sizeof names[c], "c%zu", c);
        fields[c].name = names[c];
        fields[c].type = test_type(column_types[c]);
    }
    assert_ok(tl_type_create_row(false, fields, COLUMNS, &row, &err), &err);
    for (size_t c = 0; c < COLUMNS; c++)
        tl_type_unref(fields[c].type);
    return row;
}

static void evaluation_agrees_with_the_model(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(41);
    const tl_type *row = row_type();
    for (int round = 0; round < 3000; round++) {
        int64_t n = (int64_t)(test_random(&rng) % ROWS);
        tl_column *cols[COLUMNS] = {NULL};
        bool used[COLUMNS] = {false};
        tl_predicate *pred = random_predicate(row, 3, &rng), *copy = NULL;
        tl_predicate_columns(pred, used);
        for (size_t c = 0; c < COLUMNS; c++)
            if (used[c]) /* others need not be there */
                cols[c] = test_random_column(row->fields[c].type, n, test_random(&rng) % 2 ? 20 : 0, &rng);
        assert_ok(tl_predicate_dup(pred, &copy, &err), &err);
        tl_predicate_free(pred);
        uint32_t sel[ROWS];
        int64_t n_sel = -1, at = 0;
        assert_ok(tl_predicate_eval(copy, (const tl_column *const *)cols, n, sel, &n_sel, &err), &err);
        for (int64_t i = 0; i < n; i++) {
            bool passes = at < n_sel && sel[at] == i;
            assert_int_equal(passes, model(copy, cols, i) == IS_TRUE);
            at += passes;
        }
        assert_int_equal(at, n_sel);
        tl_predicate_free(copy);
        for (size_t c = 0; c < COLUMNS; c++)
            tl_column_unref(cols[c]);
    }
    tl_type_unref(row);
}

/* Ascending lists of whole numbers are searched from where the last value was: forwards, backwards, beyond both ends. */
static void ascending_lists_are_searched(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(42);
    static const char *const types[] = {"INT", "BIGINT", "DATE"};
    for (int round = 0; round < 600; round++) {
        const tl_type *type = test_type(types[round % 3]);
        int64_t n = (int64_t)(test_random(&rng) % ROWS), n_literals = 9 + (int64_t)(test_random(&rng) % 60);
        tl_column *literals = NULL, *col = test_random_column(type, n, round % 2 ? 20 : 0, &rng);
        assert_ok(tl_column_alloc(type, n_literals, &literals, &err), &err);
        int64_t last = (int64_t)(test_random(&rng) % 50) - 100;
        bool wide = literals->phys == TL_PHYS_I64, ascending = round % 4 < 2;
        for (int64_t j = 0; j < n_literals; j++, last += 1 + (int64_t)(test_random(&rng) % 4)) {
            if (wide)
                ((int64_t *)literals->values)[j] = last;
            else
                ((int32_t *)literals->values)[j] = (int32_t)last;
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t v = (ascending ? i * 300 / (n + 1) : (int64_t)(test_random(&rng) % 300)) - 120;
            if (tl_col_is_null(col, i))
                continue;
            if (wide)
                ((int64_t *)col->values)[i] = v;
            else
                ((int32_t *)col->values)[i] = (int32_t)v;
        }
        tl_predicate *leaf = NULL;
        assert_ok(tl_predicate_leaf(round % 5 ? TL_PRED_IN : TL_PRED_NOT_IN, 0, literals, &leaf, &err), &err);
        uint32_t sel[ROWS];
        int64_t n_sel = -1, at = 0;
        assert_ok(tl_predicate_eval(leaf, (const tl_column *const *)&col, n, sel, &n_sel, &err), &err);
        for (int64_t i = 0; i < n; i++) {
            bool passes = at < n_sel && sel[at] == i;
            assert_int_equal(passes, model(leaf, &col, i) == IS_TRUE);
            at += passes;
        }
        assert_int_equal(at, n_sel);
        tl_predicate_free(leaf);
        tl_column_unref(col);
        tl_type_unref(type);
    }
}

/* ---- pruning ---- */

/* One value as a column of its own, changed as writers may change bounds. */
static tl_column *bound_of(const tl_column *col, int64_t row, bool is_max, uint64_t *rng)
{
    tl_error err;
    tl_column *bound = NULL;
    assert_ok(tl_column_repeat(col, row, 1, &bound, &err), &err);
    if (bound->phys == TL_PHYS_F64 && tl_col_f64(bound, 0) == 0 && test_random(rng) % 2)
        *(double *)bound->values = -tl_col_f64(bound, 0);
    if (bound->phys == TL_PHYS_F32 && tl_col_f32(bound, 0) == 0 && test_random(rng) % 2)
        *(float *)bound->values = -tl_col_f32(bound, 0);
    int32_t *end = bound->offsets == NULL ? NULL : &bound->offsets[1];
    int32_t cut = 3;
    if (end != NULL && *end > cut && test_random(rng) % 2) {
        while (is_max && cut > 0 && bound->data[cut - 1] >= 127)
            cut--;
        if (is_max && cut > 0)
            bound->data[cut - 1]++;
        if (!is_max || cut > 0)
            *end = cut;
    }
    return bound;
}

static bool is_nan_at(const tl_column *col, int64_t i)
{
    return (col->phys == TL_PHYS_F64 && isnan(tl_col_f64(col, i))) || (col->phys == TL_PHYS_F32 && isnan(tl_col_f32(col, i)));
}

static void find_bounds(const tl_column *col, tl_column **min, tl_column **max, tl_col_bounds *out, uint64_t *rng)
{
    int64_t lo = -1, hi = -1;
    for (int64_t i = 0; i < col->length; i++) {
        if (tl_col_is_null(col, i) || is_nan_at(col, i))
            continue;
        lo = lo < 0 || model_compare(col, i, col, lo) < 0 ? i : lo;
        hi = hi < 0 || model_compare(col, i, col, hi) > 0 ? i : hi;
    }
    *out = (tl_col_bounds){.null_count = test_random(rng) % 5 == 0 ? -1 : col->null_count};
    if (lo >= 0 && test_random(rng) % 6 != 0)
        out->min = *min = bound_of(col, lo, false, rng);
    if (hi >= 0 && test_random(rng) % 6 != 0)
        out->max = *max = bound_of(col, hi, true, rng);
}

static void pruning_never_loses_a_row(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(42);
    const tl_type *row = row_type();
    int pruned = 0, kept = 0, empty = 0;
    for (int round = 0; round < 20000; round++) {
        int64_t n = 1 + (int64_t)(test_random(&rng) % 4);
        tl_column *cols[COLUMNS] = {NULL}, *min[COLUMNS] = {NULL}, *max[COLUMNS] = {NULL};
        tl_col_bounds bounds[COLUMNS];
        bool used[COLUMNS] = {false};
        tl_predicate *pred = random_predicate(row, 2, &rng);
        tl_predicate_columns(pred, used);
        for (size_t c = 0; c < COLUMNS; c++) {
            bounds[c] = (tl_col_bounds){.null_count = -1};
            if (!used[c])
                continue;
            cols[c] = test_random_column(row->fields[c].type, n, test_random(&rng) % 2 ? 40 : 0, &rng);
            find_bounds(cols[c], &min[c], &max[c], &bounds[c], &rng);
        }
        uint32_t sel[8];
        int64_t n_sel = 0;
        assert_ok(tl_predicate_eval(pred, (const tl_column *const *)cols, n, sel, &n_sel, &err), &err);
        bool may = tl_predicate_may_match(pred, bounds, test_random(&rng) % 5 == 0 ? -1 : n);
        if (n_sel > 0 && !may)
            fail_msg("round %d: a file with %d matching rows was pruned", round, (int)n_sel);
        pruned += !may;
        empty += n_sel == 0;
        kept += may;
        tl_predicate_free(pred);
        for (size_t c = 0; c < COLUMNS; c++) {
            tl_column_unref(cols[c]);
            tl_column_unref(min[c]);
            tl_column_unref(max[c]);
        }
    }
    printf("pruned %d of %d without a match, kept %d\n", pruned, empty, kept);
    assert_true(pruned > empty / 5);
    tl_type_unref(row);
}

static tl_predicate *from_json(const char *text, const tl_type *row)
{
    tl_error err;
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_predicate *pred = NULL;
    assert_ok(tl_json_parse(&arena, view_of(text), &json, &err), &err);
    assert_ok(tl_predicate_from_json(json, row, &pred, &err), &err);
    tl_arena_deinit(&arena);
    return pred;
}

/* Whether a file whose only column lies in [min, max] may match; 100 rows, 10 nulls. */
static bool may_match(const char *type_text, const char *min, const char *max, const char *filter)
{
    char *row_text = NULL;
    assert_true(asprintf(&row_text, "ROW<x %s>", type_text) > 0);
    const tl_type *row = test_type(row_text);
    tl_column *lo = column_of(row->fields[0].type, min), *hi = column_of(row->fields[0].type, max);
    tl_col_bounds bounds = {lo, hi, 0, 0, 10};
    tl_predicate *pred = from_json(filter, row);
    bool may = tl_predicate_may_match(pred, &bounds, 100);
    tl_predicate_free(pred);
    tl_column_unref(lo);
    tl_column_unref(hi);
    tl_type_unref(row);
    free(row_text);
    return may;
}

static void bounds_prune_what_lies_beyond_them(void **state)
{
    (void)state;
    assert_false(may_match("INT", "[10]", "[20]", "[\"=\",\"x\",9]"));
    assert_true(may_match("INT", "[10]", "[20]", "[\"=\",\"x\",20]"));
    assert_false(may_match("INT", "[10]", "[20]", "[\"<\",\"x\",10]"));
    assert_true(may_match("INT", "[10]", "[20]", "[\"<=\",\"x\",10]"));
    assert_false(may_match("INT", "[10]", "[20]", "[\">\",\"x\",20]"));
    assert_false(may_match("INT", "[10]", "[10]", "[\"!=\",\"x\",10]"));
    assert_true(may_match("INT", "[10]", "[20]", "[\"!=\",\"x\",10]"));
    assert_false(may_match("INT", "[10]", "[20]", "[\"in\",\"x\",[1,2,30]]"));
    assert_true(may_match("INT", "[10]", "[20]", "[\"in\",\"x\",[1,15]]"));
    assert_false(may_match("INT", "[10]", "[20]", "[\"between\",\"x\",21,30]"));
    assert_false(may_match("INT", "[10]", "[20]", "[\"=\",\"x\",null]"));
    assert_false(may_match("INT", "[10]", "[20]", "[\"not\",[\"between\",\"x\",5,25]]"));
    assert_false(may_match("INT", "[10]", "[20]", "[\"and\",[\"=\",\"x\",15],[\">\",\"x\",20]]"));
    assert_true(may_match("INT", "[10]", "[20]", "[\"or\",[\"=\",\"x\",15],[\">\",\"x\",20]]"));
    assert_true(may_match("INT", "[10]", "[20]", "[\"isNull\",\"x\"]"));
    assert_false(may_match("STRING", "[\"abc\"]", "[\"abd\"]", "[\"startsWith\",\"x\",\"b\"]"));
    assert_true(may_match("STRING", "[\"abc\"]", "[\"abd\"]", "[\"startsWith\",\"x\",\"abcdef\"]"));
    assert_false(may_match("STRING", "[\"abc\"]", "[\"abd\"]", "[\"like\",\"x\",\"ax%\"]"));
    assert_true(may_match("STRING", "[\"abc\"]", "[\"abd\"]", "[\"like\",\"x\",\"%x\"]"));
    assert_false(may_match("STRING", "[\"abc\"]", "[\"abc\"]", "[\"like\",\"x\",\"%x\"]"));
    assert_false(may_match("STRING", "[\"ab\"]", "[\"abz\"]", "[\"not\",[\"startsWith\",\"x\",\"ab\"]]"));
    /* NaN is in no writer's maximum, and zeros have whichever sign. */
    assert_true(may_match("DOUBLE", "[1]", "[2]", "[\">\",\"x\",5]"));
    assert_true(may_match("DOUBLE", "[1]", "[2]", "[\"=\",\"x\",\"NaN\"]"));
    assert_false(may_match("DOUBLE", "[1]", "[2]", "[\"=\",\"x\",5]"));
    assert_false(may_match("DOUBLE", "[1]", "[2]", "[\"between\",\"x\",3,5]"));
    assert_true(may_match("DOUBLE", "[0.0]", "[1]", "[\"=\",\"x\",-0.0]"));
    assert_true(may_match("DOUBLE", "[-1]", "[-0.0]", "[\"=\",\"x\",0.0]"));
    assert_false(may_match("DOUBLE", "[0.0]", "[1]", "[\"<\",\"x\",-0.0]"));
    assert_true(may_match("DOUBLE", "[\"NaN\"]", "[\"NaN\"]", "[\"=\",\"x\",5]"));
}

static void bounds_of_another_type_are_ignored(void **state)
{
    (void)state;
    const tl_type *row = test_type("ROW<x DECIMAL(10, 2)>"), *old = test_type("DECIMAL(10, 0)");
    tl_column *bound = column_of(old, "[\"5\"]");
    tl_col_bounds bounds = {bound, bound, 0, 0, 0};
    tl_predicate *pred = from_json("[\"=\",\"x\",\"0.05\"]", row);
    assert_true(tl_predicate_may_match(pred, &bounds, 3));
    assert_false(tl_predicate_may_match(pred, &bounds, 0));
    assert_true(tl_predicate_may_match(NULL, &bounds, 3));
    tl_predicate_free(pred);
    tl_column_unref(bound);
    tl_type_unref(old);
    tl_type_unref(row);
}

/* ---- the rest ---- */

static void absent_columns_weaken_a_predicate_to_a_superset(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *row = test_type("ROW<a INT, b INT>");
    tl_predicate *pred = from_json("[\"and\",[\"=\",\"a\",1],[\"not\",[\"and\",[\"=\",\"b\",2],[\"=\",\"a\",3]]]]", row),
                 *got = NULL;
    const int32_t only_a[2] = {0, -1};
    assert_fails(tl_predicate_remap(pred, only_a, false, &got, &err), TL_E_INVALID, &err, "column 1");
    assert_ok(tl_predicate_remap(pred, only_a, true, &got, &err), &err);
    /* NOT (b = 2 AND a = 3) must not drop a = 3, for b may differ from 2. */
    tl_column *a = column_of(row->fields[0].type, "[1,3,null]");
    const tl_column *cols[1] = {a};
    uint32_t sel[3];
    int64_t n = 0;
    assert_ok(tl_predicate_eval(got, cols, 3, sel, &n, &err), &err);
    assert_int_equal(n, 1);
    tl_predicate *second = NULL;
    const int32_t swapped[2] = {1, 0};
    assert_ok(tl_predicate_remap(pred, swapped, false, &second, &err), &err);
    assert_int_equal(second->children[0]->column, 1);
    tl_column_unref(a);
    tl_predicate_free(second);
    tl_predicate_free(got);
    tl_predicate_free(pred);
    tl_type_unref(row);
}

static void wrong_filters_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{}", "must be a list"},
        {"[]", "must be a list"},
        {"[1]", "must be a list"},
        {"[\"~\",\"a\",1]", "no such operator"},
        {"[\"=\",\"zz\",1]", "no such column"},
        {"[\"=\",1,1]", "name of a column"},
        {"[\"=\"]", "name of a column"},
        {"[\"=\",\"a\"]", "wrong number"},
        {"[\"=\",\"a\",1,2]", "wrong number"},
        {"[\"between\",\"a\",1]", "wrong number"},
        {"[\"isNull\",\"a\",1]", "wrong number"},
        {"[\"in\",\"a\",1]", "list of values"},
        {"[\"=\",\"a\",\"x\"]", "is no value of type INT"},
        {"[\"like\",\"a\",1]", "string column"},
        {"[\"like\",\"s\",\"a\\\\b\"]", "escape"},
        {"[\"like\",\"s\",\"a\\\\\"]", "escape"},
        {"[\"=\",\"l\",[1]]", "nested"},
        {"[\"and\"]", "wrong number"},
        {"[\"not\",[\"=\",\"a\",1],[\"=\",\"a\",1]]", "wrong number"},
        {"[\"or\",[\"=\",\"a\",1],7]", "must be a list"},
    };
    const tl_type *row = test_type("ROW<a INT, s STRING, l ARRAY<INT>>");
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_error err = {0};
        tl_arena arena = {0};
        const tl_json *json = NULL;
        tl_predicate *pred = NULL;
        assert_ok(tl_json_parse(&arena, view_of(cases[i][0]), &json, &err), &err);
        if (tl_predicate_from_json(json, row, &pred, &err) != TL_E_INVALID || strstr(err.message, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], err.message);
        tl_arena_deinit(&arena);
    }
    tl_predicate *pred = from_json("[\"isNotNull\",\"l\"]", row);
    tl_predicate_free(pred);
    tl_type_unref(row);
}

static void like_counts_code_points(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *pattern;
        bool matches;
    } cases[] = {
        {"\xc3\xa9", "_", true},
        {"\xc3\xa9", "__", false},
        {"\xf0\x9f\x98\x80x", "_x", true},
        {"", "", true},
        {"", "%", true},
        {"", "_", false},
        {"abc", "a%c", true},
        {"abcbc", "a%bc", true},
        {"a%c", "a\\%c", true},
        {"abc", "a\\%c", false},
        {"a_c", "a\\_c", true},
        {"a\\c", "a\\\\c", true},
        {"aaaaaaaaaaaaaaaaaaaaaaab", "%a%a%a%a%a%a%a%c", false},
        {"line\nend", "line_end", true},
        {"ab", "%%b%%", true},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++)
        if (tl_like__match(view_of(cases[i].text), view_of(cases[i].pattern)) != cases[i].matches)
            fail_msg("'%s' like '%s'", cases[i].text, cases[i].pattern);
}

static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    static const char text[] = "[\"or\",[\"in\",\"a\",[1,2,3,4,5,6,7,8,9,10]],[\"not\",[\"like\",\"s\",\"x%\"]]]";
    tl_error err;
    const tl_type *row = test_type("ROW<a INT, s STRING>");
    tl_column *cols[2] = {column_of(row->fields[0].type, "[1,20,null]"),
                          column_of(row->fields[1].type, "[\"x\",\"xy\",\"z\"]")};
    tl_arena arena = {0};
    const tl_json *json = NULL;
    assert_ok(tl_json_parse(&arena, view_of(text), &json, &err), &err);
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        tl_predicate *pred = NULL, *copy = NULL;
        uint32_t sel[3];
        int64_t n = 0;
        tl_alloc_fail_at(nth);
        tl_status status = tl_predicate_from_json(json, row, &pred, &err);
        if (status == TL_OK)
            status = tl_predicate_dup(pred, &copy, &err);
        if (status == TL_OK)
            status = tl_predicate_eval(copy, (const tl_column *const *)cols, 3, sel, &n, &err);
        tl_alloc_fail_at(0);
        failed = status != TL_OK;
        if (failed)
            assert_int_equal(status, TL_E_NOMEM);
        else
            assert_int_equal(n, 2);
        tl_predicate_free(pred);
        tl_predicate_free(copy);
    }
    tl_column_unref(cols[0]);
    tl_column_unref(cols[1]);
    tl_arena_deinit(&arena);
    tl_type_unref(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_agrees_with_the_model),
        cmocka_unit_test(ascending_lists_are_searched),
        cmocka_unit_test(pruning_never_loses_a_row),
        cmocka_unit_test(bounds_prune_what_lies_beyond_them),
        cmocka_unit_test(bounds_of_another_type_are_ignored),
        cmocka_unit_test(absent_columns_weaken_a_predicate_to_a_superset),
        cmocka_unit_test(wrong_filters_are_refused),
        cmocka_unit_test(like_counts_code_points),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
