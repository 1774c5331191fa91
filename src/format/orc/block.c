/* Compression blocks of ORC: the plain size is not stored, only the most that it can be. */
#include <lz4.h>
#include <snappy-c.h>
#include <zstd.h>

#include "format/compress_private.h"
#include "format/orc/orc_private.h"

#define HEADER_BYTES 3

static tl_status malformed(const char *codec, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "%s: malformed compression block", codec);
}

/* Up to `room` bytes at dst; *n of them come. */
static tl_status unpack(tl_orc_compression compression, tl_bytes_view src, uint8_t *dst, size_t room, size_t *n, tl_error *err)
{
    switch (compression) {
    case TL_ORC_SNAPPY:
        *n = room;
        return snappy_uncompress((const char *)src.data, src.len, (char *)dst, n) == SNAPPY_OK ? TL_OK : malformed("snappy", err);
    case TL_ORC_LZO:
        return tl_codec__lzo_decompress(src, dst, room, n) ? TL_OK : malformed("lzo", err);
    case TL_ORC_LZ4: {
        int got = LZ4_decompress_safe((const char *)src.data, (char *)dst, (int)src.len, (int)room);
        *n = got < 0 ? 0 : (size_t)got;
        return got < 0 ? malformed("lz4", err) : TL_OK;
    }
    case TL_ORC_ZSTD: {
        ZSTD_DCtx *ctx = tl_codec__zstd_dctx();
        if (ctx == NULL)
            return tl_nomem(err, "zstd context");
        *n = ZSTD_decompressDCtx(ctx, dst, room, src.data, src.len);
        return ZSTD_isError(*n) ? malformed("zstd", err) : TL_OK;
    }
    default:
        return tl_error_set(err, TL_E_INTERNAL, "ORC compression %d", (int)compression);
    }
}

static tl_status append_block(tl_orc_compression compression, int64_t block_bytes, tl_bytes_view src, tl_buf *out, tl_error *err)
{
    if (compression == TL_ORC_ZLIB)
        return tl_decompress_append(TL_CODEC_DEFLATE, src, (size_t)block_bytes, out, err);
    size_t n = 0;
    if (tl_buf_reserve(out, (size_t)block_bytes + 8) != TL_OK)
        return tl_nomem(err, "compression block");
    TL_TRY(unpack(compression, src, out->data + out->len, (size_t)block_bytes, &n, err));
    out->len += n;
    return TL_OK;
}

tl_status tl_orc__block(tl_orc_compression compression, int64_t block_bytes, tl_bytes_view bytes, size_t *at, tl_buf *out,
                        tl_error *err)
{
    tl_bytes_view left = {bytes.data + *at, bytes.len - *at};
    if (compression != TL_ORC_NONE) {
        if (left.len < HEADER_BYTES)
            return tl_error_set(err, TL_E_CORRUPT, "truncated compression block");
        uint32_t header = (uint32_t)left.data[0] | (uint32_t)left.data[1] << 8 | (uint32_t)left.data[2] << 16;
        if (header >> 1 > left.len - HEADER_BYTES)
            return tl_error_set(err, TL_E_CORRUPT, "compression block of %u bytes where %zu are left", header >> 1,
                                left.len - HEADER_BYTES);
        left = (tl_bytes_view){left.data + HEADER_BYTES, header >> 1};
        *at += HEADER_BYTES + left.len;
        if ((header & 1) == 0)
            return append_block(compression, block_bytes, left, out, err);
    } else {
        *at = bytes.len;
    }
    return tl_buf_append(out, left.data, left.len) == TL_OK ? TL_OK : tl_nomem(err, "compression block");
}
