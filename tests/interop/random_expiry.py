#!/usr/bin/env python3
"""Random histories of keyed tables with record-level expiry, written by the Java reference and by tidelake in turn.

random_expiry.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

As random_vectors.py, with rows whose time is long over or far away, by their key. Compactions drop the former, and which compaction
does depends on sizes of files: the mixed table and the reference's own are compared after full compactions, the two programs' reads of
the mixed table after every step.
"""
import json
import random
import sys

import random_vectors

OLD, YOUNG = 1000, 2000000000  # seconds: 1970 and 2033
FORMS = {
    "INT": lambda s: s,
    "BIGINT": lambda s: s if s == OLD else s * 1000,  # beyond 10^12 it counts milliseconds
    "TIMESTAMP(3)": lambda s: "1970-01-01T00:16:40" if s == OLD else "2033-05-18T03:33:20",
    "TIMESTAMP(6)": lambda s: "1969-12-31T23:59:58.999999" if s == OLD else "2033-05-18T03:33:20.000001",
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": lambda s: "1970-01-01T00:16:40Z" if s == OLD else "2033-05-18T03:33:20Z",
}


def table_of(rng):
    kind = rng.choice(list(FORMS))
    options = {"record-level.expire-time": "1 d", "record-level.time-field": "t", "file.format": rng.choice(["parquet", "orc"]),
               "bucket": rng.choice(["1", "1", "2", "-1"]), "merge-engine": rng.choice(["deduplicate", "aggregation", "first-row"])}
    if options["merge-engine"] == "aggregation":
        options["fields.n.aggregate-function"] = "sum"
    producers = ["none", "lookup"] if options["merge-engine"] == "first-row" else ["none", "lookup", "input", "full-compaction"]
    options["changelog-producer"] = rng.choice(producers)
    if rng.random() < 0.3:
        options["target-file-size"] = "2 kb"
    if rng.random() < 0.3:
        options["num-sorted-run.compaction-trigger"] = "3"
    if rng.random() < 0.3:
        options["metadata.stats-mode"] = rng.choice(["none", "full", "counts"])
    if rng.random() < 0.3:
        options["metadata.stats-dense-store"] = "false"
    columns = [{"name": "k", "type": "INT NOT NULL"}, {"name": "n", "type": "INT"}, {"name": "t", "type": kind}]
    options.update(random_vectors.manifests(rng))
    return kind, {"columns": columns, "partitionKeys": [], "primaryKeys": ["k"], "options": options}


def rows_of(rng, form):
    span = rng.choice([20, 60, 400])
    rows = []
    for _ in range(rng.randint(1, rng.choice([10, 80, 500]))):
        k = rng.randint(0, span)
        time = None if k % 11 == 0 else form(OLD if k % 3 == 0 else YOUNG)
        rows.append({"k": k, "n": rng.choice([None, rng.randint(0, 9)]), "t": time})
    return rows


def history(rng, oracle, ours, folder, steps):
    kind, schema = table_of(rng)
    t = random_vectors.Tables(rng, oracle, ours, folder)
    for warehouse in (t.mixed, t.own):
        ok, out = oracle.run("create", warehouse, "db.t", t.file(json.dumps(schema)))
        if not ok:
            raise random_vectors.Difference("create: %s" % out)
    for _ in range(steps):
        full = False
        if rng.random() < 0.7:
            text = "".join(json.dumps(r) + "\n" for r in rows_of(rng, FORMS[kind]))
            mode = rng.choice(["auto", "auto", "none", "full"])
            t.step("write", "db.t", t.file(text), "--compact", mode)
        elif rng.random() < 0.1:
            t.step("alter", "db.t", t.file(json.dumps([{"op": "addColumn", "name": "c%d" % t.files, "type": "INT", "first": True}])))
        else:
            full = rng.random() < 0.7
            t.step("compact", "db.t", *(["--full"] if full else []))
        t.read("db.t", own=full and schema["options"].get("metadata.stats-mode") is None and "always")
    if schema["options"]["changelog-producer"] != "none":
        t.changelog(own=False)
    t.fsck()


if __name__ == "__main__":
    sys.exit(random_vectors.main_of(history, "expiry"))
