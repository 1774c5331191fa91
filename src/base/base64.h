/* Base 64 with the usual digits (RFC 4648) read; types/text.h writes it. */
#ifndef TL_BASE_BASE64_H
#define TL_BASE_BASE64_H

#include "base/mem.h"

/** Append what the digits stand for, as Java's basic decoder reads them: padding may lack but must fit if it is there, nothing else
    may stand in between. TL_E_INVALID (without a message) if they are none; `buf` is then as it was. */
tl_status tl_base64_decode(tl_buf *buf, tl_bytes_view digits);

#endif
