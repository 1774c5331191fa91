#!/usr/bin/env python3
"""Public ORC files read by tests/format/file_dump and compared with the rows that come with them, or with what pyarrow reads.

    orc_read.py FILE_DUMP CONFORMANCE

CONFORMANCE has *.orc, expected/NAME.jsn.gz with the rows of some as JSON lines, and corrupt/*.orc, which must be refused. Prints one line
per failure and a count; exit status 1 if there was one.
"""

import decimal
import glob
import gzip
import json
import math
import os
import subprocess
import sys



# Its decimals were printed with fourteen digits.
ROUNDED = "orc-file-11-format.orc"


def equal(got, want, rounded):
    """The expected rows have 15 digits of a DOUBLE, 6 or 7 of a FLOAT."""
    if isinstance(got, dict) and isinstance(want, dict):
        return got.keys() == want.keys() and all(equal(got[k], want[k], rounded) for k in got)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(equal(g, w, rounded) for g, w in zip(got, want))
    if isinstance(got, Float) or (rounded and isinstance(got, decimal.Decimal)):
        return want is not None and math.isclose(got, want, rel_tol=1e-6 if isinstance(got, Float) and got.is_single else 1e-12)
    return got == want


class Float(float):
    is_single = False


def number(value, base):
    value = Float(value)
    value.is_single = base == "FLOAT"
    return value


def moment(text):
    """'2000-03-12 15:00:00.0' or with T and nine digits."""
    text = text.replace("T", " ").rstrip("Z")
    whole, _, part = text.partition(".")
    return whole + "." + part.rstrip("0")


def ours(value, kind):
    """A value of the text form, by its type in the schema, as the expected rows have it."""
    if value is None:
        return None
    name = kind["type"] if isinstance(kind, dict) else kind
    if name == "ROW":
        fields = {f["name"]: f["type"] for f in kind["fields"]}
        return {k: ours(v, fields[k]) for k, v in value.items()}
    if name == "ARRAY":
        return [ours(v, kind["element"]) for v in value]
    if name == "MAP":
        return sorted(([ours(k, kind["key"]), ours(v, kind["value"])] for k, v in value), key=str)
    base = name.split(" ")[0].split("(")[0]
    if base in ("BYTES", "VARBINARY", "BINARY"):
        return list(bytes.fromhex(value))
    if base.startswith("TIMESTAMP"):
        return moment(value)
    if base == "DECIMAL":
        return decimal.Decimal(value).normalize()
    if base in ("FLOAT", "DOUBLE"):
        return number(value, base)
    return value.rstrip(" ") if base == "CHAR" else value


def theirs(value, kind):
    if value is None:
        return None
    name = kind["type"] if isinstance(kind, dict) else kind
    if name == "ROW":
        fields = {f["name"]: f["type"] for f in kind["fields"]}
        if "tag" in fields and set(value) == {"tag", "value"}:  # a union
            row = {k: None for k in fields}
            row["tag"] = int(value["tag"])
            row["field%d" % row["tag"]] = theirs(value["value"], fields["field%d" % row["tag"]])
            return row
        return {k: theirs(v, fields[k]) for k, v in value.items()}
    if name == "ARRAY":
        return [theirs(v, kind["element"]) for v in value]
    if name == "MAP":
        return sorted(([theirs(e["key"], kind["key"]), theirs(e["value"], kind["value"])] for e in value), key=str)
    base = name.split(" ")[0].split("(")[0]
    if base.startswith("TIMESTAMP"):
        return moment(value)
    if base == "DECIMAL":
        return decimal.Decimal(str(value)).normalize()
    if base in ("FLOAT", "DOUBLE"):
        return number(value, base)
    if isinstance(value, decimal.Decimal):
        return int(value)
    return value.rstrip(" ") if base == "CHAR" else value


class Check:
    def __init__(self, dump):
        self.dump = dump
        self.done = self.failed = 0

    def fail(self, name, message):
        self.failed += 1
        print("FAILED %s: %s" % (name, message), flush=True)

    def run(self, path, *args):
        return subprocess.run([self.dump, *args, path], capture_output=True, timeout=300)

    def rows(self, path):
        """Schema and rows, or None and the error."""
        schema, out = self.run(path, "--schema"), self.run(path)
        if out.returncode != 0:
            return None, out.stderr.decode()
        return json.loads(schema.stdout), [json.loads(line, parse_float=decimal.Decimal) for line in out.stdout.decode().split("\n")[:-1]]

    def expected(self, path, expected):
        name = os.path.basename(path)
        self.done += 1
        schema, got = self.rows(path)
        if schema is None:
            self.fail(name, got)
            return
        want = [json.loads(line, parse_float=decimal.Decimal) for line in gzip.open(expected, "rt")]
        if len(got) != len(want):
            self.fail(name, "%d rows, %d expected" % (len(got), len(want)))
            return
        for i, (g, w) in enumerate(zip(got, want)):
            if not isinstance(w, dict):
                w = {"_col0": w}
            g, w = ours(g, schema), theirs(w, schema)
            if not equal(g, w, name == ROUNDED):
                at = next((k for k, (a, b) in enumerate(zip(str(g), str(w))) if a != b), 0)
                self.fail(name, "row %d\n  got  …%s\n  want …%s" % (i, str(g)[max(0, at - 60):at + 100], str(w)[max(0, at - 60):at + 100]))
                return

    def counted(self, path):
        """No rows come with it: as many as pyarrow reads, where it is there."""
        name = os.path.basename(path)
        try:
            from pyarrow import orc
        except ImportError:
            return
        self.done += 1
        schema, got = self.rows(path)
        try:
            want = orc.ORCFile(path).read().num_rows
        except Exception:  # noqa: BLE001: it cannot read the file
            return
        if schema is None or len(got) != want:
            self.fail(name, got if schema is None else "%d rows, %d expected" % (len(got), want))

    def must_fail(self, path):
        self.done += 1
        out = self.run(path)
        if out.returncode != 1 or not out.stderr.startswith(b"file_dump: "):
            self.fail(os.path.basename(path), "exit %d, an error expected" % out.returncode)


def main():
    check, folder = Check(sys.argv[1]), sys.argv[2]
    for path in sorted(glob.glob(os.path.join(folder, "*.orc"))):
        expected = os.path.join(folder, "expected", os.path.basename(path)[:-len(".orc")] + ".jsn.gz")
        if os.path.exists(expected):
            check.expected(path, expected)
        else:
            check.counted(path)
    for path in sorted(glob.glob(os.path.join(folder, "corrupt", "*.orc"))):
        check.must_fail(path)
    print("%d passed, %d failed" % (check.done - check.failed, check.failed))
    sys.exit(check.failed != 0)


if __name__ == "__main__":
    main()
