#include "base/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define UNIT_BYTES_MAX 16

typedef struct unit {
    const char *label; /* lower case */
    int64_t multiplier;
    int64_t divisor;
} unit;

static const unit memory_units[] = {
    {"b", 1, 1},
    {"bytes", 1, 1},
    {"k", 1024, 1},
    {"kb", 1024, 1},
    {"kibibytes", 1024, 1},
    {"m", 1024 * 1024, 1},
    {"mb", 1024 * 1024, 1},
    {"mebibytes", 1024 * 1024, 1},
    {"g", INT64_C(1) << 30, 1},
    {"gb", INT64_C(1) << 30, 1},
    {"gibibytes", INT64_C(1) << 30, 1},
    {"t", INT64_C(1) << 40, 1},
    {"tb", INT64_C(1) << 40, 1},
    {"tebibytes", INT64_C(1) << 40, 1},
};

#define MS_PER_DAY INT64_C(86400000)
static const unit time_units[] = {
    {"d", MS_PER_DAY, 1},       {"day", MS_PER_DAY, 1},     {"days", MS_PER_DAY, 1},
    {"h", 3600000, 1},          {"hour", 3600000, 1},       {"hours", 3600000, 1},
    {"min", 60000, 1},          {"m", 60000, 1},            {"minute", 60000, 1},
    {"minutes", 60000, 1},      {"s", 1000, 1},             {"sec", 1000, 1},
    {"secs", 1000, 1},          {"second", 1000, 1},        {"seconds", 1000, 1},
    {"ms", 1, 1},               {"milli", 1, 1},            {"millis", 1, 1},
    {"millisecond", 1, 1},      {"milliseconds", 1, 1},     {"\xc2\xb5s", 1, 1000},
    {"micro", 1, 1000},         {"micros", 1, 1000},        {"microsecond", 1, 1000},
    {"microseconds", 1, 1000},  {"ns", 1, 1000000},         {"nano", 1, 1000000},
    {"nanos", 1, 1000000},      {"nanosecond", 1, 1000000}, {"nanoseconds", 1, 1000000},
};

/* Java's String.trim() takes everything up to a blank off. */
static const char *skip_blanks(const char *p)
{
    while (*p != 0 && (unsigned char)*p <= ' ')
        p++;
    return p;
}

static size_t trimmed_len(const char *p)
{
    size_t len = strlen(p);
    while (len > 0 && (unsigned char)p[len - 1] <= ' ')
        len--;
    return len;
}

static const unit *find_unit(const unit *units, size_t n, const char *label, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(units[i].label) == len && strncasecmp(units[i].label, label, len) == 0)
            return &units[i];
    }
    return NULL;
}

static tl_status parse_with_unit(const char *text, const char *what, const unit *units, size_t n_units, int64_t *out, tl_error *err)
{
    const char *p = skip_blanks(text);
    size_t len = trimmed_len(p);
    if (len == 0)
        return tl_error_set(err, TL_E_INVALID, "empty %s", what);
    int64_t value = 0;
    size_t i = 0;
    for (; i < len && p[i] >= '0' && p[i] <= '9'; i++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, p[i] - '0', &value))
            return tl_error_set(err, TL_E_INVALID, "%s '%s' is too large", what, text);
    }
    if (i == 0)
        return tl_error_set(err, TL_E_INVALID, "%s '%s' does not start with a number", what, text);
    const char *label = skip_blanks(p + i);
    size_t label_len = len - (size_t)(label - p);
    if (label >= p + len) {
        *out = value;
        return TL_OK;
    }
    const unit *u = label_len < UNIT_BYTES_MAX ? find_unit(units, n_units, label, label_len) : NULL;
    if (u == NULL)
        return tl_error_set(err, TL_E_INVALID, "%s '%s' has an unknown unit", what, text);
    if (__builtin_mul_overflow(value, u->multiplier, &value))
        return tl_error_set(err, TL_E_INVALID, "%s '%s' is too large", what, text);
    *out = value / u->divisor;
    return TL_OK;
}

tl_status tl_parse_memory_bytes(const char *text, int64_t *out, tl_error *err)
{
    return parse_with_unit(text, "memory size", memory_units, TL_ARRAY_LEN(memory_units), out, err);
}

tl_status tl_parse_duration_ms(const char *text, int64_t *out, tl_error *err)
{
    return parse_with_unit(text, "duration", time_units, TL_ARRAY_LEN(time_units), out, err);
}

tl_status tl_parse_bool(const char *text, bool *out, tl_error *err)
{
    if (strcasecmp(text, "true") == 0)
        *out = true;
    else if (strcasecmp(text, "false") == 0)
        *out = false;
    else
        return tl_error_set(err, TL_E_INVALID, "'%s' is neither true nor false", text);
    return TL_OK;
}

tl_status tl_parse_int(const char *text, int64_t min, int64_t max, int64_t *out, tl_error *err)
{
    const char *p = skip_blanks(text);
    size_t len = trimmed_len(p);
    char *end = NULL;
    errno = 0;
    long long v = strtoll(p, &end, 10);
    if (len == 0 || end != p + len)
        return tl_error_set(err, TL_E_INVALID, "'%s' is no integer", text);
    if (errno == ERANGE || v < min || v > max)
        return tl_error_set(err, TL_E_INVALID, "%s is not in [%lld, %lld]", text, (long long)min, (long long)max);
    *out = v;
    return TL_OK;
}

tl_status tl_parse_double(const char *text, double *out, tl_error *err)
{
    const char *p = skip_blanks(text);
    size_t len = trimmed_len(p);
    char *end = NULL;
    double v = strtod(p, &end);
    if (len == 0 || end != p + len)
        return tl_error_set(err, TL_E_INVALID, "'%s' is no number", text);
    *out = v;
    return TL_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool tl_list_next(const char **at, tl_bytes_view *piece)
{
    const char *from = *at;
    if (from == NULL || *from == '\0')
        return false;
    const char *to = from + strcspn(from, ",");
    *at = to + (*to == ',');
    while (from < to && is_blank(*from))
        from++;
    while (to > from && is_blank(to[-1]))
        to--;
    *piece = (tl_bytes_view){(const uint8_t *)from, (size_t)(to - from)};
    return true;
}

bool tl_list_has(const char *list, const char *piece)
{
    tl_bytes_view next;
    size_t len = strlen(piece);
    while (tl_list_next(&list, &next))
        if (next.len == len && memcmp(next.data, piece, len) == 0)
            return true;
    return false;
}
