/*
 * Every NAME.test here: expressions and statements with what Flink 1.20 answers (README.md here).
 *
 * An expression is computed three times: as a script would, with its constants folded while it is bound; by the program that
 * runs over rows, nothing folded; and with every constant of it as a column that is NULL in some rows, so that kernels see
 * columns, NULLs and more than one row. A last test says which functions of the registry no case has called.
 */
#include <dirent.h>

#include "sql/bind.h"
#include "sql/case_file.h"
#include "support/temp_lake.h"

static const char *const *wanted_files;
static int n_wanted;

/* ---- functions that were called ---- */

static bool called[1024];

static bool mark_called(tl_expr *e, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; e->kind == TL_EXPR_CALL && tl_fn_at(i) != NULL; i++) {
        assert_true(i < TL_ARRAY_LEN(called));
        if (tl_fn_at(i) == e->fn)
            called[i] = true;
    }
    return true;
}

static void mark_name(const char *name)
{
    for (size_t i = 0; tl_fn_at(i) != NULL; i++)
        called[i] = called[i] || strcmp(tl_fn_at(i)->name, name) == 0;
}

/** Functions that end an aggregate are called by the engine's plan. */
static void mark_aggregate(tl_agg_kind kind)
{
    static const char *const names[] = {[TL_AGG_LISTAGG] = "$LISTAGG", [TL_AGG_COLLECT] = "$MULTISET", [TL_AGG_JSON_OBJECTAGG] = "$JSON_OBJECTAGG", [TL_AGG_JSON_ARRAYAGG] = "$JSON_ARRAYAGG"};
    if ((size_t)kind < TL_ARRAY_LEN(names) && names[kind] != NULL)
        mark_name(names[kind]);
}

static void mark_plan(const tl_plan *plan)
{
    for (int32_t i = 0; i < plan->n_calls; i++)
        mark_aggregate(plan->calls[i].kind);
    int64_t n = plan->kind == TL_PLAN_PROJECT ? plan->type->n_fields : plan->kind == TL_PLAN_VALUES ? plan->n_rows * plan->type->n_fields : 0;
    for (int64_t i = 0; i < n; i++)
        tl_expr__walk(plan->exprs[i], mark_called, NULL);
    if (plan->condition != NULL)
        tl_expr__walk(plan->condition, mark_called, NULL);
    for (int32_t i = 0; i < plan->n_inputs; i++)
        mark_plan(plan->inputs[i]);
}

/* ---- results as text ---- */

static tl_status append_values(tl_buf *buf, const tl_batch *batch, int64_t step)
{
    for (int64_t i = 0; i < batch->n_rows; i += step) {
        if (i > 0)
            TL_TRY(tl_buf_append_str(buf, ", "));
        TL_TRY(tl_text_append_json(buf, batch->cols[0], i));
    }
    return TL_OK;
}

/** "TYPE: value, value" of a query with one column; an error's text after "error: ". */
static tl_status answer_of(tl_sql_session *session, tl_sql_stmt *stmt, tl_buf *out, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_sql_execute(session, stmt, &reader, err));
    TL_TRY(tl_type_format(reader->type->fields[0].type, out));
    TL_TRY(tl_buf_append_str(out, ": "));
    for (bool first = true;; first = false) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        for (int32_t i = 0; i < batch->n_cols; i++)
            TL_TRY(tl_column_check(batch->cols[i], err));
        if (!first)
            TL_TRY(tl_buf_append_str(out, ", "));
        TL_TRY(append_values(out, batch, 1));
    }
}

static char *text_of(tl_status status, tl_buf *buf, const tl_error *err)
{
    if (status != TL_OK) {
        buf->len = 0;
        assert_int_equal(tl_buf_appendf(buf, "error: %s", err->message), TL_OK);
    }
    char *text;
    assert_int_equal(tl_buf_steal_str(buf, &text), TL_OK);
    return text;
}

static tl_status prepare_expression(tl_sql_session *session, const char *from, const char *text, tl_sql_stmt **stmt, tl_error *err)
{
    /* The expression has a line of its own, number 1. */
    TL_CLEANUP(tl_freep) char *query = tl_strf("SELECT\n%s\n%s%s", text, from[0] != '\0' ? "FROM " : "", from);
    assert_non_null(query);
    return tl_sql_prepare(session, query, 0, stmt, err);
}

static char *answer(tl_sql_session *session, const char *from, const char *text, bool fold)
{
    tl_error err = {0};
    TL_CLEANUP(tl_buf_deinit) tl_buf buf = {0};
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = NULL;
    session->keeps_constants = !fold;
    tl_status status = prepare_expression(session, from, text, &stmt, &err);
    session->keeps_constants = false;
    if (status == TL_OK && !fold)
        mark_plan(stmt->roots[0]);
    if (status == TL_OK)
        status = answer_of(session, stmt, &buf, &err);
    return text_of(status, &buf, &err);
}

/* ---- constants as columns ---- */

#define MAX_LITERALS 64

typedef struct literals {
    tl_field fields[MAX_LITERALS];
    const tl_expr *literals[MAX_LITERALS];
    tl_expr *columns[MAX_LITERALS];
    int32_t n;
} literals;

/** Arguments that a kernel knows as constants only: units, JSON paths and behaviours, field numbers, the list of IN. */
static bool is_constant_argument(const tl_expr *call, int32_t i)
{
    static const struct {
        const char *name;
        unsigned constant; /* bit i: argument i */
    } some[] = {{"EXTRACT", 1}, {"TIMESTAMPDIFF", 1}, {"$FIELD", 2}, {"TO_TIMESTAMP_LTZ", 2}, {"JSON_EXISTS", 6}, {"JSON_VALUE", ~1u}, {"JSON_QUERY", ~1u}, {"$JSON_QUERY_ARRAY", ~1u},
                {"JSON_OBJECT", 0xAAAAAAABu}, {"JSON_ARRAY", 1}, {"IN", ~1u}};
    if (call->kind != TL_EXPR_CALL)
        return false;
    for (size_t k = 0; k < TL_ARRAY_LEN(some); k++)
        if (strcmp(call->fn->name, some[k].name) == 0)
            return (some[k].constant >> i & 1) != 0;
    return (strcmp(call->fn->name, "FLOOR") == 0 || strcmp(call->fn->name, "CEIL") == 0) && i == 1;
}

static void replace_literals(tl_expr **at, literals *found)
{
    tl_expr *e = *at;
    for (int32_t i = 0; i < e->n_args; i++)
        if (!is_constant_argument(e, i))
            replace_literals(&e->args[i], found);
    if (e->kind != TL_EXPR_LITERAL || found->n == MAX_LITERALS || tl_sql__is_interval(e->type) || tl_sql__is_null_type(e->type))
        return;
    tl_expr *column = tl_calloc(1, sizeof *column);
    assert_non_null(column);
    *column = (tl_expr){.kind = TL_EXPR_COLUMN, .type = e->type, .column = found->n};
    found->fields[found->n] = (tl_field){.name = (char *)(uintptr_t)"c", .id = -1, .type = e->type};
    found->literals[found->n] = e;
    found->columns[found->n++] = column;
    *at = column;
}

/** Three rows: the values, then all NULL, then the values again. */
static tl_status three_rows(const tl_type *type, const literals *found, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(type, 3, &batch, err));
    for (int32_t i = 0; i < found->n; i++) {
        tl_builder *builder = NULL;
        TL_TRY(tl_builder_create(found->fields[i].type, &builder, err));
        tl_status status = tl_builder_copy(builder, found->literals[i]->literal, 0);
        status = status == TL_OK ? tl_builder_null(builder) : status;
        status = status == TL_OK ? tl_builder_copy(builder, found->literals[i]->literal, 0) : status;
        status = status == TL_OK ? tl_builder_finish(builder, &batch->cols[i], err) : status;
        tl_builder_free(builder);
        TL_TRY(status);
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status run_over_columns(const tl_sql_env *env, const tl_expr *e, const literals *found, tl_buf *buf, tl_error *err)
{
    tl_field field = {.name = (char *)(uintptr_t)"c", .id = -1, .type = e->type};
    TL_CLEANUP(tl_type_unrefp) const tl_type *input = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *output = NULL;
    TL_CLEANUP(tl_sql_program_freep) tl_sql_program *program = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *in = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_type_create_row(false, found->fields, found->n, &input, err));
    TL_TRY(tl_type_create_row(false, &field, 1, &output, err));
    TL_TRY(tl_sql_program_create(env, input, NULL, &e, 1, output, &program, err));
    TL_TRY(three_rows(input, found, &in, err));
    TL_TRY(tl_sql_program_run(program, in, &result, err));
    TL_TRY(tl_column_check(result->cols[0], err));
    TL_TRY(tl_type_format(e->type, buf));
    TL_TRY(tl_buf_append_str(buf, ": "));
    return append_values(buf, result, 2);
}

static bool find_volatile(tl_expr *e, void *ctx)
{
    bool *found = ctx;
    *found = *found || (e->kind == TL_EXPR_CALL && (e->fn->flags & TL_FN_VOLATILE) != 0);
    return !*found;
}

/** RAND and the like: every row differs. */
static bool calls_volatile(tl_expr *e)
{
    bool found = false;
    tl_expr__walk(e, find_volatile, &found);
    return found;
}

/** What the expression gives over columns: "TYPE: v, v" of the rows with values; NULL if it is no plain expression. */
static char *answer_over_columns(tl_sql_session *session, const char *text)
{
    tl_error err = {0};
    TL_CLEANUP(tl_buf_deinit) tl_buf buf = {0};
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = NULL;
    session->keeps_constants = true;
    tl_status status = prepare_expression(session, "", text, &stmt, &err);
    session->keeps_constants = false;
    assert_int_equal(status, TL_OK);
    tl_plan *plan = stmt->roots[0];
    if (plan->kind != TL_PLAN_PROJECT || plan->inputs[0]->kind != TL_PLAN_VALUES || tl_expr__has_kind(plan->exprs[0], TL_EXPR_SUBQUERY) || tl_expr__has_kind(plan->exprs[0], TL_EXPR_COLUMN) ||
        calls_volatile(plan->exprs[0]))
        return NULL;
    literals found = {.n = 0};
    tl_expr *e = plan->exprs[0];
    replace_literals(&e, &found);
    tl_sql_env env = tl_sql_session_env(session);
    env.fixed_now_ms = tl_clock_now_ms(session->clock);
    status = run_over_columns(&env, e, &found, &buf, &err);
    for (int32_t i = 0; i < found.n; i++)
        tl_free(found.columns[i]);
    return text_of(status, &buf, &err);
}

/* ---- the cases ---- */

static int n_failed;

static void differs(const case_file *file, const sql_case *c, const char *how, const char *got)
{
    const char *name = strrchr(file->path, '/') + 1;
    printf("%s:%d: %s%s\n  wanted: %s\n  got:    %s\n", name, c->line, c->text, how, c->wanted, got);
    n_failed++;
}

/** "error: TEXT" wants a message with TEXT in it; anything else is the whole answer. */
static bool is_wanted(const char *wanted, const char *got)
{
    if (strncmp(wanted, "error: ", 7) == 0)
        return strncmp(got, "error: ", 7) == 0 && strstr(got + 7, wanted + 7) != NULL;
    return strcmp(wanted, got) == 0;
}

/** "TYPE: v" as the columns' two rows give it: "TYPE: v, v". */
static char *twice(const char *one)
{
    const char *value = strstr(one, ": ");
    assert_non_null(value);
    return tl_strf("%s, %s", one, value + 2);
}

static void run_expression(const case_file *file, tl_sql_session *session, const char *from, const sql_case *c)
{
    TL_CLEANUP(tl_freep) char *folded = answer(session, from, c->text, /* fold= */ true);
    if (!is_wanted(c->wanted, folded)) {
        differs(file, c, "", folded);
        return;
    }
    TL_CLEANUP(tl_freep) char *plain = answer(session, from, c->text, /* fold= */ false);
    if (strcmp(plain, folded) != 0)
        differs(file, c, " [not folded]", plain);
    if (strncmp(folded, "error: ", 7) == 0 || strncmp(plain, "error: ", 7) == 0 || from[0] != '\0')
        return;
    TL_CLEANUP(tl_freep) char *columns = answer_over_columns(session, c->text);
    TL_CLEANUP(tl_freep) char *wanted = twice(folded);
    if (columns != NULL && strcmp(columns, wanted) != 0)
        differs(file, c, " [constants as columns]", columns);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/** The lines of a text in the order of their bytes. */
static char *sorted_lines(const char *text)
{
    char *copy = tl_strdup(text), *lines[4096];
    size_t n = 0;
    for (char *line = strtok(copy, "\n"); line != NULL && n < TL_ARRAY_LEN(lines); line = strtok(NULL, "\n"))
        lines[n++] = line;
    qsort(lines, n, sizeof *lines, compare_lines);
    char *out = tl_strdup("");
    for (size_t i = 0; i < n; i++)
        case_append(&out, lines[i], "\n");
    tl_free(copy);
    return out;
}

static tl_status rows_of(tl_sql_session *session, tl_sql_stmt *stmt, tl_buf *out, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_sql_execute(session, stmt, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        if (reader != NULL)
            TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        for (int32_t i = 0; i < batch->n_cols; i++)
            TL_TRY(tl_column_check(batch->cols[i], err));
        TL_TRY(tl_text_append_json_lines(out, batch, 0, batch->n_rows, false, false));
    }
}

/** The statement with the folder of its lake for ${WAREHOUSE}. */
static char *with_warehouse(const char *text)
{
    const char *at = strstr(text, "${WAREHOUSE}");
    return at == NULL ? tl_strdup(text) : tl_strf("%.*s/lake%s", (int)(at - text), text, at + strlen("${WAREHOUSE}"));
}

static void run_statement(const case_file *file, tl_sql_session *session, const sql_case *c)
{
    tl_error err = {0};
    TL_CLEANUP(tl_buf_deinit) tl_buf buf = {0};
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = NULL;
    TL_CLEANUP(tl_freep) char *text = with_warehouse(c->text);
    tl_status status = tl_sql_prepare(session, text, 1, &stmt, &err);
    bool ordered = status == TL_OK && (stmt->kind != TL_SQL_QUERY || stmt->roots[0]->kind == TL_PLAN_SORT);
    for (int32_t i = 0; status == TL_OK && i < stmt->n_roots; i++)
        mark_plan(stmt->roots[i]);
    if (status == TL_OK)
        status = rows_of(session, stmt, &buf, &err);
    TL_CLEANUP(tl_freep) char *got = text_of(status, &buf, &err);
    TL_CLEANUP(tl_freep) char *wanted = tl_strdup(c->wanted);
    if (strncmp(wanted, "error: ", 7) == 0) {
        wanted[strcspn(wanted, "\n")] = '\0';
        if (!is_wanted(wanted, got))
            differs(file, c, "", got);
        return;
    }
    TL_CLEANUP(tl_freep) char *left = ordered ? tl_strdup(wanted) : sorted_lines(wanted);
    TL_CLEANUP(tl_freep) char *right = ordered ? tl_strdup(got) : sorted_lines(got);
    if (strcmp(left, right) != 0)
        differs(file, c, "", got);
}

static int64_t fixed_now(void *ctx)
{
    (void)ctx;
    return INT64_C(1709210096789); /* 2024-02-29 12:34:56.789 UTC */
}

static void run_file(void **state)
{
    case_file file;
    case_file_read(&file, *state);
    static const tl_clock clock = {fixed_now, NULL};
    tl_error err = {0};
    tl_fs *fs;
    tl_sql_session *session;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_ok(tl_sql_session_create(&(tl_sql_session_options){.fs = fs, .clock = &clock}, &session, &err), &err);
    const char *from = "";
    n_failed = 0;
    for (size_t i = 0; i < file.n; i++) {
        const sql_case *c = &file.cases[i];
        if (c->kind == CASE_FROM)
            from = c->text;
        else if (c->kind == CASE_STATEMENT)
            run_statement(&file, session, c);
        else
            run_expression(&file, session, from, c);
    }
    tl_sql_session_free(session);
    tl_fs_unref(fs);
    size_t n = file.n;
    case_file_deinit(&file);
    if (n_failed > 0)
        fail_msg("%d of %zu cases differ", n_failed, n);
}

static void every_function_has_a_case(void **state)
{
    (void)state;
    if (n_wanted > 0)
        skip();
    int missing = 0;
    for (size_t i = 0; tl_fn_at(i) != NULL; i++)
        if (!called[i]) {
            printf("no case calls %s(%s)\n", tl_fn_at(i)->name, tl_fn_at(i)->args);
            missing++;
        }
    assert_int_equal(missing, 0);
}

static bool is_wanted_file(const char *name)
{
    size_t len = strlen(name);
    if (len < 5 || strcmp(name + len - 5, ".test") != 0)
        return false;
    bool found = n_wanted == 0;
    for (int i = 0; i < n_wanted; i++)
        found = found || strncmp(name, wanted_files[i], strlen(wanted_files[i])) == 0;
    return found;
}

/** test_sql_cases [NAME...]: only the files whose names begin so. */
int main(int argc, char **argv)
{
    wanted_files = (const char *const *)argv + 1;
    n_wanted = argc - 1;
    struct CMUnitTest tests[64];
    size_t n = 0;
    struct dirent **entries;
    int n_entries = scandir(TL_SOURCE_DIR "/tests/sql", &entries, NULL, alphasort);
    for (int i = 0; i < n_entries; i++) {
        if (is_wanted_file(entries[i]->d_name) && n + 1 < TL_ARRAY_LEN(tests)) {
            char *path = tl_strf(TL_SOURCE_DIR "/tests/sql/%s", entries[i]->d_name);
            tests[n++] = (struct CMUnitTest){.name = strrchr(path, '/') + 1, .test_func = run_file, .initial_state = path};
        }
        free(entries[i]);
    }
    free(entries);
    size_t n_files = n;
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_function_has_a_case);
    int status = n_files == 0 ? 1 : _cmocka_run_group_tests("sql", tests, n, NULL, NULL);
    for (size_t i = 0; i < n_files; i++)
        tl_free(tests[i].initial_state);
    return status;
}
