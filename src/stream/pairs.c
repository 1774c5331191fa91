#include "stream/pairs.h"

void tl_pairs_deinit(tl_pairs *pairs)
{
    tl_free(pairs->sides[0].refs);
    tl_free(pairs->sides[1].refs);
    *pairs = (tl_pairs){0};
}

tl_status tl_pairs_add(tl_pairs *pairs, tl_rowref left, tl_rowref right)
{
    TL_TRY(tl_ref_list_add(&pairs->sides[0], &left, 1));
    return tl_ref_list_add(&pairs->sides[1], &right, 1);
}

tl_status tl_pairs_gather(const tl_pairs *pairs, const tl_row_buffer *left, int32_t n_left, const tl_row_buffer *right, const tl_type *type, tl_batch **out,
                          tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    int64_t n = pairs->sides[0].n;
    TL_TRY(tl_batch_create(type, n, &result, err));
    TL_TRY(tl_row_buffer_gather(left, pairs->sides[0].refs, n, NULL, n_left, result, 0, err));
    TL_TRY(tl_row_buffer_gather(right, pairs->sides[1].refs, n, NULL, type->n_fields - n_left, result, n_left, err));
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status joined_type(const tl_type *left, const tl_type *right, const tl_type **out, tl_error *err)
{
    int32_t n = left->n_fields + right->n_fields;
    tl_field *fields = tl_calloc((size_t)n + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "operator");
    for (int32_t i = 0; i < n; i++)
        fields[i] = i < left->n_fields ? left->fields[i] : right->fields[i - left->n_fields];
    tl_status status = tl_type_create_row(false, fields, n, out, err);
    tl_free(fields);
    return status;
}

tl_status tl_pair_test_init(tl_pair_test *test, const tl_op *join, const tl_expr *condition, tl_error *err)
{
    const tl_type *left = join->inputs[0]->type, *right = join->inputs[1]->type;
    test->n_left = left->n_fields;
    if (condition == NULL)
        return TL_OK;
    TL_TRY(joined_type(left, right, &test->type, err));
    return tl_stream__condition(join->pipeline, test->type, condition, &test->condition, err);
}

void tl_pair_test_deinit(tl_pair_test *test)
{
    tl_sql_program_free(test->condition);
    tl_type_unref(test->type);
    *test = (tl_pair_test){0};
}

tl_status tl_pairs_test(const tl_pairs *pairs, const tl_row_buffer *left, const tl_row_buffer *right, const tl_pair_test *test, uint8_t **passes,
                        tl_error *err)
{
    int64_t n = pairs->sides[0].n, n_sel;
    TL_CLEANUP(tl_freep) uint8_t *result = tl_alloc((size_t)n + 1);
    if (result == NULL)
        return tl_nomem(err, "join");
    memset(result, test->condition == NULL, (size_t)n);
    if (test->condition != NULL && n > 0) {
        TL_CLEANUP(tl_batch_freep) tl_batch *joined = NULL;
        TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)n);
        if (sel == NULL)
            return tl_nomem(err, "join");
        TL_TRY(tl_pairs_gather(pairs, left, test->n_left, right, test->type, &joined, err));
        TL_TRY(tl_sql_program_select(test->condition, joined, sel, &n_sel, err));
        for (int64_t i = 0; i < n_sel; i++)
            result[sel[i]] = 1;
    }
    *passes = TL_STEAL(result);
    return TL_OK;
}

bool tl_stream__null_key(const tl_plan *plan, const tl_batch *batch, const int32_t *columns, int64_t row)
{
    for (int32_t i = 0; i < plan->n_keys; i++)
        if (tl_col_is_null(batch->cols[columns[i]], row) && (plan->null_safe == NULL || !plan->null_safe[i]))
            return true;
    return false;
}

tl_status tl_stream__join_keys(const tl_batch *batch, const int32_t *columns, int32_t n, tl_keys **out, tl_error *err)
{
    *out = NULL;
    if (n == 0)
        return TL_OK;
    tl_column **cols = tl_calloc((size_t)n, sizeof *cols);
    tl_status status = cols == NULL ? tl_nomem(err, "keys") : TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        const tl_column *col = batch->cols[columns[i]];
        TL_CLEANUP(tl_type_unrefp) const tl_type *nullable = NULL;
        status = tl_type_with_nullable(col->type, true, &nullable, err);
        if (status == TL_OK)
            status = tl_column_retype(col, nullable, &cols[i], err);
    }
    if (status == TL_OK)
        status = tl_keys_create((const tl_column *const *)cols, n, batch->n_rows, out, err);
    for (int32_t i = 0; cols != NULL && i < n; i++)
        tl_column_unref(cols[i]);
    tl_free(cols);
    return status;
}
