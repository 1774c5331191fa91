#include "stream/accumulate.h"

#include "stream/keys.h"
#include "types/binary_row.h"
#include "types/text.h"

static bool keeps_one(const tl_acc_calls *calls, const tl_agg_call *call)
{
    return calls->insert_only && (call->kind == TL_AGG_MIN || call->kind == TL_AGG_MAX || call->kind == TL_AGG_FIRST_VALUE || call->kind == TL_AGG_LAST_VALUE);
}

/* Whether a call only has to know which values there are. */
static bool needs_set(const tl_agg_call *call)
{
    return call->distinct && (call->kind == TL_AGG_COUNT || call->kind == TL_AGG_SUM);
}

static bool needs_values(const tl_agg_call *call)
{
    return call->kind < TL_AGG_GROUPING && call->kind != TL_AGG_COUNT && call->kind != TL_AGG_SUM;
}

/* Types whose values are whole numbers of at most 64 bits in a column. */
static bool is_whole(const tl_column *col)
{
    switch (col->phys) {
    case TL_PHYS_I8:
    case TL_PHYS_I16:
    case TL_PHYS_I32:
    case TL_PHYS_I64:
        return true;
    default:
        return false;
    }
}

static bool order_counts(const tl_agg_call *call)
{
    return !call->distinct &&
           (call->kind == TL_AGG_FIRST_VALUE || call->kind == TL_AGG_LAST_VALUE || call->kind == TL_AGG_LISTAGG || call->kind == TL_AGG_ARRAY_AGG ||
            call->kind == TL_AGG_JSON_ARRAYAGG);
}

void tl_acc_deinit(const tl_acc_calls *calls, tl_accumulator *accs)
{
    for (int32_t i = 0; i < calls->n; i++) {
        tl_value_bag_deinit(&accs[i].bag);
        tl_value_set_deinit(&accs[i].set);
        tl_bytes_deinit(&accs[i].order);
        tl_bytes_deinit(&accs[i].row);
    }
}

tl_status tl_acc_check(const tl_acc_calls *calls, tl_error *err)
{
    for (int32_t i = 0; i < calls->n; i++) {
        const tl_agg_call *call = &calls->calls[i];
        if (call->kind >= TL_AGG_ROW_NUMBER)
            return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: %s over a stream is not supported; it works in batch mode", (int)call->line,
                                (int)call->position, tl_agg_name(call->kind));
    }
    return TL_OK;
}

/* ---- results ---- */

static tl_status append_value(tl_bytes_view value, const tl_type *type, tl_builder *builder, tl_error *err)
{
    tl_field field = {.name = (char *)"v", .id = -1, .type = type};
    TL_CLEANUP(tl_type_unrefp) const tl_type *row = NULL;
    TL_TRY(tl_type_create_row(false, &field, 1, &row, err));
    return tl_binary_row_read(value, row, false, &builder, err);
}

static tl_status append_bag_value(const tl_bag_value *value, const tl_type *type, tl_builder *builder, tl_error *err)
{
    return value == NULL ? tl_builder_null(builder) : append_value(tl_bytes_view_of(value->row), type, builder, err);
}

static tl_status append_list(const tl_agg_call *call, const tl_value_bag *bag, const tl_type *element, tl_builder *builder, tl_error *err)
{
    tl_bag_item *values;
    size_t n;
    if (tl_value_bag_list(bag, &values, &n) != TL_OK)
        return tl_nomem(err, "aggregate");
    tl_status status = TL_OK;
    bool multiset = call->kind == TL_AGG_COLLECT;
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        int64_t copies = multiset || call->distinct ? 1 : values[i].copies;
        for (int64_t k = 0; k < copies && status == TL_OK; k++)
            status = append_bag_value(values[i].value, element, tl_builder_child(builder, 0), err);
        if (status == TL_OK && multiset)
            status = tl_builder_int(tl_builder_child(builder, 1), call->distinct ? 1 : values[i].copies);
    }
    tl_free(values);
    return status == TL_OK ? tl_builder_end(builder) : status;
}

static tl_status append_listagg(const tl_agg_call *call, const tl_value_bag *bag, const tl_type *element, tl_builder *builder, tl_error *err)
{
    tl_bag_item *values;
    size_t n;
    if (tl_value_bag_list(bag, &values, &n) != TL_OK)
        return tl_nomem(err, "aggregate");
    tl_buf text = {0};
    tl_builder *one = NULL;
    tl_status status = tl_builder_create(element, &one, err);
    for (size_t i = 0; i < n && status == TL_OK; i++) {
        tl_column *col = NULL;
        status = append_bag_value(values[i].value, element, one, err);
        if (status == TL_OK)
            status = tl_builder_finish(one, &col, err);
        for (int64_t k = 0; status == TL_OK && k < (call->distinct ? 1 : values[i].copies); k++) {
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

static tl_status append_sum(const tl_agg_call *call, const tl_accumulator *acc, tl_builder *builder)
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

tl_status tl_acc_append(const tl_acc_calls *calls, int32_t c, tl_accumulator *acc, tl_builder *builder, tl_error *err)
{
    const tl_agg_call *call = &calls->calls[c];
    const tl_type *arg = call->n_args > 0 && call->kind != TL_AGG_GROUPING ? calls->input->fields[call->args[0]].type : NULL;
    if (keeps_one(calls, call))
        return acc->count == 0 ? tl_builder_null(builder) : append_value(tl_bytes_view_of(acc->row), arg, builder, err);
    switch (call->kind) {
    case TL_AGG_COUNT:
        return tl_builder_int(builder, acc->count);
    case TL_AGG_SUM:
        return append_sum(call, acc, builder);
    case TL_AGG_GROUPING:
        return tl_builder_int(builder, (int64_t)acc->whole);
    case TL_AGG_MIN:
    case TL_AGG_MAX:
        return append_bag_value(tl_value_bag_extreme(&acc->bag, call->kind == TL_AGG_MAX), arg, builder, err);
    case TL_AGG_FIRST_VALUE:
    case TL_AGG_LAST_VALUE:
        return append_bag_value(tl_value_bag_end(&acc->bag, call->kind == TL_AGG_LAST_VALUE), arg, builder, err);
    case TL_AGG_JSON_ARRAYAGG:
    case TL_AGG_JSON_OBJECTAGG:
        return tl_acc_append_json(calls, call, &acc->bag, builder, err);
    case TL_AGG_LISTAGG:
        return append_listagg(call, &acc->bag, arg, builder, err);
    case TL_AGG_SINGLE_VALUE:
        if (acc->count > 1)
            return tl_error_set(err, TL_E_INVALID, "a scalar subquery gave more than one row");
        return append_bag_value(tl_value_bag_end(&acc->bag, true), arg, builder, err);
    default:
        return acc->count == 0 ? tl_builder_null(builder) : append_list(call, &acc->bag, arg, builder, err);
    }
}

/* ---- accumulating ---- */

static tl_i128 whole_of(const tl_column *col, int64_t i)
{
    return col->phys == TL_PHYS_I128 ? tl_col_i128(col, i) : tl_col_integer(col, i);
}

struct tl_acc_input {
    const tl_column *arg; /* NULL: COUNT(*) */
    const tl_column *second;
    const tl_column *filter;
    bool is_number;       /* a set of `arg` is one of whole numbers */
    tl_keys *order;       /* where values are kept; of a set: their bytes, NULL for numbers */
    tl_buf rows;
    int64_t *row_starts;
};

static bool counts(const tl_agg_call *call, const tl_acc_input *in, int64_t i)
{
    if (in->filter != NULL && (tl_col_is_null(in->filter, i) || !tl_col_bool(in->filter, i)))
        return false;
    if (in->arg == NULL || call->kind == TL_AGG_ARRAY_AGG)
        return true;
    if (call->kind == TL_AGG_JSON_ARRAYAGG || call->kind == TL_AGG_JSON_OBJECTAGG) {
        const tl_column *value = in->second != NULL ? in->second : in->arg;
        return !call->json_absent || !tl_col_is_null(value, i);
    }
    return !tl_col_is_null(in->arg, i) && (in->second == NULL || !tl_col_is_null(in->second, i));
}

static tl_status keep(tl_bytes *place, tl_bytes_view value)
{
    if (value.len > place->len || place->data == NULL) {
        uint8_t *grown = tl_realloc(place->data, value.len + 1);
        if (grown == NULL)
            return TL_E_NOMEM;
        place->data = grown;
    }
    if (value.len > 0)
        memcpy(place->data, value.data, value.len);
    place->len = value.len;
    return TL_OK;
}

static tl_status keep_one(const tl_agg_call *call, tl_accumulator *acc, tl_bytes_view order, tl_bytes_view row)
{
    bool is_first = acc->count++ == 0, take = is_first || call->kind == TL_AGG_LAST_VALUE;
    if (!take && call->kind != TL_AGG_FIRST_VALUE) {
        int c = tl_bytes_compare(order, tl_bytes_view_of(acc->order));
        take = call->kind == TL_AGG_MAX ? c > 0 : c < 0;
    }
    if (!take)
        return TL_OK;
    TL_TRY(keep(&acc->order, order));
    return keep(&acc->row, row);
}

static void add_number(const tl_agg_call *call, tl_accumulator *acc, const tl_column *arg, int64_t i, int64_t delta)
{
    acc->count += delta;
    if (call->kind != TL_AGG_SUM)
        return;
    if (arg->phys == TL_PHYS_F64)
        acc->real += (double)delta * tl_col_f64(arg, i);
    else if (arg->phys == TL_PHYS_F32)
        acc->real += (double)delta * (double)tl_col_f32(arg, i);
    else
        acc->whole += delta * whole_of(arg, i);
}

static tl_status add_to_set(const tl_acc_calls *calls, tl_accumulator *acc, const tl_acc_input *in, int64_t i, int64_t delta, bool *was, bool *now)
{
    if (in->is_number)
        return tl_value_set_add_number(&acc->set, (uint64_t)tl_col_integer(in->arg, i), delta, !calls->insert_only, was, now);
    tl_key_space space;
    return tl_value_set_add_bytes(&acc->set, tl_stream__key(in->order, i, &space), delta, !calls->insert_only, was, now);
}

static tl_status accumulate(const tl_acc_calls *calls, const tl_agg_call *call, tl_accumulator *acc, const tl_acc_input *in, int64_t i, int64_t delta)
{
    if (call->kind >= TL_AGG_GROUPING || !counts(call, in, i))
        return TL_OK;
    if (needs_set(call)) {
        bool was, now;
        TL_TRY(add_to_set(calls, acc, in, i, delta, &was, &now));
        if (was != now)
            add_number(call, acc, in->arg, i, delta);
        return TL_OK;
    }
    if (in->row_starts == NULL) {
        add_number(call, acc, in->arg, i, delta);
        return TL_OK;
    }
    tl_key_space space;
    tl_bytes_view order = tl_stream__key(in->order, i, &space);
    tl_bytes_view row = {in->rows.data + in->row_starts[i], (size_t)(in->row_starts[i + 1] - in->row_starts[i])};
    if (keeps_one(calls, call))
        return keep_one(call, acc, order, row);
    int64_t was, now;
    acc->bag.ordered = order_counts(call);
    TL_TRY(tl_value_bag_add(&acc->bag, order, row, delta, &was, &now));
    if (!call->distinct || (was > 0) != (now > 0)) /* else the set of values is the same */
        add_number(call, acc, in->arg, i, delta);
    return TL_OK;
}

tl_status tl_acc_add(const tl_acc_calls *calls, tl_accumulator *accs, const tl_acc_input *inputs, int64_t i, int64_t delta)
{
    for (int32_t c = 0; c < calls->n; c++)
        TL_TRY(accumulate(calls, &calls->calls[c], &accs[c], &inputs[c], i, delta));
    return TL_OK;
}

void tl_acc_inputs_free(tl_acc_input *inputs, int32_t n)
{
    for (int32_t i = 0; inputs != NULL && i < n; i++) {
        tl_keys_free(inputs[i].order);
        tl_buf_deinit(&inputs[i].rows);
        tl_free(inputs[i].row_starts);
    }
    tl_free(inputs);
}

static tl_status prepare_input(const tl_agg_call *call, const tl_batch *batch, tl_acc_input *in, tl_error *err)
{
    if (call->kind >= TL_AGG_GROUPING) /* ROW_NUMBER and the like: computed by OVER itself */
        return TL_OK;
    if (call->n_args > 0)
        in->arg = batch->cols[call->args[0]];
    if (call->n_args > 1)
        in->second = batch->cols[call->args[1]];
    if (call->filter >= 0)
        in->filter = batch->cols[call->filter];
    const tl_column *cols[2] = {in->arg, in->second};
    in->is_number = call->n_args == 1 && is_whole(in->arg);
    if (needs_set(call) && !in->is_number)
        return tl_keys_create(cols, call->n_args, batch->n_rows, &in->order, err);
    if (!needs_values(call))
        return TL_OK;
    in->row_starts = tl_alloc(sizeof *in->row_starts * (size_t)(batch->n_rows + 1));
    if (in->row_starts == NULL)
        return tl_nomem(err, "aggregate");
    TL_TRY(tl_keys_create(cols, call->n_args, batch->n_rows, &in->order, err));
    return tl_binary_rows(cols, call->n_args, batch->n_rows, &in->rows, in->row_starts, err);
}

tl_status tl_acc_inputs_create(const tl_acc_calls *calls, const tl_batch *batch, tl_acc_input **out, tl_error *err)
{
    tl_acc_input *inputs = tl_calloc((size_t)calls->n + 1, sizeof *inputs);
    if (inputs == NULL)
        return tl_nomem(err, "aggregate");
    for (int32_t i = 0; i < calls->n; i++) {
        tl_status status = prepare_input(&calls->calls[i], batch, &inputs[i], err);
        if (status != TL_OK) {
            tl_acc_inputs_free(inputs, calls->n);
            return status;
        }
    }
    *out = inputs;
    return TL_OK;
}

/* ---- builders ---- */

tl_status tl_stream__builders(const tl_type *row, int32_t from, int32_t n, tl_builder ***out, tl_error *err)
{
    tl_builder **builders = tl_calloc((size_t)n + 1, sizeof *builders);
    if (builders == NULL)
        return tl_nomem(err, "aggregate");
    *out = builders;
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_builder_create(row->fields[from + i].type, &builders[i], err));
    return TL_OK;
}

void tl_stream__builders_free(tl_builder **builders, int32_t n)
{
    for (int32_t i = 0; builders != NULL && i < n; i++)
        tl_builder_free(builders[i]);
    tl_free(builders);
}

tl_status tl_stream__builders_finish(tl_builder **builders, int32_t n, tl_column **out, tl_error *err)
{
    for (int32_t i = 0; i < n; i++)
        TL_TRY(tl_builder_finish(builders[i], &out[i], err));
    return TL_OK;
}
