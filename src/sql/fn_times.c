/*
 * Parts of dates and times, rounding to units, differences, and now. Where the reference rounds toward 1970 instead of down, so
 * do we; its weeks, months and years of rounding are those of the Julian calendar before 15 October 1582.
 */
#include "sql/bind.h"
#include "sql/cast.h"

#define DAY_MS 86400000
#define EPOCH_JULIAN 2440588

typedef enum unit {
    UNIT_MILLENNIUM,
    UNIT_CENTURY,
    UNIT_DECADE,
    UNIT_YEAR,
    UNIT_QUARTER,
    UNIT_MONTH,
    UNIT_WEEK,
    UNIT_DAY,
    UNIT_HOUR,
    UNIT_MINUTE,
    UNIT_SECOND,
    UNIT_MILLISECOND,
    UNIT_MICROSECOND,
    UNIT_NANOSECOND,
    UNIT_DOW,
    UNIT_ISODOW,
    UNIT_DOY,
    UNIT_ISOYEAR,
    UNIT_EPOCH,
    UNIT_NONE
} unit;

static const char *const unit_names[] = {"MILLENNIUM", "CENTURY", "DECADE", "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND",
                                         "NANOSECOND", "DOW", "ISODOW", "DOY", "ISOYEAR", "EPOCH"};

static unit unit_of(const tl_column *text)
{
    tl_bytes_view v = tl_col_bytes(text, 0);
    for (int u = 0; u < UNIT_NONE; u++)
        if (v.len == strlen(unit_names[u]) && memcmp(v.data, unit_names[u], v.len) == 0)
            return (unit)u;
    return UNIT_NONE;
}

static int64_t unit_ms(unit u)
{
    static const int64_t ms[] = {[UNIT_WEEK] = 7 * DAY_MS, [UNIT_DAY] = DAY_MS, [UNIT_HOUR] = 3600000, [UNIT_MINUTE] = 60000, [UNIT_SECOND] = 1000, [UNIT_MILLISECOND] = 1};
    return ms[u];
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    return a - floor_div(a, b) * b;
}

/** Local milliseconds (and the rest in nanoseconds) of a point in time of any type; of a time of day since midnight. */
static int64_t local_ms(const tl_kernel *k, const tl_vec *v, int64_t i, int32_t *nanos)
{
    *nanos = 0;
    switch (v->col->type->kind) {
    case TL_DATE:
        return (int64_t)TL_VEC(v, int32_t, i) * DAY_MS;
    case TL_TIME:
        return TL_VEC(v, int32_t, i);
    default: {
        int64_t ms;
        tl_convert_timestamp_at(v->col, i * v->step, &ms, nanos);
        return v->col->type->kind == TL_TIMESTAMP_LTZ ? ms + tl_tz_offset_ms(k->env->zone, ms) : ms;
    }
    }
}

/* ---- EXTRACT ---- */

/** The ISO year of a day, and the Monday on which it begins. */
static int64_t iso_year(int64_t days, int64_t *monday)
{
    int64_t year;
    int month, day;
    /* The Thursday of a week says whose week it is. */
    int64_t weekday = floor_mod(days + 3, 7);
    tl_civil_from_days(days - weekday + 3, &year, &month, &day);
    int64_t fourth = tl_days_from_civil(year, 1, 4);
    *monday = fourth - floor_mod(fourth + 3, 7);
    return year;
}

static int64_t centuries(int64_t year, int64_t size)
{
    return year > 0 ? (year + size - 1) / size : (year - size + 1) / size;
}

static int64_t part_of_date(unit u, int64_t days)
{
    int64_t year, monday;
    int month, day;
    tl_civil_from_days(days, &year, &month, &day);
    switch (u) {
    case UNIT_MILLENNIUM:
        return centuries(year, 1000);
    case UNIT_CENTURY:
        return centuries(year, 100);
    case UNIT_DECADE:
        return year / 10;
    case UNIT_YEAR:
        return year;
    case UNIT_QUARTER:
        return (month + 2) / 3;
    case UNIT_MONTH:
        return month;
    case UNIT_WEEK:
        (void)iso_year(days, &monday);
        return (days - monday) / 7 + 1;
    case UNIT_ISOYEAR:
        return iso_year(days, &monday);
    case UNIT_DAY:
        return day;
    case UNIT_DOW:
        return floor_mod(days + 4, 7) + 1;
    case UNIT_ISODOW:
        return floor_mod(days + 3, 7) + 1;
    default:
        return days - tl_days_from_civil(year, 1, 1) + 1;
    }
}

static int64_t part_of(unit u, int64_t ms, int32_t nanos)
{
    switch (u) {
    case UNIT_EPOCH:
        return ms / 1000;
    case UNIT_HOUR:
        return ms % DAY_MS / 3600000;
    case UNIT_MINUTE:
        return ms % 3600000 / 60000;
    case UNIT_SECOND:
        return ms % 60000 / 1000;
    case UNIT_MILLISECOND:
        return ms % 1000;
    case UNIT_MICROSECOND:
        return ms % 1000 * 1000 + nanos / 1000;
    case UNIT_NANOSECOND:
        return ms % 1000 * 1000000 + nanos;
    default:
        return part_of_date(u, ms / DAY_MS);
    }
}

static tl_status check_unit(tl_binder *b, const tl_expr *arg, unit *out)
{
    if (arg->kind != TL_EXPR_LITERAL)
        return tl_error_set(b->err, TL_E_INVALID, "a unit of time is wanted");
    *out = unit_of(arg->literal);
    if (*out == UNIT_NONE)
        return tl_error_set(b->err, TL_E_INVALID, "'%.*s' is no unit of time", (int)tl_col_bytes(arg->literal, 0).len, (const char *)tl_col_bytes(arg->literal, 0).data);
    return TL_OK;
}

static tl_status extract_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    unit u;
    TL_TRY(check_unit(b, args[0], &u));
    const tl_type *type = args[1]->type;
    bool time_unit = u >= UNIT_HOUR && u <= UNIT_MILLISECOND;
    if (type->kind == TL_TIME && !time_unit)
        return tl_error_set(b->err, TL_E_INVALID, "unit %s can not be applied to time variable", unit_names[u]);
    if (tl_sql__is_interval_months(type) ? u > UNIT_MONTH : tl_sql__is_interval_ms(type) ? !time_unit && u != UNIT_DAY && u != UNIT_EPOCH : false)
        return tl_error_set(b->err, TL_E_INVALID, "unit %s can not be applied to %s variable", unit_names[u], tl_bind__type_text(b, type));
    return tl_bind__simple_type(b, TL_BIGINT, type->nullable, 0, 0, out);
}

static int64_t part_of_months(unit u, int64_t months)
{
    return u == UNIT_YEAR ? months / 12 : u == UNIT_QUARTER ? months % 12 / 3 + 1 : u == UNIT_MONTH ? months % 12 : months / 12 / (u == UNIT_DECADE ? 10 : u == UNIT_CENTURY ? 100 : 1000);
}

static tl_status extract_kernel(tl_kernel *k)
{
    unit u = unit_of(k->args[0].col);
    const tl_vec *v = &k->args[1];
    bool is_months = tl_sql__is_interval_months(v->col->type), is_ms = tl_sql__is_interval_ms(v->col->type);
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        int32_t nanos = 0;
        int64_t ms = is_ms ? TL_VEC(v, int64_t, i) : is_months ? 0 : local_ms(k, v, i, &nanos);
        TL_OUT(k, int64_t)[i] = is_months ? part_of_months(u, TL_VEC(v, int32_t, i)) : is_ms && u == UNIT_DAY ? ms / DAY_MS : part_of(u, ms, nanos);
    }
    return TL_OK;
}

/* ---- FLOOR and CEIL to a unit ---- */

/** Year, month and day as the reference's rounding sees them. */
static void mixed_civil(int64_t days, int64_t *year, int *month, int *day)
{
    if (days + EPOCH_JULIAN > 2299160) {
        tl_civil_from_days(days, year, month, day);
        return;
    }
    int64_t c = days + EPOCH_JULIAN + 32082, d = floor_div(4 * c + 3, 1461), e = c - floor_div(1461 * d, 4), m = (5 * e + 2) / 153;
    *day = (int)(e - (153 * m + 2) / 5) + 1;
    *month = (int)(m + 3 - 12 * (m / 10));
    *year = d - 4800 + m / 10;
}

static int64_t round_days(unit u, int64_t days, bool up)
{
    int64_t year;
    int month, day;
    mixed_civil(days, &year, &month, &day);
    switch (u) {
    case UNIT_MILLENNIUM:
        return tl_days_from_civil(1000 * ((year + 999) / 1000) + (up ? 1 : -999), 1, 1);
    case UNIT_CENTURY:
        return tl_days_from_civil(100 * ((year + 99) / 100) + (up ? 1 : -99), 1, 1);
    case UNIT_DECADE:
        return tl_days_from_civil(10 * (year / 10 + up), 1, 1);
    case UNIT_YEAR:
        return tl_days_from_civil(year + (up && (month > 1 || day > 1)), 1, 1);
    case UNIT_MONTH:
        month += up && day > 1;
        return tl_days_from_civil(year + (month > 12), month > 12 ? 1 : month, 1);
    case UNIT_QUARTER:
        month = (month + 2) / 3 * 3 - 2 + (up && (month > 1 || day > 1) ? 3 : 0);
        return tl_days_from_civil(year + (month > 12), month > 12 ? 1 : month, 1);
    case UNIT_WEEK: {
        int64_t offset = floor_mod(days + EPOCH_JULIAN + 1, 7);
        if (up && offset > 0)
            offset -= 7;
        return tl_days_from_civil(year, month, day) - offset;
    }
    default: /* DAY */
        return tl_days_from_civil(year, month, day) + up;
    }
}

static int64_t round_ms(unit u, int64_t ms, bool up)
{
    if (u < UNIT_DAY)
        return round_days(u, ms / DAY_MS, up) * DAY_MS;
    int64_t size = unit_ms(u), down = floor_div(ms, size) * size;
    return down + (up && down != ms ? size : 0);
}

static tl_status round_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    unit u;
    TL_TRY(check_unit(b, args[1], &u));
    if (u > UNIT_MILLISECOND || (args[0]->type->kind == TL_TIME && u < UNIT_HOUR))
        return tl_error_set(b->err, TL_E_INVALID, "%s to %s can not be applied to %s", fn->name, unit_names[u], tl_bind__type_text(b, args[0]->type));
    *out = args[0]->type;
    return TL_OK;
}

static void put_point(tl_kernel *k, int64_t i, int64_t ms)
{
    if (k->type->kind == TL_DATE)
        TL_OUT(k, int32_t)[i] = (int32_t)floor_div(ms, DAY_MS);
    else if (k->type->kind == TL_TIME)
        TL_OUT(k, int32_t)[i] = (int32_t)floor_mod(ms, DAY_MS);
    else
        tl_convert_put_timestamp(k->out, i, ms, 0);
}

static tl_status round_kernel(tl_kernel *k)
{
    unit u = unit_of(k->args[1].col);
    bool up = k->fn->name[0] == 'C', is_date = k->type->kind == TL_DATE;
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        int32_t nanos;
        int64_t ms = local_ms(k, &k->args[0], i, &nanos);
        if (is_date && u <= UNIT_DAY) {
            TL_OUT(k, int32_t)[i] = (int32_t)round_days(u, floor_div(ms, DAY_MS), up);
            continue;
        }
        int64_t offset = k->type->kind == TL_TIMESTAMP_LTZ ? tl_tz_offset_ms(k->env->zone, ms - tl_tz_offset_ms(k->env->zone, ms)) : 0;
        put_point(k, i, round_ms(u, ms, up) - offset);
    }
    return TL_OK;
}

/* ---- TIMESTAMPDIFF ---- */

/** Whole months between two days: the day of `from` is clipped to the month of `to`. */
static int64_t months_between_days(int64_t to, int64_t from)
{
    if (to < from)
        return -months_between_days(from, to);
    int64_t y0, y1;
    int m0, d0, m1, d1;
    tl_civil_from_days(to, &y1, &m1, &d1);
    tl_civil_from_days(from, &y0, &m0, &d0);
    int last = (int)(tl_days_from_civil(m1 == 12 ? y1 + 1 : y1, m1 == 12 ? 1 : m1 + 1, 1) - tl_days_from_civil(y1, m1, 1));
    return (y1 - y0) * 12 + (m1 - m0) - (d1 < TL_MIN(d0, last));
}

/** The time of day counts in one direction only, as in the reference: a later time at the end of a negative span is not seen. */
static int64_t months_between(int64_t to_ms, int64_t from_ms)
{
    int64_t to = floor_div(to_ms, DAY_MS), from = floor_div(from_ms, DAY_MS), months = months_between_days(to, from);
    bool whole = tl_sql__plus_months(from, months) == to;
    return months - (whole && floor_mod(to_ms, DAY_MS) < floor_mod(from_ms, DAY_MS));
}

static int64_t difference(unit u, int64_t from, int64_t to)
{
    int64_t ms = (int64_t)((uint64_t)to - (uint64_t)from);
    switch (u) {
    case UNIT_YEAR:
        return months_between(to, from) / 12;
    case UNIT_QUARTER:
        return months_between(to, from) / 3;
    case UNIT_MONTH:
        return months_between(to, from);
    case UNIT_WEEK:
        return (int32_t)(ms / 1000) / 604800;
    case UNIT_MICROSECOND:
        return (int64_t)((uint64_t)ms * 1000);
    case UNIT_NANOSECOND:
        return (int64_t)((uint64_t)ms * 1000000);
    default:
        return ms / unit_ms(u);
    }
}

static tl_status diff_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    unit u;
    TL_TRY(check_unit(b, args[0], &u));
    for (int i = 1; i <= 2; i++) {
        if (tl_sql__is_text(args[i]->type)) {
            const tl_type *ts;
            TL_TRY(tl_bind__simple_type(b, TL_TIMESTAMP, args[i]->type->nullable, 3, 0, &ts));
            TL_TRY(tl_bind__coerce(b, args[i], ts, &args[i]));
        }
        tl_type_kind kind = args[i]->type->kind;
        if (u > UNIT_NANOSECOND || u < UNIT_YEAR || (kind != TL_DATE && kind != TL_TIMESTAMP && kind != TL_TIMESTAMP_LTZ))
            return tl_error_set(b->err, TL_E_INVALID, "TIMESTAMPDIFF of %s can not be applied to %s", unit_names[u], tl_bind__type_text(b, args[i]->type));
    }
    return tl_bind__simple_type(b, TL_INT, args[1]->type->nullable || args[2]->type->nullable, 0, 0, out);
}

static tl_status diff_kernel(tl_kernel *k)
{
    unit u = unit_of(k->args[0].col);
    for (int64_t i = 0; i < k->n; i++) {
        int32_t nanos;
        if (tl_kernel_is_valid(k, i))
            TL_OUT(k, int32_t)[i] = (int32_t)difference(u, local_ms(k, &k->args[1], i, &nanos), local_ms(k, &k->args[2], i, &nanos));
    }
    return TL_OK;
}

/** (a - b) DAY TO SECOND: milliseconds; (a - b) YEAR TO MONTH: whole months. Points of one kind only. */
static tl_status distance_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    tl_type_kind kind = args[0]->type->kind;
    if ((kind != TL_DATE && kind != TL_TIME && kind != TL_TIMESTAMP && kind != TL_TIMESTAMP_LTZ) || args[1]->type->kind != kind)
        return tl_error_set(b->err, TL_E_INVALID, "line %d:%d: Cannot apply '-' to arguments of type '-(<%s>, <%s>, <INTERVAL>)': it needs two points in time of one kind",
                            (int)args[0]->line, (int)args[0]->position, tl_bind__type_text(b, args[0]->type), tl_bind__type_text(b, args[1]->type));
    bool nullable = args[0]->type->nullable || args[1]->type->nullable;
    *out = strcmp(fn->name, "$DISTANCE_MS") == 0 ? (nullable ? &tl_sql__interval_ms : &tl_sql__interval_ms_not_null)
                                                 : (nullable ? &tl_sql__interval_months : &tl_sql__interval_months_not_null);
    return TL_OK;
}

static tl_status distance_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        int32_t nanos;
        if (!tl_kernel_is_valid(k, i))
            continue;
        int64_t to = local_ms(k, &k->args[0], i, &nanos), from = local_ms(k, &k->args[1], i, &nanos);
        if (k->out->phys == TL_PHYS_I32)
            TL_OUT(k, int32_t)[i] = (int32_t)months_between(to, from);
        else
            TL_OUT(k, int64_t)[i] = (int64_t)((uint64_t)to - (uint64_t)from);
    }
    return TL_OK;
}

/** An interval in whole units: its stored number over that of one unit, truncated. */
static tl_status units_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        if (tl_kernel_is_valid(k, i))
            TL_OUT(k, int64_t)[i] = (k->args[0].col->phys == TL_PHYS_I32 ? TL_VEC(&k->args[0], int32_t, i) : TL_VEC(&k->args[0], int64_t, i)) / TL_VEC(&k->args[1], int64_t, i);
    return TL_OK;
}

/* ---- now ---- */

static tl_status now_kernel(tl_kernel *k)
{
    int64_t ms = k->now_ms;
    bool local = k->type->kind != TL_TIMESTAMP_LTZ && k->type->kind != TL_BIGINT;
    if (local)
        ms += tl_tz_offset_ms(k->env->zone, ms);
    for (int64_t i = 0; i < k->n; i++) {
        if (k->type->kind == TL_BIGINT)
            TL_OUT(k, int64_t)[i] = floor_div(ms, 1000);
        else
            put_point(k, i, k->type->kind == TL_TIME ? ms - floor_mod(ms, 1000) : ms);
    }
    return TL_OK;
}

const tl_sql_function tl_fn_times[] = {
    {.name = "EXTRACT", .args = "Sd", .kernel = extract_kernel, .rule = extract_rule},
    {.name = "EXTRACT", .args = "ST", .kernel = extract_kernel, .rule = extract_rule},
    {.name = "EXTRACT", .args = "SZ", .kernel = extract_kernel, .rule = extract_rule},
    {.name = "EXTRACT", .args = "Sm", .kernel = extract_kernel, .rule = extract_rule},
    {.name = "EXTRACT", .args = "Sv", .kernel = extract_kernel, .rule = extract_rule},
    {.name = "FLOOR", .args = "dS", .kernel = round_kernel, .rule = round_rule},
    {.name = "FLOOR", .args = "TS", .kernel = round_kernel, .rule = round_rule},
    {.name = "FLOOR", .args = "ZS", .kernel = round_kernel, .rule = round_rule},
    {.name = "FLOOR", .args = "mS", .kernel = round_kernel, .rule = round_rule},
    {.name = "CEIL", .args = "dS", .kernel = round_kernel, .rule = round_rule},
    {.name = "CEIL", .args = "TS", .kernel = round_kernel, .rule = round_rule},
    {.name = "CEIL", .args = "ZS", .kernel = round_kernel, .rule = round_rule},
    {.name = "CEIL", .args = "mS", .kernel = round_kernel, .rule = round_rule},
    {.name = "TIMESTAMPDIFF", .args = "SXX", .kernel = diff_kernel, .rule = diff_rule},
    {.name = "$DISTANCE_MS", .args = "XX", .kernel = distance_kernel, .rule = distance_rule},
    {.name = "$DISTANCE_MONTHS", .args = "XX", .kernel = distance_kernel, .rule = distance_rule},
    {.name = "$INTERVAL_UNITS", .args = "XL", .result = "L", .kernel = units_kernel},
    {.name = "NOW", .args = "", .result = "Z3!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = "CURRENT_TIMESTAMP", .args = "", .result = "Z3!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = "CURRENT_ROW_TIMESTAMP", .args = "", .result = "Z3!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = "LOCALTIMESTAMP", .args = "", .result = "T3!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = "CURRENT_DATE", .args = "", .result = "d!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = "CURRENT_TIME", .args = "", .result = "m0!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = "LOCALTIME", .args = "", .result = "m0!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = "UNIX_TIMESTAMP", .args = "", .result = "L!", .kernel = now_kernel, .flags = TL_FN_NOW},
    {.name = NULL},
};
