/* Functions that make JSON text of values: JSON_STRING, JSON_OBJECT, JSON_ARRAY, and what their aggregates end with. */
#include <stdio.h>
#include <stdlib.h>

#include "sql/bind.h"
#include "sql/cast.h"
#include "sql/json_path.h"
#include "sql/text_util.h"
#include "types/text.h"

/* ---- values ---- */

static tl_status append_value(tl_buf *buf, const tl_column *col, int64_t i);

static tl_status append_decimal(tl_buf *buf, const tl_column *col, int64_t i)
{
    char text[72];
    size_t n = tl_decimal_format(tl_convert_decimal_at(col, i), col->type->scale, text);
    if (col->type->scale > 0) { /* without zeros at the end */
        while (text[n - 1] == '0')
            n--;
        n -= text[n - 1] == '.';
    }
    return tl_buf_append(buf, text, n);
}

static tl_status append_real(tl_buf *buf, const char *text, size_t n, bool finite)
{
    return tl_buf_appendf(buf, finite ? "%.*s" : "\"%.*s\"", (int)n, text);
}

/** 2024-02-29T12:34:56.789 without zeros at the end of the fraction. */
static tl_status append_timestamp(tl_buf *buf, const tl_column *col, int64_t i)
{
    int64_t ms, year;
    int32_t nanos;
    int month, day;
    tl_convert_timestamp_at(col, i, &ms, &nanos);
    int64_t days = ms / 86400000 - (ms % 86400000 < 0);
    int32_t rest = (int32_t)(ms - days * 86400000);
    tl_civil_from_days(days, &year, &month, &day);
    TL_TRY(tl_buf_appendf(buf, "\"%s%04lld-%02d-%02dT%02d:%02d:%02d", year > 9999 ? "+" : year < 0 ? "-" : "", (long long)(year < 0 ? -year : year), month, day,
                          rest / 3600000, rest / 60000 % 60, rest / 1000 % 60));
    int32_t fraction = rest % 1000 * 1000000 + nanos;
    if (fraction != 0) {
        char digits[24];
        int n = snprintf(digits, sizeof digits, ".%09d", fraction);
        while (digits[n - 1] == '0')
            n--;
        TL_TRY(tl_buf_append(buf, digits, (size_t)n));
    }
    return tl_buf_append_str(buf, col->type->kind == TL_TIMESTAMP_LTZ ? "Z\"" : "\"");
}

static tl_status append_base64(tl_buf *buf, tl_bytes_view v)
{
    TL_TRY(tl_buf_append_byte(buf, '"'));
    TL_TRY(tl_text_append_base64(buf, v));
    return tl_buf_append_byte(buf, '"');
}

static tl_status append_list(tl_buf *buf, const tl_column *col, int64_t i)
{
    TL_TRY(tl_buf_append_byte(buf, '['));
    for (int32_t e = col->offsets[i]; e < col->offsets[i + 1]; e++) {
        if (e > col->offsets[i])
            TL_TRY(tl_buf_append_byte(buf, ','));
        TL_TRY(append_value(buf, col->children[0], e));
    }
    return tl_buf_append_byte(buf, ']');
}

typedef struct pair {
    tl_bytes_view key;
    int64_t value;
} pair;

static int compare_pairs(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    int order = tl_bytes_compare(x->key, y->key);
    return order != 0 ? order : x->value < y->value ? -1 : x->value > y->value;
}

/** {"key":value,…} in the order of the keys, of equal ones the last; `value` appends that of a pair. */
static tl_status append_members(tl_buf *buf, pair *pairs, int64_t n, tl_status (*value)(tl_buf *buf, int64_t value, const void *ctx), const void *ctx)
{
    qsort(pairs, (size_t)n, sizeof *pairs, compare_pairs);
    bool any = false;
    TL_TRY(tl_buf_append_byte(buf, '{'));
    for (int64_t p = 0; p < n; p++) {
        if (p + 1 < n && tl_bytes_compare(pairs[p].key, pairs[p + 1].key) == 0)
            continue;
        if (any)
            TL_TRY(tl_buf_append_byte(buf, ','));
        any = true;
        TL_TRY(tl_json_print_string(buf, pairs[p].key));
        TL_TRY(tl_buf_append_byte(buf, ':'));
        TL_TRY(value(buf, pairs[p].value, ctx));
    }
    return tl_buf_append_byte(buf, '}');
}

static tl_status map_value(tl_buf *buf, int64_t value, const void *ctx)
{
    return append_value(buf, ((const tl_column *)ctx)->children[1], value);
}

static tl_status append_map(tl_buf *buf, const tl_column *col, int64_t i)
{
    int64_t n = col->offsets[i + 1] - col->offsets[i];
    pair *pairs = tl_alloc(((size_t)n + 1) * sizeof *pairs);
    if (pairs == NULL)
        return TL_E_NOMEM;
    for (int64_t e = 0; e < n; e++) {
        int64_t at = col->offsets[i] + e;
        pairs[e] = (pair){tl_col_is_null(col->children[0], at) ? (tl_bytes_view){(const uint8_t *)"null", 4} : tl_col_bytes(col->children[0], at), at};
    }
    tl_status status = append_members(buf, pairs, n, map_value, col);
    tl_free(pairs);
    return status;
}

typedef struct row_at {
    const tl_column *col;
    int64_t i;
} row_at;

static tl_status row_value(tl_buf *buf, int64_t value, const void *ctx)
{
    const row_at *at = ctx;
    return append_value(buf, at->col->children[value], at->i);
}

static tl_status append_row(tl_buf *buf, const tl_column *col, int64_t i)
{
    pair *pairs = tl_alloc(((size_t)col->n_children + 1) * sizeof *pairs);
    if (pairs == NULL)
        return TL_E_NOMEM;
    for (int32_t f = 0; f < col->n_children; f++) {
        const char *name = col->type->fields[f].name;
        pairs[f] = (pair){{(const uint8_t *)name, strlen(name)}, f};
    }
    tl_status status = append_members(buf, pairs, col->n_children, row_value, &(row_at){col, i});
    tl_free(pairs);
    return status;
}

/** Types nest as deep as tl_type allows. */
static tl_status append_value(tl_buf *buf, const tl_column *col, int64_t i)
{
    char text[40];
    if (tl_col_is_null(col, i))
        return tl_buf_append_str(buf, "null");
    switch (col->type->kind) {
    case TL_BOOLEAN:
        return tl_buf_append_str(buf, tl_col_bool(col, i) ? "true" : "false");
    case TL_FLOAT:
        return append_real(buf, text, tl_text_java_float(tl_col_f32(col, i), text), __builtin_isfinite(tl_col_f32(col, i)));
    case TL_DOUBLE:
        return append_real(buf, text, tl_text_java_double(tl_col_f64(col, i), text), __builtin_isfinite(tl_col_f64(col, i)));
    case TL_DECIMAL:
        return append_decimal(buf, col, i);
    case TL_CHAR:
    case TL_VARCHAR:
        return tl_json_print_string(buf, tl_col_bytes(col, i));
    case TL_BINARY:
    case TL_VARBINARY:
    case TL_BLOB:
        return append_base64(buf, tl_col_bytes(col, i));
    case TL_TIMESTAMP:
    case TL_TIMESTAMP_LTZ:
        return append_timestamp(buf, col, i);
    case TL_ARRAY:
    case TL_VECTOR:
        return append_list(buf, col, i);
    case TL_MAP:
    case TL_MULTISET:
        return append_map(buf, col, i);
    case TL_ROW:
        return append_row(buf, col, i);
    default:
        return tl_cast__append_text(buf, col, i, NULL);
    }
}

/* ---- types ---- */

static tl_status check_type(tl_binder *b, const tl_type *type)
{
    if (type->kind == TL_DATE || type->kind == TL_TIME || tl_sql__is_interval(type))
        return tl_error_set(b->err, TL_E_INVALID, "Type '%s' is not scalar or cannot be converted into JSON.", tl_bind__type_text(b, type));
    if ((type->kind == TL_MAP || type->kind == TL_MULTISET) && !tl_sql__is_text(type->fields[0].type))
        return tl_error_set(b->err, TL_E_INVALID, "Type '%s' is not supported for JSON conversion. The key type must be a character string.",
                            tl_bind__type_text(b, type->fields[0].type));
    for (int32_t i = 0; i < type->n_fields; i++)
        TL_TRY(check_type(b, type->fields[i].type));
    return TL_OK;
}

static tl_status value_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    if (!tl_sql__is_null_type(args[0]->type))
        TL_TRY(check_type(b, args[0]->type));
    return tl_bind__simple_type(b, TL_VARCHAR, args[0]->type->nullable, TL_LENGTH_MAX, 0, out);
}

static tl_status container_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    bool pairs = strcmp(fn->name, "JSON_OBJECT") == 0;
    for (int32_t i = 1; i < n; i++) {
        if (pairs && i % 2 == 1) {
            if (!tl_sql__is_text(args[i]->type))
                return tl_error_set(b->err, TL_E_INVALID, "the keys of JSON_OBJECT must be text, not %s", tl_bind__type_text(b, args[i]->type));
        } else if (!tl_sql__is_null_type(args[i]->type)) {
            TL_TRY(check_type(b, args[i]->type));
        }
    }
    return tl_bind__simple_type(b, TL_VARCHAR, false, TL_LENGTH_MAX, 0, out);
}

/* ---- kernels ---- */

static tl_status value_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    return append_value(&k->text, k->args[0].col, tl_vec_row(&k->args[0], i)) == TL_OK ? TL_OK : tl_nomem(k->err, "JSON");
}

static tl_status value_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, value_row);
}

/*
 * The first argument says how: N or A (NULLs stay or are left out), then for each value v, or r: the text is JSON already.
 */
static bool leaves_nulls_out(const tl_kernel *k)
{
    return tl_col_bytes(k->args[0].col, 0).data[0] == 'A';
}

static tl_status append_argument(tl_kernel *k, int32_t arg, int32_t value, int64_t i)
{
    const tl_vec *v = &k->args[arg];
    if (tl_col_bytes(k->args[0].col, 0).data[1 + value] == 'r' && !tl_vec_is_null(v, i)) {
        tl_bytes_view raw = tl_vec_bytes(v, i);
        return tl_buf_append(&k->text, raw.data, raw.len);
    }
    return append_value(&k->text, v->col, tl_vec_row(v, i));
}

static tl_status array_row(tl_kernel *k, int64_t i, bool *is_null)
{
    (void)is_null;
    bool any = false;
    tl_status status = tl_buf_append_byte(&k->text, '[');
    for (int32_t a = 1; a < k->n_args && status == TL_OK; a++) {
        if (leaves_nulls_out(k) && tl_vec_is_null(&k->args[a], i))
            continue;
        if (any)
            status = tl_buf_append_byte(&k->text, ',');
        any = true;
        if (status == TL_OK)
            status = append_argument(k, a, a - 1, i);
    }
    if (status == TL_OK)
        status = tl_buf_append_byte(&k->text, ']');
    return status == TL_OK ? TL_OK : tl_nomem(k->err, "JSON");
}

static tl_status array_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, array_row);
}

typedef struct call_at {
    tl_kernel *k;
    int64_t i;
} call_at;

static tl_status argument_value(tl_buf *buf, int64_t value, const void *ctx)
{
    const call_at *at = ctx;
    (void)buf; /* at->k->text */
    return append_argument(at->k, 2 + (int32_t)value * 2, (int32_t)value, at->i);
}

static tl_status object_rows(tl_kernel *k, pair *pairs)
{
    for (int64_t i = 0; i < k->n; i++) {
        int64_t n = 0;
        for (int32_t a = 1; a + 1 < k->n_args; a += 2) {
            if (tl_vec_is_null(&k->args[a], i))
                return tl_error_set(k->err, TL_E_INVALID, "a key of JSON_OBJECT is NULL");
            if (!leaves_nulls_out(k) || !tl_vec_is_null(&k->args[a + 1], i))
                pairs[n++] = (pair){tl_vec_bytes(&k->args[a], i), a / 2};
        }
        if (append_members(&k->text, pairs, n, argument_value, &(call_at){k, i}) != TL_OK)
            return tl_nomem(k->err, "JSON");
        TL_TRY(tl_kernel_end(k));
    }
    return TL_OK;
}

static tl_status object_kernel(tl_kernel *k)
{
    pair *pairs = tl_alloc(((size_t)k->n_args / 2 + 1) * sizeof *pairs);
    if (pairs == NULL)
        return tl_nomem(k->err, "JSON");
    tl_status status = object_rows(k, pairs);
    tl_free(pairs);
    return status;
}

/* ---- ends of aggregates ---- */

static tl_status append_json(tl_buf *buf, const tl_column *col, int64_t i)
{
    if (tl_col_is_null(col, i))
        return tl_buf_append_str(buf, "null");
    tl_bytes_view v = tl_col_bytes(col, i);
    return tl_buf_append(buf, v.data, v.len);
}

static void range_of(const tl_vec *v, int64_t i, int32_t *from, int32_t *to)
{
    bool null = tl_vec_is_null(v, i);
    *from = null ? 0 : v->col->offsets[tl_vec_row(v, i)];
    *to = null ? 0 : v->col->offsets[tl_vec_row(v, i) + 1];
}

static tl_status array_end(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        int32_t from, to;
        range_of(&k->args[0], i, &from, &to);
        tl_status status = tl_buf_append_byte(&k->text, '[');
        for (int32_t e = from; e < to && status == TL_OK; e++) {
            if (e > from)
                status = tl_buf_append_byte(&k->text, ',');
            if (status == TL_OK)
                status = append_json(&k->text, k->args[0].col->children[0], e);
        }
        if (status == TL_OK)
            status = tl_buf_append_byte(&k->text, ']');
        if (status != TL_OK)
            return tl_nomem(k->err, "JSON");
        TL_TRY(tl_kernel_end(k));
    }
    return TL_OK;
}

static tl_status json_value(tl_buf *buf, int64_t value, const void *ctx)
{
    return append_json(buf, ctx, value);
}

static tl_status object_of_lists(tl_kernel *k, pair *pairs, int32_t from, int32_t n, int32_t values_from)
{
    const tl_column *keys = k->args[0].col->children[0], *values = k->args[1].col->children[0];
    for (int32_t e = 0; e < n; e++) {
        if (tl_col_is_null(keys, from + e))
            return tl_error_set(k->err, TL_E_INVALID, "a key of JSON_OBJECTAGG is NULL");
        pairs[e] = (pair){tl_col_bytes(keys, from + e), values_from + e};
    }
    qsort(pairs, (size_t)n, sizeof *pairs, compare_pairs);
    for (int32_t e = 1; e < n; e++)
        if (tl_bytes_compare(pairs[e - 1].key, pairs[e].key) == 0)
            return tl_error_set(k->err, TL_E_INVALID,
                                "Key '%.*s' is already present. Duplicate keys are not allowed in JSON_OBJECTAGG. Please ensure that keys are unique.",
                                (int)TL_MIN(pairs[e].key.len, 200), (const char *)pairs[e].key.data);
    return append_members(&k->text, pairs, n, json_value, values) == TL_OK ? TL_OK : tl_nomem(k->err, "JSON");
}

static tl_status object_end(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        int32_t from, to, values_from, values_to;
        if (tl_vec_is_null(&k->args[0], i)) { /* over no rows at all the reference gives an empty text, no {} */
            TL_TRY(tl_kernel_end(k));
            continue;
        }
        range_of(&k->args[0], i, &from, &to);
        range_of(&k->args[1], i, &values_from, &values_to);
        if (values_to - values_from != to - from)
            return tl_error_set(k->err, TL_E_INTERNAL, "JSON_OBJECTAGG: %d keys, %d values", (int)(to - from), (int)(values_to - values_from));
        pair *pairs = tl_alloc(((size_t)(to - from) + 1) * sizeof *pairs);
        if (pairs == NULL)
            return tl_nomem(k->err, "JSON");
        tl_status status = object_of_lists(k, pairs, from, to - from, values_from);
        tl_free(pairs);
        TL_TRY(status);
        TL_TRY(tl_kernel_end(k));
    }
    return TL_OK;
}

const tl_sql_function tl_fn_json_make[] = {
    {.name = "JSON_STRING", .args = "X", .kernel = value_kernel, .rule = value_rule, .flags = TL_FN_SLOW},
    {.name = "$JSON", .args = "X", .kernel = value_kernel, .rule = value_rule, .flags = TL_FN_SLOW},
    {.name = "JSON_OBJECT", .args = "S?X*", .kernel = object_kernel, .rule = container_rule, .flags = TL_FN_NULLS | TL_FN_SLOW},
    {.name = "JSON_ARRAY", .args = "S?X*", .kernel = array_kernel, .rule = container_rule, .flags = TL_FN_NULLS | TL_FN_SLOW},
    {.name = "$JSON_OBJECTAGG", .args = "AA", .result = "S!", .kernel = object_end, .flags = TL_FN_NULLS | TL_FN_CAN_FAIL},
    {.name = "$JSON_ARRAYAGG", .args = "A", .result = "S!", .kernel = array_end, .flags = TL_FN_NULLS},
    {.name = NULL},
};
