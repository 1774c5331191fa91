/*
 * Time zones: names and offsets to rules, from the system's zone files.
 *
 * A zone is a sorted list of instants at which its offset changes, read from TZif data (RFC 8536, the 64-bit block), and the
 * POSIX rule behind it for later years. Zones live as long as the process; look-ups take no lock once found.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "types/text.h"
#include "types/tz.h"

#define ZONE_FOLDER "/usr/share/zoneinfo/"
#define ZONE_BYTES_MAX (1 << 20)
#define ZONES_MAX 1000

/** When daylight time begins or ends in a year: Mm.w.d, Jn or n, at a time of day. */
typedef struct rule_date {
    enum { RULE_MONTH, RULE_JULIAN, RULE_DAY } kind;
    int month, week, day;
    int64_t seconds;
} rule_date;

struct tl_tz {
    char *name;
    int64_t *instants; /* UTC seconds, ascending */
    int32_t *offsets;  /* seconds east of UTC from instants[i] on */
    int32_t n;
    int32_t first_offset; /* before instants[0] */
    bool has_rule;
    bool has_daylight;
    int32_t standard, daylight;
    rule_date begin, end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tl_tz *zones[ZONES_MAX];
static int n_zones;

const char *tl_tz_name(const tl_tz *zone)
{
    return zone == NULL ? "UTC" : zone->name;
}

static void zone_free(tl_tz *zone)
{
    if (zone == NULL)
        return;
    tl_free(zone->name);
    tl_free(zone->instants);
    tl_free(zone->offsets);
    tl_free(zone);
}

/* ---- the rule for later years ---- */

static bool parse_number(const char **p, int *out)
{
    char *end;
    long v = strtol(*p, &end, 10);
    if (end == *p || v < -1000 || v > 1000)
        return false;
    *p = end;
    *out = (int)v;
    return true;
}

/** [+-]hh[:mm[:ss]] in seconds. */
static bool parse_hms(const char **p, int64_t *out)
{
    int sign = 1, part;
    if (**p == '-' || **p == '+')
        sign = *(*p)++ == '-' ? -1 : 1;
    int64_t seconds = 0, unit = 3600;
    for (int i = 0; i < 3; i++, unit /= 60) {
        if (i > 0) {
            if (**p != ':')
                break;
            (*p)++;
        }
        if (!parse_number(p, &part) || part < 0)
            return false;
        seconds += part * unit;
    }
    *out = sign * seconds;
    return true;
}

static bool skip_zone_name(const char **p)
{
    const char *from = *p;
    if (**p == '<') {
        while (**p != '\0' && **p != '>')
            (*p)++;
        return *(*p)++ == '>';
    }
    while ((**p >= 'A' && **p <= 'Z') || (**p >= 'a' && **p <= 'z'))
        (*p)++;
    return *p > from;
}

static bool parse_rule_date(const char **p, rule_date *out)
{
    *out = (rule_date){.kind = RULE_DAY, .seconds = 7200};
    if (**p == 'M') {
        out->kind = RULE_MONTH;
        (*p)++;
        if (!parse_number(p, &out->month) || *(*p)++ != '.' || !parse_number(p, &out->week) || *(*p)++ != '.' || !parse_number(p, &out->day))
            return false;
        if (out->month < 1 || out->month > 12 || out->week < 1 || out->week > 5 || out->day < 0 || out->day > 6)
            return false;
    } else {
        if (**p == 'J') {
            out->kind = RULE_JULIAN;
            (*p)++;
        }
        if (!parse_number(p, &out->day))
            return false;
    }
    if (**p == '/') {
        (*p)++;
        return parse_hms(p, &out->seconds);
    }
    return true;
}

/** "CET-1CEST,M3.5.0,M10.5.0/3": offsets are west of UTC there. */
static bool parse_rule(const char *p, tl_tz *zone)
{
    int64_t west;
    if (!skip_zone_name(&p) || !parse_hms(&p, &west))
        return false;
    zone->standard = (int32_t)-west;
    zone->daylight = zone->standard + 3600;
    if (*p != '\0') {
        if (!skip_zone_name(&p))
            return false;
        if (*p != ',' && *p != '\0') {
            if (!parse_hms(&p, &west))
                return false;
            zone->daylight = (int32_t)-west;
        }
        if (*p++ != ',' || !parse_rule_date(&p, &zone->begin) || *p++ != ',' || !parse_rule_date(&p, &zone->end))
            return false;
        zone->has_daylight = true;
    }
    zone->has_rule = true;
    return true;
}

static int64_t rule_day(const rule_date *rule, int64_t year)
{
    int64_t first = tl_days_from_civil(year, 1, 1);
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (rule->kind == RULE_DAY)
        return first + rule->day;
    if (rule->kind == RULE_JULIAN)
        return first + rule->day - 1 + (leap && rule->day >= 60);
    int64_t month = tl_days_from_civil(year, rule->month, 1);
    int64_t next = rule->month == 12 ? tl_days_from_civil(year + 1, 1, 1) : tl_days_from_civil(year, rule->month + 1, 1);
    int64_t weekday = ((month + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday; Sunday is 0 */
    int64_t day = month + (rule->day - weekday + 7) % 7 + (rule->week - 1) * 7;
    return day >= next ? day - 7 : day;
}

static int32_t rule_offset(const tl_tz *zone, int64_t utc)
{
    if (!zone->has_daylight)
        return zone->standard;
    int64_t local_day = (utc + zone->standard) / 86400, year;
    int month, day;
    tl_civil_from_days(local_day, &year, &month, &day);
    int64_t begin = rule_day(&zone->begin, year) * 86400 + zone->begin.seconds - zone->standard;
    int64_t end = rule_day(&zone->end, year) * 86400 + zone->end.seconds - zone->daylight;
    bool summer = begin < end ? utc >= begin && utc < end : !(utc >= end && utc < begin);
    return summer ? zone->daylight : zone->standard;
}

/* ---- zone files ---- */

typedef struct tzif_counts {
    uint32_t isut, isstd, leap, time, type, chars;
} tzif_counts;

static bool read_header(const uint8_t **p, const uint8_t *end, char *version, tzif_counts *c)
{
    if (end - *p < 44 || memcmp(*p, "TZif", 4) != 0)
        return false;
    *version = (char)(*p)[4];
    const uint8_t *q = *p + 20;
    *c = (tzif_counts){tl_read_be32(q), tl_read_be32(q + 4), tl_read_be32(q + 8), tl_read_be32(q + 12), tl_read_be32(q + 16), tl_read_be32(q + 20)};
    *p += 44;
    return c->type > 0 && c->type <= 256 && c->time < 100000 && c->chars < 100000 && c->leap < 100000 && c->isut <= 256 && c->isstd <= 256;
}

static size_t block_bytes(const tzif_counts *c, size_t time_bytes)
{
    return (size_t)c->time * time_bytes + c->time + (size_t)c->type * 6 + c->chars + (size_t)c->leap * (time_bytes + 4) + c->isstd + c->isut;
}

static bool parse_tzif(const uint8_t *data, size_t bytes, tl_tz *zone)
{
    const uint8_t *p = data, *end = data + bytes;
    char version;
    tzif_counts c;
    if (!read_header(&p, end, &version, &c) || version < '2' || (size_t)(end - p) < block_bytes(&c, 4))
        return false;
    p += block_bytes(&c, 4);
    if (!read_header(&p, end, &version, &c) || (size_t)(end - p) < block_bytes(&c, 8))
        return false;
    const uint8_t *times = p, *kinds = p + (size_t)c.time * 8, *types = kinds + c.time;
    zone->instants = tl_calloc(c.time + 1, sizeof *zone->instants);
    zone->offsets = tl_calloc(c.time + 1, sizeof *zone->offsets);
    if (zone->instants == NULL || zone->offsets == NULL)
        return false;
    for (uint32_t i = 0; i < c.time; i++) {
        if (kinds[i] >= c.type)
            return false;
        zone->instants[i] = (int64_t)tl_read_be64(times + (size_t)i * 8);
        zone->offsets[i] = (int32_t)tl_read_be32(types + (size_t)kinds[i] * 6);
        if (i > 0 && zone->instants[i] <= zone->instants[i - 1])
            return false;
    }
    zone->n = (int32_t)c.time;
    zone->first_offset = (int32_t)tl_read_be32(types);
    p += block_bytes(&c, 8);
    if (end - p >= 2 && *p == '\n') {
        const uint8_t *stop = memchr(p + 1, '\n', (size_t)(end - p - 1));
        char rule[128];
        if (stop != NULL && (size_t)(stop - p) < sizeof rule) {
            memcpy(rule, p + 1, (size_t)(stop - p - 1));
            rule[stop - p - 1] = '\0';
            (void)parse_rule(rule, zone); /* without one the last offset stays */
        }
    }
    return true;
}

static bool read_zone_file(const char *name, tl_tz *zone)
{
    char path[160];
    if ((size_t)snprintf(path, sizeof path, ZONE_FOLDER "%s", name) >= sizeof path)
        return false;
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return false;
    uint8_t *data = tl_alloc(ZONE_BYTES_MAX);
    size_t bytes = data != NULL ? fread(data, 1, ZONE_BYTES_MAX, f) : 0;
    fclose(f);
    bool good = data != NULL && parse_tzif(data, bytes, zone);
    tl_free(data);
    return good;
}

/* ---- names ---- */

/** +hh:mm, -hhmm, GMT+8, UTC-03:00, Z. */
static bool parse_offset(const char *name, int32_t *out)
{
    if (strcmp(name, "Z") == 0) {
        *out = 0;
        return true;
    }
    if (strncmp(name, "GMT", 3) == 0 || strncmp(name, "UTC", 3) == 0)
        name += 3;
    else if (strncmp(name, "UT", 2) == 0)
        name += 2;
    if (*name == '\0') {
        *out = 0;
        return true;
    }
    int sign = *name == '+' ? 1 : *name == '-' ? -1 : 0, hours = 0, minutes = 0, used = 0;
    if (sign == 0 || strspn(name + 1, "0123456789:") != strlen(name + 1))
        return false;
    name++;
    int n = (int)strlen(name);
    if (sscanf(name, "%2d:%2d%n", &hours, &minutes, &used) != 2 && (n != 4 || sscanf(name, "%2d%2d%n", &hours, &minutes, &used) != 2) &&
        sscanf(name, "%2d%n", &hours, &used) != 1)
        return false;
    if (used != n || hours > 18 || minutes > 59)
        return false;
    *out = sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool is_safe_name(tl_bytes_view name)
{
    if (name.len == 0 || name.len > 64 || name.data[0] == '/' || name.data[0] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' || c == '+' || c == ':';
        if (!good)
            return false;
    }
    return true;
}

/** Java's old three-letter names that the system's files do not have, or have otherwise. */
static const char *long_name(const char *name)
{
    static const char *const names[][2] = {
        {"ACT", "Australia/Darwin"}, {"AET", "Australia/Sydney"},   {"AGT", "America/Argentina/Buenos_Aires"}, {"ART", "Africa/Cairo"},
        {"AST", "America/Anchorage"}, {"BET", "America/Sao_Paulo"}, {"BST", "Asia/Dhaka"},                     {"CAT", "Africa/Harare"},
        {"CNT", "America/St_Johns"}, {"CST", "America/Chicago"},    {"CTT", "Asia/Shanghai"},                  {"EAT", "Africa/Addis_Ababa"},
        {"ECT", "Europe/Paris"},     {"IET", "America/Indiana/Indianapolis"}, {"IST", "Asia/Kolkata"},         {"JST", "Asia/Tokyo"},
        {"MIT", "Pacific/Apia"},     {"NET", "Asia/Yerevan"},       {"NST", "Pacific/Auckland"},               {"PLT", "Asia/Karachi"},
        {"PNT", "America/Phoenix"},  {"PRT", "America/Puerto_Rico"}, {"PST", "America/Los_Angeles"},           {"SST", "Pacific/Guadalcanal"},
        {"VST", "Asia/Ho_Chi_Minh"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        if (strcmp(names[i][0], name) == 0)
            return names[i][1];
    return name;
}

static tl_status make_zone(const char *name, tl_tz **out)
{
    tl_tz *zone = tl_calloc(1, sizeof *zone);
    tl_status status = zone != NULL && (zone->name = tl_strdup(name)) != NULL ? TL_OK : TL_E_NOMEM;
    if (status == TL_OK && !parse_offset(name, &zone->first_offset) && !read_zone_file(long_name(name), zone))
        status = TL_E_NOT_FOUND;
    if (status != TL_OK) {
        zone_free(zone);
        return status;
    }
    *out = zone;
    return TL_OK;
}

tl_status tl_tz_find(tl_bytes_view view, const tl_tz **out, tl_error *err)
{
    char name[72];
    if (!is_safe_name(view))
        return tl_error_set(err, TL_E_NOT_FOUND, "there is no time zone '%.*s'", (int)TL_MIN(view.len, 64), (const char *)view.data);
    memcpy(name, view.data, view.len);
    name[view.len] = '\0';
    pthread_mutex_lock(&lock);
    tl_tz *found = NULL;
    for (int i = 0; i < n_zones && found == NULL; i++)
        if (strcmp(zones[i]->name, name) == 0)
            found = zones[i];
    tl_status status = TL_OK;
    if (found == NULL && n_zones < ZONES_MAX) {
        status = make_zone(name, &found);
        if (status == TL_OK)
            zones[n_zones++] = found;
    }
    pthread_mutex_unlock(&lock);
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "time zone");
    if (found == NULL)
        return tl_error_set(err, TL_E_NOT_FOUND, "there is no time zone '%s'", name);
    *out = found;
    return TL_OK;
}

/* ---- offsets ---- */

static int32_t offset_at(const tl_tz *zone, int64_t utc)
{
    if (zone->n == 0)
        return zone->has_rule ? rule_offset(zone, utc) : zone->first_offset;
    if (utc < zone->instants[0])
        return zone->first_offset;
    if (utc >= zone->instants[zone->n - 1] && zone->has_rule)
        return rule_offset(zone, utc);
    int32_t low = 0, high = zone->n;
    while (high - low > 1) {
        int32_t middle = (low + high) / 2;
        if (zone->instants[middle] <= utc)
            low = middle;
        else
            high = middle;
    }
    return zone->offsets[low];
}

static int64_t floor_seconds(int64_t ms)
{
    return ms / 1000 - (ms % 1000 < 0);
}

int64_t tl_tz_offset_ms(const tl_tz *zone, int64_t utc_ms)
{
    return zone == NULL ? 0 : (int64_t)offset_at(zone, floor_seconds(utc_ms)) * 1000;
}

int64_t tl_tz_to_utc_ms(const tl_tz *zone, int64_t local_ms)
{
    if (zone == NULL)
        return local_ms;
    int64_t local = floor_seconds(local_ms);
    /* The offset a day before and a day after bracket every change nearby. */
    int32_t before = offset_at(zone, local - 86400), after = offset_at(zone, local + 86400);
    if (offset_at(zone, local - before) == before) /* also the earlier of two in an overlap */
        return local_ms - (int64_t)before * 1000;
    if (offset_at(zone, local - after) == after)
        return local_ms - (int64_t)after * 1000;
    return local_ms - (int64_t)before * 1000; /* in a gap: moved forward by its length */
}
