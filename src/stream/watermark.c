/*
 * Watermarks: how far event time has come. Source of the rules: Flink's WatermarkAssignerOperator.
 *
 * A row moves time on if it lifts the watermark by more than 200 ms (Flink's pipeline.auto-watermark-interval); what is less waits
 * until the source has nothing to give or a commit is due. So time does not depend on how fast rows are read, and stands, at a
 * commit, where a replay of the same rows brings it.
 *
 * Rows of a lake table come in the order of files, not of events: time moves between snapshots only.
 */
#include "stream/op.h"

#define LIFT_MS 200

typedef struct watermark_op {
    tl_op base;
    const tl_plan *plan;
    const tl_type *value_type; /* ROW of the watermark's column */
    tl_sql_program *value;
    int64_t highest;  /* of all rows so far */
    int64_t snapshot; /* of the last batch */
    bool by_snapshot;
} watermark_op;

static tl_status check_times(const watermark_op *w, const tl_batch *batch, tl_error *err)
{
    if (w->by_snapshot || batch->cols[w->plan->rowtime]->null_count == 0)
        return TL_OK;
    return tl_error_set(err, TL_E_INVALID, "column '%s': RowTime field should not be null, please convert it to a non-null long value",
                        w->plan->type->fields[w->plan->rowtime].name);
}

/* Time goes to the highest watermark of all rows. */
static void catch_up(watermark_op *w)
{
    if (w->highest > w->base.watermark)
        w->base.watermark = w->highest;
}

static tl_status mark_rows(watermark_op *w, tl_batch *batch, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *values = NULL;
    TL_TRY(tl_sql_program_run(w->value, batch, &values, err));
    if (batch->seq == NULL)
        batch->seq = tl_alloc(sizeof *batch->seq * (size_t)(batch->n_rows + 1));
    if (batch->seq == NULL)
        return tl_nomem(err, "watermarks");
    const tl_column *col = values->cols[0];
    for (int64_t i = 0; i < batch->n_rows; i++) {
        batch->seq[i] = w->base.watermark;
        if (tl_col_is_null(col, i))
            continue;
        int64_t value = tl_col_i64(col, i);
        if (value > w->highest)
            w->highest = value;
        bool lifts = w->base.watermark == TL_WATERMARK_NONE ? w->highest > LIFT_MS : w->highest - w->base.watermark > LIFT_MS;
        if (lifts && !w->by_snapshot)
            w->base.watermark = w->highest;
    }
    return TL_OK;
}

static tl_status watermark_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    watermark_op *w = (watermark_op *)op;
    TL_TRY(tl_stream__next(op->inputs[0], out, state, err));
    if (*state == TL_OP_END && op->inputs[0]->watermark == TL_WATERMARK_END)
        op->watermark = TL_WATERMARK_END;
    else if (*state != TL_OP_ROWS)
        catch_up(w);
    if (*out == NULL || (*out)->n_rows == 0)
        return TL_OK;
    tl_status status = check_times(w, *out, err);
    if (w->by_snapshot && (*out)->snapshot != w->snapshot)
        catch_up(w);
    w->snapshot = (*out)->snapshot;
    if (status == TL_OK && op->pipeline->event_time)
        status = mark_rows(w, *out, err);
    if (status != TL_OK) {
        tl_batch_free(*out);
        *out = NULL;
    }
    return status;
}

static void watermark_deinit(tl_op *op)
{
    watermark_op *w = (watermark_op *)op;
    tl_sql_program_free(w->value);
    tl_type_unref(w->value_type);
}

static bool reads_lake(const tl_plan *plan)
{
    while (plan->n_inputs == 1)
        plan = plan->inputs[0];
    return plan->kind == TL_PLAN_SCAN && plan->table->kind == TL_SQL_TABLE_LAKE;
}

tl_status tl_stream__watermark(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {watermark_next, watermark_deinit};
    watermark_op *w = tl_stream__op_new(sizeof *w, &ops, pipeline, plan->type, input, NULL, err);
    if (w == NULL)
        return TL_E_NOMEM;
    w->plan = plan;
    w->highest = TL_WATERMARK_NONE;
    w->by_snapshot = reads_lake(plan);
    tl_field field = {.name = (char *)"watermark", .id = -1, .type = plan->condition->type};
    const tl_expr *value = plan->condition;
    tl_status status = tl_type_create_row(false, &field, 1, &w->value_type, err);
    if (status == TL_OK)
        status = tl_sql_program_create(&pipeline->env, input->type, NULL, &value, 1, w->value_type, &w->value, err);
    return tl_stream__op_done(&w->base, status, out);
}
