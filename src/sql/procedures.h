/*
 * CALL sys.name(…) inside this room: what procedures are given and what they may use. call.c binds arguments and tells results;
 * procedures.c, procedures_refs.c and procedures_upkeep.c do the work.
 */
#ifndef TL_SQL_PROCEDURES_H
#define TL_SQL_PROCEDURES_H

#include "sql/commands.h"

#define TL_CALL_ARGS_MAX 14

/** One call. */
typedef struct tl_call {
    tl_binder *b;
    const tl_ast *ast;
    const char *catalog; /* of the procedure */
    const char *args[TL_CALL_ARGS_MAX]; /* text; NULL: not given */
    tl_options options;         /* of the table, for this call */
    tl_sql_table *table;
    const char *columns[4]; /* of the result */
    int n_columns;
    unsigned numbers; /* bit i: column i is BIGINT, the others are STRING */
    const char *none; /* what it says without cells; NULL: nothing, no row */
    char **cells;     /* row by row; tl_names_free() */
    size_t n_cells;
} tl_call;

/** One procedure of the table (procedure_table.c). */
typedef struct tl_procedure {
    const char *name;
    const char *args[TL_CALL_ARGS_MAX]; /* in order; `*` before the name: it must be given */
    tl_status (*run)(tl_call *c);
    const char *summary; /* one line */
} tl_procedure;
/** NULL: there is none of that name, in any case. */
const tl_procedure *tl_procedure__find(const char *name);
/** Name of argument `i`, NULL behind the last. */
static inline const char *tl_procedure__argument(const tl_procedure *p, size_t i)
{
    return i >= TL_CALL_ARGS_MAX || p->args[i] == NULL ? NULL : p->args[i] + (p->args[i][0] == '*');
}
static inline bool tl_procedure__requires(const tl_procedure *p, size_t i)
{
    return p->args[i][0] == '*';
}
/** Whether the first argument is the table that it works on. */
bool tl_procedure__takes_table(const tl_procedure *p);
/** Option of the table that an argument of this name sets for the call; NULL: none. */
const char *tl_procedure__option(const char *argument);

/** Argument `what`, a number; `or_else` where it is not given. */
tl_status tl_call__integer(const tl_call *c, const char *text, const char *what, int64_t or_else, int64_t *out);
/** "key=value,key=value" into *out, over what is there. TL_E_INVALID at `at` where a piece has no `=`. */
tl_status tl_sql__options_of_list(tl_binder *b, const tl_ast *at, const char *text, tl_options *out);
/** A cell of the result more; rows of n_columns cells. */
tl_status tl_call__add_cell(tl_call *c, const char *text);
tl_status tl_call__add_number(tl_call *c, int64_t v); /* TL_ABSENT: "null" */
/** `run` with the partitions of an argument ("a=1,b=2;a=3,b=4"), which may be NULL: none. */
tl_status tl_call__with_partitions(tl_call *c, const char *text, tl_status (*run)(tl_call *c, const tl_options *specs, size_t n));
/** Names that a pattern of the reference's finds: those that it matches as a whole. NULL patterns: every name, and none. */
typedef struct tl_name_filter {
    struct tl_regex *including, *excluding;
} tl_name_filter;
tl_status tl_call__filter(const tl_call *c, const char *including, const char *excluding, tl_name_filter *out);
tl_status tl_call__is_chosen(const tl_call *c, const tl_name_filter *filter, const char *name, bool *out);
void tl_name_filter_deinit(tl_name_filter *filter);
/** Milliseconds since a timestamp, text in the session's zone; *out stays as it is where `text` is NULL. */
tl_status tl_call__age_of(const tl_call *c, const char *text, const char *what, int64_t *out);

/* ---- procedures_refs.c: tags, branches, rollback, consumers ---- */

tl_status tl_proc__create_tag(tl_call *c);
tl_status tl_proc__delete_tag(tl_call *c);
tl_status tl_proc__rename_tag(tl_call *c);
tl_status tl_proc__replace_tag(tl_call *c);
tl_status tl_proc__create_tag_from_timestamp(tl_call *c);
tl_status tl_proc__create_tag_from_watermark(tl_call *c);
tl_status tl_proc__trigger_tags(tl_call *c);
tl_status tl_proc__rollback_to(tl_call *c);
tl_status tl_proc__rollback_to_timestamp(tl_call *c);
tl_status tl_proc__rollback_to_watermark(tl_call *c);
tl_status tl_proc__create_branch(tl_call *c);
tl_status tl_proc__delete_branch(tl_call *c);
tl_status tl_proc__rename_branch(tl_call *c);
tl_status tl_proc__fast_forward(tl_call *c);
tl_status tl_proc__expire_tags(tl_call *c);
tl_status tl_proc__reset_consumer(tl_call *c);
tl_status tl_proc__clear_consumers(tl_call *c);

/* ---- procedures.c, procedures_upkeep.c: what changes or keeps up data ---- */

tl_status tl_proc__compact(tl_call *c);
tl_status tl_proc__compact_database(tl_call *c);
tl_status tl_proc__compact_manifest(tl_call *c);
tl_status tl_proc__rescale(tl_call *c);
tl_status tl_proc__purge_files(tl_call *c);
tl_status tl_proc__remove_unexisting_files(tl_call *c);
tl_status tl_proc__remove_unexisting_manifests(tl_call *c);
tl_status tl_proc__expire_snapshots(tl_call *c);
tl_status tl_proc__expire_changelogs(tl_call *c);
tl_status tl_proc__expire_partitions(tl_call *c);
tl_status tl_proc__drop_partition(tl_call *c);
tl_status tl_proc__mark_partition_done(tl_call *c);
tl_status tl_proc__remove_orphan_files(tl_call *c);
tl_status tl_proc__rewrite_file_index(tl_call *c);
tl_status tl_proc__alter_column_default_value(tl_call *c);
tl_status tl_proc__merge_into(tl_call *c);
tl_status tl_proc__data_evolution_merge_into(tl_call *c);
tl_status tl_proc__clone_tables(tl_call *c);
tl_status tl_proc__migrate_table(tl_call *c);

#endif
