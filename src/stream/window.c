/*
 * Window table functions with fixed bounds: TUMBLE, HOP, CUMULATE. Each row comes out once for each window that it belongs to, with
 * the window's start, end and time. No state: what the rows are late for is for those to say that work by window.
 * Source of the rules: Flink's AlignedWindowTableFunctionOperator and its window assigners.
 *
 * By processing time a row belongs to the window of now, and the clock is the watermark: a window that is open when the input ends
 * never closes.
 */
#include "stream/array.h"
#include "stream/op.h"

/* More windows a row are refused: a HOP of a day every second has 86,400. */
#define WINDOWS_PER_ROW_MAX 100000

typedef struct window_op {
    tl_op base;
    const tl_plan *plan;
    bool by_clock;
} window_op;

/* Output rows: which input row, and the window's bounds. */
typedef struct placed {
    uint32_t *rows;
    int64_t *starts, *ends;
    int64_t n, cap;
} placed;

static void placed_deinit(placed *p)
{
    tl_free(p->rows);
    tl_free(p->starts);
    tl_free(p->ends);
}

static tl_status place(placed *p, int64_t row, int64_t start, int64_t end)
{
    if (p->n == p->cap) {
        int64_t cap = tl_array_next_cap(p->cap, 4096);
        TL_TRY(tl_array_resize(&p->rows, sizeof *p->rows, cap));
        TL_TRY(tl_array_resize(&p->starts, sizeof *p->starts, cap));
        TL_TRY(tl_array_resize(&p->ends, sizeof *p->ends, cap));
        p->cap = cap;
    }
    p->rows[p->n] = (uint32_t)row;
    p->starts[p->n] = start;
    p->ends[p->n++] = end;
    return TL_OK;
}

/* Start of the window of `size` that holds `time`. Wraps for times near the ends of 64 bits, as Flink's does. */
static int64_t start_of(int64_t time, int64_t offset, int64_t size)
{
    int64_t rest = (int64_t)((uint64_t)time - (uint64_t)offset) % size;
    return (int64_t)((uint64_t)time - (uint64_t)(rest < 0 ? rest + size : rest));
}

static int64_t later(int64_t time, int64_t by)
{
    return (int64_t)((uint64_t)time + (uint64_t)by);
}

static tl_status place_row(const tl_plan *plan, placed *p, int64_t row, int64_t time)
{
    if (plan->window == TL_WINDOW_TUMBLE) {
        int64_t start = start_of(time, plan->offset_ms, plan->size_ms);
        return place(p, row, start, later(start, plan->size_ms));
    }
    if (plan->window == TL_WINDOW_HOP) {
        int64_t last = start_of(time, plan->offset_ms, plan->slide_ms), n = (plan->size_ms - later(time, -last) + plan->slide_ms - 1) / plan->slide_ms;
        for (int64_t k = 0; k < n; k++) {
            int64_t start = later(last, -k * plan->slide_ms);
            TL_TRY(place(p, row, start, later(start, plan->size_ms)));
        }
        return TL_OK;
    }
    int64_t start = start_of(time, plan->offset_ms, plan->size_ms), into = later(time, -start);
    for (int64_t length = (into / plan->slide_ms + 1) * plan->slide_ms; length <= plan->size_ms; length += plan->slide_ms)
        TL_TRY(place(p, row, start, later(start, length)));
    return TL_OK;
}

static tl_status place_rows(const window_op *w, const tl_batch *batch, int64_t now, placed *p)
{
    const tl_column *time = batch->cols[w->plan->rowtime];
    bool is_local = time->type->kind == TL_TIMESTAMP_LTZ; /* windows begin at local times, as people's days do */
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (!w->by_clock && tl_col_is_null(time, i)) /* rows without a time are dropped */
            continue;
        int64_t at = w->by_clock ? now : tl_col_i64(time, i);
        TL_TRY(place_row(w->plan, p, i, is_local ? tl_sql_to_local_ms(&w->base.pipeline->env, at) : at));
    }
    return TL_OK;
}

static tl_status times_column(const tl_type *type, const int64_t *values, int64_t n, int64_t add, tl_column **out, tl_error *err)
{
    TL_TRY(tl_column_alloc(type, n, out, err));
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)(*out)->values)[i] = values[i] + add;
    return TL_OK;
}

tl_status tl_stream__add_windows(const tl_pipeline *pipeline, const tl_batch *in, const uint32_t *rows, const int64_t *starts, const int64_t *ends,
                                 int64_t n, const tl_type *type, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *placed_rows = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_gather(in, rows, n, &placed_rows, err));
    TL_TRY(tl_batch_create(type, n, &result, err));
    for (int32_t c = 0; c < in->n_cols; c++)
        TL_TRY(tl_column_retype(placed_rows->cols[c], type->fields[c].type, &result->cols[c], err));
    TL_TRY(times_column(type->fields[in->n_cols].type, starts, n, 0, &result->cols[in->n_cols], err));
    TL_TRY(times_column(type->fields[in->n_cols + 1].type, ends, n, 0, &result->cols[in->n_cols + 1], err));
    TL_TRY(times_column(type->fields[in->n_cols + 2].type, ends, n, -1, &result->cols[in->n_cols + 2], err));
    if (type->fields[in->n_cols + 2].type->kind == TL_TIMESTAMP_LTZ) /* an instant; the bounds are local times */
        for (int64_t i = 0; i < n; i++) {
            int64_t *time = &((int64_t *)result->cols[in->n_cols + 2]->values)[i];
            *time = tl_sql_to_utc_ms(&pipeline->env, *time);
        }
    result->row_kind = TL_STEAL(placed_rows->row_kind);
    result->seq = TL_STEAL(placed_rows->seq);
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status window_batch(window_op *w, const tl_batch *in, int64_t now, tl_batch **out, tl_error *err)
{
    placed p = {0};
    tl_status status = place_rows(w, in, now, &p);
    if (status != TL_OK)
        (void)tl_nomem(err, "windows");
    if (status == TL_OK)
        status = tl_stream__add_windows(w->base.pipeline, in, p.rows, p.starts, p.ends, p.n, w->base.type, out, err);
    placed_deinit(&p);
    return status;
}

static tl_status window_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    window_op *w = (window_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_TRY(tl_stream__take(op, &in, state, err));
    int64_t now = 0;
    if (w->by_clock)
        now = tl_stream__now_ms(op->pipeline);
    /* Windows of an earlier run's clock have closed, or went with it. */
    bool skip = in == NULL || (w->by_clock && op->pipeline->replaying);
    if (!skip)
        TL_TRY(window_batch(w, in, now, out, err));
    op->watermark = w->by_clock ? now - 1 : op->inputs[0]->watermark;
    return TL_OK;
}

tl_status tl_stream__window_check(tl_pipeline *pipeline, const tl_plan *plan, bool *by_clock, tl_error *err)
{
    uint8_t attr = plan->inputs[0]->time_attr[plan->rowtime];
    if (attr == TL_TIME_NONE)
        return tl_error_set(err, TL_E_INVALID,
                            "line %d:%d: The window function requires the timecol '%s' is a time attribute type: a column with a WATERMARK, or PROCTIME()",
                            (int)plan->line, (int)plan->position, plan->inputs[0]->type->fields[plan->rowtime].name);
    if (plan->slide_ms > 0 && plan->size_ms / plan->slide_ms > WINDOWS_PER_ROW_MAX)
        return tl_error_set(err, TL_E_LIMIT, "line %d:%d: a row would belong to %lld windows; at most %d are possible", (int)plan->line,
                            (int)plan->position, (long long)(plan->size_ms / plan->slide_ms),
                            WINDOWS_PER_ROW_MAX);
    *by_clock = attr == TL_TIME_PROCTIME;
    pipeline->event_time = true;
    return TL_OK;
}

tl_status tl_stream__window(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {window_next, NULL};
    window_op *w = tl_stream__op_new(sizeof *w, &ops, pipeline, plan->type, input, NULL, err);
    if (w == NULL)
        return TL_E_NOMEM;
    w->plan = plan;
    return tl_stream__op_done(&w->base, tl_stream__window_check(pipeline, plan, &w->by_clock, err), out);
}
