/*
 * Files of SQL cases (NAME.test here), read into a list. README.md has their form.
 */
#ifndef TL_TESTS_SQL_CASE_FILE_H
#define TL_TESTS_SQL_CASE_FILE_H

#include "base/mem.h"
#include "support/test.h"

typedef enum case_kind {
    CASE_EXPRESSION, /* text => wanted */
    CASE_STATEMENT,  /* "> text", then wanted lines */
    CASE_FROM        /* "@from text": what the expressions after it read; "" for nothing */
} case_kind;

typedef struct sql_case {
    case_kind kind;
    int line;
    char *text;
    char *wanted; /* of a STATEMENT: its lines, each with an end */
} sql_case;

typedef struct case_file {
    const char *path;
    sql_case *cases;
    size_t n, cap;
} case_file;

static inline void case_file_deinit(case_file *file)
{
    for (size_t i = 0; i < file->n; i++) {
        tl_free(file->cases[i].text);
        tl_free(file->cases[i].wanted);
    }
    tl_free(file->cases);
}

static inline sql_case *case_file_add(case_file *file, case_kind kind, int line, const char *text, size_t bytes, const char *wanted)
{
    if (file->n == file->cap) {
        file->cap = file->cap == 0 ? 64 : file->cap * 2;
        file->cases = tl_realloc(file->cases, file->cap * sizeof *file->cases);
        assert_non_null(file->cases);
    }
    sql_case *c = &file->cases[file->n++];
    *c = (sql_case){.kind = kind, .line = line, .text = tl_strndup(text, bytes), .wanted = tl_strdup(wanted)};
    assert_true(c->text != NULL && c->wanted != NULL);
    return c;
}

static inline void case_append(char **text, const char *line, const char *end)
{
    char *longer = tl_strf("%s%s%s", *text, line, end);
    assert_non_null(longer);
    tl_free(*text);
    *text = longer;
}

/** The last " => " of a line: a value may hold no second one. */
static inline char *case_arrow(char *line)
{
    char *found = NULL;
    for (char *at = line; (at = strstr(at, " => ")) != NULL; at += 4)
        found = at;
    return found;
}

static inline void case_file_line(case_file *file, char *line, int number, bool *in_statement, bool *in_rows)
{
    sql_case *last = file->n > 0 ? &file->cases[file->n - 1] : NULL;
    bool is_statement = line[0] == '>' && line[1] == ' ';
    if (is_statement && *in_statement) {
        case_append(&last->text, "\n", line + 2);
    } else if (is_statement) {
        case_file_add(file, CASE_STATEMENT, number, line + 2, strlen(line + 2), "");
        *in_rows = true;
    } else if (line[0] == '\0') {
        *in_rows = false;
    } else if (line[0] == '#' && !*in_rows) {
        /* a remark */
    } else if (*in_rows) {
        case_append(&last->wanted, line, "\n");
    } else if (strncmp(line, "@from", 5) == 0) {
        const char *table = line + 5 + (line[5] == ' ');
        case_file_add(file, CASE_FROM, number, table, strlen(table), "");
    } else {
        char *arrow = case_arrow(line);
        if (arrow == NULL)
            fail_msg("%s:%d: neither a statement nor EXPRESSION => RESULT", file->path, number);
        case_file_add(file, CASE_EXPRESSION, number, line, (size_t)(arrow - line), arrow + 4);
    }
    *in_statement = is_statement;
}

static inline void case_file_read(case_file *file, const char *path)
{
    *file = (case_file){.path = path};
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("%s cannot be opened", path);
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    bool in_statement = false, in_rows = false;
    for (int number = 1; (len = getline(&line, &cap, f)) >= 0; number++) {
        if (len > 0 && line[len - 1] == '\n')
            line[len - 1] = '\0';
        case_file_line(file, line, number, &in_statement, &in_rows);
    }
    free(line);
    fclose(f);
}

#endif
