/* Columns and batches: whatever moves rows about gives the rows that were asked for. */
#include "types/column.h"
#include "values.h"

static const tl_type *nullable_type(const char *text)
{
    tl_error err;
    const tl_type *type = test_type(text), *nullable = NULL;
    assert_ok(tl_type_with_nullable(type, true, &nullable, &err), &err);
    tl_type_unref(type);
    return nullable;
}

typedef void (*type_test)(const tl_type *type, uint64_t *rng);

/* Run for every type, with and without nulls. */
static void for_every_type(type_test test, uint64_t seed)
{
    uint64_t rng = test_seed(seed);
    for (size_t t = 0; t < TL_ARRAY_LEN(every_type); t++) {
        const tl_type *type = test_type(every_type[t]);
        for (int round = 0; round < 8; round++)
            test(type, &rng);
        tl_type_unref(type);
    }
}

static tl_column *some_column(const tl_type *type, int64_t n, uint64_t *rng)
{
    return test_random_column(type, n, test_random(rng) % 2 == 0 ? 0 : 25, rng);
}

static void check(const tl_column *col)
{
    tl_error err;
    assert_ok(tl_column_check(col, &err), &err);
    assert_true(tl_column_bytes(col) > 0);
}

static void gather_one(const tl_type *type, uint64_t *rng)
{
    tl_error err;
    int64_t n = 1 + (int64_t)(test_random(rng) % 300), m = (int64_t)(test_random(rng) % 300);
    tl_column *col = some_column(type, n, rng), *got = NULL;
    uint32_t idx[300];
    for (int64_t k = 0; k < m; k++)
        idx[k] =
            k > 0 && test_random(rng) % 2 && idx[k - 1] + 1 < n ? idx[k - 1] + 1 : (uint32_t)(test_random(rng) % (uint64_t)n);
    assert_ok(tl_column_gather(col, idx, m, &got, &err), &err);
    check(got);
    assert_int_equal(got->length, m);
    for (int64_t k = 0; k < m; k++)
        assert_same_value(got, k, col, idx[k]);
    tl_column_unref(got);
    tl_column_unref(col);
}

static void gather_takes_the_rows_asked_for(void **state)
{
    (void)state;
    for_every_type(gather_one, 11);
}

static void gather_many(const tl_type *type, uint64_t *rng)
{
    tl_error err;
    enum { SRCS = 70, ROWS = 400 }; /* more sources than the stack has room for, at times */
    uint32_t n_srcs = 1 + (uint32_t)(test_random(rng) % (test_random(rng) % 4 == 0 ? SRCS : 5));
    tl_column *srcs[SRCS];
    for (uint32_t s = 0; s < n_srcs; s++)
        srcs[s] = some_column(type, 1 + (int64_t)(test_random(rng) % 50), rng);
    tl_rowref refs[ROWS];
    bool nulls = type->nullable && test_random(rng) % 2;
    int64_t m = (int64_t)(test_random(rng) % ROWS);
    for (int64_t k = 0; k < m; k++) {
        refs[k].src = (uint32_t)(test_random(rng) % n_srcs);
        refs[k].row = (uint32_t)(test_random(rng) % (uint64_t)srcs[refs[k].src]->length);
        if (k > 0 && test_random(rng) % 2 && refs[k - 1].row != TL_ROW_NULL &&
            refs[k - 1].row + 1 < srcs[refs[k - 1].src]->length)
            refs[k] = (tl_rowref){refs[k - 1].src, refs[k - 1].row + 1};
        if (nulls && test_random(rng) % 5 == 0)
            refs[k] = (tl_rowref){UINT32_MAX, TL_ROW_NULL};
    }
    tl_column *got = NULL;
    assert_ok(tl_column_gather_multi(type, (const tl_column *const *)srcs, refs, m, &got, &err), &err);
    check(got);
    for (int64_t k = 0; k < m; k++) {
        if (refs[k].row == TL_ROW_NULL)
            assert_true(tl_col_is_null(got, k));
        else
            assert_same_value(got, k, srcs[refs[k].src], refs[k].row);
    }
    tl_column_unref(got);
    for (uint32_t s = 0; s < n_srcs; s++)
        tl_column_unref(srcs[s]);
}

static void gather_from_many_sources_takes_the_rows_asked_for(void **state)
{
    (void)state;
    for_every_type(gather_many, 12);
}

/* As many rows as a write buffer has, which are fetched before they are read; a source without rows need not be there. */
static void gather_of_very_many_rows_takes_the_rows_asked_for(void **state)
{
    (void)state;
    enum { SRCS = 3, SRC_ROWS = 7000, ROWS = 20000 };
    static const char *const types[] = {"INT", "DECIMAL(30, 2)", "STRING", "ARRAY<INT>"};
    uint64_t rng = test_seed(19);
    tl_rowref *refs = tl_alloc(ROWS * sizeof *refs);
    assert_non_null(refs);
    for (size_t t = 0; t < TL_ARRAY_LEN(types); t++) {
        tl_error err;
        const tl_type *type = nullable_type(types[t]);
        tl_column *srcs[SRCS] = {NULL, some_column(type, SRC_ROWS, &rng), some_column(type, SRC_ROWS, &rng)}, *got = NULL;
        for (int64_t k = 0; k < ROWS; k++)
            refs[k] = test_random(&rng) % 9 == 0 ? (tl_rowref){0, TL_ROW_NULL}
                                                 : (tl_rowref){(uint32_t)(1 + test_random(&rng) % 2), (uint32_t)(test_random(&rng) % SRC_ROWS)};
        assert_ok(tl_column_gather_multi(type, (const tl_column *const *)srcs, refs, ROWS, &got, &err), &err);
        check(got);
        for (int64_t k = 0; k < ROWS; k++) {
            if (refs[k].row == TL_ROW_NULL)
                assert_true(tl_col_is_null(got, k));
            else
                assert_same_value(got, k, srcs[refs[k].src], refs[k].row);
        }
        tl_column_unref(got);
        tl_column_unref(srcs[1]);
        tl_column_unref(srcs[2]);
        tl_type_unref(type);
    }
    tl_free(refs);
}

static void gather_of_nothing_but_nulls_needs_no_source(void **state)
{
    (void)state;
    for (size_t t = 0; t < TL_ARRAY_LEN(every_type); t++) {
        tl_error err;
        const tl_type *type = nullable_type(every_type[t]);
        const tl_rowref refs[3] = {{9, TL_ROW_NULL}, {0, TL_ROW_NULL}, {UINT32_MAX, TL_ROW_NULL}};
        tl_column *got = NULL;
        assert_ok(tl_column_gather_multi(type, NULL, refs, 3, &got, &err), &err);
        check(got);
        assert_int_equal(got->null_count, 3);
        tl_column_unref(got);
        tl_type_unref(type);
    }
}

static void slice_one(const tl_type *type, uint64_t *rng)
{
    tl_error err;
    int64_t n = (int64_t)(test_random(rng) % 200);
    tl_column *col = some_column(type, n, rng), *slice = NULL, *again = NULL, *copy = NULL;
    int64_t from = n == 0 ? 0 : (int64_t)(test_random(rng) % (uint64_t)n);
    if (test_random(rng) % 2)
        from -= from % 8;
    int64_t length = n - from == 0 ? 0 : (int64_t)(test_random(rng) % (uint64_t)(n - from + 1));
    assert_ok(tl_column_slice(col, from, length, &slice, &err), &err);
    tl_column_unref(col); /* the slice keeps the buffers */
    check(slice);
    col = slice;
    int64_t skip = length == 0 ? 0 : (int64_t)(test_random(rng) % (uint64_t)length);
    assert_ok(tl_column_slice(slice, skip, length - skip, &again, &err), &err);
    check(again);
    for (int64_t k = 0; k < length - skip; k++)
        assert_same_value(again, k, slice, skip + k);
    /* Slices are sources like any other. */
    const tl_column *srcs[3] = {again, slice, again};
    assert_ok(tl_column_concat(type, srcs, 3, &copy, &err), &err);
    check(copy);
    for (int64_t k = 0; k < again->length; k++) {
        assert_same_value(copy, k, again, k);
        assert_same_value(copy, again->length + slice->length + k, again, k);
    }
    for (int64_t k = 0; k < slice->length; k++)
        assert_same_value(copy, again->length + k, slice, k);
    tl_column_unref(copy);
    tl_column_unref(again);
    tl_column_unref(col);
}

static void slices_and_concatenations_keep_their_rows(void **state)
{
    (void)state;
    for_every_type(slice_one, 13);
}

static void copy_one(const tl_type *type, uint64_t *rng)
{
    tl_error err;
    tl_column *col = some_column(type, 40, rng), *copy = NULL, *repeated = NULL, *retyped = NULL;
    tl_builder *builder = NULL;
    assert_ok(tl_builder_create(type, &builder, &err), &err);
    for (int64_t i = 0; i < 20; i++)
        assert_int_equal(tl_builder_copy(builder, col, i), TL_OK);
    for (int64_t i = 0; i < 30; i++)
        assert_int_equal(tl_builder_copy(builder, col, i), TL_OK);
    tl_builder_truncate(builder, 20);
    for (int64_t i = 20; i < 40; i++)
        assert_int_equal(tl_builder_copy(builder, col, i), TL_OK);
    assert_ok(tl_builder_finish(builder, &copy, &err), &err);
    check(copy);
    assert_int_equal(copy->length, 40);
    assert_int_equal(copy->null_count, col->null_count);
    for (int64_t i = 0; i < 40; i++)
        assert_same_value(copy, i, col, i);
    assert_ok(tl_column_repeat(col, 7, 5, &repeated, &err), &err);
    for (int64_t i = 0; i < 5; i++)
        assert_same_value(repeated, i, col, 7);
    const tl_type *nullable = NULL;
    assert_ok(tl_type_with_nullable(type, true, &nullable, &err), &err);
    assert_ok(tl_column_retype(col, nullable, &retyped, &err), &err);
    tl_column_unref(col);
    check(retyped);
    for (int64_t i = 0; i < 40; i++)
        assert_same_value(retyped, i, copy, i);
    tl_type_unref(nullable);
    tl_column_unref(retyped);
    tl_column_unref(repeated);
    tl_column_unref(copy);
    tl_builder_free(builder);
}

static void builders_copy_and_forget_rows(void **state)
{
    (void)state;
    for_every_type(copy_one, 14);
}

static void builders_refuse_values_of_other_types(void **state)
{
    (void)state;
    tl_error err;
    tl_builder *b = NULL;
    const tl_type *type = test_type("TINYINT");
    assert_ok(tl_builder_create(type, &b, &err), &err);
    assert_int_equal(tl_builder_int(b, 128), TL_E_INVALID);
    assert_int_equal(tl_builder_f64(b, 1), TL_E_INTERNAL);
    assert_int_equal(tl_builder_bytes(b, "x", 1), TL_E_INTERNAL);
    assert_int_equal(tl_builder_timestamp(b, 1, 0), TL_E_INTERNAL);
    assert_int_equal(tl_builder_int(b, -128), TL_OK);
    assert_int_equal(tl_builder_length(b), 1);
    tl_builder_free(b);
    tl_type_unref(type);
    type = test_type("TIMESTAMP(6)");
    assert_ok(tl_builder_create(type, &b, &err), &err);
    assert_int_equal(tl_builder_timestamp(b, INT64_MAX, 0), TL_E_INVALID);
    assert_int_equal(tl_builder_timestamp(b, 1, 999999), TL_OK);
    tl_column *col = NULL;
    assert_ok(tl_builder_finish(b, &col, &err), &err);
    assert_int_equal(tl_col_i64(col, 0), 1999);
    tl_column_unref(col);
    tl_builder_free(b);
    tl_type_unref(type);
}

static void checks_find_broken_columns(void **state)
{
    (void)state;
    tl_error err;
    const tl_type *type = test_type("ARRAY<INT>");
    tl_column *col = column_of(type, "[[1,2],[3],null]");
    col->offsets[1] = 9;
    assert_fails(tl_column_check(col, &err), TL_E_INVALID, &err, "decrease");
    col->offsets[1] = 2;
    col->offsets[3] = 5;
    assert_int_not_equal(tl_column_check(col, &err), TL_OK);
    col->offsets[3] = 3;
    col->null_count = 2;
    assert_fails(tl_column_check(col, &err), TL_E_INVALID, &err, "null count");
    col->null_count = 1;
    ((int32_t *)col->children[0]->values)[0] = 77;
    assert_ok(tl_column_check(col, &err), &err);
    tl_column_unref(col);
    tl_type_unref(type);
}

static tl_batch *random_batch(const tl_type *type, int64_t n, bool kinds, bool seq, uint64_t *rng)
{
    tl_error err;
    tl_batch *batch = NULL;
    assert_ok(tl_batch_create(type, n, &batch, &err), &err);
    for (int32_t c = 0; c < type->n_fields; c++)
        batch->cols[c] = test_random_column(type->fields[c].type, n, 20, rng);
    if (kinds) {
        batch->row_kind = tl_alloc((size_t)n + 1);
        for (int64_t i = 0; i < n; i++)
            batch->row_kind[i] = test_random(rng) % 4;
    }
    if (seq) {
        batch->seq = tl_alloc(((size_t)n + 1) * sizeof *batch->seq);
        for (int64_t i = 0; i < n; i++)
            batch->seq[i] = (int64_t)test_random(rng);
    }
    return batch;
}

static void assert_same_row(const tl_batch *a, int64_t i, const tl_batch *b, int64_t j)
{
    for (int32_t c = 0; c < a->n_cols; c++)
        assert_same_value(a->cols[c], i, b->cols[c], j);
    assert_int_equal(tl_batch_kind(a, i), tl_batch_kind(b, j));
    if (a->seq != NULL)
        assert_true(a->seq[i] == (b->seq == NULL ? 0 : b->seq[j]));
}

static void batches_keep_kinds_and_sequence_numbers(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(15);
    const tl_type *type = test_type("ROW<a INT, b STRING, c ARRAY<INT>>");
    tl_batch *x = random_batch(type, 100, true, true, &rng), *y = random_batch(type, 50, false, false, &rng);
    tl_batch *both = NULL, *slice = NULL, *picked = NULL, *projected = NULL;
    x->level = y->level = 3;
    x->snapshot = 9;
    const tl_batch *parts[2] = {x, y};
    assert_ok(tl_batch_concat(parts, 2, &both, &err), &err);
    assert_int_equal(both->level, 3);
    assert_int_equal(both->snapshot, 0);
    for (int64_t i = 0; i < 150; i++)
        assert_same_row(both, i, i < 100 ? x : y, i < 100 ? i : i - 100);
    assert_ok(tl_batch_slice(both, 93, 20, &slice, &err), &err);
    for (int64_t i = 0; i < 20; i++)
        assert_same_row(slice, i, both, 93 + i);
    const uint32_t idx[3] = {149, 0, 99};
    assert_ok(tl_batch_gather(both, idx, 3, &picked, &err), &err);
    for (int64_t i = 0; i < 3; i++)
        assert_same_row(picked, i, both, idx[i]);
    const int32_t cols[2] = {2, 0};
    assert_ok(tl_batch_project(both, cols, 2, &projected, &err), &err);
    assert_same_value(projected->cols[1], 5, both->cols[0], 5);
    assert_int_equal(tl_batch_kind(projected, 5), tl_batch_kind(both, 5));
    assert_fails(tl_batch_slice(both, 140, 11, &slice, &err), TL_E_INVALID, &err, "slice");
    assert_true(tl_batch_bytes(both) > 150 * 9);
    tl_batch *all[] = {x, y, both, slice, picked, projected};
    for (size_t i = 0; i < TL_ARRAY_LEN(all); i++)
        tl_batch_free(all[i]);
    tl_type_unref(type);
}

static void readers_hand_out_batches_in_order(void **state)
{
    (void)state;
    tl_error err;
    uint64_t rng = test_seed(16);
    const tl_type *type = test_type("ROW<a INT>");
    tl_reader **readers = tl_alloc(3 * sizeof *readers), *all = NULL;
    for (int r = 0; r < 3; r++) {
        tl_batch **batches = tl_alloc(2 * sizeof *batches);
        for (int b = 0; b < 2; b++)
            batches[b] = random_batch(type, r * 10 + b, false, false, &rng);
        assert_ok(tl_reader_from_batches(type, batches, 2, &readers[r], &err), &err);
    }
    assert_ok(tl_reader_concat(type, readers, 3, &all, &err), &err);
    for (int k = 0; k < 5; k++) {
        tl_batch *batch = NULL;
        assert_ok(tl_reader_next(all, &batch, &err), &err);
        assert_int_equal(batch->n_rows, k / 2 * 10 + k % 2);
        tl_batch_free(batch);
    }
    tl_reader_free(all); /* with a batch left */
    tl_type_unref(type);
}

static void row_kinds_have_their_texts(void **state)
{
    (void)state;
    for (uint8_t kind = 0; kind < 4; kind++) {
        uint8_t got = 9;
        assert_true(tl_row_kind_parse(view_of(tl_row_kind_text(kind)), &got));
        assert_int_equal(got, kind);
    }
    uint8_t got;
    assert_false(tl_row_kind_parse(view_of("+X"), &got));
    assert_false(tl_row_kind_parse(view_of(""), &got));
}

/* Everything above once with the n-th allocation failing, for every n. */
static void failing_allocations_leak_nothing(void **state)
{
    (void)state;
    uint64_t rng = test_seed(17);
    for (size_t t = 0; t < TL_ARRAY_LEN(every_type); t++) {
        tl_error err;
        const tl_type *type = test_type(every_type[t]);
        tl_column *col = test_random_column(type, 70, 20, &rng);
        const tl_column *srcs[2] = {col, col};
        tl_rowref refs[70];
        uint32_t idx[70];
        for (uint32_t k = 0; k < 70; k++) {
            idx[k] = (k * 7) % 70;
            refs[k] = (tl_rowref){k % 2, idx[k]};
        }
        bool failed = true;
        for (uint64_t nth = 1; failed; nth++) {
            tl_column *out[4] = {NULL};
            tl_alloc_fail_at(nth);
            tl_status status = tl_column_gather(col, idx, 70, &out[0], &err);
            if (status == TL_OK)
                status = tl_column_gather_multi(type, srcs, refs, 70, &out[1], &err);
            if (status == TL_OK)
                status = tl_column_concat(type, srcs, 2, &out[2], &err);
            if (status == TL_OK)
                status = tl_column_slice(col, 8, 40, &out[3], &err);
            tl_alloc_fail_at(0);
            failed = status != TL_OK;
            if (failed)
                assert_int_equal(status, TL_E_NOMEM);
            for (int k = 0; k < 4; k++)
                tl_column_unref(out[k]);
        }
        tl_column_unref(col);
        tl_type_unref(type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_takes_the_rows_asked_for),
        cmocka_unit_test(gather_from_many_sources_takes_the_rows_asked_for),
        cmocka_unit_test(gather_of_very_many_rows_takes_the_rows_asked_for),
        cmocka_unit_test(gather_of_nothing_but_nulls_needs_no_source),
        cmocka_unit_test(slices_and_concatenations_keep_their_rows),
        cmocka_unit_test(builders_copy_and_forget_rows),
        cmocka_unit_test(builders_refuse_values_of_other_types),
        cmocka_unit_test(checks_find_broken_columns),
        cmocka_unit_test(batches_keep_kinds_and_sequence_numbers),
        cmocka_unit_test(readers_hand_out_batches_in_order),
        cmocka_unit_test(row_kinds_have_their_texts),
        cmocka_unit_test(failing_allocations_leak_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
