/*
 * Manifests in any of the formats that `manifest.format` may name: Avro is decoded straight into records, Parquet and ORC come as
 * batches of columns of the record's ROW. The first bytes of the file tell.
 */
#include "meta/manifest_record.h"

struct tl_meta__records {
    tl_avro_records *avro;
    /* Parquet, ORC */
    const tl_avro_record *fields;
    const tl_type *type;
    tl_reader *reader;
    tl_batch *batch;
    int64_t row;
    tl_buf scratch; /* arrays of the row */
};

/* ---- one row of columns as a record ---- */

static tl_status read_row(tl_column *const *cols, int64_t i, const tl_avro_record *fields, tl_buf *scratch, void *out,
                          tl_error *err);

/* Room in the scratch buffer, which was reserved for all arrays of the row; it must not move any more. */
static void *take(tl_buf *scratch, size_t bytes)
{
    void *at = scratch->data + scratch->len;
    scratch->len += bytes;
    return at;
}

static void read_list(const tl_column *col, int64_t i, tl_avro_kind kind, tl_buf *scratch, void *out)
{
    const tl_column *items = col->children[0];
    int32_t from = col->offsets[i], n = col->offsets[i + 1] - from;
    if (kind == TL_AVRO_STRS) {
        tl_bytes_view *views = take(scratch, (size_t)n * sizeof *views);
        for (int32_t k = 0; k < n; k++)
            views[k] = tl_col_bytes(items, from + k);
        *(tl_avro_strs *)out = (tl_avro_strs){views, n};
        return;
    }
    int64_t *longs = take(scratch, (size_t)n * sizeof *longs);
    for (int32_t k = 0; k < n; k++)
        longs[k] = tl_col_is_null(items, from + k) ? TL_AVRO_ABSENT : tl_col_integer(items, from + k);
    *(tl_avro_longs *)out = (tl_avro_longs){longs, n};
}

/* Null records are left out, as from Avro. */
static tl_status read_records(const tl_column *col, int64_t i, const tl_avro_record *fields, tl_buf *scratch, tl_avro_structs *out,
                              tl_error *err)
{
    const tl_column *items = col->children[0];
    int32_t from = col->offsets[i], n = col->offsets[i + 1] - from;
    uint8_t *structs = take(scratch, (size_t)n * fields->bytes);
    *out = (tl_avro_structs){structs, 0};
    for (int32_t k = 0; k < n; k++) {
        if (tl_col_is_null(items, from + k))
            continue;
        void *at = structs + (size_t)out->n++ * fields->bytes;
        tl_avro_record_clear(fields, at);
        TL_TRY(read_row(items->children, from + k, fields, scratch, at, err));
    }
    return TL_OK;
}

/* `record` is the struct that `out` lies in. */
static tl_status read_field(const tl_column *col, int64_t i, const tl_avro_field *f, tl_buf *scratch, void *record, void *out, tl_error *err)
{
    if (tl_col_is_null(col, i))
        return f->nullable ? TL_OK : tl_error_set(err, TL_E_CORRUPT, "field '%s' is null", f->name);
    static const uint8_t nothing[1];
    switch (f->kind) {
    case TL_AVRO_I32:
    case TL_AVRO_I8:
    case TL_AVRO_I64:
    case TL_AVRO_MILLIS:
        *(int64_t *)out = tl_col_integer(col, i);
        return TL_OK;
    case TL_AVRO_STR:
    case TL_AVRO_BIN: {
        tl_bytes_view v = tl_col_bytes(col, i);
        *(tl_bytes_view *)out = (tl_bytes_view){v.len == 0 ? nothing : v.data, v.len};
        return TL_OK;
    }
    case TL_AVRO_I32S:
    case TL_AVRO_NULL_I64S:
    case TL_AVRO_STRS:
        read_list(col, i, f->kind, scratch, out);
        return TL_OK;
    case TL_AVRO_RECORD:
        if (f->nullable)
            *(bool *)((char *)record + f->present_offset) = true;
        return read_row(col->children, i, f->record, scratch, out, err);
    case TL_AVRO_NULL_RECORDS:
        return read_records(col, i, f->record, scratch, out, err);
    }
    return tl_error_set(err, TL_E_INTERNAL, "field '%s' of a columnar manifest", f->name);
}

static tl_status read_row(tl_column *const *cols, int64_t i, const tl_avro_record *fields, tl_buf *scratch, void *out,
                          tl_error *err)
{
    for (int32_t f = 0; f < fields->n_fields; f++)
        TL_TRY(read_field(cols[f], i, &fields->fields[f], scratch, out, (char *)out + fields->fields[f].offset, err));
    return TL_OK;
}

/* Bytes that the arrays of row `i` take in the scratch buffer. */
static size_t arrays_bytes(tl_column *const *cols, const tl_avro_record *fields, int64_t i)
{
    size_t bytes = 0;
    for (int32_t c = 0; c < fields->n_fields; c++) {
        const tl_avro_field *f = &fields->fields[c];
        size_t item = f->kind == TL_AVRO_NULL_RECORDS ? f->record->bytes : sizeof(tl_bytes_view); /* the largest of the others */
        if (cols[c]->phys == TL_PHYS_LIST)
            bytes += (size_t)(cols[c]->offsets[i + 1] - cols[c]->offsets[i]) * item;
        else if (cols[c]->phys == TL_PHYS_ROW)
            bytes += arrays_bytes(cols[c]->children, f->record, i);
    }
    return bytes;
}

static tl_status next_row(tl_meta__records *r, void *out, bool *more, tl_error *err)
{
    while (r->batch == NULL || r->row == r->batch->n_rows) {
        tl_batch_free(TL_STEAL(r->batch));
        r->row = 0;
        TL_TRY(tl_reader_next(r->reader, &r->batch, err));
        if (r->batch == NULL) {
            *more = false;
            return TL_OK;
        }
    }
    r->scratch.len = 0;
    if (tl_buf_reserve(&r->scratch, arrays_bytes(r->batch->cols, r->fields, r->row) + 1) != TL_OK)
        return tl_nomem(err, "manifest row");
    tl_avro_record_clear(r->fields, out);
    TL_TRY(read_row(r->batch->cols, r->row, r->fields, &r->scratch, out, err));
    r->row++;
    *more = true;
    return TL_OK;
}

/* ---- by format ---- */

static tl_status open_columnar(const tl_format *format, tl_meta__records *r, tl_fs *fs, const char *path, int64_t bytes, tl_error *err)
{
    TL_TRY(tl_avro_record_type(r->fields, &r->type, err));
    tl_read_spec spec = {.row_type = r->type};
    return format->open(fs, path, bytes, &spec, &r->reader, err);
}

static bool starts_with(tl_bytes_view file, const char *magic)
{
    return file.len >= strlen(magic) && memcmp(file.data, magic, strlen(magic)) == 0;
}

tl_status tl_meta__records_open(tl_fs *fs, const char *path, tl_bytes_view file, const tl_avro_record *fields,
                                tl_meta__records **out, tl_error *err)
{
    TL_CLEANUP(tl_meta__records_freep) tl_meta__records *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "manifest");
    r->fields = fields;
    if (starts_with(file, "PAR1"))
        TL_TRY(open_columnar(&tl_format_parquet, r, fs, path, (int64_t)file.len, err));
    else if (starts_with(file, "ORC"))
        TL_TRY(open_columnar(&tl_format_orc, r, fs, path, (int64_t)file.len, err));
    else
        TL_TRY(tl_avro_records_open(file, fields, &r->avro, err));
    *out = TL_STEAL(r);
    return TL_OK;
}

tl_status tl_meta__records_next(tl_meta__records *r, void *out, bool *more, tl_error *err)
{
    return r->avro != NULL ? tl_avro_records_next(r->avro, out, more, err) : next_row(r, out, more, err);
}

void tl_meta__records_free(tl_meta__records *r)
{
    if (r == NULL)
        return;
    tl_avro_records_free(r->avro);
    tl_batch_free(r->batch);
    tl_reader_free(r->reader);
    tl_type_unref(r->type);
    tl_buf_deinit(&r->scratch);
    tl_free(r);
}
