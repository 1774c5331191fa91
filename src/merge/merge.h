/*
 * Merging: records of one key become one record. Merge engines and aggregate functions as gather and select over columns,
 * and a loser tree that merges sorted runs. Semantics: format reference §11, §14; Java: org.apache.paimon.mergetree.compact.
 *
 * A record is a row of a batch with row_kind and seq. Records of a key are ordered by the user sequence fields (nulls first),
 * then by sequence number; "later" wins.
 */
#ifndef TL_MERGE_MERGE_H
#define TL_MERGE_MERGE_H

#include "base/map.h"
#include "types/column.h"
#include "types/key.h"

typedef enum tl_merge_engine_kind {
    TL_ENGINE_DEDUPLICATE,
    TL_ENGINE_PARTIAL_UPDATE,
    TL_ENGINE_AGGREGATION,
    TL_ENGINE_FIRST_ROW
} tl_merge_engine_kind;

/** A table's merging rules over a ROW of value columns; immutable, shared by threads. */
typedef struct tl_merge_engine tl_merge_engine;

/**
 * @param row_type   the table's columns (or a projection that holds the keys and what the engine needs: see required_columns)
 * @param key_idx    columns of the whole primary key in row_type (partition columns included): they are never aggregated
 * @param options    the table's options: merge-engine, sequence.field, fields.*, ignore-delete, partial-update.*, aggregation.*
 * Errors are those of the reference for wrong options (unknown function, group on an unknown field, overlapping groups …).
 */
tl_status tl_merge_engine_create(const tl_type *row_type, const int32_t *key_idx, int32_t n_keys, const tl_options *options,
                                 tl_merge_engine **out, tl_error *err);
tl_merge_engine *tl_merge_engine_ref(tl_merge_engine *engine);
void tl_merge_engine_unref(tl_merge_engine *engine);
tl_merge_engine_kind tl_merge_engine_get_kind(const tl_merge_engine *engine);
/** Columns that must be read besides `wanted` (sequence columns of groups, sequence.field): sets needed[i] for fields of the
 * table's row_type. */
tl_status tl_merge_required_columns(const tl_type *table_row_type, const tl_options *options, const bool *wanted, bool *needed,
                                    tl_error *err);
/**
 * What only new tables are refused (the reference finds out at a merge, or never): key columns in sequence groups, `max` and `min` of values
 * without an order. After tl_merge_validate().
 */
tl_status tl_merge_check_new(const tl_type *row_type, const int32_t *key_idx, int32_t n_keys, const tl_options *options, tl_error *err);
/** Check of all merge options against a schema at CREATE/ALTER, as the reference refuses them. */
tl_status tl_merge_validate(const tl_type *row_type, const int32_t *key_idx, int32_t n_keys, const tl_options *options,
                            tl_error *err);
/** User-defined order before the sequence number: number of sequence.field columns (0: none), their indices and direction. */
int32_t tl_merge_sequence_fields(const tl_merge_engine *engine, const int32_t **columns, bool *descending);

/** Groups of records, one group a key, records in merge order: refs[starts[g] … starts[g+1]) into sources. */
typedef struct tl_groups {
    const tl_batch *const *sources;
    uint32_t n_sources;
    const tl_rowref *refs;
    const uint32_t *starts; /* n_groups + 1 */
    uint32_t n_groups;
} tl_groups;

/**
 * Merge each group to one record: row g of *out (seq set; row_kind NULL if all are +I). Where the reference's engine gives
 * nothing (a group of retractions under ignore-delete) the record is a retraction, which no reader shows.
 * @param always_call  also run the engine on groups of one record (lookup mode, §13); otherwise such a record passes untouched
 */
tl_status tl_merge_groups(const tl_merge_engine *engine, const tl_groups *groups, bool always_call, tl_batch **out,
                          tl_error *err);

/** Put the records of one key into merge order (user sequence fields, then sequence number; stable). Allocates only for many.
 */
tl_status tl_merge_order_records(const tl_merge_engine *engine, const tl_batch *const *sources, tl_rowref *refs, uint32_t n,
                                 tl_error *err);

/** One input of a merge: batches sorted by key, with row_kind and seq; a key may come several times in a row, in any order. */
typedef struct tl_merge_input {
    tl_reader *reader; /* taken over */
    int32_t level;     /* of its files; for lookup mode and changelogs */
    int64_t min_seq; /* range of its sequence numbers; leave both 0 if it is not known. Where ranges do not overlap, records */
    int64_t max_seq; /* of one key need not be sorted */
} tl_merge_input;

/**
 * Whether the order of the inputs by their ranges of sequence numbers is that of the records of a key, so that the numbers
 * themselves need not be read: batches may then come without, and those of the result mean nothing. Several records of a key in
 * one input must be in order. Readers need not be there yet.
 */
tl_status tl_merge_in_order(const tl_merge_engine *engine, const tl_merge_input *inputs, int32_t n, bool *out, tl_error *err);

/**
 * What a merge does with each group besides merging; the hook of changelog producers and of reading modes.
 * Called once per output batch with the groups and, per record, the level it came from.
 */
typedef struct tl_group_hook {
    /*
     * May build its own result instead of tl_merge_groups(): fills *out (fewer or more rows than groups are fine). The sources
     * are the very batches of the inputs and live until the call returns. NULL: tl_merge_groups().
     */
    tl_status (*merge)(void *ctx, const tl_merge_engine *engine, const tl_groups *groups, const int32_t *source_levels,
                       tl_batch **out, tl_error *err);
    void *ctx;
} tl_group_hook;

typedef struct tl_merge_spec {
    const tl_merge_engine *engine;
    const int32_t *key_idx; /* key columns in the inputs' row type */
    int32_t n_keys;
    bool drop_deletes;         /* leave results of kind -U and -D out */
    bool buffer_order;         /* the inputs are parts of one write buffer: order of records as in tl_merge_sort_groups() */
    int64_t batch_rows;        /* 0: TL_BATCH_ROWS */
    const tl_group_hook *hook; /* NULL: none */
} tl_merge_spec;

/** Merge sorted inputs; takes inputs' readers over, also on failure. Output is sorted by key, one record a key. */
tl_status tl_merge_open(const tl_type *row_type, const tl_merge_spec *spec, tl_merge_input *inputs, int32_t n, tl_reader **out,
                        tl_error *err);

/**
 * Sort the records of a buffer (one or more batches) by (key, user sequence, seq) and group them: what a flush needs. The
 * user sequence is ascending here even if sequence.field.sort-order is descending, as in the reference's write buffer.
 * Outputs are tl_free'd by the caller. `order` semantics as tl_groups.
 */
tl_status tl_merge_sort_groups(const tl_merge_engine *engine, const int32_t *key_idx, int32_t n_keys,
                               const tl_batch *const *batches, uint32_t n_batches, tl_rowref **refs, uint32_t **starts,
                               uint32_t *n_groups, tl_error *err);

#endif
