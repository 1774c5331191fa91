/*
 * listagg and the unions of sketches and bitmaps: new strings out of several. Format reference §14; Java: FieldListaggAgg,
 * FieldThetaSketchAgg, FieldHllSketchAgg, FieldRoaringBitmap32Agg, FieldRoaringBitmap64Agg.
 */

#include "merge/merge_private.h"
#include "merge/sketch.h"

/* A string under aggregation: borrowed from the input until something is done to it. */
typedef struct text_value {
    bool null;
    bool borrowed;
    tl_bytes_view view;
} text_value;

typedef struct bytes_reduce {
    const merge_column *col;
    text_value acc;
    tl_buf own;     /* what acc.view points to if not borrowed */
    tl_buf scratch; /* the next one */
    tl_map tokens;  /* listagg distinct */
    tl_column *result;
    tl_buf data;
} bytes_reduce;

static tl_bytes_view view_of(const tl_buf *buf)
{
    return (tl_bytes_view){buf->data, buf->len};
}

/* The scratch buffer becomes the value. */
static void take_scratch(bytes_reduce *r)
{
    tl_buf t = r->own;
    r->own = r->scratch;
    r->scratch = t;
    r->acc = (text_value){false, false, view_of(&r->own)};
}

/* ---- listagg ---- */

static tl_status note_token(bytes_reduce *r, tl_bytes_view token, bool *known)
{
    static char present;
    *known = tl_map_get(&r->tokens, token.data, token.len) != NULL;
    if (*known)
        return TL_OK;
    return tl_map_put(&r->tokens, token.data, token.len, &present, NULL) == TL_OK ? TL_OK : tl_nomem(r->col->err, "merge");
}

/* Next piece of text between delimiters, empty ones included; false at the end. An empty delimiter means a blank. */
static bool next_token(tl_bytes_view text, size_t *at, const char *delimiter, tl_bytes_view *out)
{
    size_t len = strlen(delimiter);
    if (*at > text.len)
        return false;
    const uint8_t *from = text.data + *at, *end = text.data + text.len;
    const uint8_t *hit =
        *at == text.len ? NULL : memmem(from, (size_t)(end - from), len == 0 ? " " : delimiter, len == 0 ? 1 : len);
    *out = (tl_bytes_view){from, (size_t)((hit == NULL ? end : hit) - from)};
    *at = hit == NULL ? text.len + 1 : (size_t)(hit - text.data) + (len == 0 ? 1 : len);
    return true;
}

static tl_status append(bytes_reduce *r, tl_bytes_view text)
{
    return tl_buf_append(&r->scratch, text.data, text.len) == TL_OK ? TL_OK : tl_nomem(r->col->err, "merge");
}

static tl_status append_new_tokens(bytes_reduce *r, tl_bytes_view present, tl_bytes_view input)
{
    const char *delimiter = r->col->rule->delimiter;
    tl_bytes_view token;
    bool known;
    tl_map_deinit(&r->tokens);
    for (size_t at = 0; next_token(present, &at, delimiter, &token);)
        TL_TRY(note_token(r, token, &known));
    for (size_t at = 0; next_token(input, &at, delimiter, &token);) {
        if (token.len == 0)
            continue;
        TL_TRY(note_token(r, token, &known));
        if (known)
            continue;
        TL_TRY(append(r, (tl_bytes_view){(const uint8_t *)delimiter, strlen(delimiter)}));
        TL_TRY(append(r, token));
    }
    return TL_OK;
}

/* scratch = first, then what second adds. Neither is empty. */
static tl_status join(bytes_reduce *r, tl_bytes_view first, tl_bytes_view second)
{
    const char *delimiter = r->col->rule->delimiter;
    r->scratch.len = 0;
    TL_TRY(append(r, first));
    if (r->col->rule->distinct)
        return append_new_tokens(r, first, second);
    TL_TRY(append(r, (tl_bytes_view){(const uint8_t *)delimiter, strlen(delimiter)}));
    return append(r, second);
}

/* The usual case, without copying what is there: the own buffer grows. */
static tl_status extend(bytes_reduce *r, tl_bytes_view input)
{
    const char *delimiter = r->col->rule->delimiter;
    if (tl_buf_append_str(&r->own, delimiter) != TL_OK || tl_buf_append(&r->own, input.data, input.len) != TL_OK)
        return tl_nomem(r->col->err, "merge");
    r->acc.view = view_of(&r->own);
    return TL_OK;
}

static tl_status listagg(bytes_reduce *r, tl_bytes_view input, bool late)
{
    if (input.len == 0)
        return TL_OK;
    if (r->acc.view.len == 0) {
        r->acc = (text_value){false, true, input};
        return TL_OK;
    }
    if (!late && !r->acc.borrowed && !r->col->rule->distinct)
        return extend(r, input);
    TL_TRY(late ? join(r, input, r->acc.view) : join(r, r->acc.view, input));
    take_scratch(r);
    return TL_OK;
}

/* ---- sketches ---- */

static tl_status unite(bytes_reduce *r, tl_bytes_view input, bool late)
{
    tl_bytes_view a = late ? input : r->acc.view, b = late ? r->acc.view : input;
    tl_status status;
    switch (r->col->rule->fn) {
    case AGG_THETA_SKETCH:
        status = tl_merge__theta_union(a, b, &r->scratch, r->col->err);
        break;
    case AGG_HLL_SKETCH:
        status = tl_merge__hll_union(a, b, &r->scratch, r->col->err);
        break;
    case AGG_RBM32:
        status = tl_merge__rbm32_union(a, b, &r->scratch, r->col->err);
        break;
    default:
        status = tl_merge__rbm64_union(a, b, &r->scratch, r->col->err);
        break;
    }
    TL_TRY(tl_error_wrap(r->col->err, status, "column '%s': %s", r->col->field->name, r->col->rule->fn_name));
    take_scratch(r);
    return TL_OK;
}

/* ---- all groups ---- */

static tl_status reduce_group(bytes_reduce *r, uint32_t g)
{
    const merge_view *view = r->col->view;
    r->acc = (text_value){.null = true, .borrowed = true};
    for (uint32_t e = view->starts[g]; e < view->starts[g + 1]; e++) {
        tl_rowref ref = view->refs[e];
        uint8_t action = merge_action_at(view, e);
        if (action == ACT_NONE)
            continue;
        if (action == ACT_RETRACT || action == ACT_RETRACT_LATE) {
            if (!r->col->rule->ignore_retract)
                return tl_merge__no_retract(r->col);
            continue;
        }
        bool null = merge_is_null(r->col, ref);
        tl_bytes_view input = tl_col_bytes(r->col->srcs[ref.src], ref.row);
        if (action == ACT_SET || (r->acc.null && !null))
            r->acc = (text_value){null, true, input};
        else if (!null)
            TL_TRY(r->col->rule->fn == AGG_LISTAGG ? listagg(r, input, action == ACT_ADD_LATE)
                                                   : unite(r, input, action == ACT_ADD_LATE));
    }
    return TL_OK;
}

static tl_status reduce(bytes_reduce *r)
{
    uint32_t n = r->col->view->n_groups;
    TL_TRY(tl_column_alloc(r->col->field->type, n, &r->result, r->col->err));
    uint8_t *valid = tl_arena_alloc(r->col->arena, n);
    if (valid == NULL)
        return tl_nomem(r->col->err, "merge");
    for (uint32_t g = 0; g < n; g++) {
        TL_TRY(reduce_group(r, g));
        valid[g] = !r->acc.null;
        if (!r->acc.null && tl_buf_append(&r->data, r->acc.view.data, r->acc.view.len) != TL_OK)
            return tl_nomem(r->col->err, "merge");
        if (r->data.len > INT32_MAX)
            return tl_error_set(r->col->err, TL_E_LIMIT, "column '%s': more than 2 GB in a batch", r->col->field->name);
        r->result->offsets[g + 1] = (int32_t)r->data.len;
    }
    TL_TRY(tl_merge__set_validity(r->result, valid, r->col->err));
    if (tl_buf_reserve(&r->data, 32) != TL_OK) /* readers may load whole words at the end */
        return tl_nomem(r->col->err, "merge");
    tl_free(r->result->data);
    r->result->data = tl_buf_steal(&r->data).data;
    return TL_OK;
}

tl_status tl_merge__reduce_bytes(const merge_column *col, tl_column **out)
{
    bytes_reduce r = {.col = col};
    tl_status status = reduce(&r);
    if (status == TL_OK)
        *out = TL_STEAL(r.result);
    tl_buf_deinit(&r.own);
    tl_buf_deinit(&r.scratch);
    tl_buf_deinit(&r.data);
    tl_map_deinit(&r.tokens);
    tl_column_unref(r.result);
    return status;
}
