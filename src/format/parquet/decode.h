/*
 * Decoders of Parquet's value encodings: bulk functions over plain bytes, no knowledge of pages or columns.
 * Source: https://github.com/apache/parquet-format/blob/master/Encodings.md
 *
 * Every input buffer must be readable TL_PQ_SLACK bytes beyond its end (the content there does not matter): then the hot
 * loops can load whole words without looking for the end at each value. Outputs are exact.
 */
#ifndef TL_FORMAT_PARQUET_DECODE_H
#define TL_FORMAT_PARQUET_DECODE_H

#include "base/bits.h"
#include "base/mem.h"

#define TL_PQ_SLACK 64

/* ---- decode_bits.c ---- */

/** Unpack `n` values of `width` (0..32) bits, LSB first, starting with value `from` of the packed bytes. */
void tl_pq__unpack_u32(const uint8_t *packed, int width, int64_t from, int64_t n, uint32_t *out);
/** As above for 0..64 bits. */
void tl_pq__unpack_u64(const uint8_t *packed, int width, int64_t from, int64_t n, uint64_t *out);
/** Levels: `width` 0..8. */
void tl_pq__unpack_u8(const uint8_t *packed, int width, int64_t from, int64_t n, uint8_t *out);
/** Bits [from, from+n) as bytes 0 or 1. */
void tl_pq__unpack_bool(const uint8_t *packed, int64_t from, int64_t n, uint8_t *out);
/** The deprecated BIT_PACKED levels: MSB first. */
void tl_pq__unpack_u8_msb(const uint8_t *packed, int width, int64_t from, int64_t n, uint8_t *out);

/* ---- decode_rle.c: the hybrid of runs and bit-packed groups (levels, dictionary indices, booleans) ---- */

typedef struct tl_pq_rle {
    const uint8_t *p;
    const uint8_t *end;
    int width;
    bool is_packed;
    uint32_t value;        /* of the current run */
    int64_t left;          /* values left in the current run or group */
    const uint8_t *packed; /* of the current group */
    int64_t packed_from;   /* next value in it */
} tl_pq_rle;

void tl_pq__rle_init(tl_pq_rle *rle, tl_bytes_view bytes, int width);
/* Each takes the next n values; false if there are fewer. */
bool tl_pq__rle_u32(tl_pq_rle *rle, int64_t n, uint32_t *out);
bool tl_pq__rle_u8(tl_pq_rle *rle, int64_t n, uint8_t *out); /* width <= 8 */
/** Width 1: into bits [at, at+n) of a bitmap that is zero from `at` on and has 8 bytes more than it needs; *ones is added to.
 */
bool tl_pq__rle_bitmap(tl_pq_rle *rle, int64_t n, uint8_t *bits, int64_t at, int64_t *ones);
bool tl_pq__rle_skip(tl_pq_rle *rle, int64_t n);
/** Width 1: skip and add the ones. */
bool tl_pq__rle_skip_ones(tl_pq_rle *rle, int64_t n, int64_t *ones);

/* ---- decode_delta.c: DELTA_BINARY_PACKED ---- */

typedef struct tl_pq_delta {
    const uint8_t *p;
    const uint8_t *end;
    uint64_t total; /* values in the stream */
    uint64_t done;
    uint64_t mini_values; /* per miniblock, multiple of 32 */
    uint32_t minis;       /* per block */
    uint32_t mini;        /* current one of the block; == minis: block is used up */
    const uint8_t *widths;
    uint64_t mini_left; /* values left in the current miniblock */
    uint64_t mini_pos;
    int width;
    const uint8_t *packed;
    uint64_t min_delta;
    uint64_t last;
} tl_pq_delta;

tl_status tl_pq__delta_init(tl_pq_delta *delta, tl_bytes_view bytes, tl_error *err);
/** Next n values, wrapping as the format wants; TL_E_CORRUPT if there are fewer. */
tl_status tl_pq__delta_i64(tl_pq_delta *delta, int64_t n, int64_t *out, tl_error *err);
tl_status tl_pq__delta_i32(tl_pq_delta *delta, int64_t n, int32_t *out, tl_error *err);
tl_status tl_pq__delta_skip(tl_pq_delta *delta, int64_t n, tl_error *err);
/** The first byte behind a stream just initialised; runs over the block headers only. */
tl_status tl_pq__delta_end(const tl_pq_delta *delta, const uint8_t **out, tl_error *err);

/* ---- decode_bits.c: BYTE_STREAM_SPLIT ---- */

/** Values [from, from+n) of `total` values of `width` bytes whose bytes lie in `width` streams. */
void tl_pq__unsplit(const uint8_t *streams, int64_t total, int width, int64_t from, int64_t n, uint8_t *out);

#endif
