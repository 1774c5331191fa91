/*
 * Merging groups of records: the engines as columns. Each column of the result is gathered by references to the winning
 * records, which columns share where they can, or reduced to new values.
 */
#include "merge/merge_private.h"
#include "types/text.h"

static tl_status init_call(merge_call *call)
{
    const tl_groups *groups = call->groups;
    call->row_kinds = tl_arena_alloc(&call->arena, groups->n_sources * sizeof *call->row_kinds);
    call->srcs = tl_arena_alloc(&call->arena, groups->n_sources * sizeof *call->srcs);
    if (call->row_kinds == NULL || call->srcs == NULL)
        return tl_nomem(call->err, "merge");
    for (uint32_t k = 0; k < groups->n_sources; k++)
        call->row_kinds[k] = groups->sources[k]->row_kind;
    return TL_OK;
}

static const tl_column *const *column_sources(merge_call *call, int32_t column)
{
    for (uint32_t k = 0; k < call->groups->n_sources; k++)
        call->srcs[k] = call->groups->sources[k]->cols[column];
    return call->srcs;
}

static tl_status gather_column(merge_call *call, int32_t column, const tl_rowref *refs, tl_column **out)
{
    const tl_type *type = call->engine->row_type->fields[column].type;
    return tl_column_gather_multi(type, column_sources(call, column), refs, call->groups->n_groups, out, call->err);
}

/* As gather_column() by references that are the call's own: several columns in a row often share them. */
static tl_status gather_shared(merge_call *call, int32_t column, const tl_rowref *refs, tl_column **out)
{
    const tl_type *type = call->engine->row_type->fields[column].type;
    if (call->scanned.refs != refs)
        call->scanned = tl_rowrefs_scan(refs, call->groups->n_groups);
    return tl_column_gather_refs(type, column_sources(call, column), &call->scanned, out, call->err);
}

/* Kinds (NULL where all are +I) and sequence numbers into the batch. */
static tl_status set_results(const merge_call *call, const uint8_t *kinds, const int64_t *seqs, tl_batch *batch)
{
    size_t n = call->groups->n_groups;
    uint8_t any = 0;
    for (size_t g = 0; g < n; g++)
        any |= kinds[g];
    if (any != TL_KIND_INSERT && (batch->row_kind = tl_memdup(kinds, n)) == NULL)
        return tl_nomem(call->err, "merge");
    batch->seq = tl_memdup(seqs, n * sizeof *seqs);
    return batch->seq == NULL ? tl_nomem(call->err, "merge") : TL_OK;
}

/* ---- whole records: deduplicate, first-row, groups of one record ---- */

/* The records follow each other in one source, from *row on. */
static bool is_run(const merge_call *call, const tl_rowref *refs, uint32_t *row)
{
    uint32_t n = call->groups->n_groups;
    *row = refs[0].row;
    for (uint32_t g = 1; g < n; g++)
        if (refs[g].src != refs[0].src || refs[g].row != refs[0].row + g)
            return false;
    return true;
}

/* Sequence numbers of the records; sources without any give 0. */
static tl_status gather_seqs(const merge_call *call, const tl_rowref *refs, int64_t *out)
{
    uint32_t n_sources = call->groups->n_sources, n = call->groups->n_groups;
    TL_CLEANUP(tl_freep) const int64_t **seqs = tl_alloc(n_sources * sizeof *seqs);
    bool all = true;
    if (seqs == NULL)
        return tl_nomem(call->err, "merge");
    for (uint32_t k = 0; k < n_sources; k++) {
        seqs[k] = call->groups->sources[k]->seq;
        all = all && seqs[k] != NULL;
    }
    for (uint32_t g = 0; g < n; g++)
        out[g] = all || seqs[refs[g].src] != NULL ? seqs[refs[g].src][refs[g].row] : 0;
    return TL_OK;
}

static bool any_kinds(const merge_call *call)
{
    bool any = false;
    for (uint32_t k = 0; k < call->groups->n_sources; k++)
        any = any || call->row_kinds[k] != NULL;
    return any;
}

static tl_status records_result(const merge_call *call, const tl_rowref *refs, tl_batch *batch)
{
    size_t n = call->groups->n_groups;
    batch->seq = tl_alloc(n * sizeof *batch->seq);
    if (batch->seq == NULL)
        return tl_nomem(call->err, "merge");
    TL_TRY(gather_seqs(call, refs, batch->seq));
    if (!any_kinds(call))
        return TL_OK;
    uint8_t *kinds = tl_alloc(n), any = 0;
    if (kinds == NULL)
        return tl_nomem(call->err, "merge");
    for (size_t g = 0; g < n; g++) {
        kinds[g] = merge_kind(call, refs[g]);
        any |= kinds[g];
    }
    if (any == TL_KIND_INSERT)
        tl_free(kinds);
    else
        batch->row_kind = kinds;
    return TL_OK;
}

static tl_status take_records(merge_call *call, const tl_rowref *refs, tl_batch **out)
{
    uint32_t n = call->groups->n_groups, row;
    if (is_run(call, refs, &row) && call->groups->sources[refs[0].src]->seq != NULL) {
        TL_TRY(tl_batch_slice(call->groups->sources[refs[0].src], row, n, out, call->err));
        (*out)->level = -1; /* as any other merged batch */
        return TL_OK;
    }
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(call->engine->row_type, n, &batch, call->err));
    for (int32_t c = 0; c < batch->n_cols; c++)
        TL_TRY(gather_shared(call, c, refs, &batch->cols[c]));
    TL_TRY(records_result(call, refs, batch));
    *out = TL_STEAL(batch);
    return TL_OK;
}

/* Last record of each group that is no retraction; the last one if all are. */
static tl_status last_adds(merge_call *call, const tl_rowref **out)
{
    const tl_groups *groups = call->groups;
    tl_rowref *refs = tl_arena_alloc(&call->arena, groups->n_groups * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(call->err, "merge");
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        uint32_t r = groups->starts[g + 1] - 1;
        while (r > groups->starts[g] && tl_kind_is_retract(merge_kind(call, groups->refs[r])))
            r--;
        if (tl_kind_is_retract(merge_kind(call, groups->refs[r])))
            r = groups->starts[g + 1] - 1;
        refs[g] = groups->refs[r];
    }
    *out = refs;
    return TL_OK;
}

static tl_status first_adds(merge_call *call, const tl_rowref **out)
{
    const tl_groups *groups = call->groups;
    tl_rowref *refs = tl_arena_alloc(&call->arena, groups->n_groups * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(call->err, "merge");
    for (uint32_t g = 0; g < groups->n_groups; g++) {
        bool found = false, called = call->always_call || groups->starts[g + 1] - groups->starts[g] > 1;
        refs[g] = groups->refs[groups->starts[g]];
        for (uint32_t r = groups->starts[g]; r < groups->starts[g + 1]; r++) {
            bool retract = tl_kind_is_retract(merge_kind(call, groups->refs[r]));
            if (retract && called && !call->engine->ignore_delete)
                return tl_error_set(
                    call->err, TL_E_INVALID,
                    "By default, First row merge engine can not accept DELETE/UPDATE_BEFORE records. You can config "
                    "'ignore-delete' to ignore the DELETE/UPDATE_BEFORE records.");
            if (!retract && !found)
                refs[g] = groups->refs[r];
            found = found || !retract;
        }
    }
    *out = refs;
    return TL_OK;
}

static tl_status pick_records(merge_call *call, const tl_rowref **out)
{
    if (call->engine->kind == TL_ENGINE_FIRST_ROW)
        return first_adds(call, out);
    return call->engine->ignore_delete ? last_adds(call, out) : tl_merge__last(call, out);
}

/* ---- columns: partial-update and aggregation ---- */

/* A NULL must not enter a NOT NULL column (the reference refuses it where a record initialises or overwrites the row). */
static tl_status check_not_null(merge_call *call, const merge_history *history)
{
    const tl_merge_engine *engine = call->engine;
    const merge_view *view = &history->free;
    bool adds_count = engine->kind == TL_ENGINE_PARTIAL_UPDATE && engine->n_groups == 0;
    for (int32_t c = 0; c < engine->row_type->n_fields; c++) {
        const tl_field *field = &engine->row_type->fields[c];
        if (field->type->nullable)
            continue;
        const tl_column *const *srcs = column_sources(call, c);
        bool nulls = false;
        for (uint32_t k = 0; k < call->groups->n_sources; k++)
            nulls = nulls || srcs[k]->null_count > 0;
        for (uint32_t g = 0; nulls && g < view->n_groups; g++) {
            bool raw = !call->always_call && call->groups->starts[g + 1] - call->groups->starts[g] == 1;
            for (uint32_t e = view->starts[g]; !raw && e < view->starts[g + 1]; e++) {
                uint8_t action = merge_action_at(view, e);
                if ((action == ACT_SET || (action == ACT_ADD && adds_count)) &&
                    tl_col_is_null(srcs[view->refs[e].src], view->refs[e].row))
                    return tl_error_set(call->err, TL_E_INVALID, "Field %d can not be null (column '%s')", c, field->name);
            }
        }
    }
    return TL_OK;
}

/* Put the group's key before the message: key (k=1, d="2024-05-01"). */
static tl_status name_key(merge_call *call, uint32_t group, tl_status status)
{
    const tl_merge_engine *engine = call->engine;
    tl_rowref ref = call->groups->refs[call->groups->starts[group]];
    TL_CLEANUP(tl_buf_deinit) tl_buf key = {0};
    tl_status ok = TL_OK;
    for (int32_t c = 0; c < engine->row_type->n_fields && ok == TL_OK; c++) {
        if (engine->rules[c].kind != RULE_KEY)
            continue;
        ok = tl_buf_appendf(&key, "%s%s=", key.len > 0 ? ", " : "", engine->row_type->fields[c].name);
        if (ok == TL_OK)
            ok = tl_text_append_json(&key, call->groups->sources[ref.src]->cols[c], ref.row);
    }
    if (ok != TL_OK)
        return tl_nomem(call->err, "merge");
    return tl_error_wrap(call->err, status, "key (%.*s)", (int)TL_MIN(key.len, 500), (const char *)key.data);
}

static tl_status reduce_numbers(merge_call *call, merge_column *col, tl_column **out)
{
    uint32_t overflowed = 0;
    col->overflowed = &overflowed;
    tl_status status = tl_merge__reduce_numbers(col, out);
    col->overflowed = NULL;
    return status == TL_E_OVERFLOW ? name_key(call, overflowed, status) : status;
}

static tl_status reduce_column(merge_call *call, const merge_history *history, int32_t c, tl_column **out)
{
    const column_rule *rule = &call->engine->rules[c];
    merge_column col = {
        .rule = rule,
        .field = &call->engine->row_type->fields[c],
        .srcs = column_sources(call, c),
        .n_srcs = call->groups->n_sources,
        .view = rule->kind == RULE_AGGREGATE && rule->group >= 0 ? &history->groups[rule->group].view : &history->free,
        .always_call = call->always_call,
        .arena = &call->arena,
        .err = call->err,
    };
    switch (rule->kind == RULE_AGGREGATE ? rule->fn : AGG_LAST_NON_NULL_VALUE) {
    case AGG_SUM:
    case AGG_PRODUCT:
        return reduce_numbers(call, &col, out);
    case AGG_COLLECT:
    case AGG_MERGE_MAP:
    case AGG_MERGE_MAP_WITH_KEYTIME:
    case AGG_NESTED_UPDATE:
    case AGG_NESTED_PARTIAL_UPDATE:
        return tl_merge__reduce_lists(&col, out);
    case AGG_LISTAGG:
    case AGG_THETA_SKETCH:
    case AGG_HLL_SKETCH:
    case AGG_RBM32:
    case AGG_RBM64:
        return tl_merge__reduce_bytes(&col, out);
    default:
        break;
    }
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc(call->groups->n_groups * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(call->err, "merge");
    TL_TRY(tl_merge__select(&col, refs));
    return gather_column(call, c, refs, out);
}

static tl_status merge_column_of(merge_call *call, const merge_history *history, int32_t c, tl_column **out)
{
    const column_rule *rule = &call->engine->rules[c];
    const tl_rowref *last = NULL;
    switch (rule->kind) {
    case RULE_KEY:
        TL_TRY(tl_merge__last(call, &last));
        return gather_shared(call, c, last, out);
    case RULE_SEQUENCE:
        return gather_shared(call, c, history->groups[rule->group].sequence, out);
    case RULE_MEMBER:
        return gather_shared(call, c, history->groups[rule->group].member, out);
    default:
        return reduce_column(call, history, c, out);
    }
}

static tl_status merge_columns(merge_call *call, tl_batch **out)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    merge_history history;
    TL_TRY(tl_merge__history(call, &history));
    TL_TRY(check_not_null(call, &history));
    TL_TRY(tl_batch_create(call->engine->row_type, call->groups->n_groups, &batch, call->err));
    for (int32_t c = 0; c < batch->n_cols; c++)
        TL_TRY(merge_column_of(call, &history, c, &batch->cols[c]));
    TL_TRY(set_results(call, history.kinds, history.seqs, batch));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status empty_result(const merge_call *call, tl_batch **out)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(call->engine->row_type, 0, &batch, call->err));
    for (int32_t c = 0; c < batch->n_cols; c++)
        TL_TRY(tl_column_nulls(call->engine->row_type->fields[c].type, 0, &batch->cols[c], call->err));
    batch->seq = tl_alloc(sizeof *batch->seq);
    if (batch->seq == NULL)
        return tl_nomem(call->err, "merge");
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status run_call(merge_call *call, tl_batch **out)
{
    const tl_groups *groups = call->groups;
    const tl_rowref *refs = NULL;
    if (groups->n_groups == 0)
        return empty_result(call, out);
    TL_TRY(init_call(call));
    bool whole = call->engine->kind == TL_ENGINE_DEDUPLICATE || call->engine->kind == TL_ENGINE_FIRST_ROW;
    bool all_single = !call->always_call && groups->starts[groups->n_groups] - groups->starts[0] == groups->n_groups;
    if (all_single)
        return take_records(call, groups->refs + groups->starts[0], out);
    if (!whole)
        return merge_columns(call, out);
    TL_TRY(pick_records(call, &refs));
    return take_records(call, refs, out);
}

tl_status tl_merge_groups(const tl_merge_engine *engine, const tl_groups *groups, bool always_call, tl_batch **out,
                          tl_error *err)
{
    merge_call call = {.engine = engine, .groups = groups, .always_call = always_call, .err = err};
    tl_status status = run_call(&call, out);
    tl_arena_deinit(&call.arena);
    return status;
}
