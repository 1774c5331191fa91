/* Queries that look outside: what the parts of their rewriting share. */
#ifndef TL_SQL_DECORRELATE_H
#define TL_SQL_DECORRELATE_H

#include "sql/bind.h"

/* outer_columns.c: columns of queries around, found and changed */

typedef struct tl_outer_search {
    int32_t level; /* 0: any */
    bool found;
    bool *columns; /* which columns of that level; NULL: does not matter */
} tl_outer_search;

/** Notes in *s the columns outside that a plan names. */
void tl_outer__search(const tl_plan *plan, tl_outer_search *s);
/** Whether a plan, or an expression (which may be NULL), looks at the query `level` out (0: at any). */
bool tl_outer__plan_looks(const tl_plan *plan, int32_t level);
bool tl_outer__expr_looks(const tl_expr *e, int32_t level);
/** Expressions that a node has in `exprs`. */
int64_t tl_outer__n_exprs(const tl_plan *plan);

typedef tl_status (*tl_expr_change)(tl_binder *b, const tl_expr *e, const void *ctx, tl_expr **out);
/** A copy whose expressions went through `change` (NULL: as they are); tables are opened anew if `fresh`. */
tl_status tl_outer__copy_plan(tl_binder *b, const tl_plan *plan, bool fresh, tl_expr_change change, const void *ctx, tl_plan **out);

/** How the columns of an expression change: both maps may be NULL. */
typedef struct tl_column_change {
    const int32_t *columns;
    const int32_t *outer; /* OUTER of `level` i becomes COLUMN outer[i], or stays OUTER with that number if `keep_level` */
    int32_t level;
    bool keep_level;
} tl_column_change;
/** A tl_expr_change by a tl_column_change. */
tl_status tl_outer__change(tl_binder *b, const tl_expr *e, const void *ctx, tl_expr **out);

/* decorrelate_push.c: the nodes of a query, one by one */

typedef struct tl_unnester {
    tl_binder *b;
    const tl_ast *at;
    bool empty_groups; /* an aggregate without GROUP BY gives a row for a key without rows, too */
    bool by_equality;
    tl_plan *domain; /* copied at each use */
    int32_t *domain_of; /* column outside → column of the domain; -1: not in it */
    tl_unnested *out;
} tl_unnester;

/** The plan with the keys before its columns. */
tl_status tl_decorrelate__push(tl_unnester *u, tl_plan *plan, tl_plan **out);
/** A part that looks at no column of the query around, as it stands there. */
tl_status tl_decorrelate__lifted(const tl_unnester *u, tl_plan *plan, tl_plan **out);
/** Whether a condition is `inner = outer`. */
bool tl_decorrelate__is_equality(const tl_expr *e, const tl_expr **inner, const tl_expr **outer);
/** `by`, `by` + 1 …: n of them. */
tl_status tl_decorrelate__numbers(tl_binder *b, int32_t n, int32_t by, int32_t **out);
/** Columns of `plan`, in this order. */
tl_status tl_decorrelate__only_columns(tl_binder *b, tl_plan *plan, const int32_t *columns, int32_t n, tl_plan **out);
/** a = c, or a IS NOT DISTINCT FROM c. */
tl_status tl_decorrelate__same(tl_binder *b, tl_expr *a, tl_expr *c, bool null_safe, const tl_ast *at, tl_expr **out);

#endif
