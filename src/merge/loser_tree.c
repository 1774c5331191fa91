#include "merge/loser_tree.h"

void tl_merge__tree_build(loser_tree *tree, uint32_t *scratch)
{
    uint32_t n = tree->n;
    for (uint32_t s = 0; s < n; s++)
        scratch[n + s] = s;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t a = scratch[2 * i], b = scratch[2 * i + 1];
        bool first = tree_less(tree, a, b);
        uint32_t loser = first ? b : a;
        scratch[i] = first ? a : b;
        tree->losers[i] = (tree_node){tree->slots[loser].head, loser};
    }
    tree->winner = n == 1 ? 0 : scratch[1];
}

uint32_t tl_merge__tree_second(const loser_tree *tree)
{
    /* Whoever would win without the winner has lost against it: it stands on the winner's path. */
    uint32_t i = (tree->n + tree->winner) / 2, second = (uint32_t)tree->losers[i].slot;
    for (i /= 2; i > 0; i /= 2)
        if (tree_less(tree, (uint32_t)tree->losers[i].slot, second))
            second = (uint32_t)tree->losers[i].slot;
    return second;
}
