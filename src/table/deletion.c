/*
 * Deleting what no snapshot needs any more: data files, changelog files, manifests. Source: format reference §17; Java:
 * FileDeletionBase, SnapshotDeletion, TagDeletion.
 *
 * Deletion is upkeep. What cannot be read is left alone (an earlier run may have died half-way and removed it), and a file that
 * cannot be removed stays as an orphan; only running out of memory ends it.
 */
#include "table/table_private.h"

static char mark;

void tl_name_set_deinit(tl_name_set *set)
{
    tl_map_deinit(&set->map);
}

tl_status tl_name_set_add(tl_name_set *set, const void *name, size_t bytes)
{
    return tl_map_put(&set->map, name, bytes, &mark, NULL);
}

bool tl_name_set_has(const tl_name_set *set, const void *name, size_t bytes)
{
    return tl_map_get(&set->map, name, bytes) != NULL;
}

static tl_status add_name(tl_name_set *set, const char *name, tl_error *err)
{
    if (name == NULL)
        return TL_OK;
    return tl_name_set_add(set, name, strlen(name)) == TL_OK ? TL_OK : tl_nomem(err, "names in use");
}

/* A physical file: partition, bucket, name. Levels do not count: a moved file is the same file. */
tl_status tl_deletion__file_key(const tl_manifest_entry *entry, tl_buf *out)
{
    out->len = 0;
    TL_TRY(tl_buf_append(out, &entry->bucket, sizeof entry->bucket));
    TL_TRY(tl_buf_append(out, entry->partition.data, entry->partition.len));
    return tl_buf_append(out, entry->file->name, strlen(entry->file->name) + 1);
}

/* ---- what is in use ---- */

tl_status tl_deletion__add_files(tl_table *table, const tl_snapshot *snap, tl_name_set *set, tl_error *err)
{
    tl_entries entries = {0};
    tl_buf key = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, snap);
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        if (tl_deletion__file_key(&entries.items[i], &key) != TL_OK || tl_name_set_add(set, key.data, key.len) != TL_OK)
            status = tl_nomem(err, "files in use");
    }
    tl_buf_deinit(&key);
    tl_entries_deinit(&entries);
    return status;
}

tl_status tl_deletion__add_manifests(tl_table *table, const tl_snapshot *snap, tl_name_set *set, tl_error *err)
{
    TL_TRY(add_name(set, snap->base_manifest_list, err));
    TL_TRY(add_name(set, snap->delta_manifest_list, err));
    TL_TRY(add_name(set, snap->index_manifest, err));
    TL_TRY(add_name(set, snap->statistics, err));
    tl_manifest_list list = {0};
    tl_status status = tl_table__manifests(table, snap, TL_SCAN_ALL, &list, err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++)
        status = add_name(set, list.items[i].name, err);
    tl_manifest_list_deinit(&list);
    tl_index_entries indexes = {0};
    if (status == TL_OK)
        status = tl_indexes__read(table, snap, &indexes, err);
    for (size_t i = 0; status == TL_OK && i < indexes.n; i++)
        status = add_name(set, indexes.items[i].file->name, err);
    tl_index_entries_deinit(&indexes);
    return status;
}

tl_status tl_deletion__add_list(tl_table *table, const char *name, int64_t bytes, tl_name_set *manifests, tl_name_set *files, tl_error *err)
{
    tl_manifest_list list = {0};
    tl_entries entries = {0};
    tl_buf key = {0};
    tl_status status = add_name(manifests, name, err);
    if (status == TL_OK && name != NULL)
        status = tl_manifest_list_read(table->fs, &table->paths, name, bytes, &list, err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++) {
        status = add_name(manifests, list.items[i].name, err);
        if (status == TL_OK && files != NULL)
            status = tl_manifest_read(table->fs, &table->paths, list.items[i].name, list.items[i].bytes, NULL, NULL, &entries, err);
    }
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        if (tl_deletion__file_key(&entries.items[i], &key) != TL_OK || tl_name_set_add(files, key.data, key.len) != TL_OK)
            status = tl_nomem(err, "files in use");
    }
    tl_buf_deinit(&key);
    tl_entries_deinit(&entries);
    tl_manifest_list_deinit(&list);
    return status;
}

/* ---- data files ---- */

/* Bucket folders that lost a file, as partition and bucket. */
static tl_status note_dir(tl_name_set *dirs, const tl_manifest_entry *entry, tl_error *err)
{
    tl_buf key = {0};
    tl_status status = tl_buf_append(&key, &entry->bucket, sizeof entry->bucket);
    if (status == TL_OK)
        status = tl_buf_append(&key, entry->partition.data, entry->partition.len);
    if (status == TL_OK)
        status = tl_name_set_add(dirs, key.data, key.len);
    tl_buf_deinit(&key);
    return status == TL_OK ? TL_OK : tl_nomem(err, "folders");
}

static tl_status remove_entry(tl_table *table, const tl_manifest_entry *entry, tl_name_set *dirs, tl_error *err)
{
    tl_table__remove_file(table, tl_bytes_view_of(entry->partition), entry->bucket, entry->file);
    return note_dir(dirs, entry, err);
}

/* Entries of a manifest list in order; *ok is false if some of it cannot be read. */
static tl_status read_list(tl_table *table, const char *name, int64_t bytes, tl_entries *out, bool *ok, tl_error *err)
{
    tl_manifest_list list = {0};
    tl_status status = tl_manifest_list_read(table->fs, &table->paths, name, bytes, &list, err);
    for (size_t i = 0; status == TL_OK && i < list.n; i++)
        status = tl_manifest_read(table->fs, &table->paths, list.items[i].name, list.items[i].bytes, NULL, NULL, out, err);
    tl_manifest_list_deinit(&list);
    *ok = status == TL_OK;
    return status == TL_E_NOMEM ? status : TL_OK;
}

/* Whether neither a tag (`keep`) nor another branch needs it. */
static tl_status is_unused(tl_table *table, const tl_manifest_entry *e, const tl_buf *key, const tl_name_set *keep, tl_branch_uses *others, bool *out,
                           tl_error *err)
{
    bool used = keep != NULL && tl_name_set_has(keep, key->data, key->len);
    if (!used)
        TL_TRY(tl_branch_uses__has(table, others, e->file, (tl_bytes_view){key->data, key->len}, &used, err));
    *out = !used;
    return TL_OK;
}

tl_status tl_deletion__delta(tl_table *table, const tl_snapshot *snap, const tl_name_set *keep, tl_branch_uses *others, bool keep_appended,
                             tl_name_set *dirs, tl_error *err)
{
    tl_entries entries = {0};
    tl_map gone = {0}; /* file -> its DELETE entry, as long as no ADD followed: a moved file is deleted on one level, added on another */
    tl_buf key = {0};
    bool ok = false;
    tl_status status = read_list(table, snap->delta_manifest_list, snap->delta_manifest_list_bytes, &entries, &ok, err);
    for (size_t i = 0; status == TL_OK && ok && i < entries.n; i++) {
        tl_manifest_entry *e = &entries.items[i];
        bool unused = false;
        status = tl_deletion__file_key(e, &key);
        if (status == TL_OK && e->kind == TL_ENTRY_ADD) {
            const tl_manifest_entry *before = tl_map_remove(&gone, key.data, key.len);
            if (before != NULL) /* the file got another index */
                tl_table__remove_extra_files(table, tl_bytes_view_of(before->partition), before->bucket, before->file, e->file);
        }
        else if (keep_appended && e->file->file_source != TL_FILE_COMPACTED)
            continue; /* of files of older releases the source is not known */
        else if (status == TL_OK)
            status = is_unused(table, e, &key, keep, others, &unused, err);
        if (status == TL_OK && unused)
            status = tl_map_put(&gone, key.data, key.len, e, NULL);
        if (status != TL_OK)
            status = tl_nomem(err, "files");
    }
    size_t pos = 0;
    tl_bytes_view ignored;
    void *value;
    while (status == TL_OK && tl_map_next(&gone, &pos, &ignored, &value))
        status = remove_entry(table, value, dirs, err);
    tl_buf_deinit(&key);
    tl_map_deinit(&gone);
    tl_entries_deinit(&entries);
    return status;
}

tl_status tl_deletion__added(tl_table *table, const char *list, int64_t bytes, tl_name_set *dirs, tl_error *err)
{
    tl_entries entries = {0};
    bool ok = false;
    tl_status status = read_list(table, list, bytes, &entries, &ok, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        if (entries.items[i].kind == TL_ENTRY_ADD)
            status = remove_entry(table, &entries.items[i], dirs, err);
    }
    tl_entries_deinit(&entries);
    return status;
}

tl_status tl_deletion__live(tl_table *table, const tl_snapshot *snap, const tl_name_set *keep, tl_name_set *dirs, tl_error *err)
{
    tl_entries entries = {0};
    tl_buf key = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, snap);
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    if (status != TL_OK && status != TL_E_NOMEM) {
        tl_entries_deinit(&entries);
        return TL_OK; /* see the head of the file */
    }
    for (size_t i = 0; status == TL_OK && i < entries.n; i++) {
        if (tl_deletion__file_key(&entries.items[i], &key) != TL_OK)
            status = tl_nomem(err, "files");
        else if (!tl_name_set_has(keep, key.data, key.len))
            status = remove_entry(table, &entries.items[i], dirs, err);
    }
    tl_buf_deinit(&key);
    tl_entries_deinit(&entries);
    return status;
}

/* ---- manifests ---- */

static void remove_path(tl_table *table, char *path_take)
{
    if (path_take != NULL)
        (void)tl_fs_remove(table->fs, path_take, NULL); /* missing is fine, anything else leaves an orphan */
    tl_free(path_take);
}

static tl_status remove_manifest(tl_table *table, const char *name, tl_name_set *keep, tl_error *err)
{
    if (tl_name_set_has(keep, name, strlen(name)))
        return TL_OK;
    remove_path(table, tl_paths_manifest(&table->paths, name));
    return add_name(keep, name, err); /* other snapshots name it, too: once is enough */
}

static tl_status remove_manifest_list(tl_table *table, const char *name, int64_t bytes, tl_name_set *keep, tl_error *err)
{
    if (name == NULL)
        return TL_OK;
    tl_manifest_list list = {0};
    tl_status status = tl_manifest_list_read(table->fs, &table->paths, name, bytes, &list, err);
    if (status != TL_OK && status != TL_E_NOMEM)
        status = TL_OK; /* gone already */
    for (size_t i = 0; status == TL_OK && i < list.n; i++)
        status = remove_manifest(table, list.items[i].name, keep, err);
    tl_manifest_list_deinit(&list);
    return status == TL_OK ? remove_manifest(table, name, keep, err) : status;
}

/* The index manifest and the index files that only this snapshot has. */
static tl_status remove_indexes(tl_table *table, const tl_snapshot *snap, tl_name_set *keep, tl_error *err)
{
    if (snap->index_manifest == NULL)
        return TL_OK;
    tl_index_entries indexes = {0};
    tl_status status = tl_indexes__read(table, snap, &indexes, err);
    if (status != TL_OK && status != TL_E_NOMEM)
        status = TL_OK; /* gone already */
    for (size_t i = 0; status == TL_OK && i < indexes.n; i++) {
        const tl_index_entry *e = &indexes.items[i];
        if (tl_name_set_has(keep, e->file->name, strlen(e->file->name)))
            continue;
        tl_indexes__remove(table, tl_bytes_view_of(e->partition), e->bucket, e->file);
        status = add_name(keep, e->file->name, err);
    }
    tl_index_entries_deinit(&indexes);
    return status == TL_OK ? remove_manifest(table, snap->index_manifest, keep, err) : status;
}

tl_status tl_deletion__manifests(tl_table *table, const tl_snapshot *snap, unsigned lists, tl_name_set *keep, tl_error *err)
{
    if ((lists & TL_LISTS_DATA) != 0) {
        TL_TRY(remove_manifest_list(table, snap->base_manifest_list, snap->base_manifest_list_bytes, keep, err));
        TL_TRY(remove_manifest_list(table, snap->delta_manifest_list, snap->delta_manifest_list_bytes, keep, err));
    }
    if ((lists & TL_LISTS_CHANGELOG) != 0)
        TL_TRY(remove_manifest_list(table, snap->changelog_manifest_list, snap->changelog_manifest_list_bytes, keep, err));
    if ((lists & TL_LISTS_INDEXES) == 0)
        return TL_OK;
    TL_TRY(remove_indexes(table, snap, keep, err));
    if (snap->statistics != NULL && !tl_name_set_has(keep, snap->statistics, strlen(snap->statistics))) {
        TL_CLEANUP(tl_freep) char *dir = tl_paths_dir(&table->paths, "statistics");
        remove_path(table, dir == NULL ? NULL : tl_path_join(dir, snap->statistics));
        return add_name(keep, snap->statistics, err);
    }
    return TL_OK;
}

/* ---- folders ---- */

/* Remove the bucket's folder and then its partition folders, as long as they are empty. */
static void remove_dirs(tl_table *table, int32_t bucket, tl_bytes_view partition)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_CLEANUP(tl_freep) char *partition_path = NULL;
    if (tl_binary_row_decode(partition, table->partition_type, true, &row, NULL) != TL_OK ||
        tl_partition_path(row, table->config->partition_default_name, table->config->legacy_partition_names, &partition_path, NULL) != TL_OK)
        return;
    TL_CLEANUP(tl_freep) char *path = tl_paths_bucket(&table->paths, table->config->data_dir, partition_path, bucket);
    /* The bucket and one folder for each partition column; never the table's own. */
    for (int32_t depth = 0; path != NULL && depth <= table->n_partition; depth++) {
        if (tl_fs_remove(table->fs, path, NULL) != TL_OK)
            return;
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

tl_status tl_deletion__empty_dirs(tl_table *table, const tl_name_set *dirs, tl_error *err)
{
    (void)err;
    if (!tl_table__option_bool(&table->schema->options, "snapshot.clean-empty-directories"))
        return TL_OK;
    size_t pos = 0;
    tl_bytes_view key;
    void *ignored;
    while (tl_map_next(&dirs->map, &pos, &key, &ignored)) {
        int32_t bucket;
        memcpy(&bucket, key.data, sizeof bucket);
        remove_dirs(table, bucket, (tl_bytes_view){key.data + sizeof bucket, key.len - sizeof bucket});
    }
    return TL_OK;
}
