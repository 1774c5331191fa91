/*
 * Rolling back: younger snapshots, changelogs and tags go, their data files become orphans. Source: format reference §17; Java:
 * RollbackHelper.
 */
#include "table/table_private.h"

static tl_status remove_snapshots(tl_table *table, int64_t from, int64_t to, tl_error *err)
{
    /* From the youngest on: whatever is interrupted leaves a gapless line of snapshots. */
    for (int64_t id = to; id >= from; id--) {
        TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(&table->paths, id);
        if (path == NULL)
            return tl_nomem(err, "path");
        tl_status status = tl_fs_remove(table->fs, path, err);
        if (status != TL_OK && status != TL_E_NOT_FOUND)
            return status;
    }
    return TL_OK;
}

static tl_status remove_tags(tl_table *table, int64_t above, tl_error *err)
{
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        for (size_t t = 0; tags[i].snap->id > above && t < tags[i].n_names && status == TL_OK; t++) {
            TL_CLEANUP(tl_freep) char *path = tl_paths_tag(&table->paths, tags[i].names[t]);
            status = path == NULL ? tl_nomem(err, "path") : tl_fs_remove(table->fs, path, err);
            if (status == TL_E_NOT_FOUND)
                status = TL_OK;
        }
    }
    tl_tags__free(tags, n);
    return status;
}

static tl_status roll_back(tl_table *table, const tl_snapshot *snap, tl_error *err)
{
    int64_t first = 0, last = 0;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err));
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &last, err));
    if (first == 0 || last == 0)
        return tl_error_set(err, TL_E_NOT_FOUND, "Cannot find earliest snapshot.");
    TL_TRY(tl_hint_write(table->fs, &table->paths, "LATEST", snap->id, /* durable= */ true, err));
    TL_TRY(remove_snapshots(table, TL_MAX(first, snap->id + 1), last, err));
    TL_TRY(tl_changelogs__roll_back(table, snap->id, err));
    return remove_tags(table, snap->id, err);
}

/*
 * The tag's snapshot may have expired: it comes back as a file. That is done before anything is removed, so that a crash never
 * leaves a table without snapshots.
 */
static tl_status to_tag(tl_table *table, const char *tag, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_tag_read(table->fs, &table->paths, tag, &snap, err);
    if (status == TL_E_NOT_FOUND)
        return tl_error_set(err, TL_E_NOT_FOUND, "Tag '%s' doesn't exist.", tag);
    TL_TRY(status);
    snap->tag_create_time_ms = snap->tag_retained_ms = TL_ABSENT;
    TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(&table->paths, snap->id);
    if (path == NULL)
        return tl_nomem(err, "path");
    bool alive = false;
    TL_TRY(tl_fs_exists(table->fs, path, &alive, err));
    if (!alive) {
        tl_bytes text = {0};
        TL_TRY(tl_snapshot_format(snap, &text, err));
        status = tl_fs_publish(table->fs, path, tl_bytes_view_of(text), /* replace= */ false, err);
        tl_bytes_deinit(&text);
        TL_TRY(status);
    }
    TL_TRY(roll_back(table, snap, err));
    return alive ? TL_OK : tl_hint_write(table->fs, &table->paths, "EARLIEST", snap->id, /* durable= */ false, err);
}

/* A snapshot that only a tag keeps is rolled back to by that tag. */
static tl_status by_tag_of(tl_table *table, int64_t id, tl_error *err)
{
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    tl_status status = TL_OK;
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
        if (tags[i].snap->id == id) {
            found = true;
            status = to_tag(table, tags[i].names[0], err);
        }
    }
    tl_tags__free(tags, n);
    if (!found)
        return tl_error_set(err, TL_E_NOT_FOUND, "Rollback snapshot '%lld' doesn't exist.", (long long)id);
    return status;
}

tl_status tl_table_rollback(tl_table *table, int64_t snapshot_id, const char *tag, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "roll it back", err));
    tl_table__full_name(table, name);
    if (tag != NULL)
        return tl_error_wrap(err, to_tag(table, tag, err), "table %s", name);
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_snapshot_read(table->fs, &table->paths, snapshot_id, &snap, err);
    if (status == TL_E_NOT_FOUND)
        return tl_error_wrap(err, by_tag_of(table, snapshot_id, err), "table %s", name);
    TL_TRY(status);
    return tl_error_wrap(err, roll_back(table, snap, err), "table %s", name);
}

tl_status tl_table_last_until(tl_table *table, bool watermark, int64_t ms, tl_snapshot **out, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0;
    TL_TRY(tl_table__require_data(table, "find a snapshot of it", err));
    TL_TRY(tl_snapshot_list(table->fs, &table->paths, &ids, &n, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *found = NULL;
    tl_status status = TL_OK;
    for (size_t i = n; status == TL_OK && found == NULL && i > 0; i--) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_snapshot_read(table->fs, &table->paths, ids[i - 1], &snap, err);
        if (status == TL_OK && (watermark ? snap->watermark != TL_ABSENT && snap->watermark <= ms : snap->time_ms <= ms))
            found = TL_STEAL(snap);
        status = status == TL_E_NOT_FOUND ? TL_OK : status; /* expired meanwhile */
    }
    tl_free(ids);
    TL_TRY(status);
    if (found == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "could not find a snapshot earlier than %lld", (long long)ms);
    *out = TL_STEAL(found);
    return TL_OK;
}
