#!/usr/bin/env python3
"""What `tidelake read --format arrow|parquet` prints, read by pyarrow, must be the rows of `--format jsonl`.

usage: printed_files.py TIDELAKE [WAREHOUSE DB.TABLE]...

Without tables, one with columns of all types is made. Exit status 77 where pyarrow is missing.
"""
import io
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "interop"))
try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    print("pyarrow is missing: skipped")
    sys.exit(77)
import arrow_text  # noqa: E402

TYPES = {
    "b": "BOOLEAN", "i8": "TINYINT", "i16": "SMALLINT", "i32": "INT NOT NULL", "i64": "BIGINT", "f": "FLOAT", "d": "DOUBLE",
    "dec9": "DECIMAL(9, 2)", "dec18": "DECIMAL(18, 6)", "dec38": "DECIMAL(38, 10)", "c": "CHAR(3)", "vc": "VARCHAR(20)", "s": "STRING",
    "bin": "BINARY(2)", "bytes": "BYTES", "date": "DATE", "time": "TIME(3)", "t0": "TIMESTAMP(0)", "t3": "TIMESTAMP(3)", "t6": "TIMESTAMP(6)",
    "t9": "TIMESTAMP(9)", "z3": "TIMESTAMP(3) WITH LOCAL TIME ZONE", "z6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "ai": "ARRAY<INT>", "as": "ARRAY<STRING>", "aas": "ARRAY<ARRAY<STRING>>", "m": "MAP<STRING, INT>", "ms": "MULTISET<STRING>",
    "r": "ROW<a INT, b STRING>", "arm": "ARRAY<ROW<x MAP<INT, ARRAY<DOUBLE>>, y BOOLEAN>>",
}


def row(i):
    if i % 5 == 4:
        return {"i32": i}
    return {
        "b": i % 2 == 0, "i8": i % 100 - 50, "i16": -i, "i32": i, "i64": i << 40, "f": i / 4, "d": i / 7,
        "dec9": "%d.25" % i, "dec18": "-%d.000001" % i, "dec38": "1234567890123456789%d.0000000001" % (i % 100), "c": "a%02d" % (i % 100),
        "vc": "v" * (i % 20), "s": "日本 " * (i % 7) + str(i), "bin": "%04x" % i, "bytes": "ff" * (i % 9), "date": "20%02d-02-28" % (i % 90),
        "time": "12:%02d:59.123" % (i % 60), "t0": "2024-02-29T12:34:%02d" % (i % 60), "t3": "1969-12-31T23:59:59.%03d" % (i % 1000),
        "t6": "2024-02-29T12:34:56.%06d" % i, "t9": "2024-02-29T12:34:56.%09d" % i, "z3": "2024-02-29T12:34:56.001Z",
        "z6": "2024-02-29T12:34:56.%06dZ" % i, "ai": [i, None, 3][: i % 4], "as": ["x" * k for k in range(i % 4)],
        "aas": [["p", None], [], None, ["q"]][: i % 5], "m": [["k%d" % k, k if k else None] for k in range(i % 3)],
        "ms": [["e", 2]] if i % 2 else [], "r": {"a": i, "b": None} if i % 3 else None,
        "arm": [{"x": [[i, [0.5, None]]], "y": i % 2 == 1}, None, {"x": None, "y": None}][: i % 4],
    }


def tidelake(program, warehouse, *words, stdin=None):
    run = subprocess.run([program, *words, "--warehouse", warehouse], input=stdin, capture_output=True)
    if run.returncode != 0:
        raise RuntimeError(f"tidelake {' '.join(words)}: {run.stderr.decode().strip()}")
    return run.stdout


def make_table(program, warehouse, rows):
    schema = {"columns": [{"name": name, "type": kind} for name, kind in TYPES.items()]}
    tidelake(program, warehouse, "create", "db.all_types", "-", stdin=json.dumps(schema).encode())
    lines = "".join(json.dumps(row(i)) + "\n" for i in range(rows))
    tidelake(program, warehouse, "write", "db.all_types", "-", stdin=lines.encode())


def differences(program, warehouse, table):
    schema = json.loads(tidelake(program, warehouse, "schema", table))
    wanted = tidelake(program, warehouse, "read", table, "--format", "jsonl", "--order", "scan").decode().splitlines()
    arrow = pa.ipc.open_stream(io.BytesIO(tidelake(program, warehouse, "read", table, "--format", "arrow"))).read_all()
    arrow.validate(full=True)
    parquet = pq.ParquetFile(io.BytesIO(tidelake(program, warehouse, "read", table, "--format", "parquet"))).read()
    for name, got in (("arrow", arrow), ("parquet", parquet)):
        lines = arrow_text.lines(got, schema)
        if len(lines) != len(wanted):
            yield f"{table} as {name}: {len(lines)} rows, {len(wanted)} are right"
        for a, b in zip(lines, wanted):
            if a != b:
                yield f"{table} as {name}: {a}\n  is not {b}"
                break
    wanted = [json.loads(line)["_kind"] for line in tidelake(program, warehouse, "read", table, "--kinds", "--format", "jsonl", "--order", "scan").splitlines()]
    kinds = tidelake(program, warehouse, "read", table, "--format", "arrow", "--kinds")
    if pa.ipc.open_stream(io.BytesIO(kinds)).read_all().column("_kind").to_pylist() != wanted:
        yield f"{table}: _kind of an Arrow stream"


def main():
    program, tables = sys.argv[1], list(zip(sys.argv[2::2], sys.argv[3::2]))
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        if not tables:
            for rows in (0, 1, 10000):
                make_table(program, f"{scratch}/{rows}", rows)
                tables.append((f"{scratch}/{rows}", "db.all_types"))
        for warehouse, table in tables:
            try:
                found = list(differences(program, warehouse, table))
            except RuntimeError as error:
                found = [str(error)]
            failed += len(found) > 0
            if found:
                print(warehouse, *found, sep="\n")
    print(f"{len(tables) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
