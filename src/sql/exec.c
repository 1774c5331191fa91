/*
 * Batch execution of what is local: scans, filters, projections, unions, constants, limits; and of sinks.
 *
 * Joins, aggregates, sorts and windows go to the embedded engine (duckdb.c), whose leaves come back here: the engine reads the
 * rows that these operators give it.
 */
#include "sql/exec.h"

#include "connect/connect.h"

/* ---- connector tables ---- */

typedef struct source_reader {
    tl_reader reader;
    tl_source *source;
    const int32_t *columns; /* of the plan */
    int32_t n_columns;
} source_reader;

#define SOURCE_ROWS 4096

static tl_status source_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    source_reader *r = (source_reader *)reader;
    tl_source_state state;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    *out = NULL;
    TL_TRY(tl_source_next(r->source, SOURCE_ROWS, &batch, &state, err));
    if (state == TL_SOURCE_IDLE) /* sources that end do not make a batch query wait */
        return tl_error_set(err, TL_E_INTERNAL, "a table that has an end has no rows just now");
    if (state == TL_SOURCE_END)
        return TL_OK;
    tl_batch *projected;
    TL_TRY(tl_batch_project(batch, r->columns, r->n_columns, &projected, err));
    *out = projected;
    return TL_OK;
}

static void source_free(tl_reader *reader)
{
    source_reader *r = (source_reader *)reader;
    tl_source_free(r->source);
    tl_type_unref(r->reader.type);
    tl_free(r);
}

static tl_connector_spec spec_of(const tl_sql_session *session, const tl_sql_table *table)
{
    return (tl_connector_spec){
        .fs = session->fs, .row_type = table->row_type, .options = table->options, .metadata_keys = table->metadata_keys,
        .partition_key = table->partition_key, .n_partition_key = table->n_partition_key, .clock = session->clock};
}

static tl_status open_source(tl_sql_session *session, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {source_next, source_free};
    tl_connector_spec spec = spec_of(session, plan->table);
    if (tl_connector_has_changes(&spec))
        return tl_error_set(err, TL_E_UNSUPPORTED, "table '%s' holds changes (format '%s'): it can be read in streaming mode only "
                            "(SET 'execution.runtime-mode' = 'streaming')", plan->table->name, tl_options_get(plan->table->options, "format"));
    bool bounded;
    TL_TRY(tl_connector_is_bounded(&spec, &bounded, err));
    if (!bounded)
        return tl_error_set(err, TL_E_UNSUPPORTED, "table '%s' has no end: it can be read in streaming mode only (SET 'execution.runtime-mode' = 'streaming')",
                            plan->table->name);
    spec.at_once = true;
    tl_source *source;
    TL_TRY(tl_error_wrap(err, tl_source_open(&spec, NULL, &source, err), "table '%s'", plan->table->name));
    source_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_source_free(source);
        return tl_nomem(err, "query");
    }
    *r = (source_reader){.reader = {&ops, tl_type_ref(plan->type)}, .source = source, .columns = plan->columns, .n_columns = plan->type->n_fields};
    *out = &r->reader;
    return TL_OK;
}

/* ---- lake tables ---- */

/** Rows of an incremental read that take back others are none of a batch query. */
typedef struct kept_reader {
    tl_reader reader;
    tl_reader *in;
} kept_reader;

static tl_status kept_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    kept_reader *r = (kept_reader *)reader;
    TL_TRY(tl_reader_next(r->in, out, err));
    if (*out == NULL || (*out)->row_kind == NULL)
        return TL_OK;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = *out;
    *out = NULL;
    TL_CLEANUP(tl_freep) uint32_t *idx = tl_alloc((size_t)(batch->n_rows + 1) * sizeof *idx);
    if (idx == NULL)
        return tl_nomem(err, "query");
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        idx[n] = (uint32_t)i;
        n += !tl_kind_is_retract(batch->row_kind[i]);
    }
    tl_batch *kept = NULL;
    if (n == batch->n_rows)
        kept = TL_STEAL(batch);
    else
        TL_TRY(tl_batch_gather(batch, idx, n, &kept, err));
    tl_free(kept->row_kind);
    kept->row_kind = NULL;
    *out = kept;
    return TL_OK;
}

static void kept_free(tl_reader *reader)
{
    kept_reader *r = (kept_reader *)reader;
    tl_reader_free(r->in);
    tl_type_unref(r->reader.type);
    tl_free(r);
}

static tl_status open_scan(tl_sql_session *session, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    if (plan->table->kind == TL_SQL_TABLE_CONNECTOR)
        return open_source(session, plan, out, err);
    static const tl_reader_ops ops = {kept_next, kept_free};
    tl_scan_spec spec = {.columns = plan->columns,
                         .n_columns = plan->type->n_fields,
                         .predicate = plan->predicate,
                         .map_filter = plan->map_filter,
                         .limit = plan->limit,
                         .pool = session->pool};
    tl_reader *in;
    TL_TRY(tl_error_wrap(err, tl_table_read(plan->table->table, &spec, &in, err), "table %s.%s", plan->table->db, plan->table->name));
    kept_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_reader_free(in);
        return tl_nomem(err, "query");
    }
    *r = (kept_reader){.reader = {&ops, tl_type_ref(plan->type)}, .in = in};
    *out = &r->reader;
    return TL_OK;
}

/* ---- programs ---- */

static tl_expr column_of(int32_t i, const tl_type *row)
{
    return (tl_expr){.kind = TL_EXPR_COLUMN, .type = row->fields[i].type, .column = i};
}

/** PROJECT and the FILTER under it as one program; a FILTER alone passes its columns on. */
static tl_status open_program(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    bool projects = plan->kind == TL_PLAN_PROJECT;
    const tl_plan *filter = projects ? (plan->inputs[0]->kind == TL_PLAN_FILTER ? plan->inputs[0] : NULL) : plan;
    const tl_plan *input = filter != NULL ? filter->inputs[0] : plan->inputs[0];
    int32_t n = plan->type->n_fields;
    TL_CLEANUP(tl_freep) tl_expr *columns = tl_calloc((size_t)n + 1, sizeof *columns);
    TL_CLEANUP(tl_freep) const tl_expr **exprs = tl_calloc((size_t)n + 1, sizeof *exprs);
    if (columns == NULL || exprs == NULL)
        return tl_nomem(err, "query");
    for (int32_t i = 0; i < n; i++) {
        columns[i] = projects ? (tl_expr){0} : column_of(i, input->type);
        exprs[i] = projects ? plan->exprs[i] : &columns[i];
    }
    tl_sql_program *program;
    TL_TRY(tl_sql_program_create(env, input->type, filter != NULL ? filter->condition : NULL, exprs, n, plan->type, &program, err));
    tl_reader *in;
    tl_status status = tl_exec__open(session, env, input, &in, err);
    if (status != TL_OK) {
        tl_sql_program_free(program);
        return status;
    }
    return tl_sql_program_reader(program, in, out, err);
}

/* ---- VALUES ---- */

static tl_status append_value(const tl_sql_env *env, tl_builder *builder, const tl_expr *e, const tl_type *none, tl_error *err)
{
    if (e->kind == TL_EXPR_LITERAL)
        return tl_builder_error(builder, tl_builder_copy(builder, e->literal, 0), err);
    tl_field field = {.name = (char *)(uintptr_t)"v", .id = -1, .type = e->type};
    TL_CLEANUP(tl_type_unrefp) const tl_type *row = NULL;
    TL_TRY(tl_type_create_row(false, &field, 1, &row, err));
    TL_CLEANUP(tl_sql_program_freep) tl_sql_program *program = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    const tl_expr *exprs[] = {e};
    TL_TRY(tl_sql_program_create(env, none, NULL, exprs, 1, row, &program, err));
    TL_TRY(tl_batch_create(none, 1, &in, err));
    TL_TRY(tl_sql_program_run(program, in, &result, err));
    return tl_builder_error(builder, tl_builder_copy(builder, result->cols[0], 0), err);
}

static tl_status fill_values(const tl_sql_env *env, const tl_plan *plan, int32_t column, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *none = NULL;
    TL_TRY(tl_type_create_row(false, NULL, 0, &none, err));
    tl_builder *builder;
    TL_TRY(tl_builder_create(plan->type->fields[column].type, &builder, err));
    tl_status status = TL_OK;
    for (int64_t row = 0; row < plan->n_rows && status == TL_OK; row++)
        status = append_value(env, builder, plan->exprs[row * plan->type->n_fields + column], none, err);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

static tl_status open_values(const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    tl_batch *batch;
    TL_TRY(tl_batch_create(plan->type, plan->n_rows, &batch, err));
    tl_status status = TL_OK;
    for (int32_t i = 0; i < plan->type->n_fields && status == TL_OK; i++)
        status = fill_values(env, plan, i, &batch->cols[i], err);
    if (status == TL_OK)
        return tl_reader_from_batch(batch, out, err);
    tl_batch_free(batch);
    return status;
}

/* ---- UNION ---- */

/** An input of UNION under the names and types of the whole. */
typedef struct renamed_reader {
    tl_reader reader;
    tl_reader *in;
} renamed_reader;

static tl_status renamed_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    renamed_reader *r = (renamed_reader *)reader;
    *out = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_reader_next(r->in, &batch, err));
    if (batch == NULL)
        return TL_OK;
    const tl_type *type = r->reader.type;
    for (int32_t i = 0; i < batch->n_cols; i++) {
        tl_column *typed;
        if (tl_type_equal(batch->cols[i]->type, type->fields[i].type, /* with_nullable= */ true))
            continue;
        TL_TRY(tl_column_retype(batch->cols[i], type->fields[i].type, &typed, err));
        tl_column_unref(batch->cols[i]);
        batch->cols[i] = typed;
    }
    tl_type_unref(batch->type);
    batch->type = tl_type_ref(type);
    *out = TL_STEAL(batch);
    return TL_OK;
}

static void renamed_free(tl_reader *reader)
{
    renamed_reader *r = (renamed_reader *)reader;
    tl_reader_free(r->in);
    tl_type_unref(r->reader.type);
    tl_free(r);
}

/** Takes `in` over; *out is `in` itself if it has the type already. */
static tl_status open_renamed(tl_reader *in, const tl_type *type, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {renamed_next, renamed_free};
    if (tl_type_equal(in->type, type, /* with_nullable= */ true)) {
        *out = in;
        return TL_OK;
    }
    renamed_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_reader_free(in);
        return tl_nomem(err, "query");
    }
    *r = (renamed_reader){.reader = {&ops, tl_type_ref(type)}, .in = in};
    *out = &r->reader;
    return TL_OK;
}

static tl_status open_union(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    tl_reader **readers = tl_calloc((size_t)plan->n_inputs, sizeof *readers);
    if (readers == NULL)
        return tl_nomem(err, "query");
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        tl_reader *in;
        tl_status status = tl_exec__open(session, env, plan->inputs[i], &in, err);
        if (status == TL_OK)
            status = open_renamed(in, plan->type, &readers[i], err);
        if (status != TL_OK) {
            for (int32_t k = 0; k < i; k++)
                tl_reader_free(readers[k]);
            tl_free(readers);
            return status;
        }
    }
    return tl_reader_concat(plan->type, readers, plan->n_inputs, out, err);
}

/* ---- OFFSET, LIMIT ---- */

typedef struct limit_reader {
    tl_reader reader;
    tl_reader *in;
    int64_t skip, left; /* left < 0: no limit */
} limit_reader;

static tl_status limit_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    limit_reader *r = (limit_reader *)reader;
    *out = NULL;
    while (r->left != 0) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(r->in, &batch, err));
        if (batch == NULL)
            return TL_OK;
        int64_t from = TL_MIN(r->skip, batch->n_rows), n = batch->n_rows - from;
        r->skip -= from;
        if (r->left >= 0)
            n = TL_MIN(n, r->left);
        if (n == 0)
            continue;
        r->left -= r->left >= 0 ? n : 0;
        if (from == 0 && n == batch->n_rows) {
            *out = TL_STEAL(batch);
            return TL_OK;
        }
        return tl_batch_slice(batch, from, n, out, err);
    }
    return TL_OK;
}

static void limit_free(tl_reader *reader)
{
    limit_reader *r = (limit_reader *)reader;
    tl_reader_free(r->in);
    tl_type_unref(r->reader.type);
    tl_free(r);
}

static tl_status open_limit(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {limit_next, limit_free};
    tl_reader *in;
    TL_TRY(tl_exec__open(session, env, plan->inputs[0], &in, err));
    limit_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_reader_free(in);
        return tl_nomem(err, "query");
    }
    *r = (limit_reader){.reader = {&ops, tl_type_ref(plan->type)}, .in = in, .skip = plan->offset, .left = plan->limit};
    *out = &r->reader;
    return TL_OK;
}

/* ---- all ---- */

/** Whether the node's own expressions have a node of a kind (TL_EXPR_SUBQUERY, TL_EXPR_OUTER). */
static bool uses(const tl_plan *plan, tl_expr_kind kind)
{
    if (plan->condition != NULL && tl_expr__has_kind(plan->condition, (int)kind))
        return true;
    for (int32_t i = 0; plan->kind == TL_PLAN_PROJECT && i < plan->type->n_fields; i++)
        if (tl_expr__has_kind(plan->exprs[i], (int)kind))
            return true;
    return false;
}

/** Whether the tree reads columns of a query around it. */
static bool is_correlated(const tl_plan *plan)
{
    if (uses(plan, TL_EXPR_OUTER))
        return true;
    for (int32_t i = 0; i < plan->n_inputs; i++)
        if (is_correlated(plan->inputs[i]))
            return true;
    return false;
}

bool tl_exec__needs_engine(const tl_plan *plan)
{
    bool needs;
    switch (plan->kind) {
    case TL_PLAN_SCAN:
    case TL_PLAN_VALUES:
    case TL_PLAN_WATERMARK:
    case TL_PLAN_UNION:
    case TL_PLAN_UNNEST:
    case TL_PLAN_WINDOW:
        needs = false;
        break;
    case TL_PLAN_FILTER:
        needs = uses(plan, TL_EXPR_SUBQUERY);
        break;
    case TL_PLAN_PROJECT:
        needs = uses(plan, TL_EXPR_SUBQUERY) || (plan->inputs[0]->kind == TL_PLAN_FILTER && uses(plan->inputs[0], TL_EXPR_SUBQUERY));
        break;
    case TL_PLAN_SORT:
        needs = plan->n_sort > 0;
        break;
    case TL_PLAN_AGGREGATE:
        needs = !tl_exec__is_count(plan);
        break;
    default:
        return true;
    }
    return needs || is_correlated(plan);
}

tl_status tl_exec__open(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    if (tl_exec__needs_engine(plan))
        return tl_duck__open(session, env, plan, out, err);
    switch (plan->kind) {
    case TL_PLAN_SCAN:
        return open_scan(session, plan, out, err);
    case TL_PLAN_VALUES:
        return open_values(env, plan, out, err);
    case TL_PLAN_WATERMARK:
        return tl_exec__open(session, env, plan->inputs[0], out, err);
    case TL_PLAN_UNION:
        return open_union(session, env, plan, out, err);
    case TL_PLAN_SORT:
        return open_limit(session, env, plan, out, err);
    case TL_PLAN_AGGREGATE:
        return tl_exec__open_count(session, env, plan, out, err);
    case TL_PLAN_UNNEST:
    case TL_PLAN_WINDOW:
        return tl_exec__open_expander(session, env, plan, out, err);
    default:
        return open_program(session, env, plan, out, err);
    }
}

/* ---- sinks ---- */

static tl_status write_rows(tl_table_writer *writer, tl_reader *rows, const tl_type *type, tl_error *err)
{
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(rows, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_CLEANUP(tl_batch_freep) tl_batch *typed = NULL;
        TL_TRY(tl_batch_create(type, batch->n_rows, &typed, err));
        for (int32_t i = 0; i < batch->n_cols; i++)
            TL_TRY(tl_column_retype(batch->cols[i], type->fields[i].type, &typed->cols[i], err));
        typed->row_kind = TL_STEAL(batch->row_kind);
        TL_TRY(tl_table_writer_write(writer, typed, err));
    }
}

tl_status tl_exec__write(tl_sql_session *session, tl_table *table, tl_reader *rows, bool overwrite, const tl_options *partition, tl_error *err)
{
    tl_write_options options = {.pool = session->pool, .ignore_previous = overwrite, .real_buckets = true};
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    int64_t full_every = 0;
    tl_status status = tl_table_full_compaction_every(table, /* checkpoint_ms= */ 0, &full_every, err);
    if (status == TL_OK)
        status = tl_table_writer_create(table, &options, &writer, err);
    if (status == TL_OK)
        status = write_rows(writer, rows, tl_table_row_type(table), err);
    tl_reader_free(rows);
    if (status == TL_OK && full_every > 0)
        status = tl_table_writer_compact(writer, /* full= */ true, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, &messages, err);
    tl_commit_spec spec = {.identifier = TL_COMMIT_BATCH, .watermark = TL_ABSENT, .ignore_empty = !overwrite, .overwrite = overwrite, .overwrite_partition = partition};
    tl_commit_result result;
    if (status == TL_OK)
        status = tl_table_commit(table, &spec, &messages, &result, err);
    tl_commit_messages_deinit(&messages);
    tl_table_writer_free(writer);
    return status;
}

static tl_status write_connector(tl_sql_session *session, const tl_plan *plan, tl_reader *rows, tl_error *err)
{
    tl_connector_spec spec = spec_of(session, plan->table);
    spec.overwrite = plan->overwrite;
    tl_sink *sink = NULL;
    tl_status status = tl_sink_open(&spec, NULL, &sink, err);
    while (status == TL_OK) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(rows, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        status = tl_sink_write(sink, batch, err);
    }
    if (status == TL_OK)
        status = tl_sink_flush(sink, err);
    tl_sink_free(sink);
    tl_reader_free(rows);
    return status;
}

/** A static partition spec for the commit: what PARTITION (…) names, or the whole table if partitions are not dynamic. */
static tl_status overwrite_spec(const tl_plan *sink, const tl_options **partition, tl_options *none)
{
    *partition = sink->static_partition;
    const char *dynamic = tl_table_option(sink->table->table, "dynamic-partition-overwrite");
    if (sink->static_partition == NULL && dynamic != NULL && strcmp(dynamic, "false") == 0)
        *partition = none; /* an empty spec: all partitions */
    return TL_OK;
}

tl_status tl_exec__sink(tl_sql_session *session, const tl_sql_env *env, const tl_plan *sink, tl_error *err)
{
    tl_reader *rows;
    TL_TRY(tl_exec__open(session, env, sink->inputs[0], &rows, err));
    const tl_sql_table *table = sink->table;
    tl_status status;
    if (table->kind == TL_SQL_TABLE_CONNECTOR) {
        status = write_connector(session, sink, rows, err);
    } else {
        tl_options none = {0};
        const tl_options *partition = NULL;
        if (sink->overwrite)
            (void)overwrite_spec(sink, &partition, &none);
        status = tl_exec__write(session, table->table, rows, sink->overwrite, partition, err);
    }
    return tl_error_wrap(err, status, "INSERT INTO %s.%s.%s", table->catalog, table->db, table->name);
}
