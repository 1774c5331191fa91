/*
 * Dictionaries of writers: the distinct values of a column, numbered in the order in which they come. The values lie one after the
 * other in Parquet's PLAIN form: byte strings (width 0) each behind its length in 4 LE bytes, all else as it is.
 */
#ifndef TL_FORMAT_DICTIONARY_H
#define TL_FORMAT_DICTIONARY_H

#include "base/bits.h"
#include "types/column.h"

/* ---- first bytes of byte strings ---- */

#define TL_FORMAT_PREFIX_BYTES 16

/** The first 16 bytes as two LE words, zeros behind the end of a shorter string. */
typedef struct tl_format_prefix {
    uint64_t a, b;
} tl_format_prefix;

/** Which bytes of a prefix are the string's, by its length. */
extern const uint64_t tl_format__prefix_masks[TL_FORMAT_PREFIX_BYTES + 1][2];

/**
 * Prefix of a string whose memory can be read up to `end`. No branch on the length: it would be mispredicted for every other
 * string.
 */
static inline tl_format_prefix tl_format__prefix(const uint8_t *p, size_t len, const uint8_t *end)
{
    size_t in_prefix = TL_MIN(len, TL_FORMAT_PREFIX_BYTES);
    if (TL_LIKELY((size_t)(end - p) >= TL_FORMAT_PREFIX_BYTES))
        return (tl_format_prefix){tl_read_le64(p) & tl_format__prefix_masks[in_prefix][0], tl_read_le64(p + 8) & tl_format__prefix_masks[in_prefix][1]};
    uint8_t bytes[TL_FORMAT_PREFIX_BYTES] = {0};
    if (in_prefix != 0)
        memcpy(bytes, p, in_prefix);
    return (tl_format_prefix){tl_read_le64(bytes), tl_read_le64(bytes + 8)};
}

/** A number that sorts as the prefixes do: strings of different numbers have their order. */
static inline unsigned __int128 tl_format__prefix_order(tl_format_prefix prefix)
{
    return (unsigned __int128)__builtin_bswap64(prefix.a) << 64 | __builtin_bswap64(prefix.b);
}

/* ---- dictionaries ---- */

/** Zero-initialise; tl_format__dict_deinit(). */
typedef struct tl_format_dict {
    int32_t width;  /* of a value in bytes: 4, 8, others; 0: BYTE_ARRAY */
    tl_buf plain;   /* the values in PLAIN form */
    tl_buf heads;   /* all but 4 and 8 bytes wide: see dictionary.c */
    uint32_t count;
    void *slots;    /* open addressing, at most half full */
    uint32_t cap;   /* a power of two */
    int shift;      /* hash >> shift is a slot */
} tl_format_dict;

void tl_format__dict_deinit(tl_format_dict *dict);
/** Forget the values, keep the memory. */
void tl_format__dict_reset(tl_format_dict *dict, int32_t width);
/** Numbers of `count` dense fixed-width values, new ones added. */
tl_status tl_format__dict_ids_fixed(tl_format_dict *dict, const void *dense, int64_t count, uint32_t *ids);
/** The same for byte strings: rows `sel` (NULL: from, from + 1, …) of a BYTES column. */
tl_status tl_format__dict_ids_bytes(tl_format_dict *dict, const tl_column *col, const uint32_t *sel, int64_t from, int64_t count, uint32_t *ids);
/** The same out of PLAIN BYTE_ARRAY; *plain, which ends at `end`, is moved behind them. */
tl_status tl_format__dict_ids_plain(tl_format_dict *dict, const uint8_t **plain, const uint8_t *end, int64_t count, uint32_t *ids);
/** One value in PLAIN form (BYTE_ARRAY without its length). */
tl_bytes_view tl_format__dict_value(const tl_format_dict *dict, uint32_t id);
/** Numbers of the least and the greatest of the byte strings whose byte in is_used (one for each number) is set; false: there is none. */
bool tl_format__dict_bounds(const tl_format_dict *dict, const uint8_t *is_used, uint32_t *min, uint32_t *max);
/** Append the values of `ids` in PLAIN form. */
tl_status tl_format__dict_decode(const tl_format_dict *dict, const uint32_t *ids, int64_t count, tl_buf *out);
/** True if a sample of `count` values in PLAIN form has next to no equal ones, so that a dictionary cannot pay. */
tl_status tl_format__looks_unique(tl_bytes_view plain, int64_t count, int32_t width, bool *out);

#endif
