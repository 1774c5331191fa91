#!/usr/bin/env python3
"""Append tables of csv, json and text files, written by the program and by the reference, read by both: lines.py ORACLE TIDELAKE.

The four outputs of a table must be the same, and the files, too, byte for byte. Then files of the reference are replaced by others, malformed
ones among them, which both must read alike, or both refuse. Last, format tables: folders of files that the program wrote, or that lie there
as other programs leave them, are read by both, whole and filtered. (The reference's catalog loads a schema file that asks for one; it has no
way to make one, and takes the schema's own folder for data where a table has no partitions.)"""

import gzip
import json
import os
import subprocess
import sys
import tempfile

SCALARS = [("id", "INT"), ("b", "BOOLEAN"), ("s", "STRING"), ("d", "DOUBLE"), ("f", "FLOAT"), ("dec", "DECIMAL(10, 2)"), ("dt", "DATE"),
           ("t", "TIME(3)"), ("ts", "TIMESTAMP(6)"), ("ltz", "TIMESTAMP(3) WITH LOCAL TIME ZONE"), ("bin", "BYTES"), ("ti", "TINYINT"),
           ("bi", "BIGINT"), ("c", "CHAR(5)")]
NESTED = [("id", "INT"), ("a", "ARRAY<INT>"), ("m", "MAP<STRING, DECIMAL(5, 2)>"), ("mi", "MAP<INT, DATE>"),
          ("r", "ROW<x INT, y STRING, z ARRAY<BYTES>>")]
ROWS = [
    {"id": 1, "b": True, "s": 'a,b "q" \\ back', "d": 1.5, "f": 0.1, "dec": "12.30", "dt": "2024-02-29", "t": "12:34:56.789",
     "ts": "2024-02-29T12:34:56.123456000", "ltz": "2024-02-29T12:34:56.123000000Z", "bin": "00ff", "ti": -5, "bi": 2**63 - 1, "c": "ab   "},
    {"id": 2, "b": False, "s": "", "d": 1e300, "f": 3e20, "dec": "-0.01", "dt": "0001-01-01", "t": "00:00:00.000",
     "ts": "1969-12-31T23:59:59.999999000", "ltz": "1970-01-01T00:00:00.000000000Z", "bin": "", "ti": 0, "bi": -1, "c": "     "},
    {"id": 3},
    {"id": 4, "s": "line\nbreak", "d": "NaN", "f": "-Infinity", "ts": "2024-02-29T12:34:56.100000000", "t": "12:34:00.000"},
    {"id": 5, "s": "  lead", "d": 0.25, "f": 1e10, "ltz": "1960-02-29T12:00:00.001000000Z", "t": "23:59:59.100", "dec": "0.00"},
    {"id": 6, "s": "\u00fcn\u00efcode \U0001f600\ttab;|'", "d": 100, "f": 1e-5, "ts": "9999-12-31T00:00:00.000001000"},
]
NESTED_ROWS = [
    {"id": 1, "a": [1, None, 3], "m": [["k", "1.50"], ['q"u', None]], "mi": [[5, "2020-01-01"]], "r": {"x": 1, "y": "s", "z": ["ff", None]}},
    {"id": 2, "a": [], "m": [], "mi": None, "r": {"x": None, "y": None, "z": None}},
    {"id": 3},
]
VECTORS = [("id", "INT"), ("v", "VECTOR<FLOAT, 3>"), ("w", "VECTOR<BOOLEAN, 2>"), ("r", "ROW<x INT, v VECTOR<BIGINT, 2>>")]
VECTOR_ROWS = [
    {"id": 1, "v": [0.1, -1e30, 7], "w": [True, False], "r": {"x": 1, "v": [2**63 - 1, -1]}},
    {"id": 2, "v": None, "w": None, "r": {"x": 2, "v": None}},
    {"id": 3, "v": ["NaN", "-Infinity", 0], "w": [False, False], "r": None},
]
TEXTS = [{"s": s} for s in ("hello", None, "two\nlines", "", "end")]
DIALECT = {"csv.include-header": "true", "csv.field-delimiter": ";", "csv.null-literal": "NULL", "csv.quote-character": "'",
           "csv.line-delimiter": "|\n"}
# Codecs of the reference that need native libraries (zstd) are left out.
CASES = {
    "csv": ("csv", "none", SCALARS, ROWS, {}), "csv_gzip": ("csv", "gzip", SCALARS, ROWS, {}), "csv_dialect": ("csv", "none", SCALARS, ROWS, DIALECT),
    "json": ("json", "none", SCALARS, ROWS, {}), "json_deflate": ("json", "deflate", SCALARS, ROWS, {}),
    "json_nested": ("json", "gzip", NESTED, NESTED_ROWS, {}), "csv_bzip2": ("csv", "bzip2", SCALARS, ROWS, {}),
    "json_vectors": ("json", "gzip", VECTORS, VECTOR_ROWS, {}), "text": ("text", "none", [("s", "STRING")], TEXTS, {}),
}

TWO = [("a", "STRING"), ("b", "STRING")]
VALUES = [("i", "INT"), ("s", "STRING"), ("d", "DECIMAL(5, 2)"), ("b", "BYTES"), ("f", "DOUBLE"), ("t", "TIMESTAMP(3)"), ("o", "BOOLEAN")]
RAW = [
    ("csv", TWO, {}, b'x,y\n\n  \nz\n\xef\xbb\xbf"q"\r\nz,w\rq,r'), ("csv", TWO, {}, b'"a,""b","c\\"d"\nabc"d"ef,g\na\\b,"open\nrest\na,  "b"\n'),
    ("csv", TWO, {}, b'\xef\xbb\xbfx"","y"z"\n" a ""b"",c\n\xc3\xbc"x"y,z\n"\xf0\x9f\x98\x80"d"e,f\na"b"c"d,\\"e\\"\n\xe3\x80\x80\n\xe3\x80\x80x,\xe2\x80\x83"a"b\n'),
    ("csv", TWO, {"csv.line-delimiter": "$$"}, b"x,y$$z$,\n$$$a$$"), ("csv", TWO, {}, b"a\xffb,\xe2\x82\xf0\x9f\x98\xed\xa0\x80\xc0\xaf.\n"),
    ("csv", VALUES, {}, b"1,a,1.005,AP8=,1e3,2024-01-01 1:2:3.4567,TRUE\nx,a,1,\n2,a,z,AP8\n3,a,12345,A,1,1,1\n+4,a,1,AP8,0x1p3,2024-02-30 00:00:00,1\n5,,,, 1 ,86400000,t\n"),
    ("csv", VALUES, {"csv.mode": "dropmalformed"}, b"1\nx\n2147483648\n 3\n4,a,b\n5,a,1,AP8=AP\n"), ("csv", VALUES, {"csv.mode": "failfast"}, b"1\nx\n"),
    ("csv", VALUES, {"csv.include-header": "true"}, b"i,s\n1,2\n"), ("csv", VALUES, {"csv.include-header": "true"}, b""),
    ("json", VALUES, {}, b'{"i":"5","s":7,"d":1.10,"f":1e400,"o":"TrUe","z":[]} {}\nnull\n{"s":1e2,"i":-0,"b":"AP8","t":"2024-01-01"}\n{"s":{"q":1},"o":1}\n{"i":1,"i":2,"s":12345678901234567890}\n'),
    ("json", VALUES, {}, b'{"i":1}\n\n'), ("json", VALUES, {}, b"[1]\n"), ("json", VALUES, {}, b'{"i":1.5}\n'), ("json", VALUES, {}, b'{"i":1\n'),
    ("json", VALUES, {"json.ignore-parse-errors": "true"}, b'{\n[]\n{"i":"x","s":"y","d":"1.2.3","b":"?","t":"z","o":"w"}\n"a"\n'),
    ("json", NESTED, {}, b'{"m":{"a":1,"b":2,"a":3},"mi":{"1":"2020-01-01","01":"5"},"r":{"z":["AP8="],"x":"4"}}\n{"a":["1",null,2]}\n'),
    ("json", NESTED, {"json.ignore-parse-errors": "true"}, b'{"a":{},"m":{"x":"y","z":1},"mi":{"x":"2020-01-01","2":"x"},"r":{"x":"?"}}\n{"a":["x",1]}\n'),
    ("text", [("s", "STRING")], {"text.line-delimiter": ";;"}, b"a;b;;;;c;"), ("text", [("s", "STRING")], {}, b"a\r\n\rb\n\n"),
]


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit("%s: %s%s" % (" ".join(command), done.stderr, done.stdout[-2000:]))
    return done.stdout


def contents(folder):
    names = [os.path.join(folder, name) for name in os.listdir(folder)]
    assert len(names) == 1, names
    data = open(names[0], "rb").read()
    return os.path.basename(names[0]).split(".", 1)[1], gzip.decompress(data) if names[0].endswith(".gz") else data


PARTS = [("pi", "INT"), ("pd", "DATE"), ("ps", "STRING"), ("pb", "BOOLEAN")]
FOLDERS = {"pi=7/pd=2024-02-29/ps=a%3Ab/pb=true/000000_0": b'{"v":1}\n', "pb=false/ps=x/pd=19782/pi=-1/sub/f": b'{"v":2}\n',
           "pi=7/pd=2024-02-29/ps=__HIVE_DEFAULT_PARTITION__/pb=true/_SUCCESS": b"x", "pi=7/pd=2024-02-29/ps=__HIVE_DEFAULT_PARTITION__/pb=true/f": b'{"v":3}\n',
           "pi=__DEFAULT_PARTITION__/pd=1969-12-31/ps=%2520/pb=TRUE/f.json": b'{"v":4}\n{"v":5}\n', "other/pd=1999-01-01/ps=y/pb=true/f": b"?", "notes.txt": b"?"}
WHERE = ['["=","pi",7]', '["and",["=","pd","2024-02-29"],[">","v",1]]', '["or",["isNull","pi"],["=","ps","x"]]', '["not",["=","pb",true]]']


def format_tables(oracle, program):
    """Each table is read whole and with filters on partition columns; text has no room for more than one column."""
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        warehouse, names, reads = os.path.join(scratch, "w"), [], []
        for kind in ("csv", "json", "parquet", "orc", "made"):
            options = {"type": "format-table", "file.format": "json" if kind == "made" else kind,
                       "partition.legacy-name": "true" if kind in ("csv", "orc") else "false"}
            schema, lines = "%s/%s.json" % (scratch, kind), "%s/%s.jsonl" % (scratch, kind)
            with open(schema, "w") as out:
                json.dump({"columns": [{"name": n, "type": t} for n, t in [PARTS[0], ("v", "INT"), *PARTS[1:]]],
                           "partitionKeys": [n for n, _ in PARTS], "primaryKeys": [], "options": options, "comment": ""}, out)
            run([program, "create", "--warehouse", warehouse, "d." + kind, schema])
            with open(lines, "w") as out:
                for v in range(12):
                    json.dump({"v": v, "pi": [7, -1, None][v % 3], "pd": ["2024-02-29", None][v % 2], "pb": v > 5,
                               "ps": ["x", "a/b=c", "%20", "\u00e9 ", None][v % 5]}, out)
                    out.write("\n")
            if kind == "made":
                for path, data in FOLDERS.items():
                    path = os.path.join(warehouse, "d.db", kind, path)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as out:
                        out.write(data)
            else:
                run([program, "write", "--warehouse", warehouse, "d." + kind, lines])
            for i, where in enumerate([None] + WHERE):
                names.append((kind, where))
                reads.append("read %s d.%s %s > %s/%d" % (warehouse, kind, "" if where is None else "--where '%s'" % where, scratch, len(reads)))
        with open(os.path.join(scratch, "batch"), "w") as out:
            out.write("\n".join(reads) + "\n")
        run([oracle, "batch", os.path.join(scratch, "batch")])
        for i, (kind, where) in enumerate(names):
            theirs = open("%s/%d" % (scratch, i)).read()
            ours = run([program, "read", "--warehouse", warehouse, "d." + kind, "--order", "bytes", "--format", "jsonl"] + (["--where", where] if where else []))
            same = theirs == ours and (theirs != "" or where is not None)
            failed += not same
            if not same:
                print("FAILED format table %s where %s\n%s---\n%s" % (kind, where, theirs, ours))
        print("%s %d reads of format tables" % ("ok    " if not failed else "FAILED", len(names)))
    return failed


def main():
    oracle, program = sys.argv[1:3]
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        ours, theirs, batch = os.path.join(scratch, "ours"), os.path.join(scratch, "theirs"), []
        for name, (kind, codec, columns, rows, options) in CASES.items():
            schema, lines = os.path.join(scratch, name + ".json"), os.path.join(scratch, name + ".jsonl")
            with open(schema, "w") as out:
                json.dump({"columns": [{"name": n, "type": t} for n, t in columns], "partitionKeys": [], "primaryKeys": [],
                           "options": {"file.format": kind, "file.compression": codec, **options}, "comment": ""}, out)
            with open(lines, "w") as out:
                out.writelines(json.dumps(row) + "\n" for row in rows)
            run([program, "create", "--warehouse", ours, "d." + name, schema])
            run([program, "write", "--warehouse", ours, "d." + name, lines])
            batch += ["create %s d.%s %s" % (theirs, name, schema), "write %s d.%s %s --compact none" % (theirs, name, lines)]
            batch += ["read %s d.%s > %s/%s.%s" % (w, name, scratch, name, os.path.basename(w)) for w in (ours, theirs)]
        with open(os.path.join(scratch, "batch"), "w") as out:
            out.write("\n".join(batch) + "\n")
        run([oracle, "batch", os.path.join(scratch, "batch")])
        for name, (kind, codec, _, _, _) in CASES.items():
            outputs = [open("%s/%s.%s" % (scratch, name, w)).read() for w in ("theirs", "ours")]
            outputs += [run([program, "read", "--warehouse", w, "d." + name, "--order", "bytes", "--format", "jsonl"]) for w in (theirs, ours)]
            files = [contents(os.path.join(w, "d.db", name, "bucket-0")) for w in (theirs, ours)]
            same = outputs[0] != "" and all(o == outputs[0] for o in outputs) and files[0][0] == files[1][0]
            if codec in ("none", "gzip"):
                same = same and files[0] == files[1]
            failed += not same
            print("%s %s" % ("ok    " if same else "FAILED", name))
            if not same:
                print("\n".join(outputs), files)
    failed += replaced(oracle, program)
    failed += format_tables(oracle, program)
    sys.exit(failed > 0)


def replaced(oracle, program):
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        warehouse, writes, reads = os.path.join(scratch, "w"), [], []
        for i, (kind, columns, options, _) in enumerate(RAW):
            schema, lines = "%s/%d.json" % (scratch, i), "%s/%d.jsonl" % (scratch, i)
            with open(schema, "w") as out:
                json.dump({"columns": [{"name": n, "type": t} for n, t in columns], "partitionKeys": [], "primaryKeys": [],
                           "options": {"file.format": kind, "file.compression": "none", "metadata.stats-mode": "none", **options}, "comment": ""}, out)
            with open(lines, "w") as out:
                out.write("{}\n")
            writes += ["create %s d.t%d %s" % (warehouse, i, schema), "write %s d.t%d %s --compact none" % (warehouse, i, lines)]
            reads += ["read %s d.t%d > %s/%d.out" % (warehouse, i, scratch, i)]
        for name, commands in (("writes", writes), ("reads", reads)):
            with open(os.path.join(scratch, name), "w") as out:
                out.write("\n".join(commands) + "\n")
        run([oracle, "batch", os.path.join(scratch, "writes")])
        for i, (_, _, _, data) in enumerate(RAW):
            folder = "%s/d.db/t%d/bucket-0" % (warehouse, i)
            with open(os.path.join(folder, os.listdir(folder)[0]), "wb") as out:
                out.write(data)
        done = subprocess.run([oracle, "batch", os.path.join(scratch, "reads")], capture_output=True, text=True)
        results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"_end"')]
        for i, result in enumerate(results):
            ours = subprocess.run([program, "read", "--warehouse", warehouse, "d.t%d" % i, "--order", "bytes", "--format", "jsonl"],
                                  capture_output=True, text=True)
            same = (ours.returncode == 0) == result["ok"] and (not result["ok"] or ours.stdout == open("%s/%d.out" % (scratch, i)).read())
            failed += not same
            if not same:
                print("FAILED", RAW[i], result, open("%s/%d.out" % (scratch, i)).read(), ours.stdout, ours.stderr, sep="\n")
        print("%d of %d replaced files read alike" % (len(RAW) - failed, len(RAW)))
        return failed + (len(results) != len(RAW))


if __name__ == "__main__":
    main()
