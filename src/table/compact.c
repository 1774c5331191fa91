/*
 * A compaction job: every bucket of the latest snapshot, or the small files of append tables without buckets; one commit.
 * Source: format reference §12; Java: CompactAction, AppendCompactCoordinator.
 */
#include "table/table_private.h"

/* ---- append tables without buckets ---- */

/* What a job does in each partition. */
typedef struct job {
    tl_table *table;
    bool full;
    const tl_cluster_spec *cluster;  /* NULL: small files are put together */
    const tl_predicate *partition;   /* on the partition type; NULL: all */
    const tl_map *partitions;        /* set of partition rows; NULL: all */
    tl_commit_messages *messages;
} job;

static tl_status compact_partition(const job *j, tl_entries *entries, size_t from, size_t to, tl_vectors *vectors, tl_error *err)
{
    tl_lsm_config *config = j->table->config;
    int32_t bucket = entries->items[from].bucket;
    tl_bytes_view partition = tl_bytes_view_of(entries->items[from].partition);
    tl_bucket_vectors of_bucket = {0};
    TL_TRY(tl_vectors__find(vectors, partition, bucket, &of_bucket.set, err));
    TL_TRY(tl_vectors__files(vectors, partition, bucket, &of_bucket.indexes, err));
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "compaction");
    for (size_t i = from; i < to; i++)
        files[i - from] = entries->items[i].file;
    tl_commit_message msg = {0};
    tl_status status = j->cluster != NULL ? tl_append_cluster(config, partition, bucket, files, to - from, &of_bucket, j->cluster, &msg, err)
                                          : tl_append_compact(config, partition, bucket, files, to - from, &of_bucket, j->full, &msg, err);
    if (status == TL_OK && !tl_commit_message_empty(&msg))
        j->messages->items[j->messages->n++] = msg;
    else
        tl_commit_message_deinit(&msg);
    return status;
}

static tl_status compact_unaware(const job *j, tl_error *err)
{
    tl_table *table = j->table;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    if (latest == NULL)
        return TL_OK;
    TL_TRY(tl_table__check_snapshot(table, latest, /* changes_rows= */ false, err));
    tl_entries live = {0};
    tl_vectors vectors = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.partition = j->partition;
    scan.partitions = j->partitions;
    tl_status status = tl_table__scan(table, &scan, &live, err);
    if (status == TL_OK)
        status = tl_vectors__read(table, latest, &vectors, err);
    if (status == TL_OK)
        status = tl_entries_sort_buckets(&live, err);
    j->messages->items = tl_calloc(live.n + 1, sizeof *j->messages->items);
    if (status == TL_OK && j->messages->items == NULL)
        status = tl_nomem(err, "compaction");
    for (size_t from = 0; status == TL_OK && from < live.n;) {
        size_t to = from + 1;
        while (to < live.n && tl_bytes_equal(tl_bytes_view_of(live.items[from].partition), tl_bytes_view_of(live.items[to].partition)))
            to++;
        status = compact_partition(j, &live, from, to, &vectors, err);
        from = to;
    }
    tl_vectors__deinit(&vectors);
    tl_entries_deinit(&live);
    return status;
}

/* ---- clustering ---- */

static tl_status compact_append(tl_table *table, bool full, const tl_map *partitions, tl_commit_messages *messages, tl_error *err)
{
    job j = {.table = table, .full = full, .partitions = partitions, .messages = messages};
    if (!tl_table__option_bool(&table->schema->options, "clustering.incremental"))
        return compact_unaware(&j, err);
    tl_cluster_spec cluster = {.incremental = true, .full = full};
    tl_status status = tl_order_of_options(table->config, &cluster.order, err);
    j.cluster = &cluster;
    if (status == TL_OK)
        status = compact_unaware(&j, err);
    tl_free(cluster.order.columns);
    return status;
}

static tl_status sort_append(tl_table *table, const tl_sort_spec *spec, tl_commit_messages *messages, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *partition = NULL;
    tl_cluster_spec cluster = {0};
    if (spec->n_partitions > 0)
        TL_TRY(tl_table__partitions_predicate(table, spec->partitions, spec->n_partitions, &partition, err));
    tl_status status = tl_order_of_columns(table->config, spec->kind, spec->columns, spec->n_columns, &cluster.order, err);
    const job j = {.table = table, .cluster = &cluster, .partition = partition, .messages = messages};
    if (status == TL_OK)
        status = compact_unaware(&j, err);
    tl_free(cluster.order.columns);
    return status;
}

/* ---- buckets ---- */

static tl_status compact_buckets(tl_table *table, bool full, const tl_map *partitions, tl_pool *pool, tl_commit_messages *messages, tl_error *err)
{
    tl_write_options options = {.pool = pool};
    tl_table_writer *writer = NULL;
    TL_TRY(tl_table_writer_create(table, &options, &writer, err));
    tl_status status = tl_table__writer_compact(writer, partitions, full, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, messages, err);
    tl_table_writer_free(writer);
    return status;
}

/* ---- some partitions ---- */

/* A partition is idle if its newest file is old enough; until then an entry tells the newest time so far. */
static tl_status note_partition(tl_map *newest, const tl_manifest_entry *e, tl_error *err)
{
    intptr_t ms = e->file->creation_time_ms == TL_ABSENT ? 1 : (intptr_t)TL_MAX(e->file->creation_time_ms, 1); /* 0 is "not there" */
    intptr_t before = (intptr_t)tl_map_get(newest, e->partition.data, e->partition.len);
    if (before >= ms)
        return TL_OK;
    return tl_map_put(newest, e->partition.data, e->partition.len, (void *)ms, NULL) == TL_OK ? TL_OK : tl_nomem(err, "partitions");
}

/* The partitions that a job is to compact. Those of the reference's partition_idle_time: the creation times of files are local ones. */
static tl_status choose_partitions(tl_table *table, const tl_compact_spec *spec, tl_map *out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    if (spec->n_partitions > 0)
        TL_TRY(tl_table__partitions_predicate(table, spec->partitions, spec->n_partitions, &pred, err));
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    if (latest == NULL)
        return TL_OK;
    tl_entries live = {0};
    tl_map newest = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.partition = pred;
    tl_status status = tl_table__scan(table, &scan, &live, err);
    for (size_t i = 0; status == TL_OK && i < live.n; i++)
        status = note_partition(&newest, &live.items[i], err);
    int64_t now = tl_clock_now_ms(tl_clock_system());
    tl_bytes_view partition;
    void *ms;
    for (size_t at = 0; status == TL_OK && tl_map_next(&newest, &at, &partition, &ms);) {
        bool idle = spec->idle_ms == TL_ABSENT || tl_from_local_ms((int64_t)(intptr_t)ms) <= now - spec->idle_ms;
        if (idle && tl_map_put(out, partition.data, partition.len, ms, NULL) != TL_OK)
            status = tl_nomem(err, "partitions");
    }
    tl_map_deinit(&newest);
    tl_entries_deinit(&live);
    return status;
}

tl_status tl_table_reopen(tl_table *table, const char *key, const char *value, tl_table **out, tl_error *err)
{
    tl_options forced = {0};
    tl_status status = tl_options_set(&forced, key, value);
    status = status == TL_OK ? tl_table__reopen(table, &forced, out, err) : tl_nomem(err, "options");
    tl_options_deinit(&forced);
    return status;
}

tl_status tl_table__next_identifier(tl_table *table, const char *user, int64_t *out, tl_error *err)
{
    *out = TL_COMMIT_BATCH;
    if (user == NULL)
        return TL_OK;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = NULL;
    tl_status status = tl_table_latest_of_user(table, user, &snap, err);
    if (status != TL_OK && status != TL_E_NOT_FOUND)
        return status;
    int64_t last = snap == NULL || snap->commit_identifier == TL_COMMIT_BATCH ? 0 : snap->commit_identifier;
    *out = last + 1;
    return TL_OK;
}

static tl_status run_job(tl_table *table, const char *user, bool full, const tl_sort_spec *sort, const tl_map *partitions, tl_pool *pool,
                         tl_commit_result *out, tl_error *err)
{
    tl_commit_spec spec = {.user = user, .watermark = TL_ABSENT, .ignore_empty = true};
    TL_TRY(tl_table__next_identifier(table, user, &spec.identifier, err));
    tl_commit_messages messages = {0};
    tl_status status = sort != NULL                                ? sort_append(table, sort, &messages, err)
                       : table->bucket_mode == TL_BUCKETS_UNAWARE  ? compact_append(table, full, partitions, &messages, err)
                       : table->bucket_mode == TL_BUCKETS_POSTPONE ? tl_postpone__compact(table, pool, &messages, err)
                                                                   : compact_buckets(table, full, partitions, pool, &messages, err);
    if (status == TL_OK)
        status = tl_table_commit(table, &spec, &messages, out, err);
    else
        tl_table_abort(table, &messages);
    tl_commit_messages_deinit(&messages);
    return status;
}

static tl_status start_job(tl_table *table, const char *user, bool full, const tl_sort_spec *sort, const tl_map *partitions, tl_pool *pool,
                           tl_commit_result *out, tl_error *err)
{
    tl_commit_result result = {0};
    tl_status status;
    if (table->config->write_only) {
        TL_CLEANUP(tl_table_freep) tl_table *mine = NULL;
        TL_TRY(tl_table_reopen(table, "write-only", "false", &mine, err)); /* a job compacts although the table says so */
        status = run_job(mine, user, full, sort, partitions, pool, &result, err);
    } else {
        status = run_job(table, user, full, sort, partitions, pool, &result, err);
    }
    if (status == TL_OK && out != NULL)
        *out = result;
    return status;
}

tl_status tl_table_compact(tl_table *table, const char *user, bool full, tl_pool *pool, tl_commit_result *out, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "compact it", err));
    tl_status status = start_job(table, user, full, /* sort= */ NULL, /* partitions= */ NULL, pool, out, err);
    return tl_error_wrap(err, status, "compaction of table %s", tl_table__full_name(table, name));
}

tl_status tl_table_compact_partitions(tl_table *table, const char *user, const tl_compact_spec *spec, tl_pool *pool, tl_commit_result *out,
                                      tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "compact it", err));
    if (table->bucket_mode == TL_BUCKETS_POSTPONE)
        return tl_error_set(err, TL_E_UNSUPPORTED, "table %s: not supported: giving buckets to the rows of some partitions alone",
                            tl_table__full_name(table, name));
    tl_map partitions = {0};
    tl_commit_result nothing = {0};
    tl_status status = choose_partitions(table, spec, &partitions, err);
    if (status == TL_OK && partitions.count > 0)
        status = start_job(table, user, spec->full, /* sort= */ NULL, &partitions, pool, out, err);
    else if (status == TL_OK && out != NULL)
        *out = nothing;
    tl_map_deinit(&partitions);
    return tl_error_wrap(err, status, "compaction of table %s", tl_table__full_name(table, name));
}

tl_status tl_table_sort(tl_table *table, const char *user, const tl_sort_spec *spec, tl_commit_result *out, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "sort it", err));
    tl_table__full_name(table, name);
    if (table->n_keys > 0 || table->bucket_mode != TL_BUCKETS_UNAWARE)
        return tl_error_set(err, TL_E_INVALID, "table %s cannot be sorted: only append tables without buckets are ('bucket' = '-1')", name);
    if (tl_table__option_bool(&table->schema->options, "data-evolution.enabled"))
        return tl_error_set(err, TL_E_INVALID, "Data Evolution table cannot be sorted!");
    return tl_error_wrap(err, start_job(table, user, /* full= */ false, spec, /* partitions= */ NULL, /* pool= */ NULL, out, err), "sorting table %s", name);
}
