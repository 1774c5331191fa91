/* Operators without state: expressions and filters (MAP), UNION ALL. */
#include "stream/op.h"

typedef struct map_op {
    tl_op base;
    tl_sql_program *program;
} map_op;

static tl_status map_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    map_op *m = (map_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_stream__next(op->inputs[0], &batch, state, err));
    op->watermark = op->inputs[0]->watermark;
    return batch == NULL ? TL_OK : tl_sql_program_run(m->program, batch, out, err);
}

static void map_deinit(tl_op *op)
{
    tl_sql_program_free(((map_op *)op)->program);
}

/* A filter is a program that passes every column on. */
static tl_status filter_program(tl_pipeline *pipeline, const tl_plan *plan, const tl_type *input, tl_sql_program **out, tl_error *err)
{
    int32_t n = input->n_fields;
    tl_expr *columns = tl_calloc((size_t)n + 1, sizeof *columns);
    const tl_expr **exprs = tl_calloc((size_t)n + 1, sizeof *exprs);
    tl_status status = columns == NULL || exprs == NULL ? tl_nomem(err, "filter") : TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        columns[i] = (tl_expr){.kind = TL_EXPR_COLUMN, .type = input->fields[i].type, .column = i};
        exprs[i] = &columns[i];
    }
    if (status == TL_OK)
        status = tl_sql_program_create(&pipeline->env, input, plan->condition, exprs, n, plan->type, out, err);
    tl_free(columns);
    tl_free(exprs);
    return status;
}

tl_status tl_stream__condition(const tl_pipeline *pipeline, const tl_type *input, const tl_expr *condition, tl_sql_program **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *empty = NULL;
    TL_TRY(tl_type_create_row(false, NULL, 0, &empty, err));
    return tl_sql_program_create(&pipeline->env, input, condition, NULL, 0, empty, out, err);
}

tl_status tl_stream__map(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {map_next, map_deinit};
    map_op *m = tl_stream__op_new(sizeof *m, &ops, pipeline, plan->type, input, NULL, err);
    if (m == NULL)
        return TL_E_NOMEM;
    tl_status status = plan->kind == TL_PLAN_FILTER
                           ? filter_program(pipeline, plan, input->type, &m->program, err)
                           : tl_sql_program_create(&pipeline->env, input->type, NULL, (const tl_expr *const *)plan->exprs, plan->type->n_fields,
                                                   plan->type, &m->program, err);
    return tl_stream__op_done(&m->base, status, out);
}

/* ---- UNION ALL: the inputs take turns ---- */

typedef struct union_op {
    tl_op base;
    tl_op **inputs;
    int32_t n;
    int32_t turn;
} union_op;

static tl_status union_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    union_op *u = (union_op *)op;
    bool idle = false;
    for (int32_t tries = 0; tries < u->n; tries++) {
        int32_t i = u->turn;
        u->turn = (u->turn + 1) % u->n;
        TL_TRY(tl_stream__next(u->inputs[i], out, state, err));
        op->watermark = TL_WATERMARK_END;
        for (int32_t k = 0; k < u->n; k++)
            op->watermark = TL_MIN(op->watermark, u->inputs[k]->watermark);
        if (*state == TL_OP_ROWS) {
            if (*out != NULL) { /* under the union's own column names and nullability */
                TL_CLEANUP(tl_batch_freep) tl_batch *batch = *out;
                *out = NULL;
                return tl_stream__retype(batch, op->type, out, err);
            }
            return TL_OK;
        }
        idle |= *state == TL_OP_IDLE;
    }
    *state = idle ? TL_OP_IDLE : TL_OP_END;
    return TL_OK;
}

static void union_deinit(tl_op *op)
{
    union_op *u = (union_op *)op;
    for (int32_t i = 0; i < u->n; i++)
        tl_stream__op_free(u->inputs[i]);
    tl_free(u->inputs);
}

tl_status tl_stream__union(tl_pipeline *pipeline, const tl_plan *plan, tl_op **inputs, int32_t n, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {union_next, union_deinit};
    union_op *u = tl_stream__op_new(sizeof *u, &ops, pipeline, plan->type, NULL, NULL, err);
    if (u == NULL) {
        for (int32_t i = 0; i < n; i++)
            tl_stream__op_free(inputs[i]);
        tl_free(inputs);
        return TL_E_NOMEM;
    }
    u->inputs = inputs;
    u->n = n;
    *out = &u->base;
    return TL_OK;
}

tl_status tl_stream__retype(const tl_batch *batch, const tl_type *type, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(type, batch->n_rows, &result, err));
    for (int32_t c = 0; c < batch->n_cols; c++)
        TL_TRY(tl_column_retype(batch->cols[c], type->fields[c].type, &result->cols[c], err));
    if (batch->row_kind != NULL) {
        result->row_kind = tl_memdup(batch->row_kind, (size_t)batch->n_rows);
        if (result->row_kind == NULL)
            return tl_nomem(err, "row kinds");
    }
    if (batch->seq != NULL) {
        result->seq = tl_memdup(batch->seq, (size_t)batch->n_rows * sizeof *batch->seq);
        if (result->seq == NULL)
            return tl_nomem(err, "watermarks");
    }
    result->snapshot = batch->snapshot;
    *out = TL_STEAL(result);
    return TL_OK;
}
