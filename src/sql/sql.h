/*
 * The statement language (Flink's SQL dialect) and the bridge to the embedded SQL engine.
 *
 * Text → statements → tree → typed plan. A session holds catalogs, temporary tables, views and settings. Commands and batch
 * queries are carried out here (tl_sql_execute); for a streaming INSERT or SELECT the caller gets the plan and runs it
 * (stream/). Expressions are evaluated by programs of vectorised kernels with Flink's semantics; joins, sorts, aggregates and
 * windows of a batch query are done by DuckDB, which is loaded when the first such query runs.
 */
#ifndef TL_SQL_SQL_H
#define TL_SQL_SQL_H

#include "base/thread.h"
#include "table/table.h"
#include "types/tz.h"

typedef struct tl_sql_session tl_sql_session;
typedef struct tl_sql_function tl_sql_function; /* a scalar function of the registry; private */

/* ---- bound expressions ---- */

typedef struct tl_plan tl_plan;
typedef struct tl_expr tl_expr;

typedef enum tl_expr_kind {
    TL_EXPR_COLUMN,  /* input column `column` (of a join: columns of the left, then of the right) */
    TL_EXPR_LITERAL, /* `literal`, one row */
    TL_EXPR_CALL,    /* `fn` over args */
    TL_EXPR_CAST,    /* args[0] to `type`; `is_try`: NULL where it fails */
    TL_EXPR_AND,     /* of n args, three-valued; later args are not evaluated on rows that are decided */
    TL_EXPR_OR,
    TL_EXPR_CASE,     /* args: condition, value, …, else (always there; its type is the result's, as every value's) */
    TL_EXPR_COALESCE, /* first arg that is not NULL */
    TL_EXPR_ROWTIME,  /* the marker of a time attribute: PROCTIME() */
    TL_EXPR_WATERMARK, /* CURRENT_WATERMARK(…): streaming only; in a batch that a program runs over the column behind the input's */
    TL_EXPR_OUTER,    /* column `column` of the query `level` >= 1 around this one; only inside a subquery's plan */
    TL_EXPR_SUBQUERY  /* see tl_subquery_kind; batch only (a plan for streaming has joins in its place) */
} tl_expr_kind;

typedef enum tl_subquery_kind {
    TL_SUBQUERY_SCALAR, /* the one value, NULL if there is no row, an error if there are several */
    TL_SUBQUERY_EXISTS,
    TL_SUBQUERY_IN,  /* args = the row on the left */
    TL_SUBQUERY_ANY, /* args[0] `compare` ANY (…) */
    TL_SUBQUERY_ALL
} tl_subquery_kind;

/** Immutable after binding; lives in the statement's arena. */
struct tl_expr {
    tl_expr_kind kind;
    const tl_type *type; /* ref held by the statement */
    int32_t column;
    int32_t level;
    bool is_try;
    tl_column *literal; /* ref held by the statement */
    const tl_sql_function *fn;
    tl_expr **args;
    int32_t n_args;
    tl_subquery_kind subquery;
    const char *compare; /* "=", "<>", "<", "<=", ">", ">=" */
    const tl_plan *plan; /* SUBQUERY */
    struct tl_bound_agg *agg; /* private to the binder */
    const struct tl_ast *ast; /* the same */
    int32_t line, position; /* where it stands in the script, 1-based */
};

/** Append the expression as SQL-like text for EXPLAIN and messages; `names` has the input columns' names (NULL: $0, $1, …). */
tl_status tl_expr_format(const tl_expr *expr, const tl_type *input, tl_buf *out);

/* ---- programs: expressions, compiled ---- */

/** What expressions see of the world. Zero-initialised: UTC and the system's clock. */
typedef struct tl_sql_env {
    const tl_clock *clock;  /* NULL: tl_clock_system() */
    const tl_tz *zone;      /* table.local-time-zone; NULL: UTC */
    int64_t fixed_now_ms;   /* batch: the time at which the query began (NOW() is the same everywhere); 0: the clock, once a batch */
} tl_sql_env;

/** Time of day in the environment's zone, as a TIMESTAMP has it, and back (of two instants the earlier offset's). */
int64_t tl_sql_to_local_ms(const tl_sql_env *env, int64_t utc_ms);
int64_t tl_sql_to_utc_ms(const tl_sql_env *env, int64_t local_ms);

typedef struct tl_sql_program tl_sql_program;
/**
 * A filter (NULL: none; a row passes if it is TRUE) and expressions over batches of `input` (ROW). The results are the columns
 * of `output` (ROW; one field per expression, of the expression's type up to nullability). The expressions may be released
 * afterwards. Immutable: several threads may run it at once. TL_E_UNSUPPORTED: subqueries.
 */
tl_status tl_sql_program_create(const tl_sql_env *env, const tl_type *input, const tl_expr *filter, const tl_expr *const *exprs, int32_t n,
                                const tl_type *output, tl_sql_program **out, tl_error *err);
/** Whether CURRENT_WATERMARK stands in it: batches must have one column more behind the input type's, the watermark at each row. */
bool tl_sql_program_wants_watermark(const tl_sql_program *program);
void tl_sql_program_free(tl_sql_program *program);
static inline void tl_sql_program_freep(tl_sql_program **program)
{
    tl_sql_program_free(*program);
}
/**
 * Run over a batch (of the input type's columns, and maybe more behind them): a new batch with the passing rows (maybe none), their row kinds, sequence numbers and snapshot. Common
 * subexpressions are evaluated once. TL_E_INVALID: what Flink fails on, such as text that is no number in a CAST.
 */
tl_status tl_sql_program_run(const tl_sql_program *program, const tl_batch *in, tl_batch **out, tl_error *err);
/** Only the filter: passing row numbers, ascending (room for in->n_rows); all rows if there is no filter. */
tl_status tl_sql_program_select(const tl_sql_program *program, const tl_batch *in, uint32_t *sel, int64_t *n_sel, tl_error *err);
/** An operator over a reader; takes both over. Empty results are skipped. */
tl_status tl_sql_program_reader(tl_sql_program *program, tl_reader *in, tl_reader **out, tl_error *err);

/* ---- tables in plans ---- */

typedef enum tl_sql_table_kind {
    TL_SQL_TABLE_LAKE,     /* a table of a Paimon catalog, maybe a system table */
    TL_SQL_TABLE_CONNECTOR /* CREATE TABLE … WITH ('connector' = …): see connect/ */
} tl_sql_table_kind;

typedef struct tl_sql_table {
    tl_sql_table_kind kind;
    const char *catalog; /* "lake", "default_catalog" */
    const char *db;
    const char *name;        /* LAKE: with "$audit_log" or the like */
    const tl_type *row_type; /* ROW of the stored columns (no computed ones); of metadata columns too, at their place */
    const tl_options *options; /* CONNECTOR: WITH and hints; LAKE: the hints (dynamic options) */
    /* LAKE */
    tl_catalog *lake; /* the session's */
    tl_table *table;  /* opened with the hints; the statement's, usable by one thread */
    /* CONNECTOR */
    const char *const *metadata_keys; /* per column, as tl_connector_spec wants them: NULL entries are stored columns; NULL: none */
    const bool *is_virtual;           /* per column: a metadata column that cannot be written (a sink gets NULL); NULL: none */
    /* both */
    const int32_t *primary_key; /* columns; NULL if there is none */
    int32_t n_primary_key;
    const int32_t *partition_key;
    int32_t n_partition_key;
} tl_sql_table;

/* ---- plans ---- */

typedef enum tl_plan_kind {
    TL_PLAN_SCAN,
    TL_PLAN_VALUES,
    TL_PLAN_PROJECT,
    TL_PLAN_FILTER,
    TL_PLAN_WATERMARK,
    TL_PLAN_JOIN,
    TL_PLAN_LOOKUP_JOIN,
    TL_PLAN_TEMPORAL_JOIN, /* event time: FOR SYSTEM_TIME AS OF a rowtime column */
    TL_PLAN_AGGREGATE,
    TL_PLAN_UNION, /* ALL */
    TL_PLAN_SETOP, /* INTERSECT, EXCEPT */
    TL_PLAN_OVER,
    TL_PLAN_RANK,   /* streaming: ROW_NUMBER with bounds, the first rows of each partition */
    TL_PLAN_WINDOW, /* window table function */
    TL_PLAN_UNNEST,
    TL_PLAN_SORT, /* with offset and limit */
    TL_PLAN_SINK
} tl_plan_kind;

typedef enum tl_join_kind { TL_JOIN_INNER, TL_JOIN_LEFT, TL_JOIN_RIGHT, TL_JOIN_FULL, TL_JOIN_SEMI, TL_JOIN_ANTI } tl_join_kind;

/* AVG, STDDEV and VAR do not occur: they are made of SUM and COUNT, with a PROJECT above. */
typedef enum tl_agg_kind {
    TL_AGG_COUNT, /* rows if n_args == 0; else rows in which no arg is NULL */
    TL_AGG_SUM,   /* NULL without values; integers wrap in the result type; a decimal that does not fit is NULL */
    TL_AGG_MIN,
    TL_AGG_MAX,
    TL_AGG_FIRST_VALUE, /* first that is not NULL, in order of arrival */
    TL_AGG_LAST_VALUE,
    TL_AGG_LISTAGG,   /* args[0] text; `separator` between */
    TL_AGG_COLLECT,   /* MULTISET, NULLs left out */
    TL_AGG_ARRAY_AGG, /* with NULLs */
    TL_AGG_JSON_OBJECTAGG, /* args: key, value; `json_absent` leaves NULL values out */
    TL_AGG_JSON_ARRAYAGG,
    TL_AGG_SINGLE_VALUE, /* error if there are several rows */
    TL_AGG_GROUPING,     /* bits of which keys (args are indices into the key list) are not in the grouping set; BIGINT */
    TL_AGG_ROW_NUMBER,   /* from here on: OVER only */
    TL_AGG_RANK,
    TL_AGG_DENSE_RANK,
    TL_AGG_PERCENT_RANK,
    TL_AGG_CUME_DIST,
    TL_AGG_NTILE, /* `number` tiles */
    TL_AGG_LAG,   /* args[0] value; `number` rows back; args[1] default, if there */
    TL_AGG_LEAD
} tl_agg_kind;
const char *tl_agg_name(tl_agg_kind kind);

typedef struct tl_agg_call {
    tl_agg_kind kind;
    int32_t args[2]; /* columns of the input */
    int32_t n_args;
    bool distinct;
    int32_t filter; /* BOOLEAN column: only rows where it is TRUE; -1: all */
    const tl_type *type;
    const char *separator;
    bool json_absent;
    int64_t number;
    int32_t line, position; /* where it stands in the script */
} tl_agg_call;

typedef struct tl_sort_key {
    int32_t column;
    bool descending;
    bool nulls_first; /* default: NULL is the smallest value */
} tl_sort_key;

typedef enum tl_frame_kind { TL_FRAME_ROWS, TL_FRAME_RANGE } tl_frame_kind;
#define TL_FRAME_UNBOUNDED_PRECEDING INT64_MIN
#define TL_FRAME_UNBOUNDED_FOLLOWING INT64_MAX

/** Calls over one window: rows of equal `partition` columns in order of `order`, from + from_offset to + to_offset. */
typedef struct tl_over {
    const int32_t *partition;
    int32_t n_partition;
    const tl_sort_key *order;
    int32_t n_order;
    tl_frame_kind frame;
    int64_t from; /* relative to the current row: -2 is 2 PRECEDING; RANGE: in units of the order column's stored form */
    int64_t to;
    const tl_agg_call *calls;
    int32_t n_calls;
} tl_over;

typedef enum tl_window_kind { TL_WINDOW_TUMBLE, TL_WINDOW_HOP, TL_WINDOW_CUMULATE, TL_WINDOW_SESSION } tl_window_kind;

typedef enum tl_time_attr { TL_TIME_NONE, TL_TIME_ROWTIME, TL_TIME_PROCTIME } tl_time_attr;

struct tl_plan {
    tl_plan_kind kind;
    const tl_type *type; /* ROW of the output */
    const uint8_t *time_attr; /* tl_time_attr of each output column */
    int32_t line, position;   /* of WINDOW and SORT in the script, for messages; 0: unknown */
    tl_plan **inputs;
    int32_t n_inputs;

    /* SCAN: columns of table->row_type; predicate (NULL: none) is bound to table->row_type and belongs to the scan: no FILTER
       repeats it. map_filter (NULL: none) is what a FILTER above says of values in maps. limit < 0: none. LAKE only: predicate,
       map_filter, limit. */
    const tl_sql_table *table;
    const int32_t *columns;
    tl_predicate *predicate;
    tl_map_filter *map_filter;
    int64_t limit;

    /* VALUES: n_rows * number of columns, constant; PROJECT: one for each column */
    tl_expr **exprs;
    int64_t n_rows;

    /* FILTER: the condition. JOIN: what remains beside the equal columns, over (left, right), NULL: nothing. WATERMARK: its value */
    tl_expr *condition;
    int32_t rowtime; /* WATERMARK: the column that it belongs to; WINDOW: time column of the input; TEMPORAL_JOIN: of the left */

    /* JOIN, LOOKUP_JOIN, TEMPORAL_JOIN: left_keys[i] = right_keys[i] (see null_safe). Output: left then right columns (SEMI, ANTI: left) */
    tl_join_kind join;
    const int32_t *left_keys;
    const int32_t *right_keys;
    int32_t n_keys;
    int64_t state_ttl_ms[2]; /* JOIN: left, right; AGGREGATE: [0]: of the hint STATE_TTL; 0: the setting's, INT64_MAX: kept for ever */
    const bool *null_safe; /* JOIN: by key: IS NOT DISTINCT FROM instead of =; NULL: none is */

    /*
     * LOOKUP_JOIN: inputs[0] is the left. The dimension is `table`, of which `columns` (n_columns) are wanted; right_keys are
     * columns of table->row_type, left_keys columns of the left. `predicate` is bound to table->row_type and holds for the
     * dimension's row alone; `condition` is over (left, wanted columns), map_filter what it says of values in the dimension's maps.
     * Output: left, then the wanted columns.
     */
    int32_t n_columns;
    const tl_options *lookup_hint; /* of LOOKUP(…): retry-predicate, …; NULL: none */

    /* AGGREGATE: output: group columns, then calls. grouping_sets: NULL: one set of all keys; else n_sets bit sets of keys */
    const int32_t *group;
    int32_t n_group;
    const tl_agg_call *calls;
    int32_t n_calls;
    const uint64_t *grouping_sets;
    int32_t n_sets;

    /* SETOP */
    bool except; /* else INTERSECT */
    bool all;

    /* OVER: output: the input's columns, then the calls of each window in order */
    const tl_over *over;
    int32_t n_over;

    /*
     * RANK: over[0] has partition and order; output: the input's columns and, if with_rank, the rank (BIGINT). Rows of rank_from …
     * rank_to stay. keep_newest: of rows that are equal in the order the last to come is first (deduplication by time).
     */
    int64_t rank_from, rank_to;
    bool with_rank, keep_newest;
    bool each_change; /* every row's change comes out, not a batch's net effect: each is a version for a temporal join */

    /*
     * Streaming AGGREGATE, RANK, JOIN by window: keys hold start and end of a window, so that results come once, when time has passed
     * its end. window_end is that column of inputs[0], right_window_end of inputs[1].
     */
    bool by_window;
    bool window_is_local; /* bounds are local times: the window's time attribute is TIMESTAMP_LTZ */
    int32_t window_end, right_window_end;
    /* Streaming JOIN of time attributes: right_time - left_time is between the bounds. Rows are kept for so long only. */
    bool is_interval;
    int32_t left_time, right_time;
    int64_t lower_ms, upper_ms;

    /* WINDOW: output: the input's columns, then window_start, window_end TIMESTAMP(3) NOT NULL, window_time (attribute) */
    tl_window_kind window;
    int64_t size_ms;   /* SESSION: the gap; CUMULATE: the maximum */
    int64_t slide_ms;  /* HOP: slide; CUMULATE: step */
    int64_t offset_ms;
    const int32_t *window_partition; /* SESSION */
    int32_t n_window_partition;

    /* UNNEST: output: the input's columns, then the elements of its column `unnest_column` (ARRAY: the element, or the fields of
       a ROW element; MAP: key, value), then the ordinality (INT). `join`: INNER, or LEFT: keeps rows without elements. */
    int32_t unnest_column;
    bool with_ordinality;

    /* SORT */
    const tl_sort_key *sort;
    int32_t n_sort; /* 0: only offset and limit */
    int64_t offset; /* `limit` as in SCAN */

    /*
     * SINK: inputs[0] has exactly the columns of table->row_type, cast and padded. `given` tells which of them the statement
     * names (NULL: all): the others are NULL (or their default) in the rows.
     */
    const bool *given;
    bool overwrite;
    const tl_options *static_partition; /* PARTITION (k = 'v'): text values; NULL: none */
};

/** Append the plan as an indented tree, a node a line: EXPLAIN. */
tl_status tl_plan_format(const tl_plan *plan, tl_buf *out);

/* ---- scripts ---- */

typedef struct tl_sql_script tl_sql_script;
/** Split into statements at `;` (format: flink's rules for strings, comments, statement sets) and replace `${NAME}` by `vars`;
    a name without a value is an error. The text is copied. At most 16 MiB. */
tl_status tl_sql_script_create(const char *text, size_t bytes, const tl_options *vars, tl_sql_script **out, tl_error *err);
void tl_sql_script_free(tl_sql_script *script);
/** The next statement, without its `;`, and the line at which it begins; *text NULL at the end. Valid until the script is freed. */
tl_status tl_sql_script_next(tl_sql_script *script, const char **text, int32_t *line, tl_error *err);
/** For a shell: whether the text ends with a whole statement (the last `;` is not inside a string, comment or statement set). */
bool tl_sql_is_complete(const char *text, size_t bytes);

/* ---- sessions and statements ---- */

typedef struct tl_sql_session_options {
    tl_fs *fs;              /* warehouses and files; NULL: local */
    const tl_clock *clock;  /* NULL: system */
    tl_pool *pool;          /* for batch work; NULL: none */
    bool streaming;         /* execution.runtime-mode at the beginning; Flink's default is streaming, flink-run's batch */
} tl_sql_session_options;
tl_status tl_sql_session_create(const tl_sql_session_options *options, tl_sql_session **out, tl_error *err);
void tl_sql_session_free(tl_sql_session *session);
/** A setting (SET 'key' = 'value'), NULL if unset. tl_sql_session_set(…, NULL) resets. */
const char *tl_sql_session_get(const tl_sql_session *session, const char *key);
tl_status tl_sql_session_set(tl_sql_session *session, const char *key, const char *value, tl_error *err);
/** As CREATE CATALOG and USE CATALOG of a file system catalog: for the shell's --warehouse. */
tl_status tl_sql_session_use_warehouse(tl_sql_session *session, const char *catalog, const char *warehouse, const char *db, tl_error *err);
/** Environment for programs of this session's plans; valid until the session's settings change. */
tl_sql_env tl_sql_session_env(const tl_sql_session *session);
/** Where its warehouses and files are; the session's. */
tl_fs *tl_sql_session_fs(const tl_sql_session *session);

typedef enum tl_sql_stmt_kind {
    TL_SQL_COMMAND, /* SET, CREATE, ALTER, DROP, USE, SHOW, DESCRIBE, EXPLAIN, CALL, TRUNCATE, UPDATE, DELETE: tl_sql_execute() */
    TL_SQL_QUERY,   /* SELECT, VALUES, WITH: roots[0] */
    TL_SQL_INSERT   /* INSERT, CREATE TABLE AS (the table is made when this returns), statement set: one SINK per INSERT */
} tl_sql_stmt_kind;

typedef struct tl_sql_stmt {
    tl_sql_stmt_kind kind;
    const char *text;
    int32_t line;
    bool streaming; /* execution.runtime-mode when it was prepared */
    bool dml_sync;  /* table.dml-sync: wait for it (unset: true in batch mode) */
    tl_plan **roots; /* optimised: filters and columns are pushed into the scans */
    int32_t n_roots;
} tl_sql_stmt;

/** Parse and bind one statement. `line` is its first line in the script, for messages. The statement must be freed before the session. */
tl_status tl_sql_prepare(tl_sql_session *session, const char *text, int32_t line, tl_sql_stmt **out, tl_error *err);
void tl_sql_stmt_free(tl_sql_stmt *stmt);
static inline void tl_sql_stmt_freep(tl_sql_stmt **stmt)
{
    tl_sql_stmt_free(*stmt);
}
/**
 * Carry a COMMAND out, or a QUERY or INSERT in batch mode (whatever stmt->streaming says: sources are read to their end).
 * *out: rows of the result, NULL if the statement has none (SET, DDL, INSERT); read it before the statement is freed.
 */
tl_status tl_sql_execute(tl_sql_session *session, tl_sql_stmt *stmt, tl_reader **out, tl_error *err);
/** A batch query of one statement, bound and started: its rows and their type. For programs; the shell uses prepare and execute. */
tl_status tl_sql_query(tl_sql_session *session, const char *text, tl_reader **out, tl_error *err);
/** Run a plan that has no sink in batch mode. The plan's statement must outlive the reader. */
tl_status tl_sql_run_plan(tl_sql_session *session, const tl_plan *plan, tl_reader **out, tl_error *err);

/** Names for completion in a shell: key words, functions, and tables and columns of the session (tl_names_free). */
tl_status tl_sql_complete(tl_sql_session *session, const char *prefix, char ***names, size_t *n, tl_error *err);
/** Whether the embedded engine can be loaded, with its version or the reason why not in `text`. */
bool tl_sql_engine_available(char text[256]);

/* ---- procedures: what CALL sys.NAME(…) runs ---- */

typedef struct tl_sql_procedure {
    const char *name;
    const char *summary; /* one line */
    bool takes_table;    /* the first argument is the table that it works on */
    size_t n_arguments;
} tl_sql_procedure;
typedef struct tl_sql_argument {
    const char *name;
    const char *value; /* a word for it in a help text; "": true or false */
    const char *help;
    bool required;
} tl_sql_argument;
/** Procedure `i`, its argument; false behind the last. */
bool tl_sql_procedure_at(size_t i, tl_sql_procedure *out);
bool tl_sql_procedure_argument(size_t i, size_t argument, tl_sql_argument *out);

#endif
