/* Bound expressions as trees: equality, walks, copies with other columns. All share what does not change. */
#include "sql/bind.h"

bool tl_expr__equal(const tl_expr *a, const tl_expr *c)
{
    if (a == c)
        return true;
    if (a->kind != c->kind || a->n_args != c->n_args || a->column != c->column || a->level != c->level || a->fn != c->fn || a->is_try != c->is_try)
        return false;
    if (!tl_type_equal(a->type, c->type, /* with_nullable= */ false) || tl_sql__is_interval(a->type) != tl_sql__is_interval(c->type))
        return false;
    if (a->kind == TL_EXPR_SUBQUERY || (int)a->kind == TL_EXPR__AGG || (int)a->kind == TL_EXPR__OVER)
        return false; /* only the same node is the same */
    if (a->kind == TL_EXPR_LITERAL && !tl_column_equal(a->literal, 0, c->literal, 0))
        return false;
    if (a->kind == TL_EXPR_CALL && (a->fn->flags & TL_FN_VOLATILE) != 0)
        return false;
    for (int32_t i = 0; i < a->n_args; i++)
        if (!tl_expr__equal(a->args[i], c->args[i]))
            return false;
    return true;
}

bool tl_expr__walk(tl_expr *e, bool (*fn)(tl_expr *e, void *ctx), void *ctx)
{
    if (!fn(e, ctx))
        return false;
    for (int32_t i = 0; i < e->n_args; i++)
        if (!tl_expr__walk(e->args[i], fn, ctx))
            return false;
    return true;
}

/** A copy of `e` with other arguments; the same node if they are the same. */
static tl_status with_args(tl_binder *b, const tl_expr *e, tl_expr **args, tl_expr **out)
{
    bool same = true;
    for (int32_t i = 0; i < e->n_args; i++)
        same = same && args[i] == e->args[i];
    if (same) {
        *out = (tl_expr *)(uintptr_t)e;
        return TL_OK;
    }
    tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
    BIND_ALLOC(b, copy);
    *copy = *e;
    copy->args = args;
    *out = copy;
    return TL_OK;
}

tl_status tl_expr__substitute(tl_binder *b, const tl_expr *e, tl_expr *const *map, tl_expr **out)
{
    if (e->kind == TL_EXPR_COLUMN) {
        *out = map[e->column];
        return TL_OK;
    }
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, args);
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(tl_expr__substitute(b, e->args[i], map, &args[i]));
    return with_args(b, e, args, out);
}

tl_status tl_expr__remap(tl_binder *b, const tl_expr *e, const int32_t *map, tl_expr **out)
{
    if (e->kind == TL_EXPR_COLUMN) {
        if (map[e->column] == e->column) {
            *out = (tl_expr *)(uintptr_t)e;
            return TL_OK;
        }
        tl_expr *copy = tl_arena_alloc(b->arena, sizeof *copy);
        BIND_ALLOC(b, copy);
        *copy = *e;
        copy->column = map[e->column];
        if (copy->column < 0)
            return tl_error_set(b->err, TL_E_INTERNAL, "column %d was pruned but is used", (int)e->column);
        *out = copy;
        return TL_OK;
    }
    tl_expr **args = tl_arena_alloc(b->arena, (size_t)(e->n_args + 1) * sizeof *args);
    BIND_ALLOC(b, args);
    for (int32_t i = 0; i < e->n_args; i++)
        TL_TRY(tl_expr__remap(b, e->args[i], map, &args[i]));
    return with_args(b, e, args, out);
}

typedef struct range {
    int32_t from, to;
    int kind;
    bool found;
} range;

static bool find_column(tl_expr *e, void *ctx)
{
    range *r = ctx;
    r->found = r->found || (e->kind == TL_EXPR_COLUMN && e->column >= r->from && e->column < r->to);
    return !r->found;
}

bool tl_expr__uses_columns(const tl_expr *e, int32_t from, int32_t to)
{
    range r = {.from = from, .to = to};
    tl_expr__walk((tl_expr *)(uintptr_t)e, find_column, &r);
    return r.found;
}

static bool find_kind(tl_expr *e, void *ctx)
{
    range *r = ctx;
    r->found = r->found || (int)e->kind == r->kind;
    return !r->found;
}

bool tl_expr__has_kind(const tl_expr *e, int kind)
{
    range r = {.kind = kind};
    tl_expr__walk((tl_expr *)(uintptr_t)e, find_kind, &r);
    return r.found;
}

static bool find_volatile(tl_expr *e, void *ctx)
{
    range *r = ctx;
    r->found = r->found || (e->kind == TL_EXPR_CALL && (e->fn->flags & (TL_FN_VOLATILE | TL_FN_NOW)) != 0) || e->kind == TL_EXPR_ROWTIME || e->kind == TL_EXPR_WATERMARK;
    return !r->found;
}

bool tl_expr__is_volatile(const tl_expr *e)
{
    range r = {0};
    tl_expr__walk((tl_expr *)(uintptr_t)e, find_volatile, &r);
    return r.found;
}

/* ---- local time of the session ---- */

int64_t tl_sql_to_local_ms(const tl_sql_env *env, int64_t utc_ms)
{
    return env->zone == NULL ? utc_ms : utc_ms + tl_tz_offset_ms(env->zone, utc_ms);
}

int64_t tl_sql_to_utc_ms(const tl_sql_env *env, int64_t local_ms)
{
    return env->zone == NULL ? local_ms : tl_tz_to_utc_ms(env->zone, local_ms);
}
