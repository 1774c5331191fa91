/*
 * Arrow arrays as batches.
 *
 * Buffers are shared where the layouts agree and the producer's pointers are aligned; everything else is converted, with a
 * check of every value. Our columns promise more than Arrow does (zero values and empty ranges at nulls, offsets of 32 bits),
 * so arrays with nulls are mostly copied. The interface does not tell how large a buffer is: lengths, offsets and children are
 * checked against each other, the producer is trusted for the rest.
 */
#include "types/arrow_private.h"
#include "types/types_private.h"

/* ---- ownership ---- */

/* The array, released when the last column that borrows from it is gone. */
typedef struct tl_arrow_holder {
    struct ArrowArray array;
    int refs;
} tl_arrow_holder;

static void holder_unref(tl_arrow_holder *h)
{
    if (__atomic_sub_fetch(&h->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (h->array.release != NULL)
        h->array.release(&h->array);
    tl_free(h);
}

/* What a column borrows from, and which of its buffers are its own after all. */
typedef struct loan {
    tl_arrow_holder *h;
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
static tl_status borrower(tl_arrow_holder *h, const tl_type *type, int64_t length, tl_column **out, tl_error *err)
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

void *tl_arrow__own_buffer(tl_column *col, int slot, size_t bytes)
{
    loan *l = col->owner;
    l->own[slot] = tl_alloc_aligned(bytes + TL_BYTES_SLACK);
    return l->own[slot];
}

/* ---- one node ---- */

static tl_status import_column(const tl_arrow_source *parent, const struct ArrowArray *array, const struct ArrowSchema *schema,
                               int64_t from, int64_t length, const tl_type *type, tl_column **out, tl_error *err);

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

tl_status tl_arrow__broken(const char *reason, tl_error *err)
{
    return tl_error_set(err, TL_E_INVALID, "Arrow array is malformed: %s", reason);
}

static tl_status check_array(const struct ArrowArray *array, const struct ArrowSchema *schema, const tl_arrow_format *format,
                             int64_t from, int64_t length, tl_error *err)
{
    int64_t end;
    if (array == NULL)
        return tl_arrow__broken("it is missing", err);
    if (array->length < 0 || array->offset < 0 || __builtin_add_overflow(array->offset, array->length, &end))
        return tl_arrow__broken("negative length or offset", err);
    if (from > array->length || length > array->length - from)
        return tl_arrow__broken("it is shorter than what refers to it", err);
    if ((schema->dictionary != NULL) != (array->dictionary != NULL))
        return tl_arrow__broken("its dictionary is not that of the schema", err);
    if (array->n_children != schema->n_children || (array->n_children > 0 && array->children == NULL))
        return tl_arrow__broken("its children are not those of the schema", err);
    int64_t wanted = min_buffers(format->kind);
    if (array->n_buffers < wanted || (wanted > 0 && array->buffers == NULL))
        return tl_arrow__broken("buffers are missing", err);
    if (format->kind != TL_ARROW_VIEW && format->kind != TL_ARROW_NULL && array->n_buffers != wanted)
        return tl_arrow__broken("it has too many buffers", err);
    return TL_OK;
}

tl_status tl_arrow__need_buffer(const tl_arrow_source *s, int k, tl_error *err)
{
    return s->length > 0 && tl_arrow__buffer(s, k) == NULL ? tl_arrow__broken("a buffer is missing", err) : TL_OK;
}

static tl_status import_validity(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    const uint8_t *bits = s->array->n_buffers > 0 ? tl_arrow__buffer(s, 0) : NULL;
    if (bits == NULL || s->length == 0 || s->array->null_count == 0)
        return TL_OK;
    col->null_count = s->length - tl_bitmap_count(bits, s->from, s->length);
    if (col->null_count == 0)
        return TL_OK;
    if (s->from % 8 == 0) {
        col->validity = (uint8_t *)(uintptr_t)(bits + s->from / 8);
        return TL_OK;
    }
    col->validity = tl_arrow__own_buffer(col, TL_ARROW_OWN_VALIDITY, tl_bitmap_bytes(s->length));
    if (col->validity == NULL)
        return tl_nomem(err, "column");
    tl_bitmap_copy(col->validity, 0, bits, s->from, s->length);
    return TL_OK;
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
static tl_status drop_elements(const tl_arrow_source *s, tl_column *col, const tl_arrow_extent *e, tl_error *err)
{
    TL_TRY(tl_arrow__make_offsets(s, col, true, err));
    int64_t total = col->offsets[col->length], at = 0;
    TL_CLEANUP(tl_freep) uint32_t *idx = tl_alloc((size_t)TL_MAX(total, 1) * sizeof *idx);
    if (idx == NULL)
        return tl_nomem(err, "column");
    for (int64_t i = 0; i < s->length; i++)
        for (int64_t k = tl_arrow__offset_at(s, i); !tl_col_is_null(col, i) && k < tl_arrow__offset_at(s, i + 1); k++)
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
static tl_status import_elements(const tl_arrow_source *s, tl_column *col, const tl_arrow_extent *e, tl_error *err)
{
    const struct ArrowArray *array = s->array->children[0];
    const struct ArrowSchema *schema = s->schema->children[0];
    if (col->phys == TL_PHYS_LIST)
        return import_column(s, array, schema, e->start, e->items, col->type->fields[0].type, &col->children[0], err);
    tl_arrow_format format;
    TL_TRY(tl_arrow__check_schema(schema, &format, err));
    if (format.kind != TL_ARROW_STRUCT || schema->n_children != 2)
        return tl_arrow__broken("map without a struct of key and value", err);
    TL_TRY(check_array(array, schema, &format, e->start, e->items, err));
    int64_t from = array->offset + e->start;
    if (array->null_count != 0 && array->buffers[0] != NULL && tl_bitmap_count(array->buffers[0], from, e->items) != e->items)
        return tl_arrow__broken("an entry of a map is null", err);
    for (int32_t c = 0; c < 2; c++)
        TL_TRY(import_column(s, array->children[c], schema->children[c], from, e->items, col->type->fields[c].type,
                             &col->children[c], err));
    return TL_OK;
}

static tl_status import_lists(const tl_arrow_source *s, tl_column *col, tl_error *err)
{
    tl_arrow_extent e;
    TL_TRY(tl_arrow__check_offsets(s, col, &e, err));
    TL_TRY(import_elements(s, col, &e, err));
    TL_TRY(e.filled_nulls ? drop_elements(s, col, &e, err) : tl_arrow__make_offsets(s, col, false, err));
    for (int32_t c = 0; c < col->n_children; c++)
        TL_TRY(required(col->children[c], NULL, err));
    return tl_vectors_check(col, err);
}

static int64_t find_child(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++)
        if (schema->children[i]->name != NULL && strcmp(schema->children[i]->name, name) == 0)
            return i;
    return -1;
}

static tl_status import_field(const tl_arrow_source *s, const tl_field *field, tl_column **out, tl_error *err)
{
    int64_t k = find_child(s->schema, field->name);
    if (k < 0)
        return tl_error_set(err, TL_E_INVALID, "it is not in the Arrow schema");
    return import_column(s, s->array->children[k], s->schema->children[k], s->from, s->length, field->type, out, err);
}

static tl_status import_struct(const tl_arrow_source *s, tl_column *col, tl_error *err)
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

static tl_status import_dictionary(const tl_arrow_source *s, const tl_type *type, tl_column **out, tl_error *err)
{
    if (s->format.kind != TL_ARROW_INT)
        return tl_arrow__broken("the indices of a dictionary are no integers", err);
    if (s->schema->dictionary->dictionary != NULL)
        return tl_arrow__broken("the values of a dictionary are a dictionary", err);
    TL_TRY(tl_arrow__need_buffer(s, 1, err));
    TL_CLEANUP(tl_column_unrefp) tl_column *values = NULL;
    const struct ArrowArray *dictionary = s->array->dictionary;
    if (dictionary->length >= TL_ROW_NULL)
        return tl_arrow__broken("a dictionary of more than 2^32 values", err);
    TL_TRY(import_column(s, dictionary, s->schema->dictionary, 0, dictionary->length, type, &values, err));
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_alloc((size_t)TL_MAX(s->length, 1) * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(err, "column");
    const uint8_t *validity = s->array->null_count == 0 ? NULL : tl_arrow__buffer(s, 0);
    for (int64_t i = 0; i < s->length; i++) {
        bool null = validity != NULL && !tl_bit_get(validity, s->from + i);
        tl_i128 index =
            null ? 0 : tl_arrow__read_int(tl_arrow__buffer(s, 1), s->from + i, s->format.bytes, s->format.is_unsigned);
        if (!null && (index < 0 || index >= dictionary->length))
            return tl_arrow__broken("an index beyond its dictionary", err);
        refs[i] = (tl_rowref){0, null ? TL_ROW_NULL : (uint32_t)index};
    }
    const tl_column *srcs[1] = {values};
    return tl_column_gather_multi(type, srcs, refs, s->length, out, err);
}

/* ---- dispatch ---- */

typedef tl_status (*tl_arrow_import_fn)(const tl_arrow_source *s, tl_column *col, tl_error *err);

/* How values of an Arrow kind become ones of a type; NULL: not at all. */
static tl_arrow_import_fn pick_import(tl_arrow_kind kind, const tl_type *type)
{
    bool bytes = tl_type_phys(type) == TL_PHYS_BYTES;
    switch (kind) {
    case TL_ARROW_BOOL:
        return type->kind == TL_BOOLEAN ? tl_arrow__import_bools : NULL;
    case TL_ARROW_INT:
        if (type->kind >= TL_TINYINT && type->kind <= TL_BIGINT)
            return tl_arrow__import_ints;
        return type->kind == TL_DECIMAL ? tl_arrow__import_decimals : NULL;
    case TL_ARROW_DECIMAL:
        return type->kind == TL_DECIMAL ? tl_arrow__import_decimals : NULL;
    case TL_ARROW_FLOAT:
    case TL_ARROW_DOUBLE:
        return type->kind == TL_FLOAT || type->kind == TL_DOUBLE ? tl_arrow__import_doubles : NULL;
    case TL_ARROW_BYTES:
    case TL_ARROW_LARGE_BYTES:
    case TL_ARROW_FIXED_BYTES:
        return bytes ? tl_arrow__import_bytes : NULL;
    case TL_ARROW_VIEW:
        return bytes ? tl_arrow__import_views : NULL;
    case TL_ARROW_DATE:
        return type->kind == TL_DATE ? tl_arrow__import_dates : NULL;
    case TL_ARROW_TIME:
        return type->kind == TL_TIME ? tl_arrow__import_times : NULL;
    case TL_ARROW_TIMESTAMP:
        return type->kind == TL_TIMESTAMP || type->kind == TL_TIMESTAMP_LTZ ? tl_arrow__import_timestamps : NULL;
    case TL_ARROW_LIST:
    case TL_ARROW_LARGE_LIST:
    case TL_ARROW_FIXED_LIST:
        return type->kind == TL_ARRAY || type->kind == TL_VECTOR ? import_lists : NULL;
    case TL_ARROW_MAP:
        return type->kind == TL_MAP || type->kind == TL_MULTISET ? import_lists : NULL;
    case TL_ARROW_STRUCT:
        return type->kind == TL_ROW || type->kind == TL_VARIANT ? import_struct : NULL;
    default:
        return NULL;
    }
}

static tl_status no_conversion(const tl_arrow_source *s, const tl_type *type, tl_error *err)
{
    tl_buf name = {0};
    bool named = tl_type_format(type, &name) == TL_OK && tl_buf_append_byte(&name, 0) == TL_OK;
    tl_status status = tl_error_set(err, TL_E_INVALID, "Arrow type '%.40s' cannot become %s", s->schema->format,
                                    named ? (char *)name.data : "?");
    tl_buf_deinit(&name);
    return status;
}

static tl_status import_column(const tl_arrow_source *parent, const struct ArrowArray *array, const struct ArrowSchema *schema,
                               int64_t from, int64_t length, const tl_type *type, tl_column **out, tl_error *err)
{
    tl_arrow_source s = {parent->h, array, schema, {0}, 0, length};
    TL_TRY(tl_arrow__check_schema(schema, &s.format, err));
    TL_TRY(check_array(array, schema, &s.format, from, length, err));
    s.from = array->offset + from;
    if (schema->dictionary != NULL)
        return import_dictionary(&s, type, out, err);
    if (s.format.kind == TL_ARROW_NULL)
        return tl_column_nulls(type, length, out, err);
    tl_arrow_import_fn import = pick_import(s.format.kind, type);
    if (import == NULL)
        return no_conversion(&s, type, err);
    bool fixed = tl_phys_width(tl_type_phys(type)) > 0;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(borrower(s.h, type, length, &col, err));
    TL_TRY(import_validity(&s, col, err));
    if (fixed)
        TL_TRY(tl_arrow__need_buffer(&s, 1, err));
    TL_TRY(import(&s, col, err));
    *out = TL_STEAL(col);
    return TL_OK;
}

static tl_status import_batch(tl_arrow_holder *h, const struct ArrowSchema *schema, const tl_type *row_type, tl_batch **out,
                              tl_error *err)
{
    tl_arrow_source s = {h, &h->array, schema, {0}, 0, h->array.length};
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

tl_status tl_arrow_import_batch(struct ArrowArray *array, const struct ArrowSchema *schema, const tl_type *row_type,
                                tl_batch **out, tl_error *err)
{
    if (array == NULL || array->release == NULL)
        return tl_error_set(err, TL_E_INVALID, "Arrow array is missing or was released");
    tl_arrow_holder *h = tl_calloc(1, sizeof *h);
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
