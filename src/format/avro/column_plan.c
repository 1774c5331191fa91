/* Resolving a file's record against the ROW that is wanted: fields by name, types as far as they fit. */
#include "format/avro/avro_private.h"

static tl_status plan_value(tl_avro_node *node, const tl_type *type, const tl_avro_schema *schema, const char *name,
                            tl_error *err);

void tl_avro__node_deinit(tl_avro_node *node)
{
    for (int32_t i = 0; i < node->n; i++)
        tl_avro__node_deinit(&node->children[i]);
    tl_free(node->children);
    tl_free(node->absent);
    *node = (tl_avro_node){0};
}

static tl_status mismatch(const tl_type *type, const tl_avro_schema *schema, const char *name, tl_error *err)
{
    tl_buf text = {0};
    tl_status status = tl_type_format(type, &text);
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, 0);
    status = status != TL_OK ? tl_nomem(err, "Avro reader")
                             : tl_error_set(err, TL_E_CORRUPT, "column '%s': the file has %s where %s is expected", name,
                                            tl_avro__wire_name(schema->wire), (const char *)text.data);
    tl_buf_deinit(&text);
    return status;
}

static tl_status new_children(tl_avro_node *node, int32_t n, tl_error *err)
{
    node->children = tl_calloc((size_t)n + 1, sizeof *node->children);
    if (node->children == NULL)
        return tl_nomem(err, "Avro reader");
    node->n = n;
    return TL_OK;
}

/* Fields of the file in its order, each with its place in the ROW; and the fields of the ROW that the file lacks. */
static tl_status plan_row(tl_avro_node *node, const tl_type *row, const tl_avro_schema *record, tl_error *err)
{
    TL_TRY(new_children(node, record->n, err));
    node->absent = tl_calloc((size_t)row->n_fields + 1, sizeof *node->absent);
    if (node->absent == NULL)
        return tl_nomem(err, "Avro reader");
    for (int32_t i = 0; i < record->n; i++)
        node->children[i] =
            (tl_avro_node){.op = TL_AVRO_OP_SKIP, .null_branch = -1, .schema = record->children[i], .target = -1};
    for (int32_t f = 0; f < row->n_fields; f++) {
        int32_t i = tl_avro__field_index(record, row->fields[f].name);
        if (i < 0) {
            node->absent[node->n_absent++] = f;
            continue;
        }
        if (node->children[i].target >= 0)
            return tl_error_set(err, TL_E_INVALID, "column '%s' is asked for twice", row->fields[f].name);
        TL_TRY(plan_value(&node->children[i], row->fields[f].type, record->children[i], row->fields[f].name, err));
        node->children[i].target = f;
    }
    return TL_OK;
}

static tl_avro_op integer_op(const tl_avro_schema *s)
{
    if (s->wire != TL_AVRO_WIRE_INT && s->wire != TL_AVRO_WIRE_LONG)
        return TL_AVRO_OP_SKIP;
    return s->logical == TL_AVRO_LOGICAL_TIME_MICROS ? TL_AVRO_OP_TIME_MICROS : TL_AVRO_OP_INT;
}

static tl_avro_op bytes_op(const tl_avro_schema *s, bool decimal)
{
    if (s->wire == TL_AVRO_WIRE_FIXED)
        return decimal ? TL_AVRO_OP_DECIMAL_FIXED : TL_AVRO_OP_FIXED;
    if (s->wire != TL_AVRO_WIRE_BYTES && s->wire != TL_AVRO_WIRE_STRING)
        return TL_AVRO_OP_SKIP;
    return decimal ? TL_AVRO_OP_DECIMAL : TL_AVRO_OP_BYTES;
}

/* SKIP: they do not fit. */
static tl_avro_op scalar_op(const tl_type *type, const tl_avro_schema *s)
{
    switch (type->kind) {
    case TL_BOOLEAN:
        return s->wire == TL_AVRO_WIRE_BOOLEAN ? TL_AVRO_OP_BOOL : TL_AVRO_OP_SKIP;
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
    case TL_BIGINT:
    case TL_DATE:
    case TL_TIME:
        return integer_op(s);
    case TL_FLOAT:
        return s->wire == TL_AVRO_WIRE_FLOAT ? TL_AVRO_OP_F32 : TL_AVRO_OP_SKIP;
    case TL_DOUBLE:
        return s->wire == TL_AVRO_WIRE_DOUBLE  ? TL_AVRO_OP_F64
               : s->wire == TL_AVRO_WIRE_FLOAT ? TL_AVRO_OP_F32_TO_F64
                                               : TL_AVRO_OP_SKIP;
    case TL_DECIMAL:
        return bytes_op(s, /* decimal= */ true);
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return bytes_op(s, /* decimal= */ false);
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return s->wire == TL_AVRO_WIRE_LONG ? TL_AVRO_OP_TIMESTAMP : TL_AVRO_OP_SKIP;
    default:
        return TL_AVRO_OP_SKIP;
    }
}

/* Of the stored number; a file that does not say is taken to store what its type's precision needs, as we write it. */
static int64_t ticks_per_second(const tl_type *type, tl_avro_logical logical)
{
    switch (logical) {
    case TL_AVRO_LOGICAL_TIMESTAMP_MILLIS:
    case TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS:
        return 1000;
    case TL_AVRO_LOGICAL_TIMESTAMP_MICROS:
    case TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS:
        return 1000000;
    case TL_AVRO_LOGICAL_TIMESTAMP_NANOS:
    case TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS:
        return 1000000000;
    default:
        return type->precision <= 3 ? 1000 : 1000000;
    }
}

static tl_status plan_map(tl_avro_node *node, const tl_type *map, const tl_avro_schema *s, const char *name, tl_error *err)
{
    const tl_type *key = map->fields[0].type, *value = map->fields[1].type;
    if (s->wire == TL_AVRO_WIRE_MAP && tl_avro__is_string_map(map)) {
        node->op = TL_AVRO_OP_MAP;
        TL_TRY(new_children(node, 2, err));
        node->children[0] = (tl_avro_node){.op = TL_AVRO_OP_BYTES, .null_branch = -1, .type = key, .phys = TL_PHYS_BYTES};
        return plan_value(&node->children[1], value, s->children[0], name, err);
    }
    const tl_avro_schema *entry = s->wire == TL_AVRO_WIRE_ARRAY ? s->children[0] : NULL;
    if (entry == NULL || entry->wire != TL_AVRO_WIRE_RECORD || entry->n != 2)
        return mismatch(map, s, name, err);
    node->op = TL_AVRO_OP_ENTRIES;
    TL_TRY(new_children(node, 2, err));
    TL_TRY(plan_value(&node->children[0], key, entry->children[0], name, err));
    return plan_value(&node->children[1], value, entry->children[1], name, err);
}

static tl_status plan_value(tl_avro_node *node, const tl_type *type, const tl_avro_schema *schema, const char *name,
                            tl_error *err)
{
    int branch;
    const tl_avro_schema *s = tl_avro__nullable(schema, &branch);
    *node = (tl_avro_node){.null_branch = (int8_t)branch, .schema = s, .type = type, .phys = tl_type_phys(type), .target = -1};
    switch (type->kind) {
    case TL_ROW:
        node->op = TL_AVRO_OP_ROW;
        return s->wire == TL_AVRO_WIRE_RECORD ? plan_row(node, type, s, err) : mismatch(type, s, name, err);
    case TL_ARRAY:
    case TL_VECTOR: /* its length is checked as it is read */
        if (s->wire != TL_AVRO_WIRE_ARRAY)
            return mismatch(type, s, name, err);
        node->op = TL_AVRO_OP_LIST;
        TL_TRY(new_children(node, 1, err));
        return plan_value(&node->children[0], type->fields[0].type, s->children[0], name, err);
    case TL_MAP:
    case TL_MULTISET:
        return plan_map(node, type, s, name, err);
    default:
        node->op = scalar_op(type, s);
        node->ticks_per_second = ticks_per_second(type, s->logical);
        return node->op == TL_AVRO_OP_SKIP ? mismatch(type, s, name, err) : TL_OK;
    }
}

tl_status tl_avro__node_create(const tl_type *row_type, const tl_avro_schema *record, tl_avro_node *out, tl_error *err)
{
    *out = (tl_avro_node){
        .op = TL_AVRO_OP_ROW, .null_branch = -1, .schema = record, .type = row_type, .phys = TL_PHYS_ROW, .target = -1};
    tl_status status = plan_row(out, row_type, record, err);
    if (status != TL_OK)
        tl_avro__node_deinit(out);
    return status;
}
