#include "merge/loser_tree.h"

void tl_merge__tree_build(loser_tree *tree, uint32_t *scratch)
{
    uint32_t n = tree->n;
    for (uint32_t s = 0; s < n; s++)
        scratch[n + s] = s;
    for (uint32_t node = n - 1; node > 0; node--) {
        uint32_t a = scratch[2 * node], b = scratch[2 * node + 1];
        bool first = tree_less(&tree->slots[a], &tree->slots[b]);
        scratch[node] = first ? a : b;
        tree->losers[node] = first ? b : a;
    }
    tree->winner = n == 1 ? 0 : scratch[1];
}

uint32_t tl_merge__tree_second(const loser_tree *tree)
{
    /* Whoever would win without the winner has lost against it: it stands on the winner's path. */
    uint32_t node = (tree->n + tree->winner) / 2, second = tree->losers[node];
    for (node /= 2; node > 0; node /= 2)
        if (tree_less(&tree->slots[tree->losers[node]], &tree->slots[second]))
            second = tree->losers[node];
    return second;
}
