/*
 * SESSION windows: rows of one partition belong together until nothing comes for a gap. Rows wait until their session is over and
 * come out then, with its start, end and time. Source of the rules: Flink's UnalignedWindowTableFunctionOperator and
 * MergingWindowSet.
 *
 * A row's window is [time, time + gap]; it merges with every open session that it touches, ends included. A row is late if its
 * merged session is over already.
 *
 * By processing time a row's time is the clock's when it comes, and the watermark goes with the clock. Sessions of an earlier run are over
 * or went with it; what is open when the input ends gives nothing.
 */
#include "stream/array.h"
#include "stream/partitions.h"
#include "stream/row_buffer.h"
#include "stream/time_heap.h"

typedef struct session {
    int64_t start, end;
    tl_ref_list rows;
    struct partition *partition; /* NULL: merged into another one */
    struct session *next; /* of the partition, in no order */
} session;

typedef struct partition {
    session *first;
} partition;

typedef struct session_op {
    tl_op base;
    const tl_plan *plan;
    tl_map partitions;
    tl_row_buffer rows;
    tl_time_heap heap; /* every session, by its end as it was when it was put there */
    int64_t seen; /* the watermark up to which sessions have been closed */
    bool by_clock;
    int64_t now_ms; /* by_clock: of the batch at hand */
} session_op;

/* ---- sessions ---- */

static void session_free(session *one)
{
    tl_free(one->rows.refs);
    tl_free(one);
}

static void unlink_session(session *one)
{
    session **link = &one->partition->first;
    while (*link != one)
        link = &(*link)->next;
    *link = one->next;
}

/*
 * Every session has exactly one entry in the heap. When it grows, the entry stays with the old end and is put right when it comes
 * up; a session that was merged away stays, without rows, until its entry comes up.
 */
static tl_status merge(session *into, session *from)
{
    into->start = TL_MIN(into->start, from->start);
    into->end = TL_MAX(into->end, from->end);
    TL_TRY(tl_ref_list_add(&into->rows, from->rows.refs, from->rows.n));
    unlink_session(from);
    from->partition = NULL;
    from->rows.n = 0;
    return TL_OK;
}

static bool touches(const session *one, int64_t start, int64_t end)
{
    return one->start <= end && one->end >= start;
}

/* The session for a row at `time`; *out NULL: the row is late. */
static tl_status session_of(session_op *s, partition *p, int64_t time, int64_t watermark, session **out)
{
    int64_t start = time, end = time + s->plan->size_ms;
    session *found = NULL;
    *out = NULL;
    for (session *one = p->first, *next; one != NULL; one = next) {
        next = one->next;
        if (one->end - 1 <= watermark || !touches(one, start, end)) /* what is over comes out behind this batch */
            continue;
        if (found == NULL) {
            found = one;
            found->start = TL_MIN(found->start, start);
            found->end = TL_MAX(found->end, end);
        } else {
            TL_TRY(merge(found, one));
        }
    }
    if (found == NULL) {
        if (end - 1 <= watermark)
            return TL_OK;
        found = tl_calloc(1, sizeof *found);
        if (found == NULL)
            return TL_E_NOMEM;
        *found = (session){.start = start, .end = end, .partition = p, .next = p->first};
        if (tl_time_heap_push(&s->heap, end, found, TL_NO_ROW) != TL_OK) {
            tl_free(found);
            return TL_E_NOMEM;
        }
        p->first = found;
    }
    *out = found;
    return TL_OK;
}

/* ---- rows in ---- */

static tl_status add_batch(session_op *s, const tl_batch *batch, tl_error *err)
{
    TL_TRY(tl_stream__refuse_retractions(batch, "a SESSION window", err));
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_TRY(tl_stream__keys(batch, s->plan->window_partition, s->plan->n_window_partition, &keys, err));
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "sessions");
    const tl_column *time = batch->cols[s->plan->rowtime];
    uint32_t chunk;
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (s->by_clock || !tl_col_is_null(time, i))
            sel[n++] = (uint32_t)i;
    TL_TRY(tl_row_buffer_add(&s->rows, batch, sel, n, &chunk, err));
    for (int64_t k = 0; k < n; k++) {
        tl_rowref ref = {chunk, (uint32_t)k};
        session *one;
        partition *p = tl_partition_of(&s->partitions, keys, sel[k], sizeof *p);
        tl_status status = p == NULL ? TL_E_NOMEM : TL_OK;
        if (status == TL_OK)
            status = s->by_clock ? session_of(s, p, s->now_ms, s->seen, &one)
                                 : session_of(s, p, tl_col_i64(time, sel[k]), tl_stream__row_watermark(batch, sel[k], s->seen), &one);
        if (status == TL_OK && one != NULL)
            status = tl_ref_list_add(&one->rows, &ref, 1);
        if (status != TL_OK)
            return tl_nomem(err, "sessions");
        if (one == NULL)
            tl_row_buffer_release(&s->rows, ref);
    }
    return TL_OK;
}

/* ---- sessions out ---- */

/* Rows of all sessions that are over, sessions in order of their ends. */
typedef struct closing {
    tl_ref_list rows;
    int64_t *starts, *ends; /* per row */
    int64_t cap;
} closing;

static tl_status close_one(closing *c, const session *one)
{
    int64_t from = c->rows.n;
    TL_TRY(tl_ref_list_add(&c->rows, one->rows.refs, one->rows.n));
    if (c->rows.cap > c->cap) {
        TL_TRY(tl_array_resize(&c->starts, sizeof *c->starts, c->rows.cap));
        TL_TRY(tl_array_resize(&c->ends, sizeof *c->ends, c->rows.cap));
        c->cap = c->rows.cap;
    }
    for (int64_t i = from; i < c->rows.n; i++) {
        c->starts[i] = one->start;
        c->ends[i] = one->end;
    }
    return TL_OK;
}

static tl_status close_sessions(session_op *s, int64_t watermark, closing *c)
{
    while (s->heap.n > 0 && s->heap.entries[0].time - 1 <= watermark) {
        session *one = tl_time_heap_pop(&s->heap).owner;
        if (one->partition != NULL && one->end - 1 > watermark) { /* it has grown since */
            TL_TRY(tl_time_heap_push(&s->heap, one->end, one, TL_NO_ROW));
            continue;
        }
        tl_status status = TL_OK;
        if (one->partition != NULL) {
            unlink_session(one);
            status = close_one(c, one);
        }
        session_free(one);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status gather(session_op *s, const closing *c, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_CLEANUP(tl_freep) uint32_t *all = tl_alloc(sizeof *all * (size_t)(c->rows.n + 1));
    if (all == NULL)
        return tl_nomem(err, "sessions");
    bool is_local = s->base.inputs[0]->type->fields[s->plan->rowtime].type->kind == TL_TIMESTAMP_LTZ;
    for (int64_t i = 0; i < c->rows.n; i++) {
        all[i] = (uint32_t)i;
        if (is_local) {
            c->starts[i] = tl_sql_to_local_ms(&s->base.pipeline->env, c->starts[i]);
            c->ends[i] = tl_sql_to_local_ms(&s->base.pipeline->env, c->ends[i]);
        }
    }
    TL_TRY(tl_batch_create(s->base.inputs[0]->type, c->rows.n, &rows, err));
    TL_TRY(tl_row_buffer_gather(&s->rows, c->rows.refs, c->rows.n, NULL, s->base.inputs[0]->type->n_fields, rows, 0, err));
    TL_TRY(tl_stream__add_windows(s->base.pipeline, rows, all, c->starts, c->ends, c->rows.n, s->base.type, out, err));
    for (int64_t i = 0; i < c->rows.n; i++)
        tl_row_buffer_release(&s->rows, c->rows.refs[i]);
    return TL_OK;
}

static bool is_empty(const void *state)
{
    return ((const partition *)state)->first == NULL;
}

/* Partitions without an open session are forgotten once they are most of all. */
static tl_status forget_partitions(session_op *s, tl_error *err)
{
    if (s->partitions.count < 4096 || s->heap.n > s->partitions.count / 4)
        return TL_OK;
    return tl_partitions_forget(&s->partitions, is_empty, tl_free) == TL_OK ? TL_OK : tl_nomem(err, "sessions");
}

static tl_status compact(session_op *s, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(s->rows.alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "sessions");
    int64_t n = 0;
    for (size_t i = 0; i < s->heap.n; i++) {
        session *one = s->heap.entries[i].owner;
        for (int64_t k = 0; k < one->rows.n; k++)
            refs[n++] = &one->rows.refs[k];
    }
    return tl_row_buffer_compact(&s->rows, refs, n, err);
}

static tl_status advance(session_op *s, int64_t watermark, tl_batch **out, tl_error *err)
{
    closing c = {0};
    s->seen = watermark;
    tl_status status = close_sessions(s, watermark, &c);
    if (status != TL_OK)
        (void)tl_nomem(err, "sessions");
    if (status == TL_OK && c.rows.n > 0)
        status = gather(s, &c, out, err);
    tl_free(c.rows.refs);
    tl_free(c.starts);
    tl_free(c.ends);
    if (status == TL_OK && tl_row_buffer_is_sparse(&s->rows))
        status = compact(s, err);
    return status == TL_OK ? forget_partitions(s, err) : status;
}

static tl_status session_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    session_op *s = (session_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_TRY(tl_stream__take(op, &in, state, err));
    int64_t watermark = s->base.inputs[0]->watermark;
    if (s->by_clock) {
        s->now_ms = tl_stream__now_ms(op->pipeline);
        watermark = s->now_ms - 1;
    }
    if (in != NULL && !(s->by_clock && op->pipeline->replaying))
        TL_TRY(add_batch(s, in, err));
    if (watermark > s->seen)
        TL_TRY(advance(s, watermark, out, err));
    op->watermark = s->seen;
    if (*out != NULL)
        *state = TL_OP_ROWS;
    return TL_OK;
}

static void session_deinit(tl_op *op)
{
    session_op *s = (session_op *)op;
    for (size_t i = 0; i < s->heap.n; i++)
        session_free(s->heap.entries[i].owner);
    tl_free(s->heap.entries);
    tl_partitions_deinit(&s->partitions, tl_free);
    tl_row_buffer_deinit(&s->rows);
}

tl_status tl_stream__session(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {session_next, session_deinit};
    session_op *s = tl_stream__op_new(sizeof *s, &ops, pipeline, plan->type, input, NULL, err);
    if (s == NULL)
        return TL_E_NOMEM;
    s->plan = plan;
    s->seen = TL_WATERMARK_NONE;
    pipeline->stateful = true;
    tl_status status = tl_stream__window_check(pipeline, plan, &s->by_clock, err);
    if (status == TL_OK)
        status = tl_stream__need_insert_only(plan, "a SESSION window", err);
    return tl_stream__op_done(&s->base, status, out);
}
