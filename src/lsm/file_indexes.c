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

tl_status tl_lsm__index_attach(const tl_lsm__bucket *bucket, tl_file_index_writer *writer, tl_data_file *file, tl_error *err)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf content = {0};
    TL_TRY(tl_file_index_writer_finish(writer, &content, err));
    if ((int64_t)content.len <= bucket->config->index_in_manifest_bytes) {
        file->embedded_index = tl_buf_steal(&content);
        return TL_OK;
    }
    TL_CLEANUP(tl_freep) char *name = tl_strf("%s" INDEX_SUFFIX, file->name);
    char **names = tl_calloc(1, sizeof *names);
    tl_status status = name == NULL || names == NULL ? tl_nomem(err, "file index") : TL_OK;
    if (status == TL_OK)
        status = write_beside(bucket, file, name, (tl_bytes_view){content.data, content.len}, err);
    if (status != TL_OK) {
        tl_free(names);
        return status;
    }
    names[0] = TL_STEAL(name);
    file->extra_files = names;
    file->n_extra_files = 1;
    return TL_OK;
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

tl_status tl_lsm__index_ask(const tl_lsm__bucket *bucket, const tl_data_file *file, const tl_predicate *pred, const tl_type *type,
                            tl_file_index_verdict *verdict, tl_row_ranges *out, tl_error *err)
{
    const char *name = NULL;
    tl_file_index_place place = {.fs = bucket->config->fs};
    *verdict = TL_INDEX_ALL;
    if (!bucket->config->index_read)
        return TL_OK;
    if (file->embedded_index.data != NULL) {
        place.bytes = tl_bytes_view_of(file->embedded_index);
        return tl_file_index_ask(&place, pred, type, file->rows, verdict, out, err);
    }
    TL_TRY(index_file_of(file, &name, err));
    if (name == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *path = path_beside(bucket, file, name);
    if (path == NULL)
        return tl_nomem(err, "file index");
    place.path = path;
    return tl_file_index_ask(&place, pred, type, file->rows, verdict, out, err);
}
