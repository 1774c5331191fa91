#!/usr/bin/env python3
"""System tables of finished tables, as the Java reference and as tidelake show them.

system_tables.py ORACLE TIDELAKE FIXTURES [CASE... | --all]

Every metadata table (`t$files` …) of every table and branch in a case's warehouse, and the four tables of `sys`. Columns, order of
columns and values must be equal; rows may come in any order. Exit status 1 if any differ.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TABLES = ("snapshots schemas options tags branches consumers statistics aggregation_fields manifests files file_key_ranges "
          "partitions buckets table_indexes").split()
GLOBAL = "tables partitions all_table_options catalog_options".split()
# A bit of everything: branches, both at once, postponed buckets, partitions of all types, deletion vectors, index files, statistics.
SOME = "system-tables branch-fallback bucket-postpone-mixed partition-types index-pk-dv".split()


def jobs_of(case):
    warehouse = os.path.join(case, "warehouse")
    for table in sorted(glob.glob(warehouse + "/*.db/*")):
        if not os.path.isdir(table + "/schema"):
            continue
        name = os.path.basename(os.path.dirname(table))[:-3] + "." + os.path.basename(table)
        branches = [""] + ["$branch_" + os.path.basename(b)[7:] for b in sorted(glob.glob(table + "/branch/branch-*"))]
        yield from ((warehouse, f"{name}{b}${s}") for b in branches for s in TABLES)
    yield from ((warehouse, "sys." + s) for s in GLOBAL)


def normal(lines, warehouse):
    """What no two runs share: addresses of Java's byte arrays, nanoseconds behind a TIMESTAMP(3), settings of the oracle itself."""
    out = []
    for line in lines:
        line = line.replace(warehouse, "WAREHOUSE")
        line = re.sub(r"\[B@[0-9a-f]+", "BYTES", line)
        line = re.sub(r'("create_time":"[^"]{23})\d{6}"', r'\g<1>000000"', line)
        if line != '{"key":"cache-enabled","value":"false"}':
            out.append(line)
    return sorted(out)


def bytes_as_java(ours, theirs):
    """Lines of ours with its text of bytes where theirs has BYTES."""
    if not any("BYTES" in t for t in theirs):
        return ours
    return sorted(theirs if len(ours) == len(theirs) and all(
        any(re.fullmatch(re.escape(t).replace("BYTES", "[0-9a-f]*"), o) for t in theirs) for o in ours) else ours)


def reference(oracle, jobs):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as batch:
        batch.write("".join(f"read '{w}' '{n}'\n" for w, n in jobs))
        batch.flush()
        text = subprocess.run([oracle, "batch", batch.name], capture_output=True, text=True).stdout
    lines = []
    for line in text.splitlines():
        if line.startswith('{"_end":'):
            end = json.loads(line)
            yield lines if end["ok"] else None, end.get("error")
            lines = []
        else:
            lines.append(line)


def main():
    oracle, program, fixtures, *names = sys.argv[1:]
    names = sorted(os.listdir(fixtures)) if names == ["--all"] else names or [n for n in SOME if os.path.isdir(os.path.join(fixtures, n))]
    jobs = [j for n in names for j in jobs_of(os.path.join(fixtures, n))]
    passed = failed = 0
    answers = list(reference(oracle, jobs))
    if len(answers) != len(jobs):
        sys.exit(f"the reference answered {len(answers)} of {len(jobs)} reads")
    for (warehouse, name), (theirs, error) in zip(jobs, answers):
        run = subprocess.run([program, "read", name, "--warehouse", warehouse, "--format", "jsonl"], capture_output=True, text=True)
        if theirs is None:  # what it fails to show, ours may show or refuse
            passed += 1
            continue
        theirs = normal(theirs, warehouse)
        ours = bytes_as_java(normal(run.stdout.splitlines(), warehouse), theirs)
        if run.returncode == 0 and ours == theirs:
            passed += 1
            continue
        failed += 1
        print(f"{warehouse} {name}: {run.stderr.strip() or 'differs'}")
        for mark, some, other in (("- ", theirs, ours), ("+ ", ours, theirs)):
            print("".join(f"  {mark}{line[:600]}\n" for line in some if line not in other), end="")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
