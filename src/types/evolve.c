/*
 * Plans of evolve.h: a tree with one node for each type that has fields, down to where nothing changes.
 */
#include "types/evolve.h"

#include "types/types_private.h"

typedef enum node_kind { NODE_KEEP, NODE_CAST, NODE_ROW, NODE_LIST, NODE_MAP } node_kind;

struct tl_evolution {
    node_kind kind;
    const tl_type *read;
    const tl_type *to;
    tl_cast_effect effect;
    int32_t n_children;      /* ROW: fields of `to`; LIST: 1; MAP: the value alone, its key is kept */
    tl_evolution **children; /* ROW: NULL where the field is absent */
    int32_t *source;         /* ROW: the child's field in `read`; -1: absent */
};

void tl_evolution_free(tl_evolution *e)
{
    if (e == NULL)
        return;
    for (int32_t i = 0; e->children != NULL && i < e->n_children; i++)
        tl_evolution_free(e->children[i]);
    tl_free(e->children);
    tl_free(e->source);
    tl_type_unref(e->read);
    tl_type_unref(e->to);
    tl_free(e);
}

static void evolution_freep(tl_evolution **e)
{
    tl_evolution_free(*e);
}

const tl_type *tl_evolution_read_type(const tl_evolution *e)
{
    return e->read;
}

tl_cast_effect tl_evolution_effect(const tl_evolution *e)
{
    return e->effect;
}

bool tl_evolution_changes_values(const tl_evolution *e)
{
    if (e->kind == NODE_CAST)
        return e->effect == TL_CAST_CHANGES;
    bool changes = false;
    for (int32_t i = 0; i < e->n_children; i++)
        changes |= e->children[i] != NULL && tl_evolution_changes_values(e->children[i]);
    return changes;
}

/* ---- planning ---- */

static tl_status make_children(tl_evolution *e, int32_t n, tl_error *err)
{
    e->n_children = n;
    e->children = tl_calloc((size_t)n + 1, sizeof(*e->children));
    e->source = tl_calloc((size_t)n + 1, sizeof *e->source);
    return e->children == NULL || e->source == NULL ? tl_nomem(err, "schema evolution") : TL_OK;
}

/* The fields that both sides have, in the order of `from`; *any: whether there are some. */
static tl_status read_type_of_row(tl_evolution *e, const tl_type *from, bool *any, tl_error *err)
{
    tl_field *fields = tl_calloc((size_t)from->n_fields + 1, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "schema evolution");
    int32_t n = 0;
    for (int32_t f = 0; f < from->n_fields; f++) {
        for (int32_t i = 0; i < e->n_children; i++) {
            if (e->children[i] == NULL || e->source[i] != f)
                continue;
            fields[n] = from->fields[f];
            fields[n++].type = e->children[i]->read;
            break;
        }
    }
    for (int32_t i = 0; i < e->n_children; i++) {
        int32_t at = 0; /* places in `from` become places in `read` */
        while (e->children[i] != NULL && fields[at].id != from->fields[e->source[i]].id)
            at++;
        e->source[i] = e->children[i] == NULL ? -1 : at;
    }
    *any = n > 0;
    tl_status status = n > 0 ? tl_type_create_row(from->nullable, fields, n, &e->read, err) : TL_OK;
    tl_free(fields);
    return status;
}

static tl_status plan_row(tl_evolution *e, const tl_type *from, const tl_type *to, bool *any, tl_error *err)
{
    e->kind = NODE_ROW;
    TL_TRY(make_children(e, to->n_fields, err));
    for (int32_t i = 0; i < to->n_fields; i++) {
        e->source[i] = tl_type_field_index_by_id(from, to->fields[i].id);
        if (e->source[i] >= 0)
            TL_TRY(tl_error_wrap(err, tl_evolution_create(from->fields[e->source[i]].type, to->fields[i].type, &e->children[i], err),
                                 "field '%s'", to->fields[i].name));
        e->effect = TL_MAX(e->effect, e->children[i] == NULL ? TL_CAST_CHANGES : e->children[i]->effect);
    }
    return read_type_of_row(e, from, any, err);
}

/* ARRAY and MAP, whose element or value changes. */
static tl_status plan_list(tl_evolution *e, const tl_type *from, const tl_type *to, bool *any, tl_error *err)
{
    bool is_map = to->kind == TL_MAP;
    int32_t changing = is_map ? 1 : 0;
    e->kind = is_map ? NODE_MAP : NODE_LIST;
    if (is_map && !tl_type_same(from->fields[0].type, to->fields[0].type))
        return tl_error_set(err, TL_E_UNSUPPORTED, "cannot cast a MAP to one with another type of keys");
    TL_TRY(make_children(e, 1, err));
    TL_TRY(tl_evolution_create(from->fields[changing].type, to->fields[changing].type, &e->children[0], err));
    *any = e->children[0] != NULL;
    if (!*any)
        return TL_OK;
    e->effect = e->children[0]->effect;
    const tl_type *element = e->children[0]->read;
    return is_map ? tl_type_create_map(from->nullable, from->fields[0].type, element, &e->read, err)
                  : tl_type_create_array(from->nullable, element, &e->read, err);
}

static tl_status plan_scalar(tl_evolution *e, const tl_type *from, const tl_type *to, tl_error *err)
{
    e->effect = tl_cast_effect_of(from, to);
    e->kind = e->effect == TL_CAST_NOTHING ? NODE_KEEP : NODE_CAST;
    e->read = tl_type_ref(from);
    if (tl_cast_exists(from, to) && !(from->kind == to->kind && to->n_fields > 0))
        return TL_OK;
    return tl_cast__no_rule(from, to, err);
}

tl_status tl_evolution_create(const tl_type *from, const tl_type *to, tl_evolution **out, tl_error *err)
{
    TL_CLEANUP(evolution_freep) tl_evolution *e = tl_calloc(1, sizeof *e);
    if (e == NULL)
        return tl_nomem(err, "schema evolution");
    e->to = tl_type_ref(to);
    bool any = true;
    if (tl_type_same(from, to)) {
        e->kind = NODE_KEEP;
        e->read = tl_type_ref(from);
    } else if (from->kind == to->kind && to->kind == TL_ROW) {
        TL_TRY(plan_row(e, from, to, &any, err));
    } else if (from->kind == to->kind && (to->kind == TL_ARRAY || to->kind == TL_MAP)) {
        TL_TRY(plan_list(e, from, to, &any, err));
    } else {
        TL_TRY(plan_scalar(e, from, to, err));
    }
    *out = any ? TL_STEAL(e) : NULL;
    return TL_OK;
}

/* ---- applying ---- */

static void release_masked(tl_column *col)
{
    tl_free(col->validity);
    tl_column_unref(col->owner);
}

/* A child whose values count only where its parent is not NULL: what lies at the other rows must not fail a cast. */
static tl_status masked(const tl_column *child, const tl_column *parent, tl_column **out, tl_error *err)
{
    if (parent->null_count == 0) {
        *out = tl_column_ref(child);
        return TL_OK;
    }
    size_t bytes = tl_bitmap_bytes(child->length);
    uint8_t *both = tl_memdup(parent->validity, bytes + (bytes == 0));
    if (both == NULL)
        return tl_nomem(err, "schema evolution");
    for (size_t i = 0; child->validity != NULL && i < bytes; i++)
        both[i] &= child->validity[i];
    tl_column *view = NULL;
    tl_status status = tl_column__view(child, child->type, 0, child->length, &view, err);
    if (status != TL_OK) {
        tl_free(both);
        return status;
    }
    for (int32_t i = 0; i < child->n_children; i++)
        view->children[i] = tl_column_ref(child->children[i]);
    view->validity = both;
    view->null_count = view->length - tl_bitmap_count(both, 0, view->length);
    view->release = release_masked;
    *out = view;
    return TL_OK;
}

static tl_status apply_row(const tl_evolution *e, const tl_column *col, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *row = NULL;
    TL_TRY(tl_column__view(col, e->to, 0, col->length, &row, err));
    for (int32_t i = 0; i < e->n_children; i++) {
        const tl_evolution *child = e->children[i];
        if (child == NULL) {
            TL_TRY(tl_column_nulls(e->to->fields[i].type, col->length, &row->children[i], err));
        } else if (child->kind == NODE_KEEP) {
            TL_TRY(tl_evolution_apply(child, col->children[e->source[i]], &row->children[i], err));
        } else {
            TL_CLEANUP(tl_column_unrefp) tl_column *seen = NULL;
            TL_TRY(masked(col->children[e->source[i]], col, &seen, err));
            TL_TRY(tl_evolution_apply(child, seen, &row->children[i], err));
        }
    }
    *out = TL_STEAL(row);
    return TL_OK;
}

/* Offsets that begin at 0, for children without what lies before and behind. */
static void rebase(const tl_column *col, tl_column *out)
{
    for (int64_t i = 0; i <= col->length; i++)
        out->offsets[i] = col->offsets[i] - col->offsets[0];
}

/* Only the elements that lists of this column have are cast: it may be part of a larger one. */
static tl_status apply_list(const tl_evolution *e, const tl_column *col, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *list = NULL;
    TL_CLEANUP(tl_column_unrefp) tl_column *part = NULL;
    TL_TRY(tl_column_alloc(e->to, col->length, &list, err));
    rebase(col, list);
    if (col->validity != NULL) {
        list->validity = tl_memdup(col->validity, tl_bitmap_bytes(col->length) + (col->length == 0));
        if (list->validity == NULL)
            return tl_nomem(err, "schema evolution");
        list->null_count = col->null_count;
    }
    int32_t from = col->offsets[0], n = col->offsets[col->length] - from, changing = e->kind == NODE_MAP;
    if (changing > 0) {
        TL_CLEANUP(tl_column_unrefp) tl_column *keys = NULL;
        TL_TRY(tl_column_slice(col->children[0], from, n, &keys, err));
        TL_TRY(tl_column_retype(keys, e->to->fields[0].type, &list->children[0], err));
    }
    TL_TRY(tl_column_slice(col->children[changing], from, n, &part, err));
    TL_TRY(tl_evolution_apply(e->children[0], part, &list->children[changing], err));
    *out = TL_STEAL(list);
    return TL_OK;
}

tl_status tl_evolution_apply(const tl_evolution *e, const tl_column *col, tl_column **out, tl_error *err)
{
    switch (e->kind) {
    case NODE_ROW:
        return apply_row(e, col, out, err);
    case NODE_LIST:
    case NODE_MAP:
        return apply_list(e, col, out, err);
    case NODE_CAST:
        return tl_cast_stored(col, e->to, out, err);
    case NODE_KEEP:
        break;
    }
    return tl_column_retype(col, e->to, out, err);
}
