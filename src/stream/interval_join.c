/*
 * Interval join: pairs of rows whose time attributes are within bounds of each other. Rows are kept while a partner may still
 * come; what comes out is never taken back. Source of the rules: Flink's TimeIntervalJoin.
 *
 * A row goes, padded if it must be, as soon as the watermark reaches the time of its last partner; Flink waits up to half an
 * interval longer. So what has come out by a commit does not depend on which side was read first, and a restart, which reads both
 * sides anew, finds the same rows still waiting.
 */
#include "stream/array.h"
#include "stream/pairs.h"
#include "stream/partitions.h"
#include "stream/time_heap.h"

typedef struct kept_row {
    int64_t time;
    tl_rowref row;
    bool joined;
} kept_row;

/** Rows of one key and side, in order of time, from `first` on. */
typedef struct cache {
    kept_row *rows;
    int64_t first, n, cap;
    int64_t timer; /* the one that counts; earlier rows have made others out of date */
} cache;

typedef struct key_state {
    cache sides[2];
} key_state;

typedef struct interval_op {
    tl_op base;
    const tl_plan *plan;
    tl_map keys;
    tl_row_buffer rows[2];
    bool outer[2];
    int64_t reach[2];    /* how long after a row of a side its partner may come */
    tl_time_heap timers; /* when the first row of a key's cache goes; owner: the key, row.src: the side */
    int64_t seen;
    tl_pair_test test;
    tl_pairs out;
    tl_ref_list gone[2];
} interval_op;

/* ---- timers ---- */

static tl_status set_timer(interval_op *j, key_state *key, int side)
{
    cache *c = &key->sides[side];
    c->timer = c->rows[c->first].time + j->reach[side];
    return tl_time_heap_push(&j->timers, c->timer, key, (tl_rowref){(uint32_t)side, 0});
}

/* ---- caches ---- */

/* *is_first: it is the one that goes first. */
static tl_status cache_add(cache *c, kept_row row, bool *is_first)
{
    TL_TRY(tl_queue_fit(&c->rows, sizeof *c->rows, &c->first, c->n, &c->cap));
    int64_t at = c->first + c->n++;
    for (; at > c->first && c->rows[at - 1].time > row.time; at--)
        c->rows[at] = c->rows[at - 1];
    c->rows[at] = row;
    *is_first = at == c->first;
    return TL_OK;
}

/* First row of a time or later. */
static int64_t cache_find(const cache *c, int64_t time)
{
    int64_t lo = c->first, hi = c->first + c->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (c->rows[mid].time < time)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static tl_status pad(interval_op *j, int side, tl_rowref row)
{
    return side == 0 ? tl_pairs_add(&j->out, row, TL_NO_ROW) : tl_pairs_add(&j->out, TL_NO_ROW, row);
}

/* Rows whose last possible partner is at or before the watermark. */
static tl_status expire(interval_op *j, key_state *key, int side)
{
    cache *c = &key->sides[side];
    while (c->n > 0 && c->rows[c->first].time + j->reach[side] <= j->seen) {
        kept_row old = c->rows[c->first++];
        c->n--;
        if (j->outer[side] && !old.joined)
            TL_TRY(pad(j, side, old.row));
        TL_TRY(tl_ref_list_add(&j->gone[side], &old.row, 1));
    }
    return c->n > 0 ? set_timer(j, key, side) : TL_OK;
}

static tl_status advance(interval_op *j, int64_t watermark)
{
    j->seen = watermark;
    while (tl_time_heap_is_due(&j->timers, watermark)) {
        tl_time_entry timer = tl_time_heap_pop(&j->timers);
        key_state *key = timer.owner;
        if (key->sides[timer.row.src].timer == timer.time)
            TL_TRY(expire(j, key, (int)timer.row.src));
    }
    return TL_OK;
}

/* ---- rows in ---- */

/* What a batch of one side meets: for each row its key and a range of pairs. */
typedef struct meeting {
    key_state **keys;
    int64_t *starts; /* n_rows + 1, into pairs */
    tl_pairs pairs;
    int64_t *places; /* of the partner in its cache, per pair */
    int64_t cap_places;
    uint8_t *passes;
} meeting;

static void meeting_deinit(meeting *m)
{
    tl_free(m->keys);
    tl_free(m->starts);
    tl_pairs_deinit(&m->pairs);
    tl_free(m->places);
    tl_free(m->passes);
}

static int32_t time_column(const interval_op *j, int side)
{
    return side == 0 ? j->plan->left_time : j->plan->right_time;
}

static tl_status meet(interval_op *j, meeting *m, int side, tl_rowref mine, const cache *other, int64_t time)
{
    for (int64_t k = cache_find(other, time - j->reach[1 - side]); k < other->first + other->n && other->rows[k].time <= time + j->reach[side]; k++) {
        TL_TRY(side == 0 ? tl_pairs_add(&m->pairs, mine, other->rows[k].row) : tl_pairs_add(&m->pairs, other->rows[k].row, mine));
        if (m->pairs.sides[0].cap > m->cap_places) {
            TL_TRY(tl_array_resize(&m->places, sizeof *m->places, m->pairs.sides[0].cap));
            m->cap_places = m->pairs.sides[0].cap;
        }
        m->places[m->pairs.sides[0].n - 1] = k;
    }
    return TL_OK;
}

/* Candidates of all rows, before any of them acts: the other side's caches only lose rows meanwhile, and places stay. */
static tl_status find_meetings(interval_op *j, meeting *m, int side, const tl_batch *batch, uint32_t chunk, tl_error *err)
{
    const int32_t *columns = side == 0 ? j->plan->left_keys : j->plan->right_keys;
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_TRY(tl_stream__join_keys(batch, columns, j->plan->n_keys, &keys, err));
    m->keys = tl_alloc(sizeof *m->keys * (size_t)(batch->n_rows + 1));
    m->starts = tl_alloc(sizeof *m->starts * (size_t)(batch->n_rows + 1));
    if (m->keys == NULL || m->starts == NULL)
        return tl_nomem(err, "join");
    const tl_column *time = batch->cols[time_column(j, side)];
    for (int64_t i = 0; i < batch->n_rows; i++) {
        m->starts[i] = m->pairs.sides[0].n;
        m->keys[i] = tl_partition_of(&j->keys, keys, i, sizeof(key_state));
        if (m->keys[i] == NULL)
            return tl_nomem(err, "join");
        if (tl_col_is_null(time, i) || tl_stream__null_key(j->plan, batch, columns, i))
            continue;
        if (meet(j, m, side, (tl_rowref){chunk, (uint32_t)i}, &m->keys[i]->sides[1 - side], tl_col_i64(time, i)) != TL_OK)
            return tl_nomem(err, "join");
    }
    m->starts[batch->n_rows] = m->pairs.sides[0].n;
    return tl_pairs_test(&m->pairs, &j->rows[0], &j->rows[1], &j->test, &m->passes, err);
}

static tl_status join_row(interval_op *j, const meeting *m, int side, int64_t i, int64_t time, tl_rowref mine)
{
    key_state *key = m->keys[i];
    cache *other = &key->sides[1 - side];
    bool joined = false, is_first = false;
    for (int64_t p = m->starts[i]; p < m->starts[i + 1]; p++) {
        if (!m->passes[p] || m->places[p] < other->first) /* the latter has gone since */
            continue;
        other->rows[m->places[p]].joined = joined = true;
        TL_TRY(tl_pairs_add(&j->out, m->pairs.sides[0].refs[p], m->pairs.sides[1].refs[p]));
    }
    if (j->seen < time + j->reach[side]) {
        TL_TRY(cache_add(&key->sides[side], (kept_row){time, mine, joined}, &is_first));
        return is_first ? set_timer(j, key, side) : TL_OK;
    }
    if (!joined && j->outer[side])
        TL_TRY(pad(j, side, mine));
    return tl_ref_list_add(&j->gone[side], &mine, 1);
}

static tl_status join_batch(interval_op *j, int side, const tl_batch *batch, int64_t before, tl_error *err)
{
    TL_TRY(tl_stream__refuse_retractions(batch, "an interval join", err));
    uint32_t chunk;
    TL_TRY(tl_row_buffer_add_all(&j->rows[side], batch, &chunk, err));
    meeting m = {0};
    tl_status status = find_meetings(j, &m, side, batch, chunk, err);
    const tl_column *time = batch->cols[time_column(j, side)];
    for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++) {
        tl_rowref mine = {chunk, (uint32_t)i};
        int64_t mark = TL_MIN(tl_stream__row_watermark(batch, i, before), j->base.inputs[1 - side]->watermark);
        if (mark > j->seen)
            status = advance(j, mark);
        if (status == TL_OK)
            status = tl_col_is_null(time, i) ? tl_ref_list_add(&j->gone[side], &mine, 1) : join_row(j, &m, side, i, tl_col_i64(time, i), mine);
        if (status == TL_E_NOMEM)
            (void)tl_nomem(err, "join");
    }
    meeting_deinit(&m);
    return status;
}

/* ---- rows out ---- */

static tl_status compact(interval_op *j, int side, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(j->rows[side].alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "join");
    int64_t n = 0;
    size_t pos = 0;
    void *value;
    while (tl_map_next(&j->keys, &pos, NULL, &value)) {
        cache *c = &((key_state *)value)->sides[side];
        for (int64_t i = 0; i < c->n; i++)
            refs[n++] = &c->rows[c->first + i].row;
    }
    return tl_row_buffer_compact(&j->rows[side], refs, n, err);
}

static void key_free(void *state)
{
    key_state *key = state;
    tl_free(key->sides[0].rows);
    tl_free(key->sides[1].rows);
    tl_free(key);
}

static bool key_is_empty(const void *state)
{
    const key_state *key = state;
    return key->sides[0].n + key->sides[1].n == 0;
}

/* Keys without rows have no timer either; they are forgotten when they are most of all. */
static tl_status forget_keys(interval_op *j, tl_error *err)
{
    if (j->keys.count < 4096 || j->timers.n > j->keys.count / 4)
        return TL_OK;
    return tl_partitions_forget(&j->keys, key_is_empty, key_free) == TL_OK ? TL_OK : tl_nomem(err, "join");
}

static tl_status settle(interval_op *j, tl_batch **out, tl_error *err)
{
    if (j->out.sides[0].n > 0)
        TL_TRY(tl_pairs_gather(&j->out, &j->rows[0], j->test.n_left, &j->rows[1], j->base.type, out, err));
    j->out.sides[0].n = j->out.sides[1].n = 0;
    for (int s = 0; s < 2; s++) {
        for (int64_t i = 0; i < j->gone[s].n; i++)
            tl_row_buffer_release(&j->rows[s], j->gone[s].refs[i]);
        j->gone[s].n = 0;
        if (tl_row_buffer_is_sparse(&j->rows[s]))
            TL_TRY(compact(j, s, err));
    }
    return forget_keys(j, err);
}

/* Rows can come behind the watermark by as much as they waited for partners. */
static int64_t output_watermark(const interval_op *j)
{
    int64_t delay = TL_MAX(TL_MAX(j->reach[0], j->reach[1]), 0);
    return j->seen == TL_WATERMARK_END || j->seen < TL_WATERMARK_NONE + delay ? j->seen : j->seen - delay;
}

static tl_status interval_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    interval_op *j = (interval_op *)op;
    TL_CLEANUP(tl_taken_deinit) tl_taken in = {0};
    TL_TRY(tl_stream__take_turns(op, &in, state, err));
    if (in.batch != NULL)
        TL_TRY(join_batch(j, in.side, in.batch, in.before, err));
    int64_t watermark = tl_stream__both_watermarks(op);
    if (watermark > j->seen && advance(j, watermark) != TL_OK)
        return tl_nomem(err, "join");
    op->watermark = output_watermark(j);
    TL_TRY(settle(j, out, err));
    if (*out != NULL)
        *state = TL_OP_ROWS;
    return TL_OK;
}

static void interval_deinit(tl_op *op)
{
    interval_op *j = (interval_op *)op;
    tl_partitions_deinit(&j->keys, key_free);
    for (int s = 0; s < 2; s++) {
        tl_row_buffer_deinit(&j->rows[s]);
        tl_free(j->gone[s].refs);
    }
    tl_free(j->timers.entries);
    tl_pairs_deinit(&j->out);
    tl_pair_test_deinit(&j->test);
}

tl_status tl_stream__interval_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {interval_next, interval_deinit};
    interval_op *j = tl_stream__op_new(sizeof *j, &ops, pipeline, plan->type, left, right, err);
    if (j == NULL)
        return TL_E_NOMEM;
    j->plan = plan;
    j->reach[0] = plan->upper_ms;
    j->reach[1] = -plan->lower_ms;
    j->outer[0] = plan->join == TL_JOIN_LEFT || plan->join == TL_JOIN_FULL;
    j->outer[1] = plan->join == TL_JOIN_RIGHT || plan->join == TL_JOIN_FULL;
    j->seen = TL_WATERMARK_NONE;
    pipeline->stateful = pipeline->event_time = true;
    tl_status status = tl_stream__need_insert_only(plan, "an interval join", err);
    if (status == TL_OK)
        status = tl_pair_test_init(&j->test, &j->base, plan->condition, err);
    return tl_stream__op_done(&j->base, status, out);
}
