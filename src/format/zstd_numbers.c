/*
 * Numbers that differ in their low bytes only, written as zstd frames without zstd.
 *
 * In a page of INTs or BIGINTs of small range the high bytes are those of the value before. zstd finds that value by value,
 * looks for a Huffman code of the low bytes, and where these are as good as random ends up with what can be written down at once: all
 * low bytes as literals, and one sequence a value that copies the high bytes from the value before. All sequences are alike, so that
 * each of their three codes is an RLE table and none of them takes a bit.
 *
 * Layout of the frame (RFC 8878, 3.1.1): header; a block with what stands before the numbers; a raw block with the first of them; a block
 * with the second, whose sequence has the width as its offset; blocks with the others, whose sequences repeat that offset. A block gives at
 * most 128 KiB.
 *
 * Whether zstd would do better is asked of the values: high bytes that change seldom (sorted values). Low bytes that are skewed, as those
 * of sequence numbers, and the levels of a page with nulls are coded by zstd, which gets just them: it finds no match to write down, and
 * its blocks (of levels) or their section of literals (of low bytes) become part of this frame.
 */
#include "format/compress_private.h"

#include <zstd.h>

#include "base/bits.h"

#define VALUES_MIN 16
#define BEFORE_RAW 16             /* bytes before the numbers that are not compressed: levels of a page without nulls */
#define CODED_MIN (16u << 10)     /* bytes from which on it pays to ask zstd for parts of the frame */
#define BLOCK_BYTES (128u << 10)  /* Block_Maximum_Size */
#define MATCH_MIN 3               /* of a sequence */
#define RLE_TABLES 0x54           /* Symbol_Compression_Modes: RLE for literal lengths, offsets and match lengths */

enum { BLOCK_RAW, BLOCK_RLE, BLOCK_COMPRESSED };

static inline uint64_t value_at(const uint8_t *p, size_t i, unsigned width)
{
    return width == 4 ? tl_read_le32(p + 4 * i) : tl_read_le64(p + 8 * i);
}

static inline unsigned bytes_of(uint64_t v)
{
    return v == 0 ? 0 : (71 - (unsigned)__builtin_clzll(v)) / 8;
}

/* Low bytes in which the values differ; 0: zstd does better. */
static unsigned low_bytes(const uint8_t *p, size_t n, unsigned width)
{
    uint64_t first = value_at(p, 0, width), before = first, differing = 0, changed = 0;
    for (size_t i = 1; i < n; i++) {
        uint64_t v = value_at(p, i, width);
        differing |= v ^ first;
        changed += bytes_of(v ^ before);
        before = v;
    }
    unsigned low = bytes_of(differing);
    bool fits = low > 0 && low + MATCH_MIN <= width;
    return fits && changed * 10 >= (uint64_t)low * (n - 1) * 9 ? low : 0;
}

static bool low_bytes_are_skewed(const uint8_t *p, size_t n, unsigned width, unsigned low)
{
    uint32_t counts[256] = {0};
    for (size_t i = 0; i < n; i++) {
        for (unsigned b = 0; b < low; b++)
            counts[p[i * width + b]]++;
    }
    return tl_codec__huffman_saves(counts, (uint32_t)(n * low));
}

static uint8_t *put_block_header(uint8_t *to, unsigned type, size_t bytes, bool last)
{
    uint32_t head = (uint32_t)last | (uint32_t)type << 1 | (uint32_t)bytes << 3;
    to[0] = (uint8_t)head;
    to[1] = (uint8_t)(head >> 8);
    to[2] = (uint8_t)(head >> 16);
    return to + 3;
}

static uint8_t *put_raw_literals_header(uint8_t *to, uint32_t n)
{
    if (n < 32) {
        *to++ = (uint8_t)(n << 3);
    } else if (n < 4096) {
        tl_write_le16(to, (uint16_t)(1u << 2 | n << 4));
        to += 2;
    } else {
        uint32_t head = 3u << 2 | n << 4;
        tl_write_le16(to, (uint16_t)head);
        to[2] = (uint8_t)(head >> 16);
        to += 3;
    }
    return to;
}

static uint8_t *put_sequence_count(uint8_t *to, uint32_t n)
{
    if (n < 128) {
        *to++ = (uint8_t)n;
    } else if (n < 0x7f00) {
        *to++ = (uint8_t)((n >> 8) + 128);
        *to++ = (uint8_t)n;
    } else {
        *to++ = 0xff;
        tl_write_le16(to, (uint16_t)(n - 0x7f00));
        to += 2;
    }
    return to;
}

/* Bytes of the header of a frame that zstd made with default parameters: magic, descriptor, window unless it is one segment, content. */
static size_t frame_header_bytes(const uint8_t *frame)
{
    static const uint8_t content_bytes[4] = {0, 2, 4, 8};
    unsigned content = frame[4] >> 6, single = frame[4] >> 5 & 1;
    return 5 + !single + (content == 0 ? single : content_bytes[content]);
}

/* One call: where the frame is made, and with what. */
typedef struct numbers {
    unsigned width;
    unsigned low;
    bool coded;        /* low bytes are coded */
    ZSTD_CCtx *zstd;
    uint8_t *scratch;  /* low bytes of a block, then zstd's frame of them */
    size_t frame_room;
} numbers;

/*
 * The section of literals of a block for `n` bytes in front of the scratch, as zstd codes them; 0: it does more, or nothing, with them.
 * Layout (RFC 8878, 3.1.1.3.1.1): type 2 and the size format in 4 bits, both sizes of 10, 14 or 18 bits, tree and streams.
 */
static size_t put_coded_literals(const numbers *job, size_t n, uint8_t *to)
{
    uint8_t *frame = job->scratch + BLOCK_BYTES;
    size_t bytes = ZSTD_compress2(job->zstd, frame, job->frame_room, job->scratch, n);
    size_t head = ZSTD_isError(bytes) ? 0 : frame_header_bytes(frame);
    if (head == 0 || bytes < head + 3 + 6)
        return 0;
    const uint8_t *block = frame + head + 3;
    unsigned is_last = block[-3] & 1, type = block[-3] >> 1 & 3, format = block[0] >> 2 & 3;
    unsigned size_bits = format < 2 ? 10 : format == 2 ? 14 : 18, header = format < 2 ? 3 : format == 2 ? 4 : 5;
    uint64_t sizes = (tl_read_le32(block) | (uint64_t)block[4] << 32) >> 4, mask = (UINT64_C(1) << size_bits) - 1;
    size_t section = header + (size_t)(sizes >> size_bits & mask);
    bool alone = is_last && type == BLOCK_COMPRESSED && (block[0] & 3) == 2 && (sizes & mask) == n && head + 3 + section + 1 == bytes &&
                 block[section] == 0;
    if (!alone)
        return 0;
    memcpy(to, block, section);
    return section;
}

/*
 * A block of n values; NULL: zstd does better. `offset_code` and the only byte of its bit stream say how far back the high bytes are.
 * `to` has room for the block with raw literals, which are never fewer than coded ones.
 */
static uint8_t *put_values(const numbers *job, uint8_t *to, const uint8_t *p, size_t n, uint8_t offset_code, uint8_t bits, bool last)
{
    uint8_t *start = to;
    bool coded = job->coded && n > 1;
    to += 3;
    if (!coded)
        to = put_raw_literals_header(to, (uint32_t)(n * job->low));
    uint8_t *literals = coded ? job->scratch : to, *at = literals;
    for (size_t i = 0; i < n; i++) {
        for (unsigned b = 0; b < job->low; b++)
            *at++ = p[i * job->width + b];
    }
    size_t section = coded ? put_coded_literals(job, n * job->low, to) : n * job->low;
    if (section == 0)
        return NULL;
    to = put_sequence_count(to + section, (uint32_t)n);
    *to++ = RLE_TABLES;
    *to++ = (uint8_t)job->low; /* literal lengths up to 15 are their own code */
    *to++ = offset_code;
    *to++ = (uint8_t)(job->width - job->low - MATCH_MIN);
    *to++ = bits;
    (void)put_block_header(start, BLOCK_COMPRESSED, (size_t)(to - start) - 3, last);
    return to;
}

/* What stands before the numbers: raw if it is short, else as zstd makes it; NULL: it can't, or there is no room. */
static uint8_t *put_before(const numbers *job, uint8_t *to, tl_bytes_view before, size_t room)
{
    if (before.len <= BEFORE_RAW) {
        to = put_block_header(to, BLOCK_RAW, before.len, false);
        if (before.len > 0)
            memcpy(to, before.data, before.len);
        return to + before.len;
    }
    uint8_t *frame = job->scratch + BLOCK_BYTES;
    size_t bytes = ZSTD_compress2(job->zstd, frame, job->frame_room, before.data, before.len);
    size_t head = ZSTD_isError(bytes) ? 0 : frame_header_bytes(frame);
    /* At most a block, which then is the last one of its frame, but not of this. */
    if (head == 0 || bytes < head + 3 || bytes - head > room || (frame[head] & 1) == 0)
        return NULL;
    frame[head] &= 0xfe;
    memcpy(to, frame + head, bytes - head);
    return to + (bytes - head);
}

/* Blocks of all values but the first; NULL: zstd does better. */
static uint8_t *put_blocks(const numbers *job, uint8_t *to, const uint8_t *p, size_t n)
{
    unsigned w = job->width, offset = w + 3; /* Offset_Value of an offset that is not repeated: code 2 or 3, as many bits */
    unsigned code = offset < 8 ? 2 : 3;
    to = put_block_header(to, BLOCK_RAW, w, false);
    memcpy(to, p, w);
    /* The bits stand below the stream's end mark, which makes them the offset itself. */
    to = put_values(job, to + w, p + w, 1, (uint8_t)code, (uint8_t)offset, false);
    for (size_t i = 2, more; i < n && to != NULL; i += more) {
        more = TL_MIN(n - i, BLOCK_BYTES / w);
        to = put_values(job, to, p + i * w, more, 0, 1, i + more == n); /* the offset used last, no bits */
    }
    return to;
}

size_t tl_codec__zstd_numbers(ZSTD_CCtx *zstd, tl_bytes_view src, size_t from, int32_t width, uint8_t *dst)
{
    if ((width != 4 && width != 8) || from > src.len || (src.len - from) % (size_t)width != 0 || src.len > UINT32_MAX)
        return 0;
    const uint8_t *p = src.data + from;
    numbers job = {.width = (unsigned)width, .zstd = zstd};
    size_t n = (src.len - from) / job.width;
    if (from > BEFORE_RAW && (src.len < CODED_MIN || from > BLOCK_BYTES))
        return 0;
    job.low = n < VALUES_MIN ? 0 : low_bytes(p, n, job.width);
    job.coded = job.low > 0 && low_bytes_are_skewed(p, n, job.width, job.low);
    if (job.low == 0 || (job.coded && src.len < CODED_MIN))
        return 0;
    TL_CLEANUP(tl_freep) uint8_t *scratch = NULL;
    job.frame_room = ZSTD_compressBound(BLOCK_BYTES);
    if ((job.coded || from > BEFORE_RAW) && (scratch = tl_alloc(BLOCK_BYTES + job.frame_room)) == NULL)
        return 0;
    job.scratch = scratch;
    uint8_t *to = tl_codec__zstd_frame_header(dst, (uint32_t)src.len);
    to = put_before(&job, to, (tl_bytes_view){src.data, from}, from + 3);
    if (to != NULL)
        to = put_blocks(&job, to, p, n);
    return to == NULL ? 0 : (size_t)(to - dst);
}
