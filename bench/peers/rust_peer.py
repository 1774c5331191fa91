"""paimon-rust (package pypaimon-rust) below pypaimon for writes, by its DataFusion SQL for reads; native=0: pypaimon alone."""
import shutil
import time

from common import COMMAND, THREE, Clock, add, commits, files, quantiles, repetitions, small_commits, word

NATIVE = word("native", "1") == "1"
PEER = "rust" if NATIVE else "pypaimon"
SWITCHES = {key: str(NATIVE).lower() for key in ("scan.native-plan.enabled", "read.native.enabled", "commit.native.enabled",
                                                  "write.native.enabled")}
FOLDER = word("wh") + "/b.db/" + word("table", "t")


def create(schema, keyed):
    from pypaimon import CatalogFactory, Schema
    shutil.rmtree(FOLDER, ignore_errors=True)
    catalog = CatalogFactory.create({"warehouse": word("wh")})
    catalog.create_database("b", True)
    name = "b." + word("table", "t")
    options = {"bucket": "4" if keyed else "-1", "file.format": "parquet", "file.compression": "zstd", **SWITCHES}
    catalog.create_table(name, Schema.from_pyarrow_schema(schema, primary_keys=["order_id"] if keyed else None, options=options), False)
    return catalog.get_table(name)


def commit(table, rows):
    builder = table.new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    writer.write_arrow(rows)
    committer.commit(writer.prepare_commit())
    writer.close()
    committer.close()


def upsert():
    source = list(commits())
    for rep in repetitions():
        table = create(source[0].schema, word("pk", "true") == "true")
        clock = Clock(PEER)
        for rows in source:
            commit(table, rows)
        clock.done(rep, rows=sum(x.num_rows for x in source), **files(FOLDER))


def small():
    source = small_commits()
    for rep in repetitions():
        table = create(source[0].schema, True)
        clock, took = Clock(PEER), []
        for rows in source:
            start = time.perf_counter()
            commit(table, rows)
            took.append(time.perf_counter() - start)
        clock.done(rep, rows=sum(x.num_rows for x in source), **quantiles(took), **files(FOLDER))


def scan():
    from pypaimon_rust.datafusion import SQLContext
    cols = word("cols", "all")
    query = "select %s from p.b.%s" % (", ".join(THREE) if cols == "3" else "*", word("table"))
    if cols == "pred":
        query += " where city = 7 and amount between 20000.00 and 40000.00"
    for rep in repetitions():
        clock, sums = Clock(PEER), {}
        context = SQLContext()
        context.register_catalog("p", {"warehouse": word("wh")}, "b")
        for batch in context.sql(query):
            add(sums, batch)
        clock.done(rep, **sums)


def first():
    from pypaimon_rust.datafusion import PaimonCatalog
    builder = PaimonCatalog({"warehouse": word("wh")}).get_table("b." + word("table")).new_read_builder()
    count = word("what") == "count"
    builder = builder.with_projection(THREE[:1]) if count else builder.with_limit(1)
    batches = builder.new_read().read_arrow(builder.new_scan().plan().splits())
    print(sum(b.num_rows for b in batches) if count else next(b.column("order_id")[0] for b in batches if b.num_rows))


globals()[COMMAND]()
