/*
 * Dates and times to text and back. DATE_FORMAT of timestamps and TO_TIMESTAMP go by java.time's patterns; the rest by those of
 * the older SimpleDateFormat, lenient as it is (java_format.h).
 */
#include "sql/bind.h"
#include "sql/cast.h"
#include "types/java_format.h"

#define DEFAULT_PATTERN "yyyy-MM-dd HH:mm:ss"
/* Years 0 to 9999. */
#define MIN_MS INT64_C(-62167219200000)
#define MAX_MS INT64_C(253402300799999)

static tl_bytes_view text_view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

static void release_format(void *aux)
{
    tl_jformat_free(aux);
}

/** Whether a function's patterns are of the older kind. */
static bool is_legacy(const tl_sql_function *fn)
{
    return strcmp(fn->name, "TO_TIMESTAMP") != 0 && !(strcmp(fn->name, "DATE_FORMAT") == 0 && fn->args[0] != 'S');
}

/** A constant pattern (the second argument, or the default) is read once. */
static tl_status prepare_format(const tl_sql_function *fn, const tl_type *type, const tl_column *const *args, int32_t n, void **aux, tl_error *err)
{
    (void)type;
    *aux = NULL;
    if (n > 1 && (args[1] == NULL || tl_col_is_null(args[1], 0)))
        return TL_OK;
    return tl_jformat_compile(n > 1 ? tl_col_bytes(args[1], 0) : text_view(DEFAULT_PATTERN), is_legacy(fn), (tl_jformat **)aux, err);
}

/** The pattern of row i; `own` keeps one that was not prepared. */
static tl_status format_of(tl_kernel *k, int64_t i, tl_jformat **own, const tl_jformat **out)
{
    *out = k->aux;
    if (*out != NULL)
        return TL_OK;
    tl_jformat_free(*own);
    *own = NULL;
    TL_TRY(tl_jformat_compile(tl_vec_bytes(&k->args[1], i), is_legacy(k->fn), own, k->err));
    *out = *own;
    return TL_OK;
}

/* ---- to text ---- */

typedef tl_status (*moment_fn)(tl_kernel *k, int64_t i, tl_jtime *out, bool *is_null);

static tl_status print_rows(tl_kernel *k, moment_fn moment)
{
    tl_jformat *own = NULL;
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        tl_jtime time = {.zone = "UTC"};
        bool is_null = !tl_kernel_is_valid(k, i);
        const tl_jformat *format = NULL;
        if (!is_null)
            status = format_of(k, i, &own, &format);
        if (!is_null && status == TL_OK)
            status = moment(k, i, &time, &is_null);
        if (status == TL_OK && !is_null)
            status = tl_jformat_print(format, &time, &k->text, k->err);
        if (status == TL_OK)
            status = is_null ? tl_kernel_put_null(k) : tl_kernel_end(k);
    }
    tl_jformat_free(own);
    return status;
}

static tl_status timestamp_moment(tl_kernel *k, int64_t i, tl_jtime *out, bool *is_null)
{
    (void)is_null;
    const tl_vec *v = &k->args[0];
    tl_convert_timestamp_at(v->col, i * v->step, &out->millis, &out->nanos);
    if (v->col->type->kind == TL_TIMESTAMP_LTZ)
        out->millis += tl_tz_offset_ms(k->env->zone, out->millis);
    return TL_OK;
}

static tl_status date_format_kernel(tl_kernel *k)
{
    return print_rows(k, timestamp_moment);
}

/** Parse by the default pattern of the older dialect. */
static tl_status parse_default(tl_kernel *k, tl_bytes_view text, tl_jtime *out, bool *good)
{
    tl_jformat *format;
    bool has_offset;
    TL_TRY(tl_jformat_compile(text_view(DEFAULT_PATTERN), /* legacy= */ true, &format, k->err));
    *good = tl_jformat_parse(format, text, out, &has_offset);
    tl_jformat_free(format);
    return TL_OK;
}

static tl_status text_moment(tl_kernel *k, int64_t i, tl_jtime *out, bool *is_null)
{
    bool good;
    TL_TRY(parse_default(k, tl_vec_bytes(&k->args[0], i), out, &good));
    *is_null = !good;
    return TL_OK;
}

static tl_status date_format_text_kernel(tl_kernel *k)
{
    return print_rows(k, text_moment);
}

static tl_status unix_moment(tl_kernel *k, int64_t i, tl_jtime *out, bool *is_null)
{
    (void)is_null;
    int64_t utc = (int64_t)((uint64_t)TL_VEC(&k->args[0], int64_t, i) * 1000);
    out->offset_ms = tl_tz_offset_ms(k->env->zone, utc);
    out->millis = (int64_t)((uint64_t)utc + (uint64_t)out->offset_ms);
    out->zone = tl_tz_name(k->env->zone);
    return TL_OK;
}

static tl_status from_unixtime_kernel(tl_kernel *k)
{
    return print_rows(k, unix_moment);
}

/* ---- CONVERT_TZ ---- */

/** As Java's TimeZone.getTimeZone(): a name that is not known is GMT, and offsets are known behind "GMT" alone. */
static tl_status zone_of(tl_bytes_view name, const tl_tz **out, tl_error *err)
{
    *out = NULL;
    size_t prefix = name.len >= 3 && memcmp(name.data, "UTC", 3) == 0 ? 3 : name.len >= 2 && memcmp(name.data, "UT", 2) == 0 ? 2 : 0;
    if (prefix < name.len && (name.data[prefix] == '+' || name.data[prefix] == '-'))
        return TL_OK;
    tl_status status = tl_tz_find(name, out, NULL);
    if (status == TL_E_NOMEM)
        return tl_nomem(err, "time zone");
    if (status != TL_OK)
        *out = NULL;
    return TL_OK;
}

static tl_status convert_tz_moment(tl_kernel *k, int64_t i, tl_jtime *out, bool *is_null)
{
    const tl_tz *from, *to;
    bool good;
    TL_TRY(parse_default(k, tl_vec_bytes(&k->args[0], i), out, &good));
    *is_null = !good;
    if (!good)
        return TL_OK;
    TL_TRY(zone_of(tl_vec_bytes(&k->args[1], i), &from, k->err));
    TL_TRY(zone_of(tl_vec_bytes(&k->args[2], i), &to, k->err));
    int64_t utc = from != NULL ? tl_tz_to_utc_ms(from, out->millis) : out->millis;
    out->millis = utc + (to != NULL ? tl_tz_offset_ms(to, utc) : 0);
    return TL_OK;
}

static tl_status convert_tz_kernel(tl_kernel *k)
{
    return print_rows(k, convert_tz_moment);
}

static tl_status prepare_default(const tl_sql_function *fn, const tl_type *type, const tl_column *const *args, int32_t n, void **aux, tl_error *err)
{
    (void)n;
    return prepare_format(fn, type, args, 1, aux, err);
}

/* ---- from text ---- */

static tl_status put_timestamp(tl_kernel *k, int64_t i, bool good, int64_t ms, int32_t nanos)
{
    if (!good)
        return tl_kernel_null(k, i);
    if (k->type->kind == TL_DATE)
        TL_OUT(k, int32_t)[i] = (int32_t)tl_jformat__floor_div(ms, 86400000);
    else
        tl_convert_put_timestamp(k->out, i, ms, nanos);
    return TL_OK;
}

static tl_status to_date_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        if (tl_kernel_is_valid(k, i) && !tl_convert_parse_date(tl_vec_bytes(&k->args[0], i), &TL_OUT(k, int32_t)[i]))
            TL_TRY(tl_kernel_null(k, i));
    return TL_OK;
}

static tl_status to_timestamp_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        int64_t ms = 0;
        int32_t nanos = 0;
        if (!tl_kernel_is_valid(k, i))
            continue;
        bool good = tl_convert_parse_timestamp(tl_vec_bytes(&k->args[0], i), &ms, &nanos);
        TL_TRY(put_timestamp(k, i, good, ms, nanos));
    }
    return TL_OK;
}

static bool parse_plainly(tl_bytes_view text, tl_jtime *time)
{
    while (text.len > 0 && text.data[0] <= ' ')
        text = (tl_bytes_view){text.data + 1, text.len - 1};
    while (text.len > 0 && text.data[text.len - 1] <= ' ')
        text.len--;
    return tl_convert_parse_timestamp(text, &time->millis, &time->nanos);
}

/** What Flink's TO_DATE with a pattern makes of bad text: the day of the least number of milliseconds, cut to 32 bits: +1705471-09-27. */
#define BAD_DATE 622191233

/** TO_DATE and TO_TIMESTAMP with a pattern. */
static tl_status parse_kernel(tl_kernel *k)
{
    bool legacy = is_legacy(k->fn);
    tl_jformat *own = NULL;
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        const tl_jformat *format;
        tl_jtime time = {0};
        bool has_offset;
        status = format_of(k, i, &own, &format);
        if (status != TL_OK)
            break;
        tl_bytes_view text = tl_vec_bytes(&k->args[0], i);
        bool good = tl_jformat_parse(format, text, &time, &has_offset);
        if (good && has_offset)
            time.millis -= time.offset_ms;
        if (!good && !legacy) /* the reference tries the usual form then */
            good = parse_plainly(text, &time);
        if (!good && k->type->kind == TL_DATE)
            TL_OUT(k, int32_t)[i] = BAD_DATE;
        else
            status = put_timestamp(k, i, good, time.millis, time.nanos);
    }
    tl_jformat_free(own);
    return status;
}

static tl_status unix_timestamp_kernel(tl_kernel *k)
{
    tl_jformat *own = NULL;
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        const tl_jformat *format;
        tl_jtime time;
        bool has_offset;
        if (!tl_kernel_is_valid(k, i))
            continue;
        status = format_of(k, i, &own, &format);
        if (status != TL_OK)
            break;
        bool good = tl_jformat_parse(format, tl_vec_bytes(&k->args[0], i), &time, &has_offset);
        TL_OUT(k, int64_t)[i] = !good ? INT64_MIN : (has_offset ? time.millis - time.offset_ms : tl_tz_to_utc_ms(k->env->zone, time.millis)) / 1000;
    }
    tl_jformat_free(own);
    return status;
}

static tl_status to_timestamp_ltz_kernel(tl_kernel *k)
{
    const tl_vec *v = &k->args[0];
    for (int64_t i = 0; i < k->n; i++) {
        if (!tl_kernel_is_valid(k, i))
            continue;
        int32_t precision = TL_VEC(&k->args[1], int32_t, i);
        if (precision != 0 && precision != 3)
            return tl_error_set(k->err, TL_E_INVALID,
                                "The precision value '%d' for function TO_TIMESTAMP_LTZ(numeric, precision) is unsupported, the supported value is '0' for second "
                                "or '3' for millisecond.",
                                (int)precision);
        int64_t scale = precision == 0 ? 1000 : 1, ms;
        bool good = true;
        if (v->col->phys == TL_PHYS_F64)
            ms = tl_convert_double_to_long(TL_VEC(v, double, i) * (double)scale);
        else
            good = !__builtin_mul_overflow(TL_VEC(v, int64_t, i), scale, &ms);
        TL_TRY(put_timestamp(k, i, good && ms >= MIN_MS && ms <= MAX_MS, ms, 0));
    }
    return TL_OK;
}

/** Integers and decimals count as BIGINT, the others as DOUBLE. */
static tl_status to_timestamp_ltz_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    const tl_type *type;
    TL_TRY(tl_bind__simple_type(b, tl_sql__is_float(args[0]->type) ? TL_DOUBLE : TL_BIGINT, args[0]->type->nullable, 0, 0, &type));
    TL_TRY(tl_bind__coerce(b, args[0], type, &args[0]));
    return tl_bind__simple_type(b, TL_TIMESTAMP_LTZ, true, 3, 0, out);
}

#define FORMAT .prepare = prepare_format, .release = release_format, .flags = TL_FN_CAN_FAIL

/* ---- intervals ---- */

/** As Java prints a Duration: hours, minutes and seconds, each with the sign. */
static tl_status append_duration(tl_buf *out, int64_t ms)
{
    int64_t seconds = ms / 1000, hours = seconds / 3600, minutes = seconds % 3600 / 60, rest = seconds % 60;
    int fraction = (int)(ms % 1000 < 0 ? -(ms % 1000) : ms % 1000);
    TL_TRY(tl_buf_append_str(out, "PT"));
    if (hours != 0)
        TL_TRY(tl_buf_appendf(out, "%lldH", (long long)hours));
    if (minutes != 0)
        TL_TRY(tl_buf_appendf(out, "%lldM", (long long)minutes));
    if (rest == 0 && fraction == 0)
        return hours == 0 && minutes == 0 ? tl_buf_append_str(out, "0S") : TL_OK;
    TL_TRY(tl_buf_appendf(out, "%s%lld", ms < 0 && rest == 0 ? "-" : "", (long long)rest));
    if (fraction != 0) {
        TL_TRY(tl_buf_appendf(out, ".%03d", fraction));
        while (out->data[out->len - 1] == '0')
            out->len--;
    }
    return tl_buf_append_str(out, "S");
}

static tl_status interval_text_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    const tl_vec *v = &k->args[0];
    if (v->col->phys != TL_PHYS_I32)
        return append_duration(&k->text, TL_VEC(v, int64_t, i));
    int32_t months = TL_VEC(v, int32_t, i);
    return months == 0 ? tl_buf_append_str(&k->text, "P0D") : tl_buf_appendf(&k->text, "P%dM", (int)months);
}

static tl_status interval_text_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, interval_text_row);
}

const tl_sql_function tl_fn_time_text[] = {
    {.name = "DATE_FORMAT", .args = "TS", .result = "S?", .kernel = date_format_kernel, FORMAT},
    {.name = "DATE_FORMAT", .args = "ZS", .result = "S?", .kernel = date_format_kernel, FORMAT},
    {.name = "DATE_FORMAT", .args = "SS", .result = "S?", .kernel = date_format_text_kernel, FORMAT},
    {.name = "FROM_UNIXTIME", .args = "L?S", .result = "S?", .kernel = from_unixtime_kernel, FORMAT},
    {.name = "CONVERT_TZ", .args = "SSS", .result = "S?", .kernel = convert_tz_kernel, .prepare = prepare_default, .release = release_format},
    {.name = "TO_DATE", .args = "S", .result = "d?", .kernel = to_date_kernel},
    {.name = "TO_DATE", .args = "SS", .result = "d?", .kernel = parse_kernel, FORMAT},
    {.name = "TO_TIMESTAMP", .args = "S", .result = "T3?", .kernel = to_timestamp_kernel},
    {.name = "TO_TIMESTAMP", .args = "SS", .result = "T3?", .kernel = parse_kernel, FORMAT},
    {.name = "TO_TIMESTAMP_LTZ", .args = "NI", .kernel = to_timestamp_ltz_kernel, .rule = to_timestamp_ltz_rule, .flags = TL_FN_CAN_FAIL},
    {.name = "UNIX_TIMESTAMP", .args = "S?S", .result = "L", .kernel = unix_timestamp_kernel, FORMAT},
    {.name = "$INTERVAL_TEXT", .args = "X", .result = "S", .kernel = interval_text_kernel},
    {.name = NULL},
};
