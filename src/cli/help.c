/* Help texts from the table of commands. */
#include <string.h>

#include "cli/cli.h"

/* Names stand in one column; a group of long ones has a wider one. */
static int width_of_group(const cli_command *first, size_t n)
{
    int width = 16;
    for (size_t i = 0; i < n && strcmp(first[i].group, first->group) == 0; i++)
        width = (int)strlen(first[i].name) > width ? (int)strlen(first[i].name) : width;
    return width;
}

void cli_help_overview(FILE *out)
{
    fprintf(out,
            "tidelake %s: Apache Paimon tables and streaming jobs as one program\n\n"
            "usage: tidelake COMMAND [ARGUMENTS] --warehouse DIR     (or TIDELAKE_WAREHOUSE=DIR)\n",
            tidelake_version());
    const char *group = NULL;
    size_t n;
    int width = 0;
    const cli_command *commands = cli_commands(&n);
    for (size_t i = 0; i < n; i++) {
        if (group == NULL || strcmp(group, commands[i].group) != 0) {
            group = commands[i].group;
            width = width_of_group(&commands[i], n - i);
            fprintf(out, "\n%s\n", group);
        }
        fprintf(out, "  %-*s %s\n", width, commands[i].name, commands[i].summary);
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
