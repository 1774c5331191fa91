/*
 * Temporal join by event time: each row of the left side is joined with the version of the right side's row that was valid at the
 * left row's time. Left rows wait until the watermark of both sides has passed their time. Source of the rules: Flink's
 * TemporalRowTimeJoinOperator.
 *
 * A version is the last change of a key at or before a time; a -D ends it. Row kinds of the left side are carried through. A left
 * join pads rows for which there was no version, or one that does not pass the condition.
 *
 * Memory: left rows that wait, and of each key the versions that may still be asked for: those behind the watermark but for the
 * newest of them are forgotten.
 */
#include <stdlib.h>

#include "stream/array.h"
#include "stream/pairs.h"
#include "stream/partitions.h"

typedef struct version {
    int64_t time;
    tl_rowref row;
    bool deleted;
} version;

typedef struct key_state {
    version *versions; /* by time; the later change of one time replaces the earlier */
    int64_t n, cap;
} key_state;

typedef struct waiting_row {
    int64_t time, arrival;
    key_state *key;
    tl_rowref row;
    uint8_t kind;
} waiting_row;

typedef struct temporal_op {
    tl_op base;
    const tl_plan *plan;
    int32_t right_time;
    tl_map keys;
    tl_row_buffer rows[2];
    waiting_row *waiting; /* not in order */
    int64_t n_waiting, cap_waiting, arrivals;
    int64_t next_due; /* no row that waits has an earlier time */
    int64_t seen;
    int64_t tidy_at; /* versions at which old ones are looked for */
    tl_pair_test test;
} temporal_op;

/* ---- rows in ---- */

/* Index of the last version at or before a time, -1 if there is none. */
static int64_t version_at(const key_state *key, int64_t time)
{
    int64_t lo = 0, hi = key->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (key->versions[mid].time <= time)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo - 1;
}

static tl_status add_version(temporal_op *t, key_state *key, version v)
{
    int64_t at = version_at(key, v.time);
    if (at >= 0 && key->versions[at].time == v.time) {
        tl_row_buffer_release(&t->rows[1], key->versions[at].row);
        key->versions[at] = v;
        return TL_OK;
    }
    TL_TRY(tl_array_fit(&key->versions, sizeof *key->versions, key->n, &key->cap, 2));
    memmove(key->versions + at + 2, key->versions + at + 1, sizeof *key->versions * (size_t)(key->n - at - 1));
    key->versions[at + 1] = v;
    key->n++;
    return TL_OK;
}

static tl_status wait_for(temporal_op *t, waiting_row row)
{
    TL_TRY(tl_array_fit(&t->waiting, sizeof *t->waiting, t->n_waiting, &t->cap_waiting, 1024));
    t->waiting[t->n_waiting++] = row;
    t->next_due = TL_MIN(t->next_due, row.time);
    return TL_OK;
}

/* Rows that say something: all of the left, of the right all but -U (the +U that follows is the new version). */
static int64_t select_rows(const temporal_op *t, int side, const tl_batch *batch, uint32_t *sel)
{
    const tl_column *time = batch->cols[side == 0 ? t->plan->rowtime : t->right_time];
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (!tl_col_is_null(time, i) && (side == 0 || tl_batch_kind(batch, i) != TL_KIND_UPDATE_BEFORE))
            sel[n++] = (uint32_t)i;
    return n;
}

static tl_status add_batch(temporal_op *t, int side, const tl_batch *batch, tl_error *err)
{
    const int32_t *columns = side == 0 ? t->plan->left_keys : t->plan->right_keys;
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "join");
    TL_TRY(tl_stream__join_keys(batch, columns, t->plan->n_keys, &keys, err));
    int64_t n = select_rows(t, side, batch, sel);
    uint32_t chunk;
    TL_TRY(tl_row_buffer_add(&t->rows[side], batch, sel, n, &chunk, err));
    const tl_column *time = batch->cols[side == 0 ? t->plan->rowtime : t->right_time];
    for (int64_t k = 0; k < n; k++) {
        tl_rowref row = {chunk, (uint32_t)k};
        uint8_t kind = tl_batch_kind(batch, sel[k]);
        key_state *key = tl_partition_of(&t->keys, keys, sel[k], sizeof *key); /* NULL is a key as others, as in Flink */
        tl_status status = key != NULL ? TL_OK : TL_E_NOMEM;
        if (status == TL_OK && side == 0)
            status = wait_for(t, (waiting_row){tl_col_i64(time, sel[k]), t->arrivals++, key, row, kind});
        else if (status == TL_OK)
            status = add_version(t, key, (version){tl_col_i64(time, sel[k]), row, kind == TL_KIND_DELETE});
        if (status != TL_OK)
            return tl_nomem(err, "join");
    }
    return TL_OK;
}

/* ---- rows out ---- */

static int by_time(const void *a, const void *b)
{
    const waiting_row *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

/* Move the rows whose time has come to the end of `waiting`, in order; returns how many. */
static int64_t take_due(temporal_op *t, int64_t watermark)
{
    int64_t kept = 0, n = t->n_waiting;
    t->next_due = INT64_MAX;
    for (int64_t i = 0; i < n; i++) {
        waiting_row row = t->waiting[i];
        if (row.time <= watermark)
            continue;
        t->waiting[i] = t->waiting[kept];
        t->waiting[kept++] = row;
        t->next_due = TL_MIN(t->next_due, row.time);
    }
    if (n > kept)
        qsort(t->waiting + kept, (size_t)(n - kept), sizeof *t->waiting, by_time);
    t->n_waiting = kept;
    return n - kept;
}

static tl_status list_pairs(const waiting_row *due, int64_t n, tl_pairs *pairs)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t at = version_at(due[i].key, due[i].time);
        bool found = at >= 0 && !due[i].key->versions[at].deleted;
        TL_TRY(tl_pairs_add(pairs, due[i].row, found ? due[i].key->versions[at].row : TL_NO_ROW));
    }
    return TL_OK;
}

/* Rows that find no version are dropped or, in a left join, padded. */
static tl_status settle_pairs(const temporal_op *t, const waiting_row *due, const tl_pairs *pairs, const uint8_t *passes, tl_pairs *out, uint8_t *kinds)
{
    for (int64_t i = 0; i < pairs->sides[0].n; i++) {
        tl_rowref right = pairs->sides[1].refs[i];
        bool found = right.row != TL_ROW_NULL && passes[i];
        if (!found && t->plan->join != TL_JOIN_LEFT)
            continue;
        kinds[out->sides[0].n] = due[i].kind;
        TL_TRY(tl_pairs_add(out, pairs->sides[0].refs[i], found ? right : TL_NO_ROW));
    }
    return TL_OK;
}

static tl_status join_due(temporal_op *t, const waiting_row *due, int64_t n, tl_batch **out, tl_error *err)
{
    tl_pairs pairs = {0}, results = {0};
    TL_CLEANUP(tl_freep) uint8_t *passes = NULL;
    TL_CLEANUP(tl_freep) uint8_t *kinds = tl_alloc((size_t)n + 1);
    tl_status status = kinds == NULL || list_pairs(due, n, &pairs) != TL_OK ? tl_nomem(err, "join") : TL_OK;
    if (status == TL_OK)
        status = tl_pairs_test(&pairs, &t->rows[0], &t->rows[1], &t->test, &passes, err);
    if (status == TL_OK && settle_pairs(t, due, &pairs, passes, &results, kinds) != TL_OK)
        status = tl_nomem(err, "join");
    if (status == TL_OK && results.sides[0].n > 0)
        status = tl_pairs_gather(&results, &t->rows[0], t->test.n_left, &t->rows[1], t->base.type, out, err);
    if (status == TL_OK && *out != NULL)
        (*out)->row_kind = TL_STEAL(kinds);
    for (int64_t i = 0; i < n; i++)
        tl_row_buffer_release(&t->rows[0], due[i].row);
    tl_pairs_deinit(&pairs);
    tl_pairs_deinit(&results);
    return status;
}

/* Versions that nobody will ask for: all at or before the watermark but for the newest of them. */
static void forget_versions(temporal_op *t)
{
    size_t pos = 0;
    void *value;
    while (tl_map_next(&t->keys, &pos, NULL, &value)) {
        key_state *key = value;
        int64_t last = version_at(key, t->seen);
        if (last <= 0)
            continue;
        for (int64_t i = 0; i < last; i++)
            tl_row_buffer_release(&t->rows[1], key->versions[i].row);
        memmove(key->versions, key->versions + last, sizeof *key->versions * (size_t)(key->n - last));
        key->n -= last;
    }
}

static tl_status compact(temporal_op *t, int side, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_rowref **refs = tl_alloc(sizeof *refs * (size_t)(t->rows[side].alive + 1));
    if (refs == NULL)
        return tl_nomem(err, "join");
    int64_t n = 0;
    for (int64_t i = 0; side == 0 && i < t->n_waiting; i++)
        refs[n++] = &t->waiting[i].row;
    size_t pos = 0;
    void *value;
    while (side == 1 && tl_map_next(&t->keys, &pos, NULL, &value)) {
        key_state *key = value;
        for (int64_t i = 0; i < key->n; i++)
            refs[n++] = &key->versions[i].row;
    }
    return tl_row_buffer_compact(&t->rows[side], refs, n, err);
}

/* Looking at every key costs: only when versions have become twice as many as the last time left. */
static tl_status tidy(temporal_op *t, tl_error *err)
{
    if (t->rows[1].alive > t->tidy_at) {
        forget_versions(t);
        t->tidy_at = TL_MAX(2 * t->rows[1].alive, 4096);
    }
    for (int s = 0; s < 2; s++)
        if (tl_row_buffer_is_sparse(&t->rows[s]))
            TL_TRY(compact(t, s, err));
    return TL_OK;
}

static tl_status temporal_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    temporal_op *t = (temporal_op *)op;
    TL_CLEANUP(tl_taken_deinit) tl_taken in = {0};
    TL_TRY(tl_stream__take_turns(op, &in, state, err));
    if (in.batch != NULL)
        TL_TRY(add_batch(t, in.side, in.batch, err));
    t->seen = TL_MAX(t->seen, tl_stream__both_watermarks(op));
    if (t->next_due <= t->seen) { /* also rows that came late: at a commit nothing that could be given still waits */
        int64_t n = take_due(t, t->seen);
        TL_TRY(join_due(t, t->waiting + t->n_waiting, n, out, err));
    }
    TL_TRY(tidy(t, err));
    op->watermark = t->seen;
    if (*out != NULL)
        *state = TL_OP_ROWS;
    return TL_OK;
}

static void key_free(void *state)
{
    tl_free(((key_state *)state)->versions);
    tl_free(state);
}

static void temporal_deinit(tl_op *op)
{
    temporal_op *t = (temporal_op *)op;
    tl_partitions_deinit(&t->keys, key_free);
    for (int s = 0; s < 2; s++)
        tl_row_buffer_deinit(&t->rows[s]);
    tl_free(t->waiting);
    tl_pair_test_deinit(&t->test);
}

static tl_status init(temporal_op *t, const tl_plan *plan, tl_error *err)
{
    t->right_time = -1;
    for (int32_t i = 0; i < plan->inputs[1]->type->n_fields && t->right_time < 0; i++)
        if (plan->inputs[1]->time_attr[i] == TL_TIME_ROWTIME)
            t->right_time = i;
    if (t->right_time < 0)
        return tl_error_set(err, TL_E_INVALID, "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but no row "
                                               "time attribute can be found");
    if (plan->n_keys == 0)
        return tl_error_set(err, TL_E_INVALID, "Temporal table join requires an equality condition on fields of the versioned table");
    return tl_pair_test_init(&t->test, &t->base, plan->condition, err);
}

tl_status tl_stream__temporal_join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {temporal_next, temporal_deinit};
    temporal_op *t = tl_stream__op_new(sizeof *t, &ops, pipeline, plan->type, left, right, err);
    if (t == NULL)
        return TL_E_NOMEM;
    t->plan = plan;
    t->seen = TL_WATERMARK_NONE;
    t->next_due = INT64_MAX;
    t->tidy_at = 4096;
    pipeline->stateful = pipeline->event_time = true;
    return tl_stream__op_done(&t->base, init(t, plan, err), out);
}
