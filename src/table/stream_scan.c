/*
 * Streaming scan: an optional first full read, then the changes of one snapshot after the other. Source: format reference §18;
 * Java: DataTableStreamScan, Continuous*StartingScanner, DeltaFollowUpScanner, ChangelogFollowUpScanner, NextSnapshotFetcher.
 */
#include "table/table_private.h"

#include <strings.h>

struct tl_stream_scan {
    tl_table *table;
    int64_t next;         /* 0: the start is not known yet */
    int64_t seen_at_start; /* latest snapshot when the scan was made; 0: none. For scan.mode = latest */
    int64_t watermark;
    int64_t bound;    /* scan.bounded.watermark; TL_ABSENT: none */
    int64_t delay_ms; /* < 0: none */
    bool ended;
    bool overwrites; /* what OVERWRITE snapshots change is shown */
    tl_changelog_producer producer;
};

/* ---- start ---- */

tl_status tl_stream_scan_create(tl_table *table, int64_t next_snapshot, tl_stream_scan **out, tl_error *err)
{
    TL_TRY(table->config == NULL || table->folder != NULL ? tl_table__require_data(table, "follow it", err) : TL_OK);
    TL_CLEANUP(tl_freep) tl_stream_scan *scan = tl_calloc(1, sizeof *scan);
    if (scan == NULL)
        return tl_nomem(err, "streaming scan");
    const tl_options *opts = &table->schema->options;
    scan->table = table;
    scan->next = TL_MAX(next_snapshot, 0);
    scan->watermark = TL_ABSENT;
    scan->producer = table->config->changelog_producer;
    scan->overwrites =
        tl_table__option_bool(opts, table->n_keys > 0 ? "streaming-read-overwrite" : "streaming-read-append-overwrite");
    TL_TRY(tl_table__option_int(opts, "scan.bounded.watermark", TL_ABSENT, &scan->bound, err));
    TL_TRY(tl_table__option_int(opts, "streaming.read.snapshot.delay", -1, &scan->delay_ms, err));
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &scan->seen_at_start, err));
    *out = TL_STEAL(scan);
    return TL_OK;
}

void tl_stream_scan_free(tl_stream_scan *scan)
{
    tl_free(scan);
}

int64_t tl_stream_scan_position(const tl_stream_scan *scan)
{
    return scan->next;
}

bool tl_stream_scan_ended(const tl_stream_scan *scan)
{
    return scan->ended;
}

int64_t tl_stream_scan_watermark(const tl_stream_scan *scan)
{
    return scan->watermark;
}

static bool past_bound(const tl_stream_scan *scan, const tl_snapshot *snap)
{
    return scan->bound != TL_ABSENT && snap->watermark != TL_ABSENT && snap->watermark > scan->bound;
}

/* Postponed rows will come again as the changelog of their compaction, if there is one. */
static bool real_buckets_only(const tl_stream_scan *scan)
{
    return scan->table->bucket_mode == TL_BUCKETS_POSTPONE && scan->producer != TL_CHANGELOG_NONE;
}

/*
 * The whole of a snapshot. With a computed changelog only what the changelog already told is read: levels above 0 (lookup), the
 * top level (full-compaction). The rest will come as changelog.
 */
static tl_status full_plan(tl_stream_scan *scan, const tl_snapshot *snap, int64_t created_after_ms, tl_splits *out, tl_error *err)
{
    tl_table *table = scan->table;
    tl_scan spec;
    tl_scan_init(&spec, TL_SCAN_ALL, snap);
    spec.real_buckets_only = real_buckets_only(scan);
    spec.created_after_ms = created_after_ms;
    if (scan->producer == TL_CHANGELOG_LOOKUP)
        spec.level_min = 1;
    else if (scan->producer == TL_CHANGELOG_FULL_COMPACTION)
        spec.level_min = spec.level_max = table->config->num_levels - 1;
    if (tl_system__is(table, "ro") && table->n_keys > 0)
        spec.level_min = spec.level_max = table->config->num_levels - 1;
    tl_entries entries = {0};
    tl_vectors vectors = {0};
    tl_status status = tl_table__scan(table, &spec, &entries, err);
    if (status == TL_OK)
        status = tl_vectors__read(table, snap, &vectors, err);
    if (status == TL_OK)
        status = tl_table__splits(table, &entries, snap->id, /* streaming= */ false, &vectors, out, err);
    tl_vectors__deinit(&vectors);
    tl_entries_deinit(&entries);
    return status;
}

/* How a scan begins: a snapshot to read in full, or only the position to follow from. */
typedef struct start {
    tl_snapshot *full;
    int64_t created_after_ms;
    int64_t next; /* 0: not known, look again later */
} start;

static tl_status start_latest_full(tl_stream_scan *scan, start *out, tl_error *err)
{
    return tl_table__latest(scan->table->fs, &scan->table->paths, &out->full, err);
}

static tl_status start_from_id(tl_stream_scan *scan, int64_t id, start *out, tl_error *err)
{
    int64_t first = 0;
    TL_TRY(tl_table__earliest_changes(scan->table, &first, err));
    if (first > 0)
        out->next = TL_MAX(id, first);
    return TL_OK;
}

static tl_status start_from_snapshot_full(tl_stream_scan *scan, int64_t id, start *out, tl_error *err)
{
    tl_table *table = scan->table;
    int64_t first = 0;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err)); /* a changelog is no whole state */
    if (first == 0)
        return TL_OK;
    out->next = TL_MAX(id, first);
    return tl_snapshot_read(table->fs, &table->paths, out->next, &out->full, err);
}

static tl_status start_from_time(tl_stream_scan *scan, start *out, tl_error *err)
{
    const tl_options *opts = &scan->table->schema->options;
    int64_t ms = 0, id = 0;
    bool too_early = false;
    const char *text = tl_options_get(opts, "scan.timestamp");
    if (tl_options_get(opts, "scan.timestamp-millis") != NULL)
        TL_TRY(tl_table__option_int(opts, "scan.timestamp-millis", 0, &ms, err));
    else if (text == NULL || !tl_parse_local_timestamp(text, &ms))
        return tl_error_set(err, TL_E_INVALID, "option 'scan.timestamp': '%s' is no time", text == NULL ? "" : text);
    TL_TRY(tl_table__earlier_than(scan->table, ms, /* changes= */ true, &id, &too_early, err));
    if (id >= 0)
        out->next = id + 1;
    return TL_OK;
}

static tl_status start_from_creation(tl_stream_scan *scan, start *out, tl_error *err)
{
    tl_table *table = scan->table;
    int64_t ms = 0, id = 0;
    bool too_early = false, exists = false;
    TL_TRY(tl_table__option_int(&table->schema->options, "scan.creation-time-millis", 0, &ms, err));
    TL_TRY(tl_table__earlier_than(table, ms, /* changes= */ true, &id, &too_early, err));
    if (id >= 0 && !too_early) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        tl_status status = tl_table__changes_at(table, id + 1, &snap, err);
        if (status != TL_OK && status != TL_E_NOT_FOUND)
            return status;
        exists = status == TL_OK;
    }
    if (exists)
        return start_from_id(scan, id + 1, out, err);
    out->created_after_ms = tl_to_local_ms(ms);
    return start_latest_full(scan, out, err);
}

static tl_status start_compacted(tl_stream_scan *scan, start *out, tl_error *err)
{
    tl_read_point point;
    TL_TRY(tl_table__read_point(scan->table, &point, err)); /* scan.mode is compacted-full: the same choice as in a batch read */
    out->full = TL_STEAL(point.snap);
    tl_read_point_deinit(&point);
    return TL_OK;
}

/* Progress of the consumer of this scan, unless it is to be ignored. 0: none. */
static tl_status consumer_progress(tl_table *table, int64_t *out, tl_error *err)
{
    *out = 0;
    const char *id = tl_table_option(table, "consumer-id");
    if (id == NULL || tl_table__option_bool(&table->schema->options, "consumer.ignore-progress"))
        return TL_OK;
    tl_consumer *consumers = NULL;
    size_t n = 0;
    TL_TRY(tl_table_consumers(table, &consumers, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (strcmp(consumers[i].id, id) == 0)
            *out = consumers[i].next_snapshot;
    }
    tl_consumers_free(consumers, n);
    return TL_OK;
}

static tl_status find_start(tl_stream_scan *scan, start *out, tl_error *err)
{
    tl_table *table = scan->table;
    const tl_options *opts = &table->schema->options;
    int64_t id = 0;
    TL_TRY(consumer_progress(table, &id, err));
    if (id > 0)
        return start_from_id(scan, id, out, err);
    const char *mode = tl_table__startup_mode(opts);
    TL_TRY(tl_table__option_int(opts, "scan.snapshot-id", 0, &id, err));
    if (strcmp(mode, "latest") == 0) {
        TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &id, err));
        /* The first snapshot of a table that was empty when the scan began is a change, too. */
        if (id > 0)
            out->next = scan->seen_at_start == 0 ? 1 : id + 1;
        return TL_OK;
    }
    if (strcmp(mode, "compacted-full") == 0)
        return start_compacted(scan, out, err);
    if (strcmp(mode, "from-timestamp") == 0)
        return start_from_time(scan, out, err);
    if (strcmp(mode, "from-snapshot-full") == 0)
        return start_from_snapshot_full(scan, id, out, err);
    if (strcmp(mode, "from-creation-timestamp") == 0)
        return start_from_creation(scan, out, err);
    if (strcmp(mode, "from-file-creation-time") == 0) {
        TL_TRY(tl_table__option_int(opts, "scan.file-creation-time-millis", 0, &out->created_after_ms, err));
        out->created_after_ms = tl_to_local_ms(out->created_after_ms);
        return start_latest_full(scan, out, err);
    }
    if (strcmp(mode, "from-snapshot") == 0) {
        if (tl_options_get(opts, "scan.snapshot-id") == NULL)
            return tl_error_set(err, TL_E_INVALID, "Cannot scan from %s in streaming mode.",
                                tl_options_get(opts, "scan.watermark") != NULL ? "watermark" : "tag");
        return start_from_id(scan, id, out, err);
    }
    if (strcmp(mode, "incremental") == 0)
        return tl_error_set(err, TL_E_INVALID, "Cannot read incremental in streaming mode.");
    return start_latest_full(scan, out, err);
}

/* *planned: the first full read is in `out` (it may have no splits). */
static tl_status first_plan(tl_stream_scan *scan, tl_splits *out, bool *planned, int64_t *snapshot_id, tl_error *err)
{
    start begin = {.created_after_ms = INT64_MIN};
    tl_status status = find_start(scan, &begin, err);
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *full = begin.full;
    TL_TRY(status);
    *planned = full != NULL;
    if (full == NULL) {
        scan->next = begin.next;
        return TL_OK;
    }
    TL_TRY(full_plan(scan, full, begin.created_after_ms, out, err));
    scan->watermark = full->watermark;
    scan->next = full->id + 1;
    scan->ended = past_bound(scan, full);
    *snapshot_id = full->id;
    return TL_OK;
}

/* ---- following ---- */

/* The snapshot (or changelog) `scan->next`, or NULL if it is not there yet. One that expired will never come: that is an error; the
   reference waits for it where changelogs outlive snapshots. */
static tl_status next_snapshot(tl_stream_scan *scan, tl_snapshot **out, tl_error *err)
{
    tl_table *table = scan->table;
    tl_status status = tl_table__changes_at(table, scan->next, out, err);
    if (status != TL_E_NOT_FOUND)
        return status;
    *out = NULL;
    int64_t first = 0, last = 0;
    TL_TRY(tl_snapshot_earliest_id(table->fs, &table->paths, &first, err));
    TL_TRY(tl_snapshot_latest_id(table->fs, &table->paths, &last, err));
    if (first > scan->next)
        return tl_error_set(err, TL_E_NOT_FOUND,
                            "The snapshot with id %lld has expired. You can: 1. increase the snapshot or changelog expiration time. 2. use "
                            "consumer-id to ensure that unconsumed snapshots will not be expired.",
                            (long long)scan->next);
    if ((first == 0 && scan->next > 1) || (last > 0 && scan->next > last + 1))
        return tl_error_set(err, TL_E_NOT_FOUND,
                            "The next expected snapshot is too big! Most possible cause might be the table had been recreated. The next "
                            "snapshot id is %lld, while the latest snapshot id is %lld",
                            (long long)scan->next, (long long)last);
    return TL_OK;
}

static tl_status delta_plan(tl_stream_scan *scan, const tl_snapshot *snap, tl_scan_mode mode, tl_splits *out, tl_error *err)
{
    tl_scan spec;
    tl_scan_init(&spec, mode, snap);
    spec.real_buckets_only = real_buckets_only(scan);
    tl_entries entries = {0};
    tl_status status = tl_table__scan(scan->table, &spec, &entries, err);
    if (status == TL_OK)
        status = tl_table__splits(scan->table, &entries, snap->id, /* streaming= */ true, /* vectors= */ NULL, out, err);
    tl_entries_deinit(&entries);
    return status;
}

/* What an OVERWRITE took away and what it wrote; on append tables only the latter. */
static tl_status overwrite_plan(tl_stream_scan *scan, const tl_snapshot *snap, tl_splits *out, tl_error *err)
{
    tl_table *table = scan->table;
    if (table->n_keys == 0)
        return delta_plan(scan, snap, TL_SCAN_DELTA, out, err);
    tl_scan spec;
    tl_scan_init(&spec, TL_SCAN_DELTA, snap);
    tl_entries all = {0}, before = {0}, after = {0};
    tl_status status = tl_table__scan(table, &spec, &all, err);
    for (size_t i = 0; status == TL_OK && i < all.n; i++) {
        const tl_manifest_entry *e = &all.items[i];
        status = tl_entries_add(e->kind == TL_ENTRY_DELETE ? &before : &after, e->kind, tl_bytes_view_of(e->partition), e->bucket,
                                e->total_buckets, e->file, err);
    }
    /* As in the reference: what was deleted by vectors has been told before, and changes are read without them. */
    tl_state old = {&before, NULL}, fresh = {&after, NULL};
    if (status == TL_OK)
        status = tl_table__change_splits(&old, &fresh, snap->id, /* diff= */ false, out, err);
    tl_entries_deinit(&all);
    tl_entries_deinit(&before);
    tl_entries_deinit(&after);
    return status;
}

static tl_status changes_plan(tl_stream_scan *scan, const tl_snapshot *snap, tl_splits *out, tl_error *err)
{
    if (snap->commit_kind == TL_COMMIT_OVERWRITE && scan->overwrites) {
        scan->watermark = snap->watermark;
        return overwrite_plan(scan, snap, out, err);
    }
    bool wanted = scan->producer == TL_CHANGELOG_NONE ? snap->commit_kind == TL_COMMIT_APPEND : snap->changelog_manifest_list != NULL;
    if (!wanted)
        return TL_OK;
    scan->watermark = snap->watermark;
    return delta_plan(scan, snap, scan->producer == TL_CHANGELOG_NONE ? TL_SCAN_DELTA : TL_SCAN_CHANGELOG, out, err);
}

static tl_status follow(tl_stream_scan *scan, tl_splits *out, bool *ready, int64_t *snapshot_id, tl_error *err)
{
    while (!scan->ended) {
        TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
        TL_TRY(next_snapshot(scan, &snap, err));
        if (snap == NULL)
            return TL_OK;
        if (past_bound(scan, snap)) {
            scan->ended = true;
            return TL_OK;
        }
        if (scan->delay_ms >= 0 && snap->time_ms > tl_clock_now_ms(tl_clock_system()) - scan->delay_ms)
            return TL_OK;
        TL_TRY(changes_plan(scan, snap, out, err));
        scan->next++;
        if (out->n > 0) {
            *ready = true;
            *snapshot_id = snap->id;
            return TL_OK;
        }
    }
    return TL_OK;
}

tl_status tl_stream_scan_plan(tl_stream_scan *scan, tl_splits *out, bool *ready, int64_t *snapshot_id, bool *is_full, tl_error *err)
{
    char name[256];
    tl_splits splits = {0};
    bool got = false, full = false;
    int64_t id = 0;
    tl_status status = TL_OK;
    if (scan->next == 0) {
        status = first_plan(scan, &splits, &full, &id, err);
        got = full;
    }
    if (status == TL_OK && !got && scan->next > 0)
        status = follow(scan, &splits, &got, &id, err);
    if (status == TL_OK)
        status = tl_table__sort_splits(scan->table, &splits, err);
    if (status != TL_OK) {
        tl_splits_deinit(&splits);
        return tl_error_wrap(err, status, "table %s", tl_table__full_name(scan->table, name));
    }
    *out = splits;
    *ready = got;
    *snapshot_id = id;
    *is_full = full;
    return TL_OK;
}
