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
