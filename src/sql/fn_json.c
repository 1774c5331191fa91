/* JSON functions. What a path finds, and what happens when it finds nothing, is Calcite's: see json_path.h and the `behaviours`. */
#include "sql/bind.h"
#include "sql/cast.h"
#include "sql/json_path.h"
#include "sql/nested.h"

/*
 * Behaviours are a constant text argument made by the binder, a letter each: N null, E error, D default, T true, F false,
 * U unknown, [ empty array, { empty object.
 */
static char behaviour(const tl_kernel *k, int32_t arg, size_t at)
{
    tl_bytes_view v = tl_col_bytes(k->args[arg].col, 0);
    return at < v.len ? (char)v.data[at] : 'N';
}

static tl_status oom(tl_kernel *k)
{
    return tl_nomem(k->err, "JSON");
}

/* ---- IS JSON ---- */

static tl_status is_json_kernel(tl_kernel *k)
{
    char want = k->fn->name[8]; /* IS JSON [V]ALUE, … */
    tl_arena arena = {0};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        if (tl_vec_is_null(&k->args[0], i))
            continue;
        const tl_json *node;
        tl_arena_reset(&arena);
        status = tl_json_parse_first(&arena, tl_vec_bytes(&k->args[0], i), &node, NULL);
        if (status == TL_E_NOMEM)
            break;
        bool good = status == TL_OK;
        status = TL_OK;
        if (good && want != 'V')
            good = want == 'O' ? node->kind == TL_JSON_OBJECT : want == 'A' ? node->kind == TL_JSON_ARRAY : node->kind < TL_JSON_ARRAY;
        TL_OUT(k, uint8_t)[i] = good;
    }
    tl_arena_deinit(&arena);
    return status == TL_E_NOMEM ? oom(k) : status;
}

/* ---- paths ---- */

static void release_path(void *aux)
{
    tl_json_path_free(aux);
}

static tl_status prepare_path(const tl_sql_function *fn, const tl_type *type, const tl_column *const *args, int32_t n, void **aux, tl_error *err)
{
    (void)fn;
    (void)type;
    (void)n;
    *aux = NULL;
    return args[1] == NULL || tl_col_is_null(args[1], 0) ? TL_OK : tl_json_path_compile(tl_col_bytes(args[1], 0), (tl_json_path **)aux, err);
}

/** What is at hand while the rows of one call are looked at. */
typedef struct looking {
    tl_kernel *k;
    tl_arena arena; /* of one row */
    tl_json_path *own;
    const tl_json_path *path;
    tl_json_found found;
    const char *complaint; /* of a row that failed */
} looking;

static void looking_deinit(looking *l)
{
    tl_arena_deinit(&l->arena);
    tl_json_path_free(l->own);
}

/** Find in row i. */
static tl_status look(looking *l, int64_t i)
{
    tl_kernel *k = l->k;
    tl_arena_reset(&l->arena);
    l->path = k->aux;
    l->found = (tl_json_found){false, NULL};
    l->complaint = "No results for path";
    if (l->path == NULL) {
        tl_json_path_free(l->own);
        l->own = NULL;
        TL_TRY(tl_json_path_compile(tl_vec_bytes(&k->args[1], i), &l->own, k->err));
        l->path = l->own;
    }
    const tl_json *root;
    tl_status status = tl_json_parse_first(&l->arena, tl_vec_bytes(&k->args[0], i), &root, NULL);
    if (status == TL_E_NOMEM)
        return oom(k);
    if (status != TL_OK) { /* text that is no JSON is nothing in lax mode */
        l->found.failed = !tl_json_path_is_lax(l->path);
        l->complaint = "the text is no JSON";
        return TL_OK;
    }
    if (tl_json_path_complaint(l->path) != NULL)
        l->complaint = tl_json_path_complaint(l->path);
    return tl_json_path_find(l->path, root, &l->arena, &l->found, k->err);
}

static tl_status fail_empty(const looking *l)
{
    return tl_error_set(l->k->err, TL_E_INVALID, "Empty result of %s function is not allowed", l->k->fn->name);
}

static tl_status fail_error(const looking *l, int64_t i)
{
    tl_bytes_view path = tl_vec_bytes(&l->k->args[1], i);
    return tl_error_set(l->k->err, TL_E_INVALID, "%s: %s: %.*s", l->k->fn->name, l->complaint, (int)TL_MIN(path.len, 200), (const char *)path.data);
}

/* ---- JSON_EXISTS ---- */

static tl_status exists_row(looking *l, int64_t i)
{
    tl_kernel *k = l->k;
    TL_TRY(look(l, i));
    if (!l->found.failed) {
        TL_OUT(k, uint8_t)[i] = l->found.value != NULL;
        return TL_OK;
    }
    switch (behaviour(k, 2, 0)) {
    case 'E':
        return fail_error(l, i);
    case 'U':
        return tl_kernel_null(k, i);
    default:
        TL_OUT(k, uint8_t)[i] = behaviour(k, 2, 0) == 'T';
        return TL_OK;
    }
}

static tl_status exists_kernel(tl_kernel *k)
{
    looking l = {.k = k};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++)
        if (tl_kernel_is_valid(k, i))
            status = exists_row(&l, i);
    looking_deinit(&l);
    return status;
}

/* ---- JSON_VALUE ---- */

/** What is the text of a scalar; false: it is not of the kind that RETURNING names (S text, I INT, D DOUBLE, B BOOLEAN). */
static bool scalar_fits(const tl_json *v, char returning)
{
    int64_t n;
    switch (returning) {
    case 'I':
        return tl_json_int64(v, &n) && n >= INT32_MIN && n <= INT32_MAX;
    case 'D':
        return v->kind == TL_JSON_NUMBER;
    case 'B':
        return v->kind == TL_JSON_TRUE || v->kind == TL_JSON_FALSE;
    default:
        return true;
    }
}

static tl_status put_scalar(looking *l, const tl_json *v)
{
    tl_kernel *k = l->k;
    if (!scalar_fits(v, behaviour(k, 2, 2)))
        return tl_error_set(k->err, TL_E_INVALID, "JSON_VALUE: %.*s is not of the type that RETURNING names", (int)TL_MIN(v->raw.len, 100), (const char *)v->raw.data);
    tl_status status = v->kind == TL_JSON_STRING   ? tl_buf_append(&k->text, v->text.data, v->text.len)
                       : v->kind == TL_JSON_NUMBER ? tl_json_print_number(&k->text, v->text, false)
                                                   : tl_buf_append_str(&k->text, v->kind == TL_JSON_TRUE ? "true" : "false");
    return status == TL_OK ? tl_kernel_end(k) : oom(k);
}

/** `which`: 0 ON EMPTY, 1 ON ERROR. Defaults are arguments 3 and 4. */
static tl_status put_instead(looking *l, int which, int64_t i)
{
    tl_kernel *k = l->k;
    const tl_vec *other = &k->args[3 + which];
    switch (behaviour(k, 2, (size_t)which)) {
    case 'E':
        return which == 0 ? fail_empty(l) : fail_error(l, i);
    case 'D':
        if (!tl_vec_is_null(other, i)) {
            tl_bytes_view v = tl_vec_bytes(other, i);
            return tl_kernel_put(k, v.data, v.len);
        }
        return tl_kernel_put_null(k);
    default:
        return tl_kernel_put_null(k);
    }
}

static bool is_container(const tl_json *v)
{
    return v->kind == TL_JSON_ARRAY || v->kind == TL_JSON_OBJECT;
}

static tl_status value_row(looking *l, int64_t i)
{
    if (tl_vec_is_null(&l->k->args[0], i) || tl_vec_is_null(&l->k->args[1], i))
        return tl_kernel_put_null(l->k);
    TL_TRY(look(l, i));
    const tl_json *v = l->found.value;
    bool lax = tl_json_path_is_lax(l->path);
    if (!l->found.failed && (v == NULL || (lax && is_container(v))))
        return put_instead(l, 0, i);
    if (!l->found.failed && !is_container(v))
        return put_scalar(l, v);
    if (!l->found.failed)
        l->complaint = "Strict jsonpath mode requires scalar value, and the actual value is an array or object";
    return put_instead(l, 1, i);
}

static tl_status value_kernel(tl_kernel *k)
{
    looking l = {.k = k};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++)
        status = value_row(&l, i);
    looking_deinit(&l);
    return status;
}

/* ---- JSON_QUERY ---- */

/** The array or object that row i gives; *node NULL: NULL. Behaviours: wrapper (N, W, C), empty, error. */
static tl_status query(looking *l, int64_t i, const tl_json **node)
{
    static const tl_json empty_array = {.kind = TL_JSON_ARRAY}, empty_object = {.kind = TL_JSON_OBJECT};
    tl_kernel *k = l->k;
    *node = NULL;
    TL_TRY(look(l, i));
    const tl_json *v = l->found.value;
    bool wants_array = k->fn->name[0] == '$'; /* RETURNING ARRAY */
    char wrapper = behaviour(k, 2, 0), instead;
    if (v != NULL && (wrapper == 'W' || (wrapper == 'C' && v->kind != TL_JSON_ARRAY))) {
        tl_json *list = tl_arena_calloc(&l->arena, 2, sizeof *list);
        if (list == NULL)
            return oom(k);
        list[1] = *v;
        list[1].next = NULL;
        list[0] = (tl_json){.kind = TL_JSON_ARRAY, .child = &list[1], .n_children = 1};
        v = list;
    }
    bool other = wants_array && !l->found.failed && v != NULL && v->kind == TL_JSON_OBJECT;
    if (!l->found.failed && v != NULL && is_container(v) && !other) {
        *node = v;
        return TL_OK;
    }
    bool is_empty = !l->found.failed && !other && (v == NULL || tl_json_path_is_lax(l->path));
    instead = behaviour(k, 2, is_empty ? 1 : 2);
    if (other)
        l->complaint = "RETURNING ARRAY wants an array, and the value is an object";
    else if (!l->found.failed && !is_empty)
        l->complaint = "Strict jsonpath mode requires array or object value, and the actual value is a scalar";
    if (instead == 'E')
        return is_empty ? fail_empty(l) : fail_error(l, i);
    *node = instead == '[' ? &empty_array : instead == '{' ? &empty_object : NULL;
    return TL_OK;
}

static tl_status query_row(looking *l, int64_t i)
{
    const tl_json *node;
    if (!tl_kernel_is_valid(l->k, i))
        return tl_kernel_put_null(l->k);
    TL_TRY(query(l, i, &node));
    if (node == NULL)
        return tl_kernel_put_null(l->k);
    if (tl_json_print(&l->k->text, node, &l->arena, l->k->err) != TL_OK)
        return oom(l->k);
    return tl_kernel_end(l->k);
}

static tl_status query_kernel(tl_kernel *k)
{
    looking l = {.k = k};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++)
        status = query_row(&l, i);
    looking_deinit(&l);
    return status;
}

/** RETURNING ARRAY<STRING>: strings as they are, other elements as JSON. */
static tl_status add_element(looking *l, const tl_json *e, tl_builder *texts)
{
    tl_status status;
    if (e->kind == TL_JSON_NULL) {
        status = tl_builder_null(texts);
    } else if (e->kind == TL_JSON_STRING) {
        status = tl_builder_bytes(texts, e->text.data, e->text.len);
    } else {
        tl_buf buf = {0};
        status = tl_json_print(&buf, e, &l->arena, l->k->err);
        if (status == TL_OK)
            status = tl_builder_bytes(texts, buf.data, buf.len);
        tl_buf_deinit(&buf);
    }
    return status == TL_OK ? TL_OK : tl_builder_error(texts, status, l->k->err);
}

static tl_status query_array_rows(looking *l, tl_nested *o, tl_builder *texts)
{
    int64_t n = 0;
    for (int64_t i = 0; i < l->k->n; i++) {
        const tl_json *node = NULL;
        if (tl_kernel_is_valid(l->k, i))
            TL_TRY(query(l, i, &node));
        if (node == NULL || node->kind != TL_JSON_ARRAY) {
            tl_nested_end_null(o);
            continue;
        }
        for (const tl_json *e = node->child; e != NULL; e = e->next) {
            TL_TRY(add_element(l, e, texts));
            TL_TRY(tl_nested_add(o, 0, n++));
        }
        tl_nested_end(o);
    }
    return TL_OK;
}

static tl_status query_array_kernel(tl_kernel *k)
{
    looking l = {.k = k};
    tl_builder *texts = NULL;
    tl_column *col = NULL;
    tl_nested o;
    TL_TRY(tl_nested_init(&o, k));
    tl_status status = tl_builder_create(k->type->fields[0].type, &texts, k->err);
    if (status == TL_OK)
        status = query_array_rows(&l, &o, texts);
    if (status == TL_OK)
        status = tl_builder_finish(texts, &col, k->err);
    const tl_column *const *srcs[1] = {(const tl_column *const *)&col};
    if (status == TL_OK)
        status = tl_nested_finish(&o, srcs);
    tl_builder_free(texts);
    tl_column_unref(col);
    tl_nested_deinit(&o);
    looking_deinit(&l);
    return status;
}

static tl_status text_array_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)args;
    (void)n;
    const tl_type *text;
    TL_TRY(tl_bind__simple_type(b, TL_VARCHAR, true, TL_LENGTH_MAX, 0, &text));
    TL_TRY(tl_type_create_array(true, text, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

#define PATH .prepare = prepare_path, .release = release_path, .flags = TL_FN_CAN_FAIL | TL_FN_SLOW

const tl_sql_function tl_fn_json[] = {
    {.name = "IS JSON VALUE", .args = "S", .result = "B!", .kernel = is_json_kernel, .flags = TL_FN_NULLS | TL_FN_SLOW},
    {.name = "IS JSON OBJECT", .args = "S", .result = "B!", .kernel = is_json_kernel, .flags = TL_FN_NULLS | TL_FN_SLOW},
    {.name = "IS JSON ARRAY", .args = "S", .result = "B!", .kernel = is_json_kernel, .flags = TL_FN_NULLS | TL_FN_SLOW},
    {.name = "IS JSON SCALAR", .args = "S", .result = "B!", .kernel = is_json_kernel, .flags = TL_FN_NULLS | TL_FN_SLOW},
    {.name = "JSON_EXISTS", .args = "SSS", .result = "B?", .kernel = exists_kernel, PATH},
    {.name = "JSON_VALUE", .args = "SSSSS", .result = "S?", .kernel = value_kernel, .prepare = prepare_path, .release = release_path, .flags = TL_FN_CAN_FAIL | TL_FN_SLOW | TL_FN_NULLS},
    {.name = "JSON_QUERY", .args = "SSS", .result = "S?", .kernel = query_kernel, PATH},
    {.name = "$JSON_QUERY_ARRAY", .args = "SSS", .kernel = query_array_kernel, .rule = text_array_rule, .prepare = prepare_path, .release = release_path,
     .flags = TL_FN_CAN_FAIL | TL_FN_SLOW | TL_FN_SETS_OUT},
    {.name = NULL},
};
