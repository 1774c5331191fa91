/*
 * Operators of a streaming pipeline; private to stream/. A tree of them is pulled by one thread: batches of changes with row
 * kinds come out of the root.
 */
#ifndef TL_STREAM_OP_H
#define TL_STREAM_OP_H

#include "stream/stream.h"

typedef enum tl_op_state {
    TL_OP_ROWS, /* a batch was given, maybe an empty one */
    TL_OP_IDLE, /* nothing now */
    TL_OP_END   /* nothing will come; asking again is fine, and says so again until the leaves are opened anew */
} tl_op_state;

typedef struct tl_op tl_op;
typedef struct tl_pipeline tl_pipeline;

typedef struct tl_op_ops {
    tl_status (*next)(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err);
    void (*free)(tl_op *op); /* its own things and its inputs */
} tl_op_ops;
struct tl_op {
    const tl_op_ops *ops;
    tl_pipeline *pipeline;
    const tl_type *type; /* of its batches; borrowed from the plan */
};

/** Leaves can be asked for their position and opened at one. */
typedef struct tl_leaf tl_leaf;
typedef struct tl_leaf_ops {
    /* position: NULL: the beginning. history: only what came before the position, then the end. Called again to change over. */
    tl_status (*open)(tl_leaf *leaf, const char *position, bool history, tl_error *err);
    tl_status (*position)(const tl_leaf *leaf, tl_buf *out, tl_error *err); /* one JSON value */
} tl_leaf_ops;
struct tl_leaf {
    tl_op base;
    const tl_leaf_ops *leaf_ops;
};

#define TL_LEAVES_MAX 64

/** One INSERT or SELECT: a tree and its leaves. */
struct tl_pipeline {
    tl_op *root;
    tl_leaf *leaves[TL_LEAVES_MAX];
    int n_leaves;
    bool stateful; /* some operator has state that must be rebuilt */
    /* A commit is due: leaves that stand between two snapshots give no more rows, the others go on until they do. */
    bool drain;
    int64_t rows_in;
    /* of the job, borrowed */
    tl_sql_env env;
    tl_fs *fs;
    int64_t max_rows; /* of one micro-batch */
};

/** Build the tree of a plan (without its sink). TL_E_UNSUPPORTED names an operator that streaming does not have. */
tl_status tl_stream__build(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
void tl_stream__op_free(tl_op *op);
static inline tl_status tl_stream__next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    *out = NULL;
    return op->ops->next(op, out, state, err);
}
/** A program that only filters: for tl_sql_program_select(). */
tl_status tl_stream__condition(const tl_pipeline *pipeline, const tl_type *input, const tl_expr *condition, tl_sql_program **out, tl_error *err);
/** The same columns under another ROW type of equal physical types. */
tl_status tl_stream__retype(const tl_batch *batch, const tl_type *type, tl_batch **out, tl_error *err);
tl_status tl_stream__add_leaf(tl_pipeline *pipeline, tl_leaf *leaf, tl_error *err);

/* One constructor per kind of plan node; inputs are taken over, also on failure. */
tl_status tl_stream__lake_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
tl_status tl_stream__connector_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
tl_status tl_stream__values_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
tl_status tl_stream__map(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__union(tl_pipeline *pipeline, const tl_plan *plan, tl_op **inputs, int32_t n, tl_op **out, tl_error *err);
tl_status tl_stream__lookup_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err);
tl_status tl_stream__aggregate(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);

#endif
