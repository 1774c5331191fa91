/*
 * Rows for eyes: a table with columns as wide as their widest cell, numbers to the right, NULL told apart from text; or, if a
 * terminal is too narrow for the table, each row as a record of lines `name │ value`.
 *
 * Widths need all rows, so they are taken from the first TABLE_SAMPLE_ROWS and later rows follow them.
 */
#include "api/printer_private.h"

#include <stdio.h>

#define TABLE_SAMPLE_ROWS 1000
#define TERMINAL_CELL_WIDTH_MAX 60
#define CELL_WIDTH_MIN 8

/* Set up when the sample is there. */
typedef struct table_state {
    int *widths; /* of columns */
    bool records;
    int name_width; /* records: of the names */
} table_state;

static int32_t column_count(const tidelake_printer *p)
{
    return p->type->n_fields + p->kinds + p->snapshots;
}

static const char *column_name(const tidelake_printer *p, int32_t c)
{
    if (p->snapshots && c-- == 0)
        return "_snapshot";
    if (p->kinds && c-- == 0)
        return "_kind";
    return p->type->fields[c].name;
}

static bool is_number(const tidelake_printer *p, int32_t c)
{
    if (p->snapshots && c-- == 0)
        return true;
    if (p->kinds && c-- == 0)
        return false;
    tl_type_kind kind = p->type->fields[c].type->kind;
    return kind >= TL_TINYINT && kind <= TL_DECIMAL;
}

/* ---- drawing ---- */

static tl_status append_cell(tidelake_printer *p, const char *cell, int width, bool right, bool cut)
{
    if (cell != NULL)
        return tl_printer__append_cell(&p->out, cell, width, right, cut);
    if (p->colors)
        TL_TRY(tl_buf_append_str(&p->out, "\033[2m"));
    TL_TRY(tl_printer__append_cell(&p->out, "NULL", width, right, cut));
    return p->colors ? tl_buf_append_str(&p->out, "\033[0m") : TL_OK;
}

static tl_status rule(tl_buf *out, const int *widths, int32_t n, const char *left, const char *cross, const char *right)
{
    for (int32_t c = 0; c < n; c++) {
        TL_TRY(tl_buf_append_str(out, c == 0 ? left : cross));
        for (int i = 0; i < widths[c] + 2; i++)
            TL_TRY(tl_buf_append_str(out, "─"));
    }
    TL_TRY(tl_buf_append_str(out, right));
    return tl_buf_append_byte(out, '\n');
}

static tl_status table_head(tidelake_printer *p, const table_state *state)
{
    int32_t n = column_count(p);
    TL_TRY(rule(&p->out, state->widths, n, "┌", "┬", "┐"));
    for (int32_t c = 0; c < n; c++) {
        TL_TRY(tl_buf_append_str(&p->out, "│ "));
        TL_TRY(append_cell(p, column_name(p, c), state->widths[c], is_number(p, c), p->max_width > 0));
        TL_TRY(tl_buf_append_str(&p->out, c == n - 1 ? " │\n" : " "));
    }
    return rule(&p->out, state->widths, n, "├", "┼", "┤");
}

static tl_status table_row(tidelake_printer *p, const table_state *state, char *const *cells)
{
    int32_t n = column_count(p);
    for (int32_t c = 0; c < n; c++) {
        TL_TRY(tl_buf_append_str(&p->out, "│ "));
        TL_TRY(append_cell(p, cells[c], state->widths[c], is_number(p, c), p->max_width > 0));
        TL_TRY(tl_buf_append_str(&p->out, c == n - 1 ? " │\n" : " "));
    }
    return TL_OK;
}

static tl_status record(tidelake_printer *p, const table_state *state, char *const *cells)
{
    char title[48];
    snprintf(title, sizeof title, "── row %lld ", (long long)++p->rows_shown);
    TL_TRY(tl_buf_append_str(&p->out, title));
    for (int64_t w = tl_printer__width(title); w < TL_MIN(p->max_width, state->name_width + TERMINAL_CELL_WIDTH_MAX + 3); w++)
        TL_TRY(tl_buf_append_str(&p->out, "─"));
    TL_TRY(tl_buf_append_byte(&p->out, '\n'));
    for (int32_t c = 0; c < column_count(p); c++) {
        TL_TRY(append_cell(p, column_name(p, c), state->name_width, false, false));
        TL_TRY(tl_buf_append_str(&p->out, " │ "));
        TL_TRY(append_cell(p, cells[c], 0, false, false));
        TL_TRY(tl_buf_append_byte(&p->out, '\n'));
    }
    return TL_OK;
}

/* ---- layout ---- */

/* Shrink the widest columns until the table fits the terminal; false if it does not even with columns of CELL_WIDTH_MIN. */
static bool fit(int *widths, int32_t n, int64_t max_width)
{
    for (int32_t c = 0; c < n; c++)
        widths[c] = TL_MIN(widths[c], TERMINAL_CELL_WIDTH_MAX);
    for (;;) {
        int64_t total = 1;
        int32_t widest = 0;
        for (int32_t c = 0; c < n; c++) {
            total += widths[c] + 3;
            widest = widths[c] > widths[widest] ? c : widest;
        }
        if (total <= max_width)
            return true;
        if (widths[widest] <= CELL_WIDTH_MIN)
            return false;
        widths[widest]--;
    }
}

/* The layout is made from what is kept so far. */
static tl_status make_layout(tidelake_printer *p)
{
    int32_t n = column_count(p);
    table_state *state = p->state = tl_calloc(1, sizeof *state);
    if (state == NULL || (state->widths = tl_calloc((size_t)n + 1, sizeof *state->widths)) == NULL)
        return TL_E_NOMEM;
    for (int32_t c = 0; c < n; c++) {
        state->widths[c] = tl_printer__width(column_name(p, c));
        state->name_width = TL_MAX(state->name_width, state->widths[c]);
    }
    for (size_t i = 0; i < p->n_cells; i++) {
        int w = p->cells[i] == NULL ? 4 : tl_printer__width(p->cells[i]);
        int32_t c = (int32_t)(i % (size_t)n);
        state->widths[c] = TL_MAX(state->widths[c], w);
    }
    state->records = p->max_width > 0 && !fit(state->widths, n, p->max_width);
    return state->records ? TL_OK : table_head(p, state);
}

/* Print the rows that are kept. */
static tl_status flush_rows(tidelake_printer *p)
{
    if (p->state == NULL)
        TL_TRY(make_layout(p));
    table_state *state = p->state;
    size_t n = (size_t)column_count(p);
    for (size_t i = 0; i < p->n_cells; i += n) {
        TL_TRY(state->records ? record(p, state, p->cells + i) : table_row(p, state, p->cells + i));
        for (size_t c = i; c < i + n; c++) {
            tl_free(p->cells[c]);
            p->cells[c] = NULL;
        }
    }
    p->n_cells = 0;
    return TL_OK;
}

/* ---- rows come in ---- */

/* Takes `text` over, also when it fails. */
static tl_status keep_cell(tidelake_printer *p, char *text)
{
    if (p->n_cells == p->cap_cells) {
        size_t cap = p->cap_cells == 0 ? 256 : p->cap_cells * 2;
        char **cells = tl_realloc(p->cells, cap * sizeof *cells);
        if (cells == NULL) {
            tl_free(text);
            return TL_E_NOMEM;
        }
        p->cells = cells;
        p->cap_cells = cap;
    }
    p->cells[p->n_cells++] = text;
    return TL_OK;
}

static tl_status keep_row(tidelake_printer *p, const tl_batch *batch, int64_t i)
{
    if (p->snapshots)
        TL_TRY(keep_cell(p, tl_strf("%lld", (long long)batch->snapshot)));
    if (p->kinds)
        TL_TRY(keep_cell(p, tl_strdup(tl_row_kind_text(tl_batch_kind(batch, i)))));
    for (int32_t c = 0; c < batch->n_cols; c++) {
        char *text = NULL;
        if (!tl_col_is_null(batch->cols[c], i)) {
            TL_TRY(tl_printer__cell_text(batch->cols[c], i, &p->cell));
            text = tl_strndup((const char *)p->cell.data, p->cell.len);
            if (text == NULL)
                return TL_E_NOMEM;
        }
        TL_TRY(keep_cell(p, text));
    }
    return TL_OK;
}

tl_status tl_printer__table_print(tidelake_printer *p, const tl_batch *batch, tl_error *err)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        tl_status status = keep_row(p, batch, i);
        bool sample_full = p->n_cells >= (size_t)TABLE_SAMPLE_ROWS * (size_t)column_count(p);
        if (status == TL_OK && (sample_full || p->state != NULL))
            status = flush_rows(p);
        if (status != TL_OK)
            return tl_nomem(err, "output");
        p->rows_printed++;
        if (p->out.len >= PRINTER_FLUSH_BYTES)
            TL_TRY(tl_printer__flush(p, err));
    }
    /* A stream of changes must be seen as it comes: don't wait for the sample. */
    if (p->snapshots && flush_rows(p) != TL_OK)
        return tl_nomem(err, "output");
    return p->snapshots ? tl_printer__flush(p, err) : TL_OK;
}

tl_status tl_printer__table_finish(tidelake_printer *p, tl_error *err)
{
    tl_status status = flush_rows(p);
    table_state *state = p->state;
    if (status == TL_OK && !state->records)
        status = rule(&p->out, state->widths, column_count(p), "└", "┴", "┘");
    if (status == TL_OK)
        status = tl_buf_appendf(&p->out, "%lld row%s\n", (long long)p->rows_printed, p->rows_printed == 1 ? "" : "s");
    return status == TL_OK ? tl_printer__flush(p, err) : tl_nomem(err, "output");
}

void tl_printer__table_close(tidelake_printer *p)
{
    table_state *state = p->state;
    if (state == NULL)
        return;
    tl_free(state->widths);
    tl_free(state);
}
