#!/usr/bin/env python3
"""Tidelake and the Java reference write, compact, expire and read one table at the same time, as processes; every row is counted.

at_once.py ORACLE TIDELAKE [SEED [OURS [THEIRS [COMMITS]]]]

OURS processes of tidelake (default 4) and THEIRS of the reference (default 2) make COMMITS commits each (default 10), while one of each
compacts, expires and reads. Every writer has keys of its own and raises their values, so what must be there in the end is known: in a
keyed table the last value of each key, in an append table every row once, in a changelog each value after the one before. A data
commit that fails is a failure, but where the reference's own commit gives up because its automatic compaction lost a race: it writes
its rows again, as a job that restarts does. Prints commits, seconds and commits a second for each table; the last line is
'N passed, N failed'.
"""
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

KEYS = 20  # of each writer
TABLES = {
    "keyed": {"primaryKeys": ["k"], "options": {"bucket": "2", "changelog-producer": "input"}},
    "append": {"options": {"bucket": "-1"}},
    "vectors": {"primaryKeys": ["k"], "options": {"bucket": "2", "deletion-vectors.enabled": "true"}},
    "write-only": {"primaryKeys": ["k"], "options": {"bucket": "3", "write-only": "true"}},
}


class Reference:
    """One process of the reference that takes one command after the other."""

    def __init__(self, path, warehouse):
        self.warehouse = warehouse
        self.process = subprocess.Popen([path, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self, command, *words):
        line = " ".join("'" + w.replace("'", "'\"'\"'") + "'" for w in (command, self.warehouse) + words)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        out = []
        for text in self.process.stdout:
            if text.startswith('{"_end"'):
                end = json.loads(text)
                return (True, out) if end["ok"] else (False, end.get("error", ""))
            out.append(text.rstrip("\n"))
        return False, "the reference has died"

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Tidelake:
    def __init__(self, path, warehouse):
        self.path, self.warehouse = path, warehouse

    def run(self, command, *words):
        done = subprocess.run([self.path, command, "--warehouse", self.warehouse, *words], capture_output=True, text=True)
        return (True, done.stdout.splitlines()) if done.returncode == 0 else (False, done.stderr.strip())

    def close(self):
        pass


class Writer(threading.Thread):
    def __init__(self, number, side, folder, commits, rng):
        super().__init__()
        self.number, self.side, self.folder, self.commits, self.rng = number, side, folder, commits, rng
        self.values, self.rows, self.problems, self.repeated = {}, collections.Counter(), [], 0

    def run(self):
        for commit in range(self.commits):
            keys = [self.number * KEYS + k for k in self.rng.sample(range(KEYS), 8)]
            rows = [{"k": k, "v": self.values.get(k, 0) + 1, "w": self.number} for k in keys]
            path = os.path.join(self.folder, "rows-%d-%d.jsonl" % (self.number, commit))
            with open(path, "w") as f:
                f.write("".join(json.dumps(r) + "\n" for r in rows))
            compact = self.rng.choice(["none", "none", "auto"])
            while True:
                # A user of its own: who commits under a name that another one uses at the same time takes that one's commits for its own.
                ok, why = self.side.run("write", "db.t", path, "--compact", compact, "--commit-user", "writer-%d" % self.number)
                if ok:
                    break
                if isinstance(self.side, Reference) and "onflict" in why and compact == "auto" and self.repeated < 20:
                    self.repeated += 1  # nothing of it is there: its commit is one
                    compact = "none"
                    continue
                self.problems.append("writer %d, commit %d: %s" % (self.number, commit, why[:500]))
                return
            for r in rows:
                self.values[r["k"]] = r["v"]
                self.rows[r["k"], r["v"]] += 1


class Busy(threading.Thread):
    """Compacts, expires and reads until it is told to stop; conflicts of compactions are nothing to complain of, unreadable tables are."""

    def __init__(self, side, rng):
        super().__init__()
        self.side, self.rng, self.stop, self.problems, self.done = side, rng, threading.Event(), [], collections.Counter()

    def run(self):
        while not self.stop.is_set():
            what = self.rng.choice(["compact", "compact", "expire", "read"])
            more = ["--full"] if what == "compact" and self.rng.random() < 0.3 else ["--retain-max", "60", "--retain-min", "60"] if what == "expire" else []
            ok, why = self.side.run(what, "db.t", *more)
            self.done[what] += ok
            if not ok and what != "compact" and "snapshot" not in why:  # a snapshot that expires while it is read says so
                self.problems.append("%s: %s" % (what, why[:500]))
            time.sleep(0.02)


def content(reader):
    ok, lines = reader.run("read", "db.t")
    if not ok:
        return None, lines
    return collections.Counter((r["k"], r["v"]) for r in map(json.loads, lines)), None


def judge(kind, writers, busy, ours, reference):
    problems = [p for t in writers + busy for p in t.problems]
    wanted = collections.Counter()
    for w in writers:
        wanted.update(w.rows if kind == "append" else w.values.items())
    for reader in (ours, reference):
        name = type(reader).__name__
        found, why = content(reader)
        if found is None:
            problems.append("%s cannot read: %s" % (name, why))
        elif found != wanted:
            problems.append("%s reads %d rows of %d: lost %s, too many %s" % (name, sum(found.values()), sum(wanted.values()),
                                                                              list((wanted - found).items())[:5], list((found - wanted).items())[:5]))
        ok, why = reader.run("fsck", "db.t")
        if not ok:
            problems.append("fsck of %s: %s" % (name, why))
    return problems


def one(kind, oracle, program, seed, n_ours, n_theirs, commits):
    folder = tempfile.mkdtemp(prefix="at-once-")
    warehouse = folder + "/lake"
    rng = random.Random("%s %s" % (kind, seed))
    ours = Tidelake(program, warehouse)
    theirs = [Reference(oracle, warehouse) for _ in range(n_theirs + 1)]
    schema = {"columns": [{"name": "k", "type": "INT"}, {"name": "v", "type": "INT"}, {"name": "w", "type": "INT"}], **TABLES[kind]}
    schema["options"] = {**schema["options"], "snapshot.num-retained.min": "1000", "snapshot.num-retained.max": "2000", "commit.max-retries": "100"}
    with open(folder + "/schema.json", "w") as f:
        json.dump(schema, f)
    ok, why = ours.run("create", "db.t", folder + "/schema.json")
    if not ok:
        sys.exit("create: %s" % why)
    writers = [Writer(i, side, folder, commits, random.Random(rng.random()))
               for i, side in enumerate([ours] * n_ours + theirs[:n_theirs])]
    busy = [Busy(ours, random.Random(rng.random())), Busy(theirs[-1], random.Random(rng.random()))]
    start = time.time()
    for t in writers + busy:
        t.start()
    for t in writers:
        t.join()
    took = time.time() - start
    for t in busy:
        t.stop.set()
        t.join()
    if kind == "vectors":  # rows are seen once they are compacted
        ok, why = ours.run("compact", "db.t", "--full")
    problems = [] if ok else ["compact: %s" % why]
    problems += judge(kind, writers, busy, ours, theirs[-1])
    for side in theirs:
        side.close()
    n = len(writers) * commits
    print("%s: %d commits of %d + %d processes in %.1f s, %.0f a second; %d written again; meanwhile %s" % (
        kind, n, n_ours, n_theirs, took, n / took, sum(w.repeated for w in writers), dict(busy[0].done + busy[1].done)), flush=True)
    for p in problems:
        print("  WRONG (seed %d, %s): %s" % (seed, folder, p))
    if not problems:
        shutil.rmtree(folder)
    return not problems


def main():
    oracle, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    seed, n_ours, n_theirs, commits = [int(sys.argv[i]) if len(sys.argv) > i else d for i, d in ((3, 1), (4, 4), (5, 2), (6, 10))]
    results = [one(kind, oracle, program, seed, n_ours, n_theirs, commits) for kind in TABLES]
    print("%d passed, %d failed" % (results.count(True), results.count(False)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
