/*
 * Levels to nested columns.
 *
 * A leaf's levels tell the story of every list, map and row above it. Each field passes over the levels of one leaf below
 * it: an entry is a slot of the field if it repeats no deeper than the field does (rep <= slot_rep) and the lists around it
 * have an element there (def >= slot_def); the slot is not null if def >= valid_def. A list's elements are counted by the
 * same rule with its own levels. See http://research.google.com/pubs/pub36632.html (Dremel), section 4.
 */
#include "format/parquet/read_private.h"

static tl_status inconsistent(tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "levels of nested values contradict each other");
}

tl_status tl_pq__column_shell(const tl_type *type, int64_t length, int32_t n_children, tl_column **out, tl_error *err)
{
    tl_column *col = tl_calloc(1, sizeof *col);
    if (col == NULL)
        return tl_nomem(err, "column");
    if (n_children > 0) {
        col->children = tl_calloc((size_t)n_children, sizeof *col->children);
        if (col->children == NULL) {
            tl_free(col);
            return tl_nomem(err, "column");
        }
        col->n_children = n_children;
    }
    col->type = tl_type_ref(type);
    col->phys = tl_type_phys(type);
    col->length = length;
    col->refs = 1;
    *out = col;
    return TL_OK;
}

static inline bool is_slot(const tl_pq_field *field, uint8_t rep, uint8_t def)
{
    return rep <= field->slot_rep && def >= field->slot_def;
}

static int64_t count_slots(const tl_pq_field *field)
{
    const uint8_t *def = field->leaf->def, *rep = field->leaf->rep;
    int64_t n = field->leaf->n_levels, count = 0;
    for (int64_t i = 0; i < n; i++)
        count += (rep[i] <= field->slot_rep) & (def[i] >= field->slot_def);
    return count;
}

/* Validity of the slots; none if the field cannot be null or never is. */
static tl_status set_validity(const tl_pq_field *field, tl_column *col, tl_error *err)
{
    const uint8_t *def = field->leaf->def, *rep = field->leaf->rep;
    if (field->valid_def <= field->slot_def || col->length == 0)
        return TL_OK;
    uint8_t *bits = tl_calloc(tl_bitmap_bytes(col->length) + sizeof(uint64_t), 1);
    if (bits == NULL)
        return tl_nomem(err, "validity");
    int64_t at = 0, valid = 0;
    for (int64_t i = 0; i < field->leaf->n_levels; i++) {
        if (!is_slot(field, rep[i], def[i]))
            continue;
        bool v = def[i] >= field->valid_def;
        bits[at >> 3] |= (uint8_t)((unsigned)v << (at & 7));
        valid += v;
        at++;
    }
    col->null_count = col->length - valid;
    col->validity = bits;
    if (col->null_count == 0) {
        tl_free(bits);
        col->validity = NULL;
    }
    return TL_OK;
}

/* ---- leaves ---- */

static tl_status assemble_leaf(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    tl_pq_sink *sink = &field->leaf->sink;
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    int64_t n = count_slots(field);
    TL_TRY(tl_pq__column_shell(field->type, n, 0, &col, err));
    TL_TRY(set_validity(field, col, err));
    int64_t dense = sink->len;
    if (dense != n - col->null_count)
        return inconsistent(err);
    TL_TRY(tl_pq__sink_reserve(sink, n - dense, err));
    if (sink->width == 0) {
        TL_TRY(tl_pq__sink_reserve_data(sink, 0, err));
        if (dense != n)
            tl_pq__expand_offsets(sink->offsets, col->validity, n, dense);
    } else if (dense != n) {
        tl_pq__expand_fixed(sink->values, sink->width, col->validity, n, dense);
    }
    col->values = TL_STEAL(sink->values);
    col->offsets = TL_STEAL(sink->offsets);
    col->data = TL_STEAL(sink->data);
    *sink = (tl_pq_sink){.width = sink->width};
    *out = TL_STEAL(col);
    return TL_OK;
}

/* ---- lists and maps ---- */

/* offsets[0..n]; *total elements. An element without a list, or in an empty one, is a contradiction. */
static bool fill_offsets(const tl_pq_field *field, int32_t *offsets, int64_t *total)
{
    const uint8_t *def = field->leaf->def, *rep = field->leaf->rep;
    int64_t n = 0;
    int32_t elements = 0;
    bool ok = true;
    offsets[0] = 0;
    for (int64_t i = 0; i < field->leaf->n_levels; i++) {
        bool begins = is_slot(field, rep[i], def[i]);
        bool is_element = rep[i] <= field->entry_rep && def[i] >= field->entry_def;
        if (begins)
            n++;
        else if (rep[i] > field->slot_rep && rep[i] <= field->entry_rep)
            ok &= is_element && n > 0 && offsets[n] > offsets[n - 1];
        if (!ok)
            return false;
        elements += is_element;
        offsets[n] = elements;
    }
    *total = elements;
    return n > 0 || elements == 0;
}

static tl_status assemble_list(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    int64_t n = count_slots(field), total;
    TL_TRY(tl_pq__column_shell(field->type, n, field->n_children, &col, err));
    TL_TRY(set_validity(field, col, err));
    col->offsets = tl_alloc_aligned(((size_t)n + 1) * sizeof *col->offsets);
    if (col->offsets == NULL)
        return tl_nomem(err, "offsets");
    if (!fill_offsets(field, col->offsets, &total))
        return inconsistent(err);
    for (int32_t i = 0; i < field->n_children; i++) {
        TL_TRY(tl_pq__assemble(&field->children[i], &col->children[i], err));
        if (col->children[i]->length != total)
            return inconsistent(err);
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

/* ---- rows ---- */

static tl_status assemble_row(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    int64_t n = count_slots(field);
    TL_TRY(tl_pq__column_shell(field->type, n, field->n_children, &col, err));
    TL_TRY(set_validity(field, col, err));
    for (int32_t i = 0; i < field->n_children; i++) {
        const tl_pq_field *child = &field->children[i];
        if (child->kind == TL_PQ_FIELD_MISSING)
            TL_TRY(tl_column_nulls(child->type, n, &col->children[i], err));
        else
            TL_TRY(tl_pq__assemble(child, &col->children[i], err));
        if (col->children[i]->length != n)
            return inconsistent(err);
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

tl_status tl_pq__assemble(const tl_pq_field *field, tl_column **out, tl_error *err)
{
    switch (field->kind) {
    case TL_PQ_FIELD_LEAF:
        return assemble_leaf(field, out, err);
    case TL_PQ_FIELD_LIST:
        return assemble_list(field, out, err);
    case TL_PQ_FIELD_ROW:
        return assemble_row(field, out, err);
    case TL_PQ_FIELD_MISSING:
        break;
    }
    return tl_error_set(err, TL_E_INTERNAL, "missing column has no length of its own");
}
