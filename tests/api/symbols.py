#!/usr/bin/env python3
"""The libraries show what the public headers promise, and nothing else.

usage: symbols.py SOURCE_DIR libtidelake.so libtidelake.a
"""
import pathlib
import re
import subprocess
import sys


def declared(source):
    text = "\n".join(p.read_text() for p in sorted((source / "include/tidelake").glob("*.h")))
    text = re.sub(r"#\s*define.*", "", text)
    return set(re.findall(r"TIDELAKE_API\b[^;]*?\b(tidelake_\w+)\s*\(", text))


def exported(library, *options):
    lines = subprocess.run(["nm", *options, "--defined-only", library], check=True, capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[2].split("@")[0] for line in lines if len(line.split()) == 3 and line.split()[1] in "TDBRVW"}
    return {name for name in names if not name.startswith("_")}


def main():
    source, shared, static = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    wanted = declared(source)
    assert len(wanted) > 40, "the headers could not be read"
    failed = False
    for library, found in ((shared, exported(shared, "-D")), (static, exported(static, "-g"))):
        for name in sorted(found - wanted):
            print(f"{library} shows {name}, which no public header declares")
            failed = True
        for name in sorted(wanted - found):
            print(f"{library} lacks {name}, which a public header declares")
            failed = True
    dynamic = subprocess.run(["readelf", "-d", shared], check=True, capture_output=True, text=True).stdout
    soname = re.search(r"SONAME.*\[(.*)\]", dynamic)
    if soname is None or not re.fullmatch(r"libtidelake\.so\.\d+", soname.group(1)):
        print(f"{shared} has no versioned SONAME")
        failed = True
    print(f"{len(wanted)} public functions")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
