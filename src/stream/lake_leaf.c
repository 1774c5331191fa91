/*
 * Leaf: the changes of a lake table, snapshot after snapshot. Positions stand between two snapshots only.
 *
 * Position: {"start":S,"full":true,"next":N}: the job began with a full read of snapshot S (or, full = false, with the changes of
 * S) and has seen everything before snapshot N.
 *
 * History (to rebuild an operator's state): a table's rows at snapshot N-1 are the net effect of the full read and all changes,
 * so one batch read of N-1 stands for them. A job that did not begin with a full read, or reads a system table whose rows are
 * the changes themselves ($audit_log, $binlog), gets the changes again from S on.
 */
#include "stream/op.h"

typedef struct lake_leaf {
    tl_leaf leaf;
    const tl_plan *plan;
    const tl_sql_table *table;
    tl_table *handle; /* the plan's, or a time-travelling one of `history` */
    tl_table *travel; /* owned; NULL: none */
    tl_stream_scan *scan;
    tl_splits splits;
    size_t next_split;
    tl_reader *reader; /* of a split, or of the whole batch read of a history */
    int64_t snapshot;
    bool bounded;      /* the table's own options bound it (a batch read in a streaming job) */
    bool is_history;
    int64_t history_end; /* snapshot at which a history of changes ends (exclusive) */
    int64_t start;
    bool start_full;
    bool started;
} lake_leaf;

static void close_scan(lake_leaf *l)
{
    tl_reader_free(l->reader);
    l->reader = NULL;
    tl_stream_scan_free(l->scan);
    l->scan = NULL;
    tl_splits_deinit(&l->splits);
    l->next_split = 0;
    tl_table_free(l->travel);
    l->travel = NULL;
    l->handle = l->table->table;
}

static tl_scan_spec spec_of(const lake_leaf *l)
{
    return (tl_scan_spec){.columns = l->plan->columns,
                          .n_columns = l->plan->type->n_fields,
                          .predicate = l->plan->predicate,
                          .map_filter = l->plan->map_filter,
                          .limit = -1,
                          .with_kinds = true};
}

/* Plan the next snapshot; *state tells if there is one. */
static tl_status plan_next(lake_leaf *l, tl_op_state *state, tl_error *err)
{
    for (;;) {
        if (l->is_history && tl_stream_scan_position(l->scan) >= l->history_end && tl_stream_scan_position(l->scan) > 0) {
            *state = TL_OP_END;
            return TL_OK;
        }
        if (!l->is_history && l->leaf.base.pipeline->drain) {
            *state = TL_OP_IDLE;
            return TL_OK;
        }
        tl_splits_deinit(&l->splits);
        l->next_split = 0;
        bool ready, full;
        int64_t before = tl_stream_scan_position(l->scan);
        TL_TRY(tl_stream_scan_plan(l->scan, &l->splits, &ready, &l->snapshot, &full, err));
        if (ready && !l->started) {
            l->started = true;
            l->start = l->snapshot;
            l->start_full = full;
        }
        if (ready && l->splits.n > 0) {
            *state = TL_OP_ROWS;
            return TL_OK;
        }
        if (!ready && tl_stream_scan_ended(l->scan)) {
            *state = TL_OP_END;
            return TL_OK;
        }
        if (!ready && tl_stream_scan_position(l->scan) == before) {
            *state = TL_OP_IDLE;
            return TL_OK;
        }
    }
}

static tl_status lake_read(lake_leaf *l, tl_batch **out, tl_op_state *state, tl_error *err)
{
    for (;;) {
        if (l->reader != NULL) {
            tl_batch *batch;
            TL_TRY(tl_reader_next(l->reader, &batch, err));
            if (batch != NULL) {
                l->leaf.base.pipeline->rows_in += batch->n_rows;
                *out = batch;
                *state = TL_OP_ROWS;
                return TL_OK;
            }
            tl_reader_free(l->reader);
            l->reader = NULL;
            if (l->scan == NULL) {
                *state = TL_OP_END;
                return TL_OK;
            }
        }
        if (l->scan == NULL) {
            *state = TL_OP_END;
            return TL_OK;
        }
        if (l->next_split == l->splits.n) {
            TL_TRY(plan_next(l, state, err));
            if (*state != TL_OP_ROWS)
                return TL_OK;
        }
        tl_scan_spec spec = spec_of(l);
        TL_TRY(tl_table_read_split(l->handle, &l->splits.items[l->next_split++], &spec, &l->reader, err));
    }
}

static tl_status lake_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    lake_leaf *l = (lake_leaf *)op;
    TL_TRY(tl_error_wrap(err, lake_read(l, out, state, err), "table '%s.%s'", l->table->db, l->table->name));
    if (*state == TL_OP_END)
        *state = tl_stream__leaf_end(&l->leaf);
    return TL_OK;
}

static void lake_deinit(tl_op *op)
{
    close_scan((lake_leaf *)op);
}

/* ---- positions ---- */

static tl_status parse_position(lake_leaf *l, const char *position, int64_t *next, tl_error *err)
{
    tl_arena arena = {0};
    const tl_json *json;
    tl_status status = tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)position, strlen(position)}, &json, err);
    if (status == TL_OK &&
        (!tl_json_int64(tl_json_get(json, "next"), next) || !tl_json_int64(tl_json_get(json, "start"), &l->start) ||
         !tl_json_bool(tl_json_get(json, "full"), &l->start_full)))
        status = tl_error_set(err, TL_E_CORRUPT, "bad position %s", position);
    tl_arena_deinit(&arena);
    l->started = status == TL_OK && l->start > 0;
    return status;
}

/* The same table with scan options of its own. */
static tl_status open_travelling(lake_leaf *l, const char *key, const char *mode, int64_t snapshot, tl_error *err)
{
    tl_options options = {0};
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)snapshot);
    tl_status status = tl_options_dup(l->table->options, &options) != TL_OK || (mode != NULL && tl_options_set(&options, "scan.mode", mode) != TL_OK) ||
                               tl_options_set(&options, key, number) != TL_OK
                           ? tl_nomem(err, "options")
                           : TL_OK;
    if (mode == NULL)
        (void)tl_options_remove(&options, "scan.mode");
    if (status == TL_OK)
        status = tl_table_open(l->table->lake, l->table->db, l->table->name, &options, &l->travel, err);
    tl_options_deinit(&options);
    if (status == TL_OK)
        l->handle = l->travel;
    return status;
}

static tl_status open_history(lake_leaf *l, int64_t next, tl_error *err)
{
    l->is_history = true;
    l->history_end = next;
    if (!l->started || next <= l->start)
        return TL_OK; /* nothing was read: the end at once */
    if (l->start_full && !tl_stream__rows_are_changes(l->table)) {
        TL_TRY(open_travelling(l, "scan.snapshot-id", NULL, next - 1, err));
        tl_scan_spec spec = spec_of(l);
        return tl_table_read(l->handle, &spec, &l->reader, err);
    }
    TL_TRY(open_travelling(l, "scan.snapshot-id", l->start_full ? "from-snapshot-full" : "from-snapshot", l->start, err));
    return tl_stream_scan_create(l->handle, 0, &l->scan, err);
}

static tl_status lake_open(tl_leaf *leaf, const char *position, bool history, tl_error *err)
{
    lake_leaf *l = (lake_leaf *)leaf;
    close_scan(l);
    l->is_history = false;
    l->started = false;
    int64_t next = 0;
    tl_status status = position == NULL ? TL_OK : parse_position(l, position, &next, err);
    if (status == TL_OK && history)
        status = open_history(l, next, err);
    else if (status == TL_OK)
        status = tl_stream_scan_create(l->handle, next, &l->scan, err);
    return tl_error_wrap(err, status, "table '%s.%s'", l->table->db, l->table->name);
}

static tl_status lake_position(const tl_leaf *leaf, tl_buf *out, tl_error *err)
{
    const lake_leaf *l = (const lake_leaf *)leaf;
    int64_t next = l->scan == NULL ? l->history_end : tl_stream_scan_position(l->scan);
    if (tl_buf_appendf(out, "{\"start\":%lld,\"full\":%s,\"next\":%lld}", (long long)l->start, l->start_full ? "true" : "false", (long long)next) != TL_OK)
        return tl_nomem(err, "position");
    return TL_OK;
}

tl_status tl_stream__lake_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {lake_next, lake_deinit};
    static const tl_leaf_ops leaf_ops = {lake_open, lake_position};
    if (plan->limit >= 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "LIMIT over a table that is read as a stream is not supported; use batch mode");
    lake_leaf *l = tl_stream__op_new(sizeof *l, &ops, pipeline, plan->type, NULL, NULL, err);
    if (l == NULL)
        return TL_E_NOMEM;
    l->leaf.leaf_ops = &leaf_ops;
    l->plan = plan;
    l->table = plan->table;
    l->handle = plan->table->table;
    return tl_stream__op_done(&l->leaf.base, tl_stream__add_leaf(pipeline, &l->leaf, err), out);
}
