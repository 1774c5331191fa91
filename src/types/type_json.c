/*
 * Types from the JSON of schema files: format reference §2; Java: DataTypeJsonParser, DataField.
 */
#include "types/types_private.h"

static bool starts_with(tl_bytes_view text, const char *prefix)
{
    size_t n = strlen(prefix);
    return text.len >= n && memcmp(text.data, prefix, n) == 0;
}

static tl_status from_json(const tl_json *json, int depth, const tl_type **out, tl_error *err);

/* Copy of a member's text: NULL if absent or null. A number or boolean counts as its text, as Jackson's asText(). */
static tl_status json_text(const tl_json *object, const char *name, char **out, tl_error *err)
{
    const tl_json *node = tl_json_get(object, name);
    if (tl_json_is_null(node) || node->kind == TL_JSON_ARRAY || node->kind == TL_JSON_OBJECT)
        return TL_OK;
    tl_bytes_view text = node->kind == TL_JSON_STRING || node->kind == TL_JSON_NUMBER ? node->text : node->raw;
    if (text.len > 0 && memchr(text.data, 0, text.len) != NULL)
        return tl_error_set(err, TL_E_INVALID, "NUL in '%s' of a field", name);
    *out = tl_strndup((const char *)text.data, text.len);
    return *out == NULL ? tl_nomem(err, "type") : TL_OK;
}

static tl_status field_from_json(const tl_json *json, int depth, tl_field *field, tl_error *err)
{
    if (json->kind != TL_JSON_OBJECT)
        return tl_error_set(err, TL_E_INVALID, "field of a ROW is no object");
    int64_t id = -1;
    const tl_json *id_node = tl_json_get(json, "id");
    if (id_node != NULL && (!tl_json_int64(id_node, &id) || id < INT32_MIN || id > INT32_MAX))
        return tl_error_set(err, TL_E_INVALID, "field of a ROW: 'id' is no integer");
    field->id = (int32_t)id;
    TL_TRY(json_text(json, "name", &field->name, err));
    if (field->name == NULL)
        return tl_error_set(err, TL_E_INVALID, "field %d of a ROW has no 'name'", field->id);
    const tl_json *type = tl_json_get(json, "type");
    if (type == NULL)
        return tl_error_set(err, TL_E_INVALID, "field '%s' has no 'type'", field->name);
    TL_TRY(tl_error_wrap(err, from_json(type, depth, &field->type, err), "field '%s'", field->name));
    TL_TRY(json_text(json, "description", &field->description, err));
    return json_text(json, "defaultValue", &field->default_value, err);
}

static tl_status row_from_json(const tl_json *json, int depth, bool nullable, const tl_type **out, tl_error *err)
{
    const tl_json *list = tl_json_get(json, "fields");
    if (list == NULL || list->kind != TL_JSON_ARRAY)
        return tl_error_set(err, TL_E_INVALID, "type ROW has no list of 'fields'");
    if (list->n_children > TL_TYPE_FIELDS_MAX)
        return tl_error_set(err, TL_E_LIMIT, "type ROW has more than %d fields", TL_TYPE_FIELDS_MAX);
    tl_field *fields = tl_calloc((size_t)TL_MAX(list->n_children, 1), sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "type");
    int32_t n = 0;
    tl_status status = TL_OK;
    for (const tl_json *node = list->child; node != NULL; node = node->next) {
        n++;
        TL_TRY_GOTO(field_from_json(node, depth, &fields[n - 1], err));
    }
    status = tl_type_create_row(nullable, fields, n, out, err);
out:
    tl_type__fields_free(fields, n);
    return status;
}

static tl_status child_from_json(const tl_json *json, const char *name, int depth, const tl_type **out, tl_error *err)
{
    const tl_json *child = tl_json_get(json, name);
    if (child == NULL)
        return tl_error_set(err, TL_E_INVALID, "nested type has no '%s'", name);
    return from_json(child, depth, out, err);
}

static tl_status from_json(const tl_json *json, int depth, const tl_type **out, tl_error *err)
{
    if (depth > TL_TYPE_DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "type nested deeper than %d levels", TL_TYPE_DEPTH_MAX);
    if (json->kind == TL_JSON_STRING)
        return tl_type_parse(json->text, out, err);
    const tl_json *name = tl_json_get(json, "type");
    if (name == NULL || name->kind != TL_JSON_STRING)
        return tl_error_set(err, TL_E_INVALID, "type is neither a string nor an object with 'type'");
    bool nullable = memmem(name->text.data, name->text.len, "NOT NULL", 8) == NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *first = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *second = NULL;
    if (starts_with(name->text, "ARRAY")) {
        TL_TRY(child_from_json(json, "element", depth + 1, &first, err));
        return tl_type_create_array(nullable, first, out, err);
    }
    if (starts_with(name->text, "MULTISET")) {
        TL_TRY(child_from_json(json, "element", depth + 1, &first, err));
        return tl_type_create_multiset(nullable, first, out, err);
    }
    if (starts_with(name->text, "MAP")) {
        TL_TRY(child_from_json(json, "key", depth + 1, &first, err));
        TL_TRY(child_from_json(json, "value", depth + 1, &second, err));
        return tl_type_create_map(nullable, first, second, out, err);
    }
    if (starts_with(name->text, "ROW"))
        return row_from_json(json, depth + 1, nullable, out, err);
    if (starts_with(name->text, "VECTOR")) {
        int64_t length = 0;
        const tl_json *node = tl_json_get(json, "length");
        if (node == NULL || !tl_json_int64(node, &length) || length < 1 || length > TL_LENGTH_MAX)
            return tl_error_set(err, TL_E_INVALID, "type VECTOR has no 'length' between 1 and %d", TL_LENGTH_MAX);
        TL_TRY(child_from_json(json, "element", depth + 1, &first, err));
        return tl_type_create_vector(nullable, (int32_t)length, first, out, err);
    }
    return tl_error_set(err, TL_E_INVALID, "unknown nested type '%.*s'", (int)TL_MIN(name->text.len, 100),
                        (const char *)name->text.data);
}

tl_status tl_type_from_json(const tl_json *json, const tl_type **out, tl_error *err)
{
    if (json == NULL)
        return tl_error_set(err, TL_E_INVALID, "type is missing");
    return from_json(json, 1, out, err);
}
