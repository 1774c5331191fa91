/*
 * CSV by the rules of Flink's csv format: cells by position, no header; numbers are trimmed, decimals, dates and times are not; an empty cell is
 * an empty text for STRING, false for BOOLEAN and an error for other types unless it is the null literal; a line without anything is one empty
 * cell. With ignore-parse-errors a record that is too short is filled with NULLs, one that is too long is left out. Sources: Flink's
 * CsvToRowDataConverters, and how Jackson cuts cells.
 */
#include <stdlib.h>
#include <strings.h>

#include "connect/connect_private.h"
#include "types/convert.h"

typedef struct csv_decoder {
    tl_decoder base;
    const tl_type *type;
    uint8_t delimiter;
    uint8_t quote;
    uint8_t escape; /* 0: none */
    const char *null_literal; /* NULL: none */
    const char *array_delimiter; /* between elements of an ARRAY and fields of a ROW */
    bool ignore_parse_errors;
    bool allow_comments;
    tl_buf cells; /* unescaped texts of one record */
    size_t *ends; /* in cells, one per column and one more */
} csv_decoder;

static tl_status bad_cell(tl_bytes_view cell, const tl_type *type, tl_error *err)
{
    tl_buf name = {0};
    (void)tl_type_format(type, &name); /* an empty name if out of memory */
    tl_status status = tl_error_set(err, TL_E_INVALID, "cannot read '%.*s' as %.*s", (int)TL_MIN(cell.len, (size_t)200), (const char *)cell.data,
                                    (int)name.len, (const char *)name.data);
    tl_buf_deinit(&name);
    return status;
}

/* Where the scan of a record stands: quotes mean something at the start of a cell, and within one that began so. */
typedef enum cell_state { CELL_START, CELL_PLAIN, CELL_QUOTED, CELL_CLOSED } cell_state;

static bool is_comment(const csv_decoder *d, tl_bytes_view text)
{
    size_t i = 0;
    while (d->allow_comments && i < text.len && text.data[i] == ' ')
        i++;
    return d->allow_comments && i < text.len && text.data[i] == '#';
}

/* The line end behind a record, which may have others in quotes. Most lines have neither quotes nor escapes. */
static size_t csv_record_end(const tl_decoder *decoder, tl_bytes_view text)
{
    const csv_decoder *d = (const csv_decoder *)decoder;
    const uint8_t *end = text.len == 0 ? NULL : memchr(text.data, '\n', text.len);
    size_t line = end == NULL ? text.len : (size_t)(end - text.data);
    if (line == 0 || is_comment(d, text) ||
        ((d->quote == 0 || memchr(text.data, d->quote, line) == NULL) && (d->escape == 0 || memchr(text.data, d->escape, line) == NULL)))
        return line;
    cell_state state = CELL_START;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (state == CELL_QUOTED && c == d->quote)
            state = CELL_CLOSED; /* a doubled one opens it again */
        else if (state == CELL_CLOSED && c == d->quote)
            state = CELL_QUOTED;
        else if (state == CELL_START && d->quote != 0 && c == d->quote)
            state = CELL_QUOTED;
        else if (d->escape != 0 && c == d->escape && state != CELL_CLOSED)
            i++, state = state == CELL_START ? CELL_PLAIN : state;
        else if (state != CELL_QUOTED && c == '\n')
            return i;
        else if (state != CELL_QUOTED && c == d->delimiter)
            state = CELL_START;
        else if (state == CELL_START)
            state = CELL_PLAIN;
    }
    return text.len;
}

/* What stands behind an escape character. */
static uint8_t unescaped(uint8_t c)
{
    switch (c) {
    case '0':
        return '\0';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return c;
    }
}

/* One cell from *at on, which moves to its delimiter or the record's end. */
static tl_status cut_cell(csv_decoder *d, tl_bytes_view record, size_t *at, tl_error *err)
{
    size_t i = *at;
    cell_state state = d->quote != 0 && i < record.len && record.data[i] == d->quote ? CELL_QUOTED : CELL_PLAIN;
    for (i += state == CELL_QUOTED; i < record.len; i++) {
        uint8_t c = record.data[i];
        if (state == CELL_QUOTED && c == d->quote && !(i + 1 < record.len && record.data[i + 1] == d->quote)) {
            state = CELL_CLOSED;
            continue;
        }
        if (state != CELL_QUOTED && c == d->delimiter)
            break;
        if (state == CELL_CLOSED && c > ' ')
            return tl_error_set(err, TL_E_INVALID, "behind a quoted cell '%c' is expected, not '%.*s'", d->delimiter,
                                (int)TL_MIN(record.len - i, (size_t)200), (const char *)record.data + i);
        if (state == CELL_CLOSED)
            continue;
        if (state == CELL_QUOTED && c == d->quote)
            i++;
        else if (d->escape != 0 && c == d->escape && i + 1 < record.len)
            c = unescaped(record.data[++i]);
        if (tl_buf_append_byte(&d->cells, c) != TL_OK)
            return tl_nomem(err, "cells");
    }
    *at = i;
    return state == CELL_QUOTED ? tl_error_set(err, TL_E_INVALID, "a quoted cell has no end") : TL_OK;
}

/* Cut a record into cells; *n counts all of them, those beyond the columns are not kept. */
static tl_status cut(csv_decoder *d, tl_bytes_view record, int32_t *n, tl_error *err)
{
    d->cells.len = 0;
    *n = 0;
    for (size_t i = 0;; i++) {
        TL_TRY(cut_cell(d, record, &i, err));
        if (*n < d->type->n_fields)
            d->ends[*n] = d->cells.len;
        (*n)++;
        if (i >= record.len)
            return TL_OK;
    }
}

static tl_bytes_view trimmed(tl_bytes_view text)
{
    while (text.len > 0 && text.data[0] <= ' ') {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && text.data[text.len - 1] <= ' ')
        text.len--;
    return text;
}

static tl_status cell_value(const csv_decoder *d, tl_bytes_view cell, const tl_type *type, tl_builder *builder, tl_error *err);

/* Elements of an ARRAY or fields of a ROW, which themselves are scalars; an empty cell has none. */
static tl_status cell_elements(const csv_decoder *d, tl_bytes_view cell, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_bytes_view rest = cell, delimiter = {(const uint8_t *)d->array_delimiter, strlen(d->array_delimiter)};
    int32_t n = 0;
    bool is_row = type->kind == TL_ROW;
    if (is_row && cell.len == 0)
        return tl_builder_null(builder);
    for (bool more = cell.len > 0; more; n++) {
        const uint8_t *end = memmem(rest.data, rest.len, delimiter.data, delimiter.len);
        tl_bytes_view one = {rest.data, end == NULL ? rest.len : (size_t)(end - rest.data)};
        if (is_row && n == type->n_fields && d->ignore_parse_errors)
            break;
        if (is_row && n == type->n_fields)
            return bad_cell(cell, type, err);
        const tl_type *of = type->fields[is_row ? n : 0].type;
        if (of->n_fields > 0)
            return bad_cell(cell, type, err);
        tl_builder *child = tl_builder_child(builder, is_row ? n : 0);
        tl_status status = cell_value(d, one, of, child, err);
        if (status == TL_E_INVALID && d->ignore_parse_errors)
            status = tl_builder_null(child);
        TL_TRY(status);
        more = end != NULL;
        if (more)
            rest = (tl_bytes_view){end + delimiter.len, rest.len - one.len - delimiter.len};
    }
    if (is_row && n != type->n_fields && !d->ignore_parse_errors)
        return bad_cell(cell, type, err);
    for (; is_row && n < type->n_fields; n++)
        TL_TRY(tl_builder_null(tl_builder_child(builder, n)));
    return tl_builder_end(builder);
}

/* y-m-d with months and days of one digit, too, as java.sql.Date takes them; h:m[:s[.fraction]], cut to the type's precision. */
static tl_status date_or_time(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    static const char *const dates[] = {"dddd-dd-dd", "dddd-d-dd", "dddd-dd-d", "dddd-d-d"};
    static const int32_t units[] = {1000, 100, 10, 1}; /* milliseconds of one in the last place */
    bool is_date = type->kind == TL_DATE, good = !is_date && (tl_connect__has_form(text, "dd:dd:dd", true) || tl_connect__has_form(text, "dd:dd", false));
    for (size_t i = 0; is_date && i < TL_ARRAY_LEN(dates); i++)
        good |= tl_connect__has_form(text, dates[i], false);
    int32_t v;
    if (!good || !(is_date ? tl_parse_date(text, &v) : tl_parse_time(text, &v)))
        return bad_cell(text, type, err);
    int32_t unit = is_date ? 1 : units[TL_MIN(type->precision, 3)];
    return tl_builder_int(builder, v / unit * unit);
}

/* Numbers go through the rules of JSON text, times through those of their own. */
static tl_status cell_value(const csv_decoder *d, tl_bytes_view cell, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (d->null_literal != NULL && cell.len == strlen(d->null_literal) && memcmp(cell.data, d->null_literal, cell.len) == 0)
        return tl_builder_null(builder);
    if (type->kind == TL_CHAR || type->kind == TL_VARCHAR)
        return tl_builder_bytes(builder, cell.data, cell.len);
    if (type->kind == TL_ARRAY || type->kind == TL_VECTOR || type->kind == TL_ROW)
        return cell_elements(d, cell, type, builder, err);
    bool is_number = type->kind == TL_TINYINT || type->kind == TL_SMALLINT || type->kind == TL_INT || type->kind == TL_BIGINT ||
                     type->kind == TL_FLOAT || type->kind == TL_DOUBLE;
    tl_bytes_view text = is_number ? trimmed(cell) : cell;
    bool may_be_empty = type->kind == TL_BOOLEAN || type->kind == TL_BINARY || type->kind == TL_VARBINARY;
    if ((text.len == 0 && !may_be_empty) || type->n_fields > 0 || (type->kind == TL_DECIMAL && trimmed(cell).len != cell.len))
        return bad_cell(cell, type, err);
    if (type->kind == TL_DATE || type->kind == TL_TIME)
        return date_or_time(text, type, builder, err);
    tl_json json = {.kind = TL_JSON_STRING, .text = text, .raw = text};
    static const tl_json_rules rules = {TL_TIME_SQL, false, false, NULL};
    return tl_connect__json_value(&rules, &json, type, builder, err);
}

static tl_status csv_decode(tl_decoder *decoder, tl_bytes_view record, tl_row_buffer *rows, tl_error *err)
{
    csv_decoder *d = (csv_decoder *)decoder;
    bool is_blank = trimmed(record).len == 0;
    if (is_comment(d, record) || (is_blank && d->allow_comments))
        return TL_OK;
    int32_t n;
    tl_status status = cut(d, record, &n, err);
    if (status == TL_OK && n > d->type->n_fields && d->ignore_parse_errors)
        return TL_OK;
    if (status == TL_OK && n != d->type->n_fields && !d->ignore_parse_errors)
        status = tl_error_set(err, TL_E_INVALID, "%d cells, the table has %d columns", n, d->type->n_fields);
    size_t from = 0;
    for (int32_t c = 0; c < d->type->n_fields && status == TL_OK; c++) {
        if (c >= n) {
            status = tl_builder_null(rows->builders[c]); /* short record, errors ignored */
            continue;
        }
        tl_bytes_view cell = {d->cells.data + from, d->ends[c] - from};
        from = d->ends[c];
        status = cell_value(d, cell, d->type->fields[c].type, rows->builders[c], err);
        if (status == TL_E_INVALID && d->ignore_parse_errors) {
            tl_builder_truncate(rows->builders[c], rows->n); /* elements of a nested value */
            status = tl_builder_null(rows->builders[c]);
        } else {
            status = tl_error_wrap(err, status, "column '%s'", d->type->fields[c].name);
        }
    }
    if (status != TL_OK)
        return status != TL_E_NOMEM && d->ignore_parse_errors ? tl_connect__rows_rewind(rows, err) : status;
    return tl_connect__rows_end(rows, TL_KIND_INSERT, err);
}

static void csv_free(tl_decoder *decoder)
{
    csv_decoder *d = (csv_decoder *)decoder;
    tl_buf_deinit(&d->cells);
    tl_free(d->ends);
    tl_free(d);
}

/* One character, or the escapes \t, \\, \u0001 that scripts use. */
tl_status tl_connect__csv_char(const tl_options *options, const char *key, uint8_t fallback, uint8_t *out, tl_error *err)
{
    const char *text = tl_connect__option(options, "csv", key);
    *out = fallback;
    if (text == NULL)
        return TL_OK;
    if (text[0] != '\0' && text[1] == '\0')
        *out = (uint8_t)text[0];
    else if (strcmp(text, "\\t") == 0)
        *out = '\t';
    else if (text[0] == '\\' && text[1] == 'u' && strlen(text) == 6)
        *out = (uint8_t)strtol(text + 2, NULL, 16);
    else
        return tl_error_set(err, TL_E_INVALID, "option 'csv.%s' is '%s', not one character", key, text);
    return TL_OK;
}

const char *tl_connect__csv_array_delimiter(const tl_options *options)
{
    const char *text = tl_connect__option(options, "csv", "array-element-delimiter");
    return text == NULL || *text == '\0' ? ";" : text;
}

static tl_status csv_options(csv_decoder *d, const tl_options *options, tl_error *err)
{
    TL_TRY(tl_connect__csv_char(options, "field-delimiter", ',', &d->delimiter, err));
    TL_TRY(tl_connect__csv_char(options, "quote-character", '"', &d->quote, err));
    TL_TRY(tl_connect__csv_char(options, "escape-character", 0, &d->escape, err));
    bool no_quotes;
    TL_TRY(tl_connect__bool_option(options, "csv", "disable-quote-character", false, &no_quotes, err));
    if (no_quotes)
        d->quote = 0;
    d->base.record_end = csv_record_end;
    d->base.skips_mark = true;
    d->null_literal = tl_connect__option(options, "csv", "null-literal");
    d->array_delimiter = tl_connect__csv_array_delimiter(options);
    TL_TRY(tl_connect__bool_option(options, "csv", "ignore-parse-errors", false, &d->ignore_parse_errors, err));
    return tl_connect__bool_option(options, "csv", "allow-comments", false, &d->allow_comments, err);
}

tl_status tl_connect__csv_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err)
{
    static const tl_decoder_ops ops = {csv_decode, csv_free};
    csv_decoder *d = tl_calloc(1, sizeof *d);
    if (d == NULL)
        return tl_nomem(err, "decoder");
    d->base.ops = &ops;
    d->type = spec->row_type;
    d->ends = tl_calloc((size_t)spec->row_type->n_fields + 1, sizeof *d->ends);
    tl_status status = d->ends == NULL ? tl_nomem(err, "decoder") : csv_options(d, spec->options, err);
    if (status != TL_OK) {
        csv_free(&d->base);
        return status;
    }
    *out = &d->base;
    return TL_OK;
}

/* ---- raw: the whole line is the one column ---- */

typedef struct raw_decoder {
    tl_decoder base;
    const tl_type *type;
} raw_decoder;

static tl_status raw_decode(tl_decoder *decoder, tl_bytes_view record, tl_row_buffer *rows, tl_error *err)
{
    (void)decoder;
    if (tl_builder_bytes(rows->builders[0], record.data, record.len) != TL_OK)
        return tl_nomem(err, "row");
    return tl_connect__rows_end(rows, TL_KIND_INSERT, err);
}

static void raw_free(tl_decoder *decoder)
{
    tl_free(decoder);
}

tl_status tl_connect__raw_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err)
{
    static const tl_decoder_ops ops = {raw_decode, raw_free};
    if (spec->row_type->n_fields != 1 || tl_type_phys(spec->row_type->fields[0].type) != TL_PHYS_BYTES)
        return tl_error_set(err, TL_E_INVALID, "format 'raw' needs a table of one column, of a text or binary type");
    raw_decoder *d = tl_calloc(1, sizeof *d);
    if (d == NULL)
        return tl_nomem(err, "decoder");
    d->base.ops = &ops;
    *out = &d->base;
    return TL_OK;
}
