/* Help texts from the table of commands. */
#include <string.h>

#include "cli/cli.h"

void cli_help_overview(FILE *out)
{
    fprintf(out,
            "tidelake %s: Apache Paimon tables and streaming jobs as one program\n\n"
            "usage: tidelake COMMAND [ARGUMENTS] --warehouse DIR     (or TIDELAKE_WAREHOUSE=DIR)\n",
            tidelake_version());
    const char *group = NULL;
    for (size_t i = 0; i < cli_n_commands; i++) {
        const cli_command *command = &cli_commands[i];
        if (group == NULL || strcmp(group, command->group) != 0) {
            group = command->group;
            fprintf(out, "\n%s\n", group);
        }
        fprintf(out, "  %-16s %s\n", command->name, command->summary);
    }
    fprintf(out, "\nRun 'tidelake COMMAND --help' for arguments and examples of one command.\n"
                 "A program tidelake-NAME beside this one or in PATH adds the command NAME.\n");
}

static void print_options(const cli_option *options, FILE *out)
{
    for (; options != NULL && options->name != NULL; options++) {
        char left[64];
        const char *value = options->value == NULL ? "" : options->value;
        const char *form = options->arg == CLI_OPTIONAL ? "--%s [%s]" : *value == '\0' ? "--%s%s" : "--%s %s";
        snprintf(left, sizeof left, form, options->name, value);
        const char *help = options->help;
        fprintf(out, "  %-28s ", left);
        /* Further lines of a help text are indented below the first. */
        for (const char *line = help; line != NULL;) {
            const char *end = strchr(line, '\n');
            fprintf(out, "%.*s\n", end == NULL ? (int)strlen(line) : (int)(end - line), line);
            line = end == NULL ? NULL : end + 1;
            if (line != NULL)
                fprintf(out, "  %-28s ", "");
        }
    }
}

void cli_help_command(const cli_command *command, FILE *out)
{
    fprintf(out, "usage: tidelake %s %s\n\n%s\n", command->name, command->params, command->summary);
    if (command->details != NULL)
        fprintf(out, "\n%s\n", command->details);
    if (command->options != NULL && command->options->name != NULL) {
        fprintf(out, "\noptions\n");
        print_options(command->options, out);
    }
    fprintf(out, "\ncommon options\n");
    print_options(cli_common_options, out);
    if (command->examples != NULL)
        fprintf(out, "\nexamples\n%s\n", command->examples);
}
