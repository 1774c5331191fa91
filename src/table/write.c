/*
 * The table writer: one bucket writer for each bucket that gets rows, a budget of memory over all of them, commit messages at
 * the end. Source: Java: TableWriteImpl, AbstractFileStoreWrite.
 *
 * A bucket writer starts from the live files of the latest snapshot and from then on knows its own changes only. Commits of
 * others make it stale: sequence numbers may collide and its compactions lose. tl_table_writer_committed() finds that out from
 * the snapshot ids and lets go of the writers; the next rows open new ones.
 */
#include "base/parse.h"
#include "table/format_table.h"

typedef struct open_bucket {
    tl_bytes partition;
    int32_t bucket;
    tl_bucket_writer *writer;
    bool touched; /* since the last prepare */
    int64_t last_news; /* the last round that gave a message */
} open_bucket;

struct tl_table_writer {
    tl_table *table;
    tl_table *placing; /* a handle with real buckets, which is `table` then; NULL: `table` is the caller's */
    tl_write_options options;
    tl_row_rules rules;
    open_bucket *buckets;
    size_t n;
    size_t cap;
    tl_map index; /* (bucket, partition) -> position + 1 */
    tl_vectors vectors; /* deletion vectors of the snapshot that buckets are being opened from */
    tl_bucket_chooser by;
    tl_write_behind *behind; /* NULL: rows go into the buffers at once */
    bool failed;             /* a batch is in the buffers, or was prepared, in part */
    tl_write_view view;
    tl_lsm_config *waiting; /* how rows are written that wait for a bucket; NULL: they have one */
    int64_t round;          /* of prepares */
    int64_t last_committed; /* the last round that became a snapshot */
    tl_format_writer *folder; /* of a format table, which has no buckets; NULL: another one */
};

/* ---- create, free ---- */

static tl_status create_waiting(tl_table_writer *w, tl_error *err)
{
    char uuid[37];
    tl_uuid(uuid);
    const char *user = w->options.user == NULL ? uuid : w->options.user;
    w->options.ignore_previous = true; /* new files are all that it adds */
    return tl_lsm_config_create_postpone(w->table->fs, &w->table->paths, w->table->schema, user, &w->waiting, err);
}

/* Rows that would wait get real buckets: through a handle that has some, which only writes. How many there are is each partition's own
   number, never the handle's. Java: PostponeUtils#tableForFixBucketWrite. */
static tl_status create_placing(tl_table_writer *w, tl_error *err)
{
    tl_table *table = w->table;
    tl_options real = {0};
    tl_status status = tl_options_set(&real, "bucket", "1");
    if (status == TL_OK)
        status = tl_options_set(&real, "write-only", "true");
    status = status == TL_OK ? tl_table__reopen(table, &real, &w->placing, err) : tl_nomem(err, "options");
    tl_options_deinit(&real);
    TL_TRY(status);
    if (w->placing->schema->id != table->schema->id) {
        char name[256];
        return tl_error_set(err, TL_E_CONFLICT, "table %s: its schema was changed meanwhile: run the statement again", tl_table__full_name(table, name));
    }
    w->table = w->placing;
    return tl_bucket_counts_create(w->table, w->options.pool, &w->by.counts, err);
}

static bool writes_column(const tl_write_options *options, int32_t column)
{
    bool found = options->columns == NULL;
    for (int32_t i = 0; !found && i < options->n_columns; i++)
        found = options->columns[i] == column;
    return found;
}

static tl_status check_columns(const tl_table *table, const tl_write_options *options, tl_error *err)
{
    if (options->columns == NULL && !options->onto_rows)
        return TL_OK;
    if (!table->config->data_evolution)
        return tl_error_set(err, TL_E_INVALID, "some of the columns can only be written to tables with 'data-evolution.enabled' = 'true'");
    for (int32_t i = 0; i < options->n_columns; i++) {
        bool twice = false;
        if (options->columns[i] < 0 || options->columns[i] >= table->schema->row_type->n_fields)
            return tl_error_set(err, TL_E_INVALID, "column %d does not exist", options->columns[i]);
        for (int32_t j = 0; j < i; j++)
            twice |= options->columns[i] == options->columns[j];
        if (twice)
            return tl_error_set(err, TL_E_INVALID, "a column to be written is named twice");
    }
    for (int32_t i = 0; i < table->n_partition; i++) {
        if (!writes_column(options, table->partition_idx[i]))
            return tl_error_set(err, TL_E_INVALID, "partition column '%s' must be among the columns that are written",
                                table->schema->row_type->fields[table->partition_idx[i]].name);
    }
    if (options->onto_rows && options->first_row_id < 0)
        return tl_error_set(err, TL_E_INVALID, "row ids begin with 0, not with %lld", (long long)options->first_row_id);
    return TL_OK;
}

static tl_status begin_writer(tl_table *table, const tl_write_options *options, tl_table_writer **out, tl_error *err)
{
    tl_table_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "table writer");
    w->table = table;
    if (options != NULL)
        w->options = *options;
    *out = w;
    return TL_OK;
}

/* A writer of a format table: no buckets, nothing to start from. */
static tl_status create_of_format(tl_table *table, const tl_write_options *options, tl_table_writer **out, tl_error *err)
{
    tl_table_writer *w = NULL;
    TL_TRY(begin_writer(table, options, &w, err));
    tl_status status = check_columns(table, &w->options, err);
    if (status == TL_OK)
        status = tl_row_rules_create(table, &w->options, &w->rules, err);
    if (status == TL_OK)
        status = tl_format_writer__create(table, &w->folder, err);
    if (status != TL_OK) {
        tl_table_writer_free(w);
        return status;
    }
    *out = w;
    return TL_OK;
}

tl_status tl_table_writer_create(tl_table *table, const tl_write_options *options, tl_table_writer **out, tl_error *err)
{
    if (table->folder != NULL)
        return create_of_format(table, options, out, err);
    TL_TRY(tl_table__require_data(table, "write to it", err));
    if (table->travelled) {
        char name[256];
        return tl_error_set(err, TL_E_INVALID, "table %s is open at an older snapshot: cannot write to it", tl_table__full_name(table, name));
    }
    TL_TRY(tl_table__check_writable(table, err));
    tl_table_writer *w = NULL;
    TL_TRY(begin_writer(table, options, &w, err));
    tl_status status = check_columns(table, &w->options, err);
    if (status == TL_OK && tl_bucket_counts_wanted(table, &w->options))
        status = create_placing(w, err);
    else if (status == TL_OK && table->bucket_mode == TL_BUCKETS_POSTPONE)
        status = create_waiting(w, err);
    if (status == TL_OK)
        status = tl_row_rules_create(w->table, &w->options, &w->rules, err);
    if (status == TL_OK && table->spans_partitions)
        status = tl_key_index_create(table, &w->view, w->options.ignore_previous, &w->by.keys, err);
    else if (status == TL_OK && table->bucket_mode == TL_BUCKETS_DYNAMIC)
        status = tl_hash_index_create(table, &w->view, w->options.ignore_previous, &w->by.hashes, err);
    if (status == TL_OK && w->options.pool != NULL)
        status = tl_write_behind_create(w->options.pool, &w->behind, err);
    if (status != TL_OK) {
        tl_table_writer_free(w);
        return status;
    }
    *out = w;
    return TL_OK;
}

static void close_bucket(open_bucket *b)
{
    tl_bucket_writer_free(b->writer);
    tl_bytes_deinit(&b->partition);
}

static void close_all(tl_table_writer *w)
{
    for (size_t i = 0; i < w->n; i++)
        close_bucket(&w->buckets[i]);
    w->n = 0;
    tl_map_deinit(&w->index);
    w->index = (tl_map){0};
    tl_hash_index_clear(w->by.hashes);
    w->view = (tl_write_view){0};
}

void tl_table_writer_free(tl_table_writer *w)
{
    if (w == NULL)
        return;
    tl_write_behind_free(w->behind);
    close_all(w);
    tl_format_writer__free(w->folder);
    tl_vectors__deinit(&w->vectors);
    tl_hash_index_free(w->by.hashes);
    tl_key_index_free(w->by.keys);
    tl_lsm_config_unref(w->waiting);
    tl_free(w->buckets);
    tl_row_rules_deinit(&w->rules);
    tl_bucket_counts_free(w->by.counts);
    tl_table_free(w->placing);
    tl_free(w);
}

/* ---- opening buckets ---- */

static tl_status bucket_key(tl_buf *key, tl_bytes_view partition, int32_t bucket)
{
    key->len = 0;
    TL_TRY(tl_buf_append(key, &bucket, sizeof bucket));
    return tl_buf_append(key, partition.data, partition.len);
}

static open_bucket *find_bucket(const tl_table_writer *w, const tl_buf *key)
{
    uintptr_t at = (uintptr_t)tl_map_get(&w->index, key->data, key->len);
    return at == 0 ? NULL : &w->buckets[at - 1];
}

static tl_pool *compactions_pool(const tl_table_writer *w)
{
    return w->options.pool != NULL ? w->options.pool : w->options.compactions;
}

static tl_status add_bucket(tl_table_writer *w, tl_bytes_view partition, int32_t bucket, tl_data_file *const *files, size_t n_files,
                            tl_error *err)
{
    if (w->n == w->cap) {
        size_t cap = w->cap == 0 ? 16 : w->cap * 2;
        open_bucket *buckets = tl_realloc(w->buckets, cap * sizeof *buckets);
        if (buckets == NULL)
            return tl_nomem(err, "buckets");
        w->buckets = buckets;
        w->cap = cap;
    }
    open_bucket *b = &w->buckets[w->n];
    *b = (open_bucket){.bucket = bucket};
    tl_buf key = {0};
    tl_status status = tl_bytes_dup(partition, &b->partition);
    if (status == TL_OK)
        status = bucket_key(&key, partition, bucket);
    if (status == TL_OK)
        status = tl_map_put(&w->index, key.data, key.len, (void *)(uintptr_t)(w->n + 1), NULL);
    if (status != TL_OK)
        status = tl_nomem(err, "buckets");
    const tl_index_list *indexes = NULL;
    tl_dv_set *set = NULL;
    if (status == TL_OK)
        status = tl_vectors__find(&w->vectors, partition, bucket, &set, err);
    if (status == TL_OK)
        status = tl_vectors__files(&w->vectors, partition, bucket, &indexes, err);
    bool numbered = w->table->bucket_mode == TL_BUCKETS_FIXED || w->table->bucket_mode == TL_BUCKETS_POSTPONE;
    int32_t total = w->by.counts != NULL ? tl_bucket_counts_of(w->by.counts, partition) : numbered ? w->table->n_buckets : -1;
    if (status == TL_OK)
        status = tl_bucket_writer_create(w->waiting != NULL ? w->waiting : w->table->config, partition, bucket, total, files, n_files, compactions_pool(w), &b->writer, err);
    if (status == TL_OK && w->options.columns != NULL)
        status = tl_bucket_writer_set_columns(b->writer, w->options.columns, w->options.n_columns, err);
    if (status == TL_OK && w->options.keep_ids)
        status = tl_bucket_writer_keep_ids(b->writer, err);
    if (status == TL_OK && !w->options.ignore_previous)
        status = tl_bucket_writer_restore(b->writer, set, indexes->n == 0 ? "" : indexes->items[indexes->n - 1]->name, files, n_files, err);
    if (status == TL_OK) {
        w->n++;
    } else {
        tl_map_remove(&w->index, key.data, key.len);
        close_bucket(b);
    }
    tl_buf_deinit(&key);
    return status;
}

/* A partition keeps its number of buckets: rows of one key would land in two places. */
static tl_status check_total(const tl_table_writer *w, const tl_manifest_entry *entry, tl_error *err)
{
    tl_table *table = w->table;
    if (w->by.counts != NULL || table->bucket_mode != TL_BUCKETS_FIXED || entry->total_buckets <= 0 || entry->total_buckets == table->n_buckets)
        return TL_OK;
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    TL_CLEANUP(tl_freep) char *text = NULL;
    if (tl_binary_row_decode(tl_bytes_view_of(entry->partition), table->partition_type, true, &row, NULL) == TL_OK)
        (void)tl_partition_path(row, table->config->partition_default_name, table->config->legacy_partition_names, &text, NULL);
    bool partitioned = table->n_partition > 0 && text != NULL;
    return tl_error_set(err, TL_E_INVALID,
                        "Try to write %s%s with a new bucket num %d, but the previous bucket num is %d. Please switch to batch mode, and "
                        "perform INSERT OVERWRITE to rescale current data layout first.",
                        partitioned ? "partition " : "table", partitioned ? text : "", table->n_buckets, entry->total_buckets);
}

tl_status tl_write_view_latest(tl_write_view *view, tl_table *table, tl_snapshot **out, tl_error *err)
{
    TL_TRY(tl_table__latest(table->fs, &table->paths, out, err));
    int64_t id = *out == NULL ? 0 : (*out)->id;
    if (!view->used)
        view->known = id;
    else if (id != view->known)
        view->stale = true;
    view->used = true;
    return TL_OK;
}

/* Live files of the partitions in the latest snapshot. Writers that are open already reflect an older one if it moved on. */
static tl_status load_live(tl_table_writer *w, const tl_map *partitions, tl_entries *out, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_TRY(tl_write_view_latest(&w->view, w->table, &latest, err));
    tl_vectors__deinit(&w->vectors);
    w->vectors = (tl_vectors){0};
    if (latest == NULL || w->options.ignore_previous)
        return TL_OK;
    TL_TRY(tl_table__check_snapshot(w->table, latest, w->options.onto_rows, err));
    TL_TRY(tl_vectors__read(w->table, latest, &w->vectors, err));
    tl_scan scan;
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.partitions = partitions;
    scan.real_buckets_only = w->table->bucket_mode == TL_BUCKETS_FIXED; /* a postponed table's, by such a handle */
    scan.pool = w->options.pool;
    TL_TRY(tl_table__scan(w->table, &scan, out, err));
    for (size_t i = 0; i < out->n; i++)
        TL_TRY(check_total(w, &out->items[i], err));
    return tl_entries_sort_buckets(out, err);
}

/* Open the bucket with its files among the live entries, which are sorted by bucket. */
static tl_status open_from(tl_table_writer *w, const tl_entries *live, tl_bytes_view partition, int32_t bucket, tl_error *err)
{
    size_t from = 0, to = 0;
    tl_entries_bucket_range(live, partition, bucket, &from, &to);
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(to - from + 1, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "buckets");
    for (size_t i = from; i < to; i++)
        files[i - from] = live->items[i].file;
    return add_bucket(w, partition, bucket, files, to - from, err);
}

static tl_status open_missing(tl_table_writer *w, const tl_bucket_parts *parts, tl_error *err)
{
    static char mark;
    tl_map partitions = {0};
    tl_buf key = {0};
    tl_entries live = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < parts->n; i++) {
        const tl_bucket_rows *part = &parts->items[i];
        status = bucket_key(&key, tl_bytes_view_of(part->partition), part->bucket);
        if (status == TL_OK && find_bucket(w, &key) == NULL)
            status = tl_map_put(&partitions, part->partition.data, part->partition.len, &mark, NULL);
        if (status != TL_OK)
            status = tl_nomem(err, "buckets");
    }
    if (status == TL_OK && partitions.count > 0) {
        status = load_live(w, &partitions, &live, err);
        for (size_t i = 0; status == TL_OK && i < parts->n; i++) {
            const tl_bucket_rows *part = &parts->items[i];
            tl_bytes_view partition = tl_bytes_view_of(part->partition);
            if (bucket_key(&key, partition, part->bucket) != TL_OK)
                status = tl_nomem(err, "buckets");
            else if (find_bucket(w, &key) == NULL)
                status = open_from(w, &live, partition, part->bucket, err);
        }
    }
    tl_entries_deinit(&live);
    tl_buf_deinit(&key);
    tl_map_deinit(&partitions);
    return status;
}

/* ---- writing ---- */

/* Buffers over all buckets stay within write-buffer-size: the fullest ones are written out first. */
static tl_status keep_budget(tl_table_writer *w, tl_error *err)
{
    int64_t budget = w->table->config->write_buffer_bytes;
    for (;;) {
        int64_t total = 0, most = 0;
        size_t fullest = 0;
        for (size_t i = 0; i < w->n; i++) {
            int64_t bytes = tl_bucket_writer_bytes(w->buckets[i].writer);
            total += bytes;
            if (bytes > most) {
                most = bytes;
                fullest = i;
            }
        }
        if (total <= budget || most == 0)
            return TL_OK;
        TL_TRY(tl_bucket_writer_flush(w->buckets[fullest].writer, err));
        if (tl_bucket_writer_bytes(w->buckets[fullest].writer) >= most)
            return TL_OK; /* nothing more can be given back */
    }
}

/* Open the buckets and find out whether they can take the rows, which need not be there. */
static tl_status accept_parts(tl_table_writer *w, const tl_bucket_parts *parts, tl_error *err)
{
    TL_TRY(open_missing(w, parts, err));
    tl_buf key = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < parts->n; i++) {
        const tl_bucket_rows *part = &parts->items[i];
        if (bucket_key(&key, tl_bytes_view_of(part->partition), part->bucket) != TL_OK) {
            status = tl_nomem(err, "buckets");
            break;
        }
        open_bucket *b = find_bucket(w, &key);
        b->touched = true;
        status = tl_bucket_writer_has_room(b->writer, part->n, err);
    }
    tl_buf_deinit(&key);
    return status;
}

/* The rows into the buffers of their buckets, which are open. */
static tl_status add_parts(tl_table_writer *w, const tl_bucket_parts *parts, tl_error *err)
{
    tl_buf key = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < parts->n; i++) {
        const tl_bucket_rows *part = &parts->items[i];
        if (bucket_key(&key, tl_bytes_view_of(part->partition), part->bucket) == TL_OK)
            status = tl_bucket_writer_write(find_bucket(w, &key)->writer, part->rows, err);
        else
            status = tl_nomem(err, "buckets");
    }
    tl_buf_deinit(&key);
    w->failed |= status != TL_OK;
    return status == TL_OK ? keep_budget(w, err) : status;
}

/* The batch that stayed behind into the buffers. Without memory to gather it, it stays: the rows were accepted, the next call tries again. */
static tl_status catch_up(tl_table_writer *w, tl_error *err)
{
    tl_bucket_parts parts;
    if (w->failed)
        return tl_error_set(err, TL_E_INTERNAL, "the writer has failed before: write all rows of the commit anew with another");
    TL_TRY(tl_write_behind_take(w->behind, &parts, err));
    if (parts.n == 0)
        return TL_OK;
    tl_status status = add_parts(w, &parts, err);
    tl_write_behind_hold(w->behind, &parts);
    return status;
}

static tl_status write_parts(tl_table_writer *w, tl_bucket_parts *parts, tl_error *err)
{
    TL_TRY(accept_parts(w, parts, err));
    if (tl_write_behind_wants(w->behind, parts))
        return tl_write_behind_leave(w->behind, parts, err);
    TL_TRY(tl_bucket_parts_gather(parts, err));
    return add_parts(w, parts, err);
}

static tl_status write_folder(tl_table_writer *w, tl_bucket_parts *parts, tl_error *err)
{
    TL_TRY(tl_bucket_parts_gather(parts, err));
    for (size_t i = 0; i < parts->n; i++)
        TL_TRY(tl_format_writer__write(w->folder, tl_bytes_view_of(parts->items[i].partition), parts->items[i].rows, err));
    return TL_OK;
}

tl_status tl_table_writer_write(tl_table_writer *w, const tl_batch *batch, tl_error *err)
{
    tl_batch *rows = NULL;
    TL_TRY(catch_up(w, err));
    TL_TRY(tl_row_rules_apply(&w->rules, batch, &rows, err));
    tl_bucket_parts parts;
    TL_TRY(tl_split_by_bucket(w->table, &w->by, rows, &parts, err));
    tl_status status = w->folder != NULL ? write_folder(w, &parts, err) : write_parts(w, &parts, err);
    tl_bucket_parts_deinit(&parts);
    return status;
}

tl_status tl_table__writer_put(tl_table_writer *w, tl_bytes_view partition, int32_t bucket, tl_batch *rows, tl_error *err)
{
    tl_bucket_rows one = {.bucket = bucket, .n = (uint32_t)rows->n_rows, .rows = rows};
    tl_status status = tl_bytes_dup(partition, &one.partition) == TL_OK ? TL_OK : tl_nomem(err, "partition");
    tl_bucket_parts parts = {.items = &one, .n = 1};
    if (status == TL_OK)
        status = catch_up(w, err);
    if (status == TL_OK)
        status = write_parts(w, &parts, err);
    tl_bytes_deinit(&one.partition);
    tl_batch_free(rows);
    return status;
}

/* ---- compaction ---- */

tl_status tl_table_writer_compact(tl_table_writer *w, bool full, tl_error *err)
{
    TL_TRY(catch_up(w, err));
    for (size_t i = 0; i < w->n; i++) {
        if (w->buckets[i].touched)
            TL_TRY(tl_bucket_writer_compact(w->buckets[i].writer, full, err));
    }
    return TL_OK;
}

tl_status tl_table_writer_compact_all(tl_table_writer *w, bool full, tl_error *err)
{
    return tl_table__writer_compact(w, /* partitions= */ NULL, full, err);
}

tl_status tl_table__writer_compact(tl_table_writer *w, const tl_map *partitions, bool full, tl_error *err)
{
    tl_entries live = {0};
    tl_buf key = {0};
    if (w->folder != NULL)
        return tl_table__require_data(w->table, "compact it", err);
    tl_status status = load_live(w, partitions, &live, err);
    for (size_t i = 0; status == TL_OK && i < live.n; i++) {
        const tl_manifest_entry *e = &live.items[i];
        tl_bytes_view partition = tl_bytes_view_of(e->partition);
        if (bucket_key(&key, partition, e->bucket) != TL_OK)
            status = tl_nomem(err, "buckets");
        else if (find_bucket(w, &key) == NULL)
            status = open_from(w, &live, partition, e->bucket, err);
        if (status == TL_OK)
            find_bucket(w, &key)->touched = true;
    }
    tl_buf_deinit(&key);
    tl_entries_deinit(&live);
    return status == TL_OK ? tl_table_writer_compact(w, full, err) : status;
}

/* ---- prepare ---- */

void tl_commit_messages_deinit(tl_commit_messages *messages)
{
    for (size_t i = 0; i < messages->n; i++)
        tl_commit_message_deinit(&messages->items[i]);
    tl_free(messages->items);
    *messages = (tl_commit_messages){0};
}

tl_status tl_commit_messages_move(tl_commit_messages *to, tl_commit_messages *from, tl_error *err)
{
    size_t n = to->n + from->n;
    tl_commit_message *items = tl_realloc(to->items, (n + 1) * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "commit messages");
    to->items = items;
    to->cap = n + 1;
    for (size_t i = 0; i < from->n; i++)
        items[to->n++] = from->items[i];
    from->n = 0; /* they are the other's now */
    return TL_OK;
}

typedef struct prepare_task {
    open_bucket *bucket;
    bool wait;
    tl_commit_message message;
} prepare_task;

static tl_status begin_bucket(void *arg, tl_error *err)
{
    prepare_task *task = arg;
    return tl_bucket_writer_begin_prepare(task->bucket->writer, task->wait, err);
}

static tl_status prepare_bucket(void *arg, tl_error *err)
{
    prepare_task *task = arg;
    return tl_bucket_writer_prepare(task->bucket->writer, task->wait, &task->message, err);
}

/* All buckets, several at a time on the pool. */
static tl_status run_all(tl_table_writer *w, tl_task_fn fn, prepare_task *tasks, tl_error *err)
{
    tl_task_group *group = NULL;
    TL_TRY(tl_task_group_create(w->n > 1 ? w->options.pool : NULL, &group, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < w->n; i++)
        status = tl_task_group_run(group, fn, &tasks[i], err);
    tl_status waited = tl_task_group_wait(group, status == TL_OK ? err : NULL);
    tl_task_group_free(group);
    return status == TL_OK ? waited : status;
}

/* First every bucket's flush, where most of the sorting and encoding happens, and the start of its compaction; then the waiting. */
static tl_status run_prepares(tl_table_writer *w, prepare_task *tasks, tl_error *err)
{
    if (w->n > 1 && compactions_pool(w) != NULL)
        TL_TRY(run_all(w, begin_bucket, tasks, err));
    return run_all(w, prepare_bucket, tasks, err);
}

typedef struct bucket_messages {
    const tl_table_writer *writer;
    prepare_task *tasks;
    tl_buf key;
} bucket_messages;

static tl_status message_of(void *ctx, tl_bytes_view partition, int32_t bucket, tl_commit_message **out, tl_error *err)
{
    bucket_messages *m = ctx;
    if (bucket_key(&m->key, partition, bucket) != TL_OK)
        return tl_nomem(err, "commit messages");
    open_bucket *b = find_bucket(m->writer, &m->key);
    if (b == NULL)
        return tl_error_set(err, TL_E_INTERNAL, "keys of bucket %d were not written", bucket);
    tl_commit_message *msg = &m->tasks[b - m->writer->buckets].message;
    if (msg->partition.data == NULL) { /* nothing else happened */
        msg->bucket = bucket;
        msg->total_buckets = -1;
        if (tl_bytes_dup(partition, &msg->partition) != TL_OK)
            return tl_nomem(err, "commit messages");
    }
    *out = msg;
    return TL_OK;
}

static tl_status prepare_hashes(tl_table_writer *w, prepare_task *tasks, tl_error *err)
{
    bucket_messages messages = {.writer = w, .tasks = tasks};
    tl_status status = tl_hash_index_prepare(w->by.hashes, message_of, &messages, err);
    tl_buf_deinit(&messages.key);
    for (size_t i = 0; i < w->n; i++) {
        tl_commit_message *msg = &tasks[i].message;
        if (!tl_commit_message_empty(msg) && tl_hash_index_base(w->by.hashes, tl_bytes_view_of(msg->partition), &msg->base))
            msg->base_kind = TL_BASE_HASHES;
    }
    return status;
}

static void note_key_base(tl_table_writer *w, prepare_task *tasks)
{
    int64_t base = 0;
    for (size_t i = 0; tl_key_index_base(w->by.keys, &base) && i < w->n; i++) {
        tl_commit_message *msg = &tasks[i].message;
        if (msg->new_files.n == 0)
            continue; /* a compaction alone changes no rows */
        msg->base_kind = TL_BASE_SNAPSHOT;
        msg->base = (uint64_t)base;
    }
}

bool tl_table_lookups_wait(const tl_table *table)
{
    const char *wait = tl_table_option(table, "lookup-wait");
    return table->config->need_lookup && (wait == NULL || strcmp(wait, "false") != 0);
}

tl_status tl_table_full_compaction_every(const tl_table *table, int64_t checkpoint_ms, int64_t *out, tl_error *err)
{
    const char *every = tl_table_option(table, "full-compaction.delta-commits"), *interval = tl_table_option(table, "changelog-producer.compaction-interval");
    int64_t ms;
    *out = 0;
    if (table->config->write_only)
        return TL_OK;
    if (every != NULL)
        return tl_error_wrap(err, tl_parse_int(every, 1, INT32_MAX, out, err), "option 'full-compaction.delta-commits'");
    *out = table->config->changelog_producer == TL_CHANGELOG_FULL_COMPACTION;
    if (interval == NULL)
        return TL_OK;
    TL_TRY(tl_error_wrap(err, tl_parse_duration_ms(interval, &ms, err), "option 'changelog-producer.compaction-interval'"));
    *out = checkpoint_ms > 0 ? TL_MAX(ms / checkpoint_ms, 1) : 1;
    return TL_OK;
}

tl_status tl_table_writer_prepare(tl_table_writer *w, bool wait_compaction, tl_commit_messages *out, tl_error *err)
{
    if (w->folder != NULL)
        return tl_format_writer__prepare(w->folder, out, err);
    TL_TRY(catch_up(w, err));
    tl_write_behind_round(w->behind);
    prepare_task *tasks = tl_calloc(w->n + 1, sizeof *tasks);
    tl_commit_messages messages = {0};
    w->round++;
    messages.items = tl_calloc(w->n + 1, sizeof *messages.items);
    messages.cap = w->n + 1;
    tl_status status = tasks == NULL || messages.items == NULL ? tl_nomem(err, "commit messages") : TL_OK;
    for (size_t i = 0; status == TL_OK && i < w->n; i++)
        tasks[i] = (prepare_task){.bucket = &w->buckets[i], .wait = wait_compaction};
    if (status == TL_OK)
        status = run_prepares(w, tasks, err);
    if (status == TL_OK && w->by.hashes != NULL)
        status = prepare_hashes(w, tasks, err);
    if (status == TL_OK && w->by.keys != NULL)
        note_key_base(w, tasks);
    for (size_t i = 0; tasks != NULL && messages.items != NULL && i < w->n; i++) {
        if (tl_commit_message_empty(&tasks[i].message)) {
            tl_commit_message_deinit(&tasks[i].message);
        } else {
            messages.items[messages.n++] = tasks[i].message;
            w->buckets[i].last_news = w->round;
        }
        w->buckets[i].touched = false;
    }
    tl_free(tasks);
    if (status == TL_OK && w->options.onto_rows)
        status = tl_commit__onto_rows(&messages, w->options.first_row_id, err);
    if (status != TL_OK) {
        w->failed = true;
        tl_table_abort(w->table, &messages);
        tl_commit_messages_deinit(&messages);
        return status;
    }
    *out = messages;
    return TL_OK;
}

/* ---- after the commit ---- */

static tl_status rebuild_index(tl_table_writer *w, tl_error *err)
{
    tl_map_deinit(&w->index);
    w->index = (tl_map){0};
    tl_buf key = {0};
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < w->n; i++) {
        status = bucket_key(&key, tl_bytes_view_of(w->buckets[i].partition), w->buckets[i].bucket);
        if (status == TL_OK)
            status = tl_map_put(&w->index, key.data, key.len, (void *)(uintptr_t)(i + 1), NULL);
    }
    tl_buf_deinit(&key);
    return status == TL_OK ? TL_OK : tl_nomem(err, "buckets");
}

/*
 * Writers without news and without a compaction under way go, or there would be one for every partition ever written. As in the
 * reference one stays until a later round than its own is committed (which shows in sequence numbers).
 */
static tl_status close_idle(tl_table_writer *w, tl_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < w->n; i++) {
        open_bucket *b = &w->buckets[i];
        if (b->last_news == w->round || b->last_news >= w->last_committed || !tl_bucket_writer_idle(b->writer))
            w->buckets[kept++] = *b;
        else
            close_bucket(b);
    }
    if (kept == w->n)
        return TL_OK;
    w->n = kept;
    return rebuild_index(w, err);
}

tl_status tl_table_writer_committed(tl_table_writer *w, const tl_commit_result *result, tl_error *err)
{
    TL_TRY(catch_up(w, err)); /* buckets are about to be closed */
    if (w->by.keys != NULL)
        TL_TRY(tl_key_index_committed(w->by.keys, result, err));
    if (result->snapshots > 0) {
        /* Ours follow directly on what we knew, or others came in between. */
        if (result->snapshot_id - result->snapshots != w->view.known)
            w->view.stale = true;
        w->view.known = result->snapshot_id;
    } else if (result->snapshot_id > 0) {
        w->view.stale = true; /* it had been committed before, by another writer */
    }
    if (result->compaction_dropped || w->options.ignore_previous)
        w->view.stale = true;
    if (w->view.stale) {
        close_all(w);
        return TL_OK;
    }
    tl_status status = close_idle(w, err);
    if (status == TL_OK && w->by.hashes != NULL)
        status = tl_hash_index_close_idle(w->by.hashes, /* keep_rounds= */ 1, err);
    w->view.used = w->n > 0 || tl_hash_index_partitions(w->by.hashes) > 0 || tl_key_index_loaded(w->by.keys);
    if (result->snapshots > 0)
        w->last_committed = w->round;
    return status;
}
