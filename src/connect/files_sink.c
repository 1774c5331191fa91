/*
 * Sink 'filesystem': each flush publishes one new file for each partition, whole. Partitions are folders `column=value/`, in the order of
 * PARTITIONED BY; their columns are not in the files. INSERT OVERWRITE replaces what the partitions of the new rows hold, or the whole
 * table if it has none. Source: Flink: FileSystemTableSink, RowPartitionComputer.
 */
#include "connect/connect_private.h"
#include "types/text.h"

typedef struct files_sink {
    tl_sink base;
    tl_connector_spec spec;
    tl_encoder encoder;
    char *path;
    bool *left_out; /* per column: a partition's, or virtual metadata */
    tl_map contents; /* folder below the path ("" or "a=1/b=x") -> tl_buf: what the next flush publishes */
    tl_map begun;    /* folders that were emptied for OVERWRITE */
    tl_buf folder;
    char uuid[37];
    int64_t counter;
} files_sink;

static tl_status partition_folder(files_sink *s, const tl_batch *batch, int64_t i, tl_error *err)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf value = {0};
    tl_status status = TL_OK;
    s->folder.len = 0;
    for (int32_t k = 0; k < s->spec.n_partition_key && status == TL_OK; k++) {
        int32_t c = s->spec.partition_key[k];
        const char *name = s->spec.row_type->fields[c].name;
        value.len = 0;
        if (!tl_col_is_null(batch->cols[c], i))
            status = tl_text_append_cast(&value, batch->cols[c], i);
        if (status == TL_OK && value.len == 0)
            status = tl_buf_append_str(&value, tl_connect__default_partition(s->spec.options));
        if (status == TL_OK && k > 0)
            status = tl_buf_append_byte(&s->folder, '/');
        if (status == TL_OK)
            status = tl_path_escape((tl_bytes_view){(const uint8_t *)name, strlen(name)}, &s->folder);
        if (status == TL_OK)
            status = tl_buf_append_byte(&s->folder, '=');
        if (status == TL_OK)
            status = tl_path_escape((tl_bytes_view){value.data, value.len}, &s->folder);
    }
    return status == TL_OK ? TL_OK : tl_nomem(err, "partition");
}

static tl_status content_of(files_sink *s, tl_buf **out, tl_error *err)
{
    const void *key = s->folder.len == 0 ? "" : (const void *)s->folder.data;
    *out = tl_map_get(&s->contents, key, s->folder.len);
    if (*out != NULL)
        return TL_OK;
    *out = tl_calloc(1, sizeof **out);
    if (*out == NULL || tl_map_put(&s->contents, key, s->folder.len, *out, NULL) != TL_OK) {
        tl_free(*out);
        return tl_nomem(err, "output");
    }
    return TL_OK;
}

static tl_status files_write(tl_sink *sink, const tl_batch *batch, tl_error *err)
{
    files_sink *s = (files_sink *)sink;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (tl_batch_kind(batch, i) != TL_KIND_INSERT)
            return tl_error_set(err, TL_E_INVALID, "files '%s' take only new rows, and this query also changes rows", s->path);
        tl_buf *content;
        TL_TRY(partition_folder(s, batch, i, err));
        TL_TRY(content_of(s, &content, err));
        if (tl_connect__encode_row(&s->encoder, batch, i, content) != TL_OK)
            return tl_nomem(err, "output");
    }
    return TL_OK;
}

/* Remove what a folder held before the statement: the new files are there already, so nothing is lost if this fails. */
static tl_status empty_folder(files_sink *s, tl_bytes_view folder, const char *path, tl_error *err)
{
    if (!s->spec.overwrite || tl_map_get(&s->begun, folder.data, folder.len) != NULL)
        return TL_OK;
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    tl_status status = tl_fs_list(s->spec.fs, path, &entries, &n, err);
    if (status != TL_OK)
        return status == TL_E_NOT_FOUND ? TL_OK : status;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        if (strstr(entries[i].name, s->uuid) != NULL)
            continue;
        TL_CLEANUP(tl_freep) char *old = tl_path_join(path, entries[i].name);
        status = old == NULL ? tl_nomem(err, "path") : tl_fs_remove_all(s->spec.fs, old, err);
    }
    tl_dir_free(entries, n);
    TL_TRY(status);
    return tl_map_put(&s->begun, folder.data, folder.len, s, NULL) == TL_OK ? TL_OK : tl_nomem(err, "output");
}

static tl_status publish(files_sink *s, tl_bytes_view folder, tl_buf *content, tl_error *err)
{
    const char *slash = folder.len > 0 ? "/" : "";
    TL_CLEANUP(tl_freep) char *dir = tl_strf("%s%s%.*s", s->path, slash, (int)folder.len, folder.len > 0 ? (const char *)folder.data : "");
    TL_CLEANUP(tl_freep) char *path = dir == NULL ? NULL : tl_strf("%s/part-%s-%lld", dir, s->uuid, (long long)s->counter++);
    if (path == NULL)
        return tl_nomem(err, "path");
    if (folder.len > 0)
        TL_TRY(tl_fs_mkdirs(s->spec.fs, dir, err));
    TL_TRY(tl_fs_publish(s->spec.fs, path, (tl_bytes_view){content->data, content->len}, false, err));
    content->len = 0;
    return empty_folder(s, folder, dir, err);
}

static void drop_contents(files_sink *s)
{
    size_t pos = 0;
    void *value;
    while (tl_map_next(&s->contents, &pos, NULL, &value)) {
        tl_buf_deinit(value);
        tl_free(value);
    }
    tl_map_deinit(&s->contents);
}

static tl_status files_flush(tl_sink *sink, tl_error *err)
{
    files_sink *s = (files_sink *)sink;
    size_t pos = 0;
    tl_bytes_view folder;
    void *content;
    while (tl_map_next(&s->contents, &pos, &folder, &content))
        if (((tl_buf *)content)->len > 0)
            TL_TRY(publish(s, folder, content, err));
    drop_contents(s); /* partitions come and go: nothing is kept for those of yesterday */
    /* A table that is overwritten by no rows is empty. */
    return s->spec.n_partition_key == 0 && s->spec.overwrite ? empty_folder(s, (tl_bytes_view){(const uint8_t *)"", 0}, s->path, err) : TL_OK;
}

static void files_free(tl_sink *sink)
{
    files_sink *s = (files_sink *)sink;
    drop_contents(s);
    tl_map_deinit(&s->begun);
    tl_buf_deinit(&s->folder);
    tl_free(s->left_out);
    tl_free(s->path);
    tl_free(s);
}

static tl_status init(files_sink *s, tl_error *err)
{
    const tl_connector_spec *spec = &s->spec;
    const char *path = tl_options_get(spec->options, "path");
    if (path == NULL)
        return tl_error_set(err, TL_E_INVALID, "connector 'filesystem' needs the option 'path'");
    s->path = tl_path_of_uri(path);
    s->left_out = tl_calloc((size_t)spec->row_type->n_fields + 1, sizeof *s->left_out);
    if (s->path == NULL || s->left_out == NULL)
        return tl_nomem(err, "sink");
    tl_uuid(s->uuid);
    for (int32_t c = 0; c < spec->row_type->n_fields; c++)
        s->left_out[c] = spec->metadata_keys != NULL && spec->metadata_keys[c] != NULL;
    for (int32_t k = 0; k < spec->n_partition_key; k++)
        s->left_out[spec->partition_key[k]] = true;
    return tl_connect__encoder_init(&s->encoder, spec, s->left_out, err);
}

tl_status tl_connect__files_sink(const tl_connector_spec *spec, FILE *out_file, tl_sink **out, tl_error *err)
{
    (void)out_file;
    static const tl_sink_ops ops = {files_write, files_flush, files_free};
    files_sink *s = tl_calloc(1, sizeof *s);
    if (s == NULL)
        return tl_nomem(err, "sink");
    s->base.ops = &ops;
    s->spec = *spec;
    tl_status status = init(s, err);
    if (status != TL_OK) {
        files_free(&s->base);
        return status;
    }
    *out = &s->base;
    return TL_OK;
}
