/* Partitions on the command line. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

bool cli_parse_partition(const cli_args *args, char *json, tidelake_option **out, size_t *n)
{
    tidelake_option *spec = calloc(strlen(json) / 4 + 2, sizeof *spec);
    char *p = json + 1;
    bool ok = spec != NULL && *json == '{';
    *n = 0;
    while (ok && *(p += strspn(p, " \t\n,")) != '}') {
        char *key_end = *p == '"' ? strchr(p + 1, '"') : NULL;
        char *colon = key_end == NULL ? NULL : key_end + 1 + strspn(key_end + 1, " ");
        ok = colon != NULL && *colon == ':';
        if (!ok)
            break;
        *key_end = '\0';
        spec[*n].key = p + 1;
        char *value = colon + 1 + strspn(colon + 1, " ");
        bool quoted = *value == '"';
        char *value_end = quoted ? strchr(value + 1, '"') : value + strcspn(value, ",} ");
        ok = value_end != NULL && *value_end != '\0';
        if (!ok)
            break;
        p = value_end + quoted;
        char after = *p;
        *value_end = '\0';
        spec[(*n)++].value = value + quoted;
        if (after == '}')
            break;
        p += !quoted;
    }
    if (!ok) {
        (void)cli_usage(args->command, "the partition must be a JSON object of strings: {\"p\":\"v\"}");
        free(spec);
        return false;
    }
    *out = spec;
    return true;
}
