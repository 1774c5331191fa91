/*
 * From the records of a key to what each of them does: the engines' rules about row kinds.
 *
 * Each engine becomes a list of (record, action). A record may appear twice: as the initial value and as what it does
 * (a retraction that comes first initialises the row with its own values, then acts). Java: PartialUpdateMergeFunction,
 * AggregateMergeFunction; format reference §14. Groups without any retraction, the usual case, borrow the caller's lists.
 */
#include "merge/merge_private.h"

/* Entries being written. */
typedef struct entries {
    tl_rowref *refs;
    uint8_t *actions;
    uint32_t *starts;
    uint32_t n;
} entries;

static tl_status alloc_entries(merge_call *call, entries *out)
{
    const tl_groups *groups = call->groups;
    /* One more in each group for an initial value. */
    size_t cap = (size_t)groups->starts[groups->n_groups] - groups->starts[0] + groups->n_groups;
    out->n = 0;
    out->refs = tl_arena_alloc(&call->arena, cap * sizeof *out->refs);
    out->actions = tl_arena_alloc(&call->arena, cap);
    out->starts = tl_arena_alloc(&call->arena, ((size_t)groups->n_groups + 1) * sizeof *out->starts);
    if (out->refs == NULL || out->actions == NULL || out->starts == NULL)
        return tl_nomem(call->err, "merge");
    return TL_OK;
}

static void add_entry(entries *e, tl_rowref ref, merge_action action)
{
    e->refs[e->n] = ref;
    e->actions[e->n++] = (uint8_t)action;
}

static bool any_retract(const merge_call *call)
{
    const tl_groups *groups = call->groups;
    bool kinds = false;
    for (uint32_t s = 0; s < groups->n_sources; s++)
        kinds = kinds || call->row_kinds[s] != NULL;
    for (uint32_t e = groups->starts[0]; kinds && e < groups->starts[groups->n_groups]; e++)
        if (tl_kind_is_retract(merge_kind(call, groups->refs[e])))
            return true;
    return false;
}

static bool is_raw(const merge_call *call, uint32_t g)
{
    return !call->always_call && call->groups->starts[g + 1] - call->groups->starts[g] == 1;
}

/* Kinds and sequence numbers where every group only adds. */
static void finish_adds(const merge_call *call, merge_history *h)
{
    const tl_groups *groups = call->groups;
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        tl_rowref last = groups->refs[groups->starts[g + 1] - 1];
        h->kinds[g] = is_raw(call, g) ? merge_kind(call, last) : TL_KIND_INSERT;
        h->seqs[g] = merge_seq(call, last);
    }
}

/* Single records stay as they are. */
static bool walk_raw(const merge_call *call, uint32_t g, entries *e, merge_history *h)
{
    if (!is_raw(call, g))
        return false;
    tl_rowref ref = call->groups->refs[call->groups->starts[g]];
    add_entry(e, ref, ACT_SET);
    h->kinds[g] = merge_kind(call, ref);
    h->seqs[g] = merge_seq(call, ref);
    return true;
}

static tl_status refuse_delete(const merge_call *call)
{
    return tl_error_set(
        call->err, TL_E_INVALID,
        "By default, Partial update can not accept delete records, you can choose one of the following solutions: "
        "1. Configure 'ignore-delete' to ignore delete records. "
        "2. Configure 'partial-update.remove-record-on-delete' to remove the whole row when receiving delete records. "
        "3. Configure 'sequence-group's to retract partial columns. Also configure "
        "'partial-update.remove-record-on-sequence-group' to remove the whole row when receiving deleted records of "
        "`specified sequence group`.");
}

/* partial-update without sequence groups. */
static tl_status walk_partial_update(const merge_call *call, uint32_t g, entries *e, merge_history *h)
{
    const tl_groups *groups = call->groups;
    bool removed = false, met_insert = false;
    int64_t seq = 0;
    for (uint32_t r = groups->starts[g]; r < groups->starts[g + 1]; r++) {
        tl_rowref ref = groups->refs[r];
        uint8_t kind = merge_kind(call, ref);
        removed = false;
        if (!tl_kind_is_retract(kind)) {
            add_entry(e, ref, ACT_ADD);
            met_insert = true;
            seq = merge_seq(call, ref);
            continue;
        }
        if (r == groups->starts[g])
            add_entry(e, ref, ACT_SET);
        if (call->engine->ignore_delete)
            continue;
        seq = merge_seq(call, ref);
        if (call->engine->has_groups)
            continue; /* all groups are projected away: a retraction does nothing to the rest */
        if (!call->engine->remove_on_delete)
            return refuse_delete(call);
        if (kind == TL_KIND_DELETE) {
            removed = true;
            add_entry(e, ref, ACT_SET);
        }
    }
    h->kinds[g] = removed || !met_insert ? TL_KIND_DELETE : TL_KIND_INSERT;
    h->seqs[g] = seq;
    return TL_OK;
}

static tl_status walk_aggregation(const merge_call *call, uint32_t g, entries *e, merge_history *h)
{
    const tl_groups *groups = call->groups;
    bool removed = false;
    for (uint32_t r = groups->starts[g]; r < groups->starts[g + 1]; r++) {
        tl_rowref ref = groups->refs[r];
        uint8_t kind = merge_kind(call, ref);
        removed = call->engine->remove_on_delete && kind == TL_KIND_DELETE;
        add_entry(e, ref, removed ? ACT_SET : tl_kind_is_retract(kind) ? ACT_RETRACT : ACT_ADD);
    }
    h->kinds[g] = removed ? TL_KIND_DELETE : TL_KIND_INSERT;
    h->seqs[g] = merge_seq(call, groups->refs[groups->starts[g + 1] - 1]);
    return TL_OK;
}

static tl_status alloc_results(merge_call *call, merge_history *out)
{
    out->kinds = tl_arena_alloc(&call->arena, call->groups->n_groups);
    out->seqs = tl_arena_alloc(&call->arena, call->groups->n_groups * sizeof *out->seqs);
    return out->kinds == NULL || out->seqs == NULL ? tl_nomem(call->err, "merge") : TL_OK;
}

tl_status tl_merge__history(merge_call *call, merge_history *out)
{
    const tl_groups *groups = call->groups;
    const tl_merge_engine *engine = call->engine;
    *out = (merge_history){0};
    TL_TRY(alloc_results(call, out));
    if (engine->n_groups > 0)
        return tl_merge__group_history(call, out);
    if (!engine->raw_singles && !any_retract(call)) {
        out->free = (merge_view){groups->refs, groups->starts, groups->n_groups, NULL};
        finish_adds(call, out);
        return TL_OK;
    }
    entries e;
    TL_TRY(alloc_entries(call, &e));
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        e.starts[g] = e.n;
        if (walk_raw(call, g, &e, out))
            continue;
        TL_TRY(engine->kind == TL_ENGINE_AGGREGATION ? walk_aggregation(call, g, &e, out)
                                                     : walk_partial_update(call, g, &e, out));
    }
    e.starts[groups->n_groups] = e.n;
    out->free = (merge_view){e.refs, e.starts, groups->n_groups, e.actions};
    return TL_OK;
}

tl_status tl_merge__last(merge_call *call, const tl_rowref **out)
{
    const tl_groups *groups = call->groups;
    if (call->last == NULL) {
        call->last = tl_arena_alloc(&call->arena, groups->n_groups * sizeof *call->last);
        if (call->last == NULL)
            return tl_nomem(call->err, "merge");
        for (uint32_t g = 0; g < groups->n_groups; g++)
            call->last[g] = groups->refs[groups->starts[g + 1] - 1];
    }
    *out = call->last;
    return TL_OK;
}
