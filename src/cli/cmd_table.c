/* Commands about tables as such: create, alter, drop, schema, tables, options. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int cmd_create(const cli_args *args)
{
    if (cli_has(args, "branch"))
        return cli_usage(args->command, "'tidelake branch create' makes a branch of a table");
    char *schema;
    if (!cli_read_file(args->params[1], &schema))
        return CLI_EXIT_FAILED;
    tidelake_lake *lake;
    int rc = CLI_EXIT_FAILED;
    if (cli_open_lake(args, /* make= */ true, &lake)) {
        tl_error err;
        tl_status status = tidelake_create_table(lake, args->params[0], schema, /* if_not_exists= */ 0, &err);
        bool was_there = status == TL_E_EXISTS && cli_has(args, "if-not-exists");
        if (status == TL_OK || was_there) {
            printf(was_there ? "{\"exists\":" : "{\"created\":");
            cli_print_json_string(stdout, args->params[0]);
            printf("}\n");
            rc = CLI_EXIT_OK;
        } else {
            rc = cli_fail(&err);
            if (err.status == TL_E_EXISTS)
                fputs("With --if-not-exists that is no error; 'tidelake drop' removes a table.\n", stderr);
        }
        tidelake_close(lake);
    }
    free(schema);
    return rc;
}

int cmd_drop(const cli_args *args)
{
    if (cli_has(args, "branch"))
        return cli_usage(args->command, "'tidelake branch delete' removes a branch");
    tidelake_lake *lake;
    if (!cli_open_lake(args, /* make= */ false, &lake))
        return CLI_EXIT_FAILED;
    tl_error err;
    tl_status status = tidelake_drop_table(lake, args->params[0], cli_has(args, "if-exists"), &err);
    tidelake_close(lake);
    return status == TL_OK ? CLI_EXIT_OK : cli_fail(&err);
}

int cmd_alter(const cli_args *args)
{
    char *changes;
    if (!cli_read_file(args->params[1], &changes))
        return CLI_EXIT_FAILED;
    tidelake_lake *lake;
    int rc = CLI_EXIT_FAILED;
    if (cli_open_lake(args, /* make= */ false, &lake)) {
        tl_error err;
        int64_t schema_id;
        char *name = cli_table_name(args);
        if (name != NULL && tidelake_alter_table(lake, name, changes, &schema_id, &err) == TL_OK) {
            printf("{\"schema\":%lld}\n", (long long)schema_id);
            rc = CLI_EXIT_OK;
        } else if (name != NULL) {
            rc = cli_fail(&err);
        }
        free(name);
        tidelake_close(lake);
    }
    free(changes);
    return rc;
}

int cmd_schema(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    char *json;
    tl_status status = tidelake_table_schema_json(t.table, &json, &err);
    if (status == TL_OK) {
        printf("%s\n", json);
        tidelake_free(json);
    }
    cli_close_table(&t);
    return status == TL_OK ? CLI_EXIT_OK : cli_fail(&err);
}

static tl_status print_tables(tidelake_lake *lake, const char *db, tl_error *err)
{
    char *names;
    tl_status status = tidelake_list_tables(lake, db, &names, err);
    if (status != TL_OK)
        return status;
    for (const char *name = names; *name != '\0'; name += strlen(name) + 1)
        printf("%s.%s\n", db, name);
    tidelake_free(names);
    return TL_OK;
}

int cmd_tables(const cli_args *args)
{
    tidelake_lake *lake;
    if (!cli_open_lake(args, /* make= */ false, &lake))
        return CLI_EXIT_FAILED;
    tl_error err;
    tl_status status;
    if (args->n_params > 0) {
        status = print_tables(lake, args->params[0], &err);
    } else {
        char *names;
        status = tidelake_list_databases(lake, &names, &err);
        for (const char *db = status == TL_OK ? names : ""; *db != '\0' && status == TL_OK; db += strlen(db) + 1)
            status = print_tables(lake, db, &err);
        if (status == TL_OK)
            tidelake_free(names);
    }
    tidelake_close(lake);
    return status == TL_OK ? CLI_EXIT_OK : cli_fail(&err);
}

int cmd_options(const cli_args *args)
{
    char *lines;
    tl_error err;
    if (tidelake_options_json(&lines, &err) != TL_OK)
        return cli_fail(&err);
    const char *wanted = args->n_params > 0 ? args->params[0] : "";
    for (char *line = lines; *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        if (strstr(line, wanted) != NULL)
            puts(line);
        line = end == NULL ? line + strlen(line) : end + 1;
    }
    tidelake_free(lines);
    return CLI_EXIT_OK;
}

int cmd_version(const cli_args *args)
{
    (void)args;
    printf("tidelake %s\n", tidelake_version());
    return CLI_EXIT_OK;
}
