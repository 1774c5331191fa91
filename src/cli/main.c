/* The program's entry: find the command, parse its words, run it. */
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"

static int unknown_command(const char *word)
{
    const char *names[128];
    size_t n = 0;
    for (size_t i = 0; i < cli_n_commands && n < 128; i++)
        names[n++] = cli_commands[i].name;
    const char *near = cli_nearest(word, names, n);
    fprintf(stderr, "tidelake: no command '%s'", word);
    if (near != NULL)
        fprintf(stderr, "; did you mean '%s'?", near);
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
        return unknown_command(argv[0]);
    if (command == NULL)
        cli_help_overview(stdout);
    else
        cli_help_command(command, stdout);
    return CLI_EXIT_OK;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_DFL); /* `tidelake read … | head` ends quietly */
    argc--;
    argv++;
    if (argc == 0) {
        cli_help_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    if (is_help(argv[0]))
        return help_of(0, argv);
    if (strcmp(argv[0], "help") == 0)
        return help_of(argc - 1, argv + 1);
    if (strcmp(argv[0], "--version") == 0)
        return cmd_version(NULL);
    int words = 0;
    const cli_command *command = cli_find_command(argc, argv, &words);
    if (command == NULL)
        return unknown_command(argv[0]);
    for (int i = words; i < argc; i++) {
        if (is_help(argv[i])) {
            cli_help_command(command, stdout);
            return CLI_EXIT_OK;
        }
    }
    cli_args args;
    if (!cli_parse(command, argc - words, argv + words, &args))
        return CLI_EXIT_USAGE;
    int rc = command->run(&args);
    cli_args_deinit(&args);
    if (fflush(stdout) != 0 && rc == CLI_EXIT_OK) {
        perror("tidelake: could not write the output");
        rc = CLI_EXIT_FAILED;
    }
    return rc;
}
