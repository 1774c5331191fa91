/* How operators begin and end, and how they take from their inputs. */
#include "stream/op.h"

void *tl_stream__op_new(size_t size, const tl_op_ops *ops, tl_pipeline *pipeline, const tl_type *type, tl_op *left, tl_op *right, tl_error *err)
{
    tl_op *op = tl_calloc(1, size);
    if (op == NULL) {
        tl_stream__op_free(left);
        tl_stream__op_free(right);
        (void)tl_nomem(err, "operator");
        return NULL;
    }
    *op = (tl_op){.ops = ops, .pipeline = pipeline, .type = type, .watermark = TL_WATERMARK_NONE, .inputs = {left, right}};
    return op;
}

tl_status tl_stream__op_done(tl_op *op, tl_status status, tl_op **out)
{
    if (status == TL_OK)
        *out = op;
    else
        tl_stream__op_free(op);
    return status;
}

void tl_stream__op_free(tl_op *op)
{
    if (op == NULL)
        return;
    if (op->ops->deinit != NULL)
        op->ops->deinit(op);
    tl_stream__op_free(op->inputs[0]);
    tl_stream__op_free(op->inputs[1]);
    tl_free(op);
}

static tl_status take_from(tl_op *input, tl_batch **in, tl_op_state *state, tl_error *err)
{
    TL_TRY(tl_stream__next(input, in, state, err));
    if (*in != NULL && (*in)->n_rows == 0) {
        tl_batch_free(*in);
        *in = NULL;
    }
    return TL_OK;
}

tl_status tl_stream__take(tl_op *op, tl_batch **in, tl_op_state *state, tl_error *err)
{
    return take_from(op->inputs[0], in, state, err);
}

tl_status tl_stream__each_batch(tl_op *op, tl_status (*work)(tl_op *op, const tl_batch *in, tl_batch **out, tl_error *err), tl_batch **out,
                                tl_op_state *state, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_TRY(tl_stream__take(op, &in, state, err));
    op->watermark = op->inputs[0]->watermark;
    return in == NULL ? TL_OK : work(op, in, out, err);
}

tl_status tl_stream__take_turns(tl_op *op, tl_taken *in, tl_op_state *state, tl_error *err)
{
    bool idle = false;
    for (int tries = 0; tries < 2; tries++) {
        in->side = op->turn;
        in->before = op->inputs[in->side]->watermark;
        op->turn = 1 - in->side;
        TL_TRY(take_from(op->inputs[in->side], &in->batch, state, err));
        if (*state == TL_OP_ROWS)
            return TL_OK;
        idle |= *state == TL_OP_IDLE;
    }
    *state = idle ? TL_OP_IDLE : TL_OP_END;
    return TL_OK;
}
