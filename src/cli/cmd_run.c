/* tidelake run: a SQL script as a job, with progress and a summary on stderr. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static volatile int stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

/* The first SIGINT or SIGTERM lets the job commit and end; a second one ends the process. */
static void install_signals(void)
{
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

typedef struct live {
    bool on;
    bool shown;
    int64_t last_rows;
    double last_seconds;
} live;

static void show_progress(void *ctx, const tidelake_run_report *r)
{
    live *l = ctx;
    if (!l->on || r->rows_in == 0)
        return;
    double rate = (double)(r->rows_in - l->last_rows) / (r->seconds - l->last_seconds + 1e-9);
    fprintf(stderr, "\r\033[K%6.1f s  %lld rows in (%.0f/s)  %lld rows out  %lld commits  %lld MB", r->seconds,
            (long long)r->rows_in, rate, (long long)r->rows_out, (long long)r->commits, (long long)(r->peak_bytes >> 20));
    fflush(stderr);
    l->shown = true;
    l->last_rows = r->rows_in;
    l->last_seconds = r->seconds;
}

static void print_summary(const tidelake_run_report *r)
{
    if (r->jobs == 0)
        return;
    fprintf(stderr,
            "%lld job%s: %lld rows in, %lld rows out, %lld commits, %lld files, %.1f MB written, %.1f s, %.0f rows/s, %lld MB "
            "of memory\n",
            (long long)r->jobs, r->jobs == 1 ? "" : "s", (long long)r->rows_in, (long long)r->rows_out, (long long)r->commits,
            (long long)r->files, (double)r->bytes_written / 1e6, r->seconds, (double)r->rows_in / (r->seconds + 1e-9),
            (long long)(r->peak_bytes >> 20));
    if (r->resumed > 0)
        fprintf(stderr, "%lld of them went on behind an earlier commit (--fresh begins anew)\n", (long long)r->resumed);
}

/* --var NAME=VALUE words; WAREHOUSE and DATA become absolute paths, as relative ones would depend on who runs the script. */
static bool collect_vars(const cli_args *args, tidelake_option *vars, size_t *n)
{
    for (int i = 0; i < args->n_parsed; i++) {
        if (strcmp(args->parsed[i].option->name, "var") != 0)
            continue;
        char *copy = strdup(args->parsed[i].value);
        char *equals = copy == NULL ? NULL : strchr(copy, '=');
        if (equals == NULL) {
            (void)cli_usage(args->command, "'--var %s': NAME=VALUE is expected", args->parsed[i].value);
            free(copy);
            return false;
        }
        *equals = '\0';
        const char *value = equals + 1;
        char *absolute = NULL;
        if ((strcmp(copy, "WAREHOUSE") == 0 || strcmp(copy, "DATA") == 0) && *value != '/') {
            char cwd[PATH_MAX];
            if (getcwd(cwd, sizeof cwd) == NULL || asprintf(&absolute, "%s/%s", cwd, value) < 0)
                absolute = NULL;
        }
        vars[(*n)++] = (tidelake_option){copy, absolute == NULL ? strdup(value) : absolute};
    }
    return true;
}

static bool idle_seconds(const cli_args *args, double *out)
{
    const char *text = cli_value(args, "stop-after-idle", NULL);
    if (text == NULL)
        return true;
    char *end;
    *out = strtod(text, &end);
    if (end != text && *end == '\0' && *out >= 0)
        return true;
    (void)cli_usage(args->command, "'--stop-after-idle %s': a number of seconds is expected", text);
    return false;
}

static bool run_mode(const cli_args *args, int *streaming)
{
    const char *mode = cli_value(args, "mode", "batch");
    *streaming = strcmp(mode, "streaming") == 0;
    if (*streaming || strcmp(mode, "batch") == 0)
        return true;
    (void)cli_usage(args->command, "'--mode %s': batch or streaming is expected", mode);
    return false;
}

int cmd_run(const cli_args *args)
{
    tidelake_run_options options = TIDELAKE_RUN_INIT;
    tidelake_option *vars = calloc((size_t)args->n_parsed + 1, sizeof *vars);
    size_t n = 0;
    char *text = NULL;
    int rc = CLI_EXIT_USAGE;
    if (vars != NULL && collect_vars(args, vars, &n) && idle_seconds(args, &options.stop_after_idle_s) &&
        run_mode(args, &options.streaming)) {
        rc = CLI_EXIT_FAILED;
        if (cli_read_file(args->params[0], &text)) {
            live l = {.on = isatty(STDERR_FILENO) == 1 || cli_has(args, "progress")};
            options.vars = vars;
            options.n_vars = n;
            options.fresh = cli_has(args, "fresh");
            options.name = cli_value(args, "name", NULL);
            options.stop = &stop_requested;
            options.progress = show_progress;
            options.progress_ctx = &l;
            install_signals();
            tidelake_run_report report;
            tl_error err;
            tl_status status = tidelake_run_script(text, strlen(text), &options, &report, &err);
            if (l.shown)
                fprintf(stderr, "\r\033[K");
            rc = status == TL_OK ? CLI_EXIT_OK : cli_fail(&err);
            if (!cli_has(args, "quiet"))
                print_summary(&report);
        }
    }
    for (size_t i = 0; i < n; i++) {
        free((char *)vars[i].key);
        free((char *)vars[i].value);
    }
    free(vars);
    free(text);
    return rc;
}
