/*
 * Shredded variants put together again: parts of a value that were stored as typed columns become bytes of one VARIANT.
 *
 * A shredded value is a group of `value` (what did not fit the type, as variant bytes) and `typed_value`; at most one of the two
 * is there, but for an object, whose `value` holds the fields that have no column. Neither: the field is missing, an element of
 * an array (and the whole value) is a JSON null. Source: https://github.com/apache/parquet-format/blob/master/VariantShredding.md
 */
#include "types/number.h"
#include "types/types_private.h"
#include "types/variant.h"
#include "types/variant_private.h"

/* A group of value and typed_value. */
typedef struct part part;
struct part {
    const tl_column *group; /* may be null itself: missing */
    const tl_column *value; /* NULL: not stored */
    const tl_column *typed; /* NULL: not stored */
    int primitive;          /* of a scalar */
    tl_bytes_view name;     /* field of an object */
    size_t id;              /* of the name in `keys_of`'s metadata, SIZE_MAX if it has no such key */
    int32_t n_parts;        /* fields of an object, or the one element of an array */
    part *parts;
};

typedef struct joiner {
    tl_arena arena;
    const tl_column *metadata_col;
    part top;
    tl_bytes_view metadata; /* of the row; part.id is true for it */
    tl_buf *out;
    tl_error *err;
} joiner;

static tl_status no_memory(const joiner *j)
{
    return tl_nomem(j->err, "shredded VARIANT");
}

static tl_status invalid(const joiner *j, const char *why)
{
    return tl_error_set(j->err, TL_E_CORRUPT, "shredded VARIANT: %s", why);
}

/* ---- parts out of columns ---- */

static tl_status find_parts(joiner *j, const tl_column *group, part *out);

static tl_status find_fields(joiner *j, part *p)
{
    const tl_type *type = p->typed->type;
    p->n_parts = p->typed->phys == TL_PHYS_LIST ? 1 : type->n_fields;
    p->parts = tl_arena_calloc(&j->arena, (size_t)p->n_parts, sizeof *p->parts);
    if (p->parts == NULL)
        return no_memory(j);
    for (int32_t i = 0; i < p->n_parts; i++) {
        part *child = &p->parts[i];
        TL_TRY(find_parts(j, p->typed->children[i], child));
        if (p->typed->phys == TL_PHYS_ROW)
            child->name = (tl_bytes_view){(const uint8_t *)type->fields[i].name, strlen(type->fields[i].name)};
    }
    return TL_OK;
}

static int primitive_of(const tl_field *field)
{
    static const int8_t of_kind[TL_TYPE_KIND_COUNT] = {
        [TL_BOOLEAN] = TL_VARIANT__TRUE,  [TL_TINYINT] = TL_VARIANT__INT1,   [TL_SMALLINT] = TL_VARIANT__INT2,
        [TL_INT] = TL_VARIANT__INT4,      [TL_BIGINT] = TL_VARIANT__INT8,    [TL_FLOAT] = TL_VARIANT__FLOAT,
        [TL_DOUBLE] = TL_VARIANT__DOUBLE, [TL_DECIMAL] = TL_VARIANT__DECIMAL16, [TL_CHAR] = TL_VARIANT__LONG_STR,
        [TL_VARCHAR] = TL_VARIANT__LONG_STR, [TL_BINARY] = TL_VARIANT__UUID, [TL_VARBINARY] = TL_VARIANT__BINARY,
        [TL_DATE] = TL_VARIANT__DATE,
    };
    bool is_nanos = field->type->precision > 6;
    if (field->type->kind == TL_TIMESTAMP)
        return is_nanos ? TL_VARIANT__TIMESTAMP_NTZ_NANOS : TL_VARIANT__TIMESTAMP_NTZ;
    if (field->type->kind == TL_TIMESTAMP_LTZ)
        return is_nanos ? TL_VARIANT__TIMESTAMP_NANOS : TL_VARIANT__TIMESTAMP;
    return field->id == TL_VARIANT_TIME_ID ? TL_VARIANT__TIME : of_kind[field->type->kind];
}

static tl_status find_parts(joiner *j, const tl_column *group, part *out)
{
    *out = (part){.group = group, .id = SIZE_MAX};
    for (int32_t i = 0; i < group->n_children; i++) {
        const tl_field *field = &group->type->fields[i];
        if (strcmp(field->name, "value") == 0)
            out->value = group->children[i];
        else if (strcmp(field->name, "metadata") == 0)
            j->metadata_col = group->children[i];
        else
            out->typed = group->children[i], out->primitive = primitive_of(field);
    }
    bool is_nested = out->typed != NULL && (out->typed->phys == TL_PHYS_ROW || out->typed->phys == TL_PHYS_LIST);
    return is_nested ? find_fields(j, out) : TL_OK;
}

static void find_ids(part *p, tl_bytes_view key, size_t id)
{
    for (int32_t i = 0; i < p->n_parts; i++) {
        if (p->typed->phys == TL_PHYS_ROW && tl_bytes_equal(p->parts[i].name, key))
            p->parts[i].id = id;
        find_ids(&p->parts[i], key, id);
    }
}

static void forget_ids(part *p)
{
    p->id = SIZE_MAX;
    for (int32_t i = 0; i < p->n_parts; i++)
        forget_ids(&p->parts[i]);
}

/* Rows of one file mostly have the same metadata. */
static tl_status use_metadata(joiner *j, tl_bytes_view metadata)
{
    size_t count;
    if (j->metadata.data != NULL && tl_bytes_equal(j->metadata, metadata))
        return TL_OK;
    TL_TRY(tl_variant__key_count(metadata, &count, j->err));
    forget_ids(&j->top);
    for (size_t i = 0; i < count; i++) {
        tl_bytes_view key;
        TL_TRY(tl_variant__key(metadata, i, &key, j->err));
        find_ids(&j->top, key, i);
    }
    j->metadata = metadata;
    return TL_OK;
}

/* ---- scalars ---- */

static tl_status put_number(const joiner *j, int primitive, uint64_t v, size_t bytes)
{
    TL_TRY(tl_variant__put_header(j->out, (unsigned)primitive, TL_VARIANT__PRIMITIVE, j->err));
    return tl_variant__put(j->out, v, bytes, j->err);
}

static tl_status put_bits(const joiner *j, int primitive, const tl_column *col, int64_t row)
{
    uint64_t bits = 0;
    size_t bytes = primitive == TL_VARIANT__FLOAT ? 4 : 8;
    memcpy(&bits, (const uint8_t *)col->values + (size_t)row * bytes, bytes);
    return put_number(j, primitive, bits, bytes);
}

static tl_status put_timestamp(const joiner *j, const part *p, int64_t row)
{
    const tl_column *col = p->typed;
    int64_t ticks;
    if (col->phys == TL_PHYS_TS96) { /* nanoseconds */
        tl_ts96 ts = tl_col_ts96(col, row);
        if (__builtin_mul_overflow(ts.millis, 1000000, &ticks) || __builtin_add_overflow(ticks, ts.nanos, &ticks))
            return invalid(j, "a timestamp of nanoseconds is out of range");
    } else if (__builtin_mul_overflow(tl_col_i64(col, row), col->type->precision <= 3 ? 1000 : 1, &ticks)) {
        return invalid(j, "a timestamp is out of range");
    }
    return put_number(j, p->primitive, (uint64_t)ticks, 8);
}

static tl_status put_bytes(const joiner *j, const part *p, int64_t row)
{
    tl_bytes_view bytes = tl_col_bytes(p->typed, row);
    if (p->primitive == TL_VARIANT__LONG_STR)
        return tl_variant__put_string(j->out, bytes, j->err);
    TL_TRY(tl_variant__put_header(j->out, (unsigned)p->primitive, TL_VARIANT__PRIMITIVE, j->err));
    if (p->primitive == TL_VARIANT__BINARY)
        TL_TRY(tl_variant__put(j->out, bytes.len, 4, j->err));
    else if (bytes.len != 16)
        return invalid(j, "a UUID has not 16 bytes");
    return tl_buf_append(j->out, bytes.data, bytes.len) == TL_OK ? TL_OK : no_memory(j);
}

static tl_status put_scalar(const joiner *j, const part *p, int64_t row)
{
    const tl_column *col = p->typed;
    const tl_type *type = col->type;
    switch (p->primitive) {
    case TL_VARIANT__TRUE:
        return tl_variant__put_header(j->out, tl_col_bool(col, row) ? TL_VARIANT__TRUE : TL_VARIANT__FALSE, TL_VARIANT__PRIMITIVE, j->err);
    case TL_VARIANT__INT1:
    case TL_VARIANT__INT2:
    case TL_VARIANT__INT4:
    case TL_VARIANT__INT8:
        return put_number(j, p->primitive, (uint64_t)tl_col_integer(col, row), (size_t)1 << (p->primitive - TL_VARIANT__INT1));
    case TL_VARIANT__DATE:
        return put_number(j, p->primitive, (uint64_t)tl_col_integer(col, row), 4);
    case TL_VARIANT__TIME:
        return put_number(j, p->primitive, (uint64_t)tl_col_i64(col, row), 8);
    case TL_VARIANT__FLOAT:
    case TL_VARIANT__DOUBLE:
        return put_bits(j, p->primitive, col, row);
    case TL_VARIANT__DECIMAL16:
        return tl_variant__put_decimal(j->out, col->phys == TL_PHYS_I128 ? tl_col_i128(col, row) : tl_col_i64(col, row), type->scale,
                                       type->precision, j->err);
    case TL_VARIANT__TIMESTAMP:
    case TL_VARIANT__TIMESTAMP_NTZ:
    case TL_VARIANT__TIMESTAMP_NANOS:
    case TL_VARIANT__TIMESTAMP_NTZ_NANOS:
        return put_timestamp(j, p, row);
    default:
        return put_bytes(j, p, row);
    }
}

/* ---- nested ---- */

static tl_status put_part(joiner *j, const part *p, int64_t row, bool *is_there);

static tl_status put_null(const joiner *j)
{
    return tl_variant__put_header(j->out, TL_VARIANT__NULL, TL_VARIANT__PRIMITIVE, j->err);
}

static tl_status put_array(joiner *j, const part *p, int64_t row)
{
    int32_t from = p->typed->offsets[row], n = p->typed->offsets[row + 1] - from;
    size_t start = j->out->len;
    tl_variant__field *elements = tl_calloc((size_t)n + 1, sizeof *elements);
    if (elements == NULL)
        return no_memory(j);
    tl_status status = TL_OK;
    for (int32_t i = 0; i < n && status == TL_OK; i++) {
        bool is_there;
        elements[i].offset = j->out->len - start;
        status = put_part(j, &p->parts[0], from + i, &is_there);
        if (status == TL_OK && !is_there)
            status = put_null(j);
    }
    if (status == TL_OK)
        status = tl_variant__close(j->out, start, elements, (size_t)n, /* is_object= */ false, j->err);
    tl_free(elements);
    return status;
}

/* A column of the object has the name: it counts, whatever `value` says. */
static bool has_column(const part *p, tl_bytes_view name)
{
    for (int32_t i = 0; i < p->n_parts; i++) {
        if (tl_bytes_equal(p->parts[i].name, name))
            return true;
    }
    return false;
}

static tl_status put_column_fields(joiner *j, const part *p, int64_t row, size_t start, tl_variant__field *fields, size_t *n)
{
    for (int32_t i = 0; i < p->n_parts; i++) {
        const part *child = &p->parts[i];
        size_t offset = j->out->len - start;
        bool is_there;
        TL_TRY(put_part(j, child, row, &is_there));
        if (!is_there)
            continue;
        if (child->id == SIZE_MAX)
            return tl_error_set(j->err, TL_E_CORRUPT, "shredded VARIANT: its metadata has no key '%.*s'", (int)TL_MIN(child->name.len, 100),
                                (const char *)child->name.data);
        fields[(*n)++] = (tl_variant__field){child->name, child->id, offset};
    }
    return TL_OK;
}

static tl_status put_other_fields(joiner *j, const part *p, tl_bytes_view value, const tl_variant__nested *object, size_t start,
                                  tl_variant__field *fields, size_t *n)
{
    for (size_t i = 0; i < object->count; i++) {
        tl_bytes_view name;
        size_t bytes, id = (size_t)tl_variant__read(value.data + object->ids + i * object->id_bytes, object->id_bytes);
        size_t pos = object->data + (size_t)tl_variant__read(value.data + object->offsets + i * object->offset_bytes, object->offset_bytes);
        TL_TRY(tl_variant__key(j->metadata, id, &name, j->err));
        if (has_column(p, name))
            continue;
        TL_TRY(tl_variant__size(value, pos, &bytes, j->err));
        fields[(*n)++] = (tl_variant__field){name, id, j->out->len - start};
        if (tl_buf_append(j->out, value.data + pos, bytes) != TL_OK)
            return no_memory(j);
    }
    return TL_OK;
}

static tl_status put_object(joiner *j, const part *p, int64_t row, tl_bytes_view rest)
{
    tl_variant__nested object = {0};
    if (rest.len > 0) {
        if ((rest.data[0] & 3) != TL_VARIANT__OBJECT)
            return invalid(j, "a value that is no object has fields in columns");
        TL_TRY(tl_variant__nested_at(rest, 0, &object, j->err));
    }
    size_t start = j->out->len, n = 0;
    tl_variant__field *fields = tl_calloc((size_t)p->n_parts + object.count + 1, sizeof *fields);
    if (fields == NULL)
        return no_memory(j);
    tl_status status = put_column_fields(j, p, row, start, fields, &n);
    if (status == TL_OK)
        status = put_other_fields(j, p, rest, &object, start, fields, &n);
    if (status == TL_OK)
        status = tl_variant__sort(fields, n, j->err);
    if (status == TL_OK)
        status = tl_variant__close(j->out, start, fields, n, /* is_object= */ true, j->err);
    tl_free(fields);
    return status;
}

/* The bytes of `value` as they are; its own size must be theirs. */
static tl_status put_untyped(const joiner *j, tl_bytes_view value)
{
    size_t bytes;
    TL_TRY(tl_variant__size(value, 0, &bytes, j->err));
    if (bytes != value.len)
        return invalid(j, "bytes follow a value");
    return tl_buf_append(j->out, value.data, value.len) == TL_OK ? TL_OK : no_memory(j);
}

static tl_status put_part(joiner *j, const part *p, int64_t row, bool *is_there)
{
    bool has_group = !tl_col_is_null(p->group, row);
    bool has_value = has_group && p->value != NULL && !tl_col_is_null(p->value, row);
    bool has_typed = has_group && p->typed != NULL && !tl_col_is_null(p->typed, row);
    bool is_object = has_typed && p->typed->phys == TL_PHYS_ROW;
    tl_bytes_view value = has_value ? tl_col_bytes(p->value, row) : (tl_bytes_view){0};
    *is_there = has_value || has_typed;
    if (j->out->len > TL_VARIANT_BYTES_MAX)
        return tl_error_set(j->err, TL_E_LIMIT, "VARIANTs of more than %d bytes in a batch", TL_VARIANT_BYTES_MAX);
    if (has_value && has_typed && !is_object)
        return invalid(j, "a value has both of its forms");
    if (has_value && value.len == 0)
        return invalid(j, "a value has no bytes");
    if (!has_typed)
        return has_value ? put_untyped(j, value) : TL_OK;
    if (is_object)
        return put_object(j, p, row, value);
    return p->typed->phys == TL_PHYS_LIST ? put_array(j, p, row) : put_scalar(j, p, row);
}

/* ---- columns ---- */

static tl_status put_rows(joiner *j, const tl_column *shredded, tl_column *values)
{
    for (int64_t row = 0; row < shredded->length; row++) {
        bool is_there = true;
        if (!tl_col_is_null(shredded, row)) {
            if (tl_col_is_null(j->metadata_col, row))
                return invalid(j, "a value has no metadata");
            TL_TRY(use_metadata(j, tl_col_bytes(j->metadata_col, row)));
            TL_TRY(put_part(j, &j->top, row, &is_there));
        }
        if (!is_there)
            TL_TRY(put_null(j));
        values->offsets[row + 1] = (int32_t)j->out->len; /* bounded by TL_VARIANT_BYTES_MAX and one value */
    }
    return TL_OK;
}

static tl_status join_values(const tl_column *shredded, const tl_type *type, const tl_column **metadata, tl_column **out, tl_error *err)
{
    tl_buf bytes = {0};
    joiner j = {.out = &bytes, .err = err};
    TL_CLEANUP(tl_column_unrefp) tl_column *values = NULL;
    tl_status status = find_parts(&j, shredded, &j.top);
    if (status == TL_OK && j.metadata_col == NULL)
        status = invalid(&j, "there is no metadata");
    if (status == TL_OK)
        status = tl_column_alloc(type, shredded->length, &values, err);
    if (status == TL_OK)
        status = put_rows(&j, shredded, values);
    if (status == TL_OK && tl_buf_reserve(&bytes, TL_BYTES_SLACK) != TL_OK)
        status = no_memory(&j);
    tl_arena_deinit(&j.arena);
    if (status != TL_OK) {
        tl_buf_deinit(&bytes);
        return status;
    }
    tl_free(values->data);
    values->data = bytes.data;
    *metadata = j.metadata_col;
    *out = TL_STEAL(values);
    return TL_OK;
}

tl_status tl_variant_unshred(const tl_column *shredded, const tl_type *type, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    const tl_column *metadata;
    TL_TRY(tl_column__shell(type, shredded->length, &col, err));
    TL_TRY(join_values(shredded, type->fields[0].type, &metadata, &col->children[0], err));
    TL_TRY(tl_column_retype(metadata, type->fields[1].type, &col->children[1], err));
    if (shredded->validity != NULL) {
        size_t bytes = ((size_t)shredded->length + 7) / 8;
        col->validity = tl_alloc_aligned(bytes + 8);
        if (col->validity == NULL)
            return tl_nomem(err, "validity");
        memcpy(col->validity, shredded->validity, bytes);
    }
    col->null_count = shredded->null_count;
    *out = TL_STEAL(col);
    return TL_OK;
}
