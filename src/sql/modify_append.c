/*
 * UPDATE and DELETE of lake tables without a primary key: the rows found go into deletion vectors, or their files are written again without them;
 * an UPDATE writes what takes their place in the same commit. (Flink's connector refuses both, Spark's does them this way.)
 *
 * What the store can decide of the condition goes down into the files (of values of maps: to their indexes); the rest, and the new values,
 * are a program over each batch of rows that the store found.
 */
#include "sql/commands.h"

typedef struct change {
    tl_table *table;
    const tl_sql_program *program; /* filter, and the new values; NULL: all rows, no values */
    tl_table_writer *writer;       /* of the new rows; NULL: DELETE */
} change;

tl_status tl_sql__keep_ids(const tl_table *table, const tl_batch *rows, const uint32_t *sel, int64_t n, tl_batch **fresh, tl_error *err)
{
    const tl_lsm_config *config = tl_table_config(table);
    int32_t n_cols = tl_table_row_type(table)->n_fields;
    if (!config->row_tracking)
        return TL_OK;
    TL_CLEANUP(tl_batch_freep) tl_batch *tracked = NULL;
    TL_TRY(tl_batch_create(config->read_type, n, &tracked, err));
    for (int32_t i = 0; i < n_cols; i++)
        tracked->cols[i] = tl_column_ref((*fresh)->cols[i]);
    TL_TRY(tl_column_gather(rows->cols[n_cols], sel, n, &tracked->cols[n_cols], err));
    if (tracked->cols[n_cols]->null_count > 0)
        return tl_error_set(err, TL_E_CORRUPT, "rows without _ROW_ID: a file of a table with row tracking has no _FIRST_ROW_ID");
    TL_TRY(tl_column_nulls(config->read_type->fields[n_cols + 1].type, n, &tracked->cols[n_cols + 1], err));
    tl_batch_free(*fresh);
    *fresh = TL_STEAL(tracked);
    return TL_OK;
}

static tl_status match(void *ctx, const tl_batch *rows, uint32_t *sel, int64_t *n, tl_error *err)
{
    change *c = ctx;
    TL_TRY(tl_sql_program_select(c->program, rows, sel, n, err));
    if (c->writer == NULL || *n == 0)
        return TL_OK;
    TL_CLEANUP(tl_batch_freep) tl_batch *fresh = NULL;
    TL_TRY(tl_sql_program_run(c->program, rows, &fresh, err));
    if (fresh->n_rows != *n)
        return tl_error_set(err, TL_E_INTERNAL, "UPDATE found %lld rows and made %lld", (long long)*n, (long long)fresh->n_rows);
    TL_TRY(tl_sql__keep_ids(c->table, rows, sel, *n, &fresh, err));
    return tl_table_writer_write(c->writer, fresh, err);
}

static tl_status written(void *ctx, tl_commit_messages *out, tl_error *err)
{
    change *c = ctx;
    return c->writer == NULL ? TL_OK : tl_table_writer_prepare(c->writer, /* wait_compaction= */ true, out, err);
}

/* Writers of their own: a compaction beside the deletion would not know the rows that go. */
static tl_status run(tl_binder *b, tl_table *table, tl_predicate *pred, tl_map_filter *map_filter, change *c, bool update)
{
    tl_table *writable = NULL;
    tl_write_options options = {.pool = b->session->pool, .keep_ids = tl_table_config(table)->row_tracking};
    tl_delete_spec spec = {.finder = {.predicate = pred, .map_filter = map_filter, .match = c->program == NULL ? NULL : match, .ctx = c},
                           .written = written};
    tl_status status = TL_OK;
    if (update)
        status = tl_table_reopen(table, "write-only", "true", &writable, b->err);
    if (update && status == TL_OK)
        status = tl_table_writer_create(writable, &options, &c->writer, b->err);
    if (status == TL_OK)
        status = tl_table_delete(table, &spec, NULL, NULL, b->err);
    tl_table_writer_free(c->writer);
    tl_table_free(writable);
    return status;
}

/* The table's rows as they are: no computed columns, no changes of their order. */
static tl_status check_scan(const tl_binder *b, const tl_ast *ast, const tl_sql_table *table, const tl_plan *scan)
{
    if (scan->kind == TL_PLAN_SCAN && scan->type->n_fields == table->row_type->n_fields &&
        tl_table_row_type(table->table)->n_fields == table->row_type->n_fields)
        return TL_OK;
    return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "table '%s' has no primary key and computed columns: its rows cannot be changed yet",
                        table->name);
}

static bool has_subquery(const tl_expr *condition, const tl_plan *values)
{
    bool has = condition != NULL && tl_expr__has_kind(condition, TL_EXPR_SUBQUERY);
    for (int32_t i = 0; values != NULL && i < values->type->n_fields && !has; i++)
        has = tl_expr__has_kind(values->exprs[i], TL_EXPR_SUBQUERY);
    return has;
}

tl_status tl_sql__change_append(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, tl_plan *scan, tl_expr *condition,
                                const tl_plan *values)
{
    tl_predicate *pred = NULL;
    tl_map_filter *map_filter = NULL;
    tl_expr *rest = NULL;
    TL_TRY(check_scan(b, ast, table, scan));
    TL_TRY(tl_table_check_deletable(table->table, b->err));
    if (has_subquery(condition, values))
        return tl_sql__change_by_rows(b, ast, table, scan, condition, values);
    if (condition != NULL)
        TL_TRY(tl_plan__to_predicate(b, condition, scan->type, &pred, &rest));
    if (rest != NULL)
        TL_TRY(tl_plan__to_map_filter(b, rest, scan->type, &map_filter));
    TL_CLEANUP(tl_sql_program_freep) tl_sql_program *program = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *nothing = NULL;
    TL_TRY(tl_type_create_row(false, NULL, 0, &nothing, b->err));
    tl_sql_env env = b->stmt->env;
    env.fixed_now_ms = tl_clock_now_ms(b->session->clock);
    if (rest != NULL || values != NULL)
        TL_TRY(tl_sql_program_create(&env, scan->type, rest, values == NULL ? NULL : (const tl_expr *const *)values->exprs,
                                     values == NULL ? 0 : values->type->n_fields, values == NULL ? nothing : values->type, &program, b->err));
    change c = {.table = table->table, .program = program};
    return run(b, table->table, pred, map_filter, &c, /* update= */ values != NULL);
}
