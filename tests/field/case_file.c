/* Case files: lines of a word and the rest; lines that begin with blanks go on with the line above. */
#include "field.h"

#include <stdarg.h>

static const axis all_axes[AXIS_MORE] = {
    [AXIS_FORMAT] = {"format", 3, {"parquet", "orc", "avro"}},
    [AXIS_BUCKET] = {"bucket", 2, {"1", "3"}},
    [AXIS_STAGE] = {"stage", 4, {"none", "auto", "minor", "full"}},
    [AXIS_COMMITS] = {"commits", 3, {"apart", "together", "flushed"}},
};

static void give_up(const char *path, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", path, line, what);
    exit(2);
}

static const char *trimmed(tl_arena *arena, const char *from, size_t n)
{
    while (n > 0 && (*from == ' ' || *from == '\t')) {
        from++;
        n--;
    }
    while (n > 0 && (from[n - 1] == ' ' || from[n - 1] == '\t'))
        n--;
    return tl_arena_strndup(arena, from, n);
}

int field_split(tl_arena *arena, const char *text, char separator, const char **out, int max)
{
    int n = 0, depth = 0;
    bool quoted = false;
    const char *begin = text;
    for (const char *at = text;; at++) {
        if (*at == '\0' || (*at == separator && depth == 0 && !quoted)) {
            const char *piece = trimmed(arena, begin, (size_t)(at - begin));
            if (*piece != '\0' && n < max)
                out[n++] = piece;
            if (*at == '\0')
                return n;
            begin = at + 1;
        } else if (quoted) {
            if (*at == '\\' && at[1] != '\0')
                at++;
            else if (*at == '"')
                quoted = false;
        } else if (*at == '"') {
            quoted = true;
        } else if (*at == '[' || *at == '{' || *at == '(' || *at == '<') {
            depth++;
        } else if (*at == ']' || *at == '}' || *at == ')' || *at == '>') {
            depth--;
        }
    }
}

int field_split_all(tl_arena *arena, const char *text, char separator, const char ***out)
{
    int max = 1;
    for (const char *at = text; (at = strchr(at, separator)) != NULL; at++)
        max++;
    *out = tl_arena_alloc(arena, (size_t)max * sizeof **out);
    return field_split(arena, text, separator, *out, max);
}

static void parse_columns(tl_arena *arena, field_case *c, const char *rest)
{
    c->n_columns = field_split(arena, rest, ',', c->columns, FIELD_LIST_MAX);
    for (int i = 0; i < c->n_columns; i++) {
        const char *blank = strchr(c->columns[i], ' ');
        if (blank == NULL)
            give_up(c->file, c->line, "a column needs a name and a type");
        c->types[i] = blank + 1;
        c->columns[i] = tl_arena_strndup(arena, c->columns[i], (size_t)(blank - c->columns[i]));
    }
}

/* "NAME=A|B": an axis has these values only; one that is unknown is an option of the table, and a new axis. */
static void parse_axis(tl_arena *arena, field_case *c, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL)
        give_up(c->file, c->line, "an axis is NAME=A|B");
    const char *name = tl_arena_strndup(arena, text, (size_t)(equals - text));
    int i = 0;
    while (i < c->n_axes && strcmp(c->axes[i].name, name) != 0)
        i++;
    if (i == AXES_MAX)
        give_up(c->file, c->line, "too many axes");
    if (i == c->n_axes)
        c->n_axes++;
    c->axes[i].name = name;
    c->axes[i].n = field_split(arena, equals + 1, '|', c->axes[i].values, 8);
}

static void parse_step(tl_arena *arena, field_case *c, int line, const char *word, const char *rest)
{
    if (c->n_steps == FIELD_STEPS_MAX)
        give_up(c->file, line, "too many steps");
    step *s = &c->steps[c->n_steps++];
    *s = (step){line, NULL, word, rest};
    if (strcmp(word, "fails") != 0)
        return;
    const char *parts[2];
    const char *arrow = strstr(rest, " => ");
    if (arrow == NULL)
        give_up(c->file, line, "fails TEXT => STEP");
    parts[0] = trimmed(arena, rest, (size_t)(arrow - rest));
    parts[1] = trimmed(arena, arrow + 4, strlen(arrow + 4));
    size_t n = strcspn(parts[1], " ");
    s->fails = parts[0];
    s->verb = tl_arena_strndup(arena, parts[1], n);
    s->rest = trimmed(arena, parts[1] + n, strlen(parts[1] + n));
}

static void parse_line(tl_arena *arena, field_case *c, int line, const char *text)
{
    size_t n = strcspn(text, " ");
    const char *word = tl_arena_strndup(arena, text, n);
    const char *rest = trimmed(arena, text + n, strlen(text + n));
    const char *pieces[8];
    c->line = c->n_steps == 0 ? line : c->line;
    if (strcmp(word, "columns") == 0) {
        parse_columns(arena, c, rest);
    } else if (strcmp(word, "key") == 0) {
        c->key = rest;
    } else if (strcmp(word, "partition") == 0) {
        c->partition = rest;
    } else if (strcmp(word, "option") == 0) {
        if (c->n_options == FIELD_LIST_MAX)
            give_up(c->file, line, "too many options");
        c->options[c->n_options++] = rest;
    } else if (strcmp(word, "vary") == 0) {
        int k = field_split(arena, rest, ' ', pieces, 8);
        for (int i = 0; i < k; i++)
            parse_axis(arena, c, pieces[i]);
    } else {
        parse_step(arena, c, line, word, rest);
    }
}

static char *whole_file(tl_arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        give_up(path, 0, "cannot be opened");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = tl_arena_alloc(arena, (size_t)size + 1);
    if (fread(text, 1, (size_t)size, file) != (size_t)size)
        give_up(path, 0, "cannot be read");
    text[size] = '\0';
    fclose(file);
    return text;
}

int field_parse(tl_arena *arena, const char *path, field_case *cases, int cases_max)
{
    char *text = whole_file(arena, path);
    int n = 0, line = 0, begun = 0;
    const char *logical = NULL;
    for (char *at = text; at != NULL;) {
        char *end = strchr(at, '\n');
        if (end != NULL)
            *end = '\0';
        line++;
        if (*at == ' ' && logical != NULL) {
            logical = tl_arena_strf(arena, "%s %s", logical, trimmed(arena, at, strlen(at)));
        } else if (*at != '#' || end == NULL) {
            if (logical != NULL && *logical != '\0')
                parse_line(arena, &cases[n - 1], begun, logical);
            logical = NULL;
            if (strncmp(at, "case ", 5) == 0) {
                if (n == cases_max)
                    give_up(path, line, "too many cases");
                cases[n] = (field_case){.file = path, .name = at + 5, .line = line, .n_axes = AXIS_MORE};
                memcpy(cases[n++].axes, all_axes, sizeof all_axes);
            } else if (*at != '\0' && *at != '#') {
                if (n == 0)
                    give_up(path, line, "a file begins with 'case NAME'");
                logical = trimmed(arena, at, strlen(at));
                begun = line;
            }
        }
        at = end == NULL ? NULL : end + 1;
    }
    if (logical != NULL && *logical != '\0')
        parse_line(arena, &cases[n - 1], begun, logical);
    return n;
}
