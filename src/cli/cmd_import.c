/* Commands that bring in what lies elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void show_progress(void *ctx, int64_t rows, int64_t files, int64_t n_files)
{
    cli_progress_update(ctx, rows, files, n_files);
}

static bool import_options(const cli_args *args, tidelake_import_options *out, char **schema)
{
    int64_t threads = 0;
    *out = (tidelake_import_options)TIDELAKE_IMPORT_INIT;
    *schema = NULL;
    if (!cli_int(args, "threads", 0, &threads))
        return false;
    const char *path = cli_value(args, "schema", NULL);
    if (path != NULL && !cli_read_file(path, schema))
        return false;
    out->format = cli_value(args, "input-format", NULL);
    out->schema_json = *schema;
    out->in_place = cli_has(args, "in-place");
    out->commit_user = cli_value(args, "commit-user", NULL);
    out->threads = (int)threads;
    return true;
}

/* What came in, and what the table is now. */
static int tell_import(const cli_args *args, const tidelake_import_result *result, tidelake_lake *lake, const char *name)
{
    tidelake_table *table;
    tl_error err;
    if (result->created) {
        printf("{\"created\":");
        cli_print_json_string(stdout, args->params[0]);
        printf("}\n");
    }
    printf("{\"files\":%lld,\"rows\":%lld}\n", (long long)result->files, (long long)result->rows);
    if (tidelake_table_open(lake, name, NULL, 0, &table, &err) != TL_OK)
        return cli_fail(&err);
    int rc = cli_report(table);
    tidelake_table_close(table);
    return rc;
}

int cmd_import(const cli_args *args)
{
    tidelake_lake *lake = NULL;
    cli_options options = {0};
    char *schema = NULL, *name = cli_table_name(args);
    tidelake_import_options import;
    tidelake_import_result result;
    cli_progress progress;
    int rc = CLI_EXIT_FAILED;
    if (name != NULL && import_options(args, &import, &schema) && cli_collect_options(args, NULL, 0, &options) &&
        cli_open_lake(args, /* make= */ true, &lake)) {
        tl_error err;
        import.options = options.items;
        import.n_options = options.n;
        import.progress = show_progress;
        import.progress_ctx = &progress;
        cli_progress_start(&progress, args, "import");
        tl_status status = tidelake_import(lake, name, args->params[1], &import, &result, &err);
        cli_progress_end(&progress);
        rc = status == TL_OK ? tell_import(args, &result, lake, name) : cli_fail(&err);
    }
    tidelake_close(lake);
    cli_options_deinit(&options);
    free(schema);
    free(name);
    return rc;
}

/* ---- clone ---- */

typedef struct clone_job {
    const cli_args *args;
    tidelake_lake *from;
    tidelake_lake *to;
    tidelake_clone_options options;
} clone_job;

static int clone_table(const clone_job *job, const char *name, const char *target)
{
    tidelake_table *table;
    tl_error err;
    int skipped = 0;
    if (tidelake_table_open(job->from, name, NULL, 0, &table, &err) != TL_OK)
        return cli_fail(&err);
    tl_status status = tidelake_clone(table, job->to, target, &job->options, &skipped, &err);
    tidelake_table_close(table);
    if (status != TL_OK)
        return cli_fail(&err);
    printf(skipped ? "{\"exists\":" : "{\"cloned\":");
    cli_print_json_string(stdout, target);
    printf("}\n");
    if (skipped)
        return CLI_EXIT_OK;
    if (tidelake_table_open(job->to, target, NULL, 0, &table, &err) != TL_OK)
        return cli_fail(&err);
    int rc = cli_report(table);
    tidelake_table_close(table);
    return rc;
}

static int clone_database(const clone_job *job, const char *db, const char *target)
{
    tl_error err;
    char *tables = NULL;
    int rc = CLI_EXIT_OK;
    if (tidelake_list_tables(job->from, db, &tables, &err) != TL_OK)
        return cli_fail(&err);
    for (const char *table = tables; *table != '\0' && rc == CLI_EXIT_OK; table += strlen(table) + 1) {
        char *from = NULL, *to = NULL;
        if (asprintf(&from, "%s.%s", db, table) < 0 || asprintf(&to, "%s.%s", target, table) < 0)
            rc = CLI_EXIT_FAILED;
        else
            rc = clone_table(job, from, to);
        free(from);
        free(to);
    }
    tidelake_free(tables);
    return rc;
}

int cmd_clone(const cli_args *args)
{
    const char *source = args->params[0], *target = args->n_params > 2 ? args->params[2] : source;
    clone_job job = {.args = args, .options = TIDELAKE_CLONE_INIT};
    bool is_table = strchr(source, '.') != NULL;
    if (is_table != (strchr(target, '.') != NULL))
        return cli_usage(args->command, "a table is cloned as a table (DB.TABLE), a database as a database (DB)");
    job.options.where = cli_value(args, "where", NULL);
    job.options.meta_only = cli_has(args, "meta-only");
    job.options.skip_existing = cli_has(args, "skip-existing");
    if (job.options.where != NULL && !is_table)
        return cli_usage(args->command, "--where is for the rows of one table");
    if (!cli_open_lake(args, /* make= */ false, &job.from))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = CLI_EXIT_FAILED;
    char *name = is_table ? cli_table_name(args) : NULL;
    if (tidelake_open(args->params[1], &job.to, &err) != TL_OK)
        rc = cli_fail(&err);
    else if (!is_table)
        rc = clone_database(&job, source, target);
    else if (name != NULL)
        rc = clone_table(&job, name, target);
    free(name);
    tidelake_close(job.to);
    tidelake_close(job.from);
    return rc;
}
