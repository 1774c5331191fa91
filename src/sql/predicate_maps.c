/*
 * What a filter says of values in maps, m['k'] = 1: handed to the scan beside its predicate, for the file indexes of `m[k]`. The
 * values are given numbers and stand in the condition as columns, so that what can be pushed of columns can be of them.
 */
#include "sql/bind.h"

/* Values of more keys than these are not looked for: a generated condition may have thousands. */
#define VALUES_MAX 64

typedef struct values {
    tl_map_value items[VALUES_MAX];
    int32_t n;
} values;

/* The number of the value; -1: there are too many. `key` is text of the arena. */
static int32_t number_of(values *v, int32_t column, char *key)
{
    for (int32_t i = 0; i < v->n; i++) {
        if (v->items[i].column == column && strcmp(v->items[i].key, key) == 0)
            return i;
    }
    if (v->n == VALUES_MAX)
        return -1;
    v->items[v->n] = (tl_map_value){column, key};
    return v->n++;
}

/* m['k'] as a column; *out stays NULL if the expression is something else. */
static tl_status value_column(tl_binder *b, values *v, const tl_expr *e, tl_expr **out)
{
    const tl_expr *map = e->args[0], *key = e->args[1];
    if (map->kind != TL_EXPR_COLUMN || map->type->kind != TL_MAP || key->kind != TL_EXPR_LITERAL || tl_col_is_null(key->literal, 0))
        return TL_OK;
    if (map->type->fields[0].type->kind != TL_VARCHAR || !tl_sql__is_text(key->type)) /* of CHAR the blanks at the end would matter */
        return TL_OK;
    tl_bytes_view text = tl_col_bytes(key->literal, 0);
    if (text.len > 0 && memchr(text.data, 0, text.len) != NULL)
        return TL_OK;
    char *copy = tl_arena_alloc(b->arena, text.len + 1);
    tl_expr *column = tl_arena_alloc(b->arena, sizeof *column);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, column);
    if (text.len > 0)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    int32_t number = number_of(v, map->column, copy);
    *column = (tl_expr){.kind = TL_EXPR_COLUMN, .type = e->type, .column = number, .line = e->line, .position = e->position};
    *out = number < 0 ? NULL : column;
    return TL_OK;
}

/* A copy of the expression over the values; *out stays NULL if it looks at anything else. */
static tl_status over_values(tl_binder *b, values *v, tl_expr *e, tl_expr **out)
{
    *out = NULL;
    if (e->kind == TL_EXPR_LITERAL) {
        *out = e;
        return TL_OK;
    }
    if (e->kind == TL_EXPR_CALL && strcmp(e->fn->name, "$INDEX") == 0)
        return value_column(b, v, e, out);
    if (e->kind != TL_EXPR_AND && e->kind != TL_EXPR_OR && e->kind != TL_EXPR_CALL && e->kind != TL_EXPR_CAST)
        return TL_OK;
    tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
    tl_expr **args = tl_arena_alloc(b->arena, ((size_t)e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, copy);
    BIND_ALLOC(b, args);
    for (int32_t i = 0; i < e->n_args; i++) {
        TL_TRY(over_values(b, v, e->args[i], &args[i]));
        if (args[i] == NULL)
            return TL_OK;
    }
    *copy = *e;
    copy->args = args;
    *out = copy;
    return TL_OK;
}

/* One conjunct; *out NULL: nothing of it can be pushed. Owned by the statement. */
static tl_status conjunct_predicate(tl_binder *b, values *v, tl_expr *e, const tl_type *type, tl_predicate **out)
{
    tl_expr *mapped = NULL, *rest = NULL;
    *out = NULL;
    TL_TRY(over_values(b, v, e, &mapped));
    return mapped == NULL ? TL_OK : tl_plan__to_predicate(b, mapped, type, out, &rest);
}

tl_status tl_plan__to_map_filter(tl_binder *b, tl_expr *condition, const tl_type *type, tl_map_filter **out)
{
    tl_expr **conjuncts;
    int32_t n;
    values v = {.n = 0};
    TL_CLEANUP(tl_predicate_freep) tl_predicate *all = NULL;
    TL_TRY(tl_plan__conjuncts(b, condition, &conjuncts, &n));
    for (int32_t i = 0; i < n; i++) {
        tl_predicate *part = NULL, *copy = NULL;
        TL_TRY(conjunct_predicate(b, &v, conjuncts[i], type, &part));
        if (part == NULL || v.n == 0)
            continue;
        TL_TRY(tl_predicate_dup(part, &copy, b->err));
        TL_TRY(tl_predicate_combine(TL_PRED_AND, TL_STEAL(all), copy, &all, b->err));
    }
    *out = NULL;
    if (all == NULL)
        return TL_OK;
    tl_map_filter *filter = NULL;
    TL_TRY(tl_map_filter_create(v.items, v.n, TL_STEAL(all), &filter, b->err));
    TL_TRY(tl_sql__own_map_filter(b->stmt, filter, b->err));
    *out = filter;
    return TL_OK;
}
