#!/usr/bin/env python3
"""Random histories of keyed tables with pk-clustering-override, written by the Java reference and by tidelake in turn.

random_clustering.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

Files above level 0 are sorted by other columns than the key. Both programs must read the same rows from the table after each step. In
half of the histories the reference only writes (level 0) and tidelake compacts: there the rows must be those of a model, too. The
reference's own compactions leave keys twice now and then, without tidelake having written anything. There are no deletes: the
reference keeps them in its sorted files, and shows them.
"""
import json
import random
import sys

import random_vectors


def table_of(rng):
    options = {"pk-clustering-override": "true", "deletion-vectors.enabled": "true", "file.format": rng.choice(["parquet", "orc", "avro"]),
               "bucket": rng.choice(["1", "2"]), "clustering.columns": rng.choice(["v", "n,v", "s", "p,n"]),
               "merge-engine": rng.choice(["deduplicate", "deduplicate", "first-row"])}
    if options["merge-engine"] == "deduplicate":
        options["changelog-producer"] = rng.choice(["none", "input"])
    if rng.random() < 0.5:
        options["target-file-size"] = rng.choice(["2 kb", "8 kb"])
    if rng.random() < 0.3:
        options["deletion-vectors.bitmap64"] = "true"
    if rng.random() < 0.2:
        options["data-file.thin-mode"] = "true"
    columns = [{"name": "p", "type": "STRING NOT NULL"}, {"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "STRING"},
               {"name": "n", "type": "INT"}, {"name": "s", "type": "TIMESTAMP(6)"}]
    partitioned = rng.random() < 0.3 and "p" not in options["clustering.columns"]
    options.update(random_vectors.manifests(rng))
    return {"columns": columns, "partitionKeys": ["p"] if partitioned else [], "primaryKeys": ["p", "k"], "options": options}


def rows_of(rng):
    span = rng.choice([20, 60, 900])
    return [{"p": rng.choice("ab"), "k": rng.randint(0, span), "v": rng.choice([None, "v%d" % rng.randint(0, 99)]),
             "n": rng.choice([None, rng.randint(0, 9)]), "s": "2024-01-%02dT00:00:00.000000000" % rng.randint(1, 28)}
            for _ in range(rng.randint(1, rng.choice([10, 80, 700])))]


class Table(random_vectors.Tables):
    """The mixed table alone; `exact`: only tidelake compacts it."""

    exact = False

    def step(self, command, *words):
        compacts = command == "compact" or "none" not in words
        who = self.ours if self.exact and compacts else self.rng.choice([self.ours, self.oracle])
        ok, out = who.run(command, self.mixed, *words)
        if not ok:
            raise random_vectors.Difference("%s %s: %s" % (command, words, out))

    def level0(self):
        ok, out = self.oracle.run("read", self.mixed, "db.t$files", "--columns", "level")
        return any('"level":0' in line for line in out)


def history(rng, oracle, ours, folder, steps):
    schema = table_of(rng)
    t = Table(rng, oracle, ours, folder)
    t.exact = rng.random() < 0.5
    ok, out = rng.choice([oracle, ours]).run("create", t.mixed, "db.t", t.file(json.dumps(schema)))
    if not ok:
        raise random_vectors.Difference("create: %s" % out)
    model = {}
    for _ in range(steps):
        if rng.random() < 0.75:
            rows = rows_of(rng)
            t.step("write", "db.t", t.file("".join(json.dumps(r) + "\n" for r in rows)), "--compact", rng.choice(["auto", "auto", "none", "full"]))
            for r in rows:
                key = (r["p"], r["k"])
                if schema["options"]["merge-engine"] == "deduplicate" or key not in model:
                    model[key] = r
        else:
            t.step("compact", "db.t", *rng.choice([[], ["--full"]]))
        t.read("db.t", own=False)
        if rng.random() < 0.3:
            t.read("db.t", "--where", json.dumps(random_vectors.where_of(rng)), own=False)
        if t.exact and not t.level0():
            _, got = oracle.run("read", t.mixed, "db.t")
            t.same("rows (table, model)", sorted(got), sorted(json.dumps(r, separators=(",", ":")) for r in model.values()))
    t.read("db.t$audit_log", own=False)
    ok, out = ours.run("fsck", t.mixed, "db.t", "--all")  # the reference's does not know such files
    if not ok or json.loads(out[0])["problems"]:
        raise random_vectors.Difference("fsck: %s" % out)


if __name__ == "__main__":
    sys.exit(random_vectors.main_of(history, "clustering"))
