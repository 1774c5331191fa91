/*
 * The merging reader: inputs, sources of an output, building it. How groups are collected: reader_private.h.
 */
#include "merge/reader_private.h"

#include <stdlib.h>

/* ---- inputs ---- */

static void drop_batch(merge_reader *m, merge_run *r)
{
    if (r->source != MERGE_NO_SOURCE) {
        m->sources[r->source].retired = true;
    } else {
        tl_batch_free(r->batch);
        tl_keys_free(r->keys);
    }
    r->batch = NULL;
    r->keys = NULL;
    r->source = MERGE_NO_SOURCE;
}

static tl_status make_keys(merge_reader *m, const tl_batch *batch, tl_keys **out, tl_error *err)
{
    for (int32_t k = 0; k < m->n_keys; k++)
        m->key_cols[k] = batch->cols[m->key_idx[k]];
    TL_TRY(tl_keys_create(m->key_cols, m->n_keys, batch->n_rows, out, err));
    if (m->has_form && (*out)->is_fixed != m->is_fixed) {
        tl_keys_free(*out);
        *out = NULL;
        return tl_error_set(err, TL_E_INTERNAL, "inputs of a merge differ in the types of their keys");
    }
    m->has_form = true;
    m->is_fixed = (*out)->is_fixed;
    return TL_OK;
}

/* Records without sequence numbers get that of their run: as it is the order of the runs that counts, it will do. */
static tl_status number_records(const merge_reader *m, const merge_run *r, tl_batch *batch, tl_error *err)
{
    batch->seq = tl_alloc((size_t)batch->n_rows * sizeof *batch->seq);
    if (batch->seq == NULL)
        return tl_nomem(err, "merge");
    for (int64_t i = 0; i < batch->n_rows; i++)
        batch->seq[i] = r - m->runs;
    return TL_OK;
}

tl_status tl_merge__load_batch(merge_reader *m, merge_run *r, tl_error *err)
{
    if (r->batch != NULL)
        drop_batch(m, r);
    r->row = 0;
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(r->reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        if (batch->n_rows == 0)
            continue;
        if (batch->seq == NULL && m->runs_in_order)
            TL_TRY(number_records(m, r, batch, err));
        TL_TRY(make_keys(m, batch, &r->keys, err));
        r->batch = TL_STEAL(batch);
        return TL_OK;
    }
}

static tl_status start(merge_reader *m, tl_error *err)
{
    m->started = true;
    for (uint32_t r = 0; r < m->n_runs; r++)
        TL_TRY(tl_merge__load_batch(m, &m->runs[r], err));
    m->tree.is_fixed = m->is_fixed;
    if (!m->is_fixed)
        tl_merge__start_tree(m);
    return TL_OK;
}

/* ---- groups ---- */

static tl_status grow_sources(merge_reader *m, tl_error *err)
{
    uint32_t cap = m->cap_sources == 0 ? 16 : m->cap_sources * 2;
    merge_source *sources = tl_realloc(m->sources, cap * sizeof *sources);
    if (sources == NULL)
        return tl_nomem(err, "merge");
    m->sources = sources;
    const tl_batch **batches = tl_realloc(m->source_batches, cap * sizeof *batches);
    if (batches == NULL)
        return tl_nomem(err, "merge");
    m->source_batches = batches;
    int32_t *levels = tl_realloc(m->source_levels, cap * sizeof *levels);
    if (levels == NULL)
        return tl_nomem(err, "merge");
    m->source_levels = levels;
    m->cap_sources = cap;
    return TL_OK;
}

tl_status tl_merge__use_source(merge_reader *m, merge_run *r, tl_error *err)
{
    if (r->source != MERGE_NO_SOURCE)
        return TL_OK;
    if (m->n_sources == m->cap_sources)
        TL_TRY(grow_sources(m, err));
    r->source = m->n_sources++;
    m->sources[r->source] = (merge_source){r->batch, r->keys, (uint32_t)(r - m->runs), false};
    m->source_batches[r->source] = r->batch;
    m->source_levels[r->source] = r->level;
    return TL_OK;
}

tl_status tl_merge__reserve_refs(merge_reader *m, uint32_t extra, tl_error *err)
{
    if (m->cap_refs - m->n_refs >= extra)
        return TL_OK;
    uint64_t cap = TL_MAX((uint64_t)m->n_refs + extra, (uint64_t)m->cap_refs * 2);
    tl_rowref *grown = cap > UINT32_MAX ? NULL : tl_realloc(m->refs, cap * sizeof *grown);
    if (grown == NULL)
        return tl_nomem(err, "merge");
    m->refs = grown;
    m->cap_refs = (uint32_t)cap;
    return TL_OK;
}

uint32_t tl_merge__count_unique(const tl_keys *keys, uint32_t row, uint32_t end)
{
    uint32_t i = row + 1;
    if (keys->is_fixed)
        while (i < end && keys->fixed[i] != keys->fixed[i - 1])
            i++;
    else
        while (i < end && tl_keys_compare(keys, i, keys, i - 1) != 0)
            i++;
    return i - 1 - row;
}

tl_status tl_merge__add_stretch(merge_reader *m, merge_run *r, uint32_t row, uint32_t n, tl_error *err)
{
    TL_TRY(tl_merge__use_source(m, r, err));
    TL_TRY(tl_merge__reserve_refs(m, n, err));
    for (uint32_t i = 0; i < n; i++) {
        m->starts[m->n_groups + i] = m->n_refs + i;
        m->refs[m->n_refs + i] = (tl_rowref){r->source, row + i};
    }
    m->n_refs += n;
    m->n_groups += n;
    return TL_OK;
}

bool tl_merge__ends_as_slice(const merge_reader *m)
{
    if (m->n_groups == 0 || m->n_refs != m->n_groups)
        return false;
    tl_rowref first = m->refs[0], last = m->refs[m->n_refs - 1];
    return m->sources[last.src].retired && m->n_refs >= m->batch_rows / 8 && first.src == last.src &&
           last.row - first.row == m->n_refs - 1;
}

/* ---- output ---- */

static void release_sources(merge_reader *m)
{
    for (uint32_t s = 0; s < m->n_sources; s++) {
        if (!m->sources[s].retired)
            continue;
        tl_batch_free(m->sources[s].batch);
        tl_keys_free(m->sources[s].keys);
    }
    for (uint32_t r = 0; r < m->n_runs; r++)
        m->runs[r].source = MERGE_NO_SOURCE;
    m->n_sources = m->n_refs = m->n_groups = 0;
}

static tl_status leave_deletes_out(tl_batch **batch, tl_error *err)
{
    const tl_batch *in = *batch;
    if (in->row_kind == NULL)
        return TL_OK;
    TL_CLEANUP(tl_freep) uint32_t *keep = tl_alloc((size_t)in->n_rows * sizeof *keep);
    if (keep == NULL)
        return tl_nomem(err, "merge");
    int64_t n = 0;
    for (int64_t i = 0; i < in->n_rows; i++) {
        keep[n] = (uint32_t)i;
        n += !tl_kind_is_retract(in->row_kind[i]);
    }
    if (n == in->n_rows)
        return TL_OK;
    tl_batch *kept = NULL;
    TL_TRY(tl_batch_gather(in, keep, n, &kept, err));
    tl_batch_free(*batch);
    *batch = kept;
    return TL_OK;
}

static tl_status build(merge_reader *m, tl_batch **out, tl_error *err)
{
    tl_groups groups = {m->source_batches, m->n_sources, m->refs, m->starts, m->n_groups};
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    if (m->hook.merge != NULL)
        TL_TRY(m->hook.merge(m->hook.ctx, m->engine, &groups, m->source_levels, &batch, err));
    else
        TL_TRY(tl_merge_groups(m->engine, &groups, /* always_call= */ false, &batch, err));
    if (m->drop_deletes)
        TL_TRY(leave_deletes_out(&batch, err));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status merge_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    merge_reader *m = (merge_reader *)reader;
    if (!m->started)
        TL_TRY(start(m, err));
    for (;;) {
        tl_batch *batch = NULL;
        TL_TRY(m->is_fixed ? tl_merge__collect_rounds(m, err) : tl_merge__collect_tree(m, err));
        if (m->n_groups == 0) {
            *out = NULL;
            return TL_OK;
        }
        TL_TRY(build(m, &batch, err));
        release_sources(m);
        if (batch->n_rows > 0) {
            *out = batch;
            return TL_OK;
        }
        tl_batch_free(batch);
    }
}

static void merge_free(tl_reader *reader)
{
    merge_reader *m = (merge_reader *)reader;
    release_sources(m);
    for (uint32_t r = 0; r < m->n_runs; r++) {
        tl_batch_free(m->runs[r].batch);
        tl_keys_free(m->runs[r].keys);
        tl_reader_free(m->runs[r].reader);
    }
    tl_merge_engine_unref(m->engine);
    tl_type_unref(m->base.type);
    tl_free(m->runs);
    tl_free(m->key_idx);
    tl_free(m->key_cols);
    tl_free(m->tree.slots);
    tl_free(m->tree.losers);
    tl_free(m->tree_scratch);
    tl_free(m->round.keys);
    tl_free(m->round.refs);
    tl_free(m->round.order);
    tl_free(m->round.starts);
    tl_free(m->round.limits);
    tl_free(m->sources);
    tl_free(m->source_batches);
    tl_free(m->source_levels);
    tl_free(m->refs);
    tl_free(m->starts);
    tl_free(m);
}

static const tl_reader_ops merge_ops = {merge_next, merge_free};

static bool alloc_reader(merge_reader *m, const tl_merge_spec *spec, uint32_t n)
{
    m->key_idx = tl_memdup(spec->key_idx, (size_t)spec->n_keys * sizeof *m->key_idx);
    m->key_cols = tl_calloc((size_t)TL_MAX(spec->n_keys, 1), sizeof *m->key_cols);
    m->tree.slots = tl_calloc(TL_MAX(n, 1), sizeof *m->tree.slots);
    m->tree.losers = tl_calloc(TL_MAX(n, 1), sizeof *m->tree.losers);
    m->tree_scratch = tl_calloc(TL_MAX(n, 1), 2 * sizeof *m->tree_scratch);
    m->starts = tl_alloc(((size_t)m->batch_rows + 1) * sizeof *m->starts);
    m->round.limits = tl_calloc(TL_MAX(n, 1), sizeof *m->round.limits);
    return m->key_idx != NULL && m->key_cols != NULL && m->tree.slots != NULL && m->tree.losers != NULL &&
           m->tree_scratch != NULL && m->starts != NULL && m->round.limits != NULL;
}

static int compare_min_seq(const void *a, const void *b)
{
    int64_t x = ((const tl_merge_input *)a)->min_seq, y = ((const tl_merge_input *)b)->min_seq;
    return (x > y) - (x < y);
}

/*
 * Inputs whose sequence numbers do not overlap, in the order of these; *out is NULL if some do. Records of one key, which are
 * collected in the order of the runs, then need not be sorted. A run is one flush or one compaction, so nearly all merges are
 * like that. Where user sequence fields rule, sequence numbers say nothing.
 */
static tl_status sort_inputs(const tl_merge_engine *engine, const tl_merge_input *inputs, size_t n, tl_merge_input **out,
                             tl_error *err)
{
    *out = NULL;
    if (engine->n_sequence_fields > 0 || n < 2)
        return TL_OK;
    TL_CLEANUP(tl_freep) tl_merge_input *sorted = tl_memdup(inputs, n * sizeof *sorted);
    if (sorted == NULL)
        return tl_nomem(err, "merge");
    qsort(sorted, n, sizeof *sorted, compare_min_seq);
    for (size_t i = 1; i < n; i++)
        if (sorted[i].min_seq <= sorted[i - 1].max_seq)
            return TL_OK;
    *out = TL_STEAL(sorted);
    return TL_OK;
}

tl_status tl_merge_in_order(const tl_merge_engine *engine, const tl_merge_input *inputs, int32_t n, bool *out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_merge_input *sorted = NULL;
    TL_TRY(sort_inputs(engine, inputs, (size_t)n, &sorted, err));
    *out = sorted != NULL;
    return TL_OK;
}

static tl_status order_inputs(merge_reader *m, tl_merge_input *inputs, uint32_t n, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_merge_input *sorted = NULL;
    TL_TRY(sort_inputs(m->engine, inputs, n, &sorted, err));
    m->runs_in_order = sorted != NULL;
    if (m->runs_in_order)
        memcpy(inputs, sorted, n * sizeof *sorted);
    return TL_OK;
}

tl_status tl_merge_open(const tl_type *row_type, const tl_merge_spec *spec, tl_merge_input *inputs, int32_t n, tl_reader **out,
                        tl_error *err)
{
    uint32_t n_runs = (uint32_t)TL_MAX(n, 0);
    merge_run *runs = tl_calloc(TL_MAX(n_runs, 1), sizeof *runs);
    merge_reader *m = runs == NULL ? NULL : tl_calloc(1, sizeof *m);
    if (m == NULL) {
        for (uint32_t r = 0; r < n_runs; r++)
            tl_reader_free(inputs[r].reader);
        tl_free(runs);
        return tl_nomem(err, "merge");
    }
    m->base.ops = &merge_ops;
    m->base.type = tl_type_ref(row_type);
    m->engine = tl_merge_engine_ref((tl_merge_engine *)spec->engine);
    m->n_keys = spec->n_keys;
    m->drop_deletes = spec->drop_deletes;
    m->buffer_order = spec->buffer_order;
    m->batch_rows = (uint32_t)(spec->batch_rows <= 0 ? TL_BATCH_ROWS : TL_MIN(spec->batch_rows, 1 << 20));
    if (spec->hook != NULL)
        m->hook = *spec->hook;
    m->runs = runs;
    m->n_runs = n_runs;
    m->last_run = UINT32_MAX;
    tl_status status = order_inputs(m, inputs, n_runs, err);
    for (uint32_t r = 0; r < n_runs; r++)
        m->runs[r] = (merge_run){.reader = inputs[r].reader, .level = inputs[r].level, .source = MERGE_NO_SOURCE};
    if (status == TL_OK && !alloc_reader(m, spec, n_runs))
        status = tl_nomem(err, "merge");
    if (status != TL_OK) {
        merge_free(&m->base);
        return status;
    }
    *out = &m->base;
    return TL_OK;
}
