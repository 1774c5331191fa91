/*
 * Types as text and JSON, byte for byte as the reference prints them (Java: asSQLString(), serializeJson()).
 *
 * Text: `KIND[(a[, b])] [NOT NULL]`, nested ones with angle brackets. JSON: a scalar is that text; nested types are objects
 * {"type":"ARRAY[ NOT NULL]","element":T} and so on. Source: format reference §2.
 */
#include <stdio.h>

#include "types/type.h"

static const char *const KIND_NAMES[TL_TYPE_KIND_COUNT] = {
    [TL_BOOLEAN] = "BOOLEAN", [TL_TINYINT] = "TINYINT", [TL_SMALLINT] = "SMALLINT",   [TL_INT] = "INT",
    [TL_BIGINT] = "BIGINT",   [TL_FLOAT] = "FLOAT",     [TL_DOUBLE] = "DOUBLE",       [TL_DECIMAL] = "DECIMAL",
    [TL_CHAR] = "CHAR",       [TL_VARCHAR] = "VARCHAR", [TL_BINARY] = "BINARY",       [TL_VARBINARY] = "VARBINARY",
    [TL_DATE] = "DATE",       [TL_TIME] = "TIME",       [TL_TIMESTAMP] = "TIMESTAMP", [TL_TIMESTAMP_LTZ] = "TIMESTAMP",
    [TL_ARRAY] = "ARRAY",     [TL_MAP] = "MAP",         [TL_MULTISET] = "MULTISET",   [TL_ROW] = "ROW",
    [TL_VARIANT] = "VARIANT", [TL_BLOB] = "BLOB",       [TL_VECTOR] = "VECTOR",
};

static tl_status append_quoted(tl_buf *buf, const char *text, char quote)
{
    TL_TRY(tl_buf_append_byte(buf, (uint8_t)quote));
    for (const char *p = text; *p != '\0'; p++) {
        TL_TRY(tl_buf_append_byte(buf, (uint8_t)*p));
        if (*p == quote)
            TL_TRY(tl_buf_append_byte(buf, (uint8_t)quote));
    }
    return tl_buf_append_byte(buf, (uint8_t)quote);
}

static tl_status format_field(const tl_field *field, tl_buf *buf)
{
    TL_TRY(append_quoted(buf, field->name, '`'));
    TL_TRY(tl_buf_append_byte(buf, ' '));
    TL_TRY(tl_type_format(field->type, buf));
    if (field->description != NULL && field->description[0] != '\0') {
        TL_TRY(tl_buf_append_str(buf, " COMMENT "));
        TL_TRY(append_quoted(buf, field->description, '\''));
    }
    if (field->default_value != NULL) {
        TL_TRY(tl_buf_append_str(buf, " DEFAULT "));
        TL_TRY(tl_buf_append_str(buf, field->default_value));
    }
    return TL_OK;
}

static tl_status format_children(const tl_type *type, tl_buf *buf)
{
    int32_t n = type->kind == TL_MULTISET ? 1 : type->n_fields;
    TL_TRY(tl_buf_append_byte(buf, '<'));
    for (int32_t i = 0; i < n; i++) {
        if (i > 0)
            TL_TRY(tl_buf_append_str(buf, ", "));
        if (type->kind == TL_ROW)
            TL_TRY(format_field(&type->fields[i], buf));
        else
            TL_TRY(tl_type_format(type->fields[i].type, buf));
    }
    if (type->kind == TL_VECTOR)
        TL_TRY(tl_buf_appendf(buf, ", %d", type->length));
    return tl_buf_append_byte(buf, '>');
}

tl_status tl_type_format(const tl_type *type, tl_buf *buf)
{
    const char *name = KIND_NAMES[type->kind];
    switch (type->kind) {
    case TL_CHAR:
    case TL_BINARY:
        TL_TRY(tl_buf_appendf(buf, "%s(%d)", name, type->length));
        break;
    case TL_VARCHAR:
    case TL_VARBINARY:
        if (type->length == TL_LENGTH_MAX)
            TL_TRY(tl_buf_append_str(buf, type->kind == TL_VARCHAR ? "STRING" : "BYTES"));
        else
            TL_TRY(tl_buf_appendf(buf, "%s(%d)", name, type->length));
        break;
    case TL_DECIMAL:
        TL_TRY(tl_buf_appendf(buf, "DECIMAL(%d, %d)", type->precision, type->scale));
        break;
    case TL_TIME:
    case TL_TIMESTAMP:
        TL_TRY(tl_buf_appendf(buf, "%s(%d)", name, type->precision));
        break;
    case TL_TIMESTAMP_LTZ:
        TL_TRY(tl_buf_appendf(buf, "TIMESTAMP(%d) WITH LOCAL TIME ZONE", type->precision));
        break;
    case TL_ARRAY:
    case TL_MAP:
    case TL_MULTISET:
    case TL_ROW:
    case TL_VECTOR:
        TL_TRY(tl_buf_append_str(buf, name));
        TL_TRY(format_children(type, buf));
        break;
    default:
        TL_TRY(tl_buf_append_str(buf, name));
    }
    return type->nullable ? TL_OK : tl_buf_append_str(buf, " NOT NULL");
}

void tl_fields_to_json(const tl_type *row, tl_json_writer *w)
{
    tl_json_begin_array(w);
    for (int32_t i = 0; i < row->n_fields; i++) {
        const tl_field *field = &row->fields[i];
        tl_json_begin_object(w);
        tl_json_key(w, "id");
        tl_json_write_int(w, field->id);
        tl_json_key(w, "name");
        tl_json_write_str(w, field->name);
        tl_json_key(w, "type");
        tl_type_to_json(field->type, w);
        if (field->description != NULL) {
            tl_json_key(w, "description");
            tl_json_write_str(w, field->description);
        }
        if (field->default_value != NULL) {
            tl_json_key(w, "defaultValue");
            tl_json_write_str(w, field->default_value);
        }
        tl_json_end_object(w);
    }
    tl_json_end_array(w);
}

/* A type whose JSON is an object; the others are written as their text (VARIANT, too, whose two fields are its own affair). */
static bool is_object(const tl_type *type)
{
    return type->kind == TL_ARRAY || type->kind == TL_VECTOR || type->kind == TL_MAP || type->kind == TL_MULTISET || type->kind == TL_ROW;
}

void tl_type_to_json(const tl_type *type, tl_json_writer *w)
{
    if (!is_object(type)) {
        tl_buf text = {0};
        if (tl_type_format(type, &text) == TL_OK)
            tl_json_write_bytes(w, (tl_bytes_view){text.data, text.len});
        else
            w->status = TL_E_NOMEM;
        tl_buf_deinit(&text);
        return;
    }
    char name[32];
    snprintf(name, sizeof name, "%s%s", KIND_NAMES[type->kind], type->nullable ? "" : " NOT NULL");
    tl_json_begin_object(w);
    tl_json_key(w, "type");
    tl_json_write_str(w, name);
    switch (type->kind) {
    case TL_MAP:
        tl_json_key(w, "key");
        tl_type_to_json(type->fields[0].type, w);
        tl_json_key(w, "value");
        tl_type_to_json(type->fields[1].type, w);
        break;
    case TL_ROW:
        tl_json_key(w, "fields");
        tl_fields_to_json(type, w);
        break;
    default:
        tl_json_key(w, "element");
        tl_type_to_json(type->fields[0].type, w);
    }
    if (type->kind == TL_VECTOR) {
        tl_json_key(w, "length");
        tl_json_write_int(w, type->length);
    }
    tl_json_end_object(w);
}
