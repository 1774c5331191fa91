/* Commands that move rows: write, read, changelog. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- write ---- */

/* "a,b,c" into an array of names pointing into `text`. */
static size_t split_names(char *text, const char **names)
{
    size_t n = 0;
    for (char *p = text; p != NULL; n++) {
        names[n] = p;
        p = strchr(p, ',');
        if (p != NULL)
            *p++ = '\0';
    }
    return n;
}

static bool write_options(const cli_args *args, tidelake_write_options *options)
{
    const char *mode = cli_value(args, "compact", "auto");
    static const char *const modes[] = {"auto", "none", "full"};
    size_t m = 0;
    while (m < 3 && strcmp(mode, modes[m]) != 0)
        m++;
    if (m == 3) {
        (void)cli_usage(args->command, "'--compact %s': auto, none or full is expected", mode);
        return false;
    }
    int64_t threads = 0;
    if (!cli_int(args, "threads", 0, &threads))
        return false;
    *options = (tidelake_write_options)TIDELAKE_WRITE_INIT;
    options->compaction = (tidelake_compaction)m;
    options->commit_user = cli_value(args, "commit-user", NULL);
    options->overwrite = cli_has(args, "overwrite");
    options->threads = threads > 0 ? (int)threads : -1;
    return cli_int(args, "first-row-id", 0, &options->first_row_id);
}

typedef struct write_job {
    const cli_args *args;
    cli_table t;
    tidelake_write_options options;
    tidelake_commit_options commit;
    tidelake_input *input;
    tidelake_writer *writer; /* NULL between commits unless --stream */
    cli_progress progress;
    int64_t rows;
} write_job;

static tl_status commit_batch(write_job *job, tl_error *err)
{
    tl_status status = tidelake_writer_commit(job->writer, &job->commit, NULL, err);
    if (status == TL_OK && !cli_has(job->args, "stream")) {
        tidelake_writer_close(job->writer);
        job->writer = NULL;
    }
    if (status == TL_OK && cli_report(job->t.table) != CLI_EXIT_OK)
        status = TL_E_IO;
    return status;
}

static tl_status write_rows(write_job *job, tl_error *err)
{
    for (bool pending = false;;) {
        tidelake_batch *batch;
        int commit;
        tl_status status = tidelake_input_next(job->input, &batch, &commit, err);
        if (status != TL_OK)
            return status;
        if (batch == NULL)
            return pending ? commit_batch(job, err) : TL_OK;
        if (job->writer == NULL)
            status = tidelake_writer_open(job->t.table, &job->options, &job->writer, err);
        if (status == TL_OK)
            status = tidelake_writer_write_batch(job->writer, batch, err);
        job->rows += tidelake_batch_rows(batch);
        tidelake_batch_free(batch);
        pending = true;
        if (status == TL_OK && commit) {
            status = commit_batch(job, err);
            pending = false;
        }
        if (status != TL_OK)
            return status;
        int64_t done, total;
        tidelake_input_progress(job->input, &done, &total);
        cli_progress_update(&job->progress, job->rows, done, total);
    }
}

/* The partition of --overwrite '{…}'; none without it. False: explained. */
static bool overwritten_partition(write_job *job, tidelake_option **out)
{
    const char *json = cli_value(job->args, "overwrite", NULL);
    tl_error err;
    if (json != NULL && tidelake_parse_partition(job->t.table, json, out, &job->options.n_overwrite_partition, &err) != TL_OK) {
        (void)cli_usage(job->args->command, "--overwrite: %s", err.message);
        return false;
    }
    job->options.overwrite_partition = *out;
    return true;
}

static int run_write(write_job *job)
{
    tl_error err;
    tl_status status =
        tidelake_input_open(job->t.table, job->args->params[1], cli_value(job->args, "input-format", NULL), &job->input, &err);
    cli_progress_start(&job->progress, job->args, "writing");
    if (status == TL_OK)
        status = write_rows(job, &err);
    cli_progress_end(&job->progress);
    int rc = status == TL_OK ? CLI_EXIT_OK : cli_fail(&err);
    tidelake_writer_close(job->writer);
    tidelake_input_close(job->input);
    return rc;
}

int cmd_write(const cli_args *args)
{
    write_job job = {.args = args, .commit = TIDELAKE_COMMIT_INIT};
    tidelake_option *partition = NULL;
    job.commit.wait_compaction = 1; /* what a command leaves does not depend on time */
    if (!write_options(args, &job.options) || !cli_int(args, "watermark", INT64_MIN + 1, &job.commit.watermark))
        return CLI_EXIT_USAGE;
    const char *columns = cli_value(args, "columns", NULL);
    char *text = columns == NULL ? NULL : strdup(columns);
    const char **names = calloc(columns == NULL ? 1 : strlen(columns) + 1, sizeof *names);
    job.options.columns = text == NULL ? NULL : names;
    job.options.n_columns = text == NULL || names == NULL ? 0 : split_names(text, names);
    int rc = CLI_EXIT_FAILED;
    if (names != NULL && cli_open_table(args, NULL, 0, &job.t)) {
        rc = overwritten_partition(&job, &partition) ? run_write(&job) : CLI_EXIT_USAGE;
        cli_close_table(&job.t);
    }
    tidelake_free(partition);
    free(text);
    free(names);
    return rc;
}

/* ---- read ---- */

static bool is_system(const char *name)
{
    return strchr(name, '$') != NULL;
}

/* Metadata counts, too: all that the process has read. */
static void print_stats(void)
{
    tidelake_io io = TIDELAKE_IO_INIT;
    tidelake_io_count(&io);
    fprintf(stderr, "{\"read_bytes\":%lld,\"reads\":%lld,\"index_files\":%lld,\"index_skipped\":%lld,\"index_rows\":%lld}\n",
            (long long)io.read_bytes, (long long)io.reads, (long long)io.index_files, (long long)io.index_skipped, (long long)io.index_rows);
}

static int read_table(const cli_args *args, tidelake_read_options *options, cli_table *t)
{
    tidelake_rows *rows;
    tl_error err;
    if (tidelake_read(t->table, options, &rows, &err) != TL_OK)
        return cli_fail(&err);
    bool sorted = strcmp(cli_value(args, "order", "bytes"), "scan") != 0;
    cli_output out;
    bool ok = cli_output_open(args, rows, options->kinds, false, sorted, is_system(args->params[0]), &out);
    if (ok)
        ok = cli_output_close(&out, cli_print_all(rows, &out));
    tidelake_rows_free(rows);
    if (ok && cli_has(args, "stats"))
        print_stats();
    return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

static size_t travel_options(const cli_args *args, tidelake_option *extra)
{
    static const char *const names[][2] = {
        {"snapshot", "scan.snapshot-id"}, {"tag", "scan.tag-name"}, {"timestamp-millis", "scan.timestamp-millis"}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (cli_has(args, names[i][0]))
            extra[n++] = (tidelake_option){names[i][1], cli_value(args, names[i][0], NULL)};
    return n;
}

int cmd_read(const cli_args *args)
{
    tidelake_read_options options = TIDELAKE_READ_INIT;
    int64_t threads = 1;
    if (!cli_int(args, "limit", 0, &options.limit) || !cli_int(args, "threads", 1, &threads))
        return CLI_EXIT_USAGE;
    const char *columns = cli_value(args, "columns", NULL);
    char *text = columns == NULL ? NULL : strdup(columns);
    const char **names = calloc(columns == NULL ? 1 : strlen(columns) + 1, sizeof *names);
    int rc = CLI_EXIT_FAILED;
    tidelake_option extra[3];
    size_t n_extra = travel_options(args, extra);
    cli_table t;
    if (names != NULL && cli_open_table(args, extra, n_extra, &t)) {
        options.columns = text == NULL ? NULL : names;
        options.n_columns = text == NULL ? 0 : split_names(text, names);
        options.where = cli_value(args, "where", NULL);
        options.kinds = cli_has(args, "kinds");
        options.threads = (int)threads;
        rc = read_table(args, &options, &t);
        cli_close_table(&t);
    }
    free(text);
    free(names);
    return rc;
}

/* ---- changelog ---- */

static bool starts_elsewhere(const cli_options *options)
{
    for (size_t i = 0; i < options->n; i++)
        if (strcmp(options->items[i].key, "scan.mode") == 0 || strcmp(options->items[i].key, "consumer-id") == 0)
            return true;
    return false;
}

static int print_changes(const cli_args *args, tidelake_table *table, const tidelake_changes_options *options)
{
    tidelake_rows *rows;
    tl_error err;
    if (tidelake_changes(table, options, &rows, &err) != TL_OK)
        return cli_fail(&err);
    cli_output out;
    bool ok = cli_output_open(args, rows, true, true, false, is_system(args->params[0]), &out);
    if (ok)
        ok = cli_output_close(&out, cli_print_all(rows, &out));
    tidelake_rows_free(rows);
    return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}

int cmd_changelog(const cli_args *args)
{
    tidelake_changes_options changes = TIDELAKE_CHANGES_INIT;
    int64_t from = 1;
    if (!cli_int(args, "to", 0, &changes.to_snapshot) || !cli_int(args, "from", 1, &from))
        return CLI_EXIT_USAGE;
    changes.follow = cli_has(args, "follow");
    tidelake_option start[] = {{"scan.mode", "from-snapshot"}, {"scan.snapshot-id", cli_value(args, "from", "1")}};
    cli_options options;
    if (!cli_collect_options(args, start, 2, &options))
        return CLI_EXIT_USAGE;
    options.n -= 2; /* what the caller gave comes first */
    options.n += starts_elsewhere(&options) ? 0 : 2;
    changes.options = options.items;
    changes.n_options = options.n;
    /* The options belong to the changes: a table opened with them would be one of the past. */
    const cli_options none = {NULL, 0, NULL};
    cli_table t;
    int rc = CLI_EXIT_FAILED;
    if (cli_open_table_with(args, &none, &t)) {
        rc = print_changes(args, t.table, &changes);
        cli_close_table(&t);
    }
    cli_options_deinit(&options);
    return rc;
}

/* ---- files ---- */

int cmd_files(const cli_args *args)
{
    char *name = NULL;
    if (asprintf(&name, "%s$files", args->params[0]) < 0)
        return CLI_EXIT_FAILED;
    cli_args with_name = *args;
    const char *params[] = {name};
    with_name.params = params;
    int rc = cmd_read(&with_name);
    free(name);
    return rc;
}
