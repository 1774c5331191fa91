/* UTF-8 helpers of the text functions. Private to sql/. */
#ifndef TL_SQL_TEXT_UTIL_H
#define TL_SQL_TEXT_UTIL_H

#include "base/mem.h"

static inline bool tl_text__is_start(uint8_t byte)
{
    return (byte & 0xC0) != 0x80;
}

/** Code points. */
int64_t tl_text__length(tl_bytes_view v);
/** Byte offset of character `n` (v.len if there are fewer). */
size_t tl_text__offset(tl_bytes_view v, int64_t n);
/** Bytes of the character that begins at p (at least 1, never beyond end). */
size_t tl_text__char_bytes(const uint8_t *p, const uint8_t *end);
/** The character at p. Malformed bytes are themselves. */
uint32_t tl_text__char(const uint8_t *p, const uint8_t *end);
tl_status tl_text__append_char(tl_buf *buf, uint32_t c);
/** First place of `needle` at or behind byte `from`; SIZE_MAX if there is none. */
size_t tl_text__find(tl_bytes_view text, tl_bytes_view needle, size_t from);

/* UTF-16, for functions that count its units as Java does. */
/** Code units of the text; *out (tl_free) may be NULL for an empty text. */
tl_status tl_text__to_utf16(tl_bytes_view v, uint16_t **out, size_t *n);
/** Append units as UTF-8; half of a pair becomes '?', as Java's encoder has it. */
tl_status tl_text__append_utf16(tl_buf *buf, const uint16_t *units, size_t n);

/** Java regular expressions: compiled once for constant patterns. */
typedef struct tl_regex tl_regex;
/** `flags` as pcre2; TL_E_INVALID with the place. */
tl_status tl_regex__compile(tl_bytes_view pattern, tl_regex **out, tl_error *err);
void tl_regex__free(tl_regex *regex);
/** Find from byte `from` on. groups[2 * i], groups[2 * i + 1] are the ends of group i (SIZE_MAX: not matched); *n_groups at most max. */
tl_status tl_regex__find(tl_regex *regex, tl_bytes_view text, size_t from, size_t *groups, int max, int *n_groups, bool *found, tl_error *err);
int tl_regex__groups(const tl_regex *regex);

#endif
