/*
 * A table for eyes: columns as wide as their widest cell, numbers to the right, NULL told apart from text. Widths need all
 * rows, so they are taken from the first TABLE_SAMPLE_ROWS and later rows follow them.
 */
#include <wchar.h>

#include "api/printer_private.h"

#define TABLE_SAMPLE_ROWS 1000
#define CELL_WIDTH_MAX 60

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

/* One code point of valid UTF-8; bytes that are none count as one column each. */
static uint32_t decode(const char **p)
{
    const uint8_t *s = (const uint8_t *)*p;
    int more = s[0] < 0x80 ? 0 : (s[0] & 0xe0) == 0xc0 ? 1 : (s[0] & 0xf0) == 0xe0 ? 2 : (s[0] & 0xf8) == 0xf0 ? 3 : 0;
    uint32_t cp = more == 0 ? s[0] : s[0] & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *p += 1;
            return '?';
        }
        cp = cp << 6 | (s[i] & 0x3f);
    }
    *p += more + 1;
    return cp;
}

static int width_of_code_point(uint32_t cp)
{
    if (cp < 0x300)
        return 1;
    if ((cp >= 0x300 && cp < 0x370) || (cp >= 0x200b && cp <= 0x200f) || (cp >= 0xfe00 && cp <= 0xfe0f))
        return 0; /* combining marks, joiners, variation selectors */
    bool wide = (cp >= 0x1100 && cp <= 0x115f) || (cp >= 0x2e80 && cp <= 0xa4cf) || (cp >= 0xac00 && cp <= 0xd7a3) ||
                (cp >= 0xf900 && cp <= 0xfaff) || (cp >= 0xfe30 && cp <= 0xfe6f) || (cp >= 0xff00 && cp <= 0xff60) ||
                (cp >= 0x1f300 && cp <= 0x1faff) || (cp >= 0x20000 && cp <= 0x3fffd);
    return wide ? 2 : 1;
}

static int width_of(const char *text)
{
    int width = 0;
    while (*text != '\0')
        width += width_of_code_point(decode(&text));
    return width;
}

/* Append `text` padded to `width`, cut with "…" if it is longer; control characters become spaces. */
static tl_status append_padded(tl_buf *out, const char *text, int width, bool right)
{
    int full = width_of(text);
    for (int i = full; right && i < width; i++)
        TL_TRY(tl_buf_append_byte(out, ' '));
    int used = 0;
    while (*text != '\0') {
        const char *from = text;
        uint32_t cp = decode(&text);
        int w = width_of_code_point(cp);
        if (full > width && used + w > width - 1) {
            TL_TRY(tl_buf_append_str(out, "…"));
            used++;
            break;
        }
        if (cp < 0x20 || cp == 0x7f)
            TL_TRY(tl_buf_append_byte(out, ' '));
        else
            TL_TRY(tl_buf_append(out, from, (size_t)(text - from)));
        used += w;
    }
    for (; !right && used < width; used++)
        TL_TRY(tl_buf_append_byte(out, ' '));
    return TL_OK;
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

/* Shrink the widest columns until the table fits the terminal, down to eight characters each. */
static void fit(int *widths, int32_t n, int64_t max_width)
{
    for (int32_t c = 0; c < n; c++)
        widths[c] = TL_MIN(widths[c], CELL_WIDTH_MAX);
    while (max_width > 0) {
        int64_t total = 1;
        int32_t widest = 0;
        for (int32_t c = 0; c < n; c++) {
            total += widths[c] + 3;
            widest = widths[c] > widths[widest] ? c : widest;
        }
        if (total <= max_width || widths[widest] <= 8)
            return;
        widths[widest]--;
    }
}

static tl_status print_rows(tidelake_printer *p, const int *widths)
{
    int32_t n = column_count(p);
    for (size_t i = 0; i < p->n_cells; i++) {
        int32_t c = (int32_t)(i % (size_t)n);
        const char *cell = p->cells[i] == NULL ? "NULL" : p->cells[i];
        TL_TRY(tl_buf_append_str(&p->out, "│ "));
        TL_TRY(append_padded(&p->out, cell, widths[c], is_number(p, c) && p->cells[i] != NULL));
        TL_TRY(tl_buf_append_str(&p->out, c == n - 1 ? " │\n" : " "));
        tl_free(p->cells[i]);
        p->cells[i] = NULL;
    }
    p->n_cells = 0;
    return TL_OK;
}

/* The head of the table, once the sample is there; then rows as they come. */
static tl_status flush_rows(tidelake_printer *p)
{
    int32_t n = column_count(p);
    int *widths = p->state;
    if (widths == NULL) {
        widths = p->state = tl_calloc((size_t)n + 1, sizeof *widths);
        if (widths == NULL)
            return TL_E_NOMEM;
        for (int32_t c = 0; c < n; c++)
            widths[c] = width_of(column_name(p, c));
        for (size_t i = 0; i < p->n_cells; i++) {
            int w = p->cells[i] == NULL ? 4 : width_of(p->cells[i]);
            int32_t c = (int32_t)(i % (size_t)n);
            widths[c] = TL_MAX(widths[c], w);
        }
        fit(widths, n, p->max_width);
        TL_TRY(rule(&p->out, widths, n, "┌", "┬", "┐"));
        for (int32_t c = 0; c < n; c++) {
            TL_TRY(tl_buf_append_str(&p->out, "│ "));
            TL_TRY(append_padded(&p->out, column_name(p, c), widths[c], is_number(p, c)));
            TL_TRY(tl_buf_append_str(&p->out, c == n - 1 ? " │\n" : " "));
        }
        TL_TRY(rule(&p->out, widths, n, "├", "┼", "┤"));
    }
    return print_rows(p, widths);
}

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
            p->cell.len = 0;
            TL_TRY(tl_text_append_plain(&p->cell, batch->cols[c], i));
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
    if (p->snapshots && (flush_rows(p) != TL_OK))
        return tl_nomem(err, "output");
    return p->snapshots ? tl_printer__flush(p, err) : TL_OK;
}

tl_status tl_printer__table_finish(tidelake_printer *p, tl_error *err)
{
    if (flush_rows(p) != TL_OK || rule(&p->out, p->state, column_count(p), "└", "┴", "┘") != TL_OK ||
        tl_buf_appendf(&p->out, "%lld row%s\n", (long long)p->rows_printed, p->rows_printed == 1 ? "" : "s") != TL_OK)
        return tl_nomem(err, "output");
    return tl_printer__flush(p, err);
}

void tl_printer__table_close(tidelake_printer *p)
{
    tl_free(p->state);
}
