/*
 * ROW type -> Parquet schema, with the names, annotations and field ids of the reference.
 *
 * Source: format reference §8 (ids of elements, keys, values) and §9.1; Java: ParquetSchemaConverter. Shapes of nested types:
 *   ARRAY          group NAME (LIST) { repeated group list { element } }
 *   MAP, MULTISET  group NAME (MAP) { repeated group key_value (MAP_KEY_VALUE) { required key; value } }
 *   ROW, VARIANT   group NAME { fields }
 */
#include "format/parquet/write_private.h"

/** Deepest nesting of types; the schema parser has a limit of its own. */
#define SCHEMA_DEPTH_MAX 100

#define ELEMENT_ID_BASE 536870911
#define ID_DEPTHS 1024

typedef struct schema_builder {
    tl_arena *arena;
    const tl_options *options;
    tl_buf elements; /* tl_pq_schema_element */
    tl_buf leaves;   /* tl_pq_leaf */
    /* the node that is being added */
    const char *path[2 * SCHEMA_DEPTH_MAX + 4];
    int32_t path_len;
    uint8_t def, rep;
    int32_t column;
    tl_error *err;
} schema_builder;

/** What add_type() is told about a node: where it stands in its parent. */
typedef struct node_spec {
    const char *name;
    const tl_type *type;
    bool required;
    bool has_id;
    int32_t id;         /* the node's own field id */
    int32_t id_base;    /* id of the schema field that ids below lists and maps are derived from */
    int32_t list_depth; /* lists and maps between that field and the node */
    int depth;
} node_spec;

/** Java's int arithmetic wraps; ids of nested system columns would. */
static int32_t derived_id(int32_t id_base, int32_t depth, bool is_key)
{
    uint32_t shift = (uint32_t)id_base * ID_DEPTHS + (uint32_t)depth;
    return (int32_t)(is_key ? (uint32_t)ELEMENT_ID_BASE - shift : (uint32_t)ELEMENT_ID_BASE + shift);
}

static tl_status push_element(schema_builder *b, const tl_pq_schema_element *element)
{
    if (tl_buf_append(&b->elements, element, sizeof *element) != TL_OK)
        return tl_nomem(b->err, "Parquet schema");
    return TL_OK;
}

static tl_pq_schema_element group_element(const node_spec *node, int32_t n_children)
{
    return (tl_pq_schema_element){
        .has_repetition = true,
        .repetition = node->required ? TL_PQ_REQUIRED : TL_PQ_OPTIONAL,
        .name = node->name,
        .n_children = n_children,
        .converted = TL_PQ_CONVERTED_NONE,
        .has_field_id = node->has_id,
        .field_id = node->id,
    };
}

/* ---- leaves ---- */

/** Fewest bytes whose two's complement holds every decimal of the precision. Java: computeMinBytesForDecimalPrecision. */
static int32_t decimal_bytes(int32_t precision)
{
    static const uint8_t bytes[] = {1, 1, 1, 2, 2, 3, 3, 4, 4,  4,  5,  5,  6,  6,  6,  7,  7,  8,  8, 9,
                                    9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
    return bytes[precision];
}

static void describe_decimal(const tl_type *type, tl_pq_schema_element *e, tl_pq_leaf *leaf)
{
    leaf->order = TL_PQ_ORDER_INT;
    if (type->precision <= 9) {
        e->type = TL_PQ_INT32;
    } else if (type->precision <= 18) {
        e->type = TL_PQ_INT64;
    } else {
        e->type = TL_PQ_FIXED_LEN_BYTE_ARRAY;
        e->type_length = decimal_bytes(type->precision);
        leaf->order = TL_PQ_ORDER_I128;
    }
    e->converted = TL_PQ_DECIMAL;
    e->has_decimal = true;
    e->precision = type->precision;
    e->scale = type->scale;
    e->logical = (tl_pq_logical){.kind = TL_PQ_LOGICAL_DECIMAL, .precision = type->precision, .scale = type->scale};
}

static void describe_timestamp(const tl_type *type, tl_pq_schema_element *e, tl_pq_leaf *leaf)
{
    if (type->precision > 6) {
        e->type = TL_PQ_INT96;
        leaf->order = TL_PQ_ORDER_NONE;
        return;
    }
    bool is_millis = type->precision <= 3;
    leaf->order = TL_PQ_ORDER_INT;
    e->type = TL_PQ_INT64;
    e->converted = is_millis ? TL_PQ_TIMESTAMP_MILLIS : TL_PQ_TIMESTAMP_MICROS;
    e->logical = (tl_pq_logical){.kind = TL_PQ_LOGICAL_TIMESTAMP,
                                 .adjusted_to_utc = type->kind == TL_TIMESTAMP_LTZ,
                                 .unit = is_millis ? TL_PQ_MILLIS : TL_PQ_MICROS};
}

static void describe_int(int8_t bits, tl_pq_converted converted, tl_pq_schema_element *e)
{
    e->type = TL_PQ_INT32;
    if (bits != 0) {
        e->converted = converted;
        e->logical = (tl_pq_logical){.kind = TL_PQ_LOGICAL_INTEGER, .bit_width = bits, .is_signed = true};
    }
}

static void describe_plain(tl_pq_type type, tl_pq_order order, tl_pq_schema_element *e, tl_pq_leaf *leaf)
{
    e->type = type;
    leaf->order = order;
}

/** Physical type and annotation of a scalar: the table of format reference §9.1. */
static tl_status describe_leaf(const tl_type *type, tl_pq_schema_element *e, tl_pq_leaf *leaf, tl_error *err)
{
    leaf->order = TL_PQ_ORDER_INT;
    switch (type->kind) {
    case TL_BOOLEAN:
        e->type = TL_PQ_BOOLEAN;
        return TL_OK;
    case TL_TINYINT:
        describe_int(8, TL_PQ_INT_8, e);
        return TL_OK;
    case TL_SMALLINT:
        describe_int(16, TL_PQ_INT_16, e);
        return TL_OK;
    case TL_INT:
        describe_int(0, TL_PQ_CONVERTED_NONE, e);
        return TL_OK;
    case TL_BIGINT:
        e->type = TL_PQ_INT64;
        return TL_OK;
    case TL_FLOAT:
        describe_plain(TL_PQ_FLOAT, TL_PQ_ORDER_FLOAT, e, leaf);
        return TL_OK;
    case TL_DOUBLE:
        describe_plain(TL_PQ_DOUBLE, TL_PQ_ORDER_FLOAT, e, leaf);
        return TL_OK;
    case TL_DECIMAL:
        describe_decimal(type, e, leaf);
        return TL_OK;
    case TL_CHAR:
    case TL_VARCHAR:
        describe_plain(TL_PQ_BYTE_ARRAY, TL_PQ_ORDER_BYTES, e, leaf);
        e->converted = TL_PQ_UTF8;
        e->logical.kind = TL_PQ_LOGICAL_STRING;
        leaf->is_utf8 = true;
        return TL_OK;
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        describe_plain(TL_PQ_BYTE_ARRAY, TL_PQ_ORDER_BYTES, e, leaf);
        return TL_OK;
    case TL_DATE:
        e->type = TL_PQ_INT32;
        e->converted = TL_PQ_DATE;
        e->logical.kind = TL_PQ_LOGICAL_DATE;
        return TL_OK;
    case TL_TIME:
        e->type = TL_PQ_INT32;
        e->converted = TL_PQ_TIME_MILLIS;
        e->logical = (tl_pq_logical){.kind = TL_PQ_LOGICAL_TIME, .adjusted_to_utc = true, .unit = TL_PQ_MILLIS};
        return TL_OK;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        describe_timestamp(type, e, leaf);
        return TL_OK;
    default:
        return tl_error_set(err, TL_E_UNSUPPORTED, "a type that Parquet files cannot hold");
    }
}

static int32_t plain_width(const tl_pq_schema_element *e)
{
    switch (e->type) {
    case TL_PQ_BOOLEAN:
        return 1;
    case TL_PQ_INT32:
    case TL_PQ_FLOAT:
        return 4;
    case TL_PQ_INT64:
    case TL_PQ_DOUBLE:
        return 8;
    case TL_PQ_INT96:
        return 12;
    case TL_PQ_FIXED_LEN_BYTE_ARRAY:
        return e->type_length;
    default:
        return 0;
    }
}

static tl_status leaf_path(schema_builder *b, tl_pq_leaf *leaf)
{
    leaf->path_len = b->path_len;
    leaf->path = tl_arena_alloc(b->arena, (size_t)b->path_len * sizeof *leaf->path);
    tl_buf dotted = {0};
    tl_status status = leaf->path == NULL ? TL_E_NOMEM : TL_OK;
    for (int32_t i = 0; status == TL_OK && i < b->path_len; i++) {
        leaf->path[i] = b->path[i];
        if (i > 0)
            status = tl_buf_append_byte(&dotted, '.');
        if (status == TL_OK)
            status = tl_buf_append_str(&dotted, b->path[i]);
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(&dotted, 0);
    if (status != TL_OK)
        status = tl_nomem(b->err, "Parquet schema");
    else
        status = tl_pq__leaf_options(b->options, (const char *)dotted.data, &leaf->options, b->err);
    tl_buf_deinit(&dotted);
    return status;
}

static tl_status add_leaf(schema_builder *b, const node_spec *node)
{
    tl_pq_schema_element element = group_element(node, 0);
    tl_pq_leaf leaf = {.type = node->type, .phys = tl_type_phys(node->type), .column = b->column};
    element.has_type = true;
    TL_TRY(describe_leaf(node->type, &element, &leaf, b->err));
    leaf.physical = element.type;
    leaf.width = plain_width(&element);
    leaf.def_max = b->def;
    leaf.rep_max = b->rep;
    leaf.is_flat = b->path_len == 1;
    TL_TRY(push_element(b, &element));
    TL_TRY(leaf_path(b, &leaf));
    if (tl_buf_append(&b->leaves, &leaf, sizeof leaf) != TL_OK)
        return tl_nomem(b->err, "Parquet schema");
    return TL_OK;
}

/* ---- nested types ---- */

static tl_status add_node(schema_builder *b, const node_spec *node);

/** The repeated group between a list or map and its contents. */
static tl_status enter_repeated(schema_builder *b, const char *name, int32_t n_children, tl_pq_converted converted)
{
    tl_pq_schema_element element = {.has_repetition = true,
                                    .repetition = TL_PQ_REPEATED,
                                    .name = name,
                                    .n_children = n_children,
                                    .converted = converted};
    TL_TRY(push_element(b, &element));
    b->path[b->path_len++] = name;
    b->def++;
    b->rep++;
    return TL_OK;
}

static void leave_repeated(schema_builder *b)
{
    b->path_len--;
    b->def--;
    b->rep--;
}

static node_spec derived_node(const node_spec *parent, const char *name, const tl_type *type, bool is_key)
{
    return (node_spec){
        .name = name,
        .type = type,
        .required = is_key || !type->nullable,
        .has_id = parent->id_base >= 0,
        .id = derived_id(parent->id_base, parent->list_depth + 1, is_key),
        .id_base = parent->id_base,
        .list_depth = parent->list_depth + 1,
        .depth = parent->depth + 1,
    };
}

static tl_status add_array(schema_builder *b, const node_spec *node)
{
    tl_pq_schema_element element = group_element(node, 1);
    element.converted = TL_PQ_LIST;
    element.logical.kind = TL_PQ_LOGICAL_LIST;
    TL_TRY(push_element(b, &element));
    TL_TRY(enter_repeated(b, "list", 1, TL_PQ_CONVERTED_NONE));
    node_spec child = derived_node(node, "element", node->type->fields[0].type, false);
    TL_TRY(add_node(b, &child));
    leave_repeated(b);
    return TL_OK;
}

static tl_status add_map(schema_builder *b, const node_spec *node)
{
    tl_pq_schema_element element = group_element(node, 1);
    element.converted = TL_PQ_MAP;
    element.logical.kind = TL_PQ_LOGICAL_MAP;
    TL_TRY(push_element(b, &element));
    TL_TRY(enter_repeated(b, "key_value", 2, TL_PQ_MAP_KEY_VALUE));
    node_spec key = derived_node(node, "key", node->type->fields[0].type, true);
    node_spec value = derived_node(node, "value", node->type->fields[1].type, false);
    TL_TRY(add_node(b, &key));
    TL_TRY(add_node(b, &value));
    leave_repeated(b);
    return TL_OK;
}

static tl_status add_row(schema_builder *b, const node_spec *node)
{
    const tl_type *type = node->type;
    if (type->n_fields == 0)
        return tl_error_set(b->err, TL_E_UNSUPPORTED, "a ROW without fields cannot be written to Parquet");
    tl_pq_schema_element element = group_element(node, type->n_fields);
    TL_TRY(push_element(b, &element));
    for (int32_t i = 0; i < type->n_fields; i++) {
        const tl_field *field = &type->fields[i];
        int32_t id = type->kind == TL_VARIANT ? i : field->id;
        bool required = type->kind == TL_VARIANT || !field->type->nullable;
        node_spec child = {.name = field->name,
                           .type = field->type,
                           .required = required,
                           .has_id = id >= 0,
                           .id = id,
                           .id_base = id,
                           .depth = node->depth + 1};
        TL_TRY(add_node(b, &child));
    }
    return TL_OK;
}

static tl_status add_node(schema_builder *b, const node_spec *node)
{
    if (node->depth > SCHEMA_DEPTH_MAX)
        return tl_error_set(b->err, TL_E_LIMIT, "types are nested deeper than %d levels", SCHEMA_DEPTH_MAX);
    b->path[b->path_len++] = node->name;
    b->def = (uint8_t)(b->def + (node->required ? 0 : 1));
    tl_status status = TL_OK;
    switch (tl_type_phys(node->type)) {
    case TL_PHYS_LIST:
        status = node->type->kind == TL_VECTOR ? tl_error_set(b->err, TL_E_UNSUPPORTED, "Parquet files hold no VECTOR: Avro and JSON files do")
                                               : add_array(b, node);
        break;
    case TL_PHYS_MAP:
        status = add_map(b, node);
        break;
    case TL_PHYS_ROW:
        status = add_row(b, node);
        break;
    default:
        status = add_leaf(b, node);
        break;
    }
    b->path_len--;
    b->def = (uint8_t)(b->def - (node->required ? 0 : 1));
    return tl_error_wrap(b->err, status, "'%s'", node->name);
}

/* ---- the whole ---- */

static tl_status add_columns(schema_builder *b, const tl_write_spec *spec, int32_t *first_leaf)
{
    const tl_type *row = spec->row_type;
    tl_pq_schema_element root = {.name = "paimon_schema", .n_children = row->n_fields, .converted = TL_PQ_CONVERTED_NONE};
    TL_TRY(push_element(b, &root));
    for (int32_t i = 0; i < row->n_fields; i++) {
        const tl_field *field = &row->fields[i];
        int32_t id = spec->field_ids == NULL ? field->id : spec->field_ids[i];
        node_spec node = {.name = field->name, .type = field->type, .required = !field->type->nullable, .has_id = id >= 0, .id = id, .id_base = id};
        b->column = i;
        first_leaf[i] = (int32_t)(b->leaves.len / sizeof(tl_pq_leaf));
        TL_TRY(add_node(b, &node));
    }
    first_leaf[row->n_fields] = (int32_t)(b->leaves.len / sizeof(tl_pq_leaf));
    return TL_OK;
}

tl_status tl_pq__write_schema(tl_arena *arena, const tl_write_spec *spec, tl_pq_write_schema *out, tl_error *err)
{
    schema_builder b = {.arena = arena, .options = spec->options, .err = err};
    int32_t n_columns = spec->row_type->n_fields;
    if (n_columns == 0)
        return tl_error_set(err, TL_E_UNSUPPORTED, "a Parquet file needs at least one column");
    int32_t *first_leaf = tl_arena_calloc(arena, (size_t)n_columns + 1, sizeof *first_leaf);
    if (first_leaf == NULL)
        return tl_nomem(err, "Parquet schema");
    tl_status status = add_columns(&b, spec, first_leaf);
    void *elements = tl_arena_alloc(arena, b.elements.len);
    void *leaves = tl_arena_alloc(arena, b.leaves.len);
    if (status == TL_OK && (elements == NULL || leaves == NULL))
        status = tl_nomem(err, "Parquet schema");
    if (status == TL_OK) {
        memcpy(elements, b.elements.data, b.elements.len);
        memcpy(leaves, b.leaves.data, b.leaves.len);
        *out = (tl_pq_write_schema){
            .elements = elements,
            .n_elements = (int32_t)(b.elements.len / sizeof(tl_pq_schema_element)),
            .leaves = leaves,
            .n_leaves = (int32_t)(b.leaves.len / sizeof(tl_pq_leaf)),
            .first_leaf = first_leaf,
        };
    }
    tl_buf_deinit(&b.elements);
    tl_buf_deinit(&b.leaves);
    return status;
}
