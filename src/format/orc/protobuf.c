/* Protocol buffers: the four wire types that ORC's messages use. Source: protobuf.dev, "Encoding". */
#include "base/bits.h"
#include "format/orc/orc_private.h"

enum { WIRE_VARINT = 0, WIRE_I64 = 1, WIRE_LEN = 2, WIRE_I32 = 5 };

tl_orc_pb tl_orc__pb(tl_bytes_view message)
{
    return (tl_orc_pb){.p = message.data, .end = message.data + message.len};
}

static bool varint(tl_orc_pb *pb, uint64_t *out)
{
    size_t n = tl_varint_decode(pb->p, pb->end, out);
    pb->p += n;
    return n != 0;
}

static bool fixed(tl_orc_pb *pb, size_t bytes)
{
    if ((size_t)(pb->end - pb->p) < bytes)
        return false;
    pb->v = bytes == 8 ? tl_read_le64(pb->p) : tl_read_le32(pb->p);
    pb->p += bytes;
    return true;
}

static bool delimited(tl_orc_pb *pb)
{
    uint64_t len;
    if (!varint(pb, &len) || len > (size_t)(pb->end - pb->p))
        return false;
    pb->bytes = (tl_bytes_view){pb->p, (size_t)len};
    pb->p += len;
    return true;
}

static bool field(tl_orc_pb *pb)
{
    uint64_t tag;
    if (!varint(pb, &tag) || tag >> 3 == 0 || tag > UINT32_MAX)
        return false;
    pb->field = (uint32_t)(tag >> 3);
    pb->wire = (uint32_t)(tag & 7);
    pb->bytes = (tl_bytes_view){NULL, 0};
    pb->v = 0;
    switch (pb->wire) {
    case WIRE_VARINT:
        return varint(pb, &pb->v);
    case WIRE_I64:
        return fixed(pb, 8);
    case WIRE_LEN:
        return delimited(pb);
    case WIRE_I32:
        return fixed(pb, 4);
    default:
        return false;
    }
}

bool tl_orc__pb_next(tl_orc_pb *pb)
{
    if (pb->is_bad || pb->p == pb->end)
        return false;
    pb->is_bad = !field(pb);
    return !pb->is_bad;
}

bool tl_orc__pb_packed(tl_orc_pb *pb, uint64_t *out)
{
    if (pb->wire != WIRE_LEN) { /* one number for itself; the mark says that it is done */
        *out = pb->v;
        pb->wire = WIRE_LEN;
        return true;
    }
    if (pb->bytes.len == 0)
        return false;
    size_t n = tl_varint_decode(pb->bytes.data, pb->bytes.data + pb->bytes.len, out);
    pb->is_bad = n == 0;
    pb->bytes.data += n;
    pb->bytes.len -= n;
    return n != 0;
}
