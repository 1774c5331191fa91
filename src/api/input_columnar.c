/* A Parquet, ORC or Avro file, of whatever writer: columns by name, absent ones NULL; a text column "_kind" tells the rows' kinds. What is a
 * VECTOR in the table may be any list in the file. */
#include "api/input_private.h"

#include "format/format.h"

typedef struct columnar_input {
    tl_fs *fs;
    const tl_format *format;
    const tl_type *read_type; /* the table's ROW with ARRAYs for VECTORs, and the kind behind it if the file has one */
    tl_reader *reader;
    bool has_kind;
} columnar_input;

static tl_status check_columns(const tidelake_input *in, columnar_input *columnar, tl_error *err)
{
    const tl_type *file_type;
    TL_TRY(columnar->format->schema(columnar->fs, in->path, &file_type, err));
    tl_status status = TL_OK;
    for (int32_t c = 0; c < file_type->n_fields && status == TL_OK; c++) {
        const char *name = file_type->fields[c].name;
        if (tl_type_field_index(in->type, name) >= 0)
            continue;
        if (strcmp(name, INPUT_KIND_COLUMN) == 0)
            columnar->has_kind = true;
        else if (strcmp(name, INPUT_SNAPSHOT_COLUMN) != 0)
            status = tl_input__unknown_column(in->type, (tl_bytes_view){(const uint8_t *)name, strlen(name)}, err);
    }
    tl_type_unref(file_type);
    return status;
}

static tl_status make_read_type(const tidelake_input *in, columnar_input *columnar, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *rows = NULL;
    TL_TRY(tl_type_vectors_as_arrays(in->type, &rows, err));
    if (!columnar->has_kind) {
        columnar->read_type = TL_STEAL(rows);
        return TL_OK;
    }
    int32_t n = rows->n_fields;
    tl_field *fields = tl_calloc((size_t)n + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "columns");
    memcpy(fields, rows->fields, sizeof *fields * (size_t)n);
    fields[n] = (tl_field){.id = -1, .name = (char *)(uintptr_t)INPUT_KIND_COLUMN};
    tl_status status = tl_type_parse((tl_bytes_view){(const uint8_t *)"STRING", 6}, &fields[n].type, err);
    if (status == TL_OK)
        status = tl_type_create_row(false, fields, n + 1, &columnar->read_type, err);
    tl_type_unref(fields[n].type);
    tl_free(fields);
    return status;
}

static tl_status columnar_open(tidelake_input *in, tl_error *err)
{
    columnar_input *columnar = in->state = tl_calloc(1, sizeof *columnar);
    if (columnar == NULL)
        return tl_nomem(err, "input");
    if (strcmp(in->path, "-") == 0)
        return tl_error_set(err, TL_E_INVALID, "a file of the format %s is not read from standard input: give its name", in->format->name);
    TL_TRY(tl_format_find(in->format->name, &columnar->format, err));
    TL_TRY(tl_fs_local(&columnar->fs, err));
    tl_stat stat;
    TL_TRY(tl_fs_stat(columnar->fs, in->path, &stat, err));
    TL_TRY(tl_error_wrap(err, check_columns(in, columnar, err), "'%s'", in->path));
    TL_TRY(make_read_type(in, columnar, err));
    const tl_read_spec spec = {.row_type = columnar->read_type, .batch_rows = INPUT_BATCH_ROWS};
    return tl_error_wrap(err, columnar->format->open(columnar->fs, in->path, stat.bytes, &spec, &columnar->reader, err), "'%s'",
                         in->path);
}

static tl_status make_vectors(const tidelake_input *in, tl_batch *rows, tl_error *err)
{
    for (int32_t c = 0; c < rows->n_cols; c++) {
        const tl_type *type = in->type->fields[c].type;
        tl_column *col = NULL;
        if (tl_type_equal(type, rows->cols[c]->type, /* with_nullable= */ false))
            continue;
        TL_TRY(tl_error_wrap(err, tl_column_with_vectors(rows->cols[c], type, &col, err), "column '%s'", in->type->fields[c].name));
        tl_column_unref(rows->cols[c]);
        rows->cols[c] = col;
    }
    return TL_OK;
}

/* The last column becomes the rows' kinds, if the file has them. */
static tl_status take_rows(const tidelake_input *in, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_TRY(tl_batch_create(in->type, batch->n_rows, &rows, err));
    for (int32_t c = 0; c < rows->n_cols; c++)
        rows->cols[c] = tl_column_ref(batch->cols[c]);
    TL_TRY(make_vectors(in, rows, err));
    if (batch->n_cols == rows->n_cols) {
        *out = TL_STEAL(rows);
        return TL_OK;
    }
    rows->row_kind = tl_calloc((size_t)batch->n_rows + 1, 1);
    if (rows->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    const tl_column *kinds = batch->cols[batch->n_cols - 1];
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (tl_col_is_null(kinds, i))
            continue;
        tl_bytes_view text = tl_col_bytes(kinds, i);
        if (!tl_row_kind_parse(text, &rows->row_kind[i]))
            return tl_error_set(err, TL_E_INVALID, INPUT_KIND_COLUMN " is '%.*s', not one of +I, -U, +U, -D",
                                (int)TL_MIN(text.len, 100), (const char *)text.data);
    }
    *out = TL_STEAL(rows);
    return TL_OK;
}

static tl_status columnar_next(tidelake_input *in, tl_batch **out, bool *commit_after, tl_error *err)
{
    columnar_input *columnar = in->state;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    *commit_after = false;
    TL_TRY(tl_error_wrap(err, tl_reader_next(columnar->reader, &batch, err), "'%s'", in->path));
    if (batch == NULL)
        return TL_OK;
    return tl_error_wrap(err, take_rows(in, batch, out, err), "'%s'", in->path);
}

static void columnar_close(tidelake_input *in)
{
    columnar_input *columnar = in->state;
    tl_reader_free(columnar->reader);
    tl_type_unref(columnar->read_type);
    tl_fs_unref(columnar->fs);
    tl_free(columnar);
}

const input_format tl_input__parquet = {"parquet", columnar_open, columnar_next, columnar_close, NULL};
const input_format tl_input__orc = {"orc", columnar_open, columnar_next, columnar_close, NULL};
const input_format tl_input__avro = {"avro", columnar_open, columnar_next, columnar_close, NULL};
