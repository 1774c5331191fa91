/*
 * Another number of buckets for what is there: rows are read and written again, and take the place of the old files in one overwrite.
 * Java: RescaleAction.
 */
#include "table/table_private.h"

/* A handle that reads the snapshot, and one that writes into that many buckets and whose commit fails if others committed meanwhile. */
static tl_status open_both(tl_table *table, int64_t snapshot_id, int32_t n_buckets, tl_table **from, tl_table **to, tl_error *err)
{
    char id[24], number[16];
    snprintf(id, sizeof id, "%lld", (long long)snapshot_id);
    snprintf(number, sizeof number, "%d", (int)n_buckets);
    tl_options at = {0}, real = {0};
    tl_status status = tl_options_set(&at, "scan.snapshot-id", id);
    if (status == TL_OK)
        status = tl_options_set(&at, "scan.mode", "from-snapshot");
    if (status == TL_OK)
        status = tl_options_set(&real, "bucket", number);
    if (status == TL_OK)
        status = tl_options_set(&real, "dynamic-partition-overwrite", "false"); /* just what is read is replaced */
    if (status == TL_OK)
        status = tl_options_set(&real, "commit.strict-mode.last-safe-snapshot", id);
    if (status != TL_OK)
        status = tl_nomem(err, "options");
    if (status == TL_OK)
        status = tl_table__reopen(table, &at, from, err);
    if (status == TL_OK)
        status = tl_table__reopen(table, &real, to, err);
    tl_options_deinit(&at);
    tl_options_deinit(&real);
    return status;
}

static tl_status write_rows(tl_table *from, const tl_predicate *partition, tl_pool *pool, tl_table_writer *writer, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    const tl_scan_spec spec = {.predicate = partition, .limit = -1, .pool = pool};
    TL_TRY(tl_table_read(from, &spec, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(tl_table_writer_write(writer, batch, err));
    }
}

static tl_status overwrite(tl_table *from, tl_table *to, const tl_options *partition, const tl_predicate *wanted, tl_pool *pool, tl_commit_result *out,
                           tl_error *err)
{
    tl_commit_messages messages = {0};
    tl_table_writer *writer = NULL;
    const tl_write_options options = {.pool = pool, .ignore_previous = true};
    const tl_commit_spec spec = {.identifier = TL_COMMIT_BATCH, .watermark = TL_ABSENT, .overwrite = true, .overwrite_partition = partition};
    TL_TRY(tl_table_writer_create(to, &options, &writer, err));
    tl_status status = write_rows(from, wanted, pool, writer, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, &messages, err);
    tl_table_writer_free(writer);
    if (status == TL_OK)
        status = tl_table_commit(to, &spec, &messages, out, err);
    tl_commit_messages_deinit(&messages);
    return status;
}

/* The rows of the partition as a filter of a read: partition columns are columns. */
static tl_status row_filter(tl_table *table, const tl_options *partition, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *on_partition = NULL;
    *out = NULL;
    TL_TRY(tl_table__partitions_predicate(table, partition, 1, &on_partition, err));
    return on_partition == NULL ? TL_OK : tl_predicate_remap(on_partition, table->partition_idx, /* weaken= */ false, out, err);
}

static tl_status check(tl_table *table, int32_t *n_buckets, tl_error *err)
{
    char name[256];
    tl_table__full_name(table, name);
    TL_TRY(tl_table__check_writable(table, err));
    if (*n_buckets == 0 && table->bucket_mode == TL_BUCKETS_POSTPONE)
        return tl_error_set(err, TL_E_INVALID, "table %s: When rescaling postpone bucket tables, you must provide the resulting bucket number.", name);
    if (table->bucket_mode == TL_BUCKETS_DYNAMIC || table->bucket_mode == TL_BUCKETS_UNAWARE)
        return tl_error_set(err, TL_E_UNSUPPORTED, "table %s has no fixed number of buckets ('bucket' = '-1'): there is nothing to rescale", name);
    if (*n_buckets == 0)
        *n_buckets = table->n_buckets;
    if (*n_buckets < 1 || *n_buckets > INT16_MAX)
        return tl_error_set(err, TL_E_INVALID, "table %s: %d buckets: the number must be within 1 and %d", name, (int)*n_buckets, INT16_MAX);
    return TL_OK;
}

/* Whether there are rows in the partition that the latest state's readers do not see yet. The snapshot is the caller's. */
static tl_status latest_and_hidden(tl_table *table, const tl_predicate *partition, tl_pool *pool, tl_snapshot **latest, bool *hidden, tl_error *err)
{
    *hidden = false;
    tl_snapshot_free(*latest);
    *latest = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, latest, err));
    if (*latest == NULL || !tl_table__skips_level0(table))
        return TL_OK;
    tl_scan scan;
    tl_entries entries = {0};
    tl_scan_init(&scan, TL_SCAN_ALL, *latest);
    scan.predicate = partition;
    scan.pool = pool;
    scan.level_max = 0;
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    *hidden = entries.n > 0;
    tl_entries_deinit(&entries);
    return status;
}

/*
 * What is read takes the place of all there is. Where level 0 is not read (deletion vectors, first-row), what lies there would be lost: it is
 * compacted first.
 */
static tl_status latest_in_view(tl_table *table, const tl_predicate *partition, tl_pool *pool, tl_snapshot **latest, tl_error *err)
{
    bool hidden;
    char name[256];
    TL_TRY(latest_and_hidden(table, partition, pool, latest, &hidden, err));
    for (int full = 0; hidden && full < 2; full++) {
        tl_commit_result result = {0};
        TL_TRY(tl_table_compact(table, NULL, full == 1, pool, &result, err));
        TL_TRY(latest_and_hidden(table, partition, pool, latest, &hidden, err));
    }
    if (hidden)
        return tl_error_set(err, TL_E_CONFLICT, "table %s: rows came that no compaction has placed yet: try again when nobody writes",
                            tl_table__full_name(table, name));
    return TL_OK;
}

tl_status tl_table_rescale(tl_table *table, const tl_options *partition, int32_t n_buckets, tl_pool *pool, tl_commit_result *out, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "rescale it", err));
    TL_TRY(check(table, &n_buckets, err));
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_CLEANUP(tl_table_freep) tl_table *from = NULL;
    TL_CLEANUP(tl_table_freep) tl_table *to = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *wanted = NULL;
    tl_table__full_name(table, name);
    tl_status status = row_filter(table, partition, &wanted, err);
    if (status == TL_OK)
        status = latest_in_view(table, wanted, pool, &latest, err);
    if (status == TL_OK && latest == NULL)
        return tl_error_set(err, TL_E_INVALID, "Table %s has no snapshot. No need to rescale.", name);
    tl_commit_result result = {0};
    if (status == TL_OK)
        status = open_both(table, latest->id, n_buckets, &from, &to, err);
    if (status == TL_OK)
        status = overwrite(from, to, partition, wanted, pool, &result, err);
    if (out != NULL)
        *out = result;
    return tl_error_wrap(err, status, "rescaling table %s", name);
}
