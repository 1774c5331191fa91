/*
 * Variants taken apart: parts that fit a shredding schema become typed columns, the rest stays as variant bytes.
 *
 * What fits is what the reference takes: integers and decimals of any width and scale where no digit is lost, else the very type.
 * Java: VariantShreddingWriter, PaimonShreddingUtils. The other way: variant_unshred.c, which tells the layout.
 */
#include "types/builder.h"
#include "types/number.h"
#include "types/variant.h"
#include "types/variant_private.h"

/* ---- types ---- */

static tl_status group_type(const tl_type *wanted, bool is_top, bool is_field, const tl_type **out, tl_error *err);

static tl_status object_type(const tl_type *wanted, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)wanted->n_fields, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "shredding schema");
    tl_status status = wanted->n_fields > 0 ? TL_OK : tl_error_set(err, TL_E_INVALID, "a ROW of a shredding schema has no field");
    for (int32_t i = 0; i < wanted->n_fields && status == TL_OK; i++) {
        fields[i] = (tl_field){.name = wanted->fields[i].name, .id = wanted->fields[i].id};
        status = group_type(wanted->fields[i].type, /* is_top= */ false, /* is_field= */ true, &fields[i].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(wanted->nullable, fields, wanted->n_fields, out, err);
    for (int32_t i = 0; i < wanted->n_fields; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static tl_status typed_value_type(const tl_type *wanted, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *element = NULL;
    switch (wanted->kind) {
    case TL_VARIANT:
        *out = NULL;
        return TL_OK;
    case TL_ROW:
        return object_type(wanted, out, err);
    case TL_ARRAY:
        TL_TRY(group_type(wanted->fields[0].type, /* is_top= */ false, /* is_field= */ false, &element, err));
        return tl_type_create_array(wanted->nullable, element, out, err);
    case TL_DATE:
    case TL_TIME:
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
    case TL_MAP:
    case TL_MULTISET:
    case TL_BLOB:
        break;
    default:
        *out = tl_type_ref(wanted);
        return TL_OK;
    }
    tl_buf text = {0};
    bool ok = tl_type_format(wanted, &text) == TL_OK && tl_buf_append_byte(&text, 0) == TL_OK;
    tl_error_set(err, TL_E_INVALID, "a shredding schema cannot have the type %s", ok ? (char *)text.data : "?");
    tl_buf_deinit(&text);
    return TL_E_INVALID;
}

static tl_status group_type(const tl_type *wanted, bool is_top, bool is_field, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *typed = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *metadata = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *value = NULL;
    TL_TRY(typed_value_type(wanted, &typed, err));
    TL_TRY(tl_type_create(TL_VARBINARY, /* nullable= */ false, TL_LENGTH_MAX, 0, &metadata, err));
    TL_TRY(tl_type_create(TL_VARBINARY, /* nullable= */ typed != NULL || is_field, TL_LENGTH_MAX, 0, &value, err));
    tl_field fields[3] = {0};
    int32_t n = 0;
    if (is_top)
        fields[n++] = (tl_field){.name = "metadata", .type = metadata};
    fields[n++] = (tl_field){.name = "value", .type = value};
    if (typed != NULL)
        fields[n++] = (tl_field){.name = "typed_value", .type = typed};
    for (int32_t i = 0; i < n; i++)
        fields[i].id = i;
    return tl_type_create_row(/* nullable= */ !is_field, fields, n, out, err);
}

tl_status tl_variant_shredded_type(const tl_type *schema, const tl_type **out, tl_error *err)
{
    return group_type(schema, /* is_top= */ true, /* is_field= */ false, out, err);
}

/* ---- values ---- */

/* Where the parts of a value go. */
typedef struct part part;
struct part {
    tl_builder *group, *metadata, *value, *typed; /* metadata: at the top alone; typed: may be NULL */
    tl_bytes_view name;                           /* field of an object */
    bool is_seen;                                 /* in the object at hand */
    int32_t n_parts;
    part *parts;
};

typedef struct splitter {
    tl_arena arena;
    part top;
    tl_bytes_view value, metadata; /* of the row */
    size_t bytes_left;             /* of the value: tl_variant__spend() */
    tl_error *err;
} splitter;

static tl_status put(const splitter *s, const tl_builder *builder, tl_status status)
{
    return tl_builder_error(builder, status, s->err);
}

static tl_status find_parts(splitter *s, tl_builder *group, part *out)
{
    const tl_type *type = tl_builder_type(group);
    *out = (part){.group = group};
    for (int32_t i = 0; i < type->n_fields; i++) {
        const char *name = type->fields[i].name;
        tl_builder **to = strcmp(name, "metadata") == 0 ? &out->metadata : strcmp(name, "value") == 0 ? &out->value : &out->typed;
        *to = tl_builder_child(group, i);
    }
    const tl_type *typed = out->typed == NULL ? NULL : tl_builder_type(out->typed);
    if (typed == NULL || (typed->kind != TL_ROW && typed->kind != TL_ARRAY))
        return TL_OK;
    out->n_parts = typed->n_fields;
    out->parts = tl_arena_calloc(&s->arena, (size_t)typed->n_fields, sizeof *out->parts);
    if (out->parts == NULL)
        return tl_nomem(s->err, "shredded VARIANT");
    for (int32_t i = 0; i < typed->n_fields; i++) {
        TL_TRY(find_parts(s, tl_builder_child(out->typed, i), &out->parts[i]));
        if (typed->kind == TL_ROW)
            out->parts[i].name = (tl_bytes_view){(const uint8_t *)typed->fields[i].name, strlen(typed->fields[i].name)};
    }
    return TL_OK;
}

/* One of the two forms, or none; NULL bytes: not as bytes. */
static tl_status end_part(const splitter *s, const part *p, tl_bytes_view bytes, bool is_typed)
{
    TL_TRY(put(s, p->value, bytes.data != NULL ? tl_builder_bytes(p->value, bytes.data, bytes.len) : tl_builder_null(p->value)));
    if (p->typed != NULL && !is_typed)
        TL_TRY(put(s, p->typed, tl_builder_null(p->typed)));
    return put(s, p->group, tl_builder_end(p->group));
}

static tl_status put_untyped(splitter *s, const part *p, size_t pos, size_t bytes)
{
    TL_TRY(tl_variant__spend(&s->bytes_left, bytes, s->err));
    return end_part(s, p, (tl_bytes_view){s->value.data + pos, bytes}, /* is_typed= */ false);
}

/* ---- scalars ---- */

/* An integer or decimal of the variant as unscaled value and scale; false: it is neither. */
static bool read_number(tl_bytes_view value, size_t pos, tl_i128 *v, int *scale)
{
    int kind = value.data[pos] >> 2;
    bool is_decimal = kind >= TL_VARIANT__DECIMAL4 && kind <= TL_VARIANT__DECIMAL16;
    if (!is_decimal && (kind < TL_VARIANT__INT1 || kind > TL_VARIANT__INT8))
        return false;
    size_t bytes = is_decimal ? (size_t)4 << (kind - TL_VARIANT__DECIMAL4) : (size_t)1 << (kind - TL_VARIANT__INT1);
    *v = tl_variant__read_signed(value.data + pos + 1 + is_decimal, bytes);
    *scale = is_decimal ? value.data[pos + 1] : 0;
    return *scale <= 38;
}

/* To a scale without loss; false where digits would be lost or there are more than `precision`. */
static bool rescale(tl_i128 *v, int scale, int wanted, int precision)
{
    for (; scale > wanted; scale--) {
        if (*v % 10 != 0)
            return false;
        *v /= 10;
    }
    for (; scale < wanted; scale++) {
        if (__builtin_mul_overflow(*v, (tl_i128)10, v))
            return false;
    }
    tl_i128 limit = tl_pow10_i128(precision);
    return *v < limit && *v > -limit;
}

static tl_status put_number(const splitter *s, const part *p, size_t pos, bool *taken)
{
    const tl_type *type = tl_builder_type(p->typed);
    bool is_decimal = type->kind == TL_DECIMAL;
    tl_i128 v;
    int scale;
    *taken = read_number(s->value, pos, &v, &scale) && rescale(&v, scale, is_decimal ? type->scale : 0, is_decimal ? type->precision : 19);
    if (*taken && !is_decimal) {
        int bits = type->kind == TL_TINYINT ? 8 : type->kind == TL_SMALLINT ? 16 : type->kind == TL_INT ? 32 : 64;
        tl_i128 limit = (tl_i128)1 << (bits - 1);
        *taken = v >= -limit && v < limit;
    }
    if (!*taken)
        return TL_OK;
    return put(s, p->typed, is_decimal ? tl_builder_i128(p->typed, v) : tl_builder_int(p->typed, (int64_t)v));
}

static tl_status put_floating(const splitter *s, const part *p, size_t pos, bool *taken)
{
    bool is_single = tl_builder_type(p->typed)->kind == TL_FLOAT;
    float f;
    double d;
    *taken = s->value.data[pos] >> 2 == (is_single ? TL_VARIANT__FLOAT : TL_VARIANT__DOUBLE);
    if (!*taken)
        return TL_OK;
    memcpy(&f, s->value.data + pos + 1, sizeof f);
    if (is_single)
        return put(s, p->typed, tl_builder_f32(p->typed, f));
    memcpy(&d, s->value.data + pos + 1, sizeof d);
    return put(s, p->typed, tl_builder_f64(p->typed, d));
}

static tl_status put_bytes(const splitter *s, const part *p, size_t pos, bool *taken)
{
    tl_type_kind kind = tl_builder_type(p->typed)->kind;
    bool is_text = kind == TL_CHAR || kind == TL_VARCHAR;
    const uint8_t *at = s->value.data + pos;
    bool is_short = (*at & 3) == TL_VARIANT__SHORT_STR;
    *taken = is_short ? is_text : *at >> 2 == (is_text ? TL_VARIANT__LONG_STR : TL_VARIANT__BINARY);
    if (!*taken)
        return TL_OK;
    size_t head = is_short ? 1 : 5, len = is_short ? *at >> 2 : (size_t)tl_variant__read(at + 1, 4);
    return put(s, p->typed, tl_builder_bytes(p->typed, at + head, len));
}

/* The value lies within the buffer. */
static tl_status try_scalar(const splitter *s, const part *p, size_t pos, bool *taken)
{
    int basic = s->value.data[pos] & 3, kind = s->value.data[pos] >> 2;
    *taken = false;
    if (basic == TL_VARIANT__OBJECT || basic == TL_VARIANT__ARRAY)
        return TL_OK;
    switch (tl_builder_type(p->typed)->kind) {
    case TL_CHAR:
    case TL_VARCHAR:
    case TL_BINARY:
    case TL_VARBINARY:
        return put_bytes(s, p, pos, taken);
    default:
        break;
    }
    if (basic != TL_VARIANT__PRIMITIVE)
        return TL_OK;
    switch (tl_builder_type(p->typed)->kind) {
    case TL_BOOLEAN:
        *taken = kind == TL_VARIANT__TRUE || kind == TL_VARIANT__FALSE;
        return *taken ? put(s, p->typed, tl_builder_bool(p->typed, kind == TL_VARIANT__TRUE)) : TL_OK;
    case TL_FLOAT:
    case TL_DOUBLE:
        return put_floating(s, p, pos, taken);
    default:
        return put_number(s, p, pos, taken);
    }
}

/* ---- nested ---- */

static tl_status put_part(splitter *s, const part *p, size_t pos);

static size_t child_at(const splitter *s, const tl_variant__nested *n, size_t i)
{
    return n->data + (size_t)tl_variant__read(s->value.data + n->offsets + i * n->offset_bytes, n->offset_bytes);
}

static tl_status put_array(splitter *s, const part *p, const tl_variant__nested *n)
{
    for (size_t i = 0; i < n->count; i++)
        TL_TRY(put_part(s, &p->parts[0], child_at(s, n, i)));
    TL_TRY(put(s, p->typed, tl_builder_end(p->typed)));
    return end_part(s, p, (tl_bytes_view){0}, /* is_typed= */ true);
}

static part *field_named(const part *p, tl_bytes_view name)
{
    for (int32_t i = 0; i < p->n_parts; i++) {
        if (tl_bytes_equal(p->parts[i].name, name))
            return &p->parts[i];
    }
    return NULL;
}

/* Fields without a column, as an object of their own: ids are those of the whole, and their order stays. */
static tl_status put_fields(splitter *s, const part *p, const tl_variant__nested *n, tl_buf *rest, tl_variant__field *fields, size_t *n_rest)
{
    for (size_t i = 0; i < n->count; i++) {
        size_t id = (size_t)tl_variant__read(s->value.data + n->ids + i * n->id_bytes, n->id_bytes), pos = child_at(s, n, i), bytes;
        tl_bytes_view name;
        TL_TRY(tl_variant__key(s->metadata, id, &name, s->err));
        part *field = field_named(p, name);
        if (field != NULL) {
            if (field->is_seen)
                return tl_error_set(s->err, TL_E_CORRUPT, "a VARIANT has the key '%.*s' twice", (int)TL_MIN(name.len, 100), (const char *)name.data);
            TL_TRY(put_part(s, field, pos));
            field->is_seen = true;
            continue;
        }
        TL_TRY(tl_variant__size(s->value, pos, &bytes, s->err));
        TL_TRY(tl_variant__spend(&s->bytes_left, bytes, s->err));
        fields[(*n_rest)++] = (tl_variant__field){name, id, rest->len};
        if (tl_buf_append(rest, s->value.data + pos, bytes) != TL_OK)
            return tl_nomem(s->err, "shredded VARIANT");
    }
    return n->count > 0 && *n_rest > 0 ? tl_variant__close(rest, 0, fields, *n_rest, /* is_object= */ true, s->err) : TL_OK;
}

static tl_status put_object(splitter *s, const part *p, const tl_variant__nested *n)
{
    tl_buf rest = {0};
    size_t n_rest = 0;
    tl_variant__field *fields = tl_calloc(n->count + 1, sizeof *fields);
    for (int32_t i = 0; i < p->n_parts; i++)
        p->parts[i].is_seen = false;
    tl_status status = fields == NULL ? tl_nomem(s->err, "shredded VARIANT") : put_fields(s, p, n, &rest, fields, &n_rest);
    for (int32_t i = 0; i < p->n_parts && status == TL_OK; i++) {
        if (!p->parts[i].is_seen)
            status = end_part(s, &p->parts[i], (tl_bytes_view){0}, /* is_typed= */ false);
    }
    if (status == TL_OK)
        status = put(s, p->typed, tl_builder_end(p->typed));
    if (status == TL_OK)
        status = end_part(s, p, n_rest > 0 ? (tl_bytes_view){rest.data, rest.len} : (tl_bytes_view){0}, /* is_typed= */ true);
    tl_free(fields);
    tl_buf_deinit(&rest);
    return status;
}

/* Depth is bounded by the schema: what it does not name is copied. */
static tl_status put_part(splitter *s, const part *p, size_t pos)
{
    size_t bytes;
    TL_TRY(tl_variant__size(s->value, pos, &bytes, s->err));
    int basic = s->value.data[pos] & 3;
    tl_type_kind kind = p->typed == NULL ? TL_VARIANT : tl_builder_type(p->typed)->kind;
    if ((kind == TL_ROW && basic == TL_VARIANT__OBJECT) || (kind == TL_ARRAY && basic == TL_VARIANT__ARRAY)) {
        tl_variant__nested n;
        TL_TRY(tl_variant__spend(&s->bytes_left, 1, s->err));
        TL_TRY(tl_variant__nested_at(s->value, pos, &n, s->err));
        return kind == TL_ROW ? put_object(s, p, &n) : put_array(s, p, &n);
    }
    bool taken = false;
    if (kind != TL_VARIANT && kind != TL_ROW && kind != TL_ARRAY)
        TL_TRY(try_scalar(s, p, pos, &taken));
    if (!taken)
        return put_untyped(s, p, pos, bytes);
    TL_TRY(tl_variant__spend(&s->bytes_left, bytes, s->err));
    return end_part(s, p, (tl_bytes_view){0}, /* is_typed= */ true);
}

static tl_status put_rows(splitter *s, const tl_column *col)
{
    for (int64_t row = 0; row < col->length; row++) {
        if (tl_col_is_null(col, row)) {
            TL_TRY(put(s, s->top.group, tl_builder_null(s->top.group)));
            continue;
        }
        s->value = tl_col_bytes(col->children[0], row);
        s->metadata = tl_col_bytes(col->children[1], row);
        s->bytes_left = s->value.len;
        TL_TRY(put(s, s->top.metadata, tl_builder_bytes(s->top.metadata, s->metadata.data, s->metadata.len)));
        TL_TRY(put_part(s, &s->top, 0));
    }
    return TL_OK;
}

tl_status tl_variant_shred(const tl_column *col, const tl_type *shredded, tl_column **out, tl_error *err)
{
    tl_builder *builder;
    splitter s = {.err = err};
    TL_TRY(tl_builder_create(shredded, &builder, err));
    tl_status status = find_parts(&s, builder, &s.top);
    if (status == TL_OK)
        status = put_rows(&s, col);
    if (status == TL_OK)
        status = tl_builder_finish(builder, out, err);
    tl_builder_free(builder);
    tl_arena_deinit(&s.arena);
    return status;
}
