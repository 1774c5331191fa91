#!/usr/bin/env python3
"""Random histories of tables whose schema changes, written by turns by tidelake and by the Java reference, read by both.

evolution_histories.py ORACLE TIDELAKE [SEED [TABLES]]

Every change of the schema is done by both (by tidelake on a copy): they must agree whether it is allowed and on the new schema
file. Rows are written and compacted by either. After each step some reads must print the same: all columns or some, with filters,
older snapshots, incremental reads, the changelog, $audit_log, statistics in $files. Where the reference refuses to read a value,
tidelake must refuse, but for decimals that do not fit: those are NULL (tests/types/test_cast.c). A history that differs is left
in place, and its seed is printed.
"""
import copy
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../interop"))
import random_vectors  # noqa: E402

SCALARS = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(8, 2)", "DECIMAL(12, 4)", "DECIMAL(30, 3)", "DATE", "TIME(3)",
           "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "STRING", "VARCHAR(6)", "CHAR(4)", "BYTES", "VARBINARY(3)"]
NESTED = ["ROW<x INT, y STRING>", "ROW<x SMALLINT, z ROW<u INT, v STRING>>", "ARRAY<INT>", "ARRAY<ROW<a INT, b STRING>>", "MAP<STRING, INT>",
          "MAP<INT, ROW<p INT, q DOUBLE>>"]
WIDER = {"TINYINT": ["SMALLINT", "INT", "BIGINT", "STRING", "DOUBLE", "DECIMAL(8, 2)"], "SMALLINT": ["INT", "BIGINT", "TINYINT", "STRING"],
         "INT": ["BIGINT", "STRING", "DOUBLE", "DECIMAL(12, 4)", "SMALLINT", "TIMESTAMP(3)", "BOOLEAN"], "BIGINT": ["INT", "STRING", "DECIMAL(30, 3)", "TINYINT"],
         "FLOAT": ["DOUBLE", "INT", "STRING"], "DOUBLE": ["FLOAT", "BIGINT", "STRING"], "DECIMAL(8, 2)": ["DECIMAL(12, 4)", "DECIMAL(30, 3)", "STRING", "INT", "DOUBLE"],
         "DECIMAL(12, 4)": ["DECIMAL(30, 3)", "STRING", "BIGINT"], "DATE": ["STRING", "TIMESTAMP(3)", "TIMESTAMP(6)"], "TIME(3)": ["STRING"],
         "TIMESTAMP(3)": ["TIMESTAMP(6)", "STRING", "DATE", "BIGINT"], "TIMESTAMP(6)": ["TIMESTAMP(3)", "STRING", "DATE", "TIMESTAMP(6) WITH LOCAL TIME ZONE"],
         "VARCHAR(6)": ["STRING", "BYTES", "CHAR(4)"], "CHAR(4)": ["VARCHAR(6)", "STRING"], "VARBINARY(3)": ["BYTES", "STRING"], "BOOLEAN": ["STRING", "INT"],
         "STRING": ["VARCHAR(6)", "BYTES", "INT", "DATE"], "BYTES": ["STRING", "VARBINARY(3)"]}


class Oracle:
    def __init__(self, served):
        self.served = served

    def run(self, words):
        """Lines and the error, None if it went well."""
        ok, out = self.served.run(*words)
        return (out, None) if ok else ([], out)


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, words):
        args = [self.path, words[0], "--warehouse"] + words[1:] + (["--format", "jsonl"] if words[0] in ("read", "changelog") else [])
        p = subprocess.run(args, capture_output=True, env=dict(os.environ, TZ="UTC"), timeout=120)
        out = p.stdout.decode("utf-8", "replace").split("\n")[:-1]
        return out, None if p.returncode == 0 else p.stderr.decode("utf-8", "replace").strip()


# ---- types and values ----

def bare(kind):
    return kind.replace(" NOT NULL", "") if isinstance(kind, str) else kind


def scalar(rng, kind):
    small = rng.randint(-3, 6)
    if kind == "BOOLEAN":
        return rng.random() < 0.5
    if kind in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}[kind]
        return rng.choice([-2**bits, 2**bits - 1, rng.randint(-2**bits, 2**bits - 1)]) if rng.random() < 0.15 else small
    if kind in ("FLOAT", "DOUBLE"):
        return rng.choice([0, -0.0, 1.5, -2.25, 3.75, 100.5, small, small] + (["NaN", "Infinity"] if rng.random() < 0.1 else []))
    if kind.startswith("DECIMAL"):
        scale = int(kind.split(",")[1].strip(" )"))
        return "%d.%0*d" % (rng.choice([small, rng.randint(-99, 99), 999]), scale, rng.choice([0, 5, 25]))
    if kind == "DATE":
        return "%04d-01-%02d" % (rng.choice([1969, 1970, 2024]), rng.randint(1, 28))
    if kind.startswith("TIMESTAMP"):
        return "%04d-01-02T03:04:05.%s000" % (rng.choice([1969, 1999, 2024]), rng.choice(["000000", "123000", "120000" if "(3)" in kind else "123456"])) + ("Z" if "ZONE" in kind else "")
    if kind.startswith("TIME"):
        return "03:04:%02d.%s" % (rng.randint(0, 59), rng.choice(["000", "120", "123"]))
    if kind.startswith("CHAR"):
        return rng.choice(["abcd", "12 x", "üüüü"])  # $files shows bounds of CHAR without blanks at their ends
    if kind in ("STRING", "VARCHAR(6)"):
        return rng.choice(["", "a", "ab", "12", "7", "-3", "ü", "abcdef"] if rng.random() < 0.3 else ["1", "12", "7", "-3"])
    if kind in ("BYTES", "VARBINARY(3)"):
        return rng.choice(["", "31", "3132", "616263"])
    raise ValueError(kind)


def value(rng, kind, nullable=True):
    if nullable and rng.random() < 0.2:
        return None
    if isinstance(kind, str):
        return scalar(rng, bare(kind))
    name = bare(kind["type"])
    if name == "ROW":
        return {f["name"]: value(rng, f["type"]) for f in kind["fields"]}
    if name == "ARRAY":
        return [value(rng, kind["element"]) for _ in range(rng.randint(0, 3))]
    keys = rng.sample([1, 2, 3, 4] if bare(kind["key"]) == "INT" else ["a", "b", "c", "d"], rng.randint(0, 3))
    return [[k, value(rng, kind["value"])] for k in keys]


def paths(field_list, prefix=()):
    """Every ROW field below the columns, with its type and the fields beside it."""
    for f in field_list:
        yield prefix + (f["name"],), f["type"], field_list
        kind, path = f["type"], prefix + (f["name"],)
        while isinstance(kind, dict) and bare(kind["type"]) in ("ARRAY", "MAP"):
            step = "element" if bare(kind["type"]) == "ARRAY" else "value"
            path, kind = path + (step,), kind[step]
        if isinstance(kind, dict):
            yield from paths(kind["fields"], path)


def without_object_names(theirs, ours):
    """The bounds of bytes that were a text when they were written: the reference shows the name of a Java object, another one each time."""
    columns = {m.group(1) for line in theirs for m in re.finditer(r"(\w+)=\[B@[0-9a-f]+", line)}
    for column in columns:
        bound = re.compile(r'((?:min|max)_value_stats":"[^"]*?\b%s=)(?!null)[^,}]*' % column)
        theirs, ours = ([bound.sub(r"\1bytes", line) for line in lines] for lines in (theirs, ours))
    return theirs, ours


# ---- one history ----

class Differs(Exception):
    pass


def is_cast(error):
    """A value that is no value of the new type: the reference casts as late as it can, and so may not meet it."""
    return any(part in error for part in ("cast value", "annot cast from type", "cannot be read as", "For input string", "could not be parsed", "Cannot parse", "NullPointer"))


class History:
    def __init__(self, rng, oracle, program, folder):
        self.rng, self.oracle, self.program, self.base = rng, oracle, program, folder
        self.warehouse, self.table = self.base + "/warehouse", "db.t"
        self.log = open(self.base + "/log", "w")
        self.names, self.snapshots, self.reads = 0, 0, 0

    def schema(self, warehouse=None):
        folder = (warehouse or self.warehouse) + "/db.db/t/schema"
        return json.load(open("%s/schema-%d" % (folder, max(int(n[7:]) for n in os.listdir(folder) if n.startswith("schema-")))))

    def file(self, name, data):
        path = "%s/%s-%d" % (self.base, name, self.names)
        self.names += 1
        with open(path, "w") as f:
            f.write(data)
        return path

    def new_name(self):
        self.names += 1
        return "n%d" % self.names

    def run(self, who, words):
        out, error = who.run(words)
        self.log.write("%s %s%s\n" % (type(who).__name__, " ".join(shlex.quote(w) for w in words), "" if error is None else " FAILS " + error))
        self.log.flush()
        return out, error

    def either(self, words):
        _, error = self.run(self.rng.choice([self.oracle, self.program]), words)
        return error

    def create(self):
        rng = self.rng
        self.keyed = rng.random() < 0.6
        columns = [{"name": "k", "type": "INT NOT NULL"}, {"name": "k2", "type": rng.choice(["STRING", "BIGINT"]) + " NOT NULL"}]
        columns += [{"name": "c%d" % i, "type": rng.choice(NESTED if rng.random() < 0.4 else SCALARS)} for i in range(rng.randint(2, 7))]
        options = {"bucket": "1" if self.keyed else "-1", "file.format": rng.choice(["parquet", "parquet", "orc", "avro"]),
                   "metadata.stats-mode": rng.choice(["truncate(16)", "full", "counts", "none"]), "num-sorted-run.compaction-trigger": rng.choice(["2", "5"])}
        if rng.random() < 0.5:
            options["metadata.stats-dense-store"] = "false"
        if self.keyed:
            engine = rng.choice(["deduplicate", "deduplicate", "partial-update", "aggregation", "first-row"])
            options["merge-engine"] = engine
            if engine == "first-row":
                options["changelog-producer"] = rng.choice(["none", "lookup"])
            else:
                options["changelog-producer"] = rng.choice(["none", "input", "lookup", "full-compaction"] if engine == "deduplicate" else ["none", "lookup", "full-compaction"])
            columns.append({"name": "s", "type": "INT"})
            if engine == "deduplicate" and rng.random() < 0.5:
                options["sequence.field"] = "s"
            if engine == "partial-update" and rng.random() < 0.6:
                options["fields.s.sequence-group"] = "c0"
                if rng.random() < 0.5:
                    options["fields.c0.aggregate-function"] = "last_non_null_value"
            if engine == "aggregation":
                options["fields.s.aggregate-function"] = rng.choice(["sum", "max", "last_value"])
        rng.shuffle(columns)
        options.update(random_vectors.manifests(rng))
        schema = {"columns": columns, "partitionKeys": [], "primaryKeys": ["k", "k2"][:rng.randint(1, 2)] if self.keyed else [], "options": options, "comment": ""}
        error = self.either(["create", self.warehouse, self.table, self.file("schema", json.dumps(schema))])
        if error is not None:
            raise Differs("create: " + error)

    def rows(self):
        schema, lines = self.schema(), []
        keys = set(schema["primaryKeys"])
        engine = schema["options"].get("merge-engine")
        for _ in range(self.rng.randint(1, 12)):
            row = {}
            for f in schema["fields"]:
                nullable = "NOT NULL" not in (f["type"] if isinstance(f["type"], str) else f["type"]["type"])
                row[f["name"]] = value(self.rng, f["type"], nullable)
                if f["name"] in keys:
                    row[f["name"]] = self.rng.randint(0, 5) if bare(f["type"]) != "STRING" else self.rng.choice("abc")
            if keys and engine in (None, "deduplicate") and self.rng.random() < 0.15:
                row = dict({"_kind": "-D"}, **row)
            lines.append(json.dumps(row))
        return "\n".join(lines) + "\n"

    def write(self):
        words = ["write", self.warehouse, self.table, self.file("rows", self.rows()), "--compact", self.rng.choice(["none", "auto", "auto", "full" if self.keyed else "auto"])]
        error = self.either(words)
        if error is not None:
            raise StopIteration if is_cast(error) else Differs("write: " + error)  # no compaction any more: the history is over

    def compact(self):
        error = self.either(["compact", self.warehouse, self.table, "--full"])
        if error is not None:
            raise StopIteration if is_cast(error) else Differs("compact: " + error)

    def change(self):
        rng, fields = self.rng, self.schema()["fields"]
        every = list(paths(fields))
        path, kind, beside = rng.choice(every)
        name = list(path) if len(path) > 1 else path[0]
        op = rng.choice(["add", "add", "drop", "rename", "type", "type", "type", "move", "nullable", "comment", "default", "format", "option"])
        if op == "add":
            change = {"op": "addColumn", "name": list(path[:-1]) + [self.new_name()] if len(path) > 1 else self.new_name(), "type": rng.choice(SCALARS + NESTED)}
            change.update(rng.choice([{}, {"first": True}, {"after": rng.choice(beside)["name"]}]))
            return change
        if op == "drop":
            return {"op": "dropColumn", "name": name}
        if op == "rename":
            return {"op": "renameColumn", "name": name, "to": self.new_name()}
        if op == "type":
            inner, steps = kind, list(path)
            while isinstance(inner, dict) and bare(inner["type"]) in ("ARRAY", "MAP"):
                step = "element" if bare(inner["type"]) == "ARRAY" else "value"
                inner, steps = inner[step], steps + [step]
            target = rng.choice(WIDER.get(bare(inner), SCALARS) if isinstance(inner, str) else ["STRING"])
            return {"op": "updateType", "name": steps if len(steps) > 1 else steps[0], "type": target}
        if op == "move":
            return dict({"op": "moveColumn", "name": path[0]}, **rng.choice([{"first": True}, {"last": True}, {"after": rng.choice(fields)["name"]}]))
        if op == "nullable":
            return {"op": "updateNullability", "name": name, "nullable": rng.random() < 0.7}
        if op == "comment":
            return {"op": "updateComment", "name": name, "comment": "about " + path[-1]}
        if op == "default" and isinstance(kind, str) and len(path) == 1:
            return {"op": "updateDefault", "name": name, "default": rng.choice(["1", "12", "true", "2024-01-01", "zz"])}
        if op == "format":
            return {"op": "setOption", "key": "file.format", "value": rng.choice(["parquet", "orc", "avro"])}
        key, text = rng.choice([("snapshot.num-retained.max", "20"), ("metadata.stats-mode", "full"), ("target-file-size", "2 kb"), ("merge-engine", "first-row"),
                                ("sequence.field", "s"), ("num-sorted-run.compaction-trigger", "3")])
        return {"op": "setOption", "key": key, "value": text} if rng.random() < 0.8 else {"op": "removeOption", "key": key}

    def alter(self):
        changes = [self.change() for _ in range(self.rng.choice([1, 1, 2]))]
        path = self.file("changes", json.dumps(changes))
        other = self.base + "/copy"
        shutil.rmtree(other, ignore_errors=True)
        shutil.copytree(self.warehouse, other)
        _, theirs = self.run(self.oracle, ["alter", self.warehouse, self.table, path])
        _, ours = self.run(self.program, ["alter", other, self.table, path])
        if (theirs is None) != (ours is None):
            raise Differs("alter %s: the reference says %s, tidelake %s" % (json.dumps(changes), theirs, ours))
        a, b = self.schema(), self.schema(other)
        a.pop("timeMillis"), b.pop("timeMillis")
        if a != b:
            raise Differs("alter %s: schemas differ\n%s\n%s" % (json.dumps(changes), json.dumps(a), json.dumps(b)))

    def filter(self):
        rng, schema = self.rng, self.schema()
        fields = [f for f in schema["fields"] if isinstance(f["type"], str)]
        if not fields or rng.random() < 0.1:
            return json.dumps([rng.choice(["isNull", "isNotNull"]), rng.choice(schema["fields"])["name"]])
        f = rng.choice(fields)
        kind = bare(f["type"])
        if kind in ("BYTES", "VARBINARY(3)", "VARBINARY(6)") or rng.random() < 0.15:
            return json.dumps([rng.choice(["isNull", "isNotNull"]), f["name"]])
        one = lambda: scalar(rng, kind) or 0 if kind in ("FLOAT", "DOUBLE") else scalar(rng, kind)  # no -0.0, which the oracle takes for 0.0
        op = rng.choice(["=", "!=", "<", "<=", ">", ">=", "in", "notIn", "between", "not"])
        if op in ("in", "notIn"):
            return json.dumps([op, f["name"], [one() for _ in range(rng.randint(1, 3))]])
        if op == "between":
            return json.dumps([op, f["name"], one(), one()])
        if op == "not":
            return json.dumps(["not", [rng.choice(["=", "<", ">"]), f["name"], one()]])
        return json.dumps([op, f["name"], one()])

    def same(self, words, ordered=False):
        self.reads += 1
        theirs, their_error = self.run(self.oracle, words)
        ours, our_error = self.run(self.program, words)
        if their_error is not None and "NullPointer" in their_error:
            return
        if our_error is not None and "the sum does not fit" in our_error:
            return  # the reference goes on with a wrong sum
        if (their_error is None) != (our_error is None):
            if is_cast(their_error or our_error) and ("--where" in words or self.keyed):
                return  # a value that only one of them had to look at
            raise Differs("%s: the reference says %s, tidelake %s" % (" ".join(words), their_error, our_error))
        if their_error is None:
            theirs, ours = without_object_names(theirs, ours)
        if their_error is None and sorted(theirs) != sorted(ours):
            with open(self.base + "/theirs", "w") as a, open(self.base + "/ours", "w") as b:
                a.write("\n".join(sorted(theirs)) + "\n"), b.write("\n".join(sorted(ours)) + "\n")
            raise Differs("%s: different lines" % " ".join(words))

    def latest(self):
        folder = self.warehouse + "/db.db/t/snapshot"
        return max([int(n[9:]) for n in os.listdir(folder) if n.startswith("snapshot-") and n[9:].isdigit()], default=0) if os.path.isdir(folder) else 0

    def read(self):
        rng, latest = self.rng, self.latest()
        words = ["read", self.warehouse, self.table]
        kind = rng.random()
        names = [f["name"] for f in self.schema()["fields"]]
        if kind < 0.2:
            words += ["--columns", ",".join(rng.sample(names, rng.randint(1, len(names))))]
        elif kind < 0.55:
            words += ["--where", self.filter()]
        elif kind < 0.7 and latest > 0:
            words += ["--snapshot", str(rng.randint(1, latest))]
        elif kind < 0.78:
            words[2] += "$audit_log"
        elif kind < 0.84:
            words[2] += "$files"
            words += ["--columns", "schema_id,level,record_count,min_key,max_key,null_value_counts,min_value_stats,max_value_stats"]
        elif kind < 0.9 and latest > 1:
            a = rng.randint(1, latest - 1)
            words += ["--kinds", "--option", "incremental-between=%d,%d" % (a, rng.randint(a + 1, latest))]
        elif kind < 0.95 and latest > 0:
            words = ["changelog", self.warehouse, self.table]
        self.same(words)

    def live(self):
        self.create()
        self.write()
        for _ in range(self.rng.randint(4, 14)):
            step = self.rng.random()
            if step < 0.4:
                self.alter()
            elif step < 0.9:
                self.write()
            else:
                self.compact()
            for _ in range(self.rng.randint(1, 3)):
                self.read()
        self.same(["read", self.warehouse, self.table])
        if self.latest() > 0:
            _, error = self.run(self.oracle, ["fsck", self.warehouse, self.table])
            if error is not None and not is_cast(error):
                raise Differs("fsck: " + error)


def history(rng, oracle, ours, folder, _):
    """As run_history() of random_vectors.py wants it; how many steps a history has is drawn."""
    one = History(rng, Oracle(oracle), Program(ours.path), folder)
    try:
        one.live()
    except StopIteration:
        pass
    except Differs as e:
        raise random_vectors.Difference(str(e)[:1500]) from e
    finally:
        one.log.close()


if __name__ == "__main__":
    sys.exit(random_vectors.main_of(history, "evolution"))
