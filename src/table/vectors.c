/*
 * The deletion vectors of a snapshot: which bucket's data files have one, and where. Source: format reference §15; Java:
 * SnapshotReaderImpl.scanDvIndex.
 */
#include "table/table_private.h"

void tl_vectors__deinit(tl_vectors *vectors)
{
    size_t pos = 0;
    tl_bytes_view ignored;
    void *value;
    while (tl_map_next(&vectors->sets, &pos, &ignored, &value))
        tl_dv_set_unref(value);
    tl_map_deinit(&vectors->sets);
    for (pos = 0; tl_map_next(&vectors->files, &pos, &ignored, &value);) {
        tl_index_list_deinit(value);
        tl_free(value);
    }
    tl_map_deinit(&vectors->files);
    tl_buf_deinit(&vectors->key);
}

static tl_status bucket_key(tl_buf *key, tl_bytes_view partition, int32_t bucket)
{
    key->len = 0;
    TL_TRY(tl_buf_append(key, &bucket, sizeof bucket));
    return tl_buf_append(key, partition.data, partition.len);
}

/* The set of the entry's bucket, made if it is the first. */
static tl_status set_of(tl_table *table, const tl_index_entry *e, tl_vectors *out, tl_dv_set **set, tl_error *err)
{
    if (bucket_key(&out->key, tl_bytes_view_of(e->partition), e->bucket) != TL_OK)
        return tl_nomem(err, "deletion vectors");
    *set = tl_map_get(&out->sets, out->key.data, out->key.len);
    if (*set != NULL)
        return TL_OK;
    TL_TRY(tl_dv_set_create(table->fs, set, err));
    if (tl_map_put(&out->sets, out->key.data, out->key.len, *set, NULL) == TL_OK)
        return TL_OK;
    tl_dv_set_unref(*set);
    return tl_nomem(err, "deletion vectors");
}

/* Note the index file as one of its bucket. */
static tl_status add_file(const tl_index_entry *e, tl_vectors *out, tl_error *err)
{
    if (bucket_key(&out->key, tl_bytes_view_of(e->partition), e->bucket) != TL_OK)
        return tl_nomem(err, "deletion vectors");
    tl_index_list *list = tl_map_get(&out->files, out->key.data, out->key.len);
    if (list == NULL) {
        list = tl_calloc(1, sizeof *list);
        if (list == NULL || tl_map_put(&out->files, out->key.data, out->key.len, list, NULL) != TL_OK) {
            tl_free(list);
            return tl_nomem(err, "deletion vectors");
        }
    }
    return tl_index_list_add(list, e->file, err);
}

static tl_status add_ranges(tl_table *table, const tl_index_entry *e, tl_vectors *out, tl_error *err)
{
    const tl_index_file *file = e->file;
    tl_dv_set *set = NULL;
    TL_TRY(add_file(e, out, err));
    if (file->n_ranges <= 0)
        return TL_OK;
    TL_TRY(set_of(table, e, out, &set, err));
    TL_CLEANUP(tl_freep) char *path = tl_indexes__path(table, tl_bytes_view_of(e->partition), e->bucket, file->name, file->external_path);
    if (path == NULL)
        return tl_nomem(err, "deletion vectors");
    for (int32_t i = 0; i < file->n_ranges; i++) {
        const tl_dv_range *r = &file->ranges[i];
        tl_dv_place place = {path, r->offset, r->bytes, r->cardinality};
        TL_TRY(tl_dv_set_add(set, r->data_file, &place, err));
    }
    return TL_OK;
}

tl_status tl_vectors__of_entries(tl_table *table, const tl_index_entries *entries, tl_vectors *out, tl_error *err)
{
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < entries->n; i++) {
        if (strcmp(entries->items[i].file->type, TL_INDEX_DELETION_VECTORS) == 0)
            status = add_ranges(table, &entries->items[i], out, err);
    }
    if (status != TL_OK)
        tl_vectors__deinit(out);
    return status;
}

tl_status tl_vectors__read(tl_table *table, const tl_snapshot *snap, tl_vectors *out, tl_error *err)
{
    *out = (tl_vectors){0};
    if (!table->config->deletion_vectors)
        return TL_OK;
    tl_index_entries entries = {0};
    TL_TRY(tl_error_wrap(err, tl_indexes__read(table, snap, &entries, err), "snapshot %lld", (long long)snap->id));
    tl_status status = tl_vectors__of_entries(table, &entries, out, err);
    tl_index_entries_deinit(&entries);
    return status;
}

tl_status tl_vectors__find(tl_vectors *vectors, tl_bytes_view partition, int32_t bucket, tl_dv_set **out, tl_error *err)
{
    *out = NULL;
    if (vectors == NULL || vectors->sets.count == 0)
        return TL_OK;
    if (bucket_key(&vectors->key, partition, bucket) != TL_OK)
        return tl_nomem(err, "deletion vectors");
    *out = tl_map_get(&vectors->sets, vectors->key.data, vectors->key.len);
    return TL_OK;
}

tl_status tl_vectors__files(tl_vectors *vectors, tl_bytes_view partition, int32_t bucket, const tl_index_list **out, tl_error *err)
{
    static const tl_index_list none = {NULL, 0, 0};
    if (bucket_key(&vectors->key, partition, bucket) != TL_OK)
        return tl_nomem(err, "deletion vectors");
    const tl_index_list *list = tl_map_get(&vectors->files, vectors->key.data, vectors->key.len);
    *out = list == NULL ? &none : list;
    return TL_OK;
}
