/* Leaves: what a connector gives, and constant rows. */
#include "connect/connect.h"
#include "stream/op.h"

/* ---- connector ---- */

typedef struct connector_leaf {
    tl_leaf leaf;
    const tl_sql_table *table;
    const tl_plan *plan;
    tl_connector_spec spec;
    tl_source *source;
} connector_leaf;

static tl_status connector_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    connector_leaf *l = (connector_leaf *)op;
    if (op->pipeline->drain) { /* any place between two batches is a position */
        *state = TL_OP_IDLE;
        return TL_OK;
    }
    tl_batch *batch;
    tl_source_state source_state;
    TL_TRY(tl_error_wrap(err, tl_source_next(l->source, op->pipeline->max_rows, &batch, &source_state, err), "table '%s'", l->table->name));
    *state = source_state == TL_SOURCE_ROWS ? TL_OP_ROWS : source_state == TL_SOURCE_IDLE ? TL_OP_IDLE : tl_stream__leaf_end(&l->leaf);
    if (batch == NULL)
        return TL_OK;
    op->pipeline->rows_in += batch->n_rows;
    tl_status status = tl_batch_project(batch, l->plan->columns, l->plan->type->n_fields, out, err);
    tl_batch_free(batch);
    return status;
}

static void connector_deinit(tl_op *op)
{
    tl_source_free(((connector_leaf *)op)->source);
}

static tl_status connector_open(tl_leaf *leaf, const char *position, bool history, tl_error *err)
{
    connector_leaf *l = (connector_leaf *)leaf;
    tl_source_free(l->source);
    l->source = NULL;
    tl_status status = history ? tl_source_open_history(&l->spec, position, &l->source, err) : tl_source_open(&l->spec, position, &l->source, err);
    return tl_error_wrap(err, status, "table '%s'", l->table->name);
}

static tl_status connector_position(const tl_leaf *leaf, tl_buf *out, tl_error *err)
{
    return tl_source_position(((const connector_leaf *)leaf)->source, out) == TL_OK ? TL_OK : tl_nomem(err, "position");
}

tl_status tl_stream__connector_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {connector_next, connector_deinit};
    static const tl_leaf_ops leaf_ops = {connector_open, connector_position};
    connector_leaf *l = tl_stream__op_new(sizeof *l, &ops, pipeline, plan->type, NULL, NULL, err);
    if (l == NULL)
        return TL_E_NOMEM;
    l->leaf.leaf_ops = &leaf_ops;
    l->table = plan->table;
    l->plan = plan;
    l->spec = (tl_connector_spec){.fs = pipeline->fs, .row_type = plan->table->row_type, .options = plan->table->options};
    l->spec.metadata_keys = plan->table->metadata_keys;
    l->spec.partition_key = plan->table->partition_key;
    l->spec.n_partition_key = plan->table->n_partition_key;
    return tl_stream__op_done(&l->leaf.base, tl_stream__add_leaf(pipeline, &l->leaf, err), out);
}

/* ---- VALUES ---- */

typedef struct values_leaf {
    tl_leaf leaf;
    const tl_plan *plan;
    bool done;
} values_leaf;

/* One row at a time through a program over an empty input row: constants may be any expression. */
static tl_status values_row(values_leaf *l, int64_t row, const tl_batch *one, tl_batch **out, tl_error *err)
{
    int32_t n = l->plan->type->n_fields;
    tl_sql_program *program;
    TL_TRY(tl_sql_program_create(&l->leaf.base.pipeline->env, one->type, NULL, (const tl_expr *const *)&l->plan->exprs[row * n], n, l->plan->type,
                                 &program, err));
    tl_status status = tl_sql_program_run(program, one, out, err);
    tl_sql_program_free(program);
    return status;
}

static tl_status values_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    values_leaf *l = (values_leaf *)op;
    *state = l->done ? tl_stream__leaf_end(&l->leaf) : op->pipeline->drain ? TL_OP_IDLE : TL_OP_ROWS;
    if (*state != TL_OP_ROWS)
        return TL_OK;
    l->done = true;
    int64_t n = l->plan->n_rows;
    TL_CLEANUP(tl_type_unrefp) const tl_type *empty = NULL;
    TL_TRY(tl_type_create_row(false, NULL, 0, &empty, err));
    TL_CLEANUP(tl_batch_freep) tl_batch *one = NULL;
    TL_TRY(tl_batch_create(empty, 1, &one, err));
    tl_batch **rows = tl_calloc((size_t)n + 1, sizeof *rows);
    if (rows == NULL)
        return tl_nomem(err, "rows");
    tl_status status = TL_OK;
    for (int64_t i = 0; i < n && status == TL_OK; i++)
        status = values_row(l, i, one, &rows[i], err);
    if (status == TL_OK)
        status = tl_batch_concat((const tl_batch *const *)rows, (int32_t)n, out, err);
    for (int64_t i = 0; i < n; i++)
        tl_batch_free(rows[i]);
    tl_free(rows);
    op->pipeline->rows_in += n;
    return status;
}

static tl_status values_open(tl_leaf *leaf, const char *position, bool history, tl_error *err)
{
    (void)err;
    bool given = position != NULL && strcmp(position, "1") == 0;
    ((values_leaf *)leaf)->done = history ? !given : given;
    return TL_OK;
}

static tl_status values_position(const tl_leaf *leaf, tl_buf *out, tl_error *err)
{
    const char *text = ((const values_leaf *)leaf)->done ? "1" : "0";
    return tl_buf_append_str(out, text) == TL_OK ? TL_OK : tl_nomem(err, "position");
}

tl_status tl_stream__values_leaf(tl_pipeline *pipeline, const tl_plan *plan, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {values_next, NULL};
    static const tl_leaf_ops leaf_ops = {values_open, values_position};
    values_leaf *l = tl_stream__op_new(sizeof *l, &ops, pipeline, plan->type, NULL, NULL, err);
    if (l == NULL)
        return TL_E_NOMEM;
    l->leaf.leaf_ops = &leaf_ops;
    l->plan = plan;
    return tl_stream__op_done(&l->leaf.base, tl_stream__add_leaf(pipeline, &l->leaf, err), out);
}
