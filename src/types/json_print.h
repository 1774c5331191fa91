/* JSON as Jackson prints it. */
#ifndef TL_TYPES_JSON_PRINT_H
#define TL_TYPES_JSON_PRINT_H

#include "base/json.h"

/** The members of an object: of equal names the last value, at the first one's place. */
tl_status tl_json_members(const tl_json *object, tl_arena *arena, const tl_json ***out, int64_t *n, tl_error *err);
/** Append as compact JSON; numbers and strings as Jackson prints them. */
tl_status tl_json_print(tl_buf *buf, const tl_json *node, tl_arena *arena, tl_error *err);
tl_status tl_json_print_string(tl_buf *buf, tl_bytes_view text);
/** The digits of a number: integers as they are, others as Java's Double. */
tl_status tl_json_print_number(tl_buf *buf, tl_bytes_view digits, bool quote_special);

#endif
