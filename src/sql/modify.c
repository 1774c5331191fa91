/*
 * UPDATE, DELETE and TRUNCATE of lake tables, in batch: the rows that the condition finds are written again as +U, or as -D.
 */
#include "sql/commands.h"

/** Gives every row of another reader one kind. */
typedef struct kind_reader {
    tl_reader reader;
    tl_reader *in;
    uint8_t kind;
} kind_reader;

static tl_status kind_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    kind_reader *r = (kind_reader *)reader;
    TL_TRY(tl_reader_next(r->in, out, err));
    if (*out == NULL)
        return TL_OK;
    tl_free((*out)->row_kind);
    (*out)->row_kind = tl_alloc((size_t)(*out)->n_rows + 1);
    if ((*out)->row_kind == NULL) {
        tl_batch_free(*out);
        *out = NULL;
        return tl_nomem(err, "batch");
    }
    memset((*out)->row_kind, r->kind, (size_t)(*out)->n_rows);
    return TL_OK;
}

static void kind_free(tl_reader *reader)
{
    kind_reader *r = (kind_reader *)reader;
    tl_reader_free(r->in);
    tl_type_unref(r->reader.type);
    tl_free(r);
}

tl_status tl_sql__with_kind(tl_reader *in, uint8_t kind, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {kind_next, kind_free};
    kind_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_reader_free(in);
        return tl_nomem(err, "query");
    }
    *r = (kind_reader){.reader = {&ops, tl_type_ref(in->type)}, .in = in, .kind = kind};
    *out = &r->reader;
    return TL_OK;
}

static tl_status target(tl_binder *b, const tl_ast *ast, const char *verb, tl_sql_table **table)
{
    tl_sql_object *object;
    TL_TRY(tl_bind__table(b, ast->kid[0], NULL, table, &object));
    if (*table == NULL || (*table)->kind != TL_SQL_TABLE_LAKE || tl_table_is_system((*table)->table))
        return BIND_ERROR(b, ast, "%s works on tables of a lake; '%s' is none", verb, tl_ast_last_name(ast->kid[0]));
    bool changes = strcmp(verb, "UPDATE") == 0 || strcmp(verb, "DELETE") == 0;
    if (changes && tl_table_is_format((*table)->table))
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "'%s' is a format table: rows are added (INSERT INTO) or replaced by partitions (INSERT OVERWRITE), not by %s",
                            (*table)->name, verb);
    if (b->streaming)
        return BIND_ERROR(b, ast, "%s statement is not supported for streaming mode now.", verb);
    return TL_OK;
}

/** Scan of the target, and its scope; the condition of WHERE, NULL if there is none. */
static tl_status scan_target(tl_binder *b, const tl_ast *ast, const tl_ast *where, tl_plan **plan, tl_expr **condition)
{
    tl_scope *scope;
    TL_TRY(tl_bind__table_scan(b, ast->kid[0], NULL, plan, &scope, ast->text));
    b->scope = scope;
    *condition = NULL;
    return where == NULL ? TL_OK : tl_bind__condition(b, where, "WHERE", condition);
}

static tl_status matching_rows(tl_binder *b, const tl_ast *ast, const tl_ast *where, tl_plan **plan)
{
    tl_expr *condition;
    TL_TRY(scan_target(b, ast, where, plan, &condition));
    return condition == NULL ? TL_OK : tl_bind__filter(b, *plan, condition, plan);
}

/* Whether rows of a table without a key are to be changed: its options say so. */
static bool rows_can_change(const tl_sql_table *table)
{
    const tl_lsm_config *config = tl_table_config(table->table);
    return config != NULL && (config->deletion_vectors || config->row_tracking);
}

static bool is_key(const tl_sql_table *table, int32_t column)
{
    for (int32_t i = 0; i < table->n_primary_key; i++)
        if (table->primary_key[i] == column)
            return true;
    return false;
}

tl_status tl_sql__assigned_value(tl_binder *b, const tl_sql_table *table, const tl_ast *set, int32_t *column, tl_expr **out)
{
    const char *name = tl_ast_last_name(set->kid[0]);
    *column = tl_type_field_index(table->row_type, name);
    if (*column < 0)
        return BIND_ERROR(b, set, "Unknown target column '%s'", name);
    if (is_key(table, *column))
        return BIND_ERROR(b, set, "Updates to primary keys are not supported, primaryKeys ([%s]), updatedColumns ([%s])", name, name);
    tl_expr *value;
    const tl_type *type = table->row_type->fields[*column].type;
    TL_TRY(tl_bind__expr(b, set->kid[1], &value));
    if (!tl_bind__can_cast_implicitly(value->type, type))
        return BIND_ERROR(b, set, "column '%s' is %s, the value is %s", name, tl_bind__type_text(b, type), tl_bind__type_text(b, value->type));
    return tl_bind__coerce(b, value, type, out);
}

/** The table's columns, with the assigned ones replaced. */
static tl_status assigned_columns(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, tl_plan *rows, tl_plan **out)
{
    int32_t n = table->row_type->n_fields;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)n * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)n * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        names[i] = table->row_type->fields[i].name;
        TL_TRY(tl_bind__column(b, i, table->row_type->fields[i].type, ast, &exprs[i]));
    }
    for (const tl_ast *set = tl_ast_first(ast->kid[1]); set != NULL; set = set->next) {
        tl_expr *value;
        int32_t column;
        TL_TRY(tl_sql__assigned_value(b, table, set, &column, &value));
        exprs[column] = value;
    }
    return tl_bind__project(b, rows, exprs, names, n, out);
}

static tl_status run_rows(tl_binder *b, const tl_sql_table *table, tl_plan *plan, uint8_t kind)
{
    TL_TRY(tl_plan__optimise(b, &plan));
    tl_reader *rows;
    tl_sql_env env = b->stmt->env;
    env.fixed_now_ms = tl_clock_now_ms(b->session->clock);
    TL_TRY(tl_exec__open(b->session, &env, plan, &rows, b->err));
    TL_TRY(tl_sql__with_kind(rows, kind, &rows, b->err));
    return tl_exec__write(b->session, table->table, rows, /* overwrite= */ false, NULL, b->err);
}

static const char *merge_engine(const tl_sql_table *table)
{
    const char *engine = tl_table_option(table->table, "merge-engine");
    return engine != NULL ? engine : "deduplicate";
}

static tl_status update_append(tl_binder *b, const tl_ast *ast, const tl_sql_table *table)
{
    tl_plan *scan, *values;
    tl_expr *condition;
    TL_TRY(scan_target(b, ast, ast->kid[2], &scan, &condition));
    TL_TRY(assigned_columns(b, ast, table, scan, &values));
    return tl_sql__change_append(b, ast, table, scan, condition, values);
}

static tl_status delete_append(tl_binder *b, const tl_ast *ast, const tl_sql_table *table)
{
    tl_plan *scan;
    tl_expr *condition;
    TL_TRY(scan_target(b, ast, ast->kid[2], &scan, &condition));
    return tl_sql__change_append(b, ast, table, scan, condition, /* values= */ NULL);
}

tl_status tl_sql__update(tl_binder *b, const tl_ast *ast)
{
    tl_sql_table *table;
    TL_TRY(target(b, ast, "UPDATE", &table));
    if (tl_table_config(table->table) != NULL && tl_table_config(table->table)->data_evolution)
        return tl_sql__update_evolution(b, ast, table);
    if (table->n_primary_key == 0 && rows_can_change(table))
        return update_append(b, ast, table);
    if (table->n_primary_key == 0) /* Flink's words, which scripts may know; DELETE and merge_into do without */
        return BIND_ERROR(b, ast, "org.apache.paimon.table.AppendOnlyFileStoreTable can not support update, because there is no primary key.");
    const char *engine = merge_engine(table);
    tl_plan *rows;
    TL_TRY(matching_rows(b, ast, ast->kid[2], &rows));
    TL_TRY(assigned_columns(b, ast, table, rows, &rows));
    if (strcmp(engine, "deduplicate") != 0 && strcmp(engine, "partial-update") != 0)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "Merge engine %s can not support batch update.", engine);
    return run_rows(b, table, rows, TL_KIND_UPDATE_AFTER);
}

/* Source: Java: PrimaryKeyTableUtils.validatePKUpsertDeletable. */
static tl_status check_takes_deletes(tl_binder *b, const tl_ast *ast, const tl_sql_table *table)
{
    const char *engine = merge_engine(table);
    const char *group = tl_table_option(table->table, "partial-update.remove-record-on-sequence-group");
    bool partial = strcmp(engine, "partial-update") == 0, sums = strcmp(engine, "aggregation") == 0;
    const char *removes = tl_table_option(table->table, sums ? "aggregation.remove-record-on-delete" : "partial-update.remove-record-on-delete");
    if (strcmp(engine, "deduplicate") == 0 || ((partial || sums) && removes != NULL && strcmp(removes, "true") == 0) || (partial && group != NULL))
        return TL_OK;
    if (!partial && !sums)
        return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "Merge engine %s can not support batch delete.", engine);
    return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "Merge engine %s can not support batch delete by default: set '%s' = 'true'%s", engine,
                        sums ? "aggregation.remove-record-on-delete" : "partial-update.remove-record-on-delete",
                        sums ? "" : ", or with sequence groups 'partial-update.remove-record-on-sequence-group'");
}

tl_status tl_sql__delete(tl_binder *b, const tl_ast *ast)
{
    tl_sql_table *table;
    TL_TRY(target(b, ast, "DELETE", &table));
    if (table->n_primary_key == 0)
        return delete_append(b, ast, table);
    TL_TRY(check_takes_deletes(b, ast, table));
    tl_plan *rows;
    TL_TRY(matching_rows(b, ast, ast->kid[2], &rows));
    if (rows->type->n_fields != table->row_type->n_fields) /* computed columns are not written */
        TL_TRY(assigned_columns(b, &(tl_ast){.kind = AST_UPDATE, .line = ast->line, .position = ast->position}, table, rows, &rows));
    return run_rows(b, table, rows, TL_KIND_DELETE);
}

tl_status tl_sql__truncate(tl_binder *b, const tl_ast *ast)
{
    tl_sql_table *table;
    TL_TRY(target(b, ast, "TRUNCATE TABLE", &table));
    tl_options every = {0}; /* a partition spec that names all of them */
    return tl_table_drop_partitions(table->table, &every, 1, b->err);
}

/* The columns of FOR COLUMNS, or of FOR ALL COLUMNS those that can have statistics. */
static tl_status analyzed_columns(tl_binder *b, const tl_ast *ast, const tl_type *row, int32_t **out, int32_t *n)
{
    const tl_ast *names = ast->kid[1];
    *n = 0;
    *out = tl_arena_alloc(b->arena, (size_t)(tl_ast_count(names) + row->n_fields + 1) * sizeof **out);
    BIND_ALLOC(b, *out);
    for (int32_t i = 0; names == NULL && (ast->flags & AST_F_ALL) && i < row->n_fields; i++)
        if (tl_table_has_column_stats(row->fields[i].type))
            (*out)[(*n)++] = i;
    for (const tl_ast *name = tl_ast_first(names); name != NULL; name = name->next) {
        int32_t at = tl_type_field_index(row, name->text);
        if (at < 0)
            return BIND_ERROR(b, name, "there is no column '%s'", name->text);
        bool twice = false;
        for (int32_t k = 0; k < *n; k++)
            twice = twice || (*out)[k] == at;
        if (!twice)
            (*out)[(*n)++] = at;
    }
    return TL_OK;
}

tl_status tl_sql__analyze(tl_binder *b, const tl_ast *ast)
{
    tl_sql_table *table;
    int32_t *columns, n;
    if (strcasecmp(ast->text, "COMPUTE") != 0)
        return BIND_ERROR(b, ast, "ANALYZE TABLE is followed by COMPUTE STATISTICS");
    TL_TRY(target(b, ast, "ANALYZE TABLE", &table));
    TL_TRY(analyzed_columns(b, ast, tl_table_row_type(table->table), &columns, &n));
    return tl_table_analyze(table->table, columns, n, NULL, b->session->pool, NULL, b->err);
}
