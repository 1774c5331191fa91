/*
 * UTF-8: checks of text from outside, and text out of any bytes.
 */
#ifndef TL_BASE_UTF8_H
#define TL_BASE_UTF8_H

#include "base/mem.h"

bool tl_utf8_is_ascii(tl_bytes_view text);
/** Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
bool tl_utf8_valid(tl_bytes_view text);
/** Append any bytes as well-formed text, as Java's new String(bytes, UTF_8): what is none becomes U+FFFD, once for each part of a character. */
tl_status tl_utf8_append(tl_buf *buf, tl_bytes_view bytes);
/** Characters of a text: bytes that are no continuation. */
int64_t tl_utf8_length(tl_bytes_view text);

#endif
