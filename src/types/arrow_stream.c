/*
 * Readers as Arrow streams and back.
 */
#include <errno.h>

#include "types/arrow_private.h"

/* ---- export ---- */

typedef struct stream_private {
    tl_reader *reader;
    tl_error error;
} stream_private;

static int errno_of(tl_status status)
{
    switch (status) {
    case TL_OK:
        return 0;
    case TL_E_NOMEM:
        return ENOMEM;
    case TL_E_INVALID:
        return EINVAL;
    case TL_E_UNSUPPORTED:
        return ENOSYS;
    default:
        return EIO;
    }
}

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    stream_private *own = stream->private_data;
    return errno_of(tl_arrow_export_schema(own->reader->type, out, &own->error));
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    stream_private *own = stream->private_data;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    tl_status status = tl_reader_next(own->reader, &batch, &own->error);
    if (status == TL_OK && batch == NULL)
        *out = (struct ArrowArray){0}; /* a released array is the end */
    else if (status == TL_OK)
        status = tl_arrow_export_batch(batch, out, &own->error);
    return errno_of(status);
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream)
{
    stream_private *own = stream->private_data;
    return own->error.message[0] == '\0' ? NULL : own->error.message;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    stream_private *own = stream->private_data;
    tl_reader_free(own->reader);
    tl_free(own);
    stream->release = NULL;
}

tl_status tl_arrow_export_stream(tl_reader *reader, struct ArrowArrayStream *out, tl_error *err)
{
    stream_private *own = tl_calloc(1, sizeof *own);
    if (own == NULL) {
        tl_reader_free(reader);
        return tl_nomem(err, "Arrow stream");
    }
    own->reader = reader;
    *out = (struct ArrowArrayStream){
        .get_schema = stream_get_schema,
        .get_next = stream_get_next,
        .get_last_error = stream_get_last_error,
        .release = stream_release,
        .private_data = own,
    };
    return TL_OK;
}

/* ---- import ---- */

typedef struct stream_reader {
    tl_reader base;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    tl_batch *batch; /* a large one, handed out in slices */
    int64_t pos;
} stream_reader;

static tl_status stream_failed(struct ArrowArrayStream *stream, int code, tl_error *err)
{
    const char *message = stream->get_last_error == NULL ? NULL : stream->get_last_error(stream);
    return tl_error_set(err, code == ENOMEM ? TL_E_NOMEM : TL_E_IO, "Arrow stream: %s (error %d)",
                        message == NULL ? "failed without a message" : message, code);
}

static tl_status read_array(stream_reader *r, tl_batch **out, tl_error *err)
{
    struct ArrowArray array = {0};
    int code = r->stream.get_next(&r->stream, &array);
    if (code != 0)
        return stream_failed(&r->stream, code, err);
    if (array.release == NULL) {
        *out = NULL;
        return TL_OK;
    }
    return tl_arrow_import_batch(&array, &r->schema, r->base.type, out, err);
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    stream_reader *r = (stream_reader *)reader;
    if (r->batch == NULL) {
        TL_TRY(read_array(r, &r->batch, err));
        r->pos = 0;
    }
    if (r->batch == NULL || r->batch->n_rows <= TL_BATCH_ROWS) {
        *out = TL_STEAL(r->batch);
        return TL_OK;
    }
    int64_t n = TL_MIN(r->batch->n_rows - r->pos, TL_BATCH_ROWS);
    TL_TRY(tl_batch_slice(r->batch, r->pos, n, out, err));
    r->pos += n;
    if (r->pos == r->batch->n_rows) {
        tl_batch_free(r->batch);
        r->batch = NULL;
    }
    return TL_OK;
}

static void reader_free(tl_reader *reader)
{
    stream_reader *r = (stream_reader *)reader;
    tl_batch_free(r->batch);
    if (r->schema.release != NULL)
        r->schema.release(&r->schema);
    if (r->stream.release != NULL)
        r->stream.release(&r->stream);
    tl_type_unref(r->base.type);
    tl_free(r);
}

tl_status tl_arrow_import_stream(struct ArrowArrayStream *stream, const tl_type *row_type, tl_reader **out, tl_error *err)
{
    static const tl_reader_ops ops = {reader_next, reader_free};
    if (stream == NULL || stream->release == NULL)
        return tl_error_set(err, TL_E_INVALID, "Arrow stream is missing or was released");
    stream_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL) {
        stream->release(stream);
        return tl_nomem(err, "Arrow stream");
    }
    r->base.ops = &ops;
    r->stream = *stream;
    stream->release = NULL;
    int code = r->stream.get_schema(&r->stream, &r->schema);
    tl_status status = code != 0 ? stream_failed(&r->stream, code, err) : TL_OK;
    if (status == TL_OK && row_type != NULL)
        r->base.type = tl_type_ref(row_type);
    else if (status == TL_OK)
        status = tl_arrow_import_schema(&r->schema, &r->base.type, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return status;
    }
    *out = &r->base;
    return TL_OK;
}
