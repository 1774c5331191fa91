/*
 * Merging sorted runs into one: groups of equal keys are collected from the heads of a loser tree, and each output batch
 * is merged column by column.
 *
 * Batches of the inputs stay alive while groups of the next output refer to them (`sources`). When one run wins several
 * times in a row, the rows below all other heads are found by a galloping search and taken as a whole; if the output then
 * is one stretch of an input batch, it ends there and is a slice of it, without copying a value.
 */
#include "merge/loser_tree.h"
#include "merge/merge_private.h"

/* Wins in a row before the galloping search is tried. */
#define GALLOP_AFTER 6
#define NO_SOURCE UINT32_MAX

/* One input and its current batch. */
typedef struct run {
    tl_reader *reader;
    int32_t level;
    tl_batch *batch;
    tl_keys *keys;
    uint32_t source; /* its number among the sources of the output, NO_SOURCE: not referred to */
} run;

/* A batch that groups of the output refer to. */
typedef struct source {
    tl_batch *batch;
    tl_keys *keys;
    bool retired; /* its run has gone on: freed after the output is built */
} source;

typedef struct merge_reader {
    tl_reader base;
    tl_merge_engine *engine;
    int32_t *key_idx;
    int32_t n_keys;
    bool drop_deletes;
    bool buffer_order;
    uint32_t batch_rows;
    tl_group_hook hook; /* merge NULL: none */
    const tl_column **key_cols; /* scratch */
    uint32_t n_runs;
    run *runs;
    loser_tree tree;
    uint32_t *tree_scratch;
    bool started;
    /* the output being collected */
    source *sources;
    const tl_batch **source_batches;
    int32_t *source_levels;
    uint32_t n_sources, cap_sources;
    tl_rowref *refs;
    uint32_t n_refs, cap_refs;
    uint32_t *starts; /* batch_rows + 1 */
    uint32_t n_groups;
    const tl_keys *group_keys; /* key of the group being collected */
    uint32_t group_row;
    uint32_t wins; /* in a row, of the run last_run */
    uint32_t last_run;
} merge_reader;

/* ---- inputs ---- */

static void drop_batch(run *r, merge_reader *m)
{
    if (r->source != NO_SOURCE) {
        m->sources[r->source].retired = true;
    } else {
        tl_batch_free(r->batch);
        tl_keys_free(r->keys);
    }
    r->batch = NULL;
    r->keys = NULL;
    r->source = NO_SOURCE;
}

/* The run's next batch that has rows; leaves batch NULL at the end. */
static tl_status load_batch(merge_reader *m, run *r, tl_error *err)
{
    if (r->batch != NULL)
        drop_batch(r, m);
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(r->reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        if (batch->n_rows == 0)
            continue;
        for (int32_t k = 0; k < m->n_keys; k++)
            m->key_cols[k] = batch->cols[m->key_idx[k]];
        TL_TRY(tl_keys_create(m->key_cols, m->n_keys, batch->n_rows, &r->keys, err));
        r->batch = TL_STEAL(batch);
        return TL_OK;
    }
}

static void set_slot(merge_reader *m, uint32_t slot, uint32_t run_no, uint32_t row)
{
    const tl_keys *keys = m->runs[run_no].keys;
    m->tree.slots[slot] = (tree_slot){keys->fixed[row], keys, row, run_no};
}

static tl_status start(merge_reader *m, tl_error *err)
{
    m->started = true;
    m->tree.n = 0;
    for (uint32_t r = 0; r < m->n_runs; r++) {
        TL_TRY(load_batch(m, &m->runs[r], err));
        if (m->runs[r].batch != NULL)
            set_slot(m, m->tree.n++, r, 0);
    }
    if (m->tree.n > 0)
        tl_merge__tree_build(&m->tree, m->tree_scratch);
    return TL_OK;
}

/* Moves the winner's slot on to `row`, into its next batch if need be. */
static tl_status advance(merge_reader *m, uint32_t row, tl_error *err)
{
    tree_slot *slot = &m->tree.slots[m->tree.winner];
    run *r = &m->runs[slot->run];
    if (row < r->batch->n_rows) {
        slot->row = row;
        slot->head = slot->keys->fixed[row];
        tree_replay(&m->tree);
        return TL_OK;
    }
    TL_TRY(load_batch(m, r, err));
    if (r->batch != NULL) {
        set_slot(m, m->tree.winner, slot->run, 0);
        tree_replay(&m->tree);
        return TL_OK;
    }
    m->tree.slots[m->tree.winner] = m->tree.slots[--m->tree.n];
    if (m->tree.n > 0)
        tl_merge__tree_build(&m->tree, m->tree_scratch);
    return TL_OK;
}

/* ---- groups ---- */

static tl_status grow_sources(merge_reader *m, tl_error *err)
{
    uint32_t cap = m->cap_sources == 0 ? 16 : m->cap_sources * 2;
    source *sources = tl_realloc(m->sources, cap * sizeof *sources);
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

static tl_status use_source(merge_reader *m, run *r, tl_error *err)
{
    if (r->source != NO_SOURCE)
        return TL_OK;
    if (m->n_sources == m->cap_sources)
        TL_TRY(grow_sources(m, err));
    r->source = m->n_sources++;
    m->sources[r->source] = (source){r->batch, r->keys, false};
    m->source_batches[r->source] = r->batch;
    m->source_levels[r->source] = r->level;
    return TL_OK;
}

static tl_status reserve_refs(merge_reader *m, uint32_t extra, tl_error *err)
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

/* Whether the winner's head continues the group being collected. */
static bool continues_group(const merge_reader *m)
{
    const tree_slot *slot = &m->tree.slots[m->tree.winner];
    return slot->head == m->group_keys->fixed[m->group_row] &&
           tl_keys_compare(slot->keys, slot->row, m->group_keys, m->group_row) == 0;
}

static tl_status add_winner(merge_reader *m, tl_error *err)
{
    const tree_slot *slot = &m->tree.slots[m->tree.winner];
    run *r = &m->runs[slot->run];
    TL_TRY(use_source(m, r, err));
    TL_TRY(reserve_refs(m, 1, err));
    m->refs[m->n_refs++] = (tl_rowref){r->source, slot->row};
    return advance(m, slot->row + 1, err);
}

static tl_status collect_group(merge_reader *m, tl_error *err)
{
    const tree_slot *slot = &m->tree.slots[m->tree.winner];
    uint32_t from = m->n_refs;
    m->group_keys = slot->keys;
    m->group_row = slot->row;
    m->wins = slot->run == m->last_run ? m->wins + 1 : 0;
    m->last_run = slot->run;
    m->starts[m->n_groups] = from;
    do {
        TL_TRY(add_winner(m, err));
    } while (m->tree.n > 0 && continues_group(m));
    m->n_groups++;
    if (m->n_refs - from > 1) {
        m->wins = 0;
        return tl_merge__order_records(m->engine, m->buffer_order, m->source_batches, m->refs + from, m->n_refs - from, err);
    }
    return TL_OK;
}

/* First row from `row` on whose key is not below `limit` (NULL: none); at most `end`. */
static uint32_t find_limit(const tl_keys *keys, uint32_t row, uint32_t end, const tree_slot *limit)
{
    if (limit == NULL)
        return end;
    uint32_t step = 1, low = row; /* rows up to low are below */
    while (end - low > step && tl_keys_compare(keys, low + step, limit->keys, limit->row) < 0) {
        low += step;
        step *= 2;
    }
    uint32_t high = TL_MIN(end, low + step);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (tl_keys_compare(keys, mid, limit->keys, limit->row) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Rows from `row` on whose neighbours differ from them, so that each is a group of its own. */
static uint32_t count_unique(const tl_keys *keys, uint32_t row, uint32_t end)
{
    uint32_t i = row + 1;
    if (keys->is_fixed)
        while (i < end && keys->fixed[i] != keys->fixed[i - 1])
            i++;
    else
        while (i < end && tl_keys_compare(keys, i, keys, i - 1) != 0)
            i++;
    /* The last of them is left to collect_group(): what follows it may be equal. */
    return i - 1 - row;
}

/* Takes rows of the winner that are below all other heads, one group each; *taken says whether there were any. */
static tl_status gallop(merge_reader *m, bool *taken, tl_error *err)
{
    tree_slot *slot = &m->tree.slots[m->tree.winner];
    run *r = &m->runs[slot->run];
    const tree_slot *second = m->tree.n > 1 ? &m->tree.slots[tl_merge__tree_second(&m->tree)] : NULL;
    uint32_t row = slot->row, room = m->batch_rows - m->n_groups;
    uint32_t end = (uint32_t)TL_MIN(r->batch->n_rows, (int64_t)row + room + 1);
    uint32_t n = count_unique(slot->keys, row, find_limit(slot->keys, row, end, second));
    *taken = n > 0;
    if (n == 0) {
        m->wins = 0;
        return TL_OK;
    }
    TL_TRY(use_source(m, r, err));
    TL_TRY(reserve_refs(m, n, err));
    for (uint32_t i = 0; i < n; i++) {
        m->starts[m->n_groups + i] = m->n_refs + i;
        m->refs[m->n_refs + i] = (tl_rowref){r->source, row + i};
    }
    m->n_refs += n;
    m->n_groups += n;
    if (n < GALLOP_AFTER)
        m->wins = 0; /* short stretches are cheaper row by row */
    return advance(m, row + n, err);
}

/* The groups so far are one stretch up to the end of an input batch: worth an output of their own, which is a slice. */
static bool ends_as_slice(const merge_reader *m)
{
    if (m->n_groups == 0 || m->n_refs != m->n_groups)
        return false;
    tl_rowref first = m->refs[0], last = m->refs[m->n_refs - 1];
    return m->sources[last.src].retired && m->n_refs >= m->batch_rows / 8 && first.src == last.src && last.row - first.row == m->n_refs - 1;
}

static tl_status collect(merge_reader *m, tl_error *err)
{
    while (m->tree.n > 0 && m->n_groups < m->batch_rows) {
        bool taken = false;
        if (m->wins >= GALLOP_AFTER || m->tree.n == 1)
            TL_TRY(gallop(m, &taken, err));
        if (!taken)
            TL_TRY(collect_group(m, err));
        if (ends_as_slice(m))
            break;
    }
    m->starts[m->n_groups] = m->n_refs;
    return TL_OK;
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
        m->runs[r].source = NO_SOURCE;
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
        TL_TRY(collect(m, err));
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
    return m->key_idx != NULL && m->key_cols != NULL && m->tree.slots != NULL && m->tree.losers != NULL && m->tree_scratch != NULL &&
           m->starts != NULL;
}

tl_status tl_merge_open(const tl_type *row_type, const tl_merge_spec *spec, tl_merge_input *inputs, int32_t n, tl_reader **out, tl_error *err)
{
    uint32_t n_runs = (uint32_t)TL_MAX(n, 0);
    run *runs = tl_calloc(TL_MAX(n_runs, 1), sizeof *runs);
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
    for (uint32_t r = 0; r < n_runs; r++)
        m->runs[r] = (run){.reader = inputs[r].reader, .level = inputs[r].level, .source = NO_SOURCE};
    if (!alloc_reader(m, spec, n_runs)) {
        merge_free(&m->base);
        return tl_nomem(err, "merge");
    }
    *out = &m->base;
    return TL_OK;
}
