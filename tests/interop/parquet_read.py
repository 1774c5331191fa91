#!/usr/bin/env python3
"""Parquet files of other writers, read by tests/format/file_dump and compared with what pyarrow reads.

    parquet_read.py FILE_DUMP [--conformance DIR] [--seed N] [--quick]

Needs pyarrow and numpy; DuckDB's files are tested where the module is there. Files are made in a temporary folder. Prints one
line per failure and a count; exit status 1 if there was one.
"""

import argparse
import decimal
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arrow_text  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import variant_text  # noqa: E402

# Files that must be refused, in conformance/parquet/data; and those where pyarrow is the one that is wrong or cannot read.
MUST_FAIL = {"datapage_v1-corrupt-checksum", "rle-dict-uncompressed-corrupt-checksum", "large_string_map.brotli"}
NOT_COMPARED = {"int96_from_spark", "incorrect_map_schema"}
# Bad files that are good by now: the defect was in a reader.
READABLE = {"ARROW-GH-43605"}


class Check:
    def __init__(self, dump, seed):
        self.dump = dump
        self.random = random.Random(seed)
        self.done = self.failed = 0

    def fail(self, name, message):
        self.failed += 1
        print("FAILED %s: %s" % (name, message), flush=True)

    def run(self, path, *args):
        return subprocess.run([self.dump, *args, path], capture_output=True, timeout=300)

    def schema(self, path):
        out = self.run(path, "--schema")
        if out.returncode != 0:
            raise RuntimeError(out.stderr.decode().strip())
        return json.loads(out.stdout)

    def compare(self, name, path, table, *args, columns=None):
        self.done += 1
        try:
            schema = self.schema(path)
            if columns is not None:
                fields = {f["name"]: f for f in schema["fields"]}
                schema = {"type": "ROW", "fields": [fields[c] for c in columns]}
                args += ("--columns", ",".join(columns))
            out = self.run(path, *args)
            if out.returncode != 0:
                raise RuntimeError("exit %d: %s" % (out.returncode, out.stderr.decode()[-400:].strip()))
            got = out.stdout.decode().split("\n")[:-1]
            want = arrow_text.lines(table, schema)
        except Exception as e:  # noqa: BLE001
            self.fail(name, repr(e))
            return
        if got == want:
            return
        if len(got) != len(want):
            self.fail(name, "%d rows, %d expected" % (len(got), len(want)))
            return
        row = next(i for i, (g, w) in enumerate(zip(got, want)) if g != w)
        at = max(0, next((i for i, (a, b) in enumerate(zip(got[row], want[row])) if a != b), 0) - 60)
        self.fail(name, "row %d\n  got  %s\n  want %s" % (row, got[row][at:at + 200], want[row][at:at + 200]))


# ---- conformance ----

def conformance(check, folder):
    for path in sorted(glob.glob(os.path.join(folder, "data", "*.parquet"))):
        name = os.path.basename(path)[:-len(".parquet")]
        if name in MUST_FAIL:
            must_fail(check, path)
        elif name not in NOT_COMPARED:
            check.compare(name, path, pq.ParquetFile(path).read())
    for path in sorted(glob.glob(os.path.join(folder, "shredded_variant", "*.parquet"))):
        variant(check, path)
    for path in sorted(glob.glob(os.path.join(folder, "bad_data", "*.parquet"))):
        if os.path.basename(path)[:-len(".parquet")] not in READABLE:
            must_fail(check, path)


def variant(check, path):
    """The column `var` is the JSON of the .variant.bin of each row (NULL where a row has none); a file without any must be refused."""
    rows = pq.ParquetFile(path).metadata.num_rows
    files = [path[:-len(".parquet")] + "_row-%d.variant.bin" % i for i in range(rows)]
    if not any(os.path.exists(f) for f in files):
        must_fail(check, path)
        return
    check.done += 1
    out = check.run(path, "--columns", "var")
    got = out.stdout.decode().split("\n")[:-1]
    want = []
    for name in files:
        data = open(name, "rb").read() if os.path.exists(name) else None
        want.append('{"var":%s}' % ("null" if data is None else arrow_text.quoted(variant_text.json(*variant_text.split(data)))))
    if out.returncode != 0 or got != want:
        check.fail(os.path.basename(path), "exit %d %s\n  got  %s\n  want %s" % (out.returncode, out.stderr.decode().strip(), got, want))


def must_fail(check, path):
    check.done += 1
    out = check.run(path)
    if out.returncode != 1 or not out.stderr.startswith(b"file_dump: "):
        check.fail(os.path.basename(path), "exit %d, an error expected" % out.returncode)


# ---- tables ----

def with_nulls(rng, values, share):
    return [None if rng.random() < share else v for v in values]


def runs(rng, values, n):
    """Values in runs, as sorted or grouped data has them."""
    out = []
    while len(out) < n:
        out += [rng.choice(values)] * rng.randint(1, 40)
    return out[:n]


def words(rng, n, distinct=50):
    base = ["", "a", "é", "naïve \"quoted\"\n", "x" * 33, "longer text that does not fit sixteen bytes", "\x7f\t"]
    base += ["w%d" % i * rng.randint(1, 6) for i in range(distinct)]
    return [rng.choice(base) for _ in range(n)]


def scalar_columns(rng, n, nulls):
    ints = lambda lo, hi: [rng.choice([lo, hi, 0, 1, rng.randint(lo, hi)]) for _ in range(n)]  # noqa: E731
    floats = [rng.choice([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.5, rng.gauss(0, 1e10), 1e-310]) for _ in range(n)]
    cols = {
        "b": pa.array(with_nulls(rng, runs(rng, [True, False], n), nulls), pa.bool_()),
        "i8": pa.array(with_nulls(rng, ints(-128, 127), nulls), pa.int8()),
        "i16": pa.array(with_nulls(rng, ints(-2**15, 2**15 - 1), nulls), pa.int16()),
        "i32": pa.array(with_nulls(rng, ints(-2**31, 2**31 - 1), nulls), pa.int32()),
        "i64": pa.array(with_nulls(rng, ints(-2**63, 2**63 - 1), nulls), pa.int64()),
        "u8": pa.array(with_nulls(rng, ints(0, 255), nulls), pa.uint8()),
        "u16": pa.array(with_nulls(rng, ints(0, 65535), nulls), pa.uint16()),
        "u32": pa.array(with_nulls(rng, ints(0, 2**32 - 1), nulls), pa.uint32()),
        "u64": pa.array(with_nulls(rng, ints(0, 2**64 - 1), nulls), pa.uint64()),
        "small": pa.array(with_nulls(rng, runs(rng, list(range(5)), n), nulls), pa.int32()),
        "seq": pa.array(with_nulls(rng, list(range(n)), nulls), pa.int64()),
        "f16": pa.array(with_nulls(rng, [np.float16(v) for v in (rng.choice([0, -1.5, 65504, 1e-7, 3.14]) for _ in range(n))], nulls), pa.float16()),
        "f32": pa.array(with_nulls(rng, [v if abs(v) < 1e38 or v != v else 1.0 for v in floats], nulls), pa.float32()),
        "f64": pa.array(with_nulls(rng, floats, nulls), pa.float64()),
        "s": pa.array(with_nulls(rng, words(rng, n), nulls), pa.string()),
        "unique": pa.array(with_nulls(rng, ["key-%d-%d" % (i, rng.getrandbits(40)) for i in range(n)], nulls), pa.string()),
        "bin": pa.array(with_nulls(rng, [rng.randbytes(rng.randint(0, 40)) for _ in range(n)], nulls), pa.binary()),
        "fix": pa.array(with_nulls(rng, [rng.randbytes(7) for _ in range(n)], nulls), pa.binary(7)),
        "date": pa.array(with_nulls(rng, ints(-100000, 100000), nulls), pa.int32()).cast(pa.date32()),
        "t32": pa.array(with_nulls(rng, ints(0, 86399999), nulls), pa.int32()).cast(pa.time32("ms")),
        "t64": pa.array(with_nulls(rng, ints(0, 86399999999), nulls), pa.int64()).cast(pa.time64("us")),
        "tms": pa.array(with_nulls(rng, ints(-10**13, 10**13), nulls), pa.int64()).cast(pa.timestamp("ms")),
        "tus": pa.array(with_nulls(rng, ints(-10**16, 10**16), nulls), pa.int64()).cast(pa.timestamp("us")),
        "tns": pa.array(with_nulls(rng, ints(-10**18, 10**18), nulls), pa.int64()).cast(pa.timestamp("ns")),
        "tz": pa.array(with_nulls(rng, ints(-10**16, 10**16), nulls), pa.int64()).cast(pa.timestamp("us", tz="UTC")),
    }
    for p, s in ((5, 2), (9, 0), (15, 4), (18, 18), (20, 3), (38, 10)):
        values = [decimal.Decimal(rng.randint(-10**p + 1, 10**p - 1)).scaleb(-s, decimal.Context(prec=60)) for _ in range(n)]
        cols["d%d_%d" % (p, s)] = pa.array(with_nulls(rng, values, nulls), pa.decimal128(p, s))
    return cols


def random_type(rng, depth):
    leaves = [pa.int32(), pa.int64(), pa.string(), pa.float64(), pa.bool_(), pa.decimal128(20, 3), pa.int16()]
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(leaves)
    kind = rng.randint(0, 2)
    if kind == 0:
        return pa.list_(pa.field("element", random_type(rng, depth - 1), nullable=rng.random() < 0.7))
    if kind == 1:
        fields = [pa.field("f%d" % i, random_type(rng, depth - 1), nullable=rng.random() < 0.7) for i in range(rng.randint(1, 3))]
        return pa.struct(fields)
    return pa.map_(rng.choice([pa.string(), pa.int32()]), pa.field("value", random_type(rng, depth - 1)))


def random_value(rng, t, nullable, nulls):
    if nullable and rng.random() < nulls:
        return None
    if pa.types.is_map(t):
        return [(k, random_value(rng, t.item_type, True, nulls)) for k in random_keys(rng, t.key_type)]
    if pa.types.is_list(t):
        return [random_value(rng, t.value_type, t.value_field.nullable, nulls) for _ in range(rng.choice([0, 1, 2, rng.randint(0, 9)]))]
    if pa.types.is_struct(t):
        return {f.name: random_value(rng, f.type, f.nullable, nulls) for f in t}
    if pa.types.is_string(t):
        return rng.choice(["", "v", "word", "a longer piece of text %d" % rng.randint(0, 99)])
    if pa.types.is_decimal(t):
        return decimal.Decimal(rng.randint(-10**9, 10**9)).scaleb(-t.scale)
    if pa.types.is_floating(t):
        return rng.choice([0.5, -1.25, rng.random()])
    if pa.types.is_boolean(t):
        return rng.random() < 0.5
    return rng.randint(-30000, 30000)


def random_keys(rng, t):
    n = rng.choice([0, 1, 3])
    keys = rng.sample(range(100), n)
    return ["k%d" % k for k in keys] if pa.types.is_string(t) else keys


def nested_columns(rng, n, nulls):
    cols = {}
    for i in range(6):
        t = random_type(rng, rng.randint(1, 4))
        field = pa.field("n%d" % i, t, nullable=rng.random() < 0.7)
        cols[field] = pa.array([random_value(rng, t, field.nullable, nulls) for _ in range(n)], t)
    return cols


# ---- writer options ----

CODECS = ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]


def random_options(rng, table, has_nested):
    encodings = {}
    use_dictionary = rng.choice([True, False])
    if not use_dictionary and not has_nested and rng.random() < 0.8:
        for field in table.schema:
            choices = encodings_of(field.type)
            if choices and rng.random() < 0.8:
                encodings[field.name] = rng.choice(choices)
    return dict(
        compression=rng.choice(CODECS),
        use_dictionary=use_dictionary,
        column_encoding=encodings or None,
        data_page_version=rng.choice(["1.0", "2.0"]),
        data_page_size=rng.choice([64, 1000, 20000, None]),
        max_rows_per_page=rng.choice([1, 37, 20000]) if table.num_rows < 3000 else rng.choice([100, 20000]),
        row_group_size=rng.choice([max(1, table.num_rows // 3), table.num_rows + 1]),
        write_batch_size=rng.choice([1, 10, 1024]),
        write_statistics=rng.random() < 0.8,
        write_page_index=rng.random() < 0.5,
        write_page_checksum=rng.random() < 0.5,
        store_decimal_as_integer=rng.random() < 0.5,
        use_compliant_nested_type=rng.random() < 0.7,
        dictionary_pagesize_limit=rng.choice([200, 1 << 20]),
        store_schema=False,
        version="2.6",
    )


def encodings_of(t):
    if pa.types.is_boolean(t):
        return ["PLAIN", "RLE"]
    if pa.types.is_integer(t) or pa.types.is_date(t) or pa.types.is_time(t) or pa.types.is_timestamp(t):
        return ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]
    if pa.types.is_float32(t) or pa.types.is_float64(t):
        return ["PLAIN", "BYTE_STREAM_SPLIT"]
    if pa.types.is_string(t) or t == pa.binary():
        return ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]
    if pa.types.is_fixed_size_binary(t) and not pa.types.is_decimal(t):
        return ["PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"]
    return None


def accepted(options):
    """Options that this pyarrow knows."""
    import inspect

    known = inspect.signature(pq.ParquetWriter.__init__).parameters.keys() | inspect.signature(pq.write_table).parameters.keys()
    doc = pq.write_table.__doc__ or ""
    return {k: v for k, v in options.items() if k in known or k in doc}


def write(table, path, options):
    pq.write_table(table, path, **accepted(options))


# ---- cases ----

def random_tables(check, folder, count):
    rng = check.random
    for i in range(count):
        n = rng.choice([0, 1, 7, 8, 9, 63, 64, 65, 500, 2500])
        nulls = rng.choice([0, 0, 0.02, 0.3, 0.97, 1])
        is_nested = i % 2 == 1
        if is_nested:
            cols = nested_columns(rng, n, min(nulls, 0.5))
            table = pa.Table.from_arrays(list(cols.values()), schema=pa.schema(list(cols.keys())))
        else:
            cols = scalar_columns(rng, n, nulls)
            fields = [pa.field(k, v.type, nullable=v.null_count > 0 or rng.random() < 0.5) for k, v in cols.items()]
            table = pa.Table.from_arrays(list(cols.values()), schema=pa.schema(fields))
        path = os.path.join(folder, "t%d.parquet" % i)
        options = random_options(rng, table, is_nested)
        write(table, path, options)
        name = "random table %d (%s)" % (i, {k: v for k, v in options.items() if v})
        batch = str(rng.choice([1, 5, 64, 1000, 4096, 100000]))
        check.compare(name, path, table, "--batch", batch, "--threads", rng.choice(["0", "2"]))
        if table.num_columns > 2:
            picked = rng.sample(table.column_names, 2)
            check.compare(name + " two columns", path, table.select(picked), columns=picked)
        os.remove(path)


def large_table(check, folder):
    rng, n = check.random, 50000
    for i, nulls in enumerate((0, 0.1)):
        table = pa.table(scalar_columns(rng, n, nulls))
        path = os.path.join(folder, "large%d.parquet" % i)
        write(table, path, dict(compression="zstd", row_group_size=20000, data_page_size=50000, write_page_index=True, store_schema=False))
        check.compare("large table", path, table)
        filters(check, path, table, 12)
        os.remove(path)


def filters(check, path, table, count):
    """Exact predicates give the rows that pass, others a superset in whole pages."""
    import pyarrow.compute as pc

    rng = check.random
    schema = check.schema(path)
    everything = arrow_text.lines(table, schema)
    for _ in range(count):
        where, mask = random_filter(rng, table, pc)
        want = [line for line, ok in zip(everything, mask) if ok]
        for exact in (True, False):
            check.done += 1
            args = ["--where", json.dumps(where), "--numbers", "--batch", str(rng.choice([100, 4096]))]
            out = check.run(path, *args, *(["--exact"] if exact else []))
            if out.returncode != 0:
                check.fail("filter %s" % where, out.stderr.decode()[-300:])
                continue
            rows = [line.split(" ", 1) for line in out.stdout.decode().split("\n")[:-1]]
            got = [line for _, line in rows]
            if any(everything[int(number)] != line for number, line in rows):
                check.fail("filter %s" % where, "row numbers do not fit the rows")
            if exact and got != want:
                check.fail("filter %s" % where, "%d rows, %d expected" % (len(got), len(want)))
            if not exact and not set(want) <= set(got):
                check.fail("filter %s" % where, "rows are missing")


def random_filter(rng, table, pc):
    n = table.num_rows
    seq, small = table.column("seq"), table.column("small")
    kind = rng.randint(0, 4)
    a = rng.randint(0, n)
    if kind == 0:
        b = a + rng.choice([0, 10, 3000])
        return ["between", "seq", a, b], pc.and_(pc.greater_equal(seq, a), pc.less_equal(seq, b)).to_pylist()
    if kind == 1:
        picked = sorted(rng.randint(0, n) for _ in range(5))
        return ["in", "seq", picked], pc.is_in(seq, pa.array(picked)).to_pylist()
    if kind == 2:
        return ["and", [">", "seq", a], ["=", "small", 3]], pc.and_kleene(pc.greater(seq, a), pc.equal(small, 3)).to_pylist()
    if kind == 3:
        mask = pc.or_kleene(pc.less(seq, 50), pc.and_kleene(pc.greater(seq, n - 100), pc.invert(pc.equal(small, 1))))
        return ["or", ["<", "seq", 50], ["and", [">", "seq", n - 100], ["not", ["=", "small", 1]]]], mask.to_pylist()
    return ["isNull", "seq"], pc.is_null(seq).to_pylist()


def deprecated_forms(check, folder):
    rng = check.random
    cols = scalar_columns(rng, 300, 0.1)
    table = pa.table({k: cols[k] for k in ("tns", "i32", "s")}) # pyarrow reads INT96 as nanoseconds, which wrap early
    path = os.path.join(folder, "old.parquet")
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=False, version="1.0", flavor="spark")
    check.compare("INT96", path, pq.read_table(path))
    check.compare("INT96 one batch a row", path, pq.read_table(path), "--batch", "1")


def duckdb_files(check, folder):
    try:
        import duckdb
    except ImportError:
        print("DuckDB is not there: its files are not tested")
        return
    con = duckdb.connect()
    con.execute("""create table t as select i as id, i % 7 as k, case when i % 11 = 0 then null else 'text ' || (i % 1000) end as s,
        (i * 31 % 10007)::decimal(18,3) as d, (i::hugeint * 1000003)::decimal(38,5) as big, date '1990-01-01' + (i % 20000)::int as dt,
        timestamp '1960-01-01' + to_microseconds(i * 977 * 1000003) as ts, i / 3.0 as f, (i % 3 = 0) as b, [i, null, i + 1] as l,
        {'x': i, 'y': 'v' || i} as st, map([i % 5, 100], ['a', 'b']) as m, md5(i::varchar)::blob as bl, uuid() as u
        from range(30000) r(i)""")
    n = 0
    for codec in ("uncompressed", "snappy", "zstd", "gzip", "brotli", "lz4_raw"):
        for version in ("V1", "V2"):
            path = os.path.join(folder, "duck%d.parquet" % n)
            n += 1
            con.execute("copy t to '%s' (format parquet, compression %s, parquet_version %s, row_group_size 10000)" % (path, codec, version))
            check.compare("DuckDB %s %s" % (codec, version), path, pq.ParquetFile(path).read())
            os.remove(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dump")
    parser.add_argument("--conformance")
    parser.add_argument("--seed", type=int, default=1, help="of the files that are made; another one looks elsewhere")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    print("seed %d" % args.seed, flush=True)
    check = Check(args.dump, args.seed)
    if args.conformance:
        conformance(check, args.conformance)
    with tempfile.TemporaryDirectory() as folder:
        deprecated_forms(check, folder)
        random_tables(check, folder, 20 if args.quick else 120)
        large_table(check, folder)
        duckdb_files(check, folder)
    print("%d comparisons, %d failed" % (check.done, check.failed))
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
