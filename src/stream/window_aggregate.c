/*
 * GROUP BY over windows: groups of a window are kept until time has passed its end, then each gives one row and is forgotten. Rows
 * that come for a window that is over are dropped. Source of the rules: Flink's SlicingWindowAggOperator, whose slices are an
 * optimisation of this.
 *
 * Memory: the groups of all open windows.
 */
#include "stream/accumulate.h"
#include "stream/partitions.h"
#include "stream/time_list.h"
#include "types/binary_row.h"

typedef struct window_group {
    int64_t rows;
    tl_bytes_view key; /* BinaryRow of the group's columns, behind the accumulators */
    tl_accumulator acc[];
} window_group;

typedef struct window_agg_op {
    tl_op base;
    const tl_plan *plan;
    tl_acc_calls calls;
    int32_t *group;
    int32_t n_key;
    const tl_type *key_type; /* ROW of the group's columns, as they come out */
    tl_time_list ends;       /* of each open end its groups: a tl_partition_list of window_group */
    int64_t seen; /* watermark up to which windows were closed */
    int64_t late; /* rows that were dropped */
} window_agg_op;

/* ---- windows and groups ---- */

static void end_free(const window_agg_op *a, tl_partition_list *w)
{
    for (int64_t i = 0; i < w->n; i++) {
        tl_acc_deinit(&a->calls, ((window_group *)w->states[i])->acc);
        tl_free(w->states[i]);
    }
    tl_partition_list_deinit(w);
    tl_free(w);
}

static tl_status new_group(window_agg_op *a, tl_partition_list *w, tl_bytes_view key, tl_bytes_view row, window_group **out)
{
    size_t size = sizeof **out + sizeof(tl_accumulator) * (size_t)a->calls.n;
    window_group *g = tl_alloc(size + row.len);
    if (g == NULL)
        return TL_E_NOMEM;
    memset(g, 0, size);
    memcpy((uint8_t *)g + size, row.data, row.len);
    g->key = (tl_bytes_view){(uint8_t *)g + size, row.len};
    if (tl_partition_list_add(w, key, g) != TL_OK) {
        tl_free(g);
        return TL_E_NOMEM;
    }
    *out = g;
    return TL_OK;
}

/* ---- rows in ---- */

typedef struct batch_keys {
    tl_keys *keys;
    tl_buf rows;
    int64_t *starts;
} batch_keys;

static void batch_keys_deinit(batch_keys *k)
{
    tl_keys_free(k->keys);
    tl_buf_deinit(&k->rows);
    tl_free(k->starts);
}

static tl_status make_keys(const window_agg_op *a, const tl_batch *batch, batch_keys *k, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_alloc(sizeof *cols * (size_t)(a->n_key + 1));
    k->starts = tl_alloc(sizeof *k->starts * (size_t)(batch->n_rows + 1));
    if (cols == NULL || k->starts == NULL)
        return tl_nomem(err, "aggregate");
    for (int32_t i = 0; i < a->n_key; i++)
        cols[i] = batch->cols[a->group[i]];
    TL_TRY(tl_stream__keys(batch, a->group, a->n_key, &k->keys, err));
    return tl_binary_rows(cols, a->plan->n_group, batch->n_rows, &k->rows, k->starts, err);
}

static tl_status add_row(window_agg_op *a, const tl_batch *batch, const batch_keys *k, const tl_acc_input *inputs, int64_t i, int64_t end)
{
    tl_partition_list *w = tl_time_list_at(&a->ends, end, sizeof *w);
    if (w == NULL)
        return TL_E_NOMEM;
    tl_key_space space;
    tl_bytes_view key = tl_stream__key(k->keys, i, &space);
    window_group *g = tl_map_get(&w->map, key.data, key.len);
    if (g == NULL) {
        TL_TRY(new_group(a, w, key, (tl_bytes_view){k->rows.data + k->starts[i], (size_t)(k->starts[i + 1] - k->starts[i])}, &g));
        tl_acc_grouping(a->plan, a->calls.calls, batch, i, g->acc);
    }
    int64_t delta = tl_kind_is_retract(tl_batch_kind(batch, i)) ? -1 : 1;
    g->rows += delta;
    return tl_acc_add(&a->calls, g->acc, inputs, i, delta);
}

static tl_status add_batch(window_agg_op *a, const tl_batch *batch, tl_error *err)
{
    batch_keys k = {0};
    tl_acc_input *inputs = NULL;
    const tl_column *ends = batch->cols[a->plan->window_end];
    tl_status status = make_keys(a, batch, &k, err);
    if (status == TL_OK)
        status = tl_acc_inputs_create(&a->calls, batch, &inputs, err);
    for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++) {
        int64_t end = tl_stream__end_of(&a->base, a->plan, ends, i);
        if (end - 1 <= tl_stream__row_watermark(batch, i, a->seen))
            a->late++;
        else if (add_row(a, batch, &k, inputs, i, end) != TL_OK)
            status = tl_nomem(err, "aggregate");
    }
    batch_keys_deinit(&k);
    tl_acc_inputs_free(inputs, a->calls.n);
    return status;
}

/* ---- rows out ---- */

static tl_status append_groups(window_agg_op *a, const tl_partition_list *w, tl_builder **builders, tl_error *err)
{
    int32_t n_group = a->plan->n_group;
    for (int64_t i = 0; i < w->n; i++) {
        window_group *g = w->states[i];
        if (g->rows <= 0) /* all of its rows were taken back */
            continue;
        TL_TRY(tl_binary_row_read(g->key, a->key_type, false, builders, err));
        for (int32_t c = 0; c < a->calls.n; c++)
            TL_TRY(tl_acc_append(&a->calls, c, &g->acc[c], builders[n_group + c], err));
    }
    return TL_OK;
}

static tl_status close_windows(window_agg_op *a, size_t n, tl_batch **out, tl_error *err)
{
    tl_builder **builders = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    int32_t n_cols = a->base.type->n_fields;
    tl_status status = tl_stream__builders(a->base.type, 0, n_cols, &builders, err);
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = append_groups(a, a->ends.items[i].value, builders, err);
    if (status == TL_OK)
        status = tl_batch_create(a->base.type, tl_builder_length(builders[0]), &result, err);
    if (status == TL_OK)
        status = tl_stream__builders_finish(builders, n_cols, result->cols, err);
    tl_stream__builders_free(builders, n_cols);
    TL_TRY(status);
    for (size_t i = 0; i < n; i++)
        end_free(a, a->ends.items[i].value);
    tl_time_list_drop(&a->ends, n);
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status window_agg_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    window_agg_op *a = (window_agg_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_TRY(tl_stream__take(op, &in, state, err));
    if (in != NULL)
        TL_TRY(add_batch(a, in, err));
    a->seen = TL_MAX(a->seen, a->base.inputs[0]->watermark);
    op->watermark = a->seen;
    size_t n = tl_time_list_count(&a->ends, a->seen);
    if (n == 0)
        return TL_OK;
    TL_TRY(close_windows(a, n, out, err));
    *state = TL_OP_ROWS;
    return TL_OK;
}

static void window_agg_deinit(tl_op *op)
{
    window_agg_op *a = (window_agg_op *)op;
    for (size_t i = 0; i < a->ends.n; i++)
        end_free(a, a->ends.items[i].value);
    tl_time_list_deinit(&a->ends);
    tl_free(a->group);
    tl_type_unref(a->key_type);
}

static tl_status init(window_agg_op *a, const tl_plan *plan, tl_error *err)
{
    a->calls = (tl_acc_calls){plan->calls, plan->n_calls, a->base.inputs[0]->type, tl_stream__insert_only(plan->inputs[0])};
    TL_TRY(tl_acc_check(&a->calls, err));
    TL_TRY(tl_stream__group_columns(plan, a->base.inputs[0]->type, &a->group, &a->n_key, err));
    return tl_type_create_row(false, plan->type->fields, plan->n_group, &a->key_type, err);
}

tl_status tl_stream__window_aggregate(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {window_agg_next, window_agg_deinit};
    window_agg_op *a = tl_stream__op_new(sizeof *a, &ops, pipeline, plan->type, input, NULL, err);
    if (a == NULL)
        return TL_E_NOMEM;
    a->plan = plan;
    a->seen = TL_WATERMARK_NONE;
    pipeline->stateful = true;
    return tl_stream__op_done(&a->base, init(a, plan, err), out);
}
