/*
 * Loser tree: the smallest head of several sorted runs, with one comparison a level when the winner moves on.
 *
 * Heads are uint64 keys; equal ones are told apart by the owner's comparison (longer keys, then the run's number). Slots are
 * numbered 0..n-1; inner node i has the loser of its two subtrees, and leaf s stands at n+s. A slot that has run out is
 * taken away by building the tree again without it: rarer than a sentinel test in each comparison is dear.
 */
#ifndef TL_MERGE_LOSER_TREE_H
#define TL_MERGE_LOSER_TREE_H

#include "types/key.h"

typedef struct tree_slot {
    uint64_t head;       /* tl_keys.fixed of the current row */
    const tl_keys *keys; /* of the run's current batch */
    uint32_t row;
    uint32_t run; /* the owner's number: ties go to the smaller */
} tree_slot;

typedef struct loser_tree {
    tree_slot *slots;
    uint32_t *losers; /* [1..n) */
    uint32_t n;
    uint32_t winner;
} loser_tree;

static inline int tree_compare_rest(const tree_slot *a, const tree_slot *b)
{
    return a->keys->is_fixed ? 0 : tl_bytes_compare(tl_keys_bytes(a->keys, a->row), tl_keys_bytes(b->keys, b->row));
}

/* Order of two slots by key alone. */
static inline int tree_compare(const tree_slot *a, const tree_slot *b)
{
    if (a->head != b->head)
        return a->head < b->head ? -1 : 1;
    return tree_compare_rest(a, b);
}

static inline bool tree_less(const tree_slot *a, const tree_slot *b)
{
    if (TL_LIKELY(a->head != b->head))
        return a->head < b->head;
    int c = tree_compare_rest(a, b);
    return c != 0 ? c < 0 : a->run < b->run;
}

/* The winner's slot has a new head: find the new winner. */
static inline void tree_replay(loser_tree *tree)
{
    uint32_t winner = tree->winner;
    for (uint32_t node = (tree->n + winner) / 2; node > 0; node /= 2) {
        uint32_t loser = tree->losers[node];
        if (tree_less(&tree->slots[loser], &tree->slots[winner])) {
            tree->losers[node] = winner;
            winner = loser;
        }
    }
    tree->winner = winner;
}

/** Build from the slots. `scratch` has room for 2n entries. */
void tl_merge__tree_build(loser_tree *tree, uint32_t *scratch);
/** The smallest slot besides the winner; n must be 2 at least. */
uint32_t tl_merge__tree_second(const loser_tree *tree);

#endif
