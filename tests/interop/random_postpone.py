#!/usr/bin/env python3
"""Random histories of postponed tables (`bucket` = -2), written by the Java reference and by tidelake in turn.

random_postpone.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

As random_vectors.py. A step writes rows that wait, compacts, or places rows of one partition at once: tidelake by an INSERT in batch, the
reference as its batch sinks do, through a handle that has the partition's number of buckets and only writes (it refuses any other number).
"""
import json
import sys

import random_vectors

FIRST = "2"  # postpone.default-bucket-num of the table


def table_of(rng):
    options = {"bucket": "-2", "postpone.default-bucket-num": FIRST, "file.format": rng.choice(["parquet", "orc", "avro"]),
               "merge-engine": rng.choice(["deduplicate", "partial-update", "aggregation"]),
               "changelog-producer": rng.choice(["none", "none", "input", "lookup"])}
    if options["merge-engine"] == "aggregation":
        options["fields.n.aggregate-function"] = "sum"
    elif rng.random() < 0.4:
        options["sequence.field"] = "n"
    if rng.random() < 0.3:
        options["num-sorted-run.compaction-trigger"] = "3"
    columns = [{"name": "p", "type": "STRING NOT NULL"}, {"name": "k", "type": "INT NOT NULL"}, {"name": "n", "type": "INT"},
               {"name": "v", "type": "STRING"}]
    partitioned = rng.random() < 0.7
    keys = ["p", "k"] if partitioned else ["k"]
    options.update(random_vectors.manifests(rng))
    return partitioned, {"columns": columns, "partitionKeys": ["p"] if partitioned else [], "primaryKeys": keys, "options": options}


def rows_of(rng, partition):
    rows = []
    for _ in range(rng.randint(1, rng.choice([5, 60]))):
        rows.append({"p": partition or rng.choice("abc"), "k": rng.randint(0, 40), "n": rng.choice([None, rng.randint(0, 9)]),
                     "v": rng.choice([None, "v%d" % rng.randint(0, 99)])})
    return rows


def literal(value, kind):
    if value is None:
        return "CAST(NULL AS %s)" % kind
    return "'%s'" % value if kind == "STRING" else str(value)


def place(t, rows, count):
    """Rows into buckets at once, in both tables."""
    text = t.file("".join(json.dumps(r) + "\n" for r in rows))
    by_handle = ["db.t", text, "--option", "bucket=%d" % count, "--option", "write-only=true"]
    who = t.rng.choice(["ours", "ours", "reference"])
    t.log.append((who, "place", count, len(rows)))
    if who == "ours":
        values = ", ".join("('%s', %d, %s, %s)" % (r["p"], r["k"], literal(r["n"], "INT"), literal(r["v"], "STRING")) for r in rows)
        ok, out = t.ours.run("sql", t.mixed, "--database", "db", "INSERT INTO t /*+ OPTIONS('postpone.default-bucket-num'='%d') */ VALUES %s"
                             % (count, values))
    else:
        ok, out = t.oracle.run("write", t.mixed, *by_handle)
    if ok:
        ok, out = t.oracle.run("write", t.own, *by_handle, "--cached")
    if not ok:
        raise random_vectors.Difference("place: %s: %s" % (who, out))


def history(rng, oracle, ours, folder, steps):
    partitioned, schema = table_of(rng)
    t = random_vectors.Tables(rng, oracle, ours, folder)
    known, waiting = {}, set()
    for warehouse in (t.mixed, t.own):
        ok, out = oracle.run("create", warehouse, "db.t", t.file(json.dumps(schema)))
        if not ok:
            raise random_vectors.Difference("create: %s" % out)
    for _ in range(steps):
        kind = rng.random()
        if kind < 0.5:
            partition = rng.choice("abc") if partitioned else None
            count = known.setdefault(partition, rng.randint(1, 4))
            place(t, rows_of(rng, partition), count)
        elif kind < 0.75:
            rows = rows_of(rng, None)
            waiting.update(r["p"] if partitioned else None for r in rows)
            t.step("write", "db.t", t.file("".join(json.dumps(r) + "\n" for r in rows)))
        else:
            t.step("compact", "db.t")
            for partition in waiting:
                known.setdefault(partition, int(FIRST))
            waiting.clear()
        t.read("db.t")
    t.read("db.t", own="always")
    t.fsck()


if __name__ == "__main__":
    sys.exit(random_vectors.main_of(history, "postpone"))
