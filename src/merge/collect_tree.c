/*
 * Groups out of a loser tree: keys of any form. When one run wins several times in a row, the rows below all other heads
 * are found by a galloping search and taken as a whole.
 */
#include "merge/reader_private.h"

/* Wins in a row before the galloping search is tried. */
#define GALLOP_AFTER 6

static void set_slot(merge_reader *m, uint32_t slot, uint32_t run_no, uint32_t row)
{
    const tl_keys *keys = m->runs[run_no].keys;
    m->tree.slots[slot] = (tree_slot){keys->fixed[row], keys, row, run_no};
}

void tl_merge__start_tree(merge_reader *m)
{
    for (uint32_t r = 0; r < m->n_runs; r++)
        if (m->runs[r].batch != NULL)
            set_slot(m, m->tree.n++, r, 0);
    if (m->tree.n > 0)
        tl_merge__tree_build(&m->tree, m->tree_scratch);
}

/* Moves the winner's slot on to `row`, into its next batch if need be. */
static tl_status advance(merge_reader *m, uint32_t row, tl_error *err)
{
    tree_slot *slot = &m->tree.slots[m->tree.winner];
    merge_run *r = &m->runs[slot->run];
    if (row < r->batch->n_rows) {
        slot->row = row;
        slot->head = slot->keys->fixed[row];
        tree_replay(&m->tree);
        return TL_OK;
    }
    TL_TRY(tl_merge__load_batch(m, r, err));
    if (r->batch != NULL) {
        set_slot(m, m->tree.winner, slot->run, 0);
        tree_replay(&m->tree);
        return TL_OK;
    }
    m->tree.n--; /* the others keep their order */
    memmove(slot, slot + 1, (size_t)(m->tree.n - m->tree.winner) * sizeof *slot);
    if (m->tree.n > 0)
        tl_merge__tree_build(&m->tree, m->tree_scratch);
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
    merge_run *r = &m->runs[slot->run];
    TL_TRY(tl_merge__use_source(m, r, err));
    TL_TRY(tl_merge__reserve_refs(m, 1, err));
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
    if (m->n_refs - from == 1)
        return TL_OK;
    m->wins = 0;
    return merge_group_in_order(m, from) ? TL_OK : merge_order_group(m, from, err);
}

/* First row from `row` on whose key is not below `limit` (NULL: none); at most `end`. */
static uint32_t find_limit(const tl_keys *keys, uint32_t row, uint32_t end, const tree_slot *limit)
{
    if (limit == NULL)
        return end;
    uint32_t step = 1, low = row; /* rows before low are below */
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

/* Takes rows of the winner that are below all other heads, one group each; *taken says whether there were any. */
static tl_status gallop(merge_reader *m, bool *taken, tl_error *err)
{
    tree_slot *slot = &m->tree.slots[m->tree.winner];
    merge_run *r = &m->runs[slot->run];
    const tree_slot *second = m->tree.n > 1 ? &m->tree.slots[tl_merge__tree_second(&m->tree)] : NULL;
    uint32_t row = slot->row, room = m->batch_rows - m->n_groups;
    uint32_t end = (uint32_t)TL_MIN(r->batch->n_rows, (int64_t)row + room + 1);
    uint32_t n = tl_merge__count_unique(slot->keys, row, find_limit(slot->keys, row, end, second));
    *taken = n > 0;
    if (n < GALLOP_AFTER)
        m->wins = 0; /* short stretches are cheaper row by row */
    if (n == 0)
        return TL_OK;
    TL_TRY(tl_merge__add_stretch(m, r, row, n, err));
    return advance(m, row + n, err);
}

tl_status tl_merge__collect_tree(merge_reader *m, tl_error *err)
{
    while (m->tree.n > 0 && m->n_groups < m->batch_rows && !tl_merge__ends_as_slice(m)) {
        bool taken = false;
        if (m->wins >= GALLOP_AFTER || m->tree.n == 1)
            TL_TRY(gallop(m, &taken, err));
        if (!taken)
            TL_TRY(collect_group(m, err));
    }
    m->starts[m->n_groups] = m->n_refs;
    return TL_OK;
}
