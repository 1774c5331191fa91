/*
 * Tags: snapshots that are kept by name. Deleting the last tag of a snapshot that expired frees what its neighbours do not need.
 * Source: format reference §17; Java: TagManager, AbstractFileStoreTable.createTag.
 */
#include "table/table_private.h"

#include <stdlib.h>

static tl_status check_name(const char *name, const char *which, tl_error *err)
{
    if (name == NULL || name[strspn(name, " \t\n\r")] == '\0')
        return tl_error_set(err, TL_E_INVALID, "%s shouldn't be blank.", which);
    if (strchr(name, '/') != NULL)
        return tl_error_set(err, TL_E_INVALID, "tag name '%s' holds a '/'", name);
    return TL_OK;
}

static tl_status exists(tl_table *table, const char *name, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *path = tl_paths_tag(&table->paths, name);
    if (path == NULL)
        return tl_nomem(err, "path");
    return tl_fs_exists(table->fs, path, out, err);
}

/* ---- all tags ---- */

void tl_tags__free(tl_tagged *tags, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tl_snapshot_free(tags[i].snap);
        tl_names_free(tags[i].names, tags[i].n_names);
    }
    tl_free(tags);
}

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const tl_tagged *)a)->snap->id, y = ((const tl_tagged *)b)->snap->id;
    return (x > y) - (x < y);
}

static tl_status add_tag(tl_tagged *tags, size_t *n, const char *name, tl_snapshot *snap_take, tl_error *err)
{
    size_t at = 0;
    while (at < *n && tags[at].snap->id != snap_take->id)
        at++;
    if (at == *n) {
        tags[at].snap = snap_take;
        ++*n;
    } else {
        tl_snapshot_free(snap_take);
    }
    char **names = tl_realloc(tags[at].names, (tags[at].n_names + 1) * sizeof *names);
    if (names == NULL)
        return tl_nomem(err, "tags");
    tags[at].names = names;
    names[tags[at].n_names] = tl_strdup(name);
    if (names[tags[at].n_names] == NULL)
        return tl_nomem(err, "tags");
    tags[at].n_names++;
    return TL_OK;
}

tl_status tl_tags__snapshots(tl_table *table, tl_tagged **out, size_t *n, tl_error *err)
{
    char **names = NULL;
    size_t n_names = 0, found = 0;
    TL_TRY(tl_tag_list(table->fs, &table->paths, &names, &n_names, err));
    tl_tagged *tags = tl_calloc(n_names + 1, sizeof *tags);
    tl_status status = tags == NULL ? tl_nomem(err, "tags") : TL_OK;
    for (size_t i = 0; status == TL_OK && i < n_names; i++) {
        tl_snapshot *snap = NULL;
        status = tl_tag_read(table->fs, &table->paths, names[i], &snap, err);
        if (status == TL_OK)
            status = add_tag(tags, &found, names[i], snap, err);
        else if (status == TL_E_NOT_FOUND)
            status = TL_OK; /* deleted meanwhile */
    }
    tl_names_free(names, n_names);
    if (status != TL_OK) {
        tl_tags__free(tags, found);
        return status;
    }
    qsort(tags, found, sizeof *tags, by_id);
    *out = tags;
    *n = found;
    return TL_OK;
}

/* ---- what tags need while files are deleted ---- */

void tl_tag_files__deinit(tl_tag_files *tags)
{
    tl_name_set_deinit(&tags->keep);
    tl_branch_uses__deinit(&tags->others);
    tl_tags__free(tags->tags, tags->n);
}

tl_status tl_tag_files__before(tl_table *table, tl_tag_files *tags, int64_t id, const tl_name_set **out, bool *known, tl_error *err)
{
    const tl_snapshot *tag = NULL;
    for (size_t i = 0; i < tags->n && tags->tags[i].snap->id < id; i++)
        tag = tags->tags[i].snap;
    *out = NULL;
    *known = true;
    if (tag == NULL)
        return TL_OK;
    if (tag->id != tags->of) {
        tl_name_set_deinit(&tags->keep);
        tags->of = 0;
        tl_status status = tl_deletion__add_files(table, tag, &tags->keep, err);
        if (status == TL_E_NOMEM)
            return status;
        *known = status == TL_OK;
        tags->of = *known ? tag->id : 0;
    }
    *out = &tags->keep;
    return TL_OK;
}

tl_status tl_tag_files__add_manifests(tl_table *table, const tl_tag_files *tags, int64_t begin, int64_t end, tl_name_set *set, tl_error *err)
{
    size_t left = 0;
    for (size_t i = 0; i < tags->n && tags->tags[i].snap->id <= begin; i++)
        left = i;
    for (size_t i = left; i < tags->n && tags->tags[i].snap->id < end; i++)
        TL_TRY(tl_deletion__add_manifests(table, tags->tags[i].snap, set, err));
    return tl_branch_uses__add(table, NULL, set, err);
}

/* ---- create, rename ---- */

/* Snapshot by id, from snapshot/ or from another tag (*tagged); the latest for 0. */
static tl_status find_snapshot(tl_table *table, int64_t id, tl_snapshot **out, bool *tagged, tl_error *err)
{
    if (id == 0) {
        TL_TRY(tl_table__latest(table->fs, &table->paths, out, err));
        if (*out == NULL)
            return tl_error_set(err, TL_E_NOT_FOUND, "Cannot create tag because latest snapshot doesn't exist.");
        return TL_OK;
    }
    tl_status status = tl_snapshot_read(table->fs, &table->paths, id, out, err);
    if (status != TL_E_NOT_FOUND)
        return status;
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    tl_snapshot *found = NULL;
    status = TL_OK;
    for (size_t i = 0; i < n && status == TL_OK && found == NULL; i++) {
        if (tags[i].snap->id == id)
            status = tl_snapshot_dup(tags[i].snap, &found, err);
    }
    tl_tags__free(tags, n);
    TL_TRY(status);
    if (found == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "Cannot create tag because given snapshot #%lld doesn't exist.", (long long)id);
    *out = found;
    *tagged = true;
    return TL_OK;
}

/*
 * Whether the snapshot was out of an expiry's reach when the tag was there (expire.c tells why that is enough). One that was already
 * kept by another tag is safe, too.
 */
static tl_status check_alive(tl_table *table, const char *name, int64_t snapshot_id, tl_error *err)
{
    if (tl_hint_read(table->fs, &table->paths, "EARLIEST") <= snapshot_id)
        return TL_OK;
    TL_CLEANUP(tl_freep) char *path = tl_paths_tag(&table->paths, name);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_remove(table->fs, path, err));
    return tl_error_set(err, TL_E_CONFLICT, "Cannot create tag '%s': snapshot #%lld is being expired.", name, (long long)snapshot_id);
}

tl_status tl_table_create_tag(tl_table *table, const char *name, int64_t snapshot_id, int64_t retained_ms, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "tag it", err));
    TL_TRY(check_name(name, "Tag name", err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    bool there = false, tagged = false;
    TL_TRY(find_snapshot(table, snapshot_id, &snap, &tagged, err));
    TL_TRY(exists(table, name, &there, err));
    if (there)
        return tl_error_set(err, TL_E_EXISTS, "Tag '%s' already exists.", name);
    if (retained_ms == TL_ABSENT)
        TL_TRY(tl_table__option_int(&table->schema->options, "tag.default-time-retained", TL_ABSENT, &retained_ms, err));
    /* Without a time to live a tag is the snapshot as it stands: releases before 0.8 read it, too. */
    snap->tag_retained_ms = retained_ms;
    snap->tag_create_time_ms = retained_ms == TL_ABSENT ? TL_ABSENT : tl_to_local_ms(tl_clock_now_ms(tl_clock_system()));
    tl_status status = tl_tag_publish(table->fs, &table->paths, name, snap, /* replace= */ false, err);
    if (status == TL_E_EXISTS)
        return tl_error_set(err, TL_E_EXISTS, "Tag '%s' already exists.", name);
    if (status == TL_OK && !tagged)
        status = check_alive(table, name, snap->id, err);
    return status == TL_OK ? tl_mark_done__tag(table, name, err) : status;
}

tl_status tl_table_first_since(tl_table *table, bool watermark, int64_t ms, tl_snapshot **out, tl_error *err)
{
    int64_t *ids = NULL;
    size_t n = 0, n_tags = 0;
    tl_tagged *tags = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *found = NULL;
    TL_TRY(tl_table__require_data(table, "find a snapshot of it", err));
    TL_TRY(tl_snapshot_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && found == NULL && i < n; i++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        status = tl_snapshot_read(table->fs, &table->paths, ids[i], &snap, err);
        if (status == TL_OK && (watermark ? snap->watermark != TL_ABSENT && snap->watermark >= ms : snap->time_ms >= ms))
            found = TL_STEAL(snap);
        status = status == TL_E_NOT_FOUND ? TL_OK : status; /* expired meanwhile */
    }
    tl_free(ids);
    if (status == TL_OK)
        status = tl_tags__snapshots(table, &tags, &n_tags, err);
    for (size_t i = 0; status == TL_OK && i < n_tags; i++) { /* by id: the first that fits is the oldest of them */
        const tl_snapshot *tag = tags[i].snap;
        if (watermark ? tag->watermark == TL_ABSENT || tag->watermark < ms : tag->time_ms < ms)
            continue;
        if (found == NULL || tag->id < found->id) {
            tl_snapshot_free(found);
            found = NULL;
            status = tl_snapshot_dup(tag, &found, err);
        }
        break;
    }
    tl_tags__free(tags, n_tags);
    TL_TRY(status);
    if (found == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "Could not find any snapshot whose %s later than %lld.", watermark ? "watermark" : "commit-time",
                            (long long)ms);
    *out = TL_STEAL(found);
    return TL_OK;
}

tl_status tl_table_rename_tag(tl_table *table, const char *from, const char *to, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "rename tags of it", err));
    TL_TRY(check_name(from, "Original tag name", err));
    TL_TRY(check_name(to, "New tag name", err));
    bool there = false;
    TL_TRY(exists(table, from, &there, err));
    if (!there)
        return tl_error_set(err, TL_E_NOT_FOUND, "Tag '%s' doesn't exist.", from);
    TL_TRY(exists(table, to, &there, err));
    if (there)
        return tl_error_set(err, TL_E_EXISTS, "Tag '%s' already exists.", to);
    TL_CLEANUP(tl_freep) char *old_path = tl_paths_tag(&table->paths, from);
    TL_CLEANUP(tl_freep) char *new_path = tl_paths_tag(&table->paths, to);
    if (old_path == NULL || new_path == NULL)
        return tl_nomem(err, "path");
    return tl_fs_rename(table->fs, old_path, new_path, /* replace= */ false, err);
}

/* ---- delete ---- */

/* Everything of the tag's snapshot that neither the tag before, nor what comes next (tag or first snapshot), nor another branch needs. */
static tl_status clean(tl_table *table, const tl_snapshot *snap, const tl_snapshot *left, const tl_snapshot *right, tl_error *err)
{
    tl_name_set files = {0}, manifests = {0}, dirs = {0};
    const tl_snapshot *neighbours[2] = {left, right};
    tl_status status = TL_OK;
    bool usable = true;
    for (int i = 0; status == TL_OK && i < 2; i++) {
        if (neighbours[i] == NULL)
            continue;
        status = tl_deletion__add_files(table, neighbours[i], &files, err);
        if (status == TL_OK)
            status = tl_deletion__add_manifests(table, neighbours[i], &manifests, err);
    }
    if (status == TL_OK)
        status = tl_branch_uses__add(table, &files, &manifests, err);
    if (status == TL_OK)
        status = tl_changelogs__add_needed(table, snap->id, &manifests, &files, err);
    if (status != TL_OK && status != TL_E_NOMEM) {
        usable = false; /* better leave orphans than delete what others need */
        status = TL_OK;
    }
    if (status == TL_OK && usable)
        status = tl_deletion__live(table, snap, &files, &dirs, err);
    if (status == TL_OK && usable)
        status = tl_deletion__empty_dirs(table, &dirs, err);
    if (status == TL_OK && usable)
        status = tl_deletion__manifests(table, snap, TL_LISTS_DATA | TL_LISTS_INDEXES, &manifests, err);
    tl_name_set_deinit(&files);
    tl_name_set_deinit(&manifests);
    tl_name_set_deinit(&dirs);
    return status;
}

static tl_status clean_after(tl_table *table, const tl_snapshot *snap, const tl_tagged *tags, size_t n, tl_error *err)
{
    const tl_snapshot *left = NULL, *right_tag = NULL;
    for (size_t i = 0; i < n; i++) {
        if (tags[i].snap->id < snap->id)
            left = tags[i].snap;
        if (tags[i].snap->id > snap->id && right_tag == NULL)
            right_tag = tags[i].snap;
        if (tags[i].snap->id == snap->id && tags[i].n_names > 1)
            return TL_OK; /* another tag of the same snapshot */
    }
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *first = NULL;
    TL_TRY(tl_table__earliest(table->fs, &table->paths, INT64_MAX - 1, &first, err));
    const tl_snapshot *right = first;
    if (right_tag != NULL && (right == NULL || right_tag->id < right->id))
        right = right_tag;
    return clean(table, snap, left, right, err);
}

tl_status tl_table_delete_tag(tl_table *table, const char *name, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "delete tags of it", err));
    TL_TRY(check_name(name, "Tag name", err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_tag_read(table->fs, &table->paths, name, &snap, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK; /* as the reference: nothing to delete is no error */
    TL_TRY(status);
    TL_CLEANUP(tl_freep) char *path = tl_paths_tag(&table->paths, name);
    TL_CLEANUP(tl_freep) char *snapshot_path = tl_paths_snapshot(&table->paths, snap->id);
    if (path == NULL || snapshot_path == NULL)
        return tl_nomem(err, "path");
    bool alive = false;
    TL_TRY(tl_fs_exists(table->fs, snapshot_path, &alive, err));
    tl_mark_done__forget_tag(table, name);
    if (alive)
        return tl_fs_remove(table->fs, path, err);
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    status = tl_fs_remove(table->fs, path, err);
    if (status == TL_OK)
        status = clean_after(table, snap, tags, n, err);
    tl_tags__free(tags, n);
    return status;
}

/* ---- replace ---- */

/* The new place is published over the old one: the tag is never missing. Then what only the old one kept goes. */
tl_status tl_table_replace_tag(tl_table *table, const char *name, int64_t snapshot_id, int64_t retained_ms, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "replace tags of it", err));
    TL_TRY(check_name(name, "Tag name", err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *old = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    bool tagged = false, alive = false;
    tl_status status = tl_tag_read(table->fs, &table->paths, name, &old, err);
    if (status == TL_E_NOT_FOUND)
        return tl_error_set(err, TL_E_NOT_FOUND, "Tag '%s' doesn't exist.", name);
    TL_TRY(status);
    TL_TRY(find_snapshot(table, snapshot_id, &snap, &tagged, err));
    snap->tag_retained_ms = retained_ms;
    snap->tag_create_time_ms = retained_ms == TL_ABSENT ? TL_ABSENT : tl_to_local_ms(tl_clock_now_ms(tl_clock_system()));
    TL_TRY(tl_tag_publish(table->fs, &table->paths, name, snap, /* replace= */ true, err));
    if (!tagged)
        TL_TRY(check_alive(table, name, snap->id, err));
    TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(&table->paths, old->id);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_exists(table->fs, path, &alive, err));
    if (alive || old->id == snap->id)
        return TL_OK;
    tl_tagged *tags = NULL;
    size_t n = 0;
    TL_TRY(tl_tags__snapshots(table, &tags, &n, err));
    for (size_t i = 0; i < n; i++)
        alive |= tags[i].snap->id == old->id; /* by another tag */
    status = alive ? TL_OK : clean_after(table, old, tags, n, err);
    tl_tags__free(tags, n);
    return status;
}
