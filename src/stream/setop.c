/*
 * INTERSECT and EXCEPT over changing inputs: how often each row is there on either side decides how often it is in the result;
 * each change of that is given. NULLs are equal here.
 *
 * Memory: each different row of both sides once, as bytes.
 */
#include "stream/array.h"
#include "stream/partitions.h"
#include "types/binary_row.h"

typedef struct row_counts {
    int64_t sides[2];
} row_counts;

typedef struct setop_op {
    tl_op base;
    const tl_plan *plan;
    tl_map rows; /* BinaryRow -> row_counts */
} setop_op;

static int64_t in_result(const tl_plan *plan, const row_counts *c)
{
    int64_t left = TL_MAX(c->sides[0], 0), right = TL_MAX(c->sides[1], 0);
    if (plan->all)
        return plan->except ? TL_MAX(left - right, 0) : TL_MIN(left, right);
    return left > 0 && (right > 0) != plan->except;
}

/* Which rows of the batch come out, and how. */
typedef struct changes {
    uint32_t *rows;
    uint8_t *kinds;
    int64_t n, cap;
} changes;

static tl_status emit(changes *c, int64_t row, uint8_t kind)
{
    if (c->n == c->cap) {
        int64_t cap = tl_array_next_cap(c->cap, 1024);
        TL_TRY(tl_array_resize(&c->rows, sizeof *c->rows, cap));
        TL_TRY(tl_array_resize(&c->kinds, sizeof *c->kinds, cap));
        c->cap = cap;
    }
    c->rows[c->n] = (uint32_t)row;
    c->kinds[c->n++] = kind;
    return TL_OK;
}

static tl_status apply(setop_op *s, int side, const tl_batch *batch, const tl_buf *bytes, const int64_t *starts, changes *out)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        tl_bytes_view row = {bytes->data + starts[i], (size_t)(starts[i + 1] - starts[i])};
        row_counts *counts = tl_partition_at(&s->rows, row, sizeof *counts);
        if (counts == NULL)
            return TL_E_NOMEM;
        int64_t was = in_result(s->plan, counts);
        counts->sides[side] += tl_kind_is_retract(tl_batch_kind(batch, i)) ? -1 : 1;
        for (int64_t is = in_result(s->plan, counts); was != is; was += was < is ? 1 : -1)
            TL_TRY(emit(out, i, was < is ? TL_KIND_INSERT : TL_KIND_DELETE));
        if (counts->sides[0] == 0 && counts->sides[1] == 0)
            tl_free(tl_map_remove(&s->rows, row.data, row.len));
    }
    return TL_OK;
}

static tl_status give(const setop_op *s, const tl_batch *batch, const changes *c, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_TRY(tl_batch_gather(batch, c->rows, c->n, &rows, err));
    if (rows->row_kind == NULL)
        rows->row_kind = tl_alloc((size_t)c->n + 1);
    if (rows->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    if (c->n > 0)
        memcpy(rows->row_kind, c->kinds, (size_t)c->n);
    return tl_stream__retype(rows, s->base.type, out, err);
}

static tl_status setop_batch(setop_op *s, int side, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    changes c = {0};
    tl_buf bytes = {0};
    TL_CLEANUP(tl_freep) int64_t *starts = tl_alloc(sizeof *starts * (size_t)(batch->n_rows + 1));
    if (starts == NULL)
        return tl_nomem(err, "set operation");
    tl_status status = tl_binary_rows((const tl_column *const *)batch->cols, batch->n_cols, batch->n_rows, &bytes, starts, err);
    if (status == TL_OK && apply(s, side, batch, &bytes, starts, &c) != TL_OK)
        status = tl_nomem(err, "set operation");
    if (status == TL_OK)
        status = give(s, batch, &c, out, err);
    tl_buf_deinit(&bytes);
    tl_free(c.rows);
    tl_free(c.kinds);
    return status;
}

static tl_status setop_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    setop_op *s = (setop_op *)op;
    TL_CLEANUP(tl_taken_deinit) tl_taken in = {0};
    TL_TRY(tl_stream__take_turns(op, &in, state, err));
    op->watermark = tl_stream__both_watermarks(op);
    return in.batch == NULL ? TL_OK : setop_batch(s, in.side, in.batch, out, err);
}

static void setop_deinit(tl_op *op)
{
    setop_op *s = (setop_op *)op;
    tl_partitions_deinit(&s->rows, tl_free);
}

tl_status tl_stream__setop(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {setop_next, setop_deinit};
    setop_op *s = tl_stream__op_new(sizeof *s, &ops, pipeline, plan->type, left, right, err);
    if (s == NULL)
        return TL_E_NOMEM;
    s->plan = plan;
    pipeline->stateful = true;
    *out = &s->base;
    return TL_OK;
}
