/* Commands that keep tables in shape: delete, compact, expire, tags, rollback, partitions, fsck. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

int cmd_delete(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int64_t deleted = 0;
    tl_status status =
        tidelake_delete(t.table, cli_value(args, "commit-user", NULL), cli_value(args, "where", NULL), &deleted, NULL, &err);
    if (status == TL_OK)
        printf("{\"deleted\":%lld}\n", (long long)deleted);
    int rc = status == TL_OK ? cli_report(t.table) : cli_fail(&err);
    cli_close_table(&t);
    return rc;
}

/* Cut at its commas, in place. */
static size_t split_names(char *text, const char **names, size_t max)
{
    size_t n = 0;
    for (char *save = NULL, *name = strtok_r(text, ", ", &save); name != NULL && n < max; name = strtok_r(NULL, ", ", &save))
        names[n++] = name;
    return n;
}

static tl_status sort_rows(const cli_args *args, tidelake_table *table, tl_error *err)
{
    enum { COLUMNS_MAX = 64 };
    const char *columns[COLUMNS_MAX];
    tidelake_sort_options options = TIDELAKE_SORT_INIT;
    char *names = strdup(cli_value(args, "order-by", ""));
    const char **partitions = calloc((size_t)args->n_parsed + 1, sizeof *partitions);
    if (names == NULL || partitions == NULL) {
        free(names);
        free(partitions);
        *err = (tl_error){.status = TL_E_NOMEM, .message = "out of memory"};
        return TL_E_NOMEM;
    }
    options.order = cli_value(args, "order-strategy", "order");
    options.columns = columns;
    options.n_columns = split_names(names, columns, COLUMNS_MAX);
    options.commit_user = cli_value(args, "commit-user", NULL);
    for (int i = 0; i < args->n_parsed; i++)
        if (strcmp(args->parsed[i].option->name, "partition") == 0)
            partitions[options.n_partitions++] = args->parsed[i].value;
    options.partitions = partitions;
    tl_status status = tidelake_sort(table, &options, NULL, err);
    free(partitions);
    free(names);
    return status;
}

static bool duration(const cli_args *args, const char *name, int64_t *out)
{
    const char *text = cli_value(args, name, NULL);
    tl_error err;
    if (text == NULL || tidelake_parse_duration(text, out, &err) == TL_OK)
        return true;
    (void)cli_usage(args->command, "'--%s %s': %s", name, text, err.message);
    return false;
}

/* What contradicts itself, explained; NULL: nothing. */
static const char *compact_contradiction(const cli_args *args, bool sorts)
{
    if (sorts != cli_has(args, "order-strategy"))
        return "--order-strategy and --order-by belong together";
    if (sorts && cli_has(args, "full"))
        return "sorting takes all files: --full says nothing more";
    if (sorts && (cli_has(args, "partitions") || cli_has(args, "partition-idle-time")))
        return "--partitions and --partition-idle-time are not for sorting: --partition '{\"dt\":\"1\"}' is";
    return !sorts && cli_has(args, "partition") ? "--partition is for sorting (--order-by), --partitions dt=1 for compaction" : NULL;
}

static tl_status compact_rows(const cli_args *args, tidelake_table *table, int threads, int64_t idle_ms, tl_error *err)
{
    tidelake_compact_options options = TIDELAKE_COMPACT_INIT;
    options.full = cli_has(args, "full");
    options.threads = threads;
    options.partitions = cli_value(args, "partitions", NULL);
    options.idle_ms = idle_ms;
    options.commit_user = cli_value(args, "commit-user", NULL);
    if (options.partitions != NULL || idle_ms > 0)
        return tidelake_compact_partitions(table, &options, NULL, err);
    return tidelake_compact(table, options.commit_user, options.full, threads, NULL, err);
}

int cmd_compact(const cli_args *args)
{
    bool sorts = cli_has(args, "order-by");
    const char *wrong = compact_contradiction(args, sorts);
    cli_table t;
    tidelake_option extra[] = {{"write-only", "false"}};
    int64_t threads = 1, idle_ms = 0;
    if (wrong != NULL)
        return cli_usage(args->command, "%s", wrong);
    if (!cli_int(args, "threads", 1, &threads) || !duration(args, "partition-idle-time", &idle_ms))
        return CLI_EXIT_USAGE;
    if (!cli_open_table(args, extra, 1, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    tl_status status = sorts ? sort_rows(args, t.table, &err) : compact_rows(args, t.table, (int)threads, idle_ms, &err);
    int rc = status == TL_OK ? cli_report(t.table) : cli_fail(&err);
    cli_close_table(&t);
    return rc;
}

int cmd_analyze(const cli_args *args)
{
    cli_table t;
    int64_t threads = 1;
    if (!cli_int(args, "threads", 1, &threads))
        return CLI_EXIT_USAGE;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    tl_status status = tidelake_analyze(t.table, cli_value(args, "commit-user", NULL), (int)threads, NULL, &err);
    int rc = status == TL_OK ? cli_report(t.table) : cli_fail(&err);
    cli_close_table(&t);
    return rc;
}

int cmd_expire(const cli_args *args)
{
    bool changelogs = cli_has(args, "changelog");
    int64_t retain_max = -1, retain_min = 1, retain_ms = 0;
    int64_t changelog_max = -1, changelog_min = cli_has(args, "changelog-retain-max") ? 1 : -1, changelog_ms = -1;
    if (!cli_int(args, "retain-max", 1, &retain_max) || !cli_int(args, "retain-min", 1, &retain_min) ||
        !duration(args, "retain", &retain_ms) || !cli_int(args, "changelog-retain-max", 1, &changelog_max) ||
        !cli_int(args, "changelog-retain-min", 1, &changelog_min) || !duration(args, "changelog-retain", &changelog_ms))
        return CLI_EXIT_USAGE;
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int expired = 0, expired_changelogs = 0;
    tl_status status = tidelake_expire(t.table, retain_max, retain_min, retain_ms, &expired, &err);
    if (status == TL_OK && changelogs)
        status = tidelake_expire_changelogs(t.table, changelog_max, changelog_min, changelog_ms, &expired_changelogs, &err);
    cli_close_table(&t);
    if (status != TL_OK)
        return cli_fail(&err);
    printf("{\"expired\":%d,\"expiredChangelogs\":%d}\n", expired, expired_changelogs);
    return CLI_EXIT_OK;
}

int cmd_rollback(const cli_args *args)
{
    int64_t snapshot = 0;
    if (!cli_int(args, "to-snapshot", 1, &snapshot))
        return CLI_EXIT_USAGE;
    const char *tag = cli_value(args, "to-tag", NULL);
    if ((snapshot == 0) == (tag == NULL))
        return cli_usage(args->command, "where to? Give --to-snapshot N or --to-tag TAG");
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    tl_status status = tidelake_rollback(t.table, snapshot, tag, &err);
    int rc = status == TL_OK ? cli_report(t.table) : cli_fail(&err);
    cli_close_table(&t);
    return rc;
}

/* ---- tags ---- */

static int tell_tag(const cli_args *args, tl_status status, const tl_error *err)
{
    if (status != TL_OK)
        return cli_fail(err);
    printf("{\"tag\":");
    cli_print_json_string(stdout, args->params[1]);
    printf("}\n");
    return CLI_EXIT_OK;
}

int cmd_tag_create(const cli_args *args)
{
    int64_t snapshot = 0, retain_ms = -1;
    if (!cli_int(args, "snapshot", 1, &snapshot) || !duration(args, "retain", &retain_ms))
        return CLI_EXIT_USAGE;
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_tag(args, tidelake_create_tag(t.table, args->params[1], snapshot, retain_ms, &err), &err);
    cli_close_table(&t);
    return rc;
}

int cmd_tag_delete(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_tag(args, tidelake_delete_tag(t.table, args->params[1], &err), &err);
    cli_close_table(&t);
    return rc;
}

int cmd_tag_rename(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_tag(args, tidelake_rename_tag(t.table, args->params[1], args->params[2], &err), &err);
    cli_close_table(&t);
    return rc;
}

/* ---- branches ---- */

static int tell_branch(const cli_args *args, tl_status status, const tl_error *err)
{
    if (status != TL_OK)
        return cli_fail(err);
    printf("{\"branch\":");
    cli_print_json_string(stdout, args->params[1]);
    printf("}\n");
    return CLI_EXIT_OK;
}

int cmd_branch_create(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_branch(args, tidelake_create_branch(t.table, args->params[1], cli_value(args, "tag", NULL), &err), &err);
    cli_close_table(&t);
    return rc;
}

int cmd_branch_delete(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_branch(args, tidelake_delete_branch(t.table, args->params[1], &err), &err);
    cli_close_table(&t);
    return rc;
}

int cmd_branch_rename(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_branch(args, tidelake_rename_branch(t.table, args->params[1], args->params[2], &err), &err);
    cli_close_table(&t);
    return rc;
}

int cmd_branch_fast_forward(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_branch(args, tidelake_fast_forward(t.table, args->params[1], &err), &err);
    cli_close_table(&t);
    return rc;
}

/* ---- consumers ---- */

/* What the table's consumers are now, after `status`. */
static int tell_consumers(tidelake_table *table, tl_status status, tl_error *err)
{
    char *lines = NULL;
    if (status == TL_OK)
        status = tidelake_consumers_json(table, &lines, err);
    if (status != TL_OK)
        return cli_fail(err);
    fputs(lines, stdout);
    tidelake_free(lines);
    return CLI_EXIT_OK;
}

int cmd_consumer_set(const cli_args *args)
{
    int64_t next;
    if (!cli_parse_int(args, "NEXT", args->params[2], 1, &next))
        return CLI_EXIT_USAGE;
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_consumers(t.table, tidelake_set_consumer(t.table, args->params[1], next, &err), &err);
    cli_close_table(&t);
    return rc;
}

int cmd_consumer_delete(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_consumers(t.table, tidelake_delete_consumer(t.table, args->params[1], &err), &err);
    cli_close_table(&t);
    return rc;
}

int cmd_consumer_list(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    int rc = tell_consumers(t.table, TL_OK, &err);
    cli_close_table(&t);
    return rc;
}

/* ---- partitions and fsck ---- */

int cmd_expire_partitions(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    char *names = NULL;
    tl_status status = tidelake_expire_partitions(t.table, cli_value(args, "commit-user", NULL), &names, &err);
    if (status == TL_OK)
        printf("{\"dropped\":%s}\n", names);
    tidelake_free(names);
    cli_close_table(&t);
    return status == TL_OK ? CLI_EXIT_OK : cli_fail(&err);
}

typedef tl_status (*partitions_fn)(tidelake_table *table, const char *commit_user, const char *const *specs_json, size_t n, tl_error *err);

static int over_partitions(const cli_args *args, partitions_fn run)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    tl_status status = run(t.table, cli_value(args, "commit-user", NULL), args->params + 1, (size_t)args->n_params - 1, &err);
    int rc = status == TL_OK ? cli_report(t.table) : cli_fail(&err);
    cli_close_table(&t);
    return rc;
}

int cmd_drop_partition(const cli_args *args)
{
    return over_partitions(args, tidelake_drop_partitions);
}

int cmd_rewrite_file_index(const cli_args *args)
{
    return over_partitions(args, tidelake_rewrite_file_index);
}

int cmd_mark_partition_done(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    tl_status status = tidelake_mark_partitions_done(t.table, args->params + 1, (size_t)args->n_params - 1, &err);
    if (status == TL_OK)
        printf("{\"done\":%d}\n", args->n_params - 1);
    cli_close_table(&t);
    return status == TL_OK ? CLI_EXIT_OK : cli_fail(&err);
}

/* Before the check, which then tells what is left. */
static bool repair(const cli_args *args, tidelake_table *table)
{
    tl_error err;
    int64_t older_than_ms = 0;
    char *report = NULL;
    tl_status status = tidelake_parse_duration(cli_value(args, "older-than", "1 d"), &older_than_ms, &err);
    if (status == TL_OK)
        status = tidelake_repair(table, older_than_ms, /* dry_run= */ !cli_has(args, "repair"), &report, &err);
    if (status != TL_OK) {
        cli_fail(&err);
        return false;
    }
    printf("%s\n", report);
    tidelake_free(report);
    return true;
}

int cmd_fsck(const cli_args *args)
{
    cli_table t;
    if (!cli_open_table(args, NULL, 0, &t))
        return CLI_EXIT_FAILED;
    tl_error err;
    char *report;
    size_t problems = 0;
    if ((cli_has(args, "repair") || cli_has(args, "orphans")) && !repair(args, t.table)) {
        cli_close_table(&t);
        return CLI_EXIT_FAILED;
    }
    tl_status status = tidelake_fsck(t.table, cli_has(args, "all"), &report, &problems, &err);
    cli_close_table(&t);
    if (status != TL_OK)
        return cli_fail(&err);
    printf("%s\n", report);
    tidelake_free(report);
    return problems == 0 ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}
