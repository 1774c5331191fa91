/*
 * Deleting rows of append tables: each file is read under the filter, and the rows found go into its deletion vector. One commit,
 * an OVERWRITE that conflicts with whoever deletes rows of the same files or compacts them. Source: format reference §15, §16; Java:
 * BaseAppendDeleteFileMaintainer, and the DELETE of the reference's engines (DeletionVector in MarkDeleted commands).
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
} deletion;

static void deletion_deinit(deletion *d)
{
    tl_vectors__deinit(&d->vectors);
    tl_entries_deinit(&d->live);
    tl_commit_messages_deinit(&d->messages);
}

tl_status tl_table_check_deletable(const tl_table *table, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "delete rows of it", err));
    tl_table__full_name(table, name);
    if (table->n_keys > 0)
        return tl_error_set(err, TL_E_INVALID, "table %s has a primary key: write -D rows to delete from it", name);
    if (!table->config->deletion_vectors)
        return tl_error_set(err, TL_E_INVALID, "table %s has no primary key and 'deletion-vectors.enabled' is not true: its rows cannot be deleted",
                            name);
    return tl_table__check_writable(table, err);
}

/* ---- finding rows ---- */

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

static tl_status mark_bucket(deletion *d, tl_bytes_view partition, int32_t bucket, const tl_bucket_vectors *vectors, tl_dv_set *fresh,
                             tl_error *err)
{
    size_t from = 0, to = 0;
    tl_entries_bucket_range(&d->live, partition, bucket, &from, &to);
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from + 1, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "files");
    for (size_t i = from; i < to; i++)
        files[i - from] = d->live.items[i].file;
    tl_commit_message *msg = &d->messages.items[d->messages.n];
    TL_TRY(tl_append_delete(d->table->config, partition, bucket, files, to - from, vectors, fresh, msg, err));
    msg->total_buckets = d->live.items[from].total_buckets;
    d->messages.n++;
    if (d->table->bucket_mode == TL_BUCKETS_UNAWARE)
        return TL_OK;
    const tl_index_list *indexes = vectors->indexes;
    msg->vectors_base = tl_strdup(indexes->n == 0 ? "" : indexes->items[indexes->n - 1]->name);
    return msg->vectors_base == NULL ? tl_nomem(err, "commit message") : TL_OK;
}

/* Rows of the bucket whose entries among `chosen` begin at `from`; returns where the next bucket's begin. */
static tl_status delete_in_bucket(deletion *d, const tl_entries *chosen, size_t from, size_t *next, tl_error *err)
{
    const tl_manifest_entry *first = &chosen->items[from];
    tl_bytes_view partition = tl_bytes_view_of(first->partition);
    tl_bucket_vectors vectors = {0};
    TL_CLEANUP(tl_dv_set_unrefp) tl_dv_set *fresh = NULL;
    TL_TRY(tl_vectors__find(&d->vectors, partition, first->bucket, &vectors.set, err));
    TL_TRY(tl_vectors__files(&d->vectors, partition, first->bucket, &vectors.indexes, err));
    TL_TRY(tl_dv_set_create(d->table->fs, &fresh, err));
    int64_t before = d->deleted;
    size_t to = from;
    for (; to < chosen->n && chosen->items[to].bucket == first->bucket &&
           tl_bytes_equal(tl_bytes_view_of(chosen->items[to].partition), partition);
         to++)
        TL_TRY(find_in_file(d, &chosen->items[to], vectors.set, fresh, err));
    *next = to;
    return d->deleted == before ? TL_OK : mark_bucket(d, partition, first->bucket, &vectors, fresh, err);
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
    tl_status status = load(d, latest, &chosen, err);
    d->messages.items = tl_calloc(chosen.n + 1, sizeof *d->messages.items);
    d->messages.cap = chosen.n + 1;
    if (status == TL_OK && d->messages.items == NULL)
        status = tl_nomem(err, "commit messages");
    for (size_t at = 0; status == TL_OK && at < chosen.n;)
        status = delete_in_bucket(d, &chosen, at, &at, err);
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
