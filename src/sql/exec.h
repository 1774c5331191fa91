/* Batch execution: plans to readers, sinks to commits. Private to sql/. */
#ifndef TL_SQL_EXEC_H
#define TL_SQL_EXEC_H

#include "sql/bind.h"

/** Reader of any plan without a sink. Nodes that filter, project and unite are run here; others by the embedded engine. */
tl_status tl_exec__open(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err);
/** UNNEST and WINDOW. */
tl_status tl_exec__open_expander(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err);
/** AGGREGATE nodes that only count all rows: whether it is one, and its one row. */
bool tl_exec__is_count(const tl_plan *plan);
tl_status tl_exec__open_count(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err);
/** Whether a node needs the embedded engine. */
bool tl_exec__needs_engine(const tl_plan *plan);
/** Run a SINK node to its end. */
tl_status tl_exec__sink(tl_sql_session *session, const tl_sql_env *env, const tl_plan *sink, tl_error *err);
/** A commit of rows from a reader (taken over) into a lake table, for UPDATE, DELETE and others. */
tl_status tl_exec__write(tl_sql_session *session, tl_table *table, tl_reader *rows, bool overwrite, const tl_options *partition, tl_error *err);

/** The embedded engine (duckdb.c): its root node must be one that needs it. */
tl_status tl_duck__open(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err);

#endif
