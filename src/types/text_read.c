/*
 * Reading values from text: scalars from plain text, and the JSON form on top of it.
 */
#include "base/map.h"
#include "types/blob_descriptor.h"
#include "types/number.h"
#include "types/types_private.h"
#include "types/variant.h"

/* ---- errors ---- */

#define SHOWN_BYTES 120 /* of a bad value in a message */

static tl_status bad_value(tl_bytes_view text, const tl_type *type, tl_error *err)
{
    tl_buf name = {0};
    bool named = tl_type_format(type, &name) == TL_OK && tl_buf_append_byte(&name, 0) == TL_OK;
    tl_status status =
        tl_error_set(err, TL_E_INVALID, "'%.*s%s' is no value of type %s", (int)TL_MIN(text.len, SHOWN_BYTES),
                     (const char *)text.data, text.len > SHOWN_BYTES ? "…" : "", named ? (char *)name.data : "?");
    tl_buf_deinit(&name);
    return status;
}

/* ---- scalars from plain text ---- */

static bool text_in(tl_bytes_view text, const char *const *list)
{
    for (; *list != NULL; list++) {
        size_t n = strlen(*list);
        size_t k = 0;
        while (k < n && k < text.len && (text.data[k] | 0x20) == (*list)[k])
            k++;
        if (k == n && text.len == n)
            return true;
    }
    return false;
}

static tl_status read_bool(tl_bytes_view text, tl_builder *b)
{
    static const char *const yes[] = {"t", "true", "y", "yes", NULL};
    static const char *const no[] = {"f", "false", "n", "no", NULL};
    bool one = text.len == 1 && text.data[0] == '1', zero = text.len == 1 && text.data[0] == '0';
    if (one || text_in(text, yes))
        return tl_builder_bool(b, true);
    return zero || text_in(text, no) ? tl_builder_bool(b, false) : TL_E_INVALID;
}

static tl_status read_int(tl_bytes_view text, const tl_type *type, tl_builder *b)
{
    int64_t max = type->kind == TL_TINYINT    ? INT8_MAX
                  : type->kind == TL_SMALLINT ? INT16_MAX
                  : type->kind == TL_INT      ? INT32_MAX
                                              : INT64_MAX;
    int64_t v;
    return tl_text__parse_int(text, -max - 1, max, &v) ? tl_builder_int(b, v) : TL_E_INVALID;
}

static tl_status read_float(tl_bytes_view text, tl_builder *b)
{
    float v;
    return tl_text__parse_float(text, &v) ? tl_builder_f32(b, v) : TL_E_INVALID;
}

static tl_status read_double(tl_bytes_view text, tl_builder *b)
{
    double v;
    return tl_text__parse_double(text, &v) ? tl_builder_f64(b, v) : TL_E_INVALID;
}

static tl_status read_decimal(tl_bytes_view text, const tl_type *type, tl_builder *b)
{
    tl_i128 v = 0;
    switch (tl_decimal__parse(text, type->precision, type->scale, &v)) {
    case TL_DECIMAL_FITS:
        return tl_builder_i128(b, v);
    case TL_DECIMAL_OVERFLOW:
        return tl_builder_null(b);
    default:
        return TL_E_INVALID;
    }
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static tl_status read_hex(tl_bytes_view text, tl_builder *b)
{
    if (text.len % 2 != 0)
        return TL_E_INVALID;
    uint8_t small[256];
    uint8_t *bytes = text.len / 2 <= sizeof small ? small : tl_alloc(text.len / 2);
    if (bytes == NULL)
        return TL_E_NOMEM;
    int bad = 0;
    for (size_t i = 0; i < text.len / 2; i++) {
        int high = hex_digit(text.data[2 * i]), low = hex_digit(text.data[2 * i + 1]);
        bad |= high | low; /* negative if either is */
        bytes[i] = (uint8_t)((unsigned)high << 4 | (unsigned)low);
    }
    tl_status status = bad < 0 ? TL_E_INVALID : tl_builder_bytes(b, bytes, text.len / 2);
    if (bytes != small)
        tl_free(bytes);
    return status;
}

static tl_status read_date(tl_bytes_view text, tl_builder *b)
{
    int32_t days;
    return tl_parse_date(text, &days) ? tl_builder_int(b, days) : TL_E_INVALID;
}

static tl_status read_time(tl_bytes_view text, tl_builder *b)
{
    int32_t millis;
    return tl_parse_time(text, &millis) ? tl_builder_int(b, millis) : TL_E_INVALID;
}

static tl_status read_timestamp(tl_bytes_view text, tl_builder *b)
{
    int64_t millis;
    int32_t nanos;
    return tl_parse_timestamp(text, &millis, &nanos) ? tl_builder_timestamp(b, millis, nanos) : TL_E_INVALID;
}

/* Status only: the message is the caller's. Strict forms, as in JSON. */
static tl_status read_scalar(tl_bytes_view text, const tl_type *type, tl_builder *b)
{
    switch (type->kind) {
    case TL_BOOLEAN:
        return read_bool(text, b);
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
        return read_int(text, type, b);
    case TL_FLOAT:
        return read_float(text, b);
    case TL_DOUBLE:
        return read_double(text, b);
    case TL_DECIMAL:
        return read_decimal(text, type, b);
    case TL_CHAR:
    case TL_VARCHAR:
        return tl_builder_bytes(b, text.data, text.len);
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return read_hex(text, b);
    case TL_DATE:
        return read_date(text, b);
    case TL_TIME:
        return read_time(text, b);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return read_timestamp(text, b);
    default:
        return TL_E_UNSUPPORTED;
    }
}

static tl_status report(tl_status status, tl_bytes_view text, const tl_type *type, const tl_builder *b, tl_error *err)
{
    if (TL_LIKELY(status == TL_OK))
        return TL_OK;
    if (status == TL_E_INVALID)
        return bad_value(text, type, err);
    return tl_builder_error(b, status, err);
}

/* Digits alone mean the internal number of a DATE or TIME, or an epoch in units of a timestamp's precision. */
static tl_status read_epoch(int64_t v, const tl_type *type, tl_builder *b)
{
    static const int64_t units_per_milli[] = {0, 0, 0, 1, 0, 0, 1000, 0, 0, 1000000};
    if (type->kind == TL_DATE || type->kind == TL_TIME)
        return v > INT32_MAX ? TL_E_INVALID : tl_builder_int(b, v);
    if (type->precision == 0)
        return v > INT64_MAX / 1000 ? TL_E_INVALID : tl_builder_timestamp(b, v * 1000, 0);
    int64_t unit = units_per_milli[type->precision];
    if (unit == 0)
        return TL_E_INVALID;
    return tl_builder_timestamp(b, v / unit, (int32_t)(v % unit * (1000000 / unit)));
}

static bool is_temporal(tl_type_kind kind)
{
    return kind == TL_DATE || kind == TL_TIME || kind == TL_TIMESTAMP || kind == TL_TIMESTAMP_LTZ;
}

static tl_status read_plain_scalar(tl_bytes_view text, const tl_type *type, tl_builder *b)
{
    int64_t epoch;
    bool digits = is_temporal(type->kind) && text.len > 0 && text.data[0] != '-' && text.data[0] != '+' &&
                  tl_text__parse_int(text, 0, INT64_MAX, &epoch);
    if (digits)
        return read_epoch(epoch, type, b);
    const uint8_t *blank = type->kind == TL_DATE && text.len > 0 ? memchr(text.data, ' ', text.len) : NULL;
    if (blank != NULL) /* a timestamp's date */
        text.len = (size_t)(blank - text.data);
    return read_scalar(text, type, b);
}

/* JSON of any kind, as its two binary parts. */
static tl_status read_variant(tl_bytes_view json, tl_builder *b, tl_error *err)
{
    tl_buf value = {0}, metadata = {0};
    tl_status status = tl_error_wrap(err, tl_variant_from_json(json, &value, &metadata, err), "VARIANT");
    if (status == TL_OK) {
        status = tl_builder_bytes(tl_builder_child(b, 0), value.data, value.len);
        if (status == TL_OK)
            status = tl_builder_bytes(tl_builder_child(b, 1), metadata.data, metadata.len);
        if (status == TL_OK)
            status = tl_builder_end(b);
        status = tl_builder_error(b, status, err);
    }
    tl_buf_deinit(&value);
    tl_buf_deinit(&metadata);
    return status;
}

tl_status tl_text_read_plain(tl_bytes_view text, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (type->kind == TL_VARIANT)
        return read_variant(text, builder, err);
    tl_phys phys = tl_type_phys(type);
    if (phys != TL_PHYS_LIST && phys != TL_PHYS_MAP && phys != TL_PHYS_ROW)
        return report(read_plain_scalar(text, type, builder), text, type, builder, err);
    tl_arena arena = {0};
    const tl_json *json = NULL;
    tl_status status = tl_json_parse(&arena, text, &json, err);
    if (status == TL_OK)
        status = tl_text_read_json(json, type, builder, err);
    else
        (void)tl_error_wrap(err, status, "nested value");
    tl_arena_deinit(&arena);
    return status;
}

/* ---- JSON ---- */

static tl_status read_list(const tl_json *json, const tl_type *type, tl_builder *b, tl_error *err)
{
    if (json->kind != TL_JSON_ARRAY)
        return bad_value(json->raw, type, err);
    for (const tl_json *e = json->child; e != NULL; e = e->next)
        TL_TRY(tl_text_read_json(e, type->fields[0].type, tl_builder_child(b, 0), err));
    return tl_builder_error(b, tl_builder_end(b), err);
}

static tl_bytes_view json_text(const tl_json *key)
{
    return key->kind == TL_JSON_STRING || key->kind == TL_JSON_NUMBER ? key->text : key->raw;
}

/* Key and value of one entry: `[key, value]`, or a member of an object (key == NULL). */
static const tl_json *entry_value(const tl_json *map, const tl_json *entry)
{
    return map->kind == TL_JSON_OBJECT ? entry : entry->child->next;
}

static tl_status append_entry(const tl_json *map, const tl_json *entry, const tl_type *type, tl_builder *b, tl_error *err)
{
    if (map->kind == TL_JSON_OBJECT)
        TL_TRY(tl_text_read_plain(entry->key, type->fields[0].type, tl_builder_child(b, 0), err));
    else
        TL_TRY(tl_text_read_json(entry->child, type->fields[0].type, tl_builder_child(b, 0), err));
    return tl_text_read_json(entry_value(map, entry), type->fields[1].type, tl_builder_child(b, 1), err);
}

/* Entries in order; of equal keys the last value, at the place of the first, as in Java's LinkedHashMap. */
static tl_status read_entries(const tl_json *json, const tl_type *type, tl_builder *b, tl_map *last, tl_error *err)
{
    for (const tl_json *e = json->child; e != NULL; e = e->next) {
        if (json->kind == TL_JSON_ARRAY && (e->kind != TL_JSON_ARRAY || e->n_children != 2))
            return bad_value(e->raw, type, err);
        tl_bytes_view key = json->kind == TL_JSON_OBJECT ? e->key : json_text(e->child);
        if (json->n_children > 1 && tl_map_put(last, key.data, key.len, (void *)(uintptr_t)e, NULL) != TL_OK)
            return tl_nomem(err, "map");
    }
    for (const tl_json *e = json->child; e != NULL; e = e->next) {
        tl_bytes_view key = json->kind == TL_JSON_OBJECT ? e->key : json_text(e->child);
        const tl_json *entry = json->n_children > 1 ? tl_map_remove(last, key.data, key.len) : e;
        if (entry != NULL)
            TL_TRY(append_entry(json, entry, type, b, err));
    }
    return TL_OK;
}

static tl_status read_map(const tl_json *json, const tl_type *type, tl_builder *b, tl_error *err)
{
    if (json->kind != TL_JSON_ARRAY && json->kind != TL_JSON_OBJECT)
        return bad_value(json->raw, type, err);
    tl_map last = {0};
    tl_status status = read_entries(json, type, b, &last, err);
    tl_map_deinit(&last);
    TL_TRY(status);
    return tl_builder_error(b, tl_builder_end(b), err);
}

/* Whether the members are exactly the fields in their order: then none has to be searched for. */
static bool members_in_order(const tl_json *json, const tl_type *type)
{
    if (json->n_children != type->n_fields)
        return false;
    const tl_json *member = json->child;
    for (int32_t c = 0; c < type->n_fields; c++, member = member->next) {
        size_t len = strlen(type->fields[c].name);
        if (member->key.len != len || (len > 0 && memcmp(member->key.data, type->fields[c].name, len) != 0))
            return false;
    }
    return true;
}

static tl_status read_row(const tl_json *json, const tl_type *type, tl_builder *b, tl_error *err)
{
    if (json->kind != TL_JSON_OBJECT)
        return bad_value(json->raw, type, err);
    bool in_order = members_in_order(json, type);
    const tl_json *member = json->child;
    for (int32_t c = 0; c < type->n_fields; c++) {
        const tl_field *field = &type->fields[c];
        const tl_json *value = in_order ? member : tl_json_get(json, field->name);
        tl_status status = tl_text_read_json(value, field->type, tl_builder_child(b, c), err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "field '%s'", field->name);
        member = in_order ? member->next : NULL;
    }
    return tl_builder_error(b, tl_builder_end(b), err);
}

/* Strings may hold any scalar; a string column takes the text of anything. */
static bool json_kind_fits(tl_json_kind kind, const tl_type *type)
{
    if (kind == TL_JSON_STRING || type->kind == TL_CHAR || type->kind == TL_VARCHAR)
        return true;
    if (type->kind == TL_BOOLEAN)
        return kind == TL_JSON_TRUE || kind == TL_JSON_FALSE;
    return kind == TL_JSON_NUMBER && tl_type_phys(type) != TL_PHYS_BYTES;
}

static bool is_key(const tl_json *member, const char *name)
{
    return tl_bytes_equal(member->key, (tl_bytes_view){(const uint8_t *)name, strlen(name)});
}

/* A BLOB as a descriptor of bytes elsewhere: {"uri": "file:/…", "offset": 0, "length": 10}; without offset and length, the whole file. */
static tl_status read_descriptor(const tl_json *json, tl_builder *b, tl_error *err)
{
    tl_blob_descriptor d = {.length = TL_BLOB_TO_END};
    tl_buf bytes = {0};
    bool known = true;
    for (const tl_json *m = json->child; m != NULL && known; m = m->next) {
        if (is_key(m, "uri") && m->kind == TL_JSON_STRING)
            d.uri = m->text;
        else if (is_key(m, "offset"))
            known = tl_json_int64(m, &d.offset);
        else if (is_key(m, "length"))
            known = tl_json_int64(m, &d.length);
        else
            known = false;
    }
    if (!known || d.uri.len == 0 || d.uri.len > TL_BLOB_URI_MAX || d.offset < 0 || d.length < TL_BLOB_TO_END)
        return tl_error_set(err, TL_E_INVALID, "no descriptor of a blob: expected {\"uri\": \"file:/…\", \"offset\": 0, \"length\": 10}, not '%.*s'",
                            (int)TL_MIN(json->raw.len, 200), (const char *)json->raw.data);
    tl_status status = tl_blob_descriptor_append(&d, &bytes) == TL_OK ? TL_OK : tl_nomem(err, "text");
    if (status == TL_OK)
        status = tl_builder_error(b, tl_builder_bytes(b, bytes.data, bytes.len), err);
    tl_buf_deinit(&bytes);
    return status;
}

tl_status tl_text_read_json(const tl_json *json, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (tl_json_is_null(json))
        return tl_builder_error(builder, tl_builder_null(builder), err);
    switch (type->kind) {
    case TL_ARRAY:
    case TL_VECTOR:
        return read_list(json, type, builder, err);
    case TL_MAP:
    case TL_MULTISET:
        return read_map(json, type, builder, err);
    case TL_ROW:
        return read_row(json, type, builder, err);
    case TL_VARIANT: /* its JSON in a string, or as it stands */
        return read_variant(json->kind == TL_JSON_STRING ? json->text : json->raw, builder, err);
    case TL_BLOB:
        if (json->kind == TL_JSON_OBJECT)
            return read_descriptor(json, builder, err);
        break;
    default:
        break;
    }
    tl_bytes_view text = json_text(json);
    return json_kind_fits(json->kind, type) ? report(read_scalar(text, type, builder), text, type, builder, err)
                                            : bad_value(text, type, err);
}
