/* See words.h. */
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local tl_error err;
static const char *name;
static char **words;

void words_init(const char *program, char **all)
{
    name = program;
    words = all;
}

void check(tl_status status)
{
    if (status == TL_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", name, tidelake_status_name(status), err.message);
    exit(1);
}

const char *arg(const char *key, const char *otherwise)
{
    size_t len = strlen(key);
    for (char **w = words; *w != NULL; w++)
        if (strncmp(*w, key, len) == 0 && (*w)[len] == '=')
            return *w + len + 1;
    return otherwise;
}

int64_t number(const char *key, int64_t otherwise)
{
    const char *text = arg(key, NULL);
    return text == NULL ? otherwise : atoll(text);
}

int one_of(const char *key, const char *const names[], int n)
{
    const char *text = arg(key, names[0]);
    for (int i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    fprintf(stderr, "%s: no %s '%s'\n", name, key, text);
    exit(2);
}
