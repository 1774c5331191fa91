/*
 * Postponed buckets (`bucket` = -2): rows wait in a bucket of their own, unmerged and unseen by batch reads, until this job
 * gives them real ones. A partition gets `postpone.default-bucket-num` buckets at its first compaction and keeps that number.
 * Source: format reference §15; Java: PostponeBucketCompactSplitSource, RewritePostponeBucketCommittableOperator, BucketFiles.
 *
 * Real buckets with files on level 0 are compacted as well: writers in batch place rows at once, and only write (bucket_counts.c).
 *
 * The job writes the waiting rows through a table handle with fixed buckets, in the order of the files, and commits everything as
 * one compaction: waiting files go, files of real buckets come. A file that the write made and a compaction took at once has
 * never been seen by anybody and is removed.
 */
#include "table/write_private.h"

#include <stdlib.h>

/* One partition with waiting files: entries [from, to) of the job. */
typedef struct waiting {
    size_t from, to;
    int32_t n_buckets;
} waiting;

typedef struct job {
    tl_table *table;
    tl_entries files; /* of bucket -2, by partition, then by time */
    waiting *partitions;
    size_t n;
    tl_entries fresh; /* of real buckets: one file on level 0 of each partition that has some */
    tl_commit_messages messages;
} job;

static void job_deinit(job *j)
{
    tl_entries_deinit(&j->files);
    tl_entries_deinit(&j->fresh);
    tl_free(j->partitions);
    tl_commit_messages_deinit(&j->messages);
}

/* ---- what waits ---- */

static int by_partition_and_time(const void *a, const void *b)
{
    const tl_manifest_entry *x = a, *y = b;
    int c = tl_bytes_compare(tl_bytes_view_of(x->partition), tl_bytes_view_of(y->partition));
    if (c != 0)
        return c;
    if (x->file->creation_time_ms != y->file->creation_time_ms)
        return x->file->creation_time_ms < y->file->creation_time_ms ? -1 : 1;
    return 0;
}

/* Files in the order in which they were committed, those of one partition together and sorted by time (stable). */
static void sort_by_time(tl_manifest_entry *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        tl_manifest_entry e = items[i];
        size_t at = i;
        for (; at > 0 && by_partition_and_time(&items[at - 1], &e) > 0; at--)
            items[at] = items[at - 1];
        items[at] = e;
    }
}

static tl_status collect_fresh(job *j, const tl_manifest_entry *e, tl_map *seen, tl_error *err)
{
    static char mark;
    void *before = NULL;
    if (e->bucket < 0 || e->total_buckets <= 0 || e->file->level != 0)
        return TL_OK;
    if (tl_map_put(seen, e->partition.data, e->partition.len, &mark, &before) != TL_OK)
        return tl_nomem(err, "partitions");
    if (before != NULL)
        return TL_OK;
    return tl_entries_add(&j->fresh, TL_ENTRY_ADD, tl_bytes_view_of(e->partition), e->bucket, e->total_buckets, e->file, err);
}

static tl_status collect_all_fresh(job *j, const tl_entries *live, tl_error *err)
{
    tl_map seen = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < live->n && status == TL_OK; i++)
        status = collect_fresh(j, &live->items[i], &seen, err);
    tl_map_deinit(&seen);
    return status;
}

static tl_status collect_waiting(job *j, const tl_entries *live, tl_map *totals, tl_error *err)
{
    for (size_t i = 0; i < live->n; i++) {
        const tl_manifest_entry *e = &live->items[i];
        tl_bytes_view partition = tl_bytes_view_of(e->partition);
        if (e->bucket == TL_POSTPONE_BUCKET)
            TL_TRY(tl_entries_add(&j->files, TL_ENTRY_DELETE, partition, e->bucket, e->total_buckets, e->file, err));
        else if (e->total_buckets > 0 && tl_map_put(totals, partition.data, partition.len, (void *)(uintptr_t)e->total_buckets, NULL) != TL_OK)
            return tl_nomem(err, "partitions");
    }
    return TL_OK;
}

static tl_status divide(job *j, const tl_map *totals, int32_t otherwise, tl_error *err)
{
    sort_by_time(j->files.items, j->files.n);
    j->partitions = tl_calloc(j->files.n + 1, sizeof *j->partitions);
    if (j->partitions == NULL)
        return tl_nomem(err, "partitions");
    for (size_t i = 0; i < j->files.n; i++) {
        tl_bytes_view partition = tl_bytes_view_of(j->files.items[i].partition);
        waiting *last = j->n == 0 ? NULL : &j->partitions[j->n - 1];
        if (last == NULL || !tl_bytes_equal(tl_bytes_view_of(j->files.items[last->from].partition), partition)) {
            uintptr_t total = (uintptr_t)tl_map_get(totals, partition.data, partition.len);
            last = &j->partitions[j->n++];
            *last = (waiting){.from = i, .n_buckets = total != 0 ? (int32_t)total : otherwise};
        }
        last->to = i + 1;
    }
    return TL_OK;
}

tl_status tl_postpone__default_buckets(const tl_table *table, int32_t *out, tl_error *err)
{
    int64_t n = 0;
    TL_TRY(tl_table__option_int(&table->schema->options, "postpone.default-bucket-num", 1, &n, err));
    if (n < 1 || n > INT16_MAX)
        return tl_error_set(err, TL_E_INVALID, "option 'postpone.default-bucket-num': %lld is not within 1 and %d", (long long)n, INT16_MAX);
    *out = (int32_t)n;
    return TL_OK;
}

static tl_status find_waiting(job *j, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    int32_t otherwise = 0;
    TL_TRY(tl_postpone__default_buckets(j->table, &otherwise, err));
    TL_TRY(tl_table__latest(j->table->fs, &j->table->paths, &latest, err));
    if (latest == NULL)
        return TL_OK;
    TL_TRY(tl_table__check_snapshot(j->table, latest, /* changes_rows= */ true, err));
    tl_entries live = {0};
    tl_map totals = {0}; /* partition -> number of its real buckets */
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    tl_status status = tl_table__scan(j->table, &scan, &live, err);
    if (status == TL_OK)
        status = collect_waiting(j, &live, &totals, err);
    if (status == TL_OK)
        status = collect_all_fresh(j, &live, err);
    if (status == TL_OK)
        status = divide(j, &totals, otherwise, err);
    tl_map_deinit(&totals);
    tl_entries_deinit(&live);
    return status;
}

/* ---- into real buckets ---- */

static tl_status write_file(tl_table *table, const tl_manifest_entry *e, tl_table_writer *writer, tl_error *err)
{
    tl_bucket_read_spec spec = {.with_kinds = true};
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_files_read(table->config, tl_bytes_view_of(e->partition), e->bucket, &e->file, 1, &spec, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(tl_table_writer_write(writer, batch, err));
    }
}

static tl_status room_for_messages(tl_commit_messages *messages, size_t extra, tl_error *err)
{
    if (messages->cap - messages->n >= extra)
        return TL_OK;
    size_t cap = TL_MAX(messages->cap * 2, messages->n + extra);
    tl_commit_message *items = tl_realloc(messages->items, cap * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "commit messages");
    messages->items = items;
    messages->cap = cap;
    return TL_OK;
}

static bool has_name(const tl_file_list *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i]->name, name) == 0)
            return true;
    }
    return false;
}

/* Everything of the message as a compaction: what was written and not taken at once is a result of it, too. */
static tl_status fold(tl_table *table, tl_commit_message *m, tl_error *err)
{
    tl_file_list before = {0}, after = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < m->compact_before.n && status == TL_OK; i++) {
        if (!has_name(&m->new_files, m->compact_before.items[i]->name))
            status = tl_file_list_add(&before, m->compact_before.items[i], err);
    }
    for (size_t i = 0; i < m->new_files.n && status == TL_OK; i++) {
        if (!has_name(&m->compact_before, m->new_files.items[i]->name))
            status = tl_file_list_add(&after, m->new_files.items[i], err);
    }
    for (size_t i = 0; i < m->compact_after.n && status == TL_OK; i++)
        status = tl_file_list_add(&after, m->compact_after.items[i], err);
    for (size_t i = 0; i < m->changelog_files.n && status == TL_OK; i++)
        status = tl_file_list_add(&m->compact_changelog, m->changelog_files.items[i], err);
    if (status != TL_OK) {
        tl_file_list_deinit(&before);
        tl_file_list_deinit(&after);
        return status;
    }
    for (size_t i = 0; i < m->new_files.n; i++) { /* taken at once */
        const tl_data_file *file = m->new_files.items[i];
        if (has_name(&m->compact_before, file->name) && !has_name(&m->compact_after, file->name))
            tl_table__remove_file(table, tl_bytes_view_of(m->partition), m->bucket, file);
    }
    tl_file_list_deinit(&m->new_files);
    tl_file_list_deinit(&m->changelog_files);
    tl_file_list_deinit(&m->compact_before);
    tl_file_list_deinit(&m->compact_after);
    m->compact_before = before;
    m->compact_after = after;
    return TL_OK;
}

static tl_status add_folded(job *j, tl_commit_messages *written, tl_error *err)
{
    tl_status status = room_for_messages(&j->messages, written->n, err);
    for (size_t i = 0; i < written->n && status == TL_OK; i++)
        status = fold(j->table, &written->items[i], err);
    if (status != TL_OK) {
        tl_table_abort(j->table, written);
        return status;
    }
    for (size_t i = 0; i < written->n; i++)
        j->messages.items[j->messages.n++] = written->items[i];
    written->n = 0;
    return TL_OK;
}

static tl_status add_waiting(job *j, const waiting *w, tl_error *err)
{
    TL_TRY(room_for_messages(&j->messages, 1, err));
    const tl_manifest_entry *first = &j->files.items[w->from];
    tl_commit_message *m = &j->messages.items[j->messages.n];
    *m = (tl_commit_message){.bucket = TL_POSTPONE_BUCKET, .total_buckets = first->total_buckets};
    if (tl_bytes_dup(tl_bytes_view_of(first->partition), &m->partition) != TL_OK)
        return tl_nomem(err, "commit messages");
    j->messages.n++;
    for (size_t i = w->from; i < w->to; i++)
        TL_TRY(tl_file_list_add(&m->compact_before, j->files.items[i].file, err));
    return TL_OK;
}

/* Buckets of the partitions that have the handle's number of buckets and files on level 0. */
static tl_status compact_fresh(const job *j, int32_t n_buckets, tl_table_writer *writer, tl_error *err)
{
    static char mark;
    tl_map partitions = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; i < j->fresh.n && status == TL_OK; i++) {
        tl_bytes_view p = tl_bytes_view_of(j->fresh.items[i].partition);
        if (j->fresh.items[i].total_buckets == n_buckets && tl_map_put(&partitions, p.data, p.len, &mark, NULL) != TL_OK)
            status = tl_nomem(err, "partitions");
    }
    if (status == TL_OK && partitions.count > 0)
        status = tl_table__writer_compact(writer, &partitions, /* full= */ false, err);
    else if (status == TL_OK)
        status = tl_table_writer_compact(writer, /* full= */ false, err);
    tl_map_deinit(&partitions);
    return status;
}

/* All partitions with the same number of buckets, through one handle. */
static tl_status rewrite(job *j, int32_t n_buckets, tl_pool *pool, tl_error *err)
{
    char number[16];
    snprintf(number, sizeof number, "%d", n_buckets);
    tl_options real = {0};
    TL_CLEANUP(tl_table_freep) tl_table *table = NULL;
    tl_table_writer *writer = NULL;
    tl_commit_messages written = {0};
    tl_status status = tl_options_set(&real, "bucket", number);
    if (status == TL_OK)
        status = tl_options_set(&real, "write-only", "false");
    status = status == TL_OK ? tl_table__reopen(j->table, &real, &table, err) : tl_nomem(err, "options");
    tl_options_deinit(&real);
    tl_write_options options = {.pool = pool};
    if (status == TL_OK)
        status = tl_table_writer_create(table, &options, &writer, err);
    for (size_t i = 0; i < j->n && status == TL_OK; i++) {
        const waiting *w = &j->partitions[i];
        for (size_t k = w->from; w->n_buckets == n_buckets && k < w->to && status == TL_OK; k++)
            status = write_file(j->table, &j->files.items[k], writer, err);
        if (w->n_buckets == n_buckets && status == TL_OK)
            status = add_waiting(j, w, err);
    }
    if (status == TL_OK)
        status = compact_fresh(j, n_buckets, writer, err);
    if (status == TL_OK)
        status = tl_table_writer_prepare(writer, /* wait_compaction= */ true, &written, err);
    tl_table_writer_free(writer);
    if (status == TL_OK)
        status = add_folded(j, &written, err);
    tl_commit_messages_deinit(&written);
    return status;
}

static int32_t count_at(const job *j, size_t i)
{
    return i < j->n ? j->partitions[i].n_buckets : j->fresh.items[i - j->n].total_buckets;
}

tl_status tl_postpone__compact(tl_table *table, tl_pool *pool, tl_commit_messages *out, tl_error *err)
{
    job j = {.table = table};
    tl_status status = find_waiting(&j, err);
    for (size_t i = 0; i < j.n + j.fresh.n && status == TL_OK; i++) {
        bool done = false;
        for (size_t k = 0; k < i && !done; k++)
            done = count_at(&j, k) == count_at(&j, i);
        if (!done)
            status = rewrite(&j, count_at(&j, i), pool, err);
    }
    if (status == TL_OK) {
        *out = j.messages;
        j.messages = (tl_commit_messages){0};
    } else {
        tl_table_abort(table, &j.messages);
    }
    job_deinit(&j);
    return status;
}
