/* A completion script, generated from the table of commands. */
#include <string.h>

#include "cli/cli.h"

static void print_words(const cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++)
        printf(" --%s", options->name);
}

static void print_bash(void)
{
    printf("_tidelake() {\n    local cur=${COMP_WORDS[COMP_CWORD]} words\n    case \"${COMP_WORDS[1]}\" in\n");
    for (size_t i = 0; i < cli_n_commands; i++) {
        const cli_command *command = &cli_commands[i];
        if (strchr(command->name, ' ') != NULL)
            continue;
        printf("    %s) words=\"", command->name);
        print_words(command->options);
        print_words(cli_common_options);
        printf("\" ;;\n");
    }
    printf("    tag) words=\"create delete rename\"; [ $COMP_CWORD -gt 2 ] && words=\" --snapshot --retain");
    print_words(cli_common_options);
    printf("\" ;;\n    *) words=\"");
    const char *last = "";
    for (size_t i = 0; i < cli_n_commands; i++) {
        const char *name = cli_commands[i].name;
        size_t len = strcspn(name, " ");
        if (strncmp(last, name, len) != 0 || last[len] != ' ')
            printf(" %.*s", (int)len, name);
        last = name;
    }
    printf(" --help --version\" ;;\n    esac\n"
           "    if [ $COMP_CWORD -gt 1 ] && [[ $cur != -* ]] && [ \"${COMP_WORDS[1]}\" != tag ]; then\n"
           "        local tables; tables=$(tidelake tables 2>/dev/null)\n"
           "        COMPREPLY=($(compgen -W \"$tables\" -- \"$cur\") $(compgen -f -- \"$cur\"))\n"
           "    else\n        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n    fi\n}\n"
           "complete -F _tidelake tidelake\n");
}

int cmd_completion(const cli_args *args)
{
    if (strcmp(args->params[0], "bash") != 0)
        return cli_usage(args->command, "no completion for '%s'; there is one for bash", args->params[0]);
    print_bash();
    return CLI_EXIT_OK;
}
