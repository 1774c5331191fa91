#!/usr/bin/env python3
"""The ladder of rooms (ARCHITECTURE.md), proved from the includes.

usage: rooms.py SOURCE_DIR
"""
import pathlib
import re
import subprocess
import sys

# What a room may include, besides itself and what those rooms may include. A new edge is a design decision.
LADDER = {
    "base": [],
    "types": ["base"],
    "io": ["base"],
    "format": ["types", "io"],
    "index": ["types", "io"],
    "merge": ["types"],
    "meta": ["format"],
    "catalog": ["meta"],
    "lsm": ["merge", "meta", "format", "index"],
    "table": ["lsm", "catalog"],
    "lookup": ["table"],
    "connect": ["types", "io"],
    "sql": ["lookup", "connect"],
    "stream": ["sql"],
    "api": ["stream"],
    "cli": [],  # the public API alone
}
# The two headers of the public interface that everyone shares: status codes and the Arrow ABI. The API's own is for the ends.
PUBLIC_EVERYWHERE = {"tidelake/error.h", "tidelake/arrow_abi.h"}
PUBLIC_USERS = {"api", "cli"}
# Hosts of package registries and folders of a particular machine have no place in the repository.
FORBIDDEN = re.compile(
    rb"(?<![\w./-])/wor[k](?=[/\s'\"`)]|$)|/tmp/[w]/"
    rb"|pypi[.]org|pythonhosted[.]org|repo1?[.]maven|npmjs[.]org|crates[.]io/|proxy[.]golang[.]org",
    re.MULTILINE,
)


def closure(room):
    seen, todo = set(), [room]
    while todo:
        for below in LADDER[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#\s*include\s*([\"<])([^\">]+)[\">]", line)
        if match:
            yield number, match.group(1), match.group(2)


def check_source(path, text):
    """Problems of one file below src/; `path` is relative to it."""
    room = path.split("/")[0]
    if room not in LADDER:
        yield f"src/{path}: '{room}' is no room of the ladder in tests/architecture/rooms.py"
        return
    allowed = closure(room) | {room}
    for number, bracket, name in includes(text):
        where = f"src/{path}:{number}: "
        first = name.split("/")[0]
        if first == "tidelake":
            if name not in PUBLIC_EVERYWHERE and room not in PUBLIC_USERS:
                yield where + f"{room} may not include the public API ({name})"
        elif first in LADDER and "/" in name:
            if first not in allowed:
                yield where + f"{room} may not include {name}: {first} is not below it"
            elif name.endswith("_private.h") and first != room:
                yield where + f"{name} is private to {first}"
            if bracket == "<":
                yield where + f"{name} is ours: include it in quotes"
        elif bracket == '"' and "/" not in name and name != "grammar.h":
            yield where + f"include {name} by its path from src/"


def check_public_header(path, text):
    for number, _, name in includes(text):
        if not name.startswith("tidelake/") and name not in ("stddef.h", "stdint.h", "stdbool.h"):
            yield f"{path}:{number}: a public header includes {name}"


def committed_files(source):
    """What git knows; in an unpacked archive, everything but builds."""
    git = subprocess.run(["git", "-C", str(source), "-c", f"safe.directory={source}", "ls-files", "-z"], capture_output=True)
    if git.returncode == 0:
        return [name.decode() for name in git.stdout.split(b"\0") if name]
    names = (p.relative_to(source) for p in source.rglob("*") if p.is_file())
    return [str(name) for name in names if not re.match(r"build|\.git|\.cache", name.parts[0])]


def check_tree(source):
    n = 0
    for path in sorted((source / "src").rglob("*.[chy]")):
        n += 1
        yield from check_source(str(path.relative_to(source / "src")), path.read_text())
    assert n > 100, "the sources could not be found"
    for path in sorted((source / "include").rglob("*.h")):
        yield from check_public_header(path.relative_to(source), path.read_text())
    for room in sorted(p for p in (source / "src").iterdir() if p.is_dir()):
        if not (room / "README.md").exists():
            yield f"src/{room.name} has no README.md"
    for name in committed_files(source):
        path = source / name
        if path.is_file():
            match = FORBIDDEN.search(path.read_bytes())
            if match:
                yield f"{name}: names '{match.group().decode()}'"


def self_test():
    """The check itself can fail: each of these must be told."""
    wrong = {
        "io/a.c": '#include "types/type.h"\n',
        "merge/a.c": '#include "format/format.h"\n',
        "types/a.c": "#include <tidelake/tidelake.h>\n",
        "table/a.c": '#include "lsm/lsm_private.h"\n',
        "cli/a.c": '#include "api/api_private.h"\n',
        "meta/a.c": '#include "meta_private.h"\n',
        "attic/a.c": "",
    }
    right = {
        "table/a.c": '#include "lsm/lsm.h"\n#include "base/mem.h"\n#include <zlib.h>\n',
        "api/a.c": "#include <tidelake/tidelake.h>\n",
        "base/a.h": "#include <tidelake/error.h>\n",
    }
    for path, text in wrong.items():
        assert list(check_source(path, text)), f"not found: {path}: {text}"
    for path, text in right.items():
        assert not list(check_source(path, text)), f"wrongly refused: {path}: {text}"
    for text in (b"/wor" + b"k/main/x", b"see /tmp/" + b"w/x", b"https://pypi." + b"org/simple"):
        assert FORBIDDEN.search(text), text
    assert not FORBIDDEN.search(b"../work/main network/work.c a/workers")
    for room in LADDER:
        assert room not in closure(room), f"the ladder has a cycle at {room}"


def main():
    self_test()
    problems = list(check_tree(pathlib.Path(sys.argv[1])))
    print("\n".join(problems) if problems else "every include goes down the ladder")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
