#!/usr/bin/env python3
"""Writes casts.jsonl: what the reference makes of old values when a column's type changes.

  casts_generate.py > casts.jsonl        (needs the oracle: tests/interop/oracle; a few minutes)

One line for each pair of types: {"from","to","implicit","explicit"} say whether ALTER TABLE takes the change without and with
explicit casts; with "in" and "out": values under the old type and what the new one reads, {"fails": MESSAGE} where reading
fails. Every value lies in a partition of its own, so that a failure is told for it alone.

By hand: TIMESTAMP before 1970 to TIME, where the reference gives negative times.
"""
import json, os, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, "..", "interop", "oracle", "oracle")

INTS = [0, 1, -1, 7, 127, 128, -128, -129, 255, 383, 32767, 32768, -32769, 99999, 2147483647, -2147483648, 2147483648,
        999999999999, -999999999999, 9223372036854775807, -9223372036854775808]
TEXTS = ["", " ", "0", "1", "-1", "+5", " 42", "42 ", "12.75", "-0.5", ".5", "5.", "1e3", "1E-2", "0x10", "NaN", "Infinity", "-Infinity",
         "1.5f", "2d", "128", "-129", "32768", "2147483647", "2147483648", "-2147483649", "9223372036854775807",
         "9223372036854775808", "99999999.995", "123456789012345678901234567890.123456", "true", "TRUE", "t", "Yes", "y", "n", "No", "F", "false",
         "on", "abc", "abcdefghij", "äöüß", "日本語テキスト", "𝄞𝄞𝄞", "2024-02-29", "2024-2-9", "2023-02-29", "2024-02-30", "2024-06-31", "2024", "2024-03",
         "0000-01-01", "9999-12-31", "10000-01-01", "-0044-03-15", "1969-07-20", "2024-02-29 12:34:56", "2024-02-29T12:34:56",
         "2024-02-29 1:2:3", "2024-02-29 12:34:56.123456789", "2024-02-29 12:34:56.", "2024-02-29 12:34", "2024-02-29 24:00:00",
         "1969-12-31 23:59:59.999", "12:34:56", "12:34:56.789", "12:34:56.7895", "1:2:3", "12:34", "12", "25:00:00", "12:34:56+01:00",
         "12:60:00", "1700000000", "1700000000123", "[1,2]", "null"]
BINS = ["", "00", "61", "6162", "61626364", "616263646566", "61626364656667", "c3a4", "ff", "c3a4c3b6c3bc"]
STAMPS = ["1970-01-01T00:00:00.000000000", "2024-02-29T12:34:56.000000000", "2024-02-29T12:34:56.100000000", "2024-02-29T12:34:56.123000000",
          "2024-02-29T12:34:56.123456000", "2024-02-29T12:34:56.123456789", "1969-07-20T20:17:40.987000000", "1969-12-31T23:59:59.999999999",
          "1969-12-31T23:59:59.000000000", "0001-01-01T00:00:00.000000000", "9999-12-31T23:59:59.999000000", "2024-02-29T00:00:00.000000001",
          "2024-02-29T12:34:56.000123000", "1960-01-01T00:00:00.000007000"]
FLOATS = [0, 1, -1, 0.1, 0.5, -0.5, 1.5, 2.5, 126.9, 127.9, 128, 300.7, 32768.5, 2147483647, 2147483648, -2147483649, 9.3e18, -9.3e18, 1e-5,
          123456.789, 1e7, 1e10, 3.4e38, -1e-45, 16777217, "NaN", "Infinity", "-Infinity", -0.0]


def ints(limit):
    return [i for i in INTS if -limit - 1 <= i <= limit]


TYPES = {
    "BOOLEAN": [True, False],
    "TINYINT": ints(127), "SMALLINT": ints(32767), "INT": ints(2147483647), "BIGINT": ints(2**63 - 1),
    "FLOAT": FLOATS, "DOUBLE": FLOATS + [1e300, 0.30000000000000004, 4.35, 1.005],
    "DECIMAL(5, 0)": ["0", "1", "-1", "127", "128", "99999", "-99999"],
    "DECIMAL(10, 2)": ["0.00", "1.00", "-0.50", "0.49", "0.99", "12.75", "-12.75", "127.99", "128.00", "99999.99", "99999999.99", "-99999999.99", "12.25", "12.35"],
    "DECIMAL(18, 6)": ["0.000000", "999999999999.999999", "-999999999999.999999", "123456789012.345678", "9007199254.740993"],
    "DECIMAL(38, 5)": ["0.00000", "1.00000", "-0.50000", "123456789012345678901234567890.12345", "9223372036854775807.99999", "9223372036854775808.00000", "99999.99999", "-2147483649.50000"],
    "CHAR(5)": ["abcde", "12   ", "true ", "ä    ", "日本語テキ"], "VARCHAR(8)": ["", "abc", "12345678", "12.5", "2024-1-1", "12:34:56", "yes", "äöü"],
    "STRING": TEXTS,
    "BINARY(4)": ["00000000", "61626364", "c3a4c3b6"], "VARBINARY(6)": BINS[:6], "BYTES": BINS,
    "DATE": ["1970-01-01", "2024-02-29", "1969-07-20", "1969-12-31", "0001-01-01", "9999-12-31"],
    "TIME(0)": ["00:00:00.000", "12:34:56.000", "23:59:59.000"], "TIME(3)": ["00:00:00.000", "12:34:56.789", "12:34:56.100", "23:59:59.999", "12:34:56.000"],
    "TIMESTAMP(0)": STAMPS, "TIMESTAMP(2)": STAMPS, "TIMESTAMP(3)": STAMPS, "TIMESTAMP(6)": STAMPS, "TIMESTAMP(9)": STAMPS,
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": [s + "Z" for s in STAMPS], "TIMESTAMP(6) WITH LOCAL TIME ZONE": [s + "Z" for s in STAMPS],
    "TIMESTAMP(9) WITH LOCAL TIME ZONE": [s + "Z" for s in STAMPS],
    "ARRAY<INT>": [[], [1], [1, None, 3]], "ARRAY<STRING>": [["a", None, ""]], "MAP<INT, STRING>": [[], [[1, "a"]], [[2, None]]],
    "MULTISET<INT>": [[[1, 2]]], "ROW<a INT, b STRING>": [{"a": 1, "b": "x"}, {"a": None, "b": None}],
    "ROW<a DOUBLE, b TIME(3), c ROW<d DATE>>": [{"a": 1.5, "b": "12:34:56.700", "c": {"d": "2024-02-29"}}],
    "ARRAY<BINARY(2)>": [["6162"]],
}
TARGETS = list(TYPES) + ["TIMESTAMP(4)", "TIMESTAMP(8)", "TIME(6)", "VARCHAR(3)", "CHAR(2)", "CHAR(9)", "BINARY(2)", "VARBINARY(3)", "DECIMAL(3, 1)",
                         "DECIMAL(19, 9)"]


class Oracle:
    def __init__(self):
        self.proc = subprocess.Popen([ORACLE, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                     env=dict(os.environ, TZ="UTC"))

    def run(self, *words):
        import shlex
        self.proc.stdin.write(" ".join(shlex.quote(w) for w in words) + "\n")
        self.proc.stdin.flush()
        lines = []
        for line in self.proc.stdout:
            if line.startswith('{"_end":'):
                end = json.loads(line)
                return lines, None if end["ok"] else end["error"]
            lines.append(line)
        raise RuntimeError("the oracle ended")


def dump(path, value):
    with open(path, "w") as f:
        json.dump(value, f)


def value_text(line):
    """The JSON text of `v`, digits untouched."""
    return line.rstrip("\n")[line.index('"v":') + 4:-1]


def failure(error):
    """The reference's complaint about the value."""
    return json.dumps({"fails": error.split(" <- ")[0].split("field 'v': ")[-1]}, ensure_ascii=False)


def written(oracle, base, n, source, values):
    """A table of one partition for each value; its name."""
    table = f"db.s{n}"
    dump(base + "/s.json", {"columns": [{"name": "p", "type": "INT"}, {"name": "v", "type": source}], "partitionKeys": ["p"], "primaryKeys": [],
                            "options": {"disable-explicit-type-casting": "false", "bucket": "-1", "file.format": "parquet"}, "comment": ""})
    with open(base + "/rows", "w") as f:
        for i, v in enumerate(values):
            f.write(json.dumps({"p": i, "v": v}) + "\n")
    for command in (["create", base, table, base + "/s.json"], ["write", base, table, base + "/rows"]):
        _, error = oracle.run(*command)
        assert error is None, (source, error)
    return table


def main():
    oracle, base = Oracle(), tempfile.mkdtemp()
    only = sys.argv[1:]
    for n, (source, values) in enumerate(TYPES.items()):
        if only and source not in only:
            continue
        table = written(oracle, base, n, source, values)
        home = f"{base}/db.db/s{n}"
        lines, error = oracle.run("read", base, table)
        stored = {json.loads(l)["p"]: l for l in lines}
        for target in TARGETS:
            if target == source:
                continue
            copy = f"{base}/db.db/c"
            entry = {"from": source, "to": target}
            for name, disabled in (("implicit", "true"), ("explicit", "false")):
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(home, copy)
                schema = json.load(open(copy + "/schema/schema-0"))
                schema["options"]["disable-explicit-type-casting"] = disabled
                dump(copy + "/schema/schema-0", schema)
                dump(base + "/a.json", [{"op": "updateType", "name": "v", "type": target}])
                _, error = oracle.run("alter", base, "db.c", base + "/a.json")
                entry[name] = error is None
            text = json.dumps(entry, ensure_ascii=False)
            if entry["explicit"]:
                ins, outs = [value_text(stored[i]) for i in range(len(values))], []
                for i in range(len(values)):
                    lines, error = oracle.run("read", base, "db.c", "--where", json.dumps(["=", "p", i]))
                    outs.append(failure(error) if error else value_text(lines[0]))
                text = f'{text[:-1]}, "in": [{", ".join(ins)}], "out": [{", ".join(outs)}]}}'
            print(text, flush=True)
    shutil.rmtree(base)


main()
