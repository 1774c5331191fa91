/*
 * Commits to the branches of a chain table. A partition of the snapshot branch that others are read from cannot simply go, and what the delta
 * branch overwrites makes the snapshot branch's partition of the same name untrue. Java: ChainTableCommitPreCallback,
 * ChainTableOverwriteCommitCallback.
 *
 * The order of partitions is that of all their columns here, also where the chain is only some of them: so it is in the reference.
 */
#include "table/chain.h"

#include <stdlib.h>

typedef struct partition {
    tl_batch *values;
    tl_bytes row; /* borrowed from the map */
} partition;

typedef struct partitions {
    tl_map rows;
    partition *items; /* by value, nulls first */
    size_t n;
} partitions;

static void partitions_deinit(partitions *p)
{
    for (size_t i = 0; i < p->n; i++)
        tl_batch_free(p->items[i].values);
    tl_free(p->items);
    tl_map_deinit(&p->rows);
}

static int compare(const tl_batch *a, const tl_batch *b)
{
    return tl_chain__compare(a, b, a->n_cols);
}

static int by_value(const void *a, const void *b)
{
    return compare(((const partition *)a)->values, ((const partition *)b)->values);
}

static tl_status decode(const tl_table *table, partitions *p, tl_error *err)
{
    tl_bytes_view row;
    void *ignored;
    p->items = tl_calloc(p->rows.count + 1, sizeof *p->items);
    if (p->items == NULL)
        return tl_nomem(err, "partitions");
    for (size_t pos = 0; tl_map_next(&p->rows, &pos, &row, &ignored); p->n++) {
        TL_TRY(tl_binary_row_decode(row, table->partition_type, /* with_arity= */ true, &p->items[p->n].values, err));
        p->items[p->n].row = (tl_bytes){(uint8_t *)row.data, row.len};
    }
    qsort(p->items, p->n, sizeof *p->items, by_value);
    return TL_OK;
}

/* Partitions of the latest snapshot. */
static tl_status read_latest(tl_table *table, partitions *out, tl_error *err)
{
    tl_read_point point = {.kind = TL_READ_SNAPSHOT, .created_after_ms = INT64_MIN};
    TL_TRY(tl_table__latest(table->fs, &table->paths, &point.snap, err));
    tl_status status = tl_table__list_partitions(table, &point, /* pool= */ NULL, &out->rows, err);
    tl_read_point_deinit(&point);
    return status == TL_OK ? decode(table, out, err) : status;
}

/* The other branch of the chain, without anything that this handle's options ask for. */
static tl_status open_sibling(const tl_table *table, const char *option, tl_table **out, tl_error *err)
{
    const char *branch = tl_table_option(table, option);
    TL_CLEANUP(tl_freep) char *name = tl_strf("%s$branch_%s", table->name, branch);
    if (name == NULL)
        return tl_nomem(err, "branch");
    return tl_error_wrap(err, tl_table__open_one(table->catalog, table->db, name, /* dynamic= */ NULL, out, err), "option '%s'", option);
}

/* Whether a partition of the snapshot branch can go: an earlier one is there to be the anchor, or none is read from this one. */
static bool can_go(const partitions *snapshot, const partitions *delta, const partition *p)
{
    const partition *before = NULL, *next = NULL;
    for (size_t i = 0; i < snapshot->n; i++) {
        int order = compare(snapshot->items[i].values, p->values);
        if (order < 0)
            before = &snapshot->items[i];
        else if (order > 0 && next == NULL)
            next = &snapshot->items[i];
    }
    bool any_follows = false;
    for (size_t i = 0; i < delta->n && before == NULL; i++) {
        const tl_batch *d = delta->items[i].values;
        any_follows |= compare(d, p->values) > 0 && !tl_chain__has_null(d) && (next == NULL || compare(d, next->values) < 0);
    }
    return before != NULL || !any_follows;
}

static tl_status check_all(tl_table *snapshot, tl_table *delta, const partitions *going, tl_error *err)
{
    partitions in_snapshot = {0}, in_delta = {0};
    const tl_lsm_config *config = snapshot->config;
    tl_status status = read_latest(snapshot, &in_snapshot, err);
    if (status == TL_OK)
        status = read_latest(delta, &in_delta, err);
    for (size_t i = 0; status == TL_OK && i < going->n; i++) {
        TL_CLEANUP(tl_freep) char *name = NULL;
        const partition *p = &going->items[i];
        if (tl_map_get(&in_snapshot.rows, p->row.data, p->row.len) == NULL || can_go(&in_snapshot, &in_delta, p))
            continue;
        status = tl_partition_path(p->values, config->partition_default_name, config->legacy_partition_names, &name, err);
        if (status == TL_OK)
            status = tl_error_set(err, TL_E_CONFLICT,
                                  "Snapshot partition cannot be dropped: later partitions of the chain are read from '%s' of branch '%s', and no earlier "
                                  "one is there to take its place",
                                  name, snapshot->branch == NULL ? "main" : snapshot->branch);
    }
    partitions_deinit(&in_snapshot);
    partitions_deinit(&in_delta);
    return status;
}

static tl_status collect(const tl_table *table, const tl_entries *delta, partitions *out, tl_error *err)
{
    static char mark;
    for (size_t i = 0; i < delta->n; i++) {
        if (tl_map_put(&out->rows, delta->items[i].partition.data, delta->items[i].partition.len, &mark, NULL) != TL_OK)
            return tl_nomem(err, "partitions");
    }
    return decode(table, out, err);
}

static bool only_deletes(const tl_entries *delta)
{
    bool any = false;
    for (size_t i = 0; i < delta->n; i++)
        any |= delta->items[i].kind != TL_ENTRY_DELETE;
    return !any;
}

tl_status tl_chain__check_overwrite(tl_table *table, const tl_entries *delta, tl_error *err)
{
    tl_chain_role role = tl_chain__role(table);
    bool drops = role == TL_CHAIN_SNAPSHOT && only_deletes(delta);
    if (delta->n == 0 || (!drops && role != TL_CHAIN_DELTA))
        return TL_OK;
    TL_CLEANUP(tl_table_freep) tl_table *sibling = NULL;
    TL_TRY(open_sibling(table, drops ? "scan.fallback-delta-branch" : "scan.fallback-snapshot-branch", &sibling, err));
    partitions going = {0};
    tl_status status = collect(table, delta, &going, err);
    /* What the delta branch overwrites will be dropped from the snapshot branch: if that is refused, it is so before anything is committed. The
       reference finds out when the delta branch has its snapshot. */
    if (status == TL_OK)
        status = drops ? check_all(table, sibling, &going, err) : check_all(sibling, table, &going, err);
    partitions_deinit(&going);
    return status;
}

tl_status tl_chain__after_overwrite(tl_table *table, const char *user, const tl_map *overwritten, tl_error *err)
{
    if (tl_chain__role(table) != TL_CHAIN_DELTA)
        return TL_OK;
    TL_CLEANUP(tl_table_freep) tl_table *snapshot = NULL;
    TL_TRY(open_sibling(table, "scan.fallback-snapshot-branch", &snapshot, err));
    const tl_attempt attempt = {.table = snapshot,
                                .user = user,
                                .identifier = TL_COMMIT_BATCH,
                                .watermark = TL_ABSENT,
                                .kind = TL_COMMIT_OVERWRITE,
                                .check = true,
                                .overwrite = true,
                                .overwrite_partitions = overwritten};
    tl_changes nothing = {0};
    int64_t id = 0;
    int32_t retries = 0;
    return tl_error_wrap(err, tl_commit__try(&attempt, &nothing, &id, &retries, err),
                         "branch '%s' of the chain, whose partitions were overwritten in the delta branch", snapshot->branch);
}
