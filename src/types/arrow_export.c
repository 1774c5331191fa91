/*
 * Batches as Arrow arrays. Buffers are shared where the layouts agree; BOOLEAN, small decimals and TIMESTAMP(7..9) are
 * converted. A VECTOR is a list of fixed size, in which a NULL takes the place of a value: there its elements are copied.
 */
#include "types/arrow_private.h"
#include "types/number.h"

/* The nodes of a batch lie in one block, which goes when the last node is released: children may be moved out and live longer. */
typedef struct node_block {
    int64_t live;  /* nodes not released; atomic */
    uint8_t *next; /* while it is filled */
} node_block;

typedef struct array_private {
    node_block *block;
    tl_column *col;  /* ref held; NULL for the struct of a batch and the entries of a map */
    void *converted; /* buffer of our own, or NULL */
    const void *buffers[3];
    struct ArrowArray *children[];
} array_private;

static size_t node_bytes(int64_t n_children)
{
    return sizeof(array_private) + (size_t)n_children * (sizeof(struct ArrowArray *) + sizeof(struct ArrowArray));
}

/* Bytes of the nodes of a column and all below it. */
static size_t tree_bytes(const tl_column *col)
{
    size_t bytes = col->phys == TL_PHYS_MAP ? node_bytes(1) + node_bytes(2) : node_bytes(col->n_children);
    for (int32_t i = 0; i < col->n_children; i++)
        bytes += tree_bytes(col->children[i]);
    return bytes;
}

static void release_array(struct ArrowArray *array);

/* Let go of what a node and those below it that were not moved out hold; returns how many nodes of `block` they are. */
static int64_t release_nodes(const node_block *block, struct ArrowArray *array)
{
    int64_t n = 1;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child == NULL || child->release == NULL) /* it was moved, or never filled */
            continue;
        if (child->release == release_array && ((array_private *)child->private_data)->block == block)
            n += release_nodes(block, child);
        else
            child->release(child); /* somebody else's, who took its place */
    }
    array_private *own = array->private_data;
    tl_column_unref(own->col);
    tl_free(own->converted);
    array->release = NULL;
    return n;
}

static void release_array(struct ArrowArray *array)
{
    node_block *block = ((array_private *)array->private_data)->block;
    int64_t n = release_nodes(block, array);
    if (__atomic_sub_fetch(&block->live, n, __ATOMIC_ACQ_REL) == 0)
        tl_free(block);
}

/* A node whose children are empty (released) yet. The children's structs are the node's; a child that is moved out leaves its
 * struct behind. */
static void array_node(node_block *block, const tl_column *col, int64_t length, int64_t n_children, struct ArrowArray *out)
{
    *out = (struct ArrowArray){0};
    array_private *own = (array_private *)(void *)block->next;
    block->next += node_bytes(n_children);
    block->live++;
    *own = (array_private){.block = block};
    struct ArrowArray *nodes = (struct ArrowArray *)(void *)(own->children + n_children);
    for (int64_t i = 0; i < n_children; i++) {
        nodes[i] = (struct ArrowArray){0};
        own->children[i] = &nodes[i];
    }
    if (col != NULL) {
        own->col = tl_column_ref(col);
        out->null_count = col->null_count;
        own->buffers[0] = col->null_count > 0 ? col->validity : NULL;
    }
    out->length = length;
    out->n_buffers = 1;
    out->buffers = own->buffers;
    out->n_children = n_children;
    out->children = own->children;
    out->private_data = own;
    out->release = release_array;
}

/* ---- conversions ---- */

static tl_status pack_bools(const tl_column *col, void **out, tl_error *err)
{
    uint8_t *bits = tl_calloc((size_t)((col->length + 63) / 64 + 1), 8);
    if (bits == NULL)
        return tl_nomem(err, "Arrow array");
    const uint8_t *values = col->values;
    for (int64_t i = 0; i < col->length; i += 64) {
        uint64_t word = 0;
        int64_t n = TL_MIN(col->length - i, 64);
        for (int64_t j = 0; j < n; j++)
            word |= (uint64_t)(values[i + j] & 1) << j;
        tl_write_le64(bits + i / 8, word);
    }
    *out = bits;
    return TL_OK;
}

static tl_status widen_decimals(const tl_column *col, void **out, tl_error *err)
{
    tl_i128 *values = tl_alloc_aligned((size_t)TL_MAX(col->length, 1) * sizeof *values);
    if (values == NULL)
        return tl_nomem(err, "Arrow array");
    const int64_t *from = col->values;
    for (int64_t i = 0; i < col->length; i++)
        values[i] = from[i];
    *out = values;
    return TL_OK;
}

static tl_status nanos_beyond_range(const tl_column *col, int64_t i, tl_error *err)
{
    char text[64];
    int n = (int)tl_text__timestamp(col, i, text);
    return tl_error_set(
        err, TL_E_INVALID,
        "row %lld: timestamp %.*s is beyond Arrow's nanoseconds (1677-09-21 to 2262-04-11); read it as TIMESTAMP(6)",
        (long long)i, n, text);
}

static tl_status join_nanos(const tl_column *col, void **out, tl_error *err)
{
    int64_t *values = tl_alloc_aligned((size_t)TL_MAX(col->length, 1) * sizeof *values);
    if (values == NULL)
        return tl_nomem(err, "Arrow array");
    const tl_ts96 *from = col->values;
    for (int64_t i = 0; i < col->length; i++) {
        tl_i128 nanos = (tl_i128)from[i].millis * 1000000 + from[i].nanos;
        values[i] = (int64_t)nanos;
        if (values[i] != nanos) {
            tl_free(values);
            return nanos_beyond_range(col, i, err);
        }
    }
    *out = values;
    return TL_OK;
}

/* ---- nodes ---- */

static tl_status export_values(const tl_column *col, struct ArrowArray *out, tl_error *err)
{
    array_private *own = out->private_data;
    if (col->phys == TL_PHYS_BOOL)
        TL_TRY(pack_bools(col, &own->converted, err));
    else if (col->phys == TL_PHYS_I64 && col->type->kind == TL_DECIMAL)
        TL_TRY(widen_decimals(col, &own->converted, err));
    else if (col->phys == TL_PHYS_TS96)
        TL_TRY(join_nanos(col, &own->converted, err));
    own->buffers[1] = own->converted != NULL ? own->converted : col->values;
    out->n_buffers = 2;
    return TL_OK;
}

static tl_status export_column(node_block *block, const tl_column *col, struct ArrowArray *out, tl_error *err);

static tl_status export_entries(node_block *block, const tl_column *map, struct ArrowArray *entries, tl_error *err)
{
    if (map->children[0]->null_count > 0)
        return tl_error_set(err, TL_E_INVALID, "a map with a NULL key cannot be handed to Arrow");
    int64_t length = TL_MIN(map->children[0]->length, map->children[1]->length);
    array_node(block, NULL, length, 2, entries);
    TL_TRY(export_column(block, map->children[0], entries->children[0], err));
    return export_column(block, map->children[1], entries->children[1], err);
}

/* Elements of a VECTOR column, as many for each NULL as for a value. */
static tl_status pad_vectors(const tl_column *col, tl_column **out, tl_error *err)
{
    const tl_column *elements = col->children[0];
    int64_t total = col->length * col->type->length;
    size_t width = (size_t)tl_phys_width(elements->phys), bytes = width * (size_t)col->type->length;
    TL_CLEANUP(tl_column_unrefp) tl_column *padded = NULL;
    if (total > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "%lld rows of VECTORs of %d elements are too much for one Arrow array", (long long)col->length, col->type->length);
    TL_TRY(tl_column_alloc(elements->type, total, &padded, err));
    for (int64_t i = 0; i < col->length; i++) {
        if (!tl_col_is_null(col, i))
            memcpy((uint8_t *)padded->values + (size_t)i * bytes, (const uint8_t *)elements->values + (size_t)col->offsets[i] * width, bytes);
    }
    *out = TL_STEAL(padded);
    return TL_OK;
}

static tl_status export_vectors(node_block *block, const tl_column *col, struct ArrowArray *out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *elements = NULL;
    TL_TRY(tl_vectors_check(col, err));
    if (col->null_count > 0)
        TL_TRY(pad_vectors(col, &elements, err));
    else
        TL_TRY(tl_column_slice(col->children[0], col->offsets[0], col->offsets[col->length] - col->offsets[0], &elements, err));
    return export_column(block, elements, out->children[0], err);
}

static tl_status export_content(node_block *block, const tl_column *col, struct ArrowArray *out, tl_error *err)
{
    static const uint8_t nothing[1];
    array_private *own = out->private_data;
    switch (col->phys) {
    case TL_PHYS_BYTES:
        own->buffers[1] = col->offsets;
        own->buffers[2] = col->data != NULL ? col->data : nothing;
        out->n_buffers = 3;
        return TL_OK;
    case TL_PHYS_LIST:
    case TL_PHYS_MAP:
        if (col->type->kind == TL_VECTOR)
            return export_vectors(block, col, out, err);
        own->buffers[1] = col->offsets;
        out->n_buffers = 2;
        return col->phys == TL_PHYS_MAP ? export_entries(block, col, out->children[0], err)
                                        : export_column(block, col->children[0], out->children[0], err);
    case TL_PHYS_ROW:
        for (int32_t i = 0; i < col->n_children; i++)
            TL_TRY(export_column(block, col->children[i], out->children[i], err));
        return TL_OK;
    default:
        return export_values(col, out, err);
    }
}

static tl_status export_column(node_block *block, const tl_column *col, struct ArrowArray *out, tl_error *err)
{
    array_node(block, col, col->length, col->phys == TL_PHYS_MAP ? 1 : col->n_children, out);
    tl_status status = export_content(block, col, out, err);
    if (status != TL_OK)
        out->release(out);
    return status;
}

tl_status tl_arrow_export_batch(const tl_batch *batch, struct ArrowArray *out, tl_error *err)
{
    size_t bytes = sizeof(node_block) + node_bytes(batch->n_cols);
    for (int32_t i = 0; i < batch->n_cols; i++)
        bytes += tree_bytes(batch->cols[i]);
    node_block *block = tl_alloc(bytes);
    if (block == NULL)
        return tl_nomem(err, "Arrow array");
    *block = (node_block){.next = (uint8_t *)(block + 1)};
    struct ArrowArray array;
    array_node(block, NULL, batch->n_rows, batch->n_cols, &array);
    for (int32_t i = 0; i < batch->n_cols; i++) {
        tl_status status = export_column(block, batch->cols[i], array.children[i], err);
        if (status != TL_OK) {
            array.release(&array);
            return tl_error_wrap(err, status, "column '%s'", batch->type->fields[i].name);
        }
    }
    *out = array;
    return TL_OK;
}
