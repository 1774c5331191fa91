/*
 * Loser tree: the smallest head of several sorted runs, with one comparison a level when the winner moves on.
 *
 * Slots are numbered 0..n-1 in the order of the runs; ties go to the smaller slot. Inner node i has the loser of its two
 * subtrees, head included, so that a level costs one load; leaf s stands at n+s. Which of two wins is as good as random, so
 * keys that are numbers are compared and swapped without a branch. A slot that has run out is taken away by building the
 * tree again: rarer than a sentinel test in each comparison is dear.
 */
#ifndef TL_MERGE_LOSER_TREE_H
#define TL_MERGE_LOSER_TREE_H

#include "types/key.h"

typedef struct tree_slot {
    uint64_t head;       /* tl_keys.fixed of the current row */
    const tl_keys *keys; /* of the run's current batch */
    uint32_t row;
    uint32_t run; /* the owner's number */
} tree_slot;

typedef struct tree_node {
    uint64_t head;
    uint64_t slot;
} tree_node;

typedef struct loser_tree {
    tree_slot *slots;
    tree_node *losers; /* [1..n) */
    uint32_t n;
    uint32_t winner;
    bool is_fixed; /* heads are whole keys */
} loser_tree;

/* Order of two slots of equal heads by the rest of their keys, then by slot. */
static inline bool tree_tie_less(const loser_tree *tree, uint32_t a, uint32_t b)
{
    const tree_slot *x = &tree->slots[a], *y = &tree->slots[b];
    int c = tree->is_fixed ? 0 : tl_bytes_compare(tl_keys_bytes(x->keys, x->row), tl_keys_bytes(y->keys, y->row));
    return c != 0 ? c < 0 : a < b;
}

static inline bool tree_less(const loser_tree *tree, uint32_t a, uint32_t b)
{
    uint64_t x = tree->slots[a].head, y = tree->slots[b].head;
    return x != y ? x < y : tree_tie_less(tree, a, b);
}

static inline void tree_replay_fixed(loser_tree *tree)
{
    uint64_t slot = tree->winner, head = tree->slots[slot].head;
    for (uint64_t i = (tree->n + slot) / 2; i > 0; i /= 2) {
        tree_node node = tree->losers[i];
        /* All ones if the loser of before wins now. */
        uint64_t swap = -(uint64_t)((node.head < head) | ((node.head == head) & (node.slot < slot)));
        uint64_t head_diff = (node.head ^ head) & swap, slot_diff = (node.slot ^ slot) & swap;
        tree->losers[i] = (tree_node){node.head ^ head_diff, node.slot ^ slot_diff};
        head ^= head_diff;
        slot ^= slot_diff;
    }
    tree->winner = (uint32_t)slot;
}

/* The winner's slot has a new head: find the new winner. */
static inline void tree_replay(loser_tree *tree)
{
    if (tree->is_fixed) {
        tree_replay_fixed(tree);
        return;
    }
    uint32_t winner = tree->winner;
    for (uint32_t i = (tree->n + winner) / 2; i > 0; i /= 2) {
        uint32_t loser = (uint32_t)tree->losers[i].slot;
        if (tree_less(tree, loser, winner)) {
            tree->losers[i] = (tree_node){tree->slots[winner].head, winner};
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
