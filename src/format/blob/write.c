/* Batches of one BLOB column as a blob file. Nothing of it is compressed and no statistics are made, as by the reference. */
#include "format/blob/blob_private.h"

/* Small values are put together into writes of about this size; a large one is written by itself. */
#define WRITE_BYTES (1 << 20)

typedef struct blob_writer {
    tl_file_writer base;
    tl_fs *fs; /* ref held */
    char *path;
    tl_file *file;
    bool created;
    bool finished;
    tl_buf pending; /* records not written yet */
    tl_buf index;
    int64_t length; /* of the record added last to the index */
    int64_t bytes;  /* of all records, pending ones included */
    int64_t rows;
} blob_writer;

static tl_status flush_pending(blob_writer *w, tl_error *err)
{
    if (w->pending.len > 0)
        TL_TRY(tl_file_write(w->file, w->pending.data, w->pending.len, err));
    w->pending.len = 0;
    return TL_OK;
}

static tl_status add_length(blob_writer *w, int64_t length, tl_error *err)
{
    uint8_t varint[10];
    size_t n = tl_varint_encode(tl_zigzag64(length - w->length), varint);
    w->length = length;
    return tl_buf_append(&w->index, varint, n) == TL_OK ? TL_OK : tl_nomem(err, "blob index");
}

static tl_status add_value(blob_writer *w, tl_bytes_view value, tl_error *err)
{
    uint8_t head[TL_BLOB__HEAD_BYTES], tail[TL_BLOB__TAIL_BYTES];
    int64_t length = (int64_t)value.len + TL_BLOB__FRAME_BYTES;
    tl_write_le32(head, TL_BLOB__MAGIC);
    tl_write_le64(tail, (uint64_t)length);
    uint32_t crc = tl_crc32(tl_crc32(tl_crc32(0, head, sizeof head), value.data, value.len), tail, 8);
    tl_write_le32(tail + 8, crc);
    tl_status status = tl_buf_append(&w->pending, head, sizeof head);
    if (status == TL_OK && value.len >= WRITE_BYTES) {
        TL_TRY(flush_pending(w, err));
        TL_TRY(tl_file_write(w->file, value.data, value.len, err));
    } else if (status == TL_OK) {
        status = tl_buf_append(&w->pending, value.data, value.len);
    }
    if (status != TL_OK || tl_buf_append(&w->pending, tail, sizeof tail) != TL_OK)
        return tl_nomem(err, "blob values");
    w->bytes += length;
    TL_TRY(add_length(w, length, err));
    return w->pending.len >= WRITE_BYTES ? flush_pending(w, err) : TL_OK;
}

static tl_status write_rows(blob_writer *w, const tl_batch *batch, tl_error *err)
{
    if (batch->n_cols != 1 || batch->cols[0]->phys != TL_PHYS_BYTES)
        return tl_error_set(err, TL_E_INTERNAL, "a blob file holds one column of bytes");
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (tl_col_is_null(batch->cols[0], i))
            TL_TRY(add_length(w, TL_BLOB__NULL, err));
        else
            TL_TRY(add_value(w, tl_col_bytes(batch->cols[0], i), err));
    }
    w->rows += batch->n_rows;
    return TL_OK;
}

static tl_status writer_write(tl_file_writer *writer, const tl_batch *batch, tl_error *err)
{
    blob_writer *w = (blob_writer *)writer;
    return tl_error_wrap(err, write_rows(w, batch, err), "file '%s'", tl_path_base(w->path));
}

/* Exact: records lie in the file as they are. The index does not count, as in the reference. */
static int64_t writer_bytes_estimate(tl_file_writer *writer)
{
    return ((const blob_writer *)writer)->bytes;
}

static int64_t writer_memory_bytes(tl_file_writer *writer)
{
    const blob_writer *w = (const blob_writer *)writer;
    return (int64_t)(w->pending.len + w->index.len);
}

static tl_status finish(blob_writer *w, tl_error *err)
{
    uint8_t end[TL_BLOB__END_BYTES];
    if (w->index.len > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "too many rows for one blob file");
    tl_write_le32(end, (uint32_t)w->index.len);
    end[4] = TL_BLOB__VERSION;
    if (tl_buf_append(&w->pending, w->index.data, w->index.len) != TL_OK || tl_buf_append(&w->pending, end, sizeof end) != TL_OK)
        return tl_nomem(err, "blob index");
    TL_TRY(flush_pending(w, err));
    TL_TRY(tl_file_finish(TL_STEAL(w->file), err));
    w->finished = true;
    return TL_OK;
}

static tl_status writer_finish(tl_file_writer *writer, tl_write_result *out, tl_error *err)
{
    blob_writer *w = (blob_writer *)writer;
    TL_TRY(tl_error_wrap(err, finish(w, err), "file '%s'", tl_path_base(w->path)));
    *out = (tl_write_result){.bytes = w->bytes + (int64_t)w->index.len + TL_BLOB__END_BYTES, .rows = w->rows};
    return TL_OK;
}

static void writer_free(tl_file_writer *writer)
{
    blob_writer *w = (blob_writer *)writer;
    if (w == NULL)
        return;
    if (w->file != NULL)
        (void)tl_file_close(w->file, NULL); /* thrown away */
    if (w->created && !w->finished)
        (void)tl_fs_remove(w->fs, w->path, NULL); /* best effort: an orphan is harmless */
    tl_buf_deinit(&w->pending);
    tl_buf_deinit(&w->index);
    tl_free(w->path);
    if (w->fs != NULL)
        tl_fs_unref(w->fs);
    tl_free(w);
}

static const tl_file_writer_ops writer_ops = {
    .write = writer_write,
    .bytes_estimate = writer_bytes_estimate,
    .memory_bytes = writer_memory_bytes,
    .finish = writer_finish,
    .free = writer_free,
};

tl_status tl_blob__create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    if (spec->row_type->n_fields != 1 || spec->row_type->fields[0].type->kind != TL_BLOB)
        return tl_error_set(err, TL_E_INVALID, "file '%s': a blob file holds one column of type BLOB", tl_path_base(path));
    blob_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "blob writer");
    w->base.ops = &writer_ops;
    w->fs = tl_fs_ref(fs);
    tl_status status = (w->path = tl_strdup(path)) == NULL ? tl_nomem(err, "blob writer") : tl_fs_create(fs, path, &w->file, err);
    w->created = status == TL_OK;
    if (status != TL_OK) {
        writer_free(&w->base);
        return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
    }
    *out = &w->base;
    return TL_OK;
}
