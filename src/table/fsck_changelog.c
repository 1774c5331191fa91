/*
 * The changelog against the table: what it tells between two snapshots must lead from the one state to the other. States are
 * compared by sums of hashes of their rows, which a change adds to or takes from, so that nothing is held in memory.
 *
 * What a changelog has told at a snapshot: with the producer lookup all but level 0, with full-compaction the top level. An overwrite
 * replaces rows without telling (as in the reference), and options may have changed with a schema: there the line begins anew.
 */
#include "table/fsck_private.h"

#include "types/binary_row.h"

typedef struct row_sum {
    uint64_t a, b; /* two hashes: 128 bits together */
} row_sum;

static tl_status add_batch(const tl_batch *batch, tl_buf *buf, row_sum *sum, tl_error *err)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        buf->len = 0;
        if (tl_binary_row_append(buf, (const tl_column *const *)batch->cols, batch->n_cols, i, TL_KIND_INSERT, /* with_arity= */ false) != TL_OK)
            return tl_nomem(err, "rows");
        uint64_t a = tl_xxh3(buf->data, buf->len);
        if (tl_buf_append_byte(buf, 1) != TL_OK)
            return tl_nomem(err, "rows");
        uint64_t b = tl_xxh3(buf->data, buf->len);
        bool taken = tl_kind_is_retract(tl_batch_kind(batch, i));
        sum->a += taken ? -a : a;
        sum->b += taken ? -b : b;
    }
    return TL_OK;
}

static tl_status add_reader(tl_reader *reader, row_sum *sum, tl_error *err)
{
    tl_buf buf = {0};
    tl_status status = TL_OK;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        status = tl_reader_next(reader, &batch, err);
        if (status != TL_OK || batch == NULL)
            break;
        status = add_batch(batch, &buf, sum, err);
        if (status != TL_OK)
            break;
    }
    tl_buf_deinit(&buf);
    return status;
}

/* Files of one bucket: merged, or changes as they stand. */
static tl_status add_bucket(tl_table *table, const tl_manifest_entry *entries, size_t n, bool changes, row_sum *sum, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_data_file **files = tl_calloc(n, sizeof *files);
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    tl_bucket_read_spec spec = {.with_kinds = changes};
    if (files == NULL)
        return tl_nomem(err, "files");
    for (size_t i = 0; i < n; i++)
        files[i] = entries[i].file;
    TL_TRY((changes ? tl_files_read : tl_bucket_read)(table->config, tl_bytes_view_of(entries[0].partition), entries[0].bucket, files, n, &spec,
                                                      &reader, err));
    return add_reader(reader, sum, err);
}

static tl_status add_entries(tl_table *table, tl_entries *entries, bool changes, row_sum *sum, tl_error *err)
{
    tl_status status = tl_entries_sort_buckets(entries, err);
    for (size_t from = 0, to; status == TL_OK && from < entries->n; from = to) {
        const tl_manifest_entry *first = &entries->items[from];
        for (to = from + 1; to < entries->n; to++) {
            const tl_manifest_entry *e = &entries->items[to];
            if (e->bucket != first->bucket || !tl_bytes_equal(tl_bytes_view_of(e->partition), tl_bytes_view_of(first->partition)))
                break;
        }
        status = add_bucket(table, first, to - from, changes, sum, err);
    }
    return status;
}

static tl_status add_snapshot(tl_table *table, const tl_snapshot *snap, bool changes, row_sum *sum, tl_error *err)
{
    tl_entries entries = {0};
    tl_scan scan;
    tl_scan_init(&scan, changes ? TL_SCAN_CHANGELOG : TL_SCAN_ALL, snap);
    if (!changes)
        scan.level_min = table->config->changelog_producer == TL_CHANGELOG_LOOKUP ? 1 : table->config->num_levels - 1;
    scan.real_buckets_only = true;
    tl_status status = changes && snap->changelog_manifest_list == NULL ? TL_OK : tl_table__scan(table, &scan, &entries, err);
    if (status == TL_OK && entries.n > 0)
        status = add_entries(table, &entries, changes, sum, err);
    tl_entries_deinit(&entries);
    return status;
}

/* A stretch of snapshots over which the changelog tells everything. */
typedef struct stretch {
    int64_t first; /* 0: none yet */
    int64_t schema_id;
    row_sum told;
    tl_snapshot *last; /* owned */
} stretch;

static tl_status end_stretch(tl_fsck__check *c, stretch *s, tl_error *err)
{
    row_sum there = {0};
    if (s->last == NULL || s->last->id == s->first)
        return TL_OK;
    TL_TRY(add_snapshot(c->table, s->last, /* changes= */ false, &there, err));
    if (there.a != s->told.a || there.b != s->told.b)
        return tl_fsck__problem(c, err, "changelog: the changes of snapshots %lld to %lld do not lead from the table at %lld to that at %lld",
                                (long long)s->first + 1, (long long)s->last->id, (long long)s->first, (long long)s->last->id);
    return TL_OK;
}

/* Neither the rows of an overwrite are told nor what its own commit compacted of them, in a snapshot of the same user and number. */
static bool is_overwrite(const tl_snapshot *before, const tl_snapshot *snap)
{
    bool same_commit = before != NULL && before->commit_kind == TL_COMMIT_OVERWRITE && snap->commit_kind == TL_COMMIT_COMPACT &&
                       before->id + 1 == snap->id && before->commit_identifier == snap->commit_identifier && before->commit_user != NULL &&
                       snap->commit_user != NULL && strcmp(before->commit_user, snap->commit_user) == 0;
    return snap->commit_kind == TL_COMMIT_OVERWRITE || (same_commit && snap->changelog_manifest_list == NULL);
}

static tl_status follow(tl_fsck__check *c, stretch *s, tl_snapshot *snap_take, tl_error *err)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *snap = snap_take;
    bool goes_on = s->last != NULL && s->last->id + 1 == snap->id && s->schema_id == snap->schema_id && !is_overwrite(s->last, snap);
    if (!goes_on) {
        TL_TRY(end_stretch(c, s, err));
        s->first = snap->id;
        s->schema_id = snap->schema_id;
        s->told = (row_sum){0};
        TL_TRY(add_snapshot(c->table, snap, /* changes= */ false, &s->told, err));
    } else {
        TL_TRY(add_snapshot(c->table, snap, /* changes= */ true, &s->told, err));
    }
    tl_snapshot_free(s->last);
    s->last = TL_STEAL(snap);
    return TL_OK;
}

/*
 * Whether the merge engine makes another row of a row that is alone. The producer lookup tells what the engine makes of it, while a file
 * that only moves to the top level keeps the row as it was written (as in the reference): a group whose sequence is NULL, doubles
 * within an array.
 */
static bool changes_single_rows(const tl_options *opts)
{
    static const char *const by[] = {".sequence-group", ".distinct", ".nested-key"};
    for (size_t i = 0; i < opts->count; i++) {
        const char *end = strrchr(opts->keys[i], '.');
        for (size_t k = 0; k < TL_ARRAY_LEN(by) && strncmp(opts->keys[i], "fields.", 7) == 0; k++) {
            if (strcmp(end, by[k]) == 0)
                return true;
        }
    }
    return false;
}

/* Whether this table's changelog tells every change of rows as it is stored. */
static bool tells_all(const tl_table *table)
{
    const tl_lsm_config *config = table->config;
    if (config->changelog_producer == TL_CHANGELOG_LOOKUP && changes_single_rows(&table->schema->options))
        return false;
    bool exact = config->changelog_producer == TL_CHANGELOG_LOOKUP || config->changelog_producer == TL_CHANGELOG_FULL_COMPACTION;
    for (int32_t i = 0; exact && config->row_deduplicate && config->row_deduplicate_ignored != NULL && i < table->schema->row_type->n_fields; i++)
        exact = !config->row_deduplicate_ignored[i];
    return table->n_keys > 0 && exact;
}

tl_status tl_fsck__check_changes(tl_fsck__check *c, tl_error *err)
{
    tl_table *table = c->table;
    int64_t *ids = NULL;
    size_t n = 0;
    stretch s = {0};
    tl_error cause = {0};
    if (!tells_all(table) || c->report->n_problems > 0) /* where files are broken, this would only repeat it */
        return TL_OK;
    TL_TRY(tl_snapshot_list(table->fs, &table->paths, &ids, &n, err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        tl_snapshot *snap = NULL;
        status = tl_snapshot_read(table->fs, &table->paths, ids[i], &snap, &cause);
        if (status == TL_OK && snap->index_manifest != NULL) { /* rows that deletion vectors hide */
            tl_snapshot_free(snap);
            break;
        }
        if (status == TL_OK)
            status = follow(c, &s, snap, &cause);
    }
    if (status == TL_OK)
        status = end_stretch(c, &s, &cause);
    tl_free(ids);
    tl_snapshot_free(s.last);
    if (status == TL_E_NOT_FOUND) /* expired while it was read */
        return TL_OK;
    return status == TL_OK ? TL_OK : tl_fsck__failed(c, status, &cause, "changelog", err);
}
