/*
 * CALL sys.name(…): what the reference's procedures do. Arguments come by position or by name; all are constants, taken as text.
 */
#include "sql/procedures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "sql/text_util.h"

/* ---- what procedures use ---- */

tl_status tl_call__integer(const tl_call *c, const char *text, const char *what, int64_t or_else, int64_t *out)
{
    if (text == NULL) {
        *out = or_else;
        return TL_OK;
    }
    return tl_error_wrap(c->b->err, tl_parse_int(text, 0, INT64_MAX, out, c->b->err), "%s", what);
}

/* A cell of the result more. */
tl_status tl_call__add_cell(tl_call *c, const char *text)
{
    char **cells = tl_realloc(c->cells, (c->n_cells + 1) * sizeof *cells);
    if (cells == NULL)
        return tl_nomem(c->b->err, "result");
    c->cells = cells;
    cells[c->n_cells] = tl_strdup(text);
    if (cells[c->n_cells] == NULL)
        return tl_nomem(c->b->err, "result");
    c->n_cells++;
    return TL_OK;
}

tl_status tl_call__add_number(tl_call *c, int64_t v)
{
    char text[24] = "null";
    if (v != TL_ABSENT)
        snprintf(text, sizeof text, "%lld", (long long)v);
    return tl_call__add_cell(c, text);
}

/* What is done with the partitions of an argument, which may be NULL: none. */
tl_status tl_call__with_partitions(tl_call *c, const char *text, tl_status (*run)(tl_call *c, const tl_options *specs, size_t n))
{
    tl_options *specs = NULL;
    size_t n = 0;
    tl_error malformed;
    tl_status status = text == NULL ? TL_OK : tl_partition_specs_parse(text, &specs, &n, &malformed);
    if (status == TL_E_INVALID)
        return BIND_ERROR(c->b, c->ast, "%s", malformed.message);
    if (status != TL_OK)
        return tl_nomem(c->b->err, "partition");
    status = run(c, specs, n);
    tl_partition_specs_free(specs, n);
    return status;
}

/* Age of what lies before a timestamp, text in the session's zone. */
tl_status tl_call__age_of(const tl_call *c, const char *text, const char *what, int64_t *out)
{
    int64_t millis;
    int32_t nanos;
    if (text == NULL)
        return TL_OK;
    if (!tl_parse_timestamp((tl_bytes_view){(const uint8_t *)text, strlen(text)}, &millis, &nanos))
        return BIND_ERROR(c->b, c->ast, "'%s' is no timestamp: '%s'", what, text);
    *out = tl_clock_now_ms(c->b->session->clock) - tl_tz_to_utc_ms(c->b->session->zone, millis);
    return TL_OK;
}

/* ---- patterns of names ---- */

static tl_status compile(const tl_call *c, const char *pattern, tl_regex **out)
{
    if (pattern == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *whole = tl_strf("^(?:%s)$", pattern);
    if (whole == NULL)
        return tl_nomem(c->b->err, "pattern");
    return tl_error_wrap(c->b->err, tl_regex__compile((tl_bytes_view){(const uint8_t *)whole, strlen(whole)}, out, c->b->err), "pattern '%s'", pattern);
}

tl_status tl_call__filter(const tl_call *c, const char *including, const char *excluding, tl_name_filter *out)
{
    *out = (tl_name_filter){0};
    tl_status status = compile(c, including, &out->including);
    if (status == TL_OK)
        status = compile(c, excluding, &out->excluding);
    if (status != TL_OK)
        tl_name_filter_deinit(out);
    return status;
}

tl_status tl_call__is_chosen(const tl_call *c, const tl_name_filter *filter, const char *name, bool *out)
{
    size_t groups[2];
    int n;
    const tl_bytes_view text = {(const uint8_t *)name, strlen(name)};
    bool excluded = false;
    *out = true;
    if (filter->including != NULL)
        TL_TRY(tl_regex__find(filter->including, text, 0, groups, 1, &n, out, c->b->err));
    if (filter->excluding != NULL)
        TL_TRY(tl_regex__find(filter->excluding, text, 0, groups, 1, &n, &excluded, c->b->err));
    *out = *out && !excluded;
    return TL_OK;
}

void tl_name_filter_deinit(tl_name_filter *filter)
{
    tl_regex__free(filter->including);
    tl_regex__free(filter->excluding);
    *filter = (tl_name_filter){0};
}

/* ---- the procedures ---- */

/* What the reference has and is not here, and why. */
static const struct {
    const char *name, *reason;
} refused[] = {
    {"copy_files", "use the command 'tidelake clone'"},
    {"migrate_database", "there is no metastore; the command 'tidelake import' takes folders of files"},
    {"repair", "there is no metastore; 'tidelake fsck --repair' mends a table"},
    {"query_service", "it needs a cluster"},
    {"create_function", "it needs a REST catalog"},
    {"alter_function", "it needs a REST catalog"},
    {"drop_function", "it needs a REST catalog"},
    {"alter_view_dialect", "it needs a REST catalog"},
    {"create_global_index", "there are no global indexes"},
    {"vector_search", "there are no global indexes"},
    {"init_file_based_privilege", "there are no users and privileges"},
    {"create_privileged_user", "there are no users and privileges"},
    {"drop_privileged_user", "there are no users and privileges"},
    {"grant_privilege_to_user", "there are no users and privileges"},
    {"revoke_privilege_from_user", "there are no users and privileges"},
};

static tl_status unknown(tl_binder *b, const tl_ast *ast, const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(refused); i++) {
        if (strcasecmp(refused[i].name, name) == 0)
            return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "procedure %s is not supported: %s", name, refused[i].reason);
    }
    return BIND_ERROR(b, ast, "No match found for function signature %s(…): there is no such procedure", name);
}

static tl_status constant_text(tl_binder *b, const tl_ast *ast, const char **out)
{
    tl_expr *e;
    TL_TRY(tl_bind__expr(b, ast, &e));
    if (e->kind != TL_EXPR_LITERAL)
        return BIND_ERROR(b, ast, "arguments of a procedure must be constant");
    *out = NULL;
    if (tl_col_is_null(e->literal, 0) || (tl_sql__is_text(e->type) && tl_col_bytes(e->literal, 0).len == 0)) /* '' is left out too */
        return TL_OK;
    tl_buf buf = {0};
    tl_status status = tl_text_append_plain(&buf, e->literal, 0);
    if (status == TL_OK)
        *out = tl_arena_strndup(b->arena, (const char *)buf.data, buf.len);
    tl_buf_deinit(&buf);
    BIND_ALLOC(b, *out);
    return status;
}

tl_status tl_sql__options_of_list(tl_binder *b, const tl_ast *at, const char *text, tl_options *out)
{
    tl_bytes_view piece;
    for (const char *rest = text; tl_list_next(&rest, &piece);) {
        const char *equals = memchr(piece.data, '=', piece.len);
        if (equals == NULL)
            return BIND_ERROR(b, at, "'%s' is no list of options (a=1,b=2)", text);
        size_t n = (size_t)(equals - (const char *)piece.data);
        TL_CLEANUP(tl_freep) char *key = tl_strndup((const char *)piece.data, n);
        TL_CLEANUP(tl_freep) char *value = tl_strndup(equals + 1, piece.len - n - 1);
        if (key == NULL || value == NULL || tl_options_set(out, key, value) != TL_OK)
            return tl_nomem(b->err, "options");
    }
    return TL_OK;
}

static tl_status bind_options(tl_call *c, const tl_procedure *p)
{
    const char *name;
    for (size_t i = 0; (name = tl_procedure__argument(p, i)) != NULL; i++) {
        const char *option = tl_procedure__option(name);
        if (c->args[i] != NULL && (strcmp(name, "options") == 0 || strcmp(name, "table_options") == 0))
            TL_TRY(tl_sql__options_of_list(c->b, c->ast, c->args[i], &c->options));
        else if (c->args[i] != NULL && option != NULL && tl_options_set(&c->options, option, c->args[i]) != TL_OK)
            return tl_nomem(c->b->err, "options");
    }
    return TL_OK;
}

static tl_status bind_arguments(tl_call *c, const tl_procedure *p)
{
    tl_binder *b = c->b;
    const char *name;
    size_t position = 0;
    for (const tl_ast *arg = tl_ast_first(c->ast->kid[1]); arg != NULL; arg = arg->next) {
        size_t i = position++;
        if (arg->kind == AST_ARG) {
            for (i = 0; (name = tl_procedure__argument(p, i)) != NULL && strcasecmp(name, arg->text) != 0;)
                i++;
        }
        if (tl_procedure__argument(p, i) == NULL)
            return arg->kind == AST_ARG ? BIND_ERROR(b, arg, "procedure %s has no argument '%s'", p->name, arg->text)
                                        : BIND_ERROR(b, arg, "procedure %s takes fewer arguments", p->name);
        TL_TRY(constant_text(b, arg->kind == AST_ARG ? arg->kid[0] : arg, &c->args[i]));
    }
    for (size_t i = 0; (name = tl_procedure__argument(p, i)) != NULL; i++)
        if (c->args[i] == NULL && tl_procedure__requires(p, i))
            return BIND_ERROR(b, c->ast, "CALL %s: the procedure needs the argument '%s'", p->name, name);
    /* rollback_to and others take a snapshot number where the tag stands. */
    if (strcmp(p->name, "rollback_to") == 0 && c->args[1] != NULL && c->args[2] == NULL && c->args[1][strspn(c->args[1], "0123456789")] == '\0' && c->args[1][0] != '\0') {
        c->args[2] = c->args[1];
        c->args[1] = NULL;
    }
    return bind_options(c, p);
}

/** 'db.table' or 'table' of the procedure's catalog. */
static tl_status open_table(tl_call *c, const char *catalog)
{
    tl_binder *b = c->b;
    const char *dot = strchr(c->args[0], '.');
    const char *db = dot != NULL ? tl_arena_strndup(b->arena, c->args[0], (size_t)(dot - c->args[0])) : b->db;
    BIND_ALLOC(b, db);
    tl_ast ids[3] = {{.kind = AST_ID, .text = catalog}, {.kind = AST_ID, .text = db}, {.kind = AST_ID, .text = dot != NULL ? dot + 1 : c->args[0]}};
    ids[0].next = &ids[1];
    ids[1].next = &ids[2];
    const tl_ast name = {.kind = AST_NAME, .count = 3, .kid = {&ids[0], &ids[2]}, .line = c->ast->line, .position = c->ast->position};
    tl_sql_object *object;
    TL_TRY(tl_bind__table(b, &name, c->options.count > 0 ? &c->options : NULL, &c->table, &object));
    if (c->table == NULL || c->table->kind != TL_SQL_TABLE_LAKE)
        return BIND_ERROR(b, c->ast, "'%s' is no table of a lake", c->args[0]);
    return TL_OK;
}

static tl_status tell(const tl_call *c, tl_reader **out)
{
    if (c->n_cells == 0 && c->none != NULL)
        return tl_result__single(c->columns[0], c->none, out, c->b->err);
    tl_result r;
    TL_TRY(tl_result__init(&r, c->columns, c->n_columns, c->b->err));
    tl_status status = TL_OK;
    for (int i = 0; i < c->n_columns && status == TL_OK; i++)
        status = (c->numbers >> i & 1) != 0 ? tl_result__make_bigint(&r, i, c->b->err) : TL_OK;
    for (size_t i = 0; i + (size_t)c->n_columns <= c->n_cells && status == TL_OK; i += (size_t)c->n_columns)
        status = tl_result__add(&r, (const char *const *)&c->cells[i], c->b->err);
    if (status == TL_OK)
        status = tl_result__finish(&r, out, c->b->err);
    tl_result__deinit(&r);
    return status;
}

tl_status tl_sql__call_procedure(tl_binder *b, const tl_ast *ast, tl_reader **out)
{
    const char *name = tl_ast_last_name(ast->kid[0]);
    const tl_ast *first = tl_ast_first(ast->kid[0]);
    const char *catalog = ast->kid[0]->count == 3 ? first->text : b->catalog;
    const tl_procedure *p = tl_procedure__find(name);
    if (p == NULL)
        return unknown(b, ast, name);
    tl_call c = {.b = b, .ast = ast, .catalog = catalog, .columns = {"result"}, .n_columns = 1, .none = "Success"};
    tl_status status = bind_arguments(&c, p);
    if (status == TL_OK && tl_procedure__takes_table(p))
        status = open_table(&c, catalog);
    if (status == TL_OK)
        status = tl_error_wrap(b->err, p->run(&c), "line %d:%d: CALL %s", (int)ast->line, (int)ast->position, name);
    if (status == TL_OK)
        status = tell(&c, out);
    tl_options_deinit(&c.options);
    tl_names_free(c.cells, c.n_cells);
    return status;
}
