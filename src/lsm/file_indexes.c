/*
 * The file indexes of data files: written beside them, or into their manifest entries where they are small, and asked when they are
 * read (index/file_index.h). Java: DataFileIndexWriter, FileIndexEvaluator.
 */
#include "lsm/lsm_private.h"

#define INDEX_SUFFIX ".index"

tl_status tl_lsm__index_plan_of(tl_lsm_config *config, const tl_file_index_plan **out, tl_error *err)
{
    tl_lsm__layout *layout = config->layout;
    tl_status status = TL_OK;
    pthread_mutex_lock(&layout->lock);
    if (!layout->index_plan_known) {
        status = tl_file_index_plan_create(&config->schema->options, config->schema->row_type, &layout->index_plan, err);
        layout->index_plan_known = status == TL_OK;
    }
    if (status == TL_OK)
        *out = layout->index_plan;
    pthread_mutex_unlock(&layout->lock);
    return status;
}

/* ---- writing ---- */

/* Full path of a file beside the data file; NULL if out of memory. */
static char *path_beside(const tl_lsm__bucket *bucket, const tl_data_file *file, const char *name)
{
    TL_CLEANUP(tl_freep) char *path = tl_lsm__bucket_file_path(bucket, file);
    return path == NULL ? NULL : tl_strf("%.*s%s", (int)(tl_path_base(path) - path), path, name);
}

static tl_status write_beside(const tl_lsm__bucket *bucket, const tl_data_file *file, const char *name, tl_bytes_view content, tl_error *err)
{
    tl_fs *fs = bucket->config->fs;
    tl_file *index = NULL;
    TL_CLEANUP(tl_freep) char *path = path_beside(bucket, file, name);
    if (path == NULL)
        return tl_nomem(err, "file index");
    TL_TRY(tl_fs_create(fs, path, &index, err));
    tl_status status = tl_file_write(index, content.data, content.len, err);
    if (status == TL_OK)
        status = tl_file_finish(index, err);
    else
        (void)tl_file_close(index, NULL); /* it is removed */
    if (status != TL_OK)
        (void)tl_fs_remove(fs, path, NULL); /* an orphan at worst */
    return status;
}

/* A name for the data file's index that no file has: another index of it may belong to an older snapshot. */
static tl_status free_name(const tl_lsm__bucket *bucket, const tl_data_file *file, char **out, tl_error *err)
{
    bool taken = true;
    TL_CLEANUP(tl_freep) char *name = NULL;
    for (int i = 0; taken; i++) {
        tl_free(name);
        name = i == 0 ? tl_strf("%s" INDEX_SUFFIX, file->name) : tl_strf("%s-%d" INDEX_SUFFIX, file->name, i);
        TL_CLEANUP(tl_freep) char *path = name == NULL ? NULL : path_beside(bucket, file, name);
        if (path == NULL)
            return tl_nomem(err, "file index");
        TL_TRY(tl_fs_exists(bucket->config->fs, path, &taken, err));
    }
    *out = TL_STEAL(name);
    return TL_OK;
}

/* Put a container into the entry or beside the data file. Takes the name over (NULL: the usual one). */
static tl_status store_index(const tl_lsm__bucket *bucket, tl_buf *content, char *name_take, tl_data_file *file, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *name = name_take != NULL ? name_take : tl_strf("%s" INDEX_SUFFIX, file->name);
    if ((int64_t)content->len <= bucket->config->index_in_manifest_bytes) {
        file->embedded_index = tl_buf_steal(content);
        return TL_OK;
    }
    int32_t n = TL_MAX(file->n_extra_files, 0);
    char **names = tl_realloc(file->extra_files, ((size_t)n + 1) * sizeof *names);
    file->extra_files = names == NULL ? file->extra_files : names;
    if (name == NULL || names == NULL)
        return tl_nomem(err, "file index");
    TL_TRY(write_beside(bucket, file, name, (tl_bytes_view){content->data, content->len}, err));
    names[n] = TL_STEAL(name);
    file->n_extra_files = n + 1;
    return TL_OK;
}

tl_status tl_lsm__index_attach(const tl_lsm__bucket *bucket, tl_file_index_writer *writer, tl_data_file *file, tl_error *err)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf content = {0};
    TL_TRY(tl_file_index_writer_finish(writer, &content, err));
    return store_index(bucket, &content, NULL, file, err);
}

/* ---- reading ---- */

static bool is_index_name(const char *name)
{
    size_t len = strlen(name), n = strlen(INDEX_SUFFIX);
    return len > n && strcmp(name + len - n, INDEX_SUFFIX) == 0;
}

/* The name of the data file's index file; NULL: there is none. */
static tl_status index_file_of(const tl_data_file *file, const char **out, tl_error *err)
{
    *out = NULL;
    for (int32_t i = 0; i < file->n_extra_files; i++) {
        if (!is_index_name(file->extra_files[i]))
            continue;
        if (*out != NULL)
            return tl_error_set(err, TL_E_CORRUPT, "it has two index files: '%s' and '%s'", *out, file->extra_files[i]);
        *out = file->extra_files[i];
    }
    return TL_OK;
}

/* A filter in the terms of the index: a ROW of the columns and of values in maps, which are named as the index names them. */
typedef struct question {
    const tl_type *type;
    tl_predicate *pred;
} question;

static void question_deinit(question *q)
{
    tl_type_unref(q->type);
    tl_predicate_free(q->pred);
}

/* Whether the map has the same type in the file. */
static bool is_same_map(const tl_lsm__file_column *column, const tl_type *map)
{
    return column->unsupported == NULL &&
           (column->evolution == NULL || tl_type_equal(tl_evolution_read_type(column->evolution), map, /* with_nullable= */ false));
}

/* "m[k]" of a file; *out NULL if its index has no such value, or one of another type. Names with a bracket could be read in two ways. */
static tl_status name_of_value(const tl_data_file *file, const tl_lsm__file_column *column, const tl_type *map, const char *key, char **out, tl_error *err)
{
    int32_t hint = 0;
    *out = NULL;
    if (column->name == NULL || strchr(column->name, '[') != NULL || !tl_data_file_holds(file, column->name, &hint) || !is_same_map(column, map))
        return TL_OK;
    *out = tl_strf("%s[%s]", column->name, key);
    return *out == NULL ? tl_nomem(err, "file index") : TL_OK;
}

/* Values in maps go behind the columns of `filter->type`; those that the index does not know are left out of the filter. */
static tl_status make_question(const tl_lsm__index_filter *filter, const tl_data_file *file, const tl_type *table_type, tl_field *fields, int32_t *map,
                               question *q, tl_error *err)
{
    const tl_map_filter *maps = filter->map_filter;
    int32_t n = filter->type->n_fields;
    if (filter->pred != NULL)
        TL_TRY(tl_predicate_dup(filter->pred, &q->pred, err));
    for (int32_t i = 0; i < n; i++)
        fields[i] = filter->type->fields[i];
    for (int32_t i = 0; i < maps->n_values; i++) {
        int32_t column = maps->values[i].column;
        const tl_type *type = table_type->fields[column].type;
        TL_TRY(name_of_value(file, &filter->schema->columns[column], type, maps->values[i].key, &fields[n].name, err));
        map[i] = fields[n].name == NULL ? -1 : n;
        fields[n].type = type->fields[1].type;
        fields[n].id = TL_FILE_INDEX_MAP_VALUE;
        n += map[i] >= 0;
    }
    tl_predicate *of_maps = NULL;
    TL_TRY(tl_type_create_row(/* nullable= */ false, fields, n, &q->type, err));
    TL_TRY(tl_predicate_remap(maps->predicate, map, /* weaken= */ true, &of_maps, err));
    return tl_predicate_combine(TL_PRED_AND, TL_STEAL(q->pred), of_maps, &q->pred, err);
}

static tl_status ask_with_maps(const tl_file_index_place *place, const tl_lsm__index_filter *filter, const tl_data_file *file, const tl_type *table_type,
                               tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err)
{
    const int32_t n = filter->type->n_fields, n_values = filter->map_filter->n_values;
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)n + (size_t)n_values + 1, sizeof *fields);
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc(((size_t)n_values + 1) * sizeof *map);
    TL_CLEANUP(question_deinit) question q = {.pred = NULL};
    if (fields == NULL || map == NULL)
        return tl_nomem(err, "file index");
    tl_status status = make_question(filter, file, table_type, fields, map, &q, err);
    for (int32_t i = n; i < n + n_values; i++)
        tl_free(fields[i].name); /* the type has copies */
    if (status == TL_OK)
        status = tl_file_index_ask(place, q.pred, q.type, file->rows, verdict, out, err);
    return status;
}

static tl_status ask(const tl_lsm__bucket *bucket, const tl_file_index_place *place, const tl_lsm__index_filter *filter, const tl_data_file *file,
                     tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err)
{
    return filter->map_filter == NULL ? tl_file_index_ask(place, filter->pred, filter->type, file->rows, verdict, out, err)
                                      : ask_with_maps(place, filter, file, bucket->config->schema->row_type, verdict, out, err);
}

tl_status tl_lsm__index_ask(const tl_lsm__bucket *bucket, const tl_data_file *file, const tl_lsm__index_filter *filter,
                            tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err)
{
    const char *name = NULL;
    tl_file_index_place place = {.fs = bucket->config->fs};
    *verdict = TL_INDEX_ALL;
    if (!bucket->config->index_read)
        return TL_OK;
    if (file->embedded_index.data != NULL) {
        place.bytes = tl_bytes_view_of(file->embedded_index);
        return ask(bucket, &place, filter, file, verdict, out, err);
    }
    TL_TRY(index_file_of(file, &name, err));
    if (name == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *path = path_beside(bucket, file, name);
    if (path == NULL)
        return tl_nomem(err, "file index");
    place.path = path;
    return ask(bucket, &place, filter, file, verdict, out, err);
}

/* ---- made anew ---- */

/* The plan's columns among those of the table, in `columns` (room for all); how many. */
static int32_t used_columns(const tl_file_index_plan *plan, int32_t n, int32_t *columns)
{
    int32_t used = 0;
    for (int32_t i = 0; i < n; i++) {
        columns[used] = i;
        used += tl_file_index_plan_uses(plan, i);
    }
    return used;
}

/* All rows of the file, in order, deleted ones too: positions count. */
static tl_status add_rows(tl_reader *reader, const int32_t *columns, int32_t n_columns, tl_column **cols, tl_file_index_writer *writer, tl_error *err)
{
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        for (int32_t i = 0; i < n_columns; i++)
            cols[columns[i]] = batch->cols[i];
        TL_TRY(tl_file_index_writer_add(writer, cols, batch->n_rows, err));
    }
}

static tl_status index_file(tl_lsm_config *of_file, tl_bytes_view partition, int32_t bucket, const tl_data_file *file, const tl_file_index_plan *plan,
                            tl_buf *out, tl_error *err)
{
    int32_t n = tl_lsm__n_columns(of_file);
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc(((size_t)n + 1) * sizeof *columns);
    TL_CLEANUP(tl_freep) tl_column **cols = tl_calloc((size_t)n + 1, sizeof *cols);
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    tl_file_index_writer *writer = NULL;
    tl_data_file *one = (tl_data_file *)file; /* is only read */
    if (columns == NULL || cols == NULL)
        return tl_nomem(err, "file index");
    tl_bucket_read_spec spec = {.columns = columns, .n_columns = used_columns(plan, n, columns), .keep_deletes = true};
    TL_TRY(tl_files_read(of_file, partition, bucket, &one, 1, &spec, &reader, err));
    TL_TRY(tl_file_index_writer_create(plan, &writer, err));
    tl_status status = add_rows(reader, columns, spec.n_columns, cols, writer, err);
    if (status == TL_OK)
        status = tl_file_index_writer_finish(writer, out, err);
    tl_file_index_writer_free(writer);
    return status;
}

/* Whether the entry has this very index, and in the right place. */
static tl_status has_index(const tl_lsm__bucket *bucket, const tl_data_file *file, const char *index_name, const tl_buf *content, bool *out, tl_error *err)
{
    tl_bytes stored = {NULL, 0};
    bool embedded = (int64_t)content->len <= bucket->config->index_in_manifest_bytes;
    *out = false;
    if (embedded && index_name == NULL)
        *out = tl_bytes_equal(tl_bytes_view_of(file->embedded_index), (tl_bytes_view){content->data, content->len});
    if (embedded || index_name == NULL || file->embedded_index.data != NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *path = path_beside(bucket, file, index_name);
    if (path == NULL)
        return tl_nomem(err, "file index");
    tl_status status = tl_fs_read_all(bucket->config->fs, path, INT32_MAX, &stored, err);
    *out = status == TL_OK && tl_bytes_equal(tl_bytes_view_of(stored), (tl_bytes_view){content->data, content->len});
    tl_bytes_deinit(&stored);
    return status == TL_E_NOT_FOUND ? TL_OK : status; /* lost: it is made again */
}

static void drop_index(tl_data_file *file)
{
    int32_t kept = 0;
    tl_bytes_deinit(&file->embedded_index);
    for (int32_t i = 0; i < file->n_extra_files; i++) {
        if (is_index_name(file->extra_files[i]))
            tl_free(file->extra_files[i]);
        else
            file->extra_files[kept++] = file->extra_files[i];
    }
    file->n_extra_files = kept;
}

static tl_status reindex(const tl_lsm__bucket *bucket, tl_lsm_config *of_file, const tl_data_file *file, const tl_file_index_plan *plan,
                         tl_data_file **out, tl_error *err)
{
    const char *old = NULL;
    bool is_there = false;
    TL_CLEANUP(tl_freep) char *name = NULL;
    TL_CLEANUP(tl_buf_deinit) tl_buf content = {0};
    TL_TRY(index_file_of(file, &old, err));
    if (plan == NULL && old == NULL && file->embedded_index.data == NULL)
        return TL_OK;
    if (plan != NULL) {
        TL_TRY(index_file(of_file, tl_bytes_view_of(bucket->partition), bucket->bucket, file, plan, &content, err));
        TL_TRY(has_index(bucket, file, old, &content, &is_there, err));
    }
    if (is_there)
        return TL_OK;
    tl_data_file *made = NULL;
    TL_TRY(tl_data_file_dup(file, &made, err));
    drop_index(made);
    tl_status status = plan == NULL ? TL_OK : free_name(bucket, file, &name, err);
    if (status == TL_OK && plan != NULL)
        status = store_index(bucket, &content, TL_STEAL(name), made, err);
    if (status != TL_OK) {
        tl_data_file_unref(made);
        return status;
    }
    *out = made;
    return TL_OK;
}

tl_status tl_file_reindex(tl_lsm_config *config, tl_lsm_config *of_file, tl_bytes_view partition, int32_t number, const tl_data_file *file,
                          tl_data_file **out, tl_error *err)
{
    const tl_file_index_plan *plan = NULL;
    tl_file_index_plan *mine = NULL;
    tl_lsm__bucket *bucket = NULL;
    *out = NULL;
    if (file->n_write_cols >= 0) /* some columns of rows whose others are in other files */
        return TL_OK;
    TL_TRY(tl_lsm__index_plan_of(config, &plan, err));
    if (plan != NULL)
        TL_TRY(tl_file_index_plan_for(plan, of_file->schema->row_type, &mine, err));
    tl_status status = tl_lsm__bucket_create(config, partition, number, &bucket, err);
    if (status == TL_OK)
        status = reindex(bucket, of_file, file, mine, out, err);
    tl_lsm__bucket_unref(bucket);
    tl_file_index_plan_free(mine);
    return tl_error_wrap(err, status, "data file '%s'", file->name);
}
