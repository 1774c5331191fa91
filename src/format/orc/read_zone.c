/*
 * Time zones of stripes that were not written in UTC, from the system's TZif files (RFC 8536). The rule at a file's end, which
 * holds for all later times, is turned into transitions up to YEAR_MAX.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format/orc/read_private.h"

#define ZONE_FILE_BYTES_MAX (1 << 20)
#define TZIF_HEADER_BYTES 44
#define YEAR_MAX 2300
#define YEARS_MAX 400

void tl_orc__zone_deinit(tl_orc_zone *zone)
{
    tl_free(zone->name);
    tl_free(zone->at);
    tl_free(zone->offset);
    *zone = (tl_orc_zone){0};
}

int32_t tl_orc__zone_offset(const tl_orc_zone *zone, int64_t utc_seconds)
{
    int32_t lo = 0, hi = zone->n;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo) / 2;
        if (zone->at[mid] <= utc_seconds)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? zone->first : zone->offset[lo - 1];
}

typedef struct tzif {
    const uint8_t *p; /* behind the header */
    uint32_t times, types, chars, leaps, isstd, isut;
    size_t time_bytes;
} tzif;

static bool read_header(tl_bytes_view file, size_t at, size_t time_bytes, tzif *out, size_t *end)
{
    if (file.len < at + TZIF_HEADER_BYTES || memcmp(file.data + at, "TZif", 4) != 0)
        return false;
    const uint8_t *p = file.data + at + 20;
    *out = (tzif){.p = file.data + at + TZIF_HEADER_BYTES,
                  .isut = tl_read_be32(p),
                  .isstd = tl_read_be32(p + 4),
                  .leaps = tl_read_be32(p + 8),
                  .times = tl_read_be32(p + 12),
                  .types = tl_read_be32(p + 16),
                  .chars = tl_read_be32(p + 20),
                  .time_bytes = time_bytes};
    uint64_t body = (uint64_t)out->times * (time_bytes + 1) + (uint64_t)out->types * 6 + out->chars +
                    (uint64_t)out->leaps * (time_bytes + 4) + out->isstd + out->isut;
    *end = at + TZIF_HEADER_BYTES + (size_t)body;
    return body <= file.len && *end <= file.len && out->types > 0;
}

/* ---- the rule: "PST8PDT,M3.2.0,M11.1.0" ---- */

typedef struct rule_date {
    int month, week, weekday;
    int32_t seconds; /* of the day, wall clock */
} rule_date;

static bool skip_name(const char **p)
{
    const char *from = *p;
    if (**p == '<') {
        *p = strchr(*p, '>');
        return *p != NULL && *(*p)++ == '>';
    }
    while ((**p >= 'A' && **p <= 'Z') || (**p >= 'a' && **p <= 'z'))
        (*p)++;
    return *p > from;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool read_hms(const char **p, int32_t *out)
{
    int32_t sign = **p == '-' ? -1 : 1, unit = 3600, sum = 0;
    if (**p == '-' || **p == '+')
        (*p)++;
    for (;; unit /= 60, (*p)++) {
        int32_t v = 0;
        const char *from = *p;
        for (; **p >= '0' && **p <= '9' && *p - from < 3; (*p)++)
            v = v * 10 + (**p - '0');
        if (*p == from || unit == 0)
            return false;
        sum += v * unit;
        if (**p != ':')
            break;
    }
    *out = sign * sum;
    return true;
}

static bool read_date(const char **p, rule_date *out)
{
    int used = 0;
    if (sscanf(*p, ",M%2d.%1d.%1d%n", &out->month, &out->week, &out->weekday, &used) != 3 || out->month < 1 || out->month > 12)
        return false;
    *p += used;
    out->seconds = 7200;
    if (**p != '/')
        return true;
    (*p)++;
    return read_hms(p, &out->seconds);
}

/* Days since 1970 of a date in the proleptic Gregorian calendar. */
static int64_t epoch_day(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return days - 719468;
}

/* Seconds since 1970 of the wall clock at which the rule takes hold in a year. */
static int64_t rule_time(const rule_date *date, int64_t year)
{
    int64_t first = epoch_day(year, date->month, 1), next = date->month == 12 ? first + 31 : epoch_day(year, date->month + 1, 1);
    int64_t day = first + ((date->weekday - (first + 4)) % 7 + 7) % 7 + 7 * (date->week - 1); /* 1970 began on a Thursday */
    while (day >= next)
        day -= 7;
    return day * 86400 + date->seconds;
}

static void add_transition(tl_orc_zone *zone, int64_t at, int32_t offset)
{
    if (zone->n > 0 && at <= zone->at[zone->n - 1])
        return;
    zone->at[zone->n] = at;
    zone->offset[zone->n++] = offset;
}

/* Transitions that follow from the rule, behind those of the file. A rule of another kind than months is left out. */
static void apply_rule(tl_orc_zone *zone, const char *p)
{
    int32_t std, dst;
    rule_date start, end;
    if (!skip_name(&p) || !read_hms(&p, &std))
        return;
    std = -std;
    dst = std + 3600;
    if (*p == '\0' || !skip_name(&p))
        return;
    if (*p != ',' && *p != '\0') {
        if (!read_hms(&p, &dst))
            return;
        dst = -dst;
    }
    if (!read_date(&p, &start) || !read_date(&p, &end))
        return;
    for (int64_t year = YEAR_MAX - YEARS_MAX; year < YEAR_MAX; year++) {
        int64_t to_dst = rule_time(&start, year) - std, to_std = rule_time(&end, year) - dst;
        bool north = to_dst < to_std;
        add_transition(zone, north ? to_dst : to_std, north ? dst : std);
        add_transition(zone, north ? to_std : to_dst, north ? std : dst);
    }
}

/* The line behind the tables of a file of version 2 or later. */
static void apply_footer(tl_orc_zone *zone, tl_bytes_view footer)
{
    char text[128];
    if (footer.len < 2 || footer.data[0] != '\n')
        return;
    const uint8_t *end = memchr(footer.data + 1, '\n', footer.len - 1);
    size_t len = end == NULL ? 0 : (size_t)(end - footer.data) - 1;
    if (len == 0 || len >= sizeof text)
        return;
    memcpy(text, footer.data + 1, len);
    text[len] = '\0';
    apply_rule(zone, text);
}

static tl_status parse_tzif(tl_bytes_view file, tl_orc_zone *zone, tl_error *err)
{
    tzif z;
    size_t end;
    if (!read_header(file, 0, 4, &z, &end))
        return tl_error_set(err, TL_E_CORRUPT, "malformed time zone file");
    if (file.data[4] >= '2' && !read_header(file, end, 8, &z, &end))
        return tl_error_set(err, TL_E_CORRUPT, "malformed time zone file");
    const uint8_t *types = z.p + (size_t)z.times * (z.time_bytes + 1);
    zone->at = tl_calloc((size_t)z.times + 2 * YEARS_MAX, sizeof *zone->at);
    zone->offset = tl_calloc((size_t)z.times + 2 * YEARS_MAX, sizeof *zone->offset);
    if (zone->at == NULL || zone->offset == NULL)
        return tl_nomem(err, "time zone");
    zone->first = (int32_t)tl_read_be32(types);
    for (uint32_t i = 0; i < z.times; i++) {
        const uint8_t *t = z.p + (size_t)i * z.time_bytes;
        uint8_t type = z.p[(size_t)z.times * z.time_bytes + i];
        if (type >= z.types)
            return tl_error_set(err, TL_E_CORRUPT, "malformed time zone file");
        zone->at[i] = z.time_bytes == 8 ? (int64_t)tl_read_be64(t) : (int32_t)tl_read_be32(t);
        zone->offset[i] = (int32_t)tl_read_be32(types + (size_t)type * 6);
    }
    zone->n = (int32_t)z.times;
    if (file.data[4] >= '2')
        apply_footer(zone, (tl_bytes_view){file.data + end, file.len - end});
    return TL_OK;
}

static bool is_utc(const char *name)
{
    static const char *const names[] = {"", "UTC", "GMT", "Z", "UT", "Etc/UTC", "Etc/GMT", "UCT", "Zulu", "Universal", "Greenwich"};
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* "GMT+08:00", as Java names zones without rules. */
static bool is_fixed(const char *name, int32_t *offset)
{
    int hours, minutes;
    char sign, rest;
    if (sscanf(name, "GMT%c%2d:%2d%c", &sign, &hours, &minutes, &rest) != 3 || (sign != '+' && sign != '-'))
        return false;
    *offset = (sign == '-' ? -60 : 60) * (hours * 60 + minutes);
    return true;
}

/* Three letters that Java still knows but tzdata has not as files. */
static const char *modern_name(const char *name)
{
    static const char *const names[][2] = {
        {"PST", "America/Los_Angeles"}, {"CST", "America/Chicago"}, {"JST", "Asia/Tokyo"},   {"IST", "Asia/Kolkata"},
        {"CTT", "Asia/Shanghai"},       {"ECT", "Europe/Paris"},    {"EAT", "Africa/Nairobi"}, {"AET", "Australia/Sydney"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i][0]) == 0)
            return names[i][1];
    return name;
}

static tl_status load(tl_orc_zone *zone, tl_error *err)
{
    char path[256];
    if (zone->name[0] == '/' || strstr(zone->name, "..") != NULL)
        return tl_error_set(err, TL_E_CORRUPT, "malformed name of a time zone");
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", modern_name(zone->name));
    FILE *f = fopen(path, "rbe");
    if (f == NULL)
        return tl_error_set(err, TL_E_UNSUPPORTED, "the system does not know it (no '%s')", path);
    uint8_t *bytes = tl_alloc(ZONE_FILE_BYTES_MAX);
    size_t n = bytes == NULL ? 0 : fread(bytes, 1, ZONE_FILE_BYTES_MAX, f);
    fclose(f);
    tl_status status = bytes == NULL ? tl_nomem(err, "time zone") : parse_tzif((tl_bytes_view){bytes, n}, zone, err);
    tl_free(bytes);
    return status;
}

tl_status tl_orc__zone_set(tl_orc_zone *zone, tl_bytes_view name, tl_error *err)
{
    if (zone->name != NULL && strlen(zone->name) == name.len && memcmp(zone->name, name.data, name.len) == 0)
        return TL_OK;
    tl_orc__zone_deinit(zone);
    if (name.len > 100 || memchr(name.len == 0 ? (const void *)"" : name.data, 0, name.len) != NULL)
        return tl_error_set(err, TL_E_CORRUPT, "malformed name of a time zone");
    if ((zone->name = tl_strndup(name.len == 0 ? "" : (const char *)name.data, name.len)) == NULL)
        return tl_nomem(err, "time zone");
    if (is_utc(zone->name) || is_fixed(zone->name, &zone->first))
        return TL_OK;
    tl_status status = load(zone, err);
    if (status != TL_OK) {
        status = tl_error_wrap(err, status, "time zone '%s'", zone->name);
        tl_orc__zone_deinit(zone);
    }
    return status;
}
