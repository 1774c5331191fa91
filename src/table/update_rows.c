/*
 * New values of some columns of rows of a table with data evolution, by row id: for each range of rows that has some, one new file of these
 * columns (lsm/evolution_update.c), all in one commit. Java: DataEvolutionMergeIntoAction of its Flink module; what it refuses at the commit: ConflictDetection.
 */
#include "table/table_private.h"

typedef struct update {
    tl_table *table;
    const tl_row_updates *rows;
    int64_t base; /* snapshot that the values were made from */
    size_t done;  /* rows of `rows` that are in a file now */
    tl_commit_messages messages;
} update;

tl_status tl_table_check_updatable(const tl_table *table, tl_error *err)
{
    char name[256];
    TL_TRY(tl_table__require_data(table, "change rows of it", err));
    if (!table->config->data_evolution)
        return tl_error_set(err, TL_E_INVALID, "table %s: columns can be changed by themselves only with 'data-evolution.enabled' = 'true'",
                            tl_table__full_name(table, name));
    return tl_table__check_writable(table, err);
}

/* First of the new values whose row id is not below `id`. */
static size_t lower_bound(const tl_row_updates *rows, int64_t id)
{
    size_t from = 0, to = rows->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (rows->rows[mid].id < id)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static tl_status update_bucket(update *u, const tl_entries *live, size_t from, size_t to, tl_error *err)
{
    tl_commit_message *msg = &u->messages.items[u->messages.n];
    tl_bytes_view partition = tl_bytes_view_of(live->items[from].partition);
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from + 1, sizeof *files);
    TL_CLEANUP(tl_freep) tl_data_file **sorted = tl_calloc(to - from + 1, sizeof *sorted);
    tl_row_groups groups = {0};
    if (files == NULL || sorted == NULL || tl_bytes_dup(partition, &msg->partition) != TL_OK)
        return tl_nomem(err, "commit message");
    u->messages.n++;
    msg->bucket = live->items[from].bucket;
    msg->total_buckets = live->items[from].total_buckets;
    msg->base_kind = TL_BASE_ROWS;
    msg->base = (uint64_t)u->base;
    for (size_t i = from; i < to; i++)
        files[i - from] = live->items[i].file;
    TL_TRY(tl_row_groups_create(files, to - from, &groups, err));
    for (size_t i = 0; i < to - from; i++)
        sorted[i] = files[groups.order[i]];
    tl_status status = TL_OK;
    for (size_t g = 0, at = 0; g < groups.n && status == TL_OK; at = groups.ends[g++]) {
        const tl_data_file *first = sorted[at];
        size_t low = lower_bound(u->rows, first->first_row_id), high = lower_bound(u->rows, first->first_row_id + first->rows);
        if (low == high || tl_data_file_is_side(first))
            continue;
        status = tl_evolution_update(u->table->config, partition, msg->bucket, sorted + at, groups.ends[g] - at, u->rows, low, high, msg, err);
        u->done += high - low;
    }
    tl_row_groups_deinit(&groups);
    if (msg->new_files.n == 0) {
        tl_commit_message_deinit(msg);
        *msg = (tl_commit_message){0};
        u->messages.n--;
    }
    return status;
}

static tl_status update_all(update *u, const tl_entries *live, tl_error *err)
{
    u->messages.items = tl_calloc(live->n + 1, sizeof *u->messages.items);
    u->messages.cap = live->n + 1;
    if (u->messages.items == NULL)
        return tl_nomem(err, "commit messages");
    for (size_t at = 0, to = 0; at < live->n; at = to) {
        tl_entries_bucket_range(live, tl_bytes_view_of(live->items[at].partition), live->items[at].bucket, &at, &to);
        TL_TRY(update_bucket(u, live, at, to, err));
    }
    if (u->done != u->rows->n)
        return tl_error_set(err, TL_E_CONFLICT, "%zu of %zu rows are not in the table: another writer removed or added them meanwhile",
                            u->rows->n - u->done, u->rows->n);
    return TL_OK;
}

static tl_status make_files(update *u, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    tl_entries live = {0};
    tl_scan scan;
    TL_TRY(tl_table__latest(u->table->fs, &u->table->paths, &latest, err));
    if (latest == NULL)
        return u->rows->n == 0 ? TL_OK : tl_error_set(err, TL_E_CONFLICT, "the table was emptied by another writer");
    TL_TRY(tl_table__check_snapshot(u->table, latest, /* changes_rows= */ true, err));
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    tl_status status = tl_table__scan(u->table, &scan, &live, err);
    if (status == TL_OK)
        status = tl_entries_sort_buckets(&live, err);
    if (status == TL_OK)
        status = update_all(u, &live, err);
    tl_entries_deinit(&live);
    return status;
}

/* The values as files hold them: `taken` has the batches from then on. */
static tl_status take_blobs(update *u, tl_blob_intake *intake, tl_row_updates *taken, tl_error *err)
{
    const tl_row_updates *rows = u->rows;
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc(((size_t)rows->n_columns + 1) * sizeof *columns);
    tl_batch **batches = tl_calloc(rows->n_batches + 1, sizeof *batches);
    *taken = *rows;
    taken->batches = batches;
    if (columns == NULL || batches == NULL)
        return tl_nomem(err, "rows");
    columns[0] = -1; /* the row ids */
    memcpy(columns + 1, rows->columns, (size_t)rows->n_columns * sizeof *columns);
    for (size_t i = 0; i < rows->n_batches; i++)
        TL_TRY(tl_blob_intake_take(intake, columns, rows->batches[i], &batches[i], err));
    u->rows = taken;
    return TL_OK;
}

static void taken_deinit(tl_row_updates *taken)
{
    for (size_t i = 0; taken->batches != NULL && i < taken->n_batches; i++)
        tl_batch_free(taken->batches[i]);
    tl_free((void *)taken->batches);
}

static tl_status make_files_with_blobs(update *u, tl_error *err)
{
    const tl_row_updates *all = u->rows;
    tl_blob_intake *intake = NULL;
    tl_row_updates taken = {0};
    if (u->table->config->blobs == NULL)
        return make_files(u, err);
    if (all->n > 0)
        TL_TRY(tl_evolution_check_update(u->table->config, all, err));
    TL_TRY(tl_blob_intake_create(u->table->config, &intake, err));
    tl_status status = take_blobs(u, intake, &taken, err);
    if (status == TL_OK)
        status = make_files(u, err);
    if (status == TL_OK)
        status = tl_blob_intake_finish(intake, err);
    tl_blob_intake_free(intake);
    u->rows = all;
    taken_deinit(&taken);
    return status;
}

tl_status tl_table_update_rows(tl_table *table, const tl_row_updates *rows, int64_t base, tl_commit_messages *more, tl_commit_result *out, tl_error *err)
{
    char name[256];
    update u = {.table = table, .rows = rows, .base = base};
    tl_commit_spec spec = {.watermark = TL_ABSENT, .ignore_empty = true};
    bool committing = false;
    TL_TRY(tl_table_check_updatable(table, err));
    tl_status status = make_files_with_blobs(&u, err);
    if (status == TL_OK && more != NULL)
        status = tl_commit_messages_move(&u.messages, more, err);
    if (status == TL_OK)
        status = tl_table__next_identifier(table, spec.user, &spec.identifier, err);
    if (status == TL_OK) {
        committing = true; /* it removes the files of what does not get in */
        status = tl_table_commit(table, &spec, &u.messages, out, err);
    }
    if (!committing)
        tl_table_abort(table, &u.messages);
    if (!committing && more != NULL)
        tl_table_abort(table, more);
    tl_commit_messages_deinit(&u.messages);
    return tl_error_wrap(err, status, "changing rows of table %s", tl_table__full_name(table, name));
}
