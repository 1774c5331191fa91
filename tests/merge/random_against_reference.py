#!/usr/bin/env python3
"""Random tables through the Java reference and through merge_dump: the merged rows must be the same.

random_against_reference.py ORACLE MERGE_DUMP [SEED [TABLES]]

Each table has a random merge engine, columns and functions, and a few commits of random rows that are not compacted
(but for first-row tables). Where
the reference refuses, merge_dump must refuse. Prints the seed of a table that differs and leaves its files in place.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

SCALARS = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5, 2)", "DECIMAL(30, 3)", "DATE",
           "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)", "STRING", "BYTES"]
NUMBERS = SCALARS[1:9]
NESTED = "ARRAY<ROW<id INT, v STRING, w INT>>"
COLLECTED = "ARRAY<ROW<id INT, v STRING>>"  # without NULL rows: collect with distinct fails on them


class Oracle:
    def __init__(self, path):
        self.process = subprocess.Popen([path, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, line):
        """Output lines, or None where the command failed."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        out = []
        while True:
            text = self.process.stdout.readline()
            if not text:
                sys.exit("the reference has died")
            if text.startswith('{"_end"'):
                end = json.loads(text)
                return out if end["ok"] else None
            out.append(text.rstrip("\n"))


def value(rng, kind):
    if rng.random() < 0.22:
        return None
    small = rng.randint(-3, 6)
    if kind == "BOOLEAN":
        return rng.random() < 0.5
    if kind in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        bits = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}[kind]
        return rng.randint(-2**bits, 2**bits - 1) if rng.random() < 0.15 else small
    if kind in ("FLOAT", "DOUBLE"):
        return rng.choice([0, 1.5, -2.25, 1e10, "NaN", "Infinity", small, 0.1])
    if kind == "DECIMAL(5, 2)":
        return "%d.%02d" % (rng.choice([small, rng.randint(-999, 999)]), rng.choice([0, 50, 25, 10]))
    if kind == "DECIMAL(30, 3)":
        return "%d.%03d" % (rng.choice([small, rng.randint(-10**26, 10**26)]), rng.choice([0, 500, 125]))
    if kind == "DATE":
        return "20%02d-01-%02d" % (rng.randint(0, 30), rng.randint(1, 28))
    if kind.startswith("TIMESTAMP"):
        return "19%02d-01-02T03:04:05.%03d000000" % (rng.randint(60, 99), rng.randint(0, 999))
    if kind == "STRING":
        return rng.choice(["", "a", "b", "ab", "a,b", "b,a,c", "ü", "x;y", "a,,b"])
    if kind == "BYTES":
        return rng.choice(["", "00", "ff", "0a0b"])
    if kind == COLLECTED:
        return [{"id": rng.choice([None, 1, 2]), "v": value(rng, "STRING")} for _ in range(rng.randint(0, 3))]
    if kind.startswith("ARRAY<ROW"):
        return [None if rng.random() < 0.1 else {"id": rng.choice([None, 1, 2, 3]), "v": value(rng, "STRING"), "w": value(rng, "INT")}
                for _ in range(rng.randint(0, 3))]
    if kind.startswith("ARRAY"):
        return [value(rng, kind[6:-1]) for _ in range(rng.randint(0, 3))]
    if kind == "MAP<STRING, INT>":
        return [[k, value(rng, "INT")] for k in rng.sample(["a", "b", "c", "d"], rng.randint(0, 3))]
    if kind == "MAP<STRING, ROW<v INT, ts STRING>>":
        return [[k, None if rng.random() < 0.15 else {"v": rng.randint(0, 9), "ts": rng.choice([None, "1", "2", "3", "10"])}]
                for k in rng.sample(["a", "b", "c"], rng.randint(0, 3))]
    raise ValueError(kind)


# name -> (types, options of the column, retracts)
FUNCTIONS = {
    "sum": (NUMBERS, {}, True),
    "product": (NUMBERS, {}, False),
    "max": (SCALARS[1:], {}, False),
    "min": (SCALARS[1:], {}, False),
    "last_value": (SCALARS, {}, True),
    "last_non_null_value": (SCALARS, {}, True),
    "first_value": (SCALARS, {}, False),
    "first_non_null_value": (SCALARS, {}, False),
    "bool_and": (["BOOLEAN"], {}, False),
    "bool_or": (["BOOLEAN"], {}, False),
    "listagg": (["STRING"], {"distinct": ["true", "false"], "list-agg-delimiter": [",", ";", "--"]}, False),
    "collect": (["ARRAY<INT>", "ARRAY<STRING>", "ARRAY<DOUBLE>", COLLECTED], {"distinct": ["true", "false"]}, True),
    "merge_map": (["MAP<STRING, INT>"], {}, True),
    "merge_map_with_keytime": (["MAP<STRING, ROW<v INT, ts STRING>>"], {}, False),
    "nested_update": ([NESTED], {"nested-key": ["id", "id,v"], "count-limit": ["0", "2", "4"]}, True),
    "nested_partial_update": ([NESTED], {"nested-key!": ["id", "id,v"]}, False),
}
UNORDERED = ("collect", "nested_update", "nested_partial_update")


def add_function(rng, options, name, fn, want_retracts):
    types, more, retracts = FUNCTIONS[fn]
    options["fields.%s.aggregate-function" % name] = fn
    for key, choices in more.items():
        if key.endswith("!") or rng.random() < 0.5:
            options["fields.%s.%s" % (name, key.rstrip("!"))] = rng.choice(choices)
    if "fields.%s.nested-key" % name in options:
        # Which rows a limit keeps of a hash table is no promise.
        options.pop("fields.%s.count-limit" % name, None)
    if want_retracts and (not retracts or rng.random() < 0.1):
        options["fields.%s.ignore-retract" % name] = "true"
    kind = rng.choice(types)
    if kind == COLLECTED:
        options["fields.%s.distinct" % name] = "true"  # else its rows cannot be compared, and retractions fail
    return kind


def table(rng):
    """(schema, kinds of rows, columns whose arrays have no order)"""
    engine = rng.choice(["deduplicate", "partial-update", "partial-update", "partial-update", "aggregation", "aggregation", "first-row"])
    options = {"bucket": "1", "merge-engine": engine}
    columns, unordered = [("k", "INT NOT NULL")], []
    kinds = ["+I"] * 5 + ["+U"] + ["-D", "-U"] * rng.choice([0, 1, 1])
    retracts = "-D" in kinds
    if engine in ("deduplicate", "first-row"):
        columns += [("c%d" % i, rng.choice(SCALARS)) for i in range(3)]
        if rng.random() < 0.4:
            options["ignore-delete"] = "true"
        elif engine == "first-row":
            kinds = ["+I", "+U"]
    elif engine == "aggregation":
        remove = retracts and rng.random() < 0.3
        if remove:
            options["aggregation.remove-record-on-delete"] = "true"
        for i in range(rng.randint(1, 6)):
            fn = rng.choice(list(FUNCTIONS) + ["sum", "product"])
            kind = add_function(rng, options, "c%d" % i, fn, retracts and not remove)
            columns.append(("c%d" % i, kind))
            unordered += ["c%d" % i] if fn in UNORDERED else []
        if remove:
            kinds = [k for k in kinds if k != "-U"]
    elif rng.random() < 0.35:
        columns += [("c%d" % i, rng.choice(SCALARS + ["ARRAY<INT>"])) for i in range(4)]
        if retracts and rng.random() < 0.8:
            options[rng.choice(["ignore-delete", "partial-update.remove-record-on-delete"])] = "true"
    else:
        for g in range(rng.randint(1, 3)):
            sequence = ["s%d%d" % (g, i) for i in range(rng.choice([1, 1, 2]))]
            members = []
            for i in range(rng.randint(1, 4)):
                name = "c%d%d" % (g, i)
                fn = rng.choice(list(FUNCTIONS))
                kind = rng.choice(SCALARS) if rng.random() < 0.5 else add_function(rng, options, name, fn, retracts)
                unordered += [name] if fn in UNORDERED and "fields.%s.aggregate-function" % name in options else []
                columns.append((name, kind))
                members.append(name)
            columns += [(s, rng.choice(["INT", "BIGINT", "STRING", "TIMESTAMP(3)", "SMALLINT"])) for s in sequence]
            options["fields.%s.sequence-group" % ",".join(sequence)] = ",".join(members)
            if retracts and rng.random() < 0.3:
                options["partial-update.remove-record-on-sequence-group"] = rng.choice(sequence)
        columns += [("f%d" % i, rng.choice(SCALARS)) for i in range(rng.randint(0, 2))]
        if rng.random() < 0.2 and "partial-update.remove-record-on-sequence-group" not in options:
            options["ignore-delete"] = "true"
        rng.shuffle(columns)
    if engine != "first-row" and rng.random() < 0.3:
        scalars = [c for c, t in columns if t in SCALARS and t not in ("FLOAT", "DOUBLE") and "fields.%s.aggregate-function" % c not in options]
        if scalars:
            options["sequence.field"] = ",".join(rng.sample(scalars, min(len(scalars), rng.choice([1, 1, 2]))))
            if rng.random() < 0.3:
                options["sequence.field.sort-order"] = "descending"
    schema = {"columns": [{"name": c, "type": t} for c, t in columns], "partitionKeys": [], "primaryKeys": ["k"], "options": options}
    return schema, kinds, unordered, columns


def rows(rng, columns, kinds):
    lines = []
    for _ in range(rng.randint(1, 4)):
        for _ in range(rng.choice([1, 3, 12, 30])):
            row = {"_kind": rng.choice(kinds), "k": rng.randint(1, 5)}
            row.update({c: value(rng, t) for c, t in columns if c != "k"})
            lines.append(json.dumps(row))
        lines.append("")
    return "\n".join(lines) + "\n"


def canonical(lines, unordered):
    result = []
    for line in lines:
        row = json.loads(line)
        for c in unordered:
            if row.get(c) is not None:
                row[c] = sorted(row[c], key=lambda v: json.dumps(v, sort_keys=True))
        result.append(json.dumps(row))
    return sorted(result)


def main():
    oracle, dump = Oracle(sys.argv[1]), sys.argv[2]
    first = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**9)
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 100
    work = tempfile.mkdtemp(prefix="merge-random-")
    refused = overflows = 0
    for seed in range(first, first + count):
        rng = random.Random(seed)
        schema, kinds, unordered, columns = table(rng)
        with open(work + "/schema.json", "w") as f:
            json.dump(schema, f, indent=1)
        with open(work + "/rows.jsonl", "w") as f:
            f.write(rows(rng, columns, kinds))
        warehouse = work + "/warehouse"
        shutil.rmtree(warehouse, ignore_errors=True)
        wanted = oracle.run("create %s db.t %s/schema.json" % (warehouse, work))
        if wanted is not None:
            # Level 0 of a first-row table is not read.
            compact = "full" if schema["options"]["merge-engine"] == "first-row" else "none"
            wanted = oracle.run("write %s db.t %s/rows.jsonl --compact %s" % (warehouse, work, compact))
        if wanted is not None:
            wanted = oracle.run("read %s db.t" % warehouse)
        run = subprocess.run([dump, work + "/schema.json", work + "/rows.jsonl"], capture_output=True, text=True)
        got = run.stdout.splitlines() if run.returncode == 0 else None
        if wanted is not None and run.returncode == 1 and " does not fit " in run.stderr:
            overflows += 1  # the reference wraps
            continue
        if run.returncode not in (0, 1) or (wanted is None) != (got is None) or \
                (wanted is not None and canonical(wanted, unordered) != canonical(got, unordered)):
            print("seed %d differs; files in %s\n%s" % (seed, work, run.stderr.strip()))
            print("reference:\n" + "\n".join(["(refused)"] if wanted is None else canonical(wanted, unordered)))
            print("merge_dump:\n" + "\n".join(["(refused)"] if got is None else canonical(got, unordered)))
            return 1
        refused += wanted is None
    shutil.rmtree(work)
    print("%d tables from seed %d alike, %d of them refused by both; %d sums or products run over" % (count - overflows, first, refused, overflows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
