/*
 * The binder: syntax tree → typed plan. Private to sql/.
 */
#ifndef TL_SQL_BIND_H
#define TL_SQL_BIND_H

#include "sql/sql_private.h"
#include "types/text.h"

/** Kinds of expressions that exist only while a SELECT is bound. */
enum {
    TL_EXPR__AGG = 100, /* an aggregate call over args; `agg` */
    TL_EXPR__OVER       /* a window function call; `agg`, `over` */
};

/** An aggregate or window call as written. */
typedef struct tl_bound_agg {
    tl_agg_call call; /* kind, distinct, type, separator, … (not columns) */
    tl_expr *filter;
    /* OVER */
    tl_expr **partition;
    int32_t n_partition;
    tl_expr **order;
    uint8_t *order_flags; /* 1: descending, 2: nulls first */
    int32_t n_order;
    tl_frame_kind frame;
    bool has_frame; /* it was written */
    int64_t from, to;
} tl_bound_agg;

/** A visible column: `rel`.`name` is column `column` of the plan. */
typedef struct tl_scope_column {
    const char *catalog, *db, *rel; /* NULL if unknown */
    const char *name;
    int32_t column;
    bool qualified_only; /* a USING column of one side: `*` and plain names leave it out */
} tl_scope_column;

typedef struct tl_scope tl_scope;
struct tl_scope {
    tl_scope *outer; /* of the query around, for correlated subqueries; NULL */
    tl_scope_column *columns;
    int32_t n_columns;
    const tl_type *type; /* ROW of the plan */
    const uint8_t *time_attr;
};

typedef struct tl_cte tl_cte;
struct tl_cte {
    const char *name;
    const tl_ast *names; /* column aliases */
    const tl_ast *query;
    tl_cte *next; /* earlier ones, which it may use */
};

struct tl_binder {
    tl_sql_session *session;
    tl_sql_stmt_impl *stmt;
    tl_arena *arena; /* the statement's */
    tl_error *err;
    const char *catalog, *db; /* where names without them are looked up (differs inside views) */
    bool streaming;
    bool joins_subqueries; /* they become joins: in streaming mode, and inside LATERAL */
    tl_scope *scope; /* what expressions see */
    tl_cte *ctes;
    bool scanning;           /* the table that is opened now is read (not written, not looked up) */
    bool aggregates_allowed; /* in this clause */
    bool in_aggregate;
    bool grouped;       /* the SELECT has GROUP BY */
    bool uses_group_id; /* GROUP_ID() stands in it */
    bool plain_averages;     /* a deviation or variance stands in this SELECT: see tl_bind__reduces_averages() */
    const tl_ast *windows; /* WINDOW clause */
    const tl_ast *select_hints; /* LOOKUP(…) of the SELECT */
    tl_plan **scalar_input; /* where they do: the plan that they are joined to; NULL: they cannot stand here */
    bool late_subqueries;   /* they wait for tl_bind__lower_subqueries() over the groups */
    int depth;              /* views and subqueries inside each other */
};

#define TL_BIND_DEPTH_MAX 60

#define BIND_ERROR(B, NODE, FMT, ...) TL_AST_ERROR((B)->err, TL_E_INVALID, NODE, FMT, ##__VA_ARGS__)
/** TL_E_NOMEM if `p` is NULL. */
#define BIND_ALLOC(B, P)                                                                                                         \
    do {                                                                                                                         \
        if ((P) == NULL)                                                                                                         \
            return tl_nomem((B)->err, "statement");                                                                              \
    } while (0)

/* types.c of the binder: all results are owned by the statement */
tl_status tl_bind__simple_type(tl_binder *b, tl_type_kind kind, bool nullable, int32_t a, int32_t scale, const tl_type **out);
tl_status tl_bind__ast_type(tl_binder *b, const tl_ast *ast, const tl_type **out);
tl_status tl_bind__nullable(tl_binder *b, const tl_type *type, bool nullable, const tl_type **out);
tl_status tl_bind__row_type(tl_binder *b, const char *const *names, const tl_type *const *types, int32_t n, const tl_type **out);
/** The ARRAY of a VECTOR's elements. */
tl_status tl_bind__array_of(tl_binder *b, const tl_type *vector, const tl_type **out);
/** The type that both fit into (CASE, UNION, IN, …); NULL in *out if there is none. */
tl_status tl_bind__common_type(tl_binder *b, const tl_type *a, const tl_type *c, const tl_type **out);
/** The same for comparisons, COALESCE, GREATEST and LEAST: FLOAT and DOUBLE are DOUBLE, where else the first wins. */
tl_status tl_bind__wider_type(tl_binder *b, const tl_type *a, const tl_type *c, const tl_type **out);
/** Result of `a op c` for numbers; NULL in *out if the operands do not fit. */
tl_status tl_bind__arithmetic_type(tl_binder *b, char op, const tl_type *a, const tl_type *c, const tl_type **out);
tl_status tl_bind__decimal(tl_binder *b, int32_t precision, int32_t scale, bool nullable, const tl_type **out);
/** Flink's implicit casts (INSERT, function arguments). */
bool tl_bind__can_cast_implicitly(const tl_type *from, const tl_type *to);
/** Whether CAST is allowed at all. */
bool tl_bind__can_cast(const tl_type *from, const tl_type *to);
/** Flink's name of a type's family in messages: <NUMERIC>, <CHARACTER>, …; static. */
const char *tl_bind__family(const tl_type *type);
const char *tl_bind__type_text(tl_binder *b, const tl_type *type);
/** Whether a column can carry a watermark, else Flink's complaint at `column`. */
tl_status tl_bind__check_rowtime(tl_binder *b, const tl_ast *column, const tl_type *type);
/** The same as DESCRIBE and TYPEOF give it: TIMESTAMP_LTZ(3). NULL without memory. */
const char *tl_bind__type_summary(tl_binder *b, const tl_type *type);

/* expressions */
tl_status tl_bind__expr(tl_binder *b, const tl_ast *ast, tl_expr **out);
/** A condition: BOOLEAN, or an error that names `clause`. */
tl_status tl_bind__condition(tl_binder *b, const tl_ast *ast, const char *clause, tl_expr **out);
tl_expr *tl_bind__new_expr(tl_binder *b, tl_expr_kind kind, const tl_type *type, const tl_ast *at);
tl_status tl_bind__column(tl_binder *b, int32_t column, const tl_type *type, const tl_ast *at, tl_expr **out);
tl_status tl_bind__cast(tl_binder *b, tl_expr *e, const tl_type *type, bool is_try, tl_expr **out);
/** Cast unless the types are the same up to nullability. */
tl_status tl_bind__coerce(tl_binder *b, tl_expr *e, const tl_type *type, tl_expr **out);
/** Literal of row 0 of a column; takes it over. */
tl_status tl_bind__literal(tl_binder *b, tl_column *col, const tl_ast *at, tl_expr **out);
tl_status tl_bind__null(tl_binder *b, const tl_type *type, const tl_ast *at, tl_expr **out);
tl_status tl_bind__int_literal(tl_binder *b, int64_t v, const tl_ast *at, tl_expr **out);
tl_status tl_bind__bool_literal(tl_binder *b, bool v, const tl_ast *at, tl_expr **out);
tl_status tl_bind__text_literal(tl_binder *b, const char *text, size_t bytes, const tl_ast *at, tl_expr **out);
tl_status tl_bind__logic(tl_binder *b, tl_expr_kind kind, tl_expr **args, int32_t n, const tl_ast *at, tl_expr **out);
tl_status tl_bind__compare(tl_binder *b, const char *op, tl_expr *left, tl_expr *right, const tl_ast *at, tl_expr **out);
/** args: condition, value, …, else; values get their common type. */
tl_status tl_bind__case(tl_binder *b, tl_expr **args, int32_t n, const tl_ast *at, tl_expr **out);
/** A function of the registry with its arguments coerced. */
tl_status tl_bind__function(tl_binder *b, const char *name, tl_expr **args, int32_t n, const tl_ast *at, tl_expr **out);
/** Whether the AST is a call of an aggregate function (not over a window). */
tl_status tl_bind__call(tl_binder *b, const tl_ast *ast, tl_expr **out);
tl_status tl_bind__aggregate(tl_binder *b, const tl_ast *ast, tl_expr **out, bool *is_aggregate);
/** Whether an expression, or a list of them, calls STDDEV or VAR: then every AVG beside it is SUM / COUNT in its argument's type. */
bool tl_bind__reduces_averages(const tl_ast *ast);
tl_status tl_bind__json_aggregate(tl_binder *b, const tl_ast *ast, tl_expr **out);
tl_status tl_bind__json(tl_binder *b, const tl_ast *ast, tl_expr **out);
tl_status tl_bind__temporal_literal(tl_binder *b, const tl_ast *ast, tl_expr **out);
tl_status tl_bind__subquery(tl_binder *b, const tl_ast *ast, tl_expr **out);
/** Streaming: [NOT] IN (SELECT …) or [NOT] EXISTS (SELECT …) as a condition of WHERE: a semi or anti join. */
tl_status tl_bind__semi_join(tl_binder *b, const tl_ast *ast, bool is_not, tl_plan *input, tl_plan **out);
/** 0 where a COUNT found no group: CASE WHEN e IS NULL THEN 0 ELSE e END. */
tl_status tl_bind__or_zero(tl_binder *b, tl_expr *e, const tl_ast *at, tl_expr **out);
/** Streaming: put columns of joins to *input in place of the subqueries in expressions over it. */
tl_status tl_bind__lower_subqueries(tl_binder *b, tl_expr **exprs, int32_t n, tl_plan **input);
/** DATE, TIMESTAMP, … plus or minus INTERVAL; *out NULL if the operands are no such. */
tl_status tl_bind__temporal_arithmetic(tl_binder *b, char op, tl_expr *left, tl_expr *right, const tl_ast *at, tl_expr **out);
/** CAST between an interval of one unit and a number (`e`: what is cast, bound); *out NULL if the cast is no such. */
tl_status tl_bind__interval_cast(tl_binder *b, const tl_ast *ast, tl_expr *e, tl_expr **out);
/** `count` units (YEAR … MILLISECOND) later. */
tl_status tl_bind__timestamp_add(tl_binder *b, const char *unit_name, tl_expr *count, tl_expr *point, const tl_ast *at, tl_expr **out);
/** Evaluate an expression without columns now; *out NULL if it cannot be (volatile, subquery). */
tl_status tl_bind__fold(tl_binder *b, tl_expr *e, tl_column **out);
tl_status tl_bind__constant_int(tl_binder *b, const tl_ast *ast, const char *what, int64_t *out);
tl_status tl_bind__constant_interval_ms(tl_binder *b, const tl_ast *ast, const char *what, int64_t *out);
bool tl_expr__equal(const tl_expr *a, const tl_expr *c);
/** Call fn on e and all below (not into subquery plans); stops when fn gives false. */
bool tl_expr__walk(tl_expr *e, bool (*fn)(tl_expr *e, void *ctx), void *ctx);
/** Copy with every COLUMN i replaced by map[i] (expressions, shared). */
tl_status tl_expr__substitute(tl_binder *b, const tl_expr *e, tl_expr *const *map, tl_expr **out);
/** Copy with columns renumbered; -1 in the map is a bug. */
tl_status tl_expr__remap(tl_binder *b, const tl_expr *e, const int32_t *map, tl_expr **out);
bool tl_expr__uses_columns(const tl_expr *e, int32_t from, int32_t to);
bool tl_expr__has_kind(const tl_expr *e, int kind);
bool tl_expr__is_volatile(const tl_expr *e);

/* Intervals are BIGINT milliseconds and INT months with a mark. Not const: their reference counts are written. */
extern tl_type tl_sql__interval_ms, tl_sql__interval_ms_not_null, tl_sql__interval_months, tl_sql__interval_months_not_null;
/** The type of a bare NULL. */
extern tl_type tl_sql__null_type;
bool tl_sql__is_interval_ms(const tl_type *type);
bool tl_sql__is_interval_months(const tl_type *type);
bool tl_sql__is_null_type(const tl_type *type);
static inline bool tl_sql__is_interval(const tl_type *type)
{
    return tl_sql__is_interval_ms(type) || tl_sql__is_interval_months(type);
}
static inline bool tl_sql__is_integer(const tl_type *type)
{
    return type->kind >= TL_TINYINT && type->kind <= TL_BIGINT && !tl_sql__is_interval(type) && !tl_sql__is_null_type(type);
}
static inline bool tl_sql__is_float(const tl_type *type)
{
    return type->kind == TL_FLOAT || type->kind == TL_DOUBLE;
}
static inline bool tl_sql__is_numeric(const tl_type *type)
{
    return tl_sql__is_integer(type) || tl_sql__is_float(type) || type->kind == TL_DECIMAL;
}
static inline bool tl_sql__is_text(const tl_type *type)
{
    return type->kind == TL_CHAR || type->kind == TL_VARCHAR;
}
/* A BLOB is what BYTES are; it differs in how tables store it. */
static inline bool tl_sql__is_binary(const tl_type *type)
{
    return type->kind == TL_BINARY || type->kind == TL_VARBINARY || type->kind == TL_BLOB;
}
static inline int32_t tl_sql__binary_length(const tl_type *type)
{
    return type->kind == TL_BLOB ? TL_LENGTH_MAX : type->length;
}

/* queries */
tl_status tl_bind__query(tl_binder *b, const tl_ast *ast, tl_plan **out);
tl_status tl_bind__from(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope);
tl_status tl_bind__select(tl_binder *b, const tl_ast *ast, const tl_ast *order, const tl_ast *offset, const tl_ast *limit, tl_plan **out);
tl_status tl_bind__join(tl_binder *b, tl_plan_kind kind, tl_join_kind join, tl_plan *left, tl_plan *right, tl_expr *condition, tl_plan **out);
/** Add expressions over `plan` as columns; `indices` says where each is (plain columns stay where they are). */
tl_status tl_bind__add_columns(tl_binder *b, tl_plan **plan, tl_expr *const *wanted, int32_t n_wanted, int32_t *indices);
/**
 * GROUP BY TUMBLE(time, size) and the like: a WINDOW node over *plan, and a SELECT and ORDER BY that name its columns in place of the
 * group functions. Nothing changes if there is none. b->scope is the scope of the SELECT.
 */
tl_status tl_bind__group_windows(tl_binder *b, const tl_ast **select, const tl_ast **order, tl_plan **plan);
/** One row without columns: what SELECT without FROM reads. */
tl_status tl_bind__one_row(tl_binder *b, tl_plan **out);
/** A WINDOW node (sizes unset) with window_start, window_end and window_time behind the input's columns. */
tl_status tl_bind__window(tl_binder *b, tl_window_kind kind, tl_plan *input, int32_t time, tl_plan **out);
tl_status tl_bind__window_sizes(tl_binder *b, tl_plan *plan, const tl_ast *const intervals[3], const tl_ast *at);
/** All columns as keys: DISTINCT. */
tl_status tl_bind__distinct(tl_binder *b, tl_plan *input, tl_plan **out);
tl_status tl_bind__view(tl_binder *b, const tl_sql_object *view, tl_plan **out);
tl_status tl_bind__table_function(tl_binder *b, const tl_ast *ast, tl_plan **plan, tl_scope **scope);
tl_status tl_bind__sort(tl_binder *b, const tl_ast *order, const tl_ast *offset, const tl_ast *limit, tl_plan *input, tl_plan **out);
/** Aggregation of bound select items, HAVING and so on; see bind_aggregate.c. */
tl_status tl_bind__aggregation(tl_binder *b, const tl_ast *group_by, tl_expr **exprs, int32_t n_exprs, tl_plan *input, tl_plan **out);
tl_status tl_bind__overs(tl_binder *b, tl_expr **exprs, int32_t n_exprs, tl_plan *input, tl_plan **out);
tl_status tl_bind__insert(tl_binder *b, const tl_ast *ast, tl_plan **out);
tl_status tl_bind__ctas(tl_binder *b, const tl_ast *ast, tl_plan **out);

tl_status tl_sql__bind_statement(tl_binder *b, const tl_ast *ast, tl_sql_stmt_impl *stmt);
void tl_sql__binder_init(tl_binder *b, tl_sql_session *session, tl_sql_stmt_impl *stmt, tl_error *err);

/* definitions (ddl.c) */
tl_status tl_sql__create_catalog(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__create_database(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__create_view(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__drop(tl_binder *b, const tl_ast *ast);
/** An expression as text, as options keep it. NULL without memory. */
const char *tl_sql__source_of(tl_binder *b, const tl_ast *e);
/** Options under which a lake table keeps its watermark. */
tl_status tl_sql__watermark_options(tl_binder *b, tl_options *options, const tl_ast *column, const tl_ast *watermark, const tl_type *type);

/* plan nodes */
tl_plan *tl_bind__new_plan(tl_binder *b, tl_plan_kind kind, const tl_type *type, tl_plan *input);
tl_status tl_bind__project(tl_binder *b, tl_plan *input, tl_expr **exprs, const char *const *names, int32_t n, tl_plan **out);
tl_status tl_bind__filter(tl_binder *b, tl_plan *input, tl_expr *condition, tl_plan **out);
tl_status tl_bind__scope_of(tl_binder *b, const tl_plan *plan, const char *rel, const tl_ast *names, const tl_ast *at, tl_scope **out);
/** Bind an expression over a plan's columns alone: of a table's definition. */
tl_status tl_bind__over(tl_binder *b, const tl_plan *plan, const tl_ast *ast, tl_expr **out);
/** Above a lake table's scan the condition that its option `scan.partitions` means, if it has one (scan_partitions.c). */
tl_status tl_bind__scan_partitions(tl_binder *b, const tl_sql_table *table, tl_plan **plan);
/** Columns of the table and, above the scan, computed columns and the watermark. `hints`: OPTIONS. */
tl_status tl_bind__table_scan(tl_binder *b, const tl_ast *name, const tl_ast *hints, tl_plan **out, tl_scope **scope, const char *alias);
/** How many computed columns a lake table's options hold. */
int32_t tl_bind__stored_computed(const tl_sql_table *table);
/** Of all its columns the i-th, if it is computed: its expression and name; else NULL (the next stored one). */
const char *tl_bind__stored_expr(const tl_sql_table *table, int32_t i, const char **name);
/** A lake table's watermark: its column and expression; false: it has none. */
#define TL_WATERMARK_OPTION "schema.watermark.0."
bool tl_bind__stored_watermark(const tl_options *options, const char **column, const char **strategy);
/** The number in the options of the computed column of that name; -1: there is none. */
int32_t tl_bind__stored_place(const tl_sql_table *table, const char *name);
/** The table alone, for sinks, look-ups and commands. *view: the name is a view (then *out is NULL). */
tl_status tl_bind__table(tl_binder *b, const tl_ast *name, const tl_options *hints, tl_sql_table **out, tl_sql_object **object);
/** The same table with a handle of its own: a plan that stands twice in a statement may be run by two threads. */
tl_status tl_bind__table_again(tl_binder *b, const tl_sql_table *table, bool scanning, const tl_sql_table **out);
/** Whether computed columns and the watermark of a session's table can be bound: what CREATE TABLE refuses. */
tl_status tl_bind__check_object(tl_binder *b, tl_sql_object *object);
tl_status tl_bind__hints(tl_binder *b, const tl_ast *hints, const char *name, tl_options **out);
/** Options of a table that is read or written: of settings 'paimon.CATALOG.DATABASE.TABLE.KEY' and, above them, of its hints. NULL: none. */
tl_status tl_bind__table_options(tl_binder *b, const tl_ast *name, const tl_ast *hints, tl_options **out);
/** What the hint STATE_TTL of the SELECT says of a table of its FROM, as plans keep it (0: nothing). */
tl_status tl_bind__state_ttl(tl_binder *b, const tl_ast *table, int64_t *out);
/** An error if STATE_TTL names what does not stand in FROM. */
tl_status tl_bind__check_state_ttl(tl_binder *b, const tl_ast *from);
tl_status tl_bind__path(tl_binder *b, const tl_ast *name, tl_sql_path *out);

/** Whether a subquery's plan reads columns of a query around it (or holds subqueries, which may). */
bool tl_plan__looks_outside(const tl_plan *plan);
/** A copy whose references to the query around it have other numbers: map[old]; -1 is an error (a column that is not grouped). */
tl_status tl_plan__renumber_outer(tl_binder *b, const tl_plan *plan, const int32_t *map, tl_plan **out);

/** A query that looked outside, to be joined to the plan outside (decorrelate.c). */
typedef struct tl_unnested {
    tl_plan *plan;   /* n_keys key columns, then the query's own */
    tl_expr **outer; /* what the keys are equal to, over the plan outside */
    int32_t n_keys;
    bool null_safe; /* by IS NOT DISTINCT FROM */
} tl_unnested;
/**
 * `plan` (without subqueries in expressions) as one that does not look at `outside`, the plan of the query around it. n_keys is 0 if it
 * never did. empty_groups: an aggregate without GROUP BY gives a row for each row outside, also where it has nothing to aggregate.
 */
tl_status tl_bind__unnest(tl_binder *b, tl_plan *plan, tl_plan *outside, bool empty_groups, const tl_ast *at, tl_unnested *out);
/** The condition of the join, and `more`; over n_outside columns, then u->plan's. *out NULL: none. */
tl_status tl_bind__unnested_condition(tl_binder *b, const tl_unnested *u, int32_t n_outside, tl_expr *const *more, int32_t n_more, const tl_ast *at,
                                      tl_expr **out);

/* optimiser */
tl_status tl_plan__optimise(tl_binder *b, tl_plan **plan);
/** Streaming, with filters pushed: conditions over ROW_NUMBER become RANK nodes. */
tl_status tl_plan__find_ranks(tl_binder *b, tl_plan **plan);
/** Streaming, at last: which aggregations, rankings and joins go by window, which joins by an interval of time. */
tl_status tl_plan__find_windows(tl_binder *b, tl_plan *plan);
/** Split a filter over `type` into what a scan can take (*predicate) and the rest (*rest), either may be NULL. */
tl_status tl_plan__to_predicate(tl_binder *b, tl_expr *condition, const tl_type *type, tl_predicate **predicate, tl_expr **rest);
/** What of a filter over `type` speaks of values of maps alone, under fixed keys; the filter stays necessary. NULL: nothing. */
tl_status tl_plan__to_map_filter(tl_binder *b, tl_expr *condition, const tl_type *type, tl_map_filter **out);
tl_status tl_plan__conjuncts(tl_binder *b, tl_expr *condition, tl_expr ***out, int32_t *n);
tl_status tl_plan__conjunction(tl_binder *b, tl_expr **conjuncts, int32_t n, tl_expr **out);

#endif
