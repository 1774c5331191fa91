/*
 * GROUPING SETS, ROLLUP, CUBE: every row goes once into each set. Behind the input's columns stand copies of the keys, NULL where
 * a key is not in the set, and the number of the set, so that a NULL key and a missing one are different groups.
 */
#include "stream/accumulate.h"

typedef struct expand_op {
    tl_op base;
    const tl_plan *plan; /* the AGGREGATE */
    const tl_type *type; /* owned */
} expand_op;

static tl_status set_column(const tl_type *type, int64_t rows, int32_t n_sets, tl_column **out, tl_error *err)
{
    TL_TRY(tl_column_alloc(type, rows * n_sets, out, err));
    for (int64_t i = 0; i < rows * n_sets; i++)
        ((int64_t *)(*out)->values)[i] = i / TL_MAX(rows, 1);
    return TL_OK;
}

static tl_status key_column(const expand_op *e, const tl_batch *in, int32_t key, const tl_type *type, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc(sizeof *refs * (size_t)(in->n_rows * e->plan->n_sets + 1));
    if (refs == NULL)
        return tl_nomem(err, "grouping sets");
    int64_t n = 0;
    for (int32_t s = 0; s < e->plan->n_sets; s++)
        for (int64_t i = 0; i < in->n_rows; i++)
            refs[n++] = (tl_rowref){0, (e->plan->grouping_sets[s] >> key & 1) != 0 ? (uint32_t)i : TL_ROW_NULL};
    const tl_column *source = in->cols[e->plan->group[key]];
    return tl_column_gather_multi(type, &source, refs, n, out, err);
}

static tl_status expand_batch(tl_op *op, const tl_batch *in, tl_batch **out, tl_error *err)
{
    const expand_op *e = (const expand_op *)op;
    int64_t n = in->n_rows * e->plan->n_sets;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(n + 1));
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    if (sel == NULL)
        return tl_nomem(err, "grouping sets");
    for (int64_t i = 0; i < n; i++)
        sel[i] = (uint32_t)(i % in->n_rows);
    TL_TRY(tl_batch_gather(in, sel, n, &rows, err));
    TL_TRY(tl_batch_create(e->type, n, &result, err));
    for (int32_t c = 0; c < in->n_cols; c++)
        TL_TRY(tl_column_retype(rows->cols[c], e->type->fields[c].type, &result->cols[c], err));
    for (int32_t k = 0; k < e->plan->n_group; k++)
        TL_TRY(key_column(e, in, k, e->type->fields[in->n_cols + k].type, &result->cols[in->n_cols + k], err));
    TL_TRY(set_column(e->type->fields[e->type->n_fields - 1].type, in->n_rows, e->plan->n_sets, &result->cols[e->type->n_fields - 1], err));
    result->row_kind = TL_STEAL(rows->row_kind);
    result->seq = TL_STEAL(rows->seq);
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status expand_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    return tl_stream__each_batch(op, expand_batch, out, state, err);
}

static void expand_deinit(tl_op *op)
{
    expand_op *e = (expand_op *)op;
    tl_type_unref(e->type);
}

static tl_status expanded_type(const tl_plan *plan, const tl_type *input, const tl_type **out, tl_error *err)
{
    int32_t n = input->n_fields, total = n + plan->n_group + 1;
    tl_field *fields = tl_calloc((size_t)total, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "operator");
    for (int32_t i = 0; i < n; i++)
        fields[i] = input->fields[i];
    for (int32_t k = 0; k < plan->n_group; k++) /* as they come out of the aggregation: nullable */
        fields[n + k] = plan->type->fields[k];
    const tl_type *set = NULL;
    tl_status status = tl_type_create(TL_BIGINT, false, 0, 0, &set, err);
    fields[total - 1] = (tl_field){.name = (char *)"$set", .id = -1, .type = set};
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, total, out, err);
    tl_type_unref(set);
    tl_free(fields);
    return status;
}

tl_status tl_stream__expand(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {expand_next, expand_deinit};
    expand_op *e = tl_stream__op_new(sizeof *e, &ops, pipeline, NULL, input, NULL, err);
    if (e == NULL)
        return TL_E_NOMEM;
    e->plan = plan;
    tl_status status = expanded_type(plan, input->type, &e->type, err);
    e->base.type = e->type;
    return tl_stream__op_done(&e->base, status, out);
}

tl_status tl_stream__group_columns(const tl_plan *plan, const tl_type *input, int32_t **columns, int32_t *n, tl_error *err)
{
    *n = plan->n_group + (plan->grouping_sets != NULL);
    *columns = tl_alloc(sizeof **columns * (size_t)(*n + 1));
    if (*columns == NULL)
        return tl_nomem(err, "operator");
    for (int32_t k = 0; k < *n; k++)
        (*columns)[k] = plan->grouping_sets != NULL ? input->n_fields - *n + k : plan->group[k];
    return TL_OK;
}

void tl_acc_grouping(const tl_plan *plan, const tl_agg_call *calls, const tl_batch *batch, int64_t i, tl_accumulator *accs)
{
    if (plan->grouping_sets == NULL)
        return;
    uint64_t set = plan->grouping_sets[tl_col_i64(batch->cols[batch->n_cols - 1], i)];
    for (int32_t c = 0; c < plan->n_calls; c++) {
        accs[c].whole = 0;
        for (int32_t k = 0; calls[c].kind == TL_AGG_GROUPING && k < calls[c].n_args; k++)
            accs[c].whole = accs[c].whole * 2 + ((set >> calls[c].args[k] & 1) == 0);
    }
}
