/*
 * Snapshot files, and changelogs that outlived theirs: reading, finding the newest and oldest, publishing; and the hints (format
 * reference §1, §16, §17). Java: SnapshotManager, ChangelogManager, HintFileUtils.
 */
#include "meta/meta_private.h"

#include <stdio.h>

#include "base/thread.h"

/* Numbered files of one folder, with hints beside them. */
typedef struct series {
    const char *dir; /* what one file is called, too */
    const char *prefix;
    char *(*path)(const tl_paths *paths, int64_t id);
} series;

static const series snapshots = {"snapshot", "snapshot-", tl_paths_snapshot};
static const series changelogs = {"changelog", "changelog-", tl_paths_changelog};

static tl_status read_one(tl_fs *fs, const tl_paths *paths, const series *s, int64_t id, tl_snapshot **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = s->path(paths, id);
    if (path == NULL)
        return tl_nomem(err, s->dir);
    tl_bytes text = {0};
    tl_status status = tl_fs_read_all(fs, path, TL_META_JSON_BYTES_MAX, &text, err);
    if (status == TL_OK)
        status = tl_snapshot_parse(tl_bytes_view_of(text), out, err);
    tl_bytes_deinit(&text);
    return tl_error_wrap(err, status, "%s %lld", s->dir, (long long)id);
}

static tl_status is_there(tl_fs *fs, const tl_paths *paths, const series *s, int64_t id, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = s->path(paths, id);
    return path == NULL ? tl_nomem(err, s->dir) : tl_fs_exists(fs, path, out, err);
}

/* A hint may be missing or, while it is replaced, unreadable: 0 then, after a few tries. */
static int64_t read_hint(tl_fs *fs, const tl_paths *paths, const series *s, const char *name)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_hint(paths, s->dir, name);
    for (int attempt = 0; attempt < 3 && path != NULL; attempt++) {
        if (attempt > 0)
            tl_sleep_ms(1);
        tl_bytes text = {0};
        tl_status status = tl_fs_read_all(fs, path, 32, &text, NULL);
        char number[33] = {0};
        if (status == TL_OK && text.len < sizeof number)
            memcpy(number, text.data, text.len);
        tl_bytes_deinit(&text);
        int64_t id;
        if (status == TL_E_NOT_FOUND)
            return 0;
        if (status == TL_OK && tl_meta__parse_id(number, &id))
            return id;
    }
    return 0;
}

static tl_status list_ids(tl_fs *fs, const tl_paths *paths, const series *s, int64_t **ids, size_t *n, tl_error *err)
{
    return tl_meta__list_ids(fs, paths, s->dir, s->prefix, ids, n, err);
}

static tl_status find_by_listing(tl_fs *fs, const tl_paths *paths, const series *s, bool newest, int64_t *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) int64_t *ids = NULL;
    size_t n;
    TL_TRY(list_ids(fs, paths, s, &ids, &n, err));
    *out = n == 0 ? 0 : newest ? ids[n - 1] : ids[0];
    return TL_OK;
}

/*
 * LATEST is trusted if its file is there and the next one is not. (The reference does not look for the first; a hint
 * left behind by an interrupted rollback would lead it to a missing file.)
 */
static tl_status latest_id(tl_fs *fs, const tl_paths *paths, const series *s, int64_t *out, tl_error *err)
{
    int64_t id = read_hint(fs, paths, s, "LATEST");
    bool here = false, next = true;
    if (id > 0 && id < INT64_MAX) {
        TL_TRY(is_there(fs, paths, s, id + 1, &next, err));
        if (!next)
            TL_TRY(is_there(fs, paths, s, id, &here, err));
    }
    if (here && !next) {
        *out = id;
        return TL_OK;
    }
    return find_by_listing(fs, paths, s, /* newest= */ true, out, err);
}

static tl_status earliest_id(tl_fs *fs, const tl_paths *paths, const series *s, int64_t *out, tl_error *err)
{
    int64_t id = read_hint(fs, paths, s, "EARLIEST");
    bool here = false;
    if (id > 0)
        TL_TRY(is_there(fs, paths, s, id, &here, err));
    if (here) {
        *out = id;
        return TL_OK;
    }
    return find_by_listing(fs, paths, s, /* newest= */ false, out, err);
}

static tl_status write_hint(tl_fs *fs, const tl_paths *paths, const series *s, const char *name, int64_t id, bool durable, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_hint(paths, s->dir, name);
    if (path == NULL)
        return tl_nomem(err, "hint");
    char text[24];
    int len = snprintf(text, sizeof text, "%lld", (long long)id);
    tl_bytes_view content = {(const uint8_t *)text, (size_t)len};
    return durable ? tl_fs_publish(fs, path, content, /* replace= */ true, err) : tl_fs_replace_hint(fs, path, content, err);
}

/* ---- snapshots ---- */

tl_status tl_snapshot_read(tl_fs *fs, const tl_paths *paths, int64_t id, tl_snapshot **out, tl_error *err)
{
    return read_one(fs, paths, &snapshots, id, out, err);
}

tl_status tl_snapshot_latest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err)
{
    return latest_id(fs, paths, &snapshots, out, err);
}

tl_status tl_snapshot_earliest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err)
{
    return earliest_id(fs, paths, &snapshots, out, err);
}

tl_status tl_snapshot_list(tl_fs *fs, const tl_paths *paths, int64_t **ids, size_t *n, tl_error *err)
{
    return list_ids(fs, paths, &snapshots, ids, n, err);
}

tl_status tl_snapshot_first_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err)
{
    int64_t id = read_hint(fs, paths, &snapshots, "EARLIEST");
    bool here = false, before = true;
    if (id > 0) {
        TL_TRY(is_there(fs, paths, &snapshots, id - 1, &before, err)); /* the last that an expiry takes away */
        if (!before)
            TL_TRY(is_there(fs, paths, &snapshots, id, &here, err));
    }
    if (here) {
        *out = id;
        return TL_OK;
    }
    return find_by_listing(fs, paths, &snapshots, /* newest= */ false, out, err);
}

int64_t tl_hint_read(tl_fs *fs, const tl_paths *paths, const char *name)
{
    return read_hint(fs, paths, &snapshots, name);
}

tl_status tl_hint_write(tl_fs *fs, const tl_paths *paths, const char *name, int64_t id, bool durable, tl_error *err)
{
    return write_hint(fs, paths, &snapshots, name, id, durable, err);
}

tl_status tl_snapshot_stage(tl_fs *fs, const tl_paths *paths, const tl_snapshot *snap, tl_staged *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(paths, snap->id);
    if (path == NULL)
        return tl_nomem(err, "snapshot");
    tl_bytes text = {0};
    TL_TRY(tl_snapshot_format(snap, &text, err));
    tl_status status = tl_fs_stage(fs, path, tl_bytes_view_of(text), out, err);
    tl_bytes_deinit(&text);
    return status;
}

tl_status tl_snapshot_publish(tl_fs *fs, const tl_paths *paths, int64_t id, const tl_staged *staged, tl_error *err)
{
    tl_status status = tl_fs_publish_staged(fs, staged, /* replace= */ false, err);
    if (status == TL_E_EXISTS)
        return tl_error_set(err, TL_E_CONFLICT, "snapshot %lld is there already", (long long)id);
    if (status == TL_OK) /* advice only: readers look for a newer snapshot than the hint says */
        (void)tl_hint_write(fs, paths, "LATEST", id, /* durable= */ false, NULL);
    return status;
}

/* ---- changelogs ---- */

tl_status tl_changelog_read(tl_fs *fs, const tl_paths *paths, int64_t id, tl_snapshot **out, tl_error *err)
{
    return read_one(fs, paths, &changelogs, id, out, err);
}

tl_status tl_changelog_latest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err)
{
    return latest_id(fs, paths, &changelogs, out, err);
}

tl_status tl_changelog_earliest_id(tl_fs *fs, const tl_paths *paths, int64_t *out, tl_error *err)
{
    return earliest_id(fs, paths, &changelogs, out, err);
}

tl_status tl_changelog_list(tl_fs *fs, const tl_paths *paths, int64_t **ids, size_t *n, tl_error *err)
{
    return list_ids(fs, paths, &changelogs, ids, n, err);
}

tl_status tl_changelog_publish(tl_fs *fs, const tl_paths *paths, const tl_snapshot *snap, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_changelog(paths, snap->id);
    if (path == NULL)
        return tl_nomem(err, "changelog");
    tl_bytes text = {0};
    TL_TRY(tl_snapshot_format(snap, &text, err));
    tl_status status = tl_fs_publish(fs, path, tl_bytes_view_of(text), /* replace= */ true, err);
    tl_bytes_deinit(&text);
    if (status == TL_OK) /* advice only, as that of snapshots */
        (void)write_hint(fs, paths, &changelogs, "LATEST", snap->id, /* durable= */ false, NULL);
    return tl_error_wrap(err, status, "changelog %lld", (long long)snap->id);
}

tl_status tl_changelog_hint_write(tl_fs *fs, const tl_paths *paths, const char *name, int64_t id, tl_error *err)
{
    return write_hint(fs, paths, &changelogs, name, id, /* durable= */ false, err);
}
