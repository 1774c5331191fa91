#!/usr/bin/env python3
"""Every example of the help runs as it is printed, each in a new copy of a small warehouse.

usage: examples.py TIDELAKE
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What the examples speak of.
WORLD = r"""
echo '{"columns":[{"name":"k","type":"INT"},{"name":"v","type":"STRING"},{"name":"n","type":"INT"}],"primaryKeys":["k"],
       "options":{"bucket":"1"}}' | tidelake create db.t -
for i in 1 2 3 4 5 6 7 8; do echo '{"k":'$i',"v":"a","n":1}'; echo; done | tidelake write db.t - --compact none
tidelake tag create db.t first --snapshot 1
tidelake branch create db.t draft --tag first
tidelake consumer set db.t report 8
echo '{"columns":[{"name":"dt","type":"STRING"},{"name":"k","type":"INT"}],"partitionKeys":["dt"]}' | tidelake create db.days -
printf '{"dt":"2024-05-01","k":1}\n{"dt":"2024-05-02","k":2}\n' | tidelake write db.days -
printf 'dt,k\n2024-05-01,3\n' > day.csv
echo '{"columns":[{"name":"day","type":"STRING"}],"options":{"deletion-vectors.enabled":"true"}}' | tidelake create db.log -
echo '{"day":"2023-12-31"}' | tidelake write db.log - --watermark 1714521600000
echo '{"columns":[{"name":"k","type":"INT"},{"name":"v","type":"STRING"}],"options":{"row-tracking.enabled":"true","data-evolution.enabled":"true"}}' | tidelake create db.wide -
echo '{"k":1,"v":"a"}' | tidelake write db.wide -
tidelake read db.t --format parquet --output rows.parquet
echo '{"columns":[{"name":"id","type":"INT"}]}' > schema.json
mkdir -p hive/events/dt=2024-05-01 && cp rows.parquet hive/events/dt=2024-05-01
mkdir data && printf '{"k":1}\n' > data/in.json
cat > job.sql <<'END'
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
CREATE TEMPORARY TABLE source (k INT) WITH ('connector' = 'filesystem', 'path' = '${DATA}', 'format' = 'json');
CREATE DATABASE IF NOT EXISTS lake.db;
CREATE TABLE IF NOT EXISTS lake.db.sink (k INT);
INSERT INTO lake.db.sink SELECT k FROM source;
END
"""


def environment(program, folder):
    return {**os.environ, "PATH": os.path.dirname(os.path.abspath(program)) + ":" + os.environ["PATH"], "TIDELAKE_WAREHOUSE": folder + "/lake",
            "HOME": folder, "LC_ALL": "C.UTF-8"}


def examples(program):
    text = subprocess.run([program, "help", "--markdown"], check=True, capture_output=True, text=True).stdout
    for command, block in re.findall(r"^### (tidelake .*?)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL):
        found = re.search(r"```sh\n(.*?)```", block, re.DOTALL)
        if found is None:
            yield command, None
            continue
        # An example goes on over indented lines.
        for example in re.split(r"\n(?! )", found.group(1).rstrip()):
            yield command, example


def run(program, world, example):
    with tempfile.TemporaryDirectory() as scratch:
        folder = scratch + "/world"
        shutil.copytree(world, folder)
        follows = "--follow" in example
        script = "set -euo pipefail\n" + example.replace("/tmp/lake", folder + "/lake").replace("/tmp/other-lake", folder + "/other-lake")
        try:
            done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment(program, folder), capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=1 if follows else 60)
        except subprocess.TimeoutExpired:
            return None if follows else "does not end"
        if follows:
            return f"should wait for more, but ended: {done.stderr}"
        if "libduckdb" in done.stderr:
            print(f"not run without the SQL engine: {example}")
            return None
        return f"exit status {done.returncode}: {done.stderr}" if done.returncode != 0 else None


def main():
    program = sys.argv[1]
    failed = n = 0
    with tempfile.TemporaryDirectory() as scratch:
        made = subprocess.run(["bash", "-euo", "pipefail", "-c", WORLD], cwd=scratch, env=environment(program, scratch), capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        for command, example in examples(program):
            n += 1
            problem = "there is no example" if example is None else run(program, scratch, example)
            if problem is not None:
                failed += 1
                print(f"{command}: {example}\n  {problem}")
    print(f"{n - failed} examples run, {failed} failed")
    return 1 if failed or n < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
