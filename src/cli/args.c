/* Parsing of a command's words by its table of options. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const cli_command *find_command(int argc, char **argv, int *words)
{
    size_t n;
    const cli_command *commands = cli_commands(&n);
    for (size_t i = 0; i < n; i++) {
        const char *name = commands[i].name;
        const char *space = strchr(name, ' ');
        if (space == NULL) {
            if (strcmp(argv[0], name) == 0) {
                *words = 1;
                return &commands[i];
            }
        } else if (argc > 1 && strncmp(argv[0], name, (size_t)(space - name)) == 0 && argv[0][space - name] == '\0' &&
                   strcmp(argv[1], space + 1) == 0) {
            *words = 2;
            return &commands[i];
        }
    }
    return NULL;
}

/* A procedure has a command of its own, or is done by one of another name, which may have two words. */
const cli_command *cli_find_command(int argc, char **argv, int *words)
{
    const cli_command *found = find_command(argc, argv, words);
    const char *other = found != NULL ? NULL : cli_command_of_procedure(argv[0]);
    for (size_t i = 0; other != NULL && i < cli_n_own_commands; i++) {
        if (strcmp(cli_own_commands[i].name, other) == 0) {
            *words = 1;
            found = &cli_own_commands[i];
        }
    }
    return found;
}

static const cli_option *find_in(const cli_option *options, const char *name, size_t len)
{
    for (; options != NULL && options->name != NULL; options++)
        if (strncmp(options->name, name, len) == 0 && options->name[len] == '\0')
            return options;
    return NULL;
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t len)
{
    const cli_option *option = find_in(command->options, name, len);
    return option != NULL ? option : find_in(cli_common_options, name, len);
}

int cli_usage(const cli_command *command, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "tidelake %s: ", command->name);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\nRun 'tidelake %s --help' for its arguments and examples.\n", command->name);
    return CLI_EXIT_USAGE;
}

static void unknown_option(const cli_command *command, const char *word)
{
    const char *names[64];
    size_t n = 0;
    for (const cli_option *o = command->options; o != NULL && o->name != NULL && n < 64; o++)
        names[n++] = o->name;
    for (const cli_option *o = cli_common_options; o->name != NULL && n < 64; o++)
        names[n++] = o->name;
    const char *near = cli_nearest(word + 2, names, n);
    if (near != NULL)
        (void)cli_usage(command, "unknown option '%s'; did you mean '--%s'?", word, near);
    else
        (void)cli_usage(command, "unknown option '%s'", word);
}

/* One option at argv[*i]; moves *i over its value. */
static bool parse_option(const cli_command *command, int argc, char **argv, int *i, cli_args *out)
{
    const char *word = argv[*i];
    const char *equals = strchr(word, '=');
    size_t len = equals == NULL ? strlen(word + 2) : (size_t)(equals - word - 2);
    const cli_option *option = find_option(command, word + 2, len);
    if (option == NULL) {
        unknown_option(command, word);
        return false;
    }
    const char *value = equals == NULL ? NULL : equals + 1;
    if (option->arg == CLI_FLAG && value != NULL) {
        (void)cli_usage(command, "'--%s' takes no value", option->name);
        return false;
    }
    if ((option->arg == CLI_VALUE || option->arg == CLI_REPEAT) && value == NULL) {
        if (*i + 1 == argc) {
            (void)cli_usage(command, "'--%s' needs a value (%s)", option->name, option->value);
            return false;
        }
        value = argv[++*i];
    }
    if (option->arg == CLI_REPEAT && strchr(option->value, '=') != NULL && strchr(value, '=') == NULL) {
        (void)cli_usage(command, "'--%s %s': %s is expected", option->name, value, option->value);
        return false;
    }
    if (option->arg == CLI_OPTIONAL && value == NULL && *i + 1 < argc && argv[*i + 1][0] == '{')
        value = argv[++*i];
    out->parsed[out->n_parsed++] = (cli_parsed){option, value};
    return true;
}

/* Whether there are as many parameters as the command takes. */
static bool check_params(const cli_args *args)
{
    const cli_command *command = args->command;
    if (args->n_params < command->n_params_min) {
        /* The parameters stand in the command's table as words: tell the first that is missing. */
        const char *word = command->params;
        for (int i = 0; i < args->n_params && strchr(word, ' ') != NULL; i++)
            word = strchr(word, ' ') + 1;
        (void)cli_usage(command, "%.*s is missing: tidelake %s %s", (int)strcspn(word, " "), word, command->name,
                        command->params);
        return false;
    }
    if (command->n_params_max >= 0 && args->n_params > command->n_params_max) {
        (void)cli_usage(command, "'%s' is one argument too many: tidelake %s %s", args->params[command->n_params_max],
                        command->name, command->params);
        return false;
    }
    return true;
}

bool cli_parse(const cli_command *command, int argc, char **argv, cli_args *out)
{
    *out = (cli_args){.command = command};
    out->params = calloc((size_t)argc + 1, sizeof *out->params);
    out->parsed = calloc((size_t)argc + 1, sizeof *out->parsed);
    if (out->params == NULL || out->parsed == NULL) {
        fprintf(stderr, "tidelake: out of memory\n");
        cli_args_deinit(out);
        return false;
    }
    bool only_params = false;
    for (int i = 0; i < argc; i++) {
        if (!only_params && strcmp(argv[i], "--") == 0) {
            only_params = true;
        } else if (!only_params && argv[i][0] == '-' && argv[i][1] == '-') {
            if (!parse_option(command, argc, argv, &i, out)) {
                cli_args_deinit(out);
                return false;
            }
        } else if (!only_params && argv[i][0] == '-' && isalpha((unsigned char)argv[i][1])) {
            (void)cli_usage(command, "unknown option '%s': options begin with two dashes, all else is an argument (after --, this too)", argv[i]);
            cli_args_deinit(out);
            return false;
        } else {
            out->params[out->n_params++] = argv[i];
        }
    }
    if (!check_params(out)) {
        cli_args_deinit(out);
        return false;
    }
    return true;
}

void cli_args_deinit(cli_args *args)
{
    free(args->params);
    free(args->parsed);
    *args = (cli_args){0};
}

bool cli_has(const cli_args *args, const char *name)
{
    for (int i = 0; i < args->n_parsed; i++)
        if (strcmp(args->parsed[i].option->name, name) == 0)
            return true;
    return false;
}

const char *cli_value(const cli_args *args, const char *name, const char *otherwise)
{
    const char *value = otherwise;
    for (int i = 0; i < args->n_parsed; i++)
        if (strcmp(args->parsed[i].option->name, name) == 0 && args->parsed[i].value != NULL)
            value = args->parsed[i].value;
    return value;
}

bool cli_parse_int(const cli_args *args, const char *what, const char *text, int64_t min, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || v < min) {
        if (min <= -INT64_MAX)
            (void)cli_usage(args->command, "'%s %s': a whole number is expected", what, text);
        else
            (void)cli_usage(args->command, "'%s %s': a whole number from %lld on is expected", what, text, (long long)min);
        return false;
    }
    *out = v;
    return true;
}

bool cli_int(const cli_args *args, const char *name, int64_t min, int64_t *out)
{
    const char *text = cli_value(args, name, NULL);
    char what[64];
    snprintf(what, sizeof what, "--%s", name);
    return text == NULL || cli_parse_int(args, what, text, min, out);
}

/* Levenshtein distance of short words; long ones are never near. */
static int distance(const char *a, const char *b)
{
    int row[64];
    int n = (int)strlen(b);
    if (n >= 63 || strlen(a) >= 63)
        return 99;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *const *known, size_t n)
{
    const char *best = NULL;
    size_t len = strlen(word);
    int best_distance = len < 4 ? 2 : 3; /* one more than the slips of the finger that are forgiven */
    for (size_t i = 0; i < n; i++) {
        int d = distance(word, known[i]);
        if (d < best_distance || (best == NULL && len > 2 && strncmp(word, known[i], len) == 0)) {
            best = known[i];
            best_distance = d < best_distance ? d : best_distance;
        }
    }
    return best;
}
