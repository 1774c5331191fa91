"""DuckDB: what plain Parquet (W1 written sorted, W3 read from the very files of a compacted table) and its own storage cost."""
import os
import shutil
import subprocess
import time

from common import COMMAND, Clock, commits, files, quantiles, repetitions, small_commits, word

import duckdb

FOLDER = word("wh")
LABELS = ["label%d" % i for i in range(8)]
MERGE = ("merge into t using (select * from x qualify row_number() over (partition by order_id order by updated_at desc) = 1) s "
         "on t.order_id = s.order_id when matched then update when not matched then insert")


def connect(path=":memory:"):
    db = duckdb.connect(path)
    db.execute("set threads=%s" % word("threads", "1"))
    return db


def fresh():
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)


def upsert():
    """W1: each commit sorted by key into a Parquet file. W9: appended to a table."""
    source = list(commits())
    append = word("pk") == "false"
    for rep in repetitions():
        fresh()
        clock = Clock("duckdb")
        db = connect(FOLDER + "/d.db" if append else ":memory:")
        for k, x in enumerate(source):
            if append:
                db.execute("create table t as select * from x" if k == 0 else "insert into t select * from x")
            else:
                db.execute("copy (select * from x order by order_id) to '%s/%d.parquet' (format parquet, compression zstd, compression_level 1)"
                           % (FOLDER, k))
        db.close()
        clock.done(rep, rows=sum(x.num_rows for x in source), **files(FOLDER))


def small():
    source = small_commits()
    for rep in repetitions():
        fresh()
        clock, took = Clock("duckdb"), []
        db = connect(FOLDER + "/d.db")
        for k, x in enumerate(source):
            start = time.perf_counter()
            db.execute("create table t as select * from x" if k == 0 else MERGE)
            took.append(time.perf_counter() - start)
        db.close()
        clock.done(rep, rows=sum(x.num_rows for x in source), **quantiles(took), **files(FOLDER))


def scan():
    """Every column is looked at by an aggregate; the files are those of the table's newest snapshot."""
    listed = subprocess.run([word("program"), "read", "b.%s$files" % word("table"), "--columns", "file_path", "--format", "csv", "--warehouse",
                             word("tables")], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1:]
    cols = word("cols", "all")
    what = ["count(*)", "sum(order_id)", "sum(amount)", "sum(city)"]
    if cols != "3":
        what += ["sum(length(status))", "sum(length(broker))", "sum(strlen(note))", "max(updated_at)"] + ["sum(%s)" % c for c in LABELS]
    where = " where city = 7 and amount between 20000.00 and 40000.00" if cols == "pred" else ""
    query = "select %s from read_parquet([%s])%s" % (", ".join(what), ", ".join("'%s'" % f for f in listed), where)
    for rep in repetitions():
        clock = Clock("duckdb")
        found = connect().execute(query).fetchone()
        clock.done(rep, rows=int(found[0]), sum_id=int(found[1]), sum_amount=int(found[2] * 100))


globals()[COMMAND]()
