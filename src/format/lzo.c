/*
 * LZO1X, as ORC files have it: instructions of a literal run or of a match, whose lowest two bits tell how many literals follow.
 * Source: the description of the stream format in the Linux kernel (Documentation/staging/lzo.rst).
 */
#include "format/compress_private.h"

#include "base/bits.h"

#define NEAR_MAX 2048    /* distances with one byte more */
#define MIDDLE_MAX 16384 /* with two; beyond, to FAR_MAX, lengths have two bits less */
#define FAR_MAX 49151
#define END_MARKER 0x11 /* a far match at the distance 16384, which a middle one would tell */

/* ---- decompression ---- */

typedef struct cursor {
    const uint8_t *p, *end;
    uint8_t *start, *to, *limit; /* of what comes out */
} cursor;

/* A length that its instruction has no room for: 255 for each zero byte, and the byte that is none. */
static bool take_length(cursor *c, size_t *len)
{
    for (; c->p < c->end && *c->p == 0; c->p++)
        *len += 255;
    if (c->p == c->end)
        return false;
    *len += *c->p++;
    return true;
}

static bool take_literals(cursor *c, size_t len)
{
    if (len > (size_t)(c->end - c->p) || len > (size_t)(c->limit - c->to))
        return false;
    memcpy(c->to, c->p, len);
    c->p += len;
    c->to += len;
    return true;
}

static bool take_match(cursor *c, size_t distance, size_t len)
{
    if (distance > (size_t)(c->to - c->start) || len > (size_t)(c->limit - c->to))
        return false;
    const uint8_t *from = c->to - distance;
    if (distance >= len)
        memcpy(c->to, from, len);
    else
        for (size_t i = 0; i < len; i++)
            c->to[i] = from[i];
    c->to += len;
    return true;
}

typedef struct match {
    size_t distance, len;
    int literals; /* behind it */
    bool is_end;
} match;

/* A match whose distance ends with two bytes: from 16 on, and from 32 on. */
static bool long_match(cursor *c, uint8_t op, match *m)
{
    bool is_far = op < 32;
    size_t mask = is_far ? 7 : 31;
    m->len = op & mask;
    if (m->len == 0) {
        m->len = mask;
        if (!take_length(c, &m->len))
            return false;
    }
    m->len += 2;
    if (c->end - c->p < 2)
        return false;
    unsigned v = tl_read_le16(c->p);
    c->p += 2;
    m->literals = (int)(v & 3);
    m->distance = is_far ? 16384 + ((size_t)(op & 8) << 11) + (v >> 2) : (v >> 2) + 1;
    m->is_end = is_far && m->distance == 16384;
    return true;
}

/* `state`: literals behind the instruction before, 4 for a run of its own. */
static bool short_match(cursor *c, uint8_t op, int state, match *m)
{
    if (c->p == c->end)
        return false;
    size_t high = *c->p++;
    m->literals = op & 3;
    if (op >= 64) {
        m->len = op >= 128 ? 5 + ((op >> 5) & 3) : 3 + ((op >> 5) & 1);
        m->distance = (high << 3) + ((op >> 2) & 7) + 1;
    } else { /* two bytes, or three from beyond what the others reach */
        m->len = state == 4 ? 3 : 2;
        m->distance = (high << 2) + (op >> 2) + (state == 4 ? 1 + NEAR_MAX : 1);
    }
    return true;
}

static bool take_run(cursor *c, uint8_t op)
{
    size_t len = op;
    if (len == 0) {
        len = 15;
        if (!take_length(c, &len))
            return false;
    }
    return take_literals(c, len + 3);
}

bool tl_codec__lzo_decompress(tl_bytes_view src, uint8_t *dst, size_t room, size_t *n)
{
    cursor c = {src.data, src.data + src.len, dst, dst, dst + room};
    int state = 0;
    if (src.len > 0 && *c.p > 17) { /* the first literals have a form of their own */
        size_t len = (size_t)*c.p++ - 17;
        if (!take_literals(&c, len))
            return false;
        state = len < 4 ? (int)len : 4;
    }
    while (c.p < c.end) {
        uint8_t op = *c.p++;
        match m = {0};
        if (op < 16 && state == 0) {
            if (!take_run(&c, op))
                return false;
            state = 4;
            continue;
        }
        if (!(op >= 16 && op < 64 ? long_match(&c, op, &m) : short_match(&c, op, state, &m)))
            return false;
        if (m.is_end) {
            *n = (size_t)(c.to - dst);
            return c.p == c.end;
        }
        if (!take_match(&c, m.distance, m.len) || !take_literals(&c, (size_t)m.literals))
            return false;
        state = m.literals;
    }
    return false; /* there is no end */
}

/* ---- compression ---- */

#define HASH_BITS 13
#define MATCH_MIN 4

typedef struct output {
    uint8_t *to;
    bool is_begun;
} output;

static void put_length(output *o, size_t len)
{
    for (; len > 255; len -= 255)
        *o->to++ = 0;
    *o->to++ = (uint8_t)len;
}

static void put_literals(output *o, const uint8_t *from, size_t len)
{
    if (len == 0)
        return;
    if (!o->is_begun && len <= 238)
        *o->to++ = (uint8_t)(17 + len);
    else if (len <= 3)
        o->to[-2] |= (uint8_t)len; /* into the match before: its instruction, or the low byte of its distance */
    else if (len <= 18)
        *o->to++ = (uint8_t)(len - 3);
    else {
        *o->to++ = 0;
        put_length(o, len - 18);
    }
    memcpy(o->to, from, len);
    o->to += len;
    o->is_begun = true;
}

static void put_match(output *o, size_t distance, size_t len)
{
    o->is_begun = true;
    if (len <= 8 && distance <= NEAR_MAX) {
        *o->to++ = (uint8_t)((len - 1) << 5 | ((distance - 1) & 7) << 2);
        *o->to++ = (uint8_t)((distance - 1) >> 3);
        return;
    }
    bool is_far = distance > MIDDLE_MAX;
    size_t most = is_far ? 9 : 33, d = is_far ? distance - 16384 : distance - 1;
    *o->to++ = (uint8_t)((is_far ? 16 | ((d >> 11) & 8) : 32) | (len <= most ? len - 2 : 0));
    if (len > most)
        put_length(o, len - most);
    tl_write_le16(o->to, (uint16_t)(d << 2));
    o->to += 2;
}

size_t tl_codec__lzo_bound(size_t bytes)
{
    return bytes + bytes / 16 + 67;
}

size_t tl_codec__lzo_compress(tl_bytes_view src, uint8_t *dst)
{
    uint32_t last[1 << HASH_BITS] = {0}; /* where four bytes of that hash were last seen, and 1 */
    output o = {dst, false};
    size_t from = 0; /* of the literals that are not written */
    for (size_t at = 0; at + MATCH_MIN <= src.len;) {
        uint32_t word = tl_read_le32(src.data + at), *seen = &last[(word * 2654435761u) >> (32 - HASH_BITS)];
        size_t before = *seen;
        *seen = (uint32_t)at + 1;
        size_t distance = at + 1 - before;
        if (before == 0 || distance > FAR_MAX || tl_read_le32(src.data + before - 1) != word) {
            at += 1 + ((at - from) >> 6); /* what has no matches is passed over faster */
            continue;
        }
        size_t len = MATCH_MIN;
        while (at + len < src.len && src.data[at + len] == src.data[at + len - distance])
            len++;
        put_literals(&o, src.data + from, at - from);
        put_match(&o, distance, len);
        from = at += len;
    }
    put_literals(&o, src.data + from, src.len - from);
    memcpy(o.to, (const uint8_t[]){END_MARKER, 0, 0}, 3);
    return (size_t)(o.to + 3 - dst);
}
