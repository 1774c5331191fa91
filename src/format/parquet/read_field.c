/*
 * Columns of the result: the requested type laid over the file's schema, by name.
 *
 * What the file does not have is NULL. A list, map or row needs at least one stored leaf for its levels: where none of its
 * requested parts is in the file, the first leaf below it is read for them alone.
 */
#include "format/parquet/read_private.h"

typedef struct matcher {
    tl_pq_file *file;
    tl_arena *arena;
    tl_pq_column *column;
    tl_error *err;
} matcher;

static tl_status add_leaf(matcher *m, const tl_pq_node *node, const tl_type *type, bool with_levels, tl_pq_leaf **out)
{
    tl_pq_column *column = m->column;
    size_t bytes = ((size_t)column->n_leaves + 1) * sizeof *column->leaves;
    tl_pq_leaf **leaves = tl_realloc(column->leaves, bytes);
    if (leaves == NULL)
        return tl_nomem(m->err, "column");
    column->leaves = leaves;
    tl_pq_leaf *leaf = tl_calloc(1, sizeof *leaf);
    if (leaf == NULL)
        return tl_nomem(m->err, "column");
    leaves[column->n_leaves++] = leaf; /* owned now, also if the rest fails */
    TL_TRY(tl_pq__read_leaf_init(leaf, m->file, node, type, with_levels, m->err));
    *out = leaf;
    return TL_OK;
}

static tl_status wrong_form(matcher *m, const tl_pq_view *view, tl_pq_form_kind kind, const tl_type *type)
{
    static const char *const forms[] = {"a single value", "a list", "a map", "a group"};
    char path[TL_PQ_PATH_BYTES];
    tl_pq__node_path(view->node, path, sizeof path);
    tl_buf text = {0};
    bool ok = tl_type_format(type, &text) == TL_OK && tl_buf_append_byte(&text, 0) == TL_OK;
    tl_error_set(m->err, TL_E_UNSUPPORTED, "column '%s' is %s in the file and cannot be read as %s", path, forms[kind],
                 ok ? (char *)text.data : "?");
    tl_buf_deinit(&text);
    return TL_E_UNSUPPORTED;
}

static tl_status match(matcher *m, const tl_type *type, tl_pq_view view, uint8_t slot_rep, uint8_t slot_def, tl_pq_field *out);

static tl_status alloc_children(matcher *m, tl_pq_field *field, int32_t n)
{
    field->children = tl_arena_calloc(m->arena, (size_t)n, sizeof *field->children);
    if (field->children == NULL)
        return tl_nomem(m->err, "column");
    field->n_children = n;
    return TL_OK;
}

/* Levels come from the first leaf below that is read anyway, or else from the first one in the file. */
static tl_status choose_levels(matcher *m, tl_pq_field *field, const tl_pq_node *node)
{
    for (int32_t i = 0; i < field->n_children; i++) {
        if (field->children[i].leaf != NULL) {
            field->leaf = field->children[i].leaf;
            return TL_OK;
        }
    }
    return add_leaf(m, m->file->leaves[node->leaf], NULL, true, &field->leaf);
}

static tl_status match_list(matcher *m, const tl_pq_form *form, tl_pq_field *field)
{
    const tl_pq_view views[] = {form->element, form->value};
    field->kind = TL_PQ_FIELD_LIST;
    field->entry_rep = form->entry->rep;
    field->entry_def = form->entry->def;
    TL_TRY(alloc_children(m, field, form->kind == TL_PQ_FORM_MAP ? 2 : 1));
    for (int32_t i = 0; i < field->n_children; i++)
        TL_TRY(match(m, field->type->fields[i].type, views[i], field->entry_rep, field->entry_def, &field->children[i]));
    return choose_levels(m, field, form->entry);
}

static tl_status match_row(matcher *m, const tl_pq_form *form, tl_pq_field *field);

static tl_status match_shredded(matcher *m, const tl_pq_form *form, tl_pq_field *field)
{
    tl_pq_column *column = m->column;
    const tl_type **types = tl_realloc(column->types, ((size_t)column->n_types + 1) * sizeof *types);
    if (types == NULL)
        return tl_nomem(m->err, "column");
    column->types = types;
    TL_TRY(tl_pq__shredded_type(form->node, &types[column->n_types], m->err));
    const tl_type *parts = types[column->n_types++];
    TL_TRY(alloc_children(m, field, 1));
    tl_pq_field *row = &field->children[0];
    *row = *field;
    row->type = parts;
    row->children = NULL;
    TL_TRY(match_row(m, form, row));
    field->kind = TL_PQ_FIELD_SHREDDED;
    field->leaf = row->leaf;
    return TL_OK;
}

static tl_status match_row(matcher *m, const tl_pq_form *form, tl_pq_field *field)
{
    const tl_type *type = field->type;
    if (type->kind == TL_VARIANT && tl_pq__child(form->node, "typed_value") != NULL)
        return match_shredded(m, form, field);
    field->kind = TL_PQ_FIELD_ROW;
    TL_TRY(alloc_children(m, field, type->n_fields));
    for (int32_t i = 0; i < type->n_fields; i++) {
        tl_pq_field *child = &field->children[i];
        const tl_pq_node *node = tl_pq__child(form->node, type->fields[i].name);
        child->type = type->fields[i].type;
        if (node != NULL)
            TL_TRY(match(m, child->type, (tl_pq_view){node, false}, field->slot_rep, field->slot_def, child));
    }
    return choose_levels(m, field, form->node);
}

static tl_pq_form_kind wanted_form(const tl_type *type)
{
    switch (tl_type_phys(type)) {
    case TL_PHYS_LIST:
        return TL_PQ_FORM_LIST;
    case TL_PHYS_MAP:
        return TL_PQ_FORM_MAP;
    case TL_PHYS_ROW:
        return TL_PQ_FORM_ROW;
    default:
        return TL_PQ_FORM_LEAF;
    }
}

static tl_status match(matcher *m, const tl_type *type, tl_pq_view view, uint8_t slot_rep, uint8_t slot_def, tl_pq_field *out)
{
    tl_pq_form form = {0};
    TL_TRY(tl_pq__form(view, &form, m->err));
    if (type->kind == TL_VECTOR)
        return tl_error_set(m->err, TL_E_UNSUPPORTED, "Parquet files hold no VECTOR: Avro and JSON files do");
    *out = (tl_pq_field){.type = type, .slot_rep = slot_rep, .slot_def = slot_def, .valid_def = form.valid_def};
    if (form.kind != wanted_form(type))
        return wrong_form(m, &view, form.kind, type);
    switch (form.kind) {
    case TL_PQ_FORM_LEAF:
        out->kind = TL_PQ_FIELD_LEAF;
        return add_leaf(m, form.node, type, !m->column->is_flat, &out->leaf);
    case TL_PQ_FORM_ROW:
        return match_row(m, &form, out);
    default:
        return match_list(m, &form, out);
    }
}

tl_status tl_pq__column_init(tl_pq_column *column, tl_pq_file *file, tl_arena *arena, const tl_field *field, tl_error *err)
{
    const tl_pq_node *node = tl_pq__child(file->root, field->name);
    *column = (tl_pq_column){.field = {.type = field->type, .kind = TL_PQ_FIELD_MISSING}};
    if (node == NULL)
        return TL_OK;
    column->is_flat = node->el->has_type && node->rep == 0;
    matcher m = {file, arena, column, err};
    return match(&m, field->type, (tl_pq_view){node, false}, 0, 0, &column->field);
}

void tl_pq__column_deinit(tl_pq_column *column)
{
    for (int32_t i = 0; i < column->n_leaves; i++) {
        tl_pq__read_leaf_deinit(column->leaves[i]);
        tl_free(column->leaves[i]);
    }
    for (int32_t i = 0; i < column->n_types; i++)
        tl_type_unref(column->types[i]);
    tl_free(column->types);
    tl_free(column->leaves);
    *column = (tl_pq_column){0};
}

tl_status tl_pq__column_read(tl_pq_column *column, const tl_row_ranges *rows, int64_t n_rows, tl_column **out, tl_error *err)
{
    for (int32_t i = 0; i < column->n_leaves; i++)
        TL_TRY(tl_pq__read_leaf_rows(column->leaves[i], rows, n_rows, err));
    if (column->field.kind == TL_PQ_FIELD_MISSING)
        return tl_column_nulls(column->field.type, n_rows, out, err);
    if (column->is_flat)
        return tl_pq__read_leaf_take(column->leaves[0], out, err);
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    char path[TL_PQ_PATH_BYTES];
    tl_status status = tl_pq__assemble(&column->field, &col, err);
    if (status == TL_OK && col->length != n_rows)
        status = tl_error_set(err, TL_E_CORRUPT, "%lld values in %lld rows", (long long)col->length, (long long)n_rows);
    if (status != TL_OK) {
        tl_pq__node_path(column->leaves[0]->node, path, sizeof path);
        return tl_error_wrap(err, status, "column '%s'", path);
    }
    *out = TL_STEAL(col);
    return TL_OK;
}
