/*
 * Overwriting some partitions of a table whose primary key spans partitions. Keys of the new rows may be in partitions that stay; there
 * they are deleted by the same snapshot, or a key would be in the table twice. The reference lets the writer delete them, and then takes
 * the partitions of these deletes for overwritten, too: all their other rows are lost, or the statement fails if its partition is given.
 *
 * This is done while committing: which partitions are overwritten is not known before all rows are. The keys of the new files (16 bytes
 * each) are looked for in the buckets that stay, by reading their key columns; only buckets that have some are read as a whole, and get
 * the rows as deletes, in files of level 0. The snapshot that was read must still be the latest that changed rows when the commit gets in.
 */
#include "table/write_private.h"

#include <stdlib.h>
#include <strings.h>

typedef struct retraction {
    tl_table *table;
    const tl_predicate *partition; /* what is overwritten, as in tl_attempt */
    const tl_map *partitions;
    int32_t *pk_idx;
    int32_t n_pk;
    tl_key_hash *keys; /* of the new rows; sorted once all are there */
    size_t n;
    size_t cap;
    tl_table *writing;
    tl_table_writer *writer; /* NULL until a key is found */
} retraction;

/* ---- keys of the new rows ---- */

static int by_hash(const void *a, const void *b)
{
    const tl_key_hash *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->high < y->high ? -1 : x->high > y->high;
}

/* `key_columns`: the batch has only the primary key's columns; else all of the table. */
static tl_status hashes_of(const retraction *r, const tl_batch *batch, bool key_columns, tl_key_hash *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_column **cols = tl_calloc((size_t)r->n_pk, sizeof *cols);
    if (cols == NULL)
        return tl_nomem(err, "keys");
    for (int32_t i = 0; i < r->n_pk; i++)
        cols[i] = batch->cols[key_columns ? i : r->pk_idx[i]];
    return tl_key_hashes(cols, r->n_pk, batch->n_rows, out, err);
}

static tl_status collect_batch(retraction *r, const tl_batch *batch, tl_error *err)
{
    size_t need = r->n + (size_t)batch->n_rows;
    if (need > r->cap) {
        size_t cap = TL_MAX(need, r->cap * 2);
        tl_key_hash *keys = tl_realloc(r->keys, cap * sizeof *keys);
        if (keys == NULL)
            return tl_nomem(err, "keys");
        r->keys = keys;
        r->cap = cap;
    }
    TL_TRY(hashes_of(r, batch, /* key_columns= */ true, r->keys + r->n, err));
    r->n = need;
    return TL_OK;
}

/* Deletes count, too: a key that is written as deleted is nowhere afterwards. */
static tl_status collect_keys(retraction *r, const tl_entries *fresh, tl_error *err)
{
    const tl_bucket_read_spec spec = {.columns = r->pk_idx, .n_columns = r->n_pk};
    for (size_t i = 0; i < fresh->n; i++) {
        const tl_manifest_entry *e = &fresh->items[i];
        TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
        if (e->kind != TL_ENTRY_ADD)
            continue;
        TL_TRY(tl_files_read(r->table->config, tl_bytes_view_of(e->partition), e->bucket, &e->file, 1, &spec, &reader, err));
        for (;;) {
            TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
            TL_TRY(tl_reader_next(reader, &batch, err));
            if (batch == NULL)
                break;
            TL_TRY(collect_batch(r, batch, err));
        }
    }
    if (r->n > 0)
        qsort(r->keys, r->n, sizeof *r->keys, by_hash);
    return TL_OK;
}

/* ---- the buckets that stay ---- */

/* Rows of the batch whose keys are new ones'. */
static tl_status find_rows(const retraction *r, const tl_batch *batch, bool key_columns, uint32_t *found, size_t *n, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_key_hash *hashes = tl_alloc((size_t)batch->n_rows * sizeof *hashes + 1);
    *n = 0;
    if (hashes == NULL)
        return tl_nomem(err, "keys");
    TL_TRY(hashes_of(r, batch, key_columns, hashes, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        if (bsearch(&hashes[i], r->keys, r->n, sizeof *r->keys, by_hash) != NULL)
            found[(*n)++] = (uint32_t)i;
    }
    return TL_OK;
}

/* The deletes only become files of level 0: a compaction would be another snapshot. */
static tl_status open_writer(retraction *r, tl_error *err)
{
    TL_TRY(tl_table_reopen(r->table, "write-only", "true", &r->writing, err));
    if (r->writing->schema->id != r->table->schema->id)
        return tl_error_set(err, TL_E_CONFLICT, "the table's schema was changed meanwhile: run the statement again");
    return tl_table_writer_create(r->writing, NULL, &r->writer, err);
}

static tl_status delete_rows(retraction *r, const tl_manifest_entry *e, const tl_batch *batch, const uint32_t *rows, size_t n, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *deletes = NULL;
    if (r->writer == NULL)
        TL_TRY(open_writer(r, err));
    TL_TRY(tl_batch_gather(batch, rows, (int64_t)n, &deletes, err));
    tl_free(deletes->row_kind);
    deletes->row_kind = tl_alloc(n);
    if (deletes->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    for (size_t i = 0; i < n; i++)
        deletes->row_kind[i] = TL_KIND_DELETE;
    return tl_table__writer_put(r->writer, tl_bytes_view_of(e->partition), e->bucket, TL_STEAL(deletes), err);
}

/* One pass over a bucket: whether it has a key of the new rows or, with `deletes`, its rows that have one written as deletes. */
static tl_status pass(retraction *r, const tl_entries *live, size_t from, size_t to, bool deletes, bool *any, tl_error *err)
{
    const tl_manifest_entry *e = &live->items[from];
    const tl_bucket_read_spec spec = {.columns = deletes ? NULL : r->pk_idx, .n_columns = deletes ? 0 : r->n_pk};
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from, sizeof *files);
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    if (files == NULL)
        return tl_nomem(err, "files");
    for (size_t i = from; i < to; i++)
        files[i - from] = live->items[i].file;
    TL_TRY(tl_bucket_read(r->table->config, tl_bytes_view_of(e->partition), e->bucket, files, to - from, &spec, &reader, err));
    while (deletes || !*any) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        size_t n = 0;
        TL_CLEANUP(tl_freep) uint32_t *found = tl_alloc((size_t)batch->n_rows * sizeof *found + 1);
        if (found == NULL)
            return tl_nomem(err, "rows");
        TL_TRY(find_rows(r, batch, !deletes, found, &n, err));
        *any |= n > 0;
        if (deletes && n > 0)
            TL_TRY(delete_rows(r, e, batch, found, n, err));
    }
    return TL_OK;
}

static bool is_overwritten(const retraction *r, tl_bytes_view partition, tl_status *status, tl_error *err)
{
    *status = TL_OK;
    if (r->partitions != NULL)
        return tl_map_get(r->partitions, partition.data, partition.len) != NULL;
    return r->partition == NULL || tl_partition_matches(r->table, r->partition, partition, status, err);
}

static tl_status look_through(retraction *r, const tl_snapshot *latest, tl_error *err)
{
    tl_entries live = {0};
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    tl_status status = tl_table__scan(r->table, &scan, &live, err);
    if (status == TL_OK)
        status = tl_entries_sort_buckets(&live, err);
    for (size_t from = 0, to; status == TL_OK && from < live.n; from = to) {
        tl_bytes_view partition = tl_bytes_view_of(live.items[from].partition);
        tl_entries_bucket_range(&live, partition, live.items[from].bucket, &from, &to);
        bool any = false;
        if (is_overwritten(r, partition, &status, err) || status != TL_OK)
            continue;
        status = pass(r, &live, from, to, /* deletes= */ false, &any, err);
        if (status == TL_OK && any)
            status = pass(r, &live, from, to, /* deletes= */ true, &any, err);
    }
    tl_entries_deinit(&live);
    return status;
}

/* ---- the whole ---- */

/* Where a delete does not take effect by being written, as one in the middle of an overwrite has to. */
static tl_status check_supported(const tl_table *table, tl_error *err)
{
    const tl_options *options = &table->schema->options;
    const char *why = strcasecmp(tl_table__option_or_default(options, "merge-engine"), "deduplicate") != 0
                          ? "its merge engine takes new rows to the partition of the old ones, or drops them"
                      : table->config->deletion_vectors                      ? "deletes take effect there by a compaction only ('deletion-vectors.enabled')"
                      : tl_table__option_bool(options, "ignore-delete") ? "'ignore-delete' keeps keys that have moved"
                                                                             : NULL;
    if (why == NULL)
        return TL_OK;
    return tl_error_set(err, TL_E_UNSUPPORTED,
                        "not supported: overwriting some partitions of this table, whose primary key spans partitions: keys may be in the others, and "
                        "%s. Overwrite all of it (dynamic-partition-overwrite = false), or delete and insert",
                        why);
}

static tl_status begin(retraction *r, tl_error *err)
{
    const tl_table_schema *schema = r->table->schema;
    r->n_pk = schema->n_primary_keys;
    r->pk_idx = tl_calloc((size_t)r->n_pk, sizeof *r->pk_idx);
    if (r->pk_idx == NULL)
        return tl_nomem(err, "keys");
    for (int32_t i = 0; i < r->n_pk; i++)
        r->pk_idx[i] = tl_type_field_index(schema->row_type, schema->primary_keys[i]);
    return TL_OK;
}

tl_status tl_retract__moved(tl_table *table, const tl_entries *fresh, const tl_predicate *partition, const tl_map *partitions,
                            tl_commit_messages *out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    retraction r = {.table = table, .partition = partition, .partitions = partitions};
    TL_TRY(check_supported(table, err));
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    if (latest == NULL || fresh->n == 0)
        return TL_OK;
    tl_status status = begin(&r, err);
    if (status == TL_OK)
        status = collect_keys(&r, fresh, err);
    if (status == TL_OK)
        status = look_through(&r, latest, err);
    if (status == TL_OK && r.writer != NULL)
        status = tl_table_writer_prepare(r.writer, /* wait_compaction= */ false, out, err);
    for (size_t i = 0; status == TL_OK && i < out->n; i++) {
        out->items[i].base_kind = TL_BASE_SNAPSHOT;
        out->items[i].base = (uint64_t)latest->id;
    }
    tl_table_writer_free(r.writer);
    tl_table_free(r.writing);
    tl_free(r.pk_idx);
    tl_free(r.keys);
    return tl_error_wrap(err, status, "looking for keys that move from other partitions");
}
