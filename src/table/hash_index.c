/*
 * Dynamic buckets: which bucket each key of a partition has. The answer lies in hash indexes, one file a bucket with the Murmur
 * hashes of its keys; here it is one table of hashes for each partition that is written to. Source: format reference §15; Java:
 * HashBucketAssigner, PartitionIndex, DynamicBucketIndexMaintainer.
 *
 * Keys are known by their hash alone: two keys of one hash share a bucket, which is right wherever that is. A hash takes six bytes
 * and the free space of an open addressing table, 8 to 16 bytes in all.
 *
 * A partition's index is loaded with the first row of it and from then on knows its own changes only, as the bucket writers do. If
 * somebody else gave buckets to keys meanwhile, one key could end up in two buckets: each message carries a digest of the indexes
 * that were there (tl_hash_index__digest), and the commit compares. The reference leaves it to its users to write such tables
 * from one job only.
 */
#include "table/write_private.h"

#include "base/bits.h"

/* Bucket ids fit a short in the reference. */
#define MAX_BUCKETS INT16_MAX
#define MIN_SLOTS 64
#define AHEAD 12 /* rows whose slots are fetched ahead */

typedef struct bucket_state {
    bool exists;
    bool modified;  /* since the last prepare */
    int64_t rows;   /* hashes of the bucket */
    uint64_t digest; /* of its index file; 0: none */
} bucket_state;

typedef struct partition_index {
    tl_bytes partition; /* BinaryRow with arity */
    uint32_t *hashes;
    uint16_t *owners; /* bucket + 1; 0: the slot is free */
    size_t cap;       /* power of two */
    size_t count;
    bucket_state *buckets; /* by id */
    int32_t n_buckets;
    int32_t *cursors; /* per assigner: below it none of its buckets has room */
    uint32_t partition_hash;
    int64_t last_round; /* in which it was asked */
    uint64_t base;      /* digest of the index files that the last prepare found */
} partition_index;

struct tl_hash_index {
    tl_table *table;
    tl_write_view *view;
    bool ignore_previous;
    int64_t target_rows; /* of a bucket */
    int32_t max_buckets;
    int32_t n_assigners;
    partition_index **items;
    size_t n;
    size_t cap;
    tl_map map; /* partition row without arity -> position + 1 */
    int64_t round;
    char uuid[37]; /* of the files' names */
    int32_t next_file;
};

/* ---- create, free ---- */

static void partition_free(partition_index *p)
{
    if (p == NULL)
        return;
    tl_bytes_deinit(&p->partition);
    tl_free(p->hashes);
    tl_free(p->owners);
    tl_free(p->buckets);
    tl_free(p->cursors);
    tl_free(p);
}

void tl_hash_index_clear(tl_hash_index *x)
{
    for (size_t i = 0; x != NULL && i < x->n; i++)
        partition_free(x->items[i]);
    if (x == NULL)
        return;
    x->n = 0;
    tl_map_deinit(&x->map);
    x->map = (tl_map){0};
}

void tl_hash_index_free(tl_hash_index *x)
{
    if (x == NULL)
        return;
    tl_hash_index_clear(x);
    tl_free(x->items);
    tl_free(x);
}

size_t tl_hash_index_partitions(const tl_hash_index *x)
{
    return x == NULL ? 0 : x->n;
}

static tl_status read_options(tl_hash_index *x, tl_error *err)
{
    const tl_options *opts = &x->table->schema->options;
    int64_t max = 0, initial = 0;
    TL_TRY(tl_table__option_int(opts, "dynamic-bucket.target-row-num", 0, &x->target_rows, err));
    TL_TRY(tl_table__option_int(opts, "dynamic-bucket.max-buckets", -1, &max, err));
    TL_TRY(tl_table__option_int(opts, "dynamic-bucket.initial-buckets", 1, &initial, err));
    if (max == 0 || max < -1)
        return tl_error_set(err, TL_E_INVALID, "option 'dynamic-bucket.max-buckets': %lld is neither -1 nor a number of buckets", (long long)max);
    if (initial < 1 || initial > MAX_BUCKETS)
        return tl_error_set(err, TL_E_INVALID, "option 'dynamic-bucket.initial-buckets': %lld is not within 1 and %d", (long long)initial,
                            MAX_BUCKETS);
    x->max_buckets = (int32_t)TL_MIN(max, MAX_BUCKETS);
    x->n_assigners = (int32_t)(max > 0 ? TL_MIN(initial, max) : initial);
    return TL_OK;
}

tl_status tl_hash_index_create(tl_table *table, tl_write_view *view, bool ignore_previous, tl_hash_index **out, tl_error *err)
{
    tl_hash_index *x = tl_calloc(1, sizeof *x);
    if (x == NULL)
        return tl_nomem(err, "hash index");
    x->table = table;
    x->view = view;
    x->ignore_previous = ignore_previous;
    tl_uuid(x->uuid);
    tl_status status = read_options(x, err);
    if (status != TL_OK) {
        tl_hash_index_free(x);
        return status;
    }
    *out = x;
    return TL_OK;
}

/* ---- the table of hashes ---- */

static tl_status table_resize(partition_index *p, size_t cap)
{
    uint32_t *hashes = tl_alloc(cap * sizeof *hashes);
    uint16_t *owners = tl_calloc(cap, sizeof *owners);
    if (hashes == NULL || owners == NULL) {
        tl_free(hashes);
        tl_free(owners);
        return TL_E_NOMEM;
    }
    for (size_t i = 0; i < p->cap; i++) {
        if (p->owners[i] == 0)
            continue;
        size_t at = p->hashes[i] & (cap - 1);
        while (owners[at] != 0)
            at = (at + 1) & (cap - 1);
        hashes[at] = p->hashes[i];
        owners[at] = p->owners[i];
    }
    tl_free(p->hashes);
    tl_free(p->owners);
    p->hashes = hashes;
    p->owners = owners;
    p->cap = cap;
    return TL_OK;
}

/* Room for `extra` more hashes with at most three quarters of the slots taken. */
static tl_status table_reserve(partition_index *p, size_t extra)
{
    size_t cap = TL_MAX(p->cap, (size_t)MIN_SLOTS);
    while ((p->count + extra) > cap / 4 * 3)
        cap *= 2;
    return cap == p->cap ? TL_OK : table_resize(p, cap);
}

/* The slot of the hash, or the free one where it belongs. */
static size_t table_find(const partition_index *p, uint32_t hash)
{
    size_t at = hash & (p->cap - 1);
    while (p->owners[at] != 0 && p->hashes[at] != hash)
        at = (at + 1) & (p->cap - 1);
    return at;
}

static tl_status need_bucket(partition_index *p, int32_t bucket)
{
    if (bucket < p->n_buckets)
        return TL_OK;
    int32_t n = TL_MAX(bucket + 1, p->n_buckets * 2);
    bucket_state *buckets = tl_realloc(p->buckets, (size_t)n * sizeof *buckets);
    if (buckets == NULL)
        return TL_E_NOMEM;
    memset(buckets + p->n_buckets, 0, (size_t)(n - p->n_buckets) * sizeof *buckets);
    p->buckets = buckets;
    p->n_buckets = n;
    return TL_OK;
}

/* ---- loading ---- */

tl_status tl_hash_index__read(const tl_table *table, const tl_index_entry *e, tl_bytes *out, tl_error *err)
{
    const tl_index_file *f = e->file;
    TL_CLEANUP(tl_freep) char *path = tl_indexes__path(table, tl_bytes_view_of(e->partition), e->bucket, f->name, f->external_path);
    if (path == NULL)
        return tl_nomem(err, "path");
    TL_TRY(tl_error_wrap(err, tl_fs_read_all(table->fs, path, INT64_C(1) << 34, out, err), "hash index of bucket %d", e->bucket));
    if ((int64_t)out->len != f->bytes || out->len % 4 != 0 || (int64_t)(out->len / 4) != f->rows)
        return tl_error_set(err, TL_E_CORRUPT, "hash index '%s': %zu bytes, recorded are %lld and %lld hashes of 4", f->name, out->len,
                            (long long)f->bytes, (long long)f->rows);
    return TL_OK;
}

static uint64_t digest_of(int32_t bucket, const char *name)
{
    return tl_xxh64(name, strlen(name), (uint64_t)(uint32_t)bucket + 1);
}

static tl_status load_file(const tl_table *table, partition_index *p, const tl_index_entry *e, tl_error *err)
{
    if (e->bucket < 0 || e->bucket >= MAX_BUCKETS)
        return tl_error_set(err, TL_E_CORRUPT, "hash index '%s' of bucket %d", e->file->name, e->bucket);
    tl_bytes file = {0};
    tl_status status = tl_hash_index__read(table, e, &file, err);
    size_t n = file.len / 4;
    if (status == TL_OK && (need_bucket(p, e->bucket) != TL_OK || table_reserve(p, n) != TL_OK))
        status = tl_nomem(err, "hash index");
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        uint32_t hash = tl_read_be32(file.data + i * 4);
        size_t at = table_find(p, hash);
        p->count += p->owners[at] == 0;
        p->hashes[at] = hash;
        p->owners[at] = (uint16_t)(e->bucket + 1);
    }
    if (status == TL_OK) {
        p->buckets[e->bucket].exists = n > 0;
        p->buckets[e->bucket].rows += (int64_t)n;
        p->buckets[e->bucket].digest = digest_of(e->bucket, e->file->name);
    }
    tl_bytes_deinit(&file);
    return status;
}

static bool is_hash_of(const tl_index_entry *e, tl_bytes_view partition)
{
    return strcmp(e->file->type, TL_INDEX_HASH) == 0 && tl_bytes_equal(tl_bytes_view_of(e->partition), partition);
}

static tl_status load(tl_hash_index *x, partition_index *p, tl_error *err)
{
    if (table_reserve(p, 0) != TL_OK)
        return tl_nomem(err, "hash index");
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_write_view_latest(x->view, x->table, &latest, err));
    if (x->ignore_previous)
        return TL_OK;
    tl_index_entries indexes = {0};
    tl_status status = tl_indexes__read(x->table, latest, &indexes, err);
    for (size_t i = 0; status == TL_OK && i < indexes.n; i++) {
        if (is_hash_of(&indexes.items[i], tl_bytes_view_of(p->partition)))
            status = load_file(x->table, p, &indexes.items[i], err);
    }
    tl_index_entries_deinit(&indexes);
    return status;
}

uint64_t tl_hash_index__digest(const tl_index_entries *indexes, tl_bytes_view partition)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < indexes->n; i++) {
        if (is_hash_of(&indexes->items[i], partition))
            digest ^= digest_of(indexes->items[i].bucket, indexes->items[i].file->name);
    }
    return digest;
}

static uint64_t digest(const partition_index *p)
{
    uint64_t all = 0;
    for (int32_t i = 0; i < p->n_buckets; i++)
        all ^= p->buckets[i].digest;
    return all;
}

static tl_status open_partition(tl_hash_index *x, tl_bytes_view row, partition_index **out, tl_error *err)
{
    if (x->n == x->cap) {
        size_t cap = TL_MAX(x->cap * 2, (size_t)8);
        partition_index **items = tl_realloc(x->items, cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "hash index");
        x->items = items;
        x->cap = cap;
    }
    partition_index *p = tl_calloc(1, sizeof *p);
    if (p == NULL)
        return tl_nomem(err, "hash index");
    p->partition_hash = tl_murmur32_words(row.data, row.len, 42);
    p->cursors = tl_calloc((size_t)x->n_assigners, sizeof *p->cursors);
    tl_status status = p->cursors == NULL || tl_partition_with_arity(x->table, row, &p->partition) != TL_OK ? tl_nomem(err, "hash index") : TL_OK;
    for (int32_t i = 0; status == TL_OK && i < x->n_assigners; i++)
        p->cursors[i] = i;
    if (status == TL_OK)
        status = load(x, p, err);
    if (status == TL_OK && tl_map_put(&x->map, row.data, row.len, (void *)(uintptr_t)(x->n + 1), NULL) != TL_OK)
        status = tl_nomem(err, "hash index");
    if (status != TL_OK) {
        partition_free(p);
        return status;
    }
    x->items[x->n++] = p;
    *out = p;
    return TL_OK;
}

static tl_status find_partition(tl_hash_index *x, tl_bytes_view row, partition_index **out, tl_error *err)
{
    uintptr_t at = (uintptr_t)tl_map_get(&x->map, row.data, row.len);
    if (at != 0)
        *out = x->items[at - 1];
    else
        TL_TRY(open_partition(x, row, out, err));
    (*out)->last_round = x->round;
    return TL_OK;
}

/* ---- assigning ---- */

/*
 * Keys are dealt out to `dynamic-bucket.initial-buckets` assigners, as the reference deals them to its parallel tasks: assigner a
 * of n makes the buckets a, a + n, a + 2n, …
 */
static int32_t assigner_of(const tl_hash_index *x, const partition_index *p, uint32_t hash)
{
    int32_t n = x->n_assigners;
    if (n == 1)
        return 0;
    int32_t start = (int32_t)p->partition_hash % n, id = (int32_t)hash % n;
    return ((start < 0 ? -start : start) + (id < 0 ? -id : id)) % n;
}

/* No bucket has room and no more may be made: keys are spread over those that are there, by their hash. */
static int32_t spread(const tl_hash_index *x, const partition_index *p, int32_t assigner, uint32_t hash)
{
    int32_t n = 0;
    for (int32_t b = assigner; b < p->n_buckets; b += x->n_assigners)
        n += p->buckets[b].exists;
    int32_t skip = n == 0 ? 0 : (int32_t)(hash % (uint32_t)n);
    for (int32_t b = assigner; b < p->n_buckets; b += x->n_assigners) {
        if (p->buckets[b].exists && skip-- == 0)
            return b;
    }
    return assigner;
}

/* A bucket for a new key: the first with room, or a new one with the lowest free number. */
static tl_status choose(const tl_hash_index *x, partition_index *p, uint32_t hash, int32_t *out, tl_error *err)
{
    int32_t assigner = assigner_of(x, p, hash);
    int32_t *cursor = &p->cursors[assigner];
    for (; *cursor < p->n_buckets; *cursor += x->n_assigners) {
        const bucket_state *b = &p->buckets[*cursor];
        if (b->exists && b->rows < x->target_rows) {
            *out = *cursor;
            return TL_OK;
        }
    }
    int32_t end = x->max_buckets < 0 ? MAX_BUCKETS : x->max_buckets, fresh = assigner;
    while (fresh < end && fresh < p->n_buckets && p->buckets[fresh].exists)
        fresh += x->n_assigners;
    if (fresh >= end) {
        if (x->max_buckets < 0)
            return tl_error_set(err, TL_E_INVALID, "Too more bucket %d, you should increase target bucket row number %lld.", MAX_BUCKETS - 1,
                                (long long)x->target_rows);
        *out = spread(x, p, assigner, hash);
        return TL_OK;
    }
    *cursor = TL_MIN(*cursor, fresh);
    *out = fresh;
    return TL_OK;
}

static tl_status assign_new(const tl_hash_index *x, partition_index *p, uint32_t hash, int32_t *out, tl_error *err)
{
    TL_TRY(choose(x, p, hash, out, err));
    if (table_reserve(p, 1) != TL_OK || need_bucket(p, *out) != TL_OK)
        return tl_nomem(err, "hash index");
    size_t at = table_find(p, hash);
    p->hashes[at] = hash;
    p->owners[at] = (uint16_t)(*out + 1);
    p->count++;
    bucket_state *b = &p->buckets[*out];
    b->exists = b->modified = true;
    b->rows++;
    return TL_OK;
}

tl_status tl_hash_index_assign(tl_hash_index *x, const int32_t *hashes, int64_t n_rows, const tl_buf *rows, const int64_t *offsets,
                               int32_t *buckets, tl_error *err)
{
    static const uint8_t none[8]; /* the row of an unpartitioned table's partition */
    partition_index *p = NULL;
    tl_bytes_view last = {0};
    for (int64_t i = 0; i < n_rows; i++) {
        tl_bytes_view row = offsets == NULL ? (tl_bytes_view){none, sizeof none}
                                            : (tl_bytes_view){rows->data + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
        if (p == NULL || (offsets != NULL && !tl_bytes_equal(row, last)))
            TL_TRY(find_partition(x, row, &p, err));
        last = row;
        if (i + AHEAD < n_rows) { /* most look-ups miss the cache */
            size_t next = (uint32_t)hashes[i + AHEAD] & (p->cap - 1);
            __builtin_prefetch(&p->hashes[next]);
            __builtin_prefetch(&p->owners[next]);
        }
        uint32_t hash = (uint32_t)hashes[i];
        size_t at = table_find(p, hash);
        if (p->owners[at] != 0)
            buckets[i] = p->owners[at] - 1;
        else
            TL_TRY(assign_new(x, p, hash, &buckets[i], err));
    }
    return TL_OK;
}

/* ---- prepare ---- */

/* The hashes of each modified bucket, big-endian, gathered in one pass over the partition. */
static tl_status gather(const partition_index *p, uint8_t **files, tl_error *err)
{
    TL_CLEANUP(tl_freep) int64_t *filled = tl_calloc((size_t)p->n_buckets, sizeof *filled);
    if (filled == NULL)
        return tl_nomem(err, "hash index");
    for (int32_t b = 0; b < p->n_buckets; b++) {
        if (p->buckets[b].modified && (files[b] = tl_alloc((size_t)p->buckets[b].rows * 4)) == NULL)
            return tl_nomem(err, "hash index");
    }
    for (size_t i = 0; i < p->cap; i++) {
        int32_t b = p->owners[i] - 1;
        /* A hash that a foreign writer put into two buckets counts in both and is found in one. */
        if (b >= 0 && files[b] != NULL && filled[b] < p->buckets[b].rows)
            tl_write_be32(files[b] + 4 * filled[b]++, p->hashes[i]);
    }
    for (int32_t b = 0; b < p->n_buckets; b++) {
        if (files[b] != NULL)
            p->buckets[b].rows = filled[b];
    }
    return TL_OK;
}

static tl_status write_file(tl_hash_index *x, const partition_index *p, int32_t bucket, const uint8_t *hashes, tl_index_file **out, tl_error *err)
{
    tl_index_file *file = tl_index_file_create();
    if (file == NULL)
        return tl_nomem(err, "hash index");
    file->rows = p->buckets[bucket].rows;
    file->bytes = file->rows * 4;
    file->type = tl_strdup(TL_INDEX_HASH);
    file->name = tl_strf("index-%s-%d", x->uuid, x->next_file++);
    TL_CLEANUP(tl_freep) char *path =
        file->name == NULL ? NULL : tl_indexes__path(x->table, tl_bytes_view_of(p->partition), bucket, file->name, NULL);
    tl_status status = file->type == NULL || path == NULL ? tl_nomem(err, "hash index") : TL_OK;
    if (status == TL_OK)
        status = tl_fs_publish(x->table->fs, path, (tl_bytes_view){hashes, (size_t)file->bytes}, /* replace= */ false, err);
    if (status != TL_OK) {
        tl_index_file_unref(file);
        return tl_error_wrap(err, status, "hash index of bucket %d", bucket);
    }
    *out = file;
    return TL_OK;
}

static tl_status add_file(tl_hash_index *x, partition_index *p, int32_t bucket, const uint8_t *hashes, tl_message_fn message, void *ctx,
                          tl_error *err)
{
    tl_index_file *file = NULL;
    tl_commit_message *m = NULL;
    TL_TRY(message(ctx, tl_bytes_view_of(p->partition), bucket, &m, err));
    TL_TRY(write_file(x, p, bucket, hashes, &file, err));
    tl_status status = tl_index_list_add(&m->new_indexes, file, err);
    if (status == TL_OK) {
        p->buckets[bucket].modified = false;
        p->buckets[bucket].digest = digest_of(bucket, file->name);
    } else {
        tl_indexes__remove(x->table, tl_bytes_view_of(p->partition), bucket, file);
    }
    tl_index_file_unref(file);
    return status;
}

static tl_status write_modified(tl_hash_index *x, partition_index *p, tl_message_fn message, void *ctx, tl_error *err)
{
    bool any = false;
    for (int32_t b = 0; b < p->n_buckets; b++)
        any |= p->buckets[b].modified;
    if (!any)
        return TL_OK;
    uint8_t **files = tl_calloc((size_t)p->n_buckets, sizeof *files);
    tl_status status = files == NULL ? tl_nomem(err, "hash index") : gather(p, files, err);
    for (int32_t b = 0; b < p->n_buckets && status == TL_OK; b++) {
        if (files[b] != NULL)
            status = add_file(x, p, b, files[b], message, ctx, err);
    }
    for (int32_t b = 0; files != NULL && b < p->n_buckets; b++)
        tl_free(files[b]);
    tl_free(files);
    return status;
}

tl_status tl_hash_index_prepare(tl_hash_index *x, tl_message_fn message, void *ctx, tl_error *err)
{
    for (size_t i = 0; i < x->n; i++) {
        x->items[i]->base = digest(x->items[i]);
        TL_TRY(write_modified(x, x->items[i], message, ctx, err));
    }
    x->round++;
    return TL_OK;
}

bool tl_hash_index_base(const tl_hash_index *x, tl_bytes_view partition, uint64_t *base)
{
    uintptr_t at = x->ignore_previous ? 0 : (uintptr_t)tl_map_get(&x->map, partition.data + 4, partition.len - 4);
    if (at == 0)
        return false;
    *base = x->items[at - 1]->base;
    return true;
}

/* ---- after the commit ---- */

tl_status tl_hash_index_close_idle(tl_hash_index *x, int64_t keep_rounds, tl_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < x->n; i++) {
        if (x->round - x->items[i]->last_round <= keep_rounds)
            x->items[kept++] = x->items[i];
        else
            partition_free(x->items[i]);
    }
    if (kept == x->n)
        return TL_OK;
    x->n = kept;
    tl_map_deinit(&x->map);
    x->map = (tl_map){0};
    for (size_t i = 0; i < x->n; i++) {
        tl_bytes p = x->items[i]->partition;
        if (tl_map_put(&x->map, p.data + 4, p.len - 4, (void *)(uintptr_t)(i + 1), NULL) != TL_OK)
            return tl_nomem(err, "hash index");
    }
    return TL_OK;
}
