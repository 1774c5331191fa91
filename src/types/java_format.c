/* Java's date patterns: reading a pattern, printing by it. */
#include "types/java_format.h"

#include <stdio.h>

#include "types/text.h"

#define PATTERN_BYTES_MAX 1000
#define OPTIONS_DEPTH_MAX 8
#define SWITCH_DAY (-141427) /* 1582-10-15 */

const char *const tl_jformat__months[12] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};
const char *const tl_jformat__days[7] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

/* ---- patterns ---- */

static tl_status add_item(tl_jformat *f, tl_jitem item, tl_error *err)
{
    if (f->n_items == f->cap_items) {
        int32_t cap = f->cap_items == 0 ? 16 : f->cap_items * 2;
        tl_jitem *items = tl_realloc(f->items, (size_t)cap * sizeof *items);
        if (items == NULL)
            return tl_nomem(err, "date pattern");
        f->items = items;
        f->cap_items = cap;
    }
    f->items[f->n_items++] = item;
    return TL_OK;
}

static tl_status add_literal(tl_jformat *f, const void *text, size_t bytes, tl_error *err)
{
    tl_jitem *last = f->n_items > 0 ? &f->items[f->n_items - 1] : NULL;
    if (tl_buf_append(&f->literals, text, bytes) != TL_OK)
        return tl_nomem(err, "date pattern");
    if (last != NULL && last->letter == TL_JFORMAT_LITERAL && (size_t)last->from + (size_t)last->len == f->literals.len - bytes) {
        last->len += (int32_t)bytes;
        return TL_OK;
    }
    return add_item(f, (tl_jitem){.letter = TL_JFORMAT_LITERAL, .from = (int32_t)(f->literals.len - bytes), .len = (int32_t)bytes}, err);
}

/** Quoted text from the quote at *p on; '' is one quote. */
static tl_status take_quoted(tl_jformat *f, const uint8_t **p, const uint8_t *end, tl_error *err)
{
    const uint8_t *q = *p + 1;
    if (q < end && *q == '\'') {
        *p = q + 1;
        return add_literal(f, "'", 1, err);
    }
    for (; q < end; q++) {
        if (*q != '\'') {
            TL_TRY(add_literal(f, q, 1, err));
        } else if (q + 1 < end && q[1] == '\'') {
            TL_TRY(add_literal(f, "'", 1, err));
            q++;
        } else {
            *p = q + 1;
            return TL_OK;
        }
    }
    return tl_error_set(err, TL_E_INVALID, "Pattern ends with an incomplete string literal");
}

static tl_status take_option(tl_jformat *f, uint8_t c, int32_t *open, int *depth, tl_error *err)
{
    if (c == '[') {
        if (*depth == OPTIONS_DEPTH_MAX)
            return tl_error_set(err, TL_E_LIMIT, "more than %d optional sections inside each other in a date pattern", OPTIONS_DEPTH_MAX);
        open[(*depth)++] = f->n_items;
        return add_item(f, (tl_jitem){.letter = TL_JFORMAT_OPTION}, err);
    }
    if (*depth == 0)
        return tl_error_set(err, TL_E_INVALID, "Pattern invalid as it contains ] without previous [");
    TL_TRY(add_item(f, (tl_jitem){.letter = TL_JFORMAT_OPTION_END}, err));
    int32_t from = open[--(*depth)];
    f->items[from].skip = f->n_items - from - 1;
    return TL_OK;
}

static tl_status take_letters(tl_jformat *f, const uint8_t **p, const uint8_t *end, tl_error *err)
{
    uint8_t c = **p;
    int32_t count = 0;
    while (*p < end && **p == c) {
        count++;
        (*p)++;
    }
    const char *known = f->legacy ? "GyYMLwWDdFEuaHkKhmsSzZX" : "GuyMLdDQqYwWEecFahKkHmsSAnN";
    if (strchr(known, c) == NULL)
        return f->legacy ? tl_error_set(err, TL_E_INVALID, "Illegal pattern character '%c'", c)
                         : tl_error_set(err, TL_E_INVALID, "Unknown pattern letter: %c", c);
    bool numeric_pair = strchr("dHkKhms", c) != NULL;
    if (!f->legacy && ((numeric_pair && count > 2) || ((c == 'S' || c == 'n' || c == 'N' || c == 'A') && count > (c == 'S' ? 9 : 19)) || count > 19))
        return tl_error_set(err, TL_E_INVALID, "Too many pattern letters: %c", c);
    return add_item(f, (tl_jitem){.letter = (char)c, .count = count}, err);
}

static tl_status read_pattern(tl_jformat *f, tl_bytes_view pattern, tl_error *err)
{
    const uint8_t *p = pattern.data, *end = p + pattern.len;
    int32_t open[OPTIONS_DEPTH_MAX];
    int depth = 0;
    while (p < end) {
        uint8_t c = *p;
        if (c == '\'') {
            TL_TRY(take_quoted(f, &p, end, err));
        } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
            TL_TRY(take_letters(f, &p, end, err));
        } else if (!f->legacy && (c == '[' || c == ']')) {
            TL_TRY(take_option(f, c, open, &depth, err));
            p++;
        } else if (!f->legacy && (c == '{' || c == '}' || c == '#')) {
            return tl_error_set(err, TL_E_INVALID, "Pattern includes reserved character: '%c'", c);
        } else {
            TL_TRY(add_literal(f, p++, 1, err));
        }
    }
    while (depth > 0) /* an open section ends with the pattern */
        TL_TRY(take_option(f, ']', open, &depth, err));
    return TL_OK;
}

tl_status tl_jformat_compile(tl_bytes_view pattern, bool legacy, tl_jformat **out, tl_error *err)
{
    *out = NULL;
    if (pattern.len > PATTERN_BYTES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "a date pattern of more than %d bytes", PATTERN_BYTES_MAX);
    tl_jformat *f = tl_calloc(1, sizeof *f);
    if (f == NULL)
        return tl_nomem(err, "date pattern");
    f->legacy = legacy;
    tl_status status = read_pattern(f, pattern, err);
    if (status != TL_OK) {
        tl_jformat_free(f);
        return status;
    }
    *out = f;
    return TL_OK;
}

void tl_jformat_free(tl_jformat *f)
{
    if (f == NULL)
        return;
    tl_free(f->items);
    tl_buf_deinit(&f->literals);
    tl_free(f);
}

/* ---- the older calendar ---- */

int64_t tl_jformat__legacy_days(int64_t year, int64_t month, int64_t day)
{
    year += tl_jformat__floor_div(month - 1, 12);
    int m = (int)(month - 1 - tl_jformat__floor_div(month - 1, 12) * 12) + 1;
    int64_t days = tl_days_from_civil(year, m, 1) + day - 1;
    if (days >= SWITCH_DAY)
        return days;
    /* Julian: every fourth year is a leap year; count from 1 March. */
    int64_t y = m > 2 ? year : year - 1, after_march = (m + 9) % 12;
    return y * 365 + tl_jformat__floor_div(y, 4) + (153 * after_march + 2) / 5 + day - 1 - 719470;
}

void tl_jformat__legacy_civil(int64_t days, int64_t *year, int *month, int *day)
{
    if (days >= SWITCH_DAY) {
        tl_civil_from_days(days, year, month, day);
        return;
    }
    int64_t d = days + 719470; /* days since 1 March of the Julian year 0 */
    int64_t y = tl_jformat__floor_div(4 * d + 3, 1461);
    int64_t rest = d - (y * 365 + tl_jformat__floor_div(y, 4));
    int64_t m = (5 * rest + 2) / 153;
    *day = (int)(rest - (153 * m + 2) / 5) + 1;
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = y + (m >= 10);
}

/* ---- printing ---- */

/** A moment taken apart. */
typedef struct fields {
    int64_t year;
    int month, day, weekday; /* weekday: Sunday = 0 */
    int day_of_year, week, week_of_month;
    int64_t week_year;
    int hour, minute, second, millis;
    int32_t nanos; /* of the second */
    int64_t day_nanos;
    const tl_jtime *time;
} fields;

static int64_t days_of(const tl_jformat *f, int64_t year, int month, int day)
{
    return f->legacy ? tl_jformat__legacy_days(year, month, day) : tl_days_from_civil(year, month, day);
}

static int weekday_of(int64_t days)
{
    return (int)(days + 4 - tl_jformat__floor_div(days + 4, 7) * 7);
}

static void take_apart(const tl_jformat *f, const tl_jtime *time, fields *o)
{
    int64_t days = tl_jformat__floor_div(time->millis, 86400000);
    int32_t rest = (int32_t)(time->millis - days * 86400000);
    if (f->legacy)
        tl_jformat__legacy_civil(days, &o->year, &o->month, &o->day);
    else
        tl_civil_from_days(days, &o->year, &o->month, &o->day);
    o->weekday = weekday_of(days);
    int64_t first = days_of(f, o->year, 1, 1);
    o->day_of_year = (int)(days - first) + 1;
    /* Weeks begin on Sunday; the one with 1 January is the first of its year. */
    o->week_year = o->year;
    o->week = (o->day_of_year - 1 + weekday_of(first)) / 7 + 1;
    int64_t next = days_of(f, o->year + 1, 1, 1);
    if (days >= next - weekday_of(next)) {
        o->week = 1;
        o->week_year++;
    }
    o->week_of_month = (o->day - 1 + weekday_of(days - o->day + 1)) / 7 + 1;
    o->hour = rest / 3600000;
    o->minute = rest / 60000 % 60;
    o->second = rest / 1000 % 60;
    o->millis = rest % 1000;
    o->nanos = o->millis * 1000000 + time->nanos;
    o->day_nanos = (int64_t)rest * 1000000 + time->nanos;
    o->time = time;
}

static tl_status put_number(tl_buf *out, int64_t v, int32_t width)
{
    return tl_buf_appendf(out, "%s%0*lld", v < 0 ? "-" : "", (int)TL_MIN(width, 100), (long long)(v < 0 ? -v : v));
}

static tl_status put_year(const tl_jformat *f, int64_t year, int32_t count, tl_buf *out)
{
    if (count == 2)
        return put_number(out, (year % 100 + 100) % 100, 2);
    if (!f->legacy && count >= 4) { /* a sign where the number is longer than the pattern */
        char digits[24];
        if (snprintf(digits, sizeof digits, "%lld", (long long)year) > count && year > 0)
            TL_TRY(tl_buf_append_byte(out, '+'));
    }
    return put_number(out, year, count);
}

/** Number, number with zeros, short name, full name, first letter: by the count of letters. */
static tl_status put_named(tl_buf *out, int number, const char *name, int32_t count)
{
    if (number > 0 && count <= 2)
        return put_number(out, number, count);
    if (count == 5)
        return tl_buf_append(out, name, 1);
    return count >= 4 ? tl_buf_append_str(out, name) : tl_buf_append(out, name, TL_JFORMAT_SHORT);
}

static tl_status put_offset(tl_buf *out, int64_t offset_ms, char letter, int32_t count)
{
    if (letter == 'X' && offset_ms == 0)
        return tl_buf_append_byte(out, 'Z');
    int64_t minutes = (offset_ms < 0 ? -offset_ms : offset_ms) / 60000;
    char sign = offset_ms < 0 ? '-' : '+';
    if (letter == 'X' && count == 1)
        return tl_buf_appendf(out, "%c%02d", sign, (int)(minutes / 60));
    return tl_buf_appendf(out, letter == 'X' && count == 3 ? "%c%02d:%02d" : "%c%02d%02d", sign, (int)(minutes / 60), (int)(minutes % 60));
}

static tl_status put_quarter(tl_buf *out, int quarter, int32_t count)
{
    static const char *const names[] = {"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"};
    if (count == 3)
        return tl_buf_appendf(out, "Q%d", quarter);
    return count == 4 ? tl_buf_append_str(out, names[quarter - 1]) : put_number(out, quarter, count > 4 ? 1 : count);
}

static tl_status put_fraction(const tl_jformat *f, const fields *v, int32_t count, tl_buf *out)
{
    if (f->legacy)
        return put_number(out, v->millis, count);
    char digits[16];
    snprintf(digits, sizeof digits, "%09d", (int)v->nanos);
    return tl_buf_append(out, digits, (size_t)TL_MIN(count, 9));
}

static tl_status put_item(const tl_jformat *f, const fields *v, const tl_jitem *item, tl_buf *out)
{
    int32_t n = item->count;
    switch (item->letter) {
    case TL_JFORMAT_LITERAL:
        return tl_buf_append(out, f->literals.data + item->from, (size_t)item->len);
    case 'G':
        return tl_buf_append_str(out, v->year > 0 ? "AD" : "BC");
    case 'y':
        return put_year(f, v->year > 0 ? v->year : 1 - v->year, n, out);
    case 'u':
        return f->legacy ? put_number(out, v->weekday == 0 ? 7 : v->weekday, n) : put_year(f, v->year, n, out);
    case 'Y':
        return put_year(f, v->week_year, n, out);
    case 'M':
    case 'L':
        return put_named(out, v->month, tl_jformat__months[v->month - 1], f->legacy && n > 4 ? 4 : n);
    case 'Q':
    case 'q':
        return put_quarter(out, (v->month + 2) / 3, n);
    case 'w':
        return put_number(out, v->week, n);
    case 'W':
        return put_number(out, v->week_of_month, n);
    case 'D':
        return put_number(out, v->day_of_year, n);
    case 'd':
        return put_number(out, v->day, n);
    case 'F':
        return put_number(out, f->legacy ? (v->day - 1) / 7 + 1 : (v->day - 1) % 7 + 1, n);
    case 'E':
        return put_named(out, 0, tl_jformat__days[v->weekday], f->legacy && n > 4 ? 4 : n);
    case 'e':
    case 'c':
        return put_named(out, v->weekday + 1, tl_jformat__days[v->weekday], n);
    case 'a':
        return tl_buf_append_str(out, v->hour < 12 ? "AM" : "PM");
    case 'H':
        return put_number(out, v->hour, n);
    case 'k':
        return put_number(out, v->hour == 0 ? 24 : v->hour, n);
    case 'K':
        return put_number(out, v->hour % 12, n);
    case 'h':
        return put_number(out, v->hour % 12 == 0 ? 12 : v->hour % 12, n);
    case 'm':
        return put_number(out, v->minute, n);
    case 's':
        return put_number(out, v->second, n);
    case 'S':
        return put_fraction(f, v, n, out);
    case 'n':
        return put_number(out, v->nanos, n);
    case 'N':
        return put_number(out, v->day_nanos, n);
    case 'A':
        return put_number(out, v->day_nanos / 1000000, n);
    case 'z':
        return tl_buf_append_str(out, v->time->zone);
    case 'Z':
    case 'X':
        return put_offset(out, v->time->offset_ms, item->letter, n);
    default: /* the ends of optional sections */
        return TL_OK;
    }
}

tl_status tl_jformat_print(const tl_jformat *f, const tl_jtime *time, tl_buf *out, tl_error *err)
{
    fields v;
    take_apart(f, time, &v);
    for (int32_t i = 0; i < f->n_items; i++)
        if (put_item(f, &v, &f->items[i], out) != TL_OK)
            return tl_nomem(err, "formatted date");
    return TL_OK;
}
