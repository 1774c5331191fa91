#!/usr/bin/env python3
"""Commands with the output that they must have.

usage: run.py [--accept] TIDELAKE FILE.test...

A test is a file of these lines; each file runs in an empty folder of its own, with TIDELAKE_WAREHOUSE set to `lake` there:

    # a comment
    $ a command, run by bash
    > which goes on here
    a line that it prints
    ! a line that it prints to standard error
    ⏎                               (an empty line that it prints)
    ? 2                             (its exit status, if not 0)

`…` in an expected line stands for any text. With --accept the files are rewritten with what the commands print now: look at
the difference before it is committed.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile


def parse(text):
    """Steps of (comment lines, command lines, expected lines)."""
    steps, comments = [], []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((comments, [line[2:]], []))
            comments = []
        elif line.startswith("> ") or line == ">":
            steps[-1][1].append(line[2:])
        elif line.startswith("#") or line == "":
            comments.append(line)
        else:
            steps[-1][2].append(line)
    return steps, comments


def run(command, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    lines += ["! " + line for line in done.stderr.decode("utf-8", "backslashreplace").splitlines()]
    if done.returncode != 0:
        lines.append("? %d" % done.returncode)
    return [line.replace(folder, "FOLDER") or "⏎" for line in lines]


def matches(expected, actual):
    if len(expected) != len(actual):
        return False
    return all(re.fullmatch(".*".join(map(re.escape, want.split("…"))), got) for want, got in zip(expected, actual))


def run_file(program, path, accept):
    with open(path, encoding="utf-8") as file:
        steps, rest = parse(file.read())
    assert steps, f"{path} has no commands"
    failed, out = 0, []
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": os.path.dirname(os.path.abspath(program)) + ":" + os.environ["PATH"],
            "HOME": folder, "TIDELAKE_WAREHOUSE": folder + "/lake", "LC_ALL": "C.UTF-8",
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        for comments, command, expected in steps:
            actual = run("\n".join(command), folder, environment)
            same = matches(expected, actual)
            out += comments + ["$ " + command[0]] + [("> " + line).rstrip() for line in command[1:]] + (expected if same else actual)
            if not same and not accept:
                failed += 1
                print(f"{path}: $ {command[0]}")
                print("\n".join(list(difflib.unified_diff(expected, actual, "expected", "printed", lineterm="", n=2))[2:]))
    if accept:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out + rest) + "\n")
    return failed


def main():
    words = sys.argv[1:]
    accept = words[0] == "--accept"
    program, files = (words[1], words[2:]) if accept else (words[0], words[1:])
    failed = sum(run_file(program, path, accept) for path in files)
    print(f"{len(files)} files, {failed} commands failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
