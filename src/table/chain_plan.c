/*
 * Planning a chain: partitions of both branches in the order of their values, group by group. Walking back from a partition that only the
 * delta branch has, the first one that the snapshot branch has is its anchor; what the delta branch has on the way is merged onto it. Java:
 * ChainGroupReadTable.ChainTableBatchScan#plan.
 *
 * Files of several partitions become one bucket's: their keys lack the partition columns, which all rows get from the partition that is read.
 * So nothing that a predicate says of other columns than the key may prune them: a newer row that fails hides an older one that passes. (The
 * reference prunes each partition by itself there, and may show the older one.)
 */
#include "table/chain.h"

#include <stdlib.h>

typedef struct node {
    tl_bytes_view row; /* borrowed from the maps of partitions */
    tl_batch *values;
    bool in_snapshot, in_delta;
    bool has_null;
    bool timed;
    tl_chain_time time;
    size_t first_split; /* of the planned ones, 1-based; 0: none */
} node;

typedef struct planned {
    tl_splits splits;
    size_t *next; /* of the same partition, 1-based */
} planned;

typedef struct chain {
    tl_table *table, *anchors, *delta;
    int32_t n_chain;
    tl_map in_snapshot, in_delta; /* partitions */
    node *nodes;
    size_t n;
    tl_map by_row; /* partition -> node */
    planned from_anchors, from_delta;
} chain;

static void planned_deinit(planned *p)
{
    tl_splits_deinit(&p->splits);
    tl_free(p->next);
}

static void chain_deinit(chain *c)
{
    for (size_t i = 0; i < c->n; i++)
        tl_batch_free(c->nodes[i].values);
    tl_free(c->nodes);
    planned_deinit(&c->from_anchors);
    planned_deinit(&c->from_delta);
    tl_map_deinit(&c->by_row);
    tl_map_deinit(&c->in_snapshot);
    tl_map_deinit(&c->in_delta);
}

/* ---- partitions ---- */

static tl_status list_all(tl_table *branch, tl_pool *pool, tl_map *out, tl_error *err)
{
    tl_read_point point;
    TL_TRY(tl_table__read_point(branch, &point, err));
    tl_status status = tl_table__list_partitions(branch, &point, pool, out, err);
    tl_read_point_deinit(&point);
    return status;
}

static tl_status add_node(chain *c, tl_bytes_view row, bool in_snapshot, tl_error *err)
{
    node *n = &c->nodes[c->n];
    TL_TRY(tl_binary_row_decode(row, c->table->partition_type, /* with_arity= */ true, &n->values, err));
    n->row = row;
    n->in_snapshot = in_snapshot;
    n->in_delta = tl_map_get(&c->in_delta, row.data, row.len) != NULL;
    n->has_null = tl_chain__has_null(n->values);
    c->n++;
    return TL_OK;
}

static int compare_nodes(const void *a, const void *b)
{
    const node *x = a, *y = b;
    return tl_chain__compare(x->values, y->values, x->values->n_cols);
}

static tl_status collect_nodes(chain *c, tl_error *err)
{
    tl_bytes_view row;
    void *ignored;
    c->nodes = tl_calloc(c->in_snapshot.count + c->in_delta.count + 1, sizeof *c->nodes);
    if (c->nodes == NULL)
        return tl_nomem(err, "partitions");
    for (size_t pos = 0; tl_map_next(&c->in_snapshot, &pos, &row, &ignored);)
        TL_TRY(add_node(c, row, /* in_snapshot= */ true, err));
    for (size_t pos = 0; tl_map_next(&c->in_delta, &pos, &row, &ignored);) {
        if (tl_map_get(&c->in_snapshot, row.data, row.len) == NULL)
            TL_TRY(add_node(c, row, /* in_snapshot= */ false, err));
    }
    qsort(c->nodes, c->n, sizeof *c->nodes, compare_nodes);
    for (size_t i = 0; i < c->n; i++) {
        if (tl_map_put(&c->by_row, c->nodes[i].row.data, c->nodes[i].row.len, &c->nodes[i], NULL) != TL_OK)
            return tl_nomem(err, "partitions");
    }
    return TL_OK;
}

/* "dt=20250810/hour=5" for messages. */
static tl_status name_of(const chain *c, const node *n, char **out, tl_error *err)
{
    const tl_lsm_config *config = c->anchors->config;
    return tl_partition_path(n->values, config->partition_default_name, config->legacy_partition_names, out, err);
}

/* ---- the way from a partition to its anchor ---- */

/* Nodes that a partition is put together from, the partition first; `anchor` NULL: there is none. */
typedef struct way {
    node **items;
    size_t n;
    node *anchor;
} way;

static tl_status read_time(const chain *c, node *n, tl_error *err)
{
    if (!n->timed)
        TL_TRY(tl_chain__time_of(c->anchors, n->values, c->n_chain, &n->time, err));
    n->timed = true;
    return TL_OK;
}

static tl_status require_time(const chain *c, node *n, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *name = NULL;
    TL_TRY(read_time(c, n, err));
    if (n->time.known)
        return TL_OK;
    TL_TRY(name_of(c, n, &name, err));
    return tl_error_set(err, TL_E_INVALID,
                        "partition '%s' of a chain table: its values give no time by 'partition.timestamp-pattern' and 'partition.timestamp-formatter'",
                        name);
}

/* Not even the partition itself is called as its time is. (The reference then merges all of the delta branch.) */
static tl_status refuse_name(const chain *c, const node *n, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *name = NULL;
    TL_TRY(name_of(c, n, &name, err));
    return tl_error_set(err, TL_E_INVALID,
                        "partition '%s' of a chain table is not called as 'partition.timestamp-pattern' and 'partition.timestamp-formatter' call a %s, "
                        "so that nothing of the delta branch leads to it; a pattern must tell where each value ends",
                        name, c->n_chain == 1 ? "day" : "whole hour");
}

/* Of the delta partitions behind an anchor those count that the time leads to. */
static tl_status keep_between(const chain *c, way *w, tl_error *err)
{
    size_t kept = 0;
    node *to = w->items[0];
    TL_TRY(require_time(c, w->anchor, err));
    TL_TRY(require_time(c, to, err));
    for (size_t i = 0; i < w->n; i++) {
        TL_TRY(read_time(c, w->items[i], err));
        if (tl_chain__between(&w->anchor->time, &w->items[i]->time, &to->time, c->n_chain))
            w->items[kept++] = w->items[i];
    }
    w->n = kept;
    return kept > 0 ? TL_OK : refuse_name(c, to, err);
}

static tl_status walk_back(const chain *c, size_t from, way *w, tl_error *err)
{
    const node *start = &c->nodes[from];
    int32_t n_group = start->values->n_cols - c->n_chain;
    w->n = 0;
    w->anchor = NULL;
    for (size_t i = from + 1; i-- > 0 && w->anchor == NULL;) {
        node *n = &c->nodes[i];
        if (tl_chain__compare(n->values, start->values, n_group) != 0)
            break;
        if (n->has_null)
            continue;
        if (n->in_snapshot)
            w->anchor = n;
        else
            w->items[w->n++] = n;
    }
    return w->anchor == NULL ? TL_OK : keep_between(c, w, err);
}

/* ---- files ---- */

/* What a predicate says of the key, which is what all partitions of a chain have in common. */
static tl_status key_predicate(const chain *c, const tl_predicate *pred, tl_predicate **out, tl_error *err)
{
    int32_t n = c->delta->schema->row_type->n_fields;
    TL_CLEANUP(tl_freep) int32_t *map = tl_alloc((size_t)(n + 1) * sizeof *map);
    if (pred == NULL)
        return TL_OK;
    if (map == NULL)
        return tl_nomem(err, "predicate");
    for (int32_t i = 0; i < n; i++)
        map[i] = -1;
    for (int32_t k = 0; k < c->delta->n_keys; k++)
        map[c->delta->key_idx[k]] = c->delta->key_idx[k];
    return tl_predicate_remap(pred, map, /* weaken= */ true, out, err);
}

static tl_status plan_files(const chain *c, tl_table *branch, const tl_predicate *pred, const tl_map *partitions, tl_pool *pool, planned *out,
                            tl_error *err)
{
    if (partitions->count == 0)
        return TL_OK;
    TL_TRY(tl_table__plan_one(branch, pred, partitions, pool, &out->splits, err));
    out->next = tl_calloc(out->splits.n + 1, sizeof *out->next);
    if (out->next == NULL)
        return tl_nomem(err, "splits");
    for (size_t i = out->splits.n; i-- > 0;) {
        const tl_split *split = &out->splits.items[i];
        node *n = tl_map_get(&c->by_row, split->partition.data, split->partition.len);
        if (n == NULL)
            continue;
        out->next[i] = n->first_split;
        n->first_split = i + 1;
    }
    return TL_OK;
}

static int compare_positions(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The split of a bucket among those from `first` on. */
static tl_status bucket_split(const node *to, const tl_split *from, size_t first, tl_splits *out, tl_split **split, tl_error *err)
{
    for (size_t i = first; i < out->n; i++) {
        *split = &out->items[i];
        if (from->total_buckets != (*split)->total_buckets)
            return tl_error_set(err, TL_E_INVALID, "Inconsistent bucket num %d: partitions of one chain have %d and %d buckets", from->bucket,
                                (*split)->total_buckets, from->total_buckets);
        if ((*split)->bucket == from->bucket)
            return TL_OK;
    }
    TL_TRY(tl_splits_add(out, split, err));
    (*split)->snapshot_id = from->snapshot_id;
    (*split)->bucket = from->bucket;
    (*split)->total_buckets = from->total_buckets;
    return tl_bytes_dup(to->row, &(*split)->partition) == TL_OK ? TL_OK : tl_nomem(err, "split");
}

/* The files go over with their places. */
static tl_status join(const tl_table *branch, tl_split *from, tl_split *to, tl_error *err)
{
    if (from->places == NULL)
        TL_TRY(tl_chain__place(branch, branch->branch == NULL ? "main" : branch->branch, from, err));
    tl_file_place *places = tl_realloc(to->places, (to->files.n + from->files.n + 1) * sizeof *places);
    if (places == NULL)
        return tl_nomem(err, "split");
    to->places = places;
    for (size_t i = 0; i < from->files.n; i++) {
        const tl_file_place *place = &from->places[i];
        TL_TRY(tl_file_list_add(&to->files, from->files.items[i], err));
        places[to->files.n - 1] = (tl_file_place){.dir = tl_strdup(place->dir), .branch = tl_strdup(place->branch)};
        if (places[to->files.n - 1].dir == NULL || places[to->files.n - 1].branch == NULL)
            return tl_nomem(err, "split");
    }
    return TL_OK;
}

/* One split a bucket: what the delta partitions have, in the order that they were planned in, then the anchor. */
static tl_status add_chained(chain *c, const way *w, size_t *positions, const node *to, tl_splits *out, tl_error *err)
{
    size_t first = out->n, n = 0;
    tl_split *split = NULL;
    for (size_t i = 0; i < w->n; i++) {
        for (size_t at = w->items[i]->first_split; at > 0; at = c->from_delta.next[at - 1])
            positions[n++] = at - 1;
    }
    qsort(positions, n, sizeof *positions, compare_positions);
    for (size_t i = 0; i < n; i++) {
        tl_split *from = &c->from_delta.splits.items[positions[i]];
        TL_TRY(bucket_split(to, from, first, out, &split, err));
        TL_TRY(join(c->delta, from, split, err));
    }
    for (size_t at = w->anchor == NULL ? 0 : w->anchor->first_split; at > 0; at = c->from_anchors.next[at - 1]) {
        tl_split *from = &c->from_anchors.splits.items[at - 1];
        TL_TRY(bucket_split(to, from, first, out, &split, err));
        TL_TRY(join(c->anchors, from, split, err));
    }
    return TL_OK;
}

/* ---- which partitions are chained ---- */

static tl_status wants(chain *c, const node *n, const tl_predicate *partition, const tl_map *complete, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *name = NULL;
    *out = false;
    if (n->in_snapshot || tl_map_get(complete, n->row.data, n->row.len) != NULL)
        return TL_OK;
    tl_status status = TL_OK;
    *out = partition == NULL || tl_partition_matches(c->table, partition, n->row, &status, err);
    TL_TRY(status);
    if (!*out || !n->has_null)
        return TL_OK;
    TL_TRY(name_of(c, n, &name, err));
    return tl_error_set(err, TL_E_UNSUPPORTED,
                        "not supported: partition '%s' of a chain table, which has no place in a chain (the reference leaves its rows out); read the "
                        "delta branch, or other partitions",
                        name);
}

static tl_status note(tl_map *needed, const node *n, tl_error *err)
{
    static char mark;
    return tl_map_put(needed, n->row.data, n->row.len, &mark, NULL) == TL_OK ? TL_OK : tl_nomem(err, "partitions");
}

/* `wanted`: per node. */
static tl_status find_needed(chain *c, const bool *wanted, way *w, tl_map *anchors, tl_map *delta, tl_error *err)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!wanted[i])
            continue;
        TL_TRY(walk_back(c, i, w, err));
        for (size_t k = 0; k < w->n; k++)
            TL_TRY(note(delta, w->items[k], err));
        if (w->anchor != NULL)
            TL_TRY(note(anchors, w->anchor, err));
    }
    return TL_OK;
}

static tl_status plan_wanted(chain *c, const bool *wanted, const tl_predicate *pred, tl_pool *pool, way *w, tl_splits *out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *of_key = NULL;
    tl_map anchors = {0}, delta = {0};
    TL_TRY(key_predicate(c, pred, &of_key, err));
    tl_status status = find_needed(c, wanted, w, &anchors, &delta, err);
    if (status == TL_OK)
        status = plan_files(c, c->anchors, of_key, &anchors, pool, &c->from_anchors, err);
    if (status == TL_OK)
        status = plan_files(c, c->delta, of_key, &delta, pool, &c->from_delta, err);
    TL_CLEANUP(tl_freep) size_t *positions = tl_alloc((c->from_delta.splits.n + 1) * sizeof *positions);
    if (status == TL_OK && positions == NULL)
        status = tl_nomem(err, "splits");
    for (size_t i = 0; status == TL_OK && i < c->n; i++) {
        if (!wanted[i])
            continue;
        status = walk_back(c, i, w, err);
        if (status == TL_OK)
            status = add_chained(c, w, positions, &c->nodes[i], out, err);
    }
    tl_map_deinit(&anchors);
    tl_map_deinit(&delta);
    return status;
}

static tl_status plan_chained(chain *c, const tl_predicate *pred, const tl_map *complete, tl_pool *pool, tl_splits *out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *partition = NULL;
    TL_TRY(list_all(c->anchors, pool, &c->in_snapshot, err));
    TL_TRY(list_all(c->delta, pool, &c->in_delta, err));
    TL_TRY(collect_nodes(c, err));
    TL_TRY(tl_table__weakened(c->table, pred, c->table->partition_idx, c->table->n_partition, &partition, err));
    TL_CLEANUP(tl_freep) bool *wanted = tl_calloc(c->n + 1, sizeof *wanted);
    TL_CLEANUP(tl_freep) node **items = tl_calloc(c->n + 1, sizeof *items);
    if (wanted == NULL || items == NULL)
        return tl_nomem(err, "partitions");
    for (size_t i = 0; i < c->n; i++)
        TL_TRY(wants(c, &c->nodes[i], partition, complete, &wanted[i], err));
    way w = {.items = items};
    return plan_wanted(c, wanted, pred, pool, &w, out, err);
}

/* Partitions of the snapshot branch are whole: they are read as they are, but as files of the chain. */
static tl_status plan_whole(tl_table *anchors, const tl_predicate *pred, tl_pool *pool, tl_splits *out, tl_error *err)
{
    TL_TRY(tl_table__plan_one(anchors, pred, /* partitions= */ NULL, pool, out, err));
    for (size_t i = 0; i < out->n; i++) {
        tl_split *split = &out->items[i];
        TL_TRY(tl_chain__place(anchors, anchors->branch == NULL ? "main" : anchors->branch, split, err));
        split->raw = split->raw && !split->streaming; /* changes are merged, as in the reference */
        split->streaming = false;
    }
    return TL_OK;
}

tl_status tl_chain__plan(tl_table *table, const tl_predicate *pred, const tl_map *complete, tl_pool *pool, tl_splits *out, tl_error *err)
{
    chain c = {.table = table, .anchors = table->anchors, .delta = table->other};
    tl_splits splits = {0};
    c.n_chain = tl_chain__columns(c.anchors);
    tl_status status = plan_whole(c.anchors, pred, pool, &splits, err);
    if (status == TL_OK)
        status = plan_chained(&c, pred, complete, pool, &splits, err);
    chain_deinit(&c);
    if (status != TL_OK)
        tl_splits_deinit(&splits);
    else
        *out = splits;
    return status;
}
