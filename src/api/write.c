/* Writing and committing. */
#include "api/api_private.h"

#include "types/arrow.h"

struct tidelake_writer {
    tidelake_table *table; /* the caller's, for its name */
    tl_table *target;      /* with write-only as the compaction mode wants it; owned */
    tl_pool *pool;
    tl_table_writer *writer;
    char *user;
    tidelake_compaction compaction;
    bool overwrite;
    bool has_partition;
    tl_options partition;
    int64_t last_identifier;
    bool committed; /* before: no longer the first commit */
    int32_t *columns; /* NULL: all */
    int32_t n_columns;
};

/* The caller's options with write-only set for this writer, as the reference's own writers are told. */
static tl_status open_target(tidelake_writer *w, tl_error *err)
{
    tl_options options;
    if (tl_options_dup(&w->table->options, &options) != TL_OK)
        return tl_nomem(err, "options");
    tl_status status = TL_OK;
    if (w->compaction == TIDELAKE_COMPACT_NONE)
        status = tl_options_set(&options, "write-only", "true") == TL_OK ? TL_OK : tl_nomem(err, "options");
    else if (w->compaction == TIDELAKE_COMPACT_FULL)
        status = tl_options_set(&options, "write-only", "false") == TL_OK ? TL_OK : tl_nomem(err, "options");
    if (status == TL_OK)
        status = tl_table_open(w->table->lake->catalog, w->table->db, w->table->name, &options, &w->target, err);
    tl_options_deinit(&options);
    return status;
}

static tl_status find_last_identifier(tl_table *table, const char *user, int64_t *out, tl_error *err)
{
    tl_snapshot *snap;
    tl_status status = tl_table_latest_of_user(table, user, &snap, err);
    if (status == TL_E_NOT_FOUND) {
        *out = 0;
        return TL_OK;
    }
    TL_TRY(status);
    *out = snap->commit_identifier;
    tl_snapshot_free(snap);
    return TL_OK;
}

static tl_status find_columns(tidelake_writer *w, const char *const *names, size_t n, tl_error *err)
{
    const tl_type *row = tl_table_row_type(w->target);
    if ((w->columns = tl_alloc((n + 1) * sizeof *w->columns)) == NULL)
        return tl_nomem(err, "columns");
    for (size_t i = 0; i < n; i++) {
        w->columns[i] = tl_type_field_index(row, names[i]);
        if (w->columns[i] < 0)
            return tl_error_set(err, TL_E_INVALID, "there is no column '%s'", names[i]);
    }
    w->n_columns = (int32_t)n;
    return TL_OK;
}

static tl_status open_writer(tidelake_writer *w, const tidelake_write_options *options, tl_error *err)
{
    w->compaction = TL_API_HAS(options, compaction) ? options->compaction : TIDELAKE_COMPACT_AUTO;
    w->overwrite = TL_API_HAS(options, overwrite) && options->overwrite != 0;
    if (TL_API_HAS(options, n_overwrite_partition) && options->overwrite_partition != NULL) {
        w->has_partition = true;
        TL_TRY(tl_api__options(options->overwrite_partition, options->n_overwrite_partition, &w->partition, err));
    }
    if (TL_API_HAS(options, commit_user) && options->commit_user != NULL) {
        w->user = tl_strdup(options->commit_user);
    } else {
        char uuid[37];
        tl_uuid(uuid);
        w->user = tl_strdup(uuid);
    }
    if (w->user == NULL)
        return tl_nomem(err, "commit user");
    TL_TRY(open_target(w, err));
    TL_TRY(find_last_identifier(w->target, w->user, &w->last_identifier, err));
    int threads = TL_API_HAS(options, threads) ? options->threads : 0;
    bool beside = threads == 0 && w->compaction != TIDELAKE_COMPACT_NONE; /* compactions only: rows are encoded in the calls */
    if (threads > 0 || beside)
        TL_TRY(tl_pool_create(beside ? 1 : threads, &w->pool, err));
    if (TL_API_HAS(options, n_columns) && options->columns != NULL)
        TL_TRY(find_columns(w, options->columns, options->n_columns, err));
    bool onto_rows = TL_API_HAS(options, first_row_id) && options->first_row_id >= 0;
    tl_write_options spec = {.pool = beside ? NULL : w->pool,
                             .compactions = w->pool,
                             .ignore_previous = w->overwrite,
                             .user = w->user,
                             .columns = w->columns,
                             .n_columns = w->n_columns,
                             .onto_rows = onto_rows,
                             .first_row_id = onto_rows ? options->first_row_id : 0};
    return tl_table_writer_create(w->target, &spec, &w->writer, err);
}

tl_status tidelake_writer_open(tidelake_table *table, const tidelake_write_options *options, tidelake_writer **out,
                               tl_error *err)
{
    tidelake_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "writer");
    w->table = table;
    tl_status status = open_writer(w, options, err);
    if (status != TL_OK) {
        tidelake_writer_close(w);
        return tl_api__in_table(table, status, err);
    }
    *out = w;
    return TL_OK;
}

void tidelake_writer_close(tidelake_writer *w)
{
    if (w == NULL)
        return;
    tl_table_writer_free(w->writer);
    tl_table_free(w->target);
    tl_pool_free(w->pool);
    tl_options_deinit(&w->partition);
    tl_free(w->columns);
    tl_free(w->user);
    tl_free(w);
}

tl_status tidelake_writer_write_batch(tidelake_writer *w, const tidelake_batch *batch, tl_error *err)
{
    return tl_api__in_table(w->table, tl_table_writer_write(w->writer, batch->batch, err), err);
}

tl_status tidelake_writer_write(tidelake_writer *w, struct ArrowArray *array, const struct ArrowSchema *schema,
                                const uint8_t *kinds, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_arrow_import_batch(array, schema, tl_table_row_type(w->target), &batch, err));
    if (kinds != NULL) {
        for (int64_t i = 0; i < batch->n_rows; i++)
            if (kinds[i] > TL_KIND_DELETE)
                return tl_error_set(err, TL_E_INVALID, "row %lld has the kind %d; 0 to 3 are allowed", (long long)i, kinds[i]);
        batch->row_kind = tl_memdup(kinds, (size_t)batch->n_rows);
        if (batch->row_kind == NULL)
            return tl_nomem(err, "row kinds");
    }
    return tl_api__in_table(w->table, tl_table_writer_write(w->writer, batch, err), err);
}

static tl_status fill_commit(const tidelake_commit_options *options, const char *user, int64_t next_identifier,
                             tl_options *properties, tl_commit_spec *spec, tl_error *err)
{
    *spec = (tl_commit_spec){.user = user, .identifier = next_identifier, .watermark = TL_ABSENT, .ignore_empty = true};
    if (TL_API_HAS(options, identifier) && options->identifier > 0)
        spec->identifier = options->identifier;
    if (TL_API_HAS(options, watermark))
        spec->watermark = options->watermark;
    if (TL_API_HAS(options, n_properties) && options->n_properties > 0) {
        TL_TRY(tl_api__options(options->properties, options->n_properties, properties, err));
        spec->properties = properties;
    }
    return TL_OK;
}

static void tell(const tl_commit_result *from, tidelake_commit_result *to)
{
    if (to != NULL)
        *to = (tidelake_commit_result){from->snapshot_id, from->snapshots, from->compaction_dropped, from->retries};
}

static bool waits(const tidelake_writer *w, const tidelake_commit_options *options)
{
    int wait = TL_API_HAS(options, wait_compaction) ? options->wait_compaction : 0;
    if (w->compaction != TIDELAKE_COMPACT_AUTO)
        return w->compaction == TIDELAKE_COMPACT_FULL;
    return wait != 0 ? wait > 0 : !w->committed || tl_table_lookups_wait(w->target);
}

/* Files of an append table without buckets, and rows that wait for a bucket, are not compacted by their writer: a job of its own does it. */
static bool compacts_apart(const tidelake_writer *w)
{
    const tl_table_schema *schema = tl_table_schema_of(w->target);
    const char *bucket = tl_table_option(w->target, "bucket");
    bool unaware = schema->n_primary_keys == 0 && (bucket == NULL || strcmp(bucket, "-1") == 0);
    bool postponed = bucket != NULL && strcmp(bucket, "-2") == 0;
    return unaware || postponed;
}

static tl_status prepare(tidelake_writer *w, bool wait, tl_commit_messages *messages, tl_error *err)
{
    if (w->compaction == TIDELAKE_COMPACT_FULL && !compacts_apart(w))
        TL_TRY(tl_table_writer_compact(w->writer, true, err));
    return tl_table_writer_prepare(w->writer, wait, messages, err);
}

static tl_status compact_apart(tidelake_writer *w, tidelake_commit_result *result, tl_error *err)
{
    tl_commit_result done = {0};
    TL_TRY(tl_table_compact(w->target, w->user, true, w->pool, &done, err));
    if (done.snapshots > 0) {
        tell(&done, result);
        w->last_identifier++;
    }
    return TL_OK;
}

tl_status tidelake_writer_commit(tidelake_writer *w, const tidelake_commit_options *options, tidelake_commit_result *result,
                                 tl_error *err)
{
    tl_options properties = {0};
    tl_commit_messages messages = {0};
    tl_commit_spec spec;
    tl_commit_result done = {0};
    tl_status status = fill_commit(options, w->user, w->last_identifier + 1, &properties, &spec, err);
    spec.overwrite = w->overwrite;
    spec.overwrite_partition = w->has_partition ? &w->partition : NULL;
    if (status == TL_OK)
        status = prepare(w, waits(w, options), &messages, err);
    if (status == TL_OK)
        status = tl_table_commit(w->target, &spec, &messages, &done, err);
    if (status == TL_OK) {
        w->last_identifier = spec.identifier;
        w->committed = true;
        tell(&done, result);
        status = tl_table_writer_committed(w->writer, &done, err);
    }
    if (status == TL_OK && w->compaction == TIDELAKE_COMPACT_FULL && compacts_apart(w))
        status = compact_apart(w, result, err);
    tl_commit_messages_deinit(&messages);
    tl_options_deinit(&properties);
    return tl_api__in_table(w->table, status, err);
}

tl_status tidelake_writer_prepare(tidelake_writer *w, tidelake_bytes **out, size_t *n, tl_error *err)
{
    tl_commit_messages messages = {0};
    TL_TRY(prepare(w, w->compaction != TIDELAKE_COMPACT_NONE, &messages, err));
    tl_buf *pieces = tl_calloc(messages.n + 1, sizeof *pieces);
    tl_status status = pieces == NULL ? tl_nomem(err, "messages") : TL_OK;
    if (status == TL_OK)
        status = tl_fs_flush(tl_table_config(w->target)->fs, err); /* the messages may outlive this process, and so must their files */
    for (size_t i = 0; i < messages.n && status == TL_OK; i++)
        status = tl_commit_message_serialize(&messages.items[i], &pieces[i], err);
    if (status == TL_OK)
        status = tl_api__pack(pieces, messages.n, out, err);
    if (status == TL_OK)
        *n = messages.n;
    for (size_t i = 0; pieces != NULL && i < messages.n; i++)
        tl_buf_deinit(&pieces[i]);
    tl_free(pieces);
    tl_commit_messages_deinit(&messages);
    return status;
}

static tl_status deserialize(const tidelake_bytes *pieces, size_t n, tl_commit_messages *out, tl_error *err)
{
    out->items = tl_calloc(n + 1, sizeof *out->items);
    if (out->items == NULL)
        return tl_nomem(err, "messages");
    out->cap = n + 1;
    for (size_t i = 0; i < n; i++) {
        tl_status status = tl_commit_message_deserialize((tl_bytes_view){pieces[i].data, pieces[i].len}, &out->items[i], err);
        TL_TRY(tl_error_wrap(err, status, "commit message %zu", i));
        out->n++;
    }
    return TL_OK;
}

tl_status tidelake_commit_prepared(tidelake_table *table, const char *commit_user, const tidelake_bytes *pieces, size_t n,
                                   const tidelake_commit_options *options, tidelake_commit_result *result, tl_error *err)
{
    tl_commit_messages messages = {0};
    tl_options properties = {0};
    tl_commit_spec spec;
    tl_commit_result done = {0};
    tl_status status = deserialize(pieces, n, &messages, err);
    if (status == TL_OK)
        status = fill_commit(options, commit_user, TL_COMMIT_BATCH, &properties, &spec, err);
    if (status == TL_OK)
        status = tl_table_commit(table->table, &spec, &messages, &done, err);
    if (status == TL_OK)
        tell(&done, result);
    tl_options_deinit(&properties);
    tl_commit_messages_deinit(&messages);
    return tl_api__in_table(table, status, err);
}

tl_status tidelake_abort_prepared(tidelake_table *table, const tidelake_bytes *pieces, size_t n, tl_error *err)
{
    tl_commit_messages messages = {0};
    tl_status status = deserialize(pieces, n, &messages, err);
    if (status == TL_OK)
        tl_table_abort(table->table, &messages);
    tl_commit_messages_deinit(&messages);
    return tl_api__in_table(table, status, err);
}

tl_status tidelake_compact(tidelake_table *table, const char *commit_user, int full, int threads,
                           tidelake_commit_result *result, tl_error *err)
{
    tl_pool *pool = NULL;
    if (threads > 1)
        TL_TRY(tl_pool_create(threads, &pool, err));
    tl_commit_result done = {0};
    tl_status status = tl_table_compact(table->table, commit_user, full != 0, pool, &done, err);
    tl_pool_free(pool);
    if (status == TL_OK)
        tell(&done, result);
    return tl_api__in_table(table, status, err);
}

tl_status tidelake_compact_partitions(tidelake_table *table, const tidelake_compact_options *options, tidelake_commit_result *result,
                                      tl_error *err)
{
    tl_pool *pool = NULL;
    tl_options *partitions = NULL;
    size_t n = 0;
    tl_commit_result done = {0};
    tl_compact_spec spec = {.full = TL_API_HAS(options, full) && options->full != 0, .idle_ms = TL_ABSENT};
    if (TL_API_HAS(options, idle_ms) && options->idle_ms > 0)
        spec.idle_ms = options->idle_ms;
    if (TL_API_HAS(options, partitions) && options->partitions != NULL)
        TL_TRY(tl_api__in_table(table, tl_partition_specs_parse(options->partitions, &partitions, &n, err), err));
    if (n == 0 && TL_API_HAS(options, partitions) && options->partitions != NULL) {
        tl_partition_specs_free(partitions, n);
        return tl_api__in_table(table, tl_error_set(err, TL_E_INVALID, "no partition is named: leave the list out to compact all"), err);
    }
    spec.partitions = partitions;
    spec.n_partitions = n;
    tl_status status = TL_API_HAS(options, threads) && options->threads > 1 ? tl_pool_create(options->threads, &pool, err) : TL_OK;
    if (status == TL_OK)
        status = tl_table_compact_partitions(table->table, TL_API_HAS(options, commit_user) ? options->commit_user : NULL, &spec, pool, &done, err);
    tl_pool_free(pool);
    tl_partition_specs_free(partitions, n);
    if (status == TL_OK)
        tell(&done, result);
    return tl_api__in_table(table, status, err);
}

tl_status tidelake_sort(tidelake_table *table, const tidelake_sort_options *options, tidelake_commit_result *result, tl_error *err)
{
    tl_commit_result done = {0};
    tl_options *partitions = NULL;
    size_t n = TL_API_HAS(options, n_partitions) ? options->n_partitions : 0;
    if (!TL_API_HAS(options, n_columns) || options->order == NULL)
        return tl_error_set(err, TL_E_INVALID, "an order and columns are needed");
    if (n > 0)
        TL_TRY(tl_api__partitions(table, options->partitions, n, &partitions, err));
    const tl_sort_spec spec = {.kind = options->order,
                               .columns = (char *const *)(uintptr_t)options->columns,
                               .n_columns = (int32_t)options->n_columns,
                               .partitions = partitions,
                               .n_partitions = n};
    tl_status status = tl_table_sort(table->table, TL_API_HAS(options, commit_user) ? options->commit_user : NULL, &spec, &done, err);
    tl_api__partitions_free(partitions, n);
    if (status == TL_OK)
        tell(&done, result);
    return tl_api__in_table(table, status, err);
}

tl_status tidelake_analyze(tidelake_table *table, const char *commit_user, int threads, tidelake_commit_result *result, tl_error *err)
{
    tl_pool *pool = NULL;
    if (threads > 1)
        TL_TRY(tl_pool_create(threads, &pool, err));
    tl_commit_result done = {0};
    tl_status status = tl_table_analyze(table->table, NULL, 0, commit_user, pool, &done, err);
    tl_pool_free(pool);
    if (status == TL_OK)
        tell(&done, result);
    return tl_api__in_table(table, status, err);
}

tl_status tidelake_delete(tidelake_table *table, const char *commit_user, const char *where, int64_t *deleted,
                          tidelake_commit_result *result, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *predicate = NULL;
    if (where != NULL)
        TL_TRY(tl_api__in_table(table, tl_api__parse_where(where, tl_table_row_type(table->table), &predicate, err), err));
    tl_delete_spec spec = {.user = commit_user, .finder = {.predicate = predicate}};
    tl_commit_result done = {0};
    int64_t n = 0;
    tl_status status = tl_table_delete(table->table, &spec, &n, &done, err);
    if (status == TL_OK) {
        tell(&done, result);
        if (deleted != NULL)
            *deleted = n;
    }
    return tl_api__in_table(table, status, err);
}
