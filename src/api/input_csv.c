/*
 * CSV as RFC 4180 has it: the first line names the columns; a cell in double quotes may hold commas, line ends and doubled
 * quotes. An empty cell is NULL, "" an empty text.
 */
#include "api/input_private.h"
#include "types/text.h"

enum { COLUMN_KIND = -1, COLUMN_NONE = -2 }; /* cells that belong to no column of the table */

typedef struct csv_input {
    text_input text;  /* first */
    int32_t *columns; /* cell -> column of the table, COLUMN_… */
    int32_t n_columns;
    tl_buf record; /* the current record, over several lines perhaps; cells are unescaped in it */
} csv_input;

/* A record goes on over line ends inside quotes: read lines until they are closed. */
static tl_status read_record(tidelake_input *in, csv_input *csv, bool *end, tl_error *err)
{
    text_input *text = &csv->text;
    csv->record.len = 0;
    TL_TRY(tl_input__read_line(in, text, end, err));
    int64_t first_line = text->line_number;
    bool open = false;
    while (!*end) {
        for (size_t i = 0; i < text->line_len; i++)
            open ^= text->line[i] == '"';
        if (tl_buf_append(&csv->record, text->line, text->line_len) != TL_OK ||
            (open && tl_buf_append_str(&csv->record, text->line_end) != TL_OK))
            return tl_nomem(err, "CSV record");
        if (!open)
            return TL_OK;
        if (csv->record.len > INPUT_RECORD_BYTES_MAX)
            return tl_error_set(err, TL_E_LIMIT,
                                "the record that begins in line %lld is longer than %zu bytes; is a quote not closed?",
                                (long long)first_line, INPUT_RECORD_BYTES_MAX);
        TL_TRY(tl_input__read_line(in, text, end, err));
    }
    if (open)
        return tl_error_set(err, TL_E_INVALID, "the file ends inside the quotes of the record that begins in line %lld",
                            (long long)first_line);
    return TL_OK;
}

/* The next cell of *p, unescaped in place; *quoted tells an empty text from NULL. */
static tl_status next_cell(char **p, char *end, tl_bytes_view *cell, bool *quoted, tl_error *err)
{
    char *from = *p;
    *quoted = from < end && *from == '"';
    if (!*quoted) {
        char *comma = from == end ? NULL : memchr(from, ',', (size_t)(end - from));
        char *stop = comma == NULL ? end : comma;
        *cell = (tl_bytes_view){(uint8_t *)from, (size_t)(stop - from)};
        *p = comma == NULL ? end + 1 : comma + 1;
        return TL_OK;
    }
    char *w = ++from;
    for (char *r = from; r < end; r++) {
        if (*r == '"' && r + 1 < end && r[1] == '"') {
            *w++ = *r++;
        } else if (*r == '"') {
            if (r + 1 < end && r[1] != ',')
                return tl_error_set(err, TL_E_INVALID, "text behind the closing quote of a cell");
            *cell = (tl_bytes_view){(uint8_t *)from, (size_t)(w - from)};
            *p = r + 2;
            return TL_OK;
        } else {
            *w++ = *r;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "a quoted cell has no end");
}

/* The record's bounds; an empty buffer has no data. */
static char *record_of(csv_input *csv, char **end)
{
    static char nothing[1];
    char *from = csv->record.len == 0 ? nothing : (char *)csv->record.data;
    *end = from + csv->record.len;
    return from;
}

static int32_t column_of(const tl_type *type, tl_bytes_view name)
{
    for (int32_t c = 0; c < type->n_fields; c++)
        if (name.len == strlen(type->fields[c].name) && memcmp(name.data, type->fields[c].name, name.len) == 0)
            return c;
    return INT32_MIN;
}

static bool name_is(tl_bytes_view name, const char *text)
{
    return name.len == strlen(text) && memcmp(name.data, text, name.len) == 0;
}

static tl_status read_header(tidelake_input *in, csv_input *csv, tl_error *err)
{
    char *end, *p = record_of(csv, &end);
    while (p <= end) {
        tl_bytes_view name;
        bool quoted;
        TL_TRY(next_cell(&p, end, &name, &quoted, err));
        int32_t column = column_of(in->type, name);
        if (column < 0) {
            column = name_is(name, INPUT_KIND_COLUMN) ? COLUMN_KIND : COLUMN_NONE;
            if (column == COLUMN_NONE && !name_is(name, INPUT_SNAPSHOT_COLUMN))
                return tl_input__unknown_column(in->type, name, err);
        }
        for (int32_t i = 0; i < csv->n_columns; i++)
            if (csv->columns[i] == column)
                return tl_error_set(err, TL_E_INVALID, "the column '%.*s' is named twice", (int)name.len,
                                    (const char *)name.data);
        int32_t *grown = tl_realloc(csv->columns, sizeof *grown * (size_t)(csv->n_columns + 1));
        if (grown == NULL)
            return tl_nomem(err, "CSV header");
        csv->columns = grown;
        csv->columns[csv->n_columns++] = column;
    }
    return TL_OK;
}

static tl_status add_cell(tidelake_input *in, text_input *text, int32_t column, tl_bytes_view cell, bool quoted, tl_error *err)
{
    if (column == COLUMN_NONE || (column == COLUMN_KIND && cell.len == 0))
        return TL_OK;
    if (column == COLUMN_KIND)
        return tl_input__set_kind(text, cell, err);
    tl_builder *builder = text->builders[column];
    tl_status status = cell.len == 0 && !quoted ? tl_builder_error(builder, tl_builder_null(builder), err)
                                                : tl_text_read_plain(cell, in->type->fields[column].type, builder, err);
    return tl_error_wrap(err, status, "column '%s'", in->type->fields[column].name);
}

static tl_status add_record(tidelake_input *in, csv_input *csv, tl_error *err)
{
    text_input *text = &csv->text;
    char *end, *p = record_of(csv, &end);
    int32_t n = 0;
    for (; p <= end; n++) {
        tl_bytes_view cell;
        bool quoted;
        TL_TRY(next_cell(&p, end, &cell, &quoted, err));
        if (n == csv->n_columns)
            return tl_error_set(err, TL_E_INVALID, "more than the %d cells of the first line", csv->n_columns);
        TL_TRY(add_cell(in, text, csv->columns[n], cell, quoted, err));
    }
    if (n != csv->n_columns)
        return tl_error_set(err, TL_E_INVALID, "%d cell%s, the first line has %d", n, n == 1 ? "" : "s", csv->n_columns);
    for (int32_t c = 0; c < in->type->n_fields; c++) {
        tl_builder *builder = text->builders[c];
        if (tl_builder_length(builder) == text->n_rows)
            TL_TRY(tl_builder_error(builder, tl_builder_null(builder), err));
    }
    return TL_OK;
}

/* Blank lines are passed over, unless a table has one column: then each is a NULL. */
static tl_status add_row(tidelake_input *in, text_record *record, tl_error *err)
{
    csv_input *csv = in->state;
    bool end;
    do {
        TL_TRY(read_record(in, csv, &end, err));
    } while (!end && csv->record.len == 0 && csv->n_columns > 1);
    *record = end ? TEXT_END : TEXT_ROW;
    return end ? TL_OK : add_record(in, csv, err);
}

static tl_status csv_open(tidelake_input *in, tl_error *err)
{
    csv_input *csv = in->state = tl_calloc(1, sizeof *csv);
    if (csv == NULL)
        return tl_nomem(err, "input");
    TL_TRY(tl_input__text_open(in, &csv->text, err));
    bool end;
    TL_TRY(read_record(in, csv, &end, err));
    if (end)
        return tl_error_set(err, TL_E_INVALID, "%s is empty: CSV begins with a line that names its columns", in->name);
    if (in->type->n_fields == 0) /* to be inferred: the header is in csv->record */
        return TL_OK;
    return tl_error_wrap(err, read_header(in, csv, err), "%s, line 1", in->name);
}

static tl_status csv_next(tidelake_input *in, tl_batch **out, bool *commit_after, tl_error *err)
{
    return tl_input__text_next(in, &((csv_input *)in->state)->text, add_row, out, commit_after, err);
}

static void csv_close(tidelake_input *in)
{
    csv_input *csv = in->state;
    tl_input__text_close(in, &csv->text);
    tl_free(csv->columns);
    tl_buf_deinit(&csv->record);
    tl_free(csv);
}

/* The column of each cell, by the first line. */
typedef struct csv_shapes {
    shape **items;
    int32_t n;
} csv_shapes;

static tl_status infer_header(csv_input *csv, tl_arena *arena, shape *columns, csv_shapes *out, tl_error *err)
{
    char *end, *p = record_of(csv, &end);
    while (p <= end) {
        tl_bytes_view name;
        bool quoted;
        TL_TRY(next_cell(&p, end, &name, &quoted, err));
        shape **grown = tl_realloc(out->items, sizeof *grown * (size_t)(out->n + 1));
        if (grown == NULL)
            return tl_nomem(err, "CSV header");
        out->items = grown;
        TL_TRY(tl_infer__member(arena, columns, name, &out->items[out->n], err));
        out->n++;
    }
    return TL_OK;
}

static tl_status infer_record(csv_input *csv, const csv_shapes *shapes, tl_error *err)
{
    char *end, *p = record_of(csv, &end);
    int32_t n = 0;
    for (; p <= end; n++) {
        tl_bytes_view cell;
        bool quoted;
        TL_TRY(next_cell(&p, end, &cell, &quoted, err));
        if (n == shapes->n)
            return tl_error_set(err, TL_E_INVALID, "more than the %d cells of the first line", n);
        if (cell.len > 0 || quoted)
            tl_infer__text(shapes->items[n], cell);
    }
    return n == shapes->n ? TL_OK : tl_error_set(err, TL_E_INVALID, "%d of the %d cells of the first line", n, shapes->n);
}

static tl_status csv_infer(tidelake_input *in, tl_arena *arena, shape *columns, tl_error *err)
{
    csv_input *csv = in->state;
    csv_shapes shapes = {0};
    tl_status status = infer_header(csv, arena, columns, &shapes, err);
    for (bool end = false; status == TL_OK;) {
        status = read_record(in, csv, &end, err);
        if (status != TL_OK || end)
            break;
        if (csv->record.len > 0 || shapes.n == 1)
            status = infer_record(csv, &shapes, err);
        status = tl_error_wrap(err, status, "%s, line %lld", in->name, (long long)csv->text.line_number);
    }
    tl_free(shapes.items);
    return status;
}

const input_format tl_input__csv = {"csv", csv_open, csv_next, csv_close, csv_infer};
