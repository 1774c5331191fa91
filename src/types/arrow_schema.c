/*
 * Arrow schemas: format strings to types and back.
 * Source: Arrow C data interface, "Data type description -- format strings".
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "types/arrow_private.h"

/* ---- export ---- */

typedef struct schema_private {
    char format[32];
    char *name;
} schema_private;

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        if (child != NULL && child->release != NULL)
            child->release(child);
        tl_free(child);
    }
    tl_free(schema->children);
    schema_private *own = schema->private_data;
    tl_free(own->name);
    tl_free(own);
    schema->release = NULL;
}

static void format_of(const tl_type *type, char *out, size_t size)
{
    static const char *const fixed[TL_TYPE_KIND_COUNT] = {
        [TL_BOOLEAN] = "b",   [TL_TINYINT] = "c",   [TL_SMALLINT] = "s", [TL_INT] = "i",      [TL_BIGINT] = "l",
        [TL_FLOAT] = "f",     [TL_DOUBLE] = "g",    [TL_CHAR] = "u",     [TL_VARCHAR] = "u",  [TL_BINARY] = "z",
        [TL_VARBINARY] = "z", [TL_BLOB] = "z",      [TL_DATE] = "tdD",   [TL_TIME] = "ttm",   [TL_ARRAY] = "+l",
        [TL_MAP] = "+m",      [TL_MULTISET] = "+m", [TL_ROW] = "+s",     [TL_VARIANT] = "+s",
    };
    if (type->kind == TL_DECIMAL)
        snprintf(out, size, "d:%d,%d", type->precision, type->scale);
    else if (type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ)
        snprintf(out, size, "ts%c:%s",
                 type->precision <= 3   ? 'm'
                 : type->precision <= 6 ? 'u'
                                        : 'n',
                 type->kind == TL_TIMESTAMP_LTZ ? "UTC" : "");
    else if (type->kind == TL_VECTOR)
        snprintf(out, size, "+w:%d", type->length);
    else
        snprintf(out, size, "%s", fixed[type->kind]);
}

/* A node without children yet; `n_children` slots are NULL. */
static tl_status schema_node(const char *format, const char *name, bool nullable, int32_t n_children, struct ArrowSchema *out,
                             tl_error *err)
{
    *out = (struct ArrowSchema){0};
    schema_private *own = tl_calloc(1, sizeof *own);
    char *name_copy = tl_strdup(name);
    struct ArrowSchema **children = tl_calloc((size_t)TL_MAX(n_children, 1), sizeof(struct ArrowSchema *));
    if (own == NULL || name_copy == NULL || children == NULL) {
        tl_free(own);
        tl_free(name_copy);
        tl_free(children);
        return tl_nomem(err, "Arrow schema");
    }
    own->name = name_copy;
    snprintf(own->format, sizeof own->format, "%s", format);
    out->format = own->format;
    out->name = own->name;
    out->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
    out->n_children = n_children;
    out->children = children;
    out->private_data = own;
    out->release = release_schema;
    return TL_OK;
}

static tl_status export_node(const tl_type *type, const char *name, bool nullable, struct ArrowSchema *out, tl_error *err);

static tl_status export_child(const tl_type *type, const char *name, bool nullable, struct ArrowSchema **slot, tl_error *err)
{
    struct ArrowSchema *child = tl_calloc(1, sizeof *child);
    if (child == NULL)
        return tl_nomem(err, "Arrow schema");
    *slot = child;
    return export_node(type, name, nullable, child, err);
}

/* A map is a list of structs called "entries", whose keys are never null. */
static tl_status export_entries(const tl_type *type, struct ArrowSchema **slot, tl_error *err)
{
    struct ArrowSchema *entries = tl_calloc(1, sizeof *entries);
    if (entries == NULL)
        return tl_nomem(err, "Arrow schema");
    *slot = entries;
    TL_TRY(schema_node("+s", "entries", false, 2, entries, err));
    TL_TRY(export_child(type->fields[0].type, "key", false, &entries->children[0], err));
    return export_child(type->fields[1].type, "value", type->fields[1].type->nullable, &entries->children[1], err);
}

static tl_status export_children(const tl_type *type, struct ArrowSchema *out, tl_error *err)
{
    if (type->kind == TL_MAP || type->kind == TL_MULTISET)
        return export_entries(type, &out->children[0], err);
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_field *field = &type->fields[i];
        TL_TRY(export_child(field->type, field->name, field->type->nullable, &out->children[i], err));
    }
    return TL_OK;
}

static tl_status export_node(const tl_type *type, const char *name, bool nullable, struct ArrowSchema *out, tl_error *err)
{
    char format[32];
    format_of(type, format, sizeof format);
    int32_t n_children = type->kind == TL_MAP || type->kind == TL_MULTISET ? 1 : type->n_fields;
    TL_TRY(schema_node(format, name, nullable, n_children, out, err));
    tl_status status = export_children(type, out, err);
    if (status != TL_OK)
        out->release(out);
    return status;
}

tl_status tl_arrow_export_schema(const tl_type *row_type, struct ArrowSchema *out, tl_error *err)
{
    struct ArrowSchema schema;
    TL_TRY(export_node(row_type, "", false, &schema, err));
    *out = schema;
    return TL_OK;
}

/* ---- format strings ---- */

/* Decimal number up to the end or `stop`; false if there is none or it is beyond int32. */
static bool take_int(const char **p, int32_t *out)
{
    char *end;
    if (!((**p >= '0' && **p <= '9') || **p == '-'))
        return false;
    long v = strtol(*p, &end, 10);
    if (v < INT32_MIN || v > INT32_MAX)
        return false;
    *p = end;
    *out = (int32_t)v;
    return true;
}

static bool parse_decimal(const char *p, tl_arrow_format *f)
{
    int32_t bits = 128;
    if (!take_int(&p, &f->precision) || *p++ != ',' || !take_int(&p, &f->scale))
        return false;
    if (*p == ',') {
        p++;
        if (!take_int(&p, &bits))
            return false;
    }
    f->kind = TL_ARROW_DECIMAL;
    f->bytes = bits / 8;
    return *p == '\0' && (bits == 32 || bits == 64 || bits == 128 || bits == 256);
}

static bool parse_unit(char unit, tl_arrow_format *f)
{
    f->per_second = unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : unit == 'n' ? 1000000000 : 0;
    return f->per_second != 0;
}

static bool parse_temporal(const char *p, tl_arrow_format *f)
{
    if (p[0] == 'd' && (p[1] == 'D' || p[1] == 'm') && p[2] == '\0') {
        f->kind = TL_ARROW_DATE;
        f->bytes = p[1] == 'D' ? 4 : 8;
        return true;
    }
    if (p[0] == 't' && parse_unit(p[1], f) && p[2] == '\0') {
        f->kind = TL_ARROW_TIME;
        f->bytes = f->per_second <= 1000 ? 4 : 8;
        return true;
    }
    if (p[0] == 's' && parse_unit(p[1], f) && p[2] == ':') {
        f->kind = TL_ARROW_TIMESTAMP;
        f->bytes = 8;
        f->has_zone = p[3] != '\0';
        return true;
    }
    return false;
}

static bool parse_nested(const char *p, tl_arrow_format *f)
{
    if (p[0] == 'w' && p[1] == ':') {
        f->kind = TL_ARROW_FIXED_LIST;
        p += 2;
        return take_int(&p, &f->bytes) && *p == '\0' && f->bytes >= 0;
    }
    f->kind = p[0] == 'l' ? TL_ARROW_LIST : p[0] == 'L' ? TL_ARROW_LARGE_LIST : p[0] == 'm' ? TL_ARROW_MAP : TL_ARROW_STRUCT;
    return (p[0] == 'l' || p[0] == 'L' || p[0] == 'm' || p[0] == 's') && p[1] == '\0';
}

static const struct short_format {
    const char *text;
    tl_arrow_format format;
} SHORT_FORMATS[] = {
    {"n", {.kind = TL_ARROW_NULL}},
    {"b", {.kind = TL_ARROW_BOOL}},
    {"c", {.kind = TL_ARROW_INT, .bytes = 1}},
    {"C", {.kind = TL_ARROW_INT, .bytes = 1, .is_unsigned = true}},
    {"s", {.kind = TL_ARROW_INT, .bytes = 2}},
    {"S", {.kind = TL_ARROW_INT, .bytes = 2, .is_unsigned = true}},
    {"i", {.kind = TL_ARROW_INT, .bytes = 4}},
    {"I", {.kind = TL_ARROW_INT, .bytes = 4, .is_unsigned = true}},
    {"l", {.kind = TL_ARROW_INT, .bytes = 8}},
    {"L", {.kind = TL_ARROW_INT, .bytes = 8, .is_unsigned = true}},
    {"f", {.kind = TL_ARROW_FLOAT, .bytes = 4}},
    {"g", {.kind = TL_ARROW_DOUBLE, .bytes = 8}},
    {"u", {.kind = TL_ARROW_BYTES, .is_text = true}},
    {"U", {.kind = TL_ARROW_LARGE_BYTES, .is_text = true}},
    {"vu", {.kind = TL_ARROW_VIEW, .is_text = true}},
    {"z", {.kind = TL_ARROW_BYTES}},
    {"Z", {.kind = TL_ARROW_LARGE_BYTES}},
    {"vz", {.kind = TL_ARROW_VIEW}},
};

tl_status tl_arrow__parse_format(const char *format, tl_arrow_format *out, tl_error *err)
{
    tl_arrow_format f = {0};
    bool ok = false;
    if (format == NULL)
        return tl_error_set(err, TL_E_INVALID, "Arrow schema without a format");
    for (size_t i = 0; i < TL_ARRAY_LEN(SHORT_FORMATS); i++) {
        if (strcmp(format, SHORT_FORMATS[i].text) == 0) {
            *out = SHORT_FORMATS[i].format;
            return TL_OK;
        }
    }
    if (format[0] == 'd' && format[1] == ':') {
        ok = parse_decimal(format + 2, &f);
    } else if (format[0] == 'w' && format[1] == ':') {
        const char *p = format + 2;
        f.kind = TL_ARROW_FIXED_BYTES;
        ok = take_int(&p, &f.bytes) && *p == '\0' && f.bytes >= 0;
    } else if (format[0] == 't') {
        ok = parse_temporal(format + 1, &f);
    } else if (format[0] == '+') {
        ok = parse_nested(format + 1, &f);
    }
    if (!ok)
        return tl_error_set(err, TL_E_UNSUPPORTED, "Arrow format '%.40s' has no counterpart here", format);
    *out = f;
    return TL_OK;
}

static int64_t wanted_children(tl_arrow_kind kind)
{
    bool list = kind == TL_ARROW_LIST || kind == TL_ARROW_LARGE_LIST || kind == TL_ARROW_FIXED_LIST || kind == TL_ARROW_MAP;
    return list ? 1 : 0;
}

tl_status tl_arrow__check_schema(const struct ArrowSchema *schema, tl_arrow_format *format, tl_error *err)
{
    if (schema == NULL || schema->release == NULL)
        return tl_error_set(err, TL_E_INVALID, "Arrow schema is missing or was released");
    TL_TRY(tl_arrow__parse_format(schema->format, format, err));
    if (schema->n_children < 0 || schema->n_children > TL_TYPE_FIELDS_MAX ||
        (format->kind != TL_ARROW_STRUCT && schema->n_children != wanted_children(format->kind)))
        return tl_error_set(err, TL_E_INVALID, "Arrow schema '%s' with %lld children", schema->format,
                            (long long)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children == NULL || schema->children[i] == NULL || schema->children[i]->release == NULL)
            return tl_error_set(err, TL_E_INVALID, "Arrow schema '%s': child %lld is missing", schema->format, (long long)i);
    return TL_OK;
}

/* ---- import ---- */

static tl_status import_node(const struct ArrowSchema *schema, int depth, const tl_type **out, tl_error *err);

/* Arrays are imported by name: a name that is there twice would give the first one's values for both. */
static tl_status check_names(const struct ArrowSchema *schema, tl_error *err)
{
    tl_map names = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < schema->n_children && status == TL_OK; i++) {
        const char *name = schema->children[i]->name == NULL ? "" : schema->children[i]->name;
        void *before = NULL;
        if (tl_map_put(&names, name, strlen(name), schema->children[i], &before) != TL_OK)
            status = tl_nomem(err, "Arrow schema");
        else if (before != NULL)
            status = tl_error_set(err, TL_E_INVALID, "Arrow schema with two fields '%.100s'", name);
    }
    tl_map_deinit(&names);
    return status;
}

static tl_status import_struct(const struct ArrowSchema *schema, bool nullable, int depth, const tl_type **out, tl_error *err)
{
    TL_TRY(check_names(schema, err));
    tl_field *fields = tl_calloc((size_t)TL_MAX(schema->n_children, 1), sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "Arrow schema");
    tl_status status = TL_OK;
    int32_t n = 0;
    for (; n < schema->n_children && status == TL_OK; n++) {
        const struct ArrowSchema *child = schema->children[n];
        fields[n].id = n;
        fields[n].name = (char *)(uintptr_t)(child->name == NULL ? "" : child->name);
        status = tl_error_wrap(err, import_node(child, depth + 1, &fields[n].type, err), "field '%.100s'", fields[n].name);
    }
    if (status == TL_OK)
        status = tl_type_create_row(nullable, fields, n, out, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    tl_free(fields);
    return status;
}

static tl_status import_map(const struct ArrowSchema *schema, bool nullable, int depth, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *key = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *value = NULL;
    tl_arrow_format format;
    const struct ArrowSchema *entries = schema->children[0];
    TL_TRY(tl_arrow__check_schema(entries, &format, err));
    if (format.kind != TL_ARROW_STRUCT || entries->n_children != 2)
        return tl_error_set(err, TL_E_INVALID, "Arrow map without a struct of key and value");
    TL_TRY(import_node(entries->children[0], depth + 1, &key, err));
    TL_TRY(import_node(entries->children[1], depth + 1, &value, err));
    return tl_type_create_map(nullable, key, value, out, err);
}

/* A list of fixed length, too: few of the formats of a table's files take a VECTOR, so it is up to whoever makes the table. */
static tl_status import_list(const struct ArrowSchema *schema, bool nullable, int depth, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *element = NULL;
    TL_TRY(import_node(schema->children[0], depth + 1, &element, err));
    return tl_type_create_array(nullable, element, out, err);
}

static tl_status import_int(const tl_arrow_format *f, bool nullable, const tl_type **out, tl_error *err)
{
    static const tl_type_kind by_bytes[] = {0, TL_TINYINT, TL_SMALLINT, 0, TL_INT, 0, 0, 0, TL_BIGINT};
    static const tl_type_kind wider[] = {0, TL_SMALLINT, TL_INT, 0, TL_BIGINT, 0, 0, 0, TL_DECIMAL};
    return tl_type_create((f->is_unsigned ? wider : by_bytes)[f->bytes], nullable, 20, 0, out, err);
}

static int32_t digits_of_unit(int64_t per_second)
{
    return per_second == 1 ? 0 : per_second == 1000 ? 3 : per_second == 1000000 ? 6 : 9;
}

static tl_status import_scalar(const tl_arrow_format *f, bool nullable, const tl_type **out, tl_error *err)
{
    switch (f->kind) {
    case TL_ARROW_BOOL:
        return tl_type_create(TL_BOOLEAN, nullable, 0, 0, out, err);
    case TL_ARROW_INT:
        return import_int(f, nullable, out, err);
    case TL_ARROW_FLOAT:
        return tl_type_create(TL_FLOAT, nullable, 0, 0, out, err);
    case TL_ARROW_DOUBLE:
        return tl_type_create(TL_DOUBLE, nullable, 0, 0, out, err);
    case TL_ARROW_DECIMAL:
        return tl_type_create(TL_DECIMAL, nullable, f->precision, f->scale, out, err);
    case TL_ARROW_FIXED_BYTES:
        return tl_type_create(TL_BINARY, nullable, TL_MAX(f->bytes, 1), 0, out, err);
    case TL_ARROW_BYTES:
    case TL_ARROW_LARGE_BYTES:
    case TL_ARROW_VIEW:
        return tl_type_create(f->is_text ? TL_VARCHAR : TL_VARBINARY, nullable, TL_LENGTH_MAX, 0, out, err);
    case TL_ARROW_DATE:
        return tl_type_create(TL_DATE, nullable, 0, 0, out, err);
    case TL_ARROW_TIME:
        return tl_type_create(TL_TIME, nullable, digits_of_unit(f->per_second), 0, out, err);
    case TL_ARROW_TIMESTAMP:
        return tl_type_create(f->has_zone ? TL_TIMESTAMP_LTZ : TL_TIMESTAMP, nullable, digits_of_unit(f->per_second), 0, out,
                              err);
    default:
        return tl_error_set(err, TL_E_UNSUPPORTED, "an Arrow column of nulls only has no type of its own");
    }
}

static tl_status import_node(const struct ArrowSchema *schema, int depth, const tl_type **out, tl_error *err)
{
    tl_arrow_format format;
    if (depth > TL_TYPE_DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "Arrow schema nested deeper than %d levels", TL_TYPE_DEPTH_MAX);
    TL_TRY(tl_arrow__check_schema(schema, &format, err));
    bool nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
    if (schema->dictionary != NULL) {
        if (schema->dictionary->dictionary != NULL)
            return tl_error_set(err, TL_E_INVALID, "Arrow dictionary of dictionaries");
        TL_CLEANUP(tl_type_unrefp) const tl_type *values = NULL;
        TL_TRY(import_node(schema->dictionary, depth + 1, &values, err));
        return tl_type_with_nullable(values, nullable, out, err);
    }
    switch (format.kind) {
    case TL_ARROW_STRUCT:
        return import_struct(schema, nullable, depth, out, err);
    case TL_ARROW_MAP:
        return import_map(schema, nullable, depth, out, err);
    case TL_ARROW_LIST:
    case TL_ARROW_LARGE_LIST:
    case TL_ARROW_FIXED_LIST:
        return import_list(schema, nullable, depth, out, err);
    default:
        return import_scalar(&format, nullable, out, err);
    }
}

tl_status tl_arrow_import_schema(const struct ArrowSchema *schema, const tl_type **out, tl_error *err)
{
    tl_arrow_format format;
    TL_TRY(tl_arrow__check_schema(schema, &format, err));
    if (format.kind != TL_ARROW_STRUCT || schema->dictionary != NULL)
        return tl_error_set(err, TL_E_INVALID, "Arrow schema of a table must be a struct, not '%s'", schema->format);
    return import_struct(schema, false, 1, out, err);
}
