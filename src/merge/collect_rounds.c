/*
 * Groups in rounds, for keys that are numbers. A round takes of all runs the rows up to a key (the cut) such that no run
 * gives more than its share, and sorts them together: a radix sort of some thousand keys in the cache costs less than as
 * many steps of a loser tree, whose comparisons no processor can foresee. If only one run has rows up to the cut, they are
 * taken as they stand.
 */
#include "merge/reader_private.h"

/* An output with less room than this is closed rather than filled by ever smaller rounds. */
#define ROOM_MIN(batch_rows) ((batch_rows) / 8)

static tl_status reserve_round(merge_round *round, uint32_t rows, tl_error *err)
{
    if (round->cap >= rows)
        return TL_OK;
    uint32_t cap = TL_MAX(rows, 2 * TL_BATCH_ROWS);
    tl_free(round->keys);
    tl_free(round->refs);
    tl_free(round->order);
    tl_free(round->starts);
    round->keys = tl_alloc(cap * sizeof *round->keys);
    round->refs = tl_alloc(cap * sizeof *round->refs);
    round->order = tl_alloc(cap * sizeof *round->order);
    round->starts = tl_alloc(((size_t)cap + 1) * sizeof *round->starts);
    round->cap = cap;
    if (round->keys != NULL && round->refs != NULL && round->order != NULL && round->starts != NULL)
        return TL_OK;
    round->cap = 0;
    return tl_nomem(err, "merge");
}

/* The largest key such that each run has at most `share` different keys up to it in its batch. */
static bool find_cut(const merge_reader *m, uint32_t share, uint64_t *cut)
{
    bool any = false;
    for (uint32_t r = 0; r < m->n_runs; r++) {
        const merge_run *run = &m->runs[r];
        if (run->batch == NULL)
            continue;
        uint64_t last = run->keys->fixed[TL_MIN(run->batch->n_rows, (int64_t)run->row + share) - 1];
        *cut = any ? TL_MIN(*cut, last) : last;
        any = true;
    }
    return any;
}

/* First row from `row` on whose key is above the cut. */
static uint32_t find_limit(const uint64_t *keys, uint32_t row, uint32_t n_rows, uint64_t cut)
{
    uint32_t step = 1, low = row;
    while (low + step < n_rows && keys[low + step - 1] <= cut) {
        low += step;
        step *= 2;
    }
    uint32_t high = TL_MIN(n_rows, low + step);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (keys[mid] <= cut)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Limits of all runs; returns the rows of the round, and in *alone the only run that has any (MERGE_NO_SOURCE: several). */
static uint32_t find_limits(merge_reader *m, uint64_t cut, uint32_t *alone)
{
    uint32_t rows = 0, n = 0;
    *alone = MERGE_NO_SOURCE;
    for (uint32_t r = 0; r < m->n_runs; r++) {
        const merge_run *run = &m->runs[r];
        if (run->batch == NULL)
            continue;
        uint32_t limit = find_limit(run->keys->fixed, run->row, (uint32_t)run->batch->n_rows, cut);
        m->round.limits[r] = limit;
        if (limit == run->row)
            continue;
        rows += limit - run->row;
        *alone = n++ == 0 ? r : MERGE_NO_SOURCE;
    }
    return rows;
}

static tl_status load_round(merge_reader *m, tl_error *err)
{
    merge_round *round = &m->round;
    uint32_t at = 0;
    for (uint32_t r = 0; r < m->n_runs; r++) {
        merge_run *run = &m->runs[r];
        if (run->batch == NULL || run->row == round->limits[r])
            continue;
        TL_TRY(tl_merge__use_source(m, run, err));
        memcpy(round->keys + at, run->keys->fixed + run->row, (round->limits[r] - run->row) * sizeof *round->keys);
        for (uint32_t row = run->row; row < round->limits[r]; row++)
            round->refs[at++] = (tl_rowref){run->source, row};
    }
    return TL_OK;
}

/* Adds the rows of the round as groups; the order of rows with one key is by run, then as they came. */
static tl_status add_sorted(merge_reader *m, uint32_t rows, tl_error *err)
{
    merge_round *round = &m->round;
    uint32_t n_groups = 0, from = m->n_refs;
    TL_TRY(reserve_round(round, rows, err));
    TL_TRY(load_round(m, err));
    tl_keys keys = {.count = rows, .is_fixed = true, .fixed = round->keys};
    TL_TRY(tl_keys_sort_groups(&keys, round->order, round->starts, &n_groups, err));
    TL_TRY(tl_merge__reserve_refs(m, rows, err));
    for (uint32_t i = 0; i < rows; i++)
        m->refs[from + i] = round->refs[round->order[i]];
    for (uint32_t g = 0; g < n_groups; g++) {
        uint32_t first = from + round->starts[g];
        m->n_refs = from + round->starts[g + 1];
        m->starts[m->n_groups++] = first;
        if (m->n_refs - first > 1 && !merge_group_in_order(m, first))
            TL_TRY(merge_order_group(m, first, err));
    }
    return TL_OK;
}

/* One run alone may go on to the least key of the others, as far as there is room. */
static uint32_t extend_limit(const merge_reader *m, uint32_t alone, uint32_t room)
{
    const merge_run *run = &m->runs[alone];
    uint64_t least = UINT64_MAX;
    bool others = false;
    for (uint32_t r = 0; r < m->n_runs; r++) {
        if (r == alone || m->runs[r].batch == NULL)
            continue;
        least = TL_MIN(least, m->runs[r].keys->fixed[m->runs[r].row]);
        others = true;
    }
    uint32_t end = (uint32_t)TL_MIN(run->batch->n_rows, (int64_t)run->row + room), limit = m->round.limits[alone];
    if (limit >= end || (others && least == 0))
        return limit;
    uint32_t extended = find_limit(run->keys->fixed, limit, (uint32_t)run->batch->n_rows, others ? least - 1 : UINT64_MAX);
    if (extended <= end)
        return extended;
    /* Cut by the room, but not between rows of one key. */
    while (end > limit && run->keys->fixed[end] == run->keys->fixed[end - 1])
        end--;
    return end;
}

/* A round of one run. Rows whose key comes again go through the sort, which finds them in order already. */
static tl_status add_alone(merge_reader *m, uint32_t alone, uint64_t *cut, tl_error *err)
{
    merge_run *run = &m->runs[alone];
    uint32_t limit = extend_limit(m, alone, m->batch_rows - m->n_groups), rows = limit - run->row;
    m->round.limits[alone] = limit;
    *cut = run->keys->fixed[limit - 1];
    uint32_t n = tl_merge__count_unique(run->keys, run->row, limit) + 1;
    return n == rows ? tl_merge__add_stretch(m, run, run->row, n, err) : add_sorted(m, rows, err);
}

/* If the run, at the start of a batch, goes on with the key of the last group, its rows join that group. */
static tl_status join_last_group(merge_reader *m, merge_run *run, uint64_t cut, tl_error *err)
{
    uint32_t before = m->n_refs;
    while (run->batch != NULL && run->keys->fixed[run->row] == cut) {
        TL_TRY(tl_merge__use_source(m, run, err));
        TL_TRY(tl_merge__reserve_refs(m, 1, err));
        m->refs[m->n_refs++] = (tl_rowref){run->source, run->row};
        if (++run->row == run->batch->n_rows)
            TL_TRY(tl_merge__load_batch(m, run, err));
    }
    return m->n_refs == before ? TL_OK : merge_order_group(m, m->starts[m->n_groups - 1], err);
}

static tl_status advance_runs(merge_reader *m, uint64_t cut, tl_error *err)
{
    for (uint32_t r = 0; r < m->n_runs; r++) {
        merge_run *run = &m->runs[r];
        if (run->batch == NULL)
            continue;
        run->row = m->round.limits[r];
        if (run->row < run->batch->n_rows)
            continue;
        TL_TRY(tl_merge__load_batch(m, run, err));
        TL_TRY(join_last_group(m, run, cut, err));
    }
    return TL_OK;
}

static uint32_t count_alive(const merge_reader *m)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < m->n_runs; r++)
        n += m->runs[r].batch != NULL;
    return n;
}

tl_status tl_merge__collect_rounds(merge_reader *m, tl_error *err)
{
    for (;;) {
        uint32_t room = m->batch_rows - m->n_groups, alive = count_alive(m), alone;
        uint64_t cut;
        if (room == 0 || (m->n_groups > 0 && (room < ROOM_MIN(m->batch_rows) || room < alive)) || tl_merge__ends_as_slice(m))
            break;
        /* With more runs than room, one row a run may still be too many groups: then only the smallest keys are taken. */
        if (!find_cut(m, TL_MAX(room / TL_MAX(alive, 1), 1), &cut))
            break;
        uint32_t rows = find_limits(m, cut, &alone);
        TL_TRY(alone == MERGE_NO_SOURCE ? add_sorted(m, rows, err) : add_alone(m, alone, &cut, err));
        TL_TRY(advance_runs(m, cut, err));
    }
    m->starts[m->n_groups] = m->n_refs;
    return TL_OK;
}
