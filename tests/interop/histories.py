#!/usr/bin/env python3
"""Random histories of all kinds of tables, written by tidelake and the Java reference in turn.

histories.py ORACLE TIDELAKE SEED N [KIND...]

N histories of each kind, by turns, with the seeds from SEED on. All go through one process of the reference: most of what a short run
takes is the compilation of its code. A history is had again by the program of its kind with its seed. Ends with a line for each kind:
'KIND: N histories, M differ'.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../table"))

import evolution_histories  # noqa: E402
import random_chains  # noqa: E402
import random_clustering  # noqa: E402
import random_evolution  # noqa: E402
import random_expiry  # noqa: E402
import random_layout  # noqa: E402
import random_moves  # noqa: E402
import random_postpone  # noqa: E402
import random_vectors  # noqa: E402

KINDS = {
    "vectors": random_vectors,
    "evolution": evolution_histories,
    "expiry": random_expiry,
    "clustering": random_clustering,
    "row-ids": random_evolution,
    "layout": random_layout,
    "postpone": random_postpone,
    "moves": random_moves,
    "chains": random_chains,
}
STEPS = 12


def main():
    oracle, ours = random_vectors.Oracle(sys.argv[1]), random_vectors.Ours(sys.argv[2])
    first, count, kinds = int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:] or list(KINDS)
    failed = dict.fromkeys(kinds, 0)
    for seed in range(first, first + count):
        for kind in kinds:
            failed[kind] += not random_vectors.run_history(KINDS[kind].history, oracle, ours, kind, seed, STEPS)
    for kind in kinds:
        print("%s: %d histories, %d differ" % (kind, count, failed[kind]))
    return any(failed.values())


if __name__ == "__main__":
    sys.exit(main())
