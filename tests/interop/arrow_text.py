"""Arrow arrays as the JSON lines of the text form (tests/interop/oracle/README.md), guided by a schema as file_dump prints it."""

import datetime

import pyarrow as pa

ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text):
    out = []
    for ch in text:
        if ch in ESCAPES:
            out.append(ESCAPES[ch])
        elif ord(ch) < 0x20 or ord(ch) == 0x7F:
            out.append("\\u%04x" % ord(ch))
        else:
            out.append(ch)
    return '"' + "".join(out) + '"'


def double_text(x, digits_max=17, same=float):
    if x != x:
        return '"NaN"'
    if x in (float("inf"), float("-inf")):
        return '"Infinity"' if x > 0 else '"-Infinity"'
    for digits in range(1, digits_max + 1):
        text = "%.*g" % (digits, x)
        if same(float(text)) == same(x):
            return text
    return text


def float_text(x):
    import numpy as np

    with np.errstate(over="ignore"):
        return double_text(x, 9, np.float32)


def timestamp_text(nanos, is_utc):
    seconds, nanos = divmod(nanos, 10**9)
    days, second = divmod(seconds, 86400)
    clock = "%02d:%02d:%02d.%09d" % (second // 3600, second // 60 % 60, second % 60, nanos)
    return '"%sT%s%s"' % (date_text(days), clock, "Z" if is_utc else "")


def date_text(days):
    # Proleptic Gregorian, beyond the years that datetime knows: the calendar repeats every 400 years.
    cycles, day = divmod(days + 719162, 146097)
    date = datetime.date.fromordinal(day + 1)
    year = date.year + 400 * cycles
    text = "%04d" % year if 0 <= year <= 9999 else "%+05d" % year if year > 0 else "-%04d" % -year
    return "%s-%02d-%02d" % (text, date.month, date.day)


UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def as_ints(array):
    bits = array.type.bit_width
    return array.view(pa.int32() if bits == 32 else pa.int64()).to_pylist()


def scalars(array, kind):
    """Texts of a column of a scalar type."""
    t = array.type
    if pa.types.is_dictionary(t):
        array = array.dictionary_decode()
        t = array.type
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
        t = array.type
    if pa.types.is_null(t):
        return ["null"] * len(array)
    if pa.types.is_boolean(t):
        return [None if v is None else "true" if v else "false" for v in array.to_pylist()]
    if kind.startswith("DECIMAL") and pa.types.is_integer(t):
        return [None if v is None else '"%d"' % v for v in array.to_pylist()]
    if pa.types.is_integer(t):
        return [None if v is None else str(v) for v in array.to_pylist()]
    if pa.types.is_float16(t) or pa.types.is_float32(t):
        return [None if v is None else float_text(float(v)) for v in array.to_pylist()]
    if pa.types.is_floating(t):
        return [None if v is None else double_text(v) for v in array.to_pylist()]
    if pa.types.is_decimal(t):
        return [None if v is None else '"%s"' % format(v, "f") for v in array.to_pylist()]
    if pa.types.is_string(t) or pa.types.is_large_string(t) or (pa.types.is_binary(t) and kind.startswith("STRING")):
        array = array.cast(pa.large_string()) if pa.types.is_binary(t) else array
        return [None if v is None else quoted(v) for v in array.to_pylist()]
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return [None if v is None else '"%s"' % v.hex() for v in array.to_pylist()]
    if pa.types.is_date32(t):
        return [None if v is None else '"%s"' % date_text(v) for v in as_ints(array)]
    if pa.types.is_time(t):
        millis = [None if v is None else v * UNITS[t.unit] // 10**6 for v in as_ints(array)]
        return [None if v is None else '"%02d:%02d:%02d.%03d"' % (v // 3600000, v // 60000 % 60, v // 1000 % 60, v % 1000) for v in millis]
    if pa.types.is_timestamp(t):
        is_utc = "LOCAL TIME ZONE" in kind
        return [None if v is None else timestamp_text(v * UNITS[t.unit], is_utc) for v in as_ints(array)]
    raise TypeError("no text for %s as %s" % (t, kind))


def utf16(text):
    return text.encode("utf-16-be")


def texts(array, kind):
    """JSON text of each value; `kind` is a type string or an object of the schema's JSON."""
    if isinstance(array, pa.ChunkedArray):
        out = []
        for chunk in array.chunks:
            out += texts(chunk, kind)
        return out
    if isinstance(kind, str):
        if kind.startswith("VARIANT"):
            kind = {"type": "ROW", "fields": [{"name": n, "type": "BYTES"} for n in ("value", "metadata")]}
        else:
            return [v if v is not None else "null" for v in scalars(array, kind)]
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    valid = array.is_valid().to_pylist()
    if kind["type"].startswith("ROW"):
        fields = [(quoted(f["name"]), texts(array.field(array.type.get_field_index(f["name"])), f["type"])) for f in kind["fields"]]
        return ["{%s}" % ",".join("%s:%s" % (n, v[i]) for n, v in fields) if ok else "null" for i, ok in enumerate(valid)]
    is_map = pa.types.is_map(array.type)
    starts = array.offsets.to_pylist()
    if kind["type"].startswith(("MAP", "MULTISET")):
        keys = texts(array.keys, kind.get("key") or kind.get("element"))
        values = texts(array.items, kind.get("value") or "INT")
        return [entries(keys[a:b], values[a:b]) if ok else "null" for ok, a, b in spans(valid, starts)]
    if is_map:
        raise TypeError("map read as %s" % kind)
    items = texts(array.values, kind["element"])
    return ["[%s]" % ",".join(items[a:b]) if ok else "null" for ok, a, b in spans(valid, starts)]


def spans(valid, starts):
    return [(ok, starts[i], starts[i + 1]) for i, ok in enumerate(valid)]


def entries(keys, values):
    pairs = sorted(zip(keys, values), key=lambda kv: utf16(kv[0]))
    return "[%s]" % ",".join("[%s,%s]" % kv for kv in pairs)


def lines(table, schema):
    """JSON lines of a table."""
    fields = schema["fields"]
    cols = [texts(table.column(i), f["type"]) for i, f in enumerate(fields)]
    names = [quoted(f["name"]) for f in fields]
    return ["{%s}" % ",".join("%s:%s" % (n, c[i]) for n, c in zip(names, cols)) for i in range(table.num_rows)]
