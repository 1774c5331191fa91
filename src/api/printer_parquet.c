/*
 * Rows as one Parquet file. The format's writer wants a file system: it gets one whose only file is the printer's output.
 * A Parquet file is written from front to back, so it can go to a pipe, too.
 */
#include "api/printer_private.h"

#include "format/format.h"

typedef struct parquet_state {
    tl_fs fs; /* first: what the file system's functions get */
    tidelake_printer *printer;
    const tl_type *shown; /* of the rows */
    const tl_type *type;  /* of the file */
    tl_file_writer *writer;
} parquet_state;

/* ---- the output as a file ---- */

static tl_status output_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    tl_file *file = tl_calloc(1, sizeof *file);
    char *copy = tl_strdup(path);
    if (file == NULL || copy == NULL) {
        tl_free(file);
        tl_free(copy);
        return tl_nomem(err, "output");
    }
    *file = (tl_file){fs, copy};
    *out = file;
    return TL_OK;
}

static tl_status output_write(tl_file *file, const void *data, size_t bytes, tl_error *err)
{
    tidelake_printer *p = ((parquet_state *)file->fs)->printer;
    int rc = p->write(p->ctx, data, bytes);
    return rc == 0 ? TL_OK : tl_error_errno(err, rc, "could not write the output");
}

/* Whoever owns the output decides when it is durable. */
static tl_status output_sync(tl_file *file, tl_error *err)
{
    (void)file;
    (void)err;
    return TL_OK;
}

static tl_status output_close(tl_file *file, tl_error *err)
{
    (void)err;
    tl_free(file->path);
    tl_free(file);
    return TL_OK;
}

/* A writer that failed removes its file; what has been written to a pipe cannot be taken back. */
static tl_status output_remove(tl_fs *fs, const char *path, tl_error *err)
{
    (void)fs;
    (void)path;
    (void)err;
    return TL_OK;
}

static void output_free(tl_fs *fs)
{
    (void)fs; /* part of parquet_state */
}

static const tl_fs_ops output_ops = {.free = output_free,
                                     .create = output_create,
                                     .write = output_write,
                                     .sync = output_sync,
                                     .close = output_close,
                                     .remove = output_remove};

/* ---- the format ---- */

tl_status tl_printer__parquet_start(tidelake_printer *p, tl_error *err)
{
    parquet_state *state = p->state = tl_calloc(1, sizeof *state);
    if (state == NULL)
        return tl_nomem(err, "printer");
    state->fs = (tl_fs){.ops = &output_ops, .refs = 1};
    state->printer = p;
    TL_TRY(tl_printer__full_type(p, &state->shown, err));
    TL_TRY(tl_type_vectors_as_arrays(state->shown, &state->type, err)); /* Parquet has lists of any length only */
    int32_t *ids = tl_alloc(sizeof *ids * ((size_t)state->type->n_fields + 1));
    if (ids == NULL)
        return tl_nomem(err, "printer");
    for (int32_t c = 0; c < state->type->n_fields; c++)
        ids[c] = c;
    const tl_options none = {0};
    const tl_write_spec spec = {
        .row_type = state->type, .field_ids = ids, .compression = "zstd", .compression_level = 1, .options = &none};
    tl_status status = tl_format_parquet.create(&state->fs, "output", &spec, &state->writer, err);
    tl_free(ids);
    return status;
}

tl_status tl_printer__parquet_print(tidelake_printer *p, const tl_batch *batch, tl_error *err)
{
    parquet_state *state = p->state;
    TL_CLEANUP(tl_batch_freep) tl_batch *full = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *file = NULL;
    TL_TRY(tl_printer__full_batch(p, state->shown, batch, &full, err));
    TL_TRY(tl_batch_create(state->type, full->n_rows, &file, err));
    for (int32_t c = 0; c < full->n_cols; c++)
        TL_TRY(tl_column_retype(full->cols[c], state->type->fields[c].type, &file->cols[c], err));
    return state->writer->ops->write(state->writer, file, err);
}

tl_status tl_printer__parquet_finish(tidelake_printer *p, tl_error *err)
{
    parquet_state *state = p->state;
    tl_write_result result = {0};
    tl_status status = state->writer->ops->finish(state->writer, &result, err);
    tl_write_result_deinit(&result);
    return status;
}

void tl_printer__parquet_close(tidelake_printer *p)
{
    parquet_state *state = p->state;
    if (state == NULL)
        return;
    if (state->writer != NULL)
        state->writer->ops->free(state->writer);
    tl_type_unref(state->shown);
    tl_type_unref(state->type);
    tl_free(state);
}
