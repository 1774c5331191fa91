/* What most commands begin with: the warehouse, a table, a file; and how they tell a failure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_fail(const tl_error *err)
{
    fflush(stdout);
    fprintf(stderr, "tidelake: %s\n", err->message);
    return CLI_EXIT_FAILED;
}

char *cli_warehouse(const cli_args *args)
{
    const char *given = cli_value(args, "warehouse", getenv("TIDELAKE_WAREHOUSE"));
    if (given == NULL || *given == '\0') {
        (void)cli_usage(args->command, "which warehouse? Give --warehouse DIR or set TIDELAKE_WAREHOUSE");
        return NULL;
    }
    if (*given == '/' || strncmp(given, "file:", 5) == 0)
        return strdup(given);
    char *cwd = getcwd(NULL, 0);
    char *path = NULL;
    if (cwd == NULL || asprintf(&path, "%s/%s", cwd, given) < 0) {
        fprintf(stderr, "tidelake: could not find the current folder: %s\n", strerror(errno));
        path = NULL;
    }
    free(cwd);
    return path;
}

bool cli_open_lake(const cli_args *args, tidelake_lake **out)
{
    char *warehouse = cli_warehouse(args);
    if (warehouse == NULL)
        return false;
    tl_error err;
    tl_status status = tidelake_open(warehouse, out, &err);
    free(warehouse);
    if (status != TL_OK)
        (void)cli_fail(&err);
    return status == TL_OK;
}

/* --option k=v words and `extra` as one list; the strings of the words are cut in a copy. False: explained. */
static bool collect_options(const cli_args *args, const tidelake_option *extra, size_t n_extra, tidelake_option **out, size_t *n, char **copies)
{
    tidelake_option *options = calloc((size_t)args->n_parsed + n_extra + 1, sizeof *options);
    size_t count = 0, n_copies = 0;
    if (options == NULL)
        return false;
    for (int i = 0; i < args->n_parsed; i++) {
        if (strcmp(args->parsed[i].option->name, "option") != 0)
            continue;
        char *copy = strdup(args->parsed[i].value);
        char *equals = copy == NULL ? NULL : strchr(copy, '=');
        if (equals == NULL) {
            (void)cli_usage(args->command, "'--option %s': key=value is expected", args->parsed[i].value);
            free(copy);
            free(options);
            return false;
        }
        *equals = '\0';
        options[count++] = (tidelake_option){copy, equals + 1};
        copies[n_copies++] = copy;
    }
    for (size_t i = 0; i < n_extra; i++)
        options[count++] = extra[i];
    *out = options;
    *n = count;
    return true;
}

/* DB.TABLE$system with a branch in between: DB.TABLE$branch_B$system. */
static char *name_with_branch(const char *name, const char *branch)
{
    if (branch == NULL)
        return strdup(name);
    char *full = NULL;
    const char *dollar = strchr(name, '$');
    size_t len = dollar == NULL ? strlen(name) : (size_t)(dollar - name);
    if (asprintf(&full, "%.*s$branch_%s%s", (int)len, name, branch, dollar == NULL ? "" : dollar) < 0)
        return NULL;
    return full;
}

bool cli_open_table(const cli_args *args, const tidelake_option *extra, size_t n_extra, cli_table *out)
{
    *out = (cli_table){NULL, NULL};
    char **copies = calloc((size_t)args->n_parsed + 1, sizeof *copies);
    tidelake_option *options = NULL;
    size_t n = 0;
    char *name = name_with_branch(args->params[0], cli_value(args, "branch", NULL));
    bool ok = copies != NULL && name != NULL && collect_options(args, extra, n_extra, &options, &n, copies);
    if (ok)
        ok = cli_open_lake(args, &out->lake);
    if (ok) {
        tl_error err;
        ok = tidelake_table_open(out->lake, name, options, n, &out->table, &err) == TL_OK;
        if (!ok)
            (void)cli_fail(&err);
    }
    for (int i = 0; copies != NULL && copies[i] != NULL; i++)
        free(copies[i]);
    free(copies);
    free(options);
    free(name);
    if (!ok)
        cli_close_table(out);
    return ok;
}

void cli_close_table(cli_table *table)
{
    tidelake_table_close(table->table);
    tidelake_close(table->lake);
    *table = (cli_table){NULL, NULL};
}

bool cli_read_file(const char *path, char **out)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "tidelake: could not open '%s': %s\n", path, strerror(errno));
        return false;
    }
    char *text = NULL;
    size_t len = 0, cap = 0;
    bool ok = true;
    for (;;) {
        if (cap - len < 65536) {
            cap = cap == 0 ? 1 << 17 : cap * 2;
            char *grown = realloc(text, cap);
            if (grown == NULL) {
                ok = false;
                errno = ENOMEM;
                break;
            }
            text = grown;
        }
        size_t got = fread(text + len, 1, cap - len - 1, file);
        len += got;
        if (got == 0)
            break;
    }
    ok = ok && ferror(file) == 0;
    if (!ok)
        fprintf(stderr, "tidelake: could not read '%s': %s\n", path, strerror(errno));
    if (file != stdin)
        fclose(file);
    if (!ok) {
        free(text);
        return false;
    }
    text[len] = '\0';
    *out = text;
    return true;
}

void cli_print_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

int cli_report(tidelake_table *table)
{
    int64_t id, records;
    const char *kind;
    tl_error err;
    if (tidelake_latest(table, &id, &kind, &records, &err) != TL_OK)
        return cli_fail(&err);
    if (id == 0)
        printf("{\"snapshot\":null}\n");
    else
        printf("{\"snapshot\":%lld,\"kind\":\"%s\",\"records\":%lld}\n", (long long)id, kind, (long long)records);
    return CLI_EXIT_OK;
}
