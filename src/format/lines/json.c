/*
 * One JSON object a line, by the rules of the reference (Java: JsonFileReader, JsonFormatWriter): scalars are written as texts and read
 * from the text of any scalar; members that are no columns are left out, columns without a member are NULL. These are not Flink's
 * rules, which connect/ has.
 */
#include <math.h>

#include "base/json.h"
#include "base/map.h"
#include "format/lines/lines_private.h"
#include "types/text.h"

/* ---- reading ---- */

/* Jackson's asText(): a number with a fraction or an exponent is a double there; arrays and objects have none. */
static tl_bytes_view node_text(const tl_json *node, char room[32])
{
    double d;
    switch (node->kind) {
    case TL_JSON_STRING:
        return node->text;
    case TL_JSON_TRUE:
        return (tl_bytes_view){(const uint8_t *)"true", 4};
    case TL_JSON_FALSE:
        return (tl_bytes_view){(const uint8_t *)"false", 5};
    case TL_JSON_NUMBER:
        if (memchr(node->text.data, '.', node->text.len) == NULL && memchr(node->text.data, 'e', node->text.len) == NULL &&
            memchr(node->text.data, 'E', node->text.len) == NULL)
            return node->text.len == 2 && memcmp(node->text.data, "-0", 2) == 0 ? (tl_bytes_view){(const uint8_t *)"0", 1} : node->text;
        if (!tl_json_double(node, &d))
            d = node->text.data[0] == '-' ? -INFINITY : INFINITY;
        return (tl_bytes_view){(const uint8_t *)room, tl_text_java_double(d, room)};
    default:
        return (tl_bytes_view){(const uint8_t *)"", 0};
    }
}

static tl_status add_value(tl_lines_parser *p, const tl_json *node, const tl_type *type, tl_builder *builder, tl_error *err);

/* What cannot be read as `type`: NULL where errors are ignored. */
static tl_status bad_value(tl_lines_parser *p, const tl_json *node, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (p->options.ignore_parse_errors)
        return tl_builder_error(builder, tl_builder_null(builder), err);
    tl_buf name = {0};
    (void)tl_type_format(type, &name); /* an empty name if out of memory */
    tl_status status = tl_error_set(err, TL_E_CORRUPT, "%.*s is no %.*s", (int)TL_MIN(node->raw.len, (size_t)200), (const char *)node->raw.data,
                                    (int)name.len, (const char *)name.data);
    tl_buf_deinit(&name);
    return status;
}

static tl_status add_array(tl_lines_parser *p, const tl_json *node, const tl_type *type, tl_builder *builder, tl_error *err)
{
    for (const tl_json *item = node->child; item != NULL; item = item->next)
        TL_TRY(add_value(p, item, type->fields[0].type, tl_builder_child(builder, 0), err));
    return tl_builder_error(builder, tl_builder_end(builder), err);
}

static tl_status add_entry(tl_lines_parser *p, const tl_json *item, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_builder *keys = tl_builder_child(builder, 0);
    int64_t before = tl_builder_length(keys);
    tl_status status = tl_lines__value(item->key, type->fields[0].type, keys, err);
    if (status == TL_E_INVALID && p->options.ignore_parse_errors) {
        tl_builder_truncate(keys, before);
        return TL_OK; /* the entry is left out */
    }
    if (status == TL_E_INVALID)
        return tl_error_set(err, TL_E_CORRUPT, "the key '%.*s' is of another type", (int)TL_MIN(item->key.len, (size_t)200),
                            (const char *)item->key.data);
    TL_TRY(tl_builder_error(keys, status, err));
    return add_value(p, item, type->fields[1].type, tl_builder_child(builder, 1), err);
}

/* The last of members with one name counts, at the place of the first. */
static tl_status add_map(tl_lines_parser *p, const tl_json *node, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_map last = {0};
    tl_status status = TL_OK;
    for (const tl_json *item = node->child; item != NULL && status == TL_OK; item = item->next)
        status = tl_map_put(&last, item->key.data, item->key.len, (void *)(uintptr_t)item, NULL);
    if (status != TL_OK)
        (void)tl_nomem(err, "members of an object");
    for (const tl_json *item = node->child; item != NULL && status == TL_OK; item = item->next) {
        const tl_json *value = tl_map_remove(&last, item->key.data, item->key.len);
        if (value != NULL)
            status = add_entry(p, value, type, builder, err);
    }
    tl_map_deinit(&last);
    TL_TRY(status);
    return tl_builder_error(builder, tl_builder_end(builder), err);
}

static tl_status add_row(tl_lines_parser *p, const tl_json *node, const tl_type *type, tl_builder *builder, tl_error *err)
{
    for (int32_t f = 0; f < type->n_fields; f++) {
        const tl_json *member = tl_json_get(node, type->fields[f].name);
        TL_TRY(tl_error_wrap(err, add_value(p, member, type->fields[f].type, tl_builder_child(builder, f), err), "'%s'", type->fields[f].name));
    }
    return tl_builder_error(builder, tl_builder_end(builder), err);
}

static tl_status add_value(tl_lines_parser *p, const tl_json *node, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (tl_json_is_null(node))
        return tl_builder_error(builder, tl_builder_null(builder), err);
    if (type->n_fields > 0) {
        bool is_array = type->kind == TL_ARRAY || type->kind == TL_VECTOR;
        if (node->kind != (is_array ? TL_JSON_ARRAY : TL_JSON_OBJECT))
            return bad_value(p, node, type, builder, err);
        return is_array ? add_array(p, node, type, builder, err) : type->kind == TL_MAP ? add_map(p, node, type, builder, err)
                                                                                         : add_row(p, node, type, builder, err);
    }
    char room[32];
    tl_status status = tl_lines__value(node_text(node, room), type, builder, err);
    return status == TL_E_INVALID ? bad_value(p, node, type, builder, err) : tl_builder_error(builder, status, err);
}

tl_status tl_lines__parse_json(tl_lines_parser *p, tl_bytes_view line, bool *keep, tl_error *err)
{
    const tl_json *root = NULL;
    tl_arena_reset(&p->arena);
    *keep = false;
    tl_status status = tl_json_parse_first(&p->arena, line, &root, err);
    if (status == TL_E_NOMEM)
        return status;
    if (status != TL_OK || (root->kind != TL_JSON_OBJECT && root->kind != TL_JSON_NULL)) {
        if (p->options.ignore_parse_errors)
            return TL_OK;
        return status != TL_OK ? status : tl_error_set(err, TL_E_CORRUPT, "is no JSON object");
    }
    if (root->kind == TL_JSON_NULL)
        return TL_OK; /* no row, and no error either */
    *keep = true;
    for (int32_t i = 0; i < p->type->n_fields; i++) {
        const tl_field *field = &p->type->fields[i];
        TL_TRY(tl_error_wrap(err, add_value(p, tl_json_get(root, field->name), field->type, p->builders[i], err), "column '%s'", field->name));
    }
    return TL_OK;
}

/* ---- printing ---- */

static tl_status print_value(tl_buf *out, tl_buf *scratch, const tl_column *col, int64_t i);

static tl_status print_quoted(tl_buf *out, const tl_buf *text)
{
    return tl_json_append_jackson(out, (tl_bytes_view){text->data, text->len});
}

static tl_status print_key(tl_buf *out, tl_buf *scratch, const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return TL_E_INVALID;
    scratch->len = 0;
    tl_type_kind kind = col->type->kind;
    bool cast = kind == TL_BINARY || kind == TL_VARBINARY || kind == TL_CHAR || kind == TL_VARCHAR;
    TL_TRY(cast ? tl_lines__append_value(scratch, col, i) : tl_text_append_java(scratch, col, i));
    TL_TRY(print_quoted(out, scratch));
    return tl_buf_append_byte(out, ':');
}

static tl_status print_items(tl_buf *out, tl_buf *scratch, const tl_column *col, int64_t i)
{
    bool is_map = col->phys == TL_PHYS_MAP;
    TL_TRY(tl_buf_append_byte(out, is_map ? '{' : '['));
    for (int32_t k = col->offsets[i]; k < col->offsets[i + 1]; k++) {
        if (k > col->offsets[i])
            TL_TRY(tl_buf_append_byte(out, ','));
        if (is_map)
            TL_TRY(print_key(out, scratch, col->children[0], k));
        TL_TRY(print_value(out, scratch, col->children[is_map], k));
    }
    return tl_buf_append_byte(out, is_map ? '}' : ']');
}

static tl_status print_members(tl_buf *out, tl_buf *scratch, const tl_type *type, tl_column *const *cols, int64_t i)
{
    TL_TRY(tl_buf_append_byte(out, '{'));
    for (int32_t c = 0; c < type->n_fields; c++) {
        const char *name = type->fields[c].name;
        if (c > 0)
            TL_TRY(tl_buf_append_byte(out, ','));
        TL_TRY(tl_json_append_jackson(out, (tl_bytes_view){(const uint8_t *)name, strlen(name)}));
        TL_TRY(tl_buf_append_byte(out, ':'));
        TL_TRY(print_value(out, scratch, cols[c], i));
    }
    return tl_buf_append_byte(out, '}');
}

static tl_status print_value(tl_buf *out, tl_buf *scratch, const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return tl_buf_append_str(out, "null");
    if (col->phys == TL_PHYS_LIST || col->phys == TL_PHYS_MAP)
        return print_items(out, scratch, col, i);
    if (col->phys == TL_PHYS_ROW)
        return print_members(out, scratch, col->type, col->children, i);
    scratch->len = 0;
    TL_TRY(tl_lines__append_value(scratch, col, i));
    return print_quoted(out, scratch);
}

tl_status tl_lines__print_json(tl_buf *out, tl_buf *scratch, const tl_lines_options *options, const tl_batch *batch, int64_t i)
{
    TL_TRY(print_members(out, scratch, batch->type, batch->cols, i));
    return tl_buf_append_str(out, options->line_delimiter);
}
