/* Files into tables: find them, make the table if it is missing, then copy their rows or take them in place. */
#include "api/input_private.h"

typedef struct import {
    tidelake_lake *lake;
    const char *name;
    const tidelake_import_options *options;
    const char *format; /* NULL: by the files' names */
    tl_import_files files;
    tidelake_table *table;
    bool keep_table; /* files of others lie in it, also after an error */
    tidelake_import_result result;
} import;

/* ---- columns of the files ---- */

/* The file's columns by reading it all; *inferred is false if it has a schema instead. */
static tl_status infer_file(const import *im, const tl_import_file *file, tl_arena *arena, shape *columns, bool *inferred, tl_error *err)
{
    tidelake_input in = {.bytes_total = -1, .path = file->path, .name = file->path};
    TL_TRY(tl_input__find_format(file->path, im->format, &in.format, err));
    *inferred = in.format->infer != NULL;
    if (!*inferred)
        return TL_OK;
    TL_TRY(tl_type_create_row(false, NULL, 0, &in.type, err));
    tl_status status = in.format->open(&in, err);
    if (status == TL_OK)
        status = in.format->infer(&in, arena, columns, err);
    if (in.state != NULL)
        in.format->close(&in);
    tl_type_unref(in.type);
    return status;
}

/* Columns of files with schemas in *all, those of the others in `shapes`. */
static tl_status see_files(const import *im, tl_arena *arena, shape *shapes, const tl_type **all, tl_error *err)
{
    for (size_t i = 0; i < im->files.n; i++) {
        bool inferred = false;
        const tl_import_file *file = &im->files.items[i];
        TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
        TL_CLEANUP(tl_type_unrefp) const tl_type *both = NULL;
        TL_TRY(infer_file(im, file, arena, shapes, &inferred, err));
        if (inferred)
            continue;
        TL_TRY(tl_import_columns(im->lake->fs, file, im->format, &type, err));
        TL_TRY(tl_error_wrap(err, tl_import_common_columns(*all, type, &both, err), "'%s'", file->path));
        tl_type_unref(*all);
        *all = TL_STEAL(both);
    }
    return TL_OK;
}

static tl_status find_columns(const import *im, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *all = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *inferred = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *both = NULL;
    tl_arena arena = {0};
    shape shapes = {.kind = SHAPE_OBJECT};
    tl_status status = tl_type_create_row(false, NULL, 0, &all, err);
    if (status == TL_OK)
        status = see_files(im, &arena, &shapes, &all, err);
    if (status == TL_OK)
        status = tl_infer__row(&shapes, /* nullable= */ false, &inferred, err);
    tl_arena_deinit(&arena);
    if (status == TL_OK)
        status = tl_error_wrap(err, tl_import_common_columns(all, inferred, &both, err), "files without a schema, beside those with one");
    return status == TL_OK ? tl_import_row_type(&im->files, both, out, err) : status;
}

/* ---- the table ---- */

static tl_status make_table(import *im, tl_error *err)
{
    bool exists = false;
    TL_CLEANUP(tl_freep) char *db = NULL;
    TL_CLEANUP(tl_freep) char *table = NULL;
    TL_TRY(tl_api__split_name(im->name, &db, &table, err));
    if (strchr(table, '$') != NULL) /* a branch: of a table that is there */
        return TL_OK;
    TL_TRY(tl_catalog_table_exists(im->lake->catalog, db, table, &exists, err));
    const char *schema_json = TL_API_HAS(im->options, schema_json) ? im->options->schema_json : NULL;
    if (exists)
        return schema_json == NULL ? TL_OK : tl_error_set(err, TL_E_EXISTS, "table %s exists already: it needs no schema", im->name);
    TL_CLEANUP(tl_type_unrefp) const tl_type *row_type = NULL;
    TL_TRY(find_columns(im, &row_type, err));
    const tl_api__found found = {row_type, im->files.keys, im->files.n_keys};
    TL_TRY(tl_api__create_table(im->lake, im->name, schema_json, &found, /* if_not_exists= */ 0, err));
    im->result.created = 1;
    return TL_OK;
}

/* ---- copying ---- */

/* The folder's values as columns of the table; NULL where a column is not the folder's. */
static tl_status folder_columns(const import *im, const tl_import_file *file, tl_column **out, tl_error *err)
{
    const tl_type *row_type = tl_table_row_type(im->table->table);
    const char *null_name = tl_table_config(im->table->table)->partition_default_name;
    for (int32_t k = 0; k < im->files.n_keys; k++) {
        const char *key = im->files.keys[k];
        int32_t c = tl_type_field_index(row_type, key);
        if (c < 0)
            return tl_error_set(err, TL_E_INVALID, "the folders name '%s', which is no column of the table", key);
        tl_column_unref(out[c]);
        out[c] = NULL;
        tl_status status = tl_import_value(file->values[k], null_name, row_type->fields[c].type, &out[c], err);
        TL_TRY(tl_error_wrap(err, status, "'%s' of '%s'", key, file->path));
    }
    return TL_OK;
}

static tl_status with_folder(const tl_batch *batch, tl_column *const *folder, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_TRY(tl_batch_create(batch->type, batch->n_rows, &rows, err));
    for (int32_t c = 0; c < rows->n_cols; c++) {
        if (folder[c] == NULL)
            rows->cols[c] = tl_column_ref(batch->cols[c]);
        else
            TL_TRY(tl_column_repeat(folder[c], 0, batch->n_rows, &rows->cols[c], err));
    }
    if (batch->row_kind != NULL && (rows->row_kind = tl_memdup(batch->row_kind, (size_t)batch->n_rows)) == NULL)
        return tl_nomem(err, "row kinds");
    *out = TL_STEAL(rows);
    return TL_OK;
}

static tl_status copy_rows(import *im, tidelake_input *in, tl_column *const *folder, tidelake_writer *writer, tl_error *err)
{
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
        bool commit_after = false; /* all files come in by one commit */
        TL_TRY(in->format->next(in, &batch, &commit_after, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(with_folder(batch, folder, &rows, err));
        TL_TRY(tidelake_writer_write_batch(writer, &(tidelake_batch){rows}, err));
        im->result.rows += rows->n_rows;
        if (TL_API_HAS(im->options, progress_ctx) && im->options->progress != NULL)
            im->options->progress(im->options->progress_ctx, im->result.rows, im->result.files, (int64_t)im->files.n);
    }
}

static tl_status copy_file(import *im, const tl_import_file *file, tidelake_writer *writer, tl_error *err)
{
    int32_t n = tl_table_row_type(im->table->table)->n_fields;
    tidelake_input *in = NULL;
    tl_column **folder = tl_calloc((size_t)n + 1, sizeof *folder);
    tl_status status = folder == NULL ? tl_nomem(err, "partition") : folder_columns(im, file, folder, err);
    if (status == TL_OK)
        status = tidelake_input_open(im->table, file->path, im->format, &in, err);
    if (status == TL_OK)
        status = tl_error_wrap(err, copy_rows(im, in, folder, writer, err), "'%s'", file->path);
    tidelake_input_close(in);
    for (int32_t c = 0; folder != NULL && c < n; c++)
        tl_column_unref(folder[c]);
    tl_free(folder);
    im->result.files += status == TL_OK;
    return status;
}

static tl_status copy_all(import *im, const char *user, tl_error *err)
{
    tidelake_write_options options = TIDELAKE_WRITE_INIT;
    tidelake_writer *writer = NULL;
    options.commit_user = user;
    options.threads = TL_API_HAS(im->options, threads) && im->options->threads > 0 ? im->options->threads : -1;
    tl_status status = tidelake_writer_open(im->table, &options, &writer, err);
    for (size_t i = 0; i < im->files.n && status == TL_OK; i++)
        status = copy_file(im, &im->files.items[i], writer, err);
    if (status == TL_OK)
        status = tidelake_writer_commit(writer, NULL, NULL, err);
    tidelake_writer_close(writer);
    return status;
}

static tl_status take_in_place(import *im, const char *user, tl_error *err)
{
    tl_import_result result;
    const tl_import_spec spec = {.files = &im->files, .format = im->format, .user = user};
    tl_status status = tl_table_import(im->table->table, &spec, &result, err);
    im->result.files = result.files;
    im->result.rows = result.rows;
    im->keep_table = result.has_files;
    return status;
}

static tl_status run(import *im, tl_error *err)
{
    const tidelake_import_options *o = im->options;
    bool has = TL_API_HAS(o, n_options);
    TL_TRY(make_table(im, err));
    TL_TRY(tidelake_table_open(im->lake, im->name, has ? o->options : NULL, has ? o->n_options : 0, &im->table, err));
    const char *user = TL_API_HAS(o, commit_user) ? o->commit_user : NULL;
    return TL_API_HAS(o, in_place) && o->in_place ? take_in_place(im, user, err) : copy_all(im, user, err);
}

tl_status tidelake_import(tidelake_lake *lake, const char *name, const char *path, const tidelake_import_options *options,
                          tidelake_import_result *result, tl_error *err)
{
    import im = {.lake = lake, .name = name, .options = options, .format = TL_API_HAS(options, format) ? options->format : NULL};
    TL_TRY(tl_import_find(lake->fs, path, &im.files, err));
    tl_status status = run(&im, err);
    tidelake_table_close(im.table);
    if (status != TL_OK && im.result.created && !im.keep_table) /* what was made for it alone goes with it */
        (void)tidelake_drop_table(lake, name, /* if_exists= */ 1, /* err= */ NULL);
    tl_import_files_deinit(&im.files);
    if (status == TL_OK && result != NULL)
        *result = im.result;
    return status;
}
