/*
 * TUMBLE windows whose offset is no multiple of their size, in front of their aggregation: which rows Flink loses.
 *
 * Flink's window aggregation has two stages, and each keeps rows in a buffer that is emptied only when time passes a multiple of the
 * size, counted without the offset, and only if a window in the buffer is over by then. What is over already when it comes
 * to the second stage, or out of its buffer, is dropped. Without an offset buffers are emptied at the ends of windows, in time for
 * all rows, and there is nothing to do. Source: LocalSlicingWindowAggOperator, AbstractSliceWindowAggProcessor, GlobalAggCombiner;
 * the recorded job `windows`. HOP and CUMULATE with such an offset lose rows in Flink, too, in ways that hang on its timers; here
 * their rows are late by the windows alone.
 */
#include "stream/array.h"
#include "stream/keys.h"
#include "stream/row_buffer.h"

typedef struct stage {
    tl_ref_list rows;
    int64_t first_end; /* of the windows in it */
} stage;

typedef struct slice_op {
    tl_op base;
    int32_t window_end;
    int64_t interval;
    tl_row_buffer rows;
    stage stages[2];
    int64_t watermark, next_flush;
    tl_ref_list out;
    int64_t *out_marks; /* the watermark that decides what of `out` is late */
    int64_t cap_marks;
} slice_op;

static int64_t end_of(const slice_op *s, tl_rowref ref)
{
    return tl_col_i64(tl_row_buffer_column(&s->rows, ref, s->window_end), ref.row);
}

static tl_status put(const slice_op *s, stage *to, tl_rowref ref)
{
    int64_t end = end_of(s, ref);
    to->first_end = to->rows.n == 0 ? end : TL_MIN(to->first_end, end);
    return tl_ref_list_add(&to->rows, &ref, 1);
}

static tl_status give(slice_op *s, tl_rowref ref)
{
    TL_TRY(tl_ref_list_add(&s->out, &ref, 1));
    if (s->out.cap > s->cap_marks) {
        TL_TRY(tl_array_resize(&s->out_marks, sizeof *s->out_marks, s->out.cap));
        s->cap_marks = s->out.cap;
    }
    s->out_marks[s->out.n - 1] = s->watermark;
    return TL_OK;
}

static int64_t next_flush(const slice_op *s, int64_t watermark)
{
    if (watermark == TL_WATERMARK_END)
        return watermark;
    int64_t rest = watermark % s->interval, at = watermark - (rest < 0 ? rest + s->interval : rest) + s->interval - 1;
    return at > watermark ? at : at + s->interval;
}

/* Time moves on: s->watermark is still what it was before. */
static tl_status advance(slice_op *s, int64_t watermark)
{
    stage *first = &s->stages[0], *second = &s->stages[1];
    if (watermark >= s->next_flush) {
        if (first->rows.n > 0 && first->first_end - 1 <= watermark) {
            for (int64_t i = 0; i < first->rows.n; i++) {
                if (end_of(s, first->rows.refs[i]) - 1 > s->watermark)
                    TL_TRY(put(s, second, first->rows.refs[i]));
                else
                    tl_row_buffer_release(&s->rows, first->rows.refs[i]);
            }
            first->rows.n = 0;
        }
        if (second->rows.n > 0 && second->first_end - 1 <= watermark) {
            for (int64_t i = 0; i < second->rows.n; i++)
                TL_TRY(give(s, second->rows.refs[i]));
            second->rows.n = 0;
        }
        s->next_flush = next_flush(s, watermark);
    }
    s->watermark = watermark;
    return TL_OK;
}

static tl_status add_batch(slice_op *s, const tl_batch *batch, tl_error *err)
{
    uint32_t chunk;
    TL_TRY(tl_row_buffer_add_all(&s->rows, batch, &chunk, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        int64_t mark = tl_stream__row_watermark(batch, i, s->watermark);
        tl_status status = mark > s->watermark ? advance(s, mark) : TL_OK;
        if (status == TL_OK)
            status = put(s, &s->stages[0], (tl_rowref){chunk, (uint32_t)i});
        if (status != TL_OK)
            return tl_nomem(err, "windows");
    }
    return TL_OK;
}

static tl_status gather(slice_op *s, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    int64_t n = s->out.n;
    TL_TRY(tl_batch_create(s->base.type, n, &result, err));
    TL_TRY(tl_row_buffer_gather(&s->rows, s->out.refs, n, NULL, s->base.type->n_fields, result, 0, err));
    result->seq = tl_memdup(s->out_marks, sizeof *s->out_marks * (size_t)n);
    if (result->seq == NULL)
        return tl_nomem(err, "watermarks");
    for (int64_t i = 0; i < n; i++)
        tl_row_buffer_release(&s->rows, s->out.refs[i]);
    s->out.n = 0;
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status compact(slice_op *s, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(s->rows.alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "windows");
    int64_t n = 0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < s->stages[k].rows.n; i++)
            refs[n++] = &s->stages[k].rows.refs[i];
    return tl_row_buffer_compact(&s->rows, refs, n, err);
}

static tl_status slice_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    slice_op *s = (slice_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_TRY(tl_stream__take(op, &in, state, err));
    if (in != NULL)
        TL_TRY(add_batch(s, in, err));
    if (s->base.inputs[0]->watermark > s->watermark && advance(s, s->base.inputs[0]->watermark) != TL_OK)
        return tl_nomem(err, "windows");
    op->watermark = s->watermark;
    if (s->out.n == 0)
        return TL_OK;
    TL_TRY(gather(s, out, err));
    *state = TL_OP_ROWS;
    return tl_row_buffer_is_sparse(&s->rows) ? compact(s, err) : TL_OK;
}

static void slice_deinit(tl_op *op)
{
    slice_op *s = (slice_op *)op;
    for (int k = 0; k < 2; k++)
        tl_free(s->stages[k].rows.refs);
    tl_free(s->out.refs);
    tl_free(s->out_marks);
    tl_row_buffer_deinit(&s->rows);
}

/* The WINDOW node whose windows an aggregation goes by, if only filters and projections are between. */
static const tl_plan *window_below(const tl_plan *plan)
{
    while (plan->kind == TL_PLAN_PROJECT || plan->kind == TL_PLAN_FILTER)
        plan = plan->inputs[0];
    return plan->kind == TL_PLAN_WINDOW ? plan : NULL;
}

tl_status tl_stream__slice_buffer(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {slice_next, slice_deinit};
    const tl_plan *window = window_below(plan->inputs[0]);
    *out = input;
    if (window == NULL || window->window != TL_WINDOW_TUMBLE || !tl_stream__insert_only(plan->inputs[0]) || plan->window_is_local)
        return TL_OK;
    if (window->offset_ms % window->size_ms == 0)
        return TL_OK;
    slice_op *s = tl_stream__op_new(sizeof *s, &ops, pipeline, input->type, input, NULL, err);
    if (s == NULL)
        return TL_E_NOMEM;
    s->window_end = plan->window_end;
    s->interval = window->size_ms;
    s->watermark = TL_WATERMARK_NONE;
    s->next_flush = TL_WATERMARK_NONE;
    pipeline->stateful = true;
    *out = &s->base;
    return TL_OK;
}
