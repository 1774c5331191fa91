/*
 * Primary keys without the partition columns: where each key of the table is, so that a row that comes with another partition
 * finds the one before it. Source: format reference §15; Java: GlobalIndexAssigner, IndexBootstrap, ExistingProcessor.
 *
 * What becomes of a row whose key is in another partition follows the merge engine: deduplicate deletes it there and inserts the
 * new one here; partial-update and aggregation move the row to the old partition; first-row drops it.
 *
 * Nothing of this is on disk. The index is made when a writer gets its first rows, by reading all keys of the table; a key is 128
 * bits of hash (that two keys share by chance once in 10^38 pairs), a partition and a bucket: 22 bytes and the free space of an open
 * addressing table. Others that change rows of the table meanwhile make it wrong: messages carry the snapshot that it reflects, and
 * a commit that finds others' changes after it is a conflict. Compactions change no rows.
 */
#include "table/write_private.h"

#include <strings.h>

#include "base/bits.h"

#define MIN_SLOTS 1024
#define MAX_BUCKETS INT16_MAX

typedef enum existing { EXISTING_DELETE, EXISTING_USE, EXISTING_SKIP } existing;

typedef struct key_partition {
    tl_bytes row; /* without arity */
    int64_t *rows; /* per bucket: its keys; -1: no such bucket */
    int32_t n_buckets;
    int32_t cursor; /* below it no bucket has room */
} key_partition;

struct tl_key_index {
    tl_table *table;
    tl_write_view *view;
    bool ignore_previous;
    existing existing;
    int64_t target_rows;
    int64_t ttl_ms; /* < 0: keys stay */
    int32_t *pk_idx; /* the whole primary key */
    int32_t n_pk;
    bool loaded;
    int64_t known; /* snapshot that it reflects */
    key_partition *partitions;
    int32_t n_partitions;
    int32_t cap_partitions;
    tl_map map; /* partition row -> position + 1 */
    /* slots */
    tl_key_hash *keys;
    int32_t *parts;
    uint16_t *buckets; /* bucket + 1; 0: free */
    uint32_t *stamps;  /* seconds when the key came; NULL without ttl */
    size_t cap;        /* power of two */
    size_t count;
};

/* ---- create, free ---- */

void tl_key_index_clear(tl_key_index *x)
{
    if (x == NULL)
        return;
    for (int32_t i = 0; i < x->n_partitions; i++) {
        tl_bytes_deinit(&x->partitions[i].row);
        tl_free(x->partitions[i].rows);
    }
    tl_free(x->partitions);
    x->partitions = NULL;
    x->n_partitions = x->cap_partitions = 0;
    tl_map_deinit(&x->map);
    x->map = (tl_map){0};
    tl_free(x->keys);
    tl_free(x->parts);
    tl_free(x->buckets);
    tl_free(x->stamps);
    x->keys = NULL;
    x->parts = NULL;
    x->buckets = NULL;
    x->stamps = NULL;
    x->cap = x->count = 0;
    x->loaded = false;
}

void tl_key_index_free(tl_key_index *x)
{
    if (x == NULL)
        return;
    tl_key_index_clear(x);
    tl_free(x->pk_idx);
    tl_free(x);
}

bool tl_key_index_loaded(const tl_key_index *x)
{
    return x != NULL && x->loaded;
}

static tl_status configure(tl_key_index *x, tl_error *err)
{
    const tl_table_schema *schema = x->table->schema;
    const char *engine = tl_table__option_or_default(&schema->options, "merge-engine");
    x->existing = strcasecmp(engine, "deduplicate") == 0 ? EXISTING_DELETE : strcasecmp(engine, "first-row") == 0 ? EXISTING_SKIP : EXISTING_USE;
    TL_TRY(tl_table__option_int(&schema->options, "dynamic-bucket.target-row-num", 0, &x->target_rows, err));
    TL_TRY(tl_table__option_int(&schema->options, "cross-partition-upsert.index-ttl", -1, &x->ttl_ms, err));
    x->n_pk = schema->n_primary_keys;
    x->pk_idx = tl_calloc((size_t)x->n_pk, sizeof *x->pk_idx);
    if (x->pk_idx == NULL)
        return tl_nomem(err, "key index");
    for (int32_t i = 0; i < x->n_pk; i++)
        x->pk_idx[i] = tl_type_field_index(schema->row_type, schema->primary_keys[i]);
    return TL_OK;
}

tl_status tl_key_index_create(tl_table *table, tl_write_view *view, bool ignore_previous, tl_key_index **out, tl_error *err)
{
    tl_key_index *x = tl_calloc(1, sizeof *x);
    if (x == NULL)
        return tl_nomem(err, "key index");
    x->table = table;
    x->view = view;
    x->ignore_previous = ignore_previous;
    tl_status status = configure(x, err);
    if (status != TL_OK) {
        tl_key_index_free(x);
        return status;
    }
    *out = x;
    return TL_OK;
}

/* ---- the table of keys ---- */

static size_t find(const tl_key_index *x, tl_key_hash key)
{
    size_t at = key.low & (x->cap - 1);
    while (x->buckets[at] != 0 && (x->keys[at].low != key.low || x->keys[at].high != key.high))
        at = (at + 1) & (x->cap - 1);
    return at;
}

static tl_status resize(tl_key_index *x, size_t cap)
{
    tl_key_index fresh = {.cap = cap};
    fresh.keys = tl_alloc(cap * sizeof *fresh.keys);
    fresh.parts = tl_alloc(cap * sizeof *fresh.parts);
    fresh.buckets = tl_calloc(cap, sizeof *fresh.buckets);
    fresh.stamps = x->ttl_ms < 0 ? NULL : tl_alloc(cap * sizeof *fresh.stamps);
    bool failed = fresh.keys == NULL || fresh.parts == NULL || fresh.buckets == NULL || (x->ttl_ms >= 0 && fresh.stamps == NULL);
    for (size_t i = 0; !failed && i < x->cap; i++) {
        if (x->buckets[i] == 0)
            continue;
        size_t at = find(&fresh, x->keys[i]);
        fresh.keys[at] = x->keys[i];
        fresh.parts[at] = x->parts[i];
        fresh.buckets[at] = x->buckets[i];
        if (fresh.stamps != NULL)
            fresh.stamps[at] = x->stamps[i];
    }
    tl_key_index *old = failed ? &fresh : x;
    tl_free(old->keys);
    tl_free(old->parts);
    tl_free(old->buckets);
    tl_free(old->stamps);
    if (failed)
        return TL_E_NOMEM;
    x->keys = fresh.keys;
    x->parts = fresh.parts;
    x->buckets = fresh.buckets;
    x->stamps = fresh.stamps;
    x->cap = cap;
    return TL_OK;
}

static tl_status reserve(tl_key_index *x, size_t extra)
{
    size_t cap = TL_MAX(x->cap, (size_t)MIN_SLOTS);
    while (x->count + extra > cap / 4 * 3)
        cap *= 2;
    return cap == x->cap ? TL_OK : resize(x, cap);
}

static uint32_t now_seconds(void)
{
    return (uint32_t)(tl_clock_now_ms(tl_clock_system()) / 1000);
}

/* A key whose time is over counts as never seen. */
static bool holds(const tl_key_index *x, size_t at, uint32_t now)
{
    return x->buckets[at] != 0 && (x->stamps == NULL || (int64_t)(now - x->stamps[at]) * 1000 <= x->ttl_ms);
}

static void put(tl_key_index *x, size_t at, tl_key_hash key, int32_t part, int32_t bucket, uint32_t now)
{
    x->count += x->buckets[at] == 0;
    x->keys[at] = key;
    x->parts[at] = part;
    x->buckets[at] = (uint16_t)(bucket + 1);
    if (x->stamps != NULL)
        x->stamps[at] = now;
}

tl_status tl_key_hashes(const tl_column *const *cols, int32_t n_cols, int64_t n_rows, tl_key_hash *out, tl_error *err)
{
    tl_buf rows = {0};
    TL_CLEANUP(tl_freep) int64_t *offsets = tl_alloc((size_t)(n_rows + 1) * sizeof *offsets);
    tl_status status = offsets == NULL ? tl_nomem(err, "keys") : tl_binary_rows(cols, n_cols, n_rows, &rows, offsets, err);
    for (int64_t i = 0; status == TL_OK && i < n_rows; i++) {
        size_t bytes = (size_t)(offsets[i + 1] - offsets[i]);
        out[i] = (tl_key_hash){tl_xxh3(rows.data + offsets[i], bytes), tl_xxh64(rows.data + offsets[i], bytes, 1)};
    }
    tl_buf_deinit(&rows);
    return status;
}

/* ---- partitions and their buckets ---- */

static tl_status partition_of(tl_key_index *x, tl_bytes_view row, int32_t *out, tl_error *err)
{
    uintptr_t found = (uintptr_t)tl_map_get(&x->map, row.data, row.len);
    if (found != 0) {
        *out = (int32_t)found - 1;
        return TL_OK;
    }
    if (x->n_partitions == x->cap_partitions) {
        int32_t cap = TL_MAX(x->cap_partitions * 2, 16);
        key_partition *items = tl_realloc(x->partitions, (size_t)cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "partitions");
        x->partitions = items;
        x->cap_partitions = cap;
    }
    key_partition *p = &x->partitions[x->n_partitions];
    *p = (key_partition){0};
    if (tl_bytes_dup(row, &p->row) != TL_OK)
        return tl_nomem(err, "partitions");
    *out = x->n_partitions++;
    return tl_map_put(&x->map, row.data, row.len, (void *)(uintptr_t)x->n_partitions, NULL) == TL_OK ? TL_OK : tl_nomem(err, "partitions");
}

static tl_status need_bucket(key_partition *p, int32_t bucket)
{
    if (bucket < p->n_buckets)
        return TL_OK;
    int64_t *rows = tl_realloc(p->rows, (size_t)(bucket + 1) * sizeof *rows);
    if (rows == NULL)
        return TL_E_NOMEM;
    for (int32_t b = p->n_buckets; b <= bucket; b++)
        rows[b] = -1;
    p->rows = rows;
    p->n_buckets = bucket + 1;
    return TL_OK;
}

static tl_status count_key(key_partition *p, int32_t bucket, tl_error *err)
{
    if (need_bucket(p, bucket) != TL_OK)
        return tl_nomem(err, "buckets");
    p->rows[bucket] = TL_MAX(p->rows[bucket], 0) + 1;
    return TL_OK;
}

/* The first bucket with room, or a new one with the lowest free number. */
static tl_status choose(const tl_key_index *x, key_partition *p, int32_t *out, tl_error *err)
{
    while (p->cursor < p->n_buckets && (p->rows[p->cursor] < 0 || p->rows[p->cursor] >= x->target_rows))
        p->cursor++;
    int32_t bucket = p->cursor;
    for (int32_t b = 0; p->cursor == p->n_buckets && b < p->n_buckets; b++) {
        if (p->rows[b] < 0) {
            bucket = b;
            break;
        }
    }
    if (bucket >= MAX_BUCKETS)
        return tl_error_set(err, TL_E_INVALID, "Too more bucket %d, you should increase target bucket row number %lld.", MAX_BUCKETS - 1,
                            (long long)x->target_rows);
    p->cursor = TL_MIN(p->cursor, bucket);
    *out = bucket;
    return count_key(p, bucket, err);
}

/* ---- bootstrap ---- */

static tl_status add_keys(tl_key_index *x, const tl_batch *keys, int32_t part, int32_t bucket, uint32_t now, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_key_hash *hashes = tl_alloc((size_t)keys->n_rows * sizeof *hashes + 1);
    if (hashes == NULL || reserve(x, (size_t)keys->n_rows) != TL_OK)
        return tl_nomem(err, "key index");
    TL_TRY(tl_key_hashes((const tl_column *const *)keys->cols, keys->n_cols, keys->n_rows, hashes, err));
    for (int64_t i = 0; i < keys->n_rows; i++) {
        size_t at = find(x, hashes[i]);
        if (x->buckets[at] != 0)
            return tl_error_set(err, TL_E_CORRUPT,
                                "a key is in two partitions or buckets: the table was written by several jobs at a time, which tables whose "
                                "primary key spans partitions do not allow");
        put(x, at, hashes[i], part, bucket, now);
        TL_TRY(count_key(&x->partitions[part], bucket, err));
    }
    return TL_OK;
}

/* With a time to live buckets without any young file are left out. */
static bool is_young(const tl_key_index *x, const tl_entries *live, size_t from, size_t to, int64_t now_ms)
{
    bool young = x->ttl_ms < 0;
    for (size_t i = from; i < to && !young; i++) {
        int64_t made = live->items[i].file->creation_time_ms;
        young = made == TL_ABSENT || now_ms <= tl_from_local_ms(made) + x->ttl_ms;
    }
    return young;
}

static tl_status load_bucket(tl_key_index *x, const tl_entries *live, size_t from, size_t to, tl_vectors *vectors, tl_error *err)
{
    tl_table *table = x->table;
    const tl_manifest_entry *e = &live->items[from];
    tl_bytes_view partition = tl_bytes_view_of(e->partition);
    if (e->bucket < 0 || e->bucket >= MAX_BUCKETS || partition.len < 4)
        return tl_error_set(err, TL_E_CORRUPT, "data file '%s' of bucket %d", e->file->name, e->bucket);
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "key index");
    for (size_t i = from; i < to; i++)
        files[i - from] = live->items[i].file;
    tl_bucket_read_spec spec = {.columns = x->pk_idx, .n_columns = x->n_pk};
    TL_TRY(tl_vectors__find(vectors, partition, e->bucket, &spec.vectors, err));
    int32_t part = 0;
    TL_TRY(partition_of(x, (tl_bytes_view){partition.data + 4, partition.len - 4}, &part, err));
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_bucket_read(table->config, partition, e->bucket, files, to - from, &spec, &reader, err));
    uint32_t now = now_seconds();
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(add_keys(x, batch, part, e->bucket, now, err));
    }
}

static tl_status load_all(tl_key_index *x, const tl_snapshot *latest, tl_error *err)
{
    tl_entries live = {0};
    tl_vectors vectors = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    int64_t now_ms = tl_clock_now_ms(tl_clock_system());
    tl_status status = tl_table__scan(x->table, &scan, &live, err);
    if (status == TL_OK)
        status = tl_vectors__read(x->table, latest, &vectors, err);
    if (status == TL_OK)
        status = tl_entries_sort_buckets(&live, err);
    for (size_t from = 0, to; status == TL_OK && from < live.n; from = to) {
        const tl_manifest_entry *e = &live.items[from];
        tl_entries_bucket_range(&live, tl_bytes_view_of(e->partition), e->bucket, &from, &to);
        if (is_young(x, &live, from, to, now_ms))
            status = load_bucket(x, &live, from, to, &vectors, err);
    }
    tl_vectors__deinit(&vectors);
    tl_entries_deinit(&live);
    return status;
}

static tl_status load(tl_key_index *x, tl_error *err)
{
    if (reserve(x, 0) != TL_OK)
        return tl_nomem(err, "key index");
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_write_view_latest(x->view, x->table, &latest, err));
    x->known = latest == NULL ? 0 : latest->id;
    tl_status status = latest == NULL || x->ignore_previous ? TL_OK : load_all(x, latest, err);
    if (status != TL_OK) {
        tl_key_index_clear(x);
        return tl_error_wrap(err, status, "reading the keys of the table");
    }
    x->loaded = true;
    return TL_OK;
}

/* ---- routing ---- */

/* One row to write: row `source` of the batch, in a partition. */
typedef struct route {
    uint32_t source;
    int32_t part;   /* another than the row's own; -1: its own */
    int32_t bucket;
    bool is_delete; /* whatever the row is */
} route;

typedef struct routes {
    route *items;
    size_t n;
    bool identity; /* all rows, each as it is */
} routes;

static void add_route(routes *r, int64_t source, int32_t part, int32_t bucket, bool is_delete)
{
    r->items[r->n++] = (route){(uint32_t)source, part, bucket, is_delete};
    r->identity &= part < 0 && r->n == (size_t)source + 1;
}

static tl_status route_row(tl_key_index *x, int64_t i, tl_key_hash key, int32_t part, uint32_t now, routes *out, tl_error *err)
{
    if (reserve(x, 1) != TL_OK)
        return tl_nomem(err, "key index");
    size_t at = find(x, key);
    bool known = holds(x, at, now);
    int32_t old_part = known ? x->parts[at] : -1, old_bucket = known ? x->buckets[at] - 1 : -1;
    if (known && old_part == part) {
        add_route(out, i, -1, old_bucket, false);
        return TL_OK;
    }
    if (known && x->existing == EXISTING_SKIP) {
        out->identity = false;
        return TL_OK;
    }
    if (known && x->existing == EXISTING_USE) {
        add_route(out, i, old_part, old_bucket, false);
        return TL_OK;
    }
    if (known) {
        key_partition *p = &x->partitions[old_part];
        add_route(out, i, old_part, old_bucket, true);
        p->rows[old_bucket]--;
        p->cursor = TL_MIN(p->cursor, old_bucket);
    }
    int32_t bucket = 0;
    TL_TRY(choose(x, &x->partitions[part], &bucket, err));
    put(x, at, key, part, bucket, now);
    add_route(out, i, -1, bucket, false);
    return TL_OK;
}

static tl_status route_rows(tl_key_index *x, const tl_batch *batch, const tl_buf *rows, const int64_t *offsets, routes *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_key_hash *keys = tl_alloc((size_t)batch->n_rows * sizeof *keys);
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)x->n_pk, sizeof *cols);
    out->items = tl_alloc((size_t)batch->n_rows * 2 * sizeof *out->items);
    if (keys == NULL || cols == NULL || out->items == NULL)
        return tl_nomem(err, "keys");
    for (int32_t i = 0; i < x->n_pk; i++)
        cols[i] = batch->cols[x->pk_idx[i]];
    TL_TRY(tl_key_hashes(cols, x->n_pk, batch->n_rows, keys, err));
    uint32_t now = now_seconds();
    int32_t part = -1;
    tl_bytes_view last = {0};
    for (int64_t i = 0; i < batch->n_rows; i++) {
        tl_bytes_view row = {rows->data + offsets[i], (size_t)(offsets[i + 1] - offsets[i])};
        if (part < 0 || !tl_bytes_equal(row, last))
            TL_TRY(partition_of(x, row, &part, err));
        last = row;
        TL_TRY(route_row(x, i, keys[i], part, now, out, err));
    }
    out->identity &= out->n == (size_t)batch->n_rows;
    return TL_OK;
}

/* ---- the routed batch ---- */

/* One partition column: the rows' own values, or those of the partitions that they are sent to. */
static tl_status partition_column(const tl_key_index *x, const tl_batch *batch, const routes *r, int32_t c, tl_column **out, tl_error *err)
{
    const tl_table *table = x->table;
    const tl_column *own = batch->cols[table->partition_idx[c]];
    tl_builder *builder = NULL;
    TL_CLEANUP(tl_freep) tl_builder **fields = tl_calloc((size_t)table->n_partition, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "partitions");
    TL_TRY(tl_builder_create(own->type, &builder, err));
    fields[c] = builder;
    tl_status status = TL_OK;
    for (size_t i = 0; i < r->n && status == TL_OK; i++) {
        if (r->items[i].part < 0)
            status = tl_builder_error(builder, tl_builder_copy(builder, own, r->items[i].source), err);
        else
            status = tl_binary_row_read(tl_bytes_view_of(x->partitions[r->items[i].part].row), table->partition_type, /* with_arity= */ false,
                                        fields, err);
    }
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    return status;
}

static tl_status set_kinds(tl_batch *batch, const routes *r, tl_error *err)
{
    for (size_t i = 0; i < r->n; i++) {
        if (!r->items[i].is_delete)
            continue;
        if (batch->row_kind == NULL && (batch->row_kind = tl_calloc(r->n, 1)) == NULL)
            return tl_nomem(err, "row kinds");
        batch->row_kind[i] = TL_KIND_DELETE;
    }
    return TL_OK;
}

static tl_status routed_batch(const tl_key_index *x, const tl_batch *batch, const routes *r, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *sources = tl_alloc(r->n * sizeof *sources + 1);
    if (sources == NULL)
        return tl_nomem(err, "rows");
    for (size_t i = 0; i < r->n; i++)
        sources[i] = r->items[i].source;
    TL_CLEANUP(tl_batch_freep) tl_batch *routed = NULL;
    TL_TRY(tl_batch_gather(batch, sources, (int64_t)r->n, &routed, err));
    for (int32_t c = 0; c < x->table->n_partition; c++) {
        tl_column *col = NULL;
        TL_TRY(partition_column(x, batch, r, c, &col, err));
        tl_column_unref(routed->cols[x->table->partition_idx[c]]);
        routed->cols[x->table->partition_idx[c]] = col;
    }
    TL_TRY(set_kinds(routed, r, err));
    *out = TL_STEAL(routed);
    return TL_OK;
}

tl_status tl_key_index_route(tl_key_index *x, tl_batch **batch, int32_t **buckets, tl_error *err)
{
    tl_buf rows = {0};
    routes r = {.identity = true};
    TL_CLEANUP(tl_freep) int64_t *offsets = tl_alloc((size_t)((*batch)->n_rows + 1) * sizeof *offsets);
    tl_status status = offsets == NULL ? tl_nomem(err, "partitions") : x->loaded ? TL_OK : load(x, err);
    if (status == TL_OK)
        status = tl_partition_rows(x->table, *batch, &rows, offsets, err);
    if (status == TL_OK)
        status = route_rows(x, *batch, &rows, offsets, &r, err);
    if (status == TL_OK && (*buckets = tl_alloc(r.n * sizeof **buckets + 1)) == NULL)
        status = tl_nomem(err, "buckets");
    for (size_t i = 0; status == TL_OK && i < r.n; i++)
        (*buckets)[i] = r.items[i].bucket;
    if (status == TL_OK && !r.identity) {
        tl_batch *routed = NULL;
        status = routed_batch(x, *batch, &r, &routed, err);
        if (status == TL_OK) {
            tl_batch_free(*batch);
            *batch = routed;
        }
    }
    tl_free(r.items);
    tl_buf_deinit(&rows);
    return status;
}

/* ---- commits ---- */

bool tl_key_index_base(const tl_key_index *x, int64_t *base)
{
    *base = x->known;
    return x->loaded && !x->ignore_previous;
}

tl_status tl_key_index_committed(tl_key_index *x, const tl_commit_result *result, tl_error *err)
{
    if (!x->loaded || x->ignore_previous || result->snapshots == 0 || result->snapshot_id <= x->known) {
        tl_key_index_clear(x);
        return TL_OK;
    }
    bool others = false;
    if (result->snapshot_id - result->snapshots != x->known)
        TL_TRY(tl_commit__others_changed_rows(x->table, x->known, result->snapshot_id, &others, err));
    if (others)
        tl_key_index_clear(x);
    else
        x->known = result->snapshot_id;
    return TL_OK;
}
