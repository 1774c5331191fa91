/*
 * Writing manifests in the format that `manifest.format` names: records go straight into Avro, or are gathered into columns
 * of the record's ROW for Parquet and ORC. Counterpart of manifest_source.c.
 */
#include "meta/manifest_record.h"

/* Records gathered before they go into a columnar file. */
#define SINK_ROWS 1024

struct tl_meta__sink {
    tl_avro_writer *avro;
    /* Parquet, ORC */
    const tl_avro_record *fields;
    const tl_type *type;
    tl_builder *rows;
    tl_file_writer *file;
};

/* ---- one record as a row of columns ---- */

static tl_status put_row(tl_builder *row, const tl_avro_record *fields, const void *record);

static tl_status put_longs(tl_builder *list, const tl_avro_longs *v)
{
    tl_builder *items = tl_builder_child(list, 0);
    for (int32_t i = 0; i < v->n; i++)
        TL_TRY(v->items[i] == TL_AVRO_ABSENT ? tl_builder_null(items) : tl_builder_int(items, v->items[i]));
    return tl_builder_end(list);
}

static tl_status put_strs(tl_builder *list, const tl_avro_strs *v)
{
    tl_builder *items = tl_builder_child(list, 0);
    for (int32_t i = 0; i < v->n; i++)
        TL_TRY(tl_builder_bytes(items, v->items[i].data, v->items[i].len));
    return tl_builder_end(list);
}

static tl_status put_records(tl_builder *list, const tl_avro_record *fields, const tl_avro_structs *v)
{
    tl_builder *items = tl_builder_child(list, 0);
    for (int32_t i = 0; i < v->n; i++)
        TL_TRY(put_row(items, fields, (const char *)v->items + (size_t)i * fields->bytes));
    return tl_builder_end(list);
}

static tl_status put_integer(tl_builder *col, int64_t v, bool nullable)
{
    return nullable && v == TL_AVRO_ABSENT ? tl_builder_null(col) : tl_builder_int(col, v);
}

/* `record` is the struct that `at` lies in. */
static tl_status put_field(tl_builder *col, const tl_avro_field *f, const void *record, const void *at)
{
    switch (f->kind) {
    case TL_AVRO_I32:
    case TL_AVRO_I8:
    case TL_AVRO_I64:
        return put_integer(col, *(const int64_t *)at, f->nullable);
    case TL_AVRO_MILLIS: {
        int64_t v = *(const int64_t *)at;
        return f->nullable && v == TL_AVRO_ABSENT ? tl_builder_null(col) : tl_builder_timestamp(col, v, 0);
    }
    case TL_AVRO_STR:
    case TL_AVRO_BIN: {
        const tl_bytes_view *v = at;
        return f->nullable && v->data == NULL ? tl_builder_null(col) : tl_builder_bytes(col, v->data, v->len);
    }
    case TL_AVRO_I32S:
    case TL_AVRO_NULL_I64S: {
        const tl_avro_longs *v = at;
        return v->n < 0 ? tl_builder_null(col) : put_longs(col, v);
    }
    case TL_AVRO_STRS: {
        const tl_avro_strs *v = at;
        return v->n < 0 ? tl_builder_null(col) : put_strs(col, v);
    }
    case TL_AVRO_RECORD:
        if (f->nullable && !*(const bool *)((const char *)record + f->present_offset))
            return tl_builder_null(col);
        return put_row(col, f->record, at);
    case TL_AVRO_NULL_RECORDS: {
        const tl_avro_structs *v = at;
        return v->n < 0 ? tl_builder_null(col) : put_records(col, f->record, v);
    }
    }
    return TL_E_INTERNAL;
}

static tl_status put_row(tl_builder *row, const tl_avro_record *fields, const void *record)
{
    for (int32_t i = 0; i < fields->n_fields; i++) {
        const tl_avro_field *f = &fields->fields[i];
        TL_TRY(put_field(tl_builder_child(row, i), f, record, (const char *)record + f->offset));
    }
    return tl_builder_end(row);
}

static tl_status flush_rows(tl_meta__sink *s, tl_error *err)
{
    if (tl_builder_length(s->rows) == 0)
        return TL_OK;
    TL_CLEANUP(tl_column_unrefp) tl_column *rows = NULL;
    TL_TRY(tl_builder_finish(s->rows, &rows, err));
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(s->type, rows->length, &batch, err));
    for (int32_t i = 0; i < batch->n_cols; i++)
        batch->cols[i] = tl_column_ref(rows->children[i]);
    return s->file->ops->write(s->file, batch, err);
}

/* ---- by format ---- */

static tl_status open_columnar(const tl_format *format, tl_meta__sink *s, const tl_manifest_writer *w, const char *path, tl_error *err)
{
    TL_TRY(tl_avro_record_type(s->fields, &s->type, err));
    int32_t ids[32];
    for (int32_t i = 0; i < s->fields->n_fields; i++)
        ids[i] = i - 1; /* the reference numbers the record's own fields; `_VERSION` stands before them */
    TL_TRY(tl_builder_create(s->type, &s->rows, err));
    tl_write_spec spec = {
        .row_type = s->type,
        .field_ids = ids,
        .compression = w->compression,
        .compression_level = w->zstd_level,
        .options = w->options,
    };
    return format->create(w->fs, path, &spec, &s->file, err);
}

tl_status tl_meta__sink_create(const tl_manifest_writer *w, const char *path, const tl_avro_record *fields, tl_meta__sink **out,
                               tl_error *err)
{
    TL_CLEANUP(tl_meta__sink_freep) tl_meta__sink *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "manifest");
    s->fields = fields;
    if (w->format == TL_MANIFEST_PARQUET || w->format == TL_MANIFEST_ORC)
        TL_TRY(open_columnar(w->format == TL_MANIFEST_ORC ? &tl_format_orc : &tl_format_parquet, s, w, path, err));
    else
        TL_TRY(tl_avro_writer_create(w->fs, path, fields, w->compression, w->zstd_level, &s->avro, err));
    *out = TL_STEAL(s);
    return TL_OK;
}

tl_status tl_meta__sink_append(tl_meta__sink *s, const void *record, tl_error *err)
{
    if (s->avro != NULL)
        return tl_avro_writer_append(s->avro, record, err);
    TL_TRY(tl_builder_error(s->rows, put_row(s->rows, s->fields, record), err));
    return tl_builder_length(s->rows) < SINK_ROWS ? TL_OK : flush_rows(s, err);
}

int64_t tl_meta__sink_bytes(const tl_meta__sink *s)
{
    return s->avro != NULL ? tl_avro_writer_bytes(s->avro) : s->file->ops->bytes_estimate(s->file);
}

tl_status tl_meta__sink_finish(tl_meta__sink *s, int64_t *bytes, tl_error *err)
{
    if (s->avro != NULL)
        return tl_avro_writer_finish(s->avro, bytes, err);
    TL_TRY(flush_rows(s, err));
    tl_write_result result = {0};
    TL_TRY(s->file->ops->finish(s->file, &result, err));
    *bytes = result.bytes;
    tl_write_result_deinit(&result);
    return TL_OK;
}

void tl_meta__sink_free(tl_meta__sink *s)
{
    if (s == NULL)
        return;
    tl_avro_writer_free(s->avro);
    if (s->file != NULL)
        s->file->ops->free(s->file);
    tl_builder_free(s->rows);
    tl_type_unref(s->type);
    tl_free(s);
}
