"""Measurements as lines of a table."""
import os
import statistics

HEAD = ("| W | work | peer | user CPU, us/row | user s | x Tidelake | of limit | wall s | k rows/s | RSS MB | read MB | written MB | files | p50 / p99 ms |\n"
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")

# The steps of bench_limits that a workload cannot do without, for each row in, and for each row out.
FLOORS = {
    "upsert, write-only": (("rows to columns", "radix sort", "gather", "zstd compress"), ()),
    "full compaction": (("zstd decompress",), ("zstd compress",)),
    "merge on read, all columns": (("zstd decompress",), ("memory copy",)),
    "compacted, all columns": ((), ("zstd decompress",)),
    "append ingest": (("rows to columns", "zstd compress"), ()),
    "append scan": ((), ("zstd decompress",)),
}


def least(results, key):
    return min(r[key] for r in results)


def rows_of(job, results, size):
    """Rows in for writes, out for reads; None where a count of rows says nothing."""
    if "predicate" in job.variant or "filter on" in job.variant or job.w == "W8":
        return None
    return size.rows if job.words[0] == "compact" else results[0].get("rows")


def share_of_limit(job, results, size, live, limits):
    """User CPU that the machine needs at least, as a share of what was used."""
    name = job.variant.replace(", 2 threads", "")
    if name not in FLOORS or not limits:
        return ""
    n_in, n_out = size.rows, size.rows if job.w == "W9" else live
    each_in, each_out = FLOORS[name]
    floor = sum(limits[s] for s in each_in) * n_in + sum(limits[s] for s in each_out) * n_out
    return "%.0f%%" % (100 * floor / 1e6 / max(least(results, "user"), 1e-3))


def line(job, peer, work, results, tidelake, size, limit_share):
    user, wall = least(results, "user"), least(results, "wall")
    rows = rows_of(job, results, size)
    ratio = ""
    if tidelake is not None and peer != "tidelake":
        key = "wall" if job.w == "W8" else "user"
        ratio = "**%.1f**" % (least(results, key) / max(least(tidelake, key), 1e-3))
    written = results[-1].get("wchar", 0) / 1e6 if "files" in results[-1] else 0
    read = min(r.get("read_bytes", 0) for r in results) / 1e6  # the JVM's first pass reads its classes, too
    delay = ""
    if "p50_us" in results[0]:
        delay = "%.3g / %.3g" % tuple(statistics.median(r[k] for r in results) / 1e3 for k in ("p50_us", "p99_us"))
    return "| %s | %s | %s | %s | %.3f | %s | %s | %.3f | %s | %s | %s | %s | %s | %s |" % (
        job.w, work, peer, "%.3f" % (user * 1e6 / rows) if rows else "", user, ratio, limit_share, wall, "%.0f" % (rows / wall / 1e3) if rows else "",
        max(r["rss_mb"] for r in results) or "", "%.1f" % read if read else "", "%.0f" % written if written else "", results[-1].get("files", ""), delay)


def limit_lines(results):
    """The limits as a table of their own, and user microseconds by step."""
    steps = {}
    for r in results:
        steps.setdefault(r["variant"], []).append(r)
    lines = ["| limit, one thread | user CPU, us/row | wall, us/row |", "|---|---:|---:|"]
    for name, found in steps.items():
        lines.append("| %s | %.3f | %.3f |" % ((name,) + tuple(least(found, k) * 1e6 / found[0]["rows"] for k in ("user", "wall"))))
    return lines, {name: least(found, "user") * 1e6 / found[0]["rows"] for name, found in steps.items()}


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    with open("/proc/meminfo") as f:
        gib = int(f.readline().split()[1]) / 1048576
    return "%s, %d cores, %.0f GiB, Linux %s, load average %.1f" % (model, os.cpu_count(), gib, os.uname().release, os.getloadavg()[0])
