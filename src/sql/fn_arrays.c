/* Functions of arrays, and ROW. */
#include <stdio.h>
#include <stdlib.h>

#include "sql/bind.h"
#include "sql/nested.h"
#include "types/key.h"

static const tl_column *elements(const tl_vec *v)
{
    return v->col->children[0];
}

/* ---- types ---- */

static tl_status array_of(tl_binder *b, const tl_type *element, bool nullable, const tl_type **out)
{
    TL_TRY(tl_type_create_array(nullable, element, out, b->err));
    return tl_sql__own_type(b->stmt, *out, b->err);
}

static tl_status array_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    if (n == 0)
        return tl_error_set(b->err, TL_E_INVALID, "Require at least 1 argument");
    bool nullable = false;
    for (int32_t i = 0; i < n; i++)
        nullable = nullable || args[i]->type->nullable;
    const tl_type *element;
    TL_TRY(tl_bind__nullable(b, args[0]->type, nullable, &element));
    return array_of(b, element, false, out);
}

/** (array, element): both to the common type of the elements. */
static tl_status common_element(tl_binder *b, const char *name, tl_expr **args, int32_t element, const tl_type **type)
{
    const tl_type *own = args[0]->type->fields[0].type, *other = args[element]->type, *common;
    TL_TRY(tl_bind__common_type(b, own, other, &common));
    if (common == NULL)
        return tl_error_set(b->err, TL_E_INVALID, "%s: elements of type %s do not go with %s", name, tl_bind__type_text(b, own), tl_bind__type_text(b, other));
    TL_TRY(tl_bind__nullable(b, common, own->nullable || other->nullable, &common));
    TL_TRY(tl_bind__coerce(b, args[element], common, &args[element]));
    TL_TRY(array_of(b, common, args[0]->type->nullable, type));
    return tl_bind__coerce(b, args[0], *type, &args[0]);
}

static tl_status with_element_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    return common_element(b, fn->name, args, 1, out);
}

/** The same for one that is put in: NULL as the element makes the type nullable. */
static tl_status put_in_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    bool nullable = args[0]->type->nullable || args[1]->type->nullable;
    TL_TRY(with_element_rule(b, fn, args, n, out));
    return tl_bind__nullable(b, *out, nullable, out);
}

static tl_status contains_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    const tl_type *ignored;
    TL_TRY(common_element(b, fn->name, args, 1, &ignored));
    return tl_bind__simple_type(b, TL_BOOLEAN, args[0]->type->nullable, 0, 0, out);
}

static tl_status position_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)n;
    bool nullable = args[0]->type->nullable || args[1]->type->nullable;
    const tl_type *ignored;
    TL_TRY(common_element(b, fn->name, args, 1, &ignored));
    return tl_bind__simple_type(b, TL_INT, nullable, 0, 0, out);
}

static tl_status element_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    return tl_bind__nullable(b, args[0]->type->fields[0].type, true, out);
}

/** ELEMENT: what an index gives, which may be outside, is always nullable; the only element is not. */
static tl_status only_element_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    (void)n;
    const tl_type *element = args[0]->type->fields[0].type;
    return tl_bind__nullable(b, element, element->nullable || args[0]->type->nullable, out);
}

static tl_status join_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    if (!tl_sql__is_text(args[0]->type->fields[0].type))
        return tl_error_set(b->err, TL_E_INVALID, "%s needs an ARRAY of text, not %s", fn->name, tl_bind__type_text(b, args[0]->type));
    bool nullable = fn->name[0] == '$'; /* LISTAGG of no rows */
    for (int32_t i = 0; i < n; i++)
        nullable = nullable || args[i]->type->nullable;
    return tl_bind__simple_type(b, TL_VARCHAR, nullable, TL_LENGTH_MAX, 0, out);
}

/** All arguments are arrays of one type already (`=`). */
static tl_status same_array_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    bool nullable = false;
    for (int32_t i = 0; i < n; i++) {
        if (args[i]->type->kind != TL_ARRAY)
            return tl_error_set(b->err, TL_E_INVALID, "%s needs arrays, not %s", fn->name, tl_bind__type_text(b, args[i]->type));
        nullable = nullable || args[i]->type->nullable;
    }
    return tl_bind__nullable(b, args[0]->type, nullable, out);
}

/** The same for results with elements of all: they may be NULL if those of one may. */
static tl_status joined_array_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    TL_TRY(same_array_rule(b, fn, args, n, out));
    for (int32_t i = 1; i < n; i++)
        TL_TRY(tl_bind__common_type(b, *out, args[i]->type, out));
    return TL_OK;
}

static tl_status row_rule(tl_binder *b, const tl_sql_function *fn, tl_expr **args, int32_t n, const tl_type **out)
{
    (void)fn;
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    for (int32_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "EXPR$%d", (int)i);
        names[i] = tl_arena_strdup(b->arena, name);
        BIND_ALLOC(b, names[i]);
        types[i] = args[i]->type;
    }
    return tl_bind__row_type(b, names, types, n, out);
}

/* ---- making ---- */

static tl_status row_kernel(tl_kernel *k)
{
    tl_column *out;
    TL_TRY(tl_column_alloc(k->type, k->n, &out, k->err));
    tl_status status = TL_OK;
    for (int32_t i = 0; i < k->n_args && status == TL_OK; i++) {
        if (k->args[i].step == 0)
            status = tl_column_repeat(k->args[i].col, 0, k->n, &out->children[i], k->err);
        else
            status = tl_column_retype(k->args[i].col, k->type->fields[i].type, &out->children[i], k->err);
    }
    if (status != TL_OK) {
        tl_column_unref(out);
        return status;
    }
    k->out = out;
    return TL_OK;
}

static tl_status array_rows(tl_kernel *k, tl_nested *o)
{
    for (int64_t i = 0; i < k->n; i++) {
        for (int32_t a = 0; a < k->n_args; a++)
            TL_TRY(tl_nested_add(o, (uint32_t)a, tl_vec_row(&k->args[a], i)));
        tl_nested_end(o);
    }
    return TL_OK;
}

/** Run `rows` over a list builder whose elements come from `srcs`. */
static tl_status build(tl_kernel *k, tl_status (*rows)(tl_kernel *k, tl_nested *o), const tl_column *const *srcs)
{
    tl_nested o;
    TL_TRY(tl_nested_init(&o, k));
    tl_status status = rows(k, &o);
    if (status == TL_OK)
        status = tl_nested_finish(&o, &srcs);
    tl_nested_deinit(&o);
    return status;
}

static tl_status array_kernel(tl_kernel *k)
{
    const tl_column **srcs = tl_alloc((size_t)k->n_args * sizeof *srcs);
    if (srcs == NULL)
        return tl_nomem(k->err, "batch");
    for (int32_t a = 0; a < k->n_args; a++)
        srcs[a] = k->args[a].col;
    tl_status status = build(k, array_rows, srcs);
    tl_free(srcs);
    return status;
}

/* ---- looking ---- */

/** One value out of each row's list, by row references; row -1: NULL. */
static tl_status pick(tl_kernel *k, const tl_column *from, int64_t (*which)(tl_kernel *k, int64_t i))
{
    tl_rowref *refs = tl_alloc(((size_t)k->n + 1) * sizeof *refs);
    if (refs == NULL)
        return tl_nomem(k->err, "batch");
    for (int64_t i = 0; i < k->n; i++) {
        int64_t row = tl_kernel_is_valid(k, i) ? which(k, i) : -1;
        refs[i] = (tl_rowref){0, row < 0 ? TL_ROW_NULL : (uint32_t)row};
    }
    tl_status status = tl_column_gather_multi(k->type, &from, refs, k->n, &k->out, k->err);
    tl_free(refs);
    return status;
}

static int64_t which_index(tl_kernel *k, int64_t i)
{
    int32_t from, to, index = TL_VEC(&k->args[1], int32_t, i);
    tl_nested_range(&k->args[0], i, &from, &to);
    return index >= 1 && index <= to - from ? from + index - 1 : -1;
}

static tl_status index_kernel(tl_kernel *k)
{
    return pick(k, elements(&k->args[0]), which_index);
}

static int64_t which_only(tl_kernel *k, int64_t i)
{
    int32_t from, to;
    tl_nested_range(&k->args[0], i, &from, &to);
    return to > from ? from : -1;
}

static tl_status element_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        int32_t from, to;
        tl_nested_range(&k->args[0], i, &from, &to);
        if (tl_kernel_is_valid(k, i) && to - from > 1)
            return tl_error_set(k->err, TL_E_INVALID, "Array has more than one element.");
    }
    return pick(k, elements(&k->args[0]), which_only);
}

static int64_t which_extreme(tl_kernel *k, int64_t i)
{
    const tl_column *col = elements(&k->args[0]);
    bool max = strcmp(k->fn->name, "ARRAY_MAX") == 0;
    int32_t from, to;
    int64_t best = -1;
    tl_nested_range(&k->args[0], i, &from, &to);
    for (int32_t e = from; e < to; e++) {
        if (tl_col_is_null(col, e))
            continue;
        int order = best < 0 ? 0 : tl_column_compare(col, e, col, best, false, false);
        if (best < 0 || (max ? order > 0 : order < 0))
            best = e;
    }
    return best;
}

static tl_status extreme_kernel(tl_kernel *k)
{
    return pick(k, elements(&k->args[0]), which_extreme);
}

static tl_status cardinality_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        int32_t from, to;
        tl_nested_range(&k->args[0], i, &from, &to);
        if (tl_kernel_is_valid(k, i))
            TL_OUT(k, int32_t)[i] = to - from;
    }
    return TL_OK;
}

/** Place of the second argument in the array of row i, from 0; -1 if it is not there. */
static int64_t find(tl_kernel *k, int64_t i)
{
    const tl_column *col = elements(&k->args[0]);
    int32_t from, to;
    tl_nested_range(&k->args[0], i, &from, &to);
    for (int32_t e = from; e < to; e++)
        if (tl_column_equal(col, e, k->args[1].col, tl_vec_row(&k->args[1], i)))
            return e - from;
    return -1;
}

static tl_status contains_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++) {
        if (tl_vec_is_null(&k->args[0], i))
            TL_TRY(tl_kernel_null(k, i));
        else
            TL_OUT(k, uint8_t)[i] = find(k, i) >= 0;
    }
    return TL_OK;
}

static tl_status position_kernel(tl_kernel *k)
{
    for (int64_t i = 0; i < k->n; i++)
        if (tl_kernel_is_valid(k, i))
            TL_OUT(k, int32_t)[i] = (int32_t)find(k, i) + 1;
    return TL_OK;
}

static tl_status join_row(tl_kernel *k, int64_t i, bool *is_null)
{
    const tl_column *col = elements(&k->args[0]);
    tl_bytes_view separator = tl_vec_bytes(&k->args[1], i);
    int32_t from, to;
    bool any = false;
    (void)is_null;
    tl_nested_range(&k->args[0], i, &from, &to);
    for (int32_t e = from; e < to; e++) {
        bool null = tl_col_is_null(col, e);
        if (null && k->n_args < 3)
            continue;
        tl_bytes_view v = null ? tl_vec_bytes(&k->args[2], i) : tl_col_bytes(col, e);
        if ((any && tl_buf_append(&k->text, separator.data, separator.len) != TL_OK) || tl_buf_append(&k->text, v.data, v.len) != TL_OK)
            return tl_nomem(k->err, "text");
        any = true;
    }
    return TL_OK;
}

static tl_status join_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, join_row);
}

/** The finisher of LISTAGG: NULLs are not there, no value at all is NULL. */
static tl_status listagg_row(tl_kernel *k, int64_t i, bool *is_null)
{
    int32_t from, to;
    tl_nested_range(&k->args[0], i, &from, &to);
    *is_null = from == to;
    return join_row(k, i, is_null);
}

static tl_status listagg_kernel(tl_kernel *k)
{
    return tl_kernel_text_rows(k, listagg_row);
}

/* ---- changing ---- */

/** Rows whose array is NULL are NULL; others are made by `row`. */
typedef tl_status (*array_row_fn)(tl_kernel *k, tl_nested *o, int64_t i, int32_t from, int32_t to);

static tl_status each_array(tl_kernel *k, tl_nested *o, array_row_fn row)
{
    for (int64_t i = 0; i < k->n; i++) {
        int32_t from, to;
        if (tl_vec_is_null(&k->args[0], i) || !tl_kernel_is_valid(k, i)) {
            tl_nested_end_null(o);
            continue;
        }
        tl_nested_range(&k->args[0], i, &from, &to);
        TL_TRY(row(k, o, i, from, to));
        tl_nested_end(o);
    }
    return TL_OK;
}

static tl_status add_range(tl_nested *o, uint32_t src, int32_t from, int32_t to)
{
    for (int32_t e = from; e < to; e++)
        TL_TRY(tl_nested_add(o, src, e));
    return TL_OK;
}

static tl_status reverse_row(tl_kernel *k, tl_nested *o, int64_t i, int32_t from, int32_t to)
{
    (void)k;
    (void)i;
    for (int32_t e = to - 1; e >= from; e--)
        TL_TRY(tl_nested_add(o, 0, e));
    return TL_OK;
}

static tl_status reverse_rows(tl_kernel *k, tl_nested *o)
{
    return each_array(k, o, reverse_row);
}

static tl_status remove_row(tl_kernel *k, tl_nested *o, int64_t i, int32_t from, int32_t to)
{
    for (int32_t e = from; e < to; e++)
        if (!tl_column_equal(elements(&k->args[0]), e, k->args[1].col, tl_vec_row(&k->args[1], i)))
            TL_TRY(tl_nested_add(o, 0, e));
    return TL_OK;
}

static tl_status remove_rows(tl_kernel *k, tl_nested *o)
{
    return each_array(k, o, remove_row);
}

static tl_status append_row(tl_kernel *k, tl_nested *o, int64_t i, int32_t from, int32_t to)
{
    bool before = strcmp(k->fn->name, "ARRAY_PREPEND") == 0;
    if (before)
        TL_TRY(tl_nested_add(o, 1, tl_vec_row(&k->args[1], i)));
    TL_TRY(add_range(o, 0, from, to));
    return before ? TL_OK : tl_nested_add(o, 1, tl_vec_row(&k->args[1], i));
}

static tl_status append_rows(tl_kernel *k, tl_nested *o)
{
    return each_array(k, o, append_row);
}

/** Bounds count from 1, negative ones from the end; 0 is 1. */
static int64_t slice_bound(int32_t v, int32_t size)
{
    return v < 0 ? (int64_t)v + size + 1 : v == 0 ? 1 : v;
}

static tl_status slice_row(tl_kernel *k, tl_nested *o, int64_t i, int32_t from, int32_t to)
{
    int32_t size = to - from;
    int64_t first = slice_bound(TL_VEC(&k->args[1], int32_t, i), size), last = k->n_args > 2 ? slice_bound(TL_VEC(&k->args[2], int32_t, i), size) : size;
    first = TL_MAX(first, 1);
    last = TL_MIN(last, size);
    return first > last ? TL_OK : add_range(o, 0, from + (int32_t)first - 1, from + (int32_t)last);
}

static tl_status slice_rows(tl_kernel *k, tl_nested *o)
{
    return each_array(k, o, slice_row);
}

static tl_status concat_row(tl_kernel *k, tl_nested *o, int64_t i, int32_t from, int32_t to)
{
    TL_TRY(add_range(o, 0, from, to));
    for (int32_t a = 1; a < k->n_args; a++) {
        tl_nested_range(&k->args[a], i, &from, &to);
        TL_TRY(add_range(o, (uint32_t)a, from, to));
    }
    return TL_OK;
}

static tl_status concat_rows(tl_kernel *k, tl_nested *o)
{
    return each_array(k, o, concat_row);
}

/* ---- sets ---- */

typedef struct set_pair {
    tl_elements seen, other;
    const tl_column *srcs[2];
} set_pair;

/** Elements of the first that are (not) in the second, or of both; each once. */
static tl_status set_row(tl_kernel *k, tl_nested *o, set_pair *sets, int64_t i)
{
    char op = k->fn->name[6]; /* ARRAY_[D]ISTINCT, [U]NION, [E]XCEPT, [I]NTERSECT */
    int32_t from[2], to[2] = {0, 0};
    for (int a = 0; a < (op == 'D' ? 1 : 2); a++)
        tl_nested_range(&k->args[a], i, &from[a], &to[a]);
    int64_t n0 = to[0] - from[0], n1 = op == 'D' ? 0 : to[1] - from[1];
    bool is_new;
    TL_TRY(tl_elements_reset(&sets->seen, sets->srcs, n0 + n1, k->err));
    TL_TRY(tl_elements_reset(&sets->other, sets->srcs, n1, k->err));
    for (int32_t e = n1 > 0 ? from[1] : 0; n1 > 0 && op != 'U' && e < to[1]; e++)
        (void)tl_elements_add(&sets->other, 1, e, &is_new);
    for (int32_t e = from[0]; e < to[0]; e++) {
        bool in_other = op != 'D' && op != 'U' && tl_elements_find(&sets->other, 0, e) != UINT32_MAX;
        if (op == 'E' ? in_other : op == 'I' ? !in_other : false)
            continue;
        (void)tl_elements_add(&sets->seen, 0, e, &is_new);
        if (is_new)
            TL_TRY(tl_nested_add(o, 0, e));
    }
    for (int32_t e = n1 > 0 ? from[1] : 0; op == 'U' && n1 > 0 && e < to[1]; e++) {
        (void)tl_elements_add(&sets->seen, 1, e, &is_new);
        if (is_new)
            TL_TRY(tl_nested_add(o, 1, e));
    }
    return TL_OK;
}

static tl_status set_rows(tl_kernel *k, tl_nested *o)
{
    set_pair sets = {.srcs = {elements(&k->args[0]), k->n_args > 1 ? elements(&k->args[1]) : NULL}};
    tl_status status = TL_OK;
    for (int64_t i = 0; i < k->n && status == TL_OK; i++) {
        if (!tl_kernel_is_valid(k, i)) {
            tl_nested_end_null(o);
            continue;
        }
        status = set_row(k, o, &sets, i);
        tl_nested_end(o);
    }
    tl_elements_deinit(&sets.seen);
    tl_elements_deinit(&sets.other);
    return status;
}

/* ---- ARRAY_SORT ---- */

typedef struct sorting {
    const tl_column *col;
    bool descending, nulls_first;
} sorting;

static int compare_elements(const void *a, const void *b, void *ctx)
{
    const sorting *s = ctx;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    int order = tl_column_compare(s->col, x, s->col, y, s->descending, s->nulls_first);
    return order != 0 ? order : x < y ? -1 : x > y;
}

static tl_status sort_row(tl_kernel *k, tl_nested *o, int64_t i, int32_t from, int32_t to)
{
    bool ascending = k->n_args < 2 || TL_VEC(&k->args[1], uint8_t, i) != 0;
    sorting s = {elements(&k->args[0]), !ascending, k->n_args < 3 ? ascending : TL_VEC(&k->args[2], uint8_t, i) != 0};
    int32_t *order = tl_alloc((size_t)(to - from + 1) * sizeof *order);
    if (order == NULL)
        return tl_nomem(k->err, "batch");
    for (int32_t e = from; e < to; e++)
        order[e - from] = e;
    qsort_r(order, (size_t)(to - from), sizeof *order, compare_elements, &s);
    tl_status status = TL_OK;
    for (int32_t e = 0; e < to - from && status == TL_OK; e++)
        status = tl_nested_add(o, 0, order[e]);
    tl_free(order);
    return status;
}

static tl_status sort_rows(tl_kernel *k, tl_nested *o)
{
    return each_array(k, o, sort_row);
}

/* ---- the kernels ---- */

static const struct {
    const char *name;
    tl_status (*rows)(tl_kernel *k, tl_nested *o);
} makers[] = {{"ARRAY_REVERSE", reverse_rows}, {"ARRAY_REMOVE", remove_rows}, {"ARRAY_APPEND", append_rows}, {"ARRAY_PREPEND", append_rows},
              {"ARRAY_SLICE", slice_rows},     {"ARRAY_CONCAT", concat_rows}, {"ARRAY_DISTINCT", set_rows},  {"ARRAY_UNION", set_rows},
              {"ARRAY_EXCEPT", set_rows},      {"ARRAY_INTERSECT", set_rows}, {"ARRAY_SORT", sort_rows}};

static tl_status change_kernel(tl_kernel *k)
{
    const tl_column **srcs = tl_alloc((size_t)k->n_args * sizeof *srcs);
    if (srcs == NULL)
        return tl_nomem(k->err, "batch");
    for (int32_t a = 0; a < k->n_args; a++)
        srcs[a] = k->args[a].col->type->kind == TL_ARRAY ? elements(&k->args[a]) : k->args[a].col;
    size_t m = 0;
    while (strcmp(makers[m].name, k->fn->name) != 0)
        m++;
    tl_status status = build(k, makers[m].rows, srcs);
    tl_free(srcs);
    return status;
}

const tl_sql_function tl_fn_arrays[] = {
    {.name = "ROW", .args = "?X*", .kernel = row_kernel, .rule = row_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "ARRAY", .args = "X*", .kernel = array_kernel, .rule = array_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "$INDEX", .args = "AI", .kernel = index_kernel, .rule = element_rule, .flags = TL_FN_SETS_OUT},
    {.name = "ELEMENT", .args = "A", .kernel = element_kernel, .rule = only_element_rule, .flags = TL_FN_SETS_OUT | TL_FN_CAN_FAIL},
    {.name = "ARRAY_MAX", .args = "A", .kernel = extreme_kernel, .rule = element_rule, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_MIN", .args = "A", .kernel = extreme_kernel, .rule = element_rule, .flags = TL_FN_SETS_OUT},
    {.name = "CARDINALITY", .args = "A", .result = "I", .kernel = cardinality_kernel},
    {.name = "CARDINALITY", .args = "P", .result = "I", .kernel = cardinality_kernel},
    {.name = "ARRAY_CONTAINS", .args = "AX", .kernel = contains_kernel, .rule = contains_rule, .flags = TL_FN_NULLS},
    {.name = "ARRAY_POSITION", .args = "AX", .kernel = position_kernel, .rule = position_rule},
    {.name = "ARRAY_JOIN", .args = "AS?S", .kernel = join_kernel, .rule = join_rule},
    {.name = "$LISTAGG", .args = "AS", .kernel = listagg_kernel, .rule = join_rule},
    {.name = "ARRAY_REVERSE", .args = "A", .result = "0", .kernel = change_kernel, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_DISTINCT", .args = "A", .result = "0", .kernel = change_kernel, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_SORT", .args = "A?BB", .result = "0", .kernel = change_kernel, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_SLICE", .args = "AI?I", .result = "0", .kernel = change_kernel, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_REMOVE", .args = "AX", .kernel = change_kernel, .rule = with_element_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "ARRAY_APPEND", .args = "AX", .kernel = change_kernel, .rule = put_in_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "ARRAY_PREPEND", .args = "AX", .kernel = change_kernel, .rule = put_in_rule, .flags = TL_FN_NULLS | TL_FN_SETS_OUT},
    {.name = "ARRAY_CONCAT", .args = "A?=*", .kernel = change_kernel, .rule = joined_array_rule, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_UNION", .args = "A=", .kernel = change_kernel, .rule = joined_array_rule, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_EXCEPT", .args = "A=", .kernel = change_kernel, .rule = same_array_rule, .flags = TL_FN_SETS_OUT},
    {.name = "ARRAY_INTERSECT", .args = "A=", .kernel = change_kernel, .rule = same_array_rule, .flags = TL_FN_SETS_OUT},
    {.name = NULL},
};
