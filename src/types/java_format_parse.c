/* Java's date patterns: reading text by them. */
#include <strings.h>

#include "types/java_format.h"
#include "types/text.h"

/* Fields that a text can give. */
enum { YEAR, ERA, MONTH, DAY, DAY_OF_YEAR, WEEKDAY, HOUR, CLOCK_HOUR, HALF_HOUR, HALF_CLOCK_HOUR, HALF, MINUTE, SECOND, FRACTION, MILLI_OF_DAY, NANO_OF_DAY, N_FIELDS };

typedef struct reading {
    const tl_jformat *f;
    const uint8_t *p, *end;
    uint32_t seen; /* bits of fields */
    int64_t field[N_FIELDS];
    bool era_year;
    bool has_offset;
    int64_t offset_ms;
} reading;

static void set(reading *r, int field, int64_t v)
{
    r->field[field] = v;
    r->seen |= 1u << field;
}

static bool has(const reading *r, int field)
{
    return (r->seen >> field & 1) != 0;
}

static bool is_digit(const reading *r, const uint8_t *p)
{
    return p < r->end && *p >= '0' && *p <= '9';
}

static int field_of(char letter)
{
    static const struct {
        char letter;
        int8_t field;
    } map[] = {{'y', YEAR},   {'u', YEAR},       {'Y', -1},        {'M', MONTH},           {'L', MONTH},  {'d', DAY},      {'D', DAY_OF_YEAR}, {'H', HOUR},
               {'k', CLOCK_HOUR}, {'K', HALF_HOUR}, {'h', HALF_CLOCK_HOUR}, {'m', MINUTE}, {'s', SECOND}, {'S', FRACTION}, {'n', FRACTION},    {'A', MILLI_OF_DAY},
               {'N', NANO_OF_DAY}};
    for (size_t i = 0; i < TL_ARRAY_LEN(map); i++)
        if (map[i].letter == letter)
            return map[i].field;
    return -1;
}

/** The longest of `n` names (full, or the short forms) that the text begins with; -1 if none. */
static int take_name(reading *r, const char *const *names, int n, bool full, bool shorter, bool any_case)
{
    int best = -1;
    size_t best_len = 0;
    for (int i = 0; i < n; i++) {
        for (int form = 0; form < 2; form++) {
            if (form == 0 ? !full : !shorter)
                continue;
            size_t len = form == 0 ? strlen(names[i]) : TL_MIN(strlen(names[i]), (size_t)TL_JFORMAT_SHORT);
            if (len <= best_len || len > (size_t)(r->end - r->p))
                continue;
            if (any_case ? strncasecmp(names[i], (const char *)r->p, len) == 0 : memcmp(names[i], r->p, len) == 0) {
                best = i;
                best_len = len;
            }
        }
    }
    r->p += best_len;
    return best;
}

static const char *const halves[2] = {"AM", "PM"}, *const eras[2] = {"BC", "AD"};

static bool take_literal(reading *r, const tl_jitem *item)
{
    if (item->len > r->end - r->p || memcmp(r->p, r->f->literals.data + item->from, (size_t)item->len) != 0)
        return false;
    r->p += item->len;
    return true;
}

/* ---- the older dialect ---- */

static bool take_zone(reading *r)
{
    static const char *const utc[] = {"UTC", "GMT"};
    r->has_offset = true;
    r->offset_ms = 0;
    if (r->p < r->end && *r->p == 'Z') {
        r->p++;
        return true;
    }
    bool named = false;
    for (size_t i = 0; i < TL_ARRAY_LEN(utc) && !named; i++) {
        named = r->end - r->p >= 3 && strncasecmp((const char *)r->p, utc[i], 3) == 0;
        if (named)
            r->p += 3;
    }
    if (r->p == r->end || (*r->p != '+' && *r->p != '-'))
        return named;
    int sign = *r->p++ == '-' ? -1 : 1;
    int64_t parts[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (i == 1 && r->p < r->end && *r->p == ':')
            r->p++;
        if (!is_digit(r, r->p))
            return i == 1;
        for (int k = 0; k < 2 && is_digit(r, r->p); k++)
            parts[i] = parts[i] * 10 + (*r->p++ - '0');
    }
    r->offset_ms = sign * (parts[0] * 60 + parts[1]) * 60000;
    return parts[0] < 24 && parts[1] < 60;
}

/** Digits with a sign; at most `width` bytes if that is not 0. */
static bool take_legacy_number(reading *r, int32_t width, int64_t *out, int *digits)
{
    const uint8_t *end = width > 0 && width < r->end - r->p ? r->p + width : r->end;
    if (width > 0 && width > r->end - r->p)
        return false;
    bool negative = r->p < end && *r->p == '-';
    const uint8_t *p = r->p + negative, *from = p;
    int64_t v = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        v = v < INT32_MAX ? v * 10 + (*p - '0') : v;
    if (p == from)
        return false;
    *digits = negative ? 0 : (int)(p - from);
    *out = negative ? TL_MAX(-v, INT32_MIN) : TL_MIN(v, INT32_MAX);
    r->p = p;
    return true;
}

static bool is_legacy_number(const tl_jitem *item)
{
    return item->letter != TL_JFORMAT_LITERAL && strchr("GEazZX", item->letter) == NULL && !(item->letter == 'M' && item->count > 2) &&
           !(item->letter == 'L' && item->count > 2);
}

static bool legacy_item(reading *r, const tl_jitem *item, const tl_jitem *next)
{
    if (item->letter == TL_JFORMAT_LITERAL)
        return take_literal(r, item);
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t'))
        r->p++;
    if (r->p == r->end)
        return false;
    int i;
    switch (item->letter) {
    case 'G':
        i = take_name(r, eras, 2, true, false, true);
        set(r, ERA, i);
        return i >= 0;
    case 'E':
        return take_name(r, tl_jformat__days, 7, true, true, true) >= 0;
    case 'a':
        i = take_name(r, halves, 2, true, false, true);
        set(r, HALF, i);
        return i >= 0;
    case 'z':
    case 'Z':
    case 'X':
        return take_zone(r);
    default:
        break;
    }
    if (!is_legacy_number(item)) { /* MMM */
        i = take_name(r, tl_jformat__months, 12, true, true, true);
        set(r, MONTH, i + 1);
        return i >= 0;
    }
    bool obey = next != NULL && is_legacy_number(next);
    int64_t v;
    int digits;
    if (!take_legacy_number(r, obey ? item->count : 0, &v, &digits))
        return false;
    int field = item->letter == 'u' ? -1 : field_of(item->letter);
    if (field == YEAR && item->count <= 2 && digits == 2)
        v += v > 45 ? 1900 : 2000; /* Java: from 80 years before now to 20 after */
    if (field == FRACTION)
        v *= 1000000; /* milliseconds as they stand: .5 is 5 */
    if (field >= 0)
        set(r, field, v);
    return true;
}

static bool legacy_resolve(reading *r, tl_jtime *out)
{
    int64_t year = has(r, YEAR) ? r->field[YEAR] : 1970;
    if (has(r, ERA) && r->field[ERA] == 0)
        year = 1 - year;
    int64_t month = has(r, MONTH) ? r->field[MONTH] : 1, day = has(r, DAY) ? r->field[DAY] : 1;
    if (has(r, DAY_OF_YEAR) && !has(r, DAY)) {
        month = 1;
        day = r->field[DAY_OF_YEAR];
    }
    int64_t hour = 0;
    if (has(r, HOUR))
        hour = r->field[HOUR];
    else if (has(r, CLOCK_HOUR))
        hour = r->field[CLOCK_HOUR] == 24 ? 0 : r->field[CLOCK_HOUR];
    else if (has(r, HALF_HOUR) || has(r, HALF_CLOCK_HOUR) || has(r, HALF))
        hour = (has(r, HALF_HOUR) ? r->field[HALF_HOUR] : has(r, HALF_CLOCK_HOUR) ? r->field[HALF_CLOCK_HOUR] % 12 : 0) + (has(r, HALF) && r->field[HALF] == 1 ? 12 : 0);
    int64_t days = tl_jformat__legacy_days(year, month, day);
    int64_t rest = hour * 3600000 + r->field[MINUTE] * 60000 + r->field[SECOND] * 1000 + r->field[FRACTION] / 1000000;
    out->millis = (int64_t)((uint64_t)days * 86400000 + (uint64_t)rest); /* far years wrap round, as Java's calendar does */
    out->nanos = 0;
    return true;
}

/* ---- java.time ---- */

/** Least and most digits of a numeric item; false if it is text. */
static bool widths(const tl_jitem *item, int32_t *least, int32_t *most)
{
    int32_t n = item->count;
    *least = n;
    *most = n;
    switch (item->letter) {
    case 'y':
    case 'u':
        *most = n == 2 ? 2 : 19;
        return true;
    case 'S':
        return true;
    case 'D':
        *most = n == 1 ? 19 : 3;
        return true;
    case 'M':
    case 'L':
        *most = n == 1 ? 19 : n;
        return n <= 2;
    case 'd':
    case 'H':
    case 'k':
    case 'K':
    case 'h':
    case 'm':
    case 's':
        *most = n == 1 ? 19 : n;
        return true;
    case 'n':
    case 'N':
    case 'A':
        *most = 19;
        return true;
    default:
        return false;
    }
}

/** Digits that the fixed numbers directly behind item i need: one that may take more leaves them. */
static int32_t reserved(const tl_jformat *f, int32_t i)
{
    int32_t sum = 0, least, most;
    for (int32_t k = i + 1; k < f->n_items && widths(&f->items[k], &least, &most) && least == most; k++)
        sum += most;
    return sum;
}

static bool take_number(reading *r, int32_t i)
{
    const tl_jitem *item = &r->f->items[i];
    int32_t least = 1, most = 1;
    widths(item, &least, &most);
    bool may_have_sign = least != most, padded_year = (item->letter == 'y' || item->letter == 'u') && item->count >= 4;
    int sign = 0;
    if (may_have_sign && r->p < r->end && (*r->p == '-' || (*r->p == '+' && padded_year)))
        sign = *r->p++ == '-' ? -1 : 1;
    int32_t n = 0;
    while (n < most + (least != most ? reserved(r->f, i) : 0) && is_digit(r, r->p + n))
        n++;
    if (least != most)
        n = TL_MIN(TL_MAX(least, n - reserved(r->f, i)), n);
    if (n < least || n > 18 || (padded_year && (sign == 1 ? n <= least : sign == 0 && n > least)))
        return false;
    int64_t v = 0;
    for (int32_t k = 0; k < n; k++)
        v = v * 10 + (r->p[k] - '0');
    r->p += n;
    int field = field_of(item->letter);
    if (field == YEAR) {
        if (item->count == 2)
            v += 2000;
        r->era_year = item->letter == 'y';
    }
    for (int32_t k = n; item->letter == 'S' && k < 9; k++)
        v *= 10;
    v = sign < 0 ? -v : v;
    if (has(r, field) && r->field[field] != v)
        return false;
    set(r, field, v);
    return true;
}

static bool take_text(reading *r, const tl_jitem *item)
{
    bool full = item->count == 4;
    int i;
    switch (item->letter) {
    case 'M':
    case 'L':
        i = take_name(r, tl_jformat__months, 12, full, !full, false);
        set(r, MONTH, i + 1);
        return i >= 0;
    case 'E':
        i = take_name(r, tl_jformat__days, 7, full, !full, false);
        set(r, WEEKDAY, i);
        return i >= 0;
    case 'a':
        i = take_name(r, halves, 2, true, false, false);
        set(r, HALF, i);
        return i >= 0;
    case 'G':
        i = take_name(r, eras, 2, true, false, false);
        set(r, ERA, i);
        return i >= 0;
    default:
        return false; /* weeks and quarters are printed only */
    }
}

static bool take_items(reading *r, int32_t from, int32_t to)
{
    for (int32_t i = from; i < to; i++) {
        const tl_jitem *item = &r->f->items[i];
        int32_t least, most;
        if (item->letter == TL_JFORMAT_LITERAL) {
            if (!take_literal(r, item))
                return false;
        } else if (item->letter == TL_JFORMAT_OPTION) { /* depth is limited when the pattern is read */
            reading saved = *r;
            if (!take_items(r, i + 1, i + item->skip))
                *r = saved;
            i += item->skip;
        } else if (item->letter != TL_JFORMAT_OPTION_END && !(widths(item, &least, &most) ? take_number(r, i) : take_text(r, item))) {
            return false;
        }
    }
    return true;
}

static bool in_range(const reading *r, int field, int64_t min, int64_t max)
{
    return !has(r, field) || (r->field[field] >= min && r->field[field] <= max);
}

/** Hours from the fields there are. */
static bool resolve_hour(const reading *r, int64_t *hour)
{
    *hour = 0;
    if (has(r, HOUR))
        *hour = r->field[HOUR];
    else if (has(r, CLOCK_HOUR))
        *hour = r->field[CLOCK_HOUR] % 24;
    else if (has(r, HALF) && (has(r, HALF_HOUR) || has(r, HALF_CLOCK_HOUR)))
        *hour = (has(r, HALF_HOUR) ? r->field[HALF_HOUR] : r->field[HALF_CLOCK_HOUR] % 12) + (r->field[HALF] == 1 ? 12 : 0);
    return true;
}

static bool resolve_date(const reading *r, int64_t *days)
{
    int64_t year = has(r, YEAR) ? r->field[YEAR] : 1970, month = has(r, MONTH) ? r->field[MONTH] : 1, day = has(r, DAY) ? r->field[DAY] : 1;
    if (has(r, YEAR) && r->era_year && (year < 1 && !has(r, ERA)))
        return false;
    if (has(r, ERA) && r->field[ERA] == 0 && r->era_year)
        year = 1 - year;
    if (year < -999999 || year > 999999)
        return false;
    if (has(r, DAY_OF_YEAR) && has(r, YEAR)) {
        *days = tl_days_from_civil(year, 1, 1) + r->field[DAY_OF_YEAR] - 1;
        return *days < tl_days_from_civil(year + 1, 1, 1);
    }
    int64_t first = tl_days_from_civil(year, (int)month, 1);
    int64_t next = month == 12 ? tl_days_from_civil(year + 1, 1, 1) : tl_days_from_civil(year, (int)month + 1, 1);
    bool complete = has(r, YEAR) && has(r, MONTH) && has(r, DAY);
    if (day > next - first) { /* a whole date is clipped to its month */
        if (!complete)
            return false;
        day = next - first;
    }
    *days = first + day - 1;
    return !has(r, WEEKDAY) || !complete || *days + 4 - tl_jformat__floor_div(*days + 4, 7) * 7 == r->field[WEEKDAY];
}

static bool resolve(reading *r, tl_jtime *out)
{
    if (!in_range(r, MONTH, 1, 12) || !in_range(r, DAY, 1, 31) || !in_range(r, DAY_OF_YEAR, 1, 366) || !in_range(r, HOUR, 0, 23) || !in_range(r, CLOCK_HOUR, 1, 24) ||
        !in_range(r, HALF_HOUR, 0, 11) || !in_range(r, HALF_CLOCK_HOUR, 1, 12) || !in_range(r, MINUTE, 0, 59) || !in_range(r, SECOND, 0, 59) ||
        !in_range(r, FRACTION, 0, 999999999) || !in_range(r, MILLI_OF_DAY, 0, 86399999) || !in_range(r, NANO_OF_DAY, 0, 86399999999999))
        return false;
    int64_t days, hour;
    if (!resolve_date(r, &days) || !resolve_hour(r, &hour))
        return false;
    int64_t nanos = (hour * 3600 + r->field[MINUTE] * 60 + r->field[SECOND]) * 1000000000 + r->field[FRACTION];
    if (has(r, NANO_OF_DAY))
        nanos = r->field[NANO_OF_DAY];
    else if (has(r, MILLI_OF_DAY))
        nanos = r->field[MILLI_OF_DAY] * 1000000;
    out->millis = days * 86400000 + nanos / 1000000;
    out->nanos = (int32_t)(nanos % 1000000);
    return true;
}

bool tl_jformat_parse(const tl_jformat *f, tl_bytes_view text, tl_jtime *out, bool *has_offset)
{
    reading r = {.f = f, .p = text.data, .end = text.data + text.len};
    *has_offset = false;
    *out = (tl_jtime){.zone = "UTC"};
    if (!f->legacy)
        return take_items(&r, 0, f->n_items) && r.p == r.end && resolve(&r, out);
    for (int32_t i = 0; i < f->n_items; i++)
        if (!legacy_item(&r, &f->items[i], i + 1 < f->n_items ? &f->items[i + 1] : NULL))
            return false;
    *has_offset = r.has_offset;
    out->offset_ms = r.offset_ms;
    return legacy_resolve(&r, out);
}

bool tl_jformat_has(const tl_jformat *f, const char *letters)
{
    for (int32_t i = 0; i < f->n_items; i++) {
        if (f->items[i].letter != TL_JFORMAT_LITERAL && strchr(letters, f->items[i].letter) != NULL)
            return true;
    }
    return false;
}
