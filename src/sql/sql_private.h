/*
 * Private to sql/: sessions, what a statement owns, the binder's state.
 */
#ifndef TL_SQL_SQL_PRIVATE_H
#define TL_SQL_SQL_PRIVATE_H

#include "sql/ast.h"
#include "sql/functions.h"
#include "sql/sql.h"

#define TL_SQL_DEFAULT_CATALOG "default_catalog"
#define TL_SQL_DEFAULT_DATABASE "default_database"

/* ---- catalogs and objects of a session ---- */

typedef struct tl_sql_catalog {
    char *name;
    tl_options options;
    tl_catalog *lake;  /* NULL: in memory */
    char **databases;  /* in memory only */
    size_t n_databases;
    char *current_db;  /* what USE CATALOG goes back to */
} tl_sql_catalog;

typedef struct tl_sql_column {
    const char *name;
    const tl_type *type;     /* NULL for a computed column; ref held */
    const tl_ast *computed;  /* NULL for a stored one */
    const char *metadata;    /* key; NULL: an ordinary column */
    bool is_virtual;
    const char *comment;
} tl_sql_column;

/** A table or view that the session keeps: temporary ones of any catalog, all of default_catalog. */
typedef struct tl_sql_object {
    tl_arena arena; /* everything below */
    bool is_view;
    bool temporary;
    const char *catalog, *db, *name;
    tl_sql_column *columns;
    int32_t n_columns;
    const char **primary_key;
    int32_t n_primary_key;
    const char **partition_key;
    int32_t n_partition_key;
    const tl_ast *watermark_column; /* NAME; NULL: none */
    const tl_ast *watermark;
    tl_options options;
    const char *comment;
    /* views */
    const char *text; /* the query, bound anew at each use in the view's own catalog and database */
    const char **names; /* column names of the view; NULL: those of the query */
    const char *context_catalog, *context_db;
} tl_sql_object;

struct tl_sql_session {
    tl_fs *fs;
    const tl_clock *clock;
    tl_pool *pool;
    tl_options settings;
    tl_sql_catalog *catalogs;
    size_t n_catalogs;
    char *current_catalog;
    char *current_db; /* "" if the catalog has none chosen */
    tl_sql_object **objects;
    size_t n_objects;
    const tl_tz *zone; /* of table.local-time-zone */
    struct tl_duck *duck; /* the embedded engine, opened at first use */
    bool keeps_constants; /* expressions over constants are not folded while they are bound: tests of the programs that run them */
};

/** A resolved name of a table or view. Strings live in the statement's arena. */
typedef struct tl_sql_path {
    const char *catalog, *db, *name;
} tl_sql_path;

tl_sql_catalog *tl_sql__catalog(const tl_sql_session *session, const char *name);
/** Takes `lake` (NULL: in memory) over on success. */
tl_status tl_sql__add_catalog(tl_sql_session *session, const char *name, tl_catalog *lake, const tl_options *options, tl_error *err);
tl_status tl_sql__use_catalog(tl_sql_session *session, const char *name, tl_error *err);
tl_status tl_sql__use_database(tl_sql_session *session, const char *catalog, const char *db, tl_error *err);
/** Complete a NAME of one to three parts with the current catalog and database. */
tl_status tl_sql__path(tl_sql_session *session, tl_arena *arena, const tl_ast *name, tl_sql_path *out, tl_error *err);
/** The session's own object of that name (temporary ones first), NULL if there is none. */
tl_sql_object *tl_sql__object(const tl_sql_session *session, const tl_sql_path *path);
bool tl_sql__has_database(tl_sql_session *session, const tl_sql_catalog *catalog, const char *db, tl_status *status, tl_error *err);
/** Takes the object over, also on failure. */
tl_status tl_sql__add_object(tl_sql_session *session, tl_sql_object *object, bool if_not_exists, tl_error *err);
void tl_sql__object_free(tl_sql_object *object);
void tl_sql__remove_object(tl_sql_session *session, tl_sql_object *object);
/** `fresh` takes the place of `object`, which is freed. */
void tl_sql__swap_object(tl_sql_session *session, tl_sql_object *object, tl_sql_object *fresh);
tl_status tl_sql__add_memory_database(tl_sql_catalog *catalog, const char *db, tl_error *err);
void tl_sql__remove_memory_database(tl_sql_catalog *catalog, const char *db);
/** Close a catalog whose objects are gone. */
void tl_sql__remove_catalog(tl_sql_session *session, const char *name);
bool tl_sql__bool_setting(const tl_sql_session *session, const char *key, bool or_else);
bool tl_sql__is_streaming(const tl_sql_session *session);

/* ---- a statement and what it owns ---- */

typedef struct tl_sql_stmt_impl {
    tl_sql_stmt pub;
    tl_sql_session *session;
    tl_arena arena;
    const tl_ast *ast;
    const tl_type **types; /* refs released with the statement */
    size_t n_types, cap_types;
    tl_column **columns;
    size_t n_columns, cap_columns;
    tl_table **tables;
    size_t n_tables, cap_tables;
    tl_predicate **predicates;
    size_t n_predicates, cap_predicates;
    tl_map_filter **map_filters;
    size_t n_map_filters, cap_map_filters;
    tl_options **options;
    size_t n_options, cap_options;
    tl_sql_env env; /* fixed when the statement was prepared */
} tl_sql_stmt_impl;

/** Release what a statement owns; the struct itself is the caller's. */
void tl_sql__stmt_deinit(tl_sql_stmt_impl *stmt);
/* Each takes the reference over, also on failure (then it is released). */
tl_status tl_sql__own_type(tl_sql_stmt_impl *stmt, const tl_type *type, tl_error *err);
tl_status tl_sql__own_column(tl_sql_stmt_impl *stmt, tl_column *col, tl_error *err);
tl_status tl_sql__own_table(tl_sql_stmt_impl *stmt, tl_table *table, tl_error *err);
tl_status tl_sql__own_predicate(tl_sql_stmt_impl *stmt, tl_predicate *pred, tl_error *err);
tl_status tl_sql__own_map_filter(tl_sql_stmt_impl *stmt, tl_map_filter *filter, tl_error *err);
/** A fresh options table that lives as long as the statement. */
tl_status tl_sql__new_options(tl_sql_stmt_impl *stmt, tl_options **out, tl_error *err);

/* ---- the embedded engine (duckdb.c) ---- */

typedef struct tl_duck tl_duck;
void tl_duck_close(tl_duck *duck); /* NULL is fine */

/* ---- commands ---- */

tl_status tl_sql__run_command(tl_sql_session *session, tl_sql_stmt_impl *stmt, tl_reader **out, tl_error *err);
/** CREATE TABLE without rows: DDL of CTAS too; `row_type` (may be NULL) are columns of the query. */
tl_status tl_sql__create_table(tl_sql_session *session, tl_sql_stmt_impl *stmt, const tl_ast *ast, const tl_type *query_type, bool *existed, tl_error *err);

#endif
