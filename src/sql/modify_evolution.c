/*
 * UPDATE and merge_into of lake tables with data evolution: a query over `t$row_tracking` finds the ids of the rows that change and their new
 * values; the store writes a file of the changed columns alone for each range of rows that has some (table/update_rows.c). Rows keep
 * their ids. (Flink's action data_evolution_merge_into and Spark's MERGE INTO do so; both refuse UPDATE.)
 */
#include "sql/commands.h"

#include <stdlib.h>

struct tl_row_values {
    int32_t *columns; /* of the table, which change */
    int32_t n_columns;
    int64_t base; /* the latest snapshot before the queries; 0: none */
    tl_kept_batches batches; /* _ROW_ID and the columns */
    tl_kept_batches inserts;
    tl_row_update *rows;
    size_t n_rows, rows_cap;
};

tl_status tl_sql__values_create(const tl_sql_table *table, const bool *changed, tl_row_values **out, tl_error *err)
{
    int32_t n = table->row_type->n_fields;
    tl_snapshot *latest = NULL;
    tl_row_values *v = tl_calloc(1, sizeof *v);
    if (v == NULL)
        return tl_nomem(err, "rows");
    tl_status status = (v->columns = tl_alloc(((size_t)n + 1) * sizeof *v->columns)) == NULL ? tl_nomem(err, "rows") : TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        if (changed[i])
            v->columns[v->n_columns++] = i;
    }
    if (status == TL_OK)
        status = tl_table_latest_snapshot(table->table, &latest, err);
    v->base = latest == NULL ? 0 : latest->id;
    tl_snapshot_free(latest);
    if (status == TL_OK)
        *out = v;
    else
        tl_sql__values_free(v);
    return status;
}

void tl_sql__values_free(tl_row_values *v)
{
    if (v == NULL)
        return;
    tl_sql__batches_deinit(&v->batches);
    tl_sql__batches_deinit(&v->inserts);
    tl_free(v->rows);
    tl_free(v->columns);
    tl_free(v);
}

/* ---- what queries find ---- */

static tl_status check_partitions(const tl_row_values *v, const tl_batch *batch, tl_error *err)
{
    for (int32_t c = 1 + v->n_columns; c < batch->n_cols; c++) {
        const tl_column *same = batch->cols[c];
        for (int64_t i = 0; i < batch->n_rows; i++) {
            if (tl_col_is_null(same, i) || !tl_col_bool(same, i))
                return tl_error_set(err, TL_E_UNSUPPORTED, "a row would move to another partition: rows of a table with data evolution keep their partition");
        }
    }
    return TL_OK;
}

static tl_status note_rows(tl_row_values *v, const tl_batch *batch, tl_error *err)
{
    const tl_column *ids = batch->cols[0];
    size_t n = v->n_rows + (size_t)batch->n_rows;
    if (n > v->rows_cap) {
        size_t cap = TL_MAX(n, v->rows_cap * 2);
        tl_row_update *rows = tl_realloc(v->rows, cap * sizeof *rows);
        if (rows == NULL)
            return tl_nomem(err, "rows");
        v->rows = rows;
        v->rows_cap = cap;
    }
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (tl_col_is_null(ids, i))
            return tl_error_set(err, TL_E_CORRUPT, "a row has no _ROW_ID");
        v->rows[v->n_rows++] = (tl_row_update){tl_col_i64(ids, i), {(uint32_t)v->batches.n, (uint32_t)i}};
    }
    return TL_OK;
}

tl_status tl_sql__values_add(tl_row_values *v, tl_reader *rows_take, bool inserts, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *rows = rows_take;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(rows, &batch, err));
        if (batch == NULL)
            return TL_OK;
        if (inserts) {
            TL_TRY(tl_sql__batches_keep(&v->inserts, &batch, err));
            continue;
        }
        TL_TRY(check_partitions(v, batch, err));
        TL_TRY(note_rows(v, batch, err));
        TL_TRY(tl_sql__batches_keep(&v->batches, &batch, err));
    }
}

/* ---- the commit ---- */

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const tl_row_update *)a)->id, y = ((const tl_row_update *)b)->id;
    return (x > y) - (x < y);
}

/* The reference takes one of several values that a row gets, whichever comes first there: that would be left to chance. */
static tl_status sort_rows(tl_row_values *v, tl_error *err)
{
    if (v->n_rows > 0)
        qsort(v->rows, v->n_rows, sizeof *v->rows, by_id);
    for (size_t i = 1; i < v->n_rows; i++) {
        if (v->rows[i].id == v->rows[i - 1].id)
            return tl_error_set(err, TL_E_INVALID, "the row with _ROW_ID %lld gets more than one new value: several rows of the source match it",
                                (long long)v->rows[i].id);
    }
    return TL_OK;
}

static tl_status write_inserts(tl_binder *b, tl_table *table, tl_row_values *v, tl_commit_messages *out)
{
    tl_table_writer *writer = NULL;
    const tl_write_options options = {.pool = b->session->pool};
    if (v->inserts.n == 0)
        return TL_OK;
    TL_TRY(tl_table_writer_create(table, &options, &writer, b->err));
    tl_status status = TL_OK;
    for (size_t i = 0; i < v->inserts.n && status == TL_OK; i++)
        status = tl_table_writer_write(writer, v->inserts.items[i], b->err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, out, b->err);
    tl_table_writer_free(writer);
    return status;
}

tl_status tl_sql__values_commit(tl_binder *b, const tl_sql_table *table, tl_row_values *v)
{
    tl_commit_messages inserted = {0};
    TL_TRY(sort_rows(v, b->err));
    TL_TRY(write_inserts(b, table->table, v, &inserted));
    const tl_row_updates updates = {v->columns, v->n_columns, v->rows, v->n_rows, v->batches.items, v->batches.n};
    tl_status status = tl_table_update_rows(table->table, &updates, v->base, &inserted, NULL, b->err);
    tl_commit_messages_deinit(&inserted);
    return status;
}

/* ---- UPDATE ---- */

/* The name of the table with its rows' ids. */
static tl_status tracked_name(tl_binder *b, const tl_ast *name, tl_ast **out)
{
    tl_ast *copy = tl_arena_alloc(b->arena, sizeof *copy), **link = NULL;
    BIND_ALLOC(b, copy);
    *copy = *name;
    link = &copy->kid[0];
    for (const tl_ast *part = name->kid[0]; part != NULL; part = part->next) {
        tl_ast *mine = tl_arena_alloc(b->arena, sizeof *mine);
        BIND_ALLOC(b, mine);
        *mine = *part;
        *link = copy->kid[1] = mine;
        link = &mine->next;
    }
    copy->kid[1]->text = tl_arena_strf(b->arena, "%s$row_tracking", tl_ast_last_name(name));
    BIND_ALLOC(b, copy->kid[1]->text);
    *out = copy;
    return TL_OK;
}

/* The scan with ids, named as the statement names the table. */
static tl_status scan_tracked(tl_binder *b, const tl_ast *ast, tl_plan **out)
{
    tl_ast *name;
    tl_sql_path path;
    const char *alias = ast->text != NULL ? ast->text : tl_ast_last_name(ast->kid[0]);
    TL_TRY(tracked_name(b, ast->kid[0], &name));
    TL_TRY(tl_bind__table_scan(b, name, NULL, out, &b->scope, alias));
    TL_TRY(tl_bind__path(b, ast->kid[0], &path));
    for (int32_t i = 0; ast->text == NULL && i < b->scope->n_columns; i++) {
        b->scope->columns[i].db = path.db;
        b->scope->columns[i].catalog = path.catalog;
    }
    return TL_OK;
}

static tl_status check_partition(tl_binder *b, const tl_ast *set, const tl_sql_table *table, int32_t column)
{
    for (int32_t i = 0; i < table->n_partition_key; i++) {
        if (table->partition_key[i] == column)
            return BIND_ERROR(b, set, "column '%s' is a partition column: rows of a table with data evolution keep their partition",
                              table->row_type->fields[column].name);
    }
    return TL_OK;
}

/* _ROW_ID and the values of the changed columns, in the table's order. */
static tl_status new_values(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, tl_plan *rows, tl_plan **out)
{
    int32_t n = table->row_type->n_fields, n_out = 1;
    tl_expr **values = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *values), **exprs = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *exprs);
    const char **names = tl_arena_calloc(b->arena, (size_t)n + 1, sizeof *names);
    BIND_ALLOC(b, values);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (const tl_ast *set = tl_ast_first(ast->kid[1]); set != NULL; set = set->next) {
        tl_expr *value;
        int32_t column;
        TL_TRY(tl_sql__assigned_value(b, table, set, &column, &value));
        TL_TRY(check_partition(b, set, table, column));
        values[column] = value;
    }
    int32_t id = tl_type_field_index(rows->type, "_ROW_ID");
    TL_TRY(tl_bind__column(b, id, rows->type->fields[id].type, ast, &exprs[0]));
    names[0] = "_ROW_ID";
    for (int32_t i = 0; i < n; i++) {
        if (values[i] == NULL)
            continue;
        exprs[n_out] = values[i];
        names[n_out++] = table->row_type->fields[i].name;
    }
    return tl_bind__project(b, rows, exprs, names, n_out, out);
}

static tl_status run_query(tl_binder *b, tl_plan *plan, tl_row_values *v)
{
    tl_sql_env env = b->stmt->env;
    tl_reader *rows = NULL;
    env.fixed_now_ms = tl_clock_now_ms(b->session->clock);
    TL_TRY(tl_plan__optimise(b, &plan));
    TL_TRY(tl_exec__open(b->session, &env, plan, &rows, b->err));
    return tl_sql__values_add(v, rows, /* inserts= */ false, b->err);
}

static tl_status find_values(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, tl_row_values *v)
{
    tl_plan *plan;
    tl_expr *condition = NULL;
    TL_TRY(scan_tracked(b, ast, &plan));
    if (ast->kid[2] != NULL) {
        TL_TRY(tl_bind__condition(b, ast->kid[2], "WHERE", &condition));
        TL_TRY(tl_bind__filter(b, plan, condition, &plan));
    }
    TL_TRY(new_values(b, ast, table, plan, &plan));
    return run_query(b, plan, v);
}

tl_status tl_sql__update_evolution(tl_binder *b, const tl_ast *ast, const tl_sql_table *table)
{
    tl_row_values *v = NULL;
    bool *changed = tl_arena_calloc(b->arena, (size_t)table->row_type->n_fields + 1, sizeof *changed);
    BIND_ALLOC(b, changed);
    TL_TRY(tl_table_check_updatable(table->table, b->err));
    for (const tl_ast *set = tl_ast_first(ast->kid[1]); set != NULL; set = set->next) {
        int32_t column = tl_type_field_index(table->row_type, tl_ast_last_name(set->kid[0]));
        if (column >= 0) /* binding tells of the others */
            changed[column] = true;
    }
    TL_TRY(tl_sql__values_create(table, changed, &v, b->err));
    tl_status status = find_values(b, ast, table, v);
    if (status == TL_OK)
        status = tl_sql__values_commit(b, table, v);
    tl_sql__values_free(v);
    return status;
}
