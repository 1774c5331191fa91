"""Makes the Python peers' input of an orders file (../records.h): one Arrow file for each commit.

    arrow_input.py RECORDS FOLDER COMMITS
"""
import os
import sys

import numpy as np
import pyarrow as pa

STATUS = ["CREATED", "PAID", "ASSIGNED", "PICKED_UP", "DELIVERED", "COMPLETED", "CANCELLED", "REFUNDED"]
RECORD = np.dtype([("order_id", "<i8"), ("amount", "<i8"), ("updated_at", "<i8"), ("city", "<i4"), ("label", "<i4", 8), ("broker", "<u2"),
                   ("status", "u1"), ("nulls", "u1"), ("note_len", "u1"), ("pad", "V7"), ("note", "u1", 48)])
assert RECORD.itemsize == 120
SCHEMA = pa.schema([pa.field("order_id", pa.int64(), nullable=False), ("city", pa.int32()), ("status", pa.string()), ("broker", pa.string()),
                    ("amount", pa.decimal128(12, 2)), ("updated_at", pa.timestamp("ms")), ("note", pa.string())]
                   + [("label%d" % i, pa.int32()) for i in range(8)])


def table(records):
    n = len(records)
    amount = np.zeros((n, 2), "<i8")
    amount[:, 0] = records["amount"]
    ends = np.zeros(n + 1, "<i4")
    np.cumsum(records["note_len"], out=ends[1:])
    letters = records["note"][np.arange(48)[None, :] < records["note_len"][:, None]]
    brokers = pa.array(["broker_%05d" % i for i in range(10000)])
    columns = [pa.array(records["order_id"]), pa.array(records["city"]), pa.array(STATUS).take(pa.array(records["status"])),
               brokers.take(pa.array(records["broker"])),
               pa.Decimal128Array.from_buffers(pa.decimal128(12, 2), n, [None, pa.py_buffer(amount)]),
               pa.array(records["updated_at"]).cast(pa.timestamp("ms")),
               pa.StringArray.from_buffers(n, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(letters)))]
    columns += [pa.array(np.ascontiguousarray(records["label"][:, i]), mask=(records["nulls"] >> i & 1).astype(bool)) for i in range(8)]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def main():
    source, folder, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.makedirs(folder, exist_ok=True)
    records = np.memmap(source, RECORD, "r")
    for k in range(commits):
        with pa.ipc.new_file(os.path.join(folder, "c%03d.arrow" % k), SCHEMA) as out:
            out.write_table(table(records[len(records) * k // commits:len(records) * (k + 1) // commits]), max_chunksize=131072)


if __name__ == "__main__":
    main()
