#!/usr/bin/env python3
"""Random histories of append tables whose files are sorted, clustered, imported and cloned, by tidelake and the Java reference in turn.

random_layout.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

After each step both programs must read the rows that a list of them in memory has; at the end both programs' fsck must be content. A
table that differs is told by its seed and left in place.
"""
import glob
import json
import os
import shutil
import sys

from random_vectors import Difference, main_of, manifests

ORDERS = ["order", "zorder", "hilbert"]


class Table:
    def __init__(self, rng, oracle, ours, folder):
        self.rng, self.oracle, self.ours, self.folder = rng, oracle, ours, folder
        self.lake, self.name, self.rows, self.n = folder + "/lake", "db.t", [], 0
        self.format = rng.choice(["parquet", "parquet", "orc", "avro"])
        self.partitioned = rng.random() < 0.5
        options = {"file.format": self.format, "target-file-size": rng.choice(["2 kb", "128 mb"]), "write-buffer-size": rng.choice(["4 kb", "64 mb"]),
                   "page-size": "1 kb", "num-sorted-run.compaction-trigger": rng.choice(["2", "3"])}
        self.deletes = rng.random() < 0.5
        if self.deletes:
            options["deletion-vectors.enabled"] = "true"
        if rng.random() < 0.4:
            options["clustering.incremental"] = "true"
            options["clustering.columns"] = rng.choice(["k", "k,n", "v,k,n"])
        self.buckets = not self.deletes and rng.random() < 0.3  # clustered by their writers, too
        if self.buckets:
            options.update({"bucket": rng.choice(["1", "2"]), "bucket-key": "k", "bucket-append-ordered": "false"})
        columns = [{"name": "p", "type": "INT"}, {"name": "k", "type": "INT"}, {"name": "v", "type": "STRING"}, {"name": "n", "type": "BIGINT"},
                   {"name": "d", "type": "DOUBLE"}]
        options.update(manifests(rng))
        schema = {"columns": columns, "partitionKeys": ["p"] if self.partitioned else [], "options": options}
        self.must(self.oracle.run("create", self.lake, self.name, self.file("schema.json", [schema])))

    def file(self, name, lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)
        return path

    @staticmethod
    def must(result):
        assert result[0], result[1]
        return result[1]

    def row(self):
        rng = self.rng
        return {"p": rng.choice([1, 2, 3]), "k": rng.choice([None, rng.randrange(-50, 50)]), "v": rng.choice([None, "", "ab", "é" * rng.randrange(1, 30)]),
                "n": rng.choice([None, rng.randrange(-2**40, 2**40)]), "d": rng.choice([None, 0.5, -1e300, rng.random()])}

    def write(self):
        rows = [self.row() for _ in range(self.rng.randrange(1, 60))]
        path = self.file("rows.jsonl", rows)
        if self.rng.random() < 0.5:
            self.must(self.oracle.run("write", self.lake, self.name, path))
        else:
            self.must(self.ours.run("write", self.lake, self.name, path))
        self.rows += rows
        return "write"

    def compact(self):
        if self.rng.random() < 0.4:
            self.must(self.oracle.run("compact", self.lake, self.name, *self.rng.choice([[], ["--full"]])))
            return "the reference compacts"
        self.must(self.ours.run("compact", self.lake, self.name, *self.rng.choice([[], ["--full"]])))
        return "compact"

    def sort(self):
        columns = self.rng.sample(["k", "v", "n", "d"], self.rng.choice([2, 3, 4]))
        order = self.rng.choice(ORDERS)
        self.must(self.ours.run("compact", self.lake, self.name, "--order-strategy", order, "--order-by", ",".join(columns)))
        return f"sort by {order} of {columns}"

    def delete(self):
        k = self.rng.randrange(-50, 50)
        where = json.dumps(["<", "k", k] if self.rng.random() < 0.2 else ["=", "k", k])
        if self.deletes and self.rng.random() < 0.5:  # the reference's tool knows no copy on write
            self.must(self.oracle.run("delete", self.lake, self.name, "--where", where))
        else:
            self.must(self.ours.run("delete", self.lake, self.name, "--where", where))
        below = where.startswith('["<"')
        self.rows = [r for r in self.rows if r["k"] is None or not (r["k"] < k if below else r["k"] == k)]
        return "delete " + where

    def update(self):
        if not self.deletes:  # of tables with deletion vectors; else rows only go
            return self.delete()
        k, n, moves = self.rng.randrange(-50, 50), self.rng.randrange(1000), self.rng.random() < 0.3
        values = f"n = {n}" + (", p = 1 + MOD(p, 3)" if moves else "")
        self.must(self.ours.run("sql", self.lake, f"UPDATE lake.{self.name} SET {values} WHERE k < {k} AND d IS NOT NULL"))
        for r in self.rows:
            if r["k"] is not None and r["k"] < k and r["d"] is not None:
                r["n"] = n
                r["p"] = 1 + r["p"] % 3 if moves else r["p"]
        return "update " + values

    def bring(self):
        """Files that the reference or we wrote for another table, in place or copied, in folders or not."""
        self.n += 1
        other, rows = f"db.other{self.n}", [self.row() for _ in range(self.rng.randrange(1, 40))]
        columns = [c for c in ("p", "k", "v", "n", "d") if c != "p" or not self.partitioned]
        types = {"p": "INT", "k": "INT", "v": "STRING", "n": "BIGINT", "d": "DOUBLE"}
        if self.partitioned:
            rows = [{**r, "p": 2} for r in rows]
        schema = {"columns": [{"name": c, "type": types[c]} for c in columns], "options": {"file.format": self.rng.choice(["parquet", "orc", "avro"])}}
        path = self.file("other.jsonl", [{c: r[c] for c in columns} for r in rows])
        side, first = (self.oracle.run, "create") if self.rng.random() < 0.5 else (lambda c, *w: self.ours.run(c, *w), "create")
        self.must(side(first, self.lake, other, self.file("other.json", [schema])))
        self.must(side("write", self.lake, other, path))
        folder = os.path.join(self.folder, f"in{self.n}") + ("/p=2" if self.partitioned else "")
        os.makedirs(folder)
        for file in glob.glob(f"{self.lake}/db.db/other{self.n}/bucket-0/data-*"):
            shutil.copy(file, folder)
        in_place = ["--in-place"] if self.rng.random() < 0.7 else []
        self.must(self.ours.run("import", self.lake, self.name, os.path.join(self.folder, f"in{self.n}"), *in_place))
        self.rows += rows
        return "import " + " ".join(in_place)

    def clone(self):
        """Goes on with the copy."""
        self.n += 1
        target = os.path.join(self.folder, f"lake{self.n}")
        self.must(self.ours.run("clone", self.lake, self.name, target, f"db.t{self.n}"))
        self.lake, self.name = target, f"db.t{self.n}"
        return "clone"

    def check(self, what):
        want = sorted(json.dumps(r, sort_keys=True) for r in self.rows)
        for side in (self.oracle, self.ours):
            got = sorted(json.dumps(json.loads(line), sort_keys=True) for line in self.must(side.run("read", self.lake, self.name)))
            assert got == want, f"after {what}: {type(side).__name__} reads {len(got)} rows, wanted {len(want)}"

    def fsck(self):
        for side in (self.oracle, self.ours):
            self.must(side.run("fsck", self.lake, self.name))


def history(rng, oracle, ours, folder, steps):
    done = []
    try:
        table = Table(rng, oracle, ours, folder)
        for _ in range(steps):
            steps_of = [table.write, table.write, table.compact, table.delete, table.update, table.clone]
            step = rng.choice(steps_of + ([] if table.buckets else [table.sort, table.bring]))
            done.append(step())
            table.check(done[-1])
        table.fsck()
    except AssertionError as e:
        raise Difference(f"{e}\n  {done}") from e


if __name__ == "__main__":
    sys.exit(main_of(history, "layout", steps=15))
