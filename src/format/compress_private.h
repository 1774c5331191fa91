/* Compression inside format/: limits and helpers that callers outside do not need. */
#ifndef TL_FORMAT_COMPRESS_PRIVATE_H
#define TL_FORMAT_COMPRESS_PRIVATE_H

#include "format/format.h"

/** Memory that an xz stream may ask for: its largest preset needs 65 MiB. */
#define TL_CODEC_XZ_MEMORY_MAX ((uint64_t)256 << 20)

/** "zstd", "lz4_raw", … for messages. */
const char *tl_codec_name(tl_codec codec);

/** False if `src` cannot give dst_bytes bytes: asked before a buffer is allocated on a header's word. */
bool tl_codec_is_plausible(tl_codec codec, tl_bytes_view src, size_t dst_bytes);

/** This thread's decompression context; NULL if out of memory. */
struct ZSTD_DCtx_s *tl_codec__zstd_dctx(void);
/** A compression context with default parameters, this thread's spare one if there is one; NULL if out of memory. */
struct ZSTD_CCtx_s *tl_codec__zstd_cctx_take(void);
void tl_codec__zstd_cctx_give(struct ZSTD_CCtx_s *cctx); /* NULL is fine */

/* ---- lzo.c ---- */

/** Up to `room` bytes at dst; *n of them come. False if the block is malformed, or wants more. */
bool tl_codec__lzo_decompress(tl_bytes_view src, uint8_t *dst, size_t room, size_t *n);
size_t tl_codec__lzo_bound(size_t bytes);
/** Bytes written to dst, which has room for the bound; of less than 2 GiB. */
size_t tl_codec__lzo_compress(tl_bytes_view src, uint8_t *dst);

/* ---- zstd_short.c ---- */

#define TL_ZSTD_TRIED_MIN 7  /* zstd stores shorter ones without a look */
#define TL_ZSTD_SHORT_MIN 64 /* from here on it codes literals */
#define TL_ZSTD_SHORT_MAX 1023
/** Whether level 1 would store the input as it is; false for all but short ones. */
bool tl_codec__zstd_is_futile(tl_bytes_view src);
/** Whether pieces of the input, of 1,023 bytes in all, have no repetition that level 1 would find. For an input of more than 64 bytes. */
bool tl_codec__zstd_hardly_repeats(tl_bytes_view src);
/** The same, and whether no Huffman code would save bytes, of a dictionary's packed numbers; pieces of 512 bytes in all are looked at for repetitions. */
bool tl_codec__zstd_packed_is_futile(tl_bytes_view src);
/** A frame with an input of up to 128 KiB as it is, at most 12 bytes longer, which `dst` has room for; its bytes. */
size_t tl_codec__zstd_store(tl_bytes_view src, uint8_t *dst);
/** Of a frame that is one segment, without a checksum, with the bytes of its content: at most 9 bytes; where the first block goes. */
uint8_t *tl_codec__zstd_frame_header(uint8_t *dst, uint32_t content);
/** Whether a Huffman code would make n > 0 bytes, of which each value comes `counts` times, smaller by a sixty-fourth, its table included. */
bool tl_codec__huffman_saves(const uint32_t counts[256], uint32_t n);

/* ---- zstd_numbers.c ---- */

/**
 * A frame with values that differ in some of their bytes only, from byte `from` of `src` on: numbers of 4 or 8 bytes, or byte strings
 * (TL_WIDTH_OF_STRINGS) as long as each other; 0: they are not like that, or zstd would do better. `light`: no bytes are coded, though they may be
 * skewed. `dst` has room for src.len + 40 bytes; the bytes written. `zstd` codes parts of it.
 */
size_t tl_codec__zstd_numbers(struct ZSTD_CCtx_s *zstd, tl_bytes_view src, size_t from, int32_t width, bool light, uint8_t *dst);
/** See tl_compress_beats_dictionary(). */
bool tl_codec__zstd_numbers_beat_dictionary(tl_bytes_view plain, int32_t width, bool light);

#endif
