/*
 * Rankings over a stream: the first rows of each partition in an order, and deduplication, which is the first row alone. Each batch
 * changes partitions; each changed one gives the difference between what was in its bounds and what is. Source of the rules: Flink's
 * AppendOnlyTopNFunction, RetractableTopNFunction, FastTop1Function and the deduplicate functions.
 *
 * Rows are kept per partition: as many as the bounds name where rows only come, all where a change may take any of them back.
 */
#include <stdlib.h>

#include "stream/array.h"
#include "stream/partitions.h"
#include "stream/ranking.h"

typedef struct partition {
    tl_aging age;
    tl_ranking ranking;
    tl_rowref *old; /* in the bounds before this batch */
    int64_t n_old;
    bool touched;
} partition;

/* Result rows. */
typedef struct changes {
    tl_ref_list rows;
    int64_t *ranks;
    uint8_t *kinds;
    int64_t cap;
} changes;

typedef struct rank_op {
    tl_op base;
    const tl_plan *plan;
    tl_rank_order order;
    tl_row_buffer rows;
    tl_map partitions;
    int64_t now_ms, expired_before, swept_ms; /* of the batch at hand; see tl_stream__expired_before() */
    int64_t limit; /* rows that a partition keeps */
    partition **touched;
    int64_t n_touched, cap_touched;
    tl_ref_list gone; /* rows that no partition holds any more; freed behind the batch */
} rank_op;

/* ---- partitions ---- */

static void partition_free(void *state)
{
    partition *p = state;
    tl_free(p->ranking.rows);
    tl_free(p->old);
    tl_free(p);
}

static tl_status drop_rows(rank_op *r, partition *p)
{
    if (p->ranking.n > 0)
        TL_TRY(tl_ref_list_add(&r->gone, p->ranking.rows, p->ranking.n));
    p->ranking.n = 0;
    return TL_OK;
}

static void free_old_partition(void *op, void *state)
{
    rank_op *r = op;
    partition *p = state;
    for (int64_t i = 0; i < p->ranking.n; i++)
        tl_row_buffer_release(&r->rows, p->ranking.rows[i]);
    partition_free(p);
}

/* The partition of a row, without rows if it is too old. */
static tl_status partition_at(rank_op *r, const tl_keys *keys, int64_t i, partition **out)
{
    partition *p = tl_partition_of(&r->partitions, keys, i, sizeof *p);
    if (p == NULL)
        return TL_E_NOMEM;
    if (p->age.written_ms < r->expired_before)
        TL_TRY(drop_rows(r, p));
    p->age.written_ms = r->now_ms;
    *out = p;
    return TL_OK;
}

static int64_t in_bounds(const rank_op *r, int64_t n)
{
    return TL_MAX(TL_MIN(n, r->plan->rank_to) - r->plan->rank_from + 1, 0);
}

/* Remember what the partition shows before its first change in a batch. */
static tl_status touch(rank_op *r, partition *p)
{
    if (p->touched)
        return TL_OK;
    TL_TRY(tl_array_fit(&r->touched, sizeof *r->touched, r->n_touched, &r->cap_touched, 256));
    p->n_old = in_bounds(r, p->ranking.n);
    tl_free(p->old);
    p->old = NULL;
    if (p->n_old > 0 && (p->old = tl_memdup(p->ranking.rows + r->plan->rank_from - 1, sizeof *p->old * (size_t)p->n_old)) == NULL)
        return TL_E_NOMEM;
    p->touched = true;
    r->touched[r->n_touched++] = p;
    return TL_OK;
}

/* ---- rows in ---- */

static tl_status add_row(rank_op *r, partition *p, tl_rowref row)
{
    tl_rowref dropped;
    bool has_dropped;
    TL_TRY(touch(r, p));
    TL_TRY(tl_ranking_insert(&r->order, &p->ranking, row, r->limit, &dropped, &has_dropped));
    return has_dropped ? tl_ref_list_add(&r->gone, &dropped, 1) : TL_OK;
}

static tl_status take_row(rank_op *r, partition *p, const tl_batch *batch, int64_t i)
{
    tl_rowref removed;
    TL_TRY(touch(r, p));
    if (!tl_ranking_remove(&r->order, &p->ranking, batch, i, &removed))
        return TL_OK; /* a retraction of a row that never came */
    return tl_ref_list_add(&r->gone, &removed, 1);
}

/* ---- rows out ---- */

static tl_status emit(changes *c, tl_rowref row, int64_t rank, uint8_t kind)
{
    TL_TRY(tl_ref_list_add(&c->rows, &row, 1));
    if (c->rows.cap > c->cap) {
        TL_TRY(tl_array_resize(&c->ranks, sizeof *c->ranks, c->rows.cap));
        TL_TRY(tl_array_resize(&c->kinds, sizeof *c->kinds, c->rows.cap));
        c->cap = c->rows.cap;
    }
    c->ranks[c->rows.n - 1] = rank;
    c->kinds[c->rows.n - 1] = kind;
    return TL_OK;
}

static bool same_row(const rank_op *r, tl_rowref a, tl_rowref b)
{
    return (a.src == b.src && a.row == b.row) || tl_rank_rows_equal(&r->rows, a, r->rows.chunks[b.src], b.row);
}

/* Place by place: with the rank in the rows, or where there is one place only, a row replaces another. */
static tl_status emit_places(const rank_op *r, const partition *p, const tl_rowref *now, int64_t n, changes *out)
{
    for (int64_t k = 0; k < TL_MAX(n, p->n_old); k++) {
        int64_t rank = r->plan->rank_from + k;
        bool was = k < p->n_old, is = k < n;
        if (was && is && same_row(r, p->old[k], now[k]))
            continue;
        if (was)
            TL_TRY(emit(out, p->old[k], rank, is ? TL_KIND_UPDATE_BEFORE : TL_KIND_DELETE));
        if (is)
            TL_TRY(emit(out, now[k], rank, was ? TL_KIND_UPDATE_AFTER : TL_KIND_INSERT));
    }
    return TL_OK;
}

static int compare_refs(const void *a, const void *b)
{
    const tl_rowref *x = a, *y = b;
    return x->src != y->src ? (x->src < y->src ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static bool holds(const tl_rowref *sorted, int64_t n, tl_rowref row)
{
    return n > 0 && bsearch(&row, sorted, (size_t)n, sizeof row, compare_refs) != NULL;
}

/* Without the rank only what leaves and what enters the bounds counts. `now` and the old rows are sorted here. */
static tl_status emit_members(const partition *p, tl_rowref *now, int64_t n, changes *out)
{
    if (p->n_old > 0)
        qsort(p->old, (size_t)p->n_old, sizeof *p->old, compare_refs);
    TL_CLEANUP(tl_freep) tl_rowref *in_order = tl_memdup(now, sizeof *now * (size_t)n + 1);
    if (in_order == NULL)
        return TL_E_NOMEM;
    if (n > 0)
        qsort(now, (size_t)n, sizeof *now, compare_refs);
    for (int64_t k = 0; k < p->n_old; k++)
        if (!holds(now, n, p->old[k]))
            TL_TRY(emit(out, p->old[k], 0, TL_KIND_DELETE));
    for (int64_t k = 0; k < n; k++)
        if (!holds(p->old, p->n_old, in_order[k]))
            TL_TRY(emit(out, in_order[k], 0, TL_KIND_INSERT));
    return TL_OK;
}

/* What the touched partitions show now instead of what they showed. */
static tl_status list_changes(rank_op *r, changes *out)
{
    const tl_plan *plan = r->plan;
    for (int64_t i = 0; i < r->n_touched; i++) {
        partition *p = r->touched[i];
        int64_t n = in_bounds(r, p->ranking.n);
        const tl_rowref *now = n > 0 ? p->ranking.rows + plan->rank_from - 1 : NULL;
        if (plan->with_rank || plan->rank_from == plan->rank_to) {
            TL_TRY(emit_places(r, p, now, n, out));
        } else {
            TL_CLEANUP(tl_freep) tl_rowref *copy = tl_alloc(sizeof *copy * (size_t)(n + 1));
            if (copy == NULL)
                return TL_E_NOMEM;
            if (n > 0)
                memcpy(copy, now, sizeof *copy * (size_t)n);
            TL_TRY(emit_members(p, copy, n, out));
        }
        p->touched = false;
        tl_free(p->old);
        p->old = NULL;
    }
    r->n_touched = 0;
    return TL_OK;
}

static tl_status apply_batch(rank_op *r, const tl_batch *batch, changes *out, tl_error *err)
{
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_TRY(tl_stream__keys(batch, r->plan->over[0].partition, r->plan->over[0].n_partition, &keys, err));
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "ranking");
    int64_t n = 0, added = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (!tl_kind_is_retract(tl_batch_kind(batch, i)))
            sel[n++] = (uint32_t)i;
    uint32_t chunk;
    TL_TRY(tl_row_buffer_add(&r->rows, batch, sel, n, &chunk, err));
    for (int64_t i = 0; i < batch->n_rows; i++) {
        partition *p = NULL;
        tl_status status = partition_at(r, keys, i, &p);
        if (status == TL_OK)
            status = tl_kind_is_retract(tl_batch_kind(batch, i)) ? take_row(r, p, batch, i) : add_row(r, p, (tl_rowref){chunk, (uint32_t)added++});
        if (status == TL_OK && r->plan->each_change)
            status = list_changes(r, out);
        if (status != TL_OK)
            return tl_nomem(err, "ranking");
    }
    return TL_OK;
}

static tl_status gather(const rank_op *r, const changes *c, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_ranking_gather(&r->rows, c->rows.refs, r->plan->with_rank, c->ranks, c->rows.n, r->base.type, &result, err));
    if (c->rows.n > 0 && (result->row_kind = tl_memdup(c->kinds, (size_t)c->rows.n)) == NULL)
        return tl_nomem(err, "row kinds");
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status compact(rank_op *r, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(r->rows.alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "ranking");
    int64_t n = 0;
    size_t pos = 0;
    void *value;
    while (tl_map_next(&r->partitions, &pos, NULL, &value)) {
        partition *p = value;
        for (int64_t i = 0; i < p->ranking.n; i++)
            refs[n++] = &p->ranking.rows[i];
    }
    return tl_row_buffer_compact(&r->rows, refs, n, err);
}

static void settle(rank_op *r)
{
    for (int64_t i = 0; i < r->gone.n; i++)
        tl_row_buffer_release(&r->rows, r->gone.refs[i]);
    r->gone.n = 0;
}

static tl_status rank_batch(tl_op *op, const tl_batch *in, tl_batch **out, tl_error *err)
{
    rank_op *r = (rank_op *)op;
    changes c = {0};
    r->now_ms = tl_stream__now_ms(op->pipeline);
    r->expired_before = tl_stream__expired_before(op->pipeline->state_ttl_ms, r->now_ms);
    if (tl_stream__is_sweep_due(op->pipeline->state_ttl_ms, r->now_ms, &r->swept_ms) &&
        tl_partitions_expire(&r->partitions, r->expired_before, free_old_partition, r) != TL_OK)
        return tl_nomem(err, "ranking");
    tl_status status = apply_batch(r, in, &c, err);
    if (status == TL_OK && list_changes(r, &c) != TL_OK)
        status = tl_nomem(err, "ranking");
    if (status == TL_OK)
        status = gather(r, &c, out, err);
    tl_free(c.rows.refs);
    tl_free(c.ranks);
    tl_free(c.kinds);
    settle(r);
    return status == TL_OK && tl_row_buffer_is_sparse(&r->rows) ? compact(r, err) : status;
}

static tl_status rank_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    return tl_stream__each_batch(op, rank_batch, out, state, err);
}

static void rank_deinit(tl_op *op)
{
    rank_op *r = (rank_op *)op;
    tl_partitions_deinit(&r->partitions, partition_free);
    tl_row_buffer_deinit(&r->rows);
    tl_free(r->touched);
    tl_free(r->gone.refs);
}

tl_status tl_stream__rank(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {rank_next, rank_deinit};
    rank_op *r = tl_stream__op_new(sizeof *r, &ops, pipeline, plan->type, input, NULL, err);
    if (r == NULL)
        return TL_E_NOMEM;
    r->plan = plan;
    r->order = (tl_rank_order){&r->rows, plan->over[0].order, plan->over[0].n_order, plan->keep_newest};
    r->limit = tl_stream__insert_only(plan->inputs[0]) ? TL_MAX(plan->rank_to, 0) : INT64_MAX;
    pipeline->stateful = true;
    *out = &r->base;
    return TL_OK;
}
