/* Commands of other programs: `tidelake NAME …` runs `tidelake-NAME …`, found beside this program or in PATH. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static bool is_plain(const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-' && *c != '_')
            return false;
    return isalpha((unsigned char)name[0]) != 0;
}

int cli_run_extension(int argc, char **argv)
{
    char program[PATH_MAX], name[64];
    if (!is_plain(argv[0]) || snprintf(name, sizeof name, "tidelake-%s", argv[0]) >= (int)sizeof name)
        return -1;
    char **words = calloc((size_t)argc + 1, sizeof *words);
    if (words == NULL)
        return -1;
    memcpy(words, argv, (size_t)argc * sizeof *words);
    words[0] = name;
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n > 0) {
        program[n] = '\0';
        char *slash = strrchr(program, '/');
        if (slash != NULL && (size_t)(slash - program) + 1 + strlen(name) < sizeof program) {
            memcpy(slash + 1, name, strlen(name) + 1);
            execv(program, words);
        }
    }
    execvp(name, words);
    int reason = errno;
    free(words);
    if (reason == ENOENT || reason == EACCES || reason == ENOTDIR) /* not there: what PATH says of it does not matter */
        return -1;
    fprintf(stderr, "tidelake: could not run %s: %s\n", name, strerror(reason));
    return CLI_EXIT_FAILED;
}
