/*
 * Incremental GROUP BY: each batch changes groups, and each changed group gives its old row back (-U) and its new one (+U), +I when
 * it appears and -D when its last row has gone. A group that a batch leaves as it was gives nothing. Source of the rules:
 * Flink's GroupAggFunction.
 *
 * COUNT and SUM keep a number; MIN, MAX, FIRST_VALUE, LAST_VALUE, LISTAGG, COLLECT, ARRAY_AGG and everything with DISTINCT keep the
 * values (value_bag.h), because a retraction may take any of them back.
 */
#include "base/map.h"
#include "stream/accumulate.h"
#include "stream/array.h"
#include "stream/partitions.h"

typedef struct group {
    tl_aging age;
    int64_t rows;     /* rows in the group */
    int64_t key_row;  /* its key values: row of `key_rows` */
    int64_t old_row;  /* its row before this batch: row of `old` builders; -1: it was not there */
    bool touched;
    tl_accumulator *acc; /* one per call */
} group;

typedef struct agg_op {
    tl_op base;
    const tl_plan *plan;
    tl_acc_calls calls;
    int32_t *group; /* columns that make a group; with GROUPING SETS the number of the set is one of them */
    int32_t n_key;
    tl_map groups; /* normalised key -> group */
    int64_t now_ms, expired_before, swept_ms; /* of the batch at hand; see tl_stream__expired_before() */
    tl_builder **keys; /* key columns of the batch's touched groups, in order of touching */
    tl_builder **before; /* call columns of touched groups that were there */
    group **touched;
    int64_t n_touched, cap_touched;
} agg_op;

static void group_free(const agg_op *a, group *g)
{
    tl_acc_deinit(&a->calls, g->acc);
    tl_free(g->acc);
    tl_free(g);
}

static void free_old_group(void *a, void *g)
{
    group_free(a, g);
}

/* ---- groups ---- */

static tl_status touch(agg_op *a, group *g, const tl_batch *batch, int64_t row, tl_error *err)
{
    if (tl_array_fit(&a->touched, sizeof *a->touched, a->n_touched, &a->cap_touched, 256) != TL_OK)
        return tl_nomem(err, "aggregate");
    for (int32_t k = 0; k < a->plan->n_group; k++)
        if (tl_builder_copy(a->keys[k], batch->cols[a->group[k]], row) != TL_OK)
            return tl_nomem(err, "aggregate");
    g->key_row = a->n_touched;
    g->old_row = -1;
    if (g->rows > 0) {
        g->old_row = a->plan->n_calls > 0 ? tl_builder_length(a->before[0]) : 0;
        for (int32_t i = 0; i < a->plan->n_calls; i++)
            TL_TRY(tl_acc_append(&a->calls, i, &g->acc[i], a->before[i], err));
    }
    g->touched = true;
    a->touched[a->n_touched++] = g;
    return TL_OK;
}

/* A group that is too old is as one that never was. */
static void start_anew(agg_op *a, const tl_batch *batch, int64_t i, group *g)
{
    tl_acc_deinit(&a->calls, g->acc);
    memset(g->acc, 0, sizeof *g->acc * (size_t)a->plan->n_calls);
    g->rows = 0;
    tl_acc_grouping(a->plan, a->calls.calls, batch, i, g->acc);
}

static tl_status find_group(agg_op *a, const tl_batch *batch, const tl_keys *keys, int64_t i, group **out, tl_error *err)
{
    tl_key_space space;
    tl_bytes_view key = tl_stream__key(keys, i, &space);
    *out = tl_map_get(&a->groups, key.data, key.len);
    if (*out != NULL) {
        if ((*out)->age.written_ms < a->expired_before)
            start_anew(a, batch, i, *out);
        (*out)->age.written_ms = a->now_ms;
        return TL_OK;
    }
    group *g = tl_calloc(1, sizeof *g);
    if (g != NULL)
        g->acc = tl_calloc((size_t)a->plan->n_calls + 1, sizeof *g->acc);
    if (g == NULL || g->acc == NULL || tl_map_put(&a->groups, key.data, key.len, g, NULL) != TL_OK) {
        if (g != NULL)
            tl_free(g->acc);
        tl_free(g);
        return tl_nomem(err, "aggregate");
    }
    g->age.written_ms = a->now_ms;
    tl_acc_grouping(a->plan, a->calls.calls, batch, i, g->acc);
    *out = g;
    return TL_OK;
}

static tl_status apply_rows(agg_op *a, const tl_batch *batch, const tl_keys *keys, const tl_acc_input *inputs, tl_error *err)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        group *g;
        TL_TRY(find_group(a, batch, keys, i, &g, err));
        int64_t delta = tl_kind_is_retract(tl_batch_kind(batch, i)) ? -1 : 1;
        if (g->rows == 0 && delta < 0 && !g->touched)
            continue; /* a retraction of a row that never came */
        if (!g->touched)
            TL_TRY(touch(a, g, batch, i, err));
        g->rows += delta;
        if (tl_acc_add(&a->calls, g->acc, inputs, i, delta) != TL_OK)
            return tl_nomem(err, "aggregate");
    }
    return TL_OK;
}

/* ---- output ---- */

typedef struct changes {
    uint32_t *keys;      /* row of the touched keys */
    tl_rowref *values;   /* source 0: before, 1: after */
    uint8_t *kinds;
    int64_t n;
} changes;

static void add_change(changes *c, int64_t key, uint32_t src, int64_t row, uint8_t kind)
{
    c->keys[c->n] = (uint32_t)key;
    c->values[c->n] = (tl_rowref){src, (uint32_t)row};
    c->kinds[c->n++] = kind;
}

static bool same_values(const agg_op *a, tl_column *const *before, int64_t i, tl_column *const *after, int64_t k)
{
    for (int32_t c = 0; c < a->plan->n_calls; c++)
        if (!tl_column_equal(before[c], i, after[c], k))
            return false;
    return true;
}

static void list_changes(const agg_op *a, tl_column *const *before, tl_column *const *after, const int64_t *after_rows, changes *out)
{
    for (int64_t i = 0; i < a->n_touched; i++) {
        const group *g = a->touched[i];
        bool was = g->old_row >= 0, is = after_rows[i] >= 0;
        if (was && is && same_values(a, before, g->old_row, after, after_rows[i]))
            continue;
        if (was)
            add_change(out, g->key_row, 0, g->old_row, is ? TL_KIND_UPDATE_BEFORE : TL_KIND_DELETE);
        if (is)
            add_change(out, g->key_row, 1, after_rows[i], was ? TL_KIND_UPDATE_AFTER : TL_KIND_INSERT);
    }
}

static tl_status gather_changes(const agg_op *a, tl_column *const *keys, tl_column *const *before, tl_column *const *after, const changes *c,
                                tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(a->base.type, c->n, &result, err));
    for (int32_t k = 0; k < a->plan->n_group; k++)
        TL_TRY(tl_column_gather(keys[k], c->keys, c->n, &result->cols[k], err));
    for (int32_t i = 0; i < a->plan->n_calls; i++) {
        const tl_column *sources[2] = {before[i], after[i]};
        TL_TRY(tl_column_gather_multi(a->base.type->fields[a->plan->n_group + i].type, sources, c->values, c->n,
                                      &result->cols[a->plan->n_group + i], err));
    }
    result->row_kind = tl_memdup(c->kinds, (size_t)c->n);
    if (result->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    *out = TL_STEAL(result);
    return TL_OK;
}

/* Rows of the touched groups as they are now; groups that are empty have none (but for the one group without keys). */
static tl_status build_after(agg_op *a, tl_builder **after, int64_t *after_rows, tl_error *err)
{
    int64_t n = 0;
    for (int64_t i = 0; i < a->n_touched; i++) {
        group *g = a->touched[i];
        after_rows[i] = -1;
        if (g->rows <= 0 && a->plan->n_group > 0)
            continue;
        for (int32_t c = 0; c < a->plan->n_calls; c++)
            TL_TRY(tl_acc_append(&a->calls, c, &g->acc[c], after[c], err));
        after_rows[i] = n++;
    }
    return TL_OK;
}

static void free_columns(tl_column **cols, int32_t n)
{
    for (int32_t i = 0; cols != NULL && i < n; i++)
        tl_column_unref(cols[i]);
    tl_free(cols);
}

static tl_status output(agg_op *a, tl_batch **out, tl_error *err)
{
    int32_t n_group = a->plan->n_group, n_calls = a->plan->n_calls;
    size_t n = (size_t)a->n_touched;
    tl_builder **after = NULL;
    tl_column **keys = tl_calloc((size_t)n_group + 1, sizeof *keys), **before = tl_calloc((size_t)n_calls + 1, sizeof *before),
              **now = tl_calloc((size_t)n_calls + 1, sizeof *now);
    int64_t *after_rows = tl_alloc(sizeof *after_rows * (n + 1));
    changes c = {tl_alloc(sizeof *c.keys * (2 * n + 1)), tl_alloc(sizeof *c.values * (2 * n + 1)), tl_alloc(2 * n + 1), 0};
    bool enough = keys != NULL && before != NULL && now != NULL && after_rows != NULL && c.keys != NULL && c.values != NULL && c.kinds != NULL;
    tl_status status = enough ? tl_stream__builders(a->base.type, n_group, n_calls, &after, err) : tl_nomem(err, "aggregate");
    if (status == TL_OK)
        status = build_after(a, after, after_rows, err);
    if (status == TL_OK)
        status = tl_stream__builders_finish(a->keys, n_group, keys, err);
    if (status == TL_OK)
        status = tl_stream__builders_finish(a->before, n_calls, before, err);
    if (status == TL_OK)
        status = tl_stream__builders_finish(after, n_calls, now, err);
    if (status == TL_OK) {
        list_changes(a, before, now, after_rows, &c);
        status = gather_changes(a, keys, before, now, &c, out, err);
    }
    tl_stream__builders_free(after, n_calls);
    free_columns(keys, n_group);
    free_columns(before, n_calls);
    free_columns(now, n_calls);
    tl_free(after_rows);
    tl_free(c.keys);
    tl_free(c.values);
    tl_free(c.kinds);
    for (size_t i = 0; i < n; i++)
        a->touched[i]->touched = false;
    a->n_touched = 0;
    return status;
}

static tl_status aggregate_batch(tl_op *op, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    agg_op *a = (agg_op *)op;
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    tl_acc_input *inputs;
    a->now_ms = tl_stream__now_ms(op->pipeline);
    int64_t ttl_ms = tl_stream__ttl_ms(op->pipeline, a->plan, 0);
    a->expired_before = tl_stream__expired_before(ttl_ms, a->now_ms);
    if (tl_stream__is_sweep_due(ttl_ms, a->now_ms, &a->swept_ms) && tl_partitions_expire(&a->groups, a->expired_before, free_old_group, a) != TL_OK)
        return tl_nomem(err, "aggregate");
    TL_TRY(tl_stream__keys(batch, a->group, a->n_key, &keys, err));
    TL_TRY(tl_acc_inputs_create(&a->calls, batch, &inputs, err));
    tl_status status = apply_rows(a, batch, keys, inputs, err);
    if (status == TL_OK)
        status = output(a, out, err);
    tl_acc_inputs_free(inputs, a->calls.n);
    return status;
}

static tl_status agg_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    return tl_stream__each_batch(op, aggregate_batch, out, state, err);
}

static void agg_deinit(tl_op *op)
{
    agg_op *a = (agg_op *)op;
    size_t pos = 0;
    void *g;
    while (tl_map_next(&a->groups, &pos, NULL, &g))
        group_free(a, g);
    tl_map_deinit(&a->groups);
    tl_stream__builders_free(a->keys, a->plan->n_group);
    tl_stream__builders_free(a->before, a->plan->n_calls);
    tl_free(a->touched);
    tl_free(a->group);
}

static tl_status init(agg_op *a, const tl_plan *plan, tl_error *err)
{
    a->calls = (tl_acc_calls){plan->calls, plan->n_calls, a->base.inputs[0]->type, tl_stream__insert_only(plan->inputs[0])};
    TL_TRY(tl_acc_check(&a->calls, err));
    TL_TRY(tl_stream__group_columns(plan, a->base.inputs[0]->type, &a->group, &a->n_key, err));
    TL_TRY(tl_stream__builders(plan->type, 0, plan->n_group, &a->keys, err));
    return tl_stream__builders(plan->type, plan->n_group, plan->n_calls, &a->before, err);
}

tl_status tl_stream__aggregate(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {agg_next, agg_deinit};
    agg_op *a = tl_stream__op_new(sizeof *a, &ops, pipeline, plan->type, input, NULL, err);
    if (a == NULL)
        return TL_E_NOMEM;
    a->plan = plan;
    pipeline->stateful = true;
    return tl_stream__op_done(&a->base, init(a, plan, err), out);
}
