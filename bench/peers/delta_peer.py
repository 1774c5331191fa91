"""delta-rs (package deltalake): MERGE as an upsert, and a plain append."""
import shutil
import time

from common import COMMAND, THREE, Clock, add, commits, files, last_of_key, quantiles, repetitions, small_commits, word

from deltalake import DeltaTable, write_deltalake

# Its merged table stands for the compacted one.
FOLDER = word("wh") + "/" + {"w1wo_c": "w1"}.get(word("table"), word("table", "t"))


def merge(rows):
    (DeltaTable(FOLDER).merge(rows, "t.order_id = s.order_id", source_alias="s", target_alias="t")
     .when_matched_update_all().when_not_matched_insert_all().execute())


def upsert():
    source = list(commits())
    for rep in repetitions():
        shutil.rmtree(FOLDER, ignore_errors=True)
        clock = Clock("delta")
        for k, rows in enumerate(source):
            if word("pk") == "false":
                write_deltalake(FOLDER, rows, mode="append")
            elif k == 0:
                write_deltalake(FOLDER, last_of_key(rows))
            else:
                merge(last_of_key(rows))
        clock.done(rep, rows=sum(x.num_rows for x in source), **files(FOLDER))


def small():
    source, skip = small_commits(), int(word("skip", "0"))
    for rep in repetitions():
        if skip == 0:
            shutil.rmtree(FOLDER, ignore_errors=True)
        clock, took = Clock("delta"), []
        for k, rows in enumerate(source):
            start = time.perf_counter()
            write_deltalake(FOLDER, last_of_key(rows)) if skip + k == 0 else merge(last_of_key(rows))
            took.append(time.perf_counter() - start)
        if word("vacuum"):
            DeltaTable(FOLDER).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
        clock.done(rep, rows=sum(x.num_rows for x in source), **quantiles(took), **files(FOLDER))


def scan():
    import pyarrow.compute as pc
    from decimal import Decimal
    more = {}
    if word("cols") == "3":
        more["columns"] = THREE
    elif word("cols") == "pred":
        more["filter"] = (pc.field("city") == 7) & (pc.field("amount") >= Decimal("20000.00")) & (pc.field("amount") <= Decimal("40000.00"))
    for rep in repetitions():
        clock, sums = Clock("delta"), {}
        for batch in DeltaTable(FOLDER).to_pyarrow_dataset().to_batches(**more):
            if batch.num_rows:
                add(sums, batch)
        clock.done(rep, **sums)


globals()[COMMAND]()
