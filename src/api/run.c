/* SQL: scripts and sessions. */
#include "api/api_private.h"

#include "stream/stream.h"

struct tidelake_session {
    tl_sql_session *session;
    tl_pool *pool;
};

/* ---- scripts ---- */

typedef struct progress_bridge {
    const tidelake_run_options *options;
} progress_bridge;

static tidelake_run_report report_of(const tl_stream_report *from)
{
    return (tidelake_run_report){from->rows_in,    from->rows_out, from->commits, from->files,  from->bytes_written,
                                 from->peak_bytes, from->jobs,     from->resumed, from->seconds};
}

static void tell_progress(void *ctx, const tl_stream_report *so_far)
{
    const tidelake_run_options *options = ((progress_bridge *)ctx)->options;
    tidelake_run_report report = report_of(so_far);
    options->progress(options->progress_ctx, &report);
}

tl_status tidelake_run_script(const char *text, size_t bytes, const tidelake_run_options *options, tidelake_run_report *report,
                              tl_error *err)
{
    tl_options vars = {0};
    progress_bridge bridge = {options};
    tl_stream_options run = {.vars = &vars, .stop_after_idle_s = -1};
    tl_sql_session_options session_options = {0};
    if (TL_API_HAS(options, progress_ctx)) {
        TL_TRY(tl_api__options(options->vars, options->n_vars, &vars, err));
        run.stop_after_idle_s = options->stop_after_idle_s;
        run.fresh = options->fresh != 0;
        run.name = options->name;
        run.stop = options->stop;
        run.progress = options->progress == NULL ? NULL : tell_progress;
        run.progress_ctx = &bridge;
        session_options.streaming = options->streaming != 0;
    }
    tl_sql_session *session = NULL;
    tl_stream_report done = {0};
    tl_status status = tl_sql_session_create(&session_options, &session, err);
    if (status == TL_OK)
        status = tl_stream_run_script(session, text, bytes, &run, &done, err);
    if (report != NULL)
        *report = report_of(&done);
    tl_sql_session_free(session);
    tl_options_deinit(&vars);
    return status;
}

/* ---- sessions ---- */

tl_status tidelake_session_open(const char *warehouse, const char *db, int threads, tidelake_session **out, tl_error *err)
{
    tidelake_session *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "session");
    tl_status status = threads > 1 ? tl_pool_create(threads, &s->pool, err) : TL_OK;
    tl_sql_session_options options = {.pool = s->pool};
    if (status == TL_OK)
        status = tl_sql_session_create(&options, &s->session, err);
    if (status == TL_OK && warehouse != NULL)
        status = tl_sql_session_use_warehouse(s->session, "lake", warehouse, db == NULL ? "default" : db, err);
    if (status != TL_OK) {
        tidelake_session_close(s);
        return status;
    }
    *out = s;
    return TL_OK;
}

void tidelake_session_close(tidelake_session *s)
{
    if (s == NULL)
        return;
    tl_sql_session_free(s->session);
    tl_pool_free(s->pool);
    tl_free(s);
}

static void release_statement(void *stmt)
{
    tl_sql_stmt_free(stmt);
}

tl_status tidelake_session_execute(tidelake_session *s, const char *statement, tidelake_rows **out, tl_error *err)
{
    tidelake_rows *rows = tl_calloc(1, sizeof *rows);
    if (rows == NULL)
        return tl_nomem(err, "rows");
    tl_sql_stmt *stmt = NULL;
    tl_status status = tl_sql_prepare(s->session, statement, 1, &stmt, err);
    rows->owner = stmt;
    rows->release_owner = release_statement;
    if (status == TL_OK)
        status = tl_sql_execute(s->session, stmt, &rows->reader, err);
    if (status != TL_OK || rows->reader == NULL) {
        tidelake_rows_free(rows);
        *out = NULL;
        return status;
    }
    rows->type = rows->reader->type;
    *out = rows;
    return TL_OK;
}

int tidelake_procedure_at(size_t i, tidelake_procedure *out)
{
    tl_sql_procedure p;
    if (!tl_sql_procedure_at(i, &p))
        return 0;
    size_t bytes = TL_MIN(out->struct_bytes, sizeof *out);
    const tidelake_procedure found = {.struct_bytes = bytes, .name = p.name, .summary = p.summary, .takes_table = p.takes_table, .n_arguments = p.n_arguments};
    memcpy(out, &found, bytes);
    return 1;
}

int tidelake_procedure_argument_at(size_t i, size_t argument, tidelake_procedure_argument *out)
{
    tl_sql_argument a;
    if (!tl_sql_procedure_argument(i, argument, &a))
        return 0;
    size_t bytes = TL_MIN(out->struct_bytes, sizeof *out);
    const tidelake_procedure_argument found = {.struct_bytes = bytes, .name = a.name, .value = a.value, .help = a.help, .required = a.required};
    memcpy(out, &found, bytes);
    return 1;
}

int tidelake_sql_is_complete(const char *text, size_t bytes)
{
    return tl_sql_is_complete(text, bytes);
}

tl_status tidelake_session_complete(tidelake_session *s, const char *prefix, char **out, tl_error *err)
{
    char **names;
    size_t n;
    TL_TRY(tl_sql_complete(s->session, prefix, &names, &n, err));
    return tl_api__join_names(names, n, out, err);
}
