/*
 * Shredded VARIANTs: which groups are some, and as what their parts are read (types/variant.h puts them together).
 *
 * `typed_value` has one of the types that the format allows; everything else is refused, as a value could not keep its meaning.
 * Source: https://github.com/apache/parquet-format/blob/master/VariantShredding.md
 */
#include "format/parquet/read_private.h"
#include "types/variant.h"

static bool is_bytes(const tl_pq_node *node)
{
    return node->el->has_type && node->el->type == TL_PQ_BYTE_ARRAY && node->el->repetition != TL_PQ_REPEATED;
}

bool tl_pq__is_variant(const tl_pq_node *node)
{
    const tl_pq_node *value = tl_pq__child(node, "value"), *metadata = tl_pq__child(node, "metadata");
    const tl_pq_node *typed = tl_pq__child(node, "typed_value");
    if (node->el->logical.kind != TL_PQ_LOGICAL_VARIANT || metadata == NULL || !is_bytes(metadata))
        return false;
    if (node->n_children != 1 + (value != NULL) + (typed != NULL))
        return false;
    return value != NULL ? is_bytes(value) : typed != NULL;
}

static tl_status refused(const tl_pq_node *node, tl_error *err)
{
    char path[TL_PQ_PATH_BYTES], type[TL_PQ_TYPE_BYTES];
    tl_pq__node_path(node, path, sizeof path);
    tl_pq__type_text(node->el, type);
    return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s' of the type %s cannot be a part of a shredded VARIANT", path, type);
}

static tl_status scalar_type(const tl_pq_node *node, int32_t *id, const tl_type **out, tl_error *err)
{
    const tl_pq_logical *l = &node->el->logical;
    if (l->kind == TL_PQ_LOGICAL_TIME && l->unit == TL_PQ_MICROS && node->el->type == TL_PQ_INT64) {
        *id = TL_VARIANT_TIME_ID;
        return tl_type_create(TL_BIGINT, true, 0, 0, out, err);
    }
    bool is_known = l->kind != TL_PQ_LOGICAL_TIME && !(l->kind == TL_PQ_LOGICAL_INTEGER && !l->is_signed) && l->kind != TL_PQ_LOGICAL_FLOAT16;
    bool is_fixed = node->el->type == TL_PQ_FIXED_LEN_BYTE_ARRAY && l->kind != TL_PQ_LOGICAL_DECIMAL;
    if (is_fixed)
        is_known = l->kind == TL_PQ_LOGICAL_UUID && node->el->type_length == 16;
    return is_known ? tl_pq__node_type((tl_pq_view){node, false}, out, err) : refused(node, err);
}

static tl_status object_type(const tl_pq_node *node, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)node->n_children, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "schema");
    tl_status status = TL_OK;
    int32_t n = 0;
    for (; n < node->n_children && status == TL_OK; n++) {
        const tl_pq_node *child = &node->children[n];
        fields[n] = (tl_field){.name = (char *)(uintptr_t)child->el->name, .id = -1}; /* copied by tl_type_create_row() */
        status = child->el->has_type ? refused(child, err) : tl_pq__shredded_type(child, &fields[n].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(/* nullable= */ true, fields, n, out, err);
    for (int32_t i = 0; i < n; i++)
        tl_type_unref(fields[i].type);
    return status;
}

static tl_status typed_value_type(const tl_pq_node *node, int32_t *id, const tl_type **out, tl_error *err)
{
    tl_pq_form form;
    *id = -1;
    TL_TRY(tl_pq__form((tl_pq_view){node, false}, &form, err));
    if (form.kind == TL_PQ_FORM_LEAF)
        return scalar_type(node, id, out, err);
    if (form.kind == TL_PQ_FORM_ROW)
        return object_type(node, out, err);
    const tl_pq_node *element = form.element.node;
    if (form.kind != TL_PQ_FORM_LIST || element->el->has_type)
        return refused(node, err);
    TL_CLEANUP(tl_type_unrefp) const tl_type *group = NULL;
    TL_TRY(tl_pq__shredded_type(element, &group, err));
    return tl_type_create_array(/* nullable= */ true, group, out, err);
}

tl_status tl_pq__shredded_type(const tl_pq_node *node, const tl_type **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *bytes = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *typed = NULL;
    tl_field fields[3] = {0};
    TL_TRY(tl_type_create(TL_VARBINARY, /* nullable= */ true, TL_LENGTH_MAX, 0, &bytes, err));
    for (int32_t i = 0; i < node->n_children; i++) {
        const tl_pq_node *child = &node->children[i];
        const char *name = child->el->name;
        bool is_typed = strcmp(name, "typed_value") == 0;
        if (i >= 3 || (!is_typed && ((strcmp(name, "value") != 0 && strcmp(name, "metadata") != 0) || !is_bytes(child))))
            return refused(child, err);
        if (is_typed && typed != NULL)
            return refused(child, err);
        fields[i] = (tl_field){.name = (char *)(uintptr_t)name, .id = -1, .type = bytes};
        if (is_typed) {
            TL_TRY(typed_value_type(child, &fields[i].id, &typed, err));
            fields[i].type = typed;
        }
    }
    return tl_type_create_row(/* nullable= */ true, fields, node->n_children, out, err);
}
