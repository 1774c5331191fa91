/*
 * Strict mode (option `commit.strict-mode.last-safe-snapshot`): a commit gives up if, after the last snapshot that the caller has seen,
 * another user has compacted or overwritten, or, where this commit overwrites, appended to buckets. Java: StrictModeChecker.
 */
#include "base/parse.h"
#include "table/table_private.h"

#define OPTION "commit.strict-mode.last-safe-snapshot"

static tl_status refuse(const char *user, const tl_snapshot *snap, const char *what, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "snapshot %lld of user '%s' %s after the last safe snapshot of user '%s': look at what it did, then set option '" OPTION "' to a later one",
                        (long long)snap->id, snap->commit_user, what, user);
}

/* Whether the snapshot has added or removed files of buckets that are not the postponed one. */
static tl_status touches_buckets(tl_table *table, const tl_snapshot *snap, bool *out, tl_error *err)
{
    tl_entries entries = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_DELTA, snap);
    scan.real_buckets_only = true;
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    *out = entries.n > 0;
    tl_entries_deinit(&entries);
    return status;
}

static tl_status check_one(tl_table *table, const char *user, tl_commit_kind kind, int64_t id, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    TL_TRY(tl_error_wrap(err, tl_snapshot_read(table->fs, &table->paths, id, &snap, err), "option '" OPTION "'"));
    if (strcmp(snap->commit_user, user) == 0)
        return TL_OK;
    if (snap->commit_kind == TL_COMMIT_COMPACT)
        return refuse(user, snap, "has compacted", err);
    if (snap->commit_kind == TL_COMMIT_OVERWRITE)
        return refuse(user, snap, "has overwritten rows", err);
    bool touches = false;
    if (snap->commit_kind == TL_COMMIT_APPEND && kind == TL_COMMIT_OVERWRITE)
        TL_TRY(touches_buckets(table, snap, &touches, err));
    return touches ? refuse(user, snap, "has appended rows", err) : TL_OK;
}

tl_status tl_strict_mode__check(tl_table *table, const char *user, tl_commit_kind kind, int64_t latest_id, tl_error *err)
{
    const char *text = tl_options_get(&table->schema->options, OPTION);
    if (text == NULL)
        return TL_OK;
    int64_t safe = 0;
    TL_TRY(tl_error_wrap(err, tl_parse_int(text, -1, INT64_MAX, &safe, err), "option '" OPTION "'"));
    pthread_mutex_lock(&table->lock);
    safe = TL_MAX(safe, table->strict_safe_id);
    pthread_mutex_unlock(&table->lock);
    for (int64_t id = TL_MAX(safe, 0) + 1; id <= latest_id; id++)
        TL_TRY(check_one(table, user, kind, id, err));
    pthread_mutex_lock(&table->lock);
    table->strict_safe_id = TL_MAX(table->strict_safe_id, latest_id);
    pthread_mutex_unlock(&table->lock);
    return TL_OK;
}
