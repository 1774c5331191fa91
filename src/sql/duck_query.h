/* One query in the embedded engine. Private to sql/. */
#ifndef TL_SQL_DUCK_QUERY_H
#define TL_SQL_DUCK_QUERY_H

#include <pthread.h>

#include "sql/duck_vector.h"
#include "sql/exec.h"

typedef struct duck_query duck_query;

/**
 * The database of a session: opened by its first query, with a connection for each query. What queries register stays in its
 * catalog, under numbers that are used once; when enough has gathered and no query runs it is opened anew.
 */
struct tl_duck {
    const duck_api *api;
    duck_handle db;
    pthread_mutex_t lock; /* guards what follows */
    duck_query **queries; /* those that run: a leaf finds its query here */
    int32_t n_queries, cap_queries;
    int64_t n_functions; /* registered so far */
    int64_t n_leaves;    /* numbers given */
};
#define DUCK_FUNCTIONS_MAX 2000

/** An expression of ours that DuckDB calls as a function. */
typedef struct duck_function {
    duck_query *query;
    tl_sql_program *program;
    const tl_type *input; /* ROW of the arguments */
    const tl_type *result;
} duck_function;

struct duck_query {
    const duck_api *api;
    tl_sql_session *session;
    tl_sql_env env;
    tl_sql_stmt_impl own; /* types and columns that the translation makes */
    tl_duck *duck;
    duck_handle con, prepared, pending;
    duck_result result;
    bool has_result;
    const tl_plan **leaves; /* subtrees that run here: table function tl_leaf(first_leaf + i) */
    int32_t n_leaves, cap_leaves;
    int64_t first_leaf;
    duck_function **functions;
    int32_t n_functions, cap_functions;
    int32_t n_aliases;
    pthread_mutex_t lock; /* guards `failure` */
    tl_error failure;     /* the first error of our own code inside the engine */
    bool failed;
};

/** SELECT text of a plan; registers leaves and functions with the query. */
tl_status duck_translate(duck_query *q, const tl_plan *plan, tl_buf *out, tl_error *err);
/** Register an expression over ROW `input` as a scalar function; its name is "tlx<number>". */
tl_status duck_add_function(duck_query *q, const tl_expr *expr, const tl_type *input, bool is_volatile, int64_t *number, tl_error *err);
/** A plan has fewer nodes than this. */
#define DUCK_LEAVES_MAX 100000

#endif
