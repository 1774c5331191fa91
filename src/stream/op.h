/*
 * Operators of a streaming pipeline; private to stream/. A tree of them is pulled by one thread: batches of changes with row
 * kinds come out of the root.
 *
 * Event time. Each operator tells its watermark: no row that comes later has a time attribute at or below it, unless it is late.
 * It holds for all that was given so far. Within a batch that comes from a WATERMARK, `seq` has for each row the watermark that was
 * in force when the row came (programs, gathers and slices carry it along); without `seq` it was the operator's watermark before
 * the batch. So rows are late one by one, as in Flink, although batches are processed whole.
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
    void (*deinit)(tl_op *op); /* frees what is its own, but not its inputs and not itself; NULL: nothing to do */
} tl_op_ops;
struct tl_op {
    const tl_op_ops *ops;
    tl_pipeline *pipeline;
    const tl_type *type; /* of its batches; borrowed from the plan */
    int64_t watermark;   /* ms; TL_WATERMARK_NONE in the beginning, TL_WATERMARK_END when nothing will ever come */
    tl_op *inputs[2];    /* owned, NULL: none there; UNION ALL, which has any number, keeps its own */
    int turn;            /* of two inputs the one that is asked next */
};
#define TL_WATERMARK_NONE INT64_MIN
#define TL_WATERMARK_END INT64_MAX

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
    bool end_is_final; /* its end is the source's, not that of a history */
};
/** What a leaf says at its end: time ends, too, if the source did. */
static inline tl_op_state tl_stream__leaf_end(tl_leaf *leaf)
{
    if (leaf->end_is_final)
        leaf->base.watermark = TL_WATERMARK_END;
    return TL_OP_END;
}

#define TL_LEAVES_MAX 64

/** One INSERT or SELECT: a tree and its leaves. */
struct tl_pipeline {
    tl_op *root;
    tl_leaf *leaves[TL_LEAVES_MAX];
    int n_leaves;
    bool stateful;   /* some operator has state that must be rebuilt */
    bool event_time; /* some operator looks at watermarks */
    bool splits_updates; /* see tl_stream__splits_updates() */
    bool new_rows_do;    /* see tl_stream__new_rows_do() */
    bool replaying;  /* a history is read to rebuild state; what comes out is dropped */
    /* A commit is due: leaves that stand between two snapshots give no more rows, the others go on until they do. */
    bool drain;
    int64_t rows_in;
    /* of the job, borrowed */
    tl_sql_env env;
    tl_fs *fs;
    int64_t max_rows; /* of one micro-batch */
    int64_t state_ttl_ms; /* table.exec.state.ttl: state that was not written for so long is gone; 0: kept for ever */
};

/** The watermark that was in force when row `i` came; `before`: the input's before the batch. */
static inline int64_t tl_stream__row_watermark(const tl_batch *batch, int64_t i, int64_t before)
{
    return batch->seq != NULL ? batch->seq[i] : before;
}
static inline int64_t tl_stream__now_ms(const tl_pipeline *pipeline)
{
    return tl_clock_now_ms(pipeline->env.clock != NULL ? pipeline->env.clock : tl_clock_system());
}
/** For how long state is kept: of side `side` of a node, by its hint or the setting; 0: for ever. */
static inline int64_t tl_stream__ttl_ms(const tl_pipeline *pipeline, const tl_plan *plan, int side)
{
    int64_t hint = plan->state_ttl_ms[side];
    return hint == INT64_MAX ? 0 : hint > 0 ? hint : pipeline->state_ttl_ms;
}
/**
 * State that was last written before this instant is too old; INT64_MIN: none is. Asked once a batch. What is dropped is not taken back:
 * whoever comes later finds nothing, as if nothing had been there.
 */
static inline int64_t tl_stream__expired_before(int64_t ttl_ms, int64_t now_ms)
{
    return ttl_ms > 0 ? now_ms - ttl_ms : INT64_MIN;
}
/** Whether it is time to look for old state, twice within its lifetime; *swept_ms: when that was done last (0 in the beginning). */
static inline bool tl_stream__is_sweep_due(int64_t ttl_ms, int64_t now_ms, int64_t *swept_ms)
{
    if (ttl_ms <= 0 || now_ms - *swept_ms < ttl_ms / 2 + 1)
        return false;
    *swept_ms = now_ms;
    return true;
}
/** The instant at which a window ends: its bounds are local times where the time attribute is an instant. */
static inline int64_t tl_stream__end_of(const tl_op *op, const tl_plan *plan, const tl_column *ends, int64_t i)
{
    int64_t end = tl_col_i64(ends, i);
    return plan->window_is_local ? tl_sql_to_utc_ms(&op->pipeline->env, end - 1) + 1 : end;
}
/** Whether rows of a plan only come and are never changed or taken back. */
bool tl_stream__insert_only(const tl_plan *plan);
/** TL_E_INVALID, naming `what`, unless all inputs of a node only add rows. */
tl_status tl_stream__need_insert_only(const tl_plan *plan, const char *what, tl_error *err);
/** A system table whose rows are changes themselves: they only come. */
bool tl_stream__rows_are_changes(const tl_sql_table *table);
/**
 * Whether new rows alone will do for a sink: columns of one table go into it as they are, its key is theirs, and it drops old rows.
 * (`sink` NULL: they are shown, which wants both.)
 */
bool tl_stream__new_rows_do(const tl_plan *plan, const tl_sql_table *sink, bool drops_update_before);
/** Whether -U rows count although every changed row has a key: the +U row may have been held back. */
bool tl_stream__splits_updates(const tl_plan *plan);
/** Build the tree of a plan (without its sink). TL_E_UNSUPPORTED names an operator that streaming does not have. */
tl_status tl_stream__build(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
static inline tl_status tl_stream__next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    *out = NULL;
    return op->ops->next(op, out, state, err);
}

/**
 * A zeroed operator: a struct of `size` bytes whose first member is a tl_op. It takes its inputs over (NULL: none), also on failure.
 * NULL: no memory, and `err` says so.
 */
void *tl_stream__op_new(size_t size, const tl_op_ops *ops, tl_pipeline *pipeline, const tl_type *type, tl_op *left, tl_op *right, tl_error *err);
/** The end of a constructor: the operator goes into *out, or is freed if `status`, which is returned, is a failure. */
tl_status tl_stream__op_done(tl_op *op, tl_status status, tl_op **out);
void tl_stream__op_free(tl_op *op);

/** Ask the only input. *in is NULL unless there are rows in it. */
tl_status tl_stream__take(tl_op *op, tl_batch **in, tl_op_state *state, tl_error *err);
/** An operator that makes of each batch another one, with its input's watermark: its next(). `work` isn't called without rows. */
tl_status tl_stream__each_batch(tl_op *op, tl_status (*work)(tl_op *op, const tl_batch *in, tl_batch **out, tl_error *err), tl_batch **out,
                                tl_op_state *state, tl_error *err);
/** What one of two inputs gave. */
typedef struct tl_taken {
    tl_batch *batch; /* NULL unless there are rows in it; tl_batch_free */
    int side;
    int64_t before; /* the side's watermark before the batch */
} tl_taken;
static inline void tl_taken_deinit(tl_taken *taken)
{
    tl_batch_free(taken->batch);
}
/** Ask two inputs in turn, until one has something. *state: what both come to. */
tl_status tl_stream__take_turns(tl_op *op, tl_taken *in, tl_op_state *state, tl_error *err);
/** The watermark of both inputs: the lower one. */
static inline int64_t tl_stream__both_watermarks(const tl_op *op)
{
    return TL_MIN(op->inputs[0]->watermark, op->inputs[1]->watermark);
}

/** A program that only filters: for tl_sql_program_select(). */
tl_status tl_stream__condition(const tl_pipeline *pipeline, const tl_type *input, const tl_expr *condition, tl_sql_program **out, tl_error *err);
/** The same columns under another ROW type of equal physical types. */
tl_status tl_stream__retype(const tl_batch *batch, const tl_type *type, tl_batch **out, tl_error *err);
tl_status tl_stream__add_leaf(tl_pipeline *pipeline, tl_leaf *leaf, tl_error *err);

/* One constructor per kind of plan node; inputs are taken over, also on failure. */
tl_status tl_stream__lake_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
/** Whether a lake table is none of the system's and has no changelog: its changes are what commits add. */
bool tl_stream__has_no_changelog(const tl_sql_table *table);
/** Whether a scan's filter speaks of the table's key alone: it holds for all rows of a key or for none. */
bool tl_stream__filters_by_key(const tl_plan *scan);
/** Whether the changes of a table are new rows of keys, without the rows that they replace. */
bool tl_stream__lacks_old_rows(const tl_sql_table *table);
/** A scan of such a table that gives the old rows, too. */
tl_status tl_stream__normalize(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
tl_status tl_stream__connector_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
tl_status tl_stream__values_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err);
tl_status tl_stream__map(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__interval_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err);
tl_status tl_stream__window_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err);
tl_status tl_stream__temporal_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err);
tl_status tl_stream__watermark(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__window(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
/** What both kinds of windows ask of their time column; *by_clock: it is processing time. */
tl_status tl_stream__window_check(tl_pipeline *pipeline, const tl_plan *plan, bool *by_clock, tl_error *err);
/** Rows of `in`, each in a window (bounds as they are shown): a batch of `type`, the columns of `in` and the window's start, end and time. */
tl_status tl_stream__add_windows(const tl_pipeline *pipeline, const tl_batch *in, const uint32_t *rows, const int64_t *starts, const int64_t *ends, int64_t n, const tl_type *type,
                                 tl_batch **out, tl_error *err);
tl_status tl_stream__session(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__union(tl_pipeline *pipeline, const tl_plan *plan, tl_op **inputs, int32_t n, tl_op **out, tl_error *err);
tl_status tl_stream__lookup_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__setop(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err);
tl_status tl_stream__join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err);
tl_status tl_stream__unnest(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__over(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__rank(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__window_rank(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__expand(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
/** Columns of an aggregation's input that make its groups (tl_free): plan->group, or what expand.c adds for GROUPING SETS. */
tl_status tl_stream__group_columns(const tl_plan *plan, const tl_type *input, int32_t **columns, int32_t *n, tl_error *err);
/** Puts nothing between where there is nothing to do: *out is the input then. */
tl_status tl_stream__slice_buffer(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__window_aggregate(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);
tl_status tl_stream__aggregate(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err);

#endif
