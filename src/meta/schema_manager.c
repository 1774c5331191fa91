/* Schema files: reading, finding the newest, publishing the next (format reference §2, "Evolution"). Java: SchemaManager. */
#include "meta/meta_private.h"

tl_status tl_schema_read(tl_fs *fs, const tl_paths *paths, int64_t id, tl_table_schema **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_schema(paths, id);
    if (path == NULL)
        return tl_nomem(err, "schema");
    tl_bytes text = {0};
    tl_status status = tl_fs_read_all(fs, path, TL_META_JSON_BYTES_MAX, &text, err);
    if (status == TL_OK)
        status = tl_table_schema_parse(tl_bytes_view_of(text), out, err);
    tl_bytes_deinit(&text);
    return tl_error_wrap(err, status, "schema %lld", (long long)id);
}

tl_status tl_schema_list(tl_fs *fs, const tl_paths *paths, int64_t **ids, size_t *n, tl_error *err)
{
    return tl_meta__list_ids(fs, paths, "schema", "schema-", ids, n, err);
}

tl_status tl_schema_latest(tl_fs *fs, const tl_paths *paths, tl_table_schema **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) int64_t *ids = NULL;
    size_t n;
    TL_TRY(tl_schema_list(fs, paths, &ids, &n, err));
    if (n == 0)
        return tl_error_set(err, TL_E_NOT_FOUND, "no schema in '%s'", paths->table);
    return tl_schema_read(fs, paths, ids[n - 1], out, err);
}

tl_status tl_schema_publish(tl_fs *fs, const tl_paths *paths, const tl_table_schema *schema, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_schema(paths, schema->id);
    if (path == NULL)
        return tl_nomem(err, "schema");
    tl_bytes text = {0};
    TL_TRY(tl_table_schema_format(schema, &text, err));
    tl_status status = tl_fs_publish(fs, path, tl_bytes_view_of(text), /* replace= */ false, err);
    tl_bytes_deinit(&text);
    if (status != TL_E_EXISTS)
        return tl_error_wrap(err, status, "schema %lld", (long long)schema->id);
    return tl_error_set(err, TL_E_CONFLICT, "schema %lld is there already", (long long)schema->id);
}
