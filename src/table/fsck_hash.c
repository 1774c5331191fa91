/*
 * Checking the hash indexes of dynamic buckets: a writer finds a key's bucket by its hash alone. A key whose hash is not in the
 * index of the bucket that holds it would go to another one when it is written again, and so would one whose hash two buckets have:
 * it would be there twice. A hash without a key is right: the key was deleted, and its bucket remembered.
 */
#include "table/fsck_private.h"

#include <stdlib.h>

#include "base/bits.h"

/* The hashes of one bucket, ascending. Buckets are kept by partition and number. */
typedef struct bucket_hashes {
    const tl_index_entry *entry;
    uint32_t *hashes;
    size_t n;
} bucket_hashes;

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static tl_status load(tl_fsck__check *c, const tl_index_entry *e, bucket_hashes *out, tl_error *err)
{
    TL_CLEANUP(tl_bytes_deinit) tl_bytes file = {0};
    TL_TRY(tl_hash_index__read(c->table, e, &file, err));
    out->n = file.len / 4;
    out->hashes = tl_alloc(file.len);
    if (out->hashes == NULL)
        return tl_nomem(err, "hash index");
    for (size_t i = 0; i < out->n; i++)
        out->hashes[i] = tl_read_be32(file.data + i * 4);
    qsort(out->hashes, out->n, sizeof *out->hashes, by_value);
    return TL_OK;
}

static int by_place(const tl_index_entry *e, tl_bytes_view partition, int32_t bucket)
{
    int order = tl_bytes_compare(tl_bytes_view_of(e->partition), partition);
    return order != 0 ? order : (e->bucket > bucket) - (e->bucket < bucket);
}

static int by_bucket(const void *a, const void *b)
{
    const tl_index_entry *y = ((const bucket_hashes *)b)->entry;
    return by_place(((const bucket_hashes *)a)->entry, tl_bytes_view_of(y->partition), y->bucket);
}

/* ---- hashes of two buckets ---- */

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The buckets of one partition. */
static tl_status check_partition(tl_fsck__check *c, const bucket_hashes *all, size_t n, tl_error *err)
{
    size_t total = 0, at = 0, twice = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        total += all[i].n;
    TL_CLEANUP(tl_freep) uint64_t *hashes = tl_alloc(total * sizeof *hashes);
    if (hashes == NULL)
        return tl_nomem(err, "hashes");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < all[i].n; k++)
            hashes[at++] = (uint64_t)all[i].hashes[k] << 32 | i;
    qsort(hashes, total, sizeof *hashes, by_hash);
    for (size_t i = 1; i < total; i++) {
        bool same = hashes[i] >> 32 == hashes[i - 1] >> 32 && hashes[i] != hashes[i - 1];
        first = same && twice == 0 ? i : first;
        twice += same;
    }
    if (twice == 0)
        return TL_OK;
    const bucket_hashes *x = &all[(uint32_t)hashes[first - 1]], *y = &all[(uint32_t)hashes[first]];
    return tl_fsck__problem(c, err, "%zu hashes are in the indexes of two buckets of one partition, as of %d (%s) and %d (%s): keys may be there twice",
                            twice, x->entry->bucket, x->entry->file->name, y->entry->bucket, y->entry->file->name);
}

/* ---- keys ---- */

/* How many rows of the batch have no hash in the index. */
static tl_status see_rows(const tl_table *table, const tl_batch *batch, const bucket_hashes *index, int64_t *missing, tl_error *err)
{
    TL_CLEANUP(tl_freep) int32_t *hashes = tl_alloc((size_t)batch->n_rows * sizeof *hashes);
    if (hashes == NULL)
        return tl_nomem(err, "hashes");
    TL_TRY(tl_bucket_hash((const tl_column *const *)batch->cols, table->n_keys, batch->n_rows, hashes, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        uint32_t hash = (uint32_t)hashes[i];
        *missing += index->n == 0 || bsearch(&hash, index->hashes, index->n, sizeof hash, by_value) == NULL;
    }
    return TL_OK;
}

static tl_status count_missing(tl_table *table, const tl_manifest_entry *e, const bucket_hashes *index, int64_t *missing, tl_error *err)
{
    tl_bucket_read_spec spec = {.columns = table->key_idx, .n_columns = table->n_keys, .with_kinds = true};
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_files_read(table->config, tl_bytes_view_of(e->partition), e->bucket, &e->file, 1, &spec, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(see_rows(table, batch, index, missing, err));
    }
}

static tl_status check_file(tl_fsck__check *c, const tl_manifest_entry *e, const bucket_hashes *all, size_t n, tl_error *err)
{
    static const bucket_hashes none = {0};
    const bucket_hashes *index = &none;
    int64_t missing = 0;
    tl_error cause = {0};
    for (size_t low = 0, high = n; low < high && index == &none;) {
        size_t middle = (low + high) / 2;
        int order = by_place(all[middle].entry, tl_bytes_view_of(e->partition), e->bucket);
        if (order == 0)
            index = &all[middle];
        else if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    tl_status status = count_missing(c->table, e, index, &missing, &cause);
    if (status != TL_OK) /* other checks tell of a file that cannot be read */
        return status == TL_E_NOMEM ? tl_nomem(err, "keys") : TL_OK;
    if (missing == 0)
        return TL_OK;
    return tl_fsck__problem(c, err, "%s: the hashes of %lld keys are not in the index of bucket %d (%s): written again, they go to another bucket",
                            e->file->name, (long long)missing, e->bucket, index == &none ? "there is none" : index->entry->file->name);
}

static tl_status check_loaded(tl_fsck__check *c, bucket_hashes *all, size_t n, const tl_entries *live, tl_error *err)
{
    qsort(all, n, sizeof *all, by_bucket);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && tl_bytes_equal(tl_bytes_view_of(all[from].entry->partition), tl_bytes_view_of(all[to].entry->partition));)
            to++;
        TL_TRY(check_partition(c, &all[from], to - from, err));
    }
    for (size_t i = 0; i < live->n; i++)
        TL_TRY(check_file(c, &live->items[i], all, n, err));
    return TL_OK;
}

tl_status tl_fsck__check_hashes(tl_fsck__check *c, const tl_index_entries *indexes, const tl_entries *live, tl_error *err)
{
    /* Keys that span partitions have an index of their own, which is made anew by each job. */
    if (c->table->bucket_mode != TL_BUCKETS_DYNAMIC || c->table->spans_partitions)
        return TL_OK;
    TL_CLEANUP(tl_freep) bucket_hashes *all = tl_calloc(indexes->n + 1, sizeof *all);
    if (all == NULL)
        return tl_nomem(err, "hash indexes");
    size_t n = 0;
    tl_status status = TL_OK;
    for (size_t i = 0; i < indexes->n && status == TL_OK; i++) {
        const tl_index_entry *e = &indexes->items[i];
        tl_error cause = {0};
        if (strcmp(e->file->type, TL_INDEX_HASH) != 0)
            continue;
        all[n].entry = e;
        status = load(c, e, &all[n++], &cause);
        if (status != TL_OK)
            status = tl_fsck__failed(c, status, &cause, e->file->name, err);
    }
    if (status == TL_OK)
        status = check_loaded(c, all, n, live, err);
    for (size_t i = 0; i < n; i++)
        tl_free(all[i].hashes);
    return status;
}
