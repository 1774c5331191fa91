"""What the Python peers share: words, clocks, input, and the JSON line that every peer prints for one repetition.

Called as `PEER_peer.py COMMAND KEY=VALUE…` with the words of ../tidelake_bench.c; data=FOLDER holds one Arrow file for each commit
(arrow_input.py), mapped, so that nothing is decoded inside the measured time.
"""
import glob
import json
import os
import resource
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc

COMMAND = sys.argv[1] if len(sys.argv) > 1 else ""
WORDS = dict(word.split("=", 1) for word in sys.argv[2:])
THREE = ["order_id", "city", "amount"]


def word(key, otherwise=None):
    return WORDS.get(key, otherwise)


def repetitions():
    return range(int(word("reps", "3")))


def written():
    with open("/proc/self/io") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("wchar:"))


class Clock:
    def __init__(self, peer):
        used = resource.getrusage(resource.RUSAGE_SELF)
        self.peer, self.wchar, self.user, self.system, self.start = peer, written(), used.ru_utime, used.ru_stime, time.perf_counter()

    def done(self, rep, **more):
        wall, used = time.perf_counter() - self.start, resource.getrusage(resource.RUSAGE_SELF)
        line = {"peer": self.peer, "w": word("w"), "rep": rep, "wall": round(wall, 4), "user": round(used.ru_utime - self.user, 3),
                "sys": round(used.ru_stime - self.system, 3), "rss_mb": used.ru_maxrss // 1024, "wchar": written() - self.wchar}
        print(json.dumps({**line, **more}), flush=True)


def commits():
    for path in sorted(glob.glob(os.path.join(word("data"), "*.arrow"))):
        with pa.memory_map(path) as mapped:
            yield pa.ipc.open_file(mapped).read_all()


def small_commits():
    """The first rows of the input, in pieces for W7."""
    n, per, skip = int(word("commits", "200")), int(word("rows", "1000")), int(word("skip", "0"))
    source = pa.concat_tables(list(commits()))
    assert source.num_rows >= (skip + n) * per, "the input is too short"
    return [source.slice((skip + k) * per, per).combine_chunks() for k in range(n)]


def files(folder):
    found = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    return {"files": len(found), "bytes": sum(map(os.path.getsize, found))}


def quantiles(seconds):
    s = sorted(seconds)
    return {"p50_us": round(s[len(s) // 2] * 1e6, 1), "p99_us": round(s[int(len(s) * .99)] * 1e6, 1), "max_us": round(s[-1] * 1e6, 1)}


def add(sums, batch):
    """Rows and the two sums that show that the columns are really there."""
    sums["rows"] = sums.get("rows", 0) + batch.num_rows
    sums["sum_id"] = sums.get("sum_id", 0) + (pc.sum(batch.column("order_id")).as_py() or 0)
    sums["sum_amount"] = sums.get("sum_amount", 0) + int((pc.sum(batch.column("amount")).as_py() or 0) * 100)


def last_of_key(table):
    """Rows without those that a later row of the same key replaces: merges by others refuse or double them."""
    import numpy as np
    keys = table.column("order_id").to_numpy()
    _, first = np.unique(keys[::-1], return_index=True)
    return table.take(np.sort(len(keys) - 1 - first))
