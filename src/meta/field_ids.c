/*
 * Field ids of a new table (format reference §2). A column takes its id first and then the fields inside it; but the
 * reference rebuilds a ROW that lies inside another type from the inside out, so there children come before their parent.
 * Java: RowType.currentHighestFieldId, ReassignFieldId.
 */
#include "meta/meta_private.h"

#define TYPE_DEPTH_MAX 200

typedef struct numbering {
    int32_t highest;
    tl_error *err;
} numbering;

static tl_status renumber(numbering *num, const tl_type *type, int depth, const tl_type **out);

static tl_status next_id(numbering *num, int32_t *out)
{
    if (num->highest >= 1073741822) /* ids from 1073741823 on belong to the system */
        return tl_error_set(num->err, TL_E_LIMIT, "schema: no field ids left");
    *out = ++num->highest;
    return TL_OK;
}

/* The field's id, and its renumbered type in *type (owned by the caller). */
static tl_status renumber_field(numbering *num, tl_field *field, bool top, int depth, const tl_type **type)
{
    if (top)
        TL_TRY(next_id(num, &field->id));
    TL_TRY(renumber(num, field->type, depth + 1, type));
    field->type = *type;
    return top ? TL_OK : next_id(num, &field->id);
}

static tl_status renumber_row(numbering *num, const tl_type *row, bool top, int depth, const tl_type **out)
{
    size_t n = (size_t)row->n_fields;
    tl_field *fields = tl_calloc(n + 1, sizeof *fields);
    const tl_type **types = tl_calloc(n + 1, sizeof *types);
    tl_status status = fields == NULL || types == NULL ? tl_nomem(num->err, "field ids") : TL_OK;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        fields[i] = row->fields[i]; /* texts are copied by tl_type_create_row() */
        status = renumber_field(num, &fields[i], top, depth, &types[i]);
    }
    if (status == TL_OK)
        status = tl_type_create_row(row->nullable, fields, row->n_fields, out, num->err);
    for (size_t i = 0; i < n && types != NULL; i++)
        tl_type_unref(types[i]);
    tl_free(fields);
    tl_free(types);
    return status;
}

static tl_status renumber_nested(numbering *num, const tl_type *type, int depth, const tl_type **out)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *first = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *second = NULL;
    TL_TRY(renumber(num, type->fields[0].type, depth + 1, &first));
    if (type->kind == TL_ARRAY)
        return tl_type_create_array(type->nullable, first, out, num->err);
    if (type->kind == TL_MULTISET)
        return tl_type_create_multiset(type->nullable, first, out, num->err);
    TL_TRY(renumber(num, type->fields[1].type, depth + 1, &second));
    return tl_type_create_map(type->nullable, first, second, out, num->err);
}

static tl_status renumber(numbering *num, const tl_type *type, int depth, const tl_type **out)
{
    if (depth > TYPE_DEPTH_MAX)
        return tl_error_set(num->err, TL_E_LIMIT, "schema: types nested deeper than %d", TYPE_DEPTH_MAX);
    switch (type->kind) {
    case TL_ROW:
        return renumber_row(num, type, /* top= */ false, depth, out);
    case TL_ARRAY:
    case TL_MAP:
    case TL_MULTISET:
        return renumber_nested(num, type, depth, out);
    default:
        *out = tl_type_ref(type);
        return TL_OK;
    }
}

tl_status tl_schema_assign_ids(const tl_type *row_type, int32_t *highest_field_id, const tl_type **out, tl_error *err)
{
    numbering num = {*highest_field_id, err};
    TL_TRY(renumber_row(&num, row_type, /* top= */ true, /* depth= */ 0, out));
    *highest_field_id = num.highest;
    return TL_OK;
}
