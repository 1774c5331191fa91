/*
 * Values of one width that differ in some of their bytes only, written as zstd frames without zstd.
 *
 * In a page of INTs or BIGINTs of small range the high bytes are those of the value before; in one of texts like 'broker_00017', which are as long
 * as each other, the lengths, what they begin with and what they end with. zstd finds that value by value,
 * looks for a Huffman code of the other bytes, and where these are as good as random ends up with what can be written down at once: all
 * of them as literals, and one sequence a value that copies the rest from the value before. All sequences are alike, so that
 * each of their three codes is an RLE table and none of them takes a bit.
 *
 * Layout of the frame (RFC 8878, 3.1.1): header; a block with what stands before the values; a raw block with the first of them, up to where the
 * second differs; a block with one sequence, whose offset is the width; blocks with the others, whose sequences repeat that offset; a raw
 * block with the end of the last value, if values end alike and begin alike. A block gives at most 128 KiB.
 *
 * Whether zstd would do better is asked of the values: bytes that change seldom (sorted values). Literals that are skewed, as those
 * of sequence numbers and digits, and the levels of a page with nulls are coded by zstd, which gets just them: it finds no match to write down, and
 * its blocks (of levels) or their section of literals become part of this frame. In short pages levels are not worth it.
 */
#include "format/compress_private.h"

#include <zstd.h>

#include "base/bits.h"

#define VALUES_MIN 16
#define BEFORE_RAW 16             /* bytes before the values that are not compressed: levels of a page without nulls */
#define BEFORE_RAW_SHORT 300      /* the same in a short page */
#define SHORT_MAX (16u << 10)
#define CODED_MIN (4u << 10)      /* bytes from which on it pays to ask zstd for parts of the frame */
#define BLOCK_BYTES (128u << 10)  /* Block_Maximum_Size */
#define MATCH_MIN 3               /* of a sequence */
#define MATCH_MAX 34              /* of those whose code needs no bits */
#define LITERALS_MAX 15           /* of a sequence, likewise */
#define RLE_TABLES 0x54           /* Symbol_Compression_Modes: RLE for literal lengths, offsets and match lengths */
#define DICTIONARY_VALUES_MAX 2048
#define DICTIONARY_PAGE_BYTES 40  /* header of a dictionary's page and what the footer says of it */

enum { BLOCK_RAW, BLOCK_RLE, BLOCK_COMPRESSED };

static inline uint64_t value_at(const uint8_t *p, size_t i, unsigned width)
{
    return width == 4 ? tl_read_le32(p + 4 * i) : tl_read_le64(p + 8 * i);
}

static inline unsigned bytes_of(uint64_t v)
{
    return v == 0 ? 0 : (71 - (unsigned)__builtin_clzll(v)) / 8;
}

/* Values of one width; their bytes [from, from + own) differ. */
typedef struct value_shape {
    unsigned width, from, own;
} value_shape;

/* Values that are asked how many of their own bytes change from the one before are some 128 to 256, spread over all. */
static size_t change_step(size_t n)
{
    return 1 + n / 256;
}

/* Whether nearly all own bytes of nearly all values change, so that zstd finds no longer matches. `changed`: those of every step-th. */
static bool change_mostly(const value_shape *shape, size_t n, size_t changed, bool light)
{
    size_t step = change_step(n), all = shape->own * ((n - 1 + step - 1) / step);
    return light ? changed * 2 >= all : changed * 10 >= all * 9;
}

/* Numbers: the low bytes are their own. False: zstd does better. */
static bool shape_of_numbers(const uint8_t *p, size_t n, unsigned width, bool light, value_shape *out)
{
    uint64_t first = value_at(p, 0, width), differing = 0;
    if (width == 4) {
        for (size_t i = 1; i < n; i++)
            differing |= value_at(p, i, 4) ^ first;
    } else {
        for (size_t i = 1; i < n; i++)
            differing |= value_at(p, i, 8) ^ first;
    }
    *out = (value_shape){width, 0, bytes_of(differing)};
    if (out->own == 0 || out->own + MATCH_MIN > width)
        return false;
    size_t changed = 0;
    for (size_t i = 1; i < n; i += change_step(n))
        changed += bytes_of(value_at(p, i, width) ^ value_at(p, i - 1, width));
    return change_mostly(out, n, changed, light);
}

/* Byte strings in PLAIN form that are as long as each other; their lengths belong to them. */
static bool shape_of_strings(const uint8_t *p, size_t bytes, bool light, value_shape *out)
{
    enum { WORDS_MAX = (LITERALS_MAX + MATCH_MAX + 7) / 8 };
    uint32_t len = bytes < sizeof len ? UINT32_MAX : tl_read_le32(p);
    if (len < 4 || len > LITERALS_MAX + MATCH_MAX - 4 || bytes % (len + 4) != 0)
        return false;
    unsigned width = len + 4, words = (width + 7) / 8;
    size_t n = bytes / width;
    uint64_t differing[WORDS_MAX] = {0};
    for (size_t i = 1; i < n; i++) {
        const uint8_t *now = p + i * width;
        if (tl_read_le32(now) != len)
            return false;
        for (unsigned w = 0; w < words; w++) /* the last one ends with the value */
            differing[w] |= tl_read_le64(now + TL_MIN(8 * w, width - 8)) ^ tl_read_le64(p + TL_MIN(8 * w, width - 8));
    }
    unsigned from = width, end = 0;
    for (unsigned w = 0; w < words; w++) {
        unsigned at = TL_MIN(8 * w, width - 8);
        if (differing[w] == 0)
            continue;
        from = TL_MIN(from, at + (unsigned)__builtin_ctzll(differing[w]) / 8);
        end = at + bytes_of(differing[w]);
    }
    *out = (value_shape){width, from, from < end ? end - from : 0};
    bool fits = out->own > 0 && out->own <= LITERALS_MAX && out->own + MATCH_MIN <= width && width - out->own <= MATCH_MAX;
    if (!fits)
        return false;
    size_t changed = 0;
    for (size_t i = 1; i < n; i += change_step(n)) {
        const uint8_t *now = p + i * width, *before = now - width;
        unsigned at = from;
        while (at < end && now[at] == before[at])
            at++;
        changed += end - at;
    }
    return change_mostly(out, n, changed, light);
}

static bool own_bytes_are_skewed(const uint8_t *p, size_t n, const value_shape *shape)
{
    uint32_t counts[256] = {0};
    for (size_t i = 0; i < n; i++) {
        for (unsigned b = 0; b < shape->own; b++)
            counts[p[i * shape->width + shape->from + b]]++;
    }
    return tl_codec__huffman_saves(counts, (uint32_t)(n * shape->own));
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
    value_shape shape;
    bool coded;        /* own bytes are coded */
    ZSTD_CCtx *zstd;
    uint8_t *scratch;  /* own bytes of a block, then zstd's frame of them */
    size_t block, frame_room;
} numbers;

/*
 * The section of literals of a block for `n` bytes in front of the scratch, as zstd codes them; 0: it does more, or nothing, with them.
 * Layout (RFC 8878, 3.1.1.3.1.1): type 2 and the size format in 4 bits, both sizes of 10, 14 or 18 bits, tree and streams.
 */
static size_t put_coded_literals(const numbers *job, size_t n, uint8_t *to)
{
    uint8_t *frame = job->scratch + job->block;
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

/* The own bytes of n values, one after the other; up to 16 bytes behind them are written, too, but no byte behind the values is read. */
static void gather_own(const uint8_t *p, size_t n, const value_shape *shape, uint8_t *to)
{
    size_t i = 0;
    p += shape->from;
    for (; i + 4 < n; i++, p += shape->width, to += shape->own) /* 4 values have 16 bytes, whatever their width */
        memcpy(to, p, 16);
    for (; i < n; i++, p += shape->width, to += shape->own)
        memcpy(to, p, shape->own);
}

/*
 * A block of n sequences, whose values begin at p; NULL: zstd does better. `offset_code` and the only byte of its bit stream say how far back
 * the other bytes are. `to` has room for the block with raw literals, which are never fewer than coded ones.
 */
static uint8_t *put_values(const numbers *job, uint8_t *to, const uint8_t *p, size_t n, uint8_t offset_code, uint8_t bits, bool last)
{
    uint8_t *start = to;
    unsigned own = job->shape.own;
    bool coded = job->coded && n > 1;
    to += 3;
    if (!coded)
        to = put_raw_literals_header(to, (uint32_t)(n * own));
    gather_own(p, n, &job->shape, coded ? job->scratch : to);
    size_t section = coded ? put_coded_literals(job, n * own, to) : n * own;
    if (section == 0)
        return NULL;
    to = put_sequence_count(to + section, (uint32_t)n);
    *to++ = RLE_TABLES;
    *to++ = (uint8_t)own; /* literal lengths up to 15 are their own code */
    *to++ = offset_code;
    *to++ = (uint8_t)(job->shape.width - own - MATCH_MIN);
    *to++ = bits;
    (void)put_block_header(start, BLOCK_COMPRESSED, (size_t)(to - start) - 3, last);
    return to;
}

static uint8_t *put_raw_block(uint8_t *to, const uint8_t *p, size_t n, bool last)
{
    to = put_block_header(to, BLOCK_RAW, n, last);
    if (n > 0)
        memcpy(to, p, n);
    return to + n;
}

/* What stands before the values: raw if it is short, else as zstd makes it; NULL: it can't, or there is no room. */
static uint8_t *put_before(const numbers *job, uint8_t *to, tl_bytes_view before, size_t raw_max)
{
    if (before.len <= raw_max)
        return put_raw_block(to, before.data, before.len, false);
    uint8_t *frame = job->scratch + job->block;
    size_t bytes = ZSTD_compress2(job->zstd, frame, job->frame_room, before.data, before.len);
    size_t head = ZSTD_isError(bytes) ? 0 : frame_header_bytes(frame);
    /* At most a block, which then is the last one of its frame, but not of this. */
    if (head == 0 || bytes < head + 3 || bytes - head > before.len + 3 || (frame[head] & 1) == 0)
        return NULL;
    frame[head] &= 0xfe;
    memcpy(to, frame + head, bytes - head);
    return to + (bytes - head);
}

/* Blocks of all values; NULL: zstd does better. */
static uint8_t *put_blocks(const numbers *job, uint8_t *to, const uint8_t *p, size_t n)
{
    unsigned w = job->shape.width, from = job->shape.from, offset = w + 3; /* Offset_Value of an offset that is not repeated */
    unsigned code = 31 - (unsigned)__builtin_clz(offset);                 /* and has as many bits */
    size_t sequences = from == 0 ? n - 1 : n - 2;                         /* each goes on to the own bytes of the next value */
    bool has_end = from != 0;
    to = put_raw_block(to, p, w + from, false);
    /* The bits stand below the stream's end mark, which makes them the offset itself. */
    to = put_values(job, to, p + w, 1, (uint8_t)code, (uint8_t)offset, false);
    for (size_t i = 1, more; i < sequences && to != NULL; i += more) {
        more = TL_MIN(sequences - i, BLOCK_BYTES / w);
        to = put_values(job, to, p + (1 + i) * w, more, 0, 1, !has_end && i + more == sequences); /* the offset used last, no bits */
    }
    return to != NULL && has_end ? put_raw_block(to, p + (n - 1) * w + from, w - from, true) : to;
}

/* Finds values in src.data from `from` on; 0: there are none, or they are better left to zstd. */
static size_t find_values(tl_bytes_view src, size_t from, int32_t width, bool light, value_shape *out)
{
    if (from > src.len || src.len > UINT32_MAX)
        return 0;
    const uint8_t *p = src.data + from;
    size_t bytes = src.len - from;
    if (width == TL_WIDTH_OF_STRINGS)
        return shape_of_strings(p, bytes, light, out) && bytes / out->width >= VALUES_MIN ? bytes / out->width : 0;
    if ((width != 4 && width != 8) || bytes % (size_t)width != 0 || bytes / (size_t)width < VALUES_MIN)
        return 0;
    return shape_of_numbers(p, bytes / (size_t)width, (unsigned)width, light, out) ? bytes / (size_t)width : 0;
}

size_t tl_codec__zstd_numbers(ZSTD_CCtx *zstd, tl_bytes_view src, size_t from, int32_t width, bool light, uint8_t *dst)
{
    bool too_short = src.len < CODED_MIN; /* for parts that zstd codes */
    size_t before_raw = src.len < SHORT_MAX ? BEFORE_RAW_SHORT : BEFORE_RAW;
    if (from > (too_short ? before_raw : BLOCK_BYTES))
        return 0;
    numbers job = {.zstd = zstd};
    size_t n = find_values(src, from, width, light, &job.shape);
    if (n == 0)
        return 0;
    job.coded = !light && own_bytes_are_skewed(src.data + from, n, &job.shape);
    if (job.coded && too_short)
        return 0;
    TL_CLEANUP(tl_freep) uint8_t *scratch = NULL;
    job.block = TL_MIN(src.len, BLOCK_BYTES);
    job.frame_room = ZSTD_compressBound(job.block);
    if ((job.coded || from > before_raw) && (scratch = tl_alloc(job.block + job.frame_room)) == NULL)
        return 0;
    job.scratch = scratch;
    uint8_t *to = tl_codec__zstd_frame_header(dst, (uint32_t)src.len);
    to = put_before(&job, to, (tl_bytes_view){src.data, from}, before_raw);
    if (to != NULL)
        to = put_blocks(&job, to, src.data + from, n);
    return to == NULL ? 0 : (size_t)(to - dst);
}

bool tl_codec__zstd_numbers_beat_dictionary(tl_bytes_view plain, int32_t width, bool light)
{
    value_shape shape;
    bool may_be = width > 0 && plain.len / (size_t)width <= DICTIONARY_VALUES_MAX;
    size_t n = may_be ? find_values(plain, 0, width, light, &shape) : 0;
    if (n == 0 || shape.own != 1)
        return false;
    uint32_t counts[256] = {0}, distinct = 0;
    for (size_t i = 0; i < n; i++)
        counts[plain.data[i * (size_t)width]]++;
    for (size_t b = 0; b < 256; b++)
        distinct += counts[b] != 0;
    size_t bits = distinct <= 1 ? 0 : 32 - (size_t)__builtin_clz(distinct - 1);
    return n <= distinct + n * bits / 8 + DICTIONARY_PAGE_BYTES && (light || !tl_codec__huffman_saves(counts, (uint32_t)n));
}
