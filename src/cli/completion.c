/* A completion script, generated from the table of commands. */
#include <string.h>

#include "cli/cli.h"

static const cli_command *commands;
static size_t n_commands;

static void print_words(const cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++)
        printf(" --%s", options->name);
}

/* Whether the command is the first whose name begins with its first word: `tag` stands for all of `tag …`. */
static bool is_first_of_word(size_t i)
{
    size_t len = strcspn(commands[i].name, " ");
    for (size_t k = 0; k < i; k++)
        if (strcspn(commands[k].name, " ") == len && strncmp(commands[k].name, commands[i].name, len) == 0)
            return false;
    return true;
}

static void print_first_words(void)
{
    for (size_t i = 0; i < n_commands; i++)
        if (is_first_of_word(i))
            printf(" %.*s", (int)strcspn(commands[i].name, " "), commands[i].name);
}

/* The second words of a group of commands, while the second word is typed. */
static void print_group(size_t first)
{
    const char *name = commands[first].name;
    size_t len = strcspn(name, " ");
    printf("    %.*s)\n        if [ $COMP_CWORD -eq 2 ]; then words=\"", (int)len, name);
    for (size_t i = first; i < n_commands; i++)
        if (strncmp(commands[i].name, name, len + 1) == 0)
            printf(" %s", commands[i].name + len + 1);
    printf("\"; only_words=1\n        else case \"${COMP_WORDS[2]}\" in\n");
    for (size_t i = first; i < n_commands; i++) {
        if (strncmp(commands[i].name, name, len + 1) != 0)
            continue;
        printf("            %s) words=\"", commands[i].name + len + 1);
        print_words(commands[i].options);
        print_words(cli_common_options);
        printf("\" ;;\n");
    }
    printf("            esac\n        fi ;;\n");
}

static void print_bash(void)
{
    printf("# Completion of tidelake for bash; generated from its table of commands by 'tidelake completion bash'.\n"
           "_tidelake() {\n    local cur=${COMP_WORDS[COMP_CWORD]} words= only_words=\n    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < n_commands; i++) {
        const cli_command *command = &commands[i];
        if (!is_first_of_word(i))
            continue;
        if (strchr(command->name, ' ') != NULL) {
            print_group(i);
            continue;
        }
        printf("    %s) words=\"", command->name);
        print_words(command->options);
        print_words(cli_common_options);
        printf("\" ;;\n");
    }
    printf("    esac\n    if [ $COMP_CWORD -eq 1 ]; then words=\"");
    print_first_words();
    printf(" help --help --version\"; only_words=1; fi\n"
           "    if [[ $only_words || $cur == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    else\n"
           "        COMPREPLY=($(compgen -W \"$(tidelake tables 2>/dev/null)\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n"
           "    fi\n}\n"
           "complete -o filenames -F _tidelake tidelake\n");
}

int cmd_completion(const cli_args *args)
{
    if (strcmp(args->params[0], "bash") != 0)
        return cli_usage(args->command, "no completion for '%s'; there is one for bash", args->params[0]);
    commands = cli_commands(&n_commands);
    print_bash();
    return CLI_EXIT_OK;
}
