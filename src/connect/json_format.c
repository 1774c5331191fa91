/*
 * JSON values by the rules of Flink's json format. Sources: Flink: JsonToRowDataConverters, JsonParserToRowDataConverters.
 * Where it surprises: INT and BIGINT take numbers with a fraction and cut it; text for a number is parsed; any value becomes text for STRING,
 * objects and arrays printed anew; a DECIMAL is rounded half up and NULL if it does not fit; BYTES are base64; a TIME has whole seconds,
 * whatever its precision. What stands behind the object in its line is not looked at. With ignore-parse-errors a value that cannot be
 * read is NULL, and a line that is no object is left out.
 */
#include <stdlib.h>
#include <strings.h>

#include "base/parse.h"
#include "connect/connect_private.h"
#include "types/convert.h"
#include "types/java_hash.h"
#include "types/json_print.h"

typedef struct json_decoder {
    tl_decoder base;
    tl_json_rules rules;
    const tl_type *type;
    tl_arena arena; /* of one record */
} json_decoder;

const char *tl_connect__option(const tl_options *options, const char *prefix, const char *key)
{
    char full[128];
    snprintf(full, sizeof full, "%s.%s", prefix, key);
    return tl_options_get(options, full);
}

tl_status tl_connect__bool_option(const tl_options *options, const char *prefix, const char *key, bool fallback, bool *out, tl_error *err)
{
    const char *text = tl_connect__option(options, prefix, key);
    *out = fallback;
    return text == NULL ? TL_OK : tl_error_wrap(err, tl_parse_bool(text, out, err), "option '%s.%s'", prefix, key);
}

tl_status tl_connect__json_rules(const tl_options *options, const char *prefix, tl_json_rules *out, tl_error *err)
{
    TL_TRY(tl_connect__bool_option(options, prefix, "fail-on-missing-field", false, &out->fail_on_missing_field, err));
    TL_TRY(tl_connect__bool_option(options, prefix, "ignore-parse-errors", false, &out->ignore_parse_errors, err));
    if (out->fail_on_missing_field && out->ignore_parse_errors)
        return tl_error_set(err, TL_E_INVALID, "options '%s.fail-on-missing-field' and '%s.ignore-parse-errors' cannot both be true", prefix, prefix);
    const char *standard = tl_connect__option(options, prefix, "timestamp-format.standard");
    out->time = TL_TIME_SQL;
    if (standard != NULL && strcmp(standard, "ISO-8601") == 0)
        out->time = TL_TIME_ISO;
    else if (standard != NULL && strcmp(standard, "SQL") != 0)
        return tl_error_set(err, TL_E_INVALID, "option '%s.timestamp-format.standard' is '%s', not SQL or ISO-8601", prefix, standard);
    return TL_OK;
}

static tl_bytes_view trimmed(tl_bytes_view text)
{
    while (text.len > 0 && text.data[0] <= ' ') {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && text.data[text.len - 1] <= ' ')
        text.len--;
    return text;
}

static tl_status bad_value(const tl_json *json, const tl_type *type, tl_error *err)
{
    tl_buf name = {0};
    (void)tl_type_format(type, &name); /* an empty name if out of memory */
    tl_status status = tl_error_set(err, TL_E_INVALID, "cannot read %.*s as %.*s", (int)TL_MIN(json->raw.len, (size_t)200), (const char *)json->raw.data,
                                    (int)name.len, (const char *)name.data);
    tl_buf_deinit(&name);
    return status;
}

/* Text of a scalar, as Jackson's asText() gives it. */
static tl_bytes_view scalar_text(const tl_json *json)
{
    return json->kind == TL_JSON_STRING || json->kind == TL_JSON_NUMBER ? json->text : json->raw;
}

static bool to_int64(tl_bytes_view text, int64_t *out)
{
    tl_json number = {.kind = TL_JSON_NUMBER, .text = text};
    size_t sign = text.len > 0 && (text.data[0] == '-' || text.data[0] == '+');
    if (text.len == sign)
        return false;
    if (text.data[0] == '+')
        number.text = (tl_bytes_view){text.data + 1, text.len - 1};
    return tl_json_int64(&number, out);
}

static tl_status whole_number(const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    static const int64_t max[] = {[TL_TINYINT] = INT8_MAX, [TL_SMALLINT] = INT16_MAX, [TL_INT] = INT32_MAX, [TL_BIGINT] = INT64_MAX};
    int64_t v;
    if (!to_int64(trimmed(scalar_text(json)), &v)) {
        double d;
        bool cuts = json->kind == TL_JSON_NUMBER && (type->kind == TL_INT || type->kind == TL_BIGINT);
        if (!cuts || !tl_convert_parse_double(json->text, false, &d) || !(d > -9.3e18 && d < 9.3e18))
            return bad_value(json, type, err);
        v = (int64_t)d;
    }
    if (v > max[type->kind] || v < -max[type->kind] - 1)
        return bad_value(json, type, err);
    return tl_builder_int(builder, v);
}

static int base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Whole groups of four digits, the last one filled up with '='; white space between groups is left out. */
static tl_status base64(const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    TL_CLEANUP(tl_buf_deinit) tl_buf bytes = {0};
    uint32_t bits = 0;
    int n = 0, filled = 0; /* digits of the group, '=' among them */
    if (json->kind != TL_JSON_STRING)
        return bad_value(json, type, err);
    for (size_t i = 0; i < json->text.len; i++) {
        uint8_t c = json->text.data[i];
        int digit = base64_digit(c);
        if (n == 0 && c <= ' ')
            continue;
        filled += c == '=' && n >= 2;
        if ((digit < 0 || filled > 0) && !(c == '=' && n >= 2))
            return bad_value(json, type, err);
        bits = bits << 6 | (uint32_t)(digit < 0 ? 0 : digit);
        if (++n < 4)
            continue;
        const uint8_t three[] = {(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
        if (tl_buf_append(&bytes, three, (size_t)(3 - filled)) != TL_OK)
            return tl_nomem(err, "bytes");
        n = 0;
        bits = 0;
    }
    return n == 0 ? tl_builder_bytes(builder, bytes.data, bytes.len) : bad_value(json, type, err);
}

bool tl_connect__has_form(tl_bytes_view text, const char *pattern, bool fraction)
{
    size_t n = strlen(pattern);
    for (size_t i = 0; i < n; i++)
        if (i >= text.len || (pattern[i] == 'd' ? text.data[i] < '0' || text.data[i] > '9' : text.data[i] != pattern[i]))
            return false;
    if (!fraction || text.len == n)
        return text.len == n;
    bool good = text.data[n] == '.' && text.len <= n + 10;
    for (size_t i = n + 1; i < text.len && good; i++)
        good = text.data[i] >= '0' && text.data[i] <= '9';
    return good;
}

/* SQL: "2024-01-01 12:00:00[.fff]", local zone with a final Z; ISO: a T between, seconds may be missing. */
static tl_status timestamp(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_bytes_view text = scalar_text(json);
    bool has_zone = text.len > 0 && text.data[text.len - 1] == 'Z';
    int64_t millis;
    int32_t nanos;
    text.len -= has_zone;
    bool good = rules->time == TL_TIME_SQL ? tl_connect__has_form(text, "dddd-dd-dd dd:dd:dd", true)
                                           : tl_connect__has_form(text, "dddd-dd-ddTdd:dd:dd", true) || tl_connect__has_form(text, "dddd-dd-ddTdd:dd", false);
    if (!good || has_zone != (type->kind == TL_TIMESTAMP_LTZ) || !tl_parse_timestamp(text, &millis, &nanos))
        return bad_value(json, type, err);
    return tl_builder_timestamp(builder, millis, nanos);
}

static tl_status decimal(const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_bytes_view text = trimmed(scalar_text(json));
    tl_i128 v;
    if (tl_decimal_parse(text, type->precision, type->scale, &v))
        return tl_builder_i128(builder, v);
    double d; /* a number, but too large: NULL */
    return tl_convert_parse_double(text, false, &d) ? tl_builder_null(builder) : bad_value(json, type, err);
}

/* A text as it is, numbers by their digits; objects and arrays are printed as Jackson prints them. */
static tl_status text_value(const tl_json_rules *rules, const tl_json *json, tl_builder *builder, tl_error *err)
{
    tl_bytes_view text = scalar_text(json);
    if (json->kind != TL_JSON_OBJECT && json->kind != TL_JSON_ARRAY)
        return tl_builder_bytes(builder, text.data, text.len);
    TL_CLEANUP(tl_buf_deinit) tl_buf printed = {0};
    tl_status status = tl_json_print(&printed, json, rules->arena, err);
    return status == TL_OK ? tl_builder_bytes(builder, printed.data, printed.len) : status == TL_E_NOMEM ? tl_nomem(err, "text") : status;
}

static tl_status scalar(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_bytes_view text = scalar_text(json);
    double d;
    int32_t v;
    switch (type->kind) {
    case TL_BOOLEAN: {
        tl_bytes_view word = trimmed(text);
        return tl_builder_bool(builder, word.len == 4 && strncasecmp((const char *)word.data, "true", 4) == 0);
    }
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return whole_number(json, type, builder, err);
    case TL_FLOAT:
        return tl_convert_parse_double(text, json->kind != TL_JSON_NUMBER, &d) ? tl_builder_f32(builder, (float)d) : bad_value(json, type, err);
    case TL_DOUBLE:
        return tl_convert_parse_double(text, false, &d) ? tl_builder_f64(builder, d) : bad_value(json, type, err);
    case TL_DECIMAL:
        return decimal(json, type, builder, err);
    case TL_CHAR:
    case TL_VARCHAR:
        return text_value(rules, json, builder, err);
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return base64(json, type, builder, err);
    case TL_DATE:
        return tl_connect__has_form(text, "dddd-dd-dd", false) && tl_parse_date(text, &v) ? tl_builder_int(builder, v) : bad_value(json, type, err);
    case TL_TIME:
        return tl_connect__has_form(text, "dd:dd:dd", true) && tl_parse_time(text, &v) ? tl_builder_int(builder, v / 1000 * 1000) : bad_value(json, type, err);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return timestamp(rules, json, type, builder, err);
    default:
        return bad_value(json, type, err);
    }
}

static tl_status array_value(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (json->kind != TL_JSON_ARRAY)
        return bad_value(json, type, err);
    for (const tl_json *child = json->child; child != NULL; child = child->next)
        TL_TRY(tl_connect__json_value(rules, child, type->fields[0].type, tl_builder_child(builder, 0), err));
    return tl_builder_end(builder);
}

static tl_status map_entry(const tl_json_rules *rules, const tl_json *child, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_json key = {.kind = TL_JSON_STRING, .text = child->key, .raw = child->key};
    TL_TRY(tl_connect__json_value(rules, &key, type->fields[0].type, tl_builder_child(builder, 0), err));
    return tl_connect__json_value(rules, child, type->fields[1].type, tl_builder_child(builder, 1), err);
}

/** The entries in the order of the hash table that the reference makes of them: functions show it. */
static tl_status map_entries(const tl_json_rules *rules, const tl_json *json, uint32_t n, const tl_type *type, tl_builder *builder, tl_error *err)
{
    const tl_json **children = tl_alloc(n * sizeof *children);
    int32_t *hashes = tl_alloc(n * sizeof *hashes);
    uint32_t *order = tl_alloc(n * sizeof *order), k = 0;
    tl_status status = children != NULL && hashes != NULL && order != NULL ? TL_OK : tl_nomem(err, "map");
    for (const tl_json *child = json->child; status == TL_OK && child != NULL; child = child->next, k++) {
        children[k] = child;
        hashes[k] = tl_java_hash_string(child->key);
    }
    if (status == TL_OK)
        status = tl_java_order(hashes, n, TL_JAVA_PUT, order, err);
    for (uint32_t i = 0; status == TL_OK && i < n; i++)
        status = map_entry(rules, children[order[i]], type, builder, err);
    tl_free(children);
    tl_free(hashes);
    tl_free(order);
    return status;
}

static tl_status map_value(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (json->kind != TL_JSON_OBJECT)
        return bad_value(json, type, err);
    uint32_t n = 0;
    for (const tl_json *child = json->child; child != NULL; child = child->next)
        n++;
    if (n > 1)
        TL_TRY(map_entries(rules, json, n, type, builder, err));
    else if (n == 1)
        TL_TRY(map_entry(rules, json->child, type, builder, err));
    return tl_builder_end(builder);
}

static tl_status row_value(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (json->kind != TL_JSON_OBJECT)
        return bad_value(json, type, err);
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_json *value = tl_json_get(json, type->fields[i].name);
        if (value == NULL && rules->fail_on_missing_field)
            return tl_error_set(err, TL_E_INVALID, "field '%s' is missing", type->fields[i].name);
        TL_TRY(tl_connect__json_value(rules, value, type->fields[i].type, tl_builder_child(builder, i), err));
    }
    return tl_builder_end(builder);
}

static tl_status any_value(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    switch (type->kind) {
    case TL_ARRAY:
    case TL_VECTOR:
        return array_value(rules, json, type, builder, err);
    case TL_MAP:
    case TL_MULTISET:
        return map_value(rules, json, type, builder, err);
    case TL_ROW:
        return row_value(rules, json, type, builder, err);
    default:
        return scalar(rules, json, type, builder, err);
    }
}

tl_status tl_connect__json_value(const tl_json_rules *rules, const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (tl_json_is_null(json))
        return tl_builder_null(builder);
    int64_t length = tl_builder_length(builder);
    tl_status status = any_value(rules, json, type, builder, err);
    if (status != TL_E_INVALID || !rules->ignore_parse_errors)
        return status;
    tl_builder_truncate(builder, length); /* elements of a value that was begun */
    return tl_builder_null(builder);
}

/* Members usually come in the order of the columns: look behind the last hit first. */
static const tl_json *member(const tl_json *object, const tl_json **hint, const char *name)
{
    size_t len = strlen(name);
    const tl_json *next = *hint;
    if (next == NULL || next->key.len != len || memcmp(next->key.data, name, len) != 0)
        next = tl_json_get(object, name);
    if (next != NULL)
        *hint = next->next;
    return next;
}

tl_status tl_connect__json_row(const tl_json_rules *rules, const tl_json *object, const tl_json *fallback, const tl_type *type, tl_row_buffer *rows,
                               tl_error *err)
{
    if (object->kind != TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_INVALID, "an object is expected, not %.*s", (int)TL_MIN(object->raw.len, (size_t)200), (const char *)object->raw.data);
    const tl_json *hint = object->child;
    for (int32_t c = 0; c < type->n_fields; c++) {
        const tl_json *value = member(object, &hint, type->fields[c].name);
        if (value == NULL && fallback != NULL)
            value = tl_json_get(fallback, type->fields[c].name);
        if (value == NULL && rules->fail_on_missing_field)
            return tl_error_set(err, TL_E_INVALID, "column '%s' is missing", type->fields[c].name);
        TL_TRY(tl_error_wrap(err, tl_connect__json_value(rules, value, type->fields[c].type, rows->builders[c], err), "column '%s'",
                             type->fields[c].name));
    }
    return TL_OK;
}

static tl_status json_decode(tl_decoder *decoder, tl_bytes_view record, tl_row_buffer *rows, tl_error *err)
{
    json_decoder *d = (json_decoder *)decoder;
    if (record.len == 0)
        return TL_OK;
    tl_arena_reset(&d->arena);
    const tl_json *json;
    tl_status status = tl_json_parse_record(&d->arena, record, &json, err);
    if (status == TL_OK && json->kind != TL_JSON_OBJECT)
        status = tl_error_set(err, TL_E_INVALID, "an object is expected");
    if (status != TL_OK)
        return status != TL_E_NOMEM && d->rules.ignore_parse_errors ? TL_OK : status; /* the row is left out */
    status = tl_connect__json_row(&d->rules, json, NULL, d->type, rows, err);
    if (status != TL_OK)
        return status != TL_E_NOMEM && d->rules.ignore_parse_errors ? tl_connect__rows_rewind(rows, err) : status;
    return tl_connect__rows_end(rows, TL_KIND_INSERT, err);
}

static void json_free(tl_decoder *decoder)
{
    tl_arena_deinit(&((json_decoder *)decoder)->arena);
    tl_free(decoder);
}

tl_status tl_connect__json_decoder(const tl_connector_spec *spec, tl_decoder **out, tl_error *err)
{
    static const tl_decoder_ops ops = {json_decode, json_free};
    json_decoder *d = tl_calloc(1, sizeof *d);
    if (d == NULL)
        return tl_nomem(err, "decoder");
    d->base.ops = &ops;
    d->base.skips_mark = true;
    d->type = spec->row_type;
    d->rules.arena = &d->arena;
    tl_status status = tl_connect__json_rules(spec->options, "json", &d->rules, err);
    if (status != TL_OK) {
        tl_free(d);
        return status;
    }
    *out = &d->base;
    return TL_OK;
}
