/*
 * Dates and times: proleptic Gregorian calendar as java.time, their texts and how they are read.
 *
 * Source of the day arithmetic: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
 */
#include "types/number.h"

#define SECONDS_PER_DAY 86400

int64_t tl_days_from_civil(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

void tl_civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    uint32_t day_of_era = (uint32_t)(days - era * 146097);
    uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint32_t m = (5 * day_of_year + 2) / 153;
    *day = (int)(day_of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = (int64_t)year_of_era + era * 400 + (*month <= 2);
}

/* ---- texts ---- */

size_t tl_text__date(int64_t days, char *out)
{
    int64_t year;
    int month, day;
    tl_civil_from_days(days, &year, &month, &day);
    char *p = out;
    if (year < 0)
        *p++ = '-';
    else if (year > 9999)
        *p++ = '+';
    uint64_t magnitude = year < 0 ? -(uint64_t)year : (uint64_t)year;
    if (magnitude < 10000) {
        tl_text__padded((uint32_t)magnitude, 4, p);
        p += 4;
    } else {
        p += tl_text__uint(magnitude, p);
    }
    *p++ = '-';
    tl_text__padded((uint32_t)month, 2, p);
    p[2] = '-';
    tl_text__padded((uint32_t)day, 2, p + 3);
    return (size_t)(p + 5 - out);
}

size_t tl_text__hms(int32_t second_of_day, char *out)
{
    uint32_t s = (uint32_t)second_of_day;
    tl_text__padded(s / 3600, 2, out);
    out[2] = ':';
    tl_text__padded(s / 60 % 60, 2, out + 3);
    out[5] = ':';
    tl_text__padded(s % 60, 2, out + 6);
    return 8;
}

size_t tl_text__time(int32_t millis, char *out)
{
    tl_text__hms(millis / 1000, out);
    out[8] = '.';
    tl_text__padded((uint32_t)(millis % 1000), 3, out + 9);
    return 12;
}

static inline void split(int64_t v, int64_t per_second, int64_t *seconds, int32_t *rest)
{
    int64_t s = v / per_second, r = v % per_second;
    if (r < 0) {
        s--;
        r += per_second;
    }
    *seconds = s;
    *rest = (int32_t)r;
}

void tl_text__timestamp_at(const tl_column *col, int64_t i, int64_t *seconds, int32_t *nanos)
{
    if (col->phys == TL_PHYS_TS96) {
        tl_ts96 ts = tl_col_ts96(col, i);
        split(ts.millis, 1000, seconds, nanos);
        *nanos = *nanos * 1000000 + ts.nanos;
    } else if (col->type->precision <= 3) {
        split(tl_col_i64(col, i), 1000, seconds, nanos);
        *nanos *= 1000000;
    } else {
        split(tl_col_i64(col, i), 1000000, seconds, nanos);
        *nanos *= 1000;
    }
}

/* ---- reading ---- */

typedef struct cursor {
    const uint8_t *p;
    const uint8_t *end;
} cursor;

static bool take(cursor *c, char want)
{
    if (c->p >= c->end || *c->p != (uint8_t)want)
        return false;
    c->p++;
    return true;
}

/* Between `min` and `max` digits. */
static bool take_digits(cursor *c, int min, int max, int64_t *out)
{
    int64_t v = 0;
    int n = 0;
    for (; n < max && c->p < c->end && *c->p >= '0' && *c->p <= '9'; n++)
        v = v * 10 + (*c->p++ - '0');
    *out = v;
    return n >= min;
}

static int days_in_month(int64_t year, int64_t month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* [sign] year of 4 to 9 digits - month - day; one digit will do for month and day, as SQL casts take them. */
static bool take_date(cursor *c, int64_t *days)
{
    bool negative = take(c, '-');
    if (!negative)
        (void)take(c, '+');
    int64_t year, month, day;
    if (!take_digits(c, 4, 9, &year) || !take(c, '-') || !take_digits(c, 1, 2, &month) || !take(c, '-') ||
        !take_digits(c, 1, 2, &day))
        return false;
    year = negative ? -year : year;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *days = tl_days_from_civil(year, (int)month, (int)day);
    return true;
}

/* hh:mm[:ss[.fraction of up to 9 digits]] */
static bool take_time(cursor *c, int64_t *seconds, int32_t *nanos)
{
    int64_t hour, minute, second = 0, fraction = 0;
    if (!take_digits(c, 1, 2, &hour) || !take(c, ':') || !take_digits(c, 1, 2, &minute))
        return false;
    if (take(c, ':')) {
        if (!take_digits(c, 1, 2, &second))
            return false;
        if (take(c, '.')) {
            const uint8_t *start = c->p;
            if (!take_digits(c, 0, 9, &fraction))
                return false;
            for (int64_t n = c->p - start; n < 9; n++)
                fraction *= 10;
        }
    }
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *seconds = hour * 3600 + minute * 60 + second;
    *nanos = (int32_t)fraction;
    return true;
}

bool tl_parse_date(tl_bytes_view text, int32_t *days)
{
    cursor c = {text.data, text.data + text.len};
    int64_t d;
    if (!take_date(&c, &d) || c.p != c.end || d < INT32_MIN || d > INT32_MAX)
        return false;
    *days = (int32_t)d;
    return true;
}

bool tl_parse_time(tl_bytes_view text, int32_t *millis)
{
    cursor c = {text.data, text.data + text.len};
    int64_t seconds;
    int32_t nanos;
    if (!take_time(&c, &seconds, &nanos) || c.p != c.end)
        return false;
    *millis = (int32_t)(seconds * 1000) + nanos / 1000000;
    return true;
}

bool tl_parse_timestamp(tl_bytes_view text, int64_t *millis, int32_t *nanos_of_milli)
{
    cursor c = {text.data, text.data + text.len};
    int64_t days, seconds = 0;
    int32_t nanos = 0;
    if (!take_date(&c, &days))
        return false;
    if ((take(&c, 'T') || take(&c, ' ')) && !take_time(&c, &seconds, &nanos))
        return false;
    (void)take(&c, 'Z');
    if (c.p != c.end)
        return false;
    int64_t whole;
    if (__builtin_mul_overflow(days * SECONDS_PER_DAY + seconds, 1000, &whole) ||
        __builtin_add_overflow(whole, (int64_t)(nanos / 1000000), millis)) /* from year 292,278,994 on */
        return false;
    *nanos_of_milli = nanos % 1000000;
    return true;
}
