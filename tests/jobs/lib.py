"""The reference kept running, and the forms in which tables and changelogs are compared."""
import json, os, shlex, subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ORACLE = os.path.join(HERE, "..", "interop", "oracle", "oracle")


class Reference:
    """The table oracle, kept running."""

    def __init__(self):
        self.proc = subprocess.Popen([ORACLE, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, words):
        self.proc.stdin.write(" ".join(shlex.quote(w) for w in words) + "\n")
        self.proc.stdin.flush()
        lines = []
        for line in self.proc.stdout:
            line = line.rstrip("\n")
            if line.startswith('{"_end":'):
                end = json.loads(line)
                return lines, None if end["ok"] else end["error"]
            lines.append(line)
        raise RuntimeError("the oracle ended")


def by_key(lines, key):
    """Changes grouped by key, each key's in order, without the snapshot they came with."""
    groups = {}
    for l in lines:
        o = json.loads(l)
        o.pop("_snapshot", None)
        groups.setdefault(json.dumps([o.get(k) for k in key], ensure_ascii=False), []).append(
            json.dumps(o, ensure_ascii=False, separators=(",", ":")))
    return [l for k in sorted(groups) for l in groups[k]]


def without(line, columns):
    o = json.loads(line)
    for c in columns:
        o.pop(c, None)
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))
