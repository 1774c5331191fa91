/*
 * The reference of all commands, from the table of commands: the manual page (`tidelake help --man`, man(7) macros) and
 * docs/cli.md (`tidelake help --markdown`). The build and docs/generate call these; a user calls --help.
 */
#include <string.h>

#include "cli/cli.h"

static const char about[] =
    "Tidelake reads, writes and maintains tables of Apache Paimon and runs streaming jobs in SQL over them, without a JVM. "
    "A warehouse is a folder; the table DB.TABLE lies in its folder DB.db/TABLE.";

/* Words of an option as they are typed: "--limit N", "--overwrite [PARTITION]". */
static void print_form(FILE *out, const cli_option *option)
{
    fprintf(out, "--%s", option->name);
    if (option->arg == CLI_OPTIONAL)
        fprintf(out, " [%s]", option->value);
    else if (option->value != NULL && *option->value != '\0')
        fprintf(out, " %s", option->value);
}

/* ---- man(7) ---- */

/* Text with what roff would take for itself made harmless: backslashes, hyphens, a dot or an apostrophe that begins a line. */
static void print_roff(FILE *out, const char *text)
{
    bool line_start = true;
    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\'')
            fputs("\\(aq", out);
        else
            fputc(*text, out);
        line_start = *text == '\n';
    }
    fputc('\n', out);
}

static void roff_options(FILE *out, const cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++) {
        fputs(".TP\n.B ", out);
        fprintf(out, "\\-\\-");
        for (const char *c = options->name; *c != '\0'; c++)
            fprintf(out, *c == '-' ? "\\-" : "%c", *c);
        if (options->value != NULL && *options->value != '\0')
            fprintf(out, options->arg == CLI_OPTIONAL ? " [%s]" : " %s", options->value);
        fputc('\n', out);
        print_roff(out, options->help);
    }
}

static void roff_command(FILE *out, const cli_command *command)
{
    fputs(".SS ", out);
    fprintf(out, "\"tidelake %s %s\"\n", command->name, command->params);
    print_roff(out, command->summary);
    if (command->details != NULL) {
        fputs(".PP\n", out);
        print_roff(out, command->details);
    }
    roff_options(out, command->options);
    if (command->examples != NULL) {
        fputs(".PP\n.EX\n", out);
        print_roff(out, command->examples);
        fputs(".EE\n", out);
    }
}

void cli_print_manual(FILE *out)
{
    fprintf(out, ".TH TIDELAKE 1 \"\" \"tidelake %s\"\n", tidelake_version());
    fputs(".SH NAME\ntidelake \\- Apache Paimon tables and streaming jobs as one program\n"
          ".SH SYNOPSIS\n.B tidelake\n.I COMMAND\n.RI [ ARGUMENTS ]\n.B \\-\\-warehouse\n.I DIR\n"
          ".SH DESCRIPTION\n",
          out);
    print_roff(out, about);
    const char *group = NULL;
    size_t n;
    const cli_command *commands = cli_commands(&n);
    for (size_t i = 0; i < n; i++) {
        if (group == NULL || strcmp(group, commands[i].group) != 0) {
            group = commands[i].group;
            fputs(".SH \"COMMANDS: ", out);
            fprintf(out, "%s\"\n", group);
        }
        roff_command(out, &commands[i]);
    }
    fputs(".SH \"COMMON OPTIONS\"\n", out);
    roff_options(out, cli_common_options);
    fputs(".SH ENVIRONMENT\n.TP\n.B TIDELAKE_WAREHOUSE\nThe warehouse where none is given.\n"
          ".SH \"EXIT STATUS\"\n.TP\n.B 0\nDone.\n.TP\n.B 1\nFailed; the reason is on standard error.\n"
          ".TP\n.B 2\nWrong usage.\n",
          out);
}

/* ---- Markdown ---- */

/* A cell of a Markdown table: one line, no bare bars. */
static void print_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            fputs("\\|", out);
        else
            fputc(*text == '\n' ? ' ' : *text, out);
    }
}

static void markdown_options(FILE *out, const cli_option *options)
{
    fputs("\n| option | meaning |\n| --- | --- |\n", out);
    for (; options->name != NULL; options++) {
        fputs("| `", out);
        print_form(out, options);
        fputs("` | ", out);
        print_cell(out, options->help);
        fputs(" |\n", out);
    }
}

/* Examples stand indented in the table of commands; here without the two spaces. */
static void markdown_examples(FILE *out, const char *text)
{
    fputs("\n```sh\n", out);
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        size_t indent = strncmp(text, "  ", 2) == 0 ? 2 : 0;
        fprintf(out, "%.*s\n", (int)(len - indent), text + indent);
        text += len + (text[len] == '\n');
    }
    fputs("```\n", out);
}

static void markdown_command(FILE *out, const cli_command *command)
{
    fprintf(out, "\n### tidelake %s%s%s\n\n", command->name, *command->params == '\0' ? "" : " ", command->params);
    fprintf(out, "%c%s.\n", command->summary[0] >= 'a' ? command->summary[0] - 32 : command->summary[0], command->summary + 1);
    if (command->details != NULL)
        fprintf(out, "\n%s\n", command->details);
    if (command->options != NULL && command->options->name != NULL)
        markdown_options(out, command->options);
    if (command->examples != NULL)
        markdown_examples(out, command->examples);
}

void cli_print_markdown(FILE *out)
{
    fprintf(
        out,
        "# The command `tidelake`\n\n<!-- Generated by docs/generate from src/cli/commands.c and the table of procedures: change it there. -->\n\n%s\n\n"
        "Exit status: 0 done, 1 failed (the reason is on standard error), 2 wrong usage. Every command has `--help`.\n\n"
        "These options belong to every command:\n",
        about);
    markdown_options(out, cli_common_options);
    const char *group = NULL;
    size_t n;
    const cli_command *commands = cli_commands(&n);
    for (size_t i = 0; i < n; i++) {
        if (group == NULL || strcmp(group, commands[i].group) != 0) {
            group = commands[i].group;
            fprintf(out, "\n## %s\n", group);
        }
        markdown_command(out, &commands[i]);
    }
}
