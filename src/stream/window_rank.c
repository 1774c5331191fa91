/*
 * Rankings by window: the first rows of each partition of a window, given once when time has passed the window's end. Rows for a
 * window that is over are dropped. Source of the rules: Flink's WindowRankOperator and WindowDeduplicateOperator.
 *
 * Memory: the ranked rows of all open windows.
 */
#include "stream/array.h"
#include "stream/partitions.h"
#include "stream/ranking.h"
#include "stream/time_list.h"

typedef struct window_rank_op {
    tl_op base;
    const tl_plan *plan;
    tl_rank_order order;
    tl_row_buffer rows;
    tl_time_list ends; /* of each open end its partitions: a tl_partition_list of tl_ranking */
    int64_t limit;
    int64_t seen;
} window_rank_op;

static void end_free(tl_partition_list *w)
{
    for (int64_t i = 0; i < w->n; i++) {
        tl_free(((tl_ranking *)w->states[i])->rows);
        tl_free(w->states[i]);
    }
    tl_partition_list_deinit(w);
    tl_free(w);
}

static tl_ranking *ranking_of(window_rank_op *r, int64_t end, tl_bytes_view key)
{
    tl_partition_list *w = tl_time_list_at(&r->ends, end, sizeof *w);
    return w == NULL ? NULL : tl_partition_list_at(w, key, sizeof(tl_ranking));
}

static tl_status add_row(window_rank_op *r, tl_ranking *ranking, tl_rowref row)
{
    tl_rowref dropped;
    bool has_dropped;
    TL_TRY(tl_ranking_insert(&r->order, ranking, row, r->limit, &dropped, &has_dropped));
    if (has_dropped)
        tl_row_buffer_release(&r->rows, dropped);
    return TL_OK;
}

/* Rows that are not late; retractions among them find their rows by value. */
static tl_status add_batch(window_rank_op *r, const tl_batch *batch, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_TRY(tl_stream__keys(batch, r->plan->over[0].partition, r->plan->over[0].n_partition, &keys, err));
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "ranking");
    const tl_column *ends = batch->cols[r->plan->window_end];
    int64_t n = 0, added = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (!tl_kind_is_retract(tl_batch_kind(batch, i)) && tl_stream__end_of(&r->base, r->plan, ends, i) - 1 > tl_stream__row_watermark(batch, i, r->seen))
            sel[n++] = (uint32_t)i;
    uint32_t chunk;
    TL_TRY(tl_row_buffer_add(&r->rows, batch, sel, n, &chunk, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        bool adds = added < n && sel[added] == (uint32_t)i;
        if (!adds && (!tl_kind_is_retract(tl_batch_kind(batch, i)) || tl_stream__end_of(&r->base, r->plan, ends, i) - 1 <= r->seen))
            continue;
        tl_rowref removed;
        tl_key_space space;
        tl_ranking *ranking = ranking_of(r, tl_stream__end_of(&r->base, r->plan, ends, i), tl_stream__key(keys, i, &space));
        tl_status status = ranking == NULL ? TL_E_NOMEM : TL_OK;
        if (status == TL_OK && adds)
            status = add_row(r, ranking, (tl_rowref){chunk, (uint32_t)added++});
        else if (status == TL_OK && tl_ranking_remove(&r->order, ranking, batch, i, &removed))
            tl_row_buffer_release(&r->rows, removed);
        if (status != TL_OK)
            return tl_nomem(err, "ranking");
    }
    return TL_OK;
}

typedef struct result {
    tl_ref_list rows;
    int64_t *ranks;
    int64_t cap;
} result;

static tl_status list_rows(const window_rank_op *r, const tl_partition_list *w, result *out)
{
    for (int64_t i = 0; i < w->n; i++) {
        const tl_ranking *ranking = w->states[i];
        for (int64_t rank = r->plan->rank_from; rank <= TL_MIN(ranking->n, r->plan->rank_to); rank++) {
            TL_TRY(tl_ref_list_add(&out->rows, &ranking->rows[rank - 1], 1));
            if (out->rows.cap > out->cap) {
                TL_TRY(tl_array_resize(&out->ranks, sizeof *out->ranks, out->rows.cap));
                out->cap = out->rows.cap;
            }
            out->ranks[out->rows.n - 1] = rank;
        }
    }
    return TL_OK;
}

static tl_status compact(window_rank_op *r, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(r->rows.alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "ranking");
    int64_t n = 0;
    for (size_t i = 0; i < r->ends.n; i++) {
        const tl_partition_list *w = r->ends.items[i].value;
        for (int64_t k = 0; k < w->n; k++) {
            tl_ranking *ranking = w->states[k];
            for (int64_t row = 0; row < ranking->n; row++)
                refs[n++] = &ranking->rows[row];
        }
    }
    return tl_row_buffer_compact(&r->rows, refs, n, err);
}

static void forget_windows(window_rank_op *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tl_partition_list *w = r->ends.items[i].value;
        for (int64_t k = 0; k < w->n; k++) {
            const tl_ranking *ranking = w->states[k];
            for (int64_t row = 0; row < ranking->n; row++)
                tl_row_buffer_release(&r->rows, ranking->rows[row]);
        }
        end_free(w);
    }
    tl_time_list_drop(&r->ends, n);
}

static tl_status close_windows(window_rank_op *r, size_t n, tl_batch **out, tl_error *err)
{
    result from = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = list_rows(r, r->ends.items[i].value, &from);
    if (status != TL_OK)
        (void)tl_nomem(err, "ranking");
    if (status == TL_OK)
        status = tl_ranking_gather(&r->rows, from.rows.refs, r->plan->with_rank, from.ranks, from.rows.n, r->base.type, out, err);
    if (status == TL_OK)
        forget_windows(r, n);
    tl_free(from.rows.refs);
    tl_free(from.ranks);
    return status;
}

static tl_status window_rank_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    window_rank_op *r = (window_rank_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_TRY(tl_stream__take(op, &in, state, err));
    if (in != NULL)
        TL_TRY(add_batch(r, in, err));
    r->seen = TL_MAX(r->seen, r->base.inputs[0]->watermark);
    op->watermark = r->seen;
    size_t n = tl_time_list_count(&r->ends, r->seen);
    if (n > 0) {
        TL_TRY(close_windows(r, n, out, err));
        *state = TL_OP_ROWS;
    }
    return tl_row_buffer_is_sparse(&r->rows) ? compact(r, err) : TL_OK;
}

static void window_rank_deinit(tl_op *op)
{
    window_rank_op *r = (window_rank_op *)op;
    for (size_t i = 0; i < r->ends.n; i++)
        end_free(r->ends.items[i].value);
    tl_time_list_deinit(&r->ends);
    tl_row_buffer_deinit(&r->rows);
}

tl_status tl_stream__window_rank(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {window_rank_next, window_rank_deinit};
    window_rank_op *r = tl_stream__op_new(sizeof *r, &ops, pipeline, plan->type, input, NULL, err);
    if (r == NULL)
        return TL_E_NOMEM;
    r->plan = plan;
    r->order = (tl_rank_order){&r->rows, plan->over[0].order, plan->over[0].n_order, plan->keep_newest};
    r->limit = tl_stream__insert_only(plan->inputs[0]) ? TL_MAX(plan->rank_to, 0) : INT64_MAX;
    r->seen = TL_WATERMARK_NONE;
    pipeline->stateful = true;
    *out = &r->base;
    return TL_OK;
}
