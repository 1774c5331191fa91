/*
 * File indexes made anew for files that are there: the entries change, the data files stay. One commit, as of a compaction.
 * Java: RewriteFileIndexProcedure, FileIndexProcessor.
 */
#include "table/table_private.h"

/* Configs under the schemas that files were written with. */
typedef struct configs {
    tl_lsm_config **items;
    size_t n;
} configs;

static void configs_deinit(configs *c)
{
    for (size_t i = 0; i < c->n; i++)
        tl_lsm_config_unref(c->items[i]);
    tl_free(c->items);
}

static tl_status config_of(tl_table *table, configs *known, int64_t schema_id, tl_lsm_config **out, tl_error *err)
{
    *out = table->config;
    if (schema_id == table->schema->id)
        return TL_OK;
    for (size_t i = 0; i < known->n; i++) {
        *out = known->items[i];
        if (known->items[i]->schema->id == schema_id)
            return TL_OK;
    }
    const tl_table_schema *schema = NULL;
    TL_TRY(tl_table__schema(table, schema_id, &schema, err));
    tl_lsm_config **items = tl_realloc(known->items, (known->n + 1) * sizeof *items);
    if (items == NULL)
        return tl_nomem(err, "schemas");
    known->items = items;
    TL_TRY(tl_error_wrap(err, tl_lsm_config_create(table->fs, &table->paths, schema, &items[known->n], err), "schema %lld", (long long)schema_id));
    *out = items[known->n++];
    return TL_OK;
}

static tl_status reindex_file(tl_table *table, configs *known, const tl_manifest_entry *e, tl_commit_message *msg, tl_error *err)
{
    tl_lsm_config *of_file = NULL;
    tl_data_file *made = NULL;
    TL_TRY(config_of(table, known, e->file->schema_id, &of_file, err));
    TL_TRY(tl_file_reindex(table->config, of_file, tl_bytes_view_of(e->partition), e->bucket, e->file, &made, err));
    if (made == NULL)
        return TL_OK;
    tl_status status = tl_file_list_add(&msg->compact_before, e->file, err);
    if (status == TL_OK)
        status = tl_file_list_add(&msg->compact_after, made, err);
    if (status != TL_OK)
        tl_table__remove_extra_files(table, tl_bytes_view_of(e->partition), e->bucket, made, e->file);
    tl_data_file_unref(made);
    return status;
}

/* One message for each bucket with files that change. */
static tl_status reindex_all(tl_table *table, tl_entries *live, tl_commit_messages *messages, tl_error *err)
{
    configs known = {NULL, 0};
    tl_status status = tl_entries_sort_buckets(live, err);
    messages->items = tl_calloc(live->n + 1, sizeof *messages->items);
    if (status == TL_OK && messages->items == NULL)
        status = tl_nomem(err, "file indexes");
    for (size_t i = 0; status == TL_OK && i < live->n; i++) {
        const tl_manifest_entry *e = &live->items[i], *before = i == 0 ? NULL : &live->items[i - 1];
        bool same = before != NULL && before->bucket == e->bucket && tl_bytes_equal(tl_bytes_view_of(before->partition), tl_bytes_view_of(e->partition));
        tl_commit_message *msg = same ? &messages->items[messages->n - 1] : &messages->items[messages->n++];
        if (!same) {
            msg->bucket = e->bucket;
            msg->total_buckets = e->total_buckets;
            status = tl_bytes_dup(tl_bytes_view_of(e->partition), &msg->partition) == TL_OK ? TL_OK : tl_nomem(err, "file indexes");
        }
        if (status == TL_OK)
            status = reindex_file(table, &known, e, msg, err);
    }
    configs_deinit(&known);
    return status;
}

/* Buckets of which nothing changes need no message. */
static void drop_empty(tl_commit_messages *messages)
{
    size_t kept = 0;
    for (size_t i = 0; i < messages->n; i++) {
        if (tl_commit_message_empty(&messages->items[i]))
            tl_commit_message_deinit(&messages->items[i]);
        else
            messages->items[kept++] = messages->items[i];
    }
    messages->n = kept;
}

static tl_status run(tl_table *table, const char *user, const tl_snapshot *latest, const tl_predicate *partitions, tl_commit_result *out, tl_error *err)
{
    tl_entries live = {0};
    tl_commit_messages messages = {0};
    tl_scan scan;
    tl_commit_spec spec = {.user = user, .watermark = TL_ABSENT, .ignore_empty = true};
    TL_TRY(tl_table__next_identifier(table, user, &spec.identifier, err));
    tl_scan_init(&scan, TL_SCAN_ALL, latest);
    scan.partition = partitions;
    tl_status status = tl_table__scan(table, &scan, &live, err);
    if (status == TL_OK)
        status = reindex_all(table, &live, &messages, err);
    if (status == TL_OK) {
        drop_empty(&messages);
        status = tl_table_commit(table, &spec, &messages, out, err);
    } else {
        tl_table_abort(table, &messages);
    }
    tl_commit_messages_deinit(&messages);
    tl_entries_deinit(&live);
    return status;
}

tl_status tl_table_rewrite_file_index(tl_table *table, const char *user, const tl_options *partitions, size_t n, tl_commit_result *out, tl_error *err)
{
    char name[256];
    tl_commit_result result = {0};
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = NULL;
    TL_CLEANUP(tl_predicate_freep) tl_predicate *pred = NULL;
    TL_TRY(tl_table__require_data(table, "rewrite its file indexes", err));
    TL_TRY(tl_table__check_writable(table, err));
    if (table->config->data_evolution)
        return tl_error_set(err, TL_E_UNSUPPORTED, "table %s: file indexes of tables with data evolution are not supported",
                            tl_table__full_name(table, name));
    TL_TRY(tl_table__partitions_predicate(table, partitions, n, &pred, err));
    TL_TRY(tl_table__latest(table->fs, &table->paths, &latest, err));
    if (latest != NULL) {
        tl_status status = tl_table__check_snapshot(table, latest, /* changes_rows= */ true, err);
        if (status == TL_OK)
            status = run(table, user, latest, pred, &result, err);
        TL_TRY(tl_error_wrap(err, status, "file indexes of table %s", tl_table__full_name(table, name)));
    }
    if (out != NULL)
        *out = result;
    return TL_OK;
}
