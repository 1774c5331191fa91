/* Operators without state: expressions and filters (MAP), UNION ALL. */
#include "stream/op.h"
#include "types/builder.h"

typedef struct map_op {
    tl_op base;
    tl_sql_program *program;
    const tl_type *watermark; /* of the column that CURRENT_WATERMARK reads; NULL: nobody asks */
    const tl_type *widened;   /* the input's columns and that one */
} map_op;

/* The batch with one column more: how far time had come at each row. */
static tl_status with_watermarks(const map_op *m, const tl_batch *batch, int64_t before, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *wide = NULL;
    int32_t n = m->base.inputs[0]->type->n_fields;
    TL_TRY(tl_batch_create(m->widened, batch->n_rows, &wide, err));
    for (int32_t c = 0; c < n; c++)
        wide->cols[c] = tl_column_ref(batch->cols[c]);
    tl_builder *builder = NULL;
    TL_TRY(tl_builder_create(m->watermark, &builder, err));
    tl_status status = TL_OK;
    for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++) {
        int64_t at = tl_stream__row_watermark(batch, i, before);
        status = at == TL_WATERMARK_NONE ? tl_builder_null(builder) : tl_builder_timestamp(builder, at, 0);
    }
    status = status == TL_OK ? tl_builder_finish(builder, &wide->cols[n], err) : tl_builder_error(builder, status, err);
    tl_builder_free(builder);
    TL_TRY(status);
    if (batch->row_kind != NULL && (wide->row_kind = tl_memdup(batch->row_kind, (size_t)batch->n_rows)) == NULL)
        return tl_nomem(err, "row kinds");
    if (batch->seq != NULL && (wide->seq = tl_memdup(batch->seq, (size_t)batch->n_rows * sizeof *batch->seq)) == NULL)
        return tl_nomem(err, "watermarks");
    wide->snapshot = batch->snapshot;
    *out = TL_STEAL(wide);
    return TL_OK;
}

static tl_status map_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    map_op *m = (map_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL, *wide = NULL;
    int64_t before = op->inputs[0]->watermark;
    TL_TRY(tl_stream__next(op->inputs[0], &batch, state, err));
    op->watermark = op->inputs[0]->watermark;
    if (batch != NULL && m->watermark != NULL)
        TL_TRY(with_watermarks(m, batch, before, &wide, err));
    return batch == NULL ? TL_OK : tl_sql_program_run(m->program, wide != NULL ? wide : batch, out, err);
}

static void map_deinit(tl_op *op)
{
    map_op *m = (map_op *)op;
    tl_sql_program_free(m->program);
    tl_type_unref(m->widened);
}

static bool finds_watermark(const tl_expr *e, const tl_type **type)
{
    if (e->kind == TL_EXPR_WATERMARK)
        *type = e->type;
    for (int32_t i = 0; i < e->n_args && *type == NULL; i++)
        finds_watermark(e->args[i], type);
    return *type != NULL;
}

/* Of a node with CURRENT_WATERMARK: the type of its values, and the input's row with a column for them. */
static tl_status widen(map_op *m, const tl_plan *plan, tl_error *err)
{
    const tl_type *input = m->base.inputs[0]->type;
    if (!tl_sql_program_wants_watermark(m->program))
        return TL_OK;
    if (plan->condition != NULL)
        finds_watermark(plan->condition, &m->watermark);
    for (int32_t i = 0; plan->kind == TL_PLAN_PROJECT && i < plan->type->n_fields && m->watermark == NULL; i++)
        finds_watermark(plan->exprs[i], &m->watermark);
    m->base.pipeline->event_time = true;
    tl_field *fields = tl_alloc((size_t)(input->n_fields + 1) * sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "watermarks");
    memcpy(fields, input->fields, (size_t)input->n_fields * sizeof *fields);
    fields[input->n_fields] = (tl_field){.name = (char *)"$watermark", .id = -1, .type = m->watermark};
    tl_status status = tl_type_create_row(false, fields, input->n_fields + 1, &m->widened, err);
    tl_free(fields);
    return status;
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
    if (status == TL_OK)
        status = widen(m, plan, err);
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
