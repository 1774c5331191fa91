/*
 * Schemas of data files from the table's types (format reference §9.3). Java: AvroSchemaConverter.
 *
 * The logical types of timestamps are the wrong way round, as in the reference: timestamp-* for TIMESTAMP (without zone),
 * local-timestamp-* for TIMESTAMP WITH LOCAL TIME ZONE.
 */
#include "format/avro/avro_private.h"

typedef struct schema_text {
    tl_buf *out;
    tl_map names; /* of the records defined so far: Avro knows only one of each */
    tl_error *err;
} schema_text;

static tl_status put_type(schema_text *t, const tl_type *type, bool nullable, const char *name);

static tl_status put(schema_text *t, const char *text)
{
    return tl_buf_append_str(t->out, text) == TL_OK ? TL_OK : tl_nomem(t->err, "Avro schema");
}

static tl_status refuse(schema_text *t, const tl_type *type)
{
    tl_buf text = {0};
    tl_status status = tl_type_format(type, &text);
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, 0);
    status = status != TL_OK ? tl_nomem(t->err, "Avro schema")
                             : tl_error_set(t->err, TL_E_INVALID, "Avro does not support the type %s", (const char *)text.data);
    tl_buf_deinit(&text);
    return status;
}

static bool is_avro_name(const char *name)
{
    bool ok = *name != 0 && !(*name >= '0' && *name <= '9');
    for (; *name != 0; name++)
        ok = ok && (*name == '_' || (*name >= '0' && *name <= '9') || ((*name | 0x20) >= 'a' && (*name | 0x20) <= 'z'));
    return ok;
}

/* {"type":"record","name":NAME,"fields":[ */
static tl_status begin_record(schema_text *t, const char *name, bool top)
{
    if (tl_map_get(&t->names, name, strlen(name)) != NULL)
        return tl_error_set(t->err, TL_E_INVALID, "Avro schema: two nested types would both be named '%s'", name);
    if (tl_map_put(&t->names, name, strlen(name), t, NULL) != TL_OK ||
        tl_buf_appendf(t->out, "{\"type\":\"record\",\"name\":\"%s\",%s\"fields\":[", name,
                       top ? "\"namespace\":\"org.apache.paimon.avro.generated\"," : "") != TL_OK)
        return tl_nomem(t->err, "Avro schema");
    return TL_OK;
}

static tl_status put_field(schema_text *t, const char *field, const tl_type *type, bool nullable, const char *record_name,
                           bool with_default)
{
    if (!is_avro_name(field))
        return tl_error_set(t->err, TL_E_INVALID, "Avro does not support the column name '%s'", field);
    TL_CLEANUP(tl_freep) char *name = tl_strf("%s_%s", record_name, field);
    if (name == NULL || tl_buf_appendf(t->out, "{\"name\":\"%s\",\"type\":", field) != TL_OK)
        return tl_nomem(t->err, "Avro schema");
    TL_TRY(put_type(t, type, nullable, name));
    return put(t, nullable && with_default ? ",\"default\":null}" : "}");
}

static tl_status put_row(schema_text *t, const tl_type *row, const char *name, bool top)
{
    TL_TRY(begin_record(t, name, top));
    for (int32_t i = 0; i < row->n_fields; i++) {
        if (i > 0)
            TL_TRY(put(t, ","));
        TL_TRY(put_field(t, row->fields[i].name, row->fields[i].type, row->fields[i].type->nullable, name,
                         /* with_default= */ true));
    }
    return put(t, "]}");
}

bool tl_avro__is_string_map(const tl_type *map)
{
    return map->fields[0].type->kind == TL_CHAR || map->fields[0].type->kind == TL_VARCHAR;
}

/* Maps of strings are Avro maps; others are arrays of entries. A multiset's counts are nullable in the reference. */
static tl_status put_map(schema_text *t, const tl_type *map, const char *name)
{
    const tl_type *key = map->fields[0].type, *value = map->fields[1].type;
    bool nullable_value = map->kind == TL_MULTISET || value->nullable;
    if (tl_avro__is_string_map(map)) {
        TL_TRY(put(t, "{\"type\":\"map\",\"values\":"));
        TL_TRY(put_type(t, value, nullable_value, name));
        return put(t, "}");
    }
    TL_TRY(put(t, "{\"type\":\"array\",\"items\":"));
    TL_TRY(begin_record(t, name, /* top= */ false));
    TL_TRY(put_field(t, "key", key, key->nullable, name, /* with_default= */ false));
    TL_TRY(put(t, ","));
    TL_TRY(put_field(t, "value", value, nullable_value, name, /* with_default= */ true));
    return put(t, "]},\"logicalType\":\"map\"}");
}

static tl_status put_timestamp(schema_text *t, const tl_type *type)
{
    if (type->precision > 6)
        return refuse(t, type);
    return tl_buf_appendf(t->out, "{\"type\":\"long\",\"logicalType\":\"%stimestamp-%s\"}",
                          type->kind == TL_TIMESTAMP ? "" : "local-", type->precision <= 3 ? "millis" : "micros") == TL_OK
               ? TL_OK
               : tl_nomem(t->err, "Avro schema");
}

static tl_status put_plain(schema_text *t, const tl_type *type, const char *name)
{
    switch (type->kind) {
    case TL_BOOLEAN:
        return put(t, "\"boolean\"");
    case TL_TINYINT:
    case TL_SMALLINT:
    case TL_INT:
        return put(t, "\"int\"");
    case TL_BIGINT:
        return put(t, "\"long\"");
    case TL_FLOAT:
        return put(t, "\"float\"");
    case TL_DOUBLE:
        return put(t, "\"double\"");
    case TL_CHAR:
    case TL_VARCHAR:
        return put(t, "\"string\"");
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return put(t, "\"bytes\"");
    case TL_DECIMAL:
        return tl_buf_appendf(t->out, "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d}",
                              type->precision, type->scale) == TL_OK
                   ? TL_OK
                   : tl_nomem(t->err, "Avro schema");
    case TL_DATE:
        return put(t, "{\"type\":\"int\",\"logicalType\":\"date\"}");
    case TL_TIME:
        return type->precision > 3 ? refuse(t, type) : put(t, "{\"type\":\"int\",\"logicalType\":\"time-millis\"}");
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return put_timestamp(t, type);
    case TL_ARRAY:
    case TL_VECTOR:
        TL_TRY(put(t, "{\"type\":\"array\",\"items\":"));
        TL_TRY(put_type(t, type->fields[0].type, type->fields[0].type->nullable, name));
        return put(t, "}");
    case TL_MAP:
    case TL_MULTISET:
        return put_map(t, type, name);
    case TL_ROW:
        return put_row(t, type, name, /* top= */ false);
    default:
        return refuse(t, type);
    }
}

static tl_status put_type(schema_text *t, const tl_type *type, bool nullable, const char *name)
{
    if (nullable)
        TL_TRY(put(t, "[\"null\","));
    TL_TRY(put_plain(t, type, name));
    return nullable ? put(t, "]") : TL_OK;
}

tl_status tl_avro__type_schema(const tl_type *row_type, tl_buf *out, tl_error *err)
{
    schema_text t = {.out = out, .err = err};
    tl_status status = put_row(&t, row_type, "record", /* top= */ true);
    tl_map_deinit(&t.names);
    return status;
}

bool tl_avro_can_hold(const tl_type *row_type)
{
    tl_buf text = {0};
    tl_error err;
    bool can = tl_avro__type_schema(row_type, &text, &err) == TL_OK;
    tl_buf_deinit(&text);
    return can;
}
