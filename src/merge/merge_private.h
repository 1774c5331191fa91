/*
 * Inside of the merge room: the engine's rules by column, the history of a group, and the kernels over columns.
 *
 * Way of a merge: groups of records -> history (what each record does: set, add, retract, nothing) -> per column either
 * references to the record whose value wins (select.c), which one gather copies, or a new column (number.c, list.c, …).
 */
#ifndef TL_MERGE_PRIVATE_H
#define TL_MERGE_PRIVATE_H

#include "merge/merge.h"

/* ---- rules ---- */

typedef enum agg_fn {
    AGG_PRIMARY_KEY,
    AGG_LAST_VALUE,
    AGG_LAST_NON_NULL_VALUE,
    AGG_FIRST_VALUE,
    AGG_FIRST_NON_NULL_VALUE,
    AGG_MAX,
    AGG_MIN,
    AGG_BOOL_AND,
    AGG_BOOL_OR,
    AGG_SUM,
    AGG_PRODUCT,
    AGG_LISTAGG,
    AGG_COLLECT,
    AGG_MERGE_MAP,
    AGG_MERGE_MAP_WITH_KEYTIME,
    AGG_NESTED_UPDATE,
    AGG_NESTED_PARTIAL_UPDATE,
    AGG_THETA_SKETCH,
    AGG_HLL_SKETCH,
    AGG_RBM32,
    AGG_RBM64
} agg_fn;

/* How a column of the result comes about. */
typedef enum rule_kind {
    RULE_KEY,       /* the same in all records of the group */
    RULE_OVERWRITE, /* partial-update outside of groups: the last value that is not NULL */
    RULE_SEQUENCE,  /* sequence column of a group: moves with the group */
    RULE_MEMBER,    /* plain member of a sequence group: the newest record's value, NULL included */
    RULE_AGGREGATE
} rule_kind;

typedef struct column_rule {
    rule_kind kind;
    int32_t group; /* sequence group, -1: none */
    agg_fn fn;     /* RULE_AGGREGATE */
    const char *fn_name;
    bool ignore_retract;
    bool distinct;       /* listagg, collect */
    char *delimiter;     /* listagg */
    int32_t *nested_key; /* nested_update, nested_partial_update: fields of the element ROW */
    int32_t n_nested_key;
    int32_t count_limit; /* nested_update */
    int32_t ts_field;    /* merge_map_with_keytime: field of the value ROW */
} column_rule;

typedef struct sequence_group {
    int32_t *columns; /* sequence columns, in the order of comparison */
    int32_t n_columns;
    bool removes;    /* a newer -D removes the whole record */
    bool aggregates; /* some member has an aggregate function */
} sequence_group;

struct tl_merge_engine {
    tl_merge_engine_kind kind;
    const tl_type *row_type;
    int32_t *sequence_fields; /* sequence.field */
    int32_t n_sequence_fields;
    bool sequence_descending;
    bool ignore_delete;
    bool remove_on_delete; /* partial-update.remove-record-on-delete, aggregation.remove-record-on-delete */
    bool has_groups;       /* some sequence group is defined, be it projected away */
    sequence_group *groups;
    int32_t n_groups;
    column_rule *rules;
    bool raw_singles; /* some function changes even a single value (collect distinct) */
    int refs;
};

/** Whether values of a type have an order that max and min can go by. */
bool tl_merge__is_ordered(const tl_type *type);
/** Name of an aggregate function as in options; NULL name: unknown. */
bool tl_merge__find_function(const char *name, agg_fn *out);
/** All names, one a line, as the reference lists them. */
const char *tl_merge__function_names(void);
/** Engine of the option `merge-engine`. */
tl_status tl_merge__parse_kind(const tl_options *options, tl_merge_engine_kind *out, tl_error *err);
bool tl_merge__option_true(const tl_options *options, const char *key);
/** A column cannot ignore retractions where a -D removes the record: a table with both could not be written. */
tl_status tl_merge__check_ignore_retract(const tl_options *options, const char *field, tl_error *err);
bool tl_merge__ignores_deletes(const tl_options *options);
/** Fill in rules, groups and sequence fields. Columns that row_type does not have are left out: it may be a projection. */
tl_status tl_merge__engine_configure(tl_merge_engine *engine, const int32_t *key_idx, int32_t n_keys, const tl_options *options,
                                     tl_error *err);

/** Calls fn for each part of a comma-separated list (Java's split: empty parts at the end are dropped). */
typedef tl_status (*tl_merge__part_fn)(void *ctx, tl_bytes_view part, tl_error *err);
tl_status tl_merge__split(const char *list, bool trim, tl_merge__part_fn fn, void *ctx, tl_error *err);
/** Index of a field by a name that is not NUL-terminated; -1: none. */
int32_t tl_merge__field(const tl_type *row_type, tl_bytes_view name);
/** Whether an option's key is `fields.NAMES.sequence-group`; NAMES go to *names. */
bool tl_merge__is_group_key(const char *key, tl_bytes_view *names);

/* ---- history ---- */

/* What a record does to a column. */
typedef enum merge_action {
    ACT_ADD,      /* acc = agg(acc, value) */
    ACT_ADD_LATE, /* older than what its sequence group has: acc = agg(value, acc) */
    ACT_RETRACT,  /* acc = retract(acc, value) */
    ACT_RETRACT_LATE,
    ACT_SET, /* acc = value, be it NULL */
    ACT_NONE
} merge_action;

/* Records of all groups with their actions, as one kind of column sees them. */
typedef struct merge_view {
    const tl_rowref *refs;
    const uint32_t *starts; /* n_groups + 1 */
    uint32_t n_groups;
    const uint8_t *actions; /* merge_action by entry; NULL: all ACT_ADD */
} merge_view;

/* Winning records of one sequence group, by group of records. */
typedef struct group_result {
    tl_rowref *sequence; /* for the sequence columns */
    tl_rowref *member;   /* for plain members */
    merge_view view;     /* for aggregated members */
} group_result;

typedef struct merge_history {
    merge_view free;      /* columns outside of sequence groups */
    group_result *groups; /* by sequence group */
    uint8_t *kinds;       /* of the results */
    int64_t *seqs;
} merge_history;

/** Everything a call of tl_merge_groups() works with. */
typedef struct merge_call {
    const tl_merge_engine *engine;
    const tl_groups *groups;
    bool always_call;
    tl_arena arena;            /* scratch, freed at the end of the call */
    const uint8_t **row_kinds; /* by source; NULL entries: all +I */
    const tl_column **srcs;    /* scratch: one column of all sources */
    tl_rowref *last;           /* last record of each group; made on demand */
    tl_rowrefs scanned;        /* references that the last column was gathered with */
    tl_error *err;
} merge_call;

static inline uint8_t merge_kind(const merge_call *call, tl_rowref ref)
{
    return call->row_kinds[ref.src] == NULL ? TL_KIND_INSERT : call->row_kinds[ref.src][ref.row];
}
static inline int64_t merge_seq(const merge_call *call, tl_rowref ref)
{
    const int64_t *seq = call->groups->sources[ref.src]->seq;
    return seq == NULL ? 0 : seq[ref.row];
}

/** What each record does, for partial-update and aggregation; memory in the call's arena. */
tl_status tl_merge__history(merge_call *call, merge_history *out);
/** Sequence groups of partial-update (called by the above). */
tl_status tl_merge__group_history(merge_call *call, merge_history *out);
/** Last record of each group. */
tl_status tl_merge__last(merge_call *call, const tl_rowref **out);

/* ---- kernels ---- */

/** One column of all sources under one rule. */
typedef struct merge_column {
    const column_rule *rule;
    const tl_field *field;
    const tl_column *const *srcs;
    uint32_t n_srcs;
    const merge_view *view;
    bool always_call; /* else a group of one record keeps its value untouched */
    tl_arena *arena;
    uint32_t *overflowed; /* with TL_E_OVERFLOW: the group whose result does not fit */
    tl_error *err;
} merge_column;

/** Functions whose result is the value of one record: refs[g] of the winner. `refs` has room for n_groups. */
tl_status tl_merge__select(const merge_column *col, tl_rowref *refs);
/** sum and product. */
tl_status tl_merge__reduce_numbers(const merge_column *col, tl_column **out);
/** collect, merge_map, merge_map_with_keytime, nested_update, nested_partial_update. */
tl_status tl_merge__reduce_lists(const merge_column *col, tl_column **out);
/** listagg, sketches and bitmaps. */
tl_status tl_merge__reduce_bytes(const merge_column *col, tl_column **out);
/** Validity bitmap and null count of a new column from one byte a row. */
tl_status tl_merge__set_validity(tl_column *col, const uint8_t *valid, tl_error *err);
/** TL_E_INVALID: the function knows no retraction. */
tl_status tl_merge__no_retract(const merge_column *col);

static inline uint8_t merge_action_at(const merge_view *view, uint32_t entry)
{
    return view->actions == NULL ? ACT_ADD : view->actions[entry];
}
static inline bool merge_is_null(const merge_column *col, tl_rowref ref)
{
    return tl_col_is_null(col->srcs[ref.src], ref.row);
}

/* ---- order ---- */

/** As tl_merge_order_records(); `buffer` for the order of the write buffer, which is ascending whatever the options say. */
tl_status tl_merge__order_records(const tl_merge_engine *engine, bool buffer, const tl_batch *const *sources, tl_rowref *refs,
                                  uint32_t n, tl_error *err);

#endif
