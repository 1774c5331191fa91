#!/usr/bin/env python3
"""Tables with VECTOR columns, written by the program and by the reference, read and checked by both: vectors.py ORACLE TIDELAKE.

Every element type, beside other columns and in files of their own (avro, json), in append and keyed tables. Each table gets the same rows three
times: from the program, from the reference, from the program again; after that both must read the same, whole and by column, and both fscks must
be content. Then what the one refuses the other must refuse, too."""

import json
import os
import shutil
import sys
import tempfile

from random_vectors import Oracle, Ours

ELEMENTS = {"BOOLEAN": [True, False], "TINYINT": [-128, 127], "SMALLINT": [-32768, 32767], "INT": [-(2**31), 2**31 - 1],
            "BIGINT": [-(2**63), 2**63 - 1], "FLOAT": [0.1, -1e30], "DOUBLE": [1e-300, "NaN"]}
EVOLUTION = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
PLAIN = [("id", "INT"), ("a", "VECTOR<FLOAT, 3>"), ("s", "STRING"), ("b", "VECTOR<BIGINT NOT NULL, 1>")]
ROWS = [{"id": 1, "a": [1, 2.5, -3], "s": "x", "b": [5]}, {"id": 2}, {"id": 3, "a": [0, 0, 0], "s": None, "b": [-7]}]
EVERY = [("id", "INT")] + [(f"v{i}", f"VECTOR<{t}, 2>") for i, t in enumerate(ELEMENTS)]
EVERY_ROWS = [{"id": 1} | {f"v{i}": v for i, v in enumerate(ELEMENTS.values())}, {"id": 2}]
NESTED = [("id", "INT"), ("r", "ROW<x INT, v VECTOR<DOUBLE, 2>>")]
NESTED_ROWS = [{"id": 1, "r": {"x": 1, "v": [0.5, -0.25]}}, {"id": 2, "r": {"x": 2, "v": None}}, {"id": 3, "r": None}]
TABLES = {
    "every": (EVERY, EVERY_ROWS, [], {"file.format": "avro"}),
    "nested": (NESTED, NESTED_ROWS, [], {"file.format": "avro"}),
    "keyed": (PLAIN, ROWS, ["id"], {"file.format": "avro", "bucket": "1", "changelog-producer": "lookup"}),
    "parts": (PLAIN, ROWS, ["id"], {"file.format": "avro", "bucket": "1", "merge-engine": "partial-update"}),
    "evolution": (PLAIN, ROWS, [], {"file.format": "avro", **EVOLUTION}),
    "apart_avro": (EVERY, EVERY_ROWS, [], {"vector.file.format": "avro", **EVOLUTION}),
    "apart_json": (PLAIN, ROWS, [], {"vector.file.format": "json", "file.format": "orc", "file.compression": "gzip", "orc.compress": "zlib", **EVOLUTION}),
    "apart_blob": (PLAIN + [("p", "BLOB")], [r | {"p": "00ff"} for r in ROWS], [], {"vector.file.format": "avro", "vector-field": "a,b", **EVOLUTION}),
}
VECTOR = [("id", "INT"), ("v", "VECTOR<INT, 2>")]
REFUSED = {
    "parquet": (VECTOR, {}), "orc": (VECTOR, {"file.format": "orc"}), "csv": (VECTOR, {"file.format": "csv"}),
    "nested": (NESTED, {"vector.file.format": "avro", **EVOLUTION}), "apart": (VECTOR, {"vector.file.format": "avro"}),
    "apart_parquet": (VECTOR, {"vector.file.format": "parquet", **EVOLUTION}), "unknown": (VECTOR, {"file.format": "avro", "vector-field": "x"}),
    "no_vector": (VECTOR, {"file.format": "avro", "vector-field": "v,id"}), "spaces": (VECTOR, {"file.format": "avro", "vector-field": "v, id"}),
}
CHANGES = [("VECTOR<INT, 3>", False), ("VECTOR<BIGINT, 2>", False), ("ARRAY<INT>", False), ("STRING", False)]


class Pair:
    def __init__(self, oracle, ours, folder):
        self.oracle, self.ours, self.folder, self.bad = Oracle(oracle), Ours(ours), folder, 0

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def wrong(self, text):
        self.bad += 1
        print(text)

    def must(self, who, command, *words):
        ok, out = who.run(command, self.folder, *words)
        if not ok:
            self.wrong(f"{type(who).__name__}: {command} {words}: {out}")
        return out if ok else []

    def create(self, who, name, columns, keys, options):
        schema = {"columns": [{"name": c, "type": t + (" NOT NULL" if c in keys else "")} for c, t in columns], "primaryKeys": keys, "options": options}
        return who.run("create", self.folder, name, self.file("schema.json", json.dumps(schema)))[0]

    def table(self, name, columns, rows, keys, options):
        rows_file = self.file("rows.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
        if not self.create(self.ours if len(name) % 2 else self.oracle, f"db.{name}", columns, keys, options):
            return self.wrong(f"{name}: not created")
        for who in (self.ours, self.oracle, self.ours):
            self.must(who, "write", f"db.{name}", rows_file)
        want = sorted(self.must(self.oracle, "read", f"db.{name}"))
        for some in [[]] + [["--columns", c] for c, _ in columns if not options.get("vector.file.format")]: # by column the reference loses rows there
            one = sorted(self.must(self.oracle, "read", f"db.{name}", *some))
            if one != sorted(self.must(self.ours, "read", f"db.{name}", *some)):
                self.wrong(f"{name} {some}: the reference reads {one}, tidelake {self.must(self.ours, 'read', f'db.{name}', *some)}")
        if len(want) != (len(rows) if keys else 3 * len(rows)):
            self.wrong(f"{name}: {len(want)} rows: {want}")
        for who in (self.oracle, self.ours):
            self.must(who, "fsck", f"db.{name}")
        for change, fine in CHANGES if name == "every" else []:
            changes = self.file("changes.json", json.dumps([{"op": "updateType", "name": "v3", "type": change}]))
            for who in (self.oracle, self.ours):
                if who.run("alter", self.folder, f"db.{name}", changes)[0] != fine:
                    self.wrong(f"{type(who).__name__}: VECTOR<INT, 2> to {change}: not {fine}")

    def refusals(self):
        for name, (columns, options) in REFUSED.items():
            for who in (self.oracle, self.ours):
                if self.create(who, f"db.no_{name}", columns, [], options):
                    self.wrong(f"{type(who).__name__}: {columns} {options}: was not refused")


def main():
    folder = tempfile.mkdtemp(prefix="vectors-")
    pair = Pair(sys.argv[1], sys.argv[2], folder)
    for name, (columns, rows, keys, options) in TABLES.items():
        pair.table(name, columns, rows, keys, options)
    pair.refusals()
    if not pair.bad:
        shutil.rmtree(folder)
    print(f"{len(TABLES)} tables, {len(REFUSED)} refusals, {pair.bad} differences" + (f" ({folder})" if pair.bad else ""))
    return 1 if pair.bad else 0


if __name__ == "__main__":
    sys.exit(main())
