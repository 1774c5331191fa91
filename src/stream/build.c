/* From a plan to a tree of operators. */
#include "stream/op.h"

tl_status tl_stream__add_leaf(tl_pipeline *pipeline, tl_leaf *leaf, tl_error *err)
{
    if (pipeline->n_leaves == TL_LEAVES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a statement reads at most %d sources", TL_LEAVES_MAX);
    pipeline->leaves[pipeline->n_leaves++] = leaf;
    return TL_OK;
}

static tl_status build_union(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    tl_op **inputs = tl_calloc((size_t)plan->n_inputs + 1, sizeof *inputs);
    if (inputs == NULL)
        return tl_nomem(err, "operator");
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        tl_status status = tl_stream__build(pipeline, plan->inputs[i], &inputs[i], err);
        if (status != TL_OK) {
            while (i-- > 0)
                tl_stream__op_free(inputs[i]);
            tl_free(inputs);
            return status;
        }
    }
    return tl_stream__union(pipeline, plan, inputs, plan->n_inputs, out, err);
}

static tl_status build_binary(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    tl_op *left, *right;
    TL_TRY(tl_stream__build(pipeline, plan->inputs[0], &left, err));
    tl_status status = tl_stream__build(pipeline, plan->inputs[1], &right, err);
    if (status != TL_OK) {
        tl_stream__op_free(left);
        return status;
    }
    if (plan->kind == TL_PLAN_SETOP)
        return tl_stream__setop(pipeline, plan, left, right, out, err);
    if (plan->kind == TL_PLAN_TEMPORAL_JOIN)
        return tl_stream__temporal_join(pipeline, plan, left, right, out, err);
    if (plan->by_window)
        return tl_stream__window_join(pipeline, plan, left, right, out, err);
    return plan->is_interval ? tl_stream__interval_join(pipeline, plan, left, right, out, err) : tl_stream__join(pipeline, plan, left, right, out, err);
}

static tl_status build_aggregate(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    if (plan->by_window)
        TL_TRY(tl_stream__slice_buffer(pipeline, plan, input, &input, err));
    if (plan->grouping_sets != NULL)
        TL_TRY(tl_stream__expand(pipeline, plan, input, &input, err));
    return plan->by_window ? tl_stream__window_aggregate(pipeline, plan, input, out, err) : tl_stream__aggregate(pipeline, plan, input, out, err);
}

/* The operators with one input. */
static tl_status build_unary(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    tl_op *input;
    TL_TRY(tl_stream__build(pipeline, plan->inputs[0], &input, err));
    switch (plan->kind) {
    case TL_PLAN_LOOKUP_JOIN:
        return tl_stream__lookup_join(pipeline, plan, input, out, err);
    case TL_PLAN_AGGREGATE:
        return build_aggregate(pipeline, plan, input, out, err);
    case TL_PLAN_UNNEST:
        return tl_stream__unnest(pipeline, plan, input, out, err);
    case TL_PLAN_OVER:
        return tl_stream__over(pipeline, plan, input, out, err);
    case TL_PLAN_RANK:
        return plan->by_window ? tl_stream__window_rank(pipeline, plan, input, out, err) : tl_stream__rank(pipeline, plan, input, out, err);
    case TL_PLAN_WATERMARK:
        return tl_stream__watermark(pipeline, plan, input, out, err);
    case TL_PLAN_WINDOW:
        return plan->window == TL_WINDOW_SESSION ? tl_stream__session(pipeline, plan, input, out, err) : tl_stream__window(pipeline, plan, input, out, err);
    default:
        return tl_stream__map(pipeline, plan, input, out, err);
    }
}

/* What commits add to a table of these engines are no rows of it: only a changelog tells what becomes of them. Java: TableScanUtils. */
static tl_status check_changes(const tl_sql_table *table, tl_error *err)
{
    static const char *const engines[][2] = {{"partial-update", "Partial update"}, {"aggregation", "Pre-aggregate"}, {"first-row", "First row"}};
    const char *engine = tl_table_option(table->table, "merge-engine");
    for (size_t i = 0; engine != NULL && tl_stream__has_no_changelog(table) && i < TL_ARRAY_LEN(engines); i++)
        if (strcmp(engine, engines[i][0]) == 0)
            return tl_error_set(err, TL_E_UNSUPPORTED, "table '%s.%s': %s streaming reading is not supported. You can use 'lookup' or 'full-compaction' changelog producer "
                                "to support streaming reading. ('input' changelog producer is also supported, but only returns input records.)",
                                table->db, table->name, engines[i][1]);
    return TL_OK;
}

static tl_status build_lake_scan(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    TL_TRY(check_changes(plan->table, err));
    return tl_stream__lacks_old_rows(plan->table) && !pipeline->new_rows_do ? tl_stream__normalize(pipeline, plan, out, err)
                                                                            : tl_stream__lake_leaf(pipeline, plan, out, err);
}

tl_status tl_stream__build(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    switch (plan->kind) {
    case TL_PLAN_SCAN:
        return plan->table->kind == TL_SQL_TABLE_LAKE ? build_lake_scan(pipeline, plan, out, err) : tl_stream__connector_leaf(pipeline, plan, out, err);
    case TL_PLAN_VALUES:
        return tl_stream__values_leaf(pipeline, plan, out, err);
    case TL_PLAN_PROJECT:
    case TL_PLAN_FILTER:
    case TL_PLAN_WATERMARK:
    case TL_PLAN_LOOKUP_JOIN:
    case TL_PLAN_AGGREGATE:
    case TL_PLAN_OVER:
    case TL_PLAN_RANK:
    case TL_PLAN_UNNEST:
    case TL_PLAN_WINDOW:
        return build_unary(pipeline, plan, out, err);
    case TL_PLAN_JOIN:
    case TL_PLAN_SETOP:
    case TL_PLAN_TEMPORAL_JOIN:
        return build_binary(pipeline, plan, out, err);
    case TL_PLAN_UNION:
        return build_union(pipeline, plan, out, err);
    case TL_PLAN_SORT:
        return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: ORDER BY over a stream needs a LIMIT, or one time attribute to go by; without either it works "
                                                   "in batch mode (SET 'execution.runtime-mode' = 'batch')",
                            (int)plan->line, (int)plan->position);
    case TL_PLAN_SINK:
        break;
    }
    return tl_error_set(err, TL_E_INTERNAL, "a sink inside a plan");
}
