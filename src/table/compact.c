/*
 * A compaction job: every bucket of the latest snapshot, or the small files of append tables without buckets; one commit.
 * Source: format reference §12; Java: CompactAction, AppendCompactCoordinator.
 */
#include "table/table_private.h"

/* ---- append tables without buckets ---- */

static tl_status compact_partition(tl_table *table, tl_entries *entries, size_t from, size_t to, tl_vectors *vectors, bool full,
                                   tl_commit_messages *messages, tl_error *err)
{
    tl_bytes_view partition = tl_bytes_view_of(entries->items[from].partition);
    tl_bucket_vectors of_bucket = {0};
    TL_TRY(tl_vectors__find(vectors, partition, entries->items[from].bucket, &of_bucket.set, err));
    TL_TRY(tl_vectors__files(vectors, partition, entries->items[from].bucket, &of_bucket.indexes, err));
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "compaction");
    for (size_t i = from; i < to; i++)
        files[i - from] = entries->items[i].file;
    tl_commit_message msg = {0};
    tl_status status = tl_append_compact(table->config, partition, entries->items[from].bucket, files, to - from, &of_bucket, full, &msg, err);
    if (status == TL_OK && !tl_commit_message_empty(&msg))
        messages->items[messages->n++] = msg;
    else
        tl_commit_message_deinit(&msg);
    return status;
}

static tl_status compact_unaware(tl_table *table, bool full, tl_commit_messages *messages, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    if (latest == NULL)
        return TL_OK;
    TL_TRY(tl_table__check_snapshot(table, latest, err));
    tl_entries live = {0};
    tl_vectors vectors = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    tl_status status = tl_table__scan(table, &scan, &live, err);
    if (status == TL_OK)
        status = tl_vectors__read(table, latest, &vectors, err);
    if (status == TL_OK)
        status = tl_entries_sort_buckets(&live, err);
    messages->items = tl_calloc(live.n + 1, sizeof *messages->items);
    if (status == TL_OK && messages->items == NULL)
        status = tl_nomem(err, "compaction");
    for (size_t from = 0; status == TL_OK && from < live.n;) {
        size_t to = from + 1;
        while (to < live.n && tl_bytes_equal(tl_bytes_view_of(live.items[from].partition), tl_bytes_view_of(live.items[to].partition)))
            to++;
        status = compact_partition(table, &live, from, to, &vectors, full, messages, err);
        from = to;
    }
    tl_vectors__deinit(&vectors);
    tl_entries_deinit(&live);
    return status;
}

/* ---- buckets ---- */

static tl_status compact_buckets(tl_table *table, bool full, tl_pool *pool, tl_commit_messages *messages, tl_error *err)
{
    tl_write_options options = {.pool = pool};
    tl_table_writer *writer = NULL;
    TL_TRY(tl_table_writer_create(table, &options, &writer, err));
    tl_status status = tl_table_writer_compact_all(writer, full, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, messages, err);
    tl_table_writer_free(writer);
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

static tl_status run_job(tl_table *table, const char *user, bool full, tl_pool *pool, tl_commit_result *out, tl_error *err)
{
    tl_commit_spec spec = {.user = user, .watermark = TL_ABSENT, .ignore_empty = true};
    TL_TRY(tl_table__next_identifier(table, user, &spec.identifier, err));
    tl_commit_messages messages = {0};
    tl_status status = table->bucket_mode == TL_BUCKETS_UNAWARE    ? compact_unaware(table, full, &messages, err)
                       : table->bucket_mode == TL_BUCKETS_POSTPONE ? tl_postpone__compact(table, pool, &messages, err)
                                                                   : compact_buckets(table, full, pool, &messages, err);
    if (status == TL_OK)
        status = tl_table_commit(table, &spec, &messages, out, err);
    else
        tl_table_abort(table, &messages);
    tl_commit_messages_deinit(&messages);
    return status;
}

tl_status tl_table_compact(tl_table *table, const char *user, bool full, tl_pool *pool, tl_commit_result *out, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "compact it", err));
    tl_commit_result result = {0};
    tl_status status;
    if (table->config->write_only) {
        TL_CLEANUP(tl_table_freep) tl_table *mine = NULL;
        TL_TRY(tl_table_reopen(table, "write-only", "false", &mine, err)); /* a job compacts although the table says so */
        status = run_job(mine, user, full, pool, &result, err);
    } else {
        status = run_job(table, user, full, pool, &result, err);
    }
    if (status == TL_OK && out != NULL)
        *out = result;
    return tl_error_wrap(err, status, "compaction of table %s", tl_table__full_name(table, name));
}
