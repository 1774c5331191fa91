/*
 * Window join: rows of both sides that fall into the same window. They wait until time has passed the window's end and are joined
 * then, once; nothing is taken back. Rows for a window that is over are dropped. Source of the rules: Flink's WindowJoinOperator.
 *
 * Start and end of the window are among the keys, so all windows that are over are joined in one go.
 *
 * Memory: the rows of all open windows.
 */
#include "stream/pairs.h"
#include "stream/time_list.h"
#include "types/row_index.h"

typedef struct window_end {
    tl_ref_list sides[2];
} window_end;

typedef struct window_join_op {
    tl_op base;
    const tl_plan *plan;
    tl_row_buffer rows[2];
    tl_time_list ends; /* window_end of each open end */
    int64_t seen;
    tl_pair_test test;
} window_join_op;

static void end_free(window_end *w)
{
    tl_free(w->sides[0].refs);
    tl_free(w->sides[1].refs);
    tl_free(w);
}

/* ---- rows in ---- */

static tl_status keep_row(window_join_op *j, int side, int64_t end, tl_rowref row)
{
    window_end *w = tl_time_list_at(&j->ends, end, sizeof *w);
    return w == NULL ? TL_E_NOMEM : tl_ref_list_add(&w->sides[side], &row, 1);
}

static tl_status add_batch(window_join_op *j, int side, const tl_batch *batch, int64_t before, tl_error *err)
{
    TL_TRY(tl_stream__refuse_retractions(batch, "a window join", err));
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "join");
    const tl_column *ends = batch->cols[side == 0 ? j->plan->window_end : j->plan->right_window_end];
    int64_t n = 0, other = j->base.inputs[1 - side]->watermark;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        int64_t mark = TL_MAX(j->seen, TL_MIN(tl_stream__row_watermark(batch, i, before), other));
        if (!tl_col_is_null(ends, i) && tl_stream__end_of(&j->base, j->plan, ends, i) - 1 > mark)
            sel[n++] = (uint32_t)i;
    }
    uint32_t chunk;
    TL_TRY(tl_row_buffer_add(&j->rows[side], batch, sel, n, &chunk, err));
    for (int64_t k = 0; k < n; k++)
        if (keep_row(j, side, tl_stream__end_of(&j->base, j->plan, ends, sel[k]), (tl_rowref){chunk, (uint32_t)k}) != TL_OK)
            return tl_nomem(err, "join");
    return TL_OK;
}

/* ---- windows that are over ---- */

/* One side's rows of closing windows, as one chunk with its keys. */
typedef struct closing {
    tl_row_buffer rows;
    tl_keys *keys;
    int64_t n;
    uint8_t *joined; /* per row */
} closing;

static void closing_deinit(closing *c)
{
    tl_row_buffer_deinit(&c->rows);
    tl_keys_free(c->keys);
    tl_free(c->joined);
}

static tl_status collect(window_join_op *j, int side, size_t n_ends, closing *c, tl_error *err)
{
    tl_ref_list refs = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n_ends && status == TL_OK; i++) {
        const window_end *w = j->ends.items[i].value;
        status = tl_ref_list_add(&refs, w->sides[side].refs, w->sides[side].n);
    }
    c->n = refs.n;
    c->joined = tl_calloc((size_t)refs.n + 1, 1);
    if (status != TL_OK || c->joined == NULL)
        status = tl_nomem(err, "join");
    const tl_type *type = j->base.inputs[side]->type;
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    uint32_t chunk;
    if (status == TL_OK)
        status = tl_batch_create(type, refs.n, &rows, err);
    if (status == TL_OK)
        status = tl_row_buffer_gather(&j->rows[side], refs.refs, refs.n, NULL, type->n_fields, rows, 0, err);
    if (status == TL_OK)
        status = tl_stream__join_keys(rows, side == 0 ? j->plan->left_keys : j->plan->right_keys, j->plan->n_keys, &c->keys, err);
    if (status == TL_OK)
        status = tl_row_buffer_put(&c->rows, &rows, &chunk, err);
    tl_free(refs.refs);
    return status;
}

static tl_status find_pairs(const window_join_op *j, const closing *left, const closing *right, tl_pairs *pairs, tl_error *err)
{
    tl_row_index index = {0};
    tl_status status = right->n > 0 && left->n > 0 ? tl_row_index_add(&index, right->keys, 0, NULL, err) : TL_OK;
    for (int64_t i = 0; i < left->n && right->n > 0 && status == TL_OK; i++) {
        if (tl_stream__null_key(j->plan, left->rows.chunks[0], j->plan->left_keys, i))
            continue;
        const struct tl_row_entry *e = tl_row_index_first(&index, tl_row_index_hash(left->keys, i));
        for (; e != NULL && status == TL_OK; e = tl_row_index_next(&index, e))
            if (tl_keys_compare(right->keys, e->row, left->keys, i) == 0)
                status = tl_pairs_add(pairs, (tl_rowref){0, (uint32_t)i}, (tl_rowref){0, e->row});
        if (status == TL_E_NOMEM)
            (void)tl_nomem(err, "join");
    }
    tl_row_index_deinit(&index);
    return status;
}

/* Of all pairs those that pass stay, or only their left rows; then come rows without a partner. */
static tl_status list_results(const window_join_op *j, const tl_pairs *pairs, const uint8_t *passes, closing *left, closing *right, tl_pairs *out)
{
    tl_join_kind kind = j->plan->join;
    bool filters = kind == TL_JOIN_SEMI || kind == TL_JOIN_ANTI;
    for (int64_t p = 0; p < pairs->sides[0].n; p++) {
        if (!passes[p])
            continue;
        left->joined[pairs->sides[0].refs[p].row] = right->joined[pairs->sides[1].refs[p].row] = 1;
        if (!filters)
            TL_TRY(tl_pairs_add(out, pairs->sides[0].refs[p], pairs->sides[1].refs[p]));
    }
    bool left_alone = kind == TL_JOIN_LEFT || kind == TL_JOIN_FULL || kind == TL_JOIN_ANTI;
    for (int64_t i = 0; i < left->n; i++)
        if (left->joined[i] ? kind == TL_JOIN_SEMI : left_alone)
            TL_TRY(tl_pairs_add(out, (tl_rowref){0, (uint32_t)i}, TL_NO_ROW));
    for (int64_t i = 0; i < right->n && (kind == TL_JOIN_RIGHT || kind == TL_JOIN_FULL); i++)
        if (!right->joined[i])
            TL_TRY(tl_pairs_add(out, TL_NO_ROW, (tl_rowref){0, (uint32_t)i}));
    return TL_OK;
}

static tl_status join_windows(window_join_op *j, size_t n_ends, tl_batch **out, tl_error *err)
{
    closing sides[2];
    memset(sides, 0, sizeof sides);
    tl_pairs pairs = {0}, results = {0};
    TL_CLEANUP(tl_freep) uint8_t *passes = NULL;
    tl_status status = collect(j, 0, n_ends, &sides[0], err);
    if (status == TL_OK)
        status = collect(j, 1, n_ends, &sides[1], err);
    if (status == TL_OK)
        status = find_pairs(j, &sides[0], &sides[1], &pairs, err);
    if (status == TL_OK)
        status = tl_pairs_test(&pairs, &sides[0].rows, &sides[1].rows, &j->test, &passes, err);
    if (status == TL_OK && list_results(j, &pairs, passes, &sides[0], &sides[1], &results) != TL_OK)
        status = tl_nomem(err, "join");
    if (status == TL_OK)
        status = tl_pairs_gather(&results, &sides[0].rows, j->test.n_left, &sides[1].rows, j->base.type, out, err);
    tl_pairs_deinit(&pairs);
    tl_pairs_deinit(&results);
    closing_deinit(&sides[0]);
    closing_deinit(&sides[1]);
    return status;
}

static tl_status compact(window_join_op *j, int side, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(j->rows[side].alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "join");
    int64_t n = 0;
    for (size_t i = 0; i < j->ends.n; i++) {
        window_end *w = j->ends.items[i].value;
        for (int64_t k = 0; k < w->sides[side].n; k++)
            refs[n++] = &w->sides[side].refs[k];
    }
    return tl_row_buffer_compact(&j->rows[side], refs, n, err);
}

static tl_status close_windows(window_join_op *j, size_t n, tl_batch **out, tl_error *err)
{
    TL_TRY(join_windows(j, n, out, err));
    for (size_t i = 0; i < n; i++) {
        window_end *w = j->ends.items[i].value;
        for (int s = 0; s < 2; s++)
            for (int64_t k = 0; k < w->sides[s].n; k++)
                tl_row_buffer_release(&j->rows[s], w->sides[s].refs[k]);
        end_free(w);
    }
    tl_time_list_drop(&j->ends, n);
    for (int s = 0; s < 2; s++)
        if (tl_row_buffer_is_sparse(&j->rows[s]))
            TL_TRY(compact(j, s, err));
    return TL_OK;
}

static tl_status window_join_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    window_join_op *j = (window_join_op *)op;
    TL_CLEANUP(tl_taken_deinit) tl_taken in = {0};
    TL_TRY(tl_stream__take_turns(op, &in, state, err));
    if (in.batch != NULL)
        TL_TRY(add_batch(j, in.side, in.batch, in.before, err));
    j->seen = TL_MAX(j->seen, tl_stream__both_watermarks(op));
    op->watermark = j->seen;
    size_t n = tl_time_list_count(&j->ends, j->seen);
    if (n == 0)
        return TL_OK;
    *state = TL_OP_ROWS;
    return close_windows(j, n, out, err);
}

static void window_join_deinit(tl_op *op)
{
    window_join_op *j = (window_join_op *)op;
    for (size_t i = 0; i < j->ends.n; i++)
        end_free(j->ends.items[i].value);
    tl_time_list_deinit(&j->ends);
    for (int s = 0; s < 2; s++)
        tl_row_buffer_deinit(&j->rows[s]);
    tl_pair_test_deinit(&j->test);
}

tl_status tl_stream__window_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {window_join_next, window_join_deinit};
    window_join_op *j = tl_stream__op_new(sizeof *j, &ops, pipeline, plan->type, left, right, err);
    if (j == NULL)
        return TL_E_NOMEM;
    j->plan = plan;
    j->seen = TL_WATERMARK_NONE;
    pipeline->stateful = true;
    tl_status status = tl_stream__need_insert_only(plan, "a window join", err);
    if (status == TL_OK)
        status = tl_pair_test_init(&j->test, &j->base, plan->condition, err);
    return tl_stream__op_done(&j->base, status, out);
}
