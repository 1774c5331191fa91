/*
 * Option values as the reference takes them: memory sizes (`128 mb`), durations (`1 h`), booleans, integers.
 * Source: Java: org.apache.paimon.options.MemorySize, org.apache.paimon.utils.TimeUtils, OptionsUtils.
 *
 * The messages give the text and the reason; the caller adds which option it was.
 */
#ifndef TL_BASE_PARSE_H
#define TL_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** Memory size in bytes; without a unit the number is bytes. Units: b, k/kb, m/mb, g/gb, t/tb (of 1024) and their long forms. */
tl_status tl_parse_memory_bytes(const char *text, int64_t *out, tl_error *err);
/** Duration in milliseconds (finer units are rounded down); without a unit the number is milliseconds. */
tl_status tl_parse_duration_ms(const char *text, int64_t *out, tl_error *err);
/** `true` or `false` in any case. */
tl_status tl_parse_bool(const char *text, bool *out, tl_error *err);
/** Decimal integer in [min, max]; blanks around it are allowed. */
tl_status tl_parse_int(const char *text, int64_t min, int64_t max, int64_t *out, tl_error *err);
tl_status tl_parse_double(const char *text, double *out, tl_error *err);

/**
 * Next piece of a list `a, b,c`, without the blanks around it, as a view into the text; *at is where to go on, at first the whole list
 * (NULL: none). False at the end. A comma at the end begins no piece (as Java's String#split), two in a row have an empty one between them.
 */
bool tl_list_next(const char **at, tl_bytes_view *piece);
/** Whether such a list (NULL: none) has this piece. */
bool tl_list_has(const char *list, const char *piece);

#endif
