/* Structs as records of a new container file. Arrays are one block, as the reference writes them. */
#include "format/avro/avro_private.h"

struct tl_avro_writer {
    const tl_avro_record *record;
    tl_avro_out out;
};

static tl_status put_record(tl_buf *buf, const tl_avro_record *record, const void *in);

static tl_status put_longs(tl_buf *buf, const tl_avro_longs *v, bool nullable_items)
{
    if (v->n > 0)
        TL_TRY(tl_avro__put_long(buf, v->n));
    for (int32_t i = 0; i < v->n; i++) {
        bool is_null = nullable_items && v->items[i] == TL_AVRO_ABSENT;
        if (nullable_items)
            TL_TRY(tl_avro__put_long(buf, is_null ? 0 : 1));
        if (!is_null)
            TL_TRY(tl_avro__put_long(buf, v->items[i]));
    }
    return tl_avro__put_long(buf, 0);
}

static tl_status put_strs(tl_buf *buf, const tl_avro_strs *v)
{
    if (v->n > 0)
        TL_TRY(tl_avro__put_long(buf, v->n));
    for (int32_t i = 0; i < v->n; i++)
        TL_TRY(tl_avro__put_bytes(buf, v->items[i]));
    return tl_avro__put_long(buf, 0);
}

static tl_status put_structs(tl_buf *buf, const tl_avro_structs *v, const tl_avro_record *record)
{
    if (v->n > 0)
        TL_TRY(tl_avro__put_long(buf, v->n));
    for (int32_t i = 0; i < v->n; i++) {
        TL_TRY(tl_avro__put_long(buf, 1));
        TL_TRY(put_record(buf, record, (const char *)v->items + (size_t)i * record->bytes));
    }
    return tl_avro__put_long(buf, 0);
}

static bool field_is_null(const tl_avro_field *f, const void *in, const void *at)
{
    switch (f->kind) {
    case TL_AVRO_I32:
    case TL_AVRO_I8:
    case TL_AVRO_I64:
    case TL_AVRO_MILLIS:
        return *(const int64_t *)at == TL_AVRO_ABSENT;
    case TL_AVRO_STR:
    case TL_AVRO_BIN:
        return ((const tl_bytes_view *)at)->data == NULL;
    case TL_AVRO_I32S:
    case TL_AVRO_NULL_I64S:
        return ((const tl_avro_longs *)at)->n < 0;
    case TL_AVRO_STRS:
        return ((const tl_avro_strs *)at)->n < 0;
    case TL_AVRO_NULL_RECORDS:
        return ((const tl_avro_structs *)at)->n < 0;
    case TL_AVRO_RECORD:
        return !*((const bool *)in + f->present_offset);
    }
    return false;
}

static tl_status put_value(tl_buf *buf, const tl_avro_field *f, const void *at)
{
    switch (f->kind) {
    case TL_AVRO_I32:
    case TL_AVRO_I8:
    case TL_AVRO_I64:
    case TL_AVRO_MILLIS:
        return tl_avro__put_long(buf, *(const int64_t *)at);
    case TL_AVRO_STR:
    case TL_AVRO_BIN:
        return tl_avro__put_bytes(buf, *(const tl_bytes_view *)at);
    case TL_AVRO_I32S:
    case TL_AVRO_NULL_I64S:
        return put_longs(buf, at, f->kind == TL_AVRO_NULL_I64S);
    case TL_AVRO_STRS:
        return put_strs(buf, at);
    case TL_AVRO_NULL_RECORDS:
        return put_structs(buf, at, f->record);
    case TL_AVRO_RECORD:
        return put_record(buf, f->record, at);
    }
    return TL_OK;
}

static tl_status put_record(tl_buf *buf, const tl_avro_record *record, const void *in)
{
    for (int32_t i = 0; i < record->n_fields; i++) {
        const tl_avro_field *f = &record->fields[i];
        const void *at = (const char *)in + f->offset;
        bool is_null = f->nullable && field_is_null(f, in, at);
        if (f->nullable)
            TL_TRY(tl_avro__put_long(buf, is_null ? 0 : 1));
        if (!is_null)
            TL_TRY(put_value(buf, f, at));
    }
    return TL_OK;
}

tl_status tl_avro_writer_create(tl_fs *fs, const char *path, const tl_avro_record *record, const char *compression, int level,
                                tl_avro_writer **out, tl_error *err)
{
    TL_CLEANUP(tl_avro_writer_freep) tl_avro_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "Avro writer");
    w->record = record;
    tl_buf schema = {0};
    tl_status status = tl_avro_record_schema(record, &schema);
    if (status != TL_OK)
        status = tl_nomem(err, "Avro schema");
    else
        status = tl_avro__out_create(&w->out, fs, path, (tl_bytes_view){schema.data, schema.len}, compression, level, err);
    tl_buf_deinit(&schema);
    if (status == TL_OK)
        *out = TL_STEAL(w);
    return status;
}

tl_status tl_avro_writer_append(tl_avro_writer *w, const void *record, tl_error *err)
{
    size_t before = w->out.block.len;
    if (put_record(&w->out.block, w->record, record) != TL_OK) {
        w->out.block.len = before;
        return tl_nomem(err, "Avro record");
    }
    return tl_avro__out_record(&w->out, err);
}

int64_t tl_avro_writer_bytes(const tl_avro_writer *w)
{
    return w->out.bytes;
}

tl_status tl_avro_writer_finish(tl_avro_writer *w, int64_t *bytes, tl_error *err)
{
    TL_TRY(tl_avro__out_finish(&w->out, err));
    *bytes = w->out.bytes;
    return TL_OK;
}

void tl_avro_writer_free(tl_avro_writer *w)
{
    if (w == NULL)
        return;
    tl_avro__out_deinit(&w->out);
    tl_free(w);
}
