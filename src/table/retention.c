/*
 * How long snapshots and changelogs are kept: limits from options and callers, and the first one that stays. Source: format reference
 * §17; Java: ExpireConfig, ExpireSnapshotsImpl, ExpireChangelogImpl, CoreOptions.changelogLifecycleDecoupled.
 */
#include "table/table_private.h"

/* Limits of `what` ("snapshot", "changelog") that are set; those that are not stay as they are in `io`. */
static tl_status from_options(const tl_options *opts, const char *what, tl_retention *io, tl_error *err)
{
    char key[48];
    snprintf(key, sizeof key, "%s.num-retained.max", what);
    TL_TRY(tl_table__option_int(opts, key, io->max, &io->max, err));
    snprintf(key, sizeof key, "%s.num-retained.min", what);
    TL_TRY(tl_table__option_int(opts, key, io->min, &io->min, err));
    snprintf(key, sizeof key, "%s.time-retained", what);
    return tl_table__option_int(opts, key, io->age_ms, &io->age_ms, err);
}

bool tl_table__decoupled(const tl_options *opts)
{
    tl_retention snapshots = {0};
    bool ok = from_options(opts, "snapshot", &snapshots, NULL) == TL_OK;
    tl_retention changelogs = snapshots;
    ok = ok && from_options(opts, "changelog", &changelogs, NULL) == TL_OK;
    return ok && (changelogs.max > snapshots.max || changelogs.age_ms > snapshots.age_ms || changelogs.min > snapshots.min);
}

tl_status tl_retention__read(const tl_options *opts, bool changelogs, const tl_expire_spec *spec, tl_retention *out, tl_error *err)
{
    *out = (tl_retention){0};
    TL_TRY(from_options(opts, "snapshot", out, err));
    if (changelogs)
        TL_TRY(from_options(opts, "changelog", out, err));
    TL_TRY(tl_table__option_int(opts, "snapshot.expire.limit", 50, &out->deletes, err));
    if (spec != NULL) {
        out->deletes = spec->max_deletes > 0 ? spec->max_deletes : INT32_MAX;
        out->max = spec->retain_max != TL_ABSENT ? spec->retain_max : out->max;
        out->min = spec->retain_min != TL_ABSENT ? spec->retain_min : out->min;
        out->age_ms = spec->older_than_ms != TL_ABSENT ? spec->older_than_ms : out->age_ms;
    }
    if (out->max < out->min)
        return tl_error_set(err, TL_E_INVALID, "retainMax (%lld) must not be less than retainMin (%lld).", (long long)out->max,
                            (long long)out->min);
    if (out->min < 1)
        return tl_error_set(err, TL_E_INVALID, "at least one %s must be retained, not %lld", changelogs ? "changelog" : "snapshot",
                            (long long)out->min);
    return TL_OK;
}

/* What a consumer has not read yet stays. */
static tl_status first_unread(tl_table *table, int64_t *io, tl_error *err)
{
    tl_consumer *consumers = NULL;
    size_t n = 0;
    TL_TRY(tl_table_consumers(table, &consumers, &n, err));
    for (size_t i = 0; i < n; i++)
        *io = TL_MIN(*io, consumers[i].next_snapshot);
    tl_consumers_free(consumers, n);
    return TL_OK;
}

tl_status tl_retention__end(tl_table *table, const tl_retention *r, const tl_retained *what, int64_t *end, tl_error *err)
{
    int64_t first_young = tl_clock_now_ms(tl_clock_system()) - r->age_ms;
    int64_t from = TL_MAX(what->newest - r->max + 1, what->earliest);
    int64_t max = TL_MIN(what->newest - r->min + 1, what->earliest + r->deletes);
    max = TL_MIN(max, what->last);
    if (what->heed_consumers)
        TL_TRY(first_unread(table, &max, err));
    for (int64_t id = from; id < max; id++) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = what->read(table->fs, &table->paths, id, &snap, err);
        if (status == TL_E_NOT_FOUND)
            continue;
        TL_TRY(status);
        if (snap->time_ms >= first_young)
            max = id;
    }
    *end = max;
    return TL_OK;
}
