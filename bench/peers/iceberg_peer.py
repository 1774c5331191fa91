"""pyiceberg: Table.upsert with a catalogue in SQLite, for ../space. Its cost grows with table size times commit size."""
import os
import shutil
import time

from common import COMMAND, Clock, add, files, last_of_key, quantiles, repetitions, small_commits, word

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

FOLDER = word("wh")
NAME = "b." + word("table", "t")


def catalog():
    os.makedirs(FOLDER, exist_ok=True)
    return SqlCatalog("c", uri="sqlite:///%s/catalog.db" % FOLDER, warehouse="file://" + FOLDER)


def microseconds(schema):
    """It keeps timestamps of no other unit."""
    return pa.schema([pa.field(f.name, pa.timestamp("us")) if pa.types.is_timestamp(f.type) else f for f in schema])


def table(schema, anew):
    if anew:
        shutil.rmtree(FOLDER, ignore_errors=True)
        made = catalog()
        made.create_namespace("b")
        # What stands for the retention of the others; it deletes no data file that a snapshot has left.
        return made.create_table(NAME, schema, properties={"write.metadata.previous-versions-max": "10", "write.metadata.delete-after-commit.enabled": "true"})
    return catalog().load_table(NAME)


def small():
    source, skip = small_commits(), int(word("skip", "0"))
    for rep in repetitions():
        into, took = table(microseconds(source[0].schema), skip == 0), []
        clock = Clock("iceberg")
        for k, rows in enumerate(source):
            rows = last_of_key(rows).cast(microseconds(rows.schema))
            start = time.perf_counter()
            into.append(rows) if skip + k == 0 else into.upsert(rows, join_cols=["order_id"])
            took.append(time.perf_counter() - start)
        if word("vacuum"):
            vacuum(into)
        clock.done(rep, rows=sum(x.num_rows for x in source), **quantiles(took), **files(FOLDER))


def vacuum(of):
    """Expires all but the last snapshot; pyiceberg leaves their files, so those that the last one does not name go here."""
    last = of.current_snapshot().snapshot_id
    old = [s.snapshot_id for s in of.snapshots() if s.snapshot_id != last]
    if old:
        of.maintenance.expire_snapshots().by_ids(old).commit()
    of.refresh()
    kept = {task.file.file_path for task in of.scan().plan_files()}
    kept |= {of.current_snapshot().manifest_list} | {m.manifest_path for m in of.current_snapshot().manifests(of.io)}
    for root, _, names in os.walk(FOLDER):
        for name in names:
            path = os.path.join(root, name)
            if (name.endswith(".parquet") or name.endswith(".avro")) and "file://" + path not in kept:
                os.unlink(path)


def scan():
    for rep in repetitions():
        clock, sums = Clock("iceberg"), {}
        for batch in catalog().load_table(NAME).scan().to_arrow_batch_reader():
            if batch.num_rows:
                add(sums, batch)
        clock.done(rep, **sums)


globals()[COMMAND]()
