#!/usr/bin/env python3
"""Random histories of tables whose primary key spans partitions, written by the Java reference and by tidelake in turn.

random_moves.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

As random_vectors.py. tidelake overwrites some partitions of the mixed table, those that get rows or one that is named; the reference,
which would lose rows of others, drops these partitions of its own table and then writes the rows.
"""
import json
import sys

import random_vectors

PARTITIONS = "abc"


def table_of(rng):
    options = {"bucket": "-1", "dynamic-bucket.target-row-num": rng.choice(["3", "10", "2000000"]),
               "file.format": rng.choice(["parquet", "orc", "avro"]),
               "changelog-producer": rng.choice(["none", "none", "input", "lookup", "full-compaction"])}
    if rng.random() < 0.3:
        options["num-sorted-run.compaction-trigger"] = "2"
    if rng.random() < 0.3:
        options["overwrite-upgrade"] = "false"
    columns = [{"name": "v", "type": "STRING NOT NULL"}, {"name": "k", "type": "INT NOT NULL"}, {"name": "p", "type": "STRING NOT NULL"},
               {"name": "n", "type": "INT"}]
    options.update(random_vectors.manifests(rng))
    return {"columns": columns, "partitionKeys": ["p"], "primaryKeys": ["k"], "options": options}


def rows_of(rng, partition, deletes):
    rows = []
    among = rng.choice([PARTITIONS, rng.choice(PARTITIONS)]) if partition is None else partition
    for _ in range(rng.randint(1, rng.choice([4, 30]))):
        row = {"p": rng.choice(among), "k": rng.randint(0, 40), "n": rng.choice([None, rng.randint(0, 9)]), "v": "v%d" % rng.randint(0, 99)}
        if deletes and rng.random() < 0.1:
            row["_kind"] = "-D"
        rows.append(row)
    return rows


def lines(rows):
    return "".join(json.dumps(r) + "\n" for r in rows)


def overwrite(t):
    """Ours in one statement; the reference's by dropping and writing."""
    named = t.rng.choice(PARTITIONS) if t.rng.random() < 0.4 else None
    rows = rows_of(t.rng, named, deletes=t.rng.random() < 0.3)
    text = t.file(lines(rows))
    ours = ["--overwrite"] if named is None else ["--overwrite=" + json.dumps({"p": named}), "--option", "dynamic-partition-overwrite=false"]
    t.log.append(("ours", "overwrite", named, rows))
    ok, out = t.ours.run("write", t.mixed, "db.t", text, *ours)
    if not ok:
        raise random_vectors.Difference("overwrite: %s" % out)
    gone = [json.dumps({"p": p}) for p in sorted({r["p"] for r in rows})]
    for words in (["drop-partition", t.own, "db.t", *gone], ["write", t.own, "db.t", text]):
        ok, out = t.oracle.run(*words, "--cached")
        if not ok:
            raise random_vectors.Difference("%s by the reference: %s" % (words[0], out))


def history(rng, oracle, ours, folder, steps):
    schema = table_of(rng)
    t = random_vectors.Tables(rng, oracle, ours, folder)
    t.log.append(schema)
    for warehouse in (t.mixed, t.own):
        ok, out = oracle.run("create", warehouse, "db.t", t.file(json.dumps(schema)))
        if not ok:
            raise random_vectors.Difference("create: %s" % out)
    for _ in range(steps):
        kind = rng.random()
        if kind < 0.5:
            overwrite(t)
        elif kind < 0.85:
            t.step("write", "db.t", t.file(lines(rows_of(rng, None, deletes=True))), "--compact", rng.choice(["auto", "auto", "none", "full"]))
        else:
            t.step("compact", "db.t", *rng.choice([[], ["--full"]]))
        t.read("db.t", own="always")
    t.fsck()


if __name__ == "__main__":
    sys.exit(random_vectors.main_of(history, "moves"))
