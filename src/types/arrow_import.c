/*
 * Arrow arrays as batches.
 *
 * Buffers are shared where the layouts agree and the producer's pointers are aligned; everything else is converted, with a check
 * of every value. Our columns promise more than Arrow does (zero values and empty ranges at nulls, offsets of 32 bits), so
 * arrays with nulls are mostly copied. The interface does not tell how large a buffer is: lengths, offsets and children are
 * checked against each other, the producer is trusted for the rest.
 */
#include "types/arrow_private.h"
#include "types/number.h"
#include "types/types_private.h"
#include "types/utf8.h"

/* ---- ownership ---- */

/* The array, released when the last column that borrows from it is gone. */
typedef struct holder {
    struct ArrowArray array;
    int refs;
} holder;

static void holder_unref(holder *h)
{
    if (__atomic_sub_fetch(&h->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (h->array.release != NULL)
        h->array.release(&h->array);
    tl_free(h);
}

/* What a column borrows from, and which of its buffers are its own after all. */
typedef struct loan {
    holder *h;
    void *own[4];
} loan;

static void release_loan(tl_column *col)
{
    loan *l = col->owner;
    for (size_t k = 0; k < TL_ARRAY_LEN(l->own); k++)
        tl_free(l->own[k]);
    holder_unref(l->h);
    tl_free(l);
}

/* A column without buffers that may borrow from the holder. */
static tl_status borrower(holder *h, const tl_type *type, int64_t length, tl_column **out, tl_error *err)
{
    tl_column *col = NULL;
    loan *l = tl_calloc(1, sizeof *l);
    if (l == NULL)
        return tl_nomem(err, "column");
    tl_status status = tl_column__shell(type, length, &col, err);
    if (status != TL_OK) {
        tl_free(l);
        return status;
    }
    l->h = h;
    __atomic_add_fetch(&h->refs, 1, __ATOMIC_RELAXED);
    col->owner = l;
    col->release = release_loan;
    *out = col;
    return TL_OK;
}

enum { OWN_VALIDITY, OWN_VALUES, OWN_OFFSETS, OWN_DATA };

static void *own_buffer(tl_column *col, int slot, size_t bytes)
{
    loan *l = col->owner;
    l->own[slot] = tl_alloc_aligned(bytes + TL_BYTES_SLACK);
    return l->own[slot];
}

/* ---- one node ---- */

/* Slots [from, from + length) of an array, to become a column of `type`. */
typedef struct source {
    holder *h;
    const struct ArrowArray *array;
    const struct ArrowSchema *schema;
    tl_arrow_format format;
    int64_t from; /* the array's offset is in it */
    int64_t length;
} source;

static tl_status import_column(const source *parent, const struct ArrowArray *array, const struct ArrowSchema *schema, int64_t from,
                               int64_t length, const tl_type *type, tl_column **out, tl_error *err);

static int64_t min_buffers(tl_arrow_kind kind)
{
    switch (kind) {
    case TL_ARROW_NULL:
        return 0;
    case TL_ARROW_STRUCT:
    case TL_ARROW_FIXED_LIST:
        return 1;
    case TL_ARROW_BYTES:
    case TL_ARROW_LARGE_BYTES:
    case TL_ARROW_VIEW:
        return 3;
    default:
        return 2;
    }
}

static tl_status broken(const char *reason, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "Arrow array is malformed: %s", reason);
}

static tl_status check_array(const struct ArrowArray *array, const struct ArrowSchema *schema, const tl_arrow_format *format,
                             int64_t from, int64_t length, tl_error *err)
{
    int64_t end;
    if (array == NULL)
        return broken("it is missing", err);
    if (array->length < 0 || array->offset < 0 || __builtin_add_overflow(array->offset, array->length, &end))
        return broken("negative length or offset", err);
    if (from > array->length || length > array->length - from)
        return broken("it is shorter than what refers to it", err);
    if ((schema->dictionary != NULL) != (array->dictionary != NULL))
        return broken("its dictionary is not that of the schema", err);
    if (array->n_children != schema->n_children || (array->n_children > 0 && array->children == NULL))
        return broken("its children are not those of the schema", err);
    int64_t wanted = min_buffers(format->kind);
    if (array->n_buffers < wanted || (wanted > 0 && array->buffers == NULL))
        return broken("buffers are missing", err);
    if (format->kind != TL_ARROW_VIEW && format->kind != TL_ARROW_NULL && array->n_buffers != wanted)
        return broken("it has too many buffers", err);
    return TL_OK;
}

static const void *buffer(const source *s, int k)
{
    return s->array->buffers[k];
}

static tl_status need_buffer(const source *s, int k, tl_error *err)
{
    return s->length > 0 && buffer(s, k) == NULL ? broken("a buffer is missing", err) : TL_OK;
}

static tl_status import_validity(const source *s, tl_column *col, tl_error *err)
{
    const uint8_t *bits = s->array->n_buffers > 0 ? buffer(s, 0) : NULL;
    if (bits == NULL || s->length == 0 || s->array->null_count == 0)
        return TL_OK;
    col->null_count = s->length - tl_bitmap_count(bits, s->from, s->length);
    if (col->null_count == 0)
        return TL_OK;
    if (s->from % 8 == 0) {
        col->validity = (uint8_t *)(uintptr_t)(bits + s->from / 8);
        return TL_OK;
    }
    col->validity = own_buffer(col, OWN_VALIDITY, tl_bitmap_bytes(s->length));
    if (col->validity == NULL)
        return tl_nomem(err, "column");
    tl_bitmap_copy(col->validity, 0, bits, s->from, s->length);
    return TL_OK;
}

/* ---- fixed width ---- */

static void zero_nulls(tl_column *col, int width)
{
    for (int64_t i = 0; i < col->length && col->null_count > 0; i++)
        if (!tl_bit_get(col->validity, i))
            memset((uint8_t *)col->values + i * width, 0, (size_t)width);
}

static tl_status own_values(tl_column *col, tl_error *err)
{
    col->values = own_buffer(col, OWN_VALUES, (size_t)col->length * (size_t)tl_phys_width(col->phys));
    return col->values == NULL ? tl_nomem(err, "column") : TL_OK;
}

/* Values that lie as ours do. */
static tl_status share_values(const source *s, tl_column *col, tl_error *err)
{
    size_t width = (size_t)tl_phys_width(col->phys);
    if (s->length == 0)
        return own_values(col, err);
    const uint8_t *from = (const uint8_t *)buffer(s, 1) + (size_t)s->from * width;
    if (col->null_count == 0 && (uintptr_t)from % width == 0) {
        col->values = (void *)(uintptr_t)from;
        return TL_OK;
    }
    TL_TRY(own_values(col, err));
    memcpy(col->values, from, (size_t)s->length * width);
    zero_nulls(col, (int)width);
    return TL_OK;
}

static tl_status unpack_bools(const source *s, tl_column *col, tl_error *err)
{
    TL_TRY(own_values(col, err));
    const uint8_t *bits = buffer(s, 1);
    uint8_t *to = col->values;
    for (int64_t i = 0; i < s->length; i++)
        to[i] = tl_bit_get(bits, s->from + i);
    zero_nulls(col, 1);
    return TL_OK;
}

static tl_status does_not_fit(const source *s, int64_t i, tl_i128 value, int32_t scale, const tl_type *type, tl_error *err)
{
    char text[64];
    tl_buf name = {0};
    bool named = tl_type_format(type, &name) == TL_OK && tl_buf_append_byte(&name, 0) == TL_OK;
    tl_status status = tl_error_set(err, TL_E_INVALID, "row %lld: value %.*s of Arrow type '%.40s' does not fit %s", (long long)i,
                                    (int)tl_decimal_format(value, scale, text), text, s->schema->format,
                                    named ? (char *)name.data : "?");
    tl_buf_deinit(&name);
    return status;
}

/* An integer of any width as it stands in the buffer, whatever its alignment. */
static tl_i128 read_int(const uint8_t *values, int64_t i, int bytes, bool is_unsigned)
{
    const uint8_t *p = values + (size_t)i * (size_t)bytes;
    switch (bytes) {
    case 1:
        return is_unsigned ? (tl_i128)*p : (tl_i128)(int8_t)*p;
    case 2:
        return is_unsigned ? (tl_i128)tl_read_le16(p) : (tl_i128)(int16_t)tl_read_le16(p);
    case 4:
        return is_unsigned ? (tl_i128)tl_read_le32(p) : (tl_i128)(int32_t)tl_read_le32(p);
    case 8:
        return is_unsigned ? (tl_i128)tl_read_le64(p) : (tl_i128)(int64_t)tl_read_le64(p);
    default: {
        tl_i128 v;
        memcpy(&v, p, sizeof v);
        return v;
    }
    }
}

/* Store an integer in a column of any integer layout; false if it does not fit. */
static bool store_int(tl_column *col, int64_t i, tl_i128 v)
{
    switch (col->phys) {
    case TL_PHYS_I8:
        ((int8_t *)col->values)[i] = (int8_t)v;
        return (int8_t)v == v;
    case TL_PHYS_I16:
        ((int16_t *)col->values)[i] = (int16_t)v;
        return (int16_t)v == v;
    case TL_PHYS_I32:
        ((int32_t *)col->values)[i] = (int32_t)v;
        return (int32_t)v == v;
    case TL_PHYS_I64:
        ((int64_t *)col->values)[i] = (int64_t)v;
        return (int64_t)v == v;
    default:
        ((tl_i128 *)col->values)[i] = v;
        return true;
    }
}

static tl_status import_ints(const source *s, tl_column *col, tl_error *err)
{
    const tl_arrow_format *f = &s->format;
    if (!f->is_unsigned && f->bytes == tl_phys_width(col->phys))
        return share_values(s, col, err);
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v = tl_col_is_null(col, i) ? 0 : read_int(buffer(s, 1), s->from + i, f->bytes, f->is_unsigned);
        if (!store_int(col, i, v))
            return does_not_fit(s, i, v, 0, col->type, err);
    }
    return TL_OK;
}

/* Unscaled value at scale `from` brought to scale `to`; false if digits would be lost or 38 do not suffice. */
static bool rescale(tl_i128 *v, int32_t from, int32_t to)
{
    if (to >= from) {
        if (to - from > 38)
            return *v == 0;
        return !__builtin_mul_overflow(*v, tl_pow10_i128(to - from), v);
    }
    if (from - to > 38)
        return *v == 0;
    tl_i128 unit = tl_pow10_i128(from - to);
    bool exact = *v % unit == 0;
    *v /= unit;
    return exact;
}

/* The low half of 256 bits, if the rest is only sign. */
static bool read_decimal(const source *s, int64_t i, tl_i128 *out)
{
    const uint8_t *values = buffer(s, 1);
    if (s->format.kind == TL_ARROW_INT || s->format.bytes <= 16) {
        *out = read_int(values, i, s->format.bytes, s->format.kind == TL_ARROW_INT && s->format.is_unsigned);
        return true;
    }
    tl_i128 high;
    memcpy(out, values + i * 32, sizeof *out);
    memcpy(&high, values + i * 32 + 16, sizeof high);
    return high == (*out < 0 ? -1 : 0);
}

/* From decimals and integers. */
static tl_status import_decimals(const source *s, tl_column *col, tl_error *err)
{
    int32_t scale = s->format.kind == TL_ARROW_DECIMAL ? s->format.scale : 0;
    const tl_type *type = col->type;
    bool same = s->format.kind == TL_ARROW_DECIMAL && scale == type->scale && s->format.precision <= type->precision;
    if (same && s->format.bytes == tl_phys_width(col->phys))
        return share_values(s, col, err);
    if (scale < -38 || scale > 76)
        return tl_error_set(err, TL_E_UNSUPPORTED, "Arrow decimal with scale %d", scale);
    TL_TRY(own_values(col, err));
    const tl_i128 limit = tl_pow10_i128(type->precision);
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v = 0;
        bool ok = tl_col_is_null(col, i) || read_decimal(s, s->from + i, &v);
        tl_i128 scaled = v;
        ok = ok && rescale(&scaled, scale, type->scale) && scaled < limit && scaled > -limit;
        if (!ok)
            return does_not_fit(s, i, v, TL_MAX(TL_MIN(scale, 38), 0), type, err);
        (void)store_int(col, i, scaled); /* fits by its precision */
    }
    return TL_OK;
}

static tl_status import_doubles(const source *s, tl_column *col, tl_error *err)
{
    if (s->format.bytes == tl_phys_width(col->phys))
        return share_values(s, col, err);
    if (s->format.kind != TL_ARROW_FLOAT)
        return tl_error_set(err, TL_E_INVALID, "Arrow type '%s' does not fit FLOAT without loss", s->schema->format);
    TL_TRY(own_values(col, err));
    const uint8_t *from = (const uint8_t *)buffer(s, 1) + s->from * 4;
    for (int64_t i = 0; i < s->length; i++) {
        float v;
        memcpy(&v, from + i * 4, sizeof v);
        ((double *)col->values)[i] = tl_col_is_null(col, i) ? 0 : (double)v;
    }
    return TL_OK;
}

static tl_i128 floor_div(tl_i128 a, tl_i128 b)
{
    tl_i128 q = a / b;
    return q - (a % b < 0);
}

#define MILLIS_PER_DAY 86400000

static tl_status import_dates(const source *s, tl_column *col, tl_error *err)
{
    if (s->format.bytes == 4)
        return share_values(s, col, err);
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 millis = tl_col_is_null(col, i) ? 0 : read_int(buffer(s, 1), s->from + i, 8, false);
        if (millis % MILLIS_PER_DAY != 0 || !store_int(col, i, millis / MILLIS_PER_DAY))
            return does_not_fit(s, i, millis, 0, col->type, err);
    }
    return TL_OK;
}

static tl_status import_times(const source *s, tl_column *col, tl_error *err)
{
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v = tl_col_is_null(col, i) ? 0 : read_int(buffer(s, 1), s->from + i, s->format.bytes, false);
        if (v < 0 || v >= (tl_i128)86400 * s->format.per_second)
            return does_not_fit(s, i, v, 0, col->type, err);
        (void)store_int(col, i, v * 1000 / s->format.per_second);
    }
    return TL_OK;
}

/* Finer units than the type's layout keeps are cut off, as everywhere else. */
static tl_status import_timestamps(const source *s, tl_column *col, tl_error *err)
{
    const tl_type *type = col->type;
    if (s->format.has_zone != (type->kind == TL_TIMESTAMP_LTZ))
        return tl_error_set(err, TL_E_INVALID, "Arrow timestamp with%s time zone for a TIMESTAMP with%s", s->format.has_zone ? "" : "out",
                            type->kind == TL_TIMESTAMP_LTZ ? "" : "out");
    int64_t per_second = type->precision <= 3 ? 1000 : type->precision <= 6 ? 1000000 : 1000000000;
    if (s->format.per_second == per_second && col->phys == TL_PHYS_I64)
        return share_values(s, col, err);
    TL_TRY(own_values(col, err));
    for (int64_t i = 0; i < s->length; i++) {
        tl_i128 v = tl_col_is_null(col, i) ? 0 : read_int(buffer(s, 1), s->from + i, 8, false);
        if (col->phys == TL_PHYS_TS96) {
            tl_i128 nanos = v * (1000000000 / s->format.per_second);
            tl_i128 millis = floor_div(nanos, 1000000);
            ((tl_ts96 *)col->values)[i] = (tl_ts96){(int64_t)millis, (int32_t)(nanos - millis * 1000000), 0};
            if ((int64_t)millis != millis)
                return does_not_fit(s, i, v, 0, type, err);
        } else if (!store_int(col, i, floor_div(v * per_second, s->format.per_second))) {
            return does_not_fit(s, i, v, 0, type, err);
        }
    }
    return TL_OK;
}

/* ---- offsets ---- */

/* Where the slots' content lies: 32-bit, 64-bit or computed offsets. */
typedef struct extent {
    int64_t start; /* of the first slot's content */
    int64_t items; /* up to the end of the last one */
    bool filled_nulls; /* some null has content */
} extent;

static int64_t offset_at(const source *s, int64_t i)
{
    const uint8_t *offsets = s->array->n_buffers > 1 ? buffer(s, 1) : NULL;
    switch (s->format.kind) {
    case TL_ARROW_BYTES:
    case TL_ARROW_LIST:
    case TL_ARROW_MAP:
        return (int32_t)tl_read_le32(offsets + (s->from + i) * 4);
    case TL_ARROW_LARGE_BYTES:
    case TL_ARROW_LARGE_LIST:
        return (int64_t)tl_read_le64(offsets + (s->from + i) * 8);
    default:
        return (s->from + i) * s->format.bytes;
    }
}

static tl_status check_offsets(const source *s, const tl_column *col, extent *out, tl_error *err)
{
    *out = (extent){0};
    if (s->length == 0)
        return TL_OK;
    bool computed = s->format.kind == TL_ARROW_FIXED_LIST || s->format.kind == TL_ARROW_FIXED_BYTES;
    int64_t limit;
    if (computed && __builtin_mul_overflow(s->from + s->length, (int64_t)s->format.bytes, &limit))
        return broken("fixed size times length is beyond 64 bits", err);
    if (!computed)
        TL_TRY(need_buffer(s, 1, err));
    int64_t before = offset_at(s, 0);
    out->start = before;
    if (before < 0)
        return broken("negative offset", err);
    for (int64_t i = 0; i < s->length; i++) {
        int64_t after = offset_at(s, i + 1);
        if (after < before)
            return broken("offsets decrease", err);
        out->filled_nulls |= after > before && tl_col_is_null(col, i);
        before = after;
    }
    out->items = before - out->start;
    return out->items > INT32_MAX ? tl_column__too_large(col->type, err) : TL_OK;
}

/* Our offsets, starting at 0; with `skip_nulls` the content of nulls is left out. */
static tl_status make_offsets(const source *s, tl_column *col, bool skip_nulls, tl_error *err)
{
    int32_t *offsets = own_buffer(col, OWN_OFFSETS, ((size_t)s->length + 1) * sizeof *offsets);
    if (offsets == NULL)
        return tl_nomem(err, "column");
    col->offsets = offsets;
    offsets[0] = 0;
    int64_t at = 0, before = s->length == 0 ? 0 : offset_at(s, 0);
    for (int64_t i = 0; i < s->length; i++) {
        int64_t after = offset_at(s, i + 1);
        if (!skip_nulls || !tl_col_is_null(col, i))
            at += after - before;
        before = after;
        offsets[i + 1] = (int32_t)at;
    }
    return TL_OK;
}

/* ---- strings and binary ---- */

static tl_status check_text(const tl_column *col, tl_error *err)
{
    if (col->type->kind != TL_CHAR && col->type->kind != TL_VARCHAR)
        return TL_OK;
    int32_t from = col->offsets[0], end = col->offsets[col->length];
    if (tl_utf8_is_ascii((tl_bytes_view){col->data + from, (size_t)(end - from)}))
        return TL_OK;
    for (int64_t i = 0; i < col->length; i++)
        if (!tl_utf8_valid(tl_col_bytes(col, i)))
            return tl_error_set(err, TL_E_INVALID, "row %lld: a string is not valid UTF-8", (long long)i);
    return TL_OK;
}

static tl_status copy_content(const source *s, const uint8_t *data, tl_column *col, tl_error *err)
{
    TL_TRY(make_offsets(s, col, true, err));
    uint8_t *to = own_buffer(col, OWN_DATA, (size_t)col->offsets[col->length]);
    if (to == NULL)
        return tl_nomem(err, "column");
    col->data = to;
    for (int64_t i = 0; i < s->length; i++) {
        size_t bytes = (size_t)(col->offsets[i + 1] - col->offsets[i]);
        if (bytes > 0)
            memcpy(to + col->offsets[i], data + offset_at(s, i), bytes);
    }
    return TL_OK;
}

static tl_status import_bytes(const source *s, tl_column *col, tl_error *err)
{
    static uint8_t nothing[1];
    extent e;
    TL_TRY(check_offsets(s, col, &e, err));
    const uint8_t *data = buffer(s, s->format.kind == TL_ARROW_FIXED_BYTES ? 1 : 2);
    if (e.items > 0 && data == NULL)
        return broken("a buffer is missing", err);
    if (e.filled_nulls) {
        TL_TRY(copy_content(s, data, col, err));
        return check_text(col, err);
    }
    const uint8_t *offsets = s->format.kind == TL_ARROW_BYTES && s->length > 0 ? buffer(s, 1) : NULL;
    if (offsets != NULL && (uintptr_t)offsets % sizeof(int32_t) == 0) {
        col->offsets = (int32_t *)(uintptr_t)(const void *)offsets + s->from;
        col->data = data == NULL ? nothing : (uint8_t *)(uintptr_t)data;
    } else {
        TL_TRY(make_offsets(s, col, false, err));
        col->data = e.items == 0 ? nothing : (uint8_t *)(uintptr_t)(data + e.start);
    }
    return check_text(col, err);
}

/*
 * A view is 16 bytes: length, then the text itself (up to 12 bytes), or 4 bytes of it, the number of a data buffer, an offset.
 * Buffers: validity, views, data buffers, and last the sizes of the data buffers as int64.
 */
static tl_status view_bytes(const source *s, int64_t i, tl_bytes_view *out, tl_error *err)
{
    const uint8_t *view = (const uint8_t *)buffer(s, 1) + (s->from + i) * 16;
    int64_t n_data = s->array->n_buffers - 3;
    int32_t length = (int32_t)tl_read_le32(view);
    if (length < 0)
        return broken("view with a negative length", err);
    if (length <= 12) {
        *out = (tl_bytes_view){view + 4, (size_t)length};
        return TL_OK;
    }
    int32_t index = (int32_t)tl_read_le32(view + 8), offset = (int32_t)tl_read_le32(view + 12);
    const uint8_t *sizes = buffer(s, (int)(n_data + 2));
    if (index < 0 || index >= n_data || sizes == NULL || buffer(s, 2 + index) == NULL)
        return broken("view into a data buffer that is not there", err);
    int64_t size = (int64_t)tl_read_le64(sizes + index * 8);
    if (offset < 0 || offset > size || length > size - offset)
        return broken("view beyond its data buffer", err);
    *out = (tl_bytes_view){(const uint8_t *)buffer(s, 2 + index) + offset, (size_t)length};
    return TL_OK;
}

static tl_status import_views(const source *s, tl_column *col, tl_error *err)
{
    TL_TRY(need_buffer(s, 1, err));
    int32_t *offsets = own_buffer(col, OWN_OFFSETS, ((size_t)s->length + 1) * sizeof *offsets);
    if (offsets == NULL)
        return tl_nomem(err, "column");
    int64_t total = 0;
    offsets[0] = 0;
    tl_bytes_view text;
    for (int64_t i = 0; i < s->length; i++) {
        if (!tl_col_is_null(col, i)) {
            TL_TRY(view_bytes(s, i, &text, err));
            total += (int64_t)text.len;
        }
        if (total > INT32_MAX)
            return tl_column__too_large(col->type, err);
        offsets[i + 1] = (int32_t)total;
    }
    uint8_t *data = own_buffer(col, OWN_DATA, (size_t)total);
    if (data == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < s->length; i++) {
        if (offsets[i + 1] == offsets[i])
            continue;
        TL_TRY(view_bytes(s, i, &text, err));
        memcpy(data + offsets[i], text.data, text.len);
    }
    col->offsets = offsets;
    col->data = data;
    return check_text(col, err);
}

/* ---- nested ---- */

static tl_status required(const tl_column *col, const tl_column *parent, tl_error *err)
{
    if (col->type->nullable || col->null_count == 0)
        return TL_OK;
    for (int64_t i = 0; i < col->length; i++)
        if (tl_col_is_null(col, i) && (parent == NULL || !tl_col_is_null(parent, i)))
            return tl_error_set(err, TL_E_INVALID, "row %lld: NULL in a column that is NOT NULL", (long long)i);
    return TL_OK;
}

/* Drop the elements that belong to nulls: our nulls are empty. */
static tl_status drop_elements(const source *s, tl_column *col, const extent *e, tl_error *err)
{
    TL_TRY(make_offsets(s, col, true, err));
    int64_t total = col->offsets[col->length], at = 0;
    TL_CLEANUP(tl_freep) uint32_t *idx = tl_alloc((size_t)TL_MAX(total, 1) * sizeof *idx);
    if (idx == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < s->length; i++)
        for (int64_t k = offset_at(s, i); !tl_col_is_null(col, i) && k < offset_at(s, i + 1); k++)
            idx[at++] = (uint32_t)(k - e->start);
    for (int32_t c = 0; c < col->n_children; c++) {
        tl_column *kept = NULL;
        TL_TRY(tl_column_gather(col->children[c], idx, total, &kept, err));
        tl_column_unref(col->children[c]);
        col->children[c] = kept;
    }
    return TL_OK;
}

/* Elements of a list, or keys and values of a map, in the range that the offsets use. */
static tl_status import_elements(const source *s, tl_column *col, const extent *e, tl_error *err)
{
    const struct ArrowArray *array = s->array->children[0];
    const struct ArrowSchema *schema = s->schema->children[0];
    if (col->phys == TL_PHYS_LIST)
        return import_column(s, array, schema, e->start, e->items, col->type->fields[0].type, &col->children[0], err);
    tl_arrow_format format;
    TL_TRY(tl_arrow__check_schema(schema, &format, err));
    if (format.kind != TL_ARROW_STRUCT || schema->n_children != 2)
        return broken("map without a struct of key and value", err);
    TL_TRY(check_array(array, schema, &format, e->start, e->items, err));
    int64_t from = array->offset + e->start;
    if (array->null_count != 0 && array->buffers[0] != NULL && tl_bitmap_count(array->buffers[0], from, e->items) != e->items)
        return broken("an entry of a map is null", err);
    for (int32_t c = 0; c < 2; c++)
        TL_TRY(import_column(s, array->children[c], schema->children[c], from, e->items, col->type->fields[c].type, &col->children[c],
                             err));
    return TL_OK;
}

static tl_status import_lists(const source *s, tl_column *col, tl_error *err)
{
    extent e;
    TL_TRY(check_offsets(s, col, &e, err));
    TL_TRY(import_elements(s, col, &e, err));
    TL_TRY(e.filled_nulls ? drop_elements(s, col, &e, err) : make_offsets(s, col, false, err));
    for (int32_t c = 0; c < col->n_children; c++)
        TL_TRY(required(col->children[c], NULL, err));
    return TL_OK;
}

static int64_t find_child(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->name != NULL && strcmp(schema->children[i]->name, name) == 0)
            return i;
    return -1;
}

static tl_status import_field(const source *s, const tl_field *field, tl_column **out, tl_error *err)
{
    int64_t k = find_child(s->schema, field->name);
    if (k < 0)
        return tl_error_set(err, TL_E_INVALID, "it is not in the Arrow schema");
    return import_column(s, s->array->children[k], s->schema->children[k], s->from, s->length, field->type, out, err);
}

static tl_status import_struct(const source *s, tl_column *col, tl_error *err)
{
    for (int32_t i = 0; i < col->n_children; i++) {
        const tl_field *field = &col->type->fields[i];
        tl_status status = import_field(s, field, &col->children[i], err);
        if (status == TL_OK)
            status = required(col->children[i], col, err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "field '%s'", field->name);
    }
    return TL_OK;
}

static tl_status import_dictionary(const source *s, const tl_type *type, tl_column **out, tl_error *err)
{
    if (s->format.kind != TL_ARROW_INT)
        return broken("the indices of a dictionary are no integers", err);
    if (s->schema->dictionary->dictionary != NULL)
        return broken("the values of a dictionary are a dictionary", err);
    TL_TRY(need_buffer(s, 1, err));
    TL_CLEANUP(tl_column_unrefp) tl_column *values = NULL;
    const struct ArrowArray *dictionary = s->array->dictionary;
    if (dictionary->length >= TL_ROW_NULL)
        return broken("a dictionary of more than 2^32 values", err);
    TL_TRY(import_column(s, dictionary, s->schema->dictionary, 0, dictionary->length, type, &values, err));
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc((size_t)TL_MAX(s->length, 1) * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(err, "column");
    const uint8_t *validity = s->array->null_count == 0 ? NULL : buffer(s, 0);
    for (int64_t i = 0; i < s->length; i++) {
        bool null = validity != NULL && !tl_bit_get(validity, s->from + i);
        tl_i128 index = null ? 0 : read_int(buffer(s, 1), s->from + i, s->format.bytes, s->format.is_unsigned);
        if (!null && (index < 0 || index >= dictionary->length))
            return broken("an index beyond its dictionary", err);
        refs[i] = (tl_rowref){0, null ? TL_ROW_NULL : (uint32_t)index};
    }
    const tl_column *srcs[1] = {values};
    return tl_column_gather_multi(type, srcs, refs, s->length, out, err);
}

/* ---- dispatch ---- */

typedef tl_status (*import_fn)(const source *s, tl_column *col, tl_error *err);

/* How values of an Arrow kind become ones of a type; NULL: not at all. */
static import_fn pick_import(tl_arrow_kind kind, const tl_type *type)
{
    bool bytes = tl_type_phys(type) == TL_PHYS_BYTES;
    switch (kind) {
    case TL_ARROW_BOOL:
        return type->kind == TL_BOOLEAN ? unpack_bools : NULL;
    case TL_ARROW_INT:
        if (type->kind >= TL_TINYINT && type->kind <= TL_BIGINT)
            return import_ints;
        return type->kind == TL_DECIMAL ? import_decimals : NULL;
    case TL_ARROW_DECIMAL:
        return type->kind == TL_DECIMAL ? import_decimals : NULL;
    case TL_ARROW_FLOAT:
    case TL_ARROW_DOUBLE:
        return type->kind == TL_FLOAT || type->kind == TL_DOUBLE ? import_doubles : NULL;
    case TL_ARROW_BYTES:
    case TL_ARROW_LARGE_BYTES:
    case TL_ARROW_FIXED_BYTES:
        return bytes ? import_bytes : NULL;
    case TL_ARROW_VIEW:
        return bytes ? import_views : NULL;
    case TL_ARROW_DATE:
        return type->kind == TL_DATE ? import_dates : NULL;
    case TL_ARROW_TIME:
        return type->kind == TL_TIME ? import_times : NULL;
    case TL_ARROW_TIMESTAMP:
        return type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ ? import_timestamps : NULL;
    case TL_ARROW_LIST:
    case TL_ARROW_LARGE_LIST:
    case TL_ARROW_FIXED_LIST:
        return type->kind == TL_ARRAY ? import_lists : NULL;
    case TL_ARROW_MAP:
        return type->kind == TL_MAP || type->kind == TL_MULTISET ? import_lists : NULL;
    case TL_ARROW_STRUCT:
        return type->kind == TL_ROW || type->kind == TL_VARIANT ? import_struct : NULL;
    default:
        return NULL;
    }
}

static tl_status no_conversion(const source *s, const tl_type *type, tl_error *err)
{
    tl_buf name = {0};
    bool named = tl_type_format(type, &name) == TL_OK && tl_buf_append_byte(&name, 0) == TL_OK;
    tl_status status = tl_error_set(err, TL_E_INVALID, "Arrow type '%.40s' cannot become %s", s->schema->format,
                                    named ? (char *)name.data : "?");
    tl_buf_deinit(&name);
    return status;
}

static tl_status import_column(const source *parent, const struct ArrowArray *array, const struct ArrowSchema *schema, int64_t from,
                               int64_t length, const tl_type *type, tl_column **out, tl_error *err)
{
    source s = {parent->h, array, schema, {0}, 0, length};
    TL_TRY(tl_arrow__check_schema(schema, &s.format, err));
    TL_TRY(check_array(array, schema, &s.format, from, length, err));
    s.from = array->offset + from;
    if (schema->dictionary != NULL)
        return import_dictionary(&s, type, out, err);
    if (s.format.kind == TL_ARROW_NULL)
        return tl_column_nulls(type, length, out, err);
    import_fn import = pick_import(s.format.kind, type);
    if (import == NULL)
        return no_conversion(&s, type, err);
    bool fixed = tl_phys_width(tl_type_phys(type)) > 0;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(borrower(s.h, type, length, &col, err));
    TL_TRY(import_validity(&s, col, err));
    if (fixed)
        TL_TRY(need_buffer(&s, 1, err));
    TL_TRY(import(&s, col, err));
    *out = TL_STEAL(col);
    return TL_OK;
}

static tl_status import_batch(holder *h, const struct ArrowSchema *schema, const tl_type *row_type, tl_batch **out, tl_error *err)
{
    source s = {h, &h->array, schema, {0}, 0, h->array.length};
    TL_TRY(tl_arrow__check_schema(schema, &s.format, err));
    if (s.format.kind != TL_ARROW_STRUCT || schema->dictionary != NULL)
        return tl_error_set(err, TL_E_INVALID, "Arrow array of a batch must be a struct, not '%s'", schema->format);
    TL_TRY(check_array(&h->array, schema, &s.format, 0, s.length, err));
    if (s.length >= TL_ROW_NULL)
        return tl_error_set(err, TL_E_LIMIT, "Arrow array of %lld rows: a batch has at most 2^32 - 2", (long long)s.length);
    s.from = h->array.offset;
    const uint8_t *validity = h->array.null_count == 0 ? NULL : h->array.buffers[0];
    if (validity != NULL && tl_bitmap_count(validity, s.from, s.length) != s.length)
        return tl_error_set(err, TL_E_INVALID, "Arrow array of a batch has a row that is null as a whole");
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(row_type, s.length, &batch, err));
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        tl_status status = import_field(&s, &row_type->fields[i], &batch->cols[i], err);
        if (status == TL_OK)
            status = required(batch->cols[i], NULL, err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "column '%s'", row_type->fields[i].name);
    }
    *out = TL_STEAL(batch);
    return TL_OK;
}

tl_status tl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *schema, const tl_type *row_type, tl_batch **out,
                                tl_error *err)
{
    if (array == NULL || array->release == NULL)
        return tl_error_set(err, TL_E_INVALID, "Arrow array is missing or was released");
    holder *h = tl_calloc(1, sizeof *h);
    if (h == NULL) {
        array->release(array);
        return tl_nomem(err, "Arrow array");
    }
    h->array = *array;
    h->refs = 1;
    array->release = NULL;
    tl_status status = import_batch(h, schema, row_type, out, err);
    holder_unref(h);
    return status;
}
