/* Sinks: print (one line a row: +I[1, a]), blackhole, and files of JSON lines or CSV. */
#include "connect/connect_private.h"
#include "types/text.h"

/* ---- print ---- */

typedef struct print_sink {
    tl_sink base;
    FILE *file;
    const char *identifier; /* NULL: none */
    tl_buf line;
} print_sink;

static tl_status print_row(print_sink *s, const tl_batch *batch, int64_t i)
{
    s->line.len = 0;
    if (s->identifier != NULL)
        TL_TRY(tl_buf_appendf(&s->line, "%s> ", s->identifier));
    TL_TRY(tl_buf_appendf(&s->line, "%s[", tl_row_kind_text(tl_batch_kind(batch, i))));
    for (int32_t c = 0; c < batch->n_cols; c++) {
        if (c > 0)
            TL_TRY(tl_buf_append_str(&s->line, ", "));
        TL_TRY(tl_col_is_null(batch->cols[c], i) ? tl_buf_append_str(&s->line, "null") : tl_text_append_cast(&s->line, batch->cols[c], i));
    }
    return tl_buf_append_str(&s->line, "]\n");
}

static tl_status print_write(tl_sink *sink, const tl_batch *batch, tl_error *err)
{
    print_sink *s = (print_sink *)sink;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (print_row(s, batch, i) != TL_OK)
            return tl_nomem(err, "output");
        if (fwrite(s->line.data, 1, s->line.len, s->file) != s->line.len)
            return tl_error_set(err, TL_E_IO, "could not write the output");
    }
    return TL_OK;
}

static tl_status print_flush(tl_sink *sink, tl_error *err)
{
    return fflush(((print_sink *)sink)->file) == 0 ? TL_OK : tl_error_set(err, TL_E_IO, "could not write the output");
}

static void print_free(tl_sink *sink)
{
    tl_buf_deinit(&((print_sink *)sink)->line);
    tl_free(sink);
}

tl_status tl_connect__print_sink(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err)
{
    static const tl_sink_ops ops = {print_write, print_flush, print_free};
    print_sink *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "sink");
    const char *to_stderr = tl_options_get(spec->options, "standard-error");
    s->base.ops = &ops;
    s->file = to_stderr != NULL && strcmp(to_stderr, "true") == 0 ? stderr : out_file == NULL ? stdout : out_file;
    s->identifier = tl_options_get(spec->options, "print-identifier");
    *out = &s->base;
    return TL_OK;
}

/* ---- blackhole ---- */

static tl_status drop_write(tl_sink *sink, const tl_batch *batch, tl_error *err)
{
    (void)sink;
    (void)batch;
    (void)err;
    return TL_OK;
}

static tl_status drop_flush(tl_sink *sink, tl_error *err)
{
    (void)sink;
    (void)err;
    return TL_OK;
}

static void drop_free(tl_sink *sink)
{
    tl_free(sink);
}

tl_status tl_connect__blackhole_sink(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err)
{
    (void)spec;
    (void)out_file;
    static const tl_sink_ops ops = {drop_write, drop_flush, drop_free};
    tl_sink *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "sink");
    s->ops = &ops;
    *out = s;
    return TL_OK;
}

/* ---- files: each flush publishes one new file, whole ---- */

typedef struct files_sink {
    tl_sink base;
    tl_fs *fs;
    char *path;
    const tl_type *type;
    bool csv;
    uint8_t delimiter;
    tl_buf content;
    tl_buf cell;
    char uuid[37];
    int64_t counter;
} files_sink;

static tl_status append_csv(files_sink *s, const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return TL_OK;
    s->cell.len = 0;
    TL_TRY(tl_text_append_plain(&s->cell, col, i));
    bool quote = false;
    for (size_t k = 0; k < s->cell.len && !quote; k++)
        quote = s->cell.data[k] == s->delimiter || s->cell.data[k] == '"' || s->cell.data[k] == '\n' || s->cell.data[k] == '\r';
    if (!quote)
        return tl_buf_append(&s->content, s->cell.data, s->cell.len);
    TL_TRY(tl_buf_append_byte(&s->content, '"'));
    for (size_t k = 0; k < s->cell.len; k++) {
        if (s->cell.data[k] == '"')
            TL_TRY(tl_buf_append_byte(&s->content, '"'));
        TL_TRY(tl_buf_append_byte(&s->content, s->cell.data[k]));
    }
    return tl_buf_append_byte(&s->content, '"');
}

static tl_status append_row(files_sink *s, const tl_batch *batch, int64_t i)
{
    if (!s->csv)
        TL_TRY(tl_text_append_json_row(&s->content, batch, i, false, 0));
    for (int32_t c = 0; s->csv && c < batch->n_cols; c++) {
        if (c > 0)
            TL_TRY(tl_buf_append_byte(&s->content, s->delimiter));
        TL_TRY(append_csv(s, batch->cols[c], i));
    }
    return tl_buf_append_byte(&s->content, '\n');
}

static tl_status files_write(tl_sink *sink, const tl_batch *batch, tl_error *err)
{
    files_sink *s = (files_sink *)sink;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (tl_batch_kind(batch, i) != TL_KIND_INSERT)
            return tl_error_set(err, TL_E_INVALID, "files '%s' take only new rows, and this query also changes rows", s->path);
        if (append_row(s, batch, i) != TL_OK)
            return tl_nomem(err, "output");
    }
    return TL_OK;
}

static tl_status files_flush(tl_sink *sink, tl_error *err)
{
    files_sink *s = (files_sink *)sink;
    if (s->content.len == 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *path = tl_strf("%s/part-%s-%lld", s->path, s->uuid, (long long)s->counter++);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_publish(s->fs, path, (tl_bytes_view){s->content.data, s->content.len}, false, err));
    s->content.len = 0;
    return TL_OK;
}

static void files_free(tl_sink *sink)
{
    files_sink *s = (files_sink *)sink;
    tl_buf_deinit(&s->content);
    tl_buf_deinit(&s->cell);
    tl_free(s->path);
    tl_free(s);
}

tl_status tl_connect__files_sink(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err)
{
    (void)out_file;
    static const tl_sink_ops ops = {files_write, files_flush, files_free};
    const char *path = tl_options_get(spec->options, "path"), *format = tl_options_get(spec->options, "format");
    if (path == NULL || format == NULL || (strcmp(format, "json") != 0 && strcmp(format, "csv") != 0))
        return tl_error_set(err, TL_E_INVALID, "connector 'filesystem' writes with the options 'path' and 'format' = 'json' or 'csv'");
    files_sink *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "sink");
    const char *delimiter = tl_options_get(spec->options, "csv.field-delimiter");
    s->base.ops = &ops;
    s->fs = spec->fs;
    s->type = spec->row_type;
    s->csv = strcmp(format, "csv") == 0;
    s->delimiter = delimiter == NULL ? ',' : strcmp(delimiter, "\\t") == 0 ? '\t' : (uint8_t)delimiter[0];
    s->path = tl_path_of_uri(path);
    tl_uuid(s->uuid);
    if (s->path == NULL) {
        files_free(&s->base);
        return tl_nomem(err, "path");
    }
    *out = &s->base;
    return TL_OK;
}
