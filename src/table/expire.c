/*
 * Expiry of snapshots: which ones go, and the order in which their files do. Source: format reference §17; Java:
 * ExpireSnapshotsImpl.
 *
 * Order: the EARLIEST hint, then tags are read, then data files, changelog files, manifests and snapshots go. A crash in between
 * leaves snapshots that cannot be read any more but still name what is left: the next expiry goes on with the first that is there.
 *
 * The hint comes first so that nobody tags a snapshot that goes: a tag is written, then the hint is read; here the hint is written,
 * then tags are read. One of the two sees the other (tag.c: check_alive). The reference writes the hint last.
 */
#include "table/table_private.h"

typedef struct range {
    tl_snapshot **snaps; /* begin … end, both included, without those that are gone */
    size_t n;
    int64_t end;    /* exclusive */
    bool decoupled; /* changes outlive their snapshots */
} range;

static void range_deinit(range *r)
{
    for (size_t i = 0; i < r->n; i++)
        tl_snapshot_free(r->snaps[i]);
    tl_free(r->snaps);
}

/* ---- deleting ---- */

static tl_status collect(tl_table *table, int64_t begin, range *out, tl_error *err)
{
    out->snaps = tl_calloc((size_t)(out->end - begin + 1), sizeof *out->snaps);
    if (out->snaps == NULL)
        return tl_nomem(err, "snapshots");
    for (int64_t id = begin; id <= out->end; id++) {
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id, &out->snaps[out->n], err);
        if (status == TL_E_NOT_FOUND)
            continue;
        TL_TRY(status);
        out->n++;
    }
    return TL_OK;
}

/*
 * Data files that a snapshot's delta deleted are not used by it and those after it. Where changes are kept for longer and lie in no files
 * of their own, the files that were written first are those changes: they go with the changelog (changelog.c).
 */
static tl_status delete_data(tl_table *table, const range *r, tl_tag_files *tags, tl_name_set *dirs, tl_error *err)
{
    bool keep_appended = r->decoupled && !tl_table__has_changelog_files(table);
    for (size_t i = 1; i < r->n; i++) {
        const tl_name_set *keep = NULL;
        bool known = false;
        TL_TRY(tl_tag_files__before(table, tags, r->snaps[i]->id, &keep, &known, err));
        if (known)
            TL_TRY(tl_deletion__delta(table, r->snaps[i], keep, &tags->others, keep_appended, dirs, err));
    }
    return TL_OK;
}

static tl_status delete_changelogs(tl_table *table, const range *r, tl_name_set *dirs, tl_error *err)
{
    for (size_t i = 0; i < r->n; i++) {
        const tl_snapshot *snap = r->snaps[i];
        if (snap->id < r->end && snap->changelog_manifest_list != NULL)
            TL_TRY(tl_deletion__added(table, snap->changelog_manifest_list, snap->changelog_manifest_list_bytes, dirs, err));
    }
    return TL_OK;
}

/* Manifests used by the first snapshot that stays or by a tag of the range (and the one before it) stay. */
static tl_status delete_manifests(tl_table *table, const range *r, const tl_tag_files *tags, tl_error *err)
{
    tl_name_set keep = {0};
    unsigned lists = TL_LISTS_DATA | TL_LISTS_CHANGELOG;
    if (r->decoupled) /* the lists that name the changes stay */
        lists = tl_table__has_changelog_files(table) ? TL_LISTS_DATA : 0;
    tl_status status = tl_deletion__add_manifests(table, r->snaps[r->n - 1], &keep, err);
    if (status == TL_OK)
        status = tl_tag_files__add_manifests(table, tags, r->snaps[0]->id, r->end, &keep, err);
    bool usable = status == TL_OK;
    if (!usable && status != TL_E_NOMEM)
        status = TL_OK; /* as above */
    for (size_t i = 0; status == TL_OK && usable && i < r->n; i++) {
        if (r->snaps[i]->id < r->end)
            status = tl_deletion__manifests(table, r->snaps[i], lists | TL_LISTS_INDEXES, &keep, err);
    }
    tl_name_set_deinit(&keep);
    return status;
}

static tl_status delete_snapshots(tl_table *table, const range *r, int32_t *expired, tl_error *err)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->snaps[i]->id >= r->end)
            continue;
        TL_CLEANUP(tl_freep) char *path = tl_paths_snapshot(&table->paths, r->snaps[i]->id);
        if (path == NULL)
            return tl_nomem(err, "path");
        if (r->decoupled) /* a reader that misses the one finds the other */
            TL_TRY(tl_changelog_publish(table->fs, &table->paths, r->snaps[i], err));
        tl_status status = tl_fs_remove(table->fs, path, err);
        if (status != TL_OK && status != TL_E_NOT_FOUND)
            return status;
        ++*expired;
    }
    return TL_OK;
}

static tl_status expire_range(tl_table *table, const range *r, int32_t *expired, tl_error *err)
{
    if (r->n == 0 || r->snaps[r->n - 1]->id != r->end)
        return TL_OK; /* another expiry went further meanwhile */
    tl_tag_files tags = {0};
    TL_TRY(tl_hint_write(table->fs, &table->paths, "EARLIEST", r->end, /* durable= */ false, err));
    TL_TRY(tl_tags__snapshots(table, &tags.tags, &tags.n, err));
    tl_name_set dirs = {0};
    tl_status status = delete_data(table, r, &tags, &dirs, err);
    if (status == TL_OK && !r->decoupled)
        status = delete_changelogs(table, r, &dirs, err);
    if (status == TL_OK)
        status = tl_deletion__empty_dirs(table, &dirs, err);
    if (status == TL_OK)
        status = delete_manifests(table, r, &tags, err);
    if (status == TL_OK)
        status = delete_snapshots(table, r, expired, err);
    tl_name_set_deinit(&dirs);
    tl_tag_files__deinit(&tags);
    return status;
}

/* The EARLIEST hint is first written by an expiry, even one without work. */
static tl_status note_earliest(tl_table *table, int64_t earliest, tl_error *err)
{
    bool exists = false;
    TL_CLEANUP(tl_freep) char *path = tl_paths_hint(&table->paths, "snapshot", "EARLIEST");
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_exists(table->fs, path, &exists, err));
    return exists ? TL_OK : tl_hint_write(table->fs, &table->paths, "EARLIEST", earliest, /* durable= */ false, err);
}

static tl_status expire(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    tl_retention limits;
    TL_TRY(tl_retention__read(opts, /* changelogs= */ false, spec, &limits, err));
    range r = {.decoupled = tl_table__decoupled(opts)};
    tl_retained what = {.read = tl_snapshot_read, .last = INT64_MAX};
    what.heed_consumers = !(r.decoupled && tl_table__option_bool(opts, "consumer.changelog-only"));
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &what.newest, err));
    TL_TRY(tl_snapshot_first_id(table->fs, &table->paths, &what.earliest, err));
    if (what.newest == 0 || what.earliest == 0)
        return TL_OK;
    TL_TRY(tl_retention__end(table, &limits, &what, &r.end, err));
    if (r.end <= what.earliest)
        return note_earliest(table, what.earliest, err);
    tl_status status = collect(table, what.earliest, &r, err);
    if (status == TL_OK)
        status = expire_range(table, &r, expired, err);
    range_deinit(&r);
    return status;
}

tl_status tl_table_expire(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "expire its snapshots", err));
    tl_expire_spec all = {.retain_max = TL_ABSENT, .retain_min = TL_ABSENT, .older_than_ms = TL_ABSENT};
    int32_t n = 0;
    tl_status status = expire(table, spec == NULL ? &all : spec, &n, err);
    if (status == TL_OK && expired != NULL)
        *expired = n;
    return tl_error_wrap(err, status, "expiring snapshots of table %s", tl_table__full_name(table, name));
}

/* As the reference, in its order; consumers go before snapshots, which they hold back. */
tl_status tl_table__maintain(tl_table *table, const char *user, int64_t identifier, tl_error *err)
{
    if (identifier == TL_COMMIT_BATCH)
        TL_TRY(tl_tags__after_batch(table, err));
    if (table->config->write_only)
        return TL_OK;
    TL_TRY(tl_table_trigger_tags(table, err));
    TL_TRY(tl_partitions__expire(table, user, identifier, /* due_only= */ true, NULL, err));
    TL_TRY(tl_consumers__expire(table, err));
    int32_t n = 0;
    TL_TRY(expire(table, NULL, &n, err));
    return tl_table__decoupled(&table->schema->options) ? tl_changelogs__expire(table, NULL, &n, err) : TL_OK;
}
