/*
 * The command line: a table of commands, each with its options, help and examples. Parsing, help and completion come from
 * that table. Uses the public API alone.
 *
 * Exit status: 0 done, 1 failed (the reason is on stderr), 2 wrong usage.
 */
#ifndef TL_CLI_H
#define TL_CLI_H

#include <stdbool.h>
#include <stdio.h>

#include <tidelake/tidelake.h>

#define CLI_EXIT_OK 0
#define CLI_EXIT_FAILED 1
#define CLI_EXIT_USAGE 2

typedef enum cli_arg {
    CLI_FLAG,    /* --full */
    CLI_VALUE,   /* --limit N, --limit=N */
    CLI_REPEAT,  /* --option k=v, several times */
    CLI_OPTIONAL /* --overwrite or --overwrite '{…}': takes the next word only if it begins with `{` */
} cli_arg;

typedef struct cli_option {
    const char *name; /* without the dashes */
    cli_arg arg;
    const char *value; /* what stands in the help: N, FILE, … */
    const char *help;
} cli_option;

typedef struct cli_args cli_args;

typedef struct cli_command {
    const char *name;   /* "tag create" has two words */
    const char *group;  /* heading in the overview */
    const char *params; /* "DB.TABLE ROWS"; with a database or table first, a warehouse is needed */
    int n_params_min, n_params_max;
    const char *summary; /* one line */
    const char *details; /* more lines, may be NULL */
    const char *examples;
    const cli_option *options; /* ends with a NULL name; the common ones come in addition */
    int (*run)(const cli_args *args);
} cli_command;

extern const cli_command cli_own_commands[]; /* those written by hand (commands.c) */
extern const size_t cli_n_own_commands;
/** All commands: those, and among them one for each procedure that none of them runs. */
const cli_command *cli_commands(size_t *n);
/** The commands of procedures (cmd_procedure.c), at most `max`; how many. They are never freed. */
size_t cli_procedure_commands(cli_command *out, size_t max);
/** The command that does what a procedure of another name does, its dashes for underscores; NULL: there is none. */
const char *cli_command_of_procedure(const char *word);
extern const cli_option cli_common_options[]; /* --warehouse, --help … */

/** Parsed words of one command. */
typedef struct cli_parsed {
    const cli_option *option;
    const char *value; /* NULL for a flag, or CLI_OPTIONAL without a value */
} cli_parsed;
struct cli_args {
    const cli_command *command;
    const char **params;
    int n_params;
    cli_parsed *parsed;
    int n_parsed;
};

/** Find the command of argv (one or two words; *words tells) or NULL. */
const cli_command *cli_find_command(int argc, char **argv, int *words);
/** Parse the words after the command. False: an explanation was printed, exit with CLI_EXIT_USAGE. */
bool cli_parse(const cli_command *command, int argc, char **argv, cli_args *out);
void cli_args_deinit(cli_args *args);
bool cli_has(const cli_args *args, const char *name);
/** The last value given, or `otherwise`. */
const char *cli_value(const cli_args *args, const char *name, const char *otherwise);
/** A whole number in [min, INT64_MAX]; false: explained. `out` keeps its value if the option is absent. */
bool cli_int(const cli_args *args, const char *name, int64_t min, int64_t *out);
/** The same for a parameter; `what` is its name. */
bool cli_parse_int(const cli_args *args, const char *what, const char *text, int64_t min, int64_t *out);

/*
 * A command that is not one of ours: becomes `tidelake-NAME` with the same words (argv[0] is NAME), if there is such a program beside
 * this one or in PATH. Returns -1 if there is none, else only where it could not be started: the exit status.
 */
int cli_run_extension(int argc, char **argv);

void cli_help_overview(FILE *out);
void cli_help_command(const cli_command *command, FILE *out);
/** The reference of all commands, for man(1) and for docs/cli.md. */
void cli_print_manual(FILE *out);
void cli_print_markdown(FILE *out);
/** The known word nearest to `word`, NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *known, size_t n);

/** Print an error with what to do next; returns CLI_EXIT_FAILED. */
int cli_fail(const tl_error *err);
int cli_usage(const cli_command *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Opening what most commands need. False: explained. */
bool cli_open_lake(const cli_args *args, bool make, tidelake_lake **out);
/** params[0] with --branch in it: DB.TABLE$branch_B$system; free(). NULL: out of memory. */
char *cli_table_name(const cli_args *args);
/** DB.TABLE of params[0] with --branch, --option and `extra` options laid over. */
typedef struct cli_table {
    tidelake_lake *lake;
    tidelake_table *table;
} cli_table;
bool cli_open_table(const cli_args *args, const tidelake_option *extra, size_t n_extra, cli_table *out);
/** The words of --option, and `extra` behind them. False: explained. */
typedef struct cli_options {
    tidelake_option *items;
    size_t n;
    char **copies; /* the words, cut at their `=` */
} cli_options;
bool cli_collect_options(const cli_args *args, const tidelake_option *extra, size_t n_extra, cli_options *out);
void cli_options_deinit(cli_options *options);
bool cli_open_table_with(const cli_args *args, const cli_options *options, cli_table *out);
void cli_close_table(cli_table *table);
/** Absolute path of the warehouse; free(). */
char *cli_warehouse(const cli_args *args);
/** Text of a file ("-": stdin), NUL-terminated; free(). False: explained. */
bool cli_read_file(const char *path, char **out);

/* Output of rows. */
typedef struct cli_output {
    tidelake_printer *printer;
    FILE *file;
} cli_output;
/** `--format` (default: a table on a terminal, JSON lines otherwise) and `--output FILE`. */
bool cli_output_open(const cli_args *args, tidelake_rows *rows, bool kinds, bool snapshots, bool sorted, bool hide_warehouse,
                     cli_output *out);
bool cli_output_close(cli_output *out, bool ok);
/** Print every batch; true if all went well. */
bool cli_print_all(tidelake_rows *rows, cli_output *out);

/* Progress of long work on stderr, if that is a terminal (or --progress): a line with rate, shown after a second. */
typedef struct cli_progress {
    const char *what;
    int64_t start_ns;
    int64_t last_ns;
    bool on;
    bool shown;
} cli_progress;
void cli_progress_start(cli_progress *progress, const cli_args *args, const char *what);
void cli_progress_update(cli_progress *progress, int64_t rows, int64_t done_bytes, int64_t total_bytes);
void cli_progress_end(cli_progress *progress);

/** `{"snapshot":N,"kind":K,"records":R}` of the table, as a line. */
int cli_report(tidelake_table *table);
/** Print a JSON string with quotes. */
void cli_print_json_string(FILE *out, const char *text);

/* The commands. */
int cmd_create(const cli_args *args);
int cmd_drop(const cli_args *args);
int cmd_alter(const cli_args *args);
int cmd_schema(const cli_args *args);
int cmd_tables(const cli_args *args);
int cmd_options(const cli_args *args);
int cmd_write(const cli_args *args);
int cmd_read(const cli_args *args);
int cmd_changelog(const cli_args *args);
int cmd_files(const cli_args *args);
int cmd_import(const cli_args *args);
int cmd_clone(const cli_args *args);
int cmd_delete(const cli_args *args);
int cmd_compact(const cli_args *args);
int cmd_analyze(const cli_args *args);
int cmd_expire(const cli_args *args);
int cmd_rollback(const cli_args *args);
int cmd_tag_create(const cli_args *args);
int cmd_tag_delete(const cli_args *args);
int cmd_tag_rename(const cli_args *args);
int cmd_expire_partitions(const cli_args *args);
int cmd_drop_partition(const cli_args *args);
int cmd_mark_partition_done(const cli_args *args);
int cmd_rewrite_file_index(const cli_args *args);
int cmd_branch_create(const cli_args *args);
int cmd_branch_delete(const cli_args *args);
int cmd_branch_rename(const cli_args *args);
int cmd_branch_fast_forward(const cli_args *args);
int cmd_consumer_set(const cli_args *args);
int cmd_consumer_delete(const cli_args *args);
int cmd_consumer_list(const cli_args *args);
int cmd_fsck(const cli_args *args);
int cmd_run(const cli_args *args);
int cmd_sql(const cli_args *args);
int cmd_completion(const cli_args *args);
int cmd_version(const cli_args *args);

#endif
