/*
 * Clustering of append tables: files are read, their rows sorted, and written anew. Once for all files (sort compaction), or as an LSM
 * tree is compacted (incremental clustering): each file of level 0 is a run, each level above is one, universal compaction chooses runs,
 * and what becomes of them lies on a level of its own. Tables without buckets are clustered by a compaction job, those with buckets also by
 * their writers (append_writer.c). Source: Java: SortCompactAction, IncrementalClusterManager, BucketedAppendClusterManager.
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>
#include <strings.h>

#include "base/parse.h"

/* ---- orders ---- */

#define TEXT_BYTES 8 /* zorder.var-length-contribution */

tl_status tl_order_of_columns(const tl_lsm_config *config, const char *kind, char *const *names, int32_t n, tl_order *out, tl_error *err)
{
    const char *text = tl_options_get(&config->schema->options, "zorder.var-length-contribution");
    int64_t text_bytes = TEXT_BYTES;
    *out = (tl_order){.columns = tl_calloc((size_t)n + 1, sizeof *out->columns)};
    if (out->columns == NULL)
        return tl_nomem(err, "columns");
    if (text != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_int(text, INT64_MIN, INT64_MAX, &text_bytes, err), "option 'zorder.var-length-contribution'"));
    out->text_bytes = (int32_t)TL_MAX(1, TL_MIN(text_bytes, INT32_MAX));
    for (; out->n_columns < n; out->n_columns++) {
        int32_t at = tl_type_field_index(config->schema->row_type, names[out->n_columns]);
        if (at < 0)
            return tl_error_set(err, TL_E_INVALID, "there is no column '%s' to sort by", names[out->n_columns]);
        out->columns[out->n_columns] = at;
    }
    return tl_order_parse_kind(kind, &out->kind, err);
}

tl_status tl_order_of_options(const tl_lsm_config *config, tl_order *out, tl_error *err)
{
    const tl_options *options = &config->schema->options;
    const char *list = tl_options_get(options, "clustering.columns"), *kind = tl_options_get(options, "clustering.strategy");
    int32_t n = 0, cap = 1;
    *out = (tl_order){0};
    for (const char *c = list; c != NULL && *c != '\0'; c++)
        cap += *c == ',';
    TL_CLEANUP(tl_freep) char **names = tl_calloc((size_t)cap, sizeof *names);
    tl_status status = names == NULL ? tl_nomem(err, "columns") : TL_OK;
    for (tl_bytes_view name; status == TL_OK && list != NULL && n < cap && tl_list_next(&list, &name); n++) {
        names[n] = tl_strndup((const char *)name.data, name.len);
        if (names[n] == NULL)
            status = tl_nomem(err, "columns");
    }
    if (status == TL_OK && n == 0)
        status = tl_error_set(err, TL_E_INVALID, "'clustering.incremental' needs 'clustering.columns'");
    if (kind == NULL || strcasecmp(kind, "auto") == 0)
        kind = n == 1 ? "order" : n < 5 ? "zorder" : "hilbert";
    if (status == TL_OK)
        status = tl_order_of_columns(config, kind, names, n, out, err);
    for (int32_t i = 0; names != NULL && i < n; i++)
        tl_free(names[i]);
    return status;
}

/* ---- rewriting ---- */

static tl_status read_into(tl_lsm__scan *scan, const tl_file_list *files, tl_lsm__sorter *sorter, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(tl_lsm__run_open(scan, files->items, files->n, TL_LSM__PUSH_NONE, &reader, err));
    for (;;) {
        tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(tl_lsm__sorter_add(sorter, batch, err));
    }
}

static tl_status write_sorted(tl_lsm__bucket *bucket, tl_lsm__sorter *sorter, int32_t level, int64_t first_seq, tl_file_list *out, tl_error *err)
{
    tl_lsm__names names = {0};
    TL_CLEANUP(tl_lsm__shape_freep) tl_lsm__shape *shape = NULL; /* outlives the writer */
    TL_CLEANUP(tl_lsm__writer_freep) tl_lsm__writer *writer = NULL;
    if (bucket->config->row_tracking)
        TL_TRY(tl_lsm__shape_of_rewrite(bucket->config, /* changes= */ false, &shape, err));
    tl_lsm__writer_spec spec = {.bucket = bucket, .names = &names, .level = level, .file_source = 1, .next_seq = &first_seq, .shape = shape};
    TL_TRY(tl_lsm__writer_create(&spec, &writer, err));
    TL_TRY(tl_lsm__sorter_write(sorter, writer, err));
    return tl_lsm__writer_finish(writer, out, err);
}

tl_status tl_lsm__cluster_rewrite(tl_lsm__bucket *bucket, const tl_order *order, const tl_file_list *files, int32_t level, tl_file_list *out,
                                  tl_error *err)
{
    int32_t n = tl_lsm__n_readable(bucket->config); /* with row tracking, rows keep their ids and sequence numbers */
    int64_t first_seq = INT64_MAX;
    TL_CLEANUP(tl_freep) int32_t *columns = tl_alloc((size_t)(n + 1) * sizeof(*columns));
    TL_CLEANUP(tl_lsm__scan_unrefp) tl_lsm__scan *scan = NULL;
    TL_CLEANUP(tl_freep) tl_lsm__scale *scales = tl_calloc((size_t)order->n_columns + 1, sizeof *scales);
    tl_lsm__sorter *sorter = NULL;
    if (columns == NULL || scales == NULL)
        return tl_nomem(err, "clustering");
    for (int32_t i = 0; i < n; i++)
        columns[i] = i;
    for (size_t i = 0; i < files->n; i++)
        first_seq = TL_MIN(first_seq, files->items[i]->min_seq);
    TL_TRY(tl_lsm__scan_create(bucket, columns, n, /* pred= */ NULL, &scan, err));
    TL_TRY(tl_lsm__scale_of_files(bucket->config, order, files, scales, err));
    TL_TRY(tl_lsm__sorter_create(bucket->config, scan->type, order, scales, &sorter, err));
    tl_status status = read_into(scan, files, sorter, err);
    if (status == TL_OK)
        status = write_sorted(bucket, sorter, level, first_seq, out, err);
    tl_lsm__sorter_free(sorter);
    return status;
}

/* ---- choosing ---- */

/* A file and its place among those of the snapshot, older ones first. */
typedef struct candidate {
    tl_data_file *file;
    size_t place;
} candidate;

static int newest_first(const void *x, const void *y)
{
    const candidate *a = x, *b = y;
    if (a->file->level != b->file->level)
        return (a->file->level > b->file->level) - (a->file->level < b->file->level);
    if (a->file->creation_time_ms != b->file->creation_time_ms)
        return (a->file->creation_time_ms < b->file->creation_time_ms) - (a->file->creation_time_ms > b->file->creation_time_ms);
    return (a->place < b->place) - (a->place > b->place);
}

/* The files as runs follow each other: level by level, the newest first. */
static tl_status sort_files(tl_data_file *const *files, size_t n, tl_file_list *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) candidate *sorted = tl_alloc((n + 1) * sizeof *sorted);
    if (sorted == NULL)
        return tl_nomem(err, "clustering");
    for (size_t i = 0; i < n; i++)
        sorted[i] = (candidate){files[i], i};
    qsort(sorted, n, sizeof *sorted, newest_first);
    for (size_t i = 0; i < n; i++)
        TL_TRY(tl_file_list_add(out, sorted[i].file, err));
    return TL_OK;
}

/* Whether files that this schema wrote were clustered by the same columns. */
static tl_status same_columns(tl_lsm_config *config, int64_t schema_id, bool *out, tl_error *err)
{
    tl_table_schema *schema = NULL;
    TL_TRY(tl_schema_read(config->fs, &config->paths, schema_id, &schema, err));
    const char *then = tl_options_get(&schema->options, "clustering.columns"), *now = tl_options_get(&config->schema->options, "clustering.columns");
    *out = then != NULL && now != NULL && strcmp(then, now) == 0;
    tl_table_schema_unref(schema);
    return TL_OK;
}

/* The first runs' files, and the level that their rows get; none: nothing is to be done. `files` are sorted by level. */
static tl_status choose(tl_lsm__bucket *bucket, tl_data_file *const *files, size_t n, bool full, size_t *n_chosen, int32_t *level, tl_error *err)
{
    tl_lsm_config *config = bucket->config;
    TL_CLEANUP(tl_freep) tl_lsm__run *runs = tl_calloc(n + 1, sizeof *runs);
    TL_CLEANUP(tl_freep) size_t *ends = tl_calloc(n + 1, sizeof *ends);
    size_t n_runs = 0;
    bool same = false;
    *n_chosen = 0;
    if (runs == NULL || ends == NULL)
        return tl_nomem(err, "clustering");
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || files[i]->level == 0 || files[i]->level != files[i - 1]->level)
            runs[n_runs++].level = files[i]->level;
        runs[n_runs - 1].bytes += files[i]->bytes;
        ends[n_runs - 1] = i + 1;
    }
    int32_t top = config->num_levels - 1;
    tl_lsm__picker picker;
    tl_lsm__picker_init(&picker, config, /* bucket= */ 0);
    tl_lsm__pick pick = {n_runs, top};
    if (!full)
        pick = tl_lsm__picker_universal(&picker, config->num_levels, runs, n_runs);
    else if (n_runs == 1 && runs[0].level == top)
        TL_TRY(same_columns(config, files[0]->schema_id, &same, err));
    if (pick.n_runs > 0 && !same) {
        *n_chosen = ends[pick.n_runs - 1];
        *level = pick.output_level;
    }
    return TL_OK;
}

/* All files, or the first runs of them. */
tl_status tl_lsm__cluster_choose(tl_lsm__bucket *bucket, const tl_cluster_spec *spec, tl_data_file *const *files, size_t n, tl_file_list *out,
                                 int32_t *level, tl_error *err)
{
    size_t chosen = n;
    *level = 0;
    TL_TRY(sort_files(files, n, out, err));
    if (spec->incremental)
        TL_TRY(choose(bucket, out->items, n, spec->full, &chosen, level, err));
    while (out->n > chosen)
        tl_data_file_unref(out->items[--out->n]);
    return TL_OK;
}

/* ---- a partition ---- */

static tl_status cluster(tl_lsm__bucket *bucket, const tl_cluster_spec *spec, tl_data_file *const *files, size_t n,
                         const tl_bucket_vectors *vectors, tl_commit_message *msg, tl_error *err)
{
    int32_t level;
    TL_TRY(tl_lsm__cluster_choose(bucket, spec, files, n, &msg->compact_before, &level, err));
    if (msg->compact_before.n == 0)
        return TL_OK;
    TL_TRY(tl_lsm__cluster_rewrite(bucket, &spec->order, &msg->compact_before, level, &msg->compact_after, err));
    return vectors == NULL ? TL_OK
                           : tl_lsm__change_indexes(bucket, vectors, files, n, &msg->compact_before, /* fresh= */ NULL, &msg->compact_new_indexes,
                                                    &msg->compact_deleted_indexes, err);
}

tl_status tl_append_cluster(tl_lsm_config *config, tl_bytes_view partition, int32_t number, tl_data_file *const *files, size_t n_files,
                            const tl_bucket_vectors *vectors, const tl_cluster_spec *spec, tl_commit_message *msg, tl_error *err)
{
    tl_lsm__bucket *bucket = NULL;
    const tl_data_file *newer = NULL;
    TL_TRY(tl_lsm__order_check(config, &spec->order, err));
    if (config->write_unsupported != NULL)
        return tl_error_set(err, TL_E_UNSUPPORTED, "writing with %s is not supported yet", config->write_unsupported);
    TL_TRY(tl_lsm__newer_file(config, files, n_files, &newer, err));
    if (newer != NULL)
        return tl_lsm__refuse_newer(config, newer, err);
    TL_TRY(tl_lsm__bucket_create(config, partition, number, &bucket, err));
    bucket->vectors = vectors == NULL ? NULL : tl_dv_set_ref(vectors->set);
    msg->bucket = number;
    msg->total_buckets = config->total_buckets;
    tl_status status = tl_bytes_dup(partition, &msg->partition) == TL_OK ? TL_OK : tl_nomem(err, "commit message");
    if (status == TL_OK)
        status = cluster(bucket, spec, files, n_files, vectors, msg, err);
    if (status != TL_OK)
        tl_lsm__drop_message(bucket, msg);
    tl_lsm__bucket_unref(bucket);
    return status;
}
