/* Sinks: print (one line a row: +I[1, a]) and blackhole. */
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
