/* Compressors: state of one thread, reused for page after page. */
#include <brotli/encode.h>
#include <bzlib.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#include <snappy-c.h>
#include <zstd.h>

#include "format/compress_private.h"

#define LEVEL_DEFAULT_ZSTD 1
#define LEVEL_DEFAULT_DEFLATE 6
#define LEVEL_DEFAULT_BROTLI 5
#define LEVEL_DEFAULT_BZIP2 9
#define LEVEL_DEFAULT_XZ 6

struct tl_compressor {
    tl_codec codec;
    int level;
    bool light; /* zstd of level 1: see tl_compressor_set_light() */
    ZSTD_CCtx *zstd;
    struct libdeflate_compressor *deflate;
};

/* 0 or less means the codec's default, but for zstd, whose negative levels exist. */
static int choose_level(tl_codec codec, int level)
{
    switch (codec) {
    case TL_CODEC_ZSTD:
        return level == 0 ? LEVEL_DEFAULT_ZSTD : TL_MIN(level, ZSTD_maxCLevel());
    case TL_CODEC_GZIP:
    case TL_CODEC_DEFLATE:
    case TL_CODEC_ZLIB:
        return level <= 0 ? LEVEL_DEFAULT_DEFLATE : TL_MIN(level, 12);
    case TL_CODEC_BROTLI:
        return level <= 0 ? LEVEL_DEFAULT_BROTLI : TL_MIN(level, BROTLI_MAX_QUALITY);
    case TL_CODEC_BZIP2:
        return level <= 0 ? LEVEL_DEFAULT_BZIP2 : TL_MIN(level, 9);
    case TL_CODEC_XZ:
        return level <= 0 ? LEVEL_DEFAULT_XZ : TL_MIN(level, 9);
    default:
        return 0;
    }
}

tl_status tl_compressor_create(tl_codec codec, int level, tl_compressor **out, tl_error *err)
{
    if ((unsigned)codec > TL_CODEC_LZO)
        return tl_error_set(err, TL_E_UNSUPPORTED, "compression codec %d", (int)codec);
    tl_compressor *c = tl_calloc(1, sizeof *c);
    if (c == NULL)
        return tl_nomem(err, "compressor");
    c->codec = codec;
    c->level = choose_level(codec, level);
    bool ok = true;
    if (codec == TL_CODEC_ZSTD) {
        c->zstd = tl_codec__zstd_cctx_take();
        ok = c->zstd != NULL && !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_compressionLevel, c->level));
        /* What level 1 uses for streams of unknown length, and so the reference: for inputs that are known to be short zstd
         * takes 6, which makes pages of an order table 0.4 % larger and costs 13 % more time. */
        if (ok && c->level == 1)
            ok = !ZSTD_isError(ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_minMatch, 7));
    } else if (codec == TL_CODEC_GZIP || codec == TL_CODEC_DEFLATE || codec == TL_CODEC_ZLIB) {
        c->deflate = libdeflate_alloc_compressor(c->level);
        ok = c->deflate != NULL;
    }
    if (!ok) {
        tl_compressor_free(c);
        return tl_nomem(err, "compression context");
    }
    *out = c;
    return TL_OK;
}

void tl_compressor_free(tl_compressor *compressor)
{
    if (compressor == NULL)
        return;
    tl_codec__zstd_cctx_give(compressor->zstd);
    if (compressor->deflate != NULL)
        libdeflate_free_compressor(compressor->deflate);
    tl_free(compressor);
}

void tl_compressor_set_light(tl_compressor *compressor, bool light)
{
    compressor->light = light && compressor->codec == TL_CODEC_ZSTD && compressor->level == 1;
}

/* Upper bound of the compressed size; 0 if the input is too large for the codec. */
static size_t bound(const tl_compressor *c, size_t bytes)
{
    switch (c->codec) {
    case TL_CODEC_NONE:
        return bytes;
    case TL_CODEC_ZSTD:
        return ZSTD_compressBound(bytes);
    case TL_CODEC_LZ4_RAW:
    case TL_CODEC_LZ4_HADOOP:
        return bytes > LZ4_MAX_INPUT_SIZE ? 0 : (size_t)LZ4_compressBound((int)bytes) + 8;
    case TL_CODEC_SNAPPY:
        return snappy_max_compressed_length(bytes);
    case TL_CODEC_GZIP:
        return libdeflate_gzip_compress_bound(c->deflate, bytes);
    case TL_CODEC_DEFLATE:
        return libdeflate_deflate_compress_bound(c->deflate, bytes);
    case TL_CODEC_ZLIB:
        return libdeflate_zlib_compress_bound(c->deflate, bytes);
    case TL_CODEC_BROTLI:
        return TL_MAX(BrotliEncoderMaxCompressedSize(bytes), (size_t)16);
    case TL_CODEC_BZIP2:
        return bytes > UINT32_MAX / 2 ? 0 : bytes + bytes / 100 + 600;
    case TL_CODEC_XZ:
        return lzma_stream_buffer_bound(bytes);
    case TL_CODEC_LZO:
        return bytes > UINT32_MAX / 2 ? 0 : tl_codec__lzo_bound(bytes);
    }
    return 0;
}

#define STORED_MAX (128u << 10) /* of a block */

static bool is_futile(const tl_compressor *c, tl_bytes_view src, int32_t width)
{
    if (c->level == 1 && width == TL_WIDTH_PACKED && src.len > TL_ZSTD_SHORT_MAX && src.len <= STORED_MAX)
        return tl_codec__zstd_packed_is_futile(src);
    if (c->light && src.len > TL_ZSTD_SHORT_MIN && src.len <= STORED_MAX)
        return tl_codec__zstd_hardly_repeats(src);
    return c->level == 1 && tl_codec__zstd_is_futile(src);
}

/* Bytes written to dst (of at least bound() bytes); 0 on failure. */
static size_t run(const tl_compressor *c, tl_bytes_view src, int32_t width, uint8_t *dst, size_t room)
{
    const char *in = (const char *)src.data;
    switch (c->codec) {
    case TL_CODEC_NONE:
        memcpy(dst, in, src.len);
        return src.len;
    case TL_CODEC_ZSTD: {
        if (is_futile(c, src, width))
            return tl_codec__zstd_store(src, dst);
        size_t n = ZSTD_compress2(c->zstd, dst, room, in, src.len);
        return ZSTD_isError(n) ? 0 : n;
    }
    case TL_CODEC_LZ4_RAW:
        return (size_t)TL_MAX(LZ4_compress_default(in, (char *)dst, (int)src.len, (int)room), 0);
    case TL_CODEC_LZ4_HADOOP: {
        int n = LZ4_compress_default(in, (char *)dst + 8, (int)src.len, (int)room - 8);
        tl_write_be32(dst, (uint32_t)src.len);
        tl_write_be32(dst + 4, (uint32_t)n);
        return n <= 0 ? 0 : (size_t)n + 8;
    }
    case TL_CODEC_LZO:
        return tl_codec__lzo_compress(src, dst);
    case TL_CODEC_SNAPPY:
        return snappy_compress(in, src.len, (char *)dst, &room) == SNAPPY_OK ? room : 0;
    case TL_CODEC_GZIP:
        return libdeflate_gzip_compress(c->deflate, in, src.len, dst, room);
    case TL_CODEC_DEFLATE:
        return libdeflate_deflate_compress(c->deflate, in, src.len, dst, room);
    case TL_CODEC_ZLIB:
        return libdeflate_zlib_compress(c->deflate, in, src.len, dst, room);
    case TL_CODEC_BROTLI:
        return BrotliEncoderCompress(c->level, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, src.len, src.data, &room, dst) ? room
                                                                                                                          : 0;
    case TL_CODEC_BZIP2: {
        unsigned n = (unsigned)room;
        int rc = BZ2_bzBuffToBuffCompress((char *)dst, &n, (char *)(uintptr_t)in, (unsigned)src.len, c->level, 0, 0);
        return rc == BZ_OK ? n : 0;
    }
    case TL_CODEC_XZ: {
        size_t n = 0;
        lzma_ret rc = lzma_easy_buffer_encode((uint32_t)c->level, LZMA_CHECK_CRC64, NULL, src.data, src.len, dst, &n, room);
        return rc == LZMA_OK ? n : 0;
    }
    }
    return 0;
}

tl_status tl_compress_values(tl_compressor *compressor, tl_bytes_view src, size_t from, int32_t width, tl_buf *out, tl_error *err)
{
    static const uint8_t nothing = 0;
    if (src.data == NULL)
        src.data = &nothing;
    size_t room = bound(compressor, src.len);
    if (room == 0 && (src.len != 0 || compressor->codec != TL_CODEC_NONE))
        return tl_error_set(err, TL_E_LIMIT, "%s: block of %zu bytes is too large", tl_codec_name(compressor->codec), src.len);
    if (tl_buf_reserve(out, room) != TL_OK)
        return tl_nomem(err, "compressed block");
    if (room == 0)
        return TL_OK;
    size_t n = 0;
    if (width != 0 && compressor->codec == TL_CODEC_ZSTD && compressor->level == 1 && tl_buf_reserve(out, src.len + 40) == TL_OK)
        n = tl_codec__zstd_numbers(compressor->zstd, src, from, width, compressor->light, out->data + out->len);
    if (n == 0)
        n = run(compressor, src, width, out->data + out->len, room);
    if (n == 0)
        return tl_error_set(err, TL_E_NOMEM, "%s: compression of %zu bytes failed", tl_codec_name(compressor->codec), src.len);
    out->len += n;
    return TL_OK;
}

tl_status tl_compress(tl_compressor *compressor, tl_bytes_view src, tl_buf *out, tl_error *err)
{
    return tl_compress_values(compressor, src, 0, 0, out, err);
}

bool tl_compress_beats_dictionary(const tl_compressor *c, tl_bytes_view numbers, int32_t width)
{
    return c->codec == TL_CODEC_ZSTD && c->level == 1 && tl_codec__zstd_numbers_beat_dictionary(numbers, width, c->light);
}
