#!/usr/bin/env python3
"""Chain tables by tidelake and by the Java reference: random histories of both branches, each step done by either program.

random_chains.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

Each table has a main branch, a snapshot branch and a delta branch; its partitions are days, hours, or days of regions, and some
have names that no step of a chain leads to. Rows are written, deleted, overwritten and compacted and partitions are dropped; columns are
added, which gives the branches' schemas other numbers. Then both programs read the table, a few partitions, filters and $audit_log, and must
print the same. What one program refuses the other must refuse, too. Sequence values are unique: where they are the same the reference takes
a row by the state of its merge. A group has one partition in the snapshot branch: with several the reference takes any of them for the anchor
(it compares a row with itself where it sorts them).
"""
import json
import os
import sys

from random_vectors import Difference, main_of, manifests

SHAPES = {
    "day": {"partition": [("dt", "STRING")], "pattern": "$dt", "format": "yyyyMMdd", "chain": None},
    "date": {"partition": [("dt", "DATE")], "pattern": "$dt", "format": "yyyy-MM-dd", "chain": None},
    "hour": {"partition": [("dt", "STRING"), ("h", "STRING")], "pattern": "$dt $h:00:00", "format": "yyyyMMdd HH:mm:ss", "chain": None},
    "region": {"partition": [("r", "STRING"), ("dt", "INT")], "pattern": "$dt", "format": "yyyyMMdd", "chain": "dt"},
    "region-hour": {"partition": [("r", "INT"), ("dt", "STRING"), ("h", "INT")], "pattern": "$dt $h", "format": "yyyy-MM-dd H", "chain": "dt,h"},
}
ENGINES = [{}, {}, {"merge-engine": "partial-update"}, {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum",
                                                        "fields.v.aggregate-function": "last_value"}]


class History:
    def __init__(self, rng, oracle, ours, folder):
        self.rng, self.oracle, self.ours, self.name = rng, oracle, ours, "db.t"
        self.lake, self.path = os.path.join(folder, "lake"), os.path.join(folder, "rows")
        self.shape = SHAPES[rng.choice(list(SHAPES))]
        self.sequence = 0
        self.extra = []  # columns added later
        self.anchors = {}  # group -> partition of the snapshot branch
        self.log = []

    def ask(self, side, command, *words):
        return side.run(*command.split(), self.lake, *words) if side is self.oracle else side.run(command, self.lake, *words)

    def fail(self, what):
        raise Difference("%s\n  %s" % (what, "\n  ".join(self.log)))

    def both(self, *words):
        """The same by each program, which must agree."""
        answers = [self.ask(side, *words) for side in (self.oracle, self.ours)]
        if answers[0][0] != answers[1][0] or (answers[0][0] and answers[0][1] != answers[1][1]):
            self.fail("%s: the reference\n    %s\n  and we\n    %s" % (" ".join(words), answers[0][1], answers[1][1]))

    def one(self, *words, may_fail=False):
        side = self.rng.choice([self.oracle, self.ours])
        ok, answer = self.ask(side, *words)
        self.log.append("%s %s%s" % (type(side).__name__, " ".join(words), "" if ok else ": " + str(answer)))
        if not ok and not may_fail:
            self.fail("%s failed" % " ".join(words))
        return ok

    def day(self):
        return 20250825 + self.rng.randrange(12) if self.rng.random() < 0.9 else 20250899  # no day

    def partition(self):
        day = self.day()
        day = day - 31 + 100 if 20250831 < day < 20250899 else day  # into September
        values = []
        for name, kind in self.shape["partition"]:
            if name == "h":
                hour = self.rng.randrange(24)
                values.append(hour if kind == "INT" else "%02d" % hour)
            elif name == "r":
                values.append(self.rng.randrange(2) if kind == "INT" else self.rng.choice("ab"))
            elif kind == "DATE" or "h" in dict(self.shape["partition"]) and self.shape["format"].startswith("yyyy-"):
                day = day if day != 20250899 else 20250901
                values.append("%d-%02d-%02d" % (day // 10000, day // 100 % 100, day % 100))
            else:
                values.append(day if kind == "INT" else str(day))
        return dict(zip((name for name, _ in self.shape["partition"]), values))

    def group(self, partition):
        return partition.get("r")

    def rows(self, partition, deletes):
        out = []
        for key in self.rng.sample(range(8), self.rng.randrange(1, 6)):
            self.sequence += 1
            row = dict(partition, k=key, s=self.sequence, n=self.rng.randrange(100), v=self.rng.choice(["x", "y", "z", None]))
            row.update((name, self.sequence) for name in self.extra)
            if deletes and self.rng.random() < 0.2:
                row["_kind"] = "-D"
            out.append(json.dumps(row))
        return out

    def put(self, branch, partitions, *options):
        lines = [line for p in partitions for line in self.rows(p, self.deletes)]
        with open(self.path, "w") as f:
            f.write("\n".join(lines) + "\n")
        return self.one("write", self.name, self.path, "--branch", branch, *options)

    def create(self):
        partition = [n for n, _ in self.shape["partition"]]
        engine = self.rng.choice(ENGINES)
        self.deletes = not engine
        options = {"bucket": str(self.rng.randrange(1, 3)), "bucket-key": "k", "sequence.field": "s", "chain-table.enabled": "true",
                   "partition.timestamp-pattern": self.shape["pattern"], "partition.timestamp-formatter": self.shape["format"],
                   "file.format": self.rng.choice(["parquet", "orc", "avro"]), "partition.legacy-name": "false", **engine, **manifests(self.rng)}
        if self.shape["chain"]:
            options["chain-table.chain-partition-keys"] = self.shape["chain"]
        columns = [{"name": n, "type": t} for n, t in self.shape["partition"] + [("k", "INT"), ("s", "INT"), ("n", "INT"), ("v", "STRING")]]
        schema = {"columns": columns, "partitionKeys": partition, "primaryKeys": partition + ["k"], "options": options}
        with open(self.path, "w") as f:
            json.dump(schema, f)
        self.one("create", self.name, self.path)
        for branch in ("snap", "delta"):
            self.one("branch create", self.name, branch)
        self.alter([{"op": "setOption", "key": "scan.fallback-snapshot-branch", "value": "snap"},
                    {"op": "setOption", "key": "scan.fallback-delta-branch", "value": "delta"}])

    def alter(self, changes):
        with open(self.path, "w") as f:
            json.dump(changes, f)
        for branch in ("main", "snap", "delta"):
            self.one("alter", self.name, self.path, *([] if branch == "main" else ["--branch", branch]))

    def step(self):
        kind = self.rng.random()
        if kind < 0.55:
            self.put("delta", [self.partition() for _ in range(self.rng.randrange(1, 4))])
        elif kind < 0.75:
            partition = self.partition()
            self.put("snap", [self.anchors.setdefault(self.group(partition), partition)])
        elif kind < 0.8:
            self.put("main", [self.partition()])
        elif kind < 0.9:
            self.one("compact", self.name, "--full", "--branch", self.rng.choice(["snap", "delta"]))
        elif kind < 0.95:
            self.drop()
        elif len(self.extra) < 2:
            self.extra.append("e%d" % len(self.extra))
            for branch in self.rng.sample(["main", "snap", "delta"], 3):
                if self.rng.random() < 0.5:  # numbers of schemas part
                    self.alter_one(branch, [{"op": "setOption", "key": "comment.%s" % self.extra[-1], "value": "1"}])
                self.alter_one(branch, [{"op": "addColumn", "name": self.extra[-1], "type": "INT"}])

    def alter_one(self, branch, changes):
        with open(self.path, "w") as f:
            json.dump(changes, f)
        self.one("alter", self.name, self.path, *([] if branch == "main" else ["--branch", branch]))

    def drop(self):
        """Only what both refuse or neither: asked of the program that answers without doing it first."""
        partition = self.partition()
        partition = self.anchors.get(self.group(partition), partition)
        spec = json.dumps({k: str(v) for k, v in partition.items()})
        ok = self.one("drop-partition", self.name, spec, "--branch", "snap", may_fail=True)
        if not ok:
            done = [self.ask(side, "drop-partition", self.name, spec, "--branch", "snap")[0] for side in (self.oracle, self.ours)]
            if any(done):
                self.fail("drop-partition %s is refused by one program only" % spec)
        elif self.anchors.get(self.group(partition)) == partition:
            del self.anchors[self.group(partition)]

    def read(self):
        self.both("read", self.name)
        self.both("read", self.name + "$audit_log")
        self.both("read", self.name, "--branch", "delta")
        for _ in range(3):
            where = ["and"] + [["=", name, value] for name, value in self.partition().items()]
            self.both("read", self.name, "--where", json.dumps(where if len(where) > 2 else where[1]))
        self.both("read", self.name, "--where", json.dumps(["=", "k", self.rng.randrange(8)]))


def history(rng, oracle, ours, folder, steps):
    h = History(rng, oracle, ours, folder)
    h.create()
    for i in range(steps):
        h.step()
        if i % 12 == 11 and i + 1 < steps:
            h.read()
    h.read()


if __name__ == "__main__":
    sys.exit(main_of(history, "chains", steps=24))
