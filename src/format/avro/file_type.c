/* The schema of a foreign file as a ROW, as far as Avro types have a counterpart. */
#include "format/avro/avro_private.h"

/* Named types let a short schema stand for a huge one; the ROW spells all of it out. */
#define NODES_MAX 100000

typedef struct builder {
    int nodes;
    tl_error *err;
} builder;

static tl_status type_of(builder *b, const tl_avro_schema *schema, const tl_type **out);

/* tl_type_create() arguments of a scalar; false for others. */
static bool scalar_type(const tl_avro_schema *s, tl_type_kind *kind, int32_t *a, int32_t *b)
{
    static const tl_type_kind plain[] = {
        [TL_AVRO_WIRE_BOOLEAN] = TL_BOOLEAN, [TL_AVRO_WIRE_INT] = TL_INT,       [TL_AVRO_WIRE_LONG] = TL_BIGINT,
        [TL_AVRO_WIRE_FLOAT] = TL_FLOAT,     [TL_AVRO_WIRE_DOUBLE] = TL_DOUBLE, [TL_AVRO_WIRE_BYTES] = TL_VARBINARY,
        [TL_AVRO_WIRE_STRING] = TL_VARCHAR,  [TL_AVRO_WIRE_FIXED] = TL_BINARY};
    if (s->wire == TL_AVRO_WIRE_NULL || s->wire > TL_AVRO_WIRE_FIXED)
        return false;
    *kind = plain[s->wire];
    *a = s->wire == TL_AVRO_WIRE_FIXED ? (int32_t)s->fixed_bytes : TL_LENGTH_MAX;
    *b = 0;
    bool is_long = s->wire == TL_AVRO_WIRE_LONG, is_int = s->wire == TL_AVRO_WIRE_INT;
    bool is_bytes = s->wire == TL_AVRO_WIRE_BYTES || s->wire == TL_AVRO_WIRE_FIXED;
    if (s->logical == TL_AVRO_LOGICAL_DECIMAL && is_bytes && s->precision >= 1 && s->precision <= 38 &&
        s->scale <= s->precision) {
        *kind = TL_DECIMAL;
        *a = s->precision;
        *b = s->scale;
    } else if (s->logical == TL_AVRO_LOGICAL_DATE && is_int) {
        *kind = TL_DATE;
    } else if ((s->logical == TL_AVRO_LOGICAL_TIME_MILLIS && is_int) ||
               (s->logical == TL_AVRO_LOGICAL_TIME_MICROS && is_long)) {
        *kind = TL_TIME;
        *a = 3;
    } else if (s->logical >= TL_AVRO_LOGICAL_TIMESTAMP_MILLIS && is_long) {
        int unit = (s->logical - TL_AVRO_LOGICAL_TIMESTAMP_MILLIS) % 3;
        *kind = s->logical < TL_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS ? TL_TIMESTAMP : TL_TIMESTAMP_LTZ;
        *a = unit == 0 ? 3 : unit == 1 ? 6 : 9;
    }
    return true;
}

static tl_status row_of(builder *b, const tl_avro_schema *record, const tl_type **out)
{
    size_t n = (size_t)record->n;
    tl_field *fields = tl_calloc(n + 1, sizeof *fields);
    tl_status status = fields == NULL ? tl_nomem(b->err, "Avro schema") : TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        fields[i].id = (int32_t)i;
        fields[i].name = tl_strndup((const char *)record->names[i].data, record->names[i].len);
        status = fields[i].name == NULL ? tl_nomem(b->err, "Avro schema") : type_of(b, record->children[i], &fields[i].type);
    }
    if (status == TL_OK)
        status = tl_type_create_row(/* nullable= */ false, fields, record->n, out, b->err);
    for (size_t i = 0; i < n && fields != NULL; i++) {
        tl_free(fields[i].name);
        tl_type_unref(fields[i].type);
    }
    tl_free(fields);
    return status;
}

static tl_status plain_type(builder *b, const tl_avro_schema *s, const tl_type **out)
{
    tl_type_kind kind;
    int32_t length, scale;
    if (scalar_type(s, &kind, &length, &scale))
        return tl_type_create(kind, /* nullable= */ false, length, scale, out, b->err);
    if (s->wire == TL_AVRO_WIRE_RECORD)
        return row_of(b, s, out);
    if (s->wire != TL_AVRO_WIRE_ARRAY && s->wire != TL_AVRO_WIRE_MAP)
        return tl_error_set(b->err, TL_E_UNSUPPORTED, "Avro type %s has no counterpart", tl_avro__wire_name(s->wire));
    TL_CLEANUP(tl_type_unrefp) const tl_type *item = NULL;
    TL_TRY(type_of(b, s->children[0], &item));
    if (s->wire == TL_AVRO_WIRE_ARRAY)
        return tl_type_create_array(/* nullable= */ false, item, out, b->err);
    TL_CLEANUP(tl_type_unrefp) const tl_type *key = NULL;
    TL_TRY(tl_type_create(TL_VARCHAR, /* nullable= */ false, TL_LENGTH_MAX, 0, &key, b->err));
    return tl_type_create_map(/* nullable= */ false, key, item, out, b->err);
}

static tl_status type_of(builder *b, const tl_avro_schema *schema, const tl_type **out)
{
    int branch;
    const tl_avro_schema *s = tl_avro__nullable(schema, &branch);
    if (++b->nodes > NODES_MAX)
        return tl_error_set(b->err, TL_E_LIMIT, "Avro schema: more than %d types", NODES_MAX);
    if (branch < 0)
        return plain_type(b, s, out);
    TL_CLEANUP(tl_type_unrefp) const tl_type *plain = NULL;
    TL_TRY(plain_type(b, s, &plain));
    return tl_type_with_nullable(plain, true, out, b->err);
}

tl_status tl_avro__file_type(tl_fs *fs, const char *path, const tl_type **out, tl_error *err)
{
    tl_format__input input;
    tl_avro_in in = {0};
    tl_status status = tl_format__input_open(fs, path, /* bytes= */ 0, &input, err);
    if (status == TL_OK)
        status = tl_avro__in_open(&in, (tl_bytes_view){NULL, 0}, input.file, input.bytes, err);
    if (status == TL_OK)
        status = row_of(&(builder){.err = err}, in.schema, out);
    tl_avro__in_deinit(&in);
    tl_format__input_close(&input);
    return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
}

static tl_status count_rows(tl_avro_in *in, int64_t *rows, tl_error *err)
{
    for (;;) {
        tl_bytes_view data;
        int64_t n;
        TL_TRY(tl_avro__in_next(in, &data, &n, err));
        if (data.data == NULL)
            return TL_OK;
        *rows += n;
    }
}

tl_status tl_avro__file_stats(tl_fs *fs, const char *path, const tl_type *row_type, tl_write_result *out, tl_error *err)
{
    tl_format__input input = {0};
    tl_avro_in in = {0};
    *out = (tl_write_result){.stats = tl_calloc((size_t)row_type->n_fields + 1, sizeof *out->stats)};
    if (out->stats == NULL)
        return tl_nomem(err, "file statistics");
    for (int32_t i = 0; i < row_type->n_fields; i++)
        out->stats[i].null_count = -1;
    out->n_stats = row_type->n_fields;
    tl_status status = tl_format__input_open(fs, path, /* bytes= */ 0, &input, err);
    out->bytes = input.bytes;
    if (status == TL_OK)
        status = tl_avro__in_open(&in, (tl_bytes_view){NULL, 0}, input.file, input.bytes, err);
    if (status == TL_OK)
        status = count_rows(&in, &out->rows, err);
    tl_avro__in_deinit(&in);
    tl_format__input_close(&input);
    if (status != TL_OK)
        tl_write_result_deinit(out);
    return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
}
