/*
 * Tables that read from two branches (`scan.fallback-branch`, `scan.primary-branch`): a partition that the first of the two has is
 * read from it, all others from the second. What is written goes to the table's own branch. Java: FallbackReadFileStoreTable.
 */
#include "table/chain.h"

static const char *branch_name(const tl_table *table)
{
    return table->branch == NULL ? "main" : table->branch;
}

/* ---- opening ---- */

/* The snapshot of the other branch at the time of the one that is asked for in `paths`; the first if it is younger. */
static tl_status translate_snapshot(const tl_table *table, const tl_paths *paths, const tl_paths *other, tl_options *dynamic, tl_error *err)
{
    const char *text = tl_options_get(dynamic, "scan.snapshot-id");
    if (text == NULL)
        return TL_OK;
    char number[32];
    int64_t id = 0;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *mine = NULL;
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *theirs = NULL;
    TL_TRY(tl_table__option_int(dynamic, "scan.snapshot-id", 0, &id, err));
    TL_TRY(tl_snapshot_read(table->fs, paths, id, &mine, err));
    tl_status status = tl_table__at_or_before(table->fs, other, mine->time_ms, &theirs, err);
    if (status != TL_OK && status != TL_E_NOT_FOUND)
        return status;
    snprintf(number, sizeof number, "%lld", theirs == NULL ? 1LL : (long long)theirs->id);
    return tl_options_set(dynamic, "scan.snapshot-id", number) == TL_OK ? TL_OK : tl_nomem(err, "options");
}

static tl_status dynamic_options(const tl_table *table, const tl_paths *mine, const tl_paths *other, const tl_options *given, tl_options *out,
                                 tl_error *err)
{
    if (given == NULL)
        return TL_OK;
    if (tl_options_dup(given, out) != TL_OK)
        return tl_nomem(err, "options");
    tl_options_remove(out, "bucket"); /* the branches may well have different ones */
    tl_options_remove(out, "branch");
    tl_options_remove(out, "scan.fallback-branch");
    tl_options_remove(out, "scan.primary-branch");
    return translate_snapshot(table, mine, other, out, err);
}

tl_status tl_table__open_branch(const tl_table *table, const char *branch, const tl_paths *mine, const tl_options *dynamic, tl_table **out,
                                tl_error *err)
{
    tl_paths paths = {.table = table->path, .branch = strcmp(branch, "main") == 0 ? NULL : branch};
    tl_options theirs = {0};
    TL_CLEANUP(tl_freep) char *name = tl_strf("%s$branch_%s%s%s", table->name, branch, table->system == NULL ? "" : "$",
                                              table->system == NULL ? "" : table->system->name);
    tl_status status = name == NULL ? tl_nomem(err, "branch") : dynamic_options(table, mine, &paths, dynamic, &theirs, err);
    if (status == TL_OK)
        status = tl_table__open_one(table->catalog, table->db, name, &theirs, out, err);
    tl_options_deinit(&theirs);
    return tl_error_wrap(err, status, "branch '%s'", branch);
}

tl_status tl_table__open_other_branch(tl_table *table, const tl_options *dynamic, tl_error *err)
{
    const tl_options *opts = &table->schema->options;
    tl_chain_role role = tl_chain__role(table);
    if (role != TL_CHAIN_NONE) /* the other options are not looked at then, as in the reference */
        return role == TL_CHAIN_READER ? tl_chain__open(table, dynamic, err) : TL_OK;
    const char *fallback = tl_options_get(opts, "scan.fallback-branch"), *primary = tl_options_get(opts, "scan.primary-branch");
    bool first = fallback == NULL || *fallback == '\0';
    const char *branch = first ? primary : fallback;
    if (branch == NULL || *branch == '\0')
        return TL_OK;
    TL_CLEANUP(tl_table_schema_unrefp) tl_table_schema *schema = NULL;
    tl_paths paths = {.table = table->path, .branch = strcmp(branch, "main") == 0 ? NULL : branch};
    tl_status status = tl_schema_latest(table->fs, &paths, &schema, err);
    if (status == TL_E_NOT_FOUND)
        return TL_OK; /* the reference goes on without it, too */
    TL_TRY(status);
    TL_TRY(tl_table__open_branch(table, branch, &table->paths, dynamic, &table->other, err));
    table->other_is_first = first;
    return TL_OK;
}

/* ---- planning ---- */

static tl_status add_partition(tl_bytes partition, tl_map *out, tl_error *err)
{
    static char present;
    return tl_map_put(out, partition.data, partition.len, &present, NULL) == TL_OK ? TL_OK : tl_nomem(err, "partitions");
}

static tl_status partitions_of_snapshot(tl_table *table, const tl_read_point *point, tl_pool *pool, tl_map *out, tl_error *err)
{
    if (point->snap == NULL)
        return TL_OK;
    tl_entries entries = {0};
    tl_scan scan;
    tl_table__snapshot_scan(table, point->snap, point->created_after_ms, pool, &scan);
    tl_status status = tl_table__scan(table, &scan, &entries, err);
    for (size_t i = 0; status == TL_OK && i < entries.n; i++)
        status = add_partition(entries.items[i].partition, out, err);
    tl_entries_deinit(&entries);
    return status;
}

static tl_status partitions_of_splits(const tl_splits *splits, tl_map *out, tl_error *err)
{
    for (size_t i = 0; i < splits->n; i++)
        TL_TRY(add_partition(splits->items[i].partition, out, err));
    return TL_OK;
}

tl_status tl_table__list_partitions(tl_table *table, const tl_read_point *point, tl_pool *pool, tl_map *out, tl_error *err)
{
    if (point->kind == TL_READ_SNAPSHOT)
        return partitions_of_snapshot(table, point, pool, out, err);
    tl_splits splits = {0};
    tl_status status = tl_table__plan_one(table, /* pred= */ NULL, /* partitions= */ NULL, pool, &splits, err);
    if (status == TL_OK && point->kind == TL_READ_DIFF && splits.n > 0)
        status = tl_error_set(err, TL_E_UNSUPPORTED,
                              "not supported: the difference of two states (incremental-between) of a table that is read from two branches, as "
                              "their snapshots are not the same ones; read the changes (incremental-between-scan-mode = 'delta' or 'changelog'), "
                              "or one branch ('%s$branch_%s')",
                              table->name, branch_name(table));
    if (status == TL_OK)
        status = partitions_of_splits(&splits, out, err);
    tl_splits_deinit(&splits);
    return status;
}

/* Splits of partitions that the first branch lacks go over to `out`; both lists are left sound. */
static tl_status take_remaining(tl_splits *second, const tl_map *complete, tl_splits *out, tl_error *err)
{
    tl_split *grown = tl_realloc(out->items, (out->n + second->n + 1) * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, "splits");
    out->items = grown;
    out->cap = out->n + second->n + 1;
    size_t kept = 0;
    for (size_t i = 0; i < second->n; i++) {
        tl_split *split = &second->items[i];
        if (tl_map_get(complete, split->partition.data, split->partition.len) == NULL)
            out->items[out->n++] = *split;
        else
            second->items[kept++] = *split;
    }
    second->n = kept;
    return TL_OK;
}

static void mark(tl_splits *splits, bool other_branch)
{
    for (size_t i = 0; i < splits->n; i++)
        splits->items[i].other_branch = other_branch;
}

/* Asked when rows are read: what is written concerns one branch only. */
static tl_status check_types(const tl_table *table, const tl_table *other, tl_error *err)
{
    const tl_type *a = table->schema->row_type, *b = other->schema->row_type;
    bool same = a->n_fields == b->n_fields;
    for (int32_t i = 0; same && i < a->n_fields; i++)
        same = tl_type_equal(a->fields[i].type, b->fields[i].type, /* with_nullable= */ false);
    return same ? TL_OK
                : tl_error_set(err, TL_E_INVALID, "Branch %s and %s does not have the same row type.", branch_name(table), branch_name(other));
}

tl_status tl_table__plan_both(tl_table *table, const tl_predicate *pred, tl_pool *pool, tl_splits *out, tl_error *err)
{
    if (table->lacks_branches) {
        const char *snapshot = tl_table_option(table, "scan.fallback-snapshot-branch"), *delta = tl_table_option(table, "scan.fallback-delta-branch");
        return tl_error_set(err, TL_E_NOT_FOUND, "a chain table is read from its branches '%s' and '%s' (scan.fallback-snapshot-branch, "
                            "scan.fallback-delta-branch), but '%s' does not exist",
                            snapshot, delta, table->anchors == NULL ? snapshot : delta);
    }
    tl_table *first = table->other_is_first ? table->other : table, *second = table->other_is_first ? table : table->other;
    tl_read_point point;
    tl_splits splits = {0}, rest = {0};
    tl_map complete = {0};
    TL_TRY(check_types(table, table->other, err));
    if (table->anchors != NULL)
        TL_TRY(check_types(table, table->anchors, err));
    TL_TRY(tl_table__read_point(first, &point, err));
    tl_status status = tl_table__list_partitions(first, &point, pool, &complete, err);
    if (status == TL_OK)
        status = tl_table__plan_one(first, pred, /* partitions= */ NULL, pool, &splits, err);
    mark(&splits, first == table->other);
    if (status == TL_OK)
        status = table->anchors != NULL ? tl_chain__plan(table, pred, &complete, pool, &rest, err)
                                        : tl_table__plan_one(second, pred, /* partitions= */ NULL, pool, &rest, err);
    mark(&rest, second == table->other);
    if (status == TL_OK)
        status = take_remaining(&rest, &complete, &splits, err);
    tl_read_point_deinit(&point);
    tl_map_deinit(&complete);
    tl_splits_deinit(&rest);
    if (status != TL_OK)
        tl_splits_deinit(&splits);
    else
        *out = splits;
    return status;
}
