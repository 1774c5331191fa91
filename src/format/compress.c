/*
 * Compression with known sizes: one call per page or block.
 *
 * Contexts are kept per thread, because a ZSTD_DCtx or a libdeflate decompressor costs more to make than a page costs to decode;
 * so is one for compression, from one file to the next. A thread's contexts are freed when it ends.
 *
 * LZ4 in Parquet has three shapes: raw blocks (LZ4_RAW), Hadoop's framing (a sequence of {BE uncompressed length, BE
 * compressed length, block}) and, in old files under the same name as Hadoop's, raw blocks or LZ4 frames.
 */
#include "format/format.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <bzlib.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lz4frame.h>
#include <lzma.h>
#include <pthread.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "format/compress_private.h"

#define LZ4_FRAME_MAGIC 0x184D2204u
#define HADOOP_HEADER_BYTES 8

const char *tl_codec_name(tl_codec codec)
{
    static const char *const names[] = {"none", "zstd", "lz4_raw", "lz4", "snappy", "gzip", "brotli", "deflate", "bzip2", "xz", "zlib", "lzo"};
    return (unsigned)codec < TL_ARRAY_LEN(names) ? names[codec] : "unknown codec";
}

/* ---- contexts of a thread ---- */

#define SPARE_BYTES_MAX (4u << 20) /* level 1 needs less than one MiB, level 19 nearly 100 */

typedef struct contexts {
    ZSTD_DCtx *zstd;
    ZSTD_CCtx *spare; /* of the compressor that was freed last */
    struct libdeflate_decompressor *deflate;
} contexts;

static _Thread_local contexts *thread_contexts;
static pthread_key_t contexts_key;
static pthread_once_t contexts_once = PTHREAD_ONCE_INIT;

static void contexts_free(void *arg)
{
    contexts *ctx = arg;
    if (ctx == NULL)
        return;
    ZSTD_freeDCtx(ctx->zstd);
    ZSTD_freeCCtx(ctx->spare);
    if (ctx->deflate != NULL)
        libdeflate_free_decompressor(ctx->deflate);
    tl_free(ctx);
    thread_contexts = NULL;
}

static void contexts_make_key(void)
{
    (void)pthread_key_create(&contexts_key, contexts_free); /* on failure contexts live as long as the process */
}

static contexts *contexts_get(void)
{
    if (thread_contexts == NULL) {
        pthread_once(&contexts_once, contexts_make_key);
        thread_contexts = tl_calloc(1, sizeof *thread_contexts);
        if (thread_contexts != NULL)
            (void)pthread_setspecific(contexts_key, thread_contexts);
    }
    return thread_contexts;
}

ZSTD_DCtx *tl_codec__zstd_dctx(void)
{
    contexts *ctx = contexts_get();
    if (ctx != NULL && ctx->zstd == NULL)
        ctx->zstd = ZSTD_createDCtx();
    return ctx == NULL ? NULL : ctx->zstd;
}

ZSTD_CCtx *tl_codec__zstd_cctx_take(void)
{
    contexts *ctx = contexts_get();
    if (ctx == NULL || ctx->spare == NULL)
        return ZSTD_createCCtx();
    return TL_STEAL(ctx->spare);
}

void tl_codec__zstd_cctx_give(ZSTD_CCtx *cctx)
{
    contexts *ctx = cctx == NULL ? NULL : contexts_get();
    if (ctx != NULL && ctx->spare == NULL && ZSTD_sizeof_CCtx(cctx) <= SPARE_BYTES_MAX &&
        !ZSTD_isError(ZSTD_CCtx_reset(cctx, ZSTD_reset_session_and_parameters)))
        ctx->spare = TL_STEAL(cctx);
    ZSTD_freeCCtx(cctx);
}

static struct libdeflate_decompressor *deflate_dctx(void)
{
    contexts *ctx = contexts_get();
    if (ctx != NULL && ctx->deflate == NULL)
        ctx->deflate = libdeflate_alloc_decompressor();
    return ctx == NULL ? NULL : ctx->deflate;
}

/* ---- decompression ---- */

static tl_status wrong_size(tl_codec codec, size_t got, size_t want, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "%s: %zu bytes decompressed, %zu expected", tl_codec_name(codec), got, want);
}

static tl_status malformed(tl_codec codec, const char *why, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "%s: %s", tl_codec_name(codec), why);
}

static tl_status unzstd(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    ZSTD_DCtx *ctx = tl_codec__zstd_dctx();
    if (ctx == NULL)
        return tl_nomem(err, "zstd context");
    size_t n = ZSTD_decompressDCtx(ctx, dst, dst_bytes, src.data, src.len);
    if (ZSTD_isError(n))
        return malformed(TL_CODEC_ZSTD, ZSTD_getErrorName(n), err);
    return n == dst_bytes ? TL_OK : wrong_size(TL_CODEC_ZSTD, n, dst_bytes, err);
}

static tl_status unlz4_block(tl_codec codec, tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    if (src.len > INT32_MAX || dst_bytes > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "%s: block is larger than 2 GiB", tl_codec_name(codec));
    int n = LZ4_decompress_safe((const char *)src.data, (char *)dst, (int)src.len, (int)dst_bytes);
    if (n < 0)
        return malformed(codec, "malformed block", err);
    return (size_t)n == dst_bytes ? TL_OK : wrong_size(codec, (size_t)n, dst_bytes, err);
}

static tl_status unlz4_frame(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    LZ4F_dctx *ctx;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION)))
        return tl_nomem(err, "LZ4 context");
    size_t out = 0, in = 0, hint = 1;
    while (hint != 0 && in < src.len) {
        size_t n_out = dst_bytes - out, n_in = src.len - in;
        hint = LZ4F_decompress(ctx, dst + out, &n_out, src.data + in, &n_in, NULL);
        if (LZ4F_isError(hint) || (n_out == 0 && n_in == 0))
            break;
        out += n_out;
        in += n_in;
    }
    LZ4F_freeDecompressionContext(ctx);
    if (hint != 0)
        return malformed(TL_CODEC_LZ4_HADOOP, "malformed or too long frame", err);
    return out == dst_bytes ? TL_OK : wrong_size(TL_CODEC_LZ4_HADOOP, out, dst_bytes, err);
}

/* One outer block of Hadoop's codec may hold several inner ones, each {compressed length, block}. */
static tl_status unlz4_hadoop(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    size_t in = 0, out = 0;
    while (src.len - in >= HADOOP_HEADER_BYTES) {
        size_t want = tl_read_be32(src.data + in);
        in += 4;
        if (want > dst_bytes - out)
            return malformed(TL_CODEC_LZ4_HADOOP, "block is longer than the page", err);
        size_t outer_end = out + want;
        while (out < outer_end) {
            if (src.len - in < 4)
                return malformed(TL_CODEC_LZ4_HADOOP, "truncated block header", err);
            size_t packed = tl_read_be32(src.data + in);
            in += 4;
            if (packed > src.len - in || packed > INT32_MAX || outer_end - out > INT32_MAX)
                return malformed(TL_CODEC_LZ4_HADOOP, "truncated block", err);
            int n = LZ4_decompress_safe((const char *)src.data + in, (char *)dst + out, (int)packed, (int)(outer_end - out));
            if (n <= 0)
                return malformed(TL_CODEC_LZ4_HADOOP, "malformed block", err);
            in += packed;
            out += (size_t)n;
        }
        if (want == 0) { /* an empty block may still have its compressed form */
            size_t packed = tl_read_be32(src.data + in);
            in += 4 + TL_MIN(packed, src.len - in - 4);
        }
    }
    if (in != src.len)
        return malformed(TL_CODEC_LZ4_HADOOP, "bytes left over", err);
    return out == dst_bytes ? TL_OK : wrong_size(TL_CODEC_LZ4_HADOOP, out, dst_bytes, err);
}

/* Files of old writers say "LZ4" and mean something else: see the head of this file. */
static tl_status unlz4_any(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    if (unlz4_hadoop(src, dst, dst_bytes, NULL) == TL_OK)
        return TL_OK;
    if (src.len >= 4 && tl_read_le32(src.data) == LZ4_FRAME_MAGIC)
        return unlz4_frame(src, dst, dst_bytes, err);
    return unlz4_block(TL_CODEC_LZ4_HADOOP, src, dst, dst_bytes, err);
}

static tl_status unsnappy(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    size_t n;
    if (snappy_uncompressed_length((const char *)src.data, src.len, &n) != SNAPPY_OK)
        return malformed(TL_CODEC_SNAPPY, "malformed length", err);
    if (n != dst_bytes)
        return wrong_size(TL_CODEC_SNAPPY, n, dst_bytes, err);
    if (snappy_uncompress((const char *)src.data, src.len, (char *)dst, &n) != SNAPPY_OK)
        return malformed(TL_CODEC_SNAPPY, "malformed block", err);
    return n == dst_bytes ? TL_OK : wrong_size(TL_CODEC_SNAPPY, n, dst_bytes, err);
}

/* A gzip page may be several members after each other. */
static tl_status ungzip(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    struct libdeflate_decompressor *ctx = deflate_dctx();
    if (ctx == NULL)
        return tl_nomem(err, "deflate context");
    size_t in = 0, out = 0;
    while (in < src.len) {
        size_t n_in, n_out;
        enum libdeflate_result rc =
            libdeflate_gzip_decompress_ex(ctx, src.data + in, src.len - in, dst + out, dst_bytes - out, &n_in, &n_out);
        if (rc != LIBDEFLATE_SUCCESS)
            return malformed(TL_CODEC_GZIP, rc == LIBDEFLATE_INSUFFICIENT_SPACE ? "more bytes than expected" : "malformed",
                             err);
        in += n_in;
        out += n_out;
    }
    return out == dst_bytes ? TL_OK : wrong_size(TL_CODEC_GZIP, out, dst_bytes, err);
}

static tl_status undeflate(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    struct libdeflate_decompressor *ctx = deflate_dctx();
    if (ctx == NULL)
        return tl_nomem(err, "deflate context");
    size_t n;
    enum libdeflate_result rc = libdeflate_deflate_decompress(ctx, src.data, src.len, dst, dst_bytes, &n);
    if (rc != LIBDEFLATE_SUCCESS)
        return malformed(TL_CODEC_DEFLATE, rc == LIBDEFLATE_INSUFFICIENT_SPACE ? "more bytes than expected" : "malformed", err);
    return n == dst_bytes ? TL_OK : wrong_size(TL_CODEC_DEFLATE, n, dst_bytes, err);
}

static tl_status unbrotli(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    size_t n = dst_bytes;
    if (BrotliDecoderDecompress(src.len, src.data, &n, dst) != BROTLI_DECODER_RESULT_SUCCESS)
        return malformed(TL_CODEC_BROTLI, "malformed, or more bytes than expected", err);
    return n == dst_bytes ? TL_OK : wrong_size(TL_CODEC_BROTLI, n, dst_bytes, err);
}

static tl_status unbzip2(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    if (src.len > UINT32_MAX || dst_bytes > UINT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "bzip2: block is larger than 4 GiB");
    unsigned n = (unsigned)dst_bytes;
    int rc = BZ2_bzBuffToBuffDecompress((char *)dst, &n, (char *)(uintptr_t)src.data, (unsigned)src.len, 0, 0);
    if (rc == BZ_MEM_ERROR)
        return tl_nomem(err, "bzip2");
    if (rc != BZ_OK)
        return malformed(TL_CODEC_BZIP2, rc == BZ_OUTBUFF_FULL ? "more bytes than expected" : "malformed", err);
    return n == dst_bytes ? TL_OK : wrong_size(TL_CODEC_BZIP2, n, dst_bytes, err);
}

static tl_status unxz(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    uint64_t memory_max = TL_CODEC_XZ_MEMORY_MAX;
    size_t in = 0, out = 0;
    lzma_ret rc = lzma_stream_buffer_decode(&memory_max, 0, NULL, src.data, &in, src.len, dst, &out, dst_bytes);
    if (rc == LZMA_MEM_ERROR)
        return tl_nomem(err, "xz");
    if (rc != LZMA_OK)
        return malformed(TL_CODEC_XZ, rc == LZMA_BUF_ERROR ? "truncated, or more bytes than expected" : "malformed", err);
    return out == dst_bytes ? TL_OK : wrong_size(TL_CODEC_XZ, out, dst_bytes, err);
}

static tl_status uncopy(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    if (src.len != dst_bytes)
        return wrong_size(TL_CODEC_NONE, src.len, dst_bytes, err);
    if (dst_bytes != 0)
        memcpy(dst, src.data, dst_bytes);
    return TL_OK;
}

static tl_status unlzo(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    size_t n = 0;
    if (!tl_codec__lzo_decompress(src, dst, dst_bytes, &n))
        return malformed(TL_CODEC_LZO, "malformed block", err);
    return n == dst_bytes ? TL_OK : wrong_size(TL_CODEC_LZO, n, dst_bytes, err);
}

tl_status tl_decompress(tl_codec codec, tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err)
{
    static const struct {
        tl_status (*run)(tl_bytes_view src, uint8_t *dst, size_t dst_bytes, tl_error *err);
    } codecs[] = {
        [TL_CODEC_NONE] = {uncopy},     [TL_CODEC_ZSTD] = {unzstd},
        [TL_CODEC_LZ4_RAW] = {NULL},    [TL_CODEC_LZ4_HADOOP] = {unlz4_any},
        [TL_CODEC_SNAPPY] = {unsnappy}, [TL_CODEC_GZIP] = {ungzip},
        [TL_CODEC_BROTLI] = {unbrotli}, [TL_CODEC_DEFLATE] = {undeflate},
        [TL_CODEC_BZIP2] = {unbzip2},   [TL_CODEC_XZ] = {unxz},
        [TL_CODEC_LZO] = {unlzo},
    };
    uint8_t none = 0;
    if (dst == NULL && dst_bytes == 0)
        dst = &none; /* some libraries reject NULL even for no bytes */
    if (codec == TL_CODEC_LZ4_RAW)
        return unlz4_block(codec, src, dst, dst_bytes, err);
    if ((unsigned)codec >= TL_ARRAY_LEN(codecs) || codecs[codec].run == NULL)
        return tl_error_set(err, TL_E_UNSUPPORTED, "compression codec %d", (int)codec);
    return codecs[codec].run(src, dst, dst_bytes, err);
}

/* A single frame says its size, as all that Parquet writers make do; otherwise 128 KiB take at least 4 bytes. */
static bool zstd_is_plausible(tl_bytes_view src, size_t dst_bytes)
{
    unsigned long long bytes = ZSTD_getFrameContentSize(src.data, src.len);
    if (bytes == ZSTD_CONTENTSIZE_ERROR)
        return false;
    if (bytes != ZSTD_CONTENTSIZE_UNKNOWN && bytes != dst_bytes && ZSTD_findFrameCompressedSize(src.data, src.len) == src.len)
        return false;
    return dst_bytes / 32769 <= src.len;
}

static bool snappy_is_plausible(tl_bytes_view src, size_t dst_bytes)
{
    size_t n;
    return snappy_uncompressed_length((const char *)src.data, src.len, &n) == SNAPPY_OK && n == dst_bytes &&
           dst_bytes / 22 <= src.len;
}

/*
 * The most that a format can expand: snappy copies 64 bytes by 3, LZ4 255 by 1, deflate 258 by 2 bits; a block of 128 KiB
 * (zstd) or 16 MiB (brotli) of one byte takes 4 bytes. bzip2 and xz have no useful bound and are not used with it.
 */
bool tl_codec_is_plausible(tl_codec codec, tl_bytes_view src, size_t dst_bytes)
{
    switch (codec) {
    case TL_CODEC_NONE:
        return src.len == dst_bytes;
    case TL_CODEC_SNAPPY:
        return snappy_is_plausible(src, dst_bytes);
    case TL_CODEC_LZ4_RAW:
    case TL_CODEC_LZ4_HADOOP:
    case TL_CODEC_LZO:
        return dst_bytes / 256 <= src.len;
    case TL_CODEC_GZIP:
    case TL_CODEC_DEFLATE:
        return dst_bytes / 1033 <= src.len;
    case TL_CODEC_ZSTD:
        return zstd_is_plausible(src, dst_bytes);
    case TL_CODEC_BROTLI:
        return dst_bytes / ((size_t)4 << 20) <= src.len;
    default:
        return true;
    }
}
