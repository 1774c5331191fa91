/*
 * Commands: what is carried out at once and gives at most a small table of text. DDL is in ddl.c, ALTER TABLE in alter.c,
 * procedures in call.c.
 */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "sql/commands.h"

/* ---- results ---- */

tl_status tl_result__init(tl_result *r, const char *const *names, int32_t n, tl_error *err)
{
    *r = (tl_result){.n = n};
    tl_field *fields = tl_calloc((size_t)n, sizeof *fields);
    r->builders = tl_calloc((size_t)n, sizeof *r->builders);
    const tl_type *text = NULL;
    tl_status status = fields != NULL && r->builders != NULL ? tl_type_create(TL_VARCHAR, true, TL_LENGTH_MAX, 0, &text, err) : tl_nomem(err, "result");
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        fields[i] = (tl_field){.name = (char *)(uintptr_t)names[i], .id = -1, .type = text};
        status = tl_builder_create(text, &r->builders[i], err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, n, &r->type, err);
    tl_type_unref(text);
    tl_free(fields);
    return status;
}

static tl_status set_type(tl_result *r, int32_t column, tl_type_kind kind, tl_error *err)
{
    tl_field *fields = tl_memdup(r->type->fields, (size_t)r->n * sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "result");
    const tl_type *type = NULL, *row = NULL;
    tl_status status = tl_type_create(kind, true, 0, 0, &type, err);
    fields[column].type = type;
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, r->n, &row, err);
    tl_free(fields);
    tl_builder *builder = NULL;
    if (status == TL_OK)
        status = tl_builder_create(type, &builder, err);
    tl_type_unref(type);
    if (status != TL_OK) {
        tl_type_unref(row);
        return status;
    }
    tl_builder_free(r->builders[column]);
    r->builders[column] = builder;
    tl_type_unref(r->type);
    r->type = row;
    return TL_OK;
}

tl_status tl_result__make_boolean(tl_result *r, int32_t column, tl_error *err)
{
    return set_type(r, column, TL_BOOLEAN, err);
}

tl_status tl_result__make_bigint(tl_result *r, int32_t column, tl_error *err)
{
    return set_type(r, column, TL_BIGINT, err);
}

void tl_result__deinit(tl_result *r)
{
    for (int32_t i = 0; r->builders != NULL && i < r->n; i++)
        tl_builder_free(r->builders[i]);
    tl_free(r->builders);
    tl_type_unref(r->type);
}

tl_status tl_result__add(tl_result *r, const char *const *cells, tl_error *err)
{
    for (int32_t i = 0; i < r->n; i++) {
        tl_builder *builder = r->builders[i];
        tl_type_kind kind = r->type->fields[i].type->kind;
        tl_status status = cells[i] == NULL     ? tl_builder_null(builder)
                           : kind == TL_BOOLEAN ? tl_builder_bool(builder, strcmp(cells[i], "TRUE") == 0)
                           : kind == TL_BIGINT  ? tl_builder_int(builder, strtoll(cells[i], NULL, 10))
                                                : tl_builder_bytes(builder, cells[i], strlen(cells[i]));
        TL_TRY(tl_builder_error(r->builders[i], status, err));
    }
    r->rows++;
    return TL_OK;
}

tl_status tl_result__finish(tl_result *r, tl_reader **out, tl_error *err)
{
    tl_batch *batch;
    TL_TRY(tl_batch_create(r->type, r->rows, &batch, err));
    tl_status status = TL_OK;
    for (int32_t i = 0; i < r->n && status == TL_OK; i++)
        status = tl_builder_finish(r->builders[i], &batch->cols[i], err);
    if (status == TL_OK)
        return tl_reader_from_batch(batch, out, err);
    tl_batch_free(batch);
    return status;
}

/** One row of one column. */
tl_status tl_result__single(const char *name, const char *value, tl_reader **out, tl_error *err)
{
    TL_CLEANUP(tl_result__deinit) tl_result r = {0};
    TL_TRY(tl_result__init(&r, &name, 1, err));
    TL_TRY(tl_result__add(&r, &value, err));
    return tl_result__finish(&r, out, err);
}

/** SQL LIKE: % and _ only. */
bool tl_sql__like(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; pattern++, text++) {
        if (*pattern == '%') {
            while (*pattern == '%')
                pattern++;
            if (*pattern == '\0')
                return true;
            for (; *text != '\0'; text++) /* names are short: no need to be clever */
                if (tl_sql__like(text, pattern))
                    return true;
            return false;
        }
        if (*text == '\0' || (*pattern != '_' && *pattern != *text))
            return false;
    }
    return *text == '\0';
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/** LIKE, or ILIKE: of ASCII letters the case does not count. Names and patterns of a SHOW are short; what is longer is compared as it is. */
static bool like_pattern(const char *name, const char *pattern, bool any_case)
{
    char lower[2][512];
    const char *texts[2] = {name, pattern};
    if (!any_case || strlen(name) >= sizeof lower[0] || strlen(pattern) >= sizeof lower[1])
        return tl_sql__like(name, pattern);
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i <= strlen(texts[t]); i++)
            lower[t][i] = (char)tolower((unsigned char)texts[t][i]);
    return tl_sql__like(lower[0], lower[1]);
}

bool tl_sql__shows(const tl_ast *show, const char *name)
{
    const tl_ast *pattern = show != NULL && show->kind == AST_SHOW ? show->kid[1] : NULL;
    return pattern == NULL || like_pattern(name, pattern->text, (show->flags & AST_F_ANY_CASE) != 0) != ((show->flags & AST_F_NOT) != 0);
}

/** Names as rows of one column, sorted, filtered by LIKE of a SHOW. */
static tl_status names_result(const char *column, const char **names, size_t n, const tl_ast *show, tl_reader **out, tl_error *err)
{
    TL_CLEANUP(tl_result__deinit) tl_result r = {0};
    TL_TRY(tl_result__init(&r, &column, 1, err));
    if (n > 1)
        qsort(names, n, sizeof *names, compare_names);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
            continue;
        if (tl_sql__shows(show, names[i]))
            TL_TRY(tl_result__add(&r, &names[i], err));
    }
    return tl_result__finish(&r, out, err);
}

/* ---- SET ---- */

static tl_status run_set(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    tl_sql_session *session = b->session;
    if (ast->kid[0] != NULL)
        return tl_error_wrap(b->err, tl_sql_session_set(session, ast->kid[0]->text, ast->kid[1]->text, b->err), "line %d", (int)ast->line);
    static const char *const names[] = {"key", "value"};
    TL_CLEANUP(tl_result__deinit) tl_result r = {0};
    TL_TRY(tl_result__init(&r, names, 2, b->err));
    for (size_t i = 0; i < session->settings.count; i++) {
        const char *cells[] = {session->settings.keys[i], session->settings.values[i]};
        TL_TRY(tl_result__add(&r, cells, b->err));
    }
    return tl_result__finish(&r, out, b->err);
}

static tl_status run_reset(tl_binder *b, const tl_ast *ast)
{
    if (ast->kid[0] != NULL)
        return tl_sql_session_set(b->session, ast->kid[0]->text, NULL, b->err);
    while (b->session->settings.count > 0) {
        const char *key = tl_arena_strdup(b->arena, b->session->settings.keys[0]);
        BIND_ALLOC(b, key);
        TL_TRY(tl_sql_session_set(b->session, key, NULL, b->err));
    }
    return TL_OK;
}

/* ---- USE, SHOW ---- */

static tl_status run_use(tl_binder *b, const tl_ast *ast)
{
    if (strcmp(ast->text, "MODULES") == 0)
        return TL_OK; /* there is one module: core */
    const tl_ast *name = ast->kid[0];
    tl_status status;
    if (strcmp(ast->text, "CATALOG") == 0) {
        status = tl_sql__use_catalog(b->session, tl_ast_last_name(name), b->err);
    } else {
        if (name->count > 2)
            return BIND_ERROR(b, name, "a database's name has at most two parts: catalog.database");
        const char *catalog = name->count == 2 ? tl_ast_first(name)->text : b->catalog;
        status = tl_sql__use_database(b->session, catalog, tl_ast_last_name(name), b->err);
    }
    return tl_error_wrap(b->err, status, "line %d:%d", (int)ast->line, (int)ast->position);
}

/** Tables and views that are visible in a database. */
static tl_status list_objects(tl_binder *b, const char *catalog_name, const char *db, bool views_only, const char ***out, size_t *n)
{
    tl_sql_session *session = b->session;
    const tl_sql_catalog *catalog = tl_sql__catalog(session, catalog_name);
    if (catalog == NULL)
        return tl_error_set(b->err, TL_E_NOT_FOUND, "a catalog with name [%s] does not exist", catalog_name);
    char **tables = NULL;
    size_t n_tables = 0;
    if (catalog->lake != NULL && !views_only)
        TL_TRY(tl_catalog_list_tables(catalog->lake, db, &tables, &n_tables, b->err));
    const char **names = tl_arena_alloc(b->arena, (n_tables + session->n_objects + 1) * sizeof *names);
    bool good = names != NULL;
    *n = 0;
    for (size_t i = 0; i < n_tables && good; i++)
        good = (names[(*n)++] = tl_arena_strdup(b->arena, tables[i])) != NULL;
    tl_names_free(tables, n_tables);
    BIND_ALLOC(b, good ? names : NULL);
    for (size_t i = 0; i < session->n_objects; i++) {
        const tl_sql_object *o = session->objects[i];
        if (strcmp(o->catalog, catalog_name) == 0 && strcmp(o->db, db) == 0 && (!views_only || o->is_view))
            names[(*n)++] = o->name;
    }
    *out = names;
    return TL_OK;
}

static tl_status show_databases(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    const char *name = ast->kid[0] != NULL ? tl_ast_last_name(ast->kid[0]) : b->catalog;
    const tl_sql_catalog *catalog = tl_sql__catalog(b->session, name);
    if (catalog == NULL)
        return tl_error_set(b->err, TL_E_NOT_FOUND, "a catalog with name [%s] does not exist", name);
    char **list = catalog->databases;
    size_t n = catalog->n_databases;
    if (catalog->lake != NULL)
        TL_TRY(tl_catalog_list_databases(catalog->lake, &list, &n, b->err));
    tl_status status = names_result("database name", (const char **)list, n, ast, out, b->err);
    if (catalog->lake != NULL)
        tl_names_free(list, n);
    return status;
}

static tl_status show_functions(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    size_t n = 0;
    while (tl_fn_at(n) != NULL)
        n++;
    const char **names = tl_arena_alloc(b->arena, (n + 1) * sizeof *names);
    BIND_ALLOC(b, names);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = tl_fn_at(i)->name;
        if (name[0] < 'A' || name[0] > 'Z' || strchr(name, ' ') != NULL)
            continue;
        char *lower = tl_arena_strdup(b->arena, name); /* as Flink shows its own */
        BIND_ALLOC(b, lower);
        for (char *p = lower; *p != '\0'; p++)
            *p = (char)tolower((unsigned char)*p);
        names[k++] = lower;
    }
    return names_result("function name", names, k, ast, out, b->err);
}

/** The columns of PARTITION (k = v, …) and their values, as the partitions' names have them. */
static tl_status partition_filter(tl_binder *b, const tl_sql_table *table, const tl_ast *spec, const char **wanted)
{
    for (const tl_ast *o = tl_ast_first(spec); o != NULL; o = o->next) {
        int32_t k = 0;
        while (k < table->n_partition_key && strcmp(table->row_type->fields[table->partition_key[k]].name, o->kid[0]->text) != 0)
            k++;
        if (k == table->n_partition_key || o->kid[1] == NULL)
            return BIND_ERROR(b, o, "PARTITION of SHOW PARTITIONS takes partition columns and their values");
        tl_expr *e;
        tl_column *value;
        TL_TRY(tl_bind__expr(b, o->kid[1], &e));
        TL_TRY(tl_bind__coerce(b, e, table->row_type->fields[table->partition_key[k]].type, &e));
        TL_TRY(tl_bind__fold(b, e, &value));
        if (value == NULL)
            return BIND_ERROR(b, o, "the value of a partition must be constant");
        tl_buf text = {0};
        tl_status status = tl_text_append_plain(&text, value, 0);
        wanted[k] = status == TL_OK ? tl_arena_strndup(b->arena, (const char *)text.data, text.len) : NULL;
        tl_buf_deinit(&text);
        tl_column_unref(value);
        BIND_ALLOC(b, wanted[k]);
    }
    return TL_OK;
}

/** The value of a partition as its folder has it: NULL and blank texts have one name. */
static tl_status append_partition_value(tl_buf *buf, const tl_column *col, int64_t i, const char *default_name)
{
    size_t from = buf->len;
    if (!tl_col_is_null(col, i))
        TL_TRY(tl_text_append_plain(buf, col, i));
    if (!tl_partition_value_is_blank((tl_bytes_view){buf->data + from, buf->len - from}))
        return TL_OK;
    buf->len = from;
    return tl_buf_append_str(buf, default_name);
}

static tl_status show_partitions(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    tl_sql_table *table;
    tl_sql_object *object;
    TL_TRY(tl_bind__table(b, ast->kid[0], NULL, &table, &object));
    if (table == NULL || table->kind != TL_SQL_TABLE_LAKE || table->n_partition_key == 0)
        return BIND_ERROR(b, ast, "table '%s' is not partitioned", tl_ast_last_name(ast->kid[0]));
    const char **wanted = tl_arena_calloc(b->arena, (size_t)table->n_partition_key, sizeof *wanted);
    BIND_ALLOC(b, wanted);
    TL_TRY(partition_filter(b, table, ast->kid[2], wanted));
    const char *names[] = {"partition name"};
    TL_CLEANUP(tl_result__deinit) tl_result r = {0};
    TL_TRY(tl_result__init(&r, names, 1, b->err));
    const char *default_name = tl_table_config(table->table)->partition_default_name;
    /* The distinct partitions come from a read of the partition columns alone. */
    tl_map seen = {0};
    tl_scan_spec spec = {.columns = table->partition_key, .n_columns = table->n_partition_key, .limit = -1};
    TL_CLEANUP(tl_reader_freep) tl_reader *rows = NULL;
    tl_status status = tl_table_read(table->table, &spec, &rows, b->err);
    while (status == TL_OK) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(rows, &batch, b->err);
        if (status != TL_OK || batch == NULL)
            break;
        for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++) {
            tl_buf buf = {0};
            bool shown = true;
            for (int32_t k = 0; k < batch->n_cols && status == TL_OK; k++) {
                status = tl_buf_appendf(&buf, "%s%s=", k > 0 ? "/" : "", batch->type->fields[k].name);
                size_t from = buf.len;
                if (status == TL_OK)
                    status = append_partition_value(&buf, batch->cols[k], i, default_name);
                shown = shown && (wanted[k] == NULL || (buf.len - from == strlen(wanted[k]) && memcmp(buf.data + from, wanted[k], buf.len - from) == 0));
            }
            char *text = NULL;
            if (status == TL_OK && shown && tl_map_get(&seen, buf.data, buf.len) == NULL) {
                status = tl_map_put(&seen, buf.data, buf.len, b, NULL);
                if (status == TL_OK)
                    status = tl_buf_steal_str(&buf, &text);
                const char *cell = text;
                if (status == TL_OK)
                    status = tl_result__add(&r, &cell, b->err);
            }
            tl_free(text);
            tl_buf_deinit(&buf);
        }
    }
    tl_map_deinit(&seen);
    TL_TRY(status);
    return tl_result__finish(&r, out, b->err);
}

static tl_status show_full_modules(tl_binder *b, tl_reader **out)
{
    static const char *const names[] = {"module name", "used"};
    static const char *const cells[] = {"core", "TRUE"};
    TL_CLEANUP(tl_result__deinit) tl_result r = {0};
    TL_TRY(tl_result__init(&r, names, 2, b->err));
    TL_TRY(tl_result__make_boolean(&r, 1, b->err));
    TL_TRY(tl_result__add(&r, cells, b->err));
    return tl_result__finish(&r, out, b->err);
}

static tl_status run_show(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    const char *what = ast->text;
    if (strcmp(what, "CATALOGS") == 0) {
        const char **names = tl_arena_alloc(b->arena, (b->session->n_catalogs + 1) * sizeof *names);
        BIND_ALLOC(b, names);
        for (size_t i = 0; i < b->session->n_catalogs; i++)
            names[i] = b->session->catalogs[i].name;
        return names_result("catalog name", names, b->session->n_catalogs, ast, out, b->err);
    }
    if (strcmp(what, "CURRENT CATALOG") == 0)
        return tl_result__single("current catalog name", b->session->current_catalog, out, b->err);
    if (strcmp(what, "CURRENT DATABASE") == 0)
        return tl_result__single("current database name", b->session->current_db, out, b->err);
    if (strcmp(what, "DATABASES") == 0)
        return show_databases(b, ast, out);
    if (strcmp(what, "TABLES") == 0 || strcmp(what, "VIEWS") == 0) {
        const tl_ast *from = ast->kid[0];
        const char *db = from != NULL ? tl_ast_last_name(from) : b->db;
        const char *catalog = from != NULL && from->count > 1 ? tl_ast_first(from)->text : b->catalog;
        const char **names;
        size_t n;
        bool views = what[0] == 'V';
        TL_TRY(list_objects(b, catalog, db, views, &names, &n));
        return names_result(views ? "view name" : "table name", names, n, ast, out, b->err);
    }
    if (strcmp(what, "FUNCTIONS") == 0)
        return show_functions(b, ast, out);
    if (strcmp(what, "PROCEDURES") == 0) {
        size_t n = 0;
        const char **names = tl_arena_alloc(b->arena, 64 * sizeof *names);
        BIND_ALLOC(b, names);
        for (tl_sql_procedure p; n < 64 && tl_sql_procedure_at(n, &p); n++)
            names[n] = p.name;
        return names_result("procedure name", names, n, ast, out, b->err);
    }
    if (strcmp(what, "PARTITIONS") == 0)
        return show_partitions(b, ast, out);
    if (strcmp(what, "COLUMNS") == 0 && ast->kid[0] != NULL)
        return tl_sql__describe(b, ast->kid[0], ast, out);
    if (strncmp(what, "CREATE ", 7) == 0)
        return tl_sql__show_create(b, ast, out);
    if (strcmp(what, "MODULES") == 0)
        return tl_result__single("module name", "core", out, b->err);
    if (strcmp(what, "FULL MODULES") == 0)
        return show_full_modules(b, out);
    const char *column = "name"; /* USER FUNCTIONS, JOBS, JARS: there are none */
    TL_CLEANUP(tl_result__deinit) tl_result r = {0};
    TL_TRY(tl_result__init(&r, &column, 1, b->err));
    return tl_result__finish(&r, out, b->err);
}

/* ---- EXPLAIN ---- */

static tl_status run_explain(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    tl_sql_stmt_impl *stmt = b->stmt;
    TL_TRY(tl_sql__bind_statement(b, ast->kid[0], stmt));
    if (stmt->pub.n_roots == 0)
        return BIND_ERROR(b, ast, "EXPLAIN is for queries and INSERT");
    tl_buf buf = {0};
    tl_status status = TL_OK;
    for (int32_t i = 0; i < stmt->pub.n_roots && status == TL_OK; i++)
        status = tl_plan_format(stmt->pub.roots[i], &buf);
    stmt->pub.kind = TL_SQL_COMMAND;
    char *text = NULL;
    if (status == TL_OK)
        status = tl_buf_steal_str(&buf, &text);
    if (status == TL_OK)
        status = tl_result__single("result", text, out, b->err);
    else
        status = tl_nomem(b->err, "EXPLAIN");
    tl_free(text);
    tl_buf_deinit(&buf);
    return status;
}

/* ---- all ---- */

tl_status tl_sql__run_command(tl_sql_session *session, tl_sql_stmt_impl *stmt, tl_reader **out, tl_error *err)
{
    tl_binder binder, *b = &binder;
    tl_sql__binder_init(b, session, stmt, err);
    const tl_ast *ast = stmt->ast;
    bool existed;
    switch (ast->kind) {
    case AST_SET:
        return run_set(b, ast, out);
    case AST_RESET:
        return run_reset(b, ast);
    case AST_CREATE_CATALOG:
        return tl_sql__create_catalog(b, ast);
    case AST_CREATE_DATABASE:
        return tl_sql__create_database(b, ast);
    case AST_CREATE_TABLE:
        return ast->kid[6] != NULL ? TL_OK : tl_sql__create_table(session, stmt, ast, NULL, &existed, err);
    case AST_CREATE_VIEW:
        return tl_sql__create_view(b, ast);
    case AST_DROP:
        return tl_sql__drop(b, ast);
    case AST_CREATE_FUNCTION:
        return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: function '%s': functions of one's own are Java classes ('%s'), which are not run here; "
                                                   "an expression of built-in functions can stand in a view",
                            (int)ast->line, (int)ast->position, tl_ast_last_name(ast->kid[0]), ast->kid[1]->text);
    case AST_USE:
        return run_use(b, ast);
    case AST_SHOW:
        return run_show(b, ast, out);
    case AST_DESCRIBE:
        return tl_sql__describe(b, ast->kid[0], ast, out);
    case AST_EXPLAIN:
        return run_explain(b, ast, out);
    case AST_ALTER_TABLE:
        return tl_sql__alter_table(b, ast);
    case AST_ALTER_DATABASE:
        return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: a file system catalog keeps no options of a database", (int)ast->line, (int)ast->position);
    case AST_CALL_PROCEDURE:
        return tl_sql__call_procedure(b, ast, out);
    case AST_UPDATE:
        return tl_sql__update(b, ast);
    case AST_DELETE:
        return tl_sql__delete(b, ast);
    case AST_TRUNCATE:
        return tl_sql__truncate(b, ast);
    case AST_ANALYZE:
        return tl_sql__analyze(b, ast);
    default:
        return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: this statement is not there yet", (int)ast->line, (int)ast->position);
    }
}

/* ---- completion ---- */

static bool has_prefix(const char *word, const char *prefix)
{
    return strncasecmp(word, prefix, strlen(prefix)) == 0;
}

static tl_status add_word(char ***names, size_t *n, const char *word, const char *prefix)
{
    if (!has_prefix(word, prefix))
        return TL_OK;
    for (size_t i = 0; i < *n; i++)
        if (strcmp((*names)[i], word) == 0)
            return TL_OK;
    char *copy = tl_strdup(word);
    char **grown = copy != NULL ? tl_realloc(*names, (*n + 1) * sizeof **names) : NULL;
    if (grown == NULL) {
        tl_free(copy);
        return TL_E_NOMEM;
    }
    *names = grown;
    grown[(*n)++] = copy;
    return TL_OK;
}

static tl_status complete_objects(tl_sql_session *session, const char *prefix, char ***names, size_t *n)
{
    for (size_t i = 0; i < session->n_catalogs; i++)
        TL_TRY(add_word(names, n, session->catalogs[i].name, prefix));
    for (size_t i = 0; i < session->n_objects; i++) {
        TL_TRY(add_word(names, n, session->objects[i]->name, prefix));
        for (int32_t k = 0; k < session->objects[i]->n_columns; k++)
            TL_TRY(add_word(names, n, session->objects[i]->columns[k].name, prefix));
    }
    const tl_sql_catalog *catalog = tl_sql__catalog(session, session->current_catalog);
    if (catalog == NULL || catalog->lake == NULL)
        return TL_OK;
    char **tables;
    size_t n_tables;
    if (tl_catalog_list_tables(catalog->lake, session->current_db, &tables, &n_tables, NULL) != TL_OK)
        return TL_OK; /* completion is a help, no more */
    tl_status status = TL_OK;
    for (size_t i = 0; i < n_tables && status == TL_OK; i++) {
        status = add_word(names, n, tables[i], prefix);
        tl_table *table;
        if (status != TL_OK || n_tables > 50 || tl_table_open(catalog->lake, session->current_db, tables[i], NULL, &table, NULL) != TL_OK)
            continue;
        const tl_type *row = tl_table_row_type(table);
        for (int32_t k = 0; k < row->n_fields && status == TL_OK; k++)
            status = add_word(names, n, row->fields[k].name, prefix);
        tl_table_free(table);
    }
    tl_names_free(tables, n_tables);
    return status;
}

tl_status tl_sql_complete(tl_sql_session *session, const char *prefix, char ***names, size_t *n, tl_error *err)
{
    char **list = NULL;
    size_t count = 0;
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && tl_sql__keyword(i) != NULL; i++)
        status = add_word(&list, &count, tl_sql__keyword(i), prefix);
    for (size_t i = 0; status == TL_OK && tl_fn_at(i) != NULL; i++) {
        const char *name = tl_fn_at(i)->name;
        if (name[0] >= 'A' && name[0] <= 'Z' && strchr(name, ' ') == NULL)
            status = add_word(&list, &count, name, prefix);
    }
    if (status == TL_OK)
        status = complete_objects(session, prefix, &list, &count);
    if (status != TL_OK) {
        tl_names_free(list, count);
        return tl_nomem(err, "completion");
    }
    if (count > 1)
        qsort(list, count, sizeof *list, compare_names);
    *names = list;
    *n = count;
    return TL_OK;
}
