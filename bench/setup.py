"""What the benchmark needs: programs of this tree, the reference, the Python peers, and input. Kept in a cache folder."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
# pypaimon wants an older pyarrow than the others.
PYTHON_PEERS = {"rust": ["pypaimon==2.1.0", "pypaimon-rust==0.4.0"], "others": ["deltalake==1.6.6", "pyiceberg[sql-sqlite,pyarrow]==0.12.0", "duckdb==2.0.0", "pyarrow", "numpy"]}
COMMITS = 10


def say(text):
    print(text, file=sys.stderr, flush=True)


def command(argv, **more):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(argv), done.stdout[-3000:]))


def build(folder):
    if not os.path.exists(folder + "/build.ninja"):
        say("configuring " + folder)
        command(["cmake", "-G", "Ninja", "-S", TOP, "-B", folder, "-DCMAKE_BUILD_TYPE=Release"])
    say("building")
    command(["ninja", "-C", folder, "-j", str(os.cpu_count()), "tidelake_program", "tidelake_bench", "bench_gen", "bench_limits"])


def java(cache):
    """The class path of the reference's program; None if there is no Java or Maven."""
    if not shutil.which("mvn") or not shutil.which("javac"):
        return None
    source, pom = HERE + "/java/Bench.java", HERE + "/java/pom.xml"
    mark = hashlib.sha256(open(source, "rb").read() + open(pom, "rb").read()).hexdigest()[:12]
    folder = cache + "/java-" + mark
    if not os.path.exists(folder + "/Bench.class"):
        say("fetching and building the reference")
        os.makedirs(folder + "/lib", exist_ok=True)
        shutil.copy(pom, folder)
        command(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=" + folder + "/lib"], cwd=folder)
        command(["javac", "-nowarn", "-cp", folder + "/lib/*", "-d", folder, source])
    return folder + "/lib/*:" + folder


def python(cache, name):
    """An interpreter that has the packages of one environment of PYTHON_PEERS."""
    packages = PYTHON_PEERS[name]
    folder = "%s/python-%s-%s" % (cache, name, hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8])
    if not os.path.exists(folder + "/complete"):
        say("fetching " + ", ".join(packages))
        shutil.rmtree(folder, ignore_errors=True)
        command([sys.executable, "-m", "venv", folder])
        command([folder + "/bin/pip", "install", "-q"] + packages)
        open(folder + "/complete", "w").close()
    return folder + "/bin/python"


def data(cache, gen, kind, rows, keys, seed):
    """A record file and what a table of it must hold."""
    path = "%s/data/%s-%d-%d.bin" % (cache, kind, rows, keys)
    if not os.path.exists(path + ".json"):
        say("generating " + path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        command([gen, kind, path, str(rows), str(keys), str(seed)])
    with open(path + ".json") as f:
        return path, json.load(f)


def arrow_data(interpreter, records):
    """The same rows as a folder of Arrow files, one for each commit."""
    folder = records[:-len(".bin")] + "-arrow"
    if not os.path.exists(folder + "/complete"):
        say("generating " + folder)
        command([interpreter, HERE + "/peers/arrow_input.py", records, folder, str(COMMITS)])
        open(folder + "/complete", "w").close()
    return folder
