/*
 * Data files that the latest snapshot has and the storage has not: told, and taken out of the table. Java: ListUnexistingFiles,
 * RemoveUnexistingFilesAction.
 */
#include "table/table_private.h"

#include <stdlib.h>

typedef struct lost {
    tl_changes changes; /* a DELETE for each */
    char **paths;
    size_t n;
} lost;

static tl_status look_at(tl_table *table, const tl_manifest_entry *e, lost *out, tl_error *err)
{
    bool there = true;
    TL_CLEANUP(tl_freep) char *path = tl_data_file_path(table->config, tl_bytes_view_of(e->partition), e->bucket, e->file);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_exists(table->fs, path, &there, err));
    if (there)
        return TL_OK;
    char **grown = tl_realloc(out->paths, (out->n + 1) * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, "files");
    out->paths = grown;
    out->paths[out->n++] = TL_STEAL(path);
    return tl_entries_add(&out->changes.table, TL_ENTRY_DELETE, tl_bytes_view_of(e->partition), e->bucket, e->total_buckets, e->file, err);
}

/* Postponed files are left alone, as in the reference: a batch read has none of them. */
static tl_status find(tl_table *table, const tl_snapshot *latest, lost *out, tl_error *err)
{
    tl_entries live = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.real_buckets_only = true;
    tl_status status = tl_table__scan(table, &scan, &live, err);
    for (size_t i = 0; status == TL_OK && i < live.n; i++)
        status = look_at(table, &live.items[i], out, err);
    tl_entries_deinit(&live);
    return status;
}

static tl_status commit(tl_table *table, const tl_changes *changes, tl_error *err)
{
    char uuid[37];
    int64_t id;
    int32_t retries;
    tl_uuid(uuid);
    /* Deletion vectors of the files stay behind, as in the reference; the check of vectors would not have it. */
    const tl_attempt attempt = {.table = table,
                                .user = uuid,
                                .identifier = TL_COMMIT_BATCH,
                                .watermark = TL_ABSENT,
                                .kind = TL_COMMIT_OVERWRITE,
                                .check = !table->config->deletion_vectors};
    return tl_commit__try(&attempt, changes, &id, &retries, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

tl_status tl_table_remove_lost_files(tl_table *table, bool dry_run, char ***paths, size_t *n, tl_error *err)
{
    char name[256];
    lost found = {0};
    TL_TRY(tl_table__require_data(table, "mend it", err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    tl_status status = latest == NULL ? TL_OK : find(table, latest, &found, err);
    if (status == TL_OK && !dry_run && found.n > 0)
        status = commit(table, &found.changes, err);
    tl_changes_deinit(&found.changes);
    if (status != TL_OK) {
        tl_names_free(found.paths, found.n);
        return tl_error_wrap(err, status, "files of table %s", tl_table__full_name(table, name));
    }
    if (found.n > 1)
        qsort(found.paths, found.n, sizeof *found.paths, by_text);
    *paths = found.paths;
    *n = found.n;
    return TL_OK;
}
