/*
 * Deleting rows of append tables: each file that may have some is read under the filter. The rows found go into its deletion vector, or, in
 * tables without those, the file is written again without them (copy on write). One commit, an OVERWRITE that conflicts with whoever
 * deletes rows of the same files or compacts them. Source: format reference §15, §16; Java: BaseAppendDeleteFileMaintainer,
 * PaimonRowLevelCommand of Spark's connector.
 */
#include "table/table_private.h"

/* Everything that one deletion sees. */
typedef struct deletion {
    tl_table *table;
    const tl_delete_spec *spec;
    tl_vectors vectors;
    tl_entries live; /* by bucket */
    tl_commit_messages messages;
    int64_t deleted;
    bool whole_partitions;   /* nothing but the partition's values decides */
    tl_predicate *partition; /* then: on them; NULL: all partitions */
} deletion;

static void deletion_deinit(deletion *d)
{
    tl_vectors__deinit(&d->vectors);
    tl_entries_deinit(&d->live);
    tl_commit_messages_deinit(&d->messages);
    tl_predicate_free(d->partition);
}

tl_status tl_table_check_deletable(const tl_table *table, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "delete rows of it", err));
    tl_table__full_name(table, name);
    if (table->n_keys > 0)
        return tl_error_set(err, TL_E_INVALID, "table %s has a primary key: write -D rows to delete from it", name);
    if (table->config->data_evolution)
        return tl_error_set(err, TL_E_UNSUPPORTED, "rows of table %s cannot be deleted: it has data evolution ('data-evolution.enabled' = 'true')", name);
    return tl_table__check_writable(table, err);
}

/* ---- finding rows ---- */

/* Whether the filter looks at partition columns alone, so that files go as a whole and need not be read. */
static tl_status look_at_filter(deletion *d, tl_error *err)
{
    const tl_table *table = d->table;
    const tl_predicate *pred = d->spec->finder.predicate;
    int32_t n = table->schema->row_type->n_fields;
    d->whole_partitions = !table->config->deletion_vectors && d->spec->finder.match == NULL;
    if (!d->whole_partitions || pred == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) bool *used = tl_calloc((size_t)n + 1, sizeof *used);
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc(((size_t)n + 1) * sizeof *map);
    if (used == NULL || map == NULL)
        return tl_nomem(err, "filter");
    tl_predicate_columns(pred, used);
    for (int32_t i = 0; i < n; i++) {
        map[i] = table->config->partition_idx[i];
        if (used[i] && map[i] < 0)
            d->whole_partitions = false;
    }
    return d->whole_partitions ? tl_predicate_remap(pred, map, /* weaken= */ false, &d->partition, err) : TL_OK;
}

static tl_status find_in_file(deletion *d, const tl_manifest_entry *e, tl_dv_set *old, tl_dv_set *fresh, tl_error *err)
{
    TL_CLEANUP(tl_freep) int64_t *rows = NULL;
    TL_CLEANUP(tl_dv_unrefp) tl_dv *dv = NULL;
    size_t n = 0;
    TL_TRY(tl_file_find_rows(d->table->config, tl_bytes_view_of(e->partition), e->bucket, e->file, old, &d->spec->finder, &rows, &n, err));
    if (n == 0)
        return TL_OK;
    d->deleted += (int64_t)n;
    TL_TRY(tl_dv_create(rows, n, d->table->config->deletion_vectors_64, &dv, err));
    return tl_dv_set_put(fresh, e->file->name, dv, err);
}

/* `fresh`: the rows of the bucket's files that go. */
static tl_status change_bucket(deletion *d, tl_bytes_view partition, int32_t bucket, const tl_bucket_vectors *vectors, tl_dv_set *fresh,
                               tl_error *err)
{
    tl_lsm_config *config = d->table->config;
    size_t from = 0, to = 0;
    tl_entries_bucket_range(&d->live, partition, bucket, &from, &to);
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from + 1, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "files");
    for (size_t i = from; i < to; i++)
        files[i - from] = d->live.items[i].file;
    tl_commit_message *msg = &d->messages.items[d->messages.n];
    TL_TRY(config->deletion_vectors ? tl_append_delete(config, partition, bucket, files, to - from, vectors, fresh, msg, err)
                                    : tl_append_rewrite_without(config, partition, bucket, files, to - from, fresh, msg, err));
    msg->total_buckets = d->live.items[from].total_buckets;
    d->messages.n++;
    if (!config->deletion_vectors || d->table->bucket_mode == TL_BUCKETS_UNAWARE)
        return TL_OK;
    const tl_index_list *indexes = vectors->indexes;
    msg->vectors_base = tl_strdup(indexes->n == 0 ? "" : indexes->items[indexes->n - 1]->name);
    return msg->vectors_base == NULL ? tl_nomem(err, "commit message") : TL_OK;
}

/* Where the next bucket's entries begin. */
static size_t end_of_bucket(const tl_entries *entries, size_t from)
{
    const tl_manifest_entry *first = &entries->items[from];
    size_t to = from + 1;
    while (to < entries->n && entries->items[to].bucket == first->bucket &&
           tl_bytes_equal(tl_bytes_view_of(entries->items[to].partition), tl_bytes_view_of(first->partition)))
        to++;
    return to;
}

/* Files of a bucket that go as a whole. */
static tl_status drop_files(deletion *d, const tl_entries *chosen, size_t from, size_t to, tl_error *err)
{
    const tl_manifest_entry *first = &chosen->items[from];
    tl_status status = TL_OK;
    if (d->partition != NULL && !tl_partition_matches(d->table, d->partition, tl_bytes_view_of(first->partition), &status, err))
        return status;
    tl_commit_message *msg = &d->messages.items[d->messages.n++];
    if (tl_bytes_dup(tl_bytes_view_of(first->partition), &msg->partition) != TL_OK)
        return tl_nomem(err, "commit message");
    msg->bucket = first->bucket;
    msg->total_buckets = first->total_buckets;
    for (size_t i = from; i < to; i++) {
        TL_TRY(tl_file_list_add(&msg->deleted_files, chosen->items[i].file, err));
        d->deleted += chosen->items[i].file->rows;
    }
    return TL_OK;
}

/* Rows of the bucket whose entries are chosen[from, to). */
static tl_status delete_in_bucket(deletion *d, const tl_entries *chosen, size_t from, size_t to, tl_error *err)
{
    const tl_manifest_entry *first = &chosen->items[from];
    tl_bytes_view partition = tl_bytes_view_of(first->partition);
    tl_bucket_vectors vectors = {0};
    TL_CLEANUP(tl_dv_set_unrefp) tl_dv_set *fresh = NULL;
    TL_TRY(tl_vectors__find(&d->vectors, partition, first->bucket, &vectors.set, err));
    TL_TRY(tl_vectors__files(&d->vectors, partition, first->bucket, &vectors.indexes, err));
    TL_TRY(tl_dv_set_create(d->table->fs, &fresh, err));
    int64_t before = d->deleted;
    for (size_t i = from; i < to; i++)
        TL_TRY(find_in_file(d, &chosen->items[i], vectors.set, fresh, err));
    return d->deleted == before ? TL_OK : change_bucket(d, partition, first->bucket, &vectors, fresh, err);
}

/* The files that may hold rows to delete, and all live ones. */
static tl_status load(deletion *d, const tl_snapshot *latest, tl_entries *chosen, tl_error *err)
{
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    TL_TRY(tl_table__check_snapshot(d->table, latest, /* changes_rows= */ true, err));
    TL_TRY(tl_table__scan(d->table, &scan, &d->live, err));
    scan.predicate = d->spec->finder.predicate;
    TL_TRY(tl_table__scan(d->table, &scan, chosen, err));
    TL_TRY(tl_entries_sort_buckets(&d->live, err));
    TL_TRY(tl_entries_sort_buckets(chosen, err));
    return tl_vectors__read(d->table, latest, &d->vectors, err);
}

static tl_status find_all(deletion *d, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_table__latest(d->table->fs, &d->table->paths, &latest, err));
    if (latest == NULL)
        return TL_OK;
    tl_entries chosen = {0};
    tl_status status = look_at_filter(d, err);
    if (status == TL_OK)
        status = load(d, latest, &chosen, err);
    d->messages.items = tl_calloc(chosen.n + 1, sizeof *d->messages.items);
    d->messages.cap = chosen.n + 1;
    if (status == TL_OK && d->messages.items == NULL)
        status = tl_nomem(err, "commit messages");
    for (size_t from = 0, to; status == TL_OK && from < chosen.n; from = to) {
        to = end_of_bucket(&chosen, from);
        status = d->whole_partitions ? drop_files(d, &chosen, from, to, err) : delete_in_bucket(d, &chosen, from, to, err);
    }
    tl_entries_deinit(&chosen);
    return status;
}

/* ---- the commit ---- */

static tl_status commit(deletion *d, tl_commit_result *out, tl_error *err)
{
    tl_commit_spec spec = {.user = d->spec->user, .watermark = TL_ABSENT, .ignore_empty = true};
    TL_TRY(tl_table__next_identifier(d->table, d->spec->user, &spec.identifier, err));
    return tl_table_commit(d->table, &spec, &d->messages, out, err);
}

tl_status tl_table_delete(tl_table *table, const tl_delete_spec *spec, int64_t *deleted, tl_commit_result *out, tl_error *err)
{
    char name[256];
    deletion d = {.table = table, .spec = spec};
    TL_TRY(tl_table_check_deletable(table, err));
    tl_commit_messages written = {0};
    bool committing = false;
    tl_status status = find_all(&d, err);
    if (status == TL_OK && spec->written != NULL)
        status = spec->written(spec->finder.ctx, &written, err);
    if (status == TL_OK)
        status = tl_commit_messages_move(&d.messages, &written, err); /* rows written beside the deletion come into the same commit */
    if (status == TL_OK) {
        committing = true; /* it removes the files of what does not get in */
        status = commit(&d, out, err);
    }
    if (!committing) {
        tl_table_abort(table, &d.messages);
        tl_table_abort(table, &written);
    }
    tl_commit_messages_deinit(&written);
    if (status == TL_OK && deleted != NULL)
        *deleted = d.deleted;
    deletion_deinit(&d);
    return tl_error_wrap(err, status, "deleting rows of table %s", tl_table__full_name(table, name));
}
