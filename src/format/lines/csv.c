/*
 * CSV by the rules of the reference's parser, which is that of Hive's OpenCSVSerde (Java: CsvParser, CsvFormatWriter). These are not
 * Flink's, which connect/ has. Surprises: a backslash that escapes nothing is lost; a line end in a quoted value ends the record; what
 * an open quote holds at the end of the line is dropped; an empty text and NULL are written alike.
 */
#include "format/lines/lines_private.h"

/* ---- cutting ---- */

/* Java's Character.isWhitespace() of the character at `p`; its bytes, or 0. */
static size_t white_space(const uint8_t *p, size_t left)
{
    if ((p[0] >= 9 && p[0] <= 13) || (p[0] >= 28 && p[0] <= 32))
        return 1;
    if (left < 3 || p[0] < 0xe1 || p[0] > 0xe3)
        return 0;
    uint32_t c = (uint32_t)(p[0] & 15) << 12 | (uint32_t)(p[1] & 63) << 6 | (p[2] & 63);
    bool space = c == 0x1680 || (c >= 0x2000 && c <= 0x200a && c != 0x2007) || c == 0x2028 || c == 0x2029 || c == 0x205f || c == 0x3000;
    return space ? 3 : 0;
}

static bool is_white(const uint8_t *p, size_t n)
{
    for (size_t i = 0, bytes; i < n; i += bytes) {
        if ((bytes = white_space(p + i, n - i)) == 0)
            return false;
    }
    return true;
}

/* Whether more than `n` UTF-16 units stand before byte `at`. */
static bool is_beyond(tl_bytes_view line, size_t at, int n)
{
    int units = 0;
    for (size_t i = 0; i < at && units <= n; i++)
        units += (line.data[i] & 0xc0) == 0x80 ? 0 : line.data[i] >= 0xf0 ? 2 : 1;
    return units > n;
}

typedef struct cutter {
    tl_lines_parser *p;
    tl_bytes_view line;
    size_t at;
    size_t cell_start; /* in scratch */
    bool in_quotes;
    bool in_field;
    uint8_t separator, quote, escape;
} cutter;

/* Whether the next character is c, or (if it is not 0) d. */
static bool next_is(const cutter *c, uint8_t a, uint8_t b)
{
    if (c->at + 1 >= c->line.len)
        return false;
    uint8_t next = c->line.data[c->at + 1];
    return next == a || next == b;
}

/* A quote: doubled, the mark of a cell's begin or end, or a literal one in the middle of a cell. */
static tl_status take_quote(cutter *c)
{
    tl_buf *scratch = &c->p->scratch;
    tl_status status = TL_OK;
    if ((c->in_quotes || c->in_field) && next_is(c, c->quote, c->quote)) {
        status = tl_buf_append_byte(scratch, c->quote);
        c->at++;
    } else {
        bool inside = is_beyond(c->line, c->at, 2) && c->line.data[c->at - 1] != c->separator && c->at + 1 < c->line.len &&
                      c->line.data[c->at + 1] != c->separator;
        if (inside && scratch->len > c->cell_start && is_white(scratch->data + c->cell_start, scratch->len - c->cell_start))
            scratch->len = c->cell_start;
        else if (inside)
            status = tl_buf_append_byte(scratch, c->quote);
        c->in_quotes = !c->in_quotes;
    }
    c->in_field = !c->in_field;
    return status;
}

/* The cells that somebody wants, up to the last of them; those that the line does not have stay without data. */
static tl_status cut(tl_lines_parser *p, tl_bytes_view line)
{
    cutter c = {.p = p, .line = line};
    c.separator = (uint8_t)p->options.field_delimiter[0];
    c.quote = (uint8_t)p->options.quote[0];
    c.escape = (uint8_t)p->options.escape[0];
    int32_t cell = 0;
    p->scratch.len = 0;
    for (; c.at < line.len && cell < p->n_cells; c.at++) {
        uint8_t byte = line.data[c.at];
        if (byte == c.escape) {
            if ((c.in_quotes || c.in_field) && next_is(&c, c.quote, c.escape))
                TL_TRY(tl_buf_append_byte(&p->scratch, line.data[++c.at]));
        } else if (byte == c.quote) {
            TL_TRY(take_quote(&c));
        } else if (byte == c.separator && !c.in_quotes) {
            p->cell_ends[cell++] = c.cell_start = p->scratch.len;
            c.in_field = false;
        } else {
            TL_TRY(tl_buf_append_byte(&p->scratch, byte));
            c.in_field = true;
        }
    }
    if (cell < p->n_cells && !c.in_quotes)
        p->cell_ends[cell++] = p->scratch.len;
    size_t from = 0;
    for (int32_t i = 0; i < p->n_cells; i++) {
        static const uint8_t nothing = 0;
        const uint8_t *data = p->scratch.data == NULL ? &nothing : p->scratch.data;
        p->cells[i] = i < cell ? (tl_bytes_view){data + from, p->cell_ends[i] - from} : (tl_bytes_view){NULL, 0};
        from = i < cell ? p->cell_ends[i] : from;
    }
    return TL_OK;
}

/* ---- values ---- */

static tl_status nulls_from(tl_lines_parser *p, int32_t column, tl_error *err)
{
    for (int32_t i = column; i < p->type->n_fields; i++)
        TL_TRY(tl_builder_error(p->builders[i], tl_builder_null(p->builders[i]), err));
    return TL_OK;
}

static tl_status bad_cell(const tl_field *field, tl_bytes_view cell, tl_error *err)
{
    tl_buf name = {0};
    (void)tl_type_format(field->type, &name); /* an empty name if out of memory */
    tl_status status = tl_error_set(err, TL_E_CORRUPT, "column '%s': '%.*s' is no %.*s", field->name, (int)TL_MIN(cell.len, (size_t)200),
                                    (const char *)cell.data, (int)name.len, (const char *)name.data);
    tl_buf_deinit(&name);
    return status;
}

static tl_status add_cell(tl_lines_parser *p, int32_t column, tl_error *err)
{
    tl_bytes_view cell = p->cells[p->ordinal[column]];
    const char *null = p->options.null_literal;
    if (cell.data == NULL || (cell.len == strlen(null) && memcmp(cell.data, null, cell.len) == 0))
        return tl_builder_null(p->builders[column]);
    return tl_lines__value(cell, p->type->fields[column].type, p->builders[column], err);
}

tl_status tl_lines__parse_csv(tl_lines_parser *p, tl_bytes_view line, bool *keep, tl_error *err)
{
    *keep = true;
    if (is_white(line.data, line.len))
        return nulls_from(p, 0, err);
    if (cut(p, line) != TL_OK)
        return tl_nomem(err, "cells");
    for (int32_t i = 0; i < p->type->n_fields; i++) {
        tl_status status = add_cell(p, i, err);
        if (status == TL_OK)
            continue;
        if (status != TL_E_INVALID)
            return tl_error_wrap(err, tl_builder_error(p->builders[i], status, err), "column '%s'", p->type->fields[i].name);
        if (p->options.mode == TL_CSV_PERMISSIVE)
            return nulls_from(p, i, err); /* this value and all behind it */
        *keep = false;
        return p->options.mode == TL_CSV_DROP ? TL_OK : bad_cell(&p->type->fields[i], p->cells[p->ordinal[i]], err);
    }
    return TL_OK;
}

/* ---- printing ---- */

static tl_status append_escaped(tl_buf *out, const tl_lines_options *o, tl_bytes_view cell)
{
    const char specials[3] = {o->field_delimiter[0], o->line_delimiter[0], o->quote[0]};
    bool plain = true;
    for (size_t i = 0; i < cell.len && plain; i++)
        plain = memchr(specials, cell.data[i], sizeof specials) == NULL;
    if (plain)
        return tl_buf_append(out, cell.data, cell.len);
    size_t quote_len = strlen(o->quote);
    TL_TRY(tl_buf_append_str(out, o->quote));
    for (size_t i = 0; i < cell.len;) {
        bool quote = cell.len - i >= quote_len && memcmp(cell.data + i, o->quote, quote_len) == 0;
        if (quote)
            TL_TRY(tl_buf_append_str(out, o->escape));
        TL_TRY(tl_buf_append(out, cell.data + i, quote ? quote_len : 1));
        i += quote ? quote_len : 1;
    }
    return tl_buf_append_str(out, o->quote);
}

tl_status tl_lines__print_csv(tl_buf *out, tl_buf *scratch, const tl_lines_options *options, const tl_batch *batch, int64_t i)
{
    for (int32_t c = 0; c < batch->n_cols; c++) {
        if (c > 0)
            TL_TRY(tl_buf_append_str(out, options->field_delimiter));
        if (tl_col_is_null(batch->cols[c], i)) {
            TL_TRY(tl_buf_append_str(out, options->null_literal));
            continue;
        }
        scratch->len = 0;
        TL_TRY(tl_lines__append_value(scratch, batch->cols[c], i));
        TL_TRY(append_escaped(out, options, (tl_bytes_view){scratch->data, scratch->len}));
    }
    return tl_buf_append_str(out, options->line_delimiter);
}

tl_status tl_lines__print_csv_header(tl_buf *out, const tl_lines_options *options, const tl_type *type)
{
    for (int32_t c = 0; c < type->n_fields; c++) {
        const char *name = type->fields[c].name;
        if (c > 0)
            TL_TRY(tl_buf_append_str(out, options->field_delimiter));
        TL_TRY(append_escaped(out, options, (tl_bytes_view){(const uint8_t *)name, strlen(name)}));
    }
    return tl_buf_append_str(out, options->line_delimiter);
}
