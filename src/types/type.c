/*
 * Data types: construction, equality, physical layout.
 *
 * A type is immutable after creation; references are counted atomically. Depth is checked at creation, so that every
 * recursion over types or columns in the program is bounded by TL_TYPE_DEPTH_MAX.
 */
#include "types/type.h"

#include "types/types_private.h"

void tl_type_unref(const tl_type *type)
{
    tl_type *t = (tl_type *)(uintptr_t)type;
    if (t == NULL || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    tl_type__fields_free(t->fields, t->n_fields);
    tl_free(t);
}

const tl_type *tl_type_ref(const tl_type *type)
{
    __atomic_add_fetch(&((tl_type *)(uintptr_t)type)->refs, 1, __ATOMIC_RELAXED);
    return type;
}

void tl_type__fields_free(tl_field *fields, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        tl_free(fields[i].name);
        tl_type_unref(fields[i].type);
        tl_free(fields[i].description);
        tl_free(fields[i].default_value);
    }
    tl_free(fields);
}

static tl_type *type_alloc(tl_type_kind kind, bool nullable)
{
    tl_type *type = tl_calloc(1, sizeof *type);
    if (type != NULL) {
        type->kind = kind;
        type->nullable = nullable;
        type->depth = 1;
        type->refs = 1;
    }
    return type;
}

static tl_status dup_text(const char *from, char **to, tl_error *err)
{
    if (from != NULL && (*to = tl_strdup(from)) == NULL)
        return tl_nomem(err, "type");
    return TL_OK;
}

/* The fields of `type` become copies; on failure the caller unrefs the half-built type. */
static tl_status set_fields(tl_type *type, const tl_field *fields, int32_t n_fields, tl_error *err)
{
    if (n_fields < 0 || n_fields > TL_TYPE_FIELDS_MAX)
        return tl_error_set(err, TL_E_LIMIT, "type with %d fields: at most %d are supported", n_fields, TL_TYPE_FIELDS_MAX);
    type->fields = tl_calloc((size_t)TL_MAX(n_fields, 1), sizeof *type->fields);
    if (type->fields == NULL)
        return tl_nomem(err, "type");
    for (int32_t i = 0; i < n_fields; i++) {
        tl_field *field = &type->fields[i];
        field->id = fields[i].id;
        field->type = tl_type_ref(fields[i].type);
        type->n_fields = i + 1;
        TL_TRY(dup_text(fields[i].name, &field->name, err));
        TL_TRY(dup_text(fields[i].description, &field->description, err));
        TL_TRY(dup_text(fields[i].default_value, &field->default_value, err));
        type->depth = TL_MAX(type->depth, field->type->depth + 1);
    }
    if (type->depth > TL_TYPE_DEPTH_MAX)
        return tl_error_set(err, TL_E_LIMIT, "type nested deeper than %d levels", TL_TYPE_DEPTH_MAX);
    return TL_OK;
}

static tl_status create_nested(tl_type_kind kind, bool nullable, const tl_field *fields, int32_t n, const tl_type **out,
                               tl_error *err)
{
    tl_type *type = type_alloc(kind, nullable);
    if (type == NULL)
        return tl_nomem(err, "type");
    tl_status status = set_fields(type, fields, n, err);
    if (status != TL_OK)
        tl_type_unref(type);
    else
        *out = type;
    return status;
}

/* Range checks as in the reference's constructors (Java: CharType, DecimalType, TimestampType, …). */
static tl_status check_parameters(tl_type_kind kind, int32_t a, int32_t b, tl_error *err)
{
    switch (kind) {
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_BINARY:
    case TL_VARBINARY:
        if (a < 1)
            return tl_error_set(err, TL_E_INVALID, "length of a string type must be between 1 and %d, not %d", TL_LENGTH_MAX,
                                a);
        return TL_OK;
    case TL_DECIMAL:
        if (a < 1 || a > 38)
            return tl_error_set(err, TL_E_INVALID, "precision of DECIMAL must be between 1 and 38, not %d", a);
        if (b < 0 || b > a)
            return tl_error_set(err, TL_E_INVALID, "scale of DECIMAL must be between 0 and the precision %d, not %d", a, b);
        return TL_OK;
    case TL_TIME:
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        if (a < 0 || a > 9)
            return tl_error_set(err, TL_E_INVALID, "precision of TIME and TIMESTAMP must be between 0 and 9, not %d", a);
        return TL_OK;
    case TL_ARRAY:
    case TL_MAP:
    case TL_MULTISET:
    case TL_ROW:
    case TL_VECTOR:
    case TL_TYPE_KIND_COUNT:
        return tl_error_set(err, TL_E_INVALID, "type kind %d is no scalar type", (int)kind);
    default:
        return TL_OK;
    }
}

static tl_status create_variant(bool nullable, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *bytes = NULL;
    TL_TRY(tl_type_create(TL_VARBINARY, false, TL_LENGTH_MAX, 0, &bytes, err));
    const tl_field fields[2] = {{"value", 0, bytes, NULL, NULL}, {"metadata", 1, bytes, NULL, NULL}};
    return create_nested(TL_VARIANT, nullable, fields, 2, out, err);
}

tl_status tl_type_create(tl_type_kind kind, bool nullable, int32_t a, int32_t b, const tl_type **out, tl_error *err)
{
    TL_TRY(check_parameters(kind, a, b, err));
    if (kind == TL_VARIANT)
        return create_variant(nullable, out, err);
    tl_type *type = type_alloc(kind, nullable);
    if (type == NULL)
        return tl_nomem(err, "type");
    if (kind == TL_CHAR || kind == TL_VARCHAR || kind == TL_BINARY || kind == TL_VARBINARY)
        type->length = a;
    if (kind == TL_DECIMAL || kind == TL_TIME || kind == TL_TIMESTAMP || kind == TL_TIMESTAMP_LTZ)
        type->precision = a;
    if (kind == TL_DECIMAL)
        type->scale = b;
    *out = type;
    return TL_OK;
}

tl_status tl_type_create_array(bool nullable, const tl_type *element, const tl_type **out, tl_error *err)
{
    const tl_field fields[1] = {{"element", -1, element, NULL, NULL}};
    return create_nested(TL_ARRAY, nullable, fields, 1, out, err);
}

/* Java: VectorType#isValidElementType. */
static bool is_vector_element(const tl_type *type)
{
    return type->kind <= TL_DOUBLE;
}

static tl_status check_vector(int32_t length, const tl_type *element, tl_error *err)
{
    tl_buf name = {0};
    if (length < 1)
        return tl_error_set(err, TL_E_INVALID, "length of a VECTOR must be between 1 and %d, not %d", TL_LENGTH_MAX, length);
    if (is_vector_element(element))
        return TL_OK;
    bool named = tl_type_format(element, &name) == TL_OK && tl_buf_append_byte(&name, 0) == TL_OK;
    tl_status status = tl_error_set(err, TL_E_INVALID, "elements of a VECTOR are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT or DOUBLE, not %.100s",
                                    named ? (char *)name.data : "that");
    tl_buf_deinit(&name);
    return status;
}

tl_status tl_type_create_vector(bool nullable, int32_t length, const tl_type *element, const tl_type **out, tl_error *err)
{
    const tl_field fields[1] = {{"element", -1, element, NULL, NULL}};
    const tl_type *type = NULL;
    TL_TRY(check_vector(length, element, err));
    TL_TRY(create_nested(TL_VECTOR, nullable, fields, 1, &type, err));
    ((tl_type *)(uintptr_t)type)->length = length;
    *out = type;
    return TL_OK;
}

tl_status tl_type_array_of_vector(const tl_type *vector, const tl_type **out, tl_error *err)
{
    return tl_type_create_array(vector->nullable, vector->fields[0].type, out, err);
}

static tl_status with_fields(const tl_type *type, const tl_field *fields, const tl_type **out, tl_error *err)
{
    if (type->kind == TL_VECTOR)
        return tl_type_create_array(type->nullable, fields[0].type, out, err);
    return create_nested(type->kind, type->nullable, fields, type->n_fields, out, err);
}

tl_status tl_type_vectors_as_arrays(const tl_type *type, const tl_type **out, tl_error *err)
{
    if (type->n_fields == 0) {
        *out = tl_type_ref(type);
        return TL_OK;
    }
    tl_field *fields = tl_memdup(type->fields, (size_t)type->n_fields * sizeof *fields);
    tl_status status = fields == NULL ? tl_nomem(err, "type") : TL_OK;
    int32_t n = 0;
    for (; n < type->n_fields && status == TL_OK; n++) {
        fields[n].type = NULL;
        status = tl_type_vectors_as_arrays(type->fields[n].type, &fields[n].type, err);
    }
    if (status == TL_OK)
        status = with_fields(type, fields, out, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    tl_free(fields);
    return status;
}

tl_status tl_type_create_map(bool nullable, const tl_type *key, const tl_type *value, const tl_type **out, tl_error *err)
{
    const tl_field fields[2] = {{"key", -1, key, NULL, NULL}, {"value", -1, value, NULL, NULL}};
    return create_nested(TL_MAP, nullable, fields, 2, out, err);
}

tl_status tl_type_create_multiset(bool nullable, const tl_type *element, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *count = NULL;
    TL_TRY(tl_type_create(TL_INT, false, 0, 0, &count, err));
    const tl_field fields[2] = {{"element", -1, element, NULL, NULL}, {"count", -1, count, NULL, NULL}};
    return create_nested(TL_MULTISET, nullable, fields, 2, out, err);
}

tl_status tl_type_create_row(bool nullable, const tl_field *fields, int32_t n_fields, const tl_type **out, tl_error *err)
{
    return create_nested(TL_ROW, nullable, fields, n_fields, out, err);
}

tl_status tl_type_with_nullable(const tl_type *type, bool nullable, const tl_type **out, tl_error *err)
{
    if (type->nullable == nullable) {
        *out = tl_type_ref(type);
        return TL_OK;
    }
    if (type->kind == TL_VECTOR)
        return tl_type_create_vector(nullable, type->length, type->fields[0].type, out, err);
    if (type->n_fields > 0 || type->kind == TL_ROW)
        return create_nested(type->kind, nullable, type->fields, type->n_fields, out, err);
    bool has_length =
        type->kind == TL_CHAR || type->kind == TL_VARCHAR || type->kind == TL_BINARY || type->kind == TL_VARBINARY;
    return tl_type_create(type->kind, nullable, has_length ? type->length : type->precision, type->scale, out, err);
}

tl_status tl_type_project(const tl_type *row, const int32_t *indices, int32_t n, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_alloc((size_t)TL_MAX(n, 1) * sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "type");
    for (int32_t i = 0; i < n; i++) {
        if (indices[i] < 0 || indices[i] >= row->n_fields)
            return tl_error_set(err, TL_E_INVALID, "column %d of a row of %d columns", indices[i], row->n_fields);
        fields[i] = row->fields[indices[i]];
    }
    return tl_type_create_row(row->nullable, fields, n, out, err);
}

bool tl_type_equal(const tl_type *a, const tl_type *b, bool with_nullable)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->length != b->length || a->precision != b->precision || a->scale != b->scale ||
        a->n_fields != b->n_fields || (with_nullable && a->nullable != b->nullable))
        return false;
    for (int32_t i = 0; i < a->n_fields; i++)
        if (strcmp(a->fields[i].name, b->fields[i].name) != 0 ||
            !tl_type_equal(a->fields[i].type, b->fields[i].type, with_nullable))
            return false;
    return true;
}

bool tl_type_same(const tl_type *a, const tl_type *b)
{
    if (a == b)
        return true;
    if (a->n_fields != b->n_fields || !tl_type_equal(a, b, /* with_nullable= */ false))
        return false;
    for (int32_t i = 0; i < a->n_fields; i++) {
        if (a->fields[i].id != b->fields[i].id || !tl_type_same(a->fields[i].type, b->fields[i].type))
            return false;
    }
    return true;
}

tl_phys tl_type_phys(const tl_type *type)
{
    switch (type->kind) {
    case TL_BOOLEAN:
        return TL_PHYS_BOOL;
    case TL_TINYINT:
        return TL_PHYS_I8;
    case TL_SMALLINT:
        return TL_PHYS_I16;
    case TL_INT:
    case TL_DATE:
    case TL_TIME:
        return TL_PHYS_I32;
    case TL_BIGINT:
        return TL_PHYS_I64;
    case TL_FLOAT:
        return TL_PHYS_F32;
    case TL_DOUBLE:
        return TL_PHYS_F64;
    case TL_DECIMAL:
        return type->precision <= 18 ? TL_PHYS_I64 : TL_PHYS_I128;
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return type->precision <= 6 ? TL_PHYS_I64 : TL_PHYS_TS96;
    case TL_ARRAY:
    case TL_VECTOR:
        return TL_PHYS_LIST;
    case TL_MAP:
    case TL_MULTISET:
        return TL_PHYS_MAP;
    case TL_ROW:
    case TL_VARIANT:
        return TL_PHYS_ROW;
    default:
        return TL_PHYS_BYTES;
    }
}

int tl_phys_width(tl_phys phys)
{
    static const uint8_t width[] = {
        [TL_PHYS_BOOL] = 1,  [TL_PHYS_I8] = 1,  [TL_PHYS_I16] = 2, [TL_PHYS_I32] = 4,   [TL_PHYS_I64] = 8,
        [TL_PHYS_I128] = 16, [TL_PHYS_F32] = 4, [TL_PHYS_F64] = 8, [TL_PHYS_TS96] = 16, [TL_PHYS_ROW] = 0,
    };
    return width[phys];
}

int32_t tl_type_field_index(const tl_type *row, const char *name)
{
    for (int32_t i = 0; i < row->n_fields; i++)
        if (strcmp(row->fields[i].name, name) == 0)
            return i;
    return -1;
}

int32_t tl_type_field_index_by_id(const tl_type *row, int32_t id)
{
    for (int32_t i = 0; i < row->n_fields; i++)
        if (row->fields[i].id == id)
            return i;
    return -1;
}
