/* CROSS JOIN UNNEST: each row once for each element of its array, map or multiset; kinds and watermarks are carried through. */
#include "stream/array.h"
#include "stream/op.h"

typedef struct unnest_op {
    tl_op base;
    const tl_plan *plan;
} unnest_op;

/* Output rows: which input row, which element (TL_ROW_NULL: none, of a left join), which place. */
typedef struct unnested {
    uint32_t *rows;
    tl_rowref *elements;
    int32_t *places;
    int64_t n, cap;
} unnested;

static void unnested_deinit(unnested *u)
{
    tl_free(u->rows);
    tl_free(u->elements);
    tl_free(u->places);
}

static tl_status add(unnested *u, int64_t row, uint32_t element, int32_t place)
{
    if (u->n == u->cap) {
        int64_t cap = tl_array_next_cap(u->cap, 4096);
        TL_TRY(tl_array_resize(&u->rows, sizeof *u->rows, cap));
        TL_TRY(tl_array_resize(&u->elements, sizeof *u->elements, cap));
        TL_TRY(tl_array_resize(&u->places, sizeof *u->places, cap));
        u->cap = cap;
    }
    u->rows[u->n] = (uint32_t)row;
    u->elements[u->n] = (tl_rowref){0, element};
    u->places[u->n++] = place;
    return TL_OK;
}

static tl_status unnest_rows(const unnest_op *op, const tl_batch *in, unnested *u)
{
    const tl_column *list = in->cols[op->plan->unnest_column];
    bool multiset = list->type->kind == TL_MULTISET;
    for (int64_t i = 0; i < in->n_rows; i++) {
        int32_t from = list->offsets[i], to = tl_col_is_null(list, i) ? from : list->offsets[i + 1], place = 0;
        for (int32_t e = from; e < to; e++)
            for (int32_t copy = multiset ? tl_col_i32(list->children[1], e) : 1; copy > 0; copy--)
                TL_TRY(add(u, i, (uint32_t)e, ++place));
        if (place == 0 && op->plan->join == TL_JOIN_LEFT)
            TL_TRY(add(u, i, TL_ROW_NULL, 0));
    }
    return TL_OK;
}

/* The columns that elements give: of a map key and value, of rows their fields. */
static int32_t element_columns(const tl_column *list, const tl_column **columns, bool *of_rows)
{
    const tl_column *element = list->children[0];
    *of_rows = list->type->kind != TL_MAP && element->type->kind == TL_ROW;
    if (list->type->kind == TL_MAP) {
        columns[0] = list->children[0];
        columns[1] = list->children[1];
        return 2;
    }
    if (!*of_rows) {
        columns[0] = element;
        return 1;
    }
    for (int32_t i = 0; i < element->n_children; i++)
        columns[i] = element->children[i];
    return element->n_children;
}

static tl_status append_elements(const unnest_op *op, const tl_column *list, const unnested *u, tl_batch *out, int32_t at, tl_error *err)
{
    int32_t most = TL_MAX(list->children[0]->n_children, 2);
    TL_CLEANUP(tl_freep) const tl_column **columns = tl_alloc(sizeof *columns * (size_t)most);
    TL_CLEANUP(tl_freep) tl_rowref *refs = tl_memdup(u->elements, sizeof *refs * (size_t)u->n + 1);
    if (columns == NULL || refs == NULL)
        return tl_nomem(err, "UNNEST");
    bool of_rows;
    int32_t n = element_columns(list, columns, &of_rows);
    for (int64_t i = 0; of_rows && i < u->n; i++) /* a NULL row has NULL fields */
        if (refs[i].row != TL_ROW_NULL && tl_col_is_null(list->children[0], refs[i].row))
            refs[i].row = TL_ROW_NULL;
    for (int32_t c = 0; c < n; c++)
        TL_TRY(tl_column_gather_multi(out->type->fields[at + c].type, &columns[c], refs, u->n, &out->cols[at + c], err));
    if (!op->plan->with_ordinality)
        return TL_OK;
    tl_column *places;
    TL_TRY(tl_column_alloc(out->type->fields[at + n].type, u->n, &places, err));
    if (u->n > 0)
        memcpy(places->values, u->places, sizeof *u->places * (size_t)u->n);
    for (int64_t i = 0; i < u->n; i++) /* where a left join has no element there is no place either */
        refs[i] = (tl_rowref){0, u->elements[i].row == TL_ROW_NULL ? TL_ROW_NULL : (uint32_t)i};
    const tl_column *source = places;
    tl_status status = tl_column_gather_multi(out->type->fields[at + n].type, &source, refs, u->n, &out->cols[at + n], err);
    tl_column_unref(places);
    return status;
}

static tl_status unnest_batch(tl_op *base, const tl_batch *in, tl_batch **out, tl_error *err)
{
    const unnest_op *op = (const unnest_op *)base;
    unnested u = {0};
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    tl_status status = unnest_rows(op, in, &u) == TL_OK ? TL_OK : tl_nomem(err, "UNNEST");
    if (status == TL_OK)
        status = tl_batch_gather(in, u.rows, u.n, &rows, err);
    if (status == TL_OK)
        status = tl_batch_create(op->base.type, u.n, &result, err);
    for (int32_t c = 0; c < in->n_cols && status == TL_OK; c++)
        status = tl_column_retype(rows->cols[c], op->base.type->fields[c].type, &result->cols[c], err);
    if (status == TL_OK)
        status = append_elements(op, in->cols[op->plan->unnest_column], &u, result, in->n_cols, err);
    unnested_deinit(&u);
    TL_TRY(status);
    result->row_kind = TL_STEAL(rows->row_kind);
    result->seq = TL_STEAL(rows->seq);
    *out = TL_STEAL(result);
    return TL_OK;
}

static tl_status unnest_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    return tl_stream__each_batch(op, unnest_batch, out, state, err);
}

tl_status tl_stream__unnest(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {unnest_next, NULL};
    unnest_op *u = tl_stream__op_new(sizeof *u, &ops, pipeline, plan->type, input, NULL, err);
    if (u == NULL)
        return TL_E_NOMEM;
    u->plan = plan;
    *out = &u->base;
    return TL_OK;
}
