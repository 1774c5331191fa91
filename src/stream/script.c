/* Running a script: statements one after the other, streaming INSERTs as jobs beside them. */
#include <stdlib.h>
#include <sys/resource.h>

#include "stream/job.h"
#include "types/text.h"

#define SUPERVISE_MS 10
#define PROGRESS_NS INT64_C(500000000)

/* A statement and its groups; the statement's plans must outlive them. */
typedef struct job {
    tl_sql_stmt *stmt;
    tl_sink_group **groups;
    int32_t n;
} job;

typedef struct script_run {
    tl_run run;
    tl_stream_report *report;
    int64_t start_ns;
    int64_t last_progress_ns;
    tl_io_counters io_start;
    job *jobs;
    size_t n_jobs, cap_jobs;
    tl_map seen; /* statement identity -> how often it occurred */
} script_run;

/* ---- report ---- */

static void fill_report(script_run *r)
{
    tl_io_counters io = tl_io_count();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *r->report = (tl_stream_report){.rows_in = atomic_load(&r->run.rows_in),
                                    .rows_out = atomic_load(&r->run.rows_out),
                                    .commits = atomic_load(&r->run.commits),
                                    .files = (int64_t)(io.files_created - r->io_start.files_created),
                                    .bytes_written = (int64_t)(io.write_bytes - r->io_start.write_bytes),
                                    .seconds = (double)(tl_monotonic_ns() - r->start_ns) / 1e9,
                                    .peak_bytes = usage.ru_maxrss * 1024,
                                    .jobs = r->run.jobs,
                                    .resumed = r->run.resumed};
}

static void tell_progress(script_run *r)
{
    const tl_stream_options *options = r->run.options;
    int64_t now = tl_monotonic_ns();
    if (options->progress == NULL || now - r->last_progress_ns < PROGRESS_NS)
        return;
    r->last_progress_ns = now;
    fill_report(r);
    options->progress(options->progress_ctx, r->report);
}

/* ---- jobs ---- */

static void job_free(job *j)
{
    for (int32_t i = 0; i < j->n; i++)
        tl_sink_group_free(j->groups[i]);
    tl_free(j->groups);
    tl_sql_stmt_free(j->stmt);
    *j = (job){0};
}

static bool same_table(const tl_sql_table *a, const tl_sql_table *b)
{
    return a->kind == b->kind && strcmp(a->catalog, b->catalog) == 0 && strcmp(a->db, b->db) == 0 && strcmp(a->name, b->name) == 0;
}

/*
 * Who commits: the job's name and a hash of sink and statement, so that the same statement of the same script is the same user
 * when the script runs again. Statements that occur twice in a script are told apart by their number.
 */
static tl_status commit_user(script_run *r, const tl_sql_stmt *stmt, const tl_sql_table *sink, char **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *identity = tl_strf("%s.%s.%s\n%s", sink->catalog, sink->db, sink->name, stmt->text);
    if (identity == NULL)
        return tl_nomem(err, "job");
    uintptr_t times = (uintptr_t)tl_map_get(&r->seen, identity, strlen(identity)) + 1;
    if (tl_map_put(&r->seen, identity, strlen(identity), (void *)times, NULL) != TL_OK)
        return tl_nomem(err, "job");
    const char *name = r->run.options->name;
    if (name == NULL)
        name = tl_sql_session_get(r->run.session, "pipeline.name");
    uint64_t hash = tl_xxh64(identity, strlen(identity), times);
    *out = tl_strf("%s-%016llx", name == NULL ? "job" : name, (unsigned long long)hash);
    if (*out == NULL)
        return tl_nomem(err, "job");
    for (char *p = *out; *p != '\0'; p++) /* it is part of a file's name */
        if (*p == '/' || (unsigned char)*p < 0x21)
            *p = '_';
    return TL_OK;
}

/* The SINKs of roots[from…] that write the same table as roots[from], into `same`. */
static int32_t collect_same(const tl_sql_stmt *stmt, int32_t from, bool *taken, const tl_plan **same)
{
    int32_t n = 0;
    for (int32_t k = from; k < stmt->n_roots; k++) {
        if (taken[k] || !same_table(stmt->roots[k]->table, stmt->roots[from]->table))
            continue;
        taken[k] = true;
        same[n++] = stmt->roots[k];
    }
    return n;
}

static tl_status make_groups(script_run *r, job *j, tl_error *err)
{
    const tl_sql_stmt *stmt = j->stmt;
    j->groups = tl_calloc((size_t)stmt->n_roots + 1, sizeof(tl_sink_group *));
    TL_CLEANUP(tl_freep) bool *taken = tl_calloc((size_t)stmt->n_roots + 1, sizeof *taken);
    TL_CLEANUP(tl_freep) const tl_plan **same = tl_calloc((size_t)stmt->n_roots + 1, sizeof(tl_plan *));
    if (j->groups == NULL || taken == NULL || same == NULL)
        return tl_nomem(err, "job");
    for (int32_t i = 0; i < stmt->n_roots; i++) {
        if (taken[i])
            continue;
        if (stmt->kind == TL_SQL_QUERY) {
            TL_TRY(tl_sink_group_create_query(&r->run, stmt->roots[i], &j->groups[j->n], err));
        } else {
            int32_t n = collect_same(stmt, i, taken, same);
            TL_CLEANUP(tl_freep) char *user = NULL;
            TL_TRY(commit_user(r, stmt, stmt->roots[i]->table, &user, err));
            TL_TRY(tl_sink_group_create(&r->run, same, n, user, &j->groups[j->n], err));
        }
        r->run.jobs++;
        r->run.resumed += tl_sink_group_was_resumed(j->groups[j->n]);
        j->n++;
    }
    return TL_OK;
}

static bool job_has_ended(const job *j)
{
    for (int32_t i = 0; i < j->n; i++)
        if (!tl_sink_group_has_ended(j->groups[i]))
            return false;
    return true;
}

static tl_status join_job(job *j, tl_error *err)
{
    tl_status status = TL_OK;
    for (int32_t i = 0; i < j->n; i++) {
        tl_error error = {TL_OK, 0, ""};
        tl_status one = tl_sink_group_join(j->groups[i], &error);
        if (one != TL_OK && status == TL_OK) {
            status = one;
            if (err != NULL)
                *err = error;
        }
    }
    return tl_error_wrap(err, status, "line %d", j->stmt->line);
}

/* Every group of every job has nothing to do. */
static bool all_quiet(const script_run *r)
{
    for (size_t i = 0; i < r->n_jobs; i++)
        for (int32_t k = 0; k < r->jobs[i].n; k++)
            if (!tl_sink_group_is_quiet(r->jobs[i].groups[k]))
                return false;
    return true;
}

/* Wait until `wanted` (NULL: every job) has ended; end unbounded jobs when all have been idle long enough. */
static tl_status wait_for(script_run *r, const job *wanted, tl_error *err)
{
    double idle_s = r->run.options->stop_after_idle_s;
    int64_t quiet_since = tl_monotonic_ns();
    for (;;) {
        bool ended = true;
        for (size_t i = 0; i < r->n_jobs && wanted == NULL; i++)
            ended &= job_has_ended(&r->jobs[i]);
        if (wanted != NULL)
            ended = job_has_ended(wanted);
        if (ended)
            break;
        int64_t now = tl_monotonic_ns();
        if (!all_quiet(r))
            quiet_since = now;
        int64_t since = TL_MAX(quiet_since, atomic_load(&r->run.last_commit_ns));
        if (idle_s >= 0 && (double)(now - since) / 1e9 >= idle_s)
            atomic_store(&r->run.stop, true);
        tell_progress(r);
        tl_sleep_ms(SUPERVISE_MS);
    }
    tl_status status = TL_OK;
    for (size_t i = 0; i < r->n_jobs && status == TL_OK; i++)
        if (job_has_ended(&r->jobs[i]))
            status = join_job(&r->jobs[i], err);
    return status;
}

static tl_status start_job(script_run *r, tl_sql_stmt *stmt_take, tl_error *err)
{
    if (r->n_jobs == r->cap_jobs) {
        size_t cap = r->cap_jobs == 0 ? 16 : r->cap_jobs * 2;
        job *grown = tl_realloc(r->jobs, cap * sizeof *grown);
        if (grown == NULL) {
            tl_sql_stmt_free(stmt_take);
            return tl_nomem(err, "job");
        }
        r->jobs = grown;
        r->cap_jobs = cap;
    }
    bool wait = stmt_take->dml_sync || stmt_take->kind == TL_SQL_QUERY;
    job *j = &r->jobs[r->n_jobs++];
    *j = (job){.stmt = stmt_take};
    TL_TRY(tl_error_wrap(err, make_groups(r, j, err), "line %d", j->stmt->line));
    for (int32_t i = 0; i < j->n; i++)
        TL_TRY(tl_sink_group_start(j->groups[i], err));
    return wait ? wait_for(r, j, err) : TL_OK;
}

/* ---- statements that are carried out at once ---- */

static tl_status print_result(script_run *r, tl_reader *reader, bool with_kind, tl_error *err)
{
    tl_buf lines = {0};
    tl_status status = TL_OK;
    while (status == TL_OK) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++) {
            status = tl_text_append_json_row(&lines, batch, i, with_kind, 0);
            if (status == TL_OK)
                status = tl_buf_append_byte(&lines, '\n');
            status = tl_text_append_error(status, err);
        }
        pthread_mutex_lock(&r->run.out_lock);
        if (status == TL_OK && lines.len > 0 && fwrite(lines.data, 1, lines.len, r->run.out) != lines.len)
            status = tl_error_set(err, TL_E_IO, "could not write the output");
        pthread_mutex_unlock(&r->run.out_lock);
        lines.len = 0;
    }
    tl_buf_deinit(&lines);
    return status;
}

static tl_status execute(script_run *r, tl_sql_stmt *stmt_take, tl_error *err)
{
    TL_CLEANUP(tl_sql_stmt_freep) tl_sql_stmt *stmt = stmt_take;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_sql_execute(r->run.session, stmt, &reader, err));
    return reader == NULL ? TL_OK : print_result(r, reader, stmt->kind == TL_SQL_QUERY, err);
}

static tl_status run_statement(script_run *r, const char *text, int32_t line, tl_error *err)
{
    tl_sql_stmt *stmt;
    TL_TRY(tl_sql_prepare(r->run.session, text, line, &stmt, err));
    bool is_job = stmt->streaming && stmt->kind != TL_SQL_COMMAND;
    return is_job ? start_job(r, stmt, err) : tl_error_wrap(err, execute(r, stmt, err), "line %d", line);
}

static bool was_stopped(const script_run *r)
{
    return atomic_load(&r->run.stop) || (r->run.options->stop != NULL && *r->run.options->stop != 0);
}

static tl_status run_all(script_run *r, tl_sql_script *script, tl_error *err)
{
    for (;;) {
        const char *text;
        int32_t line;
        TL_TRY(tl_sql_script_next(script, &text, &line, err));
        if (text == NULL || was_stopped(r))
            break;
        TL_TRY(run_statement(r, text, line, err));
        tell_progress(r);
    }
    return wait_for(r, NULL, err);
}

static void end_run(script_run *r)
{
    atomic_store(&r->run.stop, true);
    for (size_t i = 0; i < r->n_jobs; i++)
        job_free(&r->jobs[i]);
    tl_free(r->jobs);
    tl_map_deinit(&r->seen);
    tl_pool_free(r->run.pool);
    tl_fs_unref(r->run.fs);
    pthread_mutex_destroy(&r->run.out_lock);
}

tl_status tl_stream_run_script(tl_sql_session *session, const char *text, size_t bytes, const tl_stream_options *options, tl_stream_report *report,
                               tl_error *err)
{
    tl_stream_report unused;
    script_run r = {.report = report == NULL ? &unused : report, .start_ns = tl_monotonic_ns(), .io_start = tl_io_count()};
    r.run.options = options;
    r.run.session = session;
    r.run.out = options->out == NULL ? stdout : options->out;
    pthread_mutex_init(&r.run.out_lock, NULL);
    tl_sql_script *script = NULL;
    r.run.fs = tl_fs_ref(tl_sql_session_fs(session));
    tl_status status = tl_pool_create(0, &r.run.pool, err);
    if (status == TL_OK)
        status = tl_sql_script_create(text, bytes, options->vars, &script, err);
    if (status == TL_OK)
        status = run_all(&r, script, err);
    end_run(&r);
    fill_report(&r);
    tl_sql_script_free(script);
    return status;
}
