/* Rows from files: JSON lines (one row a line, a blank line ends a batch), CSV, Parquet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api_private.h"
#include "types/text.h"

#define LINE_BYTES_MAX ((size_t)256 << 20)
#define INPUT_BATCH_ROWS 8192

typedef enum input_format { INPUT_JSONL, INPUT_CSV, INPUT_PARQUET } input_format;

struct tidelake_input {
    input_format format;
    char *path;
    const tl_type *type;
    FILE *file; /* text */
    bool is_stdin;
    char *line; /* getline's buffer */
    size_t line_cap;
    int64_t line_number;
    int64_t bytes_done;
    int64_t bytes_total;
    tl_builder **builders;
    uint8_t *kinds; /* of the batch being built: INPUT_BATCH_ROWS */
    bool any_kind;
    bool row_since_commit;
    int32_t *csv_columns; /* cell -> column of the table, -1: none */
    int32_t n_csv_columns;
    tl_fs *fs;
    tl_reader *reader; /* Parquet */
    tl_arena arena;    /* of one line */
};

static tl_status fail_line(tidelake_input *in, tl_status status, tl_error *err)
{
    return tl_error_wrap(err, status, "'%s' line %lld", in->path, (long long)in->line_number);
}

/* ---- JSON lines ---- */

/* Members usually come in the order of the columns: look there first. */
static const tl_json *member(const tl_json *row, const tl_json **hint, const char *name)
{
    size_t len = strlen(name);
    const tl_json *next = *hint;
    if (next != NULL && next->key.len == len && memcmp(next->key.data, name, len) == 0) {
        *hint = next->next;
        return next;
    }
    const tl_json *found = tl_json_get(row, name);
    if (found != NULL)
        *hint = found->next;
    return found;
}

static tl_status add_json_row(tidelake_input *in, tl_bytes_view line, int64_t row, tl_error *err)
{
    tl_arena_reset(&in->arena);
    const tl_json *json;
    TL_TRY(tl_json_parse(&in->arena, line, &json, err));
    if (json->kind != TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_INVALID, "an object is expected");
    const tl_json *hint = json->child;
    const tl_json *kind = tl_json_get(json, "_kind");
    in->kinds[row] = TL_KIND_INSERT;
    if (!tl_json_is_null(kind)) {
        if (kind->kind != TL_JSON_STRING || !tl_row_kind_parse(kind->text, &in->kinds[row]))
            return tl_error_set(err, TL_E_INVALID, "\"_kind\" is %.*s, not one of \"+I\", \"-U\", \"+U\", \"-D\"", (int)kind->raw.len,
                                (const char *)kind->raw.data);
        in->any_kind |= in->kinds[row] != TL_KIND_INSERT;
        if (hint == kind)
            hint = hint->next;
    }
    for (int32_t c = 0; c < in->type->n_fields; c++) {
        const tl_json *value = member(json, &hint, in->type->fields[c].name);
        tl_status status = tl_json_is_null(value) ? tl_builder_null(in->builders[c])
                                                  : tl_text_read_json(value, in->type->fields[c].type, in->builders[c], err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "column '%s'", in->type->fields[c].name);
    }
    return TL_OK;
}

/* ---- CSV (RFC 4180: quotes are doubled inside quotes; an unquoted empty cell is NULL) ---- */

/* The next cell of *p, unescaped in place; *quoted tells an empty text from NULL. */
static tl_status next_cell(char **p, char *end, tl_bytes_view *cell, bool *quoted, tl_error *err)
{
    char *from = *p;
    *quoted = from < end && *from == '"';
    if (!*quoted) {
        char *comma = memchr(from, ',', (size_t)(end - from));
        char *stop = comma == NULL ? end : comma;
        *cell = (tl_bytes_view){(uint8_t *)from, (size_t)(stop - from)};
        *p = comma == NULL ? end + 1 : comma + 1;
        return TL_OK;
    }
    char *w = ++from;
    for (char *r = from;; r++) {
        if (r >= end)
            return tl_error_set(err, TL_E_INVALID, "a quoted cell has no end");
        if (*r == '"' && r + 1 < end && r[1] == '"') {
            *w++ = *r++;
        } else if (*r == '"') {
            if (r + 1 < end && r[1] != ',')
                return tl_error_set(err, TL_E_INVALID, "text behind a quoted cell");
            *cell = (tl_bytes_view){(uint8_t *)from, (size_t)(w - from)};
            *p = r + 2;
            return TL_OK;
        } else {
            *w++ = *r;
        }
    }
}

static tl_status read_csv_header(tidelake_input *in, char *line, size_t len, tl_error *err)
{
    char *p = line, *end = line + len;
    while (p <= end) {
        tl_bytes_view cell;
        bool quoted;
        TL_TRY(next_cell(&p, end, &cell, &quoted, err));
        TL_CLEANUP(tl_freep) char *name = tl_strndup((const char *)cell.data, cell.len);
        int32_t *grown = tl_realloc(in->csv_columns, sizeof *grown * (size_t)(in->n_csv_columns + 1));
        if (name == NULL || grown == NULL)
            return tl_nomem(err, "CSV header");
        in->csv_columns = grown;
        int32_t column = tl_type_field_index(in->type, name);
        if (column < 0 && strcmp(name, "_kind") != 0)
            return tl_error_set(err, TL_E_INVALID, "no column '%s' in the table", name);
        in->csv_columns[in->n_csv_columns++] = column;
    }
    return TL_OK;
}

static tl_status add_csv_row(tidelake_input *in, char *line, size_t len, int64_t row, tl_error *err)
{
    char *p = line, *end = line + len;
    in->kinds[row] = TL_KIND_INSERT;
    int32_t n = 0;
    for (; p <= end; n++) {
        tl_bytes_view cell;
        bool quoted;
        TL_TRY(next_cell(&p, end, &cell, &quoted, err));
        if (n == in->n_csv_columns)
            return tl_error_set(err, TL_E_INVALID, "more than %d cells", in->n_csv_columns);
        int32_t c = in->csv_columns[n];
        if (c < 0) {
            if (cell.len > 0 && !tl_row_kind_parse(cell, &in->kinds[row]))
                return tl_error_set(err, TL_E_INVALID, "_kind '%.*s'", (int)cell.len, (const char *)cell.data);
            in->any_kind |= in->kinds[row] != TL_KIND_INSERT;
            continue;
        }
        bool is_null = cell.len == 0 && !quoted;
        tl_status status = is_null ? tl_builder_null(in->builders[c]) : tl_text_read_plain(cell, in->type->fields[c].type, in->builders[c], err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "column '%s'", in->type->fields[c].name);
    }
    if (n != in->n_csv_columns)
        return tl_error_set(err, TL_E_INVALID, "%d cells, the header has %d", n, in->n_csv_columns);
    for (int32_t c = 0; c < in->type->n_fields; c++)
        if (tl_builder_length(in->builders[c]) == row && tl_builder_null(in->builders[c]) != TL_OK)
            return tl_nomem(err, "row");
    return TL_OK;
}

/* A CSV record goes on over line ends inside quotes: read lines until the quotes are balanced. */
static bool quotes_open(const char *text, size_t len)
{
    bool open = false;
    for (size_t i = 0; i < len; i++)
        open ^= text[i] == '"';
    return open;
}

/* ---- lines ---- */

/* One line without its end; *len < 0 at the end of the file. */
static tl_status read_line(tidelake_input *in, ssize_t *len, tl_error *err)
{
    errno = 0;
    ssize_t n = getline(&in->line, &in->line_cap, in->file);
    if (n < 0 && ferror(in->file))
        return tl_error_errno(err, errno, "could not read '%s'", in->path);
    *len = n;
    if (n < 0)
        return TL_OK;
    in->line_number++;
    in->bytes_done += n;
    if ((size_t)n > LINE_BYTES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "'%s' line %lld has %zd bytes, more than the limit of %zu", in->path, (long long)in->line_number, n,
                            LINE_BYTES_MAX);
    while (*len > 0 && (in->line[*len - 1] == '\n' || in->line[*len - 1] == '\r'))
        in->line[--*len] = '\0';
    return TL_OK;
}

static tl_status read_csv_record(tidelake_input *in, char **out, size_t *out_len, tl_error *err)
{
    tl_buf record = {0};
    ssize_t len;
    tl_status status = read_line(in, &len, err);
    while (status == TL_OK && len >= 0) {
        if (tl_buf_append(&record, in->line, (size_t)len) != TL_OK)
            status = tl_nomem(err, "CSV record");
        if (status != TL_OK || !quotes_open((char *)record.data, record.len))
            break;
        if (tl_buf_append_byte(&record, '\n') != TL_OK)
            status = tl_nomem(err, "CSV record");
        if (status == TL_OK)
            status = read_line(in, &len, err);
    }
    if (status == TL_OK && len < 0 && record.len == 0) {
        *out = NULL;
        tl_buf_deinit(&record);
        return TL_OK;
    }
    *out_len = record.len;
    if (status == TL_OK && tl_buf_steal_str(&record, out) != TL_OK)
        status = tl_nomem(err, "CSV record");
    tl_buf_deinit(&record);
    return status;
}

static bool is_blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t')
            return false;
    return true;
}

/* Add rows until the batch is full, a blank line asks for a commit, or the file ends. */
static tl_status fill(tidelake_input *in, int64_t *n, bool *commit, bool *end, tl_error *err)
{
    while (*n < INPUT_BATCH_ROWS) {
        if (in->format == INPUT_CSV) {
            TL_CLEANUP(tl_freep) char *record = NULL;
            size_t len = 0;
            TL_TRY(read_csv_record(in, &record, &len, err));
            *end = record == NULL;
            if (record == NULL)
                return TL_OK;
            if (len == 0)
                continue;
            TL_TRY(fail_line(in, add_csv_row(in, record, len, *n, err), err));
        } else {
            ssize_t len;
            TL_TRY(read_line(in, &len, err));
            *end = len < 0;
            if (len < 0)
                return TL_OK;
            if (is_blank(in->line, (size_t)len)) {
                *commit = in->row_since_commit;
                if (*commit)
                    return TL_OK;
                continue;
            }
            TL_TRY(fail_line(in, add_json_row(in, (tl_bytes_view){(uint8_t *)in->line, (size_t)len}, *n, err), err));
        }
        in->row_since_commit = true;
        (*n)++;
    }
    return TL_OK;
}

static tl_status finish_batch(tidelake_input *in, int64_t n, tidelake_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(in->type, n, &batch, err));
    for (int32_t c = 0; c < in->type->n_fields; c++)
        TL_TRY(tl_builder_finish(in->builders[c], &batch->cols[c], err));
    if (in->any_kind) {
        batch->row_kind = tl_memdup(in->kinds, (size_t)n);
        if (batch->row_kind == NULL)
            return tl_nomem(err, "row kinds");
        in->any_kind = false;
    }
    return tl_api__batch(TL_STEAL(batch), out, err);
}

tl_status tidelake_input_next(tidelake_input *in, tidelake_batch **out, int *commit_after, tl_error *err)
{
    *commit_after = 0;
    if (in->format == INPUT_PARQUET) {
        tl_batch *batch;
        TL_TRY(tl_error_wrap(err, tl_reader_next(in->reader, &batch, err), "'%s'", in->path));
        *out = NULL;
        return batch == NULL ? TL_OK : tl_api__batch(batch, out, err);
    }
    int64_t n = 0;
    bool commit = false, end = false;
    TL_TRY(fill(in, &n, &commit, &end, err));
    if (commit) {
        *commit_after = 1;
        in->row_since_commit = false;
    }
    if (n == 0 && !commit) {
        *out = NULL;
        return TL_OK;
    }
    return finish_batch(in, n, out, err);
}

/* ---- open ---- */

static tl_status format_of(const char *path, const char *name, input_format *out, tl_error *err)
{
    if (name == NULL) {
        const char *dot = strrchr(path, '.');
        name = dot == NULL ? "jsonl" : dot + 1;
        if (strcmp(name, "json") == 0 || strcmp(name, "ndjson") == 0)
            name = "jsonl";
    }
    static const char *const names[] = {"jsonl", "csv", "parquet"};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (input_format)i;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "'%s': unknown format '%s'; give jsonl, csv or parquet", path, name);
}

static tl_status open_text(tidelake_input *in, tl_error *err)
{
    in->is_stdin = strcmp(in->path, "-") == 0;
    in->file = in->is_stdin ? stdin : fopen(in->path, "re");
    if (in->file == NULL)
        return tl_error_errno(err, errno, "could not open '%s'", in->path);
    in->bytes_total = -1;
    if (!in->is_stdin && fseeko(in->file, 0, SEEK_END) == 0) {
        in->bytes_total = ftello(in->file);
        rewind(in->file);
    }
    in->builders = tl_calloc((size_t)in->type->n_fields + 1, sizeof *in->builders);
    in->kinds = tl_alloc(INPUT_BATCH_ROWS);
    if (in->builders == NULL || in->kinds == NULL)
        return tl_nomem(err, "input");
    for (int32_t c = 0; c < in->type->n_fields; c++)
        TL_TRY(tl_builder_create(in->type->fields[c].type, &in->builders[c], err));
    if (in->format == INPUT_CSV) {
        TL_CLEANUP(tl_freep) char *header = NULL;
        size_t len = 0;
        TL_TRY(read_csv_record(in, &header, &len, err));
        if (header == NULL)
            return tl_error_set(err, TL_E_INVALID, "'%s' is empty: a CSV file begins with the names of its columns", in->path);
        TL_TRY(fail_line(in, read_csv_header(in, header, len, err), err));
    }
    return TL_OK;
}

static tl_status open_parquet(tidelake_input *in, tl_error *err)
{
    TL_TRY(tl_fs_local(&in->fs, err));
    tl_stat stat;
    TL_TRY(tl_fs_stat(in->fs, in->path, &stat, err));
    in->bytes_total = stat.bytes;
    tl_read_spec spec = {.row_type = in->type};
    return tl_error_wrap(err, tl_format_parquet.open(in->fs, in->path, stat.bytes, &spec, &in->reader, err), "'%s'", in->path);
}

tl_status tidelake_input_open(tidelake_table *table, const char *path, const char *format, tidelake_input **out, tl_error *err)
{
    tidelake_input *in = tl_calloc(1, sizeof *in);
    if (in == NULL)
        return tl_nomem(err, "input");
    in->path = tl_strdup(path);
    in->type = tl_type_ref(tl_table_row_type(table->table));
    tl_status status = in->path == NULL ? tl_nomem(err, "path") : format_of(path, format, &in->format, err);
    if (status == TL_OK)
        status = in->format == INPUT_PARQUET ? open_parquet(in, err) : open_text(in, err);
    if (status != TL_OK) {
        tidelake_input_close(in);
        return status;
    }
    *out = in;
    return TL_OK;
}

void tidelake_input_close(tidelake_input *in)
{
    if (in == NULL)
        return;
    for (int32_t c = 0; in->builders != NULL && c < in->type->n_fields; c++)
        tl_builder_free(in->builders[c]);
    tl_free(in->builders);
    tl_free(in->kinds);
    tl_free(in->csv_columns);
    tl_reader_free(in->reader);
    tl_fs_unref(in->fs);
    if (in->file != NULL && !in->is_stdin)
        fclose(in->file);
    free(in->line); /* getline's own */
    tl_arena_deinit(&in->arena);
    tl_type_unref(in->type);
    tl_free(in->path);
    tl_free(in);
}

void tidelake_input_progress(const tidelake_input *in, int64_t *done, int64_t *total)
{
    *done = in->bytes_done;
    *total = in->bytes_total;
}
