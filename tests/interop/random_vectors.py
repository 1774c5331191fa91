#!/usr/bin/env python3
"""Random histories of tables with deletion vectors, written by the Java reference and by tidelake in turn.

random_vectors.py ORACLE TIDELAKE [SEED [TABLES [STEPS]]]

Each table exists twice: the steps of one are done by either program, by chance, those of the other by the reference alone. After
each step both programs must read the same rows from the mixed table, at the end (and now and then before) as the reference does from its own; then also their
changelogs, incremental reads, system tables, and the reference's and our fsck must be content. A table that differs is told by
its seed and left in place.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile


class Oracle:
    def __init__(self, path):
        # A first compiler is enough: 36 histories take 47 s of CPU with it, 76 s with both.
        env = dict({"ORACLE_TIER": "1"}, **os.environ, TZ="UTC")
        self.process = subprocess.Popen([path, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def run(self, *words):
        """(ok, output lines or the error)."""
        line = " ".join("'" + w.replace("'", "'\"'\"'") + "'" for w in words)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        out = []
        while True:
            text = self.process.stdout.readline()
            if not text:
                sys.exit("the reference has died")
            if text.startswith('{"_end"'):
                end = json.loads(text)
                return end["ok"], out if end["ok"] else end.get("error")
            out.append(text.rstrip("\n"))


class Ours:
    def __init__(self, path):
        self.path = path

    def run(self, command, warehouse, *words):
        done = subprocess.run([self.path, *command.split(), "--warehouse", warehouse, *words], capture_output=True, text=True)
        return done.returncode == 0, done.stdout.splitlines() if done.returncode == 0 else done.stderr


def manifests(rng):
    """Options: most tables have few manifests, since reading them is what the reference does for most of a step."""
    return {"manifest.merge-min-count": rng.choice(["2", "2", "3", "30"])}


def table_of(rng):
    keyed = rng.random() < 0.7
    options = {"deletion-vectors.enabled": "true", "file.format": rng.choice(["parquet", "orc", "avro"])}
    if rng.random() < 0.4:
        options["deletion-vectors.bitmap64"] = "true"
    columns = [{"name": "p", "type": "STRING NOT NULL"}, {"name": "k", "type": "INT NOT NULL"}, {"name": "v", "type": "STRING"},
               {"name": "n", "type": "INT"}, {"name": "s", "type": "INT"}]
    partitioned = rng.random() < 0.5
    if keyed:
        options["bucket"] = rng.choice(["1", "1", "2", "-1"])
        options["changelog-producer"] = rng.choice(["none", "lookup", "lookup", "input"])
        engine = rng.choice(["deduplicate", "deduplicate", "partial-update", "aggregation"])
        options["merge-engine"] = engine
        if engine == "aggregation":
            options["fields.n.aggregate-function"] = "sum"
            options["aggregation.remove-record-on-delete"] = "true"
        if engine == "partial-update":
            options["partial-update.remove-record-on-delete"] = "true"
        if rng.random() < 0.4:
            options["sequence.field"] = "s"
        if rng.random() < 0.3:
            options["target-file-size"] = "2 kb"
        if rng.random() < 0.3:
            options["num-sorted-run.compaction-trigger"] = "3"
        if rng.random() < 0.2:
            options["changelog-producer.row-deduplicate"] = "true"
    elif rng.random() < 0.4:
        options["bucket"] = "2"
        options["bucket-key"] = "k"
        options["compaction.min.file-num"] = "3"
    elif rng.random() < 0.5:
        options["deletion-vector.index-file.target-size"] = "1 b"
    if rng.random() < 0.2:
        options["index-file-in-data-file-dir"] = "true"
    options.update(manifests(rng))
    keys = (["p", "k"] if partitioned else ["k"]) if keyed else []
    return keyed, {"columns": columns, "partitionKeys": ["p"] if partitioned else [], "primaryKeys": keys, "options": options}


def rows_of(rng, keyed, schema):
    span = rng.choice([20, 60, 400])
    engine = schema["options"].get("merge-engine", "deduplicate")
    rows = []
    for _ in range(rng.randint(1, rng.choice([10, 80, 500]))):
        row = {"p": rng.choice("ab"), "k": rng.randint(0, span), "v": rng.choice([None, "v%d" % rng.randint(0, 99)]),
               "n": rng.choice([None, rng.randint(0, 9)]), "s": rng.randint(0, 50)}
        if keyed and rng.random() < 0.15:
            row["_kind"] = "-D"
            if engine == "partial-update" and "sequence.field" in schema["options"]:
                del row["_kind"]
        rows.append(row)
    return rows


def where_of(rng):
    a = rng.randint(0, 60)
    return rng.choice([["=", "k", a], ["between", "k", a, a + rng.randint(0, 20)], ["isNull", "v"], ["<", "n", 3], [">", "k", 300],
                       ["and", ["=", "p", "a"], ["<", "k", a]], ["in", "k", [a, a + 1, a + 5, 70]]])


class Difference(Exception):
    pass


class Tables:
    """The mixed table and the reference's own, whose manifests the reference keeps in memory: nobody else writes or deletes there."""

    def __init__(self, rng, oracle, ours, folder):
        self.rng, self.oracle, self.ours, self.folder = rng, oracle, ours, folder
        self.mixed, self.own = folder + "/mixed", folder + "/own"
        self.log = []
        self.files, self.reads = 0, 0
        self.tags = []

    def file(self, text):
        self.files += 1
        path = "%s/in%d" % (self.folder, self.files)
        with open(path, "w") as f:
            f.write(text)
        return path

    def step(self, command, *words):
        who = self.rng.choice(["ours", "reference"])
        self.log.append((who, command) + words)
        ok, out = (self.ours if who == "ours" else self.oracle).run(command, self.mixed, *words)
        own_ok, own_out = self.oracle.run(command, self.own, *words, "--cached")
        if ok != own_ok:
            raise Difference("%s %s: %s\nthe reference on its own: %s" % (who, words, out, own_out))
        return ok

    def same(self, what, a, b):
        if a != b:
            raise Difference("%s differ:\n  %s\n  %s" % (what, "\n  ".join(list(map(str, a))[:12]), "\n  ".join(list(map(str, b))[:12])))

    def read(self, table, *words, own=True):
        """The same for both programs. With `own` also what the reference reads from its own table: each third time, or always."""
        ok, wanted = self.oracle.run("read", self.mixed, table, *words)
        our_ok, got = self.ours.run("read", self.mixed, table, *words)
        self.log.append(("read", table) + words)
        if ok != our_ok:
            raise Difference("read %s %s: ours %s, the reference %s" % (table, words, got, wanted))
        if not ok:
            return
        self.same("rows of %s %s (ours, reference)" % (table, words), sorted(got), sorted(wanted))
        self.reads += 1
        if own == "always" or (own and self.reads % 3 == 0):
            _, other = self.oracle.run("read", self.own, table, *words, "--cached")
            self.same("rows of %s %s (mixed, own)" % (table, words), sorted(wanted), sorted(other))

    def changelog(self, own):
        ok, wanted = self.oracle.run("changelog", self.mixed, "db.t")
        our_ok, got = self.ours.run("changelog", self.mixed, "db.t")
        if ok != our_ok:
            raise Difference("changelog: ours %s, the reference %s" % (got, wanted))
        if not ok:
            return
        self.same("changelogs (ours, reference)", sorted(got), sorted(wanted))
        if own:
            _, other = self.oracle.run("changelog", self.own, "db.t", "--cached")
            self.same("changelogs (mixed, own)", sorted(wanted), sorted(other))

    def fsck(self):
        for who, program in (("reference", self.oracle), ("ours", self.ours)):
            every = ["--all"] if program is self.ours or self.rng.random() < 0.25 else []  # of all snapshots: as much as ten steps, to the reference
            ok, out = program.run("fsck", self.mixed, "db.t", *every)
            if not ok or json.loads(out[0])["problems"]:
                raise Difference("fsck (%s): %s" % (who, out))


def one_step(rng, t, keyed, schema):
    what = rng.random()
    if what < 0.55:
        text = "".join(json.dumps(r) + "\n" for r in rows_of(rng, keyed, schema))
        modes = ["auto", "auto", "auto", "none", "full"] if keyed or "bucket" in schema["options"] else ["auto"]
        words = ["--compact", rng.choice(modes)]
        if rng.random() < 0.06:
            words.append("--overwrite")
        t.step("write", "db.t", t.file(text), *words)
    elif what < 0.75 and not keyed:
        t.step("delete", "db.t", "--where", json.dumps(where_of(rng)))
    elif what < 0.88:
        t.step("compact", "db.t", *rng.choice([[], ["--full"]]))
    elif what < 0.92:
        name = "t%d" % len(t.tags)
        if t.step("tag", "create", "db.t", name):
            t.tags.append(name)
    elif what < 0.94 and t.tags:
        t.step("rollback", "db.t", "--to-tag", rng.choice(t.tags))
    elif what < 0.96:
        t.step("expire", "db.t", "--retain-max", "3")


def history(rng, oracle, ours, folder, steps):
    keyed, schema = table_of(rng)
    t = Tables(rng, oracle, ours, folder)
    t.log.append(schema)
    for command, warehouse in (("create", t.mixed), ("create", t.own)):
        ok, out = oracle.run(command, warehouse, "db.t", t.file(json.dumps(schema)))
        if not ok:
            return t
    for _ in range(steps):
        one_step(rng, t, keyed, schema)
        t.read("db.t")
        if rng.random() < 0.3:
            t.read("db.t", "--where", json.dumps(where_of(rng)))
    t.read("db.t", own="always")
    for tag in t.tags:
        t.read("db.t", "--tag", tag)
    t.read("db.t$audit_log", own=False)
    t.read("db.t$ro", own=False)
    t.read("db.t$table_indexes", "--columns", "partition,bucket,index_type,file_size,row_count", own=False)
    if keyed and schema["options"]["changelog-producer"] == "lookup":
        t.changelog(own=False)
    if len(t.tags) > 1 and schema["options"].get("changelog-producer") in ("lookup", "input"):
        t.read("db.t", "--option", "incremental-between=%s,%s" % (t.tags[0], t.tags[-1]), own=False)
    t.fsck()
    return t


def run_history(live, oracle, ours, name, seed, steps):
    """Whether it went as it must; if not, what differs is printed and the table stays. live(rng, oracle, ours, folder, steps) is the history."""
    folder = tempfile.mkdtemp(prefix="%s-%d-" % (name, seed))
    try:
        live(random.Random(seed), oracle, ours, folder, steps)
    except Difference as e:
        print("%s, seed %d: %s\n  in %s" % (name, seed, e, folder), flush=True)
        return False
    shutil.rmtree(folder)
    return True


def main_of(live, name, steps=12):
    """What each of these programs does: ORACLE TIDELAKE [SEED [TABLES [STEPS]]]."""
    oracle, ours = Oracle(sys.argv[1]), Ours(sys.argv[2])
    first, tables, steps = ([int(a) for a in sys.argv[3:]] + [1, 20, steps][len(sys.argv) - 3:])[:3]
    failed = sum(not run_history(live, oracle, ours, name, seed, steps) for seed in range(first, first + tables))
    print("%d tables, %d differ" % (tables, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main_of(history, "vectors"))
