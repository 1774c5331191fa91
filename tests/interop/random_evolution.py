#!/usr/bin/env python3
"""Random histories of tables with row tracking and data evolution, written by the Java reference and by tidelake in turn.

random_evolution.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

Rows are appended, columns are written onto rows that are there, UPDATE changes some, columns change, files are compacted. A model of the rows tells what
both programs must read after each step, with filters and projections, and which ids rows have; at the end the fscks of both must be
content. A table that differs is told by its seed and left in place.
"""
import json
import os
import sys

from random_vectors import Difference, main_of, manifests


class Model:
    """Rows in the order of their ids; files as ranges of ids that columns can be written onto."""

    def __init__(self, columns):
        self.columns = columns  # [name, type]
        self.rows = []
        self.ranges = []  # first id, count

    def append(self, rows):
        self.ranges.append((len(self.rows), len(rows)))
        self.rows += rows

    def lines(self, columns, keep=lambda row: True, ids=False):
        out = []
        for i, row in enumerate(self.rows):
            if keep(row):
                line = {c: row.get(c) for c in columns}
                if ids:
                    line["_ROW_ID"] = i
                out.append(json.dumps(line, separators=(",", ":")))
        return sorted(out)


def value(rng, kind):
    if rng.random() < 0.15:
        return None
    if kind in ("INT", "BIGINT"):
        return rng.randrange(-50, 50)
    if kind == "VECTOR<INT, 3>":
        return [rng.randrange(-50, 50) for _ in range(3)]
    if kind in ("BLOB", "OUTSIDE"):
        return "".join(f"{rng.randrange(256):02x}" for _ in range(rng.choice([0, 1, 20, 200])))
    return "s" + str(rng.randrange(30))


def has_side_files(kind):
    """Such a column cannot be written onto rows that are there."""
    return kind in ("BLOB", "VECTOR<INT, 3>")


def literal_of(v, kind):
    if v is None:
        return "NULL"
    if kind == "OUTSIDE":
        return f"x'{v}'"
    return f"ARRAY{v}" if isinstance(v, list) else f"'{v}'" if isinstance(v, str) else str(v)


class Table:
    def __init__(self, rng, oracle, ours, folder):
        self.rng, self.oracle, self.ours, self.warehouse = rng, oracle, ours, folder
        columns = [["id", "INT"], ["a", "STRING"], ["n", "INT"]] + ([["pic", "BLOB"]] if rng.random() < 0.5 else []) + [["z", "STRING"]]
        if rng.random() < 0.4:  # a BLOB whose bytes lie outside, its descriptors with the other columns
            columns.insert(rng.randrange(1, 4), ["ext", "OUTSIDE"])
        apart = self.vectors_apart = rng.random() < 0.5  # vectors have files of their own
        if apart:
            columns.insert(rng.randrange(1, 4), ["v", "VECTOR<INT, 3>"])
        self.model = Model(columns)
        self.next_id = self.next_name = 0
        self.renamed = self.gaps = False
        options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "file.format": rng.choice(["parquet", "orc", "avro"]),
                   "compaction.min.file-num": rng.choice(["2", "3"]), "blob.target-file-size": rng.choice(["60 b", "1 kb", "1 mb"]),
                   "target-file-size": rng.choice(["600 b", "1 mb"]), "source.split.open-file-cost": "100 b",
                   "metadata.stats-mode": rng.choice(["full", "truncate(16)", "none"])}
        options.update(manifests(rng))
        if apart:
            options |= {"vector.file.format": rng.choice(["avro", "json"]), "vector.target-file-size": rng.choice(["60 b", "1 mb"])}
            options |= {"file.compression": "none"} if options["vector.file.format"] == "json" and options["file.format"] != "avro" else {"vector.file.format": "avro"}
        if ["ext", "OUTSIDE"] in columns:
            options |= {"blob-descriptor-field": "ext", "blob-external-storage-field": "ext", "blob-external-storage-path": f"file:{folder}/outside"}
        types = [{"name": c, "type": "BLOB" if t == "OUTSIDE" else t} for c, t in columns]
        self.file("schema.json", json.dumps({"columns": types, "options": options}))
        self.by_either("create", "schema.json")

    def file(self, name, text):
        with open(os.path.join(self.warehouse, name), "w") as f:
            f.write(text)

    def by_either(self, command, *words, refusal=None):
        """Whoever's turn it is must do it, or be the reference and refuse it with those words."""
        who = self.rng.choice([self.oracle, self.ours])
        words = [os.path.join(self.warehouse, w) if w.endswith((".json", ".jsonl")) else w for w in words]
        ok, out = who.run(command, self.warehouse, "db.t", *words)
        if not ok and not (refusal and who is self.oracle and refusal in out):
            raise AssertionError(f"{type(who).__name__}: {command} {words}: {out}")

    def write(self, rows, *words):
        self.file("rows.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
        self.by_either("write", "rows.jsonl", "--compact", "auto", *words)

    def append(self, columns=None):
        rows = []
        for _ in range(self.rng.choice([1, 2, 5, 40])):
            rows.append({c: self.next_id if c == "id" else value(self.rng, t) for c, t in self.model.columns if columns is None or c in columns})
            self.next_id += 1
        self.write(rows, *(["--columns", ",".join(columns)] if columns else []))
        self.model.append(rows)

    def append_some(self):
        plain = [c for c, t in self.model.columns if not has_side_files(t)]
        some = self.rng.sample(plain, self.rng.randrange(1, len(plain) + 1))
        some += [c for c, t in self.model.columns if t.startswith("VECTOR")]  # without, the reference looks for it in Parquet files
        self.append(some if "id" in some else some + ["id"])
        self.gaps = any(has_side_files(t) for _, t in self.model.columns)

    def onto(self):
        if not self.model.ranges:
            return
        first, count = self.rng.choice(self.model.ranges)
        plain = [[c, t] for c, t in self.model.columns if not has_side_files(t) and c != "id"]
        columns = self.rng.sample(plain, self.rng.randrange(1, len(plain) + 1))
        rows = [{c: value(self.rng, t) for c, t in columns} for _ in range(count)]
        self.write(rows, "--columns", ",".join(c for c, _ in columns), "--first-row-id", str(first))
        for i, row in enumerate(rows):
            self.model.rows[first + i].update(row)

    def update(self):
        plain = [[c, t] for c, t in self.model.columns if t != "BLOB" and c != "id"]
        columns = self.rng.sample(plain, self.rng.randrange(1, min(3, len(plain)) + 1))
        values = {c: value(self.rng, t) for c, t in columns}
        kinds = dict(columns)
        every, rest = self.rng.randrange(1, 6), self.rng.randrange(3)
        sets = ", ".join(f"{c} = " + literal_of(v, kinds[c]) for c, v in values.items())
        ok, out = self.ours.run("sql", self.warehouse, "--database", "db", f"UPDATE t SET {sets} WHERE MOD(id, {every}) = {rest}")
        if not ok:
            raise AssertionError(f"Ours: UPDATE t SET {sets}: {out}")
        for row in self.model.rows:
            if row["id"] % every == rest:
                row.update(values)

    def alter(self):
        kind = self.rng.choice(["add", "rename", "type", "drop"])
        plain = [c for c in self.model.columns if not has_side_files(c[1]) and c[0] != "id" and c[1] != "OUTSIDE"]
        column = self.rng.choice(plain)
        self.next_name += 1
        name = f"c{self.next_name}"
        if kind == "add":
            added = [name, self.rng.choice(["INT", "STRING"])]
            self.model.columns.append(added)
            change = {"op": "addColumn", "name": name, "type": added[1]}
        elif kind == "rename":
            for row in self.model.rows:
                if column[0] in row:
                    row[name] = row.pop(column[0])
            change = {"op": "renameColumn", "name": column[0], "to": name}
            column[0] = name
            self.renamed = True
        elif kind == "type" and column[1] == "INT":
            column[1] = "BIGINT"
            change = {"op": "updateType", "name": column[0], "type": "BIGINT"}
        elif kind == "drop" and len(plain) > 3:
            self.model.columns.remove(column)
            for row in self.model.rows:
                row.pop(column[0], None)
            change = {"op": "dropColumn", "name": column[0]}
        else:
            return
        self.file("changes.json", json.dumps([change]))
        self.by_either("alter", "changes.json")

    def compact(self):
        if self.gaps:  # the reference puts rows with and without blob files into one file, which it cannot read
            ok, out = self.ours.run("compact", self.warehouse, "db.t")
            if not ok:
                raise AssertionError(f"Ours: compact: {out}")
        else:
            # Where files of vectors have other rows than the data file beside them, the reference takes its own compaction for a conflict.
            self.by_either("compact", refusal="multiple 'MERGE INTO' and 'COMPACT' operations" if self.vectors_apart else None)
        ok, out = self.ours.run("read", self.warehouse, "db.t$files", "--columns", "first_row_id,record_count,file_path")
        files = {(f["first_row_id"], f["record_count"]) for f in map(json.loads, out) if not f["file_path"].endswith(".blob") and ".vector." not in f["file_path"]}
        self.model.ranges = sorted(files)

    def check(self):
        names = [c for c, _ in self.model.columns]
        column, kind = self.rng.choice(self.model.columns)
        some = self.rng.sample(names, self.rng.randrange(1, len(names) + 1))
        tests = [("db.t", names, lambda row: True, [], False), ("db.t$row_tracking", some, lambda row: True, [], True)]
        if not has_side_files(kind) and kind != "OUTSIDE":
            literal = value(self.rng, kind) or ("s1" if kind == "STRING" else 1)
            tests.append(("db.t", some, lambda row: row.get(column) == literal, ["--where", json.dumps(["=", column, literal])], False))
        tests.append(("db.t", names, lambda row: row.get(column) is None, ["--where", json.dumps(["isNull", column])], False))
        for table, columns, keep, where, ids in tests:
            want = self.model.lines(columns, keep, ids)
            words = ["--columns", ",".join(columns + (["_ROW_ID"] if ids else [])), *where]
            for who in (self.ours, self.oracle):
                if who is self.oracle and (columns is some or self.renamed):
                    continue  # it passes over files that hold none of the columns, by their present names, and loses rows and values
                allowed = ["--option", f"blob-descriptor.allowed-paths={self.warehouse}"] if who is self.ours else []
                ok, got = who.run("read", self.warehouse, table, *words, *allowed)
                if not ok or sorted(got) != want:
                    raise AssertionError(f"{type(who).__name__}: read {table} {words}: {got if not ok else [g for g in got if g not in want][:5]}, wanted "
                                         f"{want[:5]} ({len(want)})")


def history(rng, oracle, ours, folder, steps):
    done = []
    try:
        table = Table(rng, oracle, ours, folder)
        for _ in range(steps):
            step = rng.choice([table.append, table.append, table.append_some, table.onto, table.update, table.update, table.alter, table.compact])
            done.append(step.__name__)
            step()
            table.check()
        for who in (oracle, ours):
            ok, out = who.run("fsck", folder, "db.t", "--all")
            if not ok:
                raise AssertionError(f"{type(who).__name__}: fsck: {out}")
    except AssertionError as e:
        raise Difference(f"after {' '.join(done)}: {e}") from e


if __name__ == "__main__":
    sys.exit(main_of(history, "row-ids"))
