/*
 * Incremental GROUP BY: each batch changes groups, and each changed group gives its old row back (-U) and its new one (+U), +I when
 * it appears and -D when its last row has gone. A group that a batch leaves as it was gives nothing. Source of the rules:
 * Flink's GroupAggFunction.
 *
 * COUNT and SUM keep a number; MIN, MAX, FIRST_VALUE, LAST_VALUE, LISTAGG, COLLECT, ARRAY_AGG and everything with DISTINCT keep the
 * values (value_bag.h), because a retraction may take any of them back.
 */
#include "stream/op.h"
#include "stream/value_bag.h"
#include "types/binary_row.h"
#include "types/key.h"
#include "types/text.h"

typedef struct accumulator {
    int64_t count;  /* values that are not NULL */
    tl_i128 whole;  /* SUM of whole numbers and decimals */
    double real;    /* SUM of FLOAT and DOUBLE */
    tl_value_bag bag;
} accumulator;

typedef struct group {
    int64_t rows;     /* rows in the group */
    int64_t key_row;  /* its key values: row of `key_rows` */
    int64_t old_row;  /* its row before this batch: row of `old` builders; -1: it was not there */
    bool touched;
    accumulator *acc; /* one per call */
} group;

typedef struct agg_op {
    tl_op base;
    tl_op *input;
    const tl_plan *plan;
    const tl_type *key_type;
    tl_map groups; /* normalised key -> group */
    tl_builder **keys; /* key columns of the batch's touched groups, in order of touching */
    tl_builder **before; /* call columns of touched groups that were there */
    group **touched;
    size_t n_touched, cap_touched;
} agg_op;

static bool needs_bag(const tl_agg_call *call)
{
    switch (call->kind) {
    case TL_AGG_COUNT:
    case TL_AGG_SUM:
        return call->distinct;
    default:
        return true;
    }
}

static void group_free(const agg_op *a, group *g)
{
    for (int32_t i = 0; i < a->plan->n_calls; i++)
        tl_value_bag_deinit(&g->acc[i].bag);
    tl_free(g->acc);
    tl_free(g);
}

/* ---- results ---- */

static tl_status append_value(const tl_bag_value *value, const tl_type *type, tl_builder *builder, tl_error *err)
{
    if (value == NULL)
        return tl_builder_null(builder);
    tl_field field = {.name = (char *)"v", .id = -1, .type = type};
    TL_CLEANUP(tl_type_unrefp) const tl_type *row = NULL;
    TL_TRY(tl_type_create_row(false, &field, 1, &row, err));
    return tl_binary_row_read(tl_bytes_view_of(value->row), row, false, &builder, err);
}

static tl_status append_list(const tl_agg_call *call, const tl_value_bag *bag, const tl_type *element, tl_builder *builder, tl_error *err)
{
    const tl_bag_value **values;
    size_t n;
    if (tl_value_bag_list(bag, &values, &n) != TL_OK)
        return tl_nomem(err, "aggregate");
    tl_status status = TL_OK;
    bool multiset = call->kind == TL_AGG_COLLECT;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        int64_t copies = multiset || call->distinct ? 1 : values[i]->count;
        for (int64_t k = 0; k < copies && status == TL_OK; k++)
            status = append_value(values[i], element, tl_builder_child(builder, 0), err);
        if (status == TL_OK && multiset)
            status = tl_builder_int(tl_builder_child(builder, 1), call->distinct ? 1 : values[i]->count);
    }
    tl_free(values);
    return status == TL_OK ? tl_builder_end(builder) : status;
}

static tl_status append_listagg(const tl_agg_call *call, const tl_value_bag *bag, const tl_type *element, tl_builder *builder, tl_error *err)
{
    const tl_bag_value **values;
    size_t n;
    if (tl_value_bag_list(bag, &values, &n) != TL_OK)
        return tl_nomem(err, "aggregate");
    tl_buf text = {0};
    tl_builder *one = NULL;
    tl_status status = tl_builder_create(element, &one, err);
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        tl_column *col = NULL;
        status = append_value(values[i], element, one, err);
        if (status == TL_OK)
            status = tl_builder_finish(one, &col, err);
        for (int64_t k = 0; status == TL_OK && k < (call->distinct ? 1 : values[i]->count); k++) {
            if (text.len > 0 || i + (size_t)k > 0)
                status = tl_buf_append_str(&text, call->separator == NULL ? "," : call->separator);
            if (status == TL_OK)
                status = tl_buf_append(&text, tl_col_bytes(col, 0).data, tl_col_bytes(col, 0).len);
        }
        tl_column_unref(col);
    }
    if (status == TL_OK)
        status = n == 0 ? tl_builder_null(builder) : tl_builder_bytes(builder, text.data, text.len);
    tl_builder_free(one);
    tl_free(values);
    tl_buf_deinit(&text);
    return status;
}

static tl_status append_sum(const tl_agg_call *call, const accumulator *acc, tl_builder *builder)
{
    if (acc->count == 0)
        return tl_builder_null(builder);
    switch (call->type->kind) {
    case TL_FLOAT:
        return tl_builder_f32(builder, (float)acc->real);
    case TL_DOUBLE:
        return tl_builder_f64(builder, acc->real);
    case TL_TINYINT: /* whole numbers wrap in their type */
        return tl_builder_int(builder, (int8_t)acc->whole);
    case TL_SMALLINT:
        return tl_builder_int(builder, (int16_t)acc->whole);
    case TL_INT:
        return tl_builder_int(builder, (int32_t)acc->whole);
    case TL_BIGINT:
        return tl_builder_int(builder, (int64_t)acc->whole);
    default: {
        tl_i128 bound = tl_pow10_i128(call->type->precision);
        return acc->whole >= bound || acc->whole <= -bound ? tl_builder_null(builder) : tl_builder_i128(builder, acc->whole);
    }
    }
}

static tl_status append_result(const agg_op *a, int32_t i, const group *g, tl_builder *builder, tl_error *err)
{
    const tl_agg_call *call = &a->plan->calls[i];
    const accumulator *acc = &g->acc[i];
    const tl_type *arg = call->n_args > 0 ? a->input->type->fields[call->args[0]].type : NULL;
    switch (call->kind) {
    case TL_AGG_COUNT:
        return tl_builder_int(builder, acc->count);
    case TL_AGG_SUM:
        return append_sum(call, acc, builder);
    case TL_AGG_MIN:
    case TL_AGG_MAX:
        return append_value(tl_value_bag_extreme(&acc->bag, call->kind == TL_AGG_MAX), arg, builder, err);
    case TL_AGG_FIRST_VALUE:
    case TL_AGG_LAST_VALUE:
        return append_value(tl_value_bag_end(&acc->bag, call->kind == TL_AGG_LAST_VALUE), arg, builder, err);
    case TL_AGG_LISTAGG:
        return append_listagg(call, &acc->bag, arg, builder, err);
    case TL_AGG_SINGLE_VALUE:
        if (acc->count > 1)
            return tl_error_set(err, TL_E_INVALID, "a scalar subquery gave more than one row");
        return append_value(tl_value_bag_end(&acc->bag, true), arg, builder, err);
    default:
        return acc->count == 0 ? tl_builder_null(builder) : append_list(call, &acc->bag, arg, builder, err);
    }
}

/* ---- accumulating ---- */

static tl_i128 whole_of(const tl_column *col, int64_t i)
{
    switch (col->phys) {
    case TL_PHYS_I8:
        return tl_col_i8(col, i);
    case TL_PHYS_I16:
        return tl_col_i16(col, i);
    case TL_PHYS_I32:
        return tl_col_i32(col, i);
    case TL_PHYS_I128:
        return tl_col_i128(col, i);
    default:
        return tl_col_i64(col, i);
    }
}

/* What the batch's columns give to one call, prepared once a batch. */
typedef struct call_input {
    const tl_column *arg; /* NULL: COUNT(*) */
    const tl_column *second;
    const tl_column *filter;
    tl_keys *order;       /* with a bag */
    tl_buf rows;
    int64_t *row_starts;
} call_input;

static bool counts(const tl_agg_call *call, const call_input *in, int64_t i)
{
    if (in->filter != NULL && (tl_col_is_null(in->filter, i) || !tl_col_bool(in->filter, i)))
        return false;
    if (in->arg == NULL || call->kind == TL_AGG_ARRAY_AGG)
        return true;
    return !tl_col_is_null(in->arg, i) && (in->second == NULL || !tl_col_is_null(in->second, i));
}

static tl_status accumulate(const tl_agg_call *call, accumulator *acc, const call_input *in, int64_t i, int64_t delta)
{
    if (!counts(call, in, i))
        return TL_OK;
    if (in->row_starts != NULL) {
        int64_t was, now;
        tl_bytes_view order = in->order->is_fixed ? (tl_bytes_view){NULL, 0} : tl_keys_bytes(in->order, i);
        uint8_t fixed[8];
        if (in->order->is_fixed) {
            tl_write_be64(fixed, in->order->fixed[i]);
            order = (tl_bytes_view){fixed, sizeof fixed};
        }
        tl_bytes_view row = {in->rows.data + in->row_starts[i], (size_t)(in->row_starts[i + 1] - in->row_starts[i])};
        TL_TRY(tl_value_bag_add(&acc->bag, order, row, delta, &was, &now));
        if (call->distinct && (was > 0) == (now > 0))
            return TL_OK; /* the set of values is the same */
    }
    acc->count += delta;
    if (call->kind == TL_AGG_SUM) {
        if (in->arg->phys == TL_PHYS_F64)
            acc->real += (double)delta * tl_col_f64(in->arg, i);
        else if (in->arg->phys == TL_PHYS_F32)
            acc->real += (double)delta * (double)tl_col_f32(in->arg, i);
        else
            acc->whole += delta * whole_of(in->arg, i);
    }
    return TL_OK;
}

static void inputs_deinit(call_input *inputs, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        tl_keys_free(inputs[i].order);
        tl_buf_deinit(&inputs[i].rows);
        tl_free(inputs[i].row_starts);
    }
    tl_free(inputs);
}

static tl_status prepare_input(const tl_agg_call *call, const tl_batch *batch, call_input *in, tl_error *err)
{
    if (call->n_args > 0)
        in->arg = batch->cols[call->args[0]];
    if (call->n_args > 1)
        in->second = batch->cols[call->args[1]];
    if (call->filter >= 0)
        in->filter = batch->cols[call->filter];
    if (!needs_bag(call))
        return TL_OK;
    const tl_column *cols[2] = {in->arg, in->second};
    in->row_starts = tl_alloc(sizeof *in->row_starts * (size_t)(batch->n_rows + 1));
    if (in->row_starts == NULL)
        return tl_nomem(err, "aggregate");
    TL_TRY(tl_keys_create(cols, call->n_args, batch->n_rows, &in->order, err));
    return tl_binary_rows(cols, call->n_args, batch->n_rows, &in->rows, in->row_starts, err);
}

/* ---- groups ---- */

static tl_status touch(agg_op *a, group *g, const tl_batch *batch, int64_t row, tl_error *err)
{
    if (a->n_touched == a->cap_touched) {
        size_t cap = a->cap_touched == 0 ? 256 : a->cap_touched * 2;
        group **grown = tl_realloc(a->touched, cap * sizeof *grown);
        if (grown == NULL)
            return tl_nomem(err, "aggregate");
        a->touched = grown;
        a->cap_touched = cap;
    }
    for (int32_t k = 0; k < a->plan->n_group; k++)
        if (tl_builder_copy(a->keys[k], batch->cols[a->plan->group[k]], row) != TL_OK)
            return tl_nomem(err, "aggregate");
    g->key_row = (int64_t)a->n_touched;
    g->old_row = -1;
    if (g->rows > 0) {
        g->old_row = a->plan->n_calls > 0 ? tl_builder_length(a->before[0]) : 0;
        for (int32_t i = 0; i < a->plan->n_calls; i++)
            TL_TRY(append_result(a, i, g, a->before[i], err));
    }
    g->touched = true;
    a->touched[a->n_touched++] = g;
    return TL_OK;
}

static tl_status find_group(agg_op *a, const tl_keys *keys, int64_t i, group **out, tl_error *err)
{
    const void *key = "";
    size_t bytes = 0;
    if (keys != NULL) {
        key = keys->is_fixed ? (const void *)&keys->fixed[i] : tl_keys_bytes(keys, i).data;
        bytes = keys->is_fixed ? sizeof keys->fixed[i] : tl_keys_bytes(keys, i).len;
    }
    *out = tl_map_get(&a->groups, key, bytes);
    if (*out != NULL)
        return TL_OK;
    group *g = tl_calloc(1, sizeof *g);
    if (g != NULL)
        g->acc = tl_calloc((size_t)a->plan->n_calls + 1, sizeof *g->acc);
    if (g == NULL || g->acc == NULL || tl_map_put(&a->groups, key, bytes, g, NULL) != TL_OK) {
        if (g != NULL)
            tl_free(g->acc);
        tl_free(g);
        return tl_nomem(err, "aggregate");
    }
    *out = g;
    return TL_OK;
}

static tl_status apply_rows(agg_op *a, const tl_batch *batch, const tl_keys *keys, call_input *inputs, tl_error *err)
{
    for (int64_t i = 0; i < batch->n_rows; i++) {
        group *g;
        TL_TRY(find_group(a, keys, i, &g, err));
        int64_t delta = tl_kind_is_retract(tl_batch_kind(batch, i)) ? -1 : 1;
        if (g->rows == 0 && delta < 0 && !g->touched)
            continue; /* a retraction of a row that never came */
        if (!g->touched)
            TL_TRY(touch(a, g, batch, i, err));
        g->rows += delta;
        for (int32_t c = 0; c < a->plan->n_calls; c++)
            if (accumulate(&a->plan->calls[c], &g->acc[c], &inputs[c], i, delta) != TL_OK)
                return tl_nomem(err, "aggregate");
    }
    return TL_OK;
}

/* ---- output ---- */

typedef struct changes {
    uint32_t *keys;      /* row of the touched keys */
    tl_rowref *values;   /* source 0: before, 1: after */
    uint8_t *kinds;
    int64_t n;
} changes;

static void add_change(changes *c, int64_t key, uint32_t src, int64_t row, uint8_t kind)
{
    c->keys[c->n] = (uint32_t)key;
    c->values[c->n] = (tl_rowref){src, (uint32_t)row};
    c->kinds[c->n++] = kind;
}

static bool same_values(const agg_op *a, tl_column *const *before, int64_t i, tl_column *const *after, int64_t k)
{
    for (int32_t c = 0; c < a->plan->n_calls; c++)
        if (!tl_column_equal(before[c], i, after[c], k))
            return false;
    return true;
}

static void list_changes(const agg_op *a, tl_column *const *before, tl_column *const *after, const int64_t *after_rows, changes *out)
{
    for (size_t i = 0; i < a->n_touched; i++) {
        const group *g = a->touched[i];
        bool was = g->old_row >= 0, is = after_rows[i] >= 0;
        if (was && is && same_values(a, before, g->old_row, after, after_rows[i]))
            continue;
        if (was)
            add_change(out, g->key_row, 0, g->old_row, is ? TL_KIND_UPDATE_BEFORE : TL_KIND_DELETE);
        if (is)
            add_change(out, g->key_row, 1, after_rows[i], was ? TL_KIND_UPDATE_AFTER : TL_KIND_INSERT);
    }
}

static tl_status finish_columns(tl_builder **builders, int32_t n, tl_column **out, tl_error *err)
{
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_builder_finish(builders[i], &out[i], err));
    return TL_OK;
}

static tl_status gather_changes(const agg_op *a, tl_column *const *keys, tl_column *const *before, tl_column *const *after, const changes *c,
                                tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *result = NULL;
    TL_TRY(tl_batch_create(a->base.type, c->n, &result, err));
    for (int32_t k = 0; k < a->plan->n_group; k++)
        TL_TRY(tl_column_gather(keys[k], c->keys, c->n, &result->cols[k], err));
    for (int32_t i = 0; i < a->plan->n_calls; i++) {
        const tl_column *sources[2] = {before[i], after[i]};
        TL_TRY(tl_column_gather_multi(a->base.type->fields[a->plan->n_group + i].type, sources, c->values, c->n,
                                      &result->cols[a->plan->n_group + i], err));
    }
    result->row_kind = tl_memdup(c->kinds, (size_t)c->n);
    if (result->row_kind == NULL)
        return tl_nomem(err, "row kinds");
    *out = TL_STEAL(result);
    return TL_OK;
}

/* Rows of the touched groups as they are now; groups that are empty have none (but for the one group without keys). */
static tl_status build_after(agg_op *a, tl_builder **after, int64_t *after_rows, tl_error *err)
{
    int64_t n = 0;
    for (size_t i = 0; i < a->n_touched; i++) {
        group *g = a->touched[i];
        after_rows[i] = -1;
        if (g->rows <= 0 && a->plan->n_group > 0)
            continue;
        for (int32_t c = 0; c < a->plan->n_calls; c++)
            TL_TRY(append_result(a, c, g, after[c], err));
        after_rows[i] = n++;
    }
    return TL_OK;
}

static tl_status make_builders(const tl_type *type, int32_t from, int32_t n, tl_builder ***out, tl_error *err)
{
    tl_builder **builders = tl_calloc((size_t)n + 1, sizeof *builders);
    if (builders == NULL)
        return tl_nomem(err, "aggregate");
    *out = builders;
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_builder_create(type->fields[from + i].type, &builders[i], err));
    return TL_OK;
}

static void free_builders(tl_builder **builders, int32_t n)
{
    for (int32_t i = 0; builders != NULL && i < n; i++)
        tl_builder_free(builders[i]);
    tl_free(builders);
}

static void free_columns(tl_column **cols, int32_t n)
{
    for (int32_t i = 0; cols != NULL && i < n; i++)
        tl_column_unref(cols[i]);
    tl_free(cols);
}

static tl_status output(agg_op *a, tl_batch **out, tl_error *err)
{
    int32_t n_group = a->plan->n_group, n_calls = a->plan->n_calls;
    size_t n = a->n_touched;
    tl_builder **after = NULL;
    tl_column **keys = tl_calloc((size_t)n_group + 1, sizeof *keys), **before = tl_calloc((size_t)n_calls + 1, sizeof *before),
              **now = tl_calloc((size_t)n_calls + 1, sizeof *now);
    int64_t *after_rows = tl_alloc(sizeof *after_rows * (n + 1));
    changes c = {tl_alloc(sizeof *c.keys * (2 * n + 1)), tl_alloc(sizeof *c.values * (2 * n + 1)), tl_alloc(2 * n + 1), 0};
    bool enough = keys != NULL && before != NULL && now != NULL && after_rows != NULL && c.keys != NULL && c.values != NULL && c.kinds != NULL;
    tl_status status = enough ? make_builders(a->base.type, n_group, n_calls, &after, err) : tl_nomem(err, "aggregate");
    if (status == TL_OK)
        status = build_after(a, after, after_rows, err);
    if (status == TL_OK)
        status = finish_columns(a->keys, n_group, keys, err);
    if (status == TL_OK)
        status = finish_columns(a->before, n_calls, before, err);
    if (status == TL_OK)
        status = finish_columns(after, n_calls, now, err);
    if (status == TL_OK) {
        list_changes(a, before, now, after_rows, &c);
        status = gather_changes(a, keys, before, now, &c, out, err);
    }
    free_builders(after, n_calls);
    free_columns(keys, n_group);
    free_columns(before, n_calls);
    free_columns(now, n_calls);
    tl_free(after_rows);
    tl_free(c.keys);
    tl_free(c.values);
    tl_free(c.kinds);
    for (size_t i = 0; i < n; i++)
        a->touched[i]->touched = false;
    a->n_touched = 0;
    return status;
}

static tl_status aggregate_batch(agg_op *a, const tl_batch *batch, tl_batch **out, tl_error *err)
{
    int32_t n_calls = a->plan->n_calls;
    TL_CLEANUP(tl_keys_freep) tl_keys *keys = NULL;
    call_input *inputs = tl_calloc((size_t)n_calls + 1, sizeof *inputs);
    tl_status status = inputs == NULL ? tl_nomem(err, "aggregate") : TL_OK;
    for (int32_t i = 0; i < n_calls && status == TL_OK; i++)
        status = prepare_input(&a->plan->calls[i], batch, &inputs[i], err);
    if (status == TL_OK && a->plan->n_group > 0) {
        const tl_column **cols = tl_alloc(sizeof *cols * (size_t)a->plan->n_group);
        if (cols == NULL)
            status = tl_nomem(err, "aggregate");
        for (int32_t k = 0; status == TL_OK && k < a->plan->n_group; k++)
            cols[k] = batch->cols[a->plan->group[k]];
        if (status == TL_OK)
            status = tl_keys_create(cols, a->plan->n_group, batch->n_rows, &keys, err);
        tl_free(cols);
    }
    if (status == TL_OK)
        status = apply_rows(a, batch, keys, inputs, err);
    if (status == TL_OK)
        status = output(a, out, err);
    if (inputs != NULL)
        inputs_deinit(inputs, n_calls);
    return status;
}

static tl_status agg_next(tl_op *op, tl_batch **out, tl_op_state *state, tl_error *err)
{
    agg_op *a = (agg_op *)op;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_stream__next(a->input, &batch, state, err));
    return batch == NULL || batch->n_rows == 0 ? TL_OK : aggregate_batch(a, batch, out, err);
}

static void agg_free(tl_op *op)
{
    agg_op *a = (agg_op *)op;
    size_t pos = 0;
    void *g;
    while (tl_map_next(&a->groups, &pos, NULL, &g))
        group_free(a, g);
    tl_map_deinit(&a->groups);
    free_builders(a->keys, a->plan->n_group);
    free_builders(a->before, a->plan->n_calls);
    tl_free(a->touched);
    tl_stream__op_free(a->input);
    tl_free(a);
}

tl_status tl_stream__aggregate(tl_pipeline *pipeline, const tl_plan *plan, tl_op *input, tl_op **out, tl_error *err)
{
    static const tl_op_ops ops = {agg_next, agg_free};
    if (plan->grouping_sets != NULL) {
        tl_stream__op_free(input);
        return tl_error_set(err, TL_E_UNSUPPORTED, "GROUPING SETS over a stream are not supported yet; they work in batch mode");
    }
    for (int32_t i = 0; i < plan->n_calls; i++) {
        tl_agg_kind kind = plan->calls[i].kind;
        if (kind >= TL_AGG_JSON_OBJECTAGG && kind != TL_AGG_SINGLE_VALUE) {
            tl_stream__op_free(input);
            return tl_error_set(err, TL_E_UNSUPPORTED, "%s over a stream is not supported yet; it works in batch mode", tl_agg_name(kind));
        }
    }
    agg_op *a = tl_calloc(1, sizeof *a);
    if (a == NULL) {
        tl_stream__op_free(input);
        return tl_nomem(err, "operator");
    }
    a->base = (tl_op){&ops, pipeline, plan->type};
    a->input = input;
    a->plan = plan;
    pipeline->stateful = true;
    tl_status status = make_builders(plan->type, 0, plan->n_group, &a->keys, err);
    if (status == TL_OK)
        status = make_builders(plan->type, plan->n_group, plan->n_calls, &a->before, err);
    if (status != TL_OK) {
        agg_free(&a->base);
        return status;
    }
    *out = &a->base;
    return TL_OK;
}
