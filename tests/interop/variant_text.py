"""VARIANT bytes as the JSON text of the reference, written from the format's description alone (parquet-format, VariantEncoding.md)."""

import base64
import decimal
import struct
import uuid

import arrow_text


def number(data, at, width):
    return int.from_bytes(data[at:at + width], "little")


def keys_of(metadata):
    width = (metadata[0] >> 6) + 1
    count = number(metadata, 1, width)
    offsets = [number(metadata, 1 + width * (i + 1), width) for i in range(count + 1)]
    base = 1 + width * (count + 2)
    return [metadata[base + a:base + b].decode() for a, b in zip(offsets, offsets[1:])], base + offsets[-1]


def split(data):
    """Metadata and value of a file that has one after the other."""
    end = keys_of(data)[1]
    return data[:end], data[end:]


def clock(ticks, per_second):
    seconds, rest = divmod(ticks, per_second)
    text = "%02d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)
    digits = len(str(per_second)) - 1
    return text if rest == 0 else (text + "." + str(rest).rjust(digits, "0")).rstrip("0")


def timestamp(ticks, per_second, zone):
    days, rest = divmod(ticks, 86400 * per_second)
    return '"%s %s%s"' % (arrow_text.date_text(days), clock(rest, per_second), zone)


def java_double(x, text):
    """1.0 and 14.3 as Java prints them; the samples need no exponent."""
    return text(x) if "." in text(x) else text(x) + ".0"


def primitive(kind, data):
    integers = {3: 1, 4: 2, 5: 4, 6: 8}
    decimals = {8: 4, 9: 8, 10: 16}
    if kind < 3:
        return ["null", "true", "false"][kind]
    if kind in integers:
        return str(int.from_bytes(data[:integers[kind]], "little", signed=True))
    if kind in decimals:
        unscaled = int.from_bytes(data[1:1 + decimals[kind]], "little", signed=True)
        text = format(decimal.Decimal(unscaled).scaleb(-data[0], decimal.Context(prec=50)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if kind in (7, 14):
        code, text = ("<d", arrow_text.double_text) if kind == 7 else ("<f", arrow_text.float_text)
        return java_double(struct.unpack_from(code, data)[0], text)
    if kind in (15, 16):
        body = data[4:4 + number(data, 0, 4)]
        return '"%s"' % base64.b64encode(body).decode() if kind == 15 else arrow_text.quoted(body.decode())
    if kind == 11:
        return '"%s"' % arrow_text.date_text(int.from_bytes(data[:4], "little", signed=True))
    if kind == 20:
        return '"%s"' % uuid.UUID(bytes=bytes(data[:16]))
    ticks = int.from_bytes(data[:8], "little", signed=True)
    if kind == 17:
        return '"%s"' % clock(ticks, 10**6)
    return timestamp(ticks, 10**6 if kind in (12, 13) else 10**9, "+00:00" if kind in (12, 18) else "")


def nested(keys, info, data, is_object):
    count_width = 4 if info >> (4 if is_object else 2) & 1 else 1
    id_width, width = (info >> 2 & 3) + 1, (info & 3) + 1
    count, at = number(data, 0, count_width), count_width
    ids = [number(data, at + i * id_width, id_width) for i in range(count)] if is_object else []
    at += len(ids) * id_width
    offsets = [number(data, at + i * width, width) for i in range(count)]
    items = [text(keys, data[at + (count + 1) * width + o:]) for o in offsets]
    if not is_object:
        return "[%s]" % ",".join(items)
    return "{%s}" % ",".join("%s:%s" % (arrow_text.quoted(keys[i]), v) for i, v in zip(ids, items))


def text(keys, data):
    basic, info = data[0] & 3, data[0] >> 2
    if basic == 1:
        return arrow_text.quoted(data[1:1 + info].decode())
    if basic == 0:
        return primitive(info, data[1:])
    return nested(keys, info, data[1:], basic == 2)


def json(metadata, value):
    return text(keys_of(metadata)[0], value)
