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
    int64_t end; /* exclusive */
} range;

static void range_deinit(range *r)
{
    for (size_t i = 0; i < r->n; i++)
        tl_snapshot_free(r->snaps[i]);
    tl_free(r->snaps);
}

/* ---- limits ---- */

typedef struct limits {
    int64_t retain_max;
    int64_t retain_min;
    int64_t older_than_ms; /* age */
    int64_t max_deletes;
} limits;

bool tl_table__decoupled(const tl_options *opts)
{
    int64_t min = 10, max = INT32_MAX, age = 0, cmin = 0, cmax = 0, cage = 0;
    bool ok = tl_table__option_int(opts, "snapshot.num-retained.min", 10, &min, NULL) == TL_OK &&
              tl_table__option_int(opts, "snapshot.num-retained.max", INT32_MAX, &max, NULL) == TL_OK &&
              tl_table__option_int(opts, "snapshot.time-retained", 0, &age, NULL) == TL_OK &&
              tl_table__option_int(opts, "changelog.num-retained.min", min, &cmin, NULL) == TL_OK &&
              tl_table__option_int(opts, "changelog.num-retained.max", max, &cmax, NULL) == TL_OK &&
              tl_table__option_int(opts, "changelog.time-retained", age, &cage, NULL) == TL_OK;
    return ok && (cmax > max || cage > age || cmin > min);
}

static tl_status read_limits(tl_table *table, const tl_expire_spec *spec, limits *out, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    TL_TRY(tl_table__option_int(opts, "snapshot.num-retained.max", INT32_MAX, &out->retain_max, err));
    TL_TRY(tl_table__option_int(opts, "snapshot.num-retained.min", 10, &out->retain_min, err));
    TL_TRY(tl_table__option_int(opts, "snapshot.time-retained", 3600000, &out->older_than_ms, err));
    TL_TRY(tl_table__option_int(opts, "snapshot.expire.limit", 50, &out->max_deletes, err));
    if (spec == NULL)
        return TL_OK;
    out->max_deletes = INT32_MAX;
    if (spec->retain_max != TL_ABSENT)
        out->retain_max = spec->retain_max;
    if (spec->retain_min != TL_ABSENT)
        out->retain_min = spec->retain_min;
    if (spec->older_than_ms != TL_ABSENT)
        out->older_than_ms = spec->older_than_ms;
    return TL_OK;
}

/* The first snapshot that stays. */
static tl_status find_end(tl_table *table, const limits *l, int64_t earliest, int64_t latest, int64_t *end, tl_error *err)
{
    if (l->retain_max < l->retain_min)
        return tl_error_set(err, TL_E_INVALID, "retainMax (%lld) must not be less than retainMin (%lld).", (long long)l->retain_max,
                            (long long)l->retain_min);
    if (l->retain_min < 1)
        return tl_error_set(err, TL_E_INVALID, "at least one snapshot must be retained, not %lld", (long long)l->retain_min);
    int64_t first_young = tl_clock_now_ms(tl_clock_system()) - l->older_than_ms;
    int64_t from = TL_MAX(latest - l->retain_max + 1, earliest);
    int64_t max = TL_MIN(latest - l->retain_min + 1, earliest + l->max_deletes);
    if (!tl_table__option_bool(&table->schema->options, "consumer.changelog-only")) {
        tl_consumer *consumers = NULL;
        size_t n = 0;
        TL_TRY(tl_table_consumers(table, &consumers, &n, err));
        for (size_t i = 0; i < n; i++)
            max = TL_MIN(max, consumers[i].next_snapshot);
        tl_consumers_free(consumers, n);
    }
    for (int64_t id = from; id < max; id++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id, &snap, err);
        if (status == TL_E_NOT_FOUND)
            continue;
        TL_TRY(status);
        if (snap->time_ms >= first_young) {
            *end = id;
            return TL_OK;
        }
    }
    *end = max;
    return TL_OK;
}

/* ---- deleting ---- */

static tl_status collect(tl_table *table, int64_t begin, int64_t end, range *out, tl_error *err)
{
    out->snaps = tl_calloc((size_t)(end - begin + 1), sizeof *out->snaps);
    if (out->snaps == NULL)
        return tl_nomem(err, "snapshots");
    out->end = end;
    for (int64_t id = begin; id <= end; id++) {
        tl_status status = tl_snapshot_read(table->fs, &table->paths, id, &out->snaps[out->n], err);
        if (status == TL_E_NOT_FOUND)
            continue;
        TL_TRY(status);
        out->n++;
    }
    return TL_OK;
}

/* The nearest tag before the snapshot; its files stay. NULL: none. */
static const tl_snapshot *tag_before(const tl_tagged *tags, size_t n, int64_t id)
{
    const tl_snapshot *found = NULL;
    for (size_t i = 0; i < n && tags[i].snap->id < id; i++)
        found = tags[i].snap;
    return found;
}

/* Data files that a snapshot's delta deleted are not used by it and those after it. */
static tl_status delete_data(tl_table *table, const range *r, const tl_tagged *tags, size_t n_tags, tl_name_set *dirs, tl_error *err)
{
    tl_name_set keep = {0};
    int64_t keep_of = 0; /* tag whose files are in `keep` */
    tl_status status = TL_OK;
    for (size_t i = 1; status == TL_OK && i < r->n; i++) {
        const tl_snapshot *tag = tag_before(tags, n_tags, r->snaps[i]->id);
        bool usable = true;
        if (tag != NULL && tag->id != keep_of) {
            tl_name_set_deinit(&keep);
            status = tl_deletion__add_files(table, tag, &keep, err);
            usable = status == TL_OK;
            keep_of = usable ? tag->id : 0;
            if (!usable && status != TL_E_NOMEM)
                status = TL_OK; /* a tag that cannot be read: better leave orphans than delete what it needs */
            if (!usable)
                tl_name_set_deinit(&keep);
        }
        if (status == TL_OK && usable)
            status = tl_deletion__delta(table, r->snaps[i], tag == NULL ? NULL : &keep, dirs, err);
    }
    tl_name_set_deinit(&keep);
    return status;
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
static tl_status delete_manifests(tl_table *table, const range *r, const tl_tagged *tags, size_t n_tags, tl_error *err)
{
    tl_name_set keep = {0};
    tl_status status = tl_deletion__add_manifests(table, r->snaps[r->n - 1], &keep, err);
    int64_t begin = r->snaps[0]->id;
    size_t left = 0;
    for (size_t i = 0; i < n_tags && tags[i].snap->id <= begin; i++)
        left = i;
    for (size_t i = left; status == TL_OK && i < n_tags && tags[i].snap->id < r->end; i++)
        status = tl_deletion__add_manifests(table, tags[i].snap, &keep, err);
    bool usable = status == TL_OK;
    if (!usable && status != TL_E_NOMEM)
        status = TL_OK; /* as above */
    for (size_t i = 0; status == TL_OK && usable && i < r->n; i++) {
        if (r->snaps[i]->id < r->end)
            status = tl_deletion__manifests(table, r->snaps[i], /* changelog= */ true, &keep, err);
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
    tl_tagged *tags = NULL;
    size_t n_tags = 0;
    TL_TRY(tl_hint_write(table->fs, &table->paths, "EARLIEST", r->end, /* durable= */ false, err));
    TL_TRY(tl_tags__snapshots(table, &tags, &n_tags, err));
    tl_name_set dirs = {0};
    tl_status status = delete_data(table, r, tags, n_tags, &dirs, err);
    if (status == TL_OK)
        status = delete_changelogs(table, r, &dirs, err);
    if (status == TL_OK)
        status = tl_deletion__empty_dirs(table, &dirs, err);
    if (status == TL_OK)
        status = delete_manifests(table, r, tags, n_tags, err);
    if (status == TL_OK)
        status = delete_snapshots(table, r, expired, err);
    tl_name_set_deinit(&dirs);
    tl_tags__free(tags, n_tags);
    return status;
}

/* The EARLIEST hint is first written by an expiry, even one without work. */
static tl_status note_earliest(tl_table *table, int64_t earliest, tl_error *err)
{
    bool exists = false;
    TL_CLEANUP(tl_freep) char *path = tl_paths_hint(&table->paths, "EARLIEST");
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_fs_exists(table->fs, path, &exists, err));
    return exists ? TL_OK : tl_hint_write(table->fs, &table->paths, "EARLIEST", earliest, /* durable= */ false, err);
}

static tl_status expire(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err)
{
    limits l;
    TL_TRY(read_limits(table, spec, &l, err));
    int64_t latest = 0, earliest = 0, end = 0;
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &latest, err));
    TL_TRY(tl_snapshot_first_id(table->fs, &table->paths, &earliest, err));
    if (latest == 0 || earliest == 0)
        return TL_OK;
    TL_TRY(find_end(table, &l, earliest, latest, &end, err));
    if (end <= earliest)
        return note_earliest(table, earliest, err);
    range r = {0};
    tl_status status = collect(table, earliest, end, &r, err);
    if (status == TL_OK)
        status = expire_range(table, &r, expired, err);
    range_deinit(&r);
    return status;
}

tl_status tl_table_expire(tl_table *table, const tl_expire_spec *spec, int32_t *expired, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "expire its snapshots", err));
    tl_table__full_name(table, name);
    if (tl_table__decoupled(&table->schema->options))
        return tl_error_set(err, TL_E_UNSUPPORTED, "table %s: not supported: changelogs that outlive their snapshots (changelog.* retention)",
                            name);
    tl_expire_spec all = {TL_ABSENT, TL_ABSENT, TL_ABSENT};
    int32_t n = 0;
    tl_status status = expire(table, spec == NULL ? &all : spec, &n, err);
    if (status == TL_OK && expired != NULL)
        *expired = n;
    return tl_error_wrap(err, status, "expiring snapshots of table %s", name);
}

tl_status tl_table_maintain(tl_table *table, tl_error *err)
{
    TL_TRY(tl_table__require_data(table, "maintain it", err));
    /* Where changelogs outlive snapshots nothing is expired here: too much stays, nothing is lost. */
    if (table->config->write_only || tl_table__decoupled(&table->schema->options))
        return TL_OK;
    TL_TRY(tl_consumers__expire(table, err));
    int32_t n = 0;
    return expire(table, NULL, &n, err);
}
