/* The program's entry: find the command, parse its words, run it. */
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static int unknown_command(char **argv)
{
    const char *names[128];
    size_t n = 0, n_commands;
    const cli_command *commands = cli_commands(&n_commands);
    bool begins = false; /* "tag", whose second word is missing or wrong */
    for (size_t i = 0; i < n_commands && n < 128; i++) {
        names[n++] = commands[i].name;
        size_t len = strlen(argv[0]);
        if (strncmp(commands[i].name, argv[0], len) != 0 || commands[i].name[len] != ' ')
            continue;
        fprintf(stderr, begins ? ", %s" : "tidelake %s: what to do? There is ", begins ? commands[i].name : argv[0]);
        if (!begins)
            fputs(commands[i].name, stderr);
        begins = true;
    }
    if (!begins && argv[0][0] == '-') {
        fprintf(stderr, "tidelake: '%s' where a command should be; options stand behind it: tidelake COMMAND %s", argv[0], argv[0]);
    } else if (!begins) {
        const char *near = cli_nearest(argv[0], names, n);
        fprintf(stderr, "tidelake: no command '%s'", argv[0]);
        if (near != NULL)
            fprintf(stderr, "; did you mean '%s'?", near);
    }
    fprintf(stderr, "\nRun 'tidelake --help' for the list of commands.\n");
    return CLI_EXIT_USAGE;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help_of(int argc, char **argv)
{
    int words;
    if (argc > 0 && strcmp(argv[0], "--man") == 0) {
        cli_print_manual(stdout);
        return CLI_EXIT_OK;
    }
    if (argc > 0 && strcmp(argv[0], "--markdown") == 0) {
        cli_print_markdown(stdout);
        return CLI_EXIT_OK;
    }
    const cli_command *command = argc > 0 ? cli_find_command(argc, argv, &words) : NULL;
    if (argc > 0 && command == NULL)
        return unknown_command(argv);
    if (command == NULL)
        cli_help_overview(stdout);
    else
        cli_help_command(command, stdout);
    return CLI_EXIT_OK;
}

/*
 * Batches of columns come and go by the megabyte. Left to itself, glibc gives each back to the kernel and takes it again page
 * by page: up to half of the time of a commit (measured: sorting 500,000 rows 36 to 20 ns a row without that). And it would make eight
 * arenas for each processor, each of which keeps what its threads have freed (eight bulk upserts by two threads: 367 MB, with an
 * arena for each processor 174, no slower).
 */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 256 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 16 << 20);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    mallopt(M_ARENA_MAX, processors < 1 ? 1 : (int)processors);
}

/* Nothing is done that could not be written. */
static int finish(int rc)
{
    bool written = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (written || rc != CLI_EXIT_OK) /* a failure has been told already */
        return rc;
    perror("tidelake: could not write the output");
    return CLI_EXIT_FAILED;
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (is_help(argv[i])) {
            cli_help_command(command, stdout);
            return CLI_EXIT_OK;
        }
    }
    cli_args args;
    if (!cli_parse(command, argc, argv, &args))
        return CLI_EXIT_USAGE;
    int rc = CLI_EXIT_USAGE;
    bool anywhere = strncmp(command->params, "DB", 2) != 0 && strncmp(command->params, "[DB", 3) != 0;
    char *warehouse = anywhere ? NULL : cli_warehouse(&args);
    if (anywhere || warehouse != NULL)
        rc = command->run(&args);
    free(warehouse);
    cli_args_deinit(&args);
    return rc;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    keep_memory();
    signal(SIGPIPE, SIG_DFL); /* `tidelake read … | head` ends quietly */
    argc--;
    argv++;
    if (argc == 0) {
        cli_help_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    if (is_help(argv[0]))
        return finish(help_of(0, argv));
    if (strcmp(argv[0], "help") == 0)
        return finish(help_of(argc - 1, argv + 1));
    if (strcmp(argv[0], "--version") == 0)
        return finish(cmd_version(NULL));
    int words = 0;
    const cli_command *command = cli_find_command(argc, argv, &words);
    if (command != NULL)
        return finish(run_command(command, argc - words, argv + words));
    int rc = cli_run_extension(argc, argv);
    return rc >= 0 ? rc : unknown_command(argv);
}
