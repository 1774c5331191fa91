/*
 * Record types as Avro schemas (named as the reference names them, format reference §4) and as ROW types.
 * Java: AvroSchemaConverter.
 */
#include "format/avro/avro_private.h"

static tl_status put_record(tl_buf *out, const tl_avro_record *record, const char *name, bool top);

static tl_status put3(tl_buf *out, const char *a, const char *b, const char *c)
{
    TL_TRY(tl_buf_append_str(out, a));
    TL_TRY(tl_buf_append_str(out, b));
    return tl_buf_append_str(out, c);
}

static tl_status put_type(tl_buf *out, const tl_avro_field *field, const char *record_name)
{
    static const char *const texts[] = {
        [TL_AVRO_I32] = "\"int\"",
        [TL_AVRO_I8] = "\"int\"",
        [TL_AVRO_I64] = "\"long\"",
        [TL_AVRO_MILLIS] = "{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}",
        [TL_AVRO_STR] = "\"string\"",
        [TL_AVRO_BIN] = "\"bytes\"",
        [TL_AVRO_I32S] = "{\"type\":\"array\",\"items\":\"int\"}",
        [TL_AVRO_NULL_I64S] = "{\"type\":\"array\",\"items\":[\"null\",\"long\"]}",
        [TL_AVRO_STRS] = "{\"type\":\"array\",\"items\":\"string\"}",
    };
    if (field->kind != TL_AVRO_RECORD && field->kind != TL_AVRO_NULL_RECORDS)
        return tl_buf_append_str(out, texts[field->kind]);
    tl_buf name = {0};
    tl_status status = put3(&name, record_name, "_", field->name);
    if (status == TL_OK)
        status = tl_buf_append_byte(&name, 0);
    bool list = field->kind == TL_AVRO_NULL_RECORDS;
    if (status == TL_OK && list)
        status = tl_buf_append_str(out, "{\"type\":\"array\",\"items\":[\"null\",");
    if (status == TL_OK)
        status = put_record(out, field->record, (const char *)name.data, /* top= */ false);
    if (status == TL_OK && list)
        status = tl_buf_append_str(out, "]}");
    tl_buf_deinit(&name);
    return status;
}

static tl_status put_record(tl_buf *out, const tl_avro_record *record, const char *name, bool top)
{
    TL_TRY(put3(out, "{\"type\":\"record\",\"name\":\"", name, "\","));
    TL_TRY(tl_buf_append_str(out, top ? "\"namespace\":\"org.apache.paimon.avro.generated\",\"fields\":[" : "\"fields\":["));
    for (int32_t i = 0; i < record->n_fields; i++) {
        const tl_avro_field *f = &record->fields[i];
        TL_TRY(put3(out, i > 0 ? ",{\"name\":\"" : "{\"name\":\"", f->name, f->nullable ? "\",\"type\":[\"null\"," : "\",\"type\":"));
        TL_TRY(put_type(out, f, name));
        TL_TRY(tl_buf_append_str(out, f->nullable ? "],\"default\":null}" : "}"));
    }
    return tl_buf_append_str(out, "]}");
}

tl_status tl_avro_record_schema(const tl_avro_record *record, tl_buf *out)
{
    return put_record(out, record, "record", /* top= */ true);
}

/* Array of nullable or NOT NULL `kind`. */
static tl_status list_type(tl_type_kind kind, bool nullable_items, bool nullable, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *item = NULL;
    TL_TRY(tl_type_create(kind, nullable_items, TL_LENGTH_MAX, 0, &item, err));
    return tl_type_create_array(nullable, item, out, err);
}

static tl_status row_type(const tl_avro_record *record, bool nullable, const tl_type **out, tl_error *err);

static tl_status field_type(const tl_avro_field *f, const tl_type **out, tl_error *err)
{
    switch (f->kind) {
    case TL_AVRO_I32:
        return tl_type_create(TL_INT, f->nullable, 0, 0, out, err);
    case TL_AVRO_I8:
        return tl_type_create(TL_TINYINT, f->nullable, 0, 0, out, err);
    case TL_AVRO_I64:
        return tl_type_create(TL_BIGINT, f->nullable, 0, 0, out, err);
    case TL_AVRO_MILLIS:
        return tl_type_create(TL_TIMESTAMP, f->nullable, 3, 0, out, err);
    case TL_AVRO_STR:
        return tl_type_create(TL_VARCHAR, f->nullable, TL_LENGTH_MAX, 0, out, err);
    case TL_AVRO_BIN:
        return tl_type_create(TL_VARBINARY, f->nullable, TL_LENGTH_MAX, 0, out, err);
    case TL_AVRO_I32S:
        return list_type(TL_INT, false, f->nullable, out, err);
    case TL_AVRO_NULL_I64S:
        return list_type(TL_BIGINT, true, f->nullable, out, err);
    case TL_AVRO_STRS:
        return list_type(TL_VARCHAR, false, f->nullable, out, err);
    case TL_AVRO_RECORD:
        return row_type(f->record, f->nullable, out, err);
    case TL_AVRO_NULL_RECORDS: {
        TL_CLEANUP(tl_type_unrefp) const tl_type *item = NULL;
        TL_TRY(row_type(f->record, /* nullable= */ true, &item, err));
        return tl_type_create_array(f->nullable, item, out, err);
    }
    }
    return tl_error_set(err, TL_E_INTERNAL, "Avro field kind %d", f->kind);
}

static tl_status row_type(const tl_avro_record *record, bool nullable, const tl_type **out, tl_error *err)
{
    tl_field *fields = tl_calloc((size_t)record->n_fields, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "record type");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < record->n_fields && status == TL_OK; i++) {
        fields[i].name = (char *)record->fields[i].name; /* copied below */
        fields[i].id = i;
        status = field_type(&record->fields[i], &fields[i].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(nullable, fields, record->n_fields, out, err);
    for (int32_t i = 0; i < record->n_fields; i++)
        tl_type_unref(fields[i].type);
    tl_free(fields);
    return status;
}

tl_status tl_avro_record_type(const tl_avro_record *record, const tl_type **out, tl_error *err)
{
    return row_type(record, /* nullable= */ false, out, err);
}

void tl_avro_record_clear(const tl_avro_record *record, void *out)
{
    memset(out, 0, record->bytes);
    for (int32_t i = 0; i < record->n_fields; i++) {
        const tl_avro_field *f = &record->fields[i];
        void *at = (char *)out + f->offset;
        switch (f->kind) {
        case TL_AVRO_I32:
        case TL_AVRO_I8:
        case TL_AVRO_I64:
        case TL_AVRO_MILLIS:
            *(int64_t *)at = f->nullable ? TL_AVRO_ABSENT : 0;
            break;
        case TL_AVRO_I32S:
        case TL_AVRO_NULL_I64S:
            ((tl_avro_longs *)at)->n = f->nullable ? -1 : 0;
            break;
        case TL_AVRO_STRS:
            ((tl_avro_strs *)at)->n = f->nullable ? -1 : 0;
            break;
        case TL_AVRO_NULL_RECORDS:
            ((tl_avro_structs *)at)->n = f->nullable ? -1 : 0;
            break;
        case TL_AVRO_RECORD:
            tl_avro_record_clear(f->record, at);
            break;
        case TL_AVRO_STR:
        case TL_AVRO_BIN:
            break;
        }
    }
}
