/*
 * OVER aggregation: each row gets what its partition's rows up to it come to. By event time rows wait until the watermark has
 * reached them and are taken in order of their time; by processing time they come in their own order. Source of the rules: Flink's
 * RowTimeRangeBoundedPrecedingFunction, RowTimeRowsBoundedPrecedingFunction, AbstractRowTimeUnboundedPrecedingOver and ProcTime….
 *
 * Late rows: without a lower bound those at or below the watermark; with one those at or below the partition's last time that was
 * computed. Time begins at 0 there: rows before 1970 are late. With a lower bound by range a partition to which nothing has come for one and a
 * half times the frame is forgotten, last time and all; a look at it that comes too early counts as a time that was computed (cleanup below).
 *
 * Memory: rows that wait and, with a lower bound, rows in the frame; one set of accumulators per partition.
 */
#include "stream/accumulate.h"
#include "stream/array.h"
#include "stream/partitions.h"
#include "stream/row_buffer.h"
#include "stream/time_heap.h"

typedef struct framed_row {
    int64_t time;
    tl_rowref row;
} framed_row;

typedef struct partition {
    framed_row *frame; /* rows that the accumulators hold or LAG looks back at, oldest first, from `first` on */
    int64_t first, n, cap;
    int64_t last; /* time that was computed last; bounded frames by event time only */
    int64_t count; /* rows so far: ROW_NUMBER, and by range both ranks, as Flink's do not see that times are equal */
    int64_t cleanup; /* when the partition is forgotten unless more comes; 0: not known. Frames by range of event time only */
    tl_accumulator acc[];
} partition;

typedef struct over_op {
    tl_op base;
    const tl_over *over;
    tl_acc_calls calls;
    bool by_clock, by_rows;
    bool bounded;     /* the frame has a lower bound: rows leave it again */
    bool by_count;    /* rows are kept by their number: a frame by rows, or LAG */
    int64_t kept;     /* so many before the current one */
    int32_t time_column;
    tl_map partitions;
    tl_row_buffer rows;
    tl_acc_input **inputs; /* per chunk of rows */
    uint32_t cap_inputs;
    tl_time_heap waiting; /* owner: the partition */
    int64_t seen;
    tl_ref_list out, gone; /* rows to give, rows to let go behind them */
    tl_builder **results;
} over_op;

/* ---- one partition ---- */

static tl_status frame_push(partition *p, framed_row row)
{
    TL_TRY(tl_queue_fit(&p->frame, sizeof *p->frame, &p->first, p->n, &p->cap));
    p->frame[p->first + p->n++] = row;
    return TL_OK;
}

static tl_status accumulate(over_op *o, partition *p, tl_rowref row, int64_t delta)
{
    return tl_acc_add(&o->calls, p->acc, o->inputs[row.src], row.row, delta);
}

static tl_status frame_pop(over_op *o, partition *p)
{
    framed_row old = p->frame[p->first++];
    p->n--;
    if (o->bounded)
        TL_TRY(accumulate(o, p, old.row, -1));
    return tl_ref_list_add(&o->gone, &old.row, 1);
}

/* The row comes into the frame and what is too old leaves it. */
static tl_status enter(over_op *o, partition *p, int64_t time, tl_rowref row)
{
    p->count++;
    while (o->by_count ? p->n > o->kept : o->bounded && p->n > 0 && p->frame[p->first].time < time + o->over->from)
        TL_TRY(frame_pop(o, p));
    TL_TRY(accumulate(o, p, row, 1));
    return o->bounded || o->by_count ? frame_push(p, (framed_row){time, row}) : TL_OK;
}

static tl_status append_lag(over_op *o, const partition *p, const tl_agg_call *call, tl_rowref row, tl_builder *builder)
{
    int64_t at = p->n - 1 - call->number;
    if (at >= 0) {
        tl_rowref back = p->frame[p->first + at].row;
        return tl_builder_copy(builder, tl_row_buffer_column(&o->rows, back, call->args[0]), back.row);
    }
    return call->n_args > 1 ? tl_builder_copy(builder, tl_row_buffer_column(&o->rows, row, call->args[1]), row.row) : tl_builder_null(builder);
}

static tl_status give(over_op *o, partition *p, tl_rowref row, tl_error *err)
{
    for (int32_t c = 0; c < o->calls.n; c++) {
        const tl_agg_call *call = &o->calls.calls[c];
        if (call->kind == TL_AGG_ROW_NUMBER || call->kind == TL_AGG_RANK || call->kind == TL_AGG_DENSE_RANK)
            TL_TRY(tl_builder_int(o->results[c], p->count));
        else if (call->kind == TL_AGG_LAG)
            TL_TRY(append_lag(o, p, call, row, o->results[c]));
        else
            TL_TRY(tl_acc_append(&o->calls, c, &p->acc[c], o->results[c], err));
    }
    TL_TRY(tl_ref_list_add(&o->out, &row, 1));
    return o->bounded || o->by_count ? TL_OK : tl_ref_list_add(&o->gone, &row, 1);
}

static partition *partition_of(over_op *o, const tl_keys *keys, int64_t i)
{
    return tl_partition_of(&o->partitions, keys, i, sizeof(partition) + sizeof(tl_accumulator) * (size_t)o->calls.n);
}

/* ---- time ---- */

/* An entry of the heap that is no row, but the time at which a partition may be forgotten. */
static const tl_rowref cleanup_mark = {UINT32_MAX, UINT32_MAX};

static bool is_cleanup(const tl_time_entry *entry)
{
    return entry->row.src == UINT32_MAX;
}

static tl_status plan_cleanup(over_op *o, partition *p, int64_t time)
{
    int64_t offset = -o->over->from;
    if (!o->bounded || o->by_count || (p->cleanup != 0 && p->cleanup >= time + offset + 1))
        return TL_OK;
    p->cleanup = time + (int64_t)((double)offset * 1.5) + 1;
    return tl_time_heap_push(&o->waiting, p->cleanup, p, cleanup_mark);
}

static tl_status cleanup(over_op *o, partition *p, int64_t time)
{
    if (p->cleanup > time) {
        p->last = time;
        return TL_OK;
    }
    while (p->n > 0) {
        p->n--;
        TL_TRY(tl_ref_list_add(&o->gone, &p->frame[p->first++].row, 1));
    }
    tl_acc_deinit(&o->calls, p->acc);
    memset(p->acc, 0, sizeof *p->acc * (size_t)o->calls.n);
    p->last = p->count = p->cleanup = 0;
    return TL_OK;
}

/* Rows of one time: with a frame by range all of them count for each. */
static tl_status compute_time(over_op *o, const tl_time_entry *rows, size_t n, tl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        partition *p = rows[i].owner;
        if (is_cleanup(&rows[i])) {
            TL_TRY(cleanup(o, p, rows[i].time));
            continue;
        }
        TL_TRY(enter(o, p, rows[i].time, rows[i].row));
        p->last = rows[i].time;
        if (o->by_rows)
            TL_TRY(give(o, p, rows[i].row, err));
    }
    for (size_t i = 0; i < n && !o->by_rows; i++)
        if (!is_cleanup(&rows[i]))
            TL_TRY(give(o, rows[i].owner, rows[i].row, err));
    return TL_OK;
}

static tl_status advance(over_op *o, int64_t watermark, tl_error *err)
{
    tl_time_entry *group = NULL;
    size_t n = 0, cap = 0;
    tl_status status = TL_OK;
    o->seen = watermark;
    while (status == TL_OK && tl_time_heap_is_due(&o->waiting, watermark)) {
        tl_time_entry w = tl_time_heap_pop(&o->waiting);
        if (n > 0 && group[0].time != w.time) {
            status = compute_time(o, group, n, err);
            n = 0;
        }
        if (n == cap) {
            cap = cap == 0 ? 64 : cap * 2;
            tl_time_entry *grown = tl_realloc(group, cap * sizeof *grown);
            if (grown == NULL) {
                status = TL_E_NOMEM;
                break;
            }
            group = grown;
        }
        group[n++] = w;
    }
    if (status == TL_OK && n > 0)
        status = compute_time(o, group, n, err);
    tl_free(group);
    return status;
}

/* ---- rows in ---- */

static tl_status keep_inputs(over_op *o, uint32_t chunk, tl_error *err)
{
    if (chunk >= o->cap_inputs) {
        uint32_t cap = TL_MAX(chunk + 1, o->cap_inputs * 2);
        tl_acc_input **grown = tl_realloc(o->inputs, sizeof *grown * cap);
        if (grown == NULL)
            return tl_nomem(err, "OVER");
        memset(grown + o->cap_inputs, 0, sizeof *grown * (cap - o->cap_inputs));
        o->inputs = grown;
        o->cap_inputs = cap;
    }
    return tl_acc_inputs_create(&o->calls, o->rows.chunks[chunk], &o->inputs[chunk], err);
}

static bool is_late(const over_op *o, const partition *p, int64_t time)
{
    return time <= (o->bounded ? p->last : o->seen);
}

static tl_status add_row(over_op *o, const tl_batch *batch, const tl_keys *keys, int64_t i, int64_t now, tl_rowref row, tl_error *err)
{
    int64_t mark = tl_stream__row_watermark(batch, i, o->seen);
    if (mark > o->seen && !o->by_clock)
        TL_TRY(advance(o, mark, err));
    partition *p = partition_of(o, keys, i);
    if (p == NULL)
        return TL_E_NOMEM;
    const tl_column *time = batch->cols[o->time_column];
    if (o->by_clock) {
        TL_TRY(enter(o, p, now, row));
        return o->by_rows || !o->bounded ? give(o, p, row, err) : TL_OK;
    }
    if (tl_col_is_null(time, i) || is_late(o, p, tl_col_i64(time, i)))
        return tl_ref_list_add(&o->gone, &row, 1);
    TL_TRY(plan_cleanup(o, p, tl_col_i64(time, i)));
    return tl_time_heap_push(&o->waiting, tl_col_i64(time, i), p, row);
}

static tl_status add_batch(over_op *o, const tl_batch *batch, tl_error *err)
{
    TL_TRY(tl_stream__refuse_retractions(batch, "OVER aggregation", err));
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_TRY(tl_stream__keys(batch, o->over->partition, o->over->n_partition, &keys, err));
    uint32_t chunk;
    int64_t now = o->by_clock ? tl_stream__now_ms(o->base.pipeline) : 0;
    TL_TRY(tl_row_buffer_add_all(&o->rows, batch, &chunk, err));
    TL_TRY(keep_inputs(o, chunk, err));
    for (int64_t i = 0; i < batch->n_rows; i++)
        TL_TRY(add_row(o, batch, keys, i, now, (tl_rowref){chunk, (uint32_t)i}, err));
    if (!o->by_clock || o->by_rows || !o->bounded)
        return TL_OK;
    for (int64_t i = 0; i < batch->n_rows; i++) { /* a frame by range of the clock: the batch's rows have one time */
        partition *p = partition_of(o, keys, i);
        if (p == NULL)
            return TL_E_NOMEM;
        TL_TRY(give(o, p, (tl_rowref){chunk, (uint32_t)i}, err));
    }
    return TL_OK;
}

/* ---- rows out ---- */

static void release(over_op *o, tl_rowref row)
{
    bool last = o->rows.live[row.src] == 1;
    tl_row_buffer_release(&o->rows, row);
    if (last) {
        tl_acc_inputs_free(o->inputs[row.src], o->calls.n);
        o->inputs[row.src] = NULL;
    }
}

static tl_status gather(over_op *o, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    int32_t n_input = o->base.inputs[0]->type->n_fields;
    TL_TRY(tl_batch_create(o->base.type, o->out.n, &result, err));
    TL_TRY(tl_row_buffer_gather(&o->rows, o->out.refs, o->out.n, NULL, n_input, result, 0, err));
    TL_TRY(tl_stream__builders_finish(o->results, o->calls.n, result->cols + n_input, err));
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status compact(over_op *o, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(o->rows.alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "OVER");
    int64_t n = 0;
    for (size_t i = 0; i < o->waiting.n; i++)
        if (!is_cleanup(&o->waiting.entries[i]))
            refs[n++] = &o->waiting.entries[i].row;
    size_t pos = 0;
    void *value;
    while (tl_map_next(&o->partitions, &pos, NULL, &value)) {
        partition *p = value;
        for (int64_t i = 0; i < p->n; i++)
            refs[n++] = &p->frame[p->first + i].row;
    }
    for (uint32_t i = 0; i < o->cap_inputs; i++) {
        tl_acc_inputs_free(o->inputs[i], o->calls.n);
        o->inputs[i] = NULL;
    }
    TL_TRY(tl_row_buffer_compact(&o->rows, refs, n, err));
    for (uint32_t i = 0; i < o->rows.n; i++)
        if (o->rows.chunks[i] != NULL)
            TL_TRY(keep_inputs(o, i, err));
    return TL_OK;
}

static tl_status over_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    over_op *o = (over_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_TRY(tl_stream__take(op, &in, state, err));
    tl_status status = in != NULL ? add_batch(o, in, err) : TL_OK;
    /* In a pause also rows that came behind the watermark: at a commit nothing that could be given still waits. */
    if (status == TL_OK && !o->by_clock && (o->base.inputs[0]->watermark > o->seen || *state != TL_OP_ROWS))
        status = advance(o, TL_MAX(o->seen, o->base.inputs[0]->watermark), err);
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "OVER");
    TL_TRY(status);
    op->watermark = o->by_clock ? o->base.inputs[0]->watermark : o->seen;
    if (o->out.n > 0) {
        TL_TRY(gather(o, out, err));
        *state = TL_OP_ROWS;
    }
    for (int64_t i = 0; i < o->gone.n; i++)
        release(o, o->gone.refs[i]);
    o->out.n = o->gone.n = 0;
    return tl_row_buffer_is_sparse(&o->rows) ? compact(o, err) : TL_OK;
}

static void over_deinit(tl_op *op)
{
    over_op *o = (over_op *)op;
    size_t pos = 0;
    void *value;
    while (tl_map_next(&o->partitions, &pos, NULL, &value)) {
        partition *p = value;
        tl_acc_deinit(&o->calls, p->acc);
        tl_free(p->frame);
        tl_free(p);
    }
    tl_map_deinit(&o->partitions);
    for (uint32_t i = 0; i < o->cap_inputs; i++)
        tl_acc_inputs_free(o->inputs[i], o->calls.n);
    tl_free(o->inputs);
    tl_row_buffer_deinit(&o->rows);
    tl_stream__builders_free(o->results, o->calls.n);
    tl_free(o->waiting.entries);
    tl_free(o->out.refs);
    tl_free(o->gone.refs);
}

/* ---- what OVER may be ---- */

static tl_status unsupported(const tl_over *over, const char *what, tl_error *err)
{
    int line = over->n_calls > 0 ? (int)over->calls[0].line : 0, position = over->n_calls > 0 ? (int)over->calls[0].position : 0;
    return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: OVER over a stream: %s", line, position, what);
}

/* ROW_NUMBER goes row by row whatever the frame; LAG, RANK by range: of rows of one time the last one looks back for all. */
static tl_status check_calls(over_op *o, tl_error *err)
{
    int32_t numbers = 0, lags = 0, ranks = 0;
    for (int32_t i = 0; i < o->calls.n; i++) {
        const tl_agg_call *call = &o->calls.calls[i];
        if (call->kind == TL_AGG_ROW_NUMBER) {
            numbers++;
        } else if (call->kind == TL_AGG_LAG) {
            lags++;
            o->kept = TL_MAX(o->kept, call->number);
            o->by_count = true;
        } else if ((call->kind == TL_AGG_RANK || call->kind == TL_AGG_DENSE_RANK) && !o->by_clock) {
            ranks++;
        } else if (call->kind > TL_AGG_ROW_NUMBER) {
            return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: %s over a stream is not supported; ROW_NUMBER with a bound on it is", (int)call->line,
                                (int)call->position, tl_agg_name(call->kind));
        }
    }
    if ((numbers > 0 && numbers < o->calls.n) || (lags + ranks > 0 && o->bounded))
        return unsupported(o->over, "all aggregates must be computed on the same window: ROW_NUMBER has one of rows, LAG and RANK one without bounds", err);
    o->by_rows |= numbers > 0;
    return numbers + lags + ranks > 0 ? TL_OK : tl_acc_check(&o->calls, err);
}

static tl_status init(over_op *o, const tl_plan *plan, tl_error *err)
{
    const tl_over *over = &plan->over[0];
    if (plan->n_over != 1)
        return unsupported(over, "all aggregates must be computed on the same window", err);
    if (over->n_order != 1 || over->order[0].descending || plan->inputs[0]->time_attr[over->order[0].column] == TL_TIME_NONE)
        return unsupported(over, "the window must be ordered by one time attribute, ascending: a column with a WATERMARK, or PROCTIME()", err);
    if (over->to != 0)
        return unsupported(over, "the frame must end at CURRENT ROW", err);
    if (over->from != TL_FRAME_UNBOUNDED_PRECEDING && over->from > 0)
        return unsupported(over, "the frame must begin at a PRECEDING row or CURRENT ROW", err);
    TL_TRY(tl_stream__need_insert_only(plan, "OVER aggregation", err));
    o->over = over;
    o->by_clock = plan->inputs[0]->time_attr[over->order[0].column] == TL_TIME_PROCTIME;
    o->time_column = over->order[0].column;
    o->bounded = over->from != TL_FRAME_UNBOUNDED_PRECEDING;
    o->by_rows = over->frame == TL_FRAME_ROWS;
    o->by_count = o->bounded && o->by_rows;
    o->kept = o->by_count ? -over->from : 0;
    o->calls = (tl_acc_calls){over->calls, over->n_calls, o->base.inputs[0]->type, false};
    TL_TRY(check_calls(o, err));
    o->calls.insert_only = !o->bounded;
    if (!o->by_clock)
        o->base.pipeline->event_time = true;
    return tl_stream__builders(plan->type, o->base.inputs[0]->type->n_fields, o->calls.n, &o->results, err);
}

tl_status tl_stream__over(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {over_next, over_deinit};
    over_op *o = tl_stream__op_new(sizeof *o, &ops, pipeline, plan->type, input, NULL, err);
    if (o == NULL)
        return TL_E_NOMEM;
    o->seen = TL_WATERMARK_NONE;
    pipeline->stateful = true;
    return tl_stream__op_done(&o->base, init(o, plan, err), out);
}
