/* Passing over values of any schema. Source: Avro specification, "Binary Encoding". */
#include "format/avro/avro_private.h"

bool tl_avro__read_block(tl_avro_cursor *c, int64_t min_bytes, int64_t *n)
{
    int64_t count, bytes;
    if (!tl_avro__read_long(c, &count))
        return false;
    if (count < 0) { /* the block's size follows, for those who pass over it */
        if (count == INT64_MIN || !tl_avro__read_long(c, &bytes) || bytes < 0 || bytes > c->end - c->p)
            return false;
        count = -count;
    }
    if (min_bytes > 0 && count > (c->end - c->p) / min_bytes)
        return false;
    *n = count;
    return true;
}

static bool skip_bytes(tl_avro_cursor *c, int64_t bytes)
{
    if (bytes < 0 || bytes > c->end - c->p)
        return false;
    c->p += bytes;
    return true;
}

static bool skip_items(tl_avro_cursor *c, const tl_avro_schema *schema)
{
    bool map = schema->wire == TL_AVRO_WIRE_MAP;
    const tl_avro_schema *item = schema->children[0];
    int64_t min_bytes = item->min_bytes == INT64_MAX ? INT64_MAX : item->min_bytes + map;
    for (;;) {
        int64_t n;
        if (!tl_avro__read_block(c, min_bytes, &n))
            return false;
        if (n == 0)
            return true;
        if (min_bytes == 0)
            continue; /* empty items */
        for (int64_t i = 0; i < n; i++) {
            tl_bytes_view key;
            if ((map && !tl_avro__read_bytes(c, &key)) || !tl_avro__skip(c, item))
                return false;
        }
    }
}

/* Bytes of the variable-length integer whose first eight bytes these are, by its end bit; 9: longer. */
static inline unsigned varint_bytes(uint64_t head)
{
    uint64_t ends = ~head & 0x8080808080808080;
    return ends == 0 ? 9 : (unsigned)(__builtin_ctzll(ends) >> 3) + 1;
}

/*
 * A number that may be null, which is most of what is passed over: without a branch, as which rows are null cannot be foreseen. False: it
 * is something else, and nothing was passed.
 */
static inline bool skip_nullable_number(tl_avro_cursor *c, const tl_avro_schema *schema)
{
    if (schema->n != 2 || c->end - c->p < 16)
        return false;
    int number = schema->children[0]->wire == TL_AVRO_WIRE_NULL; /* which of the two it is */
    tl_avro_wire wire = schema->children[number]->wire;
    if (schema->children[!number]->wire != TL_AVRO_WIRE_NULL || (wire != TL_AVRO_WIRE_INT && wire != TL_AVRO_WIRE_LONG))
        return false;
    uint8_t branch = c->p[0]; /* zigzag: 0 or 2 */
    unsigned bytes = varint_bytes(tl_read_le64(c->p + 1));
    if (bytes > 8 || (branch & ~2) != 0)
        return false;
    c->p += 1 + (branch == 2 * number ? bytes : 0);
    return true;
}

bool tl_avro__skip(tl_avro_cursor *c, const tl_avro_schema *schema)
{
    int64_t v;
    tl_bytes_view bytes;
    switch (schema->wire) {
    case TL_AVRO_WIRE_NULL:
        return true;
    case TL_AVRO_WIRE_BOOLEAN:
        return skip_bytes(c, 1);
    case TL_AVRO_WIRE_INT:
    case TL_AVRO_WIRE_LONG:
    case TL_AVRO_WIRE_ENUM:
        return tl_avro__read_long(c, &v);
    case TL_AVRO_WIRE_FLOAT:
        return skip_bytes(c, 4);
    case TL_AVRO_WIRE_DOUBLE:
        return skip_bytes(c, 8);
    case TL_AVRO_WIRE_BYTES:
    case TL_AVRO_WIRE_STRING:
        return tl_avro__read_bytes(c, &bytes);
    case TL_AVRO_WIRE_FIXED:
        return skip_bytes(c, schema->fixed_bytes);
    case TL_AVRO_WIRE_ARRAY:
    case TL_AVRO_WIRE_MAP:
        return skip_items(c, schema);
    case TL_AVRO_WIRE_UNION:
        if (skip_nullable_number(c, schema))
            return true;
        return tl_avro__read_long(c, &v) && v >= 0 && v < schema->n && tl_avro__skip(c, schema->children[v]);
    case TL_AVRO_WIRE_RECORD:
        if (schema->min_bytes == 0)
            return true;
        for (int32_t i = 0; i < schema->n; i++) {
            if (!tl_avro__skip(c, schema->children[i]))
                return false;
        }
        return true;
    }
    return false;
}
