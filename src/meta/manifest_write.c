/*
 * Writing manifests (rolling) and manifest lists (format reference §4.4). Java: ManifestFile, ManifestList,
 * RollingFileWriterImpl.
 */
#include "meta/manifest_record.h"
#include "meta/meta_private.h"

/* The reference looks at a manifest's size each so many entries. */
#define ROLL_CHECK_ENTRIES 1000

tl_status tl_meta__list_slot(tl_manifest_list *list, tl_manifest_meta **out, tl_error *err)
{
    if (list->n == list->cap) {
        size_t cap = TL_MAX(list->cap * 2, (size_t)8);
        tl_manifest_meta *items = tl_realloc(list->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "manifest list");
        list->items = items;
        list->cap = cap;
    }
    *out = &list->items[list->n];
    return TL_OK;
}

/* ---- what a manifest's entries have in common ---- */

static void meta_start(tl_manifest_meta *meta)
{
    *meta = (tl_manifest_meta){
        .schema_id = INT64_MIN,
        .min_bucket = INT32_MAX,
        .max_bucket = INT32_MIN,
        .min_level = INT32_MAX,
        .max_level = INT32_MIN,
        .min_row_id = INT64_MAX,
        .max_row_id = INT64_MIN,
    };
}

static void meta_count(tl_manifest_meta *meta, const tl_manifest_entry *entry, bool *has_row_ids)
{
    const tl_data_file *f = entry->file;
    meta->added += entry->kind == TL_ENTRY_ADD;
    meta->deleted += entry->kind == TL_ENTRY_DELETE;
    meta->schema_id = TL_MAX(meta->schema_id, f->schema_id);
    meta->min_bucket = TL_MIN(meta->min_bucket, entry->bucket);
    meta->max_bucket = TL_MAX(meta->max_bucket, entry->bucket);
    meta->min_level = TL_MIN(meta->min_level, f->level);
    meta->max_level = TL_MAX(meta->max_level, f->level);
    if (f->first_row_id == TL_ABSENT) { /* one without is enough: the range would not cover it */
        *has_row_ids = false;
        return;
    }
    meta->min_row_id = TL_MIN(meta->min_row_id, f->first_row_id);
    meta->max_row_id = TL_MAX(meta->max_row_id, f->first_row_id + f->rows - 1);
}

static tl_status meta_finish(tl_manifest_meta *meta, const tl_manifest_entry *entries, size_t n, const tl_type *partition_type,
                             tl_error *err)
{
    bool has_row_ids = true;
    for (size_t i = 0; i < n; i++)
        meta_count(meta, &entries[i], &has_row_ids);
    if (!has_row_ids)
        meta->min_row_id = meta->max_row_id = TL_ABSENT;
    return tl_meta__partition_stats(entries, n, partition_type, &meta->partition_stats, err);
}

/* ---- manifests ---- */

static tl_status append_entry(tl_meta__sink *sink, const tl_manifest_entry *entry, tl_buf *scratch, tl_error *err)
{
    tl_meta__entry_record record = {
        .version = TL_META_MANIFEST_VERSION,
        .kind = entry->kind,
        .partition = tl_bytes_view_of(entry->partition),
        .bucket = entry->bucket,
        .total_buckets = entry->total_buckets,
    };
    TL_TRY(tl_meta__file_to_record(entry->file, scratch, &record.file, err));
    return tl_meta__sink_append(sink, &record, err);
}

/* Write entries into one file until it is large enough or they end; *written tells how many. */
static tl_status fill_file(tl_manifest_writer *w, const char *path, const tl_manifest_entry *entries, size_t n, size_t *total,
                           size_t *written, int64_t *bytes, tl_error *err)
{
    TL_CLEANUP(tl_meta__sink_freep) tl_meta__sink *sink = NULL;
    TL_TRY(tl_meta__sink_create(w, path, &tl_meta__entry_fields, &sink, err));
    tl_buf scratch = {0};
    tl_status status = TL_OK;
    for (*written = 0; *written < n && status == TL_OK;) {
        status = append_entry(sink, &entries[*written], &scratch, err);
        ++*written;
        if (++*total % ROLL_CHECK_ENTRIES == 0 && tl_meta__sink_bytes(sink) >= w->target_bytes)
            break;
    }
    tl_buf_deinit(&scratch);
    return status == TL_OK ? tl_meta__sink_finish(sink, bytes, err) : status;
}

static tl_status write_one(tl_manifest_writer *w, const tl_manifest_entry *entries, size_t n, size_t *total, size_t *written,
                           tl_manifest_list *out, tl_error *err)
{
    tl_manifest_meta *meta;
    TL_TRY(tl_meta__list_slot(out, &meta, err));
    meta_start(meta);
    TL_CLEANUP(tl_freep) char *name = tl_strf("manifest-%s-%d", w->uuid, w->next_manifest++);
    TL_CLEANUP(tl_freep) char *path = name == NULL ? NULL : tl_paths_manifest(&w->paths, name);
    if (path == NULL)
        return tl_nomem(err, "manifest");
    TL_TRY(tl_error_wrap(err, fill_file(w, path, entries, n, total, written, &meta->bytes, err), "manifest '%s'", name));
    tl_status status = meta_finish(meta, entries, *written, w->partition_type, err);
    if (status != TL_OK) {
        (void)tl_fs_remove(w->fs, path, NULL); /* best effort: an orphan is harmless */
        return status;
    }
    meta->name = TL_STEAL(name);
    out->n++;
    return TL_OK;
}

static void remove_files(tl_manifest_writer *w, tl_manifest_list *list, size_t keep)
{
    while (list->n > keep) {
        tl_manifest_meta *meta = &list->items[--list->n];
        TL_CLEANUP(tl_freep) char *path = tl_paths_manifest(&w->paths, meta->name);
        if (path != NULL)
            (void)tl_fs_remove(w->fs, path, NULL); /* best effort: an orphan is harmless */
        tl_free(meta->name);
        tl_simple_stats_deinit(&meta->partition_stats);
    }
}

tl_status tl_manifest_write(tl_manifest_writer *w, const tl_manifest_entry *entries, size_t n, tl_manifest_list *out,
                            tl_error *err)
{
    size_t before = out->n, total = 0;
    for (size_t at = 0; at < n;) {
        size_t written = 0;
        tl_status status = write_one(w, entries + at, n - at, &total, &written, out, err);
        if (status != TL_OK) {
            remove_files(w, out, before);
            return status;
        }
        at += written;
    }
    return TL_OK;
}

/* ---- manifest lists ---- */

static int64_t bound(int32_t v)
{
    return v == INT32_MIN ? TL_AVRO_ABSENT : v;
}

static tl_status append_meta(tl_meta__sink *sink, const tl_manifest_meta *meta, tl_buf *scratch, tl_error *err)
{
    scratch->len = 0;
    if (tl_buf_reserve(scratch, (size_t)TL_MAX(meta->partition_stats.n, 0) * sizeof(int64_t) + 1) != TL_OK)
        return tl_nomem(err, "manifest list");
    tl_meta__list_record record = {
        .version = TL_META_MANIFEST_VERSION,
        .name = {(const uint8_t *)meta->name, strlen(meta->name)},
        .bytes = meta->bytes,
        .added = meta->added,
        .deleted = meta->deleted,
        .schema_id = meta->schema_id,
        .min_bucket = bound(meta->min_bucket),
        .max_bucket = bound(meta->max_bucket),
        .min_level = bound(meta->min_level),
        .max_level = bound(meta->max_level),
        .min_row_id = meta->min_row_id,
        .max_row_id = meta->max_row_id,
    };
    tl_meta__stats_to_record(&meta->partition_stats, (int64_t *)(void *)scratch->data, &record.partition_stats);
    return tl_meta__sink_append(sink, &record, err);
}

static tl_status fill_list(tl_manifest_writer *w, const char *path, const tl_manifest_meta *metas, size_t n, int64_t *bytes,
                           tl_error *err)
{
    TL_CLEANUP(tl_meta__sink_freep) tl_meta__sink *sink = NULL;
    TL_TRY(tl_meta__sink_create(w, path, &tl_meta__list_fields, &sink, err));
    tl_buf scratch = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = append_meta(sink, &metas[i], &scratch, err);
    tl_buf_deinit(&scratch);
    return status == TL_OK ? tl_meta__sink_finish(sink, bytes, err) : status;
}

tl_status tl_manifest_list_write(tl_manifest_writer *w, const tl_manifest_meta *metas, size_t n, char **name, int64_t *bytes,
                                 tl_error *err)
{
    TL_CLEANUP(tl_freep) char *list_name = tl_strf("manifest-list-%s-%d", w->uuid, w->next_list++);
    TL_CLEANUP(tl_freep) char *path = list_name == NULL ? NULL : tl_paths_manifest(&w->paths, list_name);
    if (path == NULL)
        return tl_nomem(err, "manifest list");
    TL_TRY(tl_error_wrap(err, fill_list(w, path, metas, n, bytes, err), "manifest list '%s'", list_name));
    *name = TL_STEAL(list_name);
    return TL_OK;
}
