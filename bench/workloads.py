"""The workloads of README.md as words that every peer is called with."""
import collections

Size = collections.namedtuple("Size", "rows keys mid_rows mid_keys wide_rows wide_keys commits reps")
FULL = Size(5000000, 2000000, 1000000, 400000, 4000000, 1000000, 200, 3)
QUICK = Size(500000, 200000, 200000, 80000, 200000, 50000, 40, 1)

# check: None, or the sums that must come out (those that are missing: the same in every peer); exchange: in a quick run too, the
# reference makes this table, and each side reads the other's.
Job = collections.namedtuple("Job", "w variant words check exchange")


def jobs(size, inputs):
    big, mid, wide = (inputs[k][0] for k in ("big", "mid", "wide"))
    live, mid_live, wide_live = (inputs[k][1] for k in ("big", "mid", "wide"))
    every = live["append"]
    exchanged = ("table=w1", "table=w5lookup", "table=w6")
    out = []
    add = lambda w, variant, *words, check=None: out.append(Job(w, variant, list(words), check, any(t in words for t in exchanged)))
    add("W0", "decode the input", "decode", "data=" + big)
    add("W1", "upsert, write-only", "upsert", "data=" + big, "table=w1wo", "opts=write-only=true")
    add("W1", "upsert, compacting", "upsert", "data=" + big, "table=w1")
    add("W1", "upsert, compacting, 2 threads", "upsert", "data=" + big, "table=w1t2", "threads=2")
    for t in ("w1", "w1t2"):
        add("check", "scan of " + t, "scan", "table=" + t, "cols=all", "reps=1", check=live)
    add("W2", "full compaction, 2 threads", "compact", "table=w1wo", "threads=2")
    add("W2", "full compaction", "compact", "table=w1wo")
    for t, when in (("w1wo", "merge on read"), ("w1wo_c", "compacted")):
        for cols, name in (("all", "all columns"), ("3", "3 columns"), ("pred", "predicate")):
            add("W3", "%s, %s" % (when, name), "scan", "table=" + t, "cols=" + cols, check=live if cols == "all" else {})
        add("W3", "%s, all columns, 2 threads" % when, "scan", "table=" + t, "cols=all", "threads=2", "each=true", check=live)
        add("W3", "%s, all columns, 2 threads, one consumer" % when, "scan", "table=" + t, "cols=all", "threads=2", check=live)
    for passes in ("cold", "warm"):
        lookup = ("lookup", "table=w1wo_c", "keys=%d" % size.keys, "passes=" + passes)
        add("W4", "look-ups one by one, %s, all columns" % passes, *lookup, check={})
        add("W4", "look-ups one by one, %s, 3 columns" % passes, *lookup, "cols=3", check={})
        add("W4", "look-ups by the hundred, %s, all columns" % passes, *lookup, "batch=100", check={})
    for p, name in (("lookup", "changelog by lookup"), ("full-compaction", "changelog by full compaction"), ("none", "no changelog")):
        more = [] if p == "none" else ["opts=changelog-producer=" + p]
        add("W5", "upsert, " + name, "upsert", "data=" + mid, "table=w5" + p, "wait=all", *more)
        add("check", "scan of w5" + p, "scan", "table=w5" + p, "cols=all", "reps=1", check=mid_live)
        if more:
            add("W5", "read the " + name, "changelog", "table=w5" + p, check={})
    add("W6", "partial update, 30 columns", "upsert", "data=" + wide, "kind=wide", "table=w6")
    add("check", "scan of w6", "scan", "table=w6", "cols=all", "reps=1", check=wide_live)
    add("W7", "%d commits of 1,000 rows" % size.commits, "small", "data=" + big, "table=w7", "commits=%d" % size.commits)
    for what, name in (("row", "process: one row"), ("count", "process: number of rows")):
        add("W8", name, "first", "table=w1wo_c", "what=" + what)
    add("check", "a small table", "small", "data=" + big, "table=w8", "commits=1", "reps=1")
    add("W8", "program: read all of a small table", "program", "read", "b.w8")
    add("W9", "append ingest", "upsert", "data=" + big, "table=w9", "pk=false")
    add("W9", "append scan", "scan", "table=w9", "cols=all", check=every)
    other_formats(add, size, big, live)
    other_buckets(add, mid, mid_live)
    file_indexes(add, big, live)
    return out


def other_formats(add, size, big, live):
    """W10: what W1, W2, W3 and W9 are for Parquet."""
    for fmt, name in (("orc", "ORC"), ("avro", "Avro")):
        keyed, append, opts = "w10" + fmt, "w10%sa" % fmt, "file.format=" + fmt
        add("W10", name + ", append ingest", "upsert", "data=" + big, "table=" + append, "pk=false", "opts=" + opts)
        for cols, which in (("all", "all columns"), ("3", "3 columns"), ("pred", "predicate")):
            add("W10", "%s, append scan, %s" % (name, which), "scan", "table=" + append, "cols=" + cols, check=live["append"] if cols == "all" else {})
        add("W10", name + ", upsert, write-only", "upsert", "data=" + big, "table=" + keyed, "opts=write-only=true;" + opts)
        add("W10", name + ", full compaction", "compact", "table=" + keyed)
        for t, when in ((keyed, "merge on read"), (keyed + "_c", "compacted")):
            add("W10", "%s, %s, all columns" % (name, when), "scan", "table=" + t, "cols=all", check=live)


def other_buckets(add, mid, live):
    """W11 and W12: what W1, W2 and W3 are with fixed buckets and without deletion vectors."""
    for w, t, name, opts in (("W11", "w11", "deletion vectors", "deletion-vectors.enabled=true"), ("W12", "w12", "dynamic buckets", "bucket=-1")):
        add(w, name + ", upsert", "upsert", "data=" + mid, "table=" + t, "wait=all", "opts=" + opts)
        for cols, which in (("all", "all columns"), ("3", "3 columns"), ("pred", "predicate")):
            add(w, "%s, scan, %s" % (name, which), "scan", "table=" + t, "cols=" + cols, check=live if cols == "all" else {})
    add("W12", "dynamic buckets, upsert, write-only", "upsert", "data=" + mid, "table=w12wo", "opts=write-only=true;bucket=-1")
    add("check", "scan of w12wo", "scan", "table=w12wo", "cols=all", "reps=1", check=live)


def file_indexes(add, big, live):
    """W13: ingest with indexes of a column of few values and of one of many; what filters on them read."""
    opts = "file-index.bitmap.columns=city;file-index.bloom-filter.columns=note;file-index.bloom-filter.note.items=500000"
    add("W13", "file indexes, append ingest", "upsert", "data=" + big, "table=w13", "pk=false", "opts=" + opts)
    add("W13", "file indexes, upsert, write-only", "upsert", "data=" + big, "table=w13k", "opts=write-only=true;" + opts)
    for cols, name in (("city", "filter on the bitmap"), ("note", "filter on the bloom filter")):
        for t, how in (("w13", "indexed"), ("w9", "no index")):
            add("W13", "%s, %s" % (name, how), "scan", "table=" + t, "cols=" + cols, "data=" + big, check={})
    add("check", "scan of w13", "scan", "table=w13", "cols=all", "reps=1", check=live["append"])


# The workloads that say something of the peers that are not Paimon in Java: (variant begins with, what they do instead).
ELSEWHERE = {
    "rust": [("upsert, write-only", None), ("merge on read", None), ("compacted", None), ("process", None), ("append", None), ("commits", None)],
    "pypaimon": [("commits", None)],
    "duckdb": [("upsert, write-only", "sort, copy to Parquet"), ("compacted", "the same files, no merge"), ("append ingest", "own storage"),
               ("commits", "merge, own storage")],
    "delta": [("upsert, compacting", "merge"), ("compacted", "own files"), ("append", "own files"), ("commits", "merge")],
}


def elsewhere(peer, job):
    """What the peer does for this job: None if nothing, '' if just that, else its own words for it."""
    if "2 threads" in job.variant or job.w in ("check", "W0", "W2", "W4", "W5", "W6", "W10", "W11", "W12", "W13"):
        return None
    name = job.variant.partition(" ")[2] if job.w == "W7" else job.variant
    for begins, instead in ELSEWHERE[peer]:
        if name.startswith(begins):
            return instead or ""
    return None
