/* What most commands begin with: the warehouse, a table, a file; and how they tell a failure. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_fail(const tl_error *err)
{
    fflush(stdout);
    fprintf(stderr, "tidelake: %s\n", err->message);
    if (err->status == TL_E_NOSPACE)
        fputs("The disk is full. What was committed before is whole; free some space and run the command again.\n", stderr);
    else if (err->status == TL_E_CONFLICT)
        fputs("Another writer committed at the same time; run the command again.\n", stderr);
    else if (err->status == TL_E_CORRUPT)
        fputs("'tidelake fsck DB.TABLE --all' tells everything that is wrong with a table.\n", stderr);
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
    char cwd[PATH_MAX];
    char *path = NULL;
    if (getcwd(cwd, sizeof cwd) == NULL || asprintf(&path, "%s/%s", cwd, given) < 0) {
        fprintf(stderr, "tidelake: could not find the current folder: %s\n", strerror(errno));
        path = NULL;
    }
    return path;
}

/* A misspelt warehouse must not become a new, empty one. */
static bool warehouse_is_there(const char *warehouse)
{
    const char *path = strncmp(warehouse, "file:", 5) == 0 ? warehouse + 5 : warehouse;
    struct stat st;
    if (stat(path, &st) != 0)
        fprintf(stderr, "tidelake: the warehouse '%s': %s\n'tidelake create' makes a warehouse with its first table.\n",
                warehouse, strerror(errno));
    else if (!S_ISDIR(st.st_mode))
        fprintf(stderr, "tidelake: the warehouse '%s' is no folder\n", warehouse);
    else
        return true;
    return false;
}

bool cli_open_lake(const cli_args *args, bool make, tidelake_lake **out)
{
    char *warehouse = cli_warehouse(args);
    if (warehouse == NULL)
        return false;
    if (!make && !warehouse_is_there(warehouse)) {
        free(warehouse);
        return false;
    }
    tl_error err;
    tl_status status = tidelake_open(warehouse, out, &err);
    free(warehouse);
    if (status != TL_OK)
        (void)cli_fail(&err);
    return status == TL_OK;
}

bool cli_collect_options(const cli_args *args, const tidelake_option *extra, size_t n_extra, cli_options *out)
{
    *out = (cli_options){calloc((size_t)args->n_parsed + n_extra + 1, sizeof *out->items), 0,
                         calloc((size_t)args->n_parsed + 1, sizeof *out->copies)};
    if (out->items == NULL || out->copies == NULL) {
        fprintf(stderr, "tidelake: out of memory\n");
        cli_options_deinit(out);
        return false;
    }
    for (int i = 0; i < args->n_parsed; i++) {
        if (strcmp(args->parsed[i].option->name, "option") != 0)
            continue;
        char *copy = strdup(args->parsed[i].value);
        char *equals = copy == NULL ? NULL : strchr(copy, '='); /* looked at when the words were parsed */
        if (equals == NULL) {
            free(copy);
            fprintf(stderr, "tidelake: out of memory\n");
            cli_options_deinit(out);
            return false;
        }
        *equals = '\0';
        out->copies[out->n] = copy;
        out->items[out->n++] = (tidelake_option){copy, equals + 1};
    }
    for (size_t i = 0; i < n_extra; i++)
        out->items[out->n++] = extra[i];
    return true;
}

void cli_options_deinit(cli_options *options)
{
    for (size_t i = 0; options->copies != NULL && options->copies[i] != NULL; i++)
        free(options->copies[i]);
    free(options->copies);
    free(options->items);
    *options = (cli_options){NULL, 0, NULL};
}

char *cli_table_name(const cli_args *args)
{
    const char *name = args->params[0];
    const char *branch = cli_value(args, "branch", NULL);
    if (branch == NULL)
        return strdup(name);
    char *full = NULL;
    const char *dollar = strchr(name, '$');
    size_t len = dollar == NULL ? strlen(name) : (size_t)(dollar - name);
    if (asprintf(&full, "%.*s$branch_%s%s", (int)len, name, branch, dollar == NULL ? "" : dollar) < 0)
        return NULL;
    return full;
}

/* The table that may have been meant by a name that is none. */
static void suggest_table(tidelake_lake *lake, const char *name)
{
    char db[128];
    const char *dot = strchr(name, '.');
    if (dot == NULL || (size_t)(dot - name) >= sizeof db)
        return;
    snprintf(db, sizeof db, "%.*s", (int)(dot - name), name);
    const char *known[256];
    size_t n = 0;
    char *tables = NULL;
    if (tidelake_list_tables(lake, db, &tables, NULL) == TL_OK)
        for (const char *table = tables; *table != '\0' && n < 256; table += strlen(table) + 1)
            known[n++] = table;
    char plain[256];
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(dot + 1, "$"), dot + 1);
    const char *near = cli_nearest(plain, known, n);
    if (near != NULL && strcmp(near, plain) != 0)
        fprintf(stderr, "Did you mean '%s.%s'? ", db, near);
    if (near == NULL || strcmp(near, plain) != 0)
        fputs("'tidelake tables' lists what is there.\n", stderr);
    tidelake_free(tables);
}

bool cli_open_table_with(const cli_args *args, const cli_options *options, cli_table *out)
{
    *out = (cli_table){NULL, NULL};
    char *name = cli_table_name(args);
    bool ok = name != NULL && cli_open_lake(args, /* make= */ false, &out->lake);
    if (ok) {
        tl_error err;
        ok = tidelake_table_open(out->lake, name, options->items, options->n, &out->table, &err) == TL_OK;
        if (!ok)
            (void)cli_fail(&err);
        if (!ok && err.status == TL_E_NOT_FOUND)
            suggest_table(out->lake, args->params[0]);
    }
    free(name);
    if (!ok)
        cli_close_table(out);
    return ok;
}

bool cli_open_table(const cli_args *args, const tidelake_option *extra, size_t n_extra, cli_table *out)
{
    cli_options options;
    if (!cli_collect_options(args, extra, n_extra, &options))
        return false;
    bool ok = cli_open_table_with(args, &options, out);
    cli_options_deinit(&options);
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
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
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
        len += fread(text + len, 1, cap - len - 1, file);
        if (feof(file) || ferror(file))
            break;
    }
    ok = ok && ferror(file) == 0;
    if (!ok)
        fprintf(stderr, "tidelake: could not read '%s': %s\n", path, strerror(errno));
    if (!is_stdin)
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
