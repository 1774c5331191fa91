/* JSON_ARRAYAGG and JSON_OBJECTAGG from the values that an accumulator keeps. Values are JSON text already; keys are not. */
#include <stdlib.h>

#include "base/json.h"
#include "stream/accumulate.h"
#include "types/binary_row.h"

static tl_status read_items(const tl_acc_calls *calls, const tl_agg_call *call, const tl_bag_item *items, size_t n, tl_batch **out, tl_error *err)
{
    tl_field fields[2];
    for (int32_t i = 0; i < call->n_args; i++) {
        fields[i] = calls->input->fields[call->args[i]];
        fields[i].name = (char *)(i == 0 ? "a" : "b");
    }
    TL_CLEANUP(tl_type_unrefp) const tl_type *row = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    tl_builder **builders = NULL;
    TL_TRY(tl_type_create_row(false, fields, call->n_args, &row, err));
    tl_status status = tl_stream__builders(row, 0, call->n_args, &builders, err);
    for (size_t i = 0; i < n && status == TL_OK; i++)
        status = tl_binary_row_read(tl_bytes_view_of(items[i].value->row), row, false, builders, err);
    if (status == TL_OK)
        status = tl_batch_create(row, (int64_t)n, &rows, err);
    if (status == TL_OK)
        status = tl_stream__builders_finish(builders, call->n_args, rows->cols, err);
    tl_stream__builders_free(builders, call->n_args);
    TL_TRY(status);
    *out = TL_STEAL(rows);
    return TL_OK;
}

static tl_status append_json(tl_buf *text, const tl_column *values, int64_t i)
{
    if (tl_col_is_null(values, i))
        return tl_buf_append_str(text, "null");
    return tl_buf_append(text, tl_col_bytes(values, i).data, tl_col_bytes(values, i).len);
}

static tl_status append_array(tl_buf *text, const tl_batch *rows, const tl_bag_item *items)
{
    TL_TRY(tl_buf_append_byte(text, '['));
    bool first = true;
    for (int64_t i = 0; i < rows->n_rows; i++)
        for (int64_t copy = 0; copy < items[i].copies; copy++) {
            if (!first)
                TL_TRY(tl_buf_append_byte(text, ','));
            first = false;
            TL_TRY(append_json(text, rows->cols[0], i));
        }
    return tl_buf_append_byte(text, ']');
}

typedef struct member {
    tl_bytes_view key;
    int64_t row;
} member;

static int compare_members(const void *a, const void *b)
{
    return tl_bytes_compare(((const member *)a)->key, ((const member *)b)->key);
}

/* Keys in order of their bytes, as the reference sorts them. */
static tl_status append_object(tl_buf *text, const tl_batch *rows, const tl_bag_item *items, tl_error *err)
{
    TL_CLEANUP(tl_freep) member *members = tl_alloc(sizeof *members * (size_t)(rows->n_rows + 1));
    if (members == NULL)
        return tl_nomem(err, "JSON");
    for (int64_t i = 0; i < rows->n_rows; i++) {
        if (tl_col_is_null(rows->cols[0], i))
            return tl_error_set(err, TL_E_INVALID, "a key of JSON_OBJECTAGG is NULL");
        members[i] = (member){tl_col_bytes(rows->cols[0], i), i};
    }
    qsort(members, (size_t)rows->n_rows, sizeof *members, compare_members);
    tl_status status = tl_buf_append_byte(text, '{');
    for (int64_t i = 0; i < rows->n_rows && status == TL_OK; i++) {
        if (items[members[i].row].copies > 1 || (i > 0 && compare_members(&members[i - 1], &members[i]) == 0))
            return tl_error_set(err, TL_E_INVALID,
                                "Key '%.*s' is already present. Duplicate keys are not allowed in JSON_OBJECTAGG. Please ensure that keys are unique.",
                                (int)TL_MIN(members[i].key.len, 200), (const char *)members[i].key.data);
        status = i > 0 ? tl_buf_append_byte(text, ',') : TL_OK;
        if (status == TL_OK)
            status = tl_json_append_quoted(text, members[i].key);
        if (status == TL_OK)
            status = tl_buf_append_byte(text, ':');
        if (status == TL_OK)
            status = append_json(text, rows->cols[1], members[i].row);
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(text, '}');
    return status == TL_OK ? TL_OK : tl_nomem(err, "JSON");
}

tl_status tl_acc_append_json(const tl_acc_calls *calls, const tl_agg_call *call, const tl_value_bag *bag, tl_builder *builder, tl_error *err)
{
    TL_CLEANUP(tl_freep) tl_bag_item *items = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *rows = NULL;
    size_t n;
    if (tl_value_bag_list(bag, &items, &n) != TL_OK)
        return tl_nomem(err, "aggregate");
    TL_TRY(read_items(calls, call, items, n, &rows, err));
    tl_buf text = {0};
    tl_status status;
    if (call->kind == TL_AGG_JSON_OBJECTAGG)
        status = append_object(&text, rows, items, err);
    else
        status = append_array(&text, rows, items) == TL_OK ? TL_OK : tl_nomem(err, "JSON");
    if (status == TL_OK)
        status = tl_builder_bytes(builder, text.data, text.len);
    tl_buf_deinit(&text);
    return status;
}
