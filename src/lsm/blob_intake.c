/*
 * New values of BLOB columns, on their way into files. Users give bytes or descriptors (types/blob_descriptor.h) of bytes elsewhere; what
 * becomes of them depends on where the column has its values (Java: FlinkRowWrapper#getBlob, ExternalStorageBlobWriter):
 *
 *   in blob files of the table     bytes; what a descriptor names is copied
 *   as descriptors                 descriptors only; what they name is not looked at
 *   as descriptors, bytes outside  bytes (or what a descriptor names) go into a blob file of `blob-external-storage-path`, their
 *                                  descriptor into the data file
 *
 * What descriptors may name: blob_values.c. Files outside belong to nobody: no snapshot knows them, and no clean-up removes them.
 */
#include "lsm/lsm_private.h"

#include "types/blob_descriptor.h"

/* Blob files of one column that lie outside. */
typedef struct outside_files {
    int32_t column; /* of the table */
    tl_lsm__shape *shape;
    tl_file_writer *open;
    char *uri; /* of the open file, as descriptors have it */
    char **made;
    size_t n_made, made_cap; /* local paths of all files since the last finish, the open one included */
} outside_files;

struct tl_blob_intake {
    tl_lsm_config *config; /* ref held */
    tl_lsm__blob_files *files;
    tl_lsm__names names;
    outside_files *outside;
    int32_t n_outside;
};

static void outside_deinit(const tl_blob_intake *intake, outside_files *o)
{
    if (o->open != NULL)
        o->open->ops->free(o->open);
    for (size_t i = 0; i < o->n_made; i++) {
        (void)tl_fs_remove(intake->config->fs, o->made[i], NULL); /* best effort; the open one is gone already */
        tl_free(o->made[i]);
    }
    tl_free(o->made);
    tl_free(o->uri);
    tl_lsm__shape_free(o->shape);
}

void tl_blob_intake_free(tl_blob_intake *intake)
{
    if (intake == NULL)
        return;
    for (int32_t i = 0; i < intake->n_outside; i++)
        outside_deinit(intake, &intake->outside[i]);
    tl_free(intake->outside);
    tl_lsm__blob_files_free(intake->files);
    tl_lsm_config_unref(intake->config);
    tl_free(intake);
}

tl_status tl_blob_intake_create(tl_lsm_config *config, tl_blob_intake **out, tl_error *err)
{
    tl_blob_intake *intake = tl_calloc(1, sizeof *intake);
    if (intake == NULL)
        return tl_nomem(err, "values of blobs");
    intake->config = tl_lsm_config_ref(config);
    tl_status status = tl_lsm__blob_files_create(config, &intake->files, err);
    intake->outside = tl_calloc((size_t)tl_lsm__n_columns(config) + 1, sizeof *intake->outside);
    if (status == TL_OK && intake->outside == NULL)
        status = tl_nomem(err, "values of blobs");
    if (status != TL_OK) {
        tl_blob_intake_free(intake);
        return status;
    }
    *out = intake;
    return TL_OK;
}

/* ---- files outside ---- */

static tl_status find_outside(tl_blob_intake *intake, int32_t column, outside_files **out, tl_error *err)
{
    for (int32_t i = 0; i < intake->n_outside; i++) {
        if (intake->outside[i].column == column) {
            *out = &intake->outside[i];
            return TL_OK;
        }
    }
    outside_files *o = &intake->outside[intake->n_outside];
    o->column = column;
    TL_TRY(tl_lsm__shape_create(intake->config, &column, 1, TL_LSM__IN_BLOB_FILES, /* named= */ false, &o->shape, err));
    intake->n_outside++;
    *out = o;
    return TL_OK;
}

static tl_status note_path(outside_files *o, char *path_take, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = path_take;
    if (o->n_made == o->made_cap) {
        size_t cap = o->made_cap == 0 ? 8 : o->made_cap * 2;
        char **made = tl_realloc(o->made, cap * sizeof *made);
        if (made == NULL)
            return tl_nomem(err, "files of blobs");
        o->made = made;
        o->made_cap = cap;
    }
    o->made[o->n_made++] = TL_STEAL(path);
    return TL_OK;
}

/* Java: DataFilePathFactory#newExternalStorageBlobPath; addresses keep the scheme that the option has. */
static tl_status open_outside(tl_blob_intake *intake, outside_files *o, tl_error *err)
{
    const char *option = intake->config->blobs->folder;
    if (option == NULL || *option == '\0')
        return tl_error_set(err, TL_E_INVALID, "'blob-external-storage-path' must be set when 'blob-external-storage-field' is configured.");
    TL_CLEANUP(tl_freep) char *folder = tl_path_of_uri(option);
    TL_CLEANUP(tl_freep) char *name = folder == NULL ? NULL : tl_lsm__names_next(&intake->names, intake->config, &o->shape->options);
    char *path = name == NULL ? NULL : tl_path_join(folder, name);
    if (path == NULL)
        return tl_nomem(err, "files of blobs");
    bool is_local = *path == '/';
    tl_free(o->uri);
    o->uri = tl_strf("%s%s", *option == '/' ? "" : "file:", path);
    TL_TRY(note_path(o, path, err));
    if (o->uri == NULL)
        return tl_nomem(err, "files of blobs");
    if (!is_local)
        return tl_error_set(err, TL_E_UNSUPPORTED, "option 'blob-external-storage-path': '%s' is no absolute path of a local folder", option);
    const tl_write_spec spec = {.row_type = o->shape->file_type, .field_ids = o->shape->field_ids, .options = &intake->config->schema->options};
    return tl_format_blob.create(intake->config->fs, o->made[o->n_made - 1], &spec, &o->open, err);
}

static tl_status close_outside(outside_files *o, tl_error *err)
{
    tl_write_result result = {0};
    if (o->open == NULL)
        return TL_OK;
    tl_status status = o->open->ops->finish(o->open, &result, err);
    tl_write_result_deinit(&result);
    o->open->ops->free(TL_STEAL(o->open));
    return status;
}

tl_status tl_blob_intake_finish(tl_blob_intake *intake, tl_error *err)
{
    for (int32_t i = 0; i < intake->n_outside; i++) {
        outside_files *o = &intake->outside[i];
        TL_TRY(close_outside(o, err));
        for (size_t k = 0; k < o->n_made; k++)
            tl_free(o->made[k]);
        o->n_made = 0;
    }
    return TL_OK;
}

/* One value into the open file; a file that is full ends behind it, as in the reference. */
static tl_status put_outside(tl_blob_intake *intake, outside_files *o, const tl_column *col, int64_t i, tl_buf *out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    if (o->open == NULL)
        TL_TRY(open_outside(intake, o, err));
    tl_blob_descriptor where = {.uri = {(const uint8_t *)o->uri, strlen(o->uri)}, .length = (int64_t)tl_col_bytes(col, i).len};
    where.offset = tl_blob_value_offset(o->open->ops->bytes_estimate(o->open));
    TL_TRY(tl_batch_create(o->shape->file_type, 1, &row, err));
    TL_TRY(tl_column_slice(col, i, 1, &row->cols[0], err));
    TL_TRY(o->open->ops->write(o->open, row, err));
    if (tl_blob_descriptor_append(&where, out) != TL_OK)
        return tl_nomem(err, "descriptors of blobs");
    return o->open->ops->bytes_estimate(o->open) >= intake->config->blob_target_bytes ? close_outside(o, err) : TL_OK;
}

/* Descriptors as a column, with the NULLs of `col`; ends[i] is where that of row i ends in `bytes`, which is taken over. */
static tl_status make_descriptors(const tl_column *col, const int32_t *ends, tl_buf *bytes, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *made = NULL;
    TL_TRY(tl_column_alloc(col->type, col->length, &made, err));
    tl_free(made->data);
    made->data = tl_alloc_aligned(bytes->len + 64);
    if (made->data == NULL || (col->null_count > 0 && (made->validity = tl_memdup(col->validity, tl_bitmap_bytes(col->length))) == NULL))
        return tl_nomem(err, "descriptors of blobs");
    made->null_count = col->null_count;
    if (bytes->len > 0)
        memcpy(made->data, bytes->data, bytes->len);
    memcpy(made->offsets + 1, ends, (size_t)col->length * sizeof *ends);
    *out = TL_STEAL(made);
    return TL_OK;
}

/* Rows [from, from + n) of the column, what their descriptors name included. */
static tl_status move_piece(tl_blob_intake *intake, outside_files *o, const tl_column *col, int64_t from, int64_t n, int32_t *ends, tl_buf *bytes,
                            tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *piece = NULL;
    TL_CLEANUP(tl_column_unrefp) tl_column *values = NULL;
    TL_TRY(tl_column_slice(col, from, n, &piece, err));
    TL_TRY(tl_lsm__blobs_fetch(intake->files, piece, /* all= */ false, &values, err));
    for (int64_t i = 0; i < n; i++) {
        if (!tl_col_is_null(values, i))
            TL_TRY(put_outside(intake, o, values, i, bytes, err));
        if (bytes->len > INT32_MAX)
            return tl_error_set(err, TL_E_LIMIT, "descriptors of one batch are larger than a column can hold");
        ends[from + i] = (int32_t)bytes->len;
    }
    return TL_OK;
}

static tl_status move_outside(tl_blob_intake *intake, int32_t column, const tl_batch *batch, int32_t at, tl_column **out, tl_error *err)
{
    outside_files *o = NULL;
    const tl_column *col = batch->cols[at];
    tl_buf bytes = {0};
    TL_CLEANUP(tl_freep) int32_t *ends = tl_alloc(((size_t)col->length + 1) * sizeof *ends);
    if (ends == NULL)
        return tl_nomem(err, "descriptors of blobs");
    tl_status status = find_outside(intake, column, &o, err);
    for (int64_t from = 0, n = 0; from < col->length && status == TL_OK; from += n) {
        status = tl_lsm__blobs_room(intake->files, batch, &at, 1, /* all= */ false, from, &n, err);
        if (status == TL_OK)
            status = move_piece(intake, o, col, from, n, ends, &bytes, err);
    }
    if (status == TL_OK)
        status = make_descriptors(col, ends, &bytes, out, err);
    tl_buf_deinit(&bytes);
    return status;
}

/* ---- values ---- */

static tl_status check_descriptors(const tl_column *col, tl_error *err)
{
    for (int64_t i = 0; i < col->length; i++) {
        tl_bytes_view value = tl_col_bytes(col, i);
        tl_blob_descriptor where;
        if (tl_col_is_null(col, i))
            continue;
        if (!tl_blob_is_descriptor(value))
            return tl_error_set(err, TL_E_INVALID,
                                "blob-descriptor-field requires blob field value to be a serialized BlobDescriptor (magic 'BLOBDESC'): in SQL "
                                "sys.path_to_descriptor('file:/…'), in JSON {\"uri\": \"file:/…\", \"offset\": 0, \"length\": 10}");
        TL_TRY(tl_blob_descriptor_read(value, &where, err));
        if (value.len != TL_BLOB_DESCRIPTOR_BYTES + where.uri.len)
            return tl_error_set(err, TL_E_INVALID, "descriptor of a blob: %zu bytes behind its end", value.len - TL_BLOB_DESCRIPTOR_BYTES - where.uri.len);
    }
    return TL_OK;
}

static tl_status take_column(tl_blob_intake *intake, int32_t column, const tl_batch *batch, int32_t at, tl_column **out, tl_error *err)
{
    const struct tl_lsm__blobs *blobs = intake->config->blobs;
    if (blobs->outside[column])
        return move_outside(intake, column, batch, at, out, err);
    if (!blobs->described[column])
        return tl_lsm__blobs_fetch(intake->files, batch->cols[at], /* all= */ false, out, err);
    TL_TRY(check_descriptors(batch->cols[at], err));
    *out = tl_column_ref(batch->cols[at]);
    return TL_OK;
}

static bool is_blob(const tl_lsm_config *config, int32_t column)
{
    return column < tl_lsm__n_columns(config) && config->schema->row_type->fields[column].type->kind == TL_BLOB;
}

tl_status tl_blob_intake_room(tl_blob_intake *intake, const tl_batch *batch, int64_t from, int64_t *rows, tl_error *err)
{
    TL_CLEANUP(tl_freep) int32_t *copied = tl_alloc(((size_t)batch->n_cols + 1) * sizeof *copied);
    if (copied == NULL)
        return tl_nomem(err, "values of blobs");
    int32_t n = 0;
    for (int32_t c = 0; c < batch->n_cols; c++) {
        if (is_blob(intake->config, c) && !tl_lsm__is_described(intake->config, c))
            copied[n++] = c;
    }
    return tl_lsm__blobs_room(intake->files, batch, copied, n, /* all= */ false, from, rows, err);
}

tl_status tl_blob_intake_take(tl_blob_intake *intake, const int32_t *columns, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *taken = NULL;
    TL_TRY(tl_batch_slice(batch, 0, batch->n_rows, &taken, err));
    for (int32_t c = 0; c < batch->n_cols; c++) {
        tl_column *col = NULL;
        int32_t column = columns == NULL ? c : columns[c];
        if (column < 0 || !is_blob(intake->config, column))
            continue;
        TL_TRY(tl_error_wrap(err, take_column(intake, column, batch, c, &col, err), "column '%s'",
                             intake->config->schema->row_type->fields[column].name));
        tl_column_unref(taken->cols[c]);
        taken->cols[c] = col;
    }
    *out = TL_STEAL(taken);
    return TL_OK;
}
