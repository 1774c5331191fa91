/*
 * Decompression where the size is not known beforehand: the output grows as the stream gives bytes, up to a limit.
 */
#include <brotli/decode.h>
#include <bzlib.h>
#include <lzma.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "format/compress_private.h"

#define PIECE_BYTES_MIN 4096

/* Room for the next piece; the whole stays within bytes_max. Growth is geometric through tl_buf. */
static tl_status next_room(tl_buf *out, size_t start, size_t bytes_max, size_t *room, tl_codec codec, tl_error *err)
{
    size_t done = out->len - start;
    if (done >= bytes_max)
        return tl_error_set(err, TL_E_LIMIT, "%s: more than %zu bytes decompressed", tl_codec_name(codec), bytes_max);
    size_t piece = TL_MIN(TL_MAX(done, (size_t)PIECE_BYTES_MIN), bytes_max - done);
    if (tl_buf_reserve(out, piece) != TL_OK)
        return tl_nomem(err, "decompressed block");
    *room = piece;
    return TL_OK;
}

/* A full output is only an error if the stream goes on: one spare byte tells. */
static size_t with_spare(size_t bytes_max)
{
    return bytes_max == SIZE_MAX ? bytes_max : bytes_max + 1;
}

static tl_status check_max(const tl_buf *out, size_t start, size_t bytes_max, tl_codec codec, tl_error *err)
{
    if (out->len - start > bytes_max)
        return tl_error_set(err, TL_E_LIMIT, "%s: more than %zu bytes decompressed", tl_codec_name(codec), bytes_max);
    return TL_OK;
}

static tl_status corrupt(tl_codec codec, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "%s: malformed or truncated", tl_codec_name(codec));
}

static tl_status append_zstd(tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err)
{
    ZSTD_DCtx *ctx = tl_codec__zstd_dctx();
    if (ctx == NULL)
        return tl_nomem(err, "zstd context");
    ZSTD_DCtx_reset(ctx, ZSTD_reset_session_only);
    size_t start = out->len;
    ZSTD_inBuffer in = {src.data, src.len, 0};
    for (;;) {
        size_t room;
        TL_TRY(next_room(out, start, with_spare(bytes_max), &room, TL_CODEC_ZSTD, err));
        ZSTD_outBuffer to = {out->data + out->len, room, 0};
        size_t before = in.pos;
        size_t rc = ZSTD_decompressStream(ctx, &to, &in);
        if (ZSTD_isError(rc))
            return tl_error_set(err, TL_E_CORRUPT, "zstd: %s", ZSTD_getErrorName(rc));
        out->len += to.pos;
        TL_TRY(check_max(out, start, bytes_max, TL_CODEC_ZSTD, err));
        if (rc == 0 && in.pos == in.size)
            return TL_OK;
        if (to.pos == 0 && in.pos == before)
            return corrupt(TL_CODEC_ZSTD, err);
    }
}

/* window_bits as zlib wants them: -15 raw, 15 zlib, 31 gzip. Members after each other are read as one stream. */
static tl_status append_zlib(tl_codec codec, int window_bits, tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err)
{
    if (src.len > UINT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "%s: block is larger than 4 GiB", tl_codec_name(codec));
    z_stream z = {.next_in = (Bytef *)(uintptr_t)src.data, .avail_in = (uInt)src.len};
    if (inflateInit2(&z, window_bits) != Z_OK)
        return tl_nomem(err, "zlib context");
    size_t start = out->len;
    tl_status status = TL_OK;
    for (;;) {
        size_t room;
        TL_TRY_GOTO(next_room(out, start, with_spare(bytes_max), &room, codec, err));
        z.next_out = out->data + out->len;
        z.avail_out = (uInt)TL_MIN(room, (size_t)UINT32_MAX);
        uInt asked = z.avail_out;
        int rc = inflate(&z, Z_NO_FLUSH);
        out->len += asked - z.avail_out;
        TL_TRY_GOTO(check_max(out, start, bytes_max, codec, err));
        if (rc == Z_STREAM_END && (z.avail_in == 0 || codec != TL_CODEC_GZIP))
            break;
        if (rc == Z_STREAM_END)
            rc = inflateReset(&z);
        if (rc != Z_OK || (z.avail_in == 0 && asked == z.avail_out)) {
            status = corrupt(codec, err);
            goto out;
        }
    }
out:
    inflateEnd(&z);
    return status;
}

static tl_status append_brotli(tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err)
{
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (state == NULL)
        return tl_nomem(err, "brotli context");
    size_t start = out->len, in_left = src.len;
    const uint8_t *in = src.data;
    tl_status status = TL_OK;
    for (;;) {
        size_t room;
        TL_TRY_GOTO(next_room(out, start, with_spare(bytes_max), &room, TL_CODEC_BROTLI, err));
        uint8_t *to = out->data + out->len;
        BrotliDecoderResult rc = BrotliDecoderDecompressStream(state, &in_left, &in, &room, &to, NULL);
        out->len = (size_t)(to - out->data);
        TL_TRY_GOTO(check_max(out, start, bytes_max, TL_CODEC_BROTLI, err));
        if (rc == BROTLI_DECODER_RESULT_SUCCESS)
            break;
        if (rc != BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) {
            status = corrupt(TL_CODEC_BROTLI, err);
            break;
        }
    }
out:
    BrotliDecoderDestroyInstance(state);
    return status;
}

static tl_status append_bzip2(tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err)
{
    if (src.len > UINT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "bzip2: block is larger than 4 GiB");
    bz_stream bz = {.next_in = (char *)(uintptr_t)src.data, .avail_in = (unsigned)src.len};
    if (BZ2_bzDecompressInit(&bz, 0, 0) != BZ_OK)
        return tl_nomem(err, "bzip2 context");
    size_t start = out->len;
    tl_status status = TL_OK;
    for (;;) {
        size_t room;
        TL_TRY_GOTO(next_room(out, start, with_spare(bytes_max), &room, TL_CODEC_BZIP2, err));
        bz.next_out = (char *)out->data + out->len;
        bz.avail_out = (unsigned)TL_MIN(room, (size_t)UINT32_MAX);
        unsigned asked = bz.avail_out;
        int rc = BZ2_bzDecompress(&bz);
        out->len += asked - bz.avail_out;
        TL_TRY_GOTO(check_max(out, start, bytes_max, TL_CODEC_BZIP2, err));
        if (rc == BZ_STREAM_END)
            break;
        if (rc != BZ_OK || (bz.avail_in == 0 && bz.avail_out == asked)) {
            status = corrupt(TL_CODEC_BZIP2, err);
            break;
        }
    }
out:
    BZ2_bzDecompressEnd(&bz);
    return status;
}

static tl_status append_xz(tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err)
{
    lzma_stream xz = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&xz, TL_CODEC_XZ_MEMORY_MAX, LZMA_CONCATENATED) != LZMA_OK)
        return tl_nomem(err, "xz context");
    xz.next_in = src.data;
    xz.avail_in = src.len;
    size_t start = out->len;
    tl_status status = TL_OK;
    for (;;) {
        size_t room;
        TL_TRY_GOTO(next_room(out, start, with_spare(bytes_max), &room, TL_CODEC_XZ, err));
        xz.next_out = out->data + out->len;
        xz.avail_out = room;
        lzma_ret rc = lzma_code(&xz, LZMA_FINISH);
        out->len += room - xz.avail_out;
        TL_TRY_GOTO(check_max(out, start, bytes_max, TL_CODEC_XZ, err));
        if (rc == LZMA_STREAM_END)
            break;
        if (rc != LZMA_OK) {
            status = corrupt(TL_CODEC_XZ, err);
            break;
        }
    }
out:
    lzma_end(&xz);
    return status;
}

static tl_status append_snappy(tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err)
{
    size_t n;
    if (snappy_uncompressed_length((const char *)src.data, src.len, &n) != SNAPPY_OK ||
        !tl_codec_is_plausible(TL_CODEC_SNAPPY, src, n))
        return corrupt(TL_CODEC_SNAPPY, err);
    if (n > bytes_max)
        return tl_error_set(err, TL_E_LIMIT, "snappy: %zu bytes, more than %zu", n, bytes_max);
    if (tl_buf_reserve(out, n + 1) != TL_OK)
        return tl_nomem(err, "decompressed block");
    TL_TRY(tl_decompress(TL_CODEC_SNAPPY, src, out->data + out->len, n, err));
    out->len += n;
    return TL_OK;
}

tl_status tl_decompress_append(tl_codec codec, tl_bytes_view src, size_t bytes_max, tl_buf *out, tl_error *err)
{
    switch (codec) {
    case TL_CODEC_NONE:
        if (src.len > bytes_max)
            return tl_error_set(err, TL_E_LIMIT, "%zu bytes, more than %zu", src.len, bytes_max);
        return tl_buf_append(out, src.data, src.len) == TL_OK ? TL_OK : tl_nomem(err, "block");
    case TL_CODEC_ZSTD:
        return append_zstd(src, bytes_max, out, err);
    case TL_CODEC_SNAPPY:
        return append_snappy(src, bytes_max, out, err);
    case TL_CODEC_GZIP:
        return append_zlib(codec, 31, src, bytes_max, out, err);
    case TL_CODEC_DEFLATE:
        return append_zlib(codec, -15, src, bytes_max, out, err);
    case TL_CODEC_ZLIB:
        return append_zlib(codec, 15, src, bytes_max, out, err);
    case TL_CODEC_BROTLI:
        return append_brotli(src, bytes_max, out, err);
    case TL_CODEC_BZIP2:
        return append_bzip2(src, bytes_max, out, err);
    case TL_CODEC_XZ:
        return append_xz(src, bytes_max, out, err);
    default:
        return tl_error_set(err, TL_E_UNSUPPORTED, "%s: size of the block must be known", tl_codec_name(codec));
    }
}
