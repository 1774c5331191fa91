/*
 * Incremental join of two change streams. Each side's rows are kept; a change of one side gives the changes of its pairs with
 * what the other side holds at that moment. Source of the rules: Flink's StreamingJoinOperator, StreamingSemiAntiJoinOperator.
 *
 * For outer, semi and anti joins each row knows its number of partners: it is padded with NULLs (outer), in the result (semi)
 * or out of it (anti) when that number leaves or reaches zero.
 */
#include "stream/array.h"
#include "stream/op.h"
#include "stream/pairs.h"
#include "stream/row_store.h"

typedef struct side {
    tl_row_store rows;
    bool outer; /* its rows stay without partners, padded with NULLs */
    int32_t n_cols;
} side;

/* Result rows to be gathered: per row a reference into each side's store (source n_chunks: the batch at hand), and its kind. */
typedef struct pairs {
    tl_rowref *refs[2];
    uint8_t *kinds;
    int64_t n, cap;
} pairs;

typedef struct join_op {
    tl_op base;
    const tl_plan *plan;
    side sides[2];
    bool inner, semi, anti;
    tl_pair_test test;
    pairs out;
} join_op;

static const tl_rowref no_row = {0, TL_ROW_NULL};

static tl_status emit(pairs *p, tl_rowref left, tl_rowref right, uint8_t kind)
{
    if (p->n == p->cap) {
        int64_t cap = tl_array_next_cap(p->cap, 1024);
        for (int s = 0; s < 2; s++)
            TL_TRY(tl_array_resize(&p->refs[s], sizeof *p->refs[s], cap));
        TL_TRY(tl_array_resize(&p->kinds, sizeof *p->kinds, cap));
        p->cap = cap;
    }
    p->refs[0][p->n] = left;
    p->refs[1][p->n] = right;
    p->kinds[p->n++] = kind;
    return TL_OK;
}

static void pairs_deinit(pairs *p)
{
    tl_free(p->refs[0]);
    tl_free(p->refs[1]);
    tl_free(p->kinds);
    *p = (pairs){0};
}

/* Emit with "mine" on the side that changes. */
static tl_status emit_from(join_op *j, int s, tl_rowref mine, tl_rowref other, uint8_t kind)
{
    return s == 0 ? emit(&j->out, mine, other, kind) : emit(&j->out, other, mine, kind);
}

/* Columns of one side of `p` into result columns from `at` on. `batch` is what source n_chunks means for side `s`. */
static tl_status gather_side(const join_op *j, const pairs *p, int which, int s, const tl_batch *batch, tl_batch *result, int32_t at, tl_error *err)
{
    const side *from = &j->sides[which];
    for (int32_t c = 0; c < from->n_cols; c++) {
        const tl_column **sources;
        TL_TRY(tl_row_store_sources(&from->rows, c, which == s ? batch->cols[c] : NULL, &sources, err));
        tl_status status = tl_column_gather_multi(result->type->fields[at + c].type, sources, p->refs[which], p->n, &result->cols[at + c], err);
        tl_free(sources);
        TL_TRY(status);
    }
    return TL_OK;
}

static tl_status gather(const join_op *j, const pairs *p, int s, const tl_batch *batch, const tl_type *type, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(type, p->n, &result, err));
    TL_TRY(gather_side(j, p, 0, s, batch, result, 0, err));
    if (type->n_fields > j->sides[0].n_cols)
        TL_TRY(gather_side(j, p, 1, s, batch, result, j->sides[0].n_cols, err));
    result->row_kind = tl_memdup(p->kinds, (size_t)p->n);
    if (result->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    *out = TL_STEAL(result);
    return TL_OK;
}

/* ---- which rows of the other side each row of the batch meets ---- */

typedef struct candidates {
    const struct tl_row_entry **entries; /* of the other side's index: stay valid, it does not change meanwhile */
    int64_t *starts;                     /* n_rows + 1 */
    int64_t n, cap;
} candidates;

static void candidates_deinit(candidates *c)
{
    tl_free(c->entries);
    tl_free(c->starts);
}

static tl_status find_candidates(const tl_plan *plan, const side *mine, const side *other, const tl_batch *batch, const tl_keys *keys, candidates *out,
                                 tl_error *err)
{
    out->starts = tl_calloc((size_t)batch->n_rows + 1, sizeof *out->starts);
    if (out->starts == NULL)
        return tl_nomem(err, "join");
    for (int64_t i = 0; i < batch->n_rows; i++) {
        out->starts[i] = out->n;
        const struct tl_row_entry *entry = NULL;
        bool null_key = tl_stream__null_key(plan, batch, mine->rows.key_columns, i);
        while (!null_key && tl_row_store_next(&other->rows, keys, i, &entry)) {
            if (tl_array_fit(&out->entries, sizeof *out->entries, out->n, &out->cap, 1024) != TL_OK)
                return tl_nomem(err, "join");
            out->entries[out->n++] = entry;
        }
    }
    out->starts[batch->n_rows] = out->n;
    return TL_OK;
}

static tl_rowref ref_of(const struct tl_row_entry *entry)
{
    return (tl_rowref){entry->chunk, entry->row};
}

/* Leave candidates out whose pair does not pass the condition. */
static tl_status apply_condition(join_op *j, int s, const tl_batch *batch, candidates *c, tl_error *err)
{
    if (j->test.condition == NULL || c->n == 0)
        return TL_OK;
    pairs p = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < batch->n_rows && status == TL_OK; i++)
        for (int64_t k = c->starts[i]; k < c->starts[i + 1] && status == TL_OK; k++) {
            tl_rowref mine = {j->sides[s].rows.n_chunks, (uint32_t)i}, other = ref_of(c->entries[k]);
            status = s == 0 ? emit(&p, mine, other, 0) : emit(&p, other, mine, 0);
        }
    TL_CLEANUP(tl_batch_freep) tl_batch *joined = NULL;
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)c->n);
    int64_t n = 0;
    if (status != TL_OK || sel == NULL)
        status = tl_nomem(err, "join");
    if (status == TL_OK)
        status = gather(j, &p, s, batch, j->test.type, &joined, err);
    if (status == TL_OK)
        status = tl_sql_program_select(j->test.condition, joined, sel, &n, err);
    pairs_deinit(&p);
    TL_TRY(status);
    int64_t at = 0, kept = 0;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        int64_t end = c->starts[i + 1];
        c->starts[i] = kept;
        for (; at < n && sel[at] < end; at++)
            c->entries[kept++] = c->entries[sel[at]];
    }
    c->starts[batch->n_rows] = c->n = kept;
    return TL_OK;
}

/* ---- one change ---- */

/* Inner and outer joins. `mine` is the row of side s that comes or goes. */
static tl_status change_pairs(join_op *j, int s, tl_rowref mine, uint8_t kind, const struct tl_row_entry *const *met, int64_t n)
{
    const side *me = &j->sides[s], *other = &j->sides[1 - s];
    bool retract = tl_kind_is_retract(kind);
    uint8_t pair_kind = j->inner ? kind : retract ? TL_KIND_DELETE : TL_KIND_INSERT;
    if (n == 0)
        return me->outer ? emit_from(j, s, mine, no_row, retract ? TL_KIND_DELETE : TL_KIND_INSERT) : TL_OK;
    for (int64_t k = 0; k < n; k++) {
        uint32_t *partners = tl_row_store_partners(&other->rows, met[k]);
        if (!retract && other->outer && *partners == 0)
            TL_TRY(emit_from(j, s, no_row, ref_of(met[k]), TL_KIND_DELETE));
        TL_TRY(emit_from(j, s, mine, ref_of(met[k]), pair_kind));
        *partners += retract ? UINT32_MAX : 1; /* minus one */
        if (retract && other->outer && *partners == 0)
            TL_TRY(emit_from(j, s, no_row, ref_of(met[k]), TL_KIND_INSERT));
    }
    return TL_OK;
}

/* Semi and anti joins: rows of the left side alone. */
static tl_status change_left(join_op *j, int s, tl_rowref mine, uint8_t kind, const struct tl_row_entry *const *met, int64_t n)
{
    bool retract = tl_kind_is_retract(kind);
    if (s == 0)
        return (n > 0) == j->semi ? emit(&j->out, mine, no_row, kind) : TL_OK;
    for (int64_t k = 0; k < n; k++) {
        uint32_t *partners = tl_row_store_partners(&j->sides[0].rows, met[k]);
        *partners += retract ? UINT32_MAX : 1;
        bool turns = *partners == (retract ? 0u : 1u); /* it has lost its last partner or found its first */
        if (turns)
            TL_TRY(emit(&j->out, ref_of(met[k]), no_row, retract == j->semi ? TL_KIND_DELETE : TL_KIND_INSERT));
    }
    return TL_OK;
}

static tl_status process(join_op *j, int s, const tl_batch *batch, const tl_keys *keys, const candidates *c, uint32_t chunk, tl_error *err)
{
    side *me = &j->sides[s];
    uint32_t added = 0;
    for (int64_t i = 0; i < batch->n_rows; i++) {
        uint8_t kind = tl_batch_kind(batch, i);
        const struct tl_row_entry *const *met = c->entries + c->starts[i];
        int64_t n = c->starts[i + 1] - c->starts[i];
        tl_rowref mine = {me->rows.n_chunks, (uint32_t)i};
        if (tl_kind_is_retract(kind)) {
            if (!tl_row_store_remove(&me->rows, batch, keys, i, NULL))
                continue; /* a retraction of a row that never came changes nothing */
        } else {
            tl_row_store_activate(&me->rows, chunk, added++, (uint32_t)n);
        }
        tl_status status = j->semi || j->anti ? change_left(j, s, mine, kind, met, n) : change_pairs(j, s, mine, kind, met, n);
        if (status != TL_OK)
            return tl_nomem(err, "join");
    }
    return TL_OK;
}

static tl_status add_rows(side *me, const tl_batch *batch, uint32_t *chunk, tl_error *err)
{
    TL_CLEANUP(tl_freep) uint32_t *sel = tl_alloc(sizeof *sel * (size_t)(batch->n_rows + 1));
    if (sel == NULL)
        return tl_nomem(err, "join");
    int64_t n = 0;
    for (int64_t i = 0; i < batch->n_rows; i++)
        if (!tl_kind_is_retract(tl_batch_kind(batch, i)))
            sel[n++] = (uint32_t)i;
    return tl_row_store_add(&me->rows, batch, sel, n, chunk, err);
}

/* The age of a row is that of its coming; a partner that comes or goes does not make it young again. */
static void drop_old(join_op *j)
{
    int64_t now = tl_stream__now_ms(j->base.pipeline);
    for (int s = 0; s < 2; s++) {
        int64_t before = tl_stream__expired_before(tl_stream__ttl_ms(j->base.pipeline, j->plan, s), now);
        j->sides[s].rows.now_ms = now;
        if (before != INT64_MIN)
            tl_row_store_expire(&j->sides[s].rows, before);
    }
}

static tl_status join_batch(join_op *j, int s, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    side *me = &j->sides[s], *other = &j->sides[1 - s];
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    candidates c = {0};
    uint32_t chunk = 0;
    j->out.n = 0;
    drop_old(j);
    tl_status status = add_rows(me, batch, &chunk, err);
    if (status == TL_OK)
        status = tl_row_store_keys(&me->rows, batch, &keys, err);
    if (status == TL_OK)
        status = find_candidates(j->plan, me, other, batch, keys, &c, err);
    if (status == TL_OK)
        status = apply_condition(j, s, batch, &c, err);
    if (status == TL_OK)
        status = process(j, s, batch, keys, &c, chunk, err);
    if (status == TL_OK)
        status = gather(j, &j->out, s, batch, j->base.type, out, err);
    candidates_deinit(&c);
    return status;
}

static tl_status join_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    join_op *j = (join_op *)op;
    TL_CLEANUP(tl_taken_deinit) tl_taken in = {0};
    TL_TRY(tl_stream__take_turns(op, &in, state, err));
    op->watermark = tl_stream__both_watermarks(op);
    return in.batch == NULL ? TL_OK : join_batch(j, in.side, in.batch, out, err);
}

static void join_deinit(tl_op *op)
{
    join_op *j = (join_op *)op;
    for (int s = 0; s < 2; s++)
        tl_row_store_deinit(&j->sides[s].rows);
    pairs_deinit(&j->out);
    tl_pair_test_deinit(&j->test);
}

static tl_status init(join_op *j, const tl_plan *plan, tl_error *err)
{
    j->inner = plan->join == TL_JOIN_INNER;
    j->semi = plan->join == TL_JOIN_SEMI;
    j->anti = plan->join == TL_JOIN_ANTI;
    j->sides[0].outer = plan->join == TL_JOIN_LEFT || plan->join == TL_JOIN_FULL;
    j->sides[1].outer = plan->join == TL_JOIN_RIGHT || plan->join == TL_JOIN_FULL;
    j->sides[0].rows = (tl_row_store){.key_columns = plan->left_keys, .n_keys = plan->n_keys};
    j->sides[1].rows = (tl_row_store){.key_columns = plan->right_keys, .n_keys = plan->n_keys};
    for (int s = 0; s < 2; s++)
        j->sides[s].n_cols = j->base.inputs[s]->type->n_fields;
    return tl_pair_test_init(&j->test, &j->base, plan->condition, err);
}

tl_status tl_stream__join(tl_pipeline *pipeline, const tl_plan *plan, tl_op *left, tl_op *right, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {join_next, join_deinit};
    join_op *j = tl_stream__op_new(sizeof *j, &ops, pipeline, plan->type, left, right, err);
    if (j == NULL)
        return TL_E_NOMEM;
    j->plan = plan;
    pipeline->stateful = true;
    return tl_stream__op_done(&j->base, init(j, plan, err), out);
}
