/*
 * Writer schemas: the JSON in a file's header as a tree of nodes.
 * Source: Avro specification, "Schema Declaration", "Names".
 */
#include "format/avro/avro_private.h"

static const char *const wire_names[] = {"null",   "boolean", "int",  "long",  "float", "double", "bytes",
                                         "string", "fixed",   "enum", "array", "map",   "union",  "record"};

const char *tl_avro__wire_name(tl_avro_wire wire)
{
    return wire_names[wire];
}

typedef struct named_type {
    const char *full_name;
    const tl_avro_schema *schema; /* NULL while its own definition is being read */
    struct named_type *next;
} named_type;

typedef struct parser {
    tl_arena *arena;
    named_type *names;
    tl_error *err;
} parser;

static tl_status parse_node(parser *ps, const tl_json *json, const char *space, int depth, const tl_avro_schema **out);

static tl_status bad(parser *ps, const char *what)
{
    return tl_error_set(ps->err, TL_E_CORRUPT, "Avro schema: %s", what);
}

static tl_status new_node(parser *ps, tl_avro_wire wire, int32_t n_children, tl_avro_schema **out)
{
    tl_avro_schema *node = tl_arena_calloc(ps->arena, 1, sizeof *node);
    if (node != NULL && n_children > 0)
        node->children = tl_arena_calloc(ps->arena, (size_t)n_children, sizeof *node->children);
    if (node == NULL || (n_children > 0 && node->children == NULL))
        return tl_nomem(ps->err, "Avro schema");
    node->wire = wire;
    node->n = n_children;
    node->depth = 1;
    *out = node;
    return TL_OK;
}

/* Take a child over into its parent's depth. */
static tl_status count_depth(parser *ps, tl_avro_schema *node, const tl_avro_schema *child)
{
    node->depth = TL_MAX(node->depth, child->depth + 1);
    return node->depth > TL_AVRO_DEPTH_MAX
               ? tl_error_set(ps->err, TL_E_LIMIT, "Avro schema: nested deeper than %d", TL_AVRO_DEPTH_MAX)
               : TL_OK;
}

static int64_t add_saturating(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static bool is_primitive(tl_bytes_view name, tl_avro_wire *out)
{
    for (tl_avro_wire w = TL_AVRO_WIRE_NULL; w <= TL_AVRO_WIRE_STRING; w++) {
        if (name.len == strlen(wire_names[w]) && memcmp(name.data, wire_names[w], name.len) == 0) {
            *out = w;
            return true;
        }
    }
    return false;
}

static tl_status primitive(parser *ps, tl_avro_wire wire, const tl_avro_schema **out)
{
    static const int8_t min_bytes[] = {0, 1, 1, 1, 4, 8, 1, 1};
    tl_avro_schema *node;
    TL_TRY(new_node(ps, wire, 0, &node));
    node->min_bytes = min_bytes[wire];
    *out = node;
    return TL_OK;
}

/* A name is full if it has a dot, else it lies in the name space around it. */
static char *full_name(parser *ps, const char *name, const char *space)
{
    if (strchr(name, '.') != NULL || space == NULL || *space == 0)
        return tl_arena_strdup(ps->arena, name);
    return tl_arena_strf(ps->arena, "%s.%s", space, name);
}

static tl_status reference(parser *ps, const tl_json *json, const char *space, const tl_avro_schema **out)
{
    char *name = tl_json_strdup(ps->arena, json);
    char *full = name == NULL ? NULL : full_name(ps, name, space);
    if (full == NULL)
        return tl_nomem(ps->err, "Avro schema");
    for (const named_type *t = ps->names; t != NULL; t = t->next) {
        if (strcmp(t->full_name, full) != 0 && strcmp(t->full_name, name) != 0)
            continue;
        if (t->schema == NULL)
            return tl_error_set(ps->err, TL_E_UNSUPPORTED, "Avro schema: recursive type '%s'", name);
        *out = t->schema;
        return TL_OK;
    }
    return tl_error_set(ps->err, TL_E_CORRUPT, "Avro schema: unknown type '%.100s'", name);
}

static tl_avro_logical logical_type(const tl_json *json)
{
    static const struct {
        const char *name;
        tl_avro_logical logical;
    } known[] = {
        {"decimal", TL_AVRO_LOGICAL_DECIMAL},
        {"date", TL_AVRO_LOGICAL_DATE},
        {"time-millis", TL_AVRO_LOGICAL_TIME_MILLIS},
        {"time-micros", TL_AVRO_LOGICAL_TIME_MICROS},
        {"timestamp-millis", TL_AVRO_LOGICAL_TIMESTAMP_MILLIS},
        {"timestamp-micros", TL_AVRO_LOGICAL_TIMESTAMP_MICROS},
        {"timestamp-nanos", TL_AVRO_LOGICAL_TIMESTAMP_NANOS},
        {"local-timestamp-millis", TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS},
        {"local-timestamp-micros", TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS},
        {"local-timestamp-nanos", TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS},
    };
    const tl_json *name = tl_json_get(json, "logicalType");
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (tl_json_text_is(name, known[i].name))
            return known[i].logical;
    }
    return TL_AVRO_LOGICAL_NONE; /* unknown ones are ignored, as the specification says */
}

/* Begin the definition of a named type; the entry is completed when the node is. */
static tl_status define(parser *ps, const tl_json *json, const char **space, named_type **out)
{
    char *name = tl_json_strdup(ps->arena, tl_json_get(json, "name"));
    if (name == NULL)
        return bad(ps, "a named type has no name");
    char *own_space = tl_json_strdup(ps->arena, tl_json_get(json, "namespace"));
    char *dot = strrchr(name, '.');
    named_type *t = tl_arena_calloc(ps->arena, 1, sizeof *t);
    if (t == NULL || (t->full_name = full_name(ps, name, own_space != NULL ? own_space : *space)) == NULL)
        return tl_nomem(ps->err, "Avro schema");
    if (dot != NULL)
        own_space = tl_arena_strndup(ps->arena, name, (size_t)(dot - name));
    if (own_space != NULL)
        *space = own_space;
    t->next = ps->names;
    ps->names = t;
    *out = t;
    return TL_OK;
}

static tl_status parse_record(parser *ps, const tl_json *json, const char *space, int depth, const tl_avro_schema **out)
{
    const tl_json *fields = tl_json_get(json, "fields");
    if (fields == NULL || fields->kind != TL_JSON_ARRAY || fields->n_children > INT32_MAX / 2)
        return bad(ps, "a record has no fields");
    named_type *name;
    tl_avro_schema *node;
    TL_TRY(define(ps, json, &space, &name));
    TL_TRY(new_node(ps, TL_AVRO_WIRE_RECORD, (int32_t)fields->n_children, &node));
    node->names = tl_arena_calloc(ps->arena, (size_t)node->n + 1, sizeof *node->names);
    if (node->names == NULL)
        return tl_nomem(ps->err, "Avro schema");
    int32_t i = 0;
    for (const tl_json *f = fields->child; f != NULL; f = f->next, i++) {
        const tl_json *field_name = tl_json_get(f, "name"), *type = tl_json_get(f, "type");
        if (field_name == NULL || field_name->kind != TL_JSON_STRING || type == NULL)
            return bad(ps, "a field has no name or type");
        node->names[i] = field_name->text;
        TL_TRY(parse_node(ps, type, space, depth + 1, &node->children[i]));
        TL_TRY(count_depth(ps, node, node->children[i]));
        node->min_bytes = add_saturating(node->min_bytes, node->children[i]->min_bytes);
    }
    name->schema = node;
    *out = node;
    return TL_OK;
}

static tl_status parse_fixed(parser *ps, const tl_json *json, const char *space, const tl_avro_schema **out)
{
    named_type *name;
    tl_avro_schema *node;
    TL_TRY(define(ps, json, &space, &name));
    TL_TRY(new_node(ps, TL_AVRO_WIRE_FIXED, 0, &node));
    if (!tl_json_int64(tl_json_get(json, "size"), &node->fixed_bytes) || node->fixed_bytes < 0 || node->fixed_bytes > INT32_MAX)
        return bad(ps, "a fixed type has no valid size");
    node->min_bytes = node->fixed_bytes;
    name->schema = node;
    *out = node;
    return TL_OK;
}

static tl_status parse_enum(parser *ps, const tl_json *json, const char *space, const tl_avro_schema **out)
{
    const tl_json *symbols = tl_json_get(json, "symbols");
    if (symbols == NULL || symbols->kind != TL_JSON_ARRAY || symbols->n_children > INT32_MAX)
        return bad(ps, "an enum has no symbols");
    named_type *name;
    tl_avro_schema *node;
    TL_TRY(define(ps, json, &space, &name));
    TL_TRY(new_node(ps, TL_AVRO_WIRE_ENUM, 0, &node));
    node->n = (int32_t)symbols->n_children;
    node->min_bytes = 1;
    name->schema = node;
    *out = node;
    return TL_OK;
}

static tl_status parse_container(parser *ps, const tl_json *json, const char *space, int depth, bool map,
                                 const tl_avro_schema **out)
{
    const tl_json *items = tl_json_get(json, map ? "values" : "items");
    if (items == NULL)
        return bad(ps, map ? "a map has no values" : "an array has no items");
    tl_avro_schema *node;
    TL_TRY(new_node(ps, map ? TL_AVRO_WIRE_MAP : TL_AVRO_WIRE_ARRAY, 1, &node));
    TL_TRY(parse_node(ps, items, space, depth + 1, &node->children[0]));
    node->min_bytes = 1;
    TL_TRY(count_depth(ps, node, node->children[0]));
    *out = node;
    return TL_OK;
}

static tl_status parse_union(parser *ps, const tl_json *json, const char *space, int depth, const tl_avro_schema **out)
{
    tl_avro_schema *node;
    if (json->n_children == 0 || json->n_children > INT32_MAX)
        return bad(ps, "a union has no branches");
    TL_TRY(new_node(ps, TL_AVRO_WIRE_UNION, (int32_t)json->n_children, &node));
    int32_t i = 0;
    for (const tl_json *branch = json->child; branch != NULL; branch = branch->next, i++) {
        TL_TRY(parse_node(ps, branch, space, depth + 1, &node->children[i]));
        TL_TRY(count_depth(ps, node, node->children[i]));
    }
    node->min_bytes = 1; /* the index; with a non-empty shortest branch it is more, which nobody needs */
    *out = node;
    return TL_OK;
}

/* {"type": ...}: a definition, or a type with attributes. */
static tl_status parse_object(parser *ps, const tl_json *json, const char *space, int depth, const tl_avro_schema **out)
{
    const tl_json *type = tl_json_get(json, "type");
    if (type == NULL)
        return bad(ps, "a type has no name");
    if (tl_json_text_is(type, "record") || tl_json_text_is(type, "error"))
        return parse_record(ps, json, space, depth, out);
    if (tl_json_text_is(type, "enum"))
        return parse_enum(ps, json, space, out);
    if (tl_json_text_is(type, "array") || tl_json_text_is(type, "map"))
        return parse_container(ps, json, space, depth, tl_json_text_is(type, "map"), out);
    const tl_avro_schema *plain;
    if (tl_json_text_is(type, "fixed"))
        TL_TRY(parse_fixed(ps, json, space, &plain));
    else
        TL_TRY(parse_node(ps, type, space, depth + 1, &plain));
    tl_avro_logical logical = logical_type(json);
    if (logical == TL_AVRO_LOGICAL_NONE) {
        *out = plain;
        return TL_OK;
    }
    tl_avro_schema *node = tl_arena_alloc(ps->arena, sizeof *node); /* the plain one may be shared by its name */
    if (node == NULL)
        return tl_nomem(ps->err, "Avro schema");
    *node = *plain;
    node->logical = logical;
    int64_t precision = 0, scale = 0;
    if (logical == TL_AVRO_LOGICAL_DECIMAL) {
        (void)tl_json_int64(tl_json_get(json, "precision"),
                            &precision); /* absent or wrong: no decimal, checked by the user of it */
        (void)tl_json_int64(tl_json_get(json, "scale"), &scale);
        if (precision < 0 || precision > INT32_MAX || scale < 0 || scale > INT32_MAX)
            return bad(ps, "a decimal has no valid precision and scale");
    }
    node->precision = (int32_t)precision;
    node->scale = (int32_t)scale;
    *out = node;
    return TL_OK;
}

static tl_status parse_node(parser *ps, const tl_json *json, const char *space, int depth, const tl_avro_schema **out)
{
    if (depth > TL_AVRO_DEPTH_MAX)
        return tl_error_set(ps->err, TL_E_LIMIT, "Avro schema: nested deeper than %d", TL_AVRO_DEPTH_MAX);
    tl_avro_wire wire;
    switch (json->kind) {
    case TL_JSON_STRING:
        return is_primitive(json->text, &wire) ? primitive(ps, wire, out) : reference(ps, json, space, out);
    case TL_JSON_OBJECT:
        return parse_object(ps, json, space, depth, out);
    case TL_JSON_ARRAY:
        return parse_union(ps, json, space, depth, out);
    default:
        return bad(ps, "a type is neither a name, an object nor a union");
    }
}

tl_status tl_avro__schema_parse(tl_arena *arena, tl_bytes_view json, const tl_avro_schema **out, tl_error *err)
{
    const tl_json *tree;
    tl_status status = tl_json_parse(arena, json, &tree, err);
    if (status != TL_OK)
        return tl_error_wrap(err, status, "Avro schema");
    parser ps = {.arena = arena, .err = err};
    return parse_node(&ps, tree, /* space= */ NULL, /* depth= */ 1, out);
}

const tl_avro_schema *tl_avro__nullable(const tl_avro_schema *schema, int *null_branch)
{
    *null_branch = -1;
    if (schema->wire != TL_AVRO_WIRE_UNION || schema->n != 2)
        return schema;
    for (int b = 0; b < 2; b++) {
        if (schema->children[b]->wire == TL_AVRO_WIRE_NULL && schema->children[1 - b]->wire != TL_AVRO_WIRE_NULL) {
            *null_branch = b;
            return schema->children[1 - b];
        }
    }
    return schema;
}

int32_t tl_avro__field_index(const tl_avro_schema *record, const char *name)
{
    size_t len = strlen(name);
    for (int32_t i = 0; i < record->n; i++) {
        if (record->names[i].len == len && memcmp(record->names[i].data, name, len) == 0)
            return i;
    }
    return -1;
}
