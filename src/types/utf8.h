/*
 * UTF-8 checks for text from outside.
 */
#ifndef TL_TYPES_UTF8_H
#define TL_TYPES_UTF8_H

#include "base/mem.h"

bool tl_utf8_is_ascii(tl_bytes_view text);
/** Well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
bool tl_utf8_valid(tl_bytes_view text);
/** Characters of a text: bytes that are no continuation. */
int64_t tl_utf8_length(tl_bytes_view text);

#endif
