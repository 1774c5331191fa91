/* The printer, with JSON lines and CSV; the other formats have files of their own: printer_table.c, _arrow.c, _parquet.c. */
#include "api/printer_private.h"

#include <stdlib.h>

#define JSONL_PIECE_ROWS 512 /* between looks at the size of what is kept back */

tl_status tl_printer__flush(tidelake_printer *p, tl_error *err)
{
    if (p->out.len == 0)
        return TL_OK;
    int rc = p->write(p->ctx, p->out.data, p->out.len);
    p->out.len = 0;
    return rc == 0 ? TL_OK : tl_error_errno(err, rc, "could not write the output");
}

static tl_status flush_if_large(tidelake_printer *p, tl_error *err)
{
    return p->out.len < PRINTER_FLUSH_BYTES ? TL_OK : tl_printer__flush(p, err);
}

/* ---- JSON lines ---- */

/* Replace every occurrence of p->replace in the bytes of `buf` from `from` on. */
static tl_status replace_text(const tidelake_printer *p, tl_buf *buf, size_t from)
{
    size_t what = strlen(p->replace);
    if (what == 0)
        return TL_OK;
    tl_buf result = {0};
    size_t at = from;
    tl_status status = TL_OK;
    for (;;) {
        uint8_t *hit = buf->len - at < what ? NULL : memmem(buf->data + at, buf->len - at, p->replace, what);
        if (hit == NULL)
            break;
        status = tl_buf_append(&result, buf->data + at, (size_t)(hit - buf->data) - at);
        if (status == TL_OK)
            status = tl_buf_append_str(&result, p->replacement);
        if (status != TL_OK)
            break;
        at = (size_t)(hit - buf->data) + what;
    }
    if (status == TL_OK && at > from) {
        status = tl_buf_append(&result, buf->data + at, buf->len - at);
        if (status == TL_OK) {
            buf->len = from;
            status = tl_buf_append(buf, result.data, result.len);
        }
    }
    tl_buf_deinit(&result);
    return status;
}

/* Remember where the lines from `from` on stand. */
static tl_status keep_lines(tidelake_printer *p, size_t from)
{
    while (from < p->out.len) {
        if (p->n_lines == p->cap_lines) {
            size_t cap = p->cap_lines == 0 ? 1024 : p->cap_lines * 2;
            printer_line *lines = tl_realloc(p->lines, cap * sizeof *lines);
            if (lines == NULL)
                return TL_E_NOMEM;
            p->lines = lines;
            p->cap_lines = cap;
        }
        const uint8_t *end = memchr(p->out.data + from, '\n', p->out.len - from);
        size_t len = (size_t)(end - p->out.data) - from;
        p->lines[p->n_lines++] = (printer_line){from, len};
        from += len + 1;
    }
    return TL_OK;
}

static tl_status print_jsonl(tidelake_printer *p, const tl_batch *batch, tl_error *err)
{
    for (int64_t i = 0; i < batch->n_rows; i += JSONL_PIECE_ROWS) {
        size_t from = p->out.len;
        tl_status status =
            tl_text_append_json_lines(&p->out, batch, i, TL_MIN(JSONL_PIECE_ROWS, batch->n_rows - i), p->kinds, p->snapshots);
        if (status == TL_OK && p->replace != NULL)
            status = replace_text(p, &p->out, from);
        if (status == TL_OK && p->sorted)
            status = keep_lines(p, from);
        TL_TRY(tl_text_append_error(status, err));
        if (!p->sorted)
            TL_TRY(flush_if_large(p, err));
    }
    /* A stream of changes must be seen as it comes. */
    return p->snapshots ? tl_printer__flush(p, err) : TL_OK;
}

static int compare_lines(const void *a, const void *b, void *ctx)
{
    const printer_line *x = a, *y = b;
    const uint8_t *base = ctx;
    return tl_bytes_compare((tl_bytes_view){base + x->from, x->len}, (tl_bytes_view){base + y->from, y->len});
}

static tl_status finish_sorted(tidelake_printer *p, tl_error *err)
{
    tl_buf all = p->out;
    p->out = (tl_buf){0};
    if (p->n_lines > 0)
        qsort_r(p->lines, p->n_lines, sizeof *p->lines, compare_lines, all.data);
    tl_status status = TL_OK;
    for (size_t i = 0; i < p->n_lines && status == TL_OK; i++) {
        if (tl_buf_append(&p->out, all.data + p->lines[i].from, p->lines[i].len + 1) != TL_OK)
            status = tl_nomem(err, "output");
        else
            status = flush_if_large(p, err);
    }
    tl_buf_deinit(&all);
    return status;
}

static tl_status finish_jsonl(tidelake_printer *p, tl_error *err)
{
    if (p->sorted)
        TL_TRY(finish_sorted(p, err));
    return tl_printer__flush(p, err);
}

/* ---- CSV ---- */

static tl_status append_csv_cell(tl_buf *out, tl_bytes_view cell, bool is_null)
{
    bool quote = !is_null && cell.len == 0;
    for (size_t i = 0; i < cell.len && !quote; i++)
        quote = cell.data[i] == ',' || cell.data[i] == '"' || cell.data[i] == '\n' || cell.data[i] == '\r';
    if (!quote)
        return tl_buf_append(out, cell.data, cell.len);
    TL_TRY(tl_buf_append_byte(out, '"'));
    for (size_t i = 0; i < cell.len; i++) {
        if (cell.data[i] == '"')
            TL_TRY(tl_buf_append_byte(out, '"'));
        TL_TRY(tl_buf_append_byte(out, cell.data[i]));
    }
    return tl_buf_append_byte(out, '"');
}

static tl_bytes_view text_view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

static tl_status csv_header(tidelake_printer *p)
{
    bool first = true;
    if (p->snapshots) {
        TL_TRY(tl_buf_append_str(&p->out, "_snapshot"));
        first = false;
    }
    if (p->kinds) {
        TL_TRY(tl_buf_append_str(&p->out, first ? "_kind" : ",_kind"));
        first = false;
    }
    for (int32_t c = 0; c < p->type->n_fields; c++) {
        if (!first)
            TL_TRY(tl_buf_append_byte(&p->out, ','));
        first = false;
        TL_TRY(append_csv_cell(&p->out, text_view(p->type->fields[c].name), false));
    }
    return tl_buf_append_byte(&p->out, '\n');
}

static tl_status csv_row(tidelake_printer *p, const tl_batch *batch, int64_t i)
{
    bool first = true;
    if (p->snapshots) {
        TL_TRY(tl_buf_appendf(&p->out, "%lld", (long long)batch->snapshot));
        first = false;
    }
    if (p->kinds) {
        TL_TRY(tl_buf_appendf(&p->out, "%s%s", first ? "" : ",", tl_row_kind_text(tl_batch_kind(batch, i))));
        first = false;
    }
    for (int32_t c = 0; c < batch->n_cols; c++) {
        if (!first)
            TL_TRY(tl_buf_append_byte(&p->out, ','));
        first = false;
        p->cell.len = 0;
        TL_TRY(tl_text_append_plain(&p->cell, batch->cols[c], i));
        TL_TRY(append_csv_cell(&p->out, (tl_bytes_view){p->cell.data, p->cell.len}, tl_col_is_null(batch->cols[c], i)));
    }
    return tl_buf_append_byte(&p->out, '\n');
}

static tl_status print_csv(tidelake_printer *p, const tl_batch *batch, tl_error *err)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (csv_row(p, batch, i) != TL_OK)
            return tl_nomem(err, "output");
        TL_TRY(flush_if_large(p, err));
    }
    return p->snapshots ? tl_printer__flush(p, err) : TL_OK;
}

static tl_status start_csv(tidelake_printer *p, tl_error *err)
{
    return csv_header(p) == TL_OK ? TL_OK : tl_nomem(err, "output");
}

static tl_status finish_text(tidelake_printer *p, tl_error *err)
{
    return tl_printer__flush(p, err);
}

/* ---- the printer ---- */

static const printer_format formats[] = {
    {"jsonl", NULL, print_jsonl, finish_jsonl, NULL},
    {"csv", start_csv, print_csv, finish_text, NULL},
    {"table", NULL, tl_printer__table_print, tl_printer__table_finish, tl_printer__table_close},
    {"arrow", tl_printer__arrow_start, tl_printer__arrow_print, tl_printer__arrow_finish, tl_printer__arrow_close},
    {"parquet", tl_printer__parquet_start, tl_printer__parquet_print, tl_printer__parquet_finish, tl_printer__parquet_close},
};

static tl_status find_format(const char *name, const printer_format **out, tl_error *err)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(formats); i++) {
        if (strcmp(name, formats[i].name) == 0) {
            *out = &formats[i];
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "unknown format '%s'; give jsonl, csv, table, arrow or parquet", name);
}

tl_status tidelake_printer_open(tidelake_rows *rows, const tidelake_printer_options *options, tidelake_write_fn write,
                                void *ctx, tidelake_printer **out, tl_error *err)
{
    const printer_format *format;
    TL_TRY(find_format(TL_API_HAS(options, format) && options->format != NULL ? options->format : "jsonl", &format, err));
    tidelake_printer *p = tl_calloc(1, sizeof *p);
    if (p == NULL)
        return tl_nomem(err, "printer");
    p->format = format;
    p->type = tl_type_ref(rows->type);
    p->write = write;
    p->ctx = ctx;
    p->kinds = TL_API_HAS(options, kinds) && options->kinds != 0;
    p->snapshots = TL_API_HAS(options, snapshots) && options->snapshots != 0;
    p->sorted = TL_API_HAS(options, sorted) && options->sorted != 0;
    p->colors = TL_API_HAS(options, colors) && options->colors != 0;
    p->max_width = TL_API_HAS(options, max_width) ? options->max_width : 0;
    tl_status status = TL_OK;
    if (TL_API_HAS(options, replacement) && options->replace != NULL) {
        p->replace = tl_strdup(options->replace);
        p->replacement = tl_strdup(options->replacement == NULL ? "" : options->replacement);
        if (p->replace == NULL || p->replacement == NULL)
            status = tl_nomem(err, "printer");
    }
    if (status == TL_OK && format->start != NULL)
        status = format->start(p, err);
    if (status != TL_OK) {
        tidelake_printer_close(p);
        return status;
    }
    *out = p;
    return TL_OK;
}

tl_status tidelake_printer_print(tidelake_printer *p, const tidelake_batch *batch, tl_error *err)
{
    return p->format->print(p, batch->batch, err);
}

tl_status tidelake_printer_finish(tidelake_printer *p, tl_error *err)
{
    return p->format->finish(p, err);
}

void tidelake_printer_close(tidelake_printer *p)
{
    if (p == NULL)
        return;
    if (p->format->close != NULL)
        p->format->close(p);
    for (size_t i = 0; i < p->n_cells; i++)
        tl_free(p->cells[i]);
    tl_free(p->cells);
    tl_free(p->lines);
    tl_buf_deinit(&p->out);
    tl_buf_deinit(&p->cell);
    tl_free(p->replace);
    tl_free(p->replacement);
    tl_type_unref(p->type);
    tl_free(p);
}
