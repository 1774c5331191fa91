/*
 * CALL sys.merge_into: rows of a source table change, delete and add rows of a target. The reference makes queries of the
 * call's texts; so do we: each part is FROM … WHERE … with the target's columns as its result.
 */
#include "sql/commands.h"

typedef struct merge {
    tl_binder *b;
    const tl_ast *at;
    const tl_merge_into_spec *spec;
    const char *target_name, *source_name; /* as the conditions call them */
    tl_reader **readers; /* room for five */
    int32_t n;           /* parts so far */
    tl_row_changes *changes; /* of a target without a primary key; else NULL */
    bool *changed;           /* of a target with data evolution: per column, whether a part sets it; else NULL */
    tl_row_values *values;   /* of such a target */
} merge;

/** `a`.`b` of a.b; quoted names stay. */
static const char *quoted_path(merge *m, const char *path)
{
    if (strchr(path, '`') != NULL)
        return path;
    tl_buf buf = {0};
    tl_status status = tl_buf_append_byte(&buf, '`');
    for (const char *p = path; *p != '\0' && status == TL_OK; p++)
        status = *p == '.' ? tl_buf_append_str(&buf, "`.`") : tl_buf_append_byte(&buf, (uint8_t)*p);
    if (status == TL_OK)
        status = tl_buf_append_byte(&buf, '`');
    const char *text = status == TL_OK ? tl_arena_strndup(m->b->arena, (const char *)buf.data, buf.len) : NULL;
    tl_buf_deinit(&buf);
    return text;
}

/** The same of the table with its rows' ids. */
static const char *tracked_path(merge *m, const char *path)
{
    const char *quoted = quoted_path(m, path);
    size_t n = quoted == NULL ? 0 : strlen(quoted);
    if (n == 0)
        return NULL;
    bool open = quoted[n - 1] != '`'; /* a name without quotes behind one that has some */
    return tl_arena_strf(m->b->arena, "%.*s$row_tracking%s", (int)(open ? n : n - 1), quoted, open ? "" : "`");
}

static const char *last_name(merge *m, const char *path)
{
    const char *dot = strrchr(path, '.'), *name = dot != NULL ? dot + 1 : path;
    size_t n = strlen(name);
    return n > 1 && name[0] == '`' && name[n - 1] == '`' ? tl_arena_strndup(m->b->arena, name + 1, n - 2) : name;
}

/** The SELECT node of a statement's text. */
static tl_status parse_select(merge *m, const char *text, const char *what, const tl_ast **out)
{
    const tl_ast *ast;
    TL_TRY(tl_error_wrap(m->b->err, tl_sql__parse(m->b->arena, text, strlen(text), 1, &ast, m->b->err), "%s", what));
    if (ast->kind != AST_QUERY || ast->kid[1] == NULL || ast->kid[1]->kind != AST_SELECT)
        return BIND_ERROR(m->b, m->at, "%s: a condition or list is wanted, not a statement of its own", what);
    *out = ast->kid[1];
    return TL_OK;
}

/** The columns of one part: those of the target, from a list of values, from settings, or as they are. */
static tl_status value_exprs(merge *m, const char *text, const char *what, tl_expr **exprs)
{
    tl_binder *b = m->b;
    const tl_type *row = m->spec->target->row_type;
    const char *sql = tl_arena_strf(b->arena, "SELECT %s", text);
    const tl_ast *select;
    BIND_ALLOC(b, sql);
    TL_TRY(parse_select(m, sql, what, &select));
    if (tl_ast_count(select->kid[1]) != row->n_fields)
        return BIND_ERROR(b, m->at, "%s has %d values, the table %d columns", what, (int)tl_ast_count(select->kid[1]), (int)row->n_fields);
    int32_t i = 0;
    for (const tl_ast *item = tl_ast_first(select->kid[1]); item != NULL; item = item->next)
        TL_TRY(tl_bind__expr(b, item->kid[0], &exprs[i++]));
    return TL_OK;
}

/** Column `column` of one side. */
static tl_status column_of(merge *m, const char *side, const char *column, tl_expr **out)
{
    const char *text = tl_arena_strf(m->b->arena, "`%s`.`%s`", side, column);
    const tl_ast *ast;
    BIND_ALLOC(m->b, text);
    TL_TRY(tl_sql__parse_expr(m->b->arena, text, strlen(text), &ast, m->b->err));
    return tl_bind__expr(m->b, ast, out);
}

static tl_status all_columns(merge *m, const char *side, tl_expr **exprs)
{
    const tl_type *row = m->spec->target->row_type;
    for (int32_t i = 0; i < row->n_fields; i++)
        TL_TRY(column_of(m, side, row->fields[i].name, &exprs[i]));
    return TL_OK;
}

/** The UPDATE node of `column = value, …`. */
static tl_status parse_settings(merge *m, const char *text, const char *what, const tl_ast **out)
{
    tl_binder *b = m->b;
    const char *sql = tl_arena_strf(b->arena, "UPDATE t SET %s", text);
    const tl_ast *ast;
    BIND_ALLOC(b, sql);
    TL_TRY(tl_error_wrap(b->err, tl_sql__parse(b->arena, sql, strlen(sql), 1, &ast, b->err), "%s", what));
    if (ast->kind != AST_UPDATE || ast->kid[2] != NULL)
        return BIND_ERROR(b, m->at, "%s must be column = value, …", what);
    *out = ast;
    return TL_OK;
}

static tl_status setting_exprs(merge *m, const char *text, const char *what, tl_expr **exprs)
{
    tl_binder *b = m->b;
    const tl_type *row = m->spec->target->row_type;
    const tl_ast *ast;
    TL_TRY(parse_settings(m, text, what, &ast));
    TL_TRY(all_columns(m, m->target_name, exprs));
    for (const tl_ast *set = tl_ast_first(ast->kid[1]); set != NULL; set = set->next) {
        int32_t i = tl_type_field_index(row, tl_ast_last_name(set->kid[0]));
        if (i < 0)
            return BIND_ERROR(b, m->at, "%s: unknown target column '%s'", what, tl_ast_last_name(set->kid[0]));
        TL_TRY(tl_bind__expr(b, set->kid[1], &exprs[i]));
    }
    return TL_OK;
}

static bool is_star(const char *text)
{
    return strcmp(text, "*") == 0;
}

/** What the rows of a part are: `values` and `setting` NULL: the target's as they are. */
static tl_status bind_columns(merge *m, const char *values, const char *setting, const char *what, tl_expr **exprs)
{
    if ((values != NULL && is_star(values)) || (setting != NULL && is_star(setting)))
        return all_columns(m, m->source_name, exprs);
    if (values != NULL)
        return value_exprs(m, values, what, exprs);
    return setting != NULL ? setting_exprs(m, setting, what, exprs) : all_columns(m, m->target_name, exprs);
}

/* ---- parts of a target with data evolution ---- */

/** Which columns a list of settings changes; `*`: all but the partition's. */
static tl_status note_settings(merge *m, const char *text, const char *what)
{
    tl_binder *b = m->b;
    const tl_sql_table *target = m->spec->target;
    if (text == NULL)
        return TL_OK;
    if (is_star(text)) {
        memset(m->changed, true, (size_t)target->row_type->n_fields);
        for (int32_t i = 0; i < target->n_partition_key; i++)
            m->changed[target->partition_key[i]] = false;
        return TL_OK;
    }
    const tl_ast *ast;
    TL_TRY(parse_settings(m, text, what, &ast));
    for (const tl_ast *set = tl_ast_first(ast->kid[1]); set != NULL; set = set->next) {
        int32_t i = tl_type_field_index(target->row_type, tl_ast_last_name(set->kid[0]));
        for (int32_t k = 0; k < target->n_partition_key; k++) {
            if (target->partition_key[k] == i)
                return BIND_ERROR(b, m->at, "%s: column '%s' is a partition column: rows of a table with data evolution keep their partition", what,
                                  target->row_type->fields[i].name);
        }
        if (i >= 0) /* binding tells of the others */
            m->changed[i] = true;
    }
    return TL_OK;
}

/** Whether the source's value of a partition column is the row's own. */
static tl_status same_partition(merge *m, const char *column, tl_expr **out)
{
    const char *text = tl_arena_strf(m->b->arena, "`%s`.`%s` IS NOT DISTINCT FROM `%s`.`%s`", m->target_name, column, m->source_name, column);
    const tl_ast *ast;
    BIND_ALLOC(m->b, text);
    TL_TRY(tl_sql__parse_expr(m->b->arena, text, strlen(text), &ast, m->b->err));
    return tl_bind__expr(m->b, ast, out);
}

/** Of the values of all columns: the row's id, those of the columns that change, and for `*` whether the partition stays. */
static tl_status choose_values(merge *m, bool star, tl_expr **exprs, const char **names, int32_t *n)
{
    const tl_sql_table *target = m->spec->target;
    const tl_type *row = target->row_type;
    tl_expr **all = tl_arena_alloc(m->b->arena, (size_t)(row->n_fields + 1) * sizeof *all);
    BIND_ALLOC(m->b, all);
    memcpy(all, exprs, (size_t)row->n_fields * sizeof *all);
    TL_TRY(column_of(m, m->target_name, "_ROW_ID", &exprs[0]));
    names[0] = "_ROW_ID";
    *n = 1;
    for (int32_t i = 0; i < row->n_fields; i++) {
        if (!m->changed[i])
            continue;
        names[*n] = row->fields[i].name;
        exprs[(*n)++] = all[i];
    }
    for (int32_t i = 0; star && i < target->n_partition_key; i++) {
        names[*n] = tl_arena_strf(m->b->arena, "same %s", row->fields[target->partition_key[i]].name);
        BIND_ALLOC(m->b, names[*n]);
        TL_TRY(same_partition(m, row->fields[target->partition_key[i]].name, &exprs[(*n)++]));
    }
    return TL_OK;
}

/** FROM `from` WHERE `where`, projected to the target's columns, as rows of one kind. */
static tl_status add_part(merge *m, const char *from, const char *where, const char *values, const char *setting, const char *what, uint8_t kind)
{
    tl_binder *b = m->b;
    const tl_type *row = m->spec->target->row_type;
    /* Without a primary key the rows that go come first, whole, and what takes their place behind them. */
    bool with_old = m->changes != NULL && kind != TL_KIND_INSERT, with_new = m->changes == NULL || kind != TL_KIND_DELETE;
    int32_t n = 0, n_max = 2 * row->n_fields + 1;
    const char *sql = tl_arena_strf(b->arena, "SELECT 1 FROM %s%s%s", from, where != NULL ? " WHERE " : "", where != NULL ? where : "");
    const tl_ast *select;
    tl_plan *plan;
    tl_scope *scope;
    tl_expr *condition, **exprs = tl_arena_alloc(b->arena, (size_t)n_max * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)n_max * sizeof *names);
    BIND_ALLOC(b, sql);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    TL_TRY(parse_select(m, sql, what, &select));
    TL_TRY(tl_error_wrap(b->err, tl_bind__from(b, select->kid[2], &plan, &scope), "%s", what));
    b->scope = scope;
    if (select->kid[3] != NULL) {
        TL_TRY(tl_error_wrap(b->err, tl_bind__condition(b, select->kid[3], "WHERE", &condition), "%s", what));
        TL_TRY(tl_bind__filter(b, plan, condition, &plan));
    }
    if (with_old) {
        TL_TRY(tl_error_wrap(b->err, all_columns(m, m->target_name, exprs), "%s", what));
        n = row->n_fields;
    }
    if (with_new) {
        TL_TRY(tl_error_wrap(b->err, bind_columns(m, values, setting, what, exprs + n), "%s", what));
        n += row->n_fields;
    }
    for (int32_t i = 0; i < n; i++) {
        const tl_type *type = row->fields[i % row->n_fields].type;
        names[i] = i < row->n_fields ? row->fields[i].name : tl_arena_strf(b->arena, "new %s", row->fields[i - row->n_fields].name);
        BIND_ALLOC(b, names[i]);
        if (!tl_bind__can_cast_implicitly(exprs[i]->type, type))
            return BIND_ERROR(b, m->at, "%s: column '%s' is %s, the value is %s", what, names[i], tl_bind__type_text(b, type), tl_bind__type_text(b, exprs[i]->type));
        TL_TRY(tl_bind__coerce(b, exprs[i], type, &exprs[i]));
    }
    if (m->changed != NULL && kind != TL_KIND_INSERT)
        TL_TRY(choose_values(m, setting != NULL && is_star(setting), exprs, names, &n));
    TL_TRY(tl_bind__project(b, plan, exprs, names, n, &plan));
    b->scope = NULL;
    TL_TRY(tl_plan__optimise(b, &plan));
    tl_sql_env env = b->stmt->env;
    env.fixed_now_ms = tl_clock_now_ms(b->session->clock);
    tl_reader *rows;
    TL_TRY(tl_exec__open(b->session, &env, plan, &rows, b->err));
    if (m->values != NULL) {
        m->n++;
        return tl_sql__values_add(m->values, rows, /* inserts= */ kind == TL_KIND_INSERT, b->err);
    }
    if (m->changes != NULL) {
        m->n++;
        return tl_sql__changes_add(m->changes, rows, /* inserts= */ !with_old, b->err);
    }
    TL_TRY(tl_sql__with_kind(rows, kind, &rows, b->err));
    m->readers[m->n++] = rows;
    return TL_OK;
}

static tl_status run_statement(tl_sql_session *session, const char *text, int32_t line, tl_error *err)
{
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = NULL;
    TL_CLEANUP(tl_reader_freep) tl_reader *result = NULL;
    TL_TRY(tl_sql_prepare(session, text, line, &stmt, err));
    return tl_sql_execute(session, stmt, &result, err);
}

static tl_status run_source_sqls(merge *m)
{
    tl_sql_script *script;
    tl_binder *b = m->b;
    const char *text = m->spec->source_sqls;
    int32_t line;
    if (text == NULL)
        return TL_OK;
    TL_TRY(tl_sql_script_create(text, strlen(text), NULL, &script, b->err));
    tl_status status = tl_sql_script_next(script, &text, &line, b->err);
    while (status == TL_OK && text != NULL) {
        status = run_statement(b->session, text, line, b->err);
        if (status == TL_OK)
            status = tl_sql_script_next(script, &text, &line, b->err);
    }
    tl_sql_script_free(script);
    return tl_error_wrap(b->err, status, "source_sqls");
}

/** All parts that the call asks for, as readers. */
static tl_status open_parts(merge *m)
{
    const tl_merge_into_spec *s = m->spec;
    tl_arena *arena = m->b->arena;
    const char *target = m->changed != NULL ? tracked_path(m, s->target_path) : quoted_path(m, s->target_path), *source = quoted_path(m, s->source_table);
    BIND_ALLOC(m->b, target);
    BIND_ALLOC(m->b, source);
    const char *both = tl_arena_strf(arena, "%s AS `%s` INNER JOIN %s AS `%s` ON %s", target, m->target_name, source, m->source_name, s->condition);
    const char *only_source = tl_arena_strf(arena, "%s AS `%s`", source, m->source_name), *only_target = tl_arena_strf(arena, "%s AS `%s`", target, m->target_name);
    const char *no_target = tl_arena_strf(arena, "NOT EXISTS (SELECT * FROM %s AS `%s` WHERE %s) AND (%s)", target, m->target_name, s->condition,
                                          s->insert_condition != NULL ? s->insert_condition : "TRUE");
    const char *no_source = tl_arena_strf(arena, "NOT EXISTS (SELECT * FROM %s AS `%s` WHERE %s)", source, m->source_name, s->condition);
    const char *upsert = tl_arena_strf(arena, "%s AND (%s)", no_source, s->unmatched_upsert_condition != NULL ? s->unmatched_upsert_condition : "TRUE");
    const char *delete = tl_arena_strf(arena, "%s AND (%s)", no_source, s->unmatched_delete_condition != NULL ? s->unmatched_delete_condition : "TRUE");
    if (both == NULL || only_source == NULL || only_target == NULL || no_target == NULL || no_source == NULL || upsert == NULL || delete == NULL)
        return tl_nomem(m->b->err, "statement");
    if (s->matched_upsert_setting != NULL)
        TL_TRY(add_part(m, both, s->matched_upsert_condition, NULL, s->matched_upsert_setting, "matched_upsert", TL_KIND_UPDATE_AFTER));
    if (s->matched_delete_condition != NULL)
        TL_TRY(add_part(m, both, s->matched_delete_condition, NULL, NULL, "matched_delete", TL_KIND_DELETE));
    if (s->insert_values != NULL)
        TL_TRY(add_part(m, only_source, no_target, s->insert_values, NULL, "not_matched_insert", TL_KIND_INSERT));
    if (s->unmatched_upsert_setting != NULL)
        TL_TRY(add_part(m, only_target, upsert, NULL, s->unmatched_upsert_setting, "not_matched_by_source_upsert", TL_KIND_UPDATE_AFTER));
    if (s->unmatched_delete_condition != NULL)
        TL_TRY(add_part(m, only_target, delete, NULL, NULL, "not_matched_by_source_delete", TL_KIND_DELETE));
    return TL_OK;
}

/* The parts, as a batch job whatever the session runs. */
static tl_status find_rows(merge *m)
{
    bool streaming = m->b->streaming;
    TL_TRY(run_source_sqls(m));
    m->b->streaming = false;
    tl_status status = open_parts(m);
    m->b->streaming = streaming;
    if (status == TL_OK && m->n == 0)
        status = BIND_ERROR(m->b, m->at, "merge_into needs at least one of the matched and not matched parts");
    return status;
}

static tl_status merge_keyed(merge *m)
{
    m->readers = tl_calloc(5, sizeof *m->readers);
    if (m->readers == NULL)
        return tl_nomem(m->b->err, "query");
    tl_status status = find_rows(m);
    if (status != TL_OK) {
        for (int32_t i = 0; i < m->n; i++)
            tl_reader_free(m->readers[i]);
        tl_free(m->readers);
        return status;
    }
    tl_reader *all;
    TL_TRY(tl_reader_concat(m->spec->target->row_type, m->readers, m->n, &all, m->b->err));
    return tl_exec__write(m->b->session, m->spec->target->table, all, /* overwrite= */ false, NULL, m->b->err);
}

/* Flink's action refuses tables without a primary key; Spark's MERGE INTO changes those as UPDATE and DELETE do, as is done here. */
static tl_status merge_append(merge *m)
{
    const tl_sql_table *target = m->spec->target;
    TL_TRY(tl_table_check_deletable(target->table, m->b->err));
    TL_TRY(tl_sql__changes_create(target, &m->changes, m->b->err));
    tl_status status = find_rows(m);
    if (status == TL_OK)
        status = tl_sql__changes_commit(m->b, target, m->changes);
    tl_sql__changes_free(m->changes);
    return status;
}

/* The changed columns are written by themselves. What the reference does not do here is refused: rows of such tables cannot be deleted. */
static tl_status merge_evolution(merge *m)
{
    const tl_merge_into_spec *s = m->spec;
    const tl_sql_table *target = s->target;
    m->changed = tl_arena_calloc(m->b->arena, (size_t)target->row_type->n_fields + 1, sizeof *m->changed);
    BIND_ALLOC(m->b, m->changed);
    TL_TRY(tl_table_check_updatable(target->table, m->b->err));
    if (s->matched_delete_condition != NULL || s->unmatched_delete_condition != NULL)
        return BIND_ERROR(m->b, m->at, "rows of a table with data evolution cannot be deleted ('data-evolution.enabled' = 'true')");
    TL_TRY(note_settings(m, s->matched_upsert_setting, "matched_upsert"));
    TL_TRY(note_settings(m, s->unmatched_upsert_setting, "not_matched_by_source_upsert"));
    TL_TRY(tl_sql__values_create(target, m->changed, &m->values, m->b->err));
    tl_status status = find_rows(m);
    if (status == TL_OK)
        status = tl_sql__values_commit(m->b, target, m->values);
    tl_sql__values_free(m->values);
    return status;
}

tl_status tl_sql__merge_into(tl_binder *b, const tl_ast *at, const tl_merge_into_spec *spec)
{
    merge m = {.b = b, .at = at, .spec = spec};
    m.target_name = spec->target_alias != NULL ? spec->target_alias : spec->target->name;
    m.source_name = last_name(&m, spec->source_table);
    BIND_ALLOC(b, m.source_name);
    if (tl_table_config(spec->target->table) != NULL && tl_table_config(spec->target->table)->data_evolution)
        return merge_evolution(&m);
    return spec->target->n_primary_key == 0 ? merge_append(&m) : merge_keyed(&m);
}
