/*
 * The schema as a tree, and what its nodes mean.
 *
 * Lists and maps have several shapes in old files. The rules (the first that fits) for a group annotated LIST with one
 * repeated child `r`: r is no group, has several fields, one repeated field, or is named "array" or NAME_tuple: r itself is
 * the element; else r's only field is. A repeated field without annotation is a list of itself. A map without values is
 * the list of its keys.
 * Source: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#nested-types
 */
#include <stdio.h>

#include "format/parquet/read_private.h"

static tl_status corrupt(const tl_pq_schema_element *el, const char *why, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "schema element '%s': %s", el->name, why);
}

/* ---- tree ---- */

typedef struct tree_builder {
    const tl_pq_file_meta *meta;
    tl_arena *arena;
    tl_error *err;
    int32_t next; /* element to read */
    tl_pq_node **leaves;
    int32_t n_leaves;
} tree_builder;

/* An element with a type is a leaf, whatever it says of children (Java: ParquetMetadataConverter#buildChildren). */
static tl_status check_element(const tl_pq_schema_element *el, tl_error *err)
{
    if (el->has_repetition && (unsigned)el->repetition > TL_PQ_REPEATED)
        return corrupt(el, "unknown repetition", err);
    if (!el->has_type)
        return TL_OK;
    if ((unsigned)el->type > TL_PQ_FIXED_LEN_BYTE_ARRAY)
        return corrupt(el, "unknown type", err);
    if (el->type == TL_PQ_FIXED_LEN_BYTE_ARRAY && (el->type_length <= 0 || el->type_length > TL_PQ_PAGE_BYTES_MAX))
        return corrupt(el, "invalid length of FIXED_LEN_BYTE_ARRAY", err);
    return TL_OK;
}

static tl_status build_node(tree_builder *b, tl_pq_node *node, const tl_pq_node *parent, int depth);

static tl_status build_children(tree_builder *b, tl_pq_node *node, int depth)
{
    const tl_pq_schema_element *el = node->el;
    if (depth >= TL_PQ_DEPTH_MAX)
        return corrupt(el, "nested too deeply", b->err);
    if (el->n_children < 0 || el->n_children > b->meta->n_schema - b->next)
        return corrupt(el, "more children than elements that follow", b->err);
    if (el->n_children == 0 && depth > 0)
        return corrupt(el, "group without fields", b->err);
    node->children = tl_arena_calloc(b->arena, (size_t)el->n_children, sizeof *node->children);
    if (node->children == NULL)
        return tl_nomem(b->err, "schema");
    node->n_children = el->n_children;
    node->leaf = b->n_leaves;
    for (int32_t i = 0; i < el->n_children; i++)
        TL_TRY(build_node(b, &node->children[i], node, depth + 1));
    return TL_OK;
}

static tl_status build_node(tree_builder *b, tl_pq_node *node, const tl_pq_node *parent, int depth)
{
    if (b->next >= b->meta->n_schema)
        return tl_error_set(b->err, TL_E_CORRUPT, "schema ends before its last element");
    const tl_pq_schema_element *el = &b->meta->schema[b->next++];
    TL_TRY(check_element(el, b->err));
    node->el = el;
    node->parent = parent;
    if (parent != NULL) { /* the root's repetition means nothing */
        node->def = (uint8_t)(parent->def + (el->repetition != TL_PQ_REQUIRED));
        node->rep = (uint8_t)(parent->rep + (el->repetition == TL_PQ_REPEATED));
    }
    if (!el->has_type)
        return build_children(b, node, depth);
    node->leaf = b->n_leaves;
    b->leaves[b->n_leaves++] = node;
    return TL_OK;
}

tl_status tl_pq__schema_tree(const tl_pq_file_meta *meta, tl_arena *arena, tl_pq_node **root, tl_pq_node ***leaves,
                             int32_t *n_leaves, tl_error *err)
{
    if (meta->n_schema == 0)
        return tl_error_set(err, TL_E_CORRUPT, "schema is empty");
    tree_builder b = {.meta = meta, .arena = arena, .err = err};
    tl_pq_node *top = tl_arena_calloc(arena, 1, sizeof *top);
    b.leaves = tl_arena_calloc(arena, (size_t)meta->n_schema, sizeof *b.leaves);
    if (top == NULL || b.leaves == NULL)
        return tl_nomem(err, "schema");
    TL_TRY(build_node(&b, top, NULL, 0));
    if (b.next != meta->n_schema)
        return tl_error_set(err, TL_E_CORRUPT, "schema has %d elements outside of its root", meta->n_schema - b.next);
    *root = top;
    *leaves = b.leaves;
    *n_leaves = b.n_leaves;
    return TL_OK;
}

const tl_pq_node *tl_pq__child(const tl_pq_node *node, const char *name)
{
    for (int32_t i = 0; i < node->n_children; i++)
        if (strcmp(node->children[i].el->name, name) == 0)
            return &node->children[i];
    return NULL;
}

void tl_pq__node_path(const tl_pq_node *node, char *buf, size_t buf_bytes)
{
    const tl_pq_node *chain[TL_PQ_DEPTH_MAX + 1];
    int depth = 0;
    for (; node != NULL && node->parent != NULL && depth <= TL_PQ_DEPTH_MAX; node = node->parent)
        chain[depth++] = node;
    size_t len = 0;
    buf[0] = '\0';
    while (depth > 0 && len + 1 < buf_bytes) {
        const char *name = chain[--depth]->el->name;
        len += (size_t)snprintf(buf + len, buf_bytes - len, "%s%s", len == 0 ? "" : ".", name);
    }
}

/* ---- forms ---- */

static bool is_repeated(const tl_pq_node *node)
{
    return node->parent != NULL && node->el->repetition == TL_PQ_REPEATED;
}

static bool has_annotation(const tl_pq_schema_element *el, tl_pq_logical_kind logical, tl_pq_converted converted)
{
    return el->logical.kind == logical || el->converted == converted;
}

static bool is_name_of_tuple(const char *name, const char *list_name)
{
    size_t len = strlen(list_name);
    return strncmp(name, list_name, len) == 0 && strcmp(name + len, "_tuple") == 0;
}

static tl_pq_view list_element(const tl_pq_node *list, const tl_pq_node *entry)
{
    bool is_element = entry->el->has_type || entry->n_children != 1 || is_repeated(&entry->children[0]) ||
                      strcmp(entry->el->name, "array") == 0 || is_name_of_tuple(entry->el->name, list->el->name);
    return is_element ? (tl_pq_view){entry, true} : (tl_pq_view){&entry->children[0], false};
}

tl_status tl_pq__form(tl_pq_view view, tl_pq_form *out, tl_error *err)
{
    const tl_pq_node *node = view.node;
    const tl_pq_schema_element *el = node->el;
    if (is_repeated(node) && !view.is_entry) {
        *out = (tl_pq_form){.kind = TL_PQ_FORM_LIST,
                            .node = node,
                            .valid_def = (uint8_t)(node->def - 1),
                            .entry = node,
                            .element = {node, true}};
        return TL_OK;
    }
    *out = (tl_pq_form){.kind = el->has_type ? TL_PQ_FORM_LEAF : TL_PQ_FORM_ROW, .node = node, .valid_def = node->def};
    bool is_list = has_annotation(el, TL_PQ_LOGICAL_LIST, TL_PQ_LIST);
    bool is_map = has_annotation(el, TL_PQ_LOGICAL_MAP, TL_PQ_MAP);
    if (el->has_type || (!is_list && !is_map && el->converted != TL_PQ_MAP_KEY_VALUE))
        return TL_OK;
    const tl_pq_node *entry = &node->children[0];
    if (node->n_children != 1 || !is_repeated(entry)) {
        if (is_list || is_map)
            return corrupt(el, "a list or map must have one repeated field", err);
        return TL_OK; /* MAP_KEY_VALUE on the inner group, where it belongs in some files */
    }
    out->entry = entry;
    if (!is_list && !entry->el->has_type && entry->n_children == 2) {
        out->kind = TL_PQ_FORM_MAP;
        out->element = (tl_pq_view){&entry->children[0], false};
        out->value = (tl_pq_view){&entry->children[1], false};
        return TL_OK;
    }
    if (!is_list && (entry->el->has_type || entry->n_children != 1))
        return corrupt(el, "a map's entry must have a key and a value", err);
    out->kind = TL_PQ_FORM_LIST;
    out->element = is_list ? list_element(node, entry) : (tl_pq_view){&entry->children[0], false};
    return TL_OK;
}

/* ---- types ---- */

static tl_status leaf_type(const tl_pq_node *node, bool nullable, const tl_type **out, tl_error *err)
{
    tl_type_kind kind;
    int32_t a = 0, b = 0;
    if (tl_pq__natural_type(node->el, &kind, &a, &b))
        return tl_type_create(kind, nullable, a, b, out, err);
    char text[TL_PQ_TYPE_BYTES];
    tl_pq__type_text(node->el, text);
    return tl_error_set(err, TL_E_UNSUPPORTED, "column '%s' has the type %s, which no type here can hold", node->el->name,
                        text);
}

static tl_status row_type(const tl_pq_node *node, bool nullable, const tl_type **out, tl_error *err)
{
    if (tl_pq__is_variant(node))
        return tl_type_create(TL_VARIANT, nullable, 0, 0, out, err);
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)node->n_children, sizeof *fields);
    if (fields == NULL)
        return tl_nomem(err, "schema");
    tl_status status = TL_OK;
    for (int32_t i = 0; i < node->n_children && status == TL_OK; i++) {
        const tl_pq_schema_element *el = node->children[i].el;
        fields[i].name = (char *)(uintptr_t)el->name; /* copied by tl_type_create_row() */
        fields[i].id = el->has_field_id ? el->field_id : -1;
        status = tl_pq__node_type((tl_pq_view){&node->children[i], false}, &fields[i].type, err);
    }
    if (status == TL_OK)
        status = tl_type_create_row(nullable, fields, node->n_children, out, err);
    for (int32_t i = 0; i < node->n_children; i++)
        tl_type_unref(fields[i].type);
    return status;
}

tl_status tl_pq__node_type(tl_pq_view view, const tl_type **out, tl_error *err)
{
    tl_pq_form form;
    TL_TRY(tl_pq__form(view, &form, err));
    bool nullable = view.node->parent != NULL && view.node->el->repetition == TL_PQ_OPTIONAL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *element = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *value = NULL;
    switch (form.kind) {
    case TL_PQ_FORM_LEAF:
        return leaf_type(form.node, nullable, out, err);
    case TL_PQ_FORM_LIST:
        TL_TRY(tl_pq__node_type(form.element, &element, err));
        return tl_type_create_array(nullable, element, out, err);
    case TL_PQ_FORM_MAP:
        TL_TRY(tl_pq__node_type(form.element, &element, err));
        TL_TRY(tl_pq__node_type(form.value, &value, err));
        return tl_type_create_map(nullable, element, value, out, err);
    case TL_PQ_FORM_ROW:
        break;
    }
    return row_type(form.node, nullable, out, err);
}
