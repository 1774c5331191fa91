/* tidelake sql: statements from the command line, from a pipe, or typed into a shell with history and completion. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/line.h"

typedef struct shell {
    const cli_args *args;
    tidelake_session *session;
    bool interactive;
} shell;

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static bool execute(shell *sh, const char *statement)
{
    double start = now_s();
    tidelake_rows *rows;
    tl_error err;
    if (tidelake_session_execute(sh->session, statement, &rows, &err) != TL_OK) {
        (void)cli_fail(&err);
        return false;
    }
    bool ok = true;
    if (rows != NULL) {
        cli_output out;
        ok = cli_output_open(sh->args, rows, false, false, false, false, &out) &&
             cli_output_close(&out, cli_print_all(rows, &out));
        tidelake_rows_free(rows);
    } else if (sh->interactive) {
        printf("done");
    }
    if (ok && sh->interactive)
        printf("%s(%.3f s)\n", rows == NULL ? " " : "", now_s() - start);
    fflush(stdout);
    return ok;
}

/* Execute every whole statement at the beginning of `text`; returns what remains of it. */
static bool execute_all(shell *sh, char *text, bool keep_going)
{
    char *from = text;
    for (char *p = text; *p != '\0'; p++) {
        if (*p != ';' || !tidelake_sql_is_complete(from, (size_t)(p + 1 - from)))
            continue;
        *p = '\0';
        bool ok = execute(sh, from);
        *p = ';';
        from = p + 1;
        if (!ok && !keep_going)
            return false;
    }
    if (from[strspn(from, " \t\r\n")] != '\0' && !execute(sh, from))
        return keep_going;
    return true;
}

static bool is_quit(const char *line)
{
    line += strspn(line, " \t");
    size_t len = strcspn(line, " \t;");
    return (len == 4 && (strncasecmp(line, "quit", 4) == 0 || strncasecmp(line, "exit", 4) == 0)) ||
           strncmp(line, "\\q", 2) == 0;
}

static const char shell_help[] =
    "Statements end with ';' and may go over several lines. Flink's SQL: SELECT, INSERT, CREATE TABLE, SHOW TABLES,\n"
    "DESCRIBE t, ALTER TABLE, CALL sys.…, SET 'key' = 'value', SELECT * FROM t$snapshots, …\n"
    "Tab completes, the arrow keys go through the history, quit or Ctrl-D leaves.\n";

static void interact(shell *sh)
{
    printf("tidelake %s. Statements end with ';', help; explains, quit leaves.\n", tidelake_version());
    char *statement = NULL;
    for (;;) {
        char *line = cli_line_read(statement == NULL ? "tidelake> " : "       -> ");
        if (line == NULL)
            break;
        if (statement == NULL && (is_quit(line) || line[strspn(line, " \t")] == '\0')) {
            bool quit = is_quit(line);
            free(line);
            if (quit)
                break;
            continue;
        }
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%s", statement == NULL ? "" : statement, statement == NULL ? "" : "\n", line) < 0)
            longer = NULL;
        free(line);
        free(statement);
        statement = longer;
        if (statement == NULL || !tidelake_sql_is_complete(statement, strlen(statement)))
            continue;
        cli_line_remember(statement);
        if (strncasecmp(statement, "help", 4) == 0)
            fputs(shell_help, stdout);
        else
            (void)execute_all(sh, statement, true);
        free(statement);
        statement = NULL;
    }
    free(statement);
    printf("\n");
}

int cmd_sql(const cli_args *args)
{
    const char *given = cli_value(args, "warehouse", getenv("TIDELAKE_WAREHOUSE"));
    char *warehouse = given == NULL ? NULL : cli_warehouse(args);
    int64_t threads = sysconf(_SC_NPROCESSORS_ONLN);
    if (!cli_int(args, "threads", 1, &threads)) {
        free(warehouse);
        return CLI_EXIT_USAGE;
    }
    shell sh = {.args = args};
    tl_error err;
    tl_status status = tidelake_session_open(warehouse, cli_value(args, "database", NULL), (int)threads, &sh.session, &err);
    free(warehouse);
    if (status != TL_OK)
        return cli_fail(&err);
    bool ok = true;
    if (args->n_params > 0) {
        for (int i = 0; i < args->n_params && ok; i++) {
            char *text = strdup(args->params[i]);
            ok = text != NULL && execute_all(&sh, text, false);
            free(text);
        }
    } else if (isatty(STDIN_FILENO) == 1) {
        sh.interactive = true;
        cli_line_open(sh.session);
        interact(&sh);
        cli_line_close();
    } else {
        char *text = NULL;
        ok = cli_read_file("-", &text) && execute_all(&sh, text, false);
        free(text);
    }
    tidelake_session_close(sh.session);
    return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}
