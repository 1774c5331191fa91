/*
 * The rules of cast.h. Which pairs have one is tested against the reference's answers (tests/types/casts.jsonl).
 *
 * Where the reference surprises, this does as it does: TIMESTAMP to DATE rounds towards 1970 (case evolution-casts: its 1.4 reads
 * 1969-07-20 20:17 as 1969-07-21); text of digits alone is a day, a millisecond of day or an epoch in units of the precision;
 * binary to VARCHAR(n) and nested values to VARCHAR(n) are not cut. Not so where it gives what is no value: times before 1970 are
 * negative there, and a decimal that does not fit makes it fail; here it is NULL, as its cast meant it.
 */
#include "types/cast.h"

#include <math.h>

#include "types/convert.h"
#include "types/number.h"
#include "types/types_private.h"

#define MILLIS_PER_DAY INT64_C(86400000)
#define SHOWN_BYTES 120 /* of a bad value in a message */

/* ---- which casts there are ---- */

static bool is_text(const tl_type *type)
{
    return type->kind == TL_CHAR || type->kind == TL_VARCHAR;
}

static bool is_binary(const tl_type *type)
{
    return type->kind == TL_BINARY || type->kind == TL_VARBINARY;
}

static bool is_stamp(const tl_type *type)
{
    return type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ;
}

/* Width of an integer type; 0: it is none. */
static int int_width(const tl_type *type)
{
    switch (type->kind) {
    case TL_TINYINT:
        return 1;
    case TL_SMALLINT:
        return 2;
    case TL_INT:
        return 4;
    case TL_BIGINT:
        return 8;
    default:
        return 0;
    }
}

static bool is_number(const tl_type *type)
{
    return int_width(type) > 0 || type->kind == TL_FLOAT || type->kind == TL_DOUBLE || type->kind == TL_DECIMAL;
}

static bool is_time(const tl_type *type)
{
    return is_stamp(type) || type->kind == TL_DATE || type->kind == TL_TIME;
}

static bool exists_to_text(const tl_type *from, const tl_type *to)
{
    if (is_time(from)) /* the reference has a rule for the one type STRING */
        return to->kind == TL_VARCHAR && to->length == TL_LENGTH_MAX && to->nullable;
    return is_text(from) || is_binary(from) || is_number(from) || from->kind == TL_BOOLEAN || from->kind == TL_ARRAY ||
           from->kind == TL_MAP || from->kind == TL_ROW;
}

bool tl_cast_exists(const tl_type *from, const tl_type *to)
{
    if (tl_type_equal(from, to, /* with_nullable= */ false))
        return true;
    if (is_text(to))
        return exists_to_text(from, to);
    if (is_binary(to))
        return is_text(from) || is_binary(from);
    if (to->kind == TL_BOOLEAN)
        return is_text(from) || int_width(from) > 0;
    if (is_number(to))
        return is_text(from) || is_number(from) || from->kind == TL_BOOLEAN ||
               (is_stamp(from) && (to->kind == TL_INT || to->kind == TL_BIGINT));
    if (to->kind == TL_DATE || to->kind == TL_TIME)
        return is_text(from) || is_stamp(from);
    if (is_stamp(to))
        return is_text(from) || is_time(from) || from->kind == TL_INT || from->kind == TL_BIGINT;
    return false;
}

tl_cast_effect tl_cast_effect_of(const tl_type *from, const tl_type *to)
{
    if (tl_type_equal(from, to, /* with_nullable= */ false))
        return TL_CAST_NOTHING;
    if (int_width(from) > 0 && int_width(to) > int_width(from))
        return TL_CAST_WIDENS;
    bool same_bytes = false;
    /* Writers may store more than a type's length, as the reference lets them: what is cast to a length is cut to it all the same. */
    if ((to->kind == TL_VARCHAR && is_text(from)) || (to->kind == TL_VARBINARY && is_binary(from)))
        same_bytes = to->length == INT32_MAX;
    else if (from->kind == to->kind && is_stamp(from))
        same_bytes = tl_type_phys(from) == tl_type_phys(to) && (from->precision <= 3) == (to->precision <= 3) &&
                     from->precision <= to->precision;
    else if (from->kind == TL_DECIMAL && to->kind == TL_DECIMAL)
        same_bytes = tl_type_phys(from) == tl_type_phys(to) && from->scale == to->scale && from->precision <= to->precision;
    return same_bytes ? TL_CAST_NOTHING : TL_CAST_CHANGES;
}

/* ---- a cast under way ---- */

typedef struct cast {
    const tl_column *from;
    const tl_type *to;
    tl_column *out;
    uint8_t *validity; /* of the result; NULL: as from's */
    tl_buf text;       /* text results */
    tl_error *err;
} cast;

static tl_status bad_text(cast *c, tl_bytes_view v, const char *why)
{
    tl_buf name = {0};
    bool named = tl_type_format(c->to, &name) == TL_OK && tl_buf_append_byte(&name, 0) == TL_OK;
    tl_status status = tl_error_set(c->err, TL_E_INVALID, "'%.*s%s' cannot be read as %s%s%s", (int)TL_MIN(v.len, SHOWN_BYTES),
                                    (const char *)v.data, v.len > SHOWN_BYTES ? "…" : "", named ? (char *)name.data : "?",
                                    why != NULL ? ": " : "", why != NULL ? why : "");
    tl_buf_deinit(&name);
    return status;
}

/* ---- points in time ---- */

/* Cut as the reference cuts: not if the nanosecond of the second, written without leading zeros, is no longer than the precision. */
static void cut_timestamp(int64_t *millis, int32_t *nanos, int32_t precision)
{
    static const int32_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    int64_t milli_of_second = *millis % 1000;
    int64_t nano_of_second = (milli_of_second < 0 ? milli_of_second + 1000 : milli_of_second) * 1000000 + *nanos;
    int digits = 1;
    while (digits < 9 && nano_of_second >= tens[digits])
        digits++;
    if (digits <= precision)
        return;
    if (precision <= 3) {
        int32_t unit = tens[3 - precision];
        *millis = *millis / unit * unit;
        *nanos = 0;
    } else {
        int32_t unit = tens[9 - precision];
        *nanos = *nanos / unit * unit;
    }
}

/* What the layout holds of it: of millisecond columns no nanoseconds, of microsecond columns whole microseconds. */
static void put_timestamp(cast *c, int64_t i, int64_t millis, int32_t nanos)
{
    if (c->out->phys == TL_PHYS_TS96)
        ((tl_ts96 *)c->out->values)[i] = (tl_ts96){millis, nanos, 0};
    else if (c->to->precision <= 3)
        ((int64_t *)c->out->values)[i] = millis;
    else
        ((int64_t *)c->out->values)[i] = (int64_t)((uint64_t)millis * 1000 + (uint64_t)(nanos / 1000));
}

static tl_status stamps_to(cast *c)
{
    bool local = c->from->type->kind == TL_TIMESTAMP_LTZ, cut = c->from->type->precision > c->to->precision;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (tl_col_is_null(c->from, i))
            continue;
        int64_t millis;
        int32_t nanos;
        tl_convert_timestamp_at(c->from, i, &millis, &nanos);
        int64_t days = millis / MILLIS_PER_DAY, rest = millis % MILLIS_PER_DAY;
        if (rest < 0) {
            days -= local;
            rest += MILLIS_PER_DAY;
        }
        switch (c->to->kind) {
        case TL_DATE:
            ((int32_t *)c->out->values)[i] = (int32_t)days;
            break;
        case TL_TIME:
            ((int32_t *)c->out->values)[i] = (int32_t)rest;
            break;
        case TL_INT:
        case TL_BIGINT:
            tl_convert_put_integer(c->out, i, millis / 1000);
            break;
        default:
            if (cut)
                cut_timestamp(&millis, &nanos, c->to->precision);
            put_timestamp(c, i, millis, nanos);
            break;
        }
    }
    return TL_OK;
}

/* DATE, TIME, and INT and BIGINT as seconds, to a timestamp. */
static tl_status units_to_stamps(cast *c)
{
    tl_type_kind kind = c->from->type->kind;
    uint64_t unit = kind == TL_DATE ? MILLIS_PER_DAY : kind == TL_TIME ? 1 : 1000;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (!tl_col_is_null(c->from, i))
            put_timestamp(c, i, (int64_t)((uint64_t)tl_col_integer(c->from, i) * unit), 0);
    }
    return TL_OK;
}

/* ---- from text ---- */

static bool word_is(tl_bytes_view v, const char *word)
{
    size_t n = strlen(word), i = 0;
    while (i < n && i < v.len && (v.data[i] >= 'A' && v.data[i] <= 'Z' ? v.data[i] | 0x20 : v.data[i]) == (uint8_t)word[i])
        i++;
    return i == n && v.len == n;
}

static tl_status text_to_bool(cast *c, int64_t i, tl_bytes_view v)
{
    static const char *const yes[] = {"t", "true", "y", "yes", "1"}, *const no[] = {"f", "false", "n", "no", "0"};
    for (size_t k = 0; k < TL_ARRAY_LEN(yes); k++) {
        if (word_is(v, yes[k]) || word_is(v, no[k])) {
            ((uint8_t *)c->out->values)[i] = word_is(v, yes[k]);
            return TL_OK;
        }
    }
    return bad_text(c, v, NULL);
}

static tl_status text_to_int(cast *c, int64_t i, tl_bytes_view v)
{
    int64_t max = INT64_MAX >> (64 - 8 * int_width(c->to)), n = 0;
    const char *why = tl_convert_parse_int(v, -max - 1, max, &n);
    if (why != NULL)
        return bad_text(c, v, why);
    tl_convert_put_integer(c->out, i, n);
    return TL_OK;
}

static tl_status text_to_decimal(cast *c, int64_t i, tl_bytes_view v)
{
    tl_i128 d = 0;
    switch (tl_decimal__parse(v, c->to->precision, c->to->scale, &d)) {
    case TL_DECIMAL_FITS:
        tl_convert_put_decimal(c->out, i, d);
        return TL_OK;
    case TL_DECIMAL_OVERFLOW:
        return tl_convert_null(c->from, &c->validity, i, c->err);
    default:
        return bad_text(c, v, NULL);
    }
}

static tl_status text_to_float(cast *c, int64_t i, tl_bytes_view v)
{
    double d = 0;
    bool single = c->to->kind == TL_FLOAT;
    if (!tl_convert_parse_double(v, single, &d))
        return bad_text(c, v, NULL);
    if (single)
        ((float *)c->out->values)[i] = (float)d;
    else
        ((double *)c->out->values)[i] = d;
    return TL_OK;
}

/* An optional minus and digits. */
static bool is_numeric(tl_bytes_view v)
{
    size_t i = v.len > 1 && v.data[0] == '-';
    bool numeric = v.len > 0;
    for (; i < v.len && numeric; i++)
        numeric = v.data[i] >= '0' && v.data[i] <= '9';
    return numeric;
}

static tl_status text_to_days_or_time(cast *c, int64_t i, tl_bytes_view v)
{
    int64_t n = 0;
    int32_t days = 0;
    if (is_numeric(v)) {
        const char *why = tl_convert_parse_int(v, INT32_MIN, INT32_MAX, &n);
        if (why != NULL)
            return bad_text(c, v, why);
    } else if (c->to->kind == TL_DATE) {
        if (!tl_convert_parse_date(v, &days))
            return bad_text(c, v, NULL);
        n = days;
    } else if (!tl_convert_parse_time(v, &n)) {
        return bad_text(c, v, NULL);
    }
    ((int32_t *)c->out->values)[i] = (int32_t)n; /* a time beyond 24 hours is kept, as there */
    return TL_OK;
}

/* An epoch in units of the precision, which only 0, 3, 6 and 9 have. */
static tl_status epoch_to_stamp(cast *c, int64_t i, tl_bytes_view v)
{
    int64_t n = 0;
    const char *why = tl_convert_parse_int(v, INT64_MIN, INT64_MAX, &n);
    if (why != NULL)
        return bad_text(c, v, why);
    int32_t p = c->to->precision;
    if (p % 3 != 0)
        return bad_text(c, v, "numbers are times of precision 0, 3, 6 or 9 only");
    if (p <= 3) {
        put_timestamp(c, i, p == 0 ? (int64_t)((uint64_t)n * 1000) : n, 0);
        return TL_OK;
    }
    int64_t per_milli = p == 6 ? 1000 : 1000000, millis = n / per_milli, rest = n % per_milli;
    if (rest < 0) {
        millis--;
        rest += per_milli;
    }
    put_timestamp(c, i, millis, (int32_t)(rest * (1000000 / per_milli)));
    return TL_OK;
}

static tl_status text_to_stamp(cast *c, int64_t i, tl_bytes_view v)
{
    if (c->to->kind == TL_TIMESTAMP && is_numeric(v))
        return epoch_to_stamp(c, i, v);
    int64_t millis;
    int32_t nanos;
    if (!tl_convert_parse_timestamp(v, &millis, &nanos))
        return bad_text(c, v, NULL);
    /* Here the reference cuts the nanosecond of the second, downwards: unlike from one timestamp to another. */
    static const int32_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    int64_t second = millis / 1000 - (millis % 1000 < 0), unit = tens[9 - c->to->precision];
    int64_t nano = (millis - second * 1000) * 1000000 + nanos;
    nano = nano / unit * unit;
    put_timestamp(c, i, second * 1000 + nano / 1000000, (int32_t)(nano % 1000000));
    return TL_OK;
}

static tl_status from_text(cast *c)
{
    tl_status (*read)(cast *, int64_t, tl_bytes_view) = c->to->kind == TL_BOOLEAN                            ? text_to_bool
                                                        : int_width(c->to) > 0                               ? text_to_int
                                                        : c->to->kind == TL_DECIMAL                          ? text_to_decimal
                                                        : c->to->kind == TL_FLOAT || c->to->kind == TL_DOUBLE ? text_to_float
                                                        : is_stamp(c->to)                                    ? text_to_stamp
                                                                                                             : text_to_days_or_time;
    for (int64_t i = 0; i < c->from->length; i++) {
        if (!tl_col_is_null(c->from, i))
            TL_TRY(read(c, i, tl_col_bytes(c->from, i)));
    }
    return TL_OK;
}

/* ---- to text ---- */

static tl_status to_text(cast *c)
{
    const tl_type *from = c->from->type;
    bool fit = is_text(from) || is_number(from) || from->kind == TL_BOOLEAN;
    for (int64_t i = 0; i < c->from->length; i++) {
        size_t start = c->text.len;
        if (!tl_col_is_null(c->from, i)) {
            tl_status status = tl_text_append_cast(&c->text, c->from, i);
            if (status == TL_OK && fit)
                status = tl_convert_fit_length(&c->text, start, c->to);
            if (status != TL_OK)
                return tl_nomem(c->err, "cast");
        }
        if (c->text.len > INT32_MAX)
            return tl_error_set(c->err, TL_E_LIMIT, "cast: the texts of one batch have more than 2 GiB");
        c->out->offsets[i + 1] = (int32_t)c->text.len;
    }
    c->out->data = tl_buf_steal(&c->text).data;
    return TL_OK;
}

/* ---- all ---- */

tl_status tl_cast__no_rule(const tl_type *from, const tl_type *to, tl_error *err)
{
    tl_buf a = {0}, b = {0};
    bool named = tl_type_format(from, &a) == TL_OK && tl_type_format(to, &b) == TL_OK;
    tl_status status = tl_error_set(err, TL_E_UNSUPPORTED, "cannot cast from type %.*s to type %.*s", named ? (int)a.len : 1,
                                    named ? (char *)a.data : "?", named ? (int)b.len : 1, named ? (char *)b.data : "?");
    tl_buf_deinit(&a);
    tl_buf_deinit(&b);
    return status;
}

/* NaN and the infinities are no decimals, not even NULL. */
static tl_status check_finite(const tl_column *from, tl_error *err)
{
    for (int64_t i = 0; i < from->length; i++) {
        if (!isfinite(from->phys == TL_PHYS_F32 ? (double)tl_col_f32(from, i) : tl_col_f64(from, i)))
            return tl_error_set(err, TL_E_INVALID, "NaN and infinite numbers cannot be read as DECIMAL");
    }
    return TL_OK;
}

static tl_status run(cast *c)
{
    TL_TRY(tl_column_alloc(c->to, c->from->length, &c->out, c->err));
    if (is_text(c->to))
        return to_text(c);
    if (is_text(c->from->type))
        return from_text(c);
    return is_stamp(c->from->type) ? stamps_to(c) : units_to_stamps(c);
}

tl_status tl_cast_stored(const tl_column *from, const tl_type *to, tl_column **out, tl_error *err)
{
    if (!tl_cast_exists(from->type, to))
        return tl_cast__no_rule(from->type, to, err);
    if (tl_cast_effect_of(from->type, to) == TL_CAST_NOTHING || (is_binary(from->type) && is_text(to)))
        return tl_column_retype(from, to, out, err);
    if (from->null_count == from->length)
        return tl_column_nulls(to, from->length, out, err);
    bool number = is_number(from->type) || from->type->kind == TL_BOOLEAN;
    if (to->kind == TL_DECIMAL && (from->type->kind == TL_FLOAT || from->type->kind == TL_DOUBLE))
        TL_TRY(check_finite(from, err));
    if (number && (is_number(to) || to->kind == TL_BOOLEAN))
        return tl_convert_numbers(from, to, out, err);
    if (is_binary(to))
        return tl_convert_to_binary(from, to, out, err);
    cast c = {.from = from, .to = to, .err = err};
    tl_status status = run(&c);
    if (status == TL_OK)
        status = tl_convert_finish(from, &c.validity, c.out, err);
    tl_free(c.validity);
    tl_buf_deinit(&c.text);
    if (status != TL_OK) {
        tl_column_unref(c.out);
        return status;
    }
    *out = c.out;
    return TL_OK;
}
