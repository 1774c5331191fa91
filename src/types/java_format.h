/*
 * Patterns of dates and times as Java has them, of two dialects: java.time.format.DateTimeFormatter (strict numbers, "smart"
 * resolution) and the older java.text.SimpleDateFormat (lenient; the Julian calendar before 15 October 1582). Flink uses the
 * one for some functions and the other for others. English names, weeks as in the United States.
 */
#ifndef TL_TYPES_JAVA_FORMAT_H
#define TL_TYPES_JAVA_FORMAT_H

#include "base/mem.h"

typedef struct tl_jformat tl_jformat;
/** TL_E_INVALID names the letter that is not known. */
tl_status tl_jformat_compile(tl_bytes_view pattern, bool legacy, tl_jformat **out, tl_error *err);
void tl_jformat_free(tl_jformat *format);

/** A local date and time. */
typedef struct tl_jtime {
    int64_t millis; /* since 1970-01-01T00:00 local */
    int32_t nanos;  /* within the millisecond */
    int64_t offset_ms; /* east of UTC; legacy zones only */
    const char *zone;  /* its name; legacy only */
} tl_jtime;

tl_status tl_jformat_print(const tl_jformat *format, const tl_jtime *time, tl_buf *out, tl_error *err);
/**
 * False if the text does not fit. `has_offset`: the text named a zone, which is in offset_ms. Text behind the end of a legacy
 * pattern is left out.
 */
bool tl_jformat_parse(const tl_jformat *format, tl_bytes_view text, tl_jtime *out, bool *has_offset);

/** Whether the pattern has a field of one of these letters. */
bool tl_jformat_has(const tl_jformat *format, const char *letters);

/* For the files of formats. */

#define TL_JFORMAT_LITERAL '\0'
#define TL_JFORMAT_OPTION '[' /* `skip`: items inside, this one not counted */
#define TL_JFORMAT_OPTION_END ']'

typedef struct tl_jitem {
    char letter; /* or TL_JFORMAT_… */
    int32_t count;
    int32_t from, len; /* of the literal, in `literals` */
    int32_t skip;
} tl_jitem;

struct tl_jformat {
    bool legacy;
    tl_jitem *items;
    int32_t n_items, cap_items;
    tl_buf literals;
};

extern const char *const tl_jformat__months[12], *const tl_jformat__days[7]; /* days from Sunday */
/** The first bytes of these names are their short forms. */
#define TL_JFORMAT_SHORT 3

/** The calendar of the older dialect: Julian before the switch. */
int64_t tl_jformat__legacy_days(int64_t year, int64_t month, int64_t day);
void tl_jformat__legacy_civil(int64_t days, int64_t *year, int *month, int *day);

static inline int64_t tl_jformat__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

#endif
