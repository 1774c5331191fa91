/* Commands and their results. Private to sql/. */
#ifndef TL_SQL_COMMANDS_H
#define TL_SQL_COMMANDS_H

#include "sql/exec.h"
#include "sql/parser_private.h"

/** A result of text columns under construction. */
typedef struct tl_result {
    const tl_type *type;
    tl_builder **builders;
    int32_t n;
    int64_t rows;
} tl_result;

tl_status tl_result__init(tl_result *r, const char *const *names, int32_t n, tl_error *err);
/** A column of BOOLEAN, before the first row: its cells are TRUE and FALSE. */
tl_status tl_result__make_boolean(tl_result *r, int32_t column, tl_error *err);
/** The same of BIGINT: its cells are decimal digits that fit. */
tl_status tl_result__make_bigint(tl_result *r, int32_t column, tl_error *err);
void tl_result__deinit(tl_result *r);
tl_status tl_result__add(tl_result *r, const char *const *cells, tl_error *err); /* NULL cells are NULL */
tl_status tl_result__finish(tl_result *r, tl_reader **out, tl_error *err);
tl_status tl_result__single(const char *name, const char *value, tl_reader **out, tl_error *err);

bool tl_sql__like(const char *text, const char *pattern);
/** Whether [NOT] LIKE or ILIKE of a SHOW lets the name through; anything else shows all. */
bool tl_sql__shows(const tl_ast *show, const char *name);

/* describe.c */
tl_status tl_sql__describe(tl_binder *b, const tl_ast *name, const tl_ast *at, tl_reader **out);
tl_status tl_sql__show_create(tl_binder *b, const tl_ast *ast, tl_reader **out);

/* alter.c, alter_object.c */
tl_status tl_sql__alter_table(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__alter_object(tl_binder *b, const tl_ast *ast, tl_sql_object *object);

/* modify.c */
tl_status tl_sql__update(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__delete(tl_binder *b, const tl_ast *ast);
/** UPDATE (`values`: the PROJECT of the new rows over `scan`) or DELETE (NULL) of a table without a primary key; `condition` NULL: all rows. */
tl_status tl_sql__change_append(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, tl_plan *scan, tl_expr *condition,
                                const tl_plan *values);
/** The ids of the chosen rows go over to the rows that take their place, where the table has row tracking. `rows` as a tl_row_finder gets them. */
tl_status tl_sql__keep_ids(const tl_table *table, const tl_batch *rows, const uint32_t *sel, int64_t n, tl_batch **fresh, tl_error *err);
/** Batches that a statement keeps; zero-initialise. */
typedef struct tl_kept_batches {
    tl_batch **items; /* owned */
    size_t n, cap;
} tl_kept_batches;
/** Takes *batch over and sets it to NULL; on failure it stays the caller's. */
tl_status tl_sql__batches_keep(tl_kept_batches *to, tl_batch **batch, tl_error *err);
void tl_sql__batches_deinit(tl_kept_batches *batches);

/** Rows of a table without a primary key that go, with what takes their place, and rows that come. */
typedef struct tl_row_changes tl_row_changes;
tl_status tl_sql__changes_create(const tl_sql_table *table, tl_row_changes **out, tl_error *err);
void tl_sql__changes_free(tl_row_changes *changes);
/** Takes the reader. Its columns: the table's of rows that go, or twice as many, the new row's behind them; `inserts`: of rows that come. */
tl_status tl_sql__changes_add(tl_row_changes *changes, tl_reader *rows_take, bool inserts, tl_error *err);
/** All of it in one commit. TL_E_CONFLICT, and nothing is done, unless the rows that go are there as often as they were given. */
tl_status tl_sql__changes_commit(tl_binder *b, const tl_sql_table *table, tl_row_changes *changes);
/** The same where the condition or the values have subqueries (modify_rows.c). */
tl_status tl_sql__change_by_rows(tl_binder *b, const tl_ast *ast, const tl_sql_table *table, tl_plan *scan, tl_expr *condition,
                                 const tl_plan *values);

/* modify_evolution.c: tables with data evolution */
/** New values of some columns of rows, found by queries over `t$row_tracking`, and rows that come. */
typedef struct tl_row_values tl_row_values;
/** `changed`: per column of the table. To be made before the queries are bound: what others change from then on is a conflict. */
tl_status tl_sql__values_create(const tl_sql_table *table, const bool *changed, tl_row_values **out, tl_error *err);
void tl_sql__values_free(tl_row_values *values);
/** Takes the reader. Its columns: _ROW_ID and the changed columns, then BOOLEANs that must be true (the partition stays); `inserts`: the table's. */
tl_status tl_sql__values_add(tl_row_values *values, tl_reader *rows_take, bool inserts, tl_error *err);
/** All of it in one commit. */
tl_status tl_sql__values_commit(tl_binder *b, const tl_sql_table *table, tl_row_values *values);
/** UPDATE that writes the changed columns alone. */
tl_status tl_sql__update_evolution(tl_binder *b, const tl_ast *ast, const tl_sql_table *table);
/** The value that a SET gives to a column of the table. */
tl_status tl_sql__assigned_value(tl_binder *b, const tl_sql_table *table, const tl_ast *set, int32_t *column, tl_expr **out);
tl_status tl_sql__truncate(tl_binder *b, const tl_ast *ast);
tl_status tl_sql__analyze(tl_binder *b, const tl_ast *ast);
/** All rows of a reader (taken over, also on failure) with one kind. */
tl_status tl_sql__with_kind(tl_reader *in, uint8_t kind, tl_reader **out, tl_error *err);

/* merge_into.c */
typedef struct tl_merge_into_spec {
    const tl_sql_table *target;
    const char *target_path;  /* db.table, as given */
    const char *target_alias; /* NULL: the table's name */
    const char *source_sqls;  /* statements to run before, parted by `;`; NULL: none */
    const char *source_table; /* a name: maybe of a view */
    const char *condition;
    const char *matched_upsert_condition, *matched_upsert_setting;
    const char *insert_condition, *insert_values;
    const char *matched_delete_condition;
    const char *unmatched_upsert_condition, *unmatched_upsert_setting, *unmatched_delete_condition; /* BY SOURCE */
} tl_merge_into_spec;
/** CALL sys.merge_into: one commit. Texts are NULL where the call has none. */
tl_status tl_sql__merge_into(tl_binder *b, const tl_ast *at, const tl_merge_into_spec *spec);

/* migrate.c */
typedef struct tl_clone_call {
    const char *db, *table, *from_conf; /* NULL: all of them; the session's catalog */
    const char *to_db, *to_table, *to_conf;
    const char *included, *excluded; /* lists of DB.TABLE; NULL: none */
    bool meta_only, skip_existing;
} tl_clone_call;
/** CALL sys.clone; `catalog` is the procedure's. */
tl_status tl_sql__clone(tl_binder *b, const tl_ast *at, const char *catalog, const tl_clone_call *call);
/** CALL sys.migrate_table: the files of a folder become those of an append table, as they are. `options`: of a table that is
    made. */
tl_status tl_sql__migrate_table(tl_binder *b, const tl_ast *at, const char *catalog, const char *connector, const char *source, const char *target,
                                const tl_options *options);

/* call.c */
tl_status tl_sql__call_procedure(tl_binder *b, const tl_ast *ast, tl_reader **out);

#endif
