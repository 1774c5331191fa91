/*
 * File indexes of random columns, asked with random filters: what an index says must hold of the rows themselves. The bytes are
 * compared with the reference's in tests/table/test_file_indexes.c.
 */
#include "index/file_index.h"

#include "base/bits.h"
#include "base/log.h"
#include "support/random_column.h"

#define GAP_ROWS 15

static const struct {
    const char *kind;
    const char *options;
    const char *types[24];
} indexable[] = {
    {"bloom-filter", "items=300", {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "CHAR(5)", "BYTES", "BINARY(4)", "DATE",
                                   "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(9)"}},
    {"bitmap", "version=1", {"BOOLEAN", "TINYINT", "INT", "BIGINT", "DOUBLE", "STRING", "TIMESTAMP(3)"}},
    {"bitmap", "index-block-size=32 b", {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "CHAR(5)", "DATE", "TIME(3)",
                                         "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(9)"}},
    {"bsi", "", {"TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIME(3)", "DECIMAL(10, 2)", "DECIMAL(25, 3)", "TIMESTAMP(3)", "TIMESTAMP(6)",
                 "TIMESTAMP(9)", "TIMESTAMP_LTZ(9)"}},
    {"range-bitmap", "chunk-size=40 b", {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "CHAR(5)", "DATE", "TIME(3)",
                                         "DECIMAL(10, 2)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(6)"}},
};

/* ---- tables of one column ---- */

static const tl_type *row_of(const char *type)
{
    char text[128];
    snprintf(text, sizeof text, "ROW<c %s>", type);
    return test_type(text);
}

static void set(tl_options *options, const char *key, const char *value)
{
    assert_int_equal(tl_options_set(options, key, value), TL_OK);
}

/* "key=value" for column c. */
static tl_options options_for(const char *kind, const char *option)
{
    tl_options options = {0};
    char key[64], name[32] = "";
    const char *value = strchr(option, '=');
    snprintf(key, sizeof key, "file-index.%s.columns", kind);
    set(&options, key, "c");
    if (value != NULL) {
        snprintf(name, sizeof name, "%.*s", (int)(value - option), option);
        snprintf(key, sizeof key, "file-index.%s.c.%s", kind, name);
        set(&options, key, value + 1);
    }
    return options;
}

/* The container of a column that is written in pieces. */
static tl_buf write_index(const tl_options *options, const tl_type *row, const tl_column *col)
{
    tl_error err;
    tl_buf out = {0};
    tl_file_index_plan *plan = NULL;
    tl_file_index_writer *writer = NULL;
    assert_ok(tl_file_index_plan_create(options, row, &plan, &err), &err);
    assert_ok(tl_file_index_writer_create(plan, &writer, &err), &err);
    for (int64_t from = 0; from < col->length; from += 1000) {
        int64_t n = TL_MIN(1000, col->length - from);
        tl_column *piece = NULL;
        assert_ok(tl_column_slice(col, from, n, &piece, &err), &err);
        assert_ok(tl_file_index_writer_add(writer, &piece, n, &err), &err);
        tl_column_unref(piece);
    }
    assert_true(tl_file_index_writer_bytes(writer) >= 0);
    assert_ok(tl_file_index_writer_finish(writer, &out, &err), &err);
    tl_file_index_writer_free(writer);
    tl_file_index_plan_free(plan);
    return out;
}

/* ---- filters ---- */

/* Values of the column, and others. */
static tl_column *literals(const tl_column *col, int64_t n, uint64_t *rng)
{
    tl_error err;
    tl_builder *builder = NULL;
    tl_column *out = NULL;
    assert_ok(tl_builder_create(col->type, &builder, &err), &err);
    for (int64_t i = 0; i < n; i++) {
        if (col->length > 0 && test_random(rng) % 3 > 0)
            assert_int_equal(tl_builder_copy(builder, col, (int64_t)(test_random(rng) % (uint64_t)col->length)), TL_OK);
        else
            test_random_value(builder, col->type, 3, rng);
    }
    assert_ok(tl_builder_finish(builder, &out, &err), &err);
    tl_builder_free(builder);
    return out;
}

static tl_predicate *random_leaf(const tl_column *col, uint64_t *rng)
{
    static const tl_pred_op ops[] = {TL_PRED_EQ, TL_PRED_NE, TL_PRED_LT, TL_PRED_LE, TL_PRED_GT, TL_PRED_GE, TL_PRED_IN, TL_PRED_NOT_IN, TL_PRED_BETWEEN,
                                     TL_PRED_IS_NULL, TL_PRED_IS_NOT_NULL};
    tl_pred_op op = ops[test_random(rng) % TL_ARRAY_LEN(ops)];
    bool many = op == TL_PRED_IN || op == TL_PRED_NOT_IN;
    int64_t n = many ? (int64_t)(test_random(rng) % 5) : op == TL_PRED_BETWEEN ? 2 : 1;
    tl_predicate *pred = NULL;
    tl_error err;
    bool of_null = op == TL_PRED_IS_NULL || op == TL_PRED_IS_NOT_NULL;
    assert_ok(tl_predicate_leaf(op, 0, of_null ? NULL : literals(col, n, rng), &pred, &err), &err);
    return pred;
}

static tl_predicate *random_filter(const tl_column *col, int depth, uint64_t *rng)
{
    tl_predicate *pred = NULL;
    tl_error err;
    uint64_t r = test_random(rng) % 5;
    if (depth == 0 || r < 2)
        return random_leaf(col, rng);
    if (r == 2)
        assert_ok(tl_predicate_negate(random_filter(col, depth - 1, rng), &pred, &err), &err);
    else
        assert_ok(tl_predicate_combine(r == 3 ? TL_PRED_AND : TL_PRED_OR, random_filter(col, depth - 1, rng), random_filter(col, depth - 1, rng),
                                       &pred, &err),
                  &err);
    return pred;
}

/* ---- the law ---- */

/* The passing rows as the index should give them, if it knows all. */
static void expect_exactly(const uint32_t *sel, int64_t n, tl_file_index_verdict verdict, const tl_row_ranges *ranges, int64_t rows)
{
    if (n == 0)
        assert_int_equal(verdict, TL_INDEX_NONE);
    else if (n == rows)
        assert_int_equal(verdict, TL_INDEX_ALL);
    size_t at = 0;
    for (int64_t i = 0; i < n && n < rows;) {
        int64_t last = i;
        while (last + 1 < n && sel[last + 1] - sel[last] - 1 <= GAP_ROWS)
            last++;
        assert_true(at < ranges->n);
        assert_int_equal(ranges->items[at].from, sel[i]);
        assert_int_equal(ranges->items[at].to, sel[last] + 1);
        at++;
        i = last + 1;
    }
    assert_int_equal(at, ranges->n);
}

static void expect_all_passing(const uint32_t *sel, int64_t n, tl_file_index_verdict verdict, const tl_row_ranges *ranges)
{
    if (verdict == TL_INDEX_NONE)
        assert_int_equal(n, 0);
    size_t at = 0;
    for (int64_t i = 0; i < n && verdict == TL_INDEX_SOME; i++) {
        at = tl_row_ranges_find(ranges, at, sel[i]);
        assert_true(at < ranges->n && ranges->items[at].from <= sel[i]);
    }
}

/* Kinds that know every row of an ask; values that are cut (TIMESTAMP(9)) and NULL literals they know less of. */
static bool is_exact(const char *kind, const tl_column *col, const tl_predicate *pred)
{
    if (pred->n_children > 0) {
        bool exact = true;
        for (int32_t i = 0; i < pred->n_children; i++)
            exact = exact && is_exact(kind, col, pred->children[i]);
        return exact;
    }
    bool range = pred->op == TL_PRED_LT || pred->op == TL_PRED_LE || pred->op == TL_PRED_GT || pred->op == TL_PRED_GE || pred->op == TL_PRED_BETWEEN;
    if (pred->literals != NULL && pred->literals->null_count > 0)
        return false;
    return col->phys != TL_PHYS_TS96 && col->phys != TL_PHYS_I128 && strcmp(kind, "bloom-filter") != 0 && !(range && strcmp(kind, "bitmap") == 0);
}

static void ask(const char *kind, tl_bytes_view index, const tl_type *row, const tl_column *col, uint64_t *rng)
{
    tl_error err;
    int64_t n = 0;
    tl_row_ranges ranges = {NULL, 0};
    tl_file_index_verdict verdict;
    tl_file_index_place place = {.bytes = index};
    tl_predicate *pred = random_filter(col, 2, rng);
    uint32_t *sel = tl_alloc(((size_t)col->length + 1) * sizeof *sel);
    assert_ok(tl_predicate_eval(pred, &col, col->length, sel, &n, &err), &err);
    assert_ok(tl_file_index_ask(&place, pred, row, col->length, &verdict, &ranges, &err), &err);
    expect_all_passing(sel, n, verdict, &ranges);
    if (is_exact(kind, col, pred))
        expect_exactly(sel, n, verdict, &ranges, col->length);
    tl_row_ranges_deinit(&ranges);
    tl_predicate_free(pred);
    tl_free(sel);
}

static bool holds_least_number(const tl_column *col)
{
    for (int64_t i = 0; i < col->length; i++) {
        if (!tl_col_is_null(col, i) && col->phys == TL_PHYS_I64 && tl_col_i64(col, i) == INT64_MIN)
            return true;
    }
    return false;
}

static void answers_hold_of_the_rows(void **state)
{
    (void)state;
    uint64_t rng = test_seed(7);
    for (size_t k = 0; k < TL_ARRAY_LEN(indexable); k++) {
        for (size_t t = 0; t < TL_ARRAY_LEN(indexable[k].types) && indexable[k].types[t] != NULL; t++) {
            const tl_type *row = row_of(indexable[k].types[t]);
            tl_options options = options_for(indexable[k].kind, indexable[k].options);
            static const int64_t lengths[] = {0, 1, 60, 3000};
            for (size_t l = 0; l < TL_ARRAY_LEN(lengths); l++) {
                tl_column *col = test_random_column(row->fields[0].type, lengths[l], l % 2 == 0 ? 30 : 0, &rng);
                tl_buf index = write_index(&options, row, col);
                for (int i = 0; i < 25 && !holds_least_number(col); i++)
                    ask(indexable[k].kind, (tl_bytes_view){index.data, index.len}, row, col, &rng);
                tl_buf_deinit(&index);
                tl_column_unref(col);
            }
            tl_options_deinit(&options);
            tl_type_unref(row);
        }
    }
}

/* ---- what is wrong ---- */

static void damage_is_an_error_or_shows_in_nothing(void **state)
{
    (void)state;
    uint64_t rng = test_seed(11);
    for (size_t k = 0; k < TL_ARRAY_LEN(indexable); k++) {
        const tl_type *row = row_of(strcmp(indexable[k].kind, "bsi") == 0 ? "INT" : "STRING");
        tl_options options = options_for(indexable[k].kind, indexable[k].options);
        tl_column *col = test_random_column(row->fields[0].type, 200, 20, &rng);
        tl_buf index = write_index(&options, row, col);
        for (int i = 0; i < 300; i++) {
            tl_error err = {0};
            tl_row_ranges ranges = {NULL, 0};
            tl_file_index_verdict verdict;
            size_t len = i % 3 == 0 ? test_random(&rng) % index.len : index.len;
            uint8_t *damaged = malloc(len + 1); /* of this very size, so that a sanitizer sees what is read behind it */
            memcpy(damaged, index.data, len);
            if (i % 3 != 0)
                damaged[test_random(&rng) % len] ^= (uint8_t)(1u << test_random(&rng) % 8);
            tl_predicate *pred = random_filter(col, 1, &rng);
            tl_file_index_place place = {.bytes = {damaged, len}};
            tl_status status = tl_file_index_ask(&place, pred, row, col->length, &verdict, &ranges, &err);
            assert_true(status == TL_OK || status == TL_E_CORRUPT || status == TL_E_UNSUPPORTED);
            if (status != TL_OK)
                assert_non_null(strstr(err.message, "embedded file index"));
            tl_row_ranges_deinit(&ranges);
            tl_predicate_free(pred);
            free(damaged);
        }
        tl_buf_deinit(&index);
        tl_column_unref(col);
        tl_options_deinit(&options);
        tl_type_unref(row);
    }
}

static void an_index_of_other_rows_is_refused(void **state)
{
    (void)state;
    uint64_t rng = test_seed(3);
    static const char *const kinds[] = {"bitmap", "bsi", "range-bitmap"};
    const tl_type *row = row_of("INT");
    tl_column *col = test_random_column(row->fields[0].type, 50, 20, &rng);
    for (size_t k = 0; k < TL_ARRAY_LEN(kinds); k++) {
        tl_error err;
        tl_row_ranges ranges = {NULL, 0};
        tl_file_index_verdict verdict;
        tl_predicate *pred = NULL;
        tl_options options = options_for(kinds[k], "");
        tl_buf index = write_index(&options, row, col);
        tl_file_index_place place = {.bytes = {index.data, index.len}};
        assert_ok(tl_predicate_leaf(TL_PRED_IS_NULL, 0, NULL, &pred, &err), &err);
        assert_fails(tl_file_index_ask(&place, pred, row, 51, &verdict, &ranges, &err), TL_E_CORRUPT, &err, "50 rows, the data file 51");
        assert_non_null(strstr(err.message, "column 'c'"));
        tl_predicate_free(pred);
        tl_buf_deinit(&index);
        tl_options_deinit(&options);
    }
    tl_column_unref(col);
    tl_type_unref(row);
}

/* ---- options ---- */

static void wrong_options_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        tl_status status;
        const char *part;
    } wrong[] = {
        {"file-index.bitmap.columns", "x", TL_E_INVALID, "column 'x' does not exist"},
        {"file-index.bitmap.columns", "i,,i", TL_E_INVALID, "a column without a name"},
        {"file-index.hash.columns", "i", TL_E_INVALID, "'hash' is no kind of file index"},
        {"file-index.bitmap.columns", "d", TL_E_UNSUPPORTED, "bitmap indexes know no"},
        {"file-index.bloom-filter.columns", "b", TL_E_UNSUPPORTED, "bloom filters know no BOOLEAN"},
        {"file-index.bsi.columns", "s", TL_E_UNSUPPORTED, "bsi indexes know"},
        {"file-index.range-bitmap.columns", "d", TL_E_UNSUPPORTED, "range bitmaps know"},
        {"file-index.bsi.columns", "i[k]", TL_E_INVALID, "is no MAP"},
        {"file-index.bsi.columns", "n[k]", TL_E_UNSUPPORTED, "must be strings"},
        {"file-index.bitmap.i.version", "1", TL_E_INVALID, "not among the columns"},
    };
    const tl_type *row = test_type("ROW<i INT, s STRING, b BOOLEAN, d DECIMAL(30, 2), m MAP<STRING, INT>, n MAP<INT, INT>>");
    for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
        tl_error err;
        tl_options options = {0};
        tl_file_index_plan *plan = NULL;
        set(&options, wrong[i].key, wrong[i].value);
        assert_fails(tl_file_index_plan_create(&options, row, &plan, &err), wrong[i].status, &err, wrong[i].part);
        tl_options_deinit(&options);
    }
    tl_type_unref(row);
}

static void wrong_options_of_columns_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *option;
    } wrong[] = {{"bitmap", "version=3"}, {"bitmap", "index-block-size=big"}, {"bloom-filter", "items=0"}, {"bloom-filter", "fpp=1.5"}, {"range-bitmap", "chunk-size=x"}};
    const tl_type *row = row_of("INT");
    for (size_t i = 0; i < TL_ARRAY_LEN(wrong); i++) {
        tl_error err;
        tl_options options = options_for(wrong[i].kind, wrong[i].option);
        tl_file_index_plan *plan = NULL;
        tl_file_index_writer *writer = NULL;
        assert_ok(tl_file_index_plan_create(&options, row, &plan, &err), &err);
        assert_fails(tl_file_index_writer_create(plan, &writer, &err), TL_E_INVALID, &err, "column 'c'");
        tl_file_index_plan_free(plan);
        tl_options_deinit(&options);
    }
    tl_type_unref(row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_hold_of_the_rows),
        cmocka_unit_test(damage_is_an_error_or_shows_in_nothing),
        cmocka_unit_test(an_index_of_other_rows_is_refused),
        cmocka_unit_test(wrong_options_are_told),
        cmocka_unit_test(wrong_options_of_columns_are_told),
    };
    tl_log_set(NULL, NULL, TL_LOG_ERROR); /* random numbers are sometimes the least one, which bsi cannot hold */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
