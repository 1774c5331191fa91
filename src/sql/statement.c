/* What a statement owns, and the ways in: prepare, execute, query. */
#include "sql/exec.h"

#define OWNED_MAX (1 << 24)

#define DEFINE_OWN(NAME, TYPE, LIST, RELEASE)                                                                                    \
    tl_status NAME(tl_sql_stmt_impl *stmt, TYPE *thing, tl_error *err)                                                          \
    {                                                                                                                            \
        if (stmt->n_##LIST == stmt->cap_##LIST) {                                                                                \
            size_t cap = stmt->cap_##LIST == 0 ? 32 : stmt->cap_##LIST * 2;                                                      \
            void *grown = cap <= OWNED_MAX ? tl_realloc(stmt->LIST, cap * sizeof(TYPE *)) : NULL;                                \
            if (grown == NULL) {                                                                                                 \
                RELEASE(thing);                                                                                                  \
                return tl_nomem(err, "statement");                                                                               \
            }                                                                                                                    \
            stmt->LIST = grown;                                                                                                  \
            stmt->cap_##LIST = cap;                                                                                              \
        }                                                                                                                        \
        stmt->LIST[stmt->n_##LIST++] = thing;                                                                                    \
        return TL_OK;                                                                                                            \
    }

static void options_free(tl_options *options)
{
    tl_options_deinit(options);
    tl_free(options);
}

DEFINE_OWN(tl_sql__own_type, const tl_type, types, tl_type_unref)
DEFINE_OWN(tl_sql__own_column, tl_column, columns, tl_column_unref)
DEFINE_OWN(tl_sql__own_table, tl_table, tables, tl_table_free)
DEFINE_OWN(tl_sql__own_predicate, tl_predicate, predicates, tl_predicate_free)
DEFINE_OWN(tl_sql__own_map_filter, tl_map_filter, map_filters, tl_map_filter_unref)

static DEFINE_OWN(own_options, tl_options, options, options_free)

tl_status tl_sql__new_options(tl_sql_stmt_impl *stmt, tl_options **out, tl_error *err)
{
    tl_options *options = tl_calloc(1, sizeof *options);
    if (options == NULL)
        return tl_nomem(err, "options");
    TL_TRY(own_options(stmt, options, err));
    *out = options;
    return TL_OK;
}

void tl_sql__stmt_deinit(tl_sql_stmt_impl *stmt)
{
    for (size_t i = 0; i < stmt->n_predicates; i++)
        tl_predicate_free(stmt->predicates[i]);
    for (size_t i = 0; i < stmt->n_map_filters; i++)
        tl_map_filter_unref(stmt->map_filters[i]);
    for (size_t i = 0; i < stmt->n_columns; i++)
        tl_column_unref(stmt->columns[i]);
    for (size_t i = 0; i < stmt->n_tables; i++)
        tl_table_free(stmt->tables[i]);
    for (size_t i = 0; i < stmt->n_types; i++)
        tl_type_unref(stmt->types[i]);
    for (size_t i = 0; i < stmt->n_options; i++)
        options_free(stmt->options[i]);
    tl_free(stmt->predicates);
    tl_free(stmt->map_filters);
    tl_free(stmt->columns);
    tl_free(stmt->tables);
    tl_free(stmt->types);
    tl_free(stmt->options);
    tl_arena_deinit(&stmt->arena);
}

void tl_sql_stmt_free(tl_sql_stmt *pub)
{
    if (pub == NULL)
        return;
    tl_sql__stmt_deinit((tl_sql_stmt_impl *)pub);
    tl_free(pub);
}

/* ---- prepare ---- */

static tl_status bind_inserts(tl_binder *b, const tl_ast *first, int32_t n, tl_sql_stmt_impl *stmt)
{
    stmt->pub.kind = TL_SQL_INSERT;
    stmt->pub.roots = tl_arena_calloc(&stmt->arena, (size_t)n, sizeof *stmt->pub.roots);
    BIND_ALLOC(b, stmt->pub.roots);
    for (const tl_ast *insert = first; insert != NULL && stmt->pub.n_roots < n; insert = insert->next) {
        tl_plan **root = &stmt->pub.roots[stmt->pub.n_roots];
        TL_TRY(tl_bind__insert(b, insert, root));
        TL_TRY(tl_plan__optimise(b, root));
        stmt->pub.n_roots++;
    }
    return TL_OK;
}

/** Intervals of a result as texts, PT24H and P14M, as Flink shows them. */
static tl_status show_intervals(tl_binder *b, tl_plan **root)
{
    int32_t n = (*root)->type->n_fields;
    bool any = false;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        const tl_field *f = &(*root)->type->fields[i];
        names[i] = f->name;
        TL_TRY(tl_bind__column(b, i, f->type, NULL, &exprs[i]));
        if (!tl_sql__is_interval(f->type))
            continue;
        any = true;
        TL_TRY(tl_bind__function(b, "$INTERVAL_TEXT", &exprs[i], 1, b->stmt->ast, &exprs[i]));
    }
    return any ? tl_bind__project(b, *root, exprs, names, n, root) : TL_OK;
}

tl_status tl_sql__bind_statement(tl_binder *b, const tl_ast *ast, tl_sql_stmt_impl *stmt)
{
    bool is_ctas = ast->kind == AST_CREATE_TABLE && ast->kid[6] != NULL;
    if (ast->kind == AST_INSERT)
        return bind_inserts(b, ast, 1, stmt);
    if (ast->kind == AST_STATEMENT_SET)
        return bind_inserts(b, tl_ast_first(ast->kid[0]), ast->kid[0]->count, stmt);
    if (ast->kind != AST_QUERY && !is_ctas) {
        stmt->pub.kind = TL_SQL_COMMAND;
        return TL_OK;
    }
    stmt->pub.kind = is_ctas ? TL_SQL_INSERT : TL_SQL_QUERY;
    stmt->pub.roots = tl_arena_calloc(&stmt->arena, 1, sizeof *stmt->pub.roots);
    BIND_ALLOC(b, stmt->pub.roots);
    TL_TRY(is_ctas ? tl_bind__ctas(b, ast, &stmt->pub.roots[0]) : tl_bind__query(b, ast, &stmt->pub.roots[0]));
    if (!is_ctas)
        TL_TRY(show_intervals(b, &stmt->pub.roots[0]));
    if (stmt->pub.roots[0] == NULL) { /* CREATE TABLE IF NOT EXISTS … AS: it is there */
        stmt->pub.kind = TL_SQL_COMMAND;
        return TL_OK;
    }
    stmt->pub.n_roots = 1;
    return tl_plan__optimise(b, &stmt->pub.roots[0]);
}

void tl_sql__binder_init(tl_binder *b, tl_sql_session *session, tl_sql_stmt_impl *stmt, tl_error *err)
{
    *b = (tl_binder){.session = session,
                     .stmt = stmt,
                     .arena = &stmt->arena,
                     .err = err,
                     .catalog = session->current_catalog,
                     .db = session->current_db,
                     .streaming = stmt->pub.streaming,
                     .joins_subqueries = stmt->pub.streaming};
}

tl_status tl_sql_prepare(tl_sql_session *session, const char *text, int32_t line, tl_sql_stmt **out, tl_error *err)
{
    tl_sql_stmt_impl *stmt = tl_calloc(1, sizeof *stmt);
    if (stmt == NULL)
        return tl_nomem(err, "statement");
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *guard = &stmt->pub;
    stmt->session = session;
    stmt->pub.line = line;
    stmt->pub.streaming = tl_sql__is_streaming(session);
    stmt->pub.dml_sync = tl_sql__bool_setting(session, "table.dml-sync", !stmt->pub.streaming);
    stmt->env = tl_sql_session_env(session);
    if (!stmt->pub.streaming)
        stmt->env.fixed_now_ms = tl_clock_now_ms(session->clock);
    stmt->pub.text = tl_arena_strdup(&stmt->arena, text);
    if (stmt->pub.text == NULL)
        return tl_nomem(err, "statement");
    TL_TRY(tl_sql__parse(&stmt->arena, stmt->pub.text, strlen(stmt->pub.text), line, &stmt->ast, err));
    tl_binder binder;
    tl_sql__binder_init(&binder, session, stmt, err);
    TL_TRY(tl_sql__bind_statement(&binder, stmt->ast, stmt));
    *out = TL_STEAL(guard);
    return TL_OK;
}

/* ---- execute ---- */

tl_status tl_sql_run_plan(tl_sql_session *session, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    tl_sql_env env = tl_sql_session_env(session);
    env.fixed_now_ms = tl_clock_now_ms(session->clock);
    return tl_exec__open(session, &env, plan, out, err);
}

tl_status tl_sql_execute(tl_sql_session *session, tl_sql_stmt *pub, tl_reader **out, tl_error *err)
{
    tl_sql_stmt_impl *stmt = (tl_sql_stmt_impl *)pub;
    *out = NULL;
    tl_sql_env env = stmt->env;
    env.fixed_now_ms = tl_clock_now_ms(session->clock);
    if (pub->kind == TL_SQL_QUERY)
        return tl_exec__open(session, &env, pub->roots[0], out, err);
    if (pub->kind == TL_SQL_COMMAND)
        return tl_sql__run_command(session, stmt, out, err);
    for (int32_t i = 0; i < pub->n_roots; i++)
        TL_TRY(tl_exec__sink(session, &env, pub->roots[i], err));
    return TL_OK;
}

/** A reader that owns the statement that it belongs to. */
typedef struct query_reader {
    tl_reader reader;
    tl_reader *in;
    tl_sql_stmt *stmt;
} query_reader;

static tl_status query_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    return tl_reader_next(((query_reader *)reader)->in, out, err);
}

static void query_free(tl_reader *reader)
{
    query_reader *r = (query_reader *)reader;
    tl_reader_free(r->in);
    tl_type_unref(r->reader.type);
    tl_sql_stmt_free(r->stmt);
    tl_free(r);
}

tl_status tl_sql_query(tl_sql_session *session, const char *text, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {query_next, query_free};
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = NULL;
    TL_TRY(tl_sql_prepare(session, text, 1, &stmt, err));
    tl_reader *in = NULL;
    TL_TRY(tl_sql_execute(session, stmt, &in, err));
    if (in == NULL)
        return tl_error_set(err, TL_E_INVALID, "the statement gives no rows");
    query_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        tl_reader_free(in);
        return tl_nomem(err, "query");
    }
    *r = (query_reader){.reader = {&ops, tl_type_ref(in->type)}, .in = in, .stmt = TL_STEAL(stmt)};
    *out = &r->reader;
    return TL_OK;
}
