/*
 * Sequence groups of partial-update: which records of a key are newer, late or empty for each group.
 *
 * Per group of records one pass over the records keeps, for each sequence group, the record that its sequence columns
 * stand at. A record whose sequence columns are all NULL does nothing to the group; one that is not below the current
 * record moves the group on; a lower one is late and counts for aggregated members only. A newer -D of a group that
 * `removes` resets the whole record, all groups included. Java: PartialUpdateMergeFunction#updateWithSequenceGroup,
 * #retractWithSequenceGroup.
 */
#include "merge/merge_private.h"

/* Sequence columns of one group over all sources; a single integer column, the usual case, is compared as a number. */
typedef struct group_columns {
    int32_t n_columns;
    const tl_column **cols; /* [column * n_sources + source] */
    int width;              /* bytes of a single integer column, 0: compare by value */
} group_columns;

/* Where a group stands. */
typedef struct group_state {
    tl_rowref at; /* TL_ROW_NULL: no record yet, all sequence columns NULL */
    bool null;    /* a single integer column: its value */
    int64_t value;
} group_state;

typedef struct walker {
    merge_call *call;
    merge_history *out;
    int32_t n_groups;
    uint32_t n_sources;
    group_columns *columns;
    group_state *states;
    tl_rowref *refs; /* entries */
    uint8_t *free_actions;
    uint8_t **group_actions;
    uint32_t *starts;
    uint32_t n;
} walker;

static int64_t load_value(const tl_column *col, int width, uint32_t row)
{
    switch (width) {
    case 1:
        return tl_col_i8(col, row);
    case 2:
        return tl_col_i16(col, row);
    case 4:
        return tl_col_i32(col, row);
    default:
        return tl_col_i64(col, row);
    }
}

/* `a` if chosen, else `b`, without a branch. */
static inline tl_rowref select_ref(int chosen, tl_rowref a, tl_rowref b)
{
    uint32_t mask = 0u - (uint32_t)(chosen != 0);
    return (tl_rowref){(a.src & mask) | (b.src & ~mask), (a.row & mask) | (b.row & ~mask)};
}

static bool all_null(const walker *w, const group_columns *gc, tl_rowref ref)
{
    for (int32_t c = 0; c < gc->n_columns; c++)
        if (!tl_col_is_null(gc->cols[(uint32_t)c * w->n_sources + ref.src], ref.row))
            return false;
    return true;
}

static int compare_by_value(const walker *w, const group_columns *gc, tl_rowref a, tl_rowref b)
{
    for (int32_t c = 0; c < gc->n_columns; c++) {
        const tl_column *const *cols = &gc->cols[(uint32_t)c * w->n_sources];
        int order;
        if (b.row == TL_ROW_NULL)
            order = !tl_col_is_null(cols[a.src], a.row);
        else
            order = tl_column_compare(cols[a.src], a.row, cols[b.src], b.row, /* descending= */ false, /* nulls_first= */ true);
        if (order != 0)
            return order;
    }
    return 0;
}

/*
 * The record against the group: -1 late, 0 empty, 1 not below. Moves the state on. No branch for a single integer column: a
 * record often belongs to one of several streams, and which one cannot be foreseen.
 */
static inline int advance(const walker *w, int32_t s, tl_rowref ref)
{
    const group_columns *gc = &w->columns[s];
    group_state *state = &w->states[s];
    if (gc->width != 0) {
        const tl_column *col = gc->cols[ref.src];
        int there = col->validity == NULL ? 1 : tl_bit_get(col->validity, ref.row);
        int64_t value = load_value(col, gc->width, ref.row);
        int moves = there & (state->null | (value >= state->value));
        state->at = select_ref(moves, ref, state->at);
        state->value = moves ? value : state->value;
        state->null &= !moves;
        return 2 * moves - there;
    }
    if (all_null(w, gc, ref))
        return 0;
    if (compare_by_value(w, gc, ref, state->at) < 0)
        return -1;
    state->at = ref;
    return 1;
}

static void put_state(const walker *w, int32_t s, tl_rowref ref)
{
    const group_columns *gc = &w->columns[s];
    w->states[s] = (group_state){.at = ref, .null = true};
    if (gc->width == 0 || ref.row == TL_ROW_NULL || tl_col_is_null(gc->cols[ref.src], ref.row))
        return;
    w->states[s].null = false;
    w->states[s].value = load_value(gc->cols[ref.src], gc->width, ref.row);
}

static const tl_rowref no_row = {0, TL_ROW_NULL};

static void set_action(walker *w, int32_t s, merge_action action)
{
    if (w->group_actions[s] != NULL)
        w->group_actions[s][w->n] = (uint8_t)action;
}

/* The whole record takes the values of `ref`. */
static void reset_record(walker *w, uint32_t g, tl_rowref ref)
{
    for (int32_t s = 0; s < w->n_groups; s++) {
        put_state(w, s, ref);
        set_action(w, s, ACT_SET);
        w->out->groups[s].sequence[g] = ref;
        w->out->groups[s].member[g] = ref;
    }
    w->free_actions[w->n] = ACT_SET;
    w->refs[w->n++] = ref;
}

static void add_record(walker *w, uint32_t g, tl_rowref ref)
{
    for (int32_t s = 0; s < w->n_groups; s++) {
        int order = advance(w, s, ref);
        set_action(w, s, order > 0 ? ACT_ADD : order < 0 ? ACT_ADD_LATE : ACT_NONE);
        group_result *result = &w->out->groups[s];
        result->sequence[g] = select_ref(order > 0, ref, result->sequence[g]);
        result->member[g] = select_ref(order > 0, ref, result->member[g]);
    }
    w->free_actions[w->n] = ACT_ADD;
    w->refs[w->n++] = ref;
}

/* True if a group that removes is moved on by the record; states are left as they were. */
static bool removes(const walker *w, tl_rowref ref)
{
    for (int32_t s = 0; s < w->n_groups; s++) {
        if (!w->call->engine->groups[s].removes)
            continue;
        group_state before = w->states[s];
        int order = advance(w, s, ref);
        w->states[s] = before;
        if (order > 0)
            return true;
    }
    return false;
}

static void retract_record(walker *w, uint32_t g, tl_rowref ref)
{
    for (int32_t s = 0; s < w->n_groups; s++) {
        int order = advance(w, s, ref);
        set_action(w, s, order > 0 ? ACT_RETRACT : order < 0 ? ACT_RETRACT_LATE : ACT_NONE);
        if (order > 0) {
            w->out->groups[s].sequence[g] = ref;
            w->out->groups[s].member[g] = no_row;
        }
    }
    w->free_actions[w->n] = ACT_NONE;
    w->refs[w->n++] = ref;
}

static void walk_group(walker *w, uint32_t g)
{
    const tl_groups *groups = w->call->groups;
    bool removed = false, met_insert = false;
    int64_t seq = 0;
    for (int32_t s = 0; s < w->n_groups; s++) {
        put_state(w, s, no_row);
        w->out->groups[s].sequence[g] = w->out->groups[s].member[g] = no_row;
    }
    for (uint32_t r = groups->starts[g]; r < groups->starts[g + 1]; r++) {
        tl_rowref ref = groups->refs[r];
        uint8_t kind = merge_kind(w->call, ref);
        removed = false;
        if (!tl_kind_is_retract(kind)) {
            add_record(w, g, ref);
            met_insert = true;
            seq = merge_seq(w->call, ref);
            continue;
        }
        if (r == groups->starts[g])
            reset_record(w, g, ref); /* initialises the record; its retraction follows */
        if (w->call->engine->ignore_delete)
            continue;
        seq = merge_seq(w->call, ref);
        removed = kind == TL_KIND_DELETE && removes(w, ref);
        if (removed)
            reset_record(w, g, ref);
        else
            retract_record(w, g, ref);
    }
    w->out->kinds[g] = removed || !met_insert ? TL_KIND_DELETE : TL_KIND_INSERT;
    w->out->seqs[g] = seq;
}

static void walk_single(walker *w, uint32_t g)
{
    tl_rowref ref = w->call->groups->refs[w->call->groups->starts[g]];
    for (int32_t s = 0; s < w->n_groups; s++) {
        set_action(w, s, ACT_SET);
        w->out->groups[s].sequence[g] = w->out->groups[s].member[g] = ref;
    }
    w->free_actions[w->n] = ACT_SET;
    w->refs[w->n++] = ref;
    w->out->kinds[g] = merge_kind(w->call, ref);
    w->out->seqs[g] = merge_seq(w->call, ref);
}

static int integer_width(const tl_type *type)
{
    switch (tl_type_phys(type)) {
    case TL_PHYS_I8:
    case TL_PHYS_I16:
    case TL_PHYS_I32:
    case TL_PHYS_I64:
        return tl_phys_width(tl_type_phys(type));
    default:
        return 0;
    }
}

static tl_status load_columns(walker *w, int32_t s)
{
    const sequence_group *group = &w->call->engine->groups[s];
    group_columns *gc = &w->columns[s];
    gc->n_columns = group->n_columns;
    gc->width = group->n_columns == 1 ? integer_width(w->call->engine->row_type->fields[group->columns[0]].type) : 0;
    gc->cols = tl_arena_alloc(&w->call->arena, (size_t)group->n_columns * w->n_sources * sizeof(tl_column *));
    if (gc->cols == NULL)
        return tl_nomem(w->call->err, "merge");
    for (int32_t c = 0; c < group->n_columns; c++)
        for (uint32_t k = 0; k < w->n_sources; k++)
            gc->cols[(uint32_t)c * w->n_sources + k] = w->call->groups->sources[k]->cols[group->columns[c]];
    return TL_OK;
}

static tl_status alloc_walker(walker *w)
{
    tl_arena *arena = &w->call->arena;
    const tl_groups *groups = w->call->groups;
    size_t n_records = groups->n_groups, n = (size_t)w->n_groups;
    size_t cap = (size_t)groups->starts[n_records] - groups->starts[0] + n_records;
    w->columns = tl_arena_calloc(arena, n, sizeof *w->columns);
    w->states = tl_arena_calloc(arena, n, sizeof *w->states);
    w->group_actions = tl_arena_calloc(arena, n, sizeof *w->group_actions);
    w->out->groups = tl_arena_calloc(arena, n, sizeof *w->out->groups);
    w->refs = tl_arena_alloc(arena, cap * sizeof *w->refs);
    w->free_actions = tl_arena_alloc(arena, cap);
    w->starts = tl_arena_alloc(arena, (n_records + 1) * sizeof *w->starts);
    bool ok = w->columns != NULL && w->states != NULL && w->group_actions != NULL && w->out->groups != NULL &&
              w->refs != NULL && w->free_actions != NULL && w->starts != NULL;
    for (int32_t s = 0; ok && s < w->n_groups; s++) {
        group_result *result = &w->out->groups[s];
        result->sequence = tl_arena_alloc(arena, n_records * sizeof *result->sequence);
        result->member = tl_arena_alloc(arena, n_records * sizeof *result->member);
        ok = result->sequence != NULL && result->member != NULL;
        if (ok && w->call->engine->groups[s].aggregates)
            ok = (w->group_actions[s] = tl_arena_alloc(arena, cap)) != NULL;
    }
    return ok ? TL_OK : tl_nomem(w->call->err, "merge");
}

tl_status tl_merge__group_history(merge_call *call, merge_history *out)
{
    const tl_groups *groups = call->groups;
    walker w = {.call = call, .out = out, .n_groups = call->engine->n_groups, .n_sources = groups->n_sources};
    TL_TRY(alloc_walker(&w));
    for (int32_t s = 0; s < w.n_groups; s++)
        TL_TRY(load_columns(&w, s));
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        w.starts[g] = w.n;
        if (!call->always_call && groups->starts[g + 1] - groups->starts[g] == 1)
            walk_single(&w, g);
        else
            walk_group(&w, g);
    }
    w.starts[groups->n_groups] = w.n;
    out->free = (merge_view){w.refs, w.starts, groups->n_groups, w.free_actions};
    for (int32_t s = 0; s < w.n_groups; s++)
        out->groups[s].view = (merge_view){w.refs, w.starts, groups->n_groups, w.group_actions[s]};
    return TL_OK;
}
