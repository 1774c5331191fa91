/*
 * Columns: life cycle, slices, retyping, checks. Gather and concat are in gather.c and concat.c, batches in batch.c.
 */
#include "types/column.h"

#include "types/types_private.h"

/* ---- life cycle ---- */

tl_column *tl_column_ref(const tl_column *col)
{
    tl_column *c = (tl_column *)(uintptr_t)col;
    __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
    return c;
}

/* Columns of a row or a few, as look-ups make them, have their values behind the struct: one allocation less for each. */
#define INLINE_BYTES 64
#define INLINE_AT ((sizeof(tl_column) + 15) / 16 * 16)

static uint8_t *room(const tl_column *col)
{
    return (uint8_t *)(uintptr_t)col + INLINE_AT;
}

void *tl_column__buffer(tl_column *col, size_t bytes)
{
    size_t from = ((size_t)col->room_used + 15) / 16 * 16;
    if (col->room_bytes < from || col->room_bytes - from < bytes)
        return tl_alloc_aligned(bytes);
    col->room_used = (uint32_t)(from + bytes);
    return room(col) + from;
}

static void free_buffer(const tl_column *col, void *buffer)
{
    if ((uintptr_t)buffer - (uintptr_t)room(col) >= col->room_bytes)
        tl_free(buffer);
}

/* Columns of one allocation. */
typedef struct tl_column_block {
    int live;            /* columns; atomic */
    const tl_type *type; /* ref held: their types are its fields' */
    uint8_t columns[];
} tl_column_block;

/* Whether this was the last ref. Who has the only one need not tell others that it goes. */
static bool drop_ref(int *refs)
{
    return __atomic_load_n(refs, __ATOMIC_ACQUIRE) == 1 || __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
}

static void free_struct(tl_column *col)
{
    tl_column_block *block = col->block;
    if (block == NULL) {
        tl_type_unref(col->type);
        tl_free(col);
    } else if (drop_ref(&block->live)) {
        tl_type_unref(block->type);
        tl_free(block);
    }
}

void tl_column_unref(tl_column *col)
{
    if (col == NULL || !drop_ref(&col->refs))
        return;
    if (col->release != NULL) {
        col->release(col);
    } else {
        free_buffer(col, col->validity);
        free_buffer(col, col->values);
        free_buffer(col, col->offsets);
        free_buffer(col, col->data);
    }
    for (int32_t i = 0; i < col->n_children; i++)
        tl_column_unref(col->children[i]);
    tl_free(col->children);
    free_struct(col);
}

static int32_t child_count(const tl_type *type, tl_phys phys)
{
    switch (phys) {
    case TL_PHYS_LIST:
        return 1;
    case TL_PHYS_MAP:
        return 2;
    case TL_PHYS_ROW:
        return type->n_fields;
    default:
        return 0;
    }
}

static tl_status make_shell(const tl_type *type, int64_t length, size_t bytes, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_column *col = tl_calloc(1, bytes);
    if (col == NULL)
        return tl_nomem(err, "column");
    tl_phys phys = tl_type_phys(type);
    int32_t n_children = child_count(type, phys);
    if (n_children > 0 && (col->children = tl_calloc((size_t)n_children, sizeof *col->children)) == NULL)
        return tl_nomem(err, "column");
    col->n_children = n_children;
    col->type = tl_type_ref(type);
    col->phys = phys;
    col->length = length;
    col->refs = 1;
    *out = TL_STEAL(col);
    return TL_OK;
}

tl_status tl_column__shell(const tl_type *type, int64_t length, tl_column **out, tl_error *err)
{
    return make_shell(type, length, sizeof(tl_column), out, err);
}

static bool has_offsets(tl_phys phys)
{
    return phys == TL_PHYS_BYTES || phys == TL_PHYS_LIST || phys == TL_PHYS_MAP;
}

static tl_status column_alloc(const tl_type *type, int64_t length, bool zero, tl_column **out, tl_error *err)
{
    tl_phys phys = tl_type_phys(type);
    size_t bytes = 0;
    int width = tl_phys_width(phys);
    bool offsets = has_offsets(phys);
    if (!tl_mul_size((size_t)length + (offsets ? 1 : 0), offsets ? sizeof(int32_t) : (size_t)width, &bytes))
        return tl_nomem(err, "column");
    bool is_inline = bytes <= INLINE_BYTES;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(make_shell(type, length, is_inline ? INLINE_AT + INLINE_BYTES : sizeof *col, &col, err));
    col->room_bytes = is_inline ? INLINE_BYTES : 0;
    void *buffer = tl_column__buffer(col, bytes);
    if (buffer == NULL)
        return tl_nomem(err, "column");
    if (zero && !is_inline)
        memset(buffer, 0, bytes);
    if (offsets)
        col->offsets = buffer;
    else if (width > 0)
        col->values = buffer;
    *out = TL_STEAL(col);
    return TL_OK;
}

tl_status tl_column_alloc(const tl_type *type, int64_t length, tl_column **out, tl_error *err)
{
    return column_alloc(type, length, true, out, err);
}

tl_status tl_column__alloc_raw(const tl_type *type, int64_t length, tl_column **out, tl_error *err)
{
    return column_alloc(type, length, false, out, err);
}

tl_status tl_column__alloc_block(const tl_type *row_type, const uint32_t *room_bytes, int64_t length, tl_column **out, tl_error *err)
{
    size_t total = sizeof(tl_column_block);
    int live = 0;
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        total += room_bytes[i] > 0 ? INLINE_AT + room_bytes[i] : 0;
        live += room_bytes[i] > 0;
        out[i] = NULL;
    }
    if (live == 0)
        return TL_OK;
    tl_column_block *block = tl_alloc(total);
    if (block == NULL)
        return tl_nomem(err, "columns");
    *block = (tl_column_block){live, tl_type_ref(row_type)};
    uint8_t *at = block->columns;
    for (int32_t i = 0; i < row_type->n_fields; i++) {
        if (room_bytes[i] == 0)
            continue;
        tl_column *col = (tl_column *)(void *)at;
        at += INLINE_AT + room_bytes[i];
        const tl_type *type = row_type->fields[i].type;
        *col = (tl_column){.type = type, .phys = tl_type_phys(type), .length = length, .refs = 1, .block = block, .room_bytes = room_bytes[i]};
        if (has_offsets(col->phys))
            col->offsets = tl_column__buffer(col, ((size_t)length + 1) * sizeof *col->offsets);
        else
            col->values = tl_column__buffer(col, (size_t)length * (size_t)tl_phys_width(col->phys));
        out[i] = col;
    }
    return TL_OK;
}

void tl_column__no_validity(tl_column *col)
{
    free_buffer(col, col->validity);
    col->validity = NULL;
}

tl_status tl_column__too_large(const tl_type *type, tl_error *err)
{
    tl_buf text = {0};
    tl_status status =
        tl_error_set(err, TL_E_LIMIT, "a column of type %s would hold more than 2147483647 bytes or elements in one batch",
                     tl_type_format(type, &text) == TL_OK && tl_buf_append_byte(&text, 0) == TL_OK ? (char *)text.data : "?");
    tl_buf_deinit(&text);
    return status;
}

tl_status tl_column_nulls(const tl_type *type, int64_t length, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(tl_column_alloc(type, length, &col, err));
    if (length > 0) {
        col->validity = tl_calloc(tl_bitmap_bytes(length), 1);
        if (col->validity == NULL)
            return tl_nomem(err, "column");
    }
    if (col->phys == TL_PHYS_BYTES && (col->data = tl_calloc(TL_BYTES_SLACK, 1)) == NULL)
        return tl_nomem(err, "column");
    col->null_count = length;
    for (int32_t i = 0; i < col->n_children; i++)
        TL_TRY(tl_column_nulls(type->fields[i].type, col->phys == TL_PHYS_ROW ? length : 0, &col->children[i], err));
    *out = TL_STEAL(col);
    return TL_OK;
}

/* ---- views of the same buffers ---- */

static void release_view(tl_column *col)
{
    tl_column_unref(col->owner);
}

tl_status tl_column__view(const tl_column *col, const tl_type *type, int64_t from, int64_t length, tl_column **out,
                          tl_error *err)
{
    tl_column *view = NULL;
    TL_TRY(tl_column__shell(type, length, &view, err));
    /* A view of a view holds the owner itself, so chains stay short. */
    view->owner = tl_column_ref(col->release == release_view ? col->owner : col);
    view->release = release_view;
    view->null_count = col->null_count;
    if (col->validity != NULL && length > 0) {
        if (length != col->length)
            view->null_count = length - tl_bitmap_count(col->validity, from, length);
        if (view->null_count > 0)
            view->validity = col->validity + from / 8;
    } else {
        view->null_count = 0;
    }
    int width = tl_phys_width(col->phys);
    if (width > 0)
        view->values = (uint8_t *)col->values + (size_t)from * (size_t)width;
    if (col->offsets != NULL)
        view->offsets = col->offsets + from;
    view->data = col->data;
    *out = view;
    return TL_OK;
}

static tl_status slice_view(const tl_column *col, int64_t from, int64_t length, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *view = NULL;
    TL_TRY(tl_column__view(col, col->type, from, length, &view, err));
    for (int32_t i = 0; i < col->n_children; i++) {
        if (col->phys == TL_PHYS_ROW)
            TL_TRY(slice_view(col->children[i], from, length, &view->children[i], err));
        else
            view->children[i] = tl_column_ref(col->children[i]);
    }
    *out = TL_STEAL(view);
    return TL_OK;
}

tl_status tl_column_slice(const tl_column *col, int64_t from, int64_t length, tl_column **out, tl_error *err)
{
    if (from < 0 || length < 0 || from > col->length || length > col->length - from)
        return tl_error_set(err, TL_E_INVALID, "slice of rows %lld to %lld of a column of %lld rows", (long long)from,
                            (long long)(from + length), (long long)col->length);
    if (from == 0 && length == col->length) {
        *out = tl_column_ref(col);
        return TL_OK;
    }
    if (from % 8 == 0)
        return slice_view(col, from, length, out, err);
    return tl_column__concat_ranges(col->type, &col, &from, &length, 1, out, err);
}

tl_status tl_column_retype(const tl_column *col, const tl_type *type, tl_column **out, tl_error *err)
{
    if (type == col->type) {
        *out = tl_column_ref(col);
        return TL_OK;
    }
    if (tl_type_phys(type) != col->phys || child_count(type, col->phys) != col->n_children)
        return tl_error_set(err, TL_E_INTERNAL, "a column cannot be seen as a type of another layout");
    TL_CLEANUP(tl_column_unrefp) tl_column *view = NULL;
    TL_TRY(tl_column__view(col, type, 0, col->length, &view, err));
    for (int32_t i = 0; i < col->n_children; i++)
        TL_TRY(tl_column_retype(col->children[i], type->fields[i].type, &view->children[i], err));
    *out = TL_STEAL(view);
    return TL_OK;
}

static tl_status check_all_vectors(const tl_column *col, tl_error *err)
{
    for (int32_t i = 0; i < col->n_children; i++)
        TL_TRY(check_all_vectors(col->children[i], err));
    return tl_vectors_check(col, err);
}

tl_status tl_column_with_vectors(const tl_column *col, const tl_type *type, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *view = NULL;
    TL_TRY(tl_column_retype(col, type, &view, err));
    TL_TRY(check_all_vectors(view, err));
    *out = TL_STEAL(view);
    return TL_OK;
}

int64_t tl_column_bytes(const tl_column *col)
{
    int64_t bytes = (int64_t)sizeof *col + col->length * tl_phys_width(col->phys);
    if (col->validity != NULL)
        bytes += (int64_t)tl_bitmap_bytes(col->length);
    if (col->offsets != NULL)
        bytes += (col->length + 1) * (int64_t)sizeof(int32_t);
    if (col->phys == TL_PHYS_BYTES)
        bytes += col->offsets[col->length] - col->offsets[0];
    for (int32_t i = 0; i < col->n_children; i++)
        bytes += tl_column_bytes(col->children[i]);
    return bytes;
}

/* ---- checks ---- */

static tl_status broken(tl_error *err, const char *reason, int64_t row)
{
    return tl_error_set(err, TL_E_INVALID, "column breaks its layout at row %lld: %s", (long long)row, reason);
}

static tl_status check_offsets(const tl_column *col, tl_error *err)
{
    if (col->offsets == NULL)
        return broken(err, "no offsets", 0);
    if (col->offsets[0] < 0)
        return broken(err, "negative offset", 0);
    for (int64_t i = 0; i < col->length; i++) {
        if (col->offsets[i] > col->offsets[i + 1])
            return broken(err, "offsets decrease", i);
        if (tl_col_is_null(col, i) && col->offsets[i] != col->offsets[i + 1])
            return broken(err, "null with content", i);
    }
    int32_t end = col->offsets[col->length];
    if (col->phys == TL_PHYS_BYTES && col->data == NULL && end > col->offsets[0])
        return broken(err, "no data", 0);
    for (int32_t i = 0; i < col->n_children; i++)
        if (col->children[i]->length < end)
            return broken(err, "offset beyond the elements", col->length);
    return TL_OK;
}

static tl_status check_values(const tl_column *col, int width, tl_error *err)
{
    static const uint8_t zeros[16];
    if (col->values == NULL && col->length > 0)
        return broken(err, "no values", 0);
    for (int64_t i = 0; i < col->length; i++) {
        const uint8_t *value = (const uint8_t *)col->values + i * width;
        if (tl_col_is_null(col, i) && memcmp(value, zeros, (size_t)width) != 0)
            return broken(err, "null with a value", i);
        if (col->phys == TL_PHYS_BOOL && *value > 1)
            return broken(err, "boolean neither 0 nor 1", i);
        if (col->phys == TL_PHYS_TS96 &&
            (tl_col_ts96(col, i).nanos < 0 || tl_col_ts96(col, i).nanos > 999999 || tl_col_ts96(col, i).zero != 0))
            return broken(err, "nanoseconds of a timestamp out of range", i);
    }
    return TL_OK;
}

tl_status tl_vectors_check(const tl_column *col, tl_error *err)
{
    if (col->type->kind != TL_VECTOR)
        return TL_OK;
    int32_t want = col->type->length;
    const tl_column *elements = col->children[0];
    for (int64_t i = 0; i < col->length; i++) {
        int32_t n = col->offsets[i + 1] - col->offsets[i];
        if (n != (tl_col_is_null(col, i) ? 0 : want))
            return tl_error_set(err, TL_E_INVALID, "row %lld: %d elements in a VECTOR of %d", (long long)i, n, want);
    }
    int64_t from = col->offsets[0], n = col->offsets[col->length] - from;
    if (elements->null_count > 0 && tl_bitmap_count(elements->validity, from, n) != n)
        return tl_error_set(err, TL_E_INVALID, "NULL among the elements of a VECTOR");
    return TL_OK;
}

tl_status tl_column_check(const tl_column *col, tl_error *err)
{
    if (col->phys != tl_type_phys(col->type) || col->n_children != child_count(col->type, col->phys))
        return broken(err, "layout is not that of the type", 0);
    int64_t nulls = col->validity == NULL ? 0 : col->length - tl_bitmap_count(col->validity, 0, col->length);
    if (nulls != col->null_count)
        return broken(err, "null count differs from the bitmap", 0);
    for (int32_t i = 0; i < col->n_children; i++) {
        const tl_column *child = col->children[i];
        if (child == NULL)
            return broken(err, "a child is missing", 0);
        if (col->phys == TL_PHYS_ROW && child->length != col->length)
            return broken(err, "children of different length", 0);
        if (!tl_type_equal(child->type, col->type->fields[i].type, false))
            return broken(err, "type of a child differs", 0);
        TL_TRY(tl_column_check(child, err));
    }
    int width = tl_phys_width(col->phys);
    if (width > 0)
        return check_values(col, width, err);
    if (col->phys == TL_PHYS_ROW)
        return TL_OK;
    TL_TRY(check_offsets(col, err));
    return tl_vectors_check(col, err);
}
