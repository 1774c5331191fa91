/*
 * Index files of a snapshot: where they lie, and what becomes of them in a commit. A snapshot's index manifest names all of them;
 * a commit that changes some writes a new one, any other carries the old one over. Source: format reference §15, §16; Java:
 * IndexManifestFileHandler, IndexPathFactory.
 */
#include "table/table_private.h"

tl_status tl_indexes__read(tl_table *table, const tl_snapshot *snap, tl_index_entries *out, tl_error *err)
{
    *out = (tl_index_entries){0};
    if (snap == NULL || snap->index_manifest == NULL)
        return TL_OK;
    return tl_index_manifest_read(table->fs, &table->paths, snap->index_manifest, out, err);
}

/* ---- places ---- */

char *tl_indexes__path(const tl_table *table, tl_bytes_view partition, int32_t bucket, const char *name, const char *external)
{
    return external != NULL ? tl_path_of_uri(external) : tl_index_path(table->config, partition, bucket, name);
}

void tl_indexes__remove(tl_table *table, tl_bytes_view partition, int32_t bucket, const tl_index_file *file)
{
    TL_CLEANUP(tl_freep) char *path = tl_indexes__path(table, partition, bucket, file->name, file->external_path);
    if (path != NULL)
        (void)tl_fs_remove(table->fs, path, NULL); /* missing is fine, anything else leaves an orphan */
}

/* ---- combining ---- */

/* What a new entry takes the place of: the entry of its bucket and type, or of its name. */
static bool by_bucket(const tl_table *table, const tl_index_file *file)
{
    if (strcmp(file->type, TL_INDEX_HASH) == 0)
        return true;
    return strcmp(file->type, TL_INDEX_DELETION_VECTORS) == 0 && table->bucket_mode != TL_BUCKETS_UNAWARE;
}

static tl_status identity(const tl_table *table, const tl_index_entry *entry, tl_buf *out)
{
    const tl_index_file *f = entry->file;
    out->len = 0;
    TL_TRY(tl_buf_append(out, f->type, strlen(f->type) + 1));
    if (!by_bucket(table, f))
        return tl_buf_append(out, f->name, strlen(f->name) + 1);
    TL_TRY(tl_buf_append(out, &entry->bucket, sizeof entry->bucket));
    return tl_buf_append(out, entry->partition.data, entry->partition.len);
}

typedef struct combination {
    const tl_table *table;
    tl_map map; /* identity -> entry that stays */
    tl_buf key;
} combination;

/* One change. Entries by bucket replace and vanish silently, as in the reference; names must fit. */
static tl_status apply(combination *c, const tl_index_entry *entry, tl_error *err)
{
    if (identity(c->table, entry, &c->key) != TL_OK)
        return tl_nomem(err, "index files");
    const tl_index_entry *old = tl_map_get(&c->map, c->key.data, c->key.len);
    bool there = old != NULL;
    bool strict = !by_bucket(c->table, entry->file);
    if (entry->kind == TL_ENTRY_DELETE) {
        if (strict && !there)
            return tl_commit__contradiction(err, "Trying to delete index file %s which does not exist.", entry->file->name);
        (void)tl_map_remove(&c->map, c->key.data, c->key.len);
        return TL_OK;
    }
    if (!strict && entry->replaces != NULL && strcmp(entry->replaces, there ? old->file->name : "") != 0)
        return tl_commit__contradiction(err, "Rows of bucket %d were deleted meanwhile: index file %s was made from '%s', now there is '%s'.",
                                        entry->bucket, entry->file->name, entry->replaces, there ? old->file->name : "");
    if (strict && there)
        return tl_commit__contradiction(err, "Trying to add index file %s which is already added.", entry->file->name);
    return tl_map_put(&c->map, c->key.data, c->key.len, (void *)entry, NULL) == TL_OK ? TL_OK : tl_nomem(err, "index files");
}

/* The entries that stay, in the order in which they came. */
static tl_status collect(combination *c, const tl_index_entries *from, tl_index_entries *out, tl_error *err)
{
    for (size_t i = 0; i < from->n; i++) {
        const tl_index_entry *e = &from->items[i];
        if (identity(c->table, e, &c->key) != TL_OK)
            return tl_nomem(err, "index files");
        if (tl_map_get(&c->map, c->key.data, c->key.len) == e)
            TL_TRY(tl_index_entries_add(out, TL_ENTRY_ADD, tl_bytes_view_of(e->partition), e->bucket, e->file, err));
    }
    return TL_OK;
}

tl_status tl_indexes__combine(const tl_table *table, const tl_index_entries *old, const tl_index_entries *changes, tl_index_entries *out,
                              tl_error *err)
{
    combination c = {.table = table};
    tl_status status = TL_OK;
    for (size_t i = 0; i < old->n && status == TL_OK; i++) {
        if (old->items[i].kind != TL_ENTRY_ADD)
            status = tl_error_set(err, TL_E_CORRUPT, "index manifest with a DELETE of '%s'", old->items[i].file->name);
        else
            status = apply(&c, &old->items[i], err);
    }
    /* What goes goes first, so that it does not take the new one of its bucket away. */
    for (int kind = TL_ENTRY_DELETE; kind >= TL_ENTRY_ADD; kind--) {
        for (size_t i = 0; i < changes->n && status == TL_OK; i++) {
            if (changes->items[i].kind == (tl_entry_kind)kind)
                status = apply(&c, &changes->items[i], err);
        }
    }
    if (status == TL_OK)
        status = collect(&c, old, out, err);
    if (status == TL_OK)
        status = collect(&c, changes, out, err);
    tl_map_deinit(&c.map);
    tl_buf_deinit(&c.key);
    if (status != TL_OK)
        tl_index_entries_deinit(out);
    return status;
}
