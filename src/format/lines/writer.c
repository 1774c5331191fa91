/* Batches as a file of lines. The name says how it is compressed. */
#include <strings.h>

#include "format/gathered_stats.h"
#include "format/lines/lines_private.h"

/* Text is compressed and written in pieces of this size; deflate and bzip2 in one, as their readers want one stream. */
#define PIECE_BYTES ((size_t)4 << 20)
#define ONE_STREAM_MAX ((size_t)2000 << 20)

typedef struct lines_writer {
    tl_file_writer base;
    tl_lines_kind kind;
    tl_lines_options options;
    const tl_type *type;
    tl_fs *fs; /* ref held */
    char *path;
    tl_file *file;
    tl_codec codec;
    tl_compressor *compressor;
    tl_buf plain, packed, scratch;
    tl_gathered_stats stats;
    bool with_stats;
    bool finished;
    int64_t rows;
    int64_t bytes;       /* written */
    int64_t plain_bytes; /* that they stand for */
} lines_writer;

static tl_status write_piece(lines_writer *w, tl_error *err)
{
    const tl_buf *from = &w->plain;
    if (w->codec != TL_CODEC_NONE) {
        w->packed.len = 0;
        TL_TRY(tl_compress(w->compressor, (tl_bytes_view){w->plain.data, w->plain.len}, &w->packed, err));
        from = &w->packed;
    }
    if (from->len > 0)
        TL_TRY(tl_file_write(w->file, from->data, from->len, err));
    w->bytes += (int64_t)from->len;
    w->plain_bytes += (int64_t)w->plain.len;
    w->plain.len = 0;
    return TL_OK;
}

static tl_status write_if_full(lines_writer *w, tl_error *err)
{
    bool one_stream = w->codec == TL_CODEC_ZLIB || w->codec == TL_CODEC_BZIP2;
    if (one_stream && w->plain.len > ONE_STREAM_MAX)
        return tl_error_set(err, TL_E_LIMIT, "more than %zu MB of text in one compressed file: set a smaller 'target-file-size'",
                            ONE_STREAM_MAX >> 20);
    return !one_stream && w->plain.len >= PIECE_BYTES ? write_piece(w, err) : TL_OK;
}

static tl_status print_row(lines_writer *w, const tl_batch *batch, int64_t i)
{
    if (w->kind == TL_LINES_CSV)
        return tl_lines__print_csv(&w->plain, &w->scratch, &w->options, batch, i);
    if (w->kind == TL_LINES_JSON)
        return tl_lines__print_json(&w->plain, &w->scratch, &w->options, batch, i);
    if (!tl_col_is_null(batch->cols[0], i))
        TL_TRY(tl_lines__append_value(&w->plain, batch->cols[0], i));
    return tl_buf_append_str(&w->plain, w->options.line_delimiter);
}

static tl_status write_rows(lines_writer *w, const tl_batch *batch, tl_error *err)
{
    if (w->rows == 0 && batch->n_rows > 0 && w->options.header && tl_lines__print_csv_header(&w->plain, &w->options, w->type) != TL_OK)
        return tl_nomem(err, "line");
    for (int64_t i = 0; i < batch->n_rows; i++) {
        tl_status status = print_row(w, batch, i);
        if (status == TL_E_INVALID)
            return tl_error_set(err, status, "row %lld has NULL as a key of a map, which JSON cannot have", (long long)(w->rows + i));
        if (status != TL_OK)
            return tl_nomem(err, "line");
        TL_TRY(write_if_full(w, err));
    }
    return w->with_stats ? tl_format__gathered_add(&w->stats, batch, err) : TL_OK;
}

static tl_status writer_write(tl_file_writer *writer, const tl_batch *batch, tl_error *err)
{
    lines_writer *w = (lines_writer *)writer;
    if (batch->n_cols != w->type->n_fields)
        return tl_error_set(err, TL_E_INTERNAL, "a batch of %d columns for a file of %d", batch->n_cols, w->type->n_fields);
    TL_TRY(tl_error_wrap(err, write_rows(w, batch, err), "file '%s'", tl_path_base(w->path)));
    w->rows += batch->n_rows;
    return TL_OK;
}

/* What is not compressed yet counts as what it will probably shrink to. */
static int64_t writer_bytes_estimate(tl_file_writer *writer)
{
    const lines_writer *w = (const lines_writer *)writer;
    double ratio = w->plain_bytes > 0 ? (double)w->bytes / (double)w->plain_bytes : 1;
    return w->bytes + (int64_t)((double)w->plain.len * TL_MIN(ratio, 1.0));
}

static tl_status writer_finish(tl_file_writer *writer, tl_write_result *out, tl_error *err)
{
    lines_writer *w = (lines_writer *)writer;
    if (w->plain.len > 0)
        TL_TRY(tl_error_wrap(err, write_piece(w, err), "file '%s'", tl_path_base(w->path)));
    TL_TRY(tl_file_finish(TL_STEAL(w->file), err));
    w->finished = true;
    *out = (tl_write_result){.bytes = w->bytes, .rows = w->rows};
    if (w->with_stats)
        tl_format__gathered_take(&w->stats, out);
    return TL_OK;
}

static void writer_free(tl_file_writer *writer)
{
    lines_writer *w = (lines_writer *)writer;
    bool created = w->file != NULL || w->bytes > 0;
    if (w->file != NULL)
        (void)tl_file_close(w->file, NULL); /* thrown away */
    if (created && !w->finished)
        (void)tl_fs_remove(w->fs, w->path, NULL); /* best effort: an orphan is harmless */
    tl_compressor_free(w->compressor);
    tl_buf_deinit(&w->plain);
    tl_buf_deinit(&w->packed);
    tl_buf_deinit(&w->scratch);
    tl_format__gathered_deinit(&w->stats);
    tl_type_unref(w->type);
    tl_free(w->path);
    tl_fs_unref(w->fs);
    tl_free(w);
}

static const tl_file_writer_ops writer_ops = {
    .write = writer_write,
    .bytes_estimate = writer_bytes_estimate,
    .finish = writer_finish,
    .free = writer_free,
};

static tl_status prepare(lines_writer *w, const char *path, const tl_write_spec *spec, tl_error *err)
{
    static const tl_format *const formats[] = {&tl_format_csv, &tl_format_json, &tl_format_text};
    if ((w->path = tl_strdup(path)) == NULL)
        return tl_nomem(err, "writer of lines");
    TL_TRY(tl_lines_check_type(formats[w->kind], w->type, err));
    TL_TRY(tl_lines__options(w->kind, spec->options, &w->options, err));
    TL_TRY(tl_lines__codec(path, &w->codec, err));
    const char *asked = spec->compression == NULL ? "" : spec->compression;
    if (w->codec == TL_CODEC_NONE && w->kind != TL_LINES_TEXT && asked[0] != 0 && strcasecmp(asked, "none") != 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "files of lines are compressed with gzip, zstd, bzip2 or deflate, not with '%s'", asked);
    if (w->codec != TL_CODEC_NONE)
        TL_TRY(tl_compressor_create(w->codec, w->codec == TL_CODEC_ZSTD ? spec->compression_level : 0, &w->compressor, err));
    if (w->with_stats)
        TL_TRY(tl_format__gathered_init(&w->stats, w->type->n_fields, err));
    return tl_fs_create(w->fs, path, &w->file, err);
}

tl_status tl_lines__writer_create(tl_lines_kind kind, tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    lines_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "writer of lines");
    w->base.ops = &writer_ops;
    w->kind = kind;
    w->type = tl_type_ref(spec->row_type);
    w->fs = tl_fs_ref(fs);
    w->with_stats = spec->with_stats;
    tl_status status = prepare(w, path, spec, err);
    if (status != TL_OK) {
        writer_free(&w->base);
        return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
    }
    *out = &w->base;
    return TL_OK;
}
