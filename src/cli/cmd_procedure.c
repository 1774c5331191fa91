/*
 * Procedures as commands: what SQL does by CALL sys.NAME(…), each as `tidelake NAME`, with dashes for underscores and its arguments as options.
 * All but names of other commands and examples comes from the library's table of procedures.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* What there is a command of its own for, by another name (those of the same name are found by themselves); examples of the others. */
static const struct {
    const char *procedure, *command, *examples;
} notes[] = {
    {"create_tag", "tag create", NULL},
    {"delete_tag", "tag delete", NULL},
    {"rename_tag", "tag rename", NULL},
    {"create_branch", "branch create", NULL},
    {"delete_branch", "branch delete", NULL},
    {"rename_branch", "branch rename", NULL},
    {"fast_forward", "branch fast-forward", NULL},
    {"rollback_to", "rollback", NULL},
    {"migrate_table", "import", NULL},
    {"replace_tag", NULL, "  tidelake replace-tag db.t --tag first --snapshot-id 3"},
    {"create_tag_from_timestamp", NULL, "  tidelake create-tag-from-timestamp db.t --tag may --timestamp 1714521600000 --time-retained '30 d'"},
    {"create_tag_from_watermark", NULL, "  tidelake create-tag-from-watermark db.log --tag may --watermark 1714521600000"},
    {"expire_tags", NULL, "  tidelake expire-tags db.t --older-than '2024-05-01 00:00:00'"},
    {"trigger_tag_automatic_creation", NULL, "  tidelake trigger-tag-automatic-creation db.t"},
    {"rollback_to_timestamp", NULL, "  tidelake rollback-to-timestamp db.t --timestamp 4070908800000"},
    {"rollback_to_watermark", NULL, "  tidelake rollback-to-watermark db.log --watermark 1714521600000"},
    {"compact_database", NULL, "  tidelake compact-database --including-databases db --including-tables 'db\\.(t|days)'"},
    {"compact_manifest", NULL, "  tidelake compact-manifest db.t"},
    {"rescale", NULL, "  tidelake rescale db.t --bucket-num 2"},
    {"purge_files", NULL, "  tidelake purge-files db.t"},
    {"remove_unexisting_files", NULL, "  tidelake remove-unexisting-files db.t --dry-run"},
    {"remove_unexisting_manifests", NULL, "  tidelake remove-unexisting-manifests db.t"},
    {"expire_snapshots", NULL, "  tidelake expire-snapshots db.t --retain-max 5 --retain-min 1 --older-than '2099-01-01 00:00:00'"},
    {"expire_changelogs", NULL, "  tidelake expire-changelogs db.t --delete-all"},
    {"merge_into", NULL,
     "  tidelake merge-into db.t --source-table db.days --merge-condition 't.k = days.k' --matched-upsert-setting 'v = days.dt'"},
    {"data_evolution_merge_into", NULL,
     "  tidelake data-evolution-merge-into db.wide --source-table db.days --merge-condition 'wide.k = days.k' \\\n"
     "      --matched-update-set 'v = days.dt'"},
    {"reset_consumer", NULL, "  tidelake reset-consumer db.t --consumer-id report --next-snapshot-id 3"},
    {"clear_consumers", NULL, "  tidelake clear-consumers db.t --including-consumers 'rep.*'"},
    {"alter_column_default_value", NULL, "  tidelake alter-column-default-value db.t --column n --default-value 5"},
    {"remove_orphan_files", NULL, "  tidelake remove-orphan-files db.t --dry-run"},
};
enum { N_NOTES = sizeof notes / sizeof notes[0] };

static const char procedures_group[] = "Procedures";

static int cmd_procedure(const cli_args *args);

/* ---- the commands ---- */

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "tidelake: out of memory\n");
        exit(CLI_EXIT_FAILED);
    }
    return memory;
}

static char *formatted(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *formatted(const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    return must(n < 0 ? NULL : text);
}

static char *dashed(const char *name)
{
    char *copy = must(strdup(name));
    for (char *c = copy; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return copy;
}

/* Whether a word of the command line is the name of a procedure or of its argument. */
static bool names(const char *word, const char *name)
{
    for (; *word != '\0' && (*word == *name || (*word == '-' && *name == '_')); word++)
        name++;
    return *word == '\0' && *name == '\0';
}

static bool is_list_of_options(const char *argument)
{
    return strcmp(argument, "options") == 0 || strcmp(argument, "table_options") == 0;
}

/* The arguments but for the table, and for options, which every command takes. */
static cli_option *options_of(size_t procedure, const tidelake_procedure *p, char **params)
{
    static const cli_option output[] = {{"format", CLI_VALUE, "FORMAT", "jsonl, csv, table, arrow or parquet\n(default: table on a terminal, else jsonl)"},
                                        {"output", CLI_VALUE, "FILE", "write there instead of to standard output"}};
    cli_option *options = must(calloc(p->n_arguments + 3, sizeof *options));
    tidelake_procedure_argument a = {.struct_bytes = sizeof a};
    size_t n = 0;
    for (size_t i = p->takes_table ? 1 : 0; tidelake_procedure_argument_at(procedure, i, &a); i++) {
        if (is_list_of_options(a.name))
            continue;
        cli_option *o = &options[n++];
        *o = (cli_option){dashed(a.name), *a.value == '\0' ? CLI_FLAG : CLI_VALUE, a.value, a.help};
        if (a.required) {
            char *longer = formatted("%s%s--%s %s", *params, **params == '\0' ? "" : " ", o->name, o->value);
            free(*params);
            *params = longer;
        }
    }
    memcpy(&options[n], output, sizeof output);
    return options;
}

static cli_command command_of(size_t procedure, const tidelake_procedure *p, const char *examples)
{
    char *params = must(strdup(p->takes_table ? "DB.TABLE" : ""));
    cli_command c = {.name = dashed(p->name),
                     .group = procedures_group,
                     .n_params_min = p->takes_table,
                     .n_params_max = p->takes_table,
                     .summary = p->summary,
                     .details = formatted("In SQL it is CALL sys.%s.", p->name),
                     .examples = examples,
                     .run = cmd_procedure};
    c.options = options_of(procedure, p, &params);
    c.params = params;
    return c;
}

static const cli_command *own_command(const char *name)
{
    for (size_t i = 0; i < cli_n_own_commands; i++)
        if (names(cli_own_commands[i].name, name))
            return &cli_own_commands[i];
    return NULL;
}

size_t cli_procedure_commands(cli_command *out, size_t max)
{
    tidelake_procedure p = {.struct_bytes = sizeof p};
    size_t n = 0;
    for (size_t i = 0; tidelake_procedure_at(i, &p) && n < max; i++) {
        size_t note = 0;
        while (note < N_NOTES && strcmp(notes[note].procedure, p.name) != 0)
            note++;
        bool has_own = own_command(p.name) != NULL || (note < N_NOTES && notes[note].command != NULL);
        if (!has_own)
            out[n++] = command_of(i, &p, note < N_NOTES ? notes[note].examples : NULL);
    }
    return n;
}

const char *cli_command_of_procedure(const char *word)
{
    for (size_t i = 0; i < N_NOTES; i++)
        if (notes[i].command != NULL && names(word, notes[i].procedure))
            return notes[i].command;
    return NULL;
}

/* ---- running one ---- */

/* The statement; `text` is a stream of it. */
static void add_argument(FILE *text, bool first, const char *name, const char *value)
{
    fprintf(text, "%s`%s` => '", first ? "" : ", ", name);
    for (; *value != '\0'; value++) {
        fputc(*value, text);
        if (*value == '\'')
            fputc('\'', text);
    }
    fputc('\'', text);
}

/* The words of --option as "k=v,k=v"; false: explained. */
static bool join_options(const cli_args *args, char **out)
{
    *out = must(strdup(""));
    for (int i = 0; i < args->n_parsed; i++) {
        const char *value = args->parsed[i].value;
        if (strcmp(args->parsed[i].option->name, "option") != 0)
            continue;
        if (strchr(value, ',') != NULL) {
            (void)cli_usage(args->command, "'--option %s': a value with a comma cannot be given to a procedure", value);
            free(*out);
            return false;
        }
        char *longer = formatted("%s%s%s", *out, **out == '\0' ? "" : ",", value);
        free(*out);
        *out = longer;
    }
    return true;
}

static bool check_required(const cli_args *args, size_t procedure, const tidelake_procedure *p)
{
    tidelake_procedure_argument a = {.struct_bytes = sizeof a};
    bool takes_options = false;
    for (size_t i = 0; tidelake_procedure_argument_at(procedure, i, &a); i++) {
        char *name = dashed(a.name);
        bool missing = a.required && !(i == 0 && p->takes_table) && !cli_has(args, name);
        takes_options |= is_list_of_options(a.name);
        if (missing)
            (void)cli_usage(args->command, "--%s is missing: tidelake %s %s", name, args->command->name, args->command->params);
        free(name);
        if (missing)
            return false;
    }
    if (!takes_options && cli_has(args, "option"))
        (void)cli_usage(args->command, "it takes no --option");
    return takes_options || !cli_has(args, "option");
}

/* "CALL sys.name(…)" with what was given; NULL: explained. free(). */
static char *statement_of(const cli_args *args, size_t procedure, const tidelake_procedure *p)
{
    char *statement = NULL, *list = NULL;
    size_t bytes;
    bool first = true;
    tidelake_procedure_argument a = {.struct_bytes = sizeof a};
    if (!join_options(args, &list))
        return NULL;
    FILE *text = must(open_memstream(&statement, &bytes));
    fprintf(text, "CALL sys.`%s`(", p->name);
    for (size_t i = 0; tidelake_procedure_argument_at(procedure, i, &a); i++) {
        char *name = dashed(a.name), *table = i == 0 && p->takes_table ? must(cli_table_name(args)) : NULL;
        const char *given = cli_has(args, name) ? cli_value(args, name, "true") : NULL, *value = table != NULL ? table : given;
        if (is_list_of_options(a.name))
            value = *list == '\0' ? NULL : list;
        if (value != NULL) {
            add_argument(text, first, a.name, value);
            first = false;
        }
        free(table);
        free(name);
    }
    fputs(")", text);
    free(list);
    if (fclose(text) != 0)
        must(NULL);
    return statement;
}

/* Nobody typed a statement: where in it something is wrong is left out. */
static int fail(tl_error *err, const char *procedure)
{
    const char *from = err->message;
    for (;;) {
        int n = 0;
        size_t len = strlen(procedure);
        if (sscanf(from, "line 1:%*d: %n", &n) == 0 && n > 0)
            from += n;
        else if (strncmp(from, "CALL ", 5) == 0 && strncmp(from + 5, procedure, len) == 0 && strncmp(from + 5 + len, ": ", 2) == 0)
            from += 5 + len + 2;
        else
            break;
    }
    memmove(err->message, from, strlen(from) + 1);
    return cli_fail(err);
}

/* Whether there is the table, or the warehouse; if not it is told as all commands do. */
static bool is_there(const cli_args *args)
{
    cli_table table;
    tidelake_lake *lake;
    if (args->n_params > 0 && cli_open_table(args, NULL, 0, &table))
        cli_close_table(&table);
    else if (args->n_params == 0 && cli_open_lake(args, /* make= */ false, &lake))
        tidelake_close(lake);
    else
        return false;
    return true;
}

static int execute(const cli_args *args, const char *warehouse, const char *procedure, const char *statement)
{
    tidelake_session *session = NULL;
    tidelake_rows *rows = NULL;
    cli_output out;
    tl_error err;
    if (!is_there(args))
        return CLI_EXIT_FAILED;
    char *db = args->n_params == 0 ? NULL : must(strndup(args->params[0], strcspn(args->params[0], ".")));
    tl_status status = tidelake_session_open(warehouse, db, (int)sysconf(_SC_NPROCESSORS_ONLN), &session, &err);
    free(db);
    if (status != TL_OK)
        return cli_fail(&err);
    int rc = CLI_EXIT_OK;
    if (tidelake_session_execute(session, statement, &rows, &err) != TL_OK)
        rc = fail(&err, procedure);
    else if (rows != NULL && !(cli_output_open(args, rows, false, false, false, false, &out) && cli_output_close(&out, cli_print_all(rows, &out))))
        rc = CLI_EXIT_FAILED;
    tidelake_rows_free(rows);
    tidelake_session_close(session);
    return rc;
}

static int cmd_procedure(const cli_args *args)
{
    tidelake_procedure p = {.struct_bytes = sizeof p};
    size_t i = 0;
    while (tidelake_procedure_at(i, &p) && !names(args->command->name, p.name))
        i++;
    if (!check_required(args, i, &p))
        return CLI_EXIT_USAGE;
    char *warehouse = cli_warehouse(args), *statement = warehouse == NULL ? NULL : statement_of(args, i, &p);
    int rc = statement == NULL ? CLI_EXIT_USAGE : execute(args, warehouse, p.name, statement);
    free(statement);
    free(warehouse);
    return rc;
}
