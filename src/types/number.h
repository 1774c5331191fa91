/*
 * Numbers as text, shared by the files of this room.
 */
#ifndef TL_TYPES_NUMBER_H
#define TL_TYPES_NUMBER_H

#include "types/text.h"

/* Each writes at most 20 bytes and returns how many; no NUL. */
size_t tl_text__uint(uint64_t v, char *out);
size_t tl_text__int(int64_t v, char *out);
/** Exactly `width` digits. */
void tl_text__padded(uint32_t v, int width, char *out);

/** [sign] digits within [min, max]. */
bool tl_text__parse_int(tl_bytes_view text, int64_t min, int64_t max, int64_t *out);
/** As Java's parseDouble()/parseFloat(): white space around, NaN, Infinity; no hexadecimal, no suffix. Rounded once. */
bool tl_text__parse_double(tl_bytes_view text, double *out);
bool tl_text__parse_float(tl_bytes_view text, float *out);

typedef enum tl_decimal_result { TL_DECIMAL_FITS, TL_DECIMAL_OVERFLOW, TL_DECIMAL_MALFORMED } tl_decimal_result;
tl_decimal_result tl_decimal__parse(tl_bytes_view text, int precision, int scale, tl_i128 *out);

/* Calendar texts; each returns the bytes written. */
size_t tl_text__date(int64_t days, char *out);         /* as java.time.LocalDate prints it; 17 bytes at most */
size_t tl_text__time(int32_t millis, char *out);       /* hh:mm:ss.mmm */
size_t tl_text__hms(int32_t second_of_day, char *out); /* hh:mm:ss */
/** Split of a timestamp value of `col` (any of the three layouts), floor-divided. */
void tl_text__timestamp_at(const tl_column *col, int64_t i, int64_t *seconds, int32_t *nanos);

/** The JSON form of a timestamp without quotes: 2024-02-29T12:34:56.000000000[Z]; 40 bytes at most. */
size_t tl_text__timestamp(const tl_column *col, int64_t i, char *out);
/** Value of a DECIMAL column of either layout. */
tl_i128 tl_text__decimal_at(const tl_column *col, int64_t i);
/** Value of an integer column of any width, also DATE and TIME. */
tl_status tl_text__append_int_at(tl_buf *buf, const tl_column *col, int64_t i);
/** Order of UTF-16 code units, as Java's String.compareTo(). */
int tl_text__compare_utf16(tl_bytes_view a, tl_bytes_view b);
tl_status tl_text__append_hex(tl_buf *buf, tl_bytes_view bytes);

#endif
