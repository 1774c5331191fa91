/* Reading manifests and manifest lists (format reference §4). Java: ManifestFile, ManifestList. */
#include "meta/manifest_record.h"
#include "meta/meta_private.h"

/* The file's bytes. Its size is in the metadata that names it; another size means that it was cut off or replaced. */
static tl_status load(tl_fs *fs, const tl_paths *paths, const char *name, int64_t bytes, char **path, tl_bytes *out,
                      tl_error *err)
{
    TL_TRY(tl_meta__check_name("manifest", name, TL_E_CORRUPT, err));
    if ((*path = tl_paths_manifest(paths, name)) == NULL)
        return tl_nomem(err, "manifest");
    TL_TRY(tl_fs_read_all(fs, *path, TL_META_MANIFEST_BYTES_MAX, out, err));
    if (bytes > 0 && (size_t)bytes != out->len)
        return tl_error_set(err, TL_E_CORRUPT, "has %zu bytes where %lld are recorded", out->len, (long long)bytes);
    return TL_OK;
}

typedef tl_status (*decode_fn)(tl_meta__records *records, void *ctx, tl_error *err);

static tl_status decode_file(tl_fs *fs, const tl_paths *paths, const char *name, int64_t bytes, const tl_avro_record *fields,
                             decode_fn decode, void *ctx, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = NULL;
    tl_bytes file = {0};
    tl_meta__records *records = NULL;
    tl_status status = load(fs, paths, name, bytes, &path, &file, err);
    if (status == TL_OK)
        status = tl_meta__records_open(fs, path, tl_bytes_view_of(file), fields, &records, err);
    if (status == TL_OK)
        status = decode(records, ctx, err);
    tl_meta__records_free(records);
    tl_bytes_deinit(&file);
    return status;
}

static tl_status check_version(int64_t version, tl_error *err)
{
    return version == TL_META_MANIFEST_VERSION
               ? TL_OK
               : tl_error_set(err, TL_E_UNSUPPORTED, "manifest version %lld", (long long)version);
}

/* ---- manifests ---- */

typedef struct entry_sink {
    tl_entry_filter filter;
    void *ctx;
    tl_entries *out;
} entry_sink;

/* Names become parts of paths that are read and, one day, removed. */
static tl_status check_file_name(tl_bytes_view name, tl_error *err)
{
    return tl_path_is_name(name) ? TL_OK
                                 : tl_error_set(err, TL_E_CORRUPT, "entry with the file name '%.*s'", (int)TL_MIN(name.len, 200),
                                                (const char *)name.data);
}

static tl_status add_entry(tl_entries *out, const tl_meta__entry_record *record, tl_error *err)
{
    if (record->kind != TL_ENTRY_ADD && record->kind != TL_ENTRY_DELETE)
        return tl_error_set(err, TL_E_CORRUPT, "entry kind %lld", (long long)record->kind);
    TL_TRY(check_file_name(record->file.name, err));
    for (int32_t i = 0; i < record->file.extra_files.n; i++)
        TL_TRY(check_file_name(record->file.extra_files.items[i], err));
    tl_data_file *file;
    TL_TRY(tl_meta__file_from_record(&record->file, &file, err));
    tl_status status = tl_entries_add(out, (tl_entry_kind)record->kind, record->partition, (int32_t)record->bucket,
                                      (int32_t)record->total_buckets, file, err);
    tl_data_file_unref(file);
    return status;
}

static tl_status decode_entries(tl_meta__records *records, void *ctx, tl_error *err)
{
    entry_sink *sink = ctx;
    tl_meta__entry_record record;
    for (;;) {
        bool more;
        TL_TRY(tl_meta__records_next(records, &record, &more, err));
        if (!more)
            return TL_OK;
        TL_TRY(check_version(record.version, err));
        if (sink->filter == NULL || sink->filter(sink->ctx, record.partition, (int32_t)record.bucket,
                                                 (int32_t)record.total_buckets, (int32_t)record.file.level))
            TL_TRY(add_entry(sink->out, &record, err));
    }
}

tl_status tl_manifest_read(tl_fs *fs, const tl_paths *paths, const char *name, int64_t bytes, tl_entry_filter filter, void *ctx,
                           tl_entries *out, tl_error *err)
{
    entry_sink sink = {filter, ctx, out};
    size_t before = out->n;
    tl_status status = decode_file(fs, paths, name, bytes, &tl_meta__entry_fields, decode_entries, &sink, err);
    while (status != TL_OK && out->n > before) { /* all or nothing */
        tl_manifest_entry *entry = &out->items[--out->n];
        tl_bytes_deinit(&entry->partition);
        tl_data_file_unref(entry->file);
    }
    return tl_error_wrap(err, status, "manifest '%s'", name);
}

/* ---- manifest lists ---- */

static void meta_deinit(tl_manifest_meta *meta)
{
    tl_free(meta->name);
    tl_simple_stats_deinit(&meta->partition_stats);
}

void tl_manifest_list_deinit(tl_manifest_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        meta_deinit(&list->items[i]);
    tl_free(list->items);
    *list = (tl_manifest_list){0};
}

static int32_t bound(int64_t v)
{
    return v == TL_AVRO_ABSENT ? INT32_MIN : (int32_t)v;
}

static tl_status add_meta(tl_manifest_list *list, const tl_meta__list_record *r, tl_error *err)
{
    tl_manifest_meta *meta;
    TL_TRY(tl_meta__list_slot(list, &meta, err));
    *meta = (tl_manifest_meta){
        .bytes = r->bytes,
        .added = r->added,
        .deleted = r->deleted,
        .schema_id = r->schema_id,
        .min_bucket = bound(r->min_bucket),
        .max_bucket = bound(r->max_bucket),
        .min_level = bound(r->min_level),
        .max_level = bound(r->max_level),
        .min_row_id = r->min_row_id,
        .max_row_id = r->max_row_id,
    };
    if ((meta->name = tl_strndup((const char *)r->name.data, r->name.len)) == NULL)
        return tl_nomem(err, "manifest list");
    tl_status status = tl_meta__stats_from_record(&r->partition_stats, &meta->partition_stats, err);
    if (status != TL_OK)
        tl_free(meta->name);
    else
        list->n++;
    return status;
}

static tl_status decode_list(tl_meta__records *records, void *ctx, tl_error *err)
{
    tl_meta__list_record record;
    for (;;) {
        bool more;
        TL_TRY(tl_meta__records_next(records, &record, &more, err));
        if (!more)
            return TL_OK;
        TL_TRY(check_version(record.version, err));
        TL_TRY(add_meta(ctx, &record, err));
    }
}

tl_status tl_manifest_list_read(tl_fs *fs, const tl_paths *paths, const char *name, int64_t bytes, tl_manifest_list *out,
                                tl_error *err)
{
    size_t before = out->n;
    tl_status status = decode_file(fs, paths, name, bytes, &tl_meta__list_fields, decode_list, out, err);
    while (status != TL_OK && out->n > before)
        meta_deinit(&out->items[--out->n]);
    return tl_error_wrap(err, status, "manifest list '%s'", name);
}
