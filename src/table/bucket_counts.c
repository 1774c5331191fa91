/*
 * Real buckets for rows of a postponed table (`bucket` = -2) as they are written: a partition that has real buckets keeps their number,
 * a new one gets as many as its first compaction would make. Java: PostponeUtils#getKnownNumBuckets, PostponeBatchWriteOperator.
 *
 * The numbers are those of the snapshot that the writer began with. Whether somebody else gave a new partition another number meanwhile is
 * found by the commit, which looks for that where rows were placed (conflict.c).
 */
#include "table/write_private.h"

#include "base/bits.h"

struct tl_bucket_counts {
    int32_t n_partition;
    int32_t otherwise; /* of a new partition */
    tl_map of;         /* partition -> number of its buckets */
};

bool tl_bucket_counts_wanted(const tl_table *table, const tl_write_options *options)
{
    return table->bucket_mode == TL_BUCKETS_POSTPONE && options->real_buckets &&
           tl_table__option_bool(&table->schema->options, "postpone.batch-write-fixed-bucket");
}

/* ---- what is known ---- */

static tl_status note(tl_bucket_counts *c, const tl_manifest_entry *e, tl_error *err)
{
    if (e->total_buckets <= 0)
        return TL_OK;
    void *before = NULL;
    if (tl_map_put(&c->of, e->partition.data, e->partition.len, (void *)(uintptr_t)e->total_buckets, &before) != TL_OK)
        return tl_nomem(err, "partitions");
    int32_t old = (int32_t)(uintptr_t)before;
    if (old != 0 && old != e->total_buckets)
        return tl_error_set(err, TL_E_CORRUPT,
                            "a partition has files of %d and of %d buckets: rows cannot be placed. Overwrite the partition, or rescale it (CALL "
                            "sys.rescale)",
                            old, e->total_buckets);
    return TL_OK;
}

static tl_status find_known(tl_bucket_counts *c, tl_table *table, tl_pool *pool, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    if (latest == NULL)
        return TL_OK;
    TL_TRY(tl_table__check_snapshot(table, latest, /* changes_rows= */ false, err));
    tl_entries live = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.real_buckets_only = true;
    scan.pool = pool;
    tl_status status = tl_table__scan(table, &scan, &live, err);
    for (size_t i = 0; status == TL_OK && i < live.n; i++)
        status = note(c, &live.items[i], err);
    tl_entries_deinit(&live);
    return status;
}

/* Of a partition without real buckets. The reference takes the parallelism of its sink, which there is none of here. */
static tl_status count_of_new(const tl_table *table, int32_t *out, tl_error *err)
{
    static const char most_key[] = "postpone.batch-write-fixed-bucket.max-parallelism";
    int64_t most = 0;
    TL_TRY(tl_postpone__default_buckets(table, out, err));
    TL_TRY(tl_table__option_int(&table->schema->options, most_key, INT16_MAX, &most, err));
    if (most < 1)
        return tl_error_set(err, TL_E_INVALID, "option '%s': %lld is less than 1", most_key, (long long)most);
    *out = (int32_t)TL_MIN(*out, most);
    return TL_OK;
}

tl_status tl_bucket_counts_create(tl_table *table, tl_pool *pool, tl_bucket_counts **out, tl_error *err)
{
    tl_bucket_counts *c = tl_calloc(1, sizeof *c);
    if (c == NULL)
        return tl_nomem(err, "buckets");
    c->n_partition = table->n_partition;
    tl_status status = count_of_new(table, &c->otherwise, err);
    if (status == TL_OK)
        status = find_known(c, table, pool, err);
    if (status != TL_OK) {
        tl_bucket_counts_free(c);
        return status;
    }
    *out = c;
    return TL_OK;
}

void tl_bucket_counts_free(tl_bucket_counts *c)
{
    if (c == NULL)
        return;
    tl_map_deinit(&c->of);
    tl_free(c);
}

int32_t tl_bucket_counts_of(const tl_bucket_counts *c, tl_bytes_view partition)
{
    int32_t known = (int32_t)(uintptr_t)tl_map_get(&c->of, partition.data, partition.len);
    return known == 0 ? c->otherwise : known;
}

/* ---- buckets of rows ---- */

/* How many buckets each row's partition has. Rows of one partition tend to come together: the row before is looked at first. */
static tl_status counts_of_rows(const tl_bucket_counts *c, int64_t n_rows, const tl_buf *rows, const int64_t *offsets, int32_t *counts, tl_error *err)
{
    tl_buf key = {0};
    uint8_t arity[4];
    tl_write_be32(arity, (uint32_t)c->n_partition);
    tl_status status = TL_OK;
    for (int64_t i = 0; i < n_rows && status == TL_OK; i++) {
        tl_bytes_view row = {rows->data + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
        if (i > 0 && tl_bytes_equal(row, (tl_bytes_view){rows->data + offsets[i - 1], (size_t)(offsets[i] - offsets[i - 1])})) {
            counts[i] = counts[i - 1];
            continue;
        }
        key.len = 0;
        status = tl_buf_append(&key, arity, sizeof arity);
        if (status == TL_OK)
            status = tl_buf_append(&key, row.data, row.len);
        if (status == TL_OK)
            counts[i] = tl_bucket_counts_of(c, (tl_bytes_view){key.data, key.len});
    }
    tl_buf_deinit(&key);
    return status == TL_OK ? TL_OK : tl_nomem(err, "buckets");
}

/* One pass over all rows for each number of buckets that there is: partitions mostly share one. Clears `counts`. */
static tl_status assign(const tl_table *table, const tl_column *const *cols, int64_t n_rows, int32_t *counts, int32_t *buckets, tl_error *err)
{
    TL_CLEANUP(tl_freep) int32_t *fresh = tl_alloc((size_t)n_rows * sizeof *fresh);
    if (fresh == NULL)
        return tl_nomem(err, "buckets");
    for (int64_t i = 0; i < n_rows; i++) {
        int32_t count = counts[i];
        if (count == 0)
            continue; /* has its bucket */
        TL_TRY(tl_bucket_assign(table->bucket_function, cols, table->n_bucket_keys, n_rows, count, fresh, err));
        for (int64_t k = i; k < n_rows; k++) {
            if (counts[k] != count)
                continue;
            buckets[k] = fresh[k];
            counts[k] = 0;
        }
    }
    return TL_OK;
}

tl_status tl_bucket_counts_assign(const tl_bucket_counts *c, const tl_table *table, const tl_column *const *cols, int64_t n_rows, const tl_buf *rows,
                                  const int64_t *offsets, int32_t *buckets, tl_error *err)
{
    static const uint8_t none[4 + 8]; /* the partition of a table without partitions */
    if (offsets == NULL) {
        int32_t count = tl_bucket_counts_of(c, (tl_bytes_view){none, sizeof none});
        return tl_bucket_assign(table->bucket_function, cols, table->n_bucket_keys, n_rows, count, buckets, err);
    }
    TL_CLEANUP(tl_freep) int32_t *counts = tl_alloc((size_t)n_rows * sizeof *counts);
    if (counts == NULL)
        return tl_nomem(err, "buckets");
    TL_TRY(counts_of_rows(c, n_rows, rows, offsets, counts, err));
    return assign(table, cols, n_rows, counts, buckets, err);
}
