/*
 * FROM: tables, joins of all kinds, UNNEST and window table functions.
 *
 * A join's condition is split into equal columns (keys) and the rest. Keys that are expressions become columns of a projection
 * under the join, so that whoever runs the plan compares columns only.
 */
#include <stdio.h>
#include <strings.h>

#include "sql/bind.h"

static tl_status identity(tl_binder *b, const tl_plan *plan, int32_t extra, tl_expr ***exprs, const char ***names)
{
    int32_t n = plan->type->n_fields;
    *exprs = tl_arena_alloc(b->arena, (size_t)(n + extra + 1) * sizeof **exprs);
    *names = tl_arena_alloc(b->arena, (size_t)(n + extra + 1) * sizeof **names);
    BIND_ALLOC(b, *exprs);
    BIND_ALLOC(b, *names);
    for (int32_t i = 0; i < n; i++) {
        TL_TRY(tl_bind__column(b, i, plan->type->fields[i].type, NULL, &(*exprs)[i]));
        (*names)[i] = plan->type->fields[i].name;
    }
    return TL_OK;
}

/** Add expressions over `plan` as columns; indices of all expressions (plain columns stay where they are). */
tl_status tl_bind__add_columns(tl_binder *b, tl_plan **plan, tl_expr *const *wanted, int32_t n_wanted, int32_t *indices)
{
    int32_t n = (*plan)->type->n_fields, extra = 0;
    tl_expr **exprs;
    const char **names;
    TL_TRY(identity(b, *plan, n_wanted, &exprs, &names));
    for (int32_t i = 0; i < n_wanted; i++) {
        indices[i] = wanted[i]->kind == TL_EXPR_COLUMN ? wanted[i]->column : -1;
        for (int32_t j = 0; indices[i] < 0 && j < extra; j++)
            if (tl_expr__equal(exprs[n + j], wanted[i]))
                indices[i] = n + j;
        if (indices[i] >= 0)
            continue;
        exprs[n + extra] = wanted[i];
        names[n + extra] = tl_arena_strf(b->arena, "$key%d", (int)extra);
        BIND_ALLOC(b, names[n + extra]);
        indices[i] = n + extra++;
    }
    return extra == 0 ? TL_OK : tl_bind__project(b, *plan, exprs, names, n + extra, plan);
}

/** Keep the first n columns. */
static tl_status keep_columns(tl_binder *b, tl_plan **plan, const int32_t *columns, int32_t n)
{
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        const tl_field *f = &(*plan)->type->fields[columns[i]];
        TL_TRY(tl_bind__column(b, columns[i], f->type, NULL, &exprs[i]));
        names[i] = f->name;
    }
    return tl_bind__project(b, *plan, exprs, names, n, plan);
}

/** ROW of two plans side by side; `left_null`, `right_null`: that side can be missing. */
static tl_status joined_type(tl_binder *b, const tl_type *left, const tl_type *right, bool left_null, bool right_null, const tl_type **out)
{
    int32_t n = left->n_fields + right->n_fields;
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *types);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    for (int32_t i = 0; i < n; i++) {
        bool is_left = i < left->n_fields;
        const tl_field *f = is_left ? &left->fields[i] : &right->fields[i - left->n_fields];
        names[i] = f->name;
        types[i] = f->type;
        if (is_left ? left_null : right_null)
            TL_TRY(tl_bind__nullable(b, f->type, true, &types[i]));
    }
    return tl_bind__row_type(b, names, types, n, out);
}

static tl_status joined_scope(tl_binder *b, const tl_scope *left, const tl_scope *right, int32_t shift, const tl_plan *plan, tl_scope **out)
{
    tl_scope *scope = tl_arena_calloc(b->arena, 1, sizeof *scope);
    BIND_ALLOC(b, scope);
    scope->n_columns = left->n_columns + right->n_columns;
    scope->columns = tl_arena_alloc(b->arena, (size_t)(scope->n_columns + 1) * sizeof *scope->columns);
    BIND_ALLOC(b, scope->columns);
    if (left->n_columns > 0)
        memcpy(scope->columns, left->columns, (size_t)left->n_columns * sizeof *scope->columns);
    for (int32_t i = 0; i < right->n_columns; i++) {
        scope->columns[left->n_columns + i] = right->columns[i];
        scope->columns[left->n_columns + i].column += shift;
    }
    scope->outer = b->scope != NULL ? b->scope : NULL;
    scope->type = plan->type;
    scope->time_attr = plan->time_attr;
    *out = scope;
    return TL_OK;
}

static tl_join_kind join_kind_of(const char *text)
{
    return strcmp(text, "LEFT") == 0 ? TL_JOIN_LEFT : strcmp(text, "RIGHT") == 0 ? TL_JOIN_RIGHT : strcmp(text, "FULL") == 0 ? TL_JOIN_FULL : TL_JOIN_INNER;
}

static tl_plan *new_join(tl_binder *b, tl_plan_kind kind, tl_join_kind join, const tl_type *type, tl_plan *left, tl_plan *right)
{
    tl_plan *plan = tl_bind__new_plan(b, kind, type, left);
    if (plan == NULL)
        return NULL;
    plan->join = join;
    if (right != NULL) {
        plan->inputs[1] = right;
        plan->n_inputs = 2;
        for (int32_t i = left->type->n_fields; i < type->n_fields; i++)
            ((uint8_t *)(uintptr_t)plan->time_attr)[i] = right->time_attr[i - left->type->n_fields];
    }
    return plan;
}

/* ---- conditions ---- */

static bool is_call(const tl_expr *e, const char *name)
{
    return e->kind == TL_EXPR_CALL && strcmp(e->fn->name, name) == 0;
}

/**
 * a = c, or a IS NOT DISTINCT FROM c, where a needs only columns below `split` and c only those from it on, or the other way; both as
 * expressions of their side.
 */
static bool is_key_pair(const tl_expr *e, int32_t split, int32_t n, tl_expr **left, tl_expr **right)
{
    if (!is_call(e, "=") && !is_call(e, "IS NOT DISTINCT FROM"))
        return false;
    for (int side = 0; side < 2; side++) {
        tl_expr *l = e->args[side], *r = e->args[1 - side];
        if (tl_expr__uses_columns(l, 0, split) && !tl_expr__uses_columns(l, split, n) && tl_expr__uses_columns(r, split, n) &&
            !tl_expr__uses_columns(r, 0, split) && !tl_expr__has_kind(e, TL_EXPR_SUBQUERY) && !tl_expr__has_kind(e, TL_EXPR_OUTER)) {
            *left = l;
            *right = r;
            return true;
        }
    }
    return false;
}

static tl_status shifted(tl_binder *b, const tl_expr *e, int32_t by, int32_t n, tl_expr **out)
{
    int32_t *map = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *map);
    BIND_ALLOC(b, map);
    for (int32_t i = 0; i < n; i++)
        map[i] = i + by;
    return tl_expr__remap(b, e, map, out);
}

/**
 * A join of two plans under `condition` (over left then right; NULL: all pairs). Output: left's columns, then right's, whatever
 * had to be added for keys.
 */
tl_status tl_bind__join(tl_binder *b, tl_plan_kind kind, tl_join_kind join, tl_plan *left, tl_plan *right, tl_expr *condition, tl_plan **out)
{
    int32_t n_left = left->type->n_fields, n_right = right->type->n_fields, n = n_left + n_right, n_conjuncts = 0, n_keys = 0, n_rest = 0;
    tl_expr **conjuncts = NULL;
    if (condition != NULL)
        TL_TRY(tl_plan__conjuncts(b, condition, &conjuncts, &n_conjuncts));
    tl_expr **left_exprs = tl_arena_alloc(b->arena, (size_t)(n_conjuncts + 1) * sizeof *left_exprs);
    tl_expr **right_exprs = tl_arena_alloc(b->arena, (size_t)(n_conjuncts + 1) * sizeof *right_exprs);
    int32_t *left_keys = tl_arena_alloc(b->arena, (size_t)(n_conjuncts + 1) * sizeof *left_keys);
    int32_t *right_keys = tl_arena_alloc(b->arena, (size_t)(n_conjuncts + 1) * sizeof *right_keys);
    bool *null_safe = tl_arena_calloc(b->arena, (size_t)(n_conjuncts + 1), sizeof *null_safe), any_null_safe = false;
    BIND_ALLOC(b, null_safe);
    BIND_ALLOC(b, left_exprs);
    BIND_ALLOC(b, right_exprs);
    BIND_ALLOC(b, left_keys);
    BIND_ALLOC(b, right_keys);
    for (int32_t i = 0; i < n_conjuncts; i++) {
        tl_expr *l, *r;
        bool plain = is_call(conjuncts[i], "=");
        if ((plain || kind == TL_PLAN_JOIN) && is_key_pair(conjuncts[i], n_left, n, &l, &r)) {
            left_exprs[n_keys] = l;
            null_safe[n_keys] = !plain && (l->type->nullable || r->type->nullable);
            any_null_safe = any_null_safe || null_safe[n_keys];
            TL_TRY(shifted(b, r, -n_left, n, &right_exprs[n_keys++]));
        } else {
            conjuncts[n_rest++] = conjuncts[i];
        }
    }
    tl_plan *l = left, *r = right;
    TL_TRY(tl_bind__add_columns(b, &l, left_exprs, n_keys, left_keys));
    TL_TRY(tl_bind__add_columns(b, &r, right_exprs, n_keys, right_keys));
    int32_t added = l->type->n_fields - n_left;
    bool is_filter = join == TL_JOIN_SEMI || join == TL_JOIN_ANTI;
    const tl_type *type;
    if (is_filter)
        type = l->type;
    else
        TL_TRY(joined_type(b, l->type, r->type, join == TL_JOIN_RIGHT || join == TL_JOIN_FULL, join == TL_JOIN_LEFT || join == TL_JOIN_FULL, &type));
    tl_plan *plan = new_join(b, kind, join, type, l, r);
    BIND_ALLOC(b, plan);
    plan->left_keys = left_keys;
    plan->right_keys = right_keys;
    plan->n_keys = n_keys;
    plan->null_safe = any_null_safe ? null_safe : NULL;
    int32_t *map = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *map);
    BIND_ALLOC(b, map);
    for (int32_t i = 0; i < n; i++)
        map[i] = i < n_left ? i : i + added;
    if (n_rest > 0) {
        TL_TRY(tl_plan__conjunction(b, conjuncts, n_rest, &plan->condition));
        TL_TRY(tl_expr__remap(b, plan->condition, map, &plan->condition));
    }
    if (added > 0 || (r->type->n_fields > n_right && !is_filter))
        TL_TRY(keep_columns(b, &plan, map, is_filter ? n_left : n));
    *out = plan;
    return TL_OK;
}

/* ---- USING and NATURAL ---- */

static int32_t find_plain(const tl_scope *scope, const char *name)
{
    for (int32_t i = 0; i < scope->n_columns; i++)
        if (strcmp(scope->columns[i].name, name) == 0 && !scope->columns[i].qualified_only)
            return i;
    return -1;
}

/** A pair of columns that USING makes one: places in the scope of both sides. */
typedef struct using_pair {
    int32_t left, right;
} using_pair;

static tl_status using_column(tl_binder *b, const tl_ast *at, const char *name, tl_scope *scope, int32_t n_left, using_pair *pair, tl_expr **out)
{
    tl_scope left = *scope, right = *scope;
    left.n_columns = n_left;
    right.columns += n_left;
    right.n_columns -= n_left;
    int32_t l = find_plain(&left, name), r = find_plain(&right, name);
    if (l < 0 || r < 0)
        return BIND_ERROR(b, at, "Column '%s' not found in %s", name, l < 0 ? "the left table" : "the right table");
    tl_expr *le, *re;
    TL_TRY(tl_bind__column(b, left.columns[l].column, scope->type->fields[left.columns[l].column].type, at, &le));
    TL_TRY(tl_bind__column(b, right.columns[r].column, scope->type->fields[right.columns[r].column].type, at, &re));
    *pair = (using_pair){l, n_left + r};
    return tl_bind__compare(b, "=", le, re, at, out);
}

/** The condition of USING or NATURAL, and its pairs; both NULL and 0 if there is none. */
static tl_status using_condition(tl_binder *b, const tl_ast *ast, tl_scope *scope, int32_t n_left, using_pair **pairs, int32_t *n_pairs, tl_expr **out)
{
    tl_expr **parts = tl_arena_alloc(b->arena, (size_t)(scope->n_columns + 1) * sizeof *parts);
    *pairs = tl_arena_alloc(b->arena, (size_t)(scope->n_columns + tl_ast_count(ast->kid[3]) + 1) * sizeof **pairs);
    BIND_ALLOC(b, parts);
    BIND_ALLOC(b, *pairs);
    int32_t n = 0;
    if ((ast->flags & AST_F_NATURAL) != 0) {
        for (int32_t i = 0; i < n_left; i++) {
            tl_scope right = {.columns = scope->columns + n_left, .n_columns = scope->n_columns - n_left};
            if (!scope->columns[i].qualified_only && find_plain(&right, scope->columns[i].name) >= 0) {
                TL_TRY(using_column(b, ast, scope->columns[i].name, scope, n_left, &(*pairs)[n], &parts[n]));
                n++;
            }
        }
    } else {
        for (const tl_ast *id = tl_ast_first(ast->kid[3]); id != NULL; id = id->next, n++) {
            for (int32_t i = 0; i < n; i++)
                if (strcmp(scope->columns[(*pairs)[i].left].name, id->text) == 0)
                    return BIND_ERROR(b, id, "Column '%s' stands twice in USING", id->text);
            TL_TRY(using_column(b, id, id->text, scope, n_left, &(*pairs)[n], &parts[n]));
        }
    }
    *out = NULL;
    *n_pairs = n;
    return n > 0 ? tl_plan__conjunction(b, parts, n, out) : TL_OK;
}

/** FULL JOIN: COALESCE of each pair as a column behind those of *plan. */
static tl_status add_merged(tl_binder *b, const tl_ast *at, const tl_scope *scope, const using_pair *pairs, int32_t n_pairs, tl_plan **plan)
{
    const tl_type *row = (*plan)->type;
    int32_t n = row->n_fields;
    tl_expr **exprs = tl_arena_alloc(b->arena, (size_t)(n + n_pairs) * sizeof *exprs);
    const char **names = tl_arena_alloc(b->arena, (size_t)(n + n_pairs) * sizeof *names);
    BIND_ALLOC(b, exprs);
    BIND_ALLOC(b, names);
    for (int32_t i = 0; i < n; i++) {
        names[i] = row->fields[i].name;
        TL_TRY(tl_bind__column(b, i, row->fields[i].type, at, &exprs[i]));
    }
    for (int32_t i = 0; i < n_pairs; i++) {
        int32_t l = scope->columns[pairs[i].left].column, r = scope->columns[pairs[i].right].column;
        const tl_type *common;
        TL_TRY(tl_bind__common_type(b, row->fields[l].type, row->fields[r].type, &common));
        tl_expr *merged = tl_bind__new_expr(b, TL_EXPR_COALESCE, common, at), **args = tl_arena_alloc(b->arena, 2 * sizeof *args);
        BIND_ALLOC(b, merged);
        BIND_ALLOC(b, args);
        TL_TRY(tl_bind__coerce(b, exprs[l], common, &args[0]));
        TL_TRY(tl_bind__coerce(b, exprs[r], common, &args[1]));
        merged->args = args;
        merged->n_args = 2;
        exprs[n + i] = merged;
        names[n + i] = scope->columns[pairs[i].left].name;
    }
    return tl_bind__project(b, *plan, exprs, names, n + n_pairs, plan);
}

/** The scope after USING: its columns once, before all others; both sides' own only with their table's name. */
static tl_status merge_scope(tl_binder *b, tl_join_kind join, const using_pair *pairs, int32_t n_pairs, int32_t n_plan, tl_scope *scope)
{
    tl_scope_column *columns = tl_arena_alloc(b->arena, (size_t)(scope->n_columns + n_pairs) * sizeof *columns);
    BIND_ALLOC(b, columns);
    for (int32_t i = 0; i < n_pairs; i++) {
        tl_scope_column *l = &scope->columns[pairs[i].left], *r = &scope->columns[pairs[i].right];
        columns[i] = (tl_scope_column){.name = l->name, .column = join == TL_JOIN_FULL ? n_plan - n_pairs + i : join == TL_JOIN_RIGHT ? r->column : l->column};
        l->qualified_only = true;
        r->qualified_only = true;
    }
    memcpy(columns + n_pairs, scope->columns, (size_t)scope->n_columns * sizeof *columns);
    scope->columns = columns;
    scope->n_columns += n_pairs;
    return TL_OK;
}

/* ---- look-up joins ---- */

/** Options of the LOOKUP hint for this table, by its alias or name. */
static tl_status lookup_hint(tl_binder *b, const char *alias, const char *name, const tl_options **out)
{
    *out = NULL;
    for (const tl_ast *hint = tl_ast_first(b->select_hints); hint != NULL; hint = hint->next) {
        if (strcasecmp(hint->text, "LOOKUP") != 0)
            continue;
        tl_ast list = {.kind = AST_LIST, .kid = {(tl_ast *)(uintptr_t)hint}};
        tl_ast alone = *hint;
        alone.next = NULL;
        list.kid[0] = &alone;
        tl_options *options;
        TL_TRY(tl_bind__hints(b, &list, "LOOKUP", &options));
        const char *table = options != NULL ? tl_options_get(options, "table") : NULL;
        if (table == NULL)
            return BIND_ERROR(b, hint, "Invalid LOOKUP hint: option 'table' is missing");
        if (strcmp(table, alias != NULL ? alias : name) == 0)
            *out = options;
    }
    return TL_OK;
}

/** The column of the dimension that `e` is, -1 if it is none. */
static int32_t dimension_column(const tl_expr *e, int32_t n_left)
{
    return e->kind == TL_EXPR_COLUMN && e->column >= n_left ? e->column - n_left : -1;
}

typedef struct lookup_parts {
    tl_expr **left;
    int32_t *right;
    int32_t n_keys;
    tl_expr **dimension; /* over the table's row */
    int32_t n_dimension;
    tl_expr **rest; /* over left, then the table's row */
    int32_t n_rest;
} lookup_parts;

static tl_status split_lookup(tl_binder *b, tl_expr *condition, int32_t n_left, int32_t n, lookup_parts *parts)
{
    tl_expr **conjuncts;
    int32_t n_conjuncts;
    TL_TRY(tl_plan__conjuncts(b, condition, &conjuncts, &n_conjuncts));
    parts->left = tl_arena_alloc(b->arena, (size_t)n_conjuncts * sizeof *parts->left);
    parts->right = tl_arena_alloc(b->arena, (size_t)n_conjuncts * sizeof *parts->right);
    parts->dimension = tl_arena_alloc(b->arena, (size_t)n_conjuncts * sizeof *parts->dimension);
    parts->rest = tl_arena_alloc(b->arena, (size_t)n_conjuncts * sizeof *parts->rest);
    BIND_ALLOC(b, parts->left);
    BIND_ALLOC(b, parts->right);
    BIND_ALLOC(b, parts->dimension);
    BIND_ALLOC(b, parts->rest);
    for (int32_t i = 0; i < n_conjuncts; i++) {
        tl_expr *l, *r;
        if (is_call(conjuncts[i], "=") && is_key_pair(conjuncts[i], n_left, n, &l, &r) && dimension_column(r, n_left) >= 0) {
            parts->left[parts->n_keys] = l;
            parts->right[parts->n_keys++] = dimension_column(r, n_left);
        } else if (!tl_expr__uses_columns(conjuncts[i], 0, n_left)) {
            TL_TRY(shifted(b, conjuncts[i], -n_left, n, &parts->dimension[parts->n_dimension++]));
        } else {
            parts->rest[parts->n_rest++] = conjuncts[i];
        }
    }
    return TL_OK;
}

static tl_status lookup_join(tl_binder *b, tl_join_kind join, tl_plan *left, const tl_ast *right, const tl_sql_table *table, tl_expr *condition, const tl_ast *at,
                             tl_plan **out)
{
    if (join != TL_JOIN_INNER && join != TL_JOIN_LEFT)
        return BIND_ERROR(b, at, "Lookup join only supports INNER and LEFT joins");
    int32_t n_left = left->type->n_fields, n_dim = table->row_type->n_fields, n = n_left + n_dim;
    lookup_parts parts = {0};
    if (condition != NULL)
        TL_TRY(split_lookup(b, condition, n_left, n, &parts));
    if (parts.n_keys == 0)
        return BIND_ERROR(b, at, "Temporal table join requires an equality condition on fields of table [%s.%s.%s].", table->catalog, table->db, table->name);
    int32_t *left_keys = tl_arena_alloc(b->arena, (size_t)parts.n_keys * sizeof *left_keys);
    int32_t *columns = tl_arena_alloc(b->arena, (size_t)(n_dim + 1) * sizeof *columns);
    int32_t *map = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *map);
    BIND_ALLOC(b, left_keys);
    BIND_ALLOC(b, columns);
    BIND_ALLOC(b, map);
    tl_plan *l = left;
    TL_TRY(tl_bind__add_columns(b, &l, parts.left, parts.n_keys, left_keys));
    int32_t added = l->type->n_fields - n_left;
    for (int32_t i = 0; i < n_dim; i++)
        columns[i] = i;
    for (int32_t i = 0; i < n; i++)
        map[i] = i < n_left ? i : i + added;
    const tl_type *type;
    TL_TRY(joined_type(b, l->type, table->row_type, false, join == TL_JOIN_LEFT, &type));
    tl_plan *plan = new_join(b, TL_PLAN_LOOKUP_JOIN, join, type, l, NULL);
    BIND_ALLOC(b, plan);
    plan->table = table;
    plan->columns = columns;
    plan->n_columns = n_dim;
    plan->left_keys = left_keys;
    plan->right_keys = parts.right;
    plan->n_keys = parts.n_keys;
    TL_TRY(lookup_hint(b, right->text, table->name, &plan->lookup_hint));
    if (parts.n_dimension > 0) {
        tl_expr *all, *rest;
        TL_TRY(tl_plan__conjunction(b, parts.dimension, parts.n_dimension, &all));
        TL_TRY(tl_plan__to_predicate(b, all, table->row_type, &plan->predicate, &rest));
        bool is_data = table->kind == TL_SQL_TABLE_LAKE && !tl_table_is_system(table->table); /* whose rows are those of its files */
        if (rest != NULL && is_data)
            TL_TRY(tl_plan__to_map_filter(b, rest, table->row_type, &plan->map_filter));
        if (rest != NULL)
            TL_TRY(shifted(b, rest, n_left, n_dim, &parts.rest[parts.n_rest++]));
    }
    if (parts.n_rest > 0) {
        TL_TRY(tl_plan__conjunction(b, parts.rest, parts.n_rest, &plan->condition));
        TL_TRY(tl_expr__remap(b, plan->condition, map, &plan->condition));
    }
    if (added > 0)
        TL_TRY(keep_columns(b, &plan, map, n));
    *out = plan;
    return TL_OK;
}

/** A dimension of a look-up join is a table by itself. */
static tl_status bind_dimension(tl_binder *b, const tl_ast *ast, tl_sql_table **table, tl_plan **shape, tl_scope **scope)
{
    tl_options *options;
    tl_sql_object *object;
    TL_TRY(tl_bind__table_options(b, ast->kid[0], ast->kid[1], &options));
    TL_TRY(tl_bind__table(b, ast->kid[0], options, table, &object));
    if (*table == NULL)
        return BIND_ERROR(b, ast, "Temporal table join does not support views as the right side of a processing-time join");
    *shape = tl_bind__new_plan(b, TL_PLAN_SCAN, (*table)->row_type, NULL); /* only for its columns */
    BIND_ALLOC(b, *shape);
    return tl_bind__scope_of(b, *shape, ast->text != NULL ? ast->text : tl_ast_last_name(ast->kid[0]), ast->kid[3], ast, scope);
}

static tl_status bind_with_scope(tl_binder *b, tl_scope *scope, const tl_ast *ast, const char *clause, tl_expr **out)
{
    tl_scope *saved = b->scope;
    bool allowed = b->aggregates_allowed;
    scope->outer = saved;
    b->scope = scope;
    b->aggregates_allowed = false;
    tl_status status = clause != NULL ? tl_bind__condition(b, ast, clause, out) : tl_bind__expr(b, ast, out);
    b->scope = saved;
    b->aggregates_allowed = allowed;
    return status;
}

/** l JOIN t FOR SYSTEM_TIME AS OF l.time AS d: by processing time a look-up, by event time a versioned join. */
static tl_status temporal_join(tl_binder *b, const tl_ast *ast, tl_plan *left, tl_scope *left_scope, tl_plan **plan, tl_scope **scope)
{
    const tl_ast *right = ast->kid[1];
    tl_join_kind join = join_kind_of(ast->text);
    tl_expr *at;
    TL_TRY(bind_with_scope(b, left_scope, right->kid[2], NULL, &at));
    uint8_t attr = at->kind == TL_EXPR_COLUMN ? left->time_attr[at->column] : at->kind == TL_EXPR_ROWTIME ? TL_TIME_PROCTIME : TL_TIME_NONE;
    if (attr == TL_TIME_NONE)
        return BIND_ERROR(b, right->kid[2], "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field");
    if (ast->kid[2] == NULL)
        return BIND_ERROR(b, ast, "a temporal join needs a condition with ON");
    tl_sql_table *table = NULL;
    tl_plan *shape;
    tl_scope *right_scope, *both;
    tl_expr *condition;
    if (attr == TL_TIME_PROCTIME)
        TL_TRY(bind_dimension(b, right, &table, &shape, &right_scope));
    else
        TL_TRY(tl_bind__table_scan(b, right->kid[0], right->kid[1], &shape, &right_scope, right->text));
    const tl_type *type;
    TL_TRY(joined_type(b, left->type, shape->type, false, join == TL_JOIN_LEFT, &type));
    tl_plan *side_by_side = new_join(b, TL_PLAN_JOIN, join, type, left, shape);
    BIND_ALLOC(b, side_by_side);
    TL_TRY(joined_scope(b, left_scope, right_scope, left->type->n_fields, side_by_side, &both));
    TL_TRY(bind_with_scope(b, both, ast->kid[2], "ON", &condition));
    if (attr == TL_TIME_PROCTIME) {
        TL_TRY(lookup_join(b, join, left, right, table, condition, ast, plan));
    } else {
        if (join != TL_JOIN_INNER && join != TL_JOIN_LEFT)
            return BIND_ERROR(b, ast, "a temporal join is INNER or LEFT");
        TL_TRY(tl_bind__join(b, TL_PLAN_TEMPORAL_JOIN, join, left, shape, condition, plan));
        tl_plan *node = (*plan)->kind == TL_PLAN_PROJECT ? (*plan)->inputs[0] : *plan;
        node->rowtime = at->column; /* a column of the left: added keys stand behind */
    }
    both->type = (*plan)->type;
    both->time_attr = (*plan)->time_attr;
    both->outer = NULL;
    *scope = both;
    return TL_OK;
}

/* ---- UNNEST ---- */

static tl_status unnest_fields(tl_binder *b, const tl_type *t, bool ordinality, const char **names, const tl_type **types, int32_t *n)
{
    *n = 0;
    if (t->kind == TL_MAP) {
        for (int i = 0; i < 2; i++) {
            names[*n] = i == 0 ? "KEY" : "VALUE";
            types[(*n)++] = t->fields[i].type;
        }
    } else if (t->fields[0].type->kind == TL_ROW) {
        for (int32_t i = 0; i < t->fields[0].type->n_fields; i++) {
            names[*n] = t->fields[0].type->fields[i].name;
            types[(*n)++] = t->fields[0].type->fields[i].type;
        }
    } else {
        names[*n] = "EXPR$0";
        types[(*n)++] = t->fields[0].type;
    }
    if (ordinality) {
        names[*n] = "ORDINALITY";
        TL_TRY(tl_bind__simple_type(b, TL_INT, false, 0, 0, &types[(*n)++]));
    }
    return TL_OK;
}

static tl_status bind_unnest(tl_binder *b, const tl_ast *ast, tl_join_kind join, tl_plan *left, tl_scope *left_scope, tl_plan **plan, tl_scope **scope)
{
    tl_expr *array;
    TL_TRY(bind_with_scope(b, left_scope, ast->kid[0], NULL, &array));
    const tl_type *t = array->type;
    if (t->kind != TL_ARRAY && t->kind != TL_VECTOR && t->kind != TL_MAP && t->kind != TL_MULTISET)
        return BIND_ERROR(b, ast, "UNNEST needs an ARRAY, MAP or MULTISET, not %s", tl_bind__type_text(b, t));
    bool ordinality = (ast->flags & AST_F_ORDINALITY) != 0;
    int32_t n_left = left->type->n_fields, column, n;
    tl_plan *input = left;
    TL_TRY(tl_bind__add_columns(b, &input, &array, 1, &column));
    int32_t added = input->type->n_fields - n_left;
    size_t most = (size_t)t->fields[0].type->n_fields + 3;
    const char **names = tl_arena_alloc(b->arena, most * sizeof *names);
    const tl_type **types = tl_arena_alloc(b->arena, most * sizeof *types);
    BIND_ALLOC(b, names);
    BIND_ALLOC(b, types);
    TL_TRY(unnest_fields(b, t, ordinality, names, types, &n));
    const tl_type *fields, *type;
    TL_TRY(tl_bind__row_type(b, names, types, n, &fields));
    tl_plan *shape = tl_bind__new_plan(b, TL_PLAN_VALUES, fields, NULL);
    BIND_ALLOC(b, shape);
    TL_TRY(joined_type(b, input->type, fields, false, join == TL_JOIN_LEFT, &type));
    tl_plan *node = new_join(b, TL_PLAN_UNNEST, join, type, input, NULL);
    BIND_ALLOC(b, node);
    node->unnest_column = column;
    node->with_ordinality = ordinality;
    int32_t total = n_left + n;
    if (added > 0) {
        int32_t *map = tl_arena_alloc(b->arena, (size_t)(total + 1) * sizeof *map);
        BIND_ALLOC(b, map);
        for (int32_t i = 0; i < total; i++)
            map[i] = i < n_left ? i : i + added;
        TL_TRY(keep_columns(b, &node, map, total));
    }
    tl_scope *right_scope;
    TL_TRY(tl_bind__scope_of(b, shape, ast->text, ast->kid[3], ast, &right_scope));
    TL_TRY(joined_scope(b, left_scope, right_scope, n_left, node, scope));
    *plan = node;
    return TL_OK;
}

/* ---- joins ---- */

static bool is_true_literal(const tl_ast *ast)
{
    return ast == NULL || ast->kind == AST_TRUE;
}

/** Two tables of a FROM clause with one name could not be told apart. */
static tl_status check_names(tl_binder *b, const tl_scope *left, const tl_scope *right, const tl_ast *at)
{
    const char *last = NULL;
    for (int32_t r = 0; r < right->n_columns; r++) {
        const char *name = right->columns[r].rel;
        if (name == NULL || name == last)
            continue;
        last = name;
        for (int32_t l = 0; l < left->n_columns; l++)
            if (left->columns[l].rel != NULL && strcmp(left->columns[l].rel, name) == 0)
                return BIND_ERROR(b, at, "Duplicate relation name '%s' in FROM clause", name);
    }
    return TL_OK;
}

static tl_status bind_derived(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope);

/** The query of LATERAL, which sees the columns to its left. */
static tl_status bind_lateral(tl_binder *b, const tl_ast *ast, tl_scope *left, tl_plan **plan, tl_scope **scope)
{
    tl_binder inner = *b;
    left->outer = b->scope;
    inner.scope = left;
    inner.joins_subqueries = true;
    tl_status status = bind_derived(&inner, ast, plan, scope);
    left->outer = NULL;
    return status;
}

/** SELECT with one aggregate and without GROUP BY. */
static bool is_single_aggregate(const tl_plan *plan)
{
    while (plan->kind == TL_PLAN_PROJECT)
        plan = plan->inputs[0];
    return plan->kind == TL_PLAN_AGGREGATE && plan->n_group == 0 && plan->n_calls == 1;
}

/** left, LATERAL (…) or LEFT JOIN LATERAL (…) ON …, where the query looks to its left; `condition` is over both sides' columns. */
static tl_status join_lateral(tl_binder *b, const tl_ast *at, tl_join_kind join, tl_plan *left, tl_plan *right, tl_expr *condition, tl_plan **out)
{
    if (join != TL_JOIN_INNER && join != TL_JOIN_LEFT)
        return BIND_ERROR(b, at, "a join with LATERAL is CROSS, INNER or LEFT");
    int32_t n_left = left->type->n_fields, n_right = right->type->n_fields, n = n_left + n_right;
    tl_unnested u;
    /* An aggregate over no rows gives none in Flink, but for a single one under LEFT JOIN: COUNT is 0 then. */
    TL_TRY(tl_bind__unnest(b, right, left, /* empty_groups= */ join == TL_JOIN_LEFT && is_single_aggregate(right), at, &u));
    int32_t *map = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *map);
    BIND_ALLOC(b, map);
    for (int32_t i = 0; i < n; i++)
        map[i] = i < n_left ? i : i + u.n_keys;
    if (condition != NULL)
        TL_TRY(tl_expr__remap(b, condition, map, &condition));
    TL_TRY(tl_bind__unnested_condition(b, &u, n_left, &condition, condition != NULL, at, &condition));
    TL_TRY(tl_bind__join(b, TL_PLAN_JOIN, join, left, u.plan, condition, out));
    return keep_columns(b, out, map, n);
}

static tl_status bind_join(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope)
{
    const tl_ast *right = ast->kid[1];
    tl_join_kind join = join_kind_of(ast->text);
    tl_plan *left_plan, *right_plan;
    tl_scope *left_scope, *right_scope;
    TL_TRY(tl_bind__from(b, ast->kid[0], &left_plan, &left_scope));
    if (right->kind == AST_TABLE && right->kid[2] != NULL && right->kid[2]->kind == AST_NAME)
        return temporal_join(b, ast, left_plan, left_scope, plan, scope);
    if (right->kind == AST_UNNEST) {
        if (!is_true_literal(ast->kid[2]) || (join != TL_JOIN_INNER && join != TL_JOIN_LEFT))
            return TL_AST_ERROR(b->err, TL_E_UNSUPPORTED, ast, "a join with UNNEST is CROSS, or INNER or LEFT ON TRUE");
        return bind_unnest(b, right, join, left_plan, left_scope, plan, scope);
    }
    bool lateral = right->kind == AST_DERIVED && (right->flags & AST_F_LATERAL) != 0;
    TL_TRY(lateral ? bind_lateral(b, right, left_scope, &right_plan, &right_scope) : tl_bind__from(b, right, &right_plan, &right_scope));
    TL_TRY(check_names(b, left_scope, right_scope, right));
    const tl_type *type;
    TL_TRY(joined_type(b, left_plan->type, right_plan->type, join == TL_JOIN_RIGHT || join == TL_JOIN_FULL, join == TL_JOIN_LEFT || join == TL_JOIN_FULL, &type));
    tl_plan *side_by_side = new_join(b, TL_PLAN_JOIN, join, type, left_plan, right_plan);
    BIND_ALLOC(b, side_by_side);
    tl_scope *both;
    TL_TRY(joined_scope(b, left_scope, right_scope, left_plan->type->n_fields, side_by_side, &both));
    tl_expr *condition = NULL;
    using_pair *pairs = NULL;
    int32_t n_pairs = 0;
    if (ast->kid[3] != NULL || (ast->flags & AST_F_NATURAL) != 0)
        TL_TRY(using_condition(b, ast, both, left_scope->n_columns, &pairs, &n_pairs, &condition));
    else if (!is_true_literal(ast->kid[2]))
        TL_TRY(bind_with_scope(b, both, ast->kid[2], "ON", &condition));
    if (lateral)
        TL_TRY(join_lateral(b, ast, join, left_plan, right_plan, condition, plan));
    else
        TL_TRY(tl_bind__join(b, TL_PLAN_JOIN, join, left_plan, right_plan, condition, plan));
    tl_plan *node = (*plan)->kind == TL_PLAN_PROJECT ? (*plan)->inputs[0] : *plan;
    if (node->kind == TL_PLAN_JOIN && b->select_hints != NULL) {
        TL_TRY(tl_bind__state_ttl(b, ast->kid[0], &node->state_ttl_ms[0]));
        TL_TRY(tl_bind__state_ttl(b, right, &node->state_ttl_ms[1]));
    }
    if (n_pairs > 0 && join == TL_JOIN_FULL)
        TL_TRY(add_merged(b, ast, both, pairs, n_pairs, plan));
    if (n_pairs > 0)
        TL_TRY(merge_scope(b, join, pairs, n_pairs, (*plan)->type->n_fields, both));
    both->type = (*plan)->type;
    both->time_attr = (*plan)->time_attr;
    both->outer = NULL;
    *scope = both;
    return TL_OK;
}

/* ---- tables ---- */

/** FOR SYSTEM_TIME AS OF a constant: time travel, as an option of the scan. */
static tl_status time_travel(tl_binder *b, const tl_ast *ast, const tl_ast **hints)
{
    tl_expr *e;
    const tl_type *instant;
    TL_TRY(tl_bind__expr(b, ast->kid[2], &e));
    TL_TRY(tl_bind__simple_type(b, TL_TIMESTAMP_LTZ, true, 3, 0, &instant));
    if (e->type->kind != TL_TIMESTAMP && e->type->kind != TL_TIMESTAMP_LTZ)
        return BIND_ERROR(b, ast->kid[2], "FOR SYSTEM_TIME AS OF needs a TIMESTAMP");
    TL_TRY(tl_bind__coerce(b, e, instant, &e));
    if (e->kind != TL_EXPR_LITERAL || tl_col_is_null(e->literal, 0))
        return BIND_ERROR(b, ast->kid[2], "FOR SYSTEM_TIME AS OF needs a constant here");
    const char *millis = tl_arena_strf(b->arena, "%lld", (long long)tl_col_i64(e->literal, 0));
    tl_ast *parts = tl_arena_calloc(b->arena, 6, sizeof *parts);
    BIND_ALLOC(b, millis);
    BIND_ALLOC(b, parts);
    /* As if OPTIONS('scan.timestamp-millis' = '…') stood there, after the hints that do. */
    parts[0] = (tl_ast){.kind = AST_STRING, .text = "scan.timestamp-millis"};
    parts[1] = (tl_ast){.kind = AST_STRING, .text = millis};
    parts[2] = (tl_ast){.kind = AST_OPTION, .kid = {&parts[0], &parts[1]}};
    parts[3] = (tl_ast){.kind = AST_LIST, .kid = {&parts[2], &parts[2]}, .count = 1};
    parts[4] = (tl_ast){.kind = AST_HINT, .text = "OPTIONS", .kid = {&parts[3]}};
    parts[5] = (tl_ast){.kind = AST_LIST, .kid = {&parts[4], &parts[4]}, .count = 1};
    for (const tl_ast *hint = tl_ast_first(*hints); hint != NULL; hint = hint->next)
        if (strcasecmp(hint->text, "OPTIONS") == 0)
            parts[2].next = hint->kid[0] != NULL ? hint->kid[0]->kid[0] : NULL;
    *hints = &parts[5];
    return TL_OK;
}

static const tl_cte *find_cte(const tl_binder *b, const tl_ast *name)
{
    if (name->count != 1)
        return NULL;
    for (const tl_cte *cte = b->ctes; cte != NULL; cte = cte->next)
        if (strcmp(cte->name, tl_ast_last_name(name)) == 0)
            return cte;
    return NULL;
}

static tl_status bind_cte(tl_binder *b, const tl_cte *cte, const tl_ast *ast, tl_plan **plan, tl_scope **scope)
{
    tl_binder inner = *b;
    inner.ctes = cte->next;
    inner.aggregates_allowed = inner.in_aggregate = false;
    inner.windows = NULL;
    if (++inner.depth > TL_BIND_DEPTH_MAX)
        return TL_AST_ERROR(b->err, TL_E_LIMIT, ast, "views and subqueries are nested more than %d deep", TL_BIND_DEPTH_MAX);
    TL_TRY(tl_bind__query(&inner, cte->query, plan));
    if (cte->names != NULL) {
        tl_expr **exprs;
        const char **names;
        TL_TRY(identity(b, *plan, 0, &exprs, &names));
        int32_t n = 0;
        for (const tl_ast *id = tl_ast_first(cte->names); id != NULL && n < (*plan)->type->n_fields; id = id->next)
            names[n++] = id->text;
        if (n != (*plan)->type->n_fields || cte->names->count != n)
            return BIND_ERROR(b, ast, "WITH '%s' names %d columns, but the query has %d", cte->name, (int)cte->names->count, (int)(*plan)->type->n_fields);
        TL_TRY(tl_bind__project(b, *plan, exprs, names, n, plan));
    }
    return tl_bind__scope_of(b, *plan, ast->text != NULL ? ast->text : cte->name, ast->kid[3], ast, scope);
}

static tl_status bind_table(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope)
{
    const tl_cte *cte = find_cte(b, ast->kid[0]);
    if (cte != NULL)
        return bind_cte(b, cte, ast, plan, scope);
    const tl_ast *hints = ast->kid[1];
    if (ast->kid[2] != NULL)
        TL_TRY(time_travel(b, ast, &hints));
    TL_TRY(tl_bind__table_scan(b, ast->kid[0], hints, plan, scope, ast->text));
    if (ast->kid[3] != NULL)
        TL_TRY(tl_bind__scope_of(b, *plan, ast->text, ast->kid[3], ast, scope));
    return TL_OK;
}

static tl_status bind_derived(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope)
{
    tl_binder inner = *b;
    inner.aggregates_allowed = inner.in_aggregate = false;
    inner.windows = NULL;
    inner.select_hints = NULL;
    if (++inner.depth > TL_BIND_DEPTH_MAX)
        return TL_AST_ERROR(b->err, TL_E_LIMIT, ast, "views and subqueries are nested more than %d deep", TL_BIND_DEPTH_MAX);
    TL_TRY(tl_bind__query(&inner, ast->kid[0], plan));
    return tl_bind__scope_of(b, *plan, ast->text, ast->kid[3], ast, scope);
}

tl_status tl_bind__from(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope)
{
    switch (ast->kind) {
    case AST_TABLE:
        return bind_table(b, ast, plan, scope);
    case AST_DERIVED:
        return bind_derived(b, ast, plan, scope);
    case AST_TABLE_FN:
        return tl_bind__table_function(b, ast, plan, scope);
    case AST_JOIN:
        return bind_join(b, ast, plan, scope);
    case AST_UNNEST: {
        tl_plan *one;
        tl_scope *none;
        TL_TRY(tl_bind__one_row(b, &one));
        TL_TRY(tl_bind__scope_of(b, one, NULL, NULL, ast, &none));
        return bind_unnest(b, ast, TL_JOIN_INNER, one, none, plan, scope);
    }
    default:
        return BIND_ERROR(b, ast, "this cannot stand in FROM");
    }
}

/* ---- window table functions ---- */

typedef struct window_args {
    const tl_ast *data, *time, *intervals[3];
    int n_intervals;
} window_args;

/** Arguments by position or by name (DATA, TIMECOL, SIZE, SLIDE, STEP, GAP, OFFSET). */
static tl_status window_arguments(tl_binder *b, const tl_ast *call, window_args *out)
{
    static const char *const order[][4] = {{"TUMBLE", "SIZE", NULL, "OFFSET"}, {"HOP", "SLIDE", "SIZE", "OFFSET"}, {"CUMULATE", "STEP", "SIZE", "OFFSET"}, {"SESSION", "GAP", NULL, NULL}};
    const char *const *names = NULL;
    for (size_t i = 0; i < TL_ARRAY_LEN(order); i++)
        if (strcasecmp(call->text, order[i][0]) == 0)
            names = order[i];
    for (const tl_ast *arg = tl_ast_first(call->kid[0]); arg != NULL; arg = arg->next) {
        const tl_ast *v = arg->kind == AST_ARG ? arg->kid[0] : arg;
        if (v->kind == AST_TABLE_ARG || v->kind == AST_SUBQUERY) {
            out->data = v;
        } else if (v->kind == AST_DESCRIPTOR) {
            out->time = v;
        } else if (arg->kind == AST_ARG) {
            int k = 1;
            while (k < 4 && (names[k] == NULL || strcasecmp(names[k], arg->text) != 0))
                k++;
            if (k == 4)
                return BIND_ERROR(b, arg, "%s has no argument %s", call->text, arg->text);
            out->intervals[k - 1] = v;
        } else {
            int k = out->n_intervals++;
            while (k < 3 && names[k + 1] == NULL)
                k = ++out->n_intervals - 1;
            if (k > 2)
                return BIND_ERROR(b, arg, "%s has too many arguments", call->text);
            out->intervals[k] = v;
        }
    }
    if (out->data == NULL || out->time == NULL || tl_ast_count(out->time->kid[0]) != 1 || out->intervals[0] == NULL)
        return BIND_ERROR(b, call, "%s needs TABLE …, DESCRIPTOR(a time column) and an interval", call->text);
    return TL_OK;
}

static tl_status window_input(tl_binder *b, const tl_ast *data, tl_plan **plan, tl_scope **scope)
{
    const tl_ast *what = data->kid[0];
    if (what->kind != AST_NAME)
        return bind_derived(b, &(tl_ast){.kind = AST_DERIVED, .line = data->line, .position = data->position, .kid = {(tl_ast *)(uintptr_t)what}}, plan, scope);
    const tl_ast table = {.kind = AST_TABLE, .line = what->line, .position = what->position, .kid = {(tl_ast *)(uintptr_t)what}};
    return bind_table(b, &table, plan, scope);
}

static tl_status window_partition(tl_binder *b, const tl_ast *list, tl_scope *scope, tl_plan *plan)
{
    const tl_ast *first = tl_ast_first(list);
    if (first != NULL && first->kind == AST_ROW)
        first = tl_ast_first(first->kid[0]);
    int32_t n = 0;
    for (const tl_ast *a = first; a != NULL; a = a->next)
        n++;
    int32_t *columns = tl_arena_alloc(b->arena, (size_t)(n + 1) * sizeof *columns);
    BIND_ALLOC(b, columns);
    n = 0;
    for (const tl_ast *a = first; a != NULL; a = a->next) {
        tl_expr *e;
        TL_TRY(bind_with_scope(b, scope, a, NULL, &e));
        if (e->kind != TL_EXPR_COLUMN)
            return BIND_ERROR(b, a, "PARTITION BY of a window takes columns");
        columns[n++] = e->column;
    }
    plan->window_partition = columns;
    plan->n_window_partition = n;
    return TL_OK;
}

/** The WINDOW node over `input`, with window_start, window_end and window_time behind its columns. */
tl_status tl_bind__window(tl_binder *b, tl_window_kind kind, tl_plan *input, int32_t time, tl_plan **out)
{
    const tl_type *time_type = input->type->fields[time].type, *bound, *attr;
    TL_TRY(tl_bind__simple_type(b, TL_TIMESTAMP, false, 3, 0, &bound));
    TL_TRY(tl_bind__simple_type(b, time_type->kind, false, 3, 0, &attr));
    if (time_type->kind == TL_TIMESTAMP_LTZ && input->time_attr[time] == TL_TIME_ROWTIME && !b->streaming)
        bound = attr;
    const char *names[] = {"window_start", "window_end", "window_time"};
    const tl_type *types[] = {bound, bound, attr};
    const tl_type *three, *type;
    TL_TRY(tl_bind__row_type(b, names, types, 3, &three));
    TL_TRY(joined_type(b, input->type, three, false, false, &type));
    tl_plan *plan = tl_bind__new_plan(b, TL_PLAN_WINDOW, type, input);
    BIND_ALLOC(b, plan);
    plan->window = kind;
    plan->rowtime = time;
    ((uint8_t *)(uintptr_t)plan->time_attr)[type->n_fields - 1] = input->time_attr[time];
    /* The input's own attribute is an ordinary column from here on. */
    ((uint8_t *)(uintptr_t)plan->time_attr)[time] = TL_TIME_NONE;
    *out = plan;
    return TL_OK;
}

tl_status tl_bind__window_sizes(tl_binder *b, tl_plan *plan, const tl_ast *const intervals[3], const tl_ast *at)
{
    plan->line = at->line;
    plan->position = at->position;
    bool two = plan->window == TL_WINDOW_HOP || plan->window == TL_WINDOW_CUMULATE;
    TL_TRY(tl_bind__constant_interval_ms(b, intervals[0], "the size of a window", two ? &plan->slide_ms : &plan->size_ms));
    if (two) {
        if (intervals[1] == NULL)
            return BIND_ERROR(b, at, "the window needs a size besides its %s", plan->window == TL_WINDOW_HOP ? "slide" : "step");
        TL_TRY(tl_bind__constant_interval_ms(b, intervals[1], "the size of a window", &plan->size_ms));
    }
    if (intervals[2] != NULL)
        TL_TRY(tl_bind__constant_interval_ms(b, intervals[2], "the offset of a window", &plan->offset_ms));
    if (plan->size_ms <= 0 || (two && (plan->slide_ms <= 0 || (plan->window == TL_WINDOW_CUMULATE && plan->size_ms % plan->slide_ms != 0))))
        return BIND_ERROR(b, at, "the size of a window must be positive%s", plan->window == TL_WINDOW_CUMULATE ? " and a multiple of its step" : "");
    return TL_OK;
}

tl_status tl_bind__table_function(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope)
{
    static const struct {
        const char *name;
        tl_window_kind kind;
    } windows[] = {{"TUMBLE", TL_WINDOW_TUMBLE}, {"HOP", TL_WINDOW_HOP}, {"CUMULATE", TL_WINDOW_CUMULATE}, {"SESSION", TL_WINDOW_SESSION}};
    const tl_ast *call = ast->kid[0];
    size_t k = 0;
    while (k < TL_ARRAY_LEN(windows) && strcasecmp(windows[k].name, call->text) != 0)
        k++;
    if (k == TL_ARRAY_LEN(windows))
        return BIND_ERROR(b, call, "No match found for table function %s", call->text);
    window_args args = {0};
    TL_TRY(window_arguments(b, call, &args));
    tl_plan *input;
    tl_scope *inner;
    TL_TRY(window_input(b, args.data, &input, &inner));
    const tl_ast *time = tl_ast_first(args.time->kid[0]);
    int32_t column = tl_type_field_index(input->type, time->text);
    if (column < 0)
        return BIND_ERROR(b, time, "Column '%s' not found in any table", time->text);
    const tl_type *type = input->type->fields[column].type;
    if (type->kind != TL_TIMESTAMP && type->kind != TL_TIMESTAMP_LTZ)
        return BIND_ERROR(b, time, "The window function requires the timecol '%s' is a time attribute type, but is %s", time->text, tl_bind__type_text(b, type));
    TL_TRY(tl_bind__window(b, windows[k].kind, input, column, plan));
    TL_TRY(tl_bind__window_sizes(b, *plan, args.intervals, call));
    TL_TRY(window_partition(b, args.data->kid[1], inner, *plan));
    return tl_bind__scope_of(b, *plan, ast->text, ast->kid[3], ast, scope);
}
