#!/usr/bin/env python3
"""Tables with BLOB columns of all kinds, written by the program and by the reference, read and checked by both: blobs.py ORACLE TIDELAKE.

Each table has a column in blob files, one of descriptors, one of descriptors of bytes outside; in three formats, with blob files of a few bytes and
large ones. Both programs append bytes and descriptors in turn, the program changes rows, both compact; after each step both must read the same,
which is what a model says. Then what the one refuses the other must refuse, too."""

import json
import os
import shutil
import sys
import tempfile

from vectors import EVOLUTION, Pair

COLUMNS = [("id", "INT"), ("raw", "BLOB"), ("des", "BLOB"), ("s", "STRING"), ("ext", "BLOB")]
DESCRIBED = {"blob-descriptor-field": "des, ext", "blob-external-storage-field": "ext", "compaction.min.file-num": "2", **EVOLUTION}
REFUSED = {
    "no_blob": {"blob-descriptor-field": "s"}, "unknown": {"blob-descriptor-field": "des,x"}, "no_folder": {"blob-descriptor-field": "ext", "blob-external-storage-field": "ext"},
    "not_described": {"blob-descriptor-field": "des", "blob-external-storage-field": "ext", "blob-external-storage-path": "/tmp/x"},
    "no_evolution": {"blob-descriptor-field": "des", "row-tracking.enabled": "true", "data-evolution.enabled": "false"},
}


class Blobs(Pair):
    def __init__(self, oracle, ours, folder):
        super().__init__(oracle, ours, folder)
        self.there = os.path.join(folder, "there")
        os.mkdir(self.there)
        self.next_id = 0

    def descriptor(self, content, **place):
        path = os.path.join(self.there, f"f{len(os.listdir(self.there))}.bin")
        with open(path, "wb") as f:
            f.write(content)
        return {"uri": ("file:" if len(content) % 2 else "") + path} | place

    def rows(self):
        """Rows as they are given, and as they are read."""
        large = bytes(range(256))
        whole, part = self.descriptor(b"whole file"), self.descriptor(b"0123456789", offset=3, length=4)
        tail, nothing, big = self.descriptor(b"abc", offset=1), self.descriptor(b"", offset=0, length=0), self.descriptor(large, offset=1, length=len(large) - 1)
        rows = [(("0102", whole, "aa"), ("0102", b"whole file".hex(), "aa")), ((None, None, None), (None, None, None)),
                ((part, tail, part), (b"3456".hex(), b"bc".hex(), b"3456".hex())), (("", nothing, ""), ("", "", "")),
                ((large.hex(), big, big), (large.hex(), large[1:].hex(), large[1:].hex())), (("ff", part, None), ("ff", b"3456".hex(), None))]
        given, read = [], []
        for values, bytes_ in rows:
            self.next_id += 1
            for out, some in ((given, values), (read, bytes_)):
                out.append({"id": self.next_id, "raw": some[0], "des": some[1], "s": f"s{self.next_id}", "ext": some[2]})
        return given, read

    def allowed(self, who, *folders):
        return ["--option", "blob-descriptor.allowed-paths=" + ",".join(folders or [self.folder])] if who is self.ours else []

    def must_read(self, name, model, step):
        want = sorted(json.dumps(row, separators=(",", ":")) for row in model)
        for who in (self.ours, self.oracle):
            got = sorted(self.must(who, "read", f"db.{name}", *self.allowed(who)))
            if got != want:
                self.wrong(f"{name}, {step}: {type(who).__name__} reads {[g for g in got if g not in want][:3]}, {len(got)} rows, wanted {len(want)}")

    def table(self, name, options):
        if not self.create(self.ours if len(name) % 2 else self.oracle, f"db.{name}", COLUMNS, [], options):
            return self.wrong(f"{name}: not created")
        model = []
        for who in (self.ours, self.oracle, self.ours):
            given, read = self.rows()
            self.must(who, "write", f"db.{name}", self.file("rows.jsonl", "".join(json.dumps(r) + "\n" for r in given)), *self.allowed(who))
            model += read
            self.must_read(name, model, "append")
        value = self.descriptor(b"another value")["uri"]
        self.must(self.ours, "sql", "--database", "db", f"UPDATE {name} SET des = sys.path_to_descriptor('{value}'), ext = x'0a0b' WHERE MOD(id, 4) = 1")
        for row in model:
            if row["id"] % 4 == 1:
                row |= {"des": b"another value".hex(), "ext": "0a0b"}
        self.must_read(name, model, "UPDATE")
        for who in (self.oracle, self.ours):
            self.must(who, "compact", f"db.{name}")
            self.must_read(name, model, "compact")
            self.must(who, "fsck", f"db.{name}")
        self.limits(name)

    def limits(self, name):
        """What is not allowed is not read, whatever way it is named."""
        os.symlink("/etc/hostname", os.path.join(self.there, f"link{name}"))
        outside = {"there": [], "elsewhere": ["/usr"], "prefix": [self.there[:-1]], "dots": [os.path.join(self.there, "x")]}
        for kind, folders in outside.items():
            ok, out = self.ours.run("read", self.folder, f"db.{name}", *(self.allowed(self.ours, *folders) if folders else []))
            if ok or "blob-descriptor.allowed-paths" not in out:
                self.wrong(f"{name}: read with {kind}: {out}")
        for uri in (os.path.join(self.there, f"link{name}"), self.there + "/../../etc/hostname", "/etc/hostname", "/etc/no such file"):
            rows = self.file("rows.jsonl", json.dumps({"id": 0, "raw": {"uri": uri}}) + "\n")
            ok, out = self.ours.run("write", self.folder, f"db.{name}", rows, *self.allowed(self.ours))
            if ok or "blob-descriptor.allowed-paths" not in out:
                self.wrong(f"{name}: wrote {uri}: {out}")
        rows = self.file("rows.jsonl", json.dumps({"id": 0, "des": "00ff"}) + "\n")
        for who in (self.oracle, self.ours):
            if who.run("write", self.folder, f"db.{name}", rows)[0]:
                self.wrong(f"{name}: {type(who).__name__} wrote bytes where descriptors must be")

    def refusals(self):
        for name, options in REFUSED.items():
            for who in (self.oracle, self.ours):
                if self.create(who, f"db.no_{name}", COLUMNS, [], EVOLUTION | options):
                    self.wrong(f"{type(who).__name__}: {options}: was not refused")


def main():
    folder = tempfile.mkdtemp(prefix="blobs-")
    pair = Blobs(sys.argv[1], sys.argv[2], folder)
    tables = {"parquet": {"blob.target-file-size": "60 b"}, "orc": {"blob-external-storage-path": f"file:{folder}/ext orc"}, "avro": {"target-file-size": "100 b"}}
    for name, options in tables.items():
        pair.table(name, {"file.format": name, "blob-external-storage-path": f"{folder}/ext_{name}/"} | DESCRIBED | options)
    pair.refusals()
    if not pair.bad:
        shutil.rmtree(folder)
    print(f"{len(tables)} tables, {len(REFUSED)} refusals, {pair.bad} differences" + (f" ({folder})" if pair.bad else ""))
    return 1 if pair.bad else 0


if __name__ == "__main__":
    sys.exit(main())
