/*
 * What VARIANT columns can be shredded into, found in their first rows (Java: InferVariantShreddingSchema).
 *
 * The types of the values are brought together one after the other; what does not go together stays a variant. Fields count how often they
 * occur, and rare ones are left out at the end, as is what would be more columns than allowed. Times, UUIDs and keys that cannot be
 * names of columns cannot be shredded: where the reference fails on them, they stay variants here.
 */
#include "types/number.h"
#include "types/variant.h"
#include "types/variant_private.h"

#include <stdlib.h>

#define OBJECT_FIELDS_MAX 1000 /* InferVariantShreddingSchema#mergeRowTypes: more are cut off when two objects come together */
#define DEPTH_MAX 200          /* of our recursion, whatever the option allows */

typedef enum shape_kind { SHAPE_VARIANT, SHAPE_OBJECT, SHAPE_ARRAY, SHAPE_DECIMAL, SHAPE_LONG, SHAPE_BOOL, SHAPE_STRING, SHAPE_DOUBLE, SHAPE_FLOAT, SHAPE_BYTES } shape_kind;

/* The type of a value; NULL: of null, which goes with any. */
typedef struct shape shape;
typedef struct shape_field {
    tl_bytes_view name;
    shape *type;
    int64_t count;
} shape_field;
struct shape {
    shape_kind kind;
    int precision, scale; /* DECIMAL */
    size_t n_fields;
    shape_field *fields; /* OBJECT: in the order of their names, as Java compares */
    shape *element;      /* ARRAY; NULL: of nulls alone */
};

typedef struct inferrer {
    tl_arena kept; /* what lives until the end */
    tl_arena row;  /* what one row is made of */
    tl_arena *into; /* one of them: where what comes together goes */
    tl_bytes_view value, metadata; /* of the row */
    size_t bytes_left;             /* of the value: tl_variant__spend() */
    int max_depth;
    tl_error *err;
} inferrer;

static shape *new_shape(tl_arena *arena, shape_kind kind)
{
    shape *s = tl_arena_calloc(arena, 1, sizeof *s);
    if (s != NULL)
        s->kind = kind;
    return s;
}

/* ---- coming together ---- */

static tl_status merge(inferrer *f, shape *a, const shape *b, shape **out);

/* A copy that outlives the row. */
static tl_status keep(inferrer *f, const shape *s, shape **out)
{
    *out = NULL;
    if (s == NULL)
        return TL_OK;
    shape *copy = tl_arena_alloc(f->into, sizeof *copy);
    if (copy == NULL)
        return tl_nomem(f->err, "shredding schema");
    *copy = *s;
    if (s->kind == SHAPE_ARRAY)
        TL_TRY(keep(f, s->element, &copy->element));
    if (s->n_fields > 0 && (copy->fields = tl_arena_calloc(f->into, s->n_fields, sizeof *copy->fields)) == NULL)
        return tl_nomem(f->err, "shredding schema");
    for (size_t i = 0; i < s->n_fields; i++) {
        tl_bytes_view name = s->fields[i].name;
        char *text = tl_arena_strndup(f->into, (const char *)name.data, name.len);
        if (text == NULL)
            return tl_nomem(f->err, "shredding schema");
        copy->fields[i] = (shape_field){.name = {(const uint8_t *)text, name.len}, .count = s->fields[i].count};
        TL_TRY(keep(f, s->fields[i].type, &copy->fields[i].type));
    }
    *out = copy;
    return TL_OK;
}

static void merge_decimals(shape *a, int precision, int scale)
{
    int digits = TL_MAX(a->scale, scale), before = TL_MAX(a->precision - a->scale, precision - scale);
    if (before + digits > 38) {
        a->kind = SHAPE_VARIANT;
        return;
    }
    a->precision = before + digits;
    a->scale = digits;
}

/* A decimal and a long: an integer is a long, else 19 digits before the point. */
static void merge_number(shape *a, const shape *b)
{
    shape decimal = a->kind == SHAPE_DECIMAL ? *a : *b;
    if (a->kind == SHAPE_DECIMAL && b->kind == SHAPE_DECIMAL) {
        merge_decimals(a, b->precision, b->scale);
    } else if (decimal.scale == 0 && decimal.precision <= 18) {
        a->kind = SHAPE_LONG;
    } else {
        *a = decimal;
        merge_decimals(a, 19, 0);
    }
}

static bool have_equal_names(const shape *a, const shape *b)
{
    bool equal = a->n_fields == b->n_fields && a->n_fields <= OBJECT_FIELDS_MAX;
    for (size_t i = 0; equal && i < a->n_fields; i++)
        equal = tl_bytes_equal(a->fields[i].name, b->fields[i].name);
    return equal;
}

static tl_status merge_objects(inferrer *f, shape *a, const shape *b)
{
    size_t i = 0, k = 0, n = 0, cap = TL_MIN(a->n_fields + b->n_fields, OBJECT_FIELDS_MAX);
    bool in_place = have_equal_names(a, b); /* mostly so */
    shape_field *fields = in_place ? a->fields : tl_arena_calloc(f->into, cap + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(f->err, "shredding schema");
    while (n < cap && (i < a->n_fields || k < b->n_fields)) {
        int c = i == a->n_fields ? 1 : k == b->n_fields ? -1 : tl_text__compare_utf16(a->fields[i].name, b->fields[k].name);
        if (c <= 0)
            fields[n] = a->fields[i++];
        if (c == 0) {
            fields[n].count += b->fields[k].count;
            TL_TRY(merge(f, fields[n].type, b->fields[k++].type, &fields[n].type));
        } else if (c > 0) {
            const shape one = {.kind = SHAPE_OBJECT, .n_fields = 1, .fields = &b->fields[k++]};
            shape *copy;
            TL_TRY(keep(f, &one, &copy));
            fields[n] = copy->fields[0];
        }
        n++;
    }
    a->fields = fields;
    a->n_fields = n;
    return TL_OK;
}

/* `a` changes, and takes copies of what `b` has. */
static tl_status merge(inferrer *f, shape *a, const shape *b, shape **out)
{
    *out = a;
    if (b == NULL)
        return TL_OK;
    if (a == NULL)
        return keep(f, b, out);
    bool a_number = a->kind == SHAPE_DECIMAL || a->kind == SHAPE_LONG, b_number = b->kind == SHAPE_DECIMAL || b->kind == SHAPE_LONG;
    if (a_number && b_number && (a->kind == SHAPE_DECIMAL || b->kind == SHAPE_DECIMAL))
        merge_number(a, b);
    else if (a->kind == SHAPE_OBJECT && b->kind == SHAPE_OBJECT)
        return merge_objects(f, a, b);
    else if (a->kind == SHAPE_ARRAY && b->kind == SHAPE_ARRAY)
        return merge(f, a->element, b->element, &a->element);
    else if (a->kind != b->kind)
        *a = (shape){.kind = SHAPE_VARIANT};
    return TL_OK;
}

/* ---- the type of a value ---- */

static tl_status shape_of(inferrer *f, size_t pos, int depth, shape **out);

static int digits_of(tl_i128 v)
{
    int n = 1;
    for (; v >= 10 || v <= -10; v /= 10)
        n++;
    return n;
}

static shape *number_shape(inferrer *f, size_t pos, int kind)
{
    bool is_decimal = kind >= TL_VARIANT__DECIMAL4;
    size_t bytes = is_decimal ? (size_t)4 << (kind - TL_VARIANT__DECIMAL4) : (size_t)1 << (kind - TL_VARIANT__INT1);
    tl_i128 v = tl_variant__read_signed(f->value.data + pos + 1 + is_decimal, bytes);
    int scale = is_decimal ? f->value.data[pos + 1] : 0;
    if (scale > 38)
        return new_shape(&f->row, SHAPE_VARIANT);
    for (; scale > 0 && v % 10 == 0; scale--) /* BigDecimal#stripTrailingZeros; beyond the point the reference fails */
        v /= 10;
    int precision = TL_MAX(digits_of(v), TL_MAX(scale, 1));
    shape *s = new_shape(&f->row, !is_decimal && precision > 18 ? SHAPE_LONG : precision > 38 ? SHAPE_VARIANT : SHAPE_DECIMAL);
    if (s != NULL) {
        s->precision = precision;
        s->scale = scale;
    }
    return s;
}

static shape *scalar_shape(inferrer *f, size_t pos, int kind)
{
    switch (kind) {
    case TL_VARIANT__TRUE:
    case TL_VARIANT__FALSE:
        return new_shape(&f->row, SHAPE_BOOL);
    case TL_VARIANT__DOUBLE:
        return new_shape(&f->row, SHAPE_DOUBLE);
    case TL_VARIANT__FLOAT:
        return new_shape(&f->row, SHAPE_FLOAT);
    case TL_VARIANT__BINARY:
        return new_shape(&f->row, SHAPE_BYTES);
    case TL_VARIANT__LONG_STR:
        return new_shape(&f->row, SHAPE_STRING);
    case TL_VARIANT__INT1:
    case TL_VARIANT__INT2:
    case TL_VARIANT__INT4:
    case TL_VARIANT__INT8:
    case TL_VARIANT__DECIMAL4:
    case TL_VARIANT__DECIMAL8:
    case TL_VARIANT__DECIMAL16:
        return number_shape(f, pos, kind);
    default:
        return new_shape(&f->row, SHAPE_VARIANT);
    }
}

static size_t child_at(const inferrer *f, const tl_variant__nested *n, size_t i)
{
    return n->data + (size_t)tl_variant__read(f->value.data + n->offsets + i * n->offset_bytes, n->offset_bytes);
}

static int by_name(const void *a, const void *b)
{
    return tl_text__compare_utf16(((const shape_field *)a)->name, ((const shape_field *)b)->name);
}

static tl_status object_shape(inferrer *f, const tl_variant__nested *n, int depth, shape *out)
{
    if (n->count > 0 && (out->fields = tl_arena_calloc(&f->row, n->count, sizeof *out->fields)) == NULL)
        return tl_nomem(f->err, "shredding schema");
    for (size_t i = 0; i < n->count; i++) {
        size_t id = (size_t)tl_variant__read(f->value.data + n->ids + i * n->id_bytes, n->id_bytes);
        shape_field *field = &out->fields[out->n_fields];
        TL_TRY(tl_variant__key(f->metadata, id, &field->name, f->err));
        if (field->name.len == 0 || memchr(field->name.data, 0, field->name.len) != NULL)
            continue; /* no name for a column */
        field->count = 1;
        TL_TRY(shape_of(f, child_at(f, n, i), depth - 1, &field->type));
        out->n_fields++;
    }
    for (size_t i = 1; i < out->n_fields; i++) { /* they are in order, but for writers that compare otherwise */
        if (by_name(&out->fields[i - 1], &out->fields[i]) > 0) {
            qsort(out->fields, out->n_fields, sizeof *out->fields, by_name);
            break;
        }
    }
    for (size_t i = 1; i < out->n_fields; i++) {
        tl_bytes_view name = out->fields[i].name;
        if (tl_bytes_equal(out->fields[i - 1].name, name))
            return tl_error_set(f->err, TL_E_CORRUPT, "a VARIANT has the key '%.*s' twice", (int)TL_MIN(name.len, 100), (const char *)name.data);
    }
    return TL_OK;
}

static tl_status array_shape(inferrer *f, const tl_variant__nested *n, int depth, shape *out)
{
    for (size_t i = 0; i < n->count; i++) {
        shape *element;
        TL_TRY(shape_of(f, child_at(f, n, i), depth - 1, &element));
        TL_TRY(merge(f, out->element, element, &out->element));
    }
    if (out->element == NULL && (out->element = new_shape(&f->row, SHAPE_VARIANT)) == NULL)
        return tl_nomem(f->err, "shredding schema");
    return TL_OK;
}

static tl_status shape_of(inferrer *f, size_t pos, int depth, shape **out)
{
    size_t bytes;
    tl_variant__nested n;
    *out = NULL;
    TL_TRY(tl_variant__size(f->value, pos, &bytes, f->err));
    TL_TRY(tl_variant__spend(&f->bytes_left, 1, f->err));
    int basic = f->value.data[pos] & 3, kind = f->value.data[pos] >> 2;
    bool is_nested = basic == TL_VARIANT__OBJECT || basic == TL_VARIANT__ARRAY;
    if (basic == TL_VARIANT__PRIMITIVE && kind == TL_VARIANT__NULL)
        return TL_OK;
    if (is_nested && depth > 0)
        *out = new_shape(&f->row, basic == TL_VARIANT__OBJECT ? SHAPE_OBJECT : SHAPE_ARRAY);
    else if (basic == TL_VARIANT__SHORT_STR)
        *out = new_shape(&f->row, SHAPE_STRING);
    else
        *out = is_nested ? new_shape(&f->row, SHAPE_VARIANT) : scalar_shape(f, pos, kind);
    if (*out == NULL)
        return tl_nomem(f->err, "shredding schema");
    if (!is_nested || depth <= 0)
        return TL_OK;
    TL_TRY(tl_variant__nested_at(f->value, pos, &n, f->err));
    return basic == TL_VARIANT__OBJECT ? object_shape(f, &n, depth, *out) : array_shape(f, &n, depth, *out);
}

/* ---- the schema ---- */

static tl_status schema_of(const shape *s, int64_t least, int32_t *left, const tl_type **out, tl_error *err);

static tl_status object_schema(const shape *s, int64_t least, int32_t *left, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc(s->n_fields + 1, sizeof *fields);
    int32_t n = 0;
    if (fields == NULL)
        return tl_nomem(err, "shredding schema");
    tl_status status = TL_OK;
    for (size_t i = 0; i < s->n_fields && status == TL_OK; i++) {
        if (s->fields[i].count < least || *left <= 0)
            continue;
        fields[n] = (tl_field){.name = (char *)(uintptr_t)s->fields[i].name.data, .id = n};
        status = schema_of(s->fields[i].type, least, left, &fields[n].type, err);
        n += status == TL_OK;
    }
    if (status == TL_OK)
        status = n > 0 ? tl_type_create_row(/* nullable= */ true, fields, n, out, err) : tl_type_create(TL_VARIANT, true, 0, 0, out, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static tl_status scalar_schema(const shape *s, const tl_type **out, tl_error *err)
{
    static const tl_type_kind kinds[] = {[SHAPE_LONG] = TL_BIGINT, [SHAPE_BOOL] = TL_BOOLEAN, [SHAPE_DOUBLE] = TL_DOUBLE, [SHAPE_FLOAT] = TL_FLOAT};
    if (s->kind == SHAPE_STRING || s->kind == SHAPE_BYTES)
        return tl_type_create(s->kind == SHAPE_STRING ? TL_VARCHAR : TL_VARBINARY, true, TL_LENGTH_MAX, 0, out, err);
    if (s->kind == SHAPE_DECIMAL && (s->precision > 18 || s->scale > 0))
        return tl_type_create(TL_DECIMAL, true, s->precision <= 18 ? 18 : 38, s->scale, out, err);
    return tl_type_create(s->kind == SHAPE_DECIMAL ? TL_BIGINT : kinds[s->kind], true, 0, 0, out, err);
}

/* Each value takes a column, and one more if it is typed (finalizeSimpleSchema). */
static tl_status schema_of(const shape *s, int64_t least, int32_t *left, const tl_type **out, tl_error *err)
{
    --*left;
    if (*left <= 0 || s == NULL || s->kind == SHAPE_VARIANT)
        return tl_type_create(TL_VARIANT, true, 0, 0, out, err);
    if (s->kind == SHAPE_OBJECT)
        return object_schema(s, least, left, out, err);
    if (s->kind == SHAPE_ARRAY) {
        TL_CLEANUP(tl_type_unrefp) const tl_type *element = NULL;
        TL_TRY(schema_of(s->element, least, left, &element, err));
        return tl_type_create_array(true, element, out, err);
    }
    --*left;
    return scalar_schema(s, out, err);
}

static tl_status look_at(inferrer *f, const tl_column *col, int64_t rows, shape **all, int64_t *values)
{
    for (int64_t i = 0; i < rows; i++) {
        shape *one;
        if (tl_col_is_null(col, i))
            continue;
        ++*values;
        f->value = tl_col_bytes(col->children[0], i);
        f->metadata = tl_col_bytes(col->children[1], i);
        f->bytes_left = f->value.len;
        tl_arena_reset(&f->row);
        f->into = &f->row;
        TL_TRY(shape_of(f, 0, f->max_depth, &one));
        f->into = &f->kept;
        TL_TRY(merge(f, *all, one, all));
    }
    return TL_OK;
}

tl_status tl_variant_infer(const tl_column *const *cols, size_t n_cols, int64_t rows, const tl_variant_limits *limits, int32_t *width_left,
                           const tl_type **out, tl_error *err)
{
    inferrer f = {.err = err, .max_depth = TL_MIN(limits->max_depth, DEPTH_MAX)};
    shape *all = NULL;
    int64_t values = 0;
    tl_status status = TL_OK;
    for (size_t i = 0; i < n_cols && status == TL_OK && rows > 0; rows -= cols[i++]->length)
        status = look_at(&f, cols[i], TL_MIN(rows, cols[i]->length), &all, &values);
    double least = (double)values * limits->min_ratio;
    int64_t least_count = (int64_t)least + ((double)(int64_t)least < least);
    if (status == TL_OK)
        status = schema_of(all, least_count, width_left, out, err);
    tl_arena_deinit(&f.kept);
    tl_arena_deinit(&f.row);
    return status;
}
