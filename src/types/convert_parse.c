/*
 * Dates and times from text as casts read them (convert.h). Java: DateTimeUtils, which is neither ISO 8601 nor what the store's own
 * text forms are (calendar.c).
 */
#include "types/convert.h"

#include <stdlib.h>

#include "types/number.h"

/* As Java's String.trim(): all characters up to a blank. */
static tl_bytes_view trim_java(tl_bytes_view v)
{
    while (v.len > 0 && v.data[0] <= ' ') {
        v.data++;
        v.len--;
    }
    while (v.len > 0 && v.data[v.len - 1] <= ' ')
        v.len--;
    return v;
}

const char *tl_convert_parse_int(tl_bytes_view text, int64_t min, int64_t max, int64_t *out)
{
    if (text.len == 0)
        return "Input is empty.";
    bool negative = text.data[0] == '-';
    size_t i = negative || text.data[0] == '+';
    if (i == text.len)
        return "Input has only positive or negative symbol.";
    tl_i128 v = 0;
    for (; i < text.len && text.data[i] != '.'; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return "Invalid character found.";
        v = v * 10 + (text.data[i] - '0');
        if (v > (tl_i128)INT64_MAX + 1)
            return "Overflow.";
    }
    for (i++; i < text.len; i++) /* what stands behind the point is left out, but must be digits */
        if (text.data[i] < '0' || text.data[i] > '9')
            return "Invalid character found.";
    if (negative)
        v = -v;
    if (v < min || v > max)
        return "Overflow.";
    *out = (int64_t)v;
    return NULL;
}

/* 0x1.8p3: Java takes hexadecimal numbers, but only with an exponent. */
static bool parse_hex_double(tl_bytes_view text, bool single, double *out)
{
    char copy[128], *end;
    size_t sign = text.len > 0 && (text.data[0] == '-' || text.data[0] == '+');
    if (text.len < sign + 2 || text.len >= sizeof copy || text.data[sign] != '0' || (text.data[sign + 1] | 0x20) != 'x')
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (strlen(copy) != text.len || strpbrk(copy, "pP") == NULL)
        return false;
    *out = single ? (double)strtof(copy, &end) : strtod(copy, &end);
    return *end == '\0';
}

bool tl_convert_parse_double(tl_bytes_view text, bool single, double *out)
{
    text = trim_java(text);
    if (text.len > 1 && strchr("dDfF", text.data[text.len - 1]) != NULL) {
        uint8_t before = text.data[text.len - 2];
        if ((before >= '0' && before <= '9') || before == '.')
            text.len--;
    }
    if (parse_hex_double(text, single, out))
        return true;
    if (!single)
        return tl_text__parse_double(text, out);
    float v;
    if (!tl_text__parse_float(text, &v))
        return false;
    *out = (double)v;
    return true;
}

/* All of it digits, of at most nine. */
static bool all_digits(tl_bytes_view v, int32_t *out)
{
    int32_t n = 0;
    if (v.len == 0 || v.len > 9)
        return false;
    for (size_t i = 0; i < v.len; i++) {
        if (v.data[i] < '0' || v.data[i] > '9')
            return false;
        n = n * 10 + (v.data[i] - '0');
    }
    *out = n;
    return true;
}

/* Up to `separator`, trimmed; the rest stays in *text. False if it is not there: then all is taken. */
static bool take_until(tl_bytes_view *text, char separator, tl_bytes_view *part)
{
    const uint8_t *found = text->len > 0 ? memchr(text->data, separator, text->len) : NULL;
    if (found == NULL) {
        *part = trim_java(*text);
        text->len = 0;
        return false;
    }
    *part = trim_java((tl_bytes_view){text->data, (size_t)(found - text->data)});
    text->len -= (size_t)(found - text->data) + 1;
    text->data = found + 1;
    return true;
}

static bool date_of(int32_t y, int32_t m, int32_t d, int32_t *days)
{
    static const int32_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (y < 0 || y > 9999 || m < 1 || m > 12 || d < 1)
        return false;
    bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    if (d > lengths[m - 1] + (m == 2 && leap))
        return false;
    *days = (int32_t)tl_days_from_civil(y, m, d);
    return true;
}

bool tl_convert_parse_date(tl_bytes_view text, int32_t *days)
{
    const uint8_t *space = text.len > 0 ? memchr(text.data, ' ', text.len) : NULL;
    if (space != NULL && space > text.data)
        text.len = (size_t)(space - text.data); /* the date of a timestamp */
    tl_bytes_view year, month = {NULL, 0}, day = {NULL, 0};
    int32_t y, m = 1, d = 1;
    bool has_month = take_until(&text, '-', &year);
    bool has_day = has_month && take_until(&text, '-', &month);
    if (has_day)
        day = trim_java(text);
    if (!all_digits(year, &y) || (has_month && !all_digits(month, &m)) || (has_day && !all_digits(day, &d)))
        return false;
    return date_of(y, m, d, days);
}

/* Milliseconds of digits behind the point, rounded by the fourth; what is no digit counts as 0. */
static int32_t fraction_of(tl_bytes_view v)
{
    int32_t ms = 0, scale = 100;
    for (size_t i = 0; i < v.len && scale > 0; i++, scale /= 10) {
        ms += (v.data[i] >= '0' && v.data[i] <= '9' ? v.data[i] - '0' : 0) * scale;
        if (scale == 1 && i + 1 < v.len && v.data[i + 1] >= '5')
            ms++;
    }
    return ms;
}

/* [+-]hh[:mm] behind a time: what is to be added to it, in minutes; the text is cut before it. */
static bool take_offset(tl_bytes_view *text, int32_t *minutes)
{
    *minutes = 0;
    const uint8_t *sign = text->len > 0 ? memchr(text->data, '-', text->len) : NULL;
    int32_t direction = sign != NULL ? -1 : 1, h, m = 0;
    if (sign == NULL)
        sign = text->len > 0 ? memchr(text->data, '+', text->len) : NULL;
    if (sign == NULL)
        return true;
    tl_bytes_view rest = {sign + 1, text->len - (size_t)(sign + 1 - text->data)}, hours;
    text->len = (size_t)(sign - text->data);
    bool has_minutes = take_until(&rest, ':', &hours);
    if (!all_digits(hours, &h) || (has_minutes && !all_digits(trim_java(rest), &m)) || h > 99 || m > 99)
        return false;
    *minutes = direction * (h * 60 + m);
    return true;
}

bool tl_convert_parse_time(tl_bytes_view text, int64_t *millis)
{
    tl_bytes_view hour, minute = {NULL, 0}, second = {NULL, 0};
    int32_t h, m = 0, s = 0, f = 0, offset;
    if (!take_offset(&text, &offset))
        return false;
    bool has_minute = take_until(&text, ':', &hour);
    bool has_second = has_minute && take_until(&text, ':', &minute);
    bool has_fraction = has_second && take_until(&text, '.', &second);
    if (has_fraction)
        f = fraction_of(trim_java(text));
    if (!all_digits(hour, &h) || (has_minute && !all_digits(minute, &m)) || (has_second && !all_digits(second, &s)))
        return false;
    *millis = (((int64_t)h * 60 + m + offset) * 60 + s) * 1000 + f;
    return true;
}

typedef struct cursor {
    const uint8_t *p, *end;
} cursor;

static bool take_digits(cursor *c, int min, int max, int32_t *out)
{
    int n = 0;
    int32_t v = 0;
    while (c->p < c->end && n < max && *c->p >= '0' && *c->p <= '9') {
        v = v * 10 + (*c->p++ - '0');
        n++;
    }
    *out = v;
    return n >= min;
}

static bool take_char(cursor *c, char ch)
{
    if (c->p >= c->end || *c->p != (uint8_t)ch)
        return false;
    c->p++;
    return true;
}

bool tl_convert_parse_timestamp(tl_bytes_view text, int64_t *millis, int32_t *nanos)
{
    cursor c = {text.data, text.data + text.len};
    int32_t y, mo, d, h = 0, mi = 0, s = 0, days;
    int64_t fraction = 0;
    if (!take_digits(&c, 4, 4, &y) || !take_char(&c, '-') || !take_digits(&c, 1, 2, &mo) || !take_char(&c, '-') || !take_digits(&c, 1, 2, &d))
        return false;
    if (c.p < c.end) {
        if (!take_char(&c, ' ') || !take_digits(&c, 1, 2, &h) || !take_char(&c, ':') || !take_digits(&c, 1, 2, &mi) || !take_char(&c, ':') ||
            !take_digits(&c, 1, 2, &s))
            return false;
        if (take_char(&c, '.')) {
            int64_t scale = 100000000;
            for (; c.p < c.end && scale > 0 && *c.p >= '0' && *c.p <= '9'; c.p++, scale /= 10)
                fraction += (*c.p - '0') * scale;
        }
    }
    while (d > 28 && d <= 31 && mo >= 1 && mo <= 12 && !date_of(y, mo, d, &days))
        d--;
    bool end_of_day = h == 24 && mi == 0 && s == 0 && fraction == 0; /* midnight of the next day */
    if (c.p != c.end || (h > 23 && !end_of_day) || mi > 59 || s > 59 || y == 0 || !date_of(y, mo, d, &days))
        return false;
    *millis = (int64_t)days * 86400000 + ((h * 60 + mi) * 60 + s) * INT64_C(1000) + fraction / 1000000;
    *nanos = (int32_t)(fraction % 1000000);
    return true;
}
